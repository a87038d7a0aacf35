"""Lesson 12: exact and cheap.  ●●●○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 12. Exact and cheap
#
# You give a language model a book of 300 pages and ask who the murderer is. The last
# word of your question has to look at every word of the book. And so has, in
# self-attention, every other word: with $n$ words there are $n^2$ pairs. A sentence has
# hundreds of pairs, a book has ten thousand million. Who can pay for that?
#
# There are two kinds of savings. Some change nothing in the result: they compute every
# pair, but never keep all of them. Others leave pairs out, or never compute one, and
# give another result. This lesson does both kinds, counts what each costs, measures
# it, and shows what is lost.
#
# You need [lesson 06](../06_masks/README.md), [lesson 09](../09_self_attention/README.md)
# and [lesson 10](../10_heads/README.md). An hour.

# %%
from importlib import import_module

import numpy as np

import minigrad as mg
from attention import BlockMask, LongformerAttention, linear_attention, masks, merge
from attention import scaled_dot_product_attention as sdpa
from attention.costs import cost_of
from attention.costs.table import size
from attention.exact.sdpa import dense_attention, tiled_attention
from lessons.classroom import schematics
from lessons.classroom.figures import figure, show
from lessons.classroom.records import how_made, record

drawing = import_module("lessons.book.12_exact_and_cheap.drawing")
rng = np.random.default_rng(12)

# %% [markdown]
# ## What does the matrix take?
#
# The scores of $n$ words, or [tokens](../../GLOSSARY.md#token), are a matrix of
# $n \times n$ numbers. In float32 a number has four bytes, so the matrix has $4 n^2$.
# Take a short text of 1000 tokens, and longer ones. Does the width $d$ of the vectors
# matter?

# %%
for n in (1000, 4096, 32_768, 1_000_000):
    narrow, wide = (cost_of("dense", L=n, E=d).score_bytes for d in (64, 512))
    print(f"{n:>9,} tokens   {size(wide):>8s}   the same at d = 64: {narrow == wide}")
print("32 768 tokens, 32 heads:", size(cost_of("dense", L=32_768, H=32).score_bytes))

# %% [markdown]
# The width has no part in it. (Exercise 6.4 says 4 MB for 1000 tokens, which is exact.)
# And this is one head of one example: 32 heads of 32 768 tokens are more than most
# machines hold, and a million tokens are out of the question, if there has to be a
# matrix.
#
# ## Does there have to be a matrix?
#
# A softmax seems to need a whole row of scores, because each weight is divided by the
# sum over the row. But we do not want the weights. We want the weighted *average*, and
# an average can be built up step by step: keep the sum of what you have seen, and
# divide at the end.
#
# One difficulty remains. $e^s$ of a large score $s$ overflows, so the largest score $m$
# of the row is subtracted first, and $m$ is not known before the end. The answer is to
# correct the sums whenever a larger score appears (Milakov and Gimelshein 2018):
#
# ```math
# m' = \max(m, s), \qquad l' = e^{m - m'} l + e^{s - m'}, \qquad
# o' = e^{m - m'} o + e^{s - m'} v
# ```
#
# | letter | meaning |
# |---|---|
# | $s$, $v$ | score and value of the next key; $s_j$, $v_j$ those of key $j$ |
# | $m$ | largest score of the keys seen so far |
# | $l$ | sum of $`e^{s_j - m}`$ over these keys |
# | $o$ | sum of $`e^{s_j - m} v_j`$ over these keys; $o / l$ is the average |
# | $m'$, $l'$, $o'$ | the same three, after the next key |
#
# The factor $`e^{m - m'}`$ is the correction. It is 1 if the largest score stays the
# same. Take three keys with scores 2, 1 and 4, and values 10, 20 and 30. Compute the
# three lines with a pencil first:

# %%
s, v = [2.0, 1.0, 4.0], [10.0, 20.0, 30.0]
m, l, o = -np.inf, 0.0, 0.0  # noqa: E741
for score, value in zip(s, v):
    top = max(m, score)
    shrink, p = np.exp(m - top), np.exp(score - top)
    m, l, o = top, shrink * l + p, shrink * o + p * value  # noqa: E741
    print(f"m {m:.0f}   l {l:.4f}   o {o:.4f}   so far {o / l:.4f}")
print(f"at once: {mg.softmax(np.array(s)).data @ v:.4f}")

# %% [markdown]
# The third score is the largest, so the sums of the first two shrink. The last line is
# the ordinary softmax, and it agrees. No row of weights was ever kept.
#
# For a processor, single keys are too small. FlashAttention (Dao and others 2022) takes
# blocks: a block of queries and a block of keys give a
# [tile](../../GLOSSARY.md#tile) of scores. The tile is small enough for the fast memory
# of the processor. It is computed, used for $m$, $l$ and $o$, and dropped:

# %% [figure]
fig = schematics.tiles_of_attention(4, 1, 2)
alt = """A grid of 4 by 4 tiles: blocks of queries Q1 to Q4 down, blocks of keys and
values K1 to K4 across. The tile of Q2 and K3 is at work. All tiles before it are
hatched: computed, used, dropped. Beside the row stand m, l and o, which are kept, and
the output, which is divided once at the end of the row."""
show(fig, "tiles", alt)

# %% [markdown]
# The library's version, here in NumPy, is algorithm 1 of FlashAttention-2 (Dao 2023):
# queries in the outer loop, one division at the end. The first version had the keys
# outside, and divided at every tile. The third is fitted to one kind of graphics
# processor, or GPU (Hopper); nothing here can show it.

# %% [source] attention.exact.flash.forward_twin

# %% [markdown]
# Is the result the same, with its gradients, on 300 tokens?

# %%
q, k, v = (mg.Tensor(x, requires_grad=True) for x in rng.normal(size=(3, 1, 300, 16)))
G = rng.normal(size=(1, 300, 16))
grads = []
for attention in (dense_attention, tiled_attention):
    out = attention(q, k, v)
    (out * G).sum().backward()
    grads.append([out.data] + [x.grad for x in (q, k, v)])
    q.grad = k.grad = v.grad = None
print("the same output and gradients:", all(map(np.allclose, *grads)))

# %% [markdown]
# It is: nothing is approximated. The backward pass needs the weights again, and it
# computes them again, from $q$, $k$ and one number for each query: the logarithm of its
# sum, the [log-sum-exp](../../GLOSSARY.md#log-sum-exp), lse for short. So memory is
# saved, and work is not.
#
# ## Can the keys be in two places?
#
# A chat program has read your book once, and keeps its keys and values in a
# [KV cache](../../GLOSSARY.md#kv-cache). Then you ask a question. Or the book is so
# long that its keys are on two machines. Can two attentions over two sets of keys be
# put together?

# %% [figure]
fig = schematics.merged_attention("keys of the book", "keys of the question")
alt = """One query attends to two sets of keys, the keys of the book and the keys of the
question. Each gives an average o and its log-sum-exp. Both pairs lead to a box "merge",
which gives the average over all keys and its log-sum-exp."""
show(fig, "merge", alt)

# %% [markdown]
# The two averages alone are not enough: one of them may stand for keys that suit the
# query, and the other for keys that do not. The lse says which: it is the logarithm of
# the denominator of that softmax. The two denominators add up to the one of all keys,
# and each average counts as much as its part of the sum:
#
# ```math
# o = w_1 o_1 + w_2 o_2, \qquad
# w_a = \frac{e^{\mathrm{lse}_a}}{e^{\mathrm{lse}_1} + e^{\mathrm{lse}_2}}, \qquad
# \mathrm{lse}_a = \ln \sum_{j \text{ in set } a} e^{s_j}
# ```
#
# Here $o_1$ and $o_2$ are the two averages, and $w_1$ and $w_2$ their shares. Cut the
# 300 keys into 200 of a "book" and 100 of a "question":

# %%
K, V = k.data, v.data  # (1, 300, 16)
o1, lse1 = sdpa(q, K[:, :200], V[:, :200], return_lse=True)  # the book
o2, lse2 = sdpa(q, K[:, 200:], V[:, 200:], return_lse=True)  # the question
o, lse = merge(o1, lse1, o2, lse2)
print("merged is attention over all keys:", np.allclose(o.data, sdpa(q, K, V).data))
plain = (o1.data + o2.data) / 2
print("the mean of both averages is:     ", np.allclose(plain, sdpa(q, K, V).data))

# %% [markdown]
# Every query merged its own two parts. The tiles above are merged by the same rule. A
# cache costs memory, too: two vectors for each token, in each layer and each key head.
# Its bytes grow with $n$, not with $n^2$.
#
# ## Which pairs can be left out?
#
# Now to savings that change the result. A [mask](../../GLOSSARY.md#mask) says which
# pairs count, and a tile without any allowed pair need not be computed. Three patterns
# are well known. Here they are with 24 tokens, so that one can see them:

# %%
n = 24
small = {
    "window": masks.sliding_window(4, 0),
    "Longformer": masks.sliding_window(2, 2) | masks.global_tokens([0]),
    "BigBird": masks.bigbird(2, 3, 1, 1, seed=0),
}
for name, mask in small.items():
    print(f"{name:10s} allows {mask.dense(1, 1, n, n).sum():3d} of {n * n} pairs")

# %% [figure]
fig, axes = figure("Which pairs count?", columns=3, size=(7.2, 3.3), sharey=True)
for ax, (name, mask) in zip(axes, small.items()):
    seen = mask.dense(1, 1, n, n)[0, 0]
    ax.imshow(np.where(seen, 0.6, np.nan), cmap="Blues", vmin=0, vmax=1)
    ax.set(title=name, xlabel="key j", xticks=(0, 8, 16), yticks=(0, 8, 16))
    ax.grid(False)
axes[0].set_ylabel("query i")
handles = [schematics.plain_patch("Blues", 0.6, "computed")]
fig.legend(handles=handles, loc="outside lower center")
alt = """Three patterns of 24 queries by 24 keys. Window: a narrow band below the
diagonal. Longformer: a band on both sides of the diagonal, and the first row and the
first column. BigBird: a band of blocks, the first block's rows and columns, and single
blocks at random places."""
show(fig, "patterns", alt)

# %% [markdown]
# - **Window**: each token sees itself and the tokens shortly before it.
# - **Longformer** (Beltagy, Peters and Cohan 2020): a window of $w$ neighbours, $w/2$
#   before and $w/2$ after, and a few *global* tokens that see all and are seen by all.
# - **BigBird** (Zaheer and others 2020): a window of blocks, a few global blocks, and a
#   few random ones.
#
# How many tiles of 64 by 64 are empty at 1024 tokens? The map below is BigBird's; a
# `#` is a tile that has to be computed:

# %%
n = 1024
window = masks.sliding_window(255, 0)  # 255 back and itself
bigbird = masks.bigbird(64, 3, 3, 2, seed=0)  # blocks of 64: window, random, global
for mask in (masks.causal(), window, bigbird):
    tiles = BlockMask.from_mask(mask, n, n, block=(64, 64))
    share = mask.dense(1, 1, n, n).mean()
    print(f"{mask!r:32s} {tiles.sparsity():.0%} of tiles empty, {share:.0%} of pairs")
print(tiles.map())

# %% [markdown]
# > **The book says** (the notes) that a sliding window comes "plus global tokens
# > (Longformer, Mistral)". With global tokens it is Longformer's. That of
# > Mistral, a language model, has none, and looks back only.
#
# Longformer gives its global tokens projections of their own. They begin as copies of
# the others, so at the start the layer is attention with the mask above. The library
# has it as a layer. Change the last of 24 tokens: which outputs change?

# %%
gen = np.random.default_rng(0)
layer = LongformerAttention(8, 2, window=4, rng=gen)
x = gen.normal(size=(1, 24, 8)).astype(np.float32)
changed = x.copy()
changed[0, 23] += 1
for name, tokens in (("no global token", None), ("token 0 is global", [0])):
    both = [layer(each, global_tokens=tokens).data for each in (x, changed)]
    print(f"{name:18s} {np.flatnonzero(np.abs(both[0] - both[1]).max((0, 2)) > 1e-6)}")

# %% [markdown]
# With the window alone, the outputs of the last three tokens change. With a global
# token, that of token 0 changes as well, and in the next layer every token can read it
# there.
#
# How do the multiplications grow when $n$ doubles, and those of a window when its
# length $w$ does?

# %%
ways = dict.fromkeys(("dense", "tiled", "window", "bigbird", "linear"), {})
ways["window"] = {"window": (255, 0)}
for name, options in ways.items():
    a, b = (cost_of(name, L=n, **options) for n in (2**16, 2**17))
    times, held = b.multiplications / a.multiplications, b.extra_bytes / a.extra_bytes
    print(f"{name:8s} n to the {np.log2(times):.2f}", end="")
    print(f"   memory n to the {np.log2(held):.2f}")
wide = [cost_of("window", L=2**16, window=(w - 1, 0)) for w in (128, 256, 512)]
print("w = 128, 256, 512:", *(f"{c.multiplications / 1e9:.2f} billion" for c in wide))

# %% [markdown]
# BigBird is linear: each block meets the same number of blocks, however many there are.
# Its memory grows a little faster, only because our map has a byte for each pair of
# blocks.
#
# > **The book says** (the notes) that BigBird costs "$O(n)$ or $O(n \sqrt n)$". It is
# > the first. $n \sqrt n$ is the cost of strided patterns, such as the Sparse
# > Transformer's.
#
# What leaves pairs out loses short ways. With all pairs, one layer is enough for every
# token to hear of every other. How many layers does each pattern need?


# %%
def layers_to_all(mask, n=1024, block=64):
    step = mask.dense(1, 1, n, n)[0, 0][::block, ::block]  # one token of each block
    reach, layers = step.copy(), 1
    while not reach.all() and layers < n:
        reach, layers = (reach.astype(int) @ step) > 0, layers + 1
    return layers


both = masks.sliding_window(128, 128)
for mask in (masks.everything, both, both | masks.global_tokens([0]), bigbird):
    print(f"layers: {layers_to_all(mask)}   {mask!r}")

# %% [markdown]
# Windows of $w$ to either side need $n/w$ layers. With one global token it is two.
#
# ## What if no pair is computed at all?
#
# The softmax contains $`e^{q \cdot k}`$, which mixes query and key, so every pair has
# to be computed. Put a product $\phi(q) \cdot \phi(k)$ in its place, where $\phi$ is a
# function that makes every entry positive. Then the sum over the keys can be taken
# *first*, before any query is there (linear attention; Katharopoulos and others 2020):
#
# ```math
# \sum_j \big(\phi(q_i) \cdot \phi(k_j)\big)\, v_j =
# \Big(\sum_j \phi(k_j)\, v_j^\top\Big)^{\!\top} \phi(q_i)
# ```
#
# The sum in brackets is a matrix of $d \times d_v$ numbers, and it is the same for all
# queries. The denominator is made in the same way, from $\sum_j \phi(k_j)$. With
# $\phi(x) = x + 1$ for positive $x$ and $e^x$ otherwise:

# %%
q, k, v = rng.normal(size=(3, 50, 4))


def phi(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))  # elu(x) + 1


w = phi(q) @ phi(k).T  # all pairs, (50, 50)
pairs = (w / w.sum(1, keepdims=True)) @ v
sums, z = phi(k).T @ v, phi(k).sum(0)  # (4, 4) and (4,), for all queries
summed = phi(q) @ sums / (phi(q) @ z)[:, None]
print("order does not matter:", np.allclose(summed, pairs))
print("the library's:", np.allclose(linear_attention(q, k, v).data, pairs))
print("rank of the weights:", np.linalg.matrix_rank(w), "of 50")

# %% [markdown]
# The weights are a product of 50 by 4 and 4 by 50 numbers, so their rank is 4. Those of
# a softmax may have rank 50: they can say more.
#
# In causal form, without $\phi$ and without the division, the sum over the keys is a
# matrix $W$ that grows by $v_t k_t^\top$ at each step, and the output is $W q_t$. Such a
# network is called a *fast weight programmer* (Schmidhuber 1991). Is that attention?

# %%
W, o = np.zeros((4, 4)), []
for t in range(50):
    W += np.outer(v[t], k[t])  # written by key and value
    o.append(W @ q[t])  # read by the query
print("fast weights are (Q K^T, j <= i) V:", np.allclose(o, np.tril(q @ k.T) @ v))

# %% [markdown]
# It is linear attention without the division, exactly (Schlag and others 2021), and
# without a softmax.
#
# > **The book says** (38.9) that "the Q/K/V structure was actually introduced in 1991 by
# > Schmidhuber". The structure is there, as the output shows; the softmax is not.
#
# The notes say that linear attention "loses some expressivity". How much? Let the query
# be one of $n$ keys, four times as long, so that this key is the right one. What weight
# does it get?

# %%
d, counts = 64, np.array([4, 16, 64, 256, 1024])
found = {"softmax": [], "linear": []}
for n in counts:
    k = rng.normal(size=(50, n, d))
    q = 4 * k[:, :1]  # the first of each
    e = (q @ k.swapaxes(1, 2))[:, 0] / d**0.5  # (50, n)
    found["softmax"].append(mg.softmax(e).data[:, 0].mean())
    w = (phi(q) @ phi(k).swapaxes(1, 2))[:, 0]  # (50, n)
    found["linear"].append((w[:, 0] / w.sum(1)).mean())

# %% [figure]
alt = f"""Weight on the right key against the number of keys, logarithmic. Softmax stays
at {found["softmax"][-1]:.2f} for 1024 keys; linear attention falls like 1/n, from
{found["linear"][0]:.2f} at 4 keys to {found["linear"][-1]:.4f}."""
show(drawing.one_of_many(counts, found), "find", alt)

# %% [markdown]
# Linear attention gives the right key {{ f"{found['linear'][-1] * 1024:.1f}" }} times
# its share by chance, softmax nearly everything. It can average, but it cannot pick. A
# learned $\phi$ can do better; the rank stays a limit.
#
# ## What does each way cost, on paper?
#
# The library has formulas for the multiplications, and for all bytes beside the inputs.
# (Tests compare them with what is counted and measured.) This is one head of width 64.
# Four columns of multiplications come first, then four of bytes:

# %%
lengths = [1024, 4096, 32_768, 2**20]
bill = {w: [cost_of(w, L=n, **more) for n in lengths] for w, more in ways.items()}
print(f"{'':8s}{'multiplications':32s} {'bytes':>8s}")
for way, costs in bill.items():
    print(f"{way:7s}", *(f"{c.multiplications:.1e}" for c in costs), end="  ")
    print(*(f"{size(c.extra_bytes):>8s}" for c in costs))

# %% [markdown]
# The columns stand for {{ ", ".join(f"{n:,}" for n in lengths) }} tokens. Tiled attention
# saves terabytes, and no work. Against the work, only leaving pairs out helps.
#
# ## And by the clock?
#
# Time depends on the machine, so it was measured once, in one run of all ways: forward
# pass, one thread. Dense attention uses NumPy's matrix products, the others compiled
# loops ([kernels](../../GLOSSARY.md#kernel)). "additive" is the score of
# [lesson 03](../03_additive/README.md):

# %%
kept = record("sweep")
print(how_made(kept))
measured = {w: x for w, x in kept["variants"].items() if x.get("n")}
for way, x in measured.items():
    ms = [f"{n}: {1e3 * t:.3g} ms" for n, t in zip(x["n"], x["least"])]
    print(f"{way:9s}", "   ".join(ms[-7::2]))

# %% [figure]
slopes = drawing.slopes(measured)
ends = ", ".join(f"{way} {slope:.1f}" for way, slope in slopes.items())
alt = f"""Time and memory against n, logarithmic, one line a variant. Slopes of the
times: {ends}. Right, two bundles: memory of dense and additive grows with the square;
tiled, window, bigbird and linear nearly coincide, in the end in proportion to n."""
show(drawing.clock(measured), "clock", alt)

# %%
x, y = measured["dense"], measured["tiled"]["least"]
for n, dense, tiled in [*zip(x["n"], x["least"], y)][-6:]:  # the same n
    print(f"{n:6d} tokens: tiled is {dense / tiled:.1f} times as fast as dense")
for way, slope in slopes.items():
    print(f"time of {way:8s} n to the {slope:.2f}")

# %% [markdown]
# Tiled attention does the same work and is faster. A matrix that is too large for the
# fast memory is written and read again, and that takes longer than the products.
#
# > **The book says** (the notes) that FlashAttention is two to four times as fast. That
# > was measured on GPUs. On this processor it is what the lines above say.
#
# > **The book says** (6.4.3) that "quadratic cost is affordable below 2048 tokens". The
# > curves have no corner there.
#
# ## Is it faster than a recurrence?
#
# A recurrent network reads 1000 tokens in 1000 steps, one after the other. Attention
# has no such order. A textbook says (6.4.4) that its advantage "grows with sequence
# length and with hardware capacity". The same record has a GRU (a loop in NumPy) and
# self-attention (tiled, with projections), both of width 64, forward:

# %%
both = kept["recurrence"]
for T, gru, itself in zip(both["T"], both["GRU"], both["self-attention"]):
    print(f"T {T:4d}   GRU {1e3 * gru:6.1f} ms   self-attention {1e3 * itself:6.1f} ms"
          f"   {gru / itself:.1f} times as fast")  # fmt: skip
for name in ("GRU", "self-attention"):
    print(f"{name}: from 1000 to 4000, time times {both[name][2] / both[name][1]:.1f}")

# %% [markdown]
# The GRU's steps are each too small to keep a processor busy, and self-attention is
# faster. But on one thread its gain does not grow with $T$ for ever, because steps grow
# like $T$ and pairs like $T^2$. "With hardware capacity" is the condition: where all
# pairs fit side by side, only the number of steps in series counts.
#
# ## What would break it?
#
# - Short sequences: below a few hundred tokens all of this is only more to manage.
# - A request for the weights: tiled and linear attention never have them.
# - A random set of single pairs, as sparse as BigBird: no tile is empty, so nothing is
#   saved.
# - A window off by one: `sliding_window(255, 0)` has 256 keys, itself included.
# - Two averages merged without their log-sum-exps.
#
# **To take away: memory can be saved for nothing, because an average can be built up
# tile by tile; work can be saved only by leaving pairs out or by giving up the softmax,
# and then you should know what you lose.**
#
# Exercises: 6.4 (the memory of the scores), E.8 (the online softmax), E.14 (the
# backward of tiled attention) and E.13 (causal linear attention):
# `python -m lessons start 6.4`.

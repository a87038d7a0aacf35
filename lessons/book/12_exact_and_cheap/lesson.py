"""12  Exact and cheap  ●●●○  60 min  importance ★★  needs 06, 09, 10

What do time and memory do as n grows?
"""

# %% [markdown]
# You give a language model a book of 300 pages and ask who the murderer is. The last
# word of your question has to look at every word of the book. In self-attention every
# word has to do this: with $n$ words there are $n^2$ pairs. A sentence has hundreds of
# pairs, a book of 100,000 words has ten billion. Who can pay for that?
#
# There are two kinds of savings. Some change nothing in the result: they compute every
# pair, but never keep all of them. Others give another result: they leave pairs out, or
# replace the softmax by something that needs no pairs at all. This lesson shows both
# kinds, counts what each costs, measures it, and shows what is lost.

# %%
from importlib import import_module

import numpy as np

import minigrad as mg
from attention import BlockMask, KVCache, LongformerAttention, MultiHeadAttention
from attention import linear_attention, masks, merge
from attention import scaled_dot_product_attention as sdpa
from attention.costs import cost_of
from attention.costs.table import size
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import (
    above, below, between, judged, over_seeds, written,
)
from lessons.pages.figures import BLUE, COLOURS, GREY, ORANGE, figure, show

rng = np.random.default_rng(12)

# %% [markdown]
# ## What does the matrix take?
#
# The scores of $n$ words, or [tokens](../../GLOSSARY.md#token), are a matrix of
# $n \times n$ numbers. In float32 a number has four bytes, so the matrix has $4 n^2$
# bytes. Take a short text of 1000 tokens, and longer ones. Does the width $d$ of the
# vectors matter?

# %%
for n in (1000, 4096, 32_768, 1_000_000):
    narrow, wide = (cost_of("dense", L=n, E=d).score_bytes for d in (64, 512))
    print(f"{n:>9,} tokens   {size(wide):>8s}   the same at d = 64: {narrow == wide}")
print("32 768 tokens, 32 heads:", size(cost_of("dense", L=32_768, H=32).score_bytes))

# %% [claims]
from lessons.pages.claims import YES, claim, over_draws, timed

scores = cost_of("dense", L=1000).score_bytes
claim("ex. 6.4", "the scores of 1000 tokens are 4 MB", "4", scores / 1e6)

# %% [markdown]
# The size does not depend on the width. (Exercise 6.4 says 4 MB for 1000 tokens, which
# is exact.) And this is one head of one example. 32 heads of 32 768 tokens are more
# than most machines hold. A million tokens are out of the question, if there has to be
# a matrix.
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
# To do this key by key is slow, because a processor is fast at products of matrices,
# and not at single vectors. FlashAttention (Dao and others 2022) takes blocks: a block
# of queries and a block of keys give a [tile](../../GLOSSARY.md#tile) of scores. The
# tile fits into the small fast memory of the processor, its *cache*. It is computed,
# used for $m$, $l$ and $o$, and dropped:
#
# ![tiles](figures/tiles.svg)
#
# *A grid of 4 by 4 tiles: blocks of queries Q1 to Q4 down, blocks of keys and values K1
# to K4 across. The tile of Q2 and K3 is at work. All tiles before it are hatched:
# computed, used, dropped. Beside the row stand m, l and o, which are kept, and the
# output, which is divided once at the end of the row.*
#
# FlashAttention has four versions. In the first, the outer loop runs over blocks of
# keys, and each tile ends with a division. In the second (Dao 2023) the outer loop runs
# over blocks of queries, and the only division comes at the end of a row. The third
# (Shah and others 2024) and the fourth (Zadouri and others 2026) are made for newer
# kinds of graphics processors, or GPUs.
#
# The library has the second, here in NumPy. The letters of the code: `m`, `l` and `o`
# are those of the table, `s` is a tile of scores, `p` holds its exponentials, and
# `alpha` is the correction $`e^{m - m'}`$. There are `L` queries and `S` keys, of width
# `E`, and values of width `Ev`; a tile has `Tq` queries and `Tk` keys. The list of the
# tiles is `plan`, and
# `_tiles` yields them one by one. A tile belongs to the head of queries with the number
# `n` and the head of keys with the number `h`. (The two numbers differ if several heads
# of queries share one head of keys, as in a section below. All sequences together have
# `N` heads of queries and `Nk` heads of keys.) It has the block of queries `i` and the
# block of keys `j`, and `allowed` is its mask. `_scores` computes the scores of a tile.
# It reads the scale from `terms`, which also contains what is added to the scores, such
# as positions. (`z` is the factor of dropout, 0 for a dropped weight; `draws` decides
# which weights are dropped.) The result `lse` is explained below the code.

# %% [source] attention.exact.flash.forward_twin

# %% [markdown]
# Is the result the same, with its gradients, on 300 tokens?

# %%
q, k, v = (mg.Tensor(x, requires_grad=True) for x in rng.normal(size=(3, 1, 300, 16)))
G = rng.normal(size=(1, 300, 16))
grads = []
for path in ("dense", "tiled"):
    out = sdpa(q, k, v, path=path)
    (out * G).sum().backward()
    grads.append([out.data] + [x.grad for x in (q, k, v)])
    q.grad = k.grad = v.grad = None
print("the same output and gradients:", all(map(np.allclose, *grads)))

# %% [markdown]
# It is: nothing is approximated. The backward pass needs the weights, which were
# dropped, so it computes them a second time. For this it keeps one number for each
# query, the logarithm of the sum of its exponentials,
# $`\ln \sum_j e^{s_j} = m + \ln l`$. This is the
# [log-sum-exp](../../GLOSSARY.md#log-sum-exp), *lse* for short. With it a tile of
# weights is computed directly, and the rest is the backward of [lesson
# 03](../03_additive/README.md), tile by tile:
#
# ```math
# p_{ij} = e^{s_{ij} - \mathrm{lse}_i}, \qquad
# \frac{\partial L}{\partial s_{ij}} = p_{ij}\, \big(g_i \cdot v_j - g_i \cdot o_i\big)
# ```
#
# Here $g_i$ is the gradient of the output $o_i$ (after the division), and
# $`g_i \cdot v_j`$ is the gradient of the weight $`p_{ij}`$. The derivative of a
# softmax contains a sum over $j$. Here it is
# $`\sum_j p_{ij}\, g_i \cdot v_j = g_i \cdot o_i`$, one number for each query. [Lesson
# 10](../10_heads/README.md) says how a query and a key get their gradients from those
# of the scores. So memory is saved, and a little more work is done. The tiles may run
# in any order: each adds its part to the gradients of its own queries, keys and values.
#
# ## Can the keys be in two places?
#
# A chat program has read your book once, and keeps its keys and values in a
# [KV cache](../../GLOSSARY.md#kv-cache). Then you ask a question. Or the book is so
# long that its keys are on two machines. Can two attentions over two sets of keys be
# put together?
#
# ![merge](figures/merge.svg)
#
# *One query attends to two sets of keys, the keys of the book and the keys of the
# question. Each gives an average o and its log-sum-exp. Both pairs lead to a box
# "merge", which gives the average over all keys and its log-sum-exp.*
#
# The two averages alone are not enough: one of them may stand for keys that suit the
# query, and the other for keys that do not. The lse says which: it is the logarithm of
# the denominator of that softmax. The two denominators add up to the one of all keys,
# and each average counts in proportion to its denominator:
#
# ```math
# o = w_1 o_1 + w_2 o_2, \qquad
# w_a = \frac{e^{\mathrm{lse}_a}}{e^{\mathrm{lse}_1} + e^{\mathrm{lse}_2}}, \qquad
# \mathrm{lse}_a = \ln \sum_{j \text{ in set } a} e^{s_j}
# ```
#
# Here $o_1$ and $o_2$ are the two averages, and $w_1$ and $w_2$ their shares. A set
# without an allowed key has an lse of $-\infty$ and the share 0. If both sets are so,
# the formula gives 0/0, and the library returns an output of 0 and an lse of $-\infty$.
# Cut the 300 keys into 200 of a "book" and 100 of a "question":

# %%
K, V = k.data, v.data  # (1, 300, 16)
o1, lse1 = sdpa(q, K[:, :200], V[:, :200], return_lse=True)  # the book
o2, lse2 = sdpa(q, K[:, 200:], V[:, 200:], return_lse=True)  # the question
o, lse = merge(o1, lse1, o2, lse2)
print("merged is attention over all keys:", np.allclose(o.data, sdpa(q, K, V).data))
plain = (o1.data + o2.data) / 2
print("the mean of both averages is:     ", np.allclose(plain, sdpa(q, K, V).data))

# %% [markdown]
# The weights $w_1$ and $w_2$ are different for each query. The tiles above are merged
# by the same rule: there $m + \ln l$ is the lse of the keys so far, and $o / l$ is
# their average.
#
# A KV cache costs memory, too. A section below counts it.
#
# ## Which pairs can be left out?
#
# Now to savings that change the result. A [mask](../../GLOSSARY.md#mask) says which
# pairs count, and a tile without any allowed pair need not be computed. Three patterns
# are well known:
#
# - **Window**: each token sees itself and the tokens shortly before it.
#   `sliding_window(4, 0)` allows 4 tokens before and none after.
# - **Longformer** (Beltagy, Peters and Cohan 2020): a window to both sides, and a few
#   *global* tokens that see all and are seen by all.
# - **BigBird** (Zaheer and others 2020): blocks of tokens. Each block sees its
#   neighbours, a few *global* blocks, and a few random ones; a global block sees all.
#   `bigbird(2, 3, 1, 1)` has
#   blocks of 2 tokens, a window of 3 blocks, 1 random block and 1 global block. One
#   global block is the first; two are the first and the last.
#
# Here they are with 24 tokens, so that one can see them:

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
handles = ax.fill([], [], color=ax.images[0].cmap(0.6), label="computed")
fig.legend(handles=handles, loc="outside lower center")
alt = """Three patterns of 24 queries by 24 keys. Window: a narrow band below the
diagonal. Longformer: a band on both sides of the diagonal, and the first row and the
first column. BigBird: a band of blocks, the first block's rows and columns, and single
blocks at random places."""
show(fig, "patterns", alt)

# %% [markdown]
# How many tiles of 64 by 64 have to be computed at 1024 tokens? The map below is
# BigBird's; a `#` is such a tile:

# %%
n = 1024
window = masks.sliding_window(255, 0)  # 255 back and itself
bigbird = masks.bigbird(64, 3, 3, 2, seed=0)  # blocks of 64: window, random, global
for mask in (masks.causal(), window, bigbird):
    tiles = BlockMask.from_mask(mask, n, n, block=(64, 64))
    share = mask.dense(1, 1, n, n).mean()
    full = 1 - tiles.sparsity()
    print(f"{mask!r:32s} computes {full:.0%} of tiles, allows {share:.0%} of pairs")
print(tiles.map())

# %% [markdown]
# > **The book says** (the notes on attention mechanisms) that in a sliding window
# > "(Longformer, Mistral)" each token attends to its neighbours "plus global tokens".
# > With global tokens it is Longformer's. That of Mistral, a language model, has none,
# > and looks back only.

# %% [claims]
row = masks.sliding_window(256, 256).dense(1, 1, 1024, 1024)[0, 0, 512]
claim("notes", "a window of 512 neighbours (Longformer: half of them on either side)",
      "512", int(row.sum()) - 1)

# %% [markdown]
# Longformer has a second set of the matrices $W_q$, $W_k$ and $W_v$, for its global
# tokens alone. At the start of training the second set is a copy of the first, so the
# layer is then attention with the mask above. The library has it as a layer. Its
# `window=4` means 2 tokens to either side. Change the last of 24 tokens: which outputs
# change?

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
# With the window alone, the outputs of the last three tokens change. If token 0 is
# global, its output changes as well. All tokens see token 0, so in the next layer the
# change can reach every token.
#
# How do the multiplications grow when $n$ doubles? And how do those of a window grow
# when the number $w$ of keys that a token sees doubles?

# %%
ways = dict.fromkeys(("dense", "tiled", "window", "bigbird", "linear"), {})
ways["window"] = {"left": 255, "right": 0}
for name, options in ways.items():
    a, b = (cost_of(name, L=n, **options) for n in (2**16, 2**17))
    times, held = b.multiplications / a.multiplications, b.extra_bytes / a.extra_bytes
    print(f"{name:8s} n to the {np.log2(times):.2f}", end="")
    print(f"   memory n to the {np.log2(held):.2f}")
wide = [cost_of("window", L=2**16, left=w - 1) for w in (128, 256, 512)]
print("w = 128, 256, 512:", *(f"{c.multiplications / 1e9:.2f} billion" for c in wide))

# %% [markdown]
# Dense and tiled attention grow with $n^2$, the others with $n$, and a window's cost
# doubles with $w$. BigBird is linear: each block but the global ones meets a fixed
# number of blocks at most, however many there are. The global ones meet all, but their
# number is fixed. (The memory is that of a call. The list of the tiles to compute is
# made once, before; for BigBird, ours has a byte for each pair of blocks.)
#
# > **The book says** (the notes) that BigBird costs "$O(n)$ or $O(n \sqrt n)$". It is
# > the first. $n \sqrt n$ is the cost of *strided* patterns, in which a token sees the
# > last $`l = \sqrt n`$ tokens and every $`l`$-th before them, as in the Sparse Transformer
# > (Child and others 2019): `causal() & (sliding_window(l - 1, 0) | dilated(n, l))`.

# %% [claims]
growth = {}
for name in ("tiled", "linear", "bigbird"):
    a, b = (cost_of(name, L=n) for n in (2**16, 2**17))
    growth[name] = b.extra_bytes / a.extra_bytes, b.multiplications / a.multiplications
for name in ("tiled", "linear"):
    claim("notes", f"{name} attention: memory grows with n (factor when n doubles: "
          "2.0)", "2.0", growth[name][0])
claim("notes", "BigBird may cost n to the 1.5 (exponent)", "1.5",
      np.log2(growth["bigbird"][1]))

# %% [markdown]
# If pairs are left out, a token receives nothing from a token far away before several
# layers have passed. With all pairs one layer is enough. How many layers does each
# pattern need?


# %%
def layers_to_all(mask, n=1024):
    step = mask.dense(1, 1, n, n)[0, 0].astype(np.float32)  # 1: i sees j
    reach, layers = step, 1
    while not reach.all() and layers < n:
        reach, layers = np.minimum(reach @ step, 1), layers + 1
    return layers


both = masks.sliding_window(128, 128)
for mask in (masks.everything, both, both | masks.global_tokens([0]), bigbird):
    print(f"layers: {layers_to_all(mask)}   {mask!r}")

# %% [markdown]
# Windows that reach 128 tokens to either side need $1024 / 128$ layers. With one global
# token two layers are enough.
#
# ## What if no pair is computed at all?
#
# The softmax contains $`e^{q \cdot k}`$. This cannot be written as a function of $q$
# alone times a function of $k$ alone, so it has to be computed for every pair. Put a
# product $\phi(q) \cdot \phi(k)$ in its place, where $\phi$ is a function that makes
# every entry positive. Then the sum over the keys can be taken *first*, without any
# query. This is *linear attention* (Katharopoulos and others 2020):
#
# ```math
# \sum_j \big(\phi(q_i) \cdot \phi(k_j)\big)\, v_j =
# \Big(\sum_j \phi(k_j)\, v_j^\top\Big)^{\!\top} \phi(q_i)
# ```
#
# The sum in brackets is a matrix of $d \times d_v$ numbers, and it is the same for all
# queries. The denominator, $\sum_j \phi(q_i) \cdot \phi(k_j)$, becomes
# $\phi(q_i) \cdot \sum_j \phi(k_j)$ in the same way. A usual choice is
# $\phi(x) = x + 1$ for positive $x$ and $e^x$ otherwise. (This is the function elu,
# plus one.)

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
# The *rank* of a matrix is the largest number of its rows of which none is a sum of
# multiples of the others. The weights here are a product of a 50 by 4 and a 4 by 50
# matrix, so their rank is 4 at most. All 50 rows of weights are mixtures of four rows.
# Those of a softmax may have rank 50.
#
# Leave out $\phi$ and the division, and let token $t$ see the tokens up to $t$ only.
# Then the sum over the keys is a matrix $W$ that grows by $v_t k_t^\top$ at each step,
# and the output is $W q_t$. Such a network is called a *fast weight programmer*
# (Schmidhuber 1991). Is that attention?

# %%
W, o = np.zeros((4, 4)), []
for t in range(50):
    W += np.outer(v[t], k[t])  # written by key and value
    o.append(W @ q[t])  # read by the query
print("fast weights are (Q K^T, j <= i) V:", np.allclose(o, np.tril(q @ k.T) @ v))

# %% [markdown]
# It is: exactly causal linear attention without $\phi$ and the division (Schlag and
# others 2021). To include both, replace $q$ and $k$ by $\phi(q)$ and $\phi(k)$, and
# keep a second running sum, of $\phi(k_j)$, for the denominator. (Or give each value
# one more entry, which is 1. The same sum then has the denominator in this entry.) Key
# $j$ influences the outputs from $j$ on. So the backward pass goes from the last token
# to the first, and adds up the products $`q_i\, g_i^\top`$ of a query and the gradient
# of its output. The gradients of $k_j$ and $v_j$ are computed from these sums.
#
# > **The book says** (38.9) that "the Q/K/V structure was actually introduced in 1991
# > by Schmidhuber". The structure is there, as the output shows; the softmax is not.

# %% [claims]
same = np.allclose(o, np.tril(q @ k.T) @ v)
claim("38.9", "Q, K and V are there in the fast weights of 1991", YES, same,
      "as causal attention without softmax and division")

# %% [markdown]
# The notes say that linear attention "loses some expressivity". How much? Draw $n$
# random keys of width 64, and let the query be the first key, four times as long. The
# right key then has a scaled score of $4 \cdot 64 / 8 = 32$ on average. The others have
# scores near 0, with a standard deviation of 4. What weight does the right key get?

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

# %% [claims]
keys = np.random.default_rng(1).normal(size=(100, 256, d))
first, one = 4 * keys[:, :1], np.eye(256)[None, :, :1]  # one: the output is its weight
soft = mg.softmax((first @ keys.swapaxes(1, 2))[:, 0] / d**0.5).data[:, 0]
share = linear_attention(first, keys, one.repeat(100, 0)).data[:, 0, 0] / soft
claim("notes", "linear attention loses expressivity (weight on the right one of 256 "
      "keys, over that of a softmax: below 0.5)", below(0.5), over_draws(share))

# %% [figure]
alt = f"""Weight on the right key against the number of keys, logarithmic. Softmax stays
at {found["softmax"][-1]:.2f} for 1024 keys; linear attention falls like 1/n, from
{found["linear"][0]:.2f} at 4 keys to {found["linear"][-1]:.4f}."""
fig, ax = figure("Can one key be found among n?", size=(5.6, 3.2))
ax.loglog(counts, found["softmax"], "o-", color=BLUE, label="softmax")
ax.loglog(counts, found["linear"], "s-", color=ORANGE, label="linear")
ax.loglog(counts, 1 / counts, ":", color=GREY, label="1/n, by chance")
ax.set(xlabel="keys n", ylabel="weight on the right key")
ax.legend()
show(fig, "find", alt)

# %% [markdown]
# With 1024 keys, linear attention gives the right key
# {{ f"{found['linear'][-1] * 1024:.1f}" }} times its share by chance, and softmax
# nearly all the weight. With random keys, linear attention averages and does not pick
# out one key. A learned $\phi$ can do better; the rank stays a limit.
#
# ## What do they lose in quality?
#
# To leave pairs out is fast. Does a model trained in this way do its task? Take a task
# in which it is known how far back the answer stands. A model reads
# {{ record("quality")["pairs"] }} pairs of a name and a number, such as "b 3". Each
# pair is *one* token: its vector has the name and the number. Then come the questions,
# which are the names alone, in another order, and the model has to say the number of
# each. So the pairs stand at the places 0 to 23 and the questions at 24 to 47, and the
# answer to a question stands 1 to 47 tokens back.
#
# A small causal Transformer of two layers is trained with each form of attention, five
# times, for {{ record("quality")["forms"]["budget"] }} steps, and some more in which the
# rate falls to 0 ([experiment.py](experiment.py)). Each form has the best of
# {{ len(record("quality")["forms"]["rates"]) }} learning rates, the same
# {{ len(record("quality")["forms"]["rates"]) }} for all forms, and another seed has
# chosen it. (Of equally good rates, the first counts.) The window has 16 tokens. BigBird has blocks of 8 tokens, so the pairs fill three blocks, and the
# questions fill three. Of the tokens before it, each token sees those of its own block,
# the first block, and one random block, if that lies before it. The random blocks are
# the same for all seeds. Here is this mask, block by block. A `#` is a block in which
# every pair of tokens is allowed, a `+` one in which some are. The first three columns
# are pairs, and the last three rows are questions:

# %%
quality = import_module("lessons.book.12_exact_and_cheap.experiment")
kept = record("quality")
forms, P = kept["forms"], kept["pairs"]
print(BlockMask.from_mask(quality.MASKS["BigBird"], 2 * P, 2 * P, block=(8, 8)).map())

# %% [markdown]
# The questions of the fourth row see the third block of pairs, the others the second.
# So we can count, for each distance, the share of the answers that the mask lets a
# question see. A model that reads only these and guesses the others (there are
# {{ kept["values"] }} numbers) has the following shares right:

# %%
back, expected = np.arange(P, 2 * P)[:, None] - np.arange(P), {}  # (P, P)
ends = [0, *kept["farthest"]]
ranges = [f"{a + 1}-{b}" for a, b in zip(ends, ends[1:])]
print("tokens back           ", *(f"{r:>6s}" for r in ranges))
for form in ("window", "BigBird"):
    sees = quality.MASKS[form].dense(1, 1, 2 * P, 2 * P)[0, 0, P:, :P]
    sees = [sees[(a < back) & (back <= b)].mean() for a, b in zip(ends, ends[1:])]
    expected[form] = [x + (1 - x) / kept["values"] for x in sees]
    print(f"{form:7s} sees          ", *(f"{x:6.2f}" for x in sees))
    print(f"{'':7s} expected right", *(f"{x:6.2f}" for x in expected[form]))

# %% [markdown]
# Are the trained models like this? And what do you expect of dense and of linear
# attention? Linear attention is trained twice: with four heads of width
# {{ kept["width"] // kept["heads"] }}, as the others have, and with one of width
# {{ kept["width"] }}, called "wide linear". Both have
# {{ f"{fair.figures(forms, 'wide linear', 'parameters')[0]:,}" }} parameters, as dense
# attention has. (The next section explains key heads.)

# %%
print(how_made(kept))
print(fair.table(forms, ("rate", "mean", "plateaus", "minus")))

# %%
of = {form: fair.figures(forms, form, "by distance") for form in forms["arms"]}
print("right, mean and range of the seeds, by tokens back")
print(f"{'':11s}", *(f"{r:>14s}" for r in ranges))
shown = "dense", "window", "BigBird", "linear", "wide linear"
for form in shown:
    cells = [f"{x.mean():.2f} {x.min():.2f}-{x.max():.2f}" for x in of[form].T]
    print(f"{form:11s}", *cells)

# %% [figure]
alt = "Share of right answers by how many tokens back the answer stands. " + " ".join(
    f"{form}: {', '.join(f'{x:.2f}' for x in of[form].mean(0))}." for form in shown
) + " And the share during training, a line for each run."  # fmt: skip
runs = len(forms["seeds"])
title = f"How far back can an answer be found? ({runs} runs of each form)"
fig, (left, right) = figure(title, columns=2, size=(7.2, 3.6), sharey=True)
for i, (form, colour, mark) in enumerate(zip(shown, (*COLOURS, GREY), "osD^v")):
    mean = of[form].mean(0)  # the bars show the lowest and the highest seed
    bars = [mean - of[form].min(0), of[form].max(0) - mean]
    look = {"color": colour, "marker": mark, "mfc": "none", "capsize": 3}
    at = np.arange(len(ranges)) + (i - 2) * 0.06
    left.errorbar(at, mean, bars, label=form, **look)
    for run in forms["runs"]:
        if run["arm"] == form:
            steps = forms["every"] * (1 + np.arange(len(run["curve"])))
            right.plot(steps, run["curve"], color=colour, lw=0.8)
left.axhline(forms["chance"], ls=":", color=GREY, label="chance")
right.axhline(forms["chance"], ls=":", color=GREY)
left.set_xticks(range(len(ranges)), ranges)
left.set(xlabel="tokens from the question\nback to the answer", ylim=(0, 1.05))
left.set_ylabel("share of right answers")
right.set_xlabel("training step\n(before the rate falls)")
fig.legend(loc="outside lower center", ncols=6)
show(fig, "quality", alt)

# %% [markdown]
# What does the record hold of this? A statement about a difference *holds* if the whole
# interval of the difference lies where the statement says. ([Lesson
# 14](../14_checks_the_book/README.md) explains the rule. Chance is right in one answer
# of {{ kept["values"] }}. Where a model ended without a plateau, its steps follow.)

# %%
sees = quality.MASKS["BigBird"].dense(1, 1, 2 * P, 2 * P)[0, 0, P:, :P].mean()
by_mask = sees + (1 - sees) * forms["chance"]  # what BigBird reads, or guesses


def more(form, shares, baseline):
    """Return the shares of a form minus a baseline, over the seeds."""
    steps = fair.steps_without_plateau(forms, form)
    return over_seeds(shares - baseline, steps=steps)


bigbird = more("BigBird", fair.figures(forms, "BigBird"), by_mask)
far, farthest = (more("window", of["window"][:, i], forms["chance"]) for i in (2, 3))
lost = {arm: fair.difference(forms, arm, "dense") for arm in forms["arms"]}
wider = fair.difference(forms, "wide linear", "linear")
mean = {arm: fair.figures(forms, arm).mean() for arm in forms["arms"]}
still = {a: sum(not x for x in fair.figures(forms, a, "plateau")) for a in mean}

# %%
near = between(-0.02, 0.02)
for says, claimed, found in (
    (f"window, {ranges[2]}: better than chance", above(0), far),
    (f"window, {ranges[3]}: chance, within .02", near, farthest),
    ("BigBird: as its mask, within .02", near, bigbird),
    ("linear: worse than dense", below(0), lost["linear"]),
    ("wide linear: worse than dense", below(0), lost["wide linear"]),
    ("wide linear: better than linear", above(0), wider),
):
    print(judged(says, claimed, found))

# %% [claims]
for arm, words in (("linear", "four heads"), ("wide linear", "one wide head")):
    claim("notes", f"linear attention loses some expressivity ({words}: right values "
          "of a small model, minus those of dense attention)", below(0), lost[arm])

# %% [markdown]
# Dense attention answers everything. The window answers what stands inside it, up to 15
# tokens back. Farther back no question sees its answer, but the window still has a part
# of the answers right. In the second layer it reads tokens that have read others in the
# first, so two layers reach 30 tokens. A token in between has to store the numbers of
# many names before the question comes, and it stores only some of them. Beyond 30
# tokens the window guesses. BigBird is right as often as its mask lets us expect. So
# whether it answers correctly depends on the place of the answer: it finds what stands
# in the first block or in its random block, and guesses the rest.
#
# Linear attention reaches everything, at every distance in about the same way. But it
# has to keep {{ P }} names and numbers in sums of a fixed size. With four heads of
# width {{ kept["width"] // kept["heads"] }} these are
# {{ kept["heads"] * (kept["width"] // kept["heads"]) ** 2 }} numbers in each layer (and
# {{ kept["width"] }} for the denominators), and with one head of width
# {{ kept["width"] }} they are {{ kept["width"] ** 2 }}. With the larger sums, and no
# more parameters, the model is right more often: after {{ forms["budget"] }} steps in
# {{ f"{mean['wide linear']:.3f}" }} of the answers, with four heads in
# {{ f"{mean['linear']:.3f}" }}. That is not the end: with four heads
# {{ still["linear"] }} of {{ len(forms["seeds"]) }} runs still improved after so many
# steps, with one {{ still["wide linear"] }}. So in this task, with keys that the model
# has learned, linear attention picks out one key of many much better than with the
# random keys above. With four narrow heads it learns this slowly, and after
# {{ forms["budget"] }} steps it is clearly behind.
#
# ## How much does a cache hold, and may heads share it?
#
# A program that writes a text keeps the keys and values of all tokens so far, in each
# layer and for each head. Let a model have 32 layers and heads of width 128, and let
# each number have 2 bytes. Several heads of queries may share one head of keys and
# values: with $H_k$ [key heads](../../GLOSSARY.md#key-head) the cache has $2 H_k E$
# numbers for each token and layer, where $E$ is the width of a head. If all heads of
# queries share one, this is *multi-query attention* (Shazeer 2019), with a few it is
# *grouped-query attention* (Ainslie and others 2023):

# %%
for key_heads in (32, 8, 1):
    numbers = 2 * key_heads * 128 * 32  # for one token
    print(f"{key_heads:2d} key heads: {size(2 * numbers * 32_768)} for 32 768 tokens")
cache, layer = KVCache(), MultiHeadAttention(32, 4, 2, rng=gen)
with mg.no_grad():
    layer(rng.normal(size=(1, 10, 32)).astype(np.float32), is_causal=True, cache=cache)
held = cache.key.data.nbytes + cache.value.data.nbytes
H_k, E = 2, 32 // 4  # of this layer; 10 tokens, 4 bytes a number
print("ours, 10 tokens:", held, "bytes; by the formula", 2 * H_k * E * 10 * 4)

# %% [markdown]
# What does it cost in quality? The dense model from above, with 4, 2 and 1 key heads
# for its 4 heads of queries, and their differences from it:

# %%
E = kept["width"] // kept["heads"]
for form, key_heads in (("dense", 4), ("2 key heads", 2), ("1 key head", 1)):
    held = 2 * key_heads * E * 4 * kept["layers"]
    [size_of] = {*fair.figures(forms, form, "parameters")}
    print(f"{key_heads} of {kept['heads']}: {held:3d} bytes a token", end="   ")
    least = f"{fair.figures(forms, form).min():.3f}"
    print(f"{size_of:,} parameters   right {least} or more")
for form in ("2 key heads", "1 key head"):
    print(f"{form} minus 4: {written(lost[form], 3)}")

# %% [markdown]
# The cache shrinks to a quarter, and nothing is lost that this task could show. It is
# too easy to show a small loss: all three answer nearly every question. On large models
# one key head loses a little, and a few key heads less (Ainslie and others 2023). For
# this reason, many language models today have more heads of queries than of keys.
#
# ## What does each way cost, on paper?
#
# The library has formulas for the multiplications, and for the bytes of a call beside
# its inputs. (Tests compare them with what is counted and measured.) This is one head
# of width 64. The window has 256 keys, and BigBird has the settings that we used above
# for 1024 tokens. The first four columns are multiplications, the last four are bytes,
# each for four lengths:

# %%
lengths = [1024, 4096, 32_768, 2**20]
bill = {w: [cost_of(w, L=n, **more) for n in lengths] for w, more in ways.items()}
heads = [f"{n:,}" if n < 2**20 else "2^20" for n in lengths]
print("n      ", *(f"{h:>7s}" for h in heads), "", *(f"{h:>8s}" for h in heads))
for way, costs in bill.items():
    print(f"{way:7s}", *(f"{c.multiplications:.1e}" for c in costs), end="  ")
    print(*(f"{size(c.extra_bytes):>8s}" for c in costs))

# %% [markdown]
# Dense attention keeps two matrices, scores and weights, so it has twice the bytes of
# the first table on this page. Tiled attention saves terabytes, and no multiplications.
# To save multiplications, one has to leave pairs out, or not to compute pairs at all.
#
# ## And by the clock?
#
# Time depends on the machine. This is one machine, and one thread on it. Several
# processes, one after the other, measured a forward pass of each way. A time is the
# least processor time of a few calls, between which the other ways had their turns. All
# ways were compiled: dense attention has NumPy's products of matrices (of the compiled
# library BLAS) and a compiled softmax, the others were loops that numba compiles, called
# [kernels](../../GLOSSARY.md#kernel); today linear attention is products of matrices too.
# "additive" is the score of [lesson 03](../03_additive/README.md).

# %%
kept = record("sweep")
print(how_made(kept))
runs = [run["compiled"]["variants"] for run in kept["runs"]]
measured = {
    way: {"n": x["n"]}
    | {key: np.min([run[way][key] for run in runs], 0) for key in ("least", "bytes")}
    for way, x in runs[0].items()
}
for way, x in measured.items():
    at = dict(zip(x["n"], x["least"]))  # seconds for n tokens
    ms = [f"{n}: {1e3 * at[n]:.4g} ms" for n in (512, 2048, 8192) if n in at]
    print(f"{way:9s}", "   ".join(ms))

# %% [figure]
slopes = {}  # the power of n that the times from 1024 tokens on follow
for way, x in measured.items():
    long = [(n, t) for n, t in zip(x["n"], x["least"]) if n >= 1024]
    slopes[way] = np.polyfit(*np.log(long).T, 1)[0]
ends = ", ".join(f"{way} {slope:.1f}" for way, slope in slopes.items())
alt = f"""Time and memory against n, logarithmic, one line a variant. Slopes of the
times: {ends}. Right, two bundles: memory of dense and additive grows with the square;
tiled, window, bigbird and linear nearly coincide, in the end in proportion to n."""
fig, axes = figure("What do a longer sequence's time and memory do?", columns=2)
# some lines lie on others: with hollow marks of different sizes all can be seen
order = ("dense", "tiled", "window", "bigbird", "linear", "additive")
looks = dict(zip(order, zip((*COLOURS, GREY), "osD^x+", (6, 12, 8, 5, 4, 11))))
for way, x in measured.items():
    look = dict(zip(("color", "marker", "ms"), looks[way]), mfc="none", lw=1, label=way)
    axes[0].loglog(x["n"], x["least"] * 1e3, **look)
    axes[1].loglog(x["n"], x["bytes"] / 1e6, **look)
axes[0].set(xlabel="tokens n", ylabel="time of one call (ms)")
axes[1].set(xlabel="tokens n", ylabel="memory beside the inputs (MB)")
axes[1].set_ylim(0.01, 5000)
axes[1].legend(fontsize=8, ncols=2, loc="upper left")
show(fig, "clock", alt)

# %%
print("times as long: 1024 to 2048 tokens, 2048 to 4096, 4096 to 8192;")
print("and the power of n that fits all times from 1024 tokens on")
twice = {}
for way, x in measured.items():
    at = dict(zip(x["n"], x["least"]))
    twice[way] = [at[n] / at[n // 2] for n in (2048, 4096, 8192)]
    print(f"{way:8s}", *(f"{each:.1f}" for each in twice[way]), end="   ")
    print(f"n to the {slopes[way]:.2f}")

# %% [markdown]
# The powers of the clock are near the counted ones, 2 and 1. Work that does not grow
# with $n$ can make them smaller. Matrices that do not fit into the caches, and whose
# memory the system gives anew in each call, can make those of dense and additive
# attention larger.
#
# Tiled attention does the same work as dense attention. Is it faster because of its
# tiles? Both are measured once more in plain NumPy:

# %%
faster = {}
for kind in ("compiled", "NumPy"):
    ways = [run[kind]["variants"] for run in kept["runs"]]
    print(f"{kind}: time of dense attention, divided by that of tiled attention")
    for i, n in enumerate(ways[0]["tiled"]["n"]):
        if n < 512:
            continue
        x = [(run["dense"]["least"][i], run["tiled"]["least"][i]) for run in ways]
        gain = faster[kind, n] = np.divide(*np.transpose(x))
        words = f"{np.mean(gain):.2f} [{min(gain):.2f}, {max(gain):.2f}]"
        print(f"{n:6d} tokens: {words} in {len(gain)} runs")

# %% [markdown]
# In NumPy, tiles save memory and cost time: each of them takes many short calls. If one
# compiled loop computes a whole tile, the tiles save time as well.
#
# > **The book says** (the notes) that FlashAttention is two to four times as fast. That
# > was measured on GPUs. On this processor, tiled attention is
# > {{ f"{np.mean(faster['compiled', 8192]):.1f}" }} times as fast as dense attention at
# > 8192 tokens if both are compiled. At 4096 tokens it is
# > {{ f"{np.mean(faster['compiled', 4096]):.1f}" }} times as fast, and
# > {{ f"{np.mean(faster['NumPy', 4096]):.1f}" }} times if both are NumPy.

# %% [claims]
claim("notes", "FlashAttention is two to four times as fast (on a GPU; here 8192 "
      "tokens on a processor, both sides compiled)", between(2, 4),
      timed(faster["compiled", 8192]))

# %% [markdown]
# > **The book says** (6.4.3) that below 2048 tokens "the quadratic cost is affordable
# > on modern hardware". There is no jump at 2048 tokens: twice as many tokens take
# > dense attention {{ f"{twice['dense'][0]:.1f}" }} times as long before,
# > {{ f"{twice['dense'][1]:.1f}" }} times after, and tiled attention
# > {{ "{:.1f} and {:.1f}".format(*twice["tiled"]) }}.
#
# ## Is it faster than a recurrence?
#
# A recurrent network reads 1000 tokens in 1000 steps, one after the other. Attention
# has no such order. A textbook says (6.4.4) that the advantage of attention "grows with
# sequence length and with hardware capacity". The same record has a GRU and
# self-attention (tiled, with projections, heads of width 64) that read one sequence on
# one thread. Both are compiled, or both are NumPy:

# %%
gains = {}
for kind, widths in (("compiled", ("64", "512")), ("NumPy", ("64",))):
    for d in widths:
        both = [run[kind]["recurrence"][d] for run in kept["runs"]]
        found = np.array([np.divide(x["GRU"], x["self-attention"]) for x in both])
        gains[f"width {d}, {kind}"] = both[0]["n"], found  # (runs, lengths)
print("time of the GRU, divided by that of self-attention: mean [least, most] of runs")
for words, (n, found) in gains.items():
    print(words)
    for length, x in zip(n, found.T):
        print(f"  {length:5d} tokens: {x.mean():5.2f} [{x.min():.2f}, {x.max():.2f}]")

# %% [claims]
for width in ("64", "512"):
    lengths, found = gains[f"width {width}, compiled"]
    late, early = (found[:, lengths.index(n)] for n in (4096, 1024))
    claim("6.4.4", "its advantage over a recurrence grows with length (gain in time "
          "at 4096 tokens over the gain at 1024, one thread, both compiled, width "
          f"{width})", above(1), timed(late / early))

# %% [figure]
alt = "How many times as fast as a GRU self-attention is, by tokens. " + " ".join(
    f"{words}: {', '.join(f'{x:.2f} at {a}' for a, x in zip(n, found.mean(0)))}."
    for words, (n, found) in gains.items()
)
fig, ax = figure("Is self-attention faster than a GRU?", size=(5.8, 3.4))
for (words, (n, found)), mark in zip(gains.items(), "osD"):
    mean = found.mean(0)
    bars = [mean - found.min(0), found.max(0) - mean]
    ax.errorbar(n, mean, bars, marker=mark, mfc="none", capsize=3, label=words)
ax.axhline(1, ls=":", color=GREY, label="equally fast")
ax.set(xscale="log", yscale="log", xlabel="tokens n")
ax.set_ylabel("time of the GRU divided by\nthat of self-attention")
ax.legend()
show(fig, "gains", alt)

# %% [markdown]
# On one thread the answer depends on the width $d$, on $n$ and on the program. The GRU
# needs $6 n d^2$ multiplications, self-attention $4 n d^2$ for its projections and
# $2 n^2 d$ for its pairs. So for $n > d$ self-attention is more work, and the more
# tokens there are, the more. What it gains is that its products are large. The GRU's
# steps multiply a matrix with one vector at a time. With the width 512 this gain is
# many times larger than with the width 64. But from 1024 tokens to 4096 it falls with
# both, because pairs grow like $n^2$ and steps like $n$.
#
# So on one thread the advantage does not grow with the length. It would on hardware
# that computes all pairs at the same time: then self-attention takes one step, and the
# GRU still takes $n$. This we have not measured.
#
# ## What would break it?
#
# - Short sequences: below a few hundred tokens all of this only makes the program more
#   complicated.
# - A request for the weights: tiled and linear attention never have them.
# - A random set of single pairs, as sparse as BigBird: no tile is empty, so nothing is
#   saved.
# - A window off by one: `sliding_window(255, 0)` has 256 keys, itself included.
# - Two averages merged without their log-sum-exps.
#
# **To take away: memory can be saved without changing the result, because an average
# can be built up tile by tile; work can be saved only by leaving pairs out or by giving
# up the softmax, and then you should know what you lose.**
#
# Exercises: 6.4 (the memory of the scores), E.8 (the online softmax), E.14 (the
# backward of tiled attention) and E.13 (causal linear attention):
# `python -m lessons start 6.4`.

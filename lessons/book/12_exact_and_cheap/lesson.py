"""Lesson 12: exact and cheap.  ●●●○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 12. Exact and cheap
#
# Every token looks at every token: $n^2$ pairs. What does that cost, for a thousand
# tokens and for a million? What can be saved without changing the result, and what does
# the rest cost? The Notes list five ways; each is counted, then measured. Forty
# minutes. You need lessons [06](../06_masks/README.md) and
# [09](../09_self_attention/README.md).

# %%
from importlib import import_module

import numpy as np

import minigrad as mg
from attention import BlockMask, linear_attention, masks
from attention.costs import cost_of
from attention.costs.table import size
from attention.exact.sdpa import dense_attention, tiled_attention
from lessons.classroom.figures import show
from lessons.classroom.records import how_made, record

drawing = import_module("lessons.book.12_exact_and_cheap.drawing")
rng = np.random.default_rng(12)

# %% [markdown]
# ## What does the matrix take? (Exercise 6.4)
#
# Four bytes for each pair of tokens, $4 T^2$. The exercise says 4 MB for $T = 1000$ and
# $d = 512$, and asks for 4096 and 32 768. How many gigabytes, and what does $d$ change?

# %%
for n in (1000, 4096, 32_768, 1_000_000):
    narrow, wide = (cost_of("dense", L=n, E=d).score_bytes for d in (64, 512))
    print(f"{n:>9,} tokens   {size(wide):>8s}   the same at d = 64: {narrow == wide}")
print("32 768 tokens, 32 heads:", size(cost_of("dense", L=32_768, H=32).score_bytes))

# %% [markdown]
# The 4 MB are exact, and $d$ has no part in them. Nor is it the whole, but one head of
# one example. 32 heads of 32 768 tokens are more than most machines hold, and a million
# tokens are out of the question, if there has to be a matrix.
#
# ## Does there have to be a matrix?
#
# A weight needs the sum over its row. But a weighted *average* can be built up. Keep
# three things of the keys seen so far: the largest score $m$, the sum $l$ of
# $`e^{s_j - m}`$, and the sum $o$ of $`e^{s_j - m} v_j`$. A larger score makes both
# wrong by a factor that is known:
#
# ```math
# m' = \max(m, s), \qquad l' = e^{m - m'} l + e^{s - m'}, \qquad
# o' = e^{m - m'} o + e^{s - m'} v
# ```
#
# Three keys with scores 2, 1 and 4, and values 10, 20 and 30:

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
# With blocks of keys and of queries this is FlashAttention: a tile of scores is
# computed, used and dropped. The Notes name three. The library's, here in NumPy, is
# algorithm 1 of FlashAttention-2 (Dao, 2023): queries in the outer loop, one division
# at the end. The first (2022) had keys outside and divided at every tile; the third is
# fitted to one kind of GPU (Hopper), of which there is nothing to show here:

# %% [source] attention.exact.flash.forward_twin

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
# The same: nothing is approximated. For the gradient $p$ is computed again from $q$,
# $k$ and one number a query, the logarithm of its sum. Work is *not* saved.
#
# ## Which pairs can be left out?
#
# A window: each token looks at the $w$ before it. BigBird: a window of blocks, a few
# global and random ones. Empty tiles are not computed. `#` are BigBird's other ones:

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
# The Notes' sliding window comes "plus global tokens (Longformer, Mistral)". With them
# it is Longformer's, whose $w$ neighbours are half before and half after the token;
# without them it is Mistral's, which looks back only. Of BigBird
# they say "$O(n)$ or $O(n \sqrt n)$". How do the multiplications grow when $n$ doubles,
# and those of a window, $O(n \cdot w)$, when $w$ does?

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
# ($n \sqrt n$ is the cost of strided patterns, such as the Sparse Transformer's. Its
# memory grows faster only by our map's byte for each pair of blocks.) What leaves pairs
# out gives other results. What is lost first is the short path of 6.4.3: in how many
# layers can all tokens have heard of all others?


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
# Windows of $w$ to either side need $n/w$ layers; with one global token it is two.
#
# ## What if no pair is computed at all?
#
# For $`e^{q \cdot k}`$ take $\phi(q) \cdot \phi(k)$. Then the keys are summed before
# any query is there:
#
# ```math
# \sum_j \big(\phi(q_i) \cdot \phi(k_j)\big)\, v_j =
# \Big(\sum_j \phi(k_j)\, v_j^\top\Big)^{\!\top} \phi(q_i)
# ```

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
# The weights are 50 by 4 times 4 by 50, so their rank is 4; a softmax's may have 50.
#
# Causal, without $\phi$ and the division, the sum over keys is a matrix that grows by
# $v_t k_t^\top$ a step, a Fast Weight Programmer: "the Q/K/V structure was actually
# introduced in 1991 by Schmidhuber", says 38.9. Is it attention?

# %%
W, o = np.zeros((4, 4)), []
for t in range(50):
    W += np.outer(v[t], k[t])  # programmed by key and value
    o.append(W @ q[t])  # asked by the query
print("fast weights are (Q K^T, j <= i) V:", np.allclose(o, np.tril(q @ k.T) @ v))

# %% [markdown]
# Unnormalised linear attention, exactly (Schlag and others, 2021), without a softmax.
# That "loses some expressivity", say the Notes. How much? The query is one of $n$ keys,
# four times as long. What weight does it get?

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
# its share by chance, softmax nearly everything. A learned $\phi$ can do better; the
# rank stays a limit.
#
# ## On paper, to a million tokens
#
# The library's formulas give multiplications, and all bytes beside the inputs. (Tests
# compare them with what is counted and measured.) One head of width 64:

# %%
lengths = [1024, 4096, 32_768, 2**20]
bill = {w: [cost_of(w, L=n, **more) for n in lengths] for w, more in ways.items()}
print(f"{'':8s}{'multiplications':32s} {'bytes':>8s}")
for way, costs in bill.items():
    print(f"{way:7s}", *(f"{c.multiplications:.1e}" for c in costs), end="  ")
    print(*(f"{size(c.extra_bytes):>8s}" for c in costs))

# %% [markdown]
# Columns: {{ ", ".join(f"{n:,}" for n in lengths) }} tokens, twice. Tiled saves
# terabytes, and no work; against that only leaving pairs out helps.
#
# ## And by the clock?
#
# The record is of one run of all variants, forward, one thread, compiled kernels; dense
# attention is NumPy's products of matrices:

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
# The Notes promise FlashAttention to be two to four times as fast, as measured on GPUs;
# on this processor it is what the lines above say, for the same reason: a matrix too
# large for the fast memory is written and read again. And 6.4.3's border, "quadratic
# cost is affordable below 2048 tokens", is no corner of these curves.
#
# ## Is it faster than a recurrence?
#
# 1000 tokens take a recurrence 1000 steps in series, and attention's advantage "grows
# with sequence length and with hardware capacity" (6.4.4). The same record has a GRU (a
# loop in NumPy) and self-attention (tiled, with projections), of width 64, forward:

# %%
both = kept["recurrence"]
for T, gru, itself in zip(both["T"], both["GRU"], both["self-attention"]):
    print(f"T {T:4d}   GRU {1e3 * gru:6.1f} ms   self-attention {1e3 * itself:6.1f} ms"
          f"   {gru / itself:.1f} times as fast")  # fmt: skip
for name in ("GRU", "self-attention"):
    print(f"{name}: from 1000 to 4000, time times {both[name][2] / both[name][1]:.1f}")

# %% [markdown]
# The loop pays for its steps, each too small to keep a processor busy, and
# self-attention is faster. But on one thread the gain does not grow with $T$ for ever:
# steps grow like $T$, pairs like $T^2$. "With hardware capacity" is the condition:
# where all pairs fit side by side, depth is all that counts.
#
# ## What would break it
#
# - Short sequences: below a few hundred tokens all of this is bookkeeping.
# - Asking a tiled or a linear attention for its weights: there are none.
# - A random set of single pairs, as sparse as BigBird: no tile is empty.
# - A window off by one: `sliding_window(255, 0)` has 256 keys, itself included.
#
# For practice: exercise 6.4, and E.8, the online softmax.

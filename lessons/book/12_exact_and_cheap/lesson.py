"""Lesson 12: exact and cheap.  ●●●○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 12. Exact and cheap
#
# Every token looks at every token: $n^2$ pairs. What exactly does that cost, for a
# thousand tokens and for a million? Which of it can be saved without changing the
# result, and what does the rest of the saving cost in what attention can do? The Notes
# list five ways; here each is counted, and then measured.
#
# You need lessons [06](../06_masks/README.md) and [09](../09_self_attention/README.md).
# Forty minutes.

# %%
import numpy as np

import minigrad as mg
from attention import BlockMask, linear_attention, masks
from attention.ledger import ledger
from attention.ledger_table import size
from attention.sdpa import dense_attention, tiled_attention
from lessons.classroom.figures import BLUE, COLOURS, GREY, ORANGE, figure, show
from lessons.classroom.measured import how_made, record

rng = np.random.default_rng(12)

# %% [markdown]
# ## What does the matrix take? (Exercise 6.4)
#
# One number for each pair of tokens, four bytes in single precision: $4 T^2$. The
# exercise says 4 MB for $T = 1000$ and $d = 512$, and asks for 4096 and 32 768. Before
# you look: how many gigabytes for the last, and what does $d$ change?

# %%
for n in (1000, 4096, 32_768, 1_000_000):
    narrow, wide = (ledger("dense", L=n, E=d).score_bytes for d in (64, 512))
    print(f"{n:>9,} tokens   {size(wide):>8s}   the same at d = 64: {narrow == wide}")
print("32 768 tokens, 32 heads:", size(ledger("dense", L=32_768, H=32).score_bytes))

# %% [markdown]
# The 4 MB are exact, and $d$ has no part in them. Nor is it the whole: it is one head,
# one example, one layer. 32 heads of 32 768 tokens are more than most machines hold,
# and a million tokens are out of the question, if there has to be a matrix.
#
# ## Does there have to be a matrix?
#
# A weight needs the sum over its row, so it seems that the row has to be there. But a
# weighted *average* can be built up. Keep three things of the keys seen so far: the
# largest score $m$, the sum $l$ of $`e^{s_j - m}`$, and the sum $o$ of
# $`e^{s_j - m} v_j`$. When a larger score turns up, both sums are relative to the wrong
# $m$, by a factor that is known:
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
# With blocks of keys in the place of one, and blocks of queries, this is
# FlashAttention: a tile of scores is computed, used and dropped. Here is the library's,
# in NumPy:

# %% [source] attention.flash.forward_twin

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
# The same, forward and backward: nothing is approximated. For its gradient, too, no
# matrix is kept: $p$ is computed again from $q$, $k$ and one number a query, the
# logarithm of its sum. What is *not* saved is work: all pairs are still computed.
#
# ## Which pairs can be left out?
#
# A window: each token looks at the $w$ before it. BigBird: a window of blocks, a few
# global blocks, a few drawn at random. Tiles without a pair are never computed, so the
# share of empty tiles is what is saved. Below it, BigBird's tiles, `#` for the others:

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
# The Notes say of the sliding window that it comes "plus global tokens (Longformer,
# Mistral)". With them it is Longformer's, whose $w$ neighbours are half before and half
# after the token; without them it is Mistral's, which looks back only. And of BigBird
# they say "$O(n)$ or $O(n \sqrt n)$". How do the multiplications grow when $n$ doubles?

# %%
for name, options in (
    ("dense", {}), ("tiled", {}), ("window", {"window": (255, 0)}),
    ("bigbird", {}), ("linear", {}),
):  # fmt: skip
    a, b = (ledger(name, L=n, **options) for n in (2**16, 2**17))
    times, held = b.multiplications / a.multiplications, b.extra_bytes / a.extra_bytes
    print(f"{name:8s} n to the {np.log2(times):.2f}", end="")
    print(f"   memory n to the {np.log2(held):.2f}")

# %% [markdown]
# BigBird is linear: each block meets the same number of blocks, however many there are.
# ($n \sqrt n$ is the cost of strided patterns, such as the Sparse Transformer's. The
# memory grows a little faster only because our map of blocks has a byte for each pair
# of blocks.) The window and BigBird leave pairs out, and give other results than full
# attention. What is lost first is the short path of 6.4.3: in how many layers can every
# token have heard of every other?


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
# A window of $w$ to either side needs $n/w$ of them; one global token makes it two.
#
# ## What if no pair is computed at all?
#
# Replace $`e^{q \cdot k}`$ by a product $\phi(q) \cdot \phi(k)$. Then the sum over keys
# can be taken before any query is there:
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
# The weights are a matrix of 50 by 4 times one of 4 by 50, so their rank is 4; those of
# a softmax may have 50. The Notes say that it "loses some expressivity". How much? Ask
# for one key among $n$: the query is that key, four times as long. What weight does it
# get?

# %%
d, counts = 64, np.array([4, 16, 64, 256, 1024])
found = {"softmax": [], "linear": []}
for n in counts:
    k = rng.normal(size=(50, n, d))
    q = 4 * k[:, :1]  # the first of each
    e = (q @ k.swapaxes(1, 2))[:, 0] / d**0.5  # (50, n)
    found["softmax"].append(mg.softmax(e).data[:, 0].mean())
    w = (phi(q) @ phi(k).swapaxes(1, 2))[:, 0]
    found["linear"].append((w[:, 0] / w.sum(1)).mean())

# %% [figure]
fig, ax = figure("Can one key be found among n?", size=(5.6, 3.2))
ax.loglog(counts, found["softmax"], "o-", color=BLUE, label="softmax")
ax.loglog(counts, found["linear"], "s-", color=ORANGE, label="linear")
ax.loglog(counts, 1 / counts, ":", color=GREY, label="1/n, by chance")
ax.set(xlabel="keys n", ylabel="weight on the right key")
ax.legend()
alt = f"""Weight on the right key against the number of keys, logarithmic. Softmax stays
at {found["softmax"][-1]:.2f} for 1024 keys; linear attention falls like 1/n, from
{found["linear"][0]:.2f} at 4 keys to {found["linear"][-1]:.4f}."""
show(fig, "find", alt)

# %% [markdown]
# Linear attention gives the right key {{ f"{found['linear'][-1] * 1024:.1f}" }} times
# its share by chance, and softmax nearly everything. A learned $\phi$ can do better
# than random keys; the rank, the width of $\phi$, stays a limit.
#
# ## On paper, to a million tokens
#
# The library's ledger predicts multiplications, and all bytes that are held beside the
# inputs. (Tests hold the first equal to a loop that counts, and the second to what is
# measured.) One head of width 64:

# %%
ways = ("dense", "tiled", "window", "bigbird", "linear")
options = {"window": {"window": (255, 0)}}
lengths = [1024, 4096, 32_768, 2**20]
bill = {w: [ledger(w, L=n, **options.get(w, {})) for n in lengths] for w in ways}
print(f"{'':8s}{'multiplications':32s} {'bytes':>8s}")
for way, costs in bill.items():
    print(f"{way:7s}", *(f"{c.multiplications:.1e}" for c in costs), end="  ")
    print(*(f"{size(c.extra_bytes):>8s}" for c in costs))

# %% [markdown]
# Columns: {{ ", ".join(f"{n:,}" for n in lengths) }} tokens, twice. Tiled saves the
# memory, terabytes of it, and no work; at a million tokens the work is what is left,
# and only leaving pairs out helps.
#
# ## And by the clock?
#
# Counting is not timing. The record is of one run of all variants, forward, one thread,
# compiled kernels, beside dense attention on NumPy's matrix products:

# %%
kept = record("sweep")
print(how_made(kept))
measured = {w: x for w, x in kept["variants"].items() if x.get("n")}
for way, x in measured.items():
    ms = [f"{n}: {1e3 * t:.3g} ms" for n, t in zip(x["n"], x["least"])][::2]
    print(f"{way:9s}", "   ".join(ms))

# %% [figure]
colours = dict(zip((*ways, "additive"), (*COLOURS, GREY)))
# some lines lie on others: with hollow marks of different sizes all can be seen
marks = dict(zip(colours, zip("osD^x+", (6, 12, 8, 5, 4, 11))))
fig, axes = figure("What do a longer sequence's time and memory do?", columns=2)
for way, x in measured.items():
    n, held = np.array(x["n"]), np.array(x["bytes"], float)
    look = dict(zip(("marker", "ms"), marks[way]), color=colours[way], mfc="none")
    axes[0].loglog(n, np.array(x["least"]) * 1e3, lw=1, label=way, **look)
    axes[1].loglog(n, held / 1e6, lw=1, label=way, **look)
axes[0].set(xlabel="tokens n", ylabel="time of one call (ms)")
axes[1].set(xlabel="tokens n", ylabel="memory beside the inputs (MB)")
axes[1].legend(fontsize=8, ncols=2, loc="upper left")
axes[1].set_ylim(0.05, 5000)
slopes = {  # of the times, the first two left out
    way: np.polyfit(np.log(x["n"][2:]), np.log(x["least"][2:]), 1)[0]
    for way, x in measured.items()
    if len(x["n"]) > 3
}
ends = ", ".join(f"{way} {slope:.1f}" for way, slope in slopes.items())
alt = f"""Time and memory against n, logarithmic, one line a variant. Slopes of the
times: {ends}. In the right panel there are two bundles: memory of dense and additive
grows with the square; tiled, window, bigbird and linear lie nearly on one another, and
grow in proportion to n."""
show(fig, "clock", alt)

# %%
x, y = measured["dense"], measured["tiled"]
for n, dense, tiled in zip(x["n"], x["least"], y["least"]):  # the same n
    print(f"{n:6d} tokens: tiled is {dense / tiled:.1f} times as fast as dense")
for way, slope in slopes.items():
    print(f"time of {way:8s} n to the {slope:.2f}")

# %% [markdown]
# The Notes promise FlashAttention to be two to four times as fast. That was measured on
# GPUs, for attention alone; on this processor it is what the lines above say. The
# reason is the same: a matrix that is too large for the fast memory has to be written
# and read again. On few tokens there is nothing to gain. And 6.4.3's border, "quadratic
# cost is affordable below 2048 tokens", is nothing that the curves show: they have no
# corner there.
#
# ## What would break it
#
# - Short sequences. Below a few hundred tokens the matrix is small, and all of this is
#   bookkeeping.
# - Asking a tiled or a linear attention for its weights: there are none.
# - Patterns without tiles. A random set of single pairs is as sparse as BigBird, and
#   every tile has one.
# - A window off by one: `sliding_window(255, 0)` has 256 keys, itself included.
#
# For practice: exercise 6.4, and E.8, the online softmax.

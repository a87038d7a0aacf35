"""Lesson 06: masks and padding.  ●●○○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 06. Masks and padding
#
# Sentences have different lengths, arrays do not. So short sentences are filled up with
# padding, and padding takes part in everything, unless somebody keeps it out. What does
# it do where nobody does? How is it kept out, and which of the usual ways fail? This is
# the page on scoring functions, run by our engine, with the cases it leaves out. You
# need [lesson 03](../03_additive/README.md), and half an hour.

# %%
import numpy as np

import minigrad as mg
from attention import (
    AdditiveAttention,
    DotProductAttention,
    attend,
    masked_softmax,
    scaled_dot_product_attention,
    show_heatmaps,
)
from lessons.classroom.figures import GREY, figure, neutral_style, show

rng = np.random.default_rng(0)

# %% [markdown]
# ## What does padding do where nobody masks it?
#
# One query, a few keys, and behind them more and more rows of zeros, as an encoder
# leaves them for padding. A zero row adds nothing to a sum. Does it change the context?


# %%
def padded(n):  # n rows of zeros behind the five keys and values
    K, V = (np.pad(x, ((0, n), (0, 0)))[None] for x in (k, v))  # (1, 5 + n, 4)
    return q[None], K, V


q, k, v = rng.normal(size=(1, 4)), rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
alone, _ = attend(q, k, v)  # (1, 4)
for n in (0, 1, 5, 20):
    c, p = attend(*padded(n))
    tight, _ = attend(*padded(n), valid_lens=np.array([5]))
    print(f"{n:2d} pads take {p.data[0, 0, 5:].sum():.3f}", end="   ")
    print(f"context {c.data[0, 0, :2].round(3)}", end="   ")
    print(f"masked {tight.data[0, 0, :2].round(3)}")

# %% [figure]
fig, ax = figure("How much attention does unmasked padding take?", size=(7.2, 3))
pads, share = np.arange(0, 41, 2), {}
for n, style in ((3, "o-"), (8, "s--"), (24, "^-.")):
    e = rng.normal(size=(200, n))  # scores of 200 queries
    rows = [mg.softmax(np.pad(e, ((0, 0), (0, m)))).data[:, n:].sum(1) for m in pads]
    share[n] = np.mean(rows, 1)
    ax.plot(pads, share[n], style, label=f"{n} real keys")
ax.plot(pads, 0 * pads, color=GREY, label="masked")
ax.set(xlabel="rows of padding, score 0", ylabel="weight on padding", ylim=(-0.02, 1))
ax.legend()
alt = f"""Mean weight on padding against the number of padded rows, for real scores from
a normal distribution. At 20 rows three real keys leave {share[3][10]:.2f} to the
padding, eight {share[8][10]:.2f}, twenty-four {share[24][10]:.2f}; masked it is 0."""
show(fig, "unmasked", alt)

# %% [markdown]
# A score of 0 is not a weight of 0: $e^0$ is 1. With zero values the padding draws the
# context towards 0 by exactly its share, and the shorter the sentence, the more of it
# there is. What is worse, the same sentence gives another result beside a longer
# neighbour: the answer depends on the company in the batch. That decided the reversal
# experiment of chapter 38.6, to which lesson 07 returns.
#
# ## What should a masked softmax be?
#
# The sum runs over the allowed keys and over no others, and a row that allows none has
# no weights:
#
# ```math
# p_j = \frac{e^{s_j - m}}{\sum_{l \text{ allowed}} e^{s_l - m}}, \quad
# m = \max_{l \text{ allowed}} s_l, \qquad p_j = 0 \text{ where } j \text{ is not}
# ```

# %% [source] attention.kernels.softmax.forward_twin

# %% [markdown]
# Two lines carry the care. Where $m$ is $-\infty$, a row with nothing in it, 0 stands
# in, since $-\infty - (-\infty)$ is no number; and an empty sum is divided by 1.
#
# The page prints two examples of random scores. The scores it keeps to itself, but each
# row's weights give them back up to a constant, $s_j = \ln p_j$. Put something absurd
# where the padding was: does our function return what the page prints?

# %%
first = np.array([
    [[0.6731507, 0.32684928, 0, 0], [0.37237114, 0.6276289, 0, 0]],
    [[0.35941443, 0.35476714, 0.28581837, 0], [0.406084, 0.30974853, 0.28416747, 0]],
])  # fmt: skip
second = np.array([
    [[1, 0, 0, 0], [0.3033781, 0.2762389, 0.42038298, 0]],
    [[0.55870575, 0.44129428, 0, 0], [0.19670235, 0.2990804, 0.14326371, 0.36095354]],
])  # fmt: skip

# %%
for printed, lens in ((first, [2, 3]), (second, [[1, 3], [2, 4]])):
    s = np.log(np.where(printed > 0, printed, np.nan))  # (2, 2, 4)
    spread = (np.nanmax(s, -1) - np.nanmin(s, -1)).max()
    p = masked_softmax(s, valid_lens=np.array(lens)).data
    print("as printed:", np.allclose(p, printed, atol=1e-6), end="   ")
    print(f"largest difference of two scores {spread:.2f}")

# %% [markdown]
# It does, and the differences stay below 1, as they must for scores drawn from
# $[0, 1)$. Lengths of shape (B,) hold for all queries of an example, lengths (B, L) for
# each query. The number of axes decides, never the sizes, which may be equal by
# accident.
#
# ## Why not a large negative number?
#
# The page sets masked scores to $-10^6$, a *sentinel*, and takes an ordinary softmax.
# In ordinary rows that is right. Here are three others; what do you expect in each?


# %%
def with_sentinel(s, allowed, dtype=np.float32):
    with np.errstate(over="ignore", invalid="ignore"):
        s = np.where(allowed, s, -1e6).astype(dtype)
        e = np.exp(s - s.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)


# %%
s, none = np.array([2.0, 1.0, 0.0, 3.0]), np.zeros(4, bool)
some = np.array([True, True, False, False])
rows = {
    "nothing allowed": (s, none, np.float32),
    "the same in float16": (s, none, np.float16),
    "low real scores": (s - 2e6, some, np.float32),
}
for name, (x, allowed, dtype) in rows.items():
    ours = masked_softmax(x.astype(np.float32), mask=allowed).data
    print(f"{name:20s} sentinel {with_sentinel(x, allowed, dtype).round(3)}", end="   ")
    print(f"ours {ours.round(3)}")

# %% [markdown]
# An empty row gets *equal weights on everything, padding included*: after the sentinel
# all scores are alike. In half precision $-10^6$ is $-\infty$, and the row is NaN. And
# scores lower than the sentinel lose against the padding. Empty rows are no rarity: an
# empty sentence, a window that lies outside, two masks that allow nothing together.
#
# Ours: weights 0, context 0. The logarithm of the empty sum, which some callers want,
# is $-\infty$:

# %%
x = rng.normal(size=(3, 4))
allow = np.array([[1, 1, 0], [0, 0, 0], [1, 1, 1]]) == 1  # the second query: nothing
out, lse = scaled_dot_product_attention(x, x, x, attn_mask=allow, return_lse=True)
print("context", out.data[1], "  lse", lse.data.round(3))

# %% [markdown]
# ## What comes back through a mask?
#
# With $g = \partial L / \partial p$ the backward is that of softmax,
#
# ```math
# \frac{\partial L}{\partial s_j} = p_j \Big(g_j - \sum_l p_l\, g_l\Big)
# ```
#
# and needs no mask: where $p_j = 0$, nothing comes back. In an empty row nothing comes
# back at all. With the sentinel it is otherwise, since such a row *looks at* padding:
# what stands in the padded values gets a gradient of $1/S$ of the row's.

# %%
s = mg.Tensor(rng.normal(size=(3, 4)), requires_grad=True)
lens = np.array([2, 0, 4])[None]  # (B = 1, L = 3)
p = masked_softmax(s[None], valid_lens=lens)
(p * rng.normal(size=(1, 3, 4))).sum().backward()
print(s.grad.round(3))
check = mg.gradcheck(lambda s: masked_softmax(s[None], lens), [s.data])
print("gradient check:", check.ok)

# %% [markdown]
# One leak remains that no weight can stop. A weight of 0 times a value of NaN is NaN,
# and uninitialised memory may hold anything. So `attend` replaces keys and values that
# every query excludes by 0, if any of them is NaN or infinite:

# %%
K, V = (np.concatenate([x, np.full((2, 4), np.nan)])[None] for x in (k, v))
with np.errstate(invalid="ignore"):
    weights = np.array([0.2, 0.2, 0.2, 0.2, 0.2, 0, 0])
    print("weights of 0 alone:", weights @ V[0])
c, _ = attend(q[None], K, V, valid_lens=np.array([5]))
print("attend, equal to no padding at all:", np.allclose(c.data[0], alone.data))

# %% [markdown]
# ## The two classes of the page
#
# Both multiply weights and values in batches, (2, 3, 4) by (2, 4, 6):

# %%
product = mg.Tensor(np.ones((2, 3, 4))) @ np.ones((2, 4, 6))
print(product.shape, "every entry", set(product.data.ravel().tolist()))

# %% [markdown]
# Then two demonstrations, with ten keys of width 2, values of width 4 and the lengths 2
# and 6. "Two queries", says the page. The shapes say a batch of two examples with *one*
# query each. For the additive score the queries are 20 wide.

# %%
keys, values = rng.normal(size=(2, 10, 2)), rng.normal(size=(2, 10, 4))
lens = np.array([2, 6])
mg.manual_seed(0)
layers = {
    "dot product": (DotProductAttention(dropout=0.5), rng.normal(size=(2, 1, 2))),
    "additive": (AdditiveAttention(20, 2, 8, dropout=0.1), rng.normal(size=(2, 1, 20))),
}

# %% [markdown]
# In training, dropout sets weights to 0 and enlarges the others. The layer shows the
# weights from *before* that, which sum to 1 in both modes:

# %%
maps = []
for name, (layer, queries) in layers.items():
    for mode in (layer.train, layer.eval):  # with dropout, without
        mode()
        c = layer(queries, keys, values, lens)
        sums = layer.attention_weights.data.sum(-1).ravel()
        print(f"{name:12s} {mode.__name__:5s} context {c.shape}   sums {sums.round(4)}")
    maps.append(layer.attention_weights.data[:, 0])  # (2, 10)

# %% [figure]
neutral_style()
fig = show_heatmaps(
    np.stack(maps)[None], "keys", "examples", list(layers), (7.2, 2.0)
)  # (1, 2, 2, 10)
for ax in fig.axes:
    ax.grid(False)
alt = f"""Two heatmaps of ten keys by two examples. In both, the first example has
weight on keys 0 and 1 only, the second on keys 0 to 5; all else is 0. The largest
weight is {maps[0].max():.2f} for the dot product, {maps[1].max():.2f} for the additive
score."""
show(fig, "two-layers", alt)

# %% [markdown]
# In the page's own class for the additive score, `key_size` and `query_size` are taken
# and never used: its layers find their widths at the first call, so a wrong number goes
# unnoticed. Ours are part of the layer:

# %%
try:
    layers["additive"][0](rng.normal(size=(2, 1, 19)), keys, values, lens)
except ValueError as refusal:
    print(str(refusal).replace("; ", ";\n"))

# %% [markdown]
# ## Where else does padding leak?
#
# Attention is one place of several. A test that finds them all: compute twice, with
# different rubbish in the padding. What differs, leaks. Which of these do you suspect?

# %%
x, n = rng.normal(size=(1, 8, 3)), 5  # five tokens, three of padding
y = x.copy()
y[:, n:] = rng.normal(size=(1, 3, 3))
gru = mg.nn.GRU(3, 4, bidirectional=True)
target = np.array([1, 2, 0, 1, 2, -1, -1, -1])
told, head = np.array([n]), rng.normal(size=(3, 3))

# %%
places = {
    "GRU, last state forward": lambda x: gru(x)[1][0],
    "GRU, real tokens forward": lambda x: gru(x)[0][:, :n, :4],
    "GRU, real tokens backward": lambda x: gru(x)[0][:, :n, 4:],
    "GRU with lengths, all": lambda x: gru(x, lengths=told)[0],
    "mean over time": lambda x: mg.Tensor(x).mean(1),
    "loss over all": lambda x: mg.cross_entropy(x[0] @ head, abs(target)),
    "loss, padding ignored": lambda x: mg.cross_entropy(x[0] @ head, target, -1),
}
for name, f in places.items():
    leaks = not np.allclose(f(x).data, f(y).data)
    print(f"{name:26s} {'leaks' if leaks else 'is tight'}")

# %% [markdown]
# A forward GRU is tight up to the last real token, because it cannot see ahead; its
# last state is not, and the backward direction starts in the padding.
#
# ## What would break it
#
# - A mask over the wrong axis: (B, 1, 1, S) masks keys, (B, 1, S, 1) masks queries, and
#   with $S$ queries both fit.
# - A mask the other way round. Here True means *may attend*; ones and zeros could mean
#   either, so whole numbers are refused.
# - NaN set to 0 *after* the softmax: the forward looks right, the gradient is NaN.
# - A test in which all sentences are equally long: nothing is tested.
#
# For practice: `python -m lessons list`; exercises 6.5 and 38.5.

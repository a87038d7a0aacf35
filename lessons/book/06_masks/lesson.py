"""Lesson 06: masks and padding.  ●●○○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 06. Masks and padding
#
# You translate "cats sleep". Then you translate it again, together with a longer
# sentence. Should the translation depend on which other sentence stood beside it?
#
# It should not, and in many programs it does. Sentences have different lengths, and the
# rows of an array have one length. So short sentences are filled up with *padding*,
# numbers that mean nothing. Padding takes part in every computation, unless something
# keeps it out. This lesson shows what padding does, how a
# [mask](../../GLOSSARY.md#mask) keeps it out, and which usual ways fail.
#
# You need [lesson 03](../03_additive/README.md) and
# [lesson 05](../05_scaling/README.md). Forty minutes.

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
from lessons.classroom import schematics
from lessons.classroom.figures import GREY, figure, neutral_style, show

rng = np.random.default_rng(0)

# %% [markdown]
# ## What is padding, and what is a mask?
#
# A model processes several sentences at once, because one large product of matrices is
# faster than many small ones. Together they are a [batch](../../GLOSSARY.md#batch), an
# array with one row for each sentence. Here is a batch of two:

# %%
sentences = (("cats", "sleep"), ("the", "black", "cat", "sleeps", "here"))
longest = max(map(len, sentences))
lens = np.array([len(sentence) for sentence in sentences])  # (B = 2,)
mask = np.arange(longest) < lens[:, None]  # (B, S = 5): True for a word
print(mask)

# %% [figure]
fig = schematics.padded_batch(sentences)
alt = """Two rows of five boxes. The first row: cats, sleep, and three boxes of padding;
below them True, True, False, False, False. The second row: the, black, cat, sleeps,
here, with True below each."""
show(fig, "padded-batch", alt)

# %% [markdown]
# The [padding](../../GLOSSARY.md#padding) is usually a vector of zeros. The mask says
# for each key whether a query may attend to it. Suppose that the two words of the first
# sentence have the scores 2 and 1. A zero vector has the dot product 0 with every
# query, so padding has the score 0. Compute the weights without and with a mask:

# %%
two = np.array([2.0, 1.0])  # scores of "cats" and "sleep"
for n in (0, 3, 30):  # places of padding
    e = np.pad(two, (0, n))  # (2 + n,)
    p = mg.softmax(e).data
    masked = masked_softmax(e, mask=np.arange(2 + n) < 2).data
    print(f"{n:2d} pads: cats {p[0]:.3f}  sleep {p[1]:.3f}", end="  ")
    print(f"pads {p[2:].sum():.3f}", end="   ")
    print(f"masked: cats {masked[0]:.3f}  sleep {masked[1]:.3f}")

# %% [markdown]
# A score of 0 is not a weight of 0, because $e^0 = 1$. With enough padding the words
# lose most of their weight.
#
# ## What does padding do where nobody masks it?
#
# Padding has a weight, but its value is zero, and a zero adds nothing to a sum. So does
# it change the context at all? One query, five keys and values, and behind them more
# and more rows of zeros:


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
# It does. The padding draws the context towards 0 by exactly the share that it takes.
# The shorter the sentence, the larger this share. What is worse, the same sentence
# gives another result beside a longer neighbour. The masked context is the same in
# every row.
#
# This is no small matter. Padding without a mask decided a textbook's comparison of
# scores (38.6), which [lesson 07](../07_reversal/README.md) repeats.
#
# ## What should a masked softmax be?
#
# The sum runs over the allowed keys and over no others. If a query may attend to
# nothing, all its weights are 0:
#
# ```math
# p_j = \frac{\exp(e_j - m)}{\sum_{l \text{ allowed}} \exp(e_l - m)}, \quad
# m = \max_{l \text{ allowed}} e_l, \qquad
# p_j = 0 \text{ where } j \text{ is not allowed}
# ```
#
# | letter | meaning |
# |---|---|
# | $e_j$ | the score of key $j$ |
# | $p_j$ | its weight |
# | $m$ | the largest allowed score; to subtract it changes no weight, and keeps the exponentials from growing too large |

# %% [source] attention.kernels.softmax.forward_twin

# %% [markdown]
# Two lines take care of a row in which nothing is allowed. There $m$ is $-\infty$, and
# $-\infty - (-\infty)$ is not a number; so 0 replaces $m$. And the sum is 0; so it is
# replaced by 1 before the division.
#
# There are two ways to state a mask: a boolean array, or the *lengths* of the
# sentences. Lengths of shape (B,) hold for all queries of a sentence, lengths of shape
# (B, L) for each query. (The number of axes decides which is meant, and never the
# sizes, which may be equal by accident.) To test both, we use two examples with random
# scores that a web page on scoring functions prints. It prints the weights and not the
# scores. But weights give the scores back, up to a constant, as $e_j = \ln p_j$. Where
# it has padding, we put NaN ("not a number"), which spoils every sum that it enters:

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
    e = np.log(np.where(printed > 0, printed, np.nan))  # (2, 2, 4)
    spread = (np.nanmax(e, -1) - np.nanmin(e, -1)).max()
    p = masked_softmax(e, valid_lens=np.array(lens)).data
    print("as printed:", np.allclose(p, printed, atol=1e-6), end="   ")
    print(f"largest difference of two scores {spread:.2f}")

# %% [markdown]
# Our function returns what the page prints, and no NaN comes through. (The differences
# stay below 1, as they must if the scores were drawn between 0 and 1.)
#
# ## Why not a large negative number?
#
# Most programs replace the masked scores by a large negative number, such as $-10^6$,
# and apply an ordinary softmax. Such a number is called a *sentinel*. In ordinary rows
# this is right. Here are three other rows. What do you expect in each?


# %%
def with_sentinel(e, allowed, dtype=np.float32):
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.where(allowed, e, -1e6).astype(dtype)
        exps = np.exp(e - e.max(-1, keepdims=True))
        return exps / exps.sum(-1, keepdims=True)


# %%
e, none = np.array([2.0, 1.0, 0.0, 3.0]), np.zeros(4, bool)
some = np.array([True, True, False, False])
rows = {
    "nothing allowed": (e, none, np.float32),
    "the same in float16": (e, none, np.float16),
    "low real scores": (e - 2e6, some, np.float32),
}
for name, (x, allowed, dtype) in rows.items():
    ours = masked_softmax(x.astype(np.float32), mask=allowed).data
    print(f"{name:20s} sentinel {with_sentinel(x, allowed, dtype).round(3)}", end="   ")
    print(f"ours {ours.round(3)}")

# %% [markdown]
# - **Nothing allowed.** The sentinel gives *equal weights on everything, padding
#   included*, because all scores have become equal.
# - **The same in float16.** Numbers of 16 bits are common in training, and the largest
#   is about 65 thousand. So $-10^6$ becomes $-\infty$, and the row becomes NaN.
# - **Low real scores.** Scores below the sentinel lose against the padding.
#
# Rows with nothing allowed are not rare. An empty sentence makes one, and so do a
# window that lies outside of the sentence, and two masks that allow nothing together.
# Our result there is: weights 0, context 0. Some callers also need the logarithm of the
# sum of exponentials ([log-sum-exp](../../GLOSSARY.md#log-sum-exp)), and of an empty
# sum it is $-\infty$:

# %%
x = rng.normal(size=(3, 4))
allow = np.array([[1, 1, 0], [0, 0, 0], [1, 1, 1]]) == 1  # the second query: nothing
out, lse = scaled_dot_product_attention(x, x, x, attn_mask=allow, return_lse=True)
print("context", out.data[1], "  lse", lse.data.round(3))

# %% [markdown]
# > **The book says** (the page on scoring functions) that scores set to a large
# > negative number have an exponential of zero. It uses $-10^6$. That holds in ordinary
# > rows, and fails in the three rows above.
#
# ## What comes back through a mask?
#
# The gradient should ignore padding, too. With $`g_j = \partial L / \partial p_j`$ the
# backward of the softmax ([lesson 03](../03_additive/README.md)) is
#
# ```math
# \frac{\partial L}{\partial e_j} = p_j \Big(g_j - \sum_l p_l\, g_l\Big)
# ```
#
# It needs no mask: where $p_j = 0$, the gradient is 0. In a row with nothing allowed it
# is 0 everywhere. Three queries with the lengths 2, 0 and 4:

# %%
e = mg.Tensor(rng.normal(size=(3, 4)), requires_grad=True)
lens = np.array([2, 0, 4])[None]  # (B = 1, L = 3)
p = masked_softmax(e[None], valid_lens=lens)
(p * rng.normal(size=(1, 3, 4))).sum().backward()
print(e.grad.round(3))
check = mg.gradcheck(lambda e: masked_softmax(e[None], lens), [e.data])
print("gradient check:", check.ok)

# %% [markdown]
# With a sentinel the second row would have equal weights on $S$ padded values, and so
# each of them would receive the part $1/S$ of the row's gradient.
#
# One leak remains that no weight can stop. A weight of 0 times a value of NaN is NaN,
# and memory that was never written may hold anything. So `attend` looks for keys and
# values that every query excludes, and replaces them by 0 if one of them is NaN or
# infinite:

# %%
K, V = (np.concatenate([x, np.full((2, 4), np.nan)])[None] for x in (k, v))
with np.errstate(invalid="ignore"):
    weights = np.array([0.2, 0.2, 0.2, 0.2, 0.2, 0, 0])
    print("weights of 0 alone:", weights @ V[0])
c, _ = attend(q[None], K, V, valid_lens=np.array([5]))
print("attend, equal to no padding at all:", np.allclose(c.data[0], alone.data))

# %% [markdown]
# ## How do I use it?
#
# The library's layers take lengths. Weights and values meet in a product of batches,
# (2, 3, 4) by (2, 4, 6): for each of two sentences, three queries with four weights
# each, times four values of width 6.

# %%
product = mg.Tensor(np.ones((2, 3, 4))) @ np.ones((2, 4, 6))
print(product.shape, "every entry", set(product.data.ravel().tolist()))

# %% [markdown]
# Two layers, both from the page on scoring functions: the scaled dot product and the
# additive score. Ten keys of width 2, values of width 4, the lengths 2 and 6, and one
# query for each of two sentences. For the additive score the queries are 20 wide:

# %%
keys, values = rng.normal(size=(2, 10, 2)), rng.normal(size=(2, 10, 4))
lens = np.array([2, 6])
mg.manual_seed(0)
layers = {
    "dot product": (DotProductAttention(dropout=0.5), rng.normal(size=(2, 1, 2))),
    "additive": (AdditiveAttention(20, 2, 8, dropout=0.1), rng.normal(size=(2, 1, 20))),
}

# %% [markdown]
# Both have *dropout*, which in training sets random weights to 0 and enlarges the
# others, so that a model does not rely on a single key. The layer shows the weights
# from *before* that step, which sum to 1 in both modes:

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
    np.stack(maps)[None], "keys", "sentences", list(layers), (7.2, 2.0)
)  # (1, 2, 2, 10)
for ax in fig.axes:
    ax.grid(False)
alt = f"""Two heatmaps of ten keys by two sentences. In both, the first sentence has
weight on keys 0 and 1 only, the second on keys 0 to 5; all else is 0. The largest
weight is {maps[0].max():.2f} for the dot product, {maps[1].max():.2f} for the additive
score."""
show(fig, "two-layers", alt)

# %% [markdown]
# > **The book says** (the page on scoring functions) that its example has "2 queries".
# > The shapes say a batch of two sentences with *one* query each. And its class for the
# > additive score takes `key_size` and `query_size` and never uses them: its layers
# > find their widths at the first call, so a wrong number is not noticed.
#
# In our layer the widths belong to the parameters. A query of 19 numbers is an error:

# %%
try:
    layers["additive"][0](rng.normal(size=(2, 1, 19)), keys, values, lens)
except ValueError as error:
    print(str(error).replace("; ", ";\n"))

# %% [markdown]
# ## Where else does padding leak?
#
# Attention is one place of several. One test finds them all: compute twice, with
# different random numbers in the padding. If the result differs, padding leaks. The
# encoder of [lesson 02](../02_gru_bottleneck/README.md) is a suspect, and so are a mean
# over all words and the loss. Which of these leak?

# %%
x, n = rng.normal(size=(1, 8, 3)), 5  # five tokens, three of padding
y = x.copy()
y[:, n:] = rng.normal(size=(1, 3, 3))
gru = mg.nn.GRU(3, 4, bidirectional=True)
target = np.array([1, 2, 0, 1, 2, -1, -1, -1])  # -1: ignore
lengths, head = np.array([n]), rng.normal(size=(3, 3))

# %%
places = {
    "GRU, last state forward": lambda x: gru(x)[1][0],
    "GRU, real tokens forward": lambda x: gru(x)[0][:, :n, :4],
    "GRU, real tokens backward": lambda x: gru(x)[0][:, :n, 4:],
    "GRU with lengths, all": lambda x: gru(x, lengths=lengths)[0],
    "mean over time": lambda x: mg.Tensor(x).mean(1),
    "loss over all": lambda x: mg.cross_entropy(x[0] @ head, abs(target)),
    "loss, padding ignored": lambda x: mg.cross_entropy(x[0] @ head, target, -1),
}
for name, f in places.items():
    leaks = not np.allclose(f(x).data, f(y).data)
    print(f"{name:26s} {'leaks' if leaks else 'is tight'}")

# %% [markdown]
# A GRU that reads forward is tight up to the last real token, because it does not see
# what comes later. Its *last* state is not tight: it has read the padding. The backward
# direction begins in the padding, and leaks everywhere. With the lengths, the GRU stops
# at the last word. The loss is the [cross-entropy](../../GLOSSARY.md#cross-entropy); it
# has to leave out the padded places, too.
#
# ## What would break it?
#
# - A mask over the wrong axis. The shape (B, 1, 1, S) masks keys, (B, 1, S, 1) masks
#   queries, and with $S$ queries both fit.
# - A mask the other way round. Here True means *may attend*. Ones and zeros could mean
#   either, so the library rejects whole numbers.
# - NaN set to 0 *after* the softmax: the forward looks right, the gradient is NaN.
# - A test in which all sentences are equally long: nothing is tested.
#
# **To take away: padding with score 0 takes a weight, so a mask must leave it out of
# the softmax's sum; a result may never depend on the other sentences of the batch.**
#
# Exercises: E.7 (the masked softmax and its backward), 38.5 (a window as a mask) and
# 6.5 (attention by hand, with lengths): `python -m lessons start E.7`.

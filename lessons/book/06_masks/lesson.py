"""06  Masks and padding  ●●○○  30 min  importance ★★★  needs 03, 05

Does a translation depend on the other sentences of its batch?
"""

# %% [markdown]
# You translate "cats sleep". Then you translate it again, together with a longer
# sentence. Should the translation depend on which other sentence stood beside it?
#
# **Why it matters:** a forgotten mask raises no error. The model trains, its numbers
# look right, and they change with the other sentences of the batch.
#
# Sentences have different lengths, and the rows of an array have one length. So short
# sentences are filled up with *padding*, numbers that mean nothing. Padding takes part
# in every computation, unless something keeps it out. This lesson shows what padding
# does, how a [mask](../../GLOSSARY.md#mask) keeps it out, and which common ways of
# masking fail.

# %% [folded]
import numpy as np

import minigrad as mg
from attention import AdditiveAttention, DotProductAttention, attend, masked_softmax
from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, figure, show

rng = np.random.default_rng(0)

# %% [markdown]
# ## What is padding, and what is a mask?
#
# A model processes several sentences at once, because one large product of matrices is
# faster than many small ones. Together they are a [batch](../../GLOSSARY.md#batch), an
# array with one row for each sentence. Here is a batch of two, $B = 2$. The longer
# sentence has five words, so each row has $S = 5$ places:

# %%
sentences = (("cats", "sleep"), ("the", "black", "cat", "sleeps", "here"))
longest = max(map(len, sentences))
lens = np.array([len(sentence) for sentence in sentences])  # (B = 2,)
mask = np.arange(longest) < lens[:, None]  # (B, S = 5): True for a word
print(mask)

# %% [markdown]
# ![Which places of a batch may be attended to?](figures/padded-batch.svg)
#
# *Two rows of five boxes. The first row: cats, sleep, and three boxes of padding; below
# them True, True, False, False, False. The second row: the, black, cat, sleeps, here,
# with True below each.*
#
# The [padding](../../GLOSSARY.md#padding) is usually a vector of zeros. The mask says
# for each key whether a query may attend to it. Suppose that the two words of the first
# sentence have the scores 2 and 1. A zero vector has the dot product 0 with every
# query, so the padding has the score 0. How much weight will thirty places of padding
# take? The function `masked_softmax` of the library leaves out the keys where the mask
# is False:

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
# it change the context at all? Take one query, five keys and values, and behind them
# more and more rows of zeros. The function `attend` computes scaled dot products,
# weights and the average, and returns context and weights. Its argument `lengths` says
# how many keys of each sentence are real:


# %%
def padded(n):  # n rows of zeros behind the five keys and values
    K, V = (np.pad(x, ((0, n), (0, 0)))[None] for x in (k, v))  # (1, 5 + n, 4)
    return q[None], K, V


q, k, v = rng.normal(size=(1, 4)), rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
alone, _ = attend(q, k, v)  # (1, 4)
for n in (0, 1, 5, 20):
    c, p = attend(*padded(n))
    masked, _ = attend(*padded(n), lengths=np.array([5]))
    print(f"{n:2d} pads take {p.data[0, 0, 5:].sum():.3f}", end="   ")
    print(f"context {c.data[0, 0, :2].round(3)}", end="   ")
    print(f"masked {masked.data[0, 0, :2].round(3)}")

# %% [figure]
fig, ax = figure("How much attention does unmasked padding take?", size=(7.2, 3))
pads, share = np.arange(0, 41, 2), {}
for n, style, colour in ((3, "o-", BLUE), (8, "s--", ORANGE), (24, "^-.", GREEN)):
    e = rng.normal(size=(200, n))  # scores of 200 queries
    rows = [mg.softmax(np.pad(e, ((0, 0), (0, m)))).data[:, n:].sum(1) for m in pads]
    share[n] = np.mean(rows, 1)
    ax.plot(pads, share[n], style, color=colour)
    ax.text(41, share[n][-1], f"{n} real keys", color=colour, va="center")
ax.plot(pads, 0 * pads, color=GREY)
ax.text(41, 0, "masked", color=GREY, va="center")
ax.set(xlabel="rows of padding, score 0", ylabel="weight on padding", ylim=(-0.02, 1))
ax.set(xlim=(-1, 48))
alt = f"""Mean weight on padding against the number of padded rows, for real scores from
a normal distribution. At 20 rows three real keys leave {share[3][10]:.2f} to the
padding, eight {share[8][10]:.2f}, twenty-four {share[24][10]:.2f}; masked it is 0."""
show(fig, "unmasked", alt)

# %% [markdown]
# So padding does change the context. It draws the context towards 0 by exactly the
# share that it takes. The shorter the sentence, the larger this share. And the same
# sentence gives another result beside a longer neighbour. With the mask, the context is
# the same for every number of pads.
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
#
# In plain NumPy these are eight lines:


# %%
def plain(e, allowed):  # scores and mask (..., S) -> weights (..., S)
    s = np.where(allowed, e, -np.inf)  # a key that is not allowed: exp(-inf) = 0
    m = s.max(-1, keepdims=True)  # (..., 1), the largest allowed score
    m = np.where(m == -np.inf, 0.0, m)  # nothing allowed: -inf - (-inf) is not a number
    exps = np.exp(s - m)  # (..., S), at most 1
    total = exps.sum(-1, keepdims=True)  # (..., 1), and 0 if nothing is allowed
    total = np.where(total == 0, 1.0, total)  # 0 / 1 = 0: all weights are 0
    return exps / total


e = rng.normal(size=(3, 4))
allowed = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]) == 1
print(plain(e, allowed).round(3))
same = np.allclose(plain(e, allowed), masked_softmax(e, mask=allowed).data)
print("equal to masked_softmax of the library:", same)

# %% [markdown]
# Two of the lines are there for the second row, in which nothing is allowed. Without
# them it would be NaN ("not a number"). Such rows are not rare: an empty sentence makes
# one, and so do two masks that share no allowed key.
#
# There are two ways to state a mask: a boolean array, or the *lengths* of the
# sentences. Let the batch have $B$ sentences, and let each have $L$ queries and $S$
# keys, padding included. Lengths of shape (B,) hold for all queries of a sentence.
# Lengths of shape (B, L) give each query its own.
#
# A mask can say more than which words are padding. Let query $i$ attend to the keys at
# a distance of at most 1, a *window*. This is a boolean array of queries and keys, and
# two masks are joined by "and":

# %%
i, j = np.arange(4)[:, None], np.arange(5)  # 4 queries, 5 keys
near = np.abs(j - i) <= 1  # (L = 4, S = 5)
real = j < 4  # the last key is padding
print((near & real).astype(int))

# %% [markdown]
# ([Lesson 08](../08_local_coverage/README.md) is about windows.)
#
# ## Why not a large negative number?
#
# Many programs replace the masked scores by a large negative number, such as $-10^6$,
# and apply an ordinary softmax. Such a number is called a *sentinel*. In ordinary rows
# of scores this is right, because $e^{-1000000}$ is 0 on a computer. Here are four
# other rows of four scores. In the last, all real scores are near minus two million.
# What do you expect in each?


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
    "float16, two allowed": (e, some, np.float16),
    "low real scores": (e - 2e6, some, np.float32),
}
for name, (x, allowed, dtype) in rows.items():
    ours = masked_softmax(x.astype(np.float32), mask=allowed).data
    print(f"{name:20s} sentinel {with_sentinel(x, allowed, dtype).round(2)}", end="   ")
    print(f"ours {ours.round(2)}")

# %% [markdown]
# - **Nothing allowed.** The sentinel gives *equal weights on everything, padding
#   included*, because all scores have become equal.
# - **The same in float16.** The largest number of this type, which has 16 bits, is
#   about 65 thousand. So $-10^6$ becomes $-\infty$. If nothing is allowed, all scores
#   are $-\infty$, and the row becomes NaN.
# - **Two allowed, in float16.** Now $-\infty$ does what it should, and the weights are
#   right. So the 16 bits alone do no harm; the NaN needs a row with nothing allowed.
# - **Low real scores.** The sentinel is now the *largest* score. All the weight goes to
#   the two places of padding, a half to each. (Ours has 32 bits in all rows, which is
#   enough here.)
#
# > **The book says** (the page on scoring functions) that scores set to a large
# > negative number have an exponential of zero. It uses $-10^6$. That holds in rows
# > with ordinary scores, and fails in three of the four rows above.

# %% [claims]
from lessons.pages.claims import claim

row, half = with_sentinel(e, none), with_sentinel(e, some, np.float16)
ours = masked_softmax(e, mask=none).data.max()
claim("scoring", "a mask of -1,000,000 gives padding the weight 0 (in a row with "
      "nothing allowed, 4 keys)", "0", row[0], f"ours {ours:.0f}")
claim("scoring", "a mask of -1,000,000 gives padding the weight 0, also with 16 bits "
      "(half precision; in a row with a key allowed)", "0", half[2],
      "-1,000,000 becomes minus infinity; with nothing allowed the row is NaN")

# %% [markdown]
# ## What comes back through a mask?
#
# The gradient should ignore padding, too. With the loss $\ell$ and
# $`g_j = \partial \ell / \partial p_j`$ the backward of the softmax
# ([lesson 00](../00_tape/README.md)) is
#
# ```math
# \frac{\partial \ell}{\partial e_j} = p_j \Big(g_j - \sum_l p_l\, g_l\Big)
# ```
#
# It needs no mask: where $p_j = 0$, the gradient is 0. In a row with nothing allowed it
# is 0 everywhere. (In exercise E.7 scores may be NaN. Then a factor of 0 is not enough,
# because 0 times NaN is NaN: use `np.where`.) Take one sentence ($B = 1$) with four
# keys and three queries. The queries may attend to the first 2, 0 and 4 keys:

# %%
e = mg.Tensor(rng.normal(size=(3, 4)), requires_grad=True)
lens = np.array([2, 0, 4])[None]  # (B = 1, L = 3)
p = masked_softmax(e[None], lengths=lens)
(p * rng.normal(size=(1, 3, 4))).sum().backward()
print(e.grad.round(3))
check = mg.gradcheck(lambda e: masked_softmax(e[None], lens), [e.data])
print("gradient check:", check.ok)

# %% [markdown]
# With a sentinel the second query would have equal weights, $1/4$ on each of the four
# values, although it may see none of them, and a gradient would flow into all four.
#
# Exercise E.7 asks for one number more of each row: the logarithm of the sum of
# exponentials, its [log-sum-exp](../../GLOSSARY.md#log-sum-exp).
# [Lesson 12](../12_exact_and_cheap/README.md) joins pieces of attention with it. Its
# derivative follows from the chain rule, first of $\ln$, then of the sum:
#
# ```math
# \mathrm{lse} = \ln \sum_l e^{e_l}, \qquad
# \frac{\partial\, \mathrm{lse}}{\partial e_j} = \frac{e^{e_j}}{\sum_l e^{e_l}} = p_j
# ```
#
# In a row with nothing allowed the sum is empty, and its logarithm is $-\infty$.
#
# ## Where else does padding leak?
#
# Attention is one place of several. One test finds them all: compute twice, with
# different random numbers in the padding. If the result differs, padding *leaks*; if
# not, we call the place *tight*. The encoder of [lesson
# 02](../02_gru_bottleneck/README.md) is a suspect, and so are a mean over all words and
# the loss.
#
# The GRU here is *bidirectional*: one GRU reads the words forward, a second one reads
# them backward, and the two states of a word stand side by side, four numbers each. The
# matrix `W_o` makes three scores of each place, one for each word of a small
# vocabulary. `target` has the right words, with $-1$ for padding. `cross_entropy`
# leaves out the places whose target equals its third argument, $-1$. In "loss over
# all", `abs` makes 1 of $-1$, and padding counts as word 1. Which of these leak?

# %%
x, n = rng.normal(size=(1, 8, 3)), 5  # five words, three of padding
y = x.copy()
y[:, n:] = rng.normal(size=(1, 3, 3))
gru = mg.nn.GRU(3, 4, bidirectional=True)
target = np.array([1, 2, 0, 1, 2, -1, -1, -1])  # -1: ignore
lengths, W_o = np.array([n]), rng.normal(size=(3, 3))  # W_o: word -> 3 scores

# %%
places = {
    "GRU, last state forward": lambda x: gru(x)[1][0],
    "GRU, real words forward": lambda x: gru(x)[0][:, :n, :4],
    "GRU, real words backward": lambda x: gru(x)[0][:, :n, 4:],
    "GRU with lengths, all": lambda x: gru(x, lengths=lengths)[0],
    "mean over all places": lambda x: mg.Tensor(x).mean(1),
    "loss over all": lambda x: mg.cross_entropy(x[0] @ W_o, abs(target)),
    "loss, padding ignored": lambda x: mg.cross_entropy(x[0] @ W_o, target, -1),
}
for name, f in places.items():
    leaks = not np.allclose(f(x).data, f(y).data)
    print(f"{name:26s} {'leaks' if leaks else 'is tight'}")

# %% [markdown]
# A GRU that reads forward is tight up to the last real word, because it does not see
# what comes later. Its *last* state is not tight: it has read the padding. The backward
# direction begins in the padding, and leaks everywhere. With the lengths, the GRU stops
# at the last word. The loss has to leave out the padded places, too.
#
# ## What would break it?
#
# - A mask over the wrong axis. Scores have the shape (B, L, S). A mask of shape (B, 1,
#   S) masks keys, one of shape (B, L, 1) masks queries. If $L = S$, a mask of the keys
#   also fits in the wrong shape (B, S, 1), and no error is raised.
# - A mask the other way round. Here True means *may attend*, elsewhere it may mean
#   *masked*. A mask of ones and zeros does not say which of the two is meant, so the
#   library rejects a mask of integers.
# - NaN set to 0 *after* the softmax. The weights look right. But the backward of the
#   softmax multiplies by the NaN that it has kept, so the gradient is NaN.
# - A test in which all sentences are equally long: nothing is tested.
#
# **To take away: padding with score 0 takes a weight, so a mask must leave it out of
# the softmax's sum; a result may never depend on the other sentences of the batch.**
#
# Exercises: E.7 (the masked softmax and its backward), 38.5 (a window as a mask) and
# 6.5 (additive attention by hand, with a mask): `python -m lessons start E.7`.
#
# ## Further: what if padding holds NaN?
#
# One leak remains that no weight can stop. A weight of 0 times a value of NaN is NaN,
# and memory that was never written may hold anything. So `attend` first looks for NaN
# and infinity among all keys and values. If it finds one, it replaces every key and
# value that *no* query may see by 0. (A key that some query may see is a real key. If
# that is NaN, the results are NaN, and should be.)

# %%
K, V = (np.concatenate([x, np.full((2, 4), np.nan)])[None] for x in (k, v))
with np.errstate(invalid="ignore"):
    weights = np.array([0.2, 0.2, 0.2, 0.2, 0.2, 0, 0])
    print("weights of 0 alone:", weights @ V[0])
c, _ = attend(q[None], K, V, lengths=np.array([5]))
print("attend, equal to no padding at all:", np.allclose(c.data[0], alone.data))

# %% [markdown]
# ## Further: the layers of the library
#
# The library's layers take lengths. Here are two of them, with the example of a web
# page ("Attention Scoring Functions", in "Dive into Deep Learning"): the scaled dot
# product and the additive score. There are two sentences. Each has ten keys of width 2,
# ten values of width 4, and one query. The lengths are 2 and 6. For the additive score
# the queries are 20 wide, and its vector $v$ has 8 numbers:

# %%
keys, values = rng.normal(size=(2, 10, 2)), rng.normal(size=(2, 10, 4))
lens = np.array([2, 6])
mg.manual_seed(0)
layers = {
    "dot product": (DotProductAttention(dropout=0.5), rng.normal(size=(2, 1, 2))),
    "additive": (AdditiveAttention(20, 2, 8, dropout=0.1), rng.normal(size=(2, 1, 20))),
}  # the additive layer: width of a query, of a key, of v

# %% [markdown]
# Both have [dropout](../../GLOSSARY.md#dropout): in training, random weights become 0,
# and the others are divided by the share that is kept. A layer keeps the weights from
# *before* the dropout. Do they sum to 1 in both modes?

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
fig, axes = figure("Where do two sentences look?", columns=2, size=(7.2, 1.9))
for ax, name, weights in zip(axes, layers, maps):
    picture = ax.imshow(weights, cmap="Blues", vmin=0, vmax=1)
    ax.set(title=name, xlabel="key", xticks=range(10))
    ax.set_yticks((0, 1), ["2 words", "6 words"])
    ax.grid(False)
    for row, n in enumerate(lens):  # padding begins behind the last word
        ax.plot([n - 0.5] * 2, [row - 0.5, row + 0.5], color=ORANGE)
fig.colorbar(picture, ax=axes, label="weight")
alt = f"""Two heatmaps of ten keys by two sentences. In both, the first sentence has
weight on keys 0 and 1 only, the second on keys 0 to 5; right of the orange lines, where
the padding is, all is 0. The largest weight is {maps[0].max():.2f} for the dot product,
{maps[1].max():.2f} for the additive score."""
show(fig, "two-layers", alt)

# %% [markdown]
# ## Further: what the texts say
#
# The same web page prints weights of random scores, and not the scores. But the
# logarithm of a weight is its score, up to a constant, which does not change a softmax:
# $\ln p_j = e_j - \ln \sum_l \exp(e_l)$. So both shapes of lengths can be tested. Where
# the printed weight is 0, the example has padding. There we put NaN, which spoils every
# sum that it enters:

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
    e = np.log(np.where(printed > 0, printed, np.nan))  # (B, L, S) = (2, 2, 4)
    p = masked_softmax(e, lengths=np.array(lens)).data
    print("lengths", lens, "  as printed:", np.allclose(p, printed, atol=1e-6))

# %% [markdown]
# > **The book says** (the page on scoring functions) that its example has "2 queries".
# > The shapes say a batch of two sentences with *one* query each. And the page's class
# > for the additive score takes the numbers `key_size` and `query_size` and never uses
# > them, so a wrong number is not noticed.

# %% [claims]
claim("scoring", "the first printed weights sum to 1.0000000", "1.0000000",
      first[0, 0].sum())
shape = layers["dot product"][1].shape
claim("scoring", "its example has 2 queries for each sentence", "2", shape[1],
      f"of shape {shape}: batch, queries, width")

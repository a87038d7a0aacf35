"""11  Positions  ●●●○  60 min  importance ★★★  needs 09, 10

How does attention know the order of the words?
"""

# %% [markdown]
# "Dog bites man" is no news. "Man bites dog" is. The words are the same, and only their
# places differ. How does attention know who bites?
#
# It does not. Attention is an average, and an average does not depend on the order of
# its terms. Something has to add the places: a
# [position encoding](../../GLOSSARY.md#position-encoding). This lesson explains the
# usual ones, and then measures two things about each. Does it know places, or
# distances? And does a model that was trained on short texts still work on longer ones?

# %%
import numpy as np

from attention import (
    T5RelativeBias,
    alibi_bias,
    alibi_slopes,
    attend,
    scaled_dot,
    t5_bucket,
)
from attention.positions import disentangled_scores, frequencies, rope, sinusoidal
from attention.positions.learned import LearnedPositions
from attention.tasks.bindings import Bindings
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import between, judged, paired
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, PURPLE, arrow, box, diagram, figure, show, weight_label,
)  # fmt: skip

rng = np.random.default_rng(11)

# %% [markdown]
# ## What does attention see without positions?
#
# Here are three word vectors, invented so that we can read them. The first number says
# "a thing", the second "an action", the third "has teeth"; the fourth is 0 until we add
# positions. To keep it short, the vectors are queries, keys and values at once. What is
# the new vector of "bites" in either sentence?

# %%
vectors = {"dog": [1.0, 0, 1, 0], "bites": [0.0, 1, 1, 0], "man": [1.0, 0, 0, 0]}
sentences = [["dog", "bites", "man"], ["man", "bites", "dog"]]
for words in sentences:
    X = np.array([vectors[word] for word in words])  # (T = 3, d = 4)
    z, alpha = attend(X, X, X)
    weights = dict(zip(words, alpha.data[1].tolist()))  # of the query "bites"
    shares = ", ".join(f"{word} {weight:.2f}" for word, weight in weights.items())
    print(" ".join(words), "  weights", shares)
    print("   new vector of bites:", z.data[1].round(3))

# %% [figure]
fig, ax = diagram((7.2, 2.5), (-1.0, 10.0), (-0.8, 2.4))
for left, words in zip((0, 5.9), sentences):
    middle = left + 1.55
    for p, word in enumerate(words):
        at, weight = left + 1.55 * p, weights[word]
        box(ax, (at, 0), word, BLUE, width=1.15)
        ax.text(at, -0.42, f"place {p}", ha="center", va="top", fontsize=9)
        arrow(ax, (at, 0.25), (middle + 0.31 * (p - 1), 1.75), ORANGE, weight)
        weight_label(ax, at, 0.55, weight, 1 if p > 1 else -1)
    box(ax, (middle, 2), 'new vector of "bites"', PURPLE, width=3.1)
ax.text(4.5, 2, "=", ha="center", va="center", fontsize=14)
alt = f"""Two sentences, dog bites man and man bites dog, with arrows from each word to
the new vector of bites. The widths are the weights: dog {weights["dog"]:.2f}, bites
{weights["bites"]:.2f}, man {weights["man"]:.2f} in both. The new vectors are equal."""
show(fig, "orders", alt)

# %% [markdown]
# The new vector is the same. Each weight follows its word to the new place, and the sum
# has the same terms:
#
# ```math
# z_i = \sum_j \alpha_{ij}\, v_j
# ```
#
# The sum uses the place $j$ only as a name for its terms. (A causal mask gives a hint
# of the order: the first word sees one key, the second word sees two.) Now add to each
# vector a second vector that depends on the place alone. Which one, we choose below;
# `sinusoidal` is the name of one choice:

# %%
for words in sentences:
    X = np.array([vectors[word] for word in words])
    X = X + sinusoidal(3, 4, dtype=np.float64)  # row p: the vector of place p
    z = attend(X, X, X)[0].data[1]  # (d,)
    print(" ".join(words), "  new vector of bites:", z.round(3))

# %% [markdown]
# The two sentences have become different, and a model can learn what the difference
# means.
#
# ## Where can positions enter?
#
# There are three places in a self-attention where positions can enter: the words, the
# queries and keys, and the scores.
#
# ![places](figures/places.svg)
#
# *A word passes a sum, three matrices, a dot product of query and key, a sum, a softmax
# and the average of values. Positions enter at the first sum (sines, learned table), as
# rotations of queries and keys (RoPE), or at the second sum, as numbers added to the
# scores (T5, ALiBi, DeBERTa).*
#
# This lesson has six schemes. The following table is its map. Its letters are explained
# below, scheme by scheme; come back to the table at the end.
#
# | scheme | what changes | where in the block | do values contain positions? | learned numbers |
# |---|---|---|---|---|
# | sinusoidal | $x_p + PE[p]$ | at the input, once, before the first block | yes | none |
# | learned table | $x_p + P[p]$ | at the input, once, before the first block | yes | $`n_{\max} d`$ |
# | RoPE | $R_i q_i$ and $R_j k_j$ | queries and keys, after their projections, in each block | no | none |
# | T5 | $`e_{ij} + t_h[\mathrm{bucket}(i - j)]`$ | the scores of each head, in each block | no | buckets times heads |
# | ALiBi | $`e_{ij} - m_h \lvert i - j\rvert`$ | the scores of each head, in each block | no | none |
# | DeBERTa | two more products in $`e_{ij}`$ | the scores, in each block | no | a table with a row for each near distance |
#
# Here $p$ is the place of a word and $x_p$ its vector, $i$ is the place of a query, $j$
# that of a key, and $h$ counts the heads. The learned table has $`n_{\max}`$ rows, and
# $t_h$ holds the learned numbers of head $h$, one for each bucket. The scores
# $`e_{ij}`$ are those before the softmax. All blocks of our models share the learned
# numbers of a scheme, so they are counted once. (The library has two more schemes,
# which also change the scores. Shaw and others 2018 have a learned vector for each near
# distance. Transformer-XL, Dai and others 2019, multiplies a sinusoidal vector of the
# distance by a learned matrix, and adds the dot product of the result with the query to
# the score; a learned vector is added to the query in each product.) Three
# words describe the schemes. A scheme is *absolute* if it says at which place a word
# stands. It is [relative](../../GLOSSARY.md#relative-position) if a score depends on
# the words and on the distance $i - j$ alone, so that a sentence gives the same scores
# wherever it stands in the text. A model
# [extrapolates](../../GLOSSARY.md#extrapolation) if it works on sequences longer than
# all that it was trained on. One of our sources, the notes on attention mechanisms, has
# a table of these properties for five of the schemes. We quote it here, and measure it
# below:

# %%
book = {  # relative, extrapolation, parameters
    "sinusoidal": ("no", "limited", "none"), "learned": ("no", "poor", "n_max d"),
    "t5": ("yes", "good", "small"), "rope": ("yes", "good, extended", "none"),
    "alibi": ("yes", "excellent", "none"),
}  # fmt: skip

# %% [markdown]
# ## Sines: can clocks give the place?
#
# A clock gives the time by a fast hand and a slow one. The fast hand is precise, but it
# returns to its place every hour. The slow hand says which hour it is. Sinusoidal
# positions (Vaswani and others 2017) are a clock with $d/2$ hands. Each hand is slower
# than the one before, and each is written as two numbers, its sine and its cosine. So
# hand $r$ is the pair of the entries $2r$ and $2r + 1$ of a vector:
#
# ```math
# PE[p, 2r] = \sin(p\, w_r), \quad PE[p, 2r+1] = \cos(p\, w_r), \quad w_r = b^{-2r/d}
# ```
#
# | letter | meaning |
# |---|---|
# | $p$ | the place, 0, 1, 2, … |
# | $d$ | the width of a word vector |
# | $r$ | the number of the hand, from 0 to $d/2 - 1$ |
# | $w_r$ | its speed: the angle, in radians, that it turns from one place to the next |
# | $b$ | the *base*, 10000 in the paper; it sets how slow the slowest hands are |
#
# With $d = 4$ and $b = 10000$ there are two hands, with $`w_0 = b^0 = 1`$ and
# $`w_1 = b^{-2/4} = 1/100`$. So position 2 should be
# $(\sin 2, \cos 2, \sin 0.02, \cos 0.02)$:

# %%
print(sinusoidal(3, 4, dtype=np.float64)[2].round(4), "  w", frequencies(4))
print(np.round([np.sin(2), np.cos(2), np.sin(0.02), np.cos(0.02)], 4))

# %% [markdown]
# Is 10000 the right base? With it, the slowest hand is slow even for very long texts.
# The models at the end of this lesson have short sequences: they are trained on up to
# 32 tokens and tested on up to 128, with $b = 10000$ and with $b = 100$. A hand needs
# $2\pi / w_r$ steps for one turn. With $d = 32$, for the hands 0, 5, 10 and 15:

# %%
slow = {}
for base in (10000, 100):
    turns = 2 * np.pi / frequencies(32, base)  # (16,) steps for one turn
    some = "".join(f"{turns[r]:7.0f}" for r in (0, 5, 10, 15))
    slow[base] = int((np.degrees(32 * frequencies(32, base)) < 20).sum())
    print(f"base {base:5d}, steps for one turn: {some}")
print("hands that turn by less than 20 degrees in 32 steps:", slow)

# %% [figure]
title = "How fast do the hands turn? d = 32"
fig, axes = figure(title, columns=2, size=(7.2, 2.8), sharey=True)
for ax, base in zip(axes, (10000, 100)):
    PE = sinusoidal(128, 32, base=base, dtype=np.float64)  # (128, 32)
    image = ax.imshow(PE.T, cmap="RdBu", vmin=-1, vmax=1)
    image.set(interpolation="nearest")
    ax.set_aspect("auto")
    label = "longest in training: 32 tokens"
    ax.axvline(31.5, color=GREEN, ls="--", lw=2.5, label=label)
    ax.set(title=f"base {base}", xlabel="position p")
    ax.grid(False)
axes[0].set_ylabel("entry of PE[p]")
fig.colorbar(image, ax=axes, label="value")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center")
alt = f"""Two heatmaps of the sinusoidal encoding, 32 entries by 128 positions. Base
10000: the first entries change fast, and the last ones hardly change over all 128
positions. Base 100: all entries change within 128 positions, the last ones slowly. A
dashed green line at 32 tokens marks the longest sequence in training. Up to there, the
last {slow[10000]} pairs of entries turn by less than 20 degrees with base 10000."""
show(fig, "hands", alt)

# %% [markdown]
# Within 32 tokens {{ slow[10000] }} of the 16 hands of base 10000 stand nearly still:
# they turn by less than 20 degrees. With base 100 there are {{ slow[100] }} such hands.
# The base matters to sines and to RoPE, which uses the same speeds; the other schemes
# have no base.
#
# A step of $n$ places turns hand $r$ by the angle $n w_r$, wherever it stood before.
# From the rules for the sine and the cosine of a sum,
#
# ```math
# \begin{pmatrix} \sin((p + n) w_r) \\ \cos((p + n) w_r) \end{pmatrix} =
# \begin{pmatrix} \cos(n w_r) & \sin(n w_r) \\ -\sin(n w_r) & \cos(n w_r)
# \end{pmatrix}
# \begin{pmatrix} \sin(p\, w_r) \\ \cos(p\, w_r) \end{pmatrix}
# ```
#
# So one matrix $R(n)$, with such a block for each hand, should lead from any position
# to the one $n$ further. And the dot product of two positions that are $n$ apart should
# be $\sum_r \cos(n w_r)$, because $\sin x \sin y + \cos x \cos y = \cos(x - y)$. So it
# should depend on their distance alone. Test it with $n = 7$:

# %%
d, n = 16, 7
PE = sinusoidal(100, d, dtype=np.float64)
R = np.zeros((d, d))
for r, w in enumerate(frequencies(d)):
    a, b = np.cos(n * w), np.sin(n * w)
    R[2 * r : 2 * r + 2, 2 * r : 2 * r + 2] = [[a, b], [-b, a]]
print("PE[p + 7] = R(7) PE[p]:", np.allclose(PE[:-n] @ R.T, PE[n:]))
G = PE @ PE.T
print("PE[3] . PE[10], PE[73] . PE[80]:", G[3, 10].round(6), G[73, 80].round(6))

# %% [markdown]
# Both hold. But the *scores* of a model are not these products. $PE$ is added to the
# word, and the sum is multiplied by $W_Q$ and by $W_K$. After that the product of two
# positions can depend on the positions themselves. The model may learn matrices for
# which it depends on the distance, but nothing forces it to.
#
# > **The book says** (notes on attention mechanisms) that sinusoidal positions are not
# > relative. In the sense of this page that is right: the scores of a model change when
# > the words move to other places. But the encoding alone does contain the distances: a
# > fixed rotation leads from each position to the one $n$ further.

# %% [claims]
from lessons.pages.claims import YES, claim, clipped

aside = np.random.default_rng(11)
X, A, B = (aside.normal(size=(k, d)) for k in (8, d, d))
here, there = ((X + PE[k : k + 8]) @ A @ B.T @ (X + PE[k : k + 8]).T for k in (0, 20))
claim("notes", "sinusoidal positions are not relative (the scores of a model change "
      "if all its words move to other places)", YES, not np.allclose(here, there),
      "they change; the encoding alone contains the distances")

# %% [markdown]
# ## A learned table: what is in a row that no text reached?
#
# Words have a table with a learned row for each word, its
# [embedding](../../GLOSSARY.md#embedding). A *learned table* does the same for places:
# row $P[p]$ is added to the word at place $p$. The model cannot use a place that it
# has not met. What does training leave in a row that no sequence reached, and what
# happens beyond the last row? Take 8 rows, and sequences of length 5:

# %%
table = LearnedPositions(8, 4, rng=rng)
(table(5) * rng.normal(size=(5, 4))).sum().backward()  # sequences of length 5
print("rows with a gradient", np.flatnonzero(np.abs(table.weight.grad).sum(1)).tolist())
try:
    table(9)
except IndexError as refusal:
    print(str(refusal).replace("; ", ";\n").replace(": raise", ":\nraise"))

# %% [markdown]
# Rows 5 to 7 receive no gradient, so they keep their random start. Row 8 does not
# exist.
#
# > **The book says** (notes on attention mechanisms) that a learned table extrapolates
# > poorly. That is too mild: beyond the training its rows are random numbers, or do
# > not exist.
#
# ## T5: is a distance of 200 different from 2000?
#
# The next schemes leave the words as they are and change the scores. T5 (Raffel and
# others 2020) adds a learned number to each score. The number depends on the head and
# on the *bucket* of the distance, a range of distances that share one number. Of 32
# buckets, the first 16 hold one distance each, 0 to 15. The other 16 share the
# distances from 16 on. Each of their ranges is longer than the last by the same
# *factor*: bucket $16 + u$ begins at the distance $`16 \cdot (128/16)^{u/16}`$, rounded
# up. The last bucket has no end: it contains all larger distances. (With other numbers
# it is the same: of 16 buckets for distances up to 32, the first 8 hold 0 to 7, and
# bucket $8 + u$ begins at $`8 \cdot (32/8)^{u/8}`$, rounded up:
# {{ ", ".join(f"{np.ceil(8 * 4 ** (u / 8)):.0f}" for u in range(8)) }}.) The library
# computes these borders in whole numbers. With logarithms, a rounding error could put a
# distance at a border into the bucket below. All pairs whose distances are in the same
# bucket use the same number, so its gradient is the sum of the gradients of their
# scores.
#
# This is for a decoder, which looks back only. An encoder looks both ways. For it, the
# first half of the buckets is for distance 0 and the keys before the query, and the
# second half for the keys after it. Each half is divided as above. So with 32 buckets,
# the first 8 of the first half hold the distances 0 to 7. In the second half the first
# stays empty, because distance 0 has bucket 0, and the next 7 hold 1 to 7. In the
# library's `t5_bucket`, `bidirectional=False` gives the buckets of a decoder, and
# `bidirectional=True` those of an encoder. It expects $j - i$, which is negative for a
# key before the query. What happens to a distance of 200, or of 2000?

# %%
far = np.array([0, 1, 7, 15, 16, 31, 64, 127, 128, 200, 2000])
print("distance", *(f"{n:5d}" for n in far))
print("bucket  ", *(f"{n:5d}" for n in t5_bucket(-far, bidirectional=False)))
first_far = int((t5_bucket(-np.arange(200), bidirectional=False) == 31).argmax())

# %% [markdown]
# From {{ first_far }} on all distances share the last bucket: all that is far is
# equally far.
#
# DeBERTa (He and others 2021) goes one step further: what a distance means may depend
# on the words. It has a learned vector for each distance and adds two products to the
# score:
#
# ```math
# e_{ij} = \frac{q_i \cdot k_j + q_i \cdot A[i - j] + k_j \cdot B[j - i]}
# {\sqrt{3 d_k}}
# ```
#
# | product | what it compares |
# |---|---|
# | $q_i \cdot k_j$ | word with word |
# | $q_i \cdot A[i - j]$ | the query's word with the distance; $A[n]$ is the vector of the distance $n$, multiplied by a learned matrix $`W_{k,r}`$ |
# | $k_j \cdot B[j - i]$ | the key's word with the distance; $B[n]$ is the same vector, multiplied by a learned matrix $`W_{q,r}`$ |
#
# The paper's first models learn these two matrices beside $W_K$ and $W_Q$. Its largest
# model uses $W_K$ in place of $`W_{k,r}`$ and $W_Q$ in place of $`W_{q,r}`$, to save
# parameters. The models of this page do the same.
#
# The root has a 3 because three products are added: three times the variance. There are
# $2c$ vectors, for the distances from $-c$ to $c - 1$; the first and the last also
# serve all distances beyond. To see that, set all keys to zero, so that only the second
# product is left. With $c = 16$, these are the scores of a query at the last of 300
# places, for the keys at distances 14 to 18:

# %%
q, keys = rng.normal(size=(1, 1, 8)), np.zeros((1, 300, 8))  # one query, 300 keys
tables = rng.normal(size=(2, 2 * 16, 8))  # B and A: 2 c rows, here c = 16
s = disentangled_scores(q, keys, *tables, first=299).data[0, 0]
print("DeBERTa, distances 14 to 18:", s[-19:-14][::-1].round(3))

# %% [markdown]
# From $c - 1 = 15$ on, all distances give the same score, as with T5. Both schemes
# *clamp* the distance: above a limit it no longer counts.
#
# > **The book says** (notes on attention mechanisms) that T5's bias "naturally
# > generalizes to longer sequences". It has a number for every distance, the same one
# > for all far distances. That may be enough, if training has used the last bucket. A
# > model with these buckets that was trained on 32 tokens has never used it.

# %% [claims]
buckets = len(np.unique(t5_bucket(np.arange(-5000, -128))))
claim("notes", "T5 generalizes by itself: it tells 129 from 5000 tokens away", YES,
      buckets > 1, "they share one bucket")

# %% [markdown]
# ## ALiBi: can a straight line do it?
#
# ALiBi (Press and others 2022) learns nothing. It subtracts from each score a number
# that grows with the distance:
#
# ```math
# e_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_k}} - m_h \lvert i - j \rvert
# ```
#
# Each head $h$ has a fixed slope $m_h$, from steep to flat. A steep head sees its
# neighbours only, a flat one sees far. How far? If all words suit the query equally,
# the weight falls with the distance $n$ as $`e^{-m_h n}`$, because a softmax turns a
# difference of scores into a factor. It has fallen to a hundredth where
# $m_h n = \ln 100$:

# %%
slopes = alibi_slopes(8, np.float64)
reach = np.log(100) / slopes  # at this distance a weight has fallen to a hundredth
print("slopes", *(f"1/{1 / m:g}" for m in slopes))
print("reach ", *(f"{r:.0f}" for r in reach))

# %% [markdown]
# So a head is a window with soft edges, whatever the length. A steep head sees no more
# of a longer sequence than of a shorter one. This looks like extrapolation, but the
# head ignores the keys at new distances.
#
# ## RoPE: what do two rotations leave?
#
# A dot product depends on two lengths and on the angle between two vectors. Turn the
# query by an angle proportional to its place, and the key by an angle proportional to
# the key's place. The lengths stay, and the angle between them changes by the
# difference of the two angles. So the score depends on the distance. This is RoPE,
# *rotary position embedding* (Su and others 2021):
#
# ```math
# (R_i q) \cdot (R_j k) = q \cdot R_{j-i}\, k
# ```
#
# $R_i$ rotates by the place $i$. It takes the entries of a vector in pairs, and turns
# pair $r$ by the angle $`i\, w_r`$, with the same speeds $w_r$ as the hands of the
# sines. Here $a$ and $b$ are the two entries of the pair:
#
# ```math
# \begin{pmatrix} a \\ b \end{pmatrix} \to
# \begin{pmatrix} \cos(i w_r) & -\sin(i w_r) \\ \sin(i w_r) & \cos(i w_r) \end{pmatrix}
# \begin{pmatrix} a \\ b \end{pmatrix}
# ```
#
# Why does the equation hold? The transpose of a rotation turns back, so $R_i^\top R_j$
# turns by $j - i$. (This matrix turns the other way round than $R(n)$ of the sines,
# because there the sine is the first of the two numbers.) An example in one plane,
# where $w_0 = 1$: with $q = (1, 0)$ and $k = (0, 1)$ the score is the first entry of
# $`R_{j-i}\, k`$, which is $-\sin(j - i)$:

# %%
q, k = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])  # one plane
for i, j in ((1, 2), (51, 52), (2, 1)):
    score = (rope.raw(q, [i])[0] @ rope.raw(k, [j])[0].T).item()
    print(f"i {i:2d}, j {j:2d}   score {score:+.4f}   by hand {-np.sin(j - i):+.4f}")

# %% [markdown]
# Places 1 and 2 give the score of places 51 and 52. If this key and this query change
# places, the score changes: RoPE can tell what comes first. In the library it reads as
# follows. The cosines and sines of all places are computed first, and `rotate` turns
# the pairs. In the code E is $d_k$, and R is the number of entries that are rotated,
# usually all; `theta` holds the speeds $w_r$, and `m` is the number $r$ of a
# pair. With `interleaved=False` the entries $r$ and $r + R/2$ form a pair, with
# `interleaved=True` the neighbours $2r$ and $2r + 1$:

# %% [source] attention.positions.rope.rope

# %% [markdown]
# ## What does each scheme make of a distance?
#
# Here are four of the schemes in one picture. For sines and RoPE it has the mean of
# $\cos(n w_r)$ over all hands. For sines this is the dot product of two positions $n$
# places apart, divided by the number of hands. For RoPE it is the score of a query and
# a key that are the same vector, if this vector has length one and all its pairs have
# the same length. For ALiBi the picture has the factor $`e^{-m n}`$ of a weight, where
# $m$ is the slope of a head. For T5 it has the number of the bucket.

# %% [figure]
n = np.arange(1, 201)
fig, axes = figure("What does a scheme make of a distance?", columns=3, size=(7.2, 2.9))
bucket = t5_bucket(-n, False)
for base, style, colour in ((10000, "-", BLUE), (100, "--", ORANGE)):
    cosine = np.cos(n[:, None] * frequencies(64, base)).mean(1)
    axes[0].semilogx(n, cosine, style, color=colour, label=f"base {base}")
    if base == 10000:
        wide = cosine
for m, style, colour in zip(slopes[1:5:3], ("-", "--"), (GREEN, PURPLE)):
    factor = np.exp(-m * n)
    axes[1].semilogx(n, factor, style, color=colour, label=f"m = 1/{1 / m:g}")
axes[2].semilogx(n, bucket, color=GREY, drawstyle="steps-post", label="T5's bucket")
words = ("mean cosine of the hands", "factor of the weight", "bucket")
for ax, name, word in zip(axes, ("sines, RoPE (d = 64)", "ALiBi", "T5"), words):
    ax.set(title=name, xlabel="distance n", ylabel=word)
    ax.legend(handlelength=1.5, borderaxespad=0, fontsize=8)
alt = f"""Three panels, by distance, 1 to {n[-1]}. Sines and RoPE: the mean cosine of
the hands falls from {wide[0]:.2f} to {wide[-1]:.2f} with base 10000, not smoothly; with
base 100 it falls to {cosine[-1]:.2f}. ALiBi: the factor of the weight falls smoothly to
0, later where the slope is flat. T5: the bucket climbs by steps to {bucket[-1]}, the
last, which begins at {first_far}."""
show(fig, "distance", alt)

# %% [markdown]
# Near distances give clearly different numbers. Far ones give similar numbers (T5,
# ALiBi) or numbers that go up and down (sines and RoPE).
#
# ## Which of them are relative?
#
# This can be measured. Take eight tokens and random projections, compute the scores at
# positions 0 to 7, and once more at positions 20 to 27. If nothing changes, the scheme
# is relative. DeBERTa is not in the quoted table; we add it to our output:

# %%
X, W_q, W_k = (rng.normal(size=s) for s in ((8, 16), (16, 16), (16, 16)))
P = rng.normal(size=(40, 16))  # random rows in place of learned ones
distances = rng.normal(size=(2, 64, 16))  # of DeBERTa
bias = T5RelativeBias(1)
bias.table.data = rng.normal(size=bias.table.shape)


def deberta(q, k, start):  # the last 8 of start + 8 keys
    keys = np.concatenate([np.zeros((start, 16)), k])[None]
    s = disentangled_scores(q[None], keys, *distances, first=start).data
    return s[0, :, start:]


# %%
def scores(name, start):
    at, n = start + np.arange(8), start + 8
    added = {"sinusoidal": sinusoidal(at, 16), "learned": P[at]}.get(name, 0)
    q, k = (X + added) @ W_q, (X + added) @ W_k  # (8, 16)
    if name == "rope":
        q, k = (rope.raw(x, at)[0] for x in (q, k))
    if name == "deberta":
        return deberta(q, k, start)
    s, whole = scaled_dot(q[None], k[None]).data[0], np.zeros((n, n))  # s (8, 8)
    if name in ("t5", "alibi"):
        whole = bias(n, n).data[0] if name == "t5" else alibi_bias(1, n, n)[0]
    return s + whole[start:, start:]  # the last 8 of n positions


# %%
for name in (*book, "deberta"):
    change, quoted = np.abs(scores(name, 20) - scores(name, 0)).max(), book.get(name)
    print(f"{name:11s} the book: {quoted[0] if quoted else '-':4s}", end=" ")
    print(f"unchanged: {change < 1e-6}")

# %% [markdown]
# This column of the quoted table is right: what is added to the words is absolute, what
# changes the scores or rotates is relative.
#
# ## Which of them work beyond the trained length?
#
# Each scheme but the learned table gives numbers for every position. It is another
# question whether a model can use the numbers of a position that it has not met. So
# small causal Transformers ([lesson 10](../10_heads/README.md)), of two blocks with
# four heads each, were trained on sequences of up to 32 tokens, and tested on up to
# 128.
#
# The task is to remember. A sequence consists of pairs, a name and its number: b 3, a
# 7, b 3, c 1, b 5, b 5, and so on. A name that comes again usually has the number that
# it had last. But with a probability of {{ f"{Bindings().rebound}" }} its number is
# drawn anew, as that of b in the fifth pair. After each name the model predicts the
# number. The right answer is the *latest* number of this name: in the last pair 5, no
# longer 3. Where a name is new or its number is drawn anew, nobody can know the answer.
# Such a prediction does not count, neither in training nor in the test. (The code is in
# [bindings.py](../../../attention/tasks/bindings.py), where a name is a key and a
# number its value.) For this the model has to find "the token after this name" and "the
# latest such pair", and neither depends on the places themselves. There are eight
# numbers, so that guessing is right once in eight. The tests count the second half of a
# sequence only.
#
# Before we compare anything: how many answers has a model that remembers no more than
# 31 tokens? There are {{ Bindings().keys }} names, so the latest number of a name is
# seldom far away. In sequences of 128 tokens:

# %%
study = record("positions")
kept = study["schemes"]  # arms, rates, runs
print(how_made(study))
for distance, part in study["answers"].items():
    print(f"the answer stands {distance:6s} tokens before the question: {part:6.1%}")

# %% [markdown]
# So whoever sees the last 32 tokens has nearly all answers, at any length, and a scheme
# that *forgets* what is far away loses nothing. That is no test of memory. Therefore we
# count near and far answers separately, and beside the schemes stand two simple
# answers. "Cut off" is RoPE that reads nothing but the 32 tokens that end with the
# question. "Most frequent" is the number that this name had most often so far, whatever
# the order.
#
# RoPE is trained once for each base, and tested in more ways. In three of them its
# rotations are slowed down, so that the test length has angles that the model knows
# from training. For $s$ times the length, *linear* (Chen and others 2023) divides the
# speeds of all hands by $s$. *NTK* (bloc97 2023) raises the base, so that the speed of
# the slowest hand is divided by $s$ and the fastest hand keeps its speed. *YaRN* (Peng
# and others 2023) divides by $s$ the speeds of the hands that do not complete a turn in
# the training length. It keeps the speeds of hands that turn often, and takes values
# between for the rest. It also multiplies all scores by $(0.1 \ln s + 1)^2$. T5 is
# there with the 32 buckets of the paper, which are made for longer texts, and with 16,
# all of which 32 tokens reach. (DeBERTa has $c = 32$.)
#
# Three newer schemes are in the test, each with a term that is added to the score.
# *KERPLE* (Chi and others 2022) subtracts $`r_h \ln(1 + a_h \lvert i - j \rvert)`$
# with learned $r_h$ and $a_h$: like ALiBi it prefers near keys, but a logarithm falls
# more slowly. *CoPE* (Golovneva and others 2024) counts: the sum of
# $`\sigma(q_i \cdot k_t / \sqrt{d_k})`$ over $t = j, \dots, i$ is the position $p$ of
# key $j$, and $`q_i \cdot e_p`$ is added, here with 32 vectors $e_p$. *FIRE* (Li and
# others 2024) adds what a small network computes from
# $`\ln(1 + c \lvert i - j \rvert) / \ln(1 + c \max(T, i))`$, the distance as a part of
# the text, which is a number from 0 to 1 in a text of any length.
#
# Every scheme gets the same chance ([experiment.py](experiment.py)). It is trained with
# {{ len(kept["rates"]) }} learning rates, and has the best of them, chosen with a seed
# that is not in the table. It is trained until its share of right numbers no longer
# moves, or for {{ kept["budget"] }} steps. And it is trained
# {{ len(kept["seeds"]) }} times. Did the models learn the task, at the lengths of their
# training? (The last column has the number of parameters of the scheme.)

# %%
chance, plain = kept["chance"], fair.figures(kept, "rope", "parameters")[0]
extra = {arm: fair.figures(kept, arm, "parameters")[0] - plain for arm in kept["arms"]}
of_scheme = "scheme", {arm: str(x) for arm, x in extra.items()}
columns = "rate", "mean", "every seed", "plateaus", of_scheme
print(fair.table(kept, columns))
able = {arm: fair.figures(kept, arm) > 0.5 for arm in kept["arms"]}  # has learned it
failed = {arm: int((~ok).sum()) for arm, ok in able.items() if not ok.all()}

# %% [markdown]
# {{ sum(sum(ok.tolist()) for ok in able.values()) }} of the
# {{ sum(map(len, able.values())) }} models have learned the task. (A model that has not
# knows which numbers are in the text, and not whose they are:
# {{ ", ".join(f"{n} of {arm}" for arm, n in failed.items()) or "there is none" }}. All
# runs count in the means below.) A run without a plateau has used up its
# {{ kept["budget"] }} steps while its share still moved a little:

# %% [figure]
title = f"Do they learn the task? ({len(kept['seeds'])} runs each, 32 tokens)"
fig, axes = figure(title, rows=4, columns=3, size=(7.2, 7), sharex=True, sharey=True)
for ax, arm in zip(axes.flat, kept["arms"]):
    curves = [run["curve"] for run in kept["runs"] if run["arm"] == arm]
    for curve in curves:
        steps = kept["every"] * (1 + np.arange(len(curve)))
        ax.plot(steps[3::4], curve[3::4], color=BLUE, lw=0.8)  # a small file
    ends = [kept["every"] * len(curve) for curve in curves]
    ax.plot(ends, [curve[-1] for curve in curves], "o", color=BLUE, ms=3)
    ax.axhline(chance, color=GREY, lw=0.8, ls=":")
    ax.set(title=f"{arm}, {kept['chosen'][arm]:g}", xticks=(0, 4000))
    ax.set(ylim=(0, 1.05), yticks=(0, 0.5, 1))
    ax.grid(False, axis="x")
fig.supxlabel("training step, before the rate falls; dotted: chance")
fig.supylabel("share of right numbers")
alt = "Share of right numbers against training steps, a panel for each scheme. Each " + (
    "line is a run, and its dot is where the rate begins to fall. At the end of these "
    "lines the shares are "
) + "; ".join(
    f"{arm} {ends.min():.2f} to {ends.max():.2f}"
    for arm in kept["arms"]
    for ends in [fair.figures(kept, arm, lambda run: run["curve"][-1])]
) + "."  # fmt: skip
show(fig, "training", alt)

# %% [markdown]
# Within the trained lengths the scheme hardly matters: with its own rate and enough
# steps, each of them works. Is one rate as good as another? Of the runs that chose the
# rates, the share of right numbers at each rate:

# %%
for arm in kept["arms"]:
    tried = {r["rate"]: r["validation"] for r in kept["choices"] if r["arm"] == arm}
    print(f"{arm:21s}", *(f" {rate:g}: {tried[rate]:.3f}" for rate in kept["rates"]))
largest = [run for run in kept["choices"] if run["rate"] == max(kept["rates"])]
fallen = [run["arm"] for run in largest if run["validation"] < 0.5]

# %% [markdown]
# It is not. Had we trained all schemes once, with the largest of these rates, we would
# now write that {{ len(fallen) }} of them ({{ "; ".join(fallen) }}) "do not learn the
# task". That would be a sentence about a rate. For most schemes several rates are about
# equally good. The learned table is clearly best with the smallest, so a still smaller
# one might be better within 32 tokens. Beyond them its rows are random with any rate.
#
# Now the longer sequences, and the two simple answers beside them:


# %%
def most_frequent(length):
    """Return the shares of answers, by distance, that a name's usual number gives."""
    drawn = Bindings().draw(np.random.default_rng([2, length]), 400, length)
    answers = []  # of each: how many tokens back it stands, and whether it is right
    for row, numbers in zip(*drawn):
        for t in length // 2 + np.flatnonzero(numbers[length // 2 :] >= 0):
            at = 1 + 2 * np.flatnonzero(row[:t:2] == row[t])  # its numbers so far
            usual = np.bincount(row[at]).argmax()
            answers.append((t - at[-1], usual == numbers[t]))
    back, right = np.array(answers).T
    far = right[(31 < back) & (back <= 63)]
    return {"all": right.mean(), NEAR: right[back <= 31].mean(), FAR: far.mean()}


# %%
NEAR, FAR, LENGTHS = "1-31", "32-63", study["lengths"]
found = {}  # row: {distance: {length: shares of the seeds}}
for run in kept["runs"]:
    for row, by_distance in run["found"].items():
        for distance in ("all", NEAR, FAR):
            for length, x in by_distance[distance].items():
                shares = found.setdefault(row, {}).setdefault(distance, {})
                shares.setdefault(int(length), []).append(x)
for length in LENGTHS[1:]:
    for distance, x in most_frequent(length).items():
        found.setdefault("most frequent", {}).setdefault(distance, {})[length] = [x]

# %%
mean = {
    row: {d: {n: np.mean(x) for n, x in at.items()} for d, at in each.items()}
    for row, each in found.items()
}
print("right numbers, means            64 tokens             128 tokens")
print("                           all   near    far      all   near    far")
for row, m in mean.items():
    cells = (f"{m[d][n]:5.2f}" for n in LENGTHS[1:] for d in ("all", NEAR, FAR))
    print(f"{row:25s} {{}}  {{}}  {{}}    {{}}  {{}}  {{}}".format(*cells))


# %%
cells = {
    name: " | ".join(f"{m[NEAR][n]:.2f}, {m[FAR][n]:.2f}" for n in LENGTHS[1:])
    for name, m in mean.items()
}  # the cells of the table below
arms = {row: run["arm"] for run in kept["runs"] for row in run["found"]}


# %%
def less(a, b, distance, n=128):
    """Return row a minus row b, seed by seed."""
    x, y = (np.array(found[row][distance][n]) for row in (a, b))
    trained = {arms[row] for row in (a, b) if row in arms}
    steps = fair.steps_without_plateau(kept, *trained)
    return paired(x, y, steps, kept["resolution"])


def interval(found):
    return f"{found.value:+.2f} [{found.low:+.2f}, {found.high:+.2f}]"


# %% [figure]
title = f"What do they remember at 128 tokens? ({len(kept['seeds'])} runs each)"
fig, axes = figure(title, columns=2, size=(8.6, 4.6))
rows = list(found)
for ax, distance in zip(axes, (NEAR, FAR)):
    each = [found[row][distance][128] for row in rows]
    at = np.repeat(np.arange(len(rows)), [len(x) for x in each])
    ax.plot(np.concatenate(each), at, "o", ms=4, color=BLUE, alpha=0.6, label="a seed")
    means = [np.mean(x) for x in each]
    ax.plot(means, range(len(rows)), "|", ms=13, mew=2, color=ORANGE, label="their mean")
    ax.axvline(chance, color=GREY, lw=0.8, ls=":", label="chance")
    usual = mean["most frequent"][distance][128]
    ax.axvline(usual, color=GREY, lw=0.8, ls="--", label="most frequent")
    ax.set(title=f"answers {distance} tokens back", xlabel="share of right numbers")
    ax.set(xlim=(0, 1.03), ylim=(len(rows) - 0.5, -0.5), yticks=range(len(rows)))
    ax.set(xticks=(0, 0.25, 0.5, 0.75, 1))
    ax.set_yticklabels(rows if ax is axes[0] else [])
axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
alt = f"""Two panels, near and far answers at 128 tokens; a row for each scheme, with a
point for each of {len(kept["seeds"])} seeds and a mark at the mean. Near: cut off RoPE
{mean["rope, cut off"][NEAR][128]:.2f}, ALiBi {mean["alibi"][NEAR][128]:.2f}, DeBERTa
{mean["deberta"][NEAR][128]:.2f}, RoPE with YaRN {mean["rope+yarn"][NEAR][128]:.2f}.
Far: RoPE with YaRN {mean["rope+yarn"][FAR][128]:.2f}, the most frequent number
{usual:.2f}, DeBERTa {mean["deberta"][FAR][128]:.2f}, ALiBi
{mean["alibi"][FAR][128]:.2f}."""
show(fig, "extrapolation", alt)

# %% [markdown]
# Look at "cut off" first. It cannot know a far answer, and for near ones it is as good
# at 128 tokens as at 32. A scheme that works beyond its length has to do better than
# that on far answers, and no worse on near ones. And "most frequent" shows that a far
# answer is often right without any order:
# {{ f"{mean['most frequent'][FAR][128]:.0%}" }} of them at 128 tokens.
#
# | | the book | 64 tokens: near, far | 128 tokens: near, far |
# |---|---|---|---|
# | most frequent number | | {{ cells["most frequent"] }} |
# | RoPE, cut off | | {{ cells["rope, cut off"] }} |
# | sinusoidal | limited | {{ cells["sinusoidal"] }} |
# | learned | poor | {{ cells["learned"] }} |
# | T5, 16 buckets | good | {{ cells["t5, 16 buckets"] }} |
# | T5, 32 buckets | good | {{ cells["t5, 32 buckets"] }} |
# | RoPE, as it is | not in it | {{ cells["rope"] }} |
# | RoPE, with YaRN | good, extended | {{ cells["rope+yarn"] }} |
# | RoPE, with NTK | good, extended | {{ cells["rope+ntk"] }} |
# | ALiBi | excellent | {{ cells["alibi"] }} |
# | DeBERTa | not in it | {{ cells["deberta"] }} |
# | KERPLE | not in it | {{ cells["kerple"] }} |
# | CoPE | not in it | {{ cells["cope"] }} |
# | FIRE | not in it | {{ cells["fire"] }} |
#
# What does the record hold of the differences? A statement *holds* if the whole interval
# lies where the statement says. ([Lesson 14](../14_checks_the_book/README.md) explains
# the rule. The first word says which answers are compared, those of 128 tokens if it
# does not say 64. The models that are compared had their plateaus, or ended after these
# steps.)

# %%
cut, usual, inf = "rope, cut off", "most frequent", np.inf


def compare(says, low, high, *rows):
    """Print whether one row minus another lies from low to high."""
    kind = {NEAR: "near", FAR: "far"}.get(rows[2], "all")
    print(judged(f"{kind}: {says}", between(low, high), less(*rows)))


# %%
compare("YaRN ahead of ALiBi", 0, inf, "rope+yarn", "alibi", FAR)
compare("YaRN ahead of most frequent", 0, inf, "rope+yarn", usual, FAR)
compare("ALiBi behind most frequent", -inf, 0, "alibi", usual, FAR)
compare("DeBERTa ahead of most frequent", 0, inf, "deberta", usual, FAR)
compare("NTK better with base 100", 0, inf, "rope, base 100+ntk", "rope+ntk", FAR)
compare("YaRN as ALiBi, within .05", -0.05, 0.05, "rope+yarn", "alibi", NEAR)
compare("ALiBi as cut off, within .1", -0.1, 0.1, "alibi", cut, NEAR)
for name, row in (
    ("RoPE as it is", "rope"), ("sines", "sinusoidal"), ("learned table", "learned"),
    ("T5, 16 buckets,", "t5, 16 buckets"), ("DeBERTa", "deberta"),
):  # fmt: skip
    compare(f"{name} behind cut off", -inf, 0, row, cut, NEAR)

# %%
for newer in "kerple", "cope", "fire":
    compare(f"{newer} ahead of most frequent", 0, inf, newer, usual, FAR)
compare("KERPLE behind YaRN", -inf, 0, "kerple", "rope+yarn", FAR)
compare("KERPLE ahead of FIRE", 0, inf, "kerple", "fire", FAR)
compare("KERPLE as cut off, within .05", -0.05, 0.05, "kerple", cut, NEAR)
compare("FIRE behind cut off", -inf, 0, "fire", cut, NEAR)
compare("CoPE behind cut off", -inf, 0, "cope", cut, NEAR)

# %%
compare("linear behind RoPE as it is", -inf, 0, "rope+linear", "rope", NEAR)
t5 = "t5, 16 buckets", "t5, 32 buckets"
compare("64 tokens: T5, 16 ahead of 32", 0, inf, *t5, NEAR, 64)
compare("ALiBi behind cut off", -inf, 0, "alibi", cut, "all")
compare("cut off at most .01 behind ALiBi", -0.01, inf, cut, "alibi", "all")
compare("YaRN as cut off, within .05", -0.05, 0.05, "rope+yarn", cut, "all")
tried = sorted(r["validation"] for r in kept["choices"] if r["arm"] == "deberta")
learned = np.array(found["deberta"][NEAR][128])[able["deberta"]]

# %% [markdown]
# - **ALiBi** keeps nearly all of what is near, and forgets what is far: of the far
#   answers it has fewer than a model that answers with the most frequent number,
#   {{ f"{mean['alibi'][FAR][128]:.2f}" }} against
#   {{ f"{mean[usual][FAR][128]:.2f}" }}. Its scores fall with the distance, whatever
#   the words say. In a test that counts all answers alike, this looks like
#   extrapolation. But there a model that reads the last 32 tokens, with less work, does
#   no worse: it has {{ f"{mean[cut]['all'][128]:.2f}" }} of all answers, ALiBi
#   {{ f"{mean['alibi']['all'][128]:.2f}" }}.
# - **RoPE with YaRN** remembers both. At 128 tokens it is ahead of ALiBi on far answers,
#   by {{ interval(less("rope+yarn", "alibi", FAR)) }}; on near ones the difference is
#   {{ interval(less("rope+yarn", "alibi", NEAR)) }}. With base 100 it remembers the far
#   ones as well, and loses some near ones. **NTK** has both with base 100, less well,
#   and neither with base 10000. **Linear**, which slows all hands alike, is worse than
#   changing nothing: neighbours become hard to distinguish, and those who proposed it
#   train a little more afterwards. RoPE as it is works within its lengths.
# - **Sinusoidal and learned** positions fail on what is *near*: question and answer
#   stand at places that the model has not met. (At 64 tokens their far answers are
#   right, because those stand at the places of the training.)
# - **T5** with 16 buckets, all of them trained, does well at twice the length and fails
#   at four times; with the 32 buckets of the paper, some of which are never trained
#   here, it fails earlier.
# - **DeBERTa** is undecided. Its rate, the largest, was better than the others by
#   {{ f"{tried[-1] - tried[-2]:.3f}" }} with one seed, and with it
#   {{ failed["deberta"] }} of {{ len(able["deberta"]) }} models has not learned
#   the task. The others have {{ f"{learned.min():.2f} to {learned.max():.2f}" }} of the
#   near answers. The last vector stands for all that is far.
#
# - **KERPLE** has {{ f"{mean['kerple'][NEAR][128]:.2f}" }} of the near and
#   {{ f"{mean['kerple'][FAR][128]:.2f}" }} of the far answers at four times the length,
#   without any change after training, and two numbers a head. Its bias prefers near
#   keys, as ALiBi's does, but from one distance to its double it falls by about the same
#   number, near or far. Only YaRN has more of the far answers. **FIRE** has {{ f"{mean['fire'][NEAR][128]:.2f}" }} and
#   {{ f"{mean['fire'][FAR][128]:.2f}" }}. **CoPE** works at twice the length, and at
#   four times it has {{ f"{mean['cope'][NEAR][128]:.2f}" }} of the near answers. All
#   positions from 31 on share its last vector, and whether this is the reason was not
#   measured. (Its abstract says that it solves counting; in the counting task of
#   [lesson 20](../20_tournament/README.md) it has fewer right answers than RoPE.)
#
# These are models of two blocks and one task. What holds here is that a scheme is
# judged by what is far away, and by comparison with a model that does not even look.
# The column of parameters is exactly right: the learned table has $`n_{\max} d`$
# numbers, T5 one for each bucket and head, DeBERTa $2c$ vectors of width $d$, KERPLE two
# numbers a head, CoPE a vector of width $d_k$ for each position, FIRE its network, and
# the others have none.
#
# > **The book says** (notes on attention mechanisms) that T5 and RoPE extrapolate well,
# > RoPE with extensions, and ALiBi excellently. T5 depends on its buckets and RoPE on
# > which rotations are slowed; what ALiBi does excellently is to forget.

# %% [claims]
from lessons.instrument.verdict import above, below, over_seeds

for name, says, claimed in (
    ("sinusoidal", "limited (between 0.25 and 0.75)", between(0.25, 0.75)),
    ("learned", "poor (below 0.75)", below(0.75)),
    ("t5, 32 buckets", "good (0.75 or more)", above(0.75)),
    ("rope+yarn", "good, with YaRN (0.75 or more)", above(0.75)),
    ("alibi", "excellent (0.9 or more)", above(0.9)),
):
    steps = fair.steps_without_plateau(kept, arms[name])
    right, scheme = over_seeds(found[name]["all"][64], steps=steps), arms[name]
    claim("notes", f"{scheme} extrapolates: {says}, right values at twice the length",
          claimed, clipped(right))
for distance, words in (("all", "all answers"), (FAR, "answers 32 tokens back")):
    claim("notes", "ALiBi is best: at four times the length it beats RoPE with YaRN "
          f"({words}: difference of the shares of right values)", above(0),
          less("alibi", "rope+yarn", distance))

# %% [markdown]
# ## What would break it?
#
# - RoPE with the other pairing, $(2r, 2r+1)$ in place of $(r, r + d_k/2)$: right by
#   itself, nonsense with weights that were trained for the other. Such weights can be
#   converted: the columns of $W_Q$ and $W_K$ are put into another order, in each head.
#   (The arrays of the library and of E.11 are the transposes, so there it is the rows.)
# - Slowing the rotations down when there are keys in a cache: they were turned by the
#   old speeds, and the new queries by the new ones.
# - Sines added to word vectors whose entries are of size $1/\sqrt d$: sines are of size
#   1, so the sum says where, and hardly which word. (A Transformer multiplies the word
#   vectors by $\sqrt d$ first.)
# - ALiBi as $+m_h j$ without a causal mask. With the mask this form is right: there
#   $j \le i$, so $`-m_h \lvert i - j \rvert = m_h j - m_h i`$, and the softmax cancels
#   $m_h i$, which is the same for all keys. Without it, late keys gain most.
#
# **To take away: attention knows no order, so positions are added to the words (places)
# or to the scores, or rotate queries and keys (distances); and on texts longer than
# those of training a model can use only the rows, buckets and rotation angles that
# training has used. Rotations that are slowed down stay within them; ALiBi avoids the
# problem by forgetting what is far away, and a bias that falls like a logarithm by
# forgetting less.**
#
# Exercises: E.11 (RoPE and its backward) and E.12 (T5's buckets):
# `python -m lessons start E.11`. Other lengths, seeds, schemes:
# `python -m attention extrapolate --help`.

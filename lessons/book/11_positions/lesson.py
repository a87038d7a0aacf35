"""11  Positions  ●●●○  45 min  importance ★★★  needs 09, 10

How does attention know the order of the words?
"""

# %% [markdown]
# "Dog bites man" is no news. "Man bites dog" is. The words are the same, and only their
# places differ. How does attention know who bites?
#
# **Why it matters:** every Transformer needs an answer to this question, and the answer
# decides whether it can read texts that are longer than those of its training.
#
# Attention does not know. It is an average, and an average does not depend on the order
# of its terms. Something has to add the places: a
# [position encoding](../../GLOSSARY.md#position-encoding). This lesson explains the
# usual ones and tests them on longer texts.

# %% [folded]
import numpy as np

from attention import alibi_slopes, attend, t5_bucket
from attention.positions import frequencies, rope, sinusoidal
from attention.tasks.bindings import Bindings
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import above, below
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
    X = np.array([vectors[word] for word in words])  # (3, 4), a row for each word
    z, alpha = attend(X, X, X)
    weights = dict(zip(words, alpha.data[1].tolist()))  # of the query "bites"
    shares = ", ".join(f"{word} {weight:.2f}" for word, weight in weights.items())
    print(" ".join(words), "  weights", shares)
    print("   new vector of bites:", z.data[1].round(3))

# %% [figure]
fig, ax = diagram((7.2, 2.7), (-1.0, 10.0), (-0.8, 2.4))
fig.suptitle('Which new vector has "bites"?')
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
alt = f"""Arrows lead from each word to the new vector of bites. Their weights are dog
{weights["dog"]:.2f}, bites {weights["bites"]:.2f}, man {weights["man"]:.2f} in both
sentences, and the new vectors are equal."""
show(fig, "orders", alt)

# %% [markdown]
# The new vector is the same. Each word has the same weight in both sentences, so the
# sum $`z_i = \sum_j \alpha_{ij}\, v_j`$ has the same terms. Now add to each word vector
# a second vector, which depends on the place alone (`sinusoidal` is explained below):

# %%
for words in sentences:
    X = np.array([vectors[word] for word in words])
    X = X + sinusoidal(3, 4, dtype=np.float64)  # row p: the vector of place p
    z = attend(X, X, X)[0].data[1]  # (4,)
    print(" ".join(words), "  new vector of bites:", z.round(3))

# %% [markdown]
# Now the two vectors differ, and a model can learn what the difference means. (With a
# causal mask the first word sees one key, the second two, and so on. From this a model
# can learn some order without an encoding, Kazemnejad and others 2023.)
#
# ## Where can positions enter?

# %% [figure]
fig, ax = diagram((7.2, 3.1), (-0.6, 12.2), (-2.9, 2.8))
fig.suptitle("Where can positions enter?")
BOXES = {
    "word": (0, -0.6), "+": (1.4, -0.6), "$W_Q$": (2.9, 0.6), "$W_K$": (2.9, -0.6),
    "$W_V$": (2.9, -1.8), "rotate": (4.5, 0.6), "rotate ": (4.5, -0.6),
    "dot": (6.3, 0), "+ ": (7.6, 0), "softmax": (9.1, 0), "average": (11.1, 0),
}  # fmt: skip
WIDE = {"+": 0.6, "+ ": 0.6, "rotate": 1.1, "rotate ": 1.1}
WIDE |= {"softmax": 1.4, "average": 1.4}
PLACES = {"+": ORANGE, "rotate": GREEN, "rotate ": GREEN, "+ ": PURPLE}
for words, at in BOXES.items():
    box(ax, at, words.strip(), PLACES.get(words, GREY), width=WIDE.get(words, 0.9))
for a, b in (
    ("word", "+"), ("+", "$W_Q$"), ("+", "$W_K$"), ("+", "$W_V$"), ("$W_Q$", "rotate"),
    ("$W_K$", "rotate "), ("rotate", "dot"), ("rotate ", "dot"), ("dot", "+ "),
    ("+ ", "softmax"), ("softmax", "average"), ("$W_V$", "average"),
):  # fmt: skip
    (x, y), (to, up) = BOXES[a], BOXES[b]
    end = (to, up - 0.27) if a == "$W_V$" else (to - WIDE.get(b, 0.9) / 2, up)
    arrow(ax, (x + WIDE.get(a, 0.9) / 2, y), end)
for x, y, up, colour, words in (
    (1.4, -2.0, -0.87, ORANGE, "1. the words:\nsines, learned table"),
    (4.5, 1.7, 0.87, GREEN, "2. queries and keys:\nRoPE"),
    (7.6, 1.7, 0.27, PURPLE, "3. the scores:\nALiBi, KERPLE, T5"),
):
    arrow(ax, (x, y), (x, up), colour)
    ax.text(x, y, words, ha="center", va="bottom" if y > 0 else "top", fontsize=9)
alt = """Positions enter at the first sum (sines, learned table), as rotations of
queries and keys (RoPE), or at the second sum, as numbers added to the scores (ALiBi,
KERPLE, T5)."""
show(fig, "places", alt)

# %% [markdown]
# This table is a map of the lesson. The sections below explain each scheme:
#
# | scheme | what changes | where | learned numbers |
# |---|---|---|---|
# | sines | $x_p + PE[p]$ | the words, once, before the first block | none |
# | learned table | $x_p + P[p]$ | the words, once | a row for each place |
# | ALiBi | $`s_{ij} - m_h \lvert i - j\rvert`$ | the scores of each head, in each block | none |
# | KERPLE | $`s_{ij} - m_h \ln(1 + c_h \lvert i - j\rvert)`$ | the scores | $m_h$ and $c_h$ |
# | T5 | $`s_{ij} + t_h[\mathrm{bucket}(i - j)]`$ | the scores | a number for each bucket and head |
# | RoPE | $`R_i\, q_i`$ and $`R_j\, k_j`$ | queries and keys, in each block | none |
#
# Here $p$ is the place of a word and $x_p$ its vector, $i$ is the place of a query and
# $j$ that of a key, $`s_{ij} = q_i \cdot k_j / \sqrt{d_k}`$ is their score before the
# softmax, and $h$ counts the heads. $m_h$, $c_h$ and $t_h$ are numbers of head $h$, and
# $R_i$ is a matrix. All blocks of our models share the learned numbers.
#
# A scheme is *absolute* if it says at which place a word stands. It is
# [relative](../../GLOSSARY.md#relative-position) if a score depends on the two words
# and on the distance $i - j$ alone, so that a sentence gives the same scores wherever
# it stands. A model [extrapolates](../../GLOSSARY.md#extrapolation) if it works on
# texts longer than all that it was trained on.
#
# ## Sines: can clocks give the place?
#
# A clock gives the time by a fast hand and a slow one. The fast hand is precise, but it
# returns to its place every hour. The slow hand says which hour it is. Sinusoidal
# positions (Vaswani and others 2017) are a clock with $d/2$ hands. Each hand is slower
# than the one before, and each is written as two numbers, its sine and its cosine:
#
# ```math
# PE[p, 2r] = \sin(p\, w_r), \quad PE[p, 2r+1] = \cos(p\, w_r), \quad
# w_r = \mathrm{base}^{-2r/d}
# ```
#
# | letter | meaning |
# |---|---|
# | $d$ | the width of a word vector |
# | $r$ | the number of the hand, from 0 to $d/2 - 1$ |
# | $w_r$ | its speed: the angle, in radians, that it turns from one place to the next |
# | base | 10000 in the paper; it sets how slow the slowest hands are |
#
# With $d = 4$ there are two hands, with the speeds $w_0 = 1$ and
# $`w_1 = 10000^{-2/4} = 1/100`$, and the vector of place 2 is
# $(\sin 2, \cos 2, \sin 0.02, \cos 0.02)$.

# %% [figure]
fig, ax = figure("How fast do the hands turn? d = 32", size=(7.2, 2.8))
PE = sinusoidal(128, 32, dtype=np.float64)  # (128, 32)
image = ax.imshow(PE.T, cmap="RdBu", vmin=-1, vmax=1)
image.set(interpolation="nearest")
ax.set_aspect("auto")
ax.axvline(31.5, color=GREEN, ls="--", lw=2.5)
ax.text(31.5, -1, "longest training text", color=GREEN, ha="center", va="bottom")
ax.set(xlabel="place p", ylabel="entry of PE[p]")
ax.grid(False)
fig.colorbar(image, ax=ax, label="value")
still = int((np.degrees(32 * frequencies(32)) < 20).sum())
alt = f"""Column p is the vector of place p. The first entries change fast, and the last
ones hardly change: within the longest training text, the dashed line, {still} of the 16
hands turn by less than 20 degrees."""
show(fig, "hands", alt)

# %% [markdown]
# How far does a hand turn between two places?

# %% [figure]
def draw(r, n):
    """Draw hand r at the places 0 and n, and the cosines of all distances."""
    w = frequencies(32)[r]
    fig, axes = figure("What does a hand tell about a distance?", columns=2,
                       size=(7.2, 2.7), width_ratios=(1, 2))  # fmt: skip
    clock, ax = axes
    turn = np.linspace(0, 2 * np.pi, 60)
    clock.plot(np.sin(turn), np.cos(turn), color=GREY, lw=1)
    for place, colour, style in ((0, GREY, "--"), (n, BLUE, "-")):
        at = np.sin(place * w), np.cos(place * w)
        clock.plot([0, at[0]], [0, at[1]], style, color=colour)
        clock.text(1.2 * at[0], 1.2 * at[1], f"{place}", color=colour, ha="center",
                   va="center")  # fmt: skip
    clock.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal")
    clock.set_axis_off()
    steps = np.arange(33)
    ax.plot(steps, np.cos(steps * w), "o-", color=GREY, lw=1, ms=2.5)
    ax.plot(n, np.cos(n * w), "o", color=BLUE, ms=8)
    ax.set(xlabel="distance n", ylabel="cosine", xlim=(-1, 33), ylim=(-1.15, 1.15))
    said = f"Over {n} places hand {r} turns by {np.degrees(n * w):.1f} degrees"
    return fig, f"{said}; the cosine is {np.cos(n * w):.3f}."


alt = """Left a clock with one hand at two places, dashed at place 0. Right the cosine of
the angle between the two against the distance: a fast hand turns several times and
comes back, a slow one never repeats within this distance."""
hands, distances = [0, 2, 4, 8, 15], [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32]
show(draw, "turning", alt, {"hand r": hands, "distance n": distances}, (4, 6))

# %% [markdown]
# The dot product of the vectors of two places has a special form. At the two places a
# hand has two angles, $\theta$ and $\phi$. Because
# $\sin\theta \sin\phi + \cos\theta \cos\phi = \cos(\theta - \phi)$, it contributes the
# cosine of their difference. If the places are $n$ apart, this is $`n\, w_r`$:
#
# ```math
# PE[p] \cdot PE[p + n] = \sum_r \cos(n\, w_r)
# ```
#
# Does it depend on the distance alone? Take two pairs of places that are 7 apart:

# %%
G = PE @ PE.T  # (128, 128)
print(G[3, 10].round(6), G[73, 80].round(6))

# %% [markdown]
# It does. But the *scores* of a model are not these products. $PE$ is added to the
# word, and the sum is multiplied by $W_Q$ and by $W_K$. After that the product of two
# places can depend on the places themselves.
#
# ## A learned table: what is in a row that no text reached?
#
# A *learned table* has a learned row $P[p]$ for each place, as the
# [embedding](../../GLOSSARY.md#embedding) has one for each word. A row that no text of
# the training reached has received no gradient, so it has kept its random start. Beyond
# the last row there is none, and a longer text is an error.
#
# ## ALiBi and KERPLE: can a falling curve do it?
#
# The next schemes change the scores. ALiBi, *attention with linear biases* (Press and
# others 2022), learns nothing. It subtracts from each score a number that grows with
# the distance:
#
# ```math
# s_{ij} - m_h \lvert i - j \rvert
# ```
#
# Each head $h$ has a fixed slope $m_h$. How far does it see? In a softmax, a score that
# is lower by $x$ has a weight that is smaller by the factor $\exp(-x)$. So if all
# $`s_{ij}`$ are equal, the weight falls with the distance $n$ as $\exp(-m_h n)$. It has
# fallen to a hundredth where $m_h n = \ln 100$:

# %%
slopes = alibi_slopes(8, np.float64)
reach = np.log(100) / slopes
print("slopes", *(f"1/{1 / m:g}" for m in slopes))
print("reach ", *(f"{n:.0f}" for n in reach))

# %% [markdown]
# A head is a window with soft edges. If it is shorter than the texts of the training,
# longer texts change little for this head, because it ignores the keys that are added.
#
# *KERPLE* (Chi and others 2022; "kernelized relative positions") subtracts
# $m_h \ln(1 + c_h n)$ instead, and learns $m_h$ and $c_h$. The weight falls as
# $`\exp(-m_h \ln(1 + c_h n)) = (1 + c_h n)^{-m_h}`$, a power of the distance. A power
# falls more slowly, so far keys keep some weight.
#
# ## T5: is a distance of 200 different from 2000?
#
# T5 (Raffel and others 2020; "text-to-text transfer transformer") adds a *learned*
# number $t_h[\mathrm{bucket}]$ to each score. A *bucket* is a range of distances that
# share one number. So the gradient of this number is the sum of the gradients of all
# scores whose distances are in the bucket.
#
# Where does a bucket begin? A decoder looks back only, so its distance $n = i - j$ is 0
# or more. Of its 32 buckets, the first half, $e = 16$, hold one distance each, 0 to
# $e - 1$. The other $K = 16$ share the distances from $e$ on. Each border should be the
# border before it times one factor, and $K$ such steps should lead from $e$ to
# $M = 128$. So the factor is $`(M / e)^{1/K}`$. Count the shared buckets by $\beta$,
# from 0: a distance has reached bucket $e + \beta$ if
#
# ```math
# n \ge e \left(\frac{M}{e}\right)^{\beta/K}
# \quad\Longleftrightarrow\quad
# \beta \le K\, \frac{\ln(n/e)}{\ln(M/e)}
# \quad\Longleftrightarrow\quad
# n^K \ge e^{K-\beta}\, M^\beta
# ```
#
# For the second form divide by $e$ and take logarithms. For the third, raise both sides
# of the first to the power $K$. The bucket of $n \ge e$ is $e + \beta$ with the
# largest such $\beta$, at most $K - 1$: the last bucket has no end. The third form has
# whole numbers only. With logarithms a rounding error could put a distance that *is* a
# border into the bucket below.
#
# An encoder looks both ways. Buckets 0 to 15 are for the distance 0 and the keys before
# the query, 16 to 31 for the keys after it. Each half is divided as above, with
# $e = K = 8$. The library's `t5_bucket` expects $j - i$, negative for a key before the
# query. Does it agree with the formula, and what happens to a distance of 2000?

# %%
e, K, M = 16, 16, 128
distances = [0, 15, 16, 31, 64, 127, 128, 200, 2000]
print("distance", *(f"{n:5d}" for n in distances))
found = []
for n in distances:
    reached = [beta for beta in range(K) if n**K >= e ** (K - beta) * M**beta]
    found.append(e + reached[-1] if reached else n)
print("formula ", *(f"{bucket:5d}" for bucket in found))
found = t5_bucket(-np.array(distances), bidirectional=False)
print("library ", *(f"{bucket:5d}" for bucket in found))
buckets = t5_bucket(-np.arange(200), bidirectional=False)  # of each distance
first_far, in_training = int((buckets == 31).argmax()), int(buckets[31])

# %% [markdown]
# From {{ first_far }} on all distances share the last bucket. A model that was trained
# on 32 tokens has used the buckets up to {{ in_training }}. The numbers of the others
# are as they were at the start.
#
# ## RoPE: what if queries and keys are rotated?
#
# A dot product depends on two lengths and on the angle between two vectors. Turn the
# query by an angle proportional to its place, and the key by an angle proportional to
# its own. The lengths stay, and the angle between them changes by the difference of the
# two. So the score should depend on the distance. This is RoPE, *rotary position
# embedding* (Su and others 2021).
#
# In the plane, a rotation by the angle $\theta$ takes the vector $(1, 0)$ to
# $(\cos\theta, \sin\theta)$ and $(0, 1)$ to $(-\sin\theta, \cos\theta)$. These are the
# columns of its matrix. RoPE divides the entries of a query or key into pairs, and
# turns pair $r$ at place $i$ by $`\theta = i\, w_r`$, with the speeds of the sines ($d$
# is now the width of a query). With $a$ and $b$ for the two entries of a pair:
#
# ```math
# \begin{pmatrix} a' \\ b' \end{pmatrix} =
# \begin{pmatrix} \cos\theta & -\sin\theta \\ \sin\theta & \cos\theta \end{pmatrix}
# \begin{pmatrix} a \\ b \end{pmatrix}
# ```
#
# $R_i$ has one such block for each pair, and zeros elsewhere. **Why does the score
# depend on the distance?** The transpose of a block has the opposite signs at its
# sines, so it rotates by $-\theta$. Two rotations, one after the other, add their
# angles. So
# $`R_i^\top R_j = R_{-i} R_j = R_{j-i}`$, and
#
# ```math
# (R_i\, q) \cdot (R_j\, k) = q^\top R_i^\top R_j\, k = q \cdot (R_{j-i}\, k)
# ```
#
# **What is its backward?** Let $g = (g_a, g_b)$ be the gradient of the loss with
# respect to the rotated pair. In $a' = a \cos\theta - b \sin\theta$ and
# $b' = a \sin\theta + b \cos\theta$ each of $a$ and $b$ occurs twice, so
#
# ```math
# \frac{\partial L}{\partial a} = g_a \cos\theta + g_b \sin\theta, \qquad
# \frac{\partial L}{\partial b} = -g_a \sin\theta + g_b \cos\theta
# ```
#
# This is the transpose of the block times $g$: the gradient is turned *back* by the
# same angle. An example in one plane, where $w_0 = 1$: with $q = (1, 0)$ and
# $k = (0, 1)$ the score is the first entry of $`R_{j-i}\, k`$, which is $-\sin(j - i)$.

# %%
q, k = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])  # one plane
# rope.raw(x, places) returns the rotated x and its backward
for i, j in ((1, 2), (51, 52), (2, 1)):
    score = (rope.raw(q, [i])[0] @ rope.raw(k, [j])[0].T).item()
    print(f"i {i:2d}, j {j:2d}   score {score:+.4f}   by hand {-np.sin(j - i):+.4f}")
x, g = rng.normal(size=(2, 5, 8))  # five places, four pairs
_, backward = rope.raw(x, np.arange(5))
turned_back = rope.raw(g, -np.arange(5))[0]
print("the backward turns g back:", np.allclose(backward(g), turned_back))

# %% [markdown]
# Places 1 and 2 give the same score as places 51 and 52. And the third score has the
# other sign: RoPE can tell which comes first.
#
# Some models take neighbours as pairs, $2r$ and $2r + 1$ (*interleaved*), others the
# entries $r$ and $r + d/2$ (*half-split*, [the
# library's](../../../attention/positions/rope.py) default).
#
# ## Which of them are relative?
#
# ALiBi, KERPLE and T5 are relative: their formulas contain the places as $i - j$ alone.
# We measure the others. Take eight tokens and random matrices. Do the scores change if
# the tokens stand at places 20 to 27 instead of 0 to 7?

# %%
X, W_q, W_k = (rng.normal(size=s) for s in ((8, 16), (16, 16), (16, 16)))
P = rng.normal(size=(40, 16))  # random rows in place of learned ones


def scores(scheme, start):
    at = start + np.arange(8)
    added = {"sines": sinusoidal(at, 16), "table": P[at]}.get(scheme, 0)
    q, k = (X + added) @ W_q, (X + added) @ W_k  # (8, 16)
    if scheme == "rope":
        q, k = (rope.raw(x, at)[0] for x in (q, k))
    return q @ k.T  # (8, 8)


for scheme in "sines", "table", "rope":
    change = np.abs(scores(scheme, 20) - scores(scheme, 0)).max()
    print(f"{scheme:5s}  unchanged: {change < 1e-6}")

# %% [markdown]
# Here the schemes that add to the words are absolute. Those that change the scores or
# rotate are relative.
#
# ## Which of them work beyond the trained length?
#
# All schemes but the learned table are defined for texts of any length (ours has 128
# rows). Do they also work there? Small causal Transformers ([lesson
# 10](../10_heads/README.md)), of two blocks with four heads each, were trained on texts
# of up to 32 tokens, and tested on up to 128.
#
# The task is to remember. A text consists of pairs, a name and its number: b 3, a 7,
# b 3, c 1, b 5, b 5, and so on. A name that comes again usually has the number that it
# had last. But with a probability of {{ f"{Bindings().rebound}" }} its number is drawn
# anew, as that of b in the fifth pair. After each name the model predicts the number.
# The right answer is the *latest* number of this name: in the last pair 5, no longer 3.
# (Where nobody can know it, the prediction does not count.) There are
# {{ Bindings().keys }} names and {{ Bindings().values }} numbers, and the tests count
# the second half of a text.
#
# How far away do the answers stand, in texts of 128 tokens?

# %% [folded]
study = record("positions")
kept = study["schemes"]
print(how_made(study))
for distance, part in study["answers"].items():
    print(f"the answer stands {distance:6s} tokens before the question: {part:6.1%}")

# %% [markdown]
# The last 32 tokens contain nearly all answers, so a scheme that *forgets* what is far
# away would lose little. Therefore we count near answers (1 to 31 tokens back) and far
# ones (32 to 63) separately, and compare with two simple methods. *Cut off* is RoPE
# that reads only the 32 tokens that end with the question. *Most frequent* answers with
# the number that this name had most often so far.
#
# RoPE is tested in two more ways. *NTK* (bloc97 2023) and *YaRN* (Peng and others 2023)
# slow its rotations down *after* the training, so that a longer text has angles that
# the model knows. Both slow the slow hands and keep the fast ones; they differ in [how
# many](#further-more-schemes). T5 has the 32 buckets of the paper. In *FIRE* (Li and
# others 2024) a small learned network computes a term of the score from the distance,
# as a share of the text's length. And *none* has no positions: its causal mask alone
# says what comes before what. Kazemnejad and others (2023) found that such a decoder
# carries on better than others.
#
# Did the models learn the task within 32 tokens? ([How to read a
# measurement](../../MEASURES.md) explains the words of the tables.) The last column
# counts the learned numbers of the scheme:

# %% [folded]
ROWS = (
    "most frequent", "rope, cut off", "none", "sinusoidal", "learned", "t5", "rope",
    "rope+yarn", "rope+ntk", "alibi", "kerple", "fire",
)  # fmt: skip
arm_of = {row: run["arm"] for run in kept["runs"] for row in run["found"]}
arms = [row for row in ROWS if row in kept["arms"]]
sizes = {arm: fair.figures(kept, arm, "parameters")[0] for arm in arms}
of_scheme = "scheme", {arm: str(x - sizes["rope"]) for arm, x in sizes.items()}
print(fair.table(kept, ("rate", "mean", "doubling", of_scheme), arms))

# %% [markdown]
# Now the longer texts, with the simple methods:

# %% [folded]
NEAR, FAR = "1-31", "32-63"


def most_frequent(length):
    """Return the shares of answers, by distance, that a name's usual number gives."""
    drawn = Bindings().draw(np.random.default_rng([2, length]), 200, length)
    answers = []  # of each: how many tokens back it stands, and whether it is right
    for row, numbers in zip(*drawn):
        for t in length // 2 + np.flatnonzero(numbers[length // 2 :] >= 0):
            at = 1 + 2 * np.flatnonzero(row[:t:2] == row[t])  # its numbers so far
            usual = np.bincount(row[at]).argmax()
            answers.append((t - at[-1], usual == numbers[t]))
    back, right = np.array(answers).T
    near, far = back <= 31, (31 < back) & (back <= 63)
    return {"all": right.mean(), NEAR: right[near].mean(), FAR: right[far].mean()}


usual = {length: most_frequent(length) for length in (64, 128)}


def shares(row, distance, length=128):
    """Return the share of right answers of each seed."""
    if row == "most frequent":
        return np.full(1, usual[length][distance])
    return fair.figures(kept, arm_of[row], ("found", row, distance, str(length)))


print("share of right numbers   64 tokens     128 tokens")
print("                        near   far     near   far")
for row in ROWS:
    a, b, c, d = (shares(row, x, n).mean() for n in (64, 128) for x in (NEAR, FAR))
    print(f"{row:20s} {a:7.2f}{b:6.2f}  {c:7.2f}{d:6.2f}")
near, far, every = (
    {row: f"{shares(row, x).mean():.2f}" for row in ROWS} for x in (NEAR, FAR, "all")
)

# %% [figure]
title = f"What do they remember at 128 tokens? ({len(kept['seeds'])} runs each)"
fig, axes = figure(title, columns=2, size=(7.2, 4.0))
rows = ROWS[1:]
for ax, distance in zip(axes, (NEAR, FAR)):
    for y, row in enumerate(rows):
        x = shares(row, distance)
        ax.plot(x, np.full(len(x), y), "o", ms=4, color=BLUE, alpha=0.6)
        ax.plot(x.mean(), y, "|", ms=13, mew=2, color=ORANGE)
    x = usual[128][distance]
    ax.axvline(x, color=GREY, lw=1, ls="--")
    ax.text(x, -0.7, "most frequent", ha="center", va="bottom", fontsize=8)
    ax.set(xlim=(0, 1.03), ylim=(len(rows) - 0.5, -0.6), yticks=range(len(rows)))
    ax.set(xlabel=f"right numbers, answers {distance} tokens back")
    ax.set(xticks=(0, 0.25, 0.5, 0.75, 1))
    ax.set_yticklabels(rows if ax is axes[0] else [])
alt = f"""Two panels, near and far answers at 128 tokens; a row for each scheme, with a
point for each seed and a mark at the mean. Far, right: RoPE with YaRN
{far["rope+yarn"]}, ALiBi {far["alibi"]}, and the dashed line, the most frequent number,
{far["most frequent"]}."""
show(fig, "extrapolation", alt)

# %% [markdown]
# Read *cut off* first: it cannot know a far answer, and still has nearly all near ones.
# And {{ f"{usual[128][FAR]:.0%}" }} of the far answers are right without any order.
#
# The rates were chosen *within* 32 tokens, where several may be equally good. Are these
# equally good beyond? The table has the share of right far answers at 128 tokens, of
# the runs that chose the rates (*rope* is with YaRN):


# %% [folded]
def far_answers(run):
    """Return the share of right far answers at 128 tokens; of RoPE with YaRN."""
    row = "rope+yarn" if run["arm"] == "rope" else run["arm"]
    return run["found"][row][FAR]["128"]


def near_answers(run):
    """Return the share of right near answers at 128 tokens; of RoPE as it is."""
    return run["found"][run["arm"]][NEAR]["128"]


four = ["kerple", "fire", "alibi", "rope"]
print(fair.at_every_rate(kept | {"arms": four}, far_answers))
inside = [fair.by_rate(kept["choices"], arm).values() for arm in four]
worst = max(max(means) - min(means) for means in inside)

# %% [markdown]
# Within 32 tokens the means of a row differ by at most {{ f"{worst:.3f}" }}, in long
# texts by more. FIRE is behind KERPLE at one rate and ahead at another. For an earlier
# record of this page one run chose each rate, and the page said that KERPLE is ahead.
# The interval was right, for these two rates. So a verdict beyond the trained length is
# given here only if it is the same at all rates that are equally good within it:

# %% [folded]
verdicts = fair.judge(
    kept,
    ("far: YaRN ahead of ALiBi", above(0), "rope", "alibi", far_answers),
    ("far: KERPLE ahead of FIRE", above(0), "kerple", "fire", far_answers),
    ("near: none ahead of RoPE as it is", above(0), "none", "rope", near_answers),
    beyond=True,
)
print(verdicts.replace(" seeds, ", " seeds,\n    "))

# %% [markdown]
# - **ALiBi** has {{ near["alibi"] }} of the near and {{ far["alibi"] }} of the far
#   answers; the most frequent number has {{ far["most frequent"] }}. Its scores fall
#   with the distance, whatever the words say. In a test that counts all answers alike
#   this looks like extrapolation: {{ every["alibi"] }} are right. But a model that
#   reads only the last 32 tokens has {{ every["rope, cut off"] }}.
# - **RoPE as it is** has {{ near["rope"] }} and {{ far["rope"] }}: far keys stand at
#   angles that the training did not have, and their scores change all weights. With
#   **YaRN** the angles stay among those of the training:
#   {{ near["rope+yarn"] }} and {{ far["rope+yarn"] }}.
# - **Sines** have {{ near["sinusoidal"] }} and the **learned table**
#   {{ near["learned"] }} of what is *near*: question and answer stand at places that
#   the model has not met. **T5** has {{ near["t5"] }}: the numbers of its buckets after
#   {{ in_training }} were never trained.
# - **No positions** have {{ near["none"] }} and {{ far["none"] }}, more of the near
#   answers than RoPE as it is, as Kazemnejad and others found. But within 32 tokens
#   this model has only {{ f"{fair.figures(kept, 'none').mean():.2f}" }}, and its runs
#   fall into two groups.
#
# This is one task, for models of two blocks. In any task, judge a scheme by its far
# answers, and compare it with a model that cannot see them.
#
# ## What would break it?
#
# - RoPE with the other pairing than that of the training: nonsense. (To convert weights
#   to half-split, put the even columns of $W_Q$ and $W_K$ first, in each head. In the
#   library and in E.11 these are rows.)
# - Slowing the rotations down in the middle of a text: the stored keys were turned by
#   the old speeds, and the new queries by the new ones.
# - Sines, of size 1, added to word vectors whose entries are of size $1/\sqrt d$: the
#   sum shows the place, and hardly the word. (A Transformer multiplies the word vectors
#   by $\sqrt d$ first.)
#
# **To take away: attention knows no order. Positions are added to the words (places),
# or they change the scores or rotate queries and keys (distances). In longer texts than
# those of training, a model can use only the rows, buckets and angles that training has
# used.**
#
# Exercises: E.11 (RoPE and its backward; it writes $\theta_m$ for the speed $w_r$) and
# E.12 (T5's buckets): `python -m lessons start E.11`. Other lengths, seeds, schemes:
# `python -m attention extrapolate --help`.
#
# ## Further: what does each scheme make of a distance?

# %% [figure]
n = np.arange(1, 201)
fig, axes = figure("What does a scheme make of a distance?", columns=3, size=(7.2, 2.9))
cosine = np.cos(n[:, None] * frequencies(64)).mean(1)
axes[0].semilogx(n, cosine, color=BLUE)
labels = (4.4, 0.42, 1 / 4), (26, 0.5, 1 / 32)
for (x, y, m), colour in zip(labels, (GREEN, PURPLE)):
    axes[1].semilogx(n, np.exp(-m * n), color=colour)
    axes[1].text(x, y, f"ALiBi,\nm = 1/{1 / m:g}", color=colour, fontsize=8)
axes[1].semilogx(n, 1 / (1 + n), color=ORANGE)
axes[1].text(1.05, 0.05, "KERPLE", color=ORANGE, fontsize=8)
axes[2].semilogx(n, buckets[1:].tolist() + [31], color=GREY, drawstyle="steps-post")
words = ("mean cosine of the hands", "factor of the weight", "bucket")
for ax, name, word in zip(axes, ("sines, RoPE (d = 64)", "ALiBi, KERPLE", "T5"), words):
    ax.set(title=name, xlabel="distance n", ylabel=word)
alt = f"""Three panels, by distance, 1 to {n[-1]}. Sines and RoPE: the mean cosine of
the hands falls from {cosine[0]:.2f} to {cosine[-1]:.2f}, not smoothly. ALiBi: the
factor of the weight falls smoothly to 0, later where the slope is flat. KERPLE with
m = c = 1: it falls early and then slowly, to {1 / (1 + n[-1]):.3f}. T5: the bucket
climbs by steps to 31, the last, which begins at {first_far}."""
show(fig, "distance", alt)

# %% [markdown]
# For sines and RoPE the picture has the mean of $`\cos(n\, w_r)`$ over the hands: the
# dot product of two places, or the score of two equal vectors, apart from a constant.
# Near distances give clearly different numbers. Far ones give similar numbers, or
# numbers that go up and down.
#
# ## Further: is ten thousand the right base?
#
# With the base 10000 the slowest hand is slow even for very long texts. A hand needs
# $2\pi / w_r$ steps for one turn. With $d = 32$, for the hands 0, 5, 10 and 15, and how
# many of the 16 hands turn by less than 20 degrees within 32 tokens:

# %%
for base in (10000, 100):
    w = frequencies(32, base)  # (16,)
    turns = "".join(f"{2 * np.pi / w[r]:7.0f}" for r in (0, 5, 10, 15))
    few = int((np.degrees(32 * w) < 20).sum())
    print(f"base {base:5d}, steps for one turn: {turns}   nearly still: {few}")

# %% [markdown]
# A hand that stands nearly still in all texts of the training says nothing about the
# place, but its angles in longer texts are not new either. The base matters to sines
# and to RoPE; the other schemes have none.
#
# ## Further: more schemes
#
# These schemes also change the scores. Of them, FIRE, NTK and YaRN are in the table
# above.
#
# - **Shaw** and others 2018 have a learned vector for each near distance, and add its
#   product with the query.
# - **Transformer-XL** (Dai and others 2019) multiplies a sinusoidal vector of the
#   distance by a learned matrix, and adds the product of the result with the query; a
#   learned vector is added to the query in each product.
# - **DeBERTa** (He and others 2021) adds two products,
#   $`q_i \cdot A[i - j] + k_j \cdot B[j - i]`$, because what a distance means may
#   depend on either word. $A$ and $B$ are one learned table of distances, from $-c$ to
#   $c - 1$, multiplied by two matrices; the first and the last vector serve all
#   distances beyond. The sum of three products is divided by $\sqrt{3 d_k}$: three
#   times the variance.
# - **CoPE** (Golovneva and others 2024) counts what the words say. The sum of
#   $`\sigma(q_i \cdot k_l / \sqrt{d_k})`$ over $l = j, \dots, i$ is the position $u$ of
#   key $j$, and $`q_i \cdot E_u`$ with a learned vector $E_u$ is added.
# - **FIRE** computes its term from
#   $`\ln(1 + c \lvert i - j \rvert) / \ln(1 + c \max(T, i))`$ with learned $c$ and $T$,
#   a number from 0 to 1 in a text of any length.
# - For texts of $f$ times the length, **linear** scaling of RoPE (Chen and others 2023)
#   divides the speeds of all hands by $f$. Neighbours become hard to distinguish, and
#   those who proposed it train a little more afterwards. **NTK** raises the base, so
#   that the slowest hand is slowed by the factor $f$ and the fastest one not at all.
#   **YaRN** slows by $f$ the hands that do not complete a turn within the training
#   length, keeps those that turn often, takes values between for the rest, and
#   multiplies all scores by $(0.1 \ln f + 1)^2$.
#
# ## Further: what the texts say
#
# One of our sources, the notes on attention mechanisms, has a table of these schemes.
# Its columns "relative" and "parameters" are right. The others are judged here by all
# answers of a longer text, and once by the far ones alone:
#
# > **The book says** (notes on attention mechanisms) that sinusoidal positions are not
# > relative. For the scores of a model that is right, though the products of the
# > encoding alone contain the distances. It says that a learned table extrapolates
# > poorly: beyond the training its rows are random numbers, or do not exist. T5's bias
# > "naturally generalizes to longer sequences": it has a number for every distance, the
# > same one for all far distances, which short texts never train. RoPE extrapolates
# > well with extensions, which depends on the rotations that are slowed; and ALiBi
# > excellently, which counts near answers.

# %% [claims]
from lessons.instrument.verdict import between
from lessons.pages.claims import YES, claim, clipped

aside, d = np.random.default_rng(11), 16
X, A, B = (aside.normal(size=(k, d)) for k in (8, d, d))
PE = sinusoidal(100, d, dtype=np.float64)
here, there = ((X + PE[k : k + 8]) @ A @ B.T @ (X + PE[k : k + 8]).T for k in (0, 20))
claim("notes", "sinusoidal positions are not relative (the scores of a model change "
      "if all its words move to other places)", YES, not np.allclose(here, there),
      "they change; the encoding alone contains the distances")
shared = len(np.unique(t5_bucket(np.arange(-5000, -128))))
claim("notes", "T5 generalizes by itself: it tells 129 from 5000 tokens away", YES,
      shared > 1, "they share one bucket")
for name, says, claimed in (
    ("sinusoidal", "limited (between 0.25 and 0.75)", between(0.25, 0.75)),
    ("learned", "poor (below 0.75)", below(0.75)),
    ("t5", "good (0.75 or more)", above(0.75)),
    ("rope+yarn", "good, with YaRN (0.75 or more)", above(0.75)),
    ("alibi", "excellent (0.9 or more)", above(0.9)),
):
    scheme, right = arm_of[name], ("found", name, "all", "64")
    claim("notes", f"{scheme} extrapolates: {says}, right values at twice the length",
          claimed, clipped(fair.of_arm(kept, scheme, right)))


def all_answers(run):
    row = "rope+yarn" if run["arm"] == "rope" else run["arm"]
    return run["found"][row]["all"]["128"]


for what, words in (
    (all_answers, "all answers"), (far_answers, "answers 32 tokens back")
):  # fmt: skip
    claim("notes", "ALiBi is best: at four times the length it beats RoPE with YaRN "
          f"({words}: difference of the shares of right values)", above(0),
          fair.difference(kept, "alibi", "rope", what))

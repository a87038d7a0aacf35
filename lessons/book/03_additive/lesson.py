"""03  Additive attention  ●●○○  40 min  needs 02

Which source word does the decoder need now, and how does it learn that?
"""

# %% [markdown]
# A translator has read "the black cat sleeps" and has written "le". The next French
# word is "chat". Which of the four English words does it need now?
#
# You would look at "cat". This lesson builds the small network that learns to do the
# same. It gives each English word a score, turns the scores into weights, and gives the
# decoder the weighted average. These three steps are
# [attention](../../GLOSSARY.md#attention). Most of the lessons that follow change one
# of them.

# %%
import numpy as np

import minigrad as mg
from attention import AdditiveAttention, BahdanauStep, additive
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import below, verdict, written
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, PURPLE, arrow, box, diagram, figure, show, weight_label,
)  # fmt: skip

rng = np.random.default_rng(0)

# %% [markdown]
# ## What does a decoder need from its source?
#
# In [lesson 02](../02_gru_bottleneck/README.md) the encoder read the sentence word by
# word. After word $j$ its state was the vector $h_j$. The decoder received the last of
# these vectors only, and a long sentence did not survive in it.
#
# Attention keeps all of them. Here are four states, invented and much too short, so
# that we can read them. The first number says "this is a noun", the second "this is an
# adjective", the third "this is a verb":

# %%
words = ("the", "black", "cat", "sleeps")
h = np.array(
    [[0.1, 0.2, 0.0], [0.1, 0.9, 0.0], [0.9, 0.1, 0.1], [0.1, 0.0, 0.9]]
)  # (S = 4, 3), one row for each word

# %% [markdown]
# The decoder has written "le" and needs a noun. Its state $s$ is a vector, too, and it
# plays the part of a [query](../../GLOSSARY.md#query): a description of what is needed.
# Suppose that each word has a [score](../../GLOSSARY.md#score) $e_j$, a number that
# says how well the word suits the query. The [softmax](../../GLOSSARY.md#softmax) turns
# the scores into [weights](../../GLOSSARY.md#weight) $\alpha_j$, which are positive and
# sum to one. The weighted average of the states is the
# [context](../../GLOSSARY.md#context) $c$:

# %%
e = np.array([0.5, 1.0, 3.0, 1.0])  # scores, invented too
alpha = np.exp(e) / np.exp(e).sum()  # (4,) weights
c = alpha @ h  # (3,) the context
for word, score, weight in zip(words, e, alpha):
    print(f"{word:7s} score {score:.1f}   weight {weight:.3f}")
print("context", c.round(3))

# %% [figure]
fig, ax = diagram((7.2, 3.0), (-0.9, 6.9), (-0.7, 2.35))
centre, right = 1.8, 5.7
for j, (word, weight) in enumerate(zip(words, alpha)):
    at = 1.2 * j
    box(ax, (at, 0), f"$h_{j + 1}$", BLUE, below=word)
    if j:
        arrow(ax, (at - 0.8, 0), (at - 0.4, 0))
    arrow(ax, (at, 0.25), (centre, 1.75), BLUE, weight)
    weight_label(ax, at, 0.36, weight, -1 if at < centre else 1)
box(ax, (centre, 2), "$c$", ORANGE)
ax.text(centre - 0.55, 2, "context:\nthe weighted average", ha="right", va="center")
box(ax, (right, 0), "$s$", GREEN, below='has written "le"')
arrow(ax, (right - 0.4, 0.1), (centre + 1.25, 0.95), GREEN, bend=0.12)
ax.text(centre + 1.8, 1.0, "query: which word now?", ha="left", va="bottom")
box(ax, (right, 2), '"chat"', PURPLE, width=1.1)
arrow(ax, (centre + 0.4, 2), (right - 0.55, 2), ORANGE)
arrow(ax, (right, 0.25), (right, 1.75), GREEN)
alt = f"""Four encoder states h1 to h4, under them the words the, black, cat, sleeps. From
each an arrow leads to the context c, as thick as the weight: {alpha[0]:.2f},
{alpha[1]:.2f}, {alpha[2]:.2f} and {alpha[3]:.2f}. The decoder's state s chooses the
weights; s and c together give the word "chat"."""
show(fig, "one-step", alt)

# %% [markdown]
# The context is nearly the state of "cat", with a little of every other word. (In the
# picture the curved arrow from $s$ means that $s$ decides how thick the other arrows
# are. The picture leaves out the step of the GRU that stands between the query and the
# word; we come to it below.)
#
# Each state has a positive weight, so each receives a gradient, and training can move
# the weight to another word. A decoder that *chose* one word could not be trained in
# this way, because a choice has no derivative.
#
# The weights are read as the [alignment](../../GLOSSARY.md#alignment) of this step, a
# statement about which source words the new word belongs to. (A model can also look
# beside the right word: [lesson 07](../07_reversal/README.md) has such weights.) At the
# next step the decoder has another state $s$, and with it come other weights.
#
# ## Where do the scores come from?
#
# They have to be learned. Bahdanau, Cho and Bengio (2015) used a small network. Two
# matrices and a tanh turn the query $s$ and one state $h_j$ into one vector. The dot
# product of this vector with a learned vector $v$ is the score:
#
# ```math
# e_j = v \cdot \tanh(W_s s + W_h h_j), \qquad
# \alpha_j = \frac{\exp e_j}{\sum_k \exp e_k}, \qquad
# c = \sum_j \alpha_j h_j
# ```
#
# | letter | shape | meaning |
# |---|---|---|
# | $s$ | $d_s$ | the state of the decoder: the query |
# | $h_j$ | $d_h$ | the state of the encoder at word $j$: what is compared (the [key](../../GLOSSARY.md#key)), and what is averaged (the [value](../../GLOSSARY.md#value)) |
# | $W_s$, $W_h$ | $A \times d_s$, $A \times d_h$ | learned matrices; they bring both vectors to the same length $A$ |
# | $v$ | $A$ | a learned vector; its product with the $A$ numbers is the score |
# | $e_j$, $\alpha_j$ | numbers | the score and the weight of word $j$ |
#
# A product of a learned matrix and a vector is a
# [projection](../../GLOSSARY.md#projection). The two projections are *added*, which
# gives the [additive score](../../GLOSSARY.md#additive-score) its name. It works for
# any lengths $d_s$ and $d_h$, and the same $W_s$, $W_h$ and $v$ serve every word of
# every sentence.
#
# ## Can you do it with a pencil?
#
# Here is an example with $A = 4$ in which the products $W_s s$ and $W_h h_j$ are done
# already. It is the worked example of chapter 6 of a textbook (section 6.2.5), the text
# that the boxes of this page quote; the [index](../../README.md#the-book) lists all
# texts. The scores and weights that it prints are in `book`, for later.

# %%
Ws_s = np.array([0.3, -0.1, 0.5, 0.2])  # W_s s, (A,)
Wh_h = np.array(  # W_h h_j, (S = 4, A = 4)
    [[0.4, 0.2, -0.3, 0.6], [-0.2, 0.5, 0.3, -0.1],
     [0.7, -0.3, 0.4, 0.2], [0.1, 0.4, -0.2, 0.5]]
)  # fmt: skip
v = np.array([0.3, 0.5, -0.2, 0.4])
book = {
    "scores": np.array([0.458, 0.121, 0.512, 0.389]),
    "weights": np.array([0.270, 0.193, 0.285, 0.252]),
}

# %% [markdown]
# Compute $e_1$ yourself: add the two vectors, take four tanhs, multiply by $v$, add up.
# Then compare:

# %%
t = np.tanh(Ws_s + Wh_h)  # (4, 4); W_s s is added to each row
e = t @ v  # (4,)
for j in range(4):
    row = " ".join(f"{x:6.3f}" for x in t[j])
    print(f"j = {j + 1}   tanh {row}   e {e[j]:.3f}")


# %%
def softmax(x):
    exps = np.exp(x)  # as in the formula; the library subtracts the largest x first
    return exps, exps / exps.sum()


exps, alpha = softmax(e)  # (4,), (4,)
print(f"exp {exps.round(3)}   sum {exps.sum():.3f}   weights {alpha.round(3)}")

# %% [markdown]
# The weights lie close together, from {{ f"{alpha.min():.3f}" }} to
# {{ f"{alpha.max():.3f}" }}: this decoder takes a little of everything. Such weights
# are called *diffuse*. The library agrees with the pencil. Its function `additive`
# takes $s$, the $h_j$ and the two matrices, and multiplies them itself. Our products
# are computed already, so we give it identity matrices, which change nothing:

# %%
one = np.eye(4)
scores = additive(Ws_s[None], Wh_h, one, one, v)  # (1, 4) queries, (4, 4) keys
print(np.allclose(scores.data[0], e), np.allclose(mg.softmax(scores).data[0], alpha))

# %% [figure]
fig, axes = figure("How far is the printed example from its own formula?", columns=2)
at = np.arange(4)
for ax, name, right in zip(axes, ("scores", "weights"), (e, alpha)):
    ax.bar(at - 0.2, book[name], 0.38, color=ORANGE, label="printed in the textbook")
    ax.bar(at + 0.2, right, 0.38, color=BLUE, label="computed")
    ax.set(xticks=at, xticklabels=[f"$h_{j + 1}$" for j in at], ylabel=name[:-1])
    ax.set_xlabel("encoder state")
    ax.grid(axis="x", visible=False)
axes[1].axhline(0.25, color=GREY, lw=1, ls="--", label="equal weights")
fig.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
alt = f"""Scores and weights of the four states, printed and computed. The third score
is printed as {book["scores"][2]:.2f} and is {e[2]:.2f}; its weight falls from
{book["weights"][2]:.3f}, the largest, to {alpha[2]:.3f}, the smallest."""
show(fig, "worked-example", alt)

# %%
for j in range(4):
    score, weight = book["scores"][j], book["weights"][j]
    print(f"word {j + 1}   score: printed {score:.3f}, right {e[j]:.3f}", end="   ")
    print(f"weight: printed {weight:.3f}, right {alpha[j]:.3f}")

# %% [markdown]
# > **The book says** (6.2.5) that the scores and the weights are the printed ones. It
# > writes out $e_1$, which is right up to rounding, and says that the same computation
# > gives the others. Three of them are wrong, and so are all four weights. The third
# > score is off by {{ f"{book['scores'][2] - e[2]:.2f}" }}: the state that the book
# > scores highest is the lowest of the four.

# %% [claims]
from lessons.pages.claims import YES, claim

for name, found in (("score", e), ("weight", alpha)):
    for j, said in enumerate(book[f"{name}s"]):
        says, printed = f"the {name} of word {j + 1} is {said:.3f}", f"{said:.3f}"
        claim("6.2.5", says, printed, found[j])
claim("6.2.5", "word 3 has the highest score", YES, e.argmax() == 2,
      f"word {e.argmax() + 1}; word 3 is lowest")
claim("6.2.5", "exp(0.512) is 1.668", "1.668", np.exp(0.512))

# %% [markdown]
# ## Why a tanh?
#
# Leave it out, and the score is a sum of two parts,
#
# ```math
# e_j = v \cdot (W_s s + W_h h_j) = v \cdot W_s s + v \cdot W_h h_j
# ```
#
# The first part contains the query, and it is the same number for every word $j$. The
# softmax cancels a number $a$ that is added to all scores, because
# $\exp(e_j + a) = \exp(a) \exp(e_j)$, and the factor $\exp(a)$ stands in the numerator
# and in every term of the denominator. So without the tanh the query has no effect at
# all. Three queries show it:

# %%
for query in (Ws_s, -5 * Ws_s, np.zeros(4)):
    with_tanh = softmax(np.tanh(query + Wh_h) @ v)[1]
    without = softmax((query + Wh_h) @ v)[1]
    print("with tanh", with_tanh.round(3), "  without", without.round(3))

# %% [markdown]
# The tanh is steep near 0 and flat far from it. The query is added to the projection of
# each word before the tanh. Where the sum is near 0, the query moves the score; where
# it is far from 0, it hardly does. So one query changes the scores of two words by
# different amounts. Any function whose graph is not a straight line would do. But no
# tanh is larger than 1, and the next section shows how this limits the weights.
#
# ## How sharp can the weights become?
#
# A tanh lies between $-1$ and $1$, so $|e_j| \le |v_1| + \dots + |v_A|$. Call this sum
# $`\|v\|_1`$. The best case for word 1 is that its score is $`+\|v\|_1`$, and the
# scores of the other $S - 1$ of $S$ words are $`-\|v\|_1`$. Then
#
# ```math
# \alpha_1 = \frac{\exp \|v\|_1}{\exp \|v\|_1 + (S - 1) \exp(-\|v\|_1)}
#          = \frac{1}{1 + (S - 1) \exp(-2 \|v\|_1)}
# ```
#
# No choice of $W_s$ and $W_h$ gives more. With the $v$ of the example, what is the most
# that one of four words can get?

# %%
most = 1 / (1 + 3 * np.exp(-2 * np.abs(v).sum()))
best_case = np.sign(v) * np.array([[50.0], [-50], [-50], [-50]])  # (4, 4), before tanh
print(f"sum |v| = {np.abs(v).sum():.1f}   at most {most:.3f}", end="   ")
print(f"reached {softmax(np.tanh(best_case) @ v)[1].max():.3f}")

# %% [markdown]
# A model that has to look at one word only must learn a $v$ with a large $`\|v\|_1`$,
# by large entries or by many. What happens while the entries grow? If $v$ is multiplied
# by a factor, so is every score. Take the scores of the example times a factor:

# %% [figure]
factors = np.linspace(0, 60, 121)
rows = np.array([mg.softmax(k * e).data for k in factors])  # (121, 4)
fig, ax = figure("What does a larger v do to the weights?", size=(7.2, 3))
for j, style in enumerate(("-", "--", "-.", ":")):
    ax.plot(factors, rows[:, j], style, label=f"$h_{j + 1}$, score {e[j]:.3f}")
ax.set(xlabel="factor by which v is multiplied", ylabel="weight", xlim=(0, 60))
ax.set_ylim(0, 1)
ax.legend(loc="center right")
alt = f"""Weights of four states against a factor of v, all a quarter at 0. The second
and third vanish by about 15. The first and fourth, {e[0] - e[3]:.3f} apart in score,
part slowly: at 60 they have {rows[-1, 0]:.2f} and {rows[-1, 3]:.2f}."""
at_15 = rows[factors == 15][0]  # (4,)
show(fig, "sharper", alt)

# %% [markdown]
# The scores of words 1 and 4 are close to each other. At the factor 15 they still have
# the weights {{ f"{at_15[0]:.2f}" }} and {{ f"{at_15[3]:.2f}" }}, while the other two
# words have {{ f"{at_15[1] + at_15[2]:.3f}" }} together. A dot product, the score of
# [lesson 04](../04_scores/README.md), has no bound, because vectors with large entries
# give large products.
#
# > **The book says** (6.2.2) that the weights can become "arbitrarily peaked". That is
# > true of the softmax, and of a score without a bound. For a given $v$ it is false of
# > this score: no query and no state give more than the bound above. For a given number
# > of words, only a larger $v$ raises the bound.

# %% [claims]
from lessons.instrument.verdict import above

claim("6.2.2", "the weights can become arbitrarily peaked (most that one of 4 words "
      "can get, with v as in the example: above 0.999)", above(0.999), most)

# %% [markdown]
# ## Why a softmax?
#
# We want positive weights that sum to one. Dividing the scores by the sum of their
# absolute values looks simpler. Does it work?

# %%
signed = np.array([1.0, -2.0, 0.5])
by_sum = signed / np.abs(signed).sum()
print(f"divided by the sum {by_sum.round(3)}, total {by_sum.sum():.3f}")
print("softmax", mg.softmax(signed).data.round(3))

# %% [markdown]
# It does not: scores have signs. The exponential makes all of them positive and keeps
# their order. And the softmax depends on the *differences* of the scores alone: if all
# scores grow by 5, no weight changes. A word gets a large weight if its score is well
# above the others, whether the numbers are large or small.
#
# > **The book says** (6.2.2) that dividing by the sum of absolute values would give
# > non-negative weights that sum to one. Neither holds, as the output shows.

# %% [claims]
claim("6.2.2", "scores divided by the sum of their absolute values sum to 1: [1, -2, "
      "0.5]", "1", by_sum.sum())
claim("6.2.2", "equal scores give equal weights, 1/T (T = 4)", "0.25",
      mg.softmax(np.ones(4)).data[0])

# %% [markdown]
# The absolute values, divided by their sum, are weights: $`|e_j| / \sum_l |e_l|`$. Why
# not these? The textbook has a second reason: without the exponential it would be
# harder "to focus sharply on a single position". That can be measured. A model sees ten
# pairs of a key and a value, and one of the keys, and has to name its value. So it has
# to put its weight on one pair of ten. There are 12 keys and 8 values, and the vectors
# of queries, keys and values are learned. The scores are additive, as in this lesson,
# or dot products of vectors with 4 or with 16 numbers ([lesson
# 04](../04_scores/README.md)). Each model has the best of three learning rates and is
# trained until a plateau. What is right with a softmax, with absolute values, and with
# signed ones? (Who names the most frequent of the ten values, without a key, has
# {{ f"{record('normalizers')['dot, 4']['trivial']:.2f}" }} right.)

# %%
kept = record("normalizers")
print(how_made(kept))
settings = tuple(name for name in kept if name != "made")
seeds = len(kept[settings[0]]["seeds"])
print(f"means of {seeds} seeds{'':7s}right   largest weight")
for name in settings:
    for arm in kept[name]["arms"]:
        right, weight = (fair.of_arm(kept[name], arm, x) for x in ("figure", "largest"))
        print(f"{name:14s} {arm:9s} {right.value:5.2f}   {weight.value:.2f}")

# %%
judged = {}
print("right values, absolute minus softmax; by more than 0.01 fewer?")
for name in settings:
    found = fair.difference(kept[name], "absolute", "softmax")
    judged[name] = f'"{verdict(below(-0.01), found)}"'
    if found.steps is not None:
        judged[name] += f", after {found.steps} steps,"
    print(f"{name:14s} {judged[name]}: {written(found, 3)}")
blurred, hard = (
    fair.of_arm(kept["dot, 4"], "absolute", what).value for what in ("figure", "hard")
)

# %% [markdown]
# With additive scores the weights need no exponential: the small network can bring the
# scores of the other keys near 0. Dot products of 4 numbers cannot, and the absolute
# values have only {{ f"{blurred:.2f}" }} right. If the key with the largest weight
# received all of it, {{ f"{hard:.2f}" }} would be right: the model finds the key, but
# its weight is not sharp, and the values of the nine others are mixed in.
#
# Why? With a softmax the other scores need not be 0. They have to be *lower*: a
# difference of 5 makes a weight {{ f"{np.exp(5):.0f}" }} times smaller. Without it, each
# of the 12 queries needs a score of 0 for 11 of the 12 keys, so that the $12 \times 12$
# scores have numbers on their diagonal only. Such a matrix has the rank 12. A matrix of
# products of vectors with 4 numbers has a rank of 4 at most. With 16 numbers it is
# possible, and all values are right again.
#
# > **The book says** (6.2.2) that with absolute values it would be harder for a model
# > "to focus sharply on a single position". In this task, at this size, the verdict is
# > {{ judged["dot, 4"] }} with dot products of 4 numbers, {{ judged["dot, 16"] }} with
# > 16, where all runs of both have all values right, and {{ judged["additive, 4"] }}
# > with additive scores.

# %% [claims]
for name, words in (
    ("additive, 4", "additive scores"), ("dot, 4", "dot products of 4 numbers"),
    ("dot, 16", "dot products of 16 numbers"),
):  # fmt: skip
    claim("6.2.2", "absolute values over their sum make it harder than a softmax to "
          f"focus on one key of ten ({words}: right values minus those of a softmax, "
          "below -0.01)", below(-0.01),
          fair.difference(kept[name], "absolute", "softmax"))

# %% [markdown]
# ## What reaches the decoder?
#
# The context is an average. Its two limits say what an average can do. Equal weights
# give the mean of all states, whatever the query (exercise 6.1). If one word has the
# weight one, the context is the state of that word:

# %%
for name, weights in (("equal", [0.25] * 4), ("only cat", [0, 0, 1, 0])):
    print(f"{name:9s} c = {(np.array(weights) @ h).round(3)}")

# %% [markdown]
# The context has as many numbers as one state, for a source of any length. But it is a
# *new* vector at every step. The decoder of lesson 02 received its single vector once,
# before its first step.
#
# ## Where does the context go?
#
# In Bahdanau's decoder the state *before* the step is the query, and the context is an
# input of the GRU, beside the embedding $x_t$ of the word that was written last. (In
# lesson 02 this was $`x'_{t-1}`$; here the index is that of the step that reads it.)
# $[x_t; c_t]$ is one long vector, the numbers of $x_t$ and then those of $c_t$:
#
# ```math
# c_t = \mathrm{attend}(s_{t-1}), \qquad s_t = \mathrm{GRU}([x_t; c_t],\, s_{t-1})
# ```

# %% [source] attention.variants.steps.BahdanauStep.forward

# %% [markdown]
# The call of `_context_and_weights` computes the context. The line after it joins the
# word and the context for the GRU, `self.cell`. The last line joins the new state and
# the context; from these the word is chosen. The rest takes care of options: `@shapes`
# checks the arguments against the shapes in the docstring, where a question mark means
# that an argument may be left out.
#
# So the new state depends on the context, that is, on the encoder states. To see it,
# take other encoder states, in the library called the
# [memory](../../GLOSSARY.md#memory), and keep the word and the first state:

# %%
mg.manual_seed(0)
# widths: 2 of the word x, 5 of the state s, 3 of the states h, and A = 4
step = BahdanauStep(2, 5, 3, AdditiveAttention(5, 3, 4))
x, s0 = rng.normal(size=(1, 2)), np.zeros((1, 5))
for memory in (h[None], -h[None]):  # (1, 4, 3)
    s1, _, weights = step(mg.Tensor(x), mg.Tensor(s0), memory, memory)
    print("s_1 =", s1.data[0].round(3))

# %% [markdown]
# > **The book says** (6.2.4) that Bahdanau's model continues with
# > $\tilde s = \tanh(W_c [c; s])$. This is the
# > [attentional state](../../GLOSSARY.md#attentional-state) of Luong, Pham and Manning
# > (2015), with a learned matrix $W_c$: first the GRU, then attention. There the GRU
# > does not see the context, unless $\tilde s$ is given to the next step as a further
# > input. [Lesson 04](../04_scores/README.md) has both, and the gradient.

# %% [claims]
states = [step(mg.Tensor(x), mg.Tensor(s0), m, m)[0].data for m in (h[None], -h[None])]
claim("6.2.4", "in Bahdanau's model the context does not enter the next state", YES,
      np.allclose(*states), "it is an input of the GRU: other words, another state")

# %% [markdown]
# ## What is the gradient?
#
# Every operation is a sum, a product, a softmax or a tanh, so lesson 00 is enough.
# Start at the context. Let $\bar c = \partial L / \partial c$. A larger $\alpha_j$ adds
# more of $h_j$ to the context, so
# $`\partial L / \partial \alpha_j = u_j = \bar c \cdot h_j`$.
# The backward of the softmax (lesson 00) gives
# $`g_j = \partial L / \partial e_j = \alpha_j (u_j - \sum_k \alpha_k u_k)`$.
#
# The sum is the average of the $u_k$. If $u_j$ is smaller than this average, more of
# word $j$ lowers the loss. Then $g_j$ is negative, and a step of training, which goes
# against the gradient, raises the score of word $j$.
#
# For the rest, let $`t_j = \tanh(W_s s + W_h h_j)`$ and let $d_j$ be the gradient
# before the tanh:
#
# ```math
# \frac{\partial L}{\partial v} = \sum_j g_j\, t_j, \qquad
# d_j = g_j\; v \odot (1 - t_j^2)
# ```
#
# ```math
# \frac{\partial L}{\partial W_h} = \sum_j d_j h_j^\top, \qquad
# \frac{\partial L}{\partial W_s} = \Big(\sum_j d_j\Big) s^\top
# ```
#
# ```math
# \frac{\partial L}{\partial s} = W_s^\top \sum_j d_j, \qquad
# \frac{\partial L}{\partial h_j} = W_h^\top d_j + \alpha_j \bar c
# ```
#
# The sums over $j$ have one reason: the same $v$, $W_h$, $W_s$ and $s$ are used for
# every word. And $h_j$ is used twice, as key and as value, so its gradient has two
# terms. In the code `dc` is $\bar c$, and each `d…` is the gradient of what its name
# says:


# %%
def by_hand(s, h, W_s, W_h, v, dc):
    t = np.tanh(W_s @ s + h @ W_h.T)  # (S, A)
    alpha = softmax(t @ v)[1]
    u = h @ dc  # (S,), dL/dalpha
    g = alpha * (u - alpha @ u)  # (S,), dL/de: backward of the softmax
    d = g[:, None] * v * (1 - t * t)  # (S, A), before the tanh
    dh = d @ W_h + np.outer(alpha, dc)  # as key, and as value
    total = d.sum(0)  # (A,)
    return W_s.T @ total, dh, np.outer(total, s), d.T @ h, g @ t


# %% [markdown]
# Compare with the library. All sizes differ, so that a wrong transpose cannot fit. (A
# [leaf](../../GLOSSARY.md#leaf) is a value that was not computed from others.)

# %%
sizes = {"s": (5,), "h": (7, 3), "W_s": (4, 5), "W_h": (4, 3), "v": (4,)}
arrays = {name: rng.normal(size=size) for name, size in sizes.items()}
dc = rng.normal(size=3)
leaves = {k: mg.Tensor(x, requires_grad=True) for k, x in arrays.items()}
s, H, W_s, W_h, v = leaves.values()
weights = mg.softmax(additive(s[None], H, W_s, W_h, v))  # (1, 7)
((weights @ H)[0] * dc).sum().backward()
for (name, leaf), mine in zip(leaves.items(), by_hand(*arrays.values(), dc)):
    print(f"dL/d{name:3s} {str(mine.shape):7s} equal: {np.allclose(leaf.grad, mine)}")

# %% [markdown]
# ## How do I use it?
#
# `AdditiveAttention` holds $W_s$, $W_h$ and $v$. It takes $B$ sentences at once, each
# with $L$ queries and $S$ states, and needs no loop. The projected queries are an array
# of shape (B, L, 1, A), the projected states one of shape (B, 1, S, A). Their sum is
# broadcast to (B, L, S, A). The product of its tanh with $v$ sums over the last axis,
# so the scores have the shape (B, L, S). Below, one query meets 4 to 48 states, and
# nothing in the layer depends on their number:

# %%
mg.manual_seed(1)
layer = AdditiveAttention(query_size=8, key_size=8, num_hiddens=8)
for S in (4, 6, 12, 24, 48):
    H = rng.normal(size=(1, S, 8)).astype(np.float32)
    c = layer(rng.normal(size=(1, 1, 8)).astype(np.float32), H, H)  # (1, 1, 8)
    weights = layer.attention_weights.data[0, 0]
    print(f"S = {S:2d}   sum {weights.sum():.4f}   largest {weights.max():.3f}")

# %% [markdown]
# Before training, the parameters are random, and so are the weights. Each matrix is
# drawn uniformly between $-b$ and $b$ with
# $b = \sqrt{6 / (\text{rows} + \text{columns})}$, and $v$ like a matrix of one row.
# The models with attention in lesson 02 contain this layer.
# [Lesson 07](../07_reversal/README.md) trains the same score, with another random
# start.
#
# ## What would break it?
#
# - The gradient of $W_s$ from the last $j$ alone, without the sum.
# - The gradient of $h_j$ as key only, without its part as value.
# - $v = 0$ at the start: in the first step every $d_j$ is 0, and neither matrix moves.
#   A comparison of the matrices' gradients with slopes compares 0 with 0, so every
#   mistake that is multiplied by $v$ passes. (`mg.gradcheck` raises an error there.)
# - Several sentences at once, which is what the first axis of the layer is for. If they
#   have different lengths, the shorter ones are filled up
#   ([padding](../../GLOSSARY.md#padding)), and a state that is no word gets a weight as
#   well. A [mask](../../GLOSSARY.md#mask) prevents this, as in exercise 6.5 and in
#   [lesson 06](../06_masks/README.md). It says which places are allowed, and the
#   softmax runs over these alone. Any other place has the weight 0. So its score, its
#   state and the argument of its tanh receive the gradient 0.
#
# **To take away: attention is a score for each word, a softmax, and an average; all
# three have gradients, so where to look is learned.**
#
# Exercises: 6.1 (equal weights are the mean), E.2 (the backward passes that this page
# uses) and 6.5 (this page, written by you): `python -m lessons start 6.1`.

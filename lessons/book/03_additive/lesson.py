"""03  Additive attention  ●●○○  35 min  importance ★★★

Which source word does the decoder need now, and how does it learn that?
"""

# %% [markdown]
# A translator has read "the black cat sleeps" and has written "le". The next French
# word is "chat". Which of the four English words does it need now?
#
# You would look at "cat". This lesson builds the small network that learns to do the
# same. It gives each English word a score, turns the scores into weights, and computes
# a weighted average. These three steps are [attention](../../GLOSSARY.md#attention).
#
# **Why it matters:** a Transformer, and so nearly every large language model, repeats
# these three steps in each of its layers. The lessons that follow change one of them at
# a time.
#
# You need NumPy, and derivatives for one section.

# %% [folded]
import numpy as np

import minigrad as mg
from attention import AdditiveAttention, BahdanauStep, additive
from lessons.pages.figures import (
    BLUE, GREEN, ORANGE, PURPLE, arrow, box, diagram, figure, show, weight_label,
)  # fmt: skip

rng = np.random.default_rng(0)

# %% [markdown]
# ## What does a decoder need from its source?
#
# The translator has two parts. The [encoder](../../GLOSSARY.md#encoder) reads the
# sentence word by word; after word $j$ it has a vector $h_j$, its
# [state](../../GLOSSARY.md#state), which describes that word and what came before it.
# The [decoder](../../GLOSSARY.md#decoder) writes the translation word by word, and has
# a state $s$ of its own. [Lesson 02](../02_gru_bottleneck/README.md) opens both. It
# also measures what happens if the decoder receives only the last $h_j$: a long
# sentence does not survive in one vector.
#
# Attention keeps all the $h_j$. Here are four of them, invented and much too short, so
# that we can read them. The first number says "this is a noun", the second "this is an
# adjective", the third "this is a verb":

# %%
words = ("the", "black", "cat", "sleeps")
h = np.array(
    [[0.1, 0.2, 0.0], [0.1, 0.9, 0.0], [0.9, 0.1, 0.1], [0.1, 0.0, 0.9]]
)  # (S = 4, 3), one row for each word

# %% [markdown]
# The decoder has written "le" and needs a noun. Its state $s$ is used as a
# [query](../../GLOSSARY.md#query): a description of what is needed. Suppose that each
# word has a [score](../../GLOSSARY.md#score) $e_j$, a number that says how well the
# word suits the query. The [softmax](../../GLOSSARY.md#softmax) turns the scores into
# [weights](../../GLOSSARY.md#weight) $\alpha_j$, which are positive and sum to one: it
# divides each $\exp(e_j)$ by the sum of all. The weighted average of the states is the
# [context](../../GLOSSARY.md#context) $c$:

# %%
e = np.array([0.5, 1.0, 3.0, 1.0])  # scores, invented too
alpha = np.exp(e) / np.exp(e).sum()  # (4,) weights
c = alpha @ h  # (3,) the context
for word, score, weight in zip(words, e, alpha):
    print(f"{word:7s} score {score:.1f}   weight {weight:.3f}")
print("context", c.round(3))

# %% [figure]
STEPS = ["the states", "the query", "scores", "weights", "context", "word"]


def draw(step):
    """Draw the diagram up to a step; return it, and what this step computes."""
    k = STEPS.index(step)
    fig, ax = diagram((7.2, 3.3), (-0.9, 6.9), (-0.7, 2.35))
    fig.suptitle("Which word does the decoder look at?")
    centre, right = 1.8, 5.7
    for j, (word, score, weight) in enumerate(zip(words, e, alpha)):
        at = 1.2 * j
        side = -1 if at < centre else 1
        box(ax, (at, 0), f"$h_{j + 1}$", BLUE, below=word)
        if j:
            arrow(ax, (at - 0.8, 0), (at - 0.4, 0))
        if k == 2:
            ax.text(at, 0.36, f"e = {score:.1f}", ha="center", va="bottom")
        if k > 2:
            arrow(ax, (at, 0.25), (centre, 1.75), BLUE, weight)
            weight_label(ax, at, 0.36, weight, side)
    if k > 0:
        box(ax, (right, 0), "$s$", GREEN, below='has written "le"')
    if k == 1:
        ax.text(right, 0.4, "query: which word now?", ha="center", va="bottom")
    if k > 1:
        arrow(ax, (right - 0.4, 0.1), (centre + 1.25, 0.95), GREEN, bend=0.12)
        ax.text(centre + 1.8, 1.0, "query: which word now?", ha="left", va="bottom")
    if k > 3:
        box(ax, (centre, 2), "$c$", ORANGE)
        label = "context:\nthe weighted average"
        ax.text(centre - 0.55, 2, label, ha="right", va="center")
    if k > 4:
        box(ax, (right, 2), '"chat"', PURPLE, width=1.1)
        arrow(ax, (centre + 0.4, 2), (right - 0.55, 2), ORANGE)
        arrow(ax, (right, 0.25), (right, 1.75), GREEN)
    shown = ", ".join(f"{weight:.2f} {word}" for word, weight in zip(words, alpha))
    said = [
        "The encoder has read four words; each has a state.",
        'The decoder has written "le". Its state s asks which word comes now.',
        "Each state gets a score: "
        + ", ".join(f"{score:.1f} {word}" for word, score in zip(words, e)) + ".",
        f"The softmax makes weights of the scores: {shown}; they sum to one.",
        f"The context is the average of the states with these weights: {c.round(2)}.",
        'From s and c together comes the word "chat".',
    ]  # fmt: skip
    return fig, said[k]


alt = f"""Four encoder states h1 to h4, under them the words the, black, cat, sleeps. From
each an arrow leads to the context c, as thick as the weight: {alpha[0]:.2f},
{alpha[1]:.2f}, {alpha[2]:.2f} and {alpha[3]:.2f}. The decoder's state s chooses the
weights; s and c together give the word "chat"."""
show(draw, "one-step", alt, frames={"step": STEPS})

# %% [markdown]
# The context is nearly the state of "cat", with a little of every other word. (In the
# picture the curved arrow from $s$ means that $s$ decides how thick the other arrows
# are.) The word is chosen from $s$ and $c$ together.
#
# Every state has a positive weight, so a small change of any score changes the context
# a little. Therefore training can move the weight to another word. A decoder that
# *chose* one word could not be trained in this way, because a choice has no derivative.
#
# The weights are often read as an [alignment](../../GLOSSARY.md#alignment): to which
# source words the new word belongs. At the next step the decoder has another state $s$,
# and with it come other weights.
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
# The product of a learned matrix and a vector is a
# [projection](../../GLOSSARY.md#projection). The two projections are *added*, which
# gives the [additive score](../../GLOSSARY.md#additive-score) its name. It works for
# any lengths $d_s$ and $d_h$, and the same $W_s$, $W_h$ and $v$ serve every word of
# every sentence.
#
# ## Can you do it with a pencil?
#
# Here is an example with $A = 4$ in which the products $W_s s$ and $W_h h_j$ are done
# already:

# %%
Ws_s = np.array([0.3, -0.1, 0.5, 0.2])  # W_s s, (A,)
Wh_h = np.array(  # W_h h_j, (S = 4, A = 4)
    [[0.4, 0.2, -0.3, 0.6], [-0.2, 0.5, 0.3, -0.1],
     [0.7, -0.3, 0.4, 0.2], [0.1, 0.4, -0.2, 0.5]]
)  # fmt: skip
v = np.array([0.3, 0.5, -0.2, 0.4])

# %% [markdown]
# Compute $e_1$ yourself: add the two vectors, take four tanhs, multiply by $v$, add up.
# Then compare:

# %%
y = np.tanh(Ws_s + Wh_h)  # (4, 4); W_s s is added to each row
e = y @ v  # (4,)
for j in range(4):
    row = " ".join(f"{x:6.3f}" for x in y[j])
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
# different amounts. Other functions whose graph is not a straight line can do this,
# too. But no tanh is larger than 1, and the next section shows how this limits the
# weights.
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
# that one of four words can get? To reach it, the code moves every tanh to one of its
# two ends, by numbers of 50 and -50 before the tanh:

# %%
most = 1 / (1 + 3 * np.exp(-2 * np.abs(v).sum()))
best_case = np.sign(v) * np.array([[50.0], [-50], [-50], [-50]])  # (4, 4), before tanh
print(f"sum |v| = {np.abs(v).sum():.1f}   at most {most:.3f}", end="   ")
print(f"reached {softmax(np.tanh(best_case) @ v)[1].max():.3f}")

# %% [markdown]
# A model that has to look at one word only must learn a $v$ with a large $`\|v\|_1`$,
# by large entries or by many.
#
# Four texts on attention stand behind this course, and boxes like the next one compare
# what they print with what we find. *The book* is always [one of the
# four](../../TEXTS.md). You need none of them.
#
# > **The book says** (6.2.2) that the weights can become "arbitrarily peaked". Peaked
# > means sharp. With scores that have no limit, such as the dot products of [lesson
# > 04](../04_scores/README.md), they can. With this score and a given $v$ they cannot.

# %% [claims]
from lessons.instrument.verdict import above
from lessons.pages.claims import YES, claim

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
# ## What reaches the decoder?
#
# The context is an average. Its two limits say what an average can do. Equal weights
# give the mean of all states, whatever the query (exercise 6.1). If one word has the
# weight one, the context is the state of that word:

# %%
for name, weights in (("equal", [0.25] * 4), ("only cat", [0, 0, 1, 0])):
    print(f"{name:9s} c = {(np.array(weights) @ h).round(3)}")

# %% [markdown]
# The context has as many numbers as one state, for a source of any length, and it is a
# *new* vector at every step.
#
# Where does it go? The decoder is a network that works step by step: from an input and
# its old state it computes its new state. Bahdanau's decoder uses a *GRU* for this
# step, which lesson 02 explains; here it is enough that it has an input. Let
# $`s_{t-1}`$ be the state before step $t$, and $x_t$ the vector of the word that was
# written last. The old state is the query, and the context is a second part of the
# input:
#
# ```math
# c_t = \mathrm{attend}(s_{t-1}), \qquad s_t = \mathrm{GRU}([x_t; c_t],\, s_{t-1})
# ```
#
# Here $[x_t; c_t]$ is one long vector, the numbers of $x_t$ and then those of $c_t$.
# So the new state depends on the encoder's states. To see it, keep the word and the old
# state, and change the signs of all $h_j$. The library calls the keys and values of a
# decoder its [memory](../../GLOSSARY.md#memory):

# %%
mg.manual_seed(0)
# widths: 2 of the word x, 5 of the state s, 3 of the states h, and A = 4
step = BahdanauStep(2, 5, 3, AdditiveAttention(5, 3, 4))
x, s0 = rng.normal(size=(1, 2)), np.zeros((1, 5))
for memory in (h[None], -h[None]):  # (1, 4, 3), as keys and as values
    s1, _, weights = step(mg.Tensor(x), mg.Tensor(s0), memory, memory)
    print("s_1 =", s1.data[0].round(3))

# %% [markdown]
# ## What is the gradient?
#
# How does training move a weight? Measure the mistake of the translation by a number
# $L$, the [loss](../../GLOSSARY.md#loss). Training moves every learned number against
# its [gradient](../../GLOSSARY.md#gradient), the derivative of $L$ with respect to it.
# ([Lesson 00](../00_tape/README.md) derives the rules that are used here. Exercise 6.5
# needs this section; lesson 04 does not.)
#
# Start at the context, with $\bar c = \partial L / \partial c$. A larger $\alpha_j$
# adds more of $h_j$ to the context, so
# $`\partial L / \partial \alpha_j = u_j = \bar c \cdot h_j`$. One score moves all
# weights: the quotient rule gives
# $`\partial \alpha_j / \partial e_j = \alpha_j - \alpha_j^2`$, and
# $`\partial \alpha_k / \partial e_j = - \alpha_k \alpha_j`$ for the others. The sum
# over all weights is
#
# ```math
# g_j = \frac{\partial L}{\partial e_j} = u_j \alpha_j - \sum_k u_k \alpha_k \alpha_j
#     = \alpha_j \Big(u_j - \sum_k \alpha_k u_k\Big)
# ```
#
# The last sum is the average of the $u_k$. If $u_j$ is smaller than this average, more
# of word $j$ lowers the loss. Then $g_j$ is negative, and a step of training raises the
# score of word $j$.
#
# For the rest, let $`y_j = \tanh(W_s s + W_h h_j)`$, and let $\delta_j$ be the gradient
# of what goes into this tanh. The derivative of the tanh is $1 - y_j^2$. (The sign
# $\odot$ multiplies number by number.)
#
# ```math
# \frac{\partial L}{\partial v} = \sum_j g_j\, y_j, \qquad
# \delta_j = g_j\; v \odot (1 - y_j^2)
# ```
#
# ```math
# \frac{\partial L}{\partial W_h} = \sum_j \delta_j h_j^\top, \qquad
# \frac{\partial L}{\partial W_s} = \Big(\sum_j \delta_j\Big) s^\top
# ```
#
# ```math
# \frac{\partial L}{\partial s} = W_s^\top \sum_j \delta_j, \qquad
# \frac{\partial L}{\partial h_j} = W_h^\top \delta_j + \alpha_j \bar c
# ```
#
# The sums over $j$ have one reason: the same $v$, $W_h$, $W_s$ and $s$ are used for
# every word, and what is used several times receives the sum. And $h_j$ is used twice,
# as key and as value, so its gradient has two terms. In the code `dc` is $\bar c$, and
# `dh` and the results are gradients in the order of the arguments:


# %%
def by_hand(s, h, W_s, W_h, v, dc):
    y = np.tanh(W_s @ s + h @ W_h.T)  # (S, A)
    alpha = softmax(y @ v)[1]
    u = h @ dc  # (S,), dL/dalpha
    g = alpha * (u - alpha @ u)  # (S,), dL/de: backward of the softmax
    delta = g[:, None] * v * (1 - y * y)  # (S, A), before the tanh
    dh = delta @ W_h + np.outer(alpha, dc)  # as key, and as value
    total = delta.sum(0)  # (A,)
    return W_s.T @ total, dh, np.outer(total, s), delta.T @ h, g @ y


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
# with one or more queries and $S$ states, and needs no loop. The projected queries are
# an array of shape (B, queries, 1, A), the projected states one of shape (B, 1, S, A).
# NumPy repeats both along their axes of length 1, so their sum has the shape
# (B, queries, S, A). The product of its tanh with $v$ sums over the last axis: a score
# for each query and each state. Below, one query meets 4 to 48 states, and nothing in
# the layer depends on their number:

# %%
mg.manual_seed(1)
layer = AdditiveAttention(query_size=8, key_size=8, num_hiddens=8)
for S in (4, 6, 12, 24, 48):
    H = rng.normal(size=(1, S, 8)).astype(np.float32)
    c = layer(rng.normal(size=(1, 1, 8)).astype(np.float32), H, H)  # (1, 1, 8)
    weights = layer.attention_weights.data[0, 0]
    print(f"S = {S:2d}   sum {weights.sum():.4f}   largest {weights.max():.3f}")

# %% [markdown]
# Before training, the parameters are random, and so are the weights.
# [Lesson 07](../07_reversal/README.md) trains this score.
#
# ## What would break it?
#
# - The gradient of $W_s$ from the last $j$ alone, without the sum.
# - The gradient of $h_j$ as key only, without its part as value.
# - $v = 0$ at the start: in the first step every $\delta_j$ is 0, and neither matrix
#   moves.
# - Several sentences at once, which is what the first axis of the layer is for. If they
#   have different lengths, the shorter ones are filled up
#   ([padding](../../GLOSSARY.md#padding)), and a state that is no word gets a weight as
#   well. A [mask](../../GLOSSARY.md#mask) prevents this, as in exercise 6.5 and in
#   [lesson 06](../06_masks/README.md). It says which places are allowed, and the
#   softmax runs over these alone: a score of $-\infty$ in any other place gives it the
#   weight $\exp(-\infty) = 0$. So its score, its state and the argument of its tanh
#   receive the gradient 0.
#
# **To take away: attention is a score for each word, a softmax, and an average; all
# three have gradients, so where to look is learned.**
#
# Exercises: 6.1 (equal weights are the mean), E.2 (the backward passes that this page
# uses) and 6.5 (this page, written by you): `python -m lessons start 6.1`.
#
# ## Further: could absolute values replace the exponential?
#
# The absolute values, divided by their sum, are positive weights, too:
# $`|e_j| / \sum_l |e_l|`$. Can a model focus with them? Models were trained to look up
# one of ten pairs: they see ten keys, each with a value, and then one of these keys,
# and have to name its value. There are 12 keys and 8 values, and the vectors of
# queries, keys and values are learned. The scores are additive, or dot products of
# vectors with 4 numbers ([lesson 04](../04_scores/README.md)). "Signed"
# weights are the scores divided by the sum of the absolute values. [How to read a
# measurement](../../MEASURES.md) explains rates, seeds, intervals and verdicts.

# %% [folded]
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import below, verdict, written

kept = record("normalizers")
print(how_made(kept))
settings = tuple(name for name in kept if name != "made")
for name in settings:
    for arm in kept[name]["arms"]:
        right, weight = (fair.of_arm(kept[name], arm, x) for x in ("figure", "largest"))
        print(f"{name:9s} {arm:9s} right {right.value:.2f}", end="")
        print(f"   mean largest weight {weight.value:.2f}")

# %% [folded]
judged = {}
print("right values, absolute minus softmax; by more than 0.01 fewer?")
for name in settings:
    found = fair.difference(kept[name], "absolute", "softmax")
    judged[name] = f'"{verdict(below(-0.01), found)}"'
    print(f"{name:9s} {judged[name]}\n    {written(found, 3)}")

# %% [markdown]
# With additive scores the weights need no exponential: the small network can bring the
# scores of the other keys near 0. Dot products of 4 numbers cannot. With absolute
# values each of the 12 queries needs a score of 0 for 11 of the 12 keys, so the
# $12 \times 12$ scores have numbers on their diagonal only. Such a matrix has the rank
# 12, and a matrix of products of vectors with 4 numbers has a rank of 4 at most. With a
# softmax the other scores have to be *lower*, not 0: a difference of 5 makes a weight
# {{ f"{np.exp(5):.0f}" }} times smaller.
#
# > **The book says** (6.2.2) that dividing by the sum of absolute values would give
# > non-negative weights that sum to one. It does not, because scores have signs. With
# > absolute values, it says, it would be harder for a model "to focus sharply on a
# > single position". In this task, at this size, the verdict is {{ judged["dot"] }} with
# > dot products of 4 numbers, and {{ judged["additive"] }} with additive scores.

# %% [claims]
claim("6.2.2", "scores divided by the sum of their absolute values sum to 1: [1, -2, "
      "0.5]", "1", by_sum.sum())
claim("6.2.2", "equal scores give equal weights, 1/T (T = 4)", "0.25",
      mg.softmax(np.ones(4)).data[0])
for name, words in (
    ("additive", "additive scores"), ("dot", "dot products of 4 numbers")
):  # fmt: skip
    claim("6.2.2", "absolute values over their sum make it harder than a softmax to "
          f"focus on one key of ten ({words}: right values minus those of a softmax, "
          "below -0.01)", below(-0.01),
          fair.difference(kept[name], "absolute", "softmax"))

# %% [markdown]
# ## Further: what the texts say
#
# The example for the pencil is that of chapter 6 of a textbook. `book` holds the scores
# and weights that it prints:

# %%
book = {"scores": (0.458, 0.121, 0.512, 0.389), "weights": (0.270, 0.193, 0.285, 0.252)}
right = {"scores": e, "weights": softmax(e)[1]}
for name, printed in book.items():
    print(f"{name:7s} {printed}   right {right[name].round(3).tolist()}")

# %% [markdown]
# > **The book says** (6.2.5) that these are the results. It writes out $e_1$, which is
# > right up to rounding. The other three scores are wrong, and so are all weights: the
# > state that the book scores highest is the lowest of the four. It says as well
# > (6.2.4) that Bahdanau's model continues with $\tilde s = \tanh(W_c [c; s])$. This is
# > the [attentional state](../../GLOSSARY.md#attentional-state) of Luong, Pham and
# > Manning (2015), which [lesson 04](../04_scores/README.md) explains: there the
# > context is no input of the GRU.

# %% [claims]
for name, found in (("score", e), ("weight", right["weights"])):
    for j, said in enumerate(book[f"{name}s"]):
        says, printed = f"the {name} of word {j + 1} is {said:.3f}", f"{said:.3f}"
        claim("6.2.5", says, printed, found[j])
claim("6.2.5", "word 3 has the highest score", YES, e.argmax() == 2,
      f"word {e.argmax() + 1}; word 3 is lowest")
claim("6.2.5", "exp(0.512) is 1.668", "1.668", np.exp(0.512))
states = [step(mg.Tensor(x), mg.Tensor(s0), m, m)[0].data for m in (h[None], -h[None])]
claim("6.2.4", "in Bahdanau's model the context does not enter the next state", YES,
      np.allclose(*states), "it is an input of the GRU: other words, another state")

"""Lesson 16: pointing and copying.  ●●●○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 16. Pointing and copying
#
# "Zoltan praises Anna." A translator that has never seen the name Zoltan can look at it,
# with all its attention, and still not write it: its output layer has one row for each
# word of a vocabulary, and this word has none. What if the weights of attention were the
# answer, and not only a way to an average?
#
# You need [lesson 03](../03_additive/README.md), [lesson 08](../08_local_coverage/README.md)
# and, for the measurements, [lesson 14](../14_checks_the_book/README.md). Forty minutes.

# %%
import functools

import numpy as np

import attention
import minigrad as mg
from attention import copy_loss, copy_probabilities, masked_softmax
from attention.app.experiments import fair
from attention.app.experiments.verdict import above, below, between, verdict, written
from lessons.classroom.records import how_made, record
from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, figure, show

rng = np.random.default_rng(16)

# %% [markdown]
# ## What gets lost between the weights and the word?
#
# The vocabulary has three words, *Anna*, *praises* and *unknown*. As an input, Zoltan is
# the third. Attention looks at Zoltan, with nearly all its weight. Let the output layer be
# as good as it can be: its logits are 9 times the share of each word in the context. Which
# word comes out?

# %%
vocabulary = ["Anna", "praises", "unknown"]
sentence = ["Zoltan", "praises", "Anna"]
ids = [vocabulary.index(w if w in vocabulary else "unknown") for w in sentence]
a = np.array([0.98, 0.01, 0.01])  # the weights, (S = 3,)
context = a @ np.eye(3)[ids]  # each value is the one-hot row of its word
probabilities = masked_softmax(mg.Tensor(9 * context[None])).data[0]
for word, p in zip(vocabulary, probabilities):
    print(f"{word:8s} {p:.3f}")

# %% [markdown]
# *Unknown*. The weights say "the first word of the source"; the average and the output
# layer turn this into one of three words. A longer vocabulary moves the problem, and does
# not end it. So leave out the average.
#
# ## A pointer: the weights are the output
#
# Sorting makes the point. The answer to "which comes next?" is one of the $n$ numbers of
# this list, and $n$ differs from list to list. An output layer with 8 rows cannot name
# the ninth place. A [pointer network](../../GLOSSARY.md#pointer-network) (Vinyals,
# Fortunato and Jaitly [2015](https://arxiv.org/abs/1506.03134)) gives each element a
# score, and its softmax is the answer:
#
# ```math
# u_{tj} = w_v \cdot \tanh(W_q d_t + W_k e_j), \qquad
# P(y_t = j) = \frac{\exp(u_{tj})}{\sum_l \exp(u_{tl})}
# ```
#
# | letter | meaning |
# |---|---|
# | $e_j$ | an element of the input, $j = 1, \dots, n$ |
# | $d_t$ | the state of the decoder in step $t$: here the element chosen last |
# | $y_t$ | the place of the element that is chosen in step $t$ |
# | $`u_{tj}`$ | the score of element $j$; $l$ runs over the elements that are still allowed |
#
# These are the weights of [lesson 03](../03_additive/README.md), without values.

# %% [source] attention.variants.pointer.Pointer.forward

# %% [markdown]
# The loss is $-\ln P(y_t)$, so the gradient of the scores is that of a cross-entropy,
# $`\partial L / \partial u_t = p_t - \mathrm{onehot}(y_t)`$, and 0 for a masked element.
# An element that was chosen is masked from then on, in training and in use:

# %%
x = np.array([[3.0, -1.0, 2.0]])  # to sort: (B = 1, n = 3)
places = x.argsort(1)  # the right answer
left = attention.not_chosen(places, 3)
print("right places", places[0])
print("still allowed\n", left[0].astype(int))

# %%
pointer = attention.Pointer(1, 1, 8, rng=rng)
last = np.array([[[-5.0], [-1.0], [2.0]]])  # a sign for the start, then what was chosen
u = pointer(last, x[..., None], left).detach()
u.requires_grad = True
p = masked_softmax(u, mask=left).data
mg.cross_entropy(u[0], places[0], reduction="sum").backward()
print("du = p - onehot:", np.allclose(u.grad, p - np.eye(3)[places], atol=1e-6))

# %%
order = [2, 0, 1]
moved = pointer(last, x[:, order, None], left[..., order])
print("elements in another order, P in the same order:",
      np.allclose(moved.data, u.data[..., order]))  # fmt: skip

# %% [markdown]
# Nothing in this model has the size $n$. It is the same model for 3 elements and for 32.
#
# ## Does a pointer need the additive score?
#
# Pointer networks are where the additive score has lived on. Is there a reason? Compare
# it with a dot product of two linear maps. In this task a state and an element are one
# number each, $d$ and $x_j$, so with the vectors $w, b, w', b'$
#
# ```math
# u_j = (w d + b) \cdot (w' x_j + b') = A(d)\, x_j + B(d)
# ```
#
# which rises with $x_j$ or falls, whatever $d$ is. The largest score is at one of the two
# ends of the list. Before you read on: is that enough to sort?
#
# With the mask, yes: the smallest element *that is left* is the next one, so any slope
# downwards sorts. Without the mask the model has to find the element next above $d$. That
# takes a hill, and a straight line has none: two of $n$ answers can be right, 1/4 of 8
# and 1/16 of 32. The additive score is a sum of $\tanh$, which can be a hill, as lesson
# [04](../04_scores/README.md) shows.
#
# **Measured.** Lists of 4 to 8 numbers between $-4$ and $4$ in training, of 8, 16 and 32
# in the test. A third score is fair to add: a dot product of $\tanh(w d + b)$ and
# $`\tanh(w' x_j + b')`$, with as many parameters as the additive score, and hills.

# %%
kept = record("pointing")
print(how_made(kept))
sorting = kept["sorting"]


def of(*path):
    """Return the function of a run that returns run[path[0]][path[1]]..."""
    return lambda run: functools.reduce(lambda x, key: x[key], path, run)


# %%
SIZES = ("8", "16", "32")
print(f"{'':28s}right next element of  lists sorted alone")
print(f"{'':21s} rate      8     16     32      8     16     32  plateaus")
for arm in sorting["arms"]:
    row = f"{arm:20s} {sorting['chosen'][arm]:5g} "
    for what in "next", "sorted":
        means = [fair.figures(sorting, arm, of("at", n, what)).mean() for n in SIZES]
        row += "".join(f"{y:7.3f}" for y in means)
    ended = fair.figures(sorting, arm, "plateau")
    print(f"{row}  {sum(ended)} of {len(ended)}")


# %%
def compare(part, says, claim, a, b, what="figure"):
    """Print the difference of two arms of a comparison, and the verdict on a claim."""
    found = fair.difference(kept[part], a, b, what)
    words = written(found, 3)
    print(f"{says}\n    {words}: {verdict(claim, found)}")


compare("sorting", "masked: dot as additive, within .01", between(-0.01, 0.01),
        "dot", "additive")  # fmt: skip
compare("sorting", "no mask: additive ahead of dot", above(0),
        "additive, no mask", "dot, no mask")  # fmt: skip
compare("sorting", "no mask: additive ahead of tanh", above(0),
        "additive, no mask", "dot of tanh, no mask")  # fmt: skip

# %% [figure]
LOOKS = {
    "additive": (BLUE, "-"), "additive, no mask": (BLUE, "--"),
    "dot": (ORANGE, "-"), "dot, no mask": (ORANGE, "--"),
    "dot of tanh, no mask": (PURPLE, "--"),
    "location": (GREEN, "-"), "monotonic": (ORANGE, "-"), "MoChA": (PURPLE, "-"),
}  # fmt: skip
title = f"Who points at the next number? ({len(sorting['seeds'])} runs each)"
fig, ax = figure(title, size=(7.2, 3.2))
for arm in sorting["arms"]:
    colour, style = LOOKS[arm]
    for run in (run for run in sorting["runs"] if run["arm"] == arm):
        steps = sorting["every"] * np.arange(1, len(run["curve"]) + 1)
        label = arm if run["seed"] == sorting["seeds"][0] else None
        ax.plot(steps, run["curve"], style, color=colour, lw=1, label=label)
ax.axhline(2 / 8, color=GREY, ls=":", lw=1, label="two ends of 8")
ax.set(xlabel="training step, before the rate falls", ylabel="right, of 8 numbers")
ax.set(ylim=(0, 1.03))
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
means = "; ".join(
    f"{arm} {fair.of_arm(sorting, arm).value:.2f}" for arm in sorting["arms"]
)
alt = f"""Share of right next elements among 8 against steps, a line for each run. At the
end, means: {means}. The dotted line is two of eight."""
show(fig, "sorting", alt)

# %% [markdown]
# In this task, at this size, the mask does the work, and with it both scores sort lists
# four times as long as those of the training. The additive score earns its $\tanh$ where
# the model has to find a place *between* others. *Dot, no mask* is at its bound. (A run
# that is no better than a trivial answer is never called a plateau.) The other two arms
# without a mask chose the largest rate of the grid, so they may do better than here.
#
# ## Write, or copy?
#
# A pointer can name Zoltan, but it cannot write *is praised by*, which the source does
# not contain. The [pointer-generator](../../GLOSSARY.md#pointer-generator) (Gu and others
# [2016](https://arxiv.org/abs/1603.06393); See, Liu and Manning
# [2017](https://arxiv.org/abs/1704.04368)) does both, and decides how much of each:
#
# ```math
# P(w) = \lambda\, \mathrm{softmax}(z)_w + (1 - \lambda) \sum_{j:\, x_j = w} a_j, \qquad
# \lambda = \sigma(r)
# ```
#
# | letter | meaning |
# |---|---|
# | $z$ | the logits of the words of the vocabulary |
# | $a_j$ | the weight of place $j$ of the source, whose word is $x_j$ |
# | $\lambda$ | the probability to write; $r$ is a linear function of context, state and input |
#
# A word that the vocabulary lacks has no logit, so its first part is 0. It gets a number
# of its own in each sentence. A word that occurs twice has two weights, and they add up.

# %% [source] attention.variants.pointer_generator.copy_probabilities

# %%
z = mg.Tensor(np.array([2.0, 1.0, 0.0]), requires_grad=True)  # Anna, praises, unknown
e = mg.Tensor(np.array([4.0, 0.0, 1.0]), requires_grad=True)  # scores of the source
r = mg.Tensor(np.array(-1.0), requires_grad=True)
source = np.array([3, 1, 0])  # Zoltan is word 3, the first after the vocabulary
a = mg.softmax(e)
P = copy_probabilities(z, a, r, source, 4).data
for word, each in zip(vocabulary + ["Zoltan"], P):
    print(f"{word:8s} {each:.3f}")
print(f"{'sum':8s} {P.sum():.3f}")

# %% [markdown]
# **Who gets the credit?** Let $y$ be the right word. It was written, or it was copied
# from one of its places. The probabilities of these cases, *after* $y$ has been seen, are
#
# ```math
# \pi = \frac{\lambda\, \mathrm{softmax}(z)_y}{P(y)}, \qquad
# \rho_j = \frac{(1 - \lambda)\, a_j\, [x_j = y]}{P(y)}, \qquad
# \pi + \sum_j \rho_j = 1
# ```
#
# where $[x_j = y]$ is 1 if they are the same word, and 0 otherwise. The gradient of
# $-\ln P(y)$ divides the work in these proportions, with the scores $e$ of the weights
# $a$:
#
# ```math
# \frac{\partial L}{\partial z} = \pi\, (\mathrm{softmax}(z) - \mathrm{onehot}(y)), \qquad
# \frac{\partial L}{\partial e_j} = (1 - \pi)\, a_j - \rho_j, \qquad
# \frac{\partial L}{\partial r} = \lambda - \pi
# ```
#
# The vocabulary learns a cross-entropy as far as the word was written, attention as far
# as it was copied, and the gate moves from $\lambda$, what it believed before, to $\pi$,
# what was true. For Anna, who can be written and copied:

# %%
y = 0  # Anna
loss = copy_loss(z, a, r, source, np.array(y))
loss.backward()
write, copy = 1 / (1 + np.exp(1.0)), a.data * (source == y)  # lambda, a_j [x_j = y]
soft = masked_softmax(mg.Tensor(z.data[None])).data[0]
pi, rho = write * soft[y] / P[y], (1 - write) * copy / P[y]
print(f"written {pi:.3f}, copied from each place {rho.round(3)}")
print("dz", np.allclose(z.grad, pi * (soft - np.eye(3)[y])))
print("de", np.allclose(e.grad, (1 - pi) * a.data - rho))
print("dr", np.allclose(r.grad, write - pi), f" {write:.3f} - {pi:.3f}")

# %% [markdown]
# E.20 derives the three.
#
# **Measured.** A small language: a name, a verb, a name and an adverb, which may stand
# anywhere, in two clauses. *Anna praises Bo often* has to become *Bo is praised by Anna
# often*, verbs and adverbs in words of another language. Training has 30 names, and
# the vocabulary only 15 of them (*frequent*); the test also has 15 *new* ones. The
# third arm adds a question: what if the vocabulary has all 30, so that in training
# every word can be written, and nothing ever *must* be copied? We expected this model to
# write its names, and to fail with new ones. A sentence counts if all its words are
# right, each written after the model's own words.

# %%
names = kept["names"]
GROUPS = ("frequent", "rare", "new")
print("right sentences      rate frequent    rare     new  plateaus")
for arm in names["arms"]:
    means = [fair.figures(names, arm, of("at", g)).mean() for g in GROUPS]
    row = "".join(f"{y:8.3f}" for y in means)
    ended = fair.figures(names, arm, "plateau")
    rate = names["chosen"][arm]
    print(f"{arm:17s} {rate:7g} {row}  {sum(ended)} of {len(ended)}")
for arm in names["arms"][1:]:
    print(f"{arm}, new, every seed")
    print("   ", " ".join(f"{y:.2f}" for y in fair.figures(names, arm)))

# %%
print("probability to write         at names   at other words")
for arm in names["arms"][1:]:
    for group in "frequent", "new":
        means = fair.figures(names, arm, of("gates", group)).mean(0)
        print(f"{arm:16s} {group:9s} {means[0]:12.3f} {means[1]:12.3f}")

# %%
compare("names", "copying ahead with new names", above(0), "copy", "write")
compare("names", "all known: behind with new names", below(0),
        "copy, all known", "copy")  # fmt: skip

# %% [markdown]
# Without copying, a sentence with such names is never right: no output says them. With
# copying {{ f"{fair.of_arm(names, 'copy').value:.1%}" }} are right. (Rare and new names are the same to this model, the
# unknown word and a place, so these two columns are equal.) Look at the gates: it writes
# hardly any name, not even one that it could write. To write is to be learned for each
# name, to copy is learned once for all. Of the other words, the sign of the end stands in
# every source, too, and is copied.
#
# This is also why our expectation was too simple. The model that never had to copy
# copies as well. But it has never seen the unknown word, and the share of right sentences
# with new names lies between {{ f"{fair.figures(names, 'copy, all known').min():.0%}" }} and {{ f"{fair.figures(names, 'copy, all known').max():.0%}" }}, depending on the seed. A seed draws
# all parameters at the start, and one of them never changes: the vector of the unknown
# word. Whether it is this vector has no record here; you can find out by giving the unknown
# word the mean vector of all names before the test. If a model will meet unknown names, let
# some be unknown in its training.
#
# ## Copying letters that repeat
#
# Copy *a b a a*. After the first *a*, attention has to go on to *b*; at the end, from one
# *a* to the next. Suppose the keys are the letters. What does a score of the content do?

# %%
key = {"a": [1.0, 0.0], "b": [0.0, 1.0]}
k = np.array([key[x] for x in "abaa"])  # (S = 4, D = 2)
layer = attention.AdditiveAttention(2, 2, 16, rng=rng)
layer(np.array([key["a"]]), k, k)
print(layer.attention_weights.data.round(3))

# %% [markdown]
# Three equal keys, three equal weights, with any parameters: a function of the content
# returns the same for the same content. So let the score also see where attention *was*.
# Let $a^{t-1}$ be the weights of the last step and $c^t$ the sum of all before.
# [Location-sensitive attention](../../GLOSSARY.md#location-sensitive-attention)
# (Chorowski and others [2015](https://arxiv.org/abs/1506.07503)) looks at both around
# each key, through small filters:
#
# ```math
# f^t_j = \sum_{m=-w}^{w} \left(F_{1m}\, a^{t-1}_{j+m} + F_{2m}\, c^t_{j+m}\right), \qquad
# e^t_j = w_v \cdot \tanh(W_q q_t + W_k k_j + U f^t_j)
# ```
#
# With $F = 0$ this is additive attention; with one filter, of width 1 and on $c$ alone,
# the coverage of [lesson 08](../08_local_coverage/README.md). And one filter can say "the
# right neighbour of the last key": $`F_{1,-1} = 1`$ and 0 elsewhere, so $f_j$ is the
# last weight of key $j - 1$. Let us set it by hand, with no content at all:

# %%
walk = attention.LocationAttention(2, 2, 1, filters=1, width=3, rng=rng)
for each in walk.parameters():
    each.data[...] = 0
walk.F.data[0, 0, 0] = 1  # m = -1: the last weight of the key on the left
walk.U.data[...] = 3
walk.w_v.data[...] = 20

# %%
k = k.astype(np.float32)
p = total = np.array([[1.0, 0.0, 0.0, 0.0]], np.float32)  # at the first key
for _ in range(3):
    _, p = walk.step(k[:1], k[None], k[None], total, p)
    total = total + p.data
    print(p.data[0].round(3))

# %% [source] attention.variants.location.LocationAttention.past

# %% [markdown]
# It walks, although three of the keys are equal. The cost: step $t$ needs the weights of
# step $t - 1$, so the steps cannot be computed at once.
#
# **Measured.** Strings of 4 to 12 letters out of three, so that most have equal
# neighbours; the test has 12, 24 and 48. Encoder and decoder are GRUs of 32 units, and
# an encoder's state at a letter is more than the letter: it knows some of its past. So
# additive attention is not helpless, as above. But what it has learned of places must
# reach beyond 12. Rates are chosen by other strings of 24 letters. (*Monotonic* is below,
# under Further.)


# %%
def print_lengths(part, *sizes):
    """Print the shares of right letters by length; of those that read hard, too."""
    found, heads = kept[part], "".join(f"{n:>7s}" for n in sizes)
    print(f"right letters     rate{heads}   every seed, {sizes[-1]}")
    for arm in found["arms"]:
        for way in ("at", "hard") if arm in ("monotonic", "MoChA") else ("at",):
            each = [fair.figures(found, arm, of(way, n)) for n in sizes]
            row = "".join(f"{y.mean():7.3f}" for y in each) + "   "
            row += " ".join(f"{y:.2f}" for y in each[-1])
            name = f"{arm}, hard" if way == "hard" else arm
            print(f"{name:15s} {found['chosen'][arm]:6g}{row}")


# %%
def print_plateaus(part):
    found = kept[part]
    ended = [f"{a} {sum(fair.figures(found, a, 'plateau'))}" for a in found["arms"]]
    print(f"plateaus of {len(found['seeds'])}: {', '.join(ended)}")


copying = kept["copying"]
print_lengths("copying", "12", "24", "48")
print_plateaus("copying")
at_48 = of("at", "48")
compare("copying", "location ahead of additive, 12", above(0), "location", "additive",
        of("at", "12"))  # fmt: skip
compare("copying", "location ahead of additive, 48", above(0), "location", "additive",
        at_48)  # fmt: skip

# %% [figure]
title = f"Where is attention in 48 letters? ({len(copying['seeds'])} runs each)"
fig, axes = figure(title, columns=2, size=(8.4, 3.2))
for arm in copying["arms"]:
    colour, style = LOOKS[arm]
    for run in (run for run in copying["runs"] if run["arm"] == arm):
        label = arm if run["seed"] == copying["seeds"][0] else None
        letter = np.arange(1, 49)
        axes[0].plot(letter, run["off"], style, color=colour, lw=1, label=label)
        right = np.reshape(run["right"], (-1, 4)).mean(1)
        axes[1].plot(letter[3::4], right, style, color=colour, lw=1, label=label)
for ax in axes:
    ax.axvline(12, color=GREY, ls=":", lw=1, label="longest in training")
    ax.set(xlabel="letter of the output")
axes[0].set(ylabel="places beside it", title="distance of the largest weight")
axes[1].set(ylabel="share of right letters", ylim=(0, 1.03), title="right letters")
axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
off = "; ".join(
    f"{arm} {fair.figures(copying, arm, of('off', -1)).mean():.1f}"
    for arm in copying["arms"]
)
alt = f"""Left: how many places the largest weight is away from the letter to copy,
against the letter; at the last letter, means: {off}. Right: the share of right letters.
A line for each run; monotonic attention reads hard."""
show(fig, "copying", alt)

# %% [markdown]
# In this task, at this size: up to the length of the training there is hardly a
# difference. In a longer string additive attention loses its place, and the figure shows
# that this begins before the twelfth letter. It has to find the place anew in each step,
# from what states have kept of it. Location-sensitive attention goes on from the place of
# the last step, and makes no mistake at four times the length.
#
# ## What does each cost?
#
# | | weights at once for all queries | in use, for one output of $S$ places | new parameters |
# |---|---|---|---|
# | pointer | yes, if the states are there | scores of $S$ places, no average | none |
# | pointer-generator | yes, if the states are there | the vocabulary and $S$ places | $W$ of $r$ |
# | location | no | scores of $S$ places, and filters | $F$ and $U$ |
# | monotonic | along diagonals: each step needs the one before | the places it passes, $S$ for all outputs together | $r$ |
#
# ## Further: read on, and never go back
#
# A reader of a text goes on from where he is, and stops. [Monotonic
# attention](../../GLOSSARY.md#monotonic-attention) (Raffel and others
# [2017](https://arxiv.org/abs/1704.00784)) makes this the rule: step $i$ begins
# at the key where step $i - 1$ stopped, and stops at each key with a probability.
#
# ```math
# p_{ij} = \sigma(e_{ij}), \qquad
# q_{ij} = (1 - p_{i,j-1})\, q_{i,j-1} + a_{i-1,j}, \qquad
# a_{ij} = p_{ij}\, q_{ij}
# ```
#
# Here $`q_{ij}`$ is the probability that step $i$ arrives at key $j$, and $`a_{ij}`$ that
# it stops there. Training uses the $`a_{ij}`$ as weights. In use, a step stops at the first
# key with $p > 1/2$, and each key is passed once: $S$ scores in all, not $L \cdot S$, and
# the source may still be arriving. Three keys, twice the same probabilities:

# %%
p = np.array([[0.1, 0.8, 0.5]] * 2)  # (L = 2, S = 3)
a = attention.monotonic_weights(mg.Tensor(p)).data
print(a.round(3), " sums", a.sum(1).round(3))
print("hard", attention.hard_stops(mg.Tensor(p)).data.tolist())

# %% [markdown]
# The rest of a row, {{ f"{1 - a[0].sum():.2f}" }} and {{ f"{1 - a[1].sum():.2f}" }}, stops nowhere. And the second step stops where the
# first did: nothing moves on by itself. If two neighbours are equal keys, and the query
# the same, a step that stops at the first has no reason to pass it. It must want
# something else, by its query. *MoChA* (Chiu and Raffel
# [2018](https://arxiv.org/abs/1712.05382)) adds a softmax over the last few keys at each
# stop, so that a step can average.
#
# **Measured.** *aabbbc* has to become *abc*: the end of a run is what to stop at. Trained
# on 2 to 6 runs, tested with 6, 12 and 24.

# %%
runs = kept["runs"]
print_lengths("runs", "6", "12", "24")
print_plateaus("runs")
at_24 = of("at", "24")


def hard_48(run):
    return run.get("hard", run["at"])["48"]


# %%
compare("runs", "monotonic ahead of additive", above(0), "monotonic", "additive", at_24)
compare("runs", "monotonic ahead of location", above(0), "monotonic", "location", at_24)
compare("runs", "location ahead of additive, 12", above(0), "location", "additive",
        of("at", "12"))  # fmt: skip
compare("runs", "location ahead of additive, 24", above(0), "location", "additive",
        at_24)  # fmt: skip
compare("runs", "MoChA as monotonic, within .02", between(-0.02, 0.02),
        "MoChA", "monotonic", at_24)  # fmt: skip
compare("copying", "monotonic behind location, 48", below(0), "monotonic", "location",
        at_48)  # fmt: skip
compare("copying", "read hard: behind location, 48", below(0), "monotonic", "location",
        hard_48)  # fmt: skip

# %% [markdown]
# Each task has its attention. Where a run has to be passed, whatever its length, reading
# on until a key fits works at every length that was tested. The filters help with 12 runs;
# with 24 it is undecided. They see five keys, and a run may be longer. (Wider filters were
# not measured.) Among single letters, monotonic attention is a little behind, and less
# than the example above suggests: it cannot move on to an equal key if the query is the
# same, but the states of a GRU differ where the letters are equal, and its query changes
# with each step.
#
# ## What would break it?
#
# - A pointer that feeds back the *number* of the chosen place: it means nothing in a
#   longer list. Feed back the element.
# - Copying by assignment, `P[x_j] = a_j`: of a word that occurs twice, one weight is lost.
# - Logits that are mixed in the place of probabilities. Then $\lambda$ is no probability,
#   and a word without a logit has none to mix.
# - A target that is neither in the vocabulary nor in the source: $P = 0$, and the loss is
#   infinite. `copy_loss` refuses it.
# - A source without a sign at its end: location-sensitive attention can walk off it.
# - A bias of monotonic scores that begins above 0: the step stops at once, and stays.
#
# **To take away: attention's weights are a distribution over places, so they can be an
# answer themselves, of any length and with words that no vocabulary has; and where the
# content of two places is the same, only what attention did before can tell them apart.**
#
# Exercises: E.20 (the two posteriors of a pointer-generator): `python -m lessons start
# E.20`. Other tasks and arms: `python -m lessons experiment 16`.

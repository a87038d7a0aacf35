"""16  Pointing and copying  ●●●○  30 min  importance ★  needs 03, 08

How does a model write a word that it has never seen?
"""

# %% [markdown]
# "Zoltan praises Anna." A translation model whose training had no Zoltan can put all
# its attention on this name, and still cannot write it: its output layer has one row
# for each word of a vocabulary, and none for this word. What if the weights of
# attention were the answer themselves, and not only the weights of an average?
#
# **Why it matters:** names, numbers and new words are in every real text, and a model
# that can point at its input can use all of them.

# %% [folded]
import numpy as np

import attention
import minigrad as mg
from attention import copy_loss, copy_probabilities, masked_softmax
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import above
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, figure, run_curves, show,
)

rng = np.random.default_rng(16)

# %% [markdown]
# ## What gets lost between the weights and the word?
#
# The vocabulary has three words, *Anna*, *praises* and *unknown*. As an input, Zoltan
# is the third. Attention puts nearly all its weight on Zoltan. The value of a word is
# its one-hot row, so the context holds the share of each word. Let each logit of the
# output layer be 9 times the share of its word. Which word comes out?

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
# *Unknown*. The weights point at the first word of the source; the average and the
# output layer turn this into one of three words. A longer vocabulary only makes such
# words rarer. So leave out the average.
#
# ## A pointer: the weights are the output
#
# Sorting is an example. The answer to "which number comes next?" is one of the $n$
# numbers of the list, and $n$ differs from list to list. A [pointer
# network](../../GLOSSARY.md#pointer-network) (Vinyals, Fortunato and Jaitly
# [2015](https://arxiv.org/abs/1506.03134)) gives each element a score, and the softmax
# of the scores is the answer:
#
# ```math
# e_{tj} = w_v \cdot \tanh(W_q d_t + W_k x_j), \qquad
# P(y_t = j) = \frac{\exp(e_{tj})}{\sum_l \exp(e_{tl})}
# ```
#
# | letter | meaning |
# |---|---|
# | $x_j$ | an element of the input, $j = 1, \dots, n$ |
# | $d_t$ | the state of the decoder in step $t$: here the element chosen last |
# | $y_t$ | the place of the element that is chosen in step $t$ |
# | $`e_{tj}`$ | the score of element $j$; $l$ runs over the elements that are still allowed |
#
# These are the weights of [lesson 03](../03_additive/README.md), with the same
# parameters $W_q$, $W_k$ and $w_v$, and without values. No parameter has the size $n$,
# so the same model serves 3 elements and 32.
#
# The loss is $-\ln P(y_t)$. With $p_t$ for the probabilities of step $t$, the gradient
# of the scores is that of a cross-entropy,
# $`\partial L / \partial e_t = p_t - \mathrm{onehot}(y_t)`$, and 0 for a masked
# element. An element that was chosen is masked from then on, in training and in use. In
# the mask below a row is a step, and a column is an element. Does the gradient agree
# with the formula?

# %%
x = np.array([[3.0, -1.0, 2.0]])  # to sort: (B = 1, n = 3)
places = x.argsort(1)  # the right answer
left = attention.not_chosen(places, 3)
print("right places", places[0])
print("still allowed\n", left[0].astype(int))

# %%
pointer = attention.Pointer(1, 1, 8, rng=rng)
last = np.array([[[-5.0], [-1.0], [2.0]]])  # a sign for the start, then what was chosen
e = pointer(last, x[..., None], left).detach()
e.requires_grad = True
p = masked_softmax(e, mask=left).data
mg.cross_entropy(e[0], places[0], reduction="sum").backward()
print("de = p - onehot:", np.allclose(e.grad, p - np.eye(3)[places], atol=1e-6))

# %% [markdown]
# ## Does a pointer need the additive score?
#
# Compare it with a dot product of two linear maps. In sorting, a state and an element
# are one number each, $d_t$ and $x_j$. So with vectors $g, h, g', h'$ the score is
#
# ```math
# e_{tj} = (g\, d_t + h) \cdot (g' x_j + h') = A\, x_j + B
# ```
#
# where $A$ and $B$ depend on $d_t$ alone: in each step a straight line in $x_j$. It rises
# or it falls, so the largest score belongs to the smallest number of the list or to the
# largest. Before you read on: is that enough to sort?
#
# With the mask, yes: the next element is the smallest one *that is left*, and a falling
# line gives it the largest score. Without the mask the model has to find the element
# next above $d_t$. For this the score needs a maximum between the ends, and a straight
# line has none. It is right at most in the first step (the smallest element) and in the
# last (the largest). The additive score is a sum of $\tanh$, which can have such a
# maximum, a *hill*, as [lesson 04](../04_scores/README.md) shows.
#
# The lists have 4 to 8 numbers between $-4$ and $4$ in training, and 8, 16 and 32 in
# the test. In the table, *of 8* is the share of right choices in lists of 8, where the
# elements before are the right ones; the other columns are of longer lists.
# ([How to read a measurement](../../MEASURES.md) explains the words of the table and of
# the verdict.)

# %% [folded]
kept = record("pointing")
print(how_made(kept))
sorting = kept["sorting"]
columns = [(f"of {n}", ("at", n)) for n in ("8", "16", "32")]
print(fair.table(sorting, ["rate", *columns, "doubling"]))

# %% [figure]
LOOKS = {
    "additive": (BLUE, "-"), "additive, no mask": (BLUE, "--"),
    "dot": (GREEN, "-"), "dot, no mask": (ORANGE, "--"),
    "location": (GREEN, "-"), "monotonic": (ORANGE, "-"),
}  # fmt: skip
title = f"Who points at the next number? ({len(sorting['seeds'])} runs each)"
fig, ax = figure(title, size=(7.2, 3.2))
run_curves(ax, sorting, LOOKS | {"additive": LOOKS["dot"]})  # with the mask
last = sorting["budget"]
for y, arm, words in (
    (1.02, "dot", "additive and dot,\nwith the mask"),
    (0.88, "additive", "additive, no mask"),
    (0.25, "dot, no mask", "dot, no mask:\ntwo of eight"),
):
    ax.text(1.02 * last, y, words, color=LOOKS[arm][0], fontsize=8, va="center")
ax.set(xlabel="training step, before the rate falls", ylabel="right, of 8 numbers")
ax.set(ylim=(0, 1.09), xlim=(0, 1.3 * last), xticks=range(0, last + 1, 1000))
means = "; ".join(
    f"{arm} {fair.of_arm(sorting, arm).value:.2f}" for arm in sorting["arms"]
)
alt = f"""Share of right next elements among 8 against steps, a line for each run. In
the test, after the rate has fallen, means: {means}. Runs with the mask have solved the
task after half of the steps, and end there."""
show(fig, "sorting", alt)

# %%
free = "additive, no mask", "dot, no mask"
print(fair.judge(sorting, ("no mask: additive ahead of dot", above(0), *free)))
masked = [run for run in sorting["runs"] + sorting["choices"]
          if "no mask" not in run["arm"]]  # fmt: skip
at_32 = 100 * min(run["at"]["32"] for run in masked)
print("of 32, mean of the three runs that chose, by rate")
print(fair.at_every_rate(sorting, ("at", "32")))

# %% [markdown]
# In this task, at this size, the mask is enough: with it both scores are right in at
# least {{ f"{at_32:.4g}" }} % of the choices in lists four times as long as those of the
# training, in every run and at each rate. The $\tanh$ of the additive score helps where
# the model has to find an element *between* others; in longer lists, where numbers are
# nearer to each other, it finds fewer. *Dot, no mask* is right in two of $n$ steps, the
# most that a straight line allows.
#
# ## Write, or copy?
#
# A pointer can name Zoltan, but it cannot write *is praised by*, which the source does
# not contain. The [pointer-generator](../../GLOSSARY.md#pointer-generator) (See, Liu
# and Manning [2017](https://arxiv.org/abs/1704.04368)) can do both, with a probability
# for each.
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
# | $\lambda$ | the probability to write, called the gate; $r$ is a linear function of context, state and input |
#
# A word that the vocabulary lacks has no logit, so its first term is 0. In each
# sentence such words get the numbers after those of the vocabulary. A word that occurs
# twice has two weights, and they add up.
#
# What is the probability of Zoltan now, and do all probabilities sum to 1?

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
# **What does it learn from a right word?** Let $y$ be this word. It was written, or it
# was copied from one of its places. The shares of these cases in $P(y)$ are their
# probabilities *after* $y$ has been seen, the *posteriors*:
#
# ```math
# \pi = \frac{\lambda\, \mathrm{softmax}(z)_y}{P(y)}, \qquad
# \rho_j = \frac{(1 - \lambda)\, a_j}{P(y)} \ \text{ if } x_j = y, \text{ and 0 if not}
# ```
#
# They sum to 1. Anna can be written and copied. Which logits and scores does a step
# raise, and in which direction does the gate move?

# %%
y = 0  # Anna
loss = copy_loss(z, a, r, source, np.array(y))
loss.backward()
print("dL/dz", z.grad.round(3), " Anna, praises, unknown")
print("dL/de", e.grad.round(3), " Zoltan, praises, Anna")
print(f"dL/dr {r.grad:.3f}")

# %% [markdown]
# A step against the gradient raises Anna's logit and the score of her place. And it
# raises $r$, because here $\pi > \lambda$: the right word makes it more probable that
# the model writes. Exercise E.20 derives the three gradients, in $\pi$ and $`\rho_j`$.
#
# Does a trained model copy the names that it does not know? A source of a small
# language has two clauses. Each has a name, a verb, a name and an adverb, which may
# stand anywhere in its clause. *Anna praises Bo often* has to become *Bo is praised by
# Anna often*, with verbs and adverbs translated into words of another language.
# Training has 30 names. The vocabulary has 15 of them (*frequent*) and lacks the other
# 15 (*rare*); the test also has 15 *new* names.
#
# A model that can only write has no output for a rare or a new name. So it is right in
# none of these sentences, and needs no training to show it. The arm *copy* is the
# pointer-generator. The arm *copy, all known* has all 30 names in its vocabulary, so
# that in training it can write every word, and never *has* to copy one. We expected
# this model to write its names, and to fail with new ones. A sentence is right if all
# its words are. The model reads its own words, not the right ones. The second table has
# the mean of $\lambda$, the probability to write.

# %% [folded]
names = kept["names"]
print("right sentences")
columns = [(group, ("at", group)) for group in ("frequent", "rare", "new")]
print(fair.table(names, ["rate", *columns, "doubling"]))
print("copy, all known, new, every seed")
print("   ", " ".join(f"{y:.2f}" for y in fair.figures(names, "copy, all known")))
print("\nprobability to write         at names   at other words")
for arm in names["arms"]:
    for group in "frequent", "new":
        means = fair.figures(names, arm, ("gates", group)).mean(0)
        print(f"{arm:16s} {group:9s} {means[0]:12.3f} {means[1]:12.3f}")

# %%
claim = "copy ahead of writing alone, new names", above(0), "copy", 0.0
print(fair.judge(names, claim))

# %% [markdown]
# With copying {{ f"{fair.of_arm(names, 'copy').value:.1%}" }} of the sentences with new
# names are right. (For the arm *copy* a rare name and a new one are the same input, the
# unknown word at some place, so these two columns are equal.) Both models copy nearly
# all names, also those that they could write: writing has to be learned for each name,
# copying only once. (At the other words $\lambda$ is below 1, because one of these
# nine, the sign of the end, is in every source and can be copied.)
#
# So our expectation was half wrong: the model that never had to copy copies as well.
# But with new names its share of right sentences lies between
# {{ f"{fair.figures(names, 'copy, all known').min():.0%}" }} and
# {{ f"{fair.figures(names, 'copy, all known').max():.0%}" }}, depending on the seed. In
# the training of this arm no word is unknown. So the vector of the unknown word stays
# as the seed drew it. We did not measure whether this is the cause. If a model will
# meet unknown names, let some be unknown in its training.
#
# ## What would break it?
#
# - A pointer that feeds the *number* of the chosen place back to the decoder: training
#   has never used the numbers of a longer list. Feed back the element.
# - Copying by assignment, `P[x_j] = a_j`: of a word that occurs twice, one weight is
#   lost.
# - Logits that are mixed instead of probabilities. Then $\lambda$ is no probability,
#   and a word without a logit has none to mix.
# - A target that is neither in the vocabulary nor in the source: $P = 0$, and the loss
#   is infinite. `copy_loss` refuses it.
#
# **To take away: attention's weights are a distribution over places, so they can be an
# answer themselves, of any length and with words that no vocabulary has.**
#
# Exercises: E.20 (the two posteriors of a pointer-generator): `python -m lessons start
# E.20`. Other tasks and arms: `python -m lessons experiment 16`.
#
# ## Further: copying letters that repeat
#
# Copy *a b a a*. After the first *a*, attention has to go on to *b*; at the end, from
# one *a* to the next. Let each key depend on its letter alone. Which weights does a
# score of query and key give to the three places of *a*?

# %%
key = {"a": [1.0, 0.0], "b": [0.0, 1.0]}
k = np.array([key[x] for x in "abaa"])  # (S = 4, D = 2)
layer = attention.AdditiveAttention(2, 2, 16, rng=rng)
layer(np.array([key["a"]]), k, k)
print(layer.attention_weights.data.round(3))

# %% [markdown]
# Three equal keys get three equal weights, with any parameters: a function of the
# content returns the same for the same content. So let the score also depend on where
# attention *was*. Let $a^{t-1}$ be the weights of the last step and $c^t$ the sum of
# the weights of all steps before $t$. [Location-sensitive
# attention](../../GLOSSARY.md#location-sensitive-attention) reads them around each key,
# through small filters $F$ of width $2M + 1$: the last weights alone in the paper
# (Chorowski and others [2015](https://arxiv.org/abs/1506.07503)), and both, as here,
# since Tacotron 2 (Shen and others [2018](https://arxiv.org/abs/1712.05884)). Their
# outputs at key $j$ are $f^t_j$, and the matrix $U$ takes them into the score:
#
# ```math
# f^t_j = \sum_{m=-M}^{M} \left(F_{1m}\, a^{t-1}_{j+m} + F_{2m}\, c^t_{j+m}\right),
# \qquad e^t_j = w_v \cdot \tanh(W_q q_t + W_k k_j + U f^t_j)
# ```
#
# With $F = 0$ this is additive attention; with one filter, of width 1 and on $c$ alone,
# it is the coverage of [lesson 08](../08_local_coverage/README.md). And one filter can
# move attention to the right neighbour of the last key: with $`F_{1,-1} = 1`$ and 0
# elsewhere, $f_j$ is the last weight of key $j - 1$. Let us set this filter by hand,
# and set $W_q$ and $W_k$ to 0, so that the content has no effect. Attention begins at
# the first key. Where is it in the next three steps?

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

# %% [markdown]
# Attention moves on by one key in each step, although three of the keys are equal. The
# cost: step $t$ needs the weights of step $t - 1$, so the steps cannot be computed at
# once.
#
# A second task is to copy strings of 4 to 12 letters. There are three different
# letters, so most strings have equal neighbours. The test has strings of 12, 24 and 48.
# Encoder and decoder are GRUs of 32 units. A state of the encoder depends on its letter
# and on the letters before, so additive attention can distinguish equal letters. But
# what it has learned of places must serve beyond 12 letters. The table has the share of
# right letters by the length of the string, each after the right letters before it.
# (*Monotonic* is explained in the next section. All rates solve 12 letters, so the
# claim holds only if it holds at each of them.)

# %%
copying = kept["copying"]
columns = [(n, ("at", n)) for n in ("12", "24", "48")]
print(fair.table(copying, ["rate", *columns, "doubling"]))
print("48 letters, mean of the three runs that chose, by rate")
print(fair.at_every_rate(copying))
claim = "location ahead of additive, 48", above(0), "location", "additive"
print(fair.judge(copying, claim, beyond=True))

# %% [figure]
title = f"Where is attention in 48 letters? ({len(copying['seeds'])} runs each)"
fig, axes = figure(title, columns=2, size=(7.2, 3.2))
letter = np.arange(1, 49)
for arm in copying["arms"]:
    colour, style = LOOKS[arm]
    for run in (run for run in copying["runs"] if run["arm"] == arm):
        axes[0].plot(letter, run["off"], style, color=colour, lw=1)
        right = np.reshape(run["right"], (-1, 4)).mean(1)
        axes[1].plot(letter[3::4], right, style, color=colour, lw=1)
for y, arm in ((1.03, "location"), (0.91, "monotonic"), (0.42, "additive")):
    axes[1].text(49.5, y, arm, color=LOOKS[arm][0], fontsize=8, va="center")
for ax in axes:
    ax.axvline(12, color=GREY, ls=":", lw=1)
    ax.set(xlabel="letter of the output")
axes[0].text(13, 0.96 * axes[0].get_ylim()[1], "longest in training", fontsize=8)
axes[0].set(ylabel="places beside it", title="distance of the largest weight")
axes[1].set(ylabel="share of right letters", ylim=(0, 1.08), title="right letters")
axes[1].set(xlim=(0, 64), xticks=range(0, 49, 12))
off = "; ".join(
    f"{arm} {fair.figures(copying, arm, ('off', -1)).mean():.1f}"
    for arm in copying["arms"]
)
alt = f"""Left: how many places the largest weight is away from the letter to copy,
against the letter; at the last letter, means: {off}. Right: the share of right letters.
A line for each run; monotonic attention reads hard."""
show(fig, "copying", alt)

# %% [markdown]
# In this task, at this size, there is hardly a difference up to the length of the
# training. In a longer string, the largest weight of additive attention is often at a
# wrong place: in each step it has to find the place anew, from the states alone.
# Location-sensitive attention goes on from the place of the last step.
#
# ## Further: read on, and never go back
#
# In some tasks the order of the source is that of the output, so attention never has to
# go back. [Monotonic attention](../../GLOSSARY.md#monotonic-attention) (Raffel and
# others [2017](https://arxiv.org/abs/1704.00784)) makes this a rule: step $t$ begins at
# the key where step $t - 1$ stopped, passes over the keys from left to right, and at
# each key $j$ that it arrives at, it stops with the probability $`p_{tj}`$, the sigmoid
# of the score $`e_{tj}`$.
#
# ```math
# p_{tj} = \sigma(e_{tj}), \qquad
# b_{tj} = (1 - p_{t,j-1})\, b_{t,j-1} + a_{t-1,j}, \qquad
# a_{tj} = p_{tj}\, b_{tj}
# ```
#
# Here $`b_{tj}`$ is the probability that step $t$ arrives at key $j$, and $`a_{tj}`$
# that it stops there. Training uses the $`a_{tj}`$ as weights. In use, *hard*, a step
# stops at the first key with $p > 1/2$, and the next step begins there. So all $L$
# steps together need fewer than $S + L$ scores, not $L \cdot S$, and the source may
# still be arriving. Take three keys, and two steps with the same probabilities. Does
# the second step stop farther on?

# %%
p = np.array([[0.1, 0.8, 0.5]] * 2)  # (L = 2, S = 3)
a = attention.monotonic_weights(mg.Tensor(p)).data
print(a.round(3), " sums", a.sum(1).round(3))
print("hard", attention.hard_stops(mg.Tensor(p)).data.tolist())

# %% [markdown]
# A row does not sum to 1: with the probability {{ f"{1 - a[0].sum():.2f}" }} in the
# first step and {{ f"{1 - a[1].sum():.2f}" }} in the second, attention stops nowhere.
# And the second step, read hard, stops where the first did: the rule alone does not
# move attention on. If two neighbours are equal keys, and the query is the same, a step
# that begins at the first of them stops there again. Only another query can make it
# pass. *MoChA* (Chiu and Raffel [2018](https://arxiv.org/abs/1712.05382)) adds a
# softmax over the last few keys at each stop, so that a step can average.
#
# In the copies above, monotonic attention reads hard. It makes a few mistakes where
# neighbours are equal, because it can move on to an equal key only with another query.
#
# ## Further: what each costs
#
# | | weights at once for all queries | in use, for one output from $S$ places | new parameters |
# |---|---|---|---|
# | pointer | yes, if all states are computed before | scores of $S$ places, no average | none |
# | pointer-generator | yes, if all states are computed before | the vocabulary and $S$ places | the linear map of $r$ |
# | location | no | scores of $S$ places, and filters | $F$ and $U$ |
# | monotonic | no; all pairs with the same $i + j$ at once | the places it passes, fewer than $S + L$ for all $L$ outputs | a bias of the scores |

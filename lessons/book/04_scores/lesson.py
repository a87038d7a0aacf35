"""04  Dot, general, concat  ●●○○  35 min  importance ★★★  needs 03

Which keys can each score prefer, and what does it cost?
"""

# %% [markdown]
# A translator has read "the black cat sleeps" and needs a noun next. In lesson 03 a
# small network gave each English word a score. Could one multiplication do the same?
#
# Often it can. This lesson puts four scores side by side: what each computes, what it
# can say that the others cannot, and what it costs.
#
# **Why it matters:** the score decides what a model can look for, and how fast it is.
# Transformers use the scaled dot product; learned matrices make its queries and keys.

# %% [folded]
from functools import partial
from importlib import import_module

import numpy as np

import minigrad as mg
from attention import additive, concat, dot, general, nadaraya_watson, scaled_dot
from lessons.classroom.records import how_made, record
from lessons.classroom.theory import Chain
from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, figure, show

costs = import_module("lessons.book.04_scores.experiment")
rng = np.random.default_rng(0)

# %% [markdown]
# ## When is a multiplication enough?
#
# [Attention](../../GLOSSARY.md#attention) compares a [query](../../GLOSSARY.md#query)
# with every [key](../../GLOSSARY.md#key). The query $s$ is the state of the decoder and
# describes what is needed. A key $h$ is the state of the encoder at one word and
# describes that word. The comparison gives one number, the
# [score](../../GLOSSARY.md#score) $e$ of the key, and the
# [softmax](../../GLOSSARY.md#softmax) turns the scores of all keys into weights.
#
# Here are the four states of lesson 03 again. The first number says "noun", the second
# "adjective", the third "verb". Suppose that the query uses the same order:

# %%
words = ("the", "black", "cat", "sleeps")
H = np.array(
    [[0.1, 0.2, 0.0], [0.1, 0.9, 0.0], [0.9, 0.1, 0.1], [0.1, 0.0, 0.9]]
)  # (S = 4, 3), one row for each word
need_a_noun = np.array([2.0, 0.0, 0.0])  # (noun, adjective, verb)
print("scores", H @ need_a_noun)

# %% [markdown]
# The [dot product](../../GLOSSARY.md#dot-product)
# $s^\top h = s_1 h_1 + \dots + s_d h_d$ multiplies the numbers that stand at the same
# place and adds up the products. It is large where both vectors are large at the same
# places. So "cat" wins, and nothing had to be learned for the score itself.
#
# But the decoder is a network of its own. Nothing forces it to say "noun" with its
# first number. Suppose that its order is verb, noun, adjective:

# %%
need_a_noun = np.array([0.0, 2.0, 0.0])  # (verb, noun, adjective): the decoder's order
W_g = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])  # row: decoder, column: encoder
for name, e in (("dot", H @ need_a_noun), ("with W_g", H @ W_g.T @ need_a_noun)):
    print(f"{name:9s} scores {e}   the best word: {words[e.argmax()]}")

# %% [markdown]
# The dot product now compares "noun" with "adjective" and prefers "black". The matrix
# $W_g$ translates: its entry in row $i$ and column $k$ says how much the query's number
# $i$ has to do with the key's number $k$. Training finds the entries. This score has
# the name *general*. Without such a matrix, training has to teach the encoder and the
# decoder one common order.
#
# The *width* of a vector is the number of its entries: $d_s$ for $s$, $d_h$ for $h$,
# and $d$ where both are equal. The four scores, in the order of the table below:
#
# ```math
# s^\top h, \qquad \frac{s^\top h}{\sqrt{d}}, \qquad s^\top W_g\, h, \qquad
# v_a^\top \tanh(W_a [s; h])
# ```
#
# | score | who | what is new |
# |---|---|---|
# | dot | Luong, Pham and Manning (2015) | no parameters; $s$ and $h$ have one width $d$ |
# | scaled dot | Vaswani and others (2017) | divided by $\sqrt d$: [lesson 05](../05_scaling/README.md) says why |
# | general | Luong and others | a learned matrix $W_g$, $d_s \times d_h$: the widths may differ |
# | concat | Luong and others | a learned matrix $W_a$, $A \times (d_s + d_h)$, and a learned vector $v_a$ |
#
# $A$ is a width that you choose. $[s; h]$ is one long vector: the numbers of $s$, then
# those of $h$. In the product $W_a [s; h]$ the first $d_s$ columns of $W_a$ are
# multiplied with $s$ alone, and the others with $h$ alone. So
# $W_a [s; h] = W_s s + W_h h$, and concat *is* the additive score of lesson 03 in
# another notation.
#
# ![The four scores as columns: what each does with a query s and a key h.](figures/four-scores.svg)
#
# *Four columns, one for each score, with query s and key h at the bottom and the score
# e on top. Dot: one dot product. Scaled dot: the same, then times 1 over root d.
# General: the key passes a learned matrix first. Additive: query and key pass a learned
# matrix each, are added, pass a tanh, and meet a learned vector v.*
#
# ## What can each score say?
#
# Fix a query $s$ of two numbers, and let the key $h$ move over the plane. Each key has
# a score, and we draw it as a colour. For general we take a matrix that turns a vector
# by 90 degrees. For additive we choose the parameters by hand, so that the score is a
# sum of two terms. The two numbers of the key are $h_1$ and $h_2$. The term of $h_k$ is
#
# ```math
# 2 \tanh(2 h_k - s_k) - 2 \tanh(2 h_k - 3 s_k)
# ```
#
# The first tanh is steepest at $h_k = s_k/2$, and the second at $h_k = 3 s_k / 2$. For
# a positive $s_k$ the difference is large between the two, and largest in the middle,
# at $h_k = s_k$. Before you look at the figure: where is the highest score of each? In
# the code the additive parameters have the names that the library gives them: `W_q`,
# `W_k` and `w_v` are the $W_s$, $W_h$ and $v$ of lesson 03:

# %%
s = np.array([1.2, 0.8])
axis = np.linspace(-3, 3, 25)
plane = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)  # (625, 2)
turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
W_q = -np.array([[1.0, 0], [3, 0], [0, 1], [0, 3]])  # (4, 2): -s_1, -3 s_1, -s_2, ...
W_k = np.array([[2.0, 0], [2, 0], [0, 2], [0, 2]])  # (4, 2): 2 h_1, 2 h_1, 2 h_2, ...
w_v = np.array([2.0, -2, 2, -2])
rules = {  # keys h (S, 2) -> scores (1, S)
    "dot": lambda h: dot(s[None], h),
    "general": lambda h: general(s[None], h, turn),
    "additive": lambda h: additive(s[None], h, W_q, W_k, w_v),
}

# %% [figure]
fig, axes = figure("Which keys does a query prefer?", columns=3, sharey=True)
for ax, (name, score) in zip(axes, rules.items()):
    e = score(plane).data.reshape(25, 25)
    filled = ax.contourf(axis, axis, e, levels=np.linspace(-6.5, 6.5, 14), cmap="PuOr")
    ax.annotate("", s, (0, 0), arrowprops={"arrowstyle": "->", "color": "black"})
    ax.text(0.75, -0.2, "s", color="black", fontsize=10)
    ax.set(title=name, xlabel="first number of h", aspect="equal")
    ax.grid(False)
axes[0].set_ylabel("second number of h")
fig.colorbar(filled, ax=axes, label="score e", ticks=[-6, -3, 0, 3, 6], shrink=0.8)
alt = """Maps of the score over a plane of keys, the query an arrow named s, with one
scale of colours for all three. Dot: straight bands across the arrow. General: straight
bands in another direction. Additive: a hill at the tip of the arrow, where two ridges
cross, one parallel to each axis."""
show(fig, "planes", alt)

# %% [markdown]
# Dot and general are *linear* in $h$: the sum of two keys gets the sum of their scores,
# and $a$ times a key gets $a$ times its score. Their bands are straight, and the score
# rises for ever in one direction. The matrix of general turns this direction; with
# $W_g = I$, the identity matrix, general is the dot product (exercise 6.2). The
# additive score has its highest point at the tip of the arrow: for *this* query, the
# best key is a key like $s$. (Not for every query: if query and key change all their
# signs, each tanh does, too, and so does the score. So with the query $-s$ the tip of
# its arrow is the *lowest* point.)
#
# Take three keys in a row, the middle one halfway between the others. It is the sum of
# a half of the left key and a half of the right one, so a linear score gives it half of
# the left score plus half of the right one: the mean. The middle key is then never the
# best of the three. Is the additive score bound by that?

# %%
three = np.array([[-0.5, 1.0], [1.0, 0.75], [2.5, 0.5]])  # (3, 2)
for name, score in rules.items():
    left, middle, right = score(three).data[0]
    print(f"{name:9s} middle {middle:.3f}   mean of the ends {(left + right) / 2:.3f}")

# %% [markdown]
# It gives the middle key more than the mean, because the hill stands there. No matrix
# $W_g$ can do that (exercise 38.6).
#
# What does "similar" mean to a dot product? Here are two keys. The first points in the
# direction of the query; the second does not, but it is long. The
# [cosine](../../GLOSSARY.md#cosine) is the dot product divided by both lengths, so it
# compares directions alone:

# %%
for name, key in (("aligned, short", 0.5 * s), ("not aligned", np.array([3.0, -1]))):
    cosine = s @ key / np.linalg.norm(s) / np.linalg.norm(key)
    print(f"{name:15s} dot {s @ key:.3f}   cosine {cosine:.3f}")

# %% [markdown]
# The long key wins, although its direction is worse.
#
# > **The book says** (6.3.1, 38.2) that the dot product rewards similar directions. It
# > rewards length as well. Where all keys have one length, the order of the scores is
# > the order of the cosines.

# %% [claims]
from lessons.instrument.verdict import share
from lessons.pages.claims import YES, claim

aside = np.random.default_rng(1)
queries, rows = aside.normal(size=(2000, 8, 1)), aside.normal(size=(2000, 16, 8))
e = (rows @ queries)[..., 0]  # (n, 16); the length of the query changes no order
same = (e.argmax(1) == (e / np.linalg.norm(rows, axis=-1)).argmax(1)).sum()
claim("6.3.1", "the dot product rewards similar directions: of 16 random keys, the "
      "one of highest score has the highest cosine (always, 1)", YES,
      share(same, 2000, "draws", "drawn"))

# %% [markdown]
# Last, the two vectors may have different widths. Some encoders are two networks that
# read the sentence from either end; their states are joined, so the keys are twice as
# wide as the query. Then the dot product does not exist:

# %%
q = rng.normal(size=(1, 4))
try:
    dot(q, rng.normal(size=(5, 7)))
except ValueError as refusal:
    print(str(refusal).replace("; ", ";\n"))

# %% [markdown]
# The general score exists, with a matrix $W_g$ of $4 \times 7$ numbers.
#
# ## Project the key, or the query?
#
# The general score is a product of three. Write down the sizes of the factors:
#
# ```math
# e = s^\top\, W_g\, h, \qquad \text{sizes } (1 \times d_s)\,
#     (d_s \times d_h)\, (d_h \times 1)
# ```
#
# Matrices may be multiplied from either side, so $`(s^\top W_g)\, h`$ and
# $`s^\top (W_g\, h)`$ are one number. On the left the *query* is projected, to
# $`W_g^\top s`$ with $d_h$ numbers. On the right the *key* is projected, to
# $h' = W_g h$ with $d_s$ numbers, and the general score is a plain dot product,
# $s \cdot h'$. If the keys are the rows of a matrix $H$, the projected keys are the
# rows of $`H W_g^\top`$:

# %%
W_g, H = rng.normal(size=(4, 7)), rng.normal(size=(5, 7))  # (d_s, d_h), (S, d_h)
e = general(q, H, W_g).data[0]  # (5,)
print("keys projected ", np.allclose(H @ W_g.T @ q[0], e), (H @ W_g.T).shape)
print("query projected", np.allclose(H @ (W_g.T @ q[0]), e), (W_g.T @ q[0]).shape)

# %% [markdown]
# The exercises of this lesson ask for such derivations as a *chain*: a list of
# expressions that are equal, each with a reason. The check computes them all with
# random numbers. Here is one that shows what it means to be linear:

# %%
chain = (
    Chain(lambda s, h, u: s @ (h + 2 * u) - s @ h, "two scores")
    .then(lambda s, h, u: s @ h + s @ (2 * u) - s @ h, "a sum gives a sum of scores")
    .then(lambda s, h, u: 2 * (s @ u), "a number moves out; two scores cancel")
)
numbers = rng.normal(size=(3, 4))  # s, h and u, of 4 numbers each
for expression, reason in chain.links:
    print(f"{expression(*numbers):.4f}  {reason}")

# %% [markdown]
# Which way is cheaper? $W_g h$ takes $d_s d_h$ multiplications. A decoder meets the
# same $S$ keys at every step. To project them once, before the first step, takes
# $S d_s d_h$. Then the dot product of each query and each key takes $d_s$ more. With
# $L$ queries this is $S d_s d_h + L S d_s$. If each pair projects its key again, it is
# $L S (d_s d_h + d_s)$. For several sentences, add up.
#
# ## What does each score cost?
#
# Here is one step of a decoder: one query and $S$ keys. We count multiplications; there
# are about as many additions. "Once" is what can be done before the first step:
#
# | score | once | in each step | tanhs |
# |---|---|---|---|
# | dot | | $S d$ | |
# | general, query projected | | $d_s d_h + S d_h$ | |
# | additive, keys projected once | $S A d_h$ | $A d_s + S A$ | $S A$ |
# | additive, keys projected each step | | $A d_s + S A d_h + S A$ | $S A$ |
#
# In the additive rows $W_s s$ takes $A d_s$ multiplications for a query, each $W_h h$
# takes $A d_h$, and the product with $v$ takes $A$ for each key. Concat, computed as
# its formula is written, multiplies $W_a$ with $[s; h]$ for every pair, and so
# projects the query again for each key. Take 50 words in and 50 words out, and one
# width $d$ for all. What happens to the cost of a step if the width doubles? (The
# functions of `costs` return the multiplications of a whole sentence, by this table.)

# %%
ways = {name: partial(costs.of_scores, name) for name in ("dot", "general")}
ways |= {"additive, keys once": partial(costs.of_scores, "additive")}
ways |= {"additive, keys each step": costs.steps, "additive, every pair": costs.pairs}
lines = {}  # of a step: those of a sentence, divided by its 50 steps
for way, formula in ways.items():
    a, b = lines[way] = [formula(50, 50, d) / 50 for d in (64, 128)]
    print(f"{way:24s} d = 64: {a:>7,.0f}   d = 128: {b:>9,.0f}   times {b / a:.2f}")

# %% [markdown]
# The dot product grows with $d$, the additive score with $d^2$ where the keys are
# projected again and again. Projected once, additive at $d = 64$ takes
# {{ f"{lines['additive, keys once'][0] / lines['dot'][0]:.1f}" }} times as many
# multiplications as dot; for every pair,
# {{ f"{lines['additive, every pair'][0] / lines['dot'][0]:.0f}" }} times.
#
# Memory differs as well. Every score makes $S$ numbers for a query. The additive score
# also makes $A$ numbers $W_s s$, $S A$ numbers $W_h h$ and $S A$ tanhs, and a
# training program keeps the tanhs until the backward, which multiplies by
# $1 - \tanh^2$.
#
# A count is not a time. In exercise 6.6 you measure whole passes. Its experiment also
# measures the scores alone, at $d = 128$ with keys that are projected again at each
# call:

# %% [folded]
clock = record("ex_6_6")["result"]
d = clock["d"]
print("millionths of a second, for S keys")
for name, seconds in clock["seconds"].items():
    times = "   ".join(f"{S}: {1e6 * x:.0f}" for S, x in zip(clock["T"], seconds))
    print(f"{name:8s} {times}")
work = np.array([1000 * (d * d + d) + d * d, 1000 * d])  # multiplications, S = 1000
taken = np.array([seconds[-1] for seconds in clock["seconds"].values()])

# %% [markdown]
# At a thousand keys additive takes {{ f"{taken[0] / taken[1]:.0f}" }} times as long,
# and does {{ f"{work[0] / work[1]:.0f}" }} times as many multiplications.
#
# ## What would break it?
#
# - Keys that were projected before the parameters moved. Projected keys belong to one
#   batch; after a step of training they are wrong.
# - Keys of very different lengths. The dot product follows length, so one long key can
#   win for many queries.
# - A dot product of states whose widths differ. Use general.
# - Many dimensions. Dot products then become large by themselves, and
#   [lesson 05](../05_scaling/README.md) says what that does.
#
# **To take away: a dot product compares a query with a key; a learned matrix between
# them translates first; of these four scores only the additive one can prefer a key to
# all keys around it, and it pays a tanh for each number of each key.**
#
# Exercises: 6.2 (the matrix inside general), 38.1 (project the keys once), 38.6 (what
# only additive can do), 6.3 (count what a score costs) and 6.6 (measure it):
# `python -m lessons start 6.2`.
#
# ## Further: how Luong's decoder uses the context
#
# In lesson 03 the [context](../../GLOSSARY.md#context) $c$ was an *input* of the next
# GRU step. Luong, Pham and Manning (2015) do it the other way round. Their decoder
# steps first. Its *new* state $s$ is the query. Afterwards context and state are joined
# in the [attentional state](../../GLOSSARY.md#attentional-state) $\tilde s$:
#
# ```math
# \tilde s = \tanh(W_c [c; s]), \qquad P(y) = \mathrm{softmax}(W_o \tilde s)
# ```
#
# Here $W_c$ is a learned matrix of $d_s \times (d_h + d_s)$ numbers. $P(y)$ is the
# probability of each word $y$ of the vocabulary, and the learned matrix $W_o$ gives
# each word a number, its [logit](../../GLOSSARY.md#logit). The tanh is needed: without
# it $W_o W_c$ would be one matrix, and a second layer would add nothing. (Notes on
# attention mechanisms, one of the four texts, call it a linear layer.)
#
# The GRU never sees this context, so the next state would not know what was read.
# Therefore $\tilde s$ is given to the next step as a further input. This is
# [input feeding](../../GLOSSARY.md#input-feeding). In the code the state is a pair, and
# its second half is the $\tilde s$ of the step before, `attentional`; its `h` is our
# $s$. Read the line that calls the cell, the one that computes the context, and the one
# with the tanh; the rest takes care of options:

# %% [source] attention.variants.steps.LuongStep.forward

# %% [markdown]
# What is the gradient? Let $g$ be the gradient that arrives at $\tilde s$. Before
# the tanh it is $\delta = g \odot (1 - \tilde s^2)$. Then
# $`dW_c = \delta\, [c; s]^\top`$, and the vector $W_c^\top \delta$ belongs to $[c; s]$:
# its first part is the gradient of $c$, the rest that of $s$. The gradients of general
# follow from $`E = Q W_g H^\top`$, with the queries in the rows of $Q$ and the scores
# in $E$. For a gradient $G$ of the scores, the rule for a matrix product (lesson 00),
# applied twice, gives $`dW_g = Q^\top G H`$, $`dQ = G H W_g^\top`$ and
# $`dH = G^\top Q W_g`$:

# %%
Q, G = rng.normal(size=(3, 4)), rng.normal(size=(3, 5))  # (L, d_s), (L, S)
leaves = [mg.Tensor(x, requires_grad=True) for x in (Q, H, W_g)]
(general(*leaves) * G).sum().backward()
by_hand = G @ H @ W_g.T, G.T @ Q @ W_g, Q.T @ G @ H
print([np.allclose(leaf.grad, mine) for leaf, mine in zip(leaves, by_hand)])

# %% [markdown]
# ## Further: what if the score is a distance?
#
# With a dot product a long key can win against all other keys, although it fits the
# query worse. There is an old score without this weakness: the distance between query
# and key. This is a method of statistics, the *kernel regression* of Nadaraya (1964)
# and Watson (1964):
#
# ```math
# f(q) = \sum_j \frac{K(u_j)}{\sum_l K(u_l)}\; v_j, \qquad
# u_j = \frac{\|q - k_j\|}{b}
# ```
#
# | letter | meaning |
# |---|---|
# | $q$ | a place at which we want a value: the query |
# | $k_j$, $v_j$ | places at which values were measured, and these values: keys and values |
# | $b$ | the *bandwidth*, the unit of distance: with a larger one, values further away count more |
# | $K$ | a function that falls with the distance, called a [kernel](../../GLOSSARY.md#kernel) |
# | $f(q)$ | the estimate, a weighted average: the context |
#
# It is attention. The score is $\ln K(u_j)$, because the softmax makes $K / \sum K$ of
# it. Nothing is learned. Take forty noisy values of a curve, and four kernels. The
# *gaussian* is $e^{-u^2/2}$. The others are 0 where $u > 1$; up to there, *boxcar* is
# 1, *triangular* $1 - u$ and *epanechnikov* $1 - u^2$. The error in the output is the
# root of the mean squared distance from the curve:

# %%
side = np.random.default_rng(4)  # a generator of its own
places = np.sort(side.uniform(0, 5, size=(40, 1)), 0)  # (S, 1), the keys
noisy = 2 * np.sin(places) + places + side.normal(0, 0.5, (40, 1))  # the values
at = np.linspace(0, 5, 101)[:, None]  # (L, 1), the queries
true, estimates = 2 * np.sin(at) + at, {}
for kernel in ("gaussian", "boxcar", "triangular", "epanechnikov"):
    found, weights = nadaraya_watson(at, places, noisy, kernel, bandwidth=0.5)
    estimates[kernel] = found.data
    off = np.sqrt(np.mean((estimates[kernel] - true) ** 2))
    used = (weights.data[50] > 0).sum()  # of the query in the middle
    print(f"{kernel:12s} error {off:.2f}   keys with a weight: {used} of 40")

# %% [figure]
fig, axes = figure("What do four kernels make of forty values?", columns=2)
u = np.linspace(0, 2.5, 101)
shapes = {"gaussian": np.exp(-(u**2) / 2), "boxcar": (u <= 1) * 1.0}
shapes |= {"triangular": np.maximum(1 - u, 0), "epanechnikov": np.maximum(1 - u**2, 0)}
styles = zip((BLUE, ORANGE, GREEN, PURPLE), ("-", "--", ":", "-."))
ends = (1.8, 0.24), (1.06, 0.93), (0.06, 0.18), (1.06, 0.04)  # of the names
for (kernel, K), (colour, dash), place in zip(shapes.items(), styles, ends):
    axes[0].plot(u, K, dash, color=colour)
    axes[0].text(*place, kernel, color=colour)
    axes[1].plot(at, estimates[kernel], dash, color=colour)
axes[0].set(xlabel="distance u, in bandwidths", ylabel="kernel K(u)")
axes[1].plot(places, noisy, ".", color=GREY, ms=4)
axes[1].plot(at, true, color=GREY, lw=1)
axes[1].annotate("the curve behind the values", (1.05, 2.8), (1.4, 1.0), color=GREY,
                 arrowprops={"arrowstyle": "-", "color": GREY})  # fmt: skip
axes[1].set(xlabel="place q", ylabel="value")
alt = """Left, four kernels against the distance: gaussian falls smoothly, boxcar is 1
up to 1 and then 0, triangular falls on a line to 0, epanechnikov on a parabola. Right,
forty noisy values around a curve, and four estimates that follow it where there are
values; that of boxcar has steps."""
show(fig, "kernels", alt)

# %% [markdown]
# All four follow the curve where there are values; at the left end there are none, and
# all four are wrong. The Gaussian gives every value a weight, the others ignore what is
# further away than $b$. So a kernel that is 0 beyond a distance is a score and a
# [mask](../../GLOSSARY.md#mask) at the same time. A learned score differs in one point:
# it learns what "near" means. [Lesson 09](../09_self_attention/README.md) compares the
# Gaussian score with the dot product.
#
# ## Further: the example and the claims of chapter 38
#
# Section 38.1 of a textbook computes one query and one key of four numbers. The
# parameters are random numbers; we give those that the textbook's program has drawn:

# %%
s, h = np.array([1.0, -0.5, 0.3, 0.8]), np.array([0.6, 0.2, -0.4, 1.0])  # (4,) each
W_g = np.array([
    [-0.15324, 0.30848, -0.10595, 0.0369], [-0.05447, -0.44917, 0.04263, -0.15728],
    [-0.07462, -0.15757, 0.86766, -0.17841], [0.39355, 0.10565, -0.39454, -0.0024],
])  # fmt: skip
W_a = np.array([
    [0.0744, 0.4718, -0.4918, -0.4778, -0.0464, -0.3289, 0.41, 0.2068],
    [-0.1181, 0.1851, 0.2259, 0.1807, 0.6053, -0.3506, -0.3973, 0.338],
    [-0.0677, 0.1565, -0.6179, 0.0415, 0.1489, -0.1816, -0.2402, 0.0476],
    [0.2138, -0.2231, 0.084, 0.112, 0.8985, -0.0771, -0.2051, 0.3186],
])  # fmt: skip
v_a = np.array([-0.2907, -0.6406, -0.3129, -0.5122])

# %%
book = {"dot": 1.18, "scaled": 0.59, "general": 0.3471, "additive": -0.6569}
q, k = s[None], h[None]  # one query, one key: (1, 4) each
found = dot(q, k), scaled_dot(q, k), general(q, k, W_g), concat(q, k, W_a, v_a)
for (name, printed), e in zip(book.items(), found):
    print(f"{name:9s} e = {e.item():+.4f}   printed {printed:+.4f}")
print("singular values of W_g:", np.linalg.svd(W_g)[1].round(3))

# %% [markdown]
# > **The book says** (38.1, exercise 38.1) that these are the scores, which is right.
# > It also says that general is a dot product after a *rotation*, with the projected
# > key $`W_g^\top h`$. A rotation keeps all lengths: the factors by which it stretches,
# > its [singular values](../../GLOSSARY.md#singular-value), are all 1. Those of the
# > book's own matrix are not. And the key becomes $W_g h$; the other product does not
# > even exist if the widths differ. Additive is not the only score that need not grow
# > with $s^\top h$: with the matrix $-I$ general falls.

# %% [claims]
for (name, said), e in zip(book.items(), found):
    claim("38.1", f"the {name} score is {said:g}", f"{said:g}", e.item())
same = np.allclose(found[3].data, additive(q, k, W_a[:, :4], W_a[:, 4:], v_a).data)
claim("notes", "concat is the additive score", YES, same, "the matrix, cut in two")
keys = rng.normal(size=(5, 4))
same = np.allclose(general(q, keys, np.eye(4)).data, dot(q, keys).data)
claim("6.3.2", "with the identity as its matrix, general is dot", YES, same,
      "the same scores")
claim("38.1", "general is a dot product after a rotation (smallest singular value of "
      "its matrix: 1.00)", "1.00", np.linalg.svd(W_g)[1][-1])
once, twice = (general(q, x * q, -np.eye(4)).item() for x in (1, 2))
claim("38.1", "of all scores only additive need not grow with the dot product", YES,
      twice > once, "with the matrix $-I$ general falls")
wide, H = rng.normal(size=(4, 7)), rng.normal(size=(5, 7))  # (d_s, d_h), (S, d_h)
claim("ex. 38.1", "the projected key is $`W_g^\\top h`$", YES,
      wide.T.shape[1] == H.shape[1], "it is $W_g h$, for widths 4 and 7")
claim("38.6", "only additive can compare vectors of two widths", YES,
      general(q, H, wide).shape != (1, 5), "general does, too")

# %% [markdown]
# ## Further: counted, held and timed
#
# The function `count` trusts no formula: it runs a definition on special arrays, which
# count every multiplication. Here are the scores of 6 keys of width 4, beside what a
# textbook prints (section 38.6). Its scaled score multiplies the scores, ours the
# query, which is shorter:

# %%
from attention import definitions
from attention.costs.counted import count

S, d = 6, 4
x, y = np.ones((1, d)), np.ones((S, d))
runs = {"dot": [], "scaled_dot": [], "general": [W_g], "concat": [W_a, v_a]}
printed = S * d, S * d + S, d * d + S * d, S * (2 * d * d + d)
for (name, matrices), said in zip(runs.items(), printed):
    _, ops = count(getattr(definitions, name), x, y, *matrices)
    print(f"{name:10s} counted {ops.multiplications}   printed {said}")

# %% [markdown]
# How much memory? In a forward pass we count the numbers that are held at the same
# time, beside inputs and parameters, where their sum is largest; in training, the
# numbers that are kept for the backward. One query, 50 keys, width 64:

# %%
from attention.costs.trials import measured
from minigrad import draw

q, H, W = (
    mg.Tensor(np.ones(n), requires_grad=True) for n in ((1, 64), (50, 64), (64, 64))
)
held, stored = {}, {}
for name, e in (("dot", dot(q, H)), ("general", general(q, H, W))):
    held[name] = measured(name, L=1, S=50, E=64) // 4  # float32
    stored[name] = draw.saved_bytes(mg.softmax(e) @ H).total // 8  # float64
    print(f"{name:8s} held {held[name]}   kept for the backward {stored[name]}")

# %% [markdown]
# General keeps the projected query as well, for the gradient of the keys.
#
# How long does it take? A second program measures three passes, and takes the shortest
# of {{ record("scores")["calls"] }} calls: the `scores` alone; the `whole` pass, with
# the softmax and the context; and the `prepared` pass of a decoder that projected its
# keys before the first step. In the row `in place`, additive writes its sums and tanhs
# into one array that all calls share; in the row above, each call makes new arrays. The
# output has the lowest and the highest factor of three seeds:

# %% [folded]
kept = record("scores")
print(how_made(kept))
print("times as long as dot, at 10, 100 and 1000 keys:")
factors = {}  # (3 seeds, 3 lengths) each
for part in ("scores", "whole", "prepared"):
    for name in ("general", "additive", "in place")[: 3 if part == "prepared" else 2]:
        runs = [np.divide(r[part][name], r[part]["dot"]) for r in kept["runs"]]
        factors[part, name] = runs = np.array(runs)
        ends = zip(kept["T"], runs.min(0), runs.max(0))
        row = "   ".join(f"{S}: {a:.1f} to {b:.1f}" for S, a, b in ends)
        print(f"{part:8s} {name:8s}  {row}")
rates = work[0] / work[1] / factors["scores", "additive"][:, -1]  # of dot's a second

# %% [markdown]
# For the scores of a thousand keys these factors are smaller than in exercise 6.6,
# where one function is called a hundred times in a row; here all take turns. So take a
# factor as known only within a factor of two. With prepared keys, additive has hardly
# more multiplications than dot: what it takes longer is spent on tanhs and on the new
# arrays.
#
# Last, the parameters of whole models that reverse strings
# ([lesson 07](../07_reversal/README.md)), at width 64 as a textbook prints them (38.6),
# and at width 96:

# %%
from attention.seq2seq.reverser import Reverser

printed = {"additive": 63773, "dot": 55517, "general": 59613}
for name, total in printed.items():
    sizes = [Reverser(name, hidden=width).num_parameters() for width in (64, 96)]
    print(f"{name:9s} 64: {sizes[0]:,} (printed {total:,})   96: {sizes[1]:,}")

# %% [markdown]
# > **The book says** (38.2, 38.6, 6.3.4, exercise 6.3) much about costs. Dot and
# > additive are not both proportional to the number of keys times $d$: every way of
# > additive has a term with $d^2$. Its table counts multiplications, not FLOPs, which
# > are about twice as many. Additive needs no "separate operations for each source
# > position": one expression computes all of them. In a forward pass dot holds no less
# > than general; for the backward it does. Dot is "dramatically faster", but
# > not by "throughput": for the scores of a thousand keys additive had
# > {{ f"{min(rates):.1f} to {max(rates):.1f}" }} times the multiplications a second of
# > dot. And the models that the book ran have width 96, not 64.

# %% [claims]
from lessons.instrument.verdict import above
from lessons.pages.claims import timed

claim("38.6", "the table of costs counts floating-point operations (of the dot "
      "product, d = 64, over the printed d)", "1.00", (64 + 63) / 64)
for way, words in (
    ("dot", "dot"), ("additive, every pair", "additive, keys projected for every pair"),
    ("additive, keys once", "additive, keys projected once"),
):
    claim("6.3.4", f"{words}: cost proportional to T d (factor when d doubles: 2.00)",
          "2.00", lines[way][1] / lines[way][0])
x = np.ones((50, 64))
_, ops = count(definitions.additive, x, x, np.eye(64), np.eye(64), np.ones(64))
rows = ops.exponentials // 64
claim("38.2", "50 by 50 words are 2500 evaluations of a network (rows of tanhs)",
      "2500", rows, f"{rows:,}, which share 100 products with a matrix")
a, b, w = rng.normal(size=64), rng.normal(size=(50, 64)), rng.normal(size=64)
same = np.allclose(np.tanh(a + b) @ w, [w @ np.tanh(a + r) for r in b])
claim("6.3.4", "additive needs separate operations for each source position", YES,
      not same, "one expression for all gives the same")
claim("38.6", "dot needs less memory than general (in a forward pass: numbers held "
      "for one query and 50 keys, general minus dot, above 1)", above(1),
      held["general"] - held["dot"])
claim("38.6", "dot needs less memory than general (in training: the same, kept for "
      "the backward)", above(1), stored["general"] - stored["dot"])
whole = factors["whole", "additive"]
claim("6.3.4", "dot is faster than additive in a whole pass (times as long, 10 keys: "
      "above 1)", above(1), timed(whole[:, 0]))
claim("38.2", "dot is dramatically faster than additive in a whole pass (times as "
      "long, 1000 keys: above 10)", above(10), timed(whole[:, -1]))
claim("6.3.4", "the reason is throughput (multiplications a second of dot, over those "
      "of additive, scores of 1000 keys: above 1)", above(1), timed(1 / rates))
for name, total in printed.items():
    size = Reverser(name, hidden=64).num_parameters()
    claim("38.6", f"{name} has {total} parameters", str(total), size)
claim("38.6", "the models that were run have width 64 (parameters of dot in the code; "
      "55517 at width 64)", "55517", Reverser("dot", hidden=96).num_parameters())

"""04  Dot, general, concat  ●●○○  60 min  needs 03

Which keys can each score prefer, and what does it cost?
"""

# %% [markdown]
# A translator has read "the black cat sleeps" and needs a noun next. In lesson 03 a
# small network gave each English word a score. Could one multiplication do the same?
#
# Often it can. This lesson puts four scores side by side: what each computes, what it
# can say that the others cannot, and what it costs. One section shows a second way in
# which a decoder can use its context.

# %%
from functools import partial
from importlib import import_module

import numpy as np

import minigrad as mg
from attention import (
    additive, concat, definitions, dot, general, nadaraya_watson, scaled_dot,
)  # fmt: skip
from attention.costs import cost_of
from attention.costs.counted import count
from attention.plotting.palette import looks
from attention.seq2seq.reverser import Reverser
from lessons.classroom.records import how_made, record
from lessons.pages.figures import GREY, figure, show
from minigrad import draw

costs = import_module("lessons.book.04_scores.experiment")
rng = np.random.default_rng(0)

# %% [markdown]
# ## When is a multiplication enough?
#
# [Attention](../../GLOSSARY.md#attention) compares a [query](../../GLOSSARY.md#query)
# with every [key](../../GLOSSARY.md#key). The query $s$ is the state of the decoder and
# describes what is needed. The key $h_j$ is the state of the encoder at word $j$ and
# describes that word. The comparison gives one number, the
# [score](../../GLOSSARY.md#score) $e_j$, and the [softmax](../../GLOSSARY.md#softmax)
# turns the scores into weights.
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
# $i$ has to do with the key's number $k$. (The keys are the rows of $H$, so the product
# with all keys at once is $`H W_g^\top s`$.) Training finds the entries. This score has
# the name *general*. It is also called *bilinear*: it is linear in $s$ if $h$ does not
# change, and linear in $h$ if $s$ does not change. Without such a matrix, training has
# to teach the encoder and the decoder one common order.
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
# ![four scores](figures/four-scores.svg)
#
# *Four columns, one for each score, with query s and key h at the bottom and the score
# e on top. Dot: one dot product. Scaled dot: the same, then times 1 over root d.
# General: the key passes a learned matrix first. Additive: query and key pass a learned
# matrix each, are added, pass a tanh, and meet a learned vector v.*
#
# Dot and scaled dot learn nothing. The general score learns a matrix, the additive
# score two matrices and a vector. Concat has the two in one matrix, $W_a$, and its code
# cuts this matrix in two. In the library $q$ and $k$ stand for our $s$ and $h$, so
# `W_q`, `W_k` and `w_v` are $W_s$, $W_h$ and $v$, and a score is `s_ij`. In the shapes
# of the code, `L` is the number of queries and `S` the number of keys, which the text
# of some sections below calls $T$:

# %% [source] attention.scores.concat

# %% [markdown]
# ## What do the four scores say of one pair?
#
# Here is an example for the pencil: one query and one key of four numbers. Chapter 38
# of a textbook has it, in section 38.1. (The boxes of this page quote three texts: this
# chapter, chapter 6 of another textbook, and notes. The
# [index](../../README.md#the-book) lists them.) The parameters are random numbers; we
# give those that the textbook's program has drawn:

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

# %% [markdown]
# The first score is $(1)(0.6) + (-0.5)(0.2) + (0.3)(-0.4) + (0.8)(1)$. The second is
# half of it, because $\sqrt 4 = 2$. For the other two you need intermediate results.
# The last line of the output has them: the vector $s^\top W_g$, whose dot product with
# $h$ is the third score, and the four tanhs, whose dot product with $v_a$ is the
# fourth. Compute, then compare with the library's functions and with the numbers that
# the textbook prints:

# %%
book = {"dot": 1.18, "scaled": 0.59, "general": 0.3471, "additive": -0.6569}
q, k = s[None], h[None]  # one query, one key: (1, 4) each
found = dot(q, k), scaled_dot(q, k), general(q, k, W_g), concat(q, k, W_a, v_a)
for (name, printed), e in zip(book.items(), found):
    print(f"{name:9s} e = {e.item():+.4f}   printed {printed:+.4f}")
print("s W_g", (s @ W_g).round(3), end="  ")
print("tanh W_a[s;h]", np.tanh(W_a @ np.concatenate([s, h])).round(3))

# %% [claims]
from lessons.instrument.verdict import above, share
from lessons.pages.claims import YES, claim, timed

for (name, said), e in zip(book.items(), found):
    claim("38.1", f"the {name} score is {said:g}", f"{said:g}", e.item())
same = np.allclose(found[3].data, additive(q, k, W_a[:, :4], W_a[:, 4:], v_a).data)
claim("notes", "concat is the additive score", YES, same, "the matrix, cut in two")

# %% [markdown]
# All four agree.
#
# ## What can each score say?
#
# Fix a query $s$ of two numbers, and let the key $h$ move over the plane. Each key has
# a score, and we draw it as a colour. For general we take a matrix that turns a vector
# by 90 degrees. For additive we choose the parameters by hand, so that the score is a
# sum of two terms. The two numbers of the key are $h_1$ and $h_2$. The term of $h_k$ is
# the difference of two tanhs:
#
# ```math
# \tanh(2 h_k - s_k) - \tanh(2 h_k - 3 s_k)
# ```
#
# The first tanh is steepest at $h_k = s_k/2$, and the second at $h_k = 3 s_k / 2$. For
# a positive $s_k$ the difference is large between the two, and largest in the middle,
# at $h_k = s_k$. Before you look at the figure: where is the highest score of each?

# %%
s2 = np.array([1.2, 0.8])
axis = np.linspace(-3, 3, 25)
plane = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)  # (625, 2)
turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
W_q = -np.array([[1.0, 0], [3, 0], [0, 1], [0, 3]])  # (4, 2): -s_1, -3 s_1, -s_2, ...
W_k = np.array([[2.0, 0], [2, 0], [0, 2], [0, 2]])  # (4, 2): 2 h_1, 2 h_1, 2 h_2, ...
w_v = np.array([1.0, -1, 1, -1])
rules = {  # key by key: h (S, 2) -> scores (1, S)
    "dot": lambda h: dot(s2[None], h),
    "general": lambda h: general(s2[None], h, turn),
    "additive": lambda h: additive(s2[None], h, W_q, W_k, w_v),
}

# %% [figure]
fig, axes = figure("Which keys does a query prefer?", columns=3, sharey=True)
for ax, (name, score) in zip(axes, rules.items()):
    e = score(plane).data.reshape(25, 25)
    bands = np.linspace(-1, 1, 11) * np.abs(e).max()
    filled = ax.contourf(axis, axis, e, levels=bands, cmap="RdBu_r")
    ax.annotate("", s2, (0, 0), arrowprops={"arrowstyle": "->", "color": "black"})
    ax.text(0.75, -0.2, "s", color="black", fontsize=10)
    ax.set(title=name, xlabel="first number of h", aspect="equal")
    ax.grid(False)
    fig.colorbar(
        filled,
        ax=ax,
        orientation="horizontal",
        label="score e",
        ticks=bands[::5],
        format="%.1f",
    )
axes[0].set_ylabel("second number of h")
alt = """Maps of the score over a plane of keys, the query an arrow named s, with a
colour bar under each. Dot: straight bands across the arrow. General: straight bands in
another direction. Additive: a hill at the tip of the arrow, where two ridges cross, one
parallel to each axis."""
show(fig, "planes", alt)

# %% [markdown]
# Dot and general are *linear* in $h$: the sum of two keys gets the sum of their scores.
# Their bands are straight, and the score rises for ever in one direction. The matrix
# that we chose for general turns this direction. The additive score has its highest
# point at the tip of the arrow: for *this* query, the best key is a key like $s$.
# (Along the two ridges one of the numbers of $h$ fits, and the other does not.)
#
# Is it so for every query? Take two queries with negative numbers, and the same
# parameters. Where in the square from $-3$ to $3$ is the highest score, and where the
# lowest?

# %%
fine = np.round(np.linspace(-3, 3, 61), 1)  # steps of a tenth
square = np.stack(np.meshgrid(fine, fine), -1).reshape(-1, 2)  # (3721, 2)
for query in (s2, s2 * [-1, 1], -s2):
    e = additive(query[None], square, W_q, W_k, w_v).data[0]
    best, worst = (square[k].tolist() for k in (e.argmax(), e.argmin()))
    print(f"s {query.tolist()}: best key {best}, worst key {worst}")

# %% [markdown]
# For these queries a key like $s$ is not the best one. If all signs of query and key
# change, each tanh changes its sign, and so does the score: $e(-s, -h) = -e(s, h)$. A
# hill at $s$ then becomes a valley at $-s$. This is true of every additive score
# without a bias, so none of them has its highest point at $h = s$ for all queries.
#
# Two keys show what "similar" means to a dot product. The first points in the direction
# of the query; the second does not, but it is long. The
# [cosine](../../GLOSSARY.md#cosine) is the dot product divided by both lengths, so it
# compares directions alone:

# %%
for name, key in (("aligned, short", 0.5 * s2), ("not aligned", np.array([3.0, -1]))):
    cosine = s2 @ key / np.linalg.norm(s2) / np.linalg.norm(key)
    print(f"{name:15s} dot {s2 @ key:.3f}   cosine {cosine:.3f}")

# %% [markdown]
# The long key wins, although its direction is worse.
#
# > **The book says** (6.3.1, 38.2) that the dot product rewards similar directions. It
# > rewards length as well. Where all keys have one length, the order of the scores is
# > the order of the cosines.

# %% [claims]
aside = np.random.default_rng(1)
queries, rows = aside.normal(size=(2000, 8, 1)), aside.normal(size=(2000, 16, 8))
e = (rows @ queries)[..., 0]  # (n, 16); the length of the query changes no order
same = (e.argmax(1) == (e / np.linalg.norm(rows, axis=-1)).argmax(1)).sum()
claim("6.3.1", "the dot product rewards similar directions: of 16 random keys, the "
      "one of highest score has the highest cosine (always, 1)", YES,
      share(same, 2000, "draws", "drawn"))

# %% [markdown]
# What can a matrix do? First, does it turn the key, or more than that? A *rotation*
# keeps all lengths. The factors by which a matrix stretches, its
# [singular values](../../GLOSSARY.md#singular-value), are all 1 for a rotation. Those
# of the textbook's $W_g$:

# %%
print("singular values of W_g:", np.linalg.svd(W_g)[1].round(3))

# %% [markdown]
# It stretches and shrinks. Second, can the matrix change which key is best? Rank five
# random keys from best to worst, once with the identity matrix $I$, once with $-I$:

# %%
keys = rng.normal(size=(5, 4))
for name, W in (("I", np.eye(4)), ("-I", -np.eye(4))):
    print(f"{name:2s} best key first:", np.argsort(-general(q, keys, W).data[0]))

# %% [markdown]
# With $W = I$ general is the dot product (exercise 6.2). With $W = -I$ it reverses the
# order of all keys. Third, what happens if the keys have 7 numbers and the query 4?

# %%
try:
    dot(rng.normal(size=(1, 4)), rng.normal(size=(5, 7)))
except ValueError as refusal:
    print(str(refusal).replace("; ", ";\n"))

# %% [markdown]
# The dot product does not exist. The general score exists, if its matrix is
# $4 \times 7$.
#
# > **The book says** (38.1) that general is a dot product after a *rotation*. It is a
# > dot product after an arbitrary linear map: the book's own $W_g$ has the singular
# > values above.

# %% [claims]
same = np.allclose(general(q, keys, np.eye(4)).data, dot(q, keys).data)
claim("6.3.2", "with the identity as its matrix, general is dot", YES, same,
      "the same scores")
claim("38.1", "general is a dot product after a rotation (smallest singular value of "
      "its matrix: 1.00)", "1.00", np.linalg.svd(W_g)[1][-1])

# %% [markdown]
# What, then, can the additive score do and the other three not? Take three keys in a
# row, the middle one halfway between the others. A linear score must give it the mean
# of the outer scores:

# %%
three = np.array([[-0.5, 1.0], [1.0, 0.75], [2.5, 0.5]])  # (3, 2)
for name, score in rules.items():
    left, middle, right = score(three).data[0]
    print(f"{name:9s} middle {middle:.3f}   mean of the ends {(left + right) / 2:.3f}")

# %% [markdown]
# The additive score gives the middle key more than the mean, because the hill stands
# there. Exercise 38.6 proves that no matrix $W_g$ can do that.
#
# > **The book says** (38.1) that additive is the only score that need not grow with
# > $s^\top h$. General need not grow either: with $W = -I$ it falls. What sets additive
# > apart is that it is not linear in $h$.

# %% [claims]
once, twice = (general(q, x * q, -np.eye(4)).item() for x in (1, 2))
claim("38.1", "of all scores only additive need not grow with the dot product", YES,
      twice > once, "with the matrix $-I$ general falls")

# %% [markdown]
# ## What if the score is a distance?
#
# With a dot product a long key can win against all other keys, although it fits the
# query worse. There is an old score without this weakness: the distance between query
# and key. The nearer the key, the larger its weight. This is a method of statistics,
# the *kernel regression* of Nadaraya (1964) and Watson (1964):
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
# | $u_j$ | the distance, in bandwidths |
# | $K$ | a function that falls with the distance, called a [kernel](../../GLOSSARY.md#kernel) |
# | $f(q)$ | the estimate, a weighted average: the context |
#
# It is attention. The score is $\ln K(u_j)$, because the softmax makes $K / \sum K$ of
# it. Nothing is learned. Take forty noisy values of a curve, and four kernels. The
# *gaussian* is $e^{-u^2/2}$. The others are 0 where $u > 1$; up to there, *boxcar* is
# 1, *triangular* $1 - u$ and *epanechnikov* $1 - u^2$. (Some texts multiply a kernel by
# a constant. It cancels in the quotient.) The error in the output is the root of the
# mean squared distance from the curve:

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
for (kernel, K), look in zip(shapes.items(), looks(shapes).values()):
    line = {**look, "marker": None, "label": kernel}
    axes[0].plot(u, K, **line)
    axes[1].plot(at, estimates[kernel], **{**line, "label": None})
axes[0].set(xlabel="distance u, in bandwidths", ylabel="kernel K(u)")
axes[0].legend()
axes[1].plot(places, noisy, ".", color=GREY, ms=4, label="measured values")
axes[1].plot(at, true, color=GREY, lw=1, label="the curve behind them")
axes[1].set(xlabel="place", ylabel="value")
axes[1].legend()
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
# ## Project the key, or the query?
#
# $s^\top W_g h$ is a product of three, and you may begin on either side. Project the
# key, and it is the dot product $s^\top (W_g h)$. Project the query, and it is
# $`(W_g^\top s)^\top h`$. Different widths, $d_s = 4$ and $d_h = 7$, show which matrix
# stands where:

# %%
W, K = rng.normal(size=(4, 7)), rng.normal(size=(5, 7))  # W (d_s, d_h), K (S, d_h)
e = general(q, K, W).data[0]  # (5,)
print("s.(W h_j):", np.allclose((K @ W.T) @ s, e), "  (W^T s).h_j:", end=" ")
print(np.allclose(K @ (W.T @ s), e), "  shapes of W^T h:", W.T.shape, K[0].shape)

# %% [markdown]
# Both ways agree. For one query and one key, each of the two ways takes $d_s d_h$
# multiplications with the matrix, and then a dot product. But a decoder meets the same
# keys at every step. Projected once, they serve all steps (exercise 38.1).
#
# > **The book says** (exercise 38.1) that the projected key is $`W_g^\top h`$. That
# > product does not exist here: a $7 \times 4$ matrix cannot be multiplied with 7
# > numbers. With square matrices the product exists, and is wrong. The key becomes
# > $W_g h$.

# %% [claims]
claim("ex. 38.1", "the projected key is $`W_g^\\top h`$", YES,
      W.T.shape[1] == K.shape[1], "it is $W_g h$, for widths 4 and 7")
claim("38.6", "only additive can compare vectors of two widths", YES, e.shape != (5,),
      "general does, too")

# %% [markdown]
# The gradients are those of products (lesson 00). Collect the queries in the rows of
# $Q$ and the keys in those of $K$. Then all scores are $`E = Q W K^\top`$, two products
# of matrices. With $`\partial L / \partial e_{ij}`$ in $G$, the rule for a product,
# applied twice, gives $`dW = Q^\top G K`$, $`dQ = G K W^\top`$ and $`dK = G^\top Q W`$.
# A check, with three queries (the [leaves](../../GLOSSARY.md#leaf) are the values that
# were not computed from others):

# %%
Q, G = rng.normal(size=(3, 4)), rng.normal(size=(3, 5))  # (L, d_s), (L, S)
leaves = [mg.Tensor(x, requires_grad=True) for x in (Q, K, W)]
(general(*leaves) * G).sum().backward()
by_hand = G @ K @ W.T, G.T @ Q @ W, Q.T @ G @ K
print([np.allclose(leaf.grad, mine) for leaf, mine in zip(leaves, by_hand)])

# %% [markdown]
# ## How does the decoder use the context?
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
# | letter | shape | meaning |
# |---|---|---|
# | $s$ | $d_s$ | the decoder's new state, the query |
# | $c$ | $d_h$ | the context that this query received |
# | $W_c$ | $d_s \times (d_h + d_s)$ | learned; it mixes the two |
# | $\tilde s$ | $d_s$ | what the decoder knows when it chooses a word |
# | $P(y)$ | words | the probability of each word $y$ of the vocabulary |
# | $W_o$ | words $\times$ $d_s$ | learned; it gives each word of the vocabulary a number, its [logit](../../GLOSSARY.md#logit) |
#
# The tanh is needed. Without it $W_o W_c$ would be one matrix, and a second layer would
# add nothing.
#
# > **The book says** (notes on attention mechanisms) that this is a linear layer. It
# > is a layer with a tanh, for the reason above.
#
# The GRU never sees this context, so the next state would not know what was read.
# Therefore $\tilde s$ is given to the next step as a further input. This is
# [input feeding](../../GLOSSARY.md#input-feeding). In the code the state is a pair, and
# its second half is the $\tilde s$ of the step before, `attentional`; its `h` is our
# $s$. Read the line that calls the cell, the one that computes the context, and the one
# with the tanh (`b_c`, a bias, is None by default); the rest takes care of options:

# %% [source] attention.variants.steps.LuongStep.forward

# %% [markdown]
# What is the gradient? Let $g = \partial L / \partial \tilde s$. Before the tanh it is
# $d = g \odot (1 - \tilde s^2)$. Then $`dW_c = d\, [c; s]^\top`$, and the vector
# $W_c^\top d$ belongs to $[c; s]$. The first part of it is the gradient of $c$, the
# rest that of $s$: the backward of joining is cutting.

# %%
c, state, W_c, g = (rng.normal(size=size) for size in (3, 5, (5, 8), 5))
leaves = [mg.Tensor(x, requires_grad=True) for x in (c, state, W_c)]
tilde = mg.tanh(leaves[2] @ mg.concat(leaves[:2], 0))  # (5,)
(tilde * g).sum().backward()
d = g * (1 - tilde.data**2)
right = (*np.split(W_c.T @ d, [3]), np.outer(d, np.concatenate([c, state])))
print([np.allclose(leaf.grad, mine) for leaf, mine in zip(leaves, right)])

# %% [markdown]
# ## What does each score cost?
#
# Count multiplications; there are about as many additions. One query is compared with
# $T$ keys, and all widths are $d$. A dot product takes $d$ multiplications a key.
# General projects the query once, which takes $d^2$. Concat, computed as its formula is
# written, multiplies with a matrix of $d \times 2d$ numbers for *every* key, and then
# with $v_a$.
#
# The library has a formula for each (`cost_of`), which includes the weighted average,
# $T d$ multiplications. Its concat projects each key once; to follow the printed
# formula takes those of `costs.pairs`. The function `count` does not trust a formula:
# it runs the definition on special arrays, which count every multiplication. The counts
# in `printed` are those of a textbook (section 38.6):

# %%
T, d = 6, 4
few = [rng.normal(size=size) for size in ((1, d), (T, d), (T, d))]  # q, k, v
printed = {"dot": T * d, "scaled": T * d + T, "general": d * d + T * d}
printed["concat"] = T * (2 * d * d + d)
matrices = {"general": [W_g], "concat": [W_a, v_a]}


def concat_attention(q, k, v, *parameters):
    return definitions.attend(definitions.concat(q, k, *parameters), v)


for name, of_book in printed.items():
    whole, definition = cost_of(name, L=1, S=T, E=d).multiplications, name
    if name == "concat":
        whole, definition = costs.pairs(1, T, d) + T * d, concat_attention
    print(f"{name:8s} score {whole - T * d} (38.6: {of_book})", end="")
    print(f"   with the average {whole}", end=", ")
    _, ops = count(definition, *few, parameters=matrices.get(name, []))
    print("counted", ops.multiplications)

# %% [markdown]
# The formulas and the counts agree. One number differs from the textbook: our scaled
# score multiplies the query, which has $d$ numbers, and not the $T$ scores.
#
# > **The book says** (38.6) that these are FLOPs, floating-point operations. They are
# > multiplications alone. With the additions there are about twice as many.

# %% [claims]
claim("38.6", "the table of costs counts floating-point operations (of the dot "
      "product, d = 64, over the printed d)", "1.00", (64 + 63) / 64)

# %% [markdown]
# ### When are the keys projected?
#
# A decoder meets the same keys at every step. It can project the keys once for the
# whole sentence, or again at every step. Or it can follow the formula of concat, and
# project query and key again for every pair. Take 50 words in and 50 words out, and
# count the multiplications *per step*. Each way is computed at $d = 64$ and at
# $d = 128$. If the cost is proportional to $d^b$, doubling $d$ multiplies it by $2^b$;
# the last column is that $b$:

# %%
ds, lines = np.array([16, 32, 64, 128, 256, 512, 1024]), {}
ways = {name: partial(costs.of_scores, name) for name in ("dot", "general")}
ways |= {"additive, keys once": partial(costs.of_scores, "additive")}
ways |= {"additive, keys each step": costs.steps, "additive, every pair": costs.pairs}
for way, formula in ways.items():
    line = lines[way] = np.array([formula(50, 50, int(d)) for d in ds]) / 50
    print(f"{way:24s} d = 64: {line[2]:>9,.0f}   d = 128: {line[3]:>10,.0f}", end="")
    print(f"   d to the {np.log2(line[3] / line[2]):.2f}")

# %% [figure]
fig, ax = figure("What does one decoder step cost?", size=(7.2, 3.5))
for way, look in looks(lines).items():
    ax.loglog(ds, lines[way], label=way, base=2, **look)
ax.set(xlabel="width d", ylabel="multiplications a step")
ax.legend()
up = [lines[way][-1] / lines["dot"][-1] for way in ("general", "additive, keys once")]
alt = f"""Multiplications a decoder step for 50 keys against the width d, logarithmic.
Dot is a line of slope one. General, and additive with keys projected once, bend up, to
{up[0]:.0f} and {up[1]:.0f} times as many as dot at d = {ds[-1]}. With keys projected
again, slope two."""
show(fig, "cost", alt)

# %% [markdown]
# Projected once, the keys cost $A d_h T$ multiplications for the whole sentence. One
# fiftieth of that belongs to each of 50 steps. In addition, each step costs
# $A d_s + T A$. At $d = 64$ the additive score is then
# {{ f"{lines['additive, keys once'][2] / lines['dot'][2]:.1f}" }} times as expensive as
# the dot product. With query and key projected for every pair, it is
# {{ f"{lines['additive, every pair'][2] / lines['dot'][2]:.0f}" }} times as expensive.
#
# > **The book says** (6.3.4, exercise 6.3) that dot and additive are both
# > $\Theta(T d)$, that is, proportional to $T d$. Dot is. Additive is not, in any of
# > the three ways: each has a term with $d^2$ for the projections. If the keys are
# > projected once for $T$ steps, a step costs $2 d^2 + T d$ multiplications. If they
# > are projected at each step or for every pair, the term with $d^2$ has a factor $T$
# > too. The book also counts 2,500 evaluations of a network for 50 by 50 words (38.2).
# > With keys projected once there are 100 projections, and 2,500 rows of tanhs.

# %% [claims]
for way, words in (
    ("dot", "dot"), ("additive, every pair", "additive, keys projected for every pair"),
    ("additive, keys once", "additive, keys projected once"),
):
    claim("6.3.4", f"{words}: cost proportional to T d (factor when d doubles: 2.00)",
          "2.00", lines[way][3] / lines[way][2])
x = np.ones((50, 64))
_, ops = count(definitions.additive, x, x, np.eye(64), np.eye(64), np.ones(64))
rows = ops.exponentials // 64
claim("38.2", "50 by 50 words are 2500 evaluations of a network (rows of tanhs)",
      "2500", rows, f"{rows:,}, which share 100 products with a matrix")

# %% [markdown]
# ### How much memory?
#
# The additive score needs $T A$ tanhs for each query. Can they be computed in one
# expression, for all keys at once?

# %%
S, A = 50, 64
a, b, w = rng.normal(size=A), rng.normal(size=(S, A)), rng.normal(size=A)
print("at once:", np.allclose(np.tanh(a + b) @ w, [w @ np.tanh(a + r) for r in b]))

# %% [markdown]
# They can. NumPy then holds all of them in an array. (We count one array, with the
# tanhs in the place of the sums; `np.tanh(a + b)` holds the sums as well.) A compiled
# loop (`fused`) adds up each tanh as it comes, and holds none. How much is held beside
# inputs and parameters? We count the arrays that exist at the same time, at the moment
# when their sum is largest. The first line of each score has the bytes for 50 queries,
# four bytes for each number. The second counts numbers, for one query: first for one
# sentence ($B = 1$), $T = 50$ keys and $d = 64$, then with one of these sizes doubled:

# %%
shapes = [(1, S, A), (2, S, A), (1, 2 * S, A), (1, S, 2 * A)]  # B, T, d
for name, fused in (("dot", 1), ("general", 1), ("additive", 1), ("additive", 0)):
    tanhs = 0 if fused else 1  # a number for each pair of query and key, and unit
    size = cost_of(name, L=50, S=S, E=A).extra_bytes + tanhs * 4 * 50 * S * A
    print(f"{name:9s} {size:>7,} bytes for 50 queries{'' if fused else ', tanhs kept'}")
    held = [
        cost_of(name, L=1, B=B, S=T, E=d).extra_bytes // 4 + tanhs * B * T * d
        for B, T, d in shapes
    ]
    cells = zip(("as above", "2 B", "2 T", "2 d"), held)
    print("   ", *(f"{size}: {n:,}  " for size, n in cells))

# %% [markdown]
# Dot and general hold the same: $B T$ scores, as many weights, and the $B d$ numbers of
# the context. (General also makes a projected query, of {{ A }} numbers. When the
# weights are computed, it is no longer needed.)
#
# Additive holds most while it computes the scores: {{ f"{S * A:,}" }} numbers of the
# projected keys, {{ A }} of the projected query, and {{ S }} scores. Weights and
# context come later and are fewer. So the number of entries held nearly doubles when
# one of the three sizes doubles, even if no tanh is kept.
#
# > **The book says** (6.3.4) that additive needs "separate operations for each source
# > position". It does not: one expression computes all of them.

# %% [claims]
same = np.allclose(np.tanh(a + b) @ w, [w @ np.tanh(a + r) for r in b])
claim("6.3.4", "additive needs separate operations for each source position", YES,
      not same, "one expression for all gives the same")

# %% [markdown]
# That was one forward pass. In training, the backward needs some of these arrays again,
# so they are kept until then. How many numbers, for the same query?

# %%
q, K, W_a = (
    mg.Tensor(np.ones(shape), requires_grad=True) for shape in ((1, A), (S, A), (A, A))
)
for name, e in (("dot", dot(q, K)), ("general", general(q, K, W_a))):
    rows = draw.saved_bytes(mg.softmax(e) @ K).rows  # of each operation
    kept = [f"{row.op} {row.new // 8}" for row in rows if row.new]  # float64: 8 bytes
    print(f"{name:8s} keeps for the backward: {', '.join(kept)}")

# %% [markdown]
# Both keep the weights. General keeps the projected query as well: the gradient of the
# keys needs it. (Dot needs the query itself there, which is an input.)
#
# > **The book says** (38.6) that dot holds $O(BT)$ numbers, that is, at most a constant
# > times $B T$, and general $O(BT + Bd)$. In a forward pass both hold $O(BT + Bd)$. For
# > the backward the book is right: dot keeps $B T$ numbers, and general $B d$ more.

# %% [claims]
held = [cost_of(x, L=1, S=S, E=A).extra_bytes // 4 for x in ("general", "dot")]
stored = [draw.saved_bytes(mg.softmax(e) @ K).total // 8
          for e in (general(q, K, W_a), dot(q, K))]  # fmt: skip
claim("38.6", "dot needs less memory than general (in a forward pass: numbers held "
      "for one query and 50 keys, general minus dot, above 1)", above(1),
      held[0] - held[1])
claim("38.6", "dot needs less memory than general (in training: the same, kept for "
      "the backward)", above(1), stored[0] - stored[1])

# %% [markdown]
# ### How long does it take?
#
# A count is not a time. In exercise 6.6 you measure whole passes; its experiment also
# measures the scores alone, on one core of a processor, at $d = 128$, with the keys
# projected again at each call. Here are the times of the scores. Each is the least of
# ten medians, and each median is that of a hundred calls. `T ** b` says that the times
# grow about like $T^b$ from $T = 100$ on; $b$ is the slope of a line through the
# logarithms. One µs is a millionth of a second:

# %%
clock = record("ex_6_6")["result"]
d = clock["d"]
for name, seconds in clock["seconds"].items():
    times = " ".join(f"{T}: {1e6 * x:.1f}" for T, x in zip(clock["T"], seconds))
    print(f"{name:8s} T ** {clock['exponent'][name]:.2f}, µs at {times}")
work = np.array([1000 * (d * d + d) + d * d, 1000 * d])  # multiplications, T = 1000
taken = np.array([seconds[-1] for seconds in clock["seconds"].values()])
for name, rate in zip(clock["seconds"], work / taken / 1e9):
    print(f"{name:8s} {rate:.1f} billion multiplications a second at T = 1000")

# %% [markdown]
# At a thousand keys additive takes {{ f"{taken[0] / taken[1]:.0f}" }} times as long,
# and does {{ f"{work[0] / work[1]:.0f}" }} times as many multiplications. (Other
# programs on the machine can make a time longer, never shorter. So one time that is
# long beside its neighbours says little.)
#
# But no model computes scores alone. So a second program measures three passes, and
# takes the shortest of {{ record("scores")["calls"] }} calls:
#
# - `scores`: the scores alone, once more;
# - `whole`: the softmax and the context as well, which cost the same for every score;
# - `prepared`: the whole pass of a decoder that projected its keys before the first
#   step. The row `in place` is additive again. There the sums and the tanhs are written
#   into one array that all calls share; in the row above each call makes new arrays.
#
# How many times as long as dot does each take? The output has the lowest and the
# highest factor of three seeds. For the scores of a thousand keys these factors are
# smaller than the one measured in exercise 6.6, although the formula is the same. The
# times of additive nearly agree, those of dot do not. In the exercise, one function is
# called a hundred times in a row; here all take turns. Whether this is the cause was
# not measured. So take the factor as known only within a factor of two.

# %%
kept = record("scores")
print(how_made(kept))
print("times as long as dot, at T = 10, 100 and 1000 keys:")
factors = {}  # (3 seeds, 3 lengths) each
for part in ("scores", "whole", "prepared"):
    for name in ("general", "additive", "in place")[: 3 if part == "prepared" else 2]:
        runs = [np.divide(r[part][name], r[part]["dot"]) for r in kept["runs"]]
        factors[part, name] = runs = np.array(runs)
        ends = zip(kept["T"], runs.min(0), runs.max(0))
        row = "   ".join(f"{T}: {a:.1f} to {b:.1f}" for T, a, b in ends)
        print(f"{part:8s} {name:8s}  {row}")

# %%
rates = work[0] / work[1] / factors["scores", "additive"][:, -1]  # of dot's a second
prepared = factors["prepared", "additive"]
in_place = factors["prepared", "in place"][:, -1]
tanhs = [
    r["tanh"]["in place"][-1] / r["prepared"]["in place"][-1] for r in kept["runs"]
]
more = (1000 * d + d * d) / (1000 * d)  # multiplications of prepared scores, over dot's
print(f"prepared additive scores of 1000 keys: {more:.2f} times the multiplications")
print(f"of the pass in place, {min(tanhs):.0%} to {max(tanhs):.0%} are tanhs")

# %%
shares = []  # of the time that prepared additive takes more than dot, T = 1000
for r in kept["runs"]:
    names = "additive", "in place", "dot"
    slow, placed, fast = (r["prepared"][name][-1] for name in names)
    found = r["tanh"]["in place"][-1], slow - placed
    shares.append([x / (slow - fast) for x in found])
for name, share in zip(("tanhs", "new arrays"), np.mean(shares, 0)):
    print(f"of the additional time at 1000 keys, {share:.0%} are {name}")

# %% [markdown]
# For ten keys, the length of a short sentence, a prepared additive step takes about
# {{ f"{prepared[:, 0].mean():.1f}" }} times as long as dot. If the keys are prepared,
# the large factors need a thousand keys. General, with its keys prepared, *is* a dot
# product, and for few keys it takes as long. For a thousand keys it is faster to
# project the query at each step (`whole`) than to prepare the keys. Prepared keys are a
# second large array, which has to be read in addition to the states. That may be the
# reason; it was not measured alone.
#
# Why is additive slower than dot, if its keys are prepared? The multiplications are not
# the reason: for a thousand keys its scores take {{ f"{more:.2f}" }} times as many as
# those of dot. But its pass takes
# {{ f"{prepared[:, -1].min():.0f} to {prepared[:, -1].max():.0f}" }} times as long.
# Two reasons were measured. One is the $T A$ tanhs, about
# {{ f"{100 * np.mean(tanhs):.0f}" }} percent of the pass in place. The other is memory.
# Each call makes two arrays of $T A$ numbers, for the sums and for the tanhs. In place,
# without new arrays, additive takes
# {{ f"{in_place.min():.0f} to {in_place.max():.0f}" }} times as long as dot.
#
# > **The book says** (38.2, 6.3.4) that dot is "dramatically faster" than additive, and
# > that the reason is "throughput", the number of multiplications a second. Dot is
# > faster. But where the keys are projected at each call, the reason is the number of
# > operations: additive has about $d$ times as many multiplications. For the scores of
# > a thousand keys the throughput of additive was
# > {{ f"{min(rates):.1f} to {max(rates):.1f}" }} times that of dot in the three seeds,
# > and {{ f"{work[0] / work[1] / (taken[0] / taken[1]):.1f}" }} times in exercise 6.6.
# > With prepared keys, the tanhs and the new arrays make up
# > {{ f"{np.sum(shares, 1).min():.0%}" }} or more of the additional time.

# %% [claims]
whole = factors["whole", "additive"]
claim("6.3.4", "dot is faster than additive in a whole pass (times as long, 10 keys: "
      "above 1)", above(1), timed(whole[:, 0]))
claim("38.2", "dot is dramatically faster than additive in a whole pass (times as "
      "long, 1000 keys: above 10)", above(10), timed(whole[:, -1]))
claim("6.3.4", "the reason is throughput (multiplications a second of dot, over those "
      "of additive, scores of 1000 keys: above 1)", above(1), timed(1 / rates))

# %% [markdown]
# ### How many parameters?
#
# The last cost is what has to be learned. Here are whole models that reverse strings
# ([lesson 07](../07_reversal/README.md)), at width 64 and at width 96, beside the
# parameters that a textbook prints for width 64 (38.6):

# %%
printed = {"additive": (63773, 8256), "dot": (55517, 0), "general": (59613, 4096)}
printed["scaled"] = printed["dot"]
for name, (total, own) in printed.items():
    sizes = [Reverser(name, hidden=width).num_parameters() for width in (64, 96)]
    score = cost_of(name, L=1, E=64).parameters
    print(f"{name:9s} 64: {sizes[0]:,} (38.6: {total:,})   96: {sizes[1]:,}", end="")
    print(f"  the score {score:,} (38.6: {own:,})")

# %% [markdown]
# All agree at width 64. Most of a model's parameters are not those of its score, even
# of the additive one.
#
# > **The book says** (38.6) that its models have width 64, in the text and in the
# > table. The runs that it prints have width 96.

# %% [claims]
for name in ("additive", "dot", "general"):
    total = printed[name][0]
    size = Reverser(name, hidden=64).num_parameters()
    claim("38.6", f"{name} has {total} parameters", str(total), size)
claim("38.6", "the models that were run have width 64 (parameters of dot in the code; "
      "55517 at width 64)", "55517", Reverser("dot", hidden=96).num_parameters())

# %% [markdown]
# ## What would break it?
#
# - Keys that were projected before the parameters moved. Projected keys belong to one
#   batch; after a step of training they are wrong.
# - Keys of very different lengths. The dot product follows length, so one long key can
#   win for many queries.
# - A dot product of states whose widths differ. Some encoders are two GRUs, one from
#   each end of the sentence, whose states are joined; then the width of the keys is
#   doubled. Use general.
# - Many dimensions. Dot products then become large by themselves, and
#   [lesson 05](../05_scaling/README.md) says what that does.
#
# **To take away: a dot product compares a query with a key; a learned matrix between
# them translates first; of these four scores only the additive one can prefer one place
# to everything around it; and its time, divided by that of a dot product, grew with the
# number of keys, from 10 to 1000.**
#
# Exercises: 6.2 (the matrix inside general), 38.1 (project the keys once), 38.6 (what
# only additive can do), 6.3 (count what a score costs) and 6.6 (measure it):
# `python -m lessons start 6.2`.

"""Lesson 10: many heads, causal and cross-attention.  ●●●○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 10. Many heads, causal and cross
#
# "The cat chases the dog." The word "chases" needs two things from its sentence: *who*
# chases, and *who* is chased. In [lesson 09](../09_self_attention/README.md) a word
# received one average of all values. If that average takes half of "cat" and half of
# "dog", which of the two runs behind the other?
#
# The average cannot say. The remedy is to look twice: two attentions side by side, each
# with its own question. Each is called a [head](../../GLOSSARY.md#head). This lesson
# builds layers of many heads, forbids a word to look into the future, and lets a word
# look at another sentence. Then it builds the block that a Transformer repeats, and
# tests which of its parts are necessary.
#
# You need [lesson 06](../06_masks/README.md) and
# [lesson 09](../09_self_attention/README.md). An hour.

# %%
from importlib import import_module

import numpy as np

import minigrad as mg
from attention import KVCache, MultiHeadAttention, scaled_dot_product_attention
from attention.costs import cost_of
from lessons.pages import schematics
from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, figure, show
from lessons.classroom.records import how_made, record

twins = import_module("lessons.book.10_heads.twins")
rng = np.random.default_rng(10)

# %% [markdown]
# ## What can two heads do that one cannot?
#
# Give each word a random vector. One head looks at both nouns, with equal weights. Of
# two heads, the first looks at the noun before the verb, the second at the noun after
# it. Each of the two heads has a matrix $W_V$ of its own, of half the width. Now
# exchange cat and dog. Which output of "chases" changes?

# %%
words = ("the", "cat", "chases", "the", "dog")
two = np.full((2, 5), 0.02)  # weights of "chases", one row for each head
two[0, 1] = two[1, 4] = 0.92
one = two.mean(0, keepdims=True)  # (1, 5): half of each noun
the, cat, chases, dog = rng.normal(size=(4, 4))
sentences = {
    "the cat chases the dog": np.stack([the, cat, chases, the, dog]),  # (5, 4)
    "the dog chases the cat": np.stack([the, dog, chases, the, cat]),
}

# %%
W_V = rng.normal(size=(2, 4, 2))  # of two heads, 2 wide each
for name, x in sentences.items():
    a = one @ x @ np.concatenate(W_V, 1)  # (1, 4)
    b = np.concatenate([two[h] @ x @ W_V[h] for h in range(2)])  # (4,)
    print(f"{name}   one head {a[0].round(2)}")
    print(f"{'':22s}   two heads {b.round(2)}")

# %% [figure]
fig = schematics.heads_side_by_side(words, two, 2, ("who chases?", "who is chased?"))
alt = f"""Five words: the, cat, chases, the, dog. The query is chases. Arrows lead from
each word to head 1, "who chases?", and to head 2, "who is chased?". The arrow from cat
to head 1 and that from dog to head 2 are thick, with weight {two[0, 1]:.2f}; the others
are thin. The outputs of the two heads stand side by side and pass through a matrix W_O.
The result is the new vector of chases."""
show(fig, "heads", alt)

# %% [markdown]
# One head gives the same output for both sentences. Two heads give different ones. (One
# head with uneven weights could tell the sentences apart, but its output would be a
# mixture of both nouns. The outputs of two heads keep both.) The matrix $W_O$ in the
# picture mixes the two outputs; it is learned, and is $W^O$ in the formula below.
#
# ## Is one product of matrices the same as a loop over the words?
#
# Before we build many heads, we look at one head again. In [lesson
# 03](../03_additive/README.md) a decoder had one query at a time. The formula of lesson
# 09, $`\mathrm{softmax}(Q K^\top / \sqrt{d_k})\, V`$, has all queries in one product of
# matrices. Does this product give the same outputs as one query at a time? Take two
# queries and two keys by hand:
#
# ```math
# Q = \begin{pmatrix} 1 & 0 & 0 & 0 \\ 0 & 0 & 2 & 0 \end{pmatrix}, \qquad
# K = \begin{pmatrix} 2 & 0 & 0 & 0 \\ 0 & 0 & 2 & 0 \end{pmatrix}, \qquad
# V = \begin{pmatrix} 1 & 0 \\ 0 & 1 \end{pmatrix}
# ```
#
# $Q K^\top$ has 2 and 4 on its diagonal. With $d_k = 4$ the scores are divided by 2.
# And $V$ is the identity, so the output is the weights $P$:
#
# ```math
# Q K^\top / 2 = \begin{pmatrix} 1 & 0 \\ 0 & 2 \end{pmatrix}
# \quad\Longrightarrow\quad
# P = \begin{pmatrix} e/(e+1) & 1/(e+1) \\ 1/(1+e^2) & e^2/(1+e^2) \end{pmatrix}
# ```

# %%
Q = np.array([[1.0, 0, 0, 0], [0, 0, 2, 0]])
K, V = np.array([[2.0, 0, 0, 0], [0, 0, 2, 0]]), np.array([[1.0, 0], [0, 1]])
o = scaled_dot_product_attention(Q, K, V).data
by_hand = np.exp([[1, 0], [0, 2]]) / (1 + np.exp([[1], [2]]))
print(o.round(4).tolist(), np.allclose(o, by_hand))

# %% [markdown]
# Now in general. A loop takes one query at a time, as a decoder does, and we compare it
# with the product, in 32 and in 64 bits:


# %%
def loop_form(Q, K, V):
    rows = []
    for q in Q:  # one query at a time
        e = K @ q / np.sqrt(len(q))  # (T,)
        alpha = np.exp(e - e.max()) / np.exp(e - e.max()).sum()
        rows.append(alpha @ V)
    return np.stack(rows)  # (T, d_v)


for dtype, tolerance in ((np.float32, 1e-6), (np.float64, 1e-14)):
    Q, K, V = (rng.normal(size=(5, 8)).astype(dtype) for _ in range(3))
    o = scaled_dot_product_attention(Q, K, V).data
    same = np.abs(o - loop_form(Q, K, V)).max() < tolerance
    print(f"{dtype.__name__}: largest difference below {tolerance:.0e} {same}")

# %% [markdown]
# They agree, and with 64 bits they agree to more digits. A rounding error shrinks in
# this way; a mistake does not. A textbook makes the same comparison in 32 bits (38.9)
# and prints the largest difference. The *unit of the last digit* is the smallest step
# from 1 to the next number of 32 bits. How many such units is the difference?

# %%
book = 2.384185791015625e-07
print("in units of the last digit:", book / float(np.finfo(np.float32).eps))

# %% [markdown]
# Two units. The conclusion of the textbook, "identical to numerical precision", holds.
#
# ## What is a head?
#
# A head is an attention with projections of its own. If the words have width $D$ (the
# $d$ of lesson 09) and there are $H$ heads, each head works in the smaller width
# $E = D/H$ (there $d_k$ and $d_v$):
#
# ```math
# \mathrm{head}_h = \mathrm{Attention}(X W^Q_h,\ X W^K_h,\ X W^V_h), \qquad
# \mathrm{out} = [\mathrm{head}_1; \dots; \mathrm{head}_H]\, W^O
# ```
#
# | letter | shape | meaning |
# |---|---|---|
# | $X$ | $T \times D$ | the words, one in each row |
# | $W^Q_h$, $W^K_h$, $W^V_h$ | $D \times E$ | learned, for head $h$: queries, keys and values |
# | Attention | | the formula of lesson 09, with $\sqrt E$ for $\sqrt{d_k}$ |
# | $[\dots; \dots]$ | $T \times D$ | the outputs of all heads, side by side |
# | $W^O$ | $D \times D$ | learned; it mixes what the heads found |
#
# This is *multi-head attention* (Vaswani and others 2017). A program does not loop over
# the heads. It has one matrix $D \times D$ for the queries of all heads, and cuts the
# product into $H$ pieces. (B is the number of sequences, n their length.)

# %% [source] attention.exact.multihead.heads

# %% [markdown]
# Do the pieces give the formula? Run it head after head, with the columns of the large
# matrices as $W^Q_h$, $W^K_h$ and $W^V_h$:

# %%
D, H, E, T = 12, 3, 4, 6  # E = D / H
mg.manual_seed(10)
layer = MultiHeadAttention(D, H, bias=False)
X = rng.normal(size=(T, D))

# %%
linears = layer.W_q, layer.W_k, layer.W_v, layer.W_o
W_q, W_k, W_v, W_o = (np.float64(m.weight.data.T) for m in linears)  # (D, D) each
parts = []
for h in range(H):
    cut = slice(h * E, (h + 1) * E)  # the columns of head h
    parts.append(loop_form(X @ W_q[:, cut], X @ W_k[:, cut], X @ W_v[:, cut]))
by_hand = np.concatenate(parts, 1) @ W_o  # (T, D)
out, weights = layer(X, need_weights=True)
print("same:", np.allclose(out.data, by_hand, atol=1e-6), " weights", weights.shape)

# %% [markdown]
# The weights have three axes, (H, T, T): each head has a matrix of its own. (If you use
# PyTorch: `load_torch_state(layer, state)` loads the parameters of a
# `torch.nn.MultiheadAttention`.) What do three heads cost, compared with one head as
# wide as all three?

# %%
for n in (1, 3, 12):
    cost = cost_of("multi-head", B=1, L=512, S=512, E=D // n, H=n)
    count = MultiHeadAttention(D, n).num_parameters()
    print(f"{n:2d} heads of {D // n:2d}: {count} parameters, ", end="")
    print(f"{cost.multiplications / 1e6:.1f} M multiplications")

# %% [markdown]
# All three have the same number of parameters: four matrices with $D^2$ numbers, and
# here four biases with $D$. They also have the same number of multiplications. But more
# heads have more scores and more exponentials: $H T^2$ of them, where one head has
# $T^2$. At four bytes each, {{ H }} heads need {{ str(H * 4 * 1000**2 // 10**6) }}
# megabytes for the scores of 1000 words (exercise 6.4).
#
# The real price is that each head is narrow, which limits the rank of its scores. The
# [rank](../../GLOSSARY.md#rank) of a matrix is the largest number of linearly
# independent rows: rows of which none is a sum of multiples of the others; two equal
# rows have rank 1. The scores of a head are a product of $T \times E$ and $E \times T$
# numbers. So each row of the scores is a sum of multiples of the $E$ rows of $K^\top$,
# and the rank is $E$ at most. An example: with $E = 1$ each query is one number. Then
# all positive queries put the keys into one order, and all negative ones into the
# opposite order; no query can prefer a key in the middle.
#
# **How do gradients pass?** Let $`O = [\mathrm{head}_1; \dots; \mathrm{head}_H]`$, and
# let $g$ be the gradient of the loss with respect to out. Then the gradient of $W^O$ is
# $O^\top g$, and that of $O$ is $`g\, (W^O)^\top`$. Its columns, cut as in the forward
# pass, are the gradients of the heads. From there each head is an attention by itself,
# and [lesson 03](../03_additive/README.md) leads back to the gradient of each score.
# The gradient of the score $q_i \cdot k_j / \sqrt E$, times $k_j / \sqrt E$, is a part
# of the gradient of $q_i$. The same number times $q_i / \sqrt E$ is a part of that of
# $k_j$. Each query and each key adds up the parts from all its scores. All heads read
# $X$, as queries, keys and values, so the gradients of all these uses are *added*, too.
#
# ## Do heads become different by themselves?
#
# Two heads help if they look at different words. Nothing in the formula says that they
# should. What makes them differ?
#
# Here is a task that needs two heads. At every position the layer has to return the
# token before it *and* the token before that one. (A [token](../../GLOSSARY.md#token)
# is a unit of a sequence, here one of six letters. The positions 0 and 1 do not have
# two tokens before them, and do not count.) An input has 14 numbers: a
# [one-hot](../../GLOSSARY.md#one-hot) vector of 6 for the letter and one of 8 for the
# place. The first 12 outputs are compared with the two wanted letters, one-hot, by the
# squared error. We train one layer of two heads on it, from three starts:
#
# - *drawn*: random parameters, as usual;
# - *twins*: the second head is an exact copy of the first;
# - *twins, nudged*: a copy, plus noise of size $`10^{-8}`$.
#
# The code is in [twins.py](twins.py). The output has the loss at the end, and the
# [cosine](../../GLOSSARY.md#cosine) between the parameters of the two heads, which is 1
# if they are equal. What do you expect from the exact twins?

# %% [source] lessons.book.10_heads.twins.begin

# %% [source] lessons.book.10_heads.twins.train

# %%
curves, trained = {}, {}
starts = {"drawn": (False, 0), "twins": (True, 0), "twins, nudged": (True, 1e-8)}
for name, start in starts.items():
    rng = np.random.default_rng(3)  # the same batches for all
    layer = trained[name] = twins.begin(*start)
    curves[name] = twins.train(layer, rng)
    end, alike = curves[name][-20:].mean(), twins.cosine(layer)
    print(f"{name:14s} loss {end:.4f}   cosine of the two heads {alike:.2f}")
half = 5 / 36 / 2  # see below
print(f"loss if one of the two letters is known: {half:.4f}")

# %% [figure]
fig, ax = figure("Do two equal heads become different?", size=(7.2, 2.8))
for (name, each), colour, style in zip(
    curves.items(), (BLUE, ORANGE, GREEN), ("-", "--", "-.")
):
    ax.semilogy(each, style, color=colour, label=name)
ax.axhline(half, color=GREY, lw=1, ls=":", label="one of the two letters known")
ax.set(xlabel="training step", ylabel="squared error")
ax.legend(loc="lower left")
alt = f"""Loss by step, logarithmic. Drawn heads fall to
{curves["drawn"][-20:].mean():.4f}; twins stay at {curves["twins"][-20:].mean():.3f},
near a dotted line at {half:.3f}; nudged ones leave them near step 100 and then fall,
too."""
show(fig, "twins", alt)

# %% [markdown]
# Equal heads get equal gradients. They remain one head that is computed twice, and half
# of the task stays undone. A difference of $`10^{-8}`$ between them is enough: the loss
# falls as the difference grows, so training enlarges it. The equal state is a *saddle
# point* of the loss. Exactly there, no part of the gradient separates the heads. But
# close to it the gradient has such a part, and this part grows with the difference.
# (The nudged heads still resemble each other at the end. They had a common start, and
# the task needs only a part of their parameters to differ.) So the random start and the
# loss make heads different.
#
# Why half of 5/36? A wanted letter is six numbers, one of which is 1. Each of the six
# numbers is 1 with the probability 1/6, so its variance is 1/6 times 5/6. A model that
# knows one of the two letters, with error 0, leaves this variance for the other. The
# loss is the mean of both. Is this what the twins do?

# %%
x, y = twins.draw(np.random.default_rng(4), 500)
error = ((trained["twins"](x).data[:, 2:, :12] - y) ** 2).mean((0, 1))  # (12,)
nearer, further = error[:6].mean(), error[6:].mean()
print(f"twins: error of the token before {nearer:.3f}, of the other one {further:.3f}")

# %% [markdown]
# Not quite. They look at both letters and pass on one mixture of them, $a u + b v$,
# where $u$ and $v$ are the one-hot vectors of the two letters. From this mixture the
# best linear guess of $u$ has the error $b^2 / (a^2 + b^2)$, and that of $v$ has
# $a^2 / (a^2 + b^2)$, both times 5/36. For all $a$ and $b$ the sum is 5/36, as much as
# if they knew one letter and nothing of the other.
#
# > **The book says** (6.5.4) that multi-head attention is "specifically designed to
# > encourage" diversity. No term of the formula does so. If the loss does not make two
# > heads differ, they may learn the same.
#
# ## Which triangle is causal?
#
# A model that writes a text learns to predict each word from the words before it. In
# training it sees the whole text. So it must be kept from looking at the answer, which
# is the next word. A [mask](../../GLOSSARY.md#mask) does that: it lists which query may
# look at which key. (A query that may look at no key gets weights of 0 and the output
# 0, and no gradient passes through it.) Attention with a mask that hides the future is
# called [causal](../../GLOSSARY.md#causal):

# %%
for i, word in enumerate(words):
    allowed = [w if j <= i else "-" * len(w) for j, w in enumerate(words)]
    print(f'query "{word}"'.ljust(15), "may look at  ", *allowed)

# %% [markdown]
# With $i$ for the query and $j$ for the key, the allowed pairs are $j \le i$: the lower
# triangle of the matrix, with the diagonal. (A word may look at itself, because its
# output predicts the word *after* it.) It is easy to confuse the two triangles. Here is
# a test that does not depend on which index we call $i$ and which $j$: add something to
# one input, and see which outputs change. No output may change because of a *later*
# token.


# %%
D, T = 12, 6
layer, X = MultiHeadAttention(D, 3, bias=False), rng.normal(size=(T, D))


def influence(**options):  # (T, T): how far output i moves if 1 is added to token j
    pushed = X + np.eye(T)[:, :, None]  # (T, T, D): sequence j has a new token j
    change = layer(pushed, **options).data - layer(X, **options).data  # (j, i, D)
    return np.abs(change).max(-1).T.round(9)


# %%
i, j = np.indices((T, T))
masks = {"none": None, "j <= i": j <= i, "i <= j": i <= j}
moved = {name: influence(mask=mask) for name, mask in masks.items()}
for name, m in moved.items():
    print(f"{name:7s} an output moved by a later token: {bool((m[j > i] > 0).any())}")
print("is_causal is j <= i:", np.allclose(influence(is_causal=True), moved["j <= i"]))

# %% [figure]
title = "Which inputs move which outputs?"
fig, axes = figure(title, columns=3, size=(7.2, 2.9), sharey=True)
most = max(m.max() for m in moved.values())
for ax, (name, m) in zip(axes, moved.items()):
    image = ax.imshow(m, cmap="Blues", vmin=0, vmax=most)
    ax.set(title=f"mask: {name}", xlabel="token j that is pushed")
    ax.grid(False)
axes[0].set_ylabel("output i")
fig.colorbar(image, ax=axes, shrink=0.8, label="movement")
alt = f"""Three panels, outputs down, pushed tokens across. Without a mask all
{(moved["none"] > 0).sum()} fields are coloured; with j <= i the lower triangle,
{(moved["j <= i"] > 0).sum()} fields; with i <= j the upper one."""
show(fig, "influence", alt)

# %% [markdown]
# The condition $j \le i$ is the causal one. With $i \le j$ a word sees itself and
# exactly what it should predict.
#
# > **The book says** (38.7) that masks "enforce the causal constraint $i \le j$". The
# > book calls $i$ the target, which has the queries, so this is the wrong triangle.
# > (Another of our sources, notes on attention mechanisms, forbids $j > i$, which is
# > right.)
#
# What is the advantage of a causal mask? In training, all words are known, and all are
# predicted at once, in one product of matrices. When the model writes, the words come
# one after another. No old output depends on a new word, in this layer or in any layer
# above it. So the keys and values of old words stay as they are, and can be kept and
# used again. This store is a [KV cache](../../GLOSSARY.md#kv-cache). Each step computes
# one query only. Do both ways give the same outputs?

# %%
X = rng.normal(size=(1, T, D))
cache = KVCache()
steps = [layer(X[:, t : t + 1], cache=cache).data for t in range(T)]  # one query each
whole, steps = layer(X, is_causal=True).data, np.concatenate(steps, 1)
print("same:", np.allclose(steps, whole, atol=1e-6))

# %% [markdown]
# ## And if the keys come from elsewhere?
#
# A translator writes one sentence and looks at another. In
# [cross-attention](../../GLOSSARY.md#cross-attention) the queries come from the $L$
# words of the target, keys and values from the $S$ words of the source. This is what
# the decoder of [lesson 03](../03_additive/README.md) did. What is new: in training,
# all $L$ words look at once; there are several heads; and every layer does it. The
# weights are $L \times S$.
#
# Neither self-attention nor cross-attention knows the order of the words. What happens
# if the words are shuffled? Two answers are possible. **Equivariant**: the outputs are
# the old ones, shuffled in the same way. **Invariant**: the outputs do not change at
# all. Which is which?

# %%
L, S = 4, 7
y, x, order = rng.normal(size=(L, D)), rng.normal(size=(S, D)), rng.permutation(S)
print("weights", layer(y, x, need_weights=True)[1].shape, "of (H, L, S)")
a, b = layer(x).data, layer(x[order]).data
moved = np.allclose(b, a[order], 1e-5)
print("self:  unchanged", np.allclose(a, b), "  shuffled in the same way", moved)
a, b = layer(y, x).data, layer(y, x[order]).data
print("cross: unchanged", np.allclose(b, a, atol=1e-6))

# %% [markdown]
# Write the shuffling as a matrix $M$ that exchanges rows. Then
#
# ```math
# \mathrm{self}(MX) = M\,\mathrm{self}(X), \qquad
# \mathrm{cross}(Y, MX) = \mathrm{cross}(Y, X)
# ```
#
# Self-attention is [equivariant](../../GLOSSARY.md#equivariant): every word gets the
# output that it had before, at its new place. Cross-attention is invariant in its
# source, because a sum does not depend on the order of its parts. Both are blind to the
# order of words. [Lesson 11](../11_positions/README.md) adds it.
#
# > **The book says** (6.5.5) that self-attention is permutation-*equivariant*, and
# > explains: "the output representations do not change if the input sequence is
# > shuffled". The word is right. The explanation is that of *in*variance, which holds
# > for the source of cross-attention only.
#
# ## What else does a Transformer need?
#
# A Transformer is a stack of *blocks*. All blocks have the same form, and each has
# parameters of its own. A block has an attention with many heads, and three more parts:
#
# - a [feed-forward network](../../GLOSSARY.md#feed-forward-network) for each word
#   alone: a matrix, an *activation function* $\phi$, another matrix. An activation
#   function is a function of one number whose graph is not a straight line, such as
#   $\max(0, x)$. Attention brings the words together, by averages; this network
#   computes with the result, word by word;
# - a [residual connection](../../GLOSSARY.md#residual-connection): the sum $x + f(x)$
#   in place of $f(x)$, so that each part only *adds* something to a word's vector;
# - a [layer norm](../../GLOSSARY.md#layer-norm), LN: it shifts and scales the vector of
#   each word to mean 0 and variance 1, so that no layer meets numbers that are too
#   large. (A learned scale and shift follow.)
#
# ```math
# x \leftarrow x + \mathrm{MultiHead}(\mathrm{LN}(x)), \qquad
# x \leftarrow x + W_2\, \phi(W_1\, \mathrm{LN}(x) + b_1) + b_2
# ```
#
# Here MultiHead is the layer of this lesson. On the left $x$ is the matrix of all
# words; on the right it is the vector of one word, a column. $W_1$ ($F \times D$, with
# any inner width $F$), $b_1$, $W_2$ ($D \times F$) and $b_2$ are learned, the same for
# all words. The arrow says that the right side becomes the new $x$.

# %% [figure]
fig = schematics.transformer_block()
alt = """A block from left to right: the input x passes a norm and an attention, which
works between the words, and is added to x itself, which arrives on a line above. The
sum passes a norm and a feed-forward network, which works on each word alone, and is
added to itself again; the result goes to the next block."""
show(fig, "block", alt)

# %% [markdown]
# The norm may stand before each part, as here ("pre"), or behind the sum, as in the
# first publication ("post"). In the library you choose. In this method of a block, `f`
# is the attention or the feed-forward network, and `self.dropout` sets random numbers
# to 0 in training ([lesson 06](../06_masks/README.md)):

# %% [source] attention.transformer.block.Block._residual

# %% [markdown]
# ## Why the sum x + f(x)?
#
# Averaging makes vectors more alike. [Lesson 09](../09_self_attention/README.md) saw
# it: when the weights are nearly equal, all outputs turn towards one vector. What
# happens in a stack? Take ten random words and twelve attentions in a row, untrained.
# After each, subtract the mean of the ten words from each word. Write what is left of
# the ten words as one long vector, and divide its length by the length of the ten
# words, written in the same way. The quotient is the *spread*: 1 if the mean is 0, and
# 0 if all words are equal. (Where it is below a millionth we print a millionth.)
#
# We run three stacks: $f(x)$ alone; $x + f(x)$; and $x + f(x)$ with $f(x)$ made as long
# as $x$. The third is needed because an untrained $f(x)$ is short beside $x$, so the
# sum would hide what it does:

# %%
mg.manual_seed(10)
stack = [MultiHeadAttention(16, 2, bias=False) for _ in range(12)]
first = rng.normal(size=(10, 16))  # (T, D)
length, spreads = np.linalg.norm, {}
for name in ("f(x)", "x + f(x)", "x + long f(x)"):
    x, spreads[name] = first, []
    for f in stack:
        y = f(x).data
        y = y * length(x) / length(y) if "long" in name else y
        x = y if name == "f(x)" else x + y
        spreads[name].append(max(length(x - x.mean(0)) / length(x), 1e-6))

# %%
for name, row in spreads.items():
    print(*(f"{k}: {row[k - 1]:.0e}" for k in (1, 2, 4, 8, 12)), name, sep="   ")

# %% [figure]
fig, ax = figure("What is left of the differences between words?", size=(7.2, 2.8))
marks = zip(spreads.items(), ("o--", "s-", "^-."), (ORANGE, BLUE, GREEN))
for (name, row), style, colour in marks:
    ax.semilogy(range(1, 13), row, style, color=colour, label=name)
ax.set(xlabel="attentions in a row", ylabel="spread of the words", xticks=range(1, 13))
ax.legend(loc="center right")
alt = f"""Spread of the words against the number of attentions, logarithmic. With f(x)
alone it falls to {spreads["f(x)"][1]:.0e} after two and below a millionth after three.
With x + f(x) it stays near {spreads["x + f(x)"][-1]:.1f}; with an f(x) as long as x it
falls slowly, to {spreads["x + long f(x)"][-1]:.2f}."""
show(fig, "collapse", alt)

# %% [markdown]
# After two layers without the sum all words are nearly the same vector. Why so fast?
# Words that are more alike get weights that are more equal, and these weights make the
# words of the next layer more alike still. This is [rank
# collapse](../../GLOSSARY.md#rank-collapse): the matrix of the words comes near to a
# matrix of equal rows, which has rank 1 (Dong and others 2021). With the sum, each word
# keeps what it had. How much that helps depends on how long $f(x)$ is: with a long
# $f(x)$, in the third row, the words collapse as well, only slowly.
#
# ## Are all parts necessary?
#
# We left out one part at a time and trained blocks of width 32 on a small task. A table
# holds an answer for each pair of tokens; at each position the model has to give the
# answer for the token there and the token before it ([experiment.py](experiment.py)).
# (There are 8 different tokens and 8 positions. For the first position, the token at
# the last position counts as the one before it.) The parts are the sum, the
# feed-forward network and the norm. The fourth part is the *positions*, numbers at the
# input that say where a token stands. The output has the share of right answers for 2,
# 4 and 8 blocks, the worst and the best of three seeds, and the loss with 8 blocks. The
# table has eight different answers, so a blind guess is right once in eight. The first
# row leaves out nothing:

# %%
kept = record("transformer")
print(how_made(kept), "\nleft out, and right answers for 2, 4, 8 blocks", sep="\n")
for without in dict.fromkeys(run["without"] for run in kept["runs"]):
    print(f"{without:12s}", end="")
    runs = [run for run in kept["runs"] if run["without"] == without]
    for n in (2, 4, 8):
        right = [run["accuracy"] for run in runs if run["layers"] == n]
        print(f"   {n}: {min(right):.2f} to {max(right):.2f}", end="")
    print(f"   loss {np.mean([r['loss'] for r in runs if r['layers'] == 8]):.4f}")

# %% [markdown]
# What share of right answers can a model reach if it has learned only a part of the
# task? It may know the most frequent answer of the table. Or it may know its token and
# which other tokens there are, but not which of them is the one before:

# %%
F = import_module("lessons.book.10_heads.experiment").TABLE  # (8, 8), the answers
best = []
for x in np.random.default_rng(0).integers(8, size=(500, 8)):  # the tokens of a row
    for t in range(8):
        answers = F[x[t], np.delete(x, t)]  # (7,): one for each of the other tokens
        best.append(np.bincount(answers).max() / 7)
most = np.bincount(F.ravel()).max() / F.size
print(f"the most frequent answer of the table: {most:.2f}")
print(f"the most frequent answer of the other tokens: {np.mean(best):.2f}")

# %% [markdown]
# - Without **positions** no token knows which one is before it. The models come near to
#   the best that is possible then, {{ f"{np.mean(best):.2f}" }}.
# - Without the **sum** two blocks learn. Four have at most learned the most frequent
#   answer, which is right in {{ f"{most:.2f}" }} of all cases. A probable reason is
#   rank collapse, which we measured in untrained attentions only.
# - Without the **feed-forward network** they learn, with a larger loss.
# - Without the **norm** they learn at least as well, at this width and this depth.
#
# > **The book says** (6.4.4) that without any one of these four "the Transformer does
# > not train effectively". In this experiment that holds for two of the four. (The task
# > is small, and three seeds are few.)
#
# ## Is the factor 1/√d necessary?
#
# [Lesson 05](../05_scaling/README.md) says what unscaled scores of random vectors do to
# the weights.
# [Lesson 07](../07_reversal/README.md) found that a recurrent model learns without the
# factor. And a Transformer? A textbook says that it "would not train at all" (38.6).
# We train blocks on the same task, with the norm and all other parts. Each block has
# one head, so that $d_k$ is the width: 16, or 64 as in the models that the textbook
# names. There are 2 or 6 blocks, and three seeds ([scaling.py](scaling.py)). The output
# has the mean entropy of the weights, at the first and at the last step; it is
# {{ f"{np.log(8):.2f}" }} if the weights of all 8 tokens are equal. What do you expect?

# %%
scaling = record("scaling")
print(how_made(scaling))
print(f"\nafter {scaling['steps']} steps: right answers of three seeds; mean entropy")


def of(width, layers, scaled):
    wanted = width, layers, scaled
    runs = scaling["runs"]
    return [r for r in runs if (r["width"], r["layers"], r["scaled"]) == wanted]


# %%
sizes = [(width, layers) for width in (16, 64) for layers in (2, 6)]
for size in sizes:
    for name, scaled in (("scaled", True), ("unscaled", False)):
        found = of(*size, scaled)
        right = "  ".join(f"{run['accuracy']:.2f}" for run in found)
        H = np.mean([run["entropy"] for run in found], axis=(0, 2))  # (looks,)
        print(f"d = {size[0]}, {size[1]} blocks  {name:9s}  {right}", end="")
        print(f"   entropy {H[0]:.2f} to {H[-1]:.2f}")

# %% [figure]
title = "Does a Transformer train without 1/√d?"
fig, axes = figure(title, rows=2, columns=4, size=(7.2, 4.6), sharex=True, sharey="row")
for (top, bottom), size in zip(axes.T, sizes):
    top.set_title(f"d = {size[0]}, {size[1]} blocks")
    for scaled, colour, style in ((True, BLUE, "-"), (False, ORANGE, "--")):
        for k, run in enumerate(of(*size, scaled)):
            label = ("scaled" if scaled else "unscaled") if k == 0 else None
            steps = 10 * (np.arange(len(run["curve"])) + 1)
            top.plot(steps, run["curve"], style, color=colour, lw=1.2, label=label)
            H = np.mean(run["entropy"], 1)  # over the blocks
            bottom.plot(scaling["looks"], H, style, color=colour, lw=1.2)
    bottom.axhline(np.log(scaling["places"]), color=GREY, lw=0.8, ls=":")
    bottom.set_xlabel("step")
axes[0, 0].set_ylabel("training loss")
axes[1, 0].set(ylabel="entropy of the weights", ylim=(0, 2.4))
axes[1, 0].text(0, 2.12, "equal weights", fontsize=8)
fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
ends = {s: [r["curve"][-1] for r in of(64, 6, s)] for s in (True, False)}
deep = {s: [r["accuracy"] for r in of(64, 6, s)] for s in (True, False)}
shallow = min(run["accuracy"] for width in (16, 64) for run in of(width, 2, False))
stuck = sum(right < 0.5 for right in deep[False])
alt = f"""Training loss and entropy of the weights by step, for two widths and two
depths, three seeds each. Most losses fall. At width 64 with 6 blocks the scaled ones
end at {max(ends[True]):.3f} or less, the unscaled ones between {min(ends[False]):.2f}
and {max(ends[False]):.2f}. Unscaled entropies begin lower, at width 64 below half of
that of equal weights."""
show(fig, "scaling", alt)

# %% [markdown]
# With two blocks, the unscaled models learn: each has {{ f"{shallow:.2f}" }} or more of
# the answers right. At width 64 they are slower than the scaled ones. With six blocks
# of width 64 it is another matter. All scaled models have
# {{ f"{min(deep[True]):.2f}" }} or more, and {{ stuck }} of 3 unscaled ones have less
# than half right when the training ends. Why? The entropies in the lower row do not
# explain it: unscaled weights *begin* sharp with two blocks of width 64 as well, and
# those learn. A possible reason is that a sharp softmax passes on little gradient, and
# that here the gradient has to pass six of them and not two. We have not measured the
# gradients.
#
# This does not say that a longer training or another learning rate (the size of the
# steps) would fail, too. And a smaller start can do the work of the factor. T5 (Raffel
# and others 2020), a Transformer for text, does not divide its scores by $\sqrt E$, but
# draws its $W_Q$ smaller by this factor.
#
# > **The book says** (38.6) that without the factor such models "would not train at
# > all". With two blocks, all ours train. With six of width 64, {{ stuck }} of 3 train
# > badly, and {{ 3 - stuck }} trains well. Its other sentence, that there is "no reason
# > ever to use unscaled", overlooks T5.
#
# ## What do trained heads look at, and which of them matter?
#
# A [language model](../../GLOSSARY.md#language-model) predicts each next word. We
# trained a language model of four blocks with four heads each. It learned to continue
# the English sentences that a small grammar writes ([lesson
# 13](../13_translation/README.md) has examples). There are six seeds
# ([ablation.py](ablation.py)). The four heads of a block are a *layer* of heads. Two
# beliefs about heads can be tested on these models. The first is that heads of early
# layers look at neighbours, and those of deep layers look far. The output has five
# numbers for each layer, each a mean over its heads:
#
# - *itself*: the share of the weight on the word itself;
# - *previous*: the share on the word before;
# - *first*: the share on the first token of the sentence;
# - *near*: the share on the word itself and the two words before it;
# - *entropy*: the entropy, divided by the largest possible.
#
# Below these means stand two differences, between the last layer and the first. The
# number behind ± is half of a
# [confidence interval](../../GLOSSARY.md#confidence-interval) of the mean of six seeds:
# it says how far the mean of many seeds may lie from it.
# ([Lesson 14](../14_checks_the_book/README.md) has the formula.)

# %%
kept = record("heads")
print(how_made(kept))
models = [run["heads"] for run in kept["runs"]]
layers = np.array([head["layer"] for head in models[0]])  # (16,)


def of_heads(name):  # (seeds, 16)
    return np.array([[head[name] for head in heads] for heads in models])


def interval(x):  # 95 %, of the mean of six numbers: 2.571 is Student's factor
    return np.mean(x), 2.571 * np.std(x, ddof=1) / len(x) ** 0.5


# %%
names = "itself", "previous", "first", "near", "entropy"
print("layer ", *(f"{name:>9s}" for name in names))
for k in range(kept["layers"]):
    means = [of_heads(name)[:, layers == k].mean() for name in names]
    print(f"{k + 1:5d} ", *(f"{x:9.2f}" for x in means))

# %%
change = {}
for name in ("near", "entropy"):
    by_layer = of_heads(name).reshape(len(models), kept["layers"], -1)  # (6, 4, 4)
    change[name] = interval((by_layer[:, -1] - by_layer[:, 0]).mean(1))
    print("{}: last layer minus first {:+.3f} ±{:.3f}".format(name, *change[name]))
first, last = (of_heads("near")[:, layers == k].mean() for k in (0, layers.max()))

# %% [figure]
title = "Where do sixteen heads look?"
fig, axes = figure(title, rows=4, columns=4, size=(7.2, 7.4))
tokens = ["^", *kept["sentence"].split()]
for k, row in enumerate(axes):
    for h, ax in enumerate(row):
        p = np.array(kept["runs"][0]["example"][k][h])  # (T, T)
        image = ax.imshow(p, cmap="Blues", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
        if h == 0:
            ax.set_ylabel(f"layer {k + 1}")
            ax.set_yticks(range(len(tokens)), tokens, fontsize=6)
        if k == 3:
            ax.set_xlabel(f"head {h + 1}")
        ax.grid(False)
fig.colorbar(image, ax=axes, shrink=0.4, label="weight")
alt = f"""Sixteen heatmaps, four layers by four heads, for the sentence
"{kept["sentence"]}", queries down and keys across, in the same order; ^ is the start
sign. All are lower triangles. Some show a column, some a short band near the diagonal.
In many, the weight lies on several words."""
show(fig, "sixteen-heads", alt)

# %% [markdown]
# The belief is right in its direction: from the first layer to the last, the share of
# the near words falls from {{ f"{first:.2f}" }} to {{ f"{last:.2f}" }}. But the heads
# of the last layer do not look far: more than half of their weight is still on the near
# words. Nor do they look at more words: their entropy is lower than that of the first
# layer. (This model has four layers and reads short sentences. Large models may
# differ.)
#
# The second belief: a head with large, sharp weights is important. Remove one head at a
# time, by zeros in its rows of $W^O$, and measure how much the loss of new sentences
# rises. For each model, take the [rank correlation](../../GLOSSARY.md#rank-correlation)
# of this rise with three numbers of a head. They are its mean largest weight, its
# entropy, and the mean length of what it adds to a word (in the output *largest*,
# *entropy* and *size*). This length depends on the values and on $W^O$ as well. We take
# the correlation twice: over all 16 heads of a model, and over the 4 heads of one
# layer, as a mean of the four layers. The output has the mean of six models, with half
# of its interval:


# %%
def rank_correlation(a, b):
    u, v = (x.argsort().argsort() - (len(x) - 1) / 2 for x in (a, b))
    return (u @ v) / np.sqrt((u @ u) * (v @ v))


# %%
rise, loss = of_heads("rise"), np.mean([run["loss"] for run in kept["runs"]])
print(f"loss {loss:.3f}; without a head it rises by {np.median(rise):.3f} in the")
print(f"median, and by {rise.max():.3f} at most")
related, in_layer = {}, {}  # over all heads of a model; over those of one layer
for name in ("largest", "entropy", "size"):
    pairs = list(zip(of_heads(name), rise))
    related[name] = interval([rank_correlation(a, b) for a, b in pairs])
    each = [np.reshape([a, b], (2, kept["layers"], -1)) for a, b in pairs]
    in_layer[name] = interval([np.mean([*map(rank_correlation, *x)]) for x in each])
    print("{:8s} all heads {:+.2f} ±{:.2f}".format(name, *related[name]), end="")
    print("   in a layer {:+.2f} ±{:.2f}".format(*in_layer[name]))

# %%
both = int((of_heads("largest").argmax(1) == rise.argmax(1)).sum())
print(f"the sharpest head is the most important one in {both} of {len(rise)} models")
by_layer = [f"{rise[:, layers == k].mean():.4f}" for k in range(kept["layers"])]
print("mean rise without a head of layers 1 to 4:", *by_layer)
sharp = [f"{of_heads('largest')[:, layers == k].mean():.3f}" for k in range(4)]
print("mean largest weight in layers 1 to 4:", *sharp)


def zero(found):  # (mean, half of the interval)
    return "excludes" if abs(found[0]) > found[1] else "includes"


# %% [figure]
title = "Does the weight of a head say how important it is?"
fig, axes = figure(title, columns=2, size=(7.2, 3.1), sharey=True)
what = {"largest": "mean largest weight", "size": "mean length of what the head adds"}
marks = zip(range(4), (BLUE, ORANGE, GREEN, GREY), "os^D")
for k, colour, mark in marks:
    for ax, name in zip(axes, what):
        x, y = (of_heads(each)[:, layers == k].ravel() for each in (name, "rise"))
        ax.plot(x, y, mark, color=colour, ms=4, label=f"layer {k + 1}")
for ax, name in zip(axes, what):
    ax.set_xlabel(what[name])
    ax.axhline(0, color=GREY, lw=0.8, ls=":")
axes[0].set_ylabel("rise of the loss without it")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
alt = f"""Rise of the loss without a head, a mark for each of {rise.size} heads, against
its mean largest weight and against the mean length of what it adds. Both clouds are
wide; the rank correlations are {related["largest"][0]:.2f} and
{related["size"][0]:.2f}. The marks of layer 4 lie low."""
show(fig, "importance", alt)

# %% [markdown]
# First, no head is important by itself: the largest rise is {{ f"{rise.max():.2f}" }},
# of a loss of {{ f"{loss:.2f}" }}. Two reasons are possible: each word keeps what it
# had through the sum $x + f(x)$, and other heads may have learned similar things.
# (Michel and others 2019 also found that many heads of large models can be removed.)
#
# Second, are sharp heads important? Over all heads of a model, the rank correlation
# with the largest weight is {{ f"{related['largest'][0]:+.2f}" }}, and its interval
# {{ zero(related["largest"]) }} 0. With the length of what a head adds it is
# {{ f"{related['size'][0]:+.2f}" }}, and its interval {{ zero(related["size"]) }} 0.
# Among the heads of one layer both correlations are larger. With the largest weight it
# is {{ f"{in_layer['largest'][0]:+.2f}" }}, and the interval
# {{ zero(in_layer["largest"]) }} 0. With the length it is
# {{ f"{in_layer['size'][0]:+.2f}" }}, and the interval {{ zero(in_layer["size"]) }} 0.
# So of two heads of one layer, the sharper one tends to matter more. But sharp weights
# do not tell which heads of the whole model matter: on average the heads of the last
# layer are the sharpest ({{ sharp[-1] }}, in the first layer {{ sharp[0] }}), and
# matter least. A weight says which values enter an average. What the average is worth
# is decided by the values, by $W^O$, and by the layers above.
#
# ## What would break it?
#
# - `reshape(H, T, E)` without moving the axis: the right shape, with tokens and heads
#   mixed.
# - Dividing by $\sqrt D$ in place of $\sqrt E$: all weights are a little too even.
# - A mask with its axes exchanged: training looks excellent, because the model reads
#   the answers.
# - A causal mask made for as many keys as queries, used with a cache. With a cache a
#   step has one query, the newest word, and this query has the number 0 in its own
#   mask. The condition $j \le 0$ leaves it the first key only.
#
# **To take away: heads are small attentions side by side, each with its own question; a
# mask decides what a query may see; and a Transformer block adds a network for each
# word, a norm, and the sum x + f(x) that keeps words apart.**
#
# Exercises: E.10 (multi-head attention and its backward, by hand), E.7 (the masked
# softmax, and the logarithm of its denominator; [lesson 06](../06_masks/README.md) has
# both, and [lesson 12](../12_exact_and_cheap/README.md) uses the logarithm) and 6.4
# (the memory of the scores):
# `python -m lessons start E.10`.

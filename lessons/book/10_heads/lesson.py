"""10  Many heads, causal and cross  ●●●○  60 min  importance ★★★  needs 06, 09

What can several attentions do that one cannot?
"""

# %% [markdown]
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

# %%
from importlib import import_module

import numpy as np

import minigrad as mg
from attention import KVCache, MultiHeadAttention, scaled_dot_product_attention
from attention.costs import cost_of
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.patterns import EXCESS
from lessons.instrument.verdict import above, over_seeds, verdict, written
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, PURPLE, arrow, box, diagram, figure, show,
)  # fmt: skip

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
fig, ax = diagram((7.2, 3.9), (-1.6, 7.6), (-0.7, 4.75))
for j, word in enumerate(words):
    box(ax, (1.5 * j, 0), word, PURPLE if word == "chases" else GREY, width=1.15)
ax.text(3, -0.35, "the query", ha="center", va="top")
for h, side, colour, question in (
    (0, -1, BLUE, "who chases?"), (1, 1, ORANGE, "who is chased?"),
):  # fmt: skip
    for j, weight in enumerate(two[h]):
        end = 3 + 1.7 * side + 0.15 * (j - 2), 1.75
        arrow(ax, (1.5 * j + 0.15 * side, 0.25), end, colour, weight)
    box(ax, (3 + 1.7 * side, 2), f"head {h + 1}", colour, width=1.6)
    ha = "left" if h else "right"
    ax.text(3 + 2.65 * side, 2, f'"{question}"', ha=ha, va="center")
    box(ax, (3 + 0.6 * side, 3.3), f"output {h + 1}", colour, width=1.2)
    arrow(ax, (3 + 1.7 * side, 2.25), (3 + 0.6 * side, 3.05), colour)
ax.text(4.35, 3.3, "side by side", ha="left", va="center")
box(ax, (3, 4.4), "$W_O$")
arrow(ax, (3, 3.55), (3, 4.15))
arrow(ax, (3.4, 4.4), (4.3, 4.4))
ax.text(4.4, 4.4, "new vector of chases", ha="left", va="center")
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

# %% [claims]
from lessons.pages.claims import YES, claim, of_seeds

same = np.allclose(o, loop_form(Q, K, V))
claim("38.9", "the matrix form is the loop form", YES, same, "equal to the last digits")

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
# The output has the loss at the end, and the [cosine](../../GLOSSARY.md#cosine) between
# the parameters of the two heads, which is 1 if they are equal. What do you expect from
# the exact twins?

# %%
def begin(twins, apart):
    layer = MultiHeadAttention(14, 2, bias=False, rng=np.random.default_rng(1))
    for m in (layer.W_q, layer.W_k, layer.W_v, layer.W_o):
        W = np.float64(m.weight.data)  # 7 rows a head; of W_o, 7 columns
        if twins:  # head 1 begins as a copy of head 0
            W = np.tile(W[:, :7], (1, 2)) if m is layer.W_o else np.tile(W[:7], (2, 1))
        m.weight.data = W + apart * np.random.default_rng(2).normal(size=W.shape)
    return layer


# %%
def draw(rng, n):  # tokens and places (n, 8, 14), the two wanted letters (n, 6, 12)
    x = np.eye(6)[rng.integers(6, size=(n, 8))]
    past = [np.roll(x, k, 1)[:, 2:] for k in (1, 2)]
    where = np.broadcast_to(np.eye(8), (n, 8, 8))
    return np.concatenate([x, where], -1), np.concatenate(past, -1)


def cosine(layer):
    W = [m.weight.data.reshape(2, -1) for m in (layer.W_q, layer.W_k, layer.W_v)]
    out = layer.W_o.weight.data.reshape(14, 2, -1).swapaxes(0, 1).reshape(2, -1)
    a, b = np.concatenate([*W, out], 1)  # the numbers of each head, side by side
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


# %%
def train(layer, rng):
    optimizer, losses = mg.optim.Adam(layer.parameters(), lr=3e-2), []
    for _ in range(140):
        x, y = draw(rng, 16)
        loss = ((layer(x)[:, 2:, :12] - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)


# %%
curves, trained = {}, {}
starts = {"drawn": (False, 0), "twins": (True, 0), "twins, nudged": (True, 1e-8)}
for name, start in starts.items():
    rng = np.random.default_rng(3)  # the same batches for all
    layer = trained[name] = begin(*start)
    curves[name] = train(layer, rng)
    end, alike = curves[name][-20:].mean(), cosine(layer)
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
x, y = draw(np.random.default_rng(4), 500)
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

# %% [claims]
layer = begin(True, 0)
x, y = draw(np.random.default_rng(8), 16)
((layer(x)[:, 2:, :12] - y) ** 2).mean().backward()
g = layer.W_q.weight.grad
claim("6.5.4", "many heads are designed to become different", YES,
      not np.allclose(g[:7], g[7:]), "equal heads get equal gradients and stay equal")

# %% [markdown]
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

# %% [claims]
causal = not (moved["i <= j"][j > i] > 0).any()
claim("38.7", "a mask of $i \\le j$ is causal, with i for the target", YES, causal,
      "it is $j \\le i$; the other one shows the answer")

# %% [markdown]
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

# %% [claims]
a, b = layer(x).data, layer(x[order]).data
same, moved_along = np.allclose(a, b), np.allclose(b, a[order], 1e-5)
claim("6.5.5", "shuffling the words does not change the outputs", YES, same,
      "they are shuffled in the same way")
claim("6.5.5", "self-attention is permutation-equivariant", YES, moved_along,
      "shuffled words, shuffled outputs")

# %% [markdown]
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
#
# ![block](figures/block.svg)
#
# *A block from left to right: the input x passes a norm and an attention, which works
# between the words, and is added to x itself, which arrives on a line above. The sum
# passes a norm and a feed-forward network, which works on each word alone, and is added
# to itself again; the result goes to the next block.*
#
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
# input that say where a token stands.
#
# What can a model reach if it has learned only a part of the task? A blind guess is
# right once in eight. It may know the most frequent answer of the table. Or it may know
# its token and which other seven tokens there are, but not which of them is the one
# before. Each of the seven may be it, with the same probability, so the best answer is
# the most frequent one of their seven answers:

# %%
script = import_module("lessons.book.10_heads.experiment")
most = np.bincount(script.TABLE.ravel()).max() / script.TABLE.size
without_order = script.best_without_order()
print(f"the most frequent answer of the table: {most:.2f}")
print(f"the most frequent answer for the other tokens: {without_order:.3f}")
kept = record("transformer")
depths = [name for name in kept if name.endswith("blocks")]
budget, every = kept[depths[0]]["budget"], kept[depths[0]]["every"]

# %% [markdown]
# The last number is an *upper bound* for a model without positions. If the other tokens
# are shuffled, its answer does not change: nothing in the formula of attention has an
# order ([lesson 09](../09_self_attention/README.md)). So no training leads above it,
# however long. We train such blocks only to see whether they reach it.
#
# A model without one of the other three parts may need another learning rate (the size
# of the steps) and more steps. So each model is trained with several rates, and the
# best of them is chosen with a seed that is not shown; of equally good ones, the
# smallest. The training goes on until the share of right answers has reached a plateau,
# {{ fair.FEWEST * every }} steps at the earliest, and for {{ budget }} steps at most.
# Then the rate falls to 0, in a fifth as many steps. ([Lesson
# 14](../14_checks_the_book/README.md) explains why models have to be compared in this
# way.)
#
# The output has the chosen rate, the share of right answers with the interval of its
# mean over five seeds, how many of the five runs ended at a plateau, and after how many
# steps 95 of 100 answers were right, in the mean. The last word is the verdict on "it
# learns the task", by the rule of lesson 14: more than nine answers in ten are right.
# The first row leaves out nothing:


# %%
def of(name, arm):
    return fair.of_arm(kept[name], arm)


def learns(name, arm):
    return verdict(above(0.9), of(name, arm))


def steps_of(run, share=0.95):  # until so many answers are right, or infinity
    good = np.array(run["curve"]) >= share
    return every * (1 + good.argmax()) if good.any() else np.inf


def in_words(n):
    return f"{n:.0f}" if n < np.inf else "never"


# %%
print(how_made(kept))
for name, blocks in (*zip(depths, depths), ("no positions", depths[-1])):
    print(f"\n{blocks}, without")
    print(f"{'it learns':>66s}\n{'':14s}rate    right  interval        plateaus  ", end="")
    print("steps  the task")
    for arm, rate in kept[name]["chosen"].items():
        x, ended = of(name, arm), fair.figures(kept[name], arm, "plateau").sum()
        n = in_words(fair.figures(kept[name], arm, steps_of).mean())
        print(f"{arm:12s}  {rate:<6g}  {x.value:.3f}  [{x.low:.3f}, ", end="")
        print(f"{x.high:.3f}]  {ended:<8d}  {n:5s}  {learns(name, arm)}")

# %% [figure]
fig, axes = figure("Which blocks learn the table?", columns=2, sharey=True)
colours, styles = (GREY, GREEN, PURPLE, BLUE, ORANGE), ("-", "-.", "-", ":", "--")
drawn = [(kept[name], ax) for name, ax in zip(depths, axes)]
drawn.append((kept["no positions"], axes[-1]))
looks = dict(zip([*kept[depths[0]]["arms"], "positions"], zip(colours, styles)))
for found, ax in drawn:
    for arm in found["arms"]:
        (colour, style), label = looks[arm], f"without {arm}"
        for run in (r for r in found["runs"] if r["arm"] == arm):
            steps = every * (np.arange(len(run["curve"])) + 1)
            ax.semilogx(steps, run["curve"], style, color=colour, lw=1, label=label)
            label = None
for ax, name in zip(axes, depths):
    ax.axhline(without_order, color=GREY, lw=0.8, ls=":", label="order unknown")
    ax.set(title=f"{name}, five runs each", xlabel="training step", ylim=(0, 1.03))
axes[0].set_ylabel("right answers (validation)")
fig.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
alt = f"""Share of right answers by training step, logarithmic, for 2 and for 4 blocks,
five runs of each model. All rise to 1, those without the residual connection last. With
4 blocks they stay near 0.2 for some two thousand steps before they rise, when all other
curves have long ended. Those without positions come near to a dotted line at
{without_order:.2f}, and stay there."""
show(fig, "parts", alt)


# %%
ratios = {
    name: over_seeds(
        fair.figures(kept[name], "residual", steps_of)
        / fair.figures(kept[name], "nothing", steps_of)
    )
    for name in depths
}
for name, x in ratios.items():
    print(f"{name}: without the sum {x.value:.1f} [{x.low:.1f}, {x.high:.1f}]", end="")
    print(" times as many steps until .95")
four = {run["arm"]: run["parameters"] for run in kept[depths[1]]["runs"]}
share = four["feed-forward"] / four["nothing"]

# %% [markdown]
# - Without **positions** no token can find the one before it. The four blocks have
#   {{ f"{of('no positions', 'positions').value:.3f}" }} of the answers right, near the
#   upper bound of {{ f"{without_order:.3f}" }}. The bound holds for any depth.
# - Without the **sum** blocks learn the task, too, but they need more steps: with two
#   blocks {{ f"{ratios[depths[0]].value:.1f}" }} times as many as whole models, with
#   four {{ f"{ratios[depths[1]].value:.1f}" }} times as many, each with the rate of the
#   table. So the sum is worth more in a deeper stack. (We did not train more than four
#   blocks without it.) A probable reason is rank collapse, which we measured in
#   untrained attentions only.
# - Without the **feed-forward network** they learn the task as well, with
#   {{ f"{share:.0%}" }} of the parameters.
# - Without the **norm** they learn the task as well, at this width and this depth.
#
# > **The book says** (6.4.4) that without any one of these four "the Transformer does
# > not train effectively". In this task, at this size, that holds for the positions.
# > Without the sum the models learn it later, and without the network or the norm as
# > well as with them.

# %% [claims]
from lessons.instrument.verdict import below

for name, without, words in (
    ("no positions", "positions", "positions"),
    ("4 blocks", "feed-forward", "the feed-forward network"),
    ("4 blocks", "residual", "the sum x + f(x)"), ("4 blocks", "norm", "the norm"),
):  # fmt: skip
    claim("6.4.4", f"without {words} a Transformer does not train (right answers, 4 "
          "blocks: below 0.9)", below(0.9), of(name, without))
claim("6.4.4", "the sum x + f(x) makes training faster (4 blocks: steps until 95 of "
      "100 answers are right, without it over with it, above 1)", above(1),
      ratios["4 blocks"])

# %% [markdown]
# ## Is the factor 1/√d necessary?
#
# [Lesson 05](../05_scaling/README.md) says what unscaled scores of random vectors do to
# the weights. [Lesson 07](../07_reversal/README.md) found that a recurrent model learns
# without the factor. And a Transformer? A textbook says that it "would not train at
# all" (38.6). We train six blocks on the same task, in the same way, with all parts
# ([experiment.py](experiment.py)). Each block has one head, so that $d_k$ is the width, 64 as
# in the models that the textbook names. The output has the share of right answers for
# each learning rate, a mean of three seeds, and in brackets the steps until 95 of 100
# answers were right ("never": not with all three, before the rate falls at the end).
# What do you expect?

# %%
kept = record("scaling")
print(how_made(kept))
[deep] = (kept[name] for name in kept if name.endswith("blocks"))


def at_rate(arm, rate):
    runs = deep["choices"]
    return [run for run in runs if (run["arm"], run["rate"]) == (arm, rate)]


def steps_at(arm, rate):
    return np.mean([steps_of(run) for run in at_rate(arm, rate)])


def fastest(arm):  # over the rates
    return round(min(steps_at(arm, rate) for rate in deep["rates"]))


# %%
print("right answers of three seeds (steps until 0.95)")
for rate in deep["rates"]:
    print(f"rate {rate:<6g}", end="")
    for arm in deep["arms"]:
        right = np.mean([run["figure"] for run in at_rate(arm, rate)])
        print(f"   {arm} {right:.3f} ({in_words(steps_at(arm, rate))})", end="")
    print()

# %% [markdown]
# Now each model has the rate that was best for it, and five other seeds. The output has
# the share of right answers with its interval, and the mean entropy of all weights of a
# model, before and after the training. It is {{ f"{np.log(8):.2f}" }} if the weights of
# all 8 tokens are equal:

# %%
for arm in deep["arms"]:
    x, H = (fair.of_arm(deep, arm, what) for what in ("figure", "entropy"))
    before = script.scaled_or_not().model(arm, np.random.default_rng(1)).eval()
    print(f"{arm:8s}  rate {deep['chosen'][arm]:<6g}", end="  ")
    print(f"{x.value:.3f} [{x.low:.3f}, {x.high:.3f}]", end="  ")
    print(f"entropy {script.entropy(before):.2f} to {H.value:.2f}")

# %% [figure]
largest = max(deep["rates"])
title = "Do six blocks of width 64 learn without 1/√d?"
fig, axes = figure(title, columns=2, sharey=True)
axes[0].set_title(f"all with rate {largest:g}, three runs each")
axes[1].set_title("each with its best rate, five runs each")
for arm, colour, style in (("scaled", BLUE, "-"), ("unscaled", ORANGE, "--")):
    own = [run for run in deep["runs"] if run["arm"] == arm]
    for ax, runs in zip(axes, (at_rate(arm, largest), own)):
        for k, run in enumerate(runs):
            steps = every * (np.arange(len(run["curve"])) + 1)
            label = arm if k == 0 else None
            ax.plot(steps, run["curve"], style, color=colour, lw=1.2, label=label)
for ax in axes:
    ax.axhline(without_order, color=GREY, lw=0.8, ls=":", label="order unknown")
    ax.set(xlabel="training step", ylim=(0, 1.03))
axes[0].set_ylabel("right answers (validation)")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
lost = [run["figure"] for run in at_rate("unscaled", largest)]
behind = fair.difference(deep, "scaled", "unscaled")
ends = [run["figure"] for run in deep["runs"]]
alt = f"""Share of right answers by training step, six blocks. Left, with rate
{largest:g}: the scaled models rise to 1 at once; of the three unscaled ones
{sum(x < without_order for x in lost)} stay below a dotted line at {without_order:.2f}.
Right, with the best rate of each: all ten rise, the unscaled ones later, and the lowest
ends at {min(ends):.3f}."""
show(fig, "scaling", alt)

# %% [markdown]
# Whoever tries the largest rate alone sees that
# {{ sum(x < without_order for x in lost) }} of {{ len(lost) }} unscaled models of six
# blocks stay below what can be reached without the order, for {{ deep["budget"] }}
# steps, and writes that they do not train. With each smaller rate they learn the task.
# Of scaled minus unscaled models, each with its best rate, the record says:
# {{ written(behind, 3) }}.
# So the factor is not necessary here. It makes a larger rate possible, and with it a
# shorter training: 95 of 100 answers are right after {{ fastest("scaled") }} steps at
# the best of these rates, without it after {{ fastest("unscaled") }}. A possible reason
# is that Adam changes each parameter by about the rate, whatever the scale. So one step
# moves an unscaled score $\sqrt{d_k}$ = {{ f"{script.WIDE**0.5:.0f}" }} times as far.
#
# A smaller start can do the work of the factor, too. T5 (Raffel and others 2020), a
# Transformer for text, does not divide its scores by $\sqrt E$, but draws its $W_Q$
# smaller by this factor.
#
# > **The book says** (38.6) that without the factor such models "would not train at
# > all". In this task six blocks of width 64 train, if the learning rate is small
# > enough. (Larger models and other tasks are not measured.) Its other sentence, that
# > there is "no reason ever to use unscaled", overlooks T5.

# %% [claims]
steps = fair.steps_without_plateau(deep, "unscaled")
stuck = of_seeds(fair.figures(deep, "unscaled"), below(0.2), steps)
claim("38.6", "an unscaled Transformer does not train at all (six blocks of one head, "
      "d = 64: share of seeds with right answers below 0.2, chance is 0.125; nearly "
      "all, 0.9)", above(0.9), stuck)
claim("38.6", "a scaled Transformer trains better (the same models, each with its "
      "best rate: right answers of scaled minus unscaled, above 0.01)", above(0.01),
      fair.difference(deep, "scaled", "unscaled"))

# %% [markdown]
# ## What do trained heads look at, and which of them matter?
#
# A [language model](../../GLOSSARY.md#language-model) predicts each next word. We
# trained a language model of four blocks with four heads each. It learned to continue
# the English sentences that a small grammar writes ([lesson
# 13](../13_translation/README.md) has examples). In half of the places where a noun is
# the subject, a phrase stands between it and its verb, as in "the women near the old
# dog see a child". There are six seeds, each with the best of four learning rates and
# trained until its loss had reached a plateau ([experiment.py](experiment.py)). The four
# heads of a block are a *layer* of heads. Has such a model learned more than which word
# follows which? We compare its loss with that of a table that counts the pairs of words
# in the training sentences:

# %%
kept = record("heads")
print(how_made(kept))
runs, counted = kept["models"]["runs"], kept["counted"]
loss = -fair.of_arm(kept["models"], "whole").value
print(f"at a plateau: {sum(run['plateau'] for run in runs)} of {len(runs)} models")
print(f"loss of a next word: {loss:.2f}; of counted pairs {counted['pairs']:.2f},")
print(f"of counted single words {counted['words']:.2f}")

# %% [markdown]
# Four beliefs about heads can be tested on these models. The first is that heads of
# early layers look at neighbours, and those of deep layers look far. The output has
# five numbers for each layer, each a mean over its heads:
#
# - *itself*: the share of the weight on the word itself;
# - *previous*: the share on the word before;
# - *first*: the share on the first token of the sentence;
# - *near*: the share on the word itself and the two words before it;
# - *entropy*: the entropy, divided by the largest possible.
#
# The sentences are short, so that much of the weight is near in any case. The last row
# has the heads before the training, whose weights are nearly equal. Below are three
# differences. The number behind ± is half of a
# [confidence interval](../../GLOSSARY.md#confidence-interval) of the mean of six seeds:
# it says how far the mean of many seeds may lie from it.
# ([Lesson 14](../14_checks_the_book/README.md) has the formula.)

# %%
models, untrained = [run["heads"] for run in runs], kept["untrained"]
layers = np.array([head["layer"] for head in models[0]])  # (16,)


def of_heads(name, models=models):  # (seeds, 16)
    return np.array([[head[name] for head in heads] for heads in models])


def interval(x):  # 95 %, of the mean over the seeds
    found = over_seeds(x)
    return found.value, found.high - found.value


def zero(found):  # (mean, half of the interval)
    return "excludes" if abs(found[0]) > found[1] else "includes"


# %%
names = "itself", "previous", "first", "near", "entropy"
print("layer     ", *(f"{name:>9s}" for name in names))
for k in range(kept["layers"]):
    means = [of_heads(name)[:, layers == k].mean() for name in names]
    print(f"{k + 1:<10d}", *(f"{x:9.2f}" for x in means))
means = [of_heads(name, untrained).mean() for name in names]
print("untrained ", *(f"{x:9.2f}" for x in means))

# %%
change = {}
for name in ("near", "entropy"):
    by_layer = of_heads(name).reshape(len(models), kept["layers"], -1)  # (6, 4, 4)
    change[name] = interval((by_layer[:, -1] - by_layer[:, 0]).mean(1))
    print("{}: last layer minus first {:+.3f} ±{:.3f}".format(name, *change[name]))
more = of_heads("near")[:, layers == layers.max()] - means[names.index("near")]
change["untrained"] = interval(more.mean(1))
print("near: last layer minus untrained {:+.3f} ±{:.3f}".format(*change["untrained"]))
first, last = (of_heads("near")[:, layers == k].mean() for k in (0, layers.max()))

# %% [claims]
late, near = layers >= kept["layers"] / 2, of_heads("near")
deep_near = near[:, late].mean(1)  # (seeds,)
gained = deep_near - of_heads("near", untrained)[:, late].mean(1)
claim("6.5.4", "early layers look nearer than deep ones (weight on the nearest three "
      "words: first half of the layers minus second half, above 0)", above(0),
      over_seeds(near[:, ~late].mean(1) - deep_near))
claim("6.5.4", "deep layers look far (second half of the layers: weight on the "
      "nearest three words, minus that before the training, below 0)", below(0),
      over_seeds(gained))

# %% [figure]
title = "Where do sixteen heads look?"
fig, axes = figure(title, rows=4, columns=4, size=(7.2, 7.4))
tokens = ["^", *kept["sentence"].split()]
for k, row in enumerate(axes):
    for h, ax in enumerate(row):
        p = np.array(runs[0]["example"][k][h])  # (T, T)
        image = ax.imshow(p, cmap="Blues", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
        if h == 0:
            ax.set_ylabel(f"layer {k + 1}")
            ax.set_yticks(range(len(tokens)), tokens, fontsize=6)
        if k == 3:
            ax.set_xlabel(f"head {h + 1}")
        ax.grid(False)
fig.colorbar(image, ax=axes, shrink=0.4, label="weight")
alt = f"""Sixteen heatmaps, four layers by four heads of one of the six models, for the
sentence "{kept["sentence"]}", queries down and keys across, in the same order; ^ is the
start sign. All are lower triangles. In layer 1 many rows spread their weight; in the
other layers most rows have one or two dark keys, at distances that change from row to
row. The first head of layer 1 has a dark column at the word "near"."""
show(fig, "sixteen-heads", alt)

# %% [markdown]
# In these models the belief is right in its direction: from the first layer to the last,
# the share of the near words falls from {{ f"{first:.2f}" }} to {{ f"{last:.2f}" }}, and
# the interval {{ zero(change["near"]) }} 0. But the heads of the last layer do not look
# far: untrained heads have {{ f"{means[names.index('near')]:.2f}" }} of their weight on
# the near words, and the interval of the difference {{ zero(change["untrained"]) }} 0.
# Nor do they look at more words: their entropy is lower than that of the first layer.
# (This model has four layers and reads short sentences. Large models may differ.)
#
# The second belief is that a trained head has a pattern. [Lesson
# 09](../09_self_attention/README.md) has a rule that names the pattern of a matrix of
# weights, and tries it on matrices that were made for it. Here it names those of all
# {{ len(models) * len(layers) }} heads, in each new sentence of eight words or more. A
# head gets the name that is most frequent. (The rule takes uniform to mean equal
# weights on the words that the mask allows.)

# %%
patterns = "uniform", "diagonal", "block", "column", "long-range", "mixed"


def name_of(head):
    return max(head["patterns"], key=head["patterns"].get)


def count(heads):  # how many heads have each name
    found = [name_of(head) for head in heads]
    return "".join(f"{found.count(name):11d}" for name in patterns)


# %%
every_head = [head for heads in models for head in heads]
print("layer    ", *(f"{name:>11s}" for name in patterns), sep="")
for k in range(kept["layers"]):
    print(f"{k + 1:<9d}" + count(h for h in every_head if h["layer"] == k))
print("untrained" + count(head for heads in untrained for head in heads))
sure = [h["patterns"][name_of(h)] / sum(h["patterns"].values()) for h in every_head]
print(f"a head has its name in {np.mean(sure):.0%} of the sentences, on average")

# %% [markdown]
# Before the training all heads are uniform. Afterwards
# {{ sum(name_of(head) == "mixed" for head in every_head) }} of
# {{ len(every_head) }} are mixed, and the other names are hardly needed. The entropies
# above are small, so a query looks at few words; but no rule about places says at
# which. In these models, the names of [lesson 09](../09_self_attention/README.md) say
# little about trained heads.
#
# The third belief is that some heads follow agreement: a verb has the number of its
# subject, "the women see", "the woman sees". In our sentences half of the subjects do
# not stand before their verbs: in "the women near the old dog see a child" the model
# has to look past the dog, and it has to do so from the word *before* the verb, where
# it predicts the verb. How much of its weight does a head send from there to the
# subject? Two baselines say what other heads would have there:
#
# - *positions*: the mean weight at the same distance, over all words. A head that looks
#   at distances alone has this much on the subject.
# - *nouns*: the mean weight on nouns at the same distance. A head that looks for a noun
#   at this distance has this much.
#
# We say that a head follows agreement if it has {{ f"{EXCESS:g}" }} more on the subject
# than the larger of the two, the threshold that lesson 09 uses for its patterns. Heads
# before the training are the control. There are {{ kept["clauses"] }} such clauses in
# the new sentences. The output has the weight from the verb itself, too:

# %% [source] lessons.book.10_heads.experiment.follows

# %%
chosen = [script.follower(heads) for heads in models]


def excess(models, query="before"):  # (seeds, 16): above the larger baseline
    return np.array(
        [[script.excess(h["follows"][query]) for h in heads] for heads in models]
    )


# %%
for query, words in (("before", "the word before the verb"), ("verb", "the verb")):
    print(f"from {words} to the subject:")
    for name, heads in (("trained", models), ("untrained", untrained)):
        x = excess(heads, query)
        follow = x >= EXCESS
        print(f"  {name:9s} {follow.sum()} of {x.size} heads follow it,", end=" ")
        print(f"in {follow.any(1).sum()} of {len(x)} models; the most is {x.max():.2f}")

# %% [markdown]
# Does such a head decide the number of the verb? Take in each model the head that
# follows agreement most, chosen in sentences for validation. Compare the probabilities
# of the two forms of a verb ("see" and "sees") where only one fits its subject. The
# model is right if that one is the more probable. *differ* counts the clauses in which
# the noun before the verb has another number than the subject, as in the example: who
# goes by the nearest noun is wrong in all of them. Then remove the head, and then each
# of the other 15 in its place. (There are {{ kept["verbs"]["differ"] }} such clauses,
# and {{ kept["verbs"]["same"] }} in which both have the same number.)

# %%
print("                weight of the head          verbs right (differ), without")
print("model  layer   subject positions nouns     nothing  the head  another")
lines = []
for run, k in zip(runs, chosen):
    own = run["heads"][k]
    without = np.array([head["without"]["differ"] for head in run["heads"]])
    others = np.delete(without, k)
    lines.append((run["agreement"]["differ"], without[k], others.mean(), others.min()))
    print(f"{run['seed']:<6d} {own['layer'] + 1:<6d}", end="")
    weights = own["follows"]["before"]
    print("{subject:9.2f} {positions:9.2f} {nouns:5.2f}".format(**weights), end="")
    print("{:12.2f} {:9.2f} {:8.2f}".format(*lines[-1]))

# %%
whole, without, others, worst = np.transpose(lines)
stronger = over_seeds(excess(models)[range(len(runs)), chosen])
costs = over_seeds(others - without)
for words, x in (
    ("more on the subject", stronger),
    ("fewer right verbs than without another", costs),
):
    print(f"{words:38s} {x.value:.2f} [{x.low:.2f}, {x.high:.2f}]")
most_costly = int((without < worst).sum())
print(f"the most costly head of its model: {most_costly} of {len(runs)}")

# %% [figure]
fig, ax = figure("Which heads does the number of a verb need?", size=(7.2, 3.1))
looks_of = zip(range(4), (BLUE, ORANGE, GREEN, GREY), "os^D")
x, y = excess(models), np.array([[h["without"]["differ"] for h in m] for m in models])
for k, colour, mark in looks_of:
    own = x[:, layers == k].ravel(), y[:, layers == k].ravel()
    ax.plot(*own, mark, color=colour, ms=4, label=f"layer {k + 1}")
ax.axvline(EXCESS, color=GREY, lw=0.8, ls=":", label="follows agreement")
ax.set(xlabel="weight on the subject, above both baselines")
ax.set_ylabel("right verbs without it")
fig.legend(loc="outside lower center", ncols=5)
alt = f"""Share of verbs with the right number without a head, a mark for each of
{x.size} heads, against the weight from the word before the verb to the subject, above
the baselines. {int((x >= EXCESS).sum())} marks lie to the right of a dotted line at
{EXCESS:g}, nearly all of them at 1. The marks far below 1, down to {y.min():.2f}, lie
left of 0.2, and most of them belong to layer 1."""
show(fig, "agreement", alt)

# %% [markdown]
# After the training {{ int((excess(models) >= EXCESS).sum()) }} of the
# {{ len(every_head) }} heads follow agreement, and each of the {{ len(runs) }} models
# has one or more; before it none does. Most look for the subject from the word before
# the verb, where a causal model needs the number.
#
# But no model needs the head that follows agreement most. Without it
# {{ f"{without.mean():.3f}" }} of the verbs are right where the nearest noun has
# another number, of whole models {{ f"{whole.mean():.3f}" }}, and without another head
# {{ f"{others.mean():.3f}" }}. It is the most costly head for agreement in
# {{ most_costly }} of {{ len(runs) }} models. The heads whose removal costs most, down
# to {{ f"{worst.min():.2f}" }}, stand left in the figure, mostly in the first layer:
# they do not look at the subject from there. So the number has more than one path to
# the verb. It may pass through another head that follows agreement, or in two steps,
# through the word *near*, which stands beside the subject. (We removed one head at a
# time, so we have not measured which.) Where a head looks is not yet what the model
# needs it for.
#
# > **The book says** (6.5.4) that some heads are "subject-verb agreement heads". In
# > these models and this grammar there are heads whose weights follow agreement. None
# > of those that do so most is needed to write the right form.

# %% [claims]
claim("6.5.4", "some heads follow the agreement of subject and verb (in each model, "
      "the head that does so most: its weight on the subject, from the word that "
      "predicts the verb, minus that of a head that looks at distances or at nouns: "
      "above 0.3)", above(0.3), stronger)
claim("6.5.4", "the number of a verb needs them (share of right verbs where the "
      "nearest noun has another number: without another head, minus without that one: "
      "above 0)", above(0), costs)

# %% [markdown]
# The fourth belief: a head with large, sharp weights is important. Remove one head at a
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
rise = of_heads("rise")
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
{related["size"][0]:.2f}. The two highest marks belong to layer 1."""
show(fig, "importance", alt)

# %% [markdown]
# First, no head is important by itself: the largest rise is {{ f"{rise.max():.3f}" }}, of
# a loss of {{ f"{loss:.2f}" }}. Two reasons are possible: each word keeps what it had
# through the sum $x + f(x)$, and other heads may have learned similar things. (Michel
# and others 2019 also found that many heads of large models can be removed.)
#
# Second, are sharp heads important? Over all heads of a model, the rank correlation
# with the largest weight is {{ f"{related['largest'][0]:+.2f}" }}, and its interval
# {{ zero(related["largest"]) }} 0. Among the heads of one layer it is
# {{ f"{in_layer['largest'][0]:+.2f}" }}, and the interval
# {{ zero(in_layer["largest"]) }} 0. With the length of what a head adds it is
# {{ f"{related['size'][0]:+.2f}" }} over all heads (the interval
# {{ zero(related["size"]) }} 0), and {{ f"{in_layer['size'][0]:+.2f}" }} in a layer (it
# {{ zero(in_layer["size"]) }} 0). So the length of what a head adds tells more of its
# importance than its weights do. On average the heads of the last layer are the
# sharpest: their mean largest weight is {{ sharp[-1] }}, in the second layer
# {{ sharp[1] }}. But to remove a head of the second layer costs more. A weight says
# which values enter an average. What the average is worth is decided by the values, by
# $W^O$, and by the layers above.
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

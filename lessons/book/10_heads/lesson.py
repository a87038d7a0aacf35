"""10  Many heads, causal and cross  ●●●○  45 min  importance ★★★  needs 06, 09

What can several attentions do that one cannot?
"""

# %% [markdown]
# "The cat chases the dog." The word "chases" needs two things from its sentence: *who*
# chases, and *who* is chased. In [lesson 09](../09_self_attention/README.md) a word
# received one average of all values. If that average takes half of "cat" and half of
# "dog", who chases whom?
#
# **Why it matters:** after this page you know every part of the block of which GPT and
# its relatives are stacks.
#
# The average cannot say. The remedy is to look twice: two attentions side by side, each
# with its own question. Each is called a [head](../../GLOSSARY.md#head). This lesson
# builds layers of many heads, forbids a word to look into the future, lets a word look
# at another sentence, and puts the parts together to a block.

# %% [folded]
from importlib import import_module

import numpy as np

import minigrad as mg
from attention import MultiHeadAttention
from attention.costs import cost_of
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.patterns import EXCESS
from lessons.instrument.verdict import above, judged
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
fig, ax = diagram((7.2, 4.1), (-1.6, 7.6), (-0.7, 4.75))
fig.suptitle("What do two heads of \"chases\" look at?")
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
# One head gives the same output for both sentences. Two heads give different ones. The
# matrix $W_O$ in the picture mixes the two outputs; it is learned, and is $W^O$ in the
# formula below.
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
# product into $H$ pieces. (In the code `n` is $T$.)

# %% [source] attention.exact.multihead.heads

# %% [markdown]
# Do the pieces give the formula? Run it head after head, with the columns of the large
# matrices as $W^Q_h$, $W^K_h$ and $W^V_h$:


# %%
def attention(Q, K, V):
    e = Q @ K.T / np.sqrt(Q.shape[1])  # (T, T)
    p = np.exp(e - e.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True) @ V


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
    parts.append(attention(X @ W_q[:, cut], X @ W_k[:, cut], X @ W_v[:, cut]))
by_hand = np.concatenate(parts, 1) @ W_o  # (T, D)
out, weights = layer(X, need_weights=True)
print("same:", np.allclose(out.data, by_hand, atol=1e-6), " weights", weights.shape)

# %% [markdown]
# The weights have three axes, (H, T, T): each head has a matrix of its own. What do
# three heads cost, compared with one head as wide as all three?

# %% [folded]
for n in (1, 3, 12):
    cost = cost_of("multi-head", B=1, L=512, S=512, E=D // n, H=n)
    count = MultiHeadAttention(D, n).num_parameters()
    print(f"{n:2d} heads of {D // n:2d}: {count} parameters, ", end="")
    print(f"{cost.multiplications / 1e6:.1f} M multiplications")

# %% [markdown]
# All three have the same number of parameters and of multiplications. But more heads
# have more scores: $H T^2$ of them, where one head has $T^2$. At four bytes each,
# {{ H }} heads need {{ str(H * 4 * 1000**2 // 10**6) }} megabytes for the scores of
# 1000 words (exercise 6.4). And each head is narrow, which limits what its scores can
# say: with $E = 1$ each query and each key is one number, so the best key of a query is
# the largest or the smallest one, and no query can prefer a key in the middle.
#
# **How do gradients pass?** Exercise E.10 asks for it. Let
# $`O = [\mathrm{head}_1; \dots; \mathrm{head}_H]`$, and let $\partial M$ mean the
# gradient of the loss with respect to a matrix $M$; $g$ is that of out. Backward
# through the product with $W^O$,
#
# ```math
# \partial W^O = O^\top g, \qquad \partial O = g\, (W^O)^\top
# ```
#
# The columns of $\partial O$, cut as in the forward pass, are the gradients
# $\partial O_h$ of the heads. Within a head, with the scores
# $A_h = Q_h K_h^\top / \sqrt E$ and the weights $P_h$,
#
# ```math
# \partial V_h = P_h^\top\, \partial O_h, \qquad
# \partial P_h = \partial O_h\, V_h^\top, \qquad
# \partial Q_h = \partial A_h\, K_h / \sqrt E, \qquad
# \partial K_h = \partial A_h^\top\, Q_h / \sqrt E
# ```
#
# and $\partial A_h$ is the softmax's backward of [lesson 06](../06_masks/README.md), in
# each row: $`p_j (u_j - \sum_l p_l u_l)`$, where $u$ is the row of $\partial P_h$. All
# heads read $X$, as queries, keys and values, so the gradients of these uses are
# *added*.
#
# ## Which triangle is causal?
#
# A model that writes a text learns to predict each word from the words before it. In
# training it sees the whole text. So it must be kept from looking at the answer, which
# is the next word. A [mask](../../GLOSSARY.md#mask) does that. Attention with a mask
# that hides the future is called [causal](../../GLOSSARY.md#causal):

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
# word.


# %%
def influence(**options):  # (T, T): how far output i moves if 1 is added to word j
    pushed = X + np.eye(T)[:, :, None]  # (T, T, D): sequence j has a new word j
    change = layer(pushed, **options).data - layer(X, **options).data  # (j, i, D)
    return np.abs(change).max(-1).T.round(9)

# %%
i, j = np.indices((T, T))
masks = {"none": None, "j <= i": j <= i, "i <= j": i <= j}
moved = {name: influence(mask=mask) for name, mask in masks.items()}
for name, m in moved.items():
    print(f"{name:7s} an output moved by a later word: {bool((m[j > i] > 0).any())}")
print("is_causal is j <= i:", np.allclose(influence(is_causal=True), moved["j <= i"]))

# %% [figure]
title = "Which inputs move which outputs?"
fig, axes = figure(title, columns=3, size=(7.2, 2.9), sharey=True)
most = max(m.max() for m in moved.values())
for ax, (name, m) in zip(axes, moved.items()):
    image = ax.imshow(m, cmap="Blues", vmin=0, vmax=most)
    ax.set(title=f"mask: {name}", xlabel="word j that is pushed")
    ax.grid(False)
axes[0].set_ylabel("output i")
fig.colorbar(image, ax=axes, shrink=0.8, label="movement")
alt = f"""Three panels, outputs down, pushed words across. Without a mask all
{(moved["none"] > 0).sum()} fields are coloured; with j <= i the lower triangle,
{(moved["j <= i"] > 0).sum()} fields; with i <= j the upper one."""
show(fig, "influence", alt)

# %% [markdown]
# The condition $j \le i$ is the causal one. With $i \le j$ a word sees itself and
# exactly what it should predict.
#
# > **The book says** (38.7) that masks "enforce the causal constraint $i \le j$". The
# > book calls $i$ the target, which has the queries, so this is the wrong triangle.

# %% [claims]
from lessons.instrument.verdict import below, over_seeds
from lessons.pages.claims import YES, claim, of_seeds

causal = not (moved["i <= j"][j > i] > 0).any()
claim("38.7", "a mask of $i \\le j$ is causal, with i for the target", YES, causal,
      "it is $j \\le i$; the other one shows the answer")

# %% [markdown]
# With a causal mask no old output depends on a new word. So when a model writes, the
# keys and values of old words can be kept and used again, in a [KV
# cache](../../GLOSSARY.md#kv-cache) ([lesson 17](../17_caches/README.md)).
#
# ## And if the keys come from elsewhere?
#
# A translator writes one sentence and looks at another. In
# [cross-attention](../../GLOSSARY.md#cross-attention) the queries come from the $L$
# words of the target, keys and values from the $S$ words of the source. This is what
# the decoder of [lesson 03](../03_additive/README.md) did. The weights are
# $L \times S$.
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
# Self-attention is [equivariant](../../GLOSSARY.md#equivariant): every word gets the
# output that it had before, at its new place. Cross-attention is invariant in its
# source, because a sum does not depend on the order of its parts. Both are blind to the
# order of words. [Lesson 11](../11_positions/README.md) adds it.
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
#   large.
#
# ```math
# x \leftarrow x + \mathrm{MultiHead}(\mathrm{LN}(x)), \qquad
# x \leftarrow x + W_2\, \phi(W_1\, \mathrm{LN}(x) + b_1) + b_2
# ```
#
# On the left $x$ is the matrix of all
# words; on the right it is the vector of one word, a column. $W_1$, $b_1$, $W_2$ and
# $b_2$ are learned, the same for all words. The arrow says that the right side becomes
# the new $x$.
#
# ![In which order do the parts of a block follow?](figures/block.svg)
#
# *A block from left to right: the input x passes a norm and an attention, which works
# between the words, and is added to x itself, which arrives on a line above. The sum
# passes a norm and a feed-forward network, which works on each word alone, and is added
# to itself again; the result goes to the next block.*
#
# The norm may stand before each part, as here ("pre"), or behind the sum, as in the
# first publication ("post"). In this method of a block, `f` is the attention or the
# feed-forward network, and `self.dropout` sets some numbers, at random, to 0 in
# training ([lesson 06](../06_masks/README.md)):

# %% [source] attention.transformer.block.Block._residual

# %% [markdown]
# ## Why the sum x + f(x)?
#
# Averaging makes vectors more alike. What happens in a stack? Take ten random words and
# twelve attentions in a row, untrained. After each, subtract the mean of the ten words
# from each word. The *spread* is the length of what is left, all numbers as one vector,
# divided by that of the ten words: 1 if their mean is 0, and 0 if all words are equal.
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

# %% [folded]
for name, row in spreads.items():
    print(*(f"{k}: {row[k - 1]:.0e}" for k in (1, 2, 4, 8, 12)), name, sep="   ")

# %% [figure]
fig, ax = figure("What is left of the differences between words?", size=(7.2, 2.8))
marks = zip(spreads.items(), ("o--", "s-", "^-."), (ORANGE, BLUE, GREEN))
for (name, row), style, colour in marks:
    ax.semilogy(range(1, 13), row, style, color=colour)
    ax.text(12.2, row[-1], name, color=colour, va="center")
ax.set(xlabel="attentions in a row", ylabel="spread of the words", xlim=(0.7, 14))
ax.set_xticks(range(1, 13))
alt = f"""Spread of the words against the number of attentions, logarithmic. With f(x)
alone it falls to {spreads["f(x)"][1]:.0e} after two and below a millionth after three.
With x + f(x) it stays near {spreads["x + f(x)"][-1]:.1f}; with an f(x) as long as x it
falls slowly, to {spreads["x + long f(x)"][-1]:.2f}."""
show(fig, "collapse", alt)

# %% [markdown]
# After two layers without the sum all words are nearly the same vector. Words that are
# more alike get weights that are more equal, and these weights make the words of the
# next layer more alike still. This is
# [rank collapse](../../GLOSSARY.md#rank-collapse) (Dong and others 2021). With the sum,
# each word keeps what it had. How much that helps depends on how long $f(x)$ is: with a
# long $f(x)$ the words collapse as well, only slowly.
#
# Which parts of a block does *training* need? We left out one at a time, in two blocks
# of width 32 that learn a small task (the table is [further
# below](#further-are-all-parts-necessary)). Without positions no model can solve it.
# Without the sum the blocks need more steps. Without the network or the norm they learn
# it as well: it is a task that does not need these two.
#
# ## What do trained heads look at?
#
# A [language model](../../GLOSSARY.md#language-model) predicts each next word. We
# trained six of them, from six seeds ([how to read a
# measurement](../../MEASURES.md)), on English sentences that a small grammar writes
# ([experiment.py](experiment.py)). Each has two blocks with four heads each; the heads
# of a block are a *layer* of heads. A phrase stands between some of the subjects and
# their verbs, as in "the women near the old dog see a child". Here is one of the eight
# heads of one model, the one with the most weight from the word before the verb to the
# subject of this sentence:

# %% [folded]
script = import_module("lessons.book.10_heads.experiment")
kept = record("heads")
print(how_made(kept))
found = kept["models"]
models = [run["heads"] for run in found["runs"]]
layers = np.repeat(range(script.LAYERS), script.HEADS)  # (8,)


def of_heads(value):  # (seeds, 8)
    return np.array([[value(head) for head in heads] for heads in models])


# %% [figure]
tokens = ["^", *script.EXAMPLE.split()]
subject, before_verb = tokens.index("children"), tokens.index("dog")
weights = np.array(found["runs"][0]["example"])  # (8, T, T)


def place(k):  # the layer and the head of number k of 8, counted from 1
    return int(k) // script.HEADS + 1, int(k) % script.HEADS + 1


def draw(layer, head):
    """Draw the weights of a head, counted from 1; a square marks the subject."""
    p = weights[layers == layer - 1][head - 1]  # (T, T)
    fig, ax = figure("Where does each of eight heads look?", size=(6, 4.8))
    image = ax.imshow(p, cmap="Blues", vmin=0, vmax=1)
    ax.set_xticks(range(len(tokens)), tokens, rotation=90)
    ax.set_yticks(range(len(tokens)), tokens)
    ax.plot(subject, before_verb, "s", mfc="none", mec=ORANGE, ms=12, mew=1.5)
    ax.set(title=f"layer {layer}, head {head}", xlabel="key", ylabel="query")
    ax.grid(False)
    fig.colorbar(image, ax=ax, shrink=0.6, label="weight")
    most, w = tokens[p[before_verb].argmax()], p[before_verb]
    said = f"""Layer {layer}, head {head}: the word before the verb, "dog", sends
    {w[subject]:.2f} to the subject, "children", and most, {w.max():.2f}, to "{most}"."""
    return fig, said, {ax: (tokens, tokens, p)}


there = weights[:, before_verb, subject]  # (8,)
means = of_heads(lambda head: head["subject"])[0]  # (8,), over sentences of the test
best = there.argmax()
alt = f"""A heatmap of a head of one of the six models, for the sentence
"{script.EXAMPLE}", queries down and keys across; ^ is the start sign. A square marks the
weight from the word before the verb, "dog", to the subject, "children". It is
{there[best]:.2f} in head {place(best)[1]} of layer {place(best)[0]}, and
{np.delete(there, best).max():.2f} or less in the other seven. The heatmap is a lower
triangle, because the model is causal."""
numbers = {"layer": [*range(1, script.LAYERS + 1)], "head": [*range(1, script.HEADS + 1)]}
show(draw, "eight-heads", alt, frames=numbers, start=place(best))

# %% [markdown]
# One sentence does not show what a head does. In the mean over all such sentences of the
# test, the most weight comes from head {{ place(means.argmax())[1] }} of layer
# {{ place(means.argmax())[0] }}: {{ f"{means.max():.2f}" }}, and
# {{ f"{means[best]:.2f}" }} from the head of the figure. So we measure.
#
# A verb *agrees* with its subject in *number*, singular or plural: "the woman sees",
# "the women see". It is often said that some heads follow this agreement. In "the women
# near the old dog see a child" the model has to look past the dog, and it has to do so
# from the word *before* the verb, where it predicts the verb. How much of its weight
# does a head send from there to the subject? Compare it with three simpler heads, which
# look from every word in the same way:
#
# - at a *distance*: they have the mean weight at the same distance, over all words;
# - at *nouns*: they have the mean weight on nouns at the same distance;
# - at the *first noun* of the clause, which in this grammar is always the subject. They
#   have the same weight there from other words at the same distance (we take the verb
#   and the adjective before "dog").
#
# A head *looks at the subject* if it has {{ f"{EXCESS:g}" }} more there than the
# largest of the three. That shows that it finds a place. It does not show that it
# follows agreement, because nothing in it depends on number. So we ask two more
# questions.
#
# **Does number matter?** Exchange the subject for a noun of the other number ("the
# woman near the old dog"). By how much does the weight on it change, up or down? As a
# control, exchange it for another noun of the same number ("the children near the old
# dog").
#
# **Does the model need the head?** Compare the probabilities of the two forms of a verb
# ("see" and "sees"); the model is right if the form that fits is the more probable. We
# count the clauses in which one of subject and noun before the verb is singular and the
# other plural. Then we remove one head.
#
# We ask this of two heads of each model: of the one that looks at the subject most, and
# of the one for which number matters most. They are chosen in other sentences.

# %% [folded]
def of_head(most, value):
    """Measure a head of each run: that with the most "excess" or "number"."""
    def measure(run):
        return value(run["heads"][script.head_with_most(most, run["heads"])], run)
    return fair.of_arm(found, "whole", measure)


columns = {
    "subject": lambda head, run: head["subject"],
    "simpler": lambda head, run: head["subject"] - script.excess(head),
    "same": lambda head, run: head["same"],
    "other": lambda head, run: head["other"],
    "right": lambda head, run: head["without"],
}
agree = fair.of_arm(found, "whole", "agreement").value
print(f"right verbs: {agree:.3f}, in the means over the models\n")
print("              weight on subject   change by a noun of   right verbs")
print("the head      its own   simpler   its number    other   without it")
for most, name in ("excess", "that looks"), ("number", "by number"):
    x = {key: of_head(most, value).value for key, value in columns.items()}
    print(f"{name:12s}{x['subject']:9.3f}{x['simpler']:10.3f}{x['same']:13.3f}"
          f"{x['other']:9.3f}{x['right']:13.3f}")  # fmt: skip
alike = sum(script.head_with_most("excess", heads)
            == script.head_with_most("number", heads) for heads in models)  # fmt: skip
looks_there = of_head("excess", lambda head, run: script.excess(head))
by_number = of_head("number", lambda head, run: script.number(head))
lost = {most: of_head(most, lambda head, run: run["agreement"] - head["without"])
        for most in ("excess", "number")}  # fmt: skip
print()
for claimed in (
    ("the first looks at the subject", above(EXCESS), looks_there),
    ("number changes the weights of the second", above(0), by_number),
    ("without the second more verbs are wrong", above(0), lost["number"]),
):
    print(judged(*claimed))

# %% [figure]
title = "Which heads does the number of a verb need?"
fig, axes = figure(title, columns=2, size=(7.2, 3.2), sharey=True)
whole = np.array([[run["agreement"]] for run in found["runs"]])  # (seeds, 1)
wrong = 100 * (whole - of_heads(lambda head: head["without"]))  # (seeds, 8)
shown = {"weight on the subject,\nabove simpler heads": of_heads(script.excess),
         "change of it by number,\nabove that by another noun": of_heads(script.number)}
for ax, (label, x) in zip(axes, shown.items()):
    for k, (colour, mark) in enumerate(zip((BLUE, ORANGE), "os")):
        at = x[:, layers == k].ravel(), wrong[:, layers == k].ravel()
        name = f"a head of layer {k + 1}"
        ax.plot(*at, mark, color=colour, ms=5, alpha=0.7, label=name)
    ax.set_xlabel(label)
axes[0].set_ylabel("verbs that become wrong\nwithout the head, in 100")
axes[1].legend(loc=(0.2, 0.42))
r = [np.corrcoef(x.ravel(), wrong.ravel())[0, 1] for x in shown.values()]
alt = f"""Verbs of 100 that get the wrong number without a head, a mark for each of
{wrong.size} heads, from {wrong.min():.0f} to {wrong.max():.0f}. Left against the weight
on the subject above simpler heads, with a correlation of {r[0]:.2f}; right against how
much more the weight changes by number than by another noun, with {r[1]:.2f}."""
show(fig, "agreement", alt)

# %% [markdown]
# If a head only found a place, a noun of the other number would change its weight as
# little as another noun does. In the second row it changes it by
# {{ f"{of_head('number', columns['other']).value:.2f}" }}, another noun by
# {{ f"{of_head('number', columns['same']).value:.2f}" }}. So the weight itself depends
# on number: the head looks at a subject of one number, and looks away from one of the
# other. (It may look so at other nouns, too. That we have not measured.) Without this
# head {{ f"{100 * lost['number'].value:.0f}" }} more of 100 verbs are wrong; without
# the one that looks at the subject most,
# {{ f"{100 * lost['excess'].value:.0f}" }}. In {{ alike }} of {{ len(models) }} models
# the two are the same head.
#
# Where a head looks does not say what the model needs it for. The exchange and the
# removal say more. But if another head can do the same, a removal shows too little: we
# removed one head at a time.
#
# ## What would break it?
#
# - `reshape(H, T, E)` without moving the axis: the right shape, with words and heads
#   mixed.
# - Dividing by $\sqrt D$ in place of $\sqrt E$: all weights are a little too even.
# - A mask with its axes exchanged: training looks excellent, because the model reads
#   the answers.
#
# **To take away: heads are small attentions side by side, each with its own question; a
# mask decides what a query may see; and a Transformer block adds a network for each
# word, a norm, and the sum x + f(x) that keeps words apart.**
#
# Exercises: E.10 (multi-head attention and its backward, by hand), E.7 (the masked
# softmax, [lesson 06](../06_masks/README.md)) and 6.4 (the memory of the scores):
# `python -m lessons start E.10`.
#
# ## Further: do heads become different by themselves?
#
# Two heads help if they look at different words. Nothing in the formula says that they
# should. What makes them differ?
#
# Here is a task that needs two heads. At every position the layer has to return the
# letter before it *and* the one before that. An input has 14 numbers: a
# [one-hot](../../GLOSSARY.md#one-hot) vector of 6 for the letter and one of 8 for the
# place. The first 12 outputs are compared with the two wanted letters, one-hot, by the
# squared error. We train one layer of two heads on it, from three starts: *drawn* at
# random; *twins*, where the second head is an exact copy of the first; and *twins,
# nudged*, a copy plus noise of size $`10^{-8}`$. What do you expect from the twins?


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
def draw(rng, n):  # letters and places (n, 8, 14), the two wanted letters (n, 6, 12)
    x = np.eye(6)[rng.integers(6, size=(n, 8))]
    past = [np.roll(x, k, 1)[:, 2:] for k in (1, 2)]
    where = np.broadcast_to(np.eye(8), (n, 8, 8))
    return np.concatenate([x, where], -1), np.concatenate(past, -1)


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
    print(f"{name:14s} loss {curves[name][-20:].mean():.4f}")
half = 5 / 36 / 2  # see below
print(f"loss if one of the two letters is known: {half:.4f}")

# %% [figure]
fig, ax = figure("Do two equal heads become different?", size=(7.2, 2.8))
for (name, each), colour, style in zip(
    curves.items(), (BLUE, ORANGE, GREEN), ("-", "--", "-.")
):
    ax.semilogy(each, style, color=colour)
    ax.text(142, each[-1] * 1.15, name, color=colour)
ax.axhline(half, color=GREY, lw=1, ls=":")
ax.text(0, half / 1.7, "one of the two letters known", color=GREY)
ax.set(xlabel="training step", ylabel="squared error", xlim=(-3, 168))
alt = f"""Loss by step, logarithmic. Drawn heads fall to
{curves["drawn"][-20:].mean():.4f}; twins stay at {curves["twins"][-20:].mean():.3f},
near a dotted line at {half:.3f}; nudged ones leave them near step 100 and then fall,
too."""
show(fig, "twins", alt)

# %% [markdown]
# Equal heads get equal gradients. They remain one head that is computed twice, and half
# of the task stays undone. A difference of $`10^{-8}`$ between them is enough: training
# enlarges it, and the loss falls. So the random start and the loss make heads
# different.
#
# Why half of 5/36? A wanted letter is six numbers, one of which is 1. Each of them
# is 1 with the probability 1/6, so its variance is 1/6 times 5/6. A model that
# knows one of the two letters leaves this variance for the other, and the loss is the
# mean of both. The twins do something else with the same loss. They look at both
# letters and pass on one mixture $m = a u + b v$ of an entry $u$ of the nearer and $v$
# of the other letter. What is the best guess $k m$ of $u$? Count $u$ and $v$ from their
# means; they are independent, with the same variance $\nu = 5/36$. The error is
#
# ```math
# \mathrm{mean}\big((u - k m)^2\big) = (1 - k a)^2 \nu + k^2 b^2 \nu
# ```
#
# Its derivative with respect to $k$ is $`-2 a (1 - k a)\, \nu + 2 k b^2 \nu`$, and it
# is 0 at $k = a / (a^2 + b^2)$. There $1 - k a = b^2 / (a^2 + b^2)$, so the error is
#
# ```math
# \nu\, \frac{b^4 + a^2 b^2}{(a^2 + b^2)^2} = \nu\, \frac{b^2}{a^2 + b^2}
# ```
#
# That of $v$ has $a^2$ above the fraction. For all $a$ and $b$ the sum of the two is
# $\nu$, as much as if the twins knew one letter and nothing of the other. Measured:

# %%
x, y = draw(np.random.default_rng(4), 500)
error = ((trained["twins"](x).data[:, 2:, :12] - y) ** 2).mean((0, 1))  # (12,)
print(f"twins: error of the letter before {error[:6].mean():.3f}, ", end="")
print(f"of the other one {error[6:].mean():.3f}, sum {error.mean() * 2:.3f}")

# %% [markdown]
# ## Further: are all parts necessary?
#
# We left out one part at a time and trained blocks of width 32 on a small task. A table
# holds an answer for each pair of tokens; at each of 8 positions the model has to give
# the answer for the [token](../../GLOSSARY.md#token) there and the one before it
# ([experiment.py](experiment.py)). The parts are the sum ("residual"), the feed-forward
# network, the norm, and the *positions*, numbers at the input that say where a token
# stands.
#
# Without positions a model can know its token and which other seven there are, but not
# which of them is the one before. Its best answer is the most frequent one of their
# seven answers. The first table has the results, each with the best of several rates.
# The second says for each rate after how many steps 95 of 100 answers were right, a
# mean of three other seeds:

# %%
without_order, kept = script.best_without_order(), record("transformer")
print(f"upper bound without positions: {without_order:.3f}")
parts, scale = kept["parts"], kept["scale"]


def steps_of(run, share=0.95):  # until so many answers are right, or infinity
    good = np.array(run["curve"]) >= share
    return parts["every"] * (1 + good.argmax()) if good.any() else np.inf


def steps_at(found, arm):  # with each rate
    return [fair.figures(found, arm, steps_of, "choices", rate).mean()
            for rate in found["rates"]]  # fmt: skip

# %% [folded]
print(how_made(kept))
print("without ...:", fair.table(parts, ("rate", "mean", "doubling")))


def print_steps(found):
    print("\nsteps to .95 ", *(f"rate {rate:<7g}" for rate in found["rates"]))
    for arm in found["arms"]:
        steps = (f"{n:.0f}" if n < np.inf else "not all" for n in steps_at(found, arm))
        print(f"{arm:13s}", *(f"{n:12s}" for n in steps))


print_steps(parts)
ratios = np.divide(steps_at(parts, "residual"), steps_at(parts, "nothing"))
ratios = ratios[ratios < np.inf]  # of the rates at which all runs learn

# %% [figure]
fig, ax = figure("Which blocks learn the table?", size=(7.2, 3.4))
colours, styles = (GREY, ORANGE, PURPLE, GREEN, BLUE), ("-", "--", "-", "-.", ":")
for y, (arm, colour, style) in enumerate(zip(parts["arms"], colours, styles)):
    for run in (run for run in parts["runs"] if run["arm"] == arm):
        steps = parts["every"] * (np.arange(len(run["curve"])) + 1)
        ax.semilogx(steps, run["curve"], style, color=colour, lw=1)
    ax.text(26, 0.93 - 0.08 * y, f"without {arm}", color=colour)
ax.axhline(without_order, color=GREY, lw=0.8, ls=":")
ax.set(xlabel="training step", ylabel="right answers (validation)", ylim=(0, 1.03))
alt = f"""Share of right answers by training step, logarithmic, five runs of each model.
All rise to 1, those without the residual connection last. Those without positions come
near to a dotted line at {without_order:.2f}, and stay there."""
show(fig, "parts", alt)

# %% [markdown]
# Without positions no training leads above the bound. All others learn the task, so it
# cannot say which of them is best. What differs is the time: with rates at which all
# runs learn, the blocks without the sum need {{ f"{min(ratios):.1f}" }} to
# {{ f"{max(ratios):.1f}" }} times as many steps as the whole blocks.
#
# ## Further: is the factor 1/√d necessary?
#
# A textbook says that a Transformer without it "would not train at all" (38.6). We
# train two blocks on the same task. Each has one head, so that $d_k$ is the width, 64
# as in the models that the textbook names. The output has the share of right answers
# for each learning rate, a mean of three seeds, and the steps as above:

# %%
print(fair.at_every_rate(scale))
print_steps(scale)
largest = max(scale["rates"])
last = fair.figures(scale, "unscaled", "figure", "choices", largest)

# %% [markdown]
# With the rate {{ f"{largest:g}" }} the unscaled models have
# {{ f"{last.min():.2f}" }} to {{ f"{last.max():.2f}" }} of the answers right. With each
# smaller rate they learn the task. So the factor is not necessary here: it makes a
# larger rate possible. A smaller start can do the same. T5 (Raffel and others 2020)
# does not divide its scores, but draws its $W_Q$ smaller by $\sqrt E$.
#
# ## Further: what the texts say
#
# > **The book says** (6.5.4) that multi-head attention is "specifically designed to
# > encourage" diversity. No term of the formula does so. Other sentences:
# >
# > - Some heads are "subject-verb agreement heads" (6.5.4). Here each model has a head
# >   whose weight depends on the number of the subject, and which it needs.
# > - Self-attention is permutation-*equivariant*: "the output representations do not
# >   change if the input sequence is shuffled" (6.5.5). The word is right; the
# >   explanation is that of *in*variance.
# > - Without any of four parts "the Transformer does not train effectively" (6.4.4).
# >   Here this holds for the positions.
# > - Without the factor $1/\sqrt d$ such models "would not train at all" (38.6). Here
# >   they train, if the learning rate is small enough.

# %% [claims]
Q, K, V = (rng.normal(size=(5, 8)) for _ in range(3))
one_by_one = np.concatenate([attention(q[None], K, V) for q in Q])
claim("38.9", "the matrix form is the loop form", YES,
      np.allclose(attention(Q, K, V), one_by_one), "equal to the last digits")
layer = begin(True, 0)
x, y = draw(np.random.default_rng(8), 16)
((layer(x)[:, 2:, :12] - y) ** 2).mean().backward()
g = layer.W_q.weight.grad
claim("6.5.4", "many heads are designed to become different", YES,
      not np.allclose(g[:7], g[7:]), "equal heads get equal gradients and stay equal")
layer, x = MultiHeadAttention(D, 3, bias=False), rng.normal(size=(7, D))
order = rng.permutation(7)
a, b = layer(x).data, layer(x[order]).data
same, moved_along = np.allclose(a, b), np.allclose(b, a[order], 1e-5)
claim("6.5.5", "shuffling the words does not change the outputs", YES, same,
      "they are shuffled in the same way")
claim("6.5.5", "self-attention is permutation-equivariant", YES, moved_along,
      "shuffled words, shuffled outputs")
for part in script.LACKING:
    claim("6.4.4", f"without {part} a Transformer does not train (two blocks: right "
          "answers below 0.9)", below(0.9), fair.of_arm(parts, part))
longer = fair.figures(parts, "residual", steps_of) / fair.figures(
    parts, "nothing", steps_of)
claim("6.4.4", "the sum x + f(x) makes training faster (two blocks: steps until 95 of "
      "100 answers are right, without it over with it, above 1)", above(1),
      over_seeds(longer))
stuck = of_seeds(fair.figures(scale, "unscaled"), below(0.2))
claim("38.6", "an unscaled Transformer does not train at all (two blocks of one head, "
      "d = 64: share of seeds with right answers below 0.2, chance is 0.125; nearly "
      "all, 0.9)", above(0.9), stuck)
claim("6.5.4", "some heads follow the agreement of subject and verb (in each model, "
      "the head for which number matters most: change of its weight on the subject by "
      "a noun of the other number, minus that by a noun of the same number: above 0.3)",
      above(0.3), by_number)
claim("6.5.4", "the number of a verb needs them (share of right verbs where the "
      "nearest noun has another number: with that head, minus without it: above 0)",
      above(0), lost["number"])

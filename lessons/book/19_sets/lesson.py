"""19  Sets, graphs, pictures  ●●●○  40 min  importance ★  needs 10, 11

What is attention without a sentence?
"""

# %% [markdown]
# The atoms of a molecule have no order, nor have the friends of a person, and a picture
# has two directions. All models of the course so far read sequences. What does
# attention compute for inputs that are no sequence, and what has to be added?
#
# *Why it matters: the same few lines of attention read molecules, pictures and tables.
# What differs is what one adds: a mask, a learned query, a second reading, positions.*

# %% [folded]
from importlib import import_module
from math import factorial

import numpy as np

import attention
import minigrad as mg
from attention import attend
from attention.masks import axial, neighbourhood
from attention.positions import patches, rope, rope_2d
from attention.variants.graph import SLOPE, leaky_scores
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import above
from lessons.pages.figures import BLUE, GREY, ORANGE, RED, figure, show

tasks = import_module("lessons.book.19_sets.experiment")
rng = np.random.default_rng(19)

# %% [markdown]
# ## Does the order of a set change the answer?
#
# Five elements of a set, as vectors, and the same five in another order. A GRU reads
# them one by one; attention reads them with one query. Which of the two results do you
# expect to be equal for both orders?

# %%
x = rng.normal(size=(5, 4)).astype(np.float32)  # (n = 5, D = 4)
order = np.array([3, 0, 4, 2, 1])
both = mg.Tensor(np.stack([x, x[order]]))  # (2, n, D)
query = mg.Tensor(rng.normal(size=(2, 1, 4)).astype(np.float32)[[0, 0]])
_, last = mg.nn.GRU(4, 4, rng=rng)(both)
pooled, _ = attend(query, both, both)
for name, result in ("GRU", last.data[0]), ("attention", pooled.data[:, 0]):
    for says, row in zip(("in this order", "in another"), result):
        print(f"{name:10} {says:14}", " ".join(f"{y:6.3f}" for y in row))

# %% [markdown]
# The GRU returns two different states for one set. The result of attention without
# positions does not depend on the order. The reason is one line. Let $P$ be a
# permutation matrix, which renumbers the rows of $X$:
#
# ```math
# Q K^\top \to P\, Q K^\top P^\top, \qquad
# \mathrm{softmax}(P S P^\top)\, P V = P\, \mathrm{softmax}(S)\, P^\top P V
# = P\, \mathrm{softmax}(S)\, V
# ```
#
# | letter | meaning |
# |---|---|
# | $X$ $(n, D)$ | the elements, in any order |
# | $`Q, K, V`$ | queries, keys and values, computed from each row of $X$ alone |
# | $S = Q K^\top$ | the scores; the softmax of a row does not depend on an order |
# | $P$ | a permutation matrix; $P^\top P$ is the identity |
#
# Self-attention is [*equivariant*](../../GLOSSARY.md#equivariant): its outputs are
# renumbered like its inputs. If the queries do not come from $X$, there is no $P$ in
# front: the result is *invariant*, it does not change at all.

# %%
layer = attention.MultiHeadAttention(4, 2, rng=rng)
once, renumbered = layer(both).data
print("equivariant", np.abs(renumbered - once[order]).max() < 1e-6)
print("invariant  ", np.abs(pooled.data[0] - pooled.data[1]).max() < 1e-6)

# %% [markdown]
# So a set needs no new formula. A graph, a summary, a chain of facts and a picture each
# need one.
#
# ## A graph: which neighbours does a node read?
#
# The mask is the graph: node $i$ may read node $j$ if there is an edge.
# [*Graph attention*](../../GLOSSARY.md#graph-attention) (GAT,
# [Velickovic and others 2018](https://arxiv.org/abs/1710.10903)) then averages the
# neighbours with these scores:
#
# ```math
# e_{ij} = f(a_1 \cdot W h_i + a_2 \cdot W h_j), \qquad
# h'_i = \sum_j \mathrm{softmax}_j(e_{ij})\, W h_j
# ```
#
# | letter | meaning |
# |---|---|
# | $h_i$ $(D)$, $`h'_i`$ $(A)$ | a node, before and after the layer |
# | $W$ $(A, D)$ | the learned matrix of a head, whose width is $A$ |
# | $`a_1, a_2`$ $(A)$ | learned vectors: the score adds a number of $i$ and one of $j$ |
# | $f$ | LeakyReLU: $z$ above 0, $0.2 z$ below; its slopes are 1 and $0.2$ |
#
# A worked example. Two nodes search, with $`s_i = a_1 \cdot W h_i = 3`$ and $-5$. Two
# nodes are read, with $`t_j = a_2 \cdot W h_j = 1`$ and $2$. We say that a node
# *prefers* the one with the largest score. Which one does each prefer?

# %%
s, t = np.array([[3.0], [-5.0]]), np.array([1.0, 2.0])
z = s + t  # (2, 2)
print(np.where(z > 0, z, SLOPE * z))

# %% [markdown]
# Both prefer the second. This is so for all numbers: $f$ grows, so the order of
# $`f(s_i + t_j)`$ over $j$ is the order of $`t_j`$, whatever $`s_i`$ is. One head has
# *one order of the neighbours for all nodes*
# ([Brody, Alon and Yahav 2022](https://arxiv.org/abs/2105.14491) call it *static*).
# Their *GATv2* applies $f$ first, and then sums over the width, with learned $W_l$,
# $W_r$ $(A, D)$ and $a$ $(A)$:
#
# ```math
# e_{ij} = a \cdot f(W_l h_i + W_r h_j)
# ```
#
# With $A = 2$ each of two nodes can prefer a different one:

# %%
x_i = mg.Tensor(np.array([[1.0, -1.0], [-1.0, 1.0]]))  # W_l h_i
y_j = mg.Tensor(np.array([[1.0, -1.0], [-1.0, 1.0]]))  # W_r h_j
print(leaky_scores(x_i, y_j, mg.Tensor(np.ones(2))).data)

# %% [markdown]
# This is the additive score of [lesson 03](../03_additive/README.md) with $f$ for the
# tanh. In how many of 1000 random draws do six nodes all prefer the same one of eight
# others? (*Dot* is the dot product.)

# %% [folded]
agree = {"GAT": 0, "GATv2": 0, "dot": 0}
for _ in range(1000):
    x_i, y_j, a = (rng.normal(size=n) for n in ((6, 16), (8, 16), (16,)))
    z = (x_i @ rng.normal(size=16))[:, None] + y_j @ a
    v2 = leaky_scores(*map(mg.Tensor, (x_i, y_j, a))).data
    scores = {"GAT": np.maximum(z, SLOPE * z), "GATv2": v2, "dot": x_i @ y_j.T}
    for name, e in scores.items():
        agree[name] += len(set(e.argmax(1))) == 1
    if len(set(v2.argmax(1))) == 4:
        shown = scores  # for the picture
print("all six prefer the same:", agree)

# %% [figure]
fig, axes = figure("Which neighbour does each node prefer?", columns=2, size=(7.4, 2.9))
for ax, name in zip(axes, ("GAT", "GATv2")):
    p = mg.softmax(mg.Tensor(shown[name])).data  # (6, 8)
    image = ax.imshow(p, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    ax.plot(p.argmax(1), range(6), "o", color=RED)
    ax.set(title=name, xlabel="node that is read", ylabel="node that reads")
    ax.grid(False)
fig.colorbar(image, ax=axes, label="weight")
alt = """Weights of six nodes for eight others, in a draw in which GATv2 has four
different answers; a red point marks the largest of each row. With GAT all six points
stand in one column."""
show(fig, "prefer", alt)

# %% [markdown]
# **Measured.** Four nodes search, each for a different one of four keys. Four other
# nodes hold a key and a value each. Every node that searches reads these four, in one
# layer, and a linear map of the average has to give the value that belongs to its key.
# A model that ignores the node's own key can still answer with the value that occurs
# most often.
#
# One head of GAT can do a little better, because $f$ is steep above 0 and flat below.
# All nodes prefer one key. For the node that searches for it, a large $`s_i`$ can lift
# the scores above 0, where they differ much. For the others the scores stay below 0,
# where they differ little, and the head returns nearly a mean. So *one key is served*.
# What do you expect of four heads? ([How to read a measurement](../../MEASURES.md)
# explains arms, rates, seeds, intervals and verdicts.)


# %% [folded]
def most_frequent(n, kinds):
    """Return the expected share of the most frequent of ``kinds``, in n draws."""
    mean = 0.0
    for c in range(n):  # the sum over c of P(the largest number is above c)
        p = np.polynomial.Polynomial([1 / factorial(i) for i in range(c + 1)]) ** kinds
        mean += 1 - (p.coef[n] if n < len(p.coef) else 0) * factorial(n) / kinds**n
    return mean / n


kept = record("sets")
often = most_frequent(tasks.K, tasks.K)
one_key = 1 / tasks.K + (1 - 1 / tasks.K) * often
print(how_made(kept))
print(f"the most frequent value: {often:.3f}; one key served: {one_key:.3f}")

# %%
GRAPHS = ("GAT", "GAT, 4 heads", "GATv2", "dot")
COLUMNS = "rate", "every seed", "doubling"
print(fair.table(kept["lookup"], COLUMNS, GRAPHS))
print(fair.judge(kept["lookup"], ("GATv2 is ahead of GAT", above(0), "GATv2", "GAT")))

# %% [markdown]
# In this task, at this size, no run with one head of GAT passes "one key served". But
# it would be wrong to conclude that GAT cannot do the task. The proof is about the
# order in one head, not about what a layer can do. Four heads can prefer four different
# keys. Then for each node the head of its key returns the value, and the others return
# nearly a mean, which favours no value. That takes a head for each key, and training
# has to give each head another one. It did so (with more than 95 of 100 answers right)
# in {{ int((fair.figures(kept["lookup"], "GAT, 4 heads") > 0.95).sum()) }} of
# {{ len(kept["lookup"]["seeds"]) }} runs. GATv2 needs one head. So does a scaled dot
# product, which costs less: $`f(W_l h_i + W_r h_j)`$ needs $n^2 A$ numbers in between.
#
# ## A summary: what remains of n elements in one vector?
#
# The usual answer is the mean, or the largest value, of each entry. Attention has a
# third answer: a learned query. *Pooling by multi-head attention* (PMA,
# [Lee and others 2019](https://arxiv.org/abs/1810.00825)) has $m$ learned vectors $I$:
#
# ```math
# H = \mathrm{LN}(I + \mathrm{MultiHead}(I, X, X)), \qquad
# \mathrm{PMA}(X) = \mathrm{LN}(H + \mathrm{ffn}(H))
# ```
#
# LN is the layer norm, and ffn the network for each element, of [lesson
# 10](../10_heads/README.md). The result has $m$ rows for any $n$, and does not depend
# on the order of $X$. In the code `mab` computes both formulas, and `seeds` is $I$:

# %% [source] attention.variants.sets.PMA.forward

# %% [markdown]
# **Measured.** A set of 2 to 12 pairs of numbers from 0 to 1, and three questions: the
# mean of all first numbers; the largest first number; and the second number that stands
# *beside* the largest first one. Mean pooling suits the first question, max pooling the
# second, and attention the third: find the largest, return what is beside it. *Sum*
# pooling is that of *Deep Sets*
# ([Zaheer and others 2017](https://arxiv.org/abs/1703.06114)): with wide enough
# networks before and after it, it can represent every continuous function of sets of a
# limited size. The *explained share* is 1 minus the mean squared error divided by the
# variance of the right numbers. The arms without attention have about as many
# parameters as PMA, in a larger network for each element. The *Perceiver*
# ([below](#further-how-do-n-elements-read-each-other-by-way-of-m-vectors)) has more.

# %%
pooling = kept["pooling"]
each = [(name, ("explained", name)) for name in tasks.WANTED]
print(fair.table(pooling, ("rate", "numbers", "mean", *each, "doubling")))
claim = "PMA is ahead of mean and max", above(0), "PMA", "mean and max"
print(fair.judge(pooling, claim))
beside = ("explained", "beside")
print(fair.judge(pooling, ("beside alone: " + claim[0], *claim[1:], beside)))

# %% [figure]
fig, axes = figure("Which pooling keeps what is wanted?", columns=3, size=(8.2, 2.9),
                   sharex=True, sharey=True)  # fmt: skip
arms = pooling["arms"]
for ax, wanted in zip(axes, tasks.WANTED):
    for i, arm in enumerate(arms):
        x = fair.figures(pooling, arm, ("explained", wanted))
        ax.plot(x, np.full(len(x), i), "o", ms=5, color=BLUE, alpha=0.6)
    ax.set(title=wanted, xlabel="explained share", ylim=(len(arms) - 0.5, -0.5))
axes[0].set(yticks=range(len(arms)), yticklabels=arms)
means = {a: fair.figures(pooling, a, ("explained", "beside")).mean() for a in arms}
means = "; ".join(f"{arm} {x:.2f}" for arm, x in means.items())
alt = f"""Explained shares of the three numbers, a point for each of
{len(pooling["seeds"])} runs. Means for what stands beside the largest: {means}."""
show(fig, "pooling", alt)

# %% [markdown]
# Mean and sum are worst at what stands beside the largest, and the maximum is worst at
# the mean. With mean and maximum side by side, the three numbers together are nearly as
# well explained as by PMA: the difference is too small to count. For what stands beside
# the largest, PMA is a little better. The sum could represent all three in a wider
# network. In this one it is not ahead of the mean, and both still rise. What a pooling
# can represent is not always what it learns.
#
# ## A chain of facts: how often must a memory be read?
#
# "Ann has the apple. Ben has the book. Ann is in the kitchen. Ben is in the garden.
# Where is the apple?" One attention compares the question with all facts, and "apple"
# fits one of them. The place stands in another fact, about a person whom the question
# does not mention. So read the memory, and read it again with the result as the query.
# A *memory network* ([Sukhbaatar and others 2015](https://arxiv.org/abs/1503.08895))
# does this in [*hops*](../../GLOSSARY.md#hop):
#
# ```math
# p_j = \mathrm{softmax}_j(u \cdot k_j), \qquad u \leftarrow u + \sum_j p_j c_j
# \qquad \text{or} \qquad u \leftarrow \sum_j p_j c_j
# ```
#
# | letter | meaning |
# |---|---|
# | $u$ $(D)$ | the question; each hop replaces it by the next one |
# | $`k_j, c_j`$ $(D)$ | key and value of fact $j$ (in the code `m` and `c`, as in the paper) |
#
# In the second form, a hop whose weights are 0 and 1 replaces a key by its value. So
# two hops replace a thing by a person, and the person by a place. (Fact 0 is Ann and
# the apple, fact 2 Ann and the kitchen; keys times 30 make the weights 0 and 1.)

# %%
has, at = np.array([3, 2]), np.array([5, 4])  # apple 0, book 1; Ann 3, Ben 2; places
keys, values = np.eye(6)[[0, 1, 3, 2]], np.eye(6)[[*has, *at]]
names = ["apple", "book", "Ben", "Ann", "garden", "kitchen"]
for hops in (1, 2):
    u, p = attention.hops(*map(mg.Tensor, (np.eye(6)[0], 30 * keys, values)), hops=hops,
                          add=False)  # fmt: skip
    found = [int(fact) for fact in p.data.argmax(-1)]
    print(f"hops {hops}: {names[u.data.argmax()]:8} facts that were read: {found}")

# %% [markdown]
# **Measured.** There are eight things, eight persons and eight places; each person has
# one thing and is at one place. A word has a vector in a table. With one table for
# keys, values and questions, a person has the same vector as a value and as a key. The
# paper ties its tables in two other ways. *Apart*: one table each for keys, values and
# questions, which both hops use. *Adjacent*: the table of values of the first hop is
# the table of keys of the second. A model that does not find the second fact can still
# answer with the place where most persons are.


# %% [folded]
def reached(part, arm, share=0.9):
    """Return after how many steps each run has a figure of ``share``, in words."""
    found, steps = kept[part], []
    for run in (run for run in found["runs"] if run["arm"] == arm):
        good = np.flatnonzero(np.array(run["curve"]) >= share)
        steps.append(str(found["every"] * (good[0] + 1)) if len(good) else "not")
    return " ".join(steps)


chain = kept["chain"]
often = most_frequent(tasks.N, tasks.N)
print(f"the place of most persons: {often:.3f}")
steps = {arm: reached("chain", arm) for arm in chain["arms"]}
print(fair.table(chain, ("rate", "mean", "doubling", ("steps until .9", steps))))
print(fair.judge(chain, ("2 hops are ahead of 1 hop", above(0), "2 hops", "1 hop")))

# %% [figure]
fig, axes = figure("Which facts does each hop read?", rows=2, size=(7.4, 3.6))
[[keys], [values], [thing], [place]] = tasks.facts(1, 7)
runs = {run["arm"]: run["p"] for run in kept["chain"]["runs"] if run["seed"] == 1}
person = values[thing] - tasks.N
for ax, arm in zip(axes, ("2 hops", "2 hops, apart")):
    image = ax.imshow(runs[arm], cmap="Blues", vmin=0, vmax=1, aspect="auto")
    ax.set(yticks=[0, 1], yticklabels=["hop 1", "hop 2"], title=arm)
    ax.set(xticks=range(2 * tasks.N))
    ax.set_xticklabels([f"t{k}" if k < tasks.N else f"p{k - tasks.N}" for k in keys])
    ax.axvline(tasks.N - 0.5, color=GREY)
    ax.grid(False)
    fig.colorbar(image, ax=ax, label="weight")
axes[1].set_xlabel("fact: who has thing t, where person p is")
alt = f"""Weights of two hops over sixteen facts, seed 1. The question is thing {thing},
which person {person} has, so the chain is t{thing}, then p{person}. With one table, the
weight of t{thing} in hop 1 is {runs["2 hops"][0][thing]:.2f}, and of p{person} in hop 2
{runs["2 hops"][1][tasks.N + person]:.2f}."""
show(fig, "hops", alt)

# %% [markdown]
# One hop reaches about the share of the place of most persons, and two hops find the
# chain. With three tables apart this takes more steps. Why? The value of a fact has to
# be the *key* of the next one. With one table it is so from the start, and with
# adjacent tables too: a person's vector as a value of the first hop is its vector as a
# key of the second. Apart, it has to be learned, and a second hop lowers the loss only
# after the first one finds its fact.
#
# ## A picture: what is the position of a patch?
#
# Cut the picture into square [*patches*](../../GLOSSARY.md#patch)
# ([Dosovitskiy and others 2021](https://arxiv.org/abs/2010.11929)); each is a vector of
# all its numbers, and a linear map makes a token of it.

# %% [folded]
pictures, colours = tasks.mosaics(np.random.default_rng(3), 1)
tokens = patches(mg.Tensor(pictures), tasks.P)
print("picture", pictures.shape[1:], " tokens", tokens.shape[1:])
i = 7  # the second row, the third column
row, column = i // tasks.SIDE, i % tasks.SIDE
block = pictures[0, row * tasks.P : (row + 1) * tasks.P]
block = block[:, column * tasks.P : (column + 1) * tasks.P]
same = np.array_equal(tokens.data[0, i], block.ravel())
print(f"token {i} is row {row}, column {column}: {same}")

# %% [markdown]
# The tokens are a set again: the result of attention does not depend on which patch is
# beside which. If we number the patches row by row, like words, then the patch to the
# right is at the distance 1. But the last patch of a row and the first one of the next
# row are at the distance 1 as well. Rotary positions (RoPE,
# [lesson 11](../11_positions/README.md)) rotate each pair of entries of a query and of
# a key by an angle that grows with the place. They can have both directions: rotate one
# half of the pairs by the row, the other half by the column
# ([Heo and others 2024](https://arxiv.org/abs/2403.13298)).
#
# ```math
# q_i^\top k_j = \sum_{d \in \text{first half}} |q_d| |k_d| \cos(\phi_d + \theta_d (\mathrm{row}_i - \mathrm{row}_j))
# + \sum_{d \in \text{second half}} |q_d| |k_d| \cos(\phi_d + \theta_d (\mathrm{col}_i - \mathrm{col}_j))
# ```
#
# Here $d$ is a pair of entries, $`q_d`$ and $`k_d`$ are this pair of the query and of
# the key, $`\phi_d`$ is the angle between them, $`\theta_d`$ the frequency of the pair,
# and token $i$ stands at this row and this column. Only the difference of the rows and
# that of the columns count. So if both tokens move by two rows and one column, the
# score does not change. RoPE by the number of the patch has the same score for a
# neighbour and for the first patch of the next row. Here are the scores of one query
# and one key at three pairs of places:

# %% [folded]
both = mg.Tensor(rng.normal(size=(2, 16)))  # q and k
print(f"{'(row, column) of both':29}{'':18}2-D RoPE   RoPE")
for says, rows, columns in (
    ("right neighbour", [0, 0], [1, 2]),
    ("right neighbour, moved", [2, 2], [2, 3]),
    ("no neighbour: the next row", [0, 1], [4, 0]),
):
    rows, columns = np.array(rows), np.array(columns)
    a, b = rope_2d(both, rows, columns).data  # rotated q and k
    c, d = rope(both, rows * tasks.SIDE + columns).data
    where = f"({rows[0]}, {columns[0]}) and ({rows[1]}, {columns[1]})"
    print(f"{says:27} {where:20} {a @ b:7.3f} {c @ d:7.3f}")

# %% [markdown]
# **Measured.** "Which colour is at row 2 and column 4?" The question is a learned
# vector of the row plus one of the column. A picture has {{ tasks.SIDE }} by
# {{ tasks.SIDE }} patches, each in one of six colours, with noise. Five arms differ in
# how a key depends on its place. *None*: not at all. *A vector a place*: a learned
# vector for each place is added. *Row + column*: a learned vector of the row and one of
# the column are added. *RoPE* rotates by the number of the patch, *2-D RoPE* by row and
# column. Five places, one in each row and column, are never asked in training, only in
# a second test. Which arms can answer there?

# %%
places = kept["places"]
often = most_frequent(tasks.SIDE**2, len(tasks.COLOURS))
print(f"the most frequent colour: {often:.3f}; chance {places['chance']:.3f}")
print(fair.table(places, ("rate", "mean", ("never asked", "unseen"), "doubling")))
pair = "2-D RoPE", "RoPE"
print(fair.judge(places, ("2-D RoPE is ahead of RoPE", above(0), *pair)))

# %% [figure]
fig, axes = figure(
    "Which positions find a row and a column?", columns=2, size=(8.4, 3.4)
)
axes[0].imshow(np.clip(pictures[0], 0, 1))
for r, s in zip(*np.nonzero(tasks.UNSEEN.reshape(tasks.SIDE, tasks.SIDE))):
    axes[0].text((s + 0.5) * tasks.P, (r + 0.5) * tasks.P, "×", color="white",
                 ha="center", va="center", fontsize=15)  # fmt: skip
middles = tasks.P * (np.arange(tasks.SIDE) + 0.5) - 0.5
axes[0].set(xticks=middles, yticks=middles, xlabel="column", ylabel="row")
axes[0].set(xticklabels=range(tasks.SIDE), yticklabels=range(tasks.SIDE))
axes[0].set(title="a picture; × is never asked in training")
arms = kept["places"]["arms"]
for i, arm in enumerate(arms):
    for what, colour, dx in ("figure", BLUE, -0.12), ("unseen", ORANGE, 0.12):
        x = fair.figures(kept["places"], arm, what)
        axes[1].plot(x, np.full(len(x), i + dx), "o", ms=4, color=colour, alpha=0.7)
axes[1].axvline(often, color=GREY, ls=":", lw=1)
axes[1].text(often + 0.01, 3.65, "most frequent colour", color=GREY, size=8)
axes[1].text(0.97, 0.95, "places of the training", color=BLUE, size=8, ha="right")
axes[1].text(0.13, 1.2, "others", color=ORANGE, size=8, ha="right")
axes[1].set(yticks=range(len(arms)), yticklabels=arms, xlim=(0, 1.03))
axes[1].set(xlabel="share of right colours", ylim=(len(arms) - 0.5, -0.5))
axes[1].set(title=f"a point for each of {len(kept['places']['seeds'])} runs")
means = {
    what: [f"{arm} {fair.figures(places, arm, what).mean():.2f}" for arm in arms]
    for what in ("figure", "unseen")
}
alt = f"""Left: a drawn picture of {tasks.SIDE} by {tasks.SIDE} patches. Right: shares
of right colours at places that training asked for, means: {"; ".join(means["figure"])};
and at the others: {"; ".join(means["unseen"])}."""
show(fig, "places", alt)

# %% [markdown]
# If the score is a sum of a part for the row and a part for the column, it is right at
# places that were never asked, because training has asked for each row and each column.
# With a vector for each place, training has never asked for the vectors of the other
# places, and there the arm is near chance. RoPE by the number of a patch does not suit
# this question: its scores depend on {{ str(tasks.SIDE) }} times the row plus the
# column, by cosines, and are no such sum. Its five runs are in two groups. Questions
# about differences, such as "two to the left of the star", were not measured.
#
# ## What would break it?
#
# - Positions in a set: with a vector for each place, the answer depends on the order
#   again.
# - Padding: a set that is filled up with zeros is another set. Mask the zeros where $X$
#   gives the keys, and leave them out of a mean.
# - Equal rows of $I$: they get equal gradients and stay equal
#   ([lesson 10](../10_heads/README.md)'s twins). Draw them at random.
# - A graph without edges from a node to itself: a node without neighbours has an empty
#   average, which is 0.
# - A question with one vector for each pair of row and column: a pair that training
#   never asked for has an untrained vector, whatever the positions of the keys are.
#
# **To take away: attention is a function of a set, so an order is something that one
# adds; for a graph it is a mask, for a picture two positions, for a summary a learned
# query, for a chain a second reading, and what a variant can do depends on the rest of
# the model as much as on its scores.**
#
# Exercises: E.24 (the flaw of GAT, shown and mended): `python -m lessons start E.24`.
# Other tasks and arms: `python -m lessons experiment 19`.
#
# ## Further: how do n elements read each other by way of m vectors?
#
# If each of $n$ elements needs the others, self-attention
# has $n^2$ scores. In *ISAB* (the same paper) the elements read each other by way of
# $m$ learned vectors: $I$ reads $X$, and then $X$ reads the result.
#
# ```math
# \mathrm{MAB}(X, Y) = \mathrm{LN}(H + \mathrm{ffn}(H)), \quad
# H = \mathrm{LN}(X + \mathrm{MultiHead}(X, Y, Y)), \qquad
# \mathrm{ISAB}(X) = \mathrm{MAB}(X, \mathrm{MAB}(I, X))
# ```
#
# Without the networks, the weights of each head between elements are a product of a
# matrix $(n, m)$ and a matrix $(m, n)$. What is its rank at most? And are ISAB and PMA
# equivariant or invariant?

# %%
n, m, D = 12, 3, 16
X, I = mg.Tensor(rng.normal(size=(n, D))), mg.Tensor(rng.normal(size=(m, D)))
collected, p_in = attend(I, X, X)  # p_in (m, n)
_, p_out = attend(X, collected, collected)  # (n, m)
print("rank of ISAB's weights", np.linalg.matrix_rank((p_out @ p_in).data), "of", n)
print("of self-attention's   ", np.linalg.matrix_rank(attend(X, X, X)[1].data))

# %%
isab, pma = attention.ISAB(D, 4, m, rng=rng), attention.PMA(D, 4, m, rng=rng)
X = mg.Tensor(rng.normal(size=(n, D)).astype(np.float32))
order = rng.permutation(n)
for name, f, same in ("ISAB equivariant", isab, order), ("PMA invariant", pma, ...):
    print(f"{name:16}", np.allclose(f(X[order]).data, f(X).data[same], atol=1e-5))
n, m = 4096, 32
print(f"scores for n = {n}: {n * n} in self-attention, {2 * n * m} with m = {m}")

# %% [markdown]
# The *Perceiver* ([Jaegle and others 2021](https://arxiv.org/abs/2103.03206)) continues
# with the $m$ vectors alone: they read the input, then each other, several times. In
# the table of the pooling task above it has $m = 1$ and one reading, and about the
# share of PMA. (An earlier study chose its rate with one seed. There it was far behind
# in some runs, and this was a fact about the rate.) How does ISAB do in the lookup of
# the graph above, where all eight nodes are now one set, without edges?

# %%
print(fair.table(kept["lookup"], COLUMNS, ("ISAB, m = 2", "dot")))

# %% [markdown]
# Two vectors are enough for four pairs of key and value. The rank of the weights is at
# most $m$, but a vector has {{ tasks.WIDTH }} numbers, computed by four heads, and the
# network after it reads them together with the element's own key.
#
# ## Further: what each costs
#
# | | scores | needs also | cannot |
# |---|---|---|---|
# | GAT | edges | $A$ numbers a node | let two nodes prefer different ones, in one head |
# | GATv2 | edges | $A$ numbers an edge | read beyond its neighbours in one layer |
# | PMA | $n m$ | $m$ learned vectors | keep more than $m$ vectors |
# | ISAB | $2 n m$ | $m$ learned vectors, two MABs | be causal: the $m$ vectors have read all |
# | $h$ hops | $h n$ for a question | values that are keys of other facts | follow more than $h$ facts |
# | 2-D RoPE | as RoPE | a width that is a multiple of 4 | score by distances of another kind |
#
# ## Further: a sentence about a picture
#
# In *Show, attend and tell* ([Xu and others 2015](https://arxiv.org/abs/1502.03044)) a
# decoder writes a sentence about a picture. Before each word it attends to the patches,
# with its state as the query. *Soft* attention averages all patches. *Hard* attention
# draws one of them, which saves the products of the average and not those of the
# scores, and has to learn by REINFORCE ([lesson 15](../15_weights/README.md), Further).
# We have not trained it on pictures here.
#
# ## Further: masks of a picture
#
# A picture of $R$ by $R$ patches has $n = R^2$ tokens and $R^4$ scores. The *axial*
# mask ([Ho and others 2019](https://arxiv.org/abs/1912.12180)) allows the own row and
# the own column, $2R - 1$ keys; a *neighbourhood*
# ([Parmar and others 2018](https://arxiv.org/abs/1802.05751)) those at most $w$ rows
# and columns away, $(2w + 1)^2$ at most. After how many layers can the output at each
# patch depend on all patches?


# %%
def edges(mask, R):
    """Return which patches each patch reads, bool (R^2, R^2)."""
    i = np.arange(R * R)
    return mask.allowed(0, 0, i[:, None], i)


def layers(reads):
    """Return after how many layers the patch in the corner depends on all others."""
    known, n = reads[0], 1
    while not known.all():
        known, n = reads[known].any(0), n + 1
    return n


# %%
print("   R       all  axial  near, w = 2     layers: axial  near")
for R in (5, 16, 32):
    a, b = edges(axial(R), R), edges(neighbourhood(R, 2), R)
    print(f"{R:4} {R**4:9} {a.sum():6} {b.sum():12} {layers(a):17} {layers(b):5}")

# %% [figure]
fig, axes = figure("Which patches does one patch read?", columns=3, size=(7.4, 2.6))
R, here = 9, 3 * 9 + 5
a, b = edges(axial(R), R), edges(neighbourhood(R, 2), R)
shown = [a[here], b[here], a[a[here]].any(0)]
for ax, says, read in zip(axes, ("axial", "near, w = 2", "axial, two layers"), shown):
    ax.imshow(read.reshape(R, R), cmap="Blues", vmin=0, vmax=1.6)
    ax.plot(here % R, here // R, "o", color=RED, label="the query")
    ax.set(title=says, xlabel="column", ylabel="row")
    ax.set(xticks=range(0, R, 2), yticks=range(0, R, 2))
axes[0].legend(fontsize=7, loc="lower left")
counts = [int(read.sum()) for read in shown]
alt = f"""Three pictures of {R} by {R} patches; blue is what the marked patch reads:
{counts[0]} patches with the axial mask, {counts[1]} near it, and all {counts[2]} after
two axial layers."""
show(fig, "masks", alt)

# %% [markdown]
# ## Further: an address that moves
#
# In a memory without an order there is no next place. The *Neural Turing Machine*
# ([Graves, Wayne and Danihelka 2014](https://arxiv.org/abs/1410.5401)) computes its
# weights in four steps: softmax of the content, mix with the last weights, move,
# sharpen.
#
# ```math
# p \leftarrow \mathrm{softmax}(\beta \cos(k, m_j)), \quad
# p \leftarrow g\, p + (1 - g)\, p^{\mathrm{last}}, \quad
# p_j \leftarrow \sum_d z_d\, p_{j - d}, \quad
# p_j \leftarrow \frac{p_j^\gamma}{\sum_n p_n^\gamma}
# ```
#
# | letter | meaning |
# |---|---|
# | $k$, $m_j$, $\beta$ | the key, row $j$ of the memory, and how much their cosine counts |
# | $g$ | 1: by content; 0: stay at the last weights |
# | $z_d$ | the weights of a move by $d = -1, 0, 1$ |
# | $\gamma$ | 1 or more; a move by $z$ spreads the weights, and a large $\gamma$ undoes it |

# %%
memory, key = rng.normal(size=(6, 4)), rng.normal(size=4)
last = np.eye(6)[2]
numbers = (mg.Tensor(np.array(x)) for x in (2.0, 0.0, [0.0, 0.0, 1.0], 1.0))
moved = attention.address(*map(mg.Tensor, (key, memory, last)), *numbers)
print("moved by one  ", moved.data.round(3).tolist())
for gamma in (1.0, 4.0):
    numbers = (mg.Tensor(np.array(x)) for x in (2.0, 0.0, [0.1, 0.8, 0.1], gamma))
    p = attention.address(*map(mg.Tensor, (key, memory, last)), *numbers)
    print(f"gamma = {gamma}   ", p.data.round(3).tolist())

# %% [markdown]
# Like the location-sensitive attention of [lesson 16](../16_pointing/README.md), it
# computes the weights from the last ones. We have not trained it here.

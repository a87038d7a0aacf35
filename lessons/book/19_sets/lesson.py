"""19  Sets, graphs, pictures  ●●●○  40 min  importance ★  needs 10, 11, 14

What is attention without a sentence?
"""

# %% [markdown]
# The atoms of a molecule have no order, nor have the friends of a person, and a picture
# has two directions. All models of the course so far read sequences. What does
# attention compute for inputs that are no sequence, and what has to be added?
#
# [Lesson 14](../14_checks_the_book/README.md) is needed for the measurements only.

# %%
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
from lessons.instrument.verdict import above, between
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, PURPLE, RED, figure, run_curves, show,
)

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
# The GRU returns two different states for one set, so it would have to learn from
# examples in many orders that the order does not matter. The result of attention
# without positions does not depend on the order. The reason is one line. Let $P$ be a
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
# renumbered like its inputs. If the queries do not come from $X$, the $P$ in front is
# missing too: the result is *invariant*, it does not change at all.

# %%
layer = attention.MultiHeadAttention(4, 2, rng=rng)
once, renumbered = layer(both).data
print("equivariant", np.abs(renumbered - once[order]).max() < 1e-6)
print("invariant  ", np.abs(pooled.data[0] - pooled.data[1]).max() < 1e-6)

# %% [markdown]
# So a set needs no new formula. A graph, a summary, a chain of facts and a picture each
# need one. They follow in this order.
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
# | $f$ | LeakyReLU: $z$ above 0, and $0.2 z$ below |
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
# Their *GATv2* applies $f$ first, and then sums over the width:
#
# ```math
# e_{ij} = a \cdot f(W_l h_i + W_r h_j)
# ```
#
# With two hidden units, node 1 may prefer node 1 and node 2 prefer node 2:

# %%
x_i = mg.Tensor(np.array([[1.0, -1.0], [-1.0, 1.0]]))  # W_l h_i
y_j = mg.Tensor(np.array([[1.0, -1.0], [-1.0, 1.0]]))  # W_r h_j
print(leaky_scores(x_i, y_j, mg.Tensor(np.ones(2))).data)

# %% [markdown]
# This is the additive score of [lesson 03](../03_additive/README.md) with $f$ for the
# tanh. There we saw that without the tanh the query has no effect. Is it so here, with
# the slope 1, where $f(z) = z$? And in how many of 1000 random draws do six nodes all
# prefer the same one of eight others? (*Dot* is the dot product.)

# %%
x_i, y_j, a = (mg.Tensor(rng.normal(size=n)) for n in ((6, 16), (8, 16), (16,)))
p = mg.softmax(leaky_scores(x_i, y_j, a, slope=1.0)).data
print("slope 1: all rows of weights equal:", np.allclose(p, p[0]))
agree = {"GAT": 0, "GATv2": 0, "dot": 0}
for _ in range(1000):
    x_i, y_j, a = (rng.normal(size=n) for n in ((6, 16), (8, 16), (16,)))
    z = (x_i @ rng.normal(size=16))[:, None] + y_j @ a
    v2 = leaky_scores(*map(mg.Tensor, (x_i, y_j, a))).data
    scores = {"GAT": np.maximum(z, SLOPE * z), "GATv2": v2, "dot": x_i @ y_j.T}
    for name, e in scores.items():
        agree[name] += len(set(e.argmax(1))) == 1
print("all six prefer the same:", agree)

# %% [markdown]
# **Measured.** Eight nodes search, each for another one of eight keys. Eight other
# nodes hold a key and a value each. Every node that searches reads the eight others, in
# one layer, and a linear map of the average has to give the value that belongs to its
# key. A model that ignores the node's own key can still answer with the value that
# occurs most often:


# %%
def most_frequent(n, kinds):
    """Return the expected share of the most frequent of ``kinds``, in n draws."""
    mean = 0.0
    for c in range(n):  # the sum over c of P(the largest number is above c)
        p = np.polynomial.Polynomial([1 / factorial(i) for i in range(c + 1)]) ** kinds
        mean += 1 - (p.coef[n] if n < len(p.coef) else 0) * factorial(n) / kinds**n
    return mean / n


# %%
AHEAD, AS = ("ahead of", above(0)), ("within .02 of", between(-0.02, 0.02))


def compare(part, a, claim, b, what="figure"):
    """Print the difference of two arms of a comparison, and the verdict on a claim."""
    says, allowed = claim
    print(fair.judge(kept[part], (f"{a} {says} {b}", allowed, a, b, what)))


# %% [markdown]
# One head of GAT can do a little better, because the slope of $f$ changes at 0. All
# nodes prefer the same key. For the node that searches for this key, let a large
# $`s_i`$ lift the scores above 0, where the slope is 1: they differ so much that the
# head reads this key alone. For all other nodes, let the scores stay below 0, where the
# slope is {{ str(SLOPE) }}: they differ so little that the head returns nearly a mean.
# Such a head is right for one key, and else as often as the most frequent value; the
# output calls it *one key served*. What do you expect of eight heads, if one linear map
# for all nodes follows them? (In the tables of this page, *rate* is the learning rate
# that validation chose, *numbers* the number of parameters, and *plateaus* the runs that ended at a plateau: better
# than a simple answer, and no longer improving. If a compared run had none, the verdict
# says after how many steps it ended.)

# %%
kept = record("sets")
print(how_made(kept))
often = most_frequent(tasks.K, tasks.K)
one_key = 1 / tasks.K + (1 - 1 / tasks.K) * often
print(f"the most frequent value: {often:.3f}; one key served: {one_key:.3f}")
GRAPHS = ("GAT", "GAT, 8 heads", "GATv2", "dot")
print(fair.table(kept["lookup"], arms=GRAPHS))
compare("lookup", "GATv2", AHEAD, "GAT")
compare("lookup", "GAT, 8 heads", AHEAD, "GAT")
compare("lookup", "GAT, 8 heads", AS, "GATv2")
compare("lookup", "dot", AS, "GATv2")


# %% [figure]
def means(part, arms):
    """Return the mean of each arm, in words."""
    return "; ".join(f"{arm} {fair.of_arm(kept[part], arm).value:.2f}" for arm in arms)


def curves(part, looks, title, line, says):
    """Draw the curve of each run of a comparison against its steps, and a line."""
    found = kept[part]
    fig, ax = figure(f"{title} ({len(found['seeds'])} runs each)", size=(7.2, 3.2))
    run_curves(ax, found, looks)
    ax.axhline(line, color=GREY, ls=":", lw=1, label=says)
    ax.set(xlabel="training step, before the rate falls", ylim=(0, 1.03))
    ax.set(ylabel=found["measure"])
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    alt = f"""{found["measure"].capitalize()} against steps, a line for each run. Means at
    the end: {means(part, looks)}. The dotted line is {says}, {line:.2f}."""
    show(fig, part, alt)


LOOKS = {
    "GAT": (RED, "-"), "GAT, 8 heads": (ORANGE, "-"), "GATv2": (BLUE, "-"),
    "dot": (GREEN, "-"), "ISAB, m = 1": (PURPLE, ":"), "ISAB, m = 4": (PURPLE, "--"),
    "ISAB, m = 8": (PURPLE, "-"),
}  # fmt: skip
curves("lookup", LOOKS, "Who finds its partner?", often, "the most frequent value")

# %% [markdown]
# In this task, at this size, no run with one head of GAT passes "one key served". (The
# figure also has ISAB, which follows below.) But it would be wrong to conclude that GAT
# cannot do the task. The proof is about the order in one head, not about what a layer
# can do. Eight heads can prefer eight different keys. Then for each node the head of
# its key returns the value, and the others return nearly a mean, which favours no
# value. That takes a head for each key; GATv2 takes one head. So does a scaled dot
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
# LN is the layer norm, and ffn the network for each element, of
# [lesson 10](../10_heads/README.md). (In the paper another such network maps each row of
# $X$ first.) The result has $m$ rows for any $n$, and does not
# depend on the order of $X$.

# %% [source] attention.variants.sets.PMA.forward

# %% [markdown]
# **Measured.** A set of 2 to 12 pairs $(a, b)$ of numbers from 0 to 1, and three
# questions: the mean of all $a$; the largest $a$; and the $b$ that stands beside the
# largest $a$. Mean pooling suits the first question, and max pooling the second. The
# third takes two steps, to find the largest $a$ and to return its $b$, as attention
# does. The *explained share* is 1 minus the mean squared error divided by the variance
# of the right numbers. A fair opponent of PMA has as many parameters: the arms without
# PMA have a larger network for each element, and one of them, *mean and max*, has the
# means and the largest values side by side.

# %%
print(fair.table(kept["pooling"]))
pooling = kept["pooling"]
WANTED = tasks.WANTED
print("\nexplained share")
print(fair.table(pooling, [(name, ("explained", name)) for name in WANTED]))

# %%
for arm in ("mean", "max", "mean and max"):
    compare("pooling", "PMA", AHEAD, arm)
print("beside alone:")
compare("pooling", "PMA", AHEAD, "mean and max", ("explained", "beside"))


# %% [figure]
LOOKS = {
    "mean": (GREEN, "-"), "max": (ORANGE, "-"), "mean and max": (BLUE, "-"),
    "PMA": (PURPLE, "-"), "Perceiver": (RED, "-"),
}  # fmt: skip
fig, axes = figure("Which pooling keeps what is wanted?", columns=3, size=(8.6, 3.0),
                   sharey=True)  # fmt: skip
SIZES = ("8", "16", "64")
far = {}
for ax, wanted in zip(axes, WANTED):
    for arm, (colour, style) in LOOKS.items():
        runs = [run["at"] for run in pooling["runs"] if run["arm"] == arm]
        for i, at in enumerate(runs):
            y = [at[n][wanted] for n in SIZES]
            ax.plot(SIZES, y, style, color=colour, lw=1, label=None if i else arm)
        far[arm, wanted] = np.mean([at["64"][wanted] for at in runs])
    ax.set(title=wanted, xlabel="elements (2 to 12 in training)", yscale="log")
axes[0].set(ylabel="root of the mean square error")
axes[2].legend(loc="center left", bbox_to_anchor=(1, 0.5))
each = "; ".join(f"{arm} {far[arm, 'beside']:.2f}" for arm in LOOKS)
alt = f"""Errors for sets of 8, 16 and 64 elements, {len(pooling["seeds"])} runs an arm. At
64, for what stands beside the largest: {each}."""
show(fig, "pooling", alt)

# %% [markdown]
# Of the arms with as many parameters, PMA is behind in no column; its lead over *mean and
# max* in all three numbers together is too small to count. (The *Perceiver*
# follows below. It has {{ f"{fair.figures(pooling, 'Perceiver', 'parameters')[0]}" }}
# parameters, PMA {{ f"{fair.figures(pooling, 'PMA', 'parameters')[0]}" }}.) For *mean* and *max* validation chose the
# largest learning rate that was tried, so a larger one might be better; for *mean and
# max*, the strongest opponent, it did not. For what stands beside the largest, the
# figure shows larger errors at 64 elements, in all arms: training had 12 at most. One
# reason in PMA may be its softmax, which has to find the largest element and becomes
# flatter with each element that is added ([lesson 15](../15_weights/README.md)).
#
# **All elements, not one.** If each of $n$ elements needs the others, self-attention
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
perceiver = fair.figures(pooling, "Perceiver", ("explained", "mean"))
good = int((perceiver > 0.95).sum())  # runs that have learned the mean
print("the mean of all a, Perceiver:", perceiver.round(3).tolist())

# %% [markdown]
# The *Perceiver* ([Jaegle and others 2021](https://arxiv.org/abs/2103.03206)) continues
# with the $m$ vectors alone: they read the input, then each other, several times. In the
# pooling task above, with $m = 1$ and one reading, it is as good as PMA in
# {{ good }} of {{ len(perceiver) }} runs. The others have not learned the mean of all
# $a$, at a rate that one seed chose.
#
# **Measured**, on the lookup task above. All 16 nodes are now in one set, without
# edges. How many vectors does ISAB need for eight pairs of key and value? With $m = 1$
# all elements read the same vector. ("Not": the run never reached this share.)


# %%
def reached(part, arm, share=0.9):
    """Print after how many steps each run has a figure of ``share``."""
    found, steps = kept[part], []
    for run in (run for run in found["runs"] if run["arm"] == arm):
        good = np.flatnonzero(np.array(run["curve"]) >= share)
        steps.append(str(found["every"] * (good[0] + 1)) if len(good) else "not")
    print(f"    steps until {share}: {arm:14}", " ".join(steps))


# %%
ISABS = ("ISAB, m = 1", "ISAB, m = 4", "ISAB, m = 8", "dot")
print(fair.table(kept["lookup"], arms=ISABS))
compare("lookup", "ISAB, m = 8", AHEAD, "ISAB, m = 1")
compare("lookup", "ISAB, m = 8", AHEAD, "ISAB, m = 4")
compare("lookup", "ISAB, m = 8", AS, "dot")
for arm in ("ISAB, m = 1", "ISAB, m = 4", "ISAB, m = 8", "GATv2", "dot"):
    reached("lookup", arm)

# %% [markdown]
# ISAB can solve the task with fewer vectors than pairs. The rank of the weights is at
# most $m$, but a vector has {{ tasks.WIDTH }} numbers, computed by four heads, and the
# network after it reads them together with the element's own key. So even $m = 1$
# passes "one key served", and its runs still improve when their steps end. A single
# attention that reads all pairs learns this task in fewer steps than any ISAB.
#
# ## A chain of facts: how often must a memory be read?
#
# "Ann has the apple. Ben has the book. Ann is in the kitchen. Ben is in the garden.
# Where is the apple?" A single attention compares the question with all facts, and
# "apple" fits one of them. The place stands in another fact, about a person whom the
# question does not mention. So read the memory, and read it again with the result as
# the query. A *memory network*
# ([Sukhbaatar and others 2015](https://arxiv.org/abs/1503.08895)) does this in
# [*hops*](../../GLOSSARY.md#hop):
#
# ```math
# p_j = \mathrm{softmax}_j(u \cdot m_j), \qquad u \leftarrow u + \sum_j p_j c_j
# \qquad \text{or} \qquad u \leftarrow \sum_j p_j c_j
# ```
#
# | letter | meaning |
# |---|---|
# | $u$ $(D)$ | the question; each hop replaces it by the next one |
# | $`m_j, c_j`$ $(D)$ | key and value of fact $j$ |
#
# In the second form, a hop whose weights are 0 and 1 replaces a key by its value. So
# two hops replace a thing by a person, and the person by a place:

# %%
has, at = np.array([3, 2]), np.array([5, 4])  # apple 0, book 1; Ann 3, Ben 2; places
keys, values = np.eye(6)[[0, 1, 3, 2]], np.eye(6)[[*has, *at]]
names = ["apple", "book", "Ben", "Ann", "garden", "kitchen"]
for hops in (1, 2):
    u, p = attention.hops(*map(mg.Tensor, (np.eye(6)[0], 30 * keys, values)), hops=hops,
                          add=False)  # fmt: skip
    found = [int(fact) for fact in p.data.argmax(-1)]
    print(f"hops {hops}: {names[u.data.argmax()]:8} facts that were read: {found}")

# %% [source] attention.variants.hops.hops

# %% [markdown]
# **Measured.** There are eight things, eight persons and eight places; each person has
# one thing and is at one place. In most arms keys, values and questions take the vector
# of a word from one table. Two arms, *added* and *apart*, add the answer to the
# question; *apart* also has three tables, one each for keys, values and questions, which
# both hops use. (The paper ties its tables in two ways. One is like *apart*, with a
# matrix $H$ for the question between two hops. In the other one, *adjacent*, the table of
# values of a hop is the table of keys of the next hop. That arm is missing here.) A model
# that does not find the second fact can still answer with the place where most persons
# are.

# %%
often = most_frequent(tasks.N, tasks.N)
print(f"the place of most persons: {often:.3f}")
print(fair.table(kept["chain"]))
compare("chain", "2 hops", AHEAD, "1 hop")
compare("chain", "2 hops, added", AS, "2 hops")
compare("chain", "2 hops, apart", AS, "2 hops")
compare("chain", "2 hops", AHEAD, "3 hops")
for arm in kept["chain"]["arms"]:
    reached("chain", arm)

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
# chain. With three tables they find it too, but after many more steps. Why? The value
# of a fact has to be the *key* of the next one. With one table it is so from the start.
# With three tables it has to be learned, and a second hop lowers the loss only after
# the first one finds its fact. The paper's *adjacent* tables have it from the start, too;
# whether they are as fast as one table was not measured. A second layer of self-attention has to solve the same
# problem. A third hop has nothing to find, because no fact has a place as its key; it
# has to keep the place that the second hop has found.
#
# ## A picture: what is the position of a patch?
#
# Cut the picture into [*patches*](../../GLOSSARY.md#patch) of $P \times P$ pixels
# ([Dosovitskiy and others 2021](https://arxiv.org/abs/2010.11929)); each is a vector of
# all its numbers, and a linear map makes a token of it.

# %%
pictures, colours = tasks.shapes(np.random.default_rng(3), 1)
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
# row are at the distance 1 as well. RoPE of [lesson 11](../11_positions/README.md) can
# have both directions: rotate one half of the pairs by the row, the other half by the
# column ([Heo and others 2024](https://arxiv.org/abs/2403.13298)).
#
# ```math
# q_i^\top k_j = \sum_{c \in \text{first half}} |q_c| |k_c| \cos(\phi_c + \theta_c (r_i - r_j))
# + \sum_{c \in \text{second half}} |q_c| |k_c| \cos(\phi_c + \theta_c (s_i - s_j))
# ```
#
# Here $c$ is a pair of entries, $`q_c`$ and $`k_c`$ are this pair of the query and of
# the key, $`\phi_c`$ is the angle between them, $`\theta_c`$ the frequency of the pair,
# and $`r_i, s_i`$ are row and column of token $i$. Only the difference of the rows and
# that of the columns count. So if both tokens move by two rows and one column, the
# score does not change. RoPE by the number of the patch has the same score for a
# neighbour and for the first patch of the next row. Here are the scores of one query
# and one key at three pairs of places:

# %%
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

# %% [source] attention.positions.grid.rope_2d

# %% [markdown]
# **Measured.** "Which colour is at row 2 and column 4?" The question is a learned
# vector of the row plus one of the column. A picture has {{ tasks.SIDE }} by
# {{ tasks.SIDE }} patches, each with one of four shapes in one of six colours. Five
# arms differ in how a key depends on its place. *None*: not at all. *A vector a place*:
# a learned vector for each place is added. *Row + column*: a learned vector of the row
# and one of the column are added. *RoPE* rotates by the number of the patch, *2-D RoPE*
# by row and column. One place in each row and column occurs in no question of the
# training, only in those of a second test. Which arms can answer there?

# %%
often = most_frequent(tasks.SIDE**2, len(tasks.COLOURS))
print(f"the most frequent colour: {often:.3f}; chance {kept['places']['chance']:.3f}")
print(fair.table(kept["places"]))
print("\nat the places that were never in a question")
for arm in kept["places"]["arms"]:
    x = fair.figures(kept["places"], arm, "unseen")
    print(f"{arm:17} {x.mean():.3f}  " + " ".join(f"{y:.3f}" for y in x))
compare("places", "2-D RoPE", AHEAD, "RoPE")
compare("places", "a vector a place", AS, "2-D RoPE")
print("places never asked:")
compare("places", "2-D RoPE", AHEAD, "a vector a place", "unseen")
compare("places", "row + column", AS, "2-D RoPE", "unseen")

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
        label = {"figure": "places of the training", "unseen": "others"}[what]
        axes[1].plot(x, np.full(len(x), i + dx), "o", ms=4, color=colour, alpha=0.7,
                     label=None if i else label)  # fmt: skip
axes[1].axvline(often, color=GREY, ls=":", lw=1, label="most frequent colour")
axes[1].set(yticks=range(len(arms)), yticklabels=arms, xlim=(0, 1.03))
axes[1].set(xlabel="share of right colours", ylim=(len(arms) - 0.5, -0.5))
axes[1].set(title=f"a point for each of {len(kept['places']['seeds'])} runs")
axes[1].legend(loc="lower center", fontsize=7)
others = {arm: fair.of_arm(kept["places"], arm, "unseen").value for arm in arms}
others = "; ".join(f"{arm} {x:.2f}" for arm, x in others.items())
alt = f"""Left: a drawn picture. Right: shares of right colours at places that training
asked for, means: {means("places", arms)}; and at the others: {others}."""
show(fig, "places", alt)

# %% [markdown]
# If the score is a sum of a part for the row and a part for the column, it is right at
# places that were never asked, because training has asked for each row and each column.
# With a vector for each place, training has never asked for the vectors of the other
# places. There the arm is at chance, below the share of the most frequent colour; so is
# a model that reads one wrong patch. RoPE by the number of a patch does not suit a
# question that is a sum of two vectors: its scores are cosines of $5 r + s$, which are
# no sum of a part for the row and a part for the column. Questions about differences,
# such as "two to the left of the star", were not measured.
#
# ## Show, attend and tell: look at one patch, or at all of them?
#
# A decoder writes a sentence about a picture. Before each word it attends to the
# patches, with its state as the query
# ([Xu and others 2015](https://arxiv.org/abs/1502.03044)). *Soft* attention averages
# all patches. *Hard* attention draws one of them, and learns by REINFORCE or by
# Gumbel's straight-through gradient ([lesson 15](../15_weights/README.md), Further):
#
# ```math
# c_t = \sum_j p_{tj} x_j \qquad \text{or} \qquad c_t = x_j \text{ with probability } p_{tj}
# ```
#
# Here $x_j$ is patch $j$ with its position, and $p_t$ the softmax of its scores for the
# state before digit $t$. A draw at step $t$ changes what comes later, because the GRU
# reads $c_t$. So for REINFORCE the loss of this draw is the sum of the losses from $t$
# on, and its baseline is the mean of that sum over the other pictures of the batch.
#
# **Measured.** Three digits stand in a picture of {{ tasks.ROWS }} by
# {{ tasks.COLUMNS }} patches, one in each column, at any row and not quite in the
# middle of its patch; half of the other patches have shapes. The model has to write the
# digits from left to right. *Half soft* takes the average in every second step of the
# training, and draws in the others; in the paper this is random, with probability 1/2.
# There are two baselines. The arm *mean* always has equal weights; what it reaches
# needs no attention. And a model that has read all digits, but not their order, can
# write the most frequent one: the first line is its share. The last table has the
# weight on the right patch:

# %%
unordered = most_frequent(tasks.COLUMNS, 10)
print(f"without the order {unordered:.3f}")
print(fair.table(kept["telling"]))
for arm in ("soft", "gumbel", "reinforce"):
    compare("telling", arm, AHEAD, "mean")
compare("telling", "gumbel", AS, "soft")
compare("telling", "soft", AHEAD, "reinforce")
compare("telling", "reinforce, half soft", AHEAD, "reinforce")
print("mean weight on the patch of the digit, each run")
for arm in kept["telling"]["arms"]:
    x = fair.figures(kept["telling"], arm, "looked")
    print(f"    {arm:21} " + " ".join(f"{y:.3f}" for y in x))

# %% [markdown]
# The reason for *half soft*: a drawn patch is at first the right one in
# {{ f"one of {tasks.ROWS * tasks.COLUMNS}" }} cases, so the network that reads digits
# is trained with wrong patches, and the choice is trained by losses of a network that
# cannot read yet. The average always contains the right patch. These runs do not decide
# whether it helps.
#
# Some runs of REINFORCE stay behind. Their weight on the patch of the digit is about
# 2/3 or less, as if they find two of the three digits at most. One reason may be this:
# if one patch has nearly all the probability, other patches are rarely drawn, and
# nothing is learned about them. The paper adds the entropy of the weights to its
# objective, to make the estimate less noisy, and this may help here as well; these arms
# do not. Some curves rise late, so with more than
# {{ str(kept["telling"]["budget"]) }} steps more runs might succeed.

# %% [figure]
LOOKS = {
    "mean": (GREY, "-"), "soft": (BLUE, "-"), "gumbel": (GREEN, "-"),
    "reinforce": (RED, "-"), "reinforce, half soft": (ORANGE, "-"),
}  # fmt: skip
curves(
    "telling",
    LOOKS,
    "Look at one patch, or at all of them?",
    unordered,
    "without order",
)

# %% [figure]
fig, axes = figure("Where does it look before each digit?", rows=2, columns=4,
                   size=(8.2, 4.4))  # fmt: skip
picture, [digits], _ = tasks.numbers(np.random.default_rng(5), 1)
worst = {}
for run in kept["telling"]["runs"]:
    if run["looked"] <= worst.get(run["arm"], run)["looked"]:
        worst[run["arm"]] = run
for panels, arm in zip(axes, ("soft", "reinforce")):
    found = worst[arm]["shown"]
    panels[0].imshow(picture[0, ..., 0], cmap="Greys")
    panels[0].set(ylabel=arm, title="picture", xticks=[], yticks=[])
    for t, ax in enumerate(panels[1:]):
        weights = np.array(found["p"][t]).reshape(tasks.ROWS, tasks.COLUMNS)
        image = ax.imshow(weights, cmap="Blues", vmin=0, vmax=1)
        ax.set(title=f"writes {found['digits'][t]}", xticks=[], yticks=[])
    fig.colorbar(image, ax=panels[-1], label="weight")
alt = f"""A picture with the digits {" ".join(map(str, digits))}, and the weights of its
patches before each digit, of two arms, each the run with the least weight on the right
patches. Soft attention (right in {worst["soft"]["figure"]:.2f} of the tests) looks at the patch of each digit and writes
{" ".join(map(str, worst["soft"]["shown"]["digits"]))}; REINFORCE
({worst["reinforce"]["figure"]:.2f}) writes
{" ".join(map(str, worst["reinforce"]["shown"]["digits"]))}."""
show(fig, "looks", alt)

# %% [markdown]
# ## What does each cost?
#
# | | scores | needs also | cannot |
# |---|---|---|---|
# | GAT | edges | $A$ numbers a node | let two nodes prefer different ones, in one head |
# | GATv2 | edges | $A$ numbers an edge | read beyond its neighbours in one layer |
# | PMA | $n m$ | $m$ learned vectors | keep more than $m$ vectors |
# | ISAB | $2 n m$ | $m$ learned vectors, two MABs | be causal: the $m$ vectors have read all |
# | $h$ hops | $h n$ for a question | values that are keys of other facts | follow more than $h$ facts |
# | 2-D RoPE | as RoPE | a width that is a multiple of 4 | score by distances of another kind |
# | hard attention | all $n$; one value is read | for REINFORCE, a baseline | have the gradient of its scores from the one value that it reads |
#
# Hard attention saves the products of the average, and not those of the scores.
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
{counts[0]} patches with the axial mask, {counts[1]} near it, and all {counts[2]} after two
axial layers."""
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
# - A baseline for REINFORCE that contains the picture's own loss: it depends on the
#   draw, so the gradient is biased.
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

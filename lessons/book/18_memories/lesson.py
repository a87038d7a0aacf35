"""18  Memories that forget and correct  ●●●○  40 min  importance ★★  needs 12, 14

What does a memory of fixed size give up?
"""

# %% [markdown]
# "Ann has the number 3." Later: "Ann has the number 7." What is Ann's number? A memory
# that can only add returns the sum of both. What must it do to return 7, and what does
# it lose?
#
# A memory of fixed size makes a model of long texts cheap, so it matters what such a
# memory can replace. [Lesson 14](../14_checks_the_book/README.md) is needed for the
# measurements only.

# %%
from importlib import import_module

import numpy as np

import attention
from attention import definitions
from attention import scaled_dot_product_attention as sdpa
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import above, below, between
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, RED, figure, run_curves, show,
)  # fmt: skip

study = import_module("lessons.book.18_memories.experiment")
rng = np.random.default_rng(18)

# %% [markdown]
# ## What does linear attention return if a name is written twice?
#
# Linear attention (lesson 12) keeps a matrix $S$ of fixed size. Leave out its function
# $\phi$ of queries and keys, and its division by the sum of the weights. Then each
# token adds a matrix to $S$, and reads from $S$:
#
# ```math
# S_t = S_{t-1} + k_t v_t^\top, \qquad o_t = S_t^\top q_t
# ```
#
# | letter | meaning |
# |---|---|
# | $k_t$, $v_t$, $q_t$ | key, value and query of token $t$, of widths $E$, $E_v$ and $E$ |
# | $S_t$ | the memory, also called the *state*, a matrix of $E \times E_v$ numbers |
# | $o_t$ | the output of token $t$ |
#
# Let Ann's key be $(1, 0)$ and Ben's $(0, 1)$, and let a value be one number. Three
# writes: Ann 3, Ben 5, Ann 7. What do you expect for Ann? And what if we divide by the
# sum of the weights, as lesson 12 does?

# %%
keys = {"Ann": np.array([1.0, 0.0]), "Ben": np.array([0.0, 1.0])}
writes = [("Ann", 3.0), ("Ben", 5.0), ("Ann", 7.0)]
S, z = np.zeros(2), np.zeros(2)  # (E,), as a value is one number
for name, value in writes:
    S, z = S + keys[name] * value, z + keys[name]
for name, k in keys.items():
    print(f"{name}: sum {k @ S:4.1f}   divided {k @ S / (k @ z):4.1f}")

# %% [markdown]
# For Ann the memory returns the sum of her numbers, or their mean. Neither was ever her
# number. Ben's number was written once, and it comes back unchanged. There are two
# remedies: forget, or correct.
#
# ## Forget
#
# Multiply the state by a number $a_t$ from 0 to 1 before each write:
#
# ```math
# S_t = a_t S_{t-1} + k_t v_t^\top
# ```
#
# Who chooses $a_t$? In *RetNet* (Sun and others 2023) it is fixed, one number for each
# head. In *Mamba-2* (Dao and Gu 2024) a number is computed from the token. In *gated
# linear attention* (Yang and others 2024) a vector is computed from the token, a number
# for each coordinate of the keys:
# $`S_t = \operatorname{diag}(a_t) S_{t-1} + k_t v_t^\top`$.

# %%
print("RetNet's first heads, a:", np.exp(attention.retnet_log_decay(4))[:, 0].round(4))


def after(gates):
    """Return the state after the three writes, with a gate for each."""
    S = np.zeros(2)
    for (name, value), a in zip(writes, gates):
        S = a * S + keys[name] * value
    return S


print("a = 1/2 in each step:    Ann {:.2f}  Ben {:.2f}".format(*after([0.5, 0.5, 0.5])))
own = [1 - keys[name] for name, _ in writes]  # 0 at the written name, 1 at the other
print("a vector from the token: Ann {:.2f}  Ben {:.2f}".format(*after(own)))

# %% [markdown]
# With one number, the answer for Ann is near 7. But the answer for Ben is halved,
# although nothing new was written for him: this memory forgets by age, not by name. The
# vector removes Ann's old number alone. It can do so only because each name has a
# coordinate of its own, which a key such as $(1, 1) / \sqrt 2$ has not.
#
# ## Correct
#
# So read before you write. Before the write, the key returns $`S_{t-1}^\top k_t`$. The
# new value minus this is the error $r_t$, and only the error has to be written:
#
# ```math
# r_t = v_t - S_{t-1}^\top k_t, \qquad S_t = S_{t-1} + k_t (b_t r_t)^\top
# ```
#
# The number $b_t$, from 0 to 1, says how much of the error is written. This is the
# [delta rule](../../GLOSSARY.md#delta-rule) (Widrow and Hoff 1960; for attention Schlag
# and others 2021). What does the same key return after the write? If $|k_t| = 1$,
#
# ```math
# S_t^\top k_t = S_{t-1}^\top k_t + b_t r_t\, (k_t^\top k_t)
# = (1 - b_t)\, S_{t-1}^\top k_t + b_t v_t
# ```
#
# With $b_t = 1$ it returns $v_t$, whatever was there before. And a key at a right angle
# to $k_t$ returns what it returned before, as $k^\top k_t = 0$. Where does the rule
# come from? Take the loss $`L = |S^\top k_t - v_t|^2 / 2`$. Its gradient in $S$ is
# $`k_t (S^\top k_t - v_t)^\top = -k_t r_t^\top`$. So each token is one step of gradient
# descent, with the rate $b_t$: the state is *trained* while the text is read.

# %%
S = np.zeros(2)
for name, value in writes:
    k = keys[name]
    S = S + k * (value - k @ S)  # b = 1
print("the delta rule:          Ann {:.2f}  Ben {:.2f}".format(*S))

# %% [markdown]
# Now take 16 keys of width 16. They are at right angles to each other, and none is
# along an axis. Write each key twice. By the delta rule each key should return its
# second value; by the sum, the first plus the second:

# %%
E = 16
k, _ = np.linalg.qr(rng.normal(size=(E, E)))  # rows of length 1, at right angles
first, second = rng.normal(size=(2, E, 3))
twice, both = np.concatenate([k, k]), np.concatenate([first, second])
_, S = attention.delta_rule(twice, twice, both, np.ones(2 * E))
print("delta rule, second values:", np.allclose(k @ S.data, second))
_, S = attention.decay_attention(twice, twice, both, np.zeros(1))
print("sum, first plus second:   ", np.allclose(k @ S.data, first + second))

# %% [markdown]
# ## More keys than coordinates
#
# Only $E$ keys can be at right angles to each other in $E$ coordinates. Draw $n$ random
# keys of length 1 and values of variance 1. Write each key once, and then read all of
# them. A memory that always returns 0 has the mean squared error 1. What is the error
# of the sum, and of the delta rule? For the sum it can be computed: each of the other
# $n - 1$ keys adds $(k_i \cdot k_j)^2 = 1 / E$ on average. And no state of $E$ rows
# does better than a least-squares fit, whose error for random values is $1 - E / n$.
# Each column of the table is a number of keys.

# %%
rows = {"sum": [], "sum, (n - 1) / E": [], "delta rule": [], "least squares": []}
for n in (2, 8, 16, 32, 64):
    k, v = rng.normal(size=(400, n, E)), rng.normal(size=(400, n, 1))
    k /= np.linalg.norm(k, axis=-1, keepdims=True)
    _, added = attention.decay_attention(k, k, v, np.zeros(1))
    _, corrected = attention.delta_rule(k, k, v, np.ones(1))
    rows["sum"].append(((k @ added.data - v) ** 2).mean())
    rows["sum, (n - 1) / E"].append((n - 1) / E)
    rows["delta rule"].append(((k @ corrected.data - v) ** 2).mean())
    rows["least squares"].append(max(1 - E / n, 0))

# %%
print("error           keys" + "".join(f"{n:8d}" for n in (2, 8, 16, 32, 64)))
for name, x in rows.items():
    print(f"{name:20s}" + "".join(f"{y:8.3f}" for y in x))

# %% [markdown]
# In each column the delta rule has a smaller error than the sum. Its error is larger
# than that of the least-squares fit, because each write changes what the keys before it
# return, and no later step repairs that. With two and four times as many keys as
# coordinates, both have an error above 1: the answer 0 would be better.
#
# ## Forget and correct
#
# The delta rule corrects one key at a time. To drop everything, at the end of a
# chapter, it would have to correct each name. The *gated delta rule* (Yang, Kautz and
# Hatamizadeh 2024) does both: it multiplies the state by a number $a_t$, and then
# corrects:
#
# ```math
# S' = a_t S_{t-1}, \qquad S_t = S' + k_t \left(b_t (v_t - S'^\top k_t)\right)^\top
# ```
#
# With $b_t = 0$ it only forgets, and with $a_t = 1$ it is the delta rule. The sum is
# not a special case of it, because the sum writes $v_t$ and not the error.
#
# ## Three ways to compute a recurrence: steps, a matrix, chunks
#
# A model that writes a text has to compute token by token. If the whole text is given,
# this is slow: there are many small steps, and each waits for the one before. But take
# a decay by one number for each token, and put the formula of $`S_{t-1}`$ into that of
# $S_t$, again and again:
#
# ```math
# o_i = S_i^\top q_i = \sum_{j \le i} M_{ij} (q_i \cdot k_j)\, v_j, \qquad
# M_{ij} = a_{j+1} a_{j+2} \dots a_i
# ```
#
# This is attention. The weights are products of queries and keys, and the factor
# $`M_{ij}`$ takes the place of the causal mask and of the softmax. Dao and Gu (2024)
# call this equality *duality*. Look at $M$ for five tokens, of which one forgets
# everything:


# %%
def factors(a):
    """M_ij = a_(j+1) ... a_i for j <= i, else 0    a (n,)  ->  M (n, n)"""
    n = len(a)
    M = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            M[i, j] = np.prod(a[j + 1 : i + 1])  # of no numbers: 1
    return M


print(factors(np.array([1, 0.5, 0.5, 0, 0.5])))

# %% [markdown]
# The token with $a = 0$ cuts the text in two. A third way lies between the two. Cut the
# text into chunks of $C$ tokens. Inside a chunk use the matrix; from a chunk to the
# next pass the state:
#
# ```math
# O = f\, (Q S) + (M * Q K^\top) V, \qquad S \leftarrow f_C S + (l K)^\top V
# ```
#
# Here $Q$, $K$ and $V$ are the queries, keys and values of one chunk, and $O$ its
# outputs. $f_i$ is the product of the $a$ from the first token of the chunk to token
# $i$, $l_j$ is their product from token $j + 1$ to the last token, $f_C$ is the product
# of all, and $`*`$ multiplies entry by entry. Do the steps, the matrix, the chunks and
# the function of the library give the same outputs?


# %%
def in_chunks(q, k, v, a, C):
    """Compute the outputs of a decay, C tokens at a time."""
    S, o = np.zeros((k.shape[1], v.shape[1])), []
    for start in range(0, len(q), C):
        Q, K, V, A = (x[start : start + C] for x in (q, k, v, a))
        M, f = factors(A), np.cumprod(A)[:, None]
        l = M[-1][:, None]
        o.append(f * (Q @ S) + (M * (Q @ K.T)) @ V)
        S = f[-1] * S + (l * K).T @ V
    return np.concatenate(o)


# %%
n, E = 200, 8
q, k, v = rng.normal(size=(3, n, E))
a = rng.uniform(0.5, 1, n)
a[77] = 0
steps = definitions.decay(q, k, v, np.log(np.maximum(a, 1e-300))[:, None])
print("matrix:    ", np.allclose((factors(a) * (q @ k.T)) @ v, steps))
for C in (1, 16, 64):
    print(f"chunks, {C:2d}:", np.allclose(in_chunks(q, k, v, a, C), steps))
with np.errstate(divide="ignore"):  # ln 0 is -inf: forget everything
    library, _ = attention.decay_attention(q, k, v, np.log(a))
print("library:   ", np.allclose(library.data, steps))

# %% [source] attention.definitions.decay

# %% [markdown]
# Chunks of 1 are the recurrence, and a chunk of $n$ is the matrix. The delta rule has
# chunks as well, with the errors $b_j r_j$ in the place of the values: its write is
# $k_t (b_t r_t)^\top$. But each error depends on all earlier ones, so a chunk has to
# solve a triangular system of $C$ equations first (exercise E.22). The library computes
# chunks, and they must agree with the steps. Then we count the multiplications of each
# way, for a decay:

# %%
k /= np.linalg.norm(k, axis=1, keepdims=True)
b = rng.uniform(size=n)
steps = definitions.delta_rule(
    q, k, v, b[:, None], np.log(np.maximum(a, 1e-300))[:, None]
)
with np.errstate(divide="ignore"):
    library, _ = attention.delta_rule(q, k, v, b, np.log(a))
print("the delta rule, steps = chunks:", np.allclose(library.data, steps))
print("multiplications of a token, E = Ev = 64, C = 64, n = 4096:")
E, C, n = 64, 64, 4096
ways = {"steps": 3 * E * E, "chunks": 2 * E * E + 2 * C * E, "matrix": 2 * n * E}
print("   ".join(f"{way} {count:,}" for way, count in ways.items()))

# %% [markdown]
# Chunks need a few more multiplications than steps. But these are products of matrices
# of $C$ rows, and only $n / C$ chunks wait for each other, in the place of $n$ steps.
# (The matrix is causal, so half of its products would be enough.)
#
# ## Which memories overwrite?
#
# **Measured.** 24 tokens each write a value, one of 8, for a name, one of 8; names are
# drawn with repetitions. Then each name is a question, and the answer is its last
# value. (A name that was never written does not count.) One layer with two heads of
# width 16: linear maps of a one-hot token give queries, keys, values and gates, and a
# linear map of the heads gives the answer. *Sum* only adds; *RetNet* forgets by a fixed
# number, *decay* by a number and *vector* by a vector from the token; *delta* corrects,
# and *delta, gate* forgets and corrects. All of these have keys of length 1. *Softmax*
# has no positions, and *forgetting* is the softmax with the gates of
# [lesson 15](../15_weights/README.md), which gives late keys more weight.
#
# What share of right answers do three simple rules reach? The first guesses. The second
# reads the last 8 writes alone, and guesses if the name is not among them. The third
# answers with the most frequent value of the name, whatever the order. The tables of
# this page have these columns: *rate* is the learning rate that validation chose,
# *numbers* the number of parameters (gates need some), and *plateaus* the number of
# runs that ended at a plateau ([lesson 14](../14_checks_the_book/README.md)): better
# than a simple answer, and no longer improving. If a compared run had none, the verdict
# says after how many steps it ended.

# %%
kept = record("memories")
print(how_made(kept))
N, W, names_chance = study.Names.names, study.Names.writes, study.Names.chance
x, y, _ = study.Names().draw(4000, 0)
same = x[:, W:, :N] @ x[:, :W, :N].swapaxes(1, 2)  # (4000, questions, writes)
counts = same @ x[:, :W, N:]  # (4000, questions, values): how often was it written?
best = counts == counts.max(-1, keepdims=True)
known = y >= 0
most = (np.take_along_axis(best, y[..., None], 2)[..., 0] / best.sum(-1))[known].mean()
near = same[..., -8:].any(-1)[known].mean()
near += (1 - near) * names_chance
print(f"chance {names_chance:.3f}, last 8 writes {near:.3f}, most frequent {most:.3f}")

# %%
names = kept["names"]
print(fair.table(names))

# %%
print(fair.judge(
    names,
    ("RetNet ahead of sum", above(0), "RetNet", "sum"),
    ("decay ahead of RetNet", above(0), "decay", "RetNet"),
    ("delta ahead of decay", above(0), "delta", "decay"),
    ("vector as delta, within .01", between(-0.01, 0.01), "vector", "delta"),
    ("softmax as sum, within .02", between(-0.02, 0.02), "softmax", "sum"),
    ("forgetting behind delta", below(0), "forgetting", "delta"),
))  # fmt: skip

# %% [figure]
once, often = (
    {arm: fair.figures(names, arm, ("times", n)).mean() for arm in names["arms"]}
    for n in "16"
)
ends = "; ".join(f"{arm} {once[arm]:.2f}, {often[arm]:.2f}" for arm in names["arms"])
alt = f"""Left: share of right answers by the number of times a name was written, a line
for each run. Means for once, and for six times or more: {ends}. Right: all answers
during training. Dotted: chance."""
looks = {
    "sum": (GREY, "-"), "RetNet": (ORANGE, "--"), "decay": (ORANGE, "-"),
    "vector": (GREEN, "-"), "delta": (BLUE, "-"), "delta, gate": (BLUE, "--"),
    "softmax": (RED, "-"), "forgetting": (RED, "--"),
}  # fmt: skip
title = f"Who returns the last value? ({len(names['seeds'])} runs each)"
fig, (left, right) = figure(title, columns=2, size=(8.6, 3.6), sharey=True)
for run in names["runs"]:
    colour, style = looks[run["arm"]]
    times = [run["times"][str(i)] for i in range(1, 7)]
    left.plot(range(1, 7), times, style, color=colour, lw=1)
run_curves(right, names, looks)
left.axhline(names["chance"], color=GREY, ls=":", lw=1)
right.axhline(names["chance"], color=GREY, ls=":", lw=1, label="chance")
left.set(xlabel="times the name was written\n(6: or more)", title="after training")
left.set(ylabel="share of right answers", ylim=(0, 1.03))
right.set(xlabel="training step\n(before the rate falls)", title="all names")
right.legend(loc="center left", bbox_to_anchor=(1, 0.5))
show(fig, "names", alt)

# %% [markdown]
# In this task, at this size, the sum reaches the share of the most frequent value. So
# does a softmax without positions, although it keeps every token. The delta rule
# replaces old values. The vector gate does so as well: a head has 16 coordinates for 8
# names, so each name can have a coordinate of its own. RetNet's fixed gates were made
# for long texts; other fixed gates were not measured. A decay by one number weakens
# every name at each write. So it should lose names that were written once, long ago.
# The table has the share of right answers by the number of writes since then:

# %%
print("written once, writes since then")
since = [(f"{n}-{n + 5}", ("once, since", str(n))) for n in (0, 6, 12, 18)]
print(fair.table(names, since, ("decay", "vector", "delta", "forgetting")))

# %% [markdown]
# ## Which memories forget everything?
#
# **Measured.** Now a special token, the *sign*, may stand between the writes. What was
# written before the sign does not count any longer. Between two signs a name is written
# once at most, so nothing has to be overwritten. The questions are again all 8 names,
# and the answer is the value since the last sign, or a ninth answer, "none". The first
# row is the share of right answers of a model that always answers "none". Before we
# look: for each token, a head of the delta rule changes its state in one direction,
# that of the token's key. To erase 8 names the sign would need 8 directions. So we
# expect that the delta rule without a gate stays behind the one with a gate. The second
# table has the share of right answers by when the name was written: since the last
# sign, before it only, or never.

# %%
_, y, _ = study.Reset().draw(4000, 0)
reset = kept["reset"]
print(f"always none {(y == study.VALUES).mean():.3f}")
print(fair.table(reset))
kinds = enumerate(("since the sign", "before it only", "never"))
print(fair.table(reset, [(words, ("kind", str(k))) for k, words in kinds]))

# %%
print(fair.judge(
    reset,
    ("decay ahead of sum", above(0), "decay", "sum"),
    ("delta ahead of sum", above(0), "delta", "sum"),
    ("delta behind delta, gate", below(0), "delta", "delta, gate"),
    ("decay as gated, within .01", between(-0.01, 0.01), "decay", "delta, gate"),
))  # fmt: skip

# %% [markdown]
# The sum does not pass the share of "none", and every arm with gates answers nearly all
# questions. So does the delta rule without a gate, with
# {{ f"{fair.figures(reset, 'delta').mean():.3f}" }}, against our expectation. How is
# that possible? We can construct one way. Give all names a small part $c$ of one shared
# direction, and let the sign write a large value there:

# %%
c, large = 0.3, 100.0
shared = np.eye(4)[3]
three = np.sqrt(1 - c * c) * np.eye(4)[:3] + c * shared  # names, of length 1
S = np.zeros(4)
for k, value in ((three[0], 3), (three[1], 5), (shared, large), (three[2], 7)):
    S = S + k * (value - k @ S)
print("written before, before, after the sign:", (three @ S).round(1).tolist())

# %% [markdown]
# The name that was written after the sign returns its value, 7. The others return about
# $100 c$. No value is that large, so the output can be "none". Nothing was erased: one
# write shifted the answers of all names before it. We have not examined what the
# trained models do. (One run of the gated rule ended with
# {{ f"{fair.figures(reset, 'delta, gate').min():.3f}" }}, so that the two comparisons
# with it are undecided.)
#
# ## How many names does a state hold?
#
# **Measured.** 16 names, each written once, then a question for each. There is one
# head. The number in the name of an arm is $E$, the coordinates of a key; values have
# 16 coordinates in all arms. A softmax keeps every pair, so it is the upper bound. The
# second table has the share of right answers by the number of writes since the name was
# written.

# %%
capacity = kept["capacity"]
print(fair.table(capacity))
print(fair.judge(
    capacity,
    ("delta 8 as sum 8, within .01", between(-0.01, 0.01), "delta 8", "sum 8"),
    ("delta 8 behind softmax 8", below(0), "delta 8", "softmax 8"),
    ("sum 16 as delta, within .01", between(-0.01, 0.01), "sum 16", "delta 16"),
))  # fmt: skip

# %%
edge = ", ".join(
    f"{arm} ({part})"
    for part in ("names", "reset", "capacity", "blocks")
    for arm, rate in kept[part]["chosen"].items()
    if rate == max(kept[part]["rates"])
)
print("writes since then")
since = [(n, ("since", n)) for n in ("0", "3", "7", "11", "15")]
print(fair.table(capacity, since, ("sum 8", "delta 8")))

# %% [markdown]
# In this task, at this size, the delta rule holds as many names as the sum, and no
# more. (Schlag and others 2021, and Yang and others 2024 on the delta rule in parallel,
# report that it is ahead of the sum in recall, in other tasks and in language models.)
# With 8 coordinates both answer
# {{ f"{fair.figures(capacity, 'sum 8').mean():.2f}" }} of the questions right, and with
# 16 all. In the table of errors above the delta rule was better than the sum. Why not
# here? There the keys were random. Here they are learned, and training can move them as
# far apart as 8 coordinates allow. And an answer is the largest of 8 logits, which
# small errors do not change: more right answers than exact values fit into a state of
# $E$ rows. The two rules differ in where their errors are. The delta rule has more of
# them at older names, and the sum about as many everywhere.
#
# A caveat: for some arms of this page validation chose the largest learning rate that
# was tried, so a larger one might be better: {{ edge }}.
#
# ## Blocks chosen by content
#
# The other way to read a long text cheaply is to keep every key, and to read few of
# them. The blocks of BigBird (lesson 12) do not depend on the text. In *MoBA* (Lu and
# others 2025) each query chooses its blocks. Cut the keys into blocks of $B$ keys. The
# score of block $b$ for query $i$ is the product of the query with the mean key of the
# block:
#
# ```math
# G_{ib} = q_i \cdot m_b, \qquad m_b = \frac{1}{B} \sum_{j \in b} k_j
# ```
#
# The query attends to its own block, causally, and to the $k - 1$ earlier blocks with
# the largest $G$. (Without an index, $k$ is the number of blocks that a query reads.)
# The own block is read without a score, because its mean would contain later keys. The
# choice has no gradient; attention to the chosen blocks trains their keys. In the
# example there are four blocks of four keys, and the last query, number 15, is twice
# key 5:

# %%
k = rng.normal(size=(16, 32))
q = k.copy()
q[15] = 2 * k[5]
x = [z[None, None] for z in (q, k)]  # (B = 1, H = 1, L, E)
chosen = attention.choose_blocks(*x, 4, 2).chosen[0, 0]  # (L, blocks)
print("q . mean of the three earlier blocks:",
      [round(float(q[15] @ k[b : b + 4].mean(0)), 1) for b in (0, 4, 8)])  # fmt: skip
print("query 15 reads blocks", np.flatnonzero(chosen[15]).tolist())
v = rng.normal(size=(1, 1, 16, 8))
causal = sdpa(*x, v, is_causal=True).data
print("all 4 blocks are causal attention:",
      np.allclose(attention.block_attention(*x, v, 4, 4).data, causal))  # fmt: skip

# %% [markdown]
# In the mean of four keys the key that fits has a factor of 1/4, and the other three
# keys are noise. How often is the right block chosen?
#
# **Measured.** 48 of 64 names are written once each, then 16 of them are questions: 64
# tokens in blocks of 8, two heads of width 16. The answer may stand 63 tokens back, and
# a question's own block has no answers. The names stand in 6 blocks, the questions in
# two. Each head reads $k - 1$ earlier blocks: of 6 for the first eight questions, and of
# 7 for the others, which may also read the first block of questions, where no answer is.
# The first rows, *blindly*, are the share of right answers of two heads that choose
# different blocks at random, if the model guesses where neither has read the right one. The second table has the share by the distance between question and answer,
# in tokens. (*NSA* has two more branches, see the first section under Further.)

# %%
blocks = kept["blocks"]
chance = blocks["chance"]
for n in (2, 3, 5):
    blind = np.mean([min(2 * (n - 1) / earlier, 1) for earlier in (6, 7)])
    print(f"k = {n}, blindly {blind + (1 - blind) * chance:.3f}")
print(fair.table(blocks))
backs = [(f"{n + 1}-{n + 8}", ("back", str(n))) for n in (0, 16, 32, 48)]
print("tokens back")
print(fair.table(blocks, backs))

# %%
print(fair.judge(
    blocks,
    ("3 blocks ahead of 2", above(0), "blocks 3", "blocks 2"),
    ("5 blocks ahead of 3", above(0), "blocks 5", "blocks 3"),
    ("5 blocks behind softmax", below(0), "blocks 5", "softmax"),
))  # fmt: skip

# %% [markdown]
# The share of right answers hardly depends on the distance, and it grows with the
# number of blocks. With $k = 2$ and 3 it is far above that of a blind choice. (With
# $k = 5$ two heads could read all blocks, so that row says nothing about the choice.) A
# question is lost if no head chooses its block. This can happen because the query is
# compared with one vector for 8 keys.
#
# ## How long does it take?
#
# A mask alone saves no time. The compiled loops compute tiles of 64 queries and 64
# keys, and skip the tiles that are empty in a `BlockMask` (lesson 12). With blocks of
# 64 keys, a block that *no query of the tile* has chosen is skipped. So two cases are
# measured, with random numbers: the 64 queries of a tile are alike, and choose the same
# blocks; or no two are alike. What do you expect of the second? *Tiled* is the time of
# all causal keys, and *the choice* that of choosing four blocks alone. In the table,
# *tiles read* is a share of the tiles that all causal keys need.

# %%
time = kept["times"]
print(f"{time['length']} tokens, one head of width 64, forward, one thread")
least = {
    case: {way: min(taken) for way, taken in time[case]["seconds"].items()}
    for case in ("alike", "independent")
}
for case, x in least.items():
    ms = ", ".join(f"{way} {1e3 * x[way]:.1f} ms" for way in ("tiled", "the choice"))
    print(f"{case}: {ms}")

# %%
print("                    queries alike            no two alike")
print("blocks k     tiles read   time / tiled   tiles read   time / tiled")
every = time["alike"]["tiles"][-1]
for i, n in enumerate(time["chosen"]):
    cells = "".join(
        f"{time[case]['tiles'][i] / every:11.2f} {x[str(n)] / x['tiled']:13.2f}  "
        for case, x in least.items()
    )
    print(f"{n:6d}  {cells}".rstrip())

# %% [figure]
lengths = {
    int(n): {way: min(taken) for way, taken in x.items()}
    for n, x in time["lengths"].items()
}
longest = max(lengths)
share = lengths[longest]["4"] / lengths[longest]["tiled"]
alike, other = (x["4"] / x["tiled"] for x in least.values())
alt = f"""Left: time against the number of blocks, relative to tiled causal attention.
Four blocks: {alike:.2f} if queries are alike, {other:.2f} if no two are. Right:
milliseconds against n. At {longest} tokens four blocks take {share:.2f} of tiled."""
fig, (left, right) = figure("Does the time fall with k?", columns=2, size=(8.4, 3.3))
for x, label, colour in zip(
    least.values(), ("queries alike", "no two alike"), (BLUE, ORANGE)
):
    ratio = [x[str(n)] / x["tiled"] for n in time["chosen"]]
    left.plot(time["chosen"], ratio, "o-", color=colour, label=label)
left.axhline(1, color=GREY, ls=":", label="all keys, tiled")
left.set(xscale="log", xlabel="blocks k that a query reads", ylim=(0, None))
left.set(ylabel="time / time of tiled", title=f"{time['length']} tokens")
left.legend()
for way, label, colour in (
    ("dense", "dense", RED), ("tiled", "tiled", GREY), ("4", "4 blocks", BLUE),
    ("the choice", "their choice alone", GREEN),
):  # fmt: skip
    at = [n for n in lengths if way in lengths[n]]
    ms = [1e3 * lengths[n][way] for n in at]
    right.loglog(at, ms, "o-", color=colour, label=label)
right.set(xlabel="tokens n", ylabel="ms", title="queries alike")
right.legend()
show(fig, "clock", alt)

# %%
print("queries alike, 4 blocks:   time / dense   time / tiled   choice / all")
for n, x in lengths.items():
    dense = f"{x['4'] / x['dense']:.2f}" if "dense" in x else "-"
    share = x["the choice"] / x["4"]
    print(f"n = {n:6d} {dense:>26s} {x['4'] / x['tiled']:14.2f} {share:14.2f}")

# %% [markdown]
# If the queries of a tile choose the same blocks, the time falls with $k$, down to the
# time of the choice. If they do not, tiles of 64 queries need nearly all blocks already
# with $k = 4$. Then the time is longer than that of all keys, because a tile that only
# some of its queries read needs a table of its pairs. So a choice by content saves time
# only if near queries share it. (In native sparse attention, below, all heads that
# share keys share one choice.)
#
# The last column is the share of the choice in the time, and it grows with $n$: the
# choice computes $n^2 / B$ products of queries and means, and sorts them for each
# query. At {{ f"{longest:,}" }} tokens that is most of the time. Chosen blocks divide
# the $n^2$ by $B$; only a state of fixed size removes it.
#
# ## What does each cost?
#
# The memory of a decoder is counted in numbers, for $n$ tokens; recurrences are
# computed in chunks of $C$ tokens.
#
# | | multiplications of a token | memory of a decoder | keeps |
# |---|---|---|---|
# | softmax | $n (E + E_v)$ | $n (E + E_v)$ | every pair |
# | chosen blocks | $k B (E + E_v) + (n / B) E$ | $n (E + E_v)$, and the means | every pair, and reads few |
# | sum, RetNet, decay | $`2 E E_v + C (E + E_v)`$ | $E E_v$ | sums; a decay weakens old values |
# | delta rule | the same, and a system of $C$ equations | $E E_v$ | the last value of a key |
#
# ## Further: three branches
#
# *Native sparse attention* (Yuan and others 2025) adds two branches to the chosen
# blocks. One attends to the means of the blocks, and its weights make the choice; the
# other attends to a window. Gates, sigmoids of a linear map of the token, mix the
# three. So the means get a gradient of their own, and the output depends on the mean of
# each block, chosen or not. With the gates $(0, 1, 0)$ only the chosen blocks count. The
# table above has it with $k = 2$ and 3 and a window of 8 keys. What do two more
# branches add? The comparison is over all questions. The window can hold the answers of
# the first few, which stand less than 8 tokens after the last write.

# %%
q, k, v = (rng.normal(size=(1, 1, 16, 8)) for _ in range(3))
only = np.broadcast_to([0.0, 1.0, 0.0], (1, 1, 16, 3))
o = attention.native_sparse(q, k, v, only, 4, 4, window=4).data
causal = sdpa(q, k, v, is_causal=True).data
print("all blocks, gates (0, 1, 0):", np.allclose(o, causal))
print(fair.judge(
    blocks,
    ("NSA 2 ahead of 2 blocks", above(0), "NSA 2", "blocks 2"),
    ("NSA 3 as 3 blocks, within .01", between(-0.01, 0.01), "NSA 3", "blocks 3"),
))  # fmt: skip

# %% [markdown]
# Where two blocks miss an answer, the means help a little: a mean of 8 values shows
# which values a block has, and not whose they are. With three blocks there is hardly
# anything left to add. (That the means of the values are the reason was not measured.)

# %% [markdown]
# ## Further: approximations of low rank
#
# The weights of a softmax are a matrix of $n^2$ numbers. Three methods compute with
# fewer. *Linformer* (Wang and others 2020) sums keys and values over positions with
# learned matrices $P$ and $F$ of $r$ rows, and attends to these $r$ sums:
# $`\mathrm{softmax}(Q (P K)^\top / \sqrt E)\, F V`$. *Nystromformer* (Xiong and others
# 2021) takes the means of $r$ segments of the queries and of the keys as landmarks,
# $`\tilde Q`$ and $`\tilde K`$, and interpolates:
# $`\mathrm{softmax}(Q \tilde K^\top)\, A^{-1}\, \mathrm{softmax}(\tilde Q K^\top) V`$
# with $`A = \mathrm{softmax}(\tilde Q \tilde K^\top)`$ and all scores divided by
# $\sqrt E$. With $r = n$ both are exact. What
# do you expect with $r = n / 4$, if a query wants one key, and if it wants a smooth
# average? Here $P = F$ takes the means of $r$ segments. An error of 1 is that of the
# answer 0.

# %%
n, E = 64, 16
t = np.arange(n)[:, None] / n * 2 * np.pi  # places of a slow wave


def drawn(case):
    """Return q and k (n, E) and v (n, 8) whose weights find one key, or are smooth."""
    if case == "one key":
        k, v = rng.normal(size=(n, E)), rng.normal(size=(n, 8))
    else:
        waves = t * np.arange(1, E // 2 + 1)
        k = np.concatenate([np.cos(waves), np.sin(waves)], 1)
        v = np.sin(t + rng.uniform(0, 2 * np.pi, (1, 8)))
    return 5 * k, k, v


# %%
def segments(r):
    """Return the matrix (r, n) that takes the mean of each of r segments."""
    return np.kron(np.eye(r), np.full((1, n // r), r / n))


def error(found, exact):
    return np.sqrt(((found.data - exact.data) ** 2).mean() / (exact.data**2).mean())


# %%
ways = {
    "Linformer": lambda q, k, v, r: attention.linformer_attention(
        q, k, v, segments(r), segments(r)
    ),
    "Nystrom": lambda q, k, v, r: attention.nystrom_attention(q, k, v, r, 20),
}

# %%
print(f"error, n = {n}          r" + "".join(f"{r:8d}" for r in (4, 16, 32, 64)))
for case in ("one key", "smooth"):
    inputs = [drawn(case) for _ in range(20)]
    for name, way in ways.items():
        row = [
            np.mean([error(way(*x, r), sdpa(*x)) for x in inputs])
            for r in (4, 16, 32, 64)
        ]
        print(f"{case:10s}{name:15s}" + "".join(f"{y:8.3f}" for y in row))

# %% [markdown]
# For one key among independent tokens a quarter of the numbers is hardly better than
# nothing: $r$ sums cannot hold more than $r$ independent values. For what changes
# slowly along the text it is enough. (Linformer's matrices are learned, and may do
# better on the tokens of a language; that is not measured here. They make its length
# fixed, and both methods mix later tokens into earlier outputs.)
#
# The third method draws its features. *Random features* (Performer, Choromanski and
# others 2021) replace $\phi$ of linear attention so that the weights are right *on
# average*. With $w \sim N(0, I)$,
#
# ```math
# \phi_w(x) = \exp(w \cdot x - |x|^2 / 2), \qquad
# \mathrm{E}\, \phi_w(q)\, \phi_w(k) = \exp(q \cdot k)
# ```
#
# for the mean of $\exp(w \cdot (q + k))$ is $\exp(|q + k|^2 / 2)$. But its square has
# the mean $\exp(2 |q + k|^2)$. What does that mean for larger queries and keys?

# %%
def performer_error(deviation, m):
    """Return the error of one draw of m features, for one draw of q, k and v."""
    q, k = deviation * rng.normal(size=(2, n, E))
    v, W = rng.normal(size=(n, 8)), attention.random_directions(m, E, rng)
    found = attention.performer_attention(q, k, v, W.astype(float))
    return error(found, sdpa(q, k, v))


# %%
counts = (16, 64, 256, 1024)
print("error, features      " + "".join(f"{m:7d}" for m in counts))
for deviation in (0.25, 0.5, 1.0):
    each = [[performer_error(deviation, m) for _ in range(20)] for m in counts]
    row = "".join(f"{np.mean(x):7.2f}" for x in each)
    print(f"deviation of q, k {deviation:.2f}{row[1:]}")

# %% [markdown]
# With small queries and keys more features help. With entries of deviation 1, as a
# layer norm makes them, a thousand features for a width of {{ E }} are little better
# than the answer 0: the variance grows exponentially with $|q + k|^2$.
#
# ## What would break it?
#
# - Keys that are not of length 1: a write multiplies the error of its key by
#   $`1 - b_t |k_t|^2`$, and above $b_t |k_t|^2 = 2$ the state explodes.
# - $M$ as a quotient of two cumulative products: after some hundred tokens it is 0 / 0.
#   Compute the product of each pair, as here, inside a chunk.
# - Gates that start near 0: a token that is forgotten at once gets no gradient. Let
#   gates start near 1.
# - A question that writes. Its token has a key, although it has no value to write; the
#   model has to learn $b_t = 0$, or a value of 0.
# - The mean of the own block as a score: it contains later keys.
#
# **To take away: a memory of fixed size has to give something up: a decay gives up what
# is old, and the delta rule the old value of the same key; chosen blocks keep
# everything, and give up reading most of it.**
#
# Exercises: E.21 (the delta rule, forward and backward) and E.22 (its chunks):
# `python -m lessons start E.21`. Other tasks and arms:
# `python -m lessons experiment 18`.

"""18  Memories that forget and correct  ●●●○  40 min  importance ★★  needs 12, 14

What does a memory of fixed size give up?
"""

# %% [markdown]
# "Ann has the number 3." Later: "Ann has the number 7." What is Ann's number? A memory
# that can only add returns the sum of both. What must it do to return 7, and what does
# it lose?
#
# **Why it matters:** a softmax keeps every key and value of a text. A memory of fixed
# size makes long texts cheap.

# %% [folded]
from importlib import import_module

import numpy as np

import attention
from attention import definitions
from attention import scaled_dot_product_attention as sdpa
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import above
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, PURPLE, RED, arrow, box, diagram, figure, show,
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
# coordinate of its own. A key such as $(1, 1) / \sqrt 2$ has none.
#
# ## Correct
#
# The second remedy reads before it writes. Before the write, the key returns
# $`S_{t-1}^\top k_t`$. The new value minus this is the error $r_t$, and only the error
# has to be written:
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
# to $k_t$ returns what it returned before, as $k^\top k_t = 0$. In the backward (E.21)
# the gradients of $`S_{t-1}`$ and $k_t$ have two terms each, as both stand in $r_t$
# too. Where does the rule come from? Take the loss $`J = |S^\top k_t - v_t|^2 / 2`$.
# Its gradient in $S$ is $`k_t (S^\top k_t - v_t)^\top = -k_t r_t^\top`$. So each token
# is one step of gradient descent, with the rate $b_t$: the state is *trained* while the
# text is read.

# %%
S = np.zeros(2)
for name, value in writes:
    k = keys[name]
    S = S + k * (value - k @ S)  # b = 1
print("the delta rule:          Ann {:.2f}  Ben {:.2f}".format(*S))

# %% [markdown]
# What does the memory return after each write? Each frame has one rule and one write:

# %% [figure]
def draw(rule, token):
    """Draw the state after a write, by a rule; return it and what it returns."""
    S, wanted = np.zeros(2), {}
    for name, value in writes[:token]:
        k, wanted[name] = keys[name], value
        written = value - k @ S if rule == "delta rule" else value
        S = (0.5 if rule == "a = 1/2" else 1) * S + k * written
    fig, ax = diagram((7.2, 2.2), (-0.7, 7.4), (-1.0, 1.3))
    fig.suptitle("What does the memory return?")
    box(ax, (0.3, 0.4), f"{name} {value:.0f}", GREY, below=f"token {token}", width=1.3)
    ax.text(1.9, 0.75, f"writes {written:.0f}", ha="center")
    for k, (each, at) in enumerate((("Ann", 3.4), ("Ben", 5.6))):
        box(ax, (at, 0.4), f"{S[k]:.2f}", BLUE, below=each, width=1.3)
        last = f"last value {wanted[each]:.0f}" if each in wanted else "no value yet"
        ax.text(at, -0.55, last, ha="center", va="top", color=GREY)
    end = (2.7, 0.4) if name == "Ann" else (4.9, -0.0)
    bend = 0 if name == "Ann" else 0.3
    arrow(ax, (1.0, 0.4), end, ORANGE, bend=bend)
    read = ", ".join(f"{each} {S[k]:.2f}" for k, each in enumerate(keys))
    last = ", ".join(f"{each} {v:.0f}" for each, v in wanted.items())
    return fig, f"{rule}, after token {token}: it returns {read}; last values {last}."


alt = """The state as two boxes, one for each name, after a write. The sum returns for
Ann the sum of her values; the decay halves what Ben has; the delta rule returns the last
value of both. An arrow shows what the token writes."""
rules = ["sum", "a = 1/2", "delta rule"]
show(draw, "overwritten", alt, frames={"rule": rules, "token": [1, 2, 3]})

# %% [markdown]
# ## More keys than coordinates
#
# Only $E$ keys can be at right angles to each other in $E$ coordinates. Let $E = 16$.
# Draw $n$ random keys of length 1 and values of variance 1, write each once, and read
# all. A memory that always returns 0 has the mean squared error 1. What is the error of
# the sum, and of the delta rule? For the sum: each of the other $n - 1$ keys adds
# $(k_i \cdot k_j)^2 = 1 / E$ on average. And no state of $E$ rows does better than a
# least-squares fit: it fits $E$ of $n > E$ random values, so its error is $1 - E / n$.

# %% [folded]
E, rows = 16, {"sum": [], "sum, (n - 1) / E": [], "delta rule": [], "least squares": []}
for n in (2, 8, 16, 32, 64):
    k, v = rng.normal(size=(400, n, E)), rng.normal(size=(400, n, 1))
    k /= np.linalg.norm(k, axis=-1, keepdims=True)
    _, added = attention.decay_attention(k, k, v, np.zeros(1))
    _, corrected = attention.delta_rule(k, k, v, np.ones(1))
    rows["sum"].append(((k @ added.data - v) ** 2).mean())
    rows["sum, (n - 1) / E"].append((n - 1) / E)
    rows["delta rule"].append(((k @ corrected.data - v) ** 2).mean())
    rows["least squares"].append(max(1 - E / n, 0))
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
# The delta rule corrects one key at a time, and a decay weakens all of them. The *gated
# delta rule* (Yang, Kautz and Hatamizadeh 2024) does both: it multiplies the state by a
# number $a_t$, and then corrects:
#
# ```math
# S' = a_t S_{t-1}, \qquad S_t = S' + k_t \left(b_t (v_t - S'^\top k_t)\right)^\top
# ```
#
# With $b_t = 0$ it only forgets, and with $a_t = 1$ it is the delta rule. Does a memory
# need $a_t$ to drop everything at once, at the end of a chapter? One write of the delta
# rule changes the state in one direction, that of its key, so it cannot erase many
# names. But it can change what all of them return. Let all names have a small part in
# one shared direction, and write a large value for this direction:

# %%
part, large = 0.3, 100.0
shared = np.eye(4)[3]
three = np.sqrt(1 - part**2) * np.eye(4)[:3] + part * shared  # names, of length 1
S = np.zeros(4)
for k, value in ((three[0], 3), (three[1], 5), (shared, large), (three[2], 7)):
    S = S + k * (value - k @ S)
print("written before, before, after:", (three @ S).round(1).tolist())

# %% [markdown]
# The name that was written afterwards returns its value, 7. The others return about 30.
# No value is so large, so an output layer can answer "none" for them. Nothing was
# erased. A gate is the plain way to drop a chapter, not the only one.
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
# of all, and $`*`$ multiplies entry by entry; $f$ and $l$ multiply rows. Do steps,
# matrix, chunks and the library agree?


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

# %% [markdown]
# Chunks of 1 are the recurrence, and a chunk of $n$ is the matrix. The delta rule has
# chunks as well. It writes $k_t (b_t r_t)^\top$, as a sum does whose value is
# $b_t r_t$. But each error depends on the earlier ones. In a chunk that begins with the
# state $S$, the state before token $i$ is $`S + \sum_{j < i} k_j (b_j r_j)^\top`$, so
#
# ```math
# r_i + \sum_{j < i} (k_i \cdot k_j)\, b_j r_j = v_i - S^\top k_i
# ```
#
# These are $C$ linear equations with a triangular matrix. Solve them once, and all else
# is a product of matrices (exercise E.22). Does the library, which computes chunks,
# agree, here with the gate $a_t$?

# %%
k /= np.linalg.norm(k, axis=1, keepdims=True)
b = rng.uniform(size=n)
steps = definitions.delta_rule(
    q, k, v, b[:, None], np.log(np.maximum(a, 1e-300))[:, None]
)
with np.errstate(divide="ignore"):
    library, _ = attention.delta_rule(q, k, v, b, np.log(a))
print("the delta rule, steps = chunks:", np.allclose(library.data, steps))

# %% [markdown]
# Chunks of 64 tokens need a few more multiplications than steps. But they are products
# of matrices, and only $n / C$ chunks wait for each other, not $n$ steps.
#
# ## Which memories overwrite?
#
# **Measured.** 24 tokens each write a value, one of 8, for a name, one of 8; names are
# drawn with repetitions. Then each name is a question, and the answer is its last
# value. (A name that was never written does not count.) One layer with two heads of
# width 16: linear maps of a one-hot token give queries, keys, values and gates, and a
# linear map of the heads gives the answer. The keys of a memory have the length 1.
#
# | arm | what it does |
# |---|---|
# | sum | adds |
# | RetNet, fixed | forgets by a fixed number for each head: those of RetNet, and two other pairs |
# | decay | forgets by a number computed from the token; it starts near 1 |
# | delta | corrects |
# | softmax | keeps every pair, without positions |
# | forgetting | a softmax with the gates of [lesson 15](../15_weights/README.md), which give late keys more weight |
#
# How good are three simple rules? The first guesses. The second reads the last 8 writes
# alone, and guesses if the name is not among them. The third answers with the most
# frequent value of the name. [How to read a measurement](../../MEASURES.md) explains
# the tables.

# %% [folded]
kept = record("memories")
print(how_made(kept))
N, written, names_chance = study.Names.names, study.Names.writes, study.Names.chance
x, y, _ = study.Names().draw(4000, 0)
first, asked = x[:, :written], x[:, written:, :N]
same = asked @ first[..., :N].swapaxes(1, 2)  # (4000, questions, writes)
counts = same @ first[..., N:]  # (4000, questions, values): how often was it written?
best = counts == counts.max(-1, keepdims=True)
known = y >= 0
most = (np.take_along_axis(best, y[..., None], 2)[..., 0] / best.sum(-1))[known].mean()
near = same[..., -8:].any(-1)[known].mean()
near += (1 - near) * names_chance
print(f"chance {names_chance:.3f}, last 8 writes {near:.3f}, most frequent {most:.3f}")

# %%
names = kept["names"]
print(fair.table(names, ("mean", "every seed", "doubling")))
print(fair.judge(names, ("delta ahead of decay", above(0), "delta", "decay")))
print("mean of the three runs that chose, by rate")
print(fair.at_every_rate(names | {"arms": ["RetNet", "fixed .8 .9", "decay"]}))

# %% [figure]
behind = {
    arm: np.median(fair.figures(names, "decay") - fair.figures(names, arm))
    for arm in ("RetNet", "fixed .8 .9")
}
looks = {
    "sum": GREY, "RetNet": PURPLE, "fixed .8 .9": GREEN, "decay": ORANGE,
    "delta": BLUE, "forgetting": RED,
}  # fmt: skip
by_times = {
    arm: [fair.figures(names, arm, ("times", str(n))).mean() for n in range(1, 7)]
    for arm in looks
}
fig, ax = figure("Who returns the last value?", size=(6.4, 3.2))
height = 0.0  # of the label below
for arm in sorted(looks, key=lambda arm: by_times[arm][-1]):
    ax.plot(range(1, 7), by_times[arm], color=looks[arm])
    height = max(by_times[arm][-1], height + 0.065)
    ax.text(6.1, height, arm, color=looks[arm], va="center")
ax.axhline(names["chance"], color=GREY, ls=":", lw=1)
ax.text(1, names["chance"] + 0.02, "chance", color=GREY)
ax.set(xlabel="times the name was written (6: or more)", xlim=(0.8, 7.3))
ax.set(xticks=range(1, 7), yticks=np.linspace(0, 1, 6))
ax.set(ylabel="share of right answers", ylim=(0, 1.2))
ends = "; ".join(f"{arm} {x[0]:.2f}, {x[-1]:.2f}" for arm, x in by_times.items())
alt = f"""Share of right answers by the number of times a name was written, the mean of
{len(names["seeds"])} runs. For once, and for six times or more: {ends}."""
show(fig, "names", alt)

# %% [markdown]
# In this task, at this size, the sum reaches the share of the most frequent value. So
# does a softmax without positions, although it keeps every token: it cannot know which
# is last. The delta rule replaces old values. RetNet is {{ f"{behind['RetNet']:.2f}" }}
# behind the decay that is computed from the token (median), `fixed .8 .9` only
# {{ f"{behind['fixed .8 .9']:.2f}" }}. So most of RetNet's distance comes from its two
# numbers, which were made for long texts. One run of `fixed .8 .9` ended lower, and at
# the next rate this arm is nearer. So whether a computed decay is ahead of the best
# fixed numbers is not decided here.
#
# A decay by one number for each head weakens every name at each write. So it should
# lose names that were written once, long ago:

# %%
print("written once, writes since then")
since = [(f"{n}-{n + 5}", ("once, since", str(n))) for n in (0, 6, 12, 18)]
print(fair.table(names, since, ("RetNet", "fixed .8 .9", "decay", "delta")))

# %% [markdown]
# RetNet keeps old names, and mixes old values with new ones (the figure). The decays
# that replace values lose the oldest names. The delta rule keeps old names and replaces
# values.
#
# ## How many names does a state hold?
#
# **Measured.** 16 names, each written once, then a question for each. There is one
# head; its keys have 4 coordinates, and its values 16. In the table of errors the delta
# rule was better than the sum. Here, too?

# %%
capacity = kept["capacity"]
print(fair.table(capacity, ("rate", "mean", "every seed", "doubling")))
claim = "delta ahead of sum", above(0), "delta", "sum"
print(fair.judge(capacity, claim))
of_sum, of_delta = (fair.figures(capacity, arm) for arm in ("sum", "delta"))

# %% [markdown]
# In this task, at this size, the delta rule is not shown to hold more names than the
# sum. The runs of the sum are right in
# {{ f"{of_sum.min():.2f} to {of_sum.max():.2f}" }} of the answers; those of the delta
# rule scatter, {{ f"{of_delta.min():.2f}" }} to {{ f"{of_delta.max():.2f}" }}. (Schlag
# and others 2021, and Yang and others 2024 on the delta rule in parallel, report that
# it is ahead of the sum in recall, in other tasks and in language models.) Why is the
# sum not behind, as in the table of errors? There the keys were random. Here they are
# learned, and training can move them apart. And an answer is the largest of 8 logits.
# Small errors do not change it, so a state of $E$ rows gives more right answers than
# exact values.
#
# ## What does each cost?
#
# The memory of a decoder is counted in numbers, for $n$ tokens; recurrences are
# computed in chunks of $C$ tokens. Chosen blocks, of $w$ keys, of which a query reads
# $g$, are the first section below.
#
# | | multiplications of a token | memory of a decoder | keeps |
# |---|---|---|---|
# | softmax | $n (E + E_v)$ | $n (E + E_v)$ | every pair |
# | chosen blocks | $g w (E + E_v) + (n / w) E$ | $n (E + E_v)$, and the means | every pair, and reads few |
# | sum, RetNet, decay | $`2 E E_v + C (E + E_v)`$ | $E E_v$ | sums; a decay weakens old values |
# | delta rule | the same, and a system of $C$ equations | $E E_v$ | the last value of a key |
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
#   model has to learn $b_t = 0$. (With a value of 0 the delta rule would erase the old
#   one.)
#
# **To take away: a memory of fixed size has to give something up. One that only adds
# cannot replace a value; a decay gives up what is old, and the delta rule the old value
# of the same key.**
#
# Exercises: E.21 (the delta rule, forward and backward) and E.22 (its chunks):
# `python -m lessons start E.21`. Other tasks and arms:
# `python -m lessons experiment 18`.
#
# ## Further: blocks chosen by content
#
# The other way to read a long text cheaply is to keep every key, and to read few of
# them. The blocks of BigBird (lesson 12) do not depend on the text. In *MoBA* (Lu and
# others 2025) each query chooses its blocks. Cut the keys into blocks of $w$ keys. The
# score of block $u$ for query $i$ is the product of the query with the mean key of the
# block:
#
# ```math
# q_i \cdot \bar k_u, \qquad \bar k_u = \frac{1}{w} \sum_{j \in u} k_j
# ```
#
# The query attends to its own block, causally, and to the $g - 1$ earlier blocks with
# the largest scores. The own block is read without a score, because its mean would
# contain later keys. The choice has no gradient; attention to the chosen blocks trains
# their keys. In the example there are four blocks of four keys, and the last query,
# number 15, is twice key 5:

# %%
k = rng.normal(size=(16, 32))
q = k.copy()
q[15] = 2 * k[5]
x = [z[None, None] for z in (q, k)]  # (1, 1, n, E)
chosen = attention.choose_blocks(*x, 4, 2).chosen[0, 0]  # (n, blocks)
print("q . mean of the three earlier blocks:",
      [round(float(q[15] @ k[i : i + 4].mean(0)), 1) for i in (0, 4, 8)])  # fmt: skip
print("query 15 reads blocks", np.flatnonzero(chosen[15]).tolist())
v = rng.normal(size=(1, 1, 16, 8))
causal = sdpa(*x, v, is_causal=True).data
print("all 4 blocks are causal attention:",
      np.allclose(attention.block_attention(*x, v, 4, 4).data, causal))  # fmt: skip

# %% [markdown]
# In the mean of $w$ keys the key that fits has a factor of $1/w$, and the other keys
# are noise. So a query can miss its block, and then it cannot read the key. How often
# this happens in a trained model is not measured here.
#
# **How long does it take?** A mask alone saves no time. The compiled loops compute
# tiles of 64 queries and 64 keys, and skip the tiles that are empty in a `BlockMask`
# (lesson 12). With blocks of 64 keys, a block that *no query of the tile* has chosen is
# skipped. So two cases are measured, with random numbers: the 64 queries of a tile are
# alike, and choose the same blocks; or no two are alike. *Tiled* is the time of all
# causal keys, and *the choice* that of choosing four blocks alone. *Tiles read* is a
# share of the tiles that all causal keys need.

# %% [folded]
time = kept["times"]
print(f"{time['length']} tokens, one head of width 64, forward, one thread")
least = {
    case: {way: min(taken) for way, taken in time[case]["seconds"].items()}
    for case in ("alike", "independent")
}
for case, x in least.items():
    ms = ", ".join(f"{way} {1e3 * x[way]:.1f} ms" for way in ("tiled", "the choice"))
    print(f"{case}: {ms}")
print("                    queries alike            no two alike")
print("blocks g     tiles read   time / tiled   tiles read   time / tiled")
every = time["alike"]["tiles"][-1]
for i, g in enumerate(time["chosen"]):
    cells = "".join(
        f"{time[case]['tiles'][i] / every:11.2f} {x[str(g)] / x['tiled']:13.2f}  "
        for case, x in least.items()
    )
    print(f"{g:6d}  {cells}".rstrip())

# %% [markdown]
# If the queries of a tile choose the same blocks, the time falls with $g$. If they do
# not, tiles of 64 queries need nearly all blocks already with $g = 4$. Then the time is
# longer than that of all keys, because a tile that only some of its queries read needs
# a table of its pairs. So a choice by content saves time only if near queries share it.
# And the choice itself computes $n^2 / w$ products of queries and means: chosen blocks
# divide the $n^2$ by $w$; only a state of fixed size removes it.
#
# ## Further: three branches
#
# *Native sparse attention* (Yuan and others 2025) adds two branches to the chosen
# blocks. One attends to the means of the blocks, and its weights make the choice; the
# other attends to a window. Gates, sigmoids of a linear map of the token, mix the
# three. So the means get a gradient of their own, and the output depends on the mean of
# each block, chosen or not. With the gates $(0, 1, 0)$ only the chosen blocks count:

# %%
q, k, v = (rng.normal(size=(1, 1, 16, 8)) for _ in range(3))
only = np.broadcast_to([0.0, 1.0, 0.0], (1, 1, 16, 3))
o = attention.native_sparse(q, k, v, only, 4, 4, window=4).data
causal = sdpa(q, k, v, is_causal=True).data
print("all blocks, gates (0, 1, 0):", np.allclose(o, causal))

# %% [markdown]
# ## Further: approximations of low rank
#
# The weights of a softmax are a matrix of $n^2$ numbers. Three methods compute with
# fewer. *Linformer* (Wang and others 2020) sums keys and values over positions with
# learned matrices $P$ and $F$ of $R$ rows, and attends to these $R$ sums:
# $`\mathrm{softmax}(Q (P K)^\top / \sqrt E)\, F V`$. *Nystromformer* (Xiong and others
# 2021) takes the means of $R$ segments of the queries and of the keys as landmarks,
# $`\tilde Q`$ and $`\tilde K`$, and interpolates:
# $`\mathrm{softmax}(Q \tilde K^\top)\, H^{-1}\, \mathrm{softmax}(\tilde Q K^\top) V`$
# with $`H = \mathrm{softmax}(\tilde Q \tilde K^\top)`$ and all scores divided by
# $\sqrt E$. With $R = n$ both are exact. What do you expect with $R = n / 4$, if a query
# wants one key, and if it wants a smooth average? Here $P = F$ takes the means of $R$
# segments. An error of 1 is that of the answer 0.

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
def segments(R):
    """Return the matrix (R, n) that takes the mean of each of R segments."""
    return np.kron(np.eye(R), np.full((1, n // R), R / n))


def error(found, exact):
    return np.sqrt(((found.data - exact.data) ** 2).mean() / (exact.data**2).mean())


# %%
ways = {
    "Linformer": lambda q, k, v, R: attention.linformer_attention(
        q, k, v, segments(R), segments(R)
    ),
    "Nystrom": lambda q, k, v, R: attention.nystrom_attention(q, k, v, R, 20),
}
print(f"error, n = {n}          R" + "".join(f"{R:8d}" for R in (4, 16, 32, 64)))
for case in ("one key", "smooth"):
    inputs = [drawn(case) for _ in range(20)]
    for name, way in ways.items():
        row = [
            np.mean([error(way(*x, R), sdpa(*x)) for x in inputs])
            for R in (4, 16, 32, 64)
        ]
        print(f"{case:10s}{name:15s}" + "".join(f"{y:8.3f}" for y in row))

# %% [markdown]
# For one key among independent tokens a quarter of the numbers is hardly better than
# nothing: $R$ sums cannot hold more than $R$ independent values. For what changes
# slowly along the text it is enough. (Linformer's matrices are learned, and may do
# better on the tokens of a language; that is not measured here. They make its length
# fixed, and both methods mix later tokens into earlier outputs.)
#
# The third method draws its features. *Random features* (Performer, Choromanski and
# others 2021) replace $\phi$ of linear attention so that the weights are right *on
# average*. With random directions $d \sim N(0, I)$,
#
# ```math
# \phi_d(x) = \exp(d \cdot x - |x|^2 / 2), \qquad
# \text{mean of } \phi_d(q)\, \phi_d(k) = \exp(q \cdot k)
# ```
#
# for the mean of $\exp(d \cdot (q + k))$ is $\exp(|q + k|^2 / 2)$. But its square has
# the mean $\exp(2 |q + k|^2)$. What does that mean for larger queries and keys?

# %%
def performer_error(deviation, features):
    """Return the error of one draw of features, for one draw of q, k and v."""
    q, k = deviation * rng.normal(size=(2, n, E))
    v, d = rng.normal(size=(n, 8)), attention.random_directions(features, E, rng)
    found = attention.performer_attention(q, k, v, d.astype(float))
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

"""Lesson 04: dot, general, concat, and the attentional state.  ●●○○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 04. Dot, general, concat
#
# Does a score need a network? Luong and others tried a matrix, and nothing at all. What
# can each score say about a key that the others cannot, and what does it cost? Most
# answers of 6.3, 38.1 and 38.2 hold; we compute those that do not. You need
# [lesson 03](../03_additive/README.md), and half an hour.

# %%
from importlib import import_module

import numpy as np

import minigrad as mg
from attention import additive, concat, dot, general, scaled_dot
from attention.costs import cost_of
from attention.seq2seq.reverser import Reverser
from attention.costs.counted import count
from lessons.classroom.figures import BLUE, ORANGE, PURPLE, figure, show
from lessons.classroom.records import record

drawn = import_module("lessons.book.04_scores.drawn")
rng = np.random.default_rng(0)

# %% [markdown]
# ## What do the four scores say of one pair?
#
# ```math
# s^\top h, \qquad \frac{s^\top h}{\sqrt{d}}, \qquad s^\top W_g\, h, \qquad
# v_a^\top \tanh(W_a [s; h])
# ```
#
# Section 38.1 takes one query and one key of four numbers, and draws the parameters
# with torch's generator, seed 11. Drawn there and rounded they are:

# %%
s, h = np.array([1.0, -0.5, 0.3, 0.8]), np.array([0.6, 0.2, -0.4, 1.0])  # (4,) each
W_g, W_a, v_a = drawn.W_g, drawn.W_a, drawn.v_a
print("W_g", W_g, "W_a", W_a, "v_a", v_a, sep="\n")

# %% [markdown]
# By hand the first is $(1)(0.6) + (-0.5)(0.2) + (0.3)(-0.4) + (0.8)(1)$, and dividing
# by $\sqrt 4$ halves it. Do the library's four functions give what the chapter prints?

# %%
book = {"dot": 1.18, "scaled": 0.59, "general": 0.3471, "additive": -0.6569}
q, k = s[None], h[None]  # one query, one key: (1, 4) each
found = dot(q, k), scaled_dot(q, k), general(q, k, W_g), concat(q, k, W_a, v_a)
for (name, printed), e in zip(book.items(), found):
    print(f"{name:9s} e = {e.item():+.4f}   printed {printed:+.4f}")
print("s W_g", (s @ W_g).round(3), end="  ")
print("tanh W_a[s;h]", np.tanh(W_a @ np.concatenate([s, h])).round(3))

# %% [markdown]
# All hold, with both intermediate lines. The fourth has one matrix on $[s; h]$, Luong's
# "concat". Half of it meets $s$ alone, half $h$: it *is* the additive score, as the
# Notes say. What differs is who asks: Bahdanau's $`s_{t-1}`$, or Luong's current state.

# %% [source] attention.scores.concat

# %% [markdown]
# ## What can each score say?
#
# Fix a query $s$ of two numbers, the arrow, and let the key move. Red scores are high.

# %%
s2 = np.array([1.2, 0.8])
axis = np.linspace(-3, 3, 25)
plane = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)  # (625, 2)
turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
W_q, W_k = -np.kron(np.eye(2), [[1], [3]]), np.kron(np.eye(2), [[2], [2]])  # (4, 2)
w_v = np.array([1.0, -1, 1, -1])
rules = {  # key by key: h (S, 2) -> scores (1, S)
    "dot": lambda h: dot(s2[None], h),
    "general": lambda h: general(s2[None], h, turn),
    "additive": lambda h: additive(s2[None], h, W_q, W_k, w_v),
}

# %% [figure]
fig, axes = figure("Which keys does a query prefer?", columns=3, sharey=True)
for ax, (name, score) in zip(axes, rules.items()):
    e = score(plane)
    bands = np.linspace(-1, 1, 11) * np.abs(e.data).max()
    ax.contourf(axis, axis, e.data.reshape(25, 25), levels=bands, cmap="RdBu_r")
    ax.annotate("", s2, (0, 0), arrowprops={"arrowstyle": "->", "color": "black"})
    ax.set(title=name, xlabel="first number of h", aspect="equal")
    ax.grid(False)
axes[0].set_ylabel("second number of h")
alt = """Maps of the score over a plane of keys, the query an arrow. Dot: straight bands
across it. General: in another direction. Additive: a hill, a ridge along each axis."""
show(fig, "planes", alt)

# %% [markdown]
# Dot and general are *linear* in $h$: straight bands that rise for ever. Additive can
# have a hill: "a key like the query, and no other". *The dot product rewards similar
# directions* (6.3.1, 38.2)? Length as well; cosine ignores it. Which of two keys wins?

# %%
for name, key in (("aligned, short", 0.5 * s2), ("askew, long", np.array([3.0, -1]))):
    cosine = s2 @ key / np.linalg.norm(s2) / np.linalg.norm(key)
    print(f"{name:15s} dot {s2 @ key:.3f}   cosine {cosine:.3f}")

# %% [markdown]
# *General is a dot product after a rotation* (38.1). After an arbitrary linear map:
# rotations have singular values of one, and the chapter's own $W_g$ has others. With
# $W = 1$ it is the dot product (exercise 6.2), with $W = -1$ the order of all keys is
# reversed, and it joins widths that differ, where dot has to refuse:

# %%
print("singular values of W_g:", np.linalg.svd(W_g)[1].round(3))
keys = rng.normal(size=(5, 4))
for W in (np.eye(4), -np.eye(4)):
    print("order", np.argsort(-general(q, keys, W).data[0]), end="  ")
try:
    dot(rng.normal(size=(1, 4)), rng.normal(size=(5, 7)))
except ValueError as refusal:
    print("\n" + str(refusal).replace("; ", ";\n"))

# %% [markdown]
# *"Additive is the only one that can be non-monotone in $s^\top h$"* (38.1)? General is
# no function of $s^\top h$ at all. What differs is linearity in $h$. Of three keys in a
# row, a linear score gives the middle one the mean of the outer two. And additive?

# %%
three = np.array([[-0.5, 1.0], [1.0, 0.75], [2.5, 0.5]])  # (3, 2)
for name, score in rules.items():
    left, middle, right = score(three).data[0]
    print(f"{name:9s} middle {middle:.3f}   mean of the ends {(left + right) / 2:.3f}")

# %% [markdown]
# ## Project the key, or the query?
#
# Section 38.1 projects the keys once, $K' = K W_g^\top$; exercise 38.1 writes
# $h' = W_g^\top h$. With square matrices both run, so take $d_s = 4$ and $d_h = 7$:

# %%
W, K = rng.normal(size=(4, 7)), rng.normal(size=(5, 7))  # W (d_s, d_h), K (S, d_h)
e = general(q, K, W).data[0]  # (5,)
print("s.(W h_j):", np.allclose((K @ W.T) @ s, e), "  (W^T s).h_j:", end=" ")
print(np.allclose(K @ (W.T @ s), e), "  shapes of W^T h:", W.T.shape, K[0].shape)

# %% [markdown]
# $`W_g^\top h`$ does not exist; it should be $W_g h$, or $W_g^\top s$ on the other
# side. Gradients, with $G$ that of the scores, are products of lesson 00:
# $`dW = Q^\top G K`$, $`dQ = G K W^\top`$, $`dK = G^\top Q W`$.
#
# ## What does the decoder make of the context?
#
# Luong's answer is the formula of section 6.2.4, the *attentional state*:
#
# ```math
# \tilde h = \tanh(W_c [c; h]), \qquad P(y) = \mathrm{softmax}(W_o \tilde h)
# ```
#
# (In the Notes "a linear layer": without the tanh, $W_o W_c$ would be one matrix.) Here
# the *new* state asks, and $\tilde h$ is fed to the next step ("input feeding"):

# %% [source] attention.variants.steps.LuongStep.forward

# %% [markdown]
# With $d = g \odot (1 - \tilde h^2)$, $`dW_c = d [c; h]^\top`$, and $W_c^\top d$ is cut
# where $[c; h]$ was joined: cutting is the backward of joining.

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
# 38.6 counts, for one query and $T$ keys of width $d$: additive $T(2d^2 + d)$, dot
# $Td$, general $d^2 + Td$, scaled $Td + T$ (it says FLOPs, and counts multiplications).
# The library's formulas are exact: arrays that count their products agree with them.

# %%
T, d = 6, 4
few = [rng.normal(size=size) for size in ((1, d), (T, d), (T, d))]  # q, k, v
printed = {"dot": T * d, "scaled": T * d + T, "general": d * d + T * d}
printed["concat"] = T * (2 * d * d + d)
drawn = {"general": [W_g], "concat": [W_a, v_a]}
for name, of_book in printed.items():
    how = {"projected": "pairs"} if name == "concat" else {}
    told = cost_of(name, L=1, S=T, E=d, **how)
    print(f"{name:8s} score {told.projecting + told.scoring} (38.6: {of_book})", end="")
    print(f"   with the average {told.multiplications}", end=", ")
    _, ops = count(name, *few, drawn.get(name, []), **how)
    print("counted", ops.multiplications)

# %% [markdown]
# Only one differs: our scaled score scales the query, $d$ numbers, not the $T$ scores.
# "Both are $\Theta(T d)$", says 6.3.4 of additive and dot, and exercise 6.3 asks to
# show it. $T(2d^2 + d)$ is not $\Theta(Td)$. It depends on *when the keys are
# projected*: a decoder asks the same keys at every step. With 50 words in and 50 out,
# as in 38.2, per step:

# %%
ds, lines = np.array([16, 32, 64, 128, 256, 512, 1024]), {}
projected = {"dot": None, "general": None, "additive, keys once": "once"}
projected |= {"additive, keys each step": "steps", "additive, every pair": "pairs"}
for way, how in projected.items():
    sizes = [dict(L=50, S=50, E=int(d), projected=how) for d in ds]
    costs = [cost_of(way.partition(",")[0], **size) for size in sizes]
    line = lines[way] = np.array([c.projecting + c.scoring for c in costs]) / 50
    print(f"{way:24s} d = 64: {line[2]:>9,.0f}   d = 128: {line[3]:>10,.0f}", end="")
    print(f"   d to the {np.log2(line[3] / line[2]):.2f}")

# %% [figure]
fig, ax = figure("What does one decoder step cost?", size=(7.2, 3.5))
styles = ((BLUE, "-"), (PURPLE, "-."), (ORANGE, "-"), (ORANGE, "--"), (ORANGE, ":"))
for (way, line), (colour, style) in zip(lines.items(), styles):
    ax.loglog(ds, line, style, marker=".", color=colour, label=way, base=2)
ax.set(xlabel="width d", ylabel="multiplications a step")
ax.legend()
up = [lines[way][-1] / lines["dot"][-1] for way in ("general", "additive, keys once")]
alt = f"""Multiplications a decoder step for 50 keys against the width d, logarithmic.
Dot is a line of slope one; general and additive with keys projected once bend up to
{up[0]:.0f} and {up[1]:.0f} times it. With keys projected again, slope two."""
show(fig, "cost", alt)

# %% [markdown]
# Projected once, the keys cost $d_a d_h T$ a sentence, of which a step bears a share;
# its own are $d_a d_s + T d_a$. So at $d = 64$ additive is
# {{ f"{lines['additive, keys once'][2] / lines['dot'][2]:.1f}" }} times as dear as dot,
# and not {{ f"{lines['additive, every pair'][2] / lines['dot'][2]:.0f}" }}, as 38.6 has
# it; 38.2's 2,500 evaluations of a network are 100 projections and 2,500 rows of tanhs.
# But none of it is $\Theta(Td)$: the $d^2$ of the projections rules once $d > T$.
#
# Nor does it need "separate operations for each source position" (6.3.4): it is one
# expression, the projections are matrix products. What it does need is $T d_a$ tanhs
# for each query, in an array unless a compiled loop adds them up as they come. Below,
# memory, for $B = 1$, $T = 50$, $d = 64$, and with $B$, $T$, $d$ doubled in turn:

# %%
S, A = 50, 64
a, b, w = rng.normal(size=A), rng.normal(size=(S, A)), rng.normal(size=A)
print("at once:", np.allclose(np.tanh(a + b) @ w, [w @ np.tanh(a + r) for r in b]))
shapes = [(1, S, A), (2, S, A), (1, 2 * S, A), (1, S, 2 * A)]  # B, T, d
for name, fused in (("dot", 1), ("general", 1), ("additive", 1), ("additive", 0)):
    size = cost_of(name, L=50, S=S, E=A, fused=bool(fused)).extra_bytes
    print(f"{name:9s} {size:>7,} bytes for 50 queries{'' if fused else ', tanhs kept'}")
    held = [cost_of(name, L=1, B=B, S=T, E=d, fused=bool(fused)) for B, T, d in shapes]
    print("    numbers for one query:", *(f"{c.extra_bytes // 4:6,}" for c in held))

# %% [markdown]
# Additive doubles with each, $O(BTd)$ as in 38.6, also without tanhs: the projected
# keys are as many. For dot 38.6 has $O(BT)$, for general $O(BT + Bd)$: no difference,
# once the $Bd$ numbers of the context are counted. And the time? "Dramatically faster"
# (38.2), by "the difference in throughput" (6.3.4)? The record of exercise 6.6, of one
# thread, at $d = 128$ and with keys projected anew at each call:

# %%
clock = record("ex_6_6")["result"]
d = clock["d"]
for name, seconds in clock["seconds"].items():
    times = " ".join(f"{T}: {1e3 * x:.3f}" for T, x in zip(clock["T"], seconds))
    print(f"{name:8s} T ** {clock['exponent'][name]:.2f}, ms at {times}")
work = np.array([1000 * (d * d + d) + d * d, 1000 * d])  # multiplications, T = 1000
taken = np.array([seconds[-1] for seconds in clock["seconds"].values()])
print("billions of multiplications a second, T = 1000:", (work / taken / 1e9).round(1))

# %% [markdown]
# Dot is {{ f"{taken[0] / taken[1]:.0f}" }} times faster at a thousand keys, with
# {{ f"{work[0] / work[1]:.0f}" }} times fewer multiplications: the $d^2$ that 6.3.4
# left out. The higher throughput, on this processor, is *additive's*. Last, parameters
# of the models of 38.6, of width 64 in its text and its table, and 96 in its runs:

# %%
printed = {"additive": (63773, 8256), "dot": (55517, 0), "general": (59613, 4096)}
printed["scaled"] = printed["dot"]
for name, (total, own) in printed.items():
    sizes = [Reverser(name, hidden=width).num_parameters() for width in (64, 96)]
    score = cost_of(name, L=1, E=64).parameters
    print(f"{name:9s} 64: {sizes[0]:,} (38.6: {total:,})   96: {sizes[1]:,}", end="")
    print(f"  the score {score:,} (38.6: {own:,})")

# %% [markdown]
# ## What would break it
#
# - Projected keys kept after the parameters have moved: they belong to one batch.
# - Long keys, where nothing keeps lengths in check: the dot product follows length.
#
# What becomes of dot products in many dimensions is
# [lesson 05](../05_scaling/README.md). For practice: exercises 38.1, 38.6, 6.2 and 6.3.

"""Lesson 08: local attention and coverage.  ●●○○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 08. Local attention and coverage
#
# Two changes to what a decoder may look at: a window that moves with it, and a memory
# of where it has been. What do they change (6.3.3, 38.7, 38.8)?
#
# You need [lesson 04](../04_scores/README.md). Half an hour.

# %%
import numpy as np

import minigrad as mg
from attention import CoverageAttention, LocalAttention, coverage_loss, show_masks
from attention.masks import everything, local, sliding_window
from attention.costs.counted import count
from lessons.classroom.figures import figure, neutral_style, show

rng = np.random.default_rng(8)

# %% [markdown]
# ## Where do the three windows stand?
#
# Global attention sees all $S$ keys. Local attention sees those with $|s - p_t| \le D$,
# at most $2D + 1$. In Luong's paper there are two ways to place it:
#
# - local-m, monotonic: $p_t = t$. Nothing is predicted, though 38.7 says so.
# - local-p, predictive: $`p_t = S\,\sigma(v_p^\top \tanh(W_p q_t))`$, which 6.3.3 takes
#   for all of local attention.
#
# The chapter's figure has 16 targets, 20 sources and $D = 3$. Its local-m is centred at
# $\lfloor 20 t / 16 \rfloor$, which is neither; its local-p adds noise, "learned (here:
# noisy)", from NumPy's generator with seed 2. The loop is short enough to run again.
# Does the library's `local` give the same windows?

# %%
T, S, D = 16, 20, 3
noise, centre = np.random.default_rng(2), np.arange(T) * S / T
book_m = np.floor(centre)
book_p = [np.floor(np.clip(c + noise.normal(0, 2), 0, S - 1)) for c in centre]
masks = {
    "global": everything,
    "local-m, Luong's p = t": local(lambda t: t, D),
    "the chapter's local-m": local(book_m, D),
    "the chapter's local-p": local(np.array(book_p), D),
}

# %%
for name, p in (("local-m", book_m), ("local-p", book_p)):
    loop = np.zeros((T, S), bool)
    for t in range(T):
        loop[t, max(0, int(p[t]) - D) : min(S, int(p[t]) + D + 1)] = True
    ours = masks[f"the chapter's {name}"].dense(1, 1, T, S)[0, 0]
    print(f"{name}: same windows {np.array_equal(loop, ours)}", end="")
    print(f", {ours.sum()} pairs of {T * S}, unseen keys {(~ours.any(0)).sum()}")
luong = masks["local-m, Luong's p = t"].dense(1, 1, T, S)[0, 0]
print("p = t: unseen keys", (~luong.any(0)).sum())
back = int((np.diff(book_p) < 0).sum())

# %% [figure]
neutral_style()
fig = show_masks(list(masks.values()), T, S, list(masks), title="Who sees whom?")
for ax in fig.axes:
    ax.minorticks_off()
alt = f"""Four masks of {T} queries and {S} keys. Global: all white. Luong's local-m: a
band of {2 * D + 1} keys on the diagonal, which ends before the last source. The
chapter's local-m: a band from corner to corner. Its local-p: a band that jumps."""
show(fig, "windows", alt)

# %% [markdown]
# The loops agree. Luong's diagonal never sees the end of a longer source; the chapter's
# ratio of lengths mends that, and needs the length of the target, which a decoder does
# not know while it writes. And in the last picture $p_t$ goes *back* in {{ back }} of
# {{ T - 1 }} steps: whoever predicts a position may predict any. Does a Gaussian
# "encourage monotonic alignment", as 6.3.3 says?
#
# ## Is local-p a mask?
#
# "Both are special cases of attention masks", says 38.7. But local-p has a factor more,
# which the chapter leaves out:
#
# ```math
# a_t(s) = \mathrm{align}_t(s)\; \exp\Big(-\frac{(s - p_t)^2}{2\sigma^2}\Big),
# \qquad \sigma = D/2
# ```
#
# By hand, with $D = 2$, $p_t = 3$, and equal scores: five keys, each with one fifth,
# times $e^{-2}, e^{-1/2}, 1, e^{-1/2}, e^{-2}$. Do these weights sum to 1?

# %%
layer = LocalAttention(2, 2, D=2, kind="p", score="dot")
layer.W_p.data, layer.v_p.data = np.zeros((2, 2)), np.zeros(2)  # sigmoid(0) = 1/2
q, K = np.zeros((1, 1, 2)), rng.normal(size=(1, 6, 2))  # S = 6, so p = 3
layer(q, K, K)
a = layer.attention_weights.data[0, 0]
by_hand = np.exp([-2, -0.5, 0, -0.5, -2]) / 5
print("weights", a.round(4), "  sum", f"{a.sum():.4f}")
print("by hand", by_hand.round(4), np.allclose(a[1:], by_hand))

# %% [markdown]
# They do not, as in the paper: the softmax comes before the Gaussian. (The library's
# `renormalize` is for those who want it otherwise.) And a mask cannot do what the
# factor is for. The bounds of a window jump from key to key; between the jumps nothing
# depends on $p_t$. So how would $v_p$ learn? Push $p_t$ through the parameters, and see
# whether a loss moves, with the Gaussian and with the window alone:

# %%
q, K = rng.normal(size=(1, 1, 4)), rng.normal(size=(1, 20, 4))
layer = LocalAttention(4, 4, D=3, kind="p", score="dot", rng=np.random.default_rng(0))
c = rng.normal(size=4)
(layer(q, K, K) * c).sum().backward()
print("with the Gaussian: largest dL/dv_p", f"{np.abs(layer.v_p.grad).max():.4f}")


# %%
def window_alone(v_p):
    p = 20 / (1 + np.exp(-v_p @ np.tanh(layer.W_p.data @ q[0, 0])))  # p_t
    inside = np.abs(np.arange(20) - p) <= 3
    e = np.where(inside, K[0] @ q[0, 0], -np.inf)
    alpha = np.exp(e - e.max()) / np.exp(e - e.max()).sum()
    return (alpha @ K[0]) @ c


h, v = 1e-4, np.float64(layer.v_p.data)
up, down = ([window_alone(v + s) for s in sign * h * np.eye(4)] for sign in (1, -1))
print("the window alone: ", np.subtract(up, down) / (2 * h))

# %% [markdown]
# Exactly nothing, for a mask. All that the centre learns, it learns through the
# Gaussian, which pulls $p_t$ to where the keys are of use. It prefers keys *near*
# $p_t$; that one $p_t$ comes after another, nothing says: each is a function of its own
# query.
#
# ## Does a window lose anything?
#
# It loses what is outside. In exercise 38.5 a string is to be reversed, so query $t$
# wants key $S - 1 - t$. No training is needed to see what a diagonal window can give:

# %%
S = 20
t = np.arange(S)
for D in (1, 3, 6, 10, 19):
    reached = np.abs((S - 1 - t) - t) <= D
    print(f"D = {D:2d}: the wanted key is in the window of {reached.sum():2d} of {S}")

# %% [markdown]
# Near the middle, and nowhere else. "Can match global attention" (6.3.3) is true of
# tasks in the order that the window assumes. Where it should stand for this one is
# yours to find: `python -m lessons start 38.5`.
#
# ## What does it save?
#
# From $\Theta(S)$ to $\Theta(D)$ a step, for the scores and the average. We count each
# multiplication of one query of width 64, with arrays that count:

# %%
E, D = 64, 10
print("    S    global    local   with W_p of local-p")
for S in (20, 100, 500):
    K = rng.normal(size=(S, E))
    inside = (np.abs(np.arange(S) - S // 2) <= D)[None]
    _, whole = count("scaled", K[:1], K, K)
    _, window = count("masked", K[:1], K, K, allowed=inside)
    whole, window = whole.multiplications, window.multiplications
    print(f"{S:5d}{whole:10d}{window:9d}{window + E * E + E:10d}")

# %% [markdown]
# A window of {{ 2 * D + 1 }} saves nothing on sentences of twenty words, and predicting
# the centre costs more than it saves up to about {{ 2 * D + 1 + (E + 1) // 2 }} keys.
# Long sources are another matter, and there it is in use: 38.7 calls local attention
# "rarely used in pure Transformers" and names Mistral, a pure Transformer that has it
# in every layer, in one sentence. The window of those models is local-m with $p_t = t$,
# cut at $t$, and layers widen it:

# %%
seen, mask = np.eye(40, dtype=bool), sliding_window(4, 0).dense(1, 1, 40, 40)[0, 0]
for depth in range(1, 5):
    seen = seen @ mask  # whom do those see whom I see?
    print(f"windows of 5, layers {depth}: the last position hears of {seen[-1].sum()}")

# %% [markdown]
# ## What does coverage count?
#
# A decoder that repeats itself looks again at what it has looked at. Coverage is the
# sum of all weights so far, and the loss is what is looked at once more (38.8):
#
# ```math
# c^t = \sum_{u < t} a^u, \qquad
# e^t_j = w_v^\top \tanh(W_q q_t + W_k k_j + w_c\, c^t_j), \qquad
# L = \sum_j \min(a^t_j, c^t_j)
# ```
#
# The form, with a weight for the coverage and a bias, is that of See and others, 2017;
# the idea of Tu and others, 2016. Three steps over three keys by hand. Step 1 repeats
# step 0, step 2 goes elsewhere. What should the losses be?

# %%
a = np.array([[0.8, 0.2, 0.0], [0.8, 0.2, 0.0], [0.0, 0.1, 0.9]])
c = np.cumsum(a, 0) - a  # c^t without a^t: (3, 3)
print("c", c.tolist())
print("each step", np.minimum(a, c).sum(1).round(3))
print("library", f"{coverage_loss(a[None], c[None]).item():.4f}", end="")
print("   with the present step in c", np.minimum(a, np.cumsum(a, 0)).sum(1))

# %% [markdown]
# Full loss for a repetition, a tenth for something nearly new. If $c$ held the present
# step, as a running sum easily does, $\min(a, c)$ would be $a$ and the loss 1, always.
#
# The chapter writes the score with one matrix, $W_a [s; h_j; c_j]$. Is that the same?

# %%
layer = CoverageAttention(4, 4, 6, rng=np.random.default_rng(0))
layer.w_c.data = rng.normal(size=6)
q, K, c = rng.normal(size=(1, 4)), rng.normal(size=(1, 5, 4)), rng.random((1, 5))
W_a = np.concatenate([layer.W_q.data, layer.W_k.data, layer.w_c.data[:, None]], 1)
e = [layer.w_v.data @ np.tanh(W_a @ [*q[0], *k, x]) for k, x in zip(K[0], c[0])]
weights = layer.step(q, K, K, c)[1].data[0]
print("same:", np.allclose(weights, mg.softmax(np.array(e)).data, atol=1e-6))

# %% [markdown]
# It is, cut in three.
#
# ## Can attention walk on without being told where it is?
#
# Take a decoder at its worst: the same query at every step, because it does not know
# what it has said. Without coverage every step looks the same. With one hidden unit and
# a negative $w_c$, what has been seen scores less. Parameters by hand, nothing trained:


# %%
def layer_with(w_v, w_c):
    layer = CoverageAttention(1, 1, 1)
    for name, x in (("W_q", 0.0), ("W_k", 1.0), ("w_v", w_v), ("w_c", w_c)):
        getattr(layer, name).data = np.full(getattr(layer, name).shape, x)
    return layer


K, q = np.array([[[1.0], [0.75], [0.5], [0.25], [0.0]]]), np.zeros((1, 5, 1))
walks, losses = {}, {}
for w_c in (0.0, -2.0):
    _, a, c = layer_with(25.0, w_c)(q, K, K)
    walks[w_c], losses[w_c] = a.data[0], coverage_loss(a, c).item()
    print(f"w_c = {w_c:4.1f}: looks at {a.data[0].argmax(1)}   loss {losses[w_c]:.3f}")

# %% [figure]
fig, axes = figure("Where does the same query look, step after step?", columns=2)
for ax, (w_c, a) in zip(axes, walks.items()):
    image = ax.imshow(a, cmap="Blues", vmin=0, vmax=1)
    ax.set(title=f"w_c = {w_c:g}, loss {losses[w_c]:.2f}", xlabel="key j")
    ax.grid(False)
axes[0].set_ylabel("step t")
fig.colorbar(image, ax=axes, shrink=0.8)
alt = f"""Weights of five steps over five keys. Left, without coverage: every row alike,
key 0 dark. Right, with a negative w_c: the dark cell walks from key 0 to 4; the loss
falls from {losses[0.0]:.2f} to {losses[-2.0]:.2f}."""
show(fig, "walk", alt)

# %% [markdown]
# It walks through the keys in the order of their scores, each once. Would the loss
# alone teach it that? We start a hair's breadth on either side of $w_c = 0$, where the
# layer *is* additive attention, and let $w_c$ and $w_v$ follow the gradient:

# %%
for w_c in (-0.01, 0.01):
    layer, trace = layer_with(15.0, w_c), []
    optimizer = mg.optim.Adam([layer.w_c, layer.w_v], lr=0.1)
    for _ in range(100):
        _, a, c = layer(q, K, K)
        loss = coverage_loss(a, c)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        trace.append(loss.item())
    print(f"from {w_c:+.2f}: loss {trace[0]:.3f} -> {trace[-1]:.3f}", end="")
    print(f"   w_c {layer.w_c.data[0]:+.2f}   looks at {a.data[0].argmax(1)}")

# %% [markdown]
# From below it learns to walk. From above it learns to stare: with a positive $w_c$ the
# weights sharpen step by step, which is another way to be unlike one's own past, and no
# good one. At 0 the loss has a ridge, for whoever repeats himself exactly is at its
# maximum. Which side is right, the loss of the task has to say; See and others add
# coverage to a model that is trained already.
#
# The gradient runs through the sum to all steps before, and so does the computation:
# step $t$ waits for the weights of step $t - 1$. Attention over a whole sequence in one
# product, as in [lesson 10](../10_heads/README.md), cannot have this. 38.8 gives
# another reason why Transformers do without, more data; that one we cannot measure
# here.
#
# ## What would break it
#
# - A window cut at the padded length: near the end it holds padding alone.
# - Whole numbers for a predicted centre: rounding has no gradient.
# - $c$ updated before the loss is taken: 1 at every step, and no gradient to learn
#   from.

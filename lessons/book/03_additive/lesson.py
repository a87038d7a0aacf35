"""Lesson 03: additive attention.  ●●○○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 03. Additive attention
#
# A decoder is about to say its next word: which encoder state should it look at?
# Chapter 6.2 answers with a small network that gives each state a score, and works one
# case out by hand. We find three of its four scores wrong, and derive the gradient that
# it leaves out.
#
# You need [lesson 00](../00_tape/README.md) and [01](../01_gradient_check/README.md).
# Half an hour.

# %%
import numpy as np

import minigrad as mg
from attention import AdditiveAttention, BahdanauStep, additive
from lessons.classroom.figures import BLUE, GREY, ORANGE, figure, show

rng = np.random.default_rng(0)

# %% [markdown]
# ## What does the worked example come to?
#
# With the decoder's state $s$ and the encoder's states $h_j$ (equation 6.1; the Notes
# have $W_a$ and $U_a$ for $W_s$ and $W_h$),
#
# ```math
# e_j = v \cdot \tanh(W_s s + W_h h_j), \qquad
# \alpha_j = \frac{\exp e_j}{\sum_k \exp e_k}, \qquad
# c = \sum_j \alpha_j h_j
# ```
#
# Two projections into a common space of $d_a$ numbers, a sum, a tanh, one number out.
# Section 6.2.5 takes $d_a = 4$ and gives the projected vectors:

# %%
Ws_s = np.array([0.3, -0.1, 0.5, 0.2])  # W_s s_0, (4,)
Wh_h = np.array(  # W_h h_j, (S = 4, d_a = 4)
    [[0.4, 0.2, -0.3, 0.6], [-0.2, 0.5, 0.3, -0.1],
     [0.7, -0.3, 0.4, 0.2], [0.1, 0.4, -0.2, 0.5]]
)  # fmt: skip
v = np.array([0.3, 0.5, -0.2, 0.4])
book = {
    "terms": np.array([0.181, 0.050, -0.039, 0.266]),  # of e_1
    "scores": np.array([0.458, 0.121, 0.512, 0.389]),
    "exp": np.array([1.581, 1.129, 1.668, 1.476]),
    "weights": np.array([0.270, 0.193, 0.285, 0.252]),
}

# %% [markdown]
# The chapter writes out $e_1$, four terms, and says of the others that the same
# computation yields them. Do you expect all four to agree?

# %%
inside = Ws_s + Wh_h  # (4, 4), s added to each row
t = np.tanh(inside)
e = t @ v  # (4,)
for j in range(4):
    row = " ".join(f"{x:6.3f}" for x in t[j])
    print(f"j = {j + 1}   tanh {row}   e {e[j]:.3f}   book {book['scores'][j]:.3f}")

# %% [markdown]
# Only the first agrees, up to its last digit. The third is off by
# {{ f"{book['scores'][2] - e[2]:.2f}" }}: the token that the book scores highest is the
# *lowest* of the four. Follow both with a pencil:

# %%
for j in (2, 0):
    print(f"e_{j + 1} =", " + ".join(f"{a:.1f} ({b:.3f})" for a, b in zip(v, t[j])))
    print("    =", " + ".join(f"({x:.3f})" for x in v * t[j]), f"= {e[j]:.3f}")
print(f"    printed {book['terms'].round(3)}, sum {book['terms'].sum():.3f}")

# %% [markdown]
# The four terms of $e_1$ are right, and so is their sum, as they are rounded. In $e_3$
# two pull down, two up. From here on the chapter's arithmetic is sound, and the error
# goes through to the weights:


# %%
def softmax(x):
    exps = np.exp(x)  # as in the text; the library subtracts the largest first
    return exps, exps / exps.sum()


for name, scores in (("book's scores", book["scores"]), ("right scores", e)):
    exps, weights = softmax(scores)
    print(f"{name:14s} exp {exps.round(3)}  sum {exps.sum():.3f}")
    print(f"{'':14s} weights {weights.round(3)}")
alpha = weights  # (4,), from the right scores

# %% [figure]
fig, axes = figure("How far is 6.2.5 from its own formula?", columns=2)
at = np.arange(4)
for ax, name, right in zip(axes, ("scores", "weights"), (e, alpha)):
    ax.bar(at - 0.2, book[name], 0.38, color=ORANGE, label="as printed")
    ax.bar(at + 0.2, right, 0.38, color=BLUE, label="computed")
    ax.set(xticks=at, xticklabels=[f"h{j + 1}" for j in at], title=name)
    ax.grid(axis="x", visible=False)
axes[1].axhline(0.25, color=GREY, lw=1, ls="--")
axes[0].set_ylim(0, 0.62)
axes[0].legend(loc="upper center", ncols=2)
alt = f"""Scores and weights of the four tokens, printed and computed. The third score
is printed as {book["scores"][2]:.2f} and is {e[2]:.2f}; its weight falls from
{book["weights"][2]:.3f}, the largest, to {alpha[2]:.3f}, the smallest."""
show(fig, "worked-example", alt)

# %% [markdown]
# So section 6.2.5 should read: scores {{ ", ".join(f"{x:.3f}" for x in e) }}, weights
# {{ ", ".join(f"{x:.3f}" for x in alpha) }}, and
# $c_1$ = {{ f"{alpha[0]:.3f}" }} $h_1$ +
# {{ f"{alpha[1]:.3f}" }} $h_2$ + {{ f"{alpha[2]:.3f}" }} $h_3$ +
# {{ f"{alpha[3]:.3f}" }} $h_4$. (One exponential is rounded wrong, too:
# {{ f"{book['exp'][2]:.3f}" }} for {{ f"{np.exp(book['scores'][2]):.3f}" }}. The values
# of $h_j$ and $c_1$ are missing from our copy of the text.) The weights are diffuse, as
# it says: from {{ f"{alpha.min():.3f}" }} to {{ f"{alpha.max():.3f}" }}.
#
# Does the library agree? Its `additive` also projects, so we hand it identity matrices.

# %%
one = np.eye(4)
scores = additive(Ws_s[None], Wh_h, one, one, v)  # (1, 4) queries, (4, 4) keys
print(np.allclose(scores.data[0], e), np.allclose(mg.softmax(scores).data[0], alpha))

# %% [markdown]
# ## What does the softmax promise?
#
# Section 6.2.2 lists what the weights have. They sum to one, equal scores give $1/T$
# each, and only differences of scores matter, so that a large constant does no harm.
# Each weight lies strictly between 0 and 1; an exact 0 or 1 comes of rounding, or of a
# mask. And the text says that weights divided by the sum of absolute values would also
# be non-negative and sum to one. Scores have signs. Try it:

# %%
signed = np.array([1.0, -2.0, 0.5])
l1 = signed / np.abs(signed).sum()
print(l1.round(3), f"sum {l1.sum():.3f}", "  softmax", mg.softmax(signed).data.round(3))

# %% [markdown]
# Neither holds. *And how sharp can the weights become?* "Arbitrarily peaked", says the
# section. Of softmax that is true. Of this score it is not: a tanh is at most one, so
#
# ```math
# |e_j| \le \|v\|_1 = \sum_a |v_a|, \qquad
# \alpha_j \le \frac{1}{1 + (T - 1)\, e^{-2 \|v\|_1}}
# ```
#
# With the $v$ of the example, however the projections are chosen, how much of the
# attention can one of four tokens get?

# %%
bound = np.abs(v).sum()
most = 1 / (1 + 3 * np.exp(-2 * bound))
aligned = np.sign(v) * np.array([[50.0], [-50], [-50], [-50]])  # (4, 4), before tanh
print(f"sum |v| = {bound:.1f}   bound {most:.3f}", end="   ")
print(f"reached {softmax(np.tanh(aligned) @ v)[1].max():.3f}")

# %% [markdown]
# A trained model has to grow $v$ to look at one place only. A dot product has no such
# bound. Multiply the four scores of the example by a factor, as a larger $v$ would:

# %% [figure]
factors = np.linspace(0, 60, 121)
rows = np.array([mg.softmax(k * e).data for k in factors])  # (121, 4)
fig, ax = figure("What does a larger v do to the weights?", size=(7.2, 3))
for j, style in enumerate(("-", "--", "-.", ":")):
    ax.plot(factors, rows[:, j], style, label=f"h{j + 1}, e = {e[j]:.3f}")
ax.set(xlabel="factor of v", ylabel="weight", xlim=(0, 60), ylim=(0, 1))
ax.legend(loc="center right")
alt = f"""Weights of four tokens against a factor of v, all a quarter at 0. The second
and third vanish by about 15. The first and fourth, {e[0] - e[3]:.3f} apart in score,
part slowly: at 60 they have {rows[-1, 0]:.2f} and {rows[-1, 3]:.2f}."""
show(fig, "sharper", alt)

# %% [markdown]
# Two close scores remain a tie long after the others are gone. And a weight of
# {{ f"{rows[-1, 0]:.2f}" }} says that $e_1$ is larger by a certain amount; that the
# first token is the most relevant "with that probability" is an interpretation, which
# nothing in training checks.
#
# ## What reaches the decoder?
#
# The context $c$ is an average (6.2.3). Two limits, with states of our own: uniform
# weights give the mean (exercise 6.1), a one-hot weight gives that state.

# %%
h = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])  # (S = 4, d_h = 3)
limits = {"uniform": np.full(4, 0.25), "example": alpha, "one": one[0]}
for name, weights in limits.items():
    print(f"{name:8s} c = {(weights @ h).round(3)}")

# %% [markdown]
# ## Where does the context go?
#
# Section 6.2.4 continues with $\tilde s = \tanh(W_c [c; s])$, as if it were Bahdanau's.
# It is Luong's, and [lesson 04](../04_scores/README.md) has its gradient. Bahdanau's
# order is another: the state *before* the step asks, and $c_t$ is an input of the
# recurrence,
#
# ```math
# c_t = \mathrm{attend}(s_{t-1}), \qquad s_t = \mathrm{GRU}([x_t; c_t],\, s_{t-1})
# ```

# %% [source] attention.variants.steps.BahdanauStep.forward

# %% [markdown]
# Change what the encoder says, and keep the words and the first state. In Bahdanau's
# order, does the next *state* know of it?

# %%
mg.manual_seed(0)
step = BahdanauStep(2, 5, 3, AdditiveAttention(5, 3, 4))  # x 2, s 5, h 3 wide
x, s0 = rng.normal(size=(1, 2)), np.zeros((1, 5))
for memory in (h[None], -h[None]):  # (1, 4, 3)
    s1, _, weights = step(mg.Tensor(x), mg.Tensor(s0), memory, memory)
    print("s_1 =", s1.data[0].round(3))

# %% [markdown]
# It does. In the chapter's model what was looked at is forgotten by the next step.
#
# ## What is the gradient?
#
# The chapter leaves it out. With $`t_{ja} = \tanh(\dots)`$ there are only sums and one
# tanh. Let $g_j = \partial L / \partial e_j$ have arrived from the softmax, which is
# $`g_j = \alpha_j (p_j - \sum_k \alpha_k p_k)`$ with $`p_j = \bar c \cdot h_j`$ and
# $\bar c$ the gradient of the context. Then
#
# ```math
# \frac{\partial L}{\partial v} = \sum_j g_j\, t_j, \qquad
# d_j = g_j\; v \odot (1 - t_j^2) \quad \text{(before the tanh)}
# ```
#
# ```math
# \frac{\partial L}{\partial W_h} = \sum_j d_j h_j^\top, \qquad
# \frac{\partial L}{\partial W_s} = \Big(\sum_j d_j\Big) s^\top, \qquad
# \frac{\partial L}{\partial s} = W_s^\top \sum_j d_j
# ```
#
# The sum in the last two is the backward of copying: one $s$ was added to every $j$.
# And $h_j$ is used twice, as key and as value, so two shares meet in it:


# %%
def by_hand(s, h, W_s, W_h, v, dc):
    t = np.tanh(W_s @ s + h @ W_h.T)  # (S, A)
    alpha = softmax(t @ v)[1]
    p = h @ dc  # (S,), how much the loss wants of each state
    g = alpha * (p - alpha @ p)  # softmax's backward
    d = g[:, None] * v * (1 - t * t)  # (S, A)
    dh = d @ W_h + np.outer(alpha, dc)  # as key, as value
    total = d.sum(0)  # (A,)
    return W_s.T @ total, dh, np.outer(total, s), d.T @ h, g @ t


# %% [markdown]
# Against the tape, with sizes that all differ and a random $\bar c$:

# %%
sizes = {"s": (5,), "h": (7, 3), "W_s": (4, 5), "W_h": (4, 3), "v": (4,)}
arrays = {name: rng.normal(size=size) for name, size in sizes.items()}
dc = rng.normal(size=3)
leaves = {k: mg.Tensor(x, requires_grad=True) for k, x in arrays.items()}
s, H, W_s, W_h, w = leaves.values()
a = mg.softmax(additive(s[None], H, W_s, W_h, w))  # (1, 7)
((a @ H)[0] * dc).sum().backward()
for (name, leaf), mine in zip(leaves.items(), by_hand(*arrays.values(), dc)):
    print(f"dL/d{name:3s} {str(mine.shape):7s} equal: {np.allclose(leaf.grad, mine)}")

# %% [markdown]
# ## The chapter's code
#
# Its listing has $d_h = d_s = d_a = 8$ and four random states, and checks that the
# weights sum to one; exercise 6.5 has 6, 12, 24 and 48 states.

# %%
mg.manual_seed(1)
layer = AdditiveAttention(query_size=8, key_size=8, num_hiddens=8)
for S in (4, 6, 12, 24, 48):
    H = rng.normal(size=(1, S, 8)).astype(np.float32)
    c = layer(rng.normal(size=(1, 1, 8)).astype(np.float32), H, H)  # (1, 1, 8)
    weights = layer.attention_weights.data[0, 0]
    print(f"S = {S:2d}   sum {weights.sum():.4f}   largest {weights.max():.3f}")

# %% [markdown]
# ## What would break it
#
# - The gradient of $W_s$ from the last $j$ alone, as lesson 01 caught it.
# - $h_j$ as key only, its share as value forgotten. `=` for `+=`, once more.
# - $v = 0$ at the start: every $d_j$ is 0, neither matrix moves, and a gradient check
#   of them could not fail.
# - Padding: a fifth state that is no word gets its share of the weight.
#   [Lesson 06](../06_masks/README.md).
#
# For practice: `python -m lessons list`, exercises 6.1 and 6.5.

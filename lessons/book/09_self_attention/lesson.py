"""Lesson 09: self-attention, and attention as a dictionary.  ●●○○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 09. Self-attention
#
# What moves when a sequence asks itself? We run the chapter's own examples (6.4, 6.5):
# the first moves almost nothing. Then we take apart what a lookup by similarity is.
#
# You need [lesson 05](../05_scaling/README.md). Forty minutes.

# %%
from importlib import import_module

import numpy as np

import minigrad as mg
from attention import additive, alignment_heatmap, attend, dot, general
from attention import gaussian
from attention import scaled_dot as scaled
from attention.costs import cost_of
from attention.seq2seq.alignment_metrics import attention_entropy
from attention.seq2seq.patterns import self_attention_excess, self_attention_pattern
from lessons.classroom.figures import show
from minigrad import nn

drawing = import_module("lessons.book.09_self_attention.drawing")
rng = np.random.default_rng(9)

# %% [markdown]
# ## What does the chapter's example really do?
#
# In 6.4.2 one vector plays all three parts, $q_i = k_i = v_i = x_i$:
#
# ```math
# \alpha_{ij} = \frac{e^{x_i^\top x_j}}{\sum_l e^{x_i^\top x_l}}, \qquad
# z_i = \sum_{j=1}^{T} \alpha_{ij}\, x_j
# ```
#
# Its code draws five vectors with torch's seed 42 (here, rounded); the page does not
# show what it prints. Each score with itself is $`\|x_i\|^2`$. What will $\alpha$ be?

# %%
X = np.array([
    [1.9269, 1.4873, 0.9007, -2.1055, 0.6784, -1.2345],
    [-0.0431, -1.6047, -0.7521, 1.6487, -0.3925, -1.4036],
    [-0.7279, -0.5594, -2.3169, -0.2168, -1.3847, -0.8712],
    [-0.2234, 1.7174, 0.3189, -0.4245, -0.8286, 0.3309],
    [-1.5576, 0.9956, -0.8798, -0.6011, -1.2742, 2.1228],
])  # fmt: skip
alpha = mg.softmax(X @ X.T).data  # (T, T)
Z = alpha @ X  # (T, d)
print(alpha.round(3))
print("sums of the rows", alpha.sum(1).round(6))
print("|x|, |z|", np.linalg.norm([X, Z], axis=2).round(3), sep="\n")

# %% [markdown]
# Four of the five rows look at themselves, and $z_i$ is $x_i$ again. The fourth vector
# is the shortest: its score with itself, {{ f"{X[3] @ X[3]:.1f}" }}, is little more
# than the {{ f"{X[3] @ X[4]:.1f}" }} that chance gave another. For entries of mean 0
# and variance 1 the mean of $x_i^\top x_i$ is $d$, while $x_i^\top x_j$ has mean 0 and
# standard deviation $\sqrt d$. The wider, the worse. Exercise 6.8 asks what moves with
# $T = 8$, $d = 16$. Many draws, three ways to make the scores:

# %%
T, d, n = 8, 16, 1000
X = rng.normal(size=(n, T, d))
q, k = (X @ W for W in rng.normal(size=(2, n, d, d)) / d**0.5)  # of variance 1
e = X @ X.swapaxes(1, 2)  # (n, T, T)
ways = {"as it is": e, "scaled": e / d**0.5}
ways["projected, scaled"] = q @ k.swapaxes(1, 2) / d**0.5
found = {}
for name, scores in ways.items():
    p = mg.softmax(scores).data  # (n, T, T)
    H, own = attention_entropy(p).mean(), np.einsum("nii->ni", p).mean()
    found[name] = own, p[0]
    print(f"{name:18s} on itself {own:.3f}   entropy {H:.3f} of {np.log(T):.3f} nats")

# %% [figure]
alt = f"""Weights of one draw. As it is: a dark diagonal. Scaled: paler,
{found["scaled"][0]:.2f} in the mean. Projected: none; each row spread differently."""
show(drawing.diagonal(found), "diagonal", alt)

# %% [markdown]
# Unscaled, {{ f"{found['as it is'][0]:.3f}" }} of the weight stays at home: $Z$ is
# nearly $X$, and the exercise's picture the identity matrix. Scaled, it is
# {{ f"{found['scaled'][0]:.3f}" }}; and {{ f"{found['projected, scaled'][0]:.3f}" }},
# one part in {{ T }}, when random projections make the three roles of 6.4.3.
#
# ## How far is it from one word to another?
#
# From "it" to "animal" it is seven (6.4.1), through a hundred words 99 (6.4.3): so many
# steps of a recurrent network, and one of self-attention, "with no intervening
# information loss". But what share? We ask how much the last of 100 outputs feels of
# each input, $`\partial z_T/\partial x_j`$, in a GRU and an attention, both untrained.

# %%
T, d = 100, 16
print("it to animal:", len("did not cross the street because it".split()))
mg.manual_seed(9)
gru, layer = nn.GRU(d, d), [nn.Linear(d, d, bias=False) for _ in range(3)]
through = {"GRU": lambda x: gru(x)[0]}
through["self-attention"] = lambda x: attend(*(W(x) for W in layer))[0]
for name, f in through.items():
    x = mg.Tensor(rng.normal(size=(8, T, d)), requires_grad=True)  # 8 sequences
    (f(x)[:, -1] * rng.normal(size=(8, d))).sum().backward()
    size = (x.grad**2).sum(-1).mean(0) ** 0.5  # (T,)
    felt = [f"{k} back {size[99 - k]:.1e}" for k in (1, 7, 50, 99)]
    print(f"{name:14s}", *felt, sep="  ")

# %% [markdown]
# The GRU's gradient falls exponentially, self-attention's not at all, but it starts
# lower, shared among {{ T }} positions: a short path is no wide one.
#
# ## What does it cost?
#
# Section 6.4.3 sets $\Theta(T^2)$ operations against $\Theta(T)$ *sequential* ones,
# work against depth. For a width of 512, in millions of multiplications, attention with
# its projections, and a recurrence, whose depth is $T$:

# %%
d = 512
for T in (64, 512, 1024, 2048):
    a = cost_of("scaled", B=1, L=T, S=T, E=d).multiplications / 1e6
    w = T * d * d / 1e6  # one d x d matrix at every position
    print(f"T {T:4d}   attention {a:4.0f} + {3 * w:4.0f}   recurrence {2 * w:4.0f}")

# %% [markdown]
# Attention alone is $2T^2 d$, two products of matrices with a softmax between (6.4.4),
# and less than the recurrence's $2 T d^2$ up to $T = d$. With projections it is always
# more, but less than a GRU's three times as much up to $T = 3d/2$. Its depth is a
# constant in either case. [Lesson 12](../12_exact_and_cheap/README.md) has the time.
#
# ## One formula
#
# Equation 6.6 is a score, a softmax, an average: the library's template. Is it, with no
# more than another score, Bahdanau's attention, Luong's two, and the scaled one?

# %% [source] attention.attend.attend

# %%
q, K, V = (rng.normal(size=s) for s in ((1, 4), (5, 4), (5, 3)))  # 5 keys
W, W_q, W_k, w_v = (rng.normal(size=s) for s in ((4, 4), (6, 4), (6, 4), (6,)))
scores = {
    "additive": lambda q, k: additive(q, k, W_q, W_k, w_v),
    "dot": dot, "general": lambda q, k: general(q, k, W), "scaled": scaled,
}  # fmt: skip
e = [[w_v @ np.tanh(W_q @ q[0] + W_k @ k) for k in K], K @ q[0], q[0] @ W @ K.T]
for (name, score), by_hand in zip(scores.items(), [*e, K @ q[0] / 2]):
    p = np.exp(by_hand) / np.exp(by_hand).sum()
    out, weights = attend(q, K, V, score)
    print(f"{name:9s} {weights.data[0].round(3)}", np.allclose(out.data[0], p @ V))

# %% [markdown]
# Keys need not be words. Xu and others (2015) let the decoder of a caption ask the
# regions of an image, here 6 by 7 of width 8; the weights are a picture again:

# %%
regions, q = rng.normal(size=(1, 6 * 7, 8)), rng.normal(size=(1, 1, 8))
picture = attend(q, regions, regions, scaled)[1].data.reshape(6, 7)
print("weights", picture.shape, "of sum", f"{picture.sum():.4f}")

# %% [markdown]
# ## Is it a dictionary?
#
# A dictionary returns the value whose key *equals* the query. Section 6.5.2 writes it
# as the $j$ with the largest $\mathrm{sim}(q, k_j)$, and softens it. We ask for key 0
# of 3:

# %%
K, v = np.array([[1.0, 0], [2, 1], [0, 1]]), np.array([10.0, 20, 30])
q = K[:1]
print("dot", (q @ K.T)[0], "-> value", v[(q @ K.T).argmax()])
far = ((q[:, None] - K) ** 2).sum(-1)  # squared distances
print("distance", far[0], "-> value", v[far.argmin()])
for tau in (2, 0.5, 0.05):
    p = attend(q, K, v[:, None], lambda q, k: gaussian(q, k, (tau / 2) ** 0.5))[1].data
    same = np.allclose(p, mg.softmax(-far / tau).data)
    print(f"softly, tau = {tau}: {p[0] @ v:.3f}   softmax of -distance / tau: {same}")
U = K / np.linalg.norm(K, axis=1, keepdims=True)  # keys of one length
same = np.allclose(mg.softmax(gaussian(U, U)).data, mg.softmax(dot(U, U)).data)
print("keys of one length: gaussian has the weights of dot:", same)

# %% [markdown]
# With the dot product the query does not even find its own key: a longer one wins. With
# a distance it does. That is the "Gaussian-kernel view" of the page on scoring
# functions, $`\exp(-\|q - k\|^2 / 2h^2)`$ with $\tau = 2h^2$, and the dot product's if
# all keys have one length. Neither says that a key is missing. The temperature leads
# from the maximum to the mean. With $p$ the softmax of $e/\tau$, and the variance under
# $p$, the entropy grows all the way:
#
# ```math
# H = -\sum_j p_j \ln p_j, \qquad
# \frac{dH}{d\tau} = \frac{\mathrm{Var}_p(e)}{\tau^3} \ge 0
# ```
#
# Exercise 6.10 tries five temperatures on the unscaled scores of 6.8. We add the scaled
# ones, and the size of $J = \partial p/\partial e$: as a soft lookup is smooth, do
# "gradients flow freely" (6.5.2)?


# %%
def at(e, tau):  # e (n, T, T) -> entropy, its slope, median of |dp/de|
    p = mg.softmax(e / tau).data
    slope = ((p * e**2).sum(-1) - (p * e).sum(-1) ** 2) / tau**3
    two, three = (p**2).sum(-1), (p**3).sum(-1)
    size = np.sqrt(np.maximum(two - 2 * three + two**2, 0)) / tau
    return attention_entropy(p).mean(), slope.mean(), np.median(size)


raw, fix = ways["as it is"], ways["scaled"]
print(" tau        H   scaled  dH/dtau  numeric      |J|   scaled")
for tau in (0.1, 0.5, 1.0, 2.0, 5.0):
    (a, slope, s), (b, _, t) = at(raw, tau), at(fix, tau)
    numeric = (at(raw, tau * 1.001)[0] - at(raw, tau * 0.999)[0]) / (0.002 * tau)
    print(f"{tau:4.1f}", *(f"{x:8.3f}" for x in (a, b, slope, numeric, s, t)))

# %% [figure]
taus = np.geomspace(0.1, 50, 28)
curves = {}
for name, e in (("as it is", raw), ("scaled", fix)):
    H, _, J = np.array([at(e[:300], tau) for tau in taus]).T
    curves[name] = H, J
alt = f"""Two panels against temperature. Entropy rises from the floor to almost
{np.log(8):.2f} nats; the scaled curve is the other, four times earlier. Gradient: a
hump, {J.max():.2f} high near {taus[J.argmax()]:.1f} when scaled, and falling to 0 at
either end."""
show(drawing.temperature(taus, curves), "temperature", alt)

# %% [markdown]
# - Raw, four of five temperatures lie near the floor. Dividing by $\sqrt d$ *is* a
#   temperature: the same curve, earlier by a factor of 4.
# - A gradient exists everywhere, and for the typical query it is of use in between. A
#   lookup "as precise as a hard one" (6.5.2) also learns what that learns: nothing.
#
# ## What does a heatmap show?
#
# Section 6.5.3 draws weights made by hand. Do adjective and noun cross?

# %%
source, target = "le chat noir est assis".split(), "the black cat is sitting".split()
drawn = np.array([
    [0.80, 0.10, 0.05, 0.03, 0.02], [0.05, 0.10, 0.75, 0.05, 0.05],
    [0.05, 0.80, 0.08, 0.04, 0.03], [0.04, 0.04, 0.04, 0.82, 0.06],
    [0.03, 0.03, 0.03, 0.06, 0.85],
])  # fmt: skip
print("sums", drawn.sum(1).round(6), "  largest at", drawn.argmax(1))

# %% [figure]
fig = alignment_heatmap(drawn, source, target, "Where do the two cross?")
fig.axes[0].grid(False)
alt = f"""Weights, five by five: a diagonal, but for black, which looks at noir with
{drawn[1, 2]:.2f}, and cat, which looks at chat with {drawn[2, 1]:.2f}: they cross."""
show(fig, "crossing", alt)

# %% [markdown]
# They do, in a picture of what is expected. (Bahdanau and others translated English
# *to* French.) Lesson 13 holds a trained model against gold alignments. The section
# warns that weight is not importance. Three values, and the part $p_j v_j$ of each:

# %%
p, V = np.array([0.90, 0.07, 0.03]), np.array([[0.1, 0], [0.1, 0], [0, 8.0]])
for j in range(3):
    print(f"weight {p[j]:.2f}   length of its part {np.linalg.norm(p[j] * V[j]):.3f}")

# %% [markdown]
# The least weight makes the largest part. It is so: what is found there is in $V$.
#
# ## Which patterns are there?
#
# Section 6.5.4 names four: diagonal, block, long-range, uniform. We draw each, and one
# that it leaves out: everybody looks at one position, in BERT often a delimiter. The
# library names a pattern by the weight in a shape, beyond what even weights would have.

# %%
T = 12
i, j = np.indices((T, T))
made = {"diagonal": abs(i - j) <= 1, "block": i // 4 == j // 4, "column": j == 0}
made |= {"long-range": j == (i + 6) % T, "uniform": i >= 0}
for name, on in made.items():
    w = (on + 0.02) / (on + 0.02).sum(1, keepdims=True)
    excess = self_attention_excess(w).items()
    print(f"{name:>10s}: {self_attention_pattern(w):10s}", end=" ")
    print(*(f"{k} {round(x, 2) + 0:.2f}" for k, x in excess), sep=", ")

# %% [markdown]
# Five shapes, five names, by the thresholds of
# [patterns.py](../../../attention/seq2seq/patterns.py); a real matrix is often "mixed".
# That "early layers tend toward local and positional patterns, while deeper layers"
# look far (6.5.4) is of models such as BERT, of which there is none here: not measured.
# What makes heads differ is asked in [lesson 10](../10_heads/README.md).
#
# ## What would break it
#
# One matrix for queries and keys: the diagonal is back. The softmax over the wrong
# axis: as $X X^\top$ is symmetric, it looks almost right. A temperature of 0. For
# practice: `python -m lessons start 6.10`.

"""Lesson 10: many heads, causal and cross-attention.  ●●●○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 10. Many heads, causal and cross
#
# All queries in one product of matrices; several attentions side by side; a mask that
# hides the future; keys from elsewhere. Each is one line, and can be wrong without an
# error message. We write the slow form of all of them and compare. You need
# [lesson 09](../09_self_attention/README.md). Forty minutes.

# %%
import numpy as np

import minigrad as mg
from attention import KVCache, MultiHeadAttention, scaled_dot_product_attention
from attention.ledger import ledger
from lessons.classroom.figures import BLUE, GREEN, ORANGE, figure, show

rng = np.random.default_rng(10)

# %% [markdown]
# ## Is the matrix form the loop form?
#
# Two queries and two keys, by hand. With $d = 4$ the scores are divided by 2:
#
# ```math
# Q K^\top / 2 = \begin{pmatrix} 1 & 0 \\ 0 & 2 \end{pmatrix}
# \quad\Longrightarrow\quad
# P = \begin{pmatrix} e/(e+1) & 1/(e+1) \\ 1/(1+e^2) & e^2/(1+e^2) \end{pmatrix}
# ```

# %%
Q = K = np.array([[2.0, 0, 0, 0], [0, 0, 2, 0]])
Q, V = Q * [[0.5], [1]], np.array([[1.0, 0], [0, 1]])  # P V = P
o = scaled_dot_product_attention(Q, K, V).data
by_hand = np.exp([[1, 0], [0, 2]]) / (1 + np.exp([[1], [2]]))
print(o.round(4).tolist(), np.allclose(o, by_hand))

# %% [markdown]
# Section 38.9 sets $T = 5$ and $d_k = 8$ and compares the product of matrices with a
# loop over queries, in float32. It prints `book` as the largest difference. What is
# that number, in units of float32's last digit at 1?

# %%
book = 2.384185791015625e-07
print("in units of the last digit:", book / float(np.finfo(np.float32).eps))


# %%
def loop_form(Q, K, V):
    rows = []
    for q in Q:  # one query s at a time, as in the chapters before
        e = K @ q / np.sqrt(len(q))  # (T,)
        alpha = np.exp(e - e.max()) / np.exp(e - e.max()).sum()
        rows.append(alpha @ V)
    return np.stack(rows)  # (T, d_v)


for dtype, tolerance in ((np.float32, 1e-6), (np.float64, 1e-14)):
    Q, K, V = (rng.normal(size=(5, 8)).astype(dtype) for _ in range(3))
    o = scaled_dot_product_attention(Q, K, V).data
    print(dtype.__name__, np.abs(o - loop_form(Q, K, V)).max() < tolerance)

# %% [markdown]
# Two units of rounding: "identical to numerical precision" holds. In float64 the
# difference shrinks with the unit, as a rounding does and a mistake does not.
#
# ## What is a head?
#
# The Notes give each head its own matrices, $D \times E$ with $E = D/H$:
#
# ```math
# \mathrm{head}_h = \mathrm{Attention}(X W^Q_h,\ X W^K_h,\ X W^V_h), \qquad
# \mathrm{out} = [\mathrm{head}_1; \dots; \mathrm{head}_H]\, W^O
# ```
#
# A library has one matrix $D \times D$ for all heads, and cuts its product into pieces:

# %% [source] attention.projection.heads

# %% [markdown]
# Run the formula head after head, with the pieces for matrices. Is it the layer?

# %%
D, H, E, T = 12, 3, 4, 6  # E = D / H
mg.manual_seed(10)
layer = MultiHeadAttention(D, H, bias=False)
X = rng.normal(size=(T, D))
of_all = layer.W_q, layer.W_k, layer.W_v, layer.W_o
*W, W_o = (np.float64(m.weight.data.T) for m in of_all)  # (D, D) each, of x W
cuts = [slice(h * E, (h + 1) * E) for h in range(H)]
heads = [loop_form(*(X @ each[:, cut] for each in W)) for cut in cuts]  # (T, E) each
by_hand = np.concatenate(heads, 1) @ W_o  # (T, D)
out, weights = layer(X, need_weights=True)
print("same:", np.allclose(out.data, by_hand, atol=1e-6), " weights", weights.shape)

# %% [markdown]
# What do three heads cost, against one as wide as all three?

# %%
for n in (1, 3, 12):
    cost = ledger("multi-head", B=1, L=512, S=512, E=D // n, H=n)
    count = MultiHeadAttention(D, n).num_parameters()
    print(f"{n:2d} heads of {D // n:2d}: {count} parameters, ", end="")
    print(f"{cost.multiplications / 1e6:.1f} M multiplications")

# %% [markdown]
# The same parameters, the same multiplications; only the exponentials are $H T^2$ where
# they were $T^2$. What is paid with is rank: the scores of a head are a product of
# $T \times E$ and $E \times T$. And what is bought?
#
# ## What can two heads do that one cannot?
#
# A head is one average. Let position 1 need both neighbours, and to know which is
# which. One head with weight one half on each sees their mean, and the mean does not
# change when they are exchanged. Two heads look at one neighbour each:

# %%
left, right = rng.normal(size=(2, 4))
X = {"as it is": np.stack([left, right]), "exchanged": np.stack([right, left])}
one, two = np.array([[0.5, 0.5]]), np.eye(2)  # weights on (left, right), a row a head
A = rng.normal(size=(2, 4, 2))  # W_v of two heads, 2 wide each
for name, x in X.items():
    a = one @ x @ np.concatenate(A, 1)
    b = np.concatenate([two[h] @ x @ A[h] for h in range(2)])
    print(f"{name:10s} one {a[0].round(2)}   two {b.round(2)}")

# %% [markdown]
# One head says the same twice. Uneven weights would not, and still hand on a mixture.
#
# ## Do heads become different by themselves?
#
# Section 6.5.4 says that many heads are "specifically designed to encourage" diversity.
# Look at the formula: which term would do that? Two heads with the same start learn
# what takes two: at every position, the token before it and the one before that. Beside
# them learn two heads drawn as usual, and twins with a hundred-millionth between them.


# %%
def draw(n):  # tokens, one-hot, with a one-hot position: (n, 8, 14)
    x = np.eye(6)[rng.integers(6, size=(n, 8))]
    past = [np.roll(x, k, 1)[:, 2:] for k in (1, 2)]
    where = np.broadcast_to(np.eye(8), (n, 8, 8))
    return np.concatenate([x, where], -1), np.concatenate(past, -1)  # (n, 6, 12)


# %%
def heads_of(layer):  # the parameters of each head, side by side
    W = [m.weight.data.reshape(2, -1) for m in (layer.W_q, layer.W_k, layer.W_v)]
    out = layer.W_o.weight.data.reshape(14, 2, -1).swapaxes(0, 1).reshape(2, -1)
    return np.concatenate([*W, out], 1)  # (2, numbers of a head)


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
def train(layer):
    optimizer, losses = mg.optim.Adam(layer.parameters(), lr=3e-2), []
    for _ in range(140):
        x, y = draw(16)
        loss = ((layer(x)[:, 2:, :12] - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)


# %%
curves = {}
starts = {"drawn": (False, 0), "twins": (True, 0), "twins, nudged": (True, 1e-8)}
for name, start in starts.items():
    rng = np.random.default_rng(3)  # the same batches for all
    layer = begin(*start)
    curves[name] = train(layer)
    a, b = heads_of(layer)
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    end = curves[name][-20:].mean()
    print(f"{name:14s} loss {end:.4f}   cosine of the two heads {cosine:.2f}")
half = 5 / 36 / 2  # half of the variance of a one-hot entry, 1/6 (1 - 1/6)
print(f"half of what there is to explain: {half:.4f}")

# %% [figure]
fig, ax = figure("Do two equal heads part?", size=(6, 2.6))
for (name, losses), colour in zip(curves.items(), (BLUE, ORANGE, GREEN)):
    ax.semilogy(losses, color=colour, label=name)
ax.set(xlabel="training step", ylabel="squared error")
ax.legend()
alt = f"""Loss by step, logarithmic. Drawn heads fall to
{curves["drawn"][-20:].mean():.4f}; twins stay at {half:.3f}; nudged ones leave
them near step 100 and then fall, too."""
show(fig, "twins", alt)

# %% [markdown]
# Equal heads get equal gradients, and remain one head, paid for twice, with half of the
# task undone. With a hundred-millionth between them they part, for here the loss has a
# use for it: the even state is a saddle. So it is the draw they begin with and the loss
# that make heads differ, and no term of the design. Where a loss has no use for a
# second view, nothing keeps two heads from learning the same.
#
# ## Which triangle is causal?
#
# A decoder may not look ahead. The Notes forbid $j > i$, where $i$ is the query and $j$
# the key; 38.7 announces "the causal constraint $i \le j$". Both cannot be right. Push
# one input and see which outputs move:


# %%
def influence(**options):  # (T, T): how far output i moves if token j does
    pushed = X + np.eye(T)[:, :, None]  # (T, T, D): in the j-th, token j is pushed
    change = layer(pushed, **options).data - layer(X, **options).data
    return np.abs(change).max(-1).T.round(9)


D, T = 12, 6
layer, X = MultiHeadAttention(D, 3, bias=False), rng.normal(size=(T, D))
i, j = np.indices((T, T))
masks = {"none": None, "j <= i": j <= i, "i <= j": i <= j}
moved = {name: influence(mask=mask) for name, mask in masks.items()}
for name, m in moved.items():
    print(f"{name:7s} an output moved by a later token: {bool((m[j > i] > 0).any())}")
print("is_causal is j <= i:", np.allclose(influence(is_causal=True), moved["j <= i"]))

# %% [figure]
fig, axes = figure("Which inputs move which outputs?", columns=3, size=(7.2, 2.7))
for ax, (name, m) in zip(axes, moved.items()):
    ax.imshow(m, cmap="Blues", vmin=0)
    ax.set(title=f"mask: {name}", xlabel="token j that is pushed")
    ax.grid(False)
axes[0].set_ylabel("output i")
alt = f"""Three panels, outputs down, pushed tokens across. Without a mask all
{(moved["none"] > 0).sum()} fields are coloured; with j <= i the lower triangle,
{(moved["j <= i"] > 0).sum()} fields; with i <= j the upper one."""
show(fig, "influence", alt)

# %% [markdown]
# The Notes' condition is the causal one. With $i \le j$ a position sees itself and what
# a language model is to predict: its loss may go to nothing, and it has nothing to say.
# (With $i$ for the key it would be right; 38.7 has called $i$ the target.)
#
# What causality buys is that training and decoding agree. Outputs of all positions at
# once, or token after token with the keys and values of the past kept in a cache:

# %%
X = rng.normal(size=(1, T, D))
cache = KVCache()
steps = [layer(X[:, t : t + 1], cache=cache).data for t in range(T)]  # one query each
whole, steps = layer(X, is_causal=True).data, np.concatenate(steps, 1)
print("same:", np.allclose(steps, whole, atol=1e-6))

# %% [markdown]
# ## And if the keys come from elsewhere?
#
# In cross-attention a decoder's $L$ states ask an encoder's $S$. So it was in the
# chapters on recurrent networks; new is that all $L$ ask at once, with several heads,
# in every layer (Notes). Now shuffle. Section 6.5.5 says of self-attention that it is
# permutation-*equivariant*, and explains: "the output representations do not change if
# the input sequence is shuffled". Do they not?

# %%
L, S = 4, 7
y, x, order = rng.normal(size=(L, D)), rng.normal(size=(S, D)), rng.permutation(S)
print("weights", layer(y, x, need_weights=True)[1].shape, "of (H, L, S)")
a, b = layer(x).data, layer(x[order]).data
print("self:  unchanged", np.allclose(a, b), "  along", np.allclose(b, a[order], 1e-5))
a, b = layer(y, x).data, layer(y, x[order]).data
print("cross: unchanged", np.allclose(b, a, atol=1e-6))

# %% [markdown]
# ```math
# \mathrm{self}(PX) = P\,\mathrm{self}(X), \qquad
# \mathrm{cross}(Y, PX) = \mathrm{cross}(Y, X)
# ```
#
# Self-attention's outputs are shuffled along with its inputs: that is *equivariance*.
# "Do not change" is *invariance*, and true of the source of cross-attention. Neither
# knows of any order: that is [lesson 11](../11_positions/README.md), the third of the
# section's three elements. The first was [lesson 05](../05_scaling/README.md).
#
# ## What would break it
#
# - Cutting without moving the axis: `reshape(H, T, E)` has the right shape and mixes
#   tokens with heads. The loop over heads finds it.
# - Dividing by $\sqrt D$ in place of $\sqrt E$: all weights a little too even.
# - A mask the wrong way up, or cut for $L = S$ when a cache has more keys than queries:
#   then the first query is not at the first key.

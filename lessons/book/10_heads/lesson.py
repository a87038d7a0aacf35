"""Lesson 10: many heads, causal and cross-attention.  ●●●○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 10. Many heads, causal and cross
#
# All queries in one product of matrices; several attentions side by side; a mask that
# hides the future; keys from elsewhere. We write the slow form of each, compare, and
# ask what else a Transformer needs. You need
# [lesson 09](../09_self_attention/README.md). Forty minutes.

# %%
from importlib import import_module

import numpy as np

import minigrad as mg
from attention import KVCache, MultiHeadAttention, scaled_dot_product_attention
from attention.costs import cost_of
from lessons.classroom.figures import show
from lessons.classroom.records import how_made, record

drawing = import_module("lessons.book.10_heads.drawing")
twins = import_module("lessons.book.10_heads.twins")
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
# Section 38.9 compares the product with a loop over queries, $T = 5$ and $d_k = 8$, in
# float32, and prints `book` as the largest difference: how many units of float32's last
# digit at 1?

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
# Two: "identical to numerical precision" holds. In float64 the difference shrinks with
# the unit, as a rounding does and a mistake does not.
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

# %% [source] attention.exact.multihead.heads

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
    cost = cost_of("multi-head", B=1, L=512, S=512, E=D // n, H=n)
    count = MultiHeadAttention(D, n).num_parameters()
    print(f"{n:2d} heads of {D // n:2d}: {count} parameters, ", end="")
    print(f"{cost.multiplications / 1e6:.1f} M multiplications")

# %% [markdown]
# The same; only the exponentials are $H T^2$ where they were $T^2$. One pays with rank:
# a head's scores are a product of $T \times E$ and $E \times T$.
#
# ## What can two heads do that one cannot?
#
# A head is one average. Let position 1 need both neighbours, and to know which is
# which. One head with half its weight on each sees their mean. Two look at one each:

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
# One head says the same twice. (Uneven weights would not, and hand on a mixture.)
#
# ## Do heads become different by themselves?
#
# Section 6.5.4 says that many heads are "specifically designed to encourage" diversity.
# By which term of the formula? Two heads with the same start learn what takes two: at
# every position, the token before it and the one before that. Beside them learn two
# drawn as usual, and twins a hundred-millionth apart ([twins.py](twins.py)):

# %% [source] lessons.book.10_heads.twins.begin

# %% [source] lessons.book.10_heads.twins.train

# %%
curves = {}
starts = {"drawn": (False, 0), "twins": (True, 0), "twins, nudged": (True, 1e-8)}
for name, start in starts.items():
    rng = np.random.default_rng(3)  # the same batches for all
    layer = twins.begin(*start)
    curves[name] = twins.train(layer, rng)
    end, alike = curves[name][-20:].mean(), twins.cosine(layer)
    print(f"{name:14s} loss {end:.4f}   cosine of the two heads {alike:.2f}")
half = 5 / 36 / 2  # half of the variance of a one-hot entry, 1/6 (1 - 1/6)
print(f"half of what there is to explain: {half:.4f}")

# %% [figure]
alt = f"""Loss by step, logarithmic. Drawn heads fall to
{curves["drawn"][-20:].mean():.4f}; twins stay at {half:.3f}; nudged ones leave
them near step 100 and then fall, too."""
show(drawing.losses(curves), "twins", alt)

# %% [markdown]
# Equal heads get equal gradients, and remain one head, paid for twice, with half of the
# task undone. With a hundred-millionth between them they part, for the loss has a use
# for it: the even state is a saddle. So the draw they begin with and the loss make
# heads differ, and no term of the design; nothing keeps two from learning the same.
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
alt = f"""Three panels, outputs down, pushed tokens across. Without a mask all
{(moved["none"] > 0).sum()} fields are coloured; with j <= i the lower triangle,
{(moved["j <= i"] > 0).sum()} fields; with i <= j the upper one."""
show(drawing.influence(moved), "influence", alt)

# %% [markdown]
# The Notes' condition is the causal one. With $i \le j$ a position sees itself and what
# a language model is to predict. (With $i$ for the key it would be right; 38.7 has
# called $i$ the target.) What causality buys is that training and decoding agree: all
# positions at once, or one after another with keys and values of the past in a cache:

# %%
X = rng.normal(size=(1, T, D))
cache = KVCache()
steps = [layer(X[:, t : t + 1], cache=cache).data for t in range(T)]  # one query each
whole, steps = layer(X, is_causal=True).data, np.concatenate(steps, 1)
print("same:", np.allclose(steps, whole, atol=1e-6))

# %% [markdown]
# ## And if the keys come from elsewhere?
#
# In cross-attention a decoder's $L$ states ask an encoder's $S$; new since recurrent
# networks is that all $L$ ask at once, with several heads, in every layer (Notes).
# Section 6.5.5 says that self-attention is permutation-*equivariant*: "the output
# representations do not change if the input sequence is shuffled". Do they not?

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
# Self-attention's outputs are shuffled along: *equivariance*. "Do not change" is
# *invariance*, and true of the source of cross-attention. Neither knows of any order:
# that is [lesson 11](../11_positions/README.md), the third of the section's elements;
# the first, the square root, was [lesson 05](../05_scaling/README.md).
#
# ## What else does a Transformer need?
#
# Attention "alone is not quite all you need", says the sidebar of 6.4.4, and names four
# things more: positions; a network for each token; the sum $x + f(x)$; a norm. The
# library's block has the last three. $f$ is an attention, then the network:

# %% [source] attention.transformer.block.FeedForward

# %% [source] attention.transformer.block.Block._residual

# %% [markdown]
# What is the sum for? An average pulls together what it averages. Twelve attentions in
# a row, not trained, over ten tokens: how large are the differences between tokens, as
# a part of the whole? (What is below a millionth is printed as one.)

# %%
mg.manual_seed(10)
stack = [MultiHeadAttention(16, 2, bias=False) for _ in range(12)]
first = rng.normal(size=(10, 16))  # (T, D)
for name, kept in (("f(x)", 0), ("x + f(x)", 1)):
    x = first
    for k, f in enumerate(stack, 1):
        x = kept * x + f(x).data
        spread = np.linalg.norm(x - x.mean(0)) / np.linalg.norm(x)
        if k in (1, 2, 4, 8, 12):
            print(f"{k}: {max(spread, 1e-6):.0e}", end="   ")
    print(name)

# %% [markdown]
# After two layers all tokens are nearly one: attention alone loses rank with depth
# (Dong and others, 2021). The sum keeps each token's own. "Without any one of them, the
# Transformer does not train effectively", the sidebar goes on. We left out each, and
# trained blocks of width 32 to look up in a table what a token and the one before it
# make ([experiment.py](experiment.py)). The share of right answers of 2, 4, 8 blocks,
# of three seeds the worst and the best (one in eight is chance), and the loss of 8:

# %%
kept = record("transformer")
print(how_made(kept), "without", sep="\n")
for without in dict.fromkeys(run["without"] for run in kept["runs"]):
    print(f"{without:12s}", end="")
    runs = [run for run in kept["runs"] if run["without"] == without]
    for n in (2, 4, 8):
        right = [run["accuracy"] for run in runs if run["layers"] == n]
        print(f"   {n}: {min(right):.2f} to {max(right):.2f}", end="")
    print(f"   loss {np.mean([run['loss'] for run in runs if run['layers'] == n]):.4f}")

# %% [markdown]
# For two of the four it holds. Without positions no token knows which one is before it.
# Without the sum two blocks learn, four next to nothing: see above. Without the network
# they learn, not quite as far; without the norm at least as well, at this width.
#
# ## What would break it
#
# - `reshape(H, T, E)` without moving the axis: the right shape, tokens and heads mixed.
# - Dividing by $\sqrt D$ in place of $\sqrt E$: all weights a little too even.
# - A mask the wrong way up, or cut for $L = S$ when a cache has more keys than queries.

"""Lesson 00: a tape and the chain rule.  ●○○○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 00. A tape and the chain rule
#
# Everything in this course is trained by gradients, and every gradient comes from one
# small program: it records what was computed, then walks the record backwards. Here we
# build that program, break it in the ways in which it breaks, and find the same program
# again in the library.
#
# You need Python and the derivative of a product. Half an hour.

# %%
import numpy as np

import minigrad as mg
from lessons.classroom.figures import BLUE, ORANGE, figure, show

rng = np.random.default_rng(0)

# %% [markdown]
# ## What does one operation have to know?
#
# Let $y = \tanh x$ be one step of a long computation that ends in a number $L$. We want
# $dL/dx$. The step knows nothing of $L$. Suppose somebody tells it one number,
# $g = dL/dy$. Is that enough? The chain rule says yes:
#
# ```math
# \frac{dL}{dx} = \frac{dL}{dy}\,\frac{dy}{dx} = g\,(1 - y^2)
# ```
#
# The second factor needs only what the step itself has computed. So an operation can be
# written once and for all as two functions, forward and backward. This is how the
# library writes it, and `g` is what it is told:

# %% [source] minigrad.ops.activation.tanh

# %% [markdown]
# Is $1 - y^2$ right? Move $x$ a little to either side and watch $y$. Both numbers
# should agree in all the digits that are printed.

# %%
x, h = 0.5, 1e-5
numeric = (np.tanh(x + h) - np.tanh(x - h)) / (2 * h)
formula = 1 - np.tanh(x) ** 2
print(f"numeric {numeric:.8f}   formula {formula:.8f}")

# %% [markdown]
# ## Can we write the tape ourselves?
#
# A value that remembers its parents, and how a gradient is handed on to them. Each new
# value is appended to a list: the tape.

# %%
tape = []


class Value:
    def __init__(self, data, parents=(), backward=None):
        self.data, self.parents, self.backward = data, parents, backward
        self.grad = 0.0
        tape.append(self)


# %% [markdown]
# An operation makes a `Value`, and says what its parents get when `g` arrives:


# %%
def add(a, b):
    return Value(a.data + b.data, (a, b), lambda g: (g, g))


def mul(a, b):
    return Value(a.data * b.data, (a, b), lambda g: (g * b.data, g * a.data))


def tanh(a):
    y = np.tanh(a.data)
    return Value(y, (a,), lambda g: (g * (1 - y * y),))


# %% [markdown]
# Going back is a loop. Each node takes the gradient that has arrived at it, asks its
# backward what its parents get, and *adds* that to what they have.


# %%
def send_back(nodes):
    for node in nodes:
        node.grad = 0.0
    nodes[0].grad = 1.0  # dL/dL
    for node in nodes:
        if node.backward is not None:
            for parent, d in zip(node.parents, node.backward(node.grad)):
                parent.grad = parent.grad + d


# %% [markdown]
# Our first graph uses one value twice. With $a = \tanh x$, let
#
# ```math
# L = 3a + a^2, \qquad \frac{dL}{dx} = (3 + 2a)(1 - a^2)
# ```
#
# Does the loop find that?

# %%
tape.clear()
x, three = Value(0.5), Value(3.0)
a = tanh(x)
b = mul(three, a)
c = mul(a, a)
L = add(b, c)
send_back(tape[::-1])
by_hand = (3 + 2 * a.data) * (1 - a.data**2)
print(f"tape {x.grad:.6f}   by hand {by_hand:.6f}")

# %% [markdown]
# ## Why does the order matter?
#
# We walked the tape from its end to its beginning. Suppose we had walked the graph as a
# hasty reader would: from $L$ to $b$, on to $a$, on to $x$, and afterwards to $c$,
# which was left over. Every node is still visited exactly once. Is the gradient still
# right?

# %%
send_back([L, b, a, x, c, three])
hasty = x.grad
print(f"hasty order {hasty:.6f}   by hand {by_hand:.6f}")
print(f"3 (1 - a^2) = {3 * (1 - a.data**2):.6f}")

# %% [markdown]
# It is too small, {{ f"{hasty:.4f}" }} in place of {{ f"{by_hand:.4f}" }}, and nothing
# warned us. When $a$ handed on its gradient, the share from $c$ had not arrived. What
# reached $x$ is the path through $b$ alone.
#
# The rule is: a node hands on its gradient when all of its users have handed theirs to
# it. An order in which every node comes after all of its users is called *topological*.
# We need not search for one. A value is made after the values that it is made of, so
# the tape, read backwards, is such an order. The library numbers its nodes as they are
# recorded and sorts by that number, and no more is needed:
#
# ```math
# \frac{dL}{dx} = \sum_{u \text{ uses } x}
#     \left(\frac{du}{dx}\right)^{\!\top} \frac{dL}{du}
# ```
#
# ## What does the order save?
#
# There is another program that is right: follow every path from $L$ to $x$ separately
# and add up the products along the paths. It needs no order at all. Let us count the
# nodes that it visits in $n$ stacked additions, $`x_{k+1} = x_k + x_k`$. Guess before
# you look: for 10 additions, is it nearer to 20 or to 2000?


# %%
def visits_by_paths(node):
    return 1 + sum(visits_by_paths(parent) for parent in node.parents)


counts = []
for n in range(13):
    tape.clear()
    x = Value(1.0)
    for _ in range(n):
        x = add(x, x)
    counts.append((n, visits_by_paths(x), len(tape)))
for n, paths, nodes in counts[::2]:
    print(f"n = {n:2d}   along paths {paths:5d}   along the tape {nodes:3d}")

# %% [figure]
n, paths, nodes = np.array(counts).T  # (13,) each
fig, ax = figure("How many visits does one backward take?", size=(6, 2.9))
ax.semilogy(n, paths, "o-", color=ORANGE, label="along every path")
ax.semilogy(n, nodes, "o-", color=BLUE, label="along the tape")
ax.set(xlabel="stacked additions n", ylabel="nodes visited")
ax.legend()
alt = f"""Nodes visited against the number n of stacked additions, on a logarithmic
scale. Following every path takes {paths[-1]} visits at n = {n[-1]}, doubling with each
addition; the tape takes {nodes[-1]}."""
show(fig, "visits", alt)

# %% [markdown]
# Each addition doubles the number of paths. The tape visits a node once, however many
# paths lead through it, because it waits until the gradients of all of them have been
# summed. With 40 additions the library is done at once, and exact:

# %%
x = mg.Tensor(1.0, requires_grad=True)
y = x
for _ in range(40):
    y = y + y
y.backward()
print(f"{float(x.grad):.0f} = 2^40 is {float(x.grad) == 2**40}")

# %% [markdown]
# ## What is the backward of a matrix product?
#
# Numbers were easy. For $Y = AB$ write out one entry and differentiate it:
#
# ```math
# y_{ij} = \sum_k a_{ik} b_{kj}
# \quad\Longrightarrow\quad
# \frac{\partial L}{\partial a_{ik}} = \sum_j g_{ij} b_{kj},
# \qquad \frac{\partial L}{\partial b_{kj}} = \sum_i a_{ik} g_{ij}
# ```
#
# The first sum runs over the last index of $G$ and of $B$, so it is $G B^\top$; the
# second over the first index of $A$ and of $G$, so it is $A^\top G$. With unequal sizes
# no other product of these matrices even has the right shape.

# %% [source] minigrad.ops.matmul.matmul

# %% [markdown]
# `needs` says which of the two somebody wants; the rest of the length is for vectors
# and batches. Let us move one entry of $A$ and see whether $`L = \sum g_{ij} y_{ij}`$
# moves as the formula says. The weights $g$ are random: with all ones we would test one
# column sum of $B$ and not the formula.

# %%
A, B = rng.normal(size=(3, 5)), rng.normal(size=(5, 7))
g = rng.normal(size=(3, 7))
dA = g @ B.T  # (3, 7) @ (7, 5) -> (3, 5)
step = np.zeros_like(A)
step[2, 4] = h
numeric = ((g * ((A + step) @ B)).sum() - (g * ((A - step) @ B)).sum()) / (2 * h)
print(f"dL/dA[2, 4]   numeric {numeric:.6f}   formula {dA[2, 4]:.6f}")

# %% [markdown]
# ## What is the backward of broadcasting?
#
# Add a bias $b$ of shape (4,) to a matrix $X$ of shape (3, 4). NumPy repeats $b$ for
# each of the three rows. The gradient that comes back has three rows; $b$ has one. What
# shape must its gradient have, and what happens to the other two rows?
#
# Nothing new has to be invented. Repeating is using a value three times, and a value
# that is used several times receives the sum. *The backward of copying is summing.*

# %% [source] minigrad.graph.unbroadcast

# %%
g = np.arange(12.0).reshape(3, 4)
print("g", g.tolist())
print("summed over the rows ", mg.unbroadcast(g, (4,)).tolist())
print("summed to one column ", mg.unbroadcast(g, (3, 1)).tolist())

# %% [markdown]
# ## Does it all fit together?
#
# One layer of a network has everything: a matrix product, a broadcast, a nonlinearity.
# We differentiate it by hand, line by line backwards, and then let the library do it.
#
# ```math
# L = \sum_{ij} c_{ij} \tanh\Big(\sum_k x_{ik} w_{jk} + b_j\Big)
# ```

# %%
X, W, b, c = (rng.normal(size=s) for s in ((3, 5), (4, 5), (4,), (3, 4)))
y = np.tanh(X @ W.T + b)  # (3, 4)
dz = c * (1 - y * y)  # (3, 4), the gradient before tanh
by_hand = {"X": dz @ W, "W": dz.T @ X, "b": dz.sum(0)}  # b was copied: sum

leaves = {k: mg.Tensor(v, requires_grad=True) for k, v in zip("XWb", (X, W, b))}
L = (mg.tanh(leaves["X"] @ leaves["W"].swapaxes(0, 1) + leaves["b"]) * c).sum()
L.backward()
for k, leaf in leaves.items():
    same = np.allclose(leaf.grad, by_hand[k], rtol=1e-12)
    print(f"dL/d{k} {str(leaf.grad.shape):7s} equal: {same}")

# %% [markdown]
# ## What would break it
#
# - `=` in place of `+=` where gradients meet: a value used twice keeps one share.
# - An order that is not topological: a share arrives after the node has handed on.
# - No sum after a broadcast: the gradient of $b$ has shape (3, 4) and fits nothing, or,
#   worse, is broadcast again when $b$ is updated.
# - A recursive walk: right, until a long recurrent network meets Python's limit on
#   nested calls. The library's walk is a loop ([graph.py](../../../minigrad/graph.py)).
#
# How would you *notice* such a mistake? That is the [lesson
# 01](../01_gradient_check/README.md), the gradient check. For practice:
# `python -m lessons list`, under *the engine's own*.

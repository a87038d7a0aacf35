"""00  A tape and the chain rule  ●○○○  40 min  importance ★★★

What does an operation have to know to send a gradient back?
"""

# %% [markdown]
# A network has read "the black cat sleeps" and writes "le chien". That is wrong: the
# French word for cat is "chat", and "chien" means dog. The network computes its answer
# from the sentence and from a million numbers of its own, its
# [parameters](../../GLOSSARY.md#parameter). Each of these numbers may be changed. Which
# of them caused the mistake, and in which direction should each one move?
#
# Measure the mistake by one number $L$, the [loss](../../GLOSSARY.md#loss): the larger,
# the worse. You could move one parameter a little and look at what $L$ does. That is
# one run of the network for each parameter, so a million runs for one small step.
#
# There is a way with one run. While the network computes, a program writes down every
# operation, in order. The list is called a [tape](../../GLOSSARY.md#tape). Then the
# program reads the tape backwards, once, and has the answer for all parameters.
#
# **Why it matters:** all networks in this book, and nearly all others, learn in this
# way. Here we build the program, and derive what it needs for the operations of
# attention.
#
# You need Python, NumPy, and derivatives of functions of one variable: the rules for
# products, for quotients, and the chain rule. Sums with two indices occur, too.

# %% [folded]
import numpy as np

import minigrad as mg
from lessons.pages.figures import BLUE, ORANGE, arrow, box, diagram, show

rng = np.random.default_rng(0)

# %% [markdown]
# ## Which way should a number move?
#
# Here is a small computation in which a number is used more than once. A parameter $x$
# goes through the function tanh, which maps every number to one between $-1$ and 1. The
# result $a$ is used by $u$ and by $v$:
#
# ```math
# a = \tanh x, \qquad u = 3a, \qquad v = a \cdot a, \qquad L = u + v
# ```
#
# Move $x$ a little, and look at what $L$ does:


# %%
def loss(x):
    a = np.tanh(x)
    return 3 * a + a * a


x, h = 0.5, 1e-5
slope = (loss(x + h) - loss(x - h)) / (2 * h)
print(f"L = {loss(x):.4f}, and it changes {slope:.4f} times as much as x")

# %% [markdown]
# The number {{ f"{slope:.4f}" }} is the derivative $dL/dx$. It is positive, so $L$
# grows with $x$, and $x$ should become smaller. The derivatives for all parameters
# together are the [gradient](../../GLOSSARY.md#gradient).
#
# If $a$ grows, $L$ changes for two reasons: because of $u$, and because of $v$. The
# derivative $dL/da$ is the sum of both parts. Such a part is called a *share* here.
#
# The picture shows how a tape finds the same number without moving anything. The boxes
# stand in the order in which they were computed. Read the lower arrows from right to
# left: each carries a share of a derivative, and the shares that meet at a box are
# added. (The constant 3 receives a share as well. It is not a parameter, so we do not
# need that share.)

# %% [figure]
a = np.tanh(x)
values = {"x": x, "3": 3, r"a = \tanh\,x": a, "u = 3a": 3 * a}
values |= {r"v = a \cdot a": a * a, "L = u + v": loss(x)}
shares = [("L", "v", 1), ("L", "u", 1), ("v", "a", 2 * a), ("u", "a", 3)]
shares += [("u", "3", a), ("a", "x", slope)]
at = {text[0]: 1.7 * k for k, text in enumerate(values)}  # where each box stands
backward = ["L", "v", "u", "a"]  # the order in which they send


def draw(step):
    """Draw the tape after a step: the boxes that are there, and the shares sent."""
    way, name = step.split()
    computed = [*at] if way == "backward" else [*at][: [*at].index(name) + 1]
    sent = backward[: backward.index(name) + 1] if way == "backward" else []
    grads = {"L": 1.0} if sent else {}
    fig, ax = diagram((7.2, 3.5), (-0.8, 9.3), (-2.75, 1.25))
    fig.suptitle("What does each value send back?")
    for user, parent, share in shares:
        left, right = at[parent] + 0.25, at[user] - 0.25
        if user in computed:
            arrow(ax, (left, 0.45), (right, 0.45), BLUE, 0.15, bend=-0.45)
        if user in sent:
            grads[parent] = grads.get(parent, 0) + share
            arrow(ax, (right, -1.25), (left, -1.25), ORANGE, 0.15, bend=-0.45)
            # the number of a long arrow stands under it, of a short one above
            y = -1.42 - 0.225 * (right - left) if right - left > 1.7 else -1.2
            middle = (left + right) / 2
            ax.text(middle, y, f"{share:.2f}", ha="center", va="center", fontsize=9)
    for text, value in values.items():
        here = at[text[0]]
        if text[0] in computed:
            box(ax, (here, 0), f"${text}$\n{value:.2f}", BLUE, width=1.3, height=0.85)
        if text[0] in grads:
            under = f"$dL/d{text[0]}$\n{grads[text[0]]:.2f}"
            ax.text(here, -0.55, under, ha="center", va="top", fontsize=9)
    ax.plot([], [], color=BLUE, label="is used by")
    ax.plot([], [], color=ORANGE, label="sends a share of the gradient")
    ax.legend(loc="lower center", ncols=2, fontsize=9)
    if not sent:
        [value] = (v for text, v in values.items() if text[0] == name)
        return fig, f"Forward: {name} is {value:.2f}, and the tape keeps it."
    to = [f"{share:.2f} to {p}" for user, p, share in shares if user == name]
    return fig, f"Backward: {name} has {grads[name]:.2f} and sends {', '.join(to)}."


steps = [f"forward {name}" for name in at] + [f"backward {name}" for name in backward]
alt = f"""Six boxes in a row, a tape: x, 3, a = tanh x, u = 3a, v = a a and L = u + v,
with their values. Arrows above lead from each value to those computed from it. Arrows
below lead back: L sends 1 to v and 1 to u, v sends {2 * a:.2f} to a, u sends 3.00 to
a and {a:.2f} to 3, and a, which has {3 + 2 * a:.2f} in sum, sends {slope:.2f} to x."""
show(draw, "tape", alt, frames={"step": steps})

# %% [markdown]
# At the box $a$ the shares of two boxes meet: 3 from $u$, and {{ f"{2 * a:.2f}" }} from
# $v$. (In $v = a \cdot a$ the number $a$ stands twice, and each place gives
# {{ f"{a:.2f}" }}.) How does $u$ know what to send? It needs to know very little.
#
# ## What does one operation have to know?
#
# Take one step, $y = \tanh x$, from a long computation that ends in $L$. We want
# $dL/dx$. The step does not know what is done with its result $y$. But suppose that one
# number comes back to it, $g = dL/dy$. Then the chain rule gives the rest:
#
# ```math
# \frac{dL}{dx} = \frac{dL}{dy}\,\frac{dy}{dx} = g\,(1 - y^2)
# ```
#
# | letter | meaning |
# |---|---|
# | $x$, $y$ | input and output of this one step |
# | $L$ | the last number of the whole computation |
# | $g = dL/dy$ | how much $L$ moves with $y$; it comes from the steps after this one |
# | $dy/dx$ | the derivative of this step alone; of tanh it is $1 - y^2$ |
#
# The factor $1 - y^2$ needs only what the step itself has computed. So every operation
# is written once, as two functions. *Forward* computes $y$ from $x$. *Backward*
# receives $g$ and returns $dL/dx$. Here is the tanh of the library. In its first line
# `real(x)` turns integers into floats. The line above the function, `@differentiable`,
# makes it record on the tape what it returns: the result, and the backward.

# %% [source] minigrad.ops.activation.tanh

# %% [markdown]
# Is $1 - y^2$ right? Move $x$ a little to either side and look at $y$. Both numbers
# should agree in all the digits that are printed.

# %%
numeric = (np.tanh(x + h) - np.tanh(x - h)) / (2 * h)
formula = 1 - np.tanh(x) ** 2
print(f"numeric {numeric:.8f}   formula {formula:.8f}")

# %% [markdown]
# They do. Such a comparison is a [gradient check](../../GLOSSARY.md#gradient-check),
# and [lesson 01](../01_gradient_check/README.md) is about it.
#
# ## Can we write the tape ourselves?
#
# It takes a class, three operations and one loop. A `Value` keeps its number, its
# *parents* (the values that it was computed from) and its backward. Each new value is
# appended to a list, the tape:

# %%
tape = []


class Value:
    def __init__(self, data, parents=(), backward=None):
        self.data, self.parents, self.backward = data, parents, backward
        self.grad = 0.0  # dL/d(data), when the way back is complete
        tape.append(self)

# %% [markdown]
# An operation makes a `Value`. Its backward takes `g` and returns one share for each
# parent. For a product $y = st$ these are $dL/ds = g t$ and $dL/dt = g s$:


# %%
def add(s, t):
    return Value(s.data + t.data, (s, t), lambda g: (g, g))


def mul(s, t):
    return Value(s.data * t.data, (s, t), lambda g: (g * t.data, g * s.data))


def tanh(x):
    y = np.tanh(x.data)
    return Value(y, (x,), lambda g: (g * (1 - y * y),))

# %% [markdown]
# Call a value on the tape a *node*, and the values that are computed from it its
# *users*. The way back is a loop over the nodes. The function below receives them in
# the order in which it visits them. The first is $L$, with $dL/dL = 1$. Each node takes
# the gradient that has arrived, computes the shares of its parents, and *adds* them to
# what the parents have.


# %%
def send_back(nodes):
    for node in nodes:
        node.grad = 0.0
    nodes[0].grad = 1.0  # dL/dL, because the list begins with L
    for node in nodes:
        if node.backward is not None:
            for parent, share in zip(node.parents, node.backward(node.grad)):
                parent.grad = parent.grad + share

# %% [markdown]
# Does it find the derivative of our example? By hand,
#
# ```math
# L = 3a + a^2, \qquad \frac{dL}{dx} = \frac{dL}{da}\,\frac{da}{dx}
#   = (3 + 2a)(1 - a^2)
# ```

# %%
tape.clear()
x, three = Value(0.5), Value(3.0)
a = tanh(x)
u, v = mul(three, a), mul(a, a)
L = add(u, v)
send_back(tape[::-1])
by_hand = (3 + 2 * a.data) * (1 - a.data**2)
print(f"tape {x.grad:.6f}   by hand {by_hand:.6f}   moving x {slope:.6f}")

# %% [markdown]
# Three ways, one number.
#
# ## Why does the order matter?
#
# We read the tape from its end to its beginning. Now try another order: from $L$ to
# $u$, from there to $a$, from there to $x$, and only then to $v$. Every node is still
# visited exactly once. Is the gradient still right?

# %%
send_back([L, u, a, x, v, three])
hasty = x.grad
print(f"hasty order {hasty:.6f}   by hand {by_hand:.6f}")
print(f"3 (1 - a^2) = {3 * (1 - a.data**2):.6f}")

# %% [markdown]
# It is too small, {{ f"{hasty:.4f}" }} in place of {{ f"{by_hand:.4f}" }}, and no error
# was raised. When $a$ sent its share to $x$, the share from $v$ had not arrived at $a$.
# So $x$ received only the share that came through $u$.
#
# The rule is: **a node sends its shares when all of its users have sent theirs.** An
# order in which every node comes after all of its users is called
# [topological](../../GLOSSARY.md#topological-order). With a tape we need not search for
# one. A value is computed after its parents, so the tape, read backwards, is such an
# order. The library numbers its nodes as they are recorded, and sorts by that number.
#
# Nodes and the arrows between them are called a *graph*. If a graph comes without a
# tape, there are two ways to find an order. For both, keep only the nodes from which
# $L$ was computed, found by going from $L$ to its parents, to their parents, and so on.
# No node has to wait for a user from which $L$ was not computed.
#
# - From the end: count the uses of each node; $v = a \cdot a$ uses $a$ twice. Begin
#   with $L$, which has none, and always take next a node whose uses are all done.
# - From the beginning: write a node down as soon as all of its parents are written
#   down. Read the list backwards.
#
# To check whether an order is topological, number the nodes in this order. Each user
# must have a smaller number than the nodes that it uses.
#
# ## What if the values are vectors?
#
# Let $u$ now be a vector, computed from a vector $x$. Number $k$ of $x$ may move every
# number of $u$, so it receives a share from each:
#
# ```math
# \frac{\partial L}{\partial x_k}
#   = \sum_i \frac{\partial u_i}{\partial x_k}\, \frac{\partial L}{\partial u_i}
# ```
#
# (The sign $\partial$ in place of $d$ says that there are other variables, and that
# they stay as they are.) The derivatives $\partial u_i / \partial x_k$ form a matrix,
# the [Jacobian](../../GLOSSARY.md#jacobian) $du/dx$, with row $i$ for each output and
# column $k$ for each input. A matrix times a vector sums over the columns, but the sum
# above runs over the *rows*. So the matrix has to be transposed first. With one term
# for each use of $x$:
#
# ```math
# \frac{dL}{dx} = \sum_{u \text{ uses } x}
#     \left(\frac{du}{dx}\right)^{\!\top} \frac{dL}{du}
# ```
#
# The rest of this page derives such products for four operations, and never builds the
# Jacobian.
#
# ## What is the backward of a matrix product?
#
# A network is made of matrices. A word becomes a vector, and a layer multiplies it by a
# matrix. For $Y = MN$ write out one entry and differentiate it:
#
# ```math
# y_{ij} = \sum_k m_{ik} n_{kj}
# \quad\Longrightarrow\quad
# \frac{\partial L}{\partial m_{ik}} = \sum_j g_{ij} n_{kj},
# \qquad \frac{\partial L}{\partial n_{kj}} = \sum_i m_{ik} g_{ij}
# ```
#
# | letter | meaning |
# |---|---|
# | $M$, $N$, $Y$ | the two matrices and their product, with entries $`m_{ik}`$, $`n_{kj}`$, $`y_{ij}`$ |
# | $G$ | the gradient that arrives, with entries $`g_{ij} = \partial L / \partial y_{ij}`$; it has the shape of $Y$ |
#
# Why the sums? The entry $`m_{ik}`$ is used in every column $j$ of $Y$, and a value
# that is used several times receives the sum of its shares. To write the sums as
# products, remember that a product of two matrices sums over the last index of the left
# one and the first index of the right one. The first sum above runs over the last index
# of $G$ and the *last* of $N$, so $N$ has to be transposed: it is $G N^\top$. The
# second runs over the first index of $M$ and the first of $G$, so it is $M^\top G$.
# With unequal sizes no other product of these matrices even has the right shape.
#
# To test the formula, move one entry of $M$ and see whether $`L = \sum g_{ij} y_{ij}`$
# moves as the formula says. For this $L$ the gradient that arrives at $Y$ is exactly
# $G$. Its numbers are random, because equal ones would hide some mistakes.

# %%
M, N = rng.normal(size=(3, 5)), rng.normal(size=(5, 7))
G = rng.normal(size=(3, 7))
dM = G @ N.T  # (3, 7) @ (7, 5) -> (3, 5)
step = np.zeros_like(M)
step[2, 4] = h
numeric = ((G * ((M + step) @ N)).sum() - (G * ((M - step) @ N)).sum()) / (2 * h)
print(f"dL/dM[2, 4]   numeric {numeric:.6f}   formula {dM[2, 4]:.6f}")

# %% [markdown]
# The library's [matmul](../../../minigrad/ops/matmul.py) multiplies many pairs of
# matrices at once; then a transpose exchanges the last two axes only.
#
# ## What is the backward of a softmax?
#
# A [softmax](../../GLOSSARY.md#softmax) turns numbers $x_j$ into weights that are
# positive and sum to 1. Every [attention](../../GLOSSARY.md#attention) of the later
# lessons contains one. With $`Z = \sum_l e^{x_l}`$ the weights are $p_j = e^{x_j} / Z$.
# Move $x_k$. It stands in $Z$, so in *every* weight, and in the numerator of one. The
# quotient rule gives two cases:
#
# ```math
# \frac{\partial p_k}{\partial x_k} = \frac{e^{x_k} Z - e^{x_k} e^{x_k}}{Z^2}
#   = p_k - p_k^2, \qquad
# \frac{\partial p_j}{\partial x_k} = \frac{0 - e^{x_j} e^{x_k}}{Z^2} = -p_j\, p_k
#   \quad (j \ne k)
# ```
#
# With $g_j = \partial L / \partial p_j$, $x_k$ receives a share from each weight:
#
# ```math
# \frac{\partial L}{\partial x_k}
#   = g_k\, (p_k - p_k\, p_k) - \sum_{j \ne k} g_j\, p_j\, p_k
#   = g_k\, p_k - \sum_{j} g_j\, p_j\, p_k
#   = p_k \Big(g_k - \sum_j p_j\, g_j\Big)
# ```
#
# The sum lacked the term of $j = k$, which is $`g_k\, p_k\, p_k`$. The first part has
# it, so in the second step the sum runs over all $j$. The bracket compares $g_k$ with
# the weighted mean of all $g_j$. Test it on three numbers:

# %%
x, g = np.array([1.0, 2.0, 0.5]), rng.normal(size=3)


def softmax(x):
    return np.exp(x) / np.exp(x).sum()


p = softmax(x)
moves = h * np.eye(3)  # in each row one number moves
numeric = [(g * (softmax(x + m) - softmax(x - m))).sum() / (2 * h) for m in moves]
print("numeric", np.round(numeric, 6))
print("formula", (p * (g - (p * g).sum())).round(6))

# %% [markdown]
# In a matrix or a larger array, a softmax along one axis treats each row along this
# axis by itself, and so does its backward. The sum runs over this axis only, and
# `keepdims=True` keeps the axis, with length 1, so that each row is compared with its
# own mean: `p * (g - (p * g).sum(axis, keepdims=True))`.
#
# ## What is the backward of broadcasting?
#
# Add a vector $b$ of shape (4,) to a matrix $X$ of shape (3, 4). NumPy repeats $b$ for
# each of the three rows, which is called
# [broadcasting](../../GLOSSARY.md#broadcasting). The gradient that comes back has three
# rows, and $b$ has one. Which shape must the gradient of $b$ have, and what happens to
# the other two rows?
#
# No new rule is needed. Repeating a value is using it three times, and a value that is
# used several times receives the sum. *The backward of copying is summing.* The
# library's function `unbroadcast` sums over two kinds of axes: those in front that the
# input does not have, and those that have length 1 in the input:

# %%
g = np.arange(12.0).reshape(3, 4)
print("g", g.tolist())
print("summed over the rows ", mg.unbroadcast(g, (4,)).tolist())
print("summed to one column ", mg.unbroadcast(g, (3, 1)).tolist())

# %% [markdown]
# ## Does it all fit together?
#
# One layer of a network has everything: a matrix product, a broadcast, a tanh. Its
# input $X$ has three rows, one for each of three words, with five numbers each.
#
# ```math
# L = \sum_{ij} g_{ij} \tanh\Big(\sum_k x_{ik} w_{jk} + b_j\Big)
# ```
#
# | letter | shape | meaning |
# |---|---|---|
# | $X$ | $3 \times 5$ | the words, one in each row |
# | $W$, $b$ | $4 \times 5$, $4$ | the parameters; row $j$ of $W$ and $b_j$ give output $j$ |
# | $G$ | $3 \times 4$ | fixed random numbers $`g_{ij}`$; the sum with them turns all outputs into one number $L$, so they are the gradient of the outputs |
#
# We differentiate it by hand and then let the library do it. What `Value` is on this
# page, `mg.Tensor` is in the library: a NumPy array that records what is done with it.
# `requires_grad=True` says that we want its gradient. The product is $X W^\top$, so the
# rule above gives $X^\top dz$ as the gradient of $W^\top$. The gradient of $W$ is its
# transpose, $dz^\top X$. In the code `dz` is the gradient of what goes into the tanh,
# and `swapaxes(0, 1)` is the transpose of a Tensor. The
# [leaves](../../GLOSSARY.md#leaf) are the values that were not computed from others,
# here $X$, $W$ and $b$.

# %%
X, W, b, G = (rng.normal(size=s) for s in ((3, 5), (4, 5), (4,), (3, 4)))
y = np.tanh(X @ W.T + b)  # (3, 4)
dz = G * (1 - y * y)  # (3, 4), the gradient before tanh
by_hand = {"X": dz @ W, "W": dz.T @ X, "b": dz.sum(0)}  # b was copied: sum

# %%
leaves = {k: mg.Tensor(v, requires_grad=True) for k, v in zip("XWb", (X, W, b))}
L = (mg.tanh(leaves["X"] @ leaves["W"].swapaxes(0, 1) + leaves["b"]) * G).sum()
L.backward()
for k, leaf in leaves.items():
    same = np.allclose(leaf.grad, by_hand[k], rtol=1e-12)
    print(f"dL/d{k} {str(leaf.grad.shape):7s} equal: {same}")
entries = sum(leaf.grad.size for leaf in leaves.values())

# %% [markdown]
# These are {{ entries }} derivatives from one run and one way back. Moving each number
# to either side would have taken {{ 2 * entries }} runs. The gradient of each value has
# the shape of that value. Look at the shapes first when you write a backward yourself.
#
# ## What would break it?
#
# - A share that replaces the one before it, in place of being added: a value that is
#   used twice keeps one.
# - An order that is not topological: a share arrives after the node has sent its own.
# - No sum after a broadcast: the gradient of $b$ has shape (3, 4). When $b$ is updated
#   by `b = b - step * gradient`, NumPy broadcasts $b$ as well, and the vector has
#   become a matrix.
# - A search for the order by recursion, in which each node calls the same function for
#   its parents. The order is right, but a long chain of operations meets Python's limit
#   on nested calls. The library uses a loop ([graph.py](../../../minigrad/graph.py)).
#
# None of the first three raises an error by itself. How would you *notice* such a
# mistake? [Lesson 01](../01_gradient_check/README.md) is about that.
#
# **To take away: an operation needs to know only its own derivative and the gradient
# $g$ that comes back to it; the tape, read backwards, brings each $g$ in time, and
# shares that meet are added.**
#
# Exercises: E.1 (the gradient of a broadcast), E.2 (the backward of tanh, matmul and
# softmax) and E.3 (the topological order of a graph): `python -m lessons start E.1`.
#
# ## Further: what does the order save?
#
# Another program is right, too: follow every path from $L$ to $x$ separately, multiply
# the derivatives along it, and add up the paths. It needs no order at all. How many
# nodes does that program visit? Take $n$ additions, one after another,
# $`x_{k+1} = x_k + x_k`$. Guess before you look: for 10 additions, is the number nearer
# to 20 or to 2000?


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

# %% [markdown]
# Each addition doubles the number of paths. The tape visits a node once, however many
# paths lead through it, because the shares of all these paths are added up before the
# node sends its own. With 40 additions there are $2^{40}$ paths. The library's
# `backward()` visits the input and the results of the 40 additions:

# %%
x = mg.Tensor(1.0, requires_grad=True)
y = x
for _ in range(40):
    y = y + y
y.backward()
print(f"{float(x.grad):.0f} = 2^40 is {float(x.grad) == 2**40}")

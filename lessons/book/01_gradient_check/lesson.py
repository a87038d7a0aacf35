"""Lesson 01: the gradient check.  ●●○○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 01. The gradient check
#
# A wrong backward does not crash. The loss still falls, a little more slowly, to a
# place a little worse. So every backward in this course is held against a derivative
# that nobody had to derive: move the input, look at the output. Three questions: how
# far to move, what to look at, and when such a check proves nothing.
#
# You need [lesson 00](../00_tape/README.md). Half an hour.

# %%
from fractions import Fraction

import numpy as np

import minigrad as mg
from lessons.classroom.figures import BLUE, GREEN, ORANGE, figure, show
from minigrad.checking.hypotheses import BANK

rng = np.random.default_rng(0)

# %% [markdown]
# ## How far should we move?
#
# The derivative is a limit, so the smaller the step the better? Take a function whose
# derivative we know exactly,
#
# ```math
# f(x) = \frac{1}{1 + x^2}, \qquad f'(x) = \frac{-2x}{(1 + x^2)^2}
# ```
#
# and two ways to measure the slope with a step $h$: forward, $(f(x+h) - f(x)) / h$, and
# central, $(f(x+h) - f(x-h)) / 2h$. The exact slope is a fraction, without rounding, so
# that all the error belongs to the measurement. And $f$ is made of sums, products and
# quotients only, which every computer rounds alike: you will see these very numbers.


# %%
def f(x):
    return 1 / (1 + x * x)


x = 0.7
exact = -2 * Fraction(x) / (1 + Fraction(x) ** 2) ** 2


def error(slope):
    return float(abs(Fraction(float(slope)) - exact))


# %% [markdown]
# Guess before you look: which step is best, $10^{-4}$, $10^{-8}$ or $10^{-15}$? And is
# it the same one for both ways?

# %%
steps = [float(f"{m}e-{k}") for k in range(1, 15) for m in (3, 1)]
forward = [error((f(x + h) - f(x)) / h) for h in steps]
central = [error((f(x + h) - f(x - h)) / (2 * h)) for h in steps]
for k in range(1, len(steps), 4):
    print(f"h = {steps[k]:.0e}   forward {forward[k]:.0e}   central {central[k]:.0e}")

# %% [markdown]
# Both errors fall, turn, and rise again. Two errors are at work. The *truncation* of
# the Taylor series shrinks with the step:
#
# ```math
# \frac{f(x+h) - f(x)}{h} = f'(x) + \frac{h}{2} f''(x) + \dots \qquad
# \frac{f(x+h) - f(x-h)}{2h} = f'(x) + \frac{h^2}{6} f'''(x) + \dots
# ```
#
# In the central one the even terms cancel. The *rounding* of $f$, about
# $\varepsilon |f|$, does not shrink, and it is divided by the step. The sum of the two
# is least where they are of a size:
#
# ```math
# h \approx \frac{\varepsilon}{h} \;\Rightarrow\; h \approx \varepsilon^{1/2}, \qquad
# h^2 \approx \frac{\varepsilon}{h} \;\Rightarrow\; h \approx \varepsilon^{1/3}
# ```
#
# How well does that predict the best steps? And what is left of it in float32?

# %%
single = []
one, x32 = np.float32(1), np.float32(x)
for h in map(np.float32, steps):
    up, down = one / (one + (x32 + h) ** 2), one / (one + (x32 - h) ** 2)
    single.append(error((up - down) / (2 * h)))
ways = {  # name: errors, power of epsilon, precision
    "forward": (forward, 1 / 2, np.float64),
    "central": (central, 1 / 3, np.float64),
    "central, float32": (single, 1 / 3, np.float32),
}

# %%
best = {}
for name, (errors, p, kind) in ways.items():
    k, eps = int(np.argmin(errors)), float(np.finfo(kind).eps)
    best[name] = errors[k]
    print(f"{name:17s} best h {steps[k]:.0e}, error {errors[k]:.0e}", end="")
    print(f"   predicted h {eps**p:.0e}")

# %% [figure]
fig, ax = figure("How far off is the slope, at each step?", size=(7.2, 3.4))
ax.loglog(steps, forward, ".-", color=ORANGE, label="forward")
ax.loglog(steps, central, ".-", color=BLUE, label="central")
ax.loglog(steps, single, ".-", color=GREEN, label="central, float32")
ax.set(xlabel="step h", ylabel="error of the slope", ylim=(1e-13, 10))
ax.legend(loc="lower right", bbox_to_anchor=(0.98, 0.02))
alt = f"""Error of the slope against the step, both axes logarithmic: three curves in
the shape of a V. Forward differences reach {best["forward"]:.0e} at best, central ones
{best["central"]:.0e}, central ones in float32 only {best["central, float32"]:.0e}."""
show(fig, "v-curve", alt)

# %% [markdown]
# The right arms are truncation: slope one for forward, two for central. The left arms
# are rounding. A check in float32 has an error of
# {{ f"{best['central, float32']:.0e}" }} on its best day, so it cannot tell a gradient
# that is wrong in the sixth digit from a right one. We check in float64, with central
# differences. The library starts with $h = 2^{-17}$, the power of two next to
# $\varepsilon^{1/3}$, times the size of the entry that moves, also rounded to a power
# of two: then $x + h$ is exact.

# %% [source] minigrad.checking.numeric._one_by_one

# %% [source] minigrad.checking.numeric.entry_scale

# %% [markdown]
# ## How do we know that the measurement can be trusted?
#
# By making it twice. With half the step, the truncation falls to a quarter, so the two
# results cancel it, and their difference says how large it was:
#
# ```math
# \frac{4\,D(h/2) - D(h)}{3} = f'(x) + O(h^4)
# ```
#
# Try it at a step far too large, where only truncation matters.

# %%
h = 0.01
coarse = (f(x + h) - f(x - h)) / (2 * h)
fine = (f(x + h / 2) - f(x - h / 2)) / h
richer = (4 * fine - coarse) / 3
gain = error(coarse) / error(richer)
print(f"D(h)      error {error(coarse):.0e}")
print(f"D(h/2)    error {error(fine):.0e}")
print(f"combined  error {error(richer):.0e}   bar {abs(coarse - fine):.0e}")

# %% [markdown]
# The combination is {{ f"{gain:,.0f}" }} times nearer than $D(h)$, and the error bar,
# $|D(h) - D(h/2)|$, is a safe overstatement. To it the library adds the rounding of
# $f$, divided by $h$. Where the sum is too large, it tries larger and smaller steps, and
# takes the one with the smallest bar. A numeric slope with an error bar can *fail to
# decide*, and say so, which is better than a tolerance somebody made up.
#
# ## What should we look at, when there are many outputs?
#
# A backward takes a gradient $g$ for all outputs at once. So we pick a $g$, and compare
# the backward with the slopes of the single number $F(x) = \sum_i g_i f_i(x)$. Which
# $g$? All ones is the obvious choice, `f(x).sum()`. Here are six backwards of softmax,
# $p = \mathrm{softmax}(x)$, five of them wrong.

# %%
BACKWARDS = {
    "right": lambda p, g: p * (g - (g * p).sum()),
    "nothing at all": lambda p, g: 0 * g,
    "wrong sign": lambda p, g: p * ((g * p).sum() - g),
    "twice": lambda p, g: 2 * p * (g - (g * p).sum()),
    "plain mean": lambda p, g: p * (g - g.mean()),
    "diagonal only": lambda p, g: p * (1 - p) * g,
}

# %% [markdown]
# Which of the wrong ones does a check with ones let through, and which a check with
# random $g$?


# %%
def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def passes(backward, x, g, h=np.finfo(float).eps ** (1 / 3)):
    steps = h * np.eye(len(x))
    numeric = [(g * (softmax(x + s) - softmax(x - s))).sum() / (2 * h) for s in steps]
    return np.allclose(backward(softmax(x), g), numeric, rtol=1e-6, atol=1e-8)


# %%
x = rng.normal(size=5)
ones, drawn = np.ones(5), rng.normal(size=5)
let_through = 0
for name, backward in BACKWARDS.items():
    a, b = passes(backward, x, ones), passes(backward, x, drawn)
    let_through += a - b
    said = {True: "passes", False: "caught"}
    print(f"{name:15s} g = ones: {said[a]}   g random: {said[b]}")

# %% [markdown]
# With ones, {{ let_through }} of {{ len(BACKWARDS) - 1 }} wrong backwards pass, and one
# of them returns nothing at all. The outputs of a softmax sum to 1 whatever $x$ is, so
# $F$ is constant, its gradient is 0, and whatever gives 0 is right. *This check could
# not have failed.* Nor is softmax the only such case: the outputs of a layer
# normalisation sum to 0.
#
# The library's check draws $g$ at random. If you sum the outputs yourself, it cannot
# help that, but it notices that there is nothing to be seen:

# %%
try:
    mg.gradcheck(lambda x: mg.softmax(x).sum(), [x])
except mg.VacuousCheckError as refusal:
    print(str(refusal).partition(" The true")[0].replace(": ", ":\n"))

# %% [markdown]
# ## At which point should we look?
#
# A wrong derivative of tanh, $1 - y$ where $1 - y^2$ should stand. At $x = 0$ both are
# 1. Does the check see the difference there, and elsewhere?


# %%
def wrong_tanh(x):
    y = np.tanh(x)
    return y, lambda g: g * (1 - y)


for name, point in (("zeros", np.zeros(5)), ("random", rng.normal(size=5))):
    result = mg.gradcheck(mg.lift(wrong_tanh), [point])
    print(f"at {name:6s} {'passes' if result.ok else 'caught'}")

# %% [markdown]
# Special points hide mistakes: zeros, ones, equal entries, square matrices (where a
# lost transpose still fits). Random entries and axes of unequal length hide nothing. At
# one kind of point no backward can be right:

# %%
result = mg.gradcheck(mg.relu, [np.array([-1.0, 0.0, 2.0])])
print(result.tag, "at entry", result.worst.index)

# %% [markdown]
# ## Find the bug
#
# Now all of it together. This is additive attention's score, to which lesson 03
# returns: $e_j = v \cdot \tanh(W s + h_j)$ for each of seven $h_j$. One of the four
# gradients is wrong. Read the backward before you read on. Which line?


# %%
def additive_score(s, h, W, v):
    t = np.tanh(s @ W.T + h)  # (7, 3): s (5,), W (3, 5), h (7, 3)

    def backward(g):
        d = g[:, None] * v * (1 - t * t)  # (7, 3), before tanh
        ds = d.sum(0) @ W  # (5,), one s for all j: sum
        dW = np.outer(d[-1], s)  # (3, 5)
        dv = g @ t  # (3,), summed over j
        return ds, d, dW, dv

    return t @ v, backward


# %%
kinds = len(BANK)  # of mistakes that the check knows by their numbers
inputs = [rng.normal(size=s) for s in ((5,), (7, 3), (3, 5), (3,))]
result = mg.gradcheck(mg.lift(additive_score), inputs)
for name, row in zip("shWv", result.rows):
    print(f"d{name}  {str(row.shape):7s} {row.verdict}")
print(result.message.partition("differ\n")[2])

# %% [markdown]
# The shape is right, the code runs, training would go on. `dW` takes the last $h_j$
# alone, where $W$ was used for all seven: once more, a value used several times
# receives the sum. The check recognises this mistake, one of {{ kinds }} kinds that it
# knows by their numbers (a transpose, a forgotten $\sqrt d$, `=` for `+=`): it computes
# what each would have given, and compares.
#
# ## What would break it
#
# - A step chosen by feel: both arms of the V are steep.
# - A sum of outputs that is constant; a point that is special; a float32 somewhere on
#   the way; a dropout that draws anew at each call.
# - A check that has never failed. The tests of this project keep wrong backwards for
#   every operation and fail if the check lets one of them live.
#
# For practice: `python -m lessons list` has a check to write and bugs to find. The
# library's own check is [gradcheck.py](../../../minigrad/gradcheck.py).

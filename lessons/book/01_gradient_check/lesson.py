"""01  The gradient check  ●●○○  40 min  importance ★★  needs 00

When does a check prove that a backward is right?
"""

# %% [markdown]
# Two programs learn which word of "the black cat sleeps" they should choose. One of
# them computes its gradients by a wrong formula. No error is raised, and both programs
# improve with every step. How do you find out which one is wrong?
#
# Not by watching them learn. This lesson compares a gradient with a slope that needs no
# formula: move the input a little, and look at the output. That sounds easy, but three
# questions have to be answered: how far to move, which output to look at, and when such
# a comparison proves nothing.
#
# **Why it matters:** a model with a wrong gradient still learns a little, so the
# mistake stays. This comparison finds it, and whoever writes a backward needs it.

# %% [folded]
from fractions import Fraction

import numpy as np

import minigrad as mg
from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, figure, show
from minigrad.checking.hypotheses import BANK
from minigrad.checking.numeric import STEP

rng = np.random.default_rng(0)

# %% [markdown]
# ## Can you see a wrong gradient?
#
# Each of the four words has a number $x_j$, its score. A
# [softmax](../../GLOSSARY.md#softmax) turns the scores into weights that are positive
# and sum to 1:
#
# ```math
# p_j = \frac{e^{x_j}}{\sum_k e^{x_k}}, \qquad L = -\ln p_3
# ```
#
# | letter | meaning |
# |---|---|
# | $x_j$, $p_j$ | the score and the weight of word $j$; "cat" is word 3, in the code `p[2]` |
# | $L$ | the loss; it is 0 if "cat" has all the weight |
#
# Every step subtracts half of the gradient from the scores. One program uses the right
# backward of the softmax, which [lesson 00](../00_tape/README.md) derived. The other
# uses a wrong one:


# %%
def softmax(x):
    e = np.exp(x - x.max())  # without x.max() the result is equal, but may overflow
    return e / e.sum()


def learn(backward):
    x, losses = np.zeros(4), []
    for _ in range(40):
        p = softmax(x)  # (4,)
        losses.append(-np.log(p[2]))
        g = np.array([0, 0, -1 / p[2], 0])  # dL/dp
        x = x - 0.5 * backward(p, g)
    return losses


# %%
first = learn(lambda p, g: p * (1 - p) * g)
second = learn(lambda p, g: p * (g - (g * p).sum()))
for step in (0, 10, 20, 39):
    print(f"step {step:2d}   first {first[step]:.4f}   second {second[step]:.4f}")

# %% [figure]
fig, ax = figure("Which of the two has a wrong gradient?", size=(6, 2.7))
ax.plot(first, "-", color=ORANGE)
ax.plot(second, "--", color=BLUE)
ax.text(5.4, first[5], "first", color=ORANGE)
ax.text(2.2, second[4], "second", color=BLUE, ha="right", va="top")
ax.set(xlabel="step", ylabel="loss", ylim=(0, None))
alt = f"""Loss against the step. Both curves begin at {first[0]:.2f} and fall all the
time; at step {len(first) - 1} the first is at {first[-1]:.3f}, the second at
{second[-1]:.3f}."""
show(fig, "two-losses", alt)

# %% [markdown]
# The first is wrong. Its formula, $p_j (1 - p_j) g_j$, leaves out that a score moves
# the weights of the *other* words, too. Its loss still falls, a little more slowly. In
# a large network nobody could see that. So the backward itself has to be checked. There
# are two ways from an operation $f$ to its slopes. Both use the same random numbers in
# place of $g$, the gradient of the output; a later section says why:
#
# ![Two ways to a slope: through f twice, or through its backward.](figures/check.svg)
#
# *Two ways to a slope. Above: x plus and minus h goes through f to y, y and g give F =
# sum of g y, and the difference divided by 2h is the slope of F. Below: the random g
# goes through the backward of f and gives the gradient. The last box asks whether the
# two are equal.*
#
# The lower way is the program that we want to check. The upper way uses $f$ alone, so
# it does not contain the same mistake. It is called a [finite
# difference](../../GLOSSARY.md#finite-difference). We choose its three parts one by
# one: first the step $h$, then the numbers $g$, then the point $x$.
#
# ## How far should we move?
#
# The derivative is a limit, so is a smaller step always better? Take a function whose
# derivative we know exactly,
#
# ```math
# f(x) = \frac{1}{1 + x^2}, \qquad f'(x) = \frac{-2x}{(1 + x^2)^2}
# ```
#
# and two ways to measure its slope with a step $h$. The *forward* difference is
# $(f(x+h) - f(x)) / h$, the *central* one is $(f(x+h) - f(x-h)) / (2h)$. The code has
# the function, its exact slope at one place, and the error of a measured slope.
# (Python's `Fraction` computes exactly, without rounding.) The picture shows both
# differences, at another place and with a step that is much too large, so that you can
# see the lines:


# %%
def f(x):
    return 1 / (1 + x * x)


x = 0.7
exact = -2 * Fraction(x) / (1 + Fraction(x) ** 2) ** 2


def error(slope):
    return float(abs(Fraction(float(slope)) - exact))


# %% [figure]
fig, ax = figure("Which line has the slope of the curve?", size=(6, 3))
here, h, near = 1.2, 0.6, np.linspace(0.4, 2, 60)
slope = -2 * here / (1 + here**2) ** 2
ends = {"forward": (here, here + h), "central": (here - h, here + h)}
slopes = {name: (f(b) - f(a)) / (b - a) for name, (a, b) in ends.items()}
tangent = f(here) + slope * (near - here)
ax.plot(near, f(near), color=BLUE)
ax.plot(near, tangent, ":", color=GREY)
ax.text(2.02, f(2), "f", color=BLUE, va="center")
ax.text(2.02, tangent[-1], "slope at x", color=GREY, va="center")
for name, colour, style in (("forward", ORANGE, "s-."), ("central", GREEN, "o--")):
    at = np.array(ends[name])
    ax.plot(at, f(at), style, color=colour)
ax.text(here, f(here) - 0.06, "forward", color=ORANGE, ha="right")
ax.text(1.08, 0.56, "central", color=GREEN)
ax.set(ylabel="f(x)", xlabel="input", xticks=(here - h, here, here + h))
ax.set(xticklabels=("x - h", "x", "x + h"), xlim=(0.35, 2.3))
alt = f"""The curve of f, with its slope {slope:.3f} at x as a dotted line. The line from
x to x + h has the slope {slopes["forward"]:.3f}. The line from x - h to x + h has
{slopes["central"]:.3f} and is nearly parallel to the dotted line."""
show(fig, "secants", alt)

# %% [markdown]
# The central line is nearly parallel to the dotted one. From $x - h$ to $x$ this curve
# is steeper than at $x$, and from $x$ to $x + h$ it is flatter. The central slope is
# the mean of these two slopes, and their errors cancel in part. (In the picture $x$ is
# {{ f"{here}" }}, and the step is {{ f"{h}" }}.)
#
# Now smaller steps, at $x$ = {{ f"{x}" }}. We know the exact slope there, so the
# difference is the error of the measurement. And $f$ uses sums, products and quotients
# only. Every computer rounds these in the same way, so your output will equal the one
# below.
#
# Guess before you look: which step is best, $10^{-5}$, $10^{-8}$ or $10^{-13}$? And is
# it the same one for both differences?

# %%
steps = [float(f"{m}e-{k}") for k in range(1, 15) for m in (3, 1)]
forward = [error((f(x + h) - f(x)) / h) for h in steps]
central = [error((f(x + h) - f(x - h)) / (2 * h)) for h in steps]
for k in range(1, len(steps), 4):
    print(f"h = {steps[k]:.0e}   forward {forward[k]:.0e}   central {central[k]:.0e}")

# %% [markdown]
# Both errors fall, turn, and rise again, because two errors are at work.
#
# *Truncation.* The curve is not a line. Its *Taylor series* gives the values near $x$
# as a sum of powers of the step:
#
# ```math
# \begin{aligned}
# f(x+h) &= f(x) + h f'(x) + \frac{h^2}{2} f''(x) + \frac{h^3}{6} f'''(x) + \dots \\
# f(x-h) &= f(x) - h f'(x) + \frac{h^2}{2} f''(x) - \frac{h^3}{6} f'''(x) + \dots
# \end{aligned}
# ```
#
# Put both lines into the two differences:
#
# ```math
# \frac{f(x+h) - f(x)}{h} = f'(x) + \frac{h}{2} f''(x) + \dots \qquad
# \frac{f(x+h) - f(x-h)}{2h} = f'(x) + \frac{h^2}{6} f'''(x) + \dots
# ```
#
# The terms after $f'(x)$ are the error, which is called the *truncation error*. In
# $f(x+h) - f(x-h)$ the terms with even powers cancel. The next one has $h^3$, and the
# division by $2h$ makes $h^2$ of it. So the error of the central difference becomes
# smaller faster.
#
# *Rounding.* The computer keeps about 16 digits of $f$. The error of $f$ is about
# $\varepsilon |f|$, however small the step is. In the slope this error is divided by
# the step. So truncation grows with the step and rounding falls. Their sum is least
# about where they have the same size. Up to constant factors:
#
# ```math
# \text{forward: } h \approx \frac{\varepsilon}{h}, \text{ so } h \approx \varepsilon^{1/2},
# \qquad
# \text{central: } h^2 \approx \frac{\varepsilon}{h}, \text{ so } h \approx \varepsilon^{1/3}
# ```
#
# | letter | meaning |
# |---|---|
# | $h$ | the step |
# | $f'$, $f''$, $f'''$ | the first, second and third derivative |
# | $\varepsilon$ | the relative rounding error: the distance from 1 to the next number that the computer has |
#
# How well does that predict the best steps? And how small does the error become in
# float32, the numbers of half the length, with which networks are usually trained?

# %%
single = []
one, x32 = np.float32(1), np.float32(x)
for h in map(np.float32, steps):
    up, down = one / (one + (x32 + h) ** 2), one / (one + (x32 - h) ** 2)
    single.append(error((up - down) / (2 * h)))
# the largest step that does not change x
lost = max(h for h in steps if x32 + np.float32(h) == x32 == x32 - np.float32(h))
ways = {  # name: errors, power of epsilon, precision
    "forward": (forward, 1 / 2, np.float64),
    "central": (central, 1 / 3, np.float64),
    "central, float32": (single, 1 / 3, np.float32),
}

# %%
best = {}
for name, (errors, power, kind) in ways.items():
    k, eps = int(np.argmin(errors)), float(np.finfo(kind).eps)
    best[name] = errors[k]
    print(f"{name:17s} best h {steps[k]:.0e}, error {errors[k]:.0e}", end="")
    print(f"   predicted h {eps**power:.0e}")

# %% [figure]
fig, ax = figure("How far off is the slope, at each step?", size=(7.2, 3.4))
ax.loglog(steps, forward, ".-", color=ORANGE)
ax.loglog(steps, central, ".--", color=BLUE)
ax.loglog(steps, single, ".-.", color=GREEN)
ax.text(1e-5, 6e-6, "forward", color=ORANGE, ha="right")
ax.text(3e-4, 1e-9, "central", color=BLUE)
ax.text(1e-7, 1.2, "central, float32", color=GREEN)
ax.set(xlabel="step h", ylabel="error of the slope", ylim=(1e-13, 10))
alt = f"""Error of the slope against the step, both axes logarithmic: three curves in
the shape of a V. Forward differences reach {best["forward"]:.0e} at best, central ones
{best["central"]:.0e}, central ones in float32 only {best["central, float32"]:.0e}. From
{lost:.0e} to the left the curve of float32 is flat, at {single[-1]:.2f}."""
show(fig, "v-curve", alt)

# %% [markdown]
# The right sides are truncation. On these axes they have slope one for forward, two for
# central. The left sides are rounding. They have jumps, because each value of $f$ has
# another rounding error. In float32 a step of {{ f"{lost:.0e}" }} or less does not
# change $x$ at all. The measured slope is then 0, and its error is the whole exact
# slope, in size {{ f"{float(abs(exact)):.2f}" }}: the flat part of the curve. At its
# best step a check in float32 has an error of {{ f"{best['central, float32']:.0e}" }},
# so it cannot tell a gradient that is wrong in the sixth digit from a right one.
#
# We check in float64, with central differences and a step near $\varepsilon^{1/3}$, for
# entries of about 1. A larger entry needs a larger step, because the numbers that the
# computer has lie further apart there.
#
# ## What should we look at, when there are many outputs?
#
# A softmax has several outputs, and a check needs one number. A backward takes a
# gradient $g$ for all outputs at once, their
# [cotangent](../../GLOSSARY.md#cotangent). So we choose a $g$, and compare the backward
# with the slopes of
#
# ```math
# F(x) = \sum_i g_i\, f_i(x), \qquad \frac{\partial F}{\partial x_k}
#      = \sum_i g_i \frac{\partial f_i}{\partial x_k}
# ```
#
# | letter | meaning |
# |---|---|
# | $f_i(x)$ | output $i$ of the operation that is checked |
# | $g_i$ | a fixed number for each output, our choice |
# | $F$ | one number; the second formula is what the backward returns for $g$ |
#
# Which $g$? All ones is the obvious choice, `f(x).sum()`. Here are six backwards of the
# softmax, five of them wrong.

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
# Which wrong backwards pass the check with $g = 1$, and which pass with random $g$? The
# function `passes` allows a millionth of each slope (`rtol`) and, for slopes near 0, a
# hundred-millionth (`atol`). That fits slopes of about 1; where they may be much
# smaller or larger, multiply `atol` by the largest slope. `np.allclose` treats NaN as
# unequal to every number, so it catches NaN. It does not catch a wrong shape, because
# it broadcasts: where five slopes are equal, one number passes for all five. The
# backwards above all return the right shape. For others, reject None and compare the
# shapes first.


# %%
def passes(backward, x, g, h=np.finfo(float).eps ** (1 / 3)):
    moves = h * np.eye(len(x))  # in each row one entry moves
    numeric = [(g * (softmax(x + s) - softmax(x - s))).sum() / (2 * h) for s in moves]
    return np.allclose(backward(softmax(x), g), numeric, rtol=1e-6, atol=1e-8)


# %%
x = rng.normal(size=5)
ones, drawn = np.ones(5), rng.normal(size=5)
let_through = 0
for name, backward in BACKWARDS.items():
    a, b = passes(backward, x, ones), passes(backward, x, drawn)
    let_through += a and not b
    said = {True: "passes", False: "caught"}
    print(f"{name:15s} g = ones: {said[a]}   g random: {said[b]}")

# %% [markdown]
# With ones, {{ let_through }} of {{ len(BACKWARDS) - 1 }} wrong backwards pass, and one
# of them returns 0 always. Why? The outputs of a softmax sum to 1 whatever $x$ is. So
# $F$ is constant, its gradient is 0, and every backward that gives 0 for ones is
# "right". *This check could not have failed.* Every
# [Transformer](../../GLOSSARY.md#transformer) contains another such case, the [layer
# norm](../../GLOSSARY.md#layer-norm): before it scales and shifts its outputs, they sum
# to 0.
#
# The library's check is `mg.gradcheck(f, inputs)`, with a list of arrays. It draws $g$
# at random. For each input it moves one entry after the other and leaves the other
# inputs as they are, so the slopes of an input have the shape of this input. (In
# a large array it moves all entries at once, along random directions.) In the result,
# `ok` says whether all are right, `rows` has a line for each input, `worst` is the
# worst entry, and `message` and `tag` describe and name the mistake.
#
# If you sum the outputs yourself, the check cannot prevent that. But if the sum is
# constant, as for a softmax, it notices that nothing moves, and raises an error (the
# *graph* in its text is the record of operations, as in lesson 00):

# %%
try:
    mg.gradcheck(lambda x: mg.softmax(x).sum(), [x])
except mg.VacuousCheckError as refusal:
    print(str(refusal).partition(" The true")[0].replace(": ", ":\n"))

# %% [markdown]
# ## At which point should we look?
#
# Here is a wrong derivative of tanh, $1 - y$ where $1 - y^2$ should stand. At $x = 0$
# both are 1. Does the check see the difference there, and elsewhere? (`mg.lift` makes
# an operation of a function that returns a result and a backward.)


# %%
def wrong_tanh(x):
    y = np.tanh(x)
    return y, lambda g: g * (1 - y)


for name, point in (("zeros", np.zeros(5)), ("random", rng.normal(size=5))):
    result = mg.gradcheck(mg.lift(wrong_tanh), [point])
    print(f"at {name:6s} {'passes' if result.ok else 'caught'}")

# %% [markdown]
# Special points hide mistakes: zeros, ones, equal entries, and square matrices, in
# which a forgotten transpose still fits. Random entries and axes of unequal length hide
# much less. And there are points without a derivative, at which no backward can be
# right. The function $\max(0, x)$, called *relu*, has a corner at 0, a *kink*. The
# check notices it, because the slopes to the left and to the right differ:

# %%
result = mg.gradcheck(mg.relu, [np.array([-1.0, 0.0, 2.0])])
print(result.tag, "at entry", result.worst.index)

# %% [markdown]
# ## Find the bug
#
# Now all of it together. This is a score with which
# [attention](../../GLOSSARY.md#attention) compares a vector $q$ with each of seven
# vectors $k_j$. [Lesson 03](../03_additive/README.md) explains what it is for, and
# calls them $s$ and $h_j$:
#
# ```math
# e_j = v \cdot \tanh(W q + k_j)
# ```
#
# | letter | shape | meaning |
# |---|---|---|
# | $q$, $k_j$ | 5, 3 | the two vectors that are compared |
# | $W$ | $3 \times 5$ | brings $q$ to the length of $k_j$ |
# | $v$ | 3 | makes one number of three |
# | $e_j$ | 1 | the score of $k_j$ |
#
# One of the four gradients below is wrong. Read the backward before you read on. Which
# line?


# %%
def additive_score(q, k, W, v):
    y = np.tanh(q @ W.T + k)  # (7, 3): q (5,), W (3, 5), k (7, 3)

    def backward(g):
        d = g[:, None] * v * (1 - y * y)  # (7, 3), before tanh
        dq = d.sum(0) @ W  # (5,), one q for all j: sum
        dW = np.outer(d[-1], q)  # (3, 5)
        dv = g @ y  # (3,), summed over j
        return dq, d, dW, dv

    return y @ v, backward


# %%
kinds = len(BANK)  # how many kinds of mistake the check can recognise
inputs = [rng.normal(size=s) for s in ((5,), (7, 3), (3, 5), (3,))]
result = mg.gradcheck(mg.lift(additive_score), inputs)
for name, row in zip("qkWv", result.rows):
    print(f"d{name}  {row.shape!s:7s} {row.verdict}")
print(result.message.partition("differ\n")[2])

# %% [markdown]
# The shape is right, the code runs, and training would go on. `dW` takes the last $k_j$
# alone, but $W$ was used for all seven: once more, a value that is used several times
# receives the sum. The check recognises this mistake. It says that our numbers are one
# term of a sum over $j$, the one with $j = 6$, where the output has $j$ along its axis
# 0. The word in brackets is the name of the mistake in the library. It knows
# {{ kinds }} kinds (a transpose, a forgotten factor, `=` for `+=`; the list is `BANK`
# in [hypotheses.py](../../../minigrad/checking/hypotheses.py)). For each kind it
# computes what the mistake would have given, and compares the numbers.
#
# You can find the line without the message, too. The row says which gradient is wrong,
# so look at the lines that compute this one. Then divide the gradient by the measured
# slopes, entry by entry. If all quotients are equal, a factor is missing, or there is
# one too many. If the shape is wrong, or the quotients differ, look for a missing sum
# or a transpose.
#
# ## What would break it?
#
# - A step that was guessed. Both sides of the V are steep, so a step that is wrong by a
#   factor of a thousand costs several digits.
# - A sum of outputs that is constant, or a point that is special: a comparison of
#   numbers then accepts wrong backwards, too. `mg.gradcheck` notices it only where the
#   true gradient is 0.
# - Numbers of 32 bits in one place of the computation: all digits beyond the seventh
#   are lost.
# - A function that is random. Then $F(x+h)$ and $F(x-h)$ belong to two functions, and
#   their difference is no slope.
# - A check that has never failed. The tests of this project keep wrong backwards for
#   every operation, and they fail if the check accepts one of them.
#
# **To take away: compare each backward with central differences in float64, with random
# $g$ and at a random point, and trust no check that you have not seen fail.**
#
# Exercises: E.4 (write the gradient check) and E.5 (find the bug):
# `python -m lessons start E.4`.
#
# ## Further: how does the library choose its step?
#
# It starts with {{ "$2^{%d}$" % np.log2(STEP) }}, which is
# {{ f"{STEP / np.finfo(float).eps**(1/3):.0f}" }} times $\varepsilon^{1/3}$, times the
# size of the entry, rounded down to a power of two. Why a power of two? A number in
# float64 has 53 binary digits, each for a power of two. The step is one of these 53
# powers. So $x + h$ and $x - h$ are numbers that the computer has, and no rounding is
# added. (There is one exception. Beyond the next power of two the numbers lie twice as
# far apart, so there $x + h$ may be rounded.)
#
# The step may be so large because each measurement is made twice. Let $D(h)$ be the
# central difference with step $h$. If its truncation is $\delta$, then
# $D(h) = f' + \delta$. With half the step the truncation falls to a quarter,
# $D(h/2) = f' + \delta/4$. Take the second four times and subtract the first, and
# $\delta$ cancels:
#
# ```math
# \frac{4\,D(h/2) - D(h)}{3} = f'(x) + O(h^4)
# ```
#
# Here $O(h^4)$ stands for terms that become smaller at least as fast as $h^4$. Try it
# at a step much too large, where truncation is all that matters. In the output, `bar`
# is $|D(h) - D(h/2)|$:

# %%
x, h = 0.7, 0.01
coarse = (f(x + h) - f(x - h)) / (2 * h)
fine = (f(x + h / 2) - f(x - h / 2)) / h
richer = (4 * fine - coarse) / 3
print(f"D(h)      error {error(coarse):.0e}")
print(f"D(h/2)    error {error(fine):.0e}")
print(f"combined  error {error(richer):.0e}   bar {abs(coarse - fine):.0e}")

# %% [markdown]
# The difference of the two measurements is much larger than the error of the
# combination, so as an *error bar* it is safe. To this bar the library adds the
# rounding of $f$, divided by $h$. If the bar is then more than a ten-millionth of the
# slope, it tries other steps and takes the one with the smallest bar.
#
# How large may the difference between gradient and slope be? The library allows the
# largest of three numbers: a millionth of the larger of the two, a hundred-millionth of
# the largest slope of the same input, and ten error bars. The first two are choices.
# The bars are measured, so nobody has to choose again for each function
# ([numeric.py](../../../minigrad/checking/numeric.py)).

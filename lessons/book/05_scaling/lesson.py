"""05  Why divide by the square root of d  ●●●○  35 min  importance ★★★  needs 03, 04

What exactly goes wrong without it?
"""

# %% [markdown]
# A query meets the four words of "the black cat sleeps" and prefers one of them a
# little. Now give every word, and the query, more numbers: 1024 instead of 4, all of
# the same kind as before. Does the query still prefer one word *a little*?
#
# It does not. One word takes nearly everything, although none has become more
# important. This lesson says why, what that does to training, and how one division
# prevents it.
#
# **Why it matters:** nearly every layer of attention in a
# [Transformer](../../GLOSSARY.md#transformer) contains this division. Without it,
# training can hardly change what a wide model looks at in its first steps.

# %% [folded]
import numpy as np

import minigrad as mg
from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, figure, show

rng = np.random.default_rng(5)

# %% [markdown]
# ## What do more numbers do to a preference?
#
# Draw a query $s$ and four keys at random, of 1024 numbers each. Use the first 4
# numbers of all of them, then the first 64, then all. The scores are dot products
# ([lesson 04](../04_scores/README.md)):

# %%
words, few = ("the", "black", "cat", "sleeps"), np.random.default_rng(4353)
s, h = few.normal(size=1024), few.normal(size=(4, 1024))  # (d,), (S = 4, d)
preference = {"unscaled": {}, "scaled": {}}
for d in (4, 64, 1024):
    e = h[:, :d] @ s[:d]  # (4,)
    for name, x in (("unscaled", e), ("scaled", e / d**0.5)):
        p = preference[name][d] = mg.softmax(x).data
        print(f"d = {d:4d} {name:8s}", *(f"{y:6.2f}" for y in x), end="  ")
        print("weights", *(f"{y:.3f}" for y in p))

# %% [figure]
def draw(d):
    """Draw the weights at widths 4, d and 1024, with the root and without."""
    title = "What do more numbers do to a preference?"
    fig, axes = figure(title, columns=2, sharey=True)
    largest = []
    for ax, (name, root) in zip(axes, (("unscaled", 1), ("scaled", d**0.5))):
        p = mg.softmax(h[:, :d] @ s[:d] / root).data
        largest.append(f"{p.max():.2f} {name}")
        rows = (4, preference[name][4]), (d, p), (1024, preference[name][1024])
        for k, (width, y) in enumerate(rows):
            look = {"ec": (GREY, BLUE, ORANGE)[k], "hatch": ("", "//", r"\\")[k]}
            at = np.arange(4) + 0.27 * (k - 1)
            ax.bar(at, y, 0.25, fc="none", lw=1.4, label=f"d = {width}", **look)
        ax.set(title=name, xticks=range(4), xticklabels=words, xlabel="word")
        ax.set(ylim=(0, 1.05))
        ax.grid(axis="x", visible=False)
    axes[0].set_ylabel("attention weight")
    axes[1].legend(loc="upper right")
    return fig, f"With d = {d} the largest weight is {' and '.join(largest)}."


raw4, raw1024 = (preference["unscaled"][d].max() for d in (4, 1024))
[winner] = {words[p.argmax()] for rows in preference.values() for p in rows.values()}
alt = f"""Weights of the four words at three widths d. The largest is always that of
"{winner}". Unscaled, it is {raw4:.2f} at d = 4 and {raw1024:.2f} at d = 1024. Scaled,
every word keeps a share at each width; the largest of all is
{max(p.max() for p in preference["scaled"].values()):.2f}."""
widths = [8, 16, 32, 64, 128, 256, 512]
show(draw, "four-words", alt, frames={"width d": widths}, start=(64,))

# %% [markdown]
# The scores grow with the width, and the softmax turns large differences into all or
# nothing. Divided by $\sqrt d$, the scores keep one size. This is the *scaled dot
# product* of Vaswani and others (2017). (We chose a draw in which one word wins at all
# three widths, here "{{ winner }}". In most draws the winner changes: the added numbers
# are random too.) Three steps lead from the width to training:
#
# - Dot products grow with $d$.
# - Large scores [saturate](../../GLOSSARY.md#saturate) the softmax, which means that it
#   reaches its flat end.
# - A flat function passes no [gradient](../../GLOSSARY.md#gradient) on.
#
# The next three sections look at one step each. The first is an exact formula, if one
# assumption holds; the other two are true only in part.
#
# ## How large is a dot product?
#
# Take one query $s$ and one key, which we call $h$ here. We need one assumption about
# them: **the $2d$ numbers $s_1, \dots, s_d$ and $h_1, \dots, h_d$ are drawn
# independently, each with mean 0 and variance 1.** This is a statement about the start
# of training. Trained vectors need not obey it.
#
# | letter | meaning |
# |---|---|
# | $s$, $h$ | a query and a key, of $d$ numbers each; $s_k$ and $h_k$ are number $k$ of them |
# | $e$ | their score, $s^\top h = s_1 h_1 + \dots + s_d h_d$ |
# | $S$ | the number of keys of one query (the exercises write $T$) |
# | $p$ | the weights of the $S$ keys, the softmax of their scores; $\alpha$ in lesson 03 |
# | $E[X]$, $\mathrm{Var}(X)$ | mean and variance of a number $X$ over random vectors |
#
# The [variance](../../GLOSSARY.md#variance) is the mean of the squared distance from
# the mean, and there is a shorter form of it, $\mathrm{Var}(X) = E[X^2] - E[X]^2$. The
# [standard deviation](../../GLOSSARY.md#standard-deviation) is its root and says how
# far from the mean such a number typically lies. Take one product $s_k h_k$. If two
# numbers are independent, the mean of their product is the product of their means. This
# holds for their squares as well, so
#
# ```math
# \mathrm{Var}(s_k h_k) = E[s_k^2 h_k^2] - E[s_k h_k]^2
#   = E[s_k^2]\, E[h_k^2] - E[s_k]^2\, E[h_k]^2
# ```
#
# For means of 0 and variances of 1 this is $1 \cdot 1 - 0 = 1$. (For a number with mean
# $\mu$ and variance $v$ put in $E[s_k] = \mu$ and $E[s_k^2] = v + \mu^2$: by the short
# form, $v = E[s_k^2] - \mu^2$. Exercise 38.2 does so.)
#
# The score is a sum of $d$ such products. They are independent, and the variance of a
# sum of independent numbers is the sum of their variances:
#
# ```math
# \mathrm{Var}(s^\top h) = \sum_{k=1}^{d} \mathrm{Var}(s_k h_k) = d, \qquad
# \mathrm{Var}\Big(\frac{s^\top h}{\sqrt d}\Big) = \frac{1}{d}\, \mathrm{Var}(s^\top h)
# = 1
# ```
#
# because the square of $x / \sqrt d$ is $x^2 / d$. So a score has the standard
# deviation $\sqrt d$, which is 8 at $d = 64$ and 32 at 1024, and a scaled score has 1
# at every width. No step needed a normal distribution. Three very different ones, then,
# should give the same variance:

# %%
side, d = np.random.default_rng(55), 64  # a generator of its own for side questions
draws = {
    "normal": side.normal(size=(2, 50_000, d)),
    "+1 or -1": side.choice([-1.0, 1.0], size=(2, 50_000, d)),
    "uniform": side.uniform(-(3**0.5), 3**0.5, size=(2, 50_000, d)),
}
for name, (s, h) in draws.items():  # (n, d) each
    e = (s * h).sum(1)  # (n,)
    print(f"{name:9s} Var(e) = {e.var():.1f}, d = {d}", end="   ")
    print(f"Var(e / sqrt d) = {(e / d**0.5).var():.2f}")

# %% [markdown]
# How far apart are the scores of *one* query? All its keys meet the same $s$. For a
# fixed query the $s_k$ are constants, and only the keys are drawn, so the term
# $s_k h_k$ has the variance $`s_k^2\, \mathrm{Var}(h_k) = s_k^2`$. The sum over $k$ is
# $`\|s\|^2`$, the squared length of the query. Its mean over queries is again $d$.
#
# This gives a shortcut: we draw scores, and not vectors. **From here on, queries and
# keys have normal entries.** Then the scores of one query are normal with the standard
# deviation $`\|s\|`$, and $`\|s\|^2`$, a sum of $d$ squares of normal numbers, has a
# distribution with a name, *chi-square*, that NumPy can draw:


# %%
def draw_scores(d, S, n=4000):
    length = np.sqrt(rng.chisquare(d, size=(n, 1)))  # |s|
    return length * rng.normal(size=(n, S))  # (n, S), of variance d over all queries


# %% [markdown]
# ## What does softmax make of large scores?
#
# One draw of four words is an example, and not a result. Draw 4000 queries with 16 keys
# each, take the softmax, sort each row from the largest weight down, and average:

# %%
S, ds = 16, (16, 64, 256, 1024)
top = {"unscaled": [], "scaled": []}
for d in ds:
    e = draw_scores(d, S)  # (n, S)
    for name, x in (("unscaled", e), ("scaled", e / d**0.5)):
        top[name].append(np.sort(mg.softmax(x).data)[:, ::-1].mean(0))  # (S,)
for name, rows in top.items():
    print(f"{name:9s} largest weight", *(f"{row[0]:.3f}" for row in rows))

# %% [figure]
fig, axes = figure("What is left for the second key?", columns=2, sharey=True)
for ax, (name, rows) in zip(axes, top.items()):
    for d, row, style in zip(ds, rows, ("-", "--", "-.", ":")):
        [line] = ax.semilogy(range(1, S + 1), row, style)
        if name == "unscaled":
            end = np.interp(np.log(1e4), -np.log(row), range(1, S + 1))
            side_of, gap = ("right", -0.4) if d == 1024 else ("left", 0)
            place = {"ha": side_of, "fontsize": 8, "color": line.get_color()}
            label = f"d = {d}" if d in (16, 1024) else str(d)
            ax.text(end + gap, 1.6e-4, label, **place)
    ax.set(title=name, xlabel="rank of the key", xticks=range(1, S + 1, 3))
    ax.set(xlim=(0, 20), ylim=(1e-4, 1.3))
axes[0].set_ylabel("mean attention weight")
axes[1].text(16.3, top["scaled"][0][-1], "all four", color=GREY)
a, b = (top["unscaled"][k][0] for k in (0, -1))
alt = f"""Mean attention weight by rank, logarithmic, for four widths d. Unscaled, the
largest grows from {a:.2f} at d = 16 to {b:.2f} at d = 1024, and the others fall faster.
Scaled, all four lie on one another; the largest is {top["scaled"][-1][0]:.2f}."""
show(fig, "weights", alt)

# %% [markdown]
# Unscaled, the largest weight approaches one. Scaled, the four curves coincide: the
# *distribution* of the weights hardly depends on $d$ any more.
#
# ## Does a saturated softmax pass no gradient?
#
# Start with two scores, $a$ and $b$. Divide numerator and denominator of the softmax by
# $\exp a$:
#
# ```math
# p_1 = \frac{\exp a}{\exp a + \exp b} = \frac{1}{1 + \exp(-x)}, \qquad x = a - b
# ```
#
# This is the *sigmoid* of the difference $x$. Its slope is $p_1 (1 - p_1)$, the first
# weight times the second. It is $1/4$ at most, at $x = 0$, and for large $x$ it shrinks
# like $\exp(-x)$:

# %%
x = np.array([0.0, 1.0, 10.0, 11.0])
sigmoid = 1 / (1 + np.exp(-x))
slope = sigmoid * (1 - sigmoid)
print("slope at 0, 1, 10, 11:", *(f"{y:.3g}" for y in slope))

# %% [markdown]
# For $S$ scores the slope is a matrix, the [Jacobian](../../GLOSSARY.md#jacobian) $J$.
# Its entry in row $i$ and column $j$ says how much weight $p_i$ changes when score
# $e_j$ grows. Lesson 03 has the two cases, $i = j$ and $i \ne j$:
#
# ```math
# J_{ii} = p_i(1 - p_i), \qquad J_{ij} = -p_i\, p_j, \qquad
# J = \mathrm{diag}(p) - p\,p^\top
# ```
#
# Here $\mathrm{diag}(p)$ is the matrix with $p$ on its diagonal. Again every entry is a
# product of two weights. If $g$ is the gradient of the weights, the gradient of the
# scores is $J g$. How large can it be? Let $`\|J\|`$ be the [Frobenius
# norm](../../GLOSSARY.md#frobenius-norm), the root of the sum of all squared entries.
# Then $`\|J g\|`$ is at most $`\|J\|`$ times $`\|g\|`$. Compare three kinds of weights:
# all 16 equal; two keys that share everything; and
# [one-hot](../../GLOSSARY.md#one-hot), where one key has all.

# %%
one, sizes = np.eye(S), {}
weights = {"uniform": one.mean(0), "tie of two": one[:2].mean(0), "one-hot": one[0]}
for name, p in weights.items():
    J = np.diag(p) - np.outer(p, p)  # (S, S)
    sizes[name] = np.linalg.norm(J)
    print(f"{name:10s} |J| = {sizes[name]:.4f}   trace {J.trace():.4f}")

# %% [markdown]
# At one-hot weights $J$ is 0: a saturated softmax passes nothing on. But the tie of two
# is ahead of the equal weights. With 16 equal keys, a change of one score moves each
# weight little. With two equal keys, it moves both weights much.
#
# > **The book says** (38.5) that the gradient of the softmax is largest "when the
# > distribution is uniform". Only the [trace](../../GLOSSARY.md#trace), the sum of the
# > diagonal, is largest there. Even weights do not mean a large gradient. (Chapter 38
# > of a textbook; its other claims stand at the end of the page.)

# %% [claims]
from lessons.instrument.verdict import above, below, between
from lessons.pages.claims import claim, over_draws

p = weights["uniform"]
claim("38.3", "equal weights, T = 16: every slope is (1/T)(1 - 1/T) = 0.0586 in size "
      "(slope for the score of another key)", "0.0586", p[0] * p[1])
claim("38.5", "the Jacobian is largest for equal weights (Frobenius norm, over that "
      "of two tied keys)", above(1), sizes["uniform"] / sizes["tie of two"])

# %% [markdown]
# ## How much is lost, then?
#
# Two measures, at widths from 1 to 4096. The [entropy](../../GLOSSARY.md#entropy)
# $H = -\sum_j p_j \ln p_j$ says how evenly the weights are spread. It is $\ln S$ if
# they are equal and 0 if one key has all; its unit is the *nat*. The
# [median](../../GLOSSARY.md#median) of $`\|J\|`$ is the size of the Jacobian for a
# typical query: half of all queries have less.


# %%
def entropy(p):
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.where(p > 0, p * np.log(p), 0).sum(-1)


# %% [folded]
def frobenius(p):  # of J, without forming it: p (n, S) -> (n,)
    q = np.sort(p) ** 2  # the smallest first: rounding then loses least
    pairs = (q[:, 1:] * q.cumsum(1)[:, :-1]).sum(1)  # of i < j, (p_i p_j)^2
    return np.sqrt(2 * pairs + (p**2 * (1 - p) ** 2).sum(1))


# %%
widths = 2 ** np.arange(13)  # 1, 2, 4, ..., 4096


def measure(S, scaled):
    rows = []
    for d in widths:
        e = draw_scores(d, S)  # (n, S)
        p = mg.softmax(e / d**0.5 if scaled else e).data
        r = frobenius(p)  # |J| of each query, (n,)
        rows.append([entropy(p).mean(), np.median(r), r.mean(), (r > 0.25).mean()])
    return np.array(rows)  # (widths, 4)


raw, fix = measure(16, False), measure(16, True)
for k in range(2, 13, 2):
    H, Hs = raw[k, 0], fix[k, 0]
    print(f"d = {widths[k]:4d}   entropy {H:.2f}, scaled {Hs:.2f}", end="   ")
    print(f"median |J| {raw[k, 1]:.1e}, scaled {fix[k, 1]:.2f}")

# %% [figure]
fig, axes = figure("What does the width do to entropy and to gradient?", columns=2)
for rows, colour, style in ((raw, ORANGE, "-"), (fix, BLUE, "--")):
    for k, draw in enumerate((axes[0].semilogx, axes[1].loglog)):
        draw(widths, rows[:, k], style, color=colour)
for ax, k, low in ((axes[0], 0, 0.97), (axes[1], 1, 0.6)):
    ax.text(4096, fix[-1, k] * low, "scaled", color=BLUE, ha="right", va="top")
    ax.text(1.4 * widths[9], 1.6 * raw[9, k], "unscaled", color=ORANGE)
axes[0].axhline(np.log(16), color=GREY, lw=0.8, ls=":")
axes[0].text(4096, np.log(16), "ln 16: equal weights", ha="right", va="bottom")
axes[0].set(xlabel="width d", ylabel="entropy (nats)")
axes[1].set(xlabel="width d", ylabel="median Frobenius norm of J")
alt = f"""Left, entropy against d for 16 keys: unscaled it falls from {raw[0, 0]:.2f} at
d = 1 to {raw[-1, 0]:.2f} at d = 4096; scaled it goes to {fix[-1, 0]:.2f}, below the
dotted line ln 16 = {np.log(16):.2f}. Right, the median of |J|: scaled it stays near
{fix[-1, 1]:.2f}, unscaled it holds to about d = 16, then falls to {raw[-1, 1]:.0e}."""
show(fig, "entropy", alt)

# %% [markdown]
# - Unscaled, the entropy falls with the width, and it falls slowly: it is
#   {{ f"{raw[8, 0]:.2f}" }} nats at $d = 256$ and {{ f"{raw[12, 0]:.2f}" }} at 4096.
# - Scaled, it hardly depends on $d$: it is {{ f"{fix[8, 0]:.2f}" }}, somewhat less than
#   the entropy of equal weights.
# - Up to $d$ = {{ str(widths[raw[:, 1] >= fix[:, 1]].max()) }} the typical unscaled
#   Jacobian is not smaller than the scaled one. The trouble is real at usual widths:
#   the median of $`\|J\|`$ is {{ f"{raw[6, 1]:.2f}" }} at $d = 64$ and
#   {{ f"{raw[8, 1]:.4f}" }} at 256, unscaled; scaled, it is {{ f"{fix[8, 1]:.2f}" }}.
#
# ## Which entropy should we expect?
#
# Let $Z = \sum_l \exp(e_l)$ be the denominator of the softmax. Then
# $\ln p_j = e_j - \ln Z$, and the entropy is
#
# ```math
# H = -\sum_j p_j \ln p_j = \ln Z - \sum_j p_j\, e_j
# ```
#
# A sum over many keys is nearly $S$ times a mean. With $X$ for one random score, $Z$ is
# about $`S\, E[\exp X]`$, and $\sum_j p_j e_j$, which is $\sum_j e_j \exp(e_j) / Z$, is
# about $E[X \exp X] / E[\exp X]$. For normal scores of variance $v$ these means are
# known: $E[\exp X] = \exp(v/2)$ and $E[X \exp X] = v \exp(v/2)$. So
#
# ```math
# H \approx \ln S + \frac{v}{2} - v = \ln S - \frac{v}{2}
# ```
#
# For scaled scores $v = 1$, and the entropy is half a nat below $\ln S$. The
# measurement above has {{ f"{np.log(16) - fix[-1, 0]:.2f}" }}. Unscaled, $v$ is $d$:
# half of $\ln S$ is lost at $d = \ln S$, and by the formula all of it at
# $d = 2 \ln S$. But 16 keys are not many, and the few largest scores then decide: the
# entropy falls more slowly than the formula says. (Exercise 38.3 repeats this for
# scores of another distribution.)
#
# ## What would break it?
#
# - Entries with means $\mu_s$ and $\mu_h$ other than 0. The *mean* of the score is
#   $`d\, \mu_s \mu_h`$, which still grows with $d$ after the division by $\sqrt d$. But
#   a softmax compares the keys of *one* query, and what is added to all of their scores
#   alike changes no weight. And [layer norm](../../GLOSSARY.md#layer-norm), in the
#   Transformer of [lesson 10](../10_heads/README.md), subtracts from each vector the
#   mean of its own numbers (exercise 38.2).
# - Queries that *are* the keys. Then $s^\top s$ has the mean $d$, and after scaling it
#   still has the mean $\sqrt d$ ([lesson 09](../09_self_attention/README.md)).
# - A learned scale, or queries that start small. What matters is the variance of the
#   scores; $\sqrt d$ is one way to set it. With any other divisor $\tau$, a
#   [temperature](../../GLOSSARY.md#temperature), it is $d / \tau^2$ (exercise 6.10).
# - Training itself. Nothing keeps the entries at variance 1; scaling sets the start
#   only. [Lesson 07](../07_reversal/README.md) trains a recurrent model with and
#   without it, [lesson 10](../10_heads/README.md) a Transformer. In exercise 38.4 you
#   train two models of width 256 that reverse strings, and compare their losses and
#   entropies.
#
# **To take away: a dot product of $d$ independent numbers has variance $d$, and
# dividing it by $\sqrt d$ makes the spread of the weights nearly independent of the
# width, so that the gradient does not vanish for most queries.**
#
# Exercises: 38.2 (the variance, with means), 38.3 (entropy with 64 keys), 6.10 (any
# divisor: temperature) and 38.4 (train with and without):
# `python -m lessons start 38.2`.
#
# ## Further: at which scale do the weights move most?
#
# Sixteen scores stand in a row from $-1$ to $1$ and are multiplied by a scale. How fast
# does the largest weight change with the scores? It has one slope for each of the 16
# scores: the row of $J$ that belongs to it. We take the length of this row. At which
# scale do *you* expect the maximum?

# %%
base = np.linspace(-1, 1, S)


def slope_of_largest(scale):
    e = mg.Tensor(base * scale, requires_grad=True)
    p = mg.softmax(e)
    p[S - 1].backward()  # the last score is the largest
    return np.linalg.norm(e.grad)


# %%
unit, scales = 1 / base.std(), np.linspace(0.1, 20, 200)
curve = np.array([slope_of_largest(x) for x in scales])
peak = scales[curve.argmax()]
at_unit, at_ten, at_100 = map(slope_of_largest, (unit, 10, 10 * unit))
print(f"unit variance is scale {unit:.2f}: {at_unit:.3f}   scale 10: {at_ten:.3f}")
print(f"peak at scale {peak:.1f}: {curve.max():.3f}", end="")
print(f", where the largest weight is {mg.softmax(base * peak).data.max():.2f}")

# %% [figure]
fig, ax = figure("At which scale does the largest weight move most?", size=(7.2, 3))
ax.plot(scales, curve, color=ORANGE)
marks = {"unit variance": unit, "peak": peak, "deviation 10,\nas at d = 100": 10 * unit}
for words, x in (marks | {"scale 1": 1}).items():
    right, side_of, style = (-3, "right", ":") if x == 1 else (4, "left", "--")
    ax.axvline(x, color=GREY, ls=style, lw=1)
    ax.annotate(words, (x, 0), (right, 5), textcoords="offset points", ha=side_of)
ax.set(xlabel="scale of the scores", ylabel="length of its row of J", ylim=(0, None))
alt = f"""Length of the gradient of the largest weight against the scale of the scores:
it rises from {curve[0]:.2f} through {at_unit:.2f} at unit variance, right of a dotted
line at 1, to a peak of {curve.max():.2f} at scale {peak:.1f}, and falls to
{at_100:.2f} where the scores have the deviation 10, as at d = 100."""
show(fig, "saturation", alt)

# %% [markdown]
# The peak stands where the largest weight is about a half, at
# {{ f"{peak / unit:.1f}" }} times the scale of unit variance. To the left of the peak,
# scores that grow make the gradient larger, to its right smaller and smaller. A query
# that looks at a wrong key with very large scores gets almost no signal to leave it.
#
# > **The book says** (38.3) that the slope "peaks near unit-variance scores and falls
# > to near-zero by score scale $\approx 10$", and draws a line at scale 1,
# > "unit-variance scores (what scaling restores)". Unit variance is at scale
# > {{ f"{unit:.2f}" }}, the peak is far to the right of both, and at scale 10 the slope
# > is not near zero.

# %% [claims]
claim("38.3", "the slope of the sigmoid is 1/4 at most", "0.25", slope[0])
claim("38.3", "the slope peaks near unit variance (the scale at which it peaks: "
      "between half and twice 1.63, the scale of unit variance)", between(0.8, 3.3),
      peak)
claim("38.3", "scale 1 is unit variance (scale of unit variance)", "1.0", unit)
claim("38.3", "at scale 10 the slope is near zero (below a tenth of the peak)",
      below(0.029), at_ten)

# %% [markdown]
# ## Further: at which width do the weights become sharp?
#
# By the formula $\ln S - v/2$, no entropy is left at the variance $v = 2 \ln S$. Does
# the entropy come nearer to the formula with more keys? Draw normal scores of several
# variances, and measure each variance in units of $2 \ln S$:

# %%
parts, left, largest = np.linspace(0, 2, 17), {}, {}  # parts: of v / (2 ln S)
for S in (16, 256, 4096):
    z = side.normal(size=(200, S))
    p = [mg.softmax(z * (2 * np.log(S) * part) ** 0.5).data for part in parts]
    left[S] = [entropy(y).mean() / np.log(S) for y in p]
    largest[S] = p[8].max(1).mean()  # the largest weight at 1 unit
    print(f"S = {S:4d}  share of ln S at 1/4, 1/2, 1, 2:", end="")
    print(*(f"{left[S][k]:5.2f}" for k in (2, 4, 8, 16)))
half = {}  # number of keys -> the d at which the unscaled entropy is half of ln S
for S in (16, 64):
    falling = -(raw if S == 16 else measure(S, False))[:, 0]
    half[S] = 2 ** np.interp(-np.log(S) / 2, falling, np.log2(widths))

# %% [figure]
fig, ax = figure("How much entropy does a variance leave?", size=(7.2, 3.2))
looks = (BLUE, "-"), (GREEN, "--"), (ORANGE, "-.")
for (S, row), (colour, style) in zip(left.items(), looks):
    ax.plot(parts, row, style, color=colour)
    ax.text(2.03, row[-1], f"{S} keys", color=colour, va="center")
ax.plot(parts, np.maximum(1 - parts, 0), ":", color=GREY)
ax.text(0.55, 0.32, "formula", ha="right", color=GREY)
ax.set(xlabel="variance of the scores, divided by 2 ln S", xlim=(0, 2.3))
ax.set_ylabel("entropy / ln S")
alt = f"""Entropy, as a share of ln S, against the variance of the scores over 2 ln S. A
dotted line, the formula, falls from 1 to 0 at 1. The curves of 16, 256 and 4096 keys
begin on it and leave it upwards; at 1 they are at {left[16][8]:.2f},
{left[256][8]:.2f} and {left[4096][8]:.2f}."""
show(fig, "entropy-left", alt)

# %% [markdown]
# The more keys, the longer the curves follow the line. But at $2 \ln S$ neither entropy
# nor gradient ends: with 4096 keys {{ f"{left[4096][8]:.0%}" }} of the entropy is left
# there, and the mean of the largest weight is {{ f"{largest[4096]:.2f}" }}, so several
# keys still share.
#
# > **The book says** (exercise 38.3) that with 64 keys the entropy crashes faster than
# > with 16. In nats it does, because it starts higher. As a share of $\ln S$ it falls a
# > little *later*: half is left at $d$ = {{ f"{half[16]:.1f}" }} with 16 keys and at
# > {{ f"{half[64]:.1f}" }} with 64.

# %% [claims]
def entropies(T, d, scaled, n=4000, seed=3):  # (n,), of draws of their own
    own = np.random.default_rng(seed)
    e = own.normal(size=(n, T)) * np.sqrt(own.chisquare(d, (n, 1)))
    return entropy(mg.softmax(e / d**0.5 if scaled else e).data)


def half_width(T, seed):  # at which half of ln T is left
    H = np.array([entropies(T, d, False, 1000, seed).mean() for d in widths[:6]])
    return 2 ** np.interp(-np.log(T) / 2, -H, np.log2(widths[:6]))


ratios = [half_width(64, seed) / half_width(16, seed) for seed in range(20)]
claim("ex. 38.3", "64 keys crash faster than 16: their entropy falls at smaller "
      "widths (width at which half of ln T is left, over that of 16 keys)", below(1),
      over_draws(ratios, of="times 1000 queries"))

# %% [markdown]
# ## Further: the mean and the typical query
#
# A median says what happens to a typical query. What happens on average? And how much
# do the weights react to the *query*? The scores are $e = K s$, with a key in each row
# of $K$. By the chain rule $\partial p / \partial s = J K$, and scaled it is
# $J K / \sqrt d$. A gradient that arrives at the weights is multiplied by the transpose
# of this matrix on its way to the query.
#
# How large is $J K$? Its columns are $J u$, where the column $u$ of $K$ has independent
# entries of mean 0 and variance 1. In the mean of the square of
# $`\sum_j J_{ij} u_j`$ the terms with two different $j$ vanish, so
# $`E[\|J u\|^2] = \sum_{ij} J_{ij}^2 = \|J\|^2`$. There are $d$ columns, so
# $`\|J K\|`$ is about $`\sqrt d\, \|J\|`$. ($J$ depends on $K$ through the scores, and
# we treated it as fixed, so this is no proof; measured with random queries the ratio of
# the two sides is near 1.) So an unscaled query has $`\sqrt d\, \|J\|`$, with the $J$
# of its large scores, and a scaled one $`\|J\|`$, with that of its small scores:

# %%
for k in range(2, 13, 2):
    median, mean = widths[k] ** 0.5 * raw[k, 1:3]
    print(f"d = {widths[k]:4d}   mean {mean:.2f}   median {median:7.2g}", end="")
    print(f"   (scaled: mean {fix[k, 2]:.2f}, median {fix[k, 1]:.2f})")

# %% [markdown]
# On average nothing vanishes, even without scaling: the mean does not fall. But the
# median does. Both are true because the gradient is unevenly spread. It arrives where
# the two best keys are nearly tied, and ties become rare: of the queries,
# {{ f"{raw[6, 3]:.2f}" }} have $`\|J\| > 1/4`$ at $d = 64$,
# {{ f"{raw[8, 3]:.2f}" }} at 256 and {{ f"{raw[10, 3]:.2f}" }} at 1024. The share
# halves as $\sqrt d$ doubles, and the two effects cancel in the mean.
#
# So scaling does not rescue *the* gradient. It spreads it evenly: scaled, mean and
# median agree. Vaswani and others (2017) wrote that they *suspect* large dot products
# of pushing the softmax to where its gradients are extremely small. For most queries
# they do.
#
# ## Further: what the texts say
#
# A textbook measures mean and standard deviation of 10000 scores at five widths (38.3).
# `book` holds what it prints. How large a difference should we expect? The standard
# deviation of $n$ such scores, divided by the true one, misses 1 by about
# $`\sqrt{(2 + 6/d) / (4n)}`$:

# %%
book = {4: 1.98, 16: 4.05, 64: 7.87, 256: 16.00, 1024: 31.99}  # d: deviation
for d, std in book.items():
    print(f"d = {d:4d}   printed over sqrt(d): {std / d**0.5:.4f}", end="")
    print(f"   to expect: 1 ± {((2 + 6 / d) / 40_000) ** 0.5:.4f}")
worst = max(abs(std / d**0.5 - 1) for d, std in book.items())

# %% [markdown]
# > **The book says** (38.3, 38.5) that the deviations agree "within a percent"; the
# > largest error is {{ f"{worst:.1%}" }}, which 10000 draws allow. It says that scaled
# > curves of weights overlap, and shows one draw for each width; only averages do. It
# > says that unscaled entropy is about 0 "by $d_k = 256$", and that the scaled one
# > "hugs the uniform line"; it stays {{ f"{np.log(16) - fix[-1, 0]:.2f}" }} nats below.

# %% [claims]
s, h = np.random.default_rng(1).normal(size=(2, 100, 2000, 64))
deviation = over_draws((s * h).sum(-1).std(-1, ddof=1) / 8, of="times 2000 scores")
claim("38.3", "the standard deviation of a score is the root of d (ratio, d = 64: 1 "
      "within a hundredth)", between(0.99, 1.01), deviation)
claim("38.3", "the printed deviations agree within a percent (the largest error, in "
      "percent)", below(1), 100 * worst)
p = mg.softmax(np.random.default_rng(2).normal(size=(500, 2, 10))).data
claim("38.3", "scaled curves overlap (largest difference of two single draws, T = 10: "
      "below 0.05)", below(0.05), over_draws(np.abs(p[:, 0] - p[:, 1]).max(-1)))
claim("38.5", "unscaled entropy is about 0 at d = 256 (below 0.05 nats)", below(0.05),
      over_draws(entropies(16, 256, False)))
claim("38.5", "scaled entropy hugs the line of equal weights (ln 16 minus entropy: "
      "below 0.05 nats)", below(0.05),
      over_draws(np.log(16) - entropies(16, 256, True)))

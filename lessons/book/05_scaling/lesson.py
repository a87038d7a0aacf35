"""05  Why divide by the square root of d  ●●●○  60 min  needs 03, 04, 00

What exactly goes wrong without it?
"""

# %% [markdown]
# A query meets the four words of "the black cat sleeps" and prefers one of them a
# little. Now give every word, and the query, more numbers: 1024 instead of 4, all of
# the same kind as before. Does the query still prefer one word *a little*?
#
# It does not. One word takes nearly everything, although none has become more
# important. This lesson says why, what that does to training, and how one division
# prevents it. Most [Transformers](../../GLOSSARY.md#transformer) contain that division
# in every layer.

# %%
import numpy as np

import minigrad as mg
from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, figure, show

rng = np.random.default_rng(5)

# %% [markdown]
# ## What do more numbers do to a preference?
#
# Draw a query $s$ and four states $h_j$ at random, of 1024 numbers each. Use the first
# 4 numbers of all of them, then the first 64, then all. The scores are dot products
# ([lesson 04](../04_scores/README.md)):

# %%
words, few = ("the", "black", "cat", "sleeps"), np.random.default_rng(4353)
s, H = few.normal(size=1024), few.normal(size=(4, 1024))  # (d,), (T = 4, d)
preference = {"unscaled": {}, "scaled": {}}
for d in (4, 64, 1024):
    e = H[:, :d] @ s[:d]  # (4,)
    for name, x in (("unscaled", e), ("scaled", e / d**0.5)):
        p = preference[name][d] = mg.softmax(x).data
        print(f"d = {d:4d} {name:8s}", *(f"{y:6.2f}" for y in x), end="  ")
        print("weights", *(f"{y:.3f}" for y in p))

# %% [figure]
fig, axes = figure("What do more numbers do to a preference?", columns=2, sharey=True)
looks = ((GREY, ""), (BLUE, "//"), (ORANGE, ".."))
for ax, (name, rows) in zip(axes, preference.items()):
    for k, ((d, p), (colour, hatch)) in enumerate(zip(rows.items(), looks)):
        ax.bar(np.arange(4) + 0.27 * (k - 1), p, 0.25, label=f"d = {d}", fc="none",
               ec=colour, hatch=hatch, lw=1.4)  # fmt: skip
    ax.set(title=name, xticks=range(4), xticklabels=words, xlabel="word")
    ax.grid(axis="x", visible=False)
axes[0].set_ylabel("attention weight")
axes[1].legend()
raw4, raw1024 = (preference["unscaled"][d].max() for d in (4, 1024))
[winner] = {words[p.argmax()] for rows in preference.values() for p in rows.values()}
alt = f"""Weights of the four words at three widths d. The largest is always that of
"{winner}". Unscaled, it is {raw4:.2f} at d = 4 and {raw1024:.2f} at d = 1024. Scaled,
every word keeps a share at each width; the largest of all is
{max(p.max() for p in preference["scaled"].values()):.2f}."""
show(fig, "four-words", alt)

# %%
many = np.random.default_rng(6).normal(size=(1000, 5, 1024))  # s and four h, each
first = [(many[:, 1:, :d] * many[:, :1, :d]).sum(2).argmax(1) for d in (4, 64, 1024)]
stays = np.ptp(first, 0) == 0  # the same word is first at all three widths
print(f"draws in which one word wins at all three widths: {stays.mean():.0%}")

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
# The next three sections look at one step each. The first step is an exact formula, if
# one assumption holds; the other two are true only in part. The three sections after
# them measure how much is lost without the division, at which width, and for which
# queries.
#
# ## How large is a dot product?
#
# We need one assumption about the vectors: **the $2d$ numbers $s_1, \dots, s_d$ and
# $h_1, \dots, h_d$ are drawn independently, each with mean 0 and variance 1.** This is
# a statement about the start of training. Trained vectors need not obey it.
#
# | letter | meaning |
# |---|---|
# | $s$, $h$ | a query and a key, of $d$ numbers each; $s_k$ and $h_k$ are number $k$ of them |
# | $e$ | their score, $s^\top h = s_1 h_1 + \dots + s_d h_d$ |
# | $T$ | the number of keys of one query |
# | $p$ | the weights of the $T$ keys: the softmax of their scores |
# | $E$, $\mathrm{Var}$ | mean and variance over random vectors |
#
# The [variance](../../GLOSSARY.md#variance) of a number $X$ with mean 0 is $E[X^2]$,
# the mean of its square. The [standard deviation](../../GLOSSARY.md#standard-deviation)
# is the root of it and says how far from 0 such a number typically lies. Take one
# product $s_k h_k$. Independent numbers have $`E[X Y] = E[X]\, E[Y]`$, so
#
# ```math
# E[s_k h_k] = E[s_k]\, E[h_k] = 0, \qquad
# \mathrm{Var}(s_k h_k) = E[s_k^2 h_k^2] = E[s_k^2]\, E[h_k^2] = 1 \cdot 1 = 1
# ```
#
# The score is a sum of $d$ such products, and its mean is 0. Its variance is the mean
# of its square. The square of the sum has the terms $(s_k h_k)^2$, and for each pair of
# different indices $k$ and $l$ a term $s_k h_k \cdot s_l h_l$. The two products of such
# a term are independent and each has the mean 0, so the mean of the term is
# $0 \cdot 0 = 0$. What is left is a sum of variances:
#
# ```math
# \mathrm{Var}(s^\top h) = \sum_{k=1}^{d} \mathrm{Var}(s_k h_k) = d
# ```
#
# Dividing a number by $a$ divides its square by $a^2$. With $a = \sqrt d$,
#
# ```math
# \mathrm{Var}\Big(\frac{s^\top h}{\sqrt d}\Big) = \frac{1}{d}\, \mathrm{Var}(s^\top h)
# = \frac{d}{d} = 1
# ```
#
# So a score has the standard deviation $\sqrt d$, which is 8 at $d = 64$ and 32 at
# 1024, and a scaled score has 1 at every width. No step needed a normal distribution.
# Three very different ones, then, should give the same variance:

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
# A textbook makes this experiment at five widths (38.3), with 10000 pairs each. `book`
# holds the means and standard deviations that it prints. Ours come from other random
# numbers, so they differ. How large a difference should we expect? Statistics has a
# formula for the mean and one for the standard deviation, which we do not derive. The
# mean of a sample of $n$ numbers of variance $d$ misses the true mean by about
# $\sqrt{d/n}$. The standard deviation of the sample, divided by the true one, misses 1
# by about $`\sqrt{(2 + \kappa) / (4n)}`$. Here $\kappa$ (kappa) is the *excess
# kurtosis*, which is larger if values far from the mean are more frequent than among
# normal numbers; for sums of $d$ products of normal numbers it is $6/d$. Both errors
# stand behind a ± sign:

# %%
book = {4: (0.004, 1.98), 16: (0.018, 4.05), 64: (-0.106, 7.87)}  # d: mean, deviation
book |= {256: (-0.198, 16.00), 1024: (-0.568, 31.99)}
n, far = 10_000, []  # far: errors of the book, divided by the errors to expect
for d, (mean, std) in book.items():
    e = np.einsum("nk,nk->n", *rng.normal(size=(2, n, d)))  # n dot products
    off, off_std = (d / n) ** 0.5, ((2 + 6 / d) / (4 * n)) ** 0.5
    part = std / d**0.5 - 1
    far.append([abs(mean) / off, abs(part) / off_std, abs(part)])
    print(f"d = {d:4d}  mean book {mean:+.3f}, ours {e.mean():+.3f} ±{off:.2f}", end="")
    print(f"  std {std:.2f}, {e.std():.2f} of {d**0.5:.0f} ±{d**0.5 * off_std:.2f}")
(*_, second), (far_mean, far_std, worst) = np.sort(far, axis=0)[-2:]

# %% [markdown]
# The means lie near 0, the deviations near $\sqrt d$. The largest error among the
# printed means is {{ f"{far_mean:.1f}" }} times the one to expect, and among the
# printed deviations {{ f"{far_std:.1f}" }} times. Neither is unusual among five draws,
# so the derivation stands.
#
# > **The book says** (38.3) that the measured deviations agree "within a percent". The
# > two largest errors are {{ f"{second:.1%}" }} and {{ f"{worst:.1%}" }}, which 10000
# > draws allow.

# %% [claims]
from lessons.instrument.verdict import above, below, between
from lessons.pages.claims import claim, over_draws

s, h = np.random.default_rng(1).normal(size=(2, 100, 2000, 64))
deviation = over_draws((s * h).sum(-1).std(-1, ddof=1) / 8, of="times 2000 scores")
claim("38.3", "the standard deviation of a score is the root of d (ratio, d = 64: 1 "
      "within a hundredth)", between(0.99, 1.01), deviation)
claim("38.3", "the printed deviations agree within a percent (the largest error, in "
      "percent)", below(1), 100 * worst)

# %% [markdown]
# A shortcut for the next four sections: we draw scores, and not vectors. **From here
# on, queries and keys have normal entries.** The derivation above did not need that,
# but the shortcut does:
#
# - Hold one query $s$ fixed. The score $\sum_k s_k h_k$ of a normal key is a sum of
#   independent normal numbers, so it is normal. Its variance is
#   $`\sum_k s_k^2 = \|s\|^2`$.
# - All $T$ keys meet the same query, so all $T$ scores have the same standard
#   deviation, $`\|s\|`$.
# - Now draw the query too. For a normal $s$, the sum of $d$ squares $`\|s\|^2`$ has a
#   distribution with a name, *chi-square*, that NumPy can draw. Its mean is $d$.
#
# So one chi-square number and $T$ normal numbers replace a query and $T$ keys:


# %%
def draw_scores(d, T, n=4000):
    length = np.sqrt(rng.chisquare(d, size=(n, 1)))  # |s|
    return length * rng.normal(size=(n, T))  # (n, T), of variance d over all queries


# %% [markdown]
# ## What does softmax make of large scores?
#
# One draw of four words is an example, and not a result. Draw 4000 queries with 16 keys
# each, take the softmax, sort each row from the largest weight down, and average:

# %%
T, ds = 16, (16, 64, 256, 1024)
top = {"unscaled": [], "scaled": []}
for d in ds:
    e = draw_scores(d, T)  # (n, T)
    for name, x in (("unscaled", e), ("scaled", e / d**0.5)):
        top[name].append(np.sort(mg.softmax(x).data)[:, ::-1].mean(0))  # (T,)
for name, rows in top.items():
    print(f"{name:9s} largest weight", *(f"{row[0]:.3f}" for row in rows))

# %% [figure]
fig, axes = figure("What is left for the second key?", columns=2, sharey=True)
for ax, (name, rows) in zip(axes, top.items()):
    for d, row, style in zip(ds, rows, ("-", "--", "-.", ":")):
        ax.semilogy(range(1, T + 1), row, style, label=f"d = {d}")
    ax.set(title=name, xlabel="rank of the key", xticks=range(1, T + 1, 3))
axes[0].set(ylabel="mean attention weight", ylim=(1e-4, 1.3))
axes[1].legend()
a, b = (top["unscaled"][k][0] for k in (0, -1))
alt = f"""Mean attention weight by rank, logarithmic, for four widths d. Unscaled, the
largest grows from {a:.2f} at d = 16 to {b:.2f} at d = 1024, and the others fall faster.
Scaled, all four lie on one another; the largest is {top["scaled"][-1][0]:.2f}."""
show(fig, "weights", alt)

# %% [markdown]
# Unscaled, the largest weight approaches one. Scaled, the four curves coincide: the
# *distribution* of the weights hardly depends on $d$ any more. (What is left is that
# $`\|s\| / \sqrt d`$ differs from query to query, and more so at small $d$.)
#
# > **The book says** (38.3) that the scaled curves overlap, and shows one draw for each
# > of four widths. Two single draws never give the same curve, scaled or not. What
# > scaling makes equal is how evenly the weights are spread in the mean. So the
# > averages overlap.

# %% [claims]
p = mg.softmax(np.random.default_rng(2).normal(size=(500, 2, 10))).data
claim("38.3", "scaled curves overlap (largest difference of two single draws, T = 10: "
      "below 0.05)", below(0.05), over_draws(np.abs(p[:, 0] - p[:, 1]).max(-1)))

# %% [markdown]
# ## Does a saturated softmax pass no gradient?
#
# Start with two scores, $a$ and $b$. Divide numerator and denominator of the softmax by
# $e^a$:
#
# ```math
# \frac{e^a}{e^a + e^b} = \frac{1}{1 + e^{-(a - b)}} = \sigma(a - b)
# ```
#
# So the softmax of two scores is the sigmoid $\sigma$ of their difference, $x = a - b$.
# The slope of the sigmoid is $\sigma' = \sigma (1 - \sigma)$: the first weight times
# the second. It is $1/4$ at most, at $x = 0$, and for large $x$ it shrinks like
# $\exp(-x)$:

# %%
x = np.array([0.0, 1.0, 10.0, 11.0])
sigma = 1 / (1 + np.exp(-x))
print("sigma' at 0, 1, 10, 11:", *(f"{y:.3g}" for y in sigma * (1 - sigma)))
two = mg.softmax(np.stack([x + 3, 0 * x + 3], -1)).data  # of scores [a, b], a - b = x
print("softmax([a, b])[0] is sigma(a - b):", np.allclose(two[:, 0], sigma))

# %% [claims]
claim("38.3", "the slope of the sigmoid is 1/4 at most", "0.25",
      sigma[0] * (1 - sigma[0]))

# %% [markdown]
# For $T$ scores the slope is a matrix, the [Jacobian](../../GLOSSARY.md#jacobian) $J$.
# Its entry in row $i$ and column $j$ says how much weight $p_i$ changes when score
# $e_j$ grows:
#
# ```math
# J_{ij} = \frac{\partial p_i}{\partial e_j} = p_i(\delta_{ij} - p_j), \qquad
# J = \mathrm{diag}(p) - p\,p^\top
# ```
#
# Here $`\delta_{ij}`$ is 1 if $i = j$ and 0 otherwise, and $\mathrm{diag}(p)$ is the
# matrix with $p$ on its diagonal. Again every entry is a product of probabilities,
# $p_i (1 - p_i)$ on the diagonal, and elsewhere $p_i p_j$ with a minus sign. The
# backward of the softmax multiplies by $J$ without forming it:

# %% [source] minigrad.ops.softmax.softmax

# %% [markdown]
# Where is $J$ large? That needs one number for the size of a matrix, and there are
# several. The [trace](../../GLOSSARY.md#trace) adds up the diagonal. The [Frobenius
# norm](../../GLOSSARY.md#frobenius-norm), here $`\|J\|`$, is the length of the matrix
# as one long vector: the root of the sum of all squared entries. The [spectral
# norm](../../GLOSSARY.md#spectral-norm) is the largest factor by which the matrix
# stretches a vector. The last two bound a gradient: if $g$ is the gradient of the
# weights, the gradient of the scores is $J^\top g$. This is $J g$, because $J$ is
# symmetric. And $`\|J g\|`$ is at most the spectral norm times $`\|g\|`$. The spectral
# norm is never larger than the Frobenius norm. Compare three kinds of weights: all 16
# equal; two keys that share everything; and [one-hot](../../GLOSSARY.md#one-hot), where
# one key has all.

# %%
one, sizes = np.eye(T), {}
weights = {"uniform": one.mean(0), "tie of two": one[:2].mean(0), "one-hot": one[0]}
for name, p in weights.items():
    J = np.diag(p) - np.outer(p, p)  # (T, T)
    sizes[name] = J.trace(), np.linalg.norm(J), np.linalg.norm(J, 2)
    print(f"{name:10s}  trace %.4f  Frobenius %.4f  spectral %.4f" % sizes[name])
pairs = zip(sizes["tie of two"], sizes["uniform"])  # for the sentence below
trace, *norms = (f"{a:.1f} against {b:.4f}" for a, b in pairs)

# %% [markdown]
# At one-hot weights $J$ is 0 in every sense: a saturated softmax passes nothing on. But
# in the two norms the tie of two is ahead of the equal weights, with {{ norms[0] }}
# (Frobenius) and {{ norms[1] }} (spectral). With 16 equal keys, a change of one score
# moves each weight little. With two equal keys, it moves both weights much.
#
# > **The book says** (38.5) that the gradient of the softmax is largest "when the
# > distribution is uniform", and uses the entropy of $p$ as a measure of how much
# > gradient is left. Only the trace of the Jacobian is largest there. Even weights do
# > not mean a large gradient.

# %% [claims]
p = weights["uniform"]
claim("38.3", "equal weights, T = 16: every slope is (1/T)(1 - 1/T) = 0.0586 in size "
      "(slope for the score of another key)", "0.0586", p[0] * p[1])
claim("38.5", "the Jacobian is largest for equal weights (Frobenius norm, over that "
      "of two tied keys)", above(1), sizes["uniform"][1] / sizes["tie of two"][1])

# %% [markdown]
# A second experiment shows the same. Sixteen scores stand in a row from $-1$ to $1$ and
# are multiplied by a scale. How fast does the largest weight change with the scores? It
# has one slope for each of the 16 scores: the row of $J$ that belongs to the largest
# weight. We take the length of this row. At which scale do *you* expect the maximum?

# %%
base = np.linspace(-1, 1, T)


def slope_of_largest(scale):
    e = mg.Tensor(base * scale, requires_grad=True)
    p = mg.softmax(e)
    p[T - 1].backward()  # the last score is the largest
    return np.linalg.norm(e.grad)


# %%
unit = 1 / base.std()
scales = np.linspace(0.1, 20, 200)
curve = np.array([slope_of_largest(x) for x in scales])
peak = scales[curve.argmax()]
p_peak = mg.softmax(base * peak).data.max()
at_1, at_unit, at_ten, at_100 = map(slope_of_largest, (1, unit, 10, 10 * unit))
at_40 = slope_of_largest(40)
print(f"scale 1: {at_1:.3f}, where the scores have the deviation {base.std():.3f}")
print(f"unit variance is scale {unit:.2f}: {at_unit:.3f}   scale 10: {at_ten:.3f}")
print(f"peak at scale {peak:.1f}: {curve.max():.3f}, where p is {p_peak:.2f}")
print(f"deviation 10, as at d = 100, is scale {10 * unit:.1f}: {at_100:.3f}")

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
# The peak stands where the largest weight is about a half, at scale
# {{ f"{peak:.1f}" }}. That is {{ f"{peak / unit:.1f}" }} times the scale of unit
# variance. At scale 10 the row is *longer* than at unit variance. To the left of the
# peak, scores that grow make the gradient larger. To its right they make it smaller and
# smaller: at scale 40 the length is {{ f"{at_40:.4f}" }}. A query that looks at a wrong
# key with scores so large gets almost no signal to leave it.
#
# > **The book says** (38.3) that the slope "peaks near unit-variance scores and falls
# > to near-zero by score scale $\approx 10$", and draws a line at scale 1,
# > "unit-variance scores (what scaling restores)". This row of scores has the deviation
# > {{ f"{base.std():.3f}" }}, so unit variance is at scale {{ f"{unit:.2f}" }}. The
# > peak is far to the right of both, and at scale 10 the slope is not near zero. The
# > book also reads the axis as $\sqrt d$. But scores of width $d$ have the deviation
# > $\sqrt d$, and here this is the scale {{ f"{unit:.2f}" }} $\sqrt d$.

# %% [claims]
claim("38.3", "the slope peaks near unit variance (the scale at which it peaks: "
      "between half and twice 1.63, the scale of unit variance)", between(0.8, 3.3),
      peak)
claim("38.3", "scale 1 is unit variance (scale of unit variance)", "1.0", unit)
claim("38.3", "at scale 10 the slope is near zero (below a tenth of the peak)",
      below(0.029), at_ten)

# %% [markdown]
# ## How much is lost, then?
#
# Two measures, at widths from 1 to 4096. The [entropy](../../GLOSSARY.md#entropy)
# $H(p) = -\sum_j p_j \ln p_j$ says how evenly the weights are spread. It is $\ln T$ if
# they are equal and 0 if one key has all; its unit is the *nat*. Exercise 38.3 needs
# another form of it: with $Z = \sum_l \exp(e_l)$, the denominator of the softmax,
# $\ln p_j = e_j - \ln Z$, so that $H = \ln Z - \sum_j p_j e_j$. (The letter $H$, which
# was the states, is the entropy from here on.) The [median](../../GLOSSARY.md#median)
# of $`\|J\|`$ is the size of the Jacobian for a typical query: half of all queries have
# less. (The output prints it as |J|.)


# %%
def entropy(p):
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.where(p > 0, p * np.log(p), 0).sum(-1)


def frobenius(p):  # of J, without forming it: p (n, T) -> (n,)
    q = np.sort(p) ** 2  # the smallest first: rounding then loses least
    pairs = (q[:, 1:] * q.cumsum(1)[:, :-1]).sum(1)  # of i < j, (p_i p_j)^2
    return np.sqrt(2 * pairs + (p**2 * (1 - p) ** 2).sum(1))


# %%
widths = 2 ** np.arange(13)  # 1, 2, 4, ..., 4096


def measure(T, scaled):
    rows = []
    for d in widths:
        e = draw_scores(d, T)  # (n, T)
        p = mg.softmax(e / d**0.5 if scaled else e).data
        r = frobenius(p)  # (n,)
        rows.append([entropy(p).mean(), np.median(r), r.mean(), (r > 0.25).mean()])
    return np.array(rows)  # (widths, 4)


found = {(T, scaled): measure(T, scaled) for T in (16, 64) for scaled in (False, True)}

# %%
raw, fix = found[16, False], found[16, True]
for k in range(2, 13, 2):
    (H, J), (Hs, Js) = raw[k, :2], fix[k, :2]
    print(f"d = {widths[k]:4d}   entropy {H:.2f}, scaled {Hs:.2f}", end="")
    print(f"   median |J| {J:.1e}, scaled {Js:.2f}")
half = {}  # T -> the d at which the unscaled entropy is ln(T) / 2
for T in (16, 64):
    falling = -found[T, False][:, 0]
    half[T] = 2 ** np.interp(-np.log(T) / 2, falling, np.log2(widths))

# %% [figure]
fig, axes = figure("What does the width do to entropy and to gradient?", columns=2)
for (T, scaled), rows in found.items():
    colour = BLUE if scaled else ORANGE
    label = f"{'scaled' if scaled else 'unscaled'}, T = {T}"
    style = "-" if T == 16 else "--"
    axes[0].semilogx(widths, rows[:, 0], style, color=colour, label=label)
    axes[1].loglog(widths, rows[:, 1], style, color=colour, label=label)
for T in (16, 64):
    axes[0].axhline(np.log(T), color=GREY, lw=0.8, ls=":")
    axes[0].text(4096, np.log(T), f"ln {T}: equal weights", ha="right", va="bottom")
axes[0].set(xlabel="width d", ylabel="entropy (nats)")
axes[1].set(xlabel="width d", ylabel="median Frobenius norm of J")
axes[1].legend(loc="lower left")
(H64, h64), s64 = found[64, False][[0, -1], 0], found[64, True][-1, 0]
alt = f"""Entropy against d, T = 16: unscaled it falls from {raw[0, 0]:.2f} at d = 1 to
{raw[-1, 0]:.2f} at d = 4096; scaled it goes to {fix[-1, 0]:.2f}, below the dotted line
ln 16 = {np.log(16):.2f}. Median of |J|: scaled it stays near {fix[-1, 1]:.2f}, unscaled
it holds to about d = 16, then falls to {raw[-1, 1]:.0e}. Dashed, T = 64: entropy
{H64:.2f} to {h64:.2f}, scaled {s64:.2f}, below ln 64 = {np.log(64):.2f}; |J|, scaled,
{found[64, True][-1, 1]:.2f}, unscaled to {found[64, False][-1, 1]:.0e}."""
show(fig, "entropy", alt)

# %% [markdown]
# - Unscaled, the entropy falls with the width, and it falls slowly: it is
#   {{ f"{raw[8, 0]:.2f}" }} nats at $d = 256$ and {{ f"{raw[12, 0]:.2f}" }} at 4096.
# - Scaled, it hardly depends on $d$: it is {{ f"{fix[0, 0]:.2f}" }} at $d = 1$ and
#   {{ f"{fix[4:, 0].min():.2f} to {fix[4:, 0].max():.2f}" }} from 16 on. It is not the
#   entropy of equal weights. (At $d = 1$ the division is by 1. The two entropies there,
#   {{ f"{raw[0, 0]:.2f}" }} unscaled and {{ f"{fix[0, 0]:.2f}" }} scaled, differ by the
#   random draws alone.)
# - Up to $d$ = {{ str(widths[raw[:, 1] >= fix[:, 1]].max()) }} the typical unscaled
#   Jacobian is not smaller than the scaled one. The trouble is real at usual widths.
#   With 16 keys, the median of $`\|J\|`$ is {{ f"{raw[6, 1]:.2f}" }} at $d = 64$ and
#   {{ f"{raw[8, 1]:.4f}" }} at 256, unscaled; scaled, it is {{ f"{fix[8, 1]:.2f}" }}.
#
# > **The book says** (38.5) that unscaled entropy is about 0 "by $d_k = 256$", and that
# > the scaled one "hugs the uniform line". At 256 it is not yet 0. And the scaled one
# > stays {{ f"{np.log(16) - fix[-1, 0]:.2f}" }} nats *below* the uniform line at
# > $T = 16$, {{ f"{np.log(64) - found[64, True][-1, 0]:.2f}" }} at $T = 64$.

# %% [claims]
def entropies(T, d, scaled, n=4000, seed=3):  # (n,), of draws of their own
    own = np.random.default_rng(seed)
    e = own.normal(size=(n, T)) * np.sqrt(own.chisquare(d, (n, 1)))
    return entropy(mg.softmax(e / d**0.5 if scaled else e).data)


claim("38.5", "unscaled entropy is about 0 at d = 256 (below 0.05 nats)", below(0.05),
      over_draws(entropies(16, 256, False)))
claim("38.5", "scaled entropy hugs the line of equal weights (ln 16 minus entropy: "
      "below 0.05 nats)", below(0.05),
      over_draws(np.log(16) - entropies(16, 256, True)))

# %% [markdown]
# ## At which width do the weights become sharp?
#
# Let the scores be normal with variance $\sigma^2$; unscaled, $\sigma^2$ is about $d$.
# ($\sigma$ is now a standard deviation, and no longer the sigmoid.) The denominator of
# the softmax is the sum $\sum_j \exp(e_j)$. Which keys make the largest part of it, the
# many with a small score or the few with a large one? Of many normal numbers, the share
# near $x$ is proportional to $`\exp(-x^2 / 2 \sigma^2)`$. (With the constant factor
# that we leave out, this is called their *density*.) So of $T$ keys, the number with a
# score near $x$ is proportional to $`T \exp(-x^2 / 2 \sigma^2)`$, and each of them adds
# $\exp(x)$:
#
# ```math
# T \exp\Big(-\frac{x^2}{2\sigma^2}\Big) \cdot \exp(x) =
# T \exp\Big(x - \frac{x^2}{2\sigma^2}\Big), \qquad
# \frac{d}{dx} \Big(x - \frac{x^2}{2\sigma^2}\Big) = 1 - \frac{x}{\sigma^2}
# ```
#
# The derivative of the exponent is 0 at $x = \sigma^2$. So the keys with a score near
# $\sigma^2$ make most of the sum, and there are about $`T \exp(-\sigma^2 / 2)`$ of
# them. ("About": we left out a constant factor, and did not say how wide "near" is.
# Both matter little beside the exponential.) If $n$ keys share the weight equally,
# their entropy is $\ln n$; with this number it is $\ln T - \sigma^2 / 2$. For scaled
# scores $\sigma^2 = 1$, and this is half a nat below $\ln T$.
#
# The argument ends where that number of keys falls to one: at $\sigma^2 = 2 \ln T$.
# There the predicted entropy is 0. For larger variances no key has a score as high as
# $\sigma^2$, and the few largest scores make most of the sum.
#
# So the argument predicts three things. Unscaled, no entropy is left at $d = 2 \ln T$,
# and half of $\ln T$ is left at half of that width, $d = \ln T$. Scaled, the entropy is
# half a nat less than $\ln T$. How well do the three predictions fit 16 keys, and 64?

# %%
for T in (16, 64):
    print(f"T = {T}: ln T = {np.log(T):.1f}, twice {2 * np.log(T):.1f}", end="   ")
    print(f"half is left at d = {half[T]:.1f}", end="  scaled: ln T - H = ")
    print(f"{np.log(T) - found[T, True][-1, 0]:.2f}")

# %% [markdown]
# The scaled scores do nearly as predicted. But half of the entropy is left at a larger
# width than the predicted $\ln T$: {{ f"{half[16] / np.log(16):.1f}" }} times as large
# with 16 keys, {{ f"{half[64] / np.log(64):.1f}" }} times with 64. The argument counts
# keys as if there were many, and 16 are not many. Does the entropy come nearer to it
# with more keys? Draw normal scores of several variances, and measure each variance in
# units of $2 \ln T$. The argument predicts that the entropy, as a share of $\ln T$,
# lies on a line: it is 1 at variance 0, and 0 at variance $2 \ln T$, which is 1 unit.

# %%
parts, left, largest = np.linspace(0, 2, 17), {}, {}  # parts: of sigma^2 / (2 ln T)
for T in (16, 256, 4096):
    z = side.normal(size=(200, T))
    p = [mg.softmax(z * (2 * np.log(T) * part) ** 0.5).data for part in parts]
    left[T] = [entropy(y).mean() / np.log(T) for y in p]
    largest[T] = p[8].max(1).mean()  # the largest weight at 1 unit
    print(f"T = {T:4d}  share of ln T at 1/4, 1/2, 1, 2:", end="")
    print(*(f"{left[T][k]:5.2f}" for k in (2, 4, 8, 16)))

# %% [figure]
fig, ax = figure("How much entropy does a variance leave?", size=(7.2, 3.2))
for (T, row), colour, style in zip(
    left.items(), (BLUE, GREEN, ORANGE), ("-", "--", "-.")
):
    ax.plot(parts, row, style, color=colour, label=f"T = {T}")
ax.plot(parts, np.maximum(1 - parts, 0), ":", color=GREY, label="prediction")
ax.set(xlabel="variance of the scores, divided by 2 ln T", ylabel="entropy / ln T")
ax.legend()
alt = f"""Entropy, as a share of ln T, against the variance of the scores over 2 ln T. A
dotted line, the prediction, falls from 1 to 0 at 1. The curves of T = 16, 256 and 4096
begin on it and leave it upwards; at 1 they are at {left[16][8]:.2f},
{left[256][8]:.2f} and {left[4096][8]:.2f}."""
show(fig, "entropy-left", alt)

# %% [markdown]
# At a quarter of a unit the prediction is $3/4$, and the curves are at
# {{ f"{left[16][2]:.2f}, {left[256][2]:.2f} and {left[4096][2]:.2f}" }}: the more keys,
# the longer they follow the line. From a half on, all of them are clearly above it.
#
# So $2 \ln T$ is where the *argument* ends. Neither entropy nor gradient ends there.
# With 16 keys {{ f"{left[16][8]:.0%}" }} of the entropy is left at that variance, with
# 4096 keys {{ f"{left[4096][8]:.0%}" }}. The mean of the largest weight there is
# {{ f"{largest[16]:.2f}" }} and {{ f"{largest[4096]:.2f}" }}, so several keys still
# share. (That these two weights are close to the two percentages is a coincidence.) And
# with 16 keys the Jacobian of a typical query is, unscaled, at least as large as scaled
# up to the width {{ str(widths[raw[:, 1] >= fix[:, 1]].max()) }}. The argument is right
# about one thing: the variance at which the weights become sharp grows with $T$. So
# with more keys the weights become sharp only at a larger width.
#
# > **The book says** (exercise 38.3) that with 64 keys the entropy crashes faster than
# > with 16. In nats it does, because it starts higher. As a share of $\ln T$ it falls a
# > little *later*: half is left at $d$ = {{ f"{half[16]:.1f}" }} with 16 keys and at
# > {{ f"{half[64]:.1f}" }} with 64.

# %% [claims]
def half_width(T, seed):  # at which half of ln T is left
    H = np.array([entropies(T, d, False, 1000, seed).mean() for d in widths[:6]])
    return 2 ** np.interp(-np.log(T) / 2, -H, np.log2(widths[:6]))


ratios = [half_width(64, seed) / half_width(16, seed) for seed in range(20)]
claim("ex. 38.3", "64 keys crash faster than 16: their entropy falls at smaller "
      "widths (width at which half of ln T is left, over that of 16 keys)", below(1),
      over_draws(ratios, of="times 1000 queries"))

# %% [markdown]
# ## The mean and the typical query
#
# A median says what happens to a typical query. What happens on average? And how much
# do the weights react to the *query*? The scores are $e = K s$, with a key in each row
# of $K$. By the chain rule $\partial p / \partial s = J K$, and scaled it is
# $J K / \sqrt d$. In training, a gradient that arrives at the weights is multiplied by
# the transpose of this matrix on its way back to the query, so its size decides how
# fast the query learns.
#
# How large is $J K$? Let $u$ be a column of $K$: $T$ independent entries of mean 0 and
# variance 1. Entry $i$ of $J u$ is $`\sum_j J_{ij} u_j`$. In the mean of its square the
# terms with two different $j$ vanish, as they did for the score:
#
# ```math
# E\big[\|J u\|^2\big] = \sum_i E\Big[\big(\sum_j J_{ij} u_j\big)^2\Big]
# = \sum_i \sum_j J_{ij}^2 = \|J\|^2
# ```
#
# There are $d$ columns, so $`\|J K\|^2`$ is about $`d\, \|J\|^2`$, and $`\|J K\|`$
# about $`\sqrt d\, \|J\|`$. ($J$ depends on $K$ through the scores, and we treated it
# as fixed, so this is no proof. Here is the ratio of the two sides, measured with 400
# queries.)

# %%
for d in (16, 64, 256):
    s, K = side.normal(size=(400, d, 1)), side.normal(size=(400, 16, d))
    p = mg.softmax((K @ s)[..., 0]).data  # (n, T)
    J = p[:, :, None] * (np.eye(16) - p[:, None, :])  # (n, T, T)
    JK, sizes_J = (np.linalg.norm(x, axis=(1, 2)) for x in (J @ K, J))
    low, middle, high = np.quantile(JK / (d**0.5 * sizes_J), (0.05, 0.5, 0.95))
    print(f"d = {d:3d}  ratio: median {middle:.2f}, nine of ten between", end=" ")
    print(f"{low:.2f} and {high:.2f}")

# %% [markdown]
# The ratio is near 1. So an unscaled query has $`\|J K\| = \sqrt d\, \|J\|`$, with the
# $J$ of its large scores, and a scaled one $`\|J K\| / \sqrt d = \|J\|`$, with the $J$
# of its small scores. Which is larger? With 16 keys, and the $`\|J\|`$ measured above:

# %%
for k in range(2, 13, 2):
    median, mean = widths[k] ** 0.5 * raw[k, 1:3]
    print(f"d = {widths[k]:4d}   mean {mean:.2f}   median {median:7.2g}", end="")
    print(f"   (scaled: mean {fix[k, 2]:.2f}, median {fix[k, 1]:.2f})")

# %% [markdown]
# On average nothing vanishes, even without scaling. The mean does not fall. But look at
# the median: at $d = 1024$ it is {{ f"{32 * raw[10, 1]:.0e}" }} for the *typical*
# query.
#
# Both are true because the gradient is unevenly spread. A gradient arrives where the
# two best keys are nearly tied, and ties become rare: of the queries,
# {{ f"{raw[6, 3]:.2f}" }} have $`\|J\| > 1/4`$ at $d = 64$,
# {{ f"{raw[8, 3]:.2f}" }} at 256 and {{ f"{raw[10, 3]:.2f}" }} at 1024. The share
# halves as $\sqrt d$ doubles. But the few that remain multiply a gradient by a matrix
# that is $\sqrt d$ times larger than that of a scaled query with the same $J$, and the
# two effects cancel in the mean.
#
# So scaling does not rescue *the* gradient. It spreads it evenly: scaled, mean and
# median agree. Vaswani and others (2017) wrote that they *suspect* large dot products
# of pushing the softmax to where its gradients are extremely small. For most queries
# they do.
#
# ## What would break it?
#
# - Entries with means $\mu_s$ and $\mu_h$ other than 0. If their variances are 1, then
#   $`E[s_k^2] = 1 + \mu_s^2`$. With $`\mathrm{Var}(X) = E[X^2] - E[X]^2`$ a product has
#   the variance $`(1 + \mu_s^2)(1 + \mu_h^2) - \mu_s^2 \mu_h^2`$. This is
#   $`1 + \mu_s^2 + \mu_h^2`$, and the score has $d$ times as much. The *mean* of the
#   score is $`d\, \mu_s \mu_h`$; divided by $\sqrt d$ it still grows with $d$. Not all
#   of this reaches the weights. A softmax compares the keys of *one* query, and what is
#   added to all of their scores alike changes no weight. And [layer
#   norm](../../GLOSSARY.md#layer-norm), in the Transformer of [lesson
#   10](../10_heads/README.md), subtracts from each vector the mean of its own numbers.
#   A mean that all numbers of a vector share, as here, is then gone (exercise 38.2).
# - Queries that *are* the keys. Then $s^\top s$ has the mean $d$, and after scaling it
#   still has the mean $\sqrt d$ ([lesson 09](../09_self_attention/README.md)).
# - A learned scale, or queries that start small. What matters is the variance of the
#   scores; $\sqrt d$ is one way to set it. With any other divisor $\tau$, a
#   [temperature](../../GLOSSARY.md#temperature), it is $d / \tau^2$, and as long as
#   that is small the entropy is near $\ln T - d / 2\tau^2$ (exercise 6.10).
# - Training itself. Nothing keeps the entries at variance 1. Scaling sets the start.
#   [Lesson 07](../07_reversal/README.md) trains a recurrent model with and without it,
#   [lesson 10](../10_heads/README.md) a Transformer. In exercise 38.4 you train two
#   models of width 256 that reverse strings, which takes some minutes. They begin with
#   equal parameters and see equal batches, but one divides its scores by 16. Compare
#   their losses at the end, and the entropies of their weights during training.
#
# **To take away: a dot product of $d$ independent numbers has variance $d$, and
# dividing it by $\sqrt d$ makes the spread of the weights nearly independent of the
# width, so that the gradient does not vanish for most queries.**
#
# Exercises: 38.2 (the variance, with means), 38.3 (entropy with 64 keys), 6.10 (any
# divisor: temperature) and 38.4 (train with and without):
# `python -m lessons start 38.2`.

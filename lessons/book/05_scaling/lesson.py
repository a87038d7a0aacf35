"""Lesson 05: why divide by the square root of d.  ●●●○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 05. Why divide by the square root of d
#
# A Transformer divides every score by $\sqrt d$, where $d$ is the width of queries and
# keys. Chapter 38 gives the reason in four steps (38.3 to 38.5): dot products grow with
# $d$; large scores saturate the softmax; a saturated softmax passes no gradient on;
# scaling prevents it. We measure each. The first is right, the others more interesting.
#
# You need [lesson 00](../00_tape/README.md) for the backward. Forty minutes.

# %%
import numpy as np

import minigrad as mg
from lessons.classroom.figures import BLUE, GREY, ORANGE, figure, show

rng = np.random.default_rng(5)

# %% [markdown]
# ## How large is a dot product?
#
# Let the entries of $s$ and $h$ be independent, with mean 0 and variance 1. Each
# product $s_k h_k$ has mean 0 and variance $`E[s_k^2]\,E[h_k^2] = 1`$, and $d$
# independent ones are summed:
#
# ```math
# \mathrm{Var}(s^\top h) = \sum_{k=1}^{d} \mathrm{Var}(s_k h_k) = d
# ```
#
# So the standard deviation should be $\sqrt d$: 8 at $d = 64$, 32 at 1024. The chapter
# draws 10000 pairs, prints what `book` holds, and finds agreement "within a percent".
# How near should they come? A mean of $n$ numbers is off by about $\sqrt{d/n}$, their
# deviation by $\sqrt{(2 + \kappa)/4n}$ of its size, with $\kappa = 6/d$ for these sums.

# %%
book = {4: (0.004, 1.98), 16: (0.018, 4.05), 64: (-0.106, 7.87)}  # d: mean, deviation
book |= {256: (-0.198, 16.00), 1024: (-0.568, 31.99)}
n, far = 10_000, []  # far: the book's, in expected errors
for d, (mean, std) in book.items():
    e = np.einsum("nk,nk->n", *rng.normal(size=(2, n, d)))
    off, off_std = (d / n) ** 0.5, ((2 + 6 / d) / (4 * n)) ** 0.5
    part = std / d**0.5 - 1
    far.append([abs(mean) / off, abs(part) / off_std, abs(part)])
    print(f"d = {d:4d}  mean book {mean:+.3f}, ours {e.mean():+.3f} ±{off:.2f}", end="")
    print(f"  std {std:.2f}, {e.std():.2f} of {d**0.5:.0f} ±{d**0.5 * off_std:.2f}")
far_mean, far_std, worst = np.max(far, axis=0)

# %% [markdown]
# The largest error among the book's means is {{ f"{far_mean:.1f}" }} times the one due,
# among its deviations {{ f"{far_std:.1f}" }}. Neither is odd in five draws, and the
# derivation stands; not "within a percent": one is off by {{ f"{worst:.1%}" }}.
#
# From now on: *given* $s$, the scores of all keys are independent and normal with
# variance $`\|s\|^2`$. So we draw that, and $T$ normal numbers in place of $T$ keys.


# %%
def draw_scores(d, T, n=4000):
    length = np.sqrt(rng.chisquare(d, size=(n, 1)))  # |s|
    return length * rng.normal(size=(n, T))  # (n, T), standard deviation sqrt(d)


# %% [markdown]
# ## What does softmax make of large scores?
#
# Draw, take the softmax, sort each row from the largest weight down, and average:

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
# Scaled, the curves coincide: the *distribution* does not depend on $d$. (The chapter
# says so of four single draws; these are equally soft, and cannot overlap.)
#
# ## Does a saturated softmax pass no gradient?
#
# 38.3 recalls the sigmoid: $\sigma'(x) = \sigma(1 - \sigma)$ is at most $1/4$, with
# equality at 0, and decays exponentially. Softmax is "the same product-of-probabilities
# structure": its backward multiplies by the Jacobian
#
# ```math
# \frac{\partial p_i}{\partial e_j} = p_i(\delta_{ij} - p_j), \qquad
# J = \mathrm{diag}(p) - p\,p^\top
# ```

# %%
x = np.array([0.0, 1.0, 10.0, 11.0])
s = 1 / (1 + np.exp(-x))
print("sigma' at 0, 1, 10, 11:", *(f"{y:.3g}" for y in s * (1 - s)))
two = mg.softmax(np.stack([x + 3, 0 * x + 3], -1)).data  # of scores [a, b], a - b = x
print("softmax([a, b])[0] is sigma(a - b):", np.allclose(two[:, 0], s))

# %% [source] minigrad.ops.softmax.softmax

# %% [markdown]
# Of two scores softmax *is* a sigmoid, with the largest slope at a tie. Of more? At a
# one-hot $p$, $J$ is 0. It is largest "when $p$ is uniform", says 38.5, and takes the
# entropy for the usable gradient. Large in which sense ($`\|J\|`$: Frobenius norm)?

# %%
one, sizes = np.eye(T), {}
weights = {"uniform": one.mean(0), "tie of two": one[:2].mean(0), "one-hot": one[0]}
for name, p in weights.items():
    J = np.diag(p) - np.outer(p, p)  # (T, T)
    sizes[name] = J.trace(), np.linalg.norm(J), np.linalg.norm(J, 2)
    print(f"{name:10s}  trace %.4f  Frobenius %.4f  spectral %.4f" % sizes[name])
pairs = zip(sizes["tie of two"], sizes["uniform"])
trace, *norms = (f"{a:.1f} against {b:.4f}" for a, b in pairs)

# %% [markdown]
# Only the trace is. In the two norms, which bound a gradient, the tie is ahead:
# {{ norms[0] }} (Frobenius), {{ norms[1] }} (spectral). Equal keys gain little each,
# between two rivals a small push decides: high entropy is no large gradient.
#
# The chapter's own experiment shows it. Sixteen scores in a row from $-1$ to $1$, times
# a scale; how fast does the largest weight move with the scores? It draws a dashed line
# at scale 1, "unit-variance scores (what scaling restores)", and reads off: "peaks near
# unit-variance scores and falls to near-zero by scale 10". Where do *you* expect it?

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
print(f"the book's line, scale 1: {at_1:.3f}, standard deviation {base.std():.3f}")
print(f"unit variance is scale {unit:.2f}: {at_unit:.3f}   scale 10: {at_ten:.3f}")
print(f"peak at scale {peak:.1f}: {curve.max():.3f}, where p is {p_peak:.2f}")
print(f"d = 100 is scale {10 * unit:.1f}: {at_100:.3f}")

# %% [figure]
fig, ax = figure("At which scale does the largest weight move most?", size=(7.2, 3))
ax.plot(scales, curve, color=ORANGE)
marks = {"unit variance": unit, "peak": peak, "d = 100": 10 * unit}
for words, x in (marks | {"38.3's": 1}).items():
    right, side, style = (-3, "right", ":") if x == 1 else (4, "left", "--")
    ax.axvline(x, color=GREY, ls=style, lw=1)
    ax.annotate(words, (x, 0), (right, 5), textcoords="offset points", ha=side)
ax.set(xlabel="scale of the scores", ylabel="norm of its slope", ylim=(0, None))
alt = f"""Norm of the gradient of the largest weight against the scale of the scores:
it rises from {curve[0]:.2f} through {at_unit:.2f} at unit variance, right of the line
that 38.3 draws at 1, to a peak of {curve.max():.2f} at scale {peak:.1f}, and falls to
{at_100:.2f} where the scores have the spread of d = 100."""
show(fig, "saturation", alt)

# %% [markdown]
# The peak stands where the largest weight is about a half, at scale
# {{ f"{peak:.1f}" }}: {{ f"{peak / unit:.1f}" }} times beyond unit variance. At scale
# 10 the slope is *larger* than at unit variance. Nor is that at 1: the row of scores
# has deviation {{ f"{base.std():.3f}" }}, the dashed line belongs at scale
# {{ f"{unit:.2f}" }}, and the axis is not $\sqrt d$. The gradient is small at both
# ends; the right end is the one that never comes back.
#
# ## How much is lost, then?
#
# Entropy, $H(p) = -\sum_j p_j \ln p_j$: $\ln T$ if uniform, 0 if one-hot. 38.5 has 0
# "by $d = 256$", and scaled "hugs the uniform line". And the median of $`\|J\|`$:


# %%
def entropy(p):
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.where(p > 0, p * np.log(p), 0).sum(-1)


def frobenius(p):  # of J, without forming it: p (n, T) -> (n,)
    q = np.sort(p) ** 2  # the smallest first, so that they count beside the largest
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
axes[0].set(xlabel="d", ylabel="entropy (nats)")
axes[1].set(xlabel="d", ylabel="median of |J|")
axes[1].legend(loc="lower left")
(H64, h64), s64 = found[64, False][[0, -1], 0], found[64, True][-1, 0]
alt = f"""Entropy against d, T = 16: unscaled it falls from {raw[0, 0]:.2f} at d = 1 to
{raw[-1, 0]:.2f} at d = 4096; scaled it stays at {fix[-1, 0]:.2f}, below the dotted line
ln 16 = {np.log(16):.2f}. Median of |J|: scaled it stays at {fix[-1, 1]:.2f}, unscaled
it holds to about d = 16, then falls to {raw[-1, 1]:.0e}. Dashed, T = 64: entropy
{H64:.2f} to {h64:.2f}, scaled {s64:.2f}, below ln 64 = {np.log(64):.2f}; |J|, scaled,
{found[64, True][-1, 1]:.2f}, unscaled to {found[64, False][-1, 1]:.0e}."""
show(fig, "entropy", alt)

# %% [markdown]
# - At $d = 256$ the unscaled entropy is {{ f"{raw[8, 0]:.2f}" }} nats, and not yet 0;
#   at 4096, where the chapter's plot ends, {{ f"{raw[12, 0]:.2f}" }}.
# - The scaled curve is flat, and {{ f"{np.log(16) - fix[-1, 0]:.2f}" }} nats *below*
#   the uniform line at $T = 16$, {{ f"{np.log(64) - found[64, True][-1, 0]:.2f}" }} at
#   $T = 64$: for normal scores of variance $\sigma^2$ it tends to $\sigma^2/2$.
# - Exercise 38.3 expects a faster crash at $T = 64$. It falls further, and starts
#   *later*: half of $\ln T$ is reached at $d$ = {{ f"{half[16]:.1f}" }} for 16 keys and
#   {{ f"{half[64]:.1f}" }} for 64, as normal scores freeze near $\sigma^2 = 2 \ln T$.
# - Up to $d$ = {{ str(widths[raw[:, 1] >= fix[:, 1]].max()) }} the median of the
#   unscaled $`\|J\|`$ is not smaller than the scaled one. The trouble is real at usual
#   widths: {{ f"{raw[6, 1]:.2f}" }} at $d = 64$, {{ f"{raw[8, 1]:.4f}" }} at 256.
#
# ## The mean and the typical query
#
# And the mean? A query gets its gradient through the keys, $\partial p/\partial s$ =
# $JH$, which scaling divides by $\sqrt d$. And unscaled, how large is $`\sqrt d\|J\|`$?

# %%
for k in range(2, 13, 2):
    median, mean = widths[k] ** 0.5 * raw[k, 1:3]
    print(f"d = {widths[k]:4d}   mean {mean:.2f}   median {median:7.2g}", end="")
    print(f"   (scaled: mean {fix[k, 2]:.2f}, median {fix[k, 1]:.2f})")

# %% [markdown]
# On average nothing vanishes. Unscaled, near ties of the two best keys become rare: of
# the rows {{ f"{raw[6, 3]:.2f}" }} have $`\|J\| > 1/4`$ at $d = 64$,
# {{ f"{raw[8, 3]:.2f}" }} at 256, {{ f"{raw[10, 3]:.2f}" }} at 1024, halving as
# $\sqrt d$ doubles. But those hand on a gradient $\sqrt d$ times larger. The mean does
# not fall, and the *typical* query gets next to nothing, {{ f"{32 * raw[10, 1]:.0e}" }}
# at $d = 1024$. Scaling buys an even spread: mean and median agree. Vaswani and others
# *suspect* large scores of pushing softmax where gradients are small; of most it is so.
#
# ## What would break it
#
# - Entries with a mean: the variance has further terms that scaling by $\sqrt d$ does
#   not remove (exercise 38.2, `python -m lessons start 38.2`).
# - Queries that *are* the keys: then $s^\top s$ has mean $d$, and $\sqrt d$ after
#   scaling ([lesson 09](../09_self_attention/README.md)).
# - A learned scale, or small initial queries: what decides is the variance.

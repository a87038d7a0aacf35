"""15  Weights of another kind  ●●●○  40 min  importance ★  needs 05, 09, 14

What if no key fits, or many do?
"""

# %% [markdown]
# You look for a name in a list, and it is not there. Attention has no weight for that.
# Its weights sum to 1, so it has to return some average of the values, whether a key
# fits or not. What else can make weights of scores, and what does each cost?
#
# **Why it matters:** in a long text most keys fit no query. Current open models give
# each head a number that says how much weight it may leave unused.

# %% [folded]
import importlib

import numpy as np

import attention
import minigrad as mg
from attention import attend, entmax, masked_softmax, sparsemax
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import above
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, PURPLE, RED, figure, run_curves, show,
)

study = importlib.import_module("lessons.book.15_weights.experiment")
rng = np.random.default_rng(15)

# %% [markdown]
# ## What does a softmax return if no key fits?
#
# Three keys, three values. The first query fits the second key. The second query fits
# no key, and all its scores are low. What do you expect of the second row?

# %%
scores = np.array([[0.0, 6.0, 0.0], [-4.0, -4.0, -4.0]])  # (L = 2, S = 3)
values = np.array([[1.0], [2.0], [6.0]])  # (S, Ev = 1)
p = masked_softmax(mg.Tensor(scores)).data
print("weights", p.round(3).tolist())
print("outputs", (p @ values)[:, 0].round(3).tolist())

# %% [markdown]
# Equal weights, and the mean of all values. A softmax depends on differences of scores
# only: three scores of $-4$ give the same weights as three scores of $+4$. So the
# output cannot show that all scores are low.
#
# ## A key that takes the rest
#
# So give the weight a place where it does no harm: one more key, with the score $b$ and
# the value 0. It is called an [attention sink](../../GLOSSARY.md#attention-sink).
#
# ```math
# p_{ij} = \frac{\exp(s_{ij})}{\exp(b) + \sum_l \exp(s_{il})}, \qquad
# r_i = 1 - \sum_j p_{ij} = \frac{\exp(b)}{\exp(b) + \sum_l \exp(s_{il})}
# ```
#
# | letter | meaning |
# |---|---|
# | $`s_{ij}`$ | the score of query $i$ and key $j$; $l$ runs over all keys |
# | $b$ | the score of the sink, one number for each head |
# | $`p_{ij}`$ | the weight of key $j$; those of a row sum to less than 1 |
# | $r_i$ | the rest, the weight of the sink |
#
# With $b = 0$ this is the *softmax plus one* (Miller 2023). Current open models learn a
# $b$ for each head (OpenAI 2025, gpt-oss). Models without one make their own: they
# spend the weight on the first token, whatever it is (Xiao and others 2024). Here is
# $b = 0$:

# %%
everything = np.ones((2, 3), bool)  # all keys are allowed
p = attention.softmax_plus_one(mg.Tensor(scores), everything).data
print("weights", p.round(3).tolist(), "  sums", p.sum(1).round(3).tolist())
print("outputs", (p @ values)[:, 0].round(3).tolist())

# %% [markdown]
# The second output is near 0: nothing was found. What does this cost? Only the
# denominator differs from that of a softmax, so all weights of a row, and with them its
# output, are multiplied by one number. With
# $`\mathrm{lse}_i = \ln \sum_l \exp(s_{il})`$ it is
#
# ```math
# \frac{\exp(\mathrm{lse}_i)}{\exp(b) + \exp(\mathrm{lse}_i)} = 1 - r_i
# = \frac{1}{1 + \exp(b - \mathrm{lse}_i)} = \sigma(\mathrm{lse}_i - b)
# ```
#
# It is near 1 if a score is far above $b$, and near 0 if all are far below. Tiled
# attention ([lesson 12](../12_exact_and_cheap/README.md)) computes $`\mathrm{lse}_i`$
# anyway. The sink is one more key, so $`\partial p_{ij} / \partial b = -p_{ij}\, r_i`$;
# exercise E.18 derives the gradients from it. Does the library's form through
# $`\mathrm{lse}`$ agree with the weights, for $b = 1$?

# %%
q, k, v = (mg.Tensor(rng.normal(size=(5, 4))) for _ in range(3))  # (L = S = 5, d = 4)
sink = attention.Sink(b=mg.Tensor(np.array(1.0)))
dense, _ = attend(q, k, v, normalize=sink)
o, _ = attend(q, k, v)
lse = np.log(np.exp((q @ k.swapaxes(0, 1)).data / 2).sum(1))  # 2 is sqrt(d)
print(np.allclose(dense.data, sink.rescale(o, mg.Tensor(lse)).data))

# %% [markdown]
# ## Does it help where nothing fits?
#
# A model sees 8 keys, random vectors of length $\sqrt d$ with $d = 32$, and 8 values of
# 8 numbers. In half of the cases, the query is one of the keys, and the wanted output
# is its value. In the other half, the query is another random vector, and the wanted
# output is 0. The model learns a matrix $W$ in $`s_{ij} = q_i^\top W k_j / \sqrt d`$,
# and the parameters of its arm, such as $b$. Let $F$ be its squared error, and $F_0$
# that of a model whose output is always 0. The *explained share* is $1 - F / F_0$.
#
# What can a softmax do at best? $F_0$ comes from the half with a key
# that fits: there the error is the square of a value. In the other half a softmax
# returns an average of independent values with the mean 0. Its mean square is
# $`\sum_j p_j^2`$ times that of a value, and at least an eighth of it, as 8 weights sum
# to 1. As 0 is wanted, this is its error, even if it finds each key that fits. So it
# explains at most $1 - 1/8$.
#
# ([How to read a measurement](../../MEASURES.md) explains the words of the table and
# of the verdict. The last four columns are the mean squared error and the sum of the
# weights, where a key fits, *found*, and where none does.)

# %%
kept = record("weights")
print(how_made(kept))
nothing, keys = kept["nothing"], 8
bound = 1 - (1 / keys) * 0.5 / 0.5  # found without error, an eighth where nothing fits
shrunk = 1 - (1 / keys) / (1 + 1 / keys)  # with the best constant factor, 8/9
print(f"a softmax explains at most {bound:.3f}; always 0 explains 0")
print(fair.table(nothing, ("rate", "mean", "every seed", "doubling")))
halves = "error, found", "error, none", "weights, found", "weights, none"
of = "found", "none", "sum found", "sum none"
print(fair.table(nothing, [*zip(halves, of)]))

# %%
print(fair.judge(nothing, ("sink ahead of softmax", above(0), "sink", "softmax")))

# %% [figure]
LOOKS = {
    "softmax": (BLUE, "-"), "softmax, gate": (GREY, "--"), "softmax + 1": (PURPLE, "-"),
    "sink": (ORANGE, "-"), "sigmoid": (RED, "--"),
}  # fmt: skip
heights = 0.76, 0.805, 0.85, 1.0, 0.955  # of the labels
title = f"Which weights find nothing? ({len(nothing['seeds'])} runs each)"
fig, ax = figure(title, size=(7.2, 3.2))
run_curves(ax, nothing, LOOKS)
ax.axhline(bound, color=GREY, ls=":", lw=1)
ax.text(nothing["budget"], bound + 0.02, "best of a softmax", color=GREY, ha="right")
for (arm, (colour, _)), y in zip(LOOKS.items(), heights):
    ax.text(1.02 * nothing["budget"], y, arm, color=colour, va="center")
ax.set(xlabel="training step, before the rate falls", ylabel="explained share")
ax.set(ylim=(0.4, 1.03), xlim=(0, 1.2 * nothing["budget"]))
means = "; ".join(
    f"{arm} {fair.of_arm(nothing, arm).value:.2f}" for arm in nothing["arms"]
)
alt = f"""Explained share of the wanted output against steps, a line for each run, in
the data for validation. In the test, after the rate has fallen, means: {means}. The
dotted line is the most that weights with the sum 1 can explain, {bound:.3f}."""
show(fig, "nothing", alt)

# %% [markdown]
# In this task, at this size, the learned sink and the sigmoid (explained below) pass
# the dotted line. Why do two other arms not pass it? *Softmax, gate* multiplies the
# output by $\sigma(W_g q_i)$ (Qiu and others 2025). The query alone does not show
# whether a key fits. So the gate can only make all outputs smaller. The best factor,
# 8/9, raises the bound to {{ f"{shrunk:.3f}" }}. *Softmax + 1* has $b = 0$ and cannot
# learn it. Where no key fits, scores are random numbers around 0, whatever $W$ is. The
# sum of 8 of their exponentials is larger than $\exp(0) = 1$, so the sink gets little
# weight.
#
# Here the output of attention is the answer. A network behind it can learn to
# distinguish an average of values from one value.
#
# ## Many keys: why does a softmax need larger scores in longer texts?
#
# Now one key always fits, and $n - 1$ others have equal scores. Let the score of the
# right key be larger by $\delta$, its *lead*. Its weight, solved for $\delta$ on the
# right, is
#
# ```math
# p = \frac{e^\delta}{e^\delta + n - 1}, \qquad \delta = \ln(n - 1) + \ln\frac{p}{1 - p}
# ```
#
# With any fixed $\delta$ the weight goes to 0 as $n$ grows: each other key has a small
# weight, and all together have a large one. To keep $p$, $\delta$ must grow like
# $\ln n$. What if small weights were exactly 0?
# [Sparsemax](../../GLOSSARY.md#sparsemax) (Martins and Astudillo 2016) takes the
# weights that are nearest to the scores:
#
# ```math
# p = \operatorname{argmin}_{p \ge 0,\; \sum_j p_j = 1} \; \sum_j (p_j - s_j)^2
# \qquad \Rightarrow \qquad p_j = \max(s_j - \tau, 0)
# ```
#
# Why the same $\tau$ for all? At the minimum, moving a little weight between two keys
# with $p_j > 0$ changes nothing, so their derivatives $2 (p_j - s_j)$ are equal: call
# them $-2\tau$. The $m$ largest scores $z_1 \ge z_2 \ge \dots$ keep a weight. These sum
# to 1, so $\tau = (z_1 + \dots + z_m - 1) / m$. The last of them is positive if
# $z_m > \tau$, that is $1 + m z_m > z_1 + \dots + z_m$, and $m$ is the largest number
# for which this holds. With the scores $-2, 0, 1/2$ it is 2, and
# $\tau = (1/2 + 0 - 1) / 2 = -1/4$.
#
# *Entmax* (Peters and others 2019) lies between the two. It has a number $\alpha$ and
# its own $\tau$: near $\alpha = 1$ it is the softmax, at $\alpha = 2$ sparsemax.
#
# ```math
# p_j = \max\left((\alpha - 1) s_j - \tau, 0\right)^{1 / (\alpha - 1)}
# ```

# %%
three = mg.Tensor(np.array([[-2.0, 0.0, 0.5]]))
allowed = np.ones((1, 3), bool)
print("softmax    ", masked_softmax(three).data[0].round(4))
print("entmax 1.5 ", entmax(three, allowed, 1.5).data[0].round(4))
print("sparsemax  ", sparsemax(three, allowed).data[0].round(4))

# %% [markdown]
# Which weight has a key with a lead of 1/2 to 4, among 4 and among 4096 keys?

# %%
print("     leads by  0.5        1        2        4")
for n in (4, 4096):
    for name, f in ("softmax", masked_softmax), ("sparsemax", sparsemax):
        lead = np.zeros((4, n))
        lead[:, 0] = 0.5, 1, 2, 4
        ones = () if name == "softmax" else (np.ones((4, n), bool),)
        p = f(mg.Tensor(lead), *ones).data[:, 0]
        print(f"{name:9s} {n:5d}" + "".join(f"{x:9.4f}" for x in p))

# %% [markdown]
# With sparsemax a lead of 1 is enough for all the weight, whatever $n$ is. With entmax
# a lead of $1 / (\alpha - 1)$ is enough.
#
# **What does training see of a key without a weight?** The keys with $p_j > 0$ are the
# *support*. If a score in it grows by a small $x$, $\tau$ grows by $x / m$. So its own
# weight grows by $x - x / m$, and each other weight of the support falls by $x / m$. A
# score outside changes nothing. Take the three scores again, and a loss that wants a
# larger weight of the first key:

# %%
for alpha in (1.001, 1.5, 2):
    s = mg.Tensor(three.data, requires_grad=True)
    p = entmax(s, allowed, alpha)
    (p * np.array([-1.0, 1.0, 2.0])).sum().backward()
    ds = s.grad[0].round(3) + 0.0
    print(f"alpha {alpha:5}   p {p.data[0].round(3)}   gradient of s {ds}")

# %% [markdown]
# The score of a key outside the support has no gradient, so training does not raise it.
# The Jacobian of sparsemax is exercise E.17, which writes $k$ for $m$.
#
# **Measured.** A model learns to find one of 16 keys with $d = 64$, and is tested with
# up to 4096. What do you expect of a softmax that has learned 16 keys nearly without
# error? A softmax can also be helped: multiply its scores, after training, by
# $\ln n / \ln 16$, so that a lead grows as the formula above demands (Nakanishi 2025,
# *Scalable-Softmax*, does this with a learned factor).

# %% [folded]
many = kept["many"]
SIZES = tuple(str(n) for n in study.Many.rows)
ROWS = [(arm, arm, "at") for arm in many["arms"]]
ROWS.append(("softmax, ln n", "softmax", "sharpened"))
far = {
    row: np.array([fair.figures(many, arm, (key, n)) for n in SIZES])
    for row, arm, key in ROWS
}  # {row: (sizes, seeds)}
print("explained share   keys" + "".join(f"{n:>8s}" for n in SIZES))
for row, x in far.items():
    print(f"{row:22s}" + "".join(f"{y:8.3f}" for y in x.mean(1)))

# %% [markdown]
# The rate was chosen with 16 keys, where all rates give nearly the same share. Do they
# with 4096 keys? The table has the runs that chose the rate. The claim holds only if it
# holds for each pair of these rates:

# %%
at_4096 = "at", SIZES[-1]
print(f"{SIZES[-1]} keys, mean of three seeds, by rate")
print(fair.at_every_rate(many, at_4096))
sharpened = fair.at_every_rate(many | {"arms": ["softmax"]}, ("sharpened", SIZES[-1]))
print(sharpened.splitlines()[1], "  with ln n")
claim = "sparsemax ahead of softmax", above(0), "sparsemax", "softmax", at_4096
print(fair.judge(many, claim, beyond=True))

# %% [figure]
MANY = {"softmax": BLUE, "entmax": PURPLE, "sparsemax": GREEN, "softmax, ln n": GREY}
fig, (left, right) = figure("What becomes of many keys? d = 64", columns=2,
                            size=(8.4, 3.2), sharey=True)  # fmt: skip
for (row, x), y in zip(far.items(), (0.13, 0.9, 0.96, 1.02)):
    left.plot([int(n) for n in SIZES], x, "-", color=MANY[row], lw=0.8)
    left.text(5000, y, row, color=MANY[row], va="center")
rates = sorted({run["rate"] for run in many["choices"]})
for arm in many["arms"]:
    x = [fair.figures(many, arm, at_4096, "choices", rate) for rate in rates]
    right.plot(rates, x, "o", color=MANY[arm], ms=3)
    right.plot(rates, np.mean(x, 1), color=MANY[arm])
right.set(xscale="log", xlabel="learning rate", title="4096 keys, runs that chose")
left.set(xscale="log", xlabel="keys in the test (16 in training)", title="chosen rates")
left.set(ylabel="explained share", ylim=(0, 1.07), xlim=(12, 1e5))
alt = f"""Left: explained share against the number of keys, a line for each run. At 4096
keys, means: {"; ".join(f"{row} {x[-1].mean():.2f}" for row, x in far.items())}. Right:
that of 4096 keys against the learning rate, a point for each run that chose it."""
show(fig, "many", alt)

# %% [markdown]
# All rates are nearly equally good with 16 keys, and not with 4096: training decides
# how large the scores become, and so how much weight many small weights take together.
# Sparsemax and entmax lose less at three of the rates. At the largest sparsemax loses
# as much as a softmax, so no verdict holds for all of them. And this does not show that
# a softmax *cannot* do it: the factor $\ln n / \ln 16$ brings the same trained softmax
# from
# {{ f"{far['softmax'][-1].mean():.2f} to {far['softmax, ln n'][-1].mean():.2f}" }}.
#
# ## How many? A weight for each key alone
#
# The third kind of weights has no fixed sum. *Sigmoid attention* (Ramapuram and others
# 2024) gives each key a weight that depends on its own score, with an offset $b$:
#
# ```math
# p_{ij} = \sigma(s_{ij} + b), \qquad
# \frac{\partial p_{ij}}{\partial s_{ij}} = p_{ij} (1 - p_{ij})
# ```
#
# The weights do not depend on each other. So the output can be 0, and it can be twice a
# value if two keys fit. An average cannot: with two equal keys in the place of one, a
# softmax halves the weight of each.

# %%
for times in (1, 2, 3):
    s = mg.Tensor(np.array([[4.0] * times + [-4.0] * 2]))  # they fit, and two others
    one = np.array([[1.0]] * times + [[0.0]] * 2)
    total = [
        (weights @ one).data.item()
        for weights in (
            masked_softmax(s), attention.sigmoid_weights(s, np.ones(s.shape, bool)),
        )
    ]  # fmt: skip
    print(f"{times} fit:  softmax {total[0]:.3f}   sigmoid {total[1]:.3f}")

# %% [markdown]
# **Measured.** A row has 1 to 4 symbols, each A or B. How many are A? One learned query
# attends to the symbols, and a small network maps the output to a number. What can an
# average know? It is a mixture of the value of A and the value of B, so it holds the
# *share* of A. One A among two symbols and two among four have the same share:

# %% [figure]
lengths, count = np.array([(n, c) for n in range(1, 5) for c in range(n + 1)]).T
fits, other = 1 / (1 + np.exp([-4.0, 4.0]))  # sigmoids of the scores 4 and -4
sums = fits * count + other * (lengths - count)
fig, axes = figure("Does the output say how many are A?", columns=2, size=(7.2, 2.9),
                   sharey=True)  # fmt: skip
for ax, x, colour in (axes[0], count / lengths, BLUE), (axes[1], sums, RED):
    ax.plot(x, count, "o", color=colour)
axes[0].set(xlabel="share of A, in an average", ylabel="number of A", yticks=range(5))
axes[1].set(xlabel="sum of sigmoid weights")
alt = """The number of A against what the output holds, a point for each row of one to
four symbols. Left, an average: a share of one half can be 1 or 2, and a share of 1 any
number from 1 to 4. Right, sigmoid weights: the sum says the number."""
show(fig, "counting", alt)

# %% [markdown]
# From the share (left) no rule can name all numbers. The best rule names the most
# frequent number for each share. Its share of right answers in the test is a bound for
# the softmax. Often a sigmoid starts with $b = -\ln n$: then the weights of $n$ scores
# near 0 sum to about 1. Does that make it an average again? Two arms are sigmoids with
# a fixed $b$, 0 and $-\ln n$. The sink starts with $b = 0$.

# %%
counting = kept["counting"]
_, n, y = study.COUNTING.held[1]
for known, x in ("length", n), ("share", y / n):
    right = [np.bincount(y[x == each]).max() for each in np.unique(x)]
    bound = sum(right) / len(y)
    print(f"best from the {known} alone {bound:.3f}")
print(fair.table(counting, ("mean", "every seed", "doubling")))
claim = "sigmoid ahead of the best from the share", above(0), "sigmoid", bound
print(fair.judge(counting, claim))

# %% [markdown]
# In this task, at this size, the softmax names what the share allows and nothing more.
# All arms have the rate {{ f"{counting['chosen']['softmax']:g}" }}. The sigmoids pass
# the bound in all runs, with $b = -\ln n$ too: only scores near 0 have the weights
# $1 / n$ of an average, and a large score has the weight 1. A sink can count, too: if
# $c$ keys have the score $s$, and the others far lower ones, its weights sum to
# $c / (c + e^{b - s})$, which differs for each $c$. But not all its runs learned this,
# as the table shows.
#
# ## What does each cost?
#
# | | sum to 1 | exact zeros | needs of a row | in tiles |
# |---|---|---|---|---|
# | softmax | yes | no | a maximum and a sum | yes |
# | sink | to less | no | the same, and $b$ | yes, through $`\mathrm{lse}`$ |
# | sparsemax, entmax | yes | yes | a sort of the row, or a search for $\tau$ | not as it is: $\tau$ needs all scores |
# | sigmoid | no | no | nothing | yes, and simpler |
#
# A sigmoid's output grows with $n$ if there are many small weights. A sink is one more
# term of the sum in $`\mathrm{lse}`$: if the keys are divided into parts, it is added
# once, when the parts are merged (E.18).
#
# ## What would break it?
#
# - A sink with $\max_j s_j$ subtracted from the scores, but not from $b$: then the sink
#   has another score in each row. And where $b$ is much larger than all scores,
#   $\exp(b - \max_j s_j)$ overflows, so what is subtracted must be at least $b$, too.
# - Cross-entropy of weights that are exactly 0: $\ln 0$ is infinite.
# - Sparsemax that begins with large scores: one key has all the weight from the start,
#   and the others get no gradient. Small scores leave all keys in the support.
# - A sigmoid with negative scores in place of a mask: $\sigma(s + b)$ is small for
#   them, but not 0, and a learned $b$ can make it larger. A masked key must have the
#   weight 0.
#
# **To take away: the weights of a softmax sum to 1. So they show neither that no key
# fits nor how many do, and a fixed lead loses its weight as keys are added. A sink
# shows the first, a sigmoid both. With exact zeros a fixed lead is enough among any
# number of keys.**
#
# Exercises: E.17 (sparsemax and its Jacobian), E.18 (the sink through lse) and, with
# the first section below, E.19 (REINFORCE and its baseline):
# `python -m lessons start E.17`. Other tasks and arms:
# `python -m lessons experiment 15`.
#
# ## Further: choosing one key
#
# If one weight is 1 and all others are 0, attention is a choice. Draw key $j$ with the
# probability $p_j$, and let $`\ell_j`$ be the loss with it. The draw has no derivative,
# but its expectation $`J = \sum_j p_j \ell_j`$ has. Its gradient needs the losses of
# all keys, and a model that chooses one key computes one loss. *REINFORCE* (Williams
# 1992; Xu and others 2015) estimates it from one draw $j$, by
# $`(\ell_j - \beta)(\mathrm{onehot}_j - p)`$. On average, $\beta$ adds
# $`\beta \sum_j p_j (\mathrm{onehot}_j - p) = 0`$. So with every *baseline* $\beta$
# that does not depend on the draw, the mean of the estimate is right. A baseline that
# depends on it, such as the loss of the drawn key itself, breaks this: then the
# estimate is always 0. The variance differs with $\beta$. Draw many times, and measure
# it with three baselines, of which the last one has the smallest variance there is
# (E.19 derives it):

# %%
e, losses = rng.normal(size=8), rng.uniform(1, 4, 8)
p = np.exp(e) / np.exp(e).sum()
J, drawn = p @ losses, rng.choice(8, 20_000, p=p)


def variance(beta):
    """Return the variance of x = (l_j - beta) (onehot_j - p), over the draws j."""
    x = (losses[drawn] - beta)[:, None] * (np.eye(8)[drawn] - p)
    return x.var(0).sum()


best = attention.best_baseline(p, losses).item()
for name, beta in ("none", 0.0), ("mean loss", J), ("best", best):
    print(f"baseline {name:9s} {beta:.3f}   variance {variance(beta):.3f}")

# %% [figure]
fig, (whole, near) = figure("How noisy is REINFORCE?", columns=2, size=(7.2, 2.9))
for ax, width in (whole, 2.2), (near, 0.15):
    x = np.linspace(best - width, best + width, 41)
    ax.plot(x, [variance(beta) for beta in x], color=BLUE)
    ax.set(xlabel="baseline")
for ax, words, beta, aside, up in (
    (whole, "none", 0.0, 0.2, 0), (whole, "best, and mean loss", best, -1, 1.5),
    (near, "best", best, -0.01, 0.002), (near, "mean loss", J, 0.01, -0.0006),
):  # fmt: skip
    ax.plot(beta, variance(beta), "o", color=ORANGE)
    ax.text(beta + aside, variance(beta) + up, words)
whole.set(ylabel="variance of the estimate", ylim=(0, None))
near.set(title="near the lowest point")
alt = f"""The variance is a parabola in the baseline. Without a baseline it is
{variance(0):.2f}, with the mean loss {variance(J):.3f}, at its lowest point
{variance(best):.3f}."""
show(fig, "baseline", alt)

# %% [markdown]
# *Gumbel* (Jang and others 2017; Maddison and others 2017) draws in another way: the
# argmax of $s + G$, with noise $G_j = -\ln(-\ln U_j)$ and $U_j$ uniform in 0 to 1, is a
# draw from the softmax. The forward uses that choice. The backward uses the gradient of
# $`\mathrm{softmax}((s + G) / t)`$ with a temperature $t$, which has little noise, but
# is the gradient of another function.
#
# ## Further: three more ways to change the weights
#
# **Stick-breaking** (Tan and others 2024). Begin at the last key: it takes the part
# $\sigma(s)$ of a stick of length 1. The key before it takes its own $\sigma(s)$ of
# what is left, and so on. So near keys come first without any positions, and the part
# that is left after the first key goes to no key, as with a sink.

# %%
s = mg.Tensor(np.array([[3.0, -3.0, 3.0, -3.0]]))  # the first and third key fit
print(attention.stick_breaking(s, np.ones((1, 4), bool)).data[0].round(3))

# %% [markdown]
# **A forgetting gate** (Lin and others 2025). ALiBi of
# [lesson 11](../11_positions/README.md) subtracts a slope times the distance. Here each
# token has a gate $\sigma(f_t)$, and the score of key $j$ gets the sum of
# $\ln \sigma(f_t)$ over the tokens after $j$, up to the query. Equal gates are ALiBi; a
# gate of 0 hides all that is before it.

# %%
f = mg.Tensor(np.array([9.0, 9.0, -9.0, 9.0, 9.0]))  # the third token resets
bias = attention.forgetting_bias(f, 1).data  # (1, S), of the last query
print("weights of the last query, if all scores are equal:")
print(masked_softmax(mg.Tensor(bias)).data[0].round(3))

# %% [markdown]
# **QK-norm** (Henry and others 2020). Training may make queries and keys so large that
# the softmax is saturated: one weight is near 1, and all gradients are near 0. If both
# are divided by their lengths, their product is $\cos(q, k)$. Times a learned factor,
# it is a score that is never larger than this factor.

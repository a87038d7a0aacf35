"""15  Weights of another kind  ●●●○  40 min  importance ★  needs 05, 09, 14

What if no key fits, or many do?
"""

# %% [markdown]
# You look for a name in a list, and it is not there. Attention has no weight for that.
# Its weights sum to 1, so it has to return some average of the values, whether a key fits
# or not. What else can make weights of scores, and what does each cost?
#
# [Lesson 14](../14_checks_the_book/README.md) is needed for the measurements only.

# %%
import numpy as np

import attention
import minigrad as mg
from attention import attend, entmax, masked_softmax, sparsemax
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import above, below, between
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, PURPLE, RED, figure, run_curves, show,
)

rng = np.random.default_rng(15)

# %% [markdown]
# ## What does a softmax return if no key fits?
#
# Three keys, three values. The first query fits the second key. The second query fits no
# key, and all its scores are low. What do you expect of the second row?

# %%
scores = np.array([[0.0, 6.0, 0.0], [-4.0, -4.0, -4.0]])  # (L = 2, S = 3)
values = np.array([[1.0], [2.0], [6.0]])  # (S, Ev = 1)
p = masked_softmax(mg.Tensor(scores)).data
print("weights", p.round(3).tolist())
print("outputs", (p @ values)[:, 0].round(3).tolist())

# %% [markdown]
# Equal weights, and the mean of all values. A softmax depends on differences of scores
# only: three scores of $-4$ give the same weights as three scores of $+4$. So the output
# cannot show that all scores are low.
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
# $b$ for each head (OpenAI 2025, gpt-oss). Models without one make their own: they spend
# the weight on the first token, whatever it is (Xiao and others 2024). Here is $b = 0$:

# %%
everything = np.ones((2, 3), bool)  # all keys are allowed
p = attention.softmax_plus_one(mg.Tensor(scores), everything).data
print("weights", p.round(3).tolist(), "  sums", p.sum(1).round(3).tolist())
print("outputs", (p @ values)[:, 0].round(3).tolist())

# %% [markdown]
# The second output is near 0: nothing was found. What does this cost? The sink changes
# the denominator of a row alone. So it multiplies the output of ordinary attention by one
# number for each query, which is near 1 if a score is far above $b$, and near 0 if all
# are far below. It can be computed from $b$ and
# $`\mathrm{lse}_i = \ln \sum_l \exp(s_{il})`$, which the tiled attention of
# [lesson 12](../12_exact_and_cheap/README.md) has anyway. Exercise E.18 derives it, and
# the gradients of the scores and of $b$. Does the library's form through
# $`\mathrm{lse}`$ agree with the weights, for $b = 1$?

# %%
q, k, v = (mg.Tensor(rng.normal(size=(5, 4))) for _ in range(3))  # (L = S = 5, E = 4)
sink = attention.Sink(b=mg.Tensor(np.array(1.0)))
dense, _ = attend(q, k, v, normalize=sink)
o, _ = attend(q, k, v)
lse = np.log(np.exp((q @ k.swapaxes(0, 1)).data / 2).sum(1))  # 2 is sqrt(E)
print(np.allclose(dense.data, sink.rescale(o, mg.Tensor(lse)).data))

# %% [markdown]
# ## Does it help where nothing fits?
#
# A model sees 8 keys, random vectors of length $\sqrt d$ with $d = 32$, and 8 values of
# 8 numbers. In half of the cases, the query is one of the keys, and the wanted output is
# its value. In the other half, the query is another random vector, and the wanted output
# is 0. The model learns a matrix $W$ in $`s_{ij} = q_i^\top W k_j / \sqrt d`$, and the
# parameters of its normaliser. The *explained share* is 1 minus its squared error
# divided by that of a model whose output is always 0.
#
# Before we look: what can a softmax do at best? If no key fits, its output is an average
# of independent values. The weights sum to 1, so $`\sum_j p_j^2 \ge 1/8`$, and the mean
# square of the output is at least an eighth of that of a value. As 0 is wanted, this is
# the error. So even a softmax that finds each key without error has an eighth of the
# error of the output 0. (In the tables, *rate* is the learning rate that validation
# chose, and *numbers* the number of parameters.)

# %%
kept = record("weights")
print(how_made(kept))
nothing, keys = kept["nothing"], 8
bound = 1 - (1 / keys) * 0.5 / 0.5  # found without error, an eighth where nothing fits
shrunk = 1 - (1 / keys) / (1 + 1 / keys)  # with the best constant factor, 8/9
print(f"a softmax explains at most {bound:.3f}; always 0 explains 0")
print(fair.table(nothing))

# %% [markdown]
# Two arms need a word. *Softmax, gate* multiplies the output by $\sigma(W_g q_i)$, which
# is computed from the query alone. Whether a key fits does not depend on the query
# alone, so all that this gate can do is to make every output smaller, which raises the
# bound to {{ f"{shrunk:.3f}" }}. And *softmax + 1* has $b = 0$, where the sink learns $b$. Where no key
# fits, scores are random numbers around 0. The sum of 8 of their exponentials is not
# small beside $\exp(0) = 1$, so the weights sum to nearly 1. Here are the errors of both
# halves, and the sums of the weights:

# %%
HALVES = {
    "error, found": "found", "error, none": "none",
    "weights, found": "sum found", "weights, none": "sum none",
}  # fmt: skip
columns = [(head, ("at", "8", name)) for head, name in HALVES.items()]
print(fair.table(nothing, columns))

# %%
print(fair.judge(
    nothing,
    ("sink ahead of softmax", above(0), "sink", "softmax"),
    ("sink ahead of softmax + 1", above(0), "sink", "softmax + 1"),
    ("gate as softmax, within .05", between(-0.05, 0.05), "softmax, gate", "softmax"),
    ("sigmoid as sink, within .02", between(-0.02, 0.02), "sigmoid", "sink"),
    ("sparsemax behind softmax", below(0), "sparsemax", "softmax"),
))  # fmt: skip

# %% [figure]
LOOKS = {
    "softmax": (BLUE, "-"), "softmax, gate": (BLUE, "--"), "entmax": (PURPLE, "-"),
    "sparsemax": (GREEN, "-"), "softmax + 1": (ORANGE, "--"), "sink": (ORANGE, "-"),
    "sigmoid": (RED, "-"), "sigmoid, -ln n": (RED, "--"), "softmax, ln n": (BLUE, ":"),
}  # fmt: skip
title = f"Which weights find nothing? ({len(nothing['seeds'])} runs each)"
fig, ax = figure(title, size=(7.2, 3.2))
run_curves(ax, nothing, LOOKS, 2)
ax.axhline(bound, color=GREY, ls=":", lw=1, label="best of a softmax")
ax.set(xlabel="training step, before the rate falls", ylabel="explained share")
ax.set(ylim=(0, 1.03))
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
means = "; ".join(
    f"{arm} {fair.of_arm(nothing, arm).value:.2f}" for arm in nothing["arms"]
)
alt = f"""Explained share of the wanted output against steps, a line for each run. At the
end, means: {means}. The dotted line is the most that weights with the sum 1 can
explain, {bound:.3f}."""
show(fig, "nothing", alt)

# %% [markdown]
# In this task, at this size, the learned sink and the sigmoid (which follows below) pass
# the dotted line. An arm whose weights sum to 1 can pass it only by a gate on the output,
# and then by {{ f"{shrunk - bound:.3f}" }} at most. Softmax plus one could, if its scores
# became far lower than $b = 0$ where no key fits. In these steps they have not. (All of
# this is about an answer that is the context itself. A network that reads the context can
# learn to distinguish a mixture of values from one value, as
# [lesson 20](../20_tournament/README.md) finds.)
#
# ## Many keys: why does a softmax need larger scores in longer texts?
#
# Now a key always fits, and the others are many. Let the right key lead by $\delta$, and
# let all others have equal scores. Its weight among $n$ keys is
#
# ```math
# p = \frac{e^\delta}{e^\delta + n - 1}
# ```
#
# With any fixed $\delta$ it goes to 0 as $n$ grows: each other key has a small weight,
# and all together have a large one. To keep it, $\delta$ must grow like $\ln n$. What if
# small weights were exactly 0? [Sparsemax](../../GLOSSARY.md#sparsemax) (Martins and
# Astudillo 2016) takes the weights that are nearest to the scores:
#
# ```math
# p = \operatorname{argmin}_{p \ge 0,\; \sum_j p_j = 1} \; \sum_j (p_j - s_j)^2
# \qquad \Rightarrow \qquad p_j = \max(s_j - \tau, 0)
# ```
#
# The threshold $\tau$ is the one for which the weights sum to 1. With the scores
# $-2, 0, 1/2$ the first key drops out, and $\tau = (0 + 1/2 - 1) / 2 = -1/4$. A family
# lies between the two, *entmax* (Peters and others 2019) with a number $\alpha$:
# $\alpha = 1$ is the softmax, $\alpha = 2$ sparsemax.
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
# Now the weight of a key that leads all others by a number, among 4 and among 4096 keys:

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
# With sparsemax a lead of 1 is enough for all the weight, whatever $n$ is. With entmax a
# lead of $1 / (\alpha - 1)$ is enough.
#
# **What does training see of a key without a weight?** The keys with $p_j > 0$ are the
# *support*. Take the three scores again, and a loss that wants a larger weight of the
# first key:

# %%
for alpha in (1.001, 1.5, 2):
    s = mg.Tensor(three.data, requires_grad=True)
    p = entmax(s, allowed, alpha)
    (p * np.array([-1.0, 1.0, 2.0])).sum().backward()
    print(f"alpha {alpha:5}   p {p.data[0].round(3)}   dL/ds {s.grad[0].round(3) + 0.0}")

# %% [markdown]
# The score of a key outside the support has no gradient, so it does not grow by itself:
# begin with small scores, which leave all keys in the support. Why, and what gradient the
# keys of the support have, is exercise E.17.

# %% [markdown]
# **Measured.** A model learns to find one of 16 keys with $d = 64$, and is tested with
# up to 4096. What do you expect of a softmax that has learned 16 keys nearly without
# error? To be fair to it, we add two things. A softmax becomes sharper as long as it is
# trained, so each model takes all {{ kept["many"]["budget"] }} steps, and we test 1024
# keys along the way. And there is a remedy without another normaliser: multiply the
# scores of a trained softmax by $\ln n / \ln 16$, so that a lead grows as the formula
# above demands (Nakanishi 2025, *Scalable-Softmax*, does this with a learned factor).

# %%
many = kept["many"]
SIZES = ("16", "64", "256", "1024", "4096")
far = {}  # row: (seeds, sizes) of explained shares
for run in many["runs"]:
    for row, key in (run["arm"], "at"), ("softmax, ln n", "sharpened"):
        if key in run:
            by_size = [run[key][n]["explained"] for n in SIZES]
            far.setdefault(row, []).append(by_size)
far = {row: np.array(x) for row, x in far.items()}
print("explained share   keys" + "".join(f"{n:>8s}" for n in SIZES))
for row, x in far.items():
    print(f"{row:22s}" + "".join(f"{y:8.3f}" for y in x.mean(0)))

# %% [figure]
fig, axes = figure("What becomes of many keys? d = 64", columns=2, size=(8.4, 3.2))
for row in far:
    colour, style = LOOKS[row]
    axes[1].plot([], [], style, color=colour, label=row)
    for x in far[row]:
        axes[0].plot([int(n) for n in SIZES], x, style, color=colour, lw=1)
for arm in many["arms"]:
    for run in (run for run in many["runs"] if run["arm"] == arm):
        along = run["watched"]["far"]
        steps = many["every"] * np.arange(len(along))
        axes[1].plot(steps[::2], along[::2], color=LOOKS[arm][0], lw=0.9)
axes[0].set(xscale="log", xlabel="keys in the test (16 in training)")
axes[0].set(ylabel="explained share", ylim=(-0.05, 1.05))
axes[1].set(xlabel="training step", title="1024 keys", ylim=(-0.05, 1.05))
axes[0].set(title="after training")
axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
alt = f"""Left: explained share against the number of keys, a line for each run. At 4096
keys, means: {"; ".join(f"{row} {x[:, -1].mean():.2f}" for row, x in far.items())}.
Right: that of 1024 keys against training steps."""
show(fig, "many", alt)

# %%
at_4096 = "at", SIZES[-1], "explained"
print(fair.judge(
    many,
    ("sparsemax ahead of softmax", above(0), "sparsemax", "softmax", at_4096),
    ("entmax ahead of softmax", above(0), "entmax", "softmax", at_4096),
    ("sigmoid behind softmax", below(0), "sigmoid", "softmax", at_4096),
))  # fmt: skip
print("at 4096 keys, of the runs that chose the rates:")
for arm in many["arms"]:
    tried = (run for run in many["choices"] if run["arm"] == arm)
    shares = (f"{r['rate']:g}: {r['at'][SIZES[-1]]['explained']:.2f} " for r in tried)
    print(f"  {arm:10s}", *shares)

# %% [markdown]
# Read the last table before you write "a softmax cannot". How much it loses with many
# keys depends on the rate and on the number of steps, because these decide how large its
# scores become. In the right part of the figure, some of its runs fall and rise again.
# Sparsemax depends less on both. (Each rate is chosen by the share with 16 keys, since a
# user has no other.) The factor $\ln n / \ln 16$ helps {{ f"{(far['softmax, ln n'] > far['softmax'])[:, -1].sum()} of {len(far['softmax'])}" }} runs of the softmax at 4096
# keys. It makes the largest weight larger, so it does not help where a wrong key has the
# largest score.
#
# ## How many? A weight for each key alone
#
# The third remedy drops the sum. *Sigmoid attention* (Ramapuram and others 2024) gives
# each key a weight that depends on its own score:
#
# ```math
# p_{ij} = \sigma(s_{ij} + b), \qquad
# \frac{\partial L}{\partial s_{ij}} = p_{ij} (1 - p_{ij})\, g_{ij}
# ```
#
# The keys do not compete, so the output can be 0, and it can be twice a value if two
# keys fit. An average cannot: with two equal keys in the place of one, a softmax halves
# the weight of each.

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
# The usual start is $b = -\ln n$, with which the weights of small scores sum to about 1.
# Is the output then an average again, which holds shares and no numbers? We measure
# $b = 0$ and $b = -\ln n$.
#
# **Measured.** A row has 4 to 16 symbols out of six. How often does a given symbol occur?
# The model has one attention, and a small network that maps its output to a number. Three
# answers for comparison: the most frequent number for the length of the row; the most
# probable number for the *share* of the symbol in the row; and that for the shares of
# *all* six symbols. An average can contain all of them. How much do you expect the other
# five to say?

# %%
from fractions import Fraction
from math import comb, factorial, prod

counting = kept["counting"]
lengths = range(4, 17)
chances = {
    (n, c): comb(n, c) * (1 / 6) ** c * (5 / 6) ** (n - c) / len(lengths)
    for n in lengths for c in range(n + 1)
}  # fmt: skip
by_length = sum(max(p for (m, _), p in chances.items() if m == n) for n in lengths)
shares = {}  # share: {number: probability}
for (n, c), p in chances.items():
    numbers = shares.setdefault(Fraction(c, n), {})
    numbers[c] = numbers.get(c, 0) + p
by_share = sum(max(numbers.values()) for numbers in shares.values())


# %%
def rows(n, k, most):
    """Yield the ways to write n as a falling sum of k numbers, each at most ``most``."""
    if k == 1 and n <= most:
        yield (n,)
    for first in range(min(n, most), -1, -1) if k > 1 else ():
        yield from ((first, *rest) for rest in rows(n - first, k - 1, first))


# %%
chance_of = {}  # the six shares: [probability of each length that has them]
for n in lengths:
    for row in rows(n, 6, n):
        equal = prod(factorial(row.count(c)) for c in {*row})
        texts = factorial(6) / equal * factorial(n) / prod(map(factorial, row))
        p = chance_of.setdefault(tuple(Fraction(c, n) for c in row), [])
        p.append(texts / 6**n / len(lengths))

# %%
by_shares = 0.0  # a symbol that does not occur has the number 0 at every length
for row, p in chance_of.items():
    absent = row.count(0) / 6
    by_shares += absent * sum(p) + (1 - absent) * max(p)
print(f"from the length alone {by_length:.3f}, from the share alone {by_share:.3f},")
print(f"from the shares of all six symbols {by_shares:.3f}")
print(fair.table(counting))

# %%
print(fair.judge(
    counting,
    ("sigmoid ahead of softmax", above(0), "sigmoid", "softmax"),
    ("sink ahead of softmax", above(0), "sink", "softmax"),
    ("-ln n ahead of softmax", above(0), "sigmoid, -ln n", "softmax"),
    ("-ln n behind sigmoid", below(0), "sigmoid, -ln n", "sigmoid"),
))  # fmt: skip

# %% [figure]
title = f"Who can count? ({len(counting['seeds'])} runs each)"
fig, ax = figure(title, size=(7.2, 3.2))
run_curves(ax, counting, LOOKS, 2)
ax.axhline(by_share, color=GREY, ls="-", lw=1, label="from the share alone")
ax.axhline(by_length, color=GREY, ls=":", lw=1, label="from the length alone")
ax.set(xlabel="training step, before the rate falls", ylabel="right numbers")
ax.set(ylim=(0, 1.03))
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
means = "; ".join(
    f"{arm} {fair.of_arm(counting, arm).value:.2f}" for arm in counting["arms"]
)
alt = f"""Share of right numbers against steps, a line for each run. Means at the end:
{means}. From the share alone {by_share:.2f}, from the length alone {by_length:.2f}."""
show(fig, "counting", alt)

# %% [markdown]
# The shares of all six symbols say nearly everything, because only few lengths agree with
# them. So weights that sum to 1 do not keep a model from counting; this one, trained so,
# has {{ f"{fair.of_arm(counting, 'softmax').value:.3f}" }} of the numbers right, less than
# the share of the symbol alone allows. The softmax of
# [lesson 20](../20_tournament/README.md), with positions and a larger network, has
# {{ f"{fair.of_arm(record('tournament')['counting'], 'softmax').value:.3f}" }} right in a
# counting task of its own.
#
# A sink can count, too, in principle: with $c$ keys of the score $s$, and the others far
# below, the weights sum to $c / (c + e^{b - s})$, which differs for each $c$. The table
# says how far a model gets with it. And $\sigma(s - \ln n)$ gives nearly the weights
# $1 / n$ of an average only while the scores are small: a large score has the weight 1.
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
# A sigmoid's output grows with $n$ if there are many small weights. Entmax gives no
# gradient to the keys that it has dropped. A sink is one more term of the sum in
# $`\mathrm{lse}`$: if the keys are divided into parts, it is added once, when the parts
# are merged (E.18).
#
# ## Further: choosing one key
#
# If one weight is 1 and all others are 0, attention is a choice. Draw key $j$ with the
# probability $p_j$, and let $l_j$ be the loss with it. The draw has no derivative, but
# its expectation has:
#
# ```math
# J = \sum_j p_j l_j
# ```
#
# Its gradient needs the losses of all keys, and a model that chooses one key computes one
# loss. *REINFORCE* (Williams 1992; Xu and others 2015) estimates it from one draw $j$, by
# $`(l_j - b)(\mathrm{onehot}_j - p)`$. On average, $b$ adds
# $`b \sum_j p_j (\mathrm{onehot}_j - p) = 0`$. So with every *baseline* $b$ that does not
# depend on the draw, the mean of the estimate is right. Its variance differs. Draw many
# times, and measure it with three baselines, of which the last one has the smallest
# variance there is (E.19 derives it):

# %%
e, losses = rng.normal(size=8), rng.uniform(1, 4, 8)
p = np.exp(e) / np.exp(e).sum()
J, drawn = p @ losses, rng.choice(8, 20_000, p=p)


def variance(b):
    """Return the variance of x = (l_j - b) (onehot_j - p), over the draws j."""
    x = (losses[drawn] - b)[:, None] * (np.eye(8)[drawn] - p)
    return x.var(0).sum()


best = attention.best_baseline(p, losses)
for name, b in ("none", 0.0), ("mean loss", J), ("best", best):
    print(f"baseline {name:9s} {b:.3f}   variance {variance(b):.3f}")

# %% [figure]
fig, ax = figure("How noisy is REINFORCE with a baseline b?", size=(6.4, 2.8))
b = np.linspace(0, 5, 41)
ax.plot(b, [variance(x) for x in b], color=BLUE, label="variance of the estimate")
ax.axvline(J, color=ORANGE, lw=1, label="mean loss")
ax.axvline(best, color=GREEN, lw=1, ls="--", label="best")
ax.set(xlabel="baseline b", ylabel="variance", ylim=(0, None))
ax.legend()
alt = f"""The variance is a parabola in b. Without a baseline it is {variance(0):.2f},
with the mean loss {variance(J):.2f}, at its lowest point {variance(best):.2f}."""
show(fig, "baseline", alt)

# %% [markdown]
# *Gumbel* (Jang and others 2017; Maddison and others 2017) draws in another way: the
# argmax of $s + G$, with noise $G_j = -\ln(-\ln U_j)$ and $U_j$ uniform in 0 to 1, is a
# draw from the softmax. The forward uses that choice. The backward uses the gradient of
# $`\mathrm{softmax}((s + G) / t)`$ with a temperature $t$, which has little noise, but
# is the gradient of another function. **Measured**: a model has to choose one of 8 keys,
# and its loss is that of the chosen key's label alone. The arm "soft" averages all labels
# instead.

# %%
choosing = kept["choosing"]
print("steps until the right key has a probability of .9, each seed")
for arm in choosing["arms"]:
    reached = []
    for run in (run for run in choosing["runs"] if run["arm"] == arm):
        good = np.flatnonzero(np.array(run["curve"]) >= 0.9)
        reached.append(str(choosing["every"] * (good[0] + 1)) if len(good) else "never")
    rate, last = choosing["chosen"][arm], fair.of_arm(choosing, arm).value
    print(f"{arm:17s} {rate:5g}  {' '.join(reached):24s}  at the end {last:.3f}")

# %% [markdown]
# ## Further: three more ways to change the weights
#
# **Stick-breaking** (Tan and others 2024). Begin at the last key: it takes the part
# $\sigma(s)$ of a stick of length 1. The key before it takes its own $\sigma(s)$ of what
# is left, and so on. So near keys come first without any positions, and the part that is
# left after the first key goes to no key, as with a sink.

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
b = attention.forgetting_bias(f, 1).data  # (1, S), of the last query
print("weights of the last query, if all scores are equal:")
print(masked_softmax(mg.Tensor(b)).data[0].round(3))

# %% [markdown]
# **QK-norm** (Henry and others 2020). Training may make queries and keys so large that
# the softmax is saturated: one weight is near 1, and all gradients are near 0. If both
# are divided by their lengths, the score is $\tau \cos(q, k)$, at most the learned
# $\tau$, and a weight of $n$ keys is at most $`1 / (1 + (n - 1) e^{-2\tau})`$.
#
# **A gate on the output** (Qiu and others 2025), $o_i \cdot \sigma(W_g q_i)$, was an arm
# of the first measurement. It can make the output of a head 0 for some queries, but it
# does not depend on whether a key fits.
#
# ## What would break it?
#
# - A sink with $m = \max_j s_j$ subtracted from the scores, but not from $b$: then the
#   sink has another score in each row. And if $m$ is not at least $b$, $\exp(b - m)$ may
#   overflow.
# - Cross-entropy of weights that are exactly 0: $\ln 0$ is infinite.
# - Sparsemax that begins with large scores: one key has all the weight from the start,
#   and the others get no gradient.
# - A baseline that depends on the draw, such as the loss of the drawn key itself: then
#   the estimate is always 0.
# - A sigmoid with negative scores in place of a mask: $\sigma(s + b)$ is small for them,
#   but not 0, and a learned $b$ can make it larger. A masked key has the weight 0.
#
# **To take away: a softmax compares keys, so its output holds shares: that no key fits,
# and how many do, has to be inferred from a mixture; and its largest weight falls as keys
# are added. A sink shows the first, sigmoids show both, and exact zeros keep the weight of
# the best key.**
#
# Exercises: E.17 (sparsemax and its Jacobian), E.18 (the sink through lse) and E.19
# (REINFORCE and its baseline): `python -m lessons start E.17`. Other tasks and arms:
# `python -m lessons experiment 15`.

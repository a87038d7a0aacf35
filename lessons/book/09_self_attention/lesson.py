"""09  Self-attention  ●●○○  45 min  importance ★★★  needs 03, 05

How does a word learn from the other words of its own sentence?
"""

# %% [markdown]
# "The cat sleeps; it purrs." Who purrs? You look back from "it" to "cat", and then you
# know. A model begins with one vector for each word of its vocabulary. The vector of
# the word "it" is the same in every sentence, so it cannot say who is meant. How can
# the model find out?
#
# **Why it matters:** the one formula of this page is the part of GPT, BERT and every
# other [Transformer](../../GLOSSARY.md#transformer) in which words look at each other.
#
# In the lessons before a decoder looked at a source. Here a sentence looks at itself,
# and every word receives a new vector that knows its neighbours. This is
# [self-attention](../../GLOSSARY.md#self-attention).

# %% [folded]
import numpy as np

import minigrad as mg
from attention import additive, attend, dot, general
from attention import scaled_dot as scaled
from attention.costs import cost_of
from attention.metrics.alignment import attention_entropy
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument import verdict as rule
from lessons.instrument.patterns import self_attention_excess, self_attention_pattern
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, PURPLE, arrow, box, diagram, figure, show, weight_label,
)  # fmt: skip
from minigrad import nn

rng = np.random.default_rng(9)

# %% [markdown]
# ## What does a word look for, contain, and hand over?
#
# Here are five word vectors, invented so that we can read them. The four numbers say
# "noun", "verb", "pronoun" and "about a cat". The vector of "it" says that it is a
# pronoun, and nothing about a cat:

# %%
words = ("the", "cat", "sleeps", "it", "purrs")
X = np.array([  # (T = 5, d = 4), one row for each word
    [0.1, 0, 0, 0], [1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0.3]
])  # fmt: skip

# %% [markdown]
# In attention a word plays three parts, and each part has a vector of its own:
#
# - the [query](../../GLOSSARY.md#query): **what am I looking for?** Here a pronoun or a
#   verb looks for a noun, and a noun for a verb;
# - the [key](../../GLOSSARY.md#key): **what do I contain?** "cat" answers: a noun;
# - the [value](../../GLOSSARY.md#value): **what do I hand over** to a word that has
#   found me? "cat" hands over: this is about a cat.
#
# So far a decoder's state was the query, and the encoder's state was key and value at
# once. Now one word vector $x_i$ has to give all three. Three matrices make them. Each
# product is called a [projection](../../GLOSSARY.md#projection). With the words as the
# rows of $X$, one product serves all words:
#
# ```math
# Q = X W_Q, \qquad K = X W_K, \qquad V = X W_V
# ```
#
# A model learns the three matrices. We choose them by hand. Their four rows belong to
# the four numbers of a word: noun, verb, pronoun, about a cat. The two columns of $W_Q$
# and $W_K$ mean "noun" and "verb", those of $W_V$ "about a cat" and "an action". So the
# third row of $W_Q$ says that a pronoun looks for a noun, with strength 4:

# %%
W_Q = np.array([[0.0, 3], [3, 0], [4, 0], [0, 0]])  # (d, d_k): what each kind wants
W_K = np.array([[1.0, 0], [0, 1], [0, 0], [0, 0]])  # (d, d_k): what each kind is
W_V = np.array([[0.0, 0], [0, 1], [0, 0], [1, 0]])  # (d, d_v)
Q, K, V = X @ W_Q, X @ W_K, X @ W_V  # (T, 2) each
for word, q, k, v in zip(words, Q, K, V):
    print(f"{word:7s} looks for {q}   contains {k}   hands over {v}")

# %% [markdown]
# The fourth row is "it". It looks for a noun, contains nothing that others look for,
# and has nothing to hand over. Compare its query with every key, by a scaled dot
# product ([lesson 05](../05_scaling/README.md)); take the softmax; average the values:

# %%
e = Q @ K.T / 2**0.5  # (T, T): row i has the scores of query i
alpha = np.exp(e) / np.exp(e).sum(1, keepdims=True)  # (T, T), each row sums to 1
Z = alpha @ V  # (T, d_v)
print(" " * 7, *(f"{word:>7s}" for word in words), "    output z")
for word, row, z in zip(words, alpha, Z):
    print(f"{word:7s}", *(f"{x:7.2f}" for x in row), "   ", z.round(2))

# %% [figure]
fig, ax = diagram((7.2, 4.8), (-3.4, 7.75), (-3.4, 3.35))
fig.suptitle("How does \"it\" find the cat?")
centre = 1.75 * 3  # the column of "it"
for j, (word, weight) in enumerate(zip(words, alpha[3])):
    at = 1.75 * j
    box(ax, (at, 0), word, width=1.05)
    box(ax, (at, 1.35), f"$v_{j + 1}$", ORANGE)
    box(ax, (at, -1.35), f"$k_{j + 1}$", BLUE)
    arrow(ax, (at, 0.25), (at, 1.1))
    arrow(ax, (at, -0.25), (at, -1.1))
    arrow(ax, (at, 1.6), (centre + 0.1 * (j - 3), 2.75), ORANGE, weight)
    weight_label(ax, at, 1.68, weight, 1 if j > 3 else -1)
    arrow(ax, (centre, -2.75), (at, -1.6), GREEN, weight=0.1)
box(ax, (centre, 3), "$z_4$", PURPLE)
box(ax, (centre, -3), "$q_4$", GREEN)
right = centre + 0.78
ax.plot([centre + 0.525, right, right], [0, 0, -3], color=GREY, lw=1.5, zorder=0)
arrow(ax, (right, -3), (centre + 0.4, -3))
for y, text in (
    (3, "output"), (1.35, "values: what\ndo I hand over?"), (0, "words"),
    (-1.35, "keys: what\ndo I contain?"),
    (-3, 'query of "it":\nwhat am I looking for?'),
):  # fmt: skip
    ax.text(-0.85, y, text, ha="right", va="center", fontsize=10)
ax.text(centre + 0.55, 3, "average of the values,\nby weight", va="center")
ax.text(2.15, -2.42, "scores $q_4 \\cdot k_j$", color=GREEN, ha="right", va="center")
ax.text(2.5, 2.35, "weights", color=ORANGE, ha="right", va="center")
alt = f"""Five words: the, cat, sleeps, it, purrs. Each gives a key below and a value
above. The word "it" also gives a query; thin arrows lead from it to all five keys.
Arrows from the values to the output z4 are as thick as the weights, from left to right
{", ".join(f"{x:.2f}" for x in alpha[3])}."""
show(fig, "query-key-value", alt)

# %% [markdown]
# The new vector of "it" says "about a cat" with {{ f"{Z[3, 0]:.2f}" }}. Before, it said
# nothing of the kind. All five words did this at once, because no word waits for
# another.
#
# Scores, softmax and average in one line are the most used formula of this course,
# *scaled dot-product attention* (Vaswani and others 2017):
#
# ```math
# \mathrm{Attention}(Q, K, V) =
# \mathrm{softmax}\Big(\frac{Q K^\top}{\sqrt{d_k}}\Big)\, V
# ```
#
# For one word it reads
#
# ```math
# e_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_k}}, \qquad
# \alpha_{ij} = \frac{\exp e_{ij}}{\sum_l \exp e_{il}}, \qquad
# z_i = \sum_{j=1}^{T} \alpha_{ij}\, v_j
# ```
#
# | letter | shape | meaning |
# |---|---|---|
# | $X$ | $T \times d$ | the words of the sequence, one row $x_i$ for each of $T$ |
# | $W_Q$, $W_K$ | $d \times d_k$ | learned; they make queries and keys, which must have one length |
# | $W_V$ | $d \times d_v$ | learned; it makes values, of any length |
# | $Q$, $K$, $V$ | $T \times d_k$, $T \times d_k$, $T \times d_v$ | rows $q_i$, $k_i$, $v_i$: query, key and value of word $i$ |
# | $`e_{ij}`$, $`\alpha_{ij}`$ | numbers | score and weight of word $j$ for the query of word $i$ |
# | $z_i$ | $d_v$ | the output: the new vector of word $i$ |
#
# The softmax runs along each row: every *query* spreads a weight of one over the keys.
# The library's `attend` has this score by default:

# %%
out, weights = attend(Q, K, V)
print(np.allclose(weights.data, alpha), np.allclose(out.data, Z))

# %% [markdown]
# ## Why not one vector for all three?
#
# Leave the matrices out. Then $q_i = k_i = v_i = x_i$, and two things go wrong. The
# scores become symmetric, $`x_i \cdot x_j = x_j \cdot x_i`$, so "cat" would have to
# look for "it" exactly as much as "it" looks for "cat". And the score of a word with
# itself is its squared length, $`x_i \cdot x_i = \|x_i\|^2`$, usually the largest score
# of the row.
#
# How much larger is it? If the entries have mean 0 and variance 1,
# $x_i \cdot x_i$ has the mean $d$, while $x_i \cdot x_j$ has mean 0 and standard
# deviation $\sqrt d$ ([lesson 05](../05_scaling/README.md)). The wider the vectors, the
# more clearly a word prefers itself. Does scaling help, or do projections? Draw 1000
# sequences of $T = 8$ vectors of width $d = 16$, and make the scores in three ways.

# %%
T, d, n = 8, 16, 1000
X = rng.normal(size=(n, T, d))
W_QK = rng.normal(size=(2, n, d, d)) / d**0.5  # drawn anew for each sequence
q, k = (X @ W for W in W_QK)  # their entries have variance 1, like those of X
e = X @ X.swapaxes(1, 2)  # (n, T, T)
ways = {"unscaled": e, "scaled": e / d**0.5}
ways["projected, scaled"] = q @ k.swapaxes(1, 2) / d**0.5

# %%
found = {}
for name, scores in ways.items():
    p = mg.softmax(scores).data  # (n, T, T)
    own = np.einsum("nii->ni", p).mean()  # of the diagonals
    found[name] = own, p[0]
    print(f"{name:18s} weight of a word on itself {own:.3f}")

# %% [figure]
title = "Where does each position look?"
fig, axes = figure(title, columns=3, size=(7.2, 2.7), sharey=True)
for ax, (name, (_, p)) in zip(axes, found.items()):
    image = ax.imshow(p, cmap="Blues", vmin=0, vmax=1)
    ax.set(title=name, xlabel="key j", xticks=range(0, T, 2), yticks=range(0, T, 2))
    ax.grid(False)
axes[0].set_ylabel("query i")
fig.colorbar(image, ax=axes, shrink=0.8, label="weight")
alt = f"""Weights of one draw, eight queries by eight keys. Unscaled: a dark diagonal,
and nothing else. Scaled: paler, {found["scaled"][0]:.2f} in the mean. Projected: no
diagonal; each row is spread differently."""
show(fig, "diagonal", alt)

# %% [markdown]
# Unscaled, {{ f"{found['unscaled'][0]:.3f}" }} of the weight stays on the diagonal, and
# the matrix of weights is nearly the identity: every output is its own input again.
# Scaled, it is {{ f"{found['scaled'][0]:.3f}" }}. With random projections it is
# {{ f"{found['projected, scaled'][0]:.3f}" }}, which is one part in {{ T }}: no word
# prefers itself any more. Without the three matrices a word mostly finds itself.
#
# ## Is it a dictionary?
#
# The names query, key and value come from databases. A Python dictionary returns the
# value whose key *equals* the query. Attention softens this in two steps. First,
# "equals" becomes "has the largest score", so that every query has an answer. Second, a
# softmax replaces this choice, and every value counts in part:
#
# ```math
# \mathrm{hard}(q) = v_j \quad \text{with the largest } e_j, \qquad
# \mathrm{soft}(q) = \sum_j p_j v_j, \qquad
# p = \mathrm{softmax}(e / \tau)
# ```
#
# Here $e_j$ is the score of the query $q$ and key $j$, and $p_j$ its weight: a row of
# $\alpha$, written with one index because there is one query. The
# [temperature](../../GLOSSARY.md#temperature) $\tau$ says how soft the lookup is: as it
# falls, the soft answer approaches the hard one. One difference remains. A dictionary
# can say that a key is missing. A softmax always sums to one, so attention always
# returns something.
#
# ## At which temperature does attention still learn?
#
# A hard lookup jumps from value to value, and between two jumps its derivative with
# respect to the query is 0. A soft one has a slope, and a low temperature makes it
# nearly hard. Can we have both, the precise answer and the gradient?
#
# (Only exercise 6.10 needs the derivation that follows.) How does the temperature
# change the [entropy](../../GLOSSARY.md#entropy) $H = -\sum_j p_j \ln p_j$, which is 0
# if one weight is 1, and $\ln T$ if all $T$ weights are equal? Write $\beta = 1/\tau$
# and $N = \sum_l e^{\beta e_l}$, the sum by which the softmax divides. Then
#
# ```math
# \ln p_j = \beta e_j - \ln N, \qquad
# \frac{d \ln N}{d\beta} = \sum_l \frac{e^{\beta e_l}}{N}\, e_l =
# \sum_l p_l e_l = \bar e
# ```
#
# $\bar e$ is the mean of the scores under the weights. The derivative of $\ln p_j$ is
# therefore $e_j - \bar e$. It is also $(dp_j / d\beta) / p_j$, so
#
# ```math
# \frac{dp_j}{d\beta} = p_j (e_j - \bar e), \qquad
# \frac{d\bar e}{d\beta} = \sum_j p_j (e_j - \bar e)\, e_j =
# \sum_j p_j e_j^2 - \bar e^2 = \mathrm{Var}_p(e)
# ```
#
# $`\mathrm{Var}_p(e)`$ is the variance of the scores under the weights. Put $\ln p_j$
# into the entropy: $H = \ln N - \beta \bar e$, because the weights sum to 1. By the
# product rule the derivative of the second term is
# $`-\bar e - \beta\, d\bar e / d\beta`$. The two $\bar e$ cancel, and with
# $`d\beta/d\tau = -1/\tau^2`$
#
# ```math
# \frac{dH}{d\beta} = -\beta\, \mathrm{Var}_p(e), \qquad
# \frac{dH}{d\tau} = \frac{\mathrm{Var}_p(e)}{\tau^3} \ge 0
# ```
#
# A variance is never negative, so the entropy never falls as $\tau$ grows. The code
# measures it on the scores of the 1000 sequences above, unscaled and scaled. Beside it
# stands the size of the Jacobian $\partial p / \partial e$
# ([lesson 05](../05_scaling/README.md)), which says how strongly the weights react to
# the scores: a gradient that comes back through the softmax is multiplied by it.


# %%
def at(e, tau):  # e (n, T, T) -> entropy, its slope, median of |dp/de|
    p = mg.softmax(e / tau).data
    slope = ((p * e**2).sum(-1) - (p * e).sum(-1) ** 2) / tau**3
    J = np.eye(T) * p[..., None] - p[..., None] * p[..., None, :]  # (n, T, T, T)
    size = np.sqrt((J**2).sum((-2, -1))) / tau
    return attention_entropy(p).mean(), slope.mean(), np.median(size)

# %% [folded]
raw, fix = ways["unscaled"], ways["scaled"]
print("          unscaled scores                      scaled scores")
print(" tau        H  dH/dtau  numeric      |J|          H      |J|")
for tau in (0.1, 0.5, 1.0, 2.0, 5.0):
    (a, slope, s), (b, _, t) = at(raw, tau), at(fix, tau)
    numeric = (at(raw, tau * 1.001)[0] - at(raw, tau * 0.999)[0]) / (0.002 * tau)
    columns = "".join(f"{x:9.3f}" for x in (a, slope, numeric, s))
    print(f"{tau:4.1f}{columns}   {b:8.3f} {t:8.3f}")

# %% [figure]
taus, peaks, curves = np.geomspace(0.1, 50, 28), {}, {}
for name, e in (("unscaled", raw), ("scaled", fix)):
    H, _, J = curves[name] = np.array([at(e[:300], tau) for tau in taus]).T
    peaks[name] = f"{J.max():.3f} high near {taus[J.argmax()]:.1f}"
spread = np.asarray(attention_entropy(mg.softmax(fix).data)).ravel()
one = fix.reshape(-1, 8)[abs(spread - spread.mean()).argmin()]  # an average query


def draw(tau):
    """Draw the curves, a line at a temperature, and one query's weights there."""
    title = "From a hard lookup to a mean: where is the gradient?"
    fig, axes = figure(title, columns=3)
    for name, colour, style, *spots in (
        ("unscaled", ORANGE, "--", (7, 1.1), (3.6, 0.012)),
        ("scaled", BLUE, "-", (0.25, 1.1), (2.2, 0.2)),
    ):
        H, _, J = curves[name]
        axes[0].semilogx(taus, H, style, color=colour)
        axes[1].semilogx(taus, J, style, color=colour)
        for ax, spot in zip(axes, spots):
            ax.text(*spot, name, color=colour)
            ax.axvline(tau, color=GREY, lw=0.8)
    axes[0].axhline(np.log(8), color=GREY, lw=0.8, ls=":")
    axes[0].text(0.1, np.log(8) + 0.05, "ln 8: equal weights", color=GREY)
    axes[0].set(xlabel="temperature", ylabel="entropy (nats)", ylim=(-0.1, 2.5))
    axes[1].set(xlabel="temperature", ylabel="median of |dp/de|", ylim=(0, 0.25))
    p = mg.softmax(one / tau).data  # (8,)
    axes[2].bar(range(8), p, color=BLUE)
    axes[2].set(xlabel="key", ylabel="weight", ylim=(0, 1), title="one query, scaled")
    axes[2].set_xticks(range(8))
    H = attention_entropy(p[None]).mean()
    said = f"Temperature {tau}: the largest weight of this query is {p.max():.2f},"
    return fig, f"{said} its entropy {H:.2f} nats."


alt = f"""Two panels against temperature, and the weights of one query. Entropy
rises from 0 to almost
{np.log(8):.2f} nats; the scaled curve is the unscaled one, moved to temperatures four
times lower. Gradient: a hump, {peaks["scaled"]} when scaled and {peaks["unscaled"]}
when not, which falls towards 0 at either end."""
chosen = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]
show(draw, "temperature", alt, {"temperature": chosen}, (1,))

# %% [markdown]
# - The derived slope and the numeric one agree.
# - Dividing by $\sqrt d$ *is* a temperature: it gives the same entropy at temperatures
#   that are lower by a factor of 4.
# - A gradient exists at every temperature, but for the typical query it is large in the
#   middle only. At the hard end it is near 0, and at the soft end the weights hardly
#   react.
#
# So a model cannot have both at once. It begins soft, and it may end hard, because
# training can move its scores apart.
#
# ## How far is it from one word to another?
#
# "The animal did not cross the street because it was too tired." A recurrent network
# that reads this carries "animal" through one step for each word, until it reaches
# "it". Self-attention needs one step for any distance. Does that make distant words
# easy to find?
#
# Measure how much the last of 100 outputs, $z_T$, reacts to each input $x_j$, in a GRU
# ([lesson 02](../02_gru_bottleneck/README.md)) and in a self-attention, both untrained.
# A gradient needs one number, so we multiply the output by a random vector. The size of
# the gradient is the root of its mean squared length over 8 sequences.

# %%
T, d = 100, 16
mg.manual_seed(9)
gru, layer = nn.GRU(d, d), [nn.Linear(d, d, bias=False) for _ in range(3)]
through = {"GRU": lambda x: gru(x)[0]}
through["self-attention"] = lambda x: attend(*(W(x) for W in layer))[0]

# %%
sizes = {}
for name, f in through.items():
    x = mg.Tensor(rng.normal(size=(8, T, d)), requires_grad=True)  # 8 sequences
    (f(x)[:, -1] * rng.normal(size=(8, d))).sum().backward()
    size = sizes[name] = (x.grad**2).sum(-1).mean(0) ** 0.5  # (T,)
    reaction = [f"{k} back {size[99 - k]:.1e}" for k in (1, 7, 50, 99)]
    print(f"{name:14s}", *reaction, sep="  ")

# %% [figure]
fig, ax = figure("How much does the last output react to a word before it?")
for (name, size), style, colour in zip(sizes.items(), ("--", "-"), (ORANGE, BLUE)):
    ax.semilogy(range(T), size[::-1], style, color=colour)
    ax.text(50, size[49] * 30, name, color=colour)
ax.set(xlabel="distance in words", ylabel="length of the gradient")
alt = f"""Length of the gradient against the distance, logarithmic. The GRU falls on a
line from {sizes["GRU"][-2]:.1f} at distance 1 to {sizes["GRU"][0]:.0e} at 99.
Self-attention is level near {sizes["self-attention"][:-1].mean():.2f}; only at distance
0 it is {sizes["self-attention"][-1]:.1f}."""
show(fig, "distance", alt)

# %% [markdown]
# The GRU's gradient falls exponentially with the distance. That of self-attention does
# not depend on the distance. But it is small everywhere, because the {{ T }} weights of
# a query sum to one, and untrained they are nearly equal. A short path does not make a
# strong signal. Training has to find the word that matters.
#
# ## Does "it" find the animal?
#
# If the sentence ends in "too tired", "it" is the animal. If it ends in "too wide",
# "it" is the street. So "it" has to collect the
# adjective, and has to find the noun that fits.
#
# A small Transformer reads 15 words, such as "yesterday the animal did not cross the
# old street because it was too tired .", and has to name the noun from its vector of
# "it". It has two *blocks*, one after the other. Each has four self-attentions side by
# side, its [heads](../../GLOSSARY.md#head), and a small network ([lesson
# 10](../10_heads/README.md)). The test has pairs of a noun and an adjective that never
# occur in the training. A guess between the two nouns is right in half of the
# sentences. Three other models learn the same: one with *one block*; one that is *read
# later*, with the answer at the full stop and not at "it"; and a *GRU* of equal size,
# which reads in both directions.
#
# Does the answer need the weight on the noun? To see it, we also hide one of the two
# nouns from "it", in all heads ([how to read a measurement](../../MEASURES.md)):

# %% [folded]
kept = record("pronouns")
print(how_made(kept))
models = kept["models"]
*transformers, _ = models["arms"]
hidden = {
    noun: {
        arm: f"{fair.figures(models, arm, ('hidden', noun)).mean():.2f}"
        for arm in transformers
    }
    for noun in ("meant", "other")
}
answers = {arm: f"{fair.figures(models, arm).mean():.2f}" for arm in models["arms"]}
columns = (
    "rate", ("right", answers), "doubling",
    ("noun hidden", hidden["meant"]), ("other hidden", hidden["other"]),
)  # fmt: skip
print(fair.table(models, columns))

# %% [folded]
looks = {"before": kept["untrained"]}
looks |= {arm: fair.figures(models, arm, "looks") for arm in transformers}
print('weight of "it" in one head   on its noun  on the other')
means = {}
for arm, of_seeds in looks.items():
    means[arm] = np.mean([(one["meant"], one["other"]) for one in of_seeds], 0)
    print(f"{arm:24s}", *(f"{x:13.2f}" for x in means[arm]))
two = means["two blocks"]


# %%
def lead(run):  # of the noun that is meant
    return run["looks"]["meant"] - run["looks"]["other"]


def loss(run):  # of right answers, if that noun is hidden
    return run["figure"] - run["hidden"]["meant"]


print(fair.judge(
    models,
    ("two blocks: more weight on its noun", rule.above(0), "two blocks", 0.0, lead),
    ("read later: hiding its noun costs nothing", rule.between(-0.02, 0.02),
     "read later", 0.0, loss),
))  # fmt: skip

# %% [figure]
title = 'Where does "it" look?'
fig, axes = figure(title, columns=2, size=(7.2, 3.4), width_ratios=(3, 2))
words = kept["example"].format("tired / wide").replace(" / ", "/").split()
rows = np.arange(len(words))
drawn = np.mean([one["examples"] for one in looks["two blocks"]], 0)  # (2, 15)
for k, (adjective, colour) in enumerate((("tired", BLUE), ("wide", ORANGE))):
    at_rows = rows + 0.4 * k - 0.2
    axes[0].barh(at_rows, drawn[k], 0.4, color=colour)
axes[0].set(yticks=rows, yticklabels=words, xlabel='weight of "it"', xlim=(0, 0.5))
axes[0].invert_yaxis()
axes[0].text(0.31, 2, "... too tired", color=BLUE, va="center")
axes[0].text(0.31, 8, "... too wide", color=ORANGE, va="center")
for x, of_seeds in enumerate(looks.values()):
    meant, other = ([one[noun] for one in of_seeds] for noun in ("meant", "other"))
    left, right = np.full((2, len(meant)), [[x - 0.15], [x + 0.15]])
    axes[1].plot([left, right], [meant, other], color=GREY, lw=0.6)
    axes[1].plot(left, meant, "o", color=BLUE, ms=4)
    axes[1].plot(right, other, "^", color=ORANGE, ms=4)
axes[1].axhline(1 / len(words), color=GREY, lw=1, ls=":")
ticks = [arm.replace(" ", "\n") for arm in looks]
axes[1].set(xticks=range(len(looks)), xticklabels=ticks, ylim=(0, 0.5))
axes[1].set_ylabel('mean weight of "it"')
axes[1].text(0.75, 0.46, "its noun", color=BLUE, ha="right")
axes[1].text(2.25, 0.25, "the other", color=ORANGE)
alt = f"""Left: weights of "it" on the fifteen words of a sentence, in the chosen head;
mean of {len(models["seeds"])} models with two blocks. With "tired" animal has
{drawn[0, words.index("animal")]:.2f} and street {drawn[0, words.index("street")]:.2f};
with "wide" animal has {drawn[1, words.index("animal")]:.2f} and street
{drawn[1, words.index("street")]:.2f}. The adjective has much, too. Right: mean weights
in the test, a line for each model; dotted, equal weights. Before the training its noun
and the other have
{means["before"][0]:.2f} both, with two blocks {two[0]:.2f} and {two[1]:.2f}."""
show(fig, "pronoun", alt)

# %% [markdown]
# "it" does find its noun (in one head, the best of each model in other sentences).
# Before the training both nouns have the same weight. With two blocks, the head gives
# {{ f"{two[0]:.2f}" }} to the noun that is meant and {{ f"{two[1]:.2f}" }} to the
# other. The weight matters, too: if its noun is hidden from "it",
# {{ hidden["meant"]["two blocks"] }} of the answers are right, and without the other
# noun {{ hidden["other"]["two blocks"] }}.
#
# Three results warn against saying more.
#
# - *One block* has {{ answers["one block"] }} of the answers right. There the query of
#   "it" is computed from the word alone, without the adjective. So no head can turn to
#   the noun that fits: which noun has more weight does not depend on the adjective.
#   "it" collects the adjective and both nouns, and the network behind the attention
#   chooses. A right answer does not need a head that looks at the right noun.
# - In the model that is *read later*, no answer is read at "it", and hiding the noun
#   from "it" leaves {{ hidden["meant"]["read later"] }} right. Heads look where that
#   lowers the loss.
# - The *GRU* has {{ answers["GRU"] }} right. The example shows that attention finds a
#   noun in one step. It does not show that a recurrence forgets the noun over so few
#   words.
#
# Does a large weight mean that a word matters? The output is a sum of parts
# $`\alpha_j v_j`$, and a part has two factors. Here are three values, and the length of
# each part:

# %%
p, V = np.array([0.90, 0.07, 0.03]), np.array([[0.1, 0], [0.1, 0], [0, 8.0]])
for j in range(3):
    print(f"weight {p[j]:.2f}   length of its part {np.linalg.norm(p[j] * V[j]):.3f}")

# %% [markdown]
# The smallest weight makes the largest part. Weights show where a model looks. They do
# not show what the model finds there: that is in $V$.
#
# ## What does it cost?
#
# There are two different questions. **Work**: how many multiplications are there in
# all? **Depth**: how many steps must follow one another, because each needs the result
# of the one before? A recurrence multiplies two $d \times d$ matrices with a vector at
# each of $T$ steps: work $2 T d^2$, depth $T$. Self-attention has $T^2$ dot products of
# length $d$ in $Q K^\top$, and as many multiplications again in $\alpha V$: work
# $2 T^2 d$. Its projections add $3 T d^2$, behind the plus. Its depth does not grow
# with $T$. For $d = 512$, in millions of multiplications:

# %% [folded]
d = 512
for T in (64, 512, 1024, 2048):
    a = cost_of("scaled", B=1, L=T, S=T, E=d).multiplications / 1e6
    w = T * d * d / 1e6  # one d x d matrix at every position
    print(f"T {T:4d}   attention {a:4.0f} + {3 * w:4.0f}   recurrence {2 * w:4.0f}")

# %% [markdown]
# Attention alone is *cheaper* than the recurrence for $T < d$. With its projections it
# is always more expensive than this simple recurrence. What self-attention really saves
# is depth.
#
# It pays with memory: a head has $T^2$ scores, of four bytes each. For 1000 words that
# is {{ str(4 * 1000**2 // 10**6) }} megabytes, for each head, sequence and layer.
#
# > **The book says** (6.4.3) that the short path "comes at a cost": $\Theta(T^2)$
# > operations against $\Theta(T)$ *sequential* operations. ($\Theta$ means:
# > proportional to.) This compares work with depth. If we compare work with work, it is
# > $T^2 d$ against $T d^2$, so attention needs less as long as $T < d$.

# %% [claims]
from lessons.pages.claims import YES, claim, over_draws

work, w = cost_of("dot", L=100, S=100, E=d).multiplications, 100 * d * d
claim("6.4.3", "self-attention is more work than a recurrence (without projections, "
      "100 words, d = 512: multiplications over those of the recurrence)",
      rule.above(1), work / (2 * w))
claim("6.4.3", "self-attention is more work than a recurrence (the same, with "
      "projections of queries, keys and values)", rule.above(1),
      (work + 3 * w) / (2 * w))

# %% [markdown]
# ## What would break it?
#
# - One matrix for queries and keys, $W_Q = W_K$: the scores are symmetric again, and
#   most words prefer themselves.
# - The softmax over the wrong axis, so that columns sum to one and not rows. If
#   $Q K^\top$ is symmetric, this gives the transposed weights, and a heatmap of them
#   looks almost right.
# - Shuffled words. Each word gets the same output in "the cat sleeps it purrs" and in
#   "it sleeps the cat purrs": nothing in the formula knows an order. [Lesson
#   11](../11_positions/README.md) adds it.
#
# **To take away: in self-attention each word makes a query, a key and a value; it
# compares its query with all keys, and its new vector is the average of the values,
# softmax(Q K^T / √d_k) V.**
#
# Exercises: 6.8 (what self-attention does to the angles between vectors), 6.10 (the
# temperature, with your own slope) and 6.4 (the memory of the scores):
# `python -m lessons start 6.8`.

# %% [markdown]
# ## Further: one formula for all of them
#
# Nearly every attention of this course compares, applies a softmax, and averages. One
# formula describes them, with a query $q$ and $S$ keys and values:
#
# ```math
# \mathrm{attend}(q, K, V) = \sum_j \alpha_j v_j, \qquad
# \alpha =
# \mathrm{softmax}\big(\mathrm{score}(q, k_1), \dots, \mathrm{score}(q, k_S)\big)
# ```
#
# | attention | query | keys and values | score |
# |---|---|---|---|
# | Bahdanau and others ([lesson 03](../03_additive/README.md)) | the decoder's state before the step | the encoder's states | additive |
# | Luong and others ([lesson 04](../04_scores/README.md)) | the decoder's new state | the encoder's states | dot, general |
# | self-attention (this lesson) | a word | all words of the same sequence | scaled dot |
# | cross-attention ([lesson 10](../10_heads/README.md)) | a word of the target | all words of the source | scaled dot |
#
# The library's function is this formula with options: a mask
# ([lesson 06](../06_masks/README.md)), a bias, which is added to the
# scores ([lesson 11](../11_positions/README.md)), and dropout.

# %% [source] attention.template.attend

# %% [markdown]
# Does it give each of these attentions, if only the score changes? Take one query of
# width 4 and five keys, and compute each score once more by hand (the scaled one is
# divided by $\sqrt 4$):

# %%
side = np.random.default_rng(99)  # a generator of its own
q, K, V = (side.normal(size=s) for s in ((1, 4), (5, 4), (5, 3)))  # 5 keys
W, W_q, W_k, w_v = (side.normal(size=s) for s in ((4, 4), (6, 4), (6, 4), (6,)))
scores = {
    "additive": lambda q, k: additive(q, k, W_q, W_k, w_v),
    "dot": dot, "general": lambda q, k: general(q, k, W), "scaled": scaled,
}  # fmt: skip
e = [[w_v @ np.tanh(W_q @ q[0] + W_k @ k) for k in K], K @ q[0], q[0] @ W @ K.T]
for (name, score), by_hand in zip(scores.items(), [*e, K @ q[0] / 4**0.5]):
    p = np.exp(by_hand) / np.exp(by_hand).sum()
    out, weights = attend(q, K, V, score)
    print(f"{name:9s} {weights.data[0].round(3)}", np.allclose(out.data[0], p @ V))

# %% [markdown]
# Keys need not be words. Xu and others (2015) wrote captions for images, and let the
# decoder look at regions of the image: one weight for each region, which can be drawn
# as a picture.
#
# ## Further: do words that look at each other become alike?
#
# Each output is an average of the words. Two words that look at each other receive much
# of each other. So one expects: the more weight between two words, the more their
# vectors turn towards each other. Is it so? This is exercise 6.8, and it asks for your
# prediction first: `python -m lessons start 6.8`.
#
# We use the 1000 sequences without projections, and multiply the scores by one of three
# scales: 1, as in the exercise; $1/4$, which is $1/\sqrt d$; and $1/20$. For each pair
# of words $i$ and $j$ there are two numbers: the *mutual weight*
# $`\alpha_{ij} + \alpha_{ji}`$, and the *gain*, the [cosine](../../GLOSSARY.md#cosine)
# of $z_i$ and $z_j$ minus that of $x_i$ and $x_j$. The *rank correlation* of the two
# looks at their order only: it is 1 if the pair with more weight always gains more,
# $-1$ if it always gains less, and 0 if there is no relation (Spearman 1904). We
# compute it for each sequence and take the mean. The number behind ± says how far its
# [confidence interval](../../GLOSSARY.md#confidence-interval) reaches.


# %%
T, d, e = 8, 16, ways["unscaled"]
first, second = np.triu_indices(T, 1)  # of each pair i < j


def cosines(X):  # (n, T, d) -> of each pair i < j, (n, pairs)
    U = X / np.linalg.norm(X, axis=-1, keepdims=True)
    return (U @ U.swapaxes(1, 2))[:, first, second]


def rank_correlation(a, b):  # (n, pairs) twice -> (n,)
    u, v = (x.argsort(-1).argsort(-1) for x in (a, b))  # the rank of each entry
    u, v = (x - x.mean(-1, keepdims=True) for x in (u, v))
    return (u * v).sum(-1) / np.sqrt((u**2).sum(-1) * (v**2).sum(-1))


# %%
def geometry(scale):  # means over the sequences, and the 95 % interval of the first
    p = mg.softmax(scale * e).data
    mutual = (p + p.swapaxes(1, 2))[:, first, second]
    before, after = cosines(X), cosines(p @ X)
    of_weight = rank_correlation(mutual, after - before)
    of_before = rank_correlation(before, after - before)
    means = (x.mean() for x in (of_weight, of_before, after))
    return *means, 1.96 * of_weight.std() / n**0.5


# %%
turns = {}
print("rank correlation of the gain with ...")
for name, scale in (("1", 1), ("1/4", 1 / 4), ("1/20", 1 / 20)):
    turns[name] = weight, before, after, reach = geometry(scale)
    print(f"scale {name:4s} mutual weight {weight:+.2f} ±{reach:.2f}", end="  ")
    print(f"cosine before {before:+.2f}  (cosine after {after:.2f})")

# %% [figure]
scales = np.sort([*np.geomspace(1 / 50, 1, 14), 1 / 20, 1 / 4])
lines = np.array([geometry(scale) for scale in scales])
title = "Do words that look at each other become alike?"
fig, axes = figure(title, columns=2, size=(7.2, 2.9))
axes[0].plot(scales, lines[:, 0], "o-", color=BLUE)
axes[0].plot(scales, lines[:, 1], "s--", color=ORANGE)
axes[0].text(0.02, 0.2, "with the\nmutual weight", color=BLUE)
axes[0].text(0.1, -0.5, "with the cosine before", color=ORANGE)
axes[0].axhline(0, color=GREY, lw=0.8, ls=":")
axes[0].set(ylabel="rank correlation of the gain")
axes[1].plot(scales, lines[:, 2], "o-", color=GREY)
axes[1].set(ylabel="mean cosine of two outputs", ylim=(-0.05, 1.05))
for ax in axes:
    ax.set(xlabel="scale of the scores", xscale="log")
    ax.axvline(d**-0.5, color=GREY, lw=0.8, ls="--")
    ax.text(d**-0.5, 0.45, " 1/√d", transform=ax.get_xaxis_transform())
alt = f"""Two panels against the scale of the scores, 1/50 to 1. Left: the rank
correlation of the gain in cosine with the mutual weight rises from {lines[0, 0]:.2f}
through 0 to {lines[:, 0].max():.2f} and falls to {lines[-1, 0]:.2f} at scale 1, within
±{lines[:, 3].max():.2f} at every mark; that with the cosine before begins at
{lines[0, 1]:.2f}. Right: the mean cosine of two
outputs falls from {lines[0, 2]:.2f} to {lines[-1, 2]:.2f}."""
show(fig, "geometry", alt)

# %% [markdown]
# At scale 1 and at $1/\sqrt d$ the expectation holds, more clearly at the second, where
# more weight leaves the diagonal. At $1/20$ it is *reversed*: the pairs that look at
# each other least gain most.
#
# The last column says why. With small scores all weights are nearly equal, so every
# output is nearly the same vector, the mean of all words. So two outputs have a large
# cosine: in the mean {{ f"{turns['1/20'][2]:.2f}" }} at $1/20$, and
# {{ f"{lines[0, 2]:.2f}" }} at $1/50$, where the figure begins. If all pairs end near
# the same cosine, the gain is that cosine minus the one *before*: the pairs that were
# farthest apart gain most. (The correlation with the cosine before is
# {{ f"{turns['1/20'][1]:.2f}" }}.) And words that are far apart have the smallest
# scores, so they look at each other least. In short: at a small scale all pairs come
# together, whether they look at each other or not.
#
# That all outputs become one vector is called
# [rank collapse](../../GLOSSARY.md#rank-collapse). In a stack of layers it goes on from
# layer to layer; [lesson 10](../10_heads/README.md) shows it, and what prevents it.

# %% [markdown]
# ## Further: which patterns are there?
#
# Weights of trained models often have a shape. A word looks at its neighbours
# (*diagonal*), at its own phrase (*block*), far away (*long-range*), or everywhere
# (*uniform*). A fifth is frequent in [BERT](../../GLOSSARY.md#bert): all words look at
# one position, often a separator or a punctuation mark (*column*; Clark and others
# 2019).
#
# The library names the pattern of a matrix. For each shape it takes the share of all
# weight that lies inside the shape, and subtracts the share that equal weights would
# have there: the *excess*. Rows of nearly the largest entropy are "uniform"; otherwise
# the shape with the largest excess gives the name. The limits stand in
# [patterns.py](../../instrument/patterns.py), and they are choices.
#
# We make a matrix of each shape, with a little weight everywhere else. Does the library
# find the names?

# %%
T = 12
i, j = np.indices((T, T))
made = {"diagonal": abs(i - j) <= 1, "block": i // 4 == j // 4, "column": j == 0}
made |= {"long-range": j == (i + 6) % T, "uniform": i >= 0}
shapes = {}
for name, on in made.items():
    w = shapes[name] = (on + 0.02) / (on + 0.02).sum(1, keepdims=True)
    excess = self_attention_excess(w).items()
    print(f"{name:>10s}: {self_attention_pattern(w):10s}", end=" ")
    print(*(f"{k} {round(x, 2) + 0:.2f}" for k, x in excess), sep=", ")

# %% [figure]
title = "Which patterns are there?"
fig, axes = figure(title, columns=5, size=(7.2, 2.1), sharey=True)
for ax, (name, w) in zip(axes, shapes.items()):
    image = ax.imshow(w, cmap="Blues", vmin=0, vmax=1)
    ax.set(title=name, xlabel="key j", xticks=(0, 5, 10), yticks=(0, 5, 10))
    ax.grid(False)
axes[0].set_ylabel("query i")
fig.colorbar(image, ax=axes, shrink=0.8, label="weight")
alt = """Five heatmaps of twelve queries by twelve keys: a band along the diagonal;
three blocks along it; one dark column at key 0; two lines parallel to the diagonal, six
away from it; and an even, pale blue."""
show(fig, "patterns", alt)

# %% [markdown]
# It finds all five names. A matrix for which no rule holds is called "mixed", and real
# ones often are.

# %% [markdown]
# ## Further: what the texts say

# %% [figure]
source, target = "le chat noir est assis".split(), "the black cat is sitting".split()
drawn = np.array([
    [0.80, 0.10, 0.05, 0.03, 0.02], [0.05, 0.10, 0.75, 0.05, 0.05],
    [0.05, 0.80, 0.08, 0.04, 0.03], [0.04, 0.04, 0.04, 0.82, 0.06],
    [0.03, 0.03, 0.03, 0.06, 0.85],
])  # fmt: skip
fig, ax = figure("Where do the two cross?", size=(4.2, 3.2))
picture = ax.imshow(drawn, cmap="Blues", vmin=0, vmax=1)
for (row, column), w in np.ndenumerate(drawn):
    ax.text(column, row, f"{w:.2f}", ha="center", va="center",
            color="white" if w > 0.5 else GREY)  # fmt: skip
ax.set_xticks(range(5), source)
ax.set_yticks(range(5), target)
ax.set(xlabel="source word: key", ylabel="target word: query")
ax.grid(False)
fig.colorbar(picture, ax=ax, label="weight")
alt = f"""Weights that a textbook (6.5.3) invents for a translation from French, five by
five: a diagonal, but for black, which looks at noir with {drawn[1, 2]:.2f}, and cat,
which looks at chat with {drawn[2, 1]:.2f}: they cross."""
show(fig, "crossing", alt)
at_five = attention_entropy(mg.softmax(raw / 5).data)  # (n, T)

# %% [markdown]
# > **The book says** (6.4.2) that with one vector for all three parts "the intuition is
# > identical". But then a word mostly finds itself. Other sentences of it:
# >
# > - One can observe which vectors become more similar (exercise 6.8). What one
# >   observes depends on the scale, even in its sign.
# > - Gradients "flow freely" through the soft lookup, which can become "as precise as a
# >   hard lookup" (6.5.2). A precise lookup has almost no gradient left.
# > - Five temperatures show both limits (exercise 6.10). At $\tau = 5$ the entropy is
# >   {{ f"{at_five.mean():.2f}" }} of {{ f"{np.log(8):.2f}" }} nats.
# > - A single step has "no intervening information loss" (6.4.1). An average of 100
# >   values keeps little of each.
# > - "it" and the animal show "the central advantage of self-attention" (6.4.1). A GRU
# >   of equal size finds the noun as well.

# %% [claims]
X, T = rng.normal(size=(5, 6)), 8
same = np.allclose(mg.softmax(X @ X.T).data @ X, attend(X, X, X, dot)[0].data)
claim("6.4.4", "all positions are two products of matrices and a softmax", YES, same,
      "equal to a query at a time")
own = np.einsum("nii->ni", mg.softmax(e).data).mean(1)  # (n,)
claim("6.4.2", "one vector for query, key and value does the same as three (weight of "
      "a word on itself, among 8 words: below 0.2)", rule.below(0.2), over_draws(own),
      f"with projections {found['projected, scaled'][0]:.2f}")
for name, (weight, *_, reach) in turns.items():
    ends = weight - reach, weight + reach
    claim("ex. 6.8", "vectors of high mutual weight become more similar (rank "
          f"correlation of weight and gain in cosine, scores times {name})",
          rule.above(0), rule.Measured(weight, *ends, "drawn", f"{n:,} draws"))
kept, exact = record("normalizers"), rule.between(-0.01, 0.01)
claim("6.5.2", "a lookup as precise as a hard one still passes gradients (slope of a "
      "weight of 0.999, by its own score: above 0.025, a tenth of the most)",
      rule.above(0.025), 0.999 * (1 - 0.999))
for name, words in (("additive", "additive scores"), ("dot", "dot products")):
    largest = fair.of_arm(kept[name], "softmax", "largest")
    hard = fair.of_arm(kept[name], "softmax", lambda run: run["hard"] - run["figure"])
    claim("6.5.2", f"a trained lookup is as precise as a hard one ({words}: right "
          "values with all weight on the largest, minus right values, within 0.01)",
          exact, hard)
    claim("6.5.2", f"nearly all weight is on one value ({words}, trained: the largest "
          "weight of ten, above 0.9)", rule.above(0.9), largest)
claim("ex. 6.10", "at temperature 5 the weights are near the uniform limit (entropy "
      "over ln 8: 0.95 or more)", rule.between(0.95, 1),
      over_draws(at_five.mean(-1) / np.log(8)))
aside = np.random.default_rng(4)
words, W = aside.normal(size=(200, 100, 16)), aside.normal(size=(2, 16, 16)) / 4
e = (words[:, -1:] @ W[0]) @ (words @ W[1]).swapaxes(1, 2) / 4
between = len("did not cross the street because it".split())
claim("6.4.1", "from \"it\" to \"animal\" are 7 words", "7", between)
claim("6.4.1", "a single step has no intervening information loss (weight of one of "
      "100 words, before training: above 0.9)", rule.above(0.9),
      over_draws(mg.softmax(e).data[:, 0, 0]))
ahead = fair.of_arm(models, "two blocks", lead)
on_noun = fair.of_arm(models, "two blocks", ("looks", "meant"))
gain = fair.difference(models, "two blocks", "GRU")
claim("6.4.1", "\"it\" finds \"animal\" (two blocks: weight of \"it\" on its noun, "
      "minus that on the other noun, in the head that finds it best: above 0)",
      rule.above(0), ahead)
claim("6.4.1", "a single step has no intervening information loss (after training: "
      "the weight of \"it\" on its noun in that head, above 0.9)", rule.above(0.9),
      on_noun)
claim("6.4.1", "\"it\" and \"animal\" show the central advantage of self-attention "
      "(right nouns of two blocks, minus those of a GRU of equal size: above 0.01)",
      rule.above(0.01), gain)

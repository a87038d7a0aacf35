"""17  Small caches  ●●●○  35 min  importance ★★  needs 10, 11, 12

How little of a long text does a model have to keep?
"""

# %% [markdown]
# A model has read a long text and now writes an answer. For each word that it writes,
# it reads the keys and values of all earlier words. They have to be in memory. How much
# memory is that, and how little would do?
#
# **Why it matters:** this memory, the cache, decides how long a text a language model
# can read, and how many users one machine can serve.

# %% [folded]
from importlib import import_module

import numpy as np

import attention
import minigrad as mg
from attention import KVCache, LatentAttention, MultiHeadAttention, SmallCache
from attention import scaled_dot_product_attention as sdpa
from attention.costs.table import size
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import above
from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, figure, show

study = import_module("lessons.book.17_caches.experiment")
rng = np.random.default_rng(17)

# %% [markdown]
# ## What does a text cost?
#
# Take a model with 32 layers, and 32 heads of width 128 in each. Its matrices have some
# 7 billion numbers, and each number has 2 bytes: 14 GB. It reads 32 768 words, a book
# of a hundred pages. Do you expect its keys and values to need more or less than the
# matrices?

# %%
layers, H, E, number = 32, 32, 128, 2
for n in (1, 1024, 32_768, 10**6):
    print(f"{n:>9,} tokens   {size(n * layers * 2 * H * E * number)}")

# %% [markdown]
# More: one such text needs more memory than the model. And each step reads the whole
# cache once, so the cache costs time as well. The formula, for one text:
#
# ```math
# \text{bytes} = b \cdot n \cdot \Lambda \cdot 2 H_k E
# ```
#
# | letter | meaning | what makes it smaller |
# |---|---|---|
# | $b$ | bytes of a number | 8 bits |
# | $n$ | tokens in the cache | a window, a stream, eviction |
# | $\Lambda$ | layers that keep a cache | layers that share |
# | $2 H_k E$ | numbers of a token: keys and values of $H_k$ key heads, each of width $E$ | fewer key heads, MLA |
#
# Each factor has a remedy. The next sections explain the remedies; then we measure what
# each loses, at the same number of bytes. ([Layers that share a
# cache](#further-layers-that-share) stand below.)
#
# ## Fewer key heads
#
# In [lesson 12](../12_exact_and_cheap/README.md) $H$ heads of queries share $H_k$ [key
# heads](../../GLOSSARY.md#key-head). With $H_k = 1$ this is *multi-query attention*
# (Shazeer 2019), with a few it is *grouped-query attention* (Ainslie and others 2023).
# Does a cache hold as many numbers as in the formula, here with $E = 8$?

# %%
x = rng.normal(size=(1, 10, 32))  # ten tokens of width 32
for H_k in (4, 2, 1):
    layer, cache = MultiHeadAttention(32, 4, H_k, rng=rng), KVCache()
    with mg.no_grad():
        layer(x, is_causal=True, cache=cache)
    counted = cache.key.data.size + cache.value.data.size
    print(f"{H_k} key heads: {counted / 10:g} numbers a token, 2 Hk E is {2 * H_k * 8}")

# %% [markdown]
# ## One short vector for all heads
#
# Look at the keys and values of all heads together. A token $x_j$ of width $D$ is
# multiplied by one large matrix, of $2 H E$ rows. What if that matrix were a product of
# two, with a short vector $c_j$ between them? Then the cache needs to hold only $c_j$.
# This is *latent attention*, MLA (DeepSeek-AI 2024, DeepSeek-V2):
#
# ```math
# c_j = \mathrm{norm}(W_d x_j), \qquad k_j = W_k c_j, \qquad v_j = W_v c_j
# ```
#
# ```math
# s_{ij} = \frac{q_i^\top k_j + \mathrm{rope}(u_i)^\top r_j}{\sqrt{E + F}}, \qquad
# r_j = \mathrm{rope}(W_r x_j)
# ```
#
# | letter | meaning | width |
# |---|---|---|
# | $c_j$ | the latent vector of token $j$, divided by its root mean square (RMS norm) | $R$ |
# | $W_d$ | makes $c_j$ from the token | $R \times D$ |
# | $W_k, W_v$ | make key and value from $c_j$, a pair of matrices for each head | $E \times R$ |
# | $q_i$, $u_i$ | the query in two parts, of each head | $E$ and $F$ |
# | $r_j$ | the part with positions, [rotated](../11_positions/README.md), one for all heads | $F$ |
# | $W_r$ | makes $r_j$ from the token, before the rotation | $F \times D$ |
# | $`s_{ij}`$ | the score of query $i$ and key $j$ | |
#
# The cache has $R + F$ numbers a token, for any number of heads. In DeepSeek-V2, $R$ is
# 512, $F$ is 64, and there are 128 heads of width 128:

# %%
full, latent = 2 * 128 * 128, 512 + 64
print(f"{full} numbers or {latent}: {full / latent:.0f} times fewer")

# %% [markdown]
# But has anything been gained? Each step of a decoder needs the keys of all $n$ tokens
# in all heads. If it computes them anew from the $c_j$, each token costs $2 H E R$
# multiplications more. This is not necessary. In $q_i^\top W_k c_j$ the product of the
# first two is the same for all $j$: it is computed once for a query. And $W_v$ can wait
# until the $c_j$ are averaged. No key or value is computed. This form is *absorbed*
# (exercise E.23), the other one *expanded*. Are the outputs of both forms equal, and
# the gradients of all parameters?

# %%
layer = LatentAttention(32, 4, latent=6, rotated=2, rng=rng)  # D, H, R, F
for parameter in layer.parameters():
    parameter.data = parameter.data.astype(float)
g, found = rng.normal(size=(1, 10, 32)), []
for absorbed in (False, True):
    layer.zero_grad()
    out = layer(x, is_causal=True, absorbed=absorbed)
    (out * g).sum().backward()
    found.append([out.data, *(p.grad for p in layer.parameters())])
print(all(np.allclose(a, b) for a, b in zip(*found)),
      "for", len(found[0]), "arrays: output and gradients")  # fmt: skip

# %% [markdown]
# Which form is cheaper for one query, and which for as many as there are keys? Count
# the multiplications in all heads, with DeepSeek's numbers and 4096 tokens:

# %%
print("queries      expanded   absorbed")
for L in (1, 4096):
    expanded, absorbed = study.products(L, n=4096, H=128, E=128, R=512, F=64)
    print(f"{L:7d}   {expanded:11.2e}{absorbed:11.2e}")

# %% [markdown]
# So the expanded form is the one for training and for reading a text, and the absorbed
# one for writing.
#
# Why do positions stand apart, in $F$ numbers of their own? A rotation of the keys
# would stand between $`q_i^\top`$ and $W_k$. It depends on the distance $j - i$, so the
# product would be another one for each $j$. The part of $F$ numbers is rotated, all
# heads share it, and the cache holds it after its rotation.
#
# ## Fewer bits
#
# A number of the cache has 4 bytes here, 2 in practice. One byte can hold 256 different
# codes: for a group of numbers $y$, store the smallest number $z$, the step $\Delta$
# from one code to the next, and for each number a code from 0 to 255. The number that
# comes back is $\hat y$.
#
# ```math
# \hat y = z + \Delta \cdot \mathrm{code}, \qquad \Delta = \frac{\max y - \min y}{255},
# \qquad |\hat y - y| \le \Delta / 2
# ```
#
# Each group needs memory for its $z$ and $\Delta$, and one large number makes $\Delta$
# large for its whole group. [Which numbers are a
# group](#further-which-numbers-share-a-scale) therefore matters.
#
# ## Fewer tokens
#
# All remedies so far keep every token, so a text of twice the length still needs twice
# the memory. A cache of a fixed size has to drop one token a step. Which one?
#
# - **A window** drops the oldest.
# - **A stream** (Xiao and others 2024) keeps the first few tokens and the newest. Why
#   the first? A softmax has to put its weight somewhere, also where no key fits
#   ([lesson 15](../15_weights/README.md)). Trained models often put it on the first
#   token, whatever that is: this token is an [attention
#   sink](../../GLOSSARY.md#attention-sink). A window that drops it changes all weights
#   at once.
# - **Eviction** (Zhang and others 2023, *heavy hitters*) keeps the newest, and of the
#   others those with the largest sum of weights so far, in each head on its own.
#
# Positions are counted inside the cache. So a first token that is 1000 tokens away in
# the text is near in the cache, at a distance that the training had. (All three are
# options of [SmallCache](../../../attention/variants/small_cache.py).)
#
# Let 20 tokens arrive at a cache of 7. Tokens 3 and 9 have keys that fit all queries.
# Which tokens are in the cache at the end?

# %%
tokens, kept_at = 20, {}
keys = 0.3 * rng.normal(size=(tokens, 1, 4))  # (n, H = 1, E)
keys[[3, 9]] += 1.5
caches = {
    "window": SmallCache(7, recent=7),
    "stream": SmallCache(7, recent=5, sinks=2),
    "eviction": SmallCache(7, recent=3),
}

# %%
for way, cache in caches.items():
    rows = kept_at[way] = np.zeros((tokens, tokens))
    for t in range(tokens):
        cache.step(np.ones((1, 4)), keys[t], np.full((1, 1), float(t)))
        rows[t, cache.value.data[0, :, 0].astype(int)] = 1  # a value is its place
print("after 20 tokens:")
for way, rows in kept_at.items():
    print(f"  {way:9s}", *np.flatnonzero(rows[-1]))

# %% [figure]
def draw(step):
    """Draw the tokens of each cache up to a step."""
    title = "Which tokens does a cache of 7 hold?"
    fig, axes = figure(title, columns=3, size=(7.2, 3.0))
    for ax, (way, rows) in zip(axes, kept_at.items()):
        for t in range(step + 1):
            held = np.flatnonzero(rows[t])
            ax.plot(held, np.full(held.shape, t), "s", color=BLUE, ms=3.6)
        for token in (3, 9):
            ax.axvline(token, color=ORANGE, lw=1, ls=":")
            ax.text(token, -1, "fits", color=ORANGE, fontsize=8, ha="center",
                    va="bottom")  # fmt: skip
        ax.set(xlabel="token", xlim=(-1, tokens), ylim=(tokens, -1))
        ax.set_title(way, pad=14)
    axes[0].set(ylabel="step")
    window, stream, eviction = (
        " ".join(map(str, np.flatnonzero(rows[step]))) for rows in kept_at.values()
    )
    said = f"After token {step} the window holds {window}, the stream {stream}"
    return fig, f"{said}, and eviction {eviction}."


alt = """Three panels; a row is a step, a mark a token in the cache. The window holds
the newest seven, the stream the first two and the newest five, and eviction keeps the
two tokens whose keys fit."""
show(draw, "kept", alt, frames={"token that arrives": [*range(tokens)]})

# %% [markdown]
# Eviction keeps tokens 3 and 9, and also two early tokens: when these arrived there
# were few others, so their weights were large. What was dropped is gone, and no later
# question can bring it back.
#
# ## What does a model lose?
#
# A text has {{ study.N }} tokens. A token gives a name with its eight values, each one
# of 8 symbols; or it is a question, the name alone, of a name that was given before.
# The answer is the eight values. Half of the questions ask for one of three favourite
# names. The model has one layer, four heads of queries and the width {{ study.D }}.
#
# Heads are narrow, $E = 4$, so that 4 numbers have to carry eight values. *Narrow
# heads* have four key heads of width 1: the bytes of one key head of width 4. MLA has
# $R = 6$ and $F = 2$, and the same bytes again.
#
# Which arms will lose right values? *Bytes* are those of a token, and *numbers* are the
# parameters. ([How to read a measurement](../../MEASURES.md) explains the other columns
# and the verdicts.)

# %% [folded]
kept = record("caches")
print(how_made(kept))
lookup, n = kept["lookup"], study.N
NUMBERS = {arm: many for arm, (_, many) in study.FORMS.items()}  # of a token
BYTES = {arm: 4 * many for arm, many in NUMBERS.items()}
of_a_token = "bytes", {arm: str(b) for arm, b in BYTES.items()}
columns = of_a_token, "numbers", "rate", "mean", "doubling"
print(fair.table(lookup, columns))
right = {arm: f"{fair.of_arm(lookup, arm).value:.2f}" for arm in lookup["arms"]}
mla = fair.of_arm(lookup, "MLA").added

# %%
pair = "1 key head", "narrow heads"
print(fair.judge(lookup, ("1 key head ahead of narrow heads", above(0), *pair)))

# %% [markdown]
# With half of the bytes two key heads are right in {{ right["2 key heads"] }} of the
# values; a harder task may tell them from four. With a quarter of the bytes, one key
# head of width 4 gives {{ right["1 key head"] }} of the values right, four heads of
# width 1 {{ right["narrow heads"] }}: here one wide head that all share is better than
# four narrow ones. MLA gives {{ right["MLA"] }} with the same bytes; more steps may
# change that, for the second half of them added {{ f"{mla:.2f}" }}. (A cache that holds
# four of the eight values of a name, while the others are guessed, gives
# {{ f"{(4 + 4 / 8) / 8:.2f}" }}.)
#
# Now take the trained model with 4 key heads, and test it with smaller caches, without
# further training. Window and eviction hold {{ study.BUDGETS[0] }} to
# {{ study.BUDGETS[-1] }} tokens. (A quarter of eviction's cache is for the newest.) The
# last line has all tokens in 8 bits. Which one loses least?

# %% [folded]
whole, full = BYTES["4 key heads"], (lookup, "4 key heads")
small = {  # way: {tokens: (seeds,)}
    way: {b: fair.figures(*full, ("small", way, str(b))) for b in study.BUDGETS}
    for way in ("window", "evict")
}
print("tokens in the cache" + "".join(f"{b:8d}" for b in study.BUDGETS))
for way, x in small.items():
    print(f"{way:19s}" + "".join(f"{each.mean():8.3f}" for each in x.values()))
E = NUMBERS["4 key heads"] // (2 * study.H)
in_bits = study.H * (2 * n * E + 8 * E + 8 * n)  # codes, and z and step of each group
bits = fair.figures(*full, "bits")
line = f"{n} tokens in 8 bits: {in_bits} bytes instead of {n * whole}"
print(f"{line}, right values {bits.mean():.4f}")

# %% [figure]
title = f"What does a cache lose? ({len(lookup['seeds'])} runs each)"
fig, axes = figure(title, columns=2, size=(7.2, 3.6), sharey=True)


def points(ax, colour, style, each):
    """Draw means against bytes, and the range of the runs."""
    at = [b for b, _ in each]
    ax.plot(at, [x.mean() for _, x in each], style, color=colour, lw=1, ms=5)
    for b, x in each:
        ax.plot([b, b], [x.min(), x.max()], color=colour, lw=1)


def arms(*names):
    return [(n * BYTES[arm], fair.figures(lookup, arm)) for arm in names]


def label(ax, x, y, text, colour, **where):
    ax.text(x, y, text, color=colour, fontsize=8, va="center", **where)


points(axes[0], BLUE, "s-", arms("4 key heads", "2 key heads", "1 key head"))
points(axes[0], GREEN, "^", arms("MLA"))
points(axes[0], RED, "x", arms("narrow heads"))
for arm in ("4 key heads", "2 key heads"):
    label(axes[0], n * BYTES[arm], 1.05, arm, BLUE, ha="center")
colours, height = {"1 key head": BLUE, "MLA": GREEN, "narrow heads": RED}, 0.0
for arm in sorted(colours, key=lambda arm: fair.of_arm(lookup, arm).value):
    height = max(fair.of_arm(lookup, arm).value, height + 0.07)
    label(axes[0], 0.93 * n * BYTES[arm], height, arm, colours[arm], ha="right")
NAMES = ("window", GREY), ("eviction", PURPLE)
for x, (name, colour) in zip(small.values(), NAMES):
    points(axes[1], colour, "o-", [(b * whole, each) for b, each in x.items()])
    least = study.BUDGETS[0]
    label(axes[1], 0.93 * whole * least, x[least].mean(), name, colour, ha="right")
points(axes[1], RED, "P", [(in_bits, bits)])
points(axes[1], BLUE, "s", arms("4 key heads"))
label(axes[1], in_bits, 1.05, "8 bits", RED, ha="center")
label(axes[1], n * whole, 1.05, "all tokens", BLUE, ha="center")
for ax, name in zip(axes, ("trained with a smaller cache", "made smaller afterwards")):
    ax.axhline(lookup["chance"], color=GREY, ls=":", lw=1)
    ax.set(xscale="log", xlabel="bytes at the end of the text", title=name)
    ax.set(xlim=(280, 5200), ylim=(0, 1.1))
    ax.set_xticks([500, 1000, 2000, 4000], ["500", "1000", "2000", "4000"])
    ax.minorticks_off()
axes[0].set(ylabel="right values")
label(axes[1], 2400, 0.09, "chance", GREY)
middle = study.BUDGETS[2]
alt = f"""Two panels, share of right values against bytes. Trained with a smaller cache:
{"; ".join(f"{arm} {share}" for arm, share in right.items())}. Made smaller afterwards,
with {middle} tokens: window {small["window"][middle].mean():.2f}, eviction
{small["evict"][middle].mean():.2f}; all tokens in 8 bits {bits.mean():.2f}."""
show(fig, "bytes", alt)


# %% [folded]
def ahead(run):
    """Return by how much a run is better with eviction than with a window."""
    return run["small"]["evict"][str(middle)] - run["small"]["window"][str(middle)]


claim = f"eviction ahead of the window, {middle} tokens", above(0)
print(fair.judge(lookup, (*claim, "4 key heads", 0.0, ahead), beyond=True))

# %% [markdown]
# (Training had no such caches. So the verdict must be the same at all rates that solve
# the task with the whole cache.) Half of the questions ask for three names, so tokens
# that were read often are likely to be read again. This is why eviction is ahead of the
# window; in a task without favourites it would have no reason to be, and that was not
# measured.
#
# ## Which cache can read on?
#
# All texts of the second task begin with the same token. Each later token gives a
# value, a random vector, for a name, and asks for another name: one that was given at
# most 8 tokens before, whose value is the answer, or one that was never given; then the
# answer is 0. One head of attention with RoPE, the rotation by places of [lesson
# 11](../11_positions/README.md), learns this in texts of 64 tokens, and then reads
# 1024. No answer is farther away than 8 tokens, so a window of 16 has all that is
# needed. What do you expect of it?
#
# *All* keeps every token, *window* the newest 16, *stream* the first and the newest 15.
# *Far first* keeps the same tokens as the stream, with the positions that they have in
# the text. The arm *sink* learns one more score, of a key whose value is 0 ([lesson
# 15](../15_weights/README.md)). The *explained share* is 1 minus the mean squared error
# divided by the mean square of the wanted output: 0 for an answer that is always 0, and
# negative for a worse one.

# %% [folded]
stream, parts = kept["stream"], np.arange(16) * 64 + 32
WAYS = {"softmax": ("all", "window", "stream", "far first"), "sink": ("all", "window")}
long = {}  # (arm, way): (seeds, parts of 64 tokens) of explained shares
for arm, ways in WAYS.items():
    for way in ways:
        long[arm, way] = fair.figures(stream, arm, ("long", way))
print("texts of 64 tokens:", fair.table(stream, ("rate", "mean", "doubling")))
print("texts of 1024 tokens   the first 64   the last 64")
for (arm, way), x in long.items():
    first, last = x.mean(0)[[0, -1]]
    print(f"{arm:8s} {way:12s} {first:14.3f} {last:13.3f}")
print("window, the last 64, mean of the three runs that chose, by rate")
print(fair.at_every_rate(stream, ("long", "window", -1)))

# %% [folded]
on_the_first = fair.figures(stream, "softmax", "first").mean()
last = {key: x[:, -1] for key, x in long.items()}
LINES = {  # colour, style, label and its place
    ("softmax", "all"): (BLUE, "-", "all tokens", 1010, 0.48),
    ("softmax", "window"): (GREY, "-", "window of 16", 1010, 0.15),
    ("softmax", "far first"): (ORANGE, "--", "first token, far away", 1010, 0.35),
    ("softmax", "stream"): (ORANGE, "-", "stream", 1010, 1.02),
    ("sink", "all"): (GREEN, "--", "learned sink, all tokens", 1010, -0.2),
    ("sink", "window"): (GREEN, "-", "learned sink, window", 1010, 0.95),
}

# %% [figure]
title = f"What can read on? ({len(stream['seeds'])} runs each)"
fig, ax = figure(title, size=(7.2, 3.2))
for key, (colour, style, label, x, y) in LINES.items():
    for run in long[key]:
        ax.plot(parts, run, style, color=colour, lw=1)
    ax.text(x, y, label, color=colour, fontsize=8, va="center")
ax.axvline(study.TRAINED, color=GREY, ls=":", lw=1)
ax.text(study.TRAINED + 8, -0.26, "length in training", fontsize=8)
ax.set(xlabel="token of the text", ylabel="explained share", ylim=(-0.3, 1.08))
ax.set(xlim=(0, 1340), xticks=range(0, 1001, 200))
ends = "; ".join(f"{LINES[key][2]} {x.mean():.2f}" for key, x in last.items())
alt = f"""Explained share in parts of 64 tokens, a line for each run. In the last part,
means: {ends}. Below -0.3 the lines leave the picture."""
show(fig, "stream", alt)

# %% [folded]
def gained(run):
    """Return by how much a run is better with a stream, in the last 64 tokens."""
    return run["long"]["stream"][-1] - run["long"]["window"][-1]


claim = "softmax: stream ahead of the window", above(0), "softmax", 0.0, gained
print(fair.judge(stream, claim, beyond=True))

# %% [markdown]
# A window of 16 contains every answer, and yet the explained share of softmax falls to
# {{ f"{last['softmax', 'window'].mean():.2f}" }} with it. Where the name was not given,
# the trained model puts {{ f"{on_the_first:.0%}" }} of its weight on the first token,
# whose value is 0. When the window has dropped this token, the weight has to go to the
# 16 tokens that are left, and none of their values is the answer. If the cache keeps
# the first token, the same model reads 1024 tokens as well as 64. The token has to be
# near: with its position in the text (dashed) the rotation turns its key away as the
# distance grows. A *learned* sink needs no first token. And with all tokens both models
# get worse, because most tokens are at distances that the training did not have.
#
# Do not read this as "a window needs a first token". We made the task so that no near
# token has the value 0. Look at where the weight goes before you decide what to keep.
#
# ## What does each cost?
#
# | | cache | in return |
# |---|---|---|
# | $H_k$ key heads | $2 H_k E$ a token and layer | smaller key and value matrices; a trained model has to be trained further |
# | MLA | $R + F$ a token and layer | a longer product for each query and key; positions in $F$ numbers |
# | layers that share | $2 H_k E$ for two layers | layer 2 has no keys and values of its own |
# | 8 bits | a quarter of float32, and the scales | errors of $\Delta / 2$; codes are decoded at each step |
# | window, stream | a fixed number of tokens | what is dropped is gone |
# | eviction | a fixed number of tokens | all weights have to be computed, so no tiled kernel can be used; each head keeps other tokens |
#
# The factors multiply, so one cache can have several remedies: MLA in 8 bits, with a
# window in most layers.
#
# ## What would break it?
#
# - The scale $`1 / \sqrt E`$ in MLA: a score is a sum of $E + F$ products.
# - A cache of $W_d x_j$ before its norm, or of the rotated part before its rotation:
#   each step would have to compute norm and rotation of all tokens anew.
# - Keys that a stream stores after their rotation: their positions in the cache change
#   with every step, so `SmallCache` rotates when it reads.
# - One $\Delta$ for all numbers of a key, if one of them is large.
# - Eviction by one sum over all heads: a token that one head needs is dropped, because
#   the others give it no weight.
#
# **To take away: the bytes of a cache are a product, and each factor has a remedy; a
# cache that keeps a little of every token can still answer any question, and a cache
# that keeps few tokens can answer only what it did not drop.**
#
# Exercises: E.23 (MLA absorbed): `python -m lessons start E.23`. Other tasks and arms:
# `python -m lessons experiment 17`.
#
# ## Further: layers that share
#
# The keys and values of layer 2 may be those of layer 1: layer 2 then has its own
# queries and its own output, and reads the cache of the layer before it (Brandon and
# others 2024, *cross-layer attention*). The cache of the pair is half as large. Both
# layers use the same key and value matrices, so the gradients of both add up there. How
# many numbers does the pair keep for a token, with four heads of width 8?

# %%
x = rng.normal(size=(1, 10, 32))
cache, first = KVCache(), MultiHeadAttention(32, 4, bias=False, rng=rng)
y = first(x, is_causal=True, cache=cache)  # projects keys and values
W_q, W_o = (mg.Tensor(rng.normal(size=(32, 32)) / 6) for _ in range(2))
out = attention.shared_attention(
    y, cache.key, cache.value, W_q, W_o, num_heads=4, is_causal=True
)
print(out.shape, "from a cache of", 2 * cache.key.data[0, :, 0].size, "numbers a token")

# %% [markdown]
# These are $2 H E$ numbers for two layers together.
#
# ## Further: which numbers share a scale
#
# A *channel* is one of the $E$ numbers of a key, over all tokens. In trained models the
# keys often have a few channels with large numbers (Liu and others 2024, *KIVI*). One
# such channel, in a group with others, makes their $\Delta$ large. So keys get a
# $\Delta$ for each channel, and values one for each token, because a token's value is
# multiplied by one weight. Let channel 3 of 50 keys be a hundred times as large as the
# others, and that of the query a hundred times as small, so that all channels count the
# same. How large are the errors of the scores? The printed bound is the sum of
# $\Delta / 2$ times the size of the query's number, over all channels.

# %%
keys, query = rng.normal(size=(50, 8)), rng.normal(size=(8,))
keys[:, 3] *= 100
query[3] /= 100
for axis, words in ((-2, "for each channel"), (-1, "for each token")):
    codes, step, zero = attention.quantize(keys, axis)
    error = (attention.dequantize(codes, step, zero) - keys) @ query
    bound = np.broadcast_to(step / 2, keys.shape) @ np.abs(query)
    assert (np.abs(error) <= bound + 1e-9).all()
    print(f"a scale {words:17s} largest error of a score {np.abs(error).max():.3f}, "
          f"bound {bound.max():.3f}")  # fmt: skip

# %% [markdown]
# The scales need memory, too. A value of width $E$ has $E$ bytes of codes, and 8 more
# bytes for its $z$ and $\Delta$ in float32. With $E = 128$ the 8 bytes are few; with
# the narrow heads of the measurement above they are twice as many as the codes.
#
# ## Further: the difference of two softmaxes
#
# *Differential attention* (Ye and others 2024) has two queries and two keys in each
# head, and one value of twice the width:
#
# ```math
# o_i = \left(\mathrm{softmax}(s_i^1) - \lambda\, \mathrm{softmax}(s_i^2)\right) V
# ```
#
# The idea: the second softmax takes away the weight that both give to noise. Weights
# may be negative and sum to $1 - \lambda$. Differential attention is two heads that
# share their values, with the fixed output matrix $[I, -\lambda I]$, so two free heads
# can do all that it can.
#
# What can a difference do that one softmax cannot? Let the wanted output be the value
# of one of 8 keys, minus the mean of all 8 values. This needs negative weights. In the
# example the first query finds its key, the second is 0, so that its weights are equal,
# and $\lambda = 1$. One softmax that has found the key can at best multiply its value
# by a number $c$. How much of the wanted output does that explain, with independent
# values of variance 1? The wanted output is 7/8 of the value minus 1/8 of each of the
# others. So $c = 7/8$, and the error is the part of the other seven.

# %%
k, v = rng.normal(size=(8, 32)), rng.normal(size=(8, 8))
q = 10 * k[5:6]
o = attention.differential(q, k, 0 * q, k, v, mg.Tensor(1.0))
print("value minus mean:", np.allclose(o.data[0], v[5] - v.mean(0)))
print("one softmax explains", 1 - (7 / 8**2) / ((7 / 8) ** 2 + 7 / 8**2))

# %% [markdown]
# That differential attention finds a key among noise better, or helps large language
# models, is a claim of its authors, which nothing here tests.
#
# ## Further: talking heads
#
# *Talking heads* (Shazeer and others 2020) mix the scores of all heads by an
# $H \times H$ matrix before the softmax, and the weights by another one after it. The
# scores of all heads have to be computed at once, so no tiled kernel can be used, and
# the cache is that of multi-head attention. Is it multi-head attention if both matrices
# are the identity?

# %%
q, k, v = (rng.normal(size=(3, 5, 4)) for _ in range(3))  # (H, n, E)
o, _ = attention.talking_heads(q, k, v, np.eye(3), np.eye(3))
print(np.allclose(o.data, sdpa(q, k, v).data))

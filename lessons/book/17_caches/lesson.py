"""17  Small caches  ●●●○  40 min  importance ★★  needs 10, 12, 14

How little of a long text does a model have to keep?
"""

# %% [markdown]
# A model has read a long text and now writes an answer. For each word that it writes,
# it reads the keys and values of all earlier words. They have to be in memory. How much
# memory is that, and how little would do?
#
# [Lesson 14](../14_checks_the_book/README.md) is needed for the measurements only.

# %%
from importlib import import_module

import numpy as np

import attention
import minigrad as mg
from attention import KVCache, LatentAttention, MultiHeadAttention, SmallCache
from attention import scaled_dot_product_attention as sdpa
from attention.costs.table import size
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import (
    above, below, between, judged, over_seeds, paired,
)
from lessons.pages.figures import (
    BLUE, GREEN, GREY, ORANGE, PURPLE, RED, figure, run_curves, show,
)

products = import_module("lessons.book.17_caches.experiment").products
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
# More: one such text needs more memory than the model, and a program that serves many
# readers has many texts. Each step reads the whole cache once, so the cache costs time as
# well. The formula, for one text:
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
# Each factor has a remedy. The sections below explain them one by one; then we measure
# what each loses, at the same number of bytes.
#
# ## Fewer key heads
#
# In [lesson 12](../12_exact_and_cheap/README.md) $H$ heads of queries share $H_k$ [key
# heads](../../GLOSSARY.md#key-head). With $H_k = 1$ this is *multi-query attention*
# (Shazeer 2019), with a few it is *grouped-query attention* (Ainslie and others 2023). It
# should equal ordinary attention in which some heads have the same keys and values. Does
# it? And does a cache hold as many numbers as in the formula?

# %%
x = rng.normal(size=(1, 10, 32))
q, k, v = (rng.normal(size=(1, h, 10, 8)) for h in (4, 2, 2))  # (B, H or Hk, n, E)
grouped = sdpa(q, k, v, enable_gqa=True).data
copied = sdpa(q, np.repeat(k, 2, 1), np.repeat(v, 2, 1)).data  # heads 0, 0, 1, 1
print("grouped = copied key heads:", np.allclose(grouped, copied))
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
# | $c_j$ | the latent vector of token $j$, after an RMS norm | $R$ |
# | $W_d$ | makes $c_j$ from the token | $R \times D$ |
# | $W_k, W_v$ | make key and value from $c_j$, a pair of matrices for each head | $E \times R$ |
# | $q_i$, $u_i$ | the query in two parts, of each head | $E$ and $F$ |
# | $r_j$ | the part with positions, [rotated](../11_positions/README.md), one for all heads | $F$ |
# | $W_r$ | makes $r_j$ from the token, before the rotation | $F \times D$ |
# | $`s_{ij}`$ | the score; its softmax is the weight $`p_{ij}`$ | |
#
# The cache has $R + F$ numbers a token, for any number of heads. In DeepSeek-V2, $R$ is
# 512, $F$ is 64, and there are 128 heads of width 128:

# %%
full, latent = 2 * 128 * 128, 512 + 64
print(f"{full} numbers or {latent}: {full / latent:.0f} times fewer")

# %% [markdown]
# But has anything been gained? Each step of a decoder needs the keys of all $n$ tokens in
# all heads. If it computes them anew from the $c_j$, a step costs $n$ times $2 H E R$
# multiplications more. This is not necessary: $W_k$ and $W_v$ are the same for all tokens
# $j$, so they can be multiplied once for a query, and not once for each token. Keys and
# values are then never computed. This form is called *absorbed*, the other one *expanded*;
# exercise E.23 derives it. The absorbed form is multi-query attention with one key head,
# whose keys have the width $R + F$ and whose values are their first $R$ numbers. Are the
# outputs of both forms equal, and the gradients of all parameters?

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
# Do ten steps with a cache give the outputs of one causal pass, and what does the cache
# hold after them?

# %%
cache = KVCache()
with mg.no_grad():
    steps = [
        layer(x[:, t : t + 1], is_causal=True, cache=cache).data for t in range(10)
    ]
    whole = layer(x, is_causal=True).data
print("ten steps = one causal pass:", np.allclose(np.concatenate(steps, 1), whole))
counted = cache.key.data.size + cache.value.data.size
print(f"{counted / 10:g} numbers a token; R + F is {6 + 2}, 2 H E is {2 * 4 * 8}")

# %% [markdown]
# ### Which form, when?
#
# Count the multiplications of some queries with all keys, in all heads: of the products
# with $W_k$ and $W_v$, of the scores and of the averages. (The formulas are a part of
# E.23.) Which form is cheaper for one query, and which for as many as there are keys?
# With DeepSeek's numbers and 4096 tokens:

# %%
print("queries      expanded   absorbed")
for L in (1, 4096):
    expanded, absorbed = products(L, n=4096, H=128, E=128, R=512, F=64)
    print(f"{L:7d}   {expanded:11.2e}{absorbed:11.2e}")

# %% [markdown]
# So the expanded form is the one for training and for reading a text, and the absorbed
# one for writing. It has a cost: for each row of the cache, one absorbed query needs more
# multiplications than an ordinary head, because $R$ is larger than $E$. In return it
# reads fewer bytes.
#
# ### Why do positions stand apart?
#
# With the rotation $`\mathrm{rot}_j`$ for place $j$, a rotated key is
# $`\mathrm{rot}_j W_k c_j`$, and the score is $`q_i^\top\, \mathrm{rot}_{j-i} W_k c_j`$.
# The rotation stands between the query and $W_k$, and it depends on the distance $j - i$.
# So no matrix that is the same for all $j$ can stand between the query and $c_j$. How far
# is $`\mathrm{rot}_j W_k`$ from $W_k$, for the first five places?

# %%
W_k = rng.normal(size=(8, 6))  # (E, R)
for j in range(5):
    rotated = attention.rope(mg.Tensor(W_k.T), np.full(6, j)).data.T  # each column
    print(f"place {j}: largest difference {np.abs(rotated - W_k).max():.2f}")

# %% [markdown]
# Each place has a matrix of its own. So MLA rotates a part of $F$ numbers only, which all
# heads share. The cache holds this part after its rotation.
#
# ## Layers that share
#
# The keys and values of layer 2 may be those of layer 1: layer 2 then has its own queries
# and its own output, and reads the cache of the layer before it (Brandon and others 2024,
# *cross-layer attention*). The cache of the pair is half as large. Both layers use the
# same key and value matrices, so the gradients of both add up there. How many numbers
# does the pair keep for a token, with four heads of width 8?

# %%
cache, first = KVCache(), MultiHeadAttention(32, 4, bias=False, rng=rng)
y = first(x, is_causal=True, cache=cache)  # projects keys and values
W_q, W_o = (mg.Tensor(rng.normal(size=(32, 32)) / 6) for _ in range(2))
z = attention.shared_attention(
    y, cache.key, cache.value, W_q, W_o, num_heads=4, is_causal=True
)
print(z.shape, "from a cache of", 2 * cache.key.data[0, :, 0].size, "numbers a token")

# %% [markdown]
# These are $2 H E$ numbers for two layers together.
#
# ## Fewer bits
#
# A number of the cache has 4 bytes here, 2 in practice. One byte can hold 256 different
# codes: for a group of numbers $x$, store the smallest number $z$, the step $\Delta$ from
# one code to the next, and for each number a code from 0 to 255. The number that comes
# back is $\hat x$. Its error is at most $\Delta / 2$.
#
# ```math
# \hat x = z + \Delta \cdot \mathrm{code}, \qquad \Delta = \frac{\max x - \min x}{255},
# \qquad |\hat x - x| \le \Delta / 2
# ```
#
# Which numbers are a group? A *channel* is one of the $E$ numbers of a key, over all
# tokens. In trained models the keys often have a few channels with large numbers (Liu and
# others 2024, *KIVI*). One such channel, in a group with others, makes their $\Delta$
# large. So keys get a $\Delta$ for each channel, and values one for each token, because a
# token's value is multiplied by one weight. Let channel 3 of 50 keys be a hundred times
# as large as the others, and that of the query a hundred times as small, so that all
# channels count the same. How large are the errors of the scores? The printed bound is
# the sum of $\Delta / 2$ times the size of the query's number, over all channels.

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

# %% [source] attention.variants.small_cache.quantize

# %% [markdown]
# The scales need memory, too. A value of width $E$ has $E$ bytes of codes, and 8 more
# bytes for its $z$ and $\Delta$ in float32. With $E = 128$ the 8 bytes are few; with the
# narrow heads of the measurement below they are twice as many as the codes.
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
#   token, whatever it is: it is an [attention sink](../../GLOSSARY.md#attention-sink).
#   A window that drops it changes all weights at once.
# - **Eviction** (Zhang and others 2023, *heavy hitters*) keeps the newest, and of the
#   others those with the largest sum of weights so far, in each head on its own.

# %% [source] attention.variants.small_cache.SmallCache.step

# %% [source] attention.variants.small_cache.SmallCache.best

# %% [markdown]
# One detail matters in texts that are longer than those of the training: positions are
# counted inside the cache. So a first token that is 1000 tokens away in the text is near
# in the cache, at a distance that training had.
#
# Let 20 tokens arrive at a cache of 7. Tokens 3 and 9 have keys that fit all queries.
# Which tokens are in the cache at the end? (The figure has them after each step.)

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
fig, axes = figure("Which tokens does a cache of 7 hold?", columns=3, size=(8.4, 3.0))
for ax, (way, rows) in zip(axes, kept_at.items()):
    ax.plot(*np.nonzero(rows.T), "s", color=BLUE, ms=3.6, label="in the cache")
    for token in (3, 9):
        ax.axvline(token, color=ORANGE, lw=1, ls=":")
    ax.plot([], [], ":", color=ORANGE, label="key that fits")
    ax.set(title=way, xlabel="token", ylim=(tokens, -1))
axes[0].set(ylabel="step")
axes[2].legend(loc="center left", bbox_to_anchor=(1, 0.5))
alt = f"""Three panels; a row is a step, a mark a token in the cache. The window holds
the newest seven, the stream the first two and the newest five. Eviction holds
{", ".join(map(str, np.flatnonzero(kept_at["eviction"][-1])))} at the end, with the
two tokens whose keys fit."""
show(fig, "kept", alt)

# %% [markdown]
# Eviction keeps tokens 3 and 9, and also two early tokens: when these arrived there were
# few others, so their weights were large. If the cache has a place for every token,
# nothing is dropped, and the result is exact. Otherwise what was dropped is gone, and no
# later question can bring it back.
#
# ## Quality against bytes
#
# **Measured.** A text has 48 tokens. A token gives a name with its eight values, each one
# of 8 symbols; or it is a question, the name alone, of a name that was given before. The
# answer is the eight values. Half of the questions ask for one of three favourite names.
# The model has two layers, four heads of queries and the width 32. All arms read the same
# texts, and have the same grid of learning rates. They differ in the number of
# parameters, which the table has; we compare arms of equal bytes.
#
# If one key head were as good as four, the task would be too easy to show a difference.
# That was the case in lesson 12 (and in a first run of this study, with four values a
# name). So heads are narrow here, $E = 4$, and the 4 numbers of a head have to carry
# eight values. The arm *shared* has the four key heads of layer 1 in both layers. *Narrow
# heads* have four key heads of width 1: the bytes of one key head of width 4. And MLA
# with $R + F = 2 H_k E$ has the bytes of $H_k$ key heads; its heads have the width 8,
# which does not change the size of the cache. Which arms will lose right values?
#
# *Bytes* are those of a token, in float32, in both layers. The rate is the learning rate
# of the arm.

# %%
kept = record("caches")
print(how_made(kept))
lookup, n = kept["lookup"], kept["tokens"]
BYTES = {arm: 4 * kept["layers"] * m for arm, m in kept["numbers"].items()}  # a token

# %%
by_bytes = sorted(lookup["arms"], key=lambda arm: -BYTES[arm])
of_a_token = "bytes", {arm: str(b) for arm, b in BYTES.items()}
columns = of_a_token, "numbers", "rate", "mean", "every seed", "plateaus"
print(fair.table(lookup, columns, by_bytes))

# %%
equal, half = between(-0.01, 0.01), ("2 key heads", "shared", "MLA, R = 14")
print(fair.judge(
    lookup,
    *((f"{arm}, within .01 of 4", equal, arm, "4 key heads") for arm in half),
    ("1 key head behind 4", below(0), "1 key head", "4 key heads"),
))  # fmt: skip

# %%
print("at equal bytes:")
print(fair.judge(
    lookup,
    ("1 ahead of narrow heads", above(0), "1 key head", "narrow heads"),
    ("MLA, 6, ahead of 1 head", above(0), "MLA, R = 6", "1 key head"),
))  # fmt: skip
right = {arm: f"{fair.of_arm(lookup, arm).value:.2f}" for arm in lookup["arms"]}

# %% [figure]
ARMS = {
    "4 key heads": (BLUE, "-"), "2 key heads": (BLUE, "--"), "1 key head": (BLUE, ":"),
    "shared": (RED, "-"), "narrow heads": (ORANGE, "-"),
    "MLA, R = 14": (GREEN, "-"), "MLA, R = 6": (GREEN, "--"),
    "MLA, R = 2": (GREEN, ":"),
}  # fmt: skip
title = f"Which cache can learn the lookup? ({len(lookup['seeds'])} runs each)"
fig, ax = figure(title, size=(7.4, 3.4))
run_curves(ax, lookup, ARMS, 3)
ax.axhline(lookup["chance"], color=GREY, ls=":", lw=1, label="chance")
ax.set(xlabel="training step, before the rate falls", ylabel="right values")
ax.set(ylim=(0, 1.03))
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
alt = "Share of right values against steps, a line for each run."
show(fig, "curves", f"{alt} Plateaus and means stand in the table above.")

# %% [markdown]
# Half of the bytes are enough for all that this task can show, in each of three ways: two
# key heads, shared layers, and MLA with $R = 14$. All their runs solve it, so a harder
# task may tell them apart. With a quarter of the bytes the arms differ. One key head of width 4 is far ahead of four heads of width 1,
# {{ right["1 key head"] }} and {{ right["narrow heads"] }} right, with the same bytes:
# here one wide head that all share is better than four narrow ones. MLA with $R = 6$ has
# {{ right["MLA, R = 6"] }}, with more parameters, but its runs differ much, and none had
# reached a plateau. Whether it is ahead of one key head is undecided. Two of its 8
# numbers are the part with positions, which this task does not need. With $R = 2$ MLA
# learns nearly nothing in these steps.
#
# For most arms the best of the three rates was the smallest. A smaller one was not tried,
# so the table does not show the most that an arm can learn.
#
# Now take the trained model with 4 key heads, and test it with smaller caches, without
# further training. Window, stream and eviction hold 6 to 36 tokens, in each layer. (The
# stream keeps one first token. Eviction keeps a quarter of its budget for the newest.)
# The table has the share of right values, a mean over the seeds. Which one loses least?

# %%
whole, full = BYTES["4 key heads"], (lookup, "4 key heads")
small = {  # way: {tokens: (seeds,)}
    way: {b: fair.figures(*full, ("small", way, str(b))) for b in kept["budgets"]}
    for way in ("window", "stream", "evict")
}
print("tokens in the cache" + "".join(f"{b:8d}" for b in kept["budgets"]))
for way, x in small.items():
    print(f"{way:19s}" + "".join(f"{x[b].mean():8.3f}" for b in kept["budgets"]))

# %% [markdown]
# And if all 48 tokens stay, in 8 bits? The bytes are the codes, and $z$ and $\Delta$ for
# each channel of keys and for each token of values:

# %%
exact = fair.figures(*full)
E, all_heads = kept["numbers"]["4 key heads"] // 8, kept["layers"] * kept["heads"]
in_bits = all_heads * (2 * n * E + 8 * E + 8 * n)
SCALES = "keys by channel", "keys by token"
bits = {scales: fair.figures(*full, ("bits", scales)) for scales in SCALES}
print(f"{in_bits} bytes instead of {n * whole}; right values:")
print(f"float32                   {exact.mean():.4f}")
for name, x in bits.items():
    print(f"scales of {name:15s} {x.mean():.4f}")

# %% [markdown]
# Three claims; in those on eviction and stream, the caches hold {{ kept["budgets"][2] }}
# tokens:

# %%
middle = kept["budgets"][2]
print(judged("8 bits, within .01", between(-0.01, 0.01),
    paired(bits["keys by channel"], exact, resolution=lookup["resolution"])))  # fmt: skip
print(judged("evict ahead of the window", above(0),
    over_seeds(small["evict"][middle] - small["window"][middle])))  # fmt: skip
print(judged("stream ahead of the window", above(0),
    over_seeds(small["stream"][middle] - small["window"][middle])))  # fmt: skip

# %% [figure]
LOOKS = {
    "window": (GREY, "o-"), "stream": (ORANGE, "o-"), "evict": (PURPLE, "o-"),
    "key heads": (BLUE, "s-"), "MLA": (GREEN, "^-"), "shared": (RED, "D"),
    "narrow heads": (BLUE, "x"), "8 bits": (RED, "P"),
}  # fmt: skip
points = {  # label: [(bytes at the end of the text, (seeds,))]
    way: [(b * whole, x) for b, x in by_budget.items()]
    for way, by_budget in small.items()
}
points["8 bits"] = [(in_bits, bits["keys by channel"])]
for arm in lookup["arms"]:
    label = "MLA" if "MLA" in arm else "key heads" if "key" in arm else arm
    points.setdefault(label, []).append((n * BYTES[arm], fair.figures(lookup, arm)))
title = f"What does a cache lose? ({len(lookup['seeds'])} runs each)"
fig, ax = figure(title, size=(7.4, 3.6))
for label, each in points.items():
    colour, style = LOOKS[label]
    ax.plot([b for b, _ in each], [x.mean() for _, x in each], style, color=colour,
            lw=1, ms=5, label=label)  # fmt: skip
    for b, x in each:
        ax.plot([b, b], [x.min(), x.max()], color=colour, lw=1)
ax.axhline(lookup["chance"], color=GREY, ls=":", lw=1, label="chance")
ax.set(xscale="log", xlabel="bytes of the cache at the end of the text")
ax.set(ylabel="right values", ylim=(0, 1.03))
ax.set_xticks([1500, 3000, 6000, 12000], ["1500", "3000", "6000", "12 000"])
ax.minorticks_off()
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
alt = f"""Share of right values against bytes, with the range of the runs. Means:
{"; ".join(f"{arm} {fair.of_arm(lookup, arm).value:.2f}" for arm in lookup["arms"])};
window, stream and eviction of {middle} tokens
{", ".join(f"{small[way][middle].mean():.2f}" for way in small)}; 8 bits
{bits["keys by channel"].mean():.2f}."""
show(fig, "bytes", alt)

# %% [markdown]
# Half of the questions ask for three names, so tokens that were read often are likely to
# be read again. This is why eviction is ahead of the window. A stream is ahead of it
# because of how we made the texts: the first token of each text gives one of these names.
# No cache can find what it has dropped. With {{ kept["budgets"][1] }} tokens eviction has
# the bytes of one key head, and more right values,
# {{ f"{small['evict'][kept['budgets'][1]].mean():.2f}" }} against
# {{ right["1 key head"] }}, without a training for it. In a task without favourites it
# would have no reason to be ahead; that was not measured.
#
# Eight bits lose nothing that shows here, with either kind of scale: nothing in this small model
# shows the large channels that large models have. Codes and scales together need
# {{ f"{n * whole / in_bits:.1f}" }} times fewer bytes than float32; with heads of width
# 128 and a long text it would be {{ f"{4 * 2 * 128 / (2 * 128 + 8):.1f}" }} times.
#
# ## A text that goes on
#
# **Measured.** All texts begin with the same token. Each later token gives a value, a
# random vector, for a name, and asks for another name: one that was given at most 8
# tokens before, whose value is the answer, or one that was never given; then the answer
# is 0. One head of attention with RoPE learns this in texts of 64 tokens, and then reads
# 1024. No answer is farther away than 8 tokens, so a window of 16 has all that is needed.
# What do you expect of it, and of a cache of all tokens?
#
# The caches: *all* keeps every token, *window* the newest 16, *stream* the first and the
# newest 15. *Far first* keeps the same tokens as the stream, with the positions that they
# have in the text. The arm *sink* learns a number $b$ as in [lesson
# 15](../15_weights/README.md). The *explained share* is 1 minus the squared error over
# the mean square of the wanted output: it is 0 for an answer that is always 0, and
# negative for a worse one. The first column is measured in texts as long as in training,
# the others in the first and in the last part of the long texts.

# %%
stream, parts = kept["stream"], np.arange(16) * 64 + 32
WAYS = {"softmax": ("all", "window", "stream", "far first"), "sink": ("all", "window")}
long = {}  # (arm, way): (seeds, parts of 64 tokens) of explained shares
for arm, ways in WAYS.items():
    for way in ways:
        long[arm, way] = fair.figures(stream, arm, ("long", way, "both"))
print("explained share       64 tokens   of 1024: the first 64, the last 64")
for (arm, way), x in long.items():
    trained = fair.of_arm(stream, arm).value
    first, last = x.mean(0)[[0, -1]]
    print(f"{arm:8s} {way:12s} {trained:9.3f} {first:23.3f} {last:13.3f}")

# %% [markdown]
# How much weight has the first token, if the name was given and if it was not?

# %%
for arm in stream["arms"]:
    print(f"{arm:8s} weight of the first token")
    for found, words in ("found", "name was given"), ("none", "it was not"):
        weight = fair.figures(stream, arm, ("first", found)).mean()
        print(f"  {words:16s}{weight:.3f}")
first_none = fair.figures(stream, "softmax", ("first", "none")).mean()

# %% [markdown]
# And the differences in the last 64 of 1024 tokens:

# %%
last = {key: x[:, -1] for key, x in long.items()}
steps = fair.steps_without_plateau(stream, "softmax", "sink")
best = last["softmax", "stream"]
for claim, other in (
    ("stream ahead of the window", ("softmax", "window")),
    ("stream ahead of all tokens", ("softmax", "all")),
    ("stream ahead of far first", ("softmax", "far first")),
):
    print(judged(claim, above(0), over_seeds(best - last[other], steps=steps)))
print(judged("learned sink, as the stream", between(-0.02, 0.02),
    paired(last["sink", "window"], best, steps)))  # fmt: skip

# %% [figure]
LINES = {
    ("softmax", "all"): (BLUE, "-", "all tokens"),
    ("softmax", "window"): (GREY, "-", "window of 16"),
    ("softmax", "far first"): (ORANGE, "--", "first token, far away"),
    ("softmax", "stream"): (ORANGE, "-", "stream: first token, near"),
    ("sink", "all"): (GREEN, "--", "learned sink, all tokens"),
    ("sink", "window"): (GREEN, "-", "learned sink, window"),
}
title = f"What can read on? ({len(stream['seeds'])} runs each)"
fig, ax = figure(title, size=(7.4, 3.4))
for key, (colour, style, label) in LINES.items():
    for i, x in enumerate(long[key]):
        ax.plot(parts, x, style, color=colour, lw=1, label=None if i else label)
ax.axvline(kept["trained"], color=GREY, ls=":", lw=1, label="length in training")
ax.set(xlabel="token of the text", ylabel="explained share", ylim=(-0.3, 1.05))
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
ends = "; ".join(f"{LINES[key][2]} {x.mean():.2f}" for key, x in last.items())
alt = f"""Explained share in parts of 64 tokens, a line for each run. In the last part,
means: {ends}."""
show(fig, "stream", alt)

# %% [markdown]
# A window of 16 contains every answer, and yet the explained share of softmax falls to
# {{ f"{last['softmax', 'window'].mean():.2f}" }} with it. Where the name was not given,
# the trained model puts {{ f"{first_none:.0%}" }} of its weight on the first token, whose
# value is 0. When the window has dropped this token, the weight has to go to the 16
# tokens that are left, and none of their values is the answer. If the cache keeps the
# first token, the same model reads 1024 tokens as well as 64. The first token has to be
# near: if it keeps its position in the text (dashed), the rotation turns its key away as
# the distance grows. With all tokens the model is worse than with the stream: most of the
# tokens are at distances that training did not have. A *learned* sink needs no first
# token, so with a window no token has to be kept for it. With all tokens it fails as
# well.
#
# Do not read this as "a window needs a first token". We made the task so that no near
# token has the value 0. In a pilot of one run, a token that asked for a name gave no
# value of its own; the model put the weight on that token, nearly none on the first, and
# the window lost nothing. Look at where the weight goes before you decide what to keep.
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
# ## Further: the difference of two softmaxes
#
# *Differential attention* (Ye and others 2024) has two queries and two keys in each
# head, and one value of twice the width:
#
# ```math
# o_i = \left(\mathrm{softmax}(s_i^1) - \lambda\, \mathrm{softmax}(s_i^2)\right) V
# ```
#
# The idea: the second softmax takes away the weight that both give to noise. Weights may
# be negative and sum to $1 - \lambda$. Differential attention is two heads that share
# their values, with the fixed output matrix $[I, -\lambda I]$, so two free heads can do
# all that it can.
#
# **Measured** are two tasks. In *noisy* a noisy query has to find one key among 32.
# *Minus* needs negative weights: the answer is one of 8 values minus the mean of all. The
# arms are one softmax, differential attention, and two free heads, which share their
# values as well. All three end with a matrix and a bias, and here nothing is normalised.
# One softmax that finds the key can subtract nothing of the others; it explains at most
# {{ "7/8" }} of the second task. Each row has the mean, then the figure of each seed; the
# rows *lambda* have the trained $\lambda$, which starts at 1/2.

# %%
for part in ("noisy", "minus"):
    print(f"{part}:", fair.table(kept[part], ("numbers", "mean", "every seed")))
    lam = fair.figures(kept[part], "differential", "lambda")
    print("lambda ", " ".join(f"{x:.3f}" for x in lam))

# %%
pair = "differential", "softmax"
print(fair.judge(
    kept["noisy"],
    ("as one softmax, within .01", equal, *pair),
    ("with 512 keys, within .01", equal, *pair, "many"),
))  # fmt: skip
minus = fair.of_arm(kept["minus"], "differential")
print(judged("minus: above 7/8", above(7 / 8), minus))
wanted = "ahead of two free heads", above(0), "differential", "two heads"
print(fair.judge(kept["minus"], wanted))

# %% [markdown]
# In the first task the differences stay within the small range of the claim: with a noisy
# query, differential attention finds a key as well as one softmax does, among 32 keys and
# among 512, and training makes $\lambda$ small. In the second task the answer is a
# difference, and differential attention learns it in every run, with $\lambda = 1$. One
# softmax cannot: some of its runs reach the bound, the others stay far below it. Two free
# heads can, and do in some runs; whether the fixed form is easier to learn is undecided.
# That it helps large language models is a claim of its authors, which nothing here tests.
#
# ## Further: talking heads
#
# *Talking heads* (Shazeer and others 2020) mix the scores of all heads by an $H \times H$
# matrix before the softmax, and the weights by another one after it. The scores of all
# heads have to be computed at once, so no tiled kernel can be used, and the cache is that
# of multi-head attention. Is it multi-head attention if both matrices are the identity?

# %%
q, k, v = (rng.normal(size=(3, 5, 4)) for _ in range(3))  # (H, n, E)
o, _ = attention.talking_heads(q, k, v, np.eye(3), np.eye(3))
print(np.allclose(o.data, sdpa(q, k, v).data))

# %% [markdown]
# ## What would break it?
#
# - The scale $`1 / \sqrt E`$ in MLA: the product has $E + F$ terms.
# - A cache of $W_d x_j$ before its norm, or of the rotated part before its rotation: each
#   step would have to compute norm and rotation of all tokens anew.
# - Keys that a stream stores after their rotation: their positions in the cache change
#   with every step, so `SmallCache` rotates when it reads.
# - One scale for a whole key in 8 bits, if one channel is large.
# - Eviction by one sum over all heads: a token that one head needs is dropped, because
#   the others give it no weight.
# - A count of bytes that leaves out the scales, or the heads, or the layers.
#
# **To take away: the bytes of a cache are a product, and each factor has a remedy; a
# cache that keeps a little of every token can still answer any question, and a cache that
# keeps few tokens can answer only what it did not drop.**
#
# Exercises: E.23 (MLA absorbed): `python -m lessons start E.23`. Other tasks and arms:
# `python -m lessons experiment 17`.

"""12  Exact and cheap  ●●●○  40 min  importance ★★  needs 06, 09, 10

What do time and memory do as n grows?
"""

# %% [markdown]
# You give a language model a book of 300 pages and ask who the murderer is. The last
# word of your question has to look at every word of the book. In self-attention every
# word has to do this: with $n$ words there are $n^2$ pairs. A sentence has hundreds of
# pairs, a book of 100,000 words has ten billion. Who can pay for that?
#
# **Why it matters:** nearly every language model of today computes its attention tile
# by tile, as this page shows, and what it can read is limited by these costs.
#
# There are two kinds of savings. Some change nothing in the result: they compute all
# scores, but never keep all of them. Others give another result: they leave pairs out,
# or replace the softmax by something that needs no pairs at all.

# %% [folded]
import numpy as np

import minigrad as mg
from attention import (
    BlockMask, KVCache, MultiHeadAttention, linear_attention, masks, merge,
)  # fmt: skip
from attention import scaled_dot_product_attention as sdpa
from attention.costs import cost_of, trials
from attention.costs.table import size
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import above, below, between, verdict
from lessons.pages.claims import YES, claim, over_draws, timed
from lessons.pages.figures import (
    BLUE, COLOURS, GREY, ORANGE, diagram, figure, show,
)  # fmt: skip

rng = np.random.default_rng(12)

# %% [markdown]
# ## What does the matrix take?
#
# The scores of $n$ words, or [tokens](../../GLOSSARY.md#token), are a matrix of
# $n \times n$ numbers. In float32 a number has four bytes, so the matrix has $4 n^2$
# bytes. Does the width $d$ of the vectors matter?

# %%
for n in (1000, 32_768, 1_000_000):
    # the library writes L for the number of queries, and E for the width
    narrow, wide = (cost_of("dense", L=n, E=d).score_bytes for d in (64, 512))
    print(f"{n:>9,} tokens   {size(wide):>8s}   the same at d = 64: {narrow == wide}")
print("32 768 tokens, 32 heads:", size(cost_of("dense", L=32_768, H=32).score_bytes))

# %% [claims]
scores = cost_of("dense", L=1000).score_bytes
claim("ex. 6.4", "the scores of 1000 tokens are 4 MB", "4", scores / 1e6)

# %% [markdown]
# It does not. And this is one head of one example: 32 heads of 32 768 tokens are more
# than most machines hold.
#
# ## Does there have to be a matrix?
#
# A softmax seems to need a whole row of scores, because each weight is divided by the
# sum over the row. But we do not want the weights. We want the weighted *average*, and
# an average can be built up step by step: keep the sum of what you have seen, and
# divide at the end.
#
# One difficulty remains. $\exp(s)$ of a large score $s$ overflows, so the largest score
# $m$ of the row is subtracted first, and $m$ is not known before the end. The answer is
# to correct the sums whenever a larger score appears (Milakov and Gimelshein 2018):
#
# ```math
# m' = \max(m, s), \qquad l' = e^{m - m'} l + e^{s - m'}, \qquad
# o' = e^{m - m'} o + e^{s - m'} v
# ```
#
# | letter | meaning |
# |---|---|
# | $s$, $v$ | score and value of the next key; $s_j$, $v_j$ those of key $j$ |
# | $m$ | largest score of the keys seen so far |
# | $l$ | sum of $`e^{s_j - m}`$ over these keys |
# | $o$ | sum of $`e^{s_j - m} v_j`$ over these keys; $o / l$ is the average |
# | $m'$, $l'$, $o'$ | the same three, after the next key |
#
# The factor $`e^{m - m'}`$ is the correction. It is 1 if the largest score stays the
# same. Take three keys with scores 2, 1 and 4, and values 10, 20 and 30. Compute the
# three lines with a pencil first:

# %%
s, v = [2.0, 1.0, 4.0], [10.0, 20.0, 30.0]
m, l, o = -np.inf, 0.0, 0.0  # noqa: E741
for score, value in zip(s, v):
    top = max(m, score)
    shrink, part = np.exp(m - top), np.exp(score - top)
    m, l, o = top, shrink * l + part, shrink * o + part * value  # noqa: E741
    print(f"m {m:.0f}   l {l:.4f}   o {o:.4f}   so far {o / l:.4f}")
print(f"at once: {mg.softmax(np.array(s)).data @ v:.4f}")

# %% [markdown]
# The third score is the largest, so the sums of the first two shrink. The ordinary
# softmax, in the last line, agrees. No row of weights was ever kept.
#
# To do this key by key is slow, because a processor is fast at products of matrices,
# and not at single vectors. FlashAttention (Dao and others 2022) takes blocks: a block
# of queries and a block of keys give a [tile](../../GLOSSARY.md#tile) of scores. The
# tile fits into the small fast memory of the processor, its *cache*. It is computed,
# used for $m$, $l$ and $o$ of each of its queries, and dropped:

# %% [figure]
BLOCK = 2  # queries, and keys, in a block
S = np.random.default_rng(3).integers(-2, 5, (6, 8)) * 1.0  # scores (6, 8)
values = np.arange(1.0, 9)  # one number for each key


def draw(i, j):
    """Draw the state of all queries when tile (i, j) is done, and say it."""
    fig, ax = diagram((7.2, 3.5), (-1.3, 14.6), (6.4, -1.3))
    fig.suptitle("How are the tiles computed?")
    for column, words in zip((9.3, 10.9, 12.5, 14), ("m", "l", "o", "o / l")):
        ax.text(column, -0.5, words, ha="center", va="center")
    said = []
    for row in range(6):
        block = row // BLOCK + 1  # counted from 1, as i and j are
        keys = 8  # that the query has met so far
        if block == i:
            keys = BLOCK * j
        elif block > i:
            keys = 0
        seen = S[row, :keys]
        if keys:
            m = seen.max()
            parts = np.exp(seen - m)
            l, o = parts.sum(), parts @ values[:keys]  # noqa: E741
            numbers = [f"{m:.0f}", f"{l:.2f}", f"{o:.2f}", ""]
            if block < i or keys == 8:
                numbers[3] = f"{o / l:.2f}"
            for column, text in zip((9.3, 10.9, 12.5, 14), numbers):
                ax.text(column, row + 0.5, text, ha="center", va="center")
            if block == i:
                state = f"m = {m:.0f}, l = {l:.2f}, o = {o:.2f}"
                said.append(f"query {row + 1} has {state}")
    for a, b in np.ndindex(3, 4):
        now = (a + 1, b + 1) == (i, j)
        x, y = BLOCK * (b + np.array([0, 1, 1, 0])), BLOCK * (a + np.array([0, 0, 1, 1]))
        look = {"ec": GREY, "fill": False}
        if now:
            look = {"ec": ORANGE, "fc": ORANGE, "alpha": 0.35}
        elif (a + 1, b + 1) < (i, j):
            look |= {"hatch": "///", "lw": 0.5}
        ax.fill(x, y, **look)
    for row in range(BLOCK * i - 2, BLOCK * i):
        for key in range(BLOCK * j - 2, BLOCK * j):
            at = key + 0.5, row + 0.5
            ax.text(*at, f"{S[row, key]:.0f}", ha="center", va="center")
    for k in range(4):
        ax.text(BLOCK * k + 1, -0.5, f"$K_{k + 1}$", ha="center", va="center")
        if k < 3:
            ax.text(-0.7, BLOCK * k + 1, f"$Q_{k + 1}$", ha="center", va="center")
    return fig, f"After the tile of Q{i} and K{j}: {'; '.join(said)}."


alt = """Blocks of two queries Q1 to Q3 down, blocks of two keys and values K1 to K4
across. The tile at work shows its scores; hatched tiles are dropped. Beside each query
stand m, l and o, which are kept, and at the end of the row the output o / l, divided
once."""
blocks = {"queries i": [1, 2, 3], "keys j": [1, 2, 3, 4]}
show(draw, "tiles", alt, frames=blocks, start=(2, 3))

# %% [markdown]
# Is the result the same, with its gradients?

# %%
q, k, v = (mg.Tensor(x, requires_grad=True) for x in rng.normal(size=(3, 1, 300, 16)))
g = rng.normal(size=(1, 300, 16))  # the gradient of the output
grads = []
for path in ("dense", "tiled"):
    out = sdpa(q, k, v, path=path)
    (out * g).sum().backward()
    grads.append([out.data] + [x.grad for x in (q, k, v)])
    q.grad = k.grad = v.grad = None
print("the same output and gradients:", all(map(np.allclose, *grads)))

# %% [markdown]
# Nothing is approximated. The backward pass needs the weights, which were
# dropped, so it computes them a second time. For this it keeps one number for each
# query, the logarithm of the sum of its exponentials,
# $`\ln \sum_j e^{s_j} = m + \ln l`$. This is the
# [log-sum-exp](../../GLOSSARY.md#log-sum-exp), *lse* for short. With it a weight
# $`p_{ij}`$ of query $i$ and key $j$ is computed directly, and the rest is the backward
# of [lesson 03](../03_additive/README.md), tile by tile:
#
# ```math
# p_{ij} = e^{s_{ij} - \mathrm{lse}_i}, \qquad
# \frac{\partial L}{\partial s_{ij}} = p_{ij}\, \big(g_i \cdot v_j - g_i \cdot o_i\big)
# ```
#
# Here $o_i$ is the output, after the division, $g_i$ is its gradient, and
# $`g_i \cdot v_j`$ is the gradient of the weight $`p_{ij}`$. The derivative of a
# softmax subtracts the average of these over all keys, and a tile has only some of the
# keys. But
# $`\sum_j p_{ij}\, g_i \cdot v_j = g_i \cdot \sum_j p_{ij} v_j = g_i \cdot o_i`$, one
# number for each query, known before the first tile, because the forward pass has kept
# $o_i$. So memory is saved, and a little more work is done. The tiles may run in any
# order: each adds its part to the gradients of its own queries, keys and values.
#
# ## Can the keys be in two places?
#
# A chat program has read your book once, and keeps its keys and values in a
# [KV cache](../../GLOSSARY.md#kv-cache). Then you ask a question. Or the book is so
# long that its keys are on two machines. Can two attentions over two sets of keys be
# put together?
#
# ![How are two attentions merged? By their log-sum-exps.](figures/merge.svg)
#
# *One query attends to the keys of the book and to the keys of the question. Each set
# gives an average o and its log-sum-exp. The box "merge" makes of both pairs the
# average over all keys and its log-sum-exp.*
#
# The two averages alone are not enough: one of them may stand for keys that suit the
# query, and the other for keys that do not. The lse shows which: it is the logarithm of
# the set's own denominator. The denominators add up to the one of all keys, and each
# average counts in proportion to its own:
#
# ```math
# o = a_1 o_1 + a_2 o_2, \qquad
# a_1 = \frac{e^{\mathrm{lse}_1}}{e^{\mathrm{lse}_1} + e^{\mathrm{lse}_2}}, \qquad
# a_2 = 1 - a_1
# ```
#
# Here $o_1$ and $o_2$ are the two averages, and $a_1$ and $a_2$ their shares. A set
# without an allowed key has an lse of $-\infty$ and the share 0. (If neither set has
# one, this gives 0/0; the library returns an output of 0 and an lse of $-\infty$.) Cut
# the 300 keys into 200 of a "book" and 100 of a "question":

# %%
K, V = k.data, v.data  # (1, 300, 16)
o1, lse1 = sdpa(q, K[:, :200], V[:, :200], return_lse=True)  # the book
o2, lse2 = sdpa(q, K[:, 200:], V[:, 200:], return_lse=True)  # the question
o, lse = merge(o1, lse1, o2, lse2)
print("merged is attention over all keys:", np.allclose(o.data, sdpa(q, K, V).data))
plain = (o1.data + o2.data) / 2
print("the mean of both averages is:     ", np.allclose(plain, sdpa(q, K, V).data))

# %% [markdown]
# ## Which pairs can be left out?
#
# These savings change the result. A [mask](../../GLOSSARY.md#mask) says which
# pairs count, and a tile without any allowed pair need not be computed. Three patterns
# are well known:
#
# - **Window**: each token sees itself and the tokens shortly before it.
#   `sliding_window(4, 0)` allows 4 tokens before and none after.
# - **Longformer** (Beltagy, Peters and Cohan 2020): a window to both sides, and a few
#   *global* tokens that see all and are seen by all.
# - **BigBird** (Zaheer and others 2020): blocks of tokens. Each block sees its
#   neighbours, a few *global* blocks, and a few random ones; a global block sees all.
#   `bigbird(2, 3, 1, 1)` has blocks of 2 tokens, a window of 3 blocks, 1 random block
#   and 1 global block, the first.

# %% [figure]
small = {
    "window": masks.sliding_window(4, 0),
    "Longformer": masks.sliding_window(2, 2) | masks.global_tokens([0]),
    "BigBird": masks.bigbird(2, 3, 1, 1, seed=0),
}
fig, axes = figure("Which pairs count?", columns=3, size=(7.2, 3), sharey=True)
alt = """Three patterns of 24 queries by 24 keys; the coloured pairs are computed.
Window: a narrow band below the diagonal. Longformer: a band on both sides of the
diagonal, and the first row and the first column. BigBird: a band of blocks, the first
block's rows and columns, and single blocks at random places. They have """
for ax, (name, mask) in zip(axes, small.items()):
    seen = mask.dense(1, 1, 24, 24)[0, 0]
    ax.imshow(np.where(seen, 0.6, np.nan), cmap="Blues", vmin=0, vmax=1)
    ax.set(title=name, xlabel="key j", xticks=(0, 8, 16), yticks=(0, 8, 16))
    ax.grid(False)
    alt += f"{seen.sum()} ({name}), "
axes[0].set_ylabel("query i")
show(fig, "patterns", alt + f"of {24 * 24} pairs.")

# %% [markdown]
# Such masks are put together with `&` and `|`. In the next figure *dilation* 2 leaves out
# every second token of the window, and padding stands at the end:

# %% [figure]
def draw(reach, dilation, globals_, pads):
    """Draw a mask of 16 queries and keys, put together from four parts."""
    mask = masks.dilated(reach, dilation)
    if globals_:
        mask |= masks.global_tokens(range(globals_))
    mask &= masks.padding([16 - pads])
    seen = mask.dense(1, 1, 16, 16)[0, 0]
    fig, ax = figure("Which pairs does a mask of four parts allow?", size=(7.2, 3))
    ax.imshow(np.where(seen, 0.6, np.nan), cmap="Blues", vmin=0, vmax=1)
    ax.set(xlabel="key j", ylabel="query i", xticks=(0, 5, 10, 15))
    ax.set_yticks((0, 5, 10, 15))
    ax.grid(False)
    said = f"A window of reach {reach}"
    said += ", of which every second token counts" * (dilation == 2)
    said += f", {globals_} global token{'s' * (globals_ > 1)}" * bool(globals_)
    said += f", without {pads} tokens of padding" * bool(pads)
    return fig, f"{said}: {seen.sum()} of {16 * 16} pairs are allowed."


alt = """The allowed pairs of 16 queries and 16 keys. A window is a band around the
diagonal, a global token a row and a column; padding, at the right, is left out."""
parts = {"reach of the window": [1, 2, 4], "dilation": [1, 2]}
parts |= {"global tokens": [0, 1, 2], "padding": [0, 4]}
show(draw, "parts", alt, frames=parts, start=(2, 2, 1, 4))

# %% [markdown]
# How do the multiplications, and the memory of a call, grow when $n$ doubles? Here are
# the powers of $n$, by formulas. *Linear* is the next section.

# %% [folded]
def numbers_held(way, n, d=64):
    """Return how many numbers a call holds beside its inputs, where it holds most."""
    if way == "dense":
        return 2 * n * n + n * d  # the matrix before and after the softmax; the output
    if way == "linear":
        return 2 * n * (2 * d + 1) + n * (d + 2)  # features and sums; the output
    return n * d + 3 * n + (128 + d) * 64  # the output; sums of each query; a tile


# %%
ways = dict.fromkeys(("dense", "tiled", "window", "bigbird", "linear"), {})
ways["window"] = {"left": 255, "right": 0}  # 255 back and itself
growth = {}
for name, options in ways.items():
    a, b = ((cost_of(name, L=n, **options).multiplications, numbers_held(name, n))
            for n in (2**16, 2**17))  # fmt: skip
    growth[name] = np.divide(b, a)
    times, held = np.log2(growth[name])
    print(f"{name:8s} multiplications n to the {times:.2f}, memory n to the {held:.2f}")

# %% [markdown]
# Tiles save memory and no multiplications. To save those, one has to leave pairs out. A
# window costs the same for each token, and so does BigBird: each block meets a fixed
# number of blocks; only the few global ones meet all. The price: without its pair, a
# token reaches another one only through tokens in between, a layer for each step:


# %%
def layers_to_all(mask, n=1024):
    step = mask.dense(1, 1, n, n)[0, 0].astype(np.float32)  # 1: i sees j
    reach, layers = step, 1
    while not reach.all() and layers < n:
        reach, layers = np.minimum(reach @ step, 1), layers + 1
    return layers


both = masks.sliding_window(128, 128)
bigbird = masks.bigbird(64, 3, 3, 2, seed=0)  # blocks of 64: window, random, global
for mask in (masks.everything, both, both | masks.global_tokens([0]), bigbird):
    print(f"layers: {layers_to_all(mask)}   {mask!r}")

# %% [markdown]
# Windows that reach 128 tokens to either side need $1024 / 128$ layers. With one global
# token two are enough.
#
# ## What if no pair is computed at all?
#
# The softmax contains $\exp(q \cdot k)$. This cannot be written as a function of $q$
# alone times a function of $k$ alone, so it has to be computed for every pair. Put a
# product $\phi(q) \cdot \phi(k)$ in its place, where $\phi$ is a function that makes
# every entry positive. Then the sum over the keys can be taken *first*, without any
# query. This is *linear attention* (Katharopoulos and others 2020):
#
# ```math
# \sum_j \big(\phi(q_i) \cdot \phi(k_j)\big)\, v_j =
# \Big(\sum_j \phi(k_j)\, v_j^\top\Big)^{\!\top} \phi(q_i)
# ```
#
# The sum in brackets is a matrix of $d \times d_v$ numbers, where $d_v$ is the width of
# the values, and it is the same for all queries. The denominator,
# $\sum_j \phi(q_i) \cdot \phi(k_j)$, becomes $\phi(q_i) \cdot \sum_j \phi(k_j)$ in the
# same way. A usual choice is $\phi(x) = x + 1$ for positive $x$ and $\exp(x)$
# otherwise:

# %%
q, k, v = rng.normal(size=(3, 50, 4))


def phi(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


weights = phi(q) @ phi(k).T  # all pairs, (50, 50)
pairs = (weights / weights.sum(1, keepdims=True)) @ v
sums, denominator = phi(k).T @ v, phi(k).sum(0)  # (4, 4) and (4,), for all queries
summed = phi(q) @ sums / (phi(q) @ denominator)[:, None]
print("order does not matter:", np.allclose(summed, pairs))
print("the library's:", np.allclose(linear_attention(q, k, v).data, pairs))
print("rank of the weights:", np.linalg.matrix_rank(weights), "of 50")

# %% [markdown]
# The *rank* of a matrix is the largest number of its rows of which none is a sum of
# multiples of the others. The weights here are a product of a 50 by 4 and a 4 by 50
# matrix, so all 50 rows of weights are mixtures of four rows. Those of a softmax may
# have rank 50.
#
# Now let token $i$ see the tokens up to $i$ only, and write $q$ and $k$ for $\phi(q)$
# and $\phi(k)$. Then the sum grows by one product at each step, and the numerator $y_i$
# reads it:
#
# ```math
# W_i = \sum_{j \le i} k_j v_j^\top = W_{i-1} + k_i v_i^\top, \qquad y_i = W_i^\top q_i
# ```

# %%
W, y = np.zeros((4, 4)), []
for i in range(50):
    W += np.outer(k[i], v[i])  # written by key and value
    y.append(W.T @ q[i])  # read by the query
same = np.allclose(y, np.tril(q @ k.T) @ v)
print("reading W gives (Q K^T, j <= i) V:", same)

# %% [markdown]
# So a text of any length needs one matrix of a fixed size. (The denominator is a second
# sum of this kind. Or give each value one more entry, which is 1: then $y_i$ has the
# denominator in this entry.)
#
# And the backward? Let $g_i$ be the gradient of
# $`y_i = \sum_{j \le i} (q_i \cdot k_j)\, v_j`$. The factor $q_i \cdot k_j$ has the
# gradient $g_i \cdot v_j$. So
#
# ```math
# \frac{\partial L}{\partial q_i} = \sum_{j \le i} (g_i \cdot v_j)\, k_j = W_i\, g_i,
# \qquad
# \frac{\partial L}{\partial k_j} = \sum_{i \ge j} (g_i \cdot v_j)\, q_i = R_j\, v_j,
# \qquad
# \frac{\partial L}{\partial v_j} = \sum_{i \ge j} (q_i \cdot k_j)\, g_i = R_j^\top k_j
# ```
#
# with $`R_j = \sum_{i \ge j} q_i\, g_i^\top`$. Key $j$ influences the outputs from $j$
# on, so $R_j$ is a sum from the end: a second pass goes from the last token to the
# first. Exercise E.13 writes both passes, with $S$ for $W$.
#
# ## What do they lose in quality?
#
# Take a task in which it is known how far back the answer stands. A model reads
# {{ record("quality")["pairs"] }} pairs of a name and a number, such as "b 3", each as
# *one* token. Then come the names alone, in another order, and the model has to say the
# number of each. So an answer stands 1 to {{ 2 * record("quality")["pairs"] - 1 }}
# tokens back.
#
# A small causal Transformer of two layers is trained with dense attention, with a
# window and with linear attention ([experiment.py](experiment.py)), each with the best
# of {{ len(record("quality")["forms"]["rates"]) }} learning rates, from five seeds
# ([How to read a measurement](../../MEASURES.md)). In the window a token sees itself
# and the {{ record("quality")["reach"] }} tokens before it. All models have
# {{ record("quality")["heads"] }} heads of width
# {{ record("quality")["width"] // record("quality")["heads"] }}. What do you expect of
# each?

# %% [folded]
kept = record("quality")
print(how_made(kept))
forms, reach = kept["forms"], kept["reach"]
starts = [1, *(x + 1 for x in kept["farthest"])]
ends = [*kept["farthest"][:-1], 2 * kept["pairs"] - 1]
ranges = [f"{a}-{b}" for a, b in zip(starts, ends)]
shown = "dense", "window", "linear"
of = {form: fair.figures(forms, form, "by distance") for form in shown}
print("share of right answers, by tokens back; of all; added by the second half of")
print(f"the {forms['budget']} steps")
print(f"{'':8s}", *(f"{r:>6s}" for r in ranges), "   all   added")
for form, x in of.items():
    mean = fair.of_arm(forms, form)
    cells = (f"{cell:6.2f}" for cell in (*x.mean(0), mean.value))
    print(f"{form:8s}", *cells, f"{mean.added:+7.3f}")

# %% [figure]
alt = "Share of right answers by how many tokens back the answer stands. " + " ".join(
    f"{form}: {', '.join(f'{y:.2f}' for y in x.mean(0))}." for form, x in of.items()
)
fig, ax = figure("How far back can an answer be found?", size=(6, 3.4))
at = np.arange(len(ranges))
for form, colour in zip(shown, COLOURS):
    y = of[form]  # the bars show the lowest and the highest seed
    bars = [y.mean(0) - y.min(0), y.max(0) - y.mean(0)]
    ax.errorbar(at, y.mean(0), bars, marker="o", mfc="none", capsize=3, color=colour)
    ax.annotate(form, (at[-1], y.mean(0)[-1] + 0.03), (6, 0), color=colour,
                textcoords="offset points")  # fmt: skip
ax.axhline(forms["chance"], ls=":", color=GREY)
ax.text(0, forms["chance"] + 0.02, "chance", color=GREY)
ax.set_xticks(at, ranges)
ax.set(xlabel="tokens from the question back to the answer", ylim=(0, 1.08))
ax.set(xlim=(-0.15, at[-1] + 0.4))
ax.set_ylabel(f"share of right answers,\n{len(forms['seeds'])} seeds")
show(fig, "quality", alt)


# %% [folded]
def two_windows(run):  # answers that stand behind one window and within two
    return run["by distance"][1]


lost = fair.difference(forms, "linear", "dense")
print(fair.judge(
    forms,
    (f"window: worse than dense, {ranges[1]} tokens back", below(0), "window", "dense",
     two_windows),
    ("linear: worse than dense", below(0), "linear", "dense"),
))  # fmt: skip

# %% [claims]
claim("notes", "linear attention loses some expressivity (four heads: right values of "
      "a small model, minus those of dense attention)", below(0), lost)

# %% [markdown]
# Dense attention answers everything, at every distance. The window answers what stands
# inside it, up to {{ reach }} tokens back. Two layers reach {{ 2 * reach }} tokens,
# since the second layer reads tokens that have read others. But a token in between has
# to store many pairs before the question comes, and it stores only some of them. From
# {{ 2 * reach + 1 }} tokens on nothing of the pair arrives, and the window can only
# guess.
#
# Linear attention reaches everything, at every distance in about the same way. But it
# has to keep {{ kept["pairs"] }} pairs in sums of a fixed size, with four heads
# {{ kept["width"] ** 2 // kept["heads"] }} numbers in each layer. Its five runs have
# from {{ f"{fair.figures(forms, 'linear').min():.2f}" }} to
# {{ f"{fair.figures(forms, 'linear').max():.2f}" }} of the answers right, and the
# second half of the steps still changed their mean by
# {{ f"{fair.of_arm(forms, 'linear').added:+.2f}" }}. That it loses to dense attention
# has the verdict "{{ verdict(below(0), lost) }}". (More pairs would have to fit into
# the same sums.)
#
# ## And by the clock?
#
# These are times of one thread of one machine, of a forward pass of one head of width
# 64, in compiled code: dense attention is products of matrices (of the library BLAS)
# and a compiled softmax. The others were loops that numba compiles, called
# [kernels](../../GLOSSARY.md#kernel). (Since this measurement linear attention has
# become products of matrices. The script has changed in its other part alone, the
# comparison above.) "additive" is the score of [lesson
# 03](../03_additive/README.md).

# %% [folded]
kept = record("sweep")
print(how_made(kept))
runs = [run["compiled"]["variants"] for run in kept["runs"]]
measured, slopes = {}, {}  # slopes: the power of n from 1024 tokens on
for way, x in runs[0].items():
    n, held = np.array(x["n"]), np.min([run[way]["bytes"] for run in runs], 0)
    least = 1e3 * np.min([run[way]["least"] for run in runs], 0)  # milliseconds
    measured[way] = n, least, held / 1e6
    slopes[way] = np.polyfit(np.log(n[n >= 1024]), np.log(least[n >= 1024]), 1)[0]
    ms = [f"{a}: {t:.3g} ms" for a, t in zip(n, least) if a in (512, 2048, 8192)]
    print(f"{way:9s}", "   ".join(ms), f"  n to the {slopes[way]:.2f}")

# %% [figure]
ends = ", ".join(f"{way} {slope:.1f}" for way, slope in slopes.items())
alt = f"""Time and memory against n, both logarithmic, one line for each way. The times
grow with these powers of n: {ends}. Memory has two bundles of lines: that of dense and
additive grows with the square; that of tiled, window, bigbird and linear in the end in
proportion to n."""
title = "What do time and memory do as n grows?"
fig, axes = figure(title, columns=2, size=(7.2, 3.6))
for (way, (n, least, held)), colour in zip(measured.items(), (*COLOURS, GREY)):
    axes[0].loglog(n, least, color=colour)
    axes[1].loglog(n, held, color=colour)
    up = {"additive": 4, "dense": -3}.get(way, 0)  # points
    axes[0].annotate(way, (n[-1], least[-1]), (4, up), color=colour, va="center",
                     textcoords="offset points")  # fmt: skip
n, _, held = measured["dense"]
for words, y, va in (
    ("dense,\nadditive", held[-1], "center"),
    ("tiled,\nwindow,\nbigbird,\nlinear", measured["tiled"][2][-1], "center"),
):
    axes[1].annotate(words, (n[-1], y), (4, 0), va=va, textcoords="offset points")
axes[0].set(xlabel="tokens n", ylabel="time of one call (ms)", xlim=(12, 80_000))
axes[1].set(xlabel="tokens n", ylabel="memory beside the inputs (MB)")
axes[1].set(xlim=(12, 80_000), ylim=(0.01, 2000))
show(fig, "clock", alt)

# %% [markdown]
# The clock agrees with the formulas: the powers are near 2 for dense, additive and
# tiled attention, and near 1 for the others. Tiles, which save no multiplication, are
# faster than the matrix as well. A likely reason is that a matrix that does not fit
# into the cache has to be written to the slow memory and read again. (In plain NumPy
# tiles are [slower](#further-the-tiles-in-the-library).)
#
# ## What would break it?
#
# - Short sequences: below a few hundred tokens all of this only makes the program more
#   complicated.
# - A request for the weights: tiled and linear attention never have them.
# - A random set of single pairs, as sparse as BigBird: no tile is empty, so nothing is
#   saved.
# - A window off by one: `sliding_window(255, 0)` has 256 keys, itself included.
# - Two averages merged without their log-sum-exps.
#
# **To take away: memory can be saved without changing the result, because an average
# can be built up tile by tile; work can be saved only by leaving pairs out or by giving
# up the softmax, and then you should know what you lose.**
#
# Exercises: 6.4 (the memory of the scores), E.8 (the online softmax), E.14 (the
# backward of tiled attention) and E.13 (causal linear attention):
# `python -m lessons start 6.4`.
#
# ## Further: how much does a cache hold, and may heads share it?
#
# A program that writes a text keeps the keys and values of all tokens so far, in each
# layer and for each head. Let a model have 32 layers and heads of width 128, and let
# each number have 2 bytes. Several heads of queries may share one head of keys and
# values: with $H_k$ [key heads](../../GLOSSARY.md#key-head) of width $E$ the cache has
# $2 H_k E$ numbers for each token and layer. If all heads of queries share one, this is
# *multi-query attention* (Shazeer 2019), with a few it is *grouped-query attention*
# (Ainslie and others 2023):

# %%
for key_heads in (32, 8, 1):
    numbers = 2 * key_heads * 128 * 32  # for one token
    print(f"{key_heads:2d} key heads: {size(2 * numbers * 32_768)} for 32 768 tokens")
cache, layer = KVCache(), MultiHeadAttention(32, 4, 2, rng=rng)
with mg.no_grad():
    layer(rng.normal(size=(1, 10, 32)).astype(np.float32), is_causal=True, cache=cache)
held = cache.key.data.nbytes + cache.value.data.nbytes
H_k, E = 2, 32 // 4  # of this layer; 10 tokens, 4 bytes a number
print("ours, 10 tokens:", held, "bytes; by the formula", 2 * H_k * E * 10 * 4)

# %% [markdown]
# In the task above a dense model with 1 key head for its 4 heads of queries has at
# least {{ f"{fair.figures(forms, '1 key head').min():.3f}" }} of the answers right, and
# the one with 4 at least {{ f"{fair.figures(forms, 'dense').min():.3f}" }}. The task is
# too easy to show a loss. On large models one key head loses a little, and a few key
# heads less (Ainslie and others 2023). [Lesson 17](../17_caches/README.md) goes on from
# here.
#
# ## Further: the tiles in the library
#
# FlashAttention has four versions. In the first, the outer loop runs over blocks of
# keys, and each tile ends with a division. In the second (Dao 2023) the outer loop runs
# over blocks of queries, and the only division comes at the end of a row. The third
# (Shah and others 2024) and the fourth (Zadouri and others 2026) are made for newer
# kinds of graphics processors, or GPUs. The library has the second:

# %% [source] attention.exact.flash.forward_twin

# %% [markdown]
# `m`, `l` and `o` are those of the table above, `s` is a tile of scores, `p` holds its
# exponentials, and `alpha` is the correction $`e^{m - m'}`$. There are `L` queries and
# `S` keys of width `E`, and values of width `Ev`; a tile has `Tq` queries and `Tk`
# keys. `plan` is the list of the tiles, and `_tiles` yields them one by one: the head
# of queries `n` (here not the number of tokens), the head of keys `h` (another number,
# if several heads of queries share one), the block of queries `i`, the block of keys
# `j`, and its mask, `allowed`. `_scores` computes a tile; `terms` contains the scale
# and what is added to the scores, such as positions. `z` is the factor of dropout.
#
# How many tiles of 64 by 64 does a mask need at 1024 tokens?

# %%
for mask in (masks.causal(), masks.sliding_window(255, 0), bigbird):
    tiles = BlockMask.from_mask(mask, 1024, 1024, block=(64, 64))
    allowed, full = mask.dense(1, 1, 1024, 1024).mean(), 1 - tiles.sparsity()
    print(f"{mask!r:32s} computes {full:.0%} of tiles, allows {allowed:.0%} of pairs")

# %% [markdown]
# Is tiled attention faster because of its tiles? Dense and tiled once more, both
# compiled and both in plain NumPy:

# %%
faster = {}
for kind in ("compiled", "NumPy"):
    both = [run[kind]["variants"] for run in kept["runs"]]
    for i, n in enumerate(both[0]["tiled"]["n"]):
        x = [(run["dense"]["least"][i], run["tiled"]["least"][i]) for run in both]
        faster[kind, n] = np.divide(*np.transpose(x))
    ratios = (f"{n}: {faster[kind, n].mean():.2f}" for n in (512, 2048, 4096))
    print(f"{kind}: dense takes so many times as long:", "   ".join(ratios))

# %% [markdown]
# In NumPy, tiles save memory and cost time: each of them takes many short calls. If one
# compiled loop computes a whole tile, the tiles save time as well.
#
# ## Further: what does each way cost, on paper?
#
# One head of width 64. The window has 256 keys. The first four columns are
# multiplications, the last four are bytes of a call beside its inputs, by formulas; at
# the end, the bytes that are measured for 1024 tokens, over those of the formula:

# %%
lengths = [1024, 4096, 32_768, 2**20]
heads = [f"{n:,}" if n < 2**20 else "2^20" for n in lengths]
print("n      ", *(f"{h:>7s}" for h in heads), "", *(f"{h:>8s}" for h in heads))
for way, options in ways.items():
    costs = [cost_of(way, L=n, **options) for n in lengths]
    print(f"{way:7s}", *(f"{c.multiplications:.1e}" for c in costs), end="  ")
    print(*(f"{size(4 * numbers_held(way, n)):>8s}" for n in lengths), end=" ")
    print(f"{trials.measured(way, 1024) / (4 * numbers_held(way, 1024)):.1f}")

# %% [markdown]
# ## Further: can linear attention find one key among many?
#
# Draw $n$ random keys of width 64, and let the query be the first key, four times as
# long. The right key then has a scaled score of $4 \cdot 64 / 8 = 32$ on average. The
# others have scores near 0, with a standard deviation of 4. What weight does the right
# key get?

# %%
d, counts = 64, np.array([4, 16, 64, 256, 1024])
found = {"softmax": [], "linear": []}
for n in counts:
    k = rng.normal(size=(50, n, d))
    q = 4 * k[:, :1]  # the first of each
    e = (q @ k.swapaxes(1, 2))[:, 0] / d**0.5  # (50, n)
    found["softmax"].append(mg.softmax(e).data[:, 0].mean())
    weights = (phi(q) @ phi(k).swapaxes(1, 2))[:, 0]  # (50, n)
    found["linear"].append((weights[:, 0] / weights.sum(1)).mean())

# %% [claims]
keys = np.random.default_rng(1).normal(size=(100, 256, d))
first, one = 4 * keys[:, :1], np.eye(256)[None, :, :1]  # one: the output is its weight
soft = mg.softmax((first @ keys.swapaxes(1, 2))[:, 0] / d**0.5).data[:, 0]
ratio = linear_attention(first, keys, one.repeat(100, 0)).data[:, 0, 0] / soft
claim("notes", "linear attention loses expressivity (weight on the right one of 256 "
      "keys, over that of a softmax: below 0.5)", below(0.5), over_draws(ratio))

# %% [figure]
alt = f"""Weight on the right key against the number of keys, logarithmic. Softmax stays
at {found["softmax"][-1]:.2f} for 1024 keys; linear attention falls like 1/n, from
{found["linear"][0]:.2f} at 4 keys to {found["linear"][-1]:.4f}."""
fig, ax = figure("Can one key be found among n?", size=(5.6, 3.2))
for words, y, colour, style in (
    ("softmax", found["softmax"], BLUE, "o-"),
    ("linear", found["linear"], ORANGE, "s-"),
    ("by chance", 1 / counts, GREY, ":"),
):
    ax.loglog(counts, y, style, color=colour)
    ax.annotate(words, (counts[-1], y[-1]), (6, 0), color=colour, va="center",
                textcoords="offset points")  # fmt: skip
ax.set(xlabel="keys n", ylabel="weight on the right key", xlim=(3, 4500))
show(fig, "find", alt)

# %% [markdown]
# With 1024 keys, linear attention gives the right key
# {{ f"{found['linear'][-1] * 1024:.1f}" }} times its share by chance, and softmax
# nearly all the weight. With random keys, linear attention averages and does not pick
# out one key. In the trained task above it did much better, where the model learns
# its keys. The rank stays a limit.
#
# ## Further: is it faster than a recurrence?
#
# A recurrent network reads 1000 tokens in 1000 steps, one after the other. Attention
# has no such order. The record of the clock has a GRU and self-attention (tiled, with
# projections, heads of width 64) that read one sequence on one thread:

# %%
gains = {}
for kind, widths in (("compiled", ("64", "512")), ("NumPy", ("64",))):
    for d in widths:
        both = [run[kind]["recurrence"][d] for run in kept["runs"]]
        found = np.array([np.divide(x["GRU"], x["self-attention"]) for x in both])
        gains[f"width {d}, {kind}"] = both[0]["n"], found  # (runs, lengths)
print("time of the GRU, divided by that of self-attention")
for words, (n, found) in gains.items():
    row = (f"{x:5.2f} at {length}" for length, x in zip(n, found.mean(0)))
    print(f"{words:19s}", "  ".join(row))

# %% [markdown]
# The answer depends on the width $d$, on $n$ and on the program. The GRU needs
# $6 n d^2$ multiplications, self-attention $4 n d^2$ for its projections and $2 n^2 d$
# for its pairs. So for $n > d$ self-attention is more work. What it gains is that its
# products are large, where the GRU multiplies a matrix with one vector at a time. With
# the width 512 this gain is many times larger than with the width 64.
#
# ## Further: what the texts say
#
# > **The book says** (6.4.4) that the advantage over a recurrence "grows with sequence
# > length and with hardware capacity". On one thread it falls from 1024 tokens to 4096
# > with both widths, because pairs grow like $n^2$ and steps like $n$. It would grow on
# > hardware that computes all pairs at the same time; this we have not measured.

# %% [claims]
for width in ("64", "512"):
    lengths, found = gains[f"width {width}, compiled"]
    late, early = (found[:, lengths.index(n)] for n in (4096, 1024))
    claim("6.4.4", "its advantage over a recurrence grows with length (gain in time "
          "at 4096 tokens over the gain at 1024, one thread, both compiled, width "
          f"{width})", above(1), timed(late / early))

# %% [markdown]
# > **The book says** (the notes) that FlashAttention is two to four times as fast. That
# > was measured on GPUs. On this processor, tiled attention is
# > {{ f"{np.mean(faster['compiled', 8192]):.1f}" }} times as fast as dense attention at
# > 8192 tokens if both are compiled. The notes say that a sliding window "(Longformer,
# > Mistral)" has "global tokens": Longformer's has. That of Mistral, a language model,
# > has none, and looks back only. (Longformer has a second set of $W_q$, $W_k$ and
# > $W_v$ for its global tokens, at first a copy: `LongformerAttention`.) And they say
# > that BigBird costs "$O(n)$ or $O(n \sqrt n)$". It is the first. The second is the
# > cost of *strided* patterns, in which a token sees the last $\sqrt n$ tokens and
# > every $`\sqrt n`$-th before them, as in the Sparse Transformer (Child and others
# > 2019).

# %% [claims]
row = masks.sliding_window(256, 256).dense(1, 1, 1024, 1024)[0, 0, 512]
claim("notes", "a window of 512 neighbours (Longformer: half of them on either side)",
      "512", int(row.sum()) - 1)
for name in ("tiled", "linear"):
    claim("notes", f"{name} attention: memory grows with n (factor when n doubles: "
          "2.0)", "2.0", growth[name][1])
claim("notes", "BigBird may cost n to the 1.5 (exponent)", "1.5",
      np.log2(growth["bigbird"][0]))
claim("notes", "FlashAttention is two to four times as fast (on a GPU; here 8192 "
      "tokens on a processor, both sides compiled)", between(2, 4),
      timed(faster["compiled", 8192]))

# %% [markdown]
# > **The book says** (6.4.3) that below 2048 tokens "the quadratic cost is affordable
# > on modern hardware". The measured times make no jump there. It says (38.9) that "the
# > Q/K/V structure was actually introduced in 1991 by Schmidhuber". His *fast weight
# > programmer* is causal linear attention without $\phi$ and the division (Schlag and
# > others 2021), the loop over $W$ above. The softmax is not there.

# %% [claims]
claim("38.9", "Q, K and V are there in the fast weights of 1991", YES, same,
      "as causal attention without softmax and division")

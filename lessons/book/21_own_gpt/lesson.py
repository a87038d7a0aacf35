"""21  Your own GPT  ●●●○  45 min  importance ★★  needs 10, 11

What does a program need to write prose, and which parts of it are yours already?
"""

# %% [markdown]
# "The key is near the q…" You know how this goes on. A *language model* gives each
# possible next token a probability; drawn again and again, the tokens become a text.
# A *GPT* is such a model made of causal attention. Its parts are exercises: softmax and
# its backward (E.2), masks (E.7), heads (E.10), rotary positions (E.11).
#
# **Why it matters:** this model, with more layers and more text, is what writes and
# answers in the chat programs of today.

# %% [folded]
import itertools
import math
from collections import Counter
from importlib import import_module
from textwrap import wrap

import numpy as np

import minigrad as mg
from attention.app.experiments.writing_text import BytePairs, trigram_bits
from attention.decoding.sampling import filtered_probabilities
from attention.published import bpe
from attention.tasks.grammar import splits
from lessons.classroom.records import how_made, record
from lessons.instrument.verdict import over_seeds, written
from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, figure, show

own = import_module("lessons.book.21_own_gpt.experiment")

# %% [markdown]
# ## What is a token?
#
# The pages of this book have about a hundred different characters. With characters as
# tokens the vocabulary is small and a text is long: attention compares all pairs, so a
# text of twice the tokens costs four times as much. With words as tokens a text is
# short, but the vocabulary is large, and a new word has no token.
#
# [*Byte-pair encoding*](../../GLOSSARY.md#byte-pair-encoding) (Sennrich and others
# 2016) lies between. It begins with single characters, and joins the most frequent pair
# of neighbours to one token, again and again. The joined pairs, in their order, are the
# *merges*. Which pairs do you expect first from the words of this text?

# %%
text = (
    "a query looks at all keys . the key that fits the query best has the largest "
    "weight , and the weights of all keys sum to one . the value of a key is what the "
    "query reads if the key fits ."
)
words = {f" {word}": n for word, n in Counter(text.split()).items()}
words = {bpe.symbols(word.encode()): n for word, n in words.items()}
merges = bpe.learned(words, 24)
shown = ["".join(pair).replace("Ġ", "_") for pair in merges]
print(" ".join(shown[:12]))
print(" ".join(shown[12:]))

# %% [markdown]
# `_` is a space. It belongs to the word after it, so that a text can be put together
# again without a rule for spaces. Frequent words have become one token, and the others
# are cut into pieces. How many tokens does a sentence need that is new?

# %%
sentence = "the weight of a new key fits the largest query"
for n in (0, 6, 12, 24):
    pairs = BytePairs(merges[:n])
    ids = pairs.encode(f" {sentence}")
    tokens = [pairs.decode([i]).replace(" ", "_") for i in ids]
    print(f"{n:2d} merges: {len(ids):2d} tokens   {' '.join(tokens[:9])} …")

# %% [markdown]
# `_the` is one token, `_weight` is two, and `_new`, which the text has not, is cut into
# letters: every word has tokens. They are made of *bytes*, so that this also holds for é
# and 中. Exercise E.25 asks for the merges.
#
# ## How good is a prediction?
#
# Let $p_t$ be the probability that the model gives to the token that really comes at
# place $t$. The model is good if it is seldom surprised:
#
# ```math
# \text{bits per character} = -\frac{1}{N} \sum_t \log_2 p_t
# ```
#
# with $N$ characters in the text. A model that gives all $V$ characters the same
# probability needs $\log_2 V$ bits for each. As tokens may be longer than characters,
# we divide by the characters: so models with different tokens can be compared.
#
# The least that attention has to beat is *counting*. A trigram model counts, for each
# two characters, which ones followed them. Where it has seen little, it trusts shorter
# contexts. We take sentences of the course's English grammar, and hold some out.

# %%
pairs = splits("english-german", train=2000, seed=21)
train, held = (
    "\n".join(" ".join(pair.source) for pair in part)
    for part in (pairs.train, pairs.test)
)
V = len(set(train + held))
print(train[:75].replace("\n", " | "))
print(f"all {V} characters alike   {math.log2(V):.2f} bits per character")
for n in (100, 1000, 10_000, len(train)):
    print(f"counts of {n:6d} characters {trigram_bits(train[:n], held, V):.2f}")

# %% [markdown]
# Counting two characters back is far better than nothing, and more text soon stops to
# help: what decides the next word of a sentence stands further back than two
# characters. To look further back, counting needs contexts that never occur twice.
# Attention does not count contexts, it compares.
#
# ## The model, from your parts
#
# | part | yours, of |
# |---|---|
# | the scores' softmax over earlier tokens, with its backward | E.7, `masked_softmax` |
# | the division into heads, and back | E.10, `split` and `join` |
# | rotation of queries and keys by their positions | E.11, `rope` |
# | the hidden layer of the feed-forward network, and the loss | E.2, `tanh` and `log_softmax` |
#
# `python -m lessons start E.2` begins the first of them. Layer norm, the matrix
# products, and Adam are the library's. If you have not solved one of the exercises, the
# course's answer takes its place, and the command below says so. These are the forward and the attention of the model; each of your functions is an
# operation with its own backward.

# %% [source] lessons.book.21_own_gpt.experiment.Gpt.forward

# %% [source] lessons.book.21_own_gpt.experiment.Gpt.attend

# %% [markdown]
# `x` is what a token knows. Attention adds to it what other tokens know, the
# feed-forward network what follows from it, and a layer norm stands before both
# (lesson 10). The last line compares the result with every token's embedding. Is it the
# model that the library has? `DecoderOnly` has the same parameters here.

# %%
rng = np.random.default_rng(21)
gpt = own.Gpt(own.Parts(own.answers()), vocabulary=30, rng=rng)
ids = rng.integers(0, 30, size=(2, 20))
z = gpt.library(ids[:, :-1])
print("parameters:     ", gpt.num_parameters())
print("the same logits:", np.allclose(gpt(ids[:, :-1]).data, z.data, atol=1e-4))
loss, same = gpt.loss(ids), mg.cross_entropy(z, ids[:, 1:])
print("the same loss:  ", np.isclose(loss.item(), same.item(), rtol=1e-5))
print(f"bits per token:  {loss.item() / math.log(2):.1f}, of {math.log2(30):.1f} alike")

# %% [folded]
gradients = []
for each in (loss, same):
    gpt.zero_grad()
    each.backward()
    gradients.append([p.grad.copy() for p in gpt.parameters()])
close = [
    np.allclose(a, b, rtol=1e-3, atol=1e-5 * np.abs(b).max()) for a, b in zip(*gradients)
]
print(f"equal gradients of {sum(close)} of {len(close)} parameters")

# %% [markdown]
# The backward passes that you derived, put together, are the gradient of the whole
# model. Before training it is worse than chance: its logits are large and mean nothing.
#
# ## Train it
#
# ```sh
# python -m lessons experiment 21          # your parts, on the pages of this book
# python -m attention write train          # the library's model, compiled
# python -m attention write train --text FILE --vocabulary 512
# python -m attention write run lessons/work/own_gpt "The query"   # the first model
# python -m attention write run runs/write "The query"             # the second one
# python -m attention write run "The query"   # a model of this book, in the package
# ```
#
# The first command trains the model above, with the text of this book. It takes five
# minutes on two cores, prints a sample every thirty seconds, and can be stopped with
# Ctrl-C and started again. Watch the order in which the samples become better: first the
# frequency of letters, then spaces and short words, then words, at last the form of a
# page, with its headings and its code. The other commands are faster: they train on any
# file, with characters or byte pairs, and print the bits per character beside the two
# baselines.
#
# How many bits do you expect, if counting two characters back is the least to beat?
# This is the record of the first command, with the course's answers in place of yours.
# Beside it stands the library's model with its usual settings: GELU in place of tanh,
# biases, and other pairs for RoPE. Which of them makes the difference was not tested.

# %% [folded]
def more(name):
    """Say by how many bits the long run is above or below a baseline."""
    gap = kept["baselines"][name] - kept["long"]["bits"]
    return f"{abs(gap):.2f} {'fewer' if gap > 0 else 'more'}"


kept = record("own_gpt")
long, size = kept["long"], kept["size"]
even = np.mean(1 / np.arange(own.REPEATED + 1, 2 * own.REPEATED + 1))
print(how_made(kept))
by_seed = {
    arm: [run["bits"] for run in kept["short"] if run["arm"] == arm] for arm in own.ARMS
}
gap = over_seeds(np.subtract(*by_seed.values()).tolist())
print(f"\n{own.bits(kept)}")
print("\nyours minus the library's:", written(gap))

# %% [markdown]
# The text has {{ f"{kept['characters'][0]:,d}" }} characters to learn from, and
# {{ f"{kept['characters'][1]:,d}" }} are held out, from all pages. The model reads
# {{ size["context"] }} characters in {{ size["layers"] }} layers of width
# {{ size["width"] }}, with {{ size["heads"] }} heads each. After all steps it needs
# {{ f"{long['bits']:.2f}" }} bits, {{ more("counted trigrams") }} than counting. What
# does it write on the way, at the temperature {{ f"{own.TEMPERATURE}" }}? Each sample continues
# the same held-out characters, which end within a word:

# %% [folded]
steps = list(long["samples"])
for step in (*steps[:2], steps[-1]):
    lines = (wrap(line, 74) for line in long["samples"][step].splitlines())
    parts = itertools.chain.from_iterable(lines)
    print("\n".join([f"step {step}:", *(f"    {part}" for part in parts)]))

# %% [markdown]
# ## What could attention do that counting cannot?
#
# To count further back than two characters needs ever more text. A head can look at any
# token. A text often repeats itself: where did the present token occur before, and what
# followed it? A head that looks there is an *induction head* (Olsson and others 2022).
# It needs two layers: the first tells each token its predecessor, and the second
# compares the present token with these predecessors. No training is needed to build
# one. Take one-hot tokens $x_i$, let the first layer write $`x_{k-1}`$ into token $k$ (0
# into the first), and score with $`s_{ik} = \beta\, x_i \cdot x_{k-1}`$ for $k \le i$.
# A large $\beta$ makes the weights sharp. Which keys get the weight?


# %% [folded]
exercise = own.find("E.26")
answer = own.functions(exercise.answer_text, str(exercise.file))

# %% [figure]
word = list("abracadabra")
letters = sorted(set(word))
p, _ = answer.two_heads(np.eye(30)[[letters.index(c) for c in word]], 6.0)
fig, ax = figure("What does the built head look at?", size=(4.6, 4.2))
ax.grid(False)
image = ax.imshow(p, cmap="Reds", vmin=0, vmax=1)
ax.set_xticks(range(len(word)), word)
ax.set_yticks(range(len(word)), word)
ax.set(xlabel="the token that is looked at", ylabel="the token that looks")
fig.colorbar(image, ax=ax, label="weight")
on = [float(p[i, k]) for i, k in ((8, 2), (9, 3))]
show(
    fig,
    "induction",
    alt=f"Weights of the built head for abracadabra. The second b looks at the first r "
    f"with the weight {on[0]:.2f}, and the second r at the second a with {on[1]:.2f}: "
    f"what followed them before. The letters a look at everything that followed an a.",
)

# %% [markdown]
# Letters that occur for the first time, as c and d, have no place to look at, and
# spread their weight. The mean weight on the right places, over the tokens that have
# such a place, is the *induction score* of a head (E.26). It needs no labels, so it can
# be read off any trained model: repeat a random text, and look where each head looks in
# the second half. In a random text of {{ kept["repeated"] }} different characters a head
# that looks at all places alike has a score of about {{ f"{even:.2f}" }}.
#
# Does your GPT have such a head? In prose, few things are repeated exactly within
# {{ size["context"] }} characters, so it has had little reason. Beside it stands a
# second model with the same parts and sizes. Its training had
# {{ kept["repeats"]["steps"] }} steps, and in every second window the second half
# repeated the first, {{ kept["repeated"] }} characters later. "Prose" and
# "rep." are the two models. The scores are those in random texts that are repeated
# after {{ str(own.REPEATED) }} characters, as in the second model's training, and after
# {{ str(own.OTHER) }}:

# %% [folded]
print(own.heads(kept))

# %% [folded]
repeats = kept["repeats"]
of_prose, at_32 = (np.array(run["induction"]) for run in (long, repeats))
best = np.unravel_index(at_32.argmax(), at_32.shape)
at_24, as_before = (
    np.array(repeats["other"][name])[best] for name in ("induction", "as before")
)
on_first = np.max([kept[name]["on_first"] for name in ("long", "repeats")])

# %% [markdown]
# The largest score of the first model is {{ f"{of_prose.max():.2f}" }}, that of the
# second {{ f"{at_32.max():.2f}" }}. Is this an induction head? With a repetition
# after {{ str(own.OTHER) }} characters the same head has {{ f"{at_24:.2f}" }} on the
# right places, and still {{ f"{as_before:.2f}" }} on what stands
# {{ str(own.REPEATED - 1) }} characters back. So it does not compare tokens, it looks at
# a fixed distance: in its training the answer always stood there, and RoPE makes a
# distance easy to see. One test with the distance of the training would have shown
# the opposite. What does each model gain from a repetition, in bits per character?

# %% [folded]
print(own.repetition(kept))

# %% [folded]
def saved(row):
    """Return by how many bits per character a repetition costs less than the text."""
    return row["first"] - row["again"]


rows = repeats["without"]

# %% [markdown]
# A random text costs more than a uniform guess,
# {{ f"{math.log2(kept['characters'][2]):.2f}" }} bits, because
# it is not like prose. (Prose is here that of the first held-out windows only.) Its
# repetition after {{ str(own.REPEATED) }} characters saves the second model
# {{ f"{saved(rows['none']):.2f}" }} bits; without its best two heads
# {{ f"{saved(rows['best two']):.2f}" }}, and without the two of the smallest scores
# {{ f"{saved(rows['others']):.2f}" }}. So these two heads do most of the copying. After
# {{ str(own.OTHER) }} characters the repetition saves
# {{ f"{saved(repeats['other']):.2f}" }}.
#
# These are two models and one book. (The heads were chosen with other random texts.)
# Does a model that has read far more have induction heads? [The next
# lesson](../22_real_model/README.md) looks at a real one.
#
# The first table also has the mean weight in prose on the token before, which the rule
# needs in the first layer, and on the first token of a window. There, real models rest
# much of their weight. Here it is {{ f"{on_first:.2f}" }} at most, and an even share
# would be about {{ f"{even:.2f}" }}.

# %% [figure]
fig = own.picture(kept)
b = long["by_position"]
again = {name: row["again"] for name, row in rows.items()}
show(
    fig,
    "inside",
    alt=f"Left: the bits of the next character by the number of characters that your "
    f"GPT has read, from {b[0]:.2f} after one to {b[-1]:.2f} after {len(b)}. Right: the "
    f"bits of a random text and of its repetition: "
    f"{kept['long']['without']['none']['again']:.1f} after prose, {again['none']:.1f} "
    f"after repetitions, {again['best two']:.1f} there without the best two heads, and "
    f"{repeats['other']['again']:.1f} with another distance.",
)

# %% [markdown]
# Left: with one character the model knows little. From about the tenth on, more
# characters hardly help this model.
#
# ## From probabilities to a text
#
# The most probable token each time gives a dull text that soon repeats itself. Drawing
# from the probabilities $p$ gives a lively one, with mistakes: many tokens are
# improbable alone, and likely together. Three numbers stand between the two. The
# *temperature* $T$ divides the logits; *top-k* keeps the $k$ most probable tokens;
# *top-p* keeps the most probable ones until their sum reaches a share (Holtzman and
# others 2020). Take a distribution over 40 tokens with a long tail.

# %%
logits = -2 * np.log(np.arange(1, 41))  # (V,): the probabilities fall as 1 / rank^2
cases = {
    "T = 1": {}, "T = 0.5": {"temperature": 0.5}, "T = 1.5": {"temperature": 1.5},
    "top-k, 10": {"top_k": 10}, "top-p, 0.9": {"top_p": 0.9},
}  # fmt: skip
found = {name: filtered_probabilities(logits[None], **c)[0] for name, c in cases.items()}
print("               first   rank 10 and on   tokens that can be drawn")
for name, q in found.items():
    print(f"{name:12s} {q[0]:7.2f}  {q[9:].sum():15.4f}  {(q > 0).sum():20d}")

# %% [markdown]
# A temperature below 1 makes the tail small and never empty; top-k and top-p cut it
# off. The number that top-p keeps depends on the distribution: few where the model is
# sure, many where it is not. With top-k it is always $k$. You write all three in E.27.
#
# ## The cache
#
# To write token $n + 1$ the model needs the keys and values of all $n$ tokens before.
# They do not change: a token sees only earlier ones. With a *cache* each step computes
# the queries, keys and values of one token and compares one query with $n$ keys.
# Without it all is computed again, which is $n$ times as much:


# %%
def products(n, D, layers, cached):
    """Return the multiplications for token n + 1 in layers of width D."""
    tokens = 1 if cached else n
    maps = 12 * D * D * tokens  # q, k, v, o: 4 D^2; feed-forward network: 8 D^2
    scores = 2 * D * n * tokens  # q k^T and p v, all heads together
    return layers * (maps + scores)


print("tokens so far   with a cache   without   ratio")
for n in (16, 64, 256, 1024):
    a, b = (products(n, own.SIZE["width"], own.SIZE["layers"], c) for c in (True, False))
    print(f"{n:12d} {a:14,d} {b:12,d} {b // a:6d}")

# %% [markdown]
# And on a clock, for all tokens of a text? (Greedy texts of the record, the fastest of
# three. They are longer than those of the training, which matters for what they say and
# not for the time.)

# %% [folded]
print(own.speed(kept))

# %% [markdown]
# ## Two models write faster than one
#
# In a large model, reading a few tokens in one pass takes hardly longer than reading
# one: most of the time goes into reading the weights. So a small model drafts some
# tokens, with its distribution $q$, and the large one, with $p$, reads all drafts at
# once. It keeps the
# draft $x$ with the probability $\min(1, p_x / q_x)$. Otherwise it draws from what $q$
# misses, in proportion to $\max(p - q, 0)$. This is *speculative decoding* (Leviathan
# and others 2023; Chen and others 2023). Do the tokens then still have the distribution
# $p$? Three words are enough to count all cases.

# %% [folded]
p, q = np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.3, 0.4])
exercise = own.find("E.28")
answer = own.functions(exercise.answer_text, str(exercise.file))
accepted, both = np.minimum(p, q), answer.outcome(p, q)
print("word  p     q     drafted and kept   replaced by it   sum")
for v in range(3):
    replaced = both[v] - accepted[v]
    print(
        f"{v:4d}  {p[v]:.2f}  {q[v]:.2f}  {accepted[v]:16.2f}   {replaced:14.2f}   "
        f"{both[v]:.2f}"
    )

# %% [markdown]
# The sum is $p$ for each word: what is drafted too often is kept less often, and what is
# drafted too seldom replaces it. A draft is kept with the probability
# $\sum_v \min(p_v, q_v)$, here {{ f"{accepted.sum():.2f}" }}: the closer the two models
# are, the more tokens come from one pass. The text is that of the large model in any
# case. E.28 is this rule, with fractions in place of rounded numbers.
#
# ## What would break it?
#
# A model of this size has read less than a megabyte. It learns the form of this book,
# not what it says. Its held-out text comes from the same pages. Other prose was not
# tried. A head's score in texts with one distance says little, as seen. And a
# temperature or a top-p that suits one model need not suit another.
#
# **A GPT is a loop around functions that you have written: it draws the next token, and
# learns by making the tokens of a text less surprising.**
#
# Exercises: E.25 (byte-pair merges), E.26 (the induction score), E.27 (temperature,
# top-k, top-p) and E.28 (speculative decoding): `python -m lessons start E.25`.

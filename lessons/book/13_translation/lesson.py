"""13  Translation  ●●○○  60 min  importance ★★  needs 02, 03

Does a translator look at the right word?
"""

# %% [markdown]
# "The black cat is sitting" is in French "le chat noir est assis". A model with
# attention writes "black" from the French sentence, and a picture of its weights shows
# that it looks at "noir". Does it always look at the right word? And is this why it
# translates well?
#
# Attention became known in translation. Two things are often said of it: it helps
# *more* the longer the sentence is, and it looks where it should. A picture cannot
# prove either. This lesson measures both. Two small grammars write the sentences, so
# that all translations are known, and also which words belong together.

# %%
import io
import json
import textwrap

import numpy as np

import minigrad as mg
from attention.app.experiments.scoring import reference_weights
from attention.app.pretrained import EN_FR
from attention.decoding.beam import hypotheses
from attention.decoding.sampling import filtered_probabilities
from attention.metrics import alignment as metrics
from attention.metrics.bleu import bleu_parts
from attention.seq2seq.translator import load
from attention.tasks.batch import EOS
from attention.tasks.batching import in_order
from attention.tasks.grammar import splits
from attention.tasks.vocabulary import UNK
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.patterns import alignment_pattern
from lessons.instrument.verdict import above, below, between, over_seeds, verdict
from lessons.pages.figures import BLUE, GREEN, GREY, ORANGE, figure, show
from minigrad import safetensors

LOOKS = {
    "none": (GREY, "v"), "attention": (ORANGE, "o"), "additive": (ORANGE, "o"),
    "GRU": (ORANGE, "o"), "dot": (BLUE, "s"), "Transformer": (BLUE, "s"),
    "general": (GREEN, "^"),
}  # fmt: skip

# %% [markdown]
# ## How does one read a heatmap?
#
# An [alignment](../../GLOSSARY.md#alignment) says which target words belong to which
# source words. Each pair of a target word and a source word that belong together is a
# *link*. Here are a source, a target, and the right links. A textbook prints weights
# for them, made up by hand (6.5.3):

# %%
source = ["le", "chat", "noir", "est", "assis"]
target = ["the", "black", "cat", "is", "sitting"]
book = np.array(
    [[0.80, 0.10, 0.05, 0.03, 0.02], [0.05, 0.10, 0.75, 0.05, 0.05],
     [0.05, 0.80, 0.08, 0.04, 0.03], [0.04, 0.04, 0.04, 0.82, 0.06],
     [0.03, 0.03, 0.03, 0.06, 0.85]]
)  # fmt: skip
gold = {(0, 0), (1, 2), (2, 1), (3, 3), (4, 4)}  # (target, source)

# %% [markdown]
# ![links](figures/links.svg)
#
# *Le chat noir est assis, above the black cat is sitting. Five links: the, is and
# sitting go straight up; black goes to noir and cat to chat, and these two cross.*
#
# To turn a heatmap into a number, link each target word to the source word that it
# looks at most. Compare these links with the right ones. The *alignment error rate*,
# AER, is 0 if both sets of links are equal, and 1 if they have no link in common:
#
# ```math
# \mathrm{AER} = 1 - \frac{2\,|A \cap G|}{|A| + |G|}
# ```
#
# | letter | meaning |
# |---|---|
# | $A$ | the links that the weights give, one for each target word |
# | $G$ | the right links, called *gold* |
# | $A \cap G$ | the links in both |
# | $`\lvert A \rvert`$ | the number of links in $A$ |
#
# $A$ has one link for each target word. Where a target word has two right links, one of
# them is always missing, so AER cannot be 0 there. The smallest possible rate of our
# test sentences is computed below.
#
# A rate needs a baseline. Link the words along a straight line from the first pair to
# the last: of $T$ target words counted from 0, the word $t$ with the source word
# $t (S - 1)/(T - 1)$, rounded. This *diagonal* uses only the places of the words, not
# the words. How well does it do? (The library also gives the heatmap a name. A pattern
# is called "reordering" if the largest weight often moves back from one row to the
# next.)

# %%
straight = np.eye(5)
print("rows sum to 1:", np.allclose(book.sum(1), 1), end="   ")
print("pattern:", alignment_pattern(book))
print(f"AER {metrics.alignment_error_rate(book, gold):.2f}", end="   ")
print(f"of the diagonal {metrics.alignment_error_rate(straight, gold):.2f}")

# %% [markdown]
# The hand-made weights are right, and the diagonal alone has three of five. So a rate
# has to be compared with that of the diagonal.
#
# > **The book says** (6.5.3) that Bahdanau's picture shows French to English. It shows
# > English to French.
#
# ## Where do sentences come from?
#
# A small grammar writes one meaning in two languages, and records which words say the
# same. Here are three pairs of English and French. Below each pair stand the linked
# words that stand at different places of their sentences, because the order changes or
# because one side has had more words so far:


# %%
def say(head, words):
    indent = {"initial_indent": "    ", "subsequent_indent": "    "}
    print(head, textwrap.fill(" ".join(words), 76, **indent), sep="\n")


pairs = splits("english-french", 4000, 100, 200).test
for pair in (pairs[1], pairs[4], pairs[5]):
    say(" ".join(pair.source), pair.target)
    crossed = [(t, s) for t, s in sorted(pair.alignment) if t != s]
    print("   ", ", ".join(f"{pair.target[t]}-{pair.source[s]}" for t, s in crossed))

# %% [markdown]
# Some adjectives stand behind their noun ("noire", "triste"), others before it, and
# pronouns stand before the verb. One word may stand for two ("au" is "to the"), and two
# words for one.
#
# ## How good is a translation?
#
# There are many good translations of one sentence. [BLEU](../../GLOSSARY.md#bleu)
# (Papineni and others 2002) compares a translation with a *reference*, the translation
# of a person, or here of the grammar. It counts the runs of one, two, three and four
# words that both have. Single words say whether the right words are there, longer runs
# whether they stand in the right order. The four shares are multiplied, so that a
# translation must do well in all of them, and the fourth root makes the product a share
# again, their geometric mean:
#
# ```math
# \mathrm{BLEU} = 100\; \mathrm{BP}\; (p_1\, p_2\, p_3\, p_4)^{1/4}, \qquad
# \mathrm{BP} = \min\big(1,\, e^{1 - r/c}\big)
# ```
#
# | letter | meaning |
# |---|---|
# | $p_n$ | of the runs of $n$ words in the translation, the share that stands in the reference, too |
# | $c$, $r$ | the number of words of the translation and of the reference |
# | BP | the *brevity penalty*: below 1 if the translation is too short |
#
# The penalty is necessary, because a translation of four right words has all its runs
# right. If no run of four words is right, the product is 0. Then the library counts
# half a run as right (*smoothing*), so that BLEU is 0 only if no word at all is right.
# Here is an example, with one word missing. (No run occurs twice in it. In general, a
# run that stands twice in the translation counts twice only if it stands twice in the
# reference, too.)

# %%
reference = ["the", "black", "cat", "sleeps", "on", "the", "sofa", "."]
shorter = ["the", "cat", "sleeps", "on", "the", "sofa", "."]
p = []
for n in (1, 2, 3, 4):
    runs = [tuple(shorter[i : i + n]) for i in range(len(shorter) - n + 1)]
    there = [tuple(reference[i : i + n]) for i in range(len(reference) - n + 1)]
    p.append(sum(run in there for run in runs) / len(runs))
    print(f"runs of {n}: {sum(run in there for run in runs)} of {len(runs)}")
penalty = np.exp(1 - len(reference) / len(shorter))
by_hand = 100 * penalty * np.prod(p) ** 0.25
same = np.isclose(by_hand, bleu_parts([shorter], [reference]).score)
print(f"BP {penalty:.3f}   BLEU {by_hand:.1f}   the library agrees: {same}")

# %% [markdown]
# For a whole test set the counts of all sentences are added before they are divided.
#
# How sure is a BLEU of 200 sentences? Other sentences would give another number. A
# [confidence interval](../../GLOSSARY.md#confidence-interval) says how much it could
# vary. The *bootstrap* (Efron 1979) finds one without new sentences: draw 200 from the
# 200, with replacement, so that some come twice and some not at all. Compute the
# measure. Repeat 2000 times. The interval holds the middle 95 of 100 results. Here for
# a simpler measure, the mean of ten numbers:

# %%
draw = np.random.default_rng(13)
ten = np.array([1.0, 0, 1, 1, 0, 1, 1, 1, 0, 1])  # ten sentences: right or wrong
means = draw.choice(ten, size=(2000, 10)).mean(1)  # with replacement
low, high = np.percentile(means, [2.5, 97.5])
print(f"share right {ten.mean():.1f}, interval {low:.1f} to {high:.1f}")

# %% [markdown]
# Ten sentences say little. A trained model also varies with its *seed*: other first
# parameters, other batches. The intervals of the tables below, in brackets, are about
# this second kind of chance. Five seeds are trained, the mean is printed, and the
# interval says where the mean of many seeds probably lies ([lesson
# 14](../14_checks_the_book/README.md) has its formula). The test sentences are always
# the same 400.
#
# ## Does attention help more, the longer the sentence?
#
# An encoder-decoder without attention keeps the source in one vector
# ([lesson 02](../02_gru_bottleneck/README.md)). A long sentence should suffer more. So
# translate English into German, where verbs go to the end, with and without attention,
# and compare BLEU for three ranges of lengths.
#
# This is exercise 6.9 of the textbook, which has 500 pairs. We take 500 and 2000
# ([experiment.py](experiment.py)).
#
# Each model needs a fair chance. All have the same sentences and, with the same seed,
# the same batches. Each is trained with the same four learning rates. The rate with the
# best BLEU on 200 *validation* sentences, which are not trained on, is its own. Then
# five other seeds are trained with it, until the BLEU of the validation sentences has
# reached a *plateau*: its mean over the last quarter of the steps differs from that
# over the quarter before by less than the noise, or by less than 1. (After a largest
# number of steps, the *budget*, training ends in any case, and then we say so.) Then
# the rate falls to 0, and only then the 400 test sentences are translated.
#
# One choice was not tuned. All models are trained with
# [dropout](../../GLOSSARY.md#dropout), which sets a share of the numbers to 0 at
# random. The scores have the same share, and so have the GRUs with and without
# attention; the Transformer has a smaller one. With other shares all numbers below, and
# their differences, may be others.
#
# Two translators that learn next to nothing stand beside them. "any" writes some German
# sentence of the training, whatever the source is. "word by word" replaces each word by
# the German word that it was linked with most often, and leaves the order as it is:

# %%
kept = record("translation")
print(how_made(kept))
for size, scores in kept["baselines"].items():
    print(f"{size} pairs, BLEU:", *(f"  {k} {x:.1f}" for k, x in scores.items()))
by_word = {size: each["word by word"] for size, each in kept["baselines"].items()}

# %% [markdown]
# The model with attention has the additive score of [lesson
# 03](../03_additive/README.md), and the model without has wider states, so that both
# have about the same number of parameters. At which length do you expect the largest
# advantage of attention, with 500 pairs?

# %%
parts = ("5-7", "8-10", "11-15")  # words of the source
looking = {"500": "bahdanau, additive", "2000": "GRU"}  # the arms with attention


def bleu(part):  # of a run, for these lengths
    return lambda run: run["bleu"][part]


def written(found, digits=1):
    ends = f"[{found.low:.{digits}f}, {found.high:.{digits}f}]"
    return f"{found.value:.{digits}f} {ends}"


def judged(claimed, found):  # the verdict, and after how many steps without a plateau
    word = f'"{verdict(claimed, found)}"'
    return word if found.steps is None else f"{word}, after {found.steps} steps"


# %%
def trained(comparison, arm):
    runs = [run for run in comparison["runs"] if run["arm"] == arm]
    ended = [run["plateau"] for run in runs]
    steps = np.mean([run["steps"] for run in runs])
    return (
        f"{runs[0]['parameters']:,} parameters, rate {runs[0]['rate']:g}, "
        f"{steps:.0f} steps, plateau {sum(ended)} of {len(ended)}"
    )


# %%
print("pairs, model: BLEU [interval], by words of the source:", ", ".join(parts))
for size, arm in looking.items():
    for name in ("none", arm):
        row = (written(fair.of_arm(kept[size], name, bleu(part))) for part in parts)
        print(f"{size}, {name}: {', '.join(row)}")
        print("   ", trained(kept[size], name))


# %%
def rise(run):  # of BLEU, from the shortest sources to the longest
    return run["bleu"][parts[-1]] - run["bleu"][parts[0]]


growth, ahead = {}, {}
for size, arm in looking.items():
    pair = kept[size], arm, "none"
    ahead[size] = [fair.difference(*pair, bleu(part)) for part in parts]
    growth[size] = fair.difference(*pair, rise)
    print(f"{size} pairs, advantage:", ", ".join(written(x, 0) for x in ahead[size]))
    print(f"    its growth {written(growth[size])}: {judged(above(0), growth[size])}")

# %%
small, large = kept["500"], kept["2000"]
by_part = {
    arm: [f"{fair.of_arm(large, arm, bleu(part)).value:.0f}" for part in parts]
    for arm in ("none", "GRU")
}

# %% [figure]
title = "Does attention help more, the longer the sentence?"
fig, axes = figure(title, columns=len(looking), sharey=True)
alt = "BLEU by length of the source, a point for each of five seeds, and means."
for ax, (size, looks) in zip(axes, looking.items()):
    for i, (name, arm) in enumerate((("none", "none"), ("attention", looks))):
        colour, mark = LOOKS[name]
        y = np.stack([fair.figures(kept[size], arm, bleu(part)) for part in parts], 1)
        at = np.arange(len(parts))  # y: (seeds, parts)
        point = {"marker": mark, "ms": 3, "lw": 0, "alpha": 0.6}
        ax.plot(at + (i - 0.5) * 0.1, y.T, color=colour, **point)
        ax.plot(at, y.mean(0), color=colour, label=name)
        alt += f" {size} pairs, {name}: {', '.join(f'{x:.0f}' for x in y.mean(0))}."
    ax.axhline(by_word[size], ls=":", color=GREY, label="word by word, all lengths")
    ax.set_xticks(at, parts)
    ax.set(title=f"{size} pairs, {len(y)} seeds", xlabel="words of the source")
axes[0].set(ylabel="BLEU", ylim=(0, 104))
fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
show(fig, "bleu", alt)

# %% [markdown]
# With 2000 pairs the expected picture appears. Without attention BLEU falls from
# {{ by_part["none"][0] }} on short sentences to {{ by_part["none"][2] }} on long ones.
# With attention it hardly falls, from {{ by_part["GRU"][0] }} to
# {{ by_part["GRU"][2] }}. So the advantage grows, from
# {{ f"{ahead['2000'][0].value:.0f}" }} to {{ f"{ahead['2000'][2].value:.0f}" }}.
#
# With 500 pairs the advantage is {{ f"{ahead['500'][0].value:.0f}" }} on short
# sentences and {{ f"{ahead['500'][2].value:.0f}" }} on long ones. Does this refute the
# bottleneck? No. The model without attention has
# {{ f"{fair.of_arm(small, 'none').value:.0f}" }} BLEU, where "word by word" has
# {{ f"{by_word['500']:.0f}" }}, and it is as bad at five words. A vector of 84 numbers
# can hold five words easily. So the vector is not what fails here. The model has
# learned the 500 pairs by heart, and unseen sentences hardly at all. What it says of
# them is German, often begins well, and is then about something else. Its *loss*, the
# mean of $-\ln p$ over the target words, is small for the pairs that it has seen, and
# large for the others:

# %%
pairs_de = splits("english-german", 500, 200, 400).test
for i in (0, 2):
    say("reference", pairs_de[i].target)
    for size in ("500", "2000"):
        said = fair.figures(kept[size], "none", lambda run: run["said"][i])[0]
        say(f"without attention, {size} pairs", said.split())


# %%
def loss(part):  # of a run, on sentences of this part
    return lambda run: run["loss"][part]


for size in ("500", "2000"):
    seen, unseen = (fair.of_arm(kept[size], "none", loss(x)) for x in ("train", "test"))
    print(f"{size:4s} pairs: seen {written(seen, 3)}, unseen {written(unseen, 3)}")
n = 200 // small["every"]  # validations in 20 epochs
early, late = (
    fair.of_arm(small, looking["500"], what).value
    for what in (lambda run: run["curve"][n - 1], lambda run: run["curve"][-1])
)

# %% [markdown]
# The textbook trains for 20 epochs, passes through all pairs. With batches of 50 these
# are 200 steps. After {{ n * small["every"] }} steps our model with attention has
# {{ f"{early:.0f}" }} BLEU on validation sentences, and in the end {{ f"{late:.0f}" }}.
# So 20 epochs show how fast a model begins to learn, and not what it can learn.
#
# > **The book says** (exercise 6.9) that with 500 pairs the advantage of attention
# > grows with the length. In this task it changes by {{ written(growth["500"]) }} BLEU
# > with 500 pairs, and the verdict is {{ judged(above(0), growth["500"]) }}: the model
# > without attention translates badly at every length. With 2000 pairs the advantage
# > grows by {{ written(growth["2000"]) }}, and the verdict is
# > {{ judged(above(0), growth["2000"]) }}.

# %% [claims]
from lessons.pages.claims import claim, over_draws

for size in looking:
    claim("ex. 6.9", f"with {size} pairs the advantage of attention grows with length "
          "(BLEU, from 5 to 7 words to 11 to 15)", above(0), growth[size])

# %% [markdown]
# ## Which score translates best?
#
# [Lesson 04](../04_scores/README.md) has three scores. *Additive* has two matrices and
# a tanh, *general* one matrix, and the dot product has no parameter at all. It needs a
# query and a key of one width, so here the encoder reads in one direction. Everything
# else is the same, and only the score differs. Dot and additive come in two orders:
# Bahdanau's decoder attends before its state is updated, Luong's after it. 500 pairs.
# What do you expect of the dot product?

# %%
for arm in small["arms"]:
    print(f"{arm:18s} BLEU {written(fair.of_arm(small, arm))}")
    print(f"    {trained(small, arm)}")

# %%
print("BLEU minus that of additive, in the same order:")
less = {}
for arm in small["arms"]:
    order = arm.split(", ")[0]
    if arm.endswith(("dot", "general")):
        less[arm] = fair.difference(small, arm, f"{order}, additive")
        print(f"{arm:17s} {written(less[arm])}", end=" ")
        print(f"within 2: {judged(between(-2, 2), less[arm])}")


# %%
def gain(run):  # of the last quarter of the steps over the quarter before
    m = len(run["curve"]) // 4
    return np.mean(run["curve"][-m:]) - np.mean(run["curve"][-2 * m : -m])


print("how much more dot gained than additive in the last quarter of the steps:")
closing = {}
for order in ("bahdanau", "luong"):
    closing[order] = fair.difference(small, f"{order}, dot", f"{order}, additive", gain)
    print(f"{order:8s} {written(closing[order])} BLEU")

# %% [figure]
def learning(ax, comparison, arms, by_word):
    """Draw the curve of each run, and at its end the BLEU of the test sentences."""
    for run in (run for run in comparison["runs"] if run["arm"] in arms):
        name = run["arm"].split(", ")[-1]
        colour, mark = LOOKS[name]
        label = name if run["seed"] == comparison["seeds"][0] else None
        x = comparison["every"] * np.arange(1, len(run["curve"]) + 1)
        each = slice(0, None, 1 + len(x) // 80)  # fewer points: a smaller file
        ax.plot(x[each], run["curve"][each], color=colour, lw=0.9, label=label)
        ax.plot(1.2 * x[-1], run["figure"], marker=mark, ms=5, color=colour)
    ax.axhline(by_word, ls=":", color=GREY, label="word by word")
    ax.set(xlabel="steps", ylim=(0, 104))


fig, axes = figure("Which score translates best?", columns=2, sharey=True)
for ax, order in zip(axes, ("bahdanau", "luong")):
    arms = [arm for arm in small["arms"] if arm.startswith((order, "none"))]
    learning(ax, small, arms, by_word["500"])
    ax.set_title(f"{order.title()}'s order, {len(small['seeds'])} seeds each")
axes[0].set_ylabel("BLEU")
handles = axes[0].get_legend_handles_labels()
fig.legend(*handles, loc="outside lower center", ncols=5)
ends = {arm: f"{fair.of_arm(small, arm).value:.0f}" for arm in small["arms"]}
alt = f"""BLEU of validation sentences against steps, 500 pairs, a line for each of
{len(small["seeds"])} seeds, and a mark for the test sentences after the rate has
fallen. The means of the marks are 
{", ".join(f"{x} ({arm})" for arm, x in ends.items())}."""
show(fig, "scores", alt)

# %% [markdown]
# After {{ small["budget"] }} steps the dot product is behind additive by
# {{ f"{-less['bahdanau, dot'].value:.0f}" }} BLEU in Bahdanau's order, and by
# {{ f"{-less['luong, dot'].value:.0f}" }} in Luong's, where its seeds differ much. Most
# of these runs still improved, so the verdict is not "no". In Luong's order the
# distance became smaller in the end, by {{ written(closing["luong"]) }} BLEU, and in
# Bahdanau's by {{ written(closing["bahdanau"]) }}. So in Luong's order a longer
# training may change the answer. A possible reason for the distance, which we have not
# measured: without parameters, the state of the decoder has two tasks. It has to be
# like the states of the encoder that it looks for, and it has to say which words come
# next. In Luong's order an output layer reads context and state together, and can
# separate the two.
#
# > **The book says** (6.3.1, 38.2) that the dot product matches additive attention on
# > BLEU. In this task, at this size, the verdict is
# > {{ judged(between(-2, 2), less["bahdanau, dot"]) }} in Bahdanau's order and
# > {{ judged(between(-2, 2), less["luong, dot"]) }} in Luong's.

# %% [claims]
for order in ("bahdanau", "luong"):
    claim("6.3.1", f"dot matches additive in translation ({order}'s decoder, 500 "
          "pairs: BLEU of dot minus that of additive, within 2)", between(-2, 2),
          less[f"{order}, dot"])

# %% [markdown]
# Does *general* overfit? To *overfit* is to learn the training pairs by heart, and to
# be bad at unseen pairs. So compare the loss of the 500 pairs with that of unseen
# sentences. The larger the gap between them, the more a model overfits:


# %%
def gap(run):
    return run["loss"]["test"] - run["loss"]["train"]


for score in ("additive", "dot", "general"):
    arm = f"bahdanau, {score}"
    seen, unseen = (fair.of_arm(small, arm, loss(part)) for part in ("train", "test"))
    print(f"{score:8s} loss: seen {written(seen, 4)}, unseen {written(unseen, 2)}")
more = {}
for score in ("additive", "dot"):
    arms = "bahdanau, general", f"bahdanau, {score}"
    more[score] = fair.difference(small, *arms, gap, resolution=0.0)
    print(f"gap, general minus {score}: {written(more[score], 2)}")
    print(f"    above 0: {judged(above(0), more[score])}")

# %% [markdown]
# All three learn the 500 pairs by heart. General overfits more than additive: its gap
# is larger by {{ written(more["additive"], 2) }}. Its matrix does not explain this. The
# dot product has none and overfits most: the gap of general minus that of dot is
# {{ written(more["dot"], 2) }}.
#
# > **The book says** (6.3.2) that general "can overfit on small corpora but may provide
# > advantages when ample training data is available". That it overfits more than
# > additive has the verdict {{ judged(above(0), more["additive"]) }}, and more than dot,
# > {{ judged(above(0), more["dot"]) }}. The second part was not measured. With 2000
# > pairs of this grammar additive has {{ f"{fair.of_arm(large, 'GRU').value:.0f}" }}
# > BLEU, so there is nothing to gain.

# %% [claims]
for other in ("additive", "dot"):
    claim("6.3.2", "general can overfit on a small corpus (500 pairs: loss of unseen "
          f"minus seen sentences, of general minus that of {other})", above(0),
          more[other])

# %% [markdown]
# ## Does a Transformer translate better?
#
# A Transformer ([lesson 10](../10_heads/README.md)) has no recurrence: its encoder is
# self-attention, and its decoder attends to its own words and to the source. Take an
# encoder-decoder Transformer, with two blocks in the encoder and two in the decoder,
# beside the GRU with attention. Both learn from 2000 pairs and have about the same
# number of parameters. What do you expect, with so few sentences?

# %%
for arm in ("GRU", "Transformer"):
    print(f"{arm:11s} {trained(large, arm)}")
print("words, BLEU of both, and the difference")
ahead_of_gru = {}
for part in (*parts, "all"):
    both = (fair.of_arm(large, arm, bleu(part)) for arm in ("GRU", "Transformer"))
    ahead_of_gru[part] = fair.difference(large, "Transformer", "GRU", bleu(part))
    print(f"{part:5s}", ",  ".join(written(x) for x in (*both, ahead_of_gru[part])))

# %%
n = 200 // large["every"]  # validations in 200 steps


def begun(run):
    return run["curve"][n - 1]


lead = fair.difference(large, "Transformer", "GRU", begun)
print(f"after {n * large['every']} steps, Transformer minus GRU: {written(lead)}")
slow, fast = (
    next(x for x in large["choices"] if (x["arm"], x["rate"]) == ("GRU", rate))
    for rate in large["rates"][1:3]
)
for one in (slow, fast):
    print(f"the GRU of seed {one['seed']} with rate {one['rate']:g}:", end=" ")
    print(f"{begun(one):.0f}, and {one['validation']:.0f} in the end")

# %% [figure]
names = "GRU", "Transformer", "none"
fig, ax = figure("Does a Transformer translate better?")
learning(ax, large, names, by_word["2000"])
ax.set(title=f"2000 pairs, {len(large['seeds'])} seeds each", ylabel="BLEU")
fig.legend(loc="outside lower center", ncols=5)
ends = {name: f"{fair.of_arm(large, name).value:.0f}" for name in names}
alt = f"""BLEU of validation sentences against steps, 2000 pairs, a line for each of
{len(large["seeds"])} seeds, and a mark for the test sentences after the rate has
fallen. The means of the marks are 
{", ".join(f"{x} ({arm})" for arm, x in ends.items())}."""
show(fig, "transformer", alt)

# %% [markdown]
# The Transformer minus the GRU is {{ written(ahead_of_gru["all"]) }} BLEU, and
# {{ written(ahead_of_gru[parts[-1]]) }} on the longest sentences. That the two are within 2
# BLEU has the verdict {{ judged(between(-2, 2), ahead_of_gru["all"]) }}. And which one
# learns faster? With the rates that are best in the end, the Transformer minus the GRU
# is {{ written(lead) }} BLEU after {{ n * large["every"] }} steps. Another rate changes
# more than that. At that moment one GRU has {{ f"{begun(slow):.0f}" }} BLEU with the
# smaller of two rates and {{ f"{begun(fast):.0f}" }} with the larger, and both end at
# {{ f"{fast['validation']:.0f}" }}. So a comparison after few steps measures the learning
# rate more than the model. (2000 sentences of a small grammar say little about millions
# of sentences, where Transformers are used.)
#
# ## Do the heatmaps agree with the gold alignments?
#
# No alignment was ever shown to the models. The textbook (6.5.3) says that they find it
# nevertheless. We measure AER, the alignment error rate from the beginning of this
# page. While it is measured, a model reads the reference word by word, because the
# right links are known for the reference only. Two baselines stand beside it: the
# diagonal, and links to a random source word ("chance"):

# %%
rates = {}
for size, arms in (("500", small["arms"][:-1]), ("2000", ("GRU",))):
    for arm in arms:
        rates[arm] = fair.of_arm(kept[size], arm, "aer")
        score = fair.of_arm(kept[size], arm)
        print(f"{size:4s} pairs, {arm:18s} AER {written(rates[arm], 2)}", end="   ")
        print(f"BLEU {score.value:.0f}")
one = small["runs"][0]
diagonal = one["aer_diagonal"]
print(f"diagonal {diagonal:.2f}   chance {one['aer_uniform']:.2f}")
better = [arm for arm in rates if verdict(below(diagonal), rates[arm]) == "holds"]
print("better than the diagonal:", "; ".join(better))

# %% [claims]
over = fair.of_arm(
    small, "bahdanau, additive", lambda run: run["aer"] - run["aer_diagonal"]
)
claim("6.5.3", "alignments are found without supervision (500 pairs: error rate, "
      "minus that of the diagonal)", below(0), over)

# %% [markdown]
# No link was ever shown to them, and yet {{ len(better) }} of the {{ len(rates) }} find
# more right links than the diagonal has. The exceptions are general and the dot product
# in Bahdanau's order. General translates with
# {{ f"{fair.of_arm(small, 'bahdanau, general').value:.0f}" }} BLEU and has an AER of
# {{ f"{rates['bahdanau, general'].value:.2f}" }}, about that of the diagonal. So a model
# can translate most words right and look elsewhere.
#
# ## What does a trained model look at?
#
# A trained model of {{ f"{EN_FR.stat().st_size / 1e3:.0f}" }} kB comes with the
# package. It learned 4000 pairs of English and French. Give it three sentences that it
# has not seen. (Exercise 6.7 of the textbook takes a published model of three hundred
# megabytes, and sentences of 5, 15 and 30 words. Our longest sentences have
# {{ max(len(p.source) for p in pairs) }} words, counting the full stop. For 30 words,
# the exercise of this course puts two of them one after the other.)

# %%
translator = load(EN_FR)
for parameter in translator.model.parameters():
    parameter.data = parameter.data.astype(np.float64)  # from 16 bits
chosen = [pairs[1]]
for n in (9, 13):
    chosen.append(next(p for p in pairs if len(p.source) == n and p not in chosen))
weights = reference_weights(translator, chosen)  # (T, S) each
print("words of the sources:", [len(p.source) for p in chosen])

# %% [markdown]
# Each source has two translations here. The model writes its *own* translation. The
# weights below come from reading the *reference*, whose right links are known. First
# its own translations:

# %%
own = [translator.translate(" ".join(pair.source)) for pair in chosen]
for pair, found in zip(chosen, own):
    right = found.target == list(pair.target)
    print(found.text)
    print("    the reference:", "equal" if right else " ".join(pair.target))

# %% [markdown]
# Two are the references, word for word. The third has another tense. Now the weights,
# for the references:

# %%
rates = [metrics.alignment_error_rate(w, p.alignment) for p, w in zip(chosen, weights)]
for w, rate in zip(weights, rates):
    print(f"{alignment_pattern(w):11s} AER {rate:.2f}")

# %% [figure]
def heatmaps(title, panels):
    """Draw weights (T, S) side by side; squares mark the right links."""
    fig, axes = figure(title, columns=len(panels), size=(7.2, 3.6))
    for ax, (name, source, target, w, links) in zip(axes, panels):
        image = ax.imshow(w, cmap="Blues", vmin=0, vmax=1)
        if links:
            t, s = np.array(sorted(links)).T
            squares = {"mfc": "none", "mec": ORANGE, "ms": 7, "mew": 1.2}
            ax.plot(s, t, "s", label="right link", **squares)
        ax.set_xticks(range(len(source)), source, rotation=90)
        ax.set_yticks(range(len(target)), target)
        ax.set(title=name, xlabel="source word: key")
        ax.grid(False)
    axes[0].set_ylabel("target word: query")
    fig.colorbar(image, ax=axes, shrink=0.7, label="weight")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left")
    return fig


panels = [
    (f"reference {i + 1}, AER {rates[i]:.2f}", p.source, p.target, w, p.alignment)
    for i, (p, w) in enumerate(zip(chosen[:2], weights))
]
alt = f"""Attention for two reference translations, French words down, English words
across, with the right links as squares. Most dark fields have a square, also where
adjectives and nouns swap; the rates of error are
{", ".join(f"{x:.2f}" for x in rates[:2])}."""
show(heatmaps("Where does it look?", panels), "heatmaps", alt)

# %% [figure]
pair = chosen[2]
panels = [
    (f"reference, AER {rates[2]:.2f}", pair.source, pair.target, weights[2],
     pair.alignment),
    ("its own translation", own[2].source, own[2].target, own[2].weights, None),
]  # fmt: skip
alt = f"""Attention for the third sentence, twice. Left: for the reference, with squares
at the right links, AER {rates[2]:.2f}. Right: for the model's own translation, which
has another tense, without squares, because its right links are not known."""
show(heatmaps("The third sentence: two targets", panels), "third", alt)

# %% [markdown]
# Do all sentences look like these? The library names the pattern of a heatmap, by the
# source word with the largest weight in each row. It gives the first of three names
# that fits. "many-to-one": a third of the rows or more share their word with an earlier
# row. "reordering": in a tenth of the steps or more, the word stands before that of the
# row above. "diagonal": neither of the two. (Weights that are nearly equal are called
# "uniform". We have none.) The smallest possible AER, with one right link for each
# target word that has any, is printed as well. Does the pattern depend on the length?

# %%
every = reference_weights(translator, pairs)
rate = metrics.corpus_alignment_error_rate(every, [p.alignment for p in pairs])
names = [alignment_pattern(w) for w in every]
linked = sum(len({t for t, _ in p.alignment}) for p in pairs)
both = sum(len(p.target) + len(p.alignment) for p in pairs)  # |A| + |G|
print(f"AER of {len(pairs)} sentences {rate:.2f}, at least {1 - 2 * linked / both:.2f}")
ranges = ((5, 7), (8, 10), (11, 15))
for low, high in ranges:
    some = [n for n, p in zip(names, pairs) if low <= len(p.source) <= high]
    print(f"{low:2d} to {high} words:", {n: some.count(n) for n in sorted(set(some))})

# %% [markdown]
# Are these rows different, or is it chance? Suppose that length has no influence. Then
# the patterns could be shuffled among the sentences. Measure the difference by the sum
# of $(n - m)^2 / m$ over all cells of the table. (It is called Pearson's *chi-square*,
# because shuffled tables give it nearly the distribution that [lesson
# 05](../05_scaling/README.md) calls chi-square.) Here $n$ is a count, and $m$ is the
# count that we would expect if all rows had the same shares of patterns. How often does
# a shuffle give as large a sum?

# %%
row_of = np.array([sum(len(p.source) > high for _, high in ranges) for p in pairs])


def difference(kinds):  # kinds (200,): a number for the pattern of each sentence
    n = np.zeros((3, kinds.max() + 1))
    np.add.at(n, (row_of, kinds), 1)
    m = n.sum(1, keepdims=True) * n.sum(0) / n.sum()
    return ((n - m) ** 2 / m).sum()


# %%
patterns = np.unique(names, return_inverse=True)[1]
swaps = np.array([name == "reordering" for name in names]).astype(int)
chances = []
for what, kinds in (("all patterns", patterns), ("reordering or not", swaps)):
    found = [difference(draw.permutation(kinds)) for _ in range(4000)]
    chances.append(np.mean(np.array(found) > difference(kinds) - 1e-9))
    print(f"{what:18s} as large by chance: {chances[-1]:.2f}")

# %% [markdown]
# The two chances are {{ f"{chances[0]:.2f}" }} and {{ f"{chances[1]:.2f}" }}. Usually a
# difference is believed if chance makes one as large in fewer than one of twenty
# shuffles. Of our two chances one is above this limit and one below, and with two tests
# a small chance turns up more often. So these 200 sentences do not decide whether the
# pattern depends on the length.
#
# Not every wrong link is an error of the model. When the model writes the article "la",
# it looks at "car", the English noun, because the article has to agree with the gender
# of its noun. The example of the textbook's 6.2.1 is the translation of "le chat noir"
# *from* French. Our model translates *into* French. Where does it look when it writes
# "noir", the French word for "black"?

# %%
cat = translator.translate("the black cat sleeps .")
looked = zip(cat.source, cat.weights[2])  # by "noir"
print(cat.text, ", ".join(f"{word} {p:.2f}" for word, p in looked), sep="   ")

# %% [markdown]
# > **The book says** (6.2.1) that while "black" is translated, its noun "cat" has "a
# > moderate score", too. This model puts {{ f"{cat.weights[2][1]:.2f}" }} of the
# > weight on "black" and {{ f"{cat.weights[2][2]:.2f}" }} on "cat".

# %% [claims]
on_noun = [  # "chat noir", "black cat": noir at t + 1 and cat at s + 1
    w[t + 1, s]
    for pair, w in zip(pairs, every)
    for t, s in set(pair.alignment) & {(t - 1, s + 1) for t, s in pair.alignment}
]
claim("6.2.1", "writing an adjective, a model gives its noun a moderate score, too "
      "(weight on the noun: above 0.1)", above(0.1),
      over_draws(on_noun, "trained", "words, 1 model"))

# %% [markdown]
# ## Is the most probable next word the best choice?
#
# To write a sentence, one can take the most probable word at each step. This is called
# *greedy*. But a good first word may lead to a bad sentence. Suppose that a model gives
# these probabilities for two words, one after the other:

# %%
first = {"le": 0.6, "la": 0.4}
second = {"le": {"chat": 0.5, "chien": 0.3}, "la": {"souris": 0.9, "tasse": 0.1}}
for a, p in first.items():
    for b, r in second[a].items():
        print(f"{a} {b:7s} {p:.1f} x {r:.1f} = {p * r:.2f}")

# %% [markdown]
# Greedy takes "le", and the best that it can then write has the probability
# {{ f"{first['le'] * second['le']['chat']:.2f}" }}. The more probable pair begins with
# the less probable word. [Beam search](../../GLOSSARY.md#beam-search) keeps the $K$
# most probable beginnings of each length, its *beam*, and extends them all. With
# $K = 2$ it finds "la souris". With $K = 1$ it is greedy. Longer sentences have
# smaller products, so beam search prefers short sentences. To correct that, the library
# can divide the logarithm of the product by $`((5 + n) / 6)^a`$ (Wu and others 2016).
# Here $n$ is the number of words, the end mark included, and you choose $a$. The
# next output has the four sentences that a beam of four finds for the third sentence
# above, with the logarithm of their probability:

# %%
ids = translator.source.encode(chosen[2].source)
found = hypotheses(translator.model, [ids], None, 40, beam=4)[0]
for each in found:
    words = translator.target.decode([i for i in each.ids if i != EOS])
    print(f"{each.log_probability:7.3f}  {' '.join(words)[:68]}")

# %% [markdown]
# The second of them is the reference. Is the more probable sentence usually the better
# one? This model makes few errors, so that a beam has little to mend. So take the
# models of 500 pairs, which make more, and compare a beam of four with greedy, for the
# 400 test sentences and five seeds:


# %%
def beams(what):  # of a run, with a beam of 4, minus greedy
    return lambda run: run["beams"]["4"][what] - run["beams"]["1"][what]


better = {}
for arm in small["arms"]:
    surer, better[arm] = (fair.of_arm(small, arm, beams(x)) for x in ("ln P", "bleu"))
    print(f"{arm:18s} ln P {written(surer, 2)}   BLEU {written(better[arm], 2)}")
holds = [arm for arm in better if verdict(above(0), better[arm]) == "holds"]

# %% [markdown]
# The beam finds more probable sentences. That they are better, by BLEU, holds for
# {{ len(holds) }} of the {{ len(better) }} models ({{ "; ".join(holds) or "-" }}). The
# largest gain is {{ f"{max(x.value for x in better.values()):.1f}" }} BLEU. Without
# attention the beam raises ln P most, and BLEU changes by
# {{ written(better["none"], 2) }}. So a more probable sentence is hardly a better one
# here.
#
# ## How sharp are the weights?
#
# All the weight on one word, and a third of it on each of three words, are different
# heatmaps, and AER sees only the largest. *Entropy* measures the spread,
# $`H = -\sum_j \alpha_j \ln \alpha_j`$: 0 if one word has all the weight, $\ln S$ if
# all $S$ words have the same ([lesson 05](../05_scaling/README.md)). The scores can be
# divided by a *temperature* $\tau$ before the softmax. $\alpha_j$ is proportional to
# $e^{e_j}$, so the new weight is proportional to
# $`e^{e_j / \tau} = (e^{e_j})^{1/\tau}`$, that is, to $`\alpha_j^{1/\tau}`$. What do
# entropy and AER do?

# %%
golds = [pair.alignment for pair in pairs]
for tau in (0.5, 1.0, 2.0, 5.0):
    some = [w ** (1 / tau) for w in every]
    some = [w / w.sum(1, keepdims=True) for w in some]
    H = np.concatenate([-(w * np.log(w + 1e-12)).sum(1) for w in some])
    largest = np.concatenate([w.max(1) for w in some]).mean()
    aer = metrics.corpus_alignment_error_rate(some, golds)
    print(f"tau {tau:.1f}   H {H.mean():.2f}   largest {largest:.2f}   AER {aer:.2f}")

# %% [markdown]
# The temperature changes the entropy and not the AER, because the largest weight stays
# the largest. So AER says nothing about how sharp a heatmap is, and a sharp heatmap may
# be wrong. As $\tau$ grows, the entropy never falls: towards $\tau = 0$ all the weight
# goes to the largest score, and for a very large $\tau$ all weights become equal
# ([lesson 09](../09_self_attention/README.md)). Exercise 6.10 asks for such a curve and
# for its slope.
#
# ## Can a published model be looked at in the same way?
#
# Translation models of other people can be downloaded. Such a model is a folder: its
# numbers (`model.safetensors`), its sizes (`config.json`) and its words. No such folder
# can be in this book. But the file of numbers is simple. Write two small arrays into
# one, and read its bytes:

# %%
file = io.BytesIO()
two = {"encoder.weight": np.zeros((3, 2), np.float32), "bias": np.ones(3, np.float32)}
safetensors.write(file, two, {})
raw = file.getvalue()
n = int.from_bytes(raw[:8], "little")  # 8 bytes: the length of the header
header = json.loads(raw[8 : 8 + n])
for name, about in header.items():
    if not name.startswith("__"):
        print(f"{name:15s} {about}")
print("bytes of the arrays:", len(raw) - 8 - n)

# %% [markdown]
# After the header stand the numbers. The library reads such folders of one family,
# called Marian (`attention.published.marian`): it compares the sizes with `config.json`,
# gives the arrays the names of its own layers, and changes no number:

# %% [source] attention.published.marian.load

# %% [markdown]
# `python -m lessons experiment 6.7 --weights FOLDER` then measures the same numbers of
# the published model as of ours. Its attention has several layers and heads, so one has
# to choose among them. Choose by AER on sentences whose links are known, and report the
# rate on other sentences. Compare with the mean over all heads and layers.
#
# Exercises 6.7 and 6.9 ask you for such measurements. The output below is what the
# solutions of this course found. (`python -m lessons experiment 6.7` makes a record of
# yours.) Exercise 6.7 first measures the package's model from above. Then it trains a
# small Transformer, of two layers with four heads each, which reads one sentence or two
# at a time. It is tested on sentences of 5 and of 15 words, and on two of 15 words, one
# after the other. Hardly any of its training inputs was as long as these 30 words. This
# may be one reason for the high error rate there. In 6.9 a model with attention and one
# without it learn the same 500 pairs. They have nearly equally many parameters, and
# each has its own best rate of four. The textbook trains for 20
# [epochs](../../GLOSSARY.md#epoch), which are passes through all pairs, and 500 steps
# here. Our models go on until a plateau.

# %%
seven = record("ex_6_7")["result"]
aer = seven["tier A, told the reference"]["aer"]
print(f"6.7: the package's model: sentences right {seven['tier A']['exact']}", end="")
print(f", AER {aer:.2f} (references)")
single = record("ex_6_7")["result"]["tier T"]["aer"]  # {head: {words: AER}}
mean = single.pop("mean of all")
for words, aer in mean.items():
    best = min(of_head[words] for of_head in single.values())
    print(f"6.7: Transformer, {words:>2s} words: AER of the mean of heads", end=" ")
    print(f"{aer:.2f}, of the best {best:.2f}")
print(*seven["tier T"]["statement"], sep="\n")

# %% [claims]
from lessons.instrument.verdict import Measured

by_words = [seven["tier A"]["patterns"][words] for words in ("5-7", "11-15")]
(a, m), (b, k) = ((x["reordering"], sum(x.values())) for x in by_words)
p, q = a / m, b / k
half = 1.96 * (p * (1 - p) / m + q * (1 - q) / k) ** 0.5
rests_on = f"{m} and {k} sentences, one model"
change = Measured(q - p, q - p - half, q - p + half, "drawn", rests_on)
claim("ex. 6.7", "the pattern changes with length (share of reorderings, 11 to 15 "
      "words minus 5 to 7)", above(0), change)

# %%
nine = record("ex_6_9")["result"]
print(f"6.9: BLEU, word by word {nine['trivial']:.0f}; by words {', '.join(parts)}:")
for kind in nine["arms"]:
    row = (written(fair.of_arm(nine, kind, bleu(part))) for part in parts)
    print(f"     {kind:7s} attention {', '.join(row)}")
nine_grows = fair.difference(nine, "with", "without", rise)
print(f"     its growth {written(nine_grows)}: {judged(above(0), nine_grows)}")

# %% [markdown]
# In this one Transformer, after {{ seven["tier T"]["steps"] }} steps, the mean of the
# weights of all heads has a lower rate than the best single head. (Its intervals are
# over sentences: another Transformer may differ.) In 6.9 the rule says of the growth
# {{ judged(above(0), nine_grows) }}.
#
# ## Does it use what it looks at?
#
# A heatmap shows where a model looks. Does it also show what the model relies on? Test
# it. Replace one source word by the word "unknown", and see which target words become
# less probable. For each target word, one source word matters most: without it, the
# logarithm of the probability falls most. Is this the source word with the largest
# weight? We count only target words for which this logarithm falls by more than one
# half. Their probability then falls to {{ f"{np.exp(-0.5):.0%}" }} of what it was, or
# less:


# %%
def log_probabilities(sources, pair):  # many variants of one source, one target
    ids = [(s, translator.target.encode(pair.target)) for s in sources]
    batch = next(iter(in_order(ids, 100)))
    with mg.no_grad():
        logits = translator.model(batch.source, batch.target_in, batch.lengths)
    p = mg.log_softmax(logits).numpy()  # (variants, T + 1, V)
    return np.take_along_axis(p, batch.target_out[..., None], -1)[:, :-1, 0]


# %%
agree, needed = [], []
for pair, w in zip(pairs[:60], every):
    ids = translator.source.encode(pair.source)
    variants = [ids] + [[*ids[:s], UNK, *ids[s + 1 :]] for s in range(len(ids))]
    p = log_probabilities(variants, pair)  # (S + 1, T)
    drop = p[0] - p[1:]  # (S, T): what each source word was worth
    counts = drop.max(0) > 0.5  # target words that depend on any
    agree += list((drop.argmax(0) == w.argmax(1))[counts])
    needed += list(counts)
print(f"{np.mean(needed):.2f} of the words depend on some source word;")
print(f"for {np.mean(agree):.2f} of these it is the one looked at most")

# %% [claims]
from lessons.instrument.verdict import share

relevant = share(sum(agree), len(agree), "words, 1 model")
claim("6.2.2", "the word of largest weight is the most relevant one (share of target "
      "words for which removing it costs most: nearly all, 0.95)", above(0.95),
      relevant)

# %% [markdown]
# In {{ f"{1 - np.mean(agree):.0%}" }} of the cases another word matters more. A
# possible reason is that the encoder is recurrent, so that each state depends on its
# neighbours too. In these sentences a heatmap is a good guess at what is used, and no
# proof. (The textbook's 6.5.3 warns of this, rightly.)
#
# ## Can a model write without a source?
#
# A decoder that has no source predicts each next word from the words before it. It is
# called a [language model](../../GLOSSARY.md#language-model), and it is
# *autoregressive*: what it writes becomes its input. A small causal Transformer
# ([lesson 10](../10_heads/README.md)) reads English sentences of our grammar, and then
# writes sentences of its own, word by word ([experiment.py](experiment.py)). Each next word
# is drawn from its probabilities. A *temperature* $\tau$ divides the logits first:
# below 1 the probable words become more probable, above 1 all words become more alike.
# For one row of four probabilities:

# %%
P = np.array([[0.6, 0.25, 0.1, 0.05]])
for tau in (0.3, 1.0, 1.5):
    print(f"temperature {tau}:", filtered_probabilities(np.log(P), tau)[0].round(3))
print("the two most probable alone:", filtered_probabilities(np.log(P), 1, 2)[0].round(3))

# %% [markdown]
# How good is what it writes? We call a sentence right if all its runs of four words,
# with its beginning and its end, stand in a large set of sentences of the grammar. This
# counts some correct sentences as wrong, even new sentences that the grammar itself has
# written. The column "new" is the share of sentences that are right and that the model
# has not read. The column "different" is the share of different sentences among all
# that it wrote. A baseline is a table of word pairs, in which each word depends on the
# one word before it:

# %%
kept = record("writing")
print(how_made(kept))
model, runs = kept["model"], kept["model"]["runs"]
epochs = model["budget"] * 50 / kept["read"]  # batches of 50
new = np.array([run["watched"]["new"] for run in runs])  # (seeds, validations)
best = int(new.mean(0).argmax())
print(f"five seeds, {trained(model, 'Transformer')}")

# %%
of = {}  # temperature: {what: (seeds,)}
for tau in runs[0]["by temperature"]:
    each = [run["by temperature"][tau] for run in runs]
    of[float(tau)] = {
        key: [x[key] for x in each] for key in ("right", "new", "different")
    }
for tau, found in of.items():
    cells = (f"{key} {written(over_seeds(x), 2)}" for key, x in found.items())
    print(f"{tau}:", "  ".join(cells))
pairs_right = [each["right"] for each in kept["pairs"]]
print("table of word pairs: right", written(over_seeds(pairs_right), 2), end="   ")
print(f"the grammar itself: right {kept['grammar']['right']:.2f}")

# %% [figure]
means = {tau: (np.mean(x["right"]), np.mean(x["new"])) for tau, x in of.items()}
alt = "Share of right sentences, and of right and new ones, by temperature: " + "; ".join(
    f"at {tau} {a:.2f} and {b:.2f}" for tau, (a, b) in means.items()
)
alt += f". The grammar itself: {kept['grammar']['right']:.2f}."
fig, (left, right) = figure("What does a language model write?", columns=2, sharey=True)
for key, label, colour, mark in (
    ("right", "right", ORANGE, "o"), ("new", "right and not read", BLUE, "s"),
):  # fmt: skip
    y = np.array([x[key] for x in of.values()])  # (temperatures, seeds)
    bars = [y.mean(1) - y.min(1), y.max(1) - y.mean(1)]
    look = {"marker": mark, "capsize": 4, "color": colour, "label": label}
    left.errorbar(list(of), y.mean(1), bars, **look)
for run in runs:
    at = model["every"] * np.arange(1, len(run["curve"]) + 1)
    right.plot(at, run["curve"], color=ORANGE, lw=0.9)
    right.plot(at, run["watched"]["new"][1:], color=BLUE, lw=0.9)
grammar = kept["grammar"]["right"]
for ax in (left, right):
    ax.axhline(grammar, ls="--", color=GREY, label="the grammar's own sentences")
    ax.axhline(np.mean(pairs_right), ls=":", color=GREY, label="a table of word pairs")
left.set(xlabel="temperature", ylim=(0, 1.05))
left.set_ylabel(f"share of the sentences,\nmean and range of {len(runs)} seeds")
right.set(xlabel="steps, at temperature 1")
handles = left.get_legend_handles_labels()
fig.legend(*handles, loc="outside lower center", ncols=4, fontsize=8)
show(fig, "writing", alt)

# %%
for tau, found in runs[0]["by temperature"].items():  # the first seed
    say(f"temperature {tau}", found["said"][0].split())
say("table of word pairs", kept["pairs"][0]["said"][0].split())

# %% [markdown]
# The learning rate is the best of four. The share of right sentences stands still for a
# while and rises again later, so each run takes {{ model["budget"] }} steps. At temperature 1, a share of
# {{ f"{means[1.0][0]:.2f}" }} of the sentences is then right, where the table of word
# pairs has {{ f"{np.mean(pairs_right):.2f}" }} and new sentences of the grammar itself
# {{ f"{kept['grammar']['right']:.2f}" }}. To continue a sentence well, one has to know
# more of it than the last word: "the woman" needs a verb in the singular, however many
# words stand between the noun and the verb. Attention sees all of them.
#
# How can a model be right more often than the grammar that it learned from? Look at the
# blue curves. The share of sentences that are right *and new* is highest after
# {{ best * model["every"] }} steps, {{ f"{new[:, best].mean():.2f}" }}, and
# {{ f"{means[1.0][1]:.2f}" }} when the rate has fallen to 0, while that of right ones
# still rises: the model, which has now read each sentence about {{ f"{epochs:.0f}" }}
# times, learns sentences by heart. Who looks at the orange curves alone sees progress
# (and our rate was chosen by them). So the figure of a model that writes has to leave
# out what it has read.
#
# At a low temperature more sentences are right, because the model then keeps to the
# commonest words. The price is variety: some of its sentences come more than once. At
# the highest temperature a share of {{ f"{means[1.5][0]:.2f}" }} is right.
#
# ## What would break it?
#
# - One number for all heads and layers. In the Transformer of 6.7 the mean was better
#   than each head; in another model the mean may be spread over many words.
# - Sentences without gold links: then the eye judges, and finds what it expects.
#
# **To take away: attention can find alignments without being shown any, and helps more
# on long sentences where there are enough pairs to learn the short ones without it; a
# heatmap is a good guess at what a model uses; and a comparison after few steps, with
# one learning rate, or without a baseline, says little.**
#
# Exercises: 6.7 (the attention of a trained translator), 6.9 (translation with and
# without attention), 6.10 (how sharp the weights are) and E.15 (a translator of your
# own): `python -m lessons start 6.7`.
#
# In E.15 you put the functions together that you wrote for 6.5, 6.7, 6.9 and E.6. With
# the weights of the package's model they translate, and they pass if they write the
# same words as the package. For practice: `python -m attention translate` and
# `python -m attention compare`.

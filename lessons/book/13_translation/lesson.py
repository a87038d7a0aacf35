"""13  Translation  ●●○○  40 min  importance ★★  needs 02, 03

Does a translator look at the right word?
"""

# %% [markdown]
# "Le chat noir est assis" is in English "the black cat is sitting". A model with
# attention writes "black", and a picture of its weights shows that it looks at "noir".
# Does it always look at the right word? And is this why it translates well?
#
# **Why it matters:** pictures of weights made attention known, and they are still shown
# as explanations of what a model does. Here it can be measured how much they say.
#
# Small grammars write the sentences of this page. So all translations are known, and
# also which words belong together.

# %% [folded]
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
from lessons.instrument.verdict import (
    Measured, above, below, judged, over_seeds, share, verdict,
)  # fmt: skip
from lessons.pages.claims import claim, over_draws
from lessons.pages.figures import (
    BLUE, GREY, ORANGE, arrow, box, diagram, figure, show,
)  # fmt: skip
from minigrad import safetensors


def say(head, words):
    indent = {"initial_indent": "    ", "subsequent_indent": "    "}
    print(head, textwrap.fill(" ".join(words), 76, **indent), sep="\n")


def short(found, digits=1):  # a mean and its interval
    ends = f"[{found.low:.{digits}f}, {found.high:.{digits}f}]"
    return f"{found.value:.{digits}f} {ends}"


# %% [markdown]
# ## How does one read a heatmap?
#
# An [alignment](../../GLOSSARY.md#alignment) says which target words belong to which
# source words. A pair of words that belong together is a *link*. Here are a source, a
# target, their five right links, and made-up weights:

# %%
source = ["le", "chat", "noir", "est", "assis"]
target = ["the", "black", "cat", "is", "sitting"]
made_up = np.array(
    [[0.80, 0.10, 0.05, 0.03, 0.02], [0.05, 0.10, 0.75, 0.05, 0.05],
     [0.05, 0.80, 0.08, 0.04, 0.03], [0.04, 0.04, 0.04, 0.82, 0.06],
     [0.03, 0.03, 0.03, 0.06, 0.85]]
)  # fmt: skip  # (T, S), a row for each target word
gold = {(0, 0), (1, 2), (2, 1), (3, 3), (4, 4)}  # (target, source)

# %% [markdown]
# ![Which words belong together? Five links, two of them cross.](figures/links.svg)
#
# *Le chat noir est assis, above the black cat is sitting. Five links: the, is and
# sitting go straight up; black goes to noir and cat to chat, and these two cross.*
#
# A *heatmap* is a picture of such weights, darker where a weight is larger. To turn it
# into a number, link each target word to the source word that has the largest weight
# of its row, and compare these links with the right ones. The *alignment error rate*,
# AER, is 0 if both sets of links are equal, and 1 if they share no link:
#
# ```math
# \mathrm{AER} = 1 - \frac{2\,|A \cap G|}{|A| + |G|}
# ```
#
# | letter | meaning |
# |---|---|
# | $A$ | the links that the weights give, one for each target word |
# | $G$ | the right links, called *gold* |
# | $A \cap G$, $`\lvert A \rvert`$ | the links in both; the number of links in $A$ |
#
# Is a certain rate good? That needs a baseline. Link the words along a straight line
# from the first pair to the last: of $T$ target words, counted from 0, the word $t$
# with the source word $t (S - 1)/(T - 1)$, rounded, where $S$ is the number of source
# words. This *diagonal* uses the places of the words, and not the words. How well does
# it do?

# %%
print(f"AER {metrics.alignment_error_rate(made_up, gold):.2f}", end="   ")
print(f"of the diagonal {metrics.diagonal_baseline(5, 5, gold):.2f}")

# %% [markdown]
# The made-up weights are right, and the diagonal alone has three links of five. So a
# rate has to be compared with that of the diagonal. (If a target word has two right
# links, $A$ misses one of them, and the rate cannot be 0.)
#
# ## Where do the sentences come from?
#
# A grammar writes one meaning in two languages, and records which words say the same.
# Here are two pairs of English and French. Below each stand the links of words whose
# places differ:

# %%
pairs = splits("english-french", 4000, 100, 200).test
for pair in (pairs[4], pairs[5]):
    say(" ".join(pair.source), pair.target)
    crossed = [(t, s) for t, s in sorted(pair.alignment) if t != s]
    print("   ", ", ".join(f"{pair.target[t]}-{pair.source[s]}" for t, s in crossed))

# %% [markdown]
# Some adjectives stand behind their noun ("triste"), and pronouns before the verb. One
# word may stand for two ("au" is "to the"), and two words for one.
#
# ## What does a trained model look at?
#
# A translator of {{ f"{EN_FR.stat().st_size / 1e3:.0f}" }} kB comes with the package:
# two GRUs that read the source, one from each end, and one that writes with the
# attention of [lesson 03](../03_additive/README.md). It has learned 4000 pairs of
# English and French, and no link was ever shown to it. It translates *greedily*: at
# each step it writes the most probable word. Give it two sentences that it has not
# seen:

# %%
translator = load(EN_FR)
for parameter in translator.model.parameters():
    parameter.data = parameter.data.astype(np.float64)  # from 16 bits
chosen = [pairs[1], next(pair for pair in pairs if len(pair.source) == 13)]
for pair in chosen:
    written = translator.translate(" ".join(pair.source))
    right = written.target == list(pair.target)
    print(written.text)
    print("    the reference:", "equal" if right else " ".join(pair.target))

# %% [markdown]
# The *reference* is the translation of the grammar. The first sentence is equal to it;
# the second has another tense. The right links are known for the reference only. So we
# measure the weights with teacher forcing ([lesson
# 02](../02_gru_bottleneck/README.md)): at each step the model reads the previous word
# of the reference, not its own.

# %%
weights = reference_weights(translator, chosen)  # (T, S) each
rates = [metrics.alignment_error_rate(w, p.alignment) for p, w in zip(chosen, weights)]

# %% [figure]
fig, axes = figure("Where does it look?", columns=2, size=(7.2, 3.7))
for ax, pair, w, rate in zip(axes, chosen, weights, rates):
    image = ax.imshow(w, cmap="Blues", vmin=0, vmax=1)
    ax.plot(*np.transpose([(s, t) for t, s in pair.alignment]), "s", mfc="none",
            mec=ORANGE, ms=8, mew=1.3)  # fmt: skip
    ax.set_xticks(range(len(pair.source)), pair.source, rotation=90)
    ax.set_yticks(range(len(pair.target)), pair.target)
    ax.set(title=f"AER {rate:.2f}", xlabel="source word: key")
    ax.grid(False)
axes[0].set_ylabel("target word: query")
for words, colour, end, start in (
    ("a right link", ORANGE, (4, 4), (1.5, 6.3)),
    ("looked at most", BLUE, (7, 4), (6.5, 1)),
):
    line = {"arrowstyle": "-", "color": colour, "shrinkB": 7}
    axes[0].annotate(words, end, start, color=colour, ha="center", arrowprops=line)
fig.colorbar(image, ax=axes, shrink=0.7, label="weight")
alt = f"""Attention for two reference translations, French words down, English words
across, with the right links as squares. Most dark fields have a square, also where
adjective and noun change places. In the row "la" the largest weight is on "car", and
the right link is "the". The error rates are {rates[0]:.2f} and {rates[1]:.2f}."""
cells = {ax: (p.target, p.source, w) for ax, p, w in zip(axes, chosen, weights)}
show(fig, "heatmaps", alt, hover=cells)

# %% [markdown]
# Most of the darkest fields have a square, also where adjective and noun change places.
# In the row of the article "la" it is not so: the model looks at "car". But the article
# depends on the gender of its noun, so "car" is what one needs to know here. Not every
# wrong link is an error of the model.
#
# Are two sentences enough? Here are all 200. The heatmaps get names, as in exercise
# 6.7, by the source word that each row looks at most. "many-to-one": at least a third
# of the rows look at a word that an earlier row looks at. Otherwise "reordering": in at
# least a tenth of the steps from row to row, the word stands further left. Otherwise
# "diagonal". Do you expect the same shares of patterns for short and for long
# sentences?

# %%
every = reference_weights(translator, pairs)
golds = [pair.alignment for pair in pairs]
straight = [np.zeros_like(w) for w in every]
for w in straight:
    w[tuple(zip(*metrics.diagonal_links(*w.shape)))] = 1
for words, each in (("the model", every), ("the diagonal", straight)):
    print(f"AER of {words}: {metrics.corpus_alignment_error_rate(each, golds):.2f}")

# %%
by_words = {}
for low, high in ((5, 7), (8, 10), (11, 15)):
    some = [w for w, p in zip(every, pairs) if low <= len(p.source) <= high]
    names = [alignment_pattern(w) for w in some]
    by_words[low] = {name: names.count(name) for name in sorted({*names})}
    print(f"{low:2d} to {high} words:", by_words[low])

# %% [claims]
(a, m), (b, k) = (
    (counted["reordering"], sum(counted.values()))
    for counted in (by_words[5], by_words[11])
)
difference = b / k - a / m
half = 1.96 * sum(x * (1 - x) / of for x, of in ((a / m, m), (b / k, k))) ** 0.5
change = Measured(difference, difference - half, difference + half, "drawn",
                  f"{m} and {k} sentences, one model")  # fmt: skip
claim("ex. 6.7", "the pattern changes with length (share of reorderings, 11 to 15 "
      "words minus 5 to 7)", above(0), change)

# %% [markdown]
# The model has about half of the error rate of the diagonal. From the shortest to the
# longest sentences the share of reorderings changes by {{ short(change, 2) }}. The
# interval in brackets ([How to read a measurement](../../MEASURES.md)) contains 0, so
# these sentences do not decide whether the pattern changes with the length.
#
# ## Does it use what it looks at?
#
# A heatmap shows where a model looks. Does the model rely on that word? Replace one
# source word by the word "unknown", and see which target words become less probable.
# For each target word one source word matters most: without it, the logarithm of the
# probability falls most. Is this the word with the largest weight? We count only target
# words for which this logarithm falls by more than one half, so that their probability
# falls to {{ f"{np.exp(-0.5):.0%}" }} of what it was, or less:


# %%
def log_probabilities(sources, pair):  # many variants of one source, one target
    ids = [(s, translator.target.encode(pair.target)) for s in sources]
    batch = next(iter(in_order(ids, 100)))
    with mg.no_grad():
        logits = translator.model(batch.source, batch.target_in, batch.lengths)
    logs = mg.log_softmax(logits).numpy()  # (variants, T + 1, words of the language)
    return np.take_along_axis(logs, batch.target_out[..., None], -1)[:, :-1, 0]


# %%
agree = []
for pair, w in zip(pairs[:60], every):
    ids = translator.source.encode(pair.source)
    variants = [ids] + [[*ids[:s], UNK, *ids[s + 1 :]] for s in range(len(ids))]
    logs = log_probabilities(variants, pair)  # (S + 1, T)
    fall = logs[0] - logs[1:]  # (S, T): what each source word was worth
    agree += list((fall.argmax(0) == w.argmax(1))[fall.max(0) > 0.5])
print(f"{len(agree)} target words depend on some source word;")
print(f"for {np.mean(agree):.2f} of them it is the one looked at most", end=", ")
print(f"by chance {np.mean([1 / len(w[0]) for w in every]):.2f}")

# %% [claims]
claim("6.2.2", "the word of largest weight is the most relevant one (share of target "
      "words for which removing it costs most: nearly all, 0.95)", above(0.95),
      share(sum(agree), len(agree), "words, 1 model"))

# %% [markdown]
# In {{ f"{1 - np.mean(agree):.0%}" }} of the cases another word matters more. A
# possible reason is that the encoder is recurrent, so that each of its states depends
# on the neighbours too. So a heatmap is a good guess at what is used, and no proof.
#
# ## How good is a translation?
#
# [BLEU](../../GLOSSARY.md#bleu) (Papineni and others 2002) compares a translation with
# a reference. An *n-gram* is a run of $n$ words. For $n$ from 1 to 4, BLEU takes the
# share of the n-grams of the translation that stand in the reference. Single words show
# whether the right words are there, longer runs whether they stand in the right order.
# The four shares are multiplied, so that a translation must do well in all of them, and
# the fourth root makes the product a share again:
#
# ```math
# \mathrm{BLEU} = 100\; \mathrm{BP}\; (p_1\, p_2\, p_3\, p_4)^{1/4}, \qquad
# \mathrm{BP} = \min\big(1,\, \exp(1 - r/c)\big)
# ```
#
# | letter | meaning |
# |---|---|
# | $p_n$ | the share of the n-grams |
# | $c$, $r$ | the number of words of the translation and of the reference |
# | BP | the *brevity penalty*: below 1 if the translation is too short |
#
# The penalty is necessary, because a translation of four right words has all its
# n-grams right. An n-gram that stands twice in the translation counts twice only if it
# stands twice in the reference, too. For a set of sentences, the counts of all are
# added before they are divided. (If no run of four words is right, BLEU is 0. The
# library then counts half a run as right, which is called *smoothing*.) Here one word
# is missing:

# %%
reference = ["the", "black", "cat", "sleeps", "on", "the", "sofa", "."]
translation = ["the", "cat", "sleeps", "on", "the", "sofa", "."]
shares = []
for n in (1, 2, 3, 4):  # the one run that occurs twice is "the", twice in both
    runs = [tuple(translation[i : i + n]) for i in range(len(translation) - n + 1)]
    there = [tuple(reference[i : i + n]) for i in range(len(reference) - n + 1)]
    shares.append(sum(run in there for run in runs) / len(runs))
    print(f"runs of {n}: {sum(run in there for run in runs)} of {len(runs)}")
penalty = np.exp(1 - len(reference) / len(translation))
by_hand = 100 * penalty * np.prod(shares) ** 0.25
same = np.isclose(by_hand, bleu_parts([translation], [reference]).score)
print(f"BP {penalty:.3f}   BLEU {by_hand:.1f}   the library agrees: {same}")

# %% [markdown]
# ## Does attention help more, the longer the sentence?
#
# An encoder-decoder without attention keeps the source in one vector
# ([lesson 02](../02_gru_bottleneck/README.md)), so a long sentence should suffer more.
# We translate English into German, where verbs go to the end, with the additive score
# of lesson 03 and without attention, and compare BLEU for three ranges of lengths. The
# model without attention has wider states, so that both have about as many parameters.
# Both learn from {{ record("translation")["pairs"] }} pairs
# ([experiment.py](experiment.py)), each with the best of
# {{ len(record("translation")["models"]["rates"]) }} learning rates, from five seeds,
# and are tested with {{ record("translation")["sentences"] }} other sentences. Exercise
# 6.9 compares two such models that learn from 500 pairs; its record stands beside.
#
# The translator "word by word" replaces each word by the German word that it was linked
# with most often, and leaves the order as it is. At which length do you expect the
# largest advantage of attention, with 500 pairs?

# %% [folded]
kept, small = record("translation"), record("ex_6_9")["result"]
print(how_made(kept))
models, large = kept["models"], kept["pairs"]
parts = ("5-7", "8-10", "11-15")  # words of the source
compared = {  # pairs: record, the arm with attention, the one without, word by word
    500: (small, "with", "without", small["trivial"]),
    large: (models, "GRU", "none", kept["word by word"]),
}
bleu = {}  # (pairs, with or without): (seeds, parts)

# %% [folded]
print(f"BLEU, by words of the source{'':4s}", *(f"{part:>6s}" for part in parts))
for size, (found, looks, none, by_word) in compared.items():
    for words, arm in (("without", none), ("with", looks)):
        runs = [fair.figures(found, arm, ["bleu", part]) for part in parts]
        bleu[size, words] = np.transpose(runs)
        mean = (f"{x:6.1f}" for x in bleu[size, words].mean(0))
        print(f"{size:>4d} pairs, {words:7s} attention   ", *mean)
    print(f"{size:>4d} pairs, word by word: {by_word:.1f}")

# %% [figure]
title = "Does attention help more, the longer the sentence?"
fig, axes = figure(title, columns=2, sharey=True)
alt = "BLEU by length of the source, a point for each of five seeds, and means."
for ax, (size, (*_, by_word)) in zip(axes, compared.items()):
    for words, colour, mark in (("without", GREY, "v"), ("with", ORANGE, "o")):
        y, at = bleu[size, words], np.arange(len(parts))
        ax.plot(at, y.T, mark, color=colour, ms=3, alpha=0.6)
        ax.plot(at, y.mean(0), color=colour)
        alt += f" {size} pairs, {words} attention: "
        alt += ", ".join(f"{x:.0f}" for x in y.mean(0)) + "."
    ax.axhline(by_word, ls=":", color=GREY)
    ax.set_xticks(at, parts)
    ax.set(title=f"{size} pairs", xlabel="words of the source")
for y, words, colour in (
    (86, "with attention", ORANGE), (27, "without attention", GREY),
    (5, "word by word, all lengths", GREY),
):  # fmt: skip
    axes[0].text(2, y, words, color=colour, ha="right")
axes[0].set(ylabel="BLEU", ylim=(0, 104))
show(fig, "bleu", alt)


# %%
def rise(run):  # of BLEU, from the shortest sources to the longest
    return run["bleu"][parts[-1]] - run["bleu"][parts[0]]


growth = {}
for size, (found, looks, none, _) in compared.items():
    growth[size] = fair.difference(found, looks, none, rise)
    print(judged(f"{size} pairs: the advantage grows", above(0), growth[size]))

# %% [markdown]
# With {{ large }} pairs the expected picture appears: without attention BLEU falls with
# the length, with attention it falls little.
#
# With 500 pairs the advantage does not become larger. Does this refute the bottleneck,
# the one vector? No. The model without attention is as bad at five words, and one
# vector can hold five words easily. So the vector is not what fails: from so few pairs
# the model has hardly learned to translate unseen sentences at all. Even with
# {{ large }} pairs it learns a part of them by heart. Its *loss*, the mean negative
# logarithm of the probability that it gives to the right words, shows this:

# %%
for words, arm in (("without attention", "none"), ("with attention", "GRU")):
    seen, unseen = (fair.of_arm(models, arm, ["loss", x]) for x in ("train", "test"))
    print(f"{words:17s} loss of the pairs {seen.value:.3f}", end=", ")
    print(f"of unseen sentences {unseen.value:.3f}")
say("reference", kept["reference"].split())
say("without attention", fair.figures(models, "none", "said")[0].split())

# %% [markdown]
# > **The book says** (exercise 6.9) that with 500 pairs the advantage of attention
# > grows with the length. In this task the verdict is
# > "{{ verdict(above(0), growth[500]) }}" with 500 pairs and
# > "{{ verdict(above(0), growth[large]) }}" with {{ large }}: only a model that has
# > learned short sentences can be worse at long ones.

# %% [claims]
for size in compared:
    claim("ex. 6.9", f"with {size} pairs the advantage of attention grows with length "
          "(BLEU, from 5 to 7 words to 11 to 15)", above(0), growth[size])

# %% [markdown]
# ## Does every good translator look at the right word?
#
# The same experiment has a second GRU with attention. It differs in the score alone:
# *general*, a dot product with a matrix ([lesson 04](../04_scores/README.md)), in the
# place of the *additive* score. Here are the AER and the BLEU of each seed. Two
# baselines follow, the diagonal, and links to a random source word:

# %% [folded]
for score, arm in (("additive", "GRU"), ("general", "general")):
    rates, points = (fair.figures(models, arm, x) for x in ("aer", "figure"))
    print(f"{score:8s} AER  {short(fair.of_arm(models, arm, 'aer'), 2)}", end="   ")
    print("every seed", *(f"{x:5.2f}" for x in rates))
    print(f"{'':8s} BLEU {short(fair.of_arm(models, arm))}", end="   ")
    print("every seed", *(f"{x:5.1f}" for x in points))
one = models["runs"][0]
print(f"diagonal {one['aer_diagonal']:.2f}   random {one['aer_uniform']:.2f}")


def over(run):
    return run["aer"] - run["aer_diagonal"]


found = fair.of_arm(models, "GRU", over)
print(judged("additive: below the diagonal", below(0), found))
aer, points = (fair.figures(models, "GRU", x) for x in ("aer", "figure"))

# %% [claims]
claim("6.5.3", f"alignments are found without supervision ({large} pairs: error rate, "
      "minus that of the diagonal)", below(0), found)

# %% [markdown]
# Attention finds more links than the diagonal, although no link was ever shown to it.
# But look at the single runs of additive attention. They differ in the seed alone, and
# translate alike, with {{ f"{points.min():.1f} to {points.max():.1f}" }} BLEU. Yet the
# AER is {{ f"{aer.min():.2f}" }} in one run and {{ f"{aer.max():.2f}" }} in another. So
# models that translate equally well can look at different words.
#
# ## What would break it?
#
# - One heatmap for a model with many layers and heads: each head has its own, and their
#   mean may be spread over many words.
# - Sentences without gold links: then the eye judges, and finds what it expects.
# - A length at which one of two models has learned nothing: then their difference says
#   nothing about length.
#
# **To take away: attention can find alignments without being shown any, and helps more
# on long sentences where there are enough pairs to learn the short ones without it; a
# heatmap is a good guess at what a model uses; an error rate says little without a
# baseline.**
#
# Exercises: 6.7 (the attention of a trained translator), 6.9 (translation with and
# without attention) and E.15 (a translator of your own): `python -m lessons start 6.7`.
# Exercise 6.7 also reads the file of a published model, in a format that it explains.
# In E.15 you put the functions together that you wrote for 6.5, 6.7, 6.9 and E.6. With
# the weights of the package's model they translate.
#
# Where to go on: [the field on one page](../../FIELD.md) shows what each variant of
# attention changes, and which lesson has it.
#
# ## Further: does a Transformer translate better?
#
# The same experiment, with all its models. "numbers" counts the parameters. A
# [Transformer](../10_heads/README.md) has no recurrence: its encoder is self-attention,
# and its decoder attends to its own words and to the source. This one has one block in
# each, and stands beside the GRUs. All models are trained with the same share of
# [dropout](../../GLOSSARY.md#dropout), which sets some numbers to 0 at random, the
# Transformer with less. With other shares the numbers may be others.

# %%
print(fair.table(models, ("rate", "numbers", "mean", "doubling")))
print(f"\nBLEU, by words of the source  {'   '.join(parts)}")
for arm in models["arms"]:
    means = [fair.figures(models, arm, ["bleu", part]).mean() for part in parts]
    print(f"{arm:28s}", *(f"{x:6.1f}" for x in means))

# %% [markdown]
# The Transformer has {{ f"{fair.of_arm(models, 'Transformer').value:.1f}" }} BLEU and
# the GRU with additive attention {{ f"{fair.of_arm(models, 'GRU').value:.1f}" }}, of at
# most 100. A difference of up to {{ f"{models['resolution']:g}" }} does not count here,
# so near the ceiling this task cannot tell which of the two is better. (And a small
# grammar says little about millions of sentences, where Transformers are used.)
#
# ## Further: is the most probable next word the best choice?
#
# A good first word may lead to a bad sentence. Suppose that a model gives these
# probabilities for two words, one after the other:

# %%
first = {"le": 0.6, "la": 0.4}
second = {"le": {"chat": 0.5, "chien": 0.3}, "la": {"souris": 0.9, "tasse": 0.1}}
for word, p in first.items():
    for after, q in second[word].items():
        print(f"{word} {after:7s} {p:.1f} x {q:.1f} = {p * q:.2f}")

# %% [markdown]
# Greedy takes "le", and the best that it can then write is "le chat". The more probable
# pair begins with the less probable word. [Beam search](../../GLOSSARY.md#beam-search)
# keeps the $K$ most probable beginnings of each length, its *beam*, and extends them
# all. With $K = 1$ it is greedy, and with $K = 2$ it finds "la souris":

# %% [figure]
def draw(K, step):
    """Draw the beginnings that a beam of K has after a step; grey: dropped."""
    fig, ax = diagram((7.2, 2.6), (-0.9, 7.1), (-1.9, 1.9))
    fig.suptitle("Which beginnings does the beam keep?")
    ones = sorted(first, key=first.get, reverse=True)
    kept = ones[:K]  # after the first word
    pairs_of = {(w, x): first[w] * p for w in ones for x, p in second[w].items()}
    at = {(): (0, 0)} | {(w,): (2.2, 0.9 - 1.8 * k) for k, w in enumerate(ones)}
    at |= {pair: (5.2, 1.5 - k) for k, pair in enumerate(pairs_of)}
    live = [pair for pair in pairs_of if pair[0] in kept]
    best = sorted(live, key=pairs_of.get, reverse=True)[:K]
    shown = {(): 1.0} | {(w,): first[w] for w in ones}
    if "second" in step:
        shown |= {pair: pairs_of[pair] for pair in live}
    dropped = {(w,) for w in ones if w not in kept} if step != "first words" else set()
    dropped |= {*live} - {*best} if step == "keep second" else set()
    for words, p in shown.items():
        colour = GREY if words in dropped else BLUE
        box(ax, at[words], f"{words[-1] if words else '…'}  {p:.2f}", colour, 1.5, 0.5)
        if words:
            start = at[words[:-1]]
            arrow(ax, (start[0] + 0.75, start[1]), (at[words][0] - 0.75, at[words][1]),
                  colour, 0.1)  # fmt: skip
    now = [words for words in shown if words and words not in dropped]
    now = [words for words in now if len(words) == max(map(len, now))]
    names = ", ".join(f'"{" ".join(words)}" {shown[words]:.2f}' for words in now)
    return fig, f"K = {K}, {step}: the beginnings are {names}."


alt = f"""A tree of beginnings with their probabilities. A beam of two keeps both first
words, extends them, and keeps la souris, {first["la"] * second["la"]["souris"]:.2f},
and le chat, {first["le"] * second["le"]["chat"]:.2f}. A beam of one keeps le alone and
ends with le chat. Grey boxes are dropped."""
order = ["first words", "keep first", "second words", "keep second"]
show(draw, "beam", alt, frames={"beam K": [1, 2], "step": order})

# %% [markdown]
# Longer sentences
# have smaller products, so beam search prefers short sentences. To correct that, the
# library can divide the logarithm of the product by $`((5 + N) / 6)^a`$ (Wu and others
# 2016), where $N$ is the number of words, the end mark included, and you choose $a$.
# Here is what a beam of four finds for the second sentence above:

# %%
ids = translator.source.encode(chosen[1].source)
for each in hypotheses(translator.model, [ids], None, 40, beam=4)[0]:
    words = translator.target.decode([i for i in each.ids if i != EOS])
    print(f"{each.log_probability:7.3f}  {' '.join(words)[:68]}")

# %% [markdown]
# The second of them is the reference. So the more probable sentence need not be the
# better one. For how many of the 200 sentences does a beam of four find another
# sentence than greedy?

# %%
others = 0
for pair in pairs:
    ids = [translator.source.encode(pair.source)]
    greedy, beam = (
        hypotheses(translator.model, ids, None, 40, beam=K)[0][0] for K in (1, 4)
    )
    others += greedy.ids != beam.ids
print(f"another sentence: {others} of {len(pairs)}")

# %% [markdown]
# This model has learned a small grammar from 4000 pairs, and is sure of nearly all
# words. A model that is less sure may gain more by a beam.
#
# ## Further: how sharp are the weights?
#
# All the weight on one word, and a third of it on each of three words, are different
# heatmaps, and AER sees only the largest. *Entropy* measures the spread,
# $`H = -\sum_s \alpha_s \ln \alpha_s`$: 0 if one word has all the weight, $\ln S$ if
# all $S$ words have the same ([lesson 05](../05_scaling/README.md)). If the scores are
# divided by a *temperature* $\tau$ before the softmax, the new weight is proportional
# to $`\exp(e_s / \tau) = \exp(e_s)^{1/\tau}`$, that is, to $`\alpha_s^{1/\tau}`$.
# ($e_s$ and $\alpha_s$ are score and weight of source word $s$.)

# %%
for tau in (0.5, 1.0, 2.0, 5.0):
    some = [w ** (1 / tau) for w in every]
    some = [w / w.sum(1, keepdims=True) for w in some]
    H = np.concatenate([metrics.attention_entropy(w) for w in some])
    largest = np.concatenate([w.max(1) for w in some]).mean()
    aer = metrics.corpus_alignment_error_rate(some, golds)
    print(f"tau {tau:.1f}   H {H.mean():.2f}   largest {largest:.2f}   AER {aer:.2f}")

# %% [markdown]
# The temperature changes the entropy and not the AER, because the largest weight stays
# the largest. So a sharp heatmap may be as wrong as a soft one. Exercise 6.10 asks for
# such a curve.
#
# ## Further: how sure is a BLEU of 200 sentences?
#
# Other sentences would give another number. A
# [confidence interval](../../GLOSSARY.md#confidence-interval) says how much it could
# vary. The *bootstrap* (Efron 1979) finds one without new sentences: draw 200 from the
# 200, with replacement, so that some come twice and some not at all. Compute the
# measure. Repeat 2000 times. The interval holds the middle 95 of 100 results. Here for
# a simpler measure, the mean of ten numbers:

# %%
ten = np.array([1.0, 0, 1, 1, 0, 1, 1, 1, 0, 1])  # ten sentences: right or wrong
draws = np.random.default_rng(13).choice(ten, size=(2000, 10))  # with replacement
low, high = np.percentile(draws.mean(1), [2.5, 97.5])
print(f"share right {ten.mean():.1f}, interval {low:.1f} to {high:.1f}")

# %% [markdown]
# Ten sentences say little. This interval is about other sentences. Those of the tables
# above are about other seeds of the same model: two kinds of chance.
#
# ## Further: can a published model be looked at in the same way?
#
# Translation models of other people can be downloaded. Such a model is a folder: its
# numbers (`model.safetensors`), its sizes (`config.json`) and its words. The file of
# numbers is simple. Write two small arrays into one, and read its bytes:

# %%
file = io.BytesIO()
two = {"encoder.weight": np.zeros((3, 2), np.float32), "bias": np.ones(3, np.float32)}
safetensors.write(file, two, {})
raw = file.getvalue()
size = int.from_bytes(raw[:8], "little")  # 8 bytes: the length of the header
for name, about in json.loads(raw[8 : 8 + size]).items():
    if not name.startswith("__"):
        print(f"{name:15s} {about}")
print("bytes of the arrays:", len(raw) - 8 - size)

# %% [markdown]
# The library reads such folders of one family, called Marian
# ([marian.py](../../../attention/published/marian.py)): it compares the sizes with
# `config.json`, and gives the arrays the names of its own layers.
# `python -m lessons experiment 6.7 --weights FOLDER` then measures the same numbers of
# the published model as of ours. Its attention has several layers and heads, so one has
# to choose among them: choose by AER on sentences whose links are known, and report the
# rate on other sentences. Exercise 6.7 does this with a small Transformer, of two
# layers with four heads each. Its inputs are sentences of 5 and of 15 words, and two of
# 15, one after the other; hardly any of its training inputs was as long:

# %%
print(*record("ex_6_7")["result"]["tier T"]["statement"], sep="\n")

# %% [markdown]
# In this one Transformer the mean of the weights of all heads has a lower rate than the
# best single head. (The intervals are over sentences: another Transformer may differ.)
#
# ## Further: can a model write without a source?
#
# A decoder that has no source predicts each next word from the words before it. It is
# called a [language model](../../GLOSSARY.md#language-model), and it is
# *autoregressive*: what it writes becomes its input. A small causal Transformer
# ([lesson 10](../10_heads/README.md)) reads English sentences of our grammar, and then
# writes sentences of its own, word by word. Each next word is drawn from its
# probabilities. A temperature $\tau$ divides the *logits* first, the scores of the
# words before the softmax. Below 1 the probable words become more probable, above 1 all
# words become more alike:

# %%
P = np.array([[0.6, 0.25, 0.1, 0.05]])
for tau in (0.3, 1.0, 1.5):
    print(f"temperature {tau}:", filtered_probabilities(np.log(P), tau)[0].round(3))
two = filtered_probabilities(np.log(P), 1, 2)[0]
print("the two most probable alone:", two.round(3))

# %% [markdown]
# We call a sentence right if all its runs of four words, with its beginning and its
# end, stand in a large set of sentences of the grammar. (This counts some correct
# sentences as wrong, even some of the grammar itself.) "new" is the share of sentences
# that are right and that the model has not read, "different" that of different
# sentences among all. A baseline is a table of word pairs, in which each word depends
# on the one before it:

# %%
kept = record("writing")
print(how_made(kept))
model, runs = kept["model"], kept["model"]["runs"]

# %%
of = {}  # temperature: {what: (seeds,)}
for tau in runs[0]["by temperature"]:
    each = [run["by temperature"][tau] for run in runs]
    of[float(tau)] = {x: [y[x] for y in each] for x in ("right", "new", "different")}
for tau, found in of.items():
    cells = (f"{key} {short(over_seeds(x), 2)}" for key, x in found.items())
    print(f"{tau}:", "  ".join(cells))
pairs_right, grammar = [x["right"] for x in kept["pairs"]], kept["grammar"]["right"]
print("table of word pairs: right", short(over_seeds(pairs_right), 2), end="   ")
print(f"the grammar itself: right {grammar:.2f}")

# %% [figure]
means = {tau: (np.mean(x["right"]), np.mean(x["new"])) for tau, x in of.items()}
alt = "Share of right sentences, and of right and new ones, by temperature: "
alt += "; ".join(f"at {tau} {a:.2f} and {b:.2f}" for tau, (a, b) in means.items())
alt += f". The grammar itself: {grammar:.2f}."
fig, (left, right) = figure("What does a language model write?", columns=2, sharey=True)
for key, colour, mark in (("right", ORANGE, "o"), ("new", BLUE, "s")):
    y = np.array([x[key] for x in of.values()])  # (temperatures, seeds)
    bars = [y.mean(1) - y.min(1), y.max(1) - y.mean(1)]
    left.errorbar(list(of), y.mean(1), bars, marker=mark, capsize=4, color=colour)
for run in runs:
    at = model["every"] * np.arange(1, len(run["curve"]) + 1)
    right.plot(at, run["curve"], color=ORANGE, lw=0.9)
    right.plot(at, run["watched"]["new"][1:], color=BLUE, lw=0.9)
for ax in (left, right):
    ax.axhline(grammar, ls="--", color=GREY)
    ax.axhline(np.mean(pairs_right), ls=":", color=GREY)
for y, words, colour in (
    (0.72, "the grammar's own sentences", GREY), (0.17, "a table of word pairs", GREY),
    (1.0, "right", ORANGE), (0.41, "right and not read", BLUE),
):  # fmt: skip
    left.text(0.4, y, words, color=colour)
left.set(xlabel="temperature", ylim=(0, 1.05))
left.set_ylabel(f"share of the sentences,\nmean and range of {len(runs)} seeds")
right.set(xlabel="steps, at temperature 1")
show(fig, "writing", alt)

# %%
for tau in ("0.3", "1.5"):  # the first seed
    say(f"temperature {tau}", runs[0]["by temperature"][tau]["said"][0].split())
say("table of word pairs", kept["pairs"][0]["said"][0].split())

# %% [markdown]
# At temperature 1, a share of {{ f"{means[1.0][0]:.2f}" }} of the sentences is right,
# of the table of word pairs {{ f"{np.mean(pairs_right):.2f}" }}, and of the grammar
# itself {{ f"{grammar:.2f}" }}. To continue a sentence well, one has to know more of it
# than the last word: "the woman" needs a verb in the singular, however many words stand
# between. Attention sees all of them.
#
# How can a model be right more often than the grammar that it learned from? Each run
# was also tested after half of its steps:

# %%
for words, at in (("half of the steps", "half"), ("all steps", "runs")):
    keys = (("by temperature", "1.0", x) for x in ("right", "new"))
    right, new = (fair.figures(model, "Transformer", x, at).mean() for x in keys)
    print(f"{words:17s} right {right:.2f}   right and not read {new:.2f}")

# %% [markdown]
# In the second half more sentences become right, and fewer of them are new. The model
# has read each sentence more than
# {{ f"{model['budget'] * 50 / kept['read']:.0f}" }} times, and learns sentences by
# heart. So the figure of a model that writes has to leave out what it has read. At a
# low temperature more sentences are right, because the model keeps to the commonest
# words. The price is variety: some of its sentences come more than once.
#
# ## Further: what the texts say
#
# > **The book says** (6.5.3) that Bahdanau's picture shows French to English. It shows
# > English to French.
#
# To *overfit* is to learn the training pairs by heart, and to be bad at unseen pairs:
# the gap between the losses of both is large. Does general overfit?


# %%
def gap(run):
    return run["loss"]["test"] - run["loss"]["train"]


wider = fair.difference(models, "general", "GRU", gap, resolution=0.0)
print(judged("general: a wider gap than additive", above(0), wider))

# %% [markdown]
# > **The book says** (6.3.2) that general "can overfit on small corpora". That it
# > overfits more than additive, with {{ large }} pairs, has the verdict
# > "{{ verdict(above(0), wider) }}". It says (6.3.1, 38.2) that the dot product matches
# > additive attention on BLEU. That is not measured here.

# %% [claims]
claim("6.3.2", f"general can overfit on a small corpus ({large} pairs: loss of unseen "
      "minus seen sentences, of general minus that of additive)", above(0), wider)

# %% [markdown]
# The example of 6.2.1 is a translation *from* French. Ours goes into French. Where does
# it look when it writes "noir"?

# %%
cat = translator.translate("the black cat sleeps .")
looked = zip(cat.source, cat.weights[2])  # by "noir"
print(cat.text, ", ".join(f"{word} {p:.2f}" for word, p in looked), sep="   ")

# %% [markdown]
# > **The book says** (6.2.1) that while "black" is translated, its noun "cat" has "a
# > moderate score", too. This model puts nearly all the weight on "black".

# %% [claims]
on_noun = [  # "chat noir", "black cat": noir at t + 1 and cat at s + 1
    w[t + 1, s]
    for pair, w in zip(pairs, every)
    for t, s in set(pair.alignment) & {(t - 1, s + 1) for t, s in pair.alignment}
]
claim("6.2.1", "writing an adjective, a model gives its noun a moderate score, too "
      "(weight on the noun: above 0.1)", above(0.1),
      over_draws(on_noun, "trained", "words, 1 model"))

"""14  The engine checks the book  ●●●○  35 min  importance ★  needs 04, 07, 13

Which printed claims hold?
"""

# %% [markdown]
# You train two models, and one of them is better. Is it? Another person trains them
# again, and finds the opposite. What would you have to show, so that nobody can say
# that you were careless, or lucky?
#
# **Why it matters:** most sentences about attention, in papers and in this course, say
# that one model is better than another. This lesson does one comparison in full, and
# shows how another one failed. Folded below stands a reference: what four texts on
# attention claim, as far as it can be computed, with a verdict on each claim.

# %% [folded]
import re
from math import comb

import numpy as np

from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument import verdict as rule
from lessons.pages.figures import BLUE, GREY, ORANGE, figure, show

# %% [markdown]
# ## How do you compare two models fairly?
#
# Two of the four texts say that a dot product is as good a score as the additive one.
# Here is a task for attention that trains in a second: a model sees ten pairs of a key
# and a value, and the key of one of them, and has to name its value. Somebody has found
# a learning rate with which the additive score learns fast, and trains both models with
# it, for a hundred steps, from one seed. How good are the two?

# %% [folded]
kept = record("lookup")
print(how_made(kept))
lookup, within = kept["lookup"], 0.05  # within: what counts as equally good
tuned, seed, few = 0.016, lookup["choosing"][0], 100
entry = few // lookup["every"] - 1  # of a curve
for run in lookup["choices"]:
    if (run["rate"], run["seed"]) == (tuned, seed) and run["arm"] != "mean":
        print(f"{run['arm']:8s}  {run['curve'][entry]:.2f} right")

# %% [markdown]
# "The dot product is far behind." Nothing was computed wrongly, but would you believe
# it? The rate was chosen for one of the two models, both were still learning, and there
# was one seed. Here is the same question with care, in seven steps.
#
# **1. The question**, and which results would answer it, before anything is trained: is
# dot as good as additive? We say yes if their shares of right values differ by at most
# {{ f"{within:.2f}" }}, to either side. This range is *the claim*.
#
# **2. The arms.** The models that are compared have the same data, in the same order,
# and everything else that can be the same. Beside them stand trivial solutions: without
# one, nobody can tell whether a figure is good. Chance has
# {{ f"{lookup['chance']:.3f}" }} right. A third arm, *mean*, sees the mean of all
# values and no key; it can learn to name the most frequent value. Additive has a few
# parameters more, those of its score, so the comparison is one of nearly equal sizes.
#
# **3. The rate.** Each arm is trained with *the same grid* of rates, from three seeds
# whose runs are not reported, and judged on validation data, examples for this choice
# alone. A difference of at most {{ f"{lookup['resolution']:g}" }}, the *resolution*,
# does not count: we choose the smallest of the rates that are as good as the best. If
# the best is clearly at an end of the grid, more rates are tried.

# %% [folded]
arms, sizes = lookup["arms"], {r["arm"]: r["parameters"] for r in lookup["runs"]}
tried = {arm: sorted({r["rate"] for r in lookup["choices"] if r["arm"] == arm})
         for arm in arms}  # fmt: skip
for arm in arms:
    mine = [[run["validation"] for run in lookup["choices"]
             if (run["arm"], run["rate"]) == (arm, rate)]
            for rate in tried[arm]]  # fmt: skip
    means = (f"{r:g}: {np.mean(x):.3f}" for r, x in zip(tried[arm], mine))
    print(f"{arm:8s} {sizes[arm]} parameters,", *means)
    print(f"{'':8s} chosen {lookup['chosen'][arm]:g}")

# %% [markdown]
# **4. The steps.** How long is long enough? Every arm takes the same budget, here
# {{ lookup["budget"] }} steps. In a fifth as many further steps the rate falls to 0,
# and the model is tested. *After half of the budget* the same is done with a copy of
# the model. So we know what the second half of the steps has added. (If the copy has
# solved the task, the run ends there.)

# %% [figure]
fig, ax = figure("After how many steps would you compare?", size=(7.2, 3))
sizes_of = {"additive": 7, "dot": 4, "mean": 4}  # of marks: some lie on one another
for arm, colour in zip(arms, (ORANGE, BLUE, GREY)):
    for run in lookup["runs"]:
        if run["arm"] == arm:
            steps = lookup["every"] * np.arange(1, len(run["curve"]) + 1)
            ax.plot(steps, run["curve"], color=colour, lw=1.2)
            ax.plot(steps[-1], run["curve"][-1], "o", color=colour, ms=sizes_of[arm])
ax.axhline(lookup["chance"], color=GREY, lw=1, ls=":")
ax.text(lookup["budget"], lookup["chance"] + 0.02, "chance", ha="right", color=GREY)
ax.set(xlabel="step", ylabel="share of right values", ylim=(0, 1.05), xlim=(0, None))
ended, found = (fair.figures(lookup, "dot", x) for x in ("steps", "figure"))
stuck = [x for x in fair.figures(lookup, "additive") if x < 0.99]
solved = len(found) - len(stuck)
for x, y, words, colour in (
    (ended.max() + 70, 1, f"dot, {len(found)} runs", BLUE),
    (ended.max() + 700, 1, f"additive, {solved} runs", ORANGE),
    (3100, 0.86, f"additive, {len(stuck)} runs", ORANGE),
    (3100, 0.33, "mean of the values", GREY),
):
    ax.text(x, y, words, color=colour, va="center")
alt = f"""Share of right values against steps, five runs for each arm; a dot is the end
of the budget or of half of it. All runs of dot have solved the task at half of the
budget, {ended.max()} steps. Of additive, {len(stuck)} runs stay below all right values to the
end. The mean of the values stays below a third."""
show(fig, "curves", alt)

# %% [markdown]
# **5. The seeds.** One run may be lucky. Five seeds are reported, *all* of them. A seed
# draws the same examples for each arm, so the runs are *paired*: we subtract seed by
# seed, and what a seed makes easier or harder for both cancels.
#
# **6. The interval.** The mean of these differences has an interval, in which the mean
# of very many seeds probably lies (the formula is below). This is *the measurement*.

# %%
for arm in ("dot", "additive"):
    print(f"{arm:8s}", *(f"{x:6.3f}" for x in fair.figures(lookup, arm)))
found = fair.difference(lookup, "dot", "additive")
print(f"dot minus additive: {found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]")
above = fair.difference(lookup, "dot", "mean")
print(f"dot minus mean:     {above.value:+.3f} [{above.low:+.3f}, {above.high:+.3f}]")

# %% [markdown]
# **7. The verdict** compares the claim with the measurement. It *holds* if the whole
# interval lies in the range. It is *no* if no part of it does, and *undecided* if the
# interval contains an end of the range. "Ahead" and "behind" are undecided, too, if the
# difference is no larger than the resolution. If all runs of both arms solve the task,
# the task cannot tell them apart. And if the runs of an arm are in two groups, far from
# each other, no mean describes them: they are counted, and every run of one arm is
# compared with every run of the other.
#
# A model that still improves may yet arrive. The second half of the steps has changed
# the difference by some $c$, and as many further steps may change it as much. So the
# interval is widened: the part of the interval of $c$ below 0 is added at its lower
# end, the part above 0 at its upper end. If "holds" or "no" is true of the interval but
# not of the wider one, the comparison is *unfinished* ([the
# code](#further-which-printed-claims-hold)). And here?

# %%
print(rule.judged("dot as good as additive", rule.between(-within, within), found))
behind = rule.above(-lookup["resolution"])
print(rule.judged("dot not behind additive", behind, found))

# %% [markdown]
# {{ len(stuck) }} of {{ len(lookup["seeds"]) }} runs of additive do not find all
# values, so its mean describes no run, and "as good" is undecided. The sentence that we
# may write is: *in this task, at this size, dot products look keys up no worse than
# additive scores*. The first look, at one rate, one seed and a hundred steps, said the
# opposite.
#
# Does such care pay? We can count how often a verdict is wrong, if we *know* what is
# true. [A simulation](../../instrument/simulated.py) draws the learning curves of two
# arms, some of which still rise at the end, and five noisy seeds of each. Then it asks
# what is true after twice as many steps. How many of the verdicts "holds" and "no" are
# wrong, without and with the second look, at half of the budget? Two claims are judged,
# that an arm is ahead of the other, and that both differ by little:

# %% [folded]
from lessons.instrument.simulated import error_rates

words = "holds", "no", "undecided", "unfinished", "wrong"
print(f"{'':21s}", *(f"{word:>10s}" for word in words))
for looks in (False, True):
    for claimed, rates in error_rates(studies=400, looks_back=looks).items():
        shares = (f"{rates[word]:10.2f}" for word in words)
        print(f"{'two looks' if looks else 'one look':10s} {claimed:10s}", *shares)

# %% [markdown]
# The second look costs decisions: many studies end "unfinished". What it still decides
# is wrong in fewer than one of twenty cases. No rule helps against a model that stands
# still at both looks and learns later.
#
# ## Does a result carry on beyond the training?
#
# [Lesson 11](../11_positions/README.md) reads texts four times as long as those of the
# training. For an earlier record one run chose each rate, within the trained length.
# "KERPLE finds more far answers than FIRE: holds", said the page, and the interval was
# above 0. Then somebody trained FIRE with the rate of KERPLE, and FIRE was ahead. Here
# are all pairs of rates of the present record: the share of right far answers of KERPLE
# minus that of FIRE.

# %% [folded]
positions = record("positions")["schemes"]
rates = positions["rates"]


def far_answers(run):
    return run["found"][run["arm"]]["32-63"]["128"]


print(f"{'FIRE with rate':>20s}", *(f"{rate:>8g}" for rate in rates))
for mine in rates:
    row = [
        fair.figures(positions, "kerple", far_answers, "choices", mine)
        - fair.figures(positions, "fire", far_answers, "choices", other)
        for other in rates
    ]
    print(f"KERPLE with rate {mine:g}", *(f"{x.mean():+8.3f}" for x in row))
within_32 = [
    mean for arm in ("kerple", "fire")
    for mean in fair.by_rate(positions["choices"], arm).values()
]  # fmt: skip

# %% [markdown]
# The sign depends on the pair. Within the trained length nothing tells these rates
# apart: there, all six means lie between {{ f"{min(within_32):.3f}" }} and
# {{ f"{max(within_32):.3f}" }}. The interval over the seeds says how much the *seeds*
# matter, and nothing about the rate. So a verdict beyond the range in which a rate was
# chosen has to be the same at *all* rates that are equally good inside:

# %%
print(fair.judge(positions, ("KERPLE is ahead of FIRE, far", rule.above(0), "kerple",
                             "fire", far_answers), beyond=True))  # fmt: skip

# %% [markdown]
# All of this is [one class](experiment.py) and one call, `fair.run`, which makes the
# records of the other lessons, too. Change it, and run it: `python -m lessons
# experiment 14` takes a minute. Exercise E.16 gives you records of comparisons, of
# which some are unfair, and you find out which.
#
# ## Was the textbook wrong, or were you unlucky?
#
# The mean of five seeds is enough if they lie around one centre. What if they do not? A
# text (38.6) trains a decoder with additive attention to write a string backwards, on
# strings of up to eight letters. At ten letters its model has most of the letters
# right. [Lesson 07](../07_reversal/README.md) has trained the same model twelve times.
# The twelve differ in nothing but the [seed](../../GLOSSARY.md#seed), the number from
# which the random generator starts. What does each seed get at ten letters?

# %%
book = 0.946  # right letters at ten letters, as printed
letters = np.array(record("reversal_seeds")["accuracy"])  # (12, 5): 3, 5, 7, 8, 10
at_ten, GOOD = letters[:, 4], 0.75  # (12,): column 4 is ten letters

# %% [figure]
fig, ax = figure("What would each seed have made you believe?", size=(7.2, 3))
number = np.arange(1, len(at_ten) + 1)
good = at_ten >= GOOD
for which, colour, mark, label in (
    (good, BLUE, "o", "good seeds"), (~good, ORANGE, "^", "the others"),
):  # fmt: skip
    ax.plot(number[which], at_ten[which], mark, color=colour)
    last = number[which][-1]
    ax.text(last - 0.2, at_ten[last - 1] + 0.03, label, color=colour, ha="right")
ax.axhline(book, color=GREY, lw=1, ls="--")
ax.text(12.4, book + 0.02, "the textbook", color=GREY, ha="right")
ax.axvspan(0.5, 3.5, color=GREY, alpha=0.15, lw=0)
ax.text(2, 0.7, "the first\nthree seeds", color=GREY, ha="center")
ax.set(xlabel="seed", ylabel="share of ten letters right", ylim=(0, 1.05))
ax.set(xticks=number, xlim=(0.5, len(at_ten) + 0.5))
alt = f"""Share of right letters of twelve seeds. {good.sum()} of them lie between
{GOOD} and the textbook's {book:.2f}; the others between
{at_ten[~good].min():.2f} and {at_ten[~good].max():.2f}. Seeds 1 to 3, shaded, are not
among the good ones."""
show(fig, "twelve-seeds", alt)

# %% [markdown]
# Here we call a seed good if it has at least {{ f"{GOOD:.2f}" }} of these letters
# right. (We chose this limit after seeing the values, in the gap between
# {{ f"{at_ten[~good].max():.2f}" }} and {{ f"{at_ten[good].min():.2f}" }}.)
# {{ good.sum().item() }} of {{ len(at_ten) }} seeds are good. A person who trained
# seeds 1 to 3 would have written "the textbook is wrong", and a person with seed 6
# alone "the textbook is right". How often do $n$ of these seeds, drawn at random,
# contain no good one? And what does the interval of seeds 1 to 3 say?

# %%
bad, all_seeds = int((~good).sum()), len(at_ten)
for n in (1, 3, 6, 9):
    none_good = comb(bad, n) / comb(all_seeds, n)
    print(f"{n} seed{'s' * (n > 1):1s}   none good: {none_good:.2f}")
three = comb(bad, 3) / comb(all_seeds, 3)
mean = rule.over_seeds(at_ten[:3])
print(f"mean, from seeds 1 to 3: {mean.low:.2f} to {mean.high:.2f}")
part = rule.share(good.sum(), len(good))
print(f"share of good seeds: {part.low:.2f} to {part.high:.2f} ({part.rests_on})")
halves = [f"{rule.student(n) / n**0.5:.1f} with {n} seeds" for n in (2, 3, 5, 12)]
halves = ", ".join(halves)

# %% [claims]
from lessons.pages.claims import CLAIMS, claim, over_draws, read

whole = (letters[:, (0, 1, 2, 4)] >= GOOD).all(1)
a, b = np.random.default_rng(4).normal(size=(2, 100, 1000, 32))
means = ((a + 1) * (b + 2)).sum(-1).var(-1, ddof=1) / (32 * (1 + 4 + 1))  # (100,)
e = np.random.default_rng(0).normal(size=(2, 100, 1000, 20)).prod(0).sum(-1)
near_1, near_all = rule.between(0.95, 1.05), rule.above(0.9)
reversal, scaling = "07_reversal", "05_scaling"
claim("38.6", "additive reverses strings of all four lengths (share of seeds with "
      "three quarters of the letters or more at each of 3, 5, 7, 10: nearly all, 0.9)",
      near_all, rule.share(whole.sum(), len(whole)), page=reversal)
claim("38.6", "additive comes back beyond the trained length (share of seeds with "
      "three quarters of the letters or more, at 10 letters alone)", near_all, part,
      page=reversal)
claim("ex. 38.2", "the variance with means (widths 32, variances 1, means 1 and 2: "
      "measured over formula, 1 within a twentieth)", near_1,
      over_draws(means, of="times 1000 scores"), page=scaling)
claim("scoring", "Var(q.k) / d is 1 (d = 20: within a twentieth)", near_1,
      over_draws(e.var(-1, ddof=1) / 20, of="times 1000 scores"), page=scaling)


def place(row):  # sections by number, exercises last
    numbers = tuple(map(int, re.findall(r"\d+", row["text"])))
    return not numbers, numbers[:1], row["text"].startswith("ex."), numbers


every = [row for name, rows in read().items() if name != "14" for row in rows]
every = sorted(every + CLAIMS, key=place)


def on(text):  # the claims of a text, or of one of its sections
    return [row for row in every if row["text"].removeprefix("ex. ").startswith(text)]


def table(kind, text=""):
    several = kind != "computed"  # draws, seeds or runs
    head = "text", "claim", "we find", *["rests on"] * several, "verdict", "page"
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in on(text):
        if row["kind"] == kind:
            cells = row["text"], row["says"], row["found"], *[row["rests on"]] * several
            word = "holds" if row["verdict"] == "holds" else f"**{row['verdict']}**"
            link = f"[{row['page'][:2]}](../{row['page']})"
            lines.append(f"| {' | '.join((*cells, word, link))} |")
    return "\n".join(lines)

# %% [markdown]
# With three seeds it happens in {{ f"{100 * three:.0f}" }} of 100 cases. The interval
# of the mean ends below every good seed: it assumes that the values lie around one
# centre, and here they lie in two groups. So we count how many belong to each, and the
# measurement is a *share*. It may be anything from one in ten to one in two; to know it
# within a tenth, one would need about a hundred seeds. The honest statement is neither
# "we get the printed result again" nor "we do not", but *with some seeds*. (If we get a
# printed result again, we say below that it *comes back*.)
#
# ## Which ranges and intervals are there?
#
# **Ranges.** A printed number means any number that rounds to it. "Dot is faster" means
# that a ratio is above 1. "They do not change" is true or false: 1 or 0. Words such as
# "near zero" have no range of their own; the tables below say which one we took.
# Printed decimals that miss by less than two units of the last digit have a verdict of
# their own, *near*: such a number probably comes from a computation with rounded
# intermediate results.
#
# **Intervals.** What is computed once and exactly has none. The others are
# [confidence intervals](../../GLOSSARY.md#confidence-interval): in about 95 of 100
# repetitions they contain the true value.
#
# ```math
# \text{many draws: } m \pm 1.96 \frac{s}{\sqrt n}, \qquad
# \text{few seeds: } m \pm t_n \frac{s}{\sqrt n}
# ```
#
# ```math
# \text{a share: } \frac{k + z^2/2}{n + z^2} \pm
# \frac{z}{n + z^2} \sqrt{\frac{k (n - k)}{n} + \frac{z^2}{4}}, \qquad z = 1.96
# ```
#
# | letter | meaning |
# |---|---|
# | $n$ | the number of draws, or of seeds |
# | $m$, $s$ | their mean, and their [standard deviation](../../GLOSSARY.md#standard-deviation), with $n - 1$ in place of $n$ |
# | $t_n$ | Student's factor: from few values the spread itself is known only roughly |
# | $k$ | of $n$ seeds, those that are good; $k/n$ is the share |
# | $z$ | of numbers with a normal distribution, 95 of 100 lie within $z$ standard deviations |
#
# (The second is that of "Student", W. S. Gosset, 1908, and the first is what becomes of
# it for large $n$. The third is that of Wilson, 1927. All three assume independent
# values. A share of right answers cannot leave the range from 0 to 1, so its interval
# is cut there.) How many seeds are enough? In units of
# the spread $s$, half of the interval is {{ halves }}. If the end of the claim is
# further away than that, they are enough; if it is nearer, they are not: **a verdict
# needs as many seeds as their spread demands**. One seed has no interval, and so no
# verdict.
#
# ## What would break it?
#
# - A range chosen after seeing the number. Our ranges for words such as "good" were
#   chosen by us, and some after the first look.
# - A rate that suits one arm, a run that ended too soon, a seed that nobody reports, a
#   trivial solution that nobody tried.
# - Two looks that see nothing. A model may stand still at half of the steps and at the
#   end, and learn later, as an arm of [lesson 20](../20_tournament/README.md) may.
# - A verdict on a mean where the seeds fall into two groups.
# - A claim tested in another setting than that of the text. A text may speak of large
#   Transformers; our models are small.
# - A list of claims that its author could choose. Ours leaves out what nobody can
#   compute, and it begins with what looked wrong.
#
# **To take away: give each model its own best rate from the same grid, look twice at
# what the steps add, report every seed, and subtract seed by seed. A claim is a range,
# a measurement is an interval: compare the two. One seed, the book's or yours, is an
# anecdote.**
#
# Exercises: E.16 (find out from the record of a comparison whether it was fair), 38.4
# (scaled and unscaled scores) and 6.9 (translation with and without attention), five
# seeds each: `python -m lessons start E.16`. The last two end in a comparison by the
# rules of this page, with your own functions, whose seeds you may choose:
# `python -m lessons experiment 38.4 --seed 10` adds 10 to all seeds.
# (38.4 asks for the mean [entropy](../../GLOSSARY.md#entropy) of the weights in a
# batch. Each row of weights that is not padding counts once in this mean; [lesson
# 06](../06_masks/README.md) explains padding.)
#
# ## Further: which printed claims hold?
#
# From here on the page is a reference. The four texts are a chapter on attention (its
# sections have numbers from 6.1 to 6.5), a chapter on its variants (38.1 to 38.9), a
# page on scoring functions, and lecture notes. You need not have them. The last column
# of each table links the page that explains the claim and shows the measurement.
#
# Computed exactly: [chapter 6](#chapter-6), [chapter 38](#chapter-38), [the scoring
# page](#the-scoring-page), [the notes](#the-notes). With an interval: [drawn at
# random](#what-is-drawn-at-random), [trained](#what-was-trained),
# [timed](#what-was-timed). And [in words](#what-does-no-number-decide).
#
# Each claim is a line with its range in the script of the page that computes it, in a
# cell that begins with `# %% [claims]`. If you think that a range is unfair, change it
# there, and run that page and this one again: `python -m lessons dev weave 3 14`.
#
# The claims were not drawn at random: whatever looked doubtful is here, and what is
# plainly right is here in part. So the counts say nothing about how good a text is, but
# that printed numbers are worth recomputing. This function compares:

# %% [source] lessons.instrument.verdict.verdict

# %%
words = ("holds", "near", "no", "undecided", "unfinished")
print(f"{'':14s}", *(f"{word:>10s}" for word in words))
for text, start in (
    ("chapter 6", "6"), ("chapter 38", "38"), ("scoring page", "scoring"),
    ("notes", "notes"),
):  # fmt: skip
    mine = [row["verdict"] for row in on(start)]
    counts = [mine.count(word) for word in words]
    print(f"{text:14s}", *(f"{count:10d}" for count in counts))

# %% [markdown]
# ### What can be computed exactly?
#
# #### Chapter 6
#
# One exact result decides. Many of the wrong numbers are small mistakes of arithmetic
# or printing, and some change a conclusion: the worked example (6.2.5) prints the
# lowest score as the highest.
#
# {{ table("computed", "6") }}
#
# #### Chapter 38
#
# The most consequential rows are those of 38.3 and 38.5: the gradient of a softmax is
# not largest at equal weights, and scores of unit variance are not where it is largest.
# The text about the reversal (38.6) does not say what its own table says.
#
# {{ table("computed", "38") }}
#
# #### The scoring page
#
# {{ table("computed", "scoring") }}
#
# #### The notes
#
# {{ table("computed", "notes") }}
#
# ### What is drawn at random?
#
# The interval is that of a mean over many random inputs, or of a share of them. (The
# row of exercise 6.7 is the difference of two shares $p$ and $q$, of $n$ and $m$
# sentences that one trained model reads. Half of its interval is
# $`1.96 \sqrt{p (1 - p) / n + q (1 - q) / m}`$.)
#
# {{ table("drawn") }}
#
# The three rows of exercise 6.8 show how much a claim can depend on a size that nobody
# states. With scores as they are, vectors that look at each other become more similar.
# With scores twenty times smaller the sign changes: all outputs move towards one mean,
# and it is the vectors *far* from each other that gain most.
#
# ### What was trained?
#
# Each value is a trained model, and the interval is that over seeds. (Where it rests on
# seeds "and their sentences", it is the bootstrap of lesson 13, which draws both. Where
# it rests on the words of one model, it says nothing of other seeds.) Read the column
# "rests on" before the verdict:
#
# {{ table("trained") }}
#
# - **Positions** are judged at all answers of a longer text, as the notes do it, and
#   once at the far ones alone. There ALiBi is far behind, in all seeds. The verdict is
#   "unfinished" and not "no", because some of its models used up their steps
#   ([lesson 11](../11_positions/README.md)).
# - **One seed** gives no verdict, however large the effect.
#
# ### What was timed?
#
# Times belong to one machine. The interval is the range of the runs, from the least to
# the most. It is none of the three above, and the verdict is about these runs alone:
#
# {{ table("timed") }}
#
# ### What does no number decide?
#
# Some claims are about what a paper says, or who was first. We note what we know:
#
# | text | claim | what is the case | page |
# |---|---|---|---|
# | 6.1.2 | the curve of lengths is figure 1 of Cho and others | it is figure 4 of their paper on the properties of such models | [02](../02_gru_bottleneck/README.md) |
# | 6.2.1 | the gradient is in the appendix of Bahdanau and others | their appendix has the architecture, the training and translations; lesson 03 derives the gradient | [03](../03_additive/README.md) |
# | 6.3.1 | dot is as good as additive in translation | nothing here compares the two in translation | [13](../13_translation/README.md) |
# | 6.3.3 | local attention predicts its centre | local-p does; local-m, which the text leaves out, does not | [08](../08_local_coverage/README.md) |
# | 6.4.3 | quadratic cost is affordable below 2048 tokens | "affordable" is not a number; the measured times make no jump there | [12](../12_exact_and_cheap/README.md) |
# | 6.4.4 | the Transformer of Vaswani and others has {{ "28.4 BLEU, after 3.5 days" }} on 8 processors | that is what the paper says | [10](../10_heads/README.md) |
# | 6.5.3 | Bahdanau and others show French to English | English to French | [09](../09_self_attention/README.md) |
# | 6.5.3 | Bahdanau's picture shows French to English | English to French | [13](../13_translation/README.md) |
# | 6.5.4 | four patterns are the most common | a fifth, the column, is frequent in BERT (Clark and others) | [09](../09_self_attention/README.md) |
# | 38.2 | Luong and others found dot as good as additive, on WMT'15 (the data of a yearly contest in translation, here of 2015) | in their section {{ "5.3" }} dot works well for global attention, and concat, the form of Bahdanau's score, does not; they trained on the data of 2014 | [13](../13_translation/README.md) |
# | 38.3 | Vaswani and others report that scaling makes training stable | they suspect that large products give small gradients | [05](../05_scaling/README.md) |
# | 38.6 | GPT-4, Claude 3 and Gemini use scaled dot products | their makers have not published it | [07](../07_reversal/README.md) |
# | 38.6 | additive attention has no product of matrices | its two projections are products of matrices; the tanhs between them are not | [04](../04_scores/README.md) |
# | 38.6 | exact match, on the axis of a figure | the figure counts letters | [07](../07_reversal/README.md) |
# | 38.7 | pure Transformers rarely use local attention (Mistral does) | Mistral is a pure Transformer, with a window in every layer | [08](../08_local_coverage/README.md) |
# | 38.8 | language models avoid repetition by more data | nothing here measures it | [08](../08_local_coverage/README.md) |
# | 38.9 | query, key and value were introduced in 1991; Bahdanau's was the first attention | who was first is disputed; the softmax is later | [12](../12_exact_and_cheap/README.md) |
# | scoring | `key_size` and `query_size` set the widths | the class never uses them | [06](../06_masks/README.md) |
# | notes | Luong's last layer is linear | it has a tanh, and needs it | [04](../04_scores/README.md) |
# | notes | Mistral's window has global tokens | Longformer's has; Mistral's looks back only | [12](../12_exact_and_cheap/README.md) |

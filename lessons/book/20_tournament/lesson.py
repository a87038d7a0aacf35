"""20  The tournament: which attention for which task?  ●●●○  30 min  importance ★  needs 14, 15

Which of seven kinds of attention fail at which of three tasks?
"""

# %% [markdown]
# [The map](../../MAP.md) has more than seventy rows, and each states what its variant
# can do. This has been shown on a task that was made for the variant. You have another
# task, and time to try two or three variants. Which ones? Here seven kinds of attention
# learn three tasks, all in the same small model, with the same data and the same grid
# of rates.
#
# *Why it matters: a comparison in which each method meets the task that suits it shows
# no loser. Fair comparisons of many methods on many tasks are rare, and easy to
# misread.*

# %% [folded]
import textwrap
from importlib import import_module

import numpy as np

import minigrad as mg
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import above, below, discoveries, p_value, smallest
from lessons.pages.figures import figure, show

tour = import_module("lessons.book.20_tournament.experiment")
tasks = {task.name: task for task in tour.tasks()}

# %% [markdown]
# ## Three tasks in one form
#
# Each token is a pair of symbols $`(a_i, b_i)`$, such as a name and its value, and some
# tokens have an answer. We chose to make a name and its value *one* token, so that a
# single layer of attention can find a value by its name. For one text of each task, the
# lines below show the first and last tokens, then what is asked and the last answers.
# `5=2` gives the value 2 to the name 5, and `5?` asks for it. What does a model need
# for each answer: the order, the number, one far token, all tokens?


# %% [folded]
def token(task, a, b):
    """Return a token in words: 5=2 is name 5 with value 2, and 5? asks for it."""
    if task.sizes[1] == 1:
        return str(a)
    return f"{a}?" if b == tour.READ else f"{a}={b}"


for name, task in tasks.items():
    a, b, y = (x[0] for x in task.texts(np.random.default_rng(2), 1))
    words = [token(task, *pair) for pair in zip(a, b)]
    print(f"{name:10s}{' '.join(words[:6])} ... {' '.join(words[-5:])}")
    print(f"{'':10s}{task.question}: ... {' '.join(map(str, y[-3:]))}")

# %% [markdown]
# In *lookup* each name has one value. In *streams* a name gets values again and again,
# and the last one counts. In *reset* the symbol 2 is the reset, and each token of the
# second half has an answer. All models of *streams* are trained with texts of 20
# tokens. They are tested with 20 tokens, and, as a fourth column, with 80.
#
# ## Seven arms
#
# | arm | what differs from the first |
# |---|---|
# | softmax | nothing: causal heads, scaled dot products, rotary positions (RoPE: queries and keys are rotated by angles that grow with the place) |
# | softmax, sines | sines of the place are added to the tokens, in place of RoPE |
# | no positions | only the causal mask gives an order |
# | stick-breaking | from the nearest key on, each key takes a share of the weight that is left; no positions |
# | forgetting | each token has a gate, and a key loses weight with each gate that follows it; no positions |
# | linear | elu + 1 in place of exp, and a running sum in place of all pairs; sines |
# | gated delta | a state of fixed size that forgets by a gate and corrects what a key holds; no positions |
#
# The first three differ in their positions only. They are the controls for the others,
# which have no positions, or sines. The gates start with the defaults of this library;
# other values were not tried.
#
# Everything else is equal: width {{ tour.WIDTH }}, {{ tour.HEADS }} heads, one block
# with its network, Adam, the same batches of 32 for each seed, and the same grid of
# learning rates ([How to read a measurement](../../MEASURES.md)).
# [The script](experiment.py) contains all of it. An arm is an option of
# `TransformerConfig`; only *linear* puts another layer in the place of the attention:

# %% [source] lessons.book.20_tournament.experiment.Reader.__init__

# %% [markdown]
# **A check before the study.** An arm that can read the answers is right without
# learning the task. So we change the last token of a text. In which arms does an
# earlier output change?

# %%
a, b, _ = tasks["lookup"].texts(np.random.default_rng(0), 4)
changed = a.copy()
changed[:, -1] = (a[:, -1] + 1) % tour.NAMES
late = []
for arm in tour.ARMS:
    model = tour.Reader(arm, tasks["lookup"].sizes, np.random.default_rng(1))
    with mg.no_grad():
        before, after = (model(x, b, slice(None)).data for x in (a, changed))
    if (before[:, :-1] != after[:, :-1]).any():
        late.append(arm)
print(f"of {len(tour.ARMS)} arms read a later token:", late or "none")

# %% [markdown]
# ## Three expectations
#
# An earlier study had twenty arms, ten tasks and twelve expectations. In seven of the
# tasks softmax was right in nearly all answers, so no arm could be better, and we
# dropped these tasks. One expectation held at first: a gate that forgets helps in
# *reset*. With more steps and other rates the difference vanished. So we repeated the
# study, with shorter texts in this task and more steps in all. Three expectations are
# judged:

# %%
CLAIMS = [  # words, task, range of the difference, arm, the other arm
    ("12 names do not fit into sums", "lookup", below(0), "linear", "softmax"),
    ("a gate that forgets helps", "reset", above(0), "forgetting", "softmax"),
]

# %% [markdown]
# The third is on texts that are longer than those of the training: softmax with RoPE is
# behind stick-breaking in *streams* of 80 tokens. The rates were chosen with 20 tokens,
# where several may be equally good. So this verdict is given only if it is the same for
# all of them.

# %%
kept = record("tournament")
print(how_made(kept))
for words, task, *claim in CLAIMS:
    print(fair.judge(kept[task], (f"{words} ({task})", *claim)))
streams = kept["streams"]
arms = "softmax", "stick-breaking"
print(fair.judge(streams, ("RoPE suffers in long texts", below(0), *arms, "longer"),
                 beyond=True))  # fmt: skip

# %% [markdown]
# A state of {{ str(tour.WIDTH // tour.HEADS) }} x {{ str(tour.WIDTH // tour.HEADS) }}
# numbers for each head does not keep twelve names apart here. The second expectation is
# undecided: four runs of softmax are better than all runs of forgetting, and one is no
# better. (In the picture below this cell is marked as behind. The sign compares means,
# and the verdict does not use the mean of runs that fall into two groups.) The earlier
# study's gain from the gate is not there. The third holds at each
# of the rates, while with 20 tokens both arms are right in nearly all answers.
#
# ## The picture
#
# Each cell is the mean share of right answers of {{ len(streams["seeds"]) }} runs, in
# percent. Two rows at the bottom need no training. One always gives the most frequent
# answer. The other looks for the name among the last {{ tour.NEAR }} tokens; if it is
# not there, it gives the most frequent answer.
#
# A difference from softmax of up to two points does not count. For a larger one we
# compute the *p-value*: how probable a difference at least as large would be if the
# true one were two points. There are many cells: of a hundred true differences of two
# points, about five have a p-value below 1/20. So we use the rule of Benjamini and
# Hochberg (1995): of the cells *that it marks*, about one in twenty is marked by
# chance. Not every direction is possible in every cell: where softmax is right in 98 of
# 100 answers or more, no arm can be more than two points ahead.

# %% [folded]
ARMS, SAME = list(tour.ARMS), 0.02
COLUMNS = {name: (name, "figure") for name in tasks}
COLUMNS["streams, 80 tokens"] = "streams", "longer"


def runs_of(column, arm):
    """Return the share of right answers of each run."""
    task, what = COLUMNS[column]
    return fair.figures(kept[task], arm, what)


# %%
cells = [(t, arm) for t in COLUMNS for arm in ARMS if arm != "softmax"]
minus = {(t, arm): runs_of(t, arm) - runs_of(t, "softmax") for t, arm in cells}
p = np.array([p_value(minus[cell], SAME) for cell in cells])
side = np.array([np.sign(minus[cell].mean()) for cell in cells]).astype(int)
marked = dict(zip(cells, side * discoveries(p)))

# %%
best = {t: runs_of(t, "softmax").mean() for t in COLUMNS}
improvable = {t: x < 1 - SAME for t, x in best.items()}  # for an arm that is ahead
below = {t: x > tasks[COLUMNS[t][0]].trivial + SAME for t, x in best.items()}
signs = list(marked.values())
can = [sum(x[t] for t, _ in cells) for x in (below, improvable)]
print(f"of {len(cells)} cells, behind was possible in {can[0]}, ahead in {can[1]}")
print(f"marked: {signs.count(-1)} behind softmax, {signs.count(1)} ahead of it,",
      f"{signs.count(0)} not")  # fmt: skip
visible = [smallest(minus[cell]) + SAME for cell, x in marked.items() if not x]
print("differences that could have been seen in the cells without a mark, each alone:")
print("from {:.3f} to {:.3f}, half of them up to {:.3f}".format(
    min(visible), max(visible), np.median(visible)))  # fmt: skip

# %% [figure]
bottom = ["most frequent answer", f"last {tour.NEAR} tokens"]
table = np.full((len(ARMS) + 2, len(COLUMNS)), np.nan)
labels = np.full(table.shape, "", object)
for j, (column, (name, what)) in enumerate(COLUMNS.items()):
    for i, arm in enumerate(ARMS):
        table[i, j] = runs_of(column, arm).mean()
        sign = {-1: "−", 0: "", 1: "+"}[marked.get((column, arm), 0)]
        labels[i, j] = f"{100 * table[i, j]:.0f}{sign}"
    examples = tasks[name].beyond if what == "longer" else tasks[name].held[1]
    *_, y = examples
    table[-2, j] = np.bincount(y.ravel()).max() / y.size
    if tasks[name].sizes[0] == tour.NAMES:
        table[-1, j] = tour.near(*examples)
    labels[-2:, j] = ["" if np.isnan(x) else f"{100 * x:.0f}" for x in table[-2:, j]]
title = f"Which attention for which task? ({len(streams['seeds'])} runs a cell)"
fig, ax = figure(title, size=(7.6, 4.6))
image = ax.imshow(100 * table, cmap="Blues", vmin=0, vmax=100, aspect="auto")
for i, j in np.ndindex(*table.shape):
    colour = "white" if table[i, j] > 0.6 else "black"
    ax.text(j, i, labels[i, j], ha="center", va="center", color=colour, size=9)
ax.axhline(len(ARMS) - 0.5, color="black", lw=2)
ax.set_xticks(range(len(COLUMNS)), COLUMNS, rotation=20, ha="right")
ax.set_yticks(range(len(table)), ARMS + bottom)
ax.set(xlabel="task", ylabel="attention")
ax.tick_params(bottom=False, left=False)
ax.grid(False)
fig.colorbar(image, ax=ax, label="right answers in percent")
softmax = ", ".join(f"{t} {100 * x:.0f}" for t, x in best.items())
alt = f"""Right answers in percent, darker for more. Softmax has: {softmax}. A sign + or
− marks a cell that differs from softmax by more than {100 * SAME:.0f} points, by the
rule for all cells. In the last row a cell without a number is a task without names."""
show(fig, "tournament", alt)

# %% [markdown]
# In cells without a mark, five runs cannot show differences smaller than the printed
# ones. Read the picture by columns. For each column, which arms are marked as behind
# softmax, and which as ahead of it?

# %% [folded]
for column in COLUMNS:
    behind, ahead = (
        "; ".join(arm for arm in ARMS if marked.get((column, arm)) == x) or "none"
        for x in (-1, 1)
    )
    words = f"{column:19s}behind: {behind}"
    words += f" / ahead: {ahead}" if improvable[column] else ""
    print(textwrap.fill(words, 78, subsequent_indent=" " * 19))

# %% [markdown]
# What the picture shows, of these tasks and this size:
#
# - *Names.* In *lookup* the arms that keep all tokens find the names, except one, which
#   starts late (below). The two that keep a state of fixed size, linear and gated
#   delta, do not find all of them.
# - *Order.* With the causal mask alone ("no positions") the share is low in *reset* and
#   in *streams* of 20 tokens. No cell of softmax with sines is marked. So what other
#   arms show is not the effect of RoPE alone.
# - *Length.* With 80 tokens the arms whose weights depend on the order of the keys,
#   without positions, keep most of their right answers: stick-breaking, gated delta and
#   forgetting. Softmax without positions is ahead of softmax with RoPE there, too, as
#   Kazemnejad and others (2023) found, but at a low share.
#
# **An arm that starts late.** After half of the steps stick-breaking had
# {{ f"{100 * fair.figures(kept['lookup'], 'stick-breaking', of='half').mean():.0f}" }}
# of 100 answers right in *lookup*, and at the end
# {{ f"{100 * runs_of('lookup', 'stick-breaking').mean():.0f}" }}. At the start all
# scores are near 0, so each key, from the nearest on, takes half of the weight that is
# left, and a key $m$ places back gets $2^{-(m+1)}$: {{ f"{2.0**-13:.0e}" }} for
# $m = 12$. Its gradient has the same factor. So this cell shows a start and a number of
# steps, not what stick-breaking can do.
#
# ## Longer texts, at every rate
#
# The rates were chosen with texts of 20 tokens, where most arms are right in nearly all
# answers. How much does the share with 80 tokens depend on the rate? Means of the three
# choosing runs, for each rate that was tried:

# %%
print(fair.at_every_rate(streams, "longer"))

# %% [markdown]
# No rate gives softmax with RoPE more than a fraction of what it has with 20 tokens,
# and stick-breaking loses little at any. Next to these differences the rate matters
# little.
#
# ## What it does not show
#
# Did the runs have enough steps, and the grid enough rates?

# %%
added = {(t, a): fair.of_arm(kept[t], a).added for t in tasks for a in ARMS}
for t in tasks:
    x = [added[t, arm] for arm in ARMS]
    print(f"{t:10s}the second half of the steps added {min(x):+.3f} to {max(x):+.3f}")
few = sum(x < SAME for x in added.values())
print(f"in {few} of {len(added)} cells less than two points")
ends = [fair.beyond_the_grid(task, kept[t]["choices"]) for t, task in tasks.items()]
print("arms whose best rate is at an end of their grid:", sum(map(len, ends)))

# %% [markdown]
# Where the steps added two points or more, an arm still learned when they ended, and
# with more steps its cell may change. The verdicts allow for this; the signs in the
# picture do not.
#
# - **Size.** The model has one block of width {{ tour.WIDTH }}, and training has texts
#   of at most 20 tokens. In two blocks the first can prepare what the second reads.
# - **Form.** Each arm has one form. Other gates and starts were not tried, and no
#   mixture, such as a state beside a window.
# - **No sign does not mean equal.** A cell without a sign is undecided at this
#   threshold and with these seeds. And all cells of a column use the same five runs of
#   softmax, so they are not independent: a weak run of softmax makes all arms of its
#   task look better.
# - **Language.** Each task needs one ability, and a text needs many at once.
#
# ## What would break it?
#
# - One rate for all arms: the arm for which it was tuned looks best.
# - A budget of steps that ends while an arm still learns, and a page that then says
#   "cannot".
# - A mask that is missing, so that an arm can read the answers.
# - A study of many tasks that reports only one.
# - Tasks that the first arm solves: there no arm can be ahead.
#
# **To take away: here no kind of attention was the best in all tasks; a tournament
# shows which ones fail at a task like yours, at this size, and leaves fewer to try.**
#
# Exercises: E.16 (find out from the record of a comparison whether it was fair):
# `python -m lessons start E.16`. A task of your own is a function that draws tokens and
# answers, and a `Task` in [the script](experiment.py);
# `python -m lessons experiment 20` runs them all.
#
# ## Further: what one layer keeps while it writes
#
# The table counts the numbers that one layer keeps of earlier tokens, after 20 and
# after 80 of them, and the parameters of the model:

# %% [folded]
E = tour.WIDTH // tour.HEADS
pairs, state = 2 * tour.WIDTH, tour.HEADS * E * E
KEEPS = {
    "forgetting": lambda n: (pairs + tour.HEADS) * n,
    "linear": lambda n: state + tour.WIDTH,
    "gated delta": lambda n: state,
}
print("keeps after        20     80  parameters")
for arm in ARMS:
    numbers = [KEEPS.get(arm, lambda n: pairs * n)(n) for n in (20, 80)]
    weights = fair.figures(kept["lookup"], arm, "parameters")[0]
    print(f"{arm:14s}{numbers[0]:8d} {numbers[1]:6d} {weights:11d}")

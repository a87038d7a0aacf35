"""20  The tournament: which attention for which task?  ●●●○  30 min  importance ★  needs 15, 14

Which of twenty kinds of attention fail at which of ten tasks?
"""

# %% [markdown]
# [The map](../../MAP.md) has more than seventy rows, and each states what its variant can
# do. This has been shown on a task that was made for the variant. You have another task,
# and time to try two or three variants. Which ones? Here twenty kinds of attention learn
# ten tasks, all in the same small model, with the same data and the same number of tries.
#
# [Lesson 14](../14_checks_the_book/README.md) is needed for the measurement only.

# %%
import textwrap
from importlib import import_module

import numpy as np

import minigrad as mg
from lessons.classroom.records import how_made, record
from lessons.instrument import fair
from lessons.instrument.verdict import (
    above, below, between, discoveries, p_value,
)
from lessons.pages.figures import GREY, figure, show

tour = import_module("lessons.book.20_tournament.experiment")
tasks = {task.name: task for task in tour.tasks()}

# %% [markdown]
# ## Ten tasks in one form
#
# Each token is a pair of symbols $`(a_i, b_i)`$, such as a name and its value, and some
# tokens have an answer. We chose to make a name and its value *one* token, so that a
# single layer of attention can find a value by its name. For one text of each task, the
# lines below show the first and last tokens, then the question and the last answers.
# `5=2` gives the value 2 to the name 5, and `5?` asks for it. What does a model need for
# each answer: the order, the number, one far token, all tokens?


# %%
def token(task, a, b):
    """Return a token in words: 5=2 is name 5 with value 2, and 5? asks for it."""
    if task.sizes[1] == 1:
        return str(a)
    if task.sizes[1] == 3:
        return ":" if b == 1 else str(a)
    unread = tour.READ if task.sizes[0] == tour.NAMES else task.sizes[2] - 1
    return f"{a}?" if b == unread else f"{a}={b}" if b < unread else f"{a}."


# %%
for name, task in tasks.items():
    a, b, y = (x[0] for x in task.texts(np.random.default_rng(2), 1))
    words = [token(task, *pair) for pair in zip(a, b)]
    print(f"{name:12s}{' '.join(words[:6])} ... {' '.join(words[-5:])}")
    print(f"{'':12s}{task.question}: ... {' '.join(map(str, y[-3:]))}")

# %% [markdown]
# In *far*, 18 names without a value stand between the names with values and the
# questions. In *nothing*, half of the names that may be asked for have no value, and
# their answer is {{ tour.NOTHING }}. In *counting* and *reset*, each token of the second
# half has an answer, and in *reset* the symbol 2 is the reset. In *sorting* and *copying*
# the model reads the source, a sign that ends it, and the answers before. In *sets*,
# `2=0` is the number 0 of the kind 2, and `2?` asks for the largest number of this kind.
# In *streams* the model is trained with texts of 20 tokens, and tested with 80.
#
# ## Twenty arms
#
# | arms | what differs from the first |
# |---|---|
# | softmax | nothing: causal heads, scaled dot products, positions by rotation (RoPE) |
# | no positions, ALiBi, CoPE | the positions: none, slopes, counted tokens |
# | sink, sparsemax, sigmoid, QK-norm | the weights, with RoPE |
# | stick-breaking, forgetting | the weights, which depend on the order of the keys; no positions |
# | one key head, latent (MLA) | fewer numbers to keep; RoPE, for latent on a part of its own |
# | window, chosen blocks | which keys: the last {{ tour.WINDOW }}, or two blocks of four, with RoPE |
# | linear | elu + 1 instead of exp, a running sum instead of all pairs; sines are added |
# | fixed decay, decay, delta, gated delta | a state that forgets or corrects, without positions |
# | ISAB | {{ tour.READS }} learned vectors read all tokens, later ones too; sines are added |
#
# Everything else is equal: width {{ tour.WIDTH }}, {{ tour.HEADS }} heads, one block with
# its network, Adam, the same batches of 32 for each seed, three learning rates. [The
# script](experiment.py) contains all of it. Most arms need only an option of
# `TransformerConfig`; in the others another layer takes the place of the attention:

# %% [source] lessons.book.20_tournament.experiment.Reader.__init__

# %% [markdown]
# **A check before the study.** An arm that can read the answers is right without learning
# the task. So we change the last token of a text. In which arms does an earlier output
# change?

# %%
rng = np.random.default_rng(0)
a, b, _ = tasks["lookup"].texts(rng, 4)
changed = a.copy()
changed[:, -1] = (a[:, -1] + 1) % tour.NAMES
late = []
for arm in tour.ARMS:
    model = tour.Reader(arm, tasks["lookup"].sizes, np.random.default_rng(1))
    with mg.no_grad():
        before, after = (model(x, b, slice(None)).data for x in (a, changed))
    if (before[:, :-1] != after[:, :-1]).any():
        late.append(arm)
print(f"of {len(tour.ARMS)} arms read a later token:", late)

# %% [markdown]
# In *counting*, *sorting*, *copying* and *reset* a later token contains an answer, or
# what must not be counted yet. ISAB is left out of these tasks, so four cells of the
# picture below have no number.
#
# ## What we expect
#
# We wrote these claims down before the study, so that they could turn out wrong. The
# first six are on names and values: a state of fixed size should be worse where there are
# many names, and a state that corrects should be better where values change.

# %%
LEVEL = between(-0.02, 0.02)
CLAIMS = [  # words, task, arm, the other arm, range of the difference
    ("28 names do not fit into sums", "lookup", "linear", "softmax", below(0)),
    ("nor into a decaying state", "lookup", "decay", "softmax", below(0)),
    ("a sink finds better what is not there", "nothing", "sink", "softmax", above(0)),
    ("to correct beats to add", "overwritten", "delta", "fixed decay", above(0)),
    ("the last value needs order", "overwritten", "no positions", "softmax", below(0)),
    ("a window does not reach far names", "far", "window", "softmax", below(0)),
]

# %% [markdown]
# The other six are on order, number and length:

# %%
CLAIMS += [
    ("ALiBi still finds far names", "far", "ALiBi", "softmax", LEVEL),
    ("a sigmoid counts better", "counting", "sigmoid", "softmax", above(0)),
    ("copying needs positions", "copying", "no positions", "softmax", below(0)),
    ("a gate that forgets helps", "reset", "forgetting", "softmax", above(0)),
    ("8 vectors hold the largest of 3 kinds", "sets", "ISAB", "softmax", LEVEL),
    ("RoPE suffers in long texts", "streams", "softmax", "stick-breaking", below(0)),
]

# %% [markdown]
# Under each claim stand the difference of two mean shares of right answers, and its
# interval. Behind it stand the task and the verdict: *holds*, *no*, *undecided* if the
# interval contains the bound, or *unfinished*. *After so many steps*: a run still moved
# when its budget of {{ tasks["lookup"].budget }} steps ended ({{ tasks["reset"].budget }} in *counting* and *reset*), so
# more steps could change the number.

# %%
kept = record("tournament")
print(how_made(kept))
for words, task, arm, other, claimed in CLAIMS:
    print(fair.judge(kept[task], (f"{words} ({task})", claimed, arm, other)))

# %% [markdown]
# ## The picture
#
# Each cell is the mean share of right answers of {{ len(kept["lookup"]["seeds"]) }} runs,
# in percent. Two rows at the bottom need no training. One always gives the most frequent
# answer. The other looks for the name among the last {{ tour.WINDOW }} tokens; if it is
# not there, it gives the most frequent answer.
#
# A difference from softmax of up to two points does not count. For a larger one we compute
# the *p-value*: how probable so large a difference, or a larger one, would be if the true
# one were at most two points. There are many cells, and of a hundred true differences of
# two points about five have a p-value below 1/20. So we count twice: each cell alone, and
# by the rule of Benjamini and Hochberg (1995), which marks cells so that about one in
# twenty of *those that are marked* is marked by chance. In which cells is each direction
# possible at all? Where softmax is right in 98 of 100 answers or more, no arm can be more
# than two points ahead.

# %%
ARMS, SAME = list(tour.ARMS), LEVEL.high
cells = [(t, arm) for t in tasks for arm in kept[t]["arms"] if arm != "softmax"]
runs = len(kept["lookup"]["seeds"])
minus = {
    (t, arm): fair.figures(kept[t], arm) - fair.figures(kept[t], "softmax")
    for t, arm in cells
}
p = np.array([p_value(minus[cell], SAME) for cell in cells])
side = np.array([np.sign(minus[cell].mean()) for cell in cells]).astype(int)

# %%
best = np.array([fair.of_arm(kept[t], "softmax").value for t, _ in cells])
chance = np.array([tasks[t].trivial for t, _ in cells])
print(f"of {len(cells)} cells, ahead is possible in {(best < 1 - SAME).sum()},",
      f"behind in {(best > chance + SAME).sum()}")  # fmt: skip
alone, marked = (dict(zip(cells, side * x)) for x in (p <= 0.05, discoveries(p)))
for words, found in ("each alone", alone), ("all cells", marked):
    x = list(found.values())
    print(f"{words:12s}{x.count(-1):4d} behind softmax, {x.count(1):3d} ahead of it,",
          f"{x.count(0):3d} of {len(x)} undecided")  # fmt: skip
least = min(abs(minus[cell].mean()) for cell, x in marked.items() if x)
print(f"smallest difference that is marked: {least:.3f}")

# %%
pair = {cell: [fair.figures(kept[cell[0]], a) for a in (cell[1], "softmax")]
        for cell, x in marked.items() if x == 1}  # fmt: skip
apart = [cell for cell, (x, y) in pair.items() if x.min() > y.max()]
print(f"{len(apart)} of the {len(pair)} arms ahead have no run below one of softmax;")
print(sum(task == "streams" for task, _ in apart), "of these in streams")

# %% [markdown]
# A caveat: all cells of a task use the same five runs of softmax, so they are not
# independent. A weak run of softmax makes all arms of its task look better. The rule still
# holds where such tests depend on each other positively, as they do for one direction, and
# this is not proved for both. In *streams* no run of an arm that is ahead overlaps with a
# run of softmax.

# %% [figure]
bottom = ["most frequent answer", f"last {tour.WINDOW} tokens"]
table = np.full((len(ARMS) + 2, len(tasks)), np.nan)
labels = np.full(table.shape, "", object)
for j, (name, task) in enumerate(tasks.items()):
    for i, arm in enumerate(ARMS):
        if arm in kept[name]["arms"]:
            table[i, j] = fair.of_arm(kept[name], arm).value
            moved = fair.steps_without_plateau(kept[name], arm) is not None
            sign = {-1: "−", 0: "", 1: "+"}[marked.get((name, arm), 0)]
            labels[i, j] = f"{100 * table[i, j]:.0f}{sign}{'*' * moved}"
            labels[i, j] = labels[i, j].removesuffix("100")  # solved: dark is enough
        else:
            labels[i, j] = "left out"
    table[-2, j] = task.trivial
    table[-1, j] = tour.near(task) if task.sizes[0] == tour.NAMES else np.nan
    labels[-2:, j] = ["" if np.isnan(x) else f"{100 * x:.0f}" for x in table[-2:, j]]
title = f"Which attention for which task? ({runs} runs a cell)"
fig, ax = figure(title, size=(7.6, 7.4))
ax.imshow(table, cmap="Blues", vmin=0, vmax=1, aspect="auto")
for i, j in np.ndindex(*table.shape):
    empty = np.isnan(table[i, j])
    colour = GREY if empty else "white" if table[i, j] > 0.6 else "black"
    ax.text(j, i, labels[i, j], ha="center", va="center", color=colour, size=8)
ax.axhline(len(ARMS) - 0.5, color="black", lw=2)
ax.set_xticks(range(len(tasks)), tasks, rotation=30, ha="right")
ax.set_yticks(range(len(table)), ARMS + bottom)
ax.set(xlabel="task", ylabel="attention")
ax.tick_params(bottom=False, left=False)
ax.grid(False)
softmax = ", ".join(f"{t} {100 * table[0, j]:.0f}" for j, t in enumerate(tasks))
alt = f"""Right answers in percent, darker for more; a cell without a number has 100.
Softmax: {softmax}. A sign + or − marks a cell that
differs from softmax by more than {100 * SAME:.0f} points, by the rule for all cells; a
star, a cell in which a run had no plateau when its budget ended. "Left out": an arm that
would read the answers. White: a baseline that does not apply."""
show(fig, "tournament", alt)

# %% [markdown]
# Read the picture by columns first: a column that is dark from top to bottom is a task
# that nearly every arm solves at this size, and it decides little. For each task, how
# many arms are marked as behind softmax, and which as ahead of it?

# %%
for task in tasks:
    behind = sum(marked.get((task, arm)) == -1 for arm in ARMS)
    ahead = [arm for arm in ARMS if marked.get((task, arm)) == 1]
    words = f"{task:12s}{behind} behind; ahead: {', '.join(ahead) or 'none'}"
    print(textwrap.fill(words, 78, subsequent_indent=" " * 12))

# %% [markdown]
# What the picture shows, of these tasks and this size:
#
# - A name that is looked up (*lookup*, *nothing*, *far*) is found by nearly all arms that
#   read all tokens. In at least one of the three tasks these arms are marked as behind:
#   the window, chosen blocks that miss the name, the linear sums and the decaying states
#   of {{ tasks["lookup"].question.split()[-2] }} names, and two arms that were still far from an answer in *lookup* when their steps ended, stick-breaking and
#   ISAB.
# - Where the order matters, an arm needs a source of order. In *copying*, where the
#   symbols repeat, only their places help. Slopes, gates and decays give more weight to
#   near tokens; they do not single out the token ten places back, as RoPE, CoPE and sines
#   can.
# - Arms are ahead of softmax with RoPE only where softmax leaves room, in *reset* and
#   *streams* (in *counting* two are, each alone). In the other seven tasks all its runs
#   are near 100, and these tasks cannot show that an arm is better.
# - CoPE counts tokens, and its abstract names counting among the tasks that it solves and
#   other positions do not (Golovneva and others 2024). Here it has
#   {{ f"{fair.of_arm(kept['counting'], 'CoPE').value:.3f}" }} of the answers right in
#   *counting*, and RoPE
#   {{ f"{fair.of_arm(kept['counting'], 'softmax').value:.3f}" }}. (Its runs differ too much
#   for a mark, from {{ f"{fair.figures(kept['counting'], 'CoPE').min():.2f}" }} to
#   {{ f"{fair.figures(kept['counting'], 'CoPE').max():.2f}" }}.)
# - One expectation could not be tested: where a name has no value, softmax is right as
#   well as a sink, and the task cannot tell. In lesson 15 the context itself was the
#   answer; here a network reads the context, and it may learn how a mixture of many values
#   differs from one value. We did not measure whether it does.
#
# **An arm that did not start.** Stick-breaking has learned nothing in *lookup* and *far*
# in {{ tasks["far"].budget }} steps, with none of the rates. At the start all scores are
# near 0, so each key, from the nearest on, takes half of the weight that is left, and a
# key $m$ places back gets $2^{-(m+1)}$: {{ f"{2.0**-21:.0e}" }} for $m = 20$. Its
# gradient has the same factor. With lower scores at the start, more weight would be left
# for far keys. That was not tried, so this result is on a start, and not on what
# stick-breaking can do.
#
# **A check after the study.** The arm *window* and the last row of the picture read the
# same tokens. Their shares, in percent, should agree where training has ended, that is,
# where there is no star:

# %%
for name, task in tasks.items():
    if task.sizes[0] == tour.NAMES:
        x, seen = fair.of_arm(kept[name], "window"), tour.near(task)
        star = "*" if x.steps else " "
        print(
            f"{name:12s}window {100 * x.value:3.0f}{star}  last row {100 * seen:3.0f}"
        )

# %% [markdown]
# Without a star they nearly agree. The next table counts the numbers that one layer keeps
# of earlier tokens while it writes, after 20 and after 80 tokens. (ISAB keeps the tokens,
# and computes everything anew.) Then come the parameters of the model, and the number of
# tasks in which the arm is marked as behind softmax, and as ahead of it:

# %%
E = tour.WIDTH // tour.HEADS
pairs, state = 2 * tour.WIDTH, tour.HEADS * E * E
KEEPS = {
    "one key head": lambda n: 2 * E * n,
    "latent (MLA)": lambda n: (8 + 4) * n,
    "window": lambda n: pairs * min(n, tour.WINDOW),
    "forgetting": lambda n: (pairs + tour.HEADS) * n,
    "linear": lambda n: state + tour.WIDTH,
    "ISAB": lambda n: tour.WIDTH * n,
} | dict.fromkeys(("fixed decay", "decay", "delta", "gated delta"), lambda n: state)

# %%
print("keeps after        20     80  parameters   behind   ahead")
for arm in ARMS:
    numbers = [KEEPS.get(arm, lambda n: pairs * n)(n) for n in (20, 80)]
    lost, won = (sum(marked.get((t, arm)) == x for t in tasks) for x in (-1, 1))
    weights = next(r["parameters"] for r in kept["lookup"]["runs"] if r["arm"] == arm)
    print(f"{arm:14s}{numbers[0]:8d} {numbers[1]:6d} {weights:11d}{lost:9d}{won:8d}")

# %% [markdown]
# ## What it does not show
#
# Did the runs have enough steps, and the grid enough rates?

# %%
every = [run for t in tasks for run in kept[t]["runs"]]
rates = kept["lookup"]["rates"]
edge = [(t, a) for t, a in cells if kept[t]["chosen"][a] in (rates[0], rates[-1])]
low = sum(fair.of_arm(kept[t], arm).value < 0.98 for t, arm in edge)
moved = sum(not run["plateau"] for run in every)
print(f"{moved} of {len(every)} runs had no plateau when their budget ended")
print(
    f"{len(edge)} of {len(cells)} cells have the least or the largest rate of the grid,"
)
print(f"and {low} of these are not solved (below 98 of 100)")
print("steps before the rate falls:", min(r["steps"] for r in every), "to",
      max(r["steps"] for r in every))  # fmt: skip

# %% [markdown]
# - **Size.** The model has one block of width {{ tour.WIDTH }}, and training has texts of
#   at most 36 tokens. In two blocks the first can prepare what the second reads: a name
#   that stands before its value, the number of a token, a window that reaches twice as
#   far. A state of {{ E }} x {{ E }} numbers is small.
# - **Form.** Each arm has one form. Other slopes, windows, latent widths and positions
#   were not tried, and no mixture, such as a state beside a window.
# - **Choice.** One seed chose each rate, out of three; of equally good rates it chose the
#   first. An arm that needs a rate beyond the grid, or another start, is not at its best.
# - **No sign does not mean equal.** A cell without a sign is undecided at this threshold
#   and with these seeds; some have wide intervals.
# - **Time.** Nothing was measured in seconds; lesson 12 has such numbers.
# - **Absent.** Rows of the map that read two texts (pointers, monotonic), pictures and
#   graphs, and near relatives of arms that are here: softmax plus one, entmax, KERPLE,
#   GLA, native sparse attention, differential attention.
# - **Language.** Each task needs one ability, and a text needs many at once.
#
# ## What would break it?
#
# - One rate for all arms: the arm for which it was tuned looks best.
# - A budget of steps that ends while an arm still learns, and a page that then says
#   "cannot".
# - A mask that is missing, so that an arm can read the answers.
# - A study of ten tasks that reports only the one that fits its claim.
#
# **To take away: here no kind of attention was the best in all ten tasks; a tournament
# shows which ones fail at a task like yours, at this size, and leaves fewer to try.**
#
# Exercises: E.16 (find out from the record of a comparison whether it was fair):
# `python -m lessons start E.16`. A task of your own is a function that draws tokens and
# answers, and a `Task` in [the script](experiment.py);
# `python -m lessons experiment 20` runs them all.

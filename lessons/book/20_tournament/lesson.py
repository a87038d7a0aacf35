"""Lesson 20: the tournament: which attention for which task?  ●●●○"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

# %% [markdown]
# # 20. The tournament: which attention for which task?
#
# [The map](../../MAP.md) has more than seventy rows, and each says what its variant can
# do. A row was shown on a task that was made for it. You have another task, and time to
# try two or three. Which ones? Here twenty kinds of attention meet ten tasks, all in
# the same small model, with the same data and the same number of tries.
#
# You need [lesson 15](../15_weights/README.md) and, for the measurement,
# [lesson 14](../14_checks_the_book/README.md). Thirty minutes.

# %%
import textwrap
from importlib import import_module

import numpy as np

import minigrad as mg
from attention.app.experiments import fair
from attention.app.experiments.verdict import above, below, between, student, verdict
from lessons.classroom.records import how_made, record
from lessons.pages.figures import GREY, figure, show

tour = import_module("lessons.book.20_tournament.experiment")
tasks = {task.name: task for task in tour.tasks()}

# %% [markdown]
# ## Ten tasks in one form
#
# Each token is a pair of symbols $`(a_i, b_i)`$, such as a name and its value, and some
# tokens have an answer. That a name and its value are *one* token is a choice: a single
# layer of attention can then find a value by its name. One text of each task follows,
# its first and last tokens and its last answers. What would you need to answer: the
# order, the number, one far token, all tokens?


# %%
def token(task, a, b):
    """Return a token in words: 5=2 is name 5 with value 2, and 5? asks for it."""
    if task.sizes[1] == 1:
        return str(a)
    if task.sizes[1] == 3:
        return ":" if b == 1 else str(a)
    unread = tour.READ if task.sizes[0] == tour.NAMES else task.sizes[2] - 1
    return f"{a}?" if b == unread else f"{a}={b}" if b < unread else f"{a}."


for name, task in tasks.items():
    a, b, y = (x[0] for x in task.draw(np.random.default_rng(2), 1))
    words = [token(task, *pair) for pair in zip(a, b)]
    print(f"{name:12s}{' '.join(words[:6])} ... {' '.join(words[-5:])}")
    print(f"{'':12s}{task.question}: ... {' '.join(map(str, y[-3:]))}")

# %% [markdown]
# `5=2` gives the value 2 to the name 5, `5?` asks for it, `5.` is a name without a value,
# and `:` ends a source. In *nothing*, half of the names have no value, and the answer is
# {{ tour.NOTHING }}. In *counting* and *reset*, each token of the second half has an
# answer, and in *reset* the symbol 2 is the reset. In *streams* a text of 20 tokens is
# trained, and one of 80 is tested.
#
# ## Twenty arms
#
# | arms | what differs from the first |
# |---|---|
# | softmax | nothing: causal heads, scaled dot products, positions by rotation (RoPE) |
# | no positions, ALiBi, CoPE | the positions: none, slopes, counted tokens |
# | sink, sparsemax, sigmoid, QK-norm | the weights, with RoPE |
# | stick-breaking, forgetting | the weights, which have an order; no positions |
# | one key head, latent (MLA) | fewer numbers to keep; latent rotates a part of its own |
# | window, chosen blocks | which keys: the last {{ tour.WINDOW }}, or two blocks of four, with RoPE |
# | linear | elu + 1 for exp, sums for pairs; sines are added |
# | fixed decay, decay, delta, gated delta | a state that forgets or corrects, without positions |
# | ISAB | {{ tour.READS }} learned vectors read all tokens, later ones too; sines are added |
#
# Everything else is equal: width {{ tour.WIDTH }}, {{ tour.HEADS }} heads,
# {{ {1: "one block", 2: "two blocks"}[tour.LAYERS] }} with its network, Adam, batches of 32, the seeds' batches, three
# learning rates. [The script](experiment.py) has all of it. An option of
# `TransformerConfig` makes most arms; the others replace one layer:

# %% [source] lessons.book.20_tournament.experiment.Reader.__init__

# %% [markdown]
# **A check before any race.** An arm that reads the answers wins. So: if the last token
# changes, may an earlier output change?

# %%
rng = np.random.default_rng(0)
a, b, _ = tasks["lookup"].draw(rng, 4)
changed = a.copy()
changed[:, -1] = (a[:, -1] + 1) % tour.NAMES
late = []
for arm in tour.ARMS:
    model = tour.Reader(arm, tasks["lookup"].sizes, np.random.default_rng(1))
    with mg.no_grad():
        before, after = (model(x, b, slice(None)).data for x in (a, changed))
    if (before[:, :-1] != after[:, :-1]).any():
        late.append(arm)
print(f"of {len(tour.ARMS)} arms see a later token:", late)

# %% [markdown]
# In *counting*, *sorting*, *copying* and *reset* a later token contains an answer, or
# what must not be counted yet. ISAB stays out of these: four cells are empty.
#
# ## What we expect
#
# Written down before the study, so that we can be wrong:

# %%
CLAIMS = [  # words, task, arm, the other arm, range of the difference
    ("28 names do not fit into linear sums", "lookup", "linear", "softmax", below(0)),
    ("nor into a decaying state", "lookup", "decay", "softmax", below(0)),
    ("a sink finds nothing better", "nothing", "sink", "softmax", above(0)),
    ("a state that corrects beats one that adds", "overwritten", "delta",
     "fixed decay", above(0)),
    ("the order of a softmax is not enough", "overwritten", "no positions",
     "softmax", below(0)),
    ("a window does not see far names", "far", "window", "softmax", below(0)),
    ("ALiBi still finds them", "far", "ALiBi", "softmax", between(-0.02, 0.02)),
    ("a sigmoid counts better", "counting", "sigmoid", "softmax", above(0)),
    ("copying needs positions", "copying", "no positions", "softmax", below(0)),
    ("a gate that forgets helps", "reset", "forgetting", "softmax", above(0)),
    ("8 vectors hold the largest of 3 kinds", "sets", "ISAB", "softmax",
     between(-0.02, 0.02)),
    ("RoPE suffers in long texts", "streams", "softmax", "stick-breaking", below(0)),
]  # fmt: skip
kept = record("tournament")
print(how_made(kept))
for words, task, arm, other, claimed in CLAIMS:
    found = fair.difference(kept[task], arm, other)
    print(f"{verdict(claimed, found):10s} {words}")
    numbers = f"{found.value:+.2f} [{found.low:+.2f}, {found.high:+.2f}]"
    print(f"           {task}, {arm} minus {other}: {numbers}", "*" * bool(found.steps))

# %% [markdown]
# A star: a run still moved when its budget of {{ tasks["lookup"].budget }} steps ended
# ({{ tasks["reset"].budget }} in *counting* and *reset*), so more steps could change the
# number.
#
# ## The picture
#
# Each cell is the mean share of right answers of {{ len(kept["lookup"]["seeds"]) }}
# runs, in percent. Two rows at the bottom need no training: the most frequent answer,
# and what one knows who sees the last {{ tour.WINDOW }} tokens and finds the name among
# them, or says the most frequent answer.
#
# A difference from softmax counts if its interval lies beyond {{ f"{100 * 0.02:.0f}" }}
# points. There are many cells, and of a hundred intervals of 95 % some five are wrong.
# So we count twice: with each interval alone, and with intervals so wide that *all* of
# them hold at once in 95 of 100 studies (Bonferroni: each misses with 0.05 divided by
# the number of cells).

# %%
ARMS, SAME = list(tour.ARMS), 0.02
cells = [(t, arm) for t in tasks for arm in kept[t]["arms"] if arm != "softmax"]
runs = len(kept["lookup"]["seeds"])
wider = student(runs, 1 - 0.025 / len(cells)) / student(runs)


def against_softmax(task, arm, factor=1.0):
    """Return 1 if an arm is ahead of softmax, -1 if it is behind, 0 if undecided."""
    d = fair.difference(kept[task], arm, "softmax")
    half = factor * (d.high - d.value)
    return int(d.value - half > SAME) - int(d.value + half < -SAME)


alone = {cell: against_softmax(*cell) for cell in cells}
sure = {cell: against_softmax(*cell, wider) for cell in cells}
for words, found in ("each alone", alone), ("all at once", sure):
    x = list(found.values())
    print(f"{words:12s}{x.count(-1):4d} behind softmax, {x.count(1):3d} ahead of it,",
          f"{x.count(0):3d} of {len(x)} neither")  # fmt: skip
print(f"for all at once, an interval is {wider:.1f} times as wide")

# %% [figure]
bottom = ["most frequent answer", f"last {tour.WINDOW} tokens"]
table = np.full((len(ARMS) + 2, len(tasks)), np.nan)
labels = np.full(table.shape, "", object)
for j, (name, task) in enumerate(tasks.items()):
    for i, arm in enumerate(ARMS):
        if arm in kept[name]["arms"]:
            table[i, j] = fair.of_arm(kept[name], arm).value
            moved = fair.steps_without_plateau(kept[name], arm) is not None
            sign = {-1: "−", 0: "", 1: "+"}[sure.get((name, arm), 0)]
            labels[i, j] = f"{100 * table[i, j]:.0f}{sign}{'*' * moved}"
        else:
            labels[i, j] = "sees it"
    table[-2, j] = task.trivial
    table[-1, j] = tour.near(task) if task.sizes[0] == tour.NAMES else np.nan
    labels[-2:, j] = ["" if np.isnan(x) else f"{100 * x:.0f}" for x in table[-2:, j]]
title = f"Which attention for which task? ({runs} runs a cell)"
fig, ax = figure(title, size=(8.6, 7.4))
image = ax.imshow(table, cmap="Blues", vmin=0, vmax=1, aspect="auto")
for i, j in np.ndindex(*table.shape):
    empty = np.isnan(table[i, j])
    colour = GREY if empty else "white" if table[i, j] > 0.6 else "black"
    ax.text(j, i, labels[i, j], ha="center", va="center", color=colour, size=8)
ax.axhline(len(ARMS) - 0.5, color="black", lw=2)
ax.set_xticks(range(len(tasks)), tasks, rotation=30, ha="right")
ax.set_yticks(range(len(table)), ARMS + bottom)
ax.set(xlabel="task", ylabel="attention")
ax.grid(False)
fig.colorbar(image, ax=ax, label="share of right answers", shrink=0.6)
softmax = ", ".join(f"{t} {labels[0, j]}" for j, t in enumerate(tasks))
alt = f"""Right answers in percent. Softmax: {softmax}. A sign + or − marks a cell that
differs from softmax by more than {100 * SAME:.0f} points, all cells at once; a star, a
cell in which a run had no plateau when its budget ended. "Sees it": an arm that would
see the answers stays out. Empty: a baseline that does not apply."""
show(fig, "tournament", alt)

# %% [markdown]
# Read it by columns first: a column that is dark from top to bottom is a task that every
# arm solves at this size, and it decides nothing. What is sure, with the number of all
# cells taken into account:

# %%
for task in tasks:
    by_sign = {
        sign: [arm for arm in kept[task]["arms"] if sure.get((task, arm)) == sign]
        for sign in (1, -1)
    }
    words = f"{task:12s}{len(by_sign[-1])} behind; ahead: {', '.join(by_sign[1])}"
    print(textwrap.fill(words, 78, subsequent_indent=" " * 12))

# %% [markdown]
# And what each keeps of earlier tokens while it writes, in numbers of one layer, after
# 20 and after 80 tokens. ISAB keeps the tokens, and computes all of them again:

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
print("keeps after      20     80   weights   surely behind in   ahead in")
for arm in ARMS:
    numbers = [KEEPS.get(arm, lambda n: pairs * n)(n) for n in (20, 80)]
    lost, won = (sum(sure.get((t, arm)) == x for t in tasks) for x in (-1, 1))
    weights = next(r["parameters"] for r in kept["lookup"]["runs"] if r["arm"] == arm)
    print(f"{arm:14s}{numbers[0]:6d} {numbers[1]:6d} {weights:9d}{lost:12d}{won:16d}")

# %% [markdown]
# ## What it does not show

# %%
every = [run for t in tasks for run in kept[t]["runs"]]
rates = kept["lookup"]["rates"]
edge = sum(kept[t]["chosen"][arm] in (rates[0], rates[-1]) for t, arm in cells)
moved = sum(not run["plateau"] for run in every)
print(f"{moved} of {len(every)} runs had no plateau when their budget ended")
print(f"{edge} of {len(cells)} cells have chosen the least or the largest rate")
print("steps before the rate falls:", min(r["steps"] for r in every), "to",
      max(r["steps"] for r in every))  # fmt: skip

# %% [markdown]
# - **Size.** One block of width {{ tour.WIDTH }}, and texts of at most 36 tokens. In two blocks
#   the first can prepare what the second reads: a name that stands before its value, the
#   number of a token, a window that reaches twice as far. A state of
#   {{ E }} x {{ E }} numbers is small, and it is the size that decides how many names fit.
# - **Form.** One form of each arm: other slopes, windows, latent widths and positions were not tried, and no
#   mixture, such as a state beside a window, which is what large models use.
# - **Choice.** One seed chose each rate, from three. An arm that needs a rate beyond
#   the grid, or a slower start, is not at its best.
# - **Time.** Nothing was measured in seconds; lesson 12 has such numbers.
# - **Absent.** Rows of the map that read two texts (pointers, monotonic), pictures and
#   graphs, and near relatives of arms that are here: softmax plus one, entmax, KERPLE,
#   GLA, native sparse attention, differential attention.
# - **Language.** Each task asks for one ability, and a text for many at once.
#
# ## What would break it?
#
# - One rate for all: the arm for which it was tuned wins.
# - Steps that end while an arm still learns, and a page that says "cannot".
# - An arm that sees the answers, by a mask that is missing.
# - Ten tasks, and a report of the one that fits.
#
# **To take away: no kind of attention is best; a tournament shows which ones fail at a
# task like yours, at this size, and leaves fewer to try on your own.**
#
# A task of your own is a function that draws tokens and answers, and a `Task` in
# [the script](experiment.py): `python -m lessons experiment 20` runs them all.

"""Check an answer to E.16."""

import itertools
import math

import numpy as np

from lessons.checks.measure import without_loops
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, several
from lessons.classroom import records
from lessons.classroom.steps import edges, laws, numbers, shape, values

# THE EXERCISE IN LOOPS

STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31}


def untried_rates(record):
    found = []
    for arm in record["arms"]:
        for rate in record["rates"]:
            tried = []
            for run in record["choices"]:
                if run["arm"] == arm and run["rate"] == rate:
                    tried.append(run["seed"])
            if not set(record["choosing"]) <= set(tried):
                found.append((arm, rate))
    return found


def dropped_seeds(record):
    found = []
    for arm in record["arms"]:
        reported = [run["seed"] for run in record["runs"] if run["arm"] == arm]
        for seed in record["seeds"]:
            if seed not in reported:
                found.append((arm, seed))
    return found


def movement(curve):
    m = len(curve) // 4
    before, last = curve[-2 * m : -m], curve[-m:]
    moved = sum(last) / m - sum(before) / m
    variances = 0.0
    for y in (before, last):
        squares = [(y[t + 1] - y[t]) ** 2 for t in range(m - 1)]
        variances += sum(squares) / (m - 1) / 2
    noise = math.sqrt(variances / m)
    return moved, noise


def is_plateau(curve, resolution):
    moved, noise = movement(curve)
    return len(curve) >= 24 and abs(moved) <= max(noise, resolution)


def difference(record, a, b):
    of_a, of_b = {}, {}
    for run in record["runs"]:
        for arm, of in ((a, of_a), (b, of_b)):
            if run["arm"] == arm:
                of[run["seed"]] = run["figure"]
    x = [of_a[seed] - of_b[seed] for seed in of_a if seed in of_b]
    n = len(x)
    mean, half = sum(x) / n, math.inf
    if n > 1:
        s = math.sqrt(sum((each - mean) ** 2 for each in x) / (n - 1))
        half = STUDENT[n] * s / math.sqrt(n)
    return mean, mean - half, mean + half


def verdict_of(record, a, others):
    if untried_rates(record):
        return "unfair"
    if dropped_seeds(record):
        return "unfair"
    for arm in (a, *others):
        if arm not in record["arms"]:
            return "unfair"
    holds = True
    for other in others:
        _, low, high = difference(record, a, other)
        ended = True
        for run in record["runs"]:
            if run["arm"] in (a, other):
                ended &= is_plateau(run["curve"], record["resolution"])
        if high < 0 and ended:
            return "no"
        holds &= low > 0
    return "holds" if holds else "undecided"


# THE CHECK

ARMS = "all words", "window", "first word"
LEVELS = 0.9, 0.7, 0.5  # of their figures
PARTS = {"movement": ("moved", "noise"), "difference": ("mean", "low", "high")}


class Record(dict):
    """A record, which a report shows by its size."""

    def __repr__(self):
        sizes = (len(self[name]) for name in ("arms", "rates", "seeds"))
        return "<{} arms, {} rates, {} seeds>".format(*sizes)

    def doubled(self, part, seed, other, **job):
        """Return the same record whose runs of a seed are from another seed."""
        moved = [
            run | {"seed": other if job.items() <= run.items() and run["seed"] == seed
                   else run["seed"]} for run in self[part]
        ]  # fmt: skip
        return Record(self | {part: moved})

    def without(self, part, **job):
        """Return the same record without some runs of ``choices`` or of ``runs``."""
        left = [run for run in self[part] if not job.items() <= run.items()]
        return Record(self | {part: left})


def draw_curve(rng, level, moves):
    """Return 30 figures that rise to ``level``, or rise on, or fall again."""
    t = np.linspace(0, 1, 30)
    shape = {0: np.minimum(2 * t, 1), 1: t, -1: 1.5 - np.abs(1.5 * t - 0.8)}[moves]
    return (level * shape + rng.normal(0, 0.003, 30)).tolist()


def draw_run(rng, arm, rate, seed, level, moves):
    curve = draw_curve(rng, level, moves)
    return {
        "arm": arm, "rate": rate, "seed": seed, "curve": curve,
        "validation": curve[-1], "plateau": moves == 0, "diverged": False,
        "figure": float(level),
    }  # fmt: skip


def draw_record(rng, levels=LEVELS, moves=(0, 0, 0), seeds=5, first=1):
    """Return a fair record.

    first    the first of its seeds

    levels   the mean figure of each arm
    moves    whether the curves of each arm still rise (1), fall (-1), or do not move
    """
    rates, choosing = [0.001, 0.002, 0.004], [100 + first, 101 + first]
    seeds = [*range(first, first + seeds)]
    common = dict(zip(seeds, rng.normal(0, 0.1, len(seeds))))  # of all runs of a seed
    choices, runs, chosen = [], [], {}
    for arm, level, moving in zip(ARMS, levels, moves):
        best = chosen[arm] = rates[rng.integers(3)]
        for rate, seed in itertools.product(rates, choosing):
            lower = level - 0.2 * (rate != best)
            choices.append(draw_run(rng, arm, rate, seed, lower, moving))
        for seed in seeds:
            figure = level + common[seed] + rng.normal(0, 0.02)
            runs.append(draw_run(rng, arm, best, seed, figure, moving))
    runs[0]["diverged"] = choices[0]["diverged"] = True
    rng.shuffle(choices)
    rng.shuffle(runs)
    return Record(
        arms=list(ARMS), rates=rates, chosen=chosen, choosing=choosing, seeds=seeds,
        resolution=0.01, choices=choices, runs=runs,
    )  # fmt: skip


def pairs(my, found, what):
    """Return a list of pairs, sorted; fail if it is none."""
    text = f"expected a list of pairs (arm, {what})"
    is_list = isinstance(found, (list, tuple, set, np.ndarray))
    my.holds(is_list, "type", text, f"found {type(found).__name__}")
    try:
        return sorted((str(arm), float(value)) for arm, value in found)
    except (TypeError, ValueError):
        my.holds(False, "type", text, f"found {found!r}")


def equal_pairs(my, find, right, records, what):
    """Fail unless a function returns the right pairs, in any order, of all records."""
    for record in records:
        want, found = pairs(my, right(record), what), pairs(my, find(record), what)
        text = (
            f"expected {want or 'an empty list'}",
            f"found {found or 'an empty list'}",
        )
        my.holds(found == want, "pairs", *text)


@shape("lists of pairs, two numbers, three numbers, and one of four words")
def kinds(my, rng):
    record = draw_record(rng)
    pairs(my, my.untried_rates(record), "rate")
    pairs(my, my.dropped_seeds(record), "seed")
    for name, found in (
        ("movement", my.movement(record["runs"][0]["curve"])),
        ("difference", my.difference(record, *ARMS[:2])),
    ):
        for each in several(my, found, PARTS[name]):
            my.shape(each, ())
    found = my.verdict_of(record, ARMS[0], ARMS[1:])
    words = "unfair", "no", "holds", "undecided"
    my.holds(found in words, "type", f"expected one of {words}", f"found {found!r}")


@numbers("a curve that ends with 0, 1, 1, 3, and differences .1, .2, .3")
def by_hand(my, rng):
    """The quarters have the means 1 / 2 and 2, and the variances 1 / 2 and 2."""
    record = draw_record(rng, seeds=3)
    for run in record["runs"]:
        behind, run["diverged"] = run["arm"] == "window", False
        run["figure"] = 0.7 - behind * run["seed"] / 10
    half = STUDENT[3] * 0.1 / math.sqrt(3)
    want = dict(zip(PARTS["difference"], (0.2, 0.2 - half, 0.2 + half)))
    with without_loops():
        found = my.movement([0.3] * 4 + [0.0, 1.0, 1.0, 3.0])
        equal_all(my, found, {"moved": 1.5, "noise": math.sqrt(2.5 / 2)})
        equal_all(my, my.difference(record, *ARMS[:2]), want)


@values("the rates that an arm has not tried")
def rates(my, rng):
    whole, (a, b, c) = draw_record(rng), ARMS
    first, second, third = whole["rates"]
    whole["chosen"][b] = second
    for run in whole["choices"]:
        run["diverged"] = run["arm"] == c and run["rate"] == second
    without_b = whole.without("choices", arm=b, rate=first)
    # every fault at once: no arm has tried the first rate, and b not the second; only b
    # and c have tried the third, each from one seed
    faults = whole.without("choices", rate=first)
    faults = faults.without("choices", arm=b, rate=second)
    faults = faults.without("choices", arm=a, rate=third)
    faults = faults.without("choices", arm=b, rate=third, seed=101)
    faults = faults.without("choices", arm=c, rate=third, seed=102)
    records = faults, whole, without_b.without("choices", arm=b, rate=third)
    records += (whole.without("choices", arm=a), draw_record(rng, first=7))
    for other in (102, 999):  # a seed twice, and one that is not in the plan
        records += (whole.doubled("choices", 101, other, arm=b, rate=third),)
    equal_pairs(my, my.untried_rates, untried_rates, records, "rate")


@values("the seeds that are not reported")
def seeds(my, rng):
    whole, (a, b, c) = draw_record(rng), ARMS
    faults = whole.without("runs", seed=5)
    for arm, seed in ((a, 1), (b, 2), (b, 3), (c, 4)):
        faults = faults.without("runs", arm=arm, seed=seed)
    records = faults, whole, whole.without("runs", arm=c), draw_record(rng, first=7)
    records += tuple(whole.doubled("runs", 2, other, arm=b) for other in (3, 999))
    equal_pairs(my, my.dropped_seeds, dropped_seeds, records, "seed")


@values("how far curves moved, and their noise, against a loop")
def curves(my, rng):
    for n in (30, 31, 44, 24, 26):
        rises = np.sqrt(np.arange(n)) + rng.normal(0, 0.3, n)
        for curve in (rises.tolist(), (-rises).tolist()):
            want = dict(zip(PARTS["movement"], movement(curve)))
            equal_all(my, my.movement(curve), want)


@values("differences seed by seed, against a loop")
def differences(my, rng):
    for n in (5, 3, 9):
        record = draw_record(rng, seeds=n)
        dropped = record.without("runs", arm="window", seed=2)
        for each in (record, dropped):
            for a, b in ((0, 1), (2, 1), (1, 2)):
                arms = ARMS[a], ARMS[b]
                want = dict(zip(PARTS["difference"], difference(each, *arms)))
                equal_all(my, my.difference(each, *arms), want)


def claims(rng):
    """Yield (what is true of a record, the record, the others of the claim)."""
    (a, b, _), both, low = ARMS, ARMS[1:], (0.5, 0.7, 0.3)
    fair = draw_record(rng)
    yield "it is fair, and a is ahead of both", fair, both
    yield "it is fair, and a is ahead of b", fair, [b]
    untried = fair.without("choices", arm=b, rate=fair["rates"][0])
    yield "b was not tried with each rate", untried, both
    yield "a seed of b is not reported", fair.without("runs", arm=b, seed=2), both
    yield "the baseline is not an arm", Record(fair | {"arms": [a, b]}), both
    yield "a is not an arm", Record(fair | {"arms": [*both]}), both
    for what, levels, moves in (
        ("a is behind b, and nothing moves", low, (0, 0, 0)),
        ("a is behind c, and nothing moves", (0.5, 0.3, 0.7), (0, 0, 0)),
        ("a is behind b, and the curves of a rise", low, (1, 0, 0)),
        ("a is behind b, and the curves of b rise", low, (0, 1, 0)),
        ("a is behind b, and the curves of b fall", low, (0, -1, 0)),
        ("a is behind b, and the curves of c rise", low, (0, 0, 1)),
        ("a is ahead, and all curves rise", LEVELS, (1, 1, 1)),
    ):
        yield what, draw_record(rng, levels, moves), both
    coarse = Record(draw_record(rng, low, (1, 1, 0)) | {"resolution": 1.0})
    yield "a is behind b, and no curve moves by the resolution, 1", coarse, both
    for what, curve in (
        ("all curves are too short for a plateau", [0.5] * 20),
        ("all curves move by less than their noise", [0.4, 0.6] * 15),
    ):
        same = draw_record(rng, low)
        runs = [run | {"curve": curve} for run in same["runs"]]
        yield f"a is behind b, and {what}", Record(same | {"runs": runs}), both
    rising, some = draw_record(rng, low, (1, 1, 0)), draw_record(rng, low)
    for run in rising["runs"]:
        run["plateau"] = True
    yield 'a is behind b, and "plateau" is a wrong entry', rising, both
    k = [run["arm"] for run in some["runs"]].index(b)
    some["runs"][k]["curve"] = draw_curve(rng, 0.7, 1)
    yield "a is behind b, and one curve of b rises", some, both
    for k, other in ((1, "b"), (2, "c")):
        for mean, where in ((0.02, "above it"), (-0.02, "below it")):
            near = nearly_equal(draw_record(rng), ARMS[k], mean)
            text = f"the interval of a minus {other} contains 0, its mean is {where}"
            yield text, near, both


def nearly_equal(record, other, mean):
    """Let arm a minus another have this mean, and a wide interval."""
    of_a = {r["seed"]: r["figure"] for r in record["runs"] if r["arm"] == ARMS[0]}
    for run in record["runs"]:
        if run["arm"] == other:
            away = 0.1 * (run["seed"] - np.mean(record["seeds"]))
            run["figure"] = of_a[run["seed"]] - mean + away
    return record


@values("verdicts on many records: a is all words, b the window, c the first word")
def verdicts(my, rng):
    """The first word alone is the baseline."""
    wrong = []
    for what, record, others in claims(rng):
        found = my.verdict_of(record, ARMS[0], others)
        want = verdict_of(record, ARMS[0], others)
        if found != want:
            text = f"expected {want!r}: {what}", f"found {found!r}"
            wrong.append((*text, my.last_call()[0]))
    expected, found, call = wrong[0] if wrong else ("", "", "")
    more = f"{len(wrong)} of the verdicts are wrong"
    my.holds(not wrong, "verdict", expected, found, more, call=call)


@laws("b minus a is the negative of a minus b, and shuffled runs change nothing")
def exchanged(my, rng):
    record = draw_record(rng)
    mean, low, high = my.difference(record, *ARMS[:2])
    found = my.difference(record, *ARMS[1::-1])
    equal_all(my, found, {"mean": -mean, "low": -high, "high": -low})
    shuffled = Record(record | {"runs": record["runs"][::-1]})
    found = my.difference(shuffled, *ARMS[:2])
    equal_all(my, found, {"mean": mean, "low": low, "high": high})


@laws("the record of lesson 14")
def of_lesson_14(my, rng):
    kept = Record(records.record("lookup")["lookup"])
    for a, others in (("dot", ["mean"]), ("dot", ["additive", "mean"])):
        found, want = my.verdict_of(kept, a, others), verdict_of(kept, a, others)
        words = f"{a} is better than {' and '.join(others)}"
        my.holds(found == want, "verdict", f"expected {want!r}", f"found {found!r}")
        print(f"{words}: {found}")


@edges("one seed")
def one_seed(my, rng):
    record = draw_record(rng, seeds=1)
    want = dict(zip(PARTS["difference"], difference(record, *ARMS[:2])))
    with without_loops():
        equal_all(my, my.difference(record, *ARMS[:2]), want)
        found = my.verdict_of(record, ARMS[0], ARMS[1:])
        my.holds(
            found == "undecided",
            "one-seed",
            "expected 'undecided': one seed has no interval",
            f"found {found!r}",
        )


OF_ARM = 'run["arm"] == arm and run["rate"] == rate'
EVERY_SEED = 'set(record["choosing"]) <= set(tried)'
GRID, PLAN = 'for rate in record["rates"]', 'for seed in record["seeds"]'
RUNS = 'for run in record["runs"] if run["arm"] == arm'
M, QUARTERS = "m = len(curve) // 4", "curve[-2 * m : -m], curve[-m:]"
MOVED = "moved = sum(last) / m - sum(before) / m"
SQUARES = "[(y[t + 1] - y[t]) ** 2 for t in range(m - 1)]"
VARIANCE, NOISE = "sum(squares) / (m - 1) / 2", "math.sqrt(variances / m)"
OF_B = 'of_b = {}, {}\n    for run in record["runs"]'
FIGURE = 'of[run["seed"]] = run["figure"]'
X = "[of_a[seed] - of_b[seed] for seed in of_a if seed in of_b]"
S = "math.sqrt(sum((each - mean) ** 2 for each in x) / (n - 1))"
HALF, ENDS = "half = STUDENT[n] * s / math.sqrt(n)", "mean - half, mean + half\n"
UNTRIED = '    if untried_rates(record):\n        return "unfair"\n'
DROPPED = UNTRIED.replace("untried_rates", "dropped_seeds")
IS_ARM, OF_BOTH = 'arm not in record["arms"]', 'run["arm"] in (a, other)'
NO, HOLDS = "high < 0 and ended", "holds &= low > 0"

CHOSEN = "A rate is chosen with the runs in choices, which are not reported."
EACH = "Two seeds choose a rate. What if one of them has no run with this rate?"
ALL = "The record lists what was to be trained. Which rates, or seeds, are in the list?"
OWN = "What another arm has tried or reported is still missing here."
COUNTS = "A run that failed is a result. Leaving it out makes an arm look better."
REPORTED = "Which runs are reported?"
LAST = "The last half of a curve of 30 entries are two quarters of 7 entries each."
MEANS = "Single entries have much noise. A mean of m entries has less."
STEPS = "By how much do neighbours in a quarter differ? s^2 is half the mean square."
MEAN_NOISE = "A mean of m entries has the variance s^2 / m. Both variances are added."
PAIRED = "Two runs from one seed had the same batches. Which ones are subtracted?"
FIGURES = "Which entry of a run is from data that nothing was chosen with?"
SPREAD = "The interval is that of the mean of n differences, whose spread is s."
FACTOR = "STUDENT has the number of values as its keys, not the degrees of freedom."
FAIRNESS = "What makes a comparison unfair? There are three reasons."
BOTH = "Which models could still change the result, if the training went on?"
EVERY = "The claim is about each of the others, not about one of them."
INTERVAL = "A mean alone says nothing. Where is the interval?"
LOW = "The claim holds if the whole interval is above 0. Which end is then above 0?"

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("reported", "every rate of every arm, as if all these were missing", CHOSEN,
     'record["choices"]', 'record["runs"]'),
    ("reported", "every rate of every arm, as if all these were missing", CHOSEN,
     EVERY_SEED, 'set(record["seeds"]) <= set(tried)'),
    ("one-seed-is-enough", "the rates without any run", EACH, EVERY_SEED, "tried"),
    ("one-seed-is-enough", "the rates without a run from the first seed", EACH,
     EVERY_SEED, 'record["choosing"][0] in tried'),
    ("other-arm", "the rates that no arm has tried", OWN, OF_ARM,
     'run["rate"] == rate'),
    ("other-rate", "every rate of an arm that has any runs, or none",
     "Which rate did the run have?", OF_ARM, 'run["arm"] == arm'),
    ("tried-by-some", "the untried rates among those that some arm tried", ALL, GRID,
     'for rate in sorted({run["rate"] for run in record["choices"]})'),
    ("first-arm", "the rates that the first arm has tried, and another not", ALL, GRID,
     'for rate in sorted({run["rate"] for run in record["choices"]\n'
     '            if run["arm"] == record["arms"][0]})'),
    ("chosen-only", "the chosen rates that were not tried",
     "Every rate of the grid is tried with every arm, also if it is not chosen.", GRID,
     'for rate in [record["chosen"][arm]]'),
    ("diverged", "the rates without a run from each seed that did not diverge", COUNTS,
     OF_ARM, OF_ARM + ' and not run["diverged"]'),
    ("diverged", "the seeds without a run that did not diverge", COUNTS, RUNS,
     RUNS + ' and not run["diverged"]'),
    ("choosing-runs", "the seeds without a run in choices", REPORTED, RUNS,
     RUNS.replace('"runs"', '"choices"')),
    ("choosing-seeds", "the seeds of choosing without a reported run",
     "Which seeds are to be reported?", PLAN, 'for seed in record["choosing"]'),
    ("other-arm", "the seeds that no arm has reported", OWN, RUNS,
     'for run in record["runs"]'),
    ("reported-by-some", "the dropped seeds among those that some arm has reported",
     ALL, PLAN, 'for seed in sorted({run["seed"] for run in record["runs"]})'),
    ("first-arm", "the seeds that the first arm has reported, and another not", ALL,
     PLAN, 'for seed in sorted({run["seed"] for run in record["runs"]\n'
     '            if run["arm"] == record["arms"][0]})'),
    ("without-plateau", "the seeds without a run that reached a plateau", COUNTS, RUNS,
     RUNS + ' and run["plateau"]'),
    ("thirds", "that of thirds", LAST, M, "m = len(curve) // 3"),
    ("halves", "that of halves", LAST, M, "m = len(curve) // 2"),
    ("rounded-up", "that of quarters that are rounded up", LAST, M,
     "m = -(-len(curve) // 4)"),
    ("first-half", "that of the first two quarters", LAST, QUARTERS,
     "curve[:m], curve[m : 2 * m]"),
    ("all-before", "that of the last quarter and all entries before", LAST, MOVED,
     "moved = sum(last) / m - sum(curve[:-m]) / len(curve[:-m])"),
    ("sign", "the movement with the other sign", "A curve that fell has moved < 0.",
     MOVED, "moved = sum(before) / m - sum(last) / m"),
    ("absolute", "the movement without its sign", "A curve that fell has moved < 0.",
     MOVED, "moved = abs(sum(last) - sum(before)) / m"),
    ("ends", "the last entry minus the first of both quarters", MEANS, MOVED,
     "moved = last[-1] - before[0]"),
    ("ends", "the last entry of the one minus the last of the other", MEANS, MOVED,
     "moved = last[-1] - before[-1]"),
    ("sums", "the difference of the sums", MEANS, MOVED,
     "moved = sum(last) - sum(before)"),
    ("about-the-mean", "the noise with variances about the means",
     "A slow rise changes the variance about the mean, but hardly that of neighbours.",
     SQUARES, "[2 * (e - sum(y) / m) ** 2 for e in y]"),
    ("not-squared", "the noise with differences that are not squared", STEPS, SQUARES,
     "[abs(y[t + 1] - y[t]) for t in range(m - 1)]"),
    ("not-halved", "the noise without the half in s^2", STEPS, VARIANCE,
     "sum(squares) / (m - 1)"),
    ("m", "the noise with m for m - 1", "m entries have m - 1 neighbours.", VARIANCE,
     "sum(squares) / m / 2"),
    ("n", "the noise with m - 2 for m - 1", "m entries have m - 1 neighbours.",
     VARIANCE, "sum(squares) / max(m - 2, 1) / 2"),
    ("single", "the noise of single entries", MEAN_NOISE, NOISE,
     "math.sqrt(variances)"),
    ("averaged", "the noise with the mean of both variances", MEAN_NOISE, NOISE,
     "math.sqrt(variances / 2 / m)"),
    ("no-root", "the noise of single entries / m", MEAN_NOISE, NOISE,
     "math.sqrt(variances) / m"),
    ("one-quarter", "the noise of the last quarter alone", MEAN_NOISE,
     "variances += ", "variances = "),
    ("variance", "the noise squared", "Noise is as large as the figure's own errors.",
     NOISE, "variances / m"),
    ("by-place", "the runs in the order of the record, subtracted", PAIRED, X,
     "[u - v for u, v in zip(of_a.values(), of_b.values())]"),
    ("sorted", "the sorted figures, subtracted", PAIRED, X,
     "[u - v for u, v in zip(sorted(of_a.values()), sorted(of_b.values()))]"),
    ("sign", "b minus a", "Which arm is subtracted?", "of_a[seed] - of_b[seed]",
     "of_b[seed] - of_a[seed]"),
    ("other-figure", "the difference of the figures on validation data", FIGURES,
     FIGURE, FIGURE.replace('"figure"', '"validation"')),
    ("other-figure", "the difference of the last entries of the curves", FIGURES,
     FIGURE, FIGURE.replace('"figure"', '"curve"][-1')),
    ("choosing-runs", "the difference of the runs that chose the rates", REPORTED,
     OF_B, OF_B.replace("runs", "choices")),
    ("diverged", "the difference without the runs that diverged", COUNTS,
     'if run["arm"] == arm:', 'if run["arm"] == arm and not run["diverged"]:'),
    ("unpaired", "an interval of two independent means", SPREAD, S,
     "math.sqrt(sum(np.var([of[k] for k in of_a if k in of_b], ddof=1)\n"
     "            for of in (of_a, of_b)))"),
    ("unpaired", "an interval of two independent means, of all their runs", SPREAD, S,
     "math.sqrt(sum(np.var([*of.values()], ddof=1) for of in (of_a, of_b)))"),
    ("n", "the interval with n for n - 1 in s", "The text says by what s divides.", S,
     S.replace("(n - 1)", "n")),
    ("normal", "the interval with 1.96 for Student's factor",
     "From few seeds the spread itself is known only roughly.", HALF,
     HALF.replace("STUDENT[n]", "1.96")),
    ("next-factor", "the interval with Student's factor for n - 1", FACTOR, HALF,
     HALF.replace("[n]", "[max(n - 1, 2)]")),
    ("next-factor", "the interval with Student's factor for n + 1", FACTOR, HALF,
     HALF.replace("[n]", "[min(n + 1, 9)]")),
    ("no-root", "the interval of one difference, without 1 / sqrt(n)", SPREAD, HALF,
     "half = STUDENT[n] * s"),
    ("no-root", "the interval with 1 / n for 1 / sqrt(n)", SPREAD, HALF,
     "half = STUDENT[n] * s / n"),
    ("no-factor", "the interval without Student's factor",
     "One standard error to either side has about two of three means, not 95 of 100.",
     HALF, "half = s / math.sqrt(n)"),
    ("swapped", "low and high, exchanged", "low is the smaller end.", ENDS,
     "mean + half, mean - half\n"),
    ("half", "half of the interval, in the place of its ends",
     "low and high are numbers on the axis of the figure.", ENDS, "-half, half\n"),
    ("tuned", "the verdicts without a look at the rates", FAIRNESS, UNTRIED, ""),
    ("dropped", "the verdicts without a look at the seeds", FAIRNESS, DROPPED, ""),
    ("two-faults", "the verdicts that are unfair if rates and seeds both lack",
     FAIRNESS, UNTRIED + DROPPED,
     UNTRIED.replace(":\n", " and dropped_seeds(record):\n")),
    ("diverged", "the verdicts that are unfair if a run diverged", COUNTS, DROPPED,
     DROPPED + '    if any(run["diverged"] for run in record["runs"]):\n'
     '        return "unfair"\n'),
    ("baseline", "the verdicts in which a baseline may be missing", FAIRNESS, IS_ARM,
     "arm != a and False"),
    ("baseline", "the verdicts in which the arms are those with runs",
     'The arms of a comparison are in record["arms"].', IS_ARM,
     'arm not in [run["arm"] for run in record["runs"]]'),
    ("all-named", "the verdicts that are unfair if the claim leaves out an arm",
     "A claim may be about some of the arms.", IS_ARM,
     '{a, *others} != set(record["arms"])'),
    ("no-without-plateau", "the verdicts in which a no needs no plateau", BOTH, NO,
     "high < 0"),
    ("own-plateau", "the verdicts in which the other arm needs no plateau", BOTH,
     OF_BOTH, 'run["arm"] == a'),
    ("other-plateau", "the verdicts in which arm a needs no plateau", BOTH, OF_BOTH,
     'run["arm"] == other'),
    ("every-plateau", "the verdicts in which every arm needs a plateau",
     "Only the runs of a and of the arm that is ahead of it count.", OF_BOTH, "True"),
    ("last-run", "the verdicts in which the plateau of the last run decides",
     "Every run has to reach its plateau.", "ended &= ", "ended = "),
    ("plateau-entry", "the verdicts with the entry \"plateau\"",
     "The entry is what the author thinks. What does the curve show?",
     'is_plateau(run["curve"], record["resolution"])', 'run["plateau"]'),
    ("holds-needs-plateau", "the verdicts in which a claim needs a plateau to hold",
     "A claim that holds needs no plateau: it says what is true after these steps.",
     HOLDS, "holds &= low > 0 and ended"),
    ("one-is-enough", "the verdicts in which the last of the others decides", EVERY,
     HOLDS, "holds = low > 0"),
    ("one-is-enough", "the verdicts in which one of the others is enough", EVERY,
     HOLDS, "holds = low > 0 or holds and other != others[0]"),
    ("means", "the verdicts by the mean, without the interval", INTERVAL, HOLDS,
     "holds &= low + high > 0"),
    ("means", "the verdicts in which a mean below 0 is a no", INTERVAL, NO,
     "low + high < 0 and ended"),
    ("wrong-end", "the verdicts with high for low", LOW, HOLDS, "holds &= high > 0"),
    ("wrong-end", "the verdicts with low for high", LOW, NO, "low < 0 and ended"),
    ("no-undecided", "the verdicts with no for undecided",
     "A claim that does not hold need not be wrong.", 'else "undecided"', 'else "no"'),
]  # fmt: skip

HINTS = {
    "untried_rates": [
        "For each arm and each rate of the grid: is there a run from each seed?",
    ],
    "dropped_seeds": ["For each arm and each seed of the plan: is there a run?"],
    "movement": [
        "Take the last 2 m entries apart: m and m. What is computed from each quarter?",
    ],
    "difference": [
        "Make a dictionary from (arm, seed) to the figure. Then subtract seed by seed.",
    ],
    "verdict_of": [
        "Ask in the order of the text: unfair? no? holds? Otherwise it is undecided.",
    ],
    "": [
        "What was planned stands in arms, rates, choosing and seeds. What was done "
        "stands in choices and runs. A record is unfair if less was done.",
        "The set {(arm, rate, seed), …} of all runs in choices answers whether one of "
        "them is there. A dictionary from (arm, seed) to the figure pairs the runs.",
        'In verdict_of, return "unfair" if one of the two lists has an entry, or an '
        "arm is missing. Then compute the interval for each of the others: one that is "
        "below 0, with plateaus, is a no; if all are above 0, the claim holds.",
    ],
    "pairs": ["What was planned and was not done? Compare the plan with the runs."],
    "verdict": ["Which sentence of the text is about this record?"],
}

"""E.16  Find the unfair comparison  ●●○○  35 min

Somebody has compared models, and writes that one is better than the others. Is that
fair? You train nothing. You have the record of the comparison, a dictionary, and write
the functions that find out. Lesson 14 explains the rules. The plan of the comparison:

    arms       ["all words", "window", "first word"]    the models that are compared
    rates      [0.001, 0.002, 0.004]                    the learning rates
    choosing   [101, 102]         each arm is trained with each rate from these seeds;
    choices    [run, run, …]      these runs choose its best rate, and are not reported
    seeds      [1, 2, 3, 4, 5]    then each arm is trained with that rate from these;
    runs       [run, run, …]      these runs are reported, and stand in any order
    resolution 0.01               a movement of the figure that does not count

A run is a dictionary, too. Some of its entries:

    arm, rate, seed    what was trained
    curve              the validation figure, at equal distances of steps
    plateau            True, if its author thinks that the curve has reached a plateau
    diverged           True, if the loss became infinite; a run that diverged counts
    validation         the figure at the end, on the data for validation
    figure             the figure on the test data; a larger one is better
"""

import numpy as np

# Student's factor t for n values
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31}
FEWEST = 24  # entries of a curve that can show a plateau


def untried_rates(record):
    """Return [(arm, rate)]: the arms and the rates with which they were not tried.

    An arm has tried a rate if there is a run from each of the seeds ``choosing``.
    """
    tried = {(run["arm"], run["rate"], run["seed"]) for run in record["choices"]}  #? The runs in choices chose the rates. What another arm or another rate has tried, or a run that failed: does it count?
    #! tried = {(run["arm"], run["rate"], run["seed"]) for run in record["choices"] if not run["diverged"]}  | the rates without a run from each seed that did not diverge
    jobs = [(arm, rate) for arm in record["arms"] for rate in record["rates"]]  #? The record lists what was to be trained: which arms and rates are in the lists?
    return [  #? Two seeds choose a rate. What if one of them has no run with this rate?
        job for job in jobs if any((*job, s) not in tried for s in record["choosing"])
    ]


def dropped_seeds(record):
    """Return [(arm, seed)]: the arms and the seeds whose runs are not reported."""
    reported = {(run["arm"], run["seed"]) for run in record["runs"]}  #? Which runs are reported? What another arm has reported, or a run that failed: does it count?
    #! reported = {(run["arm"], run["seed"]) for run in record["runs"] if not run["diverged"]}  | the seeds without a run that did not diverge
    wanted = [(arm, seed) for arm in record["arms"] for seed in record["seeds"]]  #? The record lists what was to be trained. Which seeds are in the list?
    return [job for job in wanted if job not in reported]  #? Is the run of this arm from this seed reported? A number of runs does not say it.


def movement(curve):
    """Return (moved, noise) of the last two quarters of a curve.

    A quarter has m entries, a fourth of the curve, rounded down. The last 2 m entries
    are two quarters.

        moved   the mean of the last quarter minus the mean of the quarter before
        noise   the standard error of this difference, sqrt((s_1^2 + s_2^2) / m)

    s_1^2 and s_2^2 are the variances of single entries y_t in the two quarters. Each is
    half the mean of (y_(t+1) - y_t)^2 over the m - 1 neighbours of its quarter. A slow
    rise changes that little.
    """
    m = len(curve) // 4  #? The last half of a curve of 30 entries are two quarters of 7 entries each.
    #! m = -(-len(curve) // 4)  | movement and noise of quarters that are rounded up
    quarters = np.array(curve[-2 * m :]).reshape(2, m)  # before, last  #? Which 2 m entries of the curve are its last two quarters?
    #! quarters = np.array(curve[: 2 * m]).reshape(2, m)  | movement and noise of the first two quarters
    before, last = quarters.mean(axis=1)  #? Single entries have much noise. A mean of m entries has less.
    #! before, last = np.mean(curve[:-m]), quarters[1].mean()  | the last quarter minus all entries before
    variances = (np.diff(quarters) ** 2).mean(axis=1) / 2  # of single entries  #? By how much do neighbours in a quarter differ? m entries have m - 1 neighbours, and s^2 is half the mean square.
    #! variances = quarters.var(axis=1, ddof=1)  | the noise with variances about the means
    #! variances = (np.diff(quarters) ** 2).sum(axis=1) / m / 2  | the noise with m for m - 1
    return last - before, np.sqrt(variances.sum() / m)  #? A curve that fell has moved < 0. A mean of m entries has the variance s^2 / m, and both are added.
    #! return abs(last - before), np.sqrt(variances.sum() / m)  | the movement without its sign
    #! return last - before, np.sqrt(variances.sum()) / m  | the noise of single entries / m
    #! return last - before, np.sqrt(variances[1] / m)  | the noise of the last quarter alone


def _is_plateau(curve, resolution):
    """Return whether a curve moved by less than its noise over its last half."""
    moved, noise = movement(curve)
    return len(curve) >= FEWEST and abs(moved) <= max(noise, resolution)


def difference(record, a, b):
    """Return (mean, low, high) of arm a minus arm b, over the reported seeds.

    The two runs from one seed had the same batches, so x is the difference of their
    figures, for each seed that has a run of both. With n of them, of standard deviation
    s (with n - 1 in place of n), the interval is  mean ± STUDENT[n] s / sqrt(n).  One
    seed has no spread, and the interval from -inf to inf.
    """
    runs = record["runs"]  #? Which runs are reported? And a run that failed is a result.
    #! runs = record["choices"]  | the difference of the runs that chose the rates
    #! runs = [run for run in record["runs"] if not run["diverged"]]  | the difference without the runs that diverged
    figure = {(run["arm"], run["seed"]): run["figure"] for run in runs}  #? Which entry of a run is from data that nothing was chosen with?
    #! figure = {(run["arm"], run["seed"]): run["validation"] for run in runs}  | the difference of the figures on validation data
    #! figure = {(run["arm"], run["seed"]): run["curve"][-1] for run in runs}  | the difference of the last entries of the curves
    both = [seed for arm, seed in figure if arm == a and (b, seed) in figure]
    of_a, of_b = np.array([(figure[a, seed], figure[b, seed]) for seed in both]).T  #? Two runs from one seed had the same batches. Which ones are subtracted?
    #! of_a, of_b = np.array(list(zip(*[[run["figure"] for run in runs if run["arm"] == arm] for arm in (a, b)]))).T  | the runs in the order of the record, subtracted
    x = of_a - of_b  #? Which arm is subtracted?
    n = len(x)
    if n == 1:  #? Can one difference have a spread?
        return x[0], -np.inf, np.inf
    s = x.std(ddof=1)  #? The interval is that of the mean of n differences, whose spread is s. The text says by what s divides.
    #! s = np.sqrt(of_a.var(ddof=1) + of_b.var(ddof=1))  | an interval of two independent means
    half = STUDENT[n] * s / np.sqrt(n)  #? STUDENT has the number of values as its keys, not the degrees of freedom. The mean of n values has a smaller error than one.
    #! half = 1.96 * s / np.sqrt(n)  | the interval with 1.96 for Student's factor
    return x.mean(), x.mean() - half, x.mean() + half  #? low and high are numbers on the axis of the figure, and low is the smaller one.
    #! return x.mean(), -half, half  | half of the interval, in the place of its ends


def verdict_of(record, a, others):
    """Return the verdict on the claim "arm a is better than each of the others".

    One of the others is the baseline: the trivial solution of the task.

    "unfair"     a rate was not tried, a seed was dropped, or the record lacks the arm a
                 or one of the others; else
    "no"         the interval of a minus some other is below 0, and all reported runs of
                 these two arms have reached a plateau, as their curves show; else
    "holds"      the interval of a minus each other is above 0; else
    "undecided"
    """
    if untried_rates(record) or dropped_seeds(record):  #? What makes a comparison unfair? There are three reasons, and a run that diverged is none.
        #! if untried_rates(record) or dropped_seeds(record) or any(run["diverged"] for run in record["runs"]):  | the verdicts that are unfair if a run diverged
        return "unfair"
    if not {a, *others} <= set(record["arms"]):  #? The arms of a comparison are in record["arms"]. A claim may be about some of them, and of no other.
        return "unfair"
    intervals = [difference(record, a, other)[1:] for other in others]
    for other, (low, high) in zip(others, intervals):
        curves = [run["curve"] for run in record["runs"] if run["arm"] in (a, other)]  #? Which models could still change the result, if the training went on? Those of a and of the arm that is ahead of it.
        #! curves = [run["curve"] for run in record["runs"] if run["arm"] == other]  | the verdicts in which arm a needs no plateau
        #! curves = [run["curve"] for run in record["runs"]]  | the verdicts in which every arm needs a plateau
        ended = all(_is_plateau(curve, record["resolution"]) for curve in curves)  #? Every run has to reach its plateau. The entry is what the author thinks: what does the curve show?
        if high < 0 and ended:  #? A no needs an interval below 0, and plateaus. Which end is then below 0?
            return "no"
    return "holds" if all(low > 0 for low, high in intervals) else "undecided"  #? The claim is about each of the others, and holds if the whole interval is above 0. One that does not hold need not be wrong.
    #! return "holds" if any(low > 0 for low, high in intervals) else "undecided"  | the verdicts in which one of the others is enough


# ---- THE CHECK: the record of lesson 14, with drawn figures, and with faults

import itertools

from lessons.classroom import records

OWN = "it is the record of lesson 14"
A, B, C = "dot", "additive", "mean"
AHEAD, BEHIND = {A: 0.9, B: 0.7, C: 0.5}, {A: 0.5, B: 0.7, C: 0.3}  # mean figures


def changed(record, part, new, *jobs):
    """Return a record whose runs of jobs have new entries; without new, they lack."""
    is_changed = [any(j.items() <= run.items() for j in jobs) for run in record[part]]
    pairs = [pair for pair in zip(record[part], is_changed) if new or not pair[1]]
    return record | {part: [run | new if changes else run for run, changes in pairs]}


def draw_record(rng, levels=AHEAD, rising=""):
    """Return a fair record; the curves of the arms ``rising`` are not at a plateau."""
    kept = dict(records.record("lookup")["lookup"])
    of_seed = rng.normal(0, 0.1, 200)  # of all runs of a seed
    for part in ("choices", "runs"):
        runs, kept[part] = kept[part], []
        for run in rng.permutation(runs):
            arm, seed, moves = run["arm"], run["seed"], run["arm"] in rising
            validation, figure, *y = rng.normal(levels[arm] + of_seed[seed], 0.003, 32)
            curve = (y + moves * np.linspace(-0.5, 0, 30)).tolist()
            run = run | {"curve": curve, "validation": validation, "figure": figure}
            run |= {"plateau": not moves, "diverged": arm == A and seed in (1, 101)}
            kept[part].append(run)
    return kept


def cases(rng):
    """Yield (what is true of a record, the record, the others of a claim about a)."""
    fair, both, kept = draw_record(rng), [B, C], records.record("lookup")["lookup"]
    yield from ((OWN, kept, [C]), (OWN, kept, both))
    yield "it is fair, and a is ahead of b", fair, [B]
    yield "it is fair, and a is ahead of both", fair, both
    yield "a third seed is to choose", fair | {"choosing": [101, 102, 103]}, both
    yield "a sixth seed is to be reported", fair | {"seeds": [*range(1, 7)]}, both
    first, *_, last = fair["rates"]
    one, other = ({"arm": a, "rate": last, "seed": s} for a, s in ((B, 101), (C, 102)))
    for what, part, new, *jobs in (
        ("b was not tried with each rate", "choices", {}, {"arm": B, "rate": first}),
        ("b was not tried with each rate from the first seed", "choices", {}, one),
        ("c was not tried with each rate from the second seed", "choices", {}, other),
        ("no arm was tried with the first rate", "choices", {}, {"rate": first}),
        ("a choosing seed is 999", "choices", {"seed": 999}, one),
        ("a seed of b is not reported", "runs", {}, {"arm": B, "seed": 2}),
        ("no arm reports the last seed", "runs", {}, {"seed": 5}),
        ("a reported seed is 999", "runs", {"seed": 999}, {"arm": B, "seed": 2}),
    ):
        yield what, changed(fair, part, new, *jobs), both
    for gone in (A, B, C):
        few = fair | {"arms": [arm for arm in fair["arms"] if arm != gone]}
        yield f"{gone} is not an arm", few, both
    yield "c is no arm, and has no runs", changed(few, "runs", {}, {"arm": C}), both
    for what, levels, rising in (
        ("a is behind b, and nothing moves", BEHIND, ""),
        ("a is behind c, and nothing moves", BEHIND | {B: 0.3, C: 0.7}, ""),
        ("a is behind b, and the curves of a rise", BEHIND, A),
        ("a is behind b, and the curves of b rise", BEHIND, B),
        ("a is behind b, and the curves of c rise", BEHIND, C),
        ("a is ahead, and all curves rise", AHEAD, A + B + C),
    ):
        yield what, draw_record(rng, levels, rising), both
    behind, rising = draw_record(rng, BEHIND), draw_record(rng, BEHIND, A + B)
    coarse, rises = rising | {"resolution": 1.0}, {"curve": [*np.linspace(0, 1, 30)]}
    yield "a is behind b, and no curve moves by the resolution, 1", coarse, both
    for what, record, new, job in (
        ('"plateau" is a wrong entry', rising, {"plateau": True}, {}),
        ("all curves are too short for a plateau", behind, {"curve": [0.5] * 20}, {}),
        ("no curve moves by its noise", behind, {"curve": [0.4, 0.6] * 15}, {}),
        ("one curve of a rises", behind, rises, {"arm": A, "seed": 2}),
        ("one curve of b rises", behind, rises, {"arm": B, "seed": 2}),
    ):
        yield f"a is behind b, and {what}", changed(record, "runs", new, job), both
    for where, arm, figure in (("above", B, 1.3), ("above", C, 2.0), ("below", B, 3.0)):
        near = changed(fair, "runs", {"figure": figure}, {"arm": arm, "seed": 2})
        yield f"a minus {arm} has an interval with 0, and a mean {where} 0", near, both
    alone = changed(fair, "runs", {}, *({"seed": seed} for seed in (2, 3, 4, 5)))
    yield "one seed has no interval", alone | {"seeds": [1]}, both


def pairs(my, rng):
    """rates that an arm has not tried, and seeds that are not reported, in any order"""
    for name in ("untried_rates", "dropped_seeds"):
        for what, record, _ in cases(rng):
            want, found = my.right[name](record), getattr(my.only, name)(record)
            is_list = isinstance(found, (list, tuple, set, np.ndarray))
            my.holds(name, is_list, "a list of pairs", type(found).__name__, "type")
            found = sorted((str(arm), float(value)) for arm, value in found)
            said = f"{want or 'no pairs'}: {what}", f"{found or 'no pairs'}"
            my.holds(name, found == sorted(want), *said, "pairs")


def curves_and_differences(my, rng):
    """how far curves moved, and differences seed by seed, also of one seed"""
    my.movement([0.3] * 4 + [0.0, 1.0, 1.0, 3.0])
    for n, sign in itertools.product((30, 31, 44, 24, 26), (1, -1)):
        my.movement((sign * np.sqrt(np.arange(n)) + rng.normal(0, 0.3, n)).tolist())
    record = draw_record(rng)
    for seeds, arm in (((), A), ((2,), B), ((2, 5), C), ((1, 2, 4, 5), B)):
        dropped = [{"arm": arm, "seed": seed} for seed in seeds]
        for a, b in ((A, B), (B, C), (C, A)):
            my.difference(changed(record, "runs", {}, *dropped), a, b)


def verdicts(my, rng):
    """verdicts on many records: a is dot, b is additive, c is mean, the baseline"""
    for what, record, others in cases(rng):
        want = verdict_of(record, A, others)
        found = my.only.verdict_of(record, A, others)
        said = f"{want!r}: {what}", repr(found)
        my.holds("verdict_of", found == want, *said, "verdict")
        if what == OWN:
            my.after_pass.append(f"dot is better than {' and '.join(others)}: {found}")


HINTS = """
untried_rates  For each arm and each rate of the grid: is there a run from each seed?
dropped_seeds  For each arm and each seed of the plan: is there a run?
movement  Take the last 2 m entries apart: m and m. What is computed from each quarter?
difference  Make a dictionary from (arm, seed) to the figure. Then subtract seed by seed.
verdict_of  Ask in the order of the text: unfair? no? holds? Otherwise it is undecided.
1  What was planned stands in arms, rates, choosing and seeds, what was done in choices
   and runs. A record is unfair if less was done.
2  The set {(arm, rate, seed), …} of all runs in choices answers whether one of them is
   there. A dictionary from (arm, seed) to the figure pairs the runs.
"""
WHY = """Each arm has tried the same rates, each seed counts, the trivial solution is an
arm, and runs from one seed are compared with each other: what remains is the difference
of the arms. A model that still improves may overtake the other one, so without a plateau
nothing says no."""

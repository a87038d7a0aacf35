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
    # BEGIN SOLUTION
    tried = {(run["arm"], run["rate"], run["seed"]) for run in record["choices"]}
    found = []
    for arm in record["arms"]:
        for rate in record["rates"]:
            if any((arm, rate, seed) not in tried for seed in record["choosing"]):
                found.append((arm, rate))
    return found
    # END SOLUTION


def dropped_seeds(record):
    """Return [(arm, seed)]: the arms and the seeds whose runs are not reported."""
    # BEGIN SOLUTION
    reported = {(run["arm"], run["seed"]) for run in record["runs"]}
    wanted = [(arm, seed) for arm in record["arms"] for seed in record["seeds"]]
    return [job for job in wanted if job not in reported]
    # END SOLUTION


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
    # BEGIN SOLUTION
    m = len(curve) // 4
    quarters = np.array(curve[-2 * m :]).reshape(2, m)  # before, last
    before, last = quarters.mean(axis=1)
    variances = (np.diff(quarters) ** 2).mean(axis=1) / 2  # of single entries
    return last - before, np.sqrt(variances.sum() / m)
    # END SOLUTION


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
    # BEGIN SOLUTION
    figure = {(run["arm"], run["seed"]): run["figure"] for run in record["runs"]}
    both = [s for s in record["seeds"] if (a, s) in figure and (b, s) in figure]
    x = np.array([figure[a, seed] - figure[b, seed] for seed in both])
    if len(x) == 1:
        return x[0], -np.inf, np.inf
    half = STUDENT[len(x)] * x.std(ddof=1) / np.sqrt(len(x))
    return x.mean(), x.mean() - half, x.mean() + half
    # END SOLUTION


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
    # BEGIN SOLUTION
    if untried_rates(record) or dropped_seeds(record):
        return "unfair"
    if not {a, *others} <= set(record["arms"]):
        return "unfair"
    intervals = [difference(record, a, other)[1:] for other in others]
    for other, (_, high) in zip(others, intervals):
        curves = [run["curve"] for run in record["runs"] if run["arm"] in (a, other)]
        ended = all(_is_plateau(curve, record["resolution"]) for curve in curves)
        if high < 0 and ended:
            return "no"
    return "holds" if all(low > 0 for low, _ in intervals) else "undecided"
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "Each arm has tried the same rates, each seed counts, the trivial solution is an "
    "arm, and runs from one seed are compared with each other: what remains is the "
    "difference of the arms. A model that still improves may overtake the other one, so "
    "without a plateau nothing says no."
)

EQUIVALENT = {
    "high < 0 -> high <= 0": "an end of an interval is never 0 exactly",
    "low > 0 -> low >= 0": "an end of an interval is never 0 exactly",
}

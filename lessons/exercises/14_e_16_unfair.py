"""E.16  Find the unfair comparison  ●●○○  35 min

Somebody writes that one model is better than others. Is that fair? You train nothing:
you have the record of the comparison, a dictionary, and write the functions that find
out. Lesson 14 explains the rules. The plan of the comparison:

    arms       ["all words", "window", "first word"]    the models that are compared
    rates      [0.001, 0.002, 0.004]                    the learning rates
    choosing   [101, 102, 103]    each arm is trained with each rate from these seeds;
    choices    [run, run, …]      these runs choose its rate, and are not reported
    seeds      [1, 2, 3, 4, 5]    then each arm is trained with that rate from these;
    runs       [run, run, …]      these runs are reported, and stand in any order
    resolution 0.01               a difference of the figure that does not count

A run is a dictionary, too. Some of its entries:

    arm, rate, seed    what was trained
    validation         the figure at the end, on the data for validation
    figure             the figure on the test data; a larger one is better
    half               {"figure": …}, the same after half of the training steps
    diverged           True, if the loss became infinite; a run that diverged counts
"""

import numpy as np

# Student's factor t for n values
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31}
# the same factor for one end of an interval, with 95 % of the distribution below it
ONE_END = {2: 6.31, 3: 2.92, 4: 2.35, 5: 2.13, 6: 2.02, 7: 1.94, 8: 1.89, 9: 1.86}


def untried_rates(record):
    """Return [(arm, rate)]: the arms and the rates with which they were not tried.

    An arm has tried a rate if there is a run from each of the seeds ``choosing``.
    """
    tried = {(run["arm"], run["rate"], run["seed"]) for run in record["choices"]}  #? The runs in choices chose the rates. What another arm or another rate has tried, or a run that failed: does it count?
    #! tried = {(run["arm"], run["rate"], run["seed"]) for run in record["choices"] if not run["diverged"]}  | the rates without a run from each seed that did not diverge
    jobs = [(arm, rate) for arm in record["arms"] for rate in record["rates"]]  #? The record lists what was to be trained: which arms and rates are in the lists?
    return [  #? Three seeds choose a rate. What if one of them has no run with this rate?
        job for job in jobs if any((*job, s) not in tried for s in record["choosing"])
    ]


def dropped_seeds(record):
    """Return [(arm, seed)]: the arms and the seeds whose runs are not reported."""
    reported = {(run["arm"], run["seed"]) for run in record["runs"]}  #? Which runs are reported? What another arm has reported, or a run that failed: does it count?
    #! reported = {(run["arm"], run["seed"]) for run in record["runs"] if not run["diverged"]}  | the seeds without a run that did not diverge
    wanted = [(arm, seed) for arm in record["arms"] for seed in record["seeds"]]  #? The record lists what was to be trained. Which seeds are in the list?
    return [job for job in wanted if job not in reported]  #? Is the run of this arm from this seed reported? A number of runs does not say it.


def chosen_rate(record, arm):
    """Return the rate that the runs ``choices`` give an arm.

    Each rate has a mean of ``validation``. Of those at most ``resolution`` below the
    best mean, the smallest rate is chosen.
    """
    found = {}
    for run in record["choices"]:
        if run["arm"] == arm:
            found.setdefault(run["rate"], []).append(run["validation"])  #? Nothing may be chosen with the data of the test.
            #! found.setdefault(run["rate"], []).append(run["figure"])  | the rates that the test data choose
    means = {rate: np.mean(found[rate]) for rate in found}  #? One seed may be lucky. What do all seeds say of a rate?
    best = max(means.values())
    return min(rate for rate in means if means[rate] >= best - record["resolution"])  #? Which rates are as good as the best, if a difference up to the resolution does not count? Take the smallest of them.
    #! return max(means, key=means.get)  | the rates with the best mean, by however little
    #! return max(rate for rate in means if means[rate] >= best - record["resolution"])  | the largest rates within the resolution


def difference(record, a, b):
    """Return (mean, low, high) of arm a minus arm b, over the reported seeds.

    x is the difference of the figures, for each seed that has a run of both. With n of
    them, of standard deviation s (with n - 1 in place of n), the interval is
    mean ± STUDENT[n] s / sqrt(n).  One seed has the interval from -inf to inf.
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


def later(record, a, b):
    """Return (low, high): the interval of ``difference``, if as many steps are added.

    The second half of the steps changed the difference of each seed by some c. As many
    steps again may change the mean as much. The ends of the interval of the mean are

        c_low, c_high = mean(c) - h, mean(c) + h,    h = ONE_END[n] s / sqrt(n)

    low becomes low + c_low, if that is smaller, and high becomes high + c_high, if that
    is larger. One seed has h = inf.
    """
    _, low, high = difference(record, a, b)
    change = {
        (run["arm"], run["seed"]): run["figure"] - run["half"]["figure"]
        for run in record["runs"]
    }
    seeds = [seed for arm, seed in change if arm == a and (b, seed) in change]
    c = np.array([change[a, seed] - change[b, seed] for seed in seeds])  #? Both arms go on. By how much did the second half change their difference, seed by seed?
    #! c = np.array([change[a, seed] for seed in seeds])  | the interval if only arm a is trained on
    #! c = np.array([-change[b, seed] for seed in seeds])  | the interval if only arm b is trained on
    n = len(c)
    h = ONE_END[n] * c.std(ddof=1) / np.sqrt(n) if n > 1 else np.inf  #? How well do n seeds know the mean of c? Look at one end.
    #! h = STUDENT[n] * c.std(ddof=1) / np.sqrt(n) if n > 1 else np.inf  | the factor of both ends, STUDENT
    return low + min(0, c.mean() - h), high + max(0, c.mean() + h)  #? low may only become smaller, high only larger.
    #! return low + c.mean() - h, high + c.mean() + h  | an interval that may become narrower


def verdict_of(record, a, others):
    """Return the verdict on the claim "arm a is better than each of the others":

    "unfair"      a rate was not tried, a seed was dropped, a or one of the others is no
                  arm, or a reported run has not the rate that was chosen; else
    "no"          the interval of a minus some other is below 0, ``later`` too; else
    "holds"       the interval of a minus each other is above 0, ``later`` too; else
    "unfinished"  one of the two, but not ``later``; else
    "undecided"
    """
    if untried_rates(record) or dropped_seeds(record):  #? What makes a comparison unfair? There are four reasons, and a run that diverged is none.
        #! if untried_rates(record) or dropped_seeds(record) or any(run["diverged"] for run in record["runs"]):  | the verdicts that are unfair if a run diverged
        return "unfair"
    if not {a, *others} <= set(record["arms"]):  #? The arms of a comparison are in record["arms"]. A claim may be about some of them, and of no other.
        return "unfair"
    if any(run["rate"] != chosen_rate(record, run["arm"]) for run in record["runs"]):  #? With which rate should the reported runs of an arm be trained?
        return "unfair"
    now = [difference(record, a, other)[1:] for other in others]
    then = [later(record, a, other) for other in others]
    if any(high < 0 and wide < 0 for (_, high), (_, wide) in zip(now, then)):  #? A no needs an interval below 0, and that it stays there. Which end is then below 0?
        #! if any(high < 0 for _, high in now):  | the verdicts in which a no does not look at later steps
        return "no"
    ahead = all(low > 0 for low, _ in now)  #? The claim is about each of the others, and each interval has to be above 0.
    #! ahead = any(low > 0 for low, _ in now)  | the verdicts in which one of the others is enough
    if ahead and all(low > 0 for low, _ in then):  #? A claim holds if as many steps again cannot change it.
        #! if ahead:  | the verdicts in which a claim holds at once
        return "holds"
    behind = any(high < 0 for _, high in now)
    return "unfinished" if ahead or behind else "undecided"  #? What is now decided, and may change, is unfinished. What is not decided now is undecided.
    #! return "undecided"  | the verdicts without "unfinished"


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


def draw_record(rng, levels=AHEAD, rising=()):
    """Return a fair record; after half of the steps the arms ``rising`` had less."""
    kept = dict(records.record("lookup")["lookup"])
    of_seed = rng.normal(0, 0.1, 200)  # of all runs of a seed
    jobs = itertools.product(kept["arms"], kept["rates"])
    of_rate = {job: rng.choice([0.0, -0.004, -0.1]) for job in jobs}
    for part in ("choices", "runs"):
        runs, kept[part] = kept[part], []
        for run in rng.permutation(runs):
            arm, seed = run["arm"], run["seed"]
            if part == "runs":
                run = run | {"rate": chosen_rate(kept, arm)}
            good = levels[arm] + of_seed[seed] + of_rate.get((arm, run["rate"]), 0)
            validation, figure, half = rng.normal(good, 0.003, 3)
            half -= 0.5 * (arm in rising)
            run = run | {"validation": validation, "figure": figure}
            run |= {"half": {"figure": half}, "diverged": arm == A and seed in (1, 101)}
            kept[part].append(run)
    return kept


def cases(rng):
    """Yield (what is true of a record, the record, the others of a claim about a)."""
    fair, both, kept = draw_record(rng), [B, C], records.record("lookup")["lookup"]
    yield from ((OWN, kept, [C]), (OWN, kept, both))
    yield "it is fair, and a is ahead of both", fair, both
    yield "a fourth seed is to choose", fair | {"choosing": [*range(101, 105)]}, both
    yield "a sixth seed is to be reported", fair | {"seeds": [*range(1, 7)]}, both
    first, *_, last = fair["rates"]
    other = {"arm": C, "rate": last, "seed": 102}
    for what, part, new, *jobs in (
        ("no arm was tried with the first rate", "choices", {}, {"rate": first}),
        ("a choosing seed is 999", "choices", {"seed": 999}, other),
        ("c was not tried with each rate from the second seed", "choices", {}, other),
        ("a run of b has another rate", "runs", {"rate": 9.0}, {"arm": B, "seed": 2}),
        ("another rate is best for c", "choices", {"validation": 5.0}, other),
        ("a reported seed is 999", "runs", {"seed": 999}, {"arm": B, "seed": 2}),
    ):
        yield what, changed(fair, part, new, *jobs), both
    for arms in ([A, B], [A, C], [B, C]):
        yield f"its arms are {arms}", fair | {"arms": arms}, both
    for what, levels, rising in (
        ("a is behind b, and nothing changes", BEHIND, ()),
        ("a is behind b, and a rises", BEHIND, (A,)),
        ("a is behind b, and b rises", BEHIND, (B,)),
        ("a is behind b, and c rises", BEHIND, (C,)),
        ("a is ahead, and b rises", AHEAD, (B,)),
        ("a is ahead, and all rise", AHEAD, (A, B, C)),
    ):
        yield what, draw_record(rng, levels, rising), both
    across = changed(fair, "runs", {"figure": 1.3}, {"arm": B, "seed": 2})
    yield "a minus b has an interval with 0", across, both
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


def rates_and_differences(my, rng):
    """chosen rates, and differences seed by seed, now and later, also of one seed"""
    for record in (records.record("lookup")["lookup"], *(draw_record(rng) for _ in "abc")):
        for arm in (A, B, C):
            my.chosen_rate(record, arm)
    for rising in ((A,), (B,), ()):
        record = draw_record(rng, AHEAD, rising)
        for seeds, arm in (((), A), ((2,), B), ((2, 5), C), ((1, 2, 4, 5), B)):
            dropped = [{"arm": arm, "seed": seed} for seed in seeds]
            for a, b in ((A, B), (B, C), (C, A)):
                my.difference(changed(record, "runs", {}, *dropped), a, b)
                my.later(changed(record, "runs", {}, *dropped), a, b)


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
chosen_rate  Collect the validation figures of each rate. Which means are near the best?
difference  Make a dictionary from (arm, seed) to the figure. Then subtract seed by seed.
later  c is a difference of two changes. Which end of the interval can it move, and where?
verdict_of  Ask in the order of the text: unfair? no? holds? unfinished? undecided.
1  A set {(arm, rate, seed), …} of all runs in choices answers whether one is there.
"""
WHY = """Each arm has tried the same rates, each seed counts, and runs from one seed are
compared: what remains is the difference of the arms. A model that still improves may
overtake the other one: nothing is decided that as many steps again could change."""

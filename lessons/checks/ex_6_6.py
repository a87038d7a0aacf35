"""Check an answer to 6.6."""

import itertools
import math
import os
import platform
import re
import time

import numpy as np

from lessons.checks import pictures
from lessons.checks.attending import softmax, wrong_sums, wrong_weights
from lessons.checks.before import answers_pass
from lessons.checks.measure import calls_of, python_steps
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, several, shape_all
from lessons.checks.words import self_assessed
from lessons.classroom.steps import CheckFailed, edges, laws, numbers, shape, values
from lessons.pages.figures import figure

LENGTHS = (10, 50, 100, 500, 1000)  # those of the chapter
DURATIONS = (5.0, 10.0, 2.0, 7.0, 1.0, 3.0)  # of the first call and the next ones


class Fake:
    """A clock that only advances while its function is called."""

    def __init__(self, durations=DURATIONS):
        self.durations, self.calls, self.now, self.read = durations, 0, 1000.0, 0

    def clock(self):
        self.read += 1
        return self.now

    def fn(self):
        self.now += self.durations[min(self.calls, len(self.durations) - 1)]
        self.calls += 1


class Watched(np.random.Generator):
    """A generator that keeps the arrays of normal numbers that were drawn from it."""

    def __init__(self, seed):
        super().__init__(np.random.PCG64(seed))
        self.drawn = []

    def __repr__(self):
        return "rng"

    def normal(self, *args, **options):
        return self._kept(super().normal(*args, **options))

    def standard_normal(self, *args, **options):
        return self._kept(super().standard_normal(*args, **options))

    def _kept(self, array):
        self.drawn.append(np.array(array))
        return array


@shape("a context and a weight for each state")
def a_weight_for_each(my, rng):
    answers_pass(my, "6.5")
    s, H = rng.normal(size=5), rng.normal(size=(7, 5))
    found = my.luong_forward(s, H, np.ones(7, bool))
    shape_all(my, found, {"c": (5,), "alpha": (7,)}, {"c": "d", "alpha": "T"})
    my.shape(my.exponent((3, 5, 7), np.array([1.0, 2.0, 2.5])), (), "")


@numbers("calls of 10, 2, 7, 1, 3 seconds, after a first of 5: 3 seconds")
def calls_by_hand(my, rng):
    timed(my, 5)


@values("dot attention, against a loop")
def dot_attention(my, rng):
    s, H = rng.normal(size=5), rng.normal(size=(7, 5))
    for mask in (np.ones(7, bool), np.arange(7) < 4):
        want = attend(s, H, mask)
        scaled = ("scaled", "scores / sqrt(d)", 5**-0.5), ("scaled", "scores / d", 0.2)
        blind = softmax(H.sum(1), mask)
        wrong = {
            "alpha": [("ignores-query", "the softmax of the sums of the states", blind),
                      ("no-softmax", "the scores s . h_j", H @ s),
                      *wrong_weights(H @ s, mask, scaled)],
            "c": wrong_sums(want["alpha"], H),
        }  # fmt: skip
        wrong = {k: [v for v in each if not np.allclose(v[2], want[k])]
                 for k, each in wrong.items()}  # fmt: skip
        found = several(my, my.luong_forward(s, H, mask), want)
        found, want = found[::-1], dict(reversed(want.items()))  # the weights first
        equal_all(my, found, want, {"c": "d", "alpha": "T"}, wrong)


class Products(np.ndarray):
    """An array that counts the tables of its products, entry by entry."""

    tables = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(x) for x in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        Products.tables += ufunc is np.multiply and np.ndim(result) == 2
        return result


@values("all scores are one product")
def one_product(my, rng):
    Products.tables = 0
    s, H = rng.normal(size=5).view(Products), rng.normal(size=(7, 5))
    my.luong_forward(s, H, np.ones(7, bool))
    my.holds(
        not Products.tables,
        "elementwise",
        "expected the product of a matrix and a vector for the scores",
        "found numbers (7, 5), products of s and H entry by entry",
    )


@values("the median of one, two, three, four calls")
def other_numbers_of_calls(my, rng):
    for repeats in (4, 3, 2, 1):  # of two, the upper is the maximum
        timed(my, repeats)


@values("the clock never goes back and includes waiting")
def the_clock(my, rng):
    clock = my.which_clock()
    text = "expected a function of the module time itself", f"found {clock!r:.60}"
    my.holds(callable(clock), "a-reading", *text)
    name = getattr(clock, "__name__", type(clock).__name__)
    my.holds(
        not name.endswith("_ns"),
        "nanoseconds",
        "expected a clock that reads in seconds",
        f"found time.{name}",
    )
    try:
        about = time.get_clock_info(name)
    except ValueError:
        my.holds(False, "a-reading", *text)
    my.holds(
        about.monotonic and not about.adjustable,
        "adjustable",
        "expected a monotonic clock that is not adjustable",
        f"found time.{name}: time.get_clock_info returns {about.adjustable=}",
    )
    my.holds(
        name not in ("process_time", "thread_time"),
        "cpu-time",
        "expected a clock that advances while the process waits",
        f"found time.{name}",
    )
    finest = time.get_clock_info("perf_counter").resolution
    my.holds(
        about.resolution <= finest,
        "coarse",
        f"expected a resolution of {finest:g} s",
        f"found a resolution of {about.resolution:g} s",
    )


@values("the calls that compare passes to the timer")
def what_is_timed(my, rng):
    source, seen, lengths, d = Watched(int(rng.integers(1000))), [], (5, 7, 11), 67

    def demand(truth, tag, *lines):
        if not truth:
            raise CheckFailed(tag, "timer(fn, repeats), called by compare", *lines)

    def timer(fn, repeats):
        found = f"found a {type(fn).__name__} in the place of fn"
        demand(callable(fn), "not-a-call", "expected fn, a function", found)
        demand(repeats == 3, "repeats-lost", "expected 3 repeats", f"found {repeats}")
        before = len(source.drawn)
        returned = [fn() for _ in range(2)][0]
        pair = isinstance(returned, (tuple, list)) and len(returned) == 2
        demand(pair, "timed-else", "expected a call that returns (c, alpha)",
               f"found {type(returned).__name__}")  # fmt: skip
        demand(
            len(source.drawn) == before,
            "times-drawing",
            "expected no numbers to be drawn in a call that is timed",
            f"found {len(source.drawn) - before} draws in two calls",
        )
        seen.append((np.asarray(returned[1]), python_steps(fn)))
        return float(len(seen))

    with calls_of(my, "bahdanau_forward", "luong_forward") as calls:
        found = my.compare(lengths, d, 3, source, timer)
    are_arguments_built_before(my, calls, d)
    are_arguments_as_asked(my, calls)
    my.holds(
        isinstance(found, dict) and set(found) == {"additive", "dot"},
        "timed-else",
        'expected {"additive": …, "dot": …}',
        f"found {found!r}",
    )
    both = [(*pair,) for pair in zip(found["additive"], found["dot"])]
    my.holds(
        len(both) == 3 and sorted(sum(both, ())) == [1, 2, 3, 4, 5, 6],
        "timed-else",
        "expected what the timer returned, one number for each T and each score",
        f"found {found!r}",
    )
    timed_calls = [[seen[int(k) - 1] for k in pair] for pair in both]
    scores = [[result for result, _ in pair] for pair in timed_calls]
    what_is_scored(my, scores, lengths, source, d)
    for place, name in enumerate(("additive", "dot")):
        steps = [pair[place][1] for pair in timed_calls]
        my.holds(
            steps[0] == steps[-1],
            "python-loop",
            f"expected {name} attention with the same Python steps for any T",
            f"found {steps[0]} steps at T = 5, {steps[-1]} at T = 11: a Python loop",
        )


def are_arguments_built_before(my, calls, d):
    """Fail unless the calls of one function pass the same arrays, of width d."""
    for (name, first), (other, second) in itertools.pairwise(calls):
        arrays = [isinstance(x, np.ndarray) for x in first]
        if name != other or list(map(np.shape, first)) != list(map(np.shape, second)):
            continue
        for a, b, is_array in zip(first, second, arrays):
            my.holds(
                not is_array or np.may_share_memory(a, b),
                "built-in-call",
                f"expected calls of {name} with arrays that were made before",
                f"found a new array {np.shape(a)} in each call",
            )
    for name, arguments in calls:
        if name == "bahdanau_forward" and len(arguments) == 6:
            shapes = [np.shape(x) for x in arguments[2:5]]
            my.holds(
                shapes == [(d, d), (d, d), (d,)],
                "widths",
                f"expected W_s ({d}, {d}), W_h ({d}, {d}), v ({d},): all widths are d",
                f"found W_s {shapes[0]}, W_h {shapes[1]}, v {shapes[2]}",
            )


def are_arguments_as_asked(my, calls):
    """Fail unless masks allow all positions, and numbers are N(0, 1)."""
    for name, arguments in calls:
        arrays = [np.asarray(x) for x in arguments]
        masks = [x for x in arrays if x.dtype == bool]
        text = [f"a mask with {x.sum()} of {x.size} entries True" for x in masks]
        my.holds(
            len(masks) == 1 and masks[0].all(),
            "masked",
            f"expected calls of {name} with a mask, bool, that allows all positions",
            f"found {' and '.join(text) or 'no array of bool'}",
        )
        for x in arrays:
            if x.dtype == float and x.size > 30:
                mean, deviation = x.mean(), x.std()
                far = max(abs(mean), abs(deviation - 1) * 2**0.5) * x.size**0.5
                my.holds(
                    far < 6,  # standard errors
                    "not-normal",
                    f"expected calls of {name} with numbers N(0, 1): of mean 0 and "
                    "standard deviation 1",
                    f"found an array {x.shape} of mean {mean:.2g} and standard "
                    f"deviation {deviation:.2g}",
                )


def what_is_scored(my, scores, lengths, source, d):
    """Fail unless every pair of scores is from new normal numbers, in its own list."""
    drawn = source.drawn
    numbers = np.concatenate([x.reshape(-1) for x in drawn]) if drawn else np.zeros(0)
    least = sum(2 * d + T * d + 2 * d * d for T in lengths)  # s, v, H, W_s and W_h
    for T, (additive, dot) in zip(lengths, scores):
        my.holds(
            additive.shape == dot.shape == (T,),
            "timed-else",
            f"expected calls that return {T} weights",
            f"found shapes {additive.shape} and {dot.shape}",
        )
        my.holds(
            not np.allclose(additive, dot),
            "same-score",
            "expected two different scores to be timed",
            "found twice the same weights",
        )
    for (T, first), (_, second) in itertools.combinations(zip(lengths, scores), 2):
        my.holds(
            not any(same_ratios(a, b[:T]) for a, b in zip(first, second)),
            "same-data",
            f"expected new s, H, W_s, W_h and v for each T, also after T = {T}",
            "found the same weights again",
        )
    if not numbers.size:  # no call of rng.normal
        text = "expected numbers N(0, 1), drawn by rng.normal of the argument rng"
        my.holds(False, "global-generator", text, "found no call of it")
    my.holds(
        numbers.size >= least,
        "not-anew",
        f"expected {least} numbers N(0, 1) or more, s, H, W_s, W_h and v anew for "
        "each T",
        f"found {numbers.size}, drawn by rng.normal",
    )
    for T, (additive, dot) in zip(lengths, scores):
        my.holds(
            not is_dot_score(additive, T, drawn, d),
            "exchanged",
            'expected seconds of the additive score in "additive", of dot in "dot"',
            "found them exchanged",
        )


def is_dot_score(weights, T, drawn, d):
    """Return whether the weights are those of H s, for drawn rows H and s."""
    rows = [x.reshape(-1, d) for x in drawn if x.ndim and x.shape[-1] == d]
    rows = np.concatenate(rows or [np.zeros((0, d))])
    products = rows @ rows.T  # row i of H with row k as s
    steps = np.log(weights[1] / weights[0])
    found = np.abs(products[1:] - products[:-1] - steps) < 1e-9
    return any(
        np.allclose(
            np.log(weights / weights[0]), products[i : i + T, k] - products[i, k]
        )
        for i, k in zip(*np.nonzero(found))
        if i + T <= len(rows)
    )


def same_ratios(a, b):
    """Return whether two rows of weights are of the same scores."""
    return np.allclose(np.log(a / a[0]), np.log(b / b[0]))


def attend(s, H, mask):
    """Return context and weights of dot scores, by loops."""
    e = [sum(a * b for a, b in zip(s, h)) for h in H]
    z = [math.exp(x - max(e)) * ok for x, ok in zip(e, mask)]
    alpha = np.array(z) / sum(z)
    return {"c": sum(a * h for a, h in zip(alpha, H)), "alpha": alpha}


@values("the exponent of exact powers, and of scattered points")
def powers(my, rng):
    Ts = np.array(LENGTHS)
    scatter = np.exp(0.3 * rng.normal(size=5))
    for b, noise in ((1.0, 1), (0.5, 1), (2.0, 1), (1.0, scatter)):
        seconds = 1e-6 * Ts**b * noise
        x, y = [math.log(T) for T in LENGTHS], [math.log(v) for v in seconds]
        n, sx, sy = 5, sum(x), sum(y)
        sxx, syy = (sum(a * a for a in axis) for axis in (x, y))
        sxy = sum(a * b for a, b in zip(x, y))
        n_sxy = n * sxy - sx * sy
        want, turned = n_sxy / (n * sxx - sx * sx), n_sxy / (n * syy - sy * sy)
        plain, half = (np.polyfit(axis, seconds, 1)[0] for axis in (Ts, x))
        ends = (y[-1] - y[0]) / (x[-1] - x[0])
        log_a = (sy - want * sx) / n
        wrong = [
            ("no-logs", "the slope of seconds against T", plain),
            ("no-logs", "the slope of seconds against log T", half),
            ("upside-down", "1 / b", 1 / want),
            ("upside-down", "the slope of log T against log seconds", turned),
            ("upside-down", "that of a line through 0", n_sxy / n / syy),
            ("intercept", "log a, where the line meets log T = 0", log_a),
            ("through-origin", "the slope of a line through 0", sxy / sxx),
            ("exponential", "exp(b)", math.exp(want)),
            ("correlation", "the correlation of both logarithms",
             np.corrcoef(x, y)[0, 1]),
            ("not-divided", "the sum of the products, not divided", n_sxy / n),
            ("not-divided", "the covariance, not divided", n_sxy / n**2),
            ("quotient", "the mean of y divided by that of x", sy / sx),
            ("quotient", "the median of the steps' slopes",
             np.median(np.diff(y) / np.diff(x))),
            ("two-ends", "the slope from the first point to the last", ends),
        ]  # fmt: skip
        wrong = [v for v in wrong if not math.isclose(v[2], want, rel_tol=1e-6)]
        my.equal(my.exponent(Ts, seconds), want, "", wrong, rtol=1e-7)


@laws("both passes, measured on this machine; any result passes")
def here_and_now(my, rng):
    found = measured(my, rng, LENGTHS, 7)
    print("T           " + "".join(f"{T:>9}" for T in LENGTHS) + "   exponent")
    for name, seconds in found["seconds"].items():
        row = "".join(f"{1e3 * v:9.3f}" for v in seconds)
        print(f"{name:<8} ms {row}   {found['exponent'][name]:8.2f}")
    for name, b in found["exponent"].items():
        if b < 0.8:  # a line of a report has 68 letters
            print(f"{name}: below 1. Each call has a fixed price for any T,")
            print("   which is a large part of the time of a short pass.")
        if b > 1.5:
            print(f"{name}: far above 1. Do other programs use the machine?")

    fig = pictures.drawn(my, "draw", (6, 3.6), LENGTHS, found["seconds"])
    for name, seconds in found["seconds"].items():
        pictures.has_curve(fig, LENGTHS, seconds, "curves", f"the seconds of {name}")
        label = next(each for _, y, each in pictures.lines(fig) if np.allclose(y, seconds))
        words = {"additive": "add|bahd", "dot": "dot|luong|scalar"}[name]
        my.holds(re.search(words, label.lower()), "unlabelled",
                 f"expected a label that names this curve, {name}",
                 f"found {label!r}")  # fmt: skip
    pictures.is_labelled(fig, r"\bT\b|state|length|key", r"sec|time|\bms?\b|\bs\b")
    count = len(pictures.panels(fig))
    my.holds(count == 1, "panels", "expected one panel", f"found {count}")
    ax = pictures.panels(fig)[0]
    scales = ax.get_xscale(), ax.get_yscale()
    text = "expected two logarithmic axes", f"found {' and '.join(scales)}"
    my.holds(scales == ("log", "log"), "linear-axis", *text)
    pictures.keep(my, fig)


@edges("a function that takes no time, large scores, and a single state")
def no_time(my, rng):
    fake = Fake((0.0,))
    my.equal(my.time_it(fake.fn, 3, fake.clock), 0.0)
    s, H = np.array([1.0]), np.array([[705.0], [708.0], [712.0]])
    e, all_true = H[:, 0], np.ones(3, bool)
    want = np.exp(e - 712) / np.exp(e - 712).sum()
    overflow = [("overflow", "exp(e) / sum exp(e)", np.exp(e) / np.exp(e).sum())]
    my.equal(my.luong_forward(s, H, all_true)[1], want, "T", overflow)
    far = np.array([[1.0], [2.0], [900.0]])  # the masked score is far above the others
    mask, want = np.array([True, True, False]), np.array([1.0, np.e, 0.0]) / (1 + np.e)
    my.equal(my.luong_forward(s, far, mask)[1], want, "T", mask=mask)
    one = my.luong_forward(np.array([2.0]), np.array([[3.0]]), np.array([True]))
    equal_all(my, one, {"c": np.array([3.0]), "alpha": np.array([1.0])})


@edges("the measured factor, in your own words")
def your_own_words(my, rng):
    self_assessed(
        my,
        my.explanation(),
        "the measured factor at T = 10 and at T = 1000; they differ",
        "the counted one: T d (d + 1) + d^2 against T d multiplications, so about d, "
        "if the keys are projected in each pass",
        "why time does not follow the count: large products run fast, small calls "
        "have a fixed price, tanh costs more than a multiplication",
        "what caching W_h h_j would change, and what a GPU would",
    )


def timed(my, repeats):
    """Fail unless time_it returns the median time of the calls of a ``Fake``."""
    fake, after = Fake(), DURATIONS[1 : repeats + 1]
    got = my.time_it(fake.fn, repeats, fake.clock)
    my.holds(
        fake.read > 0,
        "own-clock",
        "expected readings of clock()",
        "found no reading",
    )
    text = f"expected {repeats + 1} calls of fn", f"found {fake.calls}"
    my.holds(fake.calls <= repeats + 1, "repeats", *text)
    want = float(np.median(after))
    first, both = DURATIONS[:repeats], DURATIONS[: repeats + 1]
    lower, upper = (sorted(after)[n // 2] for n in (repeats - 1, repeats))
    since = "the median of the times since the first reading"
    wrong = [  # of five calls, the first three are right
        ("last-call", "the time of the last call", after[-1]),
        ("upper-median", "the upper of the two in the middle", upper),
        ("upper-median", "the lower of the two in the middle", lower),
        ("one-reading", since, np.median(np.cumsum(after))),
        ("warm-up", "the median with the first call among them", np.median(first)),
        ("warm-up", "the mean with the first call among them", np.mean(first)),
        ("warm-up", "the median with the first call added", np.median(both)),
        ("not-median", "the mean", np.mean(after)),
        ("not-median", "the minimum", min(after)),
        ("not-median", "the maximum", max(after)),
        ("unsorted", "the call in the middle, not sorted", after[repeats // 2]),
        ("total", "the sum of all calls", sum(after)),
        ("unit", "the median in milliseconds", 1e3 * want),
        ("unit", "the median in microseconds", 1e6 * want),
        ("unit", "the median in nanoseconds", 1e9 * want),
        ("sign", "the median with the opposite sign", -want),
        ("not-timed", "0: fn does not run between the two readings", 0.0),
        ("repeats", "the median of one call less", np.median(after[:-1] or after)),
        ("divided", "the median, divided by the number of calls", want / repeats),
        ("not-median", "the middle of the least and the largest",
         (min(after) + max(after)) / 2),
        ("not-median", "the lower quartile", np.percentile(after, 25)),
        ("not-median", "the median without the largest",
         np.median(sorted(after)[:-1] or after)),
    ]  # fmt: skip
    my.equal(got, want, "", [v for v in wrong if v[2] != want])
    my.holds(fake.calls == repeats + 1, "repeats", *text)


def measured(my, rng, lengths, repeats, d=128):
    """Return {"seconds": {score: […]}, "exponent": {score: b from T = 100 on}}."""
    clock = my.which_clock()

    def timer(fn, repeats):
        return my.time_it(fn, repeats, clock)

    seconds = my.compare(lengths, d, repeats, rng, timer)
    return {"seconds": seconds, "exponent": exponents(my, lengths, seconds)}


def exponents(my, lengths, seconds):
    """Return {score: b of seconds = a T^b, from T = 100 on}."""
    tail = [k for k, T in enumerate(lengths) if T >= 100]
    return {
        name: float(my.exponent(np.array(lengths)[tail], np.array(row)[tail]))
        for name, row in seconds.items()
    }


def experiment(my, seed=0):
    """Return the chapter's measurement, 100 passes, and the machine it ran on.

    seconds   of the scores alone, without softmax and context
    whole     of the learner's two forward passes

    Each is measured ten times, and the least median counts: other programs on the
    machine make a time longer, never shorter.
    """
    rounds = [np.random.default_rng(seed + k) for k in range(10)]
    alone = least(my, [scores_alone(my, rng) for rng in rounds])
    whole = [measured(my, rng, LENGTHS, 100)["seconds"] for rng in rounds]
    found = least(my, whole)
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "T": list(LENGTHS),
        "d": 128,
        "repeats": 100,
        **alone,
        "whole": found["seconds"],
        "whole_exponent": found["exponent"],
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "blas": f"{blas.get('name')} {blas.get('version')}",
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "not set"),
    }


def least(my, rounds):
    """Return the least seconds of several measurements, and their exponents."""
    names = rounds[0]
    seconds = {n: [min(each) for each in zip(*(r[n] for r in rounds))] for n in names}
    return {"seconds": seconds, "exponent": exponents(my, LENGTHS, seconds)}


def scores_alone(my, rng, d=128):
    """Return the median seconds of the scores, without softmax and context."""
    clock, seconds = my.which_clock(), {"additive": [], "dot": []}
    for T in LENGTHS:
        s, H, v = rng.normal(size=d), rng.normal(size=(T, d)), rng.normal(size=d)
        W_s, W_h = rng.normal(size=(2, d, d))
        for name, scores in (
            ("additive", lambda: np.tanh(W_s @ s + H @ W_h.T) @ v),
            ("dot", lambda: H @ s),
        ):
            seconds[name].append(my.time_it(scores, 100, clock))
    return seconds


def picture(found):
    """Draw a record: seconds of the scores alone, and of whole passes."""
    fig, ax = figure("How does the time of a query grow with the keys?")
    for part, style in (("seconds", "o--"), ("whole", "s-")):
        what = {"seconds": "scores", "whole": "whole pass"}[part]
        for name, seconds in found[part].items():
            ax.loglog(found["T"], seconds, style, label=f"{name}, {what}")
    ax.set(xlabel="T", ylabel="seconds")
    ax.legend()
    return fig


HINTS = {
    "draw": ["Both axes are logarithmic, and each curve has a label."],
    "luong_forward": [
        "Scores, softmax over the states, weighted sum: the shapes are (T,), (T,), "
        "(d,).",
    ],
    "which_clock": [
        "The docstring names four properties; the page of the module time compares "
        "its clocks.",
    ],
    "time_it": ["How many readings of the clock do five measured calls need?"],
    "compare": ["Which lines of yours run between two readings of the clock?"],
    "exponent": ["log(a T^b) = log a + b log T. Which number of this line is b?"],
    "": [
        "A measurement contains all code between two readings of the clock. "
        "Everything else, such as drawing numbers, stands before the first reading "
        "or after the second.",
        "Call fn once. Then write a loop in which each round reads the clock, calls "
        "fn, reads the clock again and keeps the difference. Return the median of "
        "the differences.",
        "In compare, pass the timer a function without arguments: lambda: f(s, H). "
        "In exponent, take both logarithms and fit a line: np.polyfit of degree 1 "
        "returns the slope first.",
    ],
    "warm-up": [
        "A first call may load modules and compile. Is it among the calls that you "
        "time?",
    ],
    "not-median": ["One interrupted call changes a mean, but hardly a median."],
    "one-reading": ["Read the clock again before each call."],
    "elementwise": ["H @ s multiplies and sums, without an array (T, d)."],
    "built-in-call": ["The mask is made once, before the timer is called."],
    "widths": ["Draw W_s and W_h (d, d), and v (d,)."],
    "divided": ["Each of the times is of one call already."],
    "no-softmax": ["Which of your arrays sums to 1?"],
    "upper-median": [
        "For an even number of times, the median is the mean of the two in the middle.",
    ],
    "total": ["Return the time of one call."],
    "unit": ["The clock counts seconds. Return them as they are."],
    "repeats": ["fn is called once, and then ``repeats`` times. Count the calls."],
    "scaled": ["The scores are s . h_j, without a factor."],
    "ignores-weights": ["Each state has its own weight in the context."],
    "overflow": ["exp(712) is larger than any float64. What can you subtract?"],
    "own-clock": ["The clock is an argument of time_it."],
    "adjustable": ["The system may set this clock while you measure."],
    "cpu-time": ["The measured time must include the time in which the process waits."],
    "nanoseconds": ["Return the times in seconds."],
    "coarse": ["Another clock has a finer resolution."],
    "a-reading": ["Return a function of the module time itself, without parentheses."],
    "times-drawing": ["Numbers are drawn between two readings of the clock."],
    "not-a-call": ["The timer calls its first argument. Pass it a function."],
    "timed-else": ["The timed function must return the context and the T weights."],
    "context": ["c is the weighted sum of the rows of H."],
    "curves": ["There is a curve for each row of seconds."],
    "axes-exchanged": ["T is on the horizontal axis, seconds on the vertical one."],
    "panels": ["Draw both curves into the axes of one fig.subplots()."],
    "masked": ["np.ones(T, bool) allows all positions."],
    "not-timed": ["Which line stands between the two readings of the clock?"],
    "sign": ["The clock is later after the call. Subtract the earlier reading."],
    "last-call": ["Keep the time of every call, and take the median at the end."],
    "correlation": ["A slope divides by the variance of x alone."],
    "not-divided": ["By what is the sum of the products (x - mean) y divided?"],
    "linear-axis": ["A power of T is a straight line if both axes are logarithmic."],
    "unlabelled": ["A reader needs to know what each axis and each curve is."],
    "repeats-lost": ["The timer takes ``repeats`` as its second argument."],
    "exchanged": ["Which of the two lists receives the seconds of bahdanau_forward?"],
    "not-normal": [
        "rng.normal draws numbers N(0, 1), rng.random and rng.uniform from an "
        "interval. Pass the numbers on as they were drawn.",
    ],
    "global-generator": ["Draw from the argument rng, so that a seed decides."],
    "same-data": ["Draw s, H, W_s, W_h and v inside the loop over T."],
    "python-loop": [
        "The scores of all T states are one product of arrays. In 6.5, compute H W_h^T "
        "for all states at once.",
    ],
    "same-score": ["The two timed functions return the same numbers."],
    "no-logs": ["A power of T is a straight line where both axes are logarithmic."],
    "upside-down": [
        "The slope is the change of log(seconds) divided by the change of log(T).",
    ],
    "two-ends": [
        "The line is fitted to all points, not only to the first and the last.",
    ],
    "intercept": ["A line has a slope and an intercept. Which of the two is b?"],
    "through-origin": [
        "log a is not 0. What do you subtract from x before you divide?",
    ],
    "unsorted": ["A median is the middle of the sorted times."],
}

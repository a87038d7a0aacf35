"""6.6  The time of additive and of dot scores  ●●○○  30 min  book §6.3

Measure how long additive and dot scores of T states take, for T from 10 to 1000 and the
width d = 128. A measured time is useful only if you know exactly which code ran between
two readings of the clock. The check does not depend on the speed of your machine: it
examines which calls you time.
"""

import time

import numpy as np


def _additive_scores(s, H, W_s, W_h, v):
    """Return e_j = v . tanh(W_s s + W_h h_j): s (d,), H (T, d)  ->  (T,)"""
    return np.tanh(W_s @ s + H @ W_h.T) @ v


def dot_scores(s, H):
    """Return e_j = s . h_j for all j, as one product of a matrix and a vector.

    s (d,), H (T, d)  ->  (T,)
    """
    # BEGIN SOLUTION
    return H @ s
    # END SOLUTION


def which_clock():
    """Return the function of ``time`` to measure with: the function, not its result.

    It returns seconds, never goes back, includes the time in which the process waits,
    and has the finest resolution.
    """
    # BEGIN SOLUTION
    return time.perf_counter
    # END SOLUTION


def time_it(fn, repeats, clock):
    """Return the median time of a call fn(), in seconds.

    clock    a function without arguments that returns the time

    Call fn once without measuring, because a first call may load modules, compile and
    fill caches. Then call it ``repeats`` times, and read the clock before and after
    each call.
    """
    # BEGIN SOLUTION
    fn()
    seconds = []
    for _ in range(repeats):
        begun = clock()
        fn()
        seconds.append(clock() - begun)
    return float(np.median(seconds))
    # END SOLUTION


def compare(Ts, d, repeats, rng, timer):
    """Return the seconds of both scores for each length in Ts.

    timer  timer(fn, repeats) -> seconds, where fn is a function without arguments
    rng    draws s, H, W_s, W_h and v, all N(0, 1), anew for each T

    Draw all numbers first, then time calls of ``_additive_scores`` and ``dot_scores``.
    ->  {"additive": [seconds for each T], "dot": [seconds for each T]}
    """
    # BEGIN SOLUTION
    seconds = {"additive": [], "dot": []}
    for T in Ts:
        s, H, v = rng.normal(size=d), rng.normal(size=(T, d)), rng.normal(size=d)
        W_s, W_h = rng.normal(size=(2, d, d))  # all drawn before anything is timed
        additive = timer(lambda: _additive_scores(s, H, W_s, W_h, v), repeats)
        seconds["additive"].append(additive)
        seconds["dot"].append(timer(lambda: dot_scores(s, H), repeats))
    return seconds
    # END SOLUTION


def exponent(Ts, seconds):
    """Return b of seconds = a T^b, from a least-squares line through the logarithms."""
    # BEGIN SOLUTION
    x, y = np.log(Ts), np.log(seconds)
    x = x - x.mean()
    return (x @ y) / (x @ x)  # the slope
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "What runs before the first reading of the clock is not measured, and a median "
    "ignores the few calls that were interrupted. A power a T^b is a straight line of "
    "slope b in logarithms, so the exponent does not depend on the speed of the "
    "machine."
)

HINTS = {
    "dot_scores": ["One product of a matrix and a vector."],
    "which_clock": [
        "The docstring names four properties; the page of the module time compares "
        "its clocks.",
    ],
    "time_it": [
        "Read the clock before and after each call; one call comes before all "
        "readings.",
    ],
    "compare": ["All numbers are drawn before the timer is called."],
    "exponent": ["Take both logarithms; a power is a line there."],
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
    "upper-median": [
        "For an even number of times, the median is the mean of the two in the middle.",
    ],
    "total": ["Return the time of one call."],
    "repeats": ["fn is called once, and then ``repeats`` times. Count the calls."],
    "own-clock": ["The clock is an argument of time_it."],
    "adjustable": ["The system may set this clock while you measure."],
    "cpu-time": ["The measured time must include the time in which the process waits."],
    "nanoseconds": ["Return the times in seconds."],
    "coarse": ["Another clock has a finer resolution."],
    "a-reading": ["Return the function itself, without parentheses."],
    "times-drawing": ["Numbers are drawn between two readings of the clock."],
    "not-a-call": ["The timer calls its first argument. Pass it a function."],
    "timed-else": ["The timed function must return the T scores."],
    "repeats-lost": ["The timer takes ``repeats`` as its second argument."],
    "exchanged": ["Which of the two lists receives the seconds of _additive_scores?"],
    "not-normal": ["rng.normal draws numbers N(0, 1). rng.random draws from 0 to 1."],
    "global-generator": ["Draw from the argument rng, so that a seed decides."],
    "same-data": ["Draw s, H, W_s, W_h and v inside the loop over T."],
    "python-loop": ["The scores of all T states are one product of arrays."],
    "same-score": ["The two timed functions return the same numbers."],
    "no-logs": ["A power of T is a straight line where both axes are logarithmic."],
    "upside-down": [
        "The slope is the change of log(seconds) divided by the change of log(T).",
    ],
    "two-ends": [
        "The line is fitted to all points, not only to the first and the last.",
    ],
}

MUTANTS = [
    ("return H @ s", "return H.T @ s[: len(H)]", "raises"),
    ("    fn()\n    seconds = []", "    seconds = []", "warm-up"),
    ("np.median(seconds)", "np.mean(seconds)", "not-median"),
    ("np.median(seconds)", "min(seconds)", "not-median"),
    ("np.median(seconds)", "sorted(seconds)[repeats // 2]", "upper-median"),
    ("np.median(seconds)", "sum(seconds)", "total"),
    ("return time.perf_counter", "return time.time", "adjustable"),
    ("return time.perf_counter", "return time.process_time", "cpu-time"),
    ("return time.perf_counter", "return time.perf_counter()", "a-reading"),
    ("timer(lambda: dot_scores(s, H), repeats)",
     "timer(lambda: dot_scores(s, rng.normal(size=(T, d))), repeats)", "times-drawing"),
    ("timer(lambda: dot_scores(s, H), repeats)", "timer(dot_scores(s, H), repeats)",
     "not-a-call"),
    ("lambda: dot_scores(s, H)", "lambda: _additive_scores(s, H, W_s, W_h, v)",
     "same-score"),
    ("x, y = np.log(Ts), np.log(seconds)", "x, y = np.array(Ts), np.array(seconds)",
     "no-logs"),
    ("(x @ y) / (x @ x)", "(x @ x) / (x @ y)", "upside-down"),
]  # fmt: skip

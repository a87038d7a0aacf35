"""6.6  How long does it take?  ●●○○  30 min  book §6.3

Additive and dot scores of T states, T from 10 to 1000, of width d = 128: which is
faster, and by how much? A number of seconds says something only if one knows what was
timed. Nothing here depends on your machine being fast; all depends on what stands
between two looks at the clock.
"""

import time

import numpy as np


def _additive_scores(s, H, W_s, W_h, v):
    """e_j = v . tanh(W_s s + W_h h_j), s (d,), H (T, d), matrices (d, d)  ->  (T,)"""
    return np.tanh(W_s @ s + H @ W_h.T) @ v


def dot_scores(s, H):
    """e_j = s . h_j for all j, as one product of a matrix and a vector.

    s (d,), H (T, d)  ->  (T,)
    """
    # BEGIN SOLUTION
    return H @ s
    # END SOLUTION


def which_clock():
    """The function of ``time`` to measure with; the function itself, not a reading.

    It reads in seconds, never goes back, counts waiting as well as computing, and has
    the finest ticks.
    """
    # BEGIN SOLUTION
    return time.perf_counter
    # END SOLUTION


def time_it(fn, repeats, clock):
    """How many seconds one call of fn() takes, by ``clock``, which takes no arguments.

    One call first that is not timed: it may load, compile, fill caches. Then as many
    as ``repeats``, each between two readings of its own  ->  the median of their times
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
    """The seconds of both scores for each length in Ts.

    timer  timer(fn, repeats) -> seconds, of calls fn() without arguments
    rng    for s, H, W_s, W_h and v, all N(0, 1), drawn anew for each T

    ->  {"additive": [seconds for each T], "dot": [the same]}
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
    """The b of seconds = a T^b: a line of least squares through the logarithms."""
    # BEGIN SOLUTION
    x, y = np.log(Ts), np.log(seconds)
    x = x - x.mean()
    return (x @ y) / (x @ x)  # the slope
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "What is between two readings of the clock is what was measured. All else, the "
        "drawing of numbers too, stands before the first or after the second.",
        "One call alone; then a loop in which each round reads the clock, calls, reads "
        "again, and keeps the difference. The median of those.",
        "In compare, hand the timer a function without arguments: lambda: f(s, H). In "
        "exponent, take both logarithms, and fit a line: np.polyfit of degree 1 has "
        "the slope first.",
    ],
    "warm-up": ["A first call may load and compile. Is it among those timed?"],
    "not-median": ["One interrupted call moves a mean, and does not move a median."],
    "upper-median": ["Of an even number of times, the median is between two of them."],
    "total": ["The time of one call is asked for."],
    "repeats": ["Count the calls of fn: one, and then as many as repeats."],
    "own-clock": ["The clock to read is an argument."],
    "adjustable": ["A clock that is set right while you measure tells nothing."],
    "cpu-time": ["Time in which the process waits passes as well."],
    "nanoseconds": ["The times are to be in seconds."],
    "coarse": ["There is a clock with finer ticks."],
    "a-reading": ["The function is asked for: without its brackets."],
    "times-drawing": ["Numbers are drawn between two readings of the clock."],
    "not-a-call": ["The timer calls what it is given. Hand it a function."],
    "timed-else": ["The timed call has to return the T scores."],
    "repeats-lost": ["The timer takes the repeats as well."],
    "same-score": ["The two functions that are timed return the same."],
    "no-logs": ["A power is a straight line where both axes are logarithms."],
    "upside-down": ["The slope is the change of the seconds by that of T."],
    "two-ends": ["All points count, not only the first and the last."],
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

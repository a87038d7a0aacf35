"""6.6  The time of additive and of dot attention  ●●○○  35 min  needs 6.5  book §6.3

Measure how long a whole forward pass takes, from the states to the context: with your
additive attention of 6.5, and with dot scores, for T from 10 to 1000 states of width
128. A measured time is useful only if you know exactly which code ran between two
readings of the clock. The check does not depend on the speed of your machine: it
examines which calls you time. Neither pass may contain a Python loop over the states.
If your 6.5 has one, rewrite it with arrays first. ``python -m lessons experiment 6.6``
takes 100 passes of each.
"""

import time

import numpy as np

from lessons import earlier

bahdanau_forward = earlier(__file__, "6.5", "bahdanau_forward")  # yours


def luong_forward(s, H, mask):
    """Return the context c (d,) and the weights alpha (T,) of dot scores e_j = s . h_j.

    s (d,), H (T, d), mask (T,) bool, as in 6.5. All scores are one product of a matrix
    and a vector.
    """
    # BEGIN SOLUTION
    e = np.where(mask, H @ s, -np.inf)  # (T,)
    z = np.exp(e - e.max())
    alpha = z / z.sum()
    return alpha @ H, alpha
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
    """Return the seconds of both forward passes for each length in Ts.

    timer  timer(fn, repeats) -> seconds, where fn is a function without arguments
    rng    a np.random.Generator: draws s, H, W_s, W_h and v, all N(0, 1), anew for
           each T; all widths are d, also the d_a of W_s, W_h and v

    Draw all numbers first, then time calls of ``bahdanau_forward`` and
    ``luong_forward``, with a mask that allows all positions and is made before, too.
    ->  {"additive": [seconds for each T], "dot": [seconds for each T]}
    """
    # BEGIN SOLUTION
    seconds = {"additive": [], "dot": []}
    for T in Ts:
        s, H, v = rng.normal(size=d), rng.normal(size=(T, d)), rng.normal(size=d)
        W_s, W_h = rng.normal(size=(2, d, d))  # all drawn before anything is timed
        mask = np.ones(T, bool)
        additive = timer(lambda: bahdanau_forward(s, H, W_s, W_h, v, mask), repeats)
        seconds["additive"].append(additive)
        seconds["dot"].append(timer(lambda: luong_forward(s, H, mask), repeats))
    return seconds
    # END SOLUTION


def exponent(Ts, seconds):
    """Return b of seconds = a T^b, from a least-squares line through the logarithms."""
    # BEGIN SOLUTION
    x, y = np.log(Ts), np.log(seconds)
    x = x - x.mean()
    return (x @ y) / (x @ x)  # the slope
    # END SOLUTION


def draw(fig, Ts, seconds):
    """Draw both rows of ``seconds`` against Ts into a matplotlib figure.

    One panel, both axes logarithmic and with a label, and a legend.
    """
    # BEGIN SOLUTION
    ax = fig.subplots()
    for name, row in seconds.items():
        ax.loglog(Ts, row, "o-", label=name)
    ax.set(xlabel="states T", ylabel="seconds of a forward pass")
    ax.legend()
    # END SOLUTION


def explanation():
    """Return a string: which factor did you measure between the two, and does the
    count of operations explain it?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    # BEGIN SOLUTION
    return (
        "Additive attention does about d = 128 times as many multiplications, because "
        "it projects all keys, but it takes far less than 128 times as long: that "
        "product is one large matrix product, which runs at many multiplications a "
        "cycle, while dot reads H once and waits for memory. For ten states both take "
        "the time of a few calls. So a count gives the exponent, and not the "
        "constant."
    )
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "What runs before the first reading of the clock is not measured, and a median "
    "ignores the few calls that were interrupted. A power a T^b is a straight line of "
    "slope b in logarithms, so the exponent does not depend on the speed of the "
    "machine."
)

MUTANTS = [
    ("np.where(mask, H @ s, -np.inf)", "np.where(mask, H.T @ s[: len(H)], 0)",
     "raises"),
    ("np.where(mask, H @ s, -np.inf)", "H @ s", "mask-leak"),
    ("np.where(mask, H @ s, -np.inf)", "np.where(mask, H @ s, -np.inf) / len(s) ** 0.5",
     "scaled"),
    ("np.exp(e - e.max())", "np.exp(e)", "overflow"),
    ("return alpha @ H, alpha", "return H.mean(0), alpha", "ignores-weights"),
    ('ax.loglog(Ts, row, "o-", label=name)', 'ax.plot(Ts, row, "o-", label=name)',
     "linear-axis"),
    ("    ax.legend()\n", "", "unlabelled"),
    ("    fn()\n    seconds = []", "    seconds = []", "warm-up"),
    ("np.median(seconds)", "np.mean(seconds)", "not-median"),
    ("np.median(seconds)", "min(seconds)", "not-median"),
    ("np.median(seconds)", "sorted(seconds)[repeats // 2]", "upper-median"),
    ("np.median(seconds)", "sum(seconds)", "total"),
    ("return time.perf_counter", "return time.time", "adjustable"),
    ("return time.perf_counter", "return time.process_time", "cpu-time"),
    ("return time.perf_counter", "return time.perf_counter()", "a-reading"),
    ("timer(lambda: luong_forward(s, H, mask), repeats)",
     "timer(lambda: luong_forward(s, rng.normal(size=(T, d)), mask), repeats)",
     "times-drawing"),
    ("timer(lambda: luong_forward(s, H, mask), repeats)",
     "timer(luong_forward(s, H, mask), repeats)", "not-a-call"),
    ("lambda: luong_forward(s, H, mask)",
     "lambda: bahdanau_forward(s, H, W_s, W_h, v, mask)", "same-score"),
    ("lambda: luong_forward(s, H, mask)", "lambda: H @ s", "timed-else"),
    ("x, y = np.log(Ts), np.log(seconds)", "x, y = np.array(Ts), np.array(seconds)",
     "no-logs"),
    ("(x @ y) / (x @ x)", "(x @ x) / (x @ y)", "upside-down"),
]  # fmt: skip

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
    and a vector.  ->  c (d,), alpha (T,)
    """
    e = np.where(mask, H @ s, -np.inf)  # (T,)  #? The scores are s . h_j, without a factor, and -inf where masked.
    #! e = H @ s  | the softmax of all scores
    #! e = H @ s * mask  | the softmax of scores that are 0 where masked
    #! e = np.where(mask, H @ s, -1)  | the softmax of scores that are -1 where masked
    #! e = np.where(mask, H @ s, -np.inf) / len(s) ** 0.5  | the weights of scores / sqrt(d)
    #! e = np.where(mask, -(H @ s), -np.inf)  | the weights of -s . h_j
    z = np.exp(e - e.max())  #? exp(712) is larger than any float64. What can you subtract?
    #! z = np.exp(e)  | exp(e) / sum exp(e)
    alpha = z / z.sum()  #? Which of your arrays sums to 1, and over which states?
    #! alpha = z  | exp(e - max e), not divided by its sum
    #! alpha = mask * (z := np.exp(H @ s - (H @ s).max())) / z.sum()  | the softmax of all scores, times the mask
    return alpha @ H, alpha  #? Each state has its own weight in the context.
    #! return alpha @ H, e  | the scores s . h_j in the place of the weights
    #! return H.mean(0), alpha  | the mean of the states


def which_clock():
    """Return the function of ``time`` to measure with: the function, not its result.

    It returns seconds, never goes back, includes the time in which the process waits,
    and has the finest resolution.
    """
    return time.perf_counter  #? The page of the module time compares its clocks. Which one has all four properties?
    #! return time.time  | adjustable
    #! return time.process_time  | cpu-time
    #! return time.perf_counter()  | a-reading


def time_it(fn, repeats, clock):
    """Return the median time of a call fn(), in seconds.

    clock    a function without arguments that returns the time

    Call fn once without measuring, because a first call may load modules, compile and
    fill caches. Then call it ``repeats`` times, and read the clock before and after
    each call.
    """
    fn()  #? A first call may load modules and compile. Is it among the calls that you time?
    #! pass  | the median with the first call among them
    seconds = []
    for _ in range(repeats):  #? fn is called once, and then ``repeats`` times. Count the calls.
        #! for _ in range(repeats - 1):  | the median of one call less
        begun = clock()  #? Read the clock again before each call.
        fn()
        seconds.append(clock() - begun)  #? Which line stands between the two readings of the clock? Keep the time of every call.
    return float(np.median(seconds))  #? One interrupted call changes a mean, but hardly a median. Of an even number of times it is the mean of the two in the middle.
    #! return float(np.mean(seconds))  | the mean
    #! return float(min(seconds))  | the minimum
    #! return float(max(seconds))  | the maximum
    #! return float(np.percentile(seconds, 25))  | the lower quartile
    #! return float(sorted(seconds)[repeats // 2])  | the upper of the two in the middle
    #! return float(seconds[repeats // 2])  | the call in the middle, not sorted
    #! return float(seconds[-1])  | the time of the last call
    #! return float(sum(seconds))  | the sum of all calls
    #! return float(np.median(np.cumsum(seconds)))  | the median of the times since the first reading
    #! return float(np.median(seconds)) * 1e3  | the median in milliseconds


def compare(Ts, d, repeats, rng, timer):
    """Return the seconds of both forward passes for each length in Ts.

    timer  timer(fn, repeats) -> seconds, where fn is a function without arguments
    rng    a np.random.Generator: draws s, H, W_s, W_h and v, all N(0, 1), anew for
           each T; all widths are d, also the d_a of W_s, W_h and v

    Draw all numbers first, then time calls of ``bahdanau_forward`` and
    ``luong_forward``, with a mask that allows all positions and is made before, too.
    ->  {"additive": [seconds for each T], "dot": [seconds for each T]}
    """
    seconds = {"additive": [], "dot": []}
    for T in Ts:
        s, H, v = rng.normal(size=d), rng.normal(size=(T, d)), rng.normal(size=d)  #? Draw N(0, 1) from the argument rng, inside the loop over T.
        #! s, H, v = rng.random(d), rng.random((T, d)), rng.random(d)  | not-normal
        W_s, W_h = rng.normal(size=(2, d, d))  # all drawn before anything is timed
        mask = np.ones(T, bool)  #? np.ones(T, bool) allows all positions.
        #! mask = np.arange(T) < T // 2  | masked
        additive = timer(lambda: bahdanau_forward(s, H, W_s, W_h, v, mask), repeats)  #? Pass the timer a function without arguments, and ``repeats``.
        seconds["additive"].append(additive)
        seconds["dot"].append(timer(lambda: luong_forward(s, H, mask), repeats))  #? Which lines of yours run between two readings of the clock?
        #! seconds["dot"].append(timer(luong_forward(s, H, mask), repeats))  | not-a-call
        #! seconds["dot"].append(timer(lambda: H @ s, repeats))  | timed-else
        #! seconds["dot"].append(timer(lambda: luong_forward(s, rng.normal(size=(T, d)), mask), repeats))  | times-drawing
    return seconds


def exponent(Ts, seconds):
    """Return b of seconds = a T^b, from a least-squares line through the logarithms."""
    x, y = np.log(Ts), np.log(seconds)  #? A power of T is a straight line where both axes are logarithmic.
    #! x, y = np.array(Ts), np.array(seconds)  | the slope of seconds against T
    #! x, y = np.log(Ts), np.array(seconds)  | the slope of seconds against log T
    x = x - x.mean()  #? log a is not 0. What do you subtract from x before you divide?
    #! pass  | the slope of a line through 0
    return (x @ y) / (x @ x)  # the slope  #? log(a T^b) = log a + b log T. The slope of all points is the change of log(seconds) for a change of log(T).
    #! return (x @ x) / (x @ y)  | 1 / b
    #! return (x @ y) / (y @ y)  | the slope of log T against log seconds, of a line through 0
    #! return y.mean() - (x @ y) / (x @ x) * np.log(Ts).mean()  | log a, where the line meets log T = 0
    #! return np.corrcoef(x, y)[0, 1]  | the correlation of both logarithms
    #! return (y[-1] - y[0]) / (x[-1] - x[0])  | the slope from the first point to the last


def draw(fig, Ts, seconds):
    """Draw both rows of ``seconds`` against Ts into a matplotlib figure.

    One panel, both axes logarithmic and with a label, and a legend.
    """
    ax = fig.subplots()
    for name, row in seconds.items():
        ax.loglog(Ts, row, "o-", label=name)  #? A power of T is a straight line if both axes are logarithmic. Which axis is that of T?
    ax.set(xlabel="states T", ylabel="seconds of a forward pass")  #? A reader needs to know what each axis and each curve is.
    ax.legend()


def explanation():
    """Return a string: which factor did you measure between the two, and does the
    count of operations explain it?

    Write ten words or more; they are not graded. The check then prints a good answer.
    """
    return (  #? How large is the factor at T = 10, and at T = 1000?
        "the factor at T = 10, where both take the time of a few calls, and at T = 1000\n"
        "the counted one: T d (d + 1) + d^2 against T d multiplications, so about d\n"
        "why time does not follow: large products run fast, dot waits for memory\n"
        "what caching W_h h_j would change, and what a GPU would"
    )


# ---- THE CHECK: each call my.f(…) is compared with the function f above

import types

from lessons.course import pictures
from lessons.course.before import answers_pass
from lessons.course.measure import work
from lessons.course.words import your_own_words  # noqa: F401
from lessons.course import timing
from lessons.course.timing import LENGTHS, Fake, picture  # noqa: F401


def dot_attention(my, rng):
    """dot attention, with a mask, with large scores, and with one state"""
    answers_pass(my, "6.5")
    s, H = rng.normal(size=5), rng.normal(size=(7, 5))
    for mask in (np.ones(7, bool), np.arange(7) < 4):
        my.luong_forward(s, H, mask)
    for H, mask in (
        ([705.0, 708.0, 712.0], [True] * 3), ([1.0, 2.0, 900.0], [True, True, False]),
        ([3.0], [True]),
    ):  # fmt: skip
        my.luong_forward(np.ones(1), np.array(H)[:, None], np.array(mask))


def one_product(my, rng):
    """all scores are one product"""
    s, H = rng.normal(size=64), rng.normal(size=(64, 64))
    numbers, _ = work(my.made["luong_forward"], s, H, np.ones(64, bool))
    text = "products of H and a vector, which read H twice", f"{numbers} numbers"
    my.holds("luong_forward", numbers < 3 * H.size, *text, "elementwise")


def the_median(my, rng):
    """the median of calls of 10, 2, 7, 1, 3 seconds, after a first of 5"""
    for repeats in (5, 4, 3, 2, 1):
        fake = Fake(5.0, 10.0, 2.0, 7.0, 1.0, 3.0)
        my.only.time_it(fake.fn, repeats, fake.clock)
        text = "readings of the argument clock", "none"
        my.holds("time_it", fake.read, *text, "own-clock")
        again = Fake(*fake.durations)
        my.time_it(again.fn, repeats, again.clock)
        text = f"{repeats + 1} calls of fn", fake.calls
        my.holds("time_it", fake.calls == repeats + 1, *text, "repeats")


def the_clock(my, rng):
    """the clock never goes back and includes waiting"""
    timing.is_the_clock(my, my.made["which_clock"]())


def what_is_timed(my, rng):
    """the calls that compare passes to the timer"""
    timing.are_timed(my, int(rng.integers(1000)))


def powers(my, rng):
    """the exponent of exact powers, and of scattered points"""
    scatter = np.exp(0.3 * rng.normal(size=5))
    for b, noise in ((1.0, scatter), (0.5, 1), (2.0, 1)):
        my.near(1e-9).exponent(LENGTHS, 1e-6 * np.array(LENGTHS) ** b * noise)


def here_and_now(my, rng):
    """both passes, measured on this machine; any result passes"""
    seconds = timing.measured(my.only, rng, 7)
    print("T           " + "".join(f"{T:>9}" for T in LENGTHS) + "   exponent")
    for name, b in timing.exponents(my.only, seconds).items():
        row = "".join(f"{1e3 * v:9.3f}" for v in seconds[name])
        print(f"{name:<8} ms {row}   {b:8.2f}")
        if b < 0.8:
            print("   below 1: a fixed price of each call is part of a short pass")
    fig = pictures.drawn(my, "draw", (6, 3.6), LENGTHS, seconds)
    for name, words in (("additive", "add|bahd"), ("dot", "dot|luong|scalar")):
        what = f"the seconds of {name}"
        pictures.has_curve(fig, LENGTHS, seconds[name], what, words)
    names = r"\bT\b|state|length|key", r"sec|time|\bms?\b|\bs\b"
    pictures.is_labelled(fig, *names, ("log", "log"))
    pictures.keep(my, fig)


def experiment(my, seed=0):
    """Return the chapter's measurement, of 100 passes."""
    return timing.on_this_machine(types.SimpleNamespace(**my.made), seed)


HINTS = """
luong_forward  Scores, softmax over the states, weighted sum: the shapes are (T,), (T,),
   (d,). H @ s multiplies and sums, without an array (T, d).
time_it  How many readings of the clock do five measured calls need?
python-loop  The scores of all T states are one product of arrays. In 6.5, compute
   H W_h^T for all states at once.
adjustable  The system may set this clock while you measure.
cpu-time  The measured time must include the time in which the process waits.
a-reading  Return a function of the module time itself, without parentheses.
1  A measurement contains all code between two readings of the clock. Everything else,
   such as drawing numbers, stands before the first reading or after the second.
2  Call fn once. Then write a loop in which each round reads the clock, calls fn, reads
   the clock again and keeps the difference. Return the median of the differences.
3  In compare, pass the timer a function without arguments: lambda: f(s, H). In
   exponent, take both logarithms and fit a line.
"""
WHY = """What runs before the first reading of the clock is not measured, and a median
ignores the few calls that were interrupted. A power a T^b is a straight line of slope b
in logarithms, so the exponent does not depend on the speed of the machine."""

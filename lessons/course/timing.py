"""The check of 6.6: a clock that a check moves, and what an answer times."""

import time

import numpy as np

from ..pages.figures import figure
from .measure import calls_of, python_steps

LENGTHS = (10, 50, 100, 500, 1000)  # those of the chapter
PASSES = {"additive": "bahdanau_forward", "dot": "luong_forward"}
ARRAYS = "s", "H", "W_s", "W_h", "v"  # of a pass, before the mask


class Fake:
    """A clock that only advances while its function is called."""

    def __init__(self, *durations):
        self.durations, self.calls, self.now, self.read = durations, 0, 1000.0, 0

    def clock(self):
        self.read += 1
        return self.now

    def fn(self):
        self.now += self.durations[min(self.calls, len(self.durations) - 1)]
        self.calls += 1


def is_the_clock(my, clock):
    """Fail unless a clock is the function of ``time`` with which one measures."""
    name = getattr(clock, "__name__", type(clock).__name__)
    known = callable(clock) and hasattr(time, name)
    text = "a function of the module time itself", f"{clock!r:.60}"
    my.holds("which_clock", known, *text, "a-reading")
    about = time.get_clock_info(name.removesuffix("_ns"))
    finest = time.get_clock_info("perf_counter").resolution
    for truth, expected, tag in (
        (not name.endswith("_ns"), "reads in seconds", "nanoseconds"),
        (about.monotonic and not about.adjustable, "nobody can adjust", "adjustable"),
        (name not in ("process_time", "thread_time"), "advances while a process waits",
         "cpu-time"),
        (about.resolution <= finest, f"has a resolution of {finest:g} s", "coarse"),
    ):  # fmt: skip
        my.holds("which_clock", truth, f"a clock that {expected}", f"time.{name}", tag)


def are_timed(my, seed, Ts=(5, 7, 11), d=67):
    """Fail unless compare times calls of both passes, with the right arrays."""

    def law(truth, expected, found, tag):
        my.holds("compare", truth, expected, f"{found}", tag)

    first, again, other = (timed(my, law, Ts, d, s) for s in (seed, seed, seed + 1))
    for (name, T), (fn, (once, twice)) in first.items():
        what, (*arrays, mask) = f"{name} attention", map(np.asarray, once)
        want = [(d,), (T, d), (d, d), (d, d), (d,)][: len(arrays)]
        shapes = [x.shape for x in arrays]
        law(shapes == want, f"{what} with the shapes {want}: all widths are d", shapes,
            "widths")  # fmt: skip
        allows = mask.dtype == bool and mask.shape == (T,) and mask.all()
        law(allows, f"{what} with a mask, bool, that allows all {T} positions", mask,
            "masked")  # fmt: skip
        law(all(map(np.may_share_memory, once, twice)),
            f"calls of {what} with arrays that stand before", "others in each call",
            "built-in-call")  # fmt: skip
        for k, x in enumerate(arrays):
            off = max(abs(x.mean()), abs(x.std() - 1) * 2**0.5) * x.size**0.5
            law(off < 6, f"numbers N(0, 1) in {ARRAYS[k]}",  # standard errors
                f"the mean {x.mean():.2g} and the standard deviation {x.std():.2g}",
                "not-normal")  # fmt: skip
            same = [np.array_equal(x, run[name, T][1][0][k]) for run in (again, other)]
            law(same[0], f"the same {ARRAYS[k]} from two generators with one seed",
                "another: is it drawn from the argument rng?",
                "global-generator")  # fmt: skip
            heads = [run[name, n][1][0][k].ravel()[:d].tobytes()
                     for run in (first, other) for n in Ts]  # fmt: skip
            law(len({*heads}) == len(heads), f"another {ARRAYS[k]} for each T and rng",
                "the same again", "same-data")  # fmt: skip
    for name in PASSES:
        few, many = (python_steps(first[name, T][0]) for T in (Ts[0], Ts[-1]))
        law(few == many, f"{name} attention with the same Python steps for any T",
            f"{few} at T = {Ts[0]}, {many} at T = {Ts[-1]}: a Python loop",
            "python-loop")  # fmt: skip


def timed(my, law, Ts, d, seed):
    """Return {(pass, T): (fn, the arguments in two calls)} of what compare times."""
    rng, seen, result = np.random.default_rng(seed), [], {}

    def timer(fn, repeats):
        state, before = rng.bit_generator.state, len(calls)
        for _ in range(2 * callable(fn)):
            fn()
        seen.append((fn, repeats, calls[before:], rng.bit_generator.state != state))
        return float(len(seen))

    with calls_of(my, *PASSES.values()) as calls:
        found = my.only.compare(Ts, d, 3, rng, timer)
    for fn, repeats, _, draws in seen:
        text = "a function as the first argument of timer", f"a {type(fn).__name__}"
        law(callable(fn), *text, "not-a-call")
        law(repeats == 3, "3 repeats, passed to timer", repeats, "repeats-lost")
        law(not draws, "numbers drawn before", "draws in a timed call", "times-drawing")
    is_dict = isinstance(found, dict) and {*found} == {*PASSES}
    numbers = sorted(int(n) for row in found.values() for n in row) if is_dict else []
    law(numbers == [*range(1, 2 * len(Ts) + 1)],
        'what timer returned, for each T, in "additive" and in "dot"', found,
        "timed-else")  # fmt: skip
    for k, name in enumerate(len(Ts) * list(PASSES)):
        T = Ts[k // 2]
        fn, _, made, _ = seen[int(found[name][k // 2]) - 1]
        called = [function for function, _ in made[::2]]
        law(called == [PASSES[name]] and len(made) == 2,
            f"a call of {PASSES[name]} in each function that is timed for {name!r}",
            called or "no call of either pass",
            "other-pass" if called else "timed-else")  # fmt: skip
        result[name, T] = fn, [args for _, args in made]
    return result


def measured(answer, rng, repeats):
    """Return the seconds of both passes of an answer, for all lengths: {pass: […]}."""
    clock = answer.which_clock()
    timer = lambda fn, repeats: answer.time_it(fn, repeats, clock)  # noqa: E731
    return answer.compare(LENGTHS, 128, repeats, rng, timer)


def exponents(answer, seconds):
    """Return {pass: b of seconds = a T^b, from T = 100 on}."""
    tail = [k for k, T in enumerate(LENGTHS) if T >= 100]
    return {
        name: float(answer.exponent(np.array(LENGTHS)[tail], np.array(row)[tail]))
        for name, row in seconds.items()
    }


def on_this_machine(answer, seed):
    """Return the chapter's measurement, of 100 passes.

    seconds   of the scores alone, without softmax and context
    whole     of the two forward passes of the answer

    Each is measured ten times, and the least median counts: other programs on the
    machine make a time longer, never shorter.
    """
    rounds = [np.random.default_rng(seed + k) for k in range(10)]
    alone = least([scores_alone(answer, rng) for rng in rounds])
    whole = least([measured(answer, rng, 100) for rng in rounds])
    return {
        "T": list(LENGTHS),
        "d": 128,
        "repeats": 100,
        "seconds": alone,
        "exponent": exponents(answer, alone),
        "whole": whole,
        "whole_exponent": exponents(answer, whole),
    }


def least(rounds):
    """Return the least seconds of several measurements."""
    return {n: [min(each) for each in zip(*(r[n] for r in rounds))] for n in rounds[0]}


def scores_alone(answer, rng, d=128):
    """Return the median seconds of the scores, without softmax and context."""
    clock, seconds = answer.which_clock(), {"additive": [], "dot": []}
    for T in LENGTHS:
        s, H, v = rng.normal(size=d), rng.normal(size=(T, d)), rng.normal(size=d)
        W_s, W_h = rng.normal(size=(2, d, d))
        for name, scores in (
            ("additive", lambda: np.tanh(W_s @ s + H @ W_h.T) @ v),
            ("dot", lambda: H @ s),
        ):
            seconds[name].append(answer.time_it(scores, 100, clock))
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

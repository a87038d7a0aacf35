"""How much faster is a dot product? The record of lesson 04.

    python -m lessons experiment 4

One query meets T keys of 128 numbers. Three scores are timed in NumPy, on one thread:
the scores alone; a whole pass, with the softmax and the context; and the whole pass of
a decoder that projected its keys before the first step. For additive scores this last
pass is timed in two ways: each call makes new arrays, or all calls write into the same
one. Half a minute.
"""

import time

import numpy as np

from attention.costs import cost_of
from lessons.classroom.records import write_record

LENGTHS, WIDTH, CALLS, SEEDS = (10, 100, 1000), 128, 400, (0, 1, 2)


def context(e, H):
    weights = np.exp(e - e.max())  # (T,)
    return (weights / weights.sum()) @ H  # (d,)


def passes(T, rng):
    """Return {(part, score): function without arguments} for one query and T keys."""
    s, H = rng.normal(size=WIDTH), rng.normal(size=(T, WIDTH))
    W_g, W_s, W_h = rng.normal(size=(3, WIDTH, WIDTH)) / WIDTH**0.5
    v = rng.normal(size=WIDTH)
    W_g_H, W_h_H = H @ W_g.T, H @ W_h.T  # (T, d), projected before the first step
    scores = {
        "dot": lambda: H @ s,
        "general": lambda: H @ (s @ W_g),
        "additive": lambda: np.tanh(W_s @ s + H @ W_h.T) @ v,
    }
    kept = np.empty_like(W_h_H)

    def additive_in_place():
        np.add(W_s @ s, W_h_H, out=kept)
        np.tanh(kept, out=kept)
        return kept @ v

    prepared = {
        "dot": scores["dot"],
        "general": lambda: W_g_H @ s,
        "additive": lambda: np.tanh(W_s @ s + W_h_H) @ v,
        "in place": additive_in_place,
    }
    found = {("scores", name): score for name, score in scores.items()}
    for part, group in (("whole", scores), ("prepared", prepared)):
        for name, score in group.items():
            found[part, name] = lambda score=score: context(score(), H)
    return found


def shortest_seconds(functions):
    """Call the functions in turn, CALLS times each; return the shortest time of each.

    Other programs on the machine can make a time longer, never shorter. A call that is
    not timed goes before each: it brings the arrays into the processor's cache.
    """
    seconds = {key: [] for key in functions}
    for _ in range(CALLS):
        for key, call in functions.items():
            call()
            start = time.perf_counter()
            call()
            seconds[key].append(time.perf_counter() - start)
    return {key: min(each) for key, each in seconds.items()}


# The multiplications of scores, of L queries and S keys; all widths are d.
def of_scores(name, L, S, d):
    """Return those of a score by the formula of the library, without the average."""
    return cost_of(name, L=L, S=S, E=d).multiplications - L * S * d


def steps(L, S, d):
    """Return those of additive scores whose keys are projected again for each query."""
    return d * (L * d + L * S * d) + L * S * d


def pairs(L, S, d):
    """Return those of additive scores that project query and key for each pair."""
    return d * (L * S * d + L * S * d) + L * S * d


def main():
    runs = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        run = {part: {} for part in ("scores", "whole", "prepared")}
        for T in LENGTHS:
            for (part, name), x in shortest_seconds(passes(T, rng)).items():
                run[part].setdefault(name, []).append(x)
        runs.append(run)
        print(seed, run, flush=True)
    results = {"T": LENGTHS, "calls": CALLS, "runs": runs}
    write_record("scores", results, seeds=SEEDS)


if __name__ == "__main__":
    main()

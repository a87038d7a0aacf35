"""Check an answer to 38.5."""

import numpy as np

from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, laws, named, shape, values

DIAGONAL = named("t", lambda t: t)
BACKWARDS = named("4 - t", lambda t: 4 - t)
HALVES = named("t / 2", lambda t: t / 2)


def by_loop(S, T, D, center):
    allowed = np.zeros((T, S), bool)
    for t in range(T):
        for s in range(S):
            allowed[t, s] = -D <= s - center(t) <= D
    return allowed


def wrong_windows(S, T, D, center):
    """Return windows with a wrong distance: (tag, what, array)."""
    t, s = np.arange(T)[:, None], np.arange(S)[None, :]
    p = np.array([center(k) for k in range(T)])[:, None]
    around = np.minimum((s - p) % S, (p - s) % S)
    return [
        ("off-by-one", "the window |s - center| < D", by_loop(S, T, D - 0.1, center)),
        ("off-by-one", "the window |s - center| <= D + 1", np.abs(s - p) <= D + 1),
        ("half-width", "the window |s - center| <= D / 2", np.abs(s - p) <= D / 2),
        ("wrap-around", "a window that continues at the other end", around <= D),
        (
            "one-sided",
            "a window to the right, (s - center) mod S <= D",
            (s - p) % S <= D,
        ),
        ("one-sided", "a window to the right only", (s >= p) & (s <= p + D)),
        ("one-sided", "a window to the left only", (s <= p) & (s >= p - D)),
        ("ignores-center", "the window |s - t| <= D", np.abs(s - t) <= D),
    ]


@shape("a row for each query, a column for each key")
def a_row_for_each_query(my, rng):
    my.shape(my.local_mask(7, 5, 2, DIAGONAL), (5, 7), "TS", bool)
    my.shape(my.batch_masks(np.array([3, 7]), 7, 5, 1), (2, 5, 7), "BTS", bool)


@values("every window, against a loop")
def every_window(my, rng):
    # the widest first: where D is small, many wrong windows are the same
    for S, T, D in ((11, 7, 3), (7, 5, 2), (5, 5, 1), (5, 7, 0), (11, 3, 1)):
        for center in (DIAGONAL, BACKWARDS, HALVES):
            want = by_loop(S, T, D, center)
            variants = wrong_windows(S, T, D, center)
            my.equal(my.local_mask(S, T, D, center), want, "TS", variants)


@values("the centre for reversal")
def where_reversal_looks(my, rng):
    for length in (1, 5, 7):
        for t in range(length):
            found = my.center_for_reversal(t, length)
            my.holds(
                found == length - 1 - t,
                "not-reversed",
                f"expected position {length - 1 - t}, whose symbol query {t} writes",
                f"found {found}",
            )


@values("a padded batch")
def a_padded_batch(my, rng):
    lengths, S, T, D = np.array([3, 7, 5]), 7, 5, 1
    position = np.arange(S)

    def windows(lengths_of_centers, hide):
        out = np.zeros((len(lengths), T, S), bool)
        for b, n in enumerate(lengths_of_centers):
            out[b] = by_loop(S, T, D, lambda t: n - 1 - t)
            out[b] &= (position < lengths[b]) | (not hide)
        return out

    padded = np.full(3, S)
    variants = [
        ("padded-length", "windows for strings of length S", windows(padded, True)),
        ("padded-length", "windows for strings of length S", windows(padded, False)),
        ("padding-leak", "windows that contain padding", windows(lengths, False)),
    ]
    want = windows(lengths, True)
    my.equal(my.batch_masks(lengths, S, T, D), want, "BTS", variants)


@laws("the window around S - 1 - t can reverse a string, the diagonal cannot")
def it_can_copy(my, rng):
    """Use one-hot keys, and queries that match one key each, without training."""
    S, D = 11, 1
    wanted = np.array([my.center_for_reversal(t, S) for t in range(S)])
    scores = np.eye(S)[wanted]  # 1 at the key of query t
    for center, inside in (
        (named("S - 1 - t", lambda t: S - 1 - t), np.ones(S, bool)),
        (DIAGONAL, np.abs(S - 1 - 2 * np.arange(S)) <= D),
    ):
        allowed = my.local_mask(S, S, D, center)
        copied = np.where(allowed, scores, -1).argmax(1) == S - 1 - np.arange(S)
        my.holds(
            np.array_equal(copied, inside),
            "not-reversed",
            f"expected the symbols copied at t = {np.flatnonzero(inside)}",
            f"found them copied at t = {np.flatnonzero(copied)}",
        )


@edges("one key, one query, and windows beyond the end")
def off_the_end(my, rng):
    far = named("t + 100", lambda t: t + 100)
    for S, T, D, center in ((1, 1, 0, DIAGONAL), (5, 3, 2, far), (3, 2, 50, far)):
        my.equal(my.local_mask(S, T, D, center), by_loop(S, T, D, center), "TS")

"""Check an answer to 38.5."""

from functools import partial

import numpy as np

import minigrad as mg
from attention import masked_softmax
from lessons.checks.attending import wrong_scales, wrong_weights
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, laws, named, shape, values
from minigrad import optim

DIAGONAL = named("t", lambda t: t)
BACKWARDS = named("4 - t", lambda t: 4 - t)
HALVES = named("t / 2", lambda t: t / 2)
LENGTH, SYMBOLS, WIDTH = 7, 5, 16  # of the strings that are reversed


def by_loop(S, T, D, center):
    allowed = np.zeros((T, S), bool)
    for t in range(T):
        for s in range(S):
            allowed[t, s] = -D <= s - center(t) <= D
    return allowed


def by_next_query(S, T, D, center):
    return by_loop(S, T, D, lambda t: center(t + 1))


def by_slices(S, T, D, center):
    allowed = np.zeros((T, S), bool)
    for t in range(T):
        p = int(center(t))
        allowed[t, p - D : p + D + 1] = True
    return allowed


def wrong_windows(S, T, D, center):
    """Return windows with a wrong distance: (tag, what, array)."""
    t, s = np.arange(T)[:, None], np.arange(S)[None, :]
    p = np.array([center(k) for k in range(T)])[:, None]
    around = np.minimum((s - p) % S, (p - s) % S)
    return [
        ("off-by-one", "the window |s - center| < D", by_loop(S, T, D - 0.1, center)),
        ("off-by-one", "the window |s - center| <= D + 1", np.abs(s - p) <= D + 1),
        ("off-by-one", "the window without its last key", (p - D <= s) & (s < p + D)),
        ("off-by-one", "the ends |s - center| = D alone", np.abs(s - p) == D),
        ("outside", "|s - center| >= D", np.abs(s - p) >= D),
        ("half-width", "the window |s - center| <= D / 2", np.abs(s - p) <= D / 2),
        ("wrap-around", "a window that continues at the other end", around <= D),
        ("one-sided", "a window to the right only", (s >= p) & (s <= p + D)),
        ("one-sided", "a window to the left only", (s <= p) & (s >= p - D)),
        ("one-sided", "a window to the right, (s - center) mod S <= D",
         (s - p) % S <= D),
        ("ignores-center", "the window |s - t| <= D", np.abs(s - t) <= D),
        ("rounded", "windows around rounded centres", np.abs(s - np.round(p)) <= D),
        ("clipped", "windows moved until they are inside the string",
         np.abs(s - np.minimum(np.maximum(p, D), S - 1 - D)) <= D),
        ("rounded", "windows around centres rounded down", np.abs(s - p // 1) <= D),
    ]  # fmt: skip


@shape("a row for each query, a column for each key")
def a_row_for_each_query(my, rng):
    my.shape(my.local_mask(7, 5, 2, DIAGONAL), (5, 7), "TS", bool)
    my.shape(my.batch_masks(np.array([3, 7]), 7, 5, 1), (2, 5, 7), "BTS", bool)


@values("every window, against a loop")
def every_window(my, rng):
    rare = [
        ("next-query", "the window of query t + 1", by_next_query),
        (
            "negative-slice",
            "a slice whose start, center - D, counts from the end if it is negative",
            by_slices,
        ),
    ]
    for center in (DIAGONAL, BACKWARDS):  # along one of them, other mistakes are alike
        found = my.local_mask(5, 5, 1, center)
        rare = [v for v in rare if np.array_equal(found, v[2](5, 5, 1, center))]
    # the widest first: where D is small, many wrong windows are the same
    for S, T, D in ((11, 7, 3), (7, 5, 2), (5, 5, 1), (5, 7, 0), (11, 3, 1)):
        for center in (DIAGONAL, BACKWARDS, HALVES):
            want = by_loop(S, T, D, center)
            variants = wrong_windows(S, T, D, center)
            variants += [(tag, text, f(S, T, D, center)) for tag, text, f in rare]
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
    lengths, S, T, D = np.array([3, 6, 5]), 7, 5, 1
    position = np.arange(S)

    def windows(lengths_of_centers, hide, first=-S):
        out = np.zeros((len(lengths), T, S), bool)
        for b, n in enumerate(lengths_of_centers):
            out[b] = by_loop(S, T, D, lambda t: max(first, n - 1 - t))
            out[b] &= (position < lengths[b]) | (not hide)
        return out

    hidden = position >= lengths[:, None, None]
    padded, real = np.full(3, S), np.arange(T)[:, None] < lengths[:, None, None]
    variants = [
        ("padded-length", "windows for strings of length S", windows(padded, True)),
        ("padded-length", "windows for strings of length S", windows(padded, False)),
        ("padding-leak", "windows that contain padding", windows(lengths, False)),
        ("masks-queries", "windows that are empty for queries t >= length",
         windows(lengths, True) & real),
        ("masks-queries",
         "windows that contain padding, and are empty for queries t >= length",
         windows(lengths, False) & real),
        ("clipped", "windows around max(0, length - 1 - t)", windows(lengths, True, 0)),
        ("padding-leak", "windows, or padding", windows(lengths, True) | hidden),
        ("ignores-window", "windows, or every symbol",
         windows(lengths, False) | ~hidden),
        ("order", "the windows of the strings in reverse order",
         windows(lengths[::-1], True)),
    ]  # fmt: skip
    for length in lengths:
        text = f"windows for strings of length {length}"
        variants.append(("one-length", text, windows(np.full(3, length), True)))
    want = windows(lengths, True)
    my.equal(my.batch_masks(lengths, S, T, D), want, "BTS", variants)


@values("attention through a window, against a loop")
def through_a_window(my, rng):
    T, S, d, w = 5, 7, 3, 11
    Q, K, V = (rng.normal(size=shape) for shape in ((T, d), (S, d), (2, S, w)))
    allowed = by_loop(S, T, 1, BACKWARDS)
    allowed[2] = False  # a query without a key

    want = np.zeros((2, T, w))
    for t in range(T):
        z = np.exp(K @ Q[t] / d**0.5) * allowed[t]
        want[:, t] = np.einsum("s,bsw->bw", z / (z.sum() or 1), V)

    found = my.local_attention(*map(mg.Tensor, (Q, K, V)), allowed)
    is_tensor = isinstance(found, mg.Tensor)
    kind = type(found).__name__
    my.holds(is_tensor, "detached", "expected a Tensor", f"found {kind}")
    wrong = wrong_weights(Q @ K.T / d**0.5, allowed, wrong_scales(d, S, T, w))
    wrong = [(tag, f"attention with {what}", p @ V) for tag, what, p in wrong]
    my.equal(found.numpy(), want, "BTw", wrong)


@values("five training steps, against the engine's steps")
def five_steps(my, rng):
    seed, allowed = int(rng.integers(1000)), window(LENGTH - 1)
    got, _ = trained(my, my.training_step, allowed, seed, 5)

    call = my.last_call("training_step")[0]

    def losses(**options):
        return trained(my, step_of(**options), allowed, seed, 5)[0]

    wrong = [
        ("not-cleared", "steps whose gradients were not cleared", {"clear": False}),
        ("does-not-move", "a model that does not move", {"moves": 0}),
        ("not-turned", "a loss against the strings themselves", {"target": same}),
        ("reversed-batch", "a loss against the strings of the batch in reverse order",
         {"target": np.flipud}),
        ("reversed-batch", "a loss against reversed strings of the batch in reverse "
         "order", {"target": np.flip}),
        ("reversed-input", "a model that reads the strings from the last symbol on",
         {"source": reverse}),
        ("reversed-input", "a loss against the strings, of a model that reads them "
         "from the last symbol on", {"source": reverse, "target": same}),
        ("after-step", "losses after their steps", {"after": True}),
        ("step-twice", "two optimizer.step() in each step", {"moves": 2}),
        ("full-window", "steps that see all keys", {"full": True}),
        ("queries-as-keys", "steps with Q and K exchanged", {"exchanged": True}),
        ("not-learned", "steps that do not move Q", {"detach": "Q"}),
        ("not-learned", "steps that do not move K", {"detach": "K"}),
        ("not-learned", "steps that move neither Q nor K", {"detach": "QK"}),
    ]  # fmt: skip
    wrong = [(tag, what, partial(losses, **options)) for tag, what, options in wrong]
    my.equal(got, losses(), ("step",), wrong, rtol=1e-6, call=call)


@laws("it learns to reverse through the right window, and not through the diagonal")
def it_learns(my, rng):
    ends = {}
    for name, center in (("length - 1 - t", None), ("t", DIAGONAL)):
        centre = center or (lambda t: my.center_for_reversal(t, LENGTH))
        allowed = my.local_mask(LENGTH, LENGTH, 1, centre)
        losses, right = trained(my, my.training_step, allowed, 3, 60)
        ends[name] = losses[-1]
        print(f"window around {name:<14} loss {losses[0]:.2f} to {losses[-1]:.2f}, "
              f"{right:.0%} right")  # fmt: skip
    my.holds(
        ends["length - 1 - t"] < 0.1 < ends["t"],
        "not-learned",
        "expected a loss below 0.1 after 60 steps with the window for reversal, above "
        "0.1 with the diagonal",
        f"found {ends['length - 1 - t']:.3f}, and {ends['t']:.3f} with the diagonal",
    )


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


def window(start):
    return by_loop(LENGTH, LENGTH, 1, lambda t: start - t)


def trained(my, step, allowed, seed, steps):
    """Train the model of the stub with ``step``; return losses, and the right share."""
    rng = np.random.default_rng(seed)
    model = my.Reverser(LENGTH, SYMBOLS, WIDTH, rng)
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    draw = [rng.integers(0, SYMBOLS, (16, LENGTH)) for _ in range(steps + 1)]
    losses = [step(model, optimizer, strings, allowed) for strings in draw[:steps]]
    number = all(isinstance(v, (float, np.floating)) for v in losses)
    kind = type(losses[0]).__name__
    my.holds(number, "type", "expected the loss, a float", f"found {kind}")
    said = logits_of(model, draw[-1], allowed).numpy().argmax(-1)
    return np.array(losses), (said == draw[-1][:, ::-1]).mean()


def reverse(strings):
    return strings[:, ::-1]


def same(strings):
    return strings


def logits_of(model, strings, allowed, detach="", exchanged=False):
    parts = ("Q", model.Q), ("K", model.K)
    Q, K = (p.detach() if name in detach else p for name, p in parts)
    if exchanged:
        Q, K = K, Q
    e = Q @ K.T / WIDTH**0.5
    return model.logits(masked_softmax(e, mask=allowed) @ model.values(strings))


def step_of(
    clear=True, moves=1, source=same, target=reverse, after=False, full=False,
    detach="", exchanged=False,
):  # fmt: skip
    """Return a training step of the engine; each option adds one mistake."""

    def step(model, optimizer, strings, allowed):
        def loss_of():
            logits = logits_of(
                model, source(strings), allowed | full, detach, exchanged
            )
            return mg.cross_entropy(logits, target(strings))

        loss = loss_of()
        if clear:
            optimizer.zero_grad()
        loss.backward()
        for _ in range(moves):
            optimizer.step()
        return (loss_of() if after else loss).item()

    return step


HINTS = {
    "outside": ["Is the window near its centre, or far from it?"],
    "order": ["Row b of the result belongs to lengths[b]."],
    "ignores-window": ["A key has to be in the window, and in the string."],
    "step-twice": ["Count the calls of optimizer.step()."],
    "clipped": ["A centre may be outside the string. Which keys are near it?"],
    "local_attention": [
        "The window is a mask of the scores; the softmax is over the keys that it "
        "allows.",
    ],
    "training_step": [
        "Which lines does every step have, in which order, and which gradients are "
        "there before?",
    ],
    "local_mask": [
        "Compare every key position, along a row, with every centre, along a column.",
    ],
    "center_for_reversal": [
        "Which symbol of the string does the first output need, and which the last?",
    ],
    "batch_masks": [
        "Each string has its own length: its own centres, and its own padding.",
    ],
    "queries-as-keys": ["Q gives the rows of the scores, K the columns."],
    "": [
        "Write the positions of the keys as a row and the centres as a column. "
        "Broadcasting compares each with each.",
        "The row is np.arange(S)[None, :], the column has shape (T, 1). Compare the "
        "distance |s - p| of each pair with D.",
        "For the batch: build one window for each length, with the centre for this "
        "length; then exclude s >= length.",
    ],
    "off-by-one": ["Count the keys of a window with D = 1. How many are right?"],
    "half-width": ["A window with D = 3 has 7 keys: the centre and 3 on each side."],
    "wrap-around": ["Is there a key to the left of position 0?"],
    "padded-length": [
        "The last symbol of a string of 3 is at position 2, also if it is padded.",
    ],
    "padding-leak": ["A window near the end of a short string contains padding."],
    "transpose": ["Each query has a row and each key a column: (T, S), not (S, T)."],
    "unscaled": ["The scores are divided by the square root of the width."],
    "mask-leak": ["Which keys may a query attend to? Where does the mask enter?"],
    "not-cleared": ["backward adds to the gradients of the step before."],
    "does-not-move": [
        "A step needs three calls: clear the gradients, compute them, move the "
        "parameters. Is one missing? Is one too early, or too late?",
    ],
    "next-query": ["Which t does the first query have, and which the last?"],
    "negative-slice": ["x[-1:2] begins at the last entry. Where should it begin?"],
    "not-turned": ["The model has to write the strings from the last symbol on."],
    "after-step": ["Return the loss before the step."],
    "full-window": ["The argument allowed decides which keys are seen."],
    "not-learned": ["Do gradients reach Q and K? Stay with Tensors throughout."],
    "not-reversed": ["Query 0 writes the last symbol. Which position has it?"],
    "rounded": ["A centre may be a fraction: is |1 - 1.5| <= 1? And |0 - 1.5|?"],
    "one-length": ["Each string of the batch has a length of its own."],
    "masks-queries": ["A padded query may attend: nothing reads what it writes."],
    "reversed-batch": ["Which axis of strings (B, S) is the one of the positions?"],
    "reversed-input": ["The model reads the strings as they are. What does it write?"],
}

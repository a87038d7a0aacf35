"""Check an answer to 38.5."""

import numpy as np

from lessons.checks.attending import wrong_scales, wrong_weights
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, laws, named, shape, values
from lessons.exercises.ex_38_5 import Reverser  # which the exercise gives
from minigrad import optim

# THE EXERCISE IN LOOPS

import minigrad as mg


def local_mask(S, T, D, center):
    allowed = np.zeros((T, S), bool)
    for t, s in np.ndindex(T, S):
        p = center(t)
        allowed[t, s] = -D <= s - p <= D
    return allowed


def center_for_reversal(t, length):
    return length - 1 - t


def batch_masks(lengths, S, T, D):
    allowed = np.zeros((len(lengths), T, S), bool)
    for b, n in enumerate(lengths):
        window = local_mask(S, T, D, lambda t: center_for_reversal(t, n))
        for t, s in np.ndindex(T, S):
            allowed[b, t, s] = window[t, s] and s < n
    return allowed


def local_attention(Q, K, V, allowed):
    """c_t = softmax of the scores of the allowed keys, times their values"""
    contexts = []
    for t in range(len(allowed)):
        c = 0 * V[:, 0]
        keys = np.flatnonzero(allowed[t])
        if len(keys):
            e = (Q[t] * K[keys]).sum(-1) / K.shape[-1] ** 0.5
            c = (mg.softmax(e)[:, None] * V[:, keys]).sum(1)
        contexts.append(c)
    return mg.stack(contexts, axis=1)


def training_step(model, optimizer, strings, allowed):
    def loss_before():
        Q, K = model.Q, model.K
        V, target = model.values(strings), strings[:, ::-1]
        context = local_attention(Q, K, V, allowed)
        return mg.cross_entropy(model.logits(context), target)

    loss = loss_before()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


# THE CHECK

DIAGONAL = named("t", lambda t: t)
BACKWARDS = named("4 - t", lambda t: 4 - t)
HALVES = named("t / 2", lambda t: t / 2)
LENGTH, SYMBOLS, WIDTH = 7, 5, 16  # of the strings that are reversed


@shape("a row for each query, a column for each key")
def a_row_for_each_query(my, rng):
    my.shape(my.local_mask(7, 5, 2, DIAGONAL), (5, 7), "TS", bool)
    my.shape(my.batch_masks(np.array([3, 7]), 7, 5, 1), (2, 5, 7), "BTS", bool)


@values("every window, against a loop")
def every_window(my, rng):
    # the widest first: where D is small, many wrong windows are the same
    for S, T, D in ((11, 7, 3), (7, 5, 2), (5, 5, 1), (5, 7, 0), (11, 3, 1)):
        for center in (DIAGONAL, BACKWARDS, HALVES):
            want = local_mask(S, T, D, center)
            my.equal(my.local_mask(S, T, D, center), want, "TS")


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
    found, want = (f(lengths, S, T, D) for f in (my.batch_masks, batch_masks))
    my.equal(found, want, "BTS")


@values("attention through a window, against a loop")
def through_a_window(my, rng):
    T, S, d, w = 5, 7, 3, 11
    Q, K, V = (rng.normal(size=shape) for shape in ((T, d), (S, d), (2, S, w)))
    allowed = local_mask(S, T, 1, BACKWARDS)
    allowed[2] = False  # a query without a key

    tensors = *map(mg.Tensor, (Q, K, V)), allowed
    found, want = my.local_attention(*tensors), local_attention(*tensors).numpy()
    is_tensor = isinstance(found, mg.Tensor)
    kind = type(found).__name__
    my.holds(is_tensor, "detached", "expected a Tensor", f"found {kind}")
    wrong = wrong_weights(Q @ K.T / d**0.5, allowed, wrong_scales(d, S, T, w))
    wrong = [(tag, f"attention with {what}", p @ V) for tag, what, p in wrong]
    my.equal(found.numpy(), want, "BTw", wrong)


@values("five training steps, against the engine's steps")
def five_steps(my, rng):
    seed, allowed = int(rng.integers(1000)), window(LENGTH - 1)
    found, _ = trained(my, my.training_step, allowed, seed, 5)
    call = my.last_call("training_step")[0]
    want, _ = trained(my, training_step, allowed, seed, 5)
    my.equal(found, want, ("step",), rtol=1e-6, call=call)


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
    wanted = np.array([int(my.center_for_reversal(t, S)) for t in range(S)])
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
        my.equal(my.local_mask(S, T, D, center), local_mask(S, T, D, center), "TS")


def window(start):
    return local_mask(LENGTH, LENGTH, 1, lambda t: start - t)


def trained(my, step, allowed, seed, steps):
    """Train the model of the stub with ``step``; return losses, and the right share."""
    rng = np.random.default_rng(seed)
    model = Reverser(LENGTH, SYMBOLS, WIDTH, rng)
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    draw = [rng.integers(0, SYMBOLS, (16, LENGTH)) for _ in range(steps + 1)]
    losses = [step(model, optimizer, strings, allowed) for strings in draw[:steps]]
    number = all(isinstance(v, (float, np.floating)) for v in losses)
    kind = type(losses[0]).__name__
    my.holds(number, "type", "expected the loss, a float", f"found {kind}")
    context = local_attention(model.Q, model.K, model.values(draw[-1]), allowed)
    said = model.logits(context).numpy().argmax(-1)
    return np.array(losses), (said == draw[-1][:, ::-1]).mean()


WINDOW, CENTER = "-D <= s - p <= D", "p = center(t)"
REVERSED, OF_LENGTH = "return length - 1 - t", "center_for_reversal(t, n)"
SEEN, TARGET = "window[t, s] and s < n", "strings[:, ::-1]\n"
QK, VALUES = "model.Q, model.K\n", "model.values(strings)"
STEP = "    optimizer.step()\n"
EDGE = "Count the keys of a window with D = 1. How many are right?"
AROUND = "A window has D keys on each side of its centre."
FRACTION = "A centre may be a fraction: is |1 - 1.5| <= 1? And |0 - 1.5|?"
OUTSIDE = "A centre may be outside the string. Which keys are near it?"
FIRST = "Query 0 writes the last symbol. Which position has it?"
SHORT = "The last symbol of a string of 3 is at position 2, also if it is padded."
PADDING = "A window near the end of a short string contains padding."
PADDED = "A padded query may attend: nothing reads what it writes."
AXIS = "Which axis of strings (B, S) is the one of the positions?"
AS_THEY_ARE = "The model reads the strings as they are. What does it write?"
TENSORS = "Do gradients reach Q and K? Stay with Tensors throughout."
CALLS = (
    "A step needs three calls: clear the gradients, compute them, move the parameters. "
    "Is one missing? Is one too early, or too late?"
)

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    *(
        ("off-by-one", text, EDGE, WINDOW, line)
        for text, line in (
            ("the window |s - center| < D", "-D < s - p < D"),
            ("the window |s - center| <= D + 1", "abs(s - p) <= D + 1"),
            ("the window without its last key", "-D <= s - p < D"),
            ("the ends |s - center| = D alone", "abs(s - p) == D"),
        )
    ),
    *(
        ("one-sided", text, AROUND, WINDOW, line)
        for text, line in (
            ("a window to the right only", "0 <= s - p <= D"),
            ("a window to the left only", "-D <= s - p <= 0"),
            ("a window to the right, (s - center) mod S <= D", "(s - p) % S <= D"),
        )
    ),
    ("outside", "|s - center| >= D", "Is the window near its centre, or far from it?",
     WINDOW, "abs(s - p) >= D"),
    ("half-width", "the window |s - center| <= D / 2",
     "A window with D = 3 has 7 keys: the centre and 3 on each side.", WINDOW,
     "abs(s - p) <= D / 2"),
    ("wrap-around", "a window that continues at the other end",
     "Is there a key to the left of position 0?", WINDOW,
     "min((s - p) % S, (p - s) % S) <= D"),
    ("ignores-center", "the window |s - t| <= D", "", CENTER, "p = t"),
    ("rounded", "windows around rounded centres", FRACTION, CENTER,
     "p = round(center(t))"),
    ("rounded", "windows around centres rounded down", FRACTION, CENTER,
     "p = center(t) // 1"),
    ("clipped", "windows moved until they are inside the string", OUTSIDE, CENTER,
     "p = min(max(center(t), D), S - 1 - D)"),
    ("next-query", "the window of query t + 1",
     "Which t does the first query have, and which the last?", CENTER,
     "p = center(t + 1)"),
    ("negative-slice",
     "a slice whose start, center - D, counts from the end if it is negative",
     "x[-1:2] begins at the last entry. Where should it begin?", WINDOW,
     "s in range(S)[int(p) - D : int(p) + D + 1]"),
    ("not-reversed", "length - t", FIRST, REVERSED, "return length - t"),
    ("not-reversed", "t", FIRST, REVERSED, "return t"),
    ("clipped", "windows around max(0, length - 1 - t)", OUTSIDE, REVERSED,
     "return max(0, length - 1 - t)"),
    ("padded-length", "windows for strings of length S", SHORT, OF_LENGTH,
     "center_for_reversal(t, S)"),
    ("padded-length", "windows for strings of length S, with padding", SHORT, SEEN,
     "abs(S - 1 - t - s) <= D"),
    ("padding-leak", "windows that contain padding", PADDING, SEEN, "window[t, s]"),
    ("padding-leak", "windows, or padding", PADDING, SEEN, "window[t, s] or s >= n"),
    ("masks-queries", "windows that are empty for queries t >= length", PADDED, SEEN,
     SEEN + " and t < n"),
    ("masks-queries",
     "windows that contain padding, and are empty for queries t >= length", PADDED,
     SEEN, "window[t, s] and t < n"),
    ("ignores-window", "windows, or every symbol",
     "A key has to be in the window, and in the string.", SEEN, "window[t, s] or s < n"),
    ("order", "the windows of the strings in reverse order",
     "Row b of the result belongs to lengths[b].", OF_LENGTH,
     "center_for_reversal(t, lengths[-1 - b])"),
    *(
        ("one-length", f"windows for strings of length {n}",
         "Each string of the batch has a length of its own.", OF_LENGTH,
         f"center_for_reversal(t, {n})")
        for n in (3, 6, 5)
    ),
    ("not-cleared", "steps whose gradients were not cleared",
     "backward adds to the gradients of the step before.",
     "    optimizer.zero_grad()\n", ""),
    ("does-not-move", "a model that does not move", CALLS, STEP, ""),
    ("step-twice", "two optimizer.step() in each step",
     "Count the calls of optimizer.step().", STEP, 2 * STEP),
    ("not-turned", "a loss against the strings themselves",
     "The model has to write the strings from the last symbol on.", TARGET,
     "strings\n"),
    ("reversed-batch", "a loss against the strings of the batch in reverse order", AXIS,
     TARGET, "strings[::-1]\n"),
    ("reversed-batch", "a loss against reversed strings of the batch in reverse order",
     AXIS, TARGET, "np.flip(strings)\n"),
    ("reversed-input", "a model that reads the strings from the last symbol on",
     AS_THEY_ARE, VALUES, "model.values(strings[:, ::-1])"),
    ("reversed-input", "a loss against the strings, of a model that reads them from the "
     "last symbol on", AS_THEY_ARE, f"{VALUES}, {TARGET}",
     "model.values(strings[:, ::-1]), strings\n"),
    ("after-step", "losses after their steps", "Return the loss before the step.",
     "return loss.item()", "return loss_before().item()"),
    ("full-window", "steps that see all keys",
     "The argument allowed decides which keys are seen.", "(Q, K, V, allowed)\n",
     "(Q, K, V, allowed | True)\n"),
    ("queries-as-keys", "steps with Q and K exchanged",
     "Q gives the rows of the scores, K the columns.", QK, "model.K, model.Q\n"),
    ("not-learned", "steps that do not move Q", TENSORS, QK,
     "model.Q.detach(), model.K\n"),
    ("not-learned", "steps that do not move K", TENSORS, QK,
     "model.Q, model.K.detach()\n"),
    ("not-learned", "steps that move neither Q nor K", TENSORS, QK,
     "model.Q.detach(), model.K.detach()\n"),
]  # fmt: skip

HINTS = {
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
    "": [
        "Write the positions of the keys as a row and the centres as a column. "
        "Broadcasting compares each with each.",
        "The row is np.arange(S)[None, :], the column has shape (T, 1). Compare the "
        "distance |s - p| of each pair with D.",
        "For the batch: build one window for each length, with the centre for this "
        "length; then exclude s >= length.",
    ],
    "transpose": ["Each query has a row and each key a column: (T, S), not (S, T)."],
    "unscaled": ["The scores are divided by the square root of the width."],
    "mask-leak": ["Which keys may a query attend to? Where does the mask enter?"],
}

"""38.5  Monotonic local attention  ●●○○  35 min  book §38.7

A query that attends to the 2 D + 1 keys around a centre has 2 D + 1 scores for any
length of the source. The result is good only if the centre is in the right place. Write
the window, choose the centre that reverses a string, compute attention through it, and
train a small model: does it learn with a window in the wrong place? Afterwards,
``python -m lessons experiment 38.5`` trains a larger one through your windows.

    allowed[t, s]  =  |s - center(t)| <= D
"""

import numpy as np

import minigrad as mg
from attention import masked_softmax


class Reverser:
    """A model that attends once: a query for each output, a key for each position.

    The values are the embeddings of the symbols; Q and K learn where to attend.
    """

    def __init__(self, length, symbols, width, rng):
        shapes = (length, width), (length, width), (symbols, width), (symbols, width)
        self.Q, self.K, self.E, self.W_o = (
            mg.nn.Parameter(rng.normal(size=shape) / 2) for shape in shapes
        )

    def parameters(self):
        return [self.Q, self.K, self.E, self.W_o]

    def values(self, strings):
        """Return the embeddings (B, S, width) of strings (B, S), which are ints."""
        return mg.embedding(strings, self.E)

    def logits(self, context):
        """Return the scores of all symbols: (B, T, width)  ->  (B, T, symbols)"""
        return context @ self.W_o.T


def local_mask(S, T, D, center):
    """Return which keys each query may attend to.

    S keys, T queries, ``center`` a function t -> position, which may be a fraction
    ->  allowed (T, S) bool, True where the key s is in the window of the query t
    """
    s = np.arange(S)[None, :]  # (1, S)
    p = np.array([center(t) for t in range(T)])[:, None]  # (T, 1)  #? Where is the centre of query t? It may be a fraction, or outside the string.
    #! p = np.round([center(t) for t in range(T)])[:, None]  | windows around rounded centres
    #! p = np.floor([center(t) for t in range(T)])[:, None]  | windows around centres rounded down
    #! p = np.clip([center(t) for t in range(T)], D, S - 1 - D)[:, None]  | windows moved until they are inside the string
    #! p = np.array([center(t + 1) for t in range(T)])[:, None]  | the window of query t + 1
    distance = np.abs(s - p)  # (T, S)  #? A window has D keys on each side of its centre, and none beyond position 0.
    #! distance = np.where(s >= p, s - p, np.inf)  | a window to the right only
    #! distance = np.where(s <= p, p - s, np.inf)  | a window to the left only
    #! distance = (s - p) % S  | a window to the right, (s - center) mod S <= D
    #! distance = np.minimum((s - p) % S, (p - s) % S)  | a window that continues at the other end
    return distance <= D  #? Count the keys of a window with D = 1, and with D = 3.
    #! return (-D <= s - p) & (s - p < D)  | the window without its last key
    #! return distance == D  | the ends |s - center| = D alone
    #! return distance <= D / 2  | the window |s - center| <= D / 2
    #! return distance <= 2 * D + 1  | the window |s - center| <= 2 D + 1
    #! return (distance <= D).T  | the windows, a column for each query
    #! return np.array([[k in range(S)[int(c) - D : int(c) + D + 1] for k in range(S)] for c in p[:, 0]])  | a slice whose start, center - D, counts from the end if it is negative
    #= return (s >= p - D) & (s <= p + D)


def center_for_reversal(t, length):
    """Return the centre of the window of query t, to reverse a string of ``length``.

    Query t writes the t-th symbol of the reversed string, t = 0, 1, …
    """
    return length - 1 - t  #? Query 0 writes the last symbol. Which position has it?
    #! return max(0, length - 1 - t)  | max(0, length - 1 - t)


def batch_masks(lengths, S, T, D):
    """Return the windows that reverse strings of several lengths, padded to S symbols.

    lengths (B,) ints  ->  allowed (B, T, S) bool, False for padding, s >= length
    Rows t >= length follow the same formula; their centre is negative.
    """
    real = np.arange(S) < np.asarray(lengths)[:, None]  # (B, S)  #? Which positions of a string of 3 are padding? Where does one of S end?
    windows = [
        local_mask(S, T, D, lambda t: center_for_reversal(t, n)) for n in lengths
    ]  #? The last symbol of a string of 3 is at position 2, also if it is padded.
    #! windows = [local_mask(S, T, D, lambda t: center_for_reversal(t, n)) for n in lengths[::-1]]  | the windows of the strings in reverse order
    #! windows = [local_mask(S, T, D, lambda t: center_for_reversal(t, lengths[0])) for n in lengths]  | windows for strings of the first length
    #! windows = [local_mask(S, T, D, lambda t: center_for_reversal(t, lengths[-1])) for n in lengths]  | windows for strings of the last length
    #! windows = [local_mask(S, T, D, lambda t: center_for_reversal(t, max(lengths))) for n in lengths]  | windows for strings of the largest length
    return np.stack(windows) & real[:, None, :]  #? A key is in the window and in the string. A padded query may attend: nothing reads what it writes.
    #! return np.stack(windows)  | windows that contain padding
    #! return np.stack(windows) | ~real[:, None, :]  | windows, or padding
    #! return np.stack(windows) | real[:, None, :]  | windows, or every symbol
    #! return np.stack([local_mask(S, T, D, lambda t: center_for_reversal(t, S))] * len(lengths))  | windows for strings of length S, with padding
    #! return np.stack(windows) & real[:, None, :] & real[:, :T, None]  | windows that are empty for queries t >= length
    #! return np.stack(windows) & real[:, :T, None]  | windows that contain padding, and are empty for queries t >= length


def local_attention(Q, K, V, allowed):
    """Return attention, with scores q . k / sqrt(d), through a window.

    Q (T, d), K (S, d), V (B, S, w), allowed (T, S)  ->  (B, T, w)
    Q, K, V and the result are Tensors; allowed is an array.
    ``masked_softmax(e, mask=…)`` gives the weight 0 where a mask is False; a query
    without an allowed key returns 0.
    """
    e = Q @ K.T / K.shape[-1] ** 0.5  # (T, S)  #? By which width are the scores divided? How many terms has q . k?
    #! e = Q @ K.T / Q.shape[0] ** 0.5  | attention with scores / sqrt(T), the number of queries
    a = masked_softmax(e, mask=allowed)  #? The softmax is over the keys that the window allows. Where does the mask enter?
    #! a = masked_softmax(e, mask=~allowed)  | attention to the keys outside of the window
    #! a = mg.softmax(e) * allowed  | the softmax of all scores, times the mask
    #! a = mg.softmax(e * allowed)  | the softmax of scores that are 0 where masked
    #! a = mg.softmax(e + np.where(allowed, 0.0, -1e9))  | the softmax of scores with -1e9 added where masked
    #! a = masked_softmax(e.T, mask=allowed.T).T  | attention with weights that sum to 1 over the queries
    return a @ V


def training_step(model, optimizer, strings, allowed):
    """Do one step on strings (B, S) of ints; return the loss before it, a float.

    The context is that of the model's Q, K and values, through the window; the loss is
    the mean cross-entropy (``mg.cross_entropy``) of its logits against the reversed
    strings. The gradients are those of this step alone.
    """
    context = local_attention(model.Q, model.K, model.values(strings), allowed)  #? The model reads the strings as they are, through the window, with Q for the rows of the scores. Do gradients reach Q and K?
    #! context = local_attention(model.K, model.Q, model.values(strings), allowed)  | steps with Q and K exchanged
    #! context = local_attention(model.Q, model.K, model.values(strings), allowed | True)  | steps that see all keys
    #! context = local_attention(model.Q, model.K, model.values(strings[:, ::-1]), allowed)  | a model that reads the strings from the last symbol on
    #! context = local_attention(model.Q.detach(), model.K, model.values(strings), allowed)  | steps that do not move Q
    #! context = local_attention(model.Q, model.K.detach(), model.values(strings), allowed)  | steps that do not move K
    #! context = local_attention(model.Q.detach(), model.K.detach(), model.values(strings), allowed)  | steps that move neither Q nor K
    loss = mg.cross_entropy(model.logits(context), strings[:, ::-1])  #? The model writes the strings from the last symbol on. Which axis of strings (B, S) is that of the positions?
    #! loss = mg.cross_entropy(model.logits(context), np.flip(strings))  | a loss against reversed strings of the batch in reverse order
    #! loss = mg.cross_entropy(model.logits(local_attention(model.Q, model.K, model.values(strings[:, ::-1]), allowed)), strings)  | a loss against the strings, of a model that reads them from the last symbol on
    optimizer.zero_grad()  #? backward adds to the gradients of the step before.
    loss.backward()  #? A step needs three calls: clear the gradients, compute them, move the parameters. In which order?
    optimizer.step()  #? A step needs three calls. Count those of optimizer.step().
    #! optimizer.step(); optimizer.step()  | two optimizer.step() in each step
    return loss.item()  #? Return the loss before the step.
    #! return mg.cross_entropy(model.logits(local_attention(model.Q, model.K, model.values(strings), allowed)), strings[:, ::-1]).item()  | losses after their steps


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.outcome import named
from lessons.course.training import experiment  # noqa: F401
from minigrad import optim

DIAGONAL = named("t", lambda t: t)
BACKWARDS = named("4 - t", lambda t: 4 - t)
HALVES = named("t / 2", lambda t: t / 2)
FAR = named("t + 100", lambda t: t + 100)
LENGTH, SYMBOLS, WIDTH = 7, 5, 16  # of the strings that are reversed


def every_window(my, rng):
    """every window, also of one key and beyond the end"""
    # the widest first: where D is small, many wrong windows are the same
    for S, T, D in ((11, 7, 3), (7, 5, 2), (5, 5, 1), (5, 7, 0), (11, 3, 1)):
        for center in (DIAGONAL, BACKWARDS, HALVES):
            my.local_mask(S, T, D, center)
    for S, T, D, center in ((1, 1, 0, DIAGONAL), (5, 3, 2, FAR), (3, 2, 50, FAR)):
        my.local_mask(S, T, D, center)


def where_reversal_looks(my, rng):
    """the centre for reversal, and a padded batch"""
    for length in (7, 5, 1, 0):
        for t in range(7):
            my.center_for_reversal(t, length)
    my.batch_masks(np.array([3, 6, 5]), 7, 5, 1)
    my.batch_masks(np.array([3, 6, 5]), 7, 7, 2)


def through_a_window(my, rng):
    """attention through a window, one query without a key"""
    T, S, d, w = 5, 7, 3, 11
    Q, K, V = (rng.normal(size=shape) for shape in ((T, d), (S, d), (2, S, w)))
    allowed = local_mask(S, T, 1, BACKWARDS)
    allowed[2] = False
    kind = type(my.local_attention(*map(mg.Tensor, (Q, K, V)), allowed)).__name__
    my.holds("local_attention", kind == "Tensor", "a Tensor", kind, "detached")


def three_steps(my, rng):
    """three training steps: the loss, and the parameters after each"""
    model = Reverser(LENGTH, SYMBOLS, WIDTH, rng)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    allowed = local_mask(LENGTH, LENGTH, 1, lambda t: LENGTH - 2 - t)
    for _ in range(3):
        strings = rng.integers(0, SYMBOLS, (3, LENGTH))
        loss = my.near(1e-9).training_step(model, optimizer, strings, allowed)
        kind = type(loss).__name__
        is_number = isinstance(loss, (float, np.floating))
        my.holds("training_step", is_number, "the loss, a float", kind, "type")


def it_learns(my, rng):
    """it learns to reverse through the right window, and not through the diagonal"""
    ends = []
    for centre in (lambda t: my.only.center_for_reversal(t, LENGTH), DIAGONAL):
        rng = np.random.default_rng(3)
        model = Reverser(LENGTH, SYMBOLS, WIDTH, rng)
        optimizer = optim.Adam(model.parameters(), lr=0.1)
        allowed = my.only.local_mask(LENGTH, LENGTH, 1, centre)
        batches = rng.integers(0, SYMBOLS, (60, 16, LENGTH))
        losses = [my.only.training_step(model, optimizer, x, allowed) for x in batches]
        ends.append(losses[-1])
    reversal, diagonal = ends
    print(f"loss {reversal:.3f} with the window for reversal, {diagonal:.3f} around t")
    text = "a loss below 0.1 with the window for reversal, above it with the diagonal"
    found = f"{reversal:.3f}, and {diagonal:.3f} with the diagonal"
    my.holds("training_step", reversal < 0.1 < diagonal, text, found, "not-learned")


HINTS = """
1  Write the positions of the keys as a row (1, S) and the centres as a column (T, 1).
   Broadcasting compares each with each.
2  For the batch: build one window for each length, with the centre for this length;
   then exclude s >= length.
"""
WHY = """To reverse a string, query t needs the symbol at length - 1 - t, where the
length is that of the string without padding, so even the narrowest window is enough if
its centre is there. A symbol outside the window receives no gradient, so no training
can make up for a wrong centre."""

"""Check an answer to E.22."""

import numpy as np

from lessons.checks.measure import calls_of, python_steps, without_loops, work
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, shape_all
from lessons.classroom.steps import edges, laws, shape, values

N, E, EV = 11, 3, 5
AXES = {"o": ("n", "Ev"), "state": ("E", "Ev")}

# THE EXERCISE IN LOOPS


def weights(a):
    M = np.zeros((len(a), len(a)))
    for i in range(len(a)):
        for j in range(i + 1):
            M[i, j] = np.prod(a[j + 1 : i + 1])
    return M


def chunk(q, k, v, a, S):
    M = weights(a)
    f = np.cumprod(a)
    pairs = M * (q @ k.T)
    o = f[:, None] * (q @ S) + pairs @ v
    left = M[-1]
    state = f[-1] * S + (left[:, None] * k).T @ v
    return o, state


def chunked(q, k, v, a, C, S):
    o = np.zeros(v.shape)
    for i in range(0, len(q), C):
        rows = slice(i, i + C)
        o[rows], S = chunk(q[rows], k[rows], v[rows], a[rows], S)
    return o, S


# THE CHECK


def draw(rng, n=N, E=E, Ev=EV):
    """Return q, k (n, E), v (n, Ev), a (n,) and a state S (E, Ev)."""
    q, k = rng.normal(size=(2, n, E))
    return q, k, rng.normal(size=(n, Ev)), rng.uniform(0.4, 0.95, n), rng.normal(
        size=(E, Ev))  # fmt: skip


def steps(q, k, v, a, S):
    """Return the outputs and the last state of the recurrence."""
    o = np.zeros(v.shape)
    for t in range(len(q)):
        S = a[t] * S + np.outer(k[t], v[t])
        o[t] = S.T @ q[t]
    return o, S


def named(results):
    return dict(zip(AXES, results))


@shape("weights of all pairs, outputs and a state")
def outputs_and_state(my, rng):
    q, k, v, a, S = draw(rng)
    my.shape(my.weights(a), (N, N), "ij")
    shapes = {"o": v.shape, "state": S.shape}
    shape_all(my, my.chunk(q, k, v, a, S), shapes, AXES)
    shape_all(my, my.chunked(q, k, v, a, 4, S), shapes, AXES)


@values("weights, against loops")
def all_pairs(my, rng):
    a = rng.uniform(0.4, 0.95, 7)
    my.equal(my.weights(a), weights(a), "ij")


@values("one chunk, against the steps")
def one_chunk(my, rng):
    inputs = draw(rng, 7)
    equal_all(my, my.chunk(*inputs), named(steps(*inputs)), AXES)


@values("several chunks, the last one shorter")
def several(my, rng):
    q, k, v, a, S = draw(rng)
    want = named(steps(q, k, v, a, S))
    equal_all(my, my.chunked(q, k, v, a, 4, S), want, AXES)


@laws("a = 0.5 at three tokens")
def halves(my, rng):
    M = [[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.25, 0.5, 1.0]]
    with without_loops():
        my.equal(my.weights(np.full(3, 0.5)), M, "ij")


@laws("any length of the chunks")
def any_length(my, rng):
    q, k, v, a, S = draw(rng)
    want = named(steps(q, k, v, a, S))
    for C in (1, 2, 5, N - 1, N, N + 3):
        equal_all(my, my.chunked(q, k, v, a, C, S), want, AXES)


@laws("two calls, with the state of the first")
def in_two_calls(my, rng):
    q, k, v, a, S = draw(rng)
    o, last = steps(q, k, v, a, S)
    _, S = my.chunked(q[:6], k[:6], v[:6], a[:6], 4, S)
    second = my.chunked(q[6:], k[6:], v[6:], a[6:], 4, S)
    equal_all(my, second, named((o[6:], last)), AXES)


@edges("tokens with a = 0, which forget all before them")
def zeros(my, rng):
    q, k, v, a, S = draw(rng)
    a[[3, 4, 8]] = 0.0
    my.equal(my.weights(a), weights(a), "ij")
    equal_all(my, my.chunked(q, k, v, a, 5, S), named(steps(q, k, v, a, S)), AXES)


@edges("products that are too small for a float64")
def tiny(my, rng):
    q, k, v, _, S = draw(rng, 300)
    a = rng.uniform(0.001, 0.1, 300)
    equal_all(my, my.chunked(q, k, v, a, 300, S), named(steps(q, k, v, a, S)), AXES)


@edges("one call of chunk for each chunk, without a loop over its tokens")
def few_steps(my, rng):
    q, k, v, a, S = draw(rng)
    with calls_of(my, "chunk") as calls:
        my.chunked(q, k, v, a, 4, S)
    sizes = [len(arguments[0]) for _, arguments in calls]
    counts = []
    for inputs in (draw(rng, 8), draw(rng, 64)):
        of_weights = python_steps(my.weights, inputs[3])
        counts.append(python_steps(my.chunk, *inputs) - of_weights)
    with without_loops():
        my.holds(len(sizes) == 3 and max(sizes) == 4, "other-chunks",
                 "expected 3 calls of chunk for 11 tokens, with 4 tokens or fewer",
                 f"found calls with {sizes} tokens")  # fmt: skip
        my.holds(counts[1] < counts[0] + 56, "python-loop",
                 "expected as many Python steps of chunk for 8 and for 64 tokens, "
                 "beside those of weights",
                 f"found {counts[0]} and {counts[1]}")  # fmt: skip


@edges("twice the tokens, twice the work")
def linear_work(my, rng):
    def all_tokens(*inputs):
        my.chunked(*inputs[:4], 4, inputs[4])

    short, long = (work(all_tokens, *draw(rng, n, 1, 1)) for n in (64, 128))
    for what, a, b in zip(("numbers", "Python steps"), short, long):
        with without_loops():
            my.holds(b < 3 * a, "n-squared",
                     "expected twice the work for twice as many tokens",
                     f"found {a} {what} for 64 tokens, {b} for 128")  # fmt: skip


M_IJ, LOOP_J = "M[i, j] = np.prod(a[j + 1 : i + 1])", "for j in range(i + 1):"
PAIRS, LEFT = "pairs = M * (q @ k.T)", "left = M[-1]"
O = "o = f[:, None] * (q @ S) + pairs @ v"
STATE = "state = f[-1] * S + (left[:, None] * k).T @ v"
STARTS = "for i in range(0, len(q), C):"
CALL = "o[rows], S = chunk(q[rows], k[rows], v[rows], a[rows], S)"
RETURN = "return o, S\n"
BETWEEN = "Token j is added after the factor a_j. Which factors follow until token i?"
NO_QUOTIENT = (
    "0 / 0 is NaN. Compute each M_ij as a product: row i is a_i times row i - 1, and 1 "
    "on the diagonal."
)
ITSELF = "o_i = S_i^T q_i, and S_i contains k_i v_i^T."
UNROLLED = "Write S_1, S_2 and S_3 with the state before the chunk. What multiplies S?"
AT_END = "Which a multiply k_j v_j^T between token j and the end of the chunk?"
CAUSAL = "Token i uses only the tokens j <= i."
HANDED_ON = "Each chunk begins with the state after the chunk before it."
SHORT = "The last chunk has n % C tokens. Are they computed, without more tokens?"

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("one-too-many", "a_j … a_i, with the a of the key's own token", BETWEEN, M_IJ,
     "M[i, j] = np.prod(a[j : i + 1])"),
    ("shifted", "a_j … a_(i-1), without the a of the query's token", BETWEEN, M_IJ,
     "M[i, j] = np.prod(a[j:i])"),
    ("one-too-few", "a_(j+1) … a_(i-1)", BETWEEN, M_IJ,
     "M[i, j] = np.prod(a[j + 1 : i])"),
    ("from-the-start", "a_1 … a_i, from the first token", BETWEEN, M_IJ,
     "M[i, j] = np.prod(a[: i + 1])"),
    ("power", "a_i^(i - j), as if all a were equal", BETWEEN, M_IJ,
     "M[i, j] = a[i] ** (i - j)"),
    ("power", "a_j^(i - j), as if all a were equal", BETWEEN, M_IJ,
     "M[i, j] = a[j] ** (i - j)"),
    ("last-a", "a_i alone, for all j < i", BETWEEN, M_IJ,
     "M[i, j] = a[i] if j < i else 1.0"),
    ("quotient", "a_1 … a_i / (a_1 … a_j), a quotient of products", NO_QUOTIENT, M_IJ,
     "M[i, j] = np.prod(a[: i + 1]) / np.prod(a[: j + 1])"),
    ("exclusive", "weights with zeros on the diagonal", ITSELF, LOOP_J,
     "for j in range(i):"),
    ("not-masked", "weights with ones above the diagonal", CAUSAL, LOOP_J,
     "for j in range(len(a)):"),
    ("transpose", "weights with i and j exchanged",
     "A row of M belongs to a query i, a column to a key j.", M_IJ,
     M_IJ.replace("[i, j]", "[j, i]")),
    ("no-decay", "outputs with q_i^T S, without decay", UNROLLED, O,
     "o = q @ S + pairs @ v"),
    ("one-too-few", "outputs with a_1 … a_(i-1) q_i^T S", UNROLLED, O,
     "o = (f / a)[:, None] * (q @ S) + pairs @ v"),
    ("last-a", "outputs with a_i q_i^T S", UNROLLED, O,
     "o = a[:, None] * (q @ S) + pairs @ v"),
    ("all-a", "outputs with a_1 … a_C q_i^T S for every i", UNROLLED, O,
     "o = f[-1] * (q @ S) + pairs @ v"),
    ("no-state", "outputs of the chunk's own tokens, without S", HANDED_ON, O,
     "o = pairs @ v"),
    ("state-alone", "outputs of S alone, without the chunk's own tokens", CAUSAL, O,
     "o = f[:, None] * (q @ S)"),
    ("no-decay", "outputs without decay inside of the chunk",
     "Which of M and q k^T contains the decay?", PAIRS, "pairs = np.tril(q @ k.T)"),
    ("no-scores", "outputs with the weights M alone, without q_i . k_j",
     "M_ij multiplies a product of a query and a key.", PAIRS, "pairs = M"),
    ("exchanged", "outputs with k_i . q_j for q_i . k_j",
     "A row i belongs to a query, a column j to a key.", PAIRS,
     "pairs = M * (k @ q.T)"),
    ("not-causal", "outputs with all pairs of the chunk", CAUSAL, PAIRS,
     "pairs = np.where(M > 0, M, 1.0) * (q @ k.T)"),
    ("softmax", "outputs with weights that sum to 1",
     "Linear attention with decay divides by nothing.", PAIRS,
     "pairs = M * (q @ k.T)\n    pairs = pairs / pairs.sum(1, keepdims=True)"),
    ("no-decay", "S + …, the new state without the decay of the old one", AT_END,
     STATE, "state = S + (left[:, None] * k).T @ v"),
    ("last-a", "a_C S + …, with the last a alone", AT_END, STATE,
     "state = a[-1] * S + (left[:, None] * k).T @ v"),
    ("no-decay", "a_1 … a_C S + k^T v, with keys that do not decay", AT_END, LEFT,
     "left = np.ones(len(a))"),
    ("from-the-start", "a new state with a_1 … a_j for a_(j+1) … a_C", AT_END, LEFT,
     "left = f"),
    ("one-too-many", "a new state with a_j … a_C for a_(j+1) … a_C", AT_END, LEFT,
     "left = M[-1] * a"),
    ("all-a", "a_1 … a_C (S + k^T v), with all a for every key", AT_END, LEFT,
     "left = np.full(len(a), f[-1])"),
    ("no-state", "a new state without the old one", HANDED_ON, STATE,
     "state = (left[:, None] * k).T @ v"),
    ("last-key", "a_1 … a_C S + k_C v_C^T, with the last key alone", AT_END, STATE,
     "state = f[-1] * S + np.outer(k[-1], v[-1])"),
    ("old-state", "S, the state before the chunk", HANDED_ON, STATE, "state = S"),
    ("not-handed-on", "chunks that each begin with the first state", HANDED_ON, CALL,
     CALL.replace("], S =", "], last =") + "\n    S = last"),
    ("zero-state", "chunks that each begin with a state of zeros", HANDED_ON, CALL,
     CALL.replace(", S)", ", 0 * S)")),
    ("zero-state", "a first chunk that begins with a state of zeros", HANDED_ON, CALL,
     CALL.replace(", S)", ", (i > 0) * S)")),
    ("last-chunk", "the whole chunks alone, and zeros for the rest", SHORT, STARTS,
     "for i in range(0, len(q) // C * C, C):"),
    ("padded", "the state after a last chunk that is filled up with a = 0", SHORT, RETURN,
     "return o, S * (len(q) % C == 0)\n"),
]  # fmt: skip

HINTS = {
    "weights": [
        "Row i is a_i times row i - 1, and 1 on the diagonal. Or take the products of "
        "a (C, C) array downwards, whose entries are a_i below the diagonal and else 1.",
    ],
    "chunk": ["Write S_2 of a chunk: a_2 a_1 S + a_2 k_1 v_1^T + k_2 v_2^T."],
    "chunked": ["One loop over the first tokens 0, C, 2 C, …, with one state."],
    "": [
        "For the tokens of a chunk, S_i is a_1 … a_i S plus the sum over the chunk's own "
        "j <= i. So o_i has two terms.",
        "o_i = a_1 … a_i S^T q_i + sum_j M_ij (q_i . k_j) v_j. The state after the chunk "
        "is S_i for the last i, and the last row of M has the products that it needs.",
        "o = f (q S) + (M * q k^T) v with f_i = a_1 … a_i, for each row. State: f_C S + "
        "(l k)^T v with l = the last row of M. A slice that ends beyond n is shorter.",
    ],
    "other-chunks": ["Chunks begin at 0, C, 2 C, …; the last may be shorter."],
    "python-loop": [
        "Multiply rows by a column: f[:, None] * x. A sum over the tokens of a chunk is "
        "a product of matrices.",
    ],
    "n-squared": [
        "Only the C tokens of a chunk are compared with one another; all others are in "
        "the state.",
    ],
}

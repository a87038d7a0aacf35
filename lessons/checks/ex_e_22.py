"""Check an answer to E.22."""

import numpy as np

from lessons.checks.measure import calls_of, python_steps, without_loops, work
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, shape_all
from lessons.classroom.steps import edges, laws, shape, values

N, E, EV = 11, 3, 5
AXES = {"o": ("n", "Ev"), "state": ("E", "Ev")}

# THE EXERCISE IN LOOPS


def errors(k, v, b, S):
    read = k @ S
    r = v - read
    for i in range(len(k)):
        for j in range(i):
            r[i] -= (k[i] @ k[j]) * b[j] * r[j]
    return r


def chunk(q, k, v, b, S):
    r = errors(k, v, b, S)
    u = b[:, None] * r
    pairs = np.tril(q @ k.T)
    o = q @ S + pairs @ u
    state = S + k.T @ u
    return o, state


def chunked(q, k, v, b, C, S):
    o = np.zeros(v.shape)
    for i in range(0, len(q), C):
        rows = slice(i, i + C)
        o[rows], S = chunk(q[rows], k[rows], v[rows], b[rows], S)
    return o, S


# THE CHECK


def draw(rng, n=N, E=E, Ev=EV):
    """Return q, k (n, E), v (n, Ev), b (n,) and a state S (E, Ev).

    As b |k|^2 is below 2, the states of many tokens do not grow.
    """
    q, k = rng.normal(size=(2, n, E))
    k *= rng.uniform(0.7, 1.2, (n, 1)) / np.sqrt((k * k).sum(1, keepdims=True))
    return q, k, rng.normal(size=(n, Ev)), rng.uniform(0.3, 0.9, n), rng.normal(
        size=(E, Ev))  # fmt: skip


def steps(q, k, v, b, S):
    """Return the outputs and the last state, and the errors, step by step."""
    o, r = np.zeros(v.shape), np.zeros(v.shape)
    for t in range(len(q)):
        r[t] = v[t] - S.T @ k[t]
        S = S + b[t] * np.outer(k[t], r[t])
        o[t] = S.T @ q[t]
    return {"o": o, "state": S}, r


@shape("an error and an output for each token, and a state")
def for_each(my, rng):
    q, k, v, b, S = draw(rng)
    my.shape(my.errors(k, v, b, S), v.shape, ("C", "Ev"))
    shapes = {"o": v.shape, "state": S.shape}
    shape_all(my, my.chunk(q, k, v, b, S), shapes, AXES)
    shape_all(my, my.chunked(q, k, v, b, 4, S), shapes, AXES)


@values("errors, against the steps")
def all_errors(my, rng):
    inputs = draw(rng, 7)
    my.equal(my.errors(*inputs[1:]), steps(*inputs)[1], ("C", "Ev"))


@values("one chunk, against the steps")
def one_chunk(my, rng):
    inputs = draw(rng, 7)
    equal_all(my, my.chunk(*inputs), steps(*inputs)[0], AXES)


@values("several chunks, the last one shorter")
def several(my, rng):
    q, k, v, b, S = draw(rng)
    want, _ = steps(q, k, v, b, S)
    equal_all(my, my.chunked(q, k, v, b, 4, S), want, AXES)


@laws("one key for all tokens, b = 1: each error is a difference of values")
def differences(my, rng):
    v = np.array([[2.0], [5.0], [1.0], [1.0]])
    with without_loops():
        r = my.errors(np.ones((4, 1)), v, np.ones(4), np.zeros((1, 1)))
        my.equal(r, [[2.0], [3.0], [-4.0], [0.0]], ("C", "Ev"))


@laws("any length of the chunks")
def any_length(my, rng):
    q, k, v, b, S = draw(rng)
    want, _ = steps(q, k, v, b, S)
    for C in (1, 2, 5, N - 1, N, N + 3):
        equal_all(my, my.chunked(q, k, v, b, C, S), want, AXES)


@laws("two calls, with the state of the first")
def in_two_calls(my, rng):
    *inputs, S = draw(rng)
    want, _ = steps(*inputs, S)
    _, S = my.chunked(*(x[:6] for x in inputs), 4, S)
    second = my.chunked(*(x[6:] for x in inputs), 4, S)
    equal_all(my, second, want | {"o": want["o"][6:]}, AXES)


@edges("b = 0, b = 1, and equal keys")
def replaced(my, rng):
    q, k, v, b, S = draw(rng)
    k /= np.sqrt((k * k).sum(1, keepdims=True))
    k[[2, 5, 6]] = k[2]
    b[[1, 4]], b[[2, 5, 6]] = 0.0, 1.0
    want, r = steps(q, k, v, b, S)
    my.equal(my.errors(k, v, b, S), r, ("C", "Ev"))
    equal_all(my, my.chunked(q, k, v, b, 4, S), want, AXES)


@edges("a chunk of 200 tokens")
def long(my, rng):
    inputs = draw(rng, 200)
    equal_all(my, my.chunk(*inputs), steps(*inputs)[0], AXES)


@edges("one call of chunk for each chunk, without a loop over its tokens")
def few_steps(my, rng):
    q, k, v, b, S = draw(rng)
    with calls_of(my, "chunk") as calls:
        my.chunked(q, k, v, b, 4, S)
    sizes = [len(arguments[0]) for _, arguments in calls]
    counts = []
    for inputs in (draw(rng, 8), draw(rng, 64)):
        of_errors = python_steps(my.errors, *inputs[1:])
        counts.append(python_steps(my.chunk, *inputs) - of_errors)
    with without_loops():
        my.holds(len(sizes) == 3 and max(sizes) == 4, "other-chunks",
                 "expected 3 calls of chunk for 11 tokens, with 4 tokens or fewer",
                 f"found calls with {sizes} tokens")  # fmt: skip
        my.holds(counts[1] < counts[0] + 56, "python-loop",
                 "expected as many Python steps of chunk for 8 and for 64 tokens, "
                 "beside those of errors",
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


READ, R, LOOP_J = "read = k @ S", "r = v - read", "for j in range(i):"
MINUS = "r[i] -= (k[i] @ k[j]) * b[j] * r[j]"
U, PAIRS = "u = b[:, None] * r", "pairs = np.tril(q @ k.T)"
O, STATE = "o = q @ S + pairs @ u", "state = S + k.T @ u"
STARTS = "for i in range(0, len(q), C):"
CALL = "o[rows], S = chunk(q[rows], k[rows], v[rows], b[rows], S)"
FROM_S = "r_i = v_i - S_(i-1)^T k_i. Which two parts has S_(i-1), in a chunk?"
WROTE = "S_(i-1) is S plus k_j b_j r_j^T of the tokens j < i of the chunk."
FACTOR = "Token j writes b_j r_j: is b_j the factor of a row or of a column?"
SOLVE = "r_j is unknown, too: it is not v_j, and not the error at the chunk's start."
RESULT = "errors returns r. What a token writes is b r."
ITSELF = "o_i = S_i^T q_i, and S_i contains what token i wrote."
CAUSAL = "Token i reads what the tokens j <= i wrote."
VALUES = "This is linear attention, but with other values than v: what is written?"
HANDED_ON = "Each chunk begins with the state after the chunk before it."
SHORT = "The last chunk has n % C tokens, if n is no multiple of C."

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("start-errors", "v - K S, the errors if the chunk itself wrote nothing", WROTE,
     LOOP_J, "for j in range(0):"),
    ("no-state", "the errors of a chunk that begins with S = 0", FROM_S, READ,
     "read = 0.0"),
    ("values", "v, the values", FROM_S, MINUS, "r[i] = v[i]"),
    ("values", "v_i - S^T k_i - sum_j (k_i . k_j) b_j v_j, with v_j for r_j", SOLVE,
     MINUS, "r[i] -= (k[i] @ k[j]) * b[j] * v[j]"),
    ("first-order", "errors in which r_j is v_j - S^T k_j, without the tokens before j",
     SOLVE, MINUS, "r[i] -= (k[i] @ k[j]) * b[j] * (v[j] - read[j])"),
    ("other-b", "the equations with b_i for b_j: row i times b_i", FACTOR, MINUS,
     "r[i] -= (k[i] @ k[j]) * b[i] * r[j]"),
    ("no-b", "the equations without b", FACTOR, MINUS, "r[i] -= (k[i] @ k[j]) * r[j]"),
    ("sign", "the errors with + sum_j (k_i . k_j) b_j r_j", WROTE, MINUS,
     "r[i] += (k[i] @ k[j]) * b[j] * r[j]"),
    ("sign", "the errors with v + S^T k", FROM_S, R, "r = v + read"),
    ("inclusive", "the equations for j <= i, with k_i . k_i on the diagonal",
     "Token i reads before it writes.", MINUS,
     "r[i] -= (k[i] @ k[j]) * b[j] * r[j]\n"
     "        r[i] /= 1 + (k[i] @ k[i]) * b[i]"),
    ("not-causal", "the equations for all pairs, also for j > i",
     "Token i reads what the tokens j < i wrote.", R,
     "return np.linalg.solve(np.eye(len(k)) + k @ k.T * b, v - read)"),
    ("not-causal", "the equations for all pairs of two tokens", CAUSAL, R,
     "B = k @ k.T\n    np.fill_diagonal(B, 0)\n"
     "    return np.linalg.solve(np.eye(len(k)) + B * b, v - read)"),
    ("transpose", "the equations with the transposed matrix, for j > i",
     "A row of the matrix belongs to a token i, and its columns to the j before it.", R,
     "return np.linalg.solve((np.eye(len(k)) + np.tril(k @ k.T, -1) * b).T, v - read)"),
    ("not-solved", "(I + B b) (V - K S), a product for a solution",
     "(I + B b) R = V - K S: is R a product with I + B b, or with its inverse?", R,
     "return (v - read) + np.tril(k @ k.T, -1) * b @ (v - read)"),
    ("written", "b r, what the tokens write", RESULT, "return r\n",
     "return b[:, None] * r\n"),
    ("no-b", "a chunk that writes r for b r", RESULT, U, "u = r"),
    ("values", "a chunk that writes b v for b r, as if it read nothing", VALUES, U,
     "u = b[:, None] * v"),
    ("values", "a chunk that writes v for b r", VALUES, U, "u = v"),
    ("b-twice", "a chunk that writes b^2 r for b r", RESULT, U,
     "u = b[:, None] ** 2 * r"),
    ("start-errors", "a chunk with the errors v - K S", WROTE, U,
     "u = b[:, None] * (v - k @ S)"),
    ("exclusive", "outputs before each token's own write", ITSELF, PAIRS,
     "pairs = np.tril(q @ k.T, -1)"),
    ("not-causal", "outputs with all pairs: all read the state after the chunk", CAUSAL, PAIRS,
     "pairs = q @ k.T"),
    ("exchanged", "outputs with k_i . q_j for q_i . k_j",
     "A row i belongs to a query, a column j to a key.", PAIRS,
     "pairs = np.tril(k @ q.T)"),
    ("keys-alone", "outputs with k_i . k_j for q_i . k_j",
     "The queries read what the keys have written.", PAIRS,
     "pairs = np.tril(k @ k.T)"),
    ("b-twice", "outputs with the weights b_j (q_i . k_j) of the values b_j r_j", RESULT,
     PAIRS, "pairs = np.tril(q @ k.T) * b"),
    ("no-state", "outputs without S^T q", CAUSAL, O, "o = pairs @ u"),
    ("state-alone", "S^T q, without what the chunk wrote", CAUSAL, O, "o = q @ S"),
    ("no-state", "a new state without the old one", HANDED_ON, STATE,
     "state = k.T @ u"),
    ("old-state", "S, the state before the chunk", HANDED_ON, STATE, "state = S"),
    ("last-key", "a new state with the write of the last token alone", HANDED_ON, STATE,
     "state = S + np.outer(k[-1], u[-1])"),
    ("not-handed-on", "chunks that each begin with the first state", HANDED_ON, CALL,
     CALL.replace("], S =", "], last =") + "\n    S = last"),
    ("zero-state", "chunks that each begin with a state of zeros", HANDED_ON, CALL,
     CALL.replace(", S)", ", 0 * S)")),
    ("zero-state", "a first chunk that begins with a state of zeros", HANDED_ON, CALL,
     CALL.replace(", S)", ", (i > 0) * S)")),
    ("last-chunk", "the whole chunks alone, and zeros for the rest", SHORT, STARTS,
     "for i in range(0, len(q) // C * C, C):"),
]  # fmt: skip

HINTS = {
    "errors": [
        "Write r_1, r_2 and r_3 with S alone, and then bring all r to the left."
    ],
    "chunk": ["With u = b r, each state is S plus the sum of k_j u_j^T, j <= i."],
    "chunked": ["One loop over the first tokens 0, C, 2 C, …, with one state."],
    "": [
        "S_(i-1) = S + sum_{j < i} k_j (b_j r_j)^T. Multiply it by k_i, and you have the "
        "equation of r_i.",
        "r_i + sum_{j < i} (k_i . k_j) b_j r_j = v_i - S^T k_i. The matrix has the entries "
        "(k_i . k_j) b_j below the diagonal. The right side has one row for each token.",
        "B = np.tril(K K^T, -1), (I + B * b) R = V - K S, U = b R for each row. Then O = "
        "Q S + np.tril(Q K^T) U, and the new state is S + K^T U.",
    ],
    "other-chunks": ["Chunks begin at 0, C, 2 C, …; the last may be shorter."],
    "python-loop": [
        "A sum over the tokens of a chunk is a product of matrices, and np.tril keeps "
        "the pairs j <= i.",
    ],
    "n-squared": [
        "Only the C tokens of a chunk are compared with one another. All others are in "
        "the state.",
    ],
}

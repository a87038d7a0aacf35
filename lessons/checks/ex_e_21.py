"""Check an answer to E.21."""

import numpy as np

from lessons.checks.measure import exact_gradients, peak_numbers, without_loops
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, shape_all
from lessons.classroom.steps import edges, gradients, laws, shape, values

OF_WRITE = {"dS": ("E", "Ev"), "dk": "E", "dv": ("Ev",), "db": ""}
OF_ALL = {"dq": ("n", "E"), "dk": ("n", "E"), "dv": ("n", "Ev"), "db": "n"}

# THE EXERCISE IN LOOPS


def write(S, k, v, b):
    new = np.array(S)
    for j in range(len(v)):
        returned = sum(k[i] * S[i, j] for i in range(len(k)))
        error = v[j] - returned
        for i in range(len(k)):
            new[i, j] = S[i, j] + b * k[i] * error
    return new


def write_backward(S, k, v, b, D):
    r, e = v - k @ S, k @ D
    dv = b * e
    db = r @ e
    written = b * (D @ r)
    read = -b * (S @ e)
    dk = written + read
    dS = D - b * np.outer(k, e)
    return dS, dk, dv, db


def delta_rule(q, k, v, b):
    o, u = np.zeros(v.shape), np.zeros(v.shape)
    last = np.zeros((k.shape[1], v.shape[1]))
    for t in range(len(q)):
        error = v[t] - k[t] @ last
        u[t] = b[t] * error
        last = last + np.outer(k[t], u[t])
        o[t] = q[t] @ last

    def backward(g):
        dq, dk, dv, db = (np.zeros(x.shape) for x in (q, k, v, b))
        S, D = last, np.zeros(last.shape)
        for t in reversed(range(len(q))):
            dq[t] = S @ g[t]
            D = D + np.outer(q[t], g[t])
            S = S - np.outer(k[t], u[t])
            D, dk[t], dv[t], db[t] = write_backward(S, k[t], v[t], b[t], D)
        return dq, dk, dv, db

    return o, backward


# THE CHECK


def draw(rng, n=5, E=3, Ev=7):
    """Return q, k (n, E), v (n, Ev) and b (n,); the keys have other lengths than 1."""
    q, k = rng.normal(size=(2, n, E)) / E**0.5
    return q, k, rng.normal(size=(n, Ev)), rng.uniform(0.3, 0.9, n)


def one_token(rng, E=3, Ev=7):
    """Return S (E, Ev), k (E,), v (Ev,) and b."""
    return rng.normal(size=(E, Ev)), *(x[0] for x in draw(rng, 1, E, Ev)[1:])


def orthonormal(rng, E):
    return np.linalg.qr(rng.normal(size=(E, E)))[0]


@shape("a state, an output for each token, a gradient for each input")
def for_each(my, rng):
    S, k, v, b = one_token(rng)
    my.shape(my.write(S, k, v, b), (3, 7), ("E", "Ev"))
    shapes = {"dS": (3, 7), "dk": (3,), "dv": (7,), "db": ()}
    shape_all(my, my.write_backward(S, k, v, b, rng.normal(size=S.shape)), shapes,
              OF_WRITE)  # fmt: skip
    inputs = draw(rng)
    o, backward = my.delta_rule(*inputs)
    my.shape(o, (5, 7), ("n", "Ev"))
    shapes = {name: x.shape for name, x in zip(OF_ALL, inputs)}
    shape_all(my, backward(rng.normal(size=(5, 7))), shapes, OF_ALL)


@values("one write, against a loop")
def one_write(my, rng):
    token = one_token(rng)
    my.equal(my.write(*token), write(*token), ("E", "Ev"))


@values("all outputs, against a loop")
def all_outputs(my, rng):
    inputs = draw(rng)
    my.equal(my.delta_rule(*inputs)[0], delta_rule(*inputs)[0], ("n", "Ev"))


@laws("orthonormal keys return each value")
def each_value(my, rng):
    """Two values are written for each key. Then all keys are read, with b = 0."""
    E = 5
    keys, v = np.tile(orthonormal(rng, E), (3, 1)), rng.normal(size=(3 * E, 3))
    b = np.repeat([1.0, 1.0, 0.0], E)
    with without_loops():
        o, _ = my.delta_rule(keys, keys, v, b)
        my.equal(o, np.concatenate([v[: 2 * E], v[E : 2 * E]]), ("n", "Ev"))


@laws("a key that is written again has the new value alone")
def the_new_value(my, rng):
    """What an orthogonal key returns stays as it is."""
    (k, other), (first, v) = orthonormal(rng, 5)[:2], rng.normal(size=(2, 3))
    S = rng.normal(size=(5, 3))
    new = np.asarray(my.write(my.write(S, k, first, 1.0), k, v, 1.0))
    with without_loops():
        my.equal(k @ new, v, ("Ev",), call="k @ write(S, k, v, 1)")
        my.equal(other @ new, other @ S, ("Ev",), call="other @ write(S, k, v, 1)")


@laws("b = 0 leaves the state")
def nothing_written(my, rng):
    S, k, v, _ = one_token(rng)
    my.equal(my.write(S, k, v, 0.0), S, ("E", "Ev"))


@gradients("of one write")
def of_one_write(my, rng):
    def op(S, k, v, b):
        new = my.write(S, k, v, b)
        return new, lambda D: tuple(my.write_backward(S, k, v, b, D))

    token, D = one_token(rng), rng.normal(size=(3, 7))
    want = dict(zip(OF_WRITE, write_backward(*token, D)))
    equal_all(my, my.write_backward(*token, D), want, OF_WRITE)
    my.gradients(op, list(map(np.asarray, token)))


@gradients("of all tokens")
def of_all_tokens(my, rng):
    exact_gradients(my, lambda q, k, v, b: my.delta_rule(q, k, v, b), delta_rule,
                    draw(rng, 5, 3, 2), rng)  # fmt: skip


@edges("a single token, and many with one key")
def one_key(my, rng):
    q, k, v, b = draw(rng, 7)
    for n in (1, 7):
        inputs = q[:n], np.tile(k[:1], (n, 1)), v[:n], b[:n]
        (o, backward), (want, right) = my.delta_rule(*inputs), delta_rule(*inputs)
        my.equal(o, want, ("n", "Ev"))
        g = rng.normal(size=want.shape)
        equal_all(my, backward(g), dict(zip(OF_ALL, right(g))), OF_ALL)


@edges("memory, for 1500 tokens")
def memory(my, rng):
    n, E, Ev = 1500, 16, 16
    inputs = draw(rng, n, E, Ev)
    peak = peak_numbers(lambda: my.delta_rule(*inputs)[1](inputs[2]))
    with without_loops():
        for limit, tag, text in (
            (n * n, "all-pairs", f"fewer than n^2 = {n * n} numbers in memory"),
            (n * E * Ev, "states-kept",
             f"about {10 * n * E} numbers, and fewer than n E Ev = {n * E * Ev}"),
        ):  # fmt: skip
            my.holds(peak < limit, tag, f"expected {text}", f"found {peak:.0f}")


ERROR, NEW = "error = v[j] - returned", "new[i, j] = S[i, j] + b * k[i] * error"
DV, DB, DK = "dv = b * e", "db = r @ e", "dk = written + read"
DS = "dS = D - b * np.outer(k, e)"
WRITTEN, READ = "written = b * (D @ r)", "read = -b * (S @ e)"
R_E = "r, e = v - k @ S, k @ D"
ERROR_T, U = "error = v[t] - k[t] @ last", "u[t] = b[t] * error"
LAST, O = "last = last + np.outer(k[t], u[t])", "o[t] = q[t] @ last"
DQ, D_ADDED = "dq[t] = S @ g[t]", "D = D + np.outer(q[t], g[t])"
BACK = "S = S - np.outer(k[t], u[t])"
STEP = "D, dk[t], dv[t], db[t] = write_backward(S, k[t], v[t], b[t], D)"
DIFFERENCE = "What does k return before the write, and what should it return after it?"
PART = "With b = 0 the state stays as it is: so what has the factor b?"
DIRECTION = "What an orthogonal key returns must not change."
READ_TOO = "S_t contains S_(t-1) in two places: as a term, and inside of the error."
KEY_TWICE = "k_t is used twice: to read the state, and to write the error."
PRODUCT = "S_t = S + b k r^T: what does D multiply for each of b, k and r?"
BEFORE = "The error of token t is that before its write."
OWN = "May o_t contain v_t? Look at the index of the state in o_t = S_t^T q_t."
LATER = "S_t has an influence on o_t and, through S_(t+1), on all later outputs."
FROM_ZERO = "Which state does token t read?"

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("adds", "S + b k v^T, without what k returns", DIFFERENCE, ERROR, "error = v[j]"),
    ("sign", "S + b k (v + S^T k)^T", DIFFERENCE, ERROR, "error = v[j] + returned"),
    ("sign", "S - b k (v - S^T k)^T", DIFFERENCE, NEW,
     "new[i, j] = S[i, j] - b * k[i] * error"),
    ("no-b", "S + k (v - S^T k)^T, without b", PART, NEW,
     "new[i, j] = S[i, j] + k[i] * error"),
    ("b-of-value", "S + k (b v - S^T k)^T", PART, NEW,
     "new[i, j] = S[i, j] + k[i] * (b * v[j] - returned)"),
    ("b-of-value", "S + k (v - b S^T k)^T", PART, NEW,
     "new[i, j] = S[i, j] + k[i] * (v[j] - b * returned)"),
    ("decay", "(1 - b) S + b k v^T, which forgets all keys", DIRECTION, NEW,
     "new[i, j] = (1 - b) * S[i, j] + b * k[i] * v[j]"),
    ("no-state", "b k (v - S^T k)^T, without S", "S_t = S_(t-1) + …", NEW,
     "new[i, j] = b * k[i] * error"),
    ("normalised", "the state with k / |k| for k",
     "The formula holds for keys of any length. Is k divided by its length?",
     "new = np.array(S)\n", "new, k = np.array(S), k / (k @ k) ** 0.5\n"),
    ("no-b", "dv = D^T k, without b", PRODUCT, DV, "dv = e"),
    ("sign", "dv = -b D^T k", PRODUCT, DV, "dv = -b * e"),
    ("value-for-error", "db = v . D^T k, with v for the error", PRODUCT, DB,
     "db = v @ e"),
    ("extra-b", "db = b r . D^T k", PRODUCT, DB, "db = b * r @ e"),
    ("after", "the gradients with the error after the write", BEFORE, R_E,
     "r, e = v - k @ (S + b * np.outer(k, v - k @ S)), k @ D"),
    ("value-for-error", "the gradients with v for the error", PRODUCT, R_E,
     "r, e = v, k @ D"),
    ("written-alone", "dk = b D r, of the write alone", KEY_TWICE, DK, "dk = written"),
    ("read-alone", "dk = -b S D^T k, of the read alone", KEY_TWICE, DK, "dk = read"),
    ("sign", "dk = b D r + b S D^T k", "The read has a minus in the error.", READ,
     "read = b * (S @ e)"),
    ("no-b", "dk = D r - b S D^T k, with a write without b", PRODUCT, WRITTEN,
     "written = D @ r"),
    ("no-b", "dk = b D r - S D^T k, with a read without b", PRODUCT, READ,
     "read = -(S @ e)"),
    ("after", "dk with a read of the state after the write", BEFORE, READ,
     "read = -b * ((S + b * np.outer(k, r)) @ e)"),
    ("value-for-error", "dk = b D v - b S D^T k", PRODUCT, WRITTEN, "written = b * (D @ v)"),
    ("passes-through", "dS = D, as if the state were not read", READ_TOO, DS, "dS = D"),
    ("sign", "dS = D + b k (D^T k)^T", "The read has a minus in the error.", DS,
     "dS = D + b * np.outer(k, e)"),
    ("no-b", "dS = D - k (D^T k)^T, without b", PRODUCT, DS,
     "dS = D - np.outer(k, e)"),
    ("decay", "dS = (1 - b) D", DIRECTION, DS, "dS = (1 - b) * D"),
    ("adds", "the outputs of linear attention, which adds b v", DIFFERENCE, ERROR_T,
     "error = v[t]"),
    ("sign", "the outputs with v + S^T k", DIFFERENCE, ERROR_T,
     "error = v[t] + k[t] @ last"),
    ("no-b", "the outputs with b = 1", PART, U, "u[t] = error"),
    ("read-first", "S_(t-1)^T q_t, the outputs before the write", OWN,
     f"{LAST}\n        {O}", f"{O}\n        {LAST}"),
    ("own-alone", "the outputs with S_(t-1) = 0 for each token", FROM_ZERO, LAST,
     "last = np.outer(k[t], u[t])"),
    ("key-for-query", "S_t^T k_t, with k for q", "The query reads, after the write.", O,
     "o[t] = k[t] @ last"),
    ("read-first", "dq = S_(t-1) g, with the state before the write", OWN,
     f"{BACK}\n", f"{BACK}\n            dq[t] = S @ g[t]\n"),
    ("after", "the backward of each write with the state after it", BEFORE, STEP,
     STEP.replace("(S,", "(S + np.outer(k[t], u[t]),")),
    ("last-state", "the backward of each write with the last state", BEFORE, BACK, ""),
    ("own-path-alone", "the gradients through o_t alone, without later tokens", LATER,
     D_ADDED, "D = np.outer(q[t], g[t])"),
    ("passes-through", "the gradients with D summed, as in linear attention", READ_TOO,
     STEP, STEP.replace("D, dk", "_, dk")),
    ("added-late", "the gradients without the path from token t to o_t", LATER,
     f"{D_ADDED}\n            {BACK}\n            {STEP}",
     f"{BACK}\n            {STEP}\n            {D_ADDED}"),
]  # fmt: skip

HINTS = {
    "write": ["k @ S is what the key returns, S^T k. np.outer(k, x) is k x^T."],
    "write_backward": ["Give b r a letter u. S_t = S + k u^T: what is dL/du?"],
    "delta_rule": ["S_(t-1) = S_t - k_t u_t^T, if you store the rows u_t = b_t r_t."],
    "": [
        "Write one token first: read, subtract, write. Then a loop over the tokens "
        "with one state.",
        "For S_t = S + k u^T and u = b (v - S^T k): e = dL/du = D^T k, dv = b e, db = "
        "e . r. S is also in u, with the gradient -b k e^T; k is in u with -b S e.",
        "dS = D - b k e^T, dk = b D r - b S e. Backward, from the last token: dq_t = "
        "S_t g_t, D += q_t g_t^T, S -= k_t u_t^T, and then write_backward with S and D, "
        "whose dS is the next D.",
    ],
    "all-pairs": [
        "Your answer makes an (n, n) array. A loop over tokens needs one state.",
    ],
    "states-kept": [
        "Your answer stores all n states. With the rows u_t = b_t r_t, S_(t-1) is "
        "S_t - k_t u_t^T.",
    ],
}

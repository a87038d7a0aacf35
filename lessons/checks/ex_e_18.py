"""Check an answer to E.18."""

import numpy as np

from lessons.checks.measure import exact_gradients
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import shape_all
from lessons.classroom.steps import edges, gradients, laws, shape, values

H, L, S, EV = 2, 5, 7, 3

# THE EXERCISE IN LOOPS


def sink_softmax(s, b):
    p, r = np.zeros(s.shape), np.zeros(s.shape[:2])
    for h, i in np.ndindex(*r.shape):
        m = max(b[h], max(s[h, i]))
        e = np.exp(s[h, i] - m)
        rest = np.exp(b[h] - m)
        total = rest + sum(e)
        p[h, i], r[h, i] = e / total, rest / total

    def backward(g):
        ds, db = np.zeros(s.shape), np.zeros(len(b))
        for h, i in np.ndindex(*r.shape):
            mean = p[h, i] @ g[h, i]
            ds[h, i] = p[h, i] * (g[h, i] - mean)
            db[h] -= r[h, i] * mean
        return ds, db

    return p, backward


def with_sink(o, lse, b):
    y, gate = np.zeros(o.shape), np.zeros(lse.shape)
    for h, i in np.ndindex(*lse.shape):
        gate[h, i] = np.exp(lse[h, i] - np.logaddexp(lse[h, i], b[h]))
        y[h, i] = gate[h, i] * o[h, i]

    def backward(g):
        do, dlse, db = np.zeros(o.shape), np.zeros(lse.shape), np.zeros(len(b))
        for h, i in np.ndindex(*lse.shape):
            do[h, i] = gate[h, i] * g[h, i]
            slope = gate[h, i] * (1 - gate[h, i]) * (g[h, i] @ o[h, i])
            dlse[h, i] = slope
            db[h] -= slope
        return do, dlse, db

    return y, backward


def merged(o, lse, b):
    y = np.zeros(o.shape[1:])
    for h, i in np.ndindex(*lse.shape[1:]):
        m = max(b[h], max(lse[:, h, i]))
        part = np.exp(lse[:, h, i] - m)
        total = np.exp(b[h] - m) + sum(part)
        y[h, i] = part @ o[:, h, i] / total
    return y


# THE CHECK


def outputs(rng, P=3):
    """Return o (P, H, L, Ev), lse (P, H, L) and b (H,)."""
    return rng.normal(size=(P, H, L, EV)), rng.normal(size=(P, H, L)), sinks(rng)


def sinks(rng, H=H):
    return rng.uniform(0.5, 1.5, H) * np.where(np.arange(H) % 2, -1, 1)


@shape("weights like the scores, a gradient for each sink")
def like_the_scores(my, rng):
    s, b = rng.normal(size=(H, L, S)), sinks(rng)
    p, backward = my.sink_softmax(s, b)
    my.shape(p, (H, L, S), "HLS")
    shapes = {"ds": (H, L, S), "db": (H,)}
    shape_all(my, backward(rng.normal(size=s.shape)), shapes, {"ds": "HLS", "db": "H"})
    o, lse, b = outputs(rng)
    y, backward = my.with_sink(o[0], lse[0], b)
    my.shape(y, (H, L, EV), "HLE")
    shapes = {"do": (H, L, EV), "dlse": (H, L), "db": (H,)}
    axes = {"do": "HLE", "dlse": "HL", "db": "H"}
    shape_all(my, backward(rng.normal(size=np.shape(y))), shapes, axes)
    my.shape(my.merged(o, lse, b), (H, L, EV), "HLE")


@values("weights, against a loop")
def the_weights(my, rng):
    s, b = 2 * rng.normal(size=(H, L, S)), sinks(rng)
    my.equal(my.sink_softmax(s, b)[0], sink_softmax(s, b)[0], "HLS")


@values("outputs, against a loop")
def the_outputs(my, rng):
    o, lse, b = outputs(rng)
    my.equal(my.with_sink(o[0], lse[0], b)[0], with_sink(o[0], lse[0], b)[0], "HLE")


@values("merged outputs, against a loop")
def the_parts(my, rng):
    my.equal(my.merged(*(arrays := outputs(rng))), merged(*arrays), "HLE")


@laws("lse and o are enough")
def lse_is_enough(my, rng):
    s, v, b = rng.normal(size=(H, L, S)), rng.normal(size=(H, S, EV)), sinks(rng)
    e = np.exp(s)
    o, lse = e @ v / e.sum(-1, keepdims=True), np.log(e.sum(-1))
    with_weights = my.sink_softmax(s, b)[0] @ v
    my.equal(my.with_sink(o, lse, b)[0], with_weights, "HLE")


@gradients("of the weights")
def of_the_weights(my, rng):
    for H, L, S in ((2, 3, 5), (3, 3, 3)):
        inputs = [rng.normal(size=(H, L, S)), sinks(rng, H)]
        exact_gradients(my, lambda s, b: my.sink_softmax(s, b), sink_softmax, inputs,
                        rng)  # fmt: skip


@gradients("of the output")
def of_the_output(my, rng):
    for H, L, E in ((2, 5, 3), (3, 3, 3)):
        inputs = [rng.normal(size=(H, L, E)), rng.normal(size=(H, L)), sinks(rng, H)]
        exact_gradients(my, lambda o, lse, b: my.with_sink(o, lse, b), with_sink,
                        inputs, rng)  # fmt: skip


@edges("masked keys, and rows without a key")
def nothing_allowed(my, rng):
    s, b = rng.normal(size=(H, L, S)), sinks(rng)
    s[:, :, 2], s[0, 1] = -np.inf, -np.inf
    g = rng.normal(size=s.shape)
    p, backward = my.sink_softmax(s, b)
    want, right = sink_softmax(s, b)
    my.equal(p, want, "HLS", mask=s > -np.inf)
    for found, each, axes in zip(backward(g), right(g), ("HLS", "H")):
        my.equal(found, each, axes)
    o, lse, b = outputs(rng)
    o[0, 0, 1], lse[0, 0, 1] = 0.0, -np.inf
    o[:, 1, 2], lse[:, 1, 2] = 0.0, -np.inf  # in no part
    my.equal(my.with_sink(o[0], lse[0], b)[0], with_sink(o[0], lse[0], b)[0], "HLE")
    my.equal(my.merged(o, lse, b), merged(o, lse, b), "HLE")


@edges("scores and sinks of 1000, and rows that are 1000 apart")
def large(my, rng):
    apart = 1000.0 * np.arange(L), 1000.0 * np.arange(H)  # each row, and each head
    for above, sink in ((1000.0, 0.0), (0.0, 1000.0), (1000.0, 1000.0), apart):
        s, b = rng.normal(size=(H, L, S)), sinks(rng) + sink
        s += np.reshape(above, (-1, 1))
        my.equal(my.sink_softmax(s, b)[0], sink_softmax(s, b)[0], "HLS")
        o, lse, b = outputs(rng)
        lse, b = lse + above, b + sink
        my.equal(my.with_sink(o[0], lse[0], b)[0], with_sink(o[0], lse[0], b)[0], "HLE")
        my.equal(my.merged(o, lse, b), merged(o, lse, b), "HLE")


M = "m = max(b[h], max(s[h, i]))"
REST = "rest = np.exp(b[h] - m)"
P = "p[h, i], r[h, i] = e / total, rest / total"
DS = "ds[h, i] = p[h, i] * (g[h, i] - mean)"
DB = "db[h] -= r[h, i] * mean"
GATE = "gate[h, i] = np.exp(lse[h, i] - np.logaddexp(lse[h, i], b[h]))"
DO = "do[h, i] = gate[h, i] * g[h, i]"
SLOPE = "slope = gate[h, i] * (1 - gate[h, i]) * (g[h, i] @ o[h, i])"
DLSE = "dlse[h, i] = slope"
DB_LSE = "db[h] -= slope"
M_PARTS = "m = max(b[h], max(lse[:, h, i]))"
TOTAL = "total = np.exp(b[h] - m) + sum(part)"
MERGED = "y[h, i] = part @ o[:, h, i] / total"
SINK = "The sink is a key with the score b. What does it add to the denominator?"
RANGE = "Which m makes s - m and b - m at most 0?"
REST_SUM = "dp_j / db = -p_j r. What is the sum over j of g_j times that?"
FORMULA = "Write exp(lse) for sum exp(s) in p, and compare it with the softmax."
ONCE = "The sink is one more key. In how many of the parts is it?"
FACTOR = "y = sigmoid(lse - b) o: what is dy / do, and the derivative of a sigmoid?"

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("no-sink", "the softmax, without a sink", SINK, P,
     "p[h, i], r[h, i] = e / sum(e), rest / total"),
    ("one", "exp(s) / (1 + sum exp(s)), with b = 0", SINK, REST, "rest = np.exp(-m)"),
    ("b-itself", "exp(s) / (b + sum exp(s)), with b for exp(b)", SINK, REST,
     "rest = b[h] * np.exp(-m)"),
    ("sign", "exp(s) / (exp(-b) + sum exp(s))", SINK, REST, "rest = np.exp(-b[h] - m)"),
    ("shifted-sink", "exp(s - m) / (exp(b) + sum exp(s - m)), with m for the keys only",
     "If m is subtracted from every score, what becomes of the sink?", REST,
     "rest = np.exp(b[h])"),
    ("overflow", "exp(s) / (exp(b) + sum exp(s)), where exp is too large", RANGE, M,
     "m = 0.0"),
    ("overflow", "m is the largest score, and exp(b - m) is too large", RANGE, M,
     "m = max(s[h, i])"),
    ("other-head", "the sink of head 0 for all heads", "Each head has its own sink.",
     REST, "rest = np.exp(b[0] - m)"),
    ("no-centre", "p g, without the mean", "All weights share one denominator.", DS,
     "ds[h, i] = p[h, i] * g[h, i]"),
    ("normalised-mean", "p (g - p . g / sum p)",
     "dp_j / ds_k = p_j (delta_jk - p_k) with these p, which sum to less than 1.", DS,
     "ds[h, i] = p[h, i] * (g[h, i] - mean / sum(p[h, i]))"),
    ("sign", "+sum r p . g", REST_SUM, DB, "db[h] += r[h, i] * mean"),
    ("no-rest", "-sum p . g, without r", REST_SUM, DB, "db[h] -= mean"),
    ("no-weights", "-sum r g, without p", REST_SUM, DB,
     "db[h] -= r[h, i] * sum(g[h, i])"),
    ("sink-as-key", "sum r (1 - r)", REST_SUM, DB, "db[h] += r[h, i] * (1 - r[h, i])"),
    ("mean", "-the mean of r p . g over queries",
     "All queries of a head use one b: is that a sum or a mean?", DB,
     "db[h] -= r[h, i] * mean / len(p[h])"),
    ("sign", "sigmoid(b - lse) o", FORMULA, GATE,
     "gate[h, i] = np.exp(b[h] - np.logaddexp(lse[h, i], b[h]))"),
    ("no-b", "sigmoid(lse) o, without b", FORMULA, GATE,
     "gate[h, i] = np.exp(lse[h, i] - np.logaddexp(lse[h, i], 0))"),
    ("no-exponential", "lse / (lse + b) o", FORMULA, GATE,
     "gate[h, i] = lse[h, i] / (lse[h, i] + b[h])"),
    ("overflow", "exp(lse) / (exp(lse) + exp(b)) o, where exp is too large",
     "Divide both by the larger of exp(lse) and exp(b).", GATE,
     "gate[h, i] = np.exp(lse[h, i]) / (np.exp(lse[h, i]) + np.exp(b[h]))"),
    ("passes-through", "g for do", FACTOR, DO, "do[h, i] = g[h, i]"),
    ("slope-for-do", "g gate (1 - gate) for do", FACTOR, DO,
     "do[h, i] = gate[h, i] * (1 - gate[h, i]) * g[h, i]"),
    ("no-slope", "g . o, without the derivative of the sigmoid", FACTOR, SLOPE,
     "slope = g[h, i] @ o[h, i]"),
    ("no-slope", "gate g . o, without 1 - gate", FACTOR, SLOPE,
     "slope = gate[h, i] * (g[h, i] @ o[h, i])"),
    ("gate-twice", "gate^2 (1 - gate) g . o: with y for o", FACTOR, SLOPE,
     "slope = gate[h, i] * (1 - gate[h, i]) * (g[h, i] @ y[h, i])"),
    ("ignores-upstream", "gate (1 - gate) sum o, without g", "", SLOPE,
     "slope = gate[h, i] * (1 - gate[h, i]) * sum(o[h, i])"),
    ("no-output", "gate (1 - gate) sum g, without o", FACTOR, SLOPE,
     "slope = gate[h, i] * (1 - gate[h, i]) * sum(g[h, i])"),
    ("no-lse", "0 for dlse", "lse depends on the scores as o does.", DLSE,
     "dlse[h, i] = 0.0"),
    ("sign", "+slope for db", "lse - b: which sign has b?", DB_LSE, "db[h] += slope"),
    ("no-sink", "the parts merged without a sink", SINK, TOTAL, "total = sum(part)"),
    ("sink-in-each", "the parts merged with a sink in each", ONCE, TOTAL,
     "total = len(part) * np.exp(b[h] - m) + sum(part)"),
    ("gated-before", "each part times its sigmoid(lse - b), then merged", ONCE, MERGED,
     "y[h, i] = part / (part + np.exp(b[h] - m)) * part @ o[:, h, i] / sum(part)"),
    ("gated-before", "the sum of each part times its sigmoid(lse - b)", ONCE, MERGED,
     "y[h, i] = part / (part + np.exp(b[h] - m)) @ o[:, h, i]"),
    ("twice", "the parts merged with the sink, and gated again", ONCE, MERGED,
     "y[h, i] = part @ o[:, h, i] * sum(part) / total**2"),
    ("plain-mean", "the mean of the parts, with the sink",
     "A part with larger scores has a larger share.", MERGED,
     "y[h, i] = o[:, h, i].mean(0) * sum(part) / total"),
    ("overflow", "exp(lse), where exp is too large", RANGE, M_PARTS, "m = 0.0"),
]  # fmt: skip

HINTS = {
    "sink_softmax": [
        "Treat b as the score of one more key, and leave out its weight at the end.",
    ],
    "with_sink": [
        "p with the sink, divided by the softmax without it, is the same for all keys.",
    ],
    "merged": ["exp(lse) of a part is its share of the denominator."],
    "": [
        "Take the maximum over the scores of a row and b. Then no exp overflows, and a "
        "row of masked keys needs no special case.",
        "sum exp(s) / (exp(b) + sum exp(s)) = exp(lse) / (exp(b) + exp(lse)), a "
        "sigmoid of lse - b. For db, sum over all queries of the head.",
        "ds = p (g - p . g) and db = -sum r (p . g). y = sigmoid(lse - b) o, dlse = "
        "gate (1 - gate) g . o = -db for each query. merged: sum exp(lse_p - m) o_p / "
        "(exp(b - m) + sum exp(lse_p - m)).",
    ],
}

"""Which normaliser finds nothing, finds one of many, counts? The record of lesson 15.

    python -m lessons experiment 15

Small models attend with a single query, and differ in how weights are made of scores:

    nothing   8 keys; half of the queries match none, and the wanted output is 0
    many      one of 16 keys matches; tested with up to 4096 keys
    counting  how many of 4 to 16 symbols are the one of the query?
    choosing  one of 8 keys is drawn, and only its loss is known

Each arm has four learning rates and five seeds. Some eight minutes on two cores.
"""

import functools

import numpy as np

import attention
import minigrad as mg
from attention import attend
from lessons.classroom.studies import study
from lessons.instrument import fair
from lessons.instrument.draws import chosen_weights, vectors
from minigrad import nn

PLAIN = {  # normalisers without parameters
    "softmax": None,
    "softmax, gate": None,
    "softmax + 1": attention.softmax_plus_one,
    "entmax": attention.entmax,
    "sparsemax": attention.sparsemax,
}
VALUE = 8  # width of a value, of numbers N(0, 1)


def normalizer(arm, b):
    """Return the normaliser of an arm; those of a sink and of a sigmoid have a b."""
    if arm == "sink":
        return attention.Sink(b=b)
    if arm.startswith("sigmoid"):
        return functools.partial(attention.sigmoid_weights, b=b)
    return PLAIN[arm]


class Finder(nn.Module):
    """Attend from one query to n keys; the result is the context.

    The sink and the sigmoid have a parameter b, the gate a matrix W_g.
    """

    def __init__(self, arm, width, n, rng):
        self.W = nn.Linear(width, width, bias=False, rng=rng)
        first, self.b, self.W_g = {"sink": 0.0, "sigmoid": -np.log(n)}, None, None
        if arm in first:
            self.b = nn.Parameter(np.array(first[arm], np.float32))
        self.normalize = normalizer(arm, self.b)
        if arm == "softmax, gate":
            self.W_g = nn.Linear(width, VALUE, rng=rng)

    def forward(self, q, k, v, temperature=1.0):
        """q (B, 1, D), k (B, n, D), v (B, n, 8)  ->  context (B, 8)

        The weights (B, 1, n) are kept as ``p``.
        """
        options = {"normalize": self.normalize, "temperature": temperature}
        c, self.p = attend(self.W(q), k, v, **options)
        if self.W_g is not None:
            c = attention.output_gate(c, self.W_g(q))
        return c[:, 0]


@functools.cache
def lookups(B, n, width, missing, *key):
    """Draw q, k, v, the wanted output (B, 8), the place (B,), and which are missing."""
    rng, rows = np.random.default_rng(key), np.arange(B)
    k, v = vectors(rng, B, n, width), rng.standard_normal((B, n, VALUE), np.float32)
    place, none = rng.integers(n, size=B), rng.random(B) < missing
    q = np.where(none[:, None], vectors(rng, B, width), k[rows, place])
    return q[:, None], k, v, np.where(none[:, None], 0, v[rows, place]), place, none


class Lookup(fair.Explaining):
    """Find the value of the key that is the query; what ``Nothing`` and ``Many`` share.

    The figure is 1 - (mean squared error) / (mean square of the wanted output), so that
    a model that always answers 0 has 0.
    """

    rates, every, warmup, batch = (0.003, 0.01, 0.03, 0.1), 25, 25, 64
    inputs = 3
    width = keys = 0
    missing = 0.0

    def model(self, arm, rng):
        return Finder(arm, self.width, self.keys, rng)

    def draw(self, n, *key):
        return lookups.__wrapped__(n, self.keys, self.width, self.missing, *key)

    def validate(self, arm, model):
        return measured(model, self, 500, self.keys)["explained"]


def measured(model, task, rows, n, temperature=1.0):
    """Return errors and weights with n keys, on data that training has not seen."""
    q, k, v, y, place, none = lookups(rows, n, task.width, task.missing, 10**6, n)
    c, p = model(q, k, v, temperature).numpy(), model.p.numpy()[:, 0]
    error, found = ((c - y) ** 2).mean(-1), ~none
    result = {
        "explained": 1 - error.mean() / (y * y).mean(),
        "found": error[found].mean(),
        "weight": p[np.arange(rows), place][found].mean(),
        "sum found": p[found].sum(-1).mean(),
    }
    if none.any():
        result |= {"none": error[none].mean(), "sum none": p[none].sum(-1).mean()}
    return {name: float(x) for name, x in result.items()}


class Nothing(Lookup):
    """Half of the queries match no key."""

    name, question = "nothing", "Which weights can say that no key fits?"
    arms = (
        "softmax", "softmax, gate", "entmax", "sparsemax", "softmax + 1", "sink",
        "sigmoid",
    )  # fmt: skip
    width, keys, missing = 32, 8, 0.5
    trivial = missing / keys  # the mean of all values, times 1/2
    budget, least = 3000, 600

    def test(self, arm, model):
        at = {str(n): measured(model, self, 500, n) for n in (8, 32, 128)}
        return {"figure": at["8"]["explained"], "at": at}


class Many(Lookup):
    """One key of 16 fits in training, one of up to 4096 in the test."""

    name, question = "many", "Which weights find one key among many more?"
    arms = ("softmax", "sigmoid", "entmax", "sparsemax")
    width, keys = 64, 16
    trivial = 1 / keys
    budget = least = 1500  # a softmax becomes sharper as long as it is trained

    def test(self, arm, model):
        """Measure with more keys; a softmax also with its scores times ln n / ln 16."""
        rows = {16: 500, 64: 500, 256: 500, 1024: 200, 4096: 100}
        at = {str(n): measured(model, self, rows[n], n) for n in rows}
        result = {"figure": at["16"]["explained"], "at": at}
        if arm == "softmax":
            colder = {n: np.log(self.keys) / np.log(n) for n in rows}
            result["sharpened"] = {
                str(n): measured(model, self, rows[n], n, colder[n]) for n in rows
            }
        return result

    def watch(self, arm, model):
        return {"far": measured(model, self, 50, 1024)["explained"]}


SYMBOLS, FEWEST, MOST, D = 6, 4, 16, 24


class Counter(nn.Module):
    """Attend from a symbol to a row of symbols; name the number, from the context."""

    def __init__(self, arm, rng):
        self.queries, self.keys, self.values = (
            nn.Parameter(rng.standard_normal((SYMBOLS, D), np.float32)) for _ in "qkv"
        )
        self.hidden = nn.Linear(D, 2 * D, rng=rng)
        self.output = nn.Linear(2 * D, MOST + 1, rng=rng)
        self.arm, self.b = arm, 0.0
        if arm == "sink":
            self.b = nn.Parameter(np.zeros((), np.float32))

    def forward(self, x, n, asked):
        """x (B, 16), n (B,), asked (B, 1)  ->  scores of the numbers (B, 17)"""
        q, k, v = (
            mg.embedding(i, table)
            for i, table in ((asked, self.queries), (x, self.keys), (x, self.values))
        )
        b = self.b
        if self.arm == "sigmoid, -ln n":
            b = -np.log(n, dtype=np.float32)[:, None, None]
        normalize = normalizer(self.arm, b)
        c, _ = attend(q, k, v, lengths=n, normalize=normalize)  # (B, 1, D)
        return self.output(mg.relu(self.hidden(c)))[:, 0]


def counts(B, *key):
    """Draw x (B, 16), of which n (B,) count, a symbol asked (B, 1); and the answer."""
    rng = np.random.default_rng(key)
    x, n = rng.integers(SYMBOLS, size=(B, MOST)), rng.integers(FEWEST, MOST + 1, size=B)
    asked = rng.integers(SYMBOLS, size=(B, 1))
    inside = np.arange(MOST) < n[:, None]
    return x, n, asked, ((x == asked) & inside).sum(1)


class Counting(fair.Study):
    """How often does the symbol of the query occur?"""

    name, question = "counting", "Which weights can count?"
    measure, chance = "share of right numbers", 1 / (MOST + 1)
    model, draw = staticmethod(Counter), staticmethod(counts)
    batch, held_out = 128, (1000, 4000)
    arms = ("softmax", "sigmoid, -ln n", "softmax + 1", "sink", "sigmoid")
    rates, every, warmup = (0.001, 0.003, 0.01, 0.03), 50, 50
    trivial = 0.36  # who knows n alone has this share; the page computes it
    budget, least = 6000, 1500

    def test(self, arm, model):
        right, y = self.right(model, *self.held[1]), self.held[1][-1]
        by_number = {str(m): float(right[y == m].mean()) for m in range(6)}
        return {"figure": float(right.mean()), "by number": by_number}


LABELS = 8


class Chooser(nn.Module):
    """Choose a key for a query; name the label behind the chosen key."""

    def __init__(self, rng, width=16):
        self.W = nn.Linear(width, width, bias=False, rng=rng)
        self.output = nn.Linear(LABELS, LABELS, rng=rng)

    def scores(self, q, k):
        """q (B, 1, D), k (B, n, D)  ->  scores (B, n)"""
        return attention.scaled_dot(self.W(q), k)[:, 0]


def choices(B, *key):
    """Draw q (B, 1, D), k (B, 8, D), labels v (B, 8, 8) as one-hot rows.

    Then the label and the place of the right key, both (B,).
    """
    rng, rows = np.random.default_rng(key), np.arange(B)
    k, label = vectors(rng, B, 8, 16), rng.integers(LABELS, size=(B, 8))
    place = rng.integers(8, size=B)
    v = np.eye(LABELS, dtype=np.float32)[label]
    return k[rows, place][:, None], k, v, label[rows, place], place


class Choosing(fair.Study):
    """Learn which key to choose."""

    name, question = "choosing", "How does a model learn to choose one key?"
    measure, chance = "probability of the right key", 1 / 8
    arms = ("soft", "reinforce", "reinforce, mean", "gumbel")
    rates, every, warmup = (0.003, 0.01, 0.03, 0.1), 10, 10
    budget = 1500
    draw, batch, held_out = staticmethod(choices), 64, (1000, 1000)

    def model(self, arm, rng):
        return Chooser(rng)

    def loss_at(self, arm, run, seed, step):
        q, k, v, y, _ = self.draw(self.batch, seed, step)
        e = run.model.scores(q, k)  # (B, n)
        p = chosen_weights(arm, e, np.random.default_rng((seed, step, 7)))
        c = (p[:, None] @ v)[:, 0]  # (B, 8)
        loss = mg.cross_entropy(run.model.output(c), y, reduction="none")
        if arm.startswith("reinforce"):
            l = loss.data  # the mean of the other examples does not depend on the draw
            others = (l.sum() - l) / (len(l) - 1) if "mean" in arm else 0.0
            loss = attention.reinforce(loss, e, p, others)
        return loss.mean()

    def figure(self, model, q, k, v, y, place):
        p = mg.softmax(model.scores(q, k)).numpy()  # (B, n)
        return float(p[np.arange(len(y)), place].mean())

    def test(self, arm, model):
        """Return also the share of right labels: those of the most probable keys."""
        q, k, v, y, _ = self.held[1]
        best = model.scores(q, k).numpy().argmax(-1)  # (B,)
        named = model.output(v[np.arange(len(y)), best]).numpy().argmax(-1)
        return super().test(arm, model) | {"labels": float((named == y).mean())}


if __name__ == "__main__":
    study("weights", [Nothing(), Many(), Counting(), Choosing()])

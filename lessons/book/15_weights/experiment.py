"""Which normaliser finds nothing, finds one of many, counts? The record of lesson 15.

    python -m lessons experiment 15

Small models attend with a single query, and differ in how weights are made of scores:

    nothing   8 keys; half of the queries match none, and the wanted output is 0
    many      one of 16 keys matches; tested with up to 4096 keys
    counting  how many of 1 to 4 symbols are A?

Each arm has four learning rates and five seeds. Some three minutes on two cores.
"""

import functools

import numpy as np

import attention
import minigrad as mg
from attention import attend
from lessons.classroom.studies import study
from lessons.instrument import fair
from lessons.instrument.draws import vectors
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

    rates, every, warmup, batch = (0.003, 0.01, 0.03, 0.1), 50, 25, 64
    inputs, budget = 3, 1500
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
        "sum found": p[found].sum(-1).mean(),
    }
    if none.any():
        result |= {"none": error[none].mean(), "sum none": p[none].sum(-1).mean()}
    return {name: float(x) for name, x in result.items()}


class Nothing(Lookup):
    """Half of the queries match no key."""

    name, question = "nothing", "Which weights can say that no key fits?"
    arms = "softmax", "softmax, gate", "softmax + 1", "sink", "sigmoid"
    width, keys, missing = 32, 8, 0.5
    trivial = missing / keys  # the mean of all values, times 1/2

    def test(self, arm, model):
        found = measured(model, self, 2000, self.keys)
        return {"figure": found["explained"], **found}


class Many(Lookup):
    """One key of 16 fits in training, one of up to 4096 in the test."""

    name, question = "many", "Which weights find one key among many more?"
    arms = "softmax", "entmax", "sparsemax"
    width, keys, budget, batch = 64, 16, 600, 32
    trivial, ceiling = 1 / keys, np.inf  # more steps sharpen a softmax that finds all
    rows = {16: 500, 64: 500, 256: 500, 1024: 200, 4096: 100}  # of the test

    def test(self, arm, model):
        """Measure with more keys; a softmax also with its scores times ln n / ln 16."""
        result = {"at": self.explained(model)}
        if arm == "softmax":
            result["sharpened"] = self.explained(model, np.log(self.keys))
        return {"figure": result["at"]["16"]} | result

    def explained(self, model, part=None):
        """Return {n: explained share}, with the scores times ln n / part."""
        found = {}
        for n, rows in self.rows.items():
            temperature = part / np.log(n) if part else 1.0
            found[str(n)] = measured(model, self, rows, n, temperature)["explained"]
        return found


MOST, D = 4, 16


class Counter(nn.Module):
    """Attend from one query to a row of symbols; name the number, from the context."""

    def __init__(self, arm, rng):
        self.q, self.keys, self.values = (
            nn.Parameter(rng.standard_normal((n, D), np.float32)) for n in (1, 2, 2)
        )
        self.hidden = nn.Linear(D, 4 * D, rng=rng)
        self.output = nn.Linear(4 * D, MOST + 1, rng=rng)
        self.arm, self.b = arm, 0.0
        if arm == "sink":
            self.b = nn.Parameter(np.zeros((), np.float32))

    def forward(self, x, n):
        """x (B, 4), n (B,)  ->  scores of the numbers (B, 5)"""
        k, v = mg.embedding(x, self.keys), mg.embedding(x, self.values)  # (B, 4, D)
        b = self.b
        if self.arm == "sigmoid, -ln n":
            b = -np.log(n, dtype=np.float32)[:, None, None]
        c, _ = attend(self.q, k, v, lengths=n, normalize=normalizer(self.arm, b))
        return self.output(mg.tanh(self.hidden(c)))[:, 0]


def counts(B, *key):
    """Draw x (B, 4), of which the first n (B,) count, and how many of them are 1."""
    rng = np.random.default_rng(key)
    x, n = rng.integers(2, size=(B, MOST)), rng.integers(1, MOST + 1, size=B)
    return x, n, (x * (np.arange(MOST) < n[:, None])).sum(1)


COUNTING = fair.Study(
    "counting", "Which weights can count?",
    measure="share of right numbers", chance=1 / (MOST + 1),
    model=Counter, draw=counts, batch=64, held_out=(1000, 4000),
    arms=("softmax", "sink", "sigmoid", "sigmoid, -ln n"),
    rates=(0.003, 0.01, 0.03, 0.1), budget=1000, every=50,
)  # fmt: skip


if __name__ == "__main__":
    study("weights", [Nothing(), Many(), COUNTING])

"""Who finds its partner, pools a set, follows a chain, reads a picture? Lesson 19.

    python -m lessons experiment 19

Small models of width 32 attend to what has no order, or two dimensions:

    lookup   4 nodes search for one of 4 others; graph attention, and ISAB
    pooling  the mean and the largest of a set, and what belongs to the largest
    chain    who has the apple, and where is she? hops through a memory
    places   the colour at a row and a column of a picture, with kinds of positions

Some five minutes on two cores.
"""

import functools
import itertools

import numpy as np

import attention
import minigrad as mg
from attention import attend
from attention.positions import grid, patches, rope, rope_2d
from lessons.classroom.studies import study
from lessons.instrument import fair
from lessons.instrument.draws import one_hot, pick, shuffled
from minigrad import nn

WIDTH = 32


def network(rng, *widths):
    """Return linear layers of these widths, with a relu between each two."""
    first, *others = (nn.Linear(a, b, rng=rng) for a, b in itertools.pairwise(widths))
    return nn.Sequential(first, *(f for layer in others for f in (mg.relu, layer)))


# -- Lookup in a graph -----------------------------------------------------------------

K = 4  # keys, values, and nodes of each kind


@functools.cache
def graph():
    """Return the edges (2K, 2K): node i < K reads the K others, which read themselves."""
    edges = np.eye(2 * K, dtype=bool)
    edges[:K] = np.arange(2 * K) >= K
    return edges


def lookups(B, *key):
    """Draw nodes (B, 2K, 2K + 1) and the values (B, K) for the first K of them.

    The nodes hold key, value and kind. A searching node has a key and no value.
    """
    rng, width = np.random.default_rng(key), 2 * K + 1
    searched, held = shuffled(rng, B, K), shuffled(rng, B, K)
    value = rng.integers(K, size=(B, K))
    found = one_hot(width, held, K + value, np.full_like(held, 2 * K))
    by_key = pick(value, held.argsort(1))  # the value of each key
    return np.concatenate([one_hot(width, searched), found], 1), pick(by_key, searched)


class Searcher(nn.Module):
    """One layer of attention between nodes, and a linear map of its output."""

    def __init__(self, arm, rng):
        self.arm, inputs, out = arm, 2 * K + 1, WIDTH
        if arm == "GATv2":
            self.layer = attention.GATv2(inputs, WIDTH, rng=rng)
        elif arm == "GAT":
            self.layer = attention.GAT(inputs, WIDTH, rng=rng)
        elif arm == "GAT, 4 heads":
            self.layer, out = attention.GAT(inputs, 16, 4, rng=rng), 4 * 16
        elif arm == "dot":
            self.qkv = [nn.Linear(inputs, WIDTH, rng=rng) for _ in "qkv"]
        else:  # ISAB, m = 2
            self.input = nn.Linear(inputs, WIDTH, rng=rng)
            self.layer = attention.ISAB(WIDTH, 4, 2, rng=rng)
        self.output = nn.Linear(out, K, rng=rng)

    def forward(self, h):
        """h (B, 2K, 2K + 1)  ->  scores of the values (B, K, K)"""
        if self.arm == "dot":
            x, _ = attend(*(W(h) for W in self.qkv), mask=graph())
        elif self.arm.startswith("ISAB"):
            x = self.layer(self.input(h))
        else:
            x = self.layer(h, np.broadcast_to(graph(), (len(h), 2 * K, 2 * K)))
        return self.output(x[:, :K])


class Lookup(fair.Study):
    """Each of 4 nodes searches for the node with its key, and names its value."""

    name, question = "lookup", "Which attention finds another node for each node?"
    measure, chance = "share of right values", 1 / K
    arms = "GAT", "GAT, 4 heads", "GATv2", "dot", "ISAB, m = 2"
    rates, budget = (0.001, 0.003, 0.01), 2000
    model, draw = staticmethod(Searcher), staticmethod(lookups)
    batch, held_out = 16, (300, 500)


# -- Pooling a set ---------------------------------------------------------------------

WANTED = ("mean", "largest", "beside")


def sets(B, n, *key):
    """Draw sets (B, n, 2) of pairs (a, b), and three numbers of each (B, 3).

    These are the mean of a, the largest a, and the b beside it.
    """
    x = np.random.default_rng((n, *key)).random((B, n, 2), np.float32)
    a, b = x[..., 0], x[..., 1]
    return x, np.stack([a.mean(1), a.max(1), b[np.arange(B), a.argmax(1)]], 1)


class Pool(nn.Module):
    """A network for each element, a pooling, and a network for the result.

    PMA has three times the parameters of a network of this width, so the other arms
    have a wider one.
    """

    def __init__(self, arm, rng):
        self.arm, out = arm, WIDTH * (1 + (arm == "mean and max"))
        wide = (WIDTH, 3 * WIDTH, WIDTH)
        if arm in ("PMA", "Perceiver"):
            wide = (WIDTH,)
        self.each, self.result = (
            network(rng, 2, WIDTH, *wide), network(rng, out, WIDTH, len(WANTED)),
        )  # fmt: skip
        if arm in ("PMA", "Perceiver"):  # a Perceiver's vector reads, and reads itself
            self.pma = getattr(attention, arm)(WIDTH, 4, 1, rng=rng)

    def forward(self, x):
        """x (B, n, 2)  ->  (B, 3)"""
        h = self.each(x)
        if self.arm in ("PMA", "Perceiver"):
            pooled = self.pma(h)[:, 0]
        elif self.arm == "mean and max":
            pooled = mg.concat([h.mean(1), h.max(1)], -1)
        else:  # "mean", "sum" or "max"
            pooled = getattr(h, self.arm)(1)
        return self.result(pooled)


class Pooling(fair.Explaining):
    """Three numbers of a set of 2 to 12 pairs."""

    name, question = "pooling", "Which pooling keeps of a set what is wanted?"
    measure = "explained share, mean of the three numbers"
    arms = "mean", "sum", "max", "mean and max", "PMA", "Perceiver"
    rates, budget, every = (0.003, 0.01), 1200, 100
    model, batch = staticmethod(Pool), 64

    def draw(self, B, *key):
        return sets(B, 2 + int(np.random.default_rng(key).integers(11)), *key)

    def explained(self, model, key, B):
        """Return the explained share of each number, in sets of all these sizes."""
        drawn = [sets(B, n, key) for n in range(2, 13)]
        error = np.concatenate([model(x).numpy() - y for x, y in drawn])
        return 1 - (error**2).mean(0) / np.concatenate([y for _, y in drawn]).var(0)

    def validate(self, arm, model):
        return self.explained(model, 10**6, 100).mean()

    def test(self, arm, model):
        share = self.explained(model, 2 * 10**6, 300)
        explained = dict(zip(WANTED, share.tolist()))
        return {"figure": float(share.mean()), "explained": explained}


# -- Chains of two facts ---------------------------------------------------------------

N = 8  # things, persons and places; a word is a number below 3 N


def facts(B, *key):
    """Draw keys and values (B, 2N) of facts, a thing (B,), and its place (B,).

    Fact i < N says who has thing i, and fact N + i where person i is.
    """
    rng = np.random.default_rng(key)
    person = shuffled(rng, B, N)
    place, thing = rng.integers(N, size=(B, N)), rng.integers(N, size=B)
    keys = np.tile(np.arange(2 * N), (B, 1))
    values = np.concatenate([N + person, 2 * N + place], 1)
    b = np.arange(B)
    return keys, values, thing, place[b, person[b, thing]]


# Which tables hold the questions, then keys and values of each hop
TABLES = {
    "1 hop": (0, [(0, 0)]),
    "2 hops": (0, [(0, 0), (0, 0)]),
    "2 hops, adjacent": (0, [(0, 1), (1, 2)]),
    "2 hops, apart": (2, [(0, 1), (0, 1)]),
}


class Memory(nn.Module):
    """A memory of facts that is read once or twice, with tables of words."""

    def __init__(self, arm, rng):
        self.question, self.hops = question, hops = TABLES[arm]
        n = 1 + max(question, *(v for _, v in hops))
        draws = rng.standard_normal((n, 3 * N, WIDTH), np.float32)
        self.tables = [nn.Parameter(0.2 * x) for x in draws]
        self.output = nn.Linear(WIDTH, N, rng=rng)

    def forward(self, keys, values, thing):
        """keys and values (B, 2N), thing (B,)  ->  places (B, N)"""
        u, rows = mg.embedding(thing, self.tables[self.question]), []
        for k, v in self.hops:
            m, c = (mg.embedding(i, self.tables[t]) for i, t in ((keys, k), (values, v)))
            u, p = attention.hops(u, m, c)
            rows.append(p)
        self.p = mg.concat(rows, 1)  # (B, hops, 2N)
        return self.output(u)


class Chain(fair.Study):
    """Where is the thing? It is where the person is who has it."""

    name, question = "chain", "How often must a memory be read?"
    measure, chance = "share of right places", 1 / N
    arms, rates, budget = tuple(TABLES), (0.01, 0.03), 1600
    model, draw = staticmethod(Memory), staticmethod(facts)
    batch, held_out = 64, (300, 1000)

    def test(self, arm, model):
        result = super().test(arm, model)
        self.figure(model, *facts(1, 7))  # one example, for a picture
        return result | {"p": model.p.numpy()[0].round(4).tolist()}


# -- The colour at a row and a column --------------------------------------------------

P = 4  # pixels of a side of a patch, which has one colour
SIDE = 5  # patches of a side of a picture

COLOURS = np.array(
    [
        [0.9, 0.1, 0.1], [0.1, 0.7, 0.2], [0.2, 0.3, 1.0],
        [0.9, 0.8, 0.1], [0.8, 0.2, 0.8], [0.2, 0.8, 0.9],
    ],
    np.float32,
)  # fmt: skip


def mosaics(rng, B):
    """Draw pictures (B, SIDE P, SIDE P, 3) and the colours (B, SIDE, SIDE) in them."""
    colour = rng.integers(len(COLOURS), size=(B, SIDE, SIDE))
    pictures = COLOURS[colour].repeat(P, 1).repeat(P, 2)
    return pictures + 0.1 * rng.standard_normal(pictures.shape, np.float32), colour


ROW, COLUMN = grid(SIDE, SIDE)
# one place in each row and column is in no question of the training
UNSEEN = (ROW + 2 * COLUMN) % SIDE == 0


class Looker(nn.Module):
    """Questions for a row and a column attend to the patches of a picture."""

    def __init__(self, arm, rng):
        def table(n):
            return nn.Parameter(rng.standard_normal((n, WIDTH), np.float32))

        self.arm, side = arm, SIDE
        self.rows, self.columns = table(side), table(side)
        self.patch = nn.Linear(P**2 * 3, WIDTH, rng=rng)
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH, rng=rng) for _ in "qkv")
        self.output = network(rng, WIDTH, WIDTH, len(COLOURS))
        if arm == "a vector a place":
            self.table = table(side * side)
        if arm == "row + column":
            self.by_row, self.by_column = table(side), table(side)

    def forward(self, pictures, row, column):
        """pictures (B, H, W, 3), row and column (L,)  ->  scores of colours (B, L, 6)"""
        x = self.patch(patches(mg.Tensor(pictures), P))  # (B, n, WIDTH)
        q = mg.embedding(row, self.rows) + mg.embedding(column, self.columns)
        q, k = mg.expand(self.q(q), (len(x), len(row), WIDTH)), self.k(x)
        if self.arm == "a vector a place":
            k = k + self.table
        elif self.arm == "row + column":
            rows, columns = self.by_row, self.by_column
            k = k + mg.embedding(ROW, rows) + mg.embedding(COLUMN, columns)
        elif self.arm == "RoPE":  # by the number of the patch; the question stands at 0
            k = rope(k, np.arange(len(ROW)))
        elif self.arm == "2-D RoPE":
            k = rope_2d(k, ROW, COLUMN)
        c, self.weights = attend(q, k, self.v(x))
        return self.output(c)


def questions(B, *key, unseen=False):
    """Draw pictures (B, ...); ask each for all places. Return the colours (B, L) too."""
    pictures, colour = mosaics(np.random.default_rng(key), B)
    row, column = ROW[UNSEEN == unseen], COLUMN[UNSEEN == unseen]
    return pictures, row, column, colour[:, row, column]


class Places(fair.Study):
    """Which colour is at this row and this column?"""

    name, question = "places", "Which positions find a row and a column?"
    measure, chance = "share of right colours", 1 / 6
    arms = ("none", "a vector a place", "row + column", "RoPE", "2-D RoPE")
    rates, budget = (0.003, 0.01), 800
    model, draw = staticmethod(Looker), staticmethod(questions)
    batch, held_out = 16, (100, 100)

    def test(self, arm, model):
        unseen = questions(100, 2 * 10**6, unseen=True)
        return super().test(arm, model) | {"unseen": self.figure(model, *unseen)}


STUDY = Lookup(), Pooling(), Chain(), Places()

if __name__ == "__main__":
    study("sets", list(STUDY))

"""Who finds its partner, pools a set, follows a chain, reads a picture? Lesson 19.

    python -m lessons experiment 19

Small models of width 32 attend to what has no order, or two dimensions:

    lookup   8 nodes search for one of 8 others; graph attention, and ISAB
    pooling  the mean and the largest of a set, and what belongs to the largest
    chain    who has the apple, and where is she? hops through a memory
    places   the colour at a row and a column of a picture, with kinds of positions
    telling  write the digits of a picture, looking at one patch or at all

Each arm has three learning rates or more, and five seeds. Some eight minutes on two cores.
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
from lessons.instrument.draws import chosen_weights, one_hot, pick, shuffled
from minigrad import nn

WIDTH = 32


def network(rng, *widths):
    """Return linear layers of these widths, with a relu between each two."""
    first, *others = (nn.Linear(a, b, rng=rng) for a, b in itertools.pairwise(widths))
    return nn.Sequential(first, *(f for layer in others for f in (mg.relu, layer)))


# -- Lookup in a graph -----------------------------------------------------------------

K = 8  # keys, values, and nodes of each kind


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
        elif arm == "GAT, 8 heads":
            self.layer, out = attention.GAT(inputs, 16, 8, rng=rng), 8 * 16
        elif arm == "dot":
            self.qkv = [nn.Linear(inputs, WIDTH, rng=rng) for _ in "qkv"]
        else:  # ISAB, m = 1
            self.input = nn.Linear(inputs, WIDTH, rng=rng)
            self.layer = attention.ISAB(WIDTH, 4, int(arm.split()[-1]), rng=rng)
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
    """Each of 8 nodes searches for the node with its key, and names its value."""

    name, question = "lookup", "Which attention finds another node for each node?"
    measure, chance = "share of right values", 1 / K
    arms = (
        "GAT", "GAT, 8 heads", "GATv2", "dot", "ISAB, m = 1", "ISAB, m = 4",
        "ISAB, m = 8",
    )  # fmt: skip
    rates = (0.001, 0.003, 0.01, 0.03, 0.1)
    trivial = 0.35  # the most frequent value; the page computes it
    budget, least = 4000, 1500
    model, draw = staticmethod(Searcher), staticmethod(lookups)
    batch, held_out = 16, (300, 300)


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
        if arm == "PMA":
            self.pma = attention.PMA(WIDTH, 4, 1, rng=rng)
        if arm == "Perceiver":  # one vector, that reads, and then reads itself
            self.pma = attention.Perceiver(WIDTH, 4, 1, rng=rng)

    def forward(self, x):
        """x (B, n, 2)  ->  (B, 3)"""
        h = self.each(x)
        if self.arm in ("PMA", "Perceiver"):
            pooled = self.pma(h)[:, 0]
        elif self.arm == "mean and max":
            pooled = mg.concat([h.mean(1), h.max(1)], -1)
        else:
            pooled = h.max(1) if self.arm == "max" else h.mean(1)
        return self.result(pooled)


class Pooling(fair.Explaining):
    """Three numbers of a set of 2 to 12 pairs."""

    name, question = "pooling", "Which pooling keeps of a set what is wanted?"
    measure = "explained share, mean of the three numbers"
    arms = ("mean", "max", "mean and max", "PMA", "Perceiver")
    budget, least, model, batch = 3000, 1200, staticmethod(Pool), 64
    rates = (0.001, 0.003, 0.01)

    def draw(self, B, *key):
        return sets(B, 2 + int(np.random.default_rng(key).integers(11)), *key)

    def errors(self, model, sizes, key, B):
        """Return the errors and the wanted numbers of sets of these sizes."""
        drawn = [sets(B, n, key) for n in sizes]
        error = np.concatenate([model(x).numpy() - y for x, y in drawn])
        return error, np.concatenate([y for _, y in drawn])

    def validate(self, arm, model, key=10**6):
        error, y = self.errors(model, range(2, 13), key, 100)
        return (1 - (error**2).mean(0) / y.var(0)).mean()

    def test(self, arm, model):
        at = {}
        for n in (8, 16, 64):
            error, _ = self.errors(model, [n], 3 * 10**6, 500)
            at[str(n)] = dict(zip(WANTED, np.sqrt((error**2).mean(0)).tolist()))
        error, y = self.errors(model, range(2, 13), 2 * 10**6, 300)
        share = 1 - (error**2).mean(0) / y.var(0)
        explained = dict(zip(WANTED, share.tolist()))
        return {"figure": float(share.mean()), "explained": explained, "at": at}


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


class Memory(nn.Module):
    """A memory of facts that is read once or several times.

    Keys, values and questions have one table of words. "2 hops, apart" has three, and
    adds the answer to the question.
    """

    def __init__(self, arm, rng):
        self.apart = arm.endswith("apart")
        self.add, self.hops = arm.endswith(("apart", "added")), int(arm[0])
        draws = (rng.standard_normal((3 * N, WIDTH), np.float32) for _ in "kvu")
        self.tables = [nn.Parameter(0.2 * x) for x in draws][: 3 if self.apart else 1]
        self.output = nn.Linear(WIDTH, N, rng=rng)

    def forward(self, keys, values, thing):
        """keys and values (B, 2N), thing (B,)  ->  places (B, N)"""
        tables = self.tables if self.apart else 3 * self.tables
        m, c, u = (mg.embedding(i, t) for i, t in zip((keys, values, thing), tables))
        u, self.p = attention.hops(u, m, c, hops=self.hops, add=self.add)
        return self.output(u)


class Chain(fair.Study):
    """Where is the thing? It is where the person is who has it."""

    name, question = "chain", "How often must a memory be read?"
    measure, chance = "share of right places", 1 / N
    arms = ("1 hop", "2 hops", "2 hops, added", "2 hops, apart", "3 hops")
    trivial = 0.35  # the most frequent place; the page computes it
    rates, budget, least, every = (0.003, 0.01, 0.03), 4000, 600, 25
    model, draw = staticmethod(Memory), staticmethod(facts)
    batch, held_out = 64, (1000, 1000)

    def test(self, arm, model):
        result = super().test(arm, model)
        self.figure(model, *facts(1, 7))  # one example, for a picture
        return result | {"p": model.p.numpy()[0].round(4).tolist()}


# Pictures of square patches of P x P pixels: ``shapes`` puts a coloured shape into each
# patch, and ``numbers`` one digit into each column of patches, at any row.
P = 8  # pixels of a side of a patch
SIDE = 5  # patches of a side of a picture of shapes
COLUMNS, ROWS = 3, 3  # patches of a picture of digits: one digit in each column

COLOURS = np.array(
    [
        [0.9, 0.1, 0.1], [0.1, 0.7, 0.2], [0.2, 0.3, 1.0],
        [0.9, 0.8, 0.1], [0.8, 0.2, 0.8], [0.2, 0.8, 0.9],
    ],
    np.float32,
)  # fmt: skip
NAMES = ("red", "green", "blue", "yellow", "violet", "cyan")

DIGITS = (  # five rows of three pixels each
    "111101101101111", "010110010010111", "111001111100111", "111001111001111",
    "101101111001001", "111100111001111", "111100111101111", "111001010010010",
    "111101111101111", "111101111001111",
)  # fmt: skip


@functools.cache
def outlines():
    """Return a disc, a square, a cross and a triangle: (4, P, P), of 0 and 1."""
    y, x = np.mgrid[:P, :P] - (P - 1) / 2
    disc = x**2 + y**2 < 9
    square = np.maximum(abs(x), abs(y)) < 3
    cross = (np.minimum(abs(x), abs(y)) < 1) & (np.maximum(abs(x), abs(y)) < 3)
    triangle = (abs(x) < (y + 3.5) / 2 + 0.3) & (y < 3)
    return np.stack([disc, square, cross, triangle]).astype(np.float32)


def joined(patches):
    """Put patches (B, rows, columns, P, P, C) together: (B, rows P, columns P, C)."""
    B, rows, columns, _, _, C = patches.shape
    return patches.transpose(0, 1, 3, 2, 4, 5).reshape(B, rows * P, columns * P, C)


def noisy(pictures, rng):
    return pictures + 0.1 * rng.standard_normal(pictures.shape, np.float32)


def shapes(rng, B, side=SIDE):
    """Draw pictures (B, side P, side P, 3) and the colours (B, side, side) in them."""
    colour = rng.integers(len(COLOURS), size=(B, side, side))
    outline = outlines()[rng.integers(4, size=(B, side, side))]  # (B, side, side, P, P)
    painted = outline[..., None] * COLOURS[colour][..., None, None, :]
    return noisy(joined(painted), rng), colour


@functools.cache
def glyphs():
    """Return each digit at each place in a patch: (10, 4 * 6, P, P), of 0 and 1."""
    result = np.zeros((10, 4, 6, P, P), np.float32)
    for d, word in enumerate(DIGITS):
        pixels = np.array(list(word), int).reshape(5, 3)
        for top in range(4):
            for left in range(6):
                result[d, top, left, top : top + 5, left : left + 3] = pixels
    return result.reshape(10, 24, P, P)


def numbers(rng, B):
    """Draw pictures (B, ROWS P, COLUMNS P, 1) of numbers, and shapes between digits.

    Also return the digits (B, COLUMNS), from the left, and the row of each.
    """
    digit = rng.integers(10, size=(B, COLUMNS))
    row = rng.integers(ROWS, size=(B, COLUMNS))
    place = rng.integers(24, size=(B, COLUMNS))
    is_shape = rng.random((B, ROWS, COLUMNS, 1, 1)) < 0.5  # the other places are empty
    patches = outlines()[rng.integers(4, size=(B, ROWS, COLUMNS))] * is_shape
    b, column = np.arange(B)[:, None], np.arange(COLUMNS)
    patches[b, row, column] = glyphs()[digit, place]
    return noisy(joined(patches[..., None]), rng), digit, row


# -- The colour at a row and a column --------------------------------------------------

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
    pictures, colour = shapes(np.random.default_rng(key), B)
    row, column = ROW[UNSEEN == unseen], COLUMN[UNSEEN == unseen]
    return pictures, row, column, colour[:, row, column]


class Places(fair.Study):
    """Which colour is at this row and this column?"""

    name, question = "places", "Which positions find a row and a column?"
    measure, chance = "share of right colours", 1 / 6
    arms = ("none", "a vector a place", "row + column", "RoPE", "2-D RoPE")
    trivial = 0.3  # the most frequent colour; the page computes it
    rates, budget, least, every = (0.003, 0.01, 0.03), 2000, 600, 25
    model, draw = staticmethod(Looker), staticmethod(questions)
    batch, held_out = 16, (100, 100)

    def test(self, arm, model):
        unseen = questions(100, 2 * 10**6, unseen=True)
        return super().test(arm, model) | {"unseen": self.figure(model, *unseen)}


# -- Show, attend and tell -------------------------------------------------------------


class Teller(nn.Module):
    """A GRU that looks at a picture before it writes each digit."""

    def __init__(self, arm, rng):
        n = ROWS * COLUMNS
        self.arm, self.patch = arm, network(rng, P**2, WIDTH, WIDTH)
        self.places = nn.Parameter(0.5 * rng.standard_normal((n, WIDTH), np.float32))
        self.cell = nn.GRUCell(WIDTH, WIDTH, rng=rng)
        self.first = nn.Parameter(0.5 * rng.standard_normal((1, WIDTH), np.float32))
        self.q, self.k = (nn.Linear(WIDTH, WIDTH, rng=rng) for _ in "qk")
        self.output = network(rng, 2 * WIDTH, WIDTH, 10)

    def forward(self, pictures, rng=None, soft=False):
        """pictures (B, H, W, 1)  ->  digits (B, T, 10), scores and weights (B, T, n)

        With ``rng`` the hard arms draw their patch; without, they take the best. With
        ``soft`` they average.
        """
        x = self.patch(patches(mg.Tensor(pictures), P)) + self.places
        h, rows = mg.expand(self.first, (len(x), WIDTH)), []
        k = self.k(mg.relu(x))
        for _ in range(COLUMNS):
            e = attention.scaled_dot(self.q(h)[:, None], k)  # (B, 1, n)
            p = self.normalize(e, rng, soft)
            c = (p @ x)[:, 0]  # (B, WIDTH)
            out = self.output(mg.concat([h, c], -1))
            rows.append((out[:, None], e, p))
            h = self.cell(c, h)
        return (mg.concat(each, 1) for each in zip(*rows))

    def normalize(self, e, rng, soft):
        if self.arm == "mean":
            return mg.softmax(0 * e)
        if self.arm == "soft" or soft:
            return mg.softmax(e)
        if rng is None:
            return attention.hard_weights(e, noise=np.zeros(e.shape, np.float32))
        return chosen_weights(self.arm, e, rng)


class Telling(fair.Study):
    """Write the three digits of a picture from the left; each stands in some row."""

    name, question = "telling", "Is it better to look at one patch, or at all?"
    measure, chance = "share of right digits", 1 / 10
    arms = ("mean", "soft", "gumbel", "reinforce", "reinforce, half soft")
    rates = (0.001, 0.003, 0.01)
    trivial = 0.43  # who knows the three digits and not their order
    budget, least, model = 3000, 1200, staticmethod(Teller)

    def loss_at(self, arm, run, seed, step):
        pictures, y, _ = numbers(np.random.default_rng((seed, step)), 64)
        rng = np.random.default_rng((seed, step, 7))  # of the choices
        soft = arm.endswith("half soft") and step % 2 == 0
        out, e, p = run.model(pictures, rng, soft)
        loss = mg.cross_entropy(out, y, reduction="none")  # (B, T)
        if arm.startswith("reinforce") and not soft:
            later = loss.data[:, ::-1].cumsum(1)[:, ::-1]  # what a choice may change
            b = (later.sum(0) - later) / (len(later) - 1)  # of the other pictures
            loss = loss + attention.reinforce(mg.Tensor(later), e, p, b) - later
        return loss.mean()

    def validate(self, arm, model):
        return told(model, 10**6)[0]

    def test(self, arm, model):
        right, looked = told(model, 2 * 10**6)
        pictures, *_ = numbers(np.random.default_rng(5), 1)
        out, _, p = (x.numpy()[0] for x in model(pictures))
        shown = {"p": p.round(4).tolist(), "digits": out.argmax(-1).tolist()}
        return {"figure": right, "looked": looked, "shown": shown}


def told(model, key):
    """Return the share of right digits, and the mean weight on the patch of each."""
    pictures, y, row = numbers(np.random.default_rng(key), 300)
    out, _, p = (x.numpy() for x in model(pictures))
    place = (row * COLUMNS + np.arange(COLUMNS))[..., None]
    right = out.argmax(-1) == y
    return float(right.mean()), float(np.take_along_axis(p, place, -1).mean())


STUDY = Lookup(), Pooling(), Chain(), Places(), Telling()

if __name__ == "__main__":
    study("sets", list(STUDY))

"""Which attention points, copies, goes on by one? The record of lesson 16.

    python -m lessons experiment 16

Small models, each with attention whose weights are what matters:

    sorting   point at the next larger number; 4 to 8 numbers, tested with up to 32
    names     put a sentence into other words; in the test, its names are new
    copying   copy 4 to 12 letters, of which there are three; tested with up to 48
    runs      write each run of equal letters once: aabbbc gives abc

Each arm has four learning rates, and five seeds or ten. Some six minutes on two cores.
"""

import functools

import numpy as np

import attention
import minigrad as mg
from lessons.classroom.studies import study
from lessons.instrument import fair
from lessons.instrument.draws import pick, shuffled
from minigrad import nn

D = 32  # width of embeddings, states and scores


class Sorter(nn.Module):
    """Point at the next number; the state is the number that was chosen last."""

    def __init__(self, arm, rng):
        self.arm, self.masked = arm, "no mask" not in arm
        if arm.startswith("additive"):
            self.pointer = attention.Pointer(1, 1, D, bias=True, rng=rng)
        else:
            self.W_q, self.W_k = nn.Linear(1, D, rng=rng), nn.Linear(1, D, rng=rng)

    def forward(self, last, x, left):
        """last (B, L, 1), x (B, n, 1), left (B, L, n)  ->  scores (B, L, n)"""
        allowed = left if self.masked else None
        if self.arm.startswith("additive"):
            return self.pointer(last, x, allowed)
        q, k = self.W_q(last), self.W_k(x)
        if "tanh" in self.arm:
            q, k = mg.tanh(q), mg.tanh(k)
        u = attention.dot(q, k)
        return u if allowed is None else mg.where(allowed, u, -np.inf)


START = -5.0  # the state before the first choice; the numbers lie between -4 and 4


def numbers(B, n, *key):
    """Draw numbers x (B, n, 1); return last (B, n, 1), x, left (B, n, n), places."""
    x = np.random.default_rng(key).uniform(-4, 4, (B, n)).astype(np.float32)
    places = x.argsort(1)
    first = np.full((B, 1), START, np.float32)
    last = np.concatenate([first, pick(x, places)[:, :-1]], 1)
    return last[..., None], x[..., None], attention.not_chosen(places, n), places


def sort(model, x):
    """Let a model choose all elements of x (B, n, 1) by itself; return the places."""
    B, n, _ = x.shape
    rows, left = np.arange(B), np.ones((B, 1, n), bool)
    last, places = np.full((B, 1, 1), START, np.float32), []
    for _ in range(n):
        chosen = model(last, x, left).numpy().argmax(-1)[:, 0]  # (B,)
        places.append(chosen)
        left[rows, 0, chosen] = False
        last = x[rows, chosen][:, None]
    return np.stack(places, 1)


class Sorting(fair.Study):
    """Point at the numbers of a list in their order."""

    name, question = "sorting", "Which score can point at the next larger number?"
    measure, chance = "share of right next elements of 8", 1 / 8
    arms = (
        "additive", "dot", "additive, no mask", "dot, no mask",
        "dot of tanh, no mask",
    )  # fmt: skip
    rates, every, warmup = (0.003, 0.01, 0.03, 0.1), 50, 50
    trivial = 2 / 8  # the smallest and the largest
    budget = least = 5000  # some curves rise slowly for thousands of steps
    model, batch = staticmethod(Sorter), 64

    def draw(self, B, *key):
        return numbers(B, int(np.random.default_rng(key).integers(4, 9)), *key)

    def validate(self, arm, model):
        return pointed(model, 200, 8, 10**6)["next"]

    def test(self, arm, model):
        at = {str(n): pointed(model, 500, n, 2 * 10**6) for n in (8, 16, 32)}
        return {"figure": at["8"]["next"], "at": at}


def pointed(model, B, n, key):
    """Return the share of right next elements, and of lists that are sorted alone."""
    *inputs, places = numbers(B, n, key)
    right = model(*inputs).numpy().argmax(-1) == places
    whole = (sort(model, inputs[1]) == places).all(1)
    return {"next": float(right.mean()), "sorted": float(whole.mean())}


class Decoder(nn.Module):
    """Encode x with a GRU; decode with a GRU cell that attends before each output.

        s_t = GRUCell([embedding of y_(t-1), c_(t-1)], s_(t-1))
        c_t = attention from s_t over the states of the encoder
        z_t = W [s_t, c_t]

    kind   additive, location, monotonic or MoChA
    """

    def __init__(self, kind, words, outputs, rng):
        self.kind = kind
        self.embedding = nn.Embedding(words, D, rng=rng)
        self.encoder = nn.GRU(D, D, rng=rng)
        self.cell = nn.GRUCell(2 * D, D, rng=rng)
        layer = {
            "additive": attention.AdditiveAttention,
            "location": attention.LocationAttention,
            "monotonic": attention.MonotonicAttention,
            "MoChA": attention.MoChA,
        }[kind]
        self.attention = layer(D, D, D, rng=rng)
        self.output = nn.Linear(2 * D, outputs, rng=rng)

    def start(self, x):
        """Return the encoder's states (B, S, D), and the decoder's state at first."""
        h, _ = self.encoder(self.embedding(x))
        s = c = mg.Tensor(np.zeros((len(x), D), np.float32))
        keys = h
        if self.kind in ("additive", "location"):
            keys = self.attention.precompute(h)
        return (keys, h), (s, c, None, None)

    def step(self, y, source, state, hard=False):
        """y (B,): the last word  ->  [s_t, c_t] (B, 2 D), its embedding, the state"""
        (keys, h), (s, c, a, total) = source, state
        y = self.embedding(y)
        s = self.cell(mg.concat([y, c], -1), s)
        if self.kind == "location":
            c, a = self.attention.step(s, keys, h, total, a)
            total = a if total is None else total + a
        elif self.kind == "additive":
            projected, score = self.attention.keys_and_score(keys)
            c, a = attention.attend(s[:, None], projected, h, score)
            c, a = c[:, 0], a[:, 0]
        else:
            c, a = self.attention(s[:, None], keys, h, before=a, hard=hard)
            c, a = c[:, 0], a[:, 0]
        return mg.concat([s, c], -1), y, (s, c, a, total)

    def forward(self, x, before, hard=False):
        """x (B, S), before (B, L): the words before  ->  scores z (B, L, outputs)"""
        source, state = self.start(x)
        steps, self.places = [], []
        for t in range(before.shape[1]):
            both, _, state = self.step(before[:, t], source, state, hard)
            steps.append(both)
            self.places.append(state[2].numpy().argmax(-1))  # of the largest weight
        return self.output(mg.stack(steps, 1))


LETTERS = 3  # of a copy
OTHERS = 4  # letters of runs


@functools.cache
def letters(task, B, n, *key):
    """Draw x (B, S), the letters before (B, n) and the right letters (B, n)."""
    rng = np.random.default_rng(key)
    if task == "copying":
        x = y = rng.integers(LETTERS, size=(B, n))
        first = LETTERS
    else:  # neighbours differ; 2.5 letters a run on average, no run is empty
        y = (rng.integers(OTHERS, size=(B, 1)) + np.pad(
            rng.integers(1, OTHERS, size=(B, n - 1)).cumsum(1), [(0, 0), (1, 0)]
        )) % OTHERS  # fmt: skip
        S = 5 * n // 2
        ends = 1 + shuffled(rng, B, S - 1)[:, : n - 1]
        begins = np.zeros((B, S), int)
        np.put_along_axis(begins, ends, 1, 1)
        x = pick(y, begins.cumsum(1))
        first = OTHERS
    before = np.pad(y[:, :-1], [(0, 0), (1, 0)], constant_values=first)
    return x, before, y


class Letters(fair.Study):
    """Write letters from left to right; what ``Copying`` and ``Runs`` share."""

    measure = "share of right letters, twice as many as in training"
    rates, every, warmup = (0.003, 0.006, 0.012, 0.024), 25, 25
    budget, least = 2000, 1000
    kinds = shortest = longest = 0

    def model(self, arm, rng):
        return Decoder(arm, self.kinds + 1, self.kinds, rng)

    def draw(self, B, *key):
        n = np.random.default_rng(key).integers(self.shortest, self.longest + 1)
        return letters.__wrapped__(self.name, B, int(n), *key)

    def validate(self, arm, model):
        return self.share(model, 100, 2 * self.longest, 10**6)

    def share(self, model, B, n, key, hard=False):
        """Return the share of right letters, each after the right letters before."""
        x, before, y = letters(self.name, B, n, key)
        return self.figure(model, x, before, hard, y)

    def by_length(self, model, hard=False):
        """Return {length: share} as in training, twice and four times as long."""
        sizes = [k * self.longest for k in (1, 2, 4)]
        return {str(n): self.share(model, 200, n, 2 * 10**6, hard) for n in sizes}

    def test(self, arm, model):
        at = self.by_length(model)
        found = {"figure": at[str(2 * self.longest)], "at": at}
        if arm in ("monotonic", "MoChA"):
            found["hard"] = self.by_length(model, hard=True)
        return found


class Copying(Letters):
    """Copy strings of three letters, so that many neighbours are equal."""

    name, question = "copying", "Which attention can go on by one among equal keys?"
    arms = ("additive", "location", "monotonic")
    kinds, shortest, longest = LETTERS, 4, 12
    chance = 1 / LETTERS

    def test(self, arm, model):
        """Measure also, at each of 48 letters, where attention is and what is right."""
        found, n = super().test(arm, model), 4 * self.longest
        x, before, y = letters(self.name, 200, n, 2 * 10**6)
        right = model(x, before, arm == "monotonic").numpy().argmax(-1) == y
        off = np.abs(np.stack(model.places, 1) - np.arange(n))  # (B, L)
        return found | {"right": right.mean(0).tolist(), "off": off.mean(0).tolist()}


class Runs(Letters):
    """Write each run of equal letters once."""

    name, question = "runs", "Which attention can go on to the next run?"
    arms = ("additive", "location", "monotonic", "MoChA")
    kinds, shortest, longest = OTHERS, 2, 6
    chance, trivial = 1 / OTHERS, 1 / (OTHERS - 1)  # not the letter before


VERBS, ADVERBS = 6, 4
IS, BY, END, UNKNOWN = range(2 * (VERBS + ADVERBS), 2 * (VERBS + ADVERBS) + 4)
FRAME = UNKNOWN + 1  # words that are no names
GROUPS = {"frequent": range(15), "rare": range(15, 30), "new": range(30, 45)}  # names
SEEN = range(30)  # those of the training


def sentences(B, clauses, names, *key):
    """Draw source (B, S) and target (B, L); name k is the number FRAME + k.

    "Anna praises Bo often" becomes "Bo is praised by Anna often", in words of another
    language: the number after that of a verb or an adverb translates it. The adverb may
    have any place in the source.
    """
    rng = np.random.default_rng(key)
    source, target = [], []
    for _ in range(clauses):
        a, b = FRAME + rng.choice(names, (2, B))
        verb = 2 * rng.integers(VERBS, size=B)
        adverb = 2 * (VERBS + rng.integers(ADVERBS, size=B))
        place = rng.integers(4, size=B) - 0.5  # the others have the places 0, 1, 2
        order = np.stack([np.full(B, 0), np.full(B, 1), np.full(B, 2), place], 1)
        words = np.stack([a, verb, b, adverb], 1)
        source.append(pick(words, order.argsort(1)))
        be, by = np.full(B, IS), np.full(B, BY)
        target.append(np.stack([b, be, verb + 1, by, a, adverb + 1], 1))
    end = [np.full((B, 1), END)]
    return np.concatenate(source + end, 1), np.concatenate(target + end, 1)


class Writer(Decoder):
    """Write words of a vocabulary, or copy words of the source.

    A name k with k >= known is not in the vocabulary of V words. It has the number V
    plus its first place in the source; as an input it is the word UNKNOWN.

    copies   whether words may be copied; if not, an unknown name is the word UNKNOWN
    """

    def __init__(self, known, copies, rng):
        self.V = FRAME + known
        super().__init__("additive", self.V, self.V, rng)
        self.copies = copies
        if copies:
            self.gate = nn.Linear(3 * D, 1, rng=rng)

    def numbered(self, source, target):
        """Return both with the numbers V, V + 1, ... for names that V words lack."""
        first = (source[:, None] == source[:, :, None]).argmax(2)  # (B, S)
        of_target = (source[:, None] == target[:, :, None]).argmax(2)  # (B, L)
        return (
            np.where(source < self.V, source, self.V + first),
            np.where(target < self.V, target, self.V + of_target),
        )

    def as_input(self, words):
        return np.where(words < self.V, words, UNKNOWN)

    def parts(self, y, source, state):
        """Return the logits z (B, V), the weights a (B, S), r (B,), and the state."""
        both, y, state = self.step(self.as_input(y), source, state)
        r = self.gate(mg.concat([both, y], -1))[:, 0] if self.copies else None
        return self.output(both), state[2], r, state

    def loss(self, source, target):
        """Return the mean of -ln P over all words of the target."""
        source, target = self.numbered(source, target)
        encoded, state = self.start(self.as_input(source))
        y, losses = np.full(len(source), END), []
        for word in target.T:
            z, a, r, state = self.parts(y, encoded, state)
            if self.copies:
                losses.append(attention.copy_loss(z, a, r, source, word).mean())
            else:
                losses.append(mg.cross_entropy(z, self.as_input(word)))
            y = word
        return mg.stack(losses).mean()

    def write(self, source, target):
        """Write each sentence by itself; return the share of right ones.

        Also the gates lambda at each word of the target, (B, L) or ().
        """
        source, target = self.numbered(source, target)
        encoded, state = self.start(self.as_input(source))
        y, right, gates = np.full(len(source), END), np.full(len(source), True), []
        for word in target.T:
            z, a, r, state = self.parts(y, encoded, state)
            P = z
            if self.copies:
                words = self.V + source.shape[1]
                P = attention.copy_probabilities(z, a, r, source, words)
                gates.append(mg.sigmoid(r).numpy())
            y = P.numpy().argmax(-1)
            right = right & (y == word)
        return right.mean(), np.array(gates).T


class Names(fair.Study):
    """Put a sentence into other words, and keep its names."""

    name, question = "names", "Can a model write names that are new?"
    measure, chance = "share of right sentences with new names", 0.0
    arms = ("write", "copy", "copy, all known")
    choosing, seeds = (101, 102, 103), tuple(range(1, 11))
    rates, every, warmup = (0.003, 0.006, 0.012, 0.024), 25, 25
    budget, least = 1000, 600

    def model(self, arm, rng):
        known = len(SEEN) if "all known" in arm else len(GROUPS["frequent"])
        return Writer(known, "copy" in arm, rng)

    def draw(self, B, seed, step):
        return sentences(B, 1 + step % 2, SEEN, seed, step)

    def loss(self, model, source, target):
        return model.loss(source, target)

    def validate(self, arm, model):
        """Write sentences with names of the three groups."""
        return np.mean([written(model, GROUPS[g], 50, 10**6) for g in GROUPS])

    def watch(self, arm, model):
        return {"new": written(model, GROUPS["new"], 50, 10**6)}

    def test(self, arm, model):
        at = {g: written(model, GROUPS[g], 300, 2 * 10**6) for g in GROUPS}
        found = {"figure": at["new"], "at": at}
        if model.copies:
            found["gates"] = {g: gates(model, GROUPS[g]) for g in ("frequent", "new")}
        return found


def written(model, names, B, key):
    """Return the share of right sentences of two clauses."""
    return float(model.write(*sentences(B, 2, names, key))[0])


def gates(model, names):
    """Return the mean probability to write, at names and at the other words."""
    source, target = sentences(300, 2, names, 2 * 10**6)
    _, each = model.write(source, target)
    return [float(each[of].mean()) for of in (target >= FRAME, target < FRAME)]


if __name__ == "__main__":
    study("pointing", [Sorting(), Names(), Copying(), Runs()])

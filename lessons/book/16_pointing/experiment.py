"""Which attention points, copies, goes on by one? The record of lesson 16.

    python -m lessons experiment 16

Small models, each with attention whose weights are what matters:

    sorting   point at the next larger number; 4 to 8 numbers, tested with up to 32
    names     put a sentence into other words; in the test, its names are new
    copying   copy 4 to 12 letters, of which there are three; tested with up to 48

Three learning rates and five seeds. Some six minutes on two cores.
"""

import numpy as np

import attention
import minigrad as mg
from lessons.classroom.studies import study
from lessons.instrument import fair
from lessons.instrument.draws import pick
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
        u = attention.dot(self.W_q(last), self.W_k(x))
        return u if allowed is None else mg.where(allowed, u, -np.inf)


START = -5.0  # the state before the first choice; the numbers lie between -4 and 4


class Sorting(fair.Study):
    """Point at the numbers of a list in their order."""

    name, question = "sorting", "Which score can point at the next larger number?"
    measure, chance = "share of right next elements of 8", 1 / 8
    arms = "additive", "dot", "additive, no mask", "dot, no mask"
    rates, budget, every = (0.01, 0.03, 0.1), 3000, 200
    trivial = 2 / 8  # the smallest and the largest
    model = staticmethod(Sorter)

    def draw(self, B, *key, n=None):
        """Draw last (B, n, 1), numbers x (B, n, 1), left (B, n, n), places (B, n)."""
        rng = np.random.default_rng(key)
        x = rng.uniform(-4, 4, (B, n or rng.integers(4, 9))).astype(np.float32)
        places = x.argsort(1)
        first = np.full((B, 1), START, np.float32)
        last = np.concatenate([first, pick(x, places)[:, :-1]], 1)
        left = attention.not_chosen(places, x.shape[1])
        return last[..., None], x[..., None], left, places

    def validate(self, arm, model):
        return self.figure(model, *self.draw(200, 10**6, n=8))

    def test(self, arm, model):
        lists = {str(n): self.draw(500, 2 * 10**6, n=n) for n in (8, 16, 32)}
        at = {n: self.figure(model, *each) for n, each in lists.items()}
        return {"figure": at["8"], "at": at}


class Decoder(nn.Module):
    """Encode x with a GRU; decode with a GRU cell that attends before each output.

        s_t = GRUCell([embedding of y_(t-1), c_(t-1)], s_(t-1))
        c_t = attention from s_t over the states of the encoder
        z_t = W [s_t, c_t]

    kind   additive, location or monotonic
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


LETTERS = 3  # so that many neighbours are equal


class Copying(fair.Study):
    """Copy strings of three letters, of 4 to 12 in training."""

    name, question = "copying", "Which attention can go on by one among equal keys?"
    measure, chance = "share of right letters, 48", 1 / LETTERS
    arms = "additive", "location", "monotonic"
    rates, budget, every = (0.003, 0.006, 0.012), 800, 100
    ceiling = np.inf  # what is solved with 12 letters may still change with 48
    longest = 12

    def model(self, arm, rng):
        return Decoder(arm, LETTERS + 1, LETTERS, rng)

    def draw(self, B, *key, n=None):
        """Draw x (B, n), and the letters before; the right letters are x again."""
        rng = np.random.default_rng(key)
        x = rng.integers(LETTERS, size=(B, n or rng.integers(4, self.longest + 1)))
        return x, np.pad(x[:, :-1], [(0, 0), (1, 0)], constant_values=LETTERS), x

    def validate(self, arm, model):
        return self.figure(model, *self.draw(200, 10**6, n=self.longest))

    def test(self, arm, model):
        """Measure the shares by length; and of 48, where attention is, and is right.

        Each letter is written after the right letters before. Monotonic reads hard.
        """
        at = {}
        for n in (self.longest, 2 * self.longest, 4 * self.longest):
            x, before, y = self.draw(200, 2 * 10**6, n=n)
            right = model(x, before, arm == "monotonic").numpy().argmax(-1) == y
            at[str(n)] = float(right.mean())
        off = np.abs(np.stack(model.places, 1) - np.arange(n))  # (B, L)
        found = {"figure": at[str(n)], "at": at, "off": off.mean(0).tolist()}
        return found | {"right": right.mean(0).tolist()}


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
    """

    def __init__(self, known, rng):
        self.V = FRAME + known
        super().__init__("additive", self.V, self.V, rng)
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
        r = self.gate(mg.concat([both, y], -1))[:, 0]
        return self.output(both), state[2], r, state

    def loss(self, source, target):
        """Return the mean of -ln P over all words of the target."""
        source, target = self.numbered(source, target)
        encoded, state = self.start(self.as_input(source))
        y, losses = np.full(len(source), END), []
        for word in target.T:
            z, a, r, state = self.parts(y, encoded, state)
            losses.append(attention.copy_loss(z, a, r, source, word).mean())
            y = word
        return mg.stack(losses).mean()

    def write(self, source, target):
        """Write each sentence by itself; return the share of right ones.

        Also the gates lambda at each word of the target, (B, L).
        """
        source, target = self.numbered(source, target)
        encoded, state = self.start(self.as_input(source))
        y, right, gates = np.full(len(source), END), np.full(len(source), True), []
        for word in target.T:
            z, a, r, state = self.parts(y, encoded, state)
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
    arms = "copy", "copy, all known"
    rates, budget, every = (0.003, 0.006, 0.012), 800, 100

    def model(self, arm, rng):
        return Writer(len(SEEN if "all known" in arm else GROUPS["frequent"]), rng)

    def draw(self, B, seed, step):
        return sentences(B, 1 + step % 2, SEEN, seed, step)

    def loss(self, model, source, target):
        return model.loss(source, target)

    def validate(self, arm, model):
        """Write sentences with names of the three groups."""
        return np.mean([written(model, GROUPS[g], 50, 10**6) for g in GROUPS])

    def test(self, arm, model):
        """Return the shares, and the mean gates, by the group of the names."""
        at = {g: written(model, GROUPS[g], 300, 2 * 10**6) for g in GROUPS}
        each = {g: gates(model, GROUPS[g]) for g in ("frequent", "new")}
        return {"figure": at["new"], "at": at, "gates": each}


def written(model, names, B, key):
    """Return the share of right sentences of two clauses."""
    return float(model.write(*sentences(B, 2, names, key))[0])


def gates(model, names):
    """Return the mean probability to write, at names and at the other words."""
    source, target = sentences(300, 2, names, 2 * 10**6)
    _, each = model.write(source, target)
    return [float(each[of].mean()) for of in (target >= FRAME, target < FRAME)]


if __name__ == "__main__":
    study("pointing", [Sorting(), Names(), Copying()])

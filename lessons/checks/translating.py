"""The definitions, the small training and the long one of the check of 6.9."""

import contextlib
import math

import numpy as np

import minigrad as mg
from attention import kernels
from attention.tasks.batch import EOS, PAD, SOS, pad
from attention.tasks.batching import in_order
from attention.tasks.grammar import generate
from attention.tasks.vocabulary import Vocabulary
from lessons.checks.attending import softmax
from minigrad import optim

B, S, V, E, D, M, A = 3, 7, 19, 5, 11, 13, 17
BUCKETS = ((5, 7), (8, 10), (11, 15))
KINDS = {"without": False, "with": True}  # attention


def parameters(rng, attends, sizes=(V, E, D, M, A), scale=0.5):
    V, E, D, M, A = sizes
    c = M if attends else 0
    shapes = {"E": (V, E), "W_ih": (3 * D, E + c), "W_hh": (3 * D, D), "b_ih": (3 * D,),
              "b_hh": (3 * D,), "W_o": (V, D + c), "b_o": (V,)}  # fmt: skip
    if attends:
        shapes |= {"W_s": (A, D), "W_h": (A, M), "v": (A,)}
    return {name: scale * rng.normal(size=shape) for name, shape in shapes.items()}


def by_loop(
    p, y, s, H, mask, weigh=softmax, after="new", order=1, read=1, query=1, bend=np.tanh
):
    """Return logits and state; each option adds one mistake.

    weigh   (scores, mask) -> weights
    """
    logits, states = [], []
    for b in range(len(y)):
        parts = [p["E"][y[b]]]
        if "W_s" in p:
            projected = query * (p["W_s"] @ s[b])
            scores = [p["v"] @ bend(projected + p["W_h"] @ h) for h in H[b]]
            alpha = weigh(np.array(scores), mask[b])
            parts.append(sum(a * h for a, h in zip(alpha, H[b])))
        x = np.concatenate(parts[::order])
        i_r, i_z, i_n = np.split(p["W_ih"] @ x + p["b_ih"], 3)
        h_r, h_z, h_n = np.split(p["W_hh"] @ s[b] + p["b_hh"], 3)
        r, u = 1 / (1 + np.exp(-i_r - h_r)), 1 / (1 + np.exp(-i_z - h_z))
        new = (1 - u) * np.tanh(i_n + r * h_n) + u * s[b]
        parts[0] = new if after == "new" else s[b]
        logits.append(p["W_o"] @ np.concatenate(parts[::read]) + p["b_o"])
        states.append(new)
    return np.array(logits), np.array(states)


def bleu_by_loop(
    refs,
    hyps,
    order=4,
    clip=True,
    brevity="right",
    mean="log",
    over="h",
    whose="own",
    more=0,
    kept=(),
    orders=None,
):
    """Return BLEU, counted by loops; each option adds one mistake.

    kept     which counts are those of the last sentence alone: "right", "said"
    orders   the n of the n-grams
    """
    by_own = refs
    if whose != "own":
        refs = [sum(refs, []) if whose == "all" else refs[0]] * len(refs)
    precisions = []
    counts = []
    for n in orders or range(1, order + 1):
        right = said = 0
        for ref, hyp in zip(refs, hyps):
            right, said = right * ("right" not in kept), said * ("said" not in kept)
            theirs = [ref[i : i + n] for i in range(len(ref) - n + 1)]
            ours = [hyp[i : i + n] for i in range(len(hyp) - n + 1)]
            said += len({"h": ours, "r": theirs, "words": hyp,
                         "distinct": set(map(tuple, ours))}[over])  # fmt: skip
            if clip == "theirs":
                ours = [gram for gram in theirs if gram in ours]
            if clip == "once":
                ours = [list(gram) for gram in set(map(tuple, ours))]
            for gram in ours:  # each right one removes one from the reference
                right += gram in theirs
                if gram in theirs and clip:
                    theirs.remove(gram)
        precisions.append((right + more) / (said + more) if said + more else 0.0)
        counts.append((right, said))
    refs = by_own
    c, r = sum(map(len, hyps)), sum(map(len, refs))
    if brevity == "longer":
        r = sum(max(map(len, pair)) for pair in zip(refs, hyps))
    if not all(precisions) or not c:
        return 0.0
    factor = {"none": 1.0, "inverted": c / r}.get(brevity, r / c)
    if brevity == "above":
        factor = min(1.0, c / r)
    most = math.inf if brevity in ("unbounded", "above") else 1.0
    logs, total = sum(map(math.log, precisions)), [sum(x) for x in zip(*counts)]
    whole = {"log": math.exp(logs / order), "product": math.exp(logs),
             "fourth": math.exp(logs / 4), "of-orders": math.exp(logs / len(counts)),
             "root-twice": math.exp(logs / order / 2), "least": min(precisions),
             "log2": math.exp(logs / order / math.log(2)), "logs": logs / order,
             "total": total[0] / total[1],
             "plain": sum(precisions) / order}[mean]  # fmt: skip
    if brevity in ("quotient", "no-one", "growing"):
        exponent = {"quotient": math.log(c / r), "no-one": -r / c, "growing": r / c - 1}
        return min(1.0, math.exp(exponent[brevity])) * whole
    return min(most, math.exp(1 - factor)) * whole


class Tensors(dict):
    """Parameters by name, printed as p in a report."""

    def __repr__(self):
        return "p"


@contextlib.contextmanager
def plainly():
    """Print Tensors in short form and load no kernel: both take time."""
    with np.printoptions(threshold=4, edgeitems=1), kernels.backend("numpy"):
        yield


def overfit(my, attends, steps=25, width=32, rate=0.04):
    """Return the losses of Adam on eight pairs, with the learner's decoder step."""
    pairs = generate("english-german", 22, seed=1)[::3]
    rng, sides = np.random.default_rng(5), []
    for words in ([p.source for p in pairs], [p.target for p in pairs]):
        ids = {w: i + 3 for i, w in enumerate(sorted(set(sum(words, ()))))}
        sides.append(([[ids[w] for w in line] for line in words], len(ids) + 3))
    (source, n_s), (target, n_t) = sides
    lengths = np.array([len(x) for x in source])
    padded = np.array([x + [0] * (lengths.max() - len(x)) for x in source])
    mask = np.arange(lengths.max()) < lengths[:, None]
    longest = max(map(len, target)) + 1
    out = np.array([t + [2] + [0] * (longest - len(t) - 1) for t in target])
    words_in = np.concatenate([np.ones((len(out), 1), int), out[:, :-1]], 1)
    own = parameters(rng, attends, (n_t, 16, width, width, 16), 0.3)
    p = Tensors({k: mg.nn.Parameter(a.astype(np.float32)) for k, a in own.items()})
    embed, encoder = mg.nn.Embedding(n_s, 16, rng=rng), mg.nn.GRU(16, width, rng=rng)
    every = [*p.values(), *embed.parameters(), *encoder.parameters()]
    optimizer, losses = optim.Adam(every, lr=rate), []
    for _ in range(steps):
        H, last = encoder(embed(padded), lengths=lengths)
        s, logits = last[0], []
        for t in range(longest):
            step_logits, s = my.decode_step(p, words_in[:, t], s, H, mask)
            logits.append(step_logits)
        loss = mg.cross_entropy(mg.stack(logits, 1), out, ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# the long run: 500 pairs, 20 epochs, the learner's decoder step and data split

PAIRS, TEST, EPOCHS, BATCH, RATE = 500, 200, 20, 20, 5e-3
WIDTH, EMBEDDING = 64, 32


class Corpus:
    """Pairs of words, split by the learner's ``hold_out``, and two vocabularies."""

    def __init__(self, my):
        drawn = generate("english-german", PAIRS + TEST + 100, seed=1)
        words = [(tuple(pair.source), tuple(pair.target)) for pair in drawn]
        unseen, self.test = my.hold_out(words, TEST)
        self.train = unseen[:PAIRS]
        self.source = Vocabulary.build([s for s, _ in self.train])
        self.target = Vocabulary.build([t for _, t in self.train])

    def ids(self, pairs):
        """Return [(ids of the source, ids of the target)]."""
        return [(self.source.encode(s), self.target.encode(t)) for s, t in pairs]


class Model:
    """An encoder, and the parameters of the learner's ``decode_step``.

    encoder   "gru": one layer in both directions; "lstm": two layers, as in the chapter
    """

    def __init__(self, my, corpus, attends, encoder, seed, width=WIDTH):
        rng = np.random.default_rng(seed)
        self.my, self.width = my, width
        self.embed = mg.nn.Embedding(len(corpus.source), EMBEDDING, rng=rng)
        if encoder == "lstm":
            self.encoder = mg.nn.LSTM(EMBEDDING, width, num_layers=2, rng=rng)
        else:
            self.encoder = mg.nn.GRU(EMBEDDING, width, bidirectional=True, rng=rng)
        memory = width * self.encoder.directions
        sizes = len(corpus.target), EMBEDDING, width, memory, width
        own = parameters(rng, attends, sizes, 0.1)
        self.p = Tensors(
            {k: mg.nn.Parameter(a.astype(np.float32)) for k, a in own.items()}
        )
        self.bridge = mg.nn.Linear(memory, width, rng=rng)

    def parameters(self):
        layers = self.embed, self.encoder, self.bridge
        return [*self.p.values(), *(w for layer in layers for w in layer.parameters())]

    def start(self, source, lengths):
        """Return the first state, the states of the encoder, and the mask."""
        H, last = self.encoder(self.embed(source), lengths=lengths)
        last = last[0] if isinstance(last, tuple) else last  # (h, c) of the LSTM
        count = self.encoder.directions
        top = mg.concat([last[k] for k in range(-count, 0)], axis=-1)
        mask = np.arange(source.shape[1]) < lengths[:, None]
        return mg.tanh(self.bridge(top)), H, mask

    def loss(self, batch):
        s, H, mask = self.start(batch.source, batch.lengths)
        rows = []
        for words in batch.target_in.T:
            logits, s = self.my.decode_step(self.p, words, s, H, mask)
            rows.append(logits)
        return mg.cross_entropy(mg.stack(rows, 1), batch.target_out, ignore_index=PAD)

    def translate(self, sources, longest=24):
        """Return the most probable words, step by step: a list of ids for each."""
        source, lengths = pad(sources)
        with mg.no_grad():
            s, H, mask = self.start(source, lengths)
            words, said = np.full(len(sources), SOS), []
            for _ in range(longest):
                logits, s = self.my.decode_step(self.p, words, s, H, mask)
                words = logits.numpy()[:, EOS:].argmax(1) + EOS
                said.append(words)
        rows = [list(row) for row in np.array(said).T]
        return [row[: row.index(EOS)] if EOS in row else row for row in rows]


def train(my, corpus, attends, encoder, seed, epochs=EPOCHS, width=WIDTH):
    """Train a ``Model`` with Adam; return its losses and its translations of the test.

    The rate falls to 0 in a straight line.
    """
    model = Model(my, corpus, attends, encoder, seed, width)
    optimizer, losses = optim.Adam(model.parameters(), lr=RATE), []
    pairs, rng = corpus.ids(corpus.train), np.random.default_rng(seed)
    steps = epochs * math.ceil(len(pairs) / BATCH)
    for _ in range(epochs):
        order = rng.permutation(len(pairs))
        for k in range(0, len(pairs), BATCH):
            optimizer.lr = RATE * (1 - len(losses) / steps)
            rows = [pairs[i] for i in order[k : k + BATCH]]
            [batch] = in_order(rows, BATCH)
            loss = model.loss(batch)
            optimizer.zero_grad()
            loss.backward()
            optim.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
    said = model.translate([source for source, _ in corpus.ids(corpus.test)])
    return losses, [corpus.target.decode(row) for row in said]


def summary(runs):
    """Return the table of BLEU, its advantage, and a sentence.

    -> {"bleu": {kind: {bucket: [lowest, mean, highest]}}, of the seeds,
        "advantage": {bucket: [...]}, "growth": [...], "statement": …}
    """
    buckets = list(runs[0]["bleu"])

    def spread(numbers):
        return [min(numbers), sum(numbers) / len(numbers), max(numbers)]

    of = {kind: [r["bleu"] for r in runs if r["kind"] == kind] for kind in KINDS}
    gains = [
        {b: after[b] - before[b] for b in buckets}
        for before, after in zip(of["without"], of["with"])
    ]
    growth = spread([gain[buckets[-1]] - gain[buckets[0]] for gain in gains])
    low, mean, high = spread([gain[buckets[-1]] for gain in gains])
    how = (
        "grows" if growth[0] > 0 else "shrinks" if growth[2] < 0 else "does not change"
    )
    statement = (
        f"On sources of {buckets[-1]} words, attention changes BLEU by {mean:+.1f} "
        f"({low:+.1f} to {high:+.1f} over {len(gains)} seeds). From {buckets[0]} to "
        f"{buckets[-1]} words its advantage {how} in all seeds: it changes by "
        f"{growth[1]:+.1f} ({growth[0]:+.1f} to {growth[2]:+.1f})."
    )
    if how == "does not change":
        statement = statement.replace(
            "does not change in all seeds", "grows in some seeds only"
        )
    return {
        "bleu": {k: {b: spread([s[b] for s in of[k]]) for b in buckets} for k in KINDS},
        "advantage": {b: spread([gain[b] for gain in gains]) for b in buckets},
        "growth": growth,
        "statement": statement,
    }


def table(found):
    """Return the BLEU of both kinds for each length of the source, as text."""
    buckets = list(found["advantage"])
    lines = [f"{'BLEU':<10}" + "".join(f"{b + ' words':>22}" for b in buckets)]
    rows = {**found["bleu"], "advantage": found["advantage"]}
    for name, cells in rows.items():
        row = (f"{m:8.1f} ({a:5.1f},{z:5.1f})" for a, m, z in cells.values())
        lines.append(f"{name:<10}" + "".join(f"{cell:>22}" for cell in row))
    return "\n".join(lines)

"""The definitions, the small training and the long one of the check of 6.9."""

import contextlib
import functools
import math
from collections import Counter

import numpy as np

import minigrad as mg
from attention import kernels
from attention.app.experiments.fair import difference
from attention.app.experiments.verdict import above
from attention.tasks.batch import EOS, PAD, SOS, pad
from attention.tasks.batching import Batches
from attention.tasks.grammar import generate
from attention.tasks.vocabulary import Vocabulary
from attention.training import Run
from lessons.checks.attending import softmax
from lessons.course.long_runs import OwnModels, judged
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


# the long run: 500 pairs, the learner's decoder step and data split

PAIRS, UNSEEN, BATCH = 500, 200, 20
SHOWN = 2  # translations of a run that are printed
WIDTHS, EMBEDDING = {"without": 90, "with": 64}, 32  # nearly equally many parameters


class Corpus:
    """Pairs of words, split by the learner's ``hold_out``, and two vocabularies."""

    def __init__(self, my):
        drawn = generate("english-german", PAIRS + 3 * UNSEEN, seed=1)
        words = [(tuple(pair.source), tuple(pair.target)) for pair in drawn]
        others, self.test = my.hold_out(words, UNSEEN)
        others, self.validation = my.hold_out(others, UNSEEN)
        self.train = others[:PAIRS]
        self.alignments = [p.alignment for w, p in zip(words, drawn) if w in self.train]
        self.source = Vocabulary.build([s for s, _ in self.train])
        self.target = Vocabulary.build([t for _, t in self.train])

    def word_by_word(self, pairs):
        """Translate each word of the sources by the word that it was linked with most.

        That is the trivial solution: it keeps the order, and reads no other word.
        """
        linked = {}
        for (source, target), alignment in zip(self.train, self.alignments):
            for t, s in alignment:
                linked.setdefault(source[s], Counter())[target[t]] += 1
        return [
            [linked[w].most_common(1)[0][0] for w in source if w in linked]
            for source, _ in pairs
        ]

    def ids(self):
        """Return [(ids of the source, ids of the target)] of the training."""
        return [(self.source.encode(s), self.target.encode(t)) for s, t in self.train]


class Model(mg.nn.Module):
    """An encoder, and the parameters of the learner's ``decode_step``.

    encoder   "gru": one layer in both directions; "lstm": two layers, as in the chapter
    """

    def __init__(self, my, corpus, kind, seed):
        rng, width = np.random.default_rng(seed), WIDTHS[kind]
        self.step, self.corpus = my.decode_step, corpus
        self.embed = mg.nn.Embedding(len(corpus.source), EMBEDDING, rng=rng)
        if my.ENCODER == "lstm":
            self.encoder = mg.nn.LSTM(EMBEDDING, width, num_layers=2, rng=rng)
        else:
            self.encoder = mg.nn.GRU(EMBEDDING, width, bidirectional=True, rng=rng)
        memory = width * self.encoder.directions
        sizes = len(corpus.target), EMBEDDING, width, memory, width
        own = parameters(rng, KINDS[kind], sizes, 0.1)
        self.p = Tensors(
            {k: mg.nn.Parameter(a.astype(np.float32)) for k, a in own.items()}
        )
        self.bridge = mg.nn.Linear(memory, width, rng=rng)

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
            logits, s = self.step(self.p, words, s, H, mask)
            rows.append(logits)
        return mg.cross_entropy(mg.stack(rows, 1), batch.target_out, ignore_index=PAD)

    def translate(self, pairs, longest=24):
        """Return the most probable words of the sources, step by step: lists of str."""
        source, lengths = pad([self.corpus.source.encode(s) for s, _ in pairs])
        with mg.no_grad():
            s, H, mask = self.start(source, lengths)
            words, said = np.full(len(pairs), SOS), []
            for _ in range(longest):
                logits, s = self.step(self.p, words, s, H, mask)
                words = logits.numpy()[:, EOS:].argmax(1) + EOS
                said.append(words)
        rows = [list(row) for row in np.array(said).T]
        rows = [row[: row.index(EOS)] if EOS in row else row for row in rows]
        return [self.corpus.target.decode(row) for row in rows]


class Attending(OwnModels):
    """Both decoders, with an encoder of their width."""

    name, question = "attention", "What does attention add, with 500 pairs?"
    measure, resolution = "BLEU", 1.0
    arms, rates = tuple(KINDS), (2e-3, 4e-3, 8e-3, 16e-3)
    every, least, budget = 25, 750, 1500  # one epoch, 30 epochs, 60 epochs

    @functools.cached_property
    def corpus(self):
        return Corpus(self.my)

    @functools.cached_property
    def trivial(self):
        pairs = self.corpus.validation
        return self.bleu(pairs, self.corpus.word_by_word(pairs))["all"]

    @functools.lru_cache(2)
    def batches(self, seed):
        return Batches(self.corpus.ids(), BATCH, seed)

    def build(self, arm, rate, seed):
        model = Model(self.my, self.corpus, arm, seed)
        return Run(model, optim.Adam(model.parameters(), lr=rate))

    def loss_at(self, arm, run, seed, step):
        return run.model.loss(self.batches(seed)[step])

    def validate(self, arm, model):
        pairs = self.corpus.validation
        return self.bleu(pairs, model.translate(pairs))["all"]

    def test(self, arm, model):
        pairs = self.corpus.test
        said = model.translate(pairs)
        found = self.bleu(pairs, said)
        shown = [[*map(" ".join, (*pair, words))] for pair, words in zip(pairs, said)]
        return {"figure": found["all"], "bleu": found, "said": shown[:SHOWN]}

    def bleu(self, pairs, said):
        """Return BLEU of translations, of all and by the length of the source."""
        sources, refs = ([list(pair[k]) for pair in pairs] for k in (0, 1))
        groups = self.my.bleu_by_length(sources, refs, said, BUCKETS)
        found = {f"{a}-{b}": 100 * s for (a, b), s in groups.items()}
        return {"all": 100 * self.my.bleu(refs, said), **found}


def statement(record):
    """Return what a record says about the book's expectation."""

    def better(claim, what):
        more = difference(record, "with", "without", lambda run: what(run["bleu"]))
        return judged(claim, above(0), more, 1)

    first, *_, last = buckets = [f"{a}-{b}" for a, b in BUCKETS]
    lines = [
        better(f"attention is better on {b} words", lambda bleu, b=b: bleu[b])
        for b in buckets
    ]
    growth = "its advantage grows with the length"
    lines.append(better(growth, lambda bleu: bleu[last] - bleu[first]))
    for run in record["runs"][: len(record["arms"])]:  # those of the first seed
        for source, right, said in run.get("said", ()):
            lines.append(f"{run['arm']} attention: {source}\n    {said}\n    ({right})")
    return "\n".join(lines)

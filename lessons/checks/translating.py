"""The definitions, the small training and the record of the check of 6.9."""

import contextlib
import math

import numpy as np

import minigrad as mg
from attention import kernels
from attention.app.experiments import compare
from attention.seq2seq.bleu import corpus_bleu
from attention.tasks.grammar import generate
from minigrad import optim

B, S, V, E, D, M, A = 3, 7, 19, 5, 11, 13, 17
BUCKETS = ((5, 7), (8, 10), (11, 15))


def parameters(rng, attends, sizes=(V, E, D, M, A), scale=0.5):
    V, E, D, M, A = sizes
    c = M if attends else 0
    shapes = {"E": (V, E), "W_ih": (3 * D, E + c), "W_hh": (3 * D, D), "b_ih": (3 * D,),
              "b_hh": (3 * D,), "W_o": (V, D + c), "b_o": (V,)}  # fmt: skip
    if attends:
        shapes |= {"W_s": (A, D), "W_h": (A, M), "v": (A,)}
    return {name: scale * rng.normal(size=shape) for name, shape in shapes.items()}


def by_loop(p, y, s, H, mask, weigh="softmax", after="new", order=1):
    """Return logits and state; each option adds one mistake."""
    logits, states = [], []
    for b in range(len(y)):
        parts = [p["E"][y[b]]]
        if "W_s" in p:
            may = {"all": 0 * mask[b] == 0, "hidden": ~mask[b]}.get(weigh, mask[b])
            scores = [p["v"] @ np.tanh(p["W_s"] @ s[b] + p["W_h"] @ h) for h in H[b]]
            z = np.array([math.exp(e) if m else 0.0 for e, m in zip(scores, may)])
            z = np.ones(S) if weigh == "mean" else z
            c = sum(a * h for a, h in zip(z / (z.sum() or 1), H[b]))
            parts.append(c)
        x = np.concatenate(parts[::order])
        i_r, i_z, i_n = np.split(p["W_ih"] @ x + p["b_ih"], 3)
        h_r, h_z, h_n = np.split(p["W_hh"] @ s[b] + p["b_hh"], 3)
        r, u = 1 / (1 + np.exp(-i_r - h_r)), 1 / (1 + np.exp(-i_z - h_z))
        new = (1 - u) * np.tanh(i_n + r * h_n) + u * s[b]
        parts[0] = new if after == "new" else s[b]
        logits.append(p["W_o"] @ np.concatenate(parts) + p["b_o"])
        states.append(new)
    return np.array(logits), np.array(states)


def bleu_by_loop(refs, hyps, order=4, clip=True, brevity="right", mean="log", over="h"):
    """Return BLEU, counted by loops; each option adds one mistake."""
    precisions = []
    for n in range(1, order + 1):
        right = said = 0
        for ref, hyp in zip(refs, hyps):
            theirs = [ref[i : i + n] for i in range(len(ref) - n + 1)]
            ours = [hyp[i : i + n] for i in range(len(hyp) - n + 1)]
            said += len(ours if over == "h" else theirs)
            for gram in ours:  # each right one removes one from the reference
                right += gram in theirs
                if gram in theirs and clip:
                    theirs.remove(gram)
        precisions.append(right / said if said else 0.0)
    c, r = sum(map(len, hyps)), sum(map(len, refs))
    if not all(precisions):
        return 0.0
    factor = {"right": r / c, "none": 1.0, "inverted": c / r}[brevity]
    logs = sum(map(math.log, precisions))
    whole = {"log": math.exp(logs / order), "product": math.exp(logs),
             "plain": sum(precisions) / order}[mean]  # fmt: skip
    return min(1.0, math.exp(1 - factor)) * whole


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


def report(my, config, data, runs):
    """Return the record of finished runs."""
    refs = [list(pair.target) for pair in data.test]
    groups = my.bucket_by_length([list(pair.source) for pair in data.test], BUCKETS)
    kept = []
    for run in runs:
        hyps = [text.split() for text in run["said"]]
        scores = {
            f"{low}-{high}": round(
                100 * my.bleu([refs[i] for i in rows], [hyps[i] for i in rows]), 4
            )
            for (low, high), rows in groups.items()
        }
        engine = corpus_bleu(hyps, refs, smoothing="none")
        assert math.isclose(100 * my.bleu(refs, hyps), engine, abs_tol=1e-9)
        names = "kind", "seed", "best_step", "parameters", "seconds"
        kept.append({**{k: run[k] for k in names}, "bleu": scores})
    found = compare.summary(config, runs, data)
    return {
        "config": {**vars(config), "kinds": list(config.kinds)},
        "seeds": sorted({run["seed"] for run in runs}),
        "data": data.checksum,
        "sentences": {f"{a}-{b}": len(rows) for (a, b), rows in groups.items()},
        "runs": kept,
        **found,
    }

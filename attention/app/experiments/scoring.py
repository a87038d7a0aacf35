"""Scores of a translator: BLEU by the length of the source, and alignment error rates.

BLEU and exact matches score the model's own translations. The alignment error rate
scores the attention weights while the model reads the reference word by word, because
the right alignment is known for the reference only; beside it stand the rates of two
alignments that know nothing (``metrics/alignment.py``).

An answer to a question may be shorter than the four words that BLEU counts together.
Answers are scored by the share of right characters instead; the end counts as one.
"""

import numpy as np

from minigrad import no_grad

from ...metrics import (
    corpus_alignment_error_rate,
    diagonal_baseline,
    renormalized,
    token_accuracy,
    uniform_baseline,
)
from ...metrics.bleu import corpus_bleu
from ...tasks.batch import EOS
from ...tasks.batching import in_order
from .translation import ids_of

BUCKETS = ((1, 4), (5, 7), (8, 10), (11, 15), (16, None))  # words of a source


def score(translator, pairs, beam=1):
    """Return all scores of ``pairs``, as plain numbers.

    -> {"bleu": {"all": …, "5-7": …}, "exact": {…}, "sentences": {…},
        "aer": …, "aer_uniform": …, "aer_diagonal": …, "said": [a list of words, …]}

    Of questions, "accuracy" takes the place of "bleu". The rates are None without
    attention, or without known alignments; "aer_missing" then says which it is.
    """
    sources, targets = zip(*ids_of(translator, pairs))
    ids = [ids for ids, _ in translator.decode(list(sources), beam)]
    said = [translator.target.decode(row) for row in ids]
    wanted = [list(pair.target) for pair in pairs]
    measure = "accuracy" if translator.characters else "bleu"
    report = {measure: {}, "exact": {}, "sentences": {}}
    for name, rows in buckets([len(pair.source) for pair in pairs]).items():
        mine, right = [said[i] for i in rows], [wanted[i] for i in rows]
        if translator.characters:
            both = ended([ids[i] for i in rows]), ended([targets[i] for i in rows])
            report["accuracy"][name] = token_accuracy(*both)
        else:
            report["bleu"][name] = corpus_bleu(mine, right)
        same = [a == b for a, b in zip(mine, right)]
        report["exact"][name] = sum(same) / len(same)
        report["sentences"][name] = len(rows)
    return {**report, **alignment_rates(translator, pairs), "said": said}


def ended(rows):
    """Return ids as a matrix (B, T): each row ends with EOS, then PAD."""
    wide = np.zeros((len(rows), 1 + max(map(len, rows))), np.int64)
    for row, ids in zip(wide, rows):
        row[: len(ids)], row[len(ids)] = ids, EOS
    return wide


def buckets(lengths):
    """Sort indices by length: {"all": indices, "5-7": indices, …}, none empty."""
    found = {"all": list(range(len(lengths)))}
    for low, high in BUCKETS:
        inside = [i for i, n in enumerate(lengths) if low <= n <= (high or n)]
        if inside:
            found[f"{low}-{high}" if high else f"{low}+"] = inside
    return found


def alignment_rates(translator, pairs):
    """Return {"aer": …, "aer_uniform": …, "aer_diagonal": …}.

    Or None for each, and the reason as "aer_missing".
    """
    none = dict.fromkeys(("aer", "aer_uniform", "aer_diagonal"))
    if translator.model.config.attention == "none":
        return none | {"aer_missing": "the model has no attention"}
    if any(pair.alignment is None for pair in pairs):
        return none | {"aer_missing": "the right alignment is not known"}
    weights = [renormalized(w) for w in reference_weights(translator, pairs)]
    golds = [pair.alignment for pair in pairs]
    possibles = [pair.possible for pair in pairs]
    found = {"aer": corpus_alignment_error_rate(weights, golds, possibles)}
    # weighted by their denominators, the mean is that of the corpus
    links = [len(w) + len(gold) for w, gold in zip(weights, golds)]
    for name, baseline in (
        ("uniform", uniform_baseline),
        ("diagonal", diagonal_baseline),
    ):
        rates = [
            baseline(*w.shape, gold, possible)
            for w, gold, possible in zip(weights, golds, possibles)
        ]
        found[f"aer_{name}"] = float(np.average(rates, weights=links))
    return found


def reference_weights(translator, pairs):
    """Return the weights (T, S) of each reference; None without attention."""
    weights = []
    with no_grad():
        for batch in in_order(ids_of(translator, pairs), 100):
            output = translator.model.forced(
                batch.source, batch.target_in, batch.lengths
            )
            if output.weights is None:
                return None
            weights += list(output.weights.numpy())
    return [w[: len(p.target), : len(p.source)] for w, p in zip(weights, pairs)]


def table(report):
    """Format the scores as lines of text."""
    rows = {
        "sentences": ("questions" if "accuracy" in report else "sentences", "9d"),
        "bleu": ("BLEU", "9.1f"),
        "exact": ("exact", "9.3f"),
        "accuracy": ("accuracy", "9.3f"),
    }
    names = list(report["exact"])
    of = "symbols" if "accuracy" in report else "words"
    lines = [f"{f'source {of}':14s}" + "".join(f"{name:>9s}" for name in names)]
    for measure, (label, form) in rows.items():
        if measure in report:
            cells = [f"{report[measure][name]:{form}}" for name in names]
            lines.append(f"{label:14s}" + "".join(cells))
    lines.append("")
    if report["aer"] is None:
        return "\n".join([*lines, f"no alignment error rate: {report['aer_missing']}"])
    rates = [f"{report[n]:.3f}" for n in ("aer", "aer_uniform", "aer_diagonal")]
    rate, uniform, diagonal = rates
    return "\n".join(
        [
            *lines,
            f"alignment error rate {rate}, where a uniform alignment has {uniform} and",
            f"a diagonal one {diagonal} (0 is right)",
        ]
    )

"""6.9  Translation with and without attention  ●●●○  60 min  needs 6.5  book §6.1

Two translators differ in one thing: without attention, the decoder receives only the
last state of the encoder; with attention, it receives a weighted sum of all states.
Write one step of both decoders, and what a fair comparison needs: BLEU, a test set of
unseen pairs, and BLEU by the length of the source. The book expects the advantage of
attention to grow with the length: write down your own prediction first. Then

    python -m lessons experiment 6.9

compares both fairly, with your ``decode_step``, your split of 500 English-German pairs,
and your BLEU. Their widths give them nearly equally many parameters. Each has four
learning rates and trains until a plateau (lesson 14), from five seeds. It prints the
advantage with its interval and draws the figure. Ctrl-C loses nothing; ``--quick``
trains each only once. The exercise passes with your own run of your present code.
"""

import math
from collections import Counter

import numpy as np

import minigrad as mg
from attention import masked_softmax

ENCODER = "gru"  # in both directions; "lstm" is the chapter's, two layers of an LSTM


def _ngrams(words, n):
    """Return how often each run of n words occurs: {(word, ...): number}."""
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def prediction():
    """Return your prediction for the long run, before it runs. No answer is wrong.

    "longest"   is BLEU with attention, on sources of 11 to 15 words, "better", "worse"
                or "alike"?
    "growth"    from sources of 5 to 7 words to sources of 11 to 15 words, the
                advantage, in points of BLEU, "grows", "shrinks" or is "alike"
    ->  a dictionary with these two keys
    """
    # BEGIN SOLUTION
    return {"longest": "better", "growth": "grows"}
    # END SOLUTION


def bleu(refs, hyps, order=4):
    """Return the BLEU of a corpus, from 0 to 1, one reference for each hypothesis.

    refs, hyps   lists of sentences, each a list of words

        p_n   = right n-grams / n-grams of the hypotheses, over all sentences
        BLEU  = brevity * (p_1 p_2 ... p_order)^(1/order)
        brevity = 1 if c >= r, else exp(1 - r / c);  hyps have c words, refs have r

    An n-gram of a hypothesis is right at most as often as its own reference contains
    it. Return 0 if an order has no right n-gram.
    """
    # BEGIN SOLUTION
    right, said = np.zeros(order), np.zeros(order)
    c, r = sum(map(len, hyps)), sum(map(len, refs))
    for ref, hyp in zip(refs, hyps):
        for n in range(1, order + 1):
            theirs, ours = _ngrams(ref, n), _ngrams(hyp, n)
            right[n - 1] += sum(min(k, theirs[gram]) for gram, k in ours.items())
            said[n - 1] += ours.total()
    if not right.all():
        return 0.0
    brevity = min(1.0, math.exp(1 - r / c))
    return brevity * math.exp(np.log(right / said).mean())
    # END SOLUTION


def bucket_by_length(sentences, bounds):
    """Group sentences by their number of words.

    sentences   lists of words;  bounds  [(low, high), ...], both included
    ->  {(low, high): [i, ...]}, the indices of sentences in their order; leave out
        sentences that are in no group
    """
    # BEGIN SOLUTION
    lengths = [len(words) for words in sentences]
    return {
        (low, high): [i for i, n in enumerate(lengths) if low <= n <= high]
        for low, high in bounds
    }
    # END SOLUTION


def bleu_by_length(sources, refs, hyps, bounds):
    """Return {(low, high): BLEU of the sentences whose source has low to high words}.

    sources, refs, hyps   lists of sentences, each a list of words
    Use ``bucket_by_length`` and ``bleu``.
    """
    # BEGIN SOLUTION
    groups = bucket_by_length(sources, bounds)
    return {
        bound: bleu([refs[i] for i in rows], [hyps[i] for i in rows])
        for bound, rows in groups.items()
    }
    # END SOLUTION


def hold_out(pairs, n):
    """Split pairs (source, target) into (train, test): the last n are the test.

    Leave out of the others those whose source, or whose target, occurs in the test. The
    rest is for training, in its order; a pair that occurs twice stays. n may be 0.
    """
    # BEGIN SOLUTION
    cut = len(pairs) - n  # pairs[-n:] would be all pairs if n is 0
    test = pairs[cut:]
    sources = {source for source, _ in test}
    targets = {target for _, target in test}
    unseen = [p for p in pairs[:cut] if p[0] not in sources and p[1] not in targets]
    return unseen, test
    # END SOLUTION


def decode_step(p, y, s, H, mask):
    """Return logits (B, V) of the next word and the state after this step.

    y (B,) ids of the words before, s (B, d) the state, H (B, S, m) the states of the
    encoder, mask (B, S) bool, True for a word. s and H are Tensors, and so is what p
    contains: E (V, e); the weights of ``mg.gru_cell(x, s, W_ih, W_hh, b_ih, b_hh)``;
    W_o (V, d), b_o (V,). With attention, W_o is (V, d + m), and p also contains
    W_s (a, d), W_h (a, m) and v (a,), the parameters of the score of 6.5.

        without      s' = GRU(E[y], s)          logits = W_o s' + b_o
        with         s' = GRU([E[y]; c], s)     logits = W_o [s'; c] + b_o
                     c is the context for the old state s

    Use minigrad throughout, so that the backward is computed for you;
    ``masked_softmax(e, mask=…)`` takes the mask by its name.
    """
    # BEGIN SOLUTION
    x = mg.embedding(y, p["E"])
    looks = "W_s" in p
    if looks:
        query = s @ p["W_s"].T  # (B, d_a), the same at every position
        e = mg.tanh(H @ p["W_h"].T + query[:, None]) @ p["v"]  # (B, S)
        alpha = masked_softmax(e, mask=mask)
        c = (alpha[:, :, None] * H).sum(1)
        x = mg.concat([x, c], axis=-1)
    new = mg.gru_cell(x, s, p["W_ih"], p["W_hh"], p["b_ih"], p["b_hh"])
    output = mg.concat([new, c], axis=-1) if looks else new
    return output @ p["W_o"].T + p["b_o"], new
    # END SOLUTION


def explanation():
    """Return a string: what does your table say about the book's expectation, and why?

    Write ten words or more after the long run. They are not graded; the check prints
    what a good answer says.
    """
    # BEGIN SOLUTION
    return (
        "Attention is far ahead at every length, but its advantage does not grow: the "
        "model without attention is bad at five words already. That is no bottleneck, "
        "which would hurt long sentences more; 500 pairs are too few for it to learn "
        "the task at all. With more pairs the short ones should become good first."
    )
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "BLEU counts an n-gram at most as often as the reference contains it, and the "
    "brevity factor lowers the score of short output, so neither repetition nor "
    "omission pays. Both decoders differ in one input only: without attention one "
    "vector serves all words, with it each word has its own sum."
)

MUTANTS = [
    ("min(k, theirs[gram])", "k * (gram in theirs)", "unclipped"),
    ("min(1.0, math.exp(1 - r / c))", "1.0", "no-brevity"),
    ("math.exp(1 - r / c))", "math.exp(1 - c / r))", "brevity-inverted"),
    (
        "math.exp(np.log(right / said).mean())",
        "(right / said).mean()",
        "arithmetic-mean",
    ),
    (
        "math.exp(np.log(right / said).mean())",
        "math.exp(np.log(right / said).sum())",
        "no-root",
    ),
    ("+= ours.total()", "+= theirs.total()", "recall"),
    (
        "    if not right.all():",
        "    if len(refs) > 1:\n        each = [bleu([a], [b], order) for a, b in "
        "zip(refs, hyps)]\n        return np.mean(each)\n    if not right.all():",
        "mean-of-sentences",
    ),
    ("if low <= n <= high", "if low <= n < high", "bounds"),
    (
        "bucket_by_length(sources, bounds)",
        "bucket_by_length(refs, bounds)",
        "by-reference",
    ),
    ("[refs[i] for i in rows], [hyps[i] for i in rows]", "refs, hyps", "whole-corpus"),
    ("len(words) for words", "len(' '.join(words)) for words", "characters"),
    ("if p[0] not in sources and p[1] not in targets", "", "test-in-train"),
    (
        "    sources = {",
        "    del pairs[cut:]\n    sources = {",
        "mutates-input",
    ),
    ("p[0] not in sources and ", "p not in test and ", "test-in-train"),
    ("masked_softmax(e, mask=mask)", "masked_softmax(e)", "mask-leak"),
    ("masked_softmax(e, mask=mask)", "masked_softmax(e, mask=~mask)", "complement"),
    ("(alpha[:, :, None] * H).sum(1)", "H.mean(1)", "mean-context"),
    ("mg.concat([x, c], axis=-1)", "mg.concat([c, x], axis=-1)", "parts-exchanged"),
    ("mg.concat([new, c], axis=-1)", "mg.concat([s, c], axis=-1)", "old-state"),
    ('p["b_o"], new', 'p["b_o"], s', "state-stands"),
    ("query = s @", "query = s.detach() @", "detached"),
    ("    x = mg.embedding", "    H = H.detach()\n    x = mg.embedding", "detached"),
]

EQUIVALENT = {}

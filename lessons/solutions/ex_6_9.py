"""6.9  Translation with and without attention  ●●●○  60 min  needs 6.5  book §6.1

Two translators differ in one thing: without attention, the decoder receives only the
last state of the encoder; with attention, it receives a weighted sum of all states.
Write one step of both decoders, and what a fair comparison needs: BLEU, a test set of
unseen pairs, and BLEU by the length of the source. The book expects the advantage of
attention to grow with the length: write down your own prediction first. Then

    python -m lessons experiment 6.9

trains your ``decode_step`` on your split: 500 English-German pairs, 20 epochs, three
seeds with attention and three without. It prints the table and draws the figure. Ctrl-C
loses one run at most. The exercise passes with your own run of your present code.
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

    The others are for training, except those whose source, or whose target, occurs in
    the test.
    """
    # BEGIN SOLUTION
    test = pairs[-n:]
    sources = {source for source, _ in test}
    targets = {target for _, target in test}
    unseen = [p for p in pairs[:-n] if p[0] not in sources and p[1] not in targets]
    return unseen, test
    # END SOLUTION


def decode_step(p, y, s, H, mask):
    """Return logits (B, V) of the next word and the state after this step.

    y (B,) ids of the words before, s (B, d) the state, H (B, S, m) the states of the
    encoder, mask (B, S) bool, True for a word. p contains Tensors: E (V, e); W_ih,
    W_hh, b_ih, b_hh of ``mg.gru_cell``; W_o, b_o. With attention, p also contains W_s,
    W_h and v, the parameters of the score of 6.5.

        without      s' = GRU(E[y], s)          logits = W_o s' + b_o
        with         s' = GRU([E[y]; c], s)     logits = W_o [s'; c] + b_o
                     c is the context for the old state s

    Use minigrad throughout, so that the backward is computed for you;
    ``masked_softmax`` takes a mask.
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

    Write it after the long run. It is not graded; the check prints what a good answer
    says.
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

HINTS = {
    "bleu_by_length": ["Group the sentences first, then one BLEU for each group."],
    "prediction": ["The docstring gives the two keys and the words for each."],
    "bleu": ["Sum the counts over all sentences before you divide."],
    "bucket_by_length": ["Both bounds are included; a sentence may be in no group."],
    "hold_out": [
        "Take the last n first; then leave out every pair that shares a side with one "
        "of them.",
    ],
    "decode_step": [
        "Write the shapes of E[y], the scores, the weights and c, with the batch as "
        "the first axis.",
    ],
    "": [
        "BLEU: for n = 1 to order, count the right n-grams and all n-grams of all "
        "sentences first. Divide once, at the end.",
        "decode_step: embed y; with attention, compute scores, weights and context "
        "as in 6.5, for a batch; then call mg.gru_cell once and compute the logits "
        "with one product.",
        "Add the query (B, d_a) to the keys (B, S, d_a) as query[:, None]; c is "
        "(alpha[:, :, None] * H).sum(1), and stands behind E[y] and behind s'.",
    ],
    "unclipped": ['"the" seven times in a row is not a translation of one "the".'],
    "no-brevity": ["A hypothesis of one right word has a precision of 1."],
    "brevity-inverted": ["The shorter the hypotheses are, the smaller is the factor."],
    "arithmetic-mean": [
        "BLEU is a geometric mean: average the logarithms of the precisions.",
    ],
    "mean-of-sentences": [
        "BLEU of a corpus adds the counts of all sentences before it divides.",
    ],
    "pooled": ["A word is right if the reference of its own sentence contains it."],
    "recall": ["A precision is divided by the number of n-grams in the hypotheses."],
    "bounds": ["Which of 5 words and 7 words belong to the bucket (5, 7)?"],
    "whole-corpus": [
        "Which sentences belong to a bucket? Compute BLEU of these alone.",
    ],
    "by-reference": ["The buckets are those of the sources, not of the references."],
    "different-words": ["A word that occurs twice has two places in the sentence."],
    "first-pairs": ["The last n pairs are the test, not the first n."],
    "test-in-train": ["A pair that occurred in training does not test the model."],
    "mask-leak": ["Padding is not a word: its weight must be 0."],
    "masked-maximum": [
        "masked_softmax takes a mask. A weight that you multiply by the mask after "
        "exp becomes NaN if all allowed scores are far below the others.",
    ],
    "old-state": ["The logits are computed from the state after the step."],
    "state-stands": ["Which state does the next step start from?"],
    "mean-context": ["c is a weighted mean of the states."],
    "swapped": ["[E[y]; c] and [s'; c]: which of the two comes first?"],
    "detached": ["Does a Tensor become an array somewhere?"],
}

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
        "    del pairs[-n:]\n    sources = {",
        "mutates-input",
    ),
    ("p[0] not in sources and ", "p not in test and ", "test-in-train"),
    ("masked_softmax(e, mask=mask)", "masked_softmax(e)", "mask-leak"),
    ("masked_softmax(e, mask=mask)", "masked_softmax(e, mask=~mask)", "complement"),
    ("(alpha[:, :, None] * H).sum(1)", "H.mean(1)", "mean-context"),
    ("mg.concat([x, c], axis=-1)", "mg.concat([c, x], axis=-1)", "swapped"),
    ("mg.concat([new, c], axis=-1)", "mg.concat([s, c], axis=-1)", "old-state"),
    ('p["b_o"], new', 'p["b_o"], s', "state-stands"),
    ("query = s @", "query = s.detach() @", "detached"),
    ("    x = mg.embedding", "    H = H.detach()\n    x = mg.embedding", "detached"),
]

EQUIVALENT = {}

"""6.9  With attention and without  ●●●○  60 min  needs 6.5  book §6.1

Two translators that are equal but for one thing: the decoder of the one knows the last
state of the encoder alone, that of the other looks at all of them. You write a step of
both decoders, and what is needed to compare them fairly: BLEU, a test set that was not
seen, and the lengths of the sources. The book expects the advantage of attention to
grow with length; say what you expect first. The long run, 500 pairs of English and
German and three seeds each, is ``python -m lessons experiment 6.9``.
"""

import math
from collections import Counter

import numpy as np

import minigrad as mg
from attention import masked_softmax


def _ngrams(words, n):
    """How often each run of n words stands in a sentence: {(word, ...): number}."""
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def prediction():
    """What you expect of the long run, before it runs; no answer is wrong.

    "longest"   with attention, BLEU on sources of 11 to 15 words is "better", "worse"
                or "alike"
    "growth"    from sources of 5 to 7 words to those of 11 to 15, the advantage, in
                points of BLEU, "grows", "shrinks" or is "alike"
    ->  a dictionary with these two
    """
    # BEGIN SOLUTION
    return {"longest": "better", "growth": "grows"}
    # END SOLUTION


def bleu(refs, hyps, order=4):
    """BLEU of a corpus, from 0 to 1, one reference for each hypothesis.

    refs, hyps   lists of sentences, each a list of words

        p_n   = n-grams that are right / n-grams that were said, of all sentences
        BLEU  = brevity * (p_1 p_2 ... p_order)^(1/order)
        brevity = 1 if c >= r, else exp(1 - r / c);  c words were said, of r in refs

    An n-gram of a sentence is right as often as it stands in its reference, at most.
    0 where some n-gram order has nothing right.
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
    """Which sentences have which length.

    sentences   lists of words;  bounds  [(low, high), ...], both included
    ->  {(low, high): [i, ...]}, numbers of sentences in their order; of no bucket: left
        out
    """
    # BEGIN SOLUTION
    lengths = [len(words) for words in sentences]
    return {
        (low, high): [i for i, n in enumerate(lengths) if low <= n <= high]
        for low, high in bounds
    }
    # END SOLUTION


def hold_out(pairs, n):
    """(train, test) of pairs (source, target): the last n are the test.

    What is left is for training, but for pairs whose source, or whose target, is one of
    the test's.
    """
    # BEGIN SOLUTION
    test = pairs[-n:]
    sources = {source for source, _ in test}
    targets = {target for _, target in test}
    unseen = [p for p in pairs[:-n] if p[0] not in sources and p[1] not in targets]
    return unseen, test
    # END SOLUTION


def decode_step(p, y, s, H, mask):
    """One word further: logits (B, V) of the next word, and the state after it.

    y (B,) ids of the words that were said last, s (B, d) the state, H (B, S, m) the
    states of the encoder, mask (B, S) bool, True = a word. p holds Tensors: E (V, e);
    W_ih, W_hh, b_ih, b_hh of ``mg.gru_cell``; W_o, b_o. With attention, p also has W_s,
    W_h and v, of the score of 6.5.

        without      s' = GRU(E[y], s)          logits = W_o s' + b_o
        with         s' = GRU([E[y]; c], s)     logits = W_o [s'; c] + b_o
                     c the context that the old state s asks for

    All in minigrad, so that the backward comes with it; ``masked_softmax`` has a mask.
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


# FOR THE CHECK

HINTS = {
    "": [
        "BLEU: count for all sentences first, what is right and what was said, for "
        "n = 1 to order; divide once, at the end.",
        "decode_step: embed y; with attention, score, weigh and sum as in 6.5, for a "
        "batch; then one call of mg.gru_cell, and one product for the logits.",
        "The query (B, d_a) meets the keys (B, S, d_a) as query[:, None]; c is "
        "(alpha[:, :, None] * H).sum(1), and stands behind E[y], and behind s'.",
    ],
    "unclipped": ['"the" seven times in a row is no translation of one "the".'],
    "no-brevity": ["One word, if it is the surest one, has a precision of 1."],
    "brevity-inverted": ["The shorter the hypotheses are, the smaller the factor."],
    "arithmetic-mean": ["The mean of the precisions is that of their logarithms."],
    "mean-of-sentences": ["BLEU of a corpus sums the counts before it divides."],
    "pooled": ["A word is right if it stands in the reference of its own sentence."],
    "recall": ["A precision is divided by what was said."],
    "bounds": ["Of the bucket (5, 7), what becomes of 5 words, and of 7?"],
    "test-in-train": ["What was seen in training says little when it is asked again."],
    "mask-leak": ["Padding is no word: the decoder may not look there."],
    "old-state": ["The word is predicted from the state after the step."],
    "state-stands": ["What does the next step start from?"],
    "mean-context": ["c is a mean of states, but a weighted one."],
    "swapped": ["[E[y]; c] and [s'; c]: which stands first?"],
    "detached": ["Did a Tensor become an array on the way?"],
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

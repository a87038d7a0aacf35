"""6.9  Translation with and without attention  ●●●○  60 min  needs 6.5  book §6.1

Two translators differ in one thing: without attention, the decoder receives only the
last state of the encoder; with attention, it receives a weighted sum of all states.
Write one step of both decoders, and what a fair comparison needs: BLEU, a test set of
unseen pairs, and BLEU by the length of the source. The book expects the advantage of
attention to grow with the length: write down your own prediction first. Then

    python -m lessons experiment 6.9

compares both fairly, with your ``decode_step``, your split of 500 English-German pairs,
and your BLEU. Their widths give them nearly equally many parameters. Three seeds choose
a rate for each; then five others are compared, after the same steps (lesson 14). It prints the
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
    return {"longest": "better", "growth": "grows"}  #? The docstring gives the two keys and the words for each.


def bleu(refs, hyps, order=4):
    """Return the BLEU of a corpus, from 0 to 1, one reference for each hypothesis.

    refs, hyps   lists of sentences, each a list of words

        p_n   = right n-grams / n-grams of the hypotheses, over all sentences
        BLEU  = brevity * (p_1 p_2 ... p_order)^(1/order)
        brevity = 1 if c >= r, else exp(1 - r / c);  hyps have c words, refs have r

    An n-gram of a hypothesis is right at most as often as its own reference contains
    it. Return 0 if an order has no right n-gram.
    """
    right, said = np.zeros(order), np.zeros(order)  #? Each order n from 1 to order has its own p_n.
    #! order = 4; right, said = np.zeros(order), np.zeros(order)  | BLEU with order=4, for any order
    #! order = max(1, order - 1); right, said = np.zeros(order), np.zeros(order)  | BLEU with the orders below the largest one alone
    c, r = sum(map(len, hyps)), sum(map(len, refs))  #? r counts the words of the references, and no others.
    #! c, r = sum(map(len, hyps)), sum(max(map(len, pair)) for pair in zip(refs, hyps))  | BLEU with the longer of each pair of sentences in r
    for ref, hyp in zip(refs, hyps):  #? Are the counts of all sentences added, each with its own reference?
        #! for ref, hyp in [(refs[-1], hyps[-1])]:  | BLEU with p_n of the last sentence
        #! for ref, hyp in [(sum(refs, []), sum(hyps, []))]:  | BLEU of all sentences as one
        #! for ref, hyp in [(sum(refs, []), hyp) for hyp in hyps]:  | BLEU with the n-grams of all references for each sentence
        #! for ref, hyp in [(refs[0], hyp) for hyp in hyps]:  | BLEU with the n-grams of the first reference for each sentence
        for n in range(1, order + 1):  #? range(1, order) ends before order.
            #! for n in range(1, order):  | 0, because the largest order has no count
            #! for n in [order] * order:  | the BLEU of the largest order alone
            theirs, ours = _ngrams(ref, n), _ngrams(hyp, n)
            right[n - 1] += sum(min(k, theirs[gram]) for gram, k in ours.items())  #? "the" seven times in a row is not a translation of one "the". An n-gram is right at most as often as its reference has it, and as the hypothesis has it.
            #! right[n - 1] += sum(k * (gram in theirs) for gram, k in ours.items())  | BLEU without clipping
            #! right[n - 1] += sum(gram in theirs for gram in ours)  | BLEU that counts equal n-grams once
            #! right[n - 1] += sum(theirs[gram] for gram in ours)  | BLEU that counts a right n-gram as often as the reference has it
            said[n - 1] += ours.total()  #? p_n divides by all n-grams of the hypotheses, with repeats.
            #! said[n - 1] += len(ours)  | BLEU that divides by the number of different n-grams
    if not right.all():
        return 0.0
    brevity = min(1.0, math.exp(1 - r / c))  #? Compute exp(1 - r / c) by hand for c = 2 and r = 6. Long output is no advantage.
    #! brevity = 1.0  | BLEU without the brevity penalty
    #! brevity = math.exp(1 - r / c)  | BLEU with exp(1 - r / c), which is above 1 if c > r
    #! brevity = 1 if c >= r else math.exp(1 - c / r)  | BLEU with exp(1 - c / r) if c < r
    #! brevity = min(1.0, c / r)  | BLEU with c / r as the brevity factor
    return brevity * math.exp(np.log(right / said).mean())  #? BLEU of a corpus is a geometric mean of the precisions, a number from 0 to 1: average their logarithms.
    #! return brevity * (right / said).mean()  | the arithmetic mean of the precisions
    #! return brevity * math.exp(np.log(right / said).sum() / 4)  | BLEU with the fourth root for any order
    #! return brevity * math.exp(np.log((right + 1) / (said + 1)).mean())  | BLEU with (right + 1) / (n-grams + 1)
    #! return brevity * right.sum() / said.sum()  | right n-grams / n-grams of all orders
    #! return 100 * brevity * math.exp(np.log(right / said).mean())  | 100 BLEU
    #! return np.mean([bleu([a], [b], order) for a, b in zip(refs, hyps)]) if len(refs) > 1 else brevity * math.exp(np.log(right / said).mean())  | the mean of the sentences' BLEU


def bucket_by_length(sentences, bounds):
    """Group sentences by their number of words.

    sentences   lists of words;  bounds  [(low, high), ...], both included
    ->  {(low, high): [i, ...]}, the indices of sentences in their order; leave out
        sentences that are in no group
    """
    lengths = [len(words) for words in sentences]  #? The length of a sentence is its number of words, also of equal ones.
    #! lengths = [len(" ".join(words)) for words in sentences]  | groups by the number of characters
    #! lengths = [len(set(words)) for words in sentences]  | groups by the number of different words
    return {  #? Which of 5 words and 7 words belong to the bucket (5, 7)? The lists contain the places i of the sentences.
        (low, high): [i for i, n in enumerate(lengths) if low <= n <= high]
        for low, high in bounds
    }
    #! return {(low, high): [i for i, n in enumerate(lengths) if low <= n < high] for low, high in bounds}  | groups without the upper bound
    #! return {(low, high): [i for i, n in enumerate(lengths) if low < n <= high] for low, high in bounds}  | groups without the lower bound
    #! return {(low, high): [i + 1 for i, n in enumerate(lengths) if low <= n <= high] for low, high in bounds}  | places counted from 1


def bleu_by_length(sources, refs, hyps, bounds):
    """Return {(low, high): BLEU of the sentences whose source has low to high words}.

    sources, refs, hyps   lists of sentences, each a list of words
    Use ``bucket_by_length`` and ``bleu``.
    """
    groups = bucket_by_length(sources, bounds)  #? The buckets are those of the sources, which stay the same.
    return {  #? Which sentences belong to a bucket? Compute BLEU of these alone.
        bound: bleu([refs[i] for i in rows], [hyps[i] for i in rows])
        for bound, rows in groups.items()
    }
    #! return {bound: bleu(refs, hyps) for bound in groups}  | BLEU of all sentences
    #! return {bound: np.mean([bleu([refs[i]], [hyps[i]]) for i in rows]) for bound, rows in groups.items()}  | the mean of the sentences' BLEU in each group


def hold_out(pairs, n):
    """Split pairs (source, target) into (train, test): the last n are the test.

    Leave out of the others those whose source, or whose target, occurs in the test. The
    rest is for training, in its order; a pair that occurs twice stays. n may be 0.
    """
    cut = len(pairs) - n
    rest, test = pairs[:cut], pairs[cut:]  #? The last n pairs are the test. What is pairs[-n:] if n is 0?
    #! rest, test = pairs[:cut], pairs[-n:]  | the test pairs[-n:], all pairs if n is 0
    #! rest, test = pairs[n:], pairs[:n]  | a split whose test is the first n pairs
    sources, targets = ({p[k] for p in test} for k in (0, 1))
    train = [p for p in rest if p[0] not in sources and p[1] not in targets]  #? A pair that occurred in training does not test the model. A pair that occurs twice is not left out.
    #! train = rest  | a split that leaves no pair out
    #! train = list(dict.fromkeys(p for p in rest if p[0] not in sources and p[1] not in targets))  | a training set in which a pair occurs once
    return train, test  #? The training pairs come first, then the test.


def decode_step(p, y, s, H, mask):
    """Return logits of the next word and the state after this step.

    y (B,) ids of the words before, s (B, d) the state, H (B, S, m) the states of the
    encoder, mask (B, S) bool, True for a word. s and H are Tensors, and so is what p
    contains: E (V, e); the weights of ``mg.gru_cell(x, s, W_ih, W_hh, b_ih, b_hh)``;
    W_o (V, d), b_o (V,). With attention, W_o is (V, d + m), and p also contains
    W_s (a, d), W_h (a, m) and v (a,), the parameters of the score of 6.5.

        without      s' = GRU(E[y], s)          logits = W_o s' + b_o
        with         s' = GRU([E[y]; c], s)     logits = W_o [s'; c] + b_o
                     c is the context for the old state s

    Use minigrad throughout (mg.embedding, mg.tanh, mg.concat, mg.gru_cell), so that the
    backward is computed for you; ``masked_softmax(e, mask=…)`` takes the mask by name.
    ->  logits (B, V), state (B, d)
    """
    x, attends = mg.embedding(y, p["E"]), "W_s" in p
    if attends:
        query = s @ p["W_s"].T  # (B, d_a), the same at every position  #? Which signs do W_s s and W_h h_j have in the score of 6.5? Does a Tensor become an array?
        e = mg.tanh(H @ p["W_h"].T + query[:, None]) @ p["v"]  # (B, S)  #? e_j = v . tanh(W_s s + W_h h_j): without tanh the score is affine in h_j.
        #! e = (H @ p["W_h"].T + query[:, None]) @ p["v"]  | scores without tanh
        #! e = mg.relu(H @ p["W_h"].T + query[:, None]) @ p["v"]  | relu in the place of tanh
        alpha = masked_softmax(e, mask=mask)  #? Padding is not a word: its weight must be 0, also if its score is far above the others.
        #! alpha = masked_softmax(e, mask=~mask)  | attention with the softmax of the masked scores
        #! alpha = masked_softmax(e) * mask  | attention with the softmax of all scores, times the mask
        #! alpha = masked_softmax(e * mask)  | attention with the softmax of scores that are 0 where masked
        #! alpha = masked_softmax(e / p["v"].shape[0] ** 0.5, mask=mask)  | the weights of scores / sqrt(d_a)
        c = (alpha[:, :, None] * H).sum(1)  #? c is a sum over all allowed states: where do the weights enter? They sum to 1 already.
        #! c = H.mean(1)  | the mean of all states for c
        #! c = H[:, -1]  | the last state, also padding, for c
        #! c = H[:, 0]  | the first state for c
        x = mg.concat([x, c], axis=-1)  #? [E[y]; c]: which of the two comes first?
        #! x = mg.concat([c, x], axis=-1)  | [c; E[y]] where [E[y]; c] belongs
    new = mg.gru_cell(x, s, p["W_ih"], p["W_hh"], p["b_ih"], p["b_hh"])  #? s is an argument of mg.gru_cell as well. In which order does it take the biases?
    #! new = mg.gru_cell(x, 0 * s, p["W_ih"], p["W_hh"], p["b_ih"], p["b_hh"])  | a step from the state 0
    #! new = mg.gru_cell(x, s, p["W_ih"], p["W_hh"], p["b_hh"], p["b_ih"])  | a step with b_ih and b_hh exchanged
    output = mg.concat([new, c], axis=-1) if attends else new  #? [s'; c]: the logits are computed from the state after the step.
    #! output = mg.concat([s, c], axis=-1) if attends else s  | the output of the old state
    #! output = mg.concat([s, c], axis=-1) if attends else new  | the output of the old state, with attention
    #! output = mg.concat([c, new], axis=-1) if attends else new  | [c; s'] where [s'; c] belongs
    return output @ p["W_o"].T + p["b_o"], new  #? logits = W_o [s'; c] + b_o. Which state does the next step start from?
    #! return mg.log_softmax(output @ p["W_o"].T + p["b_o"]), new  | log_softmax of the logits


def explanation():
    """Return a string: what does your table say about the book's expectation, and why?

    Write ten words or more after the long run. They are not graded; the check prints
    what a good answer says.
    """
    return (  #? Does the advantage grow in your table, and what limits BLEU on short sentences?
        "the advantage at each length, and its interval over the seeds\n"
        "whether the advantage grows; if the interval contains 0, nothing is decided\n"
        "without attention: is BLEU low for short sentences, too? Then the size of "
        "the data limits it, not the one vector\n"
        "what would decide: more pairs, more seeds, a larger state"
    )


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.comparisons import (
    BUCKETS, KINDS, PAIRS, Attending, draw, gradients, is_prediction,
)  # fmt: skip
from lessons.course.long_runs import compared, examine, own_record
from lessons.course.words import locked, self_assessed

picture = Attending.picture


def of_corpora(my, rng):
    """BLEU of corpora, also without a right word, and without a word"""
    for order in (1, 2, 4):
        refs = [list("abcde"[i] for i in rng.integers(0, 5, n)) for n in (9, 12, 8, 11)]
        hyps = [
            [w if rng.random() < 0.8 else "e" for w in r][: 7 + order] for r in refs
        ]
        my.bleu(refs, hyps, order)
        my.bleu(hyps, refs, order)
        # one sentence is longer than its reference, and the others are shorter
        my.bleu(refs[:3] + hyps[3:], hyps[:3] + refs[3:], order)
    for hyp in (["no", "such", "word", "here"], [], refs[0][:3]):
        my.bleu(refs[:1], [hyp])


def by_length(my, rng):
    """sentences by length, both ends included, and BLEU of each group"""
    lengths = 5, 7, 8, 10, 11, 15, 4, 16, 6, 9, 13, 2
    sentences = [(["a", "long", "word"] * 6)[:n] for n in lengths]
    for bounds in (BUCKETS, ((2, 4), (6, 13))):
        my.bucket_by_length(sentences, bounds)
    sources = [["word"] * n for n in (5, 9, 12, 7, 10, 15, 6, 11, 8)]
    refs = [list("abcdefgh"[: 4 + k % 5]) for k in range(9)]
    hyps = [row[:3] + ["x"] * (k % 2) + row[3:] for k, row in enumerate(refs)]
    for bounds in (((5, 7), (8, 10)), ((5, 8), (9, 15))):
        my.bleu_by_length(sources, refs, hyps, bounds)


def not_seen(my, rng):
    """a test set that training does not contain"""
    pairs = [(a, b) for a, b in ("eE", "aA", "bB", "aC", "cA", "dD", "aA")]
    twice = [("b", "B"), ("b", "B"), ("a", "A")]
    for pairs, n in ((pairs, 1), (pairs, 2), (twice, 1), (pairs, 0)):
        found = [list(map(tuple, each)) for each in my.only.hold_out(pairs, n)]
        train, test = hold_out(pairs, n)
        text = f"({train}, {test})", f"({', '.join(map(repr, found))})"
        my.holds("hold_out", found == [train, test], *text)


def a_step(my, rng):
    """a step of both decoders, also with padding far above, and its gradients"""
    for drawn in (draw(rng, False), draw(rng, True), draw(rng, True, 1), draw(rng, True, -1)):
        found = my.near(1e-7).decode_step(*drawn)
        kinds = {type(each).__name__ for each in found}
        my.holds("decode_step", kinds == {"Tensor"}, "two Tensors", f"{kinds}", "detached")
    for attends in KINDS.values():
        drawn, seed = draw(rng, attends), int(rng.integers(99))
        found = gradients(my.made["decode_step"], drawn, seed)
        for name, want in gradients(decode_step, drawn, seed).items():
            off = np.abs(found.get(name, 0) - want).max() / np.abs(want).max()
            text = f"the gradient for {name}", f"an error of {off:.1g} of the largest entry"
            my.holds("decode_step", off < 1e-6, *text, "detached")


def predicted(my, rng):
    """your prediction"""
    found, encoder = my.only.prediction(), my.made["ENCODER"]
    text = "the keys and words of the docstring", repr(found)
    my.holds("prediction", is_prediction(found), *text, "prediction")
    text = 'ENCODER = "gru" or "lstm"', repr(encoder)
    my.holds("prediction", encoder in ("gru", "lstm"), *text, "encoder")


def the_long_run(my, rng):
    """your own training, and your words"""
    found, first = own_record(my), locked(my, is_prediction)
    print(f"you predicted: {first}")
    print(Attending.statement(found))
    self_assessed(my, my.only.explanation(), *explanation().splitlines())


def experiment(my, seed=0, quick=False):
    """Compare both kinds: the learner's decoder step, data and BLEU."""
    locked(my, is_prediction)
    examine(my, but="the_long_run")
    used = my.decode_step, my.hold_out, my.bleu_by_length  # of which the record is, too
    found = compared(my, Attending(my, seed), quick)
    print(Attending.statement(found))
    return {"pairs": PAIRS, "encoder": my.made["ENCODER"], **found}


HINTS = """
decode_step  Write the shapes of E[y], the scores, the weights and c, with the batch as
   the first axis.
1  BLEU: for n = 1 to order, count the right n-grams and all n-grams of all sentences
   first. Divide once, at the end.
2  decode_step: embed y; with attention, compute scores, weights and context as in 6.5,
   for a batch; then call mg.gru_cell once and compute the logits with one product.
3  Add the query (B, d_a) to the keys (B, S, d_a) as query[:, None]; c is
   (alpha[:, :, None] * H).sum(1), and stands behind E[y] and behind s'.
"""
WHY = """BLEU counts an n-gram at most as often as the reference contains it, and the
brevity factor lowers the score of short output, so neither repetition nor omission pays.
Both decoders differ in one input only: without attention one vector serves all words,
with it each word has its own sum."""

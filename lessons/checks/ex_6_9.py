"""Check an answer to 6.9."""

import math

import numpy as np

import minigrad as mg
from lessons.checks import translating as given
from lessons.checks.attending import softmax, wrong_weights
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.predictions import locked
from lessons.checks.results import equal_all, several, shape_all
from lessons.checks.translating import (
    BUCKETS,
    KINDS,
    B,
    D,
    M,
    S,
    V,
    bleu_by_loop,
    by_loop,
)  # fmt: skip
from lessons.checks.words import self_assessed
from lessons.classroom.steps import edges, gradients, laws, numbers, shape, values
from lessons.course.long_runs import compared, examine, own_record
from lessons.pages.figures import BLUE, ORANGE, figure

AXES = {"logits": "BV", "state": "Bd"}
ANSWERS = {
    "longest": ("better", "worse", "alike"),
    "growth": ("grows", "shrinks", "alike"),
}
THE = ["the"] * 7
TWO_SCORES = np.zeros(2), np.ones(2, bool)  # scores and a mask
CAT = "the cat is on the mat".split()
SAT = "the cat sat on the mat".split()


def tensors(arrays):
    return {k: mg.Tensor(a.copy(), requires_grad=True) for k, a in arrays.items()}


def draw(rng, attends):
    """Return p, y, s, H and mask."""
    mask = np.arange(S) < np.array([7, 4, 1])[:, None]
    s, H = rng.normal(size=(B, D)), rng.normal(size=(B, S, M))
    return given.parameters(rng, attends), rng.integers(0, V, B), s, H, mask


def step(my, p, y, s, H, mask):
    """Return the learner's logits and state for arrays."""
    wrapped = given.Tensors({k: mg.Tensor(v) for k, v in p.items()})
    with given.plainly():
        found = my.decode_step(wrapped, y, mg.Tensor(s), mg.Tensor(H), mask)
    logits, state = several(my, found, ("logits", "state"))
    tensors = isinstance(logits, mg.Tensor) and isinstance(state, mg.Tensor)
    text = "expected (logits, state), two Tensors"
    my.holds(tensors, "type", text, f"found {found!r:.60}")
    return logits, state


def equal_weights(scores, mask):
    return np.ones(len(scores)) / len(scores)


CONTEXTS = [  # (tag, what, weights of wrong contexts)
    ("plain-sum", "the sum of all states", lambda e, mask: np.ones(len(e))),
    ("first-state", "the first state", lambda e, mask: np.eye(len(e))[0]),
    ("last-state", "the last state, also padding", lambda e, mask: np.eye(len(e))[-1]),
    ("hard", "the state of the largest weight",
     lambda e, mask: np.eye(len(e))[np.where(mask, e, -np.inf).argmax()]),
    ("scaled", "the weights of scores / sqrt(d_a)",
     lambda e, mask: softmax(e / given.A**0.5, mask)),
    ("divided", "the weighted mean, divided by S,",
     lambda e, mask: softmax(e, mask) / len(e)),
]  # fmt: skip


def check_bleu(my, refs, hyps, order=4):
    """Fail unless the BLEU of a corpus is right."""
    known = [
        ("unclipped", "BLEU without clipping", {"clip": False}),
        ("no-brevity", "BLEU without the brevity penalty", {"brevity": "none"}),
        ("brevity-above-1", "BLEU with exp(1 - r / c), which is above 1 if c > r",
         {"brevity": "unbounded"}),
        ("brevity-inverted", "BLEU with exp(1 - c / r)", {"brevity": "inverted"}),
        ("brevity-inverted", "BLEU with exp(1 - c / r) if c < r", {"brevity": "above"}),
        ("clipped-at-one", "BLEU that counts equal n-grams once", {"clip": "once"}),
        ("arithmetic-mean", "the arithmetic mean of the precisions", {"mean": "plain"}),
        ("no-root", "the product of the precisions, no root", {"mean": "product"}),
        ("recall", "right n-grams / n-grams of the references", {"over": "r"}),
        ("longer-of-pair", "BLEU with the longer of each pair of sentences in r",
         {"brevity": "longer"}),
        ("all-references", "BLEU with the n-grams of all references for each sentence",
         {"whose": "all"}),
        ("first-reference", "BLEU with the n-grams of the first reference for each "
         "sentence", {"whose": "first"}),
        ("smoothed", "BLEU with (right + 1) / (n-grams + 1)", {"more": 1}),
        ("fourth-root", "BLEU with the fourth root for any order", {"mean": "fourth"}),
        ("not-added", "BLEU with the right n-grams of the last sentence alone",
         {"kept": ["right"]}),
        ("not-added", "BLEU with the n-grams of the last hypothesis in the divisor",
         {"kept": ["said"]}),
        ("not-added", "BLEU with p_n of the last sentence",
         {"kept": ["right", "said"]}),
        ("theirs", "BLEU that counts a right n-gram as often as the reference has it",
         {"clip": "theirs"}),
        ("different-ngrams", "BLEU that divides by the number of different n-grams",
         {"over": "distinct"}),
        ("words-for-ngrams", "BLEU that divides by the number of words",
         {"over": "words"}),
        ("brevity", "BLEU with c / r as the brevity factor", {"brevity": "quotient"}),
        ("brevity", "BLEU with exp(-r / c)", {"brevity": "no-one"}),
        ("brevity", "BLEU with exp(r / c - 1)", {"brevity": "growing"}),
        ("root-twice", "the root of the geometric mean", {"mean": "root-twice"}),
        ("log-base", "exp of the mean of log2 p_n", {"mean": "log2"}),
        ("no-exponential", "the mean of the logarithms", {"mean": "logs"}),
        ("least", "the smallest p_n", {"mean": "least"}),
        ("all-orders", "right n-grams / n-grams of all orders", {"mean": "total"}),
        ("orders", f"the BLEU of order {order} alone",
         {"orders": [order], "mean": "of-orders"}),
    ]  # fmt: skip
    for short in (range(1, order), range(2, order + 1)):
        text = f"BLEU with the orders {[*short]} alone"
        known += [("orders", text, {"orders": short, "mean": mean})
                  for mean in ("of-orders", "log", "fourth") if short]  # fmt: skip
    want = bleu_by_loop(refs, hyps, order)
    known = [(t, s, bleu_by_loop(refs, hyps, order, **o)) for t, s, o in known]
    known += [("unit", "100 BLEU", 100 * want), ("zero", "0", 0.0)]
    each = [bleu_by_loop([a], [b], order) for a, b in zip(refs, hyps)]
    known += [("mean-of-sentences", "the mean of the sentences' BLEU", np.mean(each))]
    pooled = bleu_by_loop([sum(refs, [])], [sum(hyps, [])], order)
    known += [("pooled", "BLEU of all sentences as one", pooled)]
    known = [v for v in known if v[2] != want]
    my.equal(my.bleu(refs, hyps, order), want, "", known)


@shape("a number, logits for each word, and a state")
def for_each_word(my, rng):
    my.shape(my.bleu([CAT], [CAT]), (), "")
    for attends in KINDS.values():
        found = [each.numpy() for each in step(my, *draw(rng, attends))]
        shape_all(my, found, {"logits": (B, V), "state": (B, D)}, AXES)


@numbers("BLEU by hand: the root of 5/6 * 3/5, 1, 2/7, and exp(-2)")
def by_hand(my, rng):
    for refs, hyps, order, want in (
        ([CAT], [SAT], 2, math.sqrt(5 / 6 * 3 / 5)),
        ([CAT], [CAT], 4, 1),
        ([CAT], [THE], 1, 2 / 7),  # "the" stands in the reference twice
        ([CAT], [CAT[:2]], 1, math.exp(-2)),  # 2 words of 6
    ):
        assert math.isclose(bleu_by_loop(refs, hyps, order), want)
        check_bleu(my, refs, hyps, order)


@values("BLEU of corpora, against loops")
def of_corpora(my, rng):
    # "the" stands in both references 4 times
    check_bleu(my, [CAT, SAT], [CAT, THE + ["the"] * 3], 1)
    for order in (1, 2, 4):
        refs = [list("abcde"[i] for i in rng.integers(0, 5, n)) for n in (9, 12, 8, 11)]
        hyps = [
            [w if rng.random() < 0.8 else "e" for w in r][: 7 + order] for r in refs
        ]
        check_bleu(my, refs, hyps, order)
        check_bleu(my, hyps, refs, order)
        # one sentence is longer than its reference, and the others are shorter
        check_bleu(my, refs[:3] + hyps[3:], hyps[:3] + refs[3:], order)


def groups_of(my, sentences):
    """Return the learner's groups of sentences, as lists of int."""
    found = my.bucket_by_length(sentences, BUCKETS)
    form = isinstance(found, dict) and {*found} == {*BUCKETS}
    form = form and all(np.array(rows).dtype.kind in "if" for rows in found.values())
    text = f"expected lists of indices for {BUCKETS}", f"found {found!r:.200}"
    my.holds(form, "type", *text)
    return {b: [int(i) for i in rows] for b, rows in found.items()}


@values("sentences by length, both ends included")
def by_length(my, rng):
    lengths = [5, 7, 8, 10, 11, 15, 4, 16, 6, 9, 13]
    sentences = [(["a", "long", "word"] * 6)[:n] for n in lengths]

    def places(inside, sizes=lengths):
        return {b: [i for i, n in enumerate(sizes) if inside(n, *b)] for b in BUCKETS}

    def within(n, low, high):
        return low <= n <= high

    found, want = groups_of(my, sentences), places(within)
    wrong = [
        ("characters", places(within, [len(join.join(words)) for words in sentences]))
        for join in ("", " ")
    ]
    wrong += [
        ("different-words", places(within, [len({*words}) for words in sentences])),
        ("bounds", places(lambda n, low, high: low < n <= high)),
        ("bounds", places(lambda n, low, high: low <= n < high)),
        ("bounds", places(lambda n, low, high: low < n < high)),
        ("one-bound", places(lambda n, low, high: n <= high)),
        ("one-bound", places(lambda n, low, high: low <= n)),
        ("lengths", {b: [lengths[i] for i in rows] for b, rows in want.items()}),
        ("off-by-one", {b: [i + 1 for i in rows] for b, rows in want.items()}),
    ]
    tag = next((tag for tag, each in wrong if found == each), "unknown")
    my.holds(found == want, tag, f"expected {want}", f"found {found}")


@values("BLEU by the length of the source")
def bleu_of_groups(my, rng):
    lengths = [5, 9, 12, 7, 10, 15, 6, 11, 8]
    sources = [["word"] * n for n in lengths]
    refs = [list("abcdefgh"[: 4 + k % 5]) for k in range(9)]
    hyps = [row[:3] + ["x"] * (k % 2) + row[3:] for k, row in enumerate(refs)]
    bounds = ((5, 7), (8, 10))

    def of(rows):
        return bleu_by_loop([refs[i] for i in rows], [hyps[i] for i in rows])

    def grouped(sentences):
        sizes = [len(words) for words in sentences]
        return {
            (a, b): of([i for i, n in enumerate(sizes) if a <= n <= b])
            for a, b in bounds
        }

    found, want = my.bleu_by_length(sources, refs, hyps, bounds), grouped(sources)
    form = isinstance(found, dict) and list(found) == list(want)
    my.holds(form, "type", f"expected {{(low, high): BLEU}} for {bounds}",
             f"found {found!r}")  # fmt: skip
    pairs = {b: [i for i, n in enumerate(lengths) if b[0] <= n <= b[1]] for b in bounds}

    def each(f):
        return [f([refs[i] for i in rows], [hyps[i] for i in rows])
                for rows in pairs.values()]  # fmt: skip

    def mean(r, h):
        return np.mean([bleu_by_loop([a], [b]) for a, b in zip(r, h)])

    wrong = [("exchanged", "BLEU with refs and hyps exchanged",
              each(lambda r, h: bleu_by_loop(h, r))),
             ("mean-of-sentences", "the mean of the sentences' BLEU", each(mean)),
             ("orders", "BLEU of order 1", each(lambda r, h: bleu_by_loop(r, h, 1))),
             ("unit", "100 BLEU", each(lambda r, h: 100 * bleu_by_loop(r, h))),
             ("zero", "0 for each group", [0, 0]),
             ("whole-corpus", "BLEU of all sentences", [of(range(9))] * 2),
             ("by-reference", "BLEU by the length of the reference",
              list(grouped(refs).values())),
             ("by-translation", "BLEU by the length of the translation",
              list(grouped(hyps).values()))]  # fmt: skip
    my.equal(np.array(list(found.values())), list(want.values()), ("group",), wrong)


@values("a test set that training does not contain")
def not_seen(my, rng):
    pairs = [("e", "E"), ("b", "B"), ("a", "C"), ("c", "A"), ("d", "D"), ("a", "A")]
    twice = [("b", "B"), ("b", "B"), ("a", "A")]
    for pairs, n, want in (
        (pairs, 1, [pairs[0], pairs[1], pairs[4]]),
        (pairs, 2, pairs[:2]),
        (twice, 1, twice[:2]),
        (pairs, 0, pairs),
    ):
        train, test = (list(map(tuple, each)) for each in my.hold_out(pairs, n))
        last = pairs[len(pairs) - n :]
        swapped = last and train == last != test
        text = "expected (train, test)", "found (test, train)"
        my.holds(not swapped, "swapped", *text)
        tag = "first-pairs" if test == pairs[:n] != last else "test"
        my.holds(test == last, tag, f"expected the test {last}",
                 f"found {test}")  # fmt: skip
        seen = any(s == a or t == b for s, t in train for a, b in test)
        once = list(dict.fromkeys(want))
        tag = "each-once" if train == once else "order"
        my.holds(train == want, "test-in-train" if seen else tag,
                 f"expected {want} for training", f"found {train}")  # fmt: skip


@values("a step of both decoders, against loops")
def a_step(my, rng):
    for attends in KINDS.values():
        drawn = draw(rng, attends)
        options = [("old-state", "the output of the old state", {"after": "old"})]
        if attends:
            options += [
                (
                    "mean-context",
                    "the mean of all states for c",
                    {"weigh": equal_weights},
                ),
                ("parts-exchanged", "[c; E[y]] where [E[y]; c] belongs", {"order": -1}),
                ("parts-exchanged", "[c; s'] where [s'; c] belongs", {"read": -1}),
                ("ignores-query", "scores v . tanh(W_h h_j)", {"query": 0}),
                ("sign", "scores v . tanh(W_h h_j - W_s s)", {"query": -1}),
                ("relu", "relu in the place of tanh", {"bend": lambda x: x * (x > 0)}),
                *(
                    (tag, f"{text} for c", {"weigh": lambda e, m, w=w: w(e, m)})
                    for tag, text, w in CONTEXTS
                ),
                ("no-tanh", "scores without tanh", {"bend": np.array}),
            ]
            for k, (tag, what, _) in enumerate(wrong_weights(*TWO_SCORES)):

                def weigh(scores, mask, k=k):
                    return wrong_weights(scores, mask)[k][2]

                options.append((tag, f"attention with {what}", {"weigh": weigh}))
        wrong = [(tag, what, by_loop(*drawn, **o)) for tag, what, o in options]
        crossed = drawn[0] | {"b_ih": drawn[0]["b_hh"], "b_hh": drawn[0]["b_ih"]}
        text = "a step with b_ih and b_hh exchanged"
        wrong.append(("exchanged", text, by_loop(crossed, *drawn[1:])))
        p, y, s, *rest = drawn
        wrong.append(
            ("no-state", "a step from the state 0", by_loop(p, y, 0 * s, *rest))
        )
        logits, state = (each.numpy() for each in step(my, *drawn))
        want = dict(zip(("logits", "state"), by_loop(*drawn)))
        known = {
            name: [
                (tag, what, each[place])
                for tag, what, each in wrong
                if not np.allclose(each[place], want[name])
            ]
            for place, name in enumerate(want)
        }
        without = want["logits"] - drawn[0]["b_o"]
        known["logits"] += [
            ("no-bias", "the logits without b_o", without),
            ("minus", "the logits with - b_o", without - drawn[0]["b_o"]),
            ("softmax-taken", "log_softmax of the logits",
             want["logits"] - np.log(np.exp(want["logits"]).sum(1, keepdims=True))),
        ]  # fmt: skip
        known["state"].append(("state-stands", "the state before the step", drawn[2]))
        want = {"state": want["state"], "logits": want["logits"]}  # in this order
        equal_all(my, (state, logits), want, AXES, known, rtol=1e-7)


@laws("the logits depend on H only with attention, and never on padding")
def what_is_seen(my, rng):
    for name, attends in KINDS.items():
        p, y, s, H, mask = draw(rng, attends)
        before = step(my, p, y, s, H, mask)[0].numpy()
        for b, j in ((0, 0), (0, 6), (1, 3), (1, 4), (2, 6)):
            moved = H.copy()
            moved[b, j] += 1.0
            change = np.abs(step(my, p, y, s, moved, mask)[0].numpy() - before).max()
            expected = attends and mask[b, j]
            my.holds(
                (change > 0) == expected,
                "mask-leak" if change else "blind",
                f"expected logits that {'do' if expected else 'do not'} depend on "
                f"H[{b}, {j}], {name} attention",
                f"found a change of {change:.3g}",
            )


@laws("padding has no influence, also if its scores are far above the others")
def far_above(my, rng):
    p, y, s, H, mask = draw(rng, True)
    p["v"] = 1e4 * p["v"]
    found = []
    for size in (1.0, -1.0):  # of the two, one has the larger scores at padding
        moved = np.where(mask[:, :, None], H, size * 1e2 * np.sign(p["W_h"].sum(0)))
        found.append(step(my, p, y, s, moved, mask)[0].numpy())
    my.holds(
        np.isfinite(found).all() and np.allclose(*found),
        "masked-maximum",
        "expected logits that do not depend on padding",
        f"found a difference of {np.abs(found[0] - found[1]).max():.3g}",
    )


@laws("eight pairs, learned by heart")
def by_heart(my, rng):
    for name, attends in KINDS.items():
        with given.plainly():
            losses = given.overfit(my, attends)
        my.holds(
            losses[-1] < 0.05,
            "not-learned",
            f"expected a loss below 0.05 after {len(losses)} steps, {name} attention",
            f"found {losses[0]:.3f} before, {losses[-1]:.3f} after",
        )


@laws("your prediction")
def predicted(my, rng):
    found = my.prediction()
    text = "expected " + ", ".join(
        f'"{key}": {" or ".join(map(repr, each))}' for key, each in ANSWERS.items()
    )
    my.holds(is_prediction(found), "prediction", text, f"found {found!r}")
    known = my.ENCODER in ("gru", "lstm")
    text = 'expected ENCODER = "gru" or "lstm"', f"found {my.ENCODER!r}"
    my.holds(known, "encoder", *text)


@gradients("of a step, for all parameters, the state and H")
def of_a_step(my, rng):
    """Compare the slope along a random direction with central differences."""
    for attends in KINDS.values():
        p, y, s, H, mask = draw(rng, attends)
        arrays = {**p, "s": s, "H": H} if attends else {**p, "s": s}
        g, g_s = rng.normal(size=(B, V)), rng.normal(size=(B, D))

        def loss(arrays):
            of = {"s": mg.Tensor(s), "H": mg.Tensor(H), **arrays}
            p = {k: v for k, v in of.items() if k not in ("s", "H")}
            with given.plainly():
                logits, state = my.decode_step(
                    given.Tensors(p), y, of["s"], of["H"], mask
                )
            return (logits * g).sum() + (state * g_s).sum()

        held = tensors(arrays)
        with given.plainly():
            loss(held).backward()
        for name, array in arrays.items():
            u, h = rng.normal(size=array.shape), 1e-5
            sides = [
                loss({**held, name: mg.Tensor(array + k * h * u)}).item()
                for k in (1, -1)
            ]
            numeric = (sides[0] - sides[1]) / (2 * h)
            grad = held[name].grad
            yours = 0.0 if grad is None else float((np.asarray(grad) * u).sum())
            my.holds(
                abs(yours - numeric) <= 1e-6 * max(1, abs(numeric)),
                "detached",
                f"expected a slope of {numeric:+.6g} along a direction in {name}",
                f"found {'no gradient' if grad is None else format(yours, '+.6g')}",
            )


@edges("no right word, no word at all, no sentence")
def nothing(my, rng):
    for hyps in ([["dog"] * 6], [[]], [CAT[:3]]):
        found = float(my.bleu([CAT], hyps))
        my.holds(found == 0, "no-zero", "expected 0", f"found {found:g}")
    found, want = groups_of(my, []), {b: [] for b in BUCKETS}
    my.holds(found == want, "type", f"expected {want}", f"found {found}")


@edges("your own training, and your words")
def the_long_run(my, rng):
    found = own_record(my)
    first = locked(my, is_prediction)
    print(
        f"you predicted: {first['longest']} on long sources, and the advantage: "
        f"{first['growth']}"
    )
    print(given.statement(found))
    self_assessed(
        my,
        my.explanation(),
        "the advantage at each length, and its interval over the seeds",
        "whether the advantage grows; if the interval contains 0, nothing is decided",
        "without attention: is BLEU low for short sentences, too? Then the size of "
        "the data limits it, not the one vector",
        "what would decide: more pairs, more seeds, a larger state",
    )


def experiment(my, seed=0, quick=False):
    """Compare both kinds: the learner's decoder step, data and BLEU."""
    locked(my, is_prediction)
    examine(my, but="the_long_run")
    used = my.decode_step, my.hold_out, my.bleu_by_length  # of which the record is, too
    found = compared(my, given.Attending(my, seed), quick)
    print(given.statement(found))
    return {"pairs": given.PAIRS, "encoder": my.ENCODER, **found}


def picture(found):
    """Draw a record: BLEU of all runs of both kinds, by length and by steps."""
    title = "Does the advantage of attention grow with the length?"
    fig, (left, right) = figure(title, columns=2)
    buckets = [f"{a}-{b}" for a, b in BUCKETS]
    for run in found["runs"]:
        colour = (BLUE, ORANGE)[found["arms"].index(run["arm"])]
        label = f"{run['arm']} attention" * (run["seed"] == found["seeds"][0])
        line = {"color": colour, "label": label or None}
        left.plot(buckets, [run["bleu"][b] for b in buckets], marker="o", **line)
        steps = found["every"] * (1 + np.arange(len(run["curve"])))
        right.plot(steps, run["curve"], **line)
    right.axhline(found["trivial"], color="grey", label="any sentences")
    left.set(xlabel=f"words of the source; {len(found['seeds'])} runs of each kind",
             ylabel="BLEU, test")  # fmt: skip
    right.set(xlabel="step", ylabel="BLEU, validation")
    right.legend()
    return fig


def is_prediction(found):
    fits = isinstance(found, dict) and set(found) == set(ANSWERS)
    return fits and all(found[k] in ANSWERS[k] for k in ANSWERS)


HINTS = {
    "bleu_by_length": ["Group the sentences first, then one BLEU for each group."],
    "prediction": ["The docstring gives the two keys and the words for each."],
    "bleu": ["Count for the reported sentences by hand, for n = 1 first."],
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
    "one-bound": ["A group has two bounds."],
    "lengths": ["The lists contain the places i of the sentences."],
    "swapped": ["The training pairs come first, then the test."],
    "orders": ["range(1, order) ends before order."],
    "not-added": ["Are the counts of all sentences added, or the last ones kept?"],
    "theirs": ["An n-gram is right at most as often as the hypothesis has it."],
    "different-ngrams": ["p_n divides by all n-grams of the hypotheses, with repeats."],
    "words-for-ngrams": ["How many runs of n words do m words have?"],
    "brevity": ["Compute exp(1 - r / c) by hand for c = 2 and r = 6."],
    "first-reference": ["zip(refs, hyps) pairs each sentence with its own reference."],
    "all-orders": ["Each order n has its own p_n."],
    "least": ["The mean is over all orders."],
    "unit": ["BLEU is a number from 0 to 1 here."],
    "sign": ["Which signs do W_s s, W_h h_j and e have in the formula?"],
    "plain-sum": ["c is a weighted sum: where do the weights enter?"],
    "first-state": ["c is a sum over all allowed states."],
    "last-state": ["c is a sum over all allowed states."],
    "divided": ["The weights sum to 1 already."],
    "minus": ["logits = W_o [s'; c] + b_o."],
    "bounds": ["Which of 5 words and 7 words belong to the bucket (5, 7)?"],
    "whole-corpus": [
        "Which sentences belong to a bucket? Compute BLEU of these alone.",
    ],
    "by-reference": ["The buckets are those of the sources, not of the references."],
    "clipped-at-one": ["An n-gram counts as often as it stands in the reference."],
    "by-translation": ["The buckets are those of the sources, which stay the same."],
    "different-words": ["A word that occurs twice has two places in the sentence."],
    "first-pairs": ["The last n pairs are the test, not the first n."],
    "test-in-train": ["A pair that occurred in training does not test the model."],
    "mask-leak": ["Padding is not a word: its weight must be 0."],
    "masked-maximum": [
        "masked_softmax takes a mask. A weight that you multiply by the mask after "
        "exp becomes NaN if all allowed scores are far below the others.",
    ],
    "old-state": ["The logits are computed from the state after the step."],
    "no-state": ["s is an argument of mg.gru_cell as well."],
    "state-stands": ["Which state does the next step start from?"],
    "mean-context": ["c is a weighted mean of the states."],
    "parts-exchanged": ["[E[y]; c] and [s'; c]: which of the two comes first?"],
    "detached": ["Does a Tensor become an array somewhere?"],
    "ignores-query": ["Which term of the score contains the state of the decoder?"],
    "no-tanh": [
        "Without tanh the score is affine in h_j. Does yours contain the tanh?",
    ],
    "longer-of-pair": ["r counts the words of the references, and no others."],
    "all-references": ["Each sentence has one reference, its own."],
    "smoothed": ["p_n is a plain quotient of two counts."],
    "fourth-root": ["The root is that of the number of precisions, ``order``."],
    "each-once": ["Which pairs are left out? A pair that occurs twice is not."],
    "no-zero": ["What do you return if an order has no right n-gram?"],
    "no-bias": ["Each parameter in the docstring has a place."],
    "brevity-above-1": [
        "Long output is no advantage: the brevity factor is at most 1.",
    ],
}

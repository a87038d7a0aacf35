"""Check an answer to 6.7."""

import json
import pathlib
import tempfile

import numpy as np

from attention.app.pretrained import EN_FR
from lessons.checks import looking, pictures
from lessons.checks.looking import EOS, PAD, SOS
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.words import self_assessed
from lessons.classroom.steps import CheckFailed, edges, laws, numbers, shape, values
from minigrad import safetensors


def matrix(places, S=None, gap=0.3):
    """Return weights whose largest entry in row t is at places[t].

    Another entry of row 0 is larger than the largest of row 1, so that no threshold
    finds the largest of each row.
    """
    S = S or max(places) + 1
    w = np.full((len(places), S), (1 - gap) / S)
    w[np.arange(len(places)), places] += gap
    if len(places) > 1 and S > 2:
        w[0], w[1] = 0.05 / (S - 2), 0.9 / S
        w[0, [places[0], (places[0] + 1) % S]] = 0.5, 0.45
        w[1, places[1]] += 0.1
    return w


SHAPES = {  # p: the pattern
    (0, 1, 2, 3, 4): "diagonal",
    (0, 1, 3, 2, 4): "reordering",
    (2, 1, 0): "reordering",
    (0, 0, 1): "many-to-one",  # 1 of 3
    (0, 1, 1, 2, 3, 4, 5, 6, 7, 8): "diagonal",  # 1 of 10
    (0, 1, 2, 2, 1, 1): "many-to-one",
    (0, 1, 2, 0, 1): "many-to-one",  # 2 of 5
    (0, 1, 2, 3, 4, 6, 5, 7, 8, 9, 10): "reordering",  # 1 step of 10
    (0, 1, 2, 3, 4, 6, 5, 7, 8, 9, 10, 11): "diagonal",  # 1 step of 11
    (5, 6, 4, 3, 2, 1, 0): "reordering",
    (0, 1, 0, 1, 0, 1): "many-to-one",  # never twice in a row
    (1, 0, 3, 2, 5, 4, 6, 7, 8, 9): "reordering",  # 3 steps of 9
    (0, 0, 1, 2, 3, 4): "diagonal",  # 1 of 6 has an earlier one, 2 share theirs
}
RULES = [  # wrong rules: the pattern that they give for p
    ("previous-only", lambda p: by_rule(p, earlier=lambda p, t: p[t - 1 : t])),
    ("counts-first", lambda p: by_rule(p, earlier=lambda p, t: p[:t] + p[t + 1 :])),
    ("any-repeat", lambda p: by_rule(p, repeats=lambda n, T: n > 0)),
    ("counts-pauses", lambda p: by_rule(p, back=lambda a, b: b <= a)),
    ("forward", lambda p: by_rule(p, back=lambda a, b: b > a)),
    ("any-step-back", lambda p: by_rule(p, enough=lambda n, T: n > 0)),
    ("more-than", lambda p: by_rule(p, repeats=lambda n, T: n / T > 1 / 3)),
    ("more-than", lambda p: by_rule(p, enough=lambda n, T: 10 * n > T)),
    ("a-half", lambda p: by_rule(p, repeats=lambda n, T: 2 * n >= T)),
    ("a-half", lambda p: by_rule(p, enough=lambda n, T: 2 * n > T)),
    ("never-repeated", lambda p: by_rule(p, repeats=lambda n, T: n >= T)),
    ("distinct", lambda p: by_rule(p, repeats=lambda n, T: 3 * (T - n) >= T)),
    ("two-steps", lambda p: by_rule(p, enough=lambda n, T: n > 1 and 10 * n >= T)),
    ("far-back", lambda p: by_rule(p, back=lambda a, b: b < a - 1)),
    ("far-back", lambda p: by_rule(p, back=lambda a, b: abs(b - a) > 1)),
    ("order-of-rules", lambda p: max(by_rule(p), by_rule(p, lambda n, T: False))),
]


def by_rule(
    p,
    repeats=lambda n, T: n / T >= 1 / 3,
    back=lambda a, b: b < a,
    enough=lambda n, T: n and n / T >= 1 / 10,
    earlier=lambda p, t: p[:t],
):
    """Return the pattern of p by a rule; the defaults are the right one."""
    if repeats(sum(s in earlier(p, t) for t, s in enumerate(p)), len(p)):
        return "many-to-one"
    steps = [back(a, b) for a, b in zip(p, p[1:])]
    return "reordering" if enough(sum(steps), len(steps)) else "diagonal"


def check_set(my, found, want, wrong=()):
    """Fail unless two sets of links are equal; wrong: [(tag, set)]."""
    try:  # numbers of NumPy print as plain ones
        listed = sorted((int(t), int(s)) for t, s in found)
    except (TypeError, ValueError):
        text = "expected a set of pairs (t, s)", f"found {found!r:.60}"
        my.holds(False, "type", *text)
    found = set(listed)
    tag = next((t for t, each in wrong if found == each and each != want), "links")
    text = "yours equals the pairs with a weight above one number, which all rows share"
    more = [text] * (tag == "threshold")
    my.holds(found == want, tag, f"expected {sorted(want)}", f"found {listed}", *more)


def is_threshold(found, weights):
    """Return whether the pairs are those whose weight is above some number."""
    pairs = list(np.ndindex(weights.shape))
    inside = [weights[p] for p in pairs if p in found]
    outside = [weights[p] for p in pairs if p not in found]
    return min(inside, default=2) > max(outside, default=-1)


@shape("a row for each target word, a column for each source word")
def a_row_for_each(my, rng):
    written, weights = my.collect_attention(
        looking.Fake([5, 4, 7, EOS], 5), np.arange(4, 9)
    )
    eos = np.ndim(written) == 1 and len(written) and written[-1] == EOS
    my.holds(not eos, "eos-written", "expected ids without EOS", f"found {written}")
    my.shape(np.asarray(weights, float), np.shape(written) + (5,), "TS")
    layers = [rng.random((3, 7, 5)) for _ in range(2)]
    my.shape(my.layer_head_mean(layers), (7, 5), "TS")


@numbers("links, error rates and patterns, counted by hand")
def counted(my, rng):
    want, turned = {(0, 0), (1, 2), (2, 1), (3, 1)}, {(0, 0), (2, 1), (1, 2), (1, 3)}
    for S in (3, 7):
        weights = matrix((0, 2, 1, 1), S)
        by_source = {(s, int(t)) for s, t in enumerate(weights.argmax(0))}
        least = {(t, int(s)) for t, s in enumerate(weights.argmin(1))}
        wrong = [("by-source", by_source), ("transpose", turned), ("least", least)]
        wrong += [("off-by-one", {(t + 1, s) for t, s in want}),
                  ("off-by-one", {(t, s + 1) for t, s in want}),
                  ("off-by-one", {(t + 1, s + 1) for t, s in want}),
                  ("reversed", {(3 - t, s) for t, s in want})]  # fmt: skip
        of_columns = np.argwhere(weights == weights.max(0)).tolist()
        wrong.append(("by-source", {*map(tuple, of_columns)}))
        found = my.links(weights)
        if is_threshold(found, weights):
            wrong.append(("threshold", set(found)))
        check_set(my, found, want, wrong)
    found = {(0, 0), (1, 2), (2, 1), (3, 1), (4, 3), (5, 5)}
    gold = {(0, 0), (1, 2), (2, 1), (3, 1), (4, 3), (6, 6), (7, 4)}
    wrong = [  # 5 of 6 are right, and 5 of 7 are found
        ("precision", "1 - the right share of found", 1 / 6),
        ("recall", "1 - the found share of gold", 2 / 7),
        ("jaccard", "1 - |found & gold| / |found | gold|", 3 / 8),
        ("no-two", "the rate without the 2", 8 / 13),
        ("no-complement", "the right share, not the error", 10 / 13),
        ("no-complement", "the right share of found", 5 / 6),
        ("no-complement", "the found share of gold", 5 / 7),
        ("union", "1 - 2 |found & gold| / |found | gold|", 1 - 10 / 8),
        ("union", "1 - 2 |found | gold| / (|found| + |gold|)", 1 - 16 / 13),
        ("parentheses", "1 - 2 |found & gold| / |found| + |gold|", 1 - 10 / 6 + 7),
        ("product", "1 - 2 |found & gold| / (|found| |gold|)", 1 - 10 / 42),
        ("unit", "the rate in percent", 300 / 13),
    ]
    my.equal(float(my.alignment_error_rate(found, gold)), 3 / 13, "", wrong)
    found = {p: my.pattern(matrix(p)) for p in SHAPES}
    names = sorted({*SHAPES.values()})
    my.holds({*found.values()} <= {*names}, "type", f"expected one of {names}",
             f"found {sorted(map(str, {*found.values()} - {*names}))}")  # fmt: skip
    known = [n for n, rule in RULES if all(rule(p) == e for p, e in found.items())]
    if all(found[p] == by_rule([*matrix(p).argmax(0)]) for p in SHAPES):
        known.append("by-source")
    tag = known[0] if known else "pattern"
    for p, want in SHAPES.items():
        again = my.pattern(matrix(p))  # the report shows this call
        my.holds(again == want, tag, f"expected {want} for p = {p}",
                 f"found {again}")  # fmt: skip


@values("the words of a model, and its weights")
def what_it_says(my, rng):
    for forbidden in (PAD, SOS):
        model, script = looking.Fake([5, 4, 7, 5, EOS], 5, forbidden), [5, 4, 7, 5]
        written, weights = my.collect_attention(model, np.arange(4, 9))
        written = np.asarray(written).tolist()
        tag = (
            "not-fed" if 9 in written else "state-stands" if 8 in written else "written"
        )
        tag = "eos-written" if EOS in written else tag
        shifted = [script[0] - EOS], [script[0] + 1]
        tag = "ids-shifted" if written[:1] in shifted else tag
        tag = "first-word" if written[:1] == [8] else tag
        tag = "special" if {PAD, SOS} & set(written) else tag
        my.holds(written == script, tag, f"expected {script}", f"found {written}")
        want = np.array([model.weights(t) for t in range(4)])
        wrong = [
            ("shifted", "weights moved by one word of the source", np.roll(want, 1, 1)),
            (
                "late",
                "the weights of the step after",
                [model.weights(t + 1) for t in range(4)],
            ),
        ]
        my.equal(np.asarray(weights, float), want, "TS", wrong)
    written, _ = my.collect_attention(looking.Fake([5] * 50, 5), np.arange(4, 9), 6)
    text = "expected 6 words, max_length", f"found {len(written)} words"
    my.holds(len(written) == 6, "endless", *text)


@values("the mean over layers and heads, against a loop")
def the_mean(my, rng):
    layers = [rng.dirichlet(np.ones(5), (3, 7)) for _ in range(2)]
    want = sum(layers[i][h] for i in range(2) for h in range(3)) / 6
    wrong = [
        ("last-layer", "the mean of the last layer alone", layers[1].mean(0)),
        ("last-layer", "the mean of the first layer alone", layers[0].mean(0)),
        ("maximum", "the largest of all heads", np.max(layers, (0, 1))),
        ("maximum", "the smallest of all heads", np.min(layers, (0, 1))),
        ("median", "the median of all heads", np.median(layers, (0, 1))),
        ("product", "the product of all heads", np.prod(layers, (0, 1))),
        ("one-head", "the mean of the last heads", (layers[0][2] + layers[1][2]) / 2),
        ("one-head", "the first head of the first layer", layers[0][0]),
        ("one-head", "the last head of the last layer", layers[1][2]),
        ("one-head", "the mean of the first heads", (layers[0][0] + layers[1][0]) / 2),
    ]
    my.equal(my.layer_head_mean(layers), want, "TS", wrong)


@values("a file of weights")
def a_file(my, rng):
    held = {"a": rng.normal(size=(3, 5)).astype("<f4"), "n": np.arange(7, dtype="<i8"),
            "h": rng.normal(size=2).astype("<f2"),
            "x": np.array(0.5, "<f4")}  # fmt: skip
    codes, header, data = {"f4": "F32", "i8": "I64", "f2": "F16"}, {}, b""
    for name, x in held.items():
        ends = [len(data), len(data) + x.nbytes]
        data += x.tobytes()
        header[name] = {"dtype": codes[x.dtype.str[1:]], "shape": list(x.shape),
                        "data_offsets": ends}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.safetensors"
        for extra in ({}, {"__metadata__": {"format": "np"}}):
            text = json.dumps({**extra, **header}).encode()
            path.write_bytes(len(text).to_bytes(8, "little") + text + data)
            compare(my, path, held, "metadata" if extra else "offsets")
    with open(EN_FR, "rb") as file:
        held = safetensors.read(file, EN_FR.stat().st_size)[0]
    compare(my, EN_FR, held, "offsets")


def compare(my, path, held, tag):
    """Fail unless the learner reads the arrays of a file rightly."""
    try:
        found = my.read_safetensors(str(path))
    except CheckFailed as failure:  # the second file has one property more
        tag = tag if tag == "metadata" else failure.tag
        raise CheckFailed(tag, *failure.lines) from None
    listed = sorted(found) if isinstance(found, dict) else found
    if isinstance(found, dict) and len(found) == 1:
        tag = "early-return"
    my.holds(listed == sorted(held), tag, f"expected {sorted(held)}", f"found {listed}")
    raw = pathlib.Path(path).read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    for name, want in held.items():
        if want.shape == () != np.shape(found[name]):
            my.holds(False, "scalar", f"expected in {name} one number, of shape ()",
                     f"found an array of shape {np.shape(found[name])}")  # fmt: skip
        array = np.asarray(found[name])
        kind, here = f"{want.dtype} {want.shape}", f"{array.dtype} {array.shape}"
        if here != kind:
            other = "dtype" if array.shape == want.shape else "shape"
            my.holds(False, other, f"expected in {name} {kind}", f"found {here}")
        a, b = header[name]["data_offsets"]
        other = "offsets" if array.tobytes() == raw[a:b] else "unknown"
        if np.array_equal(np.sort(array, None), np.sort(want, None)):
            other = "order"
        my.holds(np.array_equal(array, want), other,
                 f"expected in {name} {want.reshape(-1)[:3]}",
                 f"found {array.reshape(-1)[:3]}")  # fmt: skip


@laws("tier A: rows that sum to 1, and fewer errors than a diagonal")
def tier_a(my, rng):
    found = looking.tier_a(my, 18)
    my.holds(found["off"] < 1e-5, "axes", "expected rows that sum to 1",
             f"found a row with an error of {found['off']:.3g}")  # fmt: skip
    rate, diagonal = found["aer"], found["aer_diagonal"]
    my.holds(rate < 0.25 and rate < diagonal, "axes",
             f"expected an alignment error rate below 0.25, and below {diagonal:.3f}",
             f"found {rate:.3f}")  # fmt: skip
    if not found["agree"]:
        looking.same_patterns(my, 18)
    print(f"tier A: alignment error rate {rate:.3f}, of a diagonal {diagonal:.3f}")
    given = "python -m lessons experiment 6.7" if looking.weights_folder() else None
    print(f"tier B: {given or looking.NOT_RUN}")


@laws("heatmaps of sentences of 5, 15 and 30 words")
def heatmaps(my, rng):
    model, _ = looking.pretrained()
    for source, _ in looking.three_sentences():
        ids = np.array(model.source.encode(source))
        said, w = my.collect_attention(model.model, ids)
        w, target = np.asarray(w, float), model.target.decode(said)
        size = 1.5 + 0.24 * len(source), 1.2 + 0.24 * len(target)
        fig = pictures.drawn(my, "draw", size, w, list(source), target)
        turned = [("transposed", "the weights, transposed", w.T)]
        pictures.has_image(fig, w, "no-image", "the weights", turned)
        words_stand_at(my, fig, list(source), target)
        pictures.keep(my, fig, f"_{len(source)}_words")
        print(f"{len(source):2} words: {my.pattern(w)}")


def words_stand_at(my, fig, source, target):
    """Fail unless the words of the source and the target stand at their axes."""
    ax = pictures.panels(fig)[0]
    ticks = ax.get_xticklabels(), ax.get_yticklabels()
    across, down = ([label.get_text() for label in each] for each in ticks)
    is_exchanged = (across, down) == (target, source) != (source, target)
    my.holds((across, down) == (source, target),
             "words-exchanged" if is_exchanged else "no-words",
             f"expected {source[:3]} … below the image and {target[:3]} … beside it",
             f"found {across[:3]} … and {down[:3]} …")  # fmt: skip


@edges("the patterns, in your own words")
def your_own_words(my, rng):
    self_assessed(
        my,
        my.explanation(),
        "the pattern of each of the three, and the words at which a row leaves it",
        "what makes it: adjectives behind nouns, ne … pas, two words for one",
        "what changes with length: more steps of each kind, and beyond the lengths of "
        "the training the model loses its place",
        "what a mean over layers and heads does: compare its error rate with that of "
        "each head, in the table of the experiment; an alignment is not yet a cause",
    )


@edges("no words, one word, no right link")
def nothing(my, rng):
    written, weights_of_none = my.collect_attention(
        looking.Fake([EOS], 5), np.arange(4, 9)
    )
    empty = len(written) == 0 and np.shape(weights_of_none) == (0, 5)
    my.holds(empty, "shape", "expected written (0,), weights (0, 5)",
             f"found {np.shape(written)}, {np.shape(weights_of_none)}")  # fmt: skip
    found = my.pattern(matrix((2,)))
    my.holds(found == "diagonal", "no-step", "expected diagonal", f"found {found}")
    my.equal(float(my.alignment_error_rate({(0, 0)}, {(0, 1)})), 1.0)


def experiment(my, seed=0):
    """Measure all tiers; no result depends on the seed."""
    used = my.collect_attention, my.layer_head_mean, my.links  # of which the record is
    used += my.alignment_error_rate, my.pattern
    return looking.measured(my)


HINTS = {
    "draw": ["One image, and a word at each of its columns and rows."],
    "collect_attention": [
        "Follow one word: what goes into a step, what comes out, and what is kept?",
    ],
    "layer_head_mean": ["Every head of every layer counts once."],
    "links": ["How many links do weights of shape (4, 3) have?"],
    "alignment_error_rate": [
        "What are |found|, |gold| and the size of the links in both?",
    ],
    "pattern": [
        "Write p for the reported case, and count for each rule by hand.",
    ],
    "read_safetensors": ["The file has three parts. How long is each?"],
    "": [
        "collect_attention is a loop over model.step. The word before is the input "
        "of the next step, and the weights of a step belong to the word that this "
        "step writes.",
        "A set of pairs makes links easy to compare: found & gold contains the right "
        "ones. The pattern needs only p = weights.argmax(1) and its differences.",
        "In the file, the data begin at 8 + n, and the offsets count from there. "
        "np.frombuffer reads bytes as numbers, and reshape gives the array its "
        "shape.",
    ],
    "not-fed": ["Which word is the input of the second step?"],
    "first-word": ["Which word does the docstring give for the first step?"],
    "more-than": [
        "At least 1/3 is >=. A share of exactly 1/3 is enough. And T rows have T - 1 "
        "steps.",
    ],
    "a-half": ["Which shares does the docstring state?"],
    "never-repeated": ["Compute the share of p = (0, 0, 1) by hand, then with yours."],
    "ids-shifted": ["argmax counts from the start of the slice. Which id is that?"],
    "distinct": ["Count the rows whose p_t has occurred, not the different p_t."],
    "two-steps": ["At least one step: how many does p = (0, 2, 1) have?"],
    "product": ["The divisor is the sum of both sizes."],
    "far-back": ["Every step to a smaller s goes back, also one of 1."],
    "order-of-rules": ["The first that is true: in which order do you test?"],
    "no-step": ["A single word has no step. Is at least one step back?"],
    "least": ["A link goes to the source word of the largest weight."],
    "union": ["|found| + |gold| counts the pairs in both twice."],
    "parentheses": ["The divisor is a sum: it needs parentheses."],
    "state-stands": ["Each step starts from the state that the step before returned."],
    "eos-written": ["EOS ends the sentence and is not one of its words."],
    "special": ["PAD and SOS are never written, even if they are the most probable."],
    "endless": ["Stop after max_length words: some models never write EOS."],
    "last-layer": ["The mean is over all layers and over all heads of each layer."],
    "maximum": ["Return the mean, whose rows still sum to 1."],
    "by-source": [
        "There is one link for each target word. Over which axis is the maximum?",
    ],
    "threshold": [
        "The largest weight of one row may be smaller than another weight of a second "
        "row. In which column is it?",
    ],
    "previous-only": ["p_t counts if any earlier row has it, not only the row before."],
    "precision": ["A missing link is an error as well."],
    "recall": ["A link too many is an error as well."],
    "jaccard": ["The right pairs count twice; divide by the sum of both sizes."],
    "no-complement": ["The rate is 0 if all links are right, and 1 if none is."],
    "counts-first": [
        "The first row with some p_t has no earlier row with it, and does not count.",
    ],
    "scalar": ["An empty list of sizes is the shape of a single number."],
    "any-repeat": [
        "Which share of the words must have an earlier p_t for many-to-one?",
    ],
    "counts-pauses": ["A step from one source word to the same word does not go back."],
    "any-step-back": ["At least one step in ten must go back."],
    "forward": ["A step back goes to a smaller s."],
    "transposed": ["Row t of the weights is row t of the image, for target word t."],
    "no-image": ["ax.imshow draws an array, each entry as a square."],
    "no-words": ["ax.set_xticks(range(n), words) writes a word at each column."],
    "words-exchanged": ["Which axis has the source words?"],
    "early-return": ["Where does ``return`` stand: inside the loop, or after it?"],
    "order": ["The numbers stand row after row, which is the order of reshape."],
    "offsets": ["Where do the offsets begin to count?"],
    "metadata": ['The entry "__metadata__" is not an array.'],
    "no-two": ["If found equals gold, the rate must be 0."],
}

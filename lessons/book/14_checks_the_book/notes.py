"""Claims of the page on scoring functions and of the notes, with measurements."""

from dataclasses import replace

import numpy as np

import minigrad as mg
from attention import (
    additive,
    concat,
    linear_attention,
    masked_softmax,
    masks,
    sinusoidal,
    t5_bucket,
)
from attention.app.experiments import fair
from attention.app.experiments.verdict import above, below, between
from attention.costs import cost_of
from lessons.classroom.records import record

from .claims import YES, claim, computed, drawn, fact, printed, seeds, shares, timed

# Attention Scoring Functions


@claim(
    "scoring",
    "Var(q.k) / d is 1 (d = 20: within a twentieth)",
    between(0.95, 1.05),
    "05",
)
def variance():
    e = np.random.default_rng(0).normal(size=(2, 100, 1000, 20)).prod(0).sum(-1)
    return drawn(e.var(-1, ddof=1) / 20, "100 times 1000 scores")


@claim(
    "scoring", "the first printed weights sum to 1.0000000", printed("1.0000000"), "06"
)
def printed_weights():
    return computed(0.6731507 + 0.32684928)


@claim(
    "scoring",
    "its example has 2 queries for each sentence",
    printed("2"),
    "06",
    'its example has "2 queries"',
)
def queries():
    return computed((2, 1, 2)[1], "of shape (2, 1, 2): batch, queries, width")


@claim(
    "scoring",
    "a mask of -1,000,000 gives padding the weight 0 (in a row with "
    "nothing allowed, 4 keys)",
    printed("0"),
    "06",
    "large negative number",
)
def weight_of_padding():
    ours = masked_softmax(np.ones((1, 1, 4)), np.array([0])).data.max()
    words = f"ours {ours:.0f}"
    return computed(mg.softmax(np.full(4, -1e6)).data[0], words)


@claim(
    "scoring",
    "a mask of -1,000,000 gives padding the weight 0, also with 16 bits (half "
    "precision; in a row with a key allowed)",
    printed("0"),
    "06",
)
def weight_in_half_precision():
    with np.errstate(over="ignore"):
        scores = np.array([0, -1e6]).astype(np.float16)
    words = "-1,000,000 becomes minus infinity; with nothing allowed the row is NaN"
    return computed(float(mg.softmax(scores).data[1]), words)


# Attention Mechanisms, the notes


@claim("notes", "concat is the additive score", YES, "04")
def concat_is_additive():
    q, k = np.random.default_rng(2).normal(size=(2, 3, 4))
    W, v = np.random.default_rng(3).normal(size=(5, 8)), np.arange(5.0)
    same = np.allclose(
        concat(q, k, W, v).data, additive(q, k, W[:, :4], W[:, 4:], v).data
    )
    return fact(same, "the matrix, cut in two")


def right_values(name, length, distance="all"):
    """Return shares of right values by seed, and the steps if there is no plateau."""
    kept, arm = record("positions")["schemes"], name.partition("+")[0]
    runs = [run["found"][name] for run in kept["runs"] if run["arm"] == arm]
    steps = fair.steps_without_plateau(kept, arm)
    return np.array([found[distance][str(length)] for found in runs]), steps


def at_twice_the_length(name):
    values, steps = right_values(name, 64)
    return replace(shares(values), steps=steps)


@claim(
    "notes",
    "sinusoidal positions are not relative (the scores of a model change if all its "
    "words move to other places)",
    YES,
    "11",
    "sinusoidal positions are not",
)
def moved_words():
    rng = np.random.default_rng(11)
    X, *W = (rng.normal(size=(n, 16)) for n in (8, 16, 16))
    rows = (X + sinusoidal(at + np.arange(8), 16) for at in (0, 20))
    here, there = ((Y @ W[0]) @ (Y @ W[1]).T for Y in rows)
    words = "they change; the encoding alone contains the distances"
    return fact(not np.allclose(here, there), words)


for name, says, claimed, box in (
    ("sinusoidal", "limited (between 0.25 and 0.75)", between(0.25, 0.75), ""),
    ("learned", "poor (below 0.75)", below(0.75), "extrapolates poorly"),
    ("t5, 32 buckets", "good (0.75 or more)", above(0.75), "RoPE extrapolate well"),
    ("rope+yarn", "good, with YaRN (0.75 or more)", above(0.75), ""),
    ("alibi", "excellent (0.9 or more)", above(0.9), ""),
):
    register = claim(
        "notes",
        f"{name.partition('+')[0]} extrapolates: {says}, right values at "
        "twice the length",
        claimed,
        "11",
        box,
    )
    register(lambda name=name: at_twice_the_length(name))


for distance, words in (("all", "all answers"), ("32-63", "answers 32 tokens back")):
    register = claim(
        "notes",
        f"ALiBi is best: at four times the length it beats RoPE with YaRN ({words}: "
        "difference of the shares of right values)",
        above(0),
        "11",
        "excellently" if distance == "all" else "",
    )

    @register
    def lead_of_alibi(distance=distance):
        (alibi, a), (rope, b) = (
            right_values(name, 128, distance) for name in ("alibi", "rope+yarn")
        )
        return replace(seeds(alibi - rope), steps=a or b)


@claim(
    "notes",
    "T5 generalizes by itself: it tells 129 from 5000 tokens away",
    YES,
    "11",
    "naturally generalizes",
)
def far_buckets():
    buckets = len(np.unique(t5_bucket(np.arange(-5000, -128))))
    return fact(buckets > 1, "they share one bucket")


for name in ("tiled", "linear"):
    register = claim(
        "notes",
        f"{name} attention: memory grows with n (factor when n doubles: 2.0)",
        printed("2.0"),
        "12",
    )
    register(
        lambda name=name: computed(
            cost_of(name, L=2**17).extra_bytes / cost_of(name, L=2**16).extra_bytes
        )
    )


@claim(
    "notes",
    "BigBird may cost n to the 1.5 (exponent)",
    printed("1.5"),
    "12",
    r"O(n \sqrt n)",
)
def exponent_of_bigbird():
    a, b = (cost_of("bigbird", L=n).multiplications for n in (2**16, 2**17))
    return computed(np.log2(b / a))


@claim(
    "notes",
    "a window of 512 neighbours (Longformer: half of them on either side)",
    printed("512"),
    "12",
)
def neighbours():
    row = masks.sliding_window(256, 256).dense(1, 1, 1024, 1024)[0, 0, 512]
    return computed(int(row.sum()) - 1)


@claim(
    "notes",
    "FlashAttention is two to four times as fast (on a GPU; here 8192 "
    "tokens on a processor, both sides compiled)",
    between(2, 4),
    "12",
    "two to four times",
)
def gain_of_tiles():
    gains = []
    for run in record("sweep")["runs"]:
        ways = run["compiled"]["variants"]
        dense, tiled = (
            dict(zip(ways[w]["n"], ways[w]["least"])) for w in ("dense", "tiled")
        )
        gains.append(dense[8192] / tiled[8192])
    return timed(gains)


@claim(
    "notes",
    "linear attention loses expressivity (weight on the right one of 256 "
    "keys, over that of a softmax: below 0.5)",
    below(0.5),
    "12",
)
def picking_one_key():
    k = np.random.default_rng(1).normal(size=(100, 256, 64))
    q = 4 * k[:, :1]
    soft = mg.softmax((q @ k.swapaxes(1, 2))[:, 0] / 8).data[:, 0]
    one = np.zeros((100, 256, 1))
    one[:, 0] = 1  # the value of the right key: the output is its weight
    return drawn(linear_attention(q, k, one).data[:, 0, 0] / soft)

"""Check an answer to E.5."""

import numpy as np

from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import laws, shape, values
from lessons.exercises import ex_e_5 as zoo

# of the original operations, also if the learner's file has changed them
NAMES = (
    "tanh absolute product matmul add_bias row_mean pick softmax log_sum_exp "
    "standardise"
).split()


def differences(op, inputs, g, h=1e-5):
    """Return (by the backward, by differences) for each input of floats."""
    _, backward = op(*inputs)
    found = []
    for k, (x, yours) in enumerate(zip(inputs, backward(g))):
        if x.dtype.kind != "f":
            continue
        numeric = np.empty_like(x)
        for i in np.ndindex(x.shape):
            up, down = x.copy(), x.copy()
            up[i] += h
            down[i] -= h
            ends = (op(*inputs[:k], moved, *inputs[k + 1 :])[0] for moved in (up, down))
            numeric[i] = (g * np.subtract(*ends)).sum() / (2 * h)
        found.append((yours, numeric))
    return found


def gap(pairs):
    """Return the largest error relative to the largest entry; 1 for another shape."""
    worst = 0.0
    for yours, numeric in pairs:
        size = np.abs(numeric).max(initial=0)
        if np.shape(yours) != numeric.shape:
            return 1.0
        worst = max(worst, np.abs(yours - numeric).max(initial=0) / max(size, 1e-6))
    return worst


def wrong_ones():
    """Return the names of the operations that are wrong on random inputs."""
    rng = np.random.default_rng(0)
    x, b = rng.normal(size=(3, 5)), rng.normal(size=(5, 5))
    samples = dict.fromkeys(NAMES, (x,))
    samples |= {
        "product": (x, rng.normal(size=(3, 5))),
        "matmul": (x, b),
        "add_bias": (rng.normal(size=(2, 3, 5)), b[0]),
        "pick": (x, np.array([0, 2, 2])),
    }
    found = set()
    for name, inputs in samples.items():
        op = getattr(zoo, name)
        g = rng.normal(size=op(*inputs)[0].shape)
        if gap(differences(op, inputs, g)) > 1e-3:
            found.add(name)
    return found


def certificate(my, function, name):
    """Return (pairs, text) for the learner's inputs, if the operation takes them."""
    found = function(name)
    pair = isinstance(found, (tuple, list)) and len(found) == 2
    pair = pair and isinstance(found[0], (tuple, list))
    kinds = type(found).__name__
    if isinstance(found, (tuple, list)):
        kinds = f"({', '.join(type(each).__name__ for each in found)})"
    text = "expected (inputs, g), of which the first is a tuple of arrays"
    my.holds(pair, "not-accepted", text, f"found {kinds}")
    inputs = [_as_array(x) for x in found[0]]
    g, op = np.asarray(found[1], float), getattr(zoo, name)
    try:
        y = np.asarray(op(*inputs)[0])
        usable, why = y.shape == g.shape, f"y has shape {y.shape}, g {g.shape}"
        if usable and not (np.isfinite(y).all() and np.isfinite(g).all()):
            usable, why = False, "NaN or infinity"
        pairs = differences(op, inputs, g) if usable else []
        if pairs and not all(np.isfinite(n).all() for _, n in pairs):
            usable, why = False, "inputs without a derivative"
    except Exception as error:
        usable, why, pairs = False, f"{type(error).__name__}: {error}", []
    my.holds(
        usable and pairs,
        "not-accepted",
        f"expected inputs that {name} takes, and a g like its output",
        f"found {why}",
    )
    shapes = ", ".join(str(x.shape) for x in inputs)
    return pairs, f"{name} at inputs of shape {shapes}"


def _as_array(x):
    """Return an array of floats, or of the integers of an index."""
    x = np.asarray(x)
    return x.copy() if x.dtype.kind == "i" and x.ndim == 1 else x.astype(float)


@shape("a set of names")
def a_set(my, rng):
    found = my.guilty()
    strange = [n for n in found if n not in NAMES]
    my.holds(
        isinstance(found, (set, frozenset, list, tuple)) and not strange,
        "not-accepted",
        f"expected a set with names among {', '.join(NAMES)}",
        f"found {', '.join(map(str, strange[:3])) or type(found).__name__}",
    )


@values("the operations that are wrong")
def who(my, rng):
    found, wrong = set(my.guilty()), wrong_ones()
    innocent = sorted(found - wrong)
    my.holds(
        not innocent,
        "accuses-right",
        "expected only operations whose backward is wrong",
        f"found {', '.join(innocent[:1])}, whose backward agrees with differences",
    )
    my.holds(
        found == wrong,
        "missed",
        f"expected {len(wrong)} names",
        f"found {len(found)} names: these backwards are wrong, but more are",
    )


@laws("witnesses: inputs on which the backward is wrong")
def witnesses(my, rng):
    for name in sorted(wrong_ones()):
        pairs, where = certificate(my, my.witness, name)
        my.holds(
            gap(pairs) > 0.01,
            "no-witness",
            f"expected a gradient that is wrong by 1%: {where}",
            f"found gradients that agree with differences to {gap(pairs):.1g}",
        )


def _share(error):
    return f"{100 * error:.3g}% of" if error < 10 else "more than ten times"


@laws("alibis: inputs on which the backward is right and not 0")
def alibis(my, rng):
    for name in sorted(wrong_ones()):
        pairs, where = certificate(my, my.alibi, name)
        my.holds(
            any(np.abs(a).max() > 1e-5 for pair in pairs for a in pair),
            "all-zero",
            f"expected a gradient that is not 0: {where}",
            "found 0 in every entry",
        )
        my.holds(
            gap(pairs) < 1e-4,
            "no-alibi",
            f"expected gradients that agree with differences: {where}",
            f"found an error of {_share(gap(pairs))} the largest entry",
        )


HINTS = {
    "guilty": ["Compare each backward with differences, on inputs of different sizes."],
    "witness": ["Which input makes the missing or wrong factor visible?"],
    "alibi": ["Which property of the input makes the mistake without effect?"],
    "": [
        "Call each operation with random inputs of several shapes and a random g, "
        "and compare with differences. Which shapes would a careless test use?",
        "Read each backward as a claim: `a sum over all axes but the last`, `a "
        "transpose`, `divided by the number of columns`. For which inputs is the "
        "code different from the claim?",
        "Six are wrong. Try: a b that is not symmetric, an x with three axes, a "
        "matrix that is not square, an index that occurs twice, and, for those that "
        "normalise a row, a g that is 1 in one place and 0 elsewhere. For an alibi, "
        "choose the opposite of each. For softmax and standardise, find the term that "
        "is missing and a g for which it is 0.",
    ],
    "accuses-right": [
        "Differences agree with the backward that you named, wherever it has a "
        "derivative. |x| has no derivative at 0.",
    ],
    "missed": [
        "At least one more is wrong. Which shapes, which integers and which g are not "
        "tried yet?",
    ],
    "no-witness": [
        "The backward is right for these inputs. Change the shape, or use less "
        "regular numbers.",
    ],
    "no-alibi": [
        "The backward is wrong for these inputs. Which property makes it right?",
    ],
    "all-zero": [
        "All gradients are 0 here, so the inputs test nothing. Choose another g.",
    ],
    "not-accepted": ["Which shapes does the operation take? g has the shape of y."],
}

"""E.5  Find the bug  ●●●○  45 min  needs E.4

Ten operations, each with a backward. Some of these backwards are wrong, and each wrong
one has passed somebody's test. Name the wrong ones. Prove each with inputs on which the
backward is wrong, and explain the passed test with inputs on which it is right.

Every operation takes arrays and returns (y, backward); backward(g) returns a tuple with
one gradient for each input, None for integers. Run your gradient check of E.4 on the
operations, or read them; it is best to do both. Wrap each operation first: E.4 expects
one input and one array.
"""

import numpy as np


def tanh(x):
    y = np.tanh(x)
    return y, lambda g: (g * (1 - y * y),)


def absolute(x):
    return np.abs(x), lambda g: (g * np.sign(x),)


def product(a, b):
    """Return a * b for arrays of one shape."""
    return a * b, lambda g: (g * b, g * a)


def matmul(a, b):
    """Return a @ b: a (n, k), b (k, k)  ->  (n, k)"""
    return a @ b, lambda g: (g @ b, a.T @ g)


def add_bias(x, b):
    """Return x (…, n) + b (n,)."""
    return x + b, lambda g: (g, g.sum(0))


def row_mean(x):
    """Return the mean over the last axis: x (n, m)  ->  (n,)"""
    return x.mean(1), lambda g: (np.repeat(g[:, None], x.shape[1], 1) / len(x),)


def pick(x, index):
    """Return rows of x (n, m) by number: index (k,) integers  ->  (k, m)"""

    def backward(g):
        dx = np.zeros_like(x)
        dx[index] = g
        return dx, None

    return x[index], backward


def softmax(x):
    """Return the softmax over the last axis of x (…, n)."""
    e = np.exp(x - x.max(-1, keepdims=True))
    y = e / e.sum(-1, keepdims=True)
    return y, lambda g: (y * g,)


def log_sum_exp(x):
    """Return ln sum_j exp(x_j) over the last axis: x (…, n)  ->  (…)"""
    top = x.max(-1, keepdims=True)
    e = np.exp(x - top)
    total = e.sum(-1, keepdims=True)
    y = (top + np.log(total))[..., 0]
    return y, lambda g: (e / total * g[..., None],)


def standardise(x):
    """Return (x - mean) / standard deviation, over the last axis of x (…, n)."""
    s = x.std(-1, keepdims=True)
    y = (x - x.mean(-1, keepdims=True)) / s
    return y, lambda g: ((g - y * (g * y).mean(-1, keepdims=True)) / s,)


def guilty():
    """Return the names of the operations whose backward is wrong, a set of strings."""
    return {"matmul", "add_bias", "row_mean", "pick", "softmax", "standardise"}  #? Which backwards agree with differences on every input that you can think of?


def witness(name):
    """Return (inputs, g) on which the backward of a guilty operation is wrong.

    inputs is a tuple of arrays, g an array like the output. At least one entry of a
    gradient is wrong by 1% or more of the largest entry of the right gradient.
    """
    x, square = np.array([[1.0, 2.0, 4.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    if name == "matmul":
        return (square, square), square  #? Which matrix differs from its transpose?
        #! return (square, square + square.T), square  | inputs of matmul with a symmetric b
    if name == "add_bias":
        return (np.ones((2, 2, 2)), np.ones(2)), np.ones((2, 2, 2))  #? A bias meets all rows: how many axes may x have?
        #! return (square, np.ones(2)), square  | inputs of add_bias with one axis before the last
    if name == "row_mean":
        return (x,), np.ones(1)  #? By which number does the backward divide, and by which should it?
        #! return (x,), np.ones(2)  | a g of row_mean that is not like its output
    if name == "pick":
        return (square, np.array([0, 0])), square  #? What does a row get that occurs twice?
        #! return (square, np.array([0, 1])), square  | inputs of pick in which no row occurs twice
    g = np.array([[1.0, 0.0, 0.0]])  #? Which term is missing, and for which g is it not 0?
    #! g = np.zeros((1, 3))  | a g of 0 for softmax and standardise
    return (x,), g


def alibi(name):
    """Return (inputs, g) on which this backward is right and its gradients are not 0.

    These inputs explain how the mistake could pass a test: what do they have in common?
    """
    x, square = np.array([[1.0, 2.0, 4.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    if name == "matmul":
        return (square, np.eye(2)), square  #? Which matrix equals its transpose?
        #! return (square, square), square  | inputs of matmul with a b that is not symmetric
    if name == "add_bias":
        return (square, np.ones(2)), square  #? For how many axes is g.sum(0) all of the sum?
    if name == "row_mean":
        return (square,), np.array([1.0, 2.0])  #? For which x is the number of rows the right divisor?
        #! return (x,), np.ones(1)  | inputs of row_mean with fewer rows than columns
    if name == "pick":
        return (square, np.array([1, 0])), square  #? For which index does each row get one g?
        #! return (square, np.array([1, 1])), square  | inputs of pick in which a row occurs twice
    if name == "softmax":
        return (np.zeros(2),), np.array([1.0, -1.0])  #? For which g is the missing term y (y . g) equal to 0?
        #! return (np.zeros(2),), np.ones(2)  | a g of softmax that is 1 everywhere, so y . g is not 0
        #! return (np.zeros(2),), np.zeros(2)  | a g of softmax that is 0
    return (x,), np.array([[1.0, -1.0, 0.0]])  #? For which g is the missing mean of g equal to 0?
    #! return (x,), np.array([[1.0, 1.0, 0.0]])  | a g of standardise whose sum is not 0


# ---- THE CHECK: of the operations above, also if the learner's file has changed them

from minigrad.checking.numeric import slopes

NAMES = (
    "tanh absolute product matmul add_bias row_mean pick softmax log_sum_exp "
    "standardise"
).split()


def differences(op, inputs, g):
    """Return (by the backward, by differences) for each input of floats."""
    found = []
    for k, (x, yours) in enumerate(zip(inputs, op(*inputs)[1](g))):
        if x.dtype.kind == "f":
            f = lambda x: op(*inputs[:k], x, *inputs[k + 1 :])[:1]  # noqa: B023, E731
            found.append((yours, slopes(f, x, [g]).value.reshape(x.shape)))
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
    samples = dict.fromkeys(NAMES, (x,)) | {
        "product": (x, rng.normal(size=(3, 5))),
        "matmul": (x, b),
        "add_bias": (rng.normal(size=(2, 3, 5)), b[0]),
        "pick": (x, np.array([0, 2, 2])),
    }
    found = set()
    for name, inputs in samples.items():
        g = rng.normal(size=globals()[name](*inputs)[0].shape)
        if gap(differences(globals()[name], inputs, g)) > 1e-3:
            found.add(name)
    return found


def as_array(x):
    """Return an array of floats, or of the integers of an index."""
    x = np.asarray(x)
    return x.copy() if x.dtype.kind == "i" and x.ndim == 1 else x.astype(float)


def certificate(my, function, name):
    """Return (pairs, text) for the learner's inputs, if the operation takes them."""
    getattr(my.only, function)(name)
    found = my.last.result  # as it was returned
    kinds = [type(each) for each in found] if isinstance(found, (tuple, list)) else []
    said = ", ".join(kind.__name__ for kind in kinds) or type(found).__name__
    my.holds(function, len(kinds) == 2 and kinds[0] in (tuple, list),
             "(inputs, g), of which the first is a tuple of arrays", said,
             "not-accepted")  # fmt: skip
    try:
        inputs, g = [as_array(x) for x in found[0]], np.asarray(found[1], float)
        y = np.asarray(globals()[name](*inputs)[0])
        usable, why = y.shape == g.shape, f"y has shape {y.shape}, g {g.shape}"
        if usable and not (np.isfinite(y).all() and np.isfinite(g).all()):
            usable, why = False, "NaN or infinity"
        pairs = differences(globals()[name], inputs, g) if usable else []
        if pairs and not all(np.isfinite(n).all() for _, n in pairs):
            usable, why = False, "inputs without a derivative"
    except Exception as error:
        usable, why, pairs = False, f"{type(error).__name__}: {error}", []
    my.holds(function, usable and pairs,
             f"inputs that {name} takes, and a g like its output", why,
             "not-accepted")  # fmt: skip
    shapes = ", ".join(str(x.shape) for x in inputs)
    return pairs, f"{name} at inputs of shape {shapes}"


def who(my, rng):
    """the operations that are wrong"""
    found, wrong = my.only.guilty(), wrong_ones()
    a_set = isinstance(found, (set, frozenset, list, tuple))
    strange = [str(name) for name in found if name not in NAMES] if a_set else []
    my.holds("guilty", a_set and not strange,
             f"a set with names among {', '.join(NAMES)}",
             ", ".join(strange[:3]) or type(found).__name__, "not-accepted")  # fmt: skip
    innocent = sorted(set(found) - wrong)
    my.holds("guilty", not innocent, "only operations whose backward is wrong",
             f"{', '.join(innocent[:1])}, whose backward agrees with differences",
             "accuses-right")  # fmt: skip
    my.holds("guilty", set(found) == wrong, f"{len(wrong)} names",
             f"{len(set(found))} names: these backwards are wrong, but more are",
             "missed")  # fmt: skip


def witnesses(my, rng):
    """witnesses: inputs on which the backward is wrong"""
    for name in sorted(wrong_ones()):
        pairs, where = certificate(my, "witness", name)
        my.holds("witness", gap(pairs) > 0.01,
                 f"a gradient that is wrong by 1%: {where}",
                 f"gradients that agree with differences to {gap(pairs):.1g}",
                 "no-witness")  # fmt: skip


def alibis(my, rng):
    """alibis: inputs on which the backward is right and not 0"""
    for name in sorted(wrong_ones()):
        pairs, where = certificate(my, "alibi", name)
        my.holds("alibi", any(np.abs(a).max() > 1e-5 for pair in pairs for a in pair),
                 f"a gradient that is not 0: {where}", "0 in every entry",
                 "all-zero")  # fmt: skip
        error = gap(pairs)
        share = f"{100 * error:.3g}% of" if error < 10 else "more than ten times"
        my.holds("alibi", error < 1e-4, f"gradients that agree with differences: {where}",
                 f"an error of {share} the largest entry", "no-alibi")  # fmt: skip


HINTS = """
guilty  Compare each backward with differences, on inputs of different sizes. Which shapes,
   which integers and which g are not tried yet? |x| has no derivative at 0.
witness  Which input makes the missing or wrong factor visible? Change the shape, or use
   less regular numbers. g has the shape of y.
alibi  Which property of the input makes the mistake without effect? If all gradients are
   0, the inputs test nothing: choose another g.
1  Call each operation with random inputs of several shapes and a random g, and compare
   with differences. Which shapes would a careless test use?
2  Read each backward as a claim: `a sum over all axes but the last`, `a transpose`,
   `divided by the number of columns`. For which inputs is the code different from the
   claim?
3  Six are wrong. Try: a b that is not symmetric, an x with three axes, a matrix that is
   not square, an index that occurs twice, and, for those that normalise a row, a g that
   is 1 in one place and 0 elsewhere. For an alibi, choose the opposite of each. For
   softmax and standardise, find the term that is missing and a g for which it is 0.
"""
WHY = """A wrong backward is right where its mistake has no effect: one row, a square, a
symmetric matrix, an index that occurs once, a g for which the missing term is 0. Random
inputs with different sizes and a random g avoid all of these."""

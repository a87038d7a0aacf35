"""38.6  What only the additive score can do  ●●○○  25 min  needs 38.1  book §38.1

    additive   e(h) = v_a . tanh(W_a [s; h])        general   e(h) = s^T W_g h

The chapter states that every score but the additive one grows with s . h. One matrix
W_g disproves this. The real difference appears on a line: of three keys, the middle one
can have the highest additive score.
"""

import numpy as np

from lessons.classroom.theory import Chain


def witness():
    """Return an additive score that is highest for the middle one of three keys.

    ->  W_a (d_a, d_s + d_h), v_a (d_a,), s (d_s,), h1, h2, h3 (d_h,)
    with h2 = (h1 + h3) / 2 exactly, and e(h2) > e(h1), e(h2) > e(h3)

    Choose all widths yourself. [s; h] contains the entries of s first.
    """
    W_a = np.array([[1.0, 1.0], [-1.0, 1.0]])  # tanh(h + s) and tanh(h - s)  #? Which sum of shifted tanh curves rises first and falls then?
    v_a = np.array([1.0, -1.0])  # their difference is a bump around h = 0  #? One tanh rises everywhere, and so does a sum of rising ones.
    #! v_a = np.array([-1.0, 1.0])  | the same curve upside down: a valley
    s = np.array([1.0])
    h1, h3 = np.array([-2.0]), np.array([2.0])  #? The three keys must differ.
    return W_a, v_a, s, h1, (h1 + h3) / 2, h3  #? Return all results, in the order of the docstring.
    #= return [W_a.tolist(), v_a, s, [-2.0], [0.0], [2]]


def proof():
    """Return a chain that shows: the general score of the middle is the mean.

    So no general score is highest there. A chain, as in 38.1, of functions of (s, W_g,
    h1, h3), from the score of the middle, s @ W_g @ ((h1 + h3) / 2), to the mean of the
    scores of h1 and h3. Use one law in each step: move a number out of the product, or
    write the product with a sum as a sum of products. Write one half as / 2 or as 0.5.
    """
    return (
        Chain(lambda s, W_g, h1, h3: s @ W_g @ ((h1 + h3) / 2), "the middle")
        .then(lambda s, W_g, h1, h3: s @ W_g @ (h1 + h3) / 2, "a number moves out")
        .then(lambda s, W_g, h1, h3: (s @ W_g @ h1 + s @ W_g @ h3) / 2, "linear in h")
    )  #? In each step use one law only: the number, or the sum.
    #= return Chain(lambda s, W_g, h1, h3: s @ W_g @ (0.5 * (h1 + h3)), "the middle").then(lambda s, W_g, h1, h3: s @ W_g @ (h1 / 2) + s @ W_g @ (h3 / 2), "a sum splits").then(lambda s, W_g, h1, h3: 0.5 * (s @ W_g @ h1 + s @ W_g @ h3), "a number moves out")


def counterexample():
    """Return a general score that falls where s . h grows.

    ->  W_g (d, d), s (d,), h1, h2 (d,), with s . h1 < s . h2 and a general score that
        is higher for h1 than for h2
    """
    return -np.eye(1), np.ones(1), np.zeros(1), np.ones(1)  #? s . h is the general score with W_g = I. Which change of W_g reverses its order?


def situation():
    """Return a string: one situation that needs the additive score, and why.

    Write five words or more; they are not graded. The check then prints a good answer.
    """
    return (  #? Which key does a query need that lies between others?
        "what the query must find, and among which keys\n"
        "why a score that is linear in the key cannot rank these keys so (or another "
        "reason: few data, different widths, a readable score)\n"
        "the cost: a tanh for each pair, and no single matrix product\n"
        "alternatives: projections, a feature of the keys, more heads"
    )


# ---- THE CHECK: the results are not unique, so laws of them are stated

from lessons.course.words import self_assessed
from lessons.classroom.theory import check_chain, rationals
from lessons.course.check import array_of


def the_middle(my, rng):
    """the key in the middle has the highest score"""
    W_a, v_a, s, h1, h2, h3 = found = arrays(my, "witness", "W_a, v_a, s, h1, h2, h3")
    shapes = [(v_a.size, s.size + h1.size), (v_a.size,), (s.size,), *[(h1.size,)] * 3]
    fit(my, "witness", found, shapes)
    differ = not np.array_equal(h1, h3)
    my.holds("witness", differ, "h1 and h3 to differ", f"both {h1}", "same-points")
    text = "h2 = (h1 + h3) / 2, exactly", f"h1 + h3 - 2 h2 = {h1 + h3 - 2 * h2}"
    my.holds("witness", not (h1 + h3 - 2 * h2).any(), *text, "not-midpoint")
    e = np.array([v_a @ np.tanh(W_a @ [*s, *h]) for h in (h1, h2, h3)])
    is_highest = e[1] > max(e[0], e[2]) + 1e-9 * np.abs(e).max()
    tag = "valley" if e[1] < min(e[0], e[2]) else "monotone"
    text = "e(h2) above e(h1) and e(h3)", f"e(h1), e(h2), e(h3) = {e}"
    my.holds("witness", is_highest, *text, tag)


def against_only(my, rng):
    """a general score that falls where s . h grows"""
    W_g, s, h1, h2 = found = arrays(my, "counterexample", "W_g, s, h1, h2")
    fit(my, "counterexample", found, [(s.size, s.size), *[(s.size,)] * 3])
    a, b = s @ h1, s @ h2
    text = "s . h1 below s . h2", f"{a:g} and {b:g}"
    my.holds("counterexample", a < b, *text, "dot-does-not-rise")
    a, b = s @ W_g @ h1, s @ W_g @ h2
    text = "the general score of h1 above that of h2", f"{a:g} and {b:g}"
    my.holds("counterexample", a > b, *text, "no-counterexample")


def the_chain(my, rng):
    """the chain of equalities, at rational numbers"""
    shapes = (3,), (3, 5), (5,), (5,)

    def draw():
        return [np.array(rationals(rng, np.prod(n)), object).reshape(n) for n in shapes]

    (first, _), (moved, _), (last, _) = proof().links
    links = check_chain(my, my.only.proof(), first, last, draw)
    split = lambda s, W_g, h1, h3: s @ W_g @ (h1 / 2) + s @ W_g @ (h3 / 2)  # noqa: E731
    first, moved, split, last = map(without_laws, (first, moved, split, last))
    found = [without_laws(link) for link in links]
    text = "the score of (h1 + h3) / 2 first", "an expression that equals it"
    my.holds("proof", found[0] in (None, first), *text, "starts-elsewhere")
    text = "half the sum of two scores last", "an expression that equals it"
    my.holds("proof", found[-1] in (None, last), *text, "arrives-elsewhere")
    for k, step in enumerate(zip(found, found[1:]), 1):
        text = "one law for each step", f"two between links {k} and {k + 1}: show each"
        two_laws = {*step} in ({first, last}, {moved, split})
        my.holds("proof", not two_laws, *text, "two-steps")


def your_own_words(my, rng):
    """a situation, in your own words"""
    self_assessed(my, my.only.situation(), *situation().splitlines(), least=5)


def without_laws(link):
    """Return the values of an expression for keys of 16 bits: no law of sums holds.

    The sum of two large keys is rounded, and so is half of a tiny one. Scores are exact.
    None is returned for an expression that needs other numbers.
    """
    tiny = np.finfo("f2").smallest_subnormal
    pairs = [(2048, 1), *(tiny * np.array([a, b]) for a in range(5) for b in range(5))]
    keys = [[np.full(5, h, "f2") for h in pair] for pair in pairs]
    try:
        return tuple(float(link(np.ones(3), np.ones((3, 5)), *pair)) for pair in keys)
    except Exception:
        return None


def arrays(my, name, names):
    """Return the results of a function, if there is an array for each name."""
    found = getattr(my.only, name)()
    count = len(found) if isinstance(found, (tuple, list)) else 1
    wanted = names.count(",") + 1
    my.holds(name, count == wanted, f"{wanted} results: {names}", count, "results")
    found = [array_of(a) for a in found]
    is_right = all(a is not None and a.ndim and np.isfinite(a).all() for a in found)
    my.holds(name, is_right, f"arrays of finite numbers: {names}", found, "type")
    matrices = [k for k, array in enumerate(found) if array.ndim == 2]
    text = f"{names}, of which {names[:3]} alone is a matrix"
    shapes = f"shapes {[a.shape for a in found]}: the same results in another order"
    my.holds(name, len(matrices) != 1 or matrices == [0], text, shapes, "swapped")
    return found


def fit(my, name, found, shapes):
    """Fail unless each array has its shape."""
    found = [a.shape for a in found]
    my.holds(name, found == shapes, f"the shapes {shapes}", found, "shape")


HINTS = """
valley  The middle has the lowest score of the three. Which sign turns a valley into a
   peak?
two-steps  Which of the two happens first: does the 1/2 move out, or does the sum split?
1  Widths of 1 are enough: s, h1, h2, h3 are then arrays of one number, np.array([0.0]),
   and the score is a sum of shifted tanh curves.
2  tanh(h + s) - tanh(h - s) is highest at h = 0: use rows (1, 1) and (-1, 1) of W_a,
   and +1 and -1 in v_a. For the counterexample: which W_g changes a sign?
"""
WHY = """A general score is linear in h, so at the middle of two keys it is the mean of
their scores and never the largest of the three. tanh is not linear: a rising and a
falling step, side by side, have their highest sum between them."""

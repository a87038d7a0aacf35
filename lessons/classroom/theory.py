"""Tools to check theory: chains of equal expressions, and exact expected values.

    Chain(lambda s, W, h: s @ (W @ h), "the bilinear score")
        .then(lambda s, W, h: (s @ W) @ h, "associativity")

A chain is a derivation: each expression must equal its neighbour at random inputs.
That finds a false step; for a true one it is numerical evidence.
"""

import itertools
from fractions import Fraction

import numpy as np

from lessons.stubs import NotWritten

from ..course.calls import parameters
from ..course.outcome import CheckFailed


class Chain:
    """A sequence of functions of the same arguments, each equal to the one before.

    Write it as ``Chain(f, "what it is").then(g, "why g equals f").then(…)``.
    """

    def __init__(self, expression, reason=""):
        self.links = [(expression, reason)]

    def then(self, expression, reason):
        """Add a link; return the chain."""
        self.links.append((expression, reason))
        return self


def check_chain(my, chain, first, last, draw, times=8):
    """Return the expressions of a chain; fail at a false link, through ``my.holds``.

    first, last  functions: the start and the end that the chain must have
    draw         () -> a tuple of arguments; exact where they are Fractions or integers
    """
    links_that_run(my, chain, draw())
    links = [f for f, _ in chain.links]
    holds(my, len(links) > 2, "too-short", "three expressions or more", len(links))
    forms = [_form(f, draw()) for f in links]
    for k, (a, b) in enumerate(zip(forms, forms[1:]), 1):
        found = f"the same expression in links {k} and {k + 1}, but for + 0 or * 1"
        holds(my, a != b, "chain-repeats", "a step in each link", found)
    ends = [first, *links, last]
    names = [f"link {k} ({words})" for k, (_, words) in enumerate(chain.links, 1)]
    names = ["the start that the task names", *names, "the end that the task names"]
    tags = ["starts-elsewhere", *["false-link"] * len(links[1:]), "arrives-elsewhere"]
    for _ in range(times):
        arguments = draw()
        links_that_run(my, chain, arguments)
        found = [np.asarray(f(*arguments)) for f in ends]
        for k, (a, b) in enumerate(zip(found, found[1:])):
            expected = f"{_brief(a)}, which {names[k]} gives"
            found = f"{_brief(b)} in {names[k + 1]}"
            holds(my, equal(a, b), tags[k], expected, found)
    return links


def holds(my, truth, tag, expected, found):
    """Fail, with ``tag``, unless a law of the chain that was returned last holds."""
    my.holds(my.last.name, truth, expected, found, tag)


class Symbol:
    """A number as text; + 0, - 0, * 1 and / 1 leave it as it is, and * 0 is 0."""

    def __init__(self, text):
        self.text = text

    def _with(sign, neutral, is_left=False):
        def operation(self, other):
            if not isinstance(other, Symbol) and other == neutral:
                return self
            if sign == "*" and not isinstance(other, Symbol) and other == 0:
                return 0
            other = getattr(other, "text", repr(other))
            a, b = (other, self.text) if is_left else (self.text, other)
            return Symbol(f"({a} {sign} {b})")

        return operation

    __add__, __radd__ = _with("+", 0), _with("+", 0, True)
    __sub__, __rsub__ = _with("-", 0), _with("-", None, True)
    __mul__, __rmul__ = _with("*", 1), _with("*", 1, True)
    __truediv__, __rtruediv__ = _with("/", 1), _with("/", None, True)


def in_symbols(link, arguments):
    """Return the texts of the results of a link, or None if it needs numbers."""
    symbols = []
    for k, a in enumerate(arguments):
        if not isinstance(a, np.ndarray):
            return None
        names = [Symbol(f"x{k}[{n}]") for n in range(a.size)]
        symbols.append(np.array(names, object).reshape(a.shape))
    try:
        found = np.asarray(link(*symbols), object)
        return found.shape, [x.text for x in found.flat]
    except Exception:  # abs or a comparison, for example
        return None


def _form(link, arguments):
    """Return what two links share if they are no step: symbols, or code, and names."""
    code = getattr(link, "__code__", None)
    if code is None:
        return link
    symbols = in_symbols(link, arguments)
    return symbols or (code.co_code, code.co_consts), code.co_names


def links_that_run(my, chain, arguments):
    """Fail with a sentence at the first link without a reason, or that raises."""
    is_chain = isinstance(chain, Chain)
    holds(my, is_chain, "chain", "Chain(…).then(…)", type(chain).__name__)
    for k, (f, reason) in enumerate(chain.links, 1):
        is_text = isinstance(reason, str) and bool(reason.strip())
        expected = f"a reason, a sentence, with link {k}"
        holds(my, is_text, "no-reason", expected, repr(reason))
        try:
            f(*arguments)
        except (NotWritten, CheckFailed):
            raise
        except Exception as error:
            names = [*(parameters(f) or []), *"?" * len(arguments)]
            sizes = [f"{n} {np.shape(a) or a}" for n, a in zip(names, arguments)]
            said = f"{type(error).__name__}: {error}"
            expected = f"a value of link {k}, at {', '.join(sizes)}"
            holds(my, False, "link-raises", expected, said)


def rationals(rng, n):
    """Return n random fractions: a wrong polynomial is right at few of them."""
    top, bottom = rng.integers(-9, 10, n), rng.integers(1, 9, n)
    return [Fraction(int(a), int(b)) for a, b in zip(top, bottom)]


def two_point_mean(f, means, spreads):
    """Return E f(x) exactly; x_k is mean_k - spread_k or mean_k + spread_k.

    Both are equally likely and all x_k independent: x_k has variance spread_k^2.
    The sum has 2^n terms.
    """
    total, n = Fraction(0), len(means)
    for signs in itertools.product((-1, 1), repeat=n):
        total += f([m + s * d for m, s, d in zip(means, signs, spreads)])
    return total / 2**n


def equal(a, b):
    """Return whether two arrays are equal: Fractions exactly, floats to rounding."""
    if a.shape != b.shape:
        return False
    parts = [*a.flat, *b.flat]
    if object in (a.dtype, b.dtype) and not any(isinstance(x, float) for x in parts):
        return bool(np.all(a == b))
    try:
        return bool(np.allclose(a.astype(float), b.astype(float), 1e-9, 1e-12))
    except (TypeError, ValueError):  # None or text among them
        return False


def _brief(a):
    return str(a) if a.ndim == 0 else f"{a.dtype} {a.shape}, first {a.reshape(-1)[:1]}"

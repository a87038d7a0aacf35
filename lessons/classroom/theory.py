"""What theory is graded with: chains of equal expressions, and exact averages.

    Chain(lambda s, W, h: s @ (W @ h), "the bilinear score")
        .then(lambda s, W, h: (s @ W) @ h, "associativity")

A chain is a proof by links: each expression has to equal its neighbour at random
inputs. That finds a false step; it is numerical evidence for a true one.
"""

import itertools
from fractions import Fraction

import numpy as np

from lessons import NotWritten

from . import show
from .failure import CheckFailed


class Chain:
    """Expressions, functions of the same arguments, each said to equal the one before.

    Written as ``Chain(f, "what it is").then(g, "why g equals f").then(…)``.
    """

    def __init__(self, expression, reason=""):
        self.links = [(expression, reason)]

    def then(self, expression, reason):
        """The chain with one more link."""
        self.links.append((expression, reason))
        return self


def check_chain(my, chain, first, last, draw, times=8):
    """Fail, through ``my.holds``, at the first false link of a chain.

    first, last  functions: what the chain has to start from and to arrive at
    draw         () -> a tuple of arguments; exact where they are Fractions or integers
    """
    my.holds(
        isinstance(chain, Chain) and len(chain.links) > 1,
        "chain",
        "expected Chain(…).then(…), of two expressions or more",
        f"found {type(chain).__name__}",
    )
    codes = [getattr(f, "__code__", None) for f, _ in chain.links]
    for k, (a, b) in enumerate(zip(codes, codes[1:])):
        same_text = a and b and (a.co_code, a.co_consts) == (b.co_code, b.co_consts)
        same_names = same_text and a.co_names == b.co_names
        my.holds(
            not same_names, "chain-repeats", f"links {k} and {k + 1} are the same text"
        )
    ends = [(first, "the left side"), *chain.links, (last, "the right side")]
    for _ in range(times):
        arguments = draw()
        links_that_run(my, chain, arguments)
        found = [np.asarray(f(*arguments)) for f, _ in ends]
        for k, (a, b) in enumerate(zip(found, found[1:])):
            what = f"link {k} ({ends[k][1]})", f"link {k + 1} ({ends[k + 1][1]})"
            my.holds(
                equal(a, b),
                "false-link",
                f"{what[0]} gives {_brief(a)}",
                f"{what[1]} gives {_brief(b)}, which should be equal",
            )


def links_that_run(my, chain, arguments):
    """Fail, in a sentence, where an expression of the chain cannot be computed."""
    my.holds(
        isinstance(chain, Chain),
        "chain",
        "expected Chain(…).then(…)",
        f"found {type(chain).__name__}",
    )
    for k, (f, _) in enumerate(chain.links):
        try:
            f(*arguments)
        except (NotWritten, CheckFailed):
            raise
        except Exception as error:
            names = show.parameters(f) or []
            names += ["?"] * (len(arguments) - len(names))
            sizes = [f"{n} {_size(a)}" for n, a in zip(names, arguments)]
            my.holds(
                False,
                "link-raises",
                f"link {k}, at {', '.join(sizes)}",
                f"{type(error).__name__}: {error}",
            )


def rationals(rng, n, largest=9):
    """n random fractions: a polynomial that is wrong is right at few of them."""
    top, bottom = rng.integers(-largest, largest + 1, n), rng.integers(1, largest, n)
    return [Fraction(int(a), int(b)) for a, b in zip(top, bottom)]


def two_point_mean(f, means, spreads):
    """E f(x) exactly, x_k independent, mean_k - spread_k or mean_k + spread_k.

    A variable with two equally likely values has variance spread^2; 2^n terms.
    """
    total, n = Fraction(0), len(means)
    for signs in itertools.product((-1, 1), repeat=n):
        total += f([m + s * d for m, s, d in zip(means, signs, spreads)])
    return total / 2**n


def equal(a, b):
    """Whether two arrays are equal: Fractions exactly, floats to rounding."""
    if a.shape != b.shape:
        return False
    parts = [*a.flat, *b.flat]
    if object in (a.dtype, b.dtype) and not any(isinstance(x, float) for x in parts):
        return bool(np.all(a == b))
    try:
        return bool(np.allclose(a.astype(float), b.astype(float), 1e-9, 1e-12))
    except (TypeError, ValueError):  # neither numbers nor Fractions
        return False


def _size(a):
    """The shape of an array, or the number itself."""
    return str(np.shape(a) or a)


def _brief(a):
    return str(a) if a.ndim == 0 else f"{a.dtype} {a.shape}, first {a.reshape(-1)[:1]}"

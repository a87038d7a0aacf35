"""Compare a learner's formula for a number of operations, and say which term is wrong.

A right number is a sum of terms, and a term is a product of sizes. The known mistakes
are one term or one factor too many or too few, or another size in its place.
"""

import math

import numpy as np


def miscounts(sizes, terms, extra=()):
    """Return wrong numbers of one count: [(tag, text, number)].

    sizes  {"T": 5, "d": 3}
    terms  {what is counted: its factors, "T d"}
    extra  {what does not count: its number}
    """
    terms = {name: factors.split() for name, factors in terms.items()}

    def number(factors):
        return math.prod(sizes[f] for f in factors)

    right = sum(map(number, terms.values()))
    found = [
        ("extra-term", f"the number with {name} as well", right + n)
        for name, n in dict(extra).items()
    ]
    for name, factors in terms.items():
        rest = right - number(factors)
        found.append(("no-term", f"the number without {name}", rest))
        if len(factors) > 1:
            text = f"the number with {' + '.join(factors)} for {name}"
            found.append(("sum-of-sizes", text, rest + sum(sizes[f] for f in factors)))
        for k, f in enumerate(factors if len(factors) == 3 else ()):
            a, b = factors[:k] + factors[k + 1 :]
            text = f"the number with {f} ({a} + {b}) for {name}"
            n = sizes[f] * (sizes[a] + sizes[b])
            found.append(("sum-of-sizes", text, rest + n))
        for f in sizes:
            text = f"the number with a factor {f} too many in {name}"
            found.append(("extra-factor", text, rest + number([*factors, f])))
        for k, f in enumerate(factors):
            others = [*factors[:k], *factors[k + 1 :]]
            text = f"the number without the factor {f} in {name}"
            found.append(("no-factor", text, rest + number(others)))
            for b in sizes:
                if b[0] == f[0] and b != f:  # another width, or another length
                    text = f"the number with {b} in the place of {f} in {name}"
                    found.append(("widths", text, rest + number([*others, b])))
    for name, factors in terms.items():
        text = f"the number with {name} twice"
        found.append(("twice", text, right + number(factors)))
        for f in factors:
            text = f"the number with {f} - 1 in the place of {f} in {name}"
            found.append(("off-by-one", text, right - number(factors) // sizes[f]))
    found += [("extra-term", f"the number + {f}", right + n) for f, n in sizes.items()]
    found += [
        ("extra-factor", f"the number times {f}", right * n) for f, n in sizes.items()
    ]
    found.append(("twice", "twice the number", 2 * right))
    product = math.prod(map(number, terms.values()))
    return [*found, ("product", "the product of all terms", product)]


def equal_counts(my, count, want, wrong, cases):
    """Fail at the first case whose number is wrong; a name has to explain every case.

    Of several names that do, the first of ``wrong`` counts.

    count  the learner's function
    want   the right number, of the same arguments; wrong  [(tag, text, number)]
    """
    for case in cases:
        got, names = count(*case), []
        if not np.array_equal(got, want(*case)):
            found = [count(*c) for c in cases]
            explained = [
                {(tag, text) for tag, text, n in wrong(*c) if np.array_equal(n, f)}
                for c, f in zip(cases, found)
            ]
            known = set.intersection(*explained)
            tags = [tag for tag, text, _ in wrong(*case) if (tag, text) in known]
            if tags:
                texts = sorted(text for tag, text in known if tag == tags[0])
                names = [(tags[0], ", or ".join(texts), got)]
            got = count(*case)  # once more: the report shows the last call
        my.equal(got, want(*case), "", names)

"""What each row must reach: a number measured, and the most that it may be.

All are ratios of two sides of one run on one machine, but the time of the import, so
that they mean the same on any.
"""

from typing import NamedTuple

from .programs import exponent


class Budget(NamedTuple):
    row: str
    text: str  # what the number is, in a few words
    limit: float
    value: object  # function of the row's record -> number, or None where it is unknown


def ratio(ours, theirs):
    """Our median over theirs."""

    def value(record):
        a, b = (record["sides"].get(name, {}).get("median") for name in (ours, theirs))
        return None if None in (a, b) else a / b

    return value


def beyond_numpy(record):
    a, b = (record["sides"][x].get("median") for x in ("all three", "numpy alone"))
    return None if None in (a, b) else a - b


def of_the_matrix(record):
    held = record["sides"]["numba"].get("memory")
    return None if held is None else held / record["facts"]["matrix"]


def of_the_parts(record):
    a, b, both = (
        record["sides"][x].get("median") for x in ("product", "kernel", "in turn")
    )
    return None if None in (a, b, both) else both / (a + b)


def growth(record):
    lengths = record["facts"]["lengths"]
    times = [record["sides"][f"n={n}"].get("median") for n in lengths]
    return None if None in times else exponent(lengths, times)


BUDGETS = [
    Budget("additive-128", "of eager", 1 / 20, ratio("numba", "eager")),
    Budget("additive-128", "of compiled", 1 / 6, ratio("numba", "compiled")),
    Budget("additive-50", "of eager", 1 / 20, ratio("numba", "eager")),
    Budget("additive-50", "of compiled", 1 / 6, ratio("numba", "compiled")),
    Budget("tiled-forward", "of fused", 1.25, ratio("numba", "fused")),
    Budget("tiled", "of fused", 1.25, ratio("numba", "fused")),
    Budget("causal-forward", "of fused", 1.25, ratio("numba", "fused")),
    Budget("causal", "of fused", 1.25, ratio("numba", "fused")),
    Budget("window", "of fused, masked", 1 / 8, ratio("numba", "fused")),
    Budget("growth", "time ~ n to the power", 1.1, growth),
    Budget("memory", "of the matrix of scores", 0.05, of_the_matrix),
    Budget("gru", "of eager", 1.0, ratio("numpy", "eager")),
    Budget("tiny", "of eager", 1.0, ratio("numpy", "eager")),
    Budget("import", "seconds beyond numpy", 0.15, beyond_numpy),
    Budget(
        "import", "of numba, matplotlib, torch", 0, lambda r: len(r["facts"]["loaded"])
    ),
    Budget("alternation", "of the parts", 1.3, of_the_parts),
]


def judged(name, record):
    """A row's budgets: [{"text", "limit", "value", "met"}, ...]; met None: open."""
    found = []
    for budget in BUDGETS:
        if budget.row == name:
            value = budget.value(record)
            met = None if value is None else bool(value <= budget.limit)
            found.append(
                {"text": budget.text, "limit": budget.limit, "value": value, "met": met}
            )
    return found

"""Print what each variant of attention costs: by formula, counted and measured."""

from ..document import print_json
from ..progress_line import watched

LARGEST = 4096  # tokens; whole matrices of scores are measured, and take memory


def run(args):
    """Print the tables, or their numbers; return the exit code."""
    from ...costs import table

    n = args.tokens
    if n % table.BLOCK or n > LARGEST:
        raise ValueError(
            f"--tokens is {n}; expected a multiple of {table.BLOCK}, the blocks of "
            f"bigbird, up to {LARGEST}."
        )
    variants = watched("measured", table.VARIANTS)
    costs = table.costs(n, args.width, variants)
    print_json(costs) if args.json else print(table.text(costs))
    return 0

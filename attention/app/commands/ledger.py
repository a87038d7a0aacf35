"""Print what each variant of attention costs: by formula, counted and measured."""

from ..options import POSITIVE

LARGEST = 4096  # tokens: the whole matrix of scores is measured, too


def add_arguments(parser):
    add = parser.add_argument
    add("--tokens", type=POSITIVE, default=1024, metavar="N",
        help="queries and keys, a multiple of 64 (default: 1024)")  # fmt: skip
    add("--width", type=POSITIVE, default=64, metavar="E",
        help="of queries, keys and values (default: 64)")  # fmt: skip


def run(args):
    """Print the tables; return the exit code."""
    from ...costs import table

    n = args.tokens
    if n % table.BLOCK or n > LARGEST:
        raise ValueError(
            f"--tokens is {n}; expected a multiple of {table.BLOCK}, the blocks of "
            f"bigbird, up to {LARGEST}."
        )
    tables = table.operations(), table.comparison(n, args.width)
    print(*tables, table.long_contexts(args.width), sep="\n\n")
    return 0

"""Print what each variant of attention costs: predicted, counted and measured."""

import argparse
import sys


def add_arguments(parser):
    add = parser.add_argument
    add("--tokens", type=whole, default=1024, metavar="N",
        help="queries and keys, a multiple of 64 (default: 1024)")  # fmt: skip
    add("--width", type=whole, default=64, metavar="E",
        help="of queries, keys and values (default: 64)")  # fmt: skip


def run(args):
    """Print the tables; return the exit code."""
    from ...costs import table as ledger_table

    n, block = args.tokens, ledger_table.BLOCKS[0]
    if n % block or n > LARGEST:
        print(
            f"ledger: --tokens is {n}; expected a multiple of {block}, the blocks of "
            f"bigbird, up to {LARGEST}: the whole matrix is measured as well.",
            file=sys.stderr,
        )
        return 2
    print(ledger_table.comparison(n, args.width))
    print()
    print(ledger_table.long_contexts(args.width))
    return 0


LARGEST = 4096


def whole(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} should be a number from 1 up")
    return int(text)

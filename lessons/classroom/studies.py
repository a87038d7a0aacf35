"""Run the studies of a lesson: comparisons of models, one record for a script.

    study("local", [windows("copy"), windows("reversal")])

A script of a lesson ends with this call. It can be stopped, and goes on when it is
started again. ``--quick`` trains each arm once, with the rate that the record of the
page has chosen, and prints what it finds; it writes no record.
"""

import os
import shutil
import sys

from attention.app.run_folder import States
from lessons.instrument import fair

from .catalogue import work_folder
from .records import (
    PATH,
    RECORDS,
    SCRIPT,
    command_of,
    fingerprint,
    name_typed,
    record,
    write_record,
)
from .terminal import display_path, say


def study(name, comparisons, more=None):
    """Train all runs of the comparisons, and write the record ``name``.

    more   a function without arguments that returns other entries of the record

    If it is stopped, the program ends with the code 130.
    """
    quick = "--quick" in sys.argv
    of_the_page = os.environ.get("LESSONS_RECORDS") == str(RECORDS)
    command = command_of(PATH, name_typed()) + " --quick" * quick + " --impl solution" * of_the_page
    # the runs of another version of the script are other runs
    folder = work_folder() / "records" / "states" / f"{name}-{fingerprint(SCRIPT)}"
    found = {}
    try:
        for each in comparisons:
            kept = _kept(name, each.name) if quick else None
            found[each.name] = compare(each, folder / each.name, command, kept)
    except KeyboardInterrupt as stopped:
        print(stopped, file=sys.stderr)
        sys.exit(130)
    if quick:
        return
    found |= more() if more else {}
    seeds = sorted({seed for each in comparisons for seed in each.seeds})
    path = write_record(name, found, seeds=seeds)
    shutil.rmtree(folder, ignore_errors=True)
    say(f"recorded in {display_path(path)}")


def compare(comparison, folder, command, kept=None):
    """Train all runs of a comparison, print a table, and return the record.

    folder    where runs are saved
    command   what continues them
    kept      an earlier record: train each arm once, with the rate that it has chosen,
              or with the middle of the grid
    """
    chosen = None
    if kept is not None:
        middle = comparison.rates[len(comparison.rates) // 2]
        earlier = kept.get("chosen", {})
        chosen = {arm: earlier.get(arm, middle) for arm in comparison.arms}
        comparison, folder = comparison.quick(), folder / "quick"
    found = fair.run(comparison, States(folder, command), chosen, say)
    columns = "rate", "mean", "every seed", "doubling", "minus"
    say(f"\n{fair.table(found, columns)}\nchance is {found['chance']:.3g}\n")
    return found


def _kept(name, part):
    """Return the part of a page's record, or {}."""
    try:
        return record(name)[part]
    except (FileNotFoundError, KeyError):
        return {}

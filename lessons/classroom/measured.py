"""What was measured once and kept, in lessons/records/ as JSON: read, and written.

Times, and the results of minutes of training, are not the same on every machine, so no
lesson computes them while its page is made. An experiment writes a record, and lessons
print what it says, with when and on what it was made.
"""

import json
import os
import pathlib
import platform
import sys

import numpy as np

from attention.files import write_text

from .paths import LESSONS, hash_of

RECORDS = LESSONS / "records"


def record(name, records=RECORDS):
    """The record of that name, as it was written: a dict.

    Raises FileNotFoundError, which says what records there are.
    """
    path = records / f"{name}.json"
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in records.glob("*.json"))) or "none"
        raise FileNotFoundError(
            f"There is no record {name} in {records}; there are: {there}. Records are "
            "made by python -m lessons experiment, or by write_record."
        )
    return json.loads(path.read_text(encoding="utf-8"))


def write_record(name, results, *, command, seeds, records=RECORDS):
    """Write ``results`` (numbers, words, lists, dicts, arrays) whole or not at all.

    command   what a reader types to make the record again
    seeds     the seeds that were used

    Added under "made": command, seeds, versions, machine, and of the script that calls
    (the experiment.py of a lesson) a hash, "code". Returns the path.
    """
    script = pathlib.Path(sys._getframe(1).f_globals.get("__file__", ""))
    made = {
        "command": command,
        "seeds": list(seeds),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "code": hash_of(script)[:16],
    }
    text = json.dumps({"made": made} | results, indent=1, default=_plain)
    path = records / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text + "\n")
    return path


def _plain(value):
    """An array or a number of NumPy's as JSON has it."""
    return np.asarray(value).tolist()

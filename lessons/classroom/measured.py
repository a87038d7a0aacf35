"""What was measured once and kept, in lessons/records/ as JSON: read, and written.

Times, and the results of minutes of training, are not the same on every machine, so no
lesson computes them while its page is made. An experiment writes a record, and lessons
print what it says, and ``how_made``: by which command, on what, and whether the script
has become another one since.
"""

import json
import os
import pathlib
import platform
import sys

import numpy as np

from attention.app.files import write_text

from .fingerprint import fingerprint
from .paths import LESSONS, ROOT

RECORDS = LESSONS / "records"


def _text(script):
    path = pathlib.Path(script)
    return path.read_text(encoding="utf-8") if script and path.is_file() else ""


# of the script that runs, as it was when it began: what is edited in the half hour that
# it takes has not made the record
STARTED = getattr(sys.modules.get("__main__"), "__file__", None)
AT_ITS_START = _text(STARTED)


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
    (the experiment.py of a lesson) the fingerprint, "code". Returns the path.
    """
    script = sys._getframe(1).f_globals.get("__file__")
    code = AT_ITS_START if script == STARTED else _text(script)
    made = {
        "command": command,
        "seeds": list(seeds),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "code": fingerprint(code),
    }
    text = json.dumps({"made": made} | results, indent=1, default=_plain)
    path = records / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text + "\n")
    return path


def how_made(kept):
    """How a record was made, in three lines: the last says with which script."""
    made = kept["made"]
    seeds = ", ".join(map(str, made["seeds"]))
    versions = f"Python {made['python']}, NumPy {made['numpy']}"
    return "\n".join([
        made["command"],
        f"seed{'s' * (len(made['seeds']) != 1)} {seeds}; {versions}; {made['machine']}",
        f"made with {which_script(made)}",
    ])  # fmt: skip


def which_script(made, root=ROOT):
    """Is the script of a record, the last word of its command, still the same?"""
    if "code" not in made:
        return "a version of the script that was not noted"
    now = fingerprint(_text(root / made["command"].split()[-1]))
    same = made["code"] == now
    return "the script as it is now" if same else "an earlier version of the script"


def _plain(value):
    """An array or a number of NumPy's as JSON has it."""
    return np.asarray(value).tolist()

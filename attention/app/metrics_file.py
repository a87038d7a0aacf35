"""Write the losses of a training run to metrics.jsonl, one JSON object a line.

    {"step": 1, "loss": 5.01, "norm": 1.3, "lr": 0.003}
    {"step": 50, "validation": 2.17}

Each line is written whole, in one call, so that the file can be read while it grows and
after the process was killed. A line that a power failure has cut off is left out.
"""

import contextlib
import json
import os
import pathlib

from .files import write_text


class MetricsFile:
    """The file at ``path``; in a resumed run, the lines after ``step`` are removed.

    A run that was killed has continued after its last checkpoint. Those steps are
    computed again, and their lines would appear twice.
    """

    def __init__(self, path, step=0):
        self.path = pathlib.Path(path)
        kept = []
        for line in self.path.read_bytes().splitlines() if self.path.exists() else []:
            # cut off or changed; the journal of the lessons skips such lines, too
            with contextlib.suppress(ValueError, RecursionError, TypeError, LookupError):
                if json.loads(line)["step"] <= step:
                    kept.append(line.decode() + "\n")
        write_text(self.path, "".join(kept))
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND)

    def write(self, numbers):
        """Append a dict of numbers."""
        os.write(self._file, (json.dumps(numbers) + "\n").encode())

    def close(self):
        """Close the file."""
        os.close(self._file)

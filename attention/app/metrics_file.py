"""Write the losses of a training run to metrics.jsonl, one JSON object a line.

    {"step": 1, "loss": 5.01, "norm": 1.3, "lr": 0.003}
    {"step": 50, "validation": 2.17}

Each line is written whole, in one call, so that the file can be read while it grows and
after the process was killed.
"""

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
        lines = self.path.read_text().splitlines(True) if self.path.exists() else []
        kept = [line for line in lines if json.loads(line)["step"] <= step]
        write_text(self.path, "".join(kept))
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND)

    def write(self, numbers):
        """Append a dict of numbers."""
        os.write(self._file, (json.dumps(numbers) + "\n").encode())

    def close(self):
        """Close the file."""
        os.close(self._file)

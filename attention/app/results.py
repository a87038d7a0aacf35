"""The results of a finished run, from its folder, with pictures in a notebook.

    from attention.app.results import Results
    Results("runs/reversal")
"""

import base64
import json
import pathlib
from html import escape

from minigrad.draw.html import table

LONGEST = 40  # letters of a text that stands in the table


class Results:
    """What a command wrote into a folder.

    folder    its path
    numbers   what results.json holds, a dict
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        path = self.folder / "results.json"
        try:
            self.numbers = json.loads(path.read_text(encoding="utf-8"))
            self.rows()
        except (OSError, ValueError, AttributeError, IndexError) as error:
            raise ValueError(
                f"{path} cannot be read ({type(error).__name__}); expected that of a "
                "finished run, such as `python -m attention reversal` writes."
            ) from None

    def rows(self):
        """Return a table: the names of numbers and short texts, and a row of each run."""
        runs = self.numbers.get("runs", [self.numbers])
        names = [name for name, value in runs[0].items() if _is_short(value)]
        values = ([_rounded(run.get(name, "")) for name in names] for run in runs)
        return [names, *values]

    def __repr__(self):
        lines = ["  ".join(map(str, row)) for row in self.rows()]
        return "\n".join([f"results of {self.folder}", *lines])

    def _repr_html_(self):
        shown = [table(self.rows(), f"results of {self.folder}")]
        for path in sorted(self.folder.glob("*.png")):
            data = base64.b64encode(path.read_bytes()).decode()
            name = escape(path.stem, quote=True)
            shown.append(f'<img src="data:image/png;base64,{data}" alt="{name}">')
        return "\n".join(shown)


def _rounded(value):
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _is_short(value):
    is_value = isinstance(value, (int, float, str))
    return is_value and len(str(value)) <= LONGEST and "\n" not in str(value)

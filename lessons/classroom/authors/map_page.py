"""The page "The map": a row for each variant, from the table of the library."""

from attention.costs.variants_map import TEMPLATE, map_rows
from attention.variants.row import PARTS

from ..catalogue import lesson_folders, number

HEAD = f"""# The map

Every variant of the library, by what it changes in

    {TEMPLATE}

The column "cost" is the growth of scores and averages with n queries and n keys,
computed from the formulas of `python -m attention ledger`. In a row, q is the query at
place i, k and v are key and value at place j, and E is the width of q and k; a change
that begins with + or - is added to the score. A variant's name leads to
its file; [attention/definitions.py](../attention/definitions.py) has each of them in a
few lines of NumPy. `python -m attention variants` prints the same rows. In
[the tournament](book/20_tournament/README.md) seven of them meet three tasks.
"""


def map_page():
    """Return the page, in Markdown."""
    folders = [f for f in lesson_folders() if number(f).isdigit()]
    pages = {int(number(f)): f"book/{f.name}/README.md" for f in folders}
    parts, found = [HEAD], map_rows()
    for part, what in PARTS.items():
        rows = [
            _row(name, about, order, pages)
            for name, (about, order) in found.items()
            if about.part == part
        ]
        head = "| variant | changes | cost | can | cannot | shown by | source |"
        parts.append(f"\n## {part.capitalize()}: {what}\n")
        parts.append("\n".join([head, "|---" * 7 + "|", *rows]) + "\n")
    return "\n".join(parts)


def _row(name, about, order, pages):
    task = about.task
    if about.lesson in pages:
        task = f"[{task}]({pages[about.lesson]})"
    file = f"[{name}](../attention/{about.file})"
    cells = file, about.changes, order, about.can, about.cannot, task, about.source
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

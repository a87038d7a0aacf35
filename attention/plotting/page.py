"""Tables of attention weights, of which a reader picks the cells and the frame.

A script shows them; it computes nothing. The site of the lessons uses both as well.
"""

import html
import pathlib

STYLE, SCRIPT = (pathlib.Path(__file__).with_name(f"moving.{x}") for x in ("css", "js"))


def short_weight(value):
    """Return three decimals of a weight; an exact zero as "0", an exact one as "1"."""
    return f"{value:.0f}" if value in (0, 1) else f"{value:.3f}"


def weights_table(cells, attributes=""):
    """Return the HTML of a matrix of weights.

    cells   {"axes": (what a row is, what a column is), "rows": words, "columns": words,
            "values": texts (rows, columns), "name": a caption or ""}
    """
    down, across = map(html.escape, cells["axes"])
    name = cells["name"] and f"<caption>{html.escape(cells['name'])}</caption>"
    head = "".join(f'<th scope="col">{html.escape(x)}</th>' for x in cells["columns"])
    body = "".join(
        f'<tr><th scope="row">{html.escape(word)}</th>'
        + "".join(f'<td style="--w:{value}">{value}</td>' for value in row)
        + "</tr>\n"
        for word, row in zip(cells["rows"], cells["values"])
    )
    names = f'data-rows="{down}" data-columns="{across}"'
    return (
        f'<table class="weights" {names}{attributes}>{name}'
        f"<thead><tr><td>{down} \\ {across}</td>{head}</tr></thead>\n"
        f"<tbody>{body}</tbody></table>"
    )

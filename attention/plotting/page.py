"""Tables of attention weights, of which a reader picks the cells and the frame.

A script shows them; it computes nothing. A page holds both, and its style: it is one
file. The site of the lessons uses script and tables as well.
"""

import html
import json
import pathlib

import numpy as np

STYLE, SCRIPT = (pathlib.Path(__file__).with_name(f"moving.{x}") for x in ("css", "js"))
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ --page: #ffffff; --text: #1f2328; --soft: #57606a; --link: #0957b8; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --page: #0d1117; --text: #dfe5ec; --soft: #a8b1bb; --link: #71b1ff; }}
}}
body {{ margin: 2rem 1rem; color: var(--text); background: var(--page);
  font: 1rem/1.5 system-ui, "DejaVu Sans", sans-serif; }}
:focus-visible {{ outline: 2px solid var(--link); outline-offset: 2px; }}
.scroll {{ overflow-x: auto; }}
figure {{ margin: 2rem 0; }}
{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{text}</p>
{figure}
</main>
<script>
{script}</script>
</body>
</html>
"""


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

def weights_page(title, text, weights, axes, rows, columns):
    """Return a page of weights, of which sliders choose the layer and the head.

    text            what the model read and wrote
    weights         (layers, H, L, S)
    axes            what a row is, and what a column is: "target word", "source word"
    rows, columns   L words, S words
    """
    figure = _figure(np.asarray(weights, float), axes, rows, columns)
    return PAGE.format(
        title=html.escape(title), text=html.escape(text), figure=figure,
        style=STYLE.read_text("utf-8"), script=SCRIPT.read_text("utf-8"),
    )  # fmt: skip


def _figure(weights, axes, rows, columns):
    layers, heads, L, S = weights.shape
    frames = [
        [" ".join(map(short_weight, row)) for row in matrix]
        for matrix in weights.reshape(-1, L, S)
    ]
    first = [row.split(" ") for row in frames[0]]
    cells = {"axes": axes, "rows": rows, "columns": columns, "values": first}
    data, counts = {}, {"layer": layers, "head": heads}
    if layers * heads > 1:
        sliders = [(k, n) for k, n in counts.items() if n > 1]
        data["sliders"] = [[k, [*map(str, range(n))]] for k, n in sliders]
        data |= {"start": [0] * len(data["sliders"]), "values": frames}
    table = weights_table(cells | {"name": ""})
    return (
        f'<figure class="moving"><div class="scroll" tabindex="0">{table}</div>\n'
        f'<script type="application/json">{json.dumps(data)}</script></figure>'
    )

"""The parts of a page: its blocks, and the spans within a line of text.

The pages are written in a part of Markdown: headings, paragraphs, lists, tables, quotes,
fences, figures and folded code; in a line: code, math, links, bold and italic words,
and pictures, written as ``<img src=... alt=...>``.
The terminal, the site and the notebooks read pages through this module.
"""

import itertools
import re
from dataclasses import dataclass

FENCE = re.compile(r"(```+)(\w*)$")
FIGURE = re.compile(r"!\[(.*)\]\((\S+)\)$")
FURTHER = re.compile(
    r'^<details><summary>(Further: .*?)</summary><a id="\S*"></a>\n(.*?)\n\n</details>'
    r"(?=\s+(?:## |<details><summary>Further: |---\n)|\s*\Z)",
    re.M | re.S,
)
ITEM = re.compile(r"(?:-|\d+\.) +")
SPAN = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\$`(?P<fenced>[^`]+)`\$|\$(?P<math>[^$`]+)\$"
    r"|\[(?P<words>(?:`[^`]*`|[^\]`])*)\]\((?P<target>[^)\s]+)\)"
    r'|<img src="\S+" [^>]*alt="(?P<image>[^"]*)">'
    r"|\*\*(?P<bold>\S(?:.*?\S)?)\*\*|\*(?P<italic>[^\s*](?:[^*]*[^\s*])?)\*"
    r"|\\(?P<escaped>[^\w\s])",
    re.S,
)


@dataclass(frozen=True)
class Block:
    """One block of a page.

    kind    "heading", "paragraph", "code", "math", "figure", "table", "list", "quote",
            "fold" or "rule"
    text    the text, with the marks of its spans; of a figure the caption
    level   of a heading, 1 to 6; of a numbered list 1
    label   the language of code, the file of a figure, the summary of folded blocks
    alt     of a figure: its name for readers who cannot see it
    parts   blocks of a quote or fold; of a list, the blocks of each item; of a table,
            the texts of each row
    """

    kind: str
    text: str = ""
    level: int = 0
    label: str = ""
    alt: str = ""
    parts: tuple = ()


def split(text):
    """Return the blocks of a page, without its comments."""
    lines = re.sub(r"^<!--.*?-->$", "", text, flags=re.M | re.S).splitlines()
    found = []
    while lines:
        if not lines[0].strip():
            del lines[0]
        else:
            found.append(_next_block(lines))
    return found


def unfolded(text):
    """Return a page whose folded sections are headings and text again."""
    return FURTHER.sub(r"## \1\n\2", text)


def spans(text):
    """Yield (kind, content, target) of the spans of a text.

    kind      "text", "code", "math", "link", "image", "bold" or "italic"
    content   a string, or of links, bold and italic words a list of spans; of an image
              its words for readers who cannot see it, as a list of one span
    target    of a link; of an image its tag; otherwise ""
    """
    start = 0
    for found in SPAN.finditer(text):
        if found.start() > start:
            yield "text", text[start : found.start()], ""
        start, kind = found.end(), found.lastgroup
        if kind in ("fenced", "math"):
            yield "math", found[kind], ""
        elif kind == "target":
            yield "link", list(spans(found["words"])), found["target"]
        elif kind == "image":
            yield "image", [("text", found["image"], "")], found[0]
        elif kind in ("bold", "italic"):
            yield kind, list(spans(found[kind])), ""
        elif kind == "escaped":
            yield "text", found[kind], ""
        else:
            yield "code", found["code"].strip(), ""
    if start < len(text):
        yield "text", text[start:], ""


def anchor(heading):
    """Return GitHub's anchor of a heading: no signs, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _next_block(lines):
    """Remove the first block from ``lines``; return it."""
    line = lines[0]
    if fence := FENCE.match(line):
        del lines[0]
        text = "\n".join(_take(lines, lambda x: x != fence[1]))
        del lines[:1]
        kind = "math" if fence[2] == "math" else "code"
        return Block(kind, text, label=fence[2])
    if line.startswith("    "):
        taken = _take(lines, lambda x: x.startswith("    ") or not x.strip())
        return Block("code", "\n".join(x[4:] for x in taken).rstrip(), label="text")
    if line.startswith("<details>"):
        summary = re.sub("<.*?>", "", lines.pop(0))
        steps = ((x == "</details>") - x.startswith("<details>") for x in lines)
        n = [*itertools.accumulate(steps)].index(1)  # others may be folded inside
        inner, lines[: n + 1] = lines[:n], []
        return Block("fold", label=summary, parts=tuple(split("\n".join(inner))))
    if line.startswith("|"):
        rows = [_cells(x) for x in _take(lines, lambda x: x.startswith("|"))]
        return Block("table", parts=(rows[0], *rows[2:]))
    if line.startswith(">"):
        inner = _take(lines, lambda x: x.startswith(">"))
        inner = "\n".join(re.sub("^> ?", "", x) for x in inner)
        return Block("quote", parts=tuple(split(inner)))
    if ITEM.match(line):
        return _list(lines)
    if mark := re.match("(#{1,6}) ", line):
        return Block("heading", lines.pop(0)[mark.end() :].strip(), len(mark[1]))
    if line == "---":
        del lines[0]
        return Block("rule")
    if figure := FIGURE.match(line):
        del lines[0]
        return _figure(figure[1], figure[2], lines)
    return Block("paragraph", "\n".join([lines.pop(0), *_take(lines, _continues)]))


def _take(lines, belongs):
    """Remove the first lines for which ``belongs`` is true; return them."""
    n = next((k for k, x in enumerate(lines) if not belongs(x)), len(lines))
    taken, lines[:n] = lines[:n], []
    return taken


def _continues(line):
    """Return whether a line continues the paragraph above it."""
    starts = FENCE.match(line) or re.match(r"#{1,6} |- |>|\||!\[|</?details>", line)
    return bool(line.strip()) and not starts


def _list(lines):
    """Return a list; the lines of an item after its first are indented."""
    level, items = int(lines[0][0] != "-"), []
    while lines and ITEM.match(lines[0]):
        first = lines.pop(0)
        width = ITEM.match(first).end()
        rest = _take(lines, lambda x: x.startswith("  ") or not x.strip())
        items.append(
            tuple(split("\n".join([first[width:], *(x[width:] for x in rest)])))
        )
    return Block("list", level=level, parts=tuple(items))


def _figure(alt, file, lines):
    """Return a figure; a paragraph in italics beneath it is its caption."""
    caption = alt
    below = "\n".join(_take(lines[1:], str.strip))
    if re.fullmatch(r"\*[^*].*[^*]\*", below, re.S) and not lines[0].strip():
        caption = below[1:-1]
        del lines[: 2 + below.count("\n")]
    return Block("figure", caption, label=file, alt=alt)


def _cells(row):
    """Return the texts of a table's row; a | in code or after a backslash is text."""
    found = re.findall(r"\|((?:\\.|\$?`[^`]*`\$?|[^|\\`])*)", row.rstrip())
    return tuple(x.strip() for x in found[:-1])

"""Docstrings as HTML: prose, formulas, shapes, legends and code.

A paragraph is prose, a line of shapes, or a legend, whose lines have a name and, after
two spaces or more, its meaning. An indented block holds formulas, a legend, or code;
what is none of these stays as it is, in letters of one width.
"""

import html
import re

from . import plain
from .highlight import code_block

CODE = re.compile(r"``(.+?)``", re.S)
CODE_BLOCK = re.compile(
    r'"""|'
    r"\w\.\w+\(|\blambda \w|^ *(?:python -m|translate |write |def |class |@\w|with "
    r"|import |from |for .*:|\{\")|==|\*\*|:=|[a-z]{3,}=|\w\[[^\]]*:|^ *\w+, \w+ = \w+\("
    r"|^ *[a-z]{4,}(?:, [a-z]+)* = [a-z_]+\(",
    re.M,
)
DRAWN = re.compile(r"^ *\S* ?=? *\[.*\]\s+\[|^ +\[.*\] = \[|R\(k\) =", re.M)  # a matrix
NAME = (
    r"(?!(?:a|an|the|for|of|in|otherwise|because)\b)[^\s,=]+(?: ?\([^()]*\)\??)?"
    r"(?: float| int| bool)?"
)
NAMES = re.compile(
    rf"(?:-> )?{NAME}(?:(?:,| and| or|  ?/) {NAME}| or \([^()]*\))*[,:]?"
)
SHAPES = re.compile(
    r"[\w?]+(?:, \w+\??)*(?: and \w+)?\s+\(.*?\).*?->|->\s+\w+ \(", re.S
)
OUTSIDE = r"(?=[^()\[\]]*(?:\(|$))"  # of all brackets
SENTENCE_END = re.compile(rf"([.:])(?: |$){OUTSIDE}")
SHAPE = re.compile(  # begins an item of a line of shapes, or is a name alone
    r"(?:and )?(?:[\w']+\??(?: and [\w']+\??)* )?\(|(?:``)?[\w']+\??(?:``)?$"
)
# the next line begins a sentence: the results do not go on
RESULTS_END = re.compile(r"(?<![,;])(?<! or)(?<! and)\n *(?!or |and )" + OUTSIDE)
ITEM = re.compile(r"(?:- |\d+\. )")
SIGNS = "=", "<=", ">="  # in a cell of their own
SHARE_OF_FORMULAS = 0.3  # of an indented block; with fewer it is no block of formulas


class Docstrings:
    """Writes docstrings as HTML.

    code_link    a function of the words of code to an address, or None
    citations    a function of a text that is escaped to one whose citations are links
    """

    def __init__(self, code_link, citations):
        self.code_link, self.citations = code_link, citations

    def as_html(self, text):
        """Return a docstring as blocks of HTML."""
        found = []
        for lines in _paragraphs(text):
            found.append(self._block(lines, is_first=not found))
        return "\n".join(found)

    def spans(self, text):
        """Return text in a line as HTML, with formulas and code."""
        found, end = "", 0
        for match in CODE.finditer(text):
            found += self._prose(text[end : match.start()]) + self._code(match[1])
            end = match.end()
        return found + self._prose(text[end:])

    def _prose(self, text):
        found = ""
        for is_formula, piece in plain.pieces(text):
            found += piece if is_formula else html.escape(piece, quote=False)
        return self.citations(re.sub(r"(?<!\S)-&gt;(?!\S)", "→", found))

    def _code(self, words):
        words = " ".join(words.split())
        code = f"<code>{html.escape(words)}</code>"
        address = self.code_link(words)
        return f'<a href="{html.escape(address)}">{code}</a>' if address else code

    def _block(self, lines, is_first):
        text = "\n".join(lines)
        if _has_shapes(lines):
            return self._shapes(text)
        if lines[0].startswith("    "):
            return self._indented(lines)
        if ITEM.match(lines[0]):
            return self._list(lines)
        rows = _rows(lines)
        if len(lines) > 1 and _has_legend(lines):
            return self._legend(rows)
        kind = ' class="lead"' if is_first else ""
        cells = re.split(r"[ ]{2,}", " ".join(x.strip() for x in lines))
        return f"<p{kind}>{'&emsp; '.join(map(self.spans, cells))}</p>"

    def _shapes(self, text):
        """Return a line of shapes: each name and its shape in a box, then the prose."""
        given, _, results = text.partition("->")
        results, *rest = RESULTS_END.split(results, maxsplit=1)
        chips, about = self._chips(given)
        found, prose = self._chips(results, are_results=True)
        line = " ".join([*chips, '<span class="to">→</span>', *found])
        if prose and rest and rest[0][:1].islower():  # the line was too long
            prose, rest = f"{prose} {rest[0]}", []
        texts = [" ".join(x.split()) for x in (about, prose, *rest)]
        below = "".join(f"\n<p>{self.spans(x)}</p>" for x in texts if x)
        return f'<p class="shapes">{line}</p>{below}'

    def _chips(self, text, are_results=False):
        """Return a box for each item that has a shape, and the rest of the text.

        The first of the results may be words, such as "a mask"; a text after them is
        about all of them.
        """
        text = " ".join(text.split())
        items, end, rest = [*SENTENCE_END.split(text, maxsplit=1), "", ""][:3]
        parts = re.split(rf"([,;]) {OUTSIDE}", items)
        chips, prose = [], ""
        for mark, item in zip(["", *parts[1::2]], parts[::2]):
            is_shape = SHAPE.match(item) or are_results and not chips
            if not is_shape or are_results and prose:
                prose += f"{mark} {item}" if prose else item
            elif code := CODE.fullmatch(item):
                chips.append(self._code(code[1]))
            else:
                item = re.sub(r"^([^ (]+)", r"<b>\1</b>", html.escape(item))
                chips.append(f"<code>{item}</code>")
        return chips, f"{prose}{end} {rest}" if prose else rest

    def _indented(self, lines):
        text = "\n".join(lines)
        rows = _rows(lines)
        if CODE_BLOCK.search(text) or DRAWN.search(text):
            return code_block(_dedented(lines))
        if _is_legend(rows):
            return self._legend(rows)
        cells = [list(map(self.spans, _joined(row))) for row in rows]
        set_ = sum(len(plain.text_of(m)) for row in cells for cell in row
                   for m in re.findall("<math.*?</math>", cell))  # fmt: skip
        if set_ < SHARE_OF_FORMULAS * len(re.sub(r"\s", "", text)):
            if re.search(r"\S  +\S|^     +\S", text, re.M) or len(text) < 40:
                return code_block(_dedented(lines))
            return f'<p class="inset">{self.spans(" ".join(text.split()))}</p>'
        rows = "".join(
            f"<div>{''.join(f'<span>{cell}</span>' for cell in row)}</div>"
            for row in cells
        )
        return f'<div class="equations" tabindex="0">{rows}</div>'

    def _legend(self, rows):
        whole = []
        for row in rows:
            if len(row) == 1 and whole:  # it continues the meaning above it
                whole[-1][-1] += f" {row[0][1]}"
            else:
                whole.append([cell for _, cell in row])
        rows = _single(whole)
        width = max(map(len, rows))
        found = ""
        for row in rows:
            first = f'<td class="name">{self.spans(row[0])}</td>'
            cells = [f"<td>{self.spans(cell)}</td>" for cell in row[1:]]
            if len(row) < width:
                columns = f'<td colspan="{width - len(row) + 1}"'
                cells[-1] = cells[-1].replace("<td", columns)
            found += f"<tr>{first}{''.join(cells)}</tr>"
        table = f'<table class="legend">{found}</table>'
        return f'<div class="scroll" tabindex="0">{table}</div>'

    def _list(self, lines):
        items = []
        for line in lines:
            if ITEM.match(line):
                items.append(line[ITEM.match(line).end() :])
            else:
                items[-1] += " " + line.strip()
        tag = "ol" if lines[0][0].isdigit() else "ul"
        return f"<{tag}>{''.join(f'<li>{self.spans(x)}</li>' for x in items)}</{tag}>"


def _paragraphs(text):
    """Yield the lines of each paragraph; an indented block is one of its own."""
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        lines = paragraph.split("\n")
        if _has_shapes(lines):
            yield lines
            continue
        rows = [k for k, line in enumerate(lines) if line.startswith("    ")]
        is_legend = len(lines) > 1 and _has_legend(lines)
        start = 0
        for k in range(1, len(lines) + 1):
            changed = k == len(lines) or (k in rows) != (k - 1 in rows)
            changed = changed or lines[k].startswith("->")
            if changed and (k == len(lines) or not is_legend):
                yield lines[start:k]
                start = k


def _has_shapes(lines):
    """Return whether lines begin with shapes, and are no legend of several names."""
    text = "\n".join(lines).strip()
    if not SHAPES.match(text) or text.endswith('"""'):
        return False
    return len(lines) == 1 or not _is_legend(_rows(lines))


def _rows(lines):
    """Return the cells of lines with their columns; a deeper line continues a cell."""
    rows, first = [], None
    for line in lines:
        cells = [(m.start(), m[0]) for m in re.finditer(r"\S+(?: \S+)*", line)]
        if cells[0][1] == "->" and len(cells) > 2:  # a result has a meaning as well
            cells[:2] = [(cells[0][0], f"-> {cells[1][1]}")]
        first = cells[0][0] if first is None else first
        if rows and cells[0][0] > first and len(cells) == 1:
            column, text = cells[0]
            near = [k for k, (c, _) in enumerate(rows[-1]) if abs(c - column) < 3 and k]
            if near or len(rows[-1]) == 2 and column > rows[-1][1][0] - 3:
                k = near[0] if near else 1
                column, before = rows[-1][k]
                rows[-1][k] = (column, f"{before} {text}")
                continue
        rows.append(cells)
    return rows


def _is_legend(rows):
    """Return whether each row has a name and its meaning."""
    return all(
        len(row) > 1 and len(row[0][1]) < 44 and NAMES.fullmatch(row[0][1])
        and not re.search("[<>]", row[0][1].removeprefix("-> ")) for row in rows
    )  # fmt: skip


def _has_legend(lines):
    """Return whether lines are a legend; lines that are indented continue a meaning."""
    rows = [row for row in _rows(lines) if row[0][0] == 0]
    own = [row for row in rows if _is_legend([row])]
    return bool(rows) and _is_legend(rows[:1]) and len(own) >= 0.6 * len(rows)


def _single(rows):
    """Return the rows of a legend with one name each; two may stand side by side."""
    wide = [row for row in rows if len(row) > 3]
    if not wide or not all(len(r) != 3 and NAMES.fullmatch(r[2]) for r in wide):
        return rows
    left = [row[:2] for row in rows]
    return left + [[row[2], " ".join(row[3:])] for row in wide]


def _joined(row):
    """Return the cells of a line of formulas; a = that stands apart is no new cell."""
    found = []
    for _, cell in row:
        goes_on = cell in SIGNS or cell.startswith(("= ", "<= ", ">= ", "-> "))
        if found and (goes_on or found[-1] in SIGNS):
            found[-1] += f" {cell}"
        else:
            found.append(cell)
    return found


def _dedented(lines):
    margin = min(len(x) - len(x.lstrip()) for x in lines if x.strip())
    return "\n".join(line[margin:] for line in lines)

"""Code as HTML, with a colour for each kind of token and links on names."""

import html
import io
import keyword
import re
import tokenize

KINDS = {tokenize.COMMENT: "c", tokenize.STRING: "s", tokenize.NUMBER: "n"}
for _name in ("FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END"):  # from Python 3.12 on
    if hasattr(tokenize, _name):
        KINDS[getattr(tokenize, _name)] = "s"
# a comment to a tool, and not to readers; words after it stay
TO_TOOLS = re.compile(
    r" *# (?:fmt: skip|noqa: \w+) *(?=$|  #)|(?<=# )noqa: \w+ +(?=\S)", re.M
)
KEYWORDS = set(keyword.kwlist)


def code_block(code):
    """Return a block of code that the keyboard can scroll."""
    lines = "\n".join(python_lines(code))
    return f'<pre class="code" tabindex="0"><code>{lines}</code></pre>'


def python_lines(code, links=None):
    """Return the lines of Python code as HTML; what is no Python has no colours.

    Comments to tools, such as "# fmt: skip", are left out.

    links    {(line, column): address} of names
    """
    code = TO_TOOLS.sub("", code)
    rows, lines = code.split("\n"), [""] * (code.count("\n") + 1)
    row, column = 1, 0
    try:
        for start, end, kind in _tokens(code, links or {}):
            while row < start[0]:
                lines[row - 1] += html.escape(rows[row - 1][column:], quote=False)
                row, column = row + 1, 0
            lines[row - 1] += html.escape(rows[row - 1][column : start[1]], quote=False)
            column = start[1]
            address = links.get(start) if links else None
            while row < end[0]:  # a string of several lines
                lines[row - 1] += _marked(rows[row - 1][column:], kind)
                row, column = row + 1, 0
            lines[row - 1] += _marked(rows[row - 1][column : end[1]], kind, address)
            column = end[1]
    except (tokenize.TokenError, SyntaxError):
        return [html.escape(line, quote=False) for line in rows]
    lines[row - 1] += html.escape(rows[row - 1][column:], quote=False)
    for k in range(row, len(rows)):
        lines[k] += html.escape(rows[k], quote=False)
    return lines


def _tokens(code, links):
    """Yield (start, end, kind) of each token that has a colour or is a link."""
    done = (1, 0)
    read = io.StringIO(code).readline
    for type_, text, start, end, _ in tokenize.generate_tokens(read):
        if type_ == tokenize.NAME:
            kind = "k" if text in KEYWORDS else ""
        else:
            kind = KINDS.get(type_, "")
        if (kind or start in links) and done <= start < end:
            yield start, end, kind
            done = end


def _marked(text, kind, address=None):
    text = html.escape(text, quote=False)
    if address:
        return f'<a href="{html.escape(address)}">{text}</a>'
    return f'<i class="{kind}">{text}</i>' if kind and text else text

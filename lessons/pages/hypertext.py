"""The blocks and spans of a page, written as HTML."""

import html
import re

from . import blocks, formulas
from .highlight import code_block

TAGS = {"bold": "strong", "italic": "em"}


def as_html(text, link):
    """Return a page of Markdown as HTML.

    link    a function from the target of a link to its address in the site
    """
    return _blocks(blocks.split(text), link)


def spans_as_html(text, link):
    """Return the text of one block as HTML."""
    return _spans(blocks.spans(text), link)


def pre(kind):
    """Return the tag that begins a block of code, which the keyboard can scroll."""
    return f'<pre class="{kind}" tabindex="0">'


def _blocks(found, link):
    return "\n".join(_block(block, link) for block in found)


def _block(block, link):
    match block.kind:
        case "heading":
            tag, anchor = f"h{block.level}", blocks.anchor(block.text)
            words = spans_as_html(block.text, link)
            if block.level > 1:
                label = html.escape(re.sub(r"[`$*]", "", block.text))
                words += (
                    f'<a class="anchor" href="#{anchor}" aria-label="Link to {label}">'
                    "#</a>"
                )
            return f'<{tag} id="{anchor}">{words}</{tag}>'
        case "paragraph":
            return f"<p>{spans_as_html(block.text, link)}</p>"
        case "code":
            kind = "output" if block.label == "text" else "code"
            if block.label == "python":
                return code_block(block.text)
            return f'{pre(kind)}<code>{html.escape(block.text)}</code></pre>'
        case "math":
            formula = formulas.as_mathml(block.text, True)
            return f'<div class="math" tabindex="0">{formula}</div>'
        case "figure":
            image = f'<img src="{link(block.label)}" alt="{html.escape(block.alt)}">'
            caption = f"<figcaption>{spans_as_html(block.text, link)}</figcaption>"
            image = f'<div class="scroll" tabindex="0">{image}</div>'
            return f"<figure>{image}\n{caption}</figure>"
        case "table":
            rows = (
                _row(row, "td" if k else "th", link)
                for k, row in enumerate(block.parts)
            )
            kind = ' class="wide"' if len(block.parts[0]) > 5 else ""
            table = f"<table{kind}>\n{''.join(rows)}</table>"
            return f'<div class="scroll" tabindex="0">{table}</div>'
        case "quote":
            return f"<blockquote>\n{_blocks(block.parts, link)}\n</blockquote>"
        case "list":
            tag = "ol" if block.level else "ul"
            items = "".join(f"<li>{_item(item, link)}</li>\n" for item in block.parts)
            return f"<{tag}>\n{items}</{tag}>"
        case "fold":
            tag, inner = "<details>", _blocks(block.parts, link)
            if block.label.startswith("Further: "):  # opens when a link leads into it
                tag = '<details class="further">'
                inner = f'<div id="{blocks.anchor(block.label)}">\n{inner}\n</div>'
            return f"{tag}<summary>{block.label}</summary>\n{inner}\n</details>"
    return "<hr>"


def _row(cells, tag, link):
    row = ""
    for cell in cells:
        # a heading without words would be read aloud as none
        each = tag if re.sub(r"\$`?.*?`?\$", "", cell).strip() else "td"
        row += f"<{each}>{spans_as_html(cell, link)}</{each}>"
    return f"<tr>{row}</tr>\n"


def _item(item, link):
    if [block.kind for block in item] == ["paragraph"]:
        return spans_as_html(item[0].text, link)
    return _blocks(item, link)


def _spans(spans, link):
    found = ""
    for kind, content, target in spans:
        if kind == "math":
            found += formulas.as_mathml(content)
        elif kind == "code":
            found += f"<code>{html.escape(content)}</code>"
        elif kind == "link":
            address = html.escape(link(target))
            found += f'<a href="{address}">{_spans(content, link)}</a>'
        elif kind == "image":
            file = re.search('src="(.*?)"', target)[1]
            found += target.replace(file, html.escape(link(file)), 1)
        elif kind in TAGS:
            found += f"<{TAGS[kind]}>{_spans(content, link)}</{TAGS[kind]}>"
        else:
            found += html.escape(content, quote=False)
    return found

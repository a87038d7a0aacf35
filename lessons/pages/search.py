"""The index of the site: pages and their headings, terms, exercises, and functions.

It is written as a page that lists all entries, and as a script, so that the search finds
them also where pages are opened from files.
"""

import html
import json
import re

from . import blocks
from .reading import words

GROUPS = ("Pages", "Headings", "Terms", "Exercises", "Functions and classes")


class Index:
    """The entries of the search: {group: [(title, address, what it belongs to)]}."""

    def __init__(self):
        self.entries = {group: [] for group in GROUPS}

    def add(self, group, title, address, of=""):
        self.entries[group].append((title, address, of))

    def add_page(self, address, title, text, is_glossary):
        """Add a page of Markdown, and its headings."""
        title = plain(title)
        self.add("Pages", title, address)
        unfolded = blocks.unfolded(text)
        for block in blocks.split(unfolded):
            if block.kind == "heading" and block.level == 2:
                group = "Terms" if is_glossary else "Headings"
                where = f"{address}#{blocks.anchor(block.text)}"
                self.add(group, plain(block.text), where, title)

    def add_module(self, address, module, about):
        """Add a file of the library, and its public functions and classes."""
        place = address.removesuffix(".html")
        self.add("Pages", place, address, about)
        for node in module.tree.body:
            name = getattr(node, "name", "_")
            if name[0] != "_":
                where = f"{address}#{name}"
                self.add("Functions and classes", name, where, place)

    def script(self):
        """Return the script that holds all entries."""
        entries = [entry for group in GROUPS for entry in self.entries[group]]
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
        return f"window.searchIndex = [\n{lines}\n];\n"

    def as_html(self):
        """Return the body of a page with all entries."""
        found = "<h1>Index</h1>\n"
        found += '<p class="found" role="status" hidden></p>\n'
        for group in GROUPS:
            entries = sorted(set(self.entries[group]), key=lambda e: (e[0].lower(), e))
            if group in ("Pages", "Headings", "Exercises"):
                entries = list(dict.fromkeys(self.entries[group]))
            items = "\n".join(map(_item, entries))
            found += f"<h2>{group}</h2>\n<ul class='entries'>\n{items}\n</ul>\n"
        return found


def _item(entry):
    title, address, of = (html.escape(part) for part in entry)
    return f'<li><a href="{address}">{title}</a> <span>{of}</span></li>'


def plain(text):
    """Return the text of a block without its marks."""
    return re.sub(r"[`$*\\]", "", words(text))

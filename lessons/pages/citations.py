"""Citations as links to the bibliography.

A citation is names and a year: Vaswani et al. 2017; Luong, Pham and Manning (2015).
lessons/BIBLIOGRAPHY.md has a heading for each work, as the library cites it.
"""

import html
import re

from ..classroom.catalogue import LESSONS
from . import blocks

BIBLIOGRAPHY = LESSONS / "BIBLIOGRAPHY.md"
NAME = r"[A-Z][\w’-]+"
CITATION = re.compile(
    rf"(?P<first>{NAME})"
    rf"(?P<others>(?:,\s+{NAME})*\s+(?:and|&amp;|&)\s+{NAME}|\s+et\s+al\.)?"
    r",?\s+\(?(?P<year>(?:19|20)\d\d)\b\)?"
)
YEAR = re.compile(r"\b(?:19|20)\d\d\b")


class Citations:
    """Makes links of the citations in a text that is escaped.

    link    a function (path of the page, target as in Markdown) to an address
    """

    def __init__(self, link):
        self.link = link
        text = BIBLIOGRAPHY.read_text(encoding="utf-8")
        self.works = {}  # (first name, year): [(whether several wrote it, anchor)]
        for key in re.findall("^## (.*)$", text, re.M):
            match = CITATION.fullmatch(key)
            where = (match["first"], match["year"])
            entry = (match["others"] or "").strip(), blocks.anchor(key)
            self.works.setdefault(where, []).append(entry)

    def find(self, match):
        """Return the anchor of the work that a citation means, or None."""
        found = self.works.get((match["first"], match["year"]), [])
        others = html.unescape(" ".join((match["others"] or "").split()))
        same = [a for o, a in found if o == others]
        several = [a for o, a in found if bool(o) == bool(others)]
        near = same or (several if len(several) == 1 else [])
        return near[0] if near else None

    def __call__(self, path, text):
        def linked(match):
            anchor = self.find(match)
            if not anchor:
                return match[0]
            up = "../" * (len(path.relative_to(LESSONS.parent).parts) - 1)
            address = self.link(path, f"{up}lessons/BIBLIOGRAPHY.md#{anchor}")
            return f'<a class="cite" href="{html.escape(address)}">{match[0]}</a>'

        return CITATION.sub(linked, text) if YEAR.search(text) else text

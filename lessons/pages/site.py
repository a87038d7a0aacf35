"""The book as static HTML pages, to read in a browser without a network or scripts.

    python -m lessons site [DIR] [--open]

The site begins with the README of the project and holds every file that a page links
to: pages and figures, a page for each exercise, and source files, whose docstrings stand
beside their code. A script adds a search and copies code; all pages are complete
without it.
"""

import ast
import functools
import gc
import html
import os
import pathlib
import re
import string
import webbrowser

from minigrad.draw.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, RED

from attention.plotting.page import SCRIPT, STYLE

from ..classroom.learner import hints
from ..classroom.catalogue import (
    LESSONS,
    ROOT,
    exercises,
    exercises_of,
    lesson_folders,
    lessons_of,
    work_folder,
)
from ..classroom.terminal import display_path
from . import blocks, frames, search, source_pages
from .cells import headings
from .citations import Citations
from .hypertext import as_html, pre, spans_as_html
from .reading import title
from .source_pages import relative
from .weave import fence

CONTENTS = LESSONS / "README.md"
# the pages before the lessons: a wheel has no README of the project
FIRST = [ROOT / "README.md", CONTENTS] if (ROOT / "setup.cfg").is_file() else [CONTENTS]
SOURCE = source_pages.FIRST_PAGE
GLOSSARY, MAP = LESSONS / "GLOSSARY.md", LESSONS / "MAP.md"
OWN = pathlib.Path(__file__).parent  # the folder of site.css and site.js
PAGE = string.Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="$description">
<title>$title</title>
<link rel="icon" href="${root}favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${root}style.css">
<script src="${root}site.js" data-root="$root" defer></script>$moving
</head>
<body class="$kind">
<nav class="top" aria-label="The book">$top <a href="${root}search.html">Index</a>
<form role="search" action="${root}search.html"><input type="search" name="q"
aria-label="Search the book" placeholder="Search" autocomplete="off"></form></nav>
<main>
$body
</main>
<nav class="ends" aria-label="Before and after">
<span>$before</span><span>$after</span>
</nav>
<aside aria-label="Contents">$aside</aside>
</body>
</html>
""")
MOVING = """
<link rel="stylesheet" href="${root}moving.css">
<script src="${root}moving.js" defer></script>"""
BEFORE_SIGN = re.compile("<math[^>]*>(?:[^<]|<(?!/math))*</math>[.,;:?)]+")
# text of figures: a contrast of 4.5 to 1 or more with either background. A colour that
# has it for lines only, 3 to 1, is deeper in letters on white, or lighter on dark
LETTERS = {ORANGE: "#916810", GREEN: "#317c6b", PURPLE: "#7465b2"}
LETTERS_ON_DARK = {BLUE: "#7980b5", RED: "#c16870"}


def _letters(colours):
    """Return the CSS of text: a group that has a colour holds letters."""
    return "".join(
        f'g[style="fill:{colour}"]{{fill:{own}!important}}'
        for colour, own in colours.items()
    )


# no white cells on a dark background; a larger weight stays darker, as the texts say
FIGURE_STYLE = (
    f"<style>svg{{color:#57606a}}@media (prefers-color-scheme:light)"
    f"{{{_letters(LETTERS)}}}@media (prefers-color-scheme:dark){{svg{{color:#a8b1bb}}"
    f"{_letters(LETTERS_ON_DARK)}image{{filter:brightness(.72)}}}}</style>"
)


def site(args):
    """Write the site: the verb ``site``."""
    folder = (args.folder or work_folder() / "site").absolute()
    gc.disable()  # the trees of all files stay, and a search of them takes long
    try:
        pages = Site(folder).write()
    finally:
        gc.enable()
    print(f"{pages} pages: {display_path(folder / 'index.html')}")
    if args.open:
        webbrowser.open((folder / "index.html").as_uri())
    return 0


class Site:
    """The pages of a site: the first pages, and all that the pages link to.

    Pages that have no file of their own (exercises, the parts at the side) are written
    as Markdown first, with links between files of the project.
    """

    def __init__(self, folder):
        self.folder = folder
        self.linked = [*FIRST]  # files, in the order of their links
        self.known = set(FIRST)
        self.lessons = [folder / "README.md" for folder in lesson_folders()]
        self.exercises = {e.file: e for e in exercises()}
        self.names = {ROOT / "README.md": "Start", CONTENTS: "Contents"}
        self.names |= {SOURCE: "Source", MAP: "Map", GLOSSARY: "Glossary"}
        self.names |= {path: title(path.parent) for path in self.lessons}
        self.names |= {file: f"{e.id} {e.title}" for file, e in self.exercises.items()}
        self.citations = Citations(self.link)
        self.sources = source_pages.SourcePages(self.link, self.citations)
        self.index = search.Index()

    def write(self):
        """Write all files; return the number of pages."""
        for name in "style.css", "site.js", "favicon.svg":
            file = OWN / name.replace("style", "site")
            self._write(name, file.read_bytes())
        for file in STYLE, SCRIPT:  # of figures that move
            self._write(file.name, file.read_bytes())
        pages = 0
        for path in self.linked:  # grows while pages are written
            if path.suffix == ".svg":
                self._write(address(path), _figure(_text(path)).encode())
            elif path.suffix == ".png":
                self._write(address(path), path.read_bytes())
            else:
                self._write(address(path), self.page(path).encode())
                pages += 1
        self._write("search.js", self.index.script().encode())
        self._write("search.html", self._page_of_index().encode())
        return pages + 1

    def _write(self, where, content):
        path = self.folder / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def page(self, path):
        """Return the HTML of a page, an exercise or a source file."""
        link, kind = functools.partial(self.link, path), "page"
        aside = self._aside(path)
        if path.suffix == ".md":
            text = _text(path)
            body, name = as_html(text, link), headings(text)[0][1]
            body = frames.set_in_motion(body, path.parent)
            first = (b.text for b in blocks.split(text) if b.kind == "paragraph")
            about = search.plain(next(first, ""))
            self.index.add_page(address(path), name, text, path == GLOSSARY)
        elif path in self.exercises:
            body, name, kind = self._exercise(path), self.names[path], "exercise"
            about = f"Exercise {name}"
            self.index.add("Exercises", name, address(path), "exercise")
        else:
            name, kind = path.relative_to(ROOT).as_posix(), "source"
            if path.suffix == ".py":
                body, about = self.sources.body(path), self.sources.summary(path)
                if module := self.sources.modules.get(path):
                    self.index.add_module(address(path), module, about)
            else:
                body, about = f"<h1>{name}</h1>\n{_listing(_text(path))}", name
        before, after = self._neighbours(path)
        return self._filled(
            address(path), name, body, kind=kind, description=about[:200],
            top=spans_as_html(self._top(path), link),
            aside=_beside(as_html(aside, link)), before=spans_as_html(before, link),
            after=spans_as_html(after, link),
        )  # fmt: skip

    def _filled(self, where, name, body, description, **parts):
        root = relative(".", os.path.dirname(where))
        about = html.escape(" ".join(description.split()))
        body = BEFORE_SIGN.sub(r'<span class="tied">\g<0></span>', body)
        root = "" if root == "." else f"{root}/"
        moves = ""
        if '<figure class="moving">' in body:
            moves = MOVING.replace("${root}", root)
        return PAGE.substitute(
            parts, title=html.escape(name), body=body, description=about, root=root,
            moving=moves,
        )  # fmt: skip

    def _page_of_index(self):
        """Return the page of all entries of the search, which needs no script."""
        path = ROOT / "search.html"  # it stands beside the first page
        link = functools.partial(self.link, path)
        return self._filled(
            "search.html", "Index", self.index.as_html(), kind="index",
            description="All pages, terms, exercises and functions", aside="",
            top=spans_as_html(self._top(path), link), before="", after="",
        )  # fmt: skip

    def link(self, path, target):
        """Return the address of a target, as seen from the page of ``path``."""
        if re.match("[a-z]+:", target):
            return target
        file, _, anchor = target.partition("#")
        where = self._address(path.parent, file or path.name)
        return where + f"#{anchor.partition('-L')[0]}" * bool(anchor)

    @functools.cache
    def _address(self, folder, file):
        """Return the address of a file, as seen from a folder; it joins the site."""
        # normpath keeps symbolic links: the project may be reached by one
        file = pathlib.Path(os.path.normpath(folder / file))
        if file not in self.known:
            self.known.add(file)
            self.linked.append(file)
        return relative(address(file), os.path.dirname(address(folder / "README.md")))

    def _named(self, path, file, name=None):
        """Return a Markdown link from the page of ``path`` to a file with a name."""
        if not file:
            return ""
        name = name or self.names.get(file) or file.relative_to(ROOT).as_posix()
        return f"[{name}]({relative(file, path.parent)})"

    def _top(self, path):
        first = " ".join(self._named(path, file) for file in FIRST)
        last = " ".join(self._named(path, file) for file in (SOURCE, MAP, GLOSSARY))
        exercises = relative(CONTENTS, path.parent) + "#the-exercises"
        return f"{first} [Exercises]({exercises}) {last}"

    def _neighbours(self, path):
        """Return links to the pages before and after, in the order of learning."""
        if path not in self._around:
            return "", ""
        before, after = (self._named(path, file) for file in self._around[path])
        return before and f"← {before}", after and f"{after} →"

    @functools.cached_property
    def _around(self):
        """{file: (the one before it, the one after it)} in the three orders."""
        found = {}
        for order in [*FIRST, *self.lessons], [*self.exercises], self.sources.order:
            around = zip([None, *order], order, [*order[1:], None])
            found |= {file: (before, after) for before, file, after in around}
        return found

    def _aside(self, path):
        """Return what stands beside a page, as Markdown: its headings, and the lessons.

        Beside a source file stand the files of its folder.
        """
        lines = []
        if path.suffix == ".md":
            parts = [words for level, words in headings(_text(path)) if level == 2]
            if parts and path != GLOSSARY:
                lines = ["## On this page", ""]
                lines += [f"- [{words}](#{blocks.anchor(words)})" for words in parts]
        if path in self.lessons and (found := exercises_of(path.parent)):
            lines += ["", "## Exercises", ""]
            for e in found:
                lines.append(f"- {self._named(path, e.file)} {e.dots} {e.minutes} min")
        if path in self.sources.modules:
            folder = path.parent
            files = [p for p in self.sources.folders[folder] if p != path]
            near = [folder.parent, *sorted(folder.iterdir())]
            near = [p / "__init__.py" for p in near]
            below = [p for p in near if p in self.sources.modules]
            lines = [f"## {folder.relative_to(ROOT).as_posix()}", ""]
            lines += [f"- {self._named(path, p, p.name)}" for p in files]
            names = [(p, f"{p.parent.relative_to(ROOT).as_posix()}/") for p in below]
            lines += [f"- {self._named(path, p, name)}" for p, name in names]
        elif path.suffix == ".md" or path in self.exercises:
            lines += ["", "## Lessons", ""]
            for file in self.lessons:
                name = self.names[file]
                here = file == path
                lines.append(f"- **{name}**" if here else f"- {self._named(path, file)}")
        return "\n".join(lines)

    def _exercise(self, path):
        """Return the page of an exercise: its task, and its stub beside its formulas."""
        exercise, link = self.exercises[path], functools.partial(self.link, path)
        text, own = exercise.stub_text, hints.own_hints(exercise).get("", [])
        task = ast.get_docstring(ast.parse(text)).partition("\n")[2]
        ids = {e.id: e.file for e in self.exercises.values()}
        needs = [self._named(path, ids[id]) for id in exercise.needs]
        lessons = [self._named(path, f / "README.md") for f in lessons_of(exercise)]
        facts = f"{exercise.dots} {exercise.minutes} minutes."
        facts += f" Needs {', '.join(needs)}." * bool(needs)
        facts += f" Belongs to {', '.join(lessons)}." * bool(lessons)
        commands = "".join(
            f"python -m lessons {verb} {exercise.id}\n" for verb in ("start", "check")
        )
        before = f"# {self.names[path]}\n\n{facts}"
        after = [fence(commands.strip(), "sh")]
        after += [f"<details><summary>Hint {k}</summary>\n\n{hint}\n\n</details>"
                  for k, hint in enumerate(own, 1)]  # fmt: skip
        return "\n".join([
            as_html(before, link), self.sources.prose(path, task),
            as_html("## What you fill in", link), self.sources.rows(path, text),
            as_html("\n\n".join(after), link),
        ])  # fmt: skip


def _beside(aside):
    """Return what stands beside a page; its headings are no places of the page."""
    heading = re.compile(r'<h2 id="(.*?)">(.*?)<a class="anchor".*?</a></h2>')
    return heading.sub(r'<h2 class="\1">\2</h2>', aside)


@functools.cache
def address(path):
    """Return where the file of the project stands in the site, from its first folder."""
    if path == CONTENTS != FIRST[0]:
        return "contents.html"
    path = path.relative_to(LESSONS if path.is_relative_to(LESSONS) else ROOT)
    if path.name == "README.md":
        path = path.with_name("index.html")
    elif path.suffix == ".md" or path.match("exercises/*.py"):
        path = path.with_suffix(".html")
    elif path.suffix not in (".svg", ".png"):
        path = path.with_name(f"{path.name}.html")
    return path.as_posix()


def _text(path):
    return path.read_text(encoding="utf-8")


def _figure(svg):
    """Return a figure whose grey text has the colour of the reader's background."""
    grey = frames.smaller(svg).replace(GREY, "currentColor")
    return grey.replace("<defs>", f"{FIGURE_STYLE}<defs>", 1)


def _listing(text):
    """Return a source file whose lines have numbers and anchors."""
    lines = [
        f'<span id="L{k}">{html.escape(line)}</span>\n'
        for k, line in enumerate(text.splitlines(), 1)
    ]
    return f"{pre('listing')}{''.join(lines)}</pre>"

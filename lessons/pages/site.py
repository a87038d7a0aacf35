"""The book as static HTML pages, to read in a browser without a network or scripts.

    python -m lessons site [DIR] [--open]

The site begins with the README of the project and holds every file that a page links
to: pages and figures, a page for each exercise, and source files with numbered lines.
"""

import ast
import functools
import html
import os
import pathlib
import re
import string
import webbrowser

from minigrad.draw.colours import GREY

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
from . import blocks
from .cells import headings
from .hypertext import as_html, pre, spans_as_html
from .reading import title
from .weave import fence

CONTENTS = LESSONS / "README.md"
# the pages before the lessons: a wheel has no README of the project
FIRST = [ROOT / "README.md", CONTENTS] if (ROOT / "setup.cfg").is_file() else [CONTENTS]
PAGE = string.Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<link rel="stylesheet" href="$style">
</head>
<body>
<nav class="top" aria-label="The book">$top</nav>
<main>
$body
</main>
<aside>$aside</aside>
<nav class="ends" aria-label="Before and after">
<span>$before</span><span>$after</span>
</nav>
</body>
</html>
""")
# text of figures: a contrast of 4.5 to 1 or more with either background
FIGURE_STYLE = (
    "<style>svg{color:#57606a}@media (prefers-color-scheme:dark){svg{color:#a8b1bb}}"
    "</style>"
)


def site(args):
    """Write the site: the verb ``site``."""
    folder = (args.folder or work_folder() / "site").absolute()
    pages = Site(folder).write()
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
        self.lessons = [folder / "README.md" for folder in lesson_folders()]
        self.exercises = {e.id: e for e in exercises()}
        self.names = {ROOT / "README.md": "Start", CONTENTS: "Contents"}
        self.names |= {path: title(path.parent) for path in self.lessons}
        self.names |= {e.file: f"{e.id} {e.title}" for e in self.exercises.values()}

    def write(self):
        """Write all files; return the number of pages."""
        style = pathlib.Path(__file__).with_suffix(".css")
        self._write("style.css", style.read_bytes())
        pages = 0
        for path in self.linked:  # grows while pages are written
            if path.suffix == ".svg":
                self._write(address(path), _figure(_text(path)).encode())
            elif path.suffix == ".png":
                self._write(address(path), path.read_bytes())
            else:
                self._write(address(path), self.page(path).encode())
                pages += 1
        return pages

    def _write(self, where, content):
        path = self.folder / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def page(self, path):
        """Return the HTML of a page, an exercise or a source file."""
        link, name, aside = functools.partial(self.link, path), self.names.get(path), ""
        if path.suffix == ".md":
            body, name = as_html(_text(path), link), headings(_text(path))[0][1]
        elif name:
            body = as_html(self._exercise(path), link)
        else:
            name = path.relative_to(ROOT).as_posix()
            body = f"<h1>{name}</h1>\n{_listing(_text(path))}"
        if path in self.lessons:
            aside = as_html(self._aside(path), link)
        before, after = self._neighbours(path)
        folder = os.path.dirname(address(path))
        return PAGE.substitute(
            title=html.escape(name),
            style=_relative("style.css", folder),
            top=spans_as_html(self._top(path), link),
            body=body,
            aside=aside,
            before=spans_as_html(before, link),
            after=spans_as_html(after, link),
        )

    def link(self, path, target):
        """Return the address of a target, as seen from the page of ``path``."""
        if re.match("[a-z]+:", target):
            return target
        file, _, anchor = target.partition("#")
        # normpath keeps symbolic links: the project may be reached by one
        file = pathlib.Path(os.path.normpath(path.parent / file)) if file else path
        if file not in self.linked:
            self.linked.append(file)
        where = _relative(address(file), os.path.dirname(address(path)))
        return where + f"#{anchor.partition('-L')[0]}" * bool(anchor)

    def _named(self, path, file):
        """Return a Markdown link from the page of ``path`` to a file with a name."""
        return f"[{self.names[file]}]({_relative(file, path.parent)})" if file else ""

    def _top(self, path):
        first = " ".join(self._named(path, file) for file in FIRST)
        exercises = _relative(CONTENTS, path.parent) + "#the-exercises"
        glossary = _relative(LESSONS / "GLOSSARY.md", path.parent)
        return f"{first} [Exercises]({exercises}) [Glossary]({glossary})"

    def _neighbours(self, path):
        """Return links to the pages before and after, in the order of learning."""
        files = [e.file for e in self.exercises.values()]
        for order in [*FIRST, *self.lessons], files:
            if path in order:
                k, order = order.index(path), [None, *order, None]
                before, after = (self._named(path, order[k + n]) for n in (0, 2))
                return before and f"← {before}", after and f"{after} →"
        return "", ""

    def _aside(self, path):
        """Return the headings of a lesson's page and its exercises, as Markdown."""
        lines = ["## On this page"]
        parts = [words for level, words in headings(_text(path)) if level == 2]
        lines += [f"- [{words}](#{blocks.anchor(words)})" for words in parts]
        if found := exercises_of(path.parent):
            lines += ["", "## Exercises"]
        for e in found:
            lines.append(f"- {self._named(path, e.file)} {e.dots} {e.minutes} min")
        return "\n".join(lines)

    def _exercise(self, path):
        """Return the page of an exercise as Markdown."""
        (exercise,) = (e for e in self.exercises.values() if e.file == path)
        text, own = exercise.stub_text, hints.own_hints(exercise).get("", [])
        task = ast.get_docstring(ast.parse(text)).partition("\n")[2]
        needs = [self._named(path, self.exercises[id].file) for id in exercise.needs]
        lessons = [self._named(path, f / "README.md") for f in lessons_of(exercise)]
        facts = f"{exercise.dots} {exercise.minutes} minutes."
        facts += f" Needs {', '.join(needs)}." * bool(needs)
        facts += f" Belongs to {', '.join(lessons)}." * bool(lessons)
        commands = "".join(
            f"python -m lessons {verb} {exercise.id}\n" for verb in ("start", "check")
        )
        return "\n\n".join([
            f"# {self.names[path]}",
            facts,
            task,
            "## What you fill in",
            fence(text.partition('"""\n')[2].strip(), "python"),
            fence(commands.strip(), "sh"),
            *(f"<details><summary>Hint {k}</summary>\n\n{hint}\n\n</details>"
              for k, hint in enumerate(own, 1)),
        ])  # fmt: skip


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


def _relative(file, folder):
    return os.path.relpath(file, folder or ".").replace(os.sep, "/")


def _text(path):
    return path.read_text(encoding="utf-8")


def _figure(svg):
    """Return a figure whose grey text has the colour of the reader's background."""
    grey = svg.replace(GREY, "currentColor")
    return grey.replace("<defs>", f"{FIGURE_STYLE}<defs>", 1)


def _listing(text):
    """Return a source file whose lines have numbers and anchors."""
    lines = [
        f'<span id="L{k}">{html.escape(line)}</span>\n'
        for k, line in enumerate(text.splitlines(), 1)
    ]
    return f"{pre('listing')}{''.join(lines)}</pre>"

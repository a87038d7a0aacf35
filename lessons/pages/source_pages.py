"""Pages of source files: what the docstrings say beside the code, function by function.

The names that the library defines lead to their definitions; below a definition stand
the functions that use it, and the wrong backwards that its tests reject. What follows
the line "A first reading can stop here" is folded.
"""

import ast
import functools
import html
import os
import re

from ..classroom.catalogue import LESSONS, ROOT
from .docstrings import Docstrings
from .highlight import python_lines
from .names import Names

FOLD = re.compile(r"# -+ A first reading can stop here -+$")
SECTION = re.compile(r"# -- (.*?) -*$")
# a definition of an operation in its tests, or one of its wrong backwards
TESTED = re.compile(r'^(?:(spec)|wrong)\(\s*"(\w+)"(?(1)|,\s*"([\w-]+)")', re.M)
OPERATION = re.compile(r"^@differentiable[^\n]*\n(?:@.*\n)*def (\w+)\(", re.M)
FIRST_PAGE = ROOT / "attention" / "definitions.py"
SHOWN = 6  # of the functions that use a name; the others are folded


class SourcePages:
    """Writes the pages of source files.

    link         a function (path of the page, target as in Markdown) to an address
    citations    as in Docstrings, a function (path of the page, text)
    """

    def __init__(self, link, citations):
        self.link, self.citations = link, citations
        self.names = Names()
        self.modules = {m.path: m for m in self.names.modules.values()}

    @functools.cached_property
    def folders(self):
        """{folder: its files}."""
        found = {}
        for path in self.modules:
            found.setdefault(path.parent, []).append(path)
        return found

    @functools.cached_property
    def order(self):
        """The files of the library: definitions, the reading list, then all others."""
        text = (LESSONS / "READING.md").read_text(encoding="utf-8")
        listed = [(LESSONS / t).resolve() for t in re.findall(r"\]\((\S+\.py)\)", text)]
        files = [FIRST_PAGE, *listed, *self.modules]
        return [path for path in dict.fromkeys(files) if path in self.modules]

    @functools.cached_property
    def wrong(self):
        """{operation: [(path, line, mistake)]} of the wrong backwards in the tests."""
        found = {}
        for path in sorted((ROOT / "tests" / "ops").glob("*.py")):
            text = path.read_text(encoding="utf-8")
            for match in TESTED.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found.setdefault(match[2], []).append((path, line, match[3] or ""))
        return found

    def body(self, path):
        """Return the page of a file of Python: rows of prose and code."""
        return _Page(self, path).body()

    def rows(self, path, text):
        """Return the rows of a text of Python, such as a stub, without its docstring."""
        return _Page(self, path, text).body(whole=False)

    def prose(self, path, text):
        """Return a docstring of a page as HTML."""
        return _Page(self, path, "").docstrings.as_html(text)

    def summary(self, path):
        """Return the first sentence of a file's docstring."""
        tree = self.modules[path].tree if path in self.modules else None
        text = ast.get_docstring(tree or _tree(path.read_text("utf-8"))) or ""
        return " ".join(text.partition("\n\n")[0].split()).replace("``", "")

    @functools.cache
    def address(self, page, found):
        """Return the address of a definition, as seen from a page."""
        module, name = found
        anchor = ""
        if name:
            has_heading = any(getattr(n, "name", "") == name for n in module.tree.body)
            anchor = f"#{name}" if has_heading else f"#L{module.defined[name]}"
        return self.link(page, relative(module.path, page.parent) + anchor)


class _Page:
    """One page while it is written."""

    def __init__(self, pages, path, text=None):
        self.pages, self.path = pages, path
        self.text = path.read_text(encoding="utf-8") if text is None else text
        self.module = pages.modules.get(path) if text is None else None
        self.tree = self.module.tree if self.module else _tree(self.text)
        links = {}
        if self.module:
            for line, column, found, _ in pages.names.uses(self.module):
                if found[0] is not self.module or found[1]:
                    links[line, column] = pages.address(path, found)
        self.lines = python_lines(self.text, links)
        self.raw, self.headed = self.text.splitlines(), set()
        self.docstrings = Docstrings(self.code_link, functools.partial(
            pages.citations, path))  # fmt: skip

    def code_link(self, words):
        found = self.module and self.pages.names.words(self.module, words)
        if not found or found == (self.module, None):
            return None
        return self.pages.address(self.path, found)

    def body(self, whole=True):
        """Return the rows of the page; ``whole``: with its title and contents."""
        rows, body = [], list(self.tree.body)
        doc = ast.get_docstring(self.tree)
        start = 1
        if doc is not None:
            start = body.pop(0).end_lineno + 1
        title = self.path.relative_to(ROOT).as_posix()
        prose = f"<h1>{title.replace('/', '/<wbr>')}</h1>"
        prose += self.docstrings.as_html(doc) if doc else ""
        imports = [n for n in body if isinstance(n, ast.Import | ast.ImportFrom)]
        head = [n for n in body[: len(imports)] if n in imports]
        end = head[-1].end_lineno if head else start - 1
        prose += self.contents(body)
        rows.append(self.row(prose if whole else "", start, end))
        start, folded = end + 1, None
        for node in body[len(head) :]:
            begin = min([node.lineno, *(d.lineno for d in _decorators(node))])
            for k in range(start, begin):
                if FOLD.match(self.raw[k - 1]):
                    folded = len(rows)
                    start = k + 1
                elif match := SECTION.match(self.raw[k - 1]):
                    rows.append(self.section(match[1]))
                    start = k + 1
            rows += self.definition(node, start)
            start = node.end_lineno + 1
        if start <= len(self.raw):
            rows.append(self.row("", start, len(self.raw)))
        if folded is not None:
            inner = "\n".join(rows[folded:])
            names = [n.name for n in body if n.lineno > 0 and hasattr(n, "name")]
            names = [n for n in names if f'id="{n}"' in inner and n[0] != "_"]
            words = f"Further: {', '.join(names[:6])}" + ", …" * (len(names) > 6)
            rows[folded:] = [
                f'<details class="further"><summary>{words or "Further"}</summary>\n'
                f"{inner}\n</details>"
            ]
        return "\n".join(rows)

    def contents(self, body):
        """Return links to the functions and classes of the page."""
        names = [n.name for n in body if getattr(n, "name", "_")[0] != "_"]
        links = [f'<a href="#{n}">{n}</a>' for n in names]
        found = " ".join(links)
        return f'<p class="names">{found}</p>' if len(names) > 1 else ""

    def section(self, words):
        anchor = re.sub(r"\W+", "-", words.lower()).strip("-")
        return f'<h2 class="section" id="part-{anchor}">{html.escape(words)}</h2>'

    def definition(self, node, start):
        """Return the rows of a statement; a class has one for each method."""
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            return [self.row("", start, node.end_lineno)]
        doc = ast.get_docstring(node)
        # a name may be defined twice, once for editors
        prose = "" if node.name in self.headed else _heading("h2", node.name, node.name)
        self.headed.add(node.name)
        prose += self.docstrings.as_html(doc) if doc else ""
        prose += self.mistakes(node.name) + self.users(node.name)
        if isinstance(node, ast.FunctionDef):
            return [self.row(prose, start, node.end_lineno, node)]
        methods = [n for n in node.body if isinstance(n, ast.FunctionDef)]
        methods = [n for n in methods if ast.get_docstring(n) or n is not methods[0]]
        rows, end, headed = [], node.end_lineno, set()
        cuts = [min([n.lineno, *(d.lineno for d in n.decorator_list)]) for n in methods]
        rows.append(self.row(prose, start, (cuts[0] - 1) if cuts else end, node))
        for k, method in enumerate(methods):
            stop = cuts[k + 1] - 1 if k + 1 < len(methods) else end
            doc = ast.get_docstring(method)
            name = f"{node.name}.{method.name}"
            is_first = name not in headed  # not the setter of a property
            headed.add(name)
            text = _heading("h3", name, method.name) if is_first else ""
            text += self.docstrings.as_html(doc) if doc else ""
            rows.append(self.row(text, cuts[k], stop, method))
        return rows

    def row(self, prose, start, end, node=None):
        """Return prose beside the lines from start to end, without a docstring."""
        left_out = range(0)
        if node is not None and ast.get_docstring(node) is not None:
            left_out = range(node.body[0].lineno, node.body[0].end_lineno + 1)
        numbers = [k for k in range(start, end + 1) if k not in left_out]
        while numbers and not self.raw[numbers[0] - 1].strip():
            del numbers[0]
        while numbers and not self.raw[numbers[-1] - 1].strip():
            del numbers[-1]
        code = "\n".join(
            f'<span id="L{k}" data-n="{k}">{self.lines[k - 1]}</span>' for k in numbers
        )
        if not prose and not code:
            return ""
        if code:
            code = f'<pre class="source" tabindex="0"><code>{code}</code></pre>'
        return f'<section class="row"><div class="prose">{prose}</div>{code}</section>'

    def users(self, name):
        """Return who uses a definition, or a module without its names."""
        if not self.module or name is None:
            return ""
        names, key = self.pages.names, (self.module.name, name)
        found, lessons = [], []
        for module, top in names.users.get(key, {}):
            where = self.pages.address(self.path, (names.modules[module], top))
            near = module == self.module.name
            words = top if near else f"{module.rpartition('.')[2]}.{top}"
            found.append(f'<a href="{html.escape(where)}">{words}</a>')
        for folder in names.lessons.get(key, []):
            where = relative(folder / "README.md", self.path.parent)
            where, number = self.pages.link(self.path, where), folder.name.partition("_")[0]
            lessons.append(f'<a href="{where}">{number}</a>')
        text = ", ".join(found[:SHOWN])
        if len(found) > SHOWN:
            rest = ", ".join(found[SHOWN:])
            text = (
                f"<details><summary>Used by {len(found)} functions</summary>"
                f"<p>{text}, {rest}</p></details>"
            )
        elif text:
            text = f"<p>Used by {text}</p>"
        if lessons:
            word = "lesson" if len(lessons) == 1 else "lessons"
            text += f"<p>In {word} {', '.join(lessons)}</p>"
        return f'<div class="used">{text}</div>' if text else ""

    def mistakes(self, name):
        """Return links to the definition and the wrong backwards in the tests."""
        places = self.pages.wrong.get(name, []) if self.module else []
        if not places or name not in OPERATION.findall(self.text):
            return ""
        found, wrong = "", []
        for path, line, tag in places:
            where = f"{relative(path, self.path.parent)}#L{line}"
            where = self.pages.link(self.path, where)
            if tag:
                wrong.append(f'<a href="{where}">{html.escape(tag)}</a>')
            else:
                found = f'<a href="{where}">its test</a>'
        text = f"Checked by {found}" if found else "In the tests"
        if wrong:
            words = "a wrong backward" if len(wrong) == 1 else "wrong backwards"
            text += f", which rejects {words}: {', '.join(wrong)}"
        return f'<div class="used"><p>{text}</p></div>'


def _heading(tag, anchor, words):
    link = f'<a class="anchor" href="#{anchor}" aria-label="Link to {words}">#</a>'
    return f'<{tag} id="{anchor}"><code>{words}</code>{link}</{tag}>'


@functools.cache
def _tree(text):
    return ast.parse(text)


def _decorators(node):
    return getattr(node, "decorator_list", [])


@functools.cache
def relative(path, folder):
    """Return the path of a file from a folder, as a link in Markdown has it."""
    return os.path.relpath(path, folder or ".").replace(os.sep, "/")

"""The book: run a lesson, weave it into its page, and tell whether the page is fresh.

    read 5            where the page is, and what is in it; 38.3 and scaling do as well
    run 5             print what it prints; figures go to the learner's folder
    weave 5           write README.md, figures/ and digest.json beside lesson.py
    weave 5 --check   run it again: do text and digests still agree?
    figures 5         the figures alone; with --check, their digests alone

Without a number: all lessons. Lessons run on the NumPy twins of the kernels, so that
nothing is compiled and every machine prints the same.
"""

import ast
import contextlib
import io
import json
import pathlib
import pydoc
import sys
import time
import traceback
import warnings
from dataclasses import dataclass

import numpy as np

from . import shelf, visits
from .catalogue import UsageError
from .figures import Gallery, readers_figures
from .pages import check_links, evaluated, faults_of_prose, headings, page
from .paths import shown
from .percent import LessonError, parse
from .screen import say
from .shelf import BOOK, number


def main(verb, args, book=BOOK):
    """Do ``verb`` for the lessons that ``args`` name: main("weave", ["5", "--check"]).

    Returns the exit code: 0 done, 1 stale or failed, 2 wrong usage.
    """
    options = [a for a in args if a.startswith("-")]
    allowed = ["--check"] if verb in ("weave", "figures") else []
    unknown = [o for o in options if o not in allowed]
    if unknown or verb not in ("read", "run", "figures", "weave"):
        what = f"{verb} has no option {unknown[0]}" if unknown else f"no verb {verb}"
        say(f"{what}. See python -m lessons {verb} --help.", file=sys.stderr)
        return 2
    names = [a for a in args if not a.startswith("-")]
    try:
        folders = find(names, book)
    except UsageError as error:
        say(str(error), file=sys.stderr)
        return 2
    if verb in ("read", "run") and len(folders) > len(names):  # which of them?
        for folder in folders:
            print(f"  {title(folder)}")
        print(f"\nnext: python -m lessons {verb} {number(folders[0])}")
        return 0 if verb == "read" else 2
    act = {"read": read, "run": run, "figures": figures, "weave": weave}[verb]
    codes = [act(f, *[bool(options)] * bool(allowed)) for f in folders]
    for folder, code in zip(folders, codes):
        if verb in visits.VERBS and not code and book == BOOK:
            visits.note(folder, verb)
    return max(codes, default=0)


def find(names, book=BOOK):
    """The folders of the lessons that are meant; all of them, without any name."""
    found = [f for name in names for f in shelf.meant(name, book)]
    return list(dict.fromkeys(found)) if names else shelf.folders(book)


def title(folder):
    """The title of a lesson, from the first line of its prose."""
    shown = next(c for c in _cells(folder)[1] if c.kind == "markdown")
    return shown.text.splitlines()[0].removeprefix("# ")


def read(folder):
    """Say where the page is and what is in it; on a terminal, show it."""
    path = folder / "README.md"
    if not path.exists():
        print(
            f"{shown(path)} is not there yet: python -m lessons weave {number(folder)}"
        )
        return 1
    text = path.read_text(encoding="utf-8")
    if sys.stdin.isatty() and sys.stdout.isatty():
        pydoc.pager(text)
    print(shown(path))
    for level, words in headings(text):
        print("  " * level + words)
    print(f"\nnext: python -m lessons run {number(folder)}")
    return 0


def run(folder):
    """Run a lesson before the reader's eyes, heading by heading."""
    try:
        _perform(folder, Gallery(readers_figures(folder)), capture=False)
    except LessonError as error:
        return _failed(error)
    return 0


def figures(folder, check=False):
    """Draw the figures again, or compare what they plot with digest.json."""
    return _make(folder, check, text=False)


def weave(folder, check=False):
    """Write the page and its figures, or run the lesson again and compare."""
    return _make(folder, check, text=True)


@dataclass
class Woven:
    """A lesson, run: its page, and its pictures by name."""

    folder: pathlib.Path
    text: str
    pictures: dict

    @property
    def digest(self):
        return {name: p.digest for name, p in self.pictures.items()}


def woven(folder, draw=True):
    """Run a lesson and make its page, writing nothing. Raises LessonError."""
    gallery = Gallery(draw=draw)
    text = page(_perform(folder, gallery), folder)
    check_links(text, folder, {f"{name}.svg" for name in gallery.pictures})
    return Woven(folder, text, gallery.pictures)


def differences(fresh, text=True):
    """What is stale beside a lesson that was run again: sentences; none when fresh."""
    folder, found = fresh.folder, []
    if text:
        found += _differing_text(folder / "README.md", fresh.text)
    kept = _digest(folder)
    for name in sorted(kept.keys() | fresh.digest.keys()):
        then, now = kept.get(name), fresh.digest.get(name)
        if then is None or now is None:
            state = "is new" if then is None else "is no longer drawn"
            found.append(f"figure {name} {state}")
            continue
        for key in [k for k in {**then, **now} if then.get(k) != now.get(k)]:
            was, is_ = then.get(key, "nothing"), now.get(key, "nothing")
            found.append(f"figure {name}, {key}\n    kept  {was}\n    now   {is_}")
    files = {path.stem for path in (folder / "figures").glob("*.svg")}
    found += [f"figures/{name}.svg is missing" for name in fresh.digest.keys() - files]
    found += [
        f"figures/{name}.svg is left over" for name in files - fresh.digest.keys()
    ]
    return found


def _differing_text(path, now):
    if not path.exists():
        return ["README.md is missing"]
    then, now = path.read_text(encoding="utf-8").splitlines(), now.splitlines()
    heading = ""
    for k, (a, b) in enumerate(zip(then + ["(end)"], now + ["(end)"]), 1):
        if a != b:
            place = f"README.md, line {k}" + (f", under {heading!r}" if heading else "")
            return [f"{place}\n    kept  {a}\n    now   {b}"]
        heading = a.lstrip("# ") if a.startswith("#") else heading
    return []


def _digest(folder):
    path = folder / "digest.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _make(folder, check, text):
    began = time.perf_counter()
    try:
        fresh = woven(folder, draw=not check)
    except LessonError as error:
        return _failed(error)
    if check:
        stale = differences(fresh, text)
    else:
        stale = []
        _write(fresh, text)
    state = "stale" if stale else "fresh" if check else "written"
    print(f"{folder.name}: {state} ({time.perf_counter() - began:.1f} s)")
    for sentence in stale:
        print(f"  {sentence}")
    if stale:
        print(f"next: python -m lessons weave {number(folder)}")
    return int(bool(stale))


def _write(fresh, text):
    target = fresh.folder / "figures"
    if fresh.pictures:
        target.mkdir(exist_ok=True)
    for path in target.glob("*.svg"):
        if path.stem not in fresh.pictures:
            path.unlink()
    for name, picture in fresh.pictures.items():
        (target / f"{name}.svg").write_bytes(picture.svg)
    digest = json.dumps(fresh.digest, indent=1, ensure_ascii=False) + "\n"
    (fresh.folder / "digest.json").write_text(digest, encoding="utf-8")
    if text:
        (fresh.folder / "README.md").write_text(fresh.text, encoding="utf-8")


def _cells(folder):
    path = folder / "lesson.py"
    return path, parse(path.read_text(encoding="utf-8"), f"{folder.name}/lesson.py")


def _perform(folder, gallery, capture=True):
    """[(cell, text, pictures)]: what each cell says, or prints and draws."""
    from attention import kernels

    path, cells = _cells(folder)
    prose = [cell for cell in cells if cell.kind == "markdown"]
    faults = [fault for cell in prose for fault in faults_of_prose(cell, folder)]
    if faults:
        raise LessonError("\n".join(faults))
    namespace = {"__name__": "__main__", "__file__": str(path)}
    before, performed = sys.path[:], []
    try:
        with (
            gallery,
            warnings.catch_warnings(),
            kernels.backend("numpy"),
            np.printoptions(),  # what a lesson sets ends with it
            np.errstate(),
        ):
            warnings.simplefilter("error", RuntimeWarning)
            for cell in cells:
                known, out = set(gallery.pictures), io.StringIO()
                if cell.runs:
                    hold = contextlib.redirect_stdout(out)
                    with hold if capture else contextlib.nullcontext():
                        _execute(cell, namespace, path)
                elif cell.kind == "markdown":
                    out.write(evaluated(cell, namespace, folder))
                    for _, words in [] if capture else headings(cell.text):
                        print(f"\n{words}\n")
                new = [p for n, p in gallery.pictures.items() if n not in known]
                performed.append((cell, out.getvalue(), new))
    finally:
        sys.path[:] = before
    return performed


def _execute(cell, namespace, path):
    """Run a cell; print the value of its last line, if that is an expression."""
    try:
        # blank lines before it give every line its number in the file
        tree = ast.parse("\n" * (cell.line - 1) + cell.text, str(path))
        last = (
            tree.body.pop() if tree.body and type(tree.body[-1]) is ast.Expr else None
        )
        exec(compile(tree, str(path), "exec"), namespace)
        if last is not None and cell.kind != "preamble":
            code = compile(ast.Expression(last.value), str(path), "eval")
            value = eval(code, namespace)
            if value is not None:
                print(repr(value))
    except BrokenPipeError:  # python -m lessons run 0 | head: no fault of the lesson's
        raise
    except (Exception, SystemExit) as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__)
                 if f.filename == str(path)]  # fmt: skip
        line = lines[-1] if lines else getattr(error, "lineno", None) or cell.line
        where = f"{path.parent.name}/lesson.py:{line}"
        raise LessonError(f"{where}: {type(error).__name__}: {error}") from error


def _failed(error):
    print(error, file=sys.stderr)
    return 1

"""Weave lessons into pages, and check that the pages are fresh.

run 5                 print what it prints; figures go to the learner's folder
dev weave 5           write README.md and figures/ beside lesson.py
dev weave 5 --check   run it again and compare the text
"""

import pathlib
import re
import sys
import time
from dataclasses import dataclass

from ..classroom.catalogue import (
    BOOK, ROOT, find_lessons, first_lines, lesson_folders, number,
)  # fmt: skip
from . import blocks, claims
from .cells import (
    CODE,
    LINK,
    LessonError,
    headings,
    outside_fences,
    place,
    read_cells,
    run_cells,
    source,
)
from .figures import Gallery, readers_figures
from .reading import for_the_reader, title

FIGURE = re.compile(r"^!\[.+\]\(figures/(.+)\.svg\)$", re.M)
DECIMAL = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def run(args):
    """Run lessons: the verb ``run``."""
    return for_the_reader("run", args.lesson, _run)


def weave(args, book=BOOK):
    """Write the pages of lessons, or compare them: the verb ``dev weave``."""
    folders = [f for name in args.lesson for f in find_lessons(name, book)]
    folders = dict.fromkeys(folders or lesson_folders(book))
    return max([_weave(folder, args.check) for folder in folders])


def _run(folder):
    try:
        cells = read_cells(folder)
        print(f"\n{title(folder)}\n")
        run_cells(cells, folder, Gallery(readers_figures(folder)), capture=False)
    except LessonError as error:
        return _print_error(error)
    return 0


@dataclass
class Woven:
    """A lesson that was run: its page, its pictures by name, and its claims."""

    folder: pathlib.Path
    text: str
    pictures: dict
    claims: list

    @property
    def figures(self):
        """The names of all its figures, also of those that no code draws."""
        return set(FIGURE.findall(self.text))


def weave_lesson(folder, draw=True):
    """Run a lesson and return its ``Woven`` page. Raises LessonError."""
    gallery = Gallery(draw=draw)
    text = page(run_cells(read_cells(folder), folder, gallery), folder)
    check_links(text, folder, {f"{name}.svg" for name in gallery.pictures})
    return Woven(folder, text, gallery.pictures, list(claims.CLAIMS))


def check_links(text, folder, figures):
    """Raise LessonError for a link of a finished page that leads nowhere.

    figures   the file names of figures that are still to be written
    """
    path = folder / "README.md"
    for k, line in outside_fences(text, 1, path):
        for target in LINK.findall(CODE.sub("", line)):
            if re.match(r"[a-z]+:", target):
                continue
            if target.startswith("figures/") and target[8:] in figures:
                continue
            file, _, anchor = target.partition("#")
            file = (folder / file).resolve() if file else path
            roots = ROOT, folder.resolve().parents[2]  # of a copy of the project
            fault = _broken(file, anchor, text if file == path else None)
            if not any(map(file.is_relative_to, roots)):
                fault = "it leaves the project"
            if fault:
                raise LessonError(
                    f"{path}:{k}: the link to {target} leads nowhere: {fault}."
                )


def differences(fresh):
    """Return sentences on what differs between a fresh run and the files kept."""
    folder, found = fresh.folder, []
    then = _text(folder / "README.md").splitlines()
    now = fresh.text.splitlines()
    in_code, heading = False, ""
    for k, (a, b) in enumerate(zip(then + ["(end)"], now + ["(end)"]), 1):
        same = a == b if in_code else same_text(a, b)
        if not same:
            where = f"README.md, line {k}, under {heading!r}"
            found.append(f"{where}\n    kept  {a}\n    now   {b}")
            break
        if a.startswith("```"):
            in_code = a == "```python"
        elif a.startswith("#") and not in_code:
            heading = a.lstrip("# ")
    kept = claims.read(folder.parent).get(number(folder), [])
    kept, now = ("\n".join(map(str, rows)) for rows in (kept, fresh.claims))
    if not same_text(kept, now):
        found.append(f"its claims in {claims.FILE} are others")
    files = {path.stem for path in (folder / "figures").glob("*.svg")}
    found += [f"figures/{name}.svg is missing" for name in fresh.figures - files]
    found += [f"figures/{name}.svg is unused" for name in files - fresh.figures]
    return found


def same_text(a, b):
    """Return whether two lines are equal, up to the last digit of decimal numbers."""
    if a == b:
        return True
    if DECIMAL.sub("0", a).split() != DECIMAL.sub("0", b).split():
        return False
    return all(map(_same_number, DECIMAL.findall(a), DECIMAL.findall(b)))


def _same_number(a, b):
    (x, _, power), (y, _, other_power) = a.partition("e"), b.partition("e")
    decimals = len(x.partition(".")[2])
    if not decimals or decimals != len(y.partition(".")[2]) or power != other_power:
        return a == b
    return abs(float(x) - float(y)) < 1.5 * 10.0**-decimals


def page(performed, folder):
    """Return the Markdown of a lesson.

    performed   [(cell, text, pictures)]: evaluated prose, or what the code printed and
                drew
    """
    head = (
        "<!-- woven from lesson.py; edit that file, then: python -m lessons dev weave "
        f"{number(folder)} -->"
    )
    parts = [head, first_lines(folder)]
    for cell, text, pictures in performed:
        if cell.kind == "markdown":
            parts.append(text)
        elif cell.kind == "claims":
            if parts[-1].rpartition("\n")[2].startswith("> "):  # a box
                parts[-1] += f"\n>\n> {text}"
        elif cell.kind == "source":
            parts.append(_source_with_link(cell, folder))
        elif cell.kind == "code":
            parts.append(fence(cell.text, "python"))
        elif cell.kind == "folded":
            parts.append(_folded_code(cell, "cell"))
        if cell.kind not in ("markdown", "claims") and text:
            parts.append(fence(text.rstrip("\n"), "text"))
        parts += [_figure_with_caption(picture) for picture in pictures]
        if cell.kind == "figure":
            parts.append(_folded_code(cell, "figure"))
    parts.append(
        "---\n\n[The script of this page](lesson.py) runs as it is: "
        f"`python -m lessons run {number(folder).removeprefix('0')}`. "
        "[All lessons](../../README.md)."
    )
    return folded("\n\n".join(parts[:-1])) + f"\n\n{parts[-1]}\n"


def folded(text):
    """Return a page whose sections ``## Further: …`` are folded."""
    titles = {k: x[3:] for k, x in outside_fences(text) if x.startswith("## ")}
    lines, is_open = [], False
    for k, line in enumerate(text.splitlines(), 1):
        if k in titles:
            lines += ["</details>", ""] * is_open
            is_open = titles[k].startswith("Further: ")
            if is_open:
                if re.search(r"[`$*\[<&]", line):
                    raise LessonError(f"{line!r}: such a title is plain words.")
                line = f"<details><summary>{titles[k]}</summary>"
                line += f'<a id="{blocks.anchor(titles[k])}"></a>'
        lines.append(line)
    return "\n".join(lines + ["", "</details>"] * is_open)


def _folded_code(cell, of):
    summary = f"<details><summary>The code of this {of}</summary>"
    return f"{summary}\n\n{fence(cell.text, 'python')}\n\n</details>"


def fence(text, language):
    """Return ``text`` in a fence that it does not contain."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    return f"{ticks}{language}\n{text}\n{ticks}"


def _source_with_link(cell, folder):
    found = source(cell.name, place(folder, cell.line - 1))
    # a page stands in lessons/book/NN_name
    link = f"../../../{found.path}#L{found.first}-L{found.last}"
    words = f"`{cell.name}`, from [{found.path}]({link}):"
    return f"{words}\n\n{fence(found.text, 'python')}"


def _figure_with_caption(picture):
    title = re.sub(r"[\[\]\s]+", " ", picture.title)
    special = r"[\\`*$]|<(?=[A-Za-z/!])"  # characters that Markdown would read
    caption = re.sub(special, r"\\\g<0>", picture.caption)
    return f"![{title}](figures/{picture.name}.svg)\n\n*{caption}*"


def _weave(folder, check):
    start = time.perf_counter()
    try:
        fresh = weave_lesson(folder, draw=not check)
    except LessonError as error:
        return _print_error(error)
    stale = differences(fresh) if check else []
    if not check:
        _write(fresh)
    state = "stale" if stale else "fresh" if check else "written"
    print(f"{folder.name}: {state} ({time.perf_counter() - start:.1f} s)")
    for sentence in stale:
        print(f"  {sentence}")
    if stale:
        print(f"next: python -m lessons dev weave {number(folder)}")
    return int(bool(stale))


def _write(fresh):
    target = fresh.folder / "figures"
    target.mkdir(exist_ok=True)
    for path in target.glob("*.svg"):
        if path.stem not in fresh.figures:
            path.unlink()
    for name, picture in fresh.pictures.items():
        (target / f"{name}.svg").write_bytes(picture.svg)
    (fresh.folder / "README.md").write_text(fresh.text, encoding="utf-8")
    claims.write(number(fresh.folder), fresh.claims, fresh.folder.parent)


def _broken(file, anchor, text):
    """Return what is wrong with a link to ``anchor`` in ``file``, or None."""
    if text is None and not file.exists():
        return "there is no such file"
    if not anchor:
        return None
    text = file.read_text(encoding="utf-8") if text is None else text
    if re.fullmatch(r"L\d+(-L\d+)?", anchor):
        last = int(anchor.rpartition("L")[2])
        long_enough = last <= len(text.splitlines())
        return None if long_enough else "the file has fewer lines"
    there = anchor in [blocks.anchor(words) for _, words in headings(text)]
    return None if there else "there is no such heading"


def _text(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _print_error(error):
    print(error, file=sys.stderr)
    return 1

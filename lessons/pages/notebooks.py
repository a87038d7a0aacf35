"""The lessons as Jupyter notebooks, made from their woven pages.

    python -m lessons notebooks [DIR]

The prose has its computed numbers, and each code cell has its output and its figures,
so that a notebook can be read before it is run. At its end are the exercises, each a
cell that is checked when it is run (``lessons/jupyter.py``).
"""

import json
import re
import shutil

from attention.app.files import free_path

from ..classroom.catalogue import LESSONS, exercises_of, lesson_folders, work_folder
from ..classroom.terminal import display_path, say
from .blocks import SPAN, unfolded
from .figures import as_outputs
from .frames import still

PART = re.compile(
    r"^(?P<ticks>```+)(?P<language>python|text)\n(?P<code>.*?)\n(?P=ticks)$"
    r"|^!\[(?P<alt>[^\n]*)\]\((?P<file>\S+)\)$(?:\n\n\*(?P<caption>[^*\n].*?)\*$)?"
    r"|^(?P<fold></?details>[^\n]*)$"
    r"|^<!--.*?-->$",
    re.M | re.S,
)
HEADING = re.compile(r"^(## Further: .*)\n*", re.M)
IMPORTS = re.compile(r"((?:import|from) .*\n)+(?=\n)")  # above other code
SOURCE = re.compile(r"`[\w.]+`, from \[.*\]\(.*\):$")
FIRST = """import os

# If Python does not find the course, on a hosted notebook for example:
# %pip install -q FOLDER-OR-ADDRESS-OF-THE-COURSE
import lessons

os.environ["ATTENTION_BACKEND"] = "numpy"  # to compile takes longer than it saves"""
EXERCISES = """## Exercises

Each time you open the notebook, first run the next cell, which is folded. Then fill in
a cell below it and run it: it is saved as your answer, and checked. `%hint` in a cell
shows a hint, `%lessons` your progress, and View > Show Line Numbers the numbers that a
report names."""
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebooks(args):
    """Write the notebooks and the pages of terms: the verb ``notebooks``."""
    target = (args.folder or work_folder() / "notebooks").absolute()
    target.mkdir(parents=True, exist_ok=True)
    folders = lesson_folders()
    kept = []
    for folder in folders:
        text = json.dumps(notebook(folder), ensure_ascii=False, indent=1) + "\n"
        path = target / f"{folder.name}.ipynb"
        if path.exists() and path.read_text(encoding="utf-8") != text:
            kept.append(path.rename(free_path(path)).name)  # a reader has written in it
        path.write_text(text, encoding="utf-8")
    for name in "GLOSSARY.md", "MEASURES.md":
        text = as_jupyter((LESSONS / name).read_text(encoding="utf-8"))
        (target / name).write_text(text, encoding="utf-8")
    shutil.copytree(LESSONS / "figures", target / "figures", dirs_exist_ok=True)
    print(f"{len(folders)} notebooks: {display_path(target)}")
    if kept:
        say(f"Those that were different are kept: {', '.join(kept)}.")
    return 0


def notebook(folder):
    """Return the notebook of a lesson, the object that its JSON contains."""
    text = (folder / "README.md").read_text(encoding="utf-8").partition("\n---\n")[0]
    text, cells, outputs, fold, start = unfolded(text), [_code(FIRST, "imports")], [], "", 0
    for part in [*PART.finditer(text), None]:
        prose = text[start : part.start() if part else None].strip()
        start = part.end() if part else 0
        if prose or part is None:
            _add_outputs(cells, outputs)
        for piece in filter(None, HEADING.split(prose)):
            cells.append(_cell("markdown", as_jupyter(piece)))
            if HEADING.match(piece):
                cells[-1]["metadata"]["jp-MarkdownHeadingCollapsed"] = True
        if part is None:
            break
        if part["fold"]:
            fold = part["fold"].removeprefix("</details>")
        elif part["file"]:
            outputs += _picture(folder / part["file"], part["caption"] or part["alt"])
        elif part["language"] == "text":
            printed = {"output_type": "stream", "name": "stdout"}
            outputs.append(printed | {"text": part["code"] + "\n"})
            if not prose:  # it stands below the code that printed it
                _add_outputs(cells, outputs)
        elif SOURCE.search(prose):
            cells[-1]["source"] += "\n\n" + part[0]
        elif part["language"]:
            if "figure" not in fold:  # the outputs so far are those of the cell above
                _add_outputs(cells, outputs)
            code = part["code"]
            if not fold and (imports := IMPORTS.match(code)):
                cells.append(_code(imports[0].rstrip(), "imports"))
                code = code[imports.end() :].lstrip()
            cells.append(_code(code, fold))
            _add_outputs(cells, outputs)
    if found := exercises_of(folder):
        cells += [_cell("markdown", EXERCISES), _code("%load_ext lessons", "imports")]
        cells += [_code(f"%%exercise {e.id}\n{e.stub_text.rstrip()}") for e in found]
    for k, cell in enumerate(cells):
        cell["id"] = f"cell-{k}"
    kernel = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def as_jupyter(text):
    """Return prose with formulas, links and commands as Jupyter has them.

    Links lead to other notebooks and to the glossary; of others the words are kept.
    """
    text = re.sub(r"python -m lessons start\s", "%exercise ", text)
    text = re.sub(r"^```math\n(.*?)\n```$", r"$$\n\1\n$$", text, flags=re.M | re.S)
    paragraphs = text.split("\n\n")
    return "\n\n".join(p if p[:2] == "$$" else SPAN.sub(_span, p) for p in paragraphs)


def _span(found):
    """Return the text of a span, from a match of SPAN."""
    inner = found["bold"] or found["italic"]
    if found["fenced"]:
        return f"${found['fenced']}$"
    if inner:
        return found[0].replace(inner, SPAN.sub(_span, inner))
    if not found["target"]:
        return found[0]
    target = re.sub(r".*?(\w+)/README\.md.*", r"\1.ipynb", found["target"])
    target = re.sub(r".*((GLOSSARY|MEASURES)\.md)", r"\1", target)
    leads = re.search(r"\.ipynb$|^(GLOSSARY|MEASURES)\.md|^https?:", target)
    return f"[{found['words']}]({target})" if leads else found["words"]


def _cell(kind, text):
    return {"cell_type": kind, "metadata": {}, "source": text}


def _code(text, fold=""):
    """Return a cell of code; ``fold``: what is folded, or "" to show it."""
    cell = _cell("code", text) | {"execution_count": None, "outputs": []}
    if fold:
        cell["metadata"]["jupyter"] = {"source_hidden": True}
    return cell


def _add_outputs(cells, outputs):
    """Move outputs to the last cell; prose holds a figure as an attachment."""
    if outputs and cells[-1]["cell_type"] == "markdown":
        picture, caption = (each["data"] for each in outputs)
        cells[-1]["attachments"] = {"figure.png": {"image/png": picture["image/png"]}}
        lines = "", "![](attachment:figure.png)", caption["text/markdown"]
        cells[-1]["source"] += "\n\n".join(lines)
    elif outputs:
        cells[-1]["outputs"] += outputs
    outputs.clear()


def _picture(path, caption):
    """Return the outputs that ``show`` leaves in a notebook: a figure, its caption."""
    parts = as_outputs(still(path.read_text(encoding="utf-8")), caption)
    shown = {"output_type": "display_data", "metadata": {}}
    return [shown | {"data": data} for data in parts]

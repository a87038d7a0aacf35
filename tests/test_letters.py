"""Every letter of a docstring has a meaning that its reader finds.

A letter is a name of one character, such as L, W_q or h', and in a shape also one of
two, such as Dq. Its meaning stands in the docstring, in that of its class or module, or
in the tables of ``help(minigrad)`` and ``help(attention)``; a parameter has its own.
``MEANINGS`` has the forms of a meaning. A size in a shape is no equation or index: it
is named in words or in a legend.
"""

import ast
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ("minigrad", "attention")
# of s_ij, W_q, f^t_j, h' and h~
INDEX = r"(?:_(?:\{[^}]*\}|\([^)]*\)|\w+)|\^[a-z](?![a-z])|['~^])*"
LETTER = re.compile(rf"(?<![\w.'^\"/-])([A-Za-z]){INDEX}(?![\w'\"-])")
AXIS = r"[A-Za-z\d. ]+(?:[-+*|/] ?[A-Za-z\d. ]+)*"
SHAPE = re.compile(rf"(?<!\w)\(((?:\.\.\.|{AXIS})?(?:, ?(?:{AXIS})?)*)\)")
NOT_LETTERS = re.compile(
    r"``.*?``s?|\"[^\"]*\"|'[^' ]*'|\bO\(|\b[CO] (?:library|order)|e\.g\.|et al\."
)
ARTICLE = re.compile(r"[aA] (?=[\w`*(])|[aA]$")

NAMES = r"[\w~'^.]+(?: \([^)]*\))?"  # names in a list, some with a shape
NO_NOUN = """a all also and any are as at between both but by each every exp for from
has have if in into is its its like ln log max min minus not of on only or over per plus
Return sigmoid softmax sqrt sum tanh than that the then times to use via where with"""
MEANINGS = {
    "legend": rf"(?m)^\s*(?:{NAMES}(?:,| and) )*X(?: \([^)]*\))?(?:(?:,| and) {NAMES})*"
              r" {2,}\S",
    "noun": rf"\b(?!(?:{'|'.join(NO_NOUN.split())})\b)[a-z-]+ "
            rf"(?:\w{INDEX}(?:,| and| or) )*X",
    "plural": r"\bX (?!(?:is|has|was|does|stands|gives|lies)\b)[a-z-]{2,}s\b",
    "is": r"X (?:is|are|has|have|means|counts) |X,? (?:the|a|an) ",
    "result": rf"->  ?(?:{NAMES},? (?:and )?)*X ?\(",
    "equation": rf"X(?: ?\([^)]*\))?(?:, \w{INDEX})* ?(?:=|<-|:=)",
    "index": r"(?:sum|max|mean|min)_\{?\w*@",
}  # fmt: skip


def docstrings():
    """Yield (place, docstring, docstrings around it, names of parameters)."""
    for path in sorted(p for each in PACKAGES for p in (ROOT / each).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        around = ast.get_docstring(tree) or ""
        yield from _inside(tree, path.relative_to(ROOT).as_posix(), around, [])


def _inside(node, place, around, names):
    for each in node.body:
        if not isinstance(each, ast.FunctionDef | ast.ClassDef) or each.name[0] == "_":
            continue
        text = ast.get_docstring(each) or ""
        inits = [f for f in each.body if getattr(f, "name", "") == "__init__"]
        fields = [f.target.id for f in each.body if isinstance(f, ast.AnnAssign)]
        functions = [each] if isinstance(each, ast.FunctionDef) else inits
        every = [a for f in functions for a in ast.walk(f.args)]
        own = [a.arg for a in every if isinstance(a, ast.arg)]
        where = f"{place}:{each.lineno} {each.name}"
        yield where, text, around, [*names, *own, *fields]
        if isinstance(each, ast.ClassDef):
            yield from _inside(each, place, f"{around}\n{text}", [*own, *fields])


def letters(text):
    """Return {(letter, whether it is a size): a line that has it}."""
    found = {}
    for line in text.splitlines():
        line = NOT_LETTERS.sub(" ", line)
        for shape in SHAPE.findall(line) if "(" in line else ():
            if "," in shape and not re.search(r"\d{4}|/|\beq\b|\bif\b", shape):
                shape = re.sub(r"[a-z_]+\.\w+|\w{3,}", " ", shape)
                shape = re.sub(r"([A-Z])([A-Z])", r"\1 \2", shape)
                for size in re.findall(r"[A-Za-z]+", shape):
                    found.setdefault((size, True), line)
        for match in LETTER.finditer(line):
            if not ARTICLE.match(line, match.start()):
                found.setdefault((match[1], False), line)
    return found


@functools.cache
def patterns(letter):
    x = rf"(?<![\w.'^]){letter}{INDEX}(?!\w)"
    return {kind: re.compile(form.replace("X", x).replace("@", letter))
            for kind, form in MEANINGS.items()}  # fmt: skip


def has_meaning(letter, is_size, text):
    flat = " ".join(text.split())
    return any(
        form.search(text if kind == "legend" else flat)
        for kind, form in patterns(letter).items()
        if not is_size or kind not in ("equation", "index")
    )


def test_a_mention_is_no_meaning():
    assert {("W", False), ("Q", True)} <= set(letters("W_q x + a word, z (B, Q)"))
    for text in "of width Q", "Q queries", "L, Q  sizes", "where Q is odd", "-> Q (B,)":
        assert has_meaning("Q", False, text), text
    assert has_meaning("Q", False, "Q = 2 B") and not has_meaning("Q", True, "Q = 2 B")
    for text in "x (B, Q)", "sum over Q", "Q x + b", "Q-th", "and Q", "Qs":
        assert not has_meaning("Q", False, text), text


def test_every_letter_of_a_docstring_has_a_meaning():
    tables = [ast.get_docstring(ast.parse((ROOT / each / "__init__.py").read_text()))
              for each in PACKAGES]  # fmt: skip
    found = []
    for place, text, around, names in docstrings():
        every = "\n".join([text, around, *tables])
        firsts = {name.partition("_")[0] for name in names}
        for (letter, is_size), line in letters(text).items():
            if letter not in firsts and not has_meaning(letter, is_size, every):
                found.append(f"{place}: {letter} in {line.strip()}")
    advice = "Say what these letters mean (MEANINGS has the forms that are found):"
    assert not found, "\n".join([advice, *found])

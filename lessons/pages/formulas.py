"""Formulas of the pages, read from LaTeX and written as MathML or as plain text.

The book uses a small part of LaTeX: scripts, fractions, roots, sums, accents, brackets,
matrices and aligned lines. A formula is read into nodes, and each form writes these.
"""

import html
import re
from dataclasses import dataclass
from math import ceil

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|\d+(?:\.\d+)?|.", re.S)
SYMBOLS = {
    "letter": r"""
        alpha α beta β gamma γ delta δ varepsilon ε eta η theta θ kappa κ lambda λ mu μ
        nu ν pi π rho ρ sigma σ tau τ phi ϕ chi χ psi ψ omega ω Delta Δ Theta Θ Lambda Λ
        Sigma Σ Phi Φ Omega Ω partial ∂ infty ∞ ell ℓ top ⊤ nabla ∇ dots … ldots …""",
    "operator": r"""
        cdot · times × odot ⊙ pm ± le ≤ ge ≥ ne ≠ approx ≈ sim ∼ propto ∝ in ∈ notin ∉
        cap ∩ cup ∪ subset ⊂ to → leftarrow ← rightarrow → mapsto ↦ ll ≪ gg ≫ circ ∘
        Longrightarrow ⟹ Longleftrightarrow ⟺ Rightarrow ⇒ mid ∣ - − * ∗ + + = = < < > >
        , , ; ; : : / / ! ! . .""",
    "open": r"( ( [ [ lfloor ⌊ lceil ⌈ langle ⟨ lvert | { {",
    "close": r") ) ] ] rfloor ⌋ rceil ⌉ rangle ⟩ rvert | } }",
    "bar": r"| |",
    "large": r"sum ∑ prod ∏ int ∫",
    "function": r"""
        exp exp ln ln log log sin sin cos cos tanh tanh max max min min argmax argmax
        argmin argmin lim lim""",
}
KNOWN = {
    name: (kind, text)
    for kind, names in SYMBOLS.items()
    for name, text in zip(*[iter(names.split())] * 2)
}
SPACES = {",": 0.17, ";": 0.28, " ": 0.25, "quad": 1.0, "qquad": 2.0, "!": 0.0}
ACCENTS = {"tilde": "~", "hat": "^", "bar": "¯"}
COMBINING = {"~": "\u0303", "^": "\u0302", "¯": "\u0304"}
PAIRS = {"left": "right", "big": "big", "Big": "Big", "bigg": "bigg", "Bigg": "Bigg"}
WORDS = ("mathrm", "text", "operatorname")
TABLES = {"pmatrix": "()", "bmatrix": "[]", "aligned": ""}  # with their brackets
UPRIGHT = "ΔΘΛΣΦΩ∂∞⊤∇…"
OPERATES = ("operator", "open", "space")  # a sign after these has one operand
OPERATION = re.compile(r"[ +−/·×=,]")
RELATIONS = "=<>≤≥≈→←+−"  # a long formula in a line is divided before them
UNDIVIDED = 24  # characters of the longest formula that stays whole in a line
SUPERSCRIPTS = dict(zip("0123456789−+⊤", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀ"))


class FormulaError(ValueError):
    """A formula contains something that this module does not read."""


@dataclass
class Node:
    """A part of a formula.

    kind    a key of SYMBOLS, "upright" (of a letter), "number", "words", "space", "gap"
            (of the source), "tab";
            with parts: "row", "fraction", "root", "scripts", "accent", "fenced", "table"
    text    its character or word; of a table the name of the environment
    parts   nodes; of scripts the base, the lower and the upper one or None; of a table
            its rows
    size    of a space, in em
    """

    kind: str
    text: str = ""
    parts: tuple = ()
    size: float = 0.0


def read(formula):
    """Return the row of nodes of a formula. Raises FormulaError."""
    reader = _Reader(formula)
    row = reader.row()
    if reader.tokens:
        reader.fail(f"{reader.tokens[0]} without a beginning")
    return row


def as_mathml(formula, display=False):
    """Return a formula as MathML; a display has an element for each equation."""
    row = read(formula)
    if not display:
        return inline(row)
    equations = [[]]  # spaces of an em or more divide them
    for node in row.parts:
        if node.size >= 1:
            equations.append([])
        else:
            equations[-1].append(node)
    rows = (_mathml(Node("row", parts=tuple(nodes))) for nodes in equations if nodes)
    return "".join(f'<math display="block">{row}</math>' for row in rows)


def inline(row):
    """Return the MathML of a row in a line, which may be divided before a relation."""
    if len(_text(row)) <= UNDIVIDED:
        return f"<math>{_mathml(row)}</math>"
    parts = [[]]
    for node in row.parts:
        if node.kind == "operator" and node.text in RELATIONS and parts[-1]:
            parts.append([])
        parts[-1].append(node)
        if node.kind == "operator" and node.text == ",":
            parts.append([])
    rows = [_mathml(Node("row", parts=tuple(nodes))) for nodes in parts if nodes]
    return "\u200b".join(f"<math>{row}</math>" for row in rows)


def as_text(formula):
    """Return a formula as characters that a terminal has; it may have several lines."""
    lines = _text(read(formula)).split("\n")
    return "\n".join(re.sub(r"(?<=\S)  (?=\S)", " ", x).strip() for x in lines)


class _Reader:
    """Read tokens from the left; each method removes what it returns as a node."""

    def __init__(self, formula):
        self.formula, self.tokens = formula, TOKEN.findall(formula)

    def fail(self, what):
        raise FormulaError(f"{what}, in the formula {self.formula}")

    def row(self, ends=()):
        """Return the row up to a token that ends it, which stays."""
        nodes, ends = [], {"}", r"\right", r"\end", r"\\", *ends}
        while self.tokens and self.tokens[0] not in ends:
            if self.tokens[0] in "_^'":
                nodes.append(self.scripts(nodes.pop() if nodes else Node("row")))
            else:
                nodes.append(self.node())
        return Node("row", parts=tuple(nodes))

    def scripts(self, base):
        found = {"_": None, "^": None}
        while self.tokens and self.tokens[0] in "_^'":
            mark = self.tokens.pop(0)
            if mark == "'":
                base = Node("row", parts=(base, Node("operator", "′")))
            else:
                found[mark] = self.argument()
        scripted = any(found.values())
        return Node("scripts", parts=(base, *found.values())) if scripted else base

    def argument(self):
        """Return the argument of a command: a group in braces, or one node."""
        self.skip_gap()
        if not self.tokens or self.tokens[0] == "}":
            self.fail("an argument is missing")
        return self.node()

    def skip_gap(self):
        while self.tokens and self.tokens[0].isspace():
            del self.tokens[0]

    def expect(self, token):
        if not self.tokens or self.tokens.pop(0) != token:
            self.fail(f"{token} is missing")

    def words(self):
        """Return the text of a group in braces, as it stands."""
        self.skip_gap()
        self.expect("{")
        words = ""
        while self.tokens and self.tokens[0] != "}":
            words += self.tokens.pop(0)
        self.expect("}")
        return words

    def node(self):
        token = self.tokens.pop(0)
        if token == "{":
            row = self.row()
            self.expect("}")
            return row.parts[0] if len(row.parts) == 1 else row
        if token[0] == "\\":
            return self.command(token[1:])
        if token in KNOWN and not token.isalpha():
            return Node(*KNOWN[token])
        if token.isspace():
            return Node("gap", " ")
        if token[0].isdigit():
            return Node("number", token)
        if token == "&":
            return Node("tab")
        if not token.isalpha():
            self.fail(f"the character {token}")
        return Node("letter", token)

    def command(self, name):
        if name == "|":
            return Node("bar", "‖")
        if name in KNOWN and (name.isalpha() or name in "{}"):
            if name == "partial":
                self.skip_gap()
            return Node(*KNOWN[name])
        if name in SPACES:
            return Node("space", " " * ceil(2 * SPACES[name]), size=SPACES[name])
        if name in ACCENTS:
            return Node("accent", ACCENTS[name], (self.argument(),))
        if name in WORDS:
            return Node("words", self.words())
        if name == "frac":
            return Node("fraction", parts=(self.argument(), self.argument()))
        if name == "sqrt":
            return Node("root", parts=(self.argument(),))
        if name in PAIRS:
            return self.fenced("\\" + PAIRS[name])
        if name == "begin":
            return self.table()
        self.fail(f"the command \\{name}")

    def fenced(self, end):
        """Return a row between two brackets, which are as high as the row."""
        first = self.argument()
        inner = self.row(ends=(end,))
        self.expect(end)
        return Node("fenced", parts=(first, inner, self.argument()))

    def table(self):
        name, rows = self.words(), []
        if name not in TABLES:
            self.fail(f"the environment {name}")
        while not rows or self.tokens[:1] == [r"\\"]:
            del self.tokens[: bool(rows)]
            rows.append(_cells(self.row()))
        self.expect(r"\end")
        if self.words() != name:
            self.fail(f"the end of {name} is missing")
        table = Node("table", name, tuple(rows))
        if not TABLES[name]:
            return table
        first, last = TABLES[name]
        return Node("fenced", parts=(Node("open", first), table, Node("close", last)))


def _cells(row):
    """Divide a row at its tabs."""
    cells = [[]]
    for node in row.parts:
        if node.kind == "tab":
            cells.append([])
        else:
            cells[-1].append(node)
    return [Node("row", parts=tuple(cell)) for cell in cells]


def _mathml(node, before=None, after=None):
    """Return the MathML of a node between its neighbours in a row, or None."""
    text, parts = html.escape(node.text), node.parts
    match node.kind:
        case "row":
            shown = [None, *(p for p in parts if p.kind != "gap"), None]
            around = zip(shown, shown[1:], shown[2:])
            return f"<mrow>{''.join(_mathml(p, a, b) for a, p, b in around)}</mrow>"
        case "letter":
            upright = ' mathvariant="normal"' if text in UPRIGHT else ""
            return f"<mi{upright}>{text}</mi>"
        case "upright":
            return f'<mi mathvariant="normal">{text}</mi>'
        case "number":
            return f"<mn>{text}</mn>"
        case "words":
            return f"<mtext>{text.replace(' ', chr(160))}</mtext>"
        case "operator":
            is_sign = text in "−+±" and (before is None or before.kind in OPERATES)
            form = ' form="prefix"' if is_sign else ""
            tight = ' lspace="0" rspace="0"' if text in "/.!′" else ""
            return f"<mo{form}{tight}>{text}</mo>"
        case "function":
            left = "0" if before is None or before.kind in OPERATES else ".17em"
            right = (
                "0" if after is None or after.kind in ("open", "fenced") else ".17em"
            )
            space = f'lspace="{left}" rspace="{right}"'
            return f'<mo {space} movablelimits="true">{text}</mo>'
        case "large":
            return f"<mo>{text}</mo>"
        case "open" | "close" | "bar":
            form = "postfix" if node.kind == "close" else "prefix"
            style = 'stretchy="false" lspace="0" rspace="0"'
            return f'<mo form="{form}" {style}>{text}</mo>'
        case "space":
            return f'<mspace width="{node.size}em"></mspace>'
        case "fraction":
            return f"<mfrac>{_mathml(parts[0])}{_mathml(parts[1])}</mfrac>"
        case "root":
            return f"<msqrt>{_mathml(parts[0])}</msqrt>"
        case "accent":
            mark = f'<mo stretchy="false">{text}</mo>'
            return f'<mover accent="true">{_mathml(parts[0])}{mark}</mover>'
        case "scripts":
            base, lower, upper = parts
            below = base.kind in ("large", "function") and base.text != "log"
            tags = "munder mover munderover" if below else "msub msup msubsup"
            tag = tags.split()[2 if lower and upper else 0 if lower else 1]
            return f"<{tag}>{''.join(_mathml(p) for p in parts if p)}</{tag}>"
        case "fenced":
            first, inner, last = parts
            inner = f"<mo>{first.text}</mo>{_mathml(inner)}<mo>{last.text}</mo>"
            return f"<mrow>{inner}</mrow>"
        case "table":
            rows = ("".join(f"<mtd>{_mathml(x)}</mtd>" for x in row) for row in parts)
            rows = "".join(f"<mtr>{row}</mtr>" for row in rows)
            return f'<mtable class="{text}">{rows}</mtable>'
    return ""


def _text(node):
    """Return the characters of a node; spaces are those of the source."""
    match node.kind:
        case "row" | "fenced":
            return "".join(map(_text, node.parts))
        case "fraction":
            above, below = map(_text, node.parts)
            above = f"({above})" if _is_operation(above) else above
            is_one = node.parts[1].kind != "row" or re.fullmatch(r"[d∂]\w+", below)
            return f"{above}/{below if is_one else f'({below})'}"
        case "root":
            text = _text(node.parts[0])
            return f"√({text})" if node.parts[0].kind == "row" else f"√{text}"
        case "accent":
            return _text(node.parts[0]) + COMBINING[node.text]
        case "scripts":
            base, low, high = (_text(p).strip() if p else "" for p in node.parts)
            low = low and (f"_{low}" if low.isalnum() else f"_{{{low}}}")
            if set(high) <= SUPERSCRIPTS.keys():
                high = "".join(map(SUPERSCRIPTS.get, high))
            else:
                high = f"^{high}" if re.fullmatch(r"\w", high) else f"^({high})"
            return base + low + high
        case "table":
            rows = [[_text(cell).strip() for cell in row] for row in node.parts]
            if node.text != "aligned":
                return "; ".join(", ".join(row) for row in rows)
            sides = [zip(row[::2], row[1::2]) for row in rows]  # left and right of a =
            return "\n".join("    ".join(map(" ".join, row)) for row in sides)
    return node.text


def _is_operation(text):
    """Return whether a text has an operator or a space outside brackets."""
    inner = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}")
    while inner.search(text):
        text = inner.sub("", text)
    return bool(OPERATION.search(text))

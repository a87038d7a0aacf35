"""Formulas of the pages, read from LaTeX and written as MathML or as plain text.

The book uses a small part of LaTeX: scripts, fractions, roots, sums, accents, brackets
of several sizes, matrices and aligned lines. A formula is read into nodes once, and
each form writes the nodes. What this module does not know raises FormulaError.
"""

import html
import re
from dataclasses import dataclass
from math import ceil

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|\d+(?:\.\d+)?|.", re.S)
LETTERS = dict(
    zip(
        "alpha beta gamma delta varepsilon epsilon eta theta kappa lambda mu nu pi rho "
        "sigma tau phi varphi chi psi omega Delta Theta Lambda Sigma Phi Omega partial "
        "infty ell top nabla".split(),
        "αβγδεϵηθκλμνπρστϕφχψωΔΘΛΣΦΩ∂∞ℓ⊤∇",
    )
)
OPERATORS = dict(
    zip(
        "cdot times odot pm le ge ne approx equiv sim propto in notin cap cup subset to "
        "leftarrow rightarrow mapsto Longrightarrow Rightarrow mid ll gg circ oplus "
        "leq geq neq".split(),
        "·×⊙±≤≥≠≈≡∼∝∈∉∩∪⊂→←→↦⟹⇒∣≪≫∘⊕≤≥≠",
    )
)
FENCES = {"lvert": "|", "rvert": "|", "|": "‖", "{": "{", "}": "}"} | dict(
    zip("lfloor rfloor lceil rceil langle rangle".split(), "⌊⌋⌈⌉⟨⟩")
)
LARGE = {"sum": "∑", "prod": "∏", "int": "∫"}
FUNCTIONS = "exp ln log sin cos tanh tan max min det dim lim argmax argmin Pr".split()
DOTS = {"dots": "…", "ldots": "…", "cdots": "⋯", "vdots": "⋮"}
SPACES = {",": 0.17, ";": 0.28, " ": 0.25, "quad": 1.0, "qquad": 2.0, "!": 0.0}
ACCENTS = {"tilde": "~", "hat": "^", "bar": "¯", "vec": "→", "dot": "˙"}
COMBINING = dict(zip("~^¯→˙", "\u0303\u0302\u0304\u20d7\u0307"))
PAIRS = {"left": "right"} | {size: size for size in ("big", "Big", "bigg", "Bigg")}
WORDS = ("mathrm", "text", "operatorname", "mathbf", "textbf")
UPRIGHT = "ΔΘΛΣΦΩ∂∞⊤∇"
BEFORE_FUNCTION = ("letter", "number", "scripts", "close", "fraction", "fenced")
LIMITS = ("max", "min", "lim", "argmax", "argmin")
OPERATION = re.compile(r"[ +−/·×=,]")
SUPERSCRIPTS = str.maketrans("0123456789−+⊤′", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀ′")


class FormulaError(ValueError):
    """A formula contains something that this module does not read."""


@dataclass
class Node:
    """A part of a formula.

    kind    "letter", "number", "operator", "open", "close", "bar", "large", "function",
            "words", "space", "gap" or "tab"; or, with parts: "row", "fraction", "root",
            "scripts", "accent", "fenced" or "table"
    text    its character or word; of a table the brackets around it
    parts   nodes; of scripts the base, the lower one and the upper one, each or None
    size    of a space, in em
    """

    kind: str
    text: str = ""
    parts: tuple = ()
    size: float = 0.0


def read(formula):
    """Return the row of nodes of a formula. Raises FormulaError."""
    reader = _Reader(formula)
    row = reader.row(ends=())
    if reader.tokens:
        reader.fail(f"{reader.tokens[0]} without a beginning")
    return row


def as_mathml(formula, display=False):
    """Return a formula as MathML; a display has an element for each equation."""
    row = read(formula)
    if not display:
        return f"<math>{_mathml(row)}</math>"
    equations = [[]]  # spaces of an em or more divide them
    for node in row.parts:
        if node.size >= 1:
            equations.append([])
        else:
            equations[-1].append(node)
    rows = (_mathml(Node("row", parts=tuple(nodes))) for nodes in equations if nodes)
    return "".join(f'<math display="block">{row}</math>' for row in rows)


def as_text(formula):
    """Return a formula as characters that a terminal has; tables take several lines."""
    lines = _text(read(formula)).split("\n")
    return "\n".join(re.sub(r"(?<=\S)  (?=\S)", " ", x).strip() for x in lines)


class _Reader:
    """Read tokens from the left; each method removes what it returns as a node."""

    def __init__(self, formula):
        self.formula, self.tokens = formula, TOKEN.findall(formula)

    def fail(self, what):
        raise FormulaError(f"{what}, in the formula {self.formula}")

    def row(self, ends):
        """Return the row up to a token of ``ends``, which stays, or to the end."""
        nodes = []
        while self.tokens and self.tokens[0] not in ends:
            if self.tokens[0] in ("}", r"\right", r"\end"):
                break
            if self.tokens[0] in "_^'":
                base = nodes.pop() if nodes else Node("row")
                nodes.append(self.scripts(base))
            else:
                nodes.append(self.node())
        return Node("row", parts=tuple(nodes))

    def scripts(self, base):
        lower = upper = None
        while self.tokens and self.tokens[0] in ("_", "^", "'"):
            mark = self.tokens.pop(0)
            if mark == "'":
                primes = (upper.text if upper else "") + "′"
                upper = Node("operator", primes)
            elif mark == "_":
                lower = self.argument()
            else:
                upper = self.argument()
        return Node("scripts", parts=(base, lower, upper))

    def argument(self):
        """Return the argument of a command: a group in braces, or one node."""
        self.skip_gap()
        if not self.tokens or self.tokens[0] == "}":
            self.fail("an argument is missing")
        return self.node()

    def group(self):
        row = self.row(ends=("}",))
        self.expect("}")
        return row.parts[0] if len(row.parts) == 1 else row

    def words(self):
        """Return the text of a group in braces, as it stands."""
        self.skip_gap()
        self.expect("{")
        end = self.tokens.index("}") if "}" in self.tokens else self.fail("an open {")
        words, self.tokens = "".join(self.tokens[:end]), self.tokens[end + 1 :]
        return words

    def skip_gap(self):
        while self.tokens and self.tokens[0].isspace():
            del self.tokens[0]

    def expect(self, token):
        if not self.tokens or self.tokens.pop(0) != token:
            self.fail(f"{token} is missing")

    def node(self):
        token = self.tokens.pop(0)
        if token == "{":
            return self.group()
        if token[0] == "\\":
            return self.command(token[1:])
        if token.isspace():
            return Node("gap", " ")
        if token[0].isdigit():
            return Node("number", token)
        if token.isalpha():
            return Node("letter", token)
        if token in "([":
            return Node("open", token)
        if token in ")]":
            return Node("close", token)
        if token in "|":
            return Node("bar", token)
        if token == "&":
            return Node("tab")
        if token in "+-=<>,;:/!.*?":
            return Node("operator", {"-": "−", "*": "∗"}.get(token, token))
        self.fail(f"the character {token}")

    def command(self, name):
        if name in LETTERS:
            if name == "partial":
                self.skip_gap()
            return Node("letter", LETTERS[name])
        if name in OPERATORS:
            return Node("operator", OPERATORS[name])
        if name in FENCES:
            kind = "open" if name[0] in "l{" else "close" if name[0] in "r}" else "bar"
            return Node(kind, FENCES[name])
        if name in LARGE:
            return Node("large", LARGE[name])
        if name in FUNCTIONS:
            return Node("function", name)
        if name in DOTS:
            return Node("number", DOTS[name])
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
        kind = self.words()
        if kind not in ("pmatrix", "bmatrix", "aligned", "cases"):
            self.fail(f"the environment {kind}")
        rows = []
        while not rows or self.tokens[:1] == [r"\\"]:
            if rows:
                self.expect(r"\\")
            rows.append(tuple(_cells(self.row(ends=(r"\\",)))))
        self.expect(r"\end")
        if self.words() != kind:
            self.fail(f"the end of {kind} is missing")
        fences = {"pmatrix": "()", "bmatrix": "[]", "cases": "{"}
        return Node("table", fences.get(kind, ""), tuple(rows))


def _cells(row):
    """Divide a row at its tabs."""
    cells = [[]]
    for node in row.parts:
        cells.append([]) if node.kind == "tab" else cells[-1].append(node)
    return [Node("row", parts=tuple(cell)) for cell in cells]


def _mathml(node, previous=None, following=None):
    """Return the MathML of a node between its neighbours in a row, which may be None."""
    text, parts = html.escape(node.text), node.parts
    match node.kind:
        case "gap" | "tab":
            return ""
        case "row":
            shown = [None, *(p for p in parts if p.kind != "gap"), None]
            around = zip(shown, shown[1:], shown[2:])
            return f"<mrow>{''.join(_mathml(p, a, b) for a, p, b in around)}</mrow>"
        case "letter":
            upright = ' mathvariant="normal"' if text in UPRIGHT else ""
            return f"<mi{upright}>{text}</mi>"
        case "number":
            return f"<mn>{text}</mn>"
        case "words":
            return f"<mtext>{text.replace(' ', chr(160))}</mtext>"
        case "operator":
            is_sign = text in "−+±" and (
                previous is None or previous.kind in ("operator", "open", "space")
            )
            form = ' form="prefix"' if is_sign else ""
            tight = ' lspace="0" rspace="0"' if text[:1] in "/.!′" else ""
            return f"<mo{form}{tight}>{text}</mo>"
        case "function":
            left = ".17em" if previous and previous.kind in BEFORE_FUNCTION else "0"
            tight = following is None or following.kind in ("open", "fenced")
            space = f'lspace="{left}" rspace="{"0" if tight else ".17em"}"'
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
            if upper and upper.text.startswith("′"):  # is high by itself
                parts = Node("row", parts=(base, upper)), lower, None
                if lower is None:
                    return _mathml(parts[0])
                base, lower, upper = parts
            below = base.kind == "large" or base.text in LIMITS
            names = ("munder", "mover") if below else ("msub", "msup")
            tag = "".join(n for n, p in zip(names, (lower, upper)) if p)
            tag = tag.replace("mundermover", "munderover").replace(
                "msubmsup", "msubsup"
            )
            return f"<{tag}>{''.join(_mathml(p) for p in parts if p)}</{tag}>"
        case "fenced":
            first, inner, last = parts
            inner = f"<mo>{first.text}</mo>{_mathml(inner)}<mo>{last.text}</mo>"
            return f"<mrow>{inner}</mrow>"
    rows = ("".join(f"<mtd>{_mathml(x)}</mtd>" for x in row) for row in parts)
    table = "".join(f"<mtr>{row}</mtr>" for row in rows)
    if not node.text:
        return f'<mtable class="aligned" displaystyle="true">{table}</mtable>'
    first, last = (f"<mo>{x}</mo>" for x in node.text.ljust(2))
    return f"<mrow>{first}<mtable>{table}</mtable>{last}</mrow>"


def _text(node):
    """Return the characters of a node; spaces are those of the source."""
    match node.kind:
        case "row":
            return "".join(map(_text, node.parts))
        case "fraction":
            above, below = map(_text, node.parts)
            above = (
                f"({above})" if OPERATION.search(_without_brackets(above)) else above
            )
            is_one = node.parts[1].kind != "row" or re.fullmatch(r"[d∂]\w+", below)
            return f"{above}/{below if is_one else f'({below})'}"
        case "root":
            text = _text(node.parts[0])
            return f"√({text})" if node.parts[0].kind == "row" else f"√{text}"
        case "accent":
            return _text(node.parts[0]) + COMBINING[node.text]
        case "scripts":
            return _text_of_scripts(*node.parts)
        case "fenced":
            return "".join(map(_text, node.parts))
        case "table" if not node.text:
            return "\n".join(" ".join(map(_text, row)) for row in node.parts)
        case "table":
            rows = (", ".join(_text(x).strip() for x in row) for row in node.parts)
            return node.text[:1] + "; ".join(rows) + node.text[1:]
    return node.text


def _text_of_scripts(base, lower, upper):
    text = _text(base)
    if upper is not None:
        high = _text(upper).strip()
        if set(high) <= {chr(c) for c in SUPERSCRIPTS}:
            high = high.translate(SUPERSCRIPTS)
        else:
            high = f"^{high}" if re.fullmatch(r"\w", high) else f"^({high})"
    else:
        high = ""
    if lower is not None:
        low = _text(lower).strip()
        low = f"_{low}" if low.isalnum() else f"_{{{low}}}"
        return text + high + low if high[:1] == "′" else text + low + high
    return text + high


def _without_brackets(text):
    inner = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}")
    while inner.search(text):
        text = inner.sub("", text)
    return text

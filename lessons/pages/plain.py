"""Formulas as docstrings write them, in plain characters, and set as MathML.

    s_ij = q_i^T W_a k_j / sqrt(D),    p_ij = exp(s_ij) / sum_n exp(s_in)

``pieces`` finds the formulas of a line. Each is read into the nodes of ``formulas``:

    x / y      a fraction: of the product before it, by the one factor after it, or by
               a sum; sums before it stay outside, unless a sum is below, too
    x/y        stays in the line
    a . b      with spaces: a dot product
    ln x       a function and its argument are one factor
    max_size   a name with a word below the line is a name of the code: upright

A guard turns the MathML into characters again. A formula whose characters are not those
of its source, or that can be read in two ways, stays as it was.
"""

import functools
import html
import re
import xml.etree.ElementTree as ElementTree

from .formulas import KNOWN, FormulaError, Node, inline

GREEK = """alpha beta gamma delta epsilon eta theta kappa lambda mu nu pi rho sigma tau
phi chi psi omega Delta Theta Lambda Sigma Phi Omega""".split()
AMBIGUOUS = "delta lambda pi".split()  # Greek letters that are words, too
# functions that take the next factor as their argument
FUNCTIONS = "exp ln log sin cos tanh max min argmax argmin".split()
LARGE = "sum prod".split()
# words that end a formula
STOP = """a above all also an and any are as at because below both but by do each else
every for from has have he if in into is it its no not of on once one only or otherwise
over plus so some than that the their then these this to two until up us was we when
where which while with within without does An As At Be By Do He If In Is It My No Of On
Or So To Up We""".split()
SIGNS = {
    "<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "<-": "←", "-": "−", "*": "∗", "~": "∼",
    "=": "=", "<": "<", ">": ">", "+": "+", ",": ",", ";": ";", "/": "/", "//": "//",
    "@": "@", "+=": "+=", "-=": "-=",
}  # fmt: skip
KNOWN_WORDS = (*GREEK, *FUNCTIONS, *LARGE, "sqrt", "inf", "infinity")
CLOSES = {"(": ")", "[": "]", "{": "}"}
TOKEN = re.compile(
    r"(?P<prose>\b(?:e\.g\.|i\.e\.|et al\.|[A-Z](?:\.\d+)+|[a-z]{3,}\(e?s\)"  # row(s)
    r"|[A-Za-z]\w*(?:-[A-Za-z]{2,}\w*)+|[A-Za-z]{2,}\w*-\w+"  # x-axis, i-th
    r"|\w+(?:/\w+)*\.[A-Za-z][\w.]*|\w{2,}=\w+|\w+'s\b"  # ops/matmul.py, lengths=None
    r"|(?P<size>\d+|[A-Za-z]) x (?:\d+\b|(?P=size)\b)|[CFO] (?:order|library))"
    r"|\*\*|:=|==|\"[^\"\s][^\"]*\"|(?<!\w)'[^'\s][^']*')"
    r"|(?P<name>[A-Za-z]{2,}\d*(?:_[A-Za-z]\w*_\w+|_[A-Za-z]{3,}\w*))"  # max_size
    r"|(?P<gap>\s+)|(?P<number>\d+(?:_\d{3})*(?:\.\d+)?)|(?P<dots>\.\.\.|…)"
    r"|(?P<word>[A-Za-z]+\d*)|(?P<sign><=|>=|!=|->|<-|\+=|-=|//|[-+*/=<>,;@.|~])"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<mark>[_^'])|(?P<other>.)",
    re.S,
)
OPERANDS = ("number", "dots", "word", "name")


class Token:
    """A token of a line: its kind, a group of TOKEN, and its place."""

    def __init__(self, match):
        self.kind, self.text = match.lastgroup, match[0]
        self.start, self.end = match.span()

    def __repr__(self):
        return self.text


def pieces(text):
    """Yield (is_formula, piece) of a line: text, or the MathML of a formula."""
    end = 0
    for first, last in _candidates(text):
        if mathml := as_mathml(text[first:last]):
            yield False, text[end:first]
            yield True, mathml
            end = last
    yield False, text[end:]


@functools.cache
def as_mathml(source):
    """Return the MathML of a formula, or None if it would not mean its source."""
    try:
        mathml = inline(_Reader(source).formula())
    except FormulaError:
        return None
    return mathml if canonical(text_of(mathml)) == canonical(source) else None


# where a formula begins and ends in a line


def _candidates(text):
    """Yield (start, end) of the parts of a line that may be formulas."""
    tokens = [Token(match) for match in TOKEN.finditer(text)]
    k = 0
    while k < len(tokens):
        end = _extent(tokens, k) if _begins(tokens, k) else None
        if end is None:
            k += 1
            continue
        found = tokens[k:end]
        if any(_is_letter(token) for token in found):
            yield tokens[k].start, tokens[end - 1].end
        k = end


def _is_letter(token):
    """Return whether a token makes a formula of what would be a number or a word."""
    return token.kind == "word" and (
        len(token.text) == 1 or token.text in (*GREEK, "sqrt", *FUNCTIONS)
        or _is_differential(token.text) or re.fullmatch("[A-Z][a-z]", token.text)
    )  # fmt: skip


def _is_differential(word):
    """Return whether a word is a differential: dx, dtheta."""
    return word[:1] == "d" and (len(word) == 2 or word[1:] in GREEK)


def _text(tokens, k):
    return tokens[k].text if 0 <= k < len(tokens) else ""


def _is_article(tokens, k, is_first=True):
    """Return whether a letter a is the article: a word comes next."""
    after = _text(tokens, k + 2) if _text(tokens, k + 1).isspace() else "-"
    known = () if is_first else KNOWN_WORDS
    return tokens[k].text in ("a", "A") and (
        not after or after in ("`", '"') or after[0].isalpha() and after not in known
        and (is_first or len(after) > 1)
    )  # fmt: skip


def _begins(tokens, k):
    """Return whether a formula may begin with a token."""
    token, after = tokens[k], _text(tokens, k + 1)
    before = _text(tokens, k - 1)
    if before and (before[-1] in "-/'\"`.@#" or before[-1].isalnum() or before == "_"):
        return False
    if token.kind == "number":
        beyond = _text(tokens, k + 2)
        tight = len(after) == 1 and after.isalpha() and not beyond[:1].isalpha()
        loose = after.isspace() and len(beyond) == 1 and beyond.isalpha()
        signed = after in SIGNS and after not in ",;" or after.isspace() and beyond in SIGNS
        return tight or signed or loose and beyond not in "aAI"
    if token.kind == "open":
        return True
    if token.text == "|":
        return bool(after) and not after.isspace()
    if token.text in "+-=":
        return k == 0
    if token.kind == "name":
        return after == "(" or after.isspace() and _text(tokens, k + 2) == "="
    if token.kind != "word":
        return False
    word, beyond = token.text, _text(tokens, k + 2) if after.isspace() else after
    if len(word) == 1:
        return not _is_article(tokens, k) and word != "I"
    if word in STOP:
        return word == "do" and after == "_"
    if word in GREEK:
        return word not in AMBIGUOUS or beyond in ("_", "^", "~", "(", *SIGNS)
    if word in (*FUNCTIONS, *LARGE, "sqrt", "inf", "infinity"):
        return after in ("(", "_") or len(beyond) == 1 and beyond.isalpha() or (
            beyond in GREEK
        )  # fmt: skip
    if _is_differential(word) or re.fullmatch("[A-Z][a-z]", word):
        return True
    return after in ("(", "_") or beyond == "=" and (k == 0 or len(word) < 4)


def _extent(tokens, k):
    """Return the index after the longest formula that begins with token k, or None."""
    depth, ends, previous, operand = [], [], None, False
    while k < len(tokens):
        token = tokens[k]
        after = _text(tokens, k + 1)
        tight = previous is not None and previous.end == token.start
        if token.kind == "gap":
            k += 1
            continue
        hat = previous is not None and previous.text == "^" and token.text in "_,)]"
        if not hat and previous is not None and previous.text in ("_", "^") and tight:
            if token.kind not in ("word", "number", "open", "name") and (
                token.text not in "-+*"
            ):
                break
        elif token.kind == "word":
            if not _continues(tokens, k, previous, depth):
                break
        elif token.text == "." and (tight or not after.isspace()):
            break
        elif token.kind == "sign" and token.text in ",;" and not depth:
            following = _text(tokens, k + 2)
            if token.text == ";" or after != " ":
                break
            if not re.match(r"[\w.(\[]", following):
                break
            if following[:1].isdigit() and _text(tokens, k + 5) not in ("...", "…"):
                break  # a number of the sentence; but 0, 1, ..., n
        elif token.kind == "mark":
            if not tight or not operand:
                break
            if token.text == "'" and after[:1].isalpha():
                break
        elif token.kind not in (*OPERANDS, "sign", "open", "close"):
            break
        if token.kind == "open":
            depth.append(token.text)
        elif token.kind == "close":
            if not depth or CLOSES[depth.pop()] != token.text:
                break
        operand = token.kind in (*OPERANDS, "close") and token.text != "sqrt" or (
            token.text in ("'", "~", "^") and tight
            or token.text == "|" and (tight or not after.isspace())
        )  # fmt: skip
        k, previous = k + 1, token
        if operand and not depth:
            ends.append(k)
    while ends and _text(tokens, ends[-1])[:1] in tuple("([_^'{"):
        ends.pop()  # what it would be applied to is not in the formula
    return ends[-1] if ends else None


def _continues(tokens, k, previous, depth):
    """Return whether a formula may go on with a word."""
    word, after = tokens[k].text, _text(tokens, k + 1)
    beyond = _text(tokens, k + 2) if after.isspace() else after
    is_first = previous is None or previous.text == ","
    if len(word) == 1:
        return not _is_article(tokens, k, is_first)
    if word in KNOWN_WORDS:
        called = after in ("(", "_") or len(beyond) == 1 and beyond.isalpha()
        return not is_first or word in GREEK or called or previous is None
    if word in STOP:
        return word == "do" and (after == "_" or previous.text == "/")
    if _is_differential(word) or re.fullmatch("[A-Z][A-Za-z]", word):
        return True
    if previous is None or after == "(":
        return True
    if previous.text == "," and depth:
        return beyond[:1] in (",", ")", "]")
    is_word = re.fullmatch(r"\d+|[A-Za-z]{2,}", beyond)
    another = is_word and beyond not in (*KNOWN_WORDS, *STOP)
    is_sign = previous.kind == "sign" and previous.text not in ",;.|"
    goes_on = is_sign or previous.kind == "open"
    return goes_on and not another and beyond != "of"


# the reader


class _Reader:
    """Read a formula from the left, by descent; each method returns nodes."""

    def __init__(self, source):
        tokens = [Token(match) for match in TOKEN.finditer(source)]
        self.gaps = {t.end for t in tokens if t.kind == "gap"}  # a token begins there
        self.ends = {t.start for t in tokens if t.kind == "gap"}
        self.tokens = [token for token in tokens if token.kind != "gap"]
        self.source, self.open_bars = source, 0

    def fail(self, what):
        raise FormulaError(f"{what}, in the formula {self.source}")

    def formula(self):
        row = self.row()
        if self.tokens:
            self.fail(f"{self.tokens[0]} without a beginning")
        return row

    def peek(self):
        return self.tokens[0].text if self.tokens else ""

    def is_loose(self):
        """Return whether the next token has spaces on both sides."""
        token = self.tokens[0]
        return token.start in self.gaps and token.end in self.ends

    def is_bar_open(self):
        """Return whether the next token is a bar that opens, before a factor."""
        return self.peek() == "|" and self.tokens[0].end not in self.ends

    def row(self):
        nodes = []
        while self.tokens and self.tokens[0].kind != "close":
            token = self.tokens[0]
            if token.text == "|" and self.open_bars and not self.is_loose():
                if self.tokens[0].start not in self.gaps:
                    break
            if token.text == "|" and self.is_loose():
                del self.tokens[0]
                nodes.append(Node("operator", "∣"))
            elif token.text in SIGNS:
                del self.tokens[0]
                nodes.append(Node("operator", SIGNS[token.text]))
            else:
                found = self.product()
                if not found:
                    self.fail(f"{token} without a factor before it")
                nodes += found
        return Node("row", parts=tuple(nodes))

    def product(self):
        """Return the nodes of a product, or of a fraction with its sums before it."""
        above = self.factors()
        if self.peek() != "/" or not self.is_loose():
            return above
        del self.tokens[0]
        below = self.factors()
        if not below:
            self.fail("a fraction without a denominator")
        is_sum = _is_sum(below[0])
        if not is_sum and len(below) > 1 and not _applies(below):
            self.fail("a denominator of several factors")
        if self.peek() == "/" and self.is_loose():
            self.fail("a fraction of a fraction")
        outside = []
        while not is_sum and above and (_is_sum(above[0]) or above[0].kind == "space"):
            outside.append(above.pop(0))
        if not above:
            self.fail("a fraction without a numerator")
        parts = (_group(above), _group(below, below=True))
        return [*outside, Node("fraction", parts=parts)]

    def factors(self):
        """Return the nodes of factors side by side."""
        nodes = []
        while self.tokens:
            text, kind = self.peek(), self.tokens[0].kind
            if text in ".*" and nodes and self.is_loose() and len(self.tokens) > 1:
                del self.tokens[0]
                nodes.append(Node("operator", "·" if text == "." else "∗"))
                continue
            starts = kind in (*OPERANDS, "open") or self.is_bar_open() and (
                not nodes or self.tokens[0].start in self.gaps
            )  # fmt: skip
            if not starts:
                break
            gap = self.tokens[0].start in self.gaps
            factor = self.factor()
            if nodes and gap and _needs_space(nodes[-1], factor):
                nodes.append(Node("space", " ", size=0.2))
            nodes.append(factor)
        if nodes and nodes[-1].kind == "operator":
            self.fail("a product without its last factor")
        return nodes

    def factor(self):
        token = self.tokens.pop(0)
        if token.kind == "open":
            inner = self.row()
            if not self.tokens or self.tokens.pop(0).text != CLOSES[token.text]:
                self.fail(f"{CLOSES[token.text]} is missing")
            first, last = Node("open", token.text), Node("close", CLOSES[token.text])
            return self.scripts(Node("fenced", parts=(first, inner, last)))
        if token.text == "|":
            self.open_bars += 1
            inner = self.row()
            if not self.tokens or self.tokens.pop(0).text != "|":
                self.fail("| is missing")
            self.open_bars -= 1
            return self.scripts(
                Node("fenced", parts=(Node("open", "|"), inner, Node("close", "|")))
            )
        if token.text == "sqrt":
            if self.peek() != "(":
                self.fail("sqrt without brackets")
            inner = self.factor()
            if inner.kind != "fenced":
                self.fail("a root with scripts")
            return self.scripts(Node("root", parts=(inner.parts[1],)))
        if token.kind == "number":
            return self.scripts(Node("number", token.text))
        if token.kind == "dots":
            return Node("letter", "…")
        if token.kind == "name":
            return Node("words", token.text)
        return self.scripts(self.word(token.text))

    def word(self, word):
        if word in GREEK:
            return Node(*KNOWN["varepsilon" if word == "epsilon" else word])
        if word in FUNCTIONS:
            return Node("function", word)
        if word in LARGE:
            return Node(*KNOWN[word])
        if word in ("inf", "infinity"):
            return Node("letter", "∞")
        if len(word) == 1:
            return Node("letter", word)
        if _is_differential(word):
            rest = self.word(word[1:])
            rest = self.scripts(rest)
            return Node("row", parts=(Node("upright", "d"), rest))
        return Node("words", word)

    def scripts(self, base):
        found = {"_": None, "^": None}
        while self.tokens and self.tokens[0].text in ("_", "^", "'", "~"):
            mark = self.tokens[0]
            if mark.start in self.gaps:
                break
            del self.tokens[0]
            if mark.text == "'":
                base = Node("row", parts=(base, Node("operator", "′")))
            elif mark.text == "~":
                base = Node("accent", "~", (base,))
            elif mark.text == "^" and self.is_hat(mark):
                base = Node("accent", "^", (base,))
            elif found[mark.text]:
                self.fail(f"two scripts {mark.text}")
            else:
                found[mark.text] = self.script(mark.text)
        scripted = any(found.values())
        return Node("scripts", parts=(base, *found.values())) if scripted else base

    def is_hat(self, mark):
        """Return whether ^ is a hat on its letter: no script comes after it."""
        return not self.tokens or mark.end in self.ends or self.peek() in "_,;=)]"

    def script(self, mark):
        """Return a script: a group in brackets, letters, a number, or -1."""
        if not self.tokens:
            self.fail("a script is missing")
        token = self.tokens.pop(0)
        if token.kind == "open":
            inner = self.row()
            if not self.tokens or self.tokens.pop(0).text != CLOSES[token.text]:
                self.fail(f"{CLOSES[token.text]} is missing")
            if self.is_tight_word():  # a_(i-1)j
                rest = _letters(self.tokens.pop(0).text)
                brackets = Node("open", "("), inner, Node("close", ")")
                first = Node("fenced", parts=brackets)
                return Node("row", parts=(first, *rest))
            return inner
        if token.text in ("-", "+") and self.tokens:
            sign = Node("operator", SIGNS[token.text])
            return Node("row", parts=(sign, self.script(mark)))
        if token.text == "T" and mark == "^":
            return Node("letter", "⊤")
        if token.kind == "number":
            return Node("number", token.text)
        if token.kind not in ("word", "name"):
            self.fail(f"the script {token}")
        row = [*_letters(token.text)]
        if self.is_index_arithmetic():  # q_i(j-1)
            row.append(self.factor())
        return row[0] if len(row) == 1 else Node("row", parts=tuple(row))

    def is_tight_word(self):
        return bool(self.tokens) and self.tokens[0].kind == "word" and (
            self.tokens[0].start not in self.gaps
        )  # fmt: skip

    def is_index_arithmetic(self):
        """Return whether brackets without spaces go on with an index: (j-1), (j+m)."""
        if self.peek() != "(" or self.tokens[0].start in self.gaps:
            return False
        return bool(re.match(r"\(\w[-+]\w\)", self.source[self.tokens[0].start :]))


def _letters(word):
    """Return the letters of a script as nodes; a longer word is one name."""
    if word in GREEK:
        return [Node(*KNOWN["varepsilon" if word == "epsilon" else word])]
    if len(word) > 3 or word in ("max", "min", "out", "new"):
        return [Node("words", word)]
    return [Node("letter", letter) for letter in word]


def _is_sum(node):
    base = node.parts[0] if node.kind == "scripts" else node
    return base.kind == "large"


def _base(node):
    return _base(node.parts[0]) if node.kind == "scripts" else node


def _applies(nodes):
    """Return whether nodes are a function and its one argument: ln x, K(u), f(x)."""
    if len(nodes) != 2:
        return False
    first, second = map(_base, nodes)
    return first.kind == "function" or second.kind == "fenced" and (
        first.kind in ("letter", "words")
    )  # fmt: skip


def _needs_space(left, right):
    """Return whether names side by side would look like one."""
    names = [_base(node).kind == "words" for node in (left, right)]
    return any(names) and "fenced" not in (_base(right).kind,)


def _group(nodes, below=False):
    """Return nodes as one, without brackets that a fraction makes superfluous."""
    if len(nodes) > 1:
        return Node("row", parts=tuple(nodes))
    (node,) = nodes
    if node.kind != "fenced" or node.parts[0].text != "(":
        return node
    inner = node.parts[1]
    signs = [n for n in inner.parts if n.kind == "operator" and n.text not in "·∗"]
    return inner if signs or below and len(inner.parts) > 1 else node


# the guard

BACK = {text: f" {name} " for name, (kind, text) in KNOWN.items() if name in GREEK}
BACK |= {text: f" {name} " for name, text in SIGNS.items() if text not in ",;/"}
BACK |= {
    "·": " . ", "∑": " sum", "∏": " prod", "′": "'", "⊤": "T", "∞": " inf ", "∣": " | ",
    "…": " … ", "ε": " epsilon ",
}  # fmt: skip


def text_of(mathml):
    """Return the plain characters of a formula in MathML."""
    mathml = mathml.replace("\u200b", " ").replace("&lt;", "＜")
    return _plain(ElementTree.fromstring(f"<p>{html.unescape(mathml)}</p>"))


def _plain(node):
    parts = [_plain(part) for part in node]
    match node.tag:
        case "mi" if node.get("mathvariant") == "normal" and node.text == "d":
            return " d\b"  # no space after it
        case "mo" if node.text == "/":
            return "\b/\b"
        case "mrow" if len(node) == 3 and node[0].text == "|" == node[2].text:
            return f"|\b{parts[1]}\b|"
        case "mi" | "mo" | "mn" | "mtext":
            text = node.text.replace("＜", "<")
            spaced = node.tag != "mo" or text.isalpha()
            return BACK.get(text, f" {text} " if spaced else text)
        case "mspace":
            return " "
        case "mfrac":
            above, below = (part.strip() for part in parts)
            above = f"({above})" if _has_sign(above) else above
            return f"{above} / {below if _is_factor(below) else f'({below})'}"
        case "msqrt":
            return f" sqrt({''.join(parts)})"
        case "mover" if node.get("accent"):
            return parts[0].rstrip() + parts[1].strip() + " "
        case "msub" | "munder":
            return f"{parts[0].rstrip()}_{_script(parts[1])} "
        case "msup" | "mover":
            return f"{parts[0].rstrip()}^{_script(parts[1])} "
        case "msubsup" | "munderover":
            low, high = map(_script, parts[1:])
            return f"{parts[0].rstrip()}_{low}^{high} "
    return "".join(parts)  # of the parts of a long formula, too


def _script(text):
    text = re.sub(r"\b(\w) (?=\w\b)", r"\1", canonical(text))
    raw = re.fullmatch(r"\w+\(\w[-+]\w\)|\([^()]*\)\w+|-\w+|\*", text)
    return text if raw else f"({text})"


def _outside_brackets(text):
    inner = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|\|\x08[^|]*\x08\|")
    while inner.search(text):
        text = inner.sub("#", text)
    return text


def _has_sign(text):
    text = re.sub(r"[_^]#", "", _outside_brackets(text))
    return bool(re.search(r"[-+=<>,;]|\s/\s", text))


def _is_factor(text):
    """Return whether a denominator needs no brackets."""
    text = canonical(re.sub(r"(\d)\s+(?=[A-Za-z])", r"\1 & ", _outside_brackets(text)))
    if text.startswith(("sum", "prod")):
        return not re.search(r"[-+=<>,;]", text)
    atom = r"(?:[\w'~^…]+#?|#)(?:[_^][\w#]+)*"
    function = "|".join(FUNCTIONS)
    return bool(re.fullmatch(rf"{atom}|(?:{function})\w* {atom}", text))


def canonical(text):
    """Return a formula without the spaces and brackets that change nothing."""
    text = re.sub(" *\x08 *", "", re.sub(r"\s+", " ", text)).strip()
    text = text.replace("...", "…").replace("infinity", "inf")
    text = text.translate(str.maketrans("{}", "()"))
    text = re.sub(r"([_^])\((\w+)\)", r"\1\2", text)
    text = re.sub(r" (?=[_^'])(?!\^ )", "", text)
    for loose, mark in (" / ", "÷"), (" . ", "·"), (" | ", "∣"):
        text = text.replace(loose, mark)
    text = re.sub(r"(?<![\w'~^…]) | (?![\w…])", "", text)
    text = re.sub(r"(?<=\d) (?=[A-Za-z])", "", text)
    text = re.sub(r"(_[A-Za-z\d]+)'", r"'\1", text)
    script = r"(?:[A-Za-z\d]+|\([^()]*\))"
    text = re.sub(rf"(\^{script})(_{script})", r"\2\1", text)
    return re.sub(r"([_^]\w+) (?=[_^])", r"\1", text)

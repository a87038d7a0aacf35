"""The grammar of a shape line: find it in a docstring and parse it.

line    items  ->  cases             case    items, separated from others by ;
item    names options kind           mask? (B | 1, S) or (S,) bool
names   a, or a and b; ? allows None
option  a shape, None, or the name of a class with a capital letter
shape   (axis, axis, ...)            with ... once, for any number of axes
axis    sizes separated by |         H | 1
size    products and their sums      3H, L + S - 1, self.layers * self.width
"""

import functools
import inspect
import math
import re
from dataclasses import dataclass

KINDS = {  # word of a line: letters of dtype.kind; for messages, a noun and a hint
    "float": (
        "f", "floating-point numbers", "Write 1.0 for 1, or use .astype(np.float32)."
    ),
    "int": ("iu", "integers", "Convert the array with .astype(int)."),
    "bool": ("b", "booleans", "Compare the array with 0."),
}  # fmt: skip


def shape_line(function):
    """Return the two sides of the shape line in a docstring, or None without one.

    The shape line starts with the name of a parameter. It stands at the start of a
    paragraph, or after a colon that two spaces or a new line follow. After the arrow it
    continues on the next line if a line ends with a comma, a semicolon or ``or``.
    """
    parameters = inspect.signature(function).parameters
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(function.__doc__ or "")):
        left, arrow, right = paragraph.partition("->")
        left = re.split(r":\s\s+|:\n", left)[-1]
        first = re.match(r"\s*(\w+)\??(,|\s+\(|\s+and\s|\s*$)", left)
        if arrow and first and first[1] in parameters:
            right = re.match(r"((?:.*(?:,|;|\bor)\s*\n)*.*)", right.lstrip())[0]
            return " ".join(left.split()), " ".join(right.split()).removesuffix(".")
    return None


@dataclass
class Item:
    """``mask? (B, S) or (S,) bool``: a name, and the values that it allows.

    kind      a word of KINDS
    classes   names of classes whose instances pass unchanged
    """

    name: str
    shapes: list
    kind: str
    optional: bool
    classes: list

    def __post_init__(self):
        self.text = " or ".join(shape.text for shape in self.shapes)
        self.dtype_kinds, self.noun, self.hint = KINDS[self.kind]


@dataclass
class Shape:
    """``(..., L, D)``: its axes, and how many of them stand before the dots."""

    axes: list
    dots: int | None  # None: there are no dots

    @property
    def text(self):
        """The shape as the line has it."""
        return self._text([" | ".join(axis.texts) for axis in self.axes])

    def described(self, sizes):
        """Return "(L, D) = (7, 4)", with numbers for the letters that have a size."""
        numbers = self._text([axis.described(sizes) for axis in self.axes])
        return self.text if numbers == self.text else f"{self.text} = {numbers}"

    def letters(self):
        """Return the letters of all axes."""
        return {letter for axis in self.axes for letter in axis.letters}

    def _text(self, texts):
        if self.dots is not None:
            texts.insert(self.dots, "...")
        return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


class Axis:
    """``H | 1`` or ``L + S - 1``: the sizes that one axis may have.

    ``sizes`` is {letter: its size, "self": the layer}, without the unknown letters.
    """

    def __init__(self, text):
        self.texts = [t.strip() for t in text.replace("self.", "").split("|")]
        self.options = [_terms(option) for option in text.split("|")]
        terms = sum(self.options, [])
        names = {f for _, factors in terms for f in factors if not f.isdigit()}
        self.letters = {name for name in names if "." not in name}
        self.attributes = {name.removeprefix("self.") for name in names - self.letters}

    def fits(self, n, sizes):
        """Return whether ``n`` is allowed; a letter without a size receives n."""
        values = self.values(sizes)
        if n in values:
            return True
        for text, value in zip(self.texts, values):
            if value is None and text in self.letters:
                sizes[text] = n
        return None in values

    def described(self, sizes):
        """Return the sizes of this axis: numbers, and letters that have no size yet."""
        values = zip(self.texts, self.values(sizes))
        return " | ".join(text if n is None else str(n) for text, n in values)

    def values(self, sizes):
        """Compute each option; None where a letter in it has no size yet."""

        def number(factor):
            if factor.startswith("self."):
                return getattr(sizes["self"], factor.removeprefix("self."))
            return int(factor) if factor.isdigit() else sizes[factor]

        found = []
        for terms in self.options:
            letters = self.letters.intersection(*[sum((f for _, f in terms), [])])
            if letters <= sizes.keys():
                n = sum(sign * math.prod(map(number, fs)) for sign, fs in terms)
                found.append(max(n, 0))  # L + S - 1 is -1 if L = S = 0
            else:
                found.append(None)
        return found


def parse_items(text):
    """Parse "x? (B, D), ids and mask (B,) int" into a list of Item.

    Raises ValueError, which names the part that is not understood.
    """
    return [item for part in re.split(r",\s*(?![^(]*\))", text) for item in _item(part)]


def _item(text):
    """Parse "x and y? (B, D) or (D,) int": one Item for each name."""
    word = r"[A-Za-z_][\w']*\??"
    names, rest = re.fullmatch(rf"({word}(?:\s+and\s+{word})*|)\s*(.*)", text).groups()
    shapes, kind, classes, optional = [], "float", [], False
    for option in re.split(r"\s+or\s+", rest) if rest else ():
        brackets, word = re.fullmatch(r"(\([^()]*\))?\s*(.*)", option).groups()
        if brackets and word in ("", *KINDS):
            shapes.append(_shape(brackets))
            kind = word or kind
        elif option == "None":
            optional = True
        elif re.fullmatch(r"[A-Z]\w*", option):
            classes.append(option)
        else:
            raise ValueError(f"{option!r} is not a shape such as (..., L, D) int.")
    return [
        Item(
            name=name.removesuffix("?"),
            shapes=shapes,
            kind=kind,
            optional=optional or name.endswith("?"),
            classes=classes,
        )
        for name in re.split(r"\s+and\s+", names)
    ]


def _shape(brackets):
    """Parse "(..., L, D)"."""
    texts = [text.strip() for text in brackets[1:-1].split(",") if text.strip()]
    if texts.count("...") > 1:
        raise ValueError(f"{brackets} has dots twice.")
    dots = texts.index("...") if "..." in texts else None
    return Shape([_axis(text) for text in texts if text != "..."], dots)


@functools.cache  # the same letters stand in most lines
def _axis(text):
    return Axis(text)


def _terms(text):
    """Parse "L + 2H - 1" into [(1, ["L"]), (1, ["2", "H"]), (-1, ["1"])]."""
    factor = r"(?:\d+|self\.\w+|[A-Za-z_]\w*)"
    product = rf"{factor}(?:\s*\*?\s*{factor})*"
    if not re.fullmatch(rf"\s*{product}(\s*[+-]\s*{product})*\s*", text):
        raise ValueError(f"{text.strip()!r} is not a size.")
    terms = re.findall(rf"([+-]?)\s*({product})", text)
    return [(-1 if sign == "-" else 1, re.findall(factor, p)) for sign, p in terms]

"""The grammar of a shape line: find it in a docstring and parse it.

line    items  ->  cases             case    items, separated from others by ;
item    names options kinds          mask? (B | 1, S) or (S,) bool | float
names   a, or a and b; ? allows None
option  a shape, None, or the name of a class with a capital letter
shape   (axis, axis, ...)            with ... or … once, for any number of axes
axis    sizes separated by |         each a letter, a number, or computed
"""

import ast
import functools
import inspect
import re
from dataclasses import dataclass

KINDS = {"float": "f", "int": "iu", "bool": "b"}  # word of a line -> dtype.kind


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
    """``mask? (B, S) or (S,) bool``: a name, and the values that it allows."""

    name: str
    shapes: list
    kinds: list  # words of KINDS
    optional: bool
    classes: list  # names of classes whose instances pass unchanged

    @property
    def text(self):
        """The shape as the line has it."""
        return " or ".join(shape.text for shape in self.shapes)

    @property
    def dtype_kinds(self):
        """NumPy's letters for the kinds of numbers that are allowed."""
        return "".join(KINDS[kind] for kind in self.kinds)


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
    """``H | 1`` or ``L + S - 1``: the sizes that one axis may have."""

    def __init__(self, text):
        trees = [_expression(option.strip()) for option in text.split("|")]
        nodes = [node for tree in trees for node in ast.walk(tree)]
        self.texts = [t.strip() for t in text.replace("self.", "").split("|")]
        self.letters = {n.id for n in nodes if isinstance(n, ast.Name)} - {"self"}
        self.attributes = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
        self.codes = [compile(tree, "a shape line", "eval") for tree in trees]

    def fits(self, n, sizes):
        """Return whether ``n`` is allowed; a letter without a size receives n."""
        values = self._values(sizes)
        if n in values:
            return True
        for text, value in zip(self.texts, values):
            if value is None and text in self.letters:
                sizes[text] = n
        return None in values

    def described(self, sizes):
        """Return the sizes of this axis: numbers, and letters that have no size yet."""
        values = zip(self.texts, self._values(sizes))
        return " | ".join(text if n is None else str(n) for text, n in values)

    def _values(self, sizes):
        """Compute each option; None where a letter in it has no size yet."""
        found = []
        for code in self.codes:
            try:
                n = eval(code, {"__builtins__": {}}, sizes)
            except NameError:
                found.append(None)
            else:
                # L + S - 1 is -1 if L = S = 0
                found.append(max(int(n), 0) if n == int(n) else n)
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
    shapes, kinds, classes, optional = [], [], [], False
    for option in re.split(r"\s+or\s+", rest) if rest else ():
        brackets, words = re.fullmatch(r"(\([^()]*\))?\s*(.*)", option).groups()
        words = re.split(r"\s*\|\s*", words) if words else []
        if brackets and all(word in KINDS for word in words):
            shapes.append(_shape(brackets))
            kinds += words
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
            kinds=kinds or ["float"],
            optional=optional or name.endswith("?"),
            classes=classes,
        )
        for name in re.split(r"\s+and\s+", names)
    ]


def _shape(brackets):
    """Parse "(..., L, D)"."""
    texts = brackets[1:-1].replace("…", "...").split(",")
    texts = [text.strip() for text in texts if text.strip()]
    if texts.count("...") > 1:
        raise ValueError(f"{brackets} has dots twice.")
    dots = texts.index("...") if "..." in texts else None
    return Shape([_axis(text) for text in texts if text != "..."], dots)


@functools.cache  # the same letters stand in most lines
def _axis(text):
    return Axis(text)


def _expression(text):
    """Parse "2H", "L + S - 1" or "self.width" into a syntax tree of Python."""
    if re.fullmatch(r"[A-Za-z_]\w*", text):  # perhaps a word of Python, such as in
        return ast.fix_missing_locations(ast.Expression(ast.Name(text, ast.Load())))
    python = re.sub(r"(\b\d+|\w\s)\s*(?=[A-Za-z_])", r"\1 * ", text)  # 2H, G D
    try:
        tree = ast.parse(python, mode="eval")
    except SyntaxError:
        raise ValueError(f"{text!r} is not a size.") from None
    numbers = ast.Constant, ast.BinOp, ast.operator
    names = ast.Name, ast.Attribute, ast.expr_context
    if not all(
        isinstance(n, (ast.Expression, *numbers, *names)) for n in ast.walk(tree)
    ):
        raise ValueError(f"{text!r} is not a size.")
    return tree

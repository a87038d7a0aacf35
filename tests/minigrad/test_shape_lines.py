"""Every function with a shape line is checked, and says which argument is wrong."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import attention
import minigrad
from minigrad.arguments import verb
from minigrad.shape_line import shape_line
from minigrad.shape_match import Match

from ..messages import check_message

PACKAGES = [minigrad, attention]
PROSE = {  # functions whose results are shapes and other things, in words
    "attention.transformer.decoder_only.DecoderOnly.step",
    "attention.transformer.encoder_decoder.EncoderDecoder.forward",
    "attention.variants.steps.BahdanauStep.forward",
    "attention.variants.steps.LuongStep.forward",
}
UNCHECKED = {  # words in the brackets; or functions that checked ones alone call
    "attention.exact.flash.flash_attention",
    "attention.exact.multihead.heads",
    "attention.masks.algebra.Mask.rows",
    "attention.masks.tiling.kinds_of_ranges",
    "attention.positions.offsets.products_by_offset",
    "attention.positions.t5.t5_bucket",
    "attention.scores.forward_twin",
    "attention.softmax.softmax_over_allowed",
    "attention.template.group_heads",
}


def functions(package, private=False):
    """{qualified name: function} of the public functions and methods of a package."""
    found = {}
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        module = importlib.import_module(module.name)
        for owner in [module, *filter(inspect.isclass, vars(module).values())]:
            for name, function in vars(owner).items():
                public = not name.startswith("_") or name in ("__call__", "__init__")
                public = public or private
                own = getattr(function, "__module__", None) == module.__name__
                if public and own and inspect.isfunction(function):
                    found[f"{module.__name__}.{function.__qualname__}"] = function
    return found


def undecorated(functions):
    return [
        name
        for name, function in functions.items()
        if not hasattr(function, "contract") and shape_line(function)
    ]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_shape_line_is_enforced(package):
    assert set(undecorated(functions(package))) <= UNCHECKED


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_right_side_with_shapes_is_parsed(package):
    contracts = {
        name: function.contract()  # raises if the line cannot be parsed
        for name, function in functions(package, private=True).items()
        if hasattr(function, "contract")
    }
    prose = {n for n, c in contracts.items() if c.results is None and "(" in c.right}
    assert len(contracts) > 10
    assert prose == {name for name in PROSE if name.startswith(package.__name__)}


# messages: one argument at a time is wrong

SIZES = range(5, 50, 3)  # of the letters: none is another one plus 1
LEADING = 2, 3  # the axes in the place of the dots
EXPECTED = {"float": "floating-point numbers", "int": "integers", "bool": "booleans"}
CHECKED = {
    name: function
    for package in PACKAGES
    for name, function in functions(package, private=True).items()
    if hasattr(function, "contract")
}


class Call:
    """A call of a function with arguments that fit its shape line."""

    def __init__(self, function):
        self.function, self.contract = function, function.contract()
        self.items = self.contract.items
        letters = {x for item in self.items for s in item.shapes for x in s.letters()}
        letters |= {*self.contract.sizes, *self.contract.attributes}
        self.sizes = dict(zip(sorted(letters), SIZES))
        self.title, layer = function.__name__, None
        if self.contract.is_method:
            owner, name = function.__qualname__.split(".")[-2:]
            layer = object.__new__(type(owner, (), dict(self.sizes)))
            is_internal = name == "forward" or name.startswith("_")
            self.title = owner if is_internal else f"{owner}.{name}"
        self.sizes["self"] = layer  # in which a line finds self.embed_dim
        self.right = {name: self.sizes[name] for name in self.contract.sizes}
        for item in self.items:
            self.right[item.name] = array(item, self.found(item.shapes[0]))

    def found(self, shape, leading=LEADING):
        """Return the sizes of a shape such as (..., L, D)."""
        sizes = [axis.values(self.sizes)[0] for axis in shape.axes]
        if shape.dots is not None:
            sizes[shape.dots : shape.dots] = leading
        return tuple(sizes)

    def with_wrong(self, name, value):
        layer = [self.sizes["self"]] * self.contract.is_method
        return lambda: self.function(*layer, **self.right | {name: value})


def array(item, shape):
    return np.ones(shape, item.kind)


def wrong_shapes(call):
    """Yield (item, shape, fragments): an axis too few, another size, leading axes."""
    known, dots = {*call.contract.sizes, "self"}, False
    for item in call.items:
        shape, fewest = item.shapes[0], min(len(shape.axes) for shape in item.shapes)
        right, expected = call.found(shape), f"expected {shape.text}"
        if fewest:
            yield item, right[len(right) - fewest + 1 :], [expected]
        if dots and shape.dots is not None:
            yield item, call.found(shape, (7, 7)), [expected, f"with {LEADING}."]
        for k, axis in enumerate(shape.axes):
            if axis.letters <= known:  # else the other arguments have to fit this one
                before_dots = shape.dots is None or k < shape.dots
                at = k if before_dots else k + len(LEADING)
                wrong = *right[:at], right[at] + 1, *right[at + 1 :]
                sizes = " = (" * bool(shape.letters())  # a shape of numbers has none
                yield item, wrong, [f"{expected}{sizes}", f"{right[at]}"]
        known |= shape.letters()
        dots = dots or shape.dots is not None


def wrong_kinds(call):
    """Yield (item, value, fragments): another kind of numbers, another dtype, None."""
    floats = [item for item in call.items if item.kind == "float"]
    for item in call.items:
        right, be = call.right[item.name], verb("is", item.name)
        expected = EXPECTED[item.kind]
        for kind in EXPECTED.keys() - {item.kind}:
            wrong = right.astype(kind)
            text = f"{item.name} {be} {wrong.dtype}; expected {expected}"
            yield item, wrong, [text]
        if not item.optional:
            yield item, None, [f"{item.name} {be} None; expected {item.text}."]
        if item in floats[1:]:
            first = f"{floats[0].name} {verb('is', floats[0].name)} float64"
            text = f"{first} and {item.name} float32; expected one dtype"
            yield item, right.astype("f"), [text]


@pytest.mark.parametrize("name", CHECKED)
def test_a_message_says_which_argument_is_wrong(name):
    call = Call(CHECKED[name])
    Match(call.contract, {"self": call.sizes["self"]} | call.right)  # the right one
    for item, shape, fragments in wrong_shapes(call):
        text = f"{call.title}: {item.name} {verb('has', item.name)} shape {shape}; "
        wrong = call.with_wrong(item.name, array(item, shape))
        check_message(wrong, [text, *fragments], ValueError)
    for item, value, fragments in wrong_kinds(call):
        wrong = call.with_wrong(item.name, value)
        check_message(wrong, [f"{call.title}: ", *fragments], TypeError)

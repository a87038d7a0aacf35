"""Fit the arguments of one call to a shape line, and say what does not fit."""

import functools

import numpy as np

from .arguments import verb
from .operators import is_matrix_or_masked
from .tensor import Tensor


class Match:
    """The arguments of one call, fitted to the shape line from left to right."""

    def __init__(self, contract, values):
        self.contract, self.values = contract, values
        layer = values.get("self")
        self.title = contract.title(layer)
        self.arrays = {}  # {name: array}, without None and instances of classes
        for item in contract.items:
            x = values[item.name]
            if x is None and not item.optional:
                text = f"{self.title}: {item.name} {verb('is', item.name)} None"
                raise TypeError(f"{text}; expected {item.text}.")
            bases = {base.__name__ for base in type(x).__mro__}
            if x is not None and not bases & set(item.classes):
                self.arrays[item.name] = self._numbers(item, x)
        self.dtype = self._one_dtype()
        self.sizes = {n: values[n] for n in contract.sizes if type(values[n]) is int}
        self.sizes["self"] = layer
        self.leading = ()  # the axes of every "..." so far, broadcast
        self.fitted = {}  # {name: the first of its shapes that fits}
        present = [item for item in contract.items if item.name in self.arrays]
        for item in present * 2:  # twice, as L + S - 1 may stand before L and S
            self._fit(item)
        self.dots = any(shape.dots is not None for shape in self.fitted.values())

    def conversions(self):
        """Return [(number, function)] of the values that arrive as another type."""
        found = []
        for number, (name, x) in enumerate(self.values.items()):
            if name in self.arrays:
                dtype = self.arrays[name].dtype
                is_float = dtype.kind == "f"
                if is_float and not isinstance(x, np.ndarray):
                    dtype = self.dtype
                if not isinstance(x, Tensor if is_float else np.ndarray):
                    found.append((number, functools.partial(_converted, dtype=dtype)))
        return found

    def check_results(self, results):
        """Raise AssertionError unless the results fit the right side of the line."""
        results, problems = _flat(results), []
        for items in self.contract.results or ():
            before = self.leading, dict(self.sizes)
            problem = self._problem_of_results(items, results)
            if problem is None:
                return
            self.leading, self.sizes = before
            problems.append(problem)
        if problems:
            raise AssertionError(
                f"{self.title} returned {'; '.join(problems)}; its docstring has "
                f"->  {self.contract.right}"
            )

    def _problem_of_results(self, items, results):
        if len(items) != len(results):
            return f"{len(results)} results"
        for item, x in zip(items, results):
            if not item.shapes or (x is None and item.optional):
                continue
            if x is None:
                return "None"
            array = array_of(self.title, item.name, x)
            if array.dtype.kind not in item.dtype_kinds:
                return f"{array.dtype}"
            if item.kind == "float" and self.dtype not in (None, array.dtype):
                return f"{array.dtype} for arguments of {self.dtype}"
            if all(self._problem(s, array.shape, exact=True) for s in item.shapes):
                return f"{item.name} {array.shape}".lstrip()
        return None

    def _numbers(self, item, x):
        """Return the array of ``x`` if it holds numbers of a kind that fits."""
        array = array_of(self.title, item.name, x)
        if array.dtype.kind in item.dtype_kinds:
            return array
        if item.kind == "float" and type(x) is int:
            return array.astype(float)
        if item.kind == "int" and isinstance(x, (list, tuple)) and not array.size:
            return array.astype(int)
        hint = item.hint
        if array.dtype == bool and item.kind == "int" and self.contract.takes_mask:
            hint = "A mask is passed as mask=."
        raise TypeError(
            f"{self.title}: {item.name} {verb('is', item.name)} {array.dtype}; "
            f"expected {item.noun}. {hint}"
        )

    def _one_dtype(self):
        """Return the dtype of the float arguments, which lists and numbers take on."""
        dtypes = {
            item.name: self.arrays[item.name].dtype
            for item in self.contract.items
            if item.kind == "float" and item.name in self.arrays
        }
        exact = [n for n in dtypes if isinstance(self.values[n], (Tensor, np.ndarray))]
        for name in exact[1:]:
            first = exact[0]
            if dtypes[name] != dtypes[first]:
                raise TypeError(
                    f"{self.title}: {first} {verb('is', first)} {dtypes[first]} and "
                    f"{name} {dtypes[name]}; expected one dtype. Use .astype."
                )
        return next((dtypes[name] for name in [*exact, *dtypes]), None)

    def _fit(self, item):
        """Choose the first shape of the item that fits, or raise ValueError."""
        found, problems = self.arrays[item.name].shape, []
        for shape in item.shapes:
            problem = self._problem(shape, found)
            if problem is None:
                self.fitted[item.name] = shape
                return
            problems.append(problem)
        raise ValueError(self._misfit(item, found, problems))

    def _problem(self, shape, found, exact=False):
        """Return what does not fit, or None.

        If all fits, store the sizes of the letters in ``self.sizes``.

        exact   the leading axes must equal those of the arguments; fewer axes, or axes
                of length 1, do not fit
        """
        more = len(found) - len(shape.axes)
        if more < 0 or (more and shape.dots is None):
            return "number of axes"
        start = len(found) if shape.dots is None else shape.dots
        leading = found[start : start + more]
        rest = found[:start] + found[start + more :]
        sizes = dict(self.sizes)
        if not all(axis.fits(n, sizes) for axis, n in zip(shape.axes, rest)):
            return "sizes"
        if exact and self.dots and shape.dots is not None and leading != self.leading:
            return "leading axes"
        try:
            leading = np.broadcast_shapes(self.leading, leading)
        except ValueError:
            return "leading axes"
        self.sizes, self.leading = sizes, leading
        return None

    def _misfit(self, item, found, problems):
        """Return the message: what was found, what fits, and what it depends on."""
        leading = "leading axes" in problems
        letters = {letter for shape in item.shapes for letter in shape.letters()}
        others = [
            f"{name} {self.arrays[name].shape} as {shape.text}"
            for name, shape in self.fitted.items()
            if name != item.name
            and (letters & shape.letters() or (leading and shape.dots is not None))
        ]
        expected = " or ".join(shape.described(self.sizes) for shape in item.shapes)
        message = f"{self.title}: {item.name} {verb('has', item.name)} shape {found}; "
        message += f"expected {expected}"
        if others:
            *most, last = others
            message += ", with " + ", ".join(most) + " and " * bool(most) + last
        message += "."
        if leading:
            message += f" Leading axes must broadcast with {self.leading}."
        elif (
            len(found) == 1
            and problems == ["number of axes"]
            and any(len(shape.axes) == 2 for shape in item.shapes)
        ):
            message += " To pass one vector x, write x[None, :]."
        return message


def array_of(title, name, x):
    """Return the array of a Tensor, an array, a list or a number."""
    if isinstance(x, Tensor):
        return x._data
    if isinstance(x, (list, tuple)) and any(isinstance(each, Tensor) for each in x):
        raise TypeError(
            f"{title}: {name} is a {type(x).__name__} of Tensors; expected one Tensor. "
            "Use minigrad.stack."
        )
    try:
        array = np.asarray(x)
    except ValueError:
        raise ValueError(
            f"{title}: {name} is a list of rows that differ in length; expected rows "
            "of one length."
        ) from None
    if array.dtype.kind not in "biuf" or is_matrix_or_masked(x):
        what = f"{array.dtype}" if type(x) is np.ndarray else type(x).__name__
        raise TypeError(
            f"{title}: {name} is of type {what}; expected an array or a Tensor."
        )
    return array


def _converted(x, dtype):
    """Return x as a Tensor if ``dtype`` is one of floats, otherwise as an array."""
    if dtype.kind == "f":
        return Tensor._from_array(np.asarray(x, dtype))
    return x._data if isinstance(x, Tensor) else np.asarray(x, dtype)


def _flat(results):
    """Return one list of the results of nested tuples."""
    if not isinstance(results, tuple):
        return [results]
    return [each for result in results for each in _flat(result)]

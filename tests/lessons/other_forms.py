"""Appended to a right answer: each function returns its results in another honest form.

The judge adds this text to a reference answer, with one of these forms for MODE: Python
numbers, arrays of shape (), lists, tuples, whole numbers as floats, …
"""

import functools as _ft
import types as _types
import numpy as _np

_MODE = 'MODE'
_DEPTH = [0]


def _number(x):
    if isinstance(x, (bool, _np.bool_)) and _MODE not in ("python", "scalar0"):
        return x
    if _MODE == "python":
        return x.item() if isinstance(x, (_np.generic, _np.ndarray)) else x
    if _MODE == "numpy":
        return _np.asarray(x)[()] if isinstance(x, (int, float, _np.ndarray)) else x
    if _MODE == "array0":
        return _np.array(x)
    if _MODE == "wholefloat":
        return float(x) if isinstance(x, (int, _np.integer)) else x
    if _MODE == "npwholefloat":
        return _np.float64(x) if isinstance(x, (int, _np.integer)) else x
    if _MODE == "whole-int":
        return int(x) if isinstance(x, (float, _np.floating)) and float(x).is_integer() else x
    return x


def _is_number(x):
    return (isinstance(x, (int, float, _np.number, _np.bool_)) and True) or (
        isinstance(x, _np.ndarray) and x.ndim == 0 and x.dtype.kind in "biuf")


def _plain_list(x):
    return type(x) in (list, tuple)


def _convert(x, inner=False):
    if _is_number(x):
        return _number(x)
    if isinstance(x, _types.FunctionType):
        return _wrap(x)
    if isinstance(x, _np.ndarray):
        if _MODE == "lists":
            return x.tolist()
        if _MODE == "lists1" and x.ndim == 1:
            return x.tolist()
        if _MODE == "listofrows":
            return list(x)
        if _MODE == "tuples":
            return _tuples(x.tolist())
        if _MODE == "tuple1" and x.ndim == 1:
            return tuple(x)
        if _MODE in ("wholefloat", "npwholefloat") and x.dtype.kind in "iu":
            return x.astype(float)
        return x
    if type(x) in (list, tuple):
        mixed = any(callable(i) or isinstance(i, _np.ndarray) for i in x)
        if _MODE == "arrays" and not mixed:
            try:
                a = _np.array(x)
                if a.dtype.kind in "biufU":
                    return a
            except ValueError:
                pass
            return x
        if _MODE == "objects" and not mixed:
            try:
                return _np.array(x, dtype=object)
            except ValueError:
                return x
        items = [_convert(i, True) for i in x]
        if _MODE in ("lists", "swaplist"):
            return items
        if _MODE in ("tuples",):
            return tuple(items)
        return type(x)(items)
    if type(x) is dict:
        return {k: _convert(v, True) for k, v in x.items()}
    return x


def _tuples(x):
    return tuple(map(_tuples, x)) if isinstance(x, list) else x


def _wrap(f):
    @_ft.wraps(f)
    def wrapped(*args, **options):
        _DEPTH[0] += 1
        try:
            result = f(*args, **options)
        finally:
            _DEPTH[0] -= 1
        return result if _DEPTH[0] else _convert(result)
    return wrapped


for _name, _f in list(globals().items()):
    if isinstance(_f, _types.FunctionType) and not _name.startswith("_") and _f.__module__ is not None and _f.__code__.co_filename == _wrap.__code__.co_filename:
        globals()[_name] = _wrap(_f)

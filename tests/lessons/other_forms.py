"""Appended to a right answer: each function returns its results in another honest form.

The judge adds this text to a reference answer, with one of these forms for MODE: Python
numbers, arrays of shape (), lists for tuples, tuples for arrays, floats for integers.
"""

import functools as _ft
import types as _types
import numpy as _np

_MODE = 'MODE'
_DEPTH = [0]


def _number(x):
    if _MODE == "python" and isinstance(x, (_np.generic, _np.ndarray)):
        return x.item()
    if _MODE == "array0" and not isinstance(x, (bool, _np.bool_)):
        return _np.array(x)
    if _MODE == "wholefloat" and isinstance(x, (int, _np.integer)):
        return x if isinstance(x, bool) else float(x)
    return x


def _convert(x):
    if isinstance(x, _types.FunctionType):
        return _wrap(x)
    if isinstance(x, (bool, int, float, _np.number, _np.bool_)):
        return _number(x)
    if isinstance(x, _np.ndarray):
        if x.ndim == 0:
            return _number(x) if x.dtype.kind in "biuf" else x
        if _MODE == "tuple1" and x.ndim == 1:
            return tuple(x)
        return x.astype(float) if _MODE == "wholefloat" and x.dtype.kind in "iu" else x
    if type(x) in (list, tuple):
        items = [_convert(i) for i in x]
        return items if _MODE == "swaplist" else type(x)(items)
    return {k: _convert(v) for k, v in x.items()} if type(x) is dict else x


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
    if isinstance(_f, _types.FunctionType) and not _name.startswith("_"):
        if _f.__code__.co_filename == _wrap.__code__.co_filename:
            globals()[_name] = _wrap(_f)

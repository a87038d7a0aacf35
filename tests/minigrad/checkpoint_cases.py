"""A small state, equality to the last bit, and altered states: for checkpoints."""

import json
import math
import zipfile

import numpy as np

from minigrad import checkpoint

SMALL = {"a": {"W": np.arange(6.0).reshape(2, 3), "b": np.int8([1, 2])}, "lr": 0.25}


def save_npz(path, state):
    """Write a state as earlier versions did: a zip with a file for each array."""
    arrays = {}
    structure = json.dumps(checkpoint._take_out(state, arrays, ()))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("minigrad.json", structure)
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, array)


def assert_same(a, b):
    """Equal to the last bit, and of the same types, all the way down."""
    assert type(a) is type(b), (a, b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert_same(x, y)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()
    elif isinstance(a, float) and math.isnan(a):
        assert math.isnan(b)
    else:
        assert a == b and str(a) == str(b)  # -0.0 == 0.0, but not as a string


ODD = [None, True, -1, 0, 0.5, 2**70, float("nan"), "", "@array", [], {}, [[1]]]


def altered(value, rng):
    """Return nested dicts and lists with one value replaced or removed."""
    if not isinstance(value, (dict, list)) or not value or rng.random() < 0.2:
        return rng.choice(ODD)
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key, copy = rng.choice(keys), value.copy()
    if rng.random() < 0.2:
        del copy[key]
    else:
        copy[key] = altered(value[key], rng)
    return copy

"""The compiled loops of replaceable functions; importing this module registers them.

An entry point in setup.cfg names this module, so that a program that imports minigrad
alone gets the loops too (``minigrad/loops.py``).
"""

from minigrad.loops import LOOPS

from .gelu import gelu
from .gru import gru
from .layer_norm import layer_norm
from .linear_map import linear

LOOPS |= {
    "linear": linear,
    "gelu": gelu,
    "layer_norm": layer_norm,
    "gru": gru,
}

"""Layers with parameters, named and initialized as in PyTorch."""

from typing import TYPE_CHECKING

from ..torch_names import LAYERS, unknown
from . import functional, init
from .containers import ModuleDict, ModuleList, Sequential
from .layers import Dropout, Embedding, LayerNorm, Linear, RMSNorm
from .module import Module, Parameter
from .recurrent import GRU, LSTM, GRUCell, LSTMCell

__all__ = [
    "Module", "ModuleDict", "ModuleList", "Parameter", "Sequential", "Linear",
    "Embedding", "LayerNorm", "RMSNorm", "Dropout", "GRU", "GRUCell", "LSTM",
    "LSTMCell", "functional", "init",
]  # fmt: skip

if not TYPE_CHECKING:  # editors mark all other names as unknown

    def __getattr__(name):
        raise unknown("minigrad.nn", name, LAYERS)

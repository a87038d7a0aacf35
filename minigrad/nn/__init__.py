"""Layers with parameters, named and initialized as in PyTorch."""

from ..torch_names import LAYERS, unknown
from . import init
from .containers import Sequential
from .layers import Dropout, Embedding, LayerNorm, Linear
from .module import Module, Parameter
from .recurrent import GRU, LSTM, GRUCell, LSTMCell


def __getattr__(name):
    raise unknown("minigrad.nn", name, LAYERS)

"""Layers with parameters, named and initialized as in PyTorch."""

from . import init
from .layers import Dropout, Embedding, LayerNorm, Linear
from .module import Module, Parameter
from .recurrent import GRU, LSTM, GRUCell, LSTMCell

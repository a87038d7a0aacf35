"""Layers with parameters, named and initialised as torch's are."""

from . import init
from .layers import Dropout, Embedding, LayerNorm, Linear
from .module import Module, Parameter
from .recurrent import GRU, LSTM, GRUCell, LSTMCell

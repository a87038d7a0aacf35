"""The functions of minigrad under the name of PyTorch's module: functional.softmax."""

from typing import TYPE_CHECKING

from ..ops import *
from ..torch_names import FUNCTIONS, unknown

if not TYPE_CHECKING:  # editors mark all other names as unknown

    def __getattr__(name):
        raise unknown("minigrad.nn.functional", name, FUNCTIONS)

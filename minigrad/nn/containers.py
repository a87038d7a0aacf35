"""Modules of modules: Sequential applies its layers one after the other."""

from ..tensor import Tensor
from .module import Module

ModuleList, ModuleDict = list, dict  # a module finds the modules in these


class Sequential(Module):
    """Apply each layer to the output of the one before it.

        Sequential(Linear(5, 7), minigrad.tanh, Linear(7, 3))

    A layer is a module or a function of one tensor. Layer i is the attribute "i", so
    the parameters are called 0.weight, 0.bias, 2.weight, 2.bias, as in PyTorch.
    """

    def __init__(self, *layers):
        self.length = len(layers)
        for i, layer in enumerate(layers):
            if not callable(layer):
                raise TypeError(
                    f"Sequential: layer {i} is of type {type(layer).__name__}; "
                    "expected a module or a function. For a list of layers, write "
                    "Sequential(*layers)."
                )
            setattr(self, str(i), layer)

    def forward(self, x) -> Tensor:
        """Apply the layers in their order."""
        for i in range(self.length):
            x = getattr(self, str(i))(x)
        return x

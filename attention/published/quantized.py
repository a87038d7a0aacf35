"""Layers of a language model whose weights stay in blocks, as the file has them.

    y = x W^T + b,    rows W[ids]        each w_ij is made from its block when it is used

A model of n weights needs about 5 n / 8 bytes in Q4_1 instead of 4 n in float32, and
the mapped file is read as it is. The layers have no gradients: a model to be trained or
changed is loaded in float32.
"""

from minigrad import Tensor, nn
from minigrad.arguments import between
from minigrad.shapes import shapes

from .blocks import dequantized, product


class QuantizedLinear(nn.Module):
    """Map the last axis: y = x W^T + b.

    tensor   the StoredTensor of W (out, in), in blocks
    bias     a Parameter b (out,), or None
    """

    def __init__(self, tensor, bias=None):
        self.out_features, self.in_features = tensor.shape
        self.tensor, self.bias = tensor, bias

    @shapes
    def forward(self, x):
        """x (..., self.in_features)  ->  y (..., self.out_features)"""
        if x.requires_grad:
            raise RuntimeError(
                "QuantizedLinear: x requires a gradient; expected no_grad(), or a "
                "model that is loaded in float32: weights in blocks have no gradients."
            )
        y = self.of_array(x.data.reshape(-1, self.in_features))
        return Tensor._from_array(y.reshape(*x.shape[:-1], self.out_features))

    def of_array(self, x):
        """Return the rows y (N, out) of an array of rows x (N, in)."""
        y = product(self.tensor, x)
        return y if self.bias is None else y + self.bias.data

    def extra_repr(self):
        """Return the sizes and the type, for ``repr``."""
        return f"{self.in_features}, {self.out_features}, {self.tensor.kind}"


class QuantizedEmbedding(nn.Module):
    """Look up rows W[ids].

    tensor   the StoredTensor of W (V, D), in blocks
    """

    def __init__(self, tensor):
        self.tensor = tensor

    @shapes
    def forward(self, ids):
        """ids (...) int  ->  y (..., D)"""
        V, D = self.tensor.shape
        between("QuantizedEmbedding", "ids", ids, 0, V - 1, "the rows of the table")
        blocks = self.tensor.stored[ids]  # (..., D / 32)
        rows = dequantized(self.tensor.kind, blocks)  # (..., D / 32, 32)
        return Tensor._from_array(rows.reshape(*ids.shape, D))

"""How a file stores the numbers of a tensor: as floats, or in blocks of few bits.

A quantized type cuts each row of a matrix into blocks of 32 weights. A block has its
own scale d, some types a smallest value m, both float16, and a small whole number q_i
for each weight w_i:

    type   bytes of a block                          weight               bits a weight
    Q8_0   d (2), q as int8 (32)                     w_i = d q_i                    8.5
    Q4_0   d (2), 32 q of 4 bits (16)                w_i = d (q_i - 8)              4.5
    Q4_1   d (2), m (2), 32 q of 4 bits (16)         w_i = d q_i + m                5.0

The byte j of the 16 holds two q: q_j in its lower four bits, and q_(j + 16) in its
upper four. Example of a block of Q4_1 with d = 0.5, m = -4: the byte 0xF2 at j = 0
gives w_0 = 0.5 * 2 - 4 = -3 and w_16 = 0.5 * 15 - 4 = 3.5.

A block is an item of a structured NumPy array, so that ``blocks["d"]`` are the scales
of all blocks, without a copy. bfloat16 and the other types of floats and integers are
those of minigrad/safetensors.py.

Source: the structures block_q8_0, block_q4_0 and block_q4_1 of ggml.
"""

import math
from dataclasses import dataclass

import numpy as np

from minigrad import safetensors

from ..kernels import blocks as kernel

SIZE = 32  # weights in a block
BLOCKS = {
    "Q8_0": np.dtype([("d", "<f2"), ("q", "i1", SIZE)]),
    "Q4_0": np.dtype([("d", "<f2"), ("q", "u1", SIZE // 2)]),
    "Q4_1": np.dtype([("d", "<f2"), ("m", "<f2"), ("q", "u1", SIZE // 2)]),
}
STRIP = 2**18  # weights that ``product`` has as float32 at a time, about
STORED = safetensors.STORED | BLOCKS  # type: dtype of an item in the file


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a file, which is mapped into memory and read when it is used.

    kind     a name in ``STORED``
    shape    that of the weights, (out, in) for a matrix
    stored   the items of the file: shape (..., in / 32) if they are blocks, else
             ``shape``. It cannot be written to
    """

    kind: str
    shape: tuple
    stored: np.ndarray

    def array(self):
        """Return the weights in float32; if the file has that type, without a copy."""
        if self.kind in BLOCKS:
            return dequantized(self.kind, self.stored).reshape(self.shape)
        return np.asarray(safetensors.native(self.stored, self.kind), np.float32)


def stored_tensor(kind, shape, data):
    """Return the StoredTensor of the bytes ``data`` (n,), which has the right size."""
    items = shape[:-1] + (shape[-1] // SIZE,) if kind in BLOCKS else shape
    return StoredTensor(kind, shape, data.view(STORED[kind]).reshape(items))


def bytes_of(kind, shape):
    """Return the bytes that a tensor takes; None if its rows are not whole blocks."""
    if kind in BLOCKS and (not shape or shape[-1] % SIZE):
        return None
    per_item = SIZE if kind in BLOCKS else 1
    return math.prod(shape) // per_item * STORED[kind].itemsize


def dequantized(kind, blocks):
    """Return the float32 weights (..., 32) of blocks (...). See the top of this file.

    A damaged scale may be infinite; the weights are then infinite or NaN.
    """
    d, q = blocks["d"][..., None].astype(np.float32), blocks["q"]  # (..., 1), (..., Q)
    if kind != "Q8_0":
        q = np.concatenate([q & 15, q >> 4], -1)  # (..., 32)
    with np.errstate(invalid="ignore", over="ignore"):
        if kind == "Q4_0":
            return d * (q.astype(np.int8) - 8)
        if kind == "Q4_1":
            return d * q + blocks["m"][..., None].astype(np.float32)
        return d * q


def product(tensor, x):
    """Return x W^T (N, out) for x (N, in) and the StoredTensor of W, in blocks.

    A compiled loop computes it; without one, strips of W become float32 in turn.
    """
    n_out, n_in = tensor.shape
    y = kernel.product(tensor.kind, tensor.stored.view(np.uint8), x)
    if y is None:
        y, rows = np.empty((len(x), n_out), x.dtype), max(STRIP // n_in, 1)
        for j in range(0, n_out, rows):
            strip = dequantized(tensor.kind, tensor.stored[j : j + rows])
            y[:, j : j + rows] = x @ strip.reshape(-1, n_in).T
    return y

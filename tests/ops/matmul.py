"""Products of matrices: specifications."""

import numpy as np

from .spec import call, normal, of_shapes, spec


def matmul(a, b):
    """sum_k a_ik b_kj, over broadcast leading axes; a vector has no i, or no j."""
    i, j = "i" * (a.ndim > 1), "j" * (b.ndim > 1)
    return np.einsum(f"...{i}k,...k{j}->...{i}{j}", a, b)


spec("matmul", matmul, of_shapes({
    "matrices": ((3, 5), (5, 7)),
    "vectors": ((5,), (5,)),
    "matrix-vector": ((3, 5), (5,)),
    "vector-matrix": ((5,), (5, 7)),
    "batched": ((3, 5, 7), (3, 7, 11)),
    "one-for-all": ((3, 5, 7), (7, 11)),
    "batches-broadcast": ((3, 1, 5, 7), (11, 7, 1)),
    "batch-vector": ((3, 5, 7), (7,)),
    "vector-batch": ((5,), (3, 5, 7)),
    "empty-rows": ((0, 5), (5, 7)),
    "empty-batch": ((0, 3, 5), (5, 7)),
    "empty-sum": ((3, 0), (0, 5)),
}))  # fmt: skip


def linear(x, weight, bias=None):
    y = np.einsum("...i,oi->...o", x, weight)
    return y if bias is None else y + bias


spec("linear", linear, of_shapes({
    "rows": ((3, 5), (7, 5), (7,)),
    "vector": ((5,), (7, 5), (7,)),
    "batched": ((3, 11, 5), (7, 5), (7,)),
    "no-bias": ((3, 5), (7, 5), None),
    "empty": ((0, 5), (7, 5), (7,)),
}))  # fmt: skip


def einsum(subscripts, *operands):
    """The product of all operands, an axis for each letter, summed over some."""
    inputs, _, output = subscripts.replace(" ", "").partition("->")
    inputs = inputs.split(",")
    letters = sorted(set("".join(inputs)))
    product = 1.0
    for own, x in zip(inputs, operands):
        x = x.transpose([own.index(a) for a in letters if a in own])
        shape = iter(x.shape)
        product = product * x.reshape([next(shape) if a in own else 1 for a in letters])
    summed = tuple(i for i, a in enumerate(letters) if a not in output)
    kept = [a for a in letters if a in output]
    return product.sum(summed).transpose([kept.index(a) for a in output])


_shapes = {
    "heads": ("bhid,bhjd->bhij", (2, 3, 5, 7), (2, 3, 11, 7)),
    "length-one": ("ij,jk->ik", (3, 1), (5, 7)),  # repeated, as NumPy does
    "length-one-alone": ("ij,jk,k->i", (3, 5), (1, 1), (7,)),
    "three": ("ij, jk, kl -> il", (3, 5), (5, 7), (7, 2)),
    "one": ("ijk->ki", (3, 5, 7)),
    "number": ("ij->", (3, 5)),
    "summed-alone": ("ij,k->i", (3, 5), (7,)),
    "empty": ("ij,jk->ik", (0, 5), (5, 7)),
}
spec(
    "einsum",
    einsum,
    {
        name: lambda r, s=s, shapes=shapes: call(s, *(normal(r, t) for t in shapes))
        for name, (s, *shapes) in _shapes.items()
    },
)

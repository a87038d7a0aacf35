"""Sums of products, written with letters: Einstein's summation."""

import numpy as np

from ..differentiable import differentiable


@differentiable
def einsum(subscripts, *operands):
    """Multiply the operands and sum over the letters that the output does not have.

    ``einsum("bhid,bhjd->bhij", q, k)`` is the product q k^T of each head:

        y_bhij = sum_d q_bhid k_bhjd

    Each operand has a letter for each axis; "..." is not supported, and no operand has
    one letter twice.

    y is linear in each operand. Its derivative with respect to an operand contains the
    product of the other operands. So the gradient of an operand is an einsum too, in
    which g replaces the operand:

        dq = einsum("bhij,bhjd->bhid", g, k)

    If neither g nor another operand has a letter, or only with length 1, the forward
    summed this operand over that letter. Then all entries along this axis receive the
    same gradient.
    """
    inputs, output = _letters(subscripts, operands)
    operands = [np.asarray(x) for x in operands]
    y = np.einsum(subscripts, *operands, optimize=True)

    def backward(g):
        gradients = [None]  # of the subscripts
        for i, x in enumerate(operands):
            others = [g, *operands[:i], *operands[i + 1 :]]
            letters = [output, *inputs[:i], *inputs[i + 1 :]]
            gradients.append(_sum_of_products(x, inputs[i], others, letters))
        return gradients

    return y, backward


def _sum_of_products(x, target, others, letters):
    """Return the gradient of x, which has the letters ``target``, from the others."""
    shared = [a for a in target if any(a in each for each in letters)]
    subscripts = ",".join(letters) + "->" + "".join(shared)
    d = np.einsum(subscripts, *others, optimize=True)
    d = d[tuple(slice(None) if a in shared else None for a in target)]
    return np.broadcast_to(d, np.broadcast_shapes(d.shape, x.shape))


def _letters(subscripts, operands):
    """Return the letters of each operand, and of the output."""
    if not isinstance(subscripts, str):
        raise TypeError(
            f"einsum: the subscripts are of type {type(subscripts).__name__}; expected "
            'a text such as "ij,jk->ik", before the operands.'
        )
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    inputs = inputs.split(",")
    if not arrow:  # as in NumPy: the letters that occur once, in alphabetical order
        letters = "".join(inputs)
        output = "".join(a for a in sorted(letters) if letters.count(a) == 1)
    if "." in text or any(len(set(each)) < len(each) for each in inputs):
        raise ValueError(
            f"einsum: found {subscripts!r}; expected letters, each at most once in an "
            'operand, without "...".'
        )
    if len(inputs) != len(operands):
        raise ValueError(
            f"einsum: {subscripts!r} names {len(inputs)} operands; found "
            f"{len(operands)}."
        )
    return inputs, output

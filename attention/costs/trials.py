"""Run each variant once: count its operations, or measure the memory that it holds.

    counted("window")          predicted and counted operations, for a few tokens
    measured("window", 1024)   measured bytes, beside the inputs

Counting runs the definition in a variant's row. Measuring runs its function or layer in
NumPy, so that nothing has to be compiled, under tracemalloc. What is made once for many
calls is not measured: a layer, or the BlockMask and the list of tiles of a pattern.
"""

import ctypes
import functools
import itertools
import re
import tracemalloc

import numpy as np

from minigrad import Tensor, no_grad
from minigrad.nn import Parameter

from .. import kernels
from ..exact.sdpa import scaled_dot_product_attention
from ..masks import from_array
from ..masks.block_mask import BlockMask
from ..template import attend
from ..variants.table import NORMALIZERS, PATTERNS, VARIANTS
from .counted import count, polynomial
from .formulas import ARRAY, cost_of, shapes_of

SMALL = dict(L=6, S=8, E=4, Ev=3, A=5)  # of counted calls


def counted(variant):
    """Return the Cost that is predicted for the sizes SMALL, and the OpCounter."""
    options = VARIANTS[variant].small
    return cost_of(variant, **SMALL | options), counted_for(variant, **SMALL | options)


def counted_for(variant, **sizes):
    """Return the OpCounter of a call with these sizes and options."""
    inputs, parameters = arrays_of(variant, **sizes)
    middle = in_the_middle(variant, parameters, sizes["S"])
    options = {x: n for x, n in sizes.items() if x in VARIANTS[variant].options}
    return count(variant, *inputs, parameters=parameters, **options, **middle)[1]


def counted_formula(variant):
    """Return the formula of the multiplications of a variant, found by counting them.

    The letters are those of the row's arrays; its options are those of few tokens.
    """
    row = VARIANTS[variant]
    text = f"{row.inputs}, {row.parameters}"
    sizes = SMALL | {x: n for x, n in row.small.items() if x in row.options}
    letters = [x for x in ("L", "S", "E", "Dk", "Ev", "A", "H", *row.numbers)
               if re.search(rf"\b{x}\b", text) and x not in row.options]  # fmt: skip
    if row.equal_widths:
        letters = [x for x in letters if x != "Dk"]
    counts = [
        counted_for(variant, **sizes | dict(zip(letters, chosen))).multiplications
        for chosen in itertools.product((2, 4, 6), repeat=len(letters))
    ]
    return polynomial(np.reshape(counts, [3] * len(letters)), letters)


def in_the_middle(variant, parameters, S):
    """Return options so that local windows pass no end: W keys each, as in the formula.

    For local-p, v_p is set to 0, so that all centres are S / 2, for an even S.
    """
    if variant == "local-p":
        parameters[1][:] = 0
    return {"centre": lambda t: (S - 1) // 2} if variant == "local-m" else {}


def measured(variant, L, S=None, E=64):
    """Return the bytes that a call holds beside the inputs; S is None: L keys."""
    with kernels.backend("numpy"):
        return peak_bytes(call_of(variant, L, S or L, E), _trace_arrays)


def peak_bytes(call, trace=tracemalloc.start):
    """Return the bytes that a call allocates at its widest point, without a graph.

    trace   starts tracemalloc, for all memory or for the arrays of NumPy alone
    """
    with no_grad():
        trace()
        try:
            for _ in range(2):
                before = tracemalloc.get_traced_memory()[0]
                tracemalloc.reset_peak()
                output = call()
                peak = tracemalloc.get_traced_memory()[1] - before
                del output  # it was held until here, so it counts
                if tracemalloc.get_traced_memory()[0] == before:
                    break  # else the call made what later calls use: a list of tiles
            return peak
        finally:
            tracemalloc.stop()


class _Allocator(ctypes.Structure):
    """Python's PyMemAllocatorEx: a context and four functions."""

    _fields_ = [("functions", 5 * ctypes.c_void_p)]


def _trace_arrays():
    """Start tracemalloc for the arrays of NumPy only, and not for Python's objects.

    To trace the objects as well takes twice as long. For 1024 tokens of width 64 they
    are less than a fifth of the bytes, but in ``stream`` and ``evict``, whose output is
    a Tensor for each token, they are half.
    """
    domains = {domain: _Allocator() for domain in range(3)}
    for domain, allocator in domains.items():
        ctypes.pythonapi.PyMem_GetAllocator(domain, ctypes.byref(allocator))
    tracemalloc.start()
    for domain, allocator in domains.items():
        ctypes.pythonapi.PyMem_SetAllocator(domain, ctypes.byref(allocator))


def call_of(variant, L, S, E):
    """Return a call of a variant with L queries and S keys of width E, in float32."""
    arrays = arrays_of(variant, L=L, S=S, E=E, Ev=E, A=E, dtype=np.float32)
    inputs = [Tensor(x) for x in arrays[0]]
    function, _ = prepared(variant, *arrays, VARIANTS[variant].options)
    return lambda: function(*inputs)


def arrays_of(variant, *, E, Dk=None, H=1, dtype=float, seed=0, **sizes):
    """Return two lists of arrays, the inputs and the parameters, for a variant.

    They are random, with rows of length 1 on average, so that no recurrence overflows.
    """
    row, rng = VARIANTS[variant], np.random.default_rng(seed)
    letters = row.options | row.numbers | dict(E=E, Dk=Dk or E, H=H, Hk=H) | sizes
    return tuple(
        [rng.normal(0, (shape or [1])[-1] ** -0.5, shape).astype(dtype)
         for shape in shapes_of(text, letters).values()]
        for text in (row.inputs, row.parameters)
    )  # fmt: skip


def prepared(variant, inputs, parameters, options):
    """Return the package's function of the inputs, and {name: its nn.Parameter}.

    What is made once for many calls is made here.
    """
    row, q, k = VARIANTS[variant], inputs[0], inputs[1 % len(inputs)]
    if row.layer is None:
        own = {x: n for x, n in options.items() if x in row.options}
        names = [name for name, _ in ARRAY.findall(row.parameters)]
        kept = dict(zip(names, map(Parameter, parameters)))
        function = function_of(row, q, k, **own)
        return lambda *inputs: first(function(*inputs, *kept.values())), kept
    layer = row.layer(q.shape[1], k.shape[1], None, **options)
    kept = dict(layer.named_parameters())
    for parameter, x in zip(kept.values(), parameters):
        parameter.data = x

    def run(*inputs):
        output = first(layer(*inputs))
        vars(layer).pop("attention_weights", None)  # it keeps those of the last call
        return output

    return run, kept


def function_of(row, q, k, **options):
    """Return the attention (*inputs, *parameters) of a row that is not a layer."""
    if row.name in PATTERNS:
        pattern = row.definition(**options)
        tiles = BlockMask.from_mask(pattern, q.shape[-2], k.shape[-2])

        def in_tiles(q, k, v, mask=None):
            chosen = tiles if mask is None else pattern & from_array(mask)
            return scaled_dot_product_attention(q, k, v, chosen, path="tiled")

        return in_tiles
    if row.name in NORMALIZERS:
        return lambda q, k, v, *parameters, mask=None: attend(
            q, k, v, mask=mask, normalize=row.bound(*parameters, **options)
        )
    return functools.partial(row.function, **options)


def first(outputs):
    """Return the first of several outputs, or the only one."""
    return outputs[0] if isinstance(outputs, tuple) else outputs

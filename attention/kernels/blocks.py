"""The product with a matrix of weights that stay in blocks of 4 or 8 bits.

    y_ij = sum_k x_ik w_jk,    w_jk = d q_jk + m        d and m of the block of w_jk

A text is written one token at a time, and each token reads every weight once: the time
is that of reading them. Blocks have a fifth of the bytes of float32. They are fetched
AHEAD bytes early, as the memory is slower than the arithmetic: SmolLM2-135M takes 12.8
instead of 17.5 ms a token. A block is read once for ROWS rows of x, its 32 weights are
made in two vectors, and the sums of the products stay in registers too
(``registers.py`` explains such instructions).

``attention/published/blocks.py`` has the formats, and the twin. A weight has the bits
of the twin's; the sums are taken in another order.
"""

import numpy as np

from .compiling import Generated, kernel, reads, writes
from .pool import spread
from .registers import Memory

KINDS = ("Q8_0", "Q4_0", "Q4_1")
ROWS = 4  # rows of x that meet a block at once
STRIP = 16  # rows of W in a work item: they stay in the cache for all rows of x
AHEAD = 2048  # bytes, so that they are in the cache when they are read
LANES = 16  # numbers in a vector; LLVM makes two of it where a register has 8
HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)


def product(kind, blocks, x):
    """Return x W^T (N, out), or None if the twin should run.

    kind     a name in ``KINDS``
    blocks   those of W as bytes, uint8 (out, bytes of a row)
    x        (N, in)
    """
    loop = product_loop.version(x.dtype)
    if loop is None:
        return None
    y = np.empty((len(x), len(blocks)), x.dtype)
    items, x = -(-len(blocks) // STRIP), np.ascontiguousarray(x)
    halves = np.asarray(HALVES, x.dtype)
    work = y.size * x.shape[1]
    spread(loop, work, items, KINDS.index(kind), blocks, halves, x, y)
    return y


def dots(kind, rows):
    """Return dots(blocks, halves, x, y, i, j), which sets

        y[i + r, j] = x[i + r] . w_j        r = 0 ... rows - 1

    halves   the value of each of the 2^16 numbers of float16, which has no instruction
             on old processors
    """
    return Generated(lambda numba, char: _in_registers(kind, rows))


def _in_registers(kind, rows):
    """Return ``dots`` as an intrinsic of numba, which writes LLVM instructions."""
    from numba import types
    from numba.core import cgutils
    from numba.core.cgutils import ir
    from numba.extending import intrinsic

    header = 4 if kind == "Q4_1" else 2  # bytes of d and m
    nbytes = header + (32 if kind == "Q8_0" else 16)  # of a block
    bytes_16 = ir.VectorType(ir.IntType(8), LANES)

    @intrinsic
    def dots(typing_context, blocks, halves, x, y, i, j):
        return types.void(blocks, halves, x, y, types.intp, types.intp), generate

    def generate(context, builder, signature, args):
        blocks, halves, x, y = (
            context.make_array(array)(context, builder, value)
            for array, value in zip(signature.args[:4], args[:4])
        )
        i, j = args[4:]
        number = context.get_data_type(signature.args[2].dtype)
        vector = ir.VectorType(number, LANES)
        memory = Memory(builder, vector, None)

        def read(kind, column, more):  # at blocks[j, column + more]
            at = memory.address(blocks, j, column, 0, more)
            value = builder.load(builder.bitcast(at, kind.as_pointer()))
            value.align = 1
            return value

        def prefetch(column):  # what comes AHEAD bytes later, also in the next rows
            at = memory.address(blocks, j, column, 0, AHEAD)
            to_read, often, data = (ir.Constant(ir.IntType(32), n) for n in (0, 3, 1))
            args = at, to_read, often, data
            kind = ir.FunctionType(ir.VoidType(), [x.type for x in args])
            name = "llvm.prefetch.p0"
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            builder.call(function, args)

        def half(column, more):
            code = builder.zext(read(ir.IntType(16), column, more), ir.IntType(64))
            return builder.load(builder.gep(halves.data, [code]))

        def weights(column):  # of the block that begins there: two vectors
            scale = half(column, 0)
            d = memory.broadcast(scale, vector)
            if kind == "Q8_0":
                q = (read(bytes_16, column, header + h) for h in (0, LANES))
                return [builder.fmul(d, builder.sitofp(each, vector)) for each in q]
            if kind == "Q4_1":
                least = half(column, 2)
            else:
                least = builder.fmul(scale, ir.Constant(number, -8.0))
            m, q = memory.broadcast(least, vector), read(bytes_16, column, header)
            low = builder.and_(q, ir.Constant(bytes_16, [15] * LANES))
            high = builder.lshr(q, ir.Constant(bytes_16, [4] * LANES))
            q = (builder.uitofp(each, vector) for each in (low, high))
            return [memory.multiply_add(d, each, m) for each in q]

        parts = [(r, h) for r in range(rows) for h in (0, 1)]
        sums = {rh: cgutils.alloca_once(builder, vector) for rh in parts}
        for rh in parts:
            builder.store(ir.Constant(vector, None), sums[rh])
        width = cgutils.unpack_tuple(builder, blocks.shape, 2)[1]
        size = ir.Constant(width.type, nbytes)
        with cgutils.for_range(builder, builder.udiv(width, size)) as loop:
            column = builder.mul(loop.index, size)
            prefetch(column)
            w = weights(column)
            k = builder.mul(loop.index, ir.Constant(width.type, 2 * LANES))
            for r, h in parts:
                x_rk = memory.load(memory.address(x, i, k, r, h * LANES))
                total = memory.multiply_add(w[h], x_rk, builder.load(sums[r, h]))
                builder.store(total, sums[r, h])
        for r in range(rows):
            total = builder.fadd(builder.load(sums[r, 0]), builder.load(sums[r, 1]))
            at = memory.address(y, i, j, r, 0)
            at = builder.bitcast(at, number.as_pointer())
            builder.store(memory.sum(total), at)
        return context.get_dummy_value()

    return dots


four_q8_0, one_q8_0 = dots("Q8_0", ROWS), dots("Q8_0", 1)
four_q4_0, one_q4_0 = dots("Q4_0", ROWS), dots("Q4_0", 1)
four_q4_1, one_q4_1 = dots("Q4_1", ROWS), dots("Q4_1", 1)


@kernel
def product_loop(
    start: int,
    stop: int,
    kind: int,
    blocks: reads(2, np.uint8),
    halves: reads(1),
    x: reads(2),
    y: writes(2),
):
    """y = x W^T, of STRIP rows of W for each work item; kind: its index in KINDS."""
    N = x.shape[0]
    for item in range(start, stop):
        first, last = item * STRIP, min((item + 1) * STRIP, blocks.shape[0])
        i = 0
        while i < N:
            many = i + ROWS <= N
            for j in range(first, last):
                if kind == 0 and many:
                    four_q8_0(blocks, halves, x, y, i, j)
                elif kind == 0:
                    one_q8_0(blocks, halves, x, y, i, j)
                elif kind == 1 and many:
                    four_q4_0(blocks, halves, x, y, i, j)
                elif kind == 1:
                    one_q4_0(blocks, halves, x, y, i, j)
                elif many:
                    four_q4_1(blocks, halves, x, y, i, j)
                else:
                    one_q4_1(blocks, halves, x, y, i, j)
            i += ROWS if many else 1

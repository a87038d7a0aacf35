"""Multiply a block of two matrices in the processor's registers, in LLVM instructions.

    for k:   c[i:i+4, j:j+64] += a[i:i+4, k, None] * b[k, j:j+64]

The sums stay in registers while k runs over the depth; numba's own vectoriser would
load and store them at every k. README.md has the measurements and a guide to this file;
``block_in_numpy`` is the same in NumPy.
"""

import functools

from .compiling import Generated

ROWS = 4
BYTES = {"f": 4, "d": 8}  # of a number


def _machine():
    """Return the bytes of a vector, and the vectors beside one another in a block."""
    from numba import config
    from numba.core.codegen import get_host_cpu_features

    features = config.CPU_FEATURES  # NUMBA_CPU_FEATURES
    features = get_host_cpu_features() if features is None else features
    wide = "+avx512f" in features
    return (64, 4) if wide else (32, 3)  # 16 of 32 registers, or 12 of 16


# the numbers in a vector, and the vectors beside one another in the widest block
LANES = Generated(lambda numba, char: _machine()[0] // BYTES[char])
BESIDE = Generated(lambda numba, char: _machine()[1])


def block(rows, vectors):
    """Return block(c, a, b, i, j, width, add): ``rows`` rows, ``width`` columns of a b.

    vectors   the number of vectors in a row of the block; None: the right edge, where
              ``width`` is less than one vector

    a may have any strides. b and c are read along their last axis, where their numbers
    must lie side by side. c is added to if ``add``, else overwritten.
    """

    def make(numba, char):
        if numba.config.DISABLE_JIT:
            return functools.partial(block_in_numpy, rows)
        return _in_registers(rows, vectors, _machine()[0] // BYTES[char])

    return Generated(make)


def block_in_numpy(rows, c, a, b, i, j, width, add):
    """Compute a block of so many rows."""
    product = a[i : i + rows] @ b[:, j : j + width]
    out = c[i : i + rows, j : j + width]
    out[...] = out + product if add else product


def _in_registers(rows, vectors, lanes):
    """Return the block as an intrinsic of numba, which writes LLVM instructions."""
    ragged, vectors = vectors is None, vectors or 1
    from numba import types
    from numba.core import cgutils
    from numba.core.cgutils import ir
    from numba.extending import intrinsic

    @intrinsic
    def block(typing_context, c, a, b, i, j, width, add):
        index = types.intp
        signature = types.void(c, a, b, index, index, index, types.boolean)
        return signature, generate

    def generate(context, builder, signature, args):
        c, a, b = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:3], args[:3])
        )
        i, j, width, add = args[3:]
        number = context.get_data_type(signature.args[0].dtype)
        vector = ir.VectorType(number, lanes)
        memory = Memory(builder, vector, width if ragged else None)
        depth = cgutils.unpack_tuple(builder, a.shape, 2)[1]
        parts = [(r, v) for r in range(rows) for v in range(vectors)]
        sums = {rv: cgutils.alloca_once(builder, vector) for rv in parts}
        for rv in parts:
            builder.store(ir.Constant(vector, None), sums[rv])
        with cgutils.for_range(builder, depth) as loop:
            k = loop.index
            b_k = [
                memory.load(memory.address(b, k, j, 0, v * lanes))
                for v in range(vectors)
            ]
            for r in range(rows):
                a_rk = memory.broadcast_at(memory.address(a, i, k, r, 0))
                for v in range(vectors):
                    total = builder.load(sums[r, v])
                    builder.store(memory.multiply_add(a_rk, b_k[v], total), sums[r, v])
        c_at = {(r, v): memory.address(c, i, j, r, v * lanes) for r, v in parts}
        # The sums began at 0 and are added to c at the end: a sum over many tiles is
        # then a sum of short sums, which loses less to rounding.
        with builder.if_then(add):
            for rv in parts:
                total = builder.fadd(builder.load(sums[rv]), memory.load(c_at[rv]))
                builder.store(total, sums[rv])
        for rv in parts:
            memory.store(builder.load(sums[rv]), c_at[rv])
        return context.get_dummy_value()

    return block


class Memory:
    """Vector loads and stores at [row, column] of a strided array.

    width   how many of a vector's numbers are there, if not all of them
    """

    def __init__(self, builder, vector, width):
        from numba.core import cgutils
        from numba.core.cgutils import ir

        self.ir, self.cgutils = ir, cgutils
        self.builder, self.vector = builder, vector
        self.suffix, self.size = ("f32", 4) if "float" in str(vector) else ("f64", 8)
        self.mask = None
        if width is not None:
            count = ir.VectorType(ir.IntType(32), vector.count)
            counted = ir.Constant(count, list(range(vector.count)))
            limit = self.broadcast(builder.trunc(width, ir.IntType(32)), count)
            self.mask = builder.icmp_signed("<", counted, limit)

    def broadcast(self, number, vector):
        """Return a vector with the same number in every lane."""
        ir = self.ir
        nothing = ir.Constant(vector, ir.Undefined)
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None)
        first = ir.Constant(ir.IntType(32), 0)
        one = self.builder.insert_element(nothing, number, first)
        return self.builder.shuffle_vector(one, nothing, lanes)

    def address(self, array, row, column, more_rows, more_columns):
        """Return a pointer to array[row + more_rows, column + more_columns]."""
        ir, builder = self.ir, self.builder
        down, along = self.cgutils.unpack_tuple(builder, array.strides, 2)
        row = builder.add(row, ir.Constant(row.type, more_rows))
        column = builder.add(column, ir.Constant(column.type, more_columns))
        offset = builder.add(builder.mul(row, down), builder.mul(column, along))
        start = builder.bitcast(array.data, ir.IntType(8).as_pointer())
        return builder.gep(start, [offset])

    def broadcast_at(self, address):
        """Return a vector with the number at the address in every lane."""
        pointer = self.builder.bitcast(address, self.vector.element.as_pointer())
        return self.broadcast(self.builder.load(pointer), self.vector)

    def load(self, address):
        """Return the vector at the address."""
        pointer = self.builder.bitcast(address, self.vector.as_pointer())
        if self.mask is None:
            value = self.builder.load(pointer)
            value.align = self.size
            return value
        zero = self.ir.Constant(self.vector, None)
        args = [pointer, self._alignment(), self.mask, zero]
        return self._call("masked.load", self.vector, args)

    def store(self, value, address):
        """Write a vector to the address."""
        pointer = self.builder.bitcast(address, self.vector.as_pointer())
        if self.mask is None:
            self.builder.store(value, pointer).align = self.size
            return
        args = [value, pointer, self._alignment(), self.mask]
        self._call("masked.store", self.ir.VoidType(), args)

    def multiply_add(self, a, b, c):
        """Return a b + c, rounded once where the machine can do so.

        LLVM compiles fmuladd in the same way in every kernel, so the backward gets
        exactly the scores of the forward.
        """
        return self._call("fmuladd", self.vector, [a, b, c])

    def sum(self, vector):
        """Return the sum of the numbers of a vector, taken in any order."""
        zero = self.ir.Constant(vector.type.element, None)
        args, name = [zero, vector], "vector.reduce.fadd"
        return self._call(name, vector.type.element, args, fastmath=("reassoc",))

    def _alignment(self):
        return self.ir.Constant(self.ir.IntType(32), self.size)

    def _call(self, verb, result, args, **options):
        name = f"llvm.{verb}.v{self.vector.count}{self.suffix}"
        if verb.startswith("masked"):
            name += ".p0"
        kind = self.ir.FunctionType(result, [x.type for x in args])
        function = self.cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, args, **options)

"""The hot loops of attention, compiled by numba; each stands beside its NumPy twin.

    kernels.backend()                   which of the two runs: "numba" or "numpy"
    kernels.backend("numpy")            from now on NumPy's
    with kernels.backend("numpy"): ...  only inside the block
    kernels.threads(n)                  how many threads the compiled loops use

The environment variable ATTENTION_BACKEND chooses as well. The two give the same values
and gradients up to rounding, under NaN, infinities and rows with nothing in them too.
numba is imported when the first loop runs, not before; without it, or with
NUMBA_DISABLE_JIT=1, NumPy's twins run and everything is only slower.

    softmax.py      masked softmax, forward and backward: loops and twin
    additive.py     the additive score, forward and backward: loops and twin
    additive_product.py
                    the same in float32, with one exponential a row for a tanh a pair
    gru.py, of which minigrad/ops/recurrent.py is the twin
                    all steps of a GRU
    decoder.py, decoder_backward.py, of which seq2seq/attention_gru.py is the twin
                    all steps of a GRU decoder with attention
    linear.py, linear_backward.py, of which linear_scan.py is the twin
                    linear attention in chunks
    tiled_forward.py, tiled_backward.py, of which flash.py is the twin
                    attention without a matrix of scores, tile by tile
    tile.py         what is done to one tile of scores
    plan.py         which tiles there are, and which pairs of those count
    product.py      the matrix product that a 0 keeps NaN out of: loop and twin
    registers.py    a block of it, in the machine's registers
    elementary.py   exp and tanh as polynomials, which vectorise
    compiling.py    from a Python loop to machine code, once a dtype
    cache.py        where the machine code is kept between runs
    pool.py         the threads, and how work is spread over them
    choice.py       backend() and threads()
"""

from .choice import backend, threads

__all__ = ["backend", "threads"]

"""exp and tanh as straight-line arithmetic, so that a loop over them vectorises.

The C library's exp and tanh are calls, one number at a time; these are multiplications
and additions on a whole vector at once. Largest relative errors: exp 0.9e-7 and
1.4e-16, tanh 2.5e-7 and 4.1e-16 in float32 and float64 (one unit in the last place is
up to 1.2e-7 and 2.2e-16). A processor without fused multiply-add rounds more often: the
error of exp in float32 is then 1.2e-7. NaN gives NaN.

None of these functions may be compiled with the fast-math flag "reassoc": (y + MAGIC) -
MAGIC rounds y to a whole number unless the compiler simplifies it.
"""

import math

import numpy as np

from .compiling import Helper

real = np.float32  # a plain 1.0 beside a float32 would make numba compute in float64


def _exp_and_tanh(real, whole, powers, magic, shift, ln2, least):
    """Return exp and tanh for one dtype, with these constants.

    exp(x) = 2^n exp(r), where n = round(x / ln 2) and r = x - n ln 2, so |r| <= 0.35.
    tanh(x) = m / (m + 2), where m = exp(2x) - 1 = 2^n (exp(r) - 1) + (2^n - 1), so
    nothing cancels where x, and with it m, is small.

    powers   the coefficients of exp(r), a polynomial; without the last one, 1, they
             are those of (exp(r) - 1) / r
    magic    adding it leaves no bits for a fraction: the sum is rounded, and its lowest
             bits are n + 127, or n + 1023 in float64. These are the bits of the
             exponent of 2^n
    shift    moves them to their place
    ln2      ln 2 in two parts, of which n times the first is exact
    least    where n is -127, or -1023. The exponent then has the bits 0, so exp is 0
    """
    per_ln2, two, edge = real(1 / math.log(2)), real(2), real(20)

    def exp(x):
        x = least if x < least else x
        z = x * per_ln2 + magic
        n = z - magic
        r = (x - n * ln2[0]) - n * ln2[1]
        p = powers[0]
        for c in powers[1:]:
            p = p * r + c
        exponent = real(z).view(whole) << shift
        return p * whole(exponent).view(real)

    def tanh(x):
        x = -edge if x < -edge else x
        x = edge if x > edge else x  # tanh is 1 there, up to rounding
        x = x + x
        z = x * per_ln2 + magic
        n = z - magic
        r = (x - n * ln2[0]) - n * ln2[1]
        p = powers[0]
        for c in powers[1:-1]:
            p = p * r + c
        exponent = real(z).view(whole) << shift
        two_n = whole(exponent).view(real)
        m = two_n * (p * r) + (two_n - powers[-1])
        return m / (m + two)

    return exp, tanh


# In float32 the polynomial of degree 6 whose largest relative error is least (2e-9,
# before rounding), in float64 the Taylor series sum_k r^k / k!.
POWERS32 = tuple(
    map(real, (1.3836778e-3, 8.3748697e-3, 4.166823e-2, 0.1666642, 0.49999992, 1, 1))
)
POWERS64 = tuple(1 / math.factorial(k) for k in range(13, -1, -1))
LN2_32 = real(0.693359375), real(-2.12194440e-4)
LN2_64 = 6.93147180369123816490e-01, 1.90821492927058770002e-10
MAGIC32, MAGIC64 = real(1.5 * 2**23 + 127), 1.5 * 2.0**52 + 1023

# exp(x) for x <= 88 (709 in float64), and 0 for x below about -87.7 (-708.7)
exp, tanh = map(
    Helper,
    _exp_and_tanh(real, np.int32, POWERS32, MAGIC32, np.int32(23), LN2_32, real(-88)),
    _exp_and_tanh(np.float64, np.int64, POWERS64, MAGIC64, 52, LN2_64, -709.0),
)

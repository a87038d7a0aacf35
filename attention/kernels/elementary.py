"""exp and tanh as straight-line arithmetic, so that a loop over them vectorises.

The C library's exp and tanh are calls, one number at a time; these are multiplications
and additions on a whole vector at once. Largest relative errors: exp 0.9e-7 and
1.4e-16, tanh 2.7e-7 and 4.1e-16 in float32 and float64 (one unit in the last place is
up to 1.2e-7 and 2.2e-16). A processor without fused multiply-add rounds more often: the
error of exp in float32 is then 1.2e-7. NaN gives NaN.

None of these functions may be compiled with the fast-math flag "reassoc": (y + MAGIC) -
MAGIC rounds y to a whole number unless the compiler simplifies it.
"""

import math

import numpy as np

from .compiling import Helper

real = np.float32  # a plain 1.0 beside a float32 would make numba compute in float64


def _exp(real, whole, powers, magic, shift, ln2, least):
    """Return exp for one dtype, with these constants.

    exp(x) = 2^n exp(r), where n = round(x / ln 2) and r = x - n ln 2, so |r| <= 0.35.

    powers   the coefficients of exp(r), a polynomial
    magic    adding it leaves no bits for a fraction: the sum is rounded, and its lowest
             bits are n + 127, or n + 1023 in float64. These are the bits of the
             exponent of 2^n
    shift    moves them to their place
    ln2      ln 2 in two parts, of which n times the first is exact
    least    where n is -127, or -1023. The exponent then has the bits 0, so exp is 0
    """
    per_ln2 = real(1 / math.log(2))

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

    return exp


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
exp = Helper(
    _exp(real, np.int32, POWERS32, MAGIC32, np.int32(23), LN2_32, real(-88)),
    _exp(np.float64, np.int64, POWERS64, MAGIC64, 52, LN2_64, -709.0),
)

# In float32, tanh(x) = x P(x^2) / Q(x^2) for |x| <= 8.14, with the coefficients that
# make the largest relative error least (2e-8, before rounding); beyond, x is replaced
# by 8.14 or -8.14, where tanh is 1 or -1 within 2e-7. The first coefficient of P is 1:
# it is not in P32, and saves a multiplication. In float64, see ``_tanh64``.
P32 = tuple(map(real, (1451.7052, 238067.64, 8981770, 66848816)))
Q32 = tuple(map(real, (56.2667, 22689.078, 1746467.5, 31264704, 66848816)))
EDGE32, EDGE64 = real(8.14), 20.0
PER_LN2_64, SHIFT64 = 1 / math.log(2), 52  # as in ``_exp``


def _tanh32(x):
    x = -EDGE32 if x < -EDGE32 else x
    x = EDGE32 if x > EDGE32 else x
    y = x * x
    p = y + P32[0]
    for c in P32[1:]:
        p = p * y + c
    q = Q32[0]
    for c in Q32[1:]:
        q = q * y + c
    return x * p / q


def _tanh64(x):
    """m / (m + 2), where m = exp(2x) - 1 = 2^n (exp(r) - 1) + (2^n - 1).

    So nothing cancels where x, and with it m, is small.
    """
    x = -EDGE64 if x < -EDGE64 else x
    x = EDGE64 if x > EDGE64 else x
    x = x + x
    z = x * PER_LN2_64 + MAGIC64
    n = z - MAGIC64
    r = (x - n * LN2_64[0]) - n * LN2_64[1]
    p = POWERS64[0]
    for c in POWERS64[1:-1]:
        p = p * r + c
    exponent = np.float64(z).view(np.int64) << SHIFT64
    two_n = np.int64(exponent).view(np.float64)
    m = two_n * (p * r) + (two_n - 1.0)
    return m / (m + 2.0)


tanh = Helper(_tanh32, _tanh64)

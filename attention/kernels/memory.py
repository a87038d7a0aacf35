"""Let the process reuse the memory of freed arrays, instead of returning it."""

import numpy as np


def keep_freed_memory():
    """Make the C library keep the memory that NumPy frees, for the next array.

    A training step frees the arrays that the next step allocates again. The C library
    returns blocks above 128 kB to the system each time, and they come back page by
    page. This took a quarter of the time of a step of ``reversal``, and a sixth of that
    of a small Transformer. glibc keeps blocks up to the size of the largest one freed
    so far, up to 32 MB; with other libraries this does nothing.
    """
    np.empty(2**25 - 2**16, np.uint8)  # freed at once; never written to, so it is cheap

"""What the C library does with memory that is free again."""

import numpy as np


def keep_freed_memory():
    """Have the C library keep what NumPy frees, for the next array to take.

    A training step frees the arrays that the next one asks for. Those of more than
    128 kB go back to the system each time and come back page by page, which took a
    quarter of a step. glibc keeps blocks up to the size of the largest one freed so
    far, to a limit of 32 MB; elsewhere this does nothing. The array is never written
    to, so it takes no memory.
    """
    np.empty(2**25 - 2**16, np.uint8)

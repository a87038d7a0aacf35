"""One thread for the BLAS: the products here are small, and its threads wait in a loop.

Set before anything imports NumPy, and handed on to the processes that tests start.
Whoever sets it otherwise is obeyed.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

"""What all tests share: one BLAS thread, NumPy twins, checked results, and --deep.

``pytest`` proves every gradient, every variant against its loop, and of every exercise
the solution, the stub and some of the planted mistakes. ``pytest --deep`` adds the long
tail: the other mistakes, fuzzing, all dtypes and shapes, processes that are killed, the
pages of the book. A test of the tail has the mark ``deep``.
"""

import gc
import os
import re
import signal
import zlib

# The products here are small, and waiting BLAS threads would take the other core. The
# processes that tests start inherit the setting; a value that the user set is kept.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_addoption(parser):
    parser.addoption("--deep", action="store_true", help="run the long tail as well")
    text = "of the long tail, run every n-th test: always the same ones"
    parser.addoption("--every", type=int, default=1, metavar="N", help=text)
    text = "of tests with parameters, those alone whose parameters have this name"
    parser.addoption("--about", metavar="NAME", help=text)


def pytest_configure(config):
    config.addinivalue_line("markers", "deep: part of the long tail, see --deep")
    # a job in the background ignores Ctrl-C, and so would the processes it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)

    from attention import kernels  # NumPy only now reads the threads
    from minigrad.checking import numeric
    from minigrad.shapes import check_results

    check_results(True)
    if not config.getoption("--deep"):
        numeric.MAX_ENTRIES = 24  # larger arrays are measured along six directions
    # A test that needs a compiled kernel chooses it; the others run the NumPy twins,
    # whatever an earlier run has compiled.
    if not os.environ.get("ATTENTION_BACKEND"):
        kernels.backend("numpy")
    gc.disable()  # while tests are collected, all of which stay


def pytest_collection_modifyitems(config, items):
    tail = [item for item in items if item.get_closest_marker("deep")]
    if config.getoption("--deep"):  # chosen by name: a new test changes no other choice
        every = config.getoption("--every")
        tail = [item for item in tail if zlib.crc32(item.nodeid.encode()) % every]
    if about := config.getoption("--about"):
        word = re.compile(rf"\[(.*\W)?{re.escape(about)}(\W.*)?\]")
        tail += [x for x in items if "[" in x.nodeid and not word.search(x.nodeid)]
    if tail:
        config.hook.pytest_deselected(items=tail)
        left_out = set(tail)
        items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish(session):
    """Freeze the objects of thousands of collected tests: no collection scans them."""
    gc.collect()
    gc.freeze()
    gc.enable()
    # matplotlib and numba keep many objects; to scan them all takes long and frees few
    gc.set_threshold(700, 10, 1000)

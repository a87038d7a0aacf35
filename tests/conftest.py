"""The whole suite in two processes, and one thread for the BLAS in each.

The products here are small, and the threads of the BLAS wait in a busy loop; set before
anything imports NumPy, it is handed on to the processes that tests start. Whoever sets
it otherwise is obeyed.

``pytest`` without the name of a file takes half of the files, and a second ``pytest``,
which it starts, the others; what that one said comes at the end, and if it failed, so
does the whole. ATTENTION_TESTS=1 runs everything in one process.
"""

import gc
import os
import subprocess
import sys
import tempfile

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

SHARE = "ATTENTION_TESTS_SHARE"  # set for the second process
ALONE = "ATTENTION_TESTS"  # "1": there is no second process
PLAIN = {"-q", "-v", "-vv", "--strict-markers"}
DEAR = {
    "lessons": 10,
    "ops": 1,
    "test_reversal.py": 40,
    "test_translate.py": 20,
}  # a test


def pytest_configure(config):
    config.share = os.environ.get(SHARE)
    config.other = None
    config.addinivalue_line("markers", "deep: slow tail, run by pytest --deep")
    whole = set(config.invocation_params.args) <= PLAIN
    cores = os.cpu_count() or 1
    if config.share is None and whole and cores > 1 and os.environ.get(ALONE) != "1":
        config.share = "0"
        config.said = tempfile.TemporaryFile("w+")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        config.other = subprocess.Popen(
            command,
            cwd=config.rootpath,
            env=os.environ | {SHARE: "1"},
            stdout=config.said,
            stderr=subprocess.STDOUT,
        )


def pytest_collection_modifyitems(config, items):
    if config.share is None:
        return
    files, load = {}, [0, 0]
    for item in items:
        files.setdefault(item.path, []).append(item)
    weights = {path: len(tests) * _cost(path) for path, tests in files.items()}
    mine = []
    for path in sorted(files, key=lambda path: (-weights[path], str(path))):
        lighter = load.index(min(load))
        load[lighter] += weights[path]
        if str(lighter) == config.share:
            mine.append(path)
    config.hook.pytest_deselected(items=[i for i in items if i.path not in mine])
    items[:] = [item for item in items if item.path in mine]


def pytest_collection_finish(session):
    """So many tests are so many objects, which every collection would look through."""
    gc.collect()
    gc.freeze()


def _cost(path):
    """How dear a test of a file is, roughly: so that the two end together."""
    return max((DEAR[p] for p in (path.name, path.parent.name) if p in DEAR), default=2)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    other = session.config.other
    if other is not None and other.wait() and not session.exitstatus:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter, config):
    if config.other is not None:
        config.said.seek(0)
        terminalreporter.section("the other half of the files, in a second process")
        terminalreporter.write_line(config.said.read().rstrip())


def pytest_unconfigure(config):
    if config.other is not None and config.other.poll() is None:
        config.other.terminate()  # stopped by Ctrl-C, say

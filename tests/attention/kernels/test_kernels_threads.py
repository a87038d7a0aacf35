"""Any number of threads does all of the work once."""

import os
import threading
import time
import warnings

import numpy as np
import pytest

from attention import kernels
from attention.kernels import pool

from .kernel_cases import additive_example, additive_results


@pytest.fixture
def any_work_is_shared(monkeypatch):
    monkeypatch.setattr(pool, "WORTH_A_THREAD", 0)
    before = kernels.threads()
    yield
    kernels.threads(before)


@pytest.mark.parametrize("items", [1, 2, 7, 100])
def test_every_item_is_done_once(any_work_is_shared, items):
    kernels.threads(3)
    seen = []
    pool.spread(lambda start, stop, n: seen.extend(range(start, stop)), 1, items, None)
    assert sorted(seen) == list(range(items))


def test_an_error_in_a_thread_is_raised_where_the_work_was_given(any_work_is_shared):
    def loop(start, stop):
        raise ZeroDivisionError(f"items {start} to {stop}")

    kernels.threads(2)
    with pytest.raises(ZeroDivisionError, match="items"):
        pool.spread(loop, 1, 10)
    test_every_item_is_done_once(None, 10)


def test_from_several_threads_at_once(any_work_is_shared):
    pytest.importorskip("numba")
    kernels.threads(2)
    with kernels.backend("numba"):
        arrays = [additive_example(2, 9, 7, 20, np.float32, seed=n) for n in range(4)]
        wanted = [additive_results(*each) for each in arrays]
        wrong = []

        def repeat(each, exact):
            for _ in range(20):
                for a, b in zip(additive_results(*each), exact):
                    if not np.array_equal(a, b):
                        wrong.append(a)

        workers = [threading.Thread(target=repeat, args=z) for z in zip(arrays, wanted)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_process_makes_its_own_threads(any_work_is_shared):
    test_every_item_is_done_once(None, 10)
    kernels.threads(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
        child = os.fork()
    if child == 0:
        seen = set()

        def loop(start, stop):
            seen.add(threading.get_ident())
            time.sleep(0.02)  # long enough for another thread to take a part

        pool.spread(loop, 1, 10)
        os._exit(len(seen))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


@pytest.mark.parametrize("n", [0, -1, 2.0, True, "two"])
def test_threads_refuses(n):
    with pytest.raises(ValueError, match="threads: expected a whole number of 1 or"):
        kernels.threads(n)


def test_a_thread_that_wakes_late_keeps_no_array(monkeypatch):
    """What is left in the queue, or in a thread that waits, is an empty job."""
    jobs = []

    class Queue:
        put = staticmethod(jobs.append)

    monkeypatch.setattr(pool, "_jobs", Queue)
    monkeypatch.setattr(pool, "_start", lambda n: None)
    before = kernels.threads()
    kernels.threads(2)
    try:
        done = []
        array = np.zeros(3)
        pool.spread(lambda start, stop, a: done.append(stop - start), 1e9, 8, array)
    finally:
        kernels.threads(before)
    assert sum(done) == 8 and jobs
    assert all(array is not held for job in jobs for held in job.arguments)

"""Threads, and how the work of one loop is spread over them.

A compiled loop lets go of Python's lock while it runs, so ordinary threads are all it
takes: each calls the loop on some of its items. Which thread computes an item makes no
difference to any bit of it, because items share nothing that they write to.

Why not numba's prange: its threads, by default those of OpenMP, keep spinning after a
loop, and those of the BLAS do too, each pool on the cores that the other one needs. In
turn, a product of two 256 x 256 matrices and a small parallel loop took 38 times as
long as one alone and then the other, on two cores. With the threads here, which sleep
when there is nothing to do, they took no longer. (OpenMP can be told to sleep, but only
before it is loaded, and for the whole process; numba's own "workqueue" sleeps too, took
42 to 76 us for an empty loop, and aborts when two threads enter it at once.)

Waking a thread and hearing back takes 14 to 25 us, so a loop that takes less than
WORTH_A_THREAD runs where it is called.
"""

import collections
import itertools
import os
import queue
import threading

from .choice import threads

WORTH_A_THREAD = 100_000  # ns
PARTS = 4  # for each thread: whoever is done early takes one more

_jobs = queue.SimpleQueue()
_workers = 0
_starting = threading.Lock()


def spread(loop, items, nanoseconds, *arguments):
    """Call loop(start, stop, *arguments) for parts that together make range(items).

    ``nanoseconds`` is about how long all of it takes on one thread. Returns when all
    parts are done; raises what the loop raises.
    """
    n = min(threads(), items) if nanoseconds > WORTH_A_THREAD else 1
    if n < 2:
        loop(0, items, *arguments)
        return
    _start(n - 1)
    job = _Job(loop, items, -(-items // (n * PARTS)), arguments)
    for _ in range(n - 1):
        _jobs.put(job)
    job.work()
    job.done.acquire()  # until every part is done, also those that others took
    job.arguments = ()  # a thread that wakes late would keep these arrays alive
    if job.error is not None:
        raise job.error


class _Job:
    """A loop over items, cut into parts that threads take one after the other."""

    def __init__(self, loop, items, size, arguments):
        self.loop, self.items, self.size, self.arguments = loop, items, size, arguments
        self.parts = collections.deque(range(0, items, size))
        self.last = len(self.parts)
        self.counted = itertools.count(1)
        self.error = None
        self.done = threading.Lock()
        self.done.acquire()

    def work(self):
        while True:
            try:
                start = self.parts.popleft()
            except IndexError:
                return
            try:
                stop = min(start + self.size, self.items)
                self.loop(start, stop, *self.arguments)
            except BaseException as error:
                self.error = error
            if next(self.counted) == self.last:
                self.done.release()


def _start(n):
    """See to it that at least n threads are waiting for work."""
    global _workers
    with _starting:
        for _ in range(n - _workers):
            threading.Thread(target=_work, name="kernels", daemon=True).start()
            _workers += 1


def _work():
    while True:
        _jobs.get().work()


def _after_fork():
    """A child process has the memory of its parent and none of its threads."""
    global _jobs, _workers, _starting
    _jobs, _workers, _starting = queue.SimpleQueue(), 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

"""Spread the work of one loop over threads.

A compiled loop releases Python's lock while it runs, so ordinary threads are enough:
each calls the loop on some of its items. No two items write to the same memory, so it
makes no difference which thread computes an item. README.md explains why this file does
not use numba's prange.
"""

import collections
import itertools
import os
import queue
import threading

from .choice import threads

WORTH_A_THREAD = 5_000_000  # multiplications, about 100 us
WORTH_A_CALL = 250_000  # multiplications: for less, a twin of a few calls is as fast
PARTS = 4  # for each thread: a thread that ends early takes one more

_jobs = queue.SimpleQueue()
_workers = 0
_starting = threading.Lock()


def spread(loop, work, items, *arguments):
    """Call loop(start, stop, *arguments) for parts that together make range(items).

    ``work`` is the number of multiplications. Returns when all parts are done; raises
    what the loop raises.
    """
    n = min(threads(), items) if work > WORTH_A_THREAD else 1
    if n < 2:
        loop(0, items, *arguments)
        return
    _start(n - 1)
    job = _Job(loop, items, -(-items // (n * PARTS)), arguments)
    for _ in range(n - 1):
        _jobs.put(job)
    job.work()
    job.done.acquire()  # until every part is done, also those of other threads
    job.arguments = ()  # a thread that wakes late would keep these arrays alive
    if job.error is not None:
        raise job.error


class _Job:
    """A loop over items, cut into parts that threads take one after the other."""

    def __init__(self, loop, items, size, arguments):
        self.loop, self.items, self.size, self.arguments = loop, items, size, arguments
        # popleft and next are atomic: each part is taken once, and one thread is last
        self.parts = collections.deque(range(0, items, size))
        self.number = len(self.parts)
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
            if next(self.counted) == self.number:
                self.done.release()


def _start(n):
    """Start threads until at least n exist."""
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

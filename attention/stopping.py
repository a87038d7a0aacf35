"""Stop signals: Ctrl-C, SIGTERM and the end of the terminal.

Training ends between two steps and saves its state (``stop_signals``). At every other
moment of a command there is nothing to save, and ``handled`` ends the program at once.
It raises no exception, because a library might catch it, or turn it into another one.
"""

import contextlib
import os
import signal
import threading

_sentences = ["stopped."]  # the last one is printed


@contextlib.contextmanager
def stop_signals():
    """Yield a list that becomes non-empty when Ctrl-C or a termination signal arrives.

    A second Ctrl-C ends the program as usual. A call inside the block of another call
    yields the same list. So a signal that arrives before the training begins, inside
    the outer block, stops the training.
    """
    outer = getattr(signal.getsignal(signal.SIGINT), "arrived", None)
    if outer is not None and in_main_thread():
        yield outer
        return
    arrived = []

    def note(number, frame):
        if arrived:
            raise KeyboardInterrupt
        arrived.append(number)

    note.arrived = arrived
    with handlers({signal.SIGINT: note, signal.SIGTERM: note}):
        yield arrived


@contextlib.contextmanager
def handled(is_program):
    """End the program at a signal; in another program raise KeyboardInterrupt."""

    def stop(number, frame):
        if not is_program:
            raise KeyboardInterrupt(_sentences[-1])
        for each in stops:
            signal.signal(each, signal.SIG_IGN)
        with contextlib.suppress(OSError):  # the terminal may be closed
            os.write(2, f"\n{_sentences[-1]}\n".encode(errors="replace"))
        os._exit(130)

    stops = {signal.SIGINT: stop, signal.SIGTERM: stop}
    hangup = getattr(signal, "SIGHUP", None)
    if hangup and signal.getsignal(hangup) is not signal.SIG_IGN:  # not under nohup
        # it becomes SIGTERM, which training handles
        stops[hangup] = lambda *_: signal.raise_signal(signal.SIGTERM)
    with handlers(stops, ignored_at_the_end=is_program):  # nothing is left to stop
        yield


@contextlib.contextmanager
def saying(sentence):
    """Make a signal in this block print ``sentence``, such as what was saved."""
    _sentences.append(sentence)
    try:
        yield
    finally:
        _sentences.pop()


@contextlib.contextmanager
def handlers(wanted, ignored_at_the_end=False):
    """Handle signals by {number: handler} in this block, where they arrive at all."""
    if not in_main_thread():
        yield
        return
    before = {number: signal.signal(number, f) for number, f in wanted.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            handler = signal.SIG_IGN if ignored_at_the_end else handler
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextlib.contextmanager
def signals_blocked():
    """Start processes in this block that Ctrl-C and its like do not reach."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker  # slow to import

    stops = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        resource_tracker.ensure_running()  # at its first start it unblocks some
        signal.pthread_sigmask(signal.SIG_BLOCK, stops)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def in_main_thread():
    """Return whether this is the main thread, which alone receives signals."""
    return threading.current_thread() is threading.main_thread()


def end_with_parent(others=False):
    """End this new process when its parent ends; others: and all that it starts."""
    import multiprocessing  # slow to import

    group = others and hasattr(os, "setsid")
    if group:
        os.setsid()

    def wait():
        multiprocessing.parent_process().join()
        if group:
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()

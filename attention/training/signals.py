"""Stop a training between two steps, after Ctrl-C or a termination signal."""

import contextlib
import signal
import threading


@contextlib.contextmanager
def stop_signals():
    """Yield a list that becomes non-empty when Ctrl-C or a termination signal arrives.

    A second Ctrl-C ends the program as usual. A call inside the block of another call
    yields the same list. So a signal that arrives before the training begins, inside
    the outer block, stops the training.
    """
    arrived = []
    if threading.current_thread() is not threading.main_thread():
        yield arrived  # signals reach the main thread only
        return
    outer = getattr(signal.getsignal(signal.SIGINT), "arrived", None)
    if outer is not None:
        yield outer
        return

    def note(number, frame):
        if arrived:
            raise KeyboardInterrupt
        arrived.append(number)

    note.arrived = arrived
    before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

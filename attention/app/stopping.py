"""Stop signals: Ctrl-C, SIGTERM and the end of the terminal end a command.

Training handles them itself (``training.stop_signals``): it ends between two
steps and saves its state. At every other moment there is nothing to save, and the
handler ends the program at once. It raises no exception, because a library might catch
it, or turn it into another one.
"""

import contextlib
import os
import signal
import threading

_sentences = ["stopped."]  # the last one is printed


@contextlib.contextmanager
def saying(sentence):
    """Make a signal in this block print ``sentence``, such as what was saved."""
    _sentences.append(sentence)
    try:
        yield
    finally:
        _sentences.pop()


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


@contextlib.contextmanager
def handled(is_program):
    """End the program at a signal; in another program raise KeyboardInterrupt."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return

    def stop(number, frame):
        if not is_program:
            raise KeyboardInterrupt(_sentences[-1])
        for other in before:
            signal.signal(other, signal.SIG_IGN)
        with contextlib.suppress(OSError):  # the terminal may be closed
            os.write(2, f"\n{_sentences[-1]}\n".encode(errors="replace"))
        os._exit(130)

    handlers = {signal.SIGINT: stop, signal.SIGTERM: stop}
    hangup = getattr(signal, "SIGHUP", None)
    if hangup and signal.getsignal(hangup) is not signal.SIG_IGN:  # not under nohup
        # it becomes SIGTERM, which training handles
        handlers[hangup] = lambda *_: signal.raise_signal(signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in handlers}
    for number, handler in handlers.items():
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            # nothing is left to stop: the program ends
            handler = signal.SIG_IGN if is_program else handler
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

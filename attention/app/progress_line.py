"""A progress line for a long job, on a terminal or in a log."""

import contextlib
import shutil
import sys
import time
from datetime import timedelta


class Progress:
    """A progress line: label, bar, step, loss and steps a second, time left.

    On a terminal the line is redrawn in place, ten times a second at most. In a log or
    a pipe, a plain line is written every ten seconds. The line goes to stderr, so
    that the output of a command can be piped on.
    """

    def __init__(self, label, total):
        self.label, self.total = label, total
        self.live = sys.stderr.isatty()
        self.start = None  # the clock runs from the first step on
        self.drawn = time.monotonic() if not self.live else -1.0

    def update(self, done, loss=None):
        """Show that ``done`` steps of the total are taken, and the last loss."""
        now = time.monotonic()
        if self.start is None:
            self.start, self.first = now, done
        if now - self.drawn < (0.1 if self.live else 10) and done < self.total:
            return
        self.drawn = now
        rate = (done - self.first) / max(now - self.start, 1e-9)
        text = f"{done}/{self.total}"
        if loss is not None:
            text += f"  loss {loss:.4f}"
        if rate > 0:
            seconds = min((self.total - done) / rate, 10**9)  # timedelta has a limit
            left = timedelta(seconds=round(seconds))
            text += f"  {rate:.0f} steps/s" * (loss is not None) + f"  {left} left"
        if not self.live:
            self._write(f"{self.label:9s} {text}\n")
            return
        width = self.width()
        space = width - max(len(self.label), 9) - len(text) - 6
        bar = ""
        if space >= 8:
            full = round(space * done / max(self.total, 1))
            bar = "[" + "#" * full + "." * (space - full) + "] "
        line = f"{self.label:9s} {bar}{text}"[:width]
        self._write("\r" + line.ljust(width))

    def width(self):
        """Return the columns to use: 80 at most, without the last, where lines wrap."""
        return min(shutil.get_terminal_size().columns, 80) - 1

    def close(self):
        """Clear the line, so that the next print starts at its beginning."""
        if self.live and self.drawn >= 0:
            self._write("\r" + " " * self.width() + "\r")

    def _write(self, text):
        with contextlib.suppress(OSError):  # the terminal may be closed
            print(text, end="", file=sys.stderr, flush=True)


def watched(label, items):
    """Yield the items, and show on a terminal how many are done."""
    with contextlib.closing(Progress(label, len(items))) as progress:
        for done, item in enumerate(items):
            if progress.live:
                progress.update(done)
            yield item

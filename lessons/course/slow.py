"""Find out where a slow answer is when its time runs out.

A thread looks at the answer shortly before. Time is processor time; if an answer waits,
it is the time that passes, divided by ``patience``.
"""

import json
import linecache
import sys
import threading
import time

LOOK = 0.8  # of the time limit


class Watch:
    """Looks at an answer once, from a thread; writes where it is as json to a file.

    calls  the ``Calls`` of the answer, once it is loaded
    """

    def __init__(self, path, limit, file, patience):
        self.path, self.limit, self.file, self.calls = str(path), limit, file, None
        self._main, self._patience = threading.get_ident(), patience
        self._start = time.monotonic(), time.process_time()
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self):
        while (left := LOOK * self.limit - self._spent()) > 0:
            time.sleep(max(left, 0.01))
        facts = self._facts()
        if facts:
            self.file.write_text(json.dumps(facts), encoding="utf-8")

    def _spent(self):
        """Return the seconds of the limit that are spent, also by waiting."""
        passed, computed = time.monotonic(), time.process_time()
        return max((passed - self._start[0]) / self._patience, computed - self._start[1])

    def _facts(self):
        """Return {"where", "line", "call"}; the call may be None."""
        frame = sys._current_frames().get(self._main)
        while frame is not None and frame.f_code.co_filename != self.path:
            frame = frame.f_back
        if frame is None:
            return None
        call = next(reversed(self.calls.running), None) if self.calls else None
        return {
            "where": f"{frame.f_code.co_name}, line {frame.f_lineno}",
            "line": linecache.getline(self.path, frame.f_lineno).strip(),
            "call": call,
        }

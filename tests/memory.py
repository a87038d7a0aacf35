"""Measure the memory of a call."""

import tracemalloc


def peak_bytes(call):
    """Return the most bytes that a call takes at once."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

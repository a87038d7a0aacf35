"""The course: lessons to read and run, exercises to solve, checks that measure.

    python -m lessons              your progress and the next step
    python -m lessons start E.2    copy a stub to lessons/work/
    python -m lessons check        check your answer

``lessons/README.md`` lists all lessons and exercises; ``lessons/AUTHORING.md`` explains
how to write an exercise.

In a notebook, ``%load_ext lessons`` adds ``%%exercise E.2``, which checks its cell, and
``%hint``. In Python, ``check("E.2", softmax=softmax)`` checks functions.
"""

from .stubs import NotWritten, earlier

IN_NOTEBOOKS = "check", "load_ipython_extension"
__all__ = ["NotWritten", "earlier", *IN_NOTEBOOKS]


def __getattr__(name):
    """Return a function of ``jupyter.py``, which a stub does not need."""
    if name in IN_NOTEBOOKS:
        from . import jupyter

        return getattr(jupyter, name)
    raise AttributeError(f"module 'lessons' has no attribute {name!r}")

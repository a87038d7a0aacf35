"""The course: lessons to read and run, exercises to fill, checks that teach.

    python -m lessons              where you are, and the next step
    python -m lessons start E.2    a stub to fill, in lessons/work/
    python -m lessons check        what your file does, measured

``lessons/README.md`` lists what there is; ``lessons/AUTHORING.md`` says how an exercise
is written.
"""


class NotWritten(NotImplementedError):
    """Raised by a part of an exercise that is still to be filled in."""

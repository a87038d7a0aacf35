"""The course: lessons to read and run, exercises to solve, checks that measure.

    python -m lessons              your progress and the next step
    python -m lessons start E.2    copy a stub to lessons/work/
    python -m lessons check        check your answer

``lessons/README.md`` lists all lessons and exercises; ``lessons/AUTHORING.md`` explains
how to write an exercise.
"""


class NotWritten(NotImplementedError):
    """Raised by a part of an exercise that is not written yet."""

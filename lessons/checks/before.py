"""Earlier answers, for a check of the old form."""

from lessons.course.before import answers_pass  # noqa: F401

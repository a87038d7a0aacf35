"""Answers in words: not graded, but compared with what a good answer says."""

import textwrap


def self_assessed(my, text, *points, least=10):
    """Fail unless ``text`` has some words; print a good answer if all else passes."""
    words = text.split() if isinstance(text, str) else []
    my.holds(
        "explanation",
        len(words) >= least,
        f"a string of {least} words or more",
        repr(text),
        "words",
    )
    lines = ["Your words are not graded. Compare; a good answer says:"]
    for number, point in enumerate(points, 1):
        lines.append(textwrap.fill(f"{number}  {point}", 68, subsequent_indent="   "))
    my.after_pass += lines

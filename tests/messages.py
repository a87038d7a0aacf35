"""Check the message of an error: its kind, its fragments, its full stop."""

import pytest


def check_message(call, fragments, kind=(TypeError, ValueError, IndexError)):
    """Expect an error of that kind, whose message is a sentence with all fragments."""
    with pytest.raises(kind) as error:
        call()
    message = str(error.value)
    for fragment in fragments:
        assert fragment in message, message
    if not isinstance(error.value, OSError):  # the system words those
        first_line = message.splitlines()[0]  # a list may follow
        assert first_line.endswith((".", ":")), f"not a sentence: {message}"

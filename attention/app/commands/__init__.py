"""``python -m attention COMMAND``: a file for each command."""

"""The command line, one command a file: ``python -m attention COMMAND``."""

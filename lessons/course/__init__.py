"""The machine of the exercises: read a file, check an answer, name its mistakes."""

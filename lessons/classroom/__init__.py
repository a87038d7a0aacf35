"""The machinery of the course: command line, checks, journal, woven pages."""

"""What authors and teachers use: stubs, the audit of the checks, grades of a class."""

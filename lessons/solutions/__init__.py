"""The reference answers with hints and planted mistakes, from which stubs are made."""

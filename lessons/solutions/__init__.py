"""The exercises with their answers: the one source, from which stubs are made."""

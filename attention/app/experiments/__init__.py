"""Experiments that ask a question of a text and answer it with numbers."""

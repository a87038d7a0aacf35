"""The rows of memories and blocks by content: lesson 18."""

MEMORIES = {}

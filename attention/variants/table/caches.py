"""The rows of heads and small caches: lesson 17."""

CACHES = {}

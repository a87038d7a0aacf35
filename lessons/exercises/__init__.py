"""The stubs, made from ``lessons/solutions`` by ``python -m lessons dev sync``."""

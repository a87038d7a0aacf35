# What the table contains, for editors: registry.py itself cannot import Tensor.

from collections.abc import Callable

from .tensor import Tensor

OPS: dict[str, Callable[..., Tensor]]

def register(name: str, op: Callable[..., Tensor]) -> None: ...

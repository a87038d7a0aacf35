"""The options of scaled_dot_product_attention, checked and kept in one record."""

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from minigrad.arguments import flag, generator, number, one_of, probability

NAME = "scaled_dot_product_attention"


@dataclass
class Options:
    """All arguments except query, key and value.

    ``scaled_dot_product_attention`` explains them.
    """

    attn_mask: Any
    dropout_p: float
    is_causal: bool
    scale: float
    enable_gqa: bool
    softcap: float | None
    window_size: tuple
    bias: Any
    score_mod: Callable | None
    mask_mod: Callable | None
    block_mask: Any
    causal_align: str
    training: bool
    rng: "np.random.Generator | None"  # a string: numpy.random is not imported
    return_weights: bool
    return_lse: bool
    path: str | None
    normalize: Callable | None
    score: Callable | None

    def __post_init__(self):
        for name in (
            "is_causal", "enable_gqa", "training", "return_weights", "return_lse"
        ):  # fmt: skip
            flag(NAME, name, getattr(self, name))
        probability(NAME, "dropout_p", self.dropout_p)
        number(NAME, "scale", self.scale)
        if self.softcap is not None:
            number(NAME, "softcap", self.softcap, positive=True)
        one_of(NAME, "causal_align", self.causal_align, ("upper_left", "lower_right"))
        one_of(NAME, "path", self.path, (None, "dense", "tiled"))
        generator(NAME, self.rng)
        if self.normalize is not None and self.return_lse:
            raise ValueError(
                f"{NAME}: return_lse is True and normalize is {self.normalize!r}; "
                "expected one of them, because lse belongs to the softmax."
            )
        if self.score is not None and self.softcap is not None:
            raise ValueError(
                f"{NAME}: softcap is {self.softcap} and score is {self.score!r}; "
                "expected one of them, because the softcap belongs to the products."
            )

    def needs_matrix(self):
        """Return whether the matrix of scores is needed: only the dense path has it."""
        normalize = None if hasattr(self.normalize, "rescale") else self.normalize
        functions = self.score, self.score_mod, normalize
        return self.return_weights or any(f is not None for f in functions)

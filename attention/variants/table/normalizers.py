"""The rows of the normalisers, instead of the softmax: lesson 15."""

import attention

from .rows import About, Normalizer, normalized

NORMALIZERS = {
    "softmax": Normalizer(
        lambda s, allowed: attention.definitions.softmax(s, allowed),
        lambda s, allowed: attention.masked_softmax(s, mask=allowed),
        costs=normalized(4),
        tiles=lambda q, k, v: attention.scaled_dot_product_attention(
            q, k, v, path="tiled"
        ),
        about=About(
            part="normaliser",
            changes="p = exp(s) / sum of exp(s) over the allowed keys",
            can="give weights that sum to 1, and a gradient to every allowed key",
            cannot="give a weight of 0; return nothing where no key fits",
            task="lookup where the key may be missing",
            lesson=15,
            source="Bahdanau et al. 2015",
            file="softmax.py",
        ),
    ),
}

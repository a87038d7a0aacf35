"""Linear attention: what it and its state say of wrong arguments."""

import numpy as np
import pytest

from attention.variants.linear import LinearAttentionState, linear_attention

from ...minigrad.array_cases import draw
from .linear_cases import B, E, Ev, H, S, example


def test_what_a_call_refuses():
    q, k, v, _ = example(False)
    for kind, words, arguments, options in (
        (TypeError, "q is int64", (q.astype(int), k, v), {}),
        (TypeError, "k is float32", (q, k.astype("f"), v), {}),
        (ValueError, "queries as wide as keys", (q[..., :3], k, v), {}),
        (ValueError, "one value for each key", (q, k, v[..., :3, :]), {}),
        (ValueError, "has shape (4,)", (q[0, 0, 0], k, v), {}),
        (ValueError, "leading axes", (q[:, :2], k, v), {}),
        (ValueError, "10 queries and 7 keys", (q, k, v), {"is_causal": True}),
        (TypeError, "is_causal is 1", (q, k, v), {"is_causal": 1}),
        (TypeError, "key_mask is int64", (q, k, v), {"key_mask": np.ones(S, int)}),
        (ValueError, "no pairs", (q, k, v), {"key_mask": np.ones((10, S), bool)}),
        (ValueError, "(2, 7)", (q, k, v), {"key_mask": np.ones((B, S), bool)}),
        (ValueError, "(2, 3, 1)", (q, k, v), {"key_mask": np.ones((B, H, 1), bool)}),
        (ValueError, "holds 8", (q, k, v), {"valid_lens": [8, 1]}),
        (TypeError, "holds float64", (q, k, v), {"valid_lens": [7.0, 1.0]}),
        (ValueError, "(3,)", (q, k, v), {"valid_lens": [1, 2, 3]}),
        (ValueError, "(B,)", (q[0, 0], k[0, 0], v[0, 0]), {"valid_lens": [1]}),
        (TypeError, "eps is a str", (q, k, v), {"eps": "1e-6"}),
        (ValueError, "eps is -1.0", (q, k, v), {"eps": -1.0}),
        (ValueError, "eps is nan", (q, k, v), {"eps": np.nan}),
        (ValueError, "made a float", (q, k, v), {"feature_map": lambda x: 1.0}),
        (
            ValueError,
            "rows of one width",
            (q, k, v),
            {"feature_map": lambda x: x[..., : x.shape[-2] - 5]},
        ),
    ):
        with pytest.raises(kind) as error:
            linear_attention(*arguments, **options)
        message = str(error.value)
        assert message.startswith("linear_attention: ") and words in message, message


def test_what_a_state_refuses():
    state = LinearAttentionState()
    state.step(*draw((B, E), (B, E), (B, Ev)))
    for shapes, words in (
        (((B, E), (B, 3), (B, Ev)), "k (2, 3)"),
        (((B, E), (B, E), (Ev,)), "v (6,)"),
        (((3, E), (3, E), (3, Ev)), "the state holds float64 (2, 4, 6)"),
    ):
        with pytest.raises(ValueError) as error:
            state.step(*draw(*shapes))
        assert str(error.value).startswith("LinearAttentionState.step: ")
        assert words in str(error.value)
    with pytest.raises(ValueError, match="k has shape"):
        state.extend(*draw((B, S, E), (B, 3, Ev)))
    with pytest.raises(ValueError, match="float32"):
        state.step(*draw((B, E), (B, E), (B, Ev), dtype="f"))
    assert state.length == 1

"""RoPE and its scalings: what they say of wrong arguments."""

import numpy as np
import pytest

from attention.positions import (
    DynamicNTKScaling,
    LinearScaling,
    NTKScaling,
    YaRNScaling,
    rope,
    rope_permutation,
)

from .rope_cases import p

x = np.ones((2, 3, 5, 4))
REFUSED = {
    "rope-integers": (TypeError, lambda: rope(x.astype(int), p[:5]), "x is int64"),
    "rope-vector": (ValueError, lambda: rope(np.ones(4), [0]), "(4,)", "x[None, :]"),
    "rope-length": (ValueError, lambda: rope(x, 5), "shape ()", "(5,)"),
    "rope-positions": (ValueError, lambda: rope(x, p), "(7,)", "(2, 3, 5, 4)", "(5,)"),
    "rope-one-for-all": (ValueError, lambda: rope(x, [3]), "(1,)", "(2, 3, 5)"),
    "rope-heads-in-between": (
        ValueError,
        lambda: rope(x[:, :2], np.zeros((2, 5))),  # would broadcast, to the heads
        "(2, 5)",
        "(2, 2, 5)",
        "positions[:, None, :]",
    ),
    "rope-leading": (ValueError, lambda: rope(x, np.zeros((2, 2, 5))), "(2, 2, 5)"),
    "rope-bool": (TypeError, lambda: rope(x, [True] * 5), "positions are bool"),
    "rope-nan": (ValueError, lambda: rope(x, [0, 1, np.nan, 3, 4]), "no position nan"),
    "rope-odd": (ValueError, lambda: rope(np.ones((5, 7)), p[:5]), "E is 7", "even"),
    "rope-wide": (ValueError, lambda: rope(x, p[:5], rot_dim=6), "is 6", "0 to 4"),
    "rope-negative": (ValueError, lambda: rope(x, p[:5], rot_dim=-2), "rot_dim is -2"),
    "rope-half": (ValueError, lambda: rope(x, p[:5], rot_dim=2.0), "rot_dim is 2.0"),
    "rope-base": (ValueError, lambda: rope(x, p[:5], base=0.5), "base is 0.5"),
    "rope-scaling": (TypeError, lambda: rope(x, p[:5], scaling=4.0), "scaling is 4.0"),
    "rope_permutation": (ValueError, lambda: rope_permutation(5), "is 5", "even"),
    "LinearScaling": (ValueError, lambda: LinearScaling(0.5), "factor is 0.5", "1 or"),
    "LinearScaling-nan": (ValueError, lambda: LinearScaling(np.nan), "factor is nan"),
    "NTKScaling": (ValueError, lambda: NTKScaling("2"), "factor is '2'"),
    "NTKScaling-inf": (ValueError, lambda: NTKScaling(np.inf), "factor is inf"),
    "DynamicNTKScaling": (
        ValueError,
        lambda: DynamicNTKScaling(2.0, 0),
        "original_length is 0",
    ),
    "DynamicNTKScaling-factor": (
        ValueError,
        lambda: DynamicNTKScaling(0, 10),
        "factor is 0",
    ),
    "YaRNScaling": (ValueError, lambda: YaRNScaling(2.0, -5), "original_length is -5"),
    "YaRNScaling-factor": (ValueError, lambda: YaRNScaling(0.9, 10), "factor is 0.9"),
    "YaRNScaling-betas": (
        ValueError,
        lambda: YaRNScaling(2.0, 10, 1, 32),
        "beta_fast is 1",
        "beta_slow 32",
    ),
    "YaRNScaling-zero": (
        ValueError,
        lambda: YaRNScaling(2.0, 10, attention_factor=0),
        "attention_factor is 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name):
    kind, attempt, *words = REFUSED[name]
    with pytest.raises(kind) as refusal:
        attempt()
    message = str(refusal.value)
    assert message.startswith(f"{name.split('-')[0]}: ") and message.endswith(".")
    for word in words:
        assert word in message, message

"""The GRU decoder with attention in one operation: its specification."""

import numpy as np

from .attention_core import masked_softmax
from .recurrent import gru_step, one_step
from .spec import call, normal, spec


def attention_gru(
    x, s, memory, keys, W_ih, W_hh, b_ih, b_hh, W_q=None, w_v=None,
    *, scale=1.0, lengths=None, n_steps=None,
):  # fmt: skip
    """The states (B, L, H), contexts (B, L, M) and weights (B, L, S), step by step."""
    n_steps = np.full(len(x), x.shape[1]) if n_steps is None else n_steps
    has = (np.arange(x.shape[1]) < n_steps[:, None])[..., None]  # (B, L, 1)
    outputs = []
    for t in range(x.shape[1]):
        if w_v is None:
            e = scale * (keys * s[:, None]).sum(-1)
        else:
            e = np.tanh((s @ W_q.T)[:, None] + keys) @ w_v
        mask = None if lengths is None else np.arange(e.shape[1]) < lengths[:, None]
        p = masked_softmax(e, mask)  # (B, S)
        c = (p[..., None] * memory).sum(1)  # (B, M)
        fed = np.concatenate([x[:, t], c], 1)
        (s,) = one_step(gru_step, fed, (s,), (W_ih, W_hh, b_ih, b_hh))
        outputs.append((s, c, p))
    return [has * np.stack(each, 1) for each in zip(*outputs)]


def _decoder(B=3, L=2, S=5, E=1, M=4, H=2, A=7, additive=True, **options):
    shapes = [(B, L, E), (B, H), (B, S, M), (B, S, A if additive else H)]
    shapes += [(3 * H, E + M), (3 * H, H), (3 * H,), (3 * H,)]
    shapes += [(A, H), (A,)] if additive else []
    return lambda r: call(*(normal(r, shape) / 2 for shape in shapes), **options)


_lengths = np.array([2, 5, 0])
spec(
    "attention_gru",
    attention_gru,
    {
        "additive": _decoder(),
        "dot": _decoder(additive=False),
        "scaled": _decoder(additive=False, scale=0.7),
        "lengths": _decoder(lengths=_lengths),
        "n-steps": _decoder(n_steps=np.array([1, 2, 0])),
        "one-step": _decoder(L=1),
        "narrow": _decoder(S=3, M=1, H=1, A=1),
        "size-one": _decoder(B=1, M=1, H=1, A=1),
        "empty": _decoder(B=0),
    },
)

"""The GRU decoder with attention in one operation: specification and wrong backwards.

``run`` is the decoder step by step, and the way back by hand. Without a slip it is
right, which a test asserts; an entry of the zoo is the same text with one slip.
"""

import numpy as np

from .attention_core import masked_softmax
from .recurrent import gru_step
from .spec import call, normal, spec, wrong


def run(
    x, s, memory, keys, W_ih, W_hh, b_ih, b_hh, W_q, w_v,
    scale, lengths, n_steps, slip="",
):  # fmt: skip
    """The states (B, L, H), contexts (B, L, M), weights (B, L, S), and the way back."""
    E, steps, outputs = x.shape[2], [], []
    n_steps = np.full(len(x), x.shape[1]) if n_steps is None else n_steps
    has = (np.arange(x.shape[1]) < n_steps[:, None])[..., None]  # (B, L, 1)
    for t in range(x.shape[1]):
        if w_v is None:
            e = scale * (keys * s[:, None]).sum(-1)
        else:
            tanh = np.tanh((s @ W_q.T)[:, None] + keys)  # (B, S, A)
            e = tanh @ w_v
        p = masked_softmax(e, lengths)  # (B, S)
        c = (p[..., None] * memory).sum(1)  # (B, M)
        fed = np.concatenate([x[:, t], c], 1)
        (new,), back = gru_step(fed @ W_ih.T + b_ih, s @ W_hh.T + b_hh, (s,), slip)
        steps.append((s, None if w_v is None else tanh, p, fed, back))
        outputs.append((new, c, p))
        s = new

    def backward(*g):
        g_states, g_contexts, g_weights = (has * y for y in g)
        arrays = [x, s, memory, keys, W_ih, W_hh, b_ih, b_hh, W_q, w_v]
        totals = [None if a is None else np.zeros_like(a) for a in arrays]
        dx, ds, dmemory, dkeys, dW_ih, dW_hh, db_ih, db_hh, dW_q, dw_v = totals
        for t in reversed(range(len(steps))):
            before, tanh, p, fed, back = steps[t]
            da, db, (d_before,) = back([ds + g_states[:, t]])
            d_fed = da @ W_ih
            dx[:, t] = d_fed[:, :E]
            dc = g_contexts[:, t] + (slip != "context-not-fed") * d_fed[:, E:]
            dmemory += p[..., None] * dc[:, None]
            dp = (dc[:, None] * memory).sum(-1)
            dp = dp + (slip != "weights-not-an-output") * g_weights[:, t]
            centre = 0 if slip == "no-centre" else (p * dp).sum(-1, keepdims=True)
            de = (p * (dp - centre))[..., None]  # (B, S, 1)
            if slip == "keys-of-the-first-step":
                dkeys[:] = 0
            if w_v is None:
                rate = 1 if slip == "scale-forgotten" else scale
                dkeys += rate * de * before[:, None]
                dq = rate * (de * keys).sum(1)
            else:
                d = de * w_v * (1 - tanh**2)
                dkeys += d
                dW_q += d.sum(1).T @ before
                dw_v += (de * tanh).sum((0, 1))
                dq = d.sum(1) @ W_q
            ds = d_before + db @ W_hh + (0 if slip == "query-not-through-time" else dq)
            dW_ih += da.T @ fed
            dW_hh += db.T @ before
            db_ih += da.sum(0)
            db_hh += db.sum(0)
        return dx, ds, *totals[2:]

    return [has * np.stack(each, 1) for each in zip(*outputs)], backward


def attention_gru(*args, scale=1.0, lengths=None, n_steps=None):
    W_q, w_v = args[8:] or (None, None)
    return run(*args[:8], W_q, w_v, scale, lengths, n_steps)[0]


def _slipping(slip):
    def backward(g, y, *args, scale=1.0, lengths=None, n_steps=None):
        W_q, w_v = args[8:] or (None, None)
        return run(*args[:8], W_q, w_v, scale, lengths, n_steps, slip)[1](*g)

    return backward


def _peer(T, x, s, memory, keys, *rest, scale=1.0, lengths=None, n_steps=None):
    parameters, W_q, w_v = rest[:4], *(rest[4:] or (None, None))
    S = memory.shape[1]
    lengths = T.as_tensor([S] * len(x) if lengths is None else lengths)
    keep, outputs = T.arange(S) < lengths[:, None], []
    for x_t in x.unbind(1):
        if w_v is None:
            e = scale * (keys * s[:, None]).sum(-1)
        else:
            e = T.tanh((s @ W_q.T)[:, None] + keys) @ w_v
        e = T.where(keep, T.exp(e), 0.0)
        p = e / e.sum(-1, keepdim=True).clamp(min=1e-300)
        c = (p[..., None] * memory).sum(1)
        s = T.gru_cell(T.cat([x_t, c], 1), s, *parameters)
        outputs.append((s, c, p))
    n_steps = T.as_tensor([len(outputs)] * len(x) if n_steps is None else n_steps)
    has = (T.arange(len(outputs)) < n_steps[:, None])[..., None]
    return tuple(has * T.stack(each, 1) for each in zip(*outputs))


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
        "dot-lengths": _decoder(additive=False, lengths=_lengths),
        "n-steps": _decoder(n_steps=np.array([1, 2, 0])),
        "dot-n-steps": _decoder(additive=False, n_steps=np.array([1, 2, 0])),
        "one-step": _decoder(L=1),
        "narrow": _decoder(S=3, M=1, H=1, A=1),
        "size-one": _decoder(B=1, M=1, H=1, A=1),
        "empty": _decoder(B=0),
    },
    _peer,
)
for _slip in (
    "query-not-through-time",
    "context-not-fed",
    "weights-not-an-output",
    "no-centre",
    "keys-of-the-first-step",
    "not-carried",
    "reset-gate-misplaced",
):
    wrong("attention_gru", _slip, _slipping(_slip), on="narrow")
wrong("attention_gru", "scale-forgotten", _slipping("scale-forgotten"), on="scaled")

RIGHT_BACKWARDS = {"attention_gru": _slipping("")}

"""Every public layer of attention, and functions, beside plain programs of formulas.

    variant.run(module, q, k, v, lens)       the public function or layer
    variant.plain(P, q, k, v, allowed)       its formula, in the operations of minigrad

q (B, L, D), k (B, S, D), v (B, S, Ev)  ->  (B, L, width). P holds the parameters by
name, and allowed is (B, L, S). The plain program works in any dtype and computes the
whole matrix of pairs.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import attention as A
import minigrad as mg
from attention import masks
from attention.exact.sdpa import dense_attention, tiled_attention
from attention.masks.block_mask import BlockMask
from minigrad import Tensor, nn

D = 8  # width of queries, keys and values; 2 heads of 4


class Parameters(nn.Module):
    """The parameters of a variant that is a function, by name."""

    def __init__(self, **shapes):
        for name, shape in shapes.items():
            setattr(self, name, nn.Parameter(np.zeros(shape, np.float32)))


@dataclass
class Variant:
    run: Callable
    plain: Callable
    make: Callable = Parameters  # () -> module
    causal: bool = False  # whether queries attend to no later keys
    local: Callable | None = None  # (i, j) -> the allowed pairs

    def module(self, dtype=float, seed=0):
        """Return the module with parameters from N(0, 1/4)."""
        module, rng = self.make(), np.random.default_rng(seed)
        for _, p in sorted(module.named_parameters()):
            p.data = np.asarray(rng.standard_normal(p.shape) / 2, dtype)
        return module

    def pairs(self, B, L, S, lens=None):
        """Return the allowed pairs: bool (B, L, S)."""
        i, j = np.arange(L)[:, None], np.arange(S)
        allowed = np.ones((B, L, S), bool)
        if self.causal:
            allowed &= j <= i
        if self.local is not None:
            allowed &= self.local(i, j)
        if lens is not None:
            allowed &= j < np.asarray(lens)[:, None, None]
        return allowed


def t(x):
    return mg.swapaxes(x, -1, -2)


def average(s, v, allowed):
    return mg.softmax(mg.where(allowed, s, -np.inf), -1) @ v


def split(q, k, n=None):
    """Return [q; k] of all pairs."""
    B, L, S = q.shape[0], q.shape[1], k.shape[1]
    q = mg.expand(q[:, :, None], (B, L, S, q.shape[-1]))
    k = mg.expand(k[:, None], (B, L, S, k.shape[-1]))
    return mg.concat([q, k], -1)


def dot(P, q, k):
    return q @ t(k)


def scaled(P, q, k):
    return q @ t(k) * q.shape[-1] ** -0.5


def general(P, q, k):
    return q @ P.W_a @ t(k)


def additive(P, q, k):
    hidden = mg.tanh((q @ t(P.W_q))[:, :, None] + (k @ t(P.W_k))[:, None])
    return (hidden * P.w_v).sum(-1)


def additive_biased(P, q, k):
    hidden = mg.tanh((q @ t(P.W_q))[:, :, None] + (k @ t(P.W_k) + P.b)[:, None])
    return (hidden * P.w_v).sum(-1)


def concat(P, q, k):
    return (mg.tanh(split(q, k) @ t(P.W_a)) * P.v_a).sum(-1)


def gaussian_layer(P, q, k):
    d = q[:, :, None] - k[:, None]
    h = mg.exp(P.log_bandwidth)
    return (d * d).sum(-1) * -0.5 / (h * h)


def disentangled(P, q, k):
    L, S, span = q.shape[1], k.shape[1], len(P.K_r) // 2
    i, j = np.arange(L)[:, None], np.arange(S)
    to_key, to_query = (np.clip(x + span, 0, 2 * span - 1) for x in (i - j, j - i))
    content_to_position = (q[:, :, None] * P.K_r[to_key]).sum(-1)
    position_to_content = (k[:, None] * P.Q_r[to_query]).sum(-1)
    return (q @ t(k) + content_to_position + position_to_content) * (3 * D) ** -0.5


def clipped(q, k):
    """Return clip(j - i, -3, 3) + 3, the rows of a table: (L, S)."""
    d = np.arange(k.shape[1]) - np.arange(q.shape[1])[:, None]
    return np.clip(d, -3, 3) + 3


def shaw(P, q, k):
    return (q[:, :, None] * (k[:, None] + P.a_K[clipped(q, k)])).sum(-1) * D**-0.5


def shaw_and_values(P, q, k, v, allowed):
    p = mg.softmax(mg.where(allowed, shaw(P, q, k), -np.inf), -1)
    return (p[..., None] * (v[:, None] + P.a_V[clipped(q, k)])).sum(-2)


def transformer_xl(P, q, k):
    i, j = np.arange(q.shape[1])[:, None], np.arange(k.shape[1])
    R = A.sinusoidal(i - j, D, dtype=q.dtype) @ t(P.W_kR)  # (L, S, D)
    return ((q + P.u) @ t(k) + ((q + P.w)[:, :, None] * R).sum(-1)) * D**-0.5


def local_p(P, q, k, v, allowed):
    S, reach = k.shape[1], 3
    lens = allowed.sum(-1).astype(q.dtype)
    p = mg.sigmoid((mg.tanh(q @ t(P.W_p)) * P.v_p).sum(-1)) * lens
    distance = np.arange(S).astype(q.dtype) - p[..., None]
    allowed = allowed & (np.abs(distance.data) <= reach)
    align = mg.softmax(mg.where(allowed, q @ t(k), -np.inf), -1)
    return align * mg.exp(distance * distance * (-2 / reach**2)) @ v


def coverage(P, q, k, v, allowed):
    c, contexts = np.zeros(k.shape[:2], q.dtype), []
    for i in range(q.shape[1]):
        hidden = q[:, i] @ t(P.W_q)
        hidden = hidden[:, None] + k @ t(P.W_k) + c[..., None] * P.w_c + P.b
        s = (mg.tanh(hidden) * P.w_v).sum(-1)
        a = mg.softmax(mg.where(allowed[:, i], s, -np.inf), -1)
        contexts.append((a[:, None] @ v)[:, 0])
        c = c + a
    return mg.stack(contexts, 1)


def longformer(m, q, k, v, allowed):
    """Compute the first L outputs for the tokens [q; k + v]; token 0 is global."""
    x, L = mg.concat([q, k + v], 1), q.shape[1]
    i = np.arange(x.shape[1])
    valid = np.concatenate([np.ones(q.shape[:2], bool), allowed[:, 0]], 1)[:, None]
    near = (abs(i[:, None] - i) <= 2) | (i == 0)

    def outputs(W_q, W_k, W_v, pairs):
        q, k, v = (split_heads(x @ t(W.weight) + W.bias) for W in (W_q, W_k, W_v))
        return average(q @ t(k) * (D // 2) ** -0.5, v, pairs[:, None])

    c_local = outputs(m.W_q, m.W_k, m.W_v, valid & near)
    c_global = outputs(m.W_q_global, m.W_k_global, m.W_v_global, valid)
    c = merged_heads(mg.where(i[:, None] == 0, c_global, c_local))
    return (c @ t(m.W_o.weight) + m.W_o.bias)[:, :L]


def steps(m, q, k, v, allowed):
    h = fed = Tensor(np.zeros((q.shape[0], D), q.dtype))

    def context_of(h):
        s = additive(m.attention, h[:, None], k)
        return average(s, v, allowed[:, :1])[:, 0]

    outputs = []
    for i in range(q.shape[1]):
        if isinstance(m, A.BahdanauStep):
            c = context_of(h)
            h = m.cell(mg.concat([q[:, i], c], -1), h)
            outputs.append(mg.concat([h, c], -1))
        else:
            h = m.cell(mg.concat([q[:, i], fed], -1), h)
            fed = mg.tanh(mg.concat([context_of(h), h], -1) @ t(m.W_c) + m.b_c)
            outputs.append(fed)
    return mg.stack(outputs, 1)


def split_heads(x, H=2):
    return mg.swapaxes(mg.reshape(x, (*x.shape[:2], H, x.shape[2] // H)), 1, 2)


def merged_heads(o):
    o = mg.swapaxes(o, 1, 2)
    return mg.reshape(o, (*o.shape[:2], o.shape[2] * o.shape[3]))


def toeplitz(b, L, S):
    return b[:, np.arange(S) - np.arange(L)[:, None] + L - 1]


def rotated(x):
    """Apply RoPE to the two halves of the last axis."""
    n, E = x.shape[-2:]
    angle = np.arange(n)[:, None] * 10000.0 ** (-np.arange(0, E, 2) / E)
    cos, sin = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    a, b = x[..., : E // 2], x[..., E // 2 :]
    return mg.concat([a * cos - b * sin, a * sin + b * cos], -1)


# the variants


def by_score(score, *, temperature=1.0, **shapes):
    """Return ``attend`` with a score(P, q, k), beside its plain program."""

    def run(m, q, k, v, lens=None):
        bound = functools.partial(score[0], m)
        return A.attend(q, k, v, bound, valid_lens=lens, temperature=temperature)[0]

    def plain(P, q, k, v, allowed):
        return average(score[1](P, q, k) * (1 / temperature), v, allowed)

    return Variant(run, plain, lambda: Parameters(**shapes))


def layer(make, score):
    """Return a layer, beside the plain program of its score(P, q, k)."""

    def plain(P, q, k, v, allowed):
        return average(score(P, q, k), v, allowed)

    return Variant(run_layer, plain, make)


def run_layer(m, q, k, v, lens=None):
    return m(q, k, v, lens)


def run_longformer(m, q, k, v, lens=None):
    L = q.shape[1]
    lens = None if lens is None else L + np.asarray(lens)
    x = mg.concat([q, k + v], 1)
    return m(x, np.arange(x.shape[1]) == 0, lens)[:, :L]


def score_of_shaw(m, q, k):
    return A.shaw_scores(q, k, m.a_K)


def run_shaw(m, q, k, v, lens=None):
    score = functools.partial(score_of_shaw, m)
    context, p = A.attend(q, k, v, score, valid_lens=lens)
    return context + A.shaw_values(p, m.a_V)


def score_of_transformer_xl(m, q, k):
    at = A.transformer_xl_distances(q.shape[1], k.shape[1])
    R = A.sinusoidal(at, D, dtype=q.dtype) @ t(m.W_kR)
    return A.transformer_xl_scores(q, k, R, m.u, m.w)


def run_steps(m, q, k, v, lens=None):
    """Run a decoder: q are the inputs of its steps, and its state starts from 0."""
    state = m.start(Tensor(np.zeros((q.shape[0], D), q.dtype)))
    keys, outputs = m.attention.precompute(k), []
    for i in range(q.shape[1]):
        state, output, _ = m(q[:, i], state, keys, v, lens)
        outputs.append(output)
    return mg.stack(outputs, 1)


def sdpa(path, change=None, groups=1, local=None, causal=False, **extra):
    """Two query heads beside one or two key heads, by one of the two paths.

    change   (P, s) -> the scores with a bias, written out
    extra    options, or functions (P, L, S) that make them
    """
    shapes = extra.pop("shapes", {})

    def run(m, q, k, v, lens=None):
        L, S = q.shape[1], k.shape[1]
        options = {n: x(m, L, S) if callable(x) else x for n, x in extra.items()}
        if lens is not None:
            options["mask_mod"] = masks.padding(lens)
        q, k, v = (
            split_heads(q),
            split_heads(k[..., : D // groups], 2 // groups),
            split_heads(v),
        )
        v = v[:, : 2 // groups]
        return merged_heads(
            path(q, k, v, enable_gqa=groups > 1, is_causal=causal, **options)
        )

    def plain(P, q, k, v, allowed):
        q, k, v = (
            split_heads(q),
            split_heads(k[..., : D // groups], 2 // groups),
            split_heads(v),
        )
        v = v[:, : 2 // groups]
        k, v = (mg.expand(x, (len(x), 2, *x.shape[2:])) for x in (k, v))
        s = q @ t(k) * (D // 2) ** -0.5
        s = s if change is None else change(P, s)
        return merged_heads(average(s, v, allowed[:, None]))

    return Variant(run, plain, lambda: Parameters(**shapes), causal, local=local)


def tiles(mask):
    return lambda P, L, S: BlockMask.from_mask(mask, L, S, block=64)


def sdpa_variants():
    """Return {name: Variant} of scaled_dot_product_attention, on both paths."""
    slopes = A.alibi_slopes(2, float)
    globals_ = masks.global_tokens([0, 2])
    big = masks.bigbird(4, 1, 1, 1, seed=0)
    found = {}

    def distance(s):
        return np.abs(np.subtract.outer(*map(np.arange, s.shape[-2:])))

    def is_global(x):
        return np.isin(x, [0, 2])

    for name, path in ("dense", dense_attention), ("tiled", tiled_attention):
        found |= {
            f"{name}": sdpa(path),
            f"{name} causal": sdpa(path, causal=True),
            f"{name} groups": sdpa(path, groups=2),
            f"{name} softcap": sdpa(
                path, lambda P, s: 1.5 * mg.tanh(s * (1 / 1.5)), softcap=1.5
            ),
            f"{name} ALiBi": sdpa(
                path,
                lambda P, s: s - (slopes[:, None, None] * distance(s)).astype(s.dtype),
                bias=lambda P, L, S: A.alibi_bias(2, L, S, dtype=float),
            ),
            f"{name} bias by offset": sdpa(
                path,
                lambda P, s: (
                    s + toeplitz(P.b[:, : sum(s.shape[-2:]) - 1], *s.shape[-2:])
                ),
                bias=lambda P, L, S: P.b[:, : max(L + S - 1, 0)],
                shapes={"b": (2, 500)},
            ),
            f"{name} window": sdpa(
                path, local=lambda i, j: abs(i - j) <= 3, window_size=(3, 3)
            ),
            f"{name} dilated": sdpa(
                path,
                local=lambda i, j: (abs(i - j) <= 6) & ((i - j) % 2 == 0),
                block_mask=tiles(masks.dilated(6, 2)),
            ),
            f"{name} Longformer": sdpa(
                path,
                local=lambda i, j: (abs(i - j) <= 2) | is_global(i) | is_global(j),
                block_mask=tiles(masks.sliding_window(2, 2) | globals_),
            ),
            f"{name} BigBird": sdpa(
                path,
                local=lambda i, j: big.dense(1, 1, len(i), len(j))[0, 0],
                block_mask=tiles(big),
            ),
        }
    return found


def run_linear(is_causal):
    def run(m, q, k, v, lens=None):
        return A.linear_attention(q, k, v, is_causal, valid_lens=lens)

    def plain(P, q, k, v, allowed):
        w = mg.where(allowed, A.elu_plus_one(q) @ t(A.elu_plus_one(k)), 0.0)
        return w @ v / (w.sum(-1, keepdims=True) + 1e-6)

    return Variant(run, plain, causal=is_causal)


def multihead(num_kv_heads, is_causal=False, rotate=None):
    def run(m, q, k, v, lens=None):
        return m(q, k, v, valid_lens=lens, is_causal=is_causal, rotate=rotate)

    def plain(m, q, k, v, allowed):
        q = split_heads(q @ t(m.W_q.weight) + m.W_q.bias)
        k = split_heads(k @ t(m.W_k.weight) + m.W_k.bias, num_kv_heads)
        v = split_heads(v @ t(m.W_v.weight) + m.W_v.bias, num_kv_heads)
        if rotate is not None:
            q, k = (rotated(x) for x in (q, k))
        k, v = (mg.expand(x, (len(x), 2, *x.shape[2:])) for x in (k, v))
        c = merged_heads(average(q @ t(k) * (D // 2) ** -0.5, v, allowed[:, None]))
        return c @ t(m.W_o.weight) + m.W_o.bias

    make = lambda: A.MultiHeadAttention(D, 2, num_kv_heads)  # noqa: E731
    return Variant(run, plain, make, is_causal)


def merged(m, q, k, v, lens=None):
    """Merge the attention to even keys and to odd keys."""
    parts = []
    for some in slice(0, None, 2), slice(1, None, 2):
        own = None if lens is None else (np.asarray(lens) + (some.start == 0)) // 2
        options = {} if own is None else {"mask_mod": masks.padding(own)}
        o, lse = tiled_attention(
            *(split_heads(x) for x in (q, k[:, some], v[:, some])),
            return_lse=True,
            **options,
        )
        parts += [o, lse]
    return merged_heads(A.merge(*parts)[0])


def variants():

    def step(kind, **options):
        return lambda: kind(D, D, D, A.AdditiveAttention(D, D, 6), **options)

    plain_merge = sdpa(tiled_attention).plain
    return {
        "dot": by_score((lambda m, q, k: A.dot(q, k), dot)),
        "temperature": by_score((lambda m, q, k: A.dot(q, k), dot), temperature=2.5),
        "disentangled": by_score(
            (lambda m, q, k: A.disentangled_scores(q, k, m.Q_r, m.K_r), disentangled),
            Q_r=(6, D),
            K_r=(6, D),
        ),
        "Shaw": by_score((score_of_shaw, shaw), a_K=(7, D)),
        "Shaw's values": Variant(
            run_shaw, shaw_and_values, lambda: Parameters(a_K=(7, D), a_V=(7, D))
        ),
        "Transformer-XL": by_score(
            (score_of_transformer_xl, transformer_xl), W_kR=(D, D), u=(D,), w=(D,)
        ),
        "DotProductAttention": layer(A.DotProductAttention, scaled),
        "GeneralAttention": layer(lambda: A.GeneralAttention(D, D), general),
        "additive": layer(lambda: A.AdditiveAttention(D, D, 6), additive),
        "additive with bias": layer(
            lambda: A.AdditiveAttention(D, D, 6, bias=True), additive_biased
        ),
        "GaussianAttention": layer(lambda: A.GaussianAttention(1.3), gaussian_layer),
        "Nadaraya-Watson": Variant(
            lambda m, q, k, v, lens=None: A.nadaraya_watson(
                q, k, v, bandwidth=mg.exp(m.log_bandwidth), valid_lens=lens
            )[0],
            layer(None, gaussian_layer).plain,
            lambda: Parameters(log_bandwidth=()),
        ),
        "Luong dot": layer(lambda: A.LuongAttention("dot", D, D), dot),
        "Luong general": layer(lambda: A.LuongAttention("general", D, D), general),
        "Luong concat": layer(lambda: A.LuongAttention("concat", D, D), concat),
        "layer of Longformer": Variant(
            run_longformer, longformer, lambda: A.LongformerAttention(D, 2, 4)
        ),
        "local-m": Variant(
            run_layer,
            lambda P, q, k, v, allowed: average(dot(P, q, k), v, allowed),
            lambda: A.LocalAttention(D, D, 3, score="dot"),
            local=lambda i, j: abs(i - j) <= 3,
        ),
        "local-p": Variant(
            run_layer,
            local_p,
            lambda: A.LocalAttention(D, D, 3, "p", score="dot"),
        ),
        "coverage": Variant(
            lambda m, q, k, v, lens=None: m(q, k, v, lens)[0],
            coverage,
            lambda: A.CoverageAttention(D, D, 6, bias=True),
        ),
        "Bahdanau's step": Variant(run_steps, steps, step(A.BahdanauStep)),
        "Luong's step": Variant(run_steps, steps, step(A.LuongStep, bias=True)),
        "linear": run_linear(False),
        "linear causal": run_linear(True),
        "heads": multihead(2),
        "heads causal": multihead(2, True),
        "one key head": multihead(1),
        "heads with RoPE": multihead(2, rotate=A.rope),
        "merge": Variant(merged, plain_merge),
        **sdpa_variants(),
    }


VARIANTS = variants()


def across(names=tuple(VARIANTS)):
    """Parametrize: each name with numba, and with NumPy those that have kernels."""
    alone = "tiled", "linear", "dot", "additive", "dense causal"
    names_and_backends = [(n, "numba") for n in names]
    names_and_backends += [(n, "numpy") for n in names if n.startswith(alone)]
    deep = [pytest.mark.deep]  # the kernels of linear attention take long to compile
    return pytest.mark.parametrize(
        "name, backend",
        [
            pytest.param(
                name,
                backend,
                id=f"{name}-{backend}",
                marks=deep if name.startswith("linear") and backend == "numba" else [],
            )
            for name, backend in names_and_backends
        ],
        indirect=["backend"],
    )


def results(function, module, arrays, *more, g=None):
    """Return the output and the gradients of q, k, v and all parameters.

    g   the gradient of the output; None draws it
    """
    for p in module.parameters():
        p.zero_grad()
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    o = function(module, *leaves, *more)
    if g is None:
        g = np.random.default_rng(5).standard_normal(o.shape).astype(o.dtype)
    o.backward(g)
    grads = (x.grad for x in (*leaves, *module.parameters()))
    return [o.data, *(np.zeros(()) if d is None else d for d in grads)]


def same(found, expected, tolerance=1e-12):
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)

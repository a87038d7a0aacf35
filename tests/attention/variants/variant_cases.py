"""Every public layer of attention, and functions, beside their definitions.

    variant.run(module, q, k, v, lens)             the public function or layer
    variant.definition(P, q, k, v, allowed)        of attention/definitions.py

run maps q (B, L, D), k (B, S, D), v (B, S, Ev) to (B, L, width). The definition maps
one example: q (L, D), k (S, D), v (S, Ev) and allowed (L, S) to (L, width); P holds the
parameters by name.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import attention as A
import minigrad as mg
from attention import definitions, masks
from attention.costs.counted import definition_of
from attention.costs.trials import first
from attention.exact.sdpa import dense_attention, tiled_attention
from attention.masks.block_mask import BlockMask
from attention.positions import OffsetBias
from attention.variants import table
from minigrad import Tensor, nn

from ...ops.recurrent import gru_step
from ..definition_cases import with_bias, with_ones

D = 8  # width of queries, keys and values; 2 heads of 4


class Parameters(nn.Module):
    """The parameters of a variant that is a function, by name."""

    def __init__(self, **shapes):
        for name, shape in shapes.items():
            setattr(self, name, nn.Parameter(np.zeros(shape, np.float32)))


@dataclass
class Variant:
    run: Callable
    definition: Callable
    make: Callable = Parameters  # () -> module
    causal: bool = False  # whether queries attend to no later keys
    local: Callable | None = None  # (i, j) -> the allowed pairs

    def module(self, dtype=float, seed=0):
        """Return the module with parameters from N(0, 1/4)."""
        module, rng = self.make(), np.random.default_rng(seed)
        for _, p in sorted(module.named_parameters()):
            p.data = np.asarray(rng.standard_normal(p.shape) / 2, dtype)
        return module

    def pairs(self, L, S):
        """Return the allowed pairs: bool (L, S)."""
        i, j = definitions.positions(L, S)
        allowed = np.ones((L, S), bool)
        if self.causal:
            allowed &= definitions.causal(i, j)
        if self.local is not None:
            allowed &= self.local(i, j)
        return allowed

    def defined(self, module, q, k, v, *parameters):
        """Return the outputs of the definition: (B, L, width)."""
        P = dict(zip(dict(module.named_parameters()), parameters, strict=True))
        allowed = self.pairs(q.shape[1], k.shape[1])
        return np.stack([self.definition(P, *x, allowed) for x in zip(q, k, v)])


def t(x):
    return mg.swapaxes(x, -1, -2)


def split_heads(x, H=2):
    return mg.swapaxes(mg.reshape(x, (*x.shape[:2], H, x.shape[2] // H)), 1, 2)


def merged_heads(o):
    o = mg.swapaxes(o, 1, 2)
    return mg.reshape(o, (*o.shape[:2], o.shape[2] * o.shape[3]))


# the definitions, with their parameters by name


def score_of(definition, *names):
    """Return (P, q, k) -> the scores of a definition with these parameters."""
    return lambda P, q, k: definition(q, k, *(P[name] for name in names))


def gaussian(P, q, k):
    return definitions.gaussian(q, k, np.exp(P["log_bandwidth"]))


def transformer_xl(P, q, k):
    distance = np.arange(len(q) - 1, -len(k), -1)
    R = definitions.sinusoidal(distance, D) @ P["W_kR"].T
    return definitions.transformer_xl(q, k, R, P["u"], P["w"])


def longformer(P, q, k, v, allowed):
    """Compute the first L outputs for the tokens [q; k + v]; token 0 is global."""
    x, contexts = with_ones(np.concatenate([q, k + v])), []
    for rows in slice(0, D // 2), slice(D // 2, D):
        W, W_global = (
            [with_bias(P, f"W_{n}{of}")[rows] for n in "qkv"] for of in ("", "_global")
        )
        contexts.append(definitions.longformer(x, W, W_global, 2, [0]))
    return (with_ones(np.concatenate(contexts, 1)) @ with_bias(P, "W_o").T)[: len(q)]


def steps(order):
    """Return the outputs of all steps of a decoder, "bahdanau" or "luong"."""

    def outputs(P, q, k, v, allowed):
        h = h_tilde = np.zeros(D, q.dtype)
        matrices = [P[f"attention.{name}"] for name in ("W_q", "W_k", "w_v")]

        def attention(h):
            return definitions.attend(definitions.additive(h, k, *matrices), v)

        def cell(x, h):
            a, b = (
                P[f"cell.weight_{n}"] @ y + P[f"cell.bias_{n}"]
                for n, y in (("ih", x), ("hh", h))
            )
            return gru_step(a, b, (h,), None)[0][0]

        outputs = []
        for x in q:
            if order == "bahdanau":
                h, output = definitions.bahdanau_step(x, h, attention, cell)
            else:
                h, output = h, h_tilde = definitions.luong_step(
                    x, h, h_tilde, attention, cell, P["W_c"], P["b_c"]
                )
            outputs.append(output)
        return np.stack(outputs)

    return outputs


# the variants


def by_score(score, *, temperature=1.0, **shapes):
    """Return ``attend`` with a score(P, q, k), beside its definition."""

    def run(m, q, k, v, lens=None):
        bound = functools.partial(score[0], m)
        return A.attend(q, k, v, bound, valid_lens=lens, temperature=temperature)[0]

    def definition(P, q, k, v, allowed):
        return definitions.attend(score[1](P, q, k) / temperature, v, allowed)

    return Variant(run, definition, lambda: Parameters(**shapes))


def layer(make, score):
    """Return a layer, beside the definition of its score(P, q, k)."""

    def definition(P, q, k, v, allowed):
        return definitions.attend(score(P, q, k), v, allowed)

    return Variant(run_layer, definition, make)


def of_table():
    """Return {name: Variant} of the layers of queries, keys and values in the table."""
    found = {}
    for name, row in table.VARIANTS.items():
        if row.layer is not None and row.inputs == table.Variant.inputs:
            found[name] = layer_of(name, row, row.options | row.small)
    found["local-m"].local = lambda i, j: definitions.window(i, j, 2, 2)
    return found


def layer_of(name, row, options):
    def definition(P, q, k, v, allowed):
        return definition_of(name)(q, k, v, *P.values(), **options)

    return Variant(run_layer, definition, lambda: row.layer(D, D, None, **options))


def run_layer(m, q, k, v, lens=None):
    return first(m(q, k, v, lens))


def run_longformer(m, q, k, v, lens=None):
    L = q.shape[1]
    lens = None if lens is None else L + np.asarray(lens)
    x = mg.concat([q, k + v], 1)
    return m(x, np.arange(x.shape[1]) == 0, lens)[:, :L]


def score_of_shaw(m, q, k):
    return A.shaw_scores(q, k, m.a_K)


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


def scaled_dot(P, q, k, h):
    return definitions.scaled_dot(q, k)


def sdpa(path, score=scaled_dot, groups=1, local=None, causal=False, **extra):
    """Two query heads beside one or two key heads, by one of the two paths.

    score    (P, q, k, h) -> the scores of head h
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

    def definition(P, q, k, v, allowed):
        def head(h):
            return lambda q, k, v: definitions.attend(score(P, q, k, h), v, allowed)

        one = np.eye(D, dtype=q.dtype)  # no projections
        few = one[: D // groups]
        heads = [head(0), head(1)]
        return definitions.multi_head(q, k, v, one, few, few, one, heads)

    return Variant(run, definition, lambda: Parameters(**shapes), causal, local=local)


def tiles(mask):
    return lambda P, L, S: BlockMask.from_mask(mask, L, S, block=64)


def sdpa_variants():
    """Return {name: Variant} of scaled_dot_product_attention, on both paths."""
    slopes = definitions.alibi_slopes(2)
    globals_ = masks.global_tokens([0, 2])
    big = masks.bigbird(4, 1, 1, 1, seed=0)
    found = {}

    def by_offset(P, q, k, h):
        i, j = definitions.positions(len(q), len(k))
        return definitions.scaled_dot(q, k) + P["b"][h][j - i + len(q) - 1]

    for name, path in ("dense", dense_attention), ("tiled", tiled_attention):
        found |= {
            f"{name}": sdpa(path),
            f"{name} causal": sdpa(path, causal=True),
            f"{name} groups": sdpa(path, groups=2),
            f"{name} softcap": sdpa(
                path,
                lambda P, q, k, h: 1.5 * np.tanh(definitions.scaled_dot(q, k) / 1.5),
                softcap=1.5,
            ),
            f"{name} ALiBi": sdpa(
                path,
                lambda P, q, k, h: definitions.alibi(q, k, slopes[h]),
                bias=lambda P, L, S: A.alibi_bias(2, L, S, dtype=float),
            ),
            f"{name} bias by offset": sdpa(
                path,
                by_offset,
                bias=lambda P, L, S: OffsetBias(P.b[:, : max(L + S - 1, 0)]),
                shapes={"b": (2, 500)},
            ),
            f"{name} window": sdpa(
                path,
                local=lambda i, j: definitions.window(i, j, 3, 3),
                window_size=(3, 3),
            ),
            f"{name} dilated": sdpa(
                path,
                local=lambda i, j: definitions.dilated(i, j, 6, 2),
                block_mask=tiles(masks.dilated(6, 2)),
            ),
            f"{name} Longformer": sdpa(
                path,
                local=lambda i, j: (
                    definitions.window(i, j, 2, 2)
                    | definitions.global_tokens(i, j, [0, 2])
                ),
                block_mask=tiles(masks.sliding_window(2, 2) | globals_),
            ),
            f"{name} BigBird": sdpa(path, local=bigbird(big), block_mask=tiles(big)),
        }
    return found


def bigbird(mask):
    """Return the definition of BigBird's pattern with the blocks that a mask draws.

    The mask has one block of 4 tokens in its window, one global block and one random
    block in each row: those that are neither near nor global.
    """

    def pairs(i, j):
        drawn = mask.dense(1, 1, len(i), len(j))[0, 0][::4, ::4]
        a, b = definitions.positions(*drawn.shape)
        others = (a != b) & (a != 0) & (b != 0)
        np.testing.assert_array_equal((drawn & others).sum(1), others.any(1))
        return definitions.bigbird(i, j, 4, 0, [0], drawn & others)

    return pairs


def run_linear(is_causal):
    def run(m, q, k, v, lens=None):
        return A.linear_attention(q, k, v, is_causal, valid_lens=lens)

    def definition(P, q, k, v, allowed):
        return (definitions.causal_linear if is_causal else definitions.linear)(q, k, v)

    return Variant(run, definition, causal=is_causal)


def multihead(num_kv_heads, is_causal=False, rotate=None):
    def run(m, q, k, v, lens=None):
        return m(q, k, v, valid_lens=lens, is_causal=is_causal, rotate=rotate)

    def head(allowed):
        def attention(q, k, v):
            if rotate is not None:
                w = definitions.frequencies(q.shape[1])
                q, k = (definitions.rope(x, np.arange(len(x)), w) for x in (q, k))
            return definitions.scaled_dot_attention(q, k, v, allowed)

        return attention

    def definition(P, q, k, v, allowed):
        W_q, W_k, W_v = (with_bias(P, f"W_{n}") for n in "qkv")
        q, k, v = (with_ones(x) for x in (q, k, v))
        heads, W_o = [head(allowed)] * 2, P["W_o.weight"]
        o = definitions.multi_head(q, k, v, W_q, W_k, W_v, W_o, heads)
        return o + P["W_o.bias"]

    make = lambda: A.MultiHeadAttention(D, 2, num_kv_heads)  # noqa: E731
    return Variant(run, definition, make, is_causal)


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

    whole = sdpa(tiled_attention).definition
    return {
        "temperature": by_score(
            (lambda m, q, k: A.dot(q, k), score_of(definitions.dot)), temperature=2.5
        ),
        "disentangled": by_score(
            (
                lambda m, q, k: A.disentangled_scores(q, k, m.Q_r, m.K_r),
                score_of(definitions.disentangled, "Q_r", "K_r"),
            ),
            Q_r=(6, D),
            K_r=(6, D),
        ),
        "Shaw": by_score(
            (score_of_shaw, score_of(definitions.shaw, "a_K")), a_K=(7, D)
        ),
        "Transformer-XL": by_score(
            (score_of_transformer_xl, transformer_xl), W_kR=(D, D), u=(D,), w=(D,)
        ),
        **of_table(),
        "additive with bias": layer(
            lambda: A.AdditiveAttention(D, D, 6, bias=True),
            score_of(definitions.additive, "W_q", "W_k", "w_v", "b"),
        ),
        "Nadaraya-Watson": Variant(
            lambda m, q, k, v, lens=None: A.nadaraya_watson(
                q, k, v, bandwidth=mg.exp(m.log_bandwidth), valid_lens=lens
            )[0],
            layer(None, gaussian).definition,
            lambda: Parameters(log_bandwidth=()),
        ),
        "Luong general": layer(
            lambda: A.LuongAttention("general", D, D),
            score_of(definitions.general, "W_a"),
        ),
        "layer of Longformer": Variant(
            run_longformer, longformer, lambda: A.LongformerAttention(D, 2, 4)
        ),
        "Bahdanau's step": Variant(run_steps, steps("bahdanau"), step(A.BahdanauStep)),
        "Luong's step": Variant(
            run_steps, steps("luong"), step(A.LuongStep, bias=True)
        ),
        "linear": run_linear(False),
        "linear causal": run_linear(True),
        "heads": multihead(2),
        "heads causal": multihead(2, True),
        "one key head": multihead(1),
        "heads with RoPE": multihead(2, rotate=A.rope),
        "merge": Variant(merged, whole),
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
    o.backward(cotangent(o) if g is None else g)
    grads = ((x.grad, x.shape) for x in (*leaves, *module.parameters()))
    return [o.data, *(np.zeros(shape) if d is None else d for d, shape in grads)]


def cotangent(o):
    """Return numbers of the shape and dtype of an output."""
    return np.random.default_rng(5).standard_normal(o.shape).astype(o.dtype)


def same(found, expected, tolerance=1e-12):
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def all_keys(s):
    """Return the allowed pairs of scores without a mask."""
    return np.ones(np.shape(s), bool)


def close(found, expected, rtol=1e-11, atol=1e-12):
    """Assert that two arrays are equal up to rounding."""
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)

"""Local attention: each query looks at the few keys around a centre.

    the window of query t:   the keys s with |s - p_t| <= D,    2 D + 1 of them at most

    local-m, monotonic:      p_t = t, or what a function of t and the length S says
                             a_t = softmax of the scores in the window
    local-p, predictive:     p_t = S sigmoid(v_p . tanh(W_p q_t))
                             a_t(s) = align_t(s) exp(-(s - p_t)^2 / (2 sigma^2)),
                             where align_t is that softmax, and sigma = D / 2

Global attention costs S scores for every query; this costs 2 D + 1, however long the
source is. Where there is a rough order of things, as in translation, speech, or a
string to be reversed, little is lost. Luong et al. 2015, section 3.2, equations 9, 10.

The bounds of the window are steps of p_t, so the gradient comes to p_t through the
Gaussian alone. As in the paper, the weights are normalised before the Gaussian and not
after it: those of local-p sum to less than 1.
"""

import numpy as np

from minigrad import Tensor, exp, linear, matmul, nn, sigmoid, tanh

from ..attend import attend
from ..checks import between, called, tensor, whole, wholes
from ..layers import Attention, ProjectedKeys, to_one_number, xavier_uniform
from .luong import LuongAttention
from .windows import gather_windows


class LocalAttention(nn.Module):
    """Attention to a window of 2 D + 1 keys: local-m or local-p.

        layer(queries, keys, values, valid_lens=None, start=0)  ->  context

    queries (..., L, Dq), keys (..., S, Dk), values (..., S, Ev)  ->  context
    (..., L, Ev), with the same leading axes. valid_lens (B,) or (B, L): the length of
    each source, which is the S of the formulas; keys beyond it are in no window.
    start: the number t of the first query, for calls that go step by step.

    D             how far the window reaches on either side
    kind          "m" or "p"
    score         "dot", "general" or "concat", as of ``LuongAttention``, or an
                  attention layer, whose score and dropout are used
    centre        of "m": a function (t, length) -> p_t, called on arrays of numbers
                  that broadcast. None is p_t = t; for reversal, where query t wants
                  the key length - 1 - t, lambda t, length: length - 1 - t
    renormalize   of "p": normalise after the Gaussian, so that weights sum to 1

    Parameters: those of ``score``; of "p" also W_p (Dq, Dq) and v_p (Dq,).

    Cost a query: 2 D + 1 scores, and W_p. A score that projects the keys projects each
    once for every window that it is in: ``precompute`` does it once for all.
    A query whose window is empty, beyond the end of the source, has weights and context
    0. What is in no window may be NaN.

    Raises TypeError and ValueError, in a sentence, for arguments that do not fit.
    """

    def __init__(
        self,
        query_size,
        key_size,
        D,
        kind="m",
        score="general",
        centre=None,
        renormalize=False,
        rng=None,
    ):
        if kind not in ("m", "p"):
            raise ValueError(f"LocalAttention: kind is {kind!r}; expected 'm' or 'p'.")
        self.D = whole("LocalAttention", "D", D, least=1 if kind == "p" else 0)
        self.query_size = whole("LocalAttention", "query_size", query_size, least=1)
        self.key_size = whole("LocalAttention", "key_size", key_size, least=1)
        self.kind = kind
        self.score = _layer(score, query_size, key_size, rng)
        self.centre, self.renormalize = _checked_centre(kind, centre), bool(renormalize)
        if renormalize and kind == "m":
            raise ValueError(
                "LocalAttention: renormalize belongs to kind 'p'; the weights of kind "
                "'m' sum to 1 as they are."
            )
        if kind == "p":
            self.W_p = xavier_uniform(query_size, query_size, rng)
            self.v_p = to_one_number(query_size, rng)
        self._seen = None  # weights, first, stop and S of the last call

    def forward(self, queries, keys, values, valid_lens=None, start=0):
        key_size = self.key_size
        if isinstance(keys, ProjectedKeys):
            key_size = keys.shape[-1]  # whatever the score made of them
        keys, score = self.score.keys_and_score(keys)
        start = whole("LocalAttention", "start", start)
        queries = _rows("queries", queries, "L, Dq", self.query_size)
        keys = _rows("keys", keys, "S, Dk", key_size)
        values = _rows("values", values, "S, Ev")
        S = _shared_sizes(queries, keys, values)
        lengths = _checked_lengths(valid_lens, (*queries.shape[:-1], S))  # (..., L)
        p = self._centres(queries, lengths, start)  # (..., L)
        first, stop = _ends(p, self.D, lengths)
        W = min(2 * self.D + 1, S)
        K = gather_windows(keys, first, stop, W)  # (..., L, W, Dk)
        V = gather_windows(values, first, stop, W)  # (..., L, W, Ev)

        position = first[..., None] + np.arange(W)  # s, for each place in the window
        bias = gaussian = None
        if self.kind == "p":
            distance = position.astype(queries.dtype) - p[..., None]
            bias = distance * distance * (-2 / self.D**2)  # 1 / (2 sigma^2) = 2 / D^2
            gaussian = exp(bias)  # (..., L, W)
            if not self.renormalize:
                # sum_s (align gaussian) v = sum_s align (gaussian v)
                V, bias = V * gaussian[..., None], None
        context, weights = attend(
            queries[..., None, :],  # one query to a window: (..., L, 1, Dq)
            K,
            V,
            score,
            mask=(position < stop[..., None])[..., None, :],
            bias=None if bias is None else bias[..., None, :],
            dropout_p=self.score.dropout,
            training=self.training,
            rng=self.score.rng,
        )
        weights = weights._data[..., 0, :]  # (..., L, W)
        if gaussian is not None and not self.renormalize:
            weights = weights * gaussian._data
        self._seen = weights, first, stop, S
        return context[..., 0, :]  # (..., L, Ev)

    def precompute(self, keys):
        """As the same method of ``score``: what it makes of the keys, made once."""
        return self.score.precompute(keys)

    @property
    def attention_weights(self):
        """Those of the last call, laid out over all keys, (..., L, S); None before it.

        Before dropout, and apart from the graph. Memory L S: made when asked for.
        """
        if self._seen is None:
            return None
        weights, first, stop, S = self._seen
        position = first[..., None] + np.arange(weights.shape[-1])
        inside = np.nonzero(position < stop[..., None])
        laid_out = np.zeros((*first.shape, S), weights.dtype)
        laid_out[*inside[:-1], position[inside]] = weights[inside]
        return Tensor._of(laid_out)

    def _share(self, queries):
        """Return which part of the source lies before p_t, of local-p: (..., L, 1)."""
        y = tanh(linear.unchecked(queries, self.W_p))  # (..., L, Dq)
        return sigmoid(matmul(y, self.v_p[:, None]))

    def _centres(self, queries, lengths, start):
        """p_t: an array (..., L) for local-m, a Tensor (..., L) for local-p."""
        if self.kind == "p":
            return self._share(queries)[..., 0] * lengths.astype(queries.dtype)
        t = start + np.arange(queries.shape[-2])
        if self.centre is None:
            return np.broadcast_to(t, lengths.shape)
        name = "LocalAttention: the function centre"
        p = np.asarray(called(name, "(t, length)", self.centre, t, lengths))
        if p.dtype.kind not in "iuf" or not np.isfinite(p).all():
            what = f"an array of {p.dtype}"
            what = "NaN or infinity" if p.dtype.kind == "f" else what
            raise ValueError(
                f"LocalAttention: centre gave {what}; expected numbers, the middle of "
                "each window."
            )
        try:
            return np.broadcast_to(p, lengths.shape)
        except ValueError:
            raise ValueError(
                f"LocalAttention: centre gave shape {p.shape}; expected one that "
                f"broadcasts to {lengths.shape}, a number for each query."
            ) from None

    def extra_repr(self):
        text = f"D={self.D}, kind={self.kind!r}"
        return text + (", renormalize=True" if self.renormalize else "")


def _ends(p, D, lengths):
    """The first key of each window, and the one after the last: ints (..., L)."""
    p = p._data if isinstance(p, Tensor) else p
    first = np.clip(np.ceil(p - D), 0, lengths)
    stop = np.clip(np.floor(p + D) + 1, first, lengths)
    return first.astype(np.intp), stop.astype(np.intp)


def _layer(score, query_size, key_size, rng):
    if isinstance(score, Attention):
        return score
    if score not in ("dot", "general", "concat"):
        raise ValueError(
            f"LocalAttention: score is {score!r}; expected 'dot', 'general', 'concat', "
            "or an attention layer, such as AdditiveAttention(…)."
        )
    return LuongAttention(score, query_size, key_size, rng=rng)


def _checked_centre(kind, centre):
    if centre is not None and kind == "p":
        raise ValueError(
            "LocalAttention: kind 'p' predicts its centres; a function for them, "
            "centre, belongs to kind 'm'."
        )
    if centre is not None and not callable(centre):
        raise TypeError(
            f"LocalAttention: centre is {centre!r}; expected a function of (t, length)."
        )
    return centre


def _rows(name, x, axes, size=None):
    """``x`` as a Tensor of floats with at least the two axes, the last one of size."""
    x = tensor("LocalAttention", name, x)
    if x.dtype.kind != "f":
        raise TypeError(
            f"LocalAttention: {name} is {x.dtype}; expected floating-point numbers."
        )
    if x.ndim < 2 or size not in (None, x.shape[-1]):
        last = "" if size is None else f", the last axis of {size}"
        raise ValueError(
            f"LocalAttention: {name} has shape {x.shape}; expected (…, {axes}){last}."
        )
    return x


def _shared_sizes(queries, keys, values):
    """S, if the three fit together."""
    leading = {x.shape[:-2] for x in (queries, keys, values)}
    if len(leading) > 1 or keys.shape[-2] != values.shape[-2]:
        raise ValueError(
            f"LocalAttention: queries {queries.shape}, keys {keys.shape} and values "
            f"{values.shape} do not fit; expected (…, L, Dq), (…, S, Dk) and "
            "(…, S, Ev) with the same leading axes, and one value for each key."
        )
    return keys.shape[-2]


def _checked_lengths(valid_lens, shape):
    """The length that each query sees, (..., L); ``shape`` is that of the weights."""
    *rows, S = shape
    if valid_lens is None:
        return np.full(rows, S)
    lengths = wholes(
        "LocalAttention",
        "valid_lens",
        valid_lens,
        {1: "(B,), one for each example", 2: "(B, L), one for each query"},
    )
    fitting = rows[:1] if lengths.ndim == 1 else [rows[0], rows[-1]]
    if list(lengths.shape) != fitting or len(rows) < lengths.ndim:
        raise ValueError(
            f"LocalAttention: valid_lens have shape {lengths.shape}; expected (B,) or "
            f"(B, L) for weights of shape {shape}, (B, …, L, S)."
        )
    between("LocalAttention", "valid_lens", lengths, 0, S, "the number of keys")
    per_row = lengths.shape[:1] + (1,) * (len(rows) - lengths.ndim) + lengths.shape[1:]
    return np.broadcast_to(lengths.reshape(per_row), rows)

"""Local attention: each query attends to a window of keys around a centre.

    window of query t:       the keys s with |s - p_t| <= D,    at most 2 D + 1

    local-m, monotonic:      p_t = t, or a given function of t and the length S
                             a_t = softmax of the scores in the window

    local-p, predictive:     p_t = S sigmoid(v_p . tanh(W_p q_t))
                             a_t(s) = align_t(s) exp(-(s - p_t)^2 / (2 sigma^2)),
                             align_t = the same softmax,    sigma = D / 2

The letters are those of the paper: a_t(s) is the weight of key s for query t. A query
has 2 D + 1 scores; in global attention it has S. Local attention suits tasks in which
the centre of each window is known or easy to predict, such as translation, speech, or
reversal.

p_t decides which keys are in the window, but this choice is a step function and has no
gradient. So p_t is trained only through the Gaussian. As in the paper, the Gaussian is
applied after the softmax, so the weights of local-p sum to less than 1.

Luong et al. 2015, section 3.2, equations 9 and 10.
"""

import math

import numpy as np

from minigrad import Tensor, differentiable, exp, linear, matmul, nn, sigmoid, tanh
from minigrad.arguments import broadcastable, called, flag, one_of, whole
from minigrad.shapes import shapes

from .. import definitions
from ..layers import Attention, xavier_matrix, xavier_vector
from ..masks.given import lengths_of_rows
from ..template import attend
from .luong import KINDS, LuongAttention
from .row import Variant

NAME = "LocalAttention"


class LocalAttention(nn.Module):
    """Attention to a window of 2 D + 1 keys: local-m or local-p.

    D             the window reaches D keys to either side of its centre
    kind          "m" or "p"
    score         "dot", "general" or "concat", as in ``LuongAttention``; or an
                  attention layer, whose score and dropout are used
    centre        only for "m": a function (t, length) -> p_t of arrays that broadcast.
                  None is p_t = t. For reversal, lambda t, length: length - 1 - t
    renormalize   only for "p": apply the softmax after the Gaussian, so that the
                  weights sum to 1

    Parameters: those of ``score``, and for "p" also W_p (Dq, Dq) and v_p (Dq,).

    The cost of a query is 2 D + 1 scores, and W_p q. A score that projects keys does it
    again for each window that contains the key. To project each key only once, call
    ``precompute`` first. A query whose window is beyond the end of the source has
    weights and context 0.
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
        self.kind = one_of(NAME, "kind", kind, ("m", "p"))
        self.D = whole(NAME, "D", D, least=1 if kind == "p" else 0)
        self.query_size = whole(NAME, "query_size", query_size, least=1)
        self.key_size = whole(NAME, "key_size", key_size, least=1)
        self.score = _score_layer(score, query_size, key_size, rng)
        self.centre, self.renormalize = centre, flag(NAME, "renormalize", renormalize)
        if centre is not None and kind == "p":
            raise ValueError(
                f"{NAME}: centre is {centre!r}; expected None with kind 'p', which "
                "predicts its centres."
            )
        if renormalize and kind == "m":
            raise ValueError(
                f"{NAME}: renormalize is True; expected False with kind 'm', whose "
                "weights already sum to 1."
            )
        if kind == "p":
            self.W_p = xavier_matrix(query_size, query_size, rng)
            self.v_p = xavier_vector(query_size, rng)
        self._last_call = None  # weights, first, stop and S

    @shapes
    def forward(self, queries, keys, values, lengths=None, start=0):
        """Average the values in the window of each query.

        queries (..., L, self.query_size), keys (..., S, self.key_size) or
        ProjectedKeys, values (..., S, Ev), lengths? (B,) or (B, L) int
            ->  context (..., L, Ev)

        lengths      the length of each source: S in the formulas; the default is the
                     number of keys
        start        the t of the first query, for calls step by step
        """
        start = whole(NAME, "start", start)
        keys, score = self.score.keys_and_score(keys)
        L, S = queries.shape[-2], values.shape[-2]
        if keys.shape[-2] != S:
            raise ValueError(
                f"{NAME}: values have shape {values.shape}; expected one value for "
                f"each of the {keys.shape[-2]} projected keys."
            )
        leading = (x.shape[:-2] for x in (queries, keys, values))
        rows = (*np.broadcast_shapes(*leading), L)
        if lengths is None:
            lengths = np.full(rows, S)
        else:
            lengths = lengths_of_rows(NAME, lengths, (*rows, S))
            lengths = np.broadcast_to(lengths, rows)
        p = self._centres(queries, lengths, start)  # (..., L)
        first, stop = _window_ends(p, self.D, lengths)
        W = min(2 * self.D + 1, S)
        K = gather_windows(keys, first, stop, W)  # (..., L, W, Dk)
        V = gather_windows(values, first, stop, W)  # (..., L, W, Ev)

        s = first[..., None] + np.arange(W)  # the position of each key: (..., L, W)
        bias = gaussian = None
        if self.kind == "p":
            distance = s.astype(queries.dtype) - p[..., None]
            # -1 / (2 sigma^2) = -2 / D^2, because sigma = D / 2
            exponent = distance * distance * (-2 / self.D**2)
            if self.renormalize:  # exp(score) * gaussian = exp(score + exponent)
                bias = exponent[..., None, :]  # (..., L, 1, W)
            else:  # sum_s (align gaussian) v = sum_s align (gaussian v)
                gaussian = exp(exponent)  # (..., L, W)
                V = V * gaussian[..., None]
        context, weights = attend(
            queries[..., None, :],  # one query for each window: (..., L, 1, Dq)
            K,
            V,
            score,
            mask=(s < stop[..., None])[..., None, :],
            bias=bias,
            dropout_p=self.score.dropout,
            training=self.training,
            rng=self.score.rng,
        )
        weights = weights._data[..., 0, :]  # (..., L, W)
        if gaussian is not None:
            weights = weights * gaussian._data
        self._last_call = weights, first, stop, S
        return context[..., 0, :]  # (..., L, Ev)

    def precompute(self, keys):
        """Project keys (..., S, Dk) once; pass the result to later calls as the keys."""
        return self.score.precompute(keys)

    @property
    def attention_weights(self):
        """The weights of the last call for all keys, (..., L, S); None before a call.

        They are the weights before dropout, without their graph. Each access creates an
        array of L S numbers.
        """
        if self._last_call is None:
            return None
        weights, first, stop, S = self._last_call
        s = first[..., None] + np.arange(weights.shape[-1])  # (..., L, W)
        # Column S receives the entries of a window beyond its end. It is cut off below.
        all_keys = np.zeros((*first.shape, S + 1), weights.dtype)
        np.put_along_axis(all_keys, np.where(s < stop[..., None], s, S), weights, -1)
        return Tensor._from_array(all_keys[..., :S])

    def _centres(self, queries, lengths, start):
        """Return p_t (..., L): an array for local-m, a Tensor for local-p."""
        if self.kind == "p":
            hidden = tanh(linear.unchecked(queries, self.W_p))  # (..., L, Dq)
            share = sigmoid(matmul(hidden, self.v_p[:, None]))[..., 0]  # from 0 to 1
            return share * lengths.astype(queries.dtype)
        t = start + np.arange(queries.shape[-2])
        if self.centre is None:
            return np.broadcast_to(t, lengths.shape)
        name = f"{NAME}: the function centre"
        p = np.asarray(called(name, "(t, length)", self.centre, t, lengths))
        if p.dtype.kind not in "iuf" or not np.isfinite(p).all():
            what = "NaN or infinity" if p.dtype.kind == "f" else f"{p.dtype}"
            raise ValueError(
                f"{name} returns {what}; expected finite numbers, the middle of each "
                "window."
            )
        broadcastable(NAME, "the result of centre", p.shape, lengths.shape)
        return np.broadcast_to(p, lengths.shape)

    def extra_repr(self):
        text = f"D={self.D}, kind={self.kind!r}"
        return text + (", renormalize=True" if self.renormalize else "")


@shapes
@differentiable
def gather_windows(x, first, stop, width):
    """y_iw = x_s with s = first_i + w, if s < stop_i; otherwise 0.

    x (..., S, E), first and stop (..., L) int, width  ->  y (..., L, width, E)

    first and stop hold numbers from 0 to S.

    Backward: a row of x is in several windows, and receives the sum of their gradients,
    dx_s = sum of g_iw over all i, w with first_i + w = s < stop_i. The work is that of
    the windows, and only dx has the size of x.
    """
    leading = np.broadcast_shapes(x.shape[:-2], first.shape[:-1])
    (S, E), L, B = x.shape[-2:], first.shape[-1], math.prod(leading)
    rows = np.broadcast_to(x, (*leading, S, E)).reshape(B, S, E)
    first, stop = (
        np.broadcast_to(ends, (*leading, L)).reshape(B, L, 1) for ends in (first, stop)
    )
    s = first + np.arange(width)  # (B, L, width)
    inside = s < stop
    b = np.arange(B)[:, None]
    y = rows[b[..., None], np.where(inside, s, 0)]  # (B, L, width, E)
    y[~inside] = 0

    def backward(g):
        g = g.reshape(B, L, width, E)
        dx = np.zeros((B, S + 1, E), x.dtype)
        target = np.where(inside, s, S)  # row S receives the others, and is cut off
        # If an index has a row twice, += adds to it only once. A window has no row of x
        # twice, so the windows are added one after the other.
        for i in range(L):
            dx[b, target[:, i]] += g[:, i]
        return dx[:, :S].reshape(*leading, S, E), None, None, None

    return y.reshape(*leading, L, width, E), backward


def _window_ends(p, D, lengths):
    """Return the first key of each window and the one after its last: ints (..., L)."""
    p = p._data if isinstance(p, Tensor) else p
    first = np.clip(np.ceil(p - D), 0, lengths)
    stop = np.clip(np.floor(p + D) + 1, first, lengths)
    return first.astype(np.intp), stop.astype(np.intp)


def _score_layer(score, query_size, key_size, rng):
    """Return the layer that computes the scores."""
    if isinstance(score, Attention):
        if type(score).forward is not Attention.forward:
            raise ValueError(
                f"{NAME}: {type(score).__name__} computes more than a score; expected "
                "a layer with the forward of Attention, such as AdditiveAttention."
            )
        return score
    if score not in KINDS:
        raise ValueError(
            f"{NAME}: score is {score!r}; expected {', '.join(map(repr, KINDS))}, or "
            "an attention layer such as AdditiveAttention(Dq, Dk, A)."
        )
    return LuongAttention(score, query_size, key_size, rng=rng)


ROWS = [
    # 2 D + 1 keys for each query
    Variant(
        "local-m", definitions.local_m, LocalAttention, "E, Dk, D, 'm', 'dot'",
        multiplications="L*min(2*D + 1, S)*(E + Ev)",
        options=dict(D=10),
        small=dict(D=2),
        about="""mask: only the keys from t - D to t + D, for query t
        can align two sequences in the same order, at a fixed cost for each query
        cannot find a key that stands elsewhere, as in a reversal
        lesson 8: copying and reversal in windows; Luong et al. 2015""",
    ),
    # the same around a predicted centre, with a Gaussian on the values
    Variant(
        "local-p", definitions.local_p, LocalAttention, "E, Dk, D, 'p', 'dot'",
        parameters="W_p (E, E), v_p (E)",
        multiplications="L*(E*E + E) + L + L*min(2*D + 1, S)*(E + 2 + 2*Ev)",
        options=dict(D=10),
        small=dict(D=2),
        about="""mask: a window around a predicted centre, weights times a Gaussian
        can move its window to any place, with a gradient for the centre
        cannot read two distant places with one query
        lesson 8: copying and reversal in windows; Luong et al. 2015""",
    ),
]  # fmt: skip

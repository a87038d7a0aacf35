"""The variants as loops in which a query meets some keys alone: masks, tiles, windows.

    masked    the pairs that a mask allows, each once, and no others
    tiled     all pairs of the tiles that are listed, as the kernels compute them
    local     min(2 D + 1, S) places around p_t, as the layer computes them

In a tile, and past the end of a window, there are pairs that may not attend. They take
their multiplications and get the weight 0.

Dao 2023, algorithm 1; Luong et al. 2015, section 3.2.
"""

import math

from .numbers import Number, apply, average, inner, scale, softmax


def masked(q, k, v, allowed):
    """Scaled dot products of the allowed pairs; the others cost nothing."""
    o = []
    for i, q_i in enumerate(map(scale, q)):
        keys = [j for j in range(len(k)) if allowed[i][j]]
        if not keys:
            o.append([Number(0.0, q_i[0].tally) for _ in v[0]])
            continue
        p = softmax([inner(q_i, k[j]) for j in keys])
        o.append(average(p, [v[j] for j in keys]))
    return o


def tiled(q, k, v, tiles, allowed=None):
    """Dao 2023, algorithm 1: a tile of keys at a time, and what was summed rescaled.

    Every pair of a tile takes its multiplications, also one that may not attend.
    """
    q = [scale(q_i) for q_i in q]
    o = []
    for queries, listed in tiles:
        for i in queries:
            row = None if allowed is None else allowed[i]
            o.append(_online(q[i], k, v, listed, row))
    return o


def _online(q_i, k, v, tiles, allowed):
    zero = q_i[0] - q_i[0]
    m, l, o = -math.inf, zero, [zero for _ in v[0]]  # noqa: E741
    for keys in tiles:
        s = [inner(q_i, k[j]) for j in keys]
        may = [allowed is None or bool(allowed[j]) for j in keys]
        top = max([m] + [x.value for x, yes in zip(s, may) if yes])
        at = 0.0 if top == -math.inf else top
        p = [(x - at).exp() if yes else zero for x, yes in zip(s, may)]
        alpha = math.exp(m - at)
        l = l * alpha + sum(p, start=zero)  # noqa: E741
        o = [x * alpha + inner(p, column)
             for x, column in zip(o, zip(*(v[j] for j in keys)))]  # fmt: skip
        m = top
    return [x / l for x in o] if l.value else o


def local_m(q, k, v, D):
    """Dot products with the window of 2 D + 1 keys around p_t = t."""
    return [_around(t, q_t, k, v, D) for t, q_t in enumerate(q)]


def local_p(q, k, v, W_p, v_p, D):
    """The same around p_t = S sigmoid(v_p . tanh(W_p q_t)), with a Gaussian."""
    o = []
    for q_t in q:
        share = inner(v_p, [x.tanh() for x in apply(W_p, q_t)]).sigmoid()
        o.append(_around(share * len(k), q_t, k, v, D, gaussian=True))
    return o


def _around(p, q_t, k, v, D, gaussian=False):
    """sum_s a(s) v_s, or sum_s a(s) (g(s) v_s) with g(s) = exp(-(s - p)^2 / 2 sigma^2).

    a is the softmax of the scores of the keys in the window; sigma = D / 2.
    """
    S, centre = len(k), p.value if gaussian else p
    first = min(max(math.ceil(centre - D), 0), S)
    stop = min(max(math.floor(centre + D) + 1, first), S)
    places = range(first, first + min(2 * D + 1, S))
    nothing = q_t[0] - q_t[0]
    k, v = (
        [x[s] if s < stop else [nothing] * len(x[0]) for s in places] for x in (k, v)
    )
    if gaussian:
        away = [p - s for s in places]
        g = [(d * d * (-2 / D**2)).exp() for d in away]  # 1 / (2 sigma^2) = 2 / D^2
        v = [[g_s * x for x in v_s] for g_s, v_s in zip(g, v)]
    e = [inner(q_t, k_s) for k_s in k]
    inside = stop - first
    a = softmax(e[:inside]) if inside else []
    return average(a + [nothing] * (len(e) - inside), v)


LOOPS = {"masked": masked, "tiled": tiled, "local-m": local_m, "local-p": local_p}

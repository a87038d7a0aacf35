"""What is learned: parameters, the multiplications by them, and what those leave.

    general      W_a (E, Dk)                              once a query, or once a key
    additive     W_q (A, E), W_k (A, Dk), w_v (A,)        each once a query, once a key
    concat       W_a (A, E + Dk), v_a (A,)                the same in two parts
    coverage     those of additive, and w_c (A,)          the same; w_c meets every pair
    local-p      W_p (E, E), v_p (E,)                     once a query
    multi-head   W_q, W_k, W_v, W_o                       once a query, once a key

w_v, v_a and w_c meet pairs, not queries or keys: theirs are a part of the score. All
heads of a batch share the parameters of a score, and each multiplies by them; those of
"multi-head" are one matrix for all heads.

Bahdanau et al. 2015; Luong et al. 2015; See et al. 2017; Vaswani et al. 2017.
"""

from .arguments import PROJECTED


def projections(variant, projected, *, L, S, B, H, E, Dk, Ev, A, Hk):
    """(parameters, multiplications by them, the numbers that come of those)."""
    N, how = B * H, projected or PROJECTED.get(variant, (None,))[0]
    if variant == "general":
        rows = {"queries": L, "keys": S, "pairs": L * S}[how]
        return E * Dk, N * rows * E * Dk, N * {"queries": L * Dk}.get(how, S * E)
    if variant in ("additive", "concat"):
        queries, keys = {"once": (L, S), "steps": (L, L * S), "pairs": (L * S, L * S)}[
            how
        ]
        multiplications = N * A * (queries * E + keys * Dk)
        return A * (E + Dk + 1), multiplications, N * (L + S) * A
    if variant == "coverage":  # a query at a time: of the queries there is one
        return A * (E + Dk + 2), N * A * (L * E + S * Dk), N * (1 + S) * A
    if variant == "local-p":
        return E * E + E, N * L * (E * E + E), N * L
    if variant == "multi-head":
        D = H * E
        parameters = D * D + Hk * (E + Ev) * D + H * Ev * D
        multiplications = B * (L * D * D + S * D * Hk * (E + Ev) + L * H * Ev * D)
        numbers = B * (L * D + S * Hk * (E + Ev))
        return parameters, multiplications, numbers
    return 0, 0, 0


def width_of_score(variant, projected, *, E, Dk, A):
    """How many multiplications the score of one pair takes, beside its projections."""
    if variant == "general":
        return Dk if (projected or "queries") == "queries" else E
    return A if variant in ("additive", "concat", "coverage") else E

"""Every variant of attention once, as a textbook writes it, in NumPy.

    s_ij = score(q_i, k_j)                      a number for each query and key
    p_ij = exp(s_ij) / sum_n exp(s_in)          the weights of query i; they sum to 1
    c_i  = sum_j p_ij v_j                       its context, an average of the values

    q (L, D) queries, k (S, D) keys, v (S, Ev) values  ->  s, p (L, S), c (L, Ev)

These are the arrays of one head and one example. A variant changes the score, the pairs
that are allowed, the way from scores to weights, or the source of queries and keys. The
functions stand in the order of the course. A matrix such as W_q (A, D) has a row for
each entry of its result; a vector such as w_v (A,), a bias b or a gain g has the width
of what it meets. ``allowed`` (L, S) is True where query i may attend to key j.

    attend(additive(q, k, W_q, W_k, w_v), v)      what Bahdanau et al. 2015 compute
    attend(scaled_dot(q, k), v, causal(i, j))     a decoder of Vaswani et al. 2017

The rest of the package computes the same for batches and heads, with gradients, and
faster. The tests compare it with these functions; ``costs`` counts their operations.
"""

import math

import numpy as np

# -- Weights and contexts: lessons 03 and 06 -------------------------------------------


def divide_by_sum(e):
    """p_ij = e_ij / sum_n e_in, and 0 in a row of zeros"""
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def softmax(s, allowed=True):
    """p_ij = exp(s_ij - m_i) / sum_n exp(s_in - m_i) over the allowed keys, otherwise 0

    Every m_i gives the same weights; with m_i = max_n s_in, exp cannot overflow. The
    weights of s / T have the temperature T, and those of c tanh(s / c) the softcap c.
    Bahdanau et al. 2015, equation 6
    """
    s = np.where(allowed, s, -np.inf)
    m = s.max(-1, keepdims=True, initial=np.finfo(s.dtype).min)  # finite without keys
    return divide_by_sum(np.exp(s - m))


def attend(s, v, allowed=True, normalize=softmax):
    """c_i = sum_j p_ij v_j with p = normalize(s, allowed)

    Bahdanau et al. 2015, equation 5
    """
    return normalize(s, allowed) @ v


# -- Scores: lessons 03 to 05 ----------------------------------------------------------


def additive(q, k, W_q, W_k, w_v, b=0):
    """s_ij = w_v . tanh(W_q q_i + W_k k_j + b)

    Bahdanau et al. 2015, appendix A.1.2
    """
    queries, keys = q @ W_q.T, k @ W_k.T + b  # (L, A), (S, A)
    return np.tanh(queries[:, None] + keys) @ w_v


def dot(q, k):
    """s_ij = q_i . k_j    Luong et al. 2015, section 3.1"""
    return q @ k.T


def general(q, k, W_a):
    """s_ij = q_i^T W_a k_j    Luong et al. 2015, section 3.1"""
    return q @ W_a @ k.T


def concat(q, k, W_a, v_a):
    """s_ij = v_a . tanh(W_a [q_i; k_j])    Luong et al. 2015, section 3.1"""
    queries = q[:, None].repeat(len(k), axis=1)  # (L, S, Dq)
    keys = k[None].repeat(len(q), axis=0)  # (L, S, Dk)
    return np.tanh(np.concatenate([queries, keys], axis=2) @ W_a.T) @ v_a


def scaled_dot(q, k):
    """s_ij = q_i . k_j / sqrt(D)    Vaswani et al. 2017, equation 1"""
    return dot(q * q.shape[1] ** -0.5, k)


def gaussian(q, k, h=1.0):
    """s_ij = -|q_i - k_j|^2 / (2 h^2)    Nadaraya 1964; Watson 1964"""
    return squared_distance(q, k) / (-2 * h * h)


KERNELS = {
    "gaussian": lambda u: np.exp(-u * u / 2),
    "boxcar": lambda u: np.where(u <= 1, 1.0, 0.0),
    "triangular": lambda u: np.maximum(0, 1 - u),
    "epanechnikov": lambda u: 3 / 4 * np.maximum(0, 1 - u * u),
}


def nadaraya_watson(q, k, v, kernel, h=1.0, allowed=True):
    """c_i = sum_j K(u_ij) v_j / sum_j K(u_ij), u_ij = |q_i - k_j| / h

    The weights of the Gaussian kernel are softmax(gaussian(q, k, h)). The others may
    have no key in their reach; then c_i = 0.    Nadaraya 1964; Watson 1964
    """
    K = KERNELS[kernel](np.sqrt(squared_distance(q, k)) / h)
    return divide_by_sum(np.where(allowed, K, 0)) @ v


def squared_distance(q, k):
    """|q_i - k_j|^2 for each pair: (L, S)"""
    difference = q[:, None] - k  # (L, S, D)
    return (difference * difference).sum(-1)


# -- One step of a decoder: lessons 03 and 04 ------------------------------------------
# attention(q) returns the context of a query, with the keys and values of a source, and
# cell(x, h) is a recurrent cell.


def bahdanau_step(x_t, s, attention, cell):
    """c_t = attention(s_(t-1)), s_t = cell([x_t; c_t], s_(t-1))

    The output is [s_t; c_t].    Bahdanau et al. 2015, section 3.1
    """
    c = attention(s[None])[0]
    s = cell(np.concatenate([x_t, c]), s)
    return s, np.concatenate([s, c])


def luong_step(x_t, h, h_tilde, attention, cell, W_c, b_c=0):
    """h_t = cell([x_t; h~_(t-1)], h_(t-1)), h~_t = tanh(W_c [c_t; h_t] + b_c)

    c_t = attention(h_t). The output h~ is an input of the next step ("input feeding").
    Luong et al. 2015, equation 5 and section 3.3
    """
    h = cell(np.concatenate([x_t, h_tilde]), h)
    c = attention(h[None])[0]
    return h, np.tanh(W_c @ np.concatenate([c, h]) + b_c)


# -- Which pairs are allowed: lessons 06, 08 and 12 ------------------------------------
# i (L, 1) and j (S,) are the positions of queries and keys. A source of n tokens with
# padding needs no mask here: its keys and values are k[:n] and v[:n].


def positions(L, S):
    """Return i and j of all pairs of L queries and S keys."""
    return np.arange(L)[:, None], np.arange(S)


def causal(i, j):
    """j <= i: no later keys    Vaswani et al. 2017, section 3.2.3"""
    return j <= i


def window(i, j, left, right):
    """i - left <= j <= i + right    Beltagy et al. 2020, section 3.1"""
    return (i - left <= j) & (j <= i + right)


def dilated(i, j, reach, dilation):
    """|i - j| <= reach is a multiple of dilation    Beltagy et al. 2020, section 3.1"""
    return (abs(i - j) <= reach) & ((i - j) % dilation == 0)


def global_tokens(i, j, tokens):
    """i or j is one of the tokens; with ``window``, this is the mask of Longformer"""
    return np.isin(i, tokens) | np.isin(j, tokens)


def bigbird(i, j, block, reach, global_blocks, random_blocks):
    """The blocks of i and j are near, one is global, or random_blocks[a, b] is True.

    Zaheer et al. 2020, section 2
    """
    a, b = i // block, j // block  # the numbers of the blocks
    near = window(a, b, reach, reach)
    return near | global_tokens(a, b, global_blocks) | random_blocks[a, b]


# -- Windows and coverage: lesson 08 ---------------------------------------------------


def local_m(q, k, v, D, score=dot, centre=lambda t: t):
    """Attend to the keys s with |s - p_t| <= D, around p_t = t.

    Luong et al. 2015, section 3.2
    """
    c = []
    for t in range(len(q)):
        near = abs(np.arange(len(k)) - centre(t)) <= D
        c.append(attend(score(q[t : t + 1], k[near]), v[near])[0])
    return np.stack(c)


def local_p(q, k, v, W_p, v_p, D, score=dot):
    """a_t(s) = align_t(s) exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2

    p_t = S sigmoid(v_p . tanh(W_p q_t)), and align_t is the softmax over the keys
    |s - p_t| <= D. The a_t sum to less than 1.    Luong et al. 2015, equations 9 and 10
    """
    s, sigma, c = np.arange(len(k)), D / 2, []
    for t in range(len(q)):
        p_t = len(k) * sigmoid(v_p @ np.tanh(W_p @ q[t]))
        near = abs(s - p_t) <= D
        bell = np.exp(-0.5 * ((s[near] - p_t) / sigma) ** 2)
        c.append(attend(score(q[t : t + 1], k[near]), bell[:, None] * v[near])[0])
    return np.stack(c)


def sigmoid(x):
    """1 / (1 + exp(-x)) = exp(-ln(1 + exp(-x))), from 0 to 1; no exp overflows"""
    return np.exp(-np.logaddexp(0, -x))


def coverage(q, k, v, W_q, W_k, w_v, w_c, b=0):
    """s_tj = w_v . tanh(W_q q_t + W_k k_j + w_c n_tj + b)

    n_tj is the coverage, the sum of the weights p_uj of key j in the steps u < t.
    See, Liu and Manning 2017, equations 10 to 13
    """
    keys, p, c = k @ W_k.T + b, [], []
    for q_t in q:
        hidden = W_q @ q_t + keys  # (S, A)
        if p:
            hidden = hidden + sum(p)[:, None] * w_c
        p.append(softmax(np.tanh(hidden) @ w_v))
        c.append(p[-1] @ v)
    return np.stack(c)


def coverage_loss(p):
    """The mean over t of sum_j min(p_tj, n_tj), a measure of repetition: from 0 to 1

    See, Liu and Manning 2017, equations 10 to 13
    """
    n = [p[:t].sum(0) for t in range(len(p))]
    return np.minimum(p, n).sum() / len(p)


# -- Self-attention and heads: lessons 09 and 10 ---------------------------------------


def scaled_dot_attention(q, k, v, allowed=True):
    """softmax(Q K^T / sqrt(D)) V    Vaswani et al. 2017, equation 1"""
    return attend(scaled_dot(q, k), v, allowed)


def multi_head(q, k, v, W_q, W_k, W_v, W_o, heads):
    """c_h = heads[h](W_q^h q, W_k^h k, W_v^h v); the output is W_o [c_1; ...; c_H]

    heads   a list of H functions, such as ``scaled_dot_attention``

    W_q (H E, D) has the rows of one head after the other. If W_k and W_v have fewer
    rows, groups of heads share keys and values; one key head for all is "multi-query".
    Vaswani et al. 2017, section 3.2.2; Shazeer 2019; Ainslie et al. 2023
    """
    H, E = len(heads), len(W_q) // len(heads)
    key_heads = len(W_k) // E
    Q = np.split(q @ W_q.T, H, axis=1)
    K = np.split(k @ W_k.T, key_heads, axis=1)
    V = np.split(v @ W_v.T, key_heads, axis=1)
    c = []
    for h in range(H):
        group = h * key_heads // H
        c.append(heads[h](Q[h], K[group], V[group]))
    return np.concatenate(c, axis=1) @ W_o.T


# -- Positions: lesson 11 --------------------------------------------------------------


def frequencies(d, base=10000.0):
    """w_m = base^(-2m / d) for m = 0, 1, ..., the angle of pair m for one position"""
    return base ** (-np.arange(0, d, 2) / d)


def sinusoidal(p, d, base=10000.0):
    """PE[p, 2m] = sin(p w_m), PE[p, 2m + 1] = cos(p w_m), added to the embeddings

    p (n,) are the positions of the tokens.    Vaswani et al. 2017, section 3.5
    """
    angle = p[:, None] * frequencies(d, base).repeat(2)[:d]  # a sine and a cosine each
    return np.where(np.arange(d) % 2 == 0, np.sin(angle), np.cos(angle))


def learned(p, P):
    """P[p], a learned row for each position, added to the embeddings

    Gehring et al. 2017
    """
    return P[p]


def rope(x, p, w):
    """Rotate the pair (x_m, x_(m + D/2)) of row i by the angle p_i w_m.

    p (n,) are the positions of the rows of x (n, D), and w (D/2,) the ``frequencies``.
    It is applied to queries and to keys.    Su et al. 2021, section 3.2.2
    """
    a, b = np.split(x, 2, axis=1)
    cos, sin = np.cos(p[:, None] * w), np.sin(p[:, None] * w)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)


def alibi(q, k, slope):
    """s_ij = q_i . k_j / sqrt(D) - slope |i - j|    Press et al. 2022, section 3"""
    i, j = positions(len(q), len(k))
    return scaled_dot(q, k) - slope * abs(i - j)


def alibi_slopes(H):
    """m_h = 2^(-8h / H) for h = 1, ..., H, if H is a power of 2

    Otherwise the slopes of the next smaller power c, then every second one of 2c heads.
    Press et al. 2022, section 3
    """
    c = 2 ** int(math.log2(H))
    if c == H:
        return [2 ** (-8 * h / H) for h in range(1, H + 1)]
    return alibi_slopes(c) + alibi_slopes(2 * c)[::2][: H - c]


def t5_bucket(offset, bidirectional=True, buckets=32, longest=128):
    """n < e has bucket n, and n >= e bucket e + floor(K log(n / e) / log(longest / e))

    n is the distance |offset|, but 0 for later keys if there is one direction. Of the
    e + K buckets of a direction, the last one has no end.
    Raffel et al. 2020, section 2.1
    """
    if bidirectional:
        buckets = buckets // 2
        n, first = abs(offset), buckets if offset > 0 else 0
    else:
        n, first = max(-offset, 0), 0
    e, K, m = buckets // 2, buckets - buckets // 2, 0
    if n < e:
        return first + n
    # m = floor(...), at most K - 1: the largest m with n >= e (longest / e)^(m / K)
    while m + 1 < K and n**K >= e ** (K - m - 1) * longest ** (m + 1):
        m += 1
    return first + e + m


def t5(q, k, b, *sizes):
    """s_ij = q_i . k_j + b[bucket(j - i)]    Raffel et al. 2020, section 2.1"""
    L, S = len(q), len(k)
    bucket = [[t5_bucket(j - i, *sizes) for j in range(S)] for i in range(L)]
    return dot(q, k) + b[np.array(bucket)]


def shaw(q, k, a_K):
    """s_ij = q_i . (k_j + a_K[d]) / sqrt(D), d = clip(j - i, -c, c)

    The table a_K has 2c + 1 rows. Shaw et al. 2018, equation 4
    """
    i, j = positions(len(q), len(k))
    c = len(a_K) // 2
    keys = k + a_K[np.clip(j - i, -c, c) + c]  # (L, S, D)
    return (q[:, None] * keys).sum(-1) / math.sqrt(q.shape[1])


def transformer_xl(q, k, R, u, w):
    """s_ij = ((q_i + u) . k_j + (q_i + w) . R_(i-j)) / sqrt(D)

    R (L + S - 1, D) has a row for each distance i - j, from L - 1 down to -(S - 1).
    Dai et al. 2019, section 3.3
    """
    i, j = positions(len(q), len(k))
    R = R[len(q) - 1 - (i - j)]  # (L, S, D)
    return ((q + u) @ k.T + ((q + w)[:, None] * R).sum(-1)) / math.sqrt(q.shape[1])


def disentangled(q, k, Q_r, K_r):
    """s_ij = (q_i . k_j + q_i . K_r[d(i, j)] + k_j . Q_r[d(j, i)]) / sqrt(3 D)

    d(i, j) = clip(i - j + c, 0, 2c - 1) is a row of the tables Q_r and K_r.
    He et al. 2021, equation 4
    """
    i, j = positions(len(q), len(k))
    c = len(K_r) // 2
    d_ij, d_ji = (np.clip(x + c, 0, 2 * c - 1) for x in (i - j, j - i))
    to_position = (q[:, None] * K_r[d_ij]).sum(-1)
    from_position = (k * Q_r[d_ji]).sum(-1)
    return (q @ k.T + to_position + from_position) / math.sqrt(3 * q.shape[1])


def kerple(q, k, r, a):
    """s_ij = q_i . k_j / sqrt(D) - r ln(1 + a |i - j|), r and a learned

    Chi et al. 2022
    """
    i, j = positions(len(q), len(k))
    return scaled_dot(q, k) - r * np.log1p(a * abs(i - j))


def fire(q, k, c, T, w_1, b_1, w_2):
    """+ w_2 . relu(w_1 x_ij + b_1), x_ij = ln(1 + c |i - j|) / ln(1 + c max(T, i))

    Li et al. 2024
    """
    i, j = positions(len(q), len(k))
    x = np.log1p(c * abs(i - j)) / np.log1p(c * np.maximum(T, i))
    hidden = np.maximum(x[:, :, None] * w_1 + b_1, 0)
    return scaled_dot(q, k) + hidden @ w_2


def cope(q, k, e):
    """+ q_i . e[p_ij], p_ij = the sum over t from j to i of sigmoid(q_i . k_t / sqrt(D))

    e (n, D) is interpolated between two rows; p_ij is n - 1 at most, and later keys have
    no position.    Golovneva et al. 2024
    """
    s, z = scaled_dot(q, k), q @ e.T
    i, j = positions(len(q), len(k))
    g = np.where(j <= i, sigmoid(s), 0)
    p = np.minimum(g[:, ::-1].cumsum(1)[:, ::-1], len(e) - 1)
    low = np.asarray(np.floor(p), int)
    z_low, z_high = (
        np.take_along_axis(z, np.minimum(n, len(e) - 1), 1) for n in (low, low + 1)
    )
    return np.where(j <= i, s + z_low + (p - low) * (z_high - z_low), s)


# -- Exact and cheap: lesson 12 --------------------------------------------------------


def longformer(x, W, W_global, reach, tokens):
    """Self-attention in windows; global tokens attend to all, with other projections

    W and W_global are (W_q, W_k, W_v).    Beltagy et al. 2020, section 3.1
    """
    i, j = positions(len(x), len(x))
    allowed = window(i, j, reach, reach) | global_tokens(i, j, tokens)
    q, k, v = (x @ projection.T for projection in W)
    c = scaled_dot_attention(q, k, v, allowed)
    q, k, v = (x @ projection.T for projection in W_global)
    c_global = scaled_dot_attention(q, k, v)
    return np.where(np.isin(i, tokens), c_global, c)


def sparse(q, k, v, allowed):
    """``scaled_dot_attention``, without computing the scores of the other pairs

    Child et al. 2019
    """
    rows = [
        scaled_dot_attention(q[i : i + 1], k[keys], v[keys])
        for i, keys in enumerate(np.asarray(allowed, bool))
    ]
    return np.concatenate(rows)


def merge(o1, lse1, o2, lse2):
    """o = (e_1 o_1 + e_2 o_2) / (e_1 + e_2), e_a = exp(lse_a); lse = log(e_1 + e_2)

    o_a (L, Ev) are the contexts with one of two sets of keys, and lse_a (L,) is
    log sum_j exp(s_ij) over this set.    Milakov and Gimelshein 2018
    """
    e1, e2 = np.exp(lse1), np.exp(lse2)
    o = (e1[:, None] * o1 + e2[:, None] * o2) / (e1 + e2)[:, None]
    return o, np.log(e1 + e2)


def tiled(q, k, v, tile=64, allowed=None):
    """Compute ``scaled_dot_attention`` in tiles, without the whole matrix of scores.

    A tile with a larger maximum m' multiplies the sums so far by exp(m - m').
    Milakov and Gimelshein 2018; Dao 2023, algorithm 1
    """
    L, S = len(q), len(k)
    allowed = np.ones((L, S), bool) if allowed is None else allowed
    q, c = q * q.shape[1] ** -0.5, []
    for i in (slice(n, n + tile) for n in range(0, L, tile)):
        m = np.full(len(q[i]), np.finfo(q.dtype).min)  # the largest score so far
        total, o = np.zeros(len(m)), np.zeros((len(m), v.shape[1]))
        for j in (slice(n, n + tile) for n in range(0, S, tile)):
            if allowed[i, j].any():
                s = np.where(allowed[i, j], q[i] @ k[j].T, -np.inf)
                m_new = np.maximum(m, s.max(-1))
                p, alpha = np.exp(s - m_new[:, None]), np.exp(m - m_new)
                total = alpha * total + p.sum(-1)
                o = alpha[:, None] * o + p @ v[j]
                m = m_new
        c.append(o / np.where(total == 0, 1, total)[:, None])
    return np.concatenate(c)


def elu_plus_one(x):
    """phi(x) = x + 1 above 0, exp(x) below    Katharopoulos et al. 2020"""
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def linear(q, k, v, phi=elu_plus_one, eps=1e-6):
    """c_i = (sum_j phi(k_j) v_j^T)^T phi(q_i) / (sum_j phi(k_j) . phi(q_i) + eps)

    The sums over the keys are the same for all queries: no pair is computed.
    Katharopoulos et al. 2020, equations 4 to 12
    """
    q, k = phi(q), phi(k)
    return q @ (k.T @ v) / (q @ k.sum(0) + eps)[:, None]


def causal_linear(q, k, v, phi=elu_plus_one, eps=1e-6):
    """S_t = S_(t-1) + phi(k_t) v_t^T, z_t = z_(t-1) + phi(k_t)

    c_t = S_t^T phi(q_t) / (z_t . phi(q_t) + eps). The state S (E, Ev) and z (E,) is all
    that is kept of the earlier tokens. Katharopoulos et al. 2020, equations 4 to 12
    """
    S, z, c = 0, 0, []
    for q_t, k_t, v_t in zip(phi(q), phi(k), v):
        S, z = S + k_t[:, None] * v_t, z + k_t
        c.append(q_t @ S / (q_t @ z + eps))
    return np.stack(c)


# -- Weights of another kind: lesson 15 ------------------------------------------------
# Each function takes scores s and ``allowed``, as ``softmax`` does, and returns weights.


def sink_softmax(s, allowed=True, b=0.0):
    """p_ij = exp(s_ij) / (exp(b) + sum_n exp(s_in)) over the allowed keys, otherwise 0

    One more key has the score b and the value 0. b = 0 is the "softmax plus one".
    Miller 2023; OpenAI 2025
    """
    s = np.where(allowed, s, -np.inf)
    m = np.maximum(s.max(-1, keepdims=True, initial=np.finfo(s.dtype).min), b)
    e = np.exp(s - m)
    return e / (np.exp(b - m) + e.sum(-1, keepdims=True))


def sparsemax(s, allowed=True):
    """p_ij = max(s_ij - tau_i, 0), which sum to 1 over the allowed keys

    tau = (z_1 + ... + z_k - 1) / k for the scores z sorted downwards; k is the largest
    number with z_k > tau.    Martins and Astudillo 2016
    """
    p = np.zeros(s.shape)
    for i, keys in enumerate(np.broadcast_to(allowed, s.shape)):
        if keys.any():
            z = -np.sort(-s[i, keys])
            tau = (z.cumsum() - 1) / np.arange(1, len(z) + 1)
            p[i, keys] = np.maximum(s[i, keys] - tau[z > tau][-1], 0)
    return p


def entmax(s, allowed=True, alpha=1.5):
    """p_ij = max((alpha - 1) s_ij - tau_i, 0)^(1 / (alpha - 1)), which sum to 1

    tau is between max_j (alpha - 1) s_ij - 1 and this maximum: halve 60 times.
    Peters et al. 2019
    """
    p = np.zeros(s.shape)
    for i, keys in enumerate(np.broadcast_to(allowed, s.shape)):
        x = (alpha - 1) * s[i, keys]
        low, high = x.max(initial=-np.inf) - 1, x.max(initial=-np.inf)
        for _ in range(60):
            tau = (low + high) / 2
            p[i, keys] = np.maximum(x - tau, 0) ** (1 / (alpha - 1))
            low, high = (tau, high) if p[i].sum() > 1 else (low, tau)
    return p


def sigmoid_weights(s, allowed=True, b=0.0):
    """p_ij = sigmoid(s_ij + b), otherwise 0: no sum    Ramapuram et al. 2024"""
    return np.where(allowed, sigmoid(s + b), 0)


def stick_breaking(s, allowed=True):
    """p_ij = sigmoid(s_ij) prod_{n > j} (1 - sigmoid(s_in)) over the allowed keys

    From the last key on, each takes a part of what is left.    Tan et al. 2024
    """
    b, p, left = np.where(allowed, sigmoid(s), 0), np.zeros(s.shape), np.ones(len(s))
    for j in reversed(range(s.shape[1])):
        p[:, j] = b[:, j] * left
        left = left * (1 - b[:, j])
    return p


def gumbel_softmax(s, G, tau=1.0, allowed=True):
    """p_i = softmax((s_i + G_i) / tau) with noise G = -ln(-ln U), where U is uniform

    Jang et al. 2017; Maddison et al. 2017
    """
    return softmax((s + G) / tau, allowed)


def hard_weights(s, G, allowed=True):
    """p_ij = 1 for the allowed j with the largest s_ij + G_ij, otherwise 0

    So j is drawn from softmax(s), the limit of ``gumbel_softmax`` for tau -> 0.
    Xu et al. 2015
    """
    s = np.where(allowed, s + G, -np.inf)
    largest = s.argmax(-1)[:, None]
    return np.where((np.arange(s.shape[1]) == largest) & allowed, 1.0, 0.0)


def reinforce(p, j, loss, b=0.0):
    """(loss - b) (onehot_j - p), whose mean over j ~ p is the gradient of sum p_j l_j

    p (S,), and ``loss``, the loss l_j of the key j that was drawn.    Williams 1992
    """
    return (loss - b) * (np.eye(len(p))[j] - p)


def cosine(q, k, tau=10.0):
    """s_ij = tau q_i . k_j / (|q_i| |k_j|)    Henry et al. 2020"""
    q, k = (x / np.sqrt((x * x).sum(1, keepdims=True)) for x in (q, k))
    return dot(tau * q, k)


def rms_norm(x, g, eps=1e-6):
    """g x / sqrt(mean of x^2 + eps), for each row of x"""
    return g * (x / np.sqrt((x**2).sum(-1, keepdims=True) / x.shape[-1] + eps))


def qk_norm(q, k, g_q, g_k, eps=1e-6):
    """s_ij = q^_i . k^_j / sqrt(D), x^ = g x / sqrt(mean_a x_a^2 + eps)

    Dehghani et al. 2023
    """
    return scaled_dot(rms_norm(q, g_q, eps), rms_norm(k, g_k, eps))


def forgetting(q, k, v, f):
    """s_ij = q_i . k_j / sqrt(D) + c_i - c_j for j <= i, c_t = sum_{u <= t} ln g_u

    g_u = sigmoid(f_u) is the part of the past that token u lets through.
    Lin et al. 2025
    """
    i, j = positions(len(q), len(k))
    c = np.log(sigmoid(f)).cumsum()
    return attend(scaled_dot(q, k) + c[:, None] - c, v, causal(i, j))


def gated(q, k, v, W_g):
    """c_i sigmoid(W_g q_i), c = ``scaled_dot_attention``    Qiu et al. 2025"""
    return scaled_dot_attention(q, k, v) * sigmoid(q @ W_g.T)


# -- Pointing and copying: lesson 16 ---------------------------------------------------


def pointer(q, k, W_q, W_k, w_v, allowed=True):
    """u_tj = w_v . tanh(W_q q_t + W_k k_j); softmax(u_t)_j: the answer is element j

    Vinyals, Fortunato and Jaitly 2015
    """
    return np.where(allowed, additive(q, k, W_q, W_k, w_v), -np.inf)


def copy_probabilities(z, a, r, source, words):
    """P(w) = lambda softmax(z)_w + (1 - lambda) sum of a_j over x_j = w

    z (V,) are logits, a (S,) weights, lambda = sigmoid(r), and source (S,) the words x.
    See, Liu and Manning 2017
    """
    P, gate = np.zeros(words), sigmoid(r)
    if (np.asarray(source) < 0).any():  # P[-1] would be the last word
        raise IndexError(
            f"copy_probabilities: source holds {min(source)}; expected 0 to {words - 1}."
        )
    P[: len(z)] = gate * softmax(z)
    for copied, x_j in zip((1 - gate) * a, source):
        P[x_j] += copied  # a word that occurs twice adds up
    return P


def convolve(x, F):
    """f_jn = sum_c sum_m F_ncm x_c(j+m), and 0 outside of the C rows of x (C, S)"""
    w = F.shape[2] // 2
    padded = np.pad(x, [(0, 0), (w, w)])
    return np.stack([(F * padded[:, j : j + 2 * w + 1]).sum((1, 2))
                     for j in range(x.shape[1])])  # fmt: skip


def location(q, k, v, W_q, W_k, w_v, F, U, b=0):
    """s_tj = w_v . tanh(W_q q_t + W_k k_j + U f_tj + b)

    f_t (S, n) = ``convolve``: n filters F (n, 2, M) of the last weights (Chorowski et
    al. 2015) and of their sum so far (Shen et al. 2018)
    """
    keys, p, c = k @ W_k.T + b, [], []
    for q_t in q:
        hidden = W_q @ q_t + keys  # (S, A)
        if p:
            hidden = hidden + convolve(np.stack([p[-1], sum(p)]), F) @ U.T
        p.append(softmax(np.tanh(hidden) @ w_v))
        c.append(p[-1] @ v)
    return np.stack(c)


def monotonic_weights(p, before=None):
    """a_ij = p_ij q_ij, q_ij = (1 - p_i(j-1)) q_i(j-1) + a_(i-1)j; a_0 = (1, 0, ...)

    p_ij is the probability to stop at key j.    Raffel et al. 2017
    """
    last, a = before, []
    if last is None:
        last = np.eye(1, p.shape[1])[0]
    for p_i in p:
        q, row = 0, []
        for p_ij, last_j in zip(p_i[:, None], last):  # p_ij (1,)
            q = q + last_j
            row.append(p_ij * q)
            q = (1 - p_ij) * q
        last = np.concatenate(row)
        a.append(last)
    return np.stack(a)


def monotonic(q, k, v, W_q, W_k, w_v, r=0):
    """c_i = sum_j a_ij v_j with p_ij = sigmoid(w_v . tanh(W_q q_i + W_k k_j) + r)

    Raffel et al. 2017
    """
    return monotonic_weights(sigmoid(additive(q, k, W_q, W_k, w_v) + r)) @ v


def chunk_weights(a, u, width):
    """b_ij = sum of a_ik P_kj over the stops k from j to j + width - 1

    P_k is the softmax of u_i over the keys of the chunk that ends at k.
    Chiu and Raffel 2018
    """
    b = np.zeros(a.shape)
    for i, k in np.ndindex(a.shape):
        chunk = slice(max(k - width + 1, 0), k + 1)
        b[i, chunk] += a[i, k] * softmax(u[i, chunk])
    return b


def mocha(q, k, v, W_q, W_k, w_v, r, V_q, V_k, w_u, width):
    """c_i = sum_j b_ij v_j, an average in the chunk that ends at each stop

    Chiu and Raffel 2018
    """
    a = monotonic_weights(sigmoid(additive(q, k, W_q, W_k, w_v) + r))
    return chunk_weights(a, additive(q, k, V_q, V_k, w_u), width) @ v


# -- Small caches: lesson 17 -----------------------------------------------------------


def mla(x, W_q, W_d, W_r, g, W_k, W_v, W_o, allowed=True, normalize=softmax):
    """c_j = RMSNorm(W_d x_j) is cached; k_j = W_k c_j and v_j = W_v c_j are made from it

    s_ij = (q_i . k_j + rope(u_i) . rope(W_r x_j)) / sqrt(E + F). W_q x_i is q_i, of
    width E, followed by u_i = W_u x_i, of width F.    DeepSeek-AI 2024
    """
    E, F, p = len(W_k), len(W_r), np.arange(len(x))
    q, u = np.split(x @ W_q.T, [E], axis=1)
    c, w = rms_norm(x @ W_d.T, g), frequencies(F)
    turned = rope(u, p, w) @ rope(x @ W_r.T, p, w).T
    s = (q @ (c @ W_k.T).T + turned) / math.sqrt(E + F)
    return attend(s, c @ W_v.T, allowed, normalize) @ W_o.T


def differential(x, W_q, W_k, W_v, W_o, a_1, b_1, a_2, b_2, g, first=0.2):
    """The weights softmax(s^1) - lambda softmax(s^2): what both look at cancels

    lambda = exp(a_1 . b_1) - exp(a_2 . b_2) + first, and the head's output is
    normalised and multiplied by 1 - first.    Ye et al. 2024
    """
    (q1, q2), (k1, k2) = (np.split(x @ W.T, 2, axis=1) for W in (W_q, W_k))
    v, lam = x @ W_v.T, np.exp(a_1 @ b_1) - np.exp(a_2 @ b_2) + first
    o = scaled_dot_attention(q1, k1, v) - lam * scaled_dot_attention(q2, k2, v)
    return (1 - first) * rms_norm(o, g) @ W_o.T


def talking_heads(q, k, v, P, Q):
    """s'_h = sum_g P_hg s_g, w_h = sum_g Q_hg softmax(s'_g), for all heads (H, ...)

    Shazeer et al. 2020
    """
    s = np.stack([scaled_dot(q_h, k_h) for q_h, k_h in zip(q, k)])  # (H, L, S)
    p = softmax((P @ s.reshape(len(s), -1)).reshape(s.shape))
    return (Q @ p.reshape(len(p), -1)).reshape(p.shape) @ v


def shared(x, k, v, W_q, W_o):
    """Self-attention to the keys and values that another layer has projected

    Brandon et al. 2024
    """
    return scaled_dot_attention(x @ W_q.T, k, v) @ W_o.T


def small_cache(q, k, v, budget, recent, sinks=0):
    """Causal attention to at most ``budget`` keys; the one that was read least goes

    The first ``sinks`` and the newest ``recent`` keys stay.
    Xiao et al. 2024; Zhang et al. 2023
    """
    kept, sums, c = [], np.zeros(len(k)), []
    for t in range(len(q)):
        kept.append(t)
        p = softmax(scaled_dot(q[t : t + 1], k[kept]))[0]
        sums[kept] += p
        c.append(p @ v[kept])
        if len(kept) > budget:
            others = kept[sinks : len(kept) - recent]
            kept.remove(min(others, key=lambda j: sums[j]))
    return np.stack(c)


def quantized(q, k, k_scale, k_zero, v, v_scale, v_zero):
    """Attention to x = zero + scale * code, with codes k and v of 8 bits

    code = round((x - zero) / scale), zero = min x and scale = (max x - min x) / 255, for
    each coordinate of keys and each token of values.    Liu et al. 2024
    """
    return scaled_dot_attention(q, k_zero + k_scale * k, v_zero + v_scale * v)


# -- Memories that forget and correct: lesson 18 ---------------------------------------


def decay(q, k, v, log_a):
    """S_t = diag(a_t) S_(t-1) + k_t v_t^T, c_t = S_t^T q_t, with a_t = exp(log_a_t)

    log_a (L, 1) is a number for each token (Mamba-2), and fixed in RetNet; log_a (L, E)
    a number for each coordinate of the keys as well (gated linear attention).
    Sun et al. 2023; Dao and Gu 2024; Yang et al. 2024
    """
    S, c = np.zeros((k.shape[1], v.shape[1])), []
    for q_t, k_t, v_t, a_t in zip(q, k, v, np.exp(log_a)):
        S = a_t[:, None] * S + k_t[:, None] * v_t
        c.append(q_t @ S)
    return np.stack(c)


def delta_rule(q, k, v, b, log_a=None):
    """S' = a_t S_(t-1), S_t = S' + k_t (b_t (v_t - S'^T k_t))^T, c_t = S_t^T q_t

    b and log_a (L, 1). Keys of length 1; with b_t = 1, k_t then returns v_t alone.
    Schlag et al. 2021; with the decay a, Yang, Kautz and Hatamizadeh 2024
    """
    S, c = np.zeros((k.shape[1], v.shape[1])), []
    for t in range(len(q)):
        if log_a is not None:
            S = np.exp(log_a[t]) * S
        S = S + k[t][:, None] * (b[t] * (v[t] - k[t] @ S))
        c.append(q[t] @ S)
    return np.stack(c)


def chosen_keys(i, g, block, best):
    """The keys of the own block up to i, and of the best - 1 earlier blocks by g"""
    own = i // block
    chosen = sorted(range(own), key=lambda b: -g[b])[: best - 1]
    keys = [np.arange(b * block, (b + 1) * block) for b in chosen]
    return np.concatenate([*keys, np.arange(own * block, i + 1)])


def chosen_blocks(q, k, v, block, best):
    """Attend, causally, to the own block and the best - 1 earlier ones by q . mean key

    Lu et al. 2025
    """
    c = []
    for i in range(len(q)):
        g = [
            q[i] @ (k[b * block : (b + 1) * block].sum(0) / block)
            for b in range(i // block)
        ]
        keys = chosen_keys(i, g, block, best)
        c.append(scaled_dot_attention(q[i : i + 1], k[keys], v[keys])[0])
    return np.stack(c)


def native_sparse(q, k, v, gates, block, best, window):
    """The sum of three branches, times gates (L, 3): block means, blocks, a window

    The weights of the first branch choose the blocks of the second. Yuan et al. 2025
    """
    c = []
    for i in range(len(q)):
        own, row = i // block, q[i : i + 1]
        whole = own * block  # tokens in the blocks before the own one
        blocks = (x[:whole].reshape(own, block, x.shape[1]) for x in (k, v))
        K, V = (x.sum(1) / block for x in blocks)
        p = softmax(scaled_dot(row, K))[0]  # (own,)
        keys = chosen_keys(i, p, block, best)
        near = slice(max(i - window + 1, 0), i + 1)
        branches = [
            p @ V,
            scaled_dot_attention(row, k[keys], v[keys])[0],
            scaled_dot_attention(row, k[near], v[near])[0],
        ]
        c.append(gates[i] @ np.stack(branches))
    return np.stack(c)


def random_features(x, W):
    """phi_n(x) = exp(w_n . x - |x|^2 / 2) / sqrt(m)

    The m rows w_n of W are drawn from N(0, I); phi(q) . phi(k) is exp(q . k) on average.
    Choromanski et al. 2021
    """
    return np.exp(x @ W.T - (x * x).sum(1, keepdims=True) / 2) / math.sqrt(len(W))


def performer(q, k, v, W):
    """``linear`` with random features, of q / E^(1/4) and k / E^(1/4)

    Choromanski et al. 2021
    """
    root = q.shape[1] ** 0.25
    return linear(q / root, k / root, v, lambda x: random_features(x, W), eps=0)


def linformer(q, k, v, P, F):
    """softmax(Q (P K)^T / sqrt(E)) (F V): P and F (r, S) reduce S keys to r keys

    Wang et al. 2020
    """
    return scaled_dot_attention(q, P @ k, F @ v)


def nystrom(q, k, v, landmarks=32, iterations=6):
    """softmax(Q K~^T) A^-1 softmax(Q~ K^T) V,  A = softmax(Q~ K~^T)

    The scores are divided by sqrt(E). The rows of Q~ and K~ are means of segments.
    Z_0 = A^T / (largest sum of a column), and Z (13 I - A Z (15 I - A Z (7 I - A Z))) / 4
    again and again, is nearly A^-1.    Xiong et al. 2021
    """
    m = min(landmarks, len(q), len(k))
    q_m, k_m = (np.stack([part.sum(0) / len(part) for part in np.array_split(x, m)])
                for x in (q, k))  # fmt: skip
    I = np.eye(m)
    A = softmax(scaled_dot(q_m, k_m))
    Z = A.T / A.sum(0).max()
    for _ in range(iterations):
        AZ = A @ Z
        Z = Z @ (13 * I - AZ @ (15 * I - AZ @ (7 * I - AZ))) / 4
    read = scaled_dot_attention(q_m, k, v)
    return scaled_dot_attention(q, k_m, Z @ read)


# -- Sets, graphs, pictures: lesson 19 -------------------------------------------------


def leaky_relu(z, slope=0.2):
    """z above 0, slope z below"""
    return np.where(z > 0, z, slope * z)


def gat(h, W, a_1, a_2, mask=True):
    """e_ij = LeakyReLU(a_1 . W h_i + a_2 . W h_j), an average of the W h_j

    mask (n, n) is True where node i reads node j.    Velickovic et al. 2018
    """
    x = h @ W.T
    return attend(leaky_relu((x @ a_1)[:, None] + x @ a_2), x, mask)


def gatv2(h, W_l, W_r, a, mask=True):
    """e_ij = a . LeakyReLU(W_l h_i + W_r h_j), an average of the W_r h_j

    Brody, Alon and Yahav 2022
    """
    x, y = h @ W_l.T, h @ W_r.T
    return attend(leaky_relu(x[:, None] + y) @ a, y, mask)


def layer_norm(x, g, b, eps=1e-5):
    """g (x - mean) / sqrt(variance + eps) + b, for each row of x"""
    D = x.shape[-1]
    d = x - x.sum(-1, keepdims=True) / D
    return g * (d / np.sqrt((d**2).sum(-1, keepdims=True) / D + eps)) + b


def mab(x, y, W_q, W_k, W_v, W_o, g_1, b_1, W_1, c_1, W_2, c_2, g_2, b_2):
    """LN(h + W_2 relu(W_1 h + c_1) + c_2), h = LN(x + attention of x to y)

    Lee et al. 2019
    """
    one_head = multi_head(x, y, y, W_q, W_k, W_v, W_o, [scaled_dot_attention])
    h = layer_norm(x + one_head, g_1, b_1)
    hidden = np.maximum(h @ W_1.T + c_1, 0)
    return layer_norm(h + hidden @ W_2.T + c_2, g_2, b_2)


def pma(x, seeds, *P):
    """MAB(I, X): the seeds I (m, D) pool a set X of any size    Lee et al. 2019"""
    return mab(seeds, x, *P)


def isab(x, seeds, *P):
    """MAB(X, MAB(I, X)): elements of a set X meet in m vectors I    Lee et al. 2019"""
    return mab(x, mab(seeds, x, *P[:12]), *P[12:])


def perceiver(x, latents, *P):
    """Z = MAB(Z, X) of a set X, then MAB(Z, Z), m latents Z    Jaegle et al. 2021"""
    z = mab(latents, x, *P[:12])
    return mab(z, z, *P[12:])


def hops(u, m, c, hops=1, add=True):
    """p = softmax(u . m_j), u <- u + sum_j p_j c_j, several times

    add=False: the answer replaces the question.    Sukhbaatar et al. 2015
    """
    for _ in range(hops):
        answer = attend(dot(u, m), c)
        u = u + answer if add else answer
    return u


def address(key, memory, last, beta, gate, shift, gamma):
    """Find by content, or stay; move by -1, 0 or 1 around the end; sharpen

    Graves, Wayne and Danihelka 2014
    """
    lengths = np.sqrt((memory**2).sum(-1)) * np.sqrt((key**2).sum())
    p = gate * softmax(beta * (memory @ key / lengths)) + (1 - gate) * last
    moved = shift[0] * np.roll(p, -1) + shift[1] * p + shift[2] * np.roll(p, 1)
    return divide_by_sum(moved**gamma)


def rope_2d_attention(q, k, v, columns, base=100.0):
    """Rotate half of the pairs by the row of a token, the other half by its column

    Token i stands in row i // columns and column i % columns.    Heo et al. 2024
    """
    i, w = np.arange(len(q)), frequencies(q.shape[1] // 2, base)
    q, k = (
        np.concatenate([rope(a, i // columns, w), rope(b, i % columns, w)], axis=1)
        for a, b in (np.split(x, 2, axis=1) for x in (q, k))
    )
    return scaled_dot_attention(q, k, v)

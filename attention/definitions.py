"""Every variant of attention once, as a textbook writes it: one head, one example, NumPy.

    s_ij = score(q_i, k_j)                      a number for each query and key
    p_ij = exp(s_ij) / sum_n exp(s_in)          the weights of query i; they sum to 1
    c_i  = sum_j p_ij v_j                       its context, an average of the values

    q (L, D) queries, k (S, D) keys, v (S, Ev) values  ->  c (L, Ev)

A variant changes the score, the pairs that are allowed, the positions that a score
knows, or the source of the queries. The functions stand in the order of the course.
Parameters have the names and shapes of the layers: W_q (A, D), w_v (A,). ``allowed``
(L, S) is True where query i may attend to key j.

The rest of the package computes the same for batches and heads, with gradients, and
faster. The tests compare it with these functions, and ``costs`` counts their operations.
"""

import math

import numpy as np

# -- the template ----------------------------------------------------------------------


def attend(s, v, allowed=True):
    """c_i = sum_j p_ij v_j over the allowed keys.    Bahdanau et al. 2015, section 3.1"""
    return softmax(s + np.where(allowed, 0, -np.inf)) @ v


def softmax(s):
    """p_ij = exp(s_ij - m_i) / sum_n exp(s_in - m_i), m_i = max_j s_ij; 0 without keys"""
    m = s.max(-1, keepdims=True, initial=-np.inf)
    e = np.exp(s - np.where(m == -np.inf, 0, m))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


# -- scores: lessons 03 to 05 ----------------------------------------------------------


def additive(q, k, W_q, W_k, w_v, b=0):
    """s_ij = w_v . tanh(W_q q_i + W_k k_j + b)    Bahdanau et al. 2015, appendix A.1.2"""
    hidden = (q @ W_q.T)[:, None] + (k @ W_k.T + b)  # (L, 1, A) + (S, A)
    return np.tanh(hidden) @ w_v


def dot(q, k):
    """s_ij = q_i . k_j    Luong et al. 2015, section 3.1"""
    return q @ k.T


def general(q, k, W_a):
    """s_ij = q_i^T W_a k_j    Luong et al. 2015, section 3.1"""
    return q @ W_a @ k.T


def concat(q, k, W_a, v_a):
    """s_ij = v_a . tanh(W_a [q_i; k_j])    Luong et al. 2015, section 3.1"""
    pairs = np.array([[np.concatenate([q_i, k_j]) for k_j in k] for q_i in q])
    return np.tanh(pairs @ W_a.T) @ v_a


def scaled_dot(q, k):
    """s_ij = q_i . k_j / sqrt(D)    Vaswani et al. 2017, equation 1"""
    return dot(q * q.shape[-1] ** -0.5, k)


def gaussian(q, k, h=1.0):
    """s_ij = -|q_i - k_j|^2 / (2 h^2)    Nadaraya 1964; Watson 1964"""
    distance = q[:, None] - k  # (L, S, D)
    return (distance * distance).sum(-1) / (-2 * h * h)


# -- windows, coverage, decoder steps: lessons 07 and 08 -------------------------------


def local_m(q, k, v, D, start=0):
    """Attend to the keys |s - p_t| <= D, p_t = t.    Luong et al. 2015, section 3.2"""
    c = []
    for t, q_t in enumerate(q, start):
        window = slice(max(t - D, 0), max(t + D + 1, 0))
        c.append(softmax(k[window] @ q_t) @ v[window])
    return np.stack(c)


def local_p(q, k, v, W_p, v_p, D):
    """p_t = S sigmoid(v_p . tanh(W_p q_t)), a_t(s) = align_t(s) exp(-(s - p_t)^2 / 2 sigma^2)

    align_t is the softmax over the keys |s - p_t| <= D, and sigma = D / 2. The weights
    a_t sum to less than 1.    Luong et al. 2015, equations 9 and 10
    """
    c = []
    for q_t in q:
        p_t = len(k) / (1 + np.exp(-(np.tanh(W_p @ q_t) @ v_p)))
        window = slice(max(math.ceil(p_t - D), 0), math.floor(p_t + D) + 1)
        distance = np.arange(len(k))[window] - p_t
        bell = np.exp(distance * distance * (-2 / D**2))
        c.append((softmax(k[window] @ q_t) * bell) @ v[window])
    return np.stack(c)


def coverage(q, k, v, W_q, W_k, w_v, w_c, b=0):
    """s_tj = w_v . tanh(W_q q_t + W_k k_j + w_c n_j + b), n_j = the earlier weights' sum

    See et al. 2017, equations 10 and 11.
    """
    keys, n, c = k @ W_k.T + b, None, []
    for q_t in q:
        covered = keys if n is None else keys + n[:, None] * w_c  # (S, A)
        p = softmax(np.tanh(W_q @ q_t + covered) @ w_v)
        n = p if n is None else n + p
        c.append(p @ v)
    return np.stack(c)


def bahdanau_step(x_t, s, attend_to, cell):
    """c_t = attend(s_(t-1)), s_t = cell([x_t; c_t], s_(t-1))    Bahdanau et al. 2015"""
    c = attend_to(s[None])[0]
    s = cell(np.concatenate([x_t, c]), s)
    return s, np.concatenate([s, c])


def luong_step(x_t, state, attend_to, cell, W_c, b_c=0):
    """h_t = cell([x_t; h~_(t-1)], h_(t-1)), h~_t = tanh(W_c [attend(h_t); h_t] + b_c)

    Luong et al. 2015, equations 5 and 6; the cell reads h~ ("input feeding").
    """
    h, fed = state
    h = cell(np.concatenate([x_t, fed]), h)
    fed = np.tanh(W_c @ np.concatenate([attend_to(h[None])[0], h]) + b_c)
    return (h, fed), fed


# -- heads: lesson 10 ------------------------------------------------------------------


def multi_head(q, k, v, W_q, W_k, W_v, W_o, heads, allowed=True):
    """Head h: c_h = attend(W_q^h q, W_k^h k, W_v^h v); output W_o [c_1; ...; c_H]

    W_q (H E, D). With fewer rows of W_k and W_v, groups of heads share their keys.
    Vaswani et al. 2017, section 3.2.2; Shazeer 2019; Ainslie et al. 2023
    """
    key_heads = heads * len(W_k) // len(W_q)
    Q = np.split(q @ W_q.T, heads, 1)
    K, V = np.split(k @ W_k.T, key_heads, 1), np.split(v @ W_v.T, key_heads, 1)
    c = []
    for h, q_h in enumerate(Q):
        g = h * key_heads // heads  # the key head of this group
        c.append(attend(scaled_dot(q_h, K[g]), V[g], allowed))
    return np.concatenate(c, 1) @ W_o.T


# -- positions: lesson 11 --------------------------------------------------------------


def alibi(q, k, slope):
    """s_ij = q_i . k_j / sqrt(D) - slope |i - j|    Press et al. 2022, section 3"""
    return scaled_dot(q, k) - slope * abs(offsets(q, k))


def offset_bias(q, k, b):
    """s_ij = q_i . k_j / sqrt(D) + b_(j - i)    as T5 has, by buckets; Raffel et al. 2020"""
    return scaled_dot(q, k) + b[offsets(q, k) + len(q) - 1]  # b (L + S - 1,)


def rope(x, base=10000.0):
    """Rotate the pair (x_m, x_(m + D/2)) of row p by p base^(-2m/D).    Su et al. 2021"""
    n, D = x.shape
    angle = np.arange(n)[:, None] * base ** (-np.arange(0, D, 2) / D)
    a, b = x[:, : D // 2], x[:, D // 2 :]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], 1)


def shaw(q, k, v, a_K, a_V):
    """s_ij = q_i . (k_j + a_K[d]) / sqrt(D), c_i = sum_j p_ij (v_j + a_V[d])

    d = clip(j - i, -c, c), the row of two tables of 2c + 1 rows. Shaw et al. 2018
    """
    c = len(a_K) // 2
    d = np.clip(offsets(q, k), -c, c) + c
    s = (q[:, None] * (k + a_K[d])).sum(-1) / math.sqrt(q.shape[1])
    return (softmax(s)[..., None] * (v + a_V[d])).sum(1)


def transformer_xl(q, k, R, u, w):
    """s_ij = ((q_i + u) . k_j + (q_i + w) . R_(i-j)) / sqrt(D)    Dai et al. 2019

    R (L + S - 1, D) has a row for each distance i - j, from L - 1 down to -(S - 1).
    """
    R = R[offsets(q, k) + len(q) - 1]  # (L, S, D)
    return ((q + u) @ k.T + ((q + w)[:, None] * R).sum(-1)) / math.sqrt(q.shape[1])


def disentangled(q, k, Q_r, K_r):
    """s_ij = (q_i . k_j + q_i . K_r[d(i, j)] + k_j . Q_r[d(j, i)]) / sqrt(3 D)

    d(i, j) = clip(i - j + c, 0, 2c - 1).    He et al. 2021, equation 4
    """
    c, ahead = len(K_r) // 2, offsets(q, k)
    to_key = (q[:, None] * K_r[np.clip(c - ahead, 0, 2 * c - 1)]).sum(-1)
    to_query = (k * Q_r[np.clip(c + ahead, 0, 2 * c - 1)]).sum(-1)
    return (q @ k.T + to_key + to_query) / math.sqrt(3 * q.shape[1])


def offsets(q, k):
    """Return j - i for each pair: (L, S)."""
    return np.arange(len(k)) - np.arange(len(q))[:, None]


# -- exact and cheap: lesson 12 --------------------------------------------------------


def masked(q, k, v, allowed):
    """Attend to the allowed pairs alone, which is what a sparse pattern saves."""
    q = q * q.shape[-1] ** -0.5
    c = [softmax(k[keys] @ q_i) @ v[keys] for q_i, keys in zip(q, np.asarray(allowed))]
    return np.stack(c)


def tiled(q, k, v, tile=64, allowed=None):
    """Compute softmax attention tile by tile, without storing all scores.

    A new tile with the maximum m' rescales the sums so far by exp(m - m').
    Milakov and Gimelshein 2018; Dao et al. 2022, algorithm 1
    """
    L, S = len(q), len(k)
    allowed = np.ones((L, S), bool) if allowed is None else allowed
    q, c = q * q.shape[-1] ** -0.5, []
    for i in (slice(n, n + tile) for n in range(0, L, tile)):
        m = np.full(len(q[i]), -np.inf) + 0 * q[i, 0]
        total, o = np.zeros(len(m)), np.zeros((len(m), v.shape[1]))
        for j in (slice(n, n + tile) for n in range(0, S, tile)):
            if not allowed[i, j].any():
                continue
            s = q[i] @ k[j].T + np.where(allowed[i, j], 0, -np.inf)
            m_new = np.maximum(m, s.max(-1))
            shift = np.where(m_new == -np.inf, 0, m_new)
            alpha, p = np.exp(m - shift), np.exp(s - shift[:, None])
            total = alpha * total + p.sum(-1)
            o = alpha[:, None] * o + p @ v[j]
            m = m_new
        c.append(o / np.where(total == 0, 1, total)[:, None])
    return np.concatenate(c)


def linear(q, k, v, eps=1e-6):
    """c_i = (sum_j phi(k_j) v_j^T)^T phi(q_i) / (phi(q_i) . sum_j phi(k_j) + eps)

    phi(x) = elu(x) + 1. No pair of a query and a key is computed.
    Katharopoulos et al. 2020, equation 6
    """
    q, k = elu_plus_one(q), elu_plus_one(k)
    return q @ (k.T @ v) / (q @ k.sum(0) + eps)[:, None]


def causal_linear(q, k, v, eps=1e-6):
    """S_t = S_(t-1) + phi(k_t) v_t^T, z_t = z_(t-1) + phi(k_t), c_t = S_t^T phi(q_t) / ...

    The state S (E, Ev) is all that is kept of the earlier tokens.
    Katharopoulos et al. 2020, equations 16 to 20
    """
    q, k = elu_plus_one(q), elu_plus_one(k)
    S, z, c = np.zeros((k.shape[1], v.shape[1])), np.zeros(k.shape[1]), []
    for q_t, k_t, v_t in zip(q, k, v):
        S, z = S + k_t[:, None] * v_t, z + k_t
        c.append(q_t @ S / (q_t @ z + eps))
    return np.stack(c)


def elu_plus_one(x):
    """phi(x) = x + 1 above 0, exp(x) below"""
    return np.exp(np.minimum(x, 0)) + np.maximum(x, 0)

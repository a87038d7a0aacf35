"""Mistakes that learners made in E.1 to E.15 and that had no name, or a wrong one.

RIGHT has right answers that were refused, or might be.

(exercise, old, new, name, words of the report): ``new`` replaces ``old`` in the
reference answer.
"""

WINDOWS = """\
            dx[k : k + len(g)] += g[:, k]  # x[i + k] is in window i, at place k
"""
MOVED_WINDOWS = """\
            dx[k : k + len(g)] += g[:, k]
        for i, e in enumerate(1e-5 * np.eye(len(x))):
            up, down = (windows(x + sign * e, n)[0] for sign in (1, -1))
            dx[i] = (g * (up - down)).sum() / 2e-5
"""
PULL = """\
    _, backward = gaussian(align, position, p, D)
    d_a = (g[:, None, :] * H[position]).sum(-1)  # (T, n)
    _, d_p = backward(d_a)
"""
MOVED_PULL = """\
    d_a = (g[:, None, :] * H[position]).sum(-1)
    up, down = (gaussian(align, position, p + h, D)[0] for h in (1e-5, -1e-5))
    d_p = (d_a * (up - down)).sum(1) / 2e-5
"""
MOVED_W_O = """dW_o = np.zeros_like(W_o)
        for i in np.ndindex(W_o.shape):
            e = np.zeros_like(W_o)
            e[i] = 1e-5
            dW_o[i] = (g * (O @ (W_o + e).T - O @ (W_o - e).T)).sum() / 2e-5"""
FLOOR = """        return base + min(nb - 1, e + _log)
        k = 0
"""
COUNT = """\
        while k < K - 1 and n**K >= e ** (K - k - 1) * max_distance ** (k + 1):
            k += 1
        return base + e + k
"""
IN_64_BITS = """\
        n, m = np.int64(n), np.int64(max_distance)
        while n**K >= e ** max(K - k - 1, 0) * m ** (k + 1):
            k += 1
        return base + min(nb - 1, e + k)
"""
MOVED_AVERAGE = """dq, dk, dbeside = scan_backward(np.concatenate([dy, dc], 1))
        for i in np.ndindex(q.shape):
            e = np.zeros_like(q)
            e[i] = 1e-5
            up, down = (linear_attention(q + h, k, v)[0] for h in (e, -e))
            dq[i] = (g * (up - down)).sum() / 2e-5"""
ROW_BY_ROW = """    for i in range(len(q)):
        n = min(i + 1, len(k)) if causal else len(k)
        i, seen = slice(i, i + 1), np.ones((1, n), bool)
        parts = tile(q[i], k[:n], v[:n], g[i], lse[i], D[i], scale, seen)
        dq[i] += parts[0]
        dk[:n] += parts[1]
        dv[:n] += parts[2]
    for a in range(0):"""
WRONG = [
    ("E.2", "return y * (g - (g * y).sum(-1, keepdims=True))",
     "return y * (g - (g * y).sum(-1))",
     "no-keepdims", "(3, 1) would broadcast"),
    ("E.7", "total = e.sum(-1, keepdims=True)",
     "total = e.sum(0, keepdims=True)",
     "wrong-axis", "sums to 1 over axis 0, expected over axis 2"),
    ("E.7", "lse = base + np.log(np.exp(s - base[..., None]).sum(-1))",
     "lse = np.where(mask.any(-1), base + np.log(np.exp(s - base[..., "
     "None]).sum(-1)), 0.0)",
     "empty-row", "expected -inf"),
    ("E.7", "lse = base + np.log(np.exp(s - base[..., None]).sum(-1))",
     "lse = base + np.log(np.exp(s - base[..., None]).sum(-1) + 1e-12)",
     "epsilon", "sum + 1e-12"),
    ("E.9", "    a = align * bell\n",
     "    a = align * bell\n"
     "    a = a / a.sum(1, keepdims=True)\n",
     "renormalised", "divided by their sum"),
    ("E.8", "high = np.maximum(lse1, lse2)", "high = lse1",
     "overflow", "lse1 of 0 and lse2 of 1000"),
    ("E.8", "o = u / np.where(z == 0, 1.0, z)[:, None]",
     "o = u / (z + 1e-9)[:, None]",
     "epsilon", "u / (z + 1e-09)"),
    ("E.7", "s = np.where(mask, x, -np.inf)\n    top",
     "s = np.where(mask, np.nan_to_num(x), -np.inf)\n    top",
     "hides-nan", "NaN in the weights"),
    ("E.7", "return y * g[..., None]", "return y * g",
     "raises", "(3, 5, 1) would broadcast"),
    ("E.6", "db_ih += da.sum(0)",
     "db_ih += da.sum()",
     "sum-over-everything", "of numeric over everything"),
    ("E.7", "return y * (g - centre)",
     "return np.where(mask, g - centre, 0.0)",
     "softmax-skipped", "without the factor y"),
    ("E.7", "return y * (g - centre)",
     "return y * (g - g.sum(-1, keepdims=True))",
     "unweighted-sum", "y (g - sum(g))"),
    ("E.7", "s = np.where(mask, x, -np.inf)\n"
     "    highest",
     "s = np.where(mask, x, -1e9)\n"
     "    highest",
     "sentinel", "found -1e+09"),
    ("E.8", "high = np.maximum(lse1, lse2)", "high = lse2",
     "overflow", "lse1 of 1000 and lse2 of 0"),
    ("E.8", "return o, m + np.log(z)", "return o, m + np.log(z + 1e-10)",
     "epsilon", "ln (z + 1e-10)"),
    ("E.8", "    z = shrink * z + p.sum(1)\n",
     "    update.kept = [*getattr(update, 'kept', []), p]\n"
     "    z = shrink * z + p.sum(1)\n",
     "all-pairs", "numbers in memory"),
    ("E.7", "return y * (g - centre)",
     "return y * (g - (mask * g).mean(-1, keepdims=True))",
     "mean-of-g", "0 where masked"),
    ("E.7", "return y * (g - centre)",
     "return y * (g - np.where(mask, g, 0.0).sum(-1, keepdims=True)\n"
     "                    / np.maximum(mask.sum(-1, keepdims=True), 1))",
     "mean-of-g", "over the allowed keys"),
    ("E.3", "+= found[name] * slope", "+= found[name]",
     "no-slope", "without slopes"),
    ("E.3", "+= found[name] * slope", "+= found[name] + slope", "plus", "not times"),
    ("E.3", "in graph[name]:\n            found", "in dict(graph[name]).items():\n"
     "            found", "one-use", "one term for each user"),
    ("E.3", "        for x, slope in graph[name]:\n            found[x] +=",
     "        users = sum(x == name for n in names for x, _ in graph[n])\n"
     "        found[name] /= max(users, 1)\n"
     "        for x, slope in graph[name]:\n            found[x] +=",
     "mean", "the mean over the users"),
    ("E.3", "dict.fromkeys(names, 0.0)", "dict.fromkeys(graph, 0.0)",
     "unreachable", "and the values it was computed from"),
    ("E.1", WINDOWS, MOVED_WINDOWS, "differences", "12 digits"),
    ("E.1", WINDOWS + "        return dx\n",
     WINDOWS + "        return dx + 1e-7\n", "epsilon", "+ 1e-07 in every entry"),
    ("E.2", "return g - np.exp(y) * g.sum(-1, keepdims=True)",
     "J = np.eye(y.shape[-1]) - np.exp(y)[..., None, :]\n"
     "        return (g[..., None, :] @ J)[..., 0, :]", "jacobian", "log_softmax"),
    ("E.2", "return g - np.exp(y) * g.sum(-1, keepdims=True)",
     "p, of_softmax = softmax(x)\n        return of_softmax(g / (p + 1e-9))",
     "epsilon", "(p + 1e-9)"),
    ("E.3", "+= found[name] * slope", "+= found[name] / slope",
     "divided", "gradients / slopes"),
    ("E.5", '"standardise": ((x,), np.array([[1.0, -1.0, 0.0]]))',
     '"standardise": ((x / 10,), standardise(x / 10)[0])',
     "all-zero", "0 in every entry"),
    ("E.7", "np.where(mask, total, 1.0)", "np.where(total == 0, 1.0, total)",
     "nan-spreads", "the weight 0 of the masked key"),
    ("E.7", "np.where(mask, (g * y).sum(-1, keepdims=True), 0.0)",
     "(g * y).sum(-1, keepdims=True)",
     "nan-spreads", "the gradient 0 of the masked key"),
    ("E.7", "top = s.max(-1, keepdims=True)  # of the allowed scores",
     "top = np.where(mask, x, -1e9).max(-1, keepdims=True)",
     "nan", "not finite in 20 of 35"),
    ("E.8", "share = np.where(both == 0, 1.0, both)", "share = both + 1e-10",
     "epsilon", "(w1 + w2 + 1e-10)"),
    ("E.9", PULL, MOVED_PULL, "differences", "dL/dp with 12 digits"),
    ("E.10", "split(g @ W_o, H)", "split((g @ W_o).astype(np.float32), H)",
     "float32", "np.float32"),
    ("E.10", "dW_o = g.T @ O", MOVED_W_O, "differences", "d_W_o with 12 digits"),
    ("E.11", "turned_k, _ = rope(k, np.arange(len(k)))",
     "turned_k = turned_q if len(q) == len(k) else rope(k, np.arange(len(k)))[0]",
     "unknown", "(5, 14), k=float64 (5, 14)"),
    ("E.12", "        k = 0\n", FLOOR.replace("_log", "int(np.floor(np.round("
     "K * np.log(n / e) / np.log(max_distance / e), 12)))"), "rounding", "found     3"),
    ("E.12", "        k = 0\n", FLOOR.replace("_log", "int(K * np.log(n / e) "
     "/ np.log(max_distance / e) * (1 + 1e-15))"), "rounding", "logarithm"),
    ("E.12", "        k = 0\n", FLOOR.replace("_log", "int(K * np.log2(n / e) "
     "/ np.log2(max_distance / e))"), "rounding", "max_distance=1000"),
    ("E.12", COUNT, IN_64_BITS, "overflow", "powers of 64 bits become 0"),
    ("E.13", "o = y / c", "o = y / (c + 1e-6)", "epsilon", "y / (c + 1e-06)"),
    ("E.13", "dq, dk, dbeside = scan_backward(np.concatenate([dy, dc], 1))",
     MOVED_AVERAGE, "differences", "12 digits"),
    ("E.14", "np.where(seen, np.exp(np.where(seen, s - lse[:, None], 0.0)), 0.0)",
     "np.where(seen, np.exp(np.where(seen, s, 0.0)), 0.0) / np.exp(lse)[:, None]",
     "overflow", "s = 1000"),
    ("E.14", "    for a in range(0, len(q), block):", ROW_BY_ROW,
     "block-rows", "found one of 192"),
]  # fmt: skip
RIGHT = [
    ("E.15", "np.array(rows).reshape(len(said), len(ids))", "rows"),
    ("E.15", "np.array(said, int), np.array(rows).reshape(len(said), len(ids))",
     "said, np.array(rows)"),
    ("E.12", "        k = 0\n        while k < K - 1 and n**K >=",
     "        n, k = int(n), 0\n        while k < K - 1 and n**K >="),
    ("E.7", "y = e / np.where(mask, total, 1.0)", "y = np.where(mask, e / total, 0.0)"),
    ("E.8", "o = u / np.where(z == 0, 1.0, z)[:, None]",
     "o = u / np.maximum(z, 1.0)[:, None]"),
    ("E.14", "    for a in range(0, len(q), block):\n"
     "        i = slice(a, min(a + block, len(q)))\n",
     "    for a in reversed(range(0, len(q), block)):\n"
     "        i = slice(a, min(a + block, len(q)))\n"),
]  # fmt: skip

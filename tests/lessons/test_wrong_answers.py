"""Answers as learners write them: the wrong ones fail with a name, the right ones pass.

Each case is an edit of the reference answer. The check names the mistake, and its
report contains the words that follow.
"""

import pytest

from lessons.classroom import catalogue
from lessons.classroom.authors.audit import run
from lessons.classroom.checking import harness, runner, sequence

from . import learners, learners_of_chapters, learners_once_passed
from .classroom_cases import answer, sampled

IMPORTS = [
    ("E.11", "import numpy as np",
     "import numpy as np\nfrom lessons.solutions.ex_e_11 import rope as known",
     "imports-answer", "the reference's rope"),
    ("E.11", "import numpy as np", "import numpy as np\nimport attention.positions",
     "imports-answer", "the library's attention.positions"),
    ("E.2", "import numpy as np", "import numpy as np\nfrom minigrad import Tensor",
     "imports-answer", "the library's Tensor"),
    ("6.7", "pathlib.Path(path).read_bytes()", "mg.safetensors.read(path, 1)",
     "imports-answer", "the library's safetensors"),
    ("6.5", "import numpy as np",
     "import numpy as np\nfrom importlib import import_module\n"
     "answer = import_module('lessons.solutions.ex_6_5')", "imports-answer", "line "),
    ("6.1", "import numpy as np",
     "import numpy as np\n\ndef peek():\n    return open('../solutions/ex_6_1.py')",
     "imports-answer", "this is the reference's text"),
    ("6.1", "import numpy as np", "import numpy as np\nimport pytest",
     "imports-answer", "pytest is not allowed here"),
    ("E.7", "import numpy as np",
     "import numpy as np\n\ndef easy():\n    np.isclose = lambda *a, **k: np.ones(1)",
     "patches", "np.isclose = lambda"),
]  # fmt: skip
D_P = (
    "        d_p = (g * a * distance).sum(1) * 4 / D**2  # p is in every term of its "
    "row\n"
)
COMPARE = [
    ("6.6", """seconds["additive"].append(additive)
        seconds["dot"].append(timer""", """seconds["dot"].append(additive)
        seconds["additive"].append(timer""", "exchanged", "additive"),
    ("6.6", "s, H, v = rng.normal(size=d), rng.normal(size=(T, d)), rng.normal(size=d)",
     "s, H, v = rng.random(d), rng.random((T, d)), rng.random(d)",
     "not-normal", "N(0, 1)"),
    ("6.6", """s, H, v = rng.normal(size=d), rng.normal(size=(T, d)), rng.normal(size=d)
        W_s, W_h = rng""",
     """s, v, H = *np.random.normal(size=(2, d)), np.random.normal(size=(T, d))
        W_s, W_h = np.random""", "global-generator", "rng"),
    ("6.6", """    for T in Ts:
        s, H, v = rng.normal(size=d), rng.normal(size=(T, d)), rng.normal(size=d)
        W_s, W_h = rng.normal(size=(2, d, d))""",
     """    rows = rng.normal(size=(max(Ts), d))
    s, v = rng.normal(size=(2, d))
    W_s, W_h = rng.normal(size=(2, d, d))
    for T in Ts:
        H = rows[:T]""", "same-data", "T = 5"),
    ("6.6", "timer(lambda: luong_forward(s, H, mask), repeats)",
     "timer(lambda: (s, (z := np.exp([s @ h for h in H])) / z.sum()), repeats)",
     "python-loop", "steps"),
]  # fmt: skip
TRANSLATORS = [
    ("6.7", "{(t, int(s)) for t, s in enumerate(weights.argmax(1))}",
     "{(int(t), int(s)) for t, s in zip(*np.nonzero(weights > 0.5))}",
     "threshold", "above one number"),
    ("6.7", "3 * (len(p) - len(set(p))) >= len(p)",
     "3 * np.sum(p[1:] == p[:-1]) >= len(p)", "previous-only", "many-to-one"),
    ("6.9", """test = pairs[cut:]
    sources = {source for source, _ in test}
    targets = {target for _, target in test}
    unseen = [p for p in pairs[:cut]""", """test = pairs[:n]
    sources = {source for source, _ in test}
    targets = {target for _, target in test}
    unseen = [p for p in pairs[n:]""", "first-pairs", "expected the test"),
]  # fmt: skip
MASKS = [
    ("6.5", "    alpha, _ = softmax(np.where(mask, e, -np.inf))", """\
    z = mask * np.exp(e - e.max())
    alpha = z / z.sum()""", "masked-maximum", "masked"),
    ("6.5", "    alpha, _ = softmax(np.where(mask, e, -np.inf))", """\
    alpha = mask * softmax(e)[0]
    alpha = alpha / alpha.sum()""", "masked-maximum", "masked"),
    ("E.14", "np.where(seen, np.exp(np.where(seen, s - lse[:, None], 0.0)), 0.0)",
     "np.exp(s - lse[:, None]) * seen", "unseen-overflow", "not allowed"),
]  # fmt: skip
ROWS = """    for a in range(0, len(q), block):
        i = slice(a, min(a + block, len(q)))
        j = slice(0, min(i.stop, len(k)) if causal else len(k))
        rows, columns = np.ogrid[i, j]
        seen = np.broadcast_to(not causal, (len(rows), columns.size))
        seen = seen | (columns <= rows)
        parts = tile(q[i], k[j], v[j], g[i], lse[i], D[i], scale, seen)
        dq[i] += parts[0]
        dk[j] += parts[1]
        dv[j] += parts[2]
    for a in range(0):"""
COSTS = [
    ("E.14", "    for a in range(0, len(q), block):", ROWS,
     "block-rows", "block x block"),
    ("E.13", """        S += np.outer(k[i], v[i])
        y[i] = q[i] @ S
    #""", """        y[i] = (k[: i + 1] @ q[i]) @ v[: i + 1]
    #""", "n-squared", "twice as many positions"),
    ("E.13", """            S += np.outer(k[i], v[i])
            dq[i] = S @ g[i]
        for j in reversed(range(len(q))):
            R += np.outer(q[j], g[j])""",
     """            dq[i] = k[: i + 1].T @ (v[: i + 1] @ g[i])
        for j in reversed(range(len(q))):
            R = q[j:].T @ g[j:]""", "n-squared", "twice as many positions"),
    ("E.2", "return y * (g - (g * y).sum(-1, keepdims=True))",
     "J = y[..., None] * (np.eye(y.shape[-1]) - y[..., None, :])\n"
     "        return (g[..., None, :] @ J)[..., 0, :]", "jacobian", "Jacobian"),
]  # fmt: skip
NUMERIC_9 = """        def loss(p):
            distance = position - p[:, None]
            return (g * align * np.exp(-2 * distance**2 / D**2)).sum(1)

        d_p = (loss(p + 1e-5) - loss(p - 1e-5)) / 2e-5
"""
NUMERIC_10 = """        def loss(q):
            s = scale * (q @ k.swapaxes(1, 2))
            p = np.exp(s - s.max(-1, keepdims=True))
            return (g * (p / p.sum(-1, keepdims=True) @ v)).sum()

        dq, h = np.zeros_like(q), 1e-5
        for i in np.ndindex(q.shape):
            up, down = q.copy(), q.copy()
            up[i] += h
            down[i] -= h
            dq[i] = (loss(up) - loss(down)) / (2 * h)
        return dq, scale * (ds.swapaxes(1, 2) @ q), dv
"""
GRADIENTS = [
    ("E.9", D_P, NUMERIC_9, "differences", "12 digits"),
    ("E.10", "        return scale * (ds @ k), scale * (ds.swapaxes(1, 2) @ q), dv\n",
     NUMERIC_10, "differences", "12 digits"),
    ("E.2", "return g * (1 - y * y)",
     "return g * (np.tanh(x + 1e-5) - np.tanh(x - 1e-5)) / 2e-5",
     "differences", "12 digits"),
    ("E.6", "da_n = dh * (1 - z) * (1 - n * n)",
     "up, down = (np.tanh(np.arctanh(n) + h) for h in (1e-5, -1e-5))\n"
     "    da_n = dh * (1 - z) * (up - down) / 2e-5", "differences", "12 digits"),
    ("38.6", '.then(lambda s, W_g, h1, h3: s @ W_g @ (h1 + h3) / 2, '
     '"a number moves out")\n        ', "", "two-steps", "one law"),
]  # fmt: skip
SIZES = [
    ("E.9", "dz = g * p * (1 - p / S)", "dz = g * p * (1 - p / 17)",
     "unknown", "d_q wrong"),
    ("E.10", "(join(d) for d in of_attention(split(g @ W_o, H)))",
     "(join(d) for d in of_attention(split(g @ W_o, 2)))", "raises", "H=3"),
    ("6.5", "np.outer(alpha, g) + through_scores",
     "(np.outer(alpha, g) + through_scores)[:7]", "shape", "H"),
]  # fmt: skip
TILE = """    s = scale * (q @ k.T)  # (m, n)
    p = np.where(seen, np.exp(np.where(seen, s - lse[:, None], 0.0)), 0.0)
    ds = p * (g @ v.T - D[:, None])
    return scale * (ds @ k), scale * (ds.T @ q), p.T @ g
"""
SLOW = """    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for i in range(len(q)):
        for j in range(len(k)):
            if seen[i, j]:
                p = np.exp(scale * (q[i] @ k[j]) - lse[i])
                ds = p * (g[i] @ v[j] - D[i])
                dq[i] += scale * ds * k[j]
                dk[j] += scale * ds * q[i]
                dv[j] += p * g[i]
    return dq, dk, dv
"""
COMPLEX = """        p_moved = p[:, None] + 1e-30j
        bell_moved = np.exp(-2 * (position - p_moved) ** 2 / D**2)
        d_p = (g * (align * bell_moved)).imag.sum(1) / 1e-30
"""
LOSS = """    logits = model(batch.source, batch.target_in, batch.lengths)
    real = batch.target_out != PAD
    log_p = mg.log_softmax(logits)
    loss = -(log_p[np.nonzero(real) + (batch.target_out[real],)]).sum() / real.sum()
"""
COMMON = [
    ("6.9", "        alpha = masked_softmax(e, mask=mask)\n",
     "        z = mg.exp(e - e.numpy().max(-1, keepdims=True)) * mask.astype(float)\n"
     "        alpha = z / z.sum(-1, keepdims=True)\n", "masked-maximum", "padding"),
    ("E.11", "theta = base **", "theta = 10000.0 **", "base-ignored", "any base"),
    ("38.4", "H[real].mean()", "H[real].mean() / np.log(alpha.shape[2])",
     "divided", "/ log S"),
]  # fmt: skip
RESULTS = [
    ("E.14", "scale * (ds.T @ q), p.T @ g", "p.T @ g, scale * (ds.T @ q)",
     "swapped", "dk, in the result of tile("),
    ("E.14", "scale * (ds.T @ q), p.T @ g", "scale * (ds.T @ q), 2 * (p.T @ g)",
     "scale:2", "dv, in the result of tile("),
    ("E.8", "return top, z, u", "return top, z", "results",
     "expected 3 results: m, z, u found 2"),
    ("E.8", "return top, z, u", "return top, u, z", "swapped", "in another order"),
    ("E.8", "return o, base + np.log(both)", "return o, base + np.log(both + 1e-300)",
     "unknown", "(at L 2)     expected  -inf     found     -690.776"),
    ("E.7", "lse = base + np.log(np.exp(s - base[..., None]).sum(-1))",
     "lse = base + np.log(np.exp(s - base[..., None]).sum(-1) + 1e-300)",
     "unknown", "expected  -inf"),
    ("E.1", "return da, db", "return db, da", "swapped", "da, in the result of"),
    ("E.13", "dk[j] = R @ v[j]", "dk[j] = R @ v[0]", "unknown", "d_k wrong"),
]  # fmt: skip
VARIANCES = "(np.diff(quarters) ** 2).mean(axis=1) / 2"
REPORTED = 'run["figure"] for run in record["runs"]'
CURVES = 'for run in record["runs"] if run["arm"] in (a, other)'
EVIDENCE = [
    ("E.16", "m = len(curve) // 4", "m = len(curve) // 3", "thirds", "that of thirds"),
    ("E.16", VARIANCES, "quarters.var(axis=1, ddof=1)", "about-the-mean", "noise"),
    ("E.16", VARIANCES, VARIANCES[:-4], "not-halved", "without the half"),
    ("E.16", "variances.sum() / m)", "variances.sum())", "single", "single entries"),
    ("E.16", "return last - before", "return curve[-1] - curve[-2 * m]", "ends",
     "the last entry minus the first"),
    ("E.16", REPORTED, REPORTED + ' if not run["diverged"]', "diverged",
     "without the runs that diverged"),
    ("E.16", REPORTED, REPORTED.replace("figure", "validation"), "other-figure",
     "validation data"),
    ("E.16", "x.std(ddof=1)", "x.std()", "n", "n for n - 1"),
    ("E.16", 'for seed in record["choosing"]', 'for seed in record["seeds"]',
     "reported", "as if all these were missing"),
    ("E.16", "untried_rates(record) or dropped", "dropped", "tuned",
     "expected 'unfair': b was not tried with each rate"),
    ("E.16", "high < 0 and ended", "high < 0", "no-without-plateau",
     "expected 'undecided': a is behind b, and the curves of a rise"),
    ("E.16", "run[\"curve\"] " + CURVES, "run[\"curve\"] " + CURVES.replace(
     "(a, other)", "(a,)"), "own-plateau", "the curves of b rise"),
    ("E.16", "all(low > 0 for", "any(low > 0 for", "one-is-enough",
     "one of the others is enough"),
]  # fmt: skip
COPIES = """    for j, w in enumerate(x):  # a word that occurs twice adds up
        P[:, w] += copied[:, j]
"""
VARIANTS = [
    ("E.20", COPIES, "    P[:, x] += copied\n", "last-place", "last place alone"),
    ("E.20", COPIES, "    P[:, x] = copied\n", "overwritten", "replaces writing"),
    ("E.20", "copied = _sigmoid(-r)[:, None] * _softmax(e) * (x",
     "copied = (1 - _sigmoid(r))[:, None] * _softmax(e) * (x", "rounded",
     "with 1 - lambda"),
    ("E.23", "np.tri(L, S, S - L, dtype=bool)", "np.tri(L, S, dtype=bool)",
     "upper-left", "0 … i for query i"),
    ("E.23", "averages = weights(scale", "scale = cache.shape[1] ** -0.5\n"
     "    averages = weights(scale", "scale", "sqrt(R + F)"),
    ("E.23", "    queries = np.concatenate(", "    return expanded(q, u, cache, W_k, W_v)"
     "\n    queries = np.concatenate(", "expands", "numbers in memory"),
    ("E.24", "np.where(edges, e,", "np.where(edges.T, e,", "transpose",
     "nodes that read node i"),
    ("E.24", "np.where(edges.any(1, keepdims=True), m, 0.0)", "m", "nan",
     "expected 0 for a node that reads none"),
    ("E.24", "    e = f @ a\n", "    e = np.where(z @ a > 0, z @ a, 0.2 * (z @ a))\n",
     "other-order", "the order of GAT"),
]  # fmt: skip
ALL_OF_10 = "        return dX, dY, dq.T @ X, dk.T @ Y, dv.T @ Y, dW_o"
REVERSED = "        for t in reversed(range(len(q))):\n"
STATES = """        states = [0 * last]
        for t in range(len(q)):
            states.append(write(states[t], k[t], v[t], b[t]))
        D = np.zeros_like(last)
        for t in reversed(range(len(q))):
            dq[t] = states[t + 1] @ g[t]
            D = D + np.outer(q[t], g[t])
            D, dk[t], dv[t], db[t] = write_backward(states[t], k[t], v[t], b[t], D)
        for t in range(0):
"""
TWO_PASSES = """        for t in reversed(range(len(q))):
            D = D + np.outer(q[t], g[t])
            dk[t], dv[t], db[t] = D @ u[t], b[t] * (k[t] @ D), k[t] @ D @ u[t] / b[t]
            D = D - np.outer(k[t], dv[t])
        S = 0 * last
        for t in range(len(q)):
            dk[t] -= S @ dv[t]
            S = S + np.outer(k[t], u[t])
            dq[t] = S @ g[t]
        for t in range(0):
"""
SOLVED = "return np.linalg.solve(np.eye(len(k)) + B * b, v - k @ S)"
ROW_BY_ROW = """r = v - k @ S
    for i in range(len(k)):
        r[i] -= B[i] * b @ r
    return r"""
LAST_ROWS = "    o = np.empty_like(v)\n    for i in range(0, len(q), C):\n"
FILLED = """    n, pad = len(q), [(0, -len(q) % C)]
    q, k, v = (np.pad(x, pad + [(0, 0)]) for x in (q, k, v))
    b = np.pad(b, pad)
    whole = np.empty_like(v)
    o = whole[:n]
    for i in range(0, n, C):
        rows = slice(i, i + C)
        whole[rows], S = chunk(q[rows], k[rows], v[rows], b[rows], S)
    for i in range(0):
"""
TOKENS = "return q @ S + np.tril(q @ k.T) @ u, S + k.T @ u"
ONE_BY_ONE = """o = []
    for i in range(len(q)):
        S = S + np.outer(k[i], u[i])
        o.append(q[i] @ S)
    return np.array(o), S"""
RECURRENCES = [
    ("E.21", REVERSED, STATES, "states-kept", "fewer than n E Ev"),
    ("E.21", "S = S - np.outer(k[t], u[t])", "S -= np.outer(k[t], u[t])", "stateful",
     "a second backward"),
    ("E.22", SOLVED, SOLVED.replace("B * b", "B * b[:, None]"), "other-b", "row i"),
    ("E.22", SOLVED, "return v - k @ S - B * b @ (v - k @ S)", "first-order",
     "without the tokens before j"),
    ("E.22", TOKENS, ONE_BY_ONE, "python-loop", "beside those of errors"),
    ("E.22", LAST_ROWS, "    o, S = chunk(q, k, v, b, S)\n    for i in range(0):\n",
     "other-chunks", "[11] tokens"),
]  # fmt: skip
HELD_OUT = [  # nobody had these in mind who wrote the checks
    ("6.1", "z / z.sum()", "z / z.sum() + 1e-9", "epsilon", "+ 1e-09 in every entry"),
    ("6.1", "z / z.sum()", "np.ones_like(e) / len(e)", "uniform", "1/7"),
    ("6.1", "return d_alpha, d_H", "return d_H, d_alpha", "swapped",
     "gradient 1 of 2 is that of H"),
    ("6.1", "return d_alpha, d_H", "return d_alpha", "results", "of alpha, H"),
    ("6.1", "return alpha @ H", "return -(alpha @ H)", "scale:-1", "-1 x expected"),
    ("6.6", "alpha = z / z.sum()", "alpha = z / (z.sum() + 1e-8)", "epsilon",
     "added to the divisor"),
    ("6.5", "return alpha @ H, alpha", "return alpha @ H", "results",
     "found 1, an array of shape (5,)"),
    ("6.8", "return alpha, alpha @ X", "return alpha, X", "unchanged", "equals X"),
    ("6.8", "return alpha, alpha @ X", "return alpha, X.mean(0) + 0 * X",
     "ignores-weights", "the mean of the states"),
    ("6.8", "(axis=-1, keepdims=True)  # row", "()  # row", "sum-over-everything",
     "sums to 1 over all entries"),
    ("6.8", "return unit @ unit.T", "return 1 - unit @ unit.T", "one-minus", "1 - "),
    ("E.7", "        return y * (g - centre)", "        return y * (1 - y) * g",
     "softmax-diagonal", "diagonal"),
    ("E.10", ALL_OF_10, ALL_OF_10.replace("dq.T @ X, dk.T @ Y", "dk.T @ Y, dq.T @ X"),
     "swapped", "d_W_k, in the place of d_W_q"),
    ("E.10", ALL_OF_10, ALL_OF_10.replace("dX, dY", "dY, dX"), "swapped",
     "d_Y, in the place of d_X"),
    ("E.10", ALL_OF_10, ALL_OF_10.replace(", dW_o", ""), "results", "found 5"),
    ("38.1", "return H @ W_g.T", "return (H @ W_g.T)[::-1]", "reversed", "axis 0"),
    ("38.3", "entropy(p).mean()", "entropy(p).mean() / np.log(2)", "log-base", "ln 2"),
    ("38.5", "return np.abs(s - p) <= D", "return s - p <= D", "one-sided",
     "one bound of every window"),
]  # fmt: skip
SIGNS = [
    ("E.11", "= x[..., 0::2] * sin + x[", "= -x[..., 0::2] * sin + x[",
     "sign", "second entries"),
    ("6.6", "for _ in range(repeats):", "for _ in range(repeats - 1):",
     "repeats", "one call less"),
]  # fmt: skip
REPORTS = [
    ("6.7", "{(t, int(s)) for t, s in enumerate(weights.argmax(1))}",
     "{(s, t) for t, s in enumerate(weights.argmax(1))}", "transpose",
     "found [(0, 0), (1, 2), (1, 3), (2, 1)]"),
    ("6.7", "10 * back.sum() >= len(back)", "10 * back.sum() > len(back)", "more-than",
     "pattern(weights=float64 (11, 11)) expected reordering"),
    ("E.15", "len(said) < max_length", "len(said) < 40", "endless",
     "14 of 16 translations differ"),
    ("6.6", "    e = np.where(mask, H @ s, -np.inf)  # (T,)\n    z = np.exp(e - e.max())"
     "\n    alpha = z / z.sum()", "    e = H @ s\n    z = np.exp(e - e.max())\n"
     "    alpha = mask * z / z.sum()", "mask-after", "times the mask"),
    ("6.6", """    for T in Ts:
        s, H, v = rng.normal(size=d), rng.normal(size=(T, d)), rng.normal(size=d)
        W_s, W_h = rng.normal(size=(2, d, d))""",
     """    W_s, W_h = rng.normal(size=(2, d, d))
    for T in Ts:
        s, H, v = rng.normal(size=d), rng.normal(size=(T, d)), rng.normal(size=d)""",
     "not-anew", "anew for each T"),
]  # fmt: skip
FIRST = "d * (E(lambda s, h: (s * h) ** 2) - E(lambda s, h: s * h) ** 2)"
SECOND = """d
                * (
                    E(lambda s, h: s**2) * E(lambda s, h: h**2)
                    - (E(lambda s, h: s) * E(lambda s, h: h)) ** 2
                )
            ),
            "the mean of a product of independent factors is the product of the means",
        )
        .then(
            lambda E, d, mu_s, mu_h, v_s, v_h: (
                d * ((v_s + mu_s**2) * (v_h + mu_h**2) - (mu_s * mu_h) ** 2)
            ),"""
PASSED = [  # once accepted
    ("38.1", '"products may be taken in any order"', '" "', "no-reason", "link 2"),
    ("38.2", FIRST, "d * (v_s * v_h + v_s * mu_h**2 + v_h * mu_s**2) * E(lambda *_: 1)",
     "starts-elsewhere", "E alone in the first"),
    ("38.2", SECOND, f"{FIRST} + 0),", "no-independence", "needs independence"),
    ("38.2", "h: var_dot(d, mu_s, mu_h, v_s, v_h)",
     "h: var_dot(d, E(lambda s, h: s), mu_h, v_s, v_h)",
     "arrives-elsewhere", "no E in the last"),
    ("38.2", SECOND, "d * ((v_s + mu_s**2) * (v_h + mu_h**2) - (mu_s * mu_h) ** 2)"
     " + 0 * E(lambda s, h: s)),", "no-independence", "or that E is no part of"),
]  # fmt: skip
MISNAMED = [  # once under another name
    ("E.7", "return y * g[..., None]",
     "return y * (g[..., None] - (y * g[..., None]).sum(-1, keepdims=True))",
     "zero", "0 everywhere"),
    ("E.7", "y = e / np.where(mask, total, 1.0)", "y = e / (total + 1e-9)",
     "epsilon", "added to the divisor"),
    ("E.6", "return dxs, dh, dW_ih, dW_hh, db_ih, db_hh",
     "return dxs, dh, dW_ih, dW_hh, db_hh, db_ih", "swapped", "numeric of b_hh"),
    ("E.6", "return dxs, dh, dW", "return dxs, 0 * dh, dW", "zero", "0 everywhere"),
    ("38.3", "np.log(np.where(p > 0, p, 1.0))", "np.log(p + 1e-9)",
     "epsilon", "- 3e-09 in every entry"),
]  # fmt: skip
UNNAMED = [  # once without a name
]  # fmt: skip
WRONG = [
    *HELD_OUT, *SIGNS, *REPORTS, *PASSED, *MISNAMED, *UNNAMED,
    *IMPORTS, *COMPARE, *TRANSLATORS, *MASKS, *COSTS, *GRADIENTS, *SIZES, *COMMON,
    *RESULTS, *EVIDENCE, *RECURRENCES, *VARIANTS, *learners.WRONG,
    *learners_of_chapters.WRONG, *learners_once_passed.WRONG,
]  # fmt: skip
LABELS = """\
    ax.semilogx(ds, scaled, "o-", label="scaled")
    ax.semilogx(ds, unscaled, "s--", label="unscaled")
    ax.axhline(np.log(T), color="0.5", label=f"log {T}, equal weights")
    ax.set(xlabel="width d", ylabel="entropy, nats")
    ax.legend()"""
RIGHT = [
    ("E.5", "import numpy as np", "import numpy as np\nimport minigrad as mg"),
    ("E.2", "import numpy as np", "import functools\nimport numpy as np"),
    ("6.8", "return alpha, alpha @ X", "return [alpha, alpha @ X]"),
    ("E.2", "return y, backward", "return [y, backward]"),
    ("E.8", "    return top, z, u",
     "    m[:] = top\n    top = m\n    return top, z, u"),
    ("38.6", "return W_a, v_a, s, h1, (h1 + h3) / 2, h3",
     "return [W_a, v_a, s, h1, (h1 + h3) / 2, h3]"),
    ("6.9", 'return output @ p["W_o"].T + p["b_o"], new',
     'return [output @ p["W_o"].T + p["b_o"], new]'),
    ("6.10", "np.log(np.where(p > 0, p, 1.0))", "np.log(p + 1e-12)"),
    ("6.4", "return math.isqrt(memory // np.dtype(dtype).itemsize)", """T = 0
    while (T + 1) ** 2 * np.dtype(dtype).itemsize <= memory:
        T += 1
    return T"""),
    ("6.4", "return math.isqrt(memory // np.dtype(dtype).itemsize)", """T = 1
    while attn_bytes(T, 1, 1, dtype) <= memory:
        T *= 2
    while attn_bytes(T, 1, 1, dtype) > memory:
        T -= 1
    return T"""),
    ("6.2", "return np.eye(d)", "return np.eye(d, dtype=int).tolist()"),
    ("6.7", "with mg.no_grad():", "if True:"),
    ("6.5", "return alpha @ H, alpha", "return list(alpha @ H), list(alpha)"),
    ("6.8", "(alpha + alpha.T)[pairs], (cosine(Z) - cosine(X))[pairs]",
     "[*(alpha + alpha.T)[pairs]], [*(cosine(Z) - cosine(X))[pairs]]"),
    ("6.10", "return variance / tau**3", "return (variance / tau**3).tolist()"),
    ("6.9", "[i for i, n in enumerate(lengths) if low <= n <= high]",
     "np.flatnonzero((low <= np.array(lengths)) & (np.array(lengths) <= high))"),
    pytest.param("38.3", "np.log(np.where(p > 0, p, 1.0))", "np.log(p + 1e-12)",
                 marks=pytest.mark.deep),
    ("38.3", "return np.array(curve)", "return curve"),
    ("38.3", LABELS, LABELS.replace(', label="scaled"', "")
     .replace(', label="unscaled"', "")
     .replace("legend()", 'legend(["scaled", "not scaled", "equal weights"])')),
    pytest.param("38.4", "np.log(np.where(alpha > 0, alpha, 1.0))",
                 "np.log(alpha + 1e-12)", marks=pytest.mark.deep),
    ("38.4", """    logits = model(batch.source, batch.target_in, batch.lengths)
    loss = mg.cross_entropy(logits, batch.target_out, ignore_index=PAD)
""", LOSS),
    ("38.4", "    alpha = np.asarray(alpha, np.float64)\n", ""),
    ("38.1", "(s @ W_g) @ h, ", "(s @ W_g).dot(h), "),
    ("38.1", "s @ (W_g @ h), ", "(s[:, None] * W_g * h).sum(), "),
    ("38.6", '@ ((h1 + h3) / 2), "', '@ (0.5 * (h1 + h3)), "'),
    ("E.9", D_P, COMPLEX),
    ("E.8", "return o, base + np.log(both)", "return o, np.logaddexp(lse1, lse2)"),
    pytest.param("E.14", TILE, SLOW, marks=pytest.mark.deep),
    ("E.14", "(g * o).sum(1)", "np.einsum('le,le->l', o, g)"),
    ("38.6", "return W_a, v_a, s, h1, (h1 + h3) / 2, h3",
     "return W_a.tolist(), v_a, s, [-2.0], [0.0], [2]"),
    ("38.6", 's @ W_g @ (h1 + h3) / 2, "a number moves out"',
     's @ W_g @ (h1 / 2) + s @ W_g @ (h3 / 2), "a sum splits"'),
    ("E.16", "np.array(curve[-2 * m :]).reshape(2, m)",
     "np.stack([curve[-2 * m : -m], curve[-m:]])"),
    ("E.16", VARIANCES, "[np.var(np.diff(y)) / 2 + np.diff(y).mean() ** 2 / 2\n"
     "                          for y in quarters]\n    variances = np.array(variances)"),
    ("E.16", "return [job for job in wanted if job not in reported]",
     "return [job for job in wanted if job not in reported][::-1]"),
    ("E.21", REVERSED, TWO_PASSES),
    ("E.21", "S + b * np.outer(k, v - k @ S)",
     "(np.eye(len(k)) - b * np.outer(k, k)) @ S + b * np.outer(k, v)"),
    ("E.22", SOLVED, ROW_BY_ROW),
    ("E.22", LAST_ROWS, FILLED),
    ("E.20", COPIES, "    np.add.at(P, (slice(None), x), copied)\n"),
    ("E.20", "de = g[:, None] * ((1 - pi)[:, None] * _softmax(e) - rho)",
     "a = _softmax(e)\n        da = -g[:, None] * rho / a\n"
     "        de = a * (da - (a * da).sum(1, keepdims=True))"),
    ("E.23", "    return averages @ W_v.swapaxes(1, 2)\n",
     "    return np.stack([a @ W.T for a, W in zip(averages, W_v)])\n"),
    ("E.24", "    return W_l, np.eye(n), np.ones(n)",
     "    return 100 * W_l.astype(int) + 93, 7 * np.eye(n, dtype=int), [1] * n"),
    ("E.21", "return D - np.outer(k, dv), b * (D @ r) - S @ dv, dv, r @ e",
     "return D - np.outer(k, dv), b * (D @ r) - S @ dv, dv, float(r @ e)"),
    ("E.23", "return 2 * L * H * E * R + L", "return 2.0 * L * H * E * R + L"),
    ("E.24", "return np.argmax(h @ W.T @ a_2)", "return float(np.argmax(h @ W.T @ a_2))"),
    ("E.16", "    return [job for job in wanted if job not in reported]",
     "    return tuple(job for job in wanted if job not in reported)"),
    ("E.16", "return last - before, np.sqrt(variances.sum() / m)",
     "return np.array([last - before, np.sqrt(variances.sum() / m)])"),
    ("6.1", "return d_alpha, d_H", "return tuple(d_alpha), d_H"),
    ("E.7", "        return y * g[..., None]", "        return [*(y * g[..., None])]"),
    *learners.RIGHT,
]  # fmt: skip


@pytest.mark.parametrize(
    "id, old, new, tag, words",
    sampled(WRONG, [f"{case[0]} {case[3]}" for case in WRONG]),
)
def test_a_wrong_answer_is_named(id, old, new, tag, words):
    code, failed = run(catalogue.find(id), answer(id, old, new))
    assert (code, failed and failed.tag) == (1, tag), failed
    assert words in " ".join(failed.lines)


@pytest.mark.parametrize("id, old, new", RIGHT)
def test_a_right_answer_passes(id, old, new):
    assert run(catalogue.find(id), answer(id, old, new)) == (0, None)


def test_what_follows_from_a_mistake_has_its_name_as_well():
    """Scores x_i . x_j are symmetric: weights over the other axis are the transpose."""
    exercise, old = catalogue.find("6.10"), "z = np.exp((e - e.max(-1, keepdims=True))"
    text = answer("6.10", old, old.replace("-1", "0")).replace("z.sum(-1", "z.sum(0")
    my = harness.load(exercise, exercise.solution, text)
    outcomes = list(sequence.run_steps(harness.load_checks(exercise), my))
    assert [o.tag for o in outcomes if o.result == "failed"] == ["wrong-axis"] * 2


def test_a_long_run_comes_after_all_that_is_quick():
    failed = [
        {"result": "failed", "lines": [], "tag": tag}
        for tag in ("no-long-run", "unknown")
    ]
    report = runner.Report(outcomes=failed)
    assert [o["tag"] for o in report.failures] == ["unknown", "no-long-run"]

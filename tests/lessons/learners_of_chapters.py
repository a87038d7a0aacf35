"""Mistakes that learners made in 38.1 to 38.6 and 6.1 to 6.10, as in learners.py."""

MULTS = "B * (projected * d_s * d_h + T_q * T_k * d_s)"
COUNTS = [
    ("38.1", "projected = T_k if", "projected = T_q if",
     "queries-projected", "the queries projected"),
    ("38.1", MULTS, "B * T_k * d_s * d_h * T_q * T_k * d_s",
     "product", "the product of both numbers"),
    ("38.1", MULTS, MULTS.replace("(proj", "(2 * proj"), "additions", "additions"),
    ("38.1", MULTS, f"{MULTS} / 1", "float", "expected an int found 120.0, a float"),
    ("38.1", "d_s * d_h +", "d_h * d_h +", "wrong-width", "d_h d_h products"),
    ("38.1", "s @ project_keys(h[None, :], W_g)[0]", "s @ (h @ W_g.T)",
     "arrives-elsewhere", "found none"),
]  # fmt: skip
VARIANCES = [
    ("38.2", "v_h * mu_s**2)\n", "v_h * mu_s**2 + 2 * mu_s * mu_h)\n",
     "cross-term", "2 d mu_s mu_h"),
    ("38.2", "d * v_h * (v_s + mu_s**2)", "d * v_h * (v_s + mu_s)",
     "not-squared", "mu_s not squared"),
    ("38.2", "d * v_h * (v_s + mu_s**2)", "v_h * (v_s + mu_s**2)",
     "one-term", "one product"),
    ("38.2", "mu_h**2 / v_h + mu_s**2 / v_s", "mu_h / v_h + mu_s / v_s",
     "not-squared", "not squared"),
    ("38.2", "x.mean(axis=-1, keepdims=True)", "x.mean(axis=-1)",
     "no-keepdims", "(3, 5) without axis 1"),
    ("38.2", "d * (v_s * v_h + v_s * mu_h**2 + v_h * mu_s**2)",
     "d * ((v_s + mu_s**2) * (v_h + mu_h**2) - mu_s * mu_h)",
     "not-squared", "- mu_s mu_h)"),
    ("38.2", "d * (v_s * v_h + v_s * mu_h**2 + v_h * mu_s**2)", "d * (v_s + v_h)",
     "sum-for-product", "d (v_s + v_h)"),
    ("38.2", "d * (v_s * v_h + v_s * mu_h**2 + v_h * mu_s**2)",
     "d * ((v_s * v_h)**2 + v_s**2 * mu_h**2 + v_h**2 * mu_s**2)",
     "deviation", "v_s^2 and v_h^2"),
    ("38.2", "1 + mu_h**2 / v_h + mu_s**2 / v_s", "var_dot(1, mu_s, mu_h, v_s, v_h)",
     "not-divided", "the variance before"),
    ("38.2", "1 + mu_h**2 / v_h + mu_s**2 / v_s",
     "(1 + mu_h**2 / v_h) * (1 + mu_s**2 / v_s)", "product", "(1 + mu_h^2 / v_h)"),
    ("38.2", "x.mean(axis=-1", "x.sum(axis=-1", "sum", "the sum of each row"),
]  # fmt: skip
ENTROPIES = [
    ("38.3", "return log_Z - mean_score", "return 2 * np.log(T) - log_Z - mean_score",
     "sign", "log T - ln(sinh(a) / a)"),
    ("38.3", "mean_score = a / np.tanh(a) - 1",
     "mean_score = np.cosh(a) - np.sinh(a) / a", "not-divided", "E[x exp(x)]"),
    ("38.3", "z.sum(axis=-1, keepdims=True)", "z.sum()",
     "sum-over-everything", "over all queries"),
    ("38.3", "e / np.sqrt(d)", "e / np.sqrt(T)", "divides-by-T", "sqrt(T)"),
    ("38.3", "e = _scores(T, d, samples, rng)",
     "e = _scores(T, d, samples, np.random.default_rng(0))", "own-generator", "rng"),
    ("38.3", "-np.sum(p * logs", "-np.sum(logs", "no-weights", "without p_j"),
    ("38.3", "entropy(p).mean()", "np.median(entropy(p))", "median", "the median"),
    ("38.3", "entropy(p).mean()", "entropy(z).mean()", "not-normalised", "exponential"),
    ("38.3", "e = _scores(T, d, ", "e = _scores(d, T, ", "swapped", "_scores(d, T"),
    ("38.3", "np.log(np.sinh(a) / a)", "np.log(np.sinh(a))",
     "width-of-interval", "ln a"),
    ("38.3", "np.log(np.sinh(a) / a)", "np.log(2 * np.sinh(a))",
     "width-of-interval", "ln (2 a)"),
    ("38.3", "a / np.tanh(a) - 1", "a / np.tanh(a)", "one-lost", "expected - 1"),
    ("38.3", "return log_Z - mean_score", "return 2 * np.log(T) - log_Z + mean_score",
     "sign", "log T plus"),
    ("38.3", "a / np.tanh(a)", "a * np.tanh(a)", "hyperbolic", "tanh a for coth a"),
    ("38.3", "np.log(np.sinh(a)", "np.log(np.cosh(a)", "hyperbolic", "cosh a for sinh"),
]  # fmt: skip
LINK = "masked_softmax(e, mask=allowed)"
ROOT = "/ K.shape[-1] ** 0.5"
SLICES = (
    "out = np.zeros((T, S), bool)\n"
    "    for t in range(T):\n"
    "        out[t, int(p[t, 0]) - D : int(p[t, 0]) + D + 1] = True\n"
    "    return out"
)
WINDOWS = [
    ("38.5", LINK, "(mg.softmax(e) * allowed)", "mask-after", "times the mask"),
    ("38.5", LINK, "mg.softmax(e * allowed)", "mask-leak", "0 where masked"),
    ("38.5", LINK, "mg.softmax(e + np.where(allowed, 0.0, -1e9))",
     "finite-mask", "-1e9"),
    ("38.5", ROOT, "/ K.shape[-1]", "scaled-by-d", "scores / d"),
    ("38.5", ROOT, "/ K.shape[0] ** 0.5", "scaled-by-length", "sqrt(7)"),
    ("38.5", ROOT, "/ Q.shape[0] ** 0.5", "scaled-by-length", "sqrt(5)"),
    ("38.5", ROOT, "/ V.shape[-1] ** 0.5", "value-width", "sqrt(11)"),
    ("38.5", ROOT, "* K.shape[-1] ** 0.5", "multiplied", "scores * sqrt(d)"),
    ("38.5", "[center(t) for", "[int(center(t)) for", "rounded", "rounded"),
    ("38.5", "[center(t) for", "[round(center(t)) for", "rounded", "rounded"),
    ("38.5", "center_for_reversal(t, n)", "center_for_reversal(t, lengths[-1])",
     "one-length", "length 5"),
    ("38.5", "& real[:, None, :]", "& real[:, None, :] & real[:, :T, None]",
     "masks-queries", "t >= length"),
    ("38.5", LINK, "masked_softmax(e, allowed)", "raises", "is passed as mask="),
    ("38.5", "for t in range(T)])", "for t in range(1, T + 1)])",
     "next-query", "of query t + 1"),
    ("38.5", "return np.abs(s - p) <= D", SLICES,
     "negative-slice", "counts from the end"),
    ("38.5", "np.abs(s - p) <= D", "(s - p >= -D) & (s - p < D)",
     "off-by-one", "without its last key"),
    ("38.5", "[center(t) for", "[min(max(center(t), D), S - 1 - D) for",
     "clipped", "inside the string"),
    ("38.5", "return length - 1 - t", "return max(0, length - 1 - t)",
     "clipped", "max(0, length - 1 - t)"),
    ("38.5", "& real[:, None, :]", "& real[:, :T, None]",
     "masks-queries", "that contain padding"),
    ("38.5", LINK, "masked_softmax(e.T, mask=allowed.T).T", "wrong-axis", "queries"),
]  # fmt: skip
ONCE = "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
STEPS = [
    ("38.5", ONCE, "    loss.backward()\n    optimizer.zero_grad()\n"
     "    optimizer.step()\n", "does-not-move", "does not move"),
    ("38.5", "    loss.backward()\n", "", "does-not-move", "does not move"),
    ("38.5", ONCE, "    optimizer.zero_grad()\n    optimizer.step()\n"
     "    loss.backward()\n", "does-not-move", "does not move"),
    ("38.5", "e = Q @ K.T", "e = mg.Tensor(Q.data @ K.data.T)",
     "not-learned", "training_step(model="),
    ("38.5", "strings[:, ::-1]", "strings[::-1]",
     "reversed-batch", "the strings of the batch in reverse order"),
    ("38.5", "strings[:, ::-1]", "np.flip(strings)", "reversed-batch", "at step 0"),
    ("38.5", "model.values(strings)", "model.values(strings[:, ::-1])",
     "reversed-input", "reads the strings from the last symbol on"),
    ("38.5", "model.Q, model.K, model", "model.K, model.Q, model",
     "swapped", "Q and K exchanged"),
]  # fmt: skip
PROOFS = [
    ("38.6", "(s @ W_g @ h1 + s @ W_g @ h3) / 2",
     "(s @ W_g @ h1 + s @ W_g @ ((h1 + h3) / 2) + s @ W_g @ h3) / 3",
     "arrives-elsewhere", "a score of a sum"),
    ("38.1", "s @ (W_g @ h), ", "(s @ W_g) @ h + 0, ",
     "chain-repeats", "links 1 and 2"),
    ("38.1", "s @ (W_g @ h), ", "1 * ((s @ W_g) @ h), ",
     "chain-repeats", "links 1 and 2"),
    ("38.1", "s @ (W_g @ h), ", "(s @ W_g) @ h + 0 * h[0], ",
     "chain-repeats", "links 1 and 2"),
    ("38.1", "s @ (W_g @ h), ", "((s @ W_g) @ h) / 1 - 0, ",
     "chain-repeats", "links 1 and 2"),
]  # fmt: skip
RESULTS = [
    ("38.6", "return W_a, v_a, s", "return v_a, W_a, s", "swapped", "another order"),
    ("38.6", "return -np.eye(1), np.ones(1),", "return np.ones(1), -np.eye(1),",
     "swapped", "another order"),
    ("38.3", "if scaled:", "if not scaled:", "inverted", "at d = 17"),
    ("38.3", "ax.legend()", "ax.legend()\n    ax.set_yscale('log')",
     "logarithmic-entropy", "a linear axis for the entropy"),
]  # fmt: skip
SCORES_6 = "    e = np.where(mask, H @ s, -np.inf)  # (T,)\n"
SOFTMAX_5 = "softmax(np.where(mask, e, -np.inf))"
WEIGHTS = [
    ("6.4", "np.sqrt(Q.shape[1])", "np.sqrt(V.shape[1])", "value-width", "sqrt(5)"),
    ("6.4", "np.sqrt(Q.shape[1])", "np.sqrt(len(Q))", "scaled-by-length", "sqrt(7)"),
    ("6.5", "np.where(mask, e, -np.inf)", "np.where(mask, e, -1.0)",
     "mask-leak", "-1 where masked"),
    ("6.6", SCORES_6, "    e = (H @ s) * mask\n", "mask-leak", "0 where masked"),
    ("6.6", SCORES_6, "    e = np.where(mask, H @ s, -1.0)\n",
     "mask-leak", "-1 where masked"),
    ("6.6", "alpha = z / z.sum()", "alpha = z", "not-normalised", "not divided"),
    ("6.8", "e = scale * (X @ X.T)", "e = scale * (X @ X.T) / np.sqrt(X.shape[1])",
     "scaled", "/ sqrt(d)"),
    ("6.8", "e = scale * (X @ X.T)", "e = scale * (X @ X.T) / X.shape[1]",
     "scaled", "/ d"),
    ("6.9", "masked_softmax(e, mask=mask)", "masked_softmax(e) * mask",
     "mask-after", "times the mask"),
    ("6.9", "masked_softmax(e, mask=mask)", "masked_softmax(e * mask)",
     "mask-leak", "0 where masked"),
    ("6.9", 's @ p["W_s"].T', '0 * s @ p["W_s"].T', "ignores-query", "W_h h_j"),
    ("6.9", 'mg.tanh(H @ p["W_h"].T + query[:, None])',
     '(H @ p["W_h"].T + query[:, None])', "no-tanh", "without tanh"),
    ("6.9", "mg.concat([new, c], axis=-1)", "mg.concat([c, new], axis=-1)",
     "swapped", "[c; s']"),
    ("6.10", "    return z / z.sum(-1, keepdims=True)",
     "    z = z**tau\n    return z / z.sum(-1, keepdims=True) / tau",
     "tau-after", "softmax(e) / tau"),
]  # fmt: skip
BACKWARDS = [
    ("6.1", "d_alpha = H @ g", "d_alpha = alpha * (H @ g - alpha @ H @ g)",
     "through-softmax", "of the scores"),
    ("6.5", "np.outer(alpha, g) + through", "g + through", "ignores-weights", "alpha"),
    ("6.5", "(1 - t * t)", "(1 - np.tanh(t) ** 2)",
     "wrong-derivative", "1 - tanh(tanh(x))^2"),
    ("6.5", "d_pre.T @ H", "np.outer(d_query, alpha @ H)",
     "context-not-states", "the context in the place of h_j"),
]  # fmt: skip
MEASURES = [
    ("6.6", "return (x @ y) / (x @ x)",
     "return np.polyfit(np.log(Ts), np.log(seconds), 1)[1]", "intercept", "log a"),
    ("6.6", "    x = x - x.mean()\n", "", "through-origin", "through 0"),
    ("6.6", "float(np.median(seconds))", "float(seconds[len(seconds) // 2])",
     "unsorted", "not sorted"),
    ("6.7", "1 - 2 * len", "1 - len", "no-two", "without the 2"),
    ("6.7", "np.concatenate(layers).mean(0)", "np.concatenate(layers)[0]",
     "one-head", "the first head of the first layer"),
    ("6.8", "np.linalg.norm(X, axis=-1, keepdims=True)", "np.linalg.norm(X)",
     "whole-norm", "the norm of all of X"),
    ("6.8", "np.triu_indices(len(X), k=1)", "np.tril_indices(len(X), k=-1)",
     "tril-order", "np.tril_indices"),
    ("6.8", "(r - r.mean() for r in ranks)", "(r for r in ranks)",
     "not-centred", "without their means"),
    ("6.9", "min(1.0, math.exp(1 - r / c))", "math.exp(1 - r / c)",
     "brevity-above-1", "c > r"),
    ("6.10", "(p * (e - mean) ** 2).sum(-1)", "p.var(-1)",
     "variance-of-p", "Var(p) / tau^3"),
    ("6.10", "mean = (p * e).sum(-1, keepdims=True)",
     "mean = e.mean(-1, keepdims=True)", "flat-mean", "the plain mean of e"),
    ("6.10", "p = softmax_t(e, tau)\n    mean", "p = softmax_t(e, 1.0)\n    mean",
     "tau-lost", "p = softmax(e)"),
    ("6.10", "variance / tau**3", "variance / tau**2", "tau-power", "x tau  "),
    ("6.10", "variance / tau**3", "variance / tau**4", "tau-power", "/ tau  "),
]  # fmt: skip
CALLS = [
    ("6.1", "np.outer(alpha, g)", "np.outer(g, alpha)",
     "transpose", "context_backward: returned shape (5, 7)"),
    ("6.5", "d_query @ W_s", "-d_query @ W_s", "scale:-1", "bahdanau_backward(s="),
    ("6.10", "z.sum(-1, keepdims=True)", "z.sum(0, keepdims=True)",
     "wrong-axis", "columns sum to one"),
]  # fmt: skip
COUNT_WORDS = "sum(map(len, hyps)), sum(map(len, refs))"
ZEROS = "    if not right.all():\n        return 0.0\n"
DOT = "timer(lambda: luong_forward(s, H, mask), repeats)"
SHARES = "3 * (len(p) - len(set(p))) >= len(p)"
TWO_SCANS = """    both, scan_backward = scan(q, k, beside)
    y, c = both[:, :-1], scan(q, k, np.ones((len(v), 1)))[0]
"""
NO_SCAN = """    def scan_backward(g):
        dpairs = np.tril(g @ beside.T)
        return dpairs @ k, dpairs.T @ q, pairs.T @ g

    pairs = np.tril(q @ k.T)
    both = pairs @ beside
    y, c = both[:, :-1], both[:, -1:]
"""
ACCEPTED = [
    ("6.9", COUNT_WORDS,
     COUNT_WORDS[:21] + "sum(max(map(len, pair)) for pair in zip(refs, hyps))",
     "longer-of-pair", "the longer of each pair"),
    ("6.9", "test = pairs[cut:]", "test = pairs[-n:]", "test", "expected the test []"),
    ("6.9", "return unseen, test", "return list(dict.fromkeys(unseen)), test",
     "each-once", "('b', 'B'), ('b', 'B')"),
    ("6.9", ZEROS, "    right[right == 0] = said[right == 0]\n", "no-zero", "found 1"),
    ("6.7", "logits.numpy()[0, EOS:].argmax()) + EOS",
     "(logits.numpy()[0] * (np.arange(12) >= EOS)).argmax())",
     "special", "expected [5, 4, 7, 5]"),
    ("6.7", 'flat.reshape(entry["shape"])', 'flat.reshape(entry["shape"] or [1])',
     "scalar", "shape (1,)"),
    ("6.6", DOT, DOT.replace("mask", "np.ones(T, bool)"),
     "built-in-call", "a new array"),
    ("6.6", "np.where(mask, H @ s, -np.inf)", "np.where(mask, (H * s).sum(1), -np.inf)",
     "elementwise", "entry by entry"),
    ("6.6", "  # all drawn before", "; W_s, W_h, v = W_s[:3], W_h[:3], v[:3]  #",
     "widths", "found W_s (3, 13)"),
    ("6.10", "(p * (e - mean) ** 2).sum(-1)",
     "(p * e**2).sum(-1) - (p * e).sum(-1) ** 2", "cancels", "1e+06"),
    ("6.8", "(alpha, before, after), limits", "(alpha, after, before), limits",
     "images-exchanged", "the title"),
    ("E.13", "    both, scan_backward = scan(q, k, beside)\n"
     "    y, c = both[:, :-1], both[:, -1:]\n", TWO_SCANS,
     "two-scans", "expected one call of scan"),
    ("E.13", "    both, scan_backward = scan(q, k, beside)\n"
     "    y, c = both[:, :-1], both[:, -1:]\n", NO_SCAN, "no-scan", "found 0 calls"),
    ("6.4", "heads * T * T * np.dtype(dtype).itemsize",
     "heads * T * T * (int(dtype[-2:]) // 8)", "raises", "int8"),
]  # fmt: skip
MISNAMED = [
    ("6.1", "return bool(np.all(e == e[0]))", "return e == e[0]",
     "type", "expected one True or False"),
    ("6.1", "return bool(np.all(e == e[0]))", "return [x == e[0] for x in e]",
     "type", "expected one True or False"),
    ("6.1", "return alpha @ H\n", "return alpha @ H / alpha.sum()\n",
     "renormalised", "divided by the sum of alpha"),
    ("6.7", SHARES, "3 * sum((p == x).sum() > 1 for x in p) >= len(p)",
     "counts-first", "pattern(weights="),
    ("6.7", "    p = weights.argmax(1)\n    if 3",
     "    p = weights.argmax(1)\n    if len(p) == 8:\n        return 1\n    if 3",
     "pattern", "pattern(weights="),
    ("6.4", "/ np.sqrt(Q.shape[1])", "/ np.sqrt(block)", "scaled-by-block", "sqrt(2)"),
    ("6.4", "z @ V / z.sum(axis=-1, keepdims=True)",
     "z / z.sum(axis=0, keepdims=True) @ V", "wrong-axis", "the queries of a block"),
    ("6.4", "math.isqrt(memory // np.dtype(dtype).itemsize)",
     "math.isqrt(memory) // np.dtype(dtype).itemsize", "root-first", "itemsize"),
    ("6.4", "return heads * T * T", "return 2 * heads * T * T",
     "unknown", "found     8000000"),
    ("6.3", "return T * d\n", "return 2 * T * d\n", "twice", "or the average"),
    ("6.3", "+ T * d_a\n", "+ d_a\n", "v-once", "one product with v"),
    ("6.9", "_ngrams(ref, n), _ngrams(hyp, n)",
     "_ngrams(sum(refs, []), n), _ngrams(hyp, n)",
     "all-references", "n-grams of all references"),
    ("6.6", """    for _ in range(repeats):
        begun = clock()
""", """    begun = clock()
    for _ in range(repeats):
""", "one-reading", "since the first reading"),
    ("E.12", "nb = num_buckets // 2 if bidirectional else num_buckets", "nb = 16",
     "unknown", ""),
]  # fmt: skip
UNNAMED = [
    ("6.9", "right / said).mean()", "(right + 1) / (said + 1)).mean()",
     "smoothed", "+ 1"),
    ("6.9", "math.exp(np.log(right / said).mean())",
     "math.exp(np.log(right / said).sum() / 4)", "fourth-root", "fourth root"),
    ("6.9", "return output @ p[\"W_o\"].T + p[\"b_o\"], new",
     "return mg.softmax(output @ p[\"W_o\"].T + p[\"b_o\"]), new",
     "softmax-taken", "the softmax of expected"),
    ("6.9", "return output @ p[\"W_o\"].T + p[\"b_o\"], new",
     "return output @ p[\"W_o\"].T, new", "no-bias", "without b_o"),
    ("38.4", "unseen.target_lengths", "unseen.lengths",
     "without-eos", "without EOS"),
    ("38.4", "model, optimizer, batches[i]))", "model, optimizer, batches[i + 1]))",
     "batch-after", "batches[i + 1]"),
    ("38.4", "losses.append(training_step(model, optimizer, batches[i]))",
     "optimizer = optim.Adam(list(model.parameters()), lr=RATE)\n"
     "        losses.append(training_step(model, optimizer, batches[i]))",
     "new-optimizer", "a new Adam"),
    ("E.9", "np.exp(-2 * distance**2 / D**2)",
     "np.exp(-0.5 * distance**2 / (D // 2) ** 2)", "sigma", "sigma = D // 2"),
    ("E.9", "np.exp(-2 * distance**2 / D**2)", "np.exp(-(distance**2) / D)",
     "sigma", "/ (2 sigma)"),
    ("E.14", "s - lse[:, None]", "s - s.max(1, keepdims=True)",
     "max-for-lse", "the maximum"),
    ("E.14", "seen = seen | (columns <= rows)",
     "seen = seen | np.tril(np.ones(seen.shape, bool))",
     "tile-positions", "inside each tile"),
    ("6.3", "T * d_a * d_h\n    return", "d_a * d_h\n    return",
     "one-key", "W_h h_j for one state"),
]  # fmt: skip
WRONG = [
    *CALLS, *COUNTS, *VARIANCES, *ENTROPIES, *WINDOWS, *STEPS, *PROOFS, *RESULTS,
    *WEIGHTS, *BACKWARDS, *MEASURES, *ACCEPTED, *MISNAMED, *UNNAMED,
]  # fmt: skip

"""Mistakes that learners made in 38.1 to 38.6 and 6.1 to 6.10, as in learners.py."""

MULTS = "B * (projected * d_s * d_h + T_q * T_k * d_s)"
COUNTS = [
    ("38.1", "projected = T_k if", "projected = T_q if",
     "widths", "T_q in the place of T_k"),
    ("38.1", MULTS, "B * T_k * d_s * d_h * T_q * T_k * d_s",
     "product", "the product of both numbers"),
    ("38.1", MULTS, MULTS.replace("(proj", "(2 * proj"), "additions", "additions"),
    ("38.1", MULTS, f"{MULTS} + 0.5", "float", "expected an int found 120.5, a float"),
    ("38.1", "d_s * d_h +", "d_h * d_h +", "widths", "d_h in the place of d_s"),
    ("38.1", "s @ project_keys(h[None, :], W_g)[0]", "s @ (h @ W_g.T)",
     "arrives-elsewhere", "found none"),
]  # fmt: skip
VARIANCES = [
    ("38.2", "x.mean(axis=-1, keepdims=True)", "x.mean(axis=-1)",
     "no-keepdims", "(3, 5) without axis 1"),
]  # fmt: skip
ENTROPIES = [
    ("38.3", "e = _scores(T, d, samples, rng)",
     "e = _scores(T, d, samples, np.random.default_rng(0))", "own-generator", "rng"),
]  # fmt: skip
LINK = "masked_softmax(e, mask=allowed)"
ROOT = "/ K.shape[-1] ** 0.5"
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
    ("38.5", LINK, "masked_softmax(e, allowed)", "raises", "is passed as mask="),
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
    ("38.1", "s @ (W_g @ h), ", "h @ (s @ W_g), ", "no-step", "s^T W_g as a factor"),
    ("38.1", "s @ (W_g @ h), ", "project_keys(h[None, :], W_g)[0] @ s, ",
     "no-step", "s^T W_g as a factor"),
    ("38.1", "(s @ W_g) @ h, ", "(W_g @ h) @ s, ", "starts-elsewhere", "15 products"),
    ("38.6", '@ ((h1 + h3) / 2), "', '@ h1 / 2 + s @ W_g @ h3 / 2, "',
     "starts-elsewhere", "products of their own"),
    ("38.6", '@ ((h1 + h3) / 2), "', '@ (h1 + h3) * 0.5, "',
     "starts-elsewhere", "outside the product"),
]  # fmt: skip
RESULTS = [
    ("38.3", '"s--", label="unscaled"', '"s--", label="e"', "unlabelled", "found 'e'"),
    ("38.3", 'ax.semilogx(ds, scaled, "o-", label="scaled")\n'
     '    ax.semilogx(ds, unscaled, "s--", label="unscaled")',
     'ax.semilogx(ds, scaled, "o-")\n    ax.semilogx(ds, unscaled, "s--")\n'
     '    ax.legend = lambda: type(ax).legend(ax, ["unscaled", "scaled"])',
     "exchanged", "found 'unscaled'"),
    ("38.3", "ax.legend()", 'ax.legend(["unscaled", "scaled", "equal weights"])',
     "exchanged", "found 'unscaled'"),
    ("6.7", 'flat.reshape(entry["shape"])', "flat.reshape(-1)",
     "shape", "found float32 (15,)"),
    ("6.7", 'flat.reshape(entry["shape"])', 'flat.reshape(entry["shape"]).astype(float)',
     "dtype", "found float64 (3, 5)"),
    ("6.8", "(cosine(Z) - cosine(X))", "2 * (cosine(Z) - cosine(X))", "scale:2", ""),
    ("38.6", "return W_a, v_a, s", "return v_a, W_a, s", "swapped", "another order"),
    ("38.6", "return -np.eye(1), np.ones(1),", "return np.ones(1), -np.eye(1),",
     "swapped", "another order"),
    ("38.3", "ax.legend()", "ax.legend()\n    ax.set_yscale('log')",
     "logarithmic-entropy", "a linear axis for the entropy"),
]  # fmt: skip
SCORES_6 = "    e = np.where(mask, H @ s, -np.inf)  # (T,)\n"
WEIGHTS = [
    ("6.4", "np.sqrt(Q.shape[1])", "np.sqrt(V.shape[1])", "value-width", "sqrt(5)"),
    ("6.4", "np.sqrt(Q.shape[1])", "np.sqrt(len(Q))", "scaled-by-length", "sqrt(7)"),
    ("6.5", "np.where(mask, e, -np.inf)", "np.where(mask, e, -1.0)",
     "mask-leak", "-1 where masked"),
    ("6.6", SCORES_6, "    e = (H @ s) * mask\n", "mask-leak", "0 where masked"),
    ("6.6", SCORES_6, "    e = np.where(mask, H @ s, -1.0)\n",
     "mask-leak", "-1 where masked"),
    ("6.6", "alpha = z / z.sum()", "alpha = z", "not-normalised", "not divided"),
    ("6.9", "masked_softmax(e, mask=mask)", "masked_softmax(e) * mask",
     "mask-after", "times the mask"),
    ("6.9", "masked_softmax(e, mask=mask)", "masked_softmax(e * mask)",
     "mask-leak", "0 where masked"),
    ("6.9", 's @ p["W_s"].T', '0 * s @ p["W_s"].T', "ignores-query", "W_h h_j"),
    ("6.9", 'mg.tanh(H @ p["W_h"].T + query[:, None])',
     '(H @ p["W_h"].T + query[:, None])', "no-tanh", "without tanh"),
    ("6.9", "mg.concat([new, c], axis=-1)", "mg.concat([c, new], axis=-1)",
     "parts-exchanged", "[c; s']"),
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
    ("6.9", "min(1.0, math.exp(1 - r / c))", "math.exp(1 - r / c)",
     "brevity-above-1", "c > r"),
]  # fmt: skip
CALLS = [
    ("6.1", "np.outer(alpha, g)", "np.outer(g, alpha)",
     "transpose", "context_backward: returned shape (5, 7)"),
    ("6.5", "d_query @ W_s", "-d_query @ W_s", "scale:-1", "bahdanau_backward(s="),
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
    ("6.6", "  # all drawn before", "; W_s, W_h, v = W_s[:16], W_h[:16], v[:16]  #",
     "widths", "found W_s (16, 67)"),
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
    ("6.7", SHARES, "3 * sum((p == x).sum() > 1 for x in p) >= len(p)",
     "counts-first", "pattern(weights="),
    ("6.7", "    p = weights.argmax(1)\n    if 3",
     "    p = weights.argmax(1)\n    if len(p) == 8:\n        return 1\n    if 3",
     "pattern", "pattern(weights="),
    ("6.4", "return heads * T * T", "return 2 * heads * T * T",
     "twice", "the scores twice"),
    ("6.3", "return T * d\n", "return 2 * T * d\n", "twice", "or the average"),
    ("6.3", "+ T * d_a\n", "+ d_a\n", "no-factor", "factor T in the products with v"),
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
    ("E.14", "s - lse[:, None]", "s - s.max(1, keepdims=True)",
     "max-for-lse", "the maximum"),
    ("E.14", "seen = seen | (columns <= rows)",
     "seen = seen | np.tril(np.ones(seen.shape, bool))",
     "tile-positions", "inside each tile"),
    ("6.3", "T * d_a * d_h\n    return", "d_a * d_h\n    return",
     "no-factor", "the factor T in W_h h_j"),
]  # fmt: skip
STEP = "    optimizer.step()\n    return"
CLIPPED = "    optim.clip_grad_norm_(list(model.parameters()), CLIP)\n"
COUNTED = [
    ("6.3", "+ T * d_a\n", "+ 2 * T * d_a\n", "extra-term", "with tanh as well"),
    ("6.3", "+ T * d_a\n", "+ T * d_h\n", "widths", "d_h in the place of d_a"),
    ("6.3", "return T * d\n", "return T * (2 * d - 1)\n", "sums", "with the sums"),
    ("6.3", "return T * d\n", "return T + d\n", "sum-of-sizes", "T + d for"),
    ("6.3", "return T * d\n", "return T * d * d\n", "extra-factor", "a factor d too"),
    ("6.3", "return T * d_a  #", "return d_a  #", "no-factor", "the factor T in tanh"),
    ("6.3", "        return T\n", "        return d + 2 * T * d + T\n",
     "one-score", "the additive score"),
    ("6.3", "return d + T * d + T", "return T * d + T", "no-term", "without W_s s"),
    ("6.3", "return d + T * d + T", "return d * d + 2 * T * d + T  #",
     "extra-factor", "a factor d too many in W_s s"),
]  # fmt: skip
TRAINED = [
    ("38.4", "    optimizer.zero_grad()\n    loss.backward()\n",
     "    loss.backward()\n    optimizer.zero_grad()\n",
     "does-not-move", "does not move"),
    ("38.4", "batch.target_in, batch.lengths)\n    loss", "batch.target_in)\n    loss",
     "no-lengths", "padding of the source"),
    ("38.4", "return H[real].mean()", "return H.sum() / real.sum()",
     "counts-padding", "the number of real ones"),
    ("38.4", CLIPPED, "    for p in model.parameters():\n"
     "        optim.clip_grad_norm_([p], CLIP)\n", "clipped-apart", "parameter alone"),
    ("38.4", "batch.source, batch.target_in", "batch.source, batch.target_out",
     "target-shown", "reads target_out"),
    ("38.4", STEP, f"    optimizer.step()\n{STEP}", "step-twice", "two optimizer.step"),
    ("38.4", ", lr=RATE", "", "rate", '"loss" of train('),
    ("38.4", "optim.Adam(", "optim.SGD(", "no-adam", "(at step 1)"),
    ("38.4", "_model(kind, d, seed),", "_model(kind, d, 0),",
     "seed", "model with seed 0"),
    ("38.4", ", _batches(seed)", ", _batches(0)", "seed", "the batches of seed 0"),
    ("38.4", "_weights(model, unseen), unseen.target",
     "_weights(model, batches[i]), batches[i].target", "seen", '"entropy" of train('),
    ("38.4", "np.arange(H.shape[1]) <", "np.arange(H.shape[1]) <=",
     "off-by-one", "t <= lengths"),
    ("38.4", "    H = -(", "    alpha = alpha * (np.arange(alpha.shape[2]) <\n"
     "                     lengths[:, None])[:, None]\n"
     "    lengths = np.full(len(alpha), alpha.shape[1])\n    H = -(",
     "source-axis", "keys s < lengths"),
]  # fmt: skip
SCORED = [
    ("38.1", "T_k if precomputed", "T_k if not precomputed", "inverted", "for False"),
    ("38.3", "    log_Z = np.log(T) + np.log(np.sinh(a) / a)\n"
     "    mean_score = a / np.tanh(a) - 1\n",
     "    z = np.exp(x := np.linspace(-a, a, 1000))\n"
     "    log_Z, mean_score = np.log(T * z.mean()), (x * z).sum() / z.sum()\n",
     "grid", "a sum over a grid"),
    ("6.1", "np.exp(e - e.max())", "e", "no-exponential", "e divided by its sum"),
    ("6.1", "np.exp(e - e.max())", "2 ** (e - e.max())",
     "scaled-scores", "softmax of 0.693147 e"),
    ("6.10", "keepdims=True)) / tau)", "keepdims=True)) / tau**0.5)",
     "scaled-scores", "expected that of"),
    ("6.2", "    W = np.empty((d_s, d_h))\n    for i, s in enumerate(np.eye(d_s)):\n"
     "        for k, h in enumerate(np.eye(d_h)):",
     "    W = np.zeros((d_s, d_h))\n    for i, s in enumerate(np.eye(d_s)):\n"
     "        for k, h in enumerate(np.eye(d_h)[:d_s]):",
     "not-filled", "0 in 6 of 15 entries"),
    ("6.8", "return alpha, alpha @ X", "return alpha, X + alpha @ X",
     "adds-input", "expected + X"),
    ("6.9", "min(k, theirs[gram]) for gram, k in ours.items()",
     "gram in theirs for gram in ours", "clipped-at-one", "equal n-grams once"),
    ("6.9", "min(1.0, math.exp(1 - r / c))", "1 if c >= r else math.exp(1 - c / r)",
     "brevity-inverted", "if c < r"),
    ("6.9", "bucket_by_length(sources, bounds)", "bucket_by_length(hyps, bounds)",
     "by-translation", "length of the translation"),
    ("6.9", 'p["b_ih"], p["b_hh"]', 'p["b_hh"], p["b_ih"]',
     "exchanged", "b_ih and b_hh exchanged"),
    ("6.4", "heads * T * T * np", "heads * T * (T + 1) // 2 * np",
     "triangle", "T (T + 1) / 2"),
    ("6.4", "heads * T * T * np", "(heads * T * T + T * d_model) * np",
     "extra-term", "with the values as well"),
    ("6.4", "heads * T * T * np", "T * T * (d_model // heads) * np",
     "times-width", "d_model / heads for heads"),
    ("6.4", "heads * T * T * np", "heads * T * d_model * np", "states", "* heads"),
    ("6.5", "np.where(mask, e, -np.inf)", "np.where(mask, e, -10.0)",
     "mask-leak", "-10 where masked"),
    ("6.6", "float(np.median(seconds))", "float(1e3 * np.median(seconds))",
     "unit", "in milliseconds"),
    ("38.1", "T_q * T_k * d_s)", "T_q * T_k * d_h)", "widths", "the dot products"),
    ("E.11", "    # END SOLUTION\n\n    def backward",
     "    y = np.concatenate([y[..., 0::2], y[..., 1::2]], -1)\n\n    def backward",
     "permuted", "in the order 0, 2, 4"),
    ("E.13", "        S += np.outer(k[i], v[i])\n        y[i] = q[i] @ S",
     "        S += np.outer(q[i], v[i])\n        y[i] = k[i] @ S",
     "exchanged", "q and k exchanged"),
    ("E.13", "R += np.outer(q[j], g[j])", "R += np.outer(k[j], g[j])",
     "exchanged", "yours equals the gradient with k in the place of q"),
    ("E.13", "dc = -(g * o)", "dc = -(g * y)", "denominator-squared", "c for c^2"),
    ("E.13", "o = y / c", "o = y / c.sum()", "sum-over-everything", "of all c"),
    ("E.14", "np.where(seen, np.exp(np.where(seen, s - lse[:, None], 0.0)), 0.0)",
     "np.exp(np.where(seen, s, 0.0) - lse[:, None])", "mask-leak", "scores of 0"),
    ("E.14", """            if causal and b > i.stop - 1:
                break  # all later keys come after every query
            rows, columns = np.ogrid[i, j]
""", """            rows, columns = np.ogrid[: i.stop - a, : j.stop - b]
""", "tile-positions", "of all tiles"),
    ("E.14", """            if causal and b > i.stop - 1:
                break  # all later keys come after every query
            rows, columns = np.ogrid[i, j]
            seen = np.broadcast_to(not causal, (len(rows), columns.size))
            seen = seen | (columns <= rows)
""", """            rows, columns = np.ogrid[i, j]
            seen = (columns >= rows) | (not causal)
            if not seen.any():
                continue
""", "flipped", "of all tiles"),
]  # fmt: skip
ALPHA_5 = '"alpha": d_alpha,'
LOOP = "    for start in range"
MAXIMA = "{(t, int(s)) for t, s in enumerate(weights.argmax(1))}"
AER = "1 - 2 * len(found & gold) / (len(found) + len(gold))"
FIVE = "(0.1, 0.5, 1.0, 2.0, 5.0)"
PASSED_6 = [  # once accepted
    ("6.4", LOOP, f"    block = 32\n{LOOP}", "ignores-block", "``block``"),
    ("6.4", LOOP, f"    block = 1\n{LOOP}", "ignores-block", "64 blocks"),
    ("6.5", ALPHA_5, '"alpha": d_alpha * (1 + 1e-6),', "epsilon", "d_alpha"),
    ("6.5", ALPHA_5, '"alpha": (H @ (g + 1e-5 * g) - H @ (g - 1e-5 * g)) / 2e-5,',
     "differences", "d_alpha with 12 digits"),
    ("6.5", '"e": d_e,', '"e": d_e.astype("f4").astype(float),', "float32", "d_e with"),
    ("6.6", "mask = np.ones(T, bool)", "mask = np.arange(T) < T // 2",
     "masked", "2 of 5 entries True"),
    ("6.6", "mask = np.ones(T, bool)", "mask = np.ones(T)", "masked", "bool"),
    ("6.6", "rng.normal(size=(2, d, d))", "rng.normal(size=(2, d, d)) / d**0.5",
     "not-normal", "(67, 67) of mean"),
    ("6.7", MAXIMA, MAXIMA.replace("weights.argmax(1)", "weights > 0.3")
     .replace("(t, int(s)) for t, s in enumerate(",
              "(int(t), int(s)) for t, s in np.argwhere("), "threshold", "above one"),
    ("6.7", MAXIMA, "{(int(t), int(s)) for t, s in np.argwhere(weights > "
     "weights.mean())}", "threshold", "above one number"),
    ("6.8", '"weights", "cosines of X", "cosines of Z"',
     '"weights", "cosine", "Cosine"', "same-title", "another title"),
    ("6.8", '"weights", "cosines of X", "cosines of Z"',
     '"cosines of X", "weights", "cosines of Z"', "images-exchanged", "of the weights"),
    ("6.10", "zip(maps, taus, weights)", f"zip(maps, {FIVE}, weights)",
     "no-title", "expected 0.2"),
    ("6.10", "last.plot(taus, H,", f"last.plot({FIVE}, H,", "curves", "mean entropy"),
]  # fmt: skip
RENAMED_6 = [  # once under another name
    ("6.4", "        out[start",
     "        if start:\n            break\n        out[start",
     "early-return", "2 rows right"),
    ("6.6", "return time.perf_counter\n", "return time\n", "a-reading", "module"),
    ("6.6", "float(np.median(seconds))", "float(seconds[-1])",
     "last-call", "last call"),
    ("6.6", "rng.normal(size=(T, d))", "np.ones((T, d))", "not-normal", "deviation 0"),
    ("6.6", "ax.loglog(Ts, row,", "ax.loglog(row, Ts,",
     "axes-exchanged", "axes exchanged"),
    ("6.7", MAXIMA, "{(int(t), int(s)) for t, s in np.argwhere(weights > 0.4)}",
     "threshold", "above one number"),
    ("6.7", "said, rows, last = [], [], SOS", "said, rows, last = [], [], PAD",
     "first-word", "found [8"),
    ("6.9", "range(1, order + 1)", "range(1, order)", "zero", "yours equals 0"),
    ("6.9", "    right, said = np.zeros(order)",
     "    order = max(order - 1, 1)\n    right, said = np.zeros(order)",
     "orders", "the orders [1] alone"),
    ("6.9", "right[n - 1] += sum", "right[n - 1] = sum", "not-added", "last sentence"),
    ("6.9", "i for i, n in", "i + 1 for i, n in", "off-by-one", "expected {(5, 7)"),
    ("6.9", "return unseen, test", "return test, unseen", "swapped", "(train, test)"),
    ("6.10", "variance / tau**3", "2 * variance / tau**3", "scale:2", "2 x"),
    ("6.6", "np.median(seconds)", "np.percentile(seconds, 25)", "not-median", "quartile"),
    ("6.7", "if last == EOS:", "if last == PAD:", "eos-written", "expected [5, 4, 7"),
    ("6.7", 'flat.reshape(entry["shape"])', 'flat.reshape(entry["shape"], order="F")',
     "order", "expected in a"),
    ("6.7", "    return arrays\n", "        return arrays\n", "early-return", "found ['a']"),
]  # fmt: skip
NAMED_6 = [  # once without a name
    ("6.2", "return np.eye(d)", "return np.tri(d)", "off-diagonal", "(1, 0)"),
    ("6.3", "return T * d_a  #", "return T * (d_a + 1)  #", "extra-term", "+ T"),
    ("6.3", "    return T * d\n", "    return T * T\n", "other-size", "T T"),
    ("6.3", "before + L * mults", "before + (L - 1) * mults", "off-by-one", "L - 1"),
    ("6.4", "q @ K.T /", "-q @ K.T /", "sign", "softmax of -e"),
    ("6.5", "softmax_backward(d_alpha)", "alpha * (d_alpha - d_alpha.mean())",
     "mean-of-g", "mean(g)"),
    ("6.7", AER, "1 - 2 * len(found & gold) / len(found) + len(gold)",
     "parentheses", "+ |gold|"),
    ("6.7", "len(said) < max_length", "True", "endless", "100 steps"),
    ("6.7", "np.diff(p) < 0", "np.diff(p) < -1", "far-back", "p = (0, 1, 3, 2, 4)"),
    ("6.9", "min(k, theirs[gram])", "theirs[gram]",
     "theirs", "as the reference has it"),
    ("6.9", "bleu([refs[i] for i in rows], [hyps[i] for i in rows])",
     "bleu([hyps[i] for i in rows], [refs[i] for i in rows])",
     "exchanged", "refs and hyps"),
    ("6.9", "(alpha[:, :, None] * H).sum(1)", "H[:, -1]", "last-state", "last state"),
    ("6.3", "return T * d_a  #", "return T * (d_a - 1)  #", "off-by-one", "d_a - 1"),
    ("6.6", "return alpha @ H, alpha", "return alpha @ H, e", "no-softmax", "s . h_j"),
]  # fmt: skip
WRONG = [
    *PASSED_6, *RENAMED_6, *NAMED_6,
    *CALLS, *COUNTS, *VARIANCES, *ENTROPIES, *WINDOWS, *STEPS, *PROOFS, *RESULTS,
    *WEIGHTS, *MEASURES, *ACCEPTED, *MISNAMED, *UNNAMED,
    *COUNTED, *TRAINED, *SCORED,
]  # fmt: skip

"""Check an answer to E.10."""

import numpy as np

import minigrad as mg
from lessons.checks.attending import wrong_scales
from lessons.checks.measure import has_all_digits
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.checking import hypotheses
from lessons.classroom.steps import edges, gradients, laws, numbers, shape, values

H, L, S, E = 2, 5, 7, 3
D = H * E
NAMES = "X", "Y", "W_q", "W_k", "W_v", "W_o"


def draw(rng, L=L, S=S):
    weights = [rng.normal(size=(D, D)) / 2 for _ in range(4)]
    return [rng.normal(size=(L, D)), rng.normal(size=(S, D)), *weights]


def by_engine(X, keys_of, values_of, W_q, W_k, W_v, H, g=None):
    """Return O (L, D), head by head; with g = dL/dO the gradients of all six."""
    inputs = [
        mg.Tensor(np.array(x), requires_grad=True)
        for x in (X, keys_of, values_of, W_q, W_k, W_v)
    ]
    x, y1, y2, w_q, w_k, w_v = inputs
    heads, E = [], D // H
    for h in range(H):
        of = slice(h * E, (h + 1) * E)
        q, k, v = x @ w_q[of].T, y1 @ w_k[of].T, y2 @ w_v[of].T
        heads.append(mg.softmax(q @ k.T / E**0.5) @ v)
    O = mg.concat(heads, 1)  # noqa: E741
    if g is None:
        return np.array(O.data)
    O.backward(g)
    return [np.array(each.grad) for each in inputs]


def by_heads(X, Y, W_q, W_k, W_v, H, dO):
    """Return dq, dk and dv of all heads side by side, from dO (L, D), head by head."""
    found, E = [], D // H
    for of in (slice(h * E, (h + 1) * E) for h in range(H)):
        q, k, v, g = X @ W_q[of].T, Y @ W_k[of].T, Y @ W_v[of].T, dO[:, of]
        z = np.exp(q @ k.T / E**0.5)
        p = z / z.sum(1, keepdims=True)
        dp = g @ v.T
        ds = np.array([(np.diag(a) - np.outer(a, a)) @ d for a, d in zip(p, dp)])
        found.append((ds @ k / E**0.5, ds.T @ q / E**0.5, p.T @ g))
    return [np.concatenate(d, 1) for d in zip(*found)]


def by_columns(x, heads):
    width = x.shape[1] // heads
    return np.array([x[:, h * width : (h + 1) * width] for h in range(heads)])


def wrong_splits(x, heads):
    n, width = x.shape
    return [
        (
            "heads-mixed",
            "the entries divided into heads row after row",
            x.reshape(heads, n, width // heads),
        ),
        (
            "interleaved",
            "every H-th entry, from entry h on",
            np.array([x[:, h::heads] for h in range(heads)]),
        ),
        (
            "one-head",
            "head 0 in the place of every head",
            np.repeat(by_columns(x, heads)[:1], heads, 0),
        ),
    ]


def wrong_joins(heads):
    """Return wrong results of join: (tag, what, array)."""
    n, width = heads.shape[1], heads.shape[0] * heads.shape[2]
    text = "the entries in memory order, divided into rows"
    return [
        ("join", text, heads.reshape(n, width)),
        (
            "interleaved",
            "entry 0 of every head, then entry 1 of every head, …",
            heads.transpose(1, 2, 0).reshape(n, width),
        ),
        (
            "one-head",
            "head 0 in the place of every head",
            np.tile(heads[0], len(heads)),
        ),
    ]


@shape("heads, and a gradient for each input")
def for_each(my, rng):
    x = rng.normal(size=(5, 21))
    my.shape(my.split(x, 3), (3, 5, 7), "HnE")
    my.shape(my.join(rng.normal(size=(3, 5, 7))), (5, 21), "nD")


@numbers("two heads of 0, 1, 2, 3 and 4, 5, 6, 7")
def two_heads(my, rng):
    x = np.arange(8.0).reshape(2, 4)
    want = [[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0], [6.0, 7.0]]]
    my.equal(my.split(x, 2), want, "HnE", wrong_splits(x, 2))
    my.equal(my.join(np.array(want)), x, "nD", wrong_joins(np.array(want)))


@values("split, join and the output")
def the_output(my, rng):
    for size in ((5, 21), (3, 9)):  # also as many rows as heads, and as entries
        x = rng.normal(size=size)
        want = by_columns(x, 3)
        my.equal(my.split(x, 3), want, "HnE", wrong_splits(x, 3))
        my.equal(my.join(want), x, "nD", wrong_joins(want))
    X, Y, *weights, W_o = draw(rng)
    O = by_engine(X, Y, Y, *weights, H)  # noqa: E741
    scales = wrong_scales(E, S, L, E)
    scales += [("model-width", "scores / sqrt(D), the width of all heads", H**-0.5)]
    wrong = [
        (tag, f"the output with {what}",
         by_engine(X, Y, Y, k * weights[0], *weights[1:], H) @ W_o.T)
        for tag, what, k in scales
    ]  # fmt: skip
    my.equal(my.multihead(X, Y, *weights, W_o, H)[0], O @ W_o.T, "LD", wrong)


@gradients("of a head")
def of_a_head(my, rng):
    compare_head(my, rng, *(rng.normal(size=(2, n, 5)) for n in (3, 7, 7)))
    digits_of_head(my, rng, *rng.normal(size=(3, 5, 5, 5)))  # all sizes are equal


def compare_head(my, rng, q, k, v):
    """Fail unless dq, dk and dv are right."""
    p = _weights(q, k)

    def from_scores(number, place):
        """Return a function of g: dq or dk from the wrong ds of this number."""

        def gradient(g):
            wrong = hypotheses.wrong_softmax_gradients(p, g @ v.swapaxes(1, 2))
            ds = wrong[number][2] / 5**0.5
            return ds.swapaxes(1, 2) @ q if place else ds @ k

        return gradient

    def with_dp_of(x, place):
        def gradient(g):
            dp = g @ x.swapaxes(1, 2)
            ds = p * (dp - (p * dp).sum(-1, keepdims=True)) / 5**0.5
            return ds.swapaxes(1, 2) @ q if place else ds @ k

        return gradient

    def with_one_head(place):
        def gradient(g):
            dp = g @ v.swapaxes(1, 2)
            ds = p[:1] * (dp - (p[:1] * dp).sum(-1, keepdims=True)) / 5**0.5
            return (ds @ k, ds.swapaxes(1, 2) @ q, p[:1].swapaxes(1, 2) @ g)[place]

        return "one-head", "the gradient with the weights of head 0", gradient

    of_g = hypotheses.wrong_softmax_gradients(p, 0 * p, "p")
    scores = (q @ k.swapaxes(1, 2) / 5**0.5).swapaxes(1, 2)
    text = "the gradient with the scores in place of the weights"
    wrong = {"q": [], "k": [], "v": [("scores-for-p", text, lambda g: scores @ g)]}
    for place, known in enumerate(wrong.values()):
        known.append(with_one_head(place))
        if place < 2:
            text = "the gradient with dp = g k^T for g v^T"
            known.append(("k-for-v", text, with_dp_of(k, place)))
        for number, (tag, text, _) in enumerate(of_g if place < 2 else ()):
            tag = {"softmax-nocentre": "no-centre"}.get(tag, tag)
            text = f"the gradient with ds = {text}, for g = dL/dp"
            known.append((tag, text, from_scores(number, place)))
    my.gradients(my.attention, [q, k, v], variants=wrong)
    digits_of_head(my, rng, q, k, v)


def digits_of_head(my, rng, q, k, v):
    """Fail unless dq, dk and dv have the digits of a formula."""
    o, backward = my.attention(q, k, v)
    g = rng.normal(size=o.shape)
    tensors = [mg.Tensor(x, requires_grad=True) for x in (q, k, v)]
    s = tensors[0] @ tensors[1].swapaxes(1, 2) / q.shape[-1] ** 0.5
    (mg.softmax(s) @ tensors[2]).backward(g)
    for name, found, each in zip(("dq", "dk", "dv"), backward(g), tensors):
        has_all_digits(my, found, each.grad, name)


def _weights(q, k):
    z = np.exp(np.einsum("hle,hse->hls", q, k) / q.shape[-1] ** 0.5)
    return z / z.sum(-1, keepdims=True)


@gradients("of all heads and all weights, with 2 heads and with 3")
def of_all(my, rng):
    for heads in (2, 3):
        compare_all(my, draw(rng), heads, rng.normal(size=(L, D)))
    for n in (5, D):  # X and Y have one shape, and then one shape with the weights
        digits_of_all(my, draw(rng, n, n), H, rng.normal(size=(n, D)))


@gradients("of self-attention: dX and dY stay apart where X is Y")
def of_itself(my, rng):
    X, _, *weights, W_o = draw(rng)
    X.flags.writeable = False  # such an array is passed as it is: X is Y
    g = rng.normal(size=(L, D))
    found = my.multihead(X, X, *weights, W_o, H)[1](g)[:2]
    dX, of_keys, of_values = by_engine(X, X, X, *weights, H, g=g @ W_o)[:3]
    dY = of_keys + of_values
    wrong = [("adds-up", "dX + dY, because X is Y", dX + dY)]
    my.equal(found[0], dX, ("L", "D"), wrong)
    my.equal(found[1], dY, ("S", "D"), wrong)


def compare_all(my, arguments, heads, g):
    """Fail unless all six gradients are right, with the digits of a formula."""
    X, Y, *weights, W_o = arguments

    O = by_engine(X, Y, Y, *weights, heads)  # noqa: E741

    def multihead(X, Y, W_q, W_k, W_v, W_o):
        return my.multihead(X, Y, W_q, W_k, W_v, W_o, heads)

    def of_six(g, turned=False, first_head=False):
        dO = g @ (W_o.T if turned else W_o)
        if first_head:
            dO[:, D // heads :] = 0
        return by_engine(X, Y, Y, *weights, heads, g=dO)

    def one(place, *options):
        def gradient(g):
            found = of_six(g, *options)
            both = [found[0], found[1] + found[2], *found[3:], found[1], found[2]]
            return both[place]

        return gradient

    def with_heads(place, f, dO_of=lambda g: g @ W_o):
        """Return a function of g: f of dq, dk and dv of all heads, side by side."""
        return lambda g: f(*by_heads(X, Y, *weights, heads, dO_of(g)))[place]

    def six(dq, dk, dv):
        W_q, W_k, W_v = weights
        return dq @ W_q, dk @ W_k + dv @ W_v, dq.T @ X, dk.T @ Y, dv.T @ Y

    def first(dq, dk, dv):
        return six(*(np.tile(d[:, : D // heads], heads) for d in (dq, dk, dv)))

    def mixed(g):
        return np.concatenate([*(g @ W_o).reshape(heads, L, D // heads)], 1)

    turned = ("W_o-turned", "the gradient with g W_o^T for g W_o")
    alone = ("one-head", "the gradient through head 0 alone")
    repeated = ("one-head", "the gradient with that of head 0 for every head")
    text = "the gradient with g W_o, divided into heads row after row"
    wrong = {
        name: [
            (*turned, one(k, True)),
            (*alone, one(k, False, True)),
            (*repeated, with_heads(k, first)),
            ("heads-mixed", text, with_heads(k, six, mixed)),
            ("no-W_o", "the gradient with g for g W_o", with_heads(k, six, np.array)),
        ]
        for k, name in enumerate(NAMES[:5])
    }
    W_q, W_k, W_v = weights
    for k, what, f in (
        (0, "W_q^T for W_q", lambda dq, dk, dv: dq @ W_q.T),
        (1, "W_k^T for W_k", lambda dq, dk, dv: dk @ W_k.T + dv @ W_v),
        (1, "W_v^T for W_v", lambda dq, dk, dv: dk @ W_k + dv @ W_v.T),
        (1, "W_k^T and W_v^T", lambda dq, dk, dv: dk @ W_k.T + dv @ W_v.T),
        (1, "W_v for W_k, W_k for W_v", lambda dq, dk, dv: dk @ W_v + dv @ W_k),
        (0, "W_k for W_q", lambda dq, dk, dv: dq @ W_k),
        (1, "- dv W_v for + dv W_v", lambda dq, dk, dv: dk @ W_k - dv @ W_v),
        (0, "dQ alone, without W_q", lambda dq, dk, dv: dq),
        (1, "dK + dV, without W_k and W_v", lambda dq, dk, dv: dk + dv),
    ):
        tag = "weight-turned" if "^T" in what else "exchanged"
        tag = "weight-skipped" if "without" in what else tag
        tag = "minus" if what.startswith("-") else tag
        gradient = with_heads(slice(None), f)
        wrong[NAMES[k]].append((tag, f"the gradient with {what}", gradient))
    inputs = "g^T X, with the input X for the output O of the heads"
    wrong["W_o"] = [
        ("wrong-input", inputs, lambda g: g.T @ X),
        ("wrong-input", "g^T Z, with Z = O W_o^T for O", lambda g: g.T @ O @ W_o.T),
        ("wrong-input", "(g W_o)^T O, with g W_o for g", lambda g: (g @ W_o).T @ O),
    ]
    wrong["Y"] += [
        ("one-use", "the gradient through the keys alone", one(5)),
        ("one-use", "the gradient through the values alone", one(6)),
    ]
    my.gradients(multihead, arguments, NAMES, variants=wrong)
    digits_of_all(my, arguments, heads, g)


def digits_of_all(my, arguments, heads, g):
    """Fail unless all six gradients have the digits of a formula."""
    X, Y, *weights, W_o = arguments
    dX, of_keys, of_values, *others = by_engine(X, Y, Y, *weights, heads, g=g @ W_o)
    dW_o = g.T @ by_engine(X, Y, Y, *weights, heads)
    right = [dX, of_keys + of_values, *others, dW_o]
    dq, dk, dv = by_heads(X, Y, *weights, heads, g @ W_o)
    known = {"W_q": ("Y for X", dq, Y), "W_k": ("X for Y", dk, X)}
    known["W_v"] = "X for Y", dv, X
    found = my.multihead(*arguments, heads)[1](g)
    for name, each, want in zip(NAMES, found, right, strict=True):
        wrong = []
        if name in known and len(X) == len(Y):
            text, d, other = known[name]
            text = f"the gradient of {name} with {text}"
            wrong = [("exchanged", text, d.T @ other)]
        my.equal(each, want, None, wrong, rtol=1e-5, atol=1e-6)
        has_all_digits(my, each, want, f"d{name}")


@laws("heads are independent of each other")
def independent(my, rng):
    q, k, v = (rng.normal(size=(3, n, 5)) for n in (2, 7, 7))
    o, backward = my.attention(q, k, v)
    g = np.zeros_like(o)
    g[1] = rng.normal(size=o[1].shape)
    for name, found in zip(("dq", "dk", "dv"), backward(g)):
        others = np.abs(found[[0, 2]]).max()
        my.holds(
            others == 0,
            "heads-coupled",
            f"expected {name} = 0 for the heads 0 and 2, as g is 0 there",
            f"found up to {others:.3g}",
        )


@edges("one head, one key, and as many heads as entries")
def few(my, rng):
    x = rng.normal(size=(5, 6))
    my.equal(my.split(x, 1), x[None], "HnE")
    my.equal(my.split(x, 6), x.T[:, :, None], "HnE")
    q, k, v = (rng.normal(size=(2, n, 5)) for n in (3, 1, 1))
    o, backward = my.attention(q, k, v)
    g = rng.normal(size=o.shape)
    dq, dk, dv = backward(g)
    my.equal(dv, g.sum(1, keepdims=True), "HSE")
    largest = max(np.abs(dq).max(), np.abs(dk).max())
    my.holds(
        largest < 1e-12,
        "no-centre",
        "expected dq = dk = 0: a single key has the weight 1 for any score",
        f"found up to {largest:.3g}",
    )


HINTS = {
    "weight-turned": [
        "Q = X W_q^T. Write dX with indices: over which index of W_q is the sum?",
    ],
    "minus": ["Y has two uses: what happens to the gradients of two uses?"],
    "k-for-v": ["o = p v: what is the gradient of p?"],
    "scores-for-p": ["o = p v: which factor has v?"],
    "weight-skipped": ["Q = X W_q^T: what is dQ/dX?"],
    "no-W_o": ["Z = O W_o^T: what is dZ/dO?"],
    "wrong-input": ["Which array does W_o multiply?"],
    "split": [
        "Number the entries of two rows, and write down which of them head 0 has.",
    ],
    "attention": [
        "o is a product, p a softmax, s a product. Which gradient does each step need?",
    ],
    "multihead": [
        "From Z back: W_o, the heads, the three projections; Y is used twice.",
    ],
    "one-head": ["Each head has its own entries, weights and gradients."],
    "": [
        "reshape reads numbers in the order of memory. Which axis can you divide in "
        "two without moving a number, and which axes do you exchange then?",
        "For y = x W^T, the gradient of x is g W and that of W is g^T x. Backwards: "
        "W_o, split, the heads, join, the three projections. In a head: v, p, s, "
        "then q and k, and the scale is a factor of both.",
        "split: (n, H, E), then transpose to (H, n, E); join undoes the two in the "
        "other order. ds = p (dp - sum(p dp) over the keys), dq = scale ds @ k and dk "
        "= scale ds^T @ q. In multihead dO = g @ W_o, split; join dq, dk, dv; dY is "
        "dk @ W_k plus dv @ W_v.",
    ],
    "heads-mixed": [
        "Head 0 has the first E entries of every row. Does yours?",
        "reshape(H, n, E) gives head 0 the first rows, not the first columns.",
    ],
    "heads-coupled": ["Each head has gradients of its own. Which sum runs over all?"],
    "interleaved": ["Head h has the entries h E, …, h E + E - 1, side by side."],
    "join": ["join is the inverse of split: one after the other changes nothing."],
    "no-centre": ["If one score of a row rises, the other weights of the row fall."],
    "W_o-turned": [
        "Z = O W_o^T. Write it with indices: over which index of W_o is the sum with "
        "g?",
    ],
    "model-width": ["q . k of one head is a sum of E terms."],
    "adds-up": [
        "dX is the gradient of X as the queries, dY that of Y as keys and values. "
        "Return both, also if X and Y are the same array.",
    ],
    "differences": [
        "A difference quotient loses digits. Each gradient here has a formula.",
    ],
    "one-use": ["Y is used for the keys and for the values."],
}

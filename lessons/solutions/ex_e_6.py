"""E.6  The GRU cell, backward through time  ●●●●  60 min  needs E.1, E.2

One step of a GRU with the state h before the step and the input x, both with one row
for each example of a batch:

    r  = sigmoid(x W_ir^T + b_ir + h W_hr^T + b_hr)         reset gate
    z  = sigmoid(x W_iz^T + b_iz + h W_hz^T + b_hz)         update gate
    m  = h W_hn^T + b_hn
    n  = tanh(x W_in^T + b_in + r m)                        candidate state
    h' = (1 - z) n + z h

W_ih (3H, I), W_hh (3H, H), b_ih (3H,) and b_hh (3H,) contain the three parts r, z, n in
this order. A step uses the state h four times, and every step uses the same weights:
gradients are sums over all uses.
"""

import numpy as np


def cell(x, h, W_ih, W_hh, b_ih, b_hh):
    """Return h' (B, H) for x (B, I) and h (B, H), and what the backward needs."""
    a = x @ W_ih.T + b_ih  # (B, 3H)
    b = h @ W_hh.T + b_hh
    a_r, a_z, a_n = np.split(a, 3, axis=1)
    b_r, b_z, m = np.split(b, 3, axis=1)
    r, z = 1 / (1 + np.exp(-(a_r + b_r))), 1 / (1 + np.exp(-(a_z + b_z)))
    n = np.tanh(a_n + r * m)
    return (1 - z) * n + z * h, (h, r, z, m, n)


def slopes(dh, h, r, z, m, n):
    """Return the gradients of the sums inside sigmoid and tanh, from dh = dL/dh'.

    ->  da_r, da_z, da_n, dm, direct, each (B, H) like dh. da_n is the gradient of the
        argument of tanh, dm that of m; direct is the part of dL/dh through the product
        z h alone
    """
    # BEGIN SOLUTION
    da_n = dh * (1 - z) * (1 - n * n)
    da_z = dh * (h - n) * z * (1 - z)
    dm = da_n * r
    da_r = da_n * m * r * (1 - r)
    return da_r, da_z, da_n, dm, dh * z
    # END SOLUTION


def gru(xs, h0, W_ih, W_hh, b_ih, b_hh):
    """Run the cell over time: xs (T, B, I), h0 (B, H)  ->  hs (T, B, H), backward.

    backward(g) takes g (T, B, H), a gradient for every state, and returns those of xs,
    h0, W_ih, W_hh, b_ih and b_hh.
    """
    hs, seen, h = [], [], h0
    for x in xs:
        h, kept = cell(x, h, W_ih, W_hh, b_ih, b_hh)
        hs.append(h)
        seen.append(kept)

    def backward(g):
        # BEGIN SOLUTION
        dxs, dh = np.zeros_like(xs), np.zeros_like(h0)
        dW_ih, dW_hh = np.zeros_like(W_ih), np.zeros_like(W_hh)
        db_ih, db_hh = np.zeros_like(b_ih), np.zeros_like(b_hh)
        for t in range(len(xs) - 1, -1, -1):
            dh = dh + g[t]  # from the step after and from the output
            da_r, da_z, da_n, dm, direct = slopes(dh, *seen[t])
            da = np.concatenate([da_r, da_z, da_n], 1)  # (B, 3H)
            db = np.concatenate([da_r, da_z, dm], 1)
            dxs[t] = da @ W_ih
            dW_ih += da.T @ xs[t]
            dW_hh += db.T @ seen[t][0]  # the state before this step
            db_ih += da.sum(0)
            db_hh += db.sum(0)
            dh = direct + db @ W_hh
        return dxs, dh, dW_ih, dW_hh, db_ih, db_hh
        # END SOLUTION

    return np.array(hs), backward


# FOR THE CHECK

WHY = (
    "One step uses the state four times, in both gates, in m and in z h, so its "
    "gradient is a sum of four terms. The gradient of the state moves from the last "
    "step to the first, and every step adds to the gradients of the weights, which all "
    "steps share."
)

HINTS = {
    "h-for-m": ["r multiplies m inside the tanh, not h."],
    "wrong-gate": ["The slope of the sigmoid of z contains z."],
    "slopes": ["h' = (1 - z) n + z h: write its derivative for z, n and h first."],
    "gru": [
        "From the last step to the first: which gradient arrives from the step after, "
        "and which is g?",
    ],
    "": [
        "Begin with slopes: h' = (1 - z) n + z h is a sum of products. What are "
        "dL/dz and dL/dn? Then go through sigmoid and tanh.",
        "The derivative of sigmoid is s (1 - s) and that of tanh 1 - n^2, both from "
        "the output. The product r m passes da_n r to m and da_n m to r. Through "
        "time: go from the last step to the first; at each step add g of that step "
        "to the gradient from the step after.",
        "W_ih receives (da_r, da_z, da_n) side by side, W_hh receives (da_r, da_z, "
        "dm). Both gradients are sums over the steps, of (that).T @ x and (that).T @ "
        "h. The step before receives direct plus (da_r, da_z, dm) @ W_hh.",
    ],
    "reset-forgotten": ["m is multiplied by r, so its gradient is not da_n itself."],
    "block:n": [
        "The third parts differ: x W_in^T is a term of the sum inside tanh, and W_hn "
        "computes m. The two have different gradients.",
    ],
    "gates-exchanged": ["h' = (1 - z) n + z h: does z multiply n or h?"],
    "slope-of-input": [
        "The derivatives of sigmoid and tanh are functions of their outputs r, z and "
        "n.",
    ],
    "no-slope": ["Between a gate and the sum inside it there is a sigmoid or a tanh."],
    "z-sees-h-alone": ["A larger z takes more of h and less of n. Both terms count."],
    "z-sees-n-alone": ["A larger z takes more of h and less of n. Both terms count."],
    "wrong-order": [
        "Which step must be finished before the backward of step t can begin?",
    ],
    "one-step": [
        "The gradient from step t + 1 is missing at step t. Where does dh come from?",
    ],
    "last-output-alone": ["Every state is an output with its own g."],
    "last-step-alone": ["Every step uses the weights."],
    "first-step-alone": [
        "Every step uses the weights. Is the part of the step before overwritten?",
    ],
    "m-forgotten": ["r multiplies m: how much does r m change with r?"],
    "no-direct-path": [
        "h reaches h' in four ways, and one of them contains no weights.",
    ],
    "direct-path-alone": ["h reaches h' through W_hh as well, in all three parts."],
    "state-after": ["Was W_hh multiplied by the old state or by the new one?"],
}

MUTANTS = [
    ("dm = da_n * r", "dm = da_n", "reset-forgotten"),
    ("da_n = dh * (1 - z) *", "da_n = dh * z *", "gates-exchanged"),
    ("(1 - n * n)", "1", "no-slope"),
    ("da_z = dh * (h - n)", "da_z = dh * (n - h)", "scale:-1"),
    ("da_z = dh * (h - n)", "da_z = dh * -n", "z-sees-n-alone"),
    ("da_r = da_n * m * r * (1 - r)", "da_r = da_n * m", "no-slope"),
    ("dh = dh + g[t]", "dh = g[t]", "one-step"),
    ("dh = dh + g[t]", "dh = dh + g[t] * (t == len(xs) - 1)", "last-output-alone"),
    ("db = np.concatenate([da_r, da_z, dm], 1)", "db = da", "block:n"),
    ("dW_hh += db.T @ seen[t][0]", "dW_hh += db.T @ hs[t]", "state-after"),
    ("dW_ih += da.T @ xs[t]", "dW_ih = da.T @ xs[t]", "first-step-alone"),
    ("dh = direct + db @ W_hh", "dh = db @ W_hh", "no-direct-path"),
]

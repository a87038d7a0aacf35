"""E.6  The GRU cell, backward through time  ●●●●  60 min  needs E.1, E.2

One step of a GRU, with the state h before it and the input x (both rows of a batch):

    r  = sigmoid(x W_ir^T + b_ir + h W_hr^T + b_hr)         which of the old to read
    z  = sigmoid(x W_iz^T + b_iz + h W_hz^T + b_hz)         how much of it to keep
    m  = h W_hn^T + b_hn
    n  = tanh(x W_in^T + b_in + r m)                        what could be new
    h' = (1 - z) n + z h

The three parts are stacked, r, z, n, in W_ih (3H, I), W_hh (3H, H), and b_ih and b_hh,
(3H,). The state is used four times within a step, and the weights in every step:
gradients are sums over all uses.
"""

import numpy as np


def cell(x, h, W_ih, W_hh, b_ih, b_hh):
    """h' (B, H) for x (B, I) and h (B, H), and what the backward will need."""
    a = x @ W_ih.T + b_ih  # (B, 3H)
    b = h @ W_hh.T + b_hh
    a_r, a_z, a_n = np.split(a, 3, axis=1)
    b_r, b_z, m = np.split(b, 3, axis=1)
    r, z = 1 / (1 + np.exp(-(a_r + b_r))), 1 / (1 + np.exp(-(a_z + b_z)))
    n = np.tanh(a_n + r * m)
    return (1 - z) * n + z * h, (h, r, z, m, n)


def slopes(dh, h, r, z, m, n):
    """From dh = dL/dh' (B, H): the gradients of the sums inside sigmoid and tanh.

    ->  da_r, da_z, da_n, of which da_n is that of x W_in^T + b_in + r m;  dm, that of
        m;  direct, what reaches h by z h alone, past all gates.  Each (B, H)
    """
    # BEGIN SOLUTION
    da_n = dh * (1 - z) * (1 - n * n)
    da_z = dh * (h - n) * z * (1 - z)
    dm = da_n * r
    da_r = da_n * m * r * (1 - r)
    return da_r, da_z, da_n, dm, dh * z
    # END SOLUTION


def gru(xs, h0, W_ih, W_hh, b_ih, b_hh):
    """Run over time: xs (T, B, I), h0 (B, H)  ->  hs (T, B, H), backward.

    backward(g), g (T, B, H) with a gradient for every state, returns those of xs, h0,
    W_ih, W_hh, b_ih and b_hh.
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
            dh = dh + g[t]  # from the step after, and from the output
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

HINTS = {
    "": [
        "Begin with slopes: h' = (1 - z) n + z h is a sum of products. What is dL/dz, "
        "what is dL/dn, and then, through sigmoid and tanh, what is inside them?",
        "sigmoid has the slope s (1 - s), tanh 1 - n^2, both from the output. r m "
        "hands da_n r to m and da_n m to r. Through time: go from the last step to the "
        "first; at each, add the g of that step to what came back from the step after.",
        "W_ih met (da_r, da_z, da_n), W_hh met (da_r, da_z, dm), side by side; both "
        "gradients are sums over the steps, of (that).T @ x and (that).T @ h. To the "
        "step before goes direct plus (da_r, da_z, dm) @ W_hh.",
    ],
    "reset-forgotten": ["m was multiplied by r: what reaches m is not da_n itself."],
    "block:n": [
        "The third parts differ: W_in made a term of the sum inside tanh, W_hn made m. "
        "The two sums have different gradients."
    ],
    "gates-exchanged": ["h' = (1 - z) n + z h: is it n or h that z lets through?"],
    "slope-of-input": [
        "The slopes of sigmoid and tanh are in terms of their outputs, r, z and n."
    ],
    "no-slope": ["Between a gate and the sum inside it is a sigmoid, or a tanh."],
    "z-sees-h-alone": ["A larger z takes in more of h, and less of n. Both count."],
    "z-sees-n-alone": ["A larger z takes in more of h, and less of n. Both count."],
    "wrong-order": ["Which step has to be finished before step t can begin?"],
    "one-step": [
        "What comes back from step t + 1 is missing at step t. Where does dh come from?"
    ],
    "last-output-alone": ["Every state is an output, with a g of its own."],
    "last-step-alone": ["The weights were used in every step."],
    "first-step-alone": [
        "The weights were used in every step. What becomes of the part of the step "
        "before, when the next is written down?"
    ],
    "m-forgotten": ["r multiplies m: how much does r m change with r?"],
    "no-direct-path": ["h reaches h' in four ways; one of them passes no weights."],
    "direct-path-alone": ["h reaches h' through W_hh as well, in all three parts."],
    "state-after": ["W_hh was multiplied by which state, the old or the new?"],
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

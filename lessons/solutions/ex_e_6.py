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

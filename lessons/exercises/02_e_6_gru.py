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

    ->  da_r, da_z, da_n, dm, direct (B, H), like dh. da_n is the gradient of the
        argument of tanh, dm that of m; direct is the part of dL/dh through the product
        z h alone
    """
    da_n = dh * (1 - z) * (1 - n * n)  #? Which factor has n in h', and which slope has tanh?
    #! da_n = dh * (1 - z) * (1 - np.tanh(n) ** 2)  | da_n = dh (1 - z)(1 - tanh(n)^2)
    da_z = dh * (h - n) * z * (1 - z)  #? A larger z takes more of h and less of n. And its slope?
    #! da_z = dh * (h - n)  | da_z = dh (h - n), without the slope of the sigmoid
    #! da_z = dh * (h - n) * (1 - z * z)  | da_z = dh (h - n) (1 - z^2), the slope of a tanh
    #! da_z = dh * (h - n) * (1 - z) ** 2  | da_z with 1 - z for z
    dm = da_n * r  #? d(r m)/dr is m. What is d(r m)/dm?
    #! dm = dh * (1 - z) * r  | dm = dh (1 - z) r, without the slope of tanh
    da_r = da_n * m * r * (1 - r)  #? r multiplies m, inside the tanh. What is the slope of r?
    #! da_r = da_n * m  | da_r = da_n m, without the slope of the sigmoid
    #! da_r = dh * (1 - z) * m * r * (1 - r)  | da_r = dh (1 - z) m r (1 - r), without the slope of tanh
    #! da_r = da_n * m * (1 - r) ** 2  | da_r with 1 - r for r
    direct = dh * z  #? Let z be 1: is h' then n or h?
    #! direct = dh * (1 - z)  | direct = dh (1 - z), with 1 - z for z
    return da_r, da_z, da_n, dm, direct


def gru(xs, h0, W_ih, W_hh, b_ih, b_hh):
    """Run the cell over time: xs (T, B, I), h0 (B, H)  ->  hs (T, B, H), backward.

    backward(g) returns (dxs, dh0, dW_ih, dW_hh, db_ih, db_hh) for g (T, B, H), which
    has a gradient for every state.
    """
    hs, seen, h = [], [], h0
    for x in xs:
        h, kept = cell(x, h, W_ih, W_hh, b_ih, b_hh)
        hs.append(h)
        seen.append(kept)

    def backward(g):
        dxs, dh = np.zeros_like(xs), np.zeros_like(h0)
        dW_ih, dW_hh = np.zeros_like(W_ih), np.zeros_like(W_hh)
        db_ih, db_hh = np.zeros_like(b_ih), np.zeros_like(b_hh)
        for t in range(len(xs) - 1, -1, -1):  #? Which step comes first, and which last?
            #! for t in range(len(xs)):  | gradients of a loop from first to last
            dh = dh + g[t]  #? A state is an output with its own g, and an input of the next step.
            #! dh = dh + g[t] * (t == len(xs) - 1)  | the gradient for the last state alone
            #! dh = dh + g[-1]  | gradients with the g of the last state in every step
            da_r, da_z, da_n, dm, direct = slopes(dh, *seen[t])
            da = np.concatenate([da_r, da_z, da_n], 1)  #? In which order has W_ih its three parts?
            #! da = np.concatenate([da_z, da_r, da_n], 1)  | gradients with r and z exchanged
            db = np.concatenate([da_r, da_z, dm], 1)  #? W_hh computes m: what is its gradient called?
            #! db = da  | gradients with (da_r, da_z, da_n) for (da_r, da_z, dm)
            dxs[t] = da @ W_ih  #? x W_in^T is a term of the sum inside the tanh. m is another.
            #! dxs[t] = db @ W_ih  | gradients through (da_r, da_z, dm) @ W_ih
            dW_ih += da.T @ xs[t]  #? Every step uses W_ih, and multiplies it by its own x.
            #! dW_ih += da.T @ xs[t] * (t == len(xs) - 1)  | the part of the last step, in dW_ih
            dW_hh += db.T @ seen[t][0]  #? Was W_hh multiplied by the old state or by the new one?
            #! dW_hh += db.T @ hs[t]  | sums with the state after each step
            #! dW_hh += db.T @ h0  | sums with h0 in every step
            #! dW_hh += db.T @ seen[t][0] * (t == len(xs) - 1)  | the part of the last step, in dW_hh
            db_ih += da.sum(0)  #? Every step uses b_ih. Is the part of another step overwritten?
            #! db_ih += da.sum(0) * (t == len(xs) - 1)  | the part of the last step, in db_ih
            db_hh += db.sum(0)  #? Every step uses b_hh. Is the part of another step overwritten?
            #! db_hh += db.sum(0) * (t == len(xs) - 1)  | the part of the last step, in db_hh
            dh = direct + db @ W_hh  #? h reaches h' in four ways, one of them without weights.
            #! dh = direct + da @ W_hh  | the gradient through (da_r, da_z, da_n) @ W_hh
            #! dh = dh + direct + db @ W_hh  | gradients with dh += where the step before has dh =
        return dxs, dh, dW_ih, dW_hh, db_ih, db_hh

    return np.array(hs), backward


# ---- THE CHECK: each call my.f(…) is compared with the function f above


def draw(rng, T, B, I, H):  # noqa: E741
    sizes = (T, B, I), (B, H), (3 * H, I), (3 * H, H), (3 * H,), (3 * H,)
    return [rng.normal(size=size) for size in sizes]


def a_step(my, rng):
    """the slopes of a step"""
    for size in ((3, 7), (5, 5)):
        dh, h, m = rng.normal(size=(3, *size))
        r, z, n = rng.random(size), rng.random(size), rng.uniform(-1, 1, size)
        my.slopes(dh, h, r, z, m, n)


def steps_of_time(my, rng):
    """two steps, three, and one"""
    for T, B, I, H in ((2, 3, 1, 2), (3, 2, 7, 5), (2, 2, 2, 2)):  # noqa: E741
        my.gru(*draw(rng, T, B, I, H))
    my.gru(*draw(rng, 1, 4, 3, 2))


def gates_of_0_and_1(my, rng):
    """a state that is kept, because z is 1, and gates of 0"""
    kept, closed = draw(rng, 5, 2, 7, 5), draw(rng, 4, 3, 7, 5)
    kept[4][5:10] = 60.0  # z is 1 in float64: all gradients of the states reach h0
    closed[4][:5] = -500.0  # r is 0
    closed[4][10:] = 40.0  # n is 1
    my.gru(*kept)
    my.gru(*closed)


HINTS = """
slopes  Which derivatives of h' does the last line of the task give alone?
gru  A state is an output, and the input of another step. Which two gradients does it
   receive?
1  Begin with slopes: h' = (1 - z) n + z h is a sum of products. What are dL/dz and
   dL/dn? Then go through sigmoid and tanh.
2  The derivative of sigmoid is s (1 - s) and that of tanh 1 - n^2, both from the output.
   The product r m passes da_n r to m and da_n m to r. Through time: go from the last
   step to the first; at each step add g of that step to the gradient from the step
   after.
3  With A = (da_r, da_z, da_n) and B = (da_r, da_z, dm) side by side: dW_ih sums A.T @ x,
   dW_hh sums B.T @ h, db_ih sums the rows of A, db_hh the rows of B. The step before
   receives direct plus B @ W_hh.
"""
WHY = """One step uses the state four times, in both gates, in m and in z h, so its gradient
is a sum of four terms. The gradient of the state moves from the last step to the first,
and every step adds to the gradients of the weights, which all steps share."""

"""Compute the sums of linear attention in chunks, as one operation.

    S_i = sum_j b_j v_j^T   (E, Ev)      z_i = sum_j b_j   (E,)
    o_i = S_i^T a_i / (a_i . z_i + eps)

with the features a = phi(q), b = phi(k), and sums over the keys j <= i (causal), or
over all keys. S_i is the state; S without an index is the number of keys. Key by key,
the causal sums would be L steps of E Ev multiplications. In chunks they are matrix
products: one with the sums over all earlier chunks, and a small masked product within
the chunk. This file has the NumPy version, for all heads at once; kernels/linear.py and
kernels/linear_backward.py are the compiled version.

Katharopoulos et al. 2020, equations 4 to 12, and section 3.3.1 for the gradients; Hua
et al. 2022 (chunks).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from minigrad import differentiable
from minigrad.shapes import shapes

from ..kernels import linear as forward_kernel
from ..kernels import linear_backward as backward_kernel
from ..kernels.linear import CHUNK, flatten_heads


@shapes
@differentiable
def linear_scan(
    q, k, v, keep=None, *, is_causal, eps, elu=True, needs=(True, True, True, False)
):
    """o_i = sum_j (a_i . b_j) v_j / (sum_j a_i . b_j + eps): linear attention.

    q (..., L, E), k (..., S, E), v (..., S, Ev), keep? (..., S) bool
        ->  o (..., L, Ev)

    keep        False for masked keys
    is_causal   sum over the keys j <= i; L is S
    eps         added to the denominator; if the sum is still 0, o_i = 0
    elu         True: a = elu(q) + 1, b = elu(k) + 1. False: q and k are features

    Backward: with g = dL/do and the denominator c_i + eps, let

        n_i = g_i / (c_i + eps)        d_i = -(g_i . o_i) / (c_i + eps)

    the gradients of the numerator and of the denominator. Both are sums of products of
    features, so

        da_i = S_i n_i + d_i z_i                        with the sums of the forward
        db_j = R_j v_j + r_j,    dv_j = R_j^T b_j       with sums over the queries:
        R_j = sum_i a_i n_i^T,   r_j = sum_i d_i a_i    over all i, or causal i >= j

    If causal, R and r are summed from the end of the sequence. The forward pass keeps
    its arguments, o and 1 / (c + eps); S_i is summed again. phi(x) = elu(x) + 1 is
    x + 1 or e^x, so its derivative is min(phi(x), 1).
    """
    arrays = [q.shape[:-2], k.shape[:-2], v.shape[:-2]]
    leading = np.broadcast_shapes(*arrays, () if keep is None else keep.shape[:-1])
    N = math.prod(leading)
    if keep is not None:
        S = keep.shape[-1]
        keep = np.broadcast_to(keep, (*leading, S)).reshape(N, S)
        keep = np.ascontiguousarray(keep)
    scan = Scan(*(flatten_heads(x, leading) for x in (q, k, v)), keep, is_causal, elu)
    o, inv_sum = forward_kernel.forward(*scan.arguments, eps) or scan.forward(eps)

    def backward(g):
        g = flatten_heads(g, leading)
        needs_q, needs_kv = needs[0], needs[1] or needs[2]
        saved = o, inv_sum, g, needs_q, needs_kv
        compiled = backward_kernel.backward(*scan.arguments, *saved)
        grads = compiled or scan.backward(*saved)
        dq, dk, dv = (
            x if x is None else x.reshape(*leading, *x.shape[1:]) for x in grads
        )
        return dq, dk, dv, None

    return o.reshape(*leading, *o.shape[1:]), backward


@dataclass
class Scan:
    """The inputs of ``linear_scan`` for N heads, and its NumPy form.

    q (N, L, E), k (N, S, E), v (N, S, Ev), keep (N, S) bool or None

    chunk   C, how many positions are computed at a time
    """

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    keep: np.ndarray | None
    causal: bool
    elu: bool
    chunk: int = CHUNK

    @property
    def arguments(self):
        """The arguments of the compiled kernels."""
        return self.q, self.k, self.v, self.keep, self.causal, self.elu

    def forward(self, eps):
        """Return o (N, L, Ev) and 1 / (c + eps) (N, L)."""
        (N, L, E), (S, Ev), dtype = self.q.shape, self.v.shape[1:], self.q.dtype
        o, c = np.empty((N, L, Ev), dtype), np.empty((N, L), dtype)
        state, z = np.zeros((N, E, Ev), dtype), np.zeros((N, E), dtype)
        if not self.causal:
            for j in self._chunks(S):
                b, v = self._keys(j)
                state += _transposed(b) @ v  # sum over j
                z += b.sum(1)
        for i in self._chunks(L):
            a = self._queries(i)  # (N, C, E)
            o[:, i] = a @ state
            c[:, i] = (a @ z[..., None])[..., 0]
            if self.causal:
                b, v = self._keys(i)
                p = np.tril(a @ _transposed(b))  # (N, C, C)
                o[:, i] += p @ v
                c[:, i] += p.sum(-1)
                state += _transposed(b) @ v
                z += b.sum(1)
        total = c + c.dtype.type(eps)
        total = np.where(total == 0, np.inf, total)  # o / inf = 0
        return o / total[..., None], 1 / total

    def backward(self, o, inv_sum, g, needs_q, needs_kv):
        """Return dq (N, L, E), dk (N, S, E), dv (N, S, Ev); None if not needed.

        o and inv_sum are the results of ``forward``; g (N, L, Ev) = dL/do.
        """
        n = g * inv_sum[..., None]  # (N, L, Ev)
        d = -(g * o).sum(-1, keepdims=True) * inv_sum[..., None]  # (N, L, 1)
        # a query whose g is all 0 adds to no gradient, even if it is NaN
        used = (g != 0).any(-1, keepdims=True)
        q, n, d = (np.where(used, x, 0) for x in (self.q, n, d))
        scan = replace(self, q=q)
        dq = np.where(used, scan._query_gradient(n, d), 0) if needs_q else None
        return dq, *(scan._key_gradients(n, d) if needs_kv else (None, None))

    def _query_gradient(self, n, d):
        """Return dq, with the sums S and z of the forward."""
        (N, L, E), (S, Ev) = self.q.shape, self.v.shape[1:]
        dq = np.empty_like(self.q)
        state = np.zeros((N, Ev, E), self.q.dtype)  # S^T
        z = np.zeros((N, 1, E), self.q.dtype)
        if not self.causal:
            for j in self._chunks(S):
                b, v = self._keys(j)
                state += _transposed(v) @ b
                z += b.sum(1, keepdims=True)
        for i in self._chunks(L):
            da = n[:, i] @ state + d[:, i] * z
            if self.causal:
                b, v = self._keys(i)
                t = np.tril(n[:, i] @ _transposed(v) + d[:, i])  # n_i . v_j + d_i
                da += t @ b
                state += _transposed(v) @ b
                z += b.sum(1, keepdims=True)
            dq[:, i] = da * self._slope(self._queries(i))
        return dq

    def _key_gradients(self, n, d):
        """Return dk and dv, with the sums R and r; causal: from the end."""
        (N, L, E), (S, Ev) = self.q.shape, self.v.shape[1:]
        dk, dv = np.empty_like(self.k), np.empty_like(self.v)
        R, r = np.zeros((N, E, Ev), self.q.dtype), np.zeros((N, 1, E), self.q.dtype)
        if not self.causal:
            for i in self._chunks(L):
                a = self._queries(i)
                R += _transposed(a) @ n[:, i]  # sum over i
                r += _transposed(d[:, i]) @ a
        for j in reversed(self._chunks(S)):
            b, v = self._keys(j)
            dv_j = b @ R
            db = v @ _transposed(R) + r
            if self.causal:
                a = self._queries(j)
                p = np.tril(a @ _transposed(b))
                t = np.tril(n[:, j] @ _transposed(v) + d[:, j])
                dv_j += _transposed(p) @ n[:, j]  # sum over i
                db += _transposed(t) @ a
                R += _transposed(a) @ n[:, j]
                r += _transposed(d[:, j]) @ a
            kept = True if self.keep is None else self.keep[:, j, None]
            dk[:, j] = np.where(kept, db * self._slope(b), 0)
            dv[:, j] = dv_j  # 0 for masked keys, as b is
        return dk, dv

    def _queries(self, i):
        """Return a = phi(q) of one chunk."""
        return self._features(self.q[:, i])

    def _keys(self, j):
        """Return b = phi(k) and v of one chunk; the rows of masked keys are 0."""
        b, v = self._features(self.k[:, j]), self.v[:, j]
        if self.keep is not None:
            kept = self.keep[:, j, None]
            b, v = np.where(kept, b, 0), np.where(kept, v, 0)
        return b, v

    def _features(self, x):
        """Return elu(x) + 1, or x if it holds features."""
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) if self.elu else x

    def _slope(self, phi):
        """Return phi'(x), given phi(x): 1 above 0, and e^x = phi below."""
        return np.minimum(phi, 1) if self.elu else 1

    def _chunks(self, n):
        starts = range(0, n, self.chunk)
        return [slice(i, min(i + self.chunk, n)) for i in starts]


def _transposed(x):
    return x.swapaxes(1, 2)

"""Update rules: SGD, Adam and AdamW, equal to PyTorch's step by step."""

import math
from typing import Any

import numpy as np

from ..arguments import flag, number
from ..tensor import Tensor
from .optimizer import Optimizer, list_of_tensors, wide_dtype


class SGD(Optimizer):
    """Stochastic gradient descent, with or without momentum.

        g <- g + weight_decay w
        b_t = momentum b_{t-1} + (1 - dampening) g,        b_1 = g
        w <- w - lr b_t,             or with nesterov   w <- w - lr (g + momentum b_t)

    Without momentum w <- w - lr g. Under a constant g the velocity b tends to
    g (1 - dampening) / (1 - momentum): with momentum 0.9, steps ten times as long.
    Nesterov's form looks one step of the velocity ahead (Sutskever et al. 2013,
    section 2).
    """

    settings = ("lr", "momentum", "dampening", "weight_decay", "nesterov")

    def __init__(
        self,
        params,
        lr,
        momentum=0.0,
        dampening=0.0,
        weight_decay=0.0,
        nesterov=False,
    ):
        name = type(self).__name__
        self.momentum = float(number(name, "momentum", momentum, least=0))
        self.dampening = float(number(name, "dampening", dampening))
        self.nesterov = flag(name, "nesterov", nesterov)
        self._require(
            momentum < 1,
            f"momentum is {momentum}; expected a number below 1: otherwise the steps "
            "grow without bound",
        )
        self._require(
            not nesterov or (momentum > 0 and dampening == 0),
            "Nesterov's form needs a momentum above 0 and no dampening",
        )
        self.averages = ("b",) if momentum else ()
        super().__init__(params, lr, weight_decay)

    def _change(self, t, g, change, b=None):
        if b is None:
            np.multiply(g, self.lr, out=change)
            return
        if t == 1:
            b[...] = g
        else:
            b *= self.momentum
            b += np.multiply(g, 1 - self.dampening, out=change)
        if self.nesterov:
            np.multiply(b, self.momentum, out=change)
            change += g
            change *= self.lr
        else:
            np.multiply(b, self.lr, out=change)


class Adam(Optimizer):
    """Adam: steps of about lr in every coordinate, for small and large gradients alike.

        g <- g + weight_decay w
        m_t = b1 m_{t-1} + (1 - b1) g           v_t = b2 v_{t-1} + (1 - b2) g^2
        w <- w - lr (m_t / (1 - b1^t)) / (sqrt(v_t / (1 - b2^t)) + eps)

    m and v start at zero and are weighted sums, m_t = (1 - b1) sum_i b1^(t-i) g_i. The
    weights add up to 1 - b1^t. The division by 1 - b1^t turns m_t into a weighted
    average; the same is true for v_t. The code computes the equivalent form, with
    c = sqrt(1 - b2^t):

        w <- w - (lr c / (1 - b1^t)) m_t / (sqrt(v_t) + c eps)

    Kingma & Ba 2015, Algorithm 1; section 2, before 2.1, has the second form.

    weight_decay goes into the gradient, as in PyTorch, and is then divided by sqrt(v)
    like the rest: a weight with large gradients decays less. In AdamW it does not.
    """

    settings = ("lr", "betas", "eps", "weight_decay")
    averages = ("m", "v")

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, lr, weight_decay)
        name = type(self).__name__
        self._require(
            isinstance(betas, (tuple, list))
            and len(betas) == 2
            and all(0 <= number(name, "betas", b) < 1 for b in betas),
            f"betas are {betas!r}; expected two numbers, 0 or more and below 1",
        )
        self.betas = tuple(float(b) for b in betas)
        self.eps = float(number(name, "eps", eps, least=0))

    def _change(self, t, g, change, m, v):
        """Write what step t subtracts from a parameter w into ``change``.

        ``optimizer.step()`` calls it for each parameter, and then subtracts ``change``.
        All arrays have the shape of w. g is the gradient plus weight_decay w (in AdamW,
        without it). m and v are updated in place. Before the last line, ``change``
        holds intermediate results.
        """
        b1, b2 = self.betas
        c = math.sqrt(1 - b2**t)
        m *= b1
        m += np.multiply(g, 1 - b1, out=change)
        v *= b2
        np.multiply(g, g, out=change)
        change *= 1 - b2
        v += change
        np.sqrt(v, out=change)
        change += c * self.eps  # sqrt(v) + c eps
        np.divide(m, change, out=change)
        change *= self.lr * c / (1 - b1**t)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov & Hutter 2019, Algorithm 2).

        w <- (1 - lr weight_decay) w,   then Adam's step with the gradient of the loss

    For plain SGD it makes no difference whether the decay is added to the gradient or
    applied to the weight. For Adam it does: what is added to the gradient is divided by
    sqrt(v), so weights with large gradients decay least. Here all weights shrink at the
    same rate.
    """

    decoupled = True

    def __init__(
        self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2
    ):
        super().__init__(params, lr, betas, eps, weight_decay)


def clip_grad_norm_(params: Any, max_norm: float):
    """Scale all gradients, in place, so that their joint norm is at most ``max_norm``.

        norm = sqrt(sum of g^2 over all elements of all parameters)
        g <- g min(1, max_norm / (norm + 1e-6))

    Only the length changes, not the direction. Returns the norm before scaling, as a
    float; 0 if no parameter has a gradient. The formula is PyTorch's, with its 1e-6;
    the idea is that of Pascanu et al. 2013.

    Raises FloatingPointError, and changes nothing, when the norm overflows or a
    gradient holds a NaN or an infinity: scaling would make every gradient NaN or 0, and
    the next step would spoil the parameters. To skip such a batch, catch it and call
    zero_grad().
    """
    number("clip_grad_norm_", "max_norm", max_norm, positive=True, finite=False)
    if isinstance(params, Tensor):
        params = [params]
    params = list_of_tensors(params, "clip_grad_norm_")
    gradients = {i: p.grad for i, p in enumerate(params) if p.grad is not None}
    # a sum of float16 squares is computed in float64, whose digits no processor loses
    wide = (g.astype(float) if g.itemsize < 4 else g for g in gradients.values())
    norm = math.sqrt(sum(float(np.vdot(g, g)) for g in wide))
    if not math.isfinite(norm):  # squares overflow earlier in float32
        squares = (np.square(g, dtype=np.float64).sum() for g in gradients.values())
        norm = math.sqrt(sum(map(float, squares)))
    if not math.isfinite(norm):
        wrong = [i for i, g in gradients.items() if not np.isfinite(g).all()]
        what = f"the gradients of params {wrong} hold NaN or infinity"
        if not wrong:
            what = "the gradients are so large that their norm overflows"
        raise FloatingPointError(
            f"clip_grad_norm_: {what}. Nothing was changed; call zero_grad() to skip "
            "this batch."
        )
    scale = max_norm / (norm + 1e-6)
    if scale < 1:
        for g in gradients.values():
            np.multiply(g, scale, out=g, dtype=wide_dtype(g.dtype), casting="same_kind")
    return norm

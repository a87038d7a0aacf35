"""The rows in torch, on as many threads as ours: eager, compiled and fused."""

from .timing import Missing


def load(threads):
    """torch, told how many threads to use; Missing where there is none."""
    try:
        import torch
    except Exception as problem:  # not installed, or not in working order
        raise Missing(f"torch does not load: {problem}") from None
    torch.set_num_threads(threads)
    return torch


def version():
    import torch

    return torch.__version__


def additive(q, k, w, g, compiled=True):
    import torch

    def score(q, k, w):
        return torch.tanh(q[:, :, None] + k[:, None]) @ w

    sides = {"eager": gradients(score, (q, k, w), g)}
    sides["compiled"] = _compiled(score, (q, k, w), g, left_out=not compiled)
    return sides


def attention(q, k, v, g, causal):
    """g None: forward alone."""
    import torch

    fused = torch.nn.functional.scaled_dot_product_attention
    mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()

    def eager(q, k, v):
        s = (q * q.shape[-1] ** -0.5) @ k.mT
        s = s.masked_fill(~mask, -torch.inf) if causal else s
        return s.softmax(-1) @ v

    def of_torch(q, k, v):
        return fused(q, k, v, is_causal=causal)

    functions = {"eager": eager, "fused": of_torch}
    return {name: gradients(f, (q, k, v), g) for name, f in functions.items()}


def window(q, k, v, g, w):
    import torch

    n = q.shape[-2]
    mask = torch.ones(n, n, dtype=torch.bool).tril().triu(1 - w)

    def masked(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)

    return {"fused": gradients(masked, (q, k, v), g)}


def gru(x, h0, weights, g):
    import torch

    layer = torch.nn.GRU(x.shape[-1], h0.shape[-1], batch_first=True)
    parameters = list(layer.parameters())  # in the order of ours
    with torch.no_grad():
        for parameter, array in zip(parameters, weights):
            parameter.copy_(torch.from_numpy(array))
    x, h0 = (torch.from_numpy(a).requires_grad_() for a in (x, h0))
    g = torch.from_numpy(g)

    def run():
        out = layer(x, h0[None])[0]
        return [out, *torch.autograd.grad(out, (x, h0, *parameters), g)]

    return {"eager": run}


def tiny(x, y, g, run):
    return {"eager": gradients(run, (x, y), g)}


def gradients(function, arrays, g):
    """A side: function's output, and its gradients if there is a cotangent g."""
    import torch

    # as in our sides, the tensors are made in the call: the arrays come from outside
    def run():
        tensors = [torch.from_numpy(a) for a in arrays]
        if g is None:
            with torch.no_grad():
                return function(*tensors)
        for t in tensors:
            t.requires_grad_()
        out = function(*tensors)
        return [out, *torch.autograd.grad(out, tensors, torch.from_numpy(g))]

    return run


def _compiled(function, arrays, g, left_out):
    """A side of torch.compile, which wants a C++ compiler, and half a minute."""

    def missing():
        raise Missing("--quick leaves it out: compiling takes half a minute")

    if left_out:
        return missing
    import torch

    return gradients(torch.compile(function, dynamic=False), arrays, g)

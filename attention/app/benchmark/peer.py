"""The work of each row, done by torch with as many threads: eager, compiled, fused."""

from .timing import Missing


def load(threads):
    """Import torch and set its threads, or raise Missing."""
    try:
        import torch
    except Exception as problem:  # not installed, or not in working order
        raise Missing(f"torch does not load: {problem}") from None
    torch.set_num_threads(threads)


def side(function, arrays, g):
    """Return a function that calls ``function`` and, if there is a g, the backward.

    g   the gradient of the output, or None
    """
    import torch

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


def additive(q, k, w, g, compiled):
    import torch

    def score(q, k, w):
        return torch.tanh(q[:, :, None] + k[:, None]) @ w

    def left_out():
        raise Missing("left out by --quick")

    fast = left_out
    if compiled:
        fast = side(torch.compile(score, dynamic=False), (q, k, w), g)
    return {"eager": side(score, (q, k, w), g), "compiled": fast}


def attention(arrays, g, causal):
    import torch

    def fused(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal
        )

    return {"fused": side(fused, arrays, g)}


def window(arrays, g, w):
    import torch

    n = arrays[0].shape[-2]
    mask = torch.ones(n, n, dtype=torch.bool).tril().triu(1 - w)

    def masked(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)

    return {"fused": side(masked, arrays, g)}


def gru(x, h0, weights, g):
    import torch

    layer = torch.nn.GRU(x.shape[-1], h0.shape[-1], batch_first=True)
    names = [name for name, _ in layer.named_parameters()]  # in the order of ours

    def function(x, h0, *weights):
        parameters = dict(zip(names, weights))
        return torch.func.functional_call(layer, parameters, (x, h0[None]))[0]

    return {"eager": side(function, (x, h0, *weights), g)}


def reversal(config, models, batches):
    """Return a function that trains copies of the models, and returns their losses."""
    import torch
    from torch.nn import functional as F

    arrays = [
        [torch.as_tensor(x).long() for x in
         (b.source, b.target_in, b.lengths, b.target_out)]
        for b in batches
    ]  # fmt: skip

    def train():
        losses = []
        for ours in models:
            losses.append([])
            model = reverser(ours)
            optimizer = torch.optim.Adam(model.parameters(), config.lr)
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
                optimizer, config.steps
            )
            for *inputs, target in arrays:
                logits = model(*inputs).flatten(0, 1)
                loss = F.cross_entropy(logits, target.flatten(), ignore_index=0)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip)
                optimizer.step()
                schedule.step()
                losses[-1].append(loss.item())
        return losses

    return train


def reverser(model):
    """Return a torch module that is a copy of ``model``, a Reverser of ours."""
    import torch
    from torch.nn.utils import rnn

    class Reverser(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kind, hidden = model.kind, model.config.hidden
            V, E = model.encoder.embed.weight.shape
            self.embed_source = torch.nn.Embedding(V, E, padding_idx=0)
            self.embed_target = torch.nn.Embedding(V, E, padding_idx=0)
            self.encoder = torch.nn.GRU(E, hidden, batch_first=True)
            self.decoder = torch.nn.GRUCell(E + hidden, hidden)
            self.output = torch.nn.Linear(2 * hidden, V)
            for name, p in model.decoder.order.attention.named_parameters():
                setattr(self, name, torch.nn.Parameter(torch.empty(p.shape)))
            state = {_torch_name(n): x for n, x in model.state_dict().items()}
            self.load_state_dict({n: torch.tensor(x) for n, x in state.items()})

        def forward(self, source, target_in, lengths):
            packed = rnn.pack_padded_sequence(
                self.embed_source(source), lengths, True, enforce_sorted=False
            )
            memory, last = self.encoder(packed)
            memory, _ = rnn.pad_packed_sequence(memory, True, 0.0, source.shape[1])
            masked = torch.arange(source.shape[1]) >= lengths[:, None]
            s, hidden, steps = torch.zeros_like(last[0]), last.shape[-1], []
            keys = memory
            if self.kind == "general":
                keys = memory @ self.W_a.T
            if self.kind == "additive":
                keys = memory @ self.W_a[:, hidden:].T
            for x in self.embed_target(target_in).unbind(1):
                if self.kind == "additive":
                    query = s @ self.W_a[:, :hidden].T
                    e = torch.tanh(query[:, None] + keys) @ self.v_a
                else:
                    e = (keys @ s[:, :, None])[..., 0]
                    e = e / hidden**0.5 if self.kind == "scaled" else e
                p = e.masked_fill(masked, -torch.inf).softmax(-1)
                c = (p[:, None] @ memory)[:, 0]
                s = self.decoder(torch.cat([x, c], 1), s)
                steps.append(torch.cat([s, c], 1))
            return self.output(torch.stack(steps, 1))

    return Reverser()


def _torch_name(name):
    """Return the name of a parameter of ours in the torch module above."""
    for ours, theirs in (
        ("encoder.embed.", "embed_source."),
        ("encoder.rnn.", "encoder."),
        ("decoder.embed.", "embed_target."),
        ("decoder.order.attention.", ""),
        ("decoder.order.cell.layers.0.", "decoder."),
        ("decoder.output.", "output."),
    ):
        if name.startswith(ours):
            return theirs + name.removeprefix(ours)
    raise ValueError(f"There is no name in torch for {name}.")

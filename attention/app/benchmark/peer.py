"""The work of the benchmark, done by PyTorch: eager, compiled or fused."""

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
    """Return torch's sides of the additive score: q (B, L, A), k (B, S, A), w (A,)."""
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
    """Return torch's side of attention, its fused function: arrays q, k, v."""
    import torch

    def fused(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal
        )

    return {"fused": side(fused, arrays, g)}


def window(arrays, g, w):
    """Return torch's side of attention to the last w keys: all pairs, with a mask."""
    import torch

    n = arrays[0].shape[-2]
    mask = torch.ones(n, n, dtype=torch.bool).tril().triu(1 - w)

    def masked(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)

    return {"fused": side(masked, arrays, g)}


def gru(x, h0, state, g):
    """Return torch's side of a GRU with the parameters of the dict ``state``."""
    import torch

    layer = torch.nn.GRU(x.shape[-1], h0.shape[-1], batch_first=True)
    layer.load_state_dict({name: torch.from_numpy(a) for name, a in state.items()})

    def run():
        inputs = [torch.from_numpy(a).requires_grad_() for a in (x, h0)]
        layer.zero_grad()
        output, _ = layer(*inputs)
        output.backward(torch.from_numpy(g))
        return [output, *(tensor.grad for tensor in inputs)]

    return {"eager": run}


def gpt(model, ids):
    """Return a training step of a copy of ``model``, a DecoderOnly of ours."""
    import torch
    from torch.nn import functional as F

    net = gpt_module(model)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    ids = torch.from_numpy(ids)

    def step():
        logits = net(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return [loss, norm]

    return {"eager": step}


def gpt_module(model):
    """Return a torch module that is a copy of ``model``, a DecoderOnly of ours."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    D, H = model.config.width, model.config.heads

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.in_proj, self.out_proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
            self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
            self.linear1, self.linear2 = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

        def forward(self, x):
            B, n, _ = x.shape
            qkv = self.in_proj(self.norm1(x)).view(B, n, 3, H, D // H)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)  # (B, H, n, E) each
            c = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out_proj(c.transpose(1, 2).reshape(B, n, D))
            return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(model.config.vocabulary, D)
            self.positions = nn.Embedding(model.config.max_length, D)
            self.blocks = nn.ModuleList(Block() for _ in range(model.config.layers))
            self.final_norm = nn.LayerNorm(D)
            self.output = nn.Linear(D, model.config.vocabulary, bias=False)

        def forward(self, ids):
            x = self.embedding(ids) * D**0.5 + self.positions.weight[: ids.shape[1]]
            for block in self.blocks:
                x = block(x)
            return self.output(self.final_norm(x))

    net, state = GPT(), {n: torch.tensor(a) for n, a in model.state_dict().items()}
    copies = {}
    for name in net.state_dict():
        ours = [name]
        for theirs, names in GPT_NAMES.items():
            if theirs in name:
                ours = [name.replace(theirs, each) for each in names]
        ours = [each if each in state else f"decoder.{each}" for each in ours]
        copies[name] = torch.cat([state[each] for each in ours])
    net.load_state_dict(copies)
    return net


GPT_NAMES = {  # {a part of a name in torch: in ours}
    "embedding.weight": ["embedding"],
    "positions.": ["scheme.table."],
    "in_proj": ["self_attn.W_q", "self_attn.W_k", "self_attn.W_v"],
    "out_proj": ["self_attn.W_o"],
    "norm1": ["self_attn_norm"],
    "norm2": ["feed_forward_norm"],
    "linear1": ["feed_forward.linear1"],
    "linear2": ["feed_forward.linear2"],
}


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

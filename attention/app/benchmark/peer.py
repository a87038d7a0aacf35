"""The work of the benchmark, done by others; most by PyTorch: eager, compiled or fused.

Each model of PyTorch is a function of the parameters of our model, by their names. Only
the process of a side imports what it needs.
"""

import os
from functools import partial

from ...kernels import threads


def load(n):
    """Import torch and set its number n of threads."""
    import torch

    torch.set_num_threads(n)


def call(function, arrays, g):
    """Return a function that calls ``function`` and, if there is a g, the backward.

    g   the gradient of the output, or None
    """
    import torch

    def run():
        tensors = [torch.from_numpy(a) for a in arrays]
        if g is None:
            with torch.no_grad():
                return [function(*tensors)]
        for t in tensors:
            t.requires_grad_()
        out = function(*tensors)
        return [out, *torch.autograd.grad(out, tensors, torch.from_numpy(g))]

    return run


def additive(side):
    """Return the additive score of q (B, L, A), k (B, S, A) and w (A,)."""
    import torch

    def score(q, k, w):
        return torch.tanh(q[:, :, None] + k[:, None]) @ w

    return torch.compile(score, dynamic=False) if side == "compiled" else score


def attention(side, causal):
    """Return attention of q, k and v, by torch's fused function."""
    from torch.nn import functional as F

    return partial(F.scaled_dot_product_attention, is_causal=causal)


def window(side, n, w):
    """Return attention to the last w keys of n: all pairs, with a mask matrix."""
    import torch
    from torch.nn import functional as F

    mask = torch.ones(n, n, dtype=torch.bool).tril().triu(1 - w)
    return partial(F.scaled_dot_product_attention, attn_mask=mask)


def gru(layer, x, h0, g):
    """Return torch's side of ``layer``, a GRU of ours."""
    import torch

    copy = torch.nn.GRU(x.shape[-1], h0.shape[-1], batch_first=True)
    copy.load_state_dict(leaves(layer))

    def run():
        inputs = [torch.from_numpy(a).requires_grad_() for a in (x, h0)]
        copy.zero_grad()
        output, _ = copy(*inputs)
        output.backward(torch.from_numpy(g))
        return [output, *(tensor.grad for tensor in inputs)]

    return run


def gpt(model, ids):
    """Return a training step of a copy of ``model``, a DecoderOnly of ours."""
    import torch
    from torch.nn import functional as F

    p, D, H = leaves(model), model.config.width, model.config.heads
    optimizer = torch.optim.AdamW(p.values(), lr=1e-3)
    ids = torch.from_numpy(ids)

    def linear(x, name):
        return F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])

    def norm(x, name):
        return F.layer_norm(x, (D,), p[f"{name}.weight"], p[f"{name}.bias"])

    def block(x, name):
        B, n, _ = x.shape
        W, b = (
            torch.cat([p[f"{name}.self_attn.W_{input}.{part}"] for input in "qkv"])
            for part in ("weight", "bias")
        )
        qkv = F.linear(norm(x, f"{name}.self_attn_norm"), W, b)
        q, k, v = qkv.view(B, n, 3, H, D // H).permute(2, 0, 3, 1, 4)  # (B, H, n, E)
        c = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        c = c.transpose(1, 2).reshape(B, n, D)
        x = x + linear(c, f"{name}.self_attn.W_o")
        hidden = norm(x, f"{name}.feed_forward_norm")
        hidden = F.gelu(linear(hidden, f"{name}.feed_forward.linear1"))
        return x + linear(hidden, f"{name}.feed_forward.linear2")

    def logits(ids):
        x = F.embedding(ids, p["decoder.embedding"]) * D**0.5
        x = x + p["decoder.scheme.table.weight"][: ids.shape[1]]
        for i in range(model.config.layers):
            x = block(x, f"decoder.blocks.{i}")
        return F.linear(norm(x, "decoder.final_norm"), p["output.weight"])

    def step():
        loss = F.cross_entropy(logits(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        length = torch.nn.utils.clip_grad_norm_(p.values(), 1.0)
        optimizer.step()
        return [loss, length]

    return step


def transformers(path, prompt, n):
    """Return transformers' side of ``write``: the same file, in float32."""
    import torch
    from transformers import AutoModelForCausalLM

    folder, file = os.path.split(path)
    model = AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=file, dtype=torch.float32
    )
    ids = torch.from_numpy(prompt)[None]
    lengths = {"max_new_tokens": n, "min_new_tokens": n}

    def run():
        model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, **lengths
        )

    return run


def llama_cpp(path, prompt, n):
    """Return the side of ``write`` of llama.cpp, by the package llama-cpp-python."""

    from llama_cpp import Llama

    model = Llama(path, n_ctx=len(prompt) + n, n_threads=threads(), verbose=False)

    def run():
        for _ in zip(range(n), model.generate(prompt.tolist(), temp=0.0)):
            pass

    return run


WRITERS = {"eager": transformers, "llama.cpp": llama_cpp}


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
            model, parameters = reverser(ours)
            optimizer = torch.optim.Adam(parameters, config.lr)
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
                optimizer, config.steps
            )
            losses.append([])
            for *inputs, target in arrays:
                logits = model(*inputs).flatten(0, 1)
                loss = F.cross_entropy(logits, target.flatten(), ignore_index=0)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(parameters, config.clip)
                optimizer.step()
                schedule.step()
                losses[-1].append(loss.item())
        return losses

    return train


def reverser(model):
    """Return a function that computes the logits of a Reverser, and its leaves."""
    import torch
    from torch.nn import functional as F
    from torch.nn.utils import rnn

    p, kind, hidden = leaves(model), model.kind, model.config.hidden
    scores = {
        name.rpartition(".")[2]: x for name, x in p.items() if ".attention." in name
    }
    encoder = torch.nn.GRU(p["encoder.embed.weight"].shape[1], hidden, batch_first=True)
    cell = torch.nn.GRUCell(p["decoder.embed.weight"].shape[1] + hidden, hidden)
    ours = {"encoder.rnn.": encoder, "decoder.order.cell.layers.0.": cell}
    for prefix, layer in ours.items():
        state = {name: p.pop(prefix + name) for name in layer.state_dict()}
        layer.load_state_dict(state)

    def forward(source, target_in, lengths):
        packed = rnn.pack_padded_sequence(
            F.embedding(source, p["encoder.embed.weight"], 0), lengths, True,
            enforce_sorted=False,
        )  # fmt: skip
        memory, last = encoder(packed)
        memory, _ = rnn.pad_packed_sequence(memory, True, 0.0, source.shape[1])
        masked = torch.arange(source.shape[1]) >= lengths[:, None]
        s, steps, keys = torch.zeros_like(last[0]), [], memory
        if kind == "general":
            keys = memory @ scores["W_a"].T
        if kind == "additive":
            keys = memory @ scores["W_k"].T
        for x in F.embedding(target_in, p["decoder.embed.weight"], 0).unbind(1):
            if kind == "additive":
                query = s @ scores["W_q"].T
                e = torch.tanh(query[:, None] + keys) @ scores["w_v"]
            else:
                e = (keys @ s[:, :, None])[..., 0]
                e = e / hidden**0.5 if kind == "scaled" else e
            weights = e.masked_fill(masked, -torch.inf).softmax(-1)
            c = (weights[:, None] @ memory)[:, 0]
            s = cell(torch.cat([x, c], 1), s)
            steps.append(torch.cat([s, c], 1))
        output = "decoder.output."
        return F.linear(torch.stack(steps, 1), p[f"{output}weight"], p[f"{output}bias"])

    return forward, [*p.values(), *encoder.parameters(), *cell.parameters()]


def leaves(model):
    """Return {name: a copy of the parameter, as a leaf of torch's graph}."""
    import torch

    state = model.state_dict()
    return {name: torch.tensor(x, requires_grad=True) for name, x in state.items()}

"""The Transformer in plain NumPy, one example and one head at a time."""

import math

import numpy as np

from attention import definitions
from attention.positions.scaling import SCALINGS, ScalingByTurns
from attention.variants.recurrent_heads import RECURRENT
from attention.variants.table import NORMALIZERS

from ..definition_cases import with_bias, with_ones


def erf(x):
    return np.vectorize(math.erf)(x)


ACTIVATIONS = {
    "relu": lambda x: np.where(x > 0, x, 0),
    "gelu": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
}


class Definition:
    """What a model with this config and this state dict computes.

    length   what ``extend`` was called with
    """

    def __init__(self, config, state, length=None):
        self.config, self.state, self.length = config, state, length

    def decoder_only(self, ids):
        """(L,) ids  ->  logits (L, V)"""
        y, _ = self.stack("decoder", ids, causal=True)
        return self.logits(y)

    def encoder_decoder(self, source, target):
        """logits (T, V), weights [(H, T, S)] a block; source without padding"""
        memory, _ = self.stack("encoder", source, causal=False)
        y, weights = self.stack("decoder", target, causal=True, memory=memory)
        return self.logits(y), weights

    def logits(self, y):
        tied = self.state["decoder.embedding"]
        return y @ self.state.get("output.weight", tied).T

    def stack(self, side, ids, causal, memory=None):
        D = self.config.width
        x = self.state[f"{side}.embedding"][ids]
        x = x * math.sqrt(D) if self.config.scaled else x
        if self.config.positions == "sinusoidal":
            x = x + definitions.sinusoidal(np.arange(len(ids)), D, self.config.base)
        if self.config.positions == "learned":
            table = self.state[f"{side}.scheme.table.weight"]
            x = x + definitions.learned(np.arange(len(ids)), table)
        n, all_weights = 0, []
        while f"{side}.blocks.{n}.self_attn.W_q.weight" in self.state:
            x, weights = self.block(side, n, x, causal, memory)
            all_weights.append(weights)
            n += 1
        return self.norm(f"{side}.final_norm", x), all_weights

    def block(self, side, n, x, causal, memory):
        name, kept = f"{side}.blocks.{n}", []

        def across(x):
            found, weights = self.attention(f"{name}.cross_attn", x, memory)
            kept.append(weights)
            return found

        parts = {
            "self_attn": lambda x: self.attention(
                f"{name}.self_attn", x, x, side, causal
            )[0],
            "cross_attn": across,
            "feed_forward": lambda x: self.feed_forward(f"{name}.feed_forward", x),
        }
        if memory is None:
            del parts["cross_attn"]
        for part, f in parts.items():
            if self.config.norm == "pre":
                x = x + f(self.norm(f"{name}.{part}_norm", x))
            else:
                x = self.norm(f"{name}.{part}_norm", x + f(x))
        return x, kept[0] if kept else None

    def norm(self, name, x):
        if f"{name}.weight" not in self.state:
            return x
        weight, eps = self.state[f"{name}.weight"], self.config.eps
        if self.config.norm_kind == "rms":
            return definitions.rms_norm(x, weight, 1e-6 if eps is None else eps)
        eps = 1e-5 if eps is None else eps
        return definitions.layer_norm(x, weight, self.state[f"{name}.bias"], eps)

    def linear(self, name, x):
        return x @ self.state[f"{name}.weight"].T + self.state.get(f"{name}.bias", 0)

    def feed_forward(self, name, x):
        a = ACTIVATIONS[self.config.activation]
        if self.config.feed_forward == "gated":
            gate, up = self.linear(f"{name}.gate", x), self.linear(f"{name}.up", x)
            return self.linear(f"{name}.down", a(gate) * up)
        return self.linear(f"{name}.linear2", a(self.linear(f"{name}.linear1", x)))

    def attention(self, name, x, y, side=None, causal=False):
        """out (L, D) and weights (H, L, S); a side: it is self-attention."""
        if self.config.attention in RECURRENT:
            return self.recurrent(name, x), None
        if self.config.attention == "latent":
            return self.latent(name, side, x), None
        W_q, W_k, W_v = (with_bias(self.state, f"{name}.W_{w}") for w in "qkv")
        W_o = self.state[f"{name}.W_o.weight"]
        i, j = definitions.positions(len(x), len(y))
        allowed, weights = definitions.causal(i, j) if causal else True, []

        def head(h):
            normalize = self.normalizer(name, side, h)

            def attend(q, k, v):
                mask = allowed if side is None else self.chosen(q, k, allowed)
                s = self.scores(name, side, causal, h, *self.normed(name, q, k))
                s = s + self.forgotten(name, side, causal, h, x)
                weights.append(normalize(s, mask))
                return definitions.attend(s, v, mask, normalize)

            return attend

        heads = [head(h) for h in range(self.config.heads)]
        y = with_ones(y)
        out = definitions.multi_head(with_ones(x), y, y, W_q, W_k, W_v, W_o, heads)
        return out + self.state.get(f"{name}.W_o.bias", 0), np.stack(weights)

    def chosen(self, q, k, allowed):
        """The mask (L, L) of the blocks that each query chooses, and earlier keys."""
        c = self.config
        if c.attention == "window":
            i, j = definitions.positions(len(q), len(k))
            return allowed & (i - j < c.window)
        if c.attention != "blocks":
            return allowed
        mask = np.zeros((len(q), len(k)), bool)
        for i, row in enumerate(q):
            starts = range(0, i // c.block * c.block, c.block)
            g = [row @ k[b : b + c.block].mean(0) for b in starts]
            keys = definitions.chosen_keys(i, g, c.block, c.best_blocks)
            mask[i, keys] = True
        return mask

    def latent(self, name, side, x):
        """out (L, D) of heads whose keys are made from a latent vector."""
        H = self.config.heads
        of = {w: self.state[f"{name}.W_{w}.weight"] for w in "qdrkvo"}
        q, k, v, o = (
            np.split(of[w], H, axis=axis)
            for w, axis in (("q", 0), ("k", 0), ("v", 0), ("o", 1))
        )
        i, j = definitions.positions(len(x), len(x))
        return sum(
            definitions.mla(
                x, q[h], of["d"], of["r"], self.state[f"{name}.gain"], k[h], v[h], o[h],
                definitions.causal(i, j), self.normalizer(name, side, h),
            )
            for h in range(H)
        )  # fmt: skip

    def recurrent(self, name, x):
        """out (L, D) of heads with a state."""
        log_a = np.log(definitions.sigmoid(self.linear(f"{name}.W_a", x)))
        H, outputs = self.config.heads, []
        q, k, v = (np.split(self.linear(f"{name}.W_{w}", x), H, axis=1) for w in "qkv")
        for h in range(H):
            root, own = math.sqrt(q[h].shape[1]), slice(h, h + 1)
            if self.config.attention == "decay":
                o = definitions.decay(q[h] / root, k[h], v[h], log_a[:, own])
            else:
                q_h, k_h = (self.divided_by_rms(y[h]) / root for y in (q, k))
                b = definitions.sigmoid(self.linear(f"{name}.W_b", x))[:, own]
                o = definitions.delta_rule(q_h, k_h, v[h], b, log_a[:, own])
            outputs.append(self.state[f"{name}.gain"] * self.divided_by_rms(o))
        return self.linear(f"{name}.W_o", np.concatenate(outputs, axis=1))

    @staticmethod
    def divided_by_rms(x):
        return x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6)

    def normalizer(self, name, side, h):
        """The way from scores to weights of head h: (s, allowed) -> p."""
        row = NORMALIZERS.get(self.config.attention)
        if side is None or row is None:
            return definitions.softmax
        b = self.state.get(f"{name.removesuffix('self_attn')}normalize.b")
        parameters = [0.0 if b is None else b[h]] * bool(row.parameters)
        return lambda s, allowed: row.definition(s, allowed, *parameters, **row.options)

    def normed(self, name, q, k):
        """Queries and keys, each divided by its root mean square, times gains."""
        if self.config.attention != "qk-norm":
            return q, k
        gains = self.state[f"{name}.g_q"], self.state[f"{name}.g_k"]
        return [
            definitions.rms_norm(x, g, self.config.eps or 1e-6)
            for g, x in zip(gains, (q, k))
        ]

    def forgotten(self, name, side, causal, h, x):
        """c_i - c_j, the logarithm of the gates between j and i."""
        if not (self.config.attention == "forgetting" and side and causal):
            return 0
        f = self.linear(f"{name}.W_f", x)  # (L, Hk)
        c = np.log(definitions.sigmoid(f[:, h * f.shape[1] // self.config.heads]))
        return c.cumsum()[:, None] - c.cumsum()

    def scores(self, name, side, causal, h, q, k):
        """The scores (L, S) of head h."""
        c, E = self.config, q.shape[1]
        own = slice(h * E, h * E + E)
        g = h // (c.heads // (c.key_heads or c.heads))
        shared = slice(g * E, g * E + E)
        kind = c.positions if side or c.positions == "t5" else "none"
        if kind == "t5":
            if side is None:
                return definitions.dot(q, k)
            table = self.state[f"{side}.scheme.bias.table"][:, h]
            sizes = not causal, c.num_buckets, c.max_distance
            return definitions.t5(q, k, table, *sizes)
        if kind == "alibi":
            return definitions.alibi(q, k, definitions.alibi_slopes(c.heads)[h])
        if kind == "kerple":
            r, a = (
                np.logaddexp(0, self.state[f"{side}.scheme.bias.x_{x}"][h])
                for x in "ra"
            )
            return definitions.kerple(q, k, r, a)
        if kind == "fire":
            y_c, y_T, w_1, b_1, w_2 = (
                self.state[f"{side}.scheme.bias.{x}"]
                for x in ("y_c", "y_T", "W_1.weight", "W_1.bias", "W_2.weight")
            )
            T = self.config.max_length * np.logaddexp(0, y_T)
            network = w_1[:, 0], b_1, w_2[h]
            return definitions.fire(q, k, np.logaddexp(0, y_c), T, *network)
        if kind == "cope":
            return definitions.cope(q, k, self.state[f"{side}.scheme.table"])
        if kind == "shaw":
            return definitions.shaw(q, k, self.state[f"{side}.scheme.table"])
        if kind == "transformer-xl":
            u, w = (
                self.state[f"{side}.scheme.{kind}_bias"][h]
                for kind in ("content", "position")
            )
            distance = np.arange(len(q) - 1, -len(k), -1)
            R = definitions.sinusoidal(distance, c.width, c.base)
            R = self.linear(f"{side}.scheme.W_kR", R)[:, own]
            return definitions.transformer_xl(q, k, R, u, w)
        if kind == "disentangled":
            P = self.state[f"{side}.scheme.table"]
            K_r, Q_r = (self.linear(f"{name}.W_{w}", P) for w in "kq")
            return definitions.disentangled(q, k, Q_r[:, own], K_r[:, shared])
        if kind.startswith("rope"):
            q, k = self.rotated(q), self.rotated(k)
        elif kind not in ("none", "sinusoidal", "learned"):
            raise NotImplementedError(f"transformer_definition has no {kind!r}")
        return definitions.scaled_dot(q, k)

    def rotated(self, x):
        c, E = self.config, x.shape[1]
        w, factor = definitions.frequencies(E, c.base), 1.0
        if kind := SCALINGS.get(c.positions):
            s = max((self.length or 0) / c.max_length, 1)
            trained = [c.max_length] * issubclass(kind, ScalingByTurns)
            scaling = kind(s, *trained)
            w, factor = scaling.slow(w, c.base), scaling.attention_factor
        if not c.interleaved:
            return factor * definitions.rope(x, np.arange(len(x)), w)
        halves = np.concatenate([x[:, 0::2], x[:, 1::2]], 1)  # pairs (m, m + E/2)
        halves = factor * definitions.rope(halves, np.arange(len(x)), w)
        return np.stack(np.split(halves, 2, axis=1), -1).reshape(x.shape)

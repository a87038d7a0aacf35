"""The Transformer in plain NumPy, one example, one head and one pair at a time."""

import cmath
import math

import numpy as np


def erf(x):
    return np.vectorize(math.erf)(x)


ACTIVATIONS = {
    "relu": lambda x: np.where(x > 0, x, 0),
    "gelu": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
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
        x = self.state[f"{side}.embedding"][ids] * math.sqrt(D)
        for p in range(len(ids)):
            if self.config.positions == "sinusoidal":
                x[p] += self.sinusoid(p)
            if self.config.positions == "learned":
                x[p] = x[p] + self.state[f"{side}.scheme.table.weight"][p]
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
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)
        return x * self.state[f"{name}.weight"] + self.state[f"{name}.bias"]

    def linear(self, name, x):
        return x @ self.state[f"{name}.weight"].T + self.state.get(f"{name}.bias", 0)

    def feed_forward(self, name, x):
        x = ACTIVATIONS[self.config.activation](self.linear(f"{name}.linear1", x))
        return self.linear(f"{name}.linear2", x)

    def attention(self, name, x, y, side=None, causal=False):
        """out (L, D) and weights (H, L, S); a side: it is self-attention."""
        c = self.config
        H, E = c.heads, c.width // c.heads
        Hk = c.key_heads or H
        q, k, v = (self.linear(f"{name}.W_{w}", z) for w, z in zip("qkv", (x, y, y)))
        weights, out = np.zeros((H, len(x), len(y))), np.zeros((len(x), c.width))
        for h in range(H):
            own = slice(h * E, h * E + E)
            g = h // (H // Hk)
            shared = slice(g * E, g * E + E)
            for i in range(len(x)):
                keys = [j for j in range(len(y)) if not causal or j <= i]
                s = {
                    j: self.score(name, side, causal, h, i, j, q[i, own], k[j, shared])
                    for j in keys
                }
                total = sum(math.exp(s[j]) for j in keys)
                for j in keys:
                    weights[h, i, j] = math.exp(s[j]) / total
                    out[i, own] += weights[h, i, j] * v[j, shared]
        return self.linear(f"{name}.W_o", out), weights

    def score(self, name, side, causal, h, i, j, q, k):
        """The score of query i and key j in head h."""
        c, E = self.config, len(q)
        own = slice(h * E, h * E + E)
        g = h // (c.heads // (c.key_heads or c.heads))
        shared = slice(g * E, g * E + E)
        kind = c.positions if side or c.positions == "t5" else "none"
        if kind == "t5":
            if side is None:
                return q @ k
            table = self.state[f"{side}.scheme.bias.table"]
            return q @ k + table[self.bucket(j - i, causal), h]
        if kind == "alibi":
            return q @ k / math.sqrt(E) - 2 ** (-8 * (h + 1) / c.heads) * abs(i - j)
        if kind == "shaw":
            table, m = self.state[f"{side}.scheme.table"], c.max_distance
            return q @ (k + table[min(max(j - i, -m), m) + m]) / math.sqrt(E)
        if kind == "transformer-xl":
            u, w = (
                self.state[f"{side}.scheme.{kind}_bias"][h]
                for kind in ("content", "position")
            )
            R = self.linear(f"{side}.scheme.W_kR", self.sinusoid(i - j))[own]
            return ((q + u) @ k + (q + w) @ R) / math.sqrt(E)
        if kind == "disentangled":
            P, m = self.state[f"{side}.scheme.table"], c.max_distance
            K_r, Q_r = (self.linear(f"{name}.W_{w}", P) for w in "kq")
            forth, back = (min(max(d + m, 0), 2 * m - 1) for d in (i - j, j - i))
            return (q @ k + q @ K_r[forth, shared] + k @ Q_r[back, own]) / math.sqrt(
                3 * E
            )
        if kind.startswith("rope"):
            q, k = self.rotated(q, i), self.rotated(k, j)
        return q @ k / math.sqrt(E)

    def sinusoid(self, p):
        """Of position or distance p: (D,)"""
        D = self.config.width
        angles = [p / self.config.base ** (e // 2 * 2 / D) for e in range(D)]
        return np.array(
            [math.cos(a) if e % 2 else math.sin(a) for e, a in enumerate(angles)]
        )

    def bucket(self, distance, causal):
        nb, first = self.config.num_buckets, 0
        n = -distance if causal else abs(distance)
        if not causal:
            nb //= 2
            first = nb if distance > 0 else 0
        e = nb // 2
        if n < e:
            return first + n
        far = math.log(n / e) / math.log(self.config.max_distance / e)
        return first + min(e + int(far * (nb - e) + 1e-9), nb - 1)

    def rotated(self, x, p):
        """x by complex numbers: entries m and m + E / 2 are one complex number."""
        c, E = self.config, len(x)
        s = max((self.length or 0) / c.max_length, 1)
        kind, factor, z = c.positions, 1.0, []
        for m in range(E // 2):
            theta = c.base ** (-2 * m / E)
            if kind == "rope+linear":
                theta /= s
            if kind == "rope+ntk":
                theta *= s ** (-2 * m / (E - 2))
            if kind == "rope+yarn":
                low, high = (
                    E * math.log(c.max_length / (2 * math.pi * r))
                    / (2 * math.log(c.base))
                    for r in (32, 1)
                )  # fmt: skip
                low, high = max(math.floor(low), 0), max(math.ceil(high), 0)
                ramp = min(max((m - low) / ((high - low) or 0.001), 0), 1)
                theta = theta * (1 - ramp) + theta / s * ramp
                factor = 0.1 * math.log(s) + 1
            z.append(factor * complex(x[m], x[m + E // 2]) * cmath.exp(1j * p * theta))
        return np.array([each.real for each in z] + [each.imag for each in z])

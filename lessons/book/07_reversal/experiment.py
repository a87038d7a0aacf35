"""The experiments of lesson 07: models with each score learn to reverse strings.

The reversal experiment of chapter 38.6, and the controlled one. Lesson 07's record.

    python -m lessons experiment 7

Four scores, three set-ups, three seeds (the last set-up has one): each model is trained
once, as ``python -m attention reversal`` trains it, and then looked at from several
sides, which that command does one at a time. Some tens of minutes on two cores.

    book             the chapter's: padding is encoded and attended to like any letter
    masked           the same, but padding has no weight
    masked, encoder  and the decoder starts from the encoder's last state, not from zero

Does a model of lesson 07 count its steps, or follow itself? Lesson 07's record.

    python -m lessons experiment 7 seeds

The additive score is trained with twelve seeds and the dot score with three, all
attending to padding, as above. Then each model is disturbed. A step
t of the decoder reads a letter and a context, and the jump exchanges the context:

    s_t = GRU([y_(t-1); c_t], s_(t-1))       undisturbed
    s'  = GRU([y_(t-1); c_u], s_(t-1))       the context of another step u

A model that counts its steps looks next where it would look after step t, a model that
follows the context where it would look after step u. Some minutes, two cores.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np

import minigrad as mg
from attention.app.experiments.reversal import KINDS, Config, alignment, evaluate, train
from attention.tasks.reversal import FIRST, make_batch, random_batch
from lessons.classroom.records import one_of, write_record

SETUPS = {
    "book": {"preset": "book"},
    "masked": {"preset": "masked"},
    "masked, encoder": {"preset": "masked", "decoder_init": "encoder"},
}
SEEDS = (1, 2, 3)
LENGTHS = (3, 5, 7, 8, 10)  # of the strings that are evaluated
WIDTHS = {3: range(3, 13), 5: range(5, 13), 7: range(7, 13)}  # and padded to
EVERY = 20  # steps between two kept losses, each a mean of so many


def measure(setup, kind, seed):
    """Train one model; return what it gets right, padded or not, and where it looks."""
    config = Config(**SETUPS[setup], lengths=LENGTHS)
    run, _ = train(config, kind, seed)
    accuracy = evaluate(config, run.model)["accuracy"]
    widths = {}
    for length, padded_to in WIDTHS.items():
        for width in padded_to:
            told = replace(config, lengths=(length,), pad_eval=width)
            right = evaluate(told, run.model)["accuracy"]
            widths.setdefault(str(length), []).append(right[str(length)])
    return {
        "setup": setup,
        "kind": kind,
        "seed": seed,
        "loss": np.mean(run.losses[-50:]),
        "curve": np.reshape(run.losses, (-1, EVERY)).mean(1).round(5),
        "accuracy": [accuracy[str(n)] for n in LENGTHS],
        "widths": widths,
        "on_padding": on_padding(run.model),
        "alignment": np.round(alignment(run.model)["weights"], 4),
    }


def on_padding(model, length=5, width=8):
    """The weight that lies on padding, by output step: mean over 500 strings."""
    batch = random_batch(
        np.random.default_rng([97, length]), 500, length, length, width
    )
    with mg.no_grad():
        output = model.forced(batch.source, batch.target_in, batch.lengths)
    weights = output.weights.numpy()  # (500, L + 1, 8)
    return weights[:, :length, length:].sum(-1).mean(0).round(4)


def trained():
    runs = []
    for seed in SEEDS:
        for setup in SETUPS:
            if setup == "masked, encoder" and seed != SEEDS[0]:
                continue  # one seed will do, where there is nothing to rank
            for kind in KINDS:
                runs.append(measure(setup, kind, seed))
                found = runs[-1]
                print(setup, kind, seed, found["loss"], found["accuracy"], flush=True)
    results = {
        "lengths": LENGTHS,
        "widths": {str(n): list(padded_to) for n, padded_to in WIDTHS.items()},
        "every": EVERY,
        "word": "reversal",
        "runs": runs,
    }
    print(write_record("reversal", results, seeds=SEEDS))


OF_KINDS = {"additive": range(1, 13), "dot": (1, 2, 3)}
STRINGS, n = 200, 8  # of the jumps: of the trained width, without padding


def disturbed(kind, seed):
    """Train one model; return what it gets right, and how far it follows."""
    config = Config(preset="book", lengths=LENGTHS)
    run, _ = train(config, kind, seed)
    accuracy = evaluate(config, run.model)["accuracy"]
    with mg.no_grad():
        follows = {"context": jump(run.model)}
    return {
        "kind": kind,
        "seed": seed,
        "accuracy": [accuracy[str(length)] for length in LENGTHS],
        "follows": follows,
    }


def draw():
    """Draw strings in which no letter occurs twice."""
    rng = np.random.default_rng([98, n])
    letters = np.stack([rng.permutation(26)[:n] for _ in range(STRINGS)])
    return make_batch(FIRST + letters, np.full(STRINGS, n))


def jump(model):
    """Return the part of a jump that attention follows: 0 if it stays, 1 if it goes.

    The place of attention is the mean place of its weights. The result is the slope of
    a line through the origin: places moved against places to move, for all pairs t, u.
    """
    batch, order = draw(), model.decoder.order
    start = model.start(batch.source, batch.lengths)
    x = model.decoder.embed(batch.target_in)  # (B, n + 1, E)

    def attend(state):
        options = state[0][:, None], start.keys, start.memory, start.lengths
        c = order.attention(*options)[:, 0]  # (B, M)
        return c, order.attention.attention_weights.data[:, 0] @ np.arange(n)  # (B,)

    states, contexts, places = [start.recurrent], [], []  # before each step
    for t in range(n):
        c, place = attend(states[t])
        contexts.append(c)
        places.append(place)
        states.append(order.cell(mg.concat([x[:, t], c], -1), states[t]))
    moved, to_move = [], []
    for t in range(1, n - 1):
        for u in range(1, n - 1):
            read = mg.concat([x[:, t], contexts[u]], -1)
            _, place = attend(order.cell(read, states[t]))
            moved.append(place - places[t + 1])
            to_move.append(places[u + 1] - places[t + 1])
    moved, to_move = np.ravel(moved), np.ravel(to_move)
    return float(moved @ to_move / (to_move @ to_move))


def jumps():
    tasks = [(kind, seed) for kind, seeds in OF_KINDS.items() for seed in seeds]
    runs = []
    with ProcessPoolExecutor() as pool:
        for found in pool.map(disturbed, *zip(*tasks)):
            runs.append(found)
            print(*found.values(), flush=True)
    additive = [run["accuracy"] for run in runs if run["kind"] == "additive"]
    results = {"accuracy": additive, "runs": runs}
    print(write_record("reversal_seeds", results, seeds=OF_KINDS["additive"]))


if __name__ == "__main__":
    one_of(experiment=trained, seeds=jumps)

"""Does a model of lesson 07 count its steps, or follow itself? Lesson 07's record.

    python -m lessons experiment 7 seeds

The additive score is trained with twelve seeds and the dot score with three, all
attending to padding, as in ``experiment.py``. Then each model is disturbed. A step
t of the decoder reads a letter and a context, and the jump exchanges them:

    s_t = GRU([y_(t-1); c_t], s_(t-1))       undisturbed
    s'  = GRU([y_(u-1); c_u], s_(t-1))       the input of another step u

A model that counts its steps looks next where it would look after step t, a model that
follows what is exchanged where it would look after step u. Some minutes, two cores.
"""

from concurrent.futures import ProcessPoolExecutor

import numpy as np

import minigrad as mg
from attention.app.experiments.reversal import Config, alignment, evaluate, train
from attention.tasks.reversal import FIRST, make_batch
from lessons.classroom.records import write_record

SEEDS = {"additive": range(1, 13), "dot": (1, 2, 3)}
LENGTHS = (3, 5, 7, 8, 10)
WORD = "algorithms"  # ten letters, all different
STRINGS, n = 200, 8  # of the jumps: of the trained width, without padding


def measure(kind, seed):
    """Train one model; return what it gets right, where it looks, what it follows."""
    config = Config(preset="book", lengths=LENGTHS)
    run, _ = train(config, kind, seed)
    accuracy = evaluate(config, run.model)["accuracy"]
    with mg.no_grad():
        follows = {name: jump(run.model, *parts) for name, parts in PARTS.items()}
        seen = {str(length): looks(run.model, length) for length in (8, 10)}
    return {
        "kind": kind,
        "seed": seed,
        "accuracy": [accuracy[str(length)] for length in LENGTHS],
        "follows": follows,
        "looks": seen,
        "alignment": np.round(alignment(run.model, WORD)["weights"], 3),
    }


def draw(length):
    """Draw strings in which no letter occurs twice."""
    rng = np.random.default_rng([98, length])
    letters = np.stack([rng.permutation(26)[:length] for _ in range(STRINGS)])
    return make_batch(FIRST + letters, np.full(STRINGS, length))


def looks(model, length):
    """Return the mean weight of five letters, the wanted one in the middle.

    The mean is over the steps at which all five letters exist.
    """
    batch = draw(length)
    p = model.forced(batch.source, batch.target_in, batch.lengths).weights.data
    steps = range(2, length - 2)
    near = [[p[:, t, length - 1 - t + k].mean() for t in steps] for k in range(-2, 3)]
    return np.round(np.mean(near, 1), 4)


PARTS = {"letter": (True, False), "context": (False, True), "both": (True, True)}


def jump(model, letter, context):
    """Return the part of a jump that attention follows: 0 if it stays, 1 if it goes.

    letter, context    which of the two inputs are those of step u

    The place of attention is the mean place of its weights. The result is the slope of
    a line through the origin: places moved against places to move, for all pairs t, u.
    """
    batch, order = draw(n), model.decoder.order
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
            read = x[:, u if letter else t], contexts[u if context else t]
            _, place = attend(order.cell(mg.concat(read, -1), states[t]))
            moved.append(place - places[t + 1])
            to_move.append(places[u + 1] - places[t + 1])
    moved, to_move = np.ravel(moved), np.ravel(to_move)
    return float(moved @ to_move / (to_move @ to_move))


def main():
    tasks = [(kind, seed) for kind, seeds in SEEDS.items() for seed in seeds]
    runs = []
    with ProcessPoolExecutor() as pool:
        for found in pool.map(measure, *zip(*tasks)):
            runs.append(found)
            print(*(found[k] for k in list(found)[:-1]), flush=True)
    additive = [run["accuracy"] for run in runs if run["kind"] == "additive"]
    results = {"lengths": LENGTHS, "accuracy": additive, "word": WORD, "runs": runs}
    print(write_record("reversal_seeds", results, seeds=SEEDS["additive"]))


if __name__ == "__main__":
    main()

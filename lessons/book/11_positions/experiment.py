"""Which positions carry on beyond the trained lengths? The record of lesson 11.

    python -m lessons experiment 11

Small decoders, one for each scheme and one without positions, are trained on sequences
of up to 32 tokens, with five seeds. Then they read 32, 64 and 128 tokens. The answers
are counted by their distance: how many tokens before the question the answer stands.
The runs that choose a rate read the long sequences too: whether a scheme carries on
must not depend on a rate that was chosen in short ones. Some 40 minutes on two cores.

RoPE is evaluated as it is, with its rotations slowed down, and cut off: of a long
sequence it then reads only the 32 tokens that end with the question. Whatever the
others know about far tokens, they must be better than that.
"""

import numpy as np

from attention.tasks.bindings import NOTHING, Bindings
from attention.transformer import DecoderOnly, TransformerConfig
from lessons.classroom.studies import study
from lessons.instrument.fair import Study

LONGEST, LENGTHS = 32, (32, 64, 128)  # of the training, of the tests
SLOWED = ("rope+ntk", "rope+yarn")
DISTANCES = ((1, 31), (32, 63), (64, 127))  # tokens between question and answer
TASK = Bindings()


def answers(rng, rows, length):
    """Draw ids and targets (rows, length), and the distance of each answer."""
    ids, targets = TASK.draw(rng, rows, length)
    distance = np.zeros_like(targets)
    for b, row in enumerate(ids):
        last = {}  # key: the place of its latest value
        for t in range(0, length, 2):
            distance[b, t] = t - last.get(row[t], t)
            last[row[t]] = t + 1
    return ids, targets, distance


class Positions(Study):
    """The task of lesson 11; the figure is that of the trained lengths."""

    name, question = "schemes", "Which positions work beyond the trained lengths?"
    measure, chance = "share of right values within 32 tokens", 1 / TASK.values
    trivial = 0.45  # whoever knows the frequent values, and not whose, has some .35
    arms = {
        "none": {"positions": "none"},
        "sinusoidal": {"positions": "sinusoidal"},
        "learned": {"positions": "learned", "max_length": max(LENGTHS)},
        "t5": {"positions": "t5"},
        "rope": {"positions": "rope"},
        "alibi": {"positions": "alibi"},
        "kerple": {"positions": "kerple"},
        "fire": {"positions": "fire"},
    }
    rates, every, budget, warmup, batch = (1e-3, 2e-3, 4e-3), 200, 4000, 100, 16
    ignored = NOTHING

    def model(self, arm, rng, **options):
        sizes = {"width": 32, "layers": 2, "heads": 4, "activation": "relu"}
        config = {**sizes, "max_length": LONGEST, **self.arms[arm], **options}
        return DecoderOnly(TransformerConfig(TASK.vocabulary, **config), rng)

    def draw(self, n, *key):
        rng = np.random.default_rng(key)
        length = LONGEST // 4 * int(rng.integers(1, 5))  # short ones are learned sooner
        return TASK.draw(rng, n, length)

    def validate(self, arm, model):
        ids, targets, _ = answers(np.random.default_rng(1), 200, LONGEST)
        return self.figure(model, ids, targets)

    def test(self, arm, model):
        """Return shares of right answers by length and distance."""
        found = {arm: by_distance(model)}
        if self.arms[arm]["positions"] == "rope":
            found[f"{arm}, cut off"] = by_distance(model, cut=True)
            for scheme in SLOWED:
                slowed = self.model(arm, None, positions=scheme).eval()
                slowed.load_state_dict(model.state_dict())
                found[f"{arm}{scheme.removeprefix('rope')}"] = by_distance(slowed)
        return {"figure": found[arm]["all"][str(LONGEST)], "found": found}


def right(model, ids, targets, cut=False):
    """Return which of the answers are right, of all targets in order."""
    rows, at = np.nonzero(targets != NOTHING)
    if cut:  # the tokens that end with the question, in the second half
        windows = [ids[b, t - LONGEST + 1 : t + 1] for b, t in zip(rows, at)]
        logits = model(np.array(windows)).numpy()[:, -1]
    else:
        model.extend(ids.shape[1])
        logits = model(ids).numpy()[rows, at]
    return logits.argmax(-1) == targets[rows, at]


def by_distance(model, cut=False):
    """Return {"all": {length: share}, "1-31": …}, of the second half of the tokens."""
    found = {"all": {}, **{f"{a}-{b}": {} for a, b in DISTANCES}}
    for length in LENGTHS:
        rng = np.random.default_rng([2, length])
        ids, targets, distance = answers(rng, 200, length)
        targets[:, : length // 2] = NOTHING
        good = right(model, ids, targets, cut and length > LONGEST)
        far = distance[targets != NOTHING]
        found["all"][str(length)] = float(good.mean())
        for a, b in DISTANCES:
            inside = (a <= far) & (far <= b)
            if inside.any():
                found[f"{a}-{b}"][str(length)] = float(good[inside].mean())
    return found


def answers_by_distance():
    """Return the share of the answers at 128 tokens that stand at each distance."""
    length = max(LENGTHS)
    _, targets, distance = answers(np.random.default_rng([2, length]), 200, length)
    far = distance[:, length // 2 :][targets[:, length // 2 :] != NOTHING]
    shares = {f"{a}-{b}": ((a <= far) & (far <= b)).mean() for a, b in DISTANCES}
    return {"lengths": LENGTHS, "answers": shares, "counted": len(far)}


if __name__ == "__main__":
    study("positions", [Positions()], answers_by_distance)

"""Reduce the frequencies of RoPE, for sequences s times as long as in training.

A model that was trained on L0 positions knows no larger angles. Each class here reduces
the frequencies theta_m of ``rope``, so that longer sequences have known angles:

    LinearScaling    theta_m / s                  for all m; it is harder to
                                                  distinguish neighbours
    NTKScaling       theta_m s^(-2m / (R - 2))    the largest does not change, the
                                                  smallest is divided by s
    YaRNScaling      theta_m for pairs that rotate often in L0 steps, theta_m / s for
                     pairs that do not complete one turn, values between for the others;
                     also larger scores
    Llama3Scaling    the same without larger scores, and linear in the number of turns

R is the number of entries that are rotated, m = 0, 1, ..., R / 2 - 1. s = 1 changes
nothing. There are no learned parameters, and the cost of ``rope`` does not change.

Chen et al. 2023 (linear); bloc97 2023 (NTK-aware); Peng et al. 2023 (YaRN); Grattafiori
et al. 2024 (Llama 3, whose code has the formula).
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from minigrad.arguments import number, whole

from .. import definitions
from .rope import ROTATED, RoPE
from .scheme import Position


@dataclass
class Scaling:
    """The base class: a factor s, and a method ``slow`` that subclasses define.

    factor   1 or more: s
    """

    factor: float
    attention_factor = 1.0  # of cos and sin: a part of a score gets its square

    def __post_init__(self):
        number(type(self).__name__, "factor", self.factor, least=1)

    def slow(self, theta, base):
        """Return theta' (R/2,) for the frequencies theta (R/2,) of this base."""
        raise NotImplementedError(f"{type(self).__name__} has no method slow.")


@dataclass
class LinearScaling(Scaling):
    """Position interpolation: theta / s, which is the same as positions / s.

    Chen et al. 2023.
    """

    def slow(self, theta, base):
        """Return theta / s."""
        return theta / self.factor


@dataclass
class NTKScaling(Scaling):
    """A larger base: base' = base s^(R / (R - 2)), so theta'_m = theta_m s^(-2m/(R-2)).

    bloc97, "NTK-aware scaled RoPE", 2023; Peng et al. 2023, section 3.1.
    """

    def slow(self, theta, base):
        """Return theta_m s^(-2m / (R - 2)); a single pair (R = 2) does not change."""
        m, R = np.arange(len(theta)), 2 * len(theta)
        return theta * self.factor ** (-2 * m / max(R - 2, 1))


@dataclass
class ScalingByTurns(Scaling):
    """Scale each frequency by the number of turns that it makes in L0 positions.

    original_length   L0
    """

    original_length: int

    def __post_init__(self):
        super().__post_init__()
        whole(type(self).__name__, "original_length", self.original_length, least=1)


@dataclass
class YaRNScaling(ScalingByTurns):
    """Keep pairs of more than 32 turns, and divide by s those of less than one.

        ramp_m = clip((m - low) / (high - low), 0, 1)
        theta'_m = theta_m (1 - ramp_m) + theta_m ramp_m / s

    attention_factor   0.1 ln(s) + 1

    Peng et al. 2023, sections 3.2 and 3.4. The ramp is linear in m, as in the authors'
    code; in their text it is linear in the number of turns.
    """

    def __post_init__(self):
        super().__post_init__()
        self.attention_factor = 0.1 * math.log(self.factor) + 1

    def slow(self, theta, base):
        """Return theta_m (1 - ramp_m) + theta_m ramp_m / s."""
        low, high = self.limits(2 * len(theta), base)
        width = high - low or 0.001  # a step instead of a ramp
        ramp = np.clip((np.arange(len(theta)) - low) / width, 0, 1)
        return theta * (1 - ramp * (1 - 1 / self.factor))

    def limits(self, R, base):
        """Return the m where the ramp begins and ends, rounded outwards."""
        low = math.floor(self.pair_with_turns(32, R, base))
        high = math.ceil(self.pair_with_turns(1, R, base))
        return tuple(min(max(m, 0), R - 1) for m in (low, high))

    def pair_with_turns(self, r, R, base):
        """Return the m, not rounded, whose pair makes r turns: theta_m L0 = 2 pi r.

        base^(-2m / R) L0 = 2 pi r,   so   m = R ln(L0 / (2 pi r)) / (2 ln base)
        """
        L0 = self.original_length
        return R * math.log(L0 / (2 * math.pi * r)) / (2 * math.log(base))


@dataclass
class Llama3Scaling(ScalingByTurns):
    """Keep pairs of r = 4 turns and more, and divide by s those of one turn or less.

        r_m = theta_m L0 / (2 pi),   ramp_m = clip((r_m - 1) / (4 - 1), 0, 1)
        theta'_m = theta_m ramp_m + theta_m (1 - ramp_m) / s
    """

    def slow(self, theta, base):
        """Return theta_m ramp_m + theta_m (1 - ramp_m) / s."""
        turns = theta * self.original_length / (2 * math.pi)
        ramp = np.clip((turns - 1) / 3, 0, 1)
        return theta * (1 - (1 - ramp) * (1 - 1 / self.factor))


SCALINGS = {
    "rope+linear": LinearScaling,
    "rope+ntk": NTKScaling,
    "rope+yarn": YaRNScaling,
    "rope+llama3": Llama3Scaling,
}


class ScaledRoPE(RoPE):
    """RoPE with frequencies as in training, until ``extend`` reduces them.

    s = length / trained_length. The frequencies do not change during a sequence: the
    keys in a cache are rotated already, and later queries must be rotated by the same
    frequencies.
    """

    def __init__(self, config, causal, rng):
        super().__init__(config, causal, rng)
        self.name, self.trained_length = config.positions, config.max_length
        self.length = self.trained_length

    def extend(self, length):
        """Set the longest length; no scaling if it is not above the trained length."""
        self.length = max(length, self.trained_length)

    def embed(self, x, positions):
        """Return x; raise ValueError for positions beyond ``length``."""
        longest = np.max(positions, initial=-1) + 1
        if longest > self.length:
            raise ValueError(
                f"{self.name}: a sequence has {longest} tokens, and the rotations are "
                f"for {self.length} at most; expected model.extend({longest}) first."
            )
        return x

    def options(self, attention, positions=None):
        """Return the rotation, with reduced frequencies after ``extend``."""
        options = super().options(attention, positions)
        return {"rotate": partial(options["rotate"], scaling=self.scaling())}

    def scaling(self):
        """Return the ``Scaling`` for the length."""
        s, kind = self.length / self.trained_length, SCALINGS[self.name]
        trained = [self.trained_length] if issubclass(kind, ScalingByTurns) else []
        return kind(s, *trained)


ROWS = [
    Position(
        "rope+linear", ScaledRoPE, definitions.rope,
        """score: all angles of rope are divided by the factor by which the text
        is longer
        can read longer texts with angles that training had
        cannot distinguish near places as well as before
        lesson 11: reading beyond the trained length; Chen et al. 2023""",
        ROTATED,
    ),
    Position(
        "rope+ntk", ScaledRoPE, definitions.rope,
        """score: a larger base: slow angles of rope are divided, fast ones kept
        can distinguish near places in longer texts as before
        cannot divide the middle angles by the whole factor
        lesson 11: reading beyond the trained length; bloc97 2023""",
        ROTATED,
    ),
    Position(
        "rope+yarn", ScaledRoPE, definitions.rope,
        """score: angles by wavelength: kept, mixed or divided; a factor on the
        scores
        can distinguish near places as before, and keep far distances in the range of
        training
        cannot be computed without the length of the training texts
        lesson 11: reading beyond the trained length; Peng et al. 2023""",
        ROTATED,
    ),
    Position(
        "rope+llama3", ScaledRoPE, definitions.rope,
        """score: angles by their turns in a training text: kept, mixed or divided
        can distinguish near places as before, and keep far distances in the range of
        training
        cannot be computed without the length of the training texts
        not shown yet; Grattafiori et al. 2024""",
        ROTATED,
    ),
]  # fmt: skip

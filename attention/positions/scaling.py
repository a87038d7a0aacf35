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

from functools import partial
import math
from dataclasses import dataclass

import numpy as np

from minigrad.arguments import whole

from .. import definitions
from .rope import ROTATED, RoPE
from .scheme import Position


@dataclass
class Scaling:
    """The base class: a factor s, and a method ``slow`` that subclasses define.

    factor             1 or more: s
    attention_factor   multiplies cos and sin, so that the rotated entries' part of a
                       score gets its square
    """

    factor: float
    attention_factor = 1.0  # not a field: only YaRN changes it

    def __post_init__(self):
        _check_at_least(1, self, "factor", self.factor)

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
class YaRNScaling(Scaling):
    """Scale each frequency by the number of turns that it makes in L0 positions.

        ramp_m = clip((m - low) / (high - low), 0, 1)
        theta'_m = theta_m (1 - ramp_m) + theta_m ramp_m / s

    original_length    L0
    beta_fast          pairs with more turns than this in L0 positions do not change
    beta_slow          pairs with fewer turns than this are divided by s
    attention_factor   multiplies the rotated entries; None is 0.1 ln(s) + 1

    Peng et al. 2023, sections 3.2 and 3.4. The ramp is linear in m, as in the authors'
    code; in their text it is linear in the number of turns.
    """

    original_length: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None

    def __post_init__(self):
        super().__post_init__()
        name, L0 = type(self).__name__, self.original_length
        whole(name, "original_length", L0, least=1)
        numbers = _is_number(self.beta_fast) and _is_number(self.beta_slow)
        if not (numbers and self.beta_fast >= self.beta_slow > 0):
            raise ValueError(
                f"YaRNScaling: beta_fast is {self.beta_fast} and beta_slow "
                f"{self.beta_slow}; expected beta_fast >= beta_slow > 0."
            )
        if self.attention_factor is None:
            self.attention_factor = 0.1 * math.log(self.factor) + 1
        elif not _is_number(self.attention_factor) or self.attention_factor <= 0:
            raise ValueError(
                f"YaRNScaling: attention_factor is {self.attention_factor!r}; expected "
                "a positive number, or None for 0.1 ln(factor) + 1."
            )

    def slow(self, theta, base):
        """Return theta_m (1 - ramp_m) + theta_m ramp_m / s."""
        low, high = self.limits(2 * len(theta), base)
        width = high - low or 0.001  # a step instead of a ramp
        ramp = np.clip((np.arange(len(theta)) - low) / width, 0, 1)
        return theta * (1 - ramp * (1 - 1 / self.factor))

    def limits(self, R, base):
        """Return the m where the ramp begins and ends, rounded outwards."""
        low = math.floor(self.pair_with_turns(self.beta_fast, R, base))
        high = math.ceil(self.pair_with_turns(self.beta_slow, R, base))
        return tuple(min(max(m, 0), R - 1) for m in (low, high))

    def pair_with_turns(self, r, R, base):
        """Return the m, not rounded, whose pair makes r turns: theta_m L0 = 2 pi r.

        base^(-2m / R) L0 = 2 pi r,   so   m = R ln(L0 / (2 pi r)) / (2 ln base)
        """
        L0 = self.original_length
        return R * math.log(L0 / (2 * math.pi * r)) / (2 * math.log(base))


@dataclass
class Llama3Scaling(Scaling):
    """Scale each frequency by the number of turns r that it makes in L0 positions.

        r_m = theta_m L0 / (2 pi),   ramp_m = clip((r_m - low) / (high - low), 0, 1)
        theta'_m = theta_m ramp_m + theta_m (1 - ramp_m) / s

    original_length   L0
    low, high         the turns below which theta_m is divided by s, and above which it
                      does not change
    """

    original_length: int
    low: float = 1.0
    high: float = 4.0

    def __post_init__(self):
        super().__post_init__()
        whole("Llama3Scaling", "original_length", self.original_length, least=1)

    def slow(self, theta, base):
        """Return theta_m ramp_m + theta_m (1 - ramp_m) / s."""
        turns = theta * self.original_length / (2 * math.pi)
        ramp = np.clip((turns - self.low) / (self.high - self.low), 0, 1)
        return theta * (ramp + (1 - ramp) / self.factor)


def _check_at_least(least, scaling, name, value):
    if not _is_number(value) or value < least:
        raise ValueError(
            f"{type(scaling).__name__}: {name} is {value!r}; expected a number of "
            f"{least} or more."
        )


def _is_number(value):
    return isinstance(value, (int, float, np.number)) and math.isfinite(value)


BY_TURNS = {"rope+yarn": YaRNScaling, "rope+llama3": Llama3Scaling}


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
        """Return an object of positions/scaling.py, or None without scaling."""
        s = self.length / self.trained_length
        if s == 1:
            return None
        if self.name in BY_TURNS:
            return BY_TURNS[self.name](s, self.trained_length)
        return {"rope+linear": LinearScaling, "rope+ntk": NTKScaling}[self.name](s)


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

"""Decoding: find or sample a sentence of a model, recurrent or Transformer.

greedy.py     the most probable token at each step, and the methods that a model needs
beam.py       beam search: several sentences at once, with penalties
sampling.py   random sentences; inputs that are partly the model's own
drafts.py     tokens that a small model proposes and a large one verifies
"""

from . import beam, drafts, greedy, sampling  # noqa: F401

"""attention: every attention variant as one template with a choice of score and mask.

Read these first:

first_model.py          a script: a small model with attention, and its training
definitions.py          every variant in NumPy, for one head of one example
scores.py, softmax.py   how well a key suits a query; scores into weights
template.py, layers.py  the template that joins them; the same with learned scores
                        (scores to layers are the whole of classical attention)

exact/          scaled dot-product attention, whole and in tiles; many heads; a cache
variants/       a file for each variant; ``python -m attention variants`` lists them
masks/          which key a query may attend to, as an algebra and in blocks
positions/      how attention learns where a token stands
kernels/        the hot loops, compiled by numba, each beside its NumPy twin
seq2seq/        recurrent models with attention
transformer/    Transformer blocks and models
decoding/       greedy decoding, beam search, sampling, verified drafts
training/       the training loop, which can be stopped and resumed
metrics/        accuracy, BLEU, word alignment
published/      models that others trained, read and run
tasks/          what the models learn: reversal, grammars, your own text
costs/          what attention costs: formulas, counted, measured
plotting/       figures of weights and training runs
app/            the command line

A letter that neither a docstring nor that of its class or module defines has the
meaning of the table of ``help(minigrad)``, or this:

L           in a shape, the number of queries, or of steps t of a decoder
S           the number of keys, each with its value
D           the width (number of entries) of queries and keys
Dq, Dk, Ev  the width of queries, of keys, if they differ, and of values
A           the width of the projected queries and keys of the additive score
H, Hk, E    shapes (..., H, L, E): the numbers of heads and of key heads, each shared by
            H / Hk heads, and the width of a head
E, H, M     in a recurrent model: the widths of an embedding, of a state of the decoder,
            and of a state of the encoder
q, k, v     a query, a key and its value; with an index, rows of the matrices Q, K, V
s_ij, p_ij  the score and the weight of query i and key j; c_i is the context

public.py lists the public names, such as ``attention.attend``. It is imported when the
first name is used, so that ``python -m attention --help`` does not wait for NumPy.
variants/table.py collects the rows at the foot of the pages.
"""

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what the package has, for editors
    from . import (
        app, costs, decoding, definitions, exact, first_model, inheritance, kernels,
        layers, masks, metrics, plotting, positions, published, scores, seq2seq,
        softmax, stopping, tasks, template, training, transformer, variants,
    )  # fmt: skip
    from .public import *
else:

    def __getattr__(name):
        """Import a subpackage, or public.py, and return one of its names."""
        if name in _modules():  # without public.py, whose modules import some of them
            return importlib.import_module(f"{__name__}.{name}")
        public = importlib.import_module(f"{__name__}.public")
        if name in (*public.__all__, "__all__"):
            globals()[name] = getattr(public, name)
        if name in globals():
            return globals()[name]
        from minigrad.torch_names import unknown

        raise unknown("attention", name, {} if name[0] == "_" else _elsewhere(name))


def __dir__():
    return {*__getattr__("__all__"), *_modules(), *globals()}


def _elsewhere(name):
    """Return {name: what to write} if a subpackage has a public name."""
    for package in ("masks", "transformer", "training", "metrics"):
        module = importlib.import_module(f"{__name__}.{package}")
        if name in module.__all__:
            return {name: f"attention.{package}.{name}"}
    return {}


@functools.cache
def _modules():
    found = {each.name for each in pkgutil.iter_modules(__path__)}
    return found - {"__main__"}

# What the package has, for editors and type checkers.

from . import (
    app as app,
    costs as costs,
    decoding as decoding,
    definitions as definitions,
    exact as exact,
    first_model as first_model,
    inheritance as inheritance,
    kernels as kernels,
    layers as layers,
    marian as marian,
    masks as masks,
    metrics as metrics,
    plotting as plotting,
    positions as positions,
    scores as scores,
    seq2seq as seq2seq,
    softmax as softmax,
    tasks as tasks,
    template as template,
    training as training,
    transformer as transformer,
    variants as variants,
)
from .public import *

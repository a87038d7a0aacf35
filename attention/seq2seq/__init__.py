"""Recurrent encoder-decoders with attention: models, training, decoding and metrics."""

from . import (
    alignment_metrics,
    attention_gru,
    beam,
    bleu,
    cells,
    config,
    decoder,
    decoder_steps,
    decoding,
    encoder,
    encoder_gru,
    find_nan,
    metrics,
    model,
    patterns,
    reverser,
    sampling,
    training,
    translator,
)  # fmt: skip

__all__ = [
    "alignment_metrics", "attention_gru", "beam", "bleu", "cells", "config", "decoder",
    "decoder_steps", "decoding", "encoder", "encoder_gru", "find_nan", "metrics",
    "model", "patterns", "reverser", "sampling", "training", "translator",
]  # fmt: skip

"""Encoder, decoder and what stands between them."""

from ..late import late

__getattr__ = late(
    __name__,
    "alignment_metrics",
    "attention_gru",
    "beam",
    "bleu",
    "cells",
    "config",
    "decoder",
    "decoding",
    "encoder",
    "encoder_gru",
    "metrics",
    "model",
    "orders",
    "patterns",
    "reverser",
    "sampling",
    "scheduled_sampling",
    "training",
    "translator",
    "watch",
)

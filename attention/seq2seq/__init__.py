"""Recurrent encoder-decoders with attention.

config.py                  the choices of a model
model.py                   the encoder-decoder; reverser.py is that of ``reversal``
encoder.py                 the encoder, and the first state of the decoder
decoder.py                 the decoder; decoder_steps.py has two of its steps
cells.py                   stacked GRU or LSTM cells
attention_gru.py           a GRU decoder with attention: all steps as one operation
translator.py              a model with its vocabularies, in one file
"""

from . import (  # noqa: F401
    attention_gru,
    cells,
    config,
    decoder,
    decoder_steps,
    encoder,
    model,
    reverser,
    translator,
)  # fmt: skip

"""Recurrent encoder-decoders with attention: models, training, decoding and metrics.

config.py                  the choices of a model
model.py                   the encoder-decoder; reverser.py is that of ``reversal``
encoder.py                 the encoder, and the first state of the decoder
decoder.py                 the decoder; decoder_steps.py has two of its steps
cells.py                   stacked GRU or LSTM cells
encoder_gru.py             a GRU over time, compiled
attention_gru.py           a GRU decoder with attention: all steps as one operation
training.py                the training loop; find_nan.py explains a NaN
decoding.py                greedy decoding; beam.py: beam search; sampling.py: sampling
translator.py              a model with its vocabularies, in one file
metrics.py                 accuracy; bleu.py, alignment_metrics.py, patterns.py
"""

from . import (  # noqa: F401
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

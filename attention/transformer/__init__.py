"""Transformers: blocks of attention, a language model and a translator.

config.py            the choices of a model, to and from a dict
block.py             one block, with the norm before or after what it adds
stack.py             embedded tokens, positions and blocks
decoder_only.py      a language model: each token from the tokens before it
encoder_decoder.py   a translator: each token from the source and the tokens before it
decoding.py          the state of a model that writes one token at a time
"""

from .block import Block, FeedForward
from .config import ACTIVATIONS, EncoderDecoderConfig, TransformerConfig
from .decoder_only import DecoderOnly
from .decoding import Decoding
from .encoder_decoder import EncoderDecoder

__all__ = [
    "ACTIVATIONS",
    "TransformerConfig",
    "EncoderDecoderConfig",
    "FeedForward",
    "Block",
    "DecoderOnly",
    "EncoderDecoder",
    "Decoding",
]

"""The Transformer: blocks of attention and a network, one upon the other.

config.py            the sizes and choices of a model, to and from a plain dict
schemes.py           where positions come in: input, scores, or queries and keys
block.py             one block, with the norm before or after what it adds
decoder_only.py      a language model: each token from those before it
encoder_decoder.py   a translator: each token from those before it and a source
decoding.py          either of them, one token at a time, with keys and values kept
inputs.py            ids and lengths, checked at the door
"""

from .block import Block, FeedForward
from .config import ACTIVATIONS, SCHEMES, EncoderDecoderConfig, TransformerConfig
from .decoder_only import DecoderOnly
from .decoding import Decoding
from .encoder_decoder import EncoderDecoder

__all__ = [
    "ACTIVATIONS",
    "SCHEMES",
    "TransformerConfig",
    "EncoderDecoderConfig",
    "FeedForward",
    "Block",
    "DecoderOnly",
    "EncoderDecoder",
    "Decoding",
]

"""Published translation models (Marian, of the opus-mt family), read by hand and run.

    model = attention.marian.load("opus-mt-en-fr")     a folder that the user has
    model.translate("The dog sleeps.")
    said = model(source_ids, target_ids, return_attentions=True)
    said.logits, said.cross_attentions

load.py, config.py        a folder into a model, and everything that can be wrong
model.py, generate.py     the Transformer of 2017; greedy and beam search
tokenizer.py              text into ids, by way of
sentencepiece.py          the most probable cut of a text into pieces
normalizer.py             how a text is rewritten first
protobuf.py               the format that these are stored in
"""

from .config import MarianConfig
from .load import load
from .model import Marian, MarianOutput
from .sentencepiece import SentencePiece
from .tokenizer import MarianTokenizer

__all__ = [
    "load",
    "Marian",
    "MarianOutput",
    "MarianConfig",
    "MarianTokenizer",
    "SentencePiece",
]

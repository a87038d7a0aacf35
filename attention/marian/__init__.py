"""Published translation models (Marian, of the opus-mt family), read and run.

    model = attention.marian.load("opus-mt-en-fr")     a folder with the model's files
    model.translate("The dog sleeps.")
    output = model(source_ids, target_ids, return_attentions=True)
    output.logits, output.cross_attentions

load.py, config.py        turn a folder into a model
model.py, generate.py     the Transformer of 2017; greedy and beam search
tokenizer.py              turns text into ids, with
sentencepiece.py          the most probable cut of a text into pieces
normalizer.py             how a text is rewritten first
protobuf.py               reads the format of the .spm files, with pieces and rules
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

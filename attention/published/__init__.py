"""Published models, read from their files and run.

    model = attention.published.marian.load("opus-mt-en-fr")    a folder with its files
    model.translate("The dog sleeps.")
    logits, weights = model(source_ids, target_ids, need_weights=True)

marian.py             translators of the opus-mt family, the Transformer of 2017
marian_tokenizer.py   turns their text into ids, with
sentencepiece.py      the most probable cut of a text into pieces
normalizer.py         how a text is rewritten first
protobuf.py           reads the format of the .spm files, with pieces and rules
beam.py               beam search with the rules of transformers' ``generate``
files.py              weights and JSON in a folder of any published model
"""

from . import marian, sentencepiece

__all__ = ["marian", "sentencepiece"]

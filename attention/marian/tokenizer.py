"""Marian's words: pieces of two SentencePiece models, numbered by ``vocab.json``.

The source's model cuts the text, and ``vocab.json`` gives each piece its id; one that
it lacks is ``<unk>``. EOS ends the sentence. A code in front such as ``>>fra<<`` tells
a model of many languages which one to translate into; it is a word as it stands.

Ids become text by way of ``vocab.json`` again; EOS, PAD and ``<unk>`` are left out.
With a ``target_vocab.json``, that is the vocabulary of the target.
"""

import os
import re

from . import sentencepiece
from .config import read_json

EOS, UNKNOWN, PAD = "</s>", "<unk>", "<pad>"
LANGUAGE = re.compile(r">>.*?<<", re.DOTALL)


class MarianTokenizer:
    """Text into ids, and back.

    source, target                 SentencePiece models
    vocabulary, target_vocabulary  {piece: id}; None: the target has the source's

    Raises ValueError if EOS or ``<unk>`` has no id.
    """

    def __init__(self, source, target, vocabulary, target_vocabulary=None):
        self.source, self.target, self.vocabulary = source, target, vocabulary
        for word in (EOS, UNKNOWN):
            if word not in vocabulary:
                raise ValueError(f"MarianTokenizer: the vocabulary has no {word}.")
        shared = target_vocabulary is None
        self.joiner = source if shared else target
        words = vocabulary if shared else target_vocabulary
        self.words = {i: word for word, i in words.items()}

    def encode(self, text):
        """The ids of a text, EOS the last."""
        if not isinstance(text, str):
            raise TypeError(
                f"MarianTokenizer: text is a {type(text).__name__}; expected a str."
            )
        code = LANGUAGE.match(text)
        pieces = [code[0]] if code else []
        pieces += self.source.encode(text[code.end() :] if code else text)
        unknown = self.vocabulary[UNKNOWN]
        ids = [self.vocabulary.get(piece, unknown) for piece in pieces]
        return [*ids, self.vocabulary[EOS]]

    def decode(self, ids):
        """The text of ids (n,), whatever is special left out."""
        pieces = []
        for i in ids:
            word = self.words.get(int(i))
            if word is None:
                raise ValueError(f"MarianTokenizer: no word has the id {int(i)}.")
            if word not in (EOS, UNKNOWN, PAD):
                pieces.append(word)
        text = self.joiner.decode(pieces)
        return text.replace(sentencepiece.SPACE, " ").strip()


def read_tokenizer(folder, config):
    """The MarianTokenizer of a folder; None if it has none of the three files.

    Raises FileNotFoundError for a part of them, ValueError for what does not fit.
    """
    names = ("vocab.json", "source.spm", "target.spm")
    paths = [os.path.join(folder, name) for name in names]
    if not any(map(os.path.exists, paths)):
        return None
    for path in paths:
        if not os.path.isfile(path):
            raise FileNotFoundError(
                f"There is no {path}; text needs all of {', '.join(names)}."
            )
    vocabulary = _vocabulary(paths[0], config.vocab_size)
    target_path, target = os.path.join(folder, "target_vocab.json"), None
    if not config.share_encoder_decoder_embeddings and os.path.exists(target_path):
        target = _vocabulary(target_path, config.decoder_vocab_size)
    models = [sentencepiece.load(path) for path in paths[1:]]
    return MarianTokenizer(*models, vocabulary, target)


def _vocabulary(path, words):
    """{piece: id} of a file, each id once and below ``words``."""
    vocabulary = read_json(path)
    for word, i in vocabulary.items():
        if type(i) is not int or not 0 <= i < words:
            raise ValueError(
                f"{path} cannot be used: {word!r} has the id {i!r}; expected a whole "
                f"number below {words}, the size of the vocabulary."
            )
    if len(set(vocabulary.values())) != len(vocabulary):
        raise ValueError(f"{path} cannot be used: two words have one id.")
    for word in (EOS, UNKNOWN):
        if word not in vocabulary:
            raise ValueError(f"{path} cannot be used: it has no {word}.")
    return vocabulary

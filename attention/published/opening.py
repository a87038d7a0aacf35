"""Open a published model: settings, weights and tokenizer, of either form of files."""

import os
from dataclasses import dataclass

from minigrad.bounds import FileError

from ..decoding.greedy import Special
from . import architectures
from .byte_tokenizer import ByteTokenizer
from .files import read_json
from .finding import find_model
from .gguf import read_gguf
from .tokenizer_files import read_tokenizer, tokenizer_of
from .weights import read_folder


@dataclass
class PublishedFiles:
    """What the files of a model hold; nothing of the weights is read yet.

    path           the .gguf file, or the folder
    architecture   a name in ``architectures.PARTS``
    settings       config.json, or the metadata of the GGUF file; each has its own names
    tensors        {name in the file: StoredTensor}
    tokenizer      a ByteTokenizer
    """

    path: str
    architecture: str
    settings: dict
    tensors: dict
    tokenizer: ByteTokenizer

    def load(self, quantized=False):
        """Return the DecoderOnly with these weights, in float32.

        quantized   True: matrices that the file has in blocks stay in blocks; the model
                    needs less memory, and has no gradients

        Its special tokens are those of the files. Raises FileError if settings and
        weights do not belong together, or are of a model that we do not have.
        """
        try:
            model = architectures.load(self.tensors, self.settings, quantized)
        except (ValueError, TypeError) as error:
            raise FileError(f"{self.path}: {error}") from None
        end = min(self.ends, default=-1)  # -1 is no token: the text has no end
        model.special = Special(pad=end, start=end, end=end, never=())
        return model

    @property
    def ends(self):
        """The ids of the tokens that end a text, a set."""
        found = self.settings.get("eos_token_id")  # an id, a list of ids, or None
        found = self.settings.get("tokenizer.ggml.eos_token_id", found)
        found = found if isinstance(found, list) else [found]
        return {i for i in found if type(i) is int}


def open_model(name):
    """Return the PublishedFiles of a model; ``name`` is as of ``find_model``.

    Raises FileError for files that are damaged or not supported, and FileNotFoundError
    if one is missing.
    """
    path = find_model(name)
    if os.path.isdir(path):
        config = os.path.join(path, "config.json")
        settings = read_json(config)
        architecture = _supported(config, "model_type", settings)
        tensors, tokenizer = read_folder(path), read_tokenizer(path)
    else:
        settings, tensors = read_gguf(path)
        architecture = _supported(path, "general.architecture", settings)
        tokenizer = tokenizer_of(settings, path)
    return PublishedFiles(path, architecture, settings, tensors, tokenizer)


def _supported(path, key, settings):
    found = settings.get(key)
    if not isinstance(found, str) or found not in architectures.PARTS:
        expected = ", ".join(architectures.PARTS)
        raise FileError(f"{path}: {key} is {found!r}; expected one of {expected}.")
    return found

"""Open a published model: settings, weights and tokenizer, of either form of files."""

import os
from dataclasses import dataclass

from minigrad.bounds import FileError

from .byte_tokenizer import ByteTokenizer
from .files import read_json
from .finding import find_model
from .gguf import read_gguf
from .tokenizer_files import read_tokenizer, tokenizer_of
from .weights import read_folder

ARCHITECTURES = "gpt2", "llama", "mistral", "qwen2", "qwen3"


@dataclass
class PublishedFiles:
    """What the files of a model hold; nothing of the weights is read yet.

    path           the .gguf file, or the folder
    architecture   a name in ``ARCHITECTURES``
    settings       config.json, or the metadata of the GGUF file; each has its own names
    tensors        {name in the file: StoredTensor}
    tokenizer      a ByteTokenizer
    """

    path: str
    architecture: str
    settings: dict
    tensors: dict
    tokenizer: ByteTokenizer


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
    if not isinstance(found, str) or found not in ARCHITECTURES:
        expected = ", ".join(ARCHITECTURES)
        raise FileError(f"{path}: {key} is {found!r}; expected one of {expected}.")
    return found

"""The weights in the folder of a published model, in the safetensors format.

    model.safetensors               all weights, under the names of the program that
                                    wrote them
    model.safetensors.index.json    instead, for weights in several files (shards):
                                    {"weight_map": {name of a tensor: name of its file}}

A file is mapped into memory: the operating system reads a part of it from the disk when
the part is first used. So a model larger than the memory can be opened, and a tensor
that nobody uses costs nothing. Every size in a header is compared with the size of the
file before a tensor is made.

A pickle (``pytorch_model.bin``) is a program that runs when it is read; it is never
read.
"""

import os

import numpy as np

from minigrad import safetensors
from minigrad.bounds import FileError, open_file

from .blocks import stored_tensor
from .files import read_json

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
CONVERT = (
    'python -c "import transformers; transformers.{0}.from_pretrained('
    "'{1}'{2}).save_pretrained('{1}', safe_serialization=True)\""
)
OTHER_FORMATS = {  # file: the option of from_pretrained
    "pytorch_model.bin": "",
    "pytorch_model.bin.index.json": "",
    "tf_model.h5": ", from_tf=True",
}


def read_folder(folder, kind="AutoModelForCausalLM"):
    """Return {name: StoredTensor} of the weights in a folder.

    kind   the class of transformers that can convert other formats of the weights
    """
    path, index = os.path.join(folder, SINGLE), os.path.join(folder, INDEX)
    if os.path.exists(path):
        return read_file(path)
    if os.path.exists(index):
        return _read_shards(folder, index)
    for name, option in OTHER_FORMATS.items():
        if os.path.exists(os.path.join(folder, name)):
            raise FileError(
                f"{folder} has its weights in {name}; expected {SINGLE}. Convert them "
                "once, where transformers is installed: "
                + CONVERT.format(kind, folder, option)
            )
    raise FileNotFoundError(f"There are no weights at {path}.")


def read_file(path):
    """Return {name: StoredTensor} of a ``.safetensors`` file."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            header, _, start = safetensors.read_header(file, size)
        except ValueError as error:
            reason = str(error).rstrip(".")
            raise FileError(f"{path} cannot be loaded: {reason}.") from None
        data = mapped(file)
    tensors = {}
    for name, entry in header.items():
        begin, stop = entry["data_offsets"]
        part = data[start + begin : start + stop]
        tensors[name] = stored_tensor(entry["dtype"], tuple(entry["shape"]), part)
    return tensors


def mapped(file):
    """Return the bytes of an open file, which is not empty, as a read-only array."""
    return np.memmap(file, np.uint8, "r").view(np.ndarray)


def _read_shards(folder, index):
    """Return the tensors that the index lists, each from the file that it names."""
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict) or not all(map(_is_file_name, places.values())):
        raise FileError(
            f"{index} cannot be used: expected weight_map, a dict of names of files in "
            "its folder."
        )
    shards, tensors = {}, {}
    for name, file in places.items():
        path = os.path.join(folder, file)
        if file not in shards and os.path.exists(path):
            shards[file] = read_file(path)
        if name not in shards.get(file, ()):
            raise FileError(f"{index} places the tensor {name!r} in {file}; not found.")
        tensors[name] = shards[file][name]
    return tensors


def _is_file_name(name):
    is_text = isinstance(name, str) and name.endswith(".safetensors")
    return is_text and os.path.basename(name) == name

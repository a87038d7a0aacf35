"""The files in the folder of a published model: weights and JSON.

    config.json, ...     entries with the sizes and choices
    model.safetensors    the weights, under the names of the program that wrote them

A pickle (``pytorch_model.bin``) is a program that runs when it is read; it is never
read.
"""

import os

from minigrad import checkpoint
from minigrad.bounds import parse_json, read_for_parsing

CONVERT = (
    'python -c "import transformers; transformers.{0}.from_pretrained('
    "'{1}'{2}).save_pretrained('{1}', safe_serialization=True)\""
)
OTHER_FORMATS = {  # file: the option of from_pretrained
    "pytorch_model.bin": "",
    "model.safetensors.index.json": "",
    "tf_model.h5": ", from_tf=True",
}


def read_json(path):
    """Return the dict in a file of JSON."""
    entries = parse_json(read_for_parsing(path), path)
    if not isinstance(entries, dict):
        raise ValueError(f"{path} holds a {type(entries).__name__}; expected a dict.")
    return entries


def read_weights(folder, kind):
    """Return {name: array} of the weights in a folder.

    kind   the class of transformers that can convert other formats of the weights
    """
    path = os.path.join(folder, "model.safetensors")
    if not os.path.exists(path):
        for name, option in OTHER_FORMATS.items():
            if os.path.exists(os.path.join(folder, name)):
                raise ValueError(
                    f"{folder} has its weights in {name}; expected model.safetensors. "
                    "Convert them once, where transformers is installed: "
                    + CONVERT.format(kind, folder, option)
                )
    return checkpoint.load(path)


def renamed(arrays, parts):
    """Return the arrays under our names; parts are {part of a name: our part}."""
    state = {}
    for name, array in arrays.items():
        for theirs, ours in parts.items():
            name = name.replace(theirs, ours)
        state[name] = array
    return state

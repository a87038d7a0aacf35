"""Small models of the package, to try things without training.

en-fr.safetensors   English to French, sentences of the grammar
book.safetensors    continues a text, character by character, as the pages of this book
NAME.json           its origin: the command that trains it, config, versions, scores

A file holds the best model of that command in half precision:

    best = translator.load(out / "best.safetensors")
    translator.save("en-fr.safetensors", best, half=True)

The other one was saved in this way by ``experiments/writing.py``. The pages of this
book have changed since, so its command now learns from another text.
"""

import pathlib

BOOK = pathlib.Path(__file__).with_name("book.safetensors")
EN_FR = pathlib.Path(__file__).with_name("en-fr.safetensors")

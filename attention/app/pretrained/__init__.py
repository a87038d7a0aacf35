"""Small models of the package, to try things without training.

en-fr.safetensors   English to French, sentences of the grammar
en-fr.json          its origin: the command that trains it, config, versions, scores

The file holds the best model of that command in half precision:

    translator.save("en-fr.safetensors", translator.load(out / "best.npz"), half=True)
"""

import pathlib

EN_FR = pathlib.Path(__file__).with_name("en-fr.safetensors")

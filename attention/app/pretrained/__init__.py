"""Small models of the package, to try things without training.

en-fr.safetensors   English to French, sentences of the grammar
en-fr.json          its origin: the command that trains it, config, versions, scores

The file holds the best model of that command in half precision:

    best = translator.load(out / "best.safetensors")
    translator.save("en-fr.safetensors", best, half=True)
"""

import pathlib

EN_FR = pathlib.Path(__file__).with_name("en-fr.safetensors")

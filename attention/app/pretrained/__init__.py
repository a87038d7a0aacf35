"""Small models of the package, to try things without training.

en-fr.safetensors   English to French, sentences of the grammar
en-fr.json          its origin: the command that trains it, config, versions, scores
"""

import pathlib

EN_FR = pathlib.Path(__file__).with_name("en-fr.safetensors")

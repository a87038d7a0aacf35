"""Models that come with the package: small ones, to try things without training.

en-fr.safetensors   English to French, sentences of the grammar
en-fr.json          where it comes from: the command that makes it anew, the config,
                    the versions, and what it scored
"""

import pathlib

EN_FR = pathlib.Path(__file__).with_name("en-fr.safetensors")

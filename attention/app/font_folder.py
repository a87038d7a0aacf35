"""One sentence in place of two warnings: where matplotlib's list of fonts cannot be."""

import logging

from .options import wrapped


def explain_font_folder():
    """Shorten what matplotlib prints if it cannot write to the user's home."""
    logging.getLogger("matplotlib").addFilter(_shortened)


def _shortened(record):
    """Return whether to print a warning; replace the text of the one that helps."""
    if "MPLCONFIGDIR" in record.msg:
        text = "matplotlib searches all fonts in each run: it cannot write to the home."
        text += " MPLCONFIGDIR=FOLDER chooses another folder."
        record.msg, record.args = wrapped(text), ()
    return not record.msg.startswith("mkdir -p failed")

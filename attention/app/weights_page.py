"""The option --html: a page of weights, which a browser shows without a network."""

import sys

import numpy as np

from ..plotting.page import weights_page
from ..published.heads import weights_of
from .files import free_path, make_folder, write_text

LONGEST = 100  # tokens; more would make a page of many megabytes


def check_page(path):
    """Raise ValueError unless ``path`` is None or ends like a page."""
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--html is {path}; expected a name that ends with .html.")


def write_alignment(found, source, unit, path):
    """Write the weights of a ``Translation``.

    source, unit   its words as they were read; "word", or "symbol" of a question
    """
    axes, weights = (f"target {unit}", f"source {unit}"), np.asarray(found.weights)
    text = f"{' '.join(source)} → {' '.join(found.target)}"
    title = f"Where did each {unit} look?"
    page = weights_page(title, text, weights[None, None], axes, found.target, source)
    _write(page, path)


def write_heads(model, tokenizer, ids, path):
    """Write the weights of all layers and heads for the tokens of a prompt."""
    if len(ids) > LONGEST:
        raise ValueError(
            f"--html: the prompt has {len(ids)} tokens; expected at most {LONGEST}, "
            "because the page has all weights of all heads."
        )
    words = words_of(tokenizer, ids)
    with np.errstate(all="ignore"):
        weights = weights_of(model, ids)
    axes, text = ("token that reads", "token that is read"), tokenizer.decode(ids)
    title = "Where does each head look?"
    _write(weights_page(title, text, weights, axes, words, words), path)


def words_of(tokenizer, ids):
    """Return the text of each token, with signs for spaces and line ends."""
    words = [tokenizer.decode([i]).strip(" ") or "␣" for i in ids]
    return [word.replace("\n", "\\n") for word in words]


def _write(page, path):
    make_folder("--html", path, path.parent)
    path = free_path(path)  # earlier pages stay
    write_text(path, page)
    print(f"page of attention weights: {path}", file=sys.stderr)

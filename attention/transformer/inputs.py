"""Ids and lengths as a model is given them, checked at the door."""

from ..checks import between, wholes


def checked_ids(model, name, ids, vocabulary, rows=None, least=1):
    """ids as an array (B, n) of numbers from 0 to vocabulary - 1.

    rows    B, if something else has said so already
    least   of n
    """
    owner = type(model).__name__
    ids = wholes(owner, name, ids, {2: "(B, n), a row of ids for each example"})
    if ids.shape[1] < least:
        raise ValueError(
            f"{owner}: {name} has shape {ids.shape}; expected (B, n) with n of {least} "
            "or more."
        )
    between(owner, name, ids, 0, vocabulary - 1, "ids of the vocabulary")
    if rows is not None and len(ids) != rows:
        raise ValueError(
            f"{owner}: {name} has shape {ids.shape}; expected {rows} rows, as many as "
            "there are examples."
        )
    return ids


def checked_lengths(model, lengths, ids):
    """lengths as an array (B,) of numbers from 0 to n, or None."""
    if lengths is None:
        return None
    owner = type(model).__name__
    lengths = wholes(owner, "lengths", lengths, {1: "(B,), one for each example"})
    B, n = ids.shape
    if len(lengths) != B:
        raise ValueError(
            f"{owner}: lengths has shape {lengths.shape}; expected ({B},), one for "
            "each example."
        )
    between(owner, "lengths", lengths, 0, n, f"as there are {n} columns of ids")
    return lengths


def checked_tokens(model, tokens, vocabulary, B):
    """One id for each of B examples, as a column (B, 1)."""
    owner = type(model).__name__
    tokens = wholes(owner, "tokens", tokens, {1: "(B,), one id for each example"})
    if len(tokens) != B:
        raise ValueError(
            f"{owner}: tokens has shape {tokens.shape}; expected ({B},), one for each "
            "example of the state. state.select(indices) says which of them go on."
        )
    between(owner, "tokens", tokens, 0, vocabulary - 1, "ids of the vocabulary")
    return tokens[:, None]

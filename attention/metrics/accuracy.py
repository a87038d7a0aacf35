"""The accuracy of tokens and of sentences."""

import numpy as np

from ..tasks.batch import PAD


def token_accuracy(decoded, target):
    """Return the share of correct tokens, from 0 to 1.

    decoded (B, T'), target (B, T)   ids; positions that ``decoded`` lacks are wrong,
                                     those beyond T or with PAD in ``target`` do not
                                     count
    """
    correct, counted = _compare("token_accuracy", decoded, target)
    return float(correct[counted].mean())


def exact_match(decoded, target):
    """Return the share of rows in which every token is correct, from 0 to 1.

    The arguments are those of ``token_accuracy``. EOS is a token: the decoded row must
    end where the target ends.
    """
    correct, counted = _compare("exact_match", decoded, target)
    return float((correct | ~counted).all(1).mean())


def _compare(name, decoded, target):
    """Return which tokens are correct and which count: two bool (B, T)."""
    decoded, target = np.asarray(decoded), np.asarray(target)
    if decoded.ndim != 2 or target.ndim != 2 or len(decoded) != len(target):
        raise ValueError(
            f"{name}: decoded has shape {decoded.shape} and target {target.shape}; "
            "expected (B, T') and (B, T), a row of ids for each sentence."
        )
    counted = target != PAD
    if not counted.any(1).all() or not len(target):
        raise ValueError(
            f"{name}: a row of target has no token that counts; expected one or more "
            f"that are not {PAD}."
        )
    n = min(decoded.shape[1], target.shape[1])
    correct = np.zeros(target.shape, bool)
    correct[:, :n] = decoded[:, :n] == target[:, :n]
    return correct, counted

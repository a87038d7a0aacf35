"""The accuracy of tokens and of sentences."""

import numpy as np


def token_accuracy(decoded, target, ignore=0):
    """Return the share of correct tokens, from 0 to 1.

    decoded (B, T'), target (B, T)   ids; positions that ``decoded`` lacks are wrong,
                                     those beyond T do not count
    ignore                           the id in ``target`` that does not count: PAD
    """
    correct, counted = _compare("token_accuracy", decoded, target, ignore)
    return float(correct[counted].mean())


def exact_match(decoded, target, ignore=0):
    """Return the share of rows in which every token is correct, from 0 to 1.

    The arguments are those of ``token_accuracy``. EOS is a token: the decoded row must
    end where the target ends.
    """
    correct, counted = _compare("exact_match", decoded, target, ignore)
    return float((correct | ~counted).all(1).mean())


def _compare(name, decoded, target, ignore):
    """Return which tokens are correct and which count: two bool (B, T)."""
    decoded, target = np.asarray(decoded), np.asarray(target)
    if decoded.ndim != 2 or target.ndim != 2 or len(decoded) != len(target):
        raise ValueError(
            f"{name}: decoded has shape {decoded.shape} and target {target.shape}; "
            "expected (B, T') and (B, T), a row of ids for each sentence."
        )
    counted = target != ignore
    if not counted.any(1).all() or not len(target):
        raise ValueError(
            f"{name}: a row of target has no token that counts; expected one or more "
            f"that are not {ignore}."
        )
    n = min(decoded.shape[1], target.shape[1])
    correct = np.zeros(target.shape, bool)
    correct[:, :n] = decoded[:, :n] == target[:, :n]
    return correct, counted

"""6.8  How self-attention changes cosines  ●●○○  25 min  needs 6.1  book §6.4

A sequence attends to itself, without projections:

    e_ij = scale x_i . x_j      alpha = softmax(e) over j      z_i = sum_j alpha_ij x_j

The chapter draws 8 vectors of 16 normal numbers, takes scale = 1, and asks whether
positions with large weights on each other become more similar. Predict the answer, then
measure it at three scales, of which 1 / sqrt(16) is the second. Look at the weights and
at the cosines of X and of Z side by side, and say what you see.
"""

import numpy as np


def prediction():
    """Return your prediction, written before you run anything. No answer is wrong.

    ->  {1: (gain, sign), 1 / 4: (gain, sign), 1 / 20: (gain, sign)}, for each scale
    gain  by how much the mean cosine of two positions grows, from X to Z: -2 to 2
    sign  +1 if pairs with more weight on each other gain more cosine, -1 if less
    """
    return {1: (0.1, +1), 1 / 4: (0.1, +1), 1 / 20: (0.1, +1)}  #? The docstring gives the three keys, with a pair for each.


def self_attention(X, scale):
    """Return alpha (T, T) and Z (T, d) for X (T, d), one position in each row."""
    e = scale * (X @ X.T)  #? The scores are scale x_i . x_j, with the argument scale alone.
    #! e = X @ X.T / scale  | the weights of scores / scale
    #! e = scale * (X @ X.T) / X.shape[1] ** 0.5  | the weights of scores that are also / sqrt(d)
    #! e = scale * (X @ X.T) / X.shape[1]  | the weights of scores that are also / d
    #! e = scale * (X @ X.T) * X.shape[1] ** 0.5  | the weights of scores that are also x sqrt(d)
    #! e = X @ X.T / X.shape[1] ** 0.5  | the weights of x_i . x_j / sqrt(d)
    #! e = X @ X.T / X.shape[1]  | the weights of scores / d, without the scale
    #! e = scale * ((X[:, None] - X) ** 2).sum(-1)  | the weights of scale |x_i - x_j|^2
    #! e = -scale * ((X[:, None] - X) ** 2).sum(-1)  | the weights of -scale |x_i - x_j|^2
    #! e = scale * cosine(X)  | the weights of scale times the cosines
    z = np.exp(e - e.max(axis=-1, keepdims=True))  #? exp(1e3) is larger than any float64. A position may attend to itself, and to all others.
    #! z = np.exp(e)  | exp(e) / sum exp(e)
    #! z = np.exp(e - e.max(axis=-1, keepdims=True)) * (1 - np.eye(len(X)))  | the weights of the other positions, without its own
    #! z = np.tril(np.exp(e - e.max(axis=-1, keepdims=True)))  | the weights of the keys j <= i only
    alpha = z / z.sum(axis=-1, keepdims=True)  # row i: the weights of position i  #? Which of your arrays sums to 1 in each row?
    return alpha, alpha @ X  #? Each z_i is a sum over all positions, with the weights of position i.
    #! return alpha, X @ X.T @ X  | X X^T X


def cosine(X):
    """Return all cosines x_i . x_j / (|x_i| |x_j|), (T, T); no row of X is 0."""
    norm = np.linalg.norm(X, axis=-1, keepdims=True)  # |x_i|  #? |x| is the square root of a sum of squares over the d entries of one row.
    #! norm = (norm_x := np.linalg.norm(X, axis=-1, keepdims=True)) ** 2  | x_i . x_j divided by the squared norms
    #! norm = abs(X).sum(-1, keepdims=True)  | x_i . x_j, divided by the sums of |x_ik| and of |x_jk|
    unit = X / norm  #? A cosine is at most 1. Which factor of a long vector must be removed?
    #! unit = (X - X.mean(0)) / np.linalg.norm(X - X.mean(0), axis=-1, keepdims=True)  | the cosines of X - the mean of its rows
    return unit @ unit.T  #? A cosine is a number from -1 to 1, not an angle. What is that of x and x?
    #! return np.arccos(np.minimum(1, unit @ unit.T))  | the angles, arccos of the cosines


def geometry_change(X, scale):
    """Return two numbers for every pair i < j of positions.

    ->  mutual (n,), alpha_ij + alpha_ji;  gain (n,), the cosine of z_i and z_j minus
        that of x_i and x_j; n = T (T - 1) / 2, in the order of ``np.triu_indices``
    """
    alpha, Z = self_attention(X, scale)  #? The scale is an argument. Where is it used?
    #! alpha, Z = self_attention(X, 1)  | mutual and gain with scale 1
    pairs = np.triu_indices(len(X), k=1)  # without the diagonal  #? Which pairs i < j do three positions have, and in which order?
    mutual = alpha + alpha.T  #? mutual is the sum of the weight of i on j and the weight of j on i.
    #! mutual = alpha * alpha.T  | alpha_ij alpha_ji
    #! mutual = X @ X.T  | x_i . x_j
    #! mutual = 2 * scale * (X @ X.T)  | twice the scores
    gain = cosine(Z) - cosine(X)  #? A gain is a difference: the cosine after, minus the one before.
    #! gain = Z @ Z.T - X @ X.T  | z_i . z_j - x_i . x_j
    #! gain = cosine(X)  | the cosine of x_i and x_j
    #! gain = cosine(Z) / cosine(X)  | the cosine of z_i and z_j, divided by that of x_i and x_j
    #! gain = cosine(Z) / cosine(X) - 1  | the quotient of both cosines, less 1
    return mutual[pairs], gain[pairs]


def rank_correlation(a, b):
    """Return Spearman's correlation: that of the ranks of a (n,) and b (n,).

    No two entries of a, or of b, are equal. The smallest entry has rank 0. The result
    is 1 if a and b have the same order, and -1 if they have opposite orders.
    """
    ranks = [np.argsort(np.argsort(x)) for x in (a, b)]  # the rank of each entry  #? Which ranks have the entries of (0.3, 7, 2)? Only they count.
    #! ranks = [np.sort(a), np.sort(b)]  | the correlation of the sorted entries
    #! ranks = [np.sign(x[:, None] - x).ravel() for x in (a, b)]  | Kendall's rank correlation
    u, v = (r - r.mean() for r in ranks)  #? A correlation compares differences from the mean.
    return (u @ v) / np.sqrt((u @ u) * (v @ v))  #? The correlation of a and a is 1. What is yours?
    #! return u @ v / len(a)  | the dot product of the ranks, less their means, divided by n
    #! return 1 - 6 * ((u - v) ** 2).sum() / len(a) ** 3  | 1 - 6 sum d^2 / n^3
    #! return 1 - 6 * ((u - v) ** 2).sum() / (len(a) ** 3 + len(a))  | 1 - 6 sum d^2 / (n (n^2 + 1))
    #! return 1 - 3 * ((u - v) ** 2).sum() / (len(a) ** 3 - len(a))  | 1 - 3 sum d^2 / (n (n^2 - 1))
    #! return 1 - 6 * abs(u - v).sum() / (len(a) ** 3 - len(a))  | 1 - 6 sum |d| / (n (n^2 - 1))
    #= return 1 - 6 * ((u - v) ** 2).sum() / (len(a) ** 3 - len(a))


def draw(fig, alpha, before, after):
    """Draw three heatmaps into a matplotlib figure: the weights, and two cosines.

    alpha (T, T), the weights; before and after (T, T), the cosines of X and of Z
    Row i of an array is row i of its image. Each panel has a title that names what it
    shows: weights, cosines of X, cosines of Z. The two images of cosines have the same
    limits of colour, vmin = -1 and vmax = 1, so that the same colour means the same
    number.
    """
    names = "weights", "cosines of X", "cosines of Z"  #? Which of the three images is which?
    limits = (0, 1), (-1, 1), (-1, 1)  #? A colour means another number in each image, unless both have the same vmin and vmax.
    arrays = alpha, before, after  #? draw receives before first, and then after.
    for ax, name, array, (low, high) in zip(fig.subplots(1, 3), names, arrays, limits):
        image = ax.imshow(array, vmin=low, vmax=high)
        ax.set(title=name, xlabel="j", ylabel="i")
        fig.colorbar(image, ax=ax, shrink=0.6)


def explanation():
    """Return a string: do positions with large weights on each other become more
    similar, and why?

    Write ten words or more; they are not graded. The check then prints a good answer.
    """
    return (  #? Which weights are large at each scale, and which cosines grow?
        "scale 1: each position keeps its own weight, Z is nearly X, and little moves\n"
        "scale 1 / 4: about a quarter of the weight is on others, and pairs with more "
        "weight on each other gain more: the rank correlation is about +0.6\n"
        "scale 1 / 20: the weights are nearly equal, all z_i are near the mean of X, "
        "and all cosines grow; the pairs that were far apart gain most, so the sign "
        "turns\n"
        "what is mixed depends on the score, which here is the similarity itself: "
        "projections would separate the two"
    )


# ---- THE CHECK: each call my.f(…) is compared with the function f above

import re

from lessons.course import pictures
from lessons.course.words import locked, your_own_words  # noqa: F401

SCALES = (1, 1 / 4, 1 / 20)


def weights_and_outputs(my, rng):
    """weights and outputs, also of long vectors and of a single position"""
    for T, d, scale in ((7, 5, 0.5), (7, 5, 0.2), (5, 5, 0.3)):
        my.self_attention(rng.normal(size=(T, d)), scale)
    # scores of 10000 and of 0; of 708, 710 and 713
    for X in ([[100.0, 0.0], [0.0, 0.0]], [[26.6, 0.0], [26.7, 0.0]], [[3.0, 4.0]]):
        my.self_attention(np.array(X), 1.0)


def cosines(my, rng):
    """cosines of rows"""
    for T, d in ((7, 5), (5, 5)):
        my.cosine(rng.normal(size=(T, d)))


def pair_by_pair(my, rng):
    """mutual weight and gain of each pair"""
    for T, d in ((7, 5), (5, 5)):
        my.geometry_change(rng.normal(size=(T, d)), 0.3)


def ranks(my, rng):
    """the rank correlation"""
    for n in (11, 13, 17, 7, 5):
        a = np.exp(2 * rng.normal(size=n))
        my.rank_correlation(a, a + rng.normal(size=n))


def predicted(my, rng):
    """your prediction and the measurement"""
    form = "{scale: (gain, sign)} for 1, 1 / 4, 1 / 20; gain -2 to 2, sign +1 or -1"
    first = locked(my, is_prediction, form)
    X = rng.normal(size=(8, 16))
    print("scale   gain, predicted   rank correlation, predicted   own weight")
    for scale in SCALES:
        own = np.diag(my.only.self_attention(X, scale)[0]).mean()
        mutual, gain = map(np.asarray, my.only.geometry_change(X, scale))
        rank, (guess, sign) = my.only.rank_correlation(mutual, gain), first[scale]
        print(
            f"{scale:<6g} {gain.mean():+6.2f}, {guess:+8.2f}   "
            f"{rank:+16.2f}, {int(sign):+9d}   {own:10.3f}"
        )


def three_heatmaps(my, rng):
    """three heatmaps: weights, and cosines before and after"""
    X = rng.normal(size=(8, 16))
    alpha, Z = self_attention(X, 1 / 4)
    before, after = cosine(X), cosine(Z)
    fig = pictures.drawn(my, "draw", (9, 3.2), alpha, before, after)
    x, z = r"before|\bx|x\b|input", r"after|\bz|z\b|output"  # also cosX
    for array, words, other, what in (
        (alpha, "weight|alpha|α|att|soft", "cos", "weights"),
        (before, x, z, "cosines of X, the argument before"),
        (after, z, x, "cosines of Z, the argument after"),
    ):
        limits, title = pictures.has_image(fig, array, f"the {what}")
        text = f"a title that names what it shows, the {what}", repr(title)
        tag = "images-exchanged" if re.search(other, title.lower()) else "no-title"
        my.holds("draw", re.search(words, title.lower()), *text, tag)
        text = "colours from -1 to 1 for both images of cosines", limits
        my.holds("draw", array is alpha or limits == (-1, 1), *text, "own-limits")
    pictures.keep(my, fig)


def is_prediction(found):
    try:
        pairs = [found[scale] for scale in SCALES]
        return all(-2 <= gain <= 2 and sign in (-1, 1) for gain, sign in pairs)
    except (TypeError, KeyError, ValueError, IndexError):
        return False


HINTS = """
1  For the cosines, first divide each row by its norm; then one product gives all of
   them. The pairs i < j stand above the diagonal: np.triu_indices(T, k=1).
2  np.argsort(np.argsort(x)) gives the rank of each entry. Subtract the means, and
   divide the dot product by the square root of both squared lengths.
"""
WHY = """Without projections x_i . x_i is about d and x_i . x_j about 0, so unscaled
weights are nearly all on the diagonal and the outputs are nearly the inputs. A smaller
scale spreads the weights, and outputs that average the same vectors have larger
cosines."""

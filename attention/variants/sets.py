"""Attention for sets: queries that are parameters read the elements of a set.

    MAB(X, Y) = LN(H + ffn(H)),    H = LN(X + MultiHead(X, Y, Y))
    PMA(X)  = MAB(I, X)                       m vectors I pool a set of any size
    ISAB(X) = MAB(X, MAB(I, X))               n elements read each other through m
    Perceiver: Z = MAB(Z, X), then MAB(Z, Z) among the m latent vectors, several times

X (n, D) is a set and I (m, D) is learned. Attention has no order, so PMA does not
change if the elements are permuted, and ISAB permutes its outputs with them. Each half
of ISAB has n m scores, and self-attention has n^2; so all that one element learns of
the others has to pass through m vectors, and each head's map from X to ISAB(X) has a
rank of m or less.

The gradient is that of cross-attention; I gets the sum over the batch. Equal rows of I
would get equal gradients and stay equal, so they start random. Padding of X is masked
where X is the key, in the inner attention only. ISAB cannot be causal: its m vectors
have read the whole set.

Lee et al. 2019 (MAB, PMA, ISAB; their PMA pools rFF(X), here X itself: add a network
before); Jaegle et al. 2021 (Perceiver; there norms come before each part, here after).
"""

from minigrad import expand, nn, relu
from minigrad.arguments import whole
from minigrad.shapes import shapes

from ..exact.multihead import MultiHeadAttention
from ..layers import xavier_matrix


class MAB(nn.Module):
    """Multi-head attention of X to Y, and a network for each element.

    attention      MultiHeadAttention of ``width``
    inner, outer   Linear, the two layers of ffn(h) = outer(relu(inner(h)))
    norm1, norm2   LayerNorm
    """

    def __init__(self, width, num_heads, rng=None):
        self.width = whole("MAB", "width", width, least=1)
        self.attention = MultiHeadAttention(width, num_heads, bias=False, rng=rng)
        self.norm1 = nn.LayerNorm(width)
        self.inner = nn.Linear(width, width, rng=rng)
        self.outer = nn.Linear(width, width, rng=rng)
        self.norm2 = nn.LayerNorm(width)

    @shapes
    def forward(self, x, y, valid_lens=None):
        """Let each x read all y; the first valid_lens of them.

        x (..., m, self.width), y (..., n, self.width), valid_lens? (B,) int
            ->  out (..., m, self.width)

        The leading axes are (B,) or none.
        """
        h = self.norm1(x + self.attention(x, y, valid_lens=valid_lens))
        return self.norm2(h + self.outer(relu(self.inner(h))))


class PMA(nn.Module):
    """Pool a set into m vectors, which do not depend on the order of its elements.

    seeds   I (m, width), from ``xavier_matrix``
    mab     a ``MAB``
    """

    def __init__(self, width, num_heads, m=1, rng=None):
        self.width = whole("PMA", "width", width, least=1)
        self.seeds = xavier_matrix(whole("PMA", "m", m, least=1), width, rng)
        self.mab = MAB(width, num_heads, rng)

    @shapes
    def forward(self, x, valid_lens=None):
        """x (..., n, self.width), valid_lens? (B,) int  ->  out (..., m, self.width)"""
        return self.mab(for_each_example(self.seeds, x), x, valid_lens)


class ISAB(nn.Module):
    """Let the elements of a set read each other through m learned vectors.

    seeds          I (m, width), from ``xavier_matrix``
    collect, read  a ``MAB`` each: of I to X, and of X to the result
    """

    def __init__(self, width, num_heads, m, rng=None):
        self.width = whole("ISAB", "width", width, least=1)
        self.seeds = xavier_matrix(whole("ISAB", "m", m, least=1), width, rng)
        self.collect, self.read = MAB(width, num_heads, rng), MAB(width, num_heads, rng)

    @shapes
    def forward(self, x, valid_lens=None):
        """x (..., n, self.width), valid_lens? (B,) int  ->  out (..., n, self.width)"""
        collected = self.collect(for_each_example(self.seeds, x), x, valid_lens)
        return self.read(x, collected)


class Perceiver(nn.Module):
    """m latent vectors read a long input several times, and each other in between.

    latents      (m, width), from ``xavier_matrix``
    read, think  lists of ``layers`` MABs: to the input, and among the latents
    """

    def __init__(self, width, num_heads, m, layers=1, rng=None):
        self.width = whole("Perceiver", "width", width, least=1)
        self.latents = xavier_matrix(whole("Perceiver", "m", m, least=1), width, rng)
        layers = range(whole("Perceiver", "layers", layers, least=1))
        self.read = [MAB(width, num_heads, rng) for _ in layers]
        self.think = [MAB(width, num_heads, rng) for _ in layers]

    @shapes
    def forward(self, x, valid_lens=None):
        """x (..., n, self.width), valid_lens? (B,) int  ->  z (..., m, self.width)"""
        z = for_each_example(self.latents, x)
        for read, think in zip(self.read, self.think):
            z = read(z, x, valid_lens)
            z = think(z, z)
        return z


@shapes
def for_each_example(vectors, x):
    """Repeat the vectors for each example.

    vectors (m, D), x (..., n, D)  ->  out (..., m, D)
    """
    return expand(vectors, (*x.shape[:-2], *vectors.shape))

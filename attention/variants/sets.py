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

from .. import definitions
from ..exact.multihead import MultiHeadAttention
from ..layers import xavier_matrix
from .row import Variant


class MAB(nn.Module):
    """Multi-head attention of a set X to a set Y, and a network for each element.

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
    def forward(self, x, y, lengths=None):
        """Let each row of x read the rows of y, or the first ``lengths`` of them.

        x (..., m, self.width), y (..., n, self.width), lengths? (B,) int
            ->  out (..., m, self.width)

        The leading axes are (B,) or none.
        """
        h = self.norm1(x + self.attention(x, y, lengths=lengths))
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
    def forward(self, x, lengths=None):
        """x (..., n, self.width), lengths? (B,) int  ->  out (..., m, self.width)"""
        return self.mab(for_each_example(self.seeds, x), x, lengths)


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
    def forward(self, x, lengths=None):
        """x (..., n, self.width), lengths? (B,) int  ->  out (..., n, self.width)"""
        collected = self.collect(for_each_example(self.seeds, x), x, lengths)
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
    def forward(self, x, lengths=None):
        """x (..., n, self.width), lengths? (B,) int  ->  z (..., m, self.width)"""
        z = for_each_example(self.latents, x)
        for read, think in zip(self.read, self.think):
            z = read(z, x, lengths)
            z = think(z, z)
        return z


@shapes
def for_each_example(vectors, x):
    """Repeat the vectors for each example.

    vectors (m, D), x (..., n, D)  ->  out (..., m, D)
    """
    return expand(vectors, (*x.shape[:-2], *vectors.shape))


def _parameters(mab):
    """Return the names and shapes of the parameters of a MAB."""
    square = [f"attention.{W} (E, E)" for W in ("W_q", "W_k", "W_v", "W_o")]
    norm1, norm2 = ([f"norm{i} (E)", f"norm{i}.bias (E)"] for i in (1, 2))
    layers = ["inner (E, E)", "inner.bias (E)", "outer (E, E)", "outer.bias (E)"]
    return ", ".join(f"{mab}.{each}" for each in (*square, *norm1, *layers, *norm2))


# A MAB with M queries and S keys takes (4 M + 2 S) E E + 4 M E for projections, network
# and two layer norms, and M E + 2 M S E for the attention.
ROWS = [
    # M learned queries
    Variant(
        "pma", definitions.pma, PMA, "E, 1, M",
        inputs="x (S, E)",
        parameters="seeds (M, E), " + _parameters("mab"),
        multiplications="(4*M + 2*S)*E*E + 5*M*E + 2*M*S*E",
        numbers=dict(M=4),
        small=dict(M=2),
        about="""source: the queries are m learned vectors, the same for every input
        can pool a set of any size, in any order, into m vectors
        cannot keep more of a set than m vectors hold
        lesson 19: the largest of a set, and what is beside it; Lee et al. 2019""",
    ),
    Variant(
        "isab", definitions.isab, ISAB, "E, 1, M",
        inputs="x (S, E)",
        parameters=f"seeds (M, E), {_parameters('collect')}, {_parameters('read')}",
        multiplications="6*(M + S)*E*E + 5*(M + S)*E + 4*M*S*E",
        numbers=dict(M=4),
        small=dict(M=2),
        about="""source: m learned vectors read the set, and the set reads the result
        can let n elements read each other with 2 n m scores
        cannot be causal; pass more than m vectors between the elements
        lesson 19: lookup among the nodes of a graph; Lee et al. 2019""",
    ),
    Variant(
        "perceiver", definitions.perceiver, Perceiver, "E, 1, M",
        inputs="x (S, E)",
        parameters=(
            f"latents (M, E), {_parameters('read.0')}, {_parameters('think.0')}"
        ),
        multiplications="(10*M + 2*S)*E*E + 10*M*E + 2*M*S*E + 2*M*M*E",
        numbers=dict(M=4),
        small=dict(M=2),
        about="""source: m latent vectors read the input, then each other, in turn
        can read long inputs of any kind at a cost that is linear in n
        cannot give an output for each element; keep more than m vectors hold
        lesson 19: the mean and the largest of a set; Jaegle et al. 2021""",
    ),
]  # fmt: skip

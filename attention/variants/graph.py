"""Graph attention: each node of a graph averages its neighbours.

    GAT      e_ij = LeakyReLU(a_1 . W h_i + a_2 . W h_j),    values W h_j
    GATv2    e_ij = a . LeakyReLU(W_l h_i + W_r h_j),        values W_r h_j

    p_i = softmax of e_i over the neighbours j of node i
    h'_i = sum_j p_ij values_j

LeakyReLU(z) is z above 0 and 0.2 z below. The mask is the graph: True at (i, j) for an
edge, by which node i reads node j. A node without neighbours gets 0, so graphs usually
have an edge from each node to itself. Several heads stand side by side in the result:
H A numbers for H heads of width A.

GAT is *static*. LeakyReLU only grows, so the order of e_ij over j is that of a_2 . W h_j
for every i: all nodes prefer the same neighbour. GATv2 exchanges two operations. There
the sum over the hidden width follows the nonlinearity, as in the additive score, whose
tanh it replaces. Then the query has an effect on the order.

Velickovic et al. 2018 (GAT); Brody, Alon and Yahav 2022 (GATv2).
"""

import numpy as np

from minigrad import differentiable, maximum, nn, swapaxes, unsqueeze
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from ..exact.multihead import heads, side_by_side
from ..layers import xavier_matrix
from ..template import attend
from .row import Variant

SLOPE = 0.2  # of LeakyReLU below 0


@shapes
@differentiable
def leaky_scores(x, y, a):
    """e_ij = a . LeakyReLU(x_i + y_j)

    x (..., L, A), y (..., S, A), a (..., A)  ->  e (..., L, S)

    With z_ij = x_i + y_j, f = LeakyReLU and g = dL/de (products of vectors are element
    by element; f' is 1 above 0, and 0.2 below):

        dz_ij = g_ij a f'(z_ij)
        dx_i = sum_j dz_ij,    dy_j = sum_i dz_ij,    da = sum_ij g_ij f(z_ij)
    """
    z = x[..., :, None, :] + y[..., None, :, :]  # (..., L, S, A)
    f = np.where(z > 0, z, SLOPE * z)
    a = a[..., None, None, :]  # (..., 1, 1, A)

    def backward(g):
        g = g[..., None]
        dz = g * a * np.where(z > 0, 1, z.dtype.type(SLOPE))
        return dz.sum(-2), dz.sum(-3), (g * f).sum((-3, -2))

    return (f * a).sum(-1), backward


class _Graph(nn.Module):
    """What both layers share: heads, the mask, and the average."""

    def __init__(self, in_size, num_hiddens, num_heads):
        name = type(self).__name__
        self.in_size = whole(name, "in_size", in_size, least=1)
        self.num_hiddens = whole(name, "num_hiddens", num_hiddens, least=1)
        self.num_heads = whole(name, "num_heads", num_heads, least=1)

    def projection(self, rng):
        """Return the linear map to all heads, (in_size) -> (num_heads num_hiddens)."""
        width = self.num_heads * self.num_hiddens
        return nn.Linear(self.in_size, width, bias=False, rng=rng)

    def attend(self, queries, keys, score, mask):
        """Return h' (..., n, H A), and store the weights, (..., H, n, n)."""
        mask = None if mask is None else mask[..., None, :, :]  # for all heads
        context, weights = attend(queries, keys, keys, score, mask=mask)
        self.attention_weights = weights.detach()
        return side_by_side(context)

    def extra_repr(self):
        return f"{self.in_size}, {self.num_hiddens}, num_heads={self.num_heads}"


class GAT(_Graph):
    """Static graph attention: every node prefers the same neighbours.

    W          Linear from in_size to num_heads num_hiddens
    a_1, a_2   (num_heads, num_hiddens)
    """

    def __init__(self, in_size, num_hiddens, num_heads=1, rng=None):
        super().__init__(in_size, num_hiddens, num_heads)
        self.W = self.projection(rng)
        self.a_1 = xavier_matrix(num_heads, num_hiddens, rng)
        self.a_2 = xavier_matrix(num_heads, num_hiddens, rng)

    @shapes
    def forward(self, h, mask=None):
        """Average the neighbours of each node.

        h (..., n, self.in_size), mask? (..., n, n) bool  ->  out (..., n, HA)
        """
        x = heads(self.W, h, self.num_heads)  # (..., H, n, A)

        def score(queries, keys):
            s = queries @ unsqueeze(self.a_1, -1)  # (..., H, n, 1)
            t = keys @ unsqueeze(self.a_2, -1)
            z = s + swapaxes(t, -1, -2)  # (..., H, n, n)
            return maximum(z, SLOPE * z)

        return self.attend(x, x, score, mask)


class GATv2(_Graph):
    """Graph attention in which each node chooses its neighbours.

    W_l, W_r   Linear from in_size to num_heads num_hiddens, of queries and of keys
    a          (num_heads, num_hiddens)
    """

    def __init__(self, in_size, num_hiddens, num_heads=1, rng=None):
        super().__init__(in_size, num_hiddens, num_heads)
        self.W_l, self.W_r = self.projection(rng), self.projection(rng)
        self.a = xavier_matrix(num_heads, num_hiddens, rng)

    @shapes
    def forward(self, h, mask=None):
        """Average the neighbours of each node.

        h (..., n, self.in_size), mask? (..., n, n) bool  ->  out (..., n, HA)
        """
        x = heads(self.W_l, h, self.num_heads)  # (..., H, n, A)
        y = heads(self.W_r, h, self.num_heads)
        return self.attend(x, y, lambda q, k: leaky_scores(q, k, self.a), mask)


def _gat(h, W, a_1, a_2):
    return definitions.gat(h, W, a_1[0], a_2[0])  # one head


def _gatv2(h, W_l, W_r, a):
    return definitions.gatv2(h, W_l, W_r, a[0])


ROWS = [
    Variant(
        "gat", _gat, GAT, "E, A",
        inputs="h (S, E)",
        parameters="W (A, E), a_1 (1, A), a_2 (1, A)",
        multiplications="S*A*E + 2*S*A + S*S + S*S*A",
        about="""score: e_ij = LeakyReLU(a_1 . W h_i + a_2 . W h_j), the mask is a graph
        can average the neighbours of a node, with learned weights
        cannot let two nodes prefer different neighbours, in one head
        lesson 19: lookup among the nodes of a graph; Velickovic et al. 2018""",
    ),
    Variant(
        "gatv2", _gatv2, GATv2, "E, A",
        inputs="h (S, E)",
        parameters="W_l (A, E), W_r (A, E), a (1, A)",
        multiplications="2*S*A*E + 3*S*S*A",
        about="""score: e_ij = a . LeakyReLU(W_l h_i + W_r h_j), the mask is a graph
        can let each node prefer a neighbour of its own
        cannot read beyond the neighbours in one layer
        lesson 19: lookup among the nodes of a graph; Brody, Alon and Yahav 2022""",
    ),
]  # fmt: skip

"""A gate on the output: each query decides how much of its context it takes.

    y_i = o_i * sigmoid(W_g q_i)        o_i = sum_j p_ij v_j

A softmax cannot return nothing; a gate near 0 can. It is computed from the query alone:
unlike the sink of sink.py, it does not know whether a key fits. W_g has a row for each
entry of o, or a single row, one gate for all. In a Transformer the gate of each head
stands before W_o, and makes the product W_o W_v of two matrices nonlinear.

Gradient, with g = dL/dy and z = W_g q_i:

    do = g * sigmoid(z),    dz = g * o * sigmoid(z) (1 - sigmoid(z))

Qiu et al. 2025.
"""

from minigrad import linear, sigmoid
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from ..layers import DotProductAttention, xavier_matrix
from .row import Variant


@shapes
def output_gate(o, z):
    """y = o * sigmoid(z)

    o (..., L, Ev), z (..., L, Ev | 1)  ->  y (..., L, Ev)
    """
    return o * sigmoid(z)


class GatedAttention(DotProductAttention):
    """Attention by scaled dot products, with a gate on the output.

    W_g   (value_size, query_size), Xavier-uniform. With value_size=1 there is one gate
          for all entries
    """

    def __init__(self, query_size, value_size, dropout=0.0, rng=None):
        super().__init__(dropout, rng)
        whole("GatedAttention", "query_size", query_size, least=1)
        whole("GatedAttention", "value_size", value_size, least=1)
        self.W_g = xavier_matrix(value_size, query_size, rng)

    def forward(self, queries, keys, values, lengths=None, normalize=None):
        """Return the gated context (..., L, Ev), and store the weights (..., L, S)."""
        o = super().forward(queries, keys, values, lengths, normalize)
        return output_gate(o, linear(queries, self.W_g))

    def extra_repr(self):
        value_size, query_size = self.W_g.shape
        return f"{query_size}, {value_size}, {super().extra_repr()}"


ROWS = [
    Variant(
        "output gate", definitions.gated, GatedAttention, "E, E",
        parameters="W_g (Ev, E)",
        multiplications="L*E*Ev + L*E + L*S*E + L*S*Ev + L*Ev",
        about="""average: context = sigmoid(W_g q) times weights @ values, entry by
        entry
        can return nothing, whatever the weights are
        cannot depend on whether a key fits: the gate is computed from the query alone
        lesson 15: lookup where the key may be missing; Qiu et al. 2025""",
    ),
]  # fmt: skip

"""The rows of graphs, sets and memories that are read several times: lesson 19."""

import attention

from .rows import SQUARE, Formulas, Variant

# of a MAB with M queries and S keys: projections and the network, two layer norms
MAB = "(4*M + 2*S)*E*E + 4*M*E"


def _parameters(mab):
    """Return the names and shapes of the parameters of a MAB."""
    square = [f"attention.{W} (E, E)" for W in ("W_q", "W_k", "W_v", "W_o")]
    norm1, norm2 = ([f"norm{i} (E)", f"norm{i}.bias (E)"] for i in (1, 2))
    layers = ["inner (E, E)", "inner.bias (E)", "outer (E, E)", "outer.bias (E)"]
    return ", ".join(f"{mab}.{each}" for each in (*square, *norm1, *layers, *norm2))


def _addressed(key, memory, *others):
    """Return the new weights (L, S), with numbers of any sign as arguments."""
    from minigrad import minimum

    last, beta, gate, shift, gamma = map(abs, others)
    gate = minimum(gate, 1.0)
    return attention.address(key, memory, last, beta, gate, shift, 1 + gamma)


def _addresses(key, memory, *others):
    """Return the same by the definition, query by query."""
    import numpy as np

    last, beta, gate, shift, gamma = map(abs, others)
    rows = zip(key, last, beta, np.minimum(gate, 1), shift, 1 + gamma)
    definition = attention.definitions.address
    return np.stack([definition(q, memory, *each) for q, *each in rows])


def _turned(q, k, v, columns):
    """Return attention with queries and keys rotated by their places in an image."""
    row, column = attention.grid(-(-len(q) // columns), columns)
    q, k = (attention.rope_2d(x, row[: len(x)], column[: len(x)]) for x in (q, k))
    return attention.attend(q, k, v)[0]


SETS = {
    "gat": Variant(
        lambda h, W, a_1, a_2: attention.definitions.gat(h, W, a_1[0], a_2[0]),
        layer=lambda Dq, Dk, rng: attention.GAT(Dq, Dq, rng=rng),
        inputs="h (S, E)",
        parameters="W (A, E), a_1 (1, A), a_2 (1, A)",
        costs=SQUARE._replace(
            projecting="S*A*E", scoring="2*S*A + S*S", averaging="S*S*A"
        ),
        about="""score: e_ij = LeakyReLU(a_1 . W h_i + a_2 . W h_j), the mask is a graph
        can average the neighbours of a node, with learned weights
        cannot let two nodes prefer different neighbours, in one head
        lesson 19: lookup among the nodes of a graph; Velickovic et al. 2018;
        variants/graph.py""",
    ),
    "gatv2": Variant(
        lambda h, W_l, W_r, a: attention.definitions.gatv2(h, W_l, W_r, a[0]),
        layer=lambda Dq, Dk, rng: attention.GATv2(Dq, Dq, rng=rng),
        inputs="h (S, E)",
        parameters="W_l (A, E), W_r (A, E), a (1, A)",
        costs=SQUARE._replace(
            projecting="2*S*A*E", scoring="2*S*S*A", averaging="S*S*A"
        ),
        about="""score: e_ij = a . LeakyReLU(W_l h_i + W_r h_j), the mask is a graph
        can let each node prefer a neighbour of its own
        cannot read beyond the neighbours in one layer
        lesson 19: lookup among the nodes of a graph; Brody, Alon and Yahav 2022;
        variants/graph.py""",
    ),
    # M learned queries
    "pma": Variant(
        lambda *arrays, M: attention.definitions.pma(*arrays),
        layer=lambda Dq, Dk, rng, M: attention.PMA(Dq, 1, M, rng=rng),
        inputs="x (S, E)",
        parameters="seeds (M, E), " + _parameters("mab"),
        costs=Formulas(
            projecting=MAB,
            scoring="M*E + M*S*E",
            averaging="M*S*E",
            exponentials="M*S",
            scores="M*S",
        ),
        options=dict(M=4),
        small=dict(M=2),
        about="""source: the queries are m learned vectors, the same for every input
        can pool a set of any size, in any order, into m vectors
        cannot keep more of a set than m vectors hold
        lesson 19: the largest of a set, and what is beside it; Lee et al. 2019;
        variants/sets.py""",
    ),
    "isab": Variant(
        lambda *arrays, M: attention.definitions.isab(*arrays),
        layer=lambda Dq, Dk, rng, M: attention.ISAB(Dq, 1, M, rng=rng),
        inputs="x (S, E)",
        parameters=f"seeds (M, E), {_parameters('collect')}, {_parameters('read')}",
        costs=Formulas(
            projecting="6*(M + S)*E*E + 4*(M + S)*E",
            scoring="(M + S)*E + 2*M*S*E",
            averaging="2*M*S*E",
            exponentials="2*M*S",
            scores="M*S",
        ),
        options=dict(M=4),
        small=dict(M=2),
        about="""source: m learned vectors read the set, and the set reads the result
        can let n elements read each other with 2 n m scores
        cannot be causal; pass more than m vectors between the elements
        lesson 19: lookup among the nodes of a graph; Lee et al. 2019;
        variants/sets.py""",
    ),
    "perceiver": Variant(
        lambda *arrays, M: attention.definitions.perceiver(*arrays),
        layer=lambda Dq, Dk, rng, M: attention.Perceiver(Dq, 1, M, rng=rng),
        inputs="x (S, E)",
        parameters=(
            f"latents (M, E), {_parameters('read.0')}, {_parameters('think.0')}"
        ),
        costs=Formulas(
            projecting="(10*M + 2*S)*E*E + 8*M*E",
            scoring="2*M*E + M*S*E + M*M*E",
            averaging="M*S*E + M*M*E",
            exponentials="M*S + M*M",
            scores="M*S",
        ),
        options=dict(M=4),
        small=dict(M=2),
        about="""source: m latent vectors read the input, then each other, in turn
        can read long inputs of any kind at a cost that is linear in n
        cannot give an output for each element; keep more than m vectors hold
        lesson 19: the mean and the largest of a set; Jaegle et al. 2021;
        variants/sets.py""",
    ),
    "hops": Variant(
        lambda u, m, c, hops: attention.definitions.hops(u, m, c, hops),
        lambda u, m, c, hops: attention.hops(u, m, c, hops=hops),
        inputs="u (L, E), m (S, E), c (S, E)",
        costs=Formulas(
            scoring="hops*L*S*E", averaging="hops*L*S*E", exponentials="hops*L*S"
        ),
        options=dict(hops=2),
        small=dict(hops=3),
        about="""template: u <- u + context, and the sum is the next query of the same
        memory
        can follow a chain of facts, one fact a hop
        cannot follow a chain that is longer than the number of hops
        lesson 19: chains of two facts; Sukhbaatar et al. 2015; variants/hops.py""",
    ),
    "ntm": Variant(
        _addresses,
        _addressed,
        inputs=(
            "key (L, E), memory (S, E), last (L, S), beta (L), gate (L), "
            "shift (L, 3), gamma (L)"
        ),
        costs=Formulas(
            scoring="L*(2*S*E + E + 7*S)", averaging="0", exponentials="L*S"
        ),
        about="""normaliser: weights by content, mixed with the last ones, moved and
        sharpened
        can move from place to place, whatever the contents are
        cannot compute all queries at once: each needs the weights of those before
        lesson 19: an address that moves by one; Graves, Wayne and Danihelka 2014;
        variants/hops.py""",
    ),
    "rope-2d": Variant(
        lambda q, k, v, columns: attention.definitions.rope_2d_attention(
            q, k, v, columns
        ),
        _turned,
        inputs="q (S, 4*E), k (S, 4*E), v (S, Ev)",
        costs=SQUARE._replace(
            projecting="16*S*E", scoring="4*S*E + 4*S*S*E", averaging="S*S*Ev"
        ),
        options=dict(columns=16),
        small=dict(columns=3),
        about="""score: half of the pairs rotate by the row, the other half by the
        column
        can prefer keys by the number of rows and of columns to the query
        cannot prefer keys by a distance that is no difference of rows or of columns
        lesson 19: the colour at a row and a column; Heo et al. 2024;
        positions/grid.py""",
    ),
}

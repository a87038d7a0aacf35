"""A page of PyTorch about scoring functions runs here after seven edits.

``PAGE`` is such a page as a textbook has it, and ``PORTED`` the same page for this
library, with other names. An edit is a line of ``PORTED`` that is not in ``PAGE``.
"""

import difflib

import numpy as np

import attention
import minigrad as mg

PAGE = {
    "setup": """
import math
import torch
from torch import nn
""",
    "masked softmax": """
def masked_softmax(scores, lengths):
    if lengths is None:
        return torch.softmax(scores, dim=-1)
    if lengths.ndim == 1:
        lengths = lengths[:, None]
    padding = torch.arange(scores.shape[-1]) >= lengths[:, :, None]
    return torch.softmax(scores.masked_fill(padding, -1e6), dim=-1)
""",
    "a length for each example": """
weights = masked_softmax(torch.rand((2, 2, 4)), torch.tensor([2, 3]))
assert (weights[0, :, 2:] == 0).all() and (weights[1, :, 3:] == 0).all()
""",
    "a length for each query": """
lengths = torch.tensor([[1, 3], [2, 4]])
weights = masked_softmax(torch.rand((2, 2, 4)), lengths)
assert ((weights > 0).sum(-1) == lengths).all()
""",
    "a product of batches": """
Q, K = torch.ones((2, 3, 4)), torch.ones((2, 4, 6))
assert torch.bmm(Q, K).shape == (2, 3, 6)
""",
    "dot products": """
class DotProductAttention(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, lengths=None):
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(keys.shape[-1])
        self.attention_weights = masked_softmax(scores, lengths)
        return torch.bmm(self.dropout(self.attention_weights), values)
""",
    "dot products of an example": """
queries = torch.randn((2, 1, 2))
keys, values = torch.randn((2, 10, 2)), torch.randn((2, 10, 4))
lengths = torch.tensor([2, 6])
by_dot = DotProductAttention(dropout=0.5)
by_dot.eval()
assert by_dot(queries, keys, values, lengths).shape == (2, 1, 4)
""",
    "their picture": """
from d2l.torch import show_heatmaps
show_heatmaps(by_dot.attention_weights.reshape((1, 1, 2, 10)), "Keys", "Queries")
""",
    "the additive score": """
class AdditiveAttention(nn.Module):
    def __init__(self, key_size, query_size, num_hiddens, dropout):
        super().__init__()
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, lengths=None):
        queries, keys = self.W_q(queries), self.W_k(keys)
        features = torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1))
        scores = self.w_v(features).squeeze(-1)
        self.attention_weights = masked_softmax(scores, lengths)
        return torch.bmm(self.dropout(self.attention_weights), values)
""",
    "the additive score of an example": """
wide = torch.randn((2, 1, 20))
additive = AdditiveAttention(key_size=2, query_size=20, num_hiddens=8, dropout=0.1)
additive.eval()
assert additive(wide, keys, values, lengths).shape == (2, 1, 4)
""",
    "its picture": """
show_heatmaps(additive.attention_weights.reshape((1, 1, 2, 10)), "Keys", "Queries")
""",
}

EDITS = {
    "import torch\n": "import numpy as np\nimport minigrad as torch\n",
    "from torch import nn": "from minigrad import nn",
    "from d2l.torch import": "from attention import",
    "dim=-1": "axis=-1",
    "scores.masked_fill(padding": "torch.masked_fill(scores, padding",
    "torch.arange(": "np.arange(",
}


def ported(snippet):
    """Return a snippet for this library."""
    for theirs, ours in EDITS.items():
        snippet = snippet.replace(theirs, ours)
    return snippet


PORTED = {title: ported(snippet) for title, snippet in PAGE.items()}


def run(page):
    """Execute the snippets of a page in one namespace, and return it."""
    names = {}
    for title, snippet in page.items():
        exec(compile(snippet, title, "exec"), names)
    return names


def test_seven_edits_at_most():
    pages = ("".join(page.values()).split("\n") for page in (PAGE, PORTED))
    assert sum(line.startswith("+") for line in difflib.ndiff(*pages)) <= 7


def test_the_ported_page_computes_what_the_library_does():
    mg.manual_seed(0)
    page = run(PORTED)
    q, k, v, lengths = (page[x] for x in ("queries", "keys", "values", "lengths"))
    ours = attention.DotProductAttention()
    expected = ours(q, k, v, lengths)
    found = page["by_dot"](q, k, v, lengths)
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-5)

    theirs = page["additive"]
    found = theirs(page["wide"], k, v, lengths)
    W_q, W_k, w_v = (x.weight.data for x in (theirs.W_q, theirs.W_k, theirs.w_v))
    scores = attention.additive(page["wide"], k, W_q, W_k, w_v[0])
    expected = mg.bmm(attention.masked_softmax(scores, lengths), v)
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-5)

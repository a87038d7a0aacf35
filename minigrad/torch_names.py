"""Tables of PyTorch's names that minigrad does not have, and what to write instead.

The errors for missing names and unknown keywords quote these tables.
"""

import re

FUNCTIONS = {
    "Parameter": "minigrad.nn.Parameter",
    "arange": "np.arange(n): numbers without a gradient are arrays",
    "as_tensor": "minigrad.Tensor(data)",
    "bernoulli": "minigrad.dropout, or a NumPy generator",
    "cat": "minigrad.concat(tensors, axis)",
    "chunk": "minigrad.split(x, sections, axis)",
    "from_numpy": "minigrad.Tensor(array), which copies the array",
    "load": "minigrad.checkpoint.load(path)",
    "nll_loss": "minigrad.cross_entropy(logits, targets)",
    "ones": "minigrad.Tensor(np.ones(shape))",
    "permute": "minigrad.transpose(x, axes)",
    "rand": "minigrad.Tensor(rng.random(shape))",
    "randn": "minigrad.Tensor(rng.standard_normal(shape))",
    "repeat_interleave": "x[np.repeat(np.arange(len(x)), n)]",
    "save": "minigrad.checkpoint.save(path, state)",
    "std": "minigrad.sqrt(x.var(axis, ddof=1))",
    "zeros": "minigrad.Tensor(np.zeros(shape))",
}
TENSOR = {
    "chunk": "minigrad.split(t, sections, axis)",
    "clamp": "minigrad.clip(t, low, high)",
    "clone": "t + 0, which keeps the gradient, or Tensor(t.data), a copy without it",
    "contiguous": "t; a function that needs a contiguous array makes one",
    "cpu": "t; every tensor is in the processor's memory",
    "dim": "t.ndim",
    "double": "t.astype(np.float64)",
    "expand": "minigrad.expand(t, shape)",
    "float": "t.astype(np.float32)",
    "long": "t.data.astype(np.int64), an array: integers have no gradient",
    "mT": "t.swapaxes(-1, -2)",
    "masked_fill": "minigrad.masked_fill(t, mask, value)",
    "numel": "t.size",
    "permute": "t.transpose(axes)",
    "repeat": "minigrad.concat([t] * n, axis)",
    "std": "minigrad.sqrt(t.var(axis, ddof=1))",
    "t": "t.T",
    "to": "t.astype(dtype); every tensor is in the processor's memory",
    "view": "t.reshape(shape)",
}
TENSOR |= {
    name: f"minigrad.{name}(t)"
    for name in (
        "abs", "exp", "log", "log1p", "log_softmax", "logsumexp", "relu", "sigmoid",
        "softmax", "sqrt", "tanh", "tril", "triu",
    )
}  # fmt: skip
LAYERS = {
    "CrossEntropyLoss": "minigrad.cross_entropy(logits, targets)",
    "GELU": "minigrad.gelu",
    "MSELoss": "minigrad.mse_loss(y, target)",
    "ModuleDict": "a dict of modules: their parameters are found in it",
    "ModuleList": "a list of modules: their parameters are found in it",
    "MultiheadAttention": "attention.MultiHeadAttention",
    "ParameterList": "a list of parameters",
    "ReLU": "minigrad.relu",
    "SiLU": "minigrad.silu",
    "Sigmoid": "minigrad.sigmoid",
    "Softmax": "minigrad.softmax",
    "Tanh": "minigrad.tanh",
    "Transformer": "attention.transformer",
    "functional": "minigrad: softmax, relu and the others are functions there",
}
OPTIMIZER = {"param_groups": "optimizer.lr and optimizer.params: there is one group"}
KEYWORDS = {
    "attn_mask": "mask (True = may attend)",
    "correction": "ddof",
    "dim": "axis",
    "key_padding_mask": "lengths, or mask (True = may attend)",
    "keepdim": "keepdims",
    "unbiased": "ddof=1 (or ddof=0 for unbiased=False)",
}


def unknown(where, name, table):
    """Return the AttributeError for a name that ``where`` does not have."""
    text = f"{where} has no {name!r}."
    if name in table:
        text = f"{where} has no {name!r}; write {table[name]}."
    return AttributeError(text, name=name)


def add_unknown_names(cls, where, table):
    """Let each name in the table raise ``unknown(where, name, table)``.

    A method ``__getattr__`` would make every access to an attribute slower.
    """

    def add(name):
        def raise_unknown(instance):
            raise unknown(where, name, table)

        setattr(cls, name, property(raise_unknown))

    for name in table:
        add(name)


def explain_keyword(error):
    """Add minigrad's name to a TypeError about an unexpected keyword of PyTorch."""
    found = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    if found and found[1] in KEYWORDS:
        error.add_note(f"Write {KEYWORDS[found[1]]} instead of PyTorch's {found[1]}=.")

"""What PyTorch has under another name: hints for errors, and ``x.size()``.

The tables have the names and keywords that minigrad does not have, and what to write
instead. ``unknown`` and ``explain`` quote them in errors. In a row, {} is the name, and
{lower} the name in lower case.
"""

import inspect
import math
import re
import sys


def _rows(table):
    """Return {name: what to write}, from a table with one or more names in a row."""
    return {
        name: text.format(name, lower=name.lower())
        for names, text in table.items()
        for name in names.split()
    }


MEMORY = "nothing for it: all arrays are in the processor's memory"
FUNCTIONS = {
    "Generator": "np.random.default_rng(seed)",
    "Parameter": "minigrad.nn.Parameter",
    "allclose argsort isnan outer sort": "np.{}(x.data)",
    "arange empty eye full linspace": "np.{}: numbers without a gradient are arrays",
    "argmax argmin": "x.data.{}(axis), an array",
    "as_tensor": "minigrad.Tensor(data)",
    "bernoulli": "minigrad.dropout, or a NumPy generator",
    "bool int16 int32 int64 float16 float32 float64": "np.{}",
    "cat concatenate": "minigrad.concat(tensors, axis)",
    "chunk": "minigrad.split(x, sections, axis)",
    "clamp": "minigrad.clip(x, low, high)",
    "compile cuda device": MEMORY,
    "empty_like full_like ones_like zeros_like": "np.{}(x.data), an array",
    "flatten": "x.reshape(shape)",
    "float": "np.float32",
    "from_numpy": "minigrad.Tensor(array), which copies the array",
    "inference_mode": "minigrad.no_grad()",
    "load": "minigrad.checkpoint.load(path)",
    "long": "np.int64",
    "mm mv": "a @ b",
    "multinomial": "rng.choice(p.size, p=p) for a row p, rng = np.random.default_rng()",
    "nll_loss": "minigrad.cross_entropy(logits, targets)",
    "norm": "minigrad.sqrt((x * x).sum())",
    "one_hot": "np.eye(n)[ids]",
    "permute": "minigrad.transpose(x, axes)",
    "randint": "rng.integers(low, high, shape), rng = np.random.default_rng()",
    "randperm": "rng.permutation(n), rng = np.random.default_rng()",
    "repeat_interleave": "x[np.repeat(np.arange(len(x)), n)]",
    "save": "minigrad.checkpoint.save(path, state)",
    "scaled_dot_product_attention": "attention.{}",
    "sin cos": "np.{}(array): here it has no gradient",
    "std": "minigrad.sqrt(x.var(axis, ddof=1))",
    "topk": "np.argsort(-x.data, axis) for the indices; the first k are the largest",
    "utils": "rng.permutation(n) in parts, for a loader of batches",
}
TENSOR = {
    "abs exp log log1p log_softmax logsumexp relu sigmoid softmax sqrt tanh tril triu":
        "minigrad.{}(t)",
    "add_ copy_ div_ fill_ mul_ normal_ sub_ uniform_ zero_":
        "t.data[...] = array, or a function of minigrad.nn.init",
    "all any argmin argsort sort": "t.data.{}(axis)",
    "bool int": "t.data.astype({}), an array: it has no gradient",
    "chunk split": "minigrad.split(t, sections, axis), of equal parts",
    "clamp": "minigrad.clip(t, low, high)",
    "clone": "t + 0, which keeps the gradient, or Tensor(t.data), a copy without it",
    "contiguous": "t; a function that needs a contiguous array makes one",
    "cpu cuda device": MEMORY,
    "double": "t.astype(np.float64)",
    "expand": "minigrad.expand(t, shape)",
    "float": "t.astype(np.float32)",
    "gather index_select": "t[i, j], with arrays of indices",
    "long": "t.data.astype(np.int64), an array: integers have no gradient",
    "mT": "t.swapaxes(-1, -2)",
    "masked_fill": "minigrad.masked_fill(t, mask, value)",
    "matmul mm": "t @ other",
    "norm": "minigrad.sqrt((t * t).sum())",
    "numel": "t.size",
    "pow": "t ** n",
    "repeat": "minigrad.concat([t] * n, axis)",
    "std": "minigrad.sqrt(t.var(axis, ddof=1))",
    "t": "t.T",
    "to type type_as": "t.astype(dtype)",
    "topk": "np.argsort(-t.data, axis) for the indices; the first k are the largest",
}  # fmt: skip
LAYERS = {
    "CrossEntropyLoss NLLLoss": "minigrad.cross_entropy(logits, targets)",
    "ELU GELU ReLU SiLU Sigmoid Softmax Softplus Tanh": "minigrad.{lower}, a function",
    "Flatten": "lambda x: x.reshape(len(x), -1)",
    "Identity": "lambda x: x",
    "LazyLinear": "minigrad.nn.Linear(in_features, out_features)",
    "MSELoss": "minigrad.mse_loss(y, target)",
    "MultiheadAttention": "attention.MultiHeadAttention",
    "ParameterList": "a list of parameters",
    "RNN": "minigrad.nn.GRU or LSTM",
    "Transformer TransformerDecoder TransformerEncoder":
        "attention.transformer.EncoderDecoder",
    "TransformerDecoderLayer TransformerEncoderLayer": "attention.transformer.Block",
    "utils": "minigrad.optim.clip_grad_norm_(parameters, max_norm)",
}  # fmt: skip
MODULE = {
    "_parameters _flat_weights_names": "dict(m.named_parameters())",
    "add_module register_module register_parameter": "m.NAME = value",
    "apply": "for module in m.modules(): function(module)",
    "buffers register_buffer": "m.NAME = array, which state_dict() does not hold",
    "children": "m.modules(), with m itself and all inside",
    "cpu cuda to": MEMORY,
    "double float half": "p.data = p.data.astype(dtype), for each p in m.parameters()",
    "named_children": "m.named_modules(), with m itself and all inside",
    "requires_grad_": "p.requires_grad_(False), for each p in m.parameters()",
}
INIT = {
    "constant_": "uniform_(tensor, value, value)",
    "kaiming_normal_": "kaiming_uniform_, which has the same variance",
    "trunc_normal_": "normal_",
    "xavier_normal_": "xavier_uniform_, which has the same variance",
}
OPTIMIZER = {"param_groups": "optimizer.lr and optimizer.params: there is one group"}
FUNCTIONS, TENSOR, LAYERS, MODULE, INIT = map(
    _rows, (FUNCTIONS, TENSOR, LAYERS, MODULE, INIT)
)
KEYWORDS = _rows({
    "allowed edges key_mask": "mask",
    "attn_mask": "mask (True = may attend)",
    "correction": "ddof",
    "dim": "axis",
    "dim0": "axis1",
    "dim1": "axis2",
    "key_padding_mask": "lengths, or mask (True = may attend)",
    "keepdim": "keepdims",
    "memory_mask valid_lens": "lengths",
    "unbiased": "ddof=1 (or ddof=0 for unbiased=False)",
})  # fmt: skip
HINTS = {  # a pattern of an error's text, and the hint that follows it
    r"^transpose\(\) takes from":
        "To exchange two axes, write minigrad.swapaxes(x, axis1, axis2).",
    r"^axis[12]: axis (-?\d+) is out of bounds for array of dimension (\d+)":
        "There is no axis {0}: the number of axes is {1}, and the first is axis 0.",
    r"^axes don't match array":
        "Write the numbers of all axes, each once, in their new order.",
    r"(?:h0|c0) has shape \(\d+, (\d+), \d+\);.* x \((?!\1,)\d+, \1, .* as \(B, T|"
    r"lengths have shape \((\d+),\);.* x \((?!\2,)\d+, \2, .* as \(B, T":
        "The batch is the first axis of x. If it is time, write x.swapaxes(0, 1).",
}  # fmt: skip


def unknown(where, name, table):
    """Return the error for a name that ``where`` does not have.

    It is an AttributeError. For ``from minigrad import cat`` it is an ImportError:
    Python would replace an AttributeError by an error without the sentence. It still
    does so for a module that is no package, as in ``from minigrad.nn.init import
    constant_``; there only ``init.constant_`` gives the sentence.
    """
    if name not in table:
        return AttributeError(f"{where} has no {name!r}")  # Python adds similar names
    is_import = sys._getframe(2).f_code.co_name == "_handle_fromlist"
    error = ImportError if is_import else AttributeError
    return error(f"{where} has no {name!r}; write {table[name]}.", name=name)


class Size(int):
    """The number of entries, ``x.size``; ``x.size(0)`` is the length of an axis."""

    def __new__(cls, shape):
        size = super().__new__(cls, math.prod(shape))
        size.shape = shape
        return size

    def __call__(self, dim=None):
        """Return the length of axis ``dim``, or the shape."""
        try:
            return self.shape if dim is None else self.shape[dim]
        except IndexError:
            raise IndexError(
                f"size({dim}): the shape is {self.shape}; there is no axis {dim}."
            ) from None

    def __reduce__(self):
        return int, (int(self),)


class MissingName:
    """An attribute that raises ``unknown(where, name, table)``.

    A method ``__getattr__`` would make every access to an attribute slower.
    """

    def __init__(self, *row):
        self.row = row

    def __get__(self, instance, owner):
        raise unknown(*self.row)


def add_unknown_names(cls, where, table):
    """Let each name in the table raise ``unknown(where, name, table)``."""
    for name in table:
        setattr(cls, name, MissingName(where, name, table))


def explain(error, function):
    """Add hints to an error that a call of ``function`` raised.

    An unknown keyword of another function, which this one called, gets no hint here,
    because the arguments of the other are not known.
    """
    text, hints = str(error), []
    found = re.search(r"(?:(\S+)\(\) )?got an unexpected keyword .*?'(\w+)'", text)
    if found and found[2] in KEYWORDS and found[1] in (None, function.__qualname__):
        names = [n for n in inspect.signature(function).parameters if n != "self"]
        instead = KEYWORDS[found[2]]
        if re.match(r"\w+", instead)[0] in names:
            hints = [f"Write {instead} instead of {found[2]}=."]
        else:
            hints = [f"The arguments are {', '.join(names)}."]
    for pattern, hint in HINTS.items():
        if found := re.search(pattern, text):
            hints.append(hint.format(*found.groups()))
    for hint in hints:
        if hint not in getattr(error, "__notes__", ()):  # the inner module added it
            error.add_note(hint)

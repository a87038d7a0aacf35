"""What PyTorch has under another name: hints for errors, and ``x.size()``.

The tables have the names and keywords that minigrad does not have, and what to write
instead. ``unknown`` and ``explain`` quote them in errors. In a row, {} is the name, and
{lower} the name in lower case.
"""

import functools
import inspect
import math
import re
import sys
from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable)


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
    "autograd": "y.backward(), and minigrad.differentiable for a backward of your own",
    "bernoulli": "minigrad.dropout, or a NumPy generator",
    "binary_cross_entropy":
        "-(y * minigrad.log(p) + (1 - y) * minigrad.log(1 - p)).mean()",
    "binary_cross_entropy_with_logits": "(minigrad.softplus(x) - x * y).mean()",
    "bool int16 int32 int64 float16 float32 float64": "np.{}",
    "cat concatenate": "minigrad.concat(tensors, axis)",
    "chunk": "minigrad.split(x, sections, axis)",
    "clamp": "minigrad.clip(x, low, high)",
    "compile cuda device": MEMORY,
    "diag": "x[np.arange(n), np.arange(n)], or x * np.eye(n) for a vector x",
    "dot inner": "(a * b).sum()",
    "empty_like full_like ones_like zeros_like": "np.{}(x.data), an array",
    "eq ge gt le lt ne": "a == b, or another comparison: an array of booleans",
    "equal": "np.array_equal(a.data, b.data)",
    "flatten": "x.flatten(start_dim)",
    "float": "np.float32",
    "floor round sign": "np.{}(x.data), an array: its slope is 0",
    "from_numpy": "minigrad.Tensor(array), which copies the array",
    "gather index_select": "x[i, j], with arrays of indices",
    "glu": "a * minigrad.sigmoid(b), with a, b = minigrad.split(x, 2, axis=-1)",
    "inference_mode set_grad_enabled": "minigrad.no_grad()",
    "is_grad_enabled": "minigrad.recording.is_recording()",
    "kl_div": "(p * (minigrad.log(p) - log_q)).sum(axis=-1).mean()",
    "l1_loss": "minigrad.abs(y - target).mean()",
    "leaky_relu": "minigrad.maximum(x, 0.01 * x)",
    "load": "minigrad.checkpoint.load(path)",
    "long": "np.int64",
    "mm mv": "a @ b",
    "multinomial": "rng.choice(p.size, p=p) for a row p, rng = np.random.default_rng()",
    "nll_loss": "minigrad.cross_entropy(logits, targets)",
    "norm": "minigrad.sqrt((x * x).sum())",
    "normalize": "x / minigrad.sqrt((x * x).sum(axis=-1, keepdims=True))",
    "numel": "x.size",
    "one_hot": "np.eye(n)[ids]",
    "permute": "minigrad.transpose(x, axes)",
    "prod": "minigrad.exp(minigrad.log(x).sum(axis)), for positive numbers",
    "randint": "rng.integers(low, high, shape), rng = np.random.default_rng()",
    "randperm": "rng.permutation(n), rng = np.random.default_rng()",
    "repeat_interleave": "x[np.repeat(np.arange(len(x)), n)]",
    "save": "minigrad.checkpoint.save(path, state)",
    "scaled_dot_product_attention": "attention.{}",
    "sin cos": "np.{}(array): here it has no gradient",
    "square": "x * x",
    "std": "minigrad.sqrt(x.var(axis, ddof=1))",
    "topk": "np.argsort(-x.data, axis) for the indices; the first k are the largest",
    "utils": "rng.permutation(n) in parts, for a loader of batches",
}  # fmt: skip
TENSOR = {
    "abs exp log log1p log_softmax logsumexp relu sigmoid softmax sqrt tanh tril triu":
        "minigrad.{}(t)",
    "add div mul sub": "minigrad.{}(t, other), or its operator",
    "add_ copy_ div_ fill_ mul_ normal_ sub_ uniform_ zero_":
        "t.data[...] = array, or a function of minigrad.nn.init",
    "all any argmin argsort": "t.data.{}(axis)",
    "bool int": "t.data.astype({}), an array: it has no gradient",
    "chunk split": "minigrad.split(t, sections, axis), of equal parts",
    "clamp": "minigrad.clip(t, low, high)",
    "clone": "t + 0, which keeps the gradient, or Tensor(t.data), a copy without it",
    "contiguous": "t; a function that needs a contiguous array makes one",
    "floor round sign": "np.{}(t.data), an array: its slope is 0",
    "cpu cuda device": MEMORY,
    "double": "t.astype(np.float64)",
    "eq ge gt le lt ne": "t == other, or another comparison: an array of booleans",
    "expand": "minigrad.expand(t, shape)",
    "float": "t.astype(np.float32)",
    "gather index_select": "t[i, j], with arrays of indices",
    "half": "t.astype(np.float16)",
    "long": "t.data.astype(np.int64), an array: integers have no gradient",
    "mT": "t.swapaxes(-1, -2)",
    "masked_fill masked_fill_": "minigrad.masked_fill(t, mask, value)",
    "matmul mm": "t @ other",
    "new_ones new_zeros": "minigrad.ones(shape) or zeros(shape), with dtype=t.dtype",
    "norm": "minigrad.sqrt((t * t).sum())",
    "numel": "t.size",
    "pow": "t ** n",
    "repeat": "minigrad.concat([t] * n, axis)",
    "scatter_": "t.data[i, j] = array, with arrays of indices",
    "sort": "np.sort(t.data, axis), an array",
    "square": "t * t",
    "std": "minigrad.sqrt(t.var(axis, ddof=1))",
    "t": "t.T",
    "to type type_as": "t.astype(dtype)",
    "topk": "np.argsort(-t.data, axis) for the indices; the first k are the largest",
    "unbind": "list(t), or list(t.swapaxes(0, axis))",
    "view_as": "t.reshape(other.shape)",
    "where": "minigrad.where(condition, t, other)",
}  # fmt: skip
LAYERS = {
    "BCELoss": FUNCTIONS["binary_cross_entropy"],
    "BCEWithLogitsLoss": FUNCTIONS["binary_cross_entropy_with_logits"],
    "BatchNorm1d BatchNorm2d GroupNorm":
        "minigrad.nn.LayerNorm(n), which normalizes each example by itself",
    "Conv1d Conv2d": "minigrad.nn.Linear on windows of x: there is no convolution",
    "CrossEntropyLoss NLLLoss": "minigrad.cross_entropy(logits, targets)",
    "ELU GELU ReLU SiLU Sigmoid Softmax Softplus Tanh": "minigrad.{lower}, a function",
    "Flatten": "lambda x: x.reshape(len(x), -1)",
    "Identity": "lambda x: x",
    "KLDivLoss": FUNCTIONS["kl_div"],
    "L1Loss": FUNCTIONS["l1_loss"],
    "LazyLinear": "minigrad.nn.Linear(in_features, out_features)",
    "LeakyReLU": f"lambda x: {FUNCTIONS['leaky_relu']}",
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
OPTIM = {
    "Adadelta Adagrad Adamax NAdam RAdam RMSprop": "minigrad.optim.Adam or AdamW",
    "ExponentialLR LambdaLR LinearLR MultiStepLR OneCycleLR StepLR":
        "a minigrad.optim.Schedule with the method lr_at(t), or set optimizer.lr",
    "clip_grad_value_": "p.grad.clip(-c, c, out=p.grad), for each p in m.parameters()",
    "lr_scheduler": "minigrad.optim.CosineAnnealingLR: the schedules are in optim",
}  # fmt: skip
OPTIMIZER = {"param_groups": "optimizer.lr and optimizer.params: there is one group"}
FUNCTIONS, TENSOR, LAYERS, MODULE, INIT, OPTIM = map(
    _rows, (FUNCTIONS, TENSOR, LAYERS, MODULE, INIT, OPTIM)
)
KEYWORDS = _rows({
    "allowed edges key_mask": "mask",
    "attn_mask": "mask (True = may attend)",
    "correction": "ddof",
    "dim": "axis",
    "dim0": "axis1",
    "dim1": "axis2",
    "dropout": "dropout_p",
    "is_causal": "mask=masks.causal, with masks of attention,",
    "key_padding_mask": "lengths, or mask (True = may attend)",
    "keepdim": "keepdims",
    "lengths": "attn_mask=masks.padding(lengths), with masks of attention,",
    "mask": "attn_mask",
    "memory_mask valid_lens": "lengths",
    "scale": "score=lambda q, k: scaled_dot(q, k, scale)",
    "softcap": "score=lambda q, k: c * tanh(scaled_dot(q, k) / c)",
    "unbiased": "ddof=1 (or ddof=0 for unbiased=False)",
})  # fmt: skip
WITHOUT = _rows({  # keywords that have no other name here, and what to do without them
    "amsgrad capturable foreach fused maximize":
        "there is one form, with the defaults of PyTorch",
    "batch_first": "the batch is always the first axis",
    "device non_blocking pin_memory": "all arrays are in the processor's memory",
    "dtype": "parameters begin as float32; t.astype(dtype) converts a tensor t, and "
        "p.data = p.data.astype(dtype) a parameter p",
    "elementwise_affine": "for False, call minigrad.layer_norm(x)",
    "inplace": "a result is always a new tensor",
    "last_epoch verbose": "a schedule begins at step 0",
    "pos_weight weight": "with reduction='none', multiply the losses by it",
    "reduce reduction size_average": "the result is the mean",
})  # fmt: skip
HINTS = {  # a pattern of an error's text, and the hint that follows it
    r"^split\(\) got an unexpected .*dim'":
        "An integer is the number of parts here, and their length in PyTorch.",
    r"^transpose\(\) takes from":
        "To exchange two axes, write minigrad.swapaxes(x, axis1, axis2).",
    r"axis (-?\d+) is out of bounds for array of dimension (\d+)":
        "There is no axis {0}: the number of axes is {1}, and the first is axis 0.",
    r"^only integer scalar arrays can be conv":
        "An axis must be an integer. If the function is the normalize of attend: it "
        "gets (scores, allowed), and the masked softmax is the default.",
    r"^operands could not be broadcast together":
        "Compare the shapes from the right: two lengths must be equal, or one is 1.",
    r"^all the input array":
        "The tensors must have one shape, except along the axis that joins them.",
    r"^all input arrays must have the same shape":
        "stack joins tensors of one shape, along a new axis.",
    r"^cannot reshape array of size (\d+)":
        "The lengths of the new shape must have the product {0}; one may be -1.",
    r"^can only specify one unknown dimension":
        "Only one length may be -1.",
    r"^cannot select an axis to squeeze out":
        "squeeze removes axes of length 1 only; PyTorch leaves the others as they are.",
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
    is_own = found and found[1] in (None, function.__qualname__)
    if is_own and found[2] in KEYWORDS:
        names = [n for n in inspect.signature(function).parameters if n != "self"]
        instead = KEYWORDS[found[2]]
        if re.match(r"\w+", instead)[0] in names:
            hints = [f"Write {instead} instead of {found[2]}=."]
        else:
            hints = [f"The arguments are {', '.join(names)}."]
    elif is_own and found[2] in WITHOUT:
        hints = [f"Leave out {found[2]}=: {WITHOUT[found[2]]}."]
    for pattern, hint in HINTS.items():
        if found := re.search(pattern, text):
            hints.append(hint.format(*found.groups()))
    for hint in hints:
        if hint not in getattr(error, "__notes__", ()):  # the inner module added it
            error.add_note(hint)


def explained(function: F) -> F:
    """Let ``explain`` add hints to the errors of ``function``."""

    @functools.wraps(function)
    def call(*args, **options):
        try:
            return function(*args, **options)
        except (TypeError, ValueError) as error:
            explain(error, function)
            raise

    return call


class ExplainedInit:
    """Base class of layers and optimizers: their constructors are ``explained``."""

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = explained(cls.__init__)

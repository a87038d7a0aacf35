"""The options of a Transformer, in one dataclass.

    config = TransformerConfig(vocabulary=29, width=64, positions="alibi")
    TransformerConfig.from_dict(config.to_dict()) == config

Each field is checked when a config is created. Whether positions, attention and model
fit together is checked when the model is built.
"""

from dataclasses import asdict, dataclass, fields
from functools import partial

from minigrad import gelu, nn, relu, silu, tanh
from minigrad.arguments import flag, number, one_of, probability, whole

from ..exact.multihead import biases
from ..variants.recurrent_heads import RECURRENT
from ..variants.table import NORMALIZERS, POSITIONS

ACTIVATIONS = {
    "relu": relu,
    "gelu": gelu,
    "gelu_tanh": partial(gelu, approximate="tanh"),
    "silu": silu,
    "tanh": tanh,
}
NORMS = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}
FEED_FORWARDS = ("mlp", "gated")
OWN_KEYS = (*RECURRENT, "latent")  # these make keys and positions in their own way
CAUSAL = (*OWN_KEYS, "blocks", "window")  # these read earlier tokens only
SELF_ATTENTIONS = (*NORMALIZERS, "qk-norm", "forgetting", *CAUSAL)
CHECKS = {
    "norm": partial(one_of, choices=("pre", "post")),
    "final_norm": flag,
    "norm_kind": partial(one_of, choices=tuple(NORMS)),
    "eps": partial(number, least=0),
    "feed_forward": partial(one_of, choices=FEED_FORWARDS),
    "activation": partial(one_of, choices=tuple(ACTIVATIONS)),
    "dropout": probability,
    "bias": biases,
    "positions": partial(one_of, choices=POSITIONS),
    "base": partial(number, positive=True),
    "interleaved": flag,
    "scaled": flag,
    "tied": flag,
    "attention": partial(one_of, choices=SELF_ATTENTIONS),
}  # all others are whole numbers, 1 or more


@dataclass
class TransformerConfig:
    """The choices of a ``DecoderOnly``.

    vocabulary       V, the number of ids
    width            D of a token in all layers
    heads            H of an attention
    head_width       E of each head; None is D / H
    key_heads        Hk, which divides H, see ``MultiHeadAttention``; None is H
    layers           the number of blocks
    hidden           the width inside the feed-forward network; None is 4 D
    norm             "pre": x + f(LN(x)), or "post": LN(x + f(x)), where f is a part of
                     a block and LN a norm
    norm_kind        "layer", a layer norm, or "rms", without mean and shift
    eps              of the norms, also of "qk-norm"; None is that of the layers
    final_norm       whether a stack ends with a norm; None: only with "pre".
                     A torch.nn.Transformer always has one
    feed_forward     "mlp", or "gated", a third matrix with an entry for each hidden one
    activation       of the feed-forward network: "relu", "gelu", ...
    dropout          the probability in training, for attention weights, the outputs of
                     attention and feed-forward network, the hidden layer of the
                     network, and embedded tokens
    bias             whether the linear maps of a block have biases; "qkv": only those
                     that make queries, keys and values
    positions        a name of ``POSITIONS`` (attention/variants/table.py)
    max_length       for "learned", the number of rows of its table; for "rope+...", the
                     length of the sequences in training
    num_buckets      for "t5", the number of buckets
    max_distance     for "t5", "shaw" and "disentangled": all larger distances are
                     treated as equal
    base             for "sinusoidal", "transformer-xl" and "rope...": the longest
                     wavelength is about 2 pi base
    interleaved      for "rope...", which entries are a pair, see ``rope``
    scaled           whether embeddings are multiplied by sqrt(D)
    tied             whether the embedding table also computes the logits
    attention        the kind of self-attention. A name of ``NORMALIZERS`` (in the same
                     file), such as "softmax", "sparsemax", or "sink", which learns
                     a number for each head; and
        "qk-norm"        queries and keys are normalised, see variants/qk_norm.py
        "forgetting"     causal self-attention has forgetting gates; they do not fit
                         positions that replace the products, such as "shaw"
        "decay", "delta" ``RecurrentHeads``, which have a state
        "latent"         keys and values are made from a cached vector of ``latent``
                         numbers; E / 2 entries of a head are rotated by position
        "blocks"         each token reads the keys of ``best_blocks`` blocks, see
                         variants/chosen_blocks.py
        "window"         each token reads itself and the ``window`` - 1 tokens before
                     The last five are for a ``DecoderOnly``; the first three of them
                     only fit positions that change the input
    latent           for "latent", R, the width of the cached vector
    best_blocks      for "blocks", how many blocks a token reads
    block            for "blocks", the number of keys of a block
    window           for "window", the number of keys
    """

    vocabulary: int
    width: int = 64
    heads: int = 4
    head_width: int | None = None
    key_heads: int | None = None
    layers: int = 2
    hidden: int | None = None
    norm: str = "pre"
    norm_kind: str = "layer"
    eps: float | None = None
    final_norm: bool | None = None
    feed_forward: str = "mlp"
    activation: str = "gelu"
    dropout: float = 0.0
    bias: bool | str = True
    positions: str = "sinusoidal"
    max_length: int = 512
    num_buckets: int = 32
    max_distance: int = 128
    base: float = 10000.0
    interleaved: bool = False
    scaled: bool = True
    tied: bool = True
    attention: str = "softmax"
    latent: int = 16
    best_blocks: int = 4
    block: int = 16
    window: int = 64

    def __post_init__(self):
        owner = type(self).__name__
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None or field.default is not None:
                check = CHECKS.get(field.name, partial(whole, least=1))
                setattr(self, field.name, check(owner, field.name, value))
        if self.head_width is None and self.width % self.heads:
            raise ValueError(
                f"{owner}: width is {self.width}; expected a multiple of heads, "
                f"{self.heads}, or a head_width."
            )
        E = self.head_size
        if POSITIONS[self.positions].scheme.changes == "queries and keys" and E % 2:
            raise ValueError(
                f"{owner}: {self.positions!r} rotates pairs of entries, and a head is "
                f"{E} wide; expected an even width."
            )

    @property
    def head_size(self):
        """E, the width of a head."""
        return self.width // self.heads if self.head_width is None else self.head_width

    def new_norm(self):
        """Return a norm for tokens, as it is before training."""
        options = {} if self.eps is None else {"eps": self.eps}
        return NORMS[self.norm_kind](self.width, **options)

    @property
    def ends_with_norm(self):
        """True if a stack ends with a norm."""
        return self.norm == "pre" if self.final_norm is None else self.final_norm

    @property
    def hidden_width(self):
        """The width inside the feed-forward network."""
        return 4 * self.width if self.hidden is None else self.hidden

    def to_dict(self):
        """Return a dict of numbers, strings, booleans and None, for a checkpoint."""
        return asdict(self)

    @classmethod
    def from_dict(cls, choices):
        """Return the config whose ``to_dict`` returned ``choices``."""
        return cls(**choices)


@dataclass
class EncoderDecoderConfig(TransformerConfig):
    """The choices of an ``EncoderDecoder``: two more than a decoder's.

    layers             the number of blocks of the encoder
    decoder_layers     the number of blocks of the decoder; None is ``layers``
    target_vocabulary  the number of target ids; None: source and target share the
                       vocabulary and the embedding table
    """

    decoder_layers: int | None = None
    target_vocabulary: int | None = None

"""Where a token stands: without these, attention sees a bag of tokens, not a sequence.

scheme            where it acts                 learned            beyond the training
sinusoidal.py     added to the input            nothing            defined everywhere
learned.py        added to the input            n_max x d          refused
t5.py             added to the scores           num_buckets x H    as the last bucket
shaw.py           one more term of the score    a table 2k+1 x d   as distance k
transformer_xl.py three more terms of it        W_kR and two d     defined everywhere
disentangled.py   two more terms of the score   two tables 2k x d  as distance k
alibi.py          added to the scores           nothing            defined everywhere
rope.py           turns queries and keys        nothing            defined everywhere

"Defined everywhere" says that there is a number, not that a model knows what to make of
it. offsets.py holds what the relative schemes share: a bias that depends on j - i alone
is one value for each offset, L + S - 1 in place of L S. scaling.py slows rotations down
for sequences longer than those of the training.
"""

from .alibi import alibi_bias, alibi_by_offset, alibi_slopes
from .disentangled import disentangled_scores
from .learned import LearnedPositions
from .offsets import toeplitz
from .rope import rope, rope_permutation
from .scaling import DynamicNTKScaling, LinearScaling, NTKScaling, YaRNScaling
from .shaw import shaw_scores, shaw_values
from .sinusoidal import frequencies, sinusoidal
from .t5 import T5RelativeBias, t5_bucket
from .transformer_xl import transformer_xl_distances, transformer_xl_scores

__all__ = [
    "sinusoidal",
    "frequencies",
    "LearnedPositions",
    "t5_bucket",
    "T5RelativeBias",
    "toeplitz",
    "shaw_scores",
    "shaw_values",
    "transformer_xl_scores",
    "transformer_xl_distances",
    "disentangled_scores",
    "alibi_slopes",
    "alibi_bias",
    "alibi_by_offset",
    "rope",
    "rope_permutation",
    "LinearScaling",
    "NTKScaling",
    "DynamicNTKScaling",
    "YaRNScaling",
]

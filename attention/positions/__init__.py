"""Schemes that give attention the positions of tokens.

Without one of these, attention does not depend on the order of the keys.

scheme            where it acts                 learned              beyond the training
sinusoidal.py     added to the input            nothing              defined
learned.py        added to the input            n_max x d            an error
t5.py             added to the scores           num_buckets x H      as the last bucket
alibi.py          added to the scores           nothing              defined
shaw.py           a term of the score           1 table (2c+1) x d   as distance c
transformer_xl.py three terms of the score      W_kR and two d       defined
disentangled.py   two terms of the score        1 table 2c x d       as distance c
kerple.py         added to the scores           2 H                  defined
fire.py           added to the scores           a network            as part of the text
contextual.py     a term of the score           1 table n x d        as position n
rope.py           rotates queries and keys      nothing              defined

"Defined" means that the formula gives a number. It does not mean that a trained model
works with it. scheme.py says how a stack of layers uses them. offsets.py is shared by
the relative schemes: a bias that depends only on j - i has one value for each offset, L
+ S - 1 values instead of L S. scaling.py reduces the frequencies of rope.py for
sequences longer than in training. grid.py cuts images into patches and rotates by rows
and columns.
"""

from .alibi import alibi_by_offset, alibi_slopes
from .contextual import cope_scores
from .disentangled import disentangled_scores
from .fire import FIRE
from .grid import grid, patches, rope_2d
from .kerple import KERPLE
from .learned import LearnedPositions
from .offsets import OffsetBias, toeplitz
from .rope import rope
from .scaling import LinearScaling, Llama3Scaling, NTKScaling, YaRNScaling
from .shaw import shaw_scores
from .sinusoidal import frequencies, sinusoidal
from .t5 import T5RelativeBias, t5_bucket
from .transformer_xl import transformer_xl_distances, transformer_xl_scores

__all__ = [
    "sinusoidal", "frequencies", "LearnedPositions", "t5_bucket", "T5RelativeBias",
    "OffsetBias", "toeplitz", "shaw_scores", "transformer_xl_scores",
    "transformer_xl_distances", "disentangled_scores", "KERPLE", "FIRE", "cope_scores",
    "alibi_slopes", "alibi_by_offset", "rope", "rope_2d", "grid",
    "patches", "LinearScaling", "Llama3Scaling", "NTKScaling", "YaRNScaling",
]  # fmt: skip

"""attention: every attention variant as one template with a choice of score and mask.

scores.py, softmax.py     how well a key suits a query; scores into weights
attend.py                 the template that joins them
layers.py                 the same with learned scores
plots.py, curves.py       pictures of weights and of training runs
"""

from .attend import attend
from .curves import accuracy_bars, loss_curves
from .layers import AdditiveAttention, DotProductAttention, GeneralAttention
from .plots import alignment_heatmap, show_heatmaps
from .scores import additive, concat, dot, general, scaled_dot
from .softmax import masked_softmax

__all__ = [
    "masked_softmax",
    "dot",
    "scaled_dot",
    "general",
    "additive",
    "concat",
    "attend",
    "DotProductAttention",
    "GeneralAttention",
    "AdditiveAttention",
    "show_heatmaps",
    "alignment_heatmap",
    "loss_curves",
    "accuracy_bars",
]

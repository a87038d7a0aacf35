"""The data that the models learn from: generated tasks, grammars and your own text.

reversal.py         strings and their reversals, in batches: the smallest task
algorithmic.py      copy, sort, addition, recall; questions.py makes data sets of them
bindings.py         keys bound to values again and again, for positions
grammar/            sentence pairs that grammars generate, with correct word alignments
parallel_text.py    your own sentence pairs; words.py splits text into words
vocabulary.py       the ids of words and of characters
batch.py            one batch; batching.py divides pairs into three sets and batches
"""

from . import (  # noqa: F401
    algorithmic,
    batch,
    batching,
    bindings,
    grammar,
    parallel_text,
    questions,
    reversal,
    vocabulary,
    words,
)  # fmt: skip

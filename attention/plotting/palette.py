"""The colour, the dashes and the marker of each model, the same in every figure.

``looks(["dot", "scaled"])`` returns them for two scores. Dashes and markers distinguish
curves of one colour. ``minigrad.draw.colours`` has the colours.
"""

import itertools
import re

from minigrad.draw.colours import COLOURS

from ..scores import COMPARED

DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v")

GROUPS = (  # names that one figure contains; the index in a group gives the colour
    COMPARED,
    ("bahdanau", "luong", "local-m", "local-p", "none"),
    ("sinusoidal", "rope", "alibi", "t5", "none", "learned", "shaw", "transformer-xl",
     "disentangled"),
)  # fmt: skip
INDICES = {name: index for group in GROUPS for index, name in enumerate(group)}


def looks(names):
    """Return {name: {"color", "linestyle", "marker"}} for the curves of one figure.

    A name begins with the name of a model: "dot" or "dot, seed 2". The runs of one
    model have the same colour, and different dashes and markers.
    """
    models = {name: re.match(r"[a-zA-Z0-9-]*", name)[0] or name for name in names}
    used = {INDICES.get(model) for model in models.values()}
    free = (i for i in itertools.count(len(COMPARED)) if i not in used)
    styles, runs, indices = {}, {}, {}
    for name, model in models.items():
        if model not in indices:
            indices[model] = INDICES[model] if model in INDICES else next(free)
        index = indices[model]
        run = runs[model] = runs.get(model, -1) + 1
        styles[name] = {
            "color": COLOURS[index % len(COLOURS)],
            "linestyle": DASHES[(index // len(COLOURS) + run) % len(DASHES)],
            "marker": MARKERS[run % len(MARKERS)],
        }
    return styles

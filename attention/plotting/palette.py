"""What a thing looks like, the same in every figure: its colour, dashes and marker.

``looks(["dot", "scaled"])`` gives the look of each. Dashes and markers distinguish two
things of one colour. ``minigrad.draw.colours`` has the colours.
"""

import re

from minigrad.draw.colours import COLOURS

DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D")

SCORES = ("additive", "dot", "general", "scaled")
GROUPS = (  # of things that are drawn together; equal names, equal places
    SCORES,
    ("bahdanau", "luong", "local-m", "local-p", "none"),
    ("sinusoidal", "rope", "alibi", "t5", "none", "learned", "shaw", "transformer-xl",
     "disentangled"),
    ("additive", "dense", "tiled", "window", "linear", "bigbird"),
)  # fmt: skip
PLACES = {name: place for group in GROUPS for place, name in enumerate(group)}


def looks(names):
    """Return {name: {"color", "linestyle", "marker"}} for runs that are drawn together.

    The name of a run begins with the thing that it is a run of: "dot", "dot, seed 2".
    Runs of one thing have its colour, and different dashes and markers.
    """
    found, runs, others = {}, {}, {}
    for name in names:
        thing = re.match(r"[a-zA-Z0-9-]*", name)[0]
        if thing not in PLACES:
            others.setdefault(thing, len(SCORES) + len(others))
        place = (PLACES | others)[thing]
        run = runs[thing] = runs.get(thing, -1) + 1
        found[name] = {
            "color": COLOURS[place % len(COLOURS)],
            "linestyle": DASHES[(place // len(COLOURS) + run) % len(DASHES)],
            "marker": MARKERS[run % len(MARKERS)],
        }
    return found

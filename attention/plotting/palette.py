"""The colours of all figures. Readers with any colour vision can tell them apart.

Any two of the five colours differ by 18 or more (CIEDE2000) in full colour vision and
in the three kinds of colour blindness, and each has a contrast of 3 to 1 with white and
with a near-black page. A test measures both.

A thing looks the same in every figure: ``looks(["dot", "scaled"])`` gives the colour,
the dashes and the marker of each. Dashes and markers distinguish two of one colour.
"""

import re

BLUE, ORANGE, GREEN, PURPLE, RED = (
    "#555ea1", "#c18b16", "#41a38d", "#9985ea", "#af3b45",
)  # fmt: skip
GREY = "#7d8590"  # words, and lines that are not data, such as chance
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED)
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

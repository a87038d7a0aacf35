"""The colours of all curves, which readers with any colour vision can distinguish.

Any two of the five colours differ by 20 or more in CIE L*a*b* (2 is just visible) in
full colour vision and in the three kinds of colour blindness, and each has a contrast
of 3 to 1 with white and with a near-black page. A test measures both.
"""

BLUE, ORANGE, GREEN, PURPLE, RED = (
    "#555ea1", "#c18b16", "#41a38d", "#9985ea", "#af3b45",
)  # fmt: skip
GREY = "#7d8590"  # text, and lines that are not data, such as the level of chance
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED)

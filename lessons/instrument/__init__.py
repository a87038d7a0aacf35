"""The instrument of the lessons: it trains and measures what is compared, and judges.

fair.py          compare models fairly, each with its best learning rate
translating.py   the same for translators
draws.py         what several studies draw
layers.py        heads that attend by any function
verdict.py       when does a claim hold?
simulated.py     how often is a verdict wrong?
patterns.py      names the pattern of a matrix of weights
sweep.py         time and memory of each variant against n
"""

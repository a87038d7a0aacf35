"""The specification of every operation: what it computes, and what its gradient is not.

Written from the formulas and from NumPy's semantics, without looking at the operations.
``spec.py`` says what a specification is; the families (``arithmetic.py`` and so on)
hold one for every operation; ``mutations.py`` makes wrong backwards of all of them; the
``test_*.py`` files put the same questions to each.
"""

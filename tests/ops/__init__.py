"""The specification of every operation: what it computes, and what its gradient is not.

Written from the formulas and from NumPy's semantics, without looking at the operations.
``spec.py`` says what a specification is; the families (``arithmetic.py`` and so on)
hold one for every operation, and beside it its zoo of wrong backwards; the
``test_*.py`` files put the same questions to all of them.
"""

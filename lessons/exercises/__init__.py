"""The stubs that a learner copies: ``python -m lessons dev sync`` writes them."""

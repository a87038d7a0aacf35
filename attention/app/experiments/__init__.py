"""Experiments: each trains models to answer one question with numbers."""

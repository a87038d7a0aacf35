"""Variants of attention: other scores, fewer keys, linear time; and decoder steps."""

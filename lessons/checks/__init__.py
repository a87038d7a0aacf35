"""Checks of the answers, one file for each exercise, and their helpers."""

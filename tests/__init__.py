"""Tests: a proof for every claim that the code makes."""

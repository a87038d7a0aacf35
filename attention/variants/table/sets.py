"""The rows of sets, graphs and pictures: lesson 19."""

SETS = {}

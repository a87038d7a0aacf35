"""The rows of pointers, copying and alignment: lesson 16."""

POINTERS = {}

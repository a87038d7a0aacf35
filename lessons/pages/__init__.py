"""The pages of the book: woven from scripts, shown in a terminal, a browser, Jupyter."""

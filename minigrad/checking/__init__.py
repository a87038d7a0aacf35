"""The parts of a gradient check: measuring, comparing, naming what is wrong."""

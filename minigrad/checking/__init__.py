"""The parts of a gradient check: measure slopes, compare them, name the mistake."""

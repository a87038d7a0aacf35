"""Print the map of the variants: what each changes, can, cannot and costs."""


def run(args):
    """Print the map; return the exit code."""
    from ...costs import variants_map

    print(variants_map.text())
    return 0

"""The multiplications of both forms of latent attention; exercise E.23 derives them."""


def products(L, n, H, E, R, F):
    """Return those of L queries and n tokens: (expanded, absorbed)."""
    expanded = 2 * n * H * E * R + L * n * H * (2 * E + F)
    absorbed = 2 * L * H * E * R + L * n * H * (2 * R + F)
    return expanded, absorbed

"""A small task, and a model small enough to compute by hand, for the loop's tests."""

import numpy as np

from attention.app.experiments import translation
from attention.training import Run
from minigrad import nn, optim

SMALL = dict(
    pairs=40, validation=10, test=10, hidden=6, embedding=5, batch=8, steps=7,
    validate_every=3, patience=9,
)  # fmt: skip
DATA = translation.load(translation.Config(**SMALL))


def config(**options):
    return translation.Config(**{**SMALL, **options})


class Line(nn.Module):
    """w x: small enough to compute by hand."""

    def __init__(self):
        self.scale = Scale()

    def forward(self, x):
        return self.scale(x)


class Scale(nn.Module):
    def __init__(self):
        self.w = nn.Parameter(np.array([1.0, 2.0], np.float32))

    def forward(self, x):
        return (self.w * x).sum()


def line(lr=0.1):
    model = Line()
    return model, Run(model, optim.SGD(model.parameters(), lr=lr), clip=1e9)

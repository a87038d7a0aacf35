"""Options: every flag and number of a public function or class refuses a wrong value.

The options are found in the signatures, by the type of their defaults.
"""

import inspect
import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn, optim
from minigrad.registry import OPS

from .optim_cases import parameters

X, IDS = np.ones((3, 5)), np.array([0, 2, 1])
STEP = [np.ones(s) for s in [(3, 5), (3, 2), (6, 5), (6, 2)]]
LSTM_STEP = [np.ones(s) for s in [(3, 5), (3, 2), (3, 2), (8, 5), (8, 2)]]
W = mg.Tensor(np.ones((5, 7)), requires_grad=True)


def optimizer():
    return optim.SGD(parameters(), 0.1)


ARGUMENTS = {  # positional arguments of a right call
    mg.Tensor: lambda: ([1.0],),
    mg.Tensor.backward: lambda: (W.sum(),),
    mg.Tensor.requires_grad_: lambda: (mg.Tensor(1.0),),
    mg.pad: lambda: (X, 1),
    mg.dropout: lambda: (X,),
    mg.cross_entropy: lambda: (X, IDS),
    mg.gru: lambda: (STEP[0][:, None], *STEP[1:]),
    mg.lstm: lambda: (LSTM_STEP[0][:, None], *LSTM_STEP[1:]),
    nn.Linear: lambda: (5, 7),
    nn.GRU: lambda: (5, 7),
    nn.LSTM: lambda: (5, 7),
    nn.GRUCell: lambda: (5, 7),
    nn.LSTMCell: lambda: (5, 7),
    nn.LayerNorm: lambda: (5,),
    nn.RMSNorm: lambda: (5,),
    nn.Dropout: lambda: (),
    nn.Module.train: lambda: (nn.Linear(5, 7),),
    nn.Module.load_state_dict: lambda: (nn.Sequential(), {}),
    nn.init.uniform_: lambda: (W,),
    nn.init.normal_: lambda: (W,),
    nn.init.xavier_uniform_: lambda: (W,),
    nn.init.kaiming_uniform_: lambda: (W,),
    optim.SGD: lambda: (parameters(), 0.1),
    optim.Adam: lambda: (parameters(),),
    optim.AdamW: lambda: (parameters(),),
    optim.CosineAnnealingLR: lambda: (optimizer(), 3),
}
ONE_ARRAY = mg.var, mg.elu, mg.softplus, mg.layer_norm, mg.rms_norm, mg.tril, mg.triu
ARGUMENTS |= dict.fromkeys(ONE_ARRAY, lambda: (X,))
PACKAGES = "minigrad.tensor", "minigrad.ops", "minigrad.nn", "minigrad.optim"
MAY_BE_INFINITE = {(mg.pad, "value")}


def options():
    """Yield (function, option, default) for all flags and numbers."""
    methods = mg.Tensor.backward, mg.Tensor.requires_grad_
    methods += nn.Module.train, nn.Module.load_state_dict
    ops = [getattr(mg, name, op) for name, op in OPS.items()]  # with shape lines
    functions = [mg.Tensor, *methods, *ops, mg.tril, mg.triu]
    for module in nn, nn.init, optim:
        functions += [f for name, f in vars(module).items() if name[0] != "_"]
    for function in dict.fromkeys(filter(callable, functions)):
        if not function.__module__.startswith(PACKAGES):
            continue
        for option, p in inspect.signature(function).parameters.items():
            is_numpys = option in ("axis", "keepdims")  # NumPy checks these
            if isinstance(p.default, (bool, int, float)) and not is_numpys:
                yield function, option, p.default


OPTIONS = list(options())


@pytest.mark.parametrize(
    "function, option, default",
    OPTIONS,
    ids=[f"{function.__qualname__}-{option}" for function, option, _ in OPTIONS],
)
def test_a_wrong_value_is_refused(function, option, default):
    def call(value):
        return function(*ARGUMENTS[function](), **{option: value})

    call(default)
    wrong = ["no", None, [default], np.array([default, default])]
    wrong += [1.5] if isinstance(default, int) else [math.nan, math.inf]
    for value in wrong:
        if (function, option) in MAY_BE_INFINITE and isinstance(value, float):
            call(value)
            continue
        with pytest.raises((TypeError, ValueError), match=option) as error:
            call(value)
        assert "expected" in str(error.value)


def test_the_table_has_every_kind_of_option():
    assert {type(default) for _, _, default in OPTIONS} == {bool, int, float}
    assert set(ARGUMENTS) == {function for function, _, _ in OPTIONS}

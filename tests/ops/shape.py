"""Operations that move entries about: specifications."""

import numpy as np

from .spec import call, normal, spec


def _of(**calls):
    """Cases from ``name=(shape, *args)``, or a dict of options as the last of them."""

    def case(r, shape, *args):
        options = args[-1] if args and isinstance(args[-1], dict) else {}
        return call(normal(r, shape), *args[: -1 if options else None], **options)

    return {
        name.replace("_", "-"): lambda r, a=arguments: case(r, *a)
        for name, arguments in calls.items()
    }


spec(
    "reshape",
    np.reshape,
    _of(
        matrix=((3, 5), (5, 3)),
        flat=((3, 5), (-1,)),
        to_scalar=((1, 1), ()),
        from_scalar=((), (1, 1)),
        empty=((0, 3), (3, 0)),
    ),
)

spec(
    "transpose",
    np.transpose,
    _of(
        cycle=((3, 5, 7), (1, 2, 0)),
        matrix=((3, 5),),
        scalar=((),),
        all_axes=((3, 5, 7),),
        negative=((3, 5, 7), (-1, 0, 1)),
        keyword=((3, 5, 7), {"axes": (2, 0, 1)}),
        empty=((0, 3),),
    ),
)

spec(
    "swapaxes",
    np.swapaxes,
    _of(
        matrix=((3, 5), 0, 1),
        negative=((3, 5, 7), -1, -2),
        empty=((0, 3), 0, 1),
    ),
)

spec(
    "expand",
    lambda x, shape: np.broadcast_to(
        x, [n if n >= 0 else x.shape[i - len(shape)] for i, n in enumerate(shape)]
    ),
    _of(
        columns=((3, 1), (3, 5)),
        both=((3, 1, 7), (11, 3, 5, 7)),
        scalar=((), (3, 5)),
        nothing=((3, 5), (3, 5)),
        kept=((3, 1), (7, -1, 5)),
        kept_last=((1, 5), (3, -1)),
        empty=((1, 3), (0, 3)),
    ),
)

_squeezed = {
    "all": ((1, 3, 1, 5),),
    "axis": ((1, 3, 1, 5), {"axis": 2}),
    "negative": ((3, 1, 5, 1), {"axis": -1}),
    "tuple": ((1, 3, 1, 5), {"axis": (0, 2)}),
    "nothing": ((3, 5),),
    "to_scalar": ((1, 1),),
    "empty": ((1, 0, 3), {"axis": 0}),
}
spec(
    "squeeze",
    np.squeeze,
    _of(**_squeezed),
)

spec(
    "unsqueeze",
    np.expand_dims,
    _of(
        first=((3, 5), 0),
        negative=((3, 5), -1),
        scalar=((), 0),
        keyword=((3, 5), {"axis": 2}),
        empty=((0, 3), 1),
    ),
)


spec(
    "flip",
    np.flip,
    _of(
        negative=((3, 5, 7), {"axis": -1}),
        all=((3, 5),),
        vector=((7,), {"axis": 0}),
        tuple=((3, 5, 7), {"axis": (0, 2)}),
        empty=((0, 3), {"axis": 0}),
    ),
)

spec(
    "astype",
    lambda x, dtype: x.astype(dtype),
    _of(matrix=((3, 5), np.float64), scalar=((), "float64"), empty=((0, 3), float)),
)

spec(
    "pad",
    lambda x, width, value=0: np.pad(x, width, constant_values=value),
    _of(
        everywhere=((3, 5), 2),
        vector=((7,), (2, 1)),
        value=((3, 5), ((1, 2), (0, 3)), 0.5),
        nothing=((3, 5), 0),
        empty=((0, 3), ((1, 2), (0, 0))),
    ),
)


def _list(*shapes, **options):
    return lambda r: call([normal(r, shape) for shape in shapes], **options)


spec(
    "concat",
    np.concatenate,
    {
        "rows": _list((3, 5), (7, 5)),
        "columns": _list((3, 5), (3, 7), (3, 1), axis=-1),
        "middle": _list((3, 5, 7), (3, 11, 7), axis=1),
        "one": _list((3, 5)),
        "with-nothing": _list((3, 5), (0, 5), (7, 5)),
        "empty": _list((0, 5), (0, 5)),
    },
)

spec(
    "stack",
    np.stack,
    {
        "first": _list((3, 5), (3, 5)),
        "last": _list((3, 5), (3, 5), (3, 5), axis=-1),
        "scalars": _list((), (), ()),
        "empty": _list((0, 3), (0, 3)),
    },
)

spec(
    "split",
    np.split,
    _of(
        equal=((6, 5), 2),
        positions=((11, 3), [3, 4]),
        axis=((3, 7), (2, 5), {"axis": 1}),
        negative=((3, 5, 6), 3, {"axis": -1}),
        beyond=((3, 5), [2, 3, 7]),
        empty=((0, 3), 1),
    ),
)

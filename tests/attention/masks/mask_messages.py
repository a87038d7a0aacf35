"""What masks of positions say of wrong arguments: rows of test_masks_messages.py."""

import numpy as np

from attention.masks import (
    bigbird,
    causal,
    dilated,
    document,
    global_tokens,
    local,
    padding,
    prefix_lm,
    sliding_window,
)


def call(mask, **sizes):
    return lambda: mask.dense(*{"B": None, "H": None, "L": 4, "S": 5, **sizes}.values())


lens = "expected (B,), one for each example, or (B, L), one for each query."

# error, what raises it, message
OF_POSITIONS = [
    (
        ValueError,
        lambda: sliding_window(-2, 0),
        "sliding_window: left is -2; expected a whole number, -1 or more.",
    ),
    (
        TypeError,
        lambda: sliding_window(1, 2.0),
        "sliding_window: right is 2.0; expected a whole number.",
    ),
    (
        TypeError,
        lambda: sliding_window(True, 0),
        "sliding_window: left is True; expected a whole number.",
    ),
    (
        ValueError,
        lambda: sliding_window(1, 1, "left"),
        "sliding_window: offset is 'left'; expected a whole number, 'upper_left' "
        "or 'lower_right'.",
    ),
    (
        TypeError,
        lambda: causal(offset=0.5),
        "causal: offset is 0.5; expected a whole number.",
    ),
    (
        TypeError,
        lambda: causal("lower_right"),
        "causal: expected causal(b, h, q_idx, kv_idx), a mask already; found 1 of "
        "these 4. An offset has a name: causal(offset=3).",
    ),
    (
        ValueError,
        lambda: dilated(-1, 2),
        "dilated: window is -1; expected a whole number, 0 or more.",
    ),
    (
        ValueError,
        lambda: dilated(4, 0),
        "dilated: dilation is 0; expected a whole number, 1 or more.",
    ),
    (
        TypeError,
        lambda: padding([1.5]),
        "padding: valid_lens holds float64; expected whole numbers.",
    ),
    (
        ValueError,
        lambda: padding(3),
        f"padding: valid_lens has shape (); {lens}",
    ),
    (
        ValueError,
        call(padding([2, 6])),
        "padding: valid_lens holds 6; expected numbers from 0 to 5, the number of "
        "keys.",
    ),
    (
        ValueError,
        call(padding([-1, 9])),
        "padding: valid_lens holds -1; expected numbers from 0 to 5, the number "
        "of keys.",
    ),
    (
        ValueError,
        call(padding([[1, 2, 3]])),
        "padding: valid_lens has shape (1, 3); expected one length for each of 4 "
        "queries.",
    ),
    (
        ValueError,
        call(padding([1, 2]), B=3),
        "padding([1, 2]): made for 2 examples; found B = 3.",
    ),
    (
        ValueError,
        call(prefix_lm(6)),
        "prefix_lm: n holds 6; expected numbers from 0 to 5, the number of keys.",
    ),
    (
        ValueError,
        lambda: prefix_lm([[1]]),
        "prefix_lm: n has shape (1, 1); expected one whole number, or (B,), one "
        "for each example.",
    ),
    (
        ValueError,
        call(document([1, 2, 3])),
        "document: made for 3 queries and 3 keys; found 4 queries and 5 keys. "
        "Where the two differ, give ids of the keys and query_ids.",
    ),
    (
        TypeError,
        lambda: document(["a"]),
        "document: ids holds <U1; expected whole numbers.",
    ),
    (
        ValueError,
        lambda: document([1, 2], [[1]]),
        "document: query_ids has shape (1, 1); expected (L,).",
    ),
    (
        ValueError,
        lambda: document([[1, 2]], [[1], [2]]),
        "document: query_ids has shape (2, 1) and ids (1, 2); expected as many "
        "examples in both.",
    ),
    (
        ValueError,
        lambda: global_tokens([0, 0, 1, 0]),
        "global_tokens: idx holds 4 numbers, all of them 0 or 1; expected positions. "
        "Of marks, 1 for global, they are np.flatnonzero(marks).",
    ),
    (
        ValueError,
        lambda: global_tokens([3, -1]),
        "global_tokens: idx holds -1; expected positions, counted from 0.",
    ),
    (
        ValueError,
        call(global_tokens([5])),
        "global_tokens: idx holds 5; expected numbers from 0 to 4, positions of "
        "tokens.",
    ),
    (
        TypeError,
        lambda: global_tokens([True]),
        "global_tokens: idx holds bool; expected whole numbers.",
    ),
    (
        ValueError,
        lambda: bigbird(4, 2, 1, 1, 0),
        "bigbird: window is 2; expected an odd number of blocks, as many before a "
        "block as after it.",
    ),
    (
        ValueError,
        lambda: bigbird(0, 3, 1, 1, 0),
        "bigbird: block is 0; expected a whole number, 1 or more.",
    ),
    (
        TypeError,
        lambda: bigbird(4, 3, 1, 1, None),
        "bigbird: seed is None; expected a whole number.",
    ),
    (
        ValueError,
        lambda: bigbird(4, 3, 1, 1, 0)(0, 0, 0, 0),
        "bigbird(4, 3, 1, 1, 0): depends on L and S, which a call does not say. "
        "Use .dense or BlockMask.from_mask, or call mask.sized(L, S).",
    ),
    (
        ValueError,
        lambda: causal(offset="lower_right")(0, 0, 0, 0),
        "causal(offset='lower_right'): depends on L and S, which a call does not "
        "say. Use .dense or BlockMask.from_mask, or call mask.sized(L, S).",
    ),
    (
        ValueError,
        lambda: local(lambda i: i, -1),
        "local: D is -1; expected a finite number, 0 or more.",
    ),
    (
        ValueError,
        lambda: local(lambda i: i, np.nan),
        "local: D is nan; expected a finite number, 0 or more.",
    ),
    (
        TypeError,
        lambda: local(lambda i: i, "3"),
        "local: D is '3'; expected a number.",
    ),
    (
        ValueError,
        lambda: local(3.0, 1),
        "local: centre has shape (); expected (L,), or (B, L), or a function of q_idx.",
    ),
    (
        ValueError,
        call(local(np.ones(3), 1)),
        "local: centre has shape (3,); expected one for each of 4 queries.",
    ),
    (
        ValueError,
        call(local(np.array([0, np.nan, 0, 0]), 1)),
        "local(array (4,), 1): a centre is NaN or infinite.",
    ),
    (
        TypeError,
        call(local(lambda i: i > 1, 1)),
        "local(<lambda>, 1): the centres are bool; expected real numbers.",
    ),
    (
        ValueError,
        call(local(lambda i: np.ones(9), 1)),
        "local(<lambda>, 1): centre gives shape (9,) for queries of shape (1, 1); "
        "expected a number for each.",
    ),
]

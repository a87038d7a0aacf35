"""Describe a wrong array: which entries differ, and which known mistake it equals.

The hypotheses are the engine's (``minigrad.checking.hypotheses``), for values and for
gradients. Each is an identity that holds to 1e-6: "yours equals numeric with its last
two axes swapped". An exercise adds its own as variants, which are tried first: (tag,
sentence, array or function that returns one). If none holds, the tag is "unknown".
"""

import contextlib
import itertools
import re

import numpy as np

import minigrad as mg
from lessons.classroom.checking import hypotheses
from minigrad.checking.diagnosis import Case
from minigrad.checking.hypotheses import (
    BANK,
    CLOSE,
    mask_leak,
    multiple,
    one_block,
    same,
    scaled,
)
from minigrad.checking.numeric import slopes
from minigrad.checking.verdict import Finding, GradcheckError, describe, picture

UNKNOWN = "unknown", "no known pattern"
BETTER = "log-base", "renormalised", "scale:1/ln", "not-normalised"  # than a factor
ENDS = "block:first", "block:last"  # of an axis
MASK_ROWS = 3  # rows of a mask that are printed
ROWS, COLUMNS = 8, 16  # of a picture of the wrong entries


def of_values(got, want, variants=(), mask=None, widths=(), arguments=None, text=""):
    """Return (tag, sentence) for a wrong array of numbers.

    mask       of want's shape, False where an entry must be 0 because it is masked
    widths     sizes of the inputs that may explain a factor, besides the axes of want
    arguments  {name: array} of the call
    text       of the answer
    """
    if np.asarray(want).dtype == bool:
        return of_masks(got, want, variants)
    got, want = np.asarray(got, float), np.asarray(want, float)
    named = of_variants(got, variants, want)
    if named or not np.isfinite(want).all():
        return named or UNKNOWN
    if not want.any() and np.isfinite(got).all():
        return UNKNOWN  # the hypotheses need expected entries other than 0
    if same(got, want):  # then every identity of want holds of got as well
        return hypotheses.of_nearly(got, want, text)
    tag, sentence = _of_bank(Case(yours=got, numeric=want, mask=mask), widths)
    kind = tag.partition(":")[0]
    if kind == "block" and want.ndim == 1 and not tag.startswith(ENDS):
        tag, sentence = UNKNOWN  # one entry of a row is a place, and no name
    if want.size < 3 and not _is_sure(tag, want, arguments or {}):
        tag, sentence = UNKNOWN
    if kind in ("unknown", "block", "scale"):
        more = hypotheses.of_values(got, want, arguments or {}, widths)
        if more and (kind != "scale" or more[0].startswith(BETTER)):
            return more
    return tag, sentence.replace("numeric", "expected")


def _is_sure(tag, want, arguments):
    """Return whether one or two numbers are enough for a name.

    An identity such as "3 x expected" holds by chance, and 0 is not "everywhere".
    """
    kind, _, factor = tag.partition(":")
    if kind == "scale":
        return hypotheses.is_evidence(want, arguments) and factor in ("-1", "2", "1/2")
    return kind not in ("block", "zero")


def of_masks(got, want, variants=()):
    """Return (tag, sentence) for a wrong array of booleans."""
    if named := of_variants(got, variants, want):
        return named
    both = want.any() and not want.all()  # else every wrong answer is the complement
    if both and np.array_equal(got, ~want):
        return "complement", "yours equals not expected: True and False exchanged"
    if want.ndim > 1:
        if np.array_equal(got, want.swapaxes(-1, -2)):
            return "transpose", "yours equals expected with its last two axes swapped"
        if np.array_equal(got, want.T):
            return "transpose", "yours equals expected with its axes reversed"
    return hypotheses.of_masks(got, want) or UNKNOWN


def of_variants(got, variants, want=None):
    """Return (tag, sentence) of the first variant that equals ``got``, or None.

    want  the right values: a variant is evidence only by finite entries that differ
          from them, because many mistakes give NaN. Without ``want``, every entry of
          the variant must be finite
    """
    for tag, sentence, array in variants:
        array = np.asarray(array() if callable(array) else array)
        if not _is_evidence(array, want):
            continue
        exact = array.dtype == bool or not np.isfinite(array).all()
        equal = np.array_equal(got, array, equal_nan=array.dtype.kind == "f")
        if equal or (not exact and same(np.asarray(got, float), array.astype(float))):
            return tag, f"yours equals {sentence}"


def of_gradients(
    op,
    inputs,
    names,
    seed=0,
    no_gradient=(),
    variants=None,
    blocks=None,
    case=None,
):
    """Return None if every gradient of ``op`` is right, else (tag, report).

    op        arrays -> (array, backward), as ``@differentiable`` takes it
    names     of the inputs
    variants  {name of an input: [(tag, sentence, function of g)]}
    blocks    {name of an input: {name of a part: index}}
    case      a dictionary that receives g and, for each input, found_ and expected_
    """
    lifted, zero = mg.lift(op), [names[k] for k in no_gradient]
    try:
        result = mg.gradcheck(lifted, inputs, seed=seed, names=names, no_gradient=zero)
    except GradcheckError as error:
        return "gradcheck", str(error)
    if result.ok:
        return None
    op = _Measured(op)
    if case is not None:
        _add_gradients(case, op, inputs, names, seed)
    compared = [row for row in result.rows if row.verdict != "not checked"]
    summary = "    ".join(f"d_{row.input} {row.verdict}" for row in compared)
    lines = [summary] if len(compared) > 1 else []
    also = [_with_g(f, names) for f in result.also]
    cause = [_with_g(result.cause, names)] if result.cause else []
    found = [f for f in (*cause, *also) if f.tag != "unknown"]
    shown = result
    known = _known_gradient(op, inputs, names, seed, variants or {}, blocks or {})
    if not known and all(f.tag.startswith("block") for f in found):
        known = _more_of_gradients(op, inputs, names, seed, compared)
    if known:
        k, finding = known
        found = [finding, *also]
        if not result.worst or result.worst.input != names[k]:  # show the named input
            shown = mg.gradcheck(
                lambda x: lifted(*inputs[:k], x, *inputs[k + 1 :]),
                [inputs[k]],
                seed=seed,
                names=[names[k]],
                no_gradient=[name for name in zero if name == names[k]],
            )
    tag, sentence = found[0] if found else (result.tag, UNKNOWN[1])
    if shown.wrong is None:  # no entry is wrong, but a rule is broken, for example
        message = result.message
        if result.op.endswith("_backward"):  # it is the learner's function itself
            message = message.replace(f"the backward of {result.op} ", "")
        lines += [message, *([f"{sentence}  [{tag}]"] if known else [])]
        return tag, "\n".join(lines)
    lines += [
        describe(result.op, shown.worst._replace(input=f"d_{shown.worst.input}")),
        f"{shown.wrong.sum()} of {shown.wrong.size} entries differ",
        f"{sentence}  [{tag}]",
        *drawing(shown.wrong),
        *(f"also: {law.sentence}" for law in found[1:]),
    ]
    return tag, "\n".join(lines)


def _with_g(finding, names):
    """Return a finding of the engine with g, as lessons call it, for a cotangent c."""
    sentence = finding.sentence.replace("the cotangent c1", "the gradient c1")
    sentence = re.sub(r"\bcotangent(s?)\b", r"gradient\1 g", sentence)
    if "c" not in names:
        sentence = re.sub(r"\bc([12]?)\b", r"g\1", sentence)
    return finding._replace(sentence=sentence)


def exchanged(op, inputs, names, g, found):
    """Return a sentence if gradients of a wrong shape are those of other inputs."""
    for k, (x, A) in enumerate(zip(inputs, found)):
        if A is None or np.shape(A) == np.shape(x):
            continue
        for j, other in enumerate(inputs):
            is_float = isinstance(other, np.ndarray) and other.dtype.kind == "f"
            if j != k and is_float and np.shape(A) == other.shape:
                if same(np.asarray(A, float), _numeric(op, inputs, j, g)):
                    return (
                        f"gradient {k + 1} of {len(found)} is that of {names[j]}; "
                        f"expected that of {names[k]}"
                    )


def shapes(array, shape, axes=None):
    """Return two lines: the expected shape, and the one found."""
    letters = f"  ({', '.join(axes)})" if axes else ""
    return [
        f"expected shape {tuple(shape)}{letters}",
        f"found shape    {array.shape}",
    ]


def differences(got, want, right, axes=None):
    """Return lines: the first wrong entry or rows, how many differ, and a picture."""
    wrong, is_mask = ~right, want.dtype == bool
    show = _mask_rows if is_mask and want.ndim else _worst_entry
    lines = list(show(got, want, wrong, axes))
    if want.size > 1:
        lines.append(f"{wrong.sum()} of {wrong.size} entries differ")
    return lines if is_mask else lines + drawing(wrong)


def drawing(wrong):
    """Return [a picture of the wrong entries and its legend], [] without a pattern.

    The picture has at most 8 rows and 16 columns: it summarises a larger array.
    """
    drawn = picture(wrong, ROWS, COLUMNS) if wrong.ndim > 1 else None
    if not drawn:
        return []
    rows, columns = int(np.prod(wrong.shape[:-1])), wrong.shape[-1]
    parts = ["# differs", "the last axis runs to the right"]
    if wrong.ndim > 2:
        parts.append("the axes before it, flattened, run down")
    if rows > ROWS or columns > COLUMNS:
        parts.append(
            f"{min(rows, ROWS)} by {min(columns, COLUMNS)} signs stand for {rows} by "
            f"{columns} entries, # where one of them differs"
        )
    return [f"{drawn}\n    ({'; '.join(parts)})"]


def _of_bank(case, widths):
    """Return (tag, sentence) of the engine's first hypothesis that holds."""
    for hypothesis in BANK:
        if hypothesis is mask_leak and not _may_leak(case):
            continue
        if hypothesis is multiple:  # first try the factors that have a name
            for width in sorted(widths):
                known = Case(case.yours, case.numeric, x=np.empty(width))
                if found := scaled(known):
                    return found
        if found := hypothesis(case):
            return found
    return UNKNOWN


def _may_leak(case):
    """Return whether a mask was given, and all wrong entries are masked."""
    if case.mask is None or case.yours.shape != case.numeric.shape:
        return False
    return not (case.wrong() & np.broadcast_to(case.mask, case.yours.shape)).any()


def _is_evidence(array, want):
    """Return whether equality with ``array`` shows more than NaN or infinity."""
    finite = np.isfinite(array)
    if want is None or array.shape != want.shape:
        return bool(finite.all())
    if array.dtype == bool:
        return True
    size = np.abs(want[np.isfinite(want)]).max(initial=0)
    off = np.abs(array[finite] - want[finite].astype(float)) > CLOSE * size
    return bool(off.any())


def _known_gradient(op, inputs, names, seed, variants, blocks):
    """Return (number of the input, ``Finding``) of an exercise's variant, or None."""
    if not variants and not blocks:
        return None
    y, backward = op(*inputs)
    g = np.random.default_rng(seed).normal(size=np.shape(y))
    returned = backward(g)
    returned = returned if isinstance(returned, (tuple, list)) else (returned,)
    if found := _exchanged_pair(op, inputs, names, g, returned):
        return found
    for k, (name, each) in enumerate(zip(names, returned)):
        is_array = isinstance(each, (np.ndarray, np.generic))
        if not is_array or not (name in variants or name in blocks):
            continue
        each = np.asarray(each, float)
        wrong = [(tag, what, make(g)) for tag, what, make in variants.get(name, ())]
        found = of_variants(each, wrong)
        found = found or _of_blocks(op, inputs, k, each, g, blocks.get(name))
        # a variant may change the other gradients alone
        if found and not same(each, op.numeric(inputs, k, g)):
            return k, Finding(found[0], f"d_{name}: {found[1]}")


def _exchanged_pair(op, inputs, names, g, returned):
    """Return (number of the first, Finding) of two gradients that changed places."""
    arrays = [np.asarray(A, float) for A in returned if A is not None]
    if len(arrays) != len(inputs):
        return None
    for j, k in itertools.combinations(range(len(inputs)), 2):
        if arrays[j].shape != arrays[k].shape or same(arrays[j], arrays[k]):
            continue
        right = [op.numeric(inputs, n, g) for n in (j, k)]
        if same(arrays[j], right[1]) and same(arrays[k], right[0]):
            return j, Finding(
                "swapped",
                f"d_{names[j]}: yours equals numeric of {names[k]}, not of {names[j]}; "
                f"d_{names[k]} is that of {names[j]}",
            )


def _add_gradients(case, op, inputs, names, seed):
    """Add to ``case`` g, and found and measured gradients of a single output."""
    with contextlib.suppress(Exception):  # an answer that raises has no gradients
        y, backward = op(*inputs)
        case["g"] = g = np.random.default_rng(seed).normal(size=np.shape(y))
        found = backward(g)
        found = found if isinstance(found, tuple) else (found,)
        for k, (name, A) in enumerate(zip(names, found)):
            if A is not None:
                case[f"found_{name}"] = A
            if isinstance(inputs[k], np.ndarray) and inputs[k].dtype.kind == "f":
                case[f"expected_{name}"] = op.numeric(inputs, k, g)


def _more_of_gradients(op, inputs, names, seed, compared):
    """Return (number of the input, Finding) of a further hypothesis that holds."""
    y, backward = op(*inputs)
    if isinstance(y, tuple) or not np.isfinite(y).all():
        return None
    y = np.asarray(y)
    g = np.random.default_rng(seed).normal(size=y.shape)
    found = backward(g)
    found = found if isinstance(found, tuple) else (found,)
    wrong = {row.input for row in compared if row.verdict == "wrong"}
    right = {}
    for k, (name, x) in enumerate(zip(names, inputs)):
        if isinstance(x, np.ndarray) and x.dtype.kind == "f" and k < len(found):
            right[name] = op.numeric(inputs, k, g)
    for k, (name, A) in enumerate(zip(names, found)):
        if name not in wrong or name not in right or A is None:
            continue
        A = np.asarray(A, float)
        for other, G in right.items():
            if other != name and same(A, G) and not same(right[name], G):
                sentence = f"d_{name}: yours equals numeric of {other}, not of {name}"
                return k, Finding("swapped", sentence)
        more = hypotheses.of_gradient(A, right[name], inputs[k], y, g)
        if more:
            return k, Finding(more[0], f"d_{name}: {more[1]}")


class _Measured:
    """An operation that keeps its measured gradients: several hypotheses use them.

    The inputs and g must be the same in each call of ``numeric``.
    """

    def __init__(self, op):
        self.op, self.known = op, {}

    def __call__(self, *inputs):
        return self.op(*inputs)

    def numeric(self, inputs, k, g):
        """Return the measured gradient of input ``k``."""
        if k not in self.known:
            self.known[k] = _numeric(self.op, inputs, k, g)
        return self.known[k]


def _numeric(op, inputs, k, g):
    """Return the measured gradient of one input."""

    def f(x):
        return (np.asarray(op(*inputs[:k], x, *inputs[k + 1 :])[0]),)

    return slopes(f, inputs[k], [g]).value.reshape(inputs[k].shape)


def _of_blocks(op, inputs, k, yours, g, blocks):
    """Return (tag, sentence) if all wrong entries lie in one named block, or None."""
    if not blocks or yours.shape != inputs[k].shape:
        return None
    numeric = op.numeric(inputs, k, g)
    case = Case(yours=yours, numeric=numeric, blocks=blocks)
    found = one_block(case) if case.wrong().any() else None
    if found and found[0][len("block:") :] in blocks:
        return found
    for one, other in itertools.combinations(blocks, 2):
        exchanged = numeric.copy()
        exchanged[blocks[one]] = numeric[blocks[other]]
        exchanged[blocks[other]] = numeric[blocks[one]]
        if same(yours, exchanged) and not same(numeric, exchanged):
            return "swapped", f"yours equals numeric with {one} and {other} exchanged"


def _worst_entry(got, want, wrong, axes):
    """Yield the entry that is farthest off; NaN counts as farthest.

    Of an axis "step", in which later entries follow from earlier ones, the first.
    """
    gap = np.where(wrong, np.abs(got.astype(float) - want.astype(float)), 0)
    gap = wrong if [*(axes or ())] == ["step"] else np.where(np.isnan(gap), np.inf, gap)
    index = np.unravel_index(int(np.argmax(gap)), want.shape)
    index = tuple(int(i) for i in index)
    where = f"entry {list(index)}" if index else "number"
    if axes and len(axes) == len(index):
        # "S=2" would read as a size
        ticks = axes if isinstance(axes, dict) else {}
        named = [
            f"{a} = {ticks[a][i]}" if a in ticks else f"{a} {i}"
            for a, i in zip(axes, index)
        ]
        where += f"  (at {', '.join(named)})"
    yield where
    a, b = got[index], want[index]
    digits = 6
    if want.dtype.kind == "f" and np.isfinite([a, b]).all() and a != b:
        gap = abs(a - b) / (abs(b) or 1)
        digits = int(np.clip(2 - np.floor(np.log10(gap)), 6, 16))
    style = f"+.{digits}g" if want.dtype.kind == "f" else ""
    yield f"    expected  {b:{style}}"
    yield f"    found     {a:{style}}"


def _mask_rows(got, want, wrong, axes):
    """Yield the first wrong rows of a mask: which entries are True."""
    axes = axes or "".join("ijklmn"[k] for k in range(want.ndim))
    last = axes[-1].lower()  # an index, not a size
    rows = [i for i in np.ndindex(want.shape[:-1]) if wrong[i].any()]
    for i in rows[:MASK_ROWS]:
        where = ", ".join(f"{a.lower()}={k}" for a, k in zip(axes, i)) or "mask"
        yield (
            f"row {where}:  expected {last} = {_true_entries(want[i])}    "
            f"found {last} = {_true_entries(got[i])}"
        )
    if len(rows) > MASK_ROWS:
        more = len(rows) - MASK_ROWS
        yield f"and {more} more row{'s' * (more > 1)}"


def _true_entries(row):
    entries = np.flatnonzero(row)
    text = ", ".join(map(str, entries[:8])) or "none"
    return text + (", …" if len(entries) > 8 else "")

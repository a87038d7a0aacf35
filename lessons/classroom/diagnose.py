"""Which known mistake is a wrong answer equal to?

The bank of hypotheses is the engine's (``minigrad.checking.hypotheses``), for values as
for gradients. Each is a measured identity that holds to 1e-6: "yours equals numeric
with its last two axes swapped". An exercise adds its own as variants, which are tried
first: (tag, sentence, array or function that returns one). Where nothing holds the tag
is "unknown", and nothing is guessed.
"""

import re

import numpy as np

import minigrad as mg
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
from minigrad.checking.verdict import GradcheckError

from .show import legend

UNKNOWN = "unknown", "no known pattern"
FLOAT32 = 1e-9  # of the largest entry: less is no rounding to float32


def of_values(got, want, variants=(), mask=None, widths=()):
    """(tag, sentence) for a wrong array of numbers.

    mask    of want's shape, False where nothing is to arrive: a 0 elsewhere is a number
            like others
    widths  sizes that a factor may come from, besides the axes of want: of the inputs
    """
    if np.asarray(want).dtype == bool:
        return of_masks(got, want, variants)
    got, want = np.asarray(got, float), np.asarray(want, float)
    named = of_variants(got, variants, want)
    if named or not np.isfinite(want).all():
        return named or UNKNOWN
    if not want.any() and np.isfinite(got).all():
        return UNKNOWN  # every hypothesis compares with numbers that are not 0
    if same(got, want):  # and so equal to much else that want is
        return _nearly(got, want)
    tag, sentence = _of_bank(Case(yours=got, numeric=want, mask=mask), widths)
    if tag.partition(":")[0] in ("block", "scale") and want.size < 3:
        return UNKNOWN  # of two entries, one is the last, and half is not far
    return tag, sentence.replace("numeric", "expected")


def _nearly(got, want):
    """(tag, sentence) for numbers that are wrong behind the sixth digit alone."""
    off = np.abs(got - want).max() / np.abs(want).max()
    how = f"yours differs from expected by {off:.1g} of the largest entry at most"
    if off < FLOAT32:
        return "nearly", how
    return "float32", f"{how}: is a number on the way a float32, with its 7 digits?"


def _of_bank(case, widths):
    """The first hypothesis of the bank that holds of values."""
    for hypothesis in BANK:
        if hypothesis is mask_leak and not _may_leak(case):
            continue
        if hypothesis is multiple:  # before a factor stays without a name
            for width in sorted(widths):
                known = Case(case.yours, case.numeric, x=np.empty(width))
                if found := scaled(known):
                    return found
        if found := hypothesis(case):
            return found
    return UNKNOWN


def _may_leak(case):
    """Whether a mask was given, and hides all that is wrong."""
    if case.mask is None or case.yours.shape != case.numeric.shape:
        return False
    return not (case.wrong() & np.broadcast_to(case.mask, case.yours.shape)).any()


def of_masks(got, want, variants=()):
    """(tag, sentence) for a wrong array of booleans."""
    named = of_variants(got, variants, want)
    if named:
        return named
    both = want.any() and not want.all()  # of one value, any wrong answer is the other
    if both and got.shape == want.shape and np.array_equal(got, ~want):
        return "complement", "yours equals not expected: True and False exchanged"
    for turned, what in (
        (want.swapaxes(-1, -2) if want.ndim > 1 else want, "its last two axes swapped"),
        (want.T, "its axes reversed"),
    ):
        if want.ndim > 1 and np.array_equal(got, turned):
            return "transpose", f"yours equals expected with {what}"
    return UNKNOWN


def of_variants(got, variants, want=None):
    """(tag, sentence) of the first variant that equals ``got``, or None.

    want  what is right: a variant is evidence by finite entries that differ from it,
          for NaN comes out of many mistakes alike. Where it is not known, every entry
          of the variant has to be finite
    """
    for tag, sentence, array in variants:
        array = np.asarray(array() if callable(array) else array)
        if not _is_evidence(array, want):
            continue
        exact = array.dtype == bool or not np.isfinite(array).all()
        equal = np.array_equal(got, array, equal_nan=array.dtype.kind == "f")
        if equal or (not exact and same(np.asarray(got, float), array.astype(float))):
            return tag, f"yours equals {sentence}"


def _is_evidence(array, want):
    """Whether a match with ``array`` says more than that something is not finite."""
    finite = np.isfinite(array)
    if want is None or array.shape != want.shape:
        return bool(finite.all())
    if array.dtype == bool:
        return True
    size = np.abs(want[np.isfinite(want)]).max(initial=0)
    off = np.abs(array[finite] - want[finite].astype(float)) > CLOSE * size
    return bool(off.any())


def of_gradients(op, inputs, names, seed, no_gradient=(), about=None):
    """None when every gradient is right, else (tag, report).

    op       arrays -> (array, backward), as ``@differentiable`` takes it
    names    what to call the inputs in the report
    about    the number of the input whose entry is shown, where that one is wrong;
             the first that is wrong, if left out
    """
    lifted = mg.lift(op)
    try:
        result = mg.gradcheck(lifted, inputs, seed=seed, no_gradient=no_gradient)
    except GradcheckError as error:
        return "gradcheck", _with_names(str(error), names)
    if result.ok:
        return None
    compared = [row for row in result.rows if row.verdict != "not checked"]
    summary = "    ".join(f"d_{row.input} {row.verdict}" for row in compared)
    message = _message(result, inputs)
    if about is not None and result.worst and result.worst.input != str(about):
        zero = (0,) if about in np.atleast_1d(no_gradient) else ()
        alone = mg.gradcheck(
            lambda x: lifted(*inputs[:about], x, *inputs[about + 1 :]),
            [inputs[about]],
            seed=seed,
            no_gradient=zero,
        )
        if alone.worst and not alone.ok:
            message = _message(alone, [inputs[about]])
            message = re.sub(r"\binput 0\b", f"input {about}", message)
    parts = [summary, message] if len(compared) > 1 else [message]
    return result.tag, _with_names("\n".join(parts), names)


def of_backward(op, inputs, names, seed, variants=None, blocks=None):
    """What an exercise itself knows to be a mistake, or None.

    Returns (number of the input, tag, sentence).

    variants  {name of an input: [(tag, what, function of g)]}
    blocks    {name of an input: {name of a part: index}}
    """
    variants, blocks = variants or {}, blocks or {}
    if not variants and not blocks:
        return None
    y, backward = op(*inputs)
    g = np.random.default_rng(seed).normal(size=np.shape(y))
    returned = backward(g)
    returned = returned if isinstance(returned, (tuple, list)) else (returned,)
    for k, (name, each) in enumerate(zip(names, returned)):
        if each is None or not (name in variants or name in blocks):
            continue
        each = np.asarray(each, float)
        wrong = [(tag, what, make(g)) for tag, what, make in variants.get(name, ())]
        found = of_variants(each, wrong) or _of_blocks(
            op, inputs, k, each, g, blocks.get(name)
        )
        if found:
            return k, found[0], f"d_{name}: {found[1]}  [{found[0]}]"


def _of_blocks(op, inputs, k, yours, g, blocks):
    """Whether all wrong entries of a gradient lie in one part that has a name."""
    if not blocks or yours.shape != inputs[k].shape:
        return None

    def f(x):
        return (np.asarray(op(*inputs[:k], x, *inputs[k + 1 :])[0]),)

    numeric = slopes(f, inputs[k], [g]).value.reshape(yours.shape)
    case = Case(yours=yours, numeric=numeric, blocks=blocks)
    found = one_block(case) if case.wrong().any() else None
    return found if found and found[0][len("block:") :] in blocks else None


def with_sentence(text, sentence):
    """A report of ``of_gradients`` with another diagnosis in place of the bank's."""
    bank = r"(?<=entries differ\n).*?(?:  |\n)\[[^\]]+\]$"
    replaced, times = re.subn(
        bank, lambda _: sentence, text, count=1, flags=re.DOTALL | re.MULTILINE
    )
    return replaced if times else f"{text}\n{sentence}"


def first_wrong(yours, right):
    """Where a chain of gradients, from the loss backwards, first goes wrong.

    yours, right  {name: array}, in the order in which a backward finds them
    Returns (name, sentence), or None where all agree.
    """
    before = None
    for name, expected in right.items():
        if name in yours and not same(np.asarray(yours[name], float), expected):
            agreed = f"d_{before} agrees; " if before else ""
            return name, f"{agreed}d_{name} is the first that does not"
        before = name
    return None


def _message(result, inputs):
    """The engine's words, with names in one piece and our words below a picture."""
    text = re.sub(r"(?<=\w-)\n(?=\w)", "", result.message)
    if result.worst and result.worst.input.isdigit():
        text = re.sub(
            r"\(# differs; .*\)",
            legend(np.shape(inputs[int(result.worst.input)])),
            text,
        )
    return text


def _with_names(text, names):
    def name(match):
        k = int(match.group(1))
        return f"d_{names[k]}" if k < len(names) else match.group(0)

    text = re.sub(r"\bd_(\d+)\b", name, text)
    text = re.sub(r"\bthe gradient of input (\d+)\b", name, text)
    return re.sub(r"\binput (\d+)\b", name, text)

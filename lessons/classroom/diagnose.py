"""Search for the known mistake that a wrong answer equals.

The hypotheses are the engine's (``minigrad.checking.hypotheses``), for values and for
gradients. Each is an identity that holds to 1e-6: "yours equals numeric with its last
two axes swapped". An exercise adds its own as variants, which are tried first: (tag,
sentence, array or function that returns one). If none holds, the tag is "unknown";
nothing is guessed.
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

from .describe import legend

UNKNOWN = "unknown", "no known pattern"
FLOAT32 = 1e-9  # of the largest entry: a smaller error is not float32 rounding


def of_values(got, want, variants=(), mask=None, widths=()):
    """Return (tag, sentence) for a wrong array of numbers.

    mask    of want's shape, False where an entry must be 0 because it is masked
    widths  sizes of the inputs that may explain a factor, besides the axes of want
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
        return _nearly(got, want)
    tag, sentence = _of_bank(Case(yours=got, numeric=want, mask=mask), widths)
    if tag.partition(":")[0] in ("block", "scale") and want.size < 3:
        return UNKNOWN  # with one or two entries, such an identity holds by chance
    return tag, sentence.replace("numeric", "expected")


def _nearly(got, want):
    """Return (tag, sentence) for numbers that are wrong after the sixth digit."""
    off = np.abs(got - want).max() / np.abs(want).max()
    how = f"yours differs from expected by {off:.1g} of the largest entry at most"
    if off < FLOAT32:
        return "nearly", how
    return "float32", f"{how}: is an intermediate a float32, with its 7 digits?"


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


def of_masks(got, want, variants=()):
    """Return (tag, sentence) for a wrong array of booleans."""
    named = of_variants(got, variants, want)
    if named:
        return named
    both = want.any() and not want.all()  # else every wrong answer is the complement
    if both and got.shape == want.shape and np.array_equal(got, ~want):
        return "complement", "yours equals not expected: True and False exchanged"
    for transposed, what in (
        (want.swapaxes(-1, -2) if want.ndim > 1 else want, "its last two axes swapped"),
        (want.T, "its axes reversed"),
    ):
        if want.ndim > 1 and np.array_equal(got, transposed):
            return "transpose", f"yours equals expected with {what}"
    return UNKNOWN


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


def of_gradients(op, inputs, names, seed, no_gradient=(), about=None):
    """Return None if every gradient is right, else (tag, report).

    op       arrays -> (array, backward), as ``@differentiable`` takes it
    names    of the inputs, for the report
    about    the number of the input whose entry is shown, if that one is wrong;
             without it, the first wrong one
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
    """Return (number of the input, tag, sentence) of an exercise's variant, or None.

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
    """Return (tag, sentence) if all wrong entries lie in one named block, or None."""
    if not blocks or yours.shape != inputs[k].shape:
        return None

    def f(x):
        return (np.asarray(op(*inputs[:k], x, *inputs[k + 1 :])[0]),)

    numeric = slopes(f, inputs[k], [g]).value.reshape(yours.shape)
    case = Case(yours=yours, numeric=numeric, blocks=blocks)
    found = one_block(case) if case.wrong().any() else None
    return found if found and found[0][len("block:") :] in blocks else None


def with_sentence(text, sentence):
    """Replace the diagnosis in a report of ``of_gradients`` by another sentence."""
    diagnosis = r"(?<=entries differ\n).*?(?:  |\n)\[[^\]]+\]$"
    replaced, times = re.subn(
        diagnosis, lambda _: sentence, text, count=1, flags=re.DOTALL | re.MULTILINE
    )
    return replaced if times else f"{text}\n{sentence}"


def first_wrong(yours, right):
    """Return (name, sentence) of the first wrong gradient of a chain, or None.

    yours, right  {name: array}, in the order in which a backward computes them
    """
    before = None
    for name, expected in right.items():
        if name in yours and not same(np.asarray(yours[name], float), expected):
            agreed = f"d_{before} agrees; " if before else ""
            return name, f"{agreed}d_{name} is the first that does not"
        before = name
    return None


def _message(result, inputs):
    """Return the engine's message, with unbroken names and our legend of a picture."""
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

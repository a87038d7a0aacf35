"""Laws of all variants: each equals its definition, and nothing passes a mask.

A subject is a row of the table of variants, or a composition of ``law_cases.py``. A new
row obeys these laws without a line here:

    its function or layer has the values and the gradients of its definition
    in float32 as in float64, with kernels as without, for any sizes, also of 0
    padding has no influence, even if it is NaN; a query without keys gets 0
    what the definition does not read has no influence: later tokens, far keys
    a text that is read in parts gives what it gives as a whole

The rows of positions obey the same laws inside a Transformer, in
``attention/transformer``; masks have theirs in ``attention/masks``.
"""

import contextlib
import functools
import warnings
from unittest import mock

import numpy as np
import pytest

import attention as A
from attention import definitions, kernels, masks
from attention.costs.formulas import shapes_of
from attention.kernels import compiling
from attention.variants.luong import KINDS
from attention.variants.table import NORMALIZERS, SCORES
from minigrad import Tensor, concat, nn, where

from .attention.definition_cases import check, check_gradients
from .attention.law_cases import ROWS, STREAMS, SUBJECTS, B, argument_of

SIZES = [(5, 13), (13, 5), (1, 1)]
MORE_SIZES = [(10, 10), (1, 9), (9, 1), (33, 65), (64, 128)]
LONG = 70  # more than a tile, or a chunk
PADDED = [name for name, subject in SUBJECTS.items() if subject.padded]
SCORED = [
    name for name, subject in SUBJECTS.items()
    if [axes[0] for axes in subject.axes] == ["L", "S", "S"]
    and name not in ("performer", "kernel gaussian")  # whose definitions underflow
]  # fmt: skip
# these project contexts, so that a context of 0 is no output of 0
PROJECTED = ("heads", "Luong's", "Bahdanau", "layer of", "multi-head", "mla",
             "pma", "isab", "perceiver")  # fmt: skip
# in these NaN * 0 = NaN is in a gradient: of a projection, or of a token with an output
READS_NAN = (*PROJECTED, "gat")
# the kernels of these modules take long to compile
LARGE = {"recurrence", "delta"}

# with many entries, one is near a corner, where the weight of a key becomes 0, or so
# steep that a difference of the definition is not its slope; gradcheck's steps are small
CORNERS = {"kernel boxcar", "kernel triangular", "kernel epanechnikov", "gat", "gatv2",
           "ntm", "local-p, narrow"}  # fmt: skip

every = pytest.mark.parametrize("name", SUBJECTS)
every_smooth = pytest.mark.parametrize("name", [n for n in SUBJECTS if n not in CORNERS])
every_row = pytest.mark.parametrize("name", ROWS)
padded = pytest.mark.parametrize("name", PADDED)


@pytest.fixture
def law(request):
    """Return a function that runs a law with NumPy, and with the kernels it asks for.

    Warnings are errors. Kernels that take long to compile, and those of float32, run
    with --deep: tests/attention/kernels says what they compute.
    """
    asked, version = set(), compiling.Kernel.version

    def noted(kernel, *arguments, **options):
        asked.add(kernel.function.__module__.rpartition(".")[2])
        return version(kernel, *arguments, **options)

    def run(test, dtype=np.float64):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with mock.patch.object(compiling.Kernel, "version", noted):
                with kernels.backend("numpy"):
                    test()
            quick = dtype == np.float64 and not asked & LARGE
            if asked and (quick or request.config.getoption("--deep")):
                pytest.importorskip("numba")
                with kernels.backend("numba"):
                    test()

    return run


def results(subject, module, arrays, g=None, **options):
    """Return the output, and the gradients of inputs and parameters.

    g   the gradient of the output; None draws it
    """
    module.zero_grad()
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    o = subject.run(module, *leaves, **options)
    o.backward(cotangent(o) if g is None else g)
    every = (*leaves, *module.parameters())
    gradients = [np.zeros_like(x.data) if x.grad is None else x.grad for x in every]
    return [o.data, *gradients]


def cotangent(o):
    return np.random.default_rng(5).standard_normal(o.shape).astype(o.dtype)


def same(found, expected, tolerance=1e-12):
    for x, y in zip(found, expected, strict=True):
        atol = tolerance * abs(y).max(initial=1)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=atol)


def with_parameters(module, arrays):
    return [*arrays, *(p.data for p in module.parameters())]


# -- definitions -----------------------------------------------------------------------


def check_sizes(subject, sizes):
    for L, S in sizes:
        m = subject.module(L, S)
        run = functools.partial(subject.run, m)
        check(run, subject.defined(m), subject.inputs(L, S), m.parameters())


@every
def test_definition(law, name):
    """In values and all gradients, for odd sizes, one query, one key."""
    subject = SUBJECTS[name]
    law(lambda: check_sizes(subject, [(LONG, LONG)] * subject.long + SIZES))


@pytest.mark.deep
@every_smooth
def test_definition_of_more_sizes(law, name):
    law(lambda: check_sizes(SUBJECTS[name], MORE_SIZES))


@every_row
def test_leading_axes_are_examples(name):
    """All layers take leading axes; a function that does not must refuse them."""
    row, arrays = ROWS[name], ROWS[name].inputs(5, 7)
    m = row.module(5, 7)
    try:
        found = row.call(m, *arrays).data
    except ValueError as error:
        assert "expected" in str(error) or "broadcast" in str(error)
        return
    alone = [row.call(m, *(x[b] for x in arrays)).data for b in range(B)]
    if name != "copy":  # whose words depend on the shapes
        same([found], [np.stack(alone)])


@every_row
def test_the_parameters_of_a_layer_have_the_names_of_the_row(name):
    row = ROWS[name]
    names = [*shapes_of(row.row.parameters, row.letters | {"L": 3, "S": 3})]
    own = [n.removesuffix(".weight") for n, _ in row.module(3, 3).named_parameters()]
    assert own[: len(names)] == names


@pytest.mark.parametrize("name", SCORED)
def test_large_scores_overflow_nowhere(law, name):
    subject = SUBJECTS[name]

    def test():
        arrays, m = subject.inputs(9, 9), subject.module(9, 9)
        arrays[0] *= 50
        arrays[1] *= 50
        for parameter, p in m.named_parameters():
            if parameter.split(".")[-1] in ("w_v", "v_a"):
                p.data = p.data * 5000
        o, *gradients = results(subject, m, arrays)
        definition, inputs = subject.defined(m), with_parameters(m, arrays)
        np.testing.assert_allclose(o, definition(*inputs), rtol=1e-10, atol=1e-10)
        # the slopes are steep, and the scores are rounded by 1e-12
        check_gradients(
            definition, inputs, cotangent(o), gradients, step=1e-8, rounding=1e-12
        )

    law(test)


@every
def test_float32(law, name):
    """Outputs and gradients are float32, and near those in float64."""
    subject = SUBJECTS[name]

    def test():
        found = []
        for dtype in np.float32, np.float64:
            m = subject.module(9, 9, np.float32)
            for p in m.parameters():
                p.data = p.data.astype(dtype)
            arrays = [x.astype(dtype) for x in subject.inputs(9, 9, dtype=np.float32)]
            found.append(results(subject, m, arrays))
            assert {x.dtype for x in found[-1]} == {np.dtype(dtype)}
        for x, y in zip(*found):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-4 * max(1, abs(y).max()))

    law(test, np.float32)


@pytest.mark.deep
@every_smooth
def test_float32_is_as_exact_as_its_inputs(law, name):
    """At most twice the change by their rounding, on average; thrice in gradients.

    What is rounded besides the inputs counts twice: the decay of retnet, which is a
    constant, and exp(x) of a large x, as in the features of performer. So do sums over
    all pairs: the gradients of the matrices that mix heads, in talking.
    """
    twice = ("retnet", "performer causal", "talking")
    subject, times = SUBJECTS[name], 1 + (name in twice)
    n, count = (140, 4) if subject.long else (8, 40)

    def test():
        draws = [errors(subject, n, seed) for seed in range(count)]
        for i, (error, bound) in enumerate(zip(*np.mean(draws, axis=0))):
            assert error <= times * (3 if i else 2) * bound, i

    law(test)


def errors(subject, n, seed):
    """Return the largest errors in float32, and the largest changes by its rounding.

    The changes are those in float64 when all inputs, parameters and dL/do move by about
    one rounding of float32.
    """
    rng, single = np.random.default_rng(seed), subject.module(n, n, np.float32, seed)
    arrays = subject.inputs(n, n, dtype=np.float32, seed=seed)
    arrays[0] *= np.float32(3)
    ours = results(subject, single, arrays)

    def in_float64(change):
        module = subject.module(n, n, np.float64, seed)
        for p, x in zip(module.parameters(), single.parameters()):
            p.data = change(x.data.astype(float))
        inputs = [change(x.astype(float)) for x in arrays]
        g = change(cotangent(ours[0]).astype(float))
        return results(subject, module, inputs, g)

    def rounded(x):
        return x * (1 + np.finfo(np.float32).eps * rng.standard_normal(x.shape))

    exact, moved = in_float64(lambda x: x), in_float64(rounded)
    found, changes = (
        [abs(x - y).max() for x, y in zip(each, exact, strict=True)]
        for each in (ours, moved)
    )
    # the gradient of a shift of all scores, or of a bandwidth, is a sum that cancels
    cancels = [abs(x).max() < 1e-10 or x.ndim == 0 for x in exact]
    terms = sum(abs(x * dx).sum() for x, dx in zip(arrays, exact[1:]))
    eps = np.finfo(np.float32).eps
    return found, np.where(cancels, eps * terms, np.maximum(changes, eps))


@every
def test_no_examples_queries_or_keys(law, name):
    """The definition where it computes something, and otherwise no NaN."""
    subject = SUBJECTS[name]

    def test():
        for examples, L, S in (0, 5, 5), (B, 0, 0), (B, 0, 7), (B, 5, 0):
            arrays, m = subject.inputs(L, S, examples), subject.module(L, S)
            expected = None
            with contextlib.suppress(ValueError, IndexError, RuntimeWarning):
                expected = subject.defined(m)(*with_parameters(m, arrays))
            try:
                o, *gradients = results(subject, m, arrays)
            except (TypeError, ValueError, IndexError):
                assert expected is None
                continue
            assert len(o) == examples
            assert all(np.isfinite(x).all() for x in (o, *gradients))
            if expected is not None:
                same([o], [expected])

    law(test)


# -- padding ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in PADDED if SUBJECTS[n].alone])
def test_padding(law, name):
    """The outputs and gradients of n keys are those of the first n keys alone."""
    subject = SUBJECTS[name]

    def test():
        for L, S in (10, 10), (7, 13):
            m, lens = subject.module(L, S), [S // 2, S]
            run = functools.partial(without_padding, subject, m, lens)
            check(run, subject.defined(m, lens), subject.inputs(L, S), m.parameters())

    law(test)


def without_padding(subject, m, lens, *inputs):
    """Return the outputs; if each key has one, then 0 for the keys of padding."""
    o = subject.run(m, *inputs, lens=lens)
    sizes = subject.sizes(inputs)
    if "L" in sizes or o.shape[1] != sizes["S"]:
        return o
    keep = np.arange(sizes["S"]) < np.reshape(lens, (-1, 1))
    return where(keep[..., None], o, 0.0)


def filled(subject, arrays, lens, number):
    """Return the inputs with a number at all padding."""
    arrays = [x.copy() for x in arrays]
    for x, axes in zip(arrays, subject.axes):
        for b, n in enumerate(lens):
            at = tuple(slice(n if letter == "S" else 0, None) for letter in axes)
            if "S" in axes:
                x[b][at] = number
    return arrays


@padded
def test_padding_may_be_anything(law, name):
    """NaN as well; and its gradients are 0."""
    subject = SUBJECTS[name]
    n = LONG if subject.long else 18

    def test():
        m, lens = subject.module(n, n), [n // 2, n]
        arrays, expected = subject.inputs(n, n), None
        bare = subject_without_padding(subject)
        for number in [0.0, 7.0] + [np.nan] * (not name.startswith(READS_NAN)):
            found = results(bare, m, filled(subject, arrays, lens, number), lens=lens)
            expected = expected or found
            assert np.isfinite(found[0]).all()
            same(found, expected)
            for dx, axes in zip(found[1:], subject.axes):
                if "S" in axes:
                    at = tuple(slice(n // 2 if a == "S" else 0, None) for a in axes)
                    assert not dx[0][at].any()
            assert any(dx[0].any() for dx in found[1 : 1 + len(arrays)])

    law(test)


@pytest.mark.parametrize("name", [
    *SCORES, "output gate", "local-p", "additive with bias",
    *(f"kernel {kernel}" for kernel in definitions.KERNELS),
])  # fmt: skip
def test_each_query_may_have_a_length_of_its_own(name):
    subject, lens = SUBJECTS[name], np.array([[9, 4, 1, 0], [2, 9, 3, 7]])
    m, (q, k, v) = subject.module(4, 9), subject.inputs(4, 9)
    whole = subject.run(m, q, k, v, lens=lens).data
    for t in range(4):
        alone = subject.run(m, q[:, t : t + 1], k, v, lens=lens[:, t]).data
        same([whole[:, t : t + 1]], [alone])


def subject_without_padding(subject):
    run = functools.partial(without_padding, subject)
    return mock.Mock(run=lambda m, *inputs, lens: run(m, lens, *inputs))


@padded
def test_an_example_without_keys_and_its_neighbour(law, name):
    subject = SUBJECTS[name]
    n = LONG if subject.long else 18

    def test():
        m, arrays, lens = subject.module(n, n), subject.inputs(n, n), [0, n]
        bare, outcomes = subject_without_padding(subject), []
        for number in None, 3.0:
            if number is not None:
                for x in arrays:
                    x[0] = number
            o, *gradients = results(bare, m, arrays, lens=lens)
            assert all(np.isfinite(x).all() for x in (o, *gradients))
            own = gradients[: len(arrays)]
            for dx, axes in zip(own, subject.axes):
                if "S" in axes:
                    assert not dx[0].any()
            if not name.startswith(PROJECTED):
                assert not o[0].any() and not own[0][0].any()
            outcomes.append([o[1], *(dx[1] for dx in own)])
        same(*outcomes)

    law(test)


# -- what the definition does not read -------------------------------------------------


@every
def test_what_the_definition_does_not_read_has_no_influence(law, name):
    """Later tokens and far keys: not on outputs, and not on the gradients of these."""
    subject = SUBJECTS[name]
    n = LONG if subject.long else 18
    at, m = n - 10, subject.module(n, n)
    arrays, definition = subject.inputs(n, n), subject.defined(m)
    before = definition(*with_parameters(m, arrays))
    for letter in "S", "L":
        changed = [x.copy() for x in arrays]
        for x, axes in zip(changed, subject.axes):
            if axes[:1] == [letter]:
                x[:, at] = 2.0
        after = definition(*with_parameters(m, changed))
        if after.shape[1] != n:
            continue
        # outputs (B, n) that are the same
        unread = (after == before).reshape(B, n, -1).all((0, 2))
        if unread.all() or not unread.any():
            continue

        def test(changed=changed, unread=unread, letter=letter):
            g = np.random.default_rng(9).standard_normal(before.shape)
            g[:, ~unread] = 0
            outcomes = []
            for inputs in arrays, changed:
                o, *gradients = results(subject, m, inputs, g=g)
                for dx, axes in zip(gradients, subject.axes):
                    if axes[:1] == [letter]:
                        assert not dx[:, at].any()
                outcomes.append([o[:, unread], *gradients])
            same(*outcomes)

        law(test)


# -- texts in parts --------------------------------------------------------------------

STREAMING = [(name, how) for name in ROWS for how in STREAMS if ROWS[name].has(how)]


@pytest.mark.parametrize("name, how", STREAMING)
def test_a_text_in_parts_is_the_whole_text(law, name, how):
    """In outputs and gradients."""
    row = ROWS[name]
    n = LONG if row.long else 12

    def test():
        m, outcomes = row.module(n, n), []
        for which in 0, 1:
            leaves = [Tensor(x, requires_grad=True) for x in row.inputs(n, n)]
            m.zero_grad()
            o = concat(STREAMS[how](row, m, leaves)[which], 1)
            o.backward(cotangent(o))
            grads = [x.grad for x in (*leaves, *m.parameters())]
            outcomes.append([o.data, *(g for g in grads if g is not None)])
        same(*outcomes, 1e-10)

    law(test)


# -- dropout, threads ------------------------------------------------------------------


def with_dropout(module):
    """Return the parts of a module that drop weights."""
    parts = [m for m in module.modules() if argument_of(type(m), ["dropout"])]
    return [m for m in parts if type(vars(m).get("dropout")) is float]


DROPPING = [n for n, s in SUBJECTS.items() if with_dropout(s.make(3, 3))]


@pytest.mark.parametrize("name", DROPPING)
def test_dropout_acts_in_training_alone(name):
    subject = SUBJECTS[name]
    m, arrays = subject.module(5, 7), subject.inputs(5, 7)
    plain = subject.run(m, *map(Tensor, arrays)).data
    for part in with_dropout(m):
        part.dropout = 0.5
    one, other = (subject.run(m, *map(Tensor, arrays)).data for _ in range(2))
    assert (one != other).any()
    m.eval()
    same([subject.run(m, *map(Tensor, arrays)).data], [plain])


# -- masks, normalisers, scores --------------------------------------------------------

BIGBIRD = masks.bigbird(4, 1, 1, 1, seed=0)


def bigbird(i, j):
    """Return the definition with the blocks that the mask draws, one in each row."""
    drawn = BIGBIRD.dense(1, 1, len(i), j.shape[-1])[0, 0][::4, ::4]
    a, b = definitions.positions(*drawn.shape)
    others = (a != b) & (a != 0) & (b != 0)  # neither near nor global
    np.testing.assert_array_equal((drawn & others).sum(1), others.any(1))
    return definitions.bigbird(i, j, 4, 0, [0], drawn & others)


def test_bigbird_is_its_definition():
    """The rules of the other masks in ``attention/masks`` are definitions."""
    for L, S in (LONG, LONG), (5, 13), (13, 5):
        expected = bigbird(*definitions.positions(L, S))
        np.testing.assert_array_equal(BIGBIRD.dense(1, 1, L, S)[0, 0], expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NORMALIZERS)
def test_a_normalizer_of_large_scores_and_of_rows_without_keys(law, name, dtype):
    """Weights and gradients are finite, and exactly 0 where a key is masked."""
    row = NORMALIZERS[name]
    shapes = shapes_of(row.parameters, {}).values()
    normalize = row.bound(*(np.ones(x, dtype) for x in shapes), **row.options)
    allowed = np.array([[1, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]], bool)

    def test():
        for size in 1e-4, 1.0, 1e4:
            s = (np.random.default_rng(0).standard_normal((3, 4)) * size).astype(dtype)
            s[:, 2] = np.abs(s).max() * 2  # the largest, masked in row 0
            s = Tensor(s, requires_grad=True)
            p = normalize(s, allowed)
            assert p.dtype == dtype and np.isfinite(p.data).all()
            assert (p.data >= 0).all() and not p.data[~allowed].any()
            p.backward(np.ones((3, 4), dtype) + np.arange(4, dtype=dtype))
            assert np.isfinite(s.grad).all() and not s.grad[~allowed].any()

    law(test, dtype)


@pytest.mark.parametrize("name", SCORES)
def test_equal_widths_of_queries_and_keys_are_what_a_layer_needs(name):
    rng = np.random.default_rng(0)
    q, k = rng.standard_normal((5, 4)), rng.standard_normal((7, 3))
    try:
        SCORES[name].layer(4, 3, None).score(q, k)
        refused = False
    except ValueError:
        refused = True
    assert refused == SCORES[name].equal_widths


@pytest.mark.parametrize("name", [*SCORES, "coverage", "local-p", "output gate"])
def test_projected_keys_are_the_keys(name):
    """In outputs and gradients."""
    subject, outcomes = SUBJECTS[name], []
    m, arrays = subject.module(5, 7), subject.inputs(5, 7)
    for prepare in lambda k: k, m.precompute:
        m.zero_grad()
        leaves = [Tensor(x, requires_grad=True) for x in arrays]
        o = subject.run(m, leaves[0], prepare(leaves[1]), leaves[2], lens=[7, 3])
        o.backward(cotangent(o))
        outcomes.append([o.data, *(x.grad for x in (*leaves, *m.parameters()))])
    same(*outcomes)


def test_every_public_layer_is_a_subject():
    modules = [subject.module(3, 3) for subject in SUBJECTS.values()]
    found = {type(part) for module in modules for part in module.modules()}
    public = {getattr(A, name) for name in A.__all__}
    layers = {x for x in public if isinstance(x, type) and issubclass(x, nn.Module)}
    layers -= {x for x in layers if x.__module__.startswith("attention.positions")}
    layers -= {A.Sink}  # a normaliser
    assert layers and layers <= found, layers - found
    kinds = {m.kind for m in modules if isinstance(m, A.LuongAttention)}
    assert kinds == set(KINDS)

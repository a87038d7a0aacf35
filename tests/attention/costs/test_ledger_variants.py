"""The ledger of moving windows, coverage and the Gaussian kernel: loops and memory."""

import tracemalloc
import warnings

import numpy as np
import pytest

from attention import CoverageAttention, LocalAttention, attend, kernels
from attention.costs import VARIANTS, ledger, trials
from attention.costs import table as ledger_table
from attention.costs.counted import count
from attention import gaussian
from minigrad import Tensor, no_grad

SHAPES = [(1, 1), (1, 7), (5, 1), (4, 6), (9, 4), (6, 13)]


def drawn(variant, L, S, E=3, Ev=2, A=4, **options):
    return trials.inputs(variant, L=L, S=S, E=E, Ev=Ev, A=A, **options)


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_the_table_shows_is_equal(variant):
    predicted, found = trials.counted(variant)
    assert predicted == found > 0


# -- local -----------------------------------------------------------------------------


@pytest.mark.parametrize("L, S", SHAPES)
@pytest.mark.parametrize("D", [1, 2, 6])
@pytest.mark.parametrize("kind", ["m", "p"])
def test_local_attention_counts_the_places_of_its_windows(kind, D, L, S):
    variant = f"local-{kind}"
    q, k, v, parameters = drawn(variant, L, S)
    o, found = count(variant, q, k, v, parameters, D=D)
    cost = ledger(variant, L=L, S=S, E=3, Ev=2, D=D)
    assert cost.multiplications == found
    assert cost.parameters == sum(p.size for p in parameters)
    twice = ledger(variant, L=L, S=S, E=3, Ev=2, D=D, B=2, H=3)
    assert (twice.multiplications, twice.parameters) == (6 * found, cost.parameters)
    layer = LocalAttention(3, 3, D, kind, "dot")
    layer.load_state_dict(dict(zip(("W_p", "v_p"), parameters)))
    assert cost.parameters == sum(p.size for p in layer.parameters())
    # the layer holds its parameters as float32
    np.testing.assert_allclose(o, layer(q, k, v).data, rtol=1e-5, atol=1e-6)


def test_a_window_of_one_key():
    q, k, v, _ = drawn("local-m", 3, 5)
    _, found = count("local-m", q, k, v, D=0)
    cost = ledger("local-m", L=3, S=5, E=3, Ev=2, D=0)
    assert cost.multiplications == found == 3 * (3 + 2)
    # for the other kind sigma would be 0
    with pytest.raises(ValueError, match="D is 0; expected a whole number, 1 or more"):
        ledger("local-p", L=3, D=0)


def test_a_step_of_local_attention_costs_the_same_for_any_source():
    for variant in ("local-m", "local-p"):
        costs = [ledger(variant, L=1, S=S, D=10) for S in (21, 1000, 10**6)]
        assert len(set(costs)) == 1
        assert costs[0].score_bytes == 21 * 4  # one score a place
        wider = ledger(variant, L=1, S=10**6, D=20)
        scores = [c.multiplications - c.projecting for c in (costs[0], wider)]
        assert scores[1] == pytest.approx(41 / 21 * scores[0], rel=1e-3)
    one = ledger("local-m", L=1, S=50, D=10)
    assert one.multiplications / ledger("dot", L=1, S=50).multiplications == 21 / 50


# -- coverage and the Gaussian kernel --------------------------------------------------


@pytest.mark.parametrize("L, S", SHAPES)
def test_coverage_is_the_additive_score_and_w_c_c_after_the_first_step(L, S):
    q, k, v, parameters = drawn("coverage", L, S)
    o, found = count("coverage", q, k, v, parameters)
    cost = ledger("coverage", L=L, S=S, E=3, Ev=2, A=4)
    plain = ledger("additive", L=L, S=S, E=3, Ev=2, A=4)
    assert cost.multiplications == found == plain.multiplications + (L - 1) * S * 4
    assert cost.parameters == plain.parameters + 4
    layer = CoverageAttention(3, 3, 4)
    layer.load_state_dict(dict(zip(("W_q", "W_k", "w_v", "w_c"), parameters)))
    contexts, *_ = layer(q, k, v)  # its parameters are float32
    np.testing.assert_allclose(o, contexts.data, rtol=1e-4, atol=1e-5)


def test_coverage_of_two_widths():
    rng = np.random.default_rng(0)
    shapes = (3, 4), (5, 7), (5, 2), (6, 4), (6, 7), (6,), (6,)
    q, k, v, *parameters = (rng.standard_normal(s) for s in shapes)
    _, found = count("coverage", q, k, v, parameters)
    cost = ledger("coverage", L=3, S=5, E=4, Dk=7, Ev=2, A=6)
    assert cost.multiplications == found
    assert cost.parameters == sum(p.size for p in parameters)


def test_the_gaussian_kernel_costs_what_dot_products_cost():
    q, k, v, _ = drawn("gaussian", 4, 7)
    for h in (1.0, 0.3):
        o, found = count("gaussian", q, k, v, h=h)
        exact, _ = attend(q, k, v, lambda a, b: gaussian(a, b, h))
        np.testing.assert_allclose(o, exact.data, rtol=1e-11)
        cost = ledger("gaussian", L=4, S=7, E=3, Ev=2)
        assert cost.multiplications == found
        assert cost._replace(extra_bytes=0) == ledger(
            "dot", L=4, S=7, E=3, Ev=2
        )._replace(extra_bytes=0)


@pytest.mark.parametrize("variant", trials.LAYERS)
def test_the_layers_that_are_measured_are_those_that_are_counted(variant):
    q, k, v, parameters = drawn(variant, 23, 31)  # D is 10: as trials.OPTIONS has it
    o, _ = count(variant, q, k, v, parameters, **trials.options_of(variant))
    found = trials.call_of(variant, 31, q, k, v, parameters)()
    found = found[0] if isinstance(found, tuple) else found
    np.testing.assert_allclose(o, found.data, rtol=1e-4, atol=1e-5)


# -- memory ----------------------------------------------------------------------------


def held(call):
    """The bytes that a call holds at its widest point, its result among them."""
    with no_grad():
        call()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            result = call()  # noqa: F841  the output counts
            return tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("variant", ["local-m", "local-p"])
def test_windows_take_the_bytes_predicted(variant):
    pytest.importorskip("numba")
    with kernels.backend("numba"):
        for n in (256, 1024):
            predicted, found = trials.measured(variant, n)
            assert 0.98 < found / predicted < 1.05


@pytest.mark.parametrize("L, S, E, Ev, D, lead, dtype", [
    (200, 900, 16, 64, 10, (), "float32"), (900, 200, 64, 16, 30, (), "float64"),
    (100, 300, 64, 16, 5, (2, 3), "float32"), (64, 9, 32, 64, 20, (4,), "float32"),
    (999, 500, 8, 8, 10, (), "float32"),
])  # fmt: skip
def test_windows_of_other_shapes(L, S, E, Ev, D, lead, dtype):
    rng = np.random.default_rng(0)
    shapes = (*lead, L, E), (*lead, S, E), (*lead, S, Ev)
    q, k, v = (Tensor(rng.standard_normal(s).astype(dtype)) for s in shapes)
    sizes = dict(L=L, S=S, B=int(np.prod(lead)), E=E, Ev=Ev, D=D, dtype=dtype)
    for kind in "mp":
        layer = LocalAttention(E, E, D, kind, "dot")
        if dtype == "float64":
            for name, p in layer.state_dict().items():
                setattr(layer, name, Tensor(p.astype(dtype)))
        with kernels.backend("numpy"):
            found = held(lambda: layer(q, k, v))
        assert 0.97 < found / ledger(f"local-{kind}", **sizes).extra_bytes < 1.06


@pytest.mark.parametrize("L, S, A", [(256, 1024, 64), (512, 512, 64), (30, 2000, 64),
                                     (400, 200, 16)])  # fmt: skip
def test_coverage_takes_the_bytes_predicted_and_a_kilobyte_a_step(L, S, A):
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    q, k, v = (Tensor(rng.standard_normal((n, A)).astype("f4")) for n in (L, S, S))
    layer = CoverageAttention(A, A, A)
    with kernels.backend("numba"):
        found = held(lambda: layer(q, k, v))
    cost = ledger("coverage", L=L, S=S, E=A)
    assert cost.score_bytes == L * S * 4
    # Tensors and arrays of three results a step are Python's own objects
    assert -0.02 * found < found - cost.extra_bytes < 1300 * L


# -- arguments -------------------------------------------------------------------------


@pytest.mark.parametrize("options, error, message", [
    (dict(variant="dilated", dilation=0), ValueError, "dilation is 0; expected a wh"),
    (dict(variant="dilated", dilation=1.5), TypeError, "dilation is 1.5; expected a"),
    (dict(variant="longformer", global_tokens=3), ValueError, r"shape \(\); expected"),
    (dict(variant="longformer", global_tokens=(0.5,)), TypeError, "holds float64"),
    (dict(variant="longformer", global_tokens=(0, 64)), ValueError,
     "global_tokens holds 64; expected numbers from 0 to 63, positions of tokens"),
    (dict(variant="longformer", global_tokens=(-1,)), ValueError, "holds -1; expected"),
    (dict(variant="longformer", window=(1,)), ValueError, r"window is \(1,\); expec"),
    (dict(variant="local-m", D=-1), ValueError, "D is -1; expected a whole number, 0"),
    (dict(variant="local-m", D="all"), TypeError, "D is 'all'; expected a whole"),
    (dict(variant="local-p", Dk=3), ValueError, "'local-p' needs queries and keys of"),
    (dict(variant="gaussian", Dk=3), ValueError, "'gaussian' needs queries and keys"),
    (dict(variant="coverage", projected="once"), ValueError, "expected None for 'cov"),
    (dict(variant="bigbird", blocks=(0, 1, 1, 1)), ValueError, "has blocks of 0 tok"),
    (dict(variant="bigbird", blocks=(1, 4, 2, 5)), ValueError, "window of 4; expected"),
    (dict(variant="window", window=(True, 0)), ValueError, r"window is \(True, 0\)"),
    (dict(variant="additive", fused="no"), TypeError, "fused is 'no'; expected True"),
])  # fmt: skip
def test_what_does_not_fit_is_said(options, error, message):
    with pytest.raises(error, match=message):
        ledger(**{"L": 64, **options})


def test_numbers_of_numpy_are_numbers():
    """And no narrow ones, in which a product would begin again from 0."""
    for n in np.int16(1000), np.int32(65_536), np.int64(10**6):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = ledger("dense", L=n, E=np.int8(64), window=(np.int64(3), 0))
        assert found == ledger("dense", L=int(n), E=64)


def test_loops_that_there_are_not_and_queries_without_keys():
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(n, 2)) for n in (3, 5, 5))
    with pytest.raises(ValueError, match="no loop 'window'; expected one of dot, "):
        count("window", q, k, v)
    allowed = np.ones((3, 5), bool)
    allowed[1] = False
    tiles = [(range(3), [range(3), range(3, 5)])]
    found, _ = count("tiled", q, k, v, allowed=allowed, tiles=tiles)
    expected, _ = count("masked", q, k, v, allowed=allowed)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert not found[1].any()


def test_the_table_says_what_the_ledger_was_told():
    lines = ledger_table.comparison(64, 8).splitlines()
    assert max(map(len, lines)) <= 80
    at = lines.index("of 64 queries and keys, as ledger is told:")
    said = dict(line.split(maxsplit=1) for line in lines[at + 1 :])
    assert said.keys() == trials.OPTIONS.keys()
    for variant, text in said.items():
        assert eval(f"dict({text})") == trials.OPTIONS[variant]

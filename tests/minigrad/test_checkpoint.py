"""Checkpoints: what is saved comes back to the last bit."""

import math

import numpy as np
import pytest

from minigrad import optim
from minigrad.checkpoint import load, save
from minigrad.tensor import Tensor

from .checkpoint_cases import FORMATS, assert_same


@pytest.fixture(params=FORMATS)
def path(request, tmp_path):
    return tmp_path / f"state{request.param}"


def round_trip(path, state):
    save(path, state)
    return load(path)


def test_every_dtype_and_shape(path):
    bits = np.random.default_rng(0).integers(0, 2, size=(2, 3, 4, 8), dtype="u1")
    state = {"?": bits[..., 0] != 0}
    for code in "f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1".split():
        state[code] = np.ascontiguousarray(bits.view(code)[..., 0])
        for shape in ((), (5,), (0,), (3, 0, 2), (1, 1)):
            state[f"{code}{shape}"] = np.ones(shape, code)
    assert_same(round_trip(path, state), state)


def test_special_values(path):
    for dtype in (np.float64, np.float32, np.float16):
        info = np.finfo(dtype)
        values = [np.nan, np.inf, -np.inf, -0.0, info.max, info.tiny, info.eps]
        array = np.array([*values, info.smallest_subnormal], dtype)
        assert_same(round_trip(path, {"x": array}), {"x": array})
    extremes = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    assert_same(round_trip(path, {"x": extremes}), {"x": extremes})


def test_views_of_any_layout(path):
    base = np.arange(60.0).reshape(3, 4, 5)
    base.flags.writeable = False
    state = {
        "reversed": base[::-1, :, ::2],
        "transposed": base.T,
        "fortran": np.asfortranarray(base),
        "broadcast": np.broadcast_to(base[0], (2, 4, 5)),
    }
    expected = {name: np.array(a, order="C") for name, a in state.items()}
    back = round_trip(path, state)
    assert_same(back, expected)
    assert all(a.flags.writeable and a.flags.c_contiguous for a in back.values())


def test_other_byte_order_and_complex(tmp_path):
    for suffix in FORMATS:
        back = round_trip(tmp_path / f"x{suffix}", {"x": np.arange(3, dtype=">i4")})
        np.testing.assert_array_equal(back["x"], [0, 1, 2])
    z = np.array([1 + 2j, np.nan])
    assert_same(round_trip(tmp_path / "z.npz", {"z": z}), {"z": z})
    with pytest.raises(TypeError, match="cannot hold complex128, the dtype of 'a.z'"):
        save(tmp_path / "z.safetensors", {"a": {"z": z}})
    assert not (tmp_path / "z.safetensors").exists()


NESTED = {
    "model": {"encoder.W": np.ones((2, 2)), "b": np.zeros(2, np.float32)},
    "encoder": {"W": np.full(3, 7.0)},
    "numbers": [0, -1, 2**200, -(2**64), 1.5, 1e-310, True, False, None],
    "special": [math.nan, math.inf, -math.inf, -0.0, 0.1 + 0.2],
    "text": ["", "é/√ 漢字 \U0001f600", 'quotes " and \\', "line\nend\0", "\ud800"],
    "lists": [[np.arange(3), [np.arange(2)]], [], {}, {"a": [{"b": np.int8([1])}]}],
    "empty": {},
}


def test_nested_state(path):
    assert_same(round_trip(path, NESTED), NESTED)
    assert_same(round_trip(path, {}), {})


def test_odd_keys(path):
    keys = [
        "",
        "/",
        "a/b",
        "../up",
        ".",
        "a.b",
        " ",
        "@array",
        "@",
        "@@x",
        "__metadata__",
    ]
    keys += ["minigrad.json", "x.npy", "'", "é", "\0", "\n", "\ud800", "C:\\x", "0"]
    flat = {key: np.array(i) for i, key in enumerate(keys)}
    nested = {key: {key: np.array(i), "n": i} for i, key in enumerate(keys)}
    clash = {"a.b": np.array(0), "a": {"b": np.array(1), "b'": np.array(2)}}
    clash["a/b"] = np.array(3)
    for state in (flat, nested, clash, {"@array": "model"}, {"@array": {"@array": 1}}):
        assert_same(round_trip(path, state), state)


def test_tuples_become_lists_and_numpy_scalars_python_numbers(path):
    state = {"betas": (0.9, 0.999), "lr": np.float32(0.1), "n": np.int64(3)}
    back = round_trip(path, {**state, "on": np.bool_(True), "s": np.str_("x")})
    expected = {"betas": [0.9, 0.999], "lr": float(np.float32(0.1)), "n": 3}
    assert_same(back, {**expected, "on": True, "s": "x"})


@pytest.mark.parametrize("bits", ["PCG64", "MT19937"])
def test_a_random_generator_resumes(path, bits):
    rng = np.random.Generator(getattr(np.random, bits)(7))
    rng.normal(size=11), rng.integers(10, size=3, dtype=np.int32)
    save(path, {"rng": rng.bit_generator.state})
    expected = rng.normal(size=5)
    other = np.random.Generator(getattr(np.random, bits)(8))
    other.bit_generator.state = load(path)["rng"]
    assert other.normal(size=5).tobytes() == expected.tobytes()


def test_an_optimizer_resumes_with_the_same_bits(path):
    def advance(w, optimizer, schedule, steps):
        for k in steps:
            w.grad = np.random.default_rng(k).normal(size=3).astype(np.float32)
            optimizer.step(), schedule.step()

    def make(w):
        optimizer = optim.Adam([w], lr=0.1)
        return optimizer, optim.WarmupLR(
            optimizer, 2, after=optim.CosineAnnealingLR(optimizer, 8)
        )

    whole = Tensor(np.ones(3, np.float32), requires_grad=True)
    parts = make(whole)
    advance(whole, *parts, range(5))
    save(path, {"w": whole.data, "parts": [part.state_dict() for part in parts]})
    advance(whole, *parts, range(5, 9))

    state = load(path)
    resumed = Tensor(state["w"], requires_grad=True)
    parts = make(resumed)
    for part, saved in zip(parts, state["parts"]):
        part.load_state_dict(saved)
    advance(resumed, *parts, range(5, 9))
    assert resumed.data.tobytes() == whole.data.tobytes()


def test_the_same_state_gives_the_same_bytes(path, tmp_path):
    save(path, NESTED)
    first = path.read_bytes()
    save(path, NESTED)
    assert path.read_bytes() == first

"""GPT-2 and the models of Llama's form compute what transformers computes.

``tests/golden/decoders.npz`` was recorded by ``record_decoders.py`` beside it, and has
the versions. The weights are drawn from a seed, here as there.
"""

import numpy as np
import pytest

import minigrad as mg
from attention.published import architectures

from ...golden.decoder_models import CONFIGS, IDS, TRAINED
from ...messages import check_message
from .decoder_cases import RECORDED, as_gguf, weights_of

def loaded(name, **changes):
    return architectures.load(weights_of(name) | changes, CONFIGS[name])


@pytest.mark.parametrize("name", CONFIGS)
def test_logits(name):
    m = loaded(name)
    found = m(IDS).data
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, RECORDED[f"{name}.logits"], rtol=0, atol=1e-5)
    state = m.start(IDS[:, :5])
    for t in range(5, IDS.shape[1]):
        np.testing.assert_allclose(
            state.logits.data, found[:, t - 1], rtol=0, atol=1e-5
        )
        state.logits, state, _ = m.step(state, IDS[:, t])


@pytest.mark.parametrize("name", ["llama", "llama-tied", "qwen2", "qwen3"])
def test_logits_of_a_gguf_file(name):
    metadata, found = as_gguf(name)
    logits = architectures.load(found, metadata)(IDS).data
    np.testing.assert_allclose(logits, RECORDED[f"{name}.logits"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", TRAINED)
def test_the_gradients_of_a_step_of_fine_tuning(name):
    m = loaded(name)
    V = m.config.vocabulary
    logits = m(IDS)[:, :-1].reshape(-1, V)
    mg.cross_entropy(logits, IDS[:, 1:].reshape(-1)).backward()
    recorded = {each: RECORDED[f"{name}.gradient.{each}"] for each in weights_of(name)}
    largest = max(abs(gradient).max() for gradient in recorded.values())
    expected = architectures.load(recorded, CONFIGS[name])  # as if they were weights
    for p, gradient in zip(m.parameters(), expected.parameters(), strict=True):
        np.testing.assert_allclose(p.grad, gradient.data, rtol=0, atol=1e-6 * largest)


@pytest.mark.parametrize("name", ["gpt2", "llama", "mistral", "qwen3"])
def test_every_parameter_is_read_once(name):
    """Another number in any tensor of the file changes the logits."""
    expected = RECORDED[f"{name}.logits"]
    for each, array in weights_of(name).items():
        changed = loaded(name, **{each: array * 1.5})(IDS).data
        assert abs(changed - expected).max() > 1e-4, each


def test_greedy_text_with_the_cache_is_that_of_full_passes():
    """200 tokens; a step does not copy the keys and values of the past."""
    config = CONFIGS["llama"] | {"max_position_embeddings": 256}
    m = architectures.load(weights_of("llama"), config)
    ids, buffers = IDS[:, :4], set()
    with mg.no_grad():
        state = m.start(ids)
        for _ in range(200):
            token = state.logits.data.argmax(-1)
            ids = np.concatenate([ids, token[:, None]], 1)
            state.logits, state, _ = m.step(state, token)
            buffers.add(id(state.caches[0].key._data.base))
        logits = m(ids).data  # of all prefixes at once
    np.testing.assert_array_equal(ids[:, 4:], logits[:, 3:-1].argmax(-1))
    assert len(buffers) <= 3  # of 64, 128 and 256 tokens


def test_names_that_files_of_some_versions_have():
    expected = RECORDED["gpt2.logits"]
    named = {
        f"{name.removeprefix('transformer.')}": a
        for name, a in weights_of("gpt2").items()
    }
    more = {
        "h.0.attn.bias": np.ones((1, 1, 64, 64)),
        "lm_head.weight": named["wte.weight"],
    }
    m = architectures.load(named | more, CONFIGS["gpt2"])
    np.testing.assert_allclose(m(IDS).data, expected, rtol=0, atol=1e-5)
    m = loaded("llama", **{"model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(2)})
    np.testing.assert_allclose(m(IDS).data, RECORDED["llama.logits"], rtol=0, atol=1e-5)


def built(name="llama", without=(), gguf=False, tensors=(), **changes):
    config, found = as_gguf(name) if gguf else (CONFIGS[name], weights_of(name))
    config = {key: value for key, value in config.items() if key not in without}
    found = {key: array for key, array in found.items() if key not in without}
    return architectures.load(found | dict(tensors), config | changes)


NORM = "model.norm.weight"
LLAMA3 = CONFIGS["llama-llama3"]["rope_scaling"]
YARN = CONFIGS["llama-yarn"]["rope_scaling"]
W_q = {"model.layers.1.self_attn.q_proj.weight": np.ones((8, 32))}
CALLS = [
    (lambda: built(model_type="bert"), "model_type is 'bert'", "'gpt2' or 'llama'"),
    (lambda: built(without=["model_type"]), "model_type is None", "'gpt2' or 'llama'"),
    (lambda: built(without=["hidden_size"]), "no 'hidden_size'"),
    (lambda: built("gpt2", without=["n_head"]), "no 'num_attention_heads'"),
    (lambda: built("gpt2", scale_attn_weights=False), "scale_attn_weights is False"),
    (lambda: built("qwen2", use_sliding_window=True), "use_sliding_window is True"),
    (lambda: built(hidden_act="mish"), "activation is 'mish'", "'silu'"),
    (lambda: built(hidden_size="16"), "width is '16'", "a whole number"),
    (lambda: built(rope_scaling=[2]), "rope are [2]", "a dict"),
    (lambda: built(rope_scaling={"type": "dynamic"}), "rope_type is 'dynamic'", "yarn"),
    (lambda: built(rope_scaling={"type": "linear"}), "no 'factor'"),
    (lambda: built(rope_scaling=LLAMA3 | {"low_freq_factor": 2}),
     "low_freq_factor is 2", "expected 1"),
    (lambda: built(rope_scaling=YARN | {"mscale": 0.7}), "mscale is 0.7", "None"),
    (lambda: built(rope_scaling=YARN | {"original_max_position_embeddings": "8"}),
     "original_max_position_embeddings is '8'", "a whole number"),
    (lambda: built(hidden_act=["silu"]), "activation is ['silu']", "'silu'"),
    (lambda: built(without=[NORM]), "no tensor for 'decoder.final_norm.weight'"),
    (lambda: built(without=["lm_head.weight"]), "4416 numbers; expected at least 4832"),
    (lambda: built(hidden_size=2**60), "numbers; expected at least", "config"),
    (lambda: built(num_hidden_layers=2**60), "numbers; expected at least"),
    (lambda: built("gpt2", n_positions=2**60), "numbers; expected at least"),
    (lambda: built(num_hidden_layers=1), "'model.layers.1.", "without it"),
    (lambda: built("qwen2", model_type="llama"), "_proj.bias'", "without it"),
    (lambda: built(model_type="qwen2"), "no tensor for", "W_q.bias"),
    (lambda: built(tensors=W_q), "q_proj.weight", "(8, 32)", "expected (16, 16)"),
    (lambda: built(gguf=True, **{"general.architecture": "gemma"}), "'gemma'", "llama"),
    (lambda: built(gguf=True, without=["llama.block_count"]), "'num_hidden_layers'"),
    (lambda: built(gguf=True, without=["token_embd.weight"]), "no 'vocab_size'"),
    (lambda: built(gguf=True, **{"llama.rope.scaling.type": "yarn"}), "'yarn'", "none"),
    (lambda: built(gguf=True, **{"llama.rope.dimension_count": 2}), "_count is 2"),
    *((lambda name=name: built(gguf=True, **{f"llama.{name}": 2}), f"{name} is 2")
      for name in architectures.FIXED_GGUF),
    (lambda: built(partial_rotary_factor=0.5), "partial_rotary_factor is 0.5", "1.0"),
]  # fmt: skip


@pytest.mark.parametrize("call, fragments", [(call, words) for call, *words in CALLS])
def test_message(call, fragments):
    check_message(call, fragments)

"""What the outputs depend on: the source, padding, earlier tokens, dropout."""

import numpy as np
import pytest

import minigrad as mg
from attention.variants.coverage import coverage_loss

from .seq2seq_cases import (
    LENGTHS,
    SOURCE,
    SPREAD,
    TARGET,
    close,
    generator,
    model,
    stepwise,
)


@pytest.mark.parametrize("name", SPREAD)
def test_without_attention_only_the_last_state_matters(name):
    m = model(name)
    clean, encoder = m(SOURCE, TARGET, LENGTHS).data, m.encoder
    assert (m.start(SOURCE, LENGTHS).memory is None) == (m.config.attention == "none")

    class Disturbed(mg.nn.Module):
        def forward(self, source, lengths):
            memory, last = encoder(source, lengths)
            noise = generator(7).standard_normal(memory.shape)
            return memory + noise, last

    m.encoder = Disturbed()
    changed = m(SOURCE, TARGET, LENGTHS).data
    if m.config.attention == "none":
        np.testing.assert_array_equal(changed, clean)
    else:  # the test can fail
        assert (abs(changed - clean).max((1, 2)) > 1e-3).all()


@pytest.mark.parametrize("name", SPREAD)
def test_padding_has_no_influence(name):
    m, rng = model(name), generator(3)
    clean = m.forced(SOURCE, TARGET, LENGTHS)
    real = np.arange(5) < LENGTHS[:, None]
    filled = np.where(real, SOURCE, rng.integers(0, 7, SOURCE.shape))
    wide = np.concatenate([filled, rng.integers(0, 7, (3, 2))], axis=1)
    same = m.forced(filled, TARGET, LENGTHS)
    if not m.config.mask_padding:
        assert abs(same.logits.data - clean.logits.data).max() > 1e-3
        return
    np.testing.assert_array_equal(same.logits.data, clean.logits.data)
    wider = m.forced(wide, TARGET, LENGTHS)
    np.testing.assert_allclose(wider.logits.data, clean.logits.data, **close)
    for b in range(3):
        n = LENGTHS[b]
        alone = m.forced(SOURCE[b : b + 1, :n], TARGET[b : b + 1])
        np.testing.assert_allclose(alone.logits.data[0], clean.logits.data[b], **close)
        if clean.weights is not None:
            assert not clean.weights.data[b, :, n:].any()


@pytest.mark.parametrize("name", SPREAD)
def test_logits_depend_on_earlier_tokens_alone(name):
    m = model(name)
    clean = m(SOURCE, TARGET, LENGTHS).data
    for t in range(TARGET.shape[1]):
        other = TARGET.copy()
        other[:, t] = (other[:, t] + 1) % 6
        changed = abs(m(SOURCE, other, LENGTHS).data - clean).max((0, 2))
        assert not changed[:t].any() and (changed[t:] > 1e-9).all()


@pytest.mark.parametrize("name", [n for n in SPREAD if "coverage" in n])
def test_coverage_loss_reaches_the_parameters(name):
    m = model(name)
    out = m.forced(SOURCE, TARGET, LENGTHS)
    summed = np.cumsum(out.weights.data, 1) - out.weights.data
    np.testing.assert_allclose(out.coverages.data, summed, **close)
    m.zero_grad()
    coverage_loss(out.weights, out.coverages, target_lens=[4, 3, 4]).backward()
    assert abs(m.decoder.order.attention.w_c.grad).max() > 1e-6
    assert abs(m.encoder.embed.weight.grad).max() > 1e-6
    assert not m.decoder.order.attention.attention_weights.requires_grad


def test_weights_have_a_graph_with_coverage_alone():
    for name in SPREAD:
        out = model(name).forced(SOURCE, TARGET, LENGTHS)
        if out.weights is not None:
            assert out.weights.requires_grad == ("coverage" in name), name


@pytest.mark.parametrize("name", ["bahdanau", "luong-deep", "luong-fed", "none"])
def test_dropout_acts_in_training_alone(name):
    m = model(name, dropout=0.5)
    arguments = SOURCE, TARGET, LENGTHS
    plain = model(name)(*arguments).data
    np.testing.assert_array_equal(m.eval()(*arguments).data, plain)
    first = m.train()(*arguments).data
    assert abs(first - plain).max() > 1e-3
    assert abs(first - m(*arguments).data).max() > 1e-3  # new random numbers
    again = model(name, dropout=0.5)  # the same seed
    np.testing.assert_array_equal(again(*arguments).data, first)
    # with everything dropped, the output layer has its bias alone
    nothing = model(name, dropout=1.0)
    for out in nothing(*arguments).data, stepwise(nothing)[0].data:
        bias = np.broadcast_to(m.decoder.output.bias.data, out.shape)
        np.testing.assert_array_equal(out, bias)

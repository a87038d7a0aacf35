"""Splitting and batching: every pair once, in one part, and repeatable."""

import numpy as np
import pytest

from attention.tasks.batch import EOS, PAD, SOS
from attention.tasks.batching import Batches, in_order, split

from ...messages import check_message


def example_pairs(n=203, longest=30, seed=0):
    """Pairs of ids; the last id of each is unique."""
    rng = np.random.default_rng(seed)
    pairs = []
    for i in range(n):
        lengths = rng.integers(1, longest + 1, 2)
        source, target = (rng.integers(4, 50, k) for k in lengths)
        pairs.append((np.append(source, 100 + i), np.append(target, 100 + i)))
    return pairs


def unpadded(batch):
    """Return [(source, target)] of a batch by a loop, and check its padding."""
    rows = []
    for b in range(len(batch.source)):
        n = batch.lengths[b]
        source, target = batch.source[b, :n], batch.target_out[b].tolist()
        assert (batch.source[b, n:] == PAD).all() and (source != PAD).all()
        end = target.index(EOS)
        assert target[end + 1 :] == [PAD] * (len(target) - end - 1)
        fed = [SOS, *target[:end], *[PAD] * (len(target) - end - 1)]
        assert batch.target_in[b].tolist() == fed
        assert batch.target_lengths[b] == end + 1
        rows.append((source.tolist(), target[:end]))
    assert batch.source.shape[1] == batch.lengths.max()
    assert batch.target_out.shape[1] == batch.target_lengths.max()
    for x in (batch.source, batch.lengths, batch.target_in, batch.target_out):
        assert x.dtype == np.int64
    return rows


def listed(pairs):
    return [(s.tolist(), t.tolist()) for s, t in pairs]


@pytest.mark.parametrize("size", [1, 16, 203])
def test_an_epoch_holds_every_pair_once(size):
    pairs = example_pairs()
    batches = Batches(pairs, size, seed=1)
    assert batches.per_epoch == -(-203 // size)
    for epoch in (0, 1):
        seen = []
        for i in range(batches.per_epoch):
            rows = unpadded(batches[epoch * batches.per_epoch + i])
            assert len(rows) in (size, 203 % size)
            seen += rows
        assert sorted(seen) == sorted(listed(pairs))


def same(a, b):
    return all((getattr(a, k) == getattr(b, k)).all() for k in vars(a))


def test_batch_i_depends_on_the_seed_and_i_alone():
    pairs = example_pairs()
    stream, again = Batches(pairs, 16, seed=3), Batches(pairs, 16, seed=3)
    in_turn = [stream[i] for i in range(60)]
    for i in (59, 0, 13, 12, 26, 59, 1):
        assert same(again[i], in_turn[i]), i
    kept = {batch.source.tobytes() for batch in in_turn}
    assert len(kept) == 60  # epochs differ, though the window holds all pairs
    other = Batches(pairs, 16, seed=4)
    assert other[0].source.tobytes() not in kept


def test_changing_a_batch_changes_no_other():
    pairs = example_pairs()
    batches = Batches(pairs, 16, seed=3)
    before = batches[5].source.copy()
    batches[5].source[:] = 9
    pairs[0][0][:] = 9
    assert (batches[5].source == before).all()


def padding(batches):
    used = sum(batch.lengths.sum() for batch in batches)
    return 1 - used / sum(batch.source.size for batch in batches)


def test_sorted_windows_need_little_padding():
    pairs = example_pairs(2000)
    batches = Batches(pairs, 16, seed=1)
    # unsorted, a row of mean length 16.5 stands in one of nearly 31
    assert padding(list(in_order(pairs, 16))) > 0.4
    assert padding([batches[i] for i in range(batches.per_epoch)]) < 0.05


def test_in_order_lines_up_with_the_pairs():
    pairs = example_pairs(37)
    batches = list(in_order(pairs, 10))
    assert [len(b.lengths) for b in batches] == [10, 10, 10, 7]
    assert [row for b in batches for row in unpadded(b)] == listed(pairs)


# splitting


def sentences(n=200):
    return [(f"s{i}", f"t{i}") for i in range(n)]


def test_split_loses_nothing_and_repeats_itself():
    pairs = sentences()
    parts = split(pairs, seed=1)
    sizes = [len(parts.train), len(parts.validation), len(parts.test)]
    assert sizes == [160, 20, 20]
    assert sorted(parts.train + parts.validation + parts.test) == sorted(pairs)
    assert split(pairs, seed=1) == parts != split(pairs, seed=2)
    assert parts.test == sorted(parts.test, key=pairs.index)  # in their order
    assert parts.test != pairs[:20]


def test_no_source_stands_in_two_parts():
    parts = split([(f"s{i % 60}", f"t{i}") for i in range(200)], seed=1)
    sources = [{source for source, _ in part} for part in parts]
    assert sum(map(len, sources)) == len(set.union(*sources)) == 60
    assert 20 <= len(parts.test) <= 23  # up to a whole group more


# messages

IDS = [([4, 5], [6])]
MESSAGES = [
    (lambda: split([("a", "b")] * 9, seed=1), ValueError,
     ["9 pairs with 1 different sources leave 0 for training"]),
    (lambda: Batches(IDS, 1, seed=1)[-1], ValueError, ["the step i is -1"]),
    (lambda: Batches([], 1, seed=1), ValueError, ["no pairs"]),
    (lambda: list(in_order([*IDS, ([4], [])], 1)), ValueError,
     ["the target of pair 1 is []", "one id or more"]),
    (lambda: Batches([("a b", "c")], 1, seed=1), ValueError,
     ["the source of pair 0 is 'a b'", "whole numbers"]),
    (lambda: Batches([([4, 0], [5])], 1, seed=1), ValueError,
     ["the source of pair 0 is [4, 0]", "from 3 up"]),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, fragments", MESSAGES)
def test_messages(call, kind, fragments):
    check_message(call, fragments, kind)

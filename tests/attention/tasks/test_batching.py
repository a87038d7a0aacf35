"""Splitting and batching: every pair once, in one part, and repeatable."""

import numpy as np
import pytest

from attention.tasks.batch import EOS, PAD, SOS, assemble
from attention.tasks.batching import Batches, Splits, in_order, split

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


@pytest.mark.parametrize("size, window", [(16, 50), (16, 3), (16, 1), (203, 2), (1, 5)])
def test_an_epoch_holds_every_pair_once(size, window):
    pairs = example_pairs()
    batches = Batches(pairs, size, seed=1, window=window)
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
    total = used = 0
    for i in range(batches.per_epoch):
        total += batches[i].source.size
        used += batches[i].lengths.sum()
    return 1 - used / total


def test_the_wider_the_window_the_less_is_padded():
    pairs = example_pairs(2000)
    shares = [padding(Batches(pairs, 16, seed=1, window=w)) for w in (1, 4, 12, 50)]
    assert shares == sorted(shares, reverse=True)
    # unsorted, a row of mean length 16.5 stands in one of nearly 31
    assert shares[0] > 0.4 and shares[3] < 0.05


def test_in_order_lines_up_with_the_pairs():
    pairs = example_pairs(37)
    batches = list(in_order(pairs, 10))
    assert [len(b.lengths) for b in batches] == [10, 10, 10, 7]
    assert [row for b in batches for row in unpadded(b)] == listed(pairs)


def test_assemble_ignores_ids_beyond_the_length():
    dirty = np.array([[4, 9, 9], [5, 6, 9]])
    batch = assemble(dirty, np.array([1, 2]), dirty[:, :2], np.array([1, 0]))
    assert batch.source.tolist() == [[4, 0, 0], [5, 6, 0]]
    assert batch.target_in.tolist() == [[1, 4, 0], [1, 0, 0]]
    assert batch.target_out.tolist() == [[4, 2, 0], [2, 0, 0]]


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
    pairs = [(f"s{i % 60}", f"t{i}") for i in range(200)]
    for form in (pairs, [(s.split(), t.split()) for s, t in pairs]):
        parts = split(form, seed=1, validation=0.2, test=0.2)
        sources = [
            {str(s) for s, _ in part}
            for part in (parts.train, parts.validation, parts.test)
        ]
        assert not sources[0] & sources[1] and not sources[0] & sources[2]
        assert not sources[1] & sources[2]
        assert sum(map(len, sources)) == 60
        assert 40 <= len(parts.test) <= 43  # up to a whole group more
    ids = [(np.array([i % 60]), np.array([i])) for i in range(200)]
    assert len(split(ids, seed=1, test=0.2).test) == len(parts.test)


def test_numbers_of_pairs_and_none_at_all():
    parts = split(sentences(), seed=1, validation=0, test=7)
    assert (len(parts.train), parts.validation, len(parts.test)) == (193, [], 7)
    parts = split(sentences(3), seed=1, validation=0.0, test=0)
    assert parts == Splits(train=sentences(3), validation=[], test=[])


# messages

IDS = [([4, 5], [6])]
MESSAGES = [
    (lambda: split(sentences(3), seed=1, validation=2, test=1), ValueError,
     ["3 pairs", "leave 0 for train", "smaller shares"]),
    (lambda: split([("a", "b")] * 9, seed=1, validation=1, test=1), ValueError,
     ["1 different sources", "leave 0 for train"]),
    (lambda: split(sentences(), 1, test=1.0), ValueError, ["test is 1.0", "below 1"]),
    (lambda: split(sentences(), 1, validation=-3), ValueError, ["validation is -3"]),
    (lambda: Batches(IDS, 1, seed=1, window=0), ValueError, ["window is 0"]),
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

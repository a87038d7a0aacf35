"""The reversal task: the contents of a batch, and a repeatable stream."""

import numpy as np

from attention.tasks import reversal as task
from attention.tasks.batch import EOS, PAD, SOS


def test_vocabulary_is_that_of_the_chapter():
    assert (PAD, SOS, EOS, task.VOCABULARY) == (0, 1, 2, 29)
    assert task.encode("az").tolist() == [3, 28]
    assert task.decode([1, 3, 28, 0, 2, 5]) == "az"


def test_a_batch_is_the_reversal_of_each_string():
    rng = np.random.default_rng(0)
    batch = task.random_batch(rng, 200, 3, 8)
    assert batch.source.shape == (200, 8) and batch.target_in.shape == (200, 9)
    for row, n in enumerate(batch.lengths):
        word = task.decode(batch.source[row])
        assert len(word) == n
        assert batch.source[row, n:].tolist() == [PAD] * (8 - n)
        ids = task.encode(word[::-1]).tolist()
        pad = [PAD] * (8 - n)
        assert batch.target_in[row].tolist() == [SOS] + ids + pad
        assert batch.target_out[row].tolist() == ids + [EOS] + pad


def test_lengths_and_letters_are_uniform():
    batch = task.random_batch(np.random.default_rng(1), 60_000, 3, 8)
    counts = np.bincount(batch.lengths, minlength=9)[3:]
    assert (np.abs(counts - 10_000) < 5 * np.sqrt(10_000)).all()  # five sigma
    letters = np.bincount(batch.source[batch.source >= 3], minlength=29)[3:]
    assert (np.abs(letters - letters.mean()) < 5 * np.sqrt(letters.mean())).all()


def test_pad_to_widens_the_source_and_changes_no_letter():
    narrow = task.random_batch(np.random.default_rng(2), 5, 3, 3)
    wide = task.random_batch(np.random.default_rng(2), 5, 3, 3, pad_to=8)
    assert wide.source.shape == (5, 8)
    assert (wide.source[:, :3] == narrow.source).all() and not wide.source[:, 3:].any()
    assert (wide.target_out[:, :4] == narrow.target_out).all()
    stream = task.Batches(7, 2, 3, 8)  # each as wide as its longest string
    for batch in (stream[i] for i in range(20)):
        assert batch.source.shape[1] == batch.lengths.max()

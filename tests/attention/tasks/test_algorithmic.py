"""The algorithmic tasks: questions as described, answers by another definition."""

import numpy as np
import pytest

from attention.seq2seq.metrics import alignment_error_rate
from attention.tasks import questions
from attention.tasks.algorithmic import TASKS, Addition, Copy, Recall, Sort
from attention.tasks.symbols import FIRST, Symbols

EVERY = {
    "copy": Copy(2, 9, letters=5),
    "sort": Sort(2, 9, letters=5),
    "addition": Addition(1, 4),
    "addition reversed": Addition(1, 4, reverse=True),
    "recall": Recall(1, 6),
    "recall of three": Recall(2, 6, queries=3),
}


def reference_answer(name, question):
    """The answers once more, in another way, and on arrays of ids."""
    ids = [ord(c) for c in question]
    if name == "copy":
        return "".join(map(chr, ids))
    if name == "sort":  # by counting
        counts = np.bincount(ids, minlength=128)
        return "".join(chr(i) * counts[i] for i in range(128))
    if name.startswith("addition"):  # by columns
        a, b = (list(map(int, reversed(x))) for x in question.split("+"))
        digits, carried = [], 0
        for i in range(max(len(a), len(b))):
            carried += (a[i : i + 1] or [0])[0] + (b[i : i + 1] or [0])[0]
            digits.append(str(carried % 10))
            carried //= 10
        digits += ["1"] * carried
        return "".join(digits if "reversed" in name else reversed(digits))
    asked = 1 if name == "recall" else 3
    pairs, keys = question[:-asked], question[-asked:]
    return "".join(pairs[pairs.index(key) + 1] for key in keys)


@pytest.mark.parametrize("name", EVERY)
def test_answers(name):
    task = EVERY[name]
    for question in task.questions(np.random.default_rng(1), 2000):
        assert task.answer(question) == reference_answer(name, question)


@pytest.mark.parametrize("name", EVERY)
def test_a_batch_holds_questions_and_their_answers(name):
    task = EVERY[name]
    batch = task.random_batch(np.random.default_rng(1), 300)
    questions = task.questions(np.random.default_rng(1), 300)
    for b, question in enumerate(questions):
        n, answer = len(question), task.answer(question)
        assert task.decode(batch.source[b]) == question and batch.lengths[b] == n
        assert not batch.source[b, n:].any()
        ids = task.encode(answer).tolist()
        pad = [0] * (batch.target_out.shape[1] - len(ids) - 1)
        assert batch.target_out[b].tolist() == [*ids, 2, *pad]
        assert batch.target_in[b].tolist() == [1, *ids, *pad]
    assert batch.source.max() < task.vocabulary
    for x in vars(batch).values():
        assert x.dtype == np.int64


@pytest.mark.parametrize("name", EVERY)
def test_batch_i_depends_on_the_seed_and_i_alone(name):
    task = EVERY[name]
    stream, again = task.batches(7, 4), task.batches(seed=7, size=4)
    in_turn = [stream[i] for i in range(120)]
    for i in (119, 3, 50, 49, 0):
        for field, x in vars(again[i]).items():
            assert (x == getattr(in_turn[i], field)).all()
    assert len({b.source.tobytes() for b in in_turn}) > 100
    assert task.batches(8, 4)[0].source.tobytes() != in_turn[0].source.tobytes()
    for batch in in_turn:
        assert batch.source.shape == (4, batch.lengths.max())
        assert batch.target_out.shape == (4, batch.target_lengths.max())


def uniform(found, values):
    """Each value as often as any other, within five standard deviations."""
    found = np.asarray(found)
    counts = np.array([(found == v).sum() for v in values])
    assert counts.sum() == len(found)
    return (np.abs(counts - counts.mean()) < 5 * np.sqrt(counts.mean())).all()


def test_questions_are_uniform():
    rng = np.random.default_rng(1)
    words = Copy(3, 6, letters=4).questions(rng, 6000)
    assert uniform([len(w) for w in words], range(3, 7))
    assert uniform(list("".join(words)), "abcd")
    sums = [q.split("+") for q in Addition(1, 3).questions(rng, 9000)]
    for side in (0, 1):
        assert uniform([len(s[side]) for s in sums], (1, 2, 3))
        assert uniform([s[side] for s in sums if len(s[side]) == 1], "0123456789")
        assert uniform([s[side][0] for s in sums if len(s[side]) == 3], "123456789")
    assert not any(len(x) > 1 and x[0] == "0" for s in sums for x in s)
    asked = Recall(2, 5).questions(rng, 9000)
    assert uniform([len(q) // 2 for q in asked], (2, 3, 4, 5))
    assert uniform([q[0] for q in asked], Copy().symbols.characters)
    long = [q for q in asked if len(q) == 11]
    assert uniform([q.index(q[-1]) for q in long], (0, 2, 4, 6, 8))
    assert all(len(set(q[:-1:2])) == len(q) // 2 for q in asked)  # keys differ


def test_the_largest_numbers():
    task = Addition(18, 18)
    for question in task.questions(np.random.default_rng(1), 100):
        a, b = question.split("+")
        assert len(a) == len(b) == 18 and int(task.answer(question)) == int(a) + int(b)


def test_alignments():
    assert Copy().alignment("abc")[0] == {(0, 0), (1, 1), (2, 2)}
    sure, possible = Sort().alignment("cbab")
    assert sure == {(0, 2), (3, 0)}
    assert possible == sure | {(1, 1), (1, 3), (2, 1), (2, 3)}
    sure, possible = Recall(queries=2).alignment("a3b7c1ba")
    assert sure == {(0, 3), (1, 1)} and possible == sure | {(0, 2), (1, 0)}
    assert Addition().alignment("95+8") == (set(), {(1, 0), (2, 1), (2, 3)})
    assert Addition(reverse=True).alignment("95+8") == (set(), {(0, 1), (0, 3), (1, 0)})


@pytest.mark.parametrize("name", ["copy", "sort", "recall", "recall of three"])
def test_who_looks_where_the_answer_stands_has_no_alignment_error(name):
    task = EVERY[name]
    for question in task.questions(np.random.default_rng(2), 50):
        sure, possible = task.alignment(question)
        answer = task.answer(question)
        assert all(answer[t] == question[s] for t, s in sure)
        weights = np.zeros((len(answer), len(question)))
        for t, s in {t: s for t, s in [*possible, *sure]}.items():
            weights[t, s] = 1
        assert alignment_error_rate(weights, sure, possible) == 0
        if len(question) > len(answer) or len(set(question)) > 1:
            wrong = np.roll(weights, 1, axis=1)
            if not set(zip(*np.nonzero(wrong))) & possible:
                assert alignment_error_rate(wrong, sure, possible) == 1


def test_score():
    task = Copy()
    batch = task.batch(["abc", "de"])
    said = batch.target_out.copy()
    assert task.score(said, batch) == {"accuracy": 1.0, "exact_match": 1.0}
    said[1, 3] = 9  # beyond the end
    assert task.score(said, batch) == {"accuracy": 1.0, "exact_match": 1.0}
    said[1, 2] = 9  # the end itself
    assert task.score(said, batch) == {"accuracy": 6 / 7, "exact_match": 0.5}


def test_the_registry():
    for name, kind in TASKS.items():
        assert kind.__name__.lower() == name
        assert kind().batches(1, 2)[0].source.shape[0] == 2


def test_symbols():
    symbols = Symbols("xyz")
    assert len(symbols) == FIRST + 3
    assert symbols.encode("zx").tolist() == [5, 3]
    assert symbols.decode([1, 5, 0, 3, 2, 4]) == "zx"


def message(call):
    with pytest.raises(ValueError) as caught:
        call()
    return str(caught.value)


def test_messages():
    assert message(lambda: Copy(5, 4)) == (
        "Copy: min_length is 5 and max_length is 4; expected min_length to be 4 or "
        "less."
    )
    assert message(lambda: Copy(0, 4)) == (
        "Copy: min_length is 0; expected a whole number, 1 or more."
    )
    assert message(lambda: Sort(letters=27)) == (
        "Sort: letters is 27; expected 1 to 26."
    )
    assert message(lambda: Addition(1, 19)) == (
        "Addition: max_digits is 19; expected 1 to 18."
    )
    assert (
        message(lambda: Recall(1, 27)) == "Recall: max_pairs is 27; expected 1 to 26."
    )
    assert message(lambda: Recall(queries=0)) == (
        "Recall: queries is 0; expected a whole number, 1 or more."
    )
    assert message(lambda: Copy(letters=3).encode("abd")) == (
        "'d' at place 2 of 'abd' is not one of a b c."
    )
    for text in ("12", "1+", "a+b", "1+2+3"):
        assert message(lambda: Addition().answer(text)) == (
            f"Addition: {text!r} is no question; expected '12+345'."
        )
    for text in ("", "ab", "a3", "a3b", "a3a4a", "3aa"):
        assert message(lambda: Recall().answer(text)) == (
            f"Recall: {text!r} is no question; expected 'a3b7b', different letters "
            "with a digit each, then one of the letters, or more."
        )


def test_what_is_too_long():
    for task in Copy, Sort, TASKS["reversal"]:
        assert message(lambda: task(1, 1001)) == (
            f"{task.__name__}: max_length is 1001; expected 1 to 1000."
        )
        assert task(1, 1000).lengths == (1, 1000)
    most = "9" * 1000
    assert Addition().answer(f"{most}+0") == most
    for question in f"1+{most}9", f"{'8' * 5000}+1":
        digits = max(map(len, question.split("+")))
        assert message(lambda: Addition().answer(question)) == (
            f"Addition: the question has a number of {digits} digits; expected 1000 at "
            "most."
        )


def test_questions_that_the_memory_does_not_hold():
    """They are refused before the first is drawn."""

    class Undrawn(Copy):
        def questions(self, rng, n):
            raise AssertionError("drawn")

    for task, pairs in (Undrawn(1, 1000), 50_000), (Undrawn(), 10**9):
        longest = task.lengths[1]
        assert message(lambda: questions.splits(task, pairs)) == (
            f"splits: {pairs + 300} questions with lengths up to {longest} would fill "
            f"the memory; expected {questions.MOST // longest} or fewer pairs in all, "
            "or shorter questions."
        )
    with pytest.raises(AssertionError, match="drawn"):
        questions.splits(Undrawn(), questions.MOST // 8 - 300)

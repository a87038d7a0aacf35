"""The algorithmic tasks: random questions, and answers by a second definition."""

import numpy as np
import pytest

from attention.tasks import algorithmic, questions
from attention.tasks.algorithmic import (
    LETTERS,
    QUESTIONS,
    Addition,
    Copy,
    Recall,
    Reversal,
    Sort,
)

from ...messages import check_message

EVERY = {
    "copy": Copy(2, 9, letters=5),
    "reversal": Reversal(2, 9, letters=5),
    "sort": Sort(2, 9, letters=5),
    "addition": Addition(1, 18),
    "recall": Recall(1, 6),
}
RIGHT = {  # the answers, by another definition than the task's own
    "copy": lambda question: question,
    "reversal": lambda question: question[::-1],
    "sort": lambda question: "".join(c * question.count(c) for c in LETTERS),
    "addition": lambda question: str(sum(map(int, question.split("+")))),
    "recall": lambda question: question[question.index(question[-1]) + 1],
}


@pytest.mark.parametrize("name", EVERY)
def test_answers(name):
    task = EVERY[name]
    for question in task.questions(np.random.default_rng(1), 2000):
        assert task.answer(question) == RIGHT[name](question)


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


def test_alignments():
    assert Copy().alignment("abc")[0] == {(0, 0), (1, 1), (2, 2)}
    sure, possible = Sort().alignment("cbab")
    assert sure == {(0, 2), (3, 0)}
    assert possible == sure | {(1, 1), (1, 3), (2, 1), (2, 3)}
    assert Recall().alignment("a3b7c1b") == ({(0, 3)}, {(0, 3), (0, 2)})
    assert Addition().alignment("95+8") == (set(), {(1, 0), (2, 1), (2, 3)})


def test_all_tasks_are_in_the_table_and_encode_their_questions():
    for task in (task() for task in QUESTIONS.values()):
        (question,) = task.questions(np.random.default_rng(0), 1)
        assert task.symbols.decode(task.symbols.encode(question)) == question
    classes = [x for x in vars(algorithmic).values() if isinstance(x, type)]
    tasks = {x for x in classes if issubclass(x, algorithmic.Task)}
    assert tasks == {algorithmic.Task, *QUESTIONS.values()}


MESSAGES = [
    (lambda: Copy(5, 4), ["min_length is 5", "from 1 to 4"]),
    (lambda: Sort(letters=27), ["Sort: letters is 27", "1 to 26"]),
    (lambda: Addition(1, 19), ["max_digits is 19", "1 to 18"]),
    (lambda: Recall(1, 27), ["max_pairs is 27", "1 to 26"]),
    *[
        (lambda text=text: Addition().answer(text), [repr(text), "'12+345'"])
        for text in ("12", "1+", "a+b", "1+2+3")
    ],
    *[
        (lambda text=text: Recall().answer(text), [repr(text), "'a3b7b'"])
        for text in ("", "ab", "a3", "a3b", "a3a4a", "3aa")
    ],
    (
        lambda: questions.splits(Addition(1, 1), 99),
        ["different questions of Addition", "from 1 to 1", "expected 399"],
    ),
]


@pytest.mark.parametrize("call, fragments", MESSAGES)
def test_messages(call, fragments):
    check_message(call, fragments, ValueError)

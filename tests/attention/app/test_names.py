"""The names that help texts list are those that the models and the benchmark define."""

from attention.app import names
from attention.app.benchmark import rows
from attention.seq2seq.config import CHOICES
from attention.tasks.algorithmic import TASKS
from attention.transformer import SCHEMES


def test_names_of_models():
    assert names.ATTENTIONS == CHOICES["attention"]
    assert names.CELLS == CHOICES["cell"]
    assert (*names.TRAINED, *names.SCALED) == tuple(SCHEMES)


def test_names_of_tasks_and_rows():
    assert names.QUESTIONS == {name: task().lengths for name, task in TASKS.items()}
    assert names.ROWS == tuple(rows.ROWS)

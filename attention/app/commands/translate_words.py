"""Print the words that a translator knows, by language; with a prefix, fewer of them.

    translate words                 all words of the English-French model
    translate words ca              those that begin with "ca"
    translate words --model DIR     those of your own model
"""

from ...tasks.grammar import GRAMMARS
from ..options import meant, wrapped
from .translate import config_of, load_model

LANGUAGES = {"de": "German", "en": "English", "fr": "French"}


def run(args):
    """Print the words in alphabetical order; return the exit code."""
    model = load_model(args.model)
    prefix = args.prefix.lower() if model.lower else args.prefix
    for language, vocabulary in vocabularies(model):
        found = sorted(word for word in vocabulary.words if word.startswith(prefix))
        of = f"{len(found)} of " * bool(prefix)
        print(f"{language}, {of}{len(vocabulary.words)} words")
        near = "" if found else f"(none).{meant(prefix, vocabulary.words)}"
        print(wrapped(" ".join(found) or near), end="\n\n")
    return 0


def vocabularies(model):
    """Return [(language, its Vocabulary)]; one for questions and answers alike."""
    task = config_of(model).task
    if model.characters:
        return [(f"questions and answers ({task})", model.source)]
    sides = task.split("-") if task in GRAMMARS else ("source", "target")
    names = (LANGUAGES.get(side, side) for side in sides)
    return list(zip(names, (model.source, model.target)))

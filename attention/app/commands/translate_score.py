"""Score a translator on its test set: BLEU or right answers, alignment error rate."""

from ..experiments import scoring
from ..experiments import translation as experiment
from .translate import config_of, load_model


def run(args):
    """Print the scores; return the exit code."""
    model = load_model(args.model)
    config = config_of(model)
    data = experiment.load(config)
    if data.checksum != model.about.get("data"):
        raise ValueError(
            f"The pairs of {config.task} are not those that the model was trained "
            "with; it may have been trained on some of the test set. Restore the data, "
            "or train a new model."
        )
    print(f"{experiment.name_of(config)}: {len(data.test)} pairs of the test set\n")
    print(scoring.table(scoring.score(model, data.test, args.beam)))
    return 0

"""``--json``: print one JSON document, with the numbers as they were measured."""

import json


def print_json(document):
    """Print one document on one line."""
    print(_text(document), flush=True)


def print_json_list(items):
    """Print one document, a list: each item on a line of its own, as soon as it comes."""
    before = "["
    for item in items:
        print(f"{before}{_text(item)}", flush=True)
        before = ","
    print("]" if before == "," else "[]", flush=True)


def _text(document):
    # NaN and infinity would be no JSON; NumPy's arrays and numbers become Python's
    return json.dumps(document, allow_nan=False, default=lambda x: x.tolist())

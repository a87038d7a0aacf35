"""``--json``: print one JSON document, with the numbers as they were measured."""

import json


def print_json(document):
    """Print one document on one line."""
    print(_text(document), flush=True)


def print_results(results, of_lines, as_json):
    """Compute results, which print themselves as text; or print them as one document.

    results    dicts, from an iterator that computes each when it is wanted
    of_lines   whether there is a result for each line of stdin, not for one argument;
               the document is then a list

    Raises the ValueError of a result, with the number of its line. The document then
    ends before it, as after Ctrl-C.
    """
    n = 0
    try:
        for n, result in enumerate(results, 1):
            before = ("[" if n == 1 else ",") * of_lines
            if as_json:
                print(before + _text(result), flush=True)
    except ValueError as problem:
        if not of_lines:
            raise
        raise ValueError(f"Line {n + 1}: {problem}") from None
    finally:
        if as_json and of_lines:
            print("]" if n else "[]", flush=True)


def _text(document):
    # NaN and infinity would be no JSON; NumPy's arrays and numbers become Python's
    return json.dumps(document, allow_nan=False, default=lambda x: x.tolist())

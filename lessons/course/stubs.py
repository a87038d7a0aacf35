"""Read the functions of an answer: which there are, and which are not written yet."""

import ast
import functools
import re
import tokenize

IMPORT = "from lessons import NotWritten"
OWN = re.compile(r"(from|import) (attention|minigrad|lessons)\b")


class StubError(Exception):
    """No stub can be made from this file; the message says where and why."""


def text_of(path):
    """Return the text of an answer, in the encoding that its first lines declare."""
    with tokenize.open(path) as file:  # without a byte order mark, as well
        return file.read()


@functools.lru_cache(500)
def compiled(text, path):
    """Return the code of a text; a search for a name runs the same ones often."""
    return compile(text, path, "exec")


def unwritten_functions(text):
    """Return the names of the functions of a file that still raise NotWritten."""
    try:
        functions = ast.parse(text).body
    except (SyntaxError, ValueError):
        return []
    return [
        function.name
        for function in functions
        if isinstance(function, ast.FunctionDef)
        and any(
            isinstance(node, ast.Raise) and "NotWritten" in ast.unparse(node)
            for node in _reachable(function)
        )
    ]


def uses(text):
    """Return {function of a file: the others that it calls, also through others}."""
    try:
        functions = [f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)]
    except (SyntaxError, ValueError):
        return {}
    names = {f.name for f in functions}
    found = {
        f.name: {getattr(node, "id", None) for node in ast.walk(f)} & names - {f.name}
        for f in functions
    }
    for via in names:  # calls through ``via``
        for name, called in found.items():
            if via in called:
                called |= found[via] - {name}
    return found


def _reachable(node):
    """Yield a node and all inside it, except what stands below a return or a raise.

    A learner may write the answer above the line that raises NotWritten.
    """
    yield node
    for _, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from _reachable(part)
                if isinstance(part, (ast.Return, ast.Raise)):
                    break


def with_import(lines):
    """Insert the import that a stub needs after the other imports, or the docstring."""
    body = ast.parse("".join(lines)).body
    imports = [n for n in body if isinstance(n, (ast.Import, ast.ImportFrom))]
    last = (imports or body)[-1 if imports else 0]
    is_own = OWN.match(lines[last.lineno - 1])
    gap = [] if is_own else ["\n"]
    return [*lines[: last.end_lineno], *gap, IMPORT + "\n", *lines[last.end_lineno :]]

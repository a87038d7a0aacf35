"""A stub is made from its solution: each solution region becomes ``raise NotWritten``.

    # BEGIN SOLUTION
    return np.abs(s - c) <= D               ->    raise NotWritten("38.5 local_mask")
    # END SOLUTION

The part after the line ``# FOR THE CHECK``, with the wrong answers, is left out.
"""

import ast
import tokenize

BEGIN, END, AUTHOR = "# BEGIN SOLUTION", "# END SOLUTION", "# FOR THE CHECK"
AUTHOR_NAMES = "WHY", "HINTS", "MUTANTS", "EQUIVALENT"
IMPORT = "from lessons import NotWritten"
# the methods of ``my`` in a check: a learner's function of that name is unreachable
RESERVED = (
    "calls", "equal", "gradients", "holds", "id", "last", "last_call", "made", "near",
    "only", "path", "save_case", "shape", "written",
)  # fmt: skip
LONG = 10  # characters from which a line of a solution would give it away


class StubError(Exception):
    """No stub can be made from this solution; the message says where and why."""


def text_of(path):
    """Return the text of an answer, in the encoding that its first lines declare."""
    with tokenize.open(path) as file:  # without a byte order mark, as well
        return file.read()


def strip(text, id):
    """Return the stub of a solution: its text without the regions."""
    lines, regions = exercise_part(text).splitlines(keepends=True), find_regions(text)
    if not regions:
        raise StubError(f"{id}: no region {BEGIN} … {END}; there is nothing to fill in")
    for name in signatures(text):
        if name in RESERVED:
            raise StubError(
                f"{id}: a check cannot reach the function {name}, because my.{name} "
                "belongs to the harness; give it another name"
            )
    functions = functions_of(text)
    for first, last in reversed(regions):
        name = next((n for n, (a, b) in functions.items() if a <= first <= b), None)
        if name is None:
            raise StubError(
                f"{id}, line {first + 1}: a region stands outside functions"
            )
        indent = lines[first][: -len(lines[first].lstrip())]
        lines[first : last + 1] = [f'{indent}raise NotWritten("{id} {name}")\n']
    stub = "".join(with_import(lines)).rstrip("\n") + "\n"
    _refuse_leaks(stub, text, regions, id)
    return stub


def exercise_part(text):
    """Return the solution without the part for the check, such as wrong answers."""
    return f"\n{text}".partition(f"\n{AUTHOR}\n")[0][1:].rstrip("\n") + "\n"


def author_part(text):
    """Return {name: value} of the names for the check, which are literals."""
    return {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign)
        and getattr(node.targets[0], "id", "") in AUTHOR_NAMES
    }


def find_regions(text):
    """Return [(first, last)]: the numbers of the marker lines, from 0."""
    lines = enumerate(exercise_part(text).splitlines())
    marks = [(k, x.strip()) for k, x in lines if "BEGIN SOL" in x or "END SOL" in x]
    for n, (k, mark) in enumerate(marks):
        expected = (BEGIN, END)[n % 2]
        if mark != expected:
            raise StubError(f"line {k + 1}: found {mark!r}; expected {expected!r}")
    numbers = [k for k, _ in marks]
    if len(marks) % 2:
        raise StubError(f"line {numbers[-1] + 1}: {BEGIN} without {END}")
    return list(zip(numbers[::2], numbers[1::2]))


def functions_of(text):
    """Return {name: (first, last)}: the lines, from 0, of each top-level function."""
    return {
        node.name: (node.lineno - 1, node.end_lineno - 1)
        for node in ast.parse(exercise_part(text)).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }


def signatures(text):
    """Return {name: [parameters]} of the public functions that an answer must have."""
    return {
        node.name: [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        for node in ast.parse(exercise_part(text)).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


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
    """Insert the import that a stub needs at its sorted place among the imports."""
    body = ast.parse("".join(lines)).body
    imports = [n for n in body if isinstance(n, (ast.Import, ast.ImportFrom))]
    own = [
        n for n in imports if _sort_key(n)[1] in ("attention", "minigrad", "lessons")
    ]
    if own:
        later = [n for n in own if _sort_key(n) >= (True, "lessons")]
        last = later[0].lineno - 1 if later else own[-1].end_lineno
        return [*lines[:last], IMPORT + "\n", *lines[last:]]
    # after the other imports, or after the docstring
    last = (imports or body)[-1 if imports else 0].end_lineno
    return [*lines[:last], "\n", IMPORT + "\n", *lines[last:]]


def _sort_key(node):
    """Sort ``import a`` before ``from a``, then by package."""
    is_from = isinstance(node, ast.ImportFrom)
    name = node.module if is_from else node.names[0].name
    return is_from, (name or "").split(".")[0]


def _refuse_leaks(stub, text, regions, id):
    """Refuse a stub that holds a line of a region."""
    lines = text.splitlines()
    for first, last in regions:
        for k in range(first + 1, last):
            line = lines[k].strip()
            if len(line) >= LONG and line in stub:
                raise StubError(f"{id}, line {k + 1}: {line!r} can be read in the stub")

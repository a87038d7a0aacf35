"""One source for stub and solution: a stub is the solution with its regions removed.

    # BEGIN SOLUTION
    return np.abs(s - c) <= D               ->    raise NotWritten("38.5 local_mask")
    # END SOLUTION

and without everything from the line ``# FOR THE CHECK`` on: hints and wrong answers.
"""

import ast

BEGIN, END, AUTHOR = "# BEGIN SOLUTION", "# END SOLUTION", "# FOR THE CHECK"
IMPORT = "from lessons import NotWritten"
# what a check calls on ``my`` itself: a function of that name could not be reached
TAKEN = (
    "equal", "first_wrong", "gradients", "holds", "last_call", "shape", "written",
)  # fmt: skip
TELLING = 10  # characters from which a line of a solution would give it away


class StubError(Exception):
    """A solution from which no stub can be made; the sentence says where."""


def strip(text, id):
    """The stub of a solution: its text without the regions and the author's part."""
    lines, regions = exercise_part(text).splitlines(keepends=True), find_regions(text)
    if not regions:
        raise StubError(f"{id}: no region {BEGIN} … {END}; there is nothing to fill in")
    taken = [name for name in signatures(text) if name in TAKEN]
    if taken:
        raise StubError(
            f"{id}: a check could not reach the function {taken[0]}, because "
            f"my.{taken[0]} is the harness's own; give it another name"
        )
    owners = functions_of(text)
    for first, last in reversed(regions):
        owner = next((n for n, (a, b) in owners.items() if a <= first <= b), None)
        if owner is None:
            raise StubError(
                f"{id}, line {first + 1}: a region stands outside functions"
            )
        marker = lines[first]
        indent = marker[: len(marker) - len(marker.lstrip())]
        lines[first : last + 1] = [f'{indent}raise NotWritten("{id} {owner}")\n']
    stub = "".join(_with_import(lines)).rstrip("\n") + "\n"
    _refuse_leaks(stub, text, regions, id)
    try:
        compile(stub, id, "exec")
    except SyntaxError as error:
        raise StubError(f"{id}: the stub is no Python: {error}") from None
    return stub


def exercise_part(text):
    """The solution without what stands there for the check: hints, wrong answers."""
    kept = []
    for line in text.splitlines(keepends=True):
        if line.rstrip() == AUTHOR:
            break
        kept.append(line)
    return "".join(kept).rstrip("\n") + "\n"


def author_part(text):
    """{name: value} of HINTS, MUTANTS, EQUIVALENT, which are literals."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in ("HINTS", "MUTANTS", "EQUIVALENT"):
                found[name] = ast.literal_eval(node.value)
    return found


def find_regions(text):
    """[(first, last)], the numbers of the marker lines, from 0."""
    regions, opened = [], None
    for k, line in enumerate(exercise_part(text).splitlines()):
        if line.strip() == BEGIN:
            if opened is not None:
                raise StubError(f"line {k + 1}: a region inside a region")
            opened = k
        elif line.strip() == END:
            if opened is None:
                raise StubError(f"line {k + 1}: {END} without {BEGIN}")
            regions.append((opened, k))
            opened = None
        elif "BEGIN SOLUTION" in line or "END SOLUTION" in line:
            raise StubError(f"line {k + 1}: a marker has a line of its own")
    if opened is not None:
        raise StubError(f"line {opened + 1}: {BEGIN} without {END}")
    return regions


def functions_of(text):
    """{name: (first, last)} lines, from 0, of the functions at the top of a file."""
    return {
        node.name: (node.lineno - 1, node.end_lineno - 1)
        for node in ast.parse(exercise_part(text)).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }


def signatures(text):
    """{name: [parameters]} of the functions that an answer has to have: public ones."""
    return {
        node.name: [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        for node in ast.parse(exercise_part(text)).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


def unwritten(text):
    """The names of the functions of a file that still raise NotWritten."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(
            isinstance(inner, ast.Raise) and "NotWritten" in ast.unparse(inner)
            for inner in _reached(node)
        )
    ]


def _reached(node):
    """A node and what is in it, but for what stands below a return or a raise."""
    yield node
    for _, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from _reached(part)
                if isinstance(part, (ast.Return, ast.Raise)):
                    break  # a learner may write above the line that is to go


def _with_import(lines):
    """With the import that a stub needs, in its place among the others."""
    body = ast.parse("".join(lines)).body
    imports = [n for n in body if isinstance(n, (ast.Import, ast.ImportFrom))]
    own = [n for n in imports if _place(n)[1] in ("attention", "minigrad", "lessons")]
    later = [n for n in own if _place(n) >= (True, "lessons")]
    if own:  # sorted among those of the house
        last = later[0].lineno - 1 if later else own[-1].end_lineno
        return [*lines[:last], IMPORT + "\n", *lines[last:]]
    last = 0
    if imports:
        last = imports[-1].end_lineno
    elif body and isinstance(body[0], ast.Expr):
        last = body[0].end_lineno
    return [*lines[:last], "\n", IMPORT + "\n", *lines[last:]]


def _place(node):
    """Where an import is sorted: ``import a`` before ``from a``, then by package."""
    is_from = isinstance(node, ast.ImportFrom)
    name = node.module if is_from else node.names[0].name
    return is_from, (name or "").split(".")[0]


def _refuse_leaks(stub, text, regions, id):
    """No marker, and no line of a region, may be anywhere in the stub."""
    if "SOLUTION" in stub:
        raise StubError(f"{id}: a marker is left in the stub")
    lines = text.splitlines()
    for first, last in regions:
        for k in range(first + 1, last):
            line = lines[k].strip()
            if len(line) >= TELLING and line in stub:
                raise StubError(f"{id}, line {k + 1}: {line!r} can be read in the stub")

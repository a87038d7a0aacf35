"""Name a mistake that nobody wrote down: by an edit of the exercise in loops by a rule.

``edits`` changes one place of the twin (twins.py): a factor dropped or squared, a term
dropped, a sign, an operator, operands, indices or a transpose exchanged, a constant by
one or two, a name or an entry for another of the same function, the edge of a
comparison, ``+=`` as ``=``.

An edit is a name if it comes to the same comparison with the same results, and to the
same results in all comparisons of the check with other random numbers. Edits of one
statement that all do so are the same in effect: the shortest sentence counts. Edits of
several statements give no name.
"""

import ast
import contextlib
import inspect
import signal
import threading
import time

import numpy as np

from .. import stubs
from . import twins

SECONDS = 2.0  # of processor time, for all failures of one check
TAG = "edit"
LONGEST = 60  # characters of a piece of code in a sentence
SIGNS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
EDGES = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
EXCHANGED = ast.MatMult, ast.Sub, ast.Div, ast.Pow
MODULES = "np", "math"


class OutOfTime(BaseException):
    """The time is over; not an Exception, which a replay takes for a mistake."""


def edits(text, names):
    """Return [(statement, sentence, text)] for the functions ``names`` of a twin.

    The rules that find most come first, and names for other names, of which there are
    many, come last.
    """
    found = {}
    for function in ast.parse(text).body:
        if isinstance(function, ast.FunctionDef) and function.name in names:
            for rank, node, new, where, change in _of_function(function):
                edited = _replaced(text, node, new)
                sentence = f"the right answer {change} in {where[0]}"
                found.setdefault(edited, (rank, where, sentence))
    ranked = sorted(found.items(), key=lambda item: item[1][0])
    return [(where, sentence, edited) for edited, (_, where, sentence) in ranked]


def _of_function(function):
    """Yield (rank, node, what replaces it, (place, line), the change in words)."""
    alike = _alike(function)
    for statement in ast.walk(function):
        is_statement = isinstance(statement, ast.stmt)
        if not is_statement or isinstance(statement, ast.FunctionDef):
            continue
        where = _place(statement, function.name), statement.lineno
        yield from _of_statement(statement, where)
        for node, parent in _expressions(statement):
            for node, new, change in _of_expression(node, parent):
                yield 0, node, new, where, change
            for group in alike:
                if (old := ast.unparse(node)) in group:
                    for other in sorted(group - {old}):
                        yield 1, node, other, where, _instead(node, other, parent)


def _alike(function):
    """Return three sets of pieces, of which each may stand for the others of its set.

    They are arrays, indices and numbers. A number is a local name that has no index, or
    an entry of an array.
    """
    nodes = [*ast.walk(function)]
    local = {node.arg for node in nodes if isinstance(node, ast.arg)}
    entries = [node for node in nodes if isinstance(node, ast.Subscript)]
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            local.add(node.id)
    arrays = {ast.unparse(node.value) for node in entries} & local
    indices = {
        name.id
        for node in entries
        for name in ast.walk(node.slice)
        if isinstance(name, ast.Name)
    } & local
    read = {ast.unparse(n) for n in entries if isinstance(n.ctx, ast.Load)}
    return arrays, indices, (local - arrays - indices) | read


def _expressions(node):
    """Yield (expression that is read, what it is a part of), without statements."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.JoinedStr, ast.Raise)):
            continue
        if isinstance(child, ast.expr) and not isinstance(
            getattr(child, "ctx", None), ast.Store
        ):
            yield child, node
        yield from _expressions(child)


def _place(statement, function):
    """Return where a statement is: the name to which it assigns, or the function."""
    target = getattr(statement, "target", None)
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
    if target is None or isinstance(statement, ast.For):
        is_result = isinstance(statement, ast.Return)
        return f"the result of {function}" if is_result else function
    while isinstance(target, ast.Subscript):
        target = target.value
    return ast.unparse(target).strip("()")


def _of_statement(statement, where):
    """Yield the edits of a whole assignment or result: its sign, and += as =."""
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.AugAssign):
        target, value = ast.unparse(statement.target), ast.unparse(value)
        sign = "+=" if isinstance(statement.op, ast.Add) else "-="
        if isinstance(statement.op, (ast.Add, ast.Sub)):
            for other in {"=", "+=", "-="} - {sign}:
                new = f"{target} {other} {value}"
                yield 0, statement, new, where, f"with {other} for {sign}"
    elif isinstance(statement, (ast.Assign, ast.Return)):
        if isinstance(value, (ast.BinOp, ast.Call, ast.Name)):
            new = f"-({ast.unparse(value)})"
            yield 0, value, new, where, "with the other sign"


def _of_expression(node, parent):
    """Yield (node, what replaces it, the change in words)."""
    if isinstance(node, ast.BinOp):
        yield from _of_operation(node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node, _code(node.operand), _instead(node, _code(node.operand))
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield node, _code(node.value), _instead(node, _code(node.value))
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        if len(node.slice.elts) == 2:
            i, j = map(ast.unparse, node.slice.elts)
            new = f"{_code(node.value)}[{j}, {i}]"
            yield node, new, _instead(node, new)
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in EDGES:
        op = EDGES[type(node.ops[0])]()
        new = ast.unparse(ast.Compare(node.left, [op], node.comparators[:1]))
        if len(node.ops) == 1:
            yield node, new, _instead(node, new)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        for step in (1, -1, 2, -2):
            new = f"{node.value + step}"
            yield node, new, _instead(node, new, parent)


def _of_operation(node):
    """Yield the edits of a sum, a product, a quotient or a power."""
    left, right, op = _code(node.left), _code(node.right), type(node.op)
    what = {ast.Add: "term", ast.Sub: "term"}.get(op, "factor")
    if op in SIGNS:
        inverse = {ast.Sub: f"-{right}", ast.Div: f"1 / {right}"}.get(op, right)
        if inverse != f"{left} / {right}":
            yield node, inverse, f"without the {what} {ast.unparse(node.left)}"
        dropped = inverse if op is ast.Div else ast.unparse(node.right)
        yield node, left, f"without the {what} {dropped}"
        new = ast.unparse(ast.BinOp(node.left, SIGNS[op](), node.right))
        yield node, new, _instead(node, new)
    if op is ast.Mult:
        for new in (f"{left} ** 2 * {right}", f"{left} * {right} ** 2"):
            yield node, new, _instead(node, new)
    if op is ast.Pow:
        yield node, left, _instead(node, left)
    if op in EXCHANGED:
        new = ast.unparse(ast.BinOp(node.right, node.op, node.left))
        yield node, new, _instead(node, new)
    if op is ast.MatMult:
        for new in (f"{left}.T @ {right}", f"{left} @ {right}.T"):
            yield node, new, _instead(node, new)


def _of_call(node):
    """Yield the edits of a call: without the function, or of the argument's sign."""
    called = node.func
    of_module = isinstance(called, ast.Attribute) and _code(called.value) in MODULES
    if len(node.args) != 1 or not (of_module or _code(called) in ("abs", "sum")):
        return
    argument = node.args[0]
    if isinstance(argument, (ast.GeneratorExp, ast.ListComp, ast.Tuple)):
        return
    name, of = ast.unparse(called), ast.unparse(argument)
    yield node, _code(argument), f"without {name} of {of}"
    new = f"{name}(-{_code(argument)})"
    yield node, new, _instead(node, new)


def _instead(node, new, parent=None):
    """Return "with … for …", with the expression around a short piece of code."""
    old = ast.unparse(node)
    if isinstance(parent, (ast.BinOp, ast.Subscript, ast.Compare, ast.UnaryOp)):
        around = ast.unparse(parent)
        if len(around) <= LONGEST:
            copy = ast.parse(around, mode="eval").body
            for field, value in ast.iter_fields(parent):
                if value is node:
                    setattr(copy, field, ast.parse(new, mode="eval").body)
                    return f"with {ast.unparse(copy)} for {around}"
    return f"with {new} for {old}"


def _code(node):
    """Return an expression that can stand in any other one."""
    code = ast.unparse(node)
    closed = ast.Name, ast.Constant, ast.Call, ast.Subscript, ast.Attribute
    return code if isinstance(node, closed) else f"({code})"


def _replaced(text, node, new):
    """Return a text in which ``new`` stands for a node of its tree."""
    lines = text.encode().splitlines(keepends=True)
    begin = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    if isinstance(node, ast.expr):
        new = f"({new})"
    return (b"".join(lines)[:begin] + new.encode() + b"".join(lines)[end:]).decode()


def name_of(failure, function, my, rng_of, passed):
    """Return (name, sentence) of the one edit that makes the same mistake, or None.

    The arguments are those of ``twins.name_of``.
    """
    text, (_, results) = twins.text_of(function.__globals__), failure.place
    if any(isinstance(r, (str, bool)) for r in results):
        return None
    part, uses = my._part(failure.lines), stubs.uses(text)
    names = {part, *uses[part]} if part in uses else {*uses}

    def is_alike(edited):
        return twins.fails_alike(edited, my, function, rng_of, failure.place)

    def is_noticed(edited):
        return not all(twins.passes(edited, my, f, rng_of) for f in passed)

    def agrees(edited, learners):
        recorded = _recorded(my, twins.functions_of(edited), function)
        return _agree(recorded, learners, function)

    with contextlib.suppress(OutOfTime), _limited(my), twins.silent():
        near = [edit for edit in edits(text, names) if is_alike(edit[2])]
        if not near:
            return None
        both = {name: f for name, f in my._namespace.items() if name in uses}
        learners = _recorded(my, both, function)  # without what the loops lack
        right = _recorded(my, twins.functions_of(text), function)
        place = function.__name__, failure.place[0]
        if not _is_evidence(learners.get(place), right.get(place), results):
            return None
        found = [
            (where, sentence)
            for where, sentence, edited in near
            if not is_noticed(edited) and agrees(edited, learners)
        ]
        if len({where for where, _ in found}) == 1:
            return TAG, min((sentence for _, sentence in found), key=len)
    return None


def _recorded(my, namespace, function):
    """Return {(function, number): results} of a check, with other random numbers."""
    return {
        (f.__name__, number): results
        for f in function.__globals__.values()
        if inspect.isfunction(f) and hasattr(f, "step")
        for number, (_, results) in twins.second_draw(my, namespace, f).items()
    }


def _agree(found, expected, function):
    """Return whether two checks compared the same numbers throughout.

    Python raises where NumPy has inf, so another function of the check may end earlier.
    """
    missing = {name for name, _ in found.keys() ^ expected.keys()}
    return function.__name__ not in missing and all(
        twins.same(found[place], expected[place])
        for place in found.keys() & expected.keys()
    )


def _is_evidence(found, right, before):
    """Return whether wrong results depend on the draw, in three numbers or more."""
    if found is None or right is None or twins.same(found, before):
        return False
    wrong = set()
    for a, b in zip(map(np.asarray, found), map(np.asarray, right)):
        if a.dtype.kind == "f" and a.shape == b.shape:
            wrong |= {*a[~np.isclose(a, b) & np.isfinite(a)].tolist()}
        elif a.dtype.kind == "f":
            wrong |= {*a[np.isfinite(a)].tolist()}
    return len(wrong) > 2


@contextlib.contextmanager
def _limited(my):
    """Raise OutOfTime in the block after the processor time that is left for it."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        raise OutOfTime  # nothing would stop an edited loop that does not end
    left = SECONDS - my._searched
    if of_check := signal.getitimer(signal.ITIMER_PROF)[0]:  # the runner's limit
        left = min(left, of_check / 2)
    if left <= 0:
        raise OutOfTime

    def stop(*_):
        raise OutOfTime

    start, before = time.process_time(), signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, left)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        my._searched += time.process_time() - start

"""Wrong answers, made from a solution, that its check must reject.

``planted`` are the author's, each with the name of its mistake. ``automatic`` are
changes of one operator in the regions of the solution.
"""

import ast
import copy

from . import stubs


def planted(text):
    """Return [(what, text, tag)] from MUTANTS; each pattern occurs exactly once."""
    answer, found = stubs.exercise_part(text), []
    for old, new, tag in stubs.author_part(text).get("MUTANTS", []):
        times = answer.count(old)
        if times != 1:
            raise stubs.StubError(
                f"the pattern {old!r} occurs {times} times; expected 1"
            )
        mutant = answer.replace(old, new)
        try:
            compile(mutant, "a planted answer", "exec")
        except SyntaxError as error:
            raise stubs.StubError(
                f"the pattern {old!r} -> {new!r} is no Python: {error}"
            ) from None
        found.append((f"{old} -> {new}", mutant, tag))
    return found


def automatic(text):
    """Return [(what, text)]; what is "before -> after" of one node of a region."""
    answer = stubs.exercise_part(text)
    regions, tree = stubs.find_regions(text), ast.parse(answer)
    found = []
    for k, node in enumerate(ast.walk(tree)):
        line = getattr(node, "lineno", 0) - 1
        if not any(first < line < last for first, last in regions):
            continue
        for changed in _changes(node):
            mutant = copy.deepcopy(tree)
            target = next(n for i, n in enumerate(ast.walk(mutant)) if i == k)
            _Replace(target, changed).visit(mutant)
            what = f"{ast.unparse(node)} -> {ast.unparse(changed)}"
            found.append((what, ast.unparse(ast.fix_missing_locations(mutant))))
    return found


class _Replace(ast.NodeTransformer):
    """Replace one node of a tree."""

    def __init__(self, target, changed):
        self.target, self.changed = target, changed

    def visit(self, node):
        return self.changed if node is self.target else super().visit(node)


SWAPPED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.LtE: ast.Lt, ast.Lt: ast.LtE,
    ast.GtE: ast.Gt, ast.Gt: ast.GtE,
}  # fmt: skip


def _changes(node):
    """Yield what ``node`` may be changed into."""
    node = copy.deepcopy(node)
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield node.value
    elif isinstance(node, ast.AugAssign):
        yield ast.Assign([node.target], node.value, lineno=node.lineno)
    elif isinstance(node, ast.BinOp):
        if type(node.op) in SWAPPED:
            yield ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)
        elif isinstance(node.op, ast.Div) and "sqrt" in ast.unparse(node.right):
            yield node.left
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        if not isinstance(node.operand, ast.Constant):
            yield node.operand
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        ops = [SWAPPED[type(node.ops[0])](), *node.ops[1:]]
        yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.Call):
        yield from _calls(node)


def _calls(node):
    """Yield a call without keepdims, and along axis 0 instead of -1."""
    others = [k for k in node.keywords if k.arg != "keepdims"]
    if len(others) < len(node.keywords):
        yield ast.Call(node.func, node.args, others)
    last = "-1"
    for k, keyword in enumerate(node.keywords):
        if keyword.arg == "axis" and ast.unparse(keyword.value) == last:
            axis = ast.keyword("axis", ast.Constant(0))
            keywords = [*node.keywords[:k], axis, *node.keywords[k + 1 :]]
            yield ast.Call(node.func, node.args, keywords)
    reduces = getattr(node.func, "attr", "") in ("sum", "max", "min", "mean", "argmax")
    if reduces and node.args and ast.unparse(node.args[0]) == last:
        yield ast.Call(node.func, [ast.Constant(0), *node.args[1:]], node.keywords)

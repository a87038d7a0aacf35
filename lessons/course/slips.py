"""Edits of an answer by rule: one place of one function is changed.

A factor or a term is dropped, a sign or an operator changed, operands, names or indices
exchanged, a sum is a mean, an option or a function is left out, a constant is one off.
"""

import ast
import itertools

from .read import Edit

SWAP = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
        ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
        ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
        ast.FloorDiv: ast.Div}  # fmt: skip
REDUCES = {"sum": "mean", "mean": "sum", "max": "min", "min": "max", "argmax": "argmin",
           "argmin": "argmax", "maximum": "minimum", "minimum": "maximum",
           "log": "log2", "tril": "triu", "triu": "tril", "zeros": "ones",
           "ones": "zeros", "any": "all", "all": "any", "var": "std",
           "std": "var"}  # fmt: skip
MODULES = "np", "math"
LONGEST = 60  # characters of a piece of code in a sentence


def edits(source, name, parts):
    """Yield the ``Edit``s of the functions ``parts``; those of ``name`` come first.

    Names for other names come last: there are many.
    """
    seen = {source.answer}
    functions = [source.functions[name]]
    functions += [f for n, f in source.functions.items() if n in parts and n != name]
    for rank in (0, 1):
        for function in functions:
            for node, parent, where in places(function, function.name):
                for new, words in changes(node, function, rank):
                    text = replaced(source.answer, node, new)
                    if text not in seen:
                        seen.add(text)
                        sentence = words or in_words(node, new, parent)
                        last = node.lineno - 1
                        yield Edit(f"the right answer {sentence} in {where}", last, text)


def places(node, where):
    """Yield (node, its parent, where it stands in words) of all that may be edited."""
    for child in ast.iter_child_nodes(node):
        here = where
        if isinstance(child, ast.FunctionDef):
            yield from places(child, child.name)
            continue
        if isinstance(child, (ast.Assign, ast.AugAssign)):
            target = child.targets[0] if isinstance(child, ast.Assign) else child.target
            while isinstance(target, ast.Subscript):
                target = target.value
            here = ast.unparse(target).strip("()")
        elif isinstance(child, ast.Return):
            here = f"the result of {where}"
        if not isinstance(child, (ast.arguments, ast.JoinedStr, ast.expr_context)):
            if hasattr(child, "lineno"):
                yield child, node, here
            yield from places(child, here)


def changes(node, function, rank):
    """Yield (code that may stand for a node, the change in words or None)."""
    if rank == 1:
        yield from names_for(node, function)
    elif isinstance(node, ast.stmt):
        yield from of_statement(node)
    elif isinstance(node, ast.BinOp):
        yield from of_operation(node)
    elif isinstance(node, ast.Call):
        yield from of_call(node)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, op, right = node.left, node.ops[0], node.comparators[0]
        if type(op) in SWAP:
            yield code(ast.Compare(left, [SWAP[type(op)]()], [right])), None
            yield code(ast.Compare(right, [op], [left])), None
    elif isinstance(node, ast.BoolOp):
        yield code(ast.BoolOp(SWAP[type(node.op)](), node.values)), None
        for k, value in enumerate(node.values):
            if len(node.values) == 2:
                yield code(node.values[1 - k]), f"without {shortened(value)}"
    elif isinstance(node, ast.UnaryOp):
        yield code(node.operand), None
    elif isinstance(node, ast.IfExp):
        yield code(node.body), f"without {shortened(node.test)}"
        yield code(node.orelse), f"without {shortened(node.test)}"
        yield code(ast.IfExp(node.test, node.orelse, node.body)), None
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield code(node.value), None
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield from of_index(node)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        n = node.value
        for new in dict.fromkeys((n + 1, n - 1, n + 2, n - 2, 2 * n, n / 2)):
            yield repr(new), None
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield repr(not node.value), None


def of_statement(node):
    """Yield the edits of a statement: its sign, += as =, results exchanged."""
    value = getattr(node, "value", None)
    if isinstance(node, (ast.Assign, ast.Return)):
        head = ast.unparse(node)[: -len(ast.unparse(value))] if value else ""
        if isinstance(value, (ast.BinOp, ast.Call, ast.Name)):
            yield f"{head}-{closed(value)}", "with the other sign"
        if isinstance(value, ast.Tuple):
            parts = [ast.unparse(each) for each in value.elts]
            for j, k in itertools.combinations(range(len(parts)), 2):
                new = list(parts)
                new[j], new[k] = new[k], new[j]
                words = f"with {parts[j]} and {parts[k]} exchanged"
                yield head + ", ".join(new), words
    elif isinstance(node, ast.AugAssign):
        target, value = ast.unparse(node.target), ast.unparse(value)
        sign = ast.unparse(node).removeprefix(target).split()[0]
        for other in dict.fromkeys(("=", "+=", "-=", "*=", "/=")):
            if other != sign:
                yield f"{target} {other} {value}", f"with {other} for {sign}"
        yield "pass", f"without {shortened(node)}"


def of_operation(node):
    """Yield the edits of a sum, a product, a quotient, a power or a matrix product."""
    left, right, op = closed(node.left), closed(node.right), type(node.op)
    what = "term" if op in (ast.Add, ast.Sub) else "factor"
    if op in (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult):
        alone = {ast.Sub: f"-{right}", ast.Div: f"1 / {right}"}.get(op, right)
        dropped = {ast.Sub: f"-{right}", ast.Div: f"1 / {right}"}.get(op, node.right)
        yield alone, f"without the {what} {shortened(node.left)}"
        yield left, f"without the {what} {shortened(dropped)}"
    if op in SWAP:
        yield code(ast.BinOp(node.left, SWAP[op](), node.right)), None
    if op in (ast.Sub, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv, ast.Mod):
        yield f"{right} {symbol(node)} {left}", None
    if op is ast.MatMult:
        yield f"{left}.T @ {right}", None
        yield f"{left} @ {right}.T", None
        yield f"{left}.swapaxes(-1, -2) @ {right}", None
        yield f"{left} @ {right}.swapaxes(-1, -2)", None
    if op is ast.Mult:
        yield f"{left} ** 2 * {right}", None
        yield f"{left} * {right} ** 2", None
        yield f"{left} + {right}", None
    if op is ast.Pow:
        yield left, None
        yield f"abs({left})", None


def of_call(node):
    """Yield the edits of a call: another function, another sign, an option less."""
    function, args, options = node.func, node.args, node.keywords
    name = getattr(function, "attr", getattr(function, "id", ""))
    of_module = isinstance(function, ast.Attribute) and code(function.value) in MODULES
    if name in REDUCES and isinstance(function, ast.Attribute):
        other = ast.Attribute(function.value, REDUCES[name])
        yield code(ast.Call(other, args, options)), f"with {REDUCES[name]} for {name}"
    if isinstance(function, ast.Attribute) and not of_module:
        yield code(function.value), f"without {shortened(node)}"
    if (of_module or name in ("abs", "len")) and len(args) == 1:
        simple = not isinstance(args[0], (ast.GeneratorExp, ast.ListComp, ast.Tuple))
        if simple:
            yield code(args[0]), f"without {name} of {shortened(args[0])}"
            yield f"{code(function)}(-{closed(args[0])})", None
    if name in ("tril", "triu") and len(args) == 1:
        for k in (-1, 1):
            yield f"{code(function)}({code(args[0])}, {k})", None
    if name == "where" and len(args) == 3:
        yield code(args[1]), f"without {shortened(args[0])}"
        yield code(args[2]), f"without {shortened(args[0])}"
        yield code(ast.Call(function, [args[0], args[2], args[1]], [])), None
    elif len(args) > 1:
        yield code(ast.Call(function, args[:-1], options)), None
        if len(args) == 2:
            yield code(ast.Call(function, args[::-1], options)), None
    for k, option in enumerate(options):
        rest = options[:k] + options[k + 1 :]
        yield code(ast.Call(function, args, rest)), f"without {ast.unparse(option)}"
    if name in ("sum", "mean", "max", "min", "cumsum", "argmax", "argsort"):
        for new in ("0", "1", "-1", "-2"):
            if args and not of_module:
                yield code(ast.Call(function, [ast.Name(new)], options)), None
            for k, option in enumerate(options):
                if option.arg == "axis" and ast.unparse(option.value) != new:
                    axis = ast.keyword("axis", ast.Name(new))
                    changed = options[:k] + [axis] + options[k + 1 :]
                    yield code(ast.Call(function, args, changed)), None
        if options and args and not of_module:
            yield code(ast.Call(function, [], options)), None


def of_index(node):
    """Yield the edits of an index: axes exchanged, places shifted, no index."""
    x, index = closed(node.value), node.slice
    if isinstance(index, ast.Tuple) and len(index.elts) == 2:
        i, j = map(ast.unparse, index.elts)
        yield f"{x}[{j}, {i}]", None
    if isinstance(index, ast.Slice):
        yield x, f"without [{ast.unparse(index)}]"
        if index.step is not None:
            yield x, None
    elif not isinstance(index, ast.Tuple):
        i = ast.unparse(index)
        for new in (f"{i} + 1", f"{i} - 1"):
            yield f"{x}[{new}]", None


def names_for(node, function):
    """Yield other names of the function for a name, or for a whole expression."""
    if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)) and not (
        isinstance(node, (ast.BinOp, ast.Call, ast.Subscript))
    ):
        return
    local = {n.arg for n in ast.walk(function) if isinstance(n, ast.arg)}
    local |= {
        n.id
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    old = getattr(node, "id", None)
    if old is None or old in local:
        for new in sorted(local - {old}):
            yield new, None


def code(node):
    return node if isinstance(node, str) else ast.unparse(node)


def closed(node):
    """Return an expression that can stand in any other one."""
    alone = ast.Name, ast.Constant, ast.Call, ast.Subscript, ast.Attribute
    text = ast.unparse(node)
    return text if isinstance(node, alone) else f"({text})"


def symbol(node):
    """Return the sign of an operation."""
    names = ast.BinOp(ast.Name("a"), node.op, ast.Name("b"))
    return ast.unparse(names)[2:-2]


def shortened(node):
    text = " ".join(code(node).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def in_words(node, new, parent):
    """Return the change in words, with the expression around a short piece of code."""
    around = ast.BinOp, ast.Subscript, ast.Compare, ast.UnaryOp, ast.Slice
    if isinstance(node, (ast.Name, ast.Constant)) and isinstance(parent, around):
        for field, value in ast.iter_fields(parent):
            if value is node:
                copy = type(parent)(**dict(ast.iter_fields(parent)))
                setattr(copy, field, ast.parse(new, mode="eval").body)
                return f"with {shortened(copy)} for {shortened(parent)}"
    return f"with {shortened(new)} for {shortened(node)}"


def replaced(text, node, new):
    """Return a text in which ``new`` stands for a node of its tree."""
    rows = text.encode().splitlines(keepends=True)
    begin = sum(map(len, rows[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, rows[: node.end_lineno - 1])) + node.end_col_offset
    new = f"({new})" if isinstance(node, ast.expr) else new
    whole = b"".join(rows)
    return (whole[:begin] + new.encode() + whole[end:]).decode()

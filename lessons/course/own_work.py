"""The first test of every check: the answer is written, not imported."""

import ast
import sys

from .outcome import CheckFailed

OWN_IMPORTS = {"NotWritten", "earlier"}  # from lessons
MORE = {"E.5": {"minigrad"}}  # its text suggests a gradient check


def own_work(my):
    """Fail if an answer imports what it is to compute, or changes a module."""
    lines, tree = my.text.splitlines(), ast.parse(my.text)

    def fail(tag, node, sentence):
        line = f"line {node.lineno}:  {lines[node.lineno - 1].strip()}"
        raise CheckFailed(tag, line, sentence)

    given = {(module, name) for _, module, name in imports(my.source.tree)}
    for node, module, name in imports(tree):
        if (module, name) in given or is_allowed(my.source.id, module, name):
            continue
        root, what = module.split(".")[0], name or module
        text = f"this is the library's {what}; the exercise is to write it, in NumPy"
        if root == "lessons":
            text = 'an earlier answer is earlier(__file__, "E.2", "softmax")'
        elif root not in ("", "attention", "minigrad"):
            text = f"{root} is not allowed here. Use NumPy and the standard library."
        fail("imports-answer", node, text)
    modules = aliases(tree)
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and "lessons" in text and "exercises" in text:
            fail("imports-answer", node, "expected your own work, not the course's file")
        if getattr(node, "attr", None) == "safetensors":  # of minigrad, which is given
            fail("imports-answer", node, "this is the library's; the exercise is to write it")
        if is_patch(node, modules):
            text = "expected every imported module unchanged, because the check uses it"
            fail("patches", node, text)


def imports(tree):
    """Yield (node, module, name or None) of each import, also of ``__import__``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((node, module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            module = getattr(node.args[0], "value", None)
            if called in ("__import__", "import_module") and isinstance(module, str):
                yield node, module, None


def is_allowed(id, module, name):
    """Return whether any answer to this exercise may import this."""
    root = module.split(".")[0]
    if module == "lessons":
        return name in OWN_IMPORTS
    standard = root in sys.stdlib_module_names
    more = {"numpy", "matplotlib", *MORE.get(id, ())}
    return standard or root in more


def aliases(tree):
    """Return the names in a file that stand for imported modules."""
    names = [n for node in ast.walk(tree) if isinstance(node, ast.Import)
             for n in node.names]  # fmt: skip
    return {(alias.asname or alias.name).split(".")[0] for alias in names}


def is_patch(node, modules):
    """Return whether a statement writes into an imported module."""
    targets = getattr(node, "targets", [])
    if isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setattr":
        targets = [ast.Attribute(node.args[0], "")] if node.args else []
    for target in targets:
        written = isinstance(target, ast.Attribute)
        while isinstance(target, (ast.Attribute, ast.Subscript)):
            written = written or isinstance(target, ast.Attribute)
            target = target.value
        if written and getattr(target, "id", None) in modules:
            return True
    return False

"""The first test of every check: the answer is written, not imported."""

import ast

from ..checks.own_work import aliases, imports, is_allowed, is_patch
from ..classroom.steps import CheckFailed


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

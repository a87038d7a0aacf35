"""The first test of every check: the answer is written, not imported."""

import ast
import functools
import linecache

from lessons.classroom.catalogue import find
from lessons.classroom.steps import CheckFailed
from lessons.course.own_work import aliases, imports, is_allowed, is_patch

PROJECT = {"", "attention", "lessons", "minigrad"}  # "" for a relative import
ANSWERS = {"6.7": {"safetensors"}}  # attributes of a module that the stub imports


def own_work(my, rng):
    """Fail if the answer imports its solution, or replaces a function of NumPy."""
    lines = linecache.getlines(my.path)
    tree = ast.parse("".join(lines))

    def fail(tag, node, sentence):
        line = f"line {node.lineno}:  {lines[node.lineno - 1].strip()}"
        raise CheckFailed(tag, line, sentence)

    for node, owner, name in foreign_code(tree, my.id):
        text = f"this is the {owner}'s {name}; the exercise is to write it, in NumPy"
        if owner == "package":
            text = f"{name} is not allowed here. Use NumPy and the standard library."
        if "lessons.work" in lines[node.lineno - 1]:
            text = 'an earlier answer is earlier(__file__, "E.2", "softmax")'
        fail("imports-answer", node, text)
    modules = aliases(tree)
    for node in ast.walk(tree):
        if is_patch(node, modules):
            text = "expected every imported module unchanged, because the check uses it"
            fail("patches", node, text)


own_work.step, own_work.title = "written", "the answer is your own work"


def foreign_code(tree, id):
    """Yield (node, its owner, its name) of code that the learner did not write."""
    given = given_imports(id)
    for node, module, name in imports(tree):
        if (module, name) not in given and not is_allowed(id, module, name):
            reference = module.startswith("lessons.solutions")
            if (root := module.split(".")[0]) not in PROJECT:
                yield node, "package", root
            else:
                yield node, "reference" if reference else "library", name or module
    for node in ast.walk(tree):
        if getattr(node, "attr", None) in ANSWERS.get(id, ()):
            yield node, "library", node.attr
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and "solutions" in text and "ex_" in text:
            yield node, "reference", "text"


@functools.cache
def given_imports(id):
    """Return {(module, name)} that the stub of an exercise imports."""
    stub = ast.parse(find(id).stub_text)
    return {(module, name) for _, module, name in imports(stub)}

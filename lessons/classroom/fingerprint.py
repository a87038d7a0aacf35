"""Which version of a script made a record: what its code says, in sixteen letters.

    fingerprint(text)                  of all of it
    fingerprint(text, "experiment")    of that function, and of all that it leads to

Comments, docstrings, blank lines and the folding of long lines do not count: a record
is not out of date because a sentence beside the code has been made better. Nor do
import statements, and what they import: a module may move, and the library has tests of
its own. A record is made again when one of them says that numbers have changed.
"""

import ast
import hashlib

LETTERS = 16
IMPORTS = ast.Import, ast.ImportFrom


def fingerprint(*texts, root=None):
    """The fingerprint of some scripts, together: 16 hexadecimal letters.

    root    the name of a function: then only what it uses of the last script's top
            level counts, directly or through what that uses, imports included. A script
            without that function counts whole.
    """
    trees = [ast.parse(text) for text in texts]
    if root is not None:
        trees[-1].body = _reached(trees[-1].body, root)
    said = repr([_plain(tree) for tree in trees])
    return hashlib.sha256(said.encode()).hexdigest()[:LETTERS]


def _plain(node):
    """A tree as nested tuples, without places, empty fields and docstrings.

    Not ``ast.dump``: other versions of Python have other empty fields, and print them.
    """
    if isinstance(node, list):
        return [_plain(n) for n in node if not isinstance(n, IMPORTS)]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(fields.get("body"), list) and _docstring(node):
        fields["body"] = node.body[1:]
    kept = [(k, _plain(v)) for k, v in fields.items() if v is not None and v != []]
    return type(node).__name__, kept


def _docstring(node):
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return isinstance(node, owners) and ast.get_docstring(node, clean=False) is not None


def _reached(body, root):
    """The statements of a top level that ``root`` leads to, in their order."""
    by_name, left, kept = {}, [root], set()
    for k, statement in enumerate(body):
        for name in _defined(statement):
            by_name.setdefault(name, set()).add(k)
    if root not in by_name:
        return body
    while left:
        for k in by_name.pop(left.pop(), ()):
            kept.add(k)
            left += _names(body[k])
    return [body[k] for k in sorted(kept)]


def _defined(statement):
    """The names that a statement of a top level gives a meaning."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [(a.asname or a.name).partition(".")[0] for a in statement.names]
    if hasattr(statement, "name"):  # a function, a class
        return [statement.name]
    return list(_changed(statement))


def _changed(node):
    """The names that are bound in a statement, or whose values may be changed by it.

    T = …, T[k] = …, m.X = … and, where a call is a statement of its own, T.append(…)
    and fill(T): a call for the sake of its result is taken to change nothing.
    """
    for each in ast.walk(node):
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
            yield from _names(each)
        elif isinstance(getattr(each, "ctx", None), (ast.Store, ast.Del)):
            while isinstance(each, (ast.Attribute, ast.Subscript, ast.Starred)):
                each = each.value
            yield from _names(each)


def _names(node):
    return (n.id for n in ast.walk(node) if isinstance(n, ast.Name))

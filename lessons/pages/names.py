"""The names of the library: where each is defined, and which functions use it.

``Names`` reads every file of minigrad and attention once, with ``ast``, and follows
imports from file to file. Nothing is imported or run.
"""

import ast
import functools

from ..classroom.catalogue import BOOK, ROOT

PACKAGES = ("minigrad", "attention")


class Module:
    """A file: its text, its tree, and what its names mean.

    defined     {name: line} of its functions, classes and constants
    imported    {name: (module, name or None)}; None: the name means the module
    stars       the modules of which it imports all names
    """

    def __init__(self, path, root):
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.name = ".".join(path.relative_to(root).with_suffix("").parts)
        self.is_package = path.name == "__init__.py"
        self.name = self.name.removesuffix(".__init__")
        self.defined, self.imported, self.stars = {}, {}, []
        for node in self.tree.body:
            for name in _bound(node):
                self.defined.setdefault(name, node.lineno)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                base = self._base(node)
                for alias in node.names:
                    self.imported[alias.asname or alias.name] = (base, alias.name)
                    self.stars += [base] * (alias.name == "*")
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    self.imported[alias.asname or name] = (name, None)

    def _base(self, node):
        parts = self.name.split(".")
        parts = parts if self.is_package else parts[:-1]
        above = parts[: len(parts) - node.level + 1] if node.level else []
        return ".".join([*above, *([node.module] if node.module else [])])


class Names:
    """All modules by their names; where a name leads, and who uses it."""

    def __init__(self, root=ROOT, packages=PACKAGES):
        paths = [p for each in packages for p in sorted((root / each).rglob("*.py"))]
        self.root = root
        self.modules = {m.name: m for m in (Module(path, root) for path in paths)}

    @functools.cache
    def find(self, module, name, seen=()):
        """Return the (module, name) that a name of a module means, or None.

        The second is None if the name means a module.
        """
        if name in module.defined:
            return module, name
        below = self.modules.get(f"{module.name}.{name}")
        if name not in module.imported:
            if below and module.is_package:
                return below, None
            stars = [self.modules[b] for b in module.stars if b in self.modules]
            every = (self.find(star, name, seen) for star in stars)
            return next((found for found in every if found), None)
        base, word = module.imported[name]
        target = self.modules.get(base if word is None else f"{base}.{word}")
        inner = self.modules.get(base)
        if word is not None and inner and (base, word) not in seen:
            found = self.find(inner, word, (*seen, (base, word)))
            if found:
                return found
        return (target, None) if target else None

    def words(self, module, words):
        """Return what code means: ``dot``, ``masks.causal`` or ``ops/matmul.py``."""
        if words.endswith(".py"):
            dotted = words.removesuffix(".py").replace("/", ".")
            every = self.modules.values()
            ends = [m for m in every if f".{m.name}".endswith(f".{dotted}")]
            near = [m for m in ends if m.path.parent == module.path.parent]
            found = near or ends
            return (found[0], None) if len(found) == 1 else None
        place = module
        parts = words.partition("(")[0].split(".")
        if parts[0] in self.modules:
            place, parts = self.modules[parts[0]], parts[1:]
        found = (place, None)
        for part in parts:
            if found[1] is not None or not part.isidentifier():
                return None
            found = self.find(found[0], part)
            if not found:
                return None
        return found

    @functools.cache
    def uses(self, module):
        """Return (line, column, found, top) of each name that the library defines.

        found    (module, name or None)
        top      the function or class at the top level that has the name, or ""
        """
        lines, places = module.text.splitlines(), []
        for node in module.tree.body:
            top = getattr(node, "name", "")
            for each, found in self._uses(module, node):
                column = each.col_offset
                if not lines[each.lineno - 1].isascii():  # ast counts bytes
                    line = lines[each.lineno - 1].encode()
                    column = len(line[:column].decode())
                places.append((each.lineno, column, found, top))
        return places

    def _uses(self, module, tree):
        """Yield (node, found) of the names and attributes of a tree, in their order."""
        nodes = [(tree, frozenset())]  # with the local names where it stands
        while nodes:
            node, local = nodes.pop()
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                local = local | _locals(node)
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if found := self.find(module, alias.asname or alias.name):
                        yield alias, found
            elif isinstance(node, ast.Name):
                if node.id not in local and isinstance(node.ctx, ast.Load):
                    if (found := self.find(module, node.id)) and found[1]:
                        yield node, found
            elif isinstance(node, ast.Attribute):
                if (found := self._attribute(module, node, local)) and found[1]:
                    # the last name of the chain has the link
                    last = ast.Name(node.attr)
                    last.lineno = node.end_lineno
                    last.col_offset = node.end_col_offset - len(node.attr.encode())
                    yield last, found
                    continue
            below = [*ast.iter_child_nodes(node)]
            nodes += [(child, local) for child in reversed(below)]

    def _attribute(self, module, node, local):
        """Return what a chain of names means, or None: ``masks.causal``."""
        if isinstance(node, ast.Name):
            return None if node.id in local else self.find(module, node.id)
        if isinstance(node, ast.Attribute):
            found = self._attribute(module, node.value, local)
            if found and found[1] is None:
                return self.find(found[0], node.attr)
        return None

    @functools.cached_property
    def users(self):
        """{(module, name): {(module, function): line}} of all uses outside itself."""
        found = {}
        for module in self.modules.values():
            for line, _, (home, name), top in self.uses(module):
                if name and top and (home.name, name) != (module.name, top):
                    of = found.setdefault((home.name, name), {})
                    of.setdefault((module.name, top), line)
        return found

    @functools.cached_property
    def lessons(self):
        """{(module, name): [folder]}: the lessons whose scripts use it."""
        found = {}
        for path in sorted(BOOK.glob("*/lesson.py")):
            script = Module(path, path.parent)
            for _, _, (home, name), _ in self.uses(script):
                folders = found.setdefault((home.name, name), [])
                if name and path.parent not in folders:
                    folders.append(path.parent)
        return found


def _bound(node):
    """Yield the names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            for each in ast.walk(target):
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                    yield each.id


def _locals(function):
    """Return the names that a function binds: parameters, assignments, functions."""
    names = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef) and node is not function:
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return frozenset(names)

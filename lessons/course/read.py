"""Read an exercise from its one file: the task, the answer, its marks, and the check.

    y = np.tanh(x)  #? a question       the hint for a mistake in this statement
    #! y = np.sin(x)  | sin for tanh    a mistake in the statement above, and its name
    #= y = np.sinh(x) / np.cosh(x)      another right form of it
    # ---- THE CHECK                    below it: functions (my, rng), HINTS, WHY

A learner writes the functions that have a question; what else stands above the line is
given, also ``def backward(g):`` and ``return y, backward`` in a function, and a forward
without a question.
"""

import ast
import base64
import functools
import re
import tokenize
import zlib
from dataclasses import dataclass

CHECK = "\n# ---- THE CHECK"
SEALED = '\n# ---- SEALED: python -m lessons opens it\n"""\n'
MARK = re.compile(r"\s*#([!=]) (.*)")
QUESTION = "  #? "
IMPORT = "from lessons import NotWritten"
OWN = re.compile(r"(from|import) (attention|minigrad|lessons)\b")
GIVEN = re.compile(r"return \(?.*\w, backward\)?$")


@dataclass(frozen=True)
class Edit:
    """A form of the answer that differs in one statement.

    sentence  the name of the mistake; "" for a right form
    line      the number of the statement's last line in the answer, from 0
    text      the whole edited answer
    """

    sentence: str
    line: int
    text: str


class Source:
    """The text of an exercise's file, in its parts.

    answer     the part above the check, without marks
    below      the check, with as many empty lines above it as the file has
    questions  {number of a line of the answer: its question}
    slips      the mistakes that the file names; right: other right forms (``Edit``)
    """

    def __init__(self, text, id, path=""):
        self.id, self.path, self.is_sealed = id, str(path), SEALED in text
        text = opened(text)
        above, _, below = text.partition(CHECK)
        self.below = "\n" * (above.count("\n") + 2) + below.partition("\n")[2]
        rows, self.questions, marks = [], {}, []
        for row in above.splitlines():
            if mark := MARK.fullmatch(row):
                marks.append((mark[1], mark[2], len(rows) - 1))
                continue
            row, _, question = row.partition(QUESTION)
            if question:
                self.questions[len(rows)] = question
            rows.append(row.rstrip())
        self.answer = "\n".join(rows).rstrip() + "\n"
        self.tree = ast.parse(self.answer)
        self.statements = list(_statements(self.tree))
        self.functions = functions(self.tree)
        edits = [(mark, self._edit(words, line)) for mark, words, line in marks]
        self.slips = [edit for mark, edit in edits if mark == "!"]
        self.right = [edit for mark, edit in edits if mark == "="]

    def _edit(self, words, line):
        """Return the ``Edit`` of a mark below a line: "code  | sentence"."""
        code, _, sentence = words.partition("  | ")
        rows, (first, last) = self.answer.splitlines(), self.statement(line)
        indent = re.match(" *", rows[first])[0]
        rows[first : last + 1] = [indent + code.strip()]
        return Edit(sentence.strip(), line, "\n".join(rows) + "\n")

    def statement(self, line):
        """Return the first and last line of the innermost statement of a line."""
        around = [(a, b) for a, b in self.statements if a <= line <= b]
        if not around:
            raise ValueError(f"{self.id}: no statement stands in line {line + 1}")
        return max(around)

    @functools.cached_property
    def uses(self):
        """{function of the answer: the others that it calls, also through others}."""
        return uses(self.answer)

    def affected(self, line):
        """Return the functions whose results an edit of a line may change."""
        inside = {
            name
            for name, node in self.functions.items()
            if node.lineno <= line + 1 <= node.end_lineno
        } or {*self.functions}
        return {name for name, uses in self.uses.items() if inside & {name, *uses}}

    def question(self, line):
        """Return the question of the statement to which a line belongs, or ""."""
        first, last = self.statement(line)
        found = [self.questions.get(k) for k in range(first, last + 1)]
        return next(filter(None, found), "")

    @functools.cached_property
    def to_write(self):
        """The names of the functions that a learner writes."""
        return [
            name
            for name, node in self.functions.items()
            if any(node.lineno <= k + 1 <= node.end_lineno for k in self.questions)
        ]

    @functools.cached_property
    def stub(self):
        """The answer without what a learner writes."""
        rows, cuts = self.answer.splitlines(keepends=True), []
        for name in self.to_write:
            function = self.functions[name]
            inner = [n for n in function.body if isinstance(n, ast.FunctionDef)]
            for node in (function, *inner):
                runs = list(_to_cut(node))
                if any(a <= k < b for a, b in runs for k in self.questions):
                    cuts += [(*lines, name) for lines in runs]
        for first, last, name in sorted(cuts, reverse=True):
            indent = re.match(" *", rows[first])[0]
            rows[first:last] = [f'{indent}raise NotWritten("{self.id} {name}")\n']
        return "".join(_with_import(rows) if cuts else rows)

    @functools.cached_property
    def literals(self):
        """{name: value} of the constants of the check, such as HINTS and WHY."""
        found = {}
        for node in ast.parse(self.below).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                found[node.targets[0].id] = node.value.value
        return found

    @property
    def why(self):
        """Why a right answer works, on one line."""
        return " ".join(self.literals.get("WHY", "").split())

    @functools.cached_property
    def hints(self):
        """{name of a function, or "" for the general ones: its hints, in order}."""
        found = {}
        text = re.sub(r"\n +", " ", self.literals.get("HINTS", "").strip())
        for row in text.splitlines():
            name, _, hint = row.partition("  ")
            found.setdefault("" if name.isdigit() else name, []).append(hint.strip())
        return found

    def results(self, name):
        """Return [(name, axes)] of what a function returns, as its docstring has it.

        "-> o (C, Ev), state (E, Ev)" is [("o", ["C", "Ev"]), ("state", ["E", "Ev"])].
        """
        text = ast.get_docstring(self.functions[name]) or ""
        return _named_shapes(re.split(r"\n\n|;", text.partition("->")[2])[0])

    def gradients(self, name):
        """Return [(name, axes)] of what a function's backward returns."""
        text = " ".join((ast.get_docstring(self.functions[name]) or "").split())
        found = re.search(r"backward\(g\) returns \(?(.*?)( for |[().:;]|$)", text)
        names = re.findall(r"(?:dL/)?(\w+)", found[1]) if found else []
        shapes = dict(_named_shapes(text))
        return [(n, shapes.get(re.sub("^d_?", "", n), [])) for n in names]


def _to_cut(function):
    """Yield (first line, line after the last) of the statements that are not given."""
    run = []
    for node in [*function.body[ast.get_docstring(function) is not None :], None]:
        is_code = node is not None and not isinstance(node, ast.FunctionDef)
        if is_code and not GIVEN.match(ast.unparse(node)):
            run.append(node)
        elif run:
            yield run[0].lineno - 1, run[-1].end_lineno
            run = []


def _with_import(lines):
    """Insert the import that a stub needs after the other imports, or the docstring."""
    body = ast.parse("".join(lines)).body
    imports = [n for n in body if isinstance(n, (ast.Import, ast.ImportFrom))]
    last = (imports or body)[-1 if imports else 0]
    is_own = OWN.match(lines[last.lineno - 1])
    gap = [] if is_own else ["\n"]
    return [*lines[: last.end_lineno], *gap, IMPORT + "\n", *lines[last.end_lineno :]]


@functools.cache
def _named_shapes(text):
    """Return [(name, axes)] of "q, k (n, E), v (n, Ev)" in a text."""
    found = []
    for names, axes in re.findall(r"((?:\w+, )*\w+) \(([^()]*)\)", text):
        letters = [a.strip() for a in axes.split(",") if a.strip()]
        if all(re.fullmatch(r"\w+'?", a) for a in letters):
            found += [(n, letters) for n in names.split(", ")]
    return found


def _statements(tree):
    """Yield (first line, last line) of each statement; of its head, if it has a body."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 2 if body else node.end_lineno - 1
            yield node.lineno - 1, max(last, node.lineno - 1)


def sealed(text):
    """Return the text of an exercise's file with all but the stub compressed."""
    source = Source(text, _id(text))
    packed = base64.b85encode(zlib.compress(text.encode(), 9)).decode()
    rows = [packed[k : k + 80] for k in range(0, len(packed), 80)]
    return source.stub + SEALED + "\n".join(rows) + '\n"""\n'


def opened(text):
    """Return the whole text of a file that may be sealed."""
    stub, mark, packed = text.partition(SEALED)
    if not mark:
        return text
    return zlib.decompress(base64.b85decode("".join(packed.split()[:-1]))).decode()


def _id(text):
    return re.match(r'"""(\S+)', text)[1]


# an answer


def text_of(path):
    """Return the text of an answer, in the encoding that its first lines declare."""
    with tokenize.open(path) as file:  # without a byte order mark, as well
        return file.read()


@functools.lru_cache(500)
def compiled(text, path):
    """Return the code of a text; a search for a name runs the same ones often."""
    return compile(text, path, "exec")


def functions(tree):
    """Return {name: its node} of the functions of a file."""
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def unwritten_functions(text):
    """Return the names of the functions of a file that still raise NotWritten."""
    return [
        name
        for name, function in functions(ast.parse(text)).items()
        if any(
            isinstance(node, ast.Raise) and "NotWritten" in ast.unparse(node)
            for node in _reachable(function)
        )
    ]


def uses(text):
    """Return {function of a file: the others that it calls, also through others}."""
    found = functions(ast.parse(text))
    for name, function in found.items():
        names = {getattr(node, "id", None) for node in ast.walk(function)}
        found[name] = names & found.keys() - {name}
    for via in found:  # calls through ``via``
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

"""Records of long runs, as JSON in lessons/records/, and how they are made.

Times and results of minutes of training differ between machines, so no lesson computes
them while its page is woven. An experiment writes a record once; lessons print what it
says and ``how_made``: the command, the machine, and whether the script has changed.

A record holds the fingerprint of the code that made it: a hash of its tokens, in which
comments, docstrings and line breaks within brackets do not count.
"""

import ast
import contextlib
import hashlib
import importlib.metadata
import inspect
import io
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import time
import tokenize

from lessons.stubs import NotWritten

from . import journal
from .catalogue import (
    LESSONS,
    UsageError,
    exercises,
    find,
    find_lessons,
    lesson_folders,
    lessons_of,
    number,
    work_folder,
)
from ..course import run as runner
from ..course.read import text_of
from .terminal import clock, display_path, say, without_breaks

RECORDS = LESSONS / "records"
LAYOUT = {tokenize.INDENT: ">", tokenize.DEDENT: "<", tokenize.NEWLINE: ";"}


def _text(path):
    path = pathlib.Path(path)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


# the running script as it was at its start: an edit in the meantime has not run
PATH = pathlib.Path(getattr(sys.modules.get("__main__"), "__file__", None) or "none")
SCRIPT = _text(PATH)
START = time.perf_counter()


def record(name, records=RECORDS):
    """Return the record of that name, a dictionary. Raises FileNotFoundError."""
    path = records / f"{name}.json"
    if not path.exists():
        there = ", ".join(sorted(p.stem for p in records.glob("*.json"))) or "none"
        raise FileNotFoundError(
            f"There is no record {name} in {records}; there are: {there}. "
            "python -m lessons experiment makes a record."
        )
    return _load(path)


def _load(path):
    """Return the dictionary of a record's file. Raises UsageError if it is damaged."""
    with contextlib.suppress(ValueError, RecursionError):  # no JSON, or no UTF-8
        if isinstance(found := json.loads(path.read_text(encoding="utf-8")), dict):
            return found
    raise UsageError(
        f"The record {path} is damaged: it is not an object in JSON. Restore the file, "
        "or delete it and make it again with python -m lessons experiment."
    )


def write_record(name, results, *, seeds, records=None):
    """Write ``results`` (numbers, text, lists, dicts, arrays); return the path.

    seeds     the seeds that were used
    records   the folder; without it that of the verb ``experiment``

    The entry "made" is added: command, seeds, versions, machine, fingerprint.
    """
    made = {
        "command": command_of(PATH, name_typed()),
        "seeds": list(seeds),
        **_versions(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "seconds": round(time.perf_counter() - START, 1),
        "code": fingerprint(SCRIPT),
    }
    folder = pathlib.Path(records or os.environ.get("LESSONS_RECORDS") or RECORDS)
    return _write(folder / f"{name}.json", {"made": made} | results)


def _versions():
    numpy = importlib.metadata.version("numpy")
    return {"python": platform.python_version(), "numpy": numpy}


def one_of(**experiments):
    """Run the experiment of a script that the command line names: one_of(seeds=f)."""
    experiments[name_typed()]()


def name_typed():
    """Return the name of the experiment that this process, a script, runs."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    return words[0] if words and PATH.name == "experiment.py" else "experiment"


def experiments_of(folder):
    """Return {name: code} of the experiments of a lesson."""
    text = _text(folder / "experiment.py")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "one_of":
            return {each.arg: ast.unparse(each.value) for each in node.keywords}
    return {"experiment": text} if text else {}


def command_of(script, name="experiment"):
    """Return what runs an experiment of a script, and makes its record again."""
    id = number(pathlib.Path(script).resolve().parent).lstrip("0")
    return f"python -m lessons experiment {id} {name}".removesuffix(" experiment")


def script_of(command):
    """Return the script that a command runs; Path() if there is none."""
    id = [*command.split()[4:], ""][0]
    folders = [f for f in lesson_folders() if number(f) == id.zfill(2)]
    return folders[0] / "experiment.py" if folders else pathlib.Path()


def how_made(kept):
    """Return three lines: the command of a record, its machine, and its script."""
    made = kept["made"]
    seeds = made["seeds"]
    in_a_row = len(seeds) > 3 and seeds == list(range(seeds[0], seeds[-1] + 1))
    listed = f"{seeds[0]} to {seeds[-1]}" if in_a_row else ", ".join(map(str, seeds))
    return (
        f"{made['command']}\n"
        f"seed{'s' * (len(seeds) != 1)} {listed}; Python {made['python']}, "
        f"NumPy {made['numpy']}; {made['machine']}\n"
        f"made with {which_script(made)}"
    )


def which_script(made):
    """Return in words whether the script of a record has changed."""
    same = made["code"] == fingerprint(_text(script_of(made["command"])))
    return "the script as it is now" if same else "an earlier version of the script"


def experiment(args, svg_of):
    """Run the experiment of an exercise or of a lesson: the verb ``experiment``.

    svg_of   a function that draws the result of an exercise (pages/figures.py)
    """
    try:
        exercise = find(args.id)
    except UsageError as error:
        return _lesson_experiment(args, error)
    _require_experiment(exercise)
    if args.model is not None:
        raise UsageError(f"The experiment of {exercise.id} takes no --model.")
    if args.weights is not None:
        if exercise.id != "6.7" or not os.path.isdir(args.weights):
            raise UsageError(
                "--weights DIR is a folder with a published model, for experiment 6.7."
            )
        os.environ["LESSONS_WEIGHTS"] = os.path.abspath(args.weights)
    path = exercise.work if args.impl == "work" else exercise.file
    if args.impl == "solution" and exercise.is_withheld:
        raise UsageError(f"The reference answer to {exercise.id} is withheld.")
    if not path.exists():
        raise UsageError(
            f"{exercise.id} is not started: python -m lessons start {exercise.id}, or "
            "--impl solution."
        )
    # threads and backend of a check, set before NumPy is imported
    os.environ.update(runner.environment())
    from ..course import check
    from ..course.outcome import CheckFailed

    text = exercise.answer_text if args.impl == "solution" else text_of(path)
    start, recorded = time.perf_counter(), read_record(exercise) or {}
    seed = abs(args.seed)
    try:
        my = check.load(exercise.parts, path, text, seed)
        options = {"quick": True} if args.quick else {}
        run = my.right["experiment"]
        if args.quick and "quick" not in inspect.signature(run).parameters:
            raise UsageError(f"The experiment of {exercise.id} has no --quick.")
        with clock(None if args.quick else recorded.get("seconds")):
            result = run(my, seed=seed, **options)
    except NotWritten as error:
        say(f"not written yet: {error}")
        return runner.UNWRITTEN
    except CheckFailed as failure:
        say("\n".join(failure.lines))
        return runner.FAILED
    except SyntaxError as error:
        say("\n".join(check.not_loaded(error, path).lines))
        return runner.FAILED
    if args.quick:
        target = _folder("work") / f"{exercise.stem}-quick.svg"
        say("A quick run shows what the long one does. It does not count, nor is kept.")
    else:
        seconds = round(time.perf_counter() - start, 1)
        kept = {
            "exercise": exercise.id,
            "impl": args.impl,
            "seed": seed,
            "seconds": seconds,
            "tokens": answer_hash(exercise, text),
            "versions": _versions(),
            "machine": platform.machine(),
            "result": result,
        }
        target = _write(_folder(args.impl) / f"{exercise.stem}.json", kept)
        say(f"recorded in {without_breaks(display_path(target))}, {seconds} s")
    if "picture" in my.right and (args.quick or args.impl == "work"):
        target = target.with_suffix(".svg")
        journal.write(target, svg_of(my.right["picture"], result))
        say(f"drawn in {without_breaks(display_path(target))}")
    return 0


def _require_experiment(exercise):
    """Raise UsageError, with those that have one, if an exercise has no experiment."""
    defines = re.compile(r"^def experiment\(|\bimport experiment\b", re.MULTILINE)
    having = [e.id for e in exercises() if defines.search(e.parts.below)]
    if exercise.id not in having:
        own = [number(f) for f in lessons_of(exercise) if experiments_of(f)]
        text = f" That of its lesson is python -m lessons experiment {''.join(own[:1])}."
        raise UsageError(
            f"{exercise.id} has no experiment. These exercises have one: "
            f"{', '.join(having)}.{text * bool(own)}"
        )


def _lesson_experiment(args, error):
    """Run the script that makes the record of a lesson: ``experiment 11``.

    The reader's record stands in the work folder; that of the page stays as it is. An
    author replaces it with ``--impl solution``.
    """
    try:
        found = find_lessons(args.id)
    except UsageError:
        raise error from None
    if (args.seed, args.weights) != (0, None):
        text = "The experiment of a lesson takes only --quick, --impl and --model."
        raise UsageError(text)
    script, name = _chosen(args.id, found, args.script)
    command = command_of(script, name)
    options = [name] * (name != "experiment") + ["--quick"] * args.quick
    if args.quick and "study(" not in experiments_of(script.parent)[name]:
        raise UsageError(f"{command} has no --quick: it is no study.")
    if args.model is not None:
        if '"--model"' not in _text(script):
            raise UsageError(f"{command} takes no --model.")
        from attention.published.finding import find_model

        find_model(args.model)  # raises if there is none
        options.append(f"--model={args.model}")
    say(about_run(script, name))
    target, seconds = _folder(args.impl), _recorded_seconds(command)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=target):  # an error now, not after the training
        say(without_breaks(f"The record will be in {display_path(target)}."))
    # each process computes with one thread; NumPy reads this when it is imported
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    # a group of its own: Ctrl-C arrives here, and ends all its processes
    process = subprocess.Popen(
        [sys.executable, script, *options],
        env=runner.found_here() | threads | {"LESSONS_RECORDS": str(target)},
        start_new_session=os.name == "posix",
    )
    try:
        with clock(None if args.quick else seconds):
            return int(process.wait() != 0)
    finally:
        runner.kill(process)


def _chosen(id, folders, name):
    """Return the script and the name of an experiment; raise UsageError for none."""
    there = {each: folder for folder in folders for each in experiments_of(folder)}
    wanted = name or "experiment"
    if wanted in there:
        return there[wanted] / "experiment.py", wanted
    if there:
        raise UsageError(
            f"Name one of the experiments of lesson {id}: {', '.join(there)}. Such as "
            f"experiment {id} {next(iter(there))}."
        )
    numbers = ", ".join(f.name[:2] for f in lesson_folders() if experiments_of(f))
    raise UsageError(
        f"{id} is not a lesson with an experiment. These have one: {numbers}."
    )


def about_run(script, name="experiment"):
    """Return what a script says of an experiment: the paragraph with its time."""
    text = ast.get_docstring(ast.parse(_text(script))) or ""
    text = text.partition(f"{command_of(script, name)}\n")[2] or text
    found = [p for p in text.split("\n\n") if re.search(r"\b(minute|hour)s?\b", p)]
    return " ".join(found[0].split()) if found else ""


def _recorded_seconds(command):
    """Return the seconds that a command took for its record, or None."""
    made = (_load(path).get("made", {}) for path in RECORDS.glob("*.json"))
    return next((m["seconds"] for m in made if m.get("command") == command), None)


def read_record(exercise, impl="solution"):
    """Return the record of an exercise's experiment; None if there is none."""
    path = _folder(impl) / f"{exercise.stem}.json"
    return _load(path) if path.exists() else None


def answer_hash(exercise, text):
    """Return the fingerprint of what an exercise's experiment uses of an answer.

    Other parts of the answer, such as words and plots, may change after it has run.
    """
    check = _used(ast.parse(exercise.parts.below).body, ["experiment"])
    nodes = [node for statement in check for node in ast.walk(statement)]
    names = {getattr(node, "attr", getattr(node, "value", None)) for node in nodes}
    body, rows = ast.parse(text).body, text.splitlines(keepends=True)
    used = _used(body, [name for name in names if isinstance(name, str)]) or body
    first = [min(n.lineno for n in (s, *getattr(s, "decorator_list", ()))) for s in used]
    parts = [rows[k - 1 : s.end_lineno] for k, s in zip(first, used)]
    return fingerprint("".join(sum(parts, [])))


def fingerprint(text):
    """Return the fingerprint of a program: 16 hexadecimal digits.

    Spaces do not count, and several braces as one: Python 3.12 divides an f-string into
    tokens, in which a doubled brace is a single one.
    """
    found, last = [], tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.NL):
            continue
        is_docstring = token.type == tokenize.STRING and last in LAYOUT
        if not is_docstring:
            found.append(LAYOUT.get(token.type) or token.string)
        last = token.type
    code = re.sub(r"\s+|(?<=\{)\{|(?<=\})\}", "", "".join(found))
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def _used(body, roots):
    """Return the statements that define the roots and the names they use, in order."""
    kept, names = set(), list(roots)
    while names:
        name = names.pop()
        for k, statement in enumerate(body):
            if k not in kept and name in _defined(statement):
                kept.add(k)
                names += [n.id for n in ast.walk(statement) if isinstance(n, ast.Name)]
    return [body[k] for k in sorted(kept)]


def _defined(statement):
    """Return the names that a top-level statement defines or assigns parts of."""
    if hasattr(statement, "name"):  # a function or a class
        return {statement.name}
    found = set()
    for node in ast.walk(statement):
        if isinstance(getattr(node, "ctx", None), ast.Store):
            while not isinstance(node, ast.Name) and hasattr(node, "value"):
                node = node.value  # the T of T[k] = 2
            found.add(getattr(node, "id", None))
    return found


def _folder(impl):
    return RECORDS if impl == "solution" else work_folder() / "records"


def _write(path, contents):
    """Write json whole or not at all; arrays become lists. Return the path."""
    text = json.dumps(contents, indent=1, ensure_ascii=False, default=_as_list)
    journal.write(path, (text + "\n").encode())
    return path


def _as_list(value):
    return value.tolist()  # of an array, or a number of NumPy's

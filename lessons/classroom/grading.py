"""The verb ``grade``: check the answers of a class, a folder for each student.

The folders are only read. The answers of a student are copied to a folder that is
removed afterwards, and each runs there in a process of its own, with the limits of a
check. Nothing is added to a journal.
"""

import csv
import itertools
import json
import os
import pathlib
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from . import runner
from .catalogue import UsageError, exercises, find, in_book_order
from .copies import hash_of
from .terminal import fit, paint, plain, say, width, without_breaks

FORBIDDEN = "imports-answer", "patches"  # the tags of answers that are not one's own
SIGNS = {
    "passed": "ok",
    "failed": "x",
    "not written": "..",
    "out of time": "t",
    "forbidden": "!!",
    "not handed in": "-",
}
COLOURS = {"passed": "green", "failed": "red", "forbidden": "red"}
CODES = {0: "passed", 3: "not written", 4: "out of time"}


@dataclass
class Grade:
    """The result of one answer of one student; the fields are the columns of --csv.

    result     one of SIGNS
    step       of the check that failed; diagnosis: the name of the mistake, or ""
    remark     one line for the teacher
    sha256     of the answer, as in the student's own history
    """

    student: str
    exercise: str
    result: str
    step: str = ""
    diagnosis: str = ""
    remark: str = ""
    sha256: str = ""


def grade(args):
    """Check the answers in the folders; print them, and a table of the class."""
    runner.chosen_limit()  # a wrong one is refused before anything runs
    students = find_students(args.folder)
    if args.only:
        chosen = [find(id) for id in args.only.split(",")]
    else:  # what at least one student has handed in
        handed_in = {id for answers, _ in students.values() for id in answers}
        in_order = [e for _, listed in in_book_order() for e in listed]
        chosen = [e for e in in_order if e.id in handed_in]
    pairs = list(itertools.product(students, chosen))
    progress = _progress(len(pairs))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tasks = [
            pool.submit(_grade, name, e, students[name][0], abs(args.seed), progress)
            for name, e in pairs
        ]
        try:
            grades = [task.result() for task in tasks]
        except KeyboardInterrupt:
            say("stopping; the answers that run now end first", file=sys.stderr)
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if args.csv:
        writer = csv.DictWriter(sys.stdout, Grade.__dataclass_fields__)
        writer.writeheader()
        writer.writerows(map(asdict, grades))
    elif args.json:
        print(json.dumps(list(map(asdict, grades)), ensure_ascii=False, indent=1))
    else:
        _print_students(students, grades)
        _print_table(list(students), chosen, grades)
    return 0


def find_students(folders):
    """Return {name of a student: ({id: path of the answer}, other files)}.

    A folder with answers, ex_*.py, is that of a student; otherwise each folder in it
    is. The answers may be in subfolders, as in an unpacked archive.
    """
    found = {}
    for folder in map(pathlib.Path, folders):
        if not folder.is_dir():
            raise UsageError(
                f"{folder} is not a folder; expected one for each student."
            )
        inside = sorted(f for f in folder.iterdir() if f.is_dir() and f.name[0] != ".")
        if not inside or any(folder.glob("ex_*.py")):
            inside = [folder]
        for each in inside:
            name = each.resolve().name
            if name in found:
                raise UsageError(f"There are two folders of a student {name!r}.")
            found[name] = _answers(each)
    return found


def _answers(folder):
    """Return ({id: path}, names of files that are no exercise), the uppermost first."""
    stems = {exercise.stem: exercise.id for exercise in exercises()}
    found, others = {}, []
    paths = [p.relative_to(folder) for p in folder.rglob("*.py")]
    for path in sorted(paths, key=lambda path: (len(path.parts), path)):
        if any(part[0] == "." or part == "__pycache__" for part in path.parts):
            continue
        id = stems.get(path.stem.lower())
        if id and id not in found:
            found[id] = folder / path
        else:
            others.append(str(path))
    return found, others


def _grade(student, exercise, answers, seed, progress):
    """Return the ``Grade`` of one answer."""
    path = answers.get(exercise.id)
    if path is None:
        progress(student, exercise)
        return Grade(student, exercise.id, "not handed in")
    with tempfile.TemporaryDirectory(prefix="lessons-grade-") as folder:
        copy = _copied(answers, pathlib.Path(folder))[exercise.id]
        report = runner.run(exercise, copy, seed, cwd=copy.parent)
    progress(student, exercise)
    result = CODES.get(report.code, "failed")
    step, remark = "", report.ending
    if result == "not written":
        lines = [o["lines"][0] for o in report.outcomes if o["result"] == "unwritten"]
        names = dict.fromkeys(line.split(" ")[-1] for line in lines)
        remark = ", ".join(names)
    if report.failures:
        first = report.failures[0]
        step, remark = first["step"], first["title"]
        if first["tag"] in FORBIDDEN:
            result, remark = "forbidden", "; ".join(first["lines"])
    tag = report.tag or ""
    remark = plain(remark).replace("\n", " ")
    return Grade(student, exercise.id, result, step, tag, remark, hash_of(path))


def _copied(answers, folder):
    """Copy the answers of a student, and the records beside them; return {id: path}."""
    found = {}
    for id, path in answers.items():
        found[id] = folder / path.name.lower()
        shutil.copyfile(path, found[id])
        if (path.parent / "records").is_dir():
            target = folder / "records"
            shutil.copytree(path.parent / "records", target, dirs_exist_ok=True)
    return found


def _print_students(students, grades):
    for name, (_, others) in students.items():
        own = [g for g in grades if g.student == name]
        handed_in = [g for g in own if g.result != "not handed in"]
        passed = sum(g.result == "passed" for g in own)
        say(f"{plain(name)}: {passed} of {len(own)} passed")
        for g in handed_in:
            word = paint(f"{g.result:<11}", COLOURS.get(g.result, "yellow"))
            tag = f"  [{g.diagnosis}]" if g.step else ""
            remark = f"{g.step}: {g.remark}{tag}" if g.step else g.remark
            print(f"  {g.exercise:<6} {word}  {fit(remark, width() - 22)}".rstrip())
        missing = [g.exercise for g in own if g not in handed_in]
        if missing:
            say(f"not handed in: {', '.join(missing)}", 2)
        if others:
            say(f"not checked: {plain(', '.join(others))}", 2)
        say()


def _print_table(names, chosen, grades):
    """Print a table of the class, in parts that fit the width of the terminal."""
    results = {(g.student, g.exercise): g.result for g in grades}
    total = {name: 0 for name in names}
    column = min(24, max([8, *map(len, names)]))
    most = max(1, (width() - column - 10) // 5)
    for k in range(0, len(chosen), most):
        ids = [exercise.id for exercise in chosen[k : k + most]]
        is_last = k + most >= len(chosen)
        head = "".join(f"{id:>5}" for id in ids) + "    passed" * is_last
        print(" " * column + head)
        for name in names:
            own = [results[name, id] for id in ids]
            total[name] += own.count("passed")
            cells = "".join(f"{SIGNS[result]:>5}" for result in own)
            count = f"{total[name]:>6} of {len(chosen)}" * is_last
            print(f"{fit(plain(name), column)}{cells}{count}")
        passed = [[results[n, id] for n in names].count("passed") for id in ids]
        print(fit("passed", column) + "".join(f"{n:>5}" for n in passed) + "\n")
    meanings = (f"{sign} {result}" for result, sign in SIGNS.items())
    say("   ".join(map(without_breaks, meanings)))


def _progress(total):
    """Return a function that counts on the terminal, if there is one."""
    count = itertools.count(1)

    def show(student, exercise):
        done = next(count)
        if sys.stderr.isatty():
            text = f"{done} of {total}: {plain(student)} {exercise.id}"
            end = "\n" if done == total else "\r"
            print(fit(text, width() - 1), end=end, file=sys.stderr, flush=True)

    return show

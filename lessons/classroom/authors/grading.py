"""The verb ``grade``: check the answers of a class, a folder for each student.

The folders are only read. The answers of a student are copied to a folder that is
removed afterwards, and each runs there in a process of its own, with the limits of a
check. Nothing is added to a journal.
"""

import contextlib
import csv
import itertools
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from attention.app.progress_line import watched

from ...course import run as runner
from ..catalogue import UsageError, exercises, find
from ..journal import hash_of
from ..terminal import fit, paint, plain, say, width, without_breaks

FORBIDDEN = "imports-answer", "patches"  # the tags of answers that are not one's own
SIGNS = {
    "passed": "ok",
    "failed": "x",
    "not written": "..",
    "out of time": "t",
    "forbidden": "!!",
    "unreadable": "?",
    "not handed in": "-",
}
COLOURS = {"passed": "green", "failed": "red", "forbidden": "red"}
OLD_NAME = re.compile(r"ex_.*\.py", re.IGNORECASE)
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
    students = find_students(args.folder)
    if args.only:
        chosen = [find(id) for id in args.only.split(",")]
    else:  # what at least one student has handed in
        handed_in = {e for answers, _ in students.values() for e in answers}
        chosen = [e for e in exercises() if e in handed_in]
    pairs = list(itertools.product(students, chosen))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tasks = [
            pool.submit(_grade, name, e, students[name][0], abs(args.seed))
            for name, e in pairs
        ]
        try:
            grades = [task.result() for task in watched("answers", tasks)]
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
    """Return {name of a student: ({exercise: path of the answer}, other files)}.

    A folder with answers, such as 03_6_5_bahdanau.py or ex_6_5.py, the name of before,
    is that of a student; otherwise each folder in it is. The answers may be in
    subfolders, as in an unpacked archive.
    """
    known = {name: e for e in exercises() for name in (e.file.name, f"{e.stem}.py")}
    found = {}
    for folder in map(pathlib.Path, folders):
        if not folder.is_dir():
            raise UsageError(
                f"{folder} is not a folder; expected one for each student."
            )
        names = [f for f in folder.iterdir() if f.name[0] != "."]
        answers = [
            f for f in names if f.name.lower() in known or OLD_NAME.fullmatch(f.name)
        ]
        inside = [f for f in names if _is_folder(f) and f not in answers]
        if not inside or any(not f.is_dir() for f in answers):
            inside = [folder]
        # of a folder and links to it, one is checked: the folder, if it is there
        places = {}
        for each in sorted(inside, key=lambda f: (f.is_symlink(), f)):
            places.setdefault(os.path.realpath(each), each)
        for each in sorted(places.values()):
            name = pathlib.Path(os.path.abspath(each)).name
            if name in found:
                raise UsageError(f"There are two folders of a student {name!r}.")
            found[name] = _answers(each, known)
    return found


def _is_folder(path):
    """Return whether a path is a folder, or a link that leads nowhere."""
    return path.is_dir() or (path.is_symlink() and not path.exists())


def _answers(folder, known):
    """Return ({exercise: path}, names of other files), the uppermost first.

    known is {name: exercise}. A folder or a pipe counts if there is no such file.
    """
    found, others, paths = {}, [], []
    for place, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if f[0] != "." and f != "__pycache__"]
        names = [f for f in (*folders, *files) if f[0] != "."]
        paths += [pathlib.Path(place, f) for f in names if f.lower().endswith(".py")]
    for path in sorted(paths, key=lambda p: (not p.is_file(), len(p.parts), p)):
        exercise = known.get(path.name.lower())
        if exercise and exercise not in found:
            found[exercise] = path
        elif path.is_file():
            others.append(str(path.relative_to(folder)))
    return found, others


def _grade(student, exercise, answers, seed):
    """Return the ``Grade`` of one answer."""
    path = answers.get(exercise)
    if path is None:
        return Grade(student, exercise.id, "not handed in")
    with tempfile.TemporaryDirectory(prefix="lessons-grade-") as folder:
        copy = pathlib.Path(folder) / exercise.file.name
        _copy(answers, copy.parent)
        sha = hash_of(copy)
        report = runner.run(exercise, copy, seed, cwd=folder) if sha else None
    if report is None:
        remark = plain(f"{path.name} is {_what_it_is(path)}")
        return Grade(student, exercise.id, "unreadable", remark=remark)
    result = CODES.get(report.code, "failed")
    step, remark = "", report.ending
    if result == "not written":
        names = dict.fromkeys(part.split(" ")[-1] for part in report.unwritten)
        remark = ", ".join(names)
    if report.failures:
        first = report.failures[0]
        step, _, remark = first["step"].partition(": ")
        if first["tag"] in FORBIDDEN:
            result, remark = "forbidden", "; ".join(first["lines"])
    tag = report.tag or ""
    remark = plain(remark).replace("\n", " ")
    return Grade(student, exercise.id, result, step, tag, remark, sha)


def _copy(answers, folder):
    """Copy the files of a student: answers, and the records beside them."""
    (folder / "records").mkdir()
    for exercise, path in answers.items():
        record = f"records/{exercise.stem}.json"
        pairs = (path, exercise.file.name), (path.parent / record, record)
        for file, name in pairs:
            with contextlib.suppress(OSError):  # it cannot be read
                if file.is_file():
                    shutil.copyfile(file, folder / name)


def _what_it_is(path):
    """Return in words why a path with the name of an answer is not read."""
    if path.is_dir():
        return "a folder"
    if path.is_symlink() and not path.exists():
        return "a link to nothing"
    return "a file that cannot be read" if path.is_file() else "no file"


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

"""Measure the kernels beside NumPy and torch, and against their budgets.

It writes into the folder ``--out``, and after each row, so that nothing is lost:

    bench.json    the machine, and of each row all times, memory, GFLOP/s and budgets
    bench.png     time and memory against n
"""

import json
import pathlib
import sys

from ..files import keep_earlier, make_folder, write_text
from ..progress import Progress

ROUNDS, LEAST = {True: 5, False: 11}, {True: 1, False: 3}  # by --quick
SECONDS = {True: 0.5, False: 3.0}  # of each side of a row


def add_arguments(parser):
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer rounds, smaller peers: a minute")
    add(
        "--out",
        type=pathlib.Path,
        default=pathlib.Path("runs/bench"),
        metavar="DIR",
        help="where the results go (default: runs/bench)",
    )
    add("--rows", default=None, metavar="A,B", help="which rows (default: all)")
    add("--no-torch", action="store_true", help="leave torch out")


def run(args):
    """Measure; return the exit code."""
    from ..benchmark.rows import ROWS

    known = [*ROWS, "sweep"]
    names = known if args.rows is None else [x for x in args.rows.split(",") if x]
    wrong = [name for name in names if name not in known]
    try:
        if wrong or not names:
            raise ValueError(
                f"there is no row {', '.join(wrong) or 'in --rows'}; choose from "
                f"{', '.join(known)}."
            )
        make_folder(args.out)
        keep_earlier(args.out, ["bench.json", "bench.png"])
    except (OSError, ValueError) as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 2
    status = Status(len(set(names)))
    try:
        return _run(args, [name for name in known if name in names], status)
    except BrokenPipeError:
        raise  # attention/__main__.py ends the program
    except OSError as problem:
        status.close()
        print(f"bench: {problem}", file=sys.stderr)
        return 1


def _run(args, names, status):
    from ... import kernels
    from ..benchmark import report

    peer, version = (None, None) if args.no_torch else torch_of(kernels.threads())
    bench = {
        "quick": args.quick,
        "finished": False,
        "machine": report.machine(kernels.threads(), version),
        "matmul_gflops": 0.0,
        "rows": {},
    }
    path = args.out / "bench.json"
    try:
        for name in names:
            status.begin(name)
            # the best of all: on a busy machine it takes a few attempts
            peak = max(bench["matmul_gflops"], report.matmul_peak())
            bench["matmul_gflops"] = peak
            one(bench, name, args.quick, peer, status.show)
            write_text(path, json.dumps(bench, indent=1))
        bench["finished"] = True
        write_text(path, json.dumps(bench, indent=1))
        stopped = False
    except KeyboardInterrupt:
        stopped = True
    status.close()
    if stopped and not path.exists():
        print("stopped before anything was measured.")
        return 130
    print(report.table(bench))
    if "sweep" in bench:
        from ..benchmark import sweep

        sweep.figure(bench["sweep"], args.out / "bench.png")
    written = "bench.json, bench.png" if "sweep" in bench else "bench.json"
    print(f"\n{written}: in {args.out}")
    return 130 if stopped else 0


def one(bench, name, quick, peer, say):
    """Measure one row, and enter it."""
    if name == "sweep":
        from ..benchmark import sweep

        bench["sweep"] = sweep.sweep(quick, say)
        return
    from ..benchmark.budgets import judged
    from ..benchmark.rows import ROWS
    from ..benchmark.timing import measure, reason

    title, make = ROWS[name]
    record = {"title": title}
    try:
        case = make(quick, peer)
        sides = measure(case, ROUNDS[quick], SECONDS[quick], LEAST[quick], say=say)
        record |= {"shape": case.shape, "facts": case.facts, "sides": sides}
        record["budgets"] = judged(name, record)
    except Exception as problem:
        record["error"] = f"{type(problem).__name__}: {reason(problem)}"
    bench["rows"][name] = record


def torch_of(threads):
    """The module of torch's sides and torch's version; None twice without torch."""
    from ..benchmark import peer
    from ..benchmark.timing import Missing

    try:
        peer.load(threads)
    except Missing as problem:
        print(f"bench: {problem}: measuring our sides alone.", file=sys.stderr)
        return None, None
    return peer, peer.version()


class Status(Progress):
    """Which row and which side is being measured: one line, drawn again in place."""

    def __init__(self, rows, stream=None):
        super().__init__("bench", rows, stream=stream)
        self.row, self.name = 0, ""

    def begin(self, name):
        self.row, self.name = self.row + 1, name
        if not self.live:
            print(f"{self.row}/{self.total} {name}", file=self.stream, flush=True)

    def show(self, text):
        if self.live:
            self.drawn = 0.0  # there is a line to clear
            line = f"{self.row}/{self.total} {self.name}: {text}"[: self.width()]
            self.stream.write("\r" + line.ljust(self.width()))
            self.stream.flush()

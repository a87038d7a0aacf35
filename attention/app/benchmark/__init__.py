"""How fast the kernels are: beside their NumPy twins, and beside torch if there is one.

    rows.py       what is measured
    sides.py      our sides of it
    peer.py       the sides of torch, the only file of this package that knows of it
    programs.py   what is no call of one function: imports, threads, growth
    timing.py     warm, compared, interleaved; medians, memory
    budgets.py    what each row must reach
    sweep.py      time and memory against n, for the figure
    report.py     the table, the file, the figure

``python -m attention bench`` runs it (commands/bench.py).
"""

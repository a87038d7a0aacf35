"""``python -m lessons VERB``, and ``python path/to/lessons VERB`` from anywhere."""

import pathlib
import sys

if __name__ == "__main__":
    if not __package__:  # run as a folder: its parent is where the packages are
        sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)
    from lessons.classroom.cli import main

    sys.exit(main())

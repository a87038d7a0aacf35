"""Run the course: ``python -m lessons VERB``, or ``python path/to/lessons VERB``."""

import pathlib
import sys

if __name__ == "__main__":
    if not __package__:  # run as a folder: the packages are beside it
        sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)
    from lessons.cli import main

    sys.exit(main())

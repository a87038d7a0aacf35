"""Write a file whole or not at all, make its folder, and find a name that is free."""

from minigrad.files import write_whole


def write_text(path, text):
    """Write ``text`` to ``path`` whole or not at all."""
    write_whole(path, lambda file: file.write(text.encode()))


def free_path(path):
    """Return ``path``, or if it exists the next free name: cat.png, cat-2.png, …"""
    ending = "" if path.is_dir() else path.suffix
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name.removesuffix(ending)}-{number}{ending}")
    return free


def make_folder(option, path, folder):
    """Make the folder of ``path``, the value of an option; ValueError if it cannot."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"{option} is {path}, which cannot be made: {error.strerror}. Choose another "
            f"place with {option}."
        ) from None

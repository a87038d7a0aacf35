"""The picture of a graph as a file: whole or as it was, in the format of its name."""

import io
import os
import stat

import numpy as np
import pytest

from minigrad import draw
from minigrad.files import write_whole
from minigrad.tensor import Tensor

BEGINS = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


def product():
    return Tensor(3.0, requires_grad=True) * 2.0


@pytest.mark.parametrize("suffix", BEGINS)
def test_the_suffix_decides_the_format(suffix, tmp_path):
    for path in (tmp_path / f"a{suffix}", str(tmp_path / f"b{suffix}")):
        draw.graph(product(), path)
    names = [f"a{suffix}", f"b{suffix}"]
    assert sorted(os.listdir(tmp_path)) == names
    for name in names:
        assert (tmp_path / name).read_bytes().startswith(BEGINS[suffix])


def test_without_a_suffix_it_is_a_png(tmp_path):
    draw.graph(product(), tmp_path / "loss")
    assert os.listdir(tmp_path) == ["loss.png"]
    assert (tmp_path / "loss.png").read_bytes().startswith(BEGINS[".png"])


def test_to_an_open_file():
    file = io.BytesIO()
    draw.graph(product(), file)
    assert file.getvalue().startswith(BEGINS[".png"])


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt()]
)
@pytest.mark.parametrize("moment", ["savefig", "fsync", "replace"])
def test_what_goes_wrong_leaves_the_old_picture(moment, error, tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    path = tmp_path / "loss.png"
    draw.graph(product(), path)
    before = path.read_bytes()

    def fail(*arguments, **_):
        if moment == "savefig":
            arguments[1].write(b"half")
        raise error

    monkeypatch.setattr(Figure if moment == "savefig" else os, moment, fail)
    with pytest.raises(type(error)) as caught:
        draw.graph(product() + 1.0, path)
    monkeypatch.undo()
    if error.args:
        assert "The picture was not saved: No space left" in str(caught.value)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["loss.png"]


def test_at_no_moment_is_there_half_a_picture(tmp_path, monkeypatch):
    """While it is written, the name still has the old one."""
    from matplotlib.figure import Figure

    path, seen, savefig = tmp_path / "loss.png", [], Figure.savefig

    def spy(figure, file, **options):
        savefig(figure, file, **options)
        seen.append((path.read_bytes(), os.listdir(tmp_path)))

    draw.graph(product(), path)
    before = path.read_bytes()
    monkeypatch.setattr(Figure, "savefig", spy)
    draw.graph(product() + 1.0, path)
    ((during, names),) = seen
    assert during == before != path.read_bytes()
    assert len(names) == 2 and any(n.startswith(".picture-") for n in names)


def test_a_folder_that_is_not_there_and_a_format_that_is_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="picture was not saved: No such file"):
        draw.graph(product(), tmp_path / "nowhere" / "loss.png")
    with pytest.raises(ValueError, match="'xyz' is not supported"):
        draw.graph(product(), tmp_path / "loss.xyz")
    assert os.listdir(tmp_path) == []


def test_a_link_is_written_through_and_the_umask_counts(tmp_path):
    target, link = tmp_path / "target.png", tmp_path / "link.png"
    target.write_bytes(b"old")
    target.chmod(0o604)
    link.symlink_to(target)
    before = os.umask(0o027)
    try:
        draw.graph(product(), link)
        draw.graph(product(), tmp_path / "new.png")
    finally:
        os.umask(before)
    assert link.is_symlink() and target.read_bytes().startswith(BEGINS[".png"])
    assert stat.S_IMODE(target.stat().st_mode) == 0o604  # as it was
    assert stat.S_IMODE((tmp_path / "new.png").stat().st_mode) == 0o640


def test_any_file_can_be_written_so(tmp_path):
    path = tmp_path / "x.bin"
    write_whole(path, lambda file: file.write(np.arange(3, dtype=np.uint8).tobytes()))
    assert path.read_bytes() == b"\x00\x01\x02"
    with pytest.raises(OSError, match="The file was not saved: .*x.bin"):
        write_whole(path / "y", lambda file: None)

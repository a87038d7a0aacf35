"""Files that are whole or not there; what stays where it is in a user's folder."""

import os
import stat

import pytest

from attention.app.files import free_path, write_text
from attention.app.run_folder import last_folder, new_folder
from attention.plotting import figure as figures
from minigrad.files import write_whole


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path):
    write_text(tmp_path / "a.txt", "é")
    write_text(tmp_path / "a.txt", "ü")
    assert (tmp_path / "a.txt").read_bytes() == "ü".encode()
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_figure_has_the_name_and_the_kind_that_were_asked_for(tmp_path):
    figure = figures.new_figure((1, 1))
    for name, begins in ("a.svg", b"<?xml"), ("b.pdf", b"%PDF"), ("c", b"\x89PNG"):
        figures.save(figure, str(tmp_path / name))
        found = tmp_path / (name if "." in name else f"{name}.png")
        assert found.read_bytes().startswith(begins)
    with open(tmp_path / "d", "wb") as file:
        figures.save(figure, file)
    assert (tmp_path / "d").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(FileNotFoundError, match="none/a.png"):
        figures.save(figure, tmp_path / "none" / "a.png")


def test_an_ending_that_is_no_picture(tmp_path):
    for name in "a.xyz", "a":
        with pytest.raises(ValueError, match=r"--figure is .*; expected .*\.png"):
            figures.check_ending("--figure", tmp_path / name)
    figures.check_ending("--figure", tmp_path / "a.PNG")


@pytest.mark.parametrize("name", ["state", "last.npz", "results.json", "loss-a.png"])
def test_a_new_run_leaves_the_files_of_an_earlier_one_alone(name, tmp_path, capsys):
    folder, figures = tmp_path / "v1.5", ("loss-*.png",)
    assert new_folder(folder, figures) == folder  # it is made
    (folder / "holiday.png").write_text("the user's")
    assert new_folder(folder, figures) == folder and not capsys.readouterr().out
    (folder / name).write_text("of a run")
    (tmp_path / "v1.5-2").mkdir()
    found = new_folder(folder, figures)
    assert found == tmp_path / "v1.5-3" and found.is_dir()
    assert str(found) in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {"holiday.png", name}


@pytest.mark.parametrize("name", ["state", "last.npz"])
def test_the_last_run_is_the_one_that_was_saved_last(name, tmp_path):
    folder = tmp_path / "a+b"
    assert last_folder(folder) == folder
    for seconds, run in enumerate(["a+b-2", "a+b-10", "a+b", "a+b-c", "a+b-4-2"]):
        (tmp_path / run).mkdir()
        (tmp_path / run / name).write_text("")
        os.utime(tmp_path / run / name, (seconds, seconds))
    (tmp_path / "a+b-11").mkdir()
    assert last_folder(folder) == folder
    os.utime(tmp_path / "a+b-10" / name)
    assert last_folder(folder) == tmp_path / "a+b-10"


def test_a_free_path_has_its_number_before_the_ending_of_a_file(tmp_path):
    assert free_path(tmp_path / "cat.png") == tmp_path / "cat.png"
    for name in "cat.png", "cat-2.png":
        (tmp_path / name).write_text("")
    (tmp_path / "v1.5").mkdir()
    assert free_path(tmp_path / "cat.png") == tmp_path / "cat-3.png"
    assert free_path(tmp_path / "v1.5") == tmp_path / "v1.5-2"


def never(file):
    raise AssertionError("nothing is to be written")


def test_what_is_no_file_is_left_alone(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("pipe")
    for name, said in ("pipe", "no reg"), ("folder", "a folder"), ("link", "no reg"):
        with pytest.raises(OSError, match=f"picture was not saved: .*{said}") as caught:
            write_whole(tmp_path / name, never, "picture")
        real = os.path.realpath(tmp_path / name)
        assert caught.value.filename == real and os.path.exists(real)
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    assert sorted(os.listdir(tmp_path)) == ["folder", "link", "pipe"]


@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o444])
def test_a_file_keeps_its_permissions(permissions, tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    usual = stat.S_IMODE(path.stat().st_mode)
    path.chmod(permissions)

    def write(file):
        (temporary,) = tmp_path.glob(".file-*.tmp")  # nor is it open to others now
        assert stat.S_IMODE(temporary.stat().st_mode) == permissions
        file.write(b"new")

    write_whole(path, write)
    assert stat.S_IMODE(path.stat().st_mode) == permissions
    assert path.read_bytes() == b"new"
    write_text(tmp_path / "b.txt", "new")
    assert stat.S_IMODE((tmp_path / "b.txt").stat().st_mode) == usual


def test_a_folder_that_cannot_be_read_has_the_file_all_the_same(tmp_path, monkeypatch):
    good = os.open

    def refused(path, flags, *rest, **more):
        if os.fspath(path) == os.path.realpath(tmp_path):
            raise PermissionError(13, "Permission denied")
        return good(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refused)  # to root, no folder is closed
    write_text(tmp_path / "a.txt", "new")
    assert os.listdir(tmp_path) == ["a.txt"]

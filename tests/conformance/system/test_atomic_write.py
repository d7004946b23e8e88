"""Files are replaced as a whole, and errors of the file system are errors of the suite."""

import os

import pytest

from conformance import ConformanceError
from conformance.system.atomic_write import make_folder, remove_file, write_atomically, write_in_folder


def test_file_and_its_folders_are_created(tmp_path):
    write_in_folder(tmp_path / "a" / "b", "text")
    assert (tmp_path / "a" / "b").read_text("utf-8") == "text"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


def test_link_remains_and_its_target_is_replaced(tmp_path):
    (tmp_path / "target").write_text("old", "utf-8")
    (tmp_path / "link").symlink_to("target")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_pipe_is_written_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_characters_that_utf_8_lacks_are_replaced(tmp_path):
    write_atomically(tmp_path / "file", "a\ud800b")
    assert (tmp_path / "file").read_bytes() == b"a?b"


def test_error_names_the_file(tmp_path):
    (tmp_path / "file").write_text("", "utf-8")
    for call in (lambda path: write_in_folder(path, ""), make_folder, remove_file):
        with pytest.raises(ConformanceError, match=r"file/below: (Not a directory|File exists)$"):
            call(tmp_path / "file" / "below")


def test_removing_a_missing_file_is_no_error(tmp_path):
    remove_file(tmp_path / "missing")

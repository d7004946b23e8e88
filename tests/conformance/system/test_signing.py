"""Signatures with the key of the user: the key is made once, and never read from a file that others can read."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.system import signing
from conformance.system.signing import KEY_BYTES, signature, user_key

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of the key, which does not exist yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    user_key.cache_clear()
    yield tmp_path / "nn-conformance"
    user_key.cache_clear()


def new_process_key():
    """Return the key as a new process would read it."""
    user_key.cache_clear()
    return user_key()


@pytest.mark.usefixtures("folder")
def test_signature_depends_on_content_and_label():
    one = signature(b"content", "label")
    assert one == signature(memoryview(b"content"), "label")
    assert len({one, signature(b"Content", "label"), signature(b"content", "Label"), signature(b"", "label")}) == 4


def test_key_is_created_once_for_this_user_alone(folder):
    key = user_key()
    assert len(key) == KEY_BYTES
    assert new_process_key() == key
    assert [path.name for path in folder.iterdir()] == [signing.KEY_FILE]
    assert stat.S_IMODE((folder / signing.KEY_FILE).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o604])
def test_key_that_others_can_access_is_not_used(folder, mode):
    key = user_key()
    (folder / signing.KEY_FILE).chmod(mode)
    assert new_process_key() not in (key, new_process_key())


def test_key_behind_a_link_is_not_used(folder, tmp_path):
    key = user_key()
    (folder / signing.KEY_FILE).rename(tmp_path / "moved")
    (folder / signing.KEY_FILE).symlink_to(tmp_path / "moved")
    assert new_process_key() != key


def test_short_key_is_not_used(folder):
    user_key()
    (folder / signing.KEY_FILE).write_bytes(b"short")
    assert len(new_process_key()) == KEY_BYTES


def test_without_a_writable_folder_the_key_is_valid_for_the_process(folder):
    folder.write_text("a file")
    key = user_key()
    assert user_key() == key
    assert new_process_key() != key


def test_processes_that_start_together_use_one_key(folder):
    script = "from conformance.system.signing import user_key; print(user_key().hex())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(4)]
    assert len({process.communicate()[0] for process in started}) == 1
    assert [path.name for path in folder.iterdir()] == [signing.KEY_FILE]


@pytest.mark.parametrize(
    "error", [OSError(36, "File name too long"), RuntimeError("Could not determine home directory.")]
)
def test_folder_that_cannot_be_named_gives_a_key_of_the_process(monkeypatch, error):
    def fail():
        raise error

    monkeypatch.setattr(signing, "key_folder", fail)
    assert len(new_process_key()) == KEY_BYTES
    user_key.cache_clear()


def test_path_above_the_limit_of_the_system_gives_a_key_of_the_process(monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "/" + "x" * 5000)
    assert len(new_process_key()) == KEY_BYTES
    user_key.cache_clear()

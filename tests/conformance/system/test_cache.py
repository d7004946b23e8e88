"""The on-disk caches: content decides about hits, damaged files are misses, and old files are removed."""

import contextlib
import os
import pickle
import sqlite3
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from conformance.catalogue import loading
from conformance.execution.expectation_cache import SOURCE_FILES
from conformance.system import cache, signing
from conformance.system.cache import Cache
from conformance.system.signing import SIGNATURE_BYTES
from tests.support.nightly import only_nightly

ROOT = Path(__file__).parents[3]

CASES = """\
operator: max_pool
source: a test
cases:
  - {{id: {}, x: {{values: arange, shape: [1, 1, 4]}}, window: [2]}}
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return the folder of a catalogue of one case; caches are in a temporary folder."""
    monkeypatch.setattr(cache, "cache_folder", lambda name: tmp_path / "caches" / name)
    family = tmp_path / "cases" / "pooling"
    family.mkdir(parents=True)
    (family / "max_pool.yaml").write_text(CASES.format("a"), "utf-8")
    return tmp_path / "cases"


def load(home):
    return loading.load_catalogue([home])


def cached(home, load_uncached):
    return cache.cached_catalogue(home, load_uncached, loading.CACHED_CLASSES)


def test_catalogue_is_loaded_once(home):
    calls = []

    def read():
        calls.append(1)
        return load(home)

    first, second = (
        cache.cached_catalogue(home, read, loading.CACHED_CLASSES),
        cache.cached_catalogue(home, read, loading.CACHED_CLASSES),
    )
    assert len(calls) == 1
    assert second.digest == first.digest
    assert [case.canonical_text() for case in second.cases] == [case.canonical_text() for case in first.cases]
    assert [case.location for case in second.cases] == [case.location for case in first.cases]


def test_changed_file_is_read_again(home):
    cached(home, partial(load, home))
    (home / "pooling" / "max_pool.yaml").write_text(CASES.format("b"), "utf-8")
    assert [case.id for case in cached(home, partial(load, home)).cases] == ["max_pool/b"]


@pytest.mark.parametrize("damage", [b"", b"x" * 40, "truncated", "changed"])
def test_damaged_file_is_written_again(home, tmp_path, damage):
    calls = []
    cached(home, partial(load, home))
    (path,) = (tmp_path / "caches" / "conformance-catalogue").iterdir()
    content = path.read_bytes()
    damages = {"truncated": content[:-4096], "changed": content.replace(b"max_pool", b"min_pool")}
    path.write_bytes(damages.get(damage, damage))
    for _ in range(2):
        found = cached(home, lambda: calls.append(1) or load(home))
        assert [case.id for case in found.cases] == ["max_pool/a"]
    assert len(calls) == 1


def stored(path, key="key"):
    with Cache(path, 1) as values:
        found = values.get(key)
    return None if found is None else bytes(found)


def store(path, value, key="key", max_files=1):
    with Cache(path, max_files) as values:
        values.put(key, value)


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT 'a', n FROM r WHERE n < 0"
FOREIGN = {
    "view": f"CREATE VIEW entries(key, value) AS {ENDLESS}",
    "trigger": f"CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB); "
    f"CREATE TRIGGER t BEFORE INSERT ON entries BEGIN {ENDLESS}; END",
    "table": "CREATE TABLE entries (key TEXT, value BLOB)",
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN.keys())
def test_database_that_is_not_a_cache_is_replaced(tmp_path, text):
    path = tmp_path / "cache" / "a.sqlite"
    path.parent.mkdir(mode=0o700)
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.executescript(text)
    with Cache(path, 2) as entries:
        assert entries.get("a") is None
        entries.put("a", b"1")
    with Cache(path, 2) as entries:
        assert entries.get("a") == b"1"


def test_unwritable_folder_is_ignored(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("", "utf-8")
    store(blocked / "folder" / "values.sqlite", b"1")
    assert stored(blocked / "folder" / "values.sqlite") is None
    assert blocked.read_text("utf-8") == ""


def test_read_only_file_is_read_and_not_written(tmp_path, monkeypatch):
    path = tmp_path / "values.sqlite"
    store(path, b"1")
    connect = sqlite3.connect

    def read_only(_path, **_options):
        return connect(f"{path.as_uri()}?mode=ro", uri=True)

    monkeypatch.setattr(cache.sqlite3, "connect", read_only)
    store(path, b"2")
    assert stored(path) == b"1"


def test_full_disk_loses_new_values_only(tmp_path, monkeypatch):
    path = tmp_path / "values.sqlite"
    store(path, b"1")
    connect = sqlite3.connect

    def full(*arguments, **options):
        connection = connect(*arguments, **options)
        if "uri" not in options:
            connection.execute(f"PRAGMA max_page_count = {path.stat().st_size // 4096}")
        return connection

    monkeypatch.setattr(cache.sqlite3, "connect", full)
    store(path, b"2" * 100_000)
    store(path, b"3" * 100_000, key="other")
    assert stored(path) == b"1"
    assert stored(path, "other") is None


def test_locked_file_is_read_and_not_written(tmp_path, monkeypatch):
    path = tmp_path / "values.sqlite"
    store(path, b"1")
    other = sqlite3.connect(path)
    other.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(cache.sqlite3, "connect", partial(sqlite3.connect, timeout=0))
    assert stored(path) == b"1"
    store(path, b"2")
    other.close()
    assert stored(path) == b"1"


def test_values_written_after_the_first_read_are_read(tmp_path):
    path = tmp_path / "values.sqlite"
    store(path, b"1")
    with Cache(path, 1) as values:
        assert values.get("key") == b"1"
        for number in range(300):
            values.put(f"other-{number}", bytes(4000))
        values.save()
        assert all(values.get(f"other-{number}") == bytes(4000) for number in range(300))


def test_a_file_that_another_process_changes_is_read_or_missed(tmp_path):
    path = tmp_path / "values.sqlite"
    store(path, b"1")
    with Cache(path, 1) as values, Cache(path, 1) as other:
        assert values.get("key") == b"1"
        for number in range(300):
            other.put(f"other-{number}", bytes([number % 251]) * 4000)
            other.save()
            assert values.get(f"other-{number}") in (None, bytes([number % 251]) * 4000)
        assert values.get("key") in (None, b"1")


def test_processes_write_into_one_file(tmp_path):
    script = (
        "import sys, pathlib; from conformance.system.cache import Cache; cache = Cache(pathlib.Path(sys.argv[1]), 1)"
    )
    script += "\nfor n in range(20):\n    with cache: cache.put(f'{sys.argv[2]}-{n}', b'1')"
    path = tmp_path / "values.sqlite"
    processes = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in "ab"]
    assert [process.wait() for process in processes] == [0, 0]
    assert all(stored(path, f"{name}-{number}") == b"1" for name in "ab" for number in range(20))


def test_interrupted_write_is_undone(tmp_path):
    path = tmp_path / "values.sqlite"
    store(path, b"1")
    script = (
        "import os, sqlite3, sys; file = sqlite3.connect(sys.argv[1]); file.execute('PRAGMA cache_size = 1')\n"
        "file.execute('UPDATE entries SET value = randomblob(4000000)'); os._exit(1)"
    )
    assert subprocess.call([sys.executable, "-c", script, str(path)]) == 1
    store(path, b"2", key="other")
    assert (stored(path), stored(path, "other")) == (b"1", b"2")


def test_full_file_gets_no_more_values(tmp_path, monkeypatch):
    path = tmp_path / "values.sqlite"
    store(path, b"1")
    monkeypatch.setattr(cache, "MAX_CACHE_FILE_BYTES", path.stat().st_size - 1)
    store(path, b"2")
    store(path, b"2", key="other")
    assert (stored(path), stored(path, "other")) == (b"1", None)


def test_full_batch_is_written_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "WRITE_BATCH_BYTES", 0)
    values = Cache(tmp_path / "values.sqlite", 1)
    values.put("key", b"1")
    assert stored(values.path) == b"1"


def test_values_are_available_before_they_are_written(tmp_path):
    with Cache(tmp_path / "values.sqlite", 1) as values:
        values.put("key", b"1")
        values.put_object("object", [1], ())
        assert bytes(values.get("key")) == b"1"
        assert values.get_object("object", ()) == [1]
        assert not values.path.exists()


def test_value_that_is_not_an_object_is_missing(tmp_path):
    store(tmp_path / "values.sqlite", b"no object")
    with Cache(tmp_path / "values.sqlite", 1) as values:
        assert values.get_object("key", ()) is None


def changed_value(path, change):
    """Change the stored bytes of the only value."""
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        (value,) = file.execute("SELECT value FROM entries").fetchone()
        file.execute("UPDATE entries SET value = ?", (change(value),))


@pytest.mark.parametrize("length", [0, 3, 20, -1])
def test_truncated_value_is_missing(tmp_path, length):
    path = tmp_path / "values.sqlite"
    store(path, b"a value of some length")
    changed_value(path, lambda value: value[:length])
    assert stored(path) is None


def test_value_that_another_user_has_signed_is_missing(tmp_path, monkeypatch):
    path = tmp_path / "values.sqlite"
    with monkeypatch.context() as other:
        other.setattr(signing, "user_key", lambda: b"another key")
        store(path, b"1")
        assert stored(path) == b"1"
    assert stored(path) is None


def test_value_is_valid_only_for_its_key_and_its_file(tmp_path):
    first, second = tmp_path / "first.sqlite", tmp_path / "second.sqlite"
    store(first, b"1", max_files=2)
    store(second, b"2", max_files=2)
    for path, key in ((first, "other"), (second, "key")):
        with contextlib.closing(sqlite3.connect(first)) as file:
            (value,) = file.execute("SELECT value FROM entries").fetchone()
        with contextlib.closing(sqlite3.connect(path)) as file, file:
            file.execute("INSERT OR REPLACE INTO entries VALUES (?, ?)", (key, value))
        assert stored(path, key) is None


def test_folder_is_created_for_this_user_alone(tmp_path):
    store(tmp_path / "folder" / "values.sqlite", b"1")
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_folder_that_others_can_write_is_not_used(tmp_path, capsys, mode):
    path = tmp_path / "folder" / "values.sqlite"
    store(path, b"1")
    path.parent.chmod(mode)
    assert stored(path) is None
    store(path, b"2", key="other")
    path.parent.chmod(0o755)
    assert (stored(path), stored(path, "other")) == (b"1", None)
    message = f"conformance: the cache {path.parent} is not used: another user owns it or can write into it\n"
    assert capsys.readouterr().err == message


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_folder_of_another_user_is_not_used(tmp_path):
    path = tmp_path / "folder" / "values.sqlite"
    store(path, b"1")
    os.chown(path.parent, 12345, -1)
    assert stored(path) is None


@pytest.mark.parametrize("linked", ["folder", "file"])
def test_links_are_not_followed(tmp_path, linked):
    target, path = tmp_path / "target" / "values.sqlite", tmp_path / "folder" / "values.sqlite"
    store(target, b"1")
    if linked == "folder":
        path.parent.symlink_to(target.parent)
    else:
        path.parent.mkdir(mode=0o700)
        path.symlink_to(target)
    content = target.read_bytes()
    assert stored(path) is None
    store(path, b"2")
    assert target.read_bytes() == content


@only_nightly
def test_replaced_files_run_no_code(tmp_path):
    """Start the command with caches whose values are pickles that write a file, and with changed programs."""
    home, note = tmp_path / "home", tmp_path / "note"
    environment = {**os.environ, "XDG_CACHE_HOME": str(home), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    script = f"""
from conformance.system import cache
cache.cache_folder = lambda name: cache.Path({str(home)!r}) / name
from conformance.cli import main
main(["run", "--backend", "numpy", "--case", "max_pool/book-*", "--quiet", "--out", {str(tmp_path / "out")!r}])
"""
    command = [sys.executable, "-c", script]
    first = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
    files = sorted(home.rglob("*.sqlite"))
    assert {path.parent.name for path in files} >= {"conformance-catalogue", "conformance-expected"}
    attack = pickle.dumps(_Attack(note))
    pickle.loads(attack)  # noqa: S301 - shows that the attack works where a pickle is read
    note.unlink()
    for path in files:
        with contextlib.closing(sqlite3.connect(path)) as file, file:
            for row, value in file.execute("SELECT rowid, value FROM entries").fetchall():
                changed = value[:SIGNATURE_BYTES] + attack if row % 2 else value.replace(b"np.max", b"1 / 0;")
                file.execute("UPDATE entries SET value = ? WHERE rowid = ?", (changed, row))
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert again.stdout == first.stdout
    assert not note.exists()


class _Attack:
    def __init__(self, note):
        self.note = note

    def __reduce__(self):
        return Path.write_text, (self.note, "code ran")


def test_only_the_newest_files_remain(tmp_path):
    journal = tmp_path / "other.sqlite-journal"
    journal.touch()
    os.utime(journal, (0, 0))
    for number in range(4):
        store(tmp_path / f"{number}.sqlite", b"1", max_files=2)
        os.utime(tmp_path / f"{number}.sqlite", (number, number))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.sqlite", "3.sqlite", journal.name]


def copy_of_sources(root, sources):
    """Write one Python file for each source, and return the files by source."""
    files = {}
    for name in sources:
        path = root / name if name.endswith(".py") else root / name / "folder" / "module.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n", "utf-8")
        files[name] = path
    return files


def test_source_digest_depends_on_the_source_and_on_numpy(tmp_path, monkeypatch):
    files = copy_of_sources(tmp_path, ("conformance", "reference"))
    monkeypatch.setattr(cache, "SOURCE_ROOT", tmp_path)
    digest = cache.source_digest.__wrapped__
    before = digest()
    assert digest() == before
    files["reference"].write_text("x = 2\n", "utf-8")
    changed = digest()
    assert changed != before
    monkeypatch.setattr(cache.np, "__version__", "1.99")
    assert digest() not in {before, changed}


def test_sources_of_expectations_exist():
    assert all(any((cache.SOURCE_ROOT / name).rglob("*.py")) or name.endswith(".py") for name in SOURCE_FILES)
    assert all((cache.SOURCE_ROOT / name).exists() for name in SOURCE_FILES)


@pytest.mark.parametrize("changed", SOURCE_FILES)
def test_changed_file_in_any_source_of_expectations_changes_the_digest(tmp_path, monkeypatch, changed):
    files = copy_of_sources(tmp_path, SOURCE_FILES)
    monkeypatch.setattr(cache, "SOURCE_ROOT", tmp_path)
    digest = cache.source_digest.__wrapped__
    before = digest(SOURCE_FILES)
    files[changed].write_text("x = 2\n", "utf-8")
    assert digest(SOURCE_FILES) != before


def test_cache_folder_is_in_build_of_a_checkout_or_in_the_users_cache_directory(tmp_path, monkeypatch):
    assert cache.cache_folder("conformance-check") == cache.SOURCE_ROOT / "build" / "conformance-check"
    monkeypatch.setattr(cache, "SOURCE_ROOT", tmp_path)
    monkeypatch.setattr(cache.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert cache.cache_folder("conformance-check") == tmp_path / "mine" / "nn-conformance" / "conformance-check"

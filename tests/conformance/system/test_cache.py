"""The on-disk caches: content decides about hits, damaged files are misses, and old files are removed."""

from functools import partial

import pytest

from conformance.catalogue import loading
from conformance.execution.expectation_cache import SOURCE_FILES
from conformance.system import cache

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


def test_catalogue_is_loaded_once(home):
    calls = []

    def read():
        calls.append(1)
        return load(home)

    first, second = cache.cached_catalogue(home, read), cache.cached_catalogue(home, read)
    assert len(calls) == 1
    assert second.digest == first.digest
    assert [case.canonical_text() for case in second.cases] == [case.canonical_text() for case in first.cases]
    assert [case.location for case in second.cases] == [case.location for case in first.cases]


def test_changed_file_is_read_again(home):
    cache.cached_catalogue(home, partial(load, home))
    (home / "pooling" / "max_pool.yaml").write_text(CASES.format("b"), "utf-8")
    assert [case.id for case in cache.cached_catalogue(home, partial(load, home)).cases] == ["max_pool/b"]


@pytest.mark.parametrize("damage", [b"", b"x" * 40, None])
def test_damaged_file_is_written_again(home, tmp_path, damage):
    cache.cached_catalogue(home, partial(load, home))
    (path,) = (tmp_path / "caches" / "conformance-catalogue").iterdir()
    path.write_bytes(path.read_bytes()[:-1] if damage is None else damage)
    assert [case.id for case in cache.cached_catalogue(home, partial(load, home)).cases] == ["max_pool/a"]
    assert cache.read(path) is not None


def test_unwritable_cache_is_ignored(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("", "utf-8")
    cache.write(blocked / "folder" / "value.pickle", 1, 4)
    assert cache.read(blocked / "folder" / "value.pickle") is None


def test_only_the_newest_files_remain(tmp_path):
    for number in range(4):
        cache.write(tmp_path / f"{number}.pickle", number, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.pickle", "3.pickle"]


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
    assert cache.cache_folder() == cache.SOURCE_ROOT / "build" / "conformance-check"
    monkeypatch.setattr(cache, "SOURCE_ROOT", tmp_path)
    monkeypatch.setattr(cache.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert cache.cache_folder() == tmp_path / "mine" / "nn-conformance" / "conformance-check"

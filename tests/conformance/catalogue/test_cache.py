"""The cache of what is sound: by content, never by name, and never in the way."""

import pytest

from conformance.catalogue.check import CheckCache
from conformance.catalogue.lock import FrozenCase
from conformance.system import cache

RECORD = FrozenCase("a" * 32, "b" * 16, "c" * 16, "d" * 16)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "cache")


def test_what_was_put_is_there_the_next_time():
    first = CheckCache.load()
    assert first.get("text") is None
    first.put("text", RECORD)
    first.put("rows", None)
    first.save()
    second = CheckCache.load()
    assert second.get("text") == (RECORD,)
    assert second.get("rows") == (None,)
    assert second.get("text ") is None


def test_other_source_or_other_versions_know_nothing_of_it(monkeypatch):
    first = CheckCache.load()
    first.put("text", RECORD)
    first.save()
    monkeypatch.setattr(cache, "source_digest", lambda: "0" * 32)
    assert CheckCache.load().get("text") is None


def test_environment_depends_on_the_source_and_on_numpy(tmp_path, monkeypatch):
    for name in ("conformance", "reference"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "module.py").write_text("x = 1\n", "utf-8")
    monkeypatch.setattr(cache, "SOURCE_ROOT", tmp_path)
    digest = cache.source_digest.__wrapped__
    before = digest()
    assert digest() == before
    (tmp_path / "reference" / "module.py").write_text("x = 2\n", "utf-8")
    changed = digest()
    assert changed != before
    monkeypatch.setattr(cache.np, "__version__", "1.99")
    assert digest() not in {before, changed}


@pytest.mark.parametrize("text", ["", "[1]", "5", "\0"])
def test_unreadable_cache_is_an_empty_one(text):
    path = CheckCache.load().path
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    assert CheckCache.load().records == {}


def test_cache_that_cannot_be_written_is_no_fault(tmp_path):
    (tmp_path / "cache").write_text("a file", "utf-8")
    blocked = CheckCache.load()
    blocked.put("text", RECORD)
    blocked.save()
    assert (tmp_path / "cache").read_text("utf-8") == "a file"


def test_only_the_last_files_are_kept(tmp_path, monkeypatch):
    for number in range(20):
        monkeypatch.setattr(cache, "source_digest", lambda number=number: f"{number:032}")
        one = CheckCache.load()
        one.put("text", RECORD)
        one.save()
    left = list((tmp_path / "cache").iterdir())
    assert len(left) == cache.MAX_CHECK_CACHE_FILES
    assert CheckCache.load().get("text") == (RECORD,)


def test_cache_of_a_checkout_is_in_its_build_folder_and_else_in_the_users(tmp_path, monkeypatch):
    monkeypatch.undo()
    assert cache.cache_folder() == cache.SOURCE_ROOT / "build" / "conformance-check"
    monkeypatch.setattr(cache, "SOURCE_ROOT", tmp_path)
    monkeypatch.setattr(cache.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "mine"))
    assert cache.cache_folder() == tmp_path / "mine" / "nn-conformance" / "conformance-check"

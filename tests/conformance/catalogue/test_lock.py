"""The lock file: all formats can be read; it has one line per record and is written atomically."""

import json

import pytest

from conformance import CatalogueError
from conformance.catalogue import lock
from conformance.catalogue.lock import FrozenCase, FrozenSweep, Lock

A, B, C = (FrozenCase(letter * 32, "1" * 16, "2" * 16, letter * 16) for letter in "abc")
SWEEP = FrozenSweep(3, "d" * 32, "e" * 32)


def test_lock_is_read_as_it_was_written(tmp_path):
    whole = Lock({"max_pool/b": B, "max_pool/a": A, "max_pool/all/*": SWEEP}, "1.2.0", {"max_pool/a": None})
    lock.write_lock(tmp_path / "lock.json", whole)
    assert lock.read_lock_file(tmp_path / "lock.json") == whole


def test_every_record_is_one_line_in_the_order_of_names(tmp_path):
    lock.write_lock(tmp_path / "lock.json", Lock({"max_pool/b": B, "max_pool/a": A, "max_pool/all/*": SWEEP}))
    lines = (tmp_path / "lock.json").read_text("utf-8").splitlines()
    assert lines[4:6] == [f'"max_pool/a": "{A.text}",', f'"max_pool/b": "{B.text}"']
    assert f'"max_pool/all": "3 {"d" * 32} {"e" * 32}"' in lines


def test_first_format_is_read_without_parts(tmp_path):
    (tmp_path / "lock.json").write_text(json.dumps({"max_pool/a": "a" * 32}), "utf-8")
    old = lock.read_lock_file(tmp_path / "lock.json")
    assert old == Lock({"max_pool/a": FrozenCase("a" * 32)})
    # Equal cases are not a change: the first 128 bits are those of format 1.
    assert lock.compare_records(old.records, {"max_pool/a": A}).names == ()
    assert lock.compare_records(old.records, {"max_pool/a": B}).names == ("max_pool/a",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "No such file"),
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("[1]", "not a lock"),
        ('{"a": 1}', "not a lock"),
        ('{"format": 3, "cases": {}}', "unsupported format 3, supported are 1 and 2"),
        ('{"format": 2, "cases": {"a": "1 2 3 4 5"}}', "not a lock"),
        ('{"format": 2, "cases": {}, "sweeps": {"a": "many"}}', "not a lock"),
        ('{"format": 2, "cases": {}, "unreleased": 5}', "not a lock"),
    ],
)
def test_lock_that_cannot_be_read_is_one_line(tmp_path, text, says):
    if text is not None:
        (tmp_path / "lock.json").write_text(text, "utf-8")
    with pytest.raises(CatalogueError, match=says) as refused:
        lock.read_lock_file(tmp_path / "lock.json")
    assert "\n" not in str(refused.value)


def test_lock_that_cannot_be_written_is_one_line_and_leaves_nothing(tmp_path):
    with pytest.raises(CatalogueError, match=r"lock\.json: No such file or directory$"):
        lock.write_lock(tmp_path / "no" / "lock.json", Lock())
    (tmp_path / "lock.json").mkdir()
    with pytest.raises(CatalogueError, match=r"lock\.json: "):
        lock.write_lock(tmp_path / "lock.json", Lock())
    assert [path.name for path in tmp_path.iterdir()] == ["lock.json"]


def test_lock_remembers_the_last_release_whatever_is_done_and_undone():
    first = Lock({"a": A, "b": B}).release("1.0.0")
    changed = first.with_records({"a": C, "c": C})
    assert changed.label == "1.0.0+unreleased"
    assert changed.unreleased == {"a": A, "b": B, "c": None}
    assert changed.released == first.records
    assert changed.with_records({"a": B, "c": A}).released == first.records
    assert changed.with_records(first.records) == first
    assert changed.release("2.0.0").released == changed.records


def test_before_the_first_release_everything_is_new():
    some = Lock({"a": A}).with_records({"a": A, "b": B})
    assert (some.label, some.released, some.unreleased) == ("unreleased", {}, {})


def test_sweep_says_what_became_of_its_rows():
    assert "its number of rows (from 3 to 4)" in SWEEP.changes(FrozenSweep(4, "", ""))
    assert SWEEP.changes(FrozenSweep(3, "", "")) == "the ids of its rows"
    assert "inputs" in SWEEP.changes(FrozenSweep(3, SWEEP.ids, ""))
    assert SWEEP.changes(SWEEP) == ""
    assert SWEEP.changes(A) == A.changes(SWEEP) == "its kind"

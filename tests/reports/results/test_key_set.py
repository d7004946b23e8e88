"""Key sets: membership and size are those of a set, also if only hashes are stored."""

import pytest

from reports.results import key_set
from reports.results.key_set import KeySet


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(key_set, "MAX_STORED_KEYS", 5)


@pytest.mark.parametrize("size", [0, 5, 6, 1000])
def test_keys_are_those_that_were_added(size):
    keys = [(f"case-{n}", "surface") for n in range(size)]
    found = KeySet(keys + keys)
    assert len(found) == size
    assert all(key in found for key in keys)
    assert not any((f"case-{n}", "other") in found for n in range(size + 1))


@pytest.mark.parametrize("first", [0, 3, 100])
@pytest.mark.parametrize("second", [0, 3, 100])
def test_update_adds_the_keys_of_another_set(first, second):
    keys, others = [f"a{n}" for n in range(first)], [f"b{n}" for n in range(second)]
    found = KeySet(keys)
    found.update(KeySet([*others, *keys]))
    assert len(found) == first + second
    assert all(key in found for key in keys + others)
    assert "c0" not in found


def test_a_key_needs_few_bytes():
    found = KeySet(f"case-{n}" for n in range(10_000))
    assert found._keys is None
    assert found._slots.itemsize * len(found._slots) < 28 * 10_000


def test_keys_with_the_hash_of_an_empty_slot_are_found():
    found = KeySet([0, *(f"case-{n}" for n in range(10))])
    assert 0 in found
    assert len(found) == 11

"""Packed sequences: the same items as a list, in less memory."""

import sys

import pytest

from conformance.system import packed_sequence
from conformance.system.packed_sequence import PackedSequence, compact


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(packed_sequence, "MAX_UNPACKED_ITEMS", 3)
    monkeypatch.setattr(packed_sequence, "ITEMS_PER_BLOCK", 4)


@pytest.mark.parametrize("size", [0, 2, 3, 4, 7, 8, 20])
def test_items_are_those_of_a_list(size):
    items = [{"number": n} for n in range(size)]
    packed = PackedSequence(items)
    assert list(packed) == items
    assert len(packed) == size
    assert [packed[n] for n in range(-size, size)] == items + items
    assert packed[1:-1] == items[1:-1]
    with pytest.raises(IndexError):
        packed[size]


def test_items_added_later_are_at_the_end():
    packed = PackedSequence("abc")
    packed.append("d")
    packed.extend("efghij")
    assert "".join(packed) == "abcdefghij"


def test_first_items_stay_the_same_objects():
    items = [object() for _ in range(3)]
    assert all(one is other for one, other in zip(PackedSequence(items), items, strict=True))


def test_items_in_blocks_need_little_memory(monkeypatch):
    monkeypatch.setattr(packed_sequence, "ITEMS_PER_BLOCK", 256)
    texts = (f"max_pool/from-30/1d-i35-w10-s10-uint32-{n}" for n in range(256 * 20))
    assert sum(map(sys.getsizeof, PackedSequence(texts)._blocks)) < 10 * 256 * 20


@pytest.mark.parametrize(("size", "kind"), [(3, list), (4, PackedSequence)])
def test_only_many_items_are_packed(size, kind):
    found = compact(range(size))
    assert isinstance(found, kind)
    assert list(found) == list(range(size))

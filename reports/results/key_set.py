"""A set of many keys in little memory."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable

MAX_STORED_KEYS = 10_000
"""Number of keys up to which the keys themselves are stored."""
MAX_LOAD = 0.6
"""Maximum share of the slots of the table that are in use."""
HASH_MASK = (1 << 64) - 1
EMPTY = 0


class KeySet:
    """A set to which keys are added. With many keys, it stores a hash of 64 bits of each, in 13 to 27 bytes.

    Two of n different keys are then mistaken for each other with a probability of n² / 2⁶⁵: 3e-8 for a million.
    """

    def __init__(self, keys: Iterable[Hashable] = ()) -> None:
        self._keys: set[Hashable] | None = set()
        self._slots = array("Q")
        self._count = 0
        for key in keys:
            self.add(key)

    def __len__(self) -> int:
        return self._count if self._keys is None else len(self._keys)

    def __contains__(self, key: Hashable) -> bool:
        if self._keys is not None:
            return key in self._keys
        return self._slots[self._place(_slot_value(key))] != EMPTY

    def add(self, key: Hashable) -> None:
        """Add a key."""
        if self._keys is None:
            self._add_value(_slot_value(key))
            return
        self._keys.add(key)
        if len(self._keys) > MAX_STORED_KEYS:
            values, self._keys = map(_slot_value, self._keys), None
            self._resize(4 * MAX_STORED_KEYS, values)

    def update(self, other: KeySet) -> None:
        """Add the keys of another set."""
        if other._keys is not None:
            for key in other._keys:
                self.add(key)
            return
        if self._keys is not None:
            values, self._keys = map(_slot_value, self._keys), None
            self._resize(len(other._slots), values)
        for value in filter(None, other._slots):
            self._add_value(value)

    def _add_value(self, value: int) -> None:
        place = self._place(value)
        if self._slots[place] != EMPTY:
            return
        self._slots[place] = value
        self._count += 1
        if self._count > MAX_LOAD * len(self._slots):
            self._resize(2 * len(self._slots), filter(None, self._slots))

    def _resize(self, size: int, values: Iterable[int]) -> None:
        """Replace the table by one of this size with these values."""
        old, self._slots, self._count = values, array("Q", bytes(8 * size)), 0
        for value in old:
            self._slots[self._place(value)] = value
            self._count += 1

    def _place(self, value: int) -> int:
        """Return the place of a value in the table, or the free place for it."""
        slots, size = self._slots, len(self._slots)
        place = value % size
        while slots[place] not in {EMPTY, value}:
            place = (place + 1) % size
        return place


def _slot_value(key: Hashable) -> int:
    return hash(key) & HASH_MASK or 1

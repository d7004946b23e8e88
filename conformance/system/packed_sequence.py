"""Sequences of many objects that need little memory, because most of the objects are compressed."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, TypeVar, overload

Item = TypeVar("Item")
MAX_UNPACKED_ITEMS = 20_000
"""Number of the first items, which are not compressed. The built-in catalogue at level standard has fewer cases."""
ITEMS_PER_BLOCK = 256
FAST_COMPRESSION = 1


class PackedSequence(Sequence[Item]):
    """A sequence whose items are compressed in blocks, except the first ones.

    An item in a block is a new object whenever it is read. The blocks never leave the memory of this process.
    """

    def __init__(self, items: Iterable[Item] = ()) -> None:
        iterator = iter(items)
        self._first = list(islice(iterator, MAX_UNPACKED_ITEMS))
        self._blocks: list[bytes] = []
        self._last: list[Item] = []
        self._unpacked: tuple[int, list[Item]] = (-1, [])
        self.extend(iterator)

    def append(self, item: Item) -> None:
        """Add an item at the end."""
        if len(self._first) < MAX_UNPACKED_ITEMS:
            self._first.append(item)
            return
        self._last.append(item)
        if len(self._last) == ITEMS_PER_BLOCK:
            self._blocks.append(zlib.compress(pickle.dumps(self._last), FAST_COMPRESSION))
            self._last = []

    def extend(self, items: Iterable[Item]) -> None:
        """Add items at the end."""
        for item in items:
            self.append(item)

    def __len__(self) -> int:
        return len(self._first) + ITEMS_PER_BLOCK * len(self._blocks) + len(self._last)

    def __iter__(self) -> Iterator[Item]:
        return chain(self._first, chain.from_iterable(map(_unpacked_items, self._blocks)), self._last)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Any:
        """Return an item, or a list of several. Raises IndexError."""
        numbers = range(len(self))[index]
        return [self._item(number) for number in numbers] if isinstance(numbers, range) else self._item(numbers)

    def _item(self, number: int) -> Item:
        if number < len(self._first):
            return self._first[number]
        block, place = divmod(number - len(self._first), ITEMS_PER_BLOCK)
        if block == len(self._blocks):
            return self._last[place]
        if self._unpacked[0] != block:
            self._unpacked = block, _unpacked_items(self._blocks[block])
        return self._unpacked[1][place]


def _unpacked_items(block: bytes) -> list[Any]:
    items: list[Any] = pickle.loads(zlib.decompress(block))  # noqa: S301 - made by this process
    return items


def compact(items: Iterable[Item]) -> Sequence[Item]:
    """Return a list of the items, or a packed sequence if there are many."""
    packed = PackedSequence(items)
    return packed if len(packed) > MAX_UNPACKED_ITEMS else list(packed)

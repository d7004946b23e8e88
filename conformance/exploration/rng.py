"""Chance that is the same on every machine and under every NumPy: raw bits of PCG64, as NumPy guarantees them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")
BOLD, BOLDNESS = 2, (1, 2)
"""In so many choices, how often what is not plain is taken: in half of all draws always, in the others as often as not.

Most faults need some things to meet; few, that something is not there."""


class Dice:
    """Numbers that follow from what the dice are made of, and from nothing else."""

    def __init__(self, *seeds: object) -> None:
        digest = hashlib.blake2b(repr(seeds).encode(), digest_size=16).digest()
        self._bold = BOLDNESS[0]
        self._bits = np.random.PCG64(int.from_bytes(digest, "little"))

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to limit - 1."""
        return int(self._bits.random_raw()) % limit

    def between(self, least: int, most: int) -> int:
        """Return a whole number from least to most, both included."""
        return least + self.below(most - least + 1)

    def one_of(self, things: Sequence[T]) -> T:
        """Return one of some things, each as likely."""
        return things[self.below(len(things))]

    def kind(self, plain: Sequence[T], rest: Sequence[T]) -> T:
        """Return a kind of something, one of the plain ones or, as often as these dice are bold, one of the rest."""
        return self.one_of(rest if self.below(BOLD) < self._bold else plain)

    def again(self) -> None:
        """Begin a further draw, with another boldness."""
        self._bold = self.one_of(BOLDNESS)

    def chance(self, one_in: int) -> bool:
        """Return True once in so many times."""
        return self.below(one_in) == 0

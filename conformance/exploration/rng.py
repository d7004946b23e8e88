"""Chance that is the same on every machine and under every NumPy: raw bits of PCG64, as NumPy guarantees them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")
UNUSUAL_ODDS, UNUSUAL_CHOICES = 2, (1, 2)
"""In so many choices, how often what is not plain is taken: in half of all draws always, in the others as often as not.

Most faults need some things to meet; few, that something is not there."""


class Rng:
    """Numbers that follow from what the dice are made of, and from nothing else."""

    def __init__(self, *seeds: object) -> None:
        digest = hashlib.blake2b(repr(seeds).encode(), digest_size=16).digest()
        self._unusual_odds = UNUSUAL_CHOICES[0]
        self._bits = np.random.PCG64(int.from_bytes(digest, "little"))

    def randrange(self, limit: int) -> int:
        """Return a whole number from 0 to limit - 1."""
        return int(self._bits.random_raw()) % limit

    def randint(self, least: int, most: int) -> int:
        """Return a whole number from least to most, both included."""
        return least + self.randrange(most - least + 1)

    def choice(self, things: Sequence[T]) -> T:
        """Return one of some things, each as likely."""
        return things[self.randrange(len(things))]

    def usual_or_unusual(self, usual: Sequence[T], unusual: Sequence[T]) -> T:
        """Return a kind of something, one of the plain ones or, as often as these dice are bold, one of the rest."""
        return self.choice(unusual if self.randrange(UNUSUAL_ODDS) < self._unusual_odds else usual)

    def start_draw(self) -> None:
        """Begin a further draw, with another boldness."""
        self._unusual_odds = self.choice(UNUSUAL_CHOICES)

    def one_in(self, count: int) -> bool:
        """Return True once in so many times."""
        return self.randrange(count) == 0

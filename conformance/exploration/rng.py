"""A random number generator with the same results on every machine and with every NumPy version.

It uses only raw bits of PCG64: NumPy guarantees this stream, but not the streams of its distributions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")
UNUSUAL_ODDS, UNUSUAL_CHOICES = 2, (1, 2)
"""Each draw uses one of UNUSUAL_CHOICES; an unusual value is chosen in that many of UNUSUAL_ODDS choices.

Half of all draws therefore choose unusual values always, the others half of the time. The reason is that most bugs
require several features together, and few require that a feature is absent.
"""


class Rng:
    """A random number generator that is determined by its seeds. The seeds are hashed by their `repr`."""

    def __init__(self, *seeds: object) -> None:
        digest = hashlib.blake2b(repr(seeds).encode(), digest_size=16).digest()
        self._unusual_odds = UNUSUAL_CHOICES[0]
        self._bits = np.random.PCG64(int.from_bytes(digest, "little"))

    def randrange(self, limit: int) -> int:
        """Return an integer from 0 to limit - 1."""
        return int(self._bits.random_raw()) % limit  # the limits are so far below 2^64 that the bias does not matter

    def randint(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return low + self.randrange(high - low + 1)

    def choice(self, items: Sequence[T]) -> T:
        """Return one of the items, all with equal probability."""
        return items[self.randrange(len(items))]

    def usual_or_unusual(self, usual: Sequence[T], unusual: Sequence[T]) -> T:
        """Return one of the usual or unusual items. The probability of an unusual one is set by start_draw."""
        return self.choice(unusual if self.randrange(UNUSUAL_ODDS) < self._unusual_odds else usual)

    def start_draw(self) -> None:
        """Start the draw of a candidate: choose the probability of unusual values for it."""
        self._unusual_odds = self.choice(UNUSUAL_CHOICES)

    def one_in(self, count: int) -> bool:
        """Return True with probability 1 / count."""
        return self.randrange(count) == 0

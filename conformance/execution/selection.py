"""What of a catalogue a run takes: by filters, and by the shard that it is of a larger run."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass
from typing import Any

MAX_SHARDS = 100_000
"""Shards of one run."""


@dataclass(frozen=True)
class Shard:
    """One shard of a run: the number-th of so many, 1 ≤ number ≤ of."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def file_name(self) -> str:
        """What the results file of the shard is called."""
        return f"{self.number}-of-{self.of}.jsonl"

    def contains(self, case: str, convention_id: str | None) -> bool:
        """Whether a case belongs to this shard: by a digest, so that it stays there when others come or go.

        Cases of one question stay together, as a surface that answers them in two ways contradicts itself.
        """
        digest = hashlib.blake2b((convention_id or case).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.of == self.number - 1


@dataclass(frozen=True)
class Selection:
    """What to run: filters as the user gave them, the level, and whether slow surfaces run all cases of it, too.

    part: the shard that is run of all this; None for everything.
    """

    level: str = "smoke"
    surfaces: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    slow: bool = False
    shard: Shard | None = None

    @property
    def header(self) -> dict[str, Any]:
        """What the header of a results file says of it."""
        filters = {"surfaces": self.surfaces, "operators": self.operators, "cases": self.globs}
        return {
            "level": self.level,
            **({"slow": True} if self.slow else {}),
            **({"shard": asdict(self.shard)} if self.shard else {}),
            "selection": {name: list(given) for name, given in filters.items()},
        }


DEFAULT_SELECTION = Selection()
"""What is run unless somebody says otherwise."""


def parse_shard(text: str) -> Shard:
    """Return the shard that is written K/N. Raises ValueError in a sentence."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    part = Shard(*map(int, found.groups())) if found else Shard(0, 0)
    if not 1 <= part.number <= part.of <= MAX_SHARDS:
        raise ValueError(f"{text!r} is not K/N with 1 ≤ K ≤ N ≤ {MAX_SHARDS:,}, such as 1/4")
    return part

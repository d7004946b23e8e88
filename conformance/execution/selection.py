"""Selection of the cases of a run: filters, level, and the shard of a larger run."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from reports.results.vocabulary import Level

MAX_SHARDS = 100_000
"""Maximum number of shards of one run."""


@dataclass(frozen=True)
class Shard:
    """One of the `of` shards of a run, 1 ≤ number ≤ of."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def file_name(self) -> str:
        """Name of the results file of the shard."""
        return f"{self.number}-of-{self.of}.jsonl"

    def contains(self, case: str, convention_id: str | None) -> bool:
        """Whether a case belongs to this shard.

        The shard depends on a digest of the id alone, so a case does not move when other cases are added or removed.
        All cases of one convention are in one shard, because contradictory answers are detected within a run.
        """
        digest = hashlib.blake2b((convention_id or case).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.of == self.number - 1


@dataclass(frozen=True)
class Selection:
    """Filters and level of a run. Empty filters select everything.

    slow: whether slow surfaces run all cases of the level; shard: the shard to run, None for the whole run.
    """

    level: str = Level.SMOKE
    surfaces: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    slow: bool = False
    shard: Shard | None = None


DEFAULT_SELECTION = Selection()
"""The default of `Run`: level smoke, no filters."""


def parse_shard(text: str) -> Shard:
    """Parse the shard K/N. Raises ValueError with a message for the user."""
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    shard = Shard(*map(int, match.groups())) if match else Shard(0, 0)
    if not 1 <= shard.number <= shard.of <= MAX_SHARDS:
        raise ValueError(f"{text!r} is not K/N with 1 ≤ K ≤ N ≤ {MAX_SHARDS:,}, such as 1/4")
    return shard

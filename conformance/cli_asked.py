"""What `conformance run` is asked for, beside the backends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from conformance.client import Limits
from conformance.selection import Selection


@dataclass(frozen=True)
class Asked:
    """What was asked for. seconds: for a case, and for a start; memory: bytes for a process, None for the usual."""

    selection: Selection
    paths: tuple[Path, ...]
    seconds: tuple[float, float]
    memory: int | None
    jobs: int | None
    repeat: int
    keep: bool
    resume: bool
    loudness: str | None
    out: Path

    @property
    def limits(self) -> Limits:
        """What a worker may take on this machine."""
        return Limits(*self.seconds) if self.memory is None else Limits(*self.seconds, self.memory)

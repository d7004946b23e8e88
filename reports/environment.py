"""Where a backend ran, as the header of its results file has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from reports.fields import Fields


@dataclass(frozen=True)
class Environment:
    """Where a backend ran: versions, set-up texts, threads, device; hardware: its model, "" for the CPU."""

    python: str
    platform: str
    suite: Mapping[str, str]
    packages: Mapping[str, str]
    cpu: tuple[str, ...]
    instructions: str | None
    setup: Mapping[str, str]
    threads: int
    device: str = "cpu"
    hardware: str = ""
    precision: str = "float32"

    @classmethod
    def parse(cls, fields: Fields) -> Environment:
        """Parse the header's environment."""
        return cls(
            python=fields.get("python", str),
            platform=fields.get("platform", str),
            suite=fields.table("suite"),
            packages=fields.table("packages"),
            cpu=fields.texts("cpu") if "cpu" in fields.values else (),
            instructions=fields.optional("instructions", str),
            setup=fields.table("setup"),
            threads=fields.get("threads", int),
            device=fields.optional("device", str) or "cpu",
            hardware=fields.optional("hardware", str) or "",
            precision=fields.optional("precision", str) or "float32",
        )

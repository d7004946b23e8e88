"""What runs of the suite have found of each surface, in short: which versions, how many cases agree, what deviates.

The file `verified.json` beside this one is made from results files by `conformance verified RESULTS…`, so that those
who install the suite and run nothing still learn how far a translation has been tried.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from conformance import ConformanceError

VERIFIED_FORMAT = 1
VERIFIED_PATH = Path(__file__).parent / "verified.json"
PASS_STATUS, KNOWN_STATUS, UNSUPPORTED_STATUS = "pass", "known", "unsupported"


@dataclass(frozen=True)
class OperatorSummary:
    """What one surface did with the cases of one operator.

    agree: how many results agree, by how the program does it; dtypes, ranks: of the cases among these; known: how many
    deviate, by the entry of the ledger; otherwise: how many came out otherwise, by status.
    """

    agree: Mapping[str, int] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    known: Mapping[str, int] = field(default_factory=dict)
    otherwise: Mapping[str, int] = field(default_factory=dict)

    @property
    def cases(self) -> int:
        """How many results agree."""
        return sum(self.agree.values())


@dataclass(frozen=True)
class SurfaceSummary:
    """One surface: the backend with the versions of its packages, the level of the run, and what came of it."""

    backend: str
    level: str
    packages: Mapping[str, str]
    operators: Mapping[str, OperatorSummary]

    @property
    def version(self) -> str:
        """The package that the backend is called after, or its first one, and its version without a local part."""
        name = self.backend if self.backend in self.packages else next(iter(self.packages), "")
        return f"{name} {self.packages.get(name, '').partition('+')[0]}".strip()


@dataclass(frozen=True)
class VerifiedSummary:
    """All surfaces that have been run, by name."""

    surfaces: Mapping[str, SurfaceSummary] = field(default_factory=dict)

    def operator_summary(self, surface: str, operator: str) -> OperatorSummary:
        """Return what a surface did with an operator; nothing where it was not run."""
        known = self.surfaces.get(surface)
        return known.operators.get(operator, OperatorSummary()) if known else OperatorSummary()

    def packages(self, surface: str) -> Mapping[str, str]:
        """Return the versions with which a surface was run."""
        return self.surfaces[surface].packages if surface in self.surfaces else {}


@dataclass
class OperatorCounter:
    """The results of one surface on one operator, as they are counted."""

    agree: dict[str, int] = field(default_factory=dict)
    dtypes: set[str] = field(default_factory=set)
    ranks: set[int] = field(default_factory=set)
    known_counts: dict[str, int] = field(default_factory=dict)
    other_counts: dict[str, int] = field(default_factory=dict)

    def add(self, status: str, how: str, dtype: str, rank: int, entry: str) -> None:
        """Count one result; `entry` is the id of what the ledger says of a known deviation."""
        if status == PASS_STATUS:
            self.agree[how] = self.agree.get(how, 0) + 1
            self.dtypes.add(dtype)
            self.ranks.add(rank)
        elif status == KNOWN_STATUS:
            self.known_counts[entry] = self.known_counts.get(entry, 0) + 1
        elif status != UNSUPPORTED_STATUS:
            self.other_counts[status] = self.other_counts.get(status, 0) + 1

    def summary(self) -> OperatorSummary:
        """Return what was counted, in an order that does not depend on that of the results."""
        agree, known, otherwise = (
            dict(sorted(one.items())) for one in (self.agree, self.known_counts, self.other_counts)
        )
        return OperatorSummary(agree, tuple(sorted(self.dtypes)), tuple(sorted(self.ranks)), known, otherwise)


def summary_text(summary: VerifiedSummary) -> str:
    """Return the summary as JSON, an operator a line, so that a change of it is a change of few lines."""
    parts = []
    for name, surface in sorted(summary.surfaces.items()):
        about = {"backend": surface.backend, "level": surface.level, "packages": surface.packages}
        head = "".join(f"   {_json_text(key)}: {_json_text(value)},\n" for key, value in about.items())
        lines = [
            f"    {_json_text(key)}: {_json_text(vars(tried))}" for key, tried in sorted(surface.operators.items())
        ]
        operators = ",\n".join(lines)
        parts.append(f"  {_json_text(name)}: {{\n{head}   {_json_text('operators')}: {{\n{operators}\n   }}\n  }}")
    return f'{{\n "format": {VERIFIED_FORMAT},\n "surfaces": {{\n' + ",\n".join(parts) + "\n }\n}\n"


def _json_text(value: Any) -> str:
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, ensure_ascii=False)


def parse_summary(text: str, place: str) -> VerifiedSummary:
    """Return the summary that a text holds. Raises ConformanceError naming the place where it holds none."""
    try:
        data = json.loads(text)
        if data["format"] != VERIFIED_FORMAT:
            raise ConformanceError(f"{place}: format {data['format']}, this suite reads {VERIFIED_FORMAT}")
        return VerifiedSummary({name: _parse_surface(raw) for name, raw in data["surfaces"].items()})
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ConformanceError(f"{place}: not a summary of results ({type(error).__name__}: {error})") from None


def _parse_surface(raw: Mapping[str, Any]) -> SurfaceSummary:
    return SurfaceSummary(
        raw["backend"],
        raw["level"],
        dict(raw["packages"]),
        {
            name: OperatorSummary(
                dict(tried["agree"]),
                tuple(tried["dtypes"]),
                tuple(tried["ranks"]),
                dict(tried["known"]),
                dict(tried["otherwise"]),
            )
            for name, tried in raw["operators"].items()
        },
    )


@lru_cache
def shipped_summary() -> VerifiedSummary:
    """Return the summary that comes with the suite; an empty one where there is none."""
    return (
        parse_summary(VERIFIED_PATH.read_text("utf-8"), str(VERIFIED_PATH))
        if VERIFIED_PATH.exists()
        else VerifiedSummary()
    )


def verified_sentence(summary: VerifiedSummary, surface: str, operator: str, how: str, *, dtype: str, rank: int) -> str:
    """Return in words how far translations of an operator to a surface have been tried."""
    tried = summary.operator_summary(surface, operator)
    if not tried.cases:
        return "not verified: no result of it agrees" if tried.known or tried.otherwise else "not verified: never run"
    parts = [f"{tried.cases:,} case{'s' * (tried.cases != 1)} of {operator} agree{'s' * (tried.cases == 1)}"]
    parts[0] += f", {tried.agree.get(how, 0):,} of them {how}"
    parts += [f"none in {dtype}"] if dtype not in tried.dtypes else []
    parts += [f"none with {rank} spatial axes"] if rank not in tried.ranks else []
    parts += [f"{count:,} {status}" for status, count in tried.otherwise.items()]
    if tried.known:
        parts.append(_deviations_text(list(tried.known)))
    return f"verified: {summary.surfaces[surface].version}, {'; '.join(parts)}"


def _deviations_text(ids: Sequence[str]) -> str:
    return f"{len(ids)} known deviation{'s' * (len(ids) != 1)}: {', '.join(ids)}"


def summarise(
    surfaces: Iterable[tuple[str, str, str, Mapping[str, str], Mapping[str, OperatorCounter]]],
) -> VerifiedSummary:
    """Return the summary of counted results: for each surface its name, backend, level, packages and counts."""
    return VerifiedSummary(
        {
            name: SurfaceSummary(
                backend, level, dict(packages), {key: count.summary() for key, count in sorted(counts.items())}
            )
            for name, backend, level, packages, counts in surfaces
        }
    )

"""Summary of runs: for each surface the versions, the number of cases that agree, and the known deviations.

`conformance verified RESULTS…` writes the summary of results files to `verified.json` in this folder. An installed
suite can report how many cases of a translation were verified without running them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from conformance import ConformanceError
from reports.results.vocabulary import AGREEING_STATUSES, Status

VERIFIED_FORMAT = 1
"""Version of the JSON format."""
VERIFIED_PATH = Path(__file__).parent / "verified.json"


@dataclass(frozen=True)
class OperatorSummary:
    """Results of one surface on the cases of one operator.

    agree: number of results that agree, by kind of program.
    dtypes, ranks: those of the cases that agree.
    known: number of known deviations, by ledger entry.
    otherwise: number of other results, by status.
    """

    agree: Mapping[str, int] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    known: Mapping[str, int] = field(default_factory=dict)
    otherwise: Mapping[str, int] = field(default_factory=dict)

    @property
    def cases(self) -> int:
        """Number of results that agree."""
        return sum(self.agree.values())


@dataclass(frozen=True)
class SurfaceSummary:
    """Results of one surface, with its backend, the level of the run and the versions of the packages."""

    backend: str
    level: str
    packages: Mapping[str, str]
    operators: Mapping[str, OperatorSummary]

    @property
    def version(self) -> str:
        """Name and version of the package that the backend is named after, or of its first package.

        The version has no local part: "2.9.0", not "2.9.0+cpu".
        """
        name = self.backend if self.backend in self.packages else next(iter(self.packages), "")
        return f"{name} {self.packages.get(name, '').partition('+')[0]}".strip()


@dataclass(frozen=True)
class VerifiedSummary:
    """Results of all surfaces that were run, by surface name."""

    surfaces: Mapping[str, SurfaceSummary] = field(default_factory=dict)

    def operator_summary(self, surface: str, operator: str) -> OperatorSummary:
        """Return the results of a surface on an operator; an empty summary if it was not run."""
        known = self.surfaces.get(surface)
        return known.operators.get(operator, OperatorSummary()) if known else OperatorSummary()

    def packages(self, surface: str) -> Mapping[str, str]:
        """Return the package versions of the run of a surface; empty if it was not run."""
        return self.surfaces[surface].packages if surface in self.surfaces else {}


@dataclass
class OperatorCounter:
    """Counter of the results of one surface on one operator."""

    agree: dict[str, int] = field(default_factory=dict)
    dtypes: set[str] = field(default_factory=set)
    ranks: set[int] = field(default_factory=set)
    known_counts: dict[str, int] = field(default_factory=dict)
    other_counts: dict[str, int] = field(default_factory=dict)

    def add(self, status: str, how: str, dtype: str, rank: int, entry: str) -> None:
        """Count one result; entry: id of the ledger entry of a known deviation."""
        if status in AGREEING_STATUSES:
            self.agree[how] = self.agree.get(how, 0) + 1
            self.dtypes.add(dtype)
            self.ranks.add(rank)
        elif status == Status.KNOWN:
            self.known_counts[entry] = self.known_counts.get(entry, 0) + 1
        elif status != Status.UNSUPPORTED:
            self.other_counts[status] = self.other_counts.get(status, 0) + 1

    def summary(self) -> OperatorSummary:
        """Return the counts, sorted so that the order of the results does not matter."""
        agree, known, others = (
            dict(sorted(counts.items())) for counts in (self.agree, self.known_counts, self.other_counts)
        )
        return OperatorSummary(agree, tuple(sorted(self.dtypes)), tuple(sorted(self.ranks)), known, others)


def summary_text(summary: VerifiedSummary) -> str:
    """Return the summary as JSON with one line per operator, so that diffs of the file are short."""
    parts = []
    for name, surface in sorted(summary.surfaces.items()):
        header = {"backend": surface.backend, "level": surface.level, "packages": surface.packages}
        head = "".join(f"   {_json_text(key)}: {_json_text(value)},\n" for key, value in header.items())
        lines = [
            f"    {_json_text(key)}: {_json_text(vars(counts))}" for key, counts in sorted(surface.operators.items())
        ]
        operators = ",\n".join(lines)
        parts.append(f"  {_json_text(name)}: {{\n{head}   {_json_text('operators')}: {{\n{operators}\n   }}\n  }}")
    return f'{{\n "format": {VERIFIED_FORMAT},\n "surfaces": {{\n' + ",\n".join(parts) + "\n }\n}\n"


def _json_text(value: Any) -> str:
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, ensure_ascii=False)


def parse_summary(text: str, source: str) -> VerifiedSummary:
    """Parse a summary from JSON. If it is invalid, raises ConformanceError with the file name `source`."""
    try:
        data = json.loads(text)
        if data["format"] != VERIFIED_FORMAT:
            raise ConformanceError(f"{source}: format {data['format']} is not supported, expected {VERIFIED_FORMAT}")
        return VerifiedSummary({name: _parse_surface(raw) for name, raw in data["surfaces"].items()})
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ConformanceError(f"{source}: not a summary of results ({type(error).__name__}: {error})") from None


def _parse_surface(raw: Mapping[str, Any]) -> SurfaceSummary:
    return SurfaceSummary(
        raw["backend"],
        raw["level"],
        dict(raw["packages"]),
        {
            name: OperatorSummary(
                dict(results["agree"]),
                tuple(results["dtypes"]),
                tuple(results["ranks"]),
                dict(results["known"]),
                dict(results["otherwise"]),
            )
            for name, results in raw["operators"].items()
        },
    )


@lru_cache
def shipped_summary() -> VerifiedSummary:
    """Return the summary that is shipped with the suite; an empty one if the file does not exist."""
    return (
        parse_summary(VERIFIED_PATH.read_text("utf-8"), str(VERIFIED_PATH))
        if VERIFIED_PATH.exists()
        else VerifiedSummary()
    )


def verified_sentence(summary: VerifiedSummary, surface: str, operator: str, how: str, *, dtype: str, rank: int) -> str:
    """Return a sentence with the number of verified cases of an operator on a surface."""
    results = summary.operator_summary(surface, operator)
    if not results.cases:
        return "not verified: no result agrees" if results.known or results.otherwise else "not verified: never run"
    parts = [f"{results.cases:,} case{'s' * (results.cases != 1)} of {operator} agree{'s' * (results.cases == 1)}"]
    parts[0] += f", {results.agree.get(how, 0):,} of them {how}"
    parts += [f"none in {dtype}"] if dtype not in results.dtypes else []
    parts += [f"none with {rank} spatial axes"] if rank not in results.ranks else []
    parts += [f"{count:,} {status}" for status, count in results.otherwise.items()]
    if results.known:
        plural = "s" * (len(results.known) != 1)
        parts.append(f"{len(results.known)} known deviation{plural}: {', '.join(results.known)}")
    return f"verified: {summary.surfaces[surface].version}, {'; '.join(parts)}"


def summarise(
    surfaces: Iterable[tuple[str, str, str, Mapping[str, str], Mapping[str, OperatorCounter]]],
) -> VerifiedSummary:
    """Return the summary of surfaces, each given as name, backend, level, packages and counters by operator."""
    return VerifiedSummary(
        {
            name: SurfaceSummary(
                backend, level, dict(packages), {key: count.summary() for key, count in sorted(counts.items())}
            )
            for name, backend, level, packages, counts in surfaces
        }
    )

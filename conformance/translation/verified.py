"""Summary of runs: for each surface the versions, the number of cases that agree, and the known deviations.

`conformance verified RESULTS…` writes the summary of results files to `verified.json` in this folder. An installed
suite can report how many cases of a translation were verified without running them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    calls: number of results that agree, by the parameters of the call as words (see call_text); None in summaries of
        earlier versions. Compositions are not counted.
    """

    agree: Mapping[str, int] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    known: Mapping[str, int] = field(default_factory=dict)
    otherwise: Mapping[str, int] = field(default_factory=dict)
    calls: Mapping[str, int] | None = None

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
    call_counts: dict[str, int] = field(default_factory=dict)

    def add(self, status: str, how: str, dtype: str, rank: int, entry: str, *, call: str | None = None) -> None:
        """Count one result.

        entry: id of the ledger entry of a known deviation; call: the parameters as words, None for a composition.
        """
        if status in AGREEING_STATUSES:
            self.agree[how] = self.agree.get(how, 0) + 1
            self.dtypes.add(dtype)
            self.ranks.add(rank)
            if call is not None:
                self.call_counts[call] = self.call_counts.get(call, 0) + 1
        elif status == Status.KNOWN:
            self.known_counts[entry] = self.known_counts.get(entry, 0) + 1
        elif status != Status.UNSUPPORTED:
            self.other_counts[status] = self.other_counts.get(status, 0) + 1

    def summary(self) -> OperatorSummary:
        """Return the counts, sorted so that the order of the results does not matter."""
        agree, known, others, calls = (
            dict(sorted(counts.items()))
            for counts in (self.agree, self.known_counts, self.other_counts, self.call_counts)
        )
        return OperatorSummary(agree, tuple(sorted(self.dtypes)), tuple(sorted(self.ranks)), known, others, calls)


def summary_text(summary: VerifiedSummary) -> str:
    """Return the summary as JSON with one line per operator, so that diffs of the file are short.

    The words of all calls are written once. The counts of each surface have the order of the words.
    """
    parts, words = [], _call_words(summary)
    for name, surface in sorted(summary.surfaces.items()):
        header = {"backend": surface.backend, "level": surface.level, "packages": surface.packages}
        head = "".join(f"   {_json_text(key)}: {_json_text(value)},\n" for key, value in header.items())
        lines = [
            f"    {_json_text(key)}: {_json_text(_operator_record(counts, words.get(key, [])))}"
            for key, counts in sorted(surface.operators.items())
        ]
        operators = ",\n".join(lines)
        parts.append(f"  {_json_text(name)}: {{\n{head}   {_json_text('operators')}: {{\n{operators}\n   }}\n  }}")
    listed = ",\n".join(f"  {_json_text(key)}: {_json_text(texts)}" for key, texts in words.items())
    calls = f' "calls": {{\n{listed}\n }},\n' if words else ""
    return f'{{\n "format": {VERIFIED_FORMAT},\n{calls} "surfaces": {{\n' + ",\n".join(parts) + "\n }\n}\n"


def _call_words(summary: VerifiedSummary) -> dict[str, list[str]]:
    """Return the words of all calls of each operator, in alphabetical order."""
    found: dict[str, set[str]] = {}
    for surface in summary.surfaces.values():
        for name, counts in surface.operators.items():
            found.setdefault(name, set()).update(counts.calls or ())
    return {name: sorted(texts) for name, texts in sorted(found.items()) if texts}


def _operator_record(counts: OperatorSummary, words: Sequence[str]) -> dict[str, Any]:
    record = {key: value for key, value in vars(counts).items() if key != "calls"}
    calls = counts.calls
    return record if calls is None else record | {"calls": [calls.get(text, 0) for text in words]}


def _json_text(value: Any) -> str:
    return json.dumps(dict(value) if isinstance(value, Mapping) else value, ensure_ascii=False)


def parse_summary(text: str, source: str) -> VerifiedSummary:
    """Parse a summary from JSON. If it is invalid, raises ConformanceError with the file name `source`."""
    try:
        data = json.loads(text)
        if data["format"] != VERIFIED_FORMAT:
            raise ConformanceError(f"{source}: format {data['format']} is not supported, expected {VERIFIED_FORMAT}")
        words = data.get("calls", {})
        return VerifiedSummary({name: _parse_surface(raw, words) for name, raw in data["surfaces"].items()})
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ConformanceError(f"{source}: not a summary of results ({type(error).__name__}: {error})") from None


def _parse_surface(raw: Mapping[str, Any], words: Mapping[str, Sequence[str]]) -> SurfaceSummary:
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
                _parse_calls(results.get("calls"), words.get(name, ())),
            )
            for name, results in raw["operators"].items()
        },
    )


def _parse_calls(counts: Sequence[int] | None, words: Sequence[str]) -> dict[str, int] | None:
    if counts is None:
        return None
    return {text: count for text, count in zip(words, counts, strict=True) if count}


@lru_cache
def shipped_summary() -> VerifiedSummary:
    """Return the summary that is shipped with the suite; an empty one if the file does not exist."""
    return (
        parse_summary(VERIFIED_PATH.read_text("utf-8"), str(VERIFIED_PATH))
        if VERIFIED_PATH.exists()
        else VerifiedSummary()
    )


@dataclass(frozen=True)
class RequestedCall:
    """A call whose verification is described.

    how: the kind of its program; call: its parameters as words, see call_text.
    known: ledger entries that apply to it; possible: those that apply to it for some numbers in its inputs.
    """

    operator: str
    how: str
    dtype: str
    rank: int
    call: str
    known: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()


def verified_sentence(summary: VerifiedSummary, surface: str, requested: RequestedCall) -> str:
    """Return a sentence with the number of verified cases of a call and of its operator on a surface."""
    results = summary.operator_summary(surface, requested.operator)
    if not results.cases:
        return (
            "not verified: no result agrees"
            if results.known or results.otherwise
            else "not verified: in no recorded run"
        )
    parts = [
        *_call_parts(results, requested),
        f"{_agreeing_text(results.cases, f'of {requested.operator}')}, "
        f"{results.agree.get(requested.how, 0):,} of them {requested.how}",
        *([f"none in {requested.dtype}"] if requested.dtype not in results.dtypes else []),
        *([f"none with {requested.rank} spatial axes"] if requested.rank not in results.ranks else []),
        *(f"{count:,} {status}" for status, count in results.otherwise.items()),
        *_deviations_text(requested.known, ""),
        *_deviations_text(requested.possible, " for some inputs"),
    ]
    version = summary.surfaces[surface].version
    if results.calls is not None and requested.call and not results.calls.get(requested.call):
        return f"not verified with {requested.call}; with other parameters, on {version}: {'; '.join(parts)}"
    return f"verified: {version}, {'; '.join(parts)}"


def _call_parts(results: OperatorSummary, requested: RequestedCall) -> Iterator[str]:
    """Yield the number of cases with the parameters of the call, if the summary has these counts."""
    count = (results.calls or {}).get(requested.call, 0)
    if count:
        yield _agreeing_text(count, f"with {requested.call}")


def _agreeing_text(count: int, which: str) -> str:
    return f"{count:,} case{'s' * (count != 1)} {which} agree{'s' * (count == 1)}"


def _deviations_text(entries: Sequence[str], when: str) -> Iterator[str]:
    if entries:
        yield f"{len(entries)} known deviation{'s' * (len(entries) != 1)}{when}: {', '.join(entries)}"


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

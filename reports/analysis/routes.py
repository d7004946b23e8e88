"""Summaries of routes: for each exporter and runtime, the unchanged, changed and refused results.

A summary has the counts of one route, and one example of each change. `docs/deployment` has one file for each route.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import field
from msgspec.json import Decoder

from reports.analysis.summary import single_line
from reports.results import (
    BackendRun,
    CaseRecord,
    CatalogueIdentity,
    Level,
    Outcome,
    Part,
    RecordedRejection,
    RecordError,
    Report,
    ResultRecord,
    without_label,
)
from reports.results.json_structs import JsonStruct, decode
from reports.results.vocabulary import ROUTE_ARROW

ROUTES_FORMAT = 1
USUAL_DTYPE = "float32"
DYNAMIC_SUFFIX = ".dynamic"
"""Ends the name of an exporter whose models have symbolic extents."""
MAX_MESSAGE_LENGTH = 200
PATH = re.compile(r"(?<![\w/])/[\w.+-]+/\S*")
"""An absolute path of a file in a message."""
LINE_KEYS = ("operators", "conventions", "changes", "refusals")
"""Keys of a file with one line for each item."""


class Arrival(Enum):
    """What became of the result of a source. The value is the name of the count in a summary."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    REFUSED = "refused"
    NOT_WRITTEN = "not_written"


class ArrivalCounts(JsonStruct, frozen=True, kw_only=True):
    """Number of cases by what became of them. not_written: the source has no program for the case."""

    unchanged: int = 0
    changed: int = 0
    refused: int = 0
    not_written: int = 0

    @property
    def written(self) -> int:
        """The number of cases for which the source has a program."""
        return self.unchanged + self.changed + self.refused

    def __add__(self, other: ArrivalCounts) -> ArrivalCounts:
        return ArrivalCounts(**{one.value: getattr(self, one.value) + getattr(other, one.value) for one in Arrival})


class OperatorArrivals(JsonStruct, frozen=True, kw_only=True):
    """The counts of one operator: in float32, and in all other dtypes."""

    operator: str
    float32: ArrivalCounts = field(default_factory=ArrivalCounts)
    other: ArrivalCounts = field(default_factory=ArrivalCounts)


class ConventionArrival(JsonStruct, frozen=True, kw_only=True):
    """The answers of a route to one convention.

    same: in some case, the answer is that of the source. changed: other answers, each with its cause.
    """

    convention: str
    same: bool = False
    changed: tuple[str, ...] = ()


class ChangeGroup(JsonStruct, frozen=True, kw_only=True):
    """Results of one operator that a route changes for one reason, or refuses with one exception.

    text: the reason of the ledger, "" if there is none, or the type of the exception. results: None if not recorded.
    case: the smallest one, "" if not recorded; size: the number of its input elements. issue: URL. message: of the
    exception of the smallest case.
    """

    operator: str
    text: str
    results: int | None = None
    parts: tuple[Part, ...]
    case: str = ""
    size: int = 0
    issue: str = ""
    message: str = ""


class RouteSummary(JsonStruct, frozen=True, kw_only=True):
    """What became of the results of a source on one route.

    cases: number of cases that ran on it. complete: the run ended, and had no filter of cases or operators. catalogue:
    None, python, platform: "" if not recorded. note: what the data lacks, as a sentence without a point.
    """

    format: Literal[1] = field(default_factory=lambda: 1)  # ROUTES_FORMAT
    route: str
    backend: str
    catalogue: CatalogueIdentity | None = None
    level: Level
    slow: bool = False
    cases: int
    complete: bool
    started: str
    python: str = ""
    platform: str = ""
    note: str = ""
    instructions: str = ""
    packages: Mapping[str, str]
    operators: tuple[OperatorArrivals, ...] = field(default_factory=lambda: ())
    conventions: tuple[ConventionArrival, ...] = field(default_factory=lambda: ())
    changes: tuple[ChangeGroup, ...] = field(default_factory=lambda: ())
    refusals: tuple[ChangeGroup, ...] = field(default_factory=lambda: ())

    @property
    def is_dynamic(self) -> bool:
        """Whether the exported models have symbolic extents."""
        return self.route.partition(ROUTE_ARROW)[0].endswith(DYNAMIC_SUFFIX)

    def total(self, dtype: str) -> ArrivalCounts:
        """Return the sum over all operators. dtype: `float32` or `other`."""
        return sum((getattr(one, dtype) for one in self.operators), ArrivalCounts())


_DECODER: Decoder[RouteSummary] = Decoder(RouteSummary)
Cases: TypeAlias = Mapping[str, CaseRecord]


def arrival(result: ResultRecord) -> Arrival:
    """Return what became of the result of the source."""
    if result.outcome == Outcome.UNSUPPORTED:
        return Arrival.NOT_WRITTEN
    if result.changed_by in {None, Part.SOURCE}:
        return Arrival.UNCHANGED
    return Arrival.REFUSED if result.outcome == Outcome.REJECTED else Arrival.CHANGED


def route_summaries(report: Report) -> list[RouteSummary]:
    """Return a summary of each route with results, in the order of the report."""
    found = [
        _summary(run, surface, [one for one in run.results if one.surface == surface])
        for run in report.backends
        for surface in run.header.surfaces
        if ROUTE_ARROW in surface
    ]
    return [one for one in found if one.cases]


def _summary(run: BackendRun, route: str, results: Sequence[ResultRecord]) -> RouteSummary:
    header, environment, selection = run.header, run.header.environment, run.header.selection
    return RouteSummary(
        route=without_label(route),
        backend=without_label(run.name),
        catalogue=header.catalogue,
        level=header.level,
        slow=header.slow,
        cases=len(results),
        complete=run.complete and not (selection.operators or selection.cases),
        started=header.started,
        python=environment.python,
        platform=environment.platform,
        instructions=environment.instructions or "",
        packages=dict(sorted(environment.packages.items())),
        operators=tuple(_operators(results, run.cases)),
        conventions=tuple(_conventions(run, route, results)),
        changes=tuple(_groups(results, run.cases, _is_changed_value, _reason)),
        refusals=tuple(_groups(results, run.cases, _is_refused, _exception)),
    )


def _operators(results: Sequence[ResultRecord], cases: Cases) -> Iterator[OperatorArrivals]:
    """Yield the counts of operators, without calls that the source rejects or must reject."""
    counts: defaultdict[str, Counter[tuple[bool, Arrival]]] = defaultdict(Counter)
    for result in results:
        case, became = cases[result.case], arrival(result)
        is_rejection = result.outcome == Outcome.REJECTED and became == Arrival.UNCHANGED
        if not isinstance(case.expected, RecordedRejection) and not is_rejection:
            counts[case.operator][_dtype(case) == USUAL_DTYPE, became] += 1
    for operator in sorted(counts):
        # No exporter writes gradients.
        if any(became != Arrival.NOT_WRITTEN for _, became in counts[operator]):
            usual, other = (
                ArrivalCounts(**{one.value: counts[operator][is_usual, one] for one in Arrival})
                for is_usual in (True, False)
            )
            yield OperatorArrivals(operator=operator, float32=usual, other=other)


def _dtype(case: CaseRecord) -> str:
    return next(iter(case.inputs.values())).dtype


def _conventions(run: BackendRun, route: str, results: Sequence[ResultRecord]) -> Iterator[ConventionArrival]:
    answers = {one.case: one for one in run.conventions if one.surface == route and one.observed}
    same: set[str] = set()
    changed: defaultdict[str, set[str]] = defaultdict(set)
    for result in results:
        if result.case not in answers:
            continue
        answer = answers[result.case]
        if result.changed_by in {None, Part.SOURCE}:
            same.add(answer.question)
        else:
            changed[answer.question].add(f"{answer.observed} ({result.changed_by})")
    for name in sorted(same | {*changed}):
        yield ConventionArrival(convention=name, same=name in same, changed=tuple(sorted(changed[name])))


def _is_changed_value(result: ResultRecord, case: CaseRecord) -> bool:
    return arrival(result) == Arrival.CHANGED and case.question is None


def _is_refused(result: ResultRecord, case: CaseRecord) -> bool:  # noqa: ARG001  # the type of a selection
    return arrival(result) == Arrival.REFUSED


def _reason(result: ResultRecord) -> tuple[str, str]:
    return result.reason or "", result.issue or ""


def _exception(result: ResultRecord) -> tuple[str, str]:
    return exception_text(result).partition(":")[0], ""


def exception_text(result: ResultRecord) -> str:
    """Return the type and the message of the exception of a result."""
    return (result.message or "").rpartition("; ")[2]


def _message(result: ResultRecord) -> str:
    """Return the message of the exception without paths of the machine, "" if there is no exception."""
    text = exception_text(result).partition(":")[2] if result.outcome == Outcome.REJECTED else ""
    return single_line(PATH.sub("…", text), MAX_MESSAGE_LENGTH)


def _groups(
    results: Iterable[ResultRecord],
    cases: Cases,
    is_chosen: Callable[[ResultRecord, CaseRecord], bool],
    text: Callable[[ResultRecord], tuple[str, str]],
) -> Iterator[ChangeGroup]:
    """Yield the chosen results by operator and text, the largest group of an operator first."""
    groups: defaultdict[tuple[str, str, str], list[ResultRecord]] = defaultdict(list)
    for result in results:
        if is_chosen(result, cases[result.case]):
            reason, issue = text(result)
            groups[cases[result.case].operator, reason, issue].append(result)
    for (operator, reason, issue), group in sorted(groups.items(), key=lambda one: (one[0][0], -len(one[1]), one[0])):
        smallest = min(group, key=lambda result: (cases[result.case].size, result.case))
        yield ChangeGroup(
            operator=operator,
            text=reason,
            results=len(group),
            parts=tuple(sorted({one.changed_by for one in group if one.changed_by})),
            case=smallest.case,
            size=cases[smallest.case].size,
            issue=issue,
            message=_message(smallest),
        )


def route_file_name(route: str) -> str:
    """Return the name of the file of a route: `exporter--runtime.json`."""
    return f"{route.replace(ROUTE_ARROW, '--')}.json"


def route_json(summary: RouteSummary) -> str:
    """Return a summary as JSON with one line for each operator, convention, change and refusal."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {_value(key, one)}" for key, one in _values(summary)) + "\n}\n"


def _values(summary: RouteSummary) -> Iterable[tuple[str, Any]]:
    return summary.json_values().items()


def _value(key: str, value: Any) -> str:
    if key not in LINE_KEYS or not value:
        return json.dumps(value, ensure_ascii=False)
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in value)
    return f"[\n{lines}\n]"


def read_route(path: Path) -> RouteSummary:
    """Read the file of a route. Raises RecordError with one line that names the file and the key."""
    try:
        summary = decode(path.read_bytes(), _DECODER)
    except (RecordError, OSError) as error:
        raise RecordError(f"{path}: {error}") from None
    if path.name != route_file_name(summary.route):
        raise RecordError(f"{path}: route: {summary.route!r} belongs to {route_file_name(summary.route)}")
    return summary

"""Measurements on the page of replayed bugs: exploration, a sample of differences, and the figures of fuzzers.

benchmarks/explore_replay.py and benchmarks/sample_differences.py write the files in docs/replay/measured, except
standard.json. It and the YAML files in docs/replay are written by hand: lists.yaml has the published lists of fuzzers,
fuzzers.yaml their figures, and verdicts.yaml the verdicts on the sample.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from conformance import ConformanceError
from conformance.cases.yaml_reader import read_yaml
from docs.generate.backends import REPOSITORY_ROOT
from reports.results.vocabulary import Word
from reports.views.markdown_layout import code_span, table_text

FOLDER = REPOSITORY_ROOT / "docs" / "replay"
EXPLORED_FILE = FOLDER / "measured" / "explored.json"
SAMPLE_FILE = FOLDER / "measured" / "differences.json"
STANDARD_FILE = FOLDER / "measured" / "standard.json"
VERDICTS_FILE = FOLDER / "verdicts.yaml"
LISTS_FILE = FOLDER / "lists.yaml"
FUZZERS_FILE = FOLDER / "fuzzers.yaml"
SECONDS_PER_HOUR = 3600
Z_95 = 1.959964
"""Quantile of the normal distribution for a two-sided interval of 95 %."""
T = TypeVar("T")


class Found(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first case that shows a bug. number: cases drawn until then; by: what attributes its difference to it."""

    number: int
    case: str
    symptom: str
    by: str


class Explored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A search for a bug. report, case, surface: those of the bug; release: the one that was explored.

    limit: maximum number of cases; cases: cases drawn until the end of the search; checked: those of them with an
    expected result; removed: ledger entries that were not used; note: why differences were attributed, or not.
    """

    report: str
    case: str
    surface: str
    release: str
    seed: int
    limit: int
    cases: int
    checked: int
    cpu_seconds: float
    found: Found | None = None
    removed: tuple[str, ...] = ()
    note: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Report, case and surface of the bug."""
        return self.report, self.case, self.surface

    @property
    def result(self) -> str:
        """The cell of the page."""
        if self.found:
            return f"found in case {self.found.number:,} ({self.release})"
        return f"not found in {self.cases:,} cases ({self.release})"


class DifferenceVerdict(Word):
    """What a person says of a reported difference."""

    REAL = "real"
    DOCUMENTED = "documented"
    FALSE_ALARM = "false alarm"


class DifferenceKindOfRun(Word):
    """How a run reports a difference: as one that a ledger entry explains, or as an answer to a convention."""

    KNOWN = "known"
    CONVENTION = "convention"


class Judged(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A verdict on a difference. reproduced: whether its program was run alone."""

    case: str
    surface: str
    verdict: DifferenceVerdict
    reason: str
    reproduced: bool = False


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A difference that a run reports. kind: known or convention; cause: the ledger entry or the convention."""

    backend: str
    case: str
    surface: str
    kind: DifferenceKindOfRun
    cause: str
    status: str = ""
    kind_of_difference: str = ""
    observed: str = ""


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A random sample. population: number of differences by backend and kind."""

    seed: int
    population: dict[str, int]
    items: tuple[Difference, ...]


class StandardRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A run at level standard. name: what was run; found, count: what it shows; cpu_seconds: with its workers."""

    name: str
    found: str
    count: int
    cpu_seconds: float


class HowRead(Word):
    """What of a published list could be read."""

    TITLES = "titles"
    LINKS = "links"
    NOT = "no"


class Scope(Word):
    """What became of a report of a list."""

    IN_CATALOGUE = "in the catalogue"
    NOT_REPLAYED = "not replayed"
    OTHER_OPERATORS = "other operators"
    COMPILER = "pass of a compiler"
    SANITIZER = "sanitizer"
    GPU = "GPU"
    NO_BACKEND = "no backend"


class ListedReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A report of a published list about a window operator."""

    report: str
    kind: Scope
    reason: str = ""


class BugList(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"name": "list"}):
    """A published list. listed: number of its bugs, also of other operators."""

    name: str
    source: str
    read: HowRead
    listed: int
    reports: tuple[ListedReport, ...] = ()
    note: str = ""


class Fuzzer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Published figures of a fuzzer. time: of the search; false_positives: their share; read: the sources."""

    name: str
    bugs: str
    time: str
    false_positives: str
    source: str
    read: str


def read_data(path: Path, kind: type[T]) -> T:
    """Read a file as a type. Raises ConformanceError with one line."""
    data: Any = json.loads(path.read_bytes()) if path.suffix == ".json" else read_yaml(path).data
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ConformanceError(f"{path}: {error}") from None


def read_explored() -> tuple[Explored, ...]:
    """Return all searches."""
    return read_data(EXPLORED_FILE, tuple[Explored, ...])


def read_sample() -> Sample:
    """Return the sample of differences."""
    return read_data(SAMPLE_FILE, Sample)


def read_verdicts() -> tuple[Judged, ...]:
    """Return the verdicts on the sample."""
    return read_data(VERDICTS_FILE, tuple[Judged, ...])


def read_lists() -> tuple[BugList, ...]:
    """Return the published lists of fuzzers."""
    return read_data(LISTS_FILE, tuple[BugList, ...])


def read_fuzzers() -> tuple[Fuzzer, ...]:
    """Return the published figures of fuzzers."""
    return read_data(FUZZERS_FILE, tuple[Fuzzer, ...])


def read_standard_runs() -> tuple[StandardRun, ...]:
    """Return the runs at level standard whose processor time was measured."""
    return read_data(STANDARD_FILE, tuple[StandardRun, ...])


def interval(count: int, size: int) -> tuple[float, float]:
    """Return the Wilson interval of 95 % for a share: count of size. Both are between 0 and 1."""
    share, square = count / size, Z_95**2
    centre = (share + square / (2 * size)) / (1 + square / size)
    half = Z_95 / (1 + square / size) * sqrt(share * (1 - share) / size + square / (4 * size**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def share_text(count: int, size: int) -> str:
    """Return a share with its interval, such as `3 of 100, 3 % (95 % interval 1 to 8 %)`."""
    low, high = interval(count, size)
    return f"{count} of {size}, {100 * count / size:.0f} % (95 % interval {100 * low:.0f} to {100 * high:.0f} %)"


def verdict_counts(
    sample: Sample, verdicts: Sequence[Judged]
) -> Counter[tuple[DifferenceKindOfRun, DifferenceVerdict]]:
    """Return the number of sampled differences by kind and verdict."""
    kinds = {(one.case, one.surface): one.kind for one in sample.items}
    return Counter((kinds[one.case, one.surface], one.verdict) for one in verdicts)


def not_real_share(sample: Sample, verdicts: Sequence[Judged]) -> str:
    """Return the share of the known differences that are documented or false alarms."""
    counts = verdict_counts(sample, verdicts)
    known = {verdict: counts[DifferenceKindOfRun.KNOWN, verdict] for verdict in DifferenceVerdict}
    size = sum(known.values())
    return share_text(size - known[DifferenceVerdict.REAL], size)


def population_of(sample: Sample, kind: DifferenceKindOfRun) -> int:
    """Return the number of differences of a kind on all backends."""
    return sum(count for name, count in sample.population.items() if name.split()[-1] == kind)


def verdict_summary(sample: Sample, verdicts: Sequence[Judged]) -> str:
    """Return the table of the verdicts on each kind of difference."""
    counts = verdict_counts(sample, verdicts)
    rows = []
    for kind in DifferenceKindOfRun:
        of_kind = [counts[kind, verdict] for verdict in DifferenceVerdict]
        low, high = interval(of_kind[-1], sum(of_kind))
        share = f"{100 * low:.0f} to {100 * high:.0f} %"
        rows.append([kind, f"{population_of(sample, kind):,}", str(sum(of_kind)), *map(str, of_kind), share])
    head = ["difference", "in a run", "sampled", *DifferenceVerdict, "share of false alarms, 95 % interval"]
    return table_text(head, rows)


def explored_hours(explored: Sequence[Explored]) -> float:
    """Return the processor time of all searches in hours, also of those that found nothing."""
    return sum(one.cpu_seconds for one in explored) / SECONDS_PER_HOUR


def lists_table(lists: Sequence[BugList]) -> str:
    """Return the table of the published lists."""
    head = ["list", "bugs listed", "read", "reports about window operators", "of these"]
    rows = [
        [
            f"[{one.name}]({one.source})",
            str(one.listed),
            one.read,
            str(len(one.reports)) if one.reports else "not known",
            _scopes(one),
        ]
        for one in lists
    ]
    return table_text(head, rows)


def _scopes(one: BugList) -> str:
    counts = Counter(report.kind for report in one.reports)
    text = ", ".join(f"{counts[kind]} {kind}" for kind in Scope if counts[kind])
    return " ".join(filter(None, (text and f"{text}.", one.note)))


def out_of_scope_table(lists: Sequence[BugList], link: Any) -> str:
    """Return the table of the listed reports that are not in the catalogue. link: returns the link of a report."""
    rows = [
        [one.name, link(report.report), report.kind, report.reason]
        for one in lists
        for report in one.reports
        if report.kind != Scope.IN_CATALOGUE
    ]
    return table_text(["list", "report", "class", "reason"], rows)


def fuzzers_table(fuzzers: Sequence[Fuzzer]) -> str:
    """Return the table of the published figures."""
    head = ["fuzzer", "bugs", "time", "false positives", "read in"]
    return table_text(
        head, [[f"[{one.name}]({one.source})", one.bugs, one.time, one.false_positives, one.read] for one in fuzzers]
    )


def verdict_table(sample: Sample, verdicts: Sequence[Judged], verdict: DifferenceVerdict) -> str:
    """Return the table of the differences of a sample that have a verdict."""
    causes = {(one.case, one.surface): one.cause for one in sample.items}
    rows = [
        [code_span(one.case), code_span(one.surface), code_span(causes[one.case, one.surface]), one.reason]
        for one in verdicts
        if one.verdict == verdict
    ]
    return table_text(["case", "surface", "ledger entry or convention", "reason"], rows)

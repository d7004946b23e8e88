"""What all views say alike: counts, problems, the verdict in a sentence, groups of differences."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reports.results.reader import BackendRun, Report
from reports.results.records import STATUSES, CaseRecord, ConventionRecord, ResultRecord

UNEXPECTED_STATUSES = ("fail", "crashed", "timed_out", "flaky", "stale")  # what turns a run red
DIFFERING_STATUSES = (*UNEXPECTED_STATUSES, "known")
STATUS_SIGNS = {
    "pass": "✓", "known": "≈", "unsupported": "–", "fail": "✗",
    "crashed": "!", "timed_out": "…", "flaky": "~", "stale": "?",
}  # fmt: skip
STATUS_TEXTS = {status: status.replace("_", " ") for status in STATUSES}
STATUS_EXPLANATIONS = {
    "fail": "failed, and no ledger entry explains it",
    "crashed": "crashed the process",
    "timed_out": "timed out",
    "flaky": "flickered, not the same twice",
    "stale": "agreed where the ledger says that they differ (stale)",
}
MAX_LISTED_NAMES = 6  # surfaces in one sentence
KIND_ACTIONS = {
    "shape": "returns another shape",
    "dtype": "returns another dtype",
    "value": "returns other values",
    "special": "treats NaN or infinity differently",
    "pinned": "misses a printed reading",
    "accepted": "accepts what must be rejected",
    "rejected": "rejects what must be accepted",
    "convention": "answers a question otherwise than it declares",
    "changed": "answers a question otherwise than it was seen to",
    "crashed": "crashes the process",
    "timed_out": "does not come to an end",
    "flaky": "is not the same twice",
}


@dataclass(frozen=True)
class DifferenceGroup:
    """Differences with one cause: the same operator, status, kind and explanation; the smallest case first."""

    operator: str
    status: str
    kind: str
    reason: str
    issue: str | None
    results: tuple[ResultRecord, ...]

    @property
    def example(self) -> ResultRecord:
        """The difference on the smallest inputs, worst first."""
        return self.results[0]

    @property
    def surfaces(self) -> tuple[str, ...]:
        """The surfaces affected, by name."""
        return tuple(sorted({result.surface for result in self.results}))

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases affected, smallest first."""
        return tuple(dict.fromkeys(result.case for result in self.results))

    @property
    def action(self) -> str:
        """What the surfaces do, as a half-sentence."""
        return "agrees, against the ledger" if self.status == "stale" else KIND_ACTIONS.get(self.kind, "differs")


@dataclass(frozen=True)
class ReportVerdict:
    """The whole report in a sentence."""

    is_good: bool
    headline: str
    sentence: str


def count_by_status(results: Iterable[ResultRecord]) -> dict[str, int]:
    """Count results by status; only statuses that occur, worst first."""
    counted = Counter(result.status for result in results)
    return {status: counted[status] for status in STATUSES if counted[status]}


def counts_by_surface(report: Report) -> dict[str, dict[str, int]]:
    """Count the results of every surface by status, a surface without results included."""
    results: dict[str, list[ResultRecord]] = {surface: [] for surface in report.surfaces}
    for result in report.results:
        results[result.surface].append(result)
    return {surface: count_by_status(of_surface) for surface, of_surface in results.items()}


def passing_share(counts: Mapping[str, int]) -> float | None:
    """Return the share of results that pass among those that could be judged, None where none could."""
    judged = sum(number for status, number in counts.items() if status != "unsupported")
    return counts.get("pass", 0) / judged if judged else None


def occurring_statuses(counts: dict[str, dict[str, int]]) -> list[str]:
    """List the statuses that occur anywhere in counts by surface, worst first; `pass` always stands there."""
    return [status for status in STATUSES if status == "pass" or any(status in one for one in counts.values())]


def counts_by_operator(report: Report) -> dict[str, dict[str, dict[str, int]]]:
    """Count by operator and surface: operators by name, only surfaces that have results there."""
    cells: defaultdict[tuple[str, str], list[ResultRecord]] = defaultdict(list)
    cases = report.cases
    for result in report.results:
        cells[cases[result.case].operator, result.surface].append(result)
    rows: dict[str, dict[str, dict[str, int]]] = {}
    for (operator, surface), results in sorted(cells.items()):
        rows.setdefault(operator, {})[surface] = count_by_status(results)
    return rows


def nothing_ran(backend: BackendRun) -> bool:
    """Whether no program of a backend was executed at all; a shard or an exploration may hold none."""
    whole = backend.header.shard is None and backend.header.explored is None
    return whole and all(result.outcome == "unsupported" for result in backend.results)


def report_problems(report: Report) -> list[str]:
    """Say what is wrong with the runs and their results, one sentence each; empty where all is well."""
    found = [] if report.runs else ["There are no results."]
    found += [*report.mixture_notes, *(fault for run in report.runs for fault in run_problems(run))]
    found += [
        _status_problem(status, report) for status in UNEXPECTED_STATUSES if status in count_by_status(report.results)
    ]
    return found + [
        f"{name}: exploring found {count_text(number, 'difference')} that nobody knew of."
        for name, number in _finding_counts(report).items()
    ]


def run_problems(backend: BackendRun) -> list[str]:
    """Say what is wrong with the run of a backend as a whole, one sentence each; empty where it is whole."""
    done = count_text(len(backend.results), "result")
    partial = f"{backend.name}: partial run, it stopped after {done} without coming to its end."
    return [*([] if backend.complete else [partial]), *([f"{backend.name}: nothing ran."] * nothing_ran(backend))]


def _finding_counts(report: Report) -> dict[str, int]:
    """Count the findings of each exploration that has any."""
    explored = {run.name: run.header.explored for run in report.explorations}
    return {name: len(one.findings) for name, one in explored.items() if one and one.findings}


def _status_problem(status: str, report: Report) -> str:
    where = Counter(result.surface for result in report.results if result.status == status)
    named = [f"{surface} ({number:,})" for surface, number in sorted(where.items(), key=lambda one: (-one[1], one[0]))]
    more = [f"{len(named) - MAX_LISTED_NAMES} more"] if len(named) > MAX_LISTED_NAMES else []
    return f"{count_text(where.total(), 'result')} {STATUS_EXPLANATIONS[status]}: {', '.join(named[:MAX_LISTED_NAMES] + more)}."


def report_verdict(report: Report) -> ReportVerdict:
    """Say in a sentence how the run went."""
    counted = count_by_status(report.results)
    bad = sum(counted.get(status, 0) for status in UNEXPECTED_STATUSES)
    sound = not report.mixture_notes and not any(run_problems(run) for run in report.runs)
    good = bool(report.runs) and sound and not bad and not _finding_counts(report)
    return ReportVerdict(
        good,
        _verdict_headline(report, bad, sound),
        " ".join([*_counts_sentence(report), *_exploration_sentences(report)]),
    )


def _verdict_headline(report: Report, bad: int, sound: bool) -> str:
    found = sum(_finding_counts(report).values())
    if bad or found:
        counted = [
            *([count_text(bad, "unexpected result")] if bad else []),
            *([count_text(found, "finding")] if found else []),
        ]
        return ", ".join(counted)
    if all(nothing_ran(run) for run in report.runs):
        return "Nothing ran"
    if not sound:
        return "The runs do not go together" if report.mixture_notes else "The run is incomplete"
    known = count_by_status(report.results).get("known", 0)
    if not report.backends:
        return "Nothing was found"
    return f"As expected, with {count_text(known, 'known difference')}" if known else "All agree"


def _exploration_sentences(report: Report) -> list[str]:
    """Say what was explored, a sentence for each backend."""
    found = _finding_counts(report)
    return [
        f"Exploring {run.name} tried {count_text(run.header.explored.cases, 'case')}: "
        f"{count_text(found.get(run.name, 0), 'finding')}."
        for run in report.explorations
        if run.header.explored
    ]


def _counts_sentence(report: Report) -> list[str]:
    """Say how many results there are of what; nothing of explorations alone."""
    if report.explorations and not report.backends:
        return []
    counted = count_by_status(report.results)
    surfaces, backends = count_text(len(report.surfaces), "surface"), count_text(len(report.backends), "backend")
    parts = ", ".join(f"{counted[status]:,} {STATUS_TEXTS[status]}" for status in STATUSES if status in counted)
    total = count_text(sum(counted.values()), "result")
    cases = count_text(report.size, "case")
    shards = [f"Of {one.name} only shard {one.header.shard}." for one in report.backends if one.header.shard]
    counts = f"{total} of {cases} on {surfaces} of {backends}" + (f": {parts}." if parts else ".")
    return [counts, *shards]


def difference_groups(report: Report) -> list[DifferenceGroup]:
    """Group everything that differs, crashes, hangs, flickers or is stale by its cause; unexpected before known."""
    cases = report.cases  # explanations that differ only in numbers are one cause
    found: defaultdict[tuple[str, ...], list[ResultRecord]] = defaultdict(list)
    for result in report.results:
        if result.status in DIFFERING_STATUSES:
            found[_difference_cause(result, cases[result.case])].append(result)
    grouped = [_make_group(cause, results, cases) for cause, results in found.items()]
    return sorted(grouped, key=lambda group: (*_group_rank(group, cases), group.operator, group.kind, group.reason))


def _difference_cause(result: ResultRecord, case: CaseRecord) -> tuple[str, ...]:
    return (case.operator, result.status, difference_kind(result), normalise_explanation(_explanation(result)))


def normalise_explanation(explanation: str) -> str:
    """Return an explanation with `#` for each number, and for each address in memory, as it is compared with others."""
    return re.sub(r"0x[0-9a-fA-F]+|\d+", "#", explanation)


def difference_kind(result: ResultRecord) -> str:
    """Name what a result does that is not as it should be: a kind of difference, an outcome, or that it flickers."""
    return result.status if result.status == "flaky" else result.kind or result.outcome


def _explanation(result: ResultRecord) -> str:
    told = result.verdict != "agree" or result.status == "flaky"
    return result.reason or (result.message if told else None) or ""


def _make_group(cause: tuple[str, ...], results: list[ResultRecord], cases: dict[str, CaseRecord]) -> DifferenceGroup:
    operator, status, kind, _ = cause
    issue = next((result.issue for result in results if result.issue), None)
    ordered = sorted(results, key=lambda result: (cases[result.case].size, result.case, result.surface))
    return DifferenceGroup(operator, status, kind, _explanation(ordered[0]), issue, tuple(ordered))


def _group_rank(group: DifferenceGroup, cases: dict[str, CaseRecord]) -> tuple[int, int]:
    return STATUSES.index(group.status), cases[group.example.case].size


def answers_by_convention(report: Report) -> dict[str, dict[str, ConventionRecord]]:
    """Answers by question and surface, both sorted by name; of several cases one that contradicts, or the first."""
    rows: dict[str, dict[str, ConventionRecord]] = {}
    everything = [convention for backend in report.backends for convention in backend.conventions]
    order = sorted(everything, key=lambda one: (one.question, one.surface, not one.contradicted))
    for convention in order:
        rows.setdefault(convention.question, {}).setdefault(convention.surface, convention)
    return rows


def unsupported_by_reason(report: Report) -> dict[str, list[ResultRecord]]:
    """Unsupported results by reason, the most frequent first."""
    found: defaultdict[str, list[ResultRecord]] = defaultdict(list)
    for result in report.results:
        if result.status == "unsupported":
            found[result.reason or result.message or "no reason given"].append(result)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def predicate_text(predicate: str) -> str:
    """Spell a predicate's name in words: WindowExceedsPaddedInput becomes "window exceeds padded input"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", predicate).lower()


def count_text(number: int, noun: str) -> str:
    """Write a number with its noun: "1 case", "1,200 cases"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def escape_control_characters(text: str) -> str:
    """Spell out control and formatting characters, which a terminal would obey instead of showing."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def single_line(text: str, longest: int) -> str:
    """Return any text as one line of at most so many characters, with nothing in it that a terminal obeys."""
    line = escape_control_characters(" ".join(text.split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"

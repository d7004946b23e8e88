"""Generate the page of replayed bugs, replay.md: bugs that others published, and what the suite returns for them.

`python -m docs.generate.replay` updates the page. docs/replay/bugs.yaml lists the bugs. The answers of releases are in
docs/compat and, for more cases and backends, in docs/replay: release data in the format of docs/compat/schema.json, as
`conformance compat` writes it. The command removes the records there that no bug names.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.cases.yaml_reader import read_yaml
from conformance.judging.release_answers import (
    AnswerRange,
    ReleaseData,
    read_release_data,
    release_data_files,
)
from docs.generate import replay_measured as measured
from docs.generate.backends import REPOSITORY_ROOT
from docs.generate.replay_measured import DifferenceVerdict, Explored
from reports.analysis.releases.history import release_data_json
from reports.results.vocabulary import Word
from reports.views.markdown_layout import code_span, table_text
from reports.views.template_environment import render_markdown_template

DOCS = REPOSITORY_ROOT / "docs"
PAGE = DOCS / "replay.md"
BUGS_FILE = DOCS / "replay" / "bugs.yaml"
TRACKER = "https://github.com/{}/issues/{}"
"""GitHub redirects to the pull request if the number is one."""
Key = tuple[str, str, str]
"""Surface, case and release."""
BugKey = tuple[str, str, str]
"""Report, case and surface of a bug."""
NOT_EXPLORED = "not explored"


class ReplayStatus(Word):
    """What a run of the release with a bug shows."""

    DETECTED = "detected"
    DETECTED_CONVENTION = "detected as a convention"
    NOT_DETECTED = "not detected"
    NOT_RUN = "not run"
    OUT_OF_SCOPE = "out of scope"


class Bug(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bug that others published.

    report: tracker and number, such as onnx/onnx#4958; also: further reports of the bug, and its fix; problem: one
    sentence; case, surface: what shows the bug; had: a release with the bug that was run; answer: the answer of that
    release that shows the bug, or "agree" if the case does not show it; fixed: a release that was run and is right;
    reason: why the case does not show it, why no release with the bug was run, or why no case can show it.
    """

    report: str
    problem: str
    also: tuple[str, ...] = ()
    case: str = ""
    surface: str = ""
    had: str = ""
    answer: str = ""
    fixed: str = ""
    reason: str = ""

    @property
    def key(self) -> BugKey:
        """Report, case and surface, which no two bugs have in common."""
        return self.report, self.case, self.surface

    @property
    def in_scope(self) -> bool:
        """Whether the suite can express the bug as a case."""
        return bool(self.case)


@dataclass(frozen=True)
class Answer:
    """The answer of a release to a case. declared: the answer that the surface declares today if it is a convention."""

    span: AnswerRange
    declared: str | None

    @property
    def differs(self) -> bool:
        """Whether a run reports a difference: from the expected result, or from the declared answer."""
        return bool(self.span.differences(self.declared))


@dataclass(frozen=True)
class Replay:
    """A bug with the answers of the release that had it and of the fixed one. None: not named, or not run."""

    bug: Bug
    had: Answer | None
    fixed: Answer | None

    @property
    def status(self) -> ReplayStatus:
        """The section of the page that the bug belongs to."""
        if not self.bug.in_scope:
            return ReplayStatus.OUT_OF_SCOPE
        if self.had is None:
            return ReplayStatus.NOT_RUN
        if not self.had.differs:
            return ReplayStatus.NOT_DETECTED
        return ReplayStatus.DETECTED if self.had.declared is None else ReplayStatus.DETECTED_CONVENTION


def read_bugs(path: Path = BUGS_FILE) -> tuple[Bug, ...]:
    """Read the list of bugs. Raises ConformanceError with one line."""
    try:
        return msgspec.convert(read_yaml(path).data, tuple[Bug, ...])
    except msgspec.ValidationError as error:
        raise ConformanceError(f"{path}: {error}") from None


def run_data() -> list[ReleaseData]:
    """Return the answers of all releases that were run."""
    return [read_release_data(path) for path in (*release_data_files(), *sorted(BUGS_FILE.parent.glob("*.json")))]


def answers_by_key(found: Iterable[ReleaseData]) -> dict[Key, Answer]:
    """Return the answers of all releases that were run, with the declarations of today."""
    answers = {}
    for data in found:
        declarations = {one.name: one.declarations for one in registry.get_backend(data.backend).surfaces}
        for record in data.records:
            declaration = declarations[record.surface].get(record.question) if record.question else None
            declared = declaration and declaration.for_processor(data.cpu).for_case(record.case).answer
            for span in record.ranges:
                answers |= {(record.surface, record.case, version): Answer(span, declared) for version in span.run}
    return answers


def replays(bugs: Iterable[Bug], answers: Mapping[Key, Answer]) -> list[Replay]:
    """Return the bugs with the answers of the releases that they name."""
    keys = ((bug, (bug.surface, bug.case)) for bug in bugs)
    return [Replay(bug, answers.get((*key, bug.had)), answers.get((*key, bug.fixed))) for bug, key in keys]


def replay_page() -> str:
    """Return the whole page."""
    data = run_data()
    found = replays(read_bugs(), answers_by_key(data))
    explored = measured.read_explored()
    cells = _explored_cells(explored)
    by_status = {status: [one for one in found if one.status == status] for status in ReplayStatus}
    run = [one for one in found if one.had]
    return render_markdown_template(
        "docs.generate",
        "replay.md.j2",
        total=len(found),
        counts=Counter(one.status for one in found),
        in_scope=sum(one.bug.in_scope for one in found),
        run=len(run),
        right=sum(one.fixed is not None and not one.fixed.differs for one in found),
        run_and_right=sum(one.fixed is not None and not one.fixed.differs for one in run),
        unfixed=sum(not one.bug.fixed for one in run),
        trackers=_tracker_table(found),
        detected=_run_table(by_status[ReplayStatus.DETECTED], cells),
        conventions=_run_table(by_status[ReplayStatus.DETECTED_CONVENTION], cells),
        not_detected=_reason_table(by_status[ReplayStatus.NOT_DETECTED], "why not", cells),
        not_run=_reason_table(by_status[ReplayStatus.NOT_RUN], "why the release was not run"),
        out_of_scope=_reason_table(by_status[ReplayStatus.OUT_OF_SCOPE], "why"),
        platforms=sorted({one.platform for one in data}),
        notes=_note_table(explored),
        **_exploration_values(explored),
        **_false_alarm_values(),
        **_fuzzer_values(),
    )


def _exploration_values(explored: Sequence[Explored]) -> dict[str, Any]:
    """Return the numbers of the section about exploration. A bug is found if one of its searches finds it."""
    return {
        "searched": len({one.key for one in explored}),
        "shown": len({one.key for one in explored if one.found}),
        "numbers": sorted(one.found.number for one in explored if one.found),
        "hours": measured.explored_hours(explored),
        "limits": alternatives(f"{limit:,}" for limit in sorted({one.limit for one in explored})),
        "standard": measured.read_standard_runs(),
    }


def alternatives(texts: Iterable[str]) -> str:
    """Return texts as alternatives, such as `50, 500 or 2,000`."""
    *others, last = texts
    return f"{', '.join(others)} or {last}" if others else last


def _false_alarm_values() -> dict[str, Any]:
    """Return the numbers and tables of the section about false alarms."""
    sample, verdicts = measured.read_sample(), measured.read_verdicts()
    false_alarms = sum(one.verdict == DifferenceVerdict.FALSE_ALARM for one in verdicts)
    return {
        "sample": sample,
        "verdicts": measured.verdict_summary(sample, verdicts),
        "false_alarms": measured.share_text(false_alarms, len(verdicts)),
        "strict": measured.not_real_share(sample, verdicts),
        "run_again": sum(bool(one.status) for one in sample.items),
        "reproduced": sum(one.reproduced for one in verdicts),
        "false_alarm_table": measured.verdict_table(sample, verdicts, DifferenceVerdict.FALSE_ALARM),
        "documented_table": measured.verdict_table(sample, verdicts, DifferenceVerdict.DOCUMENTED),
    }


def _fuzzer_values() -> dict[str, str]:
    """Return the tables about fuzzers."""
    lists = measured.read_lists()
    return {
        "lists": measured.lists_table(lists),
        "listed_out": measured.out_of_scope_table(lists, report_link),
        "fuzzers": measured.fuzzers_table(measured.read_fuzzers()),
    }


def _explored_cells(explored: Iterable[Explored]) -> dict[BugKey, str]:
    """Return the result of exploration for each bug that was searched; with several seeds, all results."""
    cells: dict[BugKey, list[str]] = {}
    for one in explored:
        cells.setdefault(one.key, []).append(one.result)
    return {key: "; ".join(results) for key, results in cells.items()}


def _note_table(explored: Iterable[Explored]) -> str:
    rows = [
        [
            report_link(one.report),
            code_span(one.surface),
            one.result,
            code_span(one.found.case) if one.found else "",
            one.note,
        ]
        for one in explored
        if one.note
    ]
    return table_text(["report", "surface", "result", "first case", "note"], rows)


def _tracker_table(found: Sequence[Replay]) -> str:
    counts = Counter((one.bug.report.partition("#")[0], one.status) for one in found)
    trackers = sorted({tracker for tracker, _ in counts})
    rows = [[tracker, *(str(counts[tracker, status] or "") for status in ReplayStatus)] for tracker in trackers]
    return table_text(["tracker", *ReplayStatus], rows)


def _run_table(found: Iterable[Replay], explored: Mapping[BugKey, str]) -> str:
    head = ["report", "bug", "case", "surface", "releases with it that were run", "what they returned", "right in"]
    rows = [
        [*_bug_cells(one.bug), *_had_cells(one.had), _fixed_cell(one), explored.get(one.bug.key, NOT_EXPLORED)]
        for one in found
        if one.had
    ]
    return table_text([*head, "exploration"], rows)


def _reason_table(found: Iterable[Replay], title: str, explored: Mapping[BugKey, str] | None = None) -> str:
    head = ["report", "bug", "case", "surface", "right in", title, *(["exploration"] if explored else [])]
    rows = [
        [
            *(*_bug_cells(one.bug), _fixed_cell(one), one.bug.reason),
            *([explored.get(one.bug.key, NOT_EXPLORED)] if explored else []),
        ]
        for one in found
    ]
    return table_text(head, rows)


def _bug_cells(bug: Bug) -> list[str]:
    links = ", ".join(map(report_link, (bug.report, *bug.also)))
    return [links, bug.problem, *(code_span(text) if text else "" for text in (bug.case, bug.surface))]


def report_link(report: str) -> str:
    """Return a Markdown link to a report such as onnx/onnx#4958."""
    return f"[{report}]({TRACKER.format(*report.split('#'))})"


def _had_cells(answer: Answer) -> list[str]:
    run = answer.span.run
    versions = run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}"
    # The last output of a process that ended has addresses and times.
    observed = answer.span.evidence.observed.partition("; last output:")[0]
    return [versions, f"{answer.span.answer}: {observed}" if observed else answer.span.answer]


def _fixed_cell(one: Replay) -> str:
    return f"{one.bug.fixed} ({one.fixed.span.answer})" if one.fixed else ""


def remove_unnamed_records(bugs: Iterable[Bug], folder: Path = BUGS_FILE.parent) -> None:
    """Remove the records of release data that no bug names."""
    named = {(bug.surface, bug.case) for bug in bugs}
    for path in folder.glob("*.json"):
        data = json.loads(path.read_text("utf-8"))
        data["records"] = [one for one in data["records"] if (one["surface"], one["case"]) in named]
        path.write_text(release_data_json(data), "utf-8")


if __name__ == "__main__":
    remove_unnamed_records(read_bugs())
    PAGE.write_text(replay_page(), "utf-8")

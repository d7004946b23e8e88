"""Answers of the releases of a framework: changes between neighbours, spans of equal answers, and release data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from reports.analysis.deviation import deviation_text
from reports.analysis.summary import single_line
from reports.analysis.value_text import array_text
from reports.results import BackendRun, CaseRecord, DifferenceKind, Outcome, ResultRecord, Verdict, without_label

MAX_EVIDENCE_LENGTH = 160
"""Maximum number of characters of what a release returned or raised."""
CACHE_FOLDER = re.compile(r"/\S*/\.cache/\S*/")
"""The folder of a compiled program in the error of a framework. It names the user and the machine."""
Results = Mapping[str, ResultRecord]
"""Results of one surface and case, by release."""
RELEASE, PROGRAM, UNKNOWN = "release", "program", "unknown"
"""Cause of a new answer: the release, which gives it to the older program too; the other program, as the release gives
another answer to the older one; or not known."""
Key = tuple[str, str]
"""Surface and case."""


@dataclass(frozen=True)
class Span:
    """Neighbouring releases with one answer. first, last: the versions of the span that were run."""

    surface: str
    case: str
    answer: str
    first: str
    last: str


@dataclass(frozen=True)
class Change:
    """Two neighbouring releases that answer a case differently."""

    surface: str
    case: str
    old_version: str
    new_version: str
    old: str
    new: str


def answers_of_run(run: BackendRun) -> dict[Key, str]:
    """Return the answer of each surface to each case: that to a convention, the verdict, or the outcome.

    The adapter decides what is unsupported, not the release, so such a case has no answer.
    """
    observed = {(one.case, one.surface): one.observed for one in run.conventions}
    answers = {}
    for one in run.results:
        if one.outcome is Outcome.UNSUPPORTED:
            continue
        answer = str(one.outcome)
        if one.outcome is Outcome.RETURNED:
            answer = " ".join(str(part) for part in (one.verdict, one.kind) if part) or answer
        elif one.verdict:
            answer = f"{answer}, {one.verdict}"
        # The verdict on an answer to a convention depends on the declaration, which is that of the current release.
        answers[without_label(one.surface), one.case] = observed.get((one.case, one.surface)) or answer
    return answers


def release_spans(answers: Mapping[str, Mapping[Key, str]]) -> list[Span]:
    """Return the spans of equal answers by surface and case. answers: by version, oldest first."""
    spans: list[Span] = []
    for surface, case in sorted({key for of_version in answers.values() for key in of_version}):
        current: Span | None = None
        for version, of_version in answers.items():
            answer = of_version.get((surface, case))
            if current and answer == current.answer:
                current = Span(surface, case, current.answer, current.first, version)
                continue
            spans += [current] if current else []
            current = Span(surface, case, answer, version, version) if answer is not None else None
        spans += [current] if current else []
    return spans


def release_changes(answers: Mapping[str, Mapping[Key, str]]) -> list[Change]:
    """Return the changes between neighbouring releases that both have an answer. answers: by version, oldest first."""
    versions = list(answers)
    return [
        Change(*key, old, new, answers[old][key], answers[new][key])
        for old, new in pairwise(versions)
        for key in sorted(answers[old].keys() & answers[new].keys())
        if answers[old][key] != answers[new][key]
    ]


def history_json(backend: str, answers: Mapping[str, Mapping[Key, str]]) -> dict[str, Any]:
    """Return the history as JSON data. version_added is None if the first release has the answer already."""
    versions = list(answers)
    records = []
    for span in release_spans(answers):
        after = versions[versions.index(span.last) + 1 :]
        records.append(
            {
                "surface": span.surface,
                "case": span.case,
                "answer": span.answer,
                "version_added": None if span.first == versions[0] else span.first,
                "version_removed": after[0] if after else None,
            }
        )
    return {"format": 1, "backend": backend, "versions": versions, "records": records}


def changes_markdown(backend: str, versions: Sequence[str], changes: Sequence[Change]) -> str:
    """Return the changes as a Markdown table."""
    rows = [
        f"| {one.old_version} → {one.new_version} | {one.surface} | `{one.case}` | {one.old} | {one.new} |"
        for one in changes
    ]
    head = [f"# History of {backend}", "", f"{len(versions)} releases: {', '.join(versions)}.", ""]
    if not rows:
        return "\n".join([*head, "No answer changed.", ""])
    return "\n".join([*head, "| releases | surface | case | before | after |", "|---|---|---|---|---|", *rows, ""])


def results_of_run(run: BackendRun) -> dict[Key, ResultRecord]:
    """Return the results by surface and case."""
    return {(without_label(one.surface), one.case): one for one in run.results}


def changed_with_program(old: BackendRun, new: BackendRun) -> set[str]:
    """Return the cases of which a surface has another answer and another program in the newer of two releases."""
    before, after = results_of_run(old), results_of_run(new)
    changes = release_changes({"old": answers_of_run(old), "new": answers_of_run(new)})
    keys = [(one.surface, one.case) for one in changes]
    return {key[1] for key in keys if before[key].program != after[key].program}


OlderPrograms = Mapping[tuple[str, str], BackendRun]
"""Runs of a release with the programs of the release before it, by both versions, the older one first."""


def release_data(runs: Mapping[str, BackendRun], older_programs: OlderPrograms | None = None) -> dict[str, Any]:
    """Return the release data of a backend, see docs/compat/schema.json. runs: by version, oldest first.

    Raises ValueError if the runs have different catalogues or processors, or are of several backends.
    """
    if not runs:
        raise ValueError("no results of a release with its own programs")
    first = next(iter(runs.values()))
    crossed = {pair: answers_of_run(run) for pair, run in (older_programs or {}).items()}
    _check_same_origin(list(runs.values()))
    answers = {version: answers_of_run(run) for version, run in runs.items()}
    results = {version: results_of_run(run) for version, run in runs.items()}
    cases = {case.case: case for run in runs.values() for case in run.cases.values()}
    records = []
    for (surface, name), spans in groupby(release_spans(answers), key=lambda span: (span.surface, span.case)):
        of_case = {version: of_run[surface, name] for version, of_run in results.items() if (surface, name) in of_run}
        mixed = {pair: of_run[surface, name] for pair, of_run in crossed.items() if (surface, name) in of_run}
        ranges = [_answer_range(span, list(runs), of_case, mixed, cases[name]) for span in spans]
        case = cases[name]
        question = {"question": case.question} if case.question else {}
        records.append({"surface": surface, "case": name, **question, "digest": case.digest, "ranges": ranges})
    return {
        "format": 2,
        "backend": without_label(first.name),
        "catalogue": {"version": first.header.catalogue.version, "digest": first.header.catalogue.digest},
        "platform": first.header.environment.platform,
        "cpu": list(first.header.environment.cpu),
        "releases": [
            release_json(version, run, first.header.environment.platform, first.header.environment.cpu)
            for version, run in runs.items()
        ],
        "records": records,
    }


def release_json(version: str, run: BackendRun, platform: str, cpu: Sequence[str]) -> dict[str, Any]:
    """Return a release of release data. platform, cpu: those of the data, which the release has only if they differ."""
    environment = run.header.environment
    release: dict[str, Any] = {
        "version": version,
        "started": run.header.started,
        "python": environment.python,
        "packages": dict(environment.packages),
    }
    if environment.platform != platform:
        release["platform"] = environment.platform
    if environment.cpu != tuple(cpu):
        release["cpu"] = list(environment.cpu)
    return release


def _check_same_origin(runs: Sequence[BackendRun]) -> None:
    parts: dict[str, set[Any]] = {
        "backends": {without_label(run.name) for run in runs},
        "catalogues": {run.header.catalogue.digest for run in runs},
        "processors": {run.header.environment.cpu for run in runs},
    }
    for name, found in parts.items():
        if len(found) > 1:
            raise ValueError(f"the results are of {len(found)} {name}, not of one")


def _answer_range(
    span: Span, versions: Sequence[str], results: Results, mixed: Mapping[tuple[str, str], str], case: CaseRecord
) -> dict[str, Any]:
    """Return one range of releases with an answer, as in history_json, with the evidence; no key without a value.

    mixed: the answers of releases to the programs of the release before, by both versions.
    """
    start, end = versions.index(span.first), versions.index(span.last) + 1
    after = versions[end:]
    before = versions[start - 1] if start and versions[start - 1] in results else None
    values = {
        **answer_keys(span.answer, results[span.first], case),
        "version_added": None if span.first == versions[0] else span.first,
        "version_removed": after[0] if after else None,
        "cause": before and _cause(results[before], results[span.first], mixed.get((before, span.first)), span),
    }
    return {key: value for key, value in values.items() if value}


def answer_keys(answer: str, result: ResultRecord, case: CaseRecord) -> dict[str, str]:
    """Return the keys of a range that describe the result of its first release; no key without a value."""
    observed = _observed_text(result, case)
    return {"answer": answer, "observed": observed} if observed else {"answer": answer}


def _cause(old: ResultRecord, new: ResultRecord, mixed: str | None, span: Span) -> str:
    """Return the cause of a new answer. mixed: the answer of the newer release to the older program, if it was run."""
    if old.program == new.program or mixed == span.answer:
        return RELEASE
    return PROGRAM if mixed is not None else UNKNOWN


def _observed_text(result: ResultRecord, case: CaseRecord) -> str:
    """Return what a release returned or raised instead of the expected result, in one line; "" if it agrees."""
    if result.verdict is Verdict.AGREE:
        return ""
    message = result.message or ""
    if result.kind in (DifferenceKind.CHANGED, DifferenceKind.CONVENTION):
        # The first part of the message compares with the declarations of today, which say nothing of this release.
        message = message.partition("; ")[2]
    returned = f"returned {array_text(result.got)}" if result.got else ""
    text = CACHE_FOLDER.sub("", message or deviation_text(result, case) or returned)
    return single_line(text, MAX_EVIDENCE_LENGTH)


def release_data_json(data: Mapping[str, Any]) -> str:
    """Return release data as JSON with one line for each release and each record."""
    parts = []
    for key, value in data.items():
        text = json.dumps(value, ensure_ascii=False)
        if key in ("releases", "records"):
            lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in value)
            text = f"[\n{lines}\n]"
        parts.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"

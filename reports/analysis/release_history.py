"""Answers of the releases of a framework: the changes between neighbouring releases, and spans of equal answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from reports.results import BackendRun, Outcome, without_label

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
            verdict = " ".join(str(part) for part in (one.verdict, one.kind) if part)
            answer = observed.get((one.case, one.surface)) or verdict or answer
        elif one.verdict:
            answer = f"{answer}, {one.verdict}"
        answers[without_label(one.surface), one.case] = answer
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

"""Release data with a newer or an older release, and the answers that differ from those of its neighbour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.version import Version

from reports.analysis.releases.history import answer_keys, answers_of_run, release_json, results_of_run
from reports.results import BackendRun, without_label

Ranges = Sequence[Mapping[str, Any]]
"""The ranges of releases of a record, oldest first."""


@dataclass(frozen=True)
class NewAnswer:
    """Another answer of an added release.

    question: id of the convention that the case observes, if any; old, old_version: the answer of the neighbour in the
    data, and that release; observed: what the added release returned or raised, "" if it agrees.
    """

    surface: str
    case: str
    question: str | None
    old: str
    old_version: str
    new: str
    observed: str


@dataclass(frozen=True)
class JoinedRelease:
    """Release data with an added release. compared: number of answers that it and its neighbour have.

    other_cases: number of answers to cases that the data does not have, or of which it has another version; other_cpu:
    whether the processor is not that of the neighbour, the newest or the oldest release of the data.
    """

    data: dict[str, Any]
    version: str
    changes: Sequence[NewAnswer]
    compared: int
    other_cases: int
    other_cpu: bool


def join_release(data: Mapping[str, Any], version: str, run: BackendRun) -> JoinedRelease:
    """Add a release to release data.

    data: see docs/compat/schema.json; it is not changed. version: newer or older than all releases of the data. Answers
    to cases that the data does not have are left out, because it does not say which of its releases give them. A new
    range has no cause, because the data has no programs. Raises ValueError if the results are of another backend, or
    if the version is between two releases of the data.
    """
    backend = without_label(run.name)
    if backend != data["backend"]:
        raise ValueError(f"the results are of backend {backend}, the data is about {data['backend']}")
    releases = data["releases"]
    is_newer = _is_newer(version, [one["version"] for one in releases])
    neighbour = releases[-1 if is_newer else 0]
    join, end, missing = (_newer_ranges, -1, "version_removed") if is_newer else (_older_ranges, 0, "version_added")
    answers = _answers(run)
    records, changes, compared = [], [], 0
    for record in data["records"]:
        new = answers.pop((record["surface"], record["case"], record["digest"]), None)
        nearest = record["ranges"][end]
        records.append({**record, "ranges": join(record["ranges"], version, neighbour["version"], new)})
        if new and missing not in nearest:
            compared += 1
            if nearest["answer"] != new["answer"]:
                changes.append(_new_answer(record, neighbour["version"], nearest["answer"], new))
    release = release_json(version, run, data["platform"], data["cpu"])
    other_cpu = release.get("cpu", data["cpu"]) != neighbour.get("cpu", data["cpu"])
    joined = {**data, "releases": [*releases, release] if is_newer else [release, *releases], "records": records}
    return JoinedRelease(joined, version, changes, compared, len(answers), other_cpu)


def _is_newer(version: str, versions: Sequence[str]) -> bool:
    """Return whether a version is newer than all others, not older. Raises ValueError if it is neither."""
    if Version(version) > Version(versions[-1]):
        return True
    if Version(version) < Version(versions[0]):
        return False
    raise ValueError(f"release {version} is not newer than {versions[-1]} or older than {versions[0]}")


def _answers(run: BackendRun) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return the answers of a run with their evidence, by surface, case and digest of the case."""
    results = results_of_run(run)
    return {
        (surface, case, run.cases[case].digest): answer_keys(answer, results[surface, case], run.cases[case])
        for (surface, case), answer in answers_of_run(run).items()
    }


def _new_answer(record: Mapping[str, Any], version: str, old: str, new: Mapping[str, str]) -> NewAnswer:
    observed = new.get("observed", "")
    return NewAnswer(record["surface"], record["case"], record.get("question"), old, version, new["answer"], observed)


def _newer_ranges(ranges: Ranges, version: str, _neighbour: str, new: Mapping[str, Any] | None) -> Ranges:
    """Return the ranges of a record with a newer release. new: its answer; None if it has none."""
    *earlier, last = ranges
    ended = "version_removed" in last
    if not ended and new and new["answer"] == last["answer"]:
        return ranges
    closed = last if ended else {**last, "version_removed": version}
    added = [{**new, "version_added": version}] if new else []
    return [*earlier, closed, *added]


def _older_ranges(ranges: Ranges, _version: str, neighbour: str, new: Mapping[str, Any] | None) -> Ranges:
    """Return the ranges of a record with an older release. neighbour: the oldest release of the ranges so far."""
    first, *later = ranges
    begun = "version_added" in first
    if not begun and new and new["answer"] == first["answer"]:
        return [{**first, **new}, *later]
    opened = first if begun else {**first, "version_added": neighbour}
    added = [{**new, "version_removed": neighbour}] if new else []
    return [*added, opened, *later]

"""Release data with a newer release, and the answers that the release changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.analysis.releases.history import answer_keys, answers_of_run, release_json, results_of_run
from reports.results import BackendRun, without_label


@dataclass(frozen=True)
class NewAnswer:
    """Another answer of a newer release.

    question: id of the convention that the case observes, if any; old, old_version: the answer of the newest release of
    the data, and that release; observed: what the newer release returned or raised, "" if it agrees.
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
    """Release data with a newer release. compared: number of answers that both releases have.

    other_cases: number of answers to cases that the data does not have, or of which it has another version; other_cpu:
    whether the processor is not that of the newest release of the data.
    """

    data: dict[str, Any]
    version: str
    changes: Sequence[NewAnswer]
    compared: int
    other_cases: int
    other_cpu: bool


def join_release(data: Mapping[str, Any], version: str, run: BackendRun) -> JoinedRelease:
    """Add a release to release data.

    data: see docs/compat/schema.json; it is not changed. version: newer than all releases of the data. Answers to cases
    that the data does not have are left out, because it does not say which older release gives them. Raises ValueError
    if the results are of another backend.
    """
    backend = without_label(run.name)
    if backend != data["backend"]:
        raise ValueError(f"the results are of backend {backend}, the data is about {data['backend']}")
    newest = data["releases"][-1]
    answers = _answers(run)
    records, changes, compared = [], [], 0
    for record in data["records"]:
        new = answers.pop((record["surface"], record["case"], record["digest"]), None)
        last = record["ranges"][-1]
        records.append({**record, "ranges": _joined_ranges(record["ranges"], version, new)})
        if new and "version_removed" not in last:
            compared += 1
            if last["answer"] != new["answer"]:
                changes.append(_new_answer(record, newest["version"], last["answer"], new))
    release = release_json(version, run, data["platform"], data["cpu"])
    other_cpu = release.get("cpu", data["cpu"]) != newest.get("cpu", data["cpu"])
    joined = {**data, "releases": [*data["releases"], release], "records": records}
    return JoinedRelease(joined, version, changes, compared, len(answers), other_cpu)


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


def _joined_ranges(
    ranges: Sequence[Mapping[str, Any]], version: str, new: Mapping[str, Any] | None
) -> list[Mapping[str, Any]]:
    """Return the ranges of a record with a newer release. new: its answer; None if it has none."""
    *earlier, last = ranges
    ended = "version_removed" in last
    if not ended and new and new["answer"] == last["answer"]:
        return [*ranges]
    closed = last if ended else {**last, "version_removed": version}
    added = [{**new, "version_added": version}] if new else []
    return [*earlier, closed, *added]

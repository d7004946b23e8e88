"""The failing results of a run that a new ledger entry covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance import ConformanceError
from conformance.adapters.api import without_label
from conformance.catalogue.loading import Catalogue
from conformance.cli.lookup import matches_any_glob
from conformance.judging.ledger import Ledger
from reports.results import BackendRun, Report, ResultRecord, Status, Verdict
from reports.results.vocabulary import AGREEING_STATUSES

LEDGER_CANDIDATE_STATUSES = frozenset({Status.FAIL, Status.CRASHED, Status.TIMED_OUT, Status.FLAKY})
JUDGED_STATUSES = LEDGER_CANDIDATE_STATUSES | AGREEING_STATUSES | {Status.STALE}


@dataclass(frozen=True)
class Failures:
    """Failing results that a new entry will cover, and that no entry covers yet.

    agreeing_results: (case, surface) of results on the same surfaces that the entry must not cover; cases_run: the
    cases that were judged there.
    """

    results: tuple[ResultRecord, ...]
    kinds: tuple[str, ...]
    backends: tuple[BackendRun, ...]
    agreeing_results: frozenset[tuple[str, str]]
    cases_run: frozenset[str]

    @property
    def cases(self) -> list[str]:
        """The ids of the failing cases."""
        return list(dict.fromkeys(result.case for result in self.results))

    @property
    def surfaces(self) -> list[str]:
        """The failing surfaces without labels: an entry names versions, and labels differ between runs."""
        return list(dict.fromkeys(without_label(result.surface) for result in self.results))


def matching_failures(
    report: Report, cases: Catalogue, deviations: Ledger, globs: Sequence[str], surfaces: Sequence[str]
) -> Failures:
    """Return the matching failures. Raises ConformanceError if there are none."""
    chosen: list[ResultRecord] = []
    backends = []
    for backend in report.backends:
        failing = [
            result
            for result in backend.results
            if result.status in LEDGER_CANDIDATE_STATUSES
            and matches_any_glob(result.case, globs)
            and matches_any_glob(result.surface, surfaces)
        ]
        failing = [result for result in failing if not _is_known(result, backend, cases, deviations)]
        backends += [backend] if failing else []
        chosen += failing
    if not chosen:
        raise ConformanceError(f"no case that matches {' or '.join(globs)} has a failure without a ledger entry")
    return _add_agreeing_results(tuple(chosen), tuple(backends))


def _add_agreeing_results(results: tuple[ResultRecord, ...], backends: tuple[BackendRun, ...]) -> Failures:
    """Return the failures together with the results on the same surfaces that the entry must not cover."""
    surfaces, covered = {one.surface for one in results}, {(one.case, one.surface) for one in results}
    judged = {
        (one.case, one.surface)
        for backend in backends
        for one in backend.results
        if one.surface in surfaces and one.status in JUDGED_STATUSES
    }
    failing = {one.case for one in results}
    for case, surface in sorted(judged - covered):
        if case in failing:
            # One entry has the same selector for all its surfaces.
            raise ConformanceError(
                f"case {case}: fails on other surfaces, but not on {surface}; select surfaces with --surface"
            )
    kinds = tuple(sorted({failure_kind(one) for one in results}))
    return Failures(results, kinds, backends, frozenset(judged - covered), frozenset(case for case, _ in judged))


def failure_kind(result: ResultRecord) -> str:
    """Return the kind of a failure, as an entry of the ledger lists it."""
    if result.status == Status.FLAKY:
        return result.status
    return result.kind if result.verdict == Verdict.DIFFER and result.kind else result.status


def _is_known(result: ResultRecord, backend: BackendRun, cases: Catalogue, deviations: Ledger) -> bool:
    """Whether the ledger covers a failure. Raises ConformanceError if an entry has the case with other kinds only."""
    environment = backend.header.environment
    case = cases.by_id[result.case]
    entry = deviations.find_entry(
        case, without_label(result.surface), environment.packages, environment.cpu, environment.device
    )
    if entry and failure_kind(result) not in entry.kinds:
        raise ConformanceError(
            f"case {result.case} on {result.surface}: entry {entry.id} has this case with kind "
            f"{', '.join(entry.kinds)}, not with {failure_kind(result)}; change that entry"
        )
    return entry is not None

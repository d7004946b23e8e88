"""Complete JSON of a comparison, for other programs (keys: docs/diff.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from reports.analysis.comparison import FailOn, ReportDifference, ResultChange, RunPair
from reports.analysis.comparison_text import change_groups, change_text, counts_by_kind
from reports.results import BackendRun, Json, ResultRecord

DIFFERENCE_FORMAT = 1


def render_difference_json(difference: ReportDifference, fail_on: FailOn = FailOn.ANY) -> str:
    """Return a comparison as JSON in ASCII. fail_on: the changes that make it fail."""
    ordered = [change for group in change_groups(difference) for change in group.changes]
    record: dict[str, Json] = {
        "format": DIFFERENCE_FORMAT,
        "changed": difference.is_significant,
        "fail_on": fail_on,
        "failing": len(difference.failing_changes(fail_on)),
        "complete": not difference.problems,
        "problems": list(difference.problems),
        "backends": [_pair_record(pair) for pair in difference.pairs],
        "environment": [
            {"what": fact.name, "old": fact.before, "new": fact.after, "backends": list(names)}
            for fact, names in difference.facts.items()
        ],
        "compared": difference.compared_count,
        "waiting": difference.missing_count,
        "other_programs": difference.program_changed_count,
        "counts": {kind.value: number for kind, number in counts_by_kind(difference).items()},
        "changes": [_change_record(change) for change in ordered],
    }
    return json.dumps(record, indent=1, allow_nan=False) + "\n"


def _pair_record(pair: RunPair) -> Json:
    return {"name": pair.name, "old": _run_record(pair.before), "new": _run_record(pair.after)}


def _run_record(backend: BackendRun | None) -> Json:
    if backend is None:
        return None
    packages: Mapping[str, str] = backend.header.environment.packages
    return {"backend": backend.name, "packages": dict(packages), "results": len(backend.results)}


def _change_record(change: ResultChange) -> Json:
    return {
        "kind": change.kind,
        "regression": change.is_regression,
        "backend": change.backend,
        "surface": change.surface,
        "case": change.case.case,
        "operator": change.case.operator,
        "question": change.case.question,
        "was": change.old_text,
        "now": change.new_text,
        "what": change_text(change),
        "old": _result_fields(change.before),
        "new": _result_fields(change.after),
    }


def _result_fields(result: ResultRecord | None) -> Json:
    if result is None:
        return None
    keys = ("status", "outcome", "kind", "how", "program", "digest", "message", "reason")
    return {**{key: getattr(result, key) for key in keys}, "budget_used": _json_number(result.budget_used)}


def _json_number(value: float | None) -> Json:
    return str(value) if value is not None and not math.isfinite(value) else value

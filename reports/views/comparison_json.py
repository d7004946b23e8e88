"""A difference as JSON, whole, for other programs (docs/diff.md has the keys)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from reports.analysis.comparison import Change, Difference, Pair
from reports.analysis.comparison_text import counts, groups, said
from reports.results.fields import Json
from reports.results.reader import Backend
from reports.results.records import Result

FORMAT = 1


def render_difference(difference: Difference) -> str:
    """Return the difference as JSON in ASCII, whatever the texts in it are."""
    ordered = [change for group in groups(difference) for change in group.changes]
    record: dict[str, Json] = {
        "format": FORMAT,
        "changed": difference.matters,
        "complete": not difference.problems,
        "problems": list(difference.problems),
        "backends": [_pair(pair) for pair in difference.pairs],
        "environment": [
            {"what": fact.what, "old": fact.before, "new": fact.after, "backends": list(names)}
            for fact, names in difference.facts.items()
        ],
        "compared": difference.compared,
        "waiting": difference.waiting,
        "other_programs": difference.retold,
        "counts": dict(counts(difference)),
        "changes": [_change(change) for change in ordered],
    }
    return json.dumps(record, indent=1, allow_nan=False) + "\n"


def _pair(pair: Pair) -> Json:
    return {"name": pair.name, "old": _side(pair.before), "new": _side(pair.after)}


def _side(backend: Backend | None) -> Json:
    if backend is None:
        return None
    packages: Mapping[str, str] = backend.header.environment.packages
    return {"backend": backend.name, "packages": dict(packages), "results": len(backend.results)}


def _change(change: Change) -> Json:
    return {
        "kind": change.kind,
        "backend": change.backend,
        "surface": change.surface,
        "case": change.case.case,
        "operator": change.case.operator,
        "question": change.case.question,
        "was": change.was,
        "now": change.now,
        "what": said(change),
        "old": _result(change.before),
        "new": _result(change.after),
    }


def _result(result: Result | None) -> Json:
    if result is None:
        return None
    keys = ("status", "outcome", "kind", "how", "program", "digest", "message", "reason")
    return {**{key: getattr(result, key) for key in keys}, "budget_used": _number(result.budget_used)}


def _number(value: float | None) -> Json:
    return str(value) if value is not None and not math.isfinite(value) else value

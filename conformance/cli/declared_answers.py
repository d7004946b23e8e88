"""Print the variants of conventions in which surfaces do not give their declared answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby

import click

from conformance.cases.case import Answers
from conformance.catalogue import loading
from conformance.execution.job import Limits
from conformance.execution.targets import RunTarget
from conformance.exploration.declared_answers.comparison import Contradiction, Count, compare_declared_answers
from conformance.exploration.evaluation import LocalEvaluator

MAX_SHOWN_VARIANTS = 3
"""Number of variants shown for each answer."""


def print_declared_answers(
    target: RunTarget,
    surfaces: Sequence[str],
    operators: Collection[str],
    limits: Limits,
    jobs: int,
    *,
    per_change: int | None = None,
) -> int:
    """Compare the declared answers of a backend with those in variants of the cases, and return the contradictions.

    surfaces, operators: only these, all if empty. per_change: the number of variants for each kind of change.
    """
    cases = [
        case
        for case in loading.load_catalogue().cases
        if isinstance(case.expect, Answers) and (not operators or case.operator in operators)
    ]
    ledger = target.ledger().for_generated_cases()
    with LocalEvaluator(
        target.backend, target.python, ledger, surfaces=surfaces, limits=limits, jobs=jobs
    ) as evaluator:
        found = compare_declared_answers(evaluator, cases, per_change)
    for line in contradiction_lines(found.contradictions):
        click.echo(line)
    counts = ", ".join(f"{found.counts[kind]:,} {kind.value}" for kind in Count)
    click.echo(f"{target.name}: {sum(found.counts.values()):,} variants on its surfaces: {counts}")
    return len(found.contradictions)


def contradiction_lines(contradictions: Iterable[Contradiction]) -> Iterable[str]:
    """Yield a line for each surface, convention, and observed answer, with some of the variants."""

    def key(one: Contradiction) -> tuple[str, ...]:
        return one.surface, one.convention, one.declared, one.depends_on, one.observed

    for (surface, convention, declared, depends_on, observed), group in groupby(sorted(contradictions, key=key), key):
        variants = [f"{one.case} with {one.variant}" for one in group]
        condition = f" (depends on {depends_on})" if depends_on else ""
        more = f" and {len(variants) - MAX_SHOWN_VARIANTS} more" if len(variants) > MAX_SHOWN_VARIANTS else ""
        shown = "; ".join(variants[:MAX_SHOWN_VARIANTS])
        yield f"{surface}: {convention}: declared {declared}{condition}, observed {observed}: {shown}{more}"

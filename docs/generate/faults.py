"""Generate the page of violations, faults.md: what each is, and which operators must reject it."""

from __future__ import annotations

from conformance.cases.case import Answers, Case, Rejected
from conformance.cases.invalid import VIOLATIONS
from conformance.cases.operators import OPERATORS
from conformance.catalogue.loading import Catalogue, load_catalogue
from reports.views.template_environment import render_markdown_template


def violations_page(catalogue: Catalogue) -> str:
    """Return the whole page."""
    rows = [_violation_row(catalogue, name) for name in VIOLATIONS]
    return render_markdown_template("docs.generate", "faults.md.j2", violations=rows)


def disputed_violations(case: Case) -> set[str]:
    """Return the violations for which an answer of a convention case is that the call is rejected."""
    answers = case.expect.named.values() if isinstance(case.expect, Answers) else ()
    return {answer.violation for answer in answers if isinstance(answer, Rejected)}


def _violation_row(catalogue: Catalogue, name: str) -> list[str]:
    required = {case.operator for case in catalogue.cases if case.expect == Rejected(name)}
    disputed = {case.operator for case in catalogue.cases if name in disputed_violations(case)}
    return [f"`{name}`", VIOLATIONS[name].__doc__ or "", _operator_names(required), _operator_names(disputed)]


def _operator_names(names: set[str]) -> str:
    """Return names of operators in the order of the catalogue; a gradient counts as its operator."""
    forward = {OPERATORS[name].forward for name in names}
    return ", ".join(f"`{name}`" for name in OPERATORS if name in forward) or "–"


if __name__ == "__main__":
    print(violations_page(load_catalogue()), end="")

"""The generated page of violations."""

from conformance.cases.invalid import VIOLATIONS
from docs.generate.faults import violations_page


def test_page_has_a_row_for_each_violation(catalogue):
    rows = [line for line in violations_page(catalogue).splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(VIOLATIONS)
    (zero,) = (row for row in rows if row.startswith("| `StrideIsZero`"))
    assert "`max_pool`" in zero
    assert "_grad" not in zero

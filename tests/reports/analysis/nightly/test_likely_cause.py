"""The likely cause of a change between two nights."""

import pytest

from reports.analysis.circumstances import DifferingFact
from reports.analysis.nightly.likely_cause import likely_cause
from reports.results import load_report
from tests.support import example_results as example


@pytest.fixture
def backend(tmp_path):
    """Return a function that returns a run of alpha with changed circumstances."""

    def load(**changes):
        (path,) = example.write(tmp_path, example.run("alpha", ["alpha.nn"], example.all_pass("alpha.nn"), **changes))
        return load_report([path]).backends[0]

    return load


def environment(**changes):
    return example.header("alpha", ["alpha.nn"])["environment"] | changes


def test_first_night_has_no_earlier_one(backend):
    assert likely_cause(None, backend()).sentence == "There is no earlier night of this backend to compare with."
    assert likely_cause(None, backend(), is_flaky=True).kind == "flaky"


@pytest.mark.parametrize(
    ("changes", "kind", "fact"),
    [
        ({"environment": environment(python="3.12.1")}, "versions", "Python: 3.11.7 → 3.12.1"),
        ({"environment": environment(platform="Linux-9")}, "suite", "→ Linux-9"),
        ({"ledger": "1" * 32}, "suite", "ledger: none → 111111111111"),
    ],
)
def test_differing_versions_come_before_the_suite_and_the_machine(backend, changes, kind, fact):
    cause = likely_cause(backend(), backend(**changes))
    assert cause.kind == kind
    assert fact in cause.sentence


def test_result_that_changes_while_nothing_differs_is_flaky(backend):
    cause = likely_cause(backend(), backend())
    assert (cause.kind, cause.label) == ("flaky", "flaky")
    assert cause.sentence == "The result is not always the same, but nothing differs."


def test_changed_program_is_a_cause_in_the_suite(backend):
    fact = DifferingFact("the program", "one", "other")
    cause = likely_cause(backend(), backend(), further=[fact])
    assert (cause.kind, cause.facts) == ("suite", (fact,))

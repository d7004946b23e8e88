"""Checks of each record of a results file against the records before it."""

import json

import pytest

from reports.results import RecordChecks, RecordError, decode_line
from tests.support import example_results as example

HEADER = example.header("alpha", ["alpha.nn"])
CASE = example.CASES["avg_pool/divisor-at-the-border"]
PROGRAM = example.program("alpha.nn")
RESULT = example.result(CASE["case"], "alpha.nn", program="alpha.nn-native")
CONVENTION = example.convention("alpha.nn", "with-padding", "with-padding", "undocumented")
FOOTER = example.footer([RESULT])
FILE = [HEADER, CASE, PROGRAM, RESULT, CONVENTION, FOOTER]


def check(records):
    checks = RecordChecks()
    for record in records:
        checks.add(decode_line(json.dumps(record).encode()))
    return checks


def test_complete_file_is_accepted_and_counted():
    checks = check(FILE)
    assert checks.footer.results == 1
    assert checks.by_status == {"pass": 1}
    for keys in (checks.results, checks.conventions):
        assert len(keys) == 1
        assert (CASE["case"], "alpha.nn") in keys


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([CASE], "missing header: the first record is 'case'"),
        ([HEADER, HEADER], "a second header"),
        ([HEADER, CASE, CASE], f"the case {CASE['case']!r} is declared twice"),
        ([HEADER, PROGRAM, PROGRAM], "the program 'alpha.nn-native' is declared twice"),
        ([HEADER, PROGRAM | {"surface": "beta.nn"}], "the surface 'beta.nn' is not in the header"),
        ([HEADER, PROGRAM, RESULT], f"the case {CASE['case']!r} was never declared"),
        ([HEADER, CASE, RESULT], "the program 'alpha.nn-native' was never declared"),
        ([HEADER, CASE, PROGRAM, RESULT, RESULT], f"a second result for the case {CASE['case']!r} on 'alpha.nn'"),
        ([HEADER, CASE, CONVENTION, CONVENTION], f"a second answer to {CASE['case']!r} on 'alpha.nn'"),
        ([HEADER, FOOTER], "the footer counts 1 results, the file contains 0"),
        ([*FILE[:-1], FOOTER | {"by_status": {"fail": 1}}], "the footer counts 1 fail, the file contains 1 pass"),
        ([*FILE, CASE], "the record 'case' follows the footer"),
    ],
)
def test_record_that_does_not_follow_from_the_others_is_rejected(records, message):
    check(records[:-1])
    with pytest.raises(RecordError) as error:
        check(records)
    assert str(error.value) == message


def test_statuses_without_results_may_be_in_the_footer():
    assert check([*FILE[:-1], FOOTER | {"by_status": {"fail": 0, "pass": 1}}]).footer

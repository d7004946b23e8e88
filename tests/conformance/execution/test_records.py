"""Records of results files."""

from conformance.cases.features.case_features import case_features
from conformance.execution.records import case_record, case_record_line
from conformance.judging.expected import compute_expected
from reports.results import CaseRecord, decode_line
from tests.support.fake_backends import load


def test_a_case_record_contains_the_features_of_the_case(tmp_path):
    (case,) = load(tmp_path, "id: a, x: {values: [[[1, .nan, 3]]]}, window: 2, stride: 1, padding: 1").cases
    expected = compute_expected(case)
    assert case_record(case, expected).features == case_features(case)
    read = decode_line(case_record_line(case, expected).encode())
    assert isinstance(read, CaseRecord)
    assert {"padding", "NaN in x", "windows that overlap"} <= {*read.features}

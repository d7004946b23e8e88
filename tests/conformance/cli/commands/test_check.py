"""`conformance check`."""

import pytest

from tests.support.fake_backends import family

pytestmark = pytest.mark.usefixtures("own_folder")

X = "x: {values: arange, shape: [1, 1, 4, 4]}"


PLAIN = f"id: a, {X}, window: 2"


def test_check_of_a_valid_file_prints_the_number_of_cases(conformance, tmp_path):
    assert conformance("check", family(tmp_path, PLAIN))[:2] == (0, "1 cases are valid\n")


def test_check_of_a_wrong_expected_number_fails(conformance, tmp_path):
    path = family(tmp_path, f"{PLAIN}, expect: [[[[5, 7], [13, 14]]]]")
    status, _, error = conformance("check", path)
    assert (status, len(error)) == (2, 1)
    assert f"{path}:4: case max_pool/a: key 'expect': printed 14 at [0, 0, 1, 1]" in error[0]


def test_check_lists_errors_of_keys_parameters_and_numbers_in_the_order_of_lines(conformance, tmp_path):
    cases = (f"{PLAIN}, expect: [1]", f"id: b, {X}, window: 9, strid: 1", "id: c", f"id: d, {X}, window: 2")
    status, _, error = conformance("check", family(tmp_path, *cases))
    assert status == 2
    assert [line.split(":")[2] for line in error] == ["4", "5", "5", "6"]


def test_check_of_a_file_without_cases_fails(conformance, tmp_path):
    status, _, error = conformance("check", family(tmp_path))
    assert (status, len(error)) == (2, 1)
    assert "cases" in error[0] or "no case" in error[0]

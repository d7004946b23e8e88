import math

import pytest

from conformance import ConformanceError
from conformance.execution.releases.bisection import first_changed


@pytest.mark.parametrize("count", [2, 3, 5, 18, 64])
def test_every_place_of_a_change_is_found_with_few_answers(count):
    versions = [f"1.{number}" for number in range(count)]
    for change in range(1, count):
        requested = []

        def answer(version, change=change, requested=requested):
            requested.append(version)
            return "new" if int(version[2:]) >= change else "old"

        assert first_changed(versions, answer) == (versions[change - 1], versions[change], "old", "new")
        assert len(requested) == len(set(requested)) <= math.ceil(math.log2(count)) + 2


def test_equal_ends_have_no_change():
    assert first_changed(["1", "2", "3"], lambda _version: "same") is None


def test_one_release_cannot_be_bisected():
    with pytest.raises(ConformanceError, match="at least two releases"):
        first_changed(["1"], str)

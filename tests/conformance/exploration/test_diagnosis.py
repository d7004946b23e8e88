"""Tests of conformance.exploration.diagnosis."""

from conformance.exploration.candidate import Candidate
from conformance.exploration.diagnosis import neighbours_of
from conformance.exploration.space import OperatorSpace


def test_neighbours_are_valid_and_differ_in_one_parameter(sweeps):
    space = OperatorSpace.from_sweeps("max_pool", sweeps)
    levels = {
        "rank": 1, "batch": 1, "channels": 1, "extent": (3,), "window": (2,), "stride": (1,), "padding": ((0, 0),),
        "dilation": (1,), "rounding": "floor", "values": "integers", "dtype": "float32",
    }  # fmt: skip
    neighbours = neighbours_of(Candidate("max_pool", levels, {"x": {"values": "integers"}}), space)
    assert len(neighbours) > 20
    assert all(one.is_valid() for one in neighbours)
    assert {one.rank for one in neighbours} == {1, 2}
    assert {"ceil", "full", "floor"} == {one.levels["rounding"] for one in neighbours}

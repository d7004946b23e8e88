"""Canonical texts of cases, from which their digests are made."""

import json

from conformance.cases.arrays import ArraySpec
from conformance.cases.case import Answers, Case, FollowingOperator, Rejected, Value


def canonical(expect):
    case = Case("pad/a", "pad", {"x": ArraySpec("arange", (1, 1, 3), "float32")}, {}, expect)
    return json.loads(case.canonical_text())


def test_names_of_classes_and_fields_in_digests_are_permanent():
    shape, numbers = (2,), (1, 2)
    assert canonical(Value(((shape, numbers),), "rounded"))[4] == [
        "Value",
        {"readings": [[[2], [1, 2]]], "inexact": "rounded"},
    ]
    assert canonical(Rejected("StrideIsZero"))[4] == ["Rejected", {"predicate": "StrideIsZero"}]
    assert canonical(Answers({"yes": Rejected("EmptyBatch")}))[4] == [
        "Answers",
        {"named": {"yes": ["Rejected", {"predicate": "EmptyBatch"}]}},
    ]


def test_following_operators_and_inputs_are_in_the_digest():
    then = (FollowingOperator("max_pool", {"window": 2}),)
    x = ArraySpec("arange", (1, 1, 3), "float32", {"start": 1})
    text = json.loads(Case("pad/a", "pad", {"x": x}, {}, then=then).canonical_text())
    assert text[6] == [["Following", {"operator": "max_pool", "parameters": {"window": 2}}]]
    kernel = ArraySpec("arange", (1, 1, 2), "float32")
    with_kernel = (FollowingOperator("conv", {}, {"kernel": kernel}),)
    text_with_kernel = json.loads(Case("pad/a", "pad", {"x": x}, {}, then=with_kernel).canonical_text())
    assert text_with_kernel[6][0][1]["inputs"]["kernel"][1]["shape"] == [1, 1, 2]
    assert text[2] == {
        "x": ["ArraySpec", {"values": "arange", "shape": [1, 1, 3], "dtype": "float32", "options": {"start": 1}}]
    }

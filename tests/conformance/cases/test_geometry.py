"""Geometry of a case that several features need."""

from conformance.cases import geometry


def test_remembered_result_belongs_to_the_last_case(catalogue):
    calls = []

    @geometry.remember_last_case
    def identifier(case):
        calls.append(case.id)
        return case.id

    one, other = catalogue.cases[:2]
    assert [identifier(case) for case in (one, one, other, one)] == [one.id, one.id, other.id, one.id]
    assert calls == [one.id, other.id, one.id]

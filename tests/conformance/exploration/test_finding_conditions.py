"""Conditions of findings: they count generated cases that differ, and ignore cases in which NaN hides the values."""

from conformance.exploration.finding_conditions import Difference, Evidence, SurfaceRecord, find_conditions
from conformance.exploration.symptoms import REFERENCE, Symptom
from reports.results.vocabulary import DifferenceKind

VALUE, SHAPE = Symptom(DifferenceKind.VALUE), Symptom(DifferenceKind.SHAPE)


def record_of(differing, agreeing):
    record = SurfaceRecord()
    for features in differing:
        record.add_differing(Difference(frozenset(features), VALUE))
    for features in agreeing:
        record.add_agreeing(REFERENCE, frozenset(features))
    return record


def conditions_of(smallest, record, explained=lambda _one: False):
    return find_conditions(Evidence(frozenset(smallest)), record, VALUE, explained).conditions


def test_conditions_hold_for_the_generated_cases_that_differ_too():
    """`tiny` describes the smallest case as well as `dilation` does, but not the others."""
    record = record_of([{"dilation", "3-D"}, {"dilation"}] * 5, [{"3-D"}, {"2-D"}] * 5)
    assert conditions_of({"dilation", "tiny"}, record) == ("dilation",)


def test_an_agreeing_case_with_nan_does_not_count_against_a_condition_on_values():
    record = record_of([{"ties", "1-D"}] * 5, [{"1-D"}] * 9 + [{"ties", "1-D", "NaN in x"}] * 9)
    assert conditions_of({"ties", "1-D"}, record) == ("ties",)


def test_differences_that_another_finding_explains_are_left_out():
    record = record_of([{"bias"}] * 20 + [{"groups"}] * 3, [{"1-D"}] * 20)
    assert conditions_of({"groups"}, record, lambda one: "bias" in one.features) == ("groups",)


def test_without_a_common_condition_there_is_none():
    record = record_of([{"1-D"}] * 2, [{"1-D"}] * 50)
    assert conditions_of({"1-D"}, record) is None


def test_one_cause_may_show_as_numbers_or_as_a_shape_but_not_as_a_rejection():
    rejected = Symptom(DifferenceKind.REJECTED, "too large")
    assert VALUE.may_cause(SHAPE)
    assert not VALUE.may_cause(rejected)
    assert rejected.may_cause(rejected)


def test_of_limits_that_agree_alike_the_one_nearest_to_the_smallest_case_is_named():
    """No case has between 4 and 65,535 images, and shrinking tried smaller batches."""
    limits = {"batch of 4 or more", "batch of 65,536 or more", "batch of 257 or more"}
    record = record_of([limits] * 9, [{"batch of 2 or more"}] * 9)
    assert conditions_of(limits, record) == ("batch of 65,536 or more",)
    assert conditions_of({*limits, "several images"}, record_of([{*limits, "several images"}] * 9, [{"1-D"}] * 9)) == (
        "several images",
    )


def test_conditions_about_numbers_need_a_larger_gain():
    differing = [{"dilation", "a zero in x"}] * 20
    few, many = [{"dilation"}] * 1, [{"dilation"}] * 9
    others = [{"2-D"}] * 20
    evidence = Evidence(frozenset({"dilation", "a zero in x"}), numbers=frozenset({"a zero in x"}))

    def found(agreeing):
        return find_conditions(evidence, record_of(differing, agreeing), VALUE, lambda _: False).conditions

    assert found(few + others) == ("dilation",)
    assert "a zero in x" in found(many + others)


def test_conditions_about_numbers_need_a_smaller_gain_if_they_explain_the_hidden_cases():
    """The hidden cases have no zero, or have one."""
    numbers = frozenset({"a zero in x"})
    differing = [{"dilation", *numbers}] * 40
    record = record_of(differing, [{"dilation"}] * 3 + [{"2-D", *numbers}] * 40)

    def found(hidden):
        evidence = Evidence(frozenset({"dilation", *numbers}), hidden=[frozenset(hidden)] * 2, numbers=numbers)
        return find_conditions(evidence, record, VALUE, lambda _: False).conditions

    assert set(found({"dilation"})) == {"dilation", *numbers}
    assert found({"dilation", *numbers}) == ("dilation",)


def test_a_case_whose_numbers_hide_the_difference_says_nothing_about_its_parameters():
    differing, hidden = [frozenset({"dilation", "1-D"})] * 20, [frozenset({"dilation", "2-D"})] * 9
    record = record_of([], [{"2-D"}] * 20 + [{"1-D"}] * 8)
    smallest = frozenset({"dilation", "1-D"})
    known = Evidence(smallest, mixed_differing=differing, hidden=hidden)
    unknown = Evidence(smallest, mixed_differing=differing, mixed_agreeing=hidden)
    found = [find_conditions(one, record, VALUE, lambda _: False).conditions for one in (known, unknown)]
    assert [{*one} for one in found] == [{"dilation"}, {"1-D", "dilation"}]

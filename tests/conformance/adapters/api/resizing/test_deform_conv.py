"""The module `deform_conv` of the interface of adapters."""

from conformance.adapters.api.resizing.deform_conv import output_limit, plane_limit, symmetric_limit
from conformance.cases.operators import OutsideMode
from tests.support.deformed_steps import deformed_step


def test_other_ranks_and_rules_have_a_reason():
    assert plane_limit(deformed_step(), "f", OutsideMode.ZEROS) is None
    assert plane_limit(deformed_step(omitted=["padding_mode"]), "f", OutsideMode.INSIDE) is None
    assert plane_limit(deformed_step(), "f", OutsideMode.INSIDE).reason == "f has the value 0 at points outside of x"
    inside = deformed_step(padding_mode="inside")
    assert plane_limit(inside, "f", OutsideMode.ZEROS).reason == "f interpolates zeros outside of x"
    assert plane_limit(inside, "f", OutsideMode.ZEROS, OutsideMode.INSIDE) is None
    row = deformed_step(kernel=(4, 4, 3), padding=((0, 0),))
    assert plane_limit(row, "f", OutsideMode.ZEROS).reason == "f takes two spatial axes"


def test_offset_groups_that_do_not_divide_the_outputs_have_a_reason():
    assert output_limit(deformed_step(offset_groups=4), "why") is None
    assert output_limit(deformed_step(omitted=["offset_groups"]), "why") is None
    assert output_limit(deformed_step(offset_groups=3), "why").reason == "why"


def test_unequal_padding_has_a_reason():
    assert symmetric_limit(deformed_step(padding=((1, 1), (2, 2))), "f") is None
    reason = symmetric_limit(deformed_step(padding=((1, 0), (0, 0))), "f").reason
    assert reason == "f pads both ends of an axis equally"

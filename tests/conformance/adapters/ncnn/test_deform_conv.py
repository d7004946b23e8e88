"""The module `deform_conv` of the adapter for ncnn."""

import pytest

from conformance.adapters.ncnn.deform_conv import NO_GROUPS, NO_OFFSET_GROUPS, deform_conv
from tests.support.deformed_steps import deformed_step

DENSE = {"kernel": (4, 4, 3, 3), "groups": 1}


def test_offsets_and_mask_are_inputs_of_the_network():
    text = deform_conv(deformed_step(**DENSE))
    assert text.startswith('compute(network("DeformableConv2D", "0=4 ')
    assert text.endswith('6=144", kernel, inputs=("x", "offset")), x, offset)')
    text = deform_conv(deformed_step(**DENSE, mask=True, bias=True))
    assert text.endswith('5=1 6=144", kernel, bias, inputs=("x", "offset", "mask")), x, offset, mask)')


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (deformed_step(), NO_GROUPS.reason),
        (deformed_step(**DENSE, offset_groups=2), NO_OFFSET_GROUPS.reason),
        (deformed_step(**DENSE, padding_mode="inside"), "DeformableConv2D interpolates zeros outside of x"),
    ],
)
def test_other_calls_have_a_reason(step, reason):
    assert deform_conv(step).reason == reason

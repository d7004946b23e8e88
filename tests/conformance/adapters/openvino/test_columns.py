"""The module `columns` of the adapter for OpenVINO."""

from conformance.adapters.openvino.columns import NO_RANK, fold, unfold
from conformance.cases.steps import Step

WINDOWS = {"window": (2, 3), "stride": (1, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}


def step(operator="unfold", shape=(1, 2, 4, 5), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {**WINDOWS, **parameters})


def test_patches_have_the_order_dcr_and_padding_by_name():
    text = 'ops.extract_image_patches(x, sizes=[2, 3], strides=[1, 2], rates=[1, 1], auto_pad="valid")'
    assert unfold(step(order="dcr")) == text
    assert "the order dcr" in unfold(step(order="crd")).reason
    assert "padding is valid" in unfold(step(order="dcr", padding=((3, 0), (0, 0)))).reason


def test_columns_are_joined_before_they_are_added():
    columns = step("fold", (1, 12, 3, 2), order="crd", output_size=(4, 5), padding=((1, 0), (0, 2)))
    reshape, call = fold(columns)
    assert reshape == "x = ops.reshape(x, [1, 12, 6], False)"
    assert "pads_begin=[1, 0], pads_end=[0, 2]" in call


def test_calls_are_for_planes():
    row = Step("unfold", (1, 2, 5), "float32", {"window": (2,), "stride": (1,), "padding": ((0, 0),), "order": "dcr"})
    assert unfold(row) is NO_RANK

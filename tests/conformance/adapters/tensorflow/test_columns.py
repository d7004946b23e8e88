"""The module `columns` of the adapter for TensorFlow."""

from conformance.adapters.tensorflow.columns import NO_BOOL, NO_PADDING, unfold
from conformance.cases.steps import Step

WINDOWS = {"window": (2, 3), "stride": (1, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}


def step(operator="unfold", shape=(1, 2, 4, 5), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {**WINDOWS, **parameters})


def test_sizes_have_entries_for_the_batch_and_the_channels():
    text = unfold(step(order="dcr"))
    assert "sizes=(1, 2, 3, 1), strides=(1, 1, 2, 1), rates=(1, 1, 1, 1)" in text
    assert text.endswith('padding="VALID")')


def test_calls_have_one_order_padding_by_name_and_no_bool():
    assert "the order dcr" in unfold(step(order="crd")).reason
    assert unfold(step(order="dcr", padding=((3, 0), (0, 0)))) is NO_PADDING
    assert unfold(step(order="dcr", dtype="bool")) is NO_BOOL

"""The module `columns` of the adapter for Apache MXNet."""

from conformance.adapters.mxnet.columns import NO_OTHER_RANK, nd_columns, recipe
from conformance.adapters.mxnet.padding import NP_API
from conformance.cases.steps import Step

WINDOWS = {"window": (2, 3), "stride": (1, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}


def step(operator="unfold", shape=(1, 2, 4, 5), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {**WINDOWS, **parameters})


def test_calls_of_planes_have_the_order_crd():
    text = "x = mx.nd.im2col(x, kernel=(2, 3), stride=(1, 2))"
    assert nd_columns(step(order="crd")) == (text, "x = x.reshape((1, 12, 3, 2))")
    assert "the order crd" in nd_columns(step(order="dcr")).reason


def test_fold_takes_the_size_of_the_output():
    fold = step("fold", (1, 12, 3, 2), order="crd", output_size=(4, 5))
    assert "mx.nd.col2im(x, output_size=(4, 5), kernel=(2, 3)" in nd_columns(fold)[1]


def test_rows_and_volumes_gather_their_cells():
    row = Step("unfold", (1, 2, 5), "float32", {"window": (2,), "stride": (1,), "padding": ((0, 0),), "order": "crd"})
    assert nd_columns(row) is NO_OTHER_RANK
    assert any(".take(" in line for line in recipe(NP_API, row))

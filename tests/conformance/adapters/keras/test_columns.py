"""The module `columns` of the adapter for Keras."""

from conformance.adapters.keras.columns import NO_STRIDED_DILATION, unfold
from conformance.adapters.keras.engines import ENGINES
from conformance.cases.steps import Step

WINDOWS = {"window": (2, 3), "stride": (1, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}


def step(operator="unfold", shape=(1, 2, 4, 5), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {**WINDOWS, **parameters})


ENGINE = {engine.name: engine for engine in ENGINES}


def test_patches_have_the_order_dcr():
    assert unfold(ENGINE["jax"], step(order="dcr")) == "keras.ops.image.extract_patches(x, (2, 3), strides=(1, 2))"
    assert "the order dcr" in unfold(ENGINE["jax"], step(order="crd")).reason


def test_a_convention_leaves_the_stride_out():
    omitted = {name: value for name, value in WINDOWS.items() if name != "stride"}
    assert unfold(ENGINE["jax"], Step("unfold", (1, 2, 4, 5), "float32", omitted)).endswith("(x, (2, 3))")


def test_tensorflow_has_no_stride_with_dilation():
    found = unfold(ENGINE["tensorflow"], step(order="dcr", dilation=(2, 1)))
    assert found.reason == NO_STRIDED_DILATION.reason
    assert "dilation_rate=(2, 1)" in found.rejected_call


def test_patches_are_convolutions_of_the_dtypes_of_the_engine():
    assert "no kernel" in unfold(ENGINE["tensorflow"], step(order="dcr", dtype="int8")).reason
    assert "no kernel" in unfold(ENGINE["torch"], step(order="dcr", dtype="uint8", dilation=(2, 1))).reason

"""The module `columns` of the adapter for PaddlePaddle."""

from conformance.adapters.paddle.columns import NO_UNEQUAL_ENDS, RECIPE, columns
from conformance.cases.steps import Step

WINDOWS = {"window": (2, 3), "stride": (1, 2), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}


def step(operator="unfold", shape=(1, 2, 4, 5), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {**WINDOWS, **parameters})


def test_calls_of_planes_have_the_order_crd():
    unfold = columns(step(order="crd"), layer=False)
    assert unfold == ("x = F.unfold(x, (2, 3), strides=(1, 2))", "x = x.reshape([1, 12, 3, 2])")
    assert columns(step(order="crd"), layer=True)[0] == "x = nn.Unfold((2, 3), strides=(1, 2))(x)"
    assert "the order crd" in columns(step(order="dcr"), layer=False).reason


def test_unfold_takes_four_paddings_and_fold_does_not():
    padding = ((1, 0), (2, 1))
    assert "paddings=[1, 2, 0, 1]" in columns(step(order="crd", padding=padding), layer=False)[0]
    fold = step("fold", (1, 12, 3, 2), order="crd", output_size=(4, 5))
    assert columns(fold, layer=False)[1] == "x = F.fold(x, (4, 5), (2, 3), strides=(1, 2))"
    assert columns(fold.with_parameters(padding=padding), layer=False) is NO_UNEQUAL_ENDS


def test_other_dtypes_stack_slices():
    assert "no kernel for int32" in columns(step(dtype="int32", order="crd"), layer=False).reason
    assert RECIPE(step(dtype="int32", order="dcr"))[0].startswith("x = paddle.stack([")

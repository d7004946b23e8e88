"""The module `columns` of the adapter for PyTorch."""

from conformance.adapters.api import Unsupported
from conformance.adapters.torch.columns import FUNCTIONAL, LAYER, fallback_unfold
from conformance.cases.steps import Step

WINDOWS = {"window": (2, 3), "stride": (1, 1), "padding": ((0, 0), (0, 0)), "dilation": (1, 1), "order": "crd"}


def step(operator="unfold", shape=(1, 2, 4, 5), dtype="float32", **parameters):
    return Step(operator, shape, dtype, {**WINDOWS, **parameters})


def test_columns_get_an_axis_for_each_spatial_axis():
    assert FUNCTIONAL["unfold"](step()) == ("x = F.unfold(x, (2, 3))", "x = x.reshape(1, 12, 3, 3)")
    padded = step(padding=((1, 1), (2, 2)), stride=(2, 2))
    assert LAYER["unfold"](padded)[0] == "x = nn.Unfold((2, 3), padding=(1, 2), stride=2)(x)"


def test_columns_are_joined_before_fold():
    fold = step("fold", (1, 12, 3, 3), output_size=(4, 5))
    assert FUNCTIONAL["fold"](fold) == ("x = x.reshape(1, 12, 9)", "x = F.fold(x, (4, 5), (2, 3))")


def test_calls_have_one_order_one_padding_and_floating_dtypes():
    assert "the order crd" in FUNCTIONAL["unfold"](step(order="dcr")).reason
    assert "one padding for both ends" in FUNCTIONAL["unfold"](step(padding=((0, 1), (0, 0)))).reason
    assert "no kernel for int32" in FUNCTIONAL["unfold"](step(dtype="int32")).reason
    row = step(shape=(1, 2, 5), window=(2,), stride=(1,), padding=((0, 0),), dilation=(1,))
    assert "for planes only" in FUNCTIONAL["unfold"](row).reason


def test_other_columns_are_views_of_the_windows():
    assert fallback_unfold(step(order="dcr"))[0].startswith("x = x.unfold(2, 2, 1)")
    assert isinstance(fallback_unfold(step(padding=((0, 1), (0, 0)))), Unsupported)

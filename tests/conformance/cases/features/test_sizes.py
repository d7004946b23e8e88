"""Features of the sizes of a case."""

import pytest

from conformance.cases.arrays import ArraySpec
from conformance.cases.case import Case, Value
from conformance.cases.features.case_features import case_features


def features_of(shape=(1, 2, 6), operator="max_pool", **parameters):
    given = {"window": (3,), "stride": (3,), "padding": ((0, 0),), "dilation": (1,), "rounding": "floor"}
    if operator == "pad":
        given = {"pads": ((0, 0),), "mode": "constant", "value": 0}
    if operator.startswith("adaptive"):
        given = {}
    x = ArraySpec("arange", shape, "float32")
    return case_features(Case(f"{operator}/a", operator, {"x": x}, given | parameters, Value()))


@pytest.mark.parametrize(
    ("changes", "feature"),
    [
        ({"shape": (1, 3, 6)}, "an odd number of channels, above 1"),
        ({"shape": (1, 17, 6)}, "one more than a multiple of 16 channels"),
        ({"stride": (2,), "dilation": (2,)}, "stride equal to dilation, above 1"),
        ({"shape": (1, 2, 5), "dilation": (2,)}, "a dilated window as large as the input"),
        ({"shape": (1, 2, 1), "padding": ((1, 1),)}, "a larger window on an axis of one cell"),
        ({"stride": (1,)}, "stride 1"),
        ({"window": (1,)}, "windows of one cell"),
        ({"padding": ((6, 0),)}, "padding before as wide as the extent"),
        ({"operator": "pad", "pads": ((-1, 2),)}, "an axis with a crop and padding"),
        ({"operator": "pad", "pads": ((-1, 2),)}, "a crop before and padding after an axis"),
        ({"operator": "pad", "pads": ((2, -1),)}, "padding before and a crop after an axis"),
        ({"operator": "pad", "pads": ((-5, 0),)}, "a crop to one cell"),
        ({"operator": "lp_pool", "p": 1}, "an odd p"),
        ({"padding": ((0, 3),)}, "a window that starts in the padding after an axis"),
        ({"operator": "conv_grad", "output": "x"}, "output = x"),
        ({"operator": "pad", "value": float("inf")}, "an infinite value"),
        ({"operator": "pad", "value": 0.5}, "a value that is not an integer"),
        ({"operator": "pad", "value": float("nan")}, "a value of NaN"),
        ({"operator": "pad", "pads": ((6, 0),)}, "padding at least as wide as the extent"),
        ({"operator": "adaptive_avg_pool", "shape": (1, 1, 4), "output_size": (4,)},
         "an output size equal to the extent on all axes"),
        ({"shape": (3, 1, 6)}, "an odd number of images, above 1"),
        ({"shape": (1, 3, 6)}, "an odd number of planes, above 1"),
        ({"shape": (1, 2, 32)}, "a multiple of 32 cells in a plane"),
        ({"shape": (1, 2, 1), "window": (1,)}, "one cell in a plane"),
        ({"stride": (2,), "dilation": (4,)}, "stride and dilation with a common factor"),
        ({"stride": (2,)}, "a stride above 1 and one less than the window"),
        ({"padding": ((3, 0),)}, "a window of padding only"),
        ({"padding": ((1, 0),), "count_include_pad": False}, "padding that is not counted"),
        ({"arrays": "strided"}, "arrays that are not contiguous"),
        ({"operator": "adaptive_avg_pool", "shape": (1, 1, 17), "output_size": (9,)},
         "more than 8 bins that do not divide the extent"),
        ({"operator": "adaptive_avg_pool", "shape": (1, 1, 4, 4), "output_size": (4, 2)},
         "an output size equal to the extent on some axes only"),
    ],
)  # fmt: skip
def test_a_size_has_a_feature_that_the_usual_case_lacks(changes, feature):
    assert feature in features_of(**changes)
    assert feature not in features_of()


def test_features_distinguish_the_axes_of_a_window():
    planes = {"shape": (1, 1, 6, 6), "window": (1, 2), "padding": ((0, 1), (2, 3)), "rounding": "floor"}
    found = features_of(**planes, stride=(2, 1), dilation=(1, 2))
    expected = {
        "a stride above 1 on the first axis", "a window of one cell on the first axis", "a dilated last axis",
        "padding that is different at every end",
    }  # fmt: skip
    assert expected <= {*found}
    other = features_of(**{**planes, "window": (2, 1), "padding": ((0, 0), (1, 1))}, stride=(1, 2), dilation=(2, 1))
    assert not expected & {*other}


def test_the_number_of_windows_is_a_feature():
    assert "several cells of output" in features_of()
    assert "several cells of output" not in features_of(shape=(1, 2, 3))
    assert "an even number of cells of output on an axis" in features_of()

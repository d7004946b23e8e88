"""The module `resizing` of the adapter for LiteRT."""

import pytest

from conformance.adapters.litert.options import EXPAND_LINE, SQUEEZE_LINE
from conformance.adapters.litert.resizing import FLOAT32_ONLY, NO_CUBIC, NO_RULE, NO_SCALE, NO_VOLUMES, resize
from conformance.cases.steps import Step

LINEAR = {"mode": "linear", "coordinates": "asymmetric"}
NEAREST = {"mode": "nearest", "nearest_rounding": "round_prefer_ceil"}


def step(shape=(1, 2, 4, 5), dtype="float32", **parameters):
    return Step("resize", shape, dtype, {"cubic_a": -0.75, **parameters})


@pytest.mark.parametrize(
    ("coordinates", "options"),
    [("asymmetric", ""), ("align_corners", "alignCorners=True"), ("half_pixel", "halfPixelCenters=True")],
)
def test_options_select_the_coordinates(coordinates, options):
    text = f'graph.node("RESIZE_BILINEAR", ["x", np.int32([7, 3])], schema.ResizeBilinearOptionsT({options}))'
    assert resize(step(size=(7, 3), mode="linear", coordinates=coordinates)) == text.replace('"x"', "x")


def test_nearest_cells_at_ties_are_the_upper_ones():
    text = resize(step(size=(2, 5), coordinates="half_pixel", **NEAREST))
    assert text.endswith("schema.ResizeNearestNeighborOptionsT(halfPixelCenters=True))")
    lower = {"coordinates": "half_pixel", **NEAREST, "nearest_rounding": "round_prefer_floor"}
    # By four the coordinates are 3/2 and 11/2.
    assert resize(step((1, 2, 8), size=(2,), **lower)) is NO_RULE


def test_a_row_is_the_row_of_a_plane():
    first, text, last = resize(step((1, 2, 4), size=(8,), **LINEAR))
    assert (first, last) == (EXPAND_LINE, SQUEEZE_LINE)
    assert "np.int32([1, 8])" in text


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (step(size=(7, 7), mode="cubic", coordinates="half_pixel"), NO_CUBIC),
        (step(dtype="uint8", size=(7, 7), **LINEAR), FLOAT32_ONLY),
        (step((1, 2, 4, 4, 4), size=(8, 8, 8), **LINEAR), NO_VOLUMES),
        (step(size=(7, 7), scale=(2, 2), **LINEAR), NO_SCALE),
        (step(scale=(2, 0.5), **LINEAR), NO_RULE),
    ],
)
def test_other_calls_are_not_written(refused, reason):
    assert resize(refused) is reason

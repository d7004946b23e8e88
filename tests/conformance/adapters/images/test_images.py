"""The adapter for image libraries: its surfaces, and the operators and dtypes that it leaves out."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Unsupported
from conformance.cases.operators import FORWARD_OPERATORS
from conformance.cases.steps import Step

SURFACES = {surface.name: surface for surface in registry.get_backend("images").surfaces}


def resize_step(dtype="float32", shape=(1, 3, 4, 4)):
    given = {"size": (8, 8), "mode": "nearest", "coordinates": "half_pixel", "nearest_rounding": "round_prefer_ceil"}
    return Step("resize", shape, dtype, {**given, "antialias": False, "exclude_outside": False})


def test_each_library_is_a_surface():
    assert list(SURFACES) == ["images.pillow", "images.opencv", "images.skimage", "images.scipy"]


@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.parametrize("operator", sorted({*FORWARD_OPERATORS} - {"resize"}))
def test_only_resizing_is_written(name, operator):
    code = SURFACES[name].lowerings[operator](resize_step())
    assert isinstance(code, Unsupported)
    assert "only resizing" in code.reason


@pytest.mark.parametrize(
    ("name", "dtype", "reason"),
    [
        ("images.pillow", "float64", "float32"),
        ("images.pillow", "int16", "int32"),
        ("images.pillow", "int64", "rejects"),
        ("images.opencv", "int64", "int32"),
        ("images.skimage", "float16", "float32"),
        ("images.scipy", "float16", "rejects"),
        *((name, "bfloat16", "bfloat16") for name in SURFACES),
    ],
)
def test_dtypes_that_a_library_converts_are_not_run(name, dtype, reason):
    surface = SURFACES[name]
    assert not surface.supports("resize", dtype)
    assert reason in surface.unsupported_reason("resize", dtype).reason
    assert surface.lowerings["resize"](resize_step(dtype)) is surface.unsupported_reason("resize", dtype)


@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "bool", "int32"])
def test_nearest_copies_cells_of_other_dtypes(name, dtype):
    surface = SURFACES[name]
    assert surface.supports("resize", dtype)
    assert not isinstance(surface.lowerings["resize"](resize_step(dtype)), Unsupported)

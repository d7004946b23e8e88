"""The module `affine_grids`: the call of PyTorch and PaddlePaddle."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.api.resizing.affine_grids import NOT_WRITTEN, functional_call
from conformance.cases.steps import Step


def step(size=(2, 3), **parameters):
    axes = len(size)
    return Step("affine_grid", (1, axes, axes + 1), "float32", {"grid_size": size, **parameters})


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (step(align_corners=False), "F.affine_grid(x, (len(x), 1, 2, 3), align_corners=False)"),
        (step((2, 3, 4), align_corners=True), "F.affine_grid(x, (len(x), 1, 2, 3, 4), align_corners=True)"),
        (step(), "F.affine_grid(x, (len(x), 1, 2, 3))"),
    ],
)
def test_the_size_is_that_of_images_with_one_channel(one, text):
    assert functional_call(one) == text


def test_surfaces_without_a_call_have_a_reason():
    assert isinstance(NOT_WRITTEN["affine_grid"](step()), Unsupported)

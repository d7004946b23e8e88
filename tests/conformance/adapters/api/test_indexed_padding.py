"""Padding as indexing: lines for NumPy-like slices and for gathers."""

import numpy as np
import pytest

import reference
from conformance.adapters.api import Step, Unsupported, indexed_pad


def padding(mode, shape, *pads):
    return Step("pad", shape, "float32", {"mode": mode, "pads": pads, "value": 0})


def test_only_padded_axes_are_indexed():
    step = padding("wrap", (1, 1, 3, 4), (0, 0), (1, 0))
    assert indexed_pad(step) == ("x = x[:, :, :, [i % 4 for i in range(-1, 4)]]",)
    assert indexed_pad(padding("wrap", (1, 1, 3), (0, 0))) == "x"


def test_gather_gets_the_number_of_the_axis():
    step = padding("wrap", (1, 1, 3, 4), (0, 1), (1, 0))
    lines = indexed_pad(step, lambda cells, axis: (f"{axis}: {cells}",), first_axis=1)
    assert lines == ("1: [i % 3 for i in range(4)]", "2: [i % 4 for i in range(-1, 4)]")


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_result_agrees_with_the_reference(mode):
    x = np.arange(24.0).reshape(1, 2, 3, 4)
    pads = ((5, -1), (0, 9))
    names = {"x": x}
    exec("\n".join(indexed_pad(padding(mode, x.shape, *pads))), names)  # noqa: S102 - program text
    assert np.array_equal(names["x"], np.asarray(reference.pad(x, pads, mode=mode)))


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (padding("constant", (1, 1, 3), (1, 0)), "cannot insert a constant"),
        (padding("edge", (1, 1, 0), (1, 0)), "has no cell to repeat"),
        (padding("edge", (1, 1, 2), (-2, 3)), "has no cell to repeat"),
    ],
)
def test_constants_and_empty_axes_cannot_be_indexed(step, reason):
    found = indexed_pad(step)
    assert isinstance(found, Unsupported)
    assert reason in found.reason

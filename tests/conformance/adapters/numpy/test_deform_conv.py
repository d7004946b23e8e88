"""The module `deform_conv` of the built-in backend."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import reference
from conformance.adapters.numpy.deform_conv import deform_conv, deform_conv_gradient
from tests.support.deformed_steps import deformed_step

OUTPUTS = ("x", "offset", "kernel", "mask", "bias")


def run(lines, **arrays):
    names = {"np": np, "math": math, "itertools": itertools, "Fraction": Fraction, **arrays}
    exec("\n".join(lines), names)  # noqa: S102 - the lines of the loops
    return names["x"]


def arrays(step, *, mask):
    rng = np.random.default_rng(1)
    cells = 2 * math.prod(step.window)
    shapes = {"x": step.shape, "offset": (1, 2 * cells, *step.output[2:]), "kernel": step.kernel, "bias": (4,)}
    shapes |= {"mask": (1, cells, *step.output[2:])} if mask else {}
    return {name: rng.standard_normal(shape) for name, shape in shapes.items()}


@pytest.mark.parametrize("padding_mode", ["zeros", "inside"])
@pytest.mark.parametrize("mask", [False, True])
def test_loops_agree_with_the_reference(padding_mode, mask):
    step = deformed_step(
        mask=mask, bias=True, kernel=(4, 2, 2, 3), stride=(2, 3), padding=((1, 0), (0, 2)), dilation=(1, 2),
        offset_groups=2, padding_mode=padding_mode,
    )  # fmt: skip
    step = replace(step, dtype="float64")
    given = arrays(step, mask=mask)
    expected = reference.deform_conv(**given, **step.parameters)
    np.testing.assert_allclose(run(deform_conv(step), **given), expected, rtol=1e-12, atol=1e-13)
    grad = np.random.default_rng(2).standard_normal(step.output)
    every = reference.deform_conv_grad(grad, **given, **step.parameters)
    for output, expected in zip(OUTPUTS, every, strict=True):
        if output in given:
            lines = deform_conv_gradient(step.with_parameters(output=output))
            np.testing.assert_allclose(run(lines, grad=grad, **given), expected, rtol=1e-12, atol=1e-13)


def test_an_offset_that_is_not_finite_gives_nan():
    step = deformed_step(kernel=(1, 4, 1, 1), groups=1)
    given = {"x": np.ones((1, 4, 8, 8)), "kernel": np.ones((1, 4, 1, 1)), "offset": np.zeros((1, 2, 8, 8))}
    given["offset"][0, 1, 2, 3] = np.nan
    got = run(deform_conv(step), **given)
    assert np.argwhere(np.isnan(got)).tolist() == [[0, 0, 2, 3]]

"""Run steps with the reference, to compute the result of a composition without a framework."""

import numpy as np

import reference
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import Step
from reference import Windows


def pooling_step_for(x, operator="max_pool", **parameters):
    """Return a pooling step for the input x, with every parameter explicit."""
    given = {**OPERATORS[operator].defaults, **parameters}
    walk = Windows.of(x.shape[2:], *(given[name] for name in ("window", "stride", "padding", "dilation", "rounding")))
    explicit = {"window": walk.window, "stride": walk.stride, "padding": walk.pads, "dilation": walk.dilation}
    return Step(operator, x.shape, x.dtype.name, {**given, **explicit, "rounding": walk.rounding})


def run_steps(steps, x):
    """Return the result of the steps on x; check the shape and dtype of every intermediate result."""
    for step in steps:
        assert step.shape == x.shape
        x = STEP_FUNCTIONS.get(step.operator, run_operator)(step, x)
        assert step.output == x.shape
        assert x.dtype.name == step.dtype
    return x


def run_operator(step, x):
    """Return the result of the reference for an operator of the catalogue."""
    kernel = [step.constants["kernel"]] if "kernel" in step.constants else []
    parameters = {name: value for name, value in step.parameters.items() if name in OPERATORS[step.operator].defaults}
    return getattr(reference, step.operator)(x, *kernel, **parameters)


def crop(step, x):
    ends = [slice(-before, size + after) for size, (before, after) in zip(x.shape[2:], step.padding, strict=True)]
    return x[(..., *ends)]


def subsample(step, x):
    return x[(..., *(slice(None, None, stride) for stride in step.stride))]


STEP_FUNCTIONS = {
    "subsample": subsample,
    "negate": lambda _step, x: -x,
    "relu": lambda _step, x: np.maximum(x, 0),
    "scale": lambda step, x: x * step.constants["scale"],
    "crop": crop,
    "over_ones": lambda step, x: run_steps(step.parts, x) / run_steps(step.parts, np.ones_like(x)),
}

"""Carry steps out with the reference: what a composition means, without any framework."""

import numpy as np

import reference
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import Step
from reference import Windows


def maximum(x, verb="max_pool", **parameters):
    """Return a pooling step that reads x, every parameter explicit."""
    given = {**OPERATORS[verb].defaults, **parameters}
    walk = Windows.of(x.shape[2:], *(given[name] for name in ("window", "stride", "padding", "dilation", "rounding")))
    walked = {"window": walk.window, "stride": walk.stride, "padding": walk.pads, "dilation": walk.dilation}
    return Step(verb, x.shape, x.dtype.name, {**given, **walked, "rounding": walk.rounding})


def carried(steps, x):
    """Return what the steps make of x."""
    for step in steps:
        assert step.shape == x.shape
        x = VERBS.get(step.operator, plainly)(step, x)
        assert step.output == x.shape
        assert x.dtype.name == step.dtype
    return x


def plainly(step, x):
    kernel = [step.constants["kernel"]] if "kernel" in step.constants else []
    known = {name: value for name, value in step.parameters.items() if name in OPERATORS[step.operator].defaults}
    return getattr(reference, step.operator)(x, *kernel, **known)


def crop(step, x):
    ends = [slice(-before, size + after) for size, (before, after) in zip(x.shape[2:], step.padding, strict=True)]
    return x[(..., *ends)]


def subsample(step, x):
    return x[(..., *(slice(None, None, stride) for stride in step.stride))]


VERBS = {
    "subsample": subsample,
    "negate": lambda _step, x: -x,
    "relu": lambda _step, x: np.maximum(x, 0),
    "scale": lambda step, x: x * step.constants["scale"],
    "crop": crop,
    "over_ones": lambda step, x: carried(step.parts, x) / carried(step.parts, np.ones_like(x)),
}

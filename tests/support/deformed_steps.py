"""Steps of deformable convolutions, for tests of adapters."""

from conformance.cases.steps import Step

PARAMETERS = {
    "stride": (1, 1),
    "padding": ((0, 0), (0, 0)),
    "dilation": (1, 1),
    "groups": 1,
    "offset_groups": 1,
    "padding_mode": "zeros",
}


def deformed_step(*, mask=False, bias=False, kernel=(4, 2, 3, 3), omitted=(), gradient=False, **parameters):
    """Return a step on (1, 4, 8, 8) in two groups by default; omitted: parameters that a convention leaves out."""
    given = {**PARAMETERS, "groups": 4 // kernel[1], **parameters}
    given = {name: value for name, value in given.items() if name not in omitted}
    shape = (1, 4, *(8,) * (len(kernel) - 2))
    return Step("deform_conv", shape, "float32", given, kernel, bias=bias, mask=mask, gradient=gradient)

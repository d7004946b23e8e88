"""Calls of layers in tests: the case that `conformance translate --from` reads, and the message of a rejection."""

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.translation.layer import parse_layer

DIALECTS = registry.dialects()
# Shapes of inputs in one and two dimensions, and of kernels (in, out/groups, *window) of transposed convolutions.
LINE, TAPS = (2, 3, 7), (3, 2, 4)
IMAGE, WEIGHTS = (1, 3, 7, 6), (3, 2, 3, 4)


def case_of(surface, text, shape=IMAGE, kernel=None):
    """Return the case of a layer for inputs of these shapes."""
    request = parse_layer(text, DIALECTS[surface], shape, kernel).request
    request = request if request.shape else type(request)(**{**vars(request), "shape": shape})
    return (type(request)(**{**vars(request), "kernel": kernel}) if request.has_kernel else request).case()


def check_case(case, operator, parameters):
    """Assert the operator of a case, and the given parameters."""
    assert case.operator == operator
    assert {key: case.parameters[key] for key in parameters} == parameters


def check_rejected(surface, text, shape, kernel, message):
    """Assert that a layer is rejected with one line that contains the message."""
    with pytest.raises(ConformanceError) as caught:
        parse_layer(text, DIALECTS[surface], shape, kernel)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)

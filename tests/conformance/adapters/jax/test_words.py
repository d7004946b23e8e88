"""The module `words` of JAX."""

import pytest

from conformance.adapters.api import Unsupported
from tests.conformance.adapters.jax.programs import ROW, lines, program


def padded(window, pads, mode="reflect", **conv):
    kernel = {"values": "integers", "shape": [3, 2, window]}
    return {
        "x": ROW,
        "words": True,
        "pads": [pads],
        "mode": mode,
        "then": [{"operator": "conv", "kernel": kernel, **conv}],
    }


@pytest.mark.parametrize(("window", "pads"), [(3, [1, 1]), (4, [1, 2]), (2, [0, 1])])
@pytest.mark.parametrize(("mode", "name"), [("reflect", "REFLECT"), ("wrap", "CIRCULAR")])
def test_layer_pads_half_the_kernel(window, pads, mode, name):
    for surface in ("flax.linen", "flax.nnx"):
        assert f'({window},), strides=(1,), padding="{name}"' in " ".join(
            lines(surface, "pad", **padded(window, pads, mode))
        )


def test_layer_pads_half_the_reach_of_a_dilated_kernel():
    assert 'padding="REFLECT"' in program("flax.nnx", "pad", **padded(2, [1, 1], dilation=2)).text


@pytest.mark.parametrize(
    ("window", "pads", "mode", "conv"),
    [
        (4, [2, 1], "reflect", {}),
        (3, [2, 2], "reflect", {}),
        (3, [1, 1], "edge", {}),
        (3, [1, 1], "wrap", {"padding": 1}),
    ],
)
def test_other_padding_is_not_that_of_a_layer(window, pads, mode, conv):
    assert isinstance(program("flax.linen", "pad", **padded(window, pads, mode, **conv)), Unsupported)

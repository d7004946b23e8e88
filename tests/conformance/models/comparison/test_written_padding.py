"""Padding that a model writes without a call of `pad`, and how its mode is found."""

from dataclasses import replace

import numpy as np
import pytest

from conformance.models.comparison.compare import Place, compare_models
from conformance.models.comparison.layers import ModelLayer
from conformance.models.comparison.recording import RecordedModel, RecordedRun
from conformance.models.comparison.source import ModelSource
from conformance.models.comparison.written_padding import MAX_ADDED_CELLS, with_written_padding
from tests.conformance.models.comparison.test_layers import call

X = np.random.default_rng(0).standard_normal((1, 2, 5, 6)).astype(np.float32)
KERNEL = np.random.default_rng(1).standard_normal((3, 2, 3, 3)).astype(np.float32)


def conv(x, *pads, **given):
    return ModelLayer(call("conv", x, "conv", kernel=KERNEL, **given), pads)


def padded(*axes):
    """Return X padded on both spatial axes; axes: the number of cells at both ends, and the arguments of np.pad."""
    found = X
    for axis, (cells, given) in enumerate(axes):
        found = np.pad(found, [(0, 0)] * (axis + 2) + [cells] + [(0, 0)] * (1 - axis), **given)
    return found


WRAP, ZEROS = {"mode": "wrap"}, {}
SOURCE_PAD = call("pad", X, pads=((1, 1), (1, 1)), mode="wrap")


@pytest.mark.parametrize("mode", ["wrap", "edge", "reflect", "symmetric"])
def test_the_mode_is_found_on_each_axis(mode):
    x = padded(((2, 1), {"mode": mode}), ((0, 2), {"constant_values": 7}))
    found = with_written_padding(conv(x), conv(X))
    assert found.x is not x
    assert np.array_equal(found.x, X)
    assert [one.parameters for one in found.pads] == [
        {"pads": ((2, 1), (0, 0)), "mode": mode},
        {"pads": ((0, 0), (0, 2)), "mode": "constant", "value": 7.0},
    ]
    assert np.array_equal(found.expected(X).value, conv(x).call.result)


@pytest.mark.parametrize(
    "x",
    [
        X,
        X[:, :, 1:],
        np.concatenate([X, X + 1], 2),
        np.pad(X, ((0, 0), (0, 0), (1, 0), (0, 0)), constant_values=5) + np.float32(1),
        np.pad(X, ((0, 0), (0, 0), (MAX_ADDED_CELLS + 1, 0), (0, 0))),
        np.pad(X, ((0, 0), (0, 1), (1, 0), (0, 0)))[:, 1:],
    ],
    ids=["same", "smaller", "other cells", "other numbers", "too large", "other channels"],
)
def test_other_inputs_have_no_padding(x):
    layer = conv(x)
    assert with_written_padding(layer, conv(X)) is layer


def recorded(*calls):
    run = RecordedRun(calls, [calls[-1].result], [0.0])
    return RecordedModel(ModelSource("numpy", "net.py", "make"), [run])


@pytest.mark.parametrize(
    ("first", "second", "own", "reason"),
    [
        (WRAP, WRAP, 0, ""),
        (ZEROS, ZEROS, 0, "circular (wrap) by 1 x 1 in the source, zeros by 1 x 1 in the port"),
        (WRAP, ZEROS, 0, "; on spatial axis 1 zeros in place of circular (wrap)"),
        (ZEROS, WRAP, 0, "; on spatial axis 0 zeros in place of circular (wrap)"),
        (WRAP, None, 1, "; on spatial axis 1 zeros in place of circular (wrap)"),
    ],
)
def test_a_lost_mode_is_the_cause_where_the_port_writes_its_padding(first, second, own, reason):
    x = padded(((1, 1), first), ((0, 0), {}) if second is None else ((1, 1), second))
    port = conv(x, padding=((0, 0), (own, own)))
    (found,) = compare_models(recorded(SOURCE_PAD, conv(SOURCE_PAD.result).call), recorded(port.call), ["normal"])
    if not reason:
        assert found.first is None
        return
    assert found.first.place is Place.LAYER
    assert [reason in one for one in found.first.reasons] == [True]


def test_the_source_may_write_its_padding_too():
    source, port = conv(SOURCE_PAD.result), conv(X, padding=((1, 1), (1, 1)))
    (found,) = compare_models(recorded(source.call), recorded(port.call), ["normal"])
    assert "circular (wrap) by 1 x 1 in the source, zeros by 1 x 1 in the port" in found.first.reasons[0]
    pool = replace(source, call=call("max_pool", SOURCE_PAD.result, "pool", window=(3, 3)))
    (found,) = compare_models(recorded(pool.call), recorded(pool.call), ["normal"])
    assert found.first is None

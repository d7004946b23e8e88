"""The reference and the node tests of onnx. CONFORMANCE_ONNX_PYTHON is the path of a Python that has onnx.

docs/bounds.md explains the expected outputs that are not those of the reference.
"""

import json
import os
import subprocess
from functools import cache

import numpy as np
import pytest

from reference import OPERATORS, Windows

PYTHON = os.environ.get("CONFORMANCE_ONNX_PYTHON", "")
needs_onnx = pytest.mark.skipif(not PYTHON, reason="CONFORMANCE_ONNX_PYTHON is not set")
# Prints [name, type of the node, attributes, inputs by position, expected output]; an array is (dtype, shape, numbers).
COLLECT = """\
import json, sys, warnings
from onnx import helper
warnings.simplefilter("ignore")
from onnx.backend.test.case.node import collect_testcases
def plain(value):
    return value.decode() if isinstance(value, bytes) else value
def listed(array):
    return array.dtype.name, array.shape, array.ravel().tolist()
found = []
for test in collect_testcases(None):
    nodes = test.model.graph.node
    if len(nodes) == 1 and nodes[0].op_type in sys.argv[1:]:
        inputs, outputs = test.data_sets[0]
        given = {one.name: plain(helper.get_attribute_value(one)) for one in nodes[0].attribute}
        places = [place for place, name in enumerate(nodes[0].input) if name]
        arrays = {place: listed(array) for place, array in zip(places, inputs, strict=True)}
        found.append((test.name, nodes[0].op_type, given, arrays, listed(outputs[0])))
json.dump(found, sys.stdout)
"""
# The least number of tests of each node, so that an empty list cannot pass.
LEAST = {"Resize": 39, "GridSample": 18, "AffineGrid": 4, "DepthToSpace": 2, "SpaceToDepth": 4, "Col2Im": 5}
LEAST |= {"DeformConv": 4}
FRACTIONAL_SIZE = (
    "the coordinates of align_corners use 4 · 0.6 = 2.4 or 4 · 0.8 = 3.2 in place of the size of the output"
)
DISPUTED = {
    "test_resize_downsample_scales_linear_align_corners": FRACTIONAL_SIZE,
    "test_resize_downsample_scales_cubic_align_corners": FRACTIONAL_SIZE,
}
"""Tests whose output differs from the reference, and why; docs/bounds.md has the arguments."""


@cache
def collected():
    done = subprocess.run([PYTHON, "-c", COLLECT, *LEAST], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def array(entry):
    dtype, shape, numbers = entry
    return np.array(numbers, dtype).reshape(shape)


def decimals(numbers):
    """Return float32 numbers as the decimals that they are printed as, 0.6 for 0.60000002."""
    return [float(str(one)) for one in numbers]


def whole(numbers):
    return [int(one) for one in numbers]


def by_axis(numbers, attributes, rank, missing):
    """Return a number for each spatial axis, from those of the attribute `axes`, or of all axes."""
    axes = attributes.get("axes", range(rank + 2))
    given = dict(zip(axes, numbers, strict=True))
    assert {given.get(axis, missing) for axis in (0, 1)} <= {missing, 1}
    return [given[axis] for axis in range(2, rank + 2)]


def resize_sizes(attributes, inputs, x):
    """Return size or scale of Resize."""
    rank = x.ndim - 2
    if 3 not in inputs:
        return {"scale": by_axis(decimals(inputs[2]), attributes, rank, 1)}
    size, policy = by_axis(whole(inputs[3]), attributes, rank, 1), attributes.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return {"size": size}
    # One scale for all axes. The size is rounded to the nearest number, which the reference does not do.
    common = (min if policy == "not_larger" else max)(m / n for m, n in zip(size, x.shape[2:], strict=True))
    rounded = [int(np.floor(common * n + 0.5)) for n in x.shape[2:]]
    is_whole = rounded == [int(np.floor(common * n)) for n in x.shape[2:]]
    return {"scale": common} if is_whole else {"size": rounded}


def resize(attributes, inputs):
    x, names = inputs[0], {"coordinate_transformation_mode": "coordinates", "nearest_mode": "nearest_rounding"}
    names |= {"cubic_coeff_a": "cubic_a", "extrapolation_value": "extrapolation_value"}
    given = {names[key]: value for key, value in attributes.items() if key in names}
    flags = {key: bool(attributes[key]) for key in ("antialias", "exclude_outside") if key in attributes}
    if attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        ends = np.split(inputs[1], 2)
        given |= {
            name: by_axis(decimals(end), attributes, x.ndim - 2, missing)
            for name, end, missing in zip(("roi_start", "roi_end"), ends, (0, 1), strict=True)
        }
    sizes = resize_sizes(attributes, inputs, x)
    return OPERATORS["resize"](x, mode=attributes["mode"], **sizes, **given, **flags)


def grid_sample(attributes, inputs):
    x, grid = inputs[0], inputs[1]
    given = {key: attributes[key] for key in ("mode", "padding_mode") if key in attributes}
    align = bool(attributes.get("align_corners", 0))
    return OPERATORS["grid_sample"](x, grid, grid.shape[1:-1], align_corners=align, **given)


def affine_grid(attributes, inputs):
    x, size = inputs[0], whole(inputs[1])
    return OPERATORS["affine_grid"](x, size[2:], align_corners=bool(attributes.get("align_corners", 0)))


def deform_conv(attributes, inputs):
    pads = attributes.get("pads", [0, 0, 0, 0])
    given = {
        "stride": attributes.get("strides", 1),
        "padding": list(zip(pads[:2], pads[2:], strict=True)),
        "dilation": attributes.get("dilations", 1),
        "groups": attributes.get("group", 1),
        "offset_groups": attributes.get("offset_group", 1),
    }
    return OPERATORS["deform_conv"](inputs[0], inputs[2], inputs[1], inputs.get(4), inputs.get(3), **given)


def blocks(operator, attributes, inputs):
    order = attributes.get("mode", "DCR").lower()
    return OPERATORS[operator](inputs[0], attributes["blocksize"], order=order)


def fold(attributes, inputs):
    columns, size, window = inputs[0], whole(inputs[1]), whole(inputs[2])
    rank = len(size)
    pads = attributes.get("pads", [0] * 2 * rank)
    given = {
        "stride": attributes.get("strides", 1),
        "padding": list(zip(pads[:rank], pads[rank:], strict=True)),
        "dilation": attributes.get("dilations", 1),
    }
    windows = Windows.of(size, window, *given.values()).output
    return OPERATORS["fold"](columns.reshape(*columns.shape[:2], *windows), size, window, **given)


CALLS = {
    "Resize": resize,
    "GridSample": grid_sample,
    "AffineGrid": affine_grid,
    "DeformConv": deform_conv,
    "DepthToSpace": lambda *given: blocks("depth_to_space", *given),
    "SpaceToDepth": lambda *given: blocks("space_to_depth", *given),
    "Col2Im": fold,
}


def differs(kind, attributes, arrays, output):
    """Whether an element of the expected output is not within the bound of the reference's result."""
    exact = CALLS[kind](attributes, {int(place): array(entry) for place, entry in arrays.items()})
    expected = array(output)
    assert (exact.value.shape, exact.value.dtype) == (expected.shape, expected.dtype)
    return bool((exact.distance(expected) > exact.bound()).any())


@needs_onnx
def test_every_node_has_its_tests():
    kinds = [kind for _, kind, *_ in collected()]
    assert {kind: kinds.count(kind) >= least for kind, least in LEAST.items()} == dict.fromkeys(LEAST, True)


@needs_onnx
@pytest.mark.parametrize("kind", LEAST)
def test_the_expected_outputs_are_within_the_bound_but_for_the_disputed_ones(kind):
    differing = {name for name, own, *test in collected() if own == kind and differs(kind, *test)}
    disputed = {name for name, own, *_ in collected() if own == kind and name in DISPUTED}
    assert differing == disputed


@needs_onnx
def test_every_disputed_test_exists():
    assert DISPUTED.keys() <= {name for name, *_ in collected()}

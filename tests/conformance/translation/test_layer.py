"""Layers are parsed and never run; native programs that `translate` prints are parsed back to their cases."""

import ast
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given as drawn, strategies as st

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import PADDING_MODE, Dialect, LayerSignature, Program
from conformance.cases.case import DRAWN_KEY, Value
from conformance.cases.operators import OPERATORS
from conformance.cases.steps import case_step
from conformance.catalogue import describe
from conformance.translation.layer import ParsedLayer, layer_notes, parse_framework_layer, parse_layer
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_of_part

DIALECTS = registry.dialects()
SURFACES = {name: describe.surfaces_by_name()[name][1] for name in DIALECTS}
NOT_PARSED_BACK = {
    **{
        (surface, "resize"): "its sizes are inputs, or its signature is not written yet"
        for surface in DIALECTS
        if not surface.startswith(("torch", "tf", "keras", "jax", "flax", "onnx"))
    },
    ("openvino.opset", "grid_sample"): "its attributes are a dictionary",
    **{(surface, "grid_sample"): "a function, not a layer" for surface in ("torch.nn", "paddle.nn")},
    ("mxnet.nd", "grid_sample"): "its grid has another layout",
    **{(surface, "affine_grid"): "grids are not read yet" for surface in DIALECTS},
    **{
        (surface, "deform_conv"): "deformable convolution is not read yet"
        for surface in DIALECTS.keys() - {"onnx.reference", "onnxruntime", "paddle.nn", "paddle.nn.functional"}
    },
    ("onnxruntime", "quantized_avg_pool"): "nodes of the domain com.microsoft are not read",
    ("torch.nn", "fractional_max_pool"): "its samples are reversed",
    ("torch.nn.functional", "fractional_max_pool"): "its samples are reversed",
    ("openvino.opset", "fold"): "its sizes are arrays",
    ("jax.lax", "global_max_pool"): "a reduction, not a layer",
    ("jax.lax", "global_avg_pool"): "a reduction, not a layer",
    ("flax.linen", "min_pool"): "flax exports no such layer",
    ("flax.linen", "global_max_pool"): "a reduction, not a layer",
    ("flax.linen", "global_avg_pool"): "a reduction, not a layer",
    ("mxnet.npx", "pad"): "written with mxnet.np",
    ("tf.nn", "max_pool_with_indices"): "its indices are counted differently",
    **{
        ("tf.nn", operator): "operations of tf.raw_ops are not read"
        for operator in ("quantize", "dequantize", "quantized_conv", "conv_integer")
    },
    **{
        ("flax.nnx", operator): "written as on flax.linen"
        for operator in ("min_pool", "global_max_pool", "global_avg_pool")
    },
    **{
        (surface, operator): why
        for surface in ("onnx.reference", "onnxruntime")
        for operator, why in {
            "max_pool_with_indices": "the selected output is not part of the node",
            "fold": "its sizes are inputs",
            "quantized_conv": "its scales and zero points are inputs",
            "conv_integer": "its zero points are inputs",
            "quantize": "its scale and zero point are inputs",
            "dequantize": "its scale and zero point are inputs",
        }.items()
    },
    **{
        (surface, f"global_{kind}_pool"): "a reduction, not a layer"
        for surface in ("openvino.opset", "tinygrad.Tensor", "keras-jax.ops", "keras-tensorflow.ops", "keras-torch.ops")
        for kind in ("max", "avg")
    },
}
# Operators with the same meaning, of which layers express the second one.
ADAPTIVE_EQUIVALENTS = {"global_max_pool": "adaptive_max_pool", "global_avg_pool": "adaptive_avg_pool"}


CASTS = (").to", ").astype", "].astype")


def layer_text(program):
    """Return the source text of the layer or call of a program."""
    function = ast.parse(program.text).body[0]
    assigned = [node for node in function.body if isinstance(node, ast.Assign) and "compile" not in ast.unparse(node)]
    lines = {ast.unparse(node.targets[0]): node.value for node in assigned}
    if "nodes" in lines:
        texts = {name: ast.unparse(value) for name, value in lines.items()}
        constants = [f"{name} = {text}" for name, text in texts.items() if text.startswith("np.array(")]
        return "\n".join([*constants, ast.unparse(lines["nodes"].elts[-1])])
    # The axis of all windows is split after the call of a framework that has one axis for them.
    results = [node.value for node in assigned if ast.unparse(node.targets[0]) == "x"]
    results = [value for value in results if not ast.unparse(value).startswith("x.reshape(")] or results
    layer = next((lines[name] for name in ("conv", "layer") if name in lines), results[-1])
    if isinstance(layer, ast.Call) and layer.args and isinstance(layer.args[0], ast.Lambda):
        layer = layer.args[0].body
    # A conversion of the layer or of its result is no part of the layer.
    while isinstance(layer, ast.Call) and ast.unparse(layer.func).endswith(CASTS):
        layer = layer.func.value
    return ast.unparse(layer)


IGNORED = {"output_padding", "words"}  # compared through the padding; how the call is written


def normalised(case):
    """Return the operator and parameters of a case in a form that is equal for equivalent parameters."""
    parameters = {key: value for key, value in case.parameters.items() if key not in IGNORED}
    if case.operator in ADAPTIVE_EQUIVALENTS:
        return {"operator": ADAPTIVE_EQUIVALENTS[case.operator], "output_size": (1,) * (len(case.shape) - 2)}
    if parameters.get("output") == "values":
        del parameters["output"]
        return {"operator": "max_pool", **rounded(case, parameters)}
    if case.operator == "lrn":
        return {"operator": "lrn", **effective_normalization(parameters)}
    if case.operator == "resize" and parameters["mode"] == "area":
        # PyTorch computes it by adaptive_avg_pool.
        return {"operator": "adaptive_avg_pool", "output_size": case_step(case).output[2:]}
    if case.operator == "resize":
        return resized_cells(case)
    if case.operator == "grid_sample":
        del parameters["output_size"]  # the number of points is that of the grid
    if case.operator == "conv_transpose":
        pads = zip(case.parameters["padding"], case.parameters["output_padding"], strict=True)
        parameters["padding"] = tuple((before, after - extra) for (before, after), extra in pads)
    if "count_include_pad" in parameters and not case_step(case).padded:
        del parameters["count_include_pad"]
    if parameters.get("divisor") is not None:
        parameters.pop("count_include_pad", None)
    if parameters.get("mode", "constant") != "constant":
        parameters.pop("value", None)
    if isinstance(parameters.get("value"), float) and math.isnan(parameters["value"]):
        parameters["value"] = "nan"  # NaN does not equal itself
    return {"operator": case.operator, **rounded(case, parameters)}


def rounded(case, parameters):
    """Return the parameters with the output size in place of the rounding."""
    return parameters | ({"rounding": case_step(case).windows.output} if "rounding" in parameters else {})


def effective_normalization(parameters):
    """Return the factor of the squares in place of alpha, and no side of a window of an odd number of channels."""
    size = parameters["local_size"]
    factor = round(float(parameters["alpha"]) / (size if parameters["alpha_over_size"] else 1), 12)
    side = parameters["extra_channel"] if size % 2 == 0 else None
    return {"size": size, "factor": factor, "power": parameters["beta"], "constant": parameters["k"], "side": side}


def resized_cells(case):
    """Return the mode and the coordinates of each axis, or the cells that they select: rules may have the same."""
    given, axes = case.parameters, case_step(case).resampled
    if given["mode"] == "nearest":
        return {"mode": "nearest", "cells": [axis.nearest(given["nearest_rounding"]).tolist() for axis in axes]}
    clamped = given["mode"] == "linear"
    antialias = given.get("antialias", False) and any(axis.step > 1 for axis in axes)
    flags = {"antialias": antialias, "excludes": given.get("exclude_outside", False) and (antialias or not clamped)}
    ends = [(0, axis.size - 1) if clamped else (-9, axis.size + 9) for axis in axes]
    cells = [
        [min(max(one, low), high) for one in axis.all_coordinates] for axis, (low, high) in zip(axes, ends, strict=True)
    ]
    return {"mode": given["mode"], "cells": cells, "cubic_a": None if clamped else given["cubic_a"], **flags}


def parsed_case(text, surface, case):
    """Return the case of a layer's text, with the input shapes of another case."""
    kernel = case.inputs["kernel"].shape if "kernel" in case.inputs else None
    request = parse_layer(text, DIALECTS[surface], case.shape, kernel).request
    if request.has_kernel and "window" not in request.parameters:
        request = replace(request, kernel=kernel)
    return replace(request, dtype=case.dtype).case()


def native_programs(catalogue, surface):
    """Yield the cases of a part of the catalogue with a native program on the surface, and their programs."""
    for case in cases_of_part(catalogue.cases, sorted(DIALECTS).index(surface)):
        if not isinstance(case.expect, Value) or case.via or case.then or OPERATORS[case.operator].is_gradient:
            continue
        if DRAWN_KEY in case.parameters:  # a layer is read with samples as an input, and these programs draw them
            continue
        program = translate(case, SURFACES[surface])
        if isinstance(program, Program) and program.how == "native":
            yield case, program


def is_expressible(case, surface):
    """Whether the surface can express the parameters of the case, not only its result."""
    if "arrays" in case.parameters:  # the program passes its arrays in a way that no layer has a word for
        return False
    floor = case.parameters.get("rounding", "floor") == "floor"
    surfaces = {"jax.lax": floor and case.dtype.startswith(("float", "bfloat")), "flax.linen": floor, "flax.nnx": floor}
    return surfaces.get(surface, True) and 0 not in case.shape


# The kernel of the first has another shape, the boxes of the second are a product of lists for several images, and the
# scale and the translation of the third are those of several rules for coordinates.
NOT_READ = ("tf.nn.depthwise_conv2d", "tf.image.crop_and_resize", "jax.image.scale_and_translate")


def distinct(found, surface):
    """Return each text once for each input shape, with its case; dtypes and values do not matter."""
    texts = {}
    for case, program in found:
        if (surface, case.operator) in NOT_PARSED_BACK:
            continue
        if is_expressible(case, surface) and not any(function in program.text for function in NOT_READ):
            texts.setdefault((program.text, case.shape), (case, layer_text(program)))
    return list(texts.values())


@pytest.mark.parametrize("surface", sorted(DIALECTS))
def test_every_native_program_is_parsed_back_to_its_case(catalogue, surface):
    found = list(native_programs(catalogue, surface))
    checked = distinct(found, surface)
    for case, text in checked:
        parsed = parsed_case(text, surface, case)
        assert normalised(parsed) == normalised(case), (case.id, text)
        if surface not in WITHOUT_WEIGHT_SHAPES:
            assert weight_shapes(parsed) == weight_shapes(case), (case.id, text)
    skipped = {operator for name, operator in NOT_PARSED_BACK if name == surface}
    assert {case.operator for case, _ in checked} == {case.operator for case, _ in found} - skipped
    assert len(checked) > 30


WITHOUT_WEIGHT_SHAPES = ("tf.nn", "jax.lax")  # their convolution calls have neither a bias nor sizes


def weight_shapes(case):
    return {name: case.inputs[name].shape for name in ("kernel", "bias") if name in case.inputs}


def parsed_parameters(text, surface, shape=None):
    """Return the operator and the parameters of a layer's text."""
    request = parse_layer(text, DIALECTS[surface], shape).request
    return request.operator, dict(request.parameters)


@pytest.mark.parametrize(
    ("surface", "text", "operator", "expected"),
    [
        ("torch.nn", "nn.PixelShuffle(2)", "depth_to_space", {"block": 2, "order": "crd"}),
        ("torch.nn", "nn.PixelUnshuffle(downscale_factor=3)", "space_to_depth", {"block": 3, "order": "crd"}),
        ("torch.nn.functional", "F.pixel_shuffle(x, 2)", "depth_to_space", {"block": 2, "order": "crd"}),
        (
            "torch.nn.functional",
            "F.grid_sample(x, grid, 'bicubic', padding_mode='border', align_corners=True)",
            "grid_sample",
            {"mode": "cubic", "padding_mode": "border", "align_corners": True, "output_size": (8, 8)},
        ),
        (
            "torch.nn.functional",
            "F.grid_sample(x, grid)",
            "grid_sample",
            {"mode": "linear", "padding_mode": "zeros", "align_corners": False, "output_size": (8, 8)},
        ),
        (
            "paddle.nn.functional",
            "F.grid_sample(x, grid)",
            "grid_sample",
            {"mode": "linear", "padding_mode": "zeros", "align_corners": True, "output_size": (8, 8)},
        ),
        (
            "onnxruntime",
            "helper.make_node('GridSample', ['x', 'grid'], ['y'], mode='bicubic', align_corners=1)",
            "grid_sample",
            {"mode": "cubic", "padding_mode": "zeros", "align_corners": True, "output_size": (8, 8)},
        ),
        (
            "paddle.nn.functional",
            "paddle.vision.ops.deform_conv2d(x, offset, weight, padding=1, deformable_groups=2, mask=mask)",
            "deform_conv",
            {"stride": 1, "padding": 1, "groups": 1, "offset_groups": 2},
        ),
        (
            "paddle.nn",
            "paddle.vision.ops.DeformConv2D(2, 4, [3, 2], padding=1, deformable_groups=2)",
            "deform_conv",
            {"window": (3, 2), "stride": 1, "padding": 1, "groups": 1, "offset_groups": 2},
        ),
        (
            "onnxruntime",
            "helper.make_node('DeformConv', ['x', 'w', 'o', '', 'mask'], ['y'], kernel_shape=[3, 3], strides=[2, 1])",
            "deform_conv",
            {"window": (3, 3), "stride": (2, 1), "padding": 0, "groups": 1, "offset_groups": 1},
        ),
        ("tf.nn", "tf.nn.depth_to_space(x, 2)", "depth_to_space", {"block": 2, "order": "dcr"}),
        ("tf.nn", "tf.nn.space_to_depth(x, block_size=2)", "space_to_depth", {"block": 2, "order": "dcr"}),
        ("keras-jax.ops", "ops.space_to_depth(x, 2)", "space_to_depth", {"block": 2, "order": "dcr"}),
        (
            "onnxruntime",
            "helper.make_node('DepthToSpace', ['x'], ['y'], blocksize=2)",
            "depth_to_space",
            {"block": 2, "order": "dcr"},
        ),
        (
            "onnxruntime",
            "helper.make_node('DepthToSpace', ['x'], ['y'], blocksize=2, mode='CRD')",
            "depth_to_space",
            {"block": 2, "order": "crd"},
        ),
        (
            "onnx.reference",
            "helper.make_node('SpaceToDepth', ['x'], ['y'], blocksize=2, mode='CRD')",
            "space_to_depth",
            {"block": 2, "order": "crd"},
        ),
        (
            "openvino.opset",
            "ops.space_to_depth(x, 'depth_first', 2)",
            "space_to_depth",
            {"block": 2, "order": "crd"},
        ),
        (
            "tf.nn",
            "tf.image.extract_patches(x, (1, 2, 3, 1), strides=(1, 1, 2, 1), rates=(1, 1, 1, 1), padding='VALID')",
            "unfold",
            {"window": (2, 3), "stride": (1, 2), "dilation": (1, 1), "padding": 0, "order": "dcr"},
        ),
        (
            "tf.nn",
            "tf.nn.dilation2d(x, w, (1, 2, 3, 1), 'VALID', 'NHWC', [1, 1, 2, 1])",
            "dilation2d",
            {"stride": (2, 3), "dilation": (1, 2), "padding": 0},
        ),
        (
            "keras-torch.ops",
            "keras.ops.image.extract_patches(x, (2, 3))",
            "unfold",
            {"window": (2, 3), "stride": (2, 3), "dilation": 1, "padding": 0, "order": "dcr"},
        ),
        (
            "jax.lax",
            "lax.conv_general_dilated_patches(x, (2, 3), (1, 2), [(0, 1), (1, 0)])",
            "unfold",
            {"window": (2, 3), "stride": (1, 2), "padding": ((0, 1), (1, 0)), "dilation": 1, "order": "crd"},
        ),
        (
            "openvino.opset",
            "ops.extract_image_patches(x, [2, 3], [1, 2], [1, 1], 'valid')",
            "unfold",
            {"window": (2, 3), "stride": (1, 2), "dilation": (1, 1), "padding": 0, "order": "dcr"},
        ),
        (
            "paddle.nn",
            "nn.Unfold((3, 2), paddings=[1, 0, 2, 1])",
            "unfold",
            {"window": (3, 2), "padding": ((1, 2), (0, 1)), "stride": 1, "dilation": 1, "order": "crd"},
        ),
        ("torch.nn", "nn.MaxPool2d(3, 2, 1)", "max_pool", {"window": 3, "stride": 2, "padding": 1}),
        ("torch.nn", "self.pool = torch.nn.MaxPool2d(kernel_size=(3, 2))", "max_pool", {"window": (3, 2)}),
        ("torch.nn", "MaxPool2d(2, ceil_mode=True)(x)", "max_pool", {"window": 2, "rounding": "ceil"}),
        ("torch.nn", "nn.MaxPool2d(2, return_indices=True)(x)[1]", "max_pool_with_indices", {"output": "indices"}),
        ("torch.nn", "nn.AvgPool1d(3, padding=1)", "avg_pool", {"count_include_pad": True, "padding": 1}),
        ("torch.nn", "nn.AvgPool2d(3, divisor_override=5)", "avg_pool", {"divisor": 5}),
        ("torch.nn", "nn.LPPool2d(4, 3)", "lp_pool", {"p": 4, "window": 3}),
        ("torch.nn", "nn.AdaptiveAvgPool2d((1, 1))", "adaptive_avg_pool", {"output_size": (1, 1)}),
        (
            "torch.nn",
            "nn.FractionalMaxPool2d(2, output_size=3)",
            "fractional_max_pool",
            {"window": 2, "output_size": 3},
        ),
        ("torch.nn", "nn.ZeroPad2d((1, 2, 3, 4))", "pad", {"pads": ((3, 4), (1, 2)), "mode": "constant"}),
        ("torch.nn", "nn.ReflectionPad1d(2)", "pad", {"pads": ((2, 2),), "mode": "reflect"}),
        ("torch.nn", "nn.CircularPad3d(1)", "pad", {"mode": "wrap"}),
        ("torch.nn", "nn.ConstantPad1d((1, 0), -float)", None, "-float"),
        ("torch.nn.functional", "F.max_pool2d(x, 3, 2, 1)", "max_pool", {"window": 3, "stride": 2, "padding": 1}),
        ("torch.nn.functional", "y = torch.nn.functional.max_pool1d(self.x, 3)", "max_pool", {"window": 3}),
        ("torch.nn.functional", "F.pad(x, (1, 2), value=-np.inf)", "pad", {"value": -math.inf, "pads": ((1, 2),)}),
        ("torch.nn.functional", "F.pad(x, (1, 2), value=float('-inf'))", "pad", {"value": -math.inf}),
        ("tf.keras.layers", "layers.MaxPooling2D(pool_size=(2, 2), strides=1)", "max_pool", {"stride": 1}),
        ("tf.keras.layers", 'keras.layers.Conv2D(32, 3, activation="relu")', None, "activation='relu'"),
        ("tf.keras.layers", "tf.keras.layers.GlobalAveragePooling2D()", "global_avg_pool", {}),
        ("tf.nn", 'tf.nn.max_pool2d(x, [1, 3, 3, 1], [1, 2, 2, 1], "VALID")', "max_pool", {"stride": (2, 2)}),
        ("tf.nn", 'tf.pad(x, [[0, 0], [1, 2], [0, 0]], "REFLECT")', "pad", {"pads": ((1, 2),), "mode": "reflect"}),
        ("flax.linen", "nn.max_pool(x, (3, 3))", "max_pool", {"window": (3, 3), "stride": 1}),
        ("flax.linen", "nn.avg_pool(x, (2,), (2,), [(1, 0)])", "avg_pool", {"padding": ((1, 0),)}),
        ("mxnet.gluon", "nn.MaxPool2D(2, ceil_mode=True)", "max_pool", {"rounding": "full"}),
        ("mxnet.npx", "npx.pooling(x, kernel=(2, 2))", "max_pool", {"stride": 1}),
        ("onnxruntime", 'helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3])', "max_pool", {"stride": 1}),
        ("onnxruntime", 'helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 2])', "conv", {"padding": ((1, 2),)}),
        ("onnxruntime", 'onnx.helper.make_node("Cnv", ["x", "w"], ["y"])', None, "'Cnv' is not a known layer"),
        (
            "jax.lax",
            "lax.reduce_window(x, jnp.inf, lax.min, (1, 1, 2), (1, 1, 2), 'VALID')",
            "min_pool",
            {"window": (2,)},
        ),
    ],
)
def test_layer_is_parsed_with_the_defaults_of_its_framework(surface, text, operator, expected):
    if operator is None:
        with pytest.raises(ConformanceError, match=expected):
            parsed_parameters(text, surface)
        return
    found, parameters = parsed_parameters(text, surface)
    assert found == operator
    assert {key: parameters.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("surface", "text", "shape", "output"),
    [
        ("torch.nn", "nn.MaxUnpool2d(2)", (1, 2, 4, 5), (8, 10)),
        ("torch.nn", "nn.AdaptiveMaxPool2d((None, 3))", (1, 2, 9, 9), (9, 3)),
        ("tf.keras.layers", 'layers.MaxPool2D(3, 2, "same")', (1, 2, 8, 7), ((0, 1), (1, 1))),
        ("flax.linen", "nn.Conv(4, (3,), 2)", (1, 2, 8), ((0, 1),)),
    ],
)
def test_layers_that_depend_on_the_input_size_require_a_shape(surface, text, shape, output):
    with pytest.raises(ConformanceError, match="depends on the size of the input: add --shape"):
        parse_layer(text, DIALECTS[surface])
    parameters = parse_layer(text, DIALECTS[surface], shape).request.case().parameters
    assert output in (parameters.get("output_size"), parameters.get("padding"))


def test_notes_name_the_defaults_of_the_layer():
    found = parse_layer("nn.MaxPool2d(3, padding=1)", DIALECTS["torch.nn"])
    assert list(layer_notes(found, found.request.case().parameters)) == [
        "defaults of the layer: stride 3 x 3, rounding floor, dilation 1 x 1"
    ]


INVALID_TEXTS = [
    "__import__('os').system('touch ruin')",
    "nn.MaxPool2d(__import__('os').getpid())",
    "nn.MaxPool2d(open('ruin', 'w'))",
    "nn.MaxPool2d([n for n in (1, 2)])",
    "nn.MaxPool2d((lambda: 3)())",
    "nn.MaxPool2d(2 ** 9 ** 9 ** 9)",
    "nn.MaxPool2d(f'{open}')",
    "nn.MaxPool2d(*(3, 2))",
    "nn.MaxPool2d(**{'kernel_size': 3})",
    "nn.MaxPool2d(x.__class__)",
    "nn.MaxPool2d(3, stride=__builtins__)",
    "nn.MaxPool2d(3)(open('ruin', 'w'))",
    "nn.MaxPool2d(3).__class__(x)",
    "nn.MaxPool2d(3).eval(x)",
    "nn.MaxPool2d(3 if x else 2)",
    "nn.MaxPool2d(x := 3)",
    "nn.MaxPool2d(3); import os",
    "import os",
    "def f(): pass",
    "lambda: nn.MaxPool2d(3)",
    "nn.MaxPool2d",
    "os.MaxPool2d(3)",
    "nn.MaxPool2d(",
    "nn.MaxPool2d(3" + ")" * 500,
    "(" * 1000 + ")" * 1000,
    "-" * 1900 + "1",
    "nn.MaxPool2d(" + "-" * 1900 + "1)",
    "x" * 10**6,
    "",
    "\0",
    "nn.MaxPool2d(b'3')",
    "nn.MaxPool2d(3j)",
    "nn.MaxPool2d(...)",
    "nn.MaxPool2d(True)",
    "nn.MaxPool2d('3')",
    "nn.MaxPool2d({3: 2})",
    "nn.MaxPool2d()",
    "nn.MaxPool2d(3, kernel_size=3)",
    "nn.MaxPool2d(3, 2, 1, 1, False, False, 7)",
    "nn.MaxPool2d((3, 3, 3))",
    "nn.MaxPool2d(3, ceil_mode='yes')",
    "nn.MaxPool2d(3)[2]",
    "nn.AvgPool2d(3)[0]",
    "nn.Conv2d(1, 2, 3, padding_mode='mirror')",
    "nn.ConvTranspose2d(1, 2, 3, padding_mode='reflect')",
]


@pytest.mark.parametrize("text", INVALID_TEXTS, ids=range(len(INVALID_TEXTS)))
def test_invalid_text_is_rejected_on_one_line_and_never_run(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConformanceError) as error:
        parse_layer(text, DIALECTS["torch.nn"])
    assert len(str(error.value).splitlines()) == 1
    assert len(str(error.value)) < 400
    assert not list(tmp_path.iterdir())


@drawn(st.text(alphabet="nMaxPol2d(),.=[]{}'\"-*:0123 \n_@", max_size=60))
def test_any_text_gives_a_layer_or_a_conformance_error(text):
    assert isinstance(attempt(f"nn.MaxPool2d({text}"), (ParsedLayer, ConformanceError))


def attempt(text):
    try:
        return parse_layer(text, DIALECTS["torch.nn"])
    except ConformanceError as error:
        return error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nn.MaxPol2d(3)", "'MaxPol2d' is not a known layer, did you mean 'MaxPool2d'?"),
        ("nn.MaxPool2d(3, strid=2)", "MaxPool2d has no argument 'strid', did you mean 'stride'?"),
        ("nn.MaxPool2d(3, 2, foo=1)", "has no argument 'foo', it has kernel_size, stride,"),
        ("nn.MaxPool2d(3, 1 + 1)", "column 17: BinOp is neither a number"),
        ("tf.MaxPool2d(3)", "column 1: 'tf' is not a module of this surface; its modules are nn, torch.nn"),
        ("nn.MaxPool2d((3, 3, 3))", "kernel_size=(3, 3, 3): 3 numbers for 2 spatial axes"),
    ],
)
def test_error_names_the_invalid_part_and_its_column(text, message):
    with pytest.raises(ConformanceError) as error:
        parse_layer(text, DIALECTS["torch.nn"])
    assert message in str(error.value)


@pytest.mark.parametrize("surface", sorted(DIALECTS))
def test_every_layer_reads_arguments_of_its_signature(surface):
    for layer in DIALECTS[surface].layers:
        names = set(layer.parameters.parameters)
        assert layer.operator in OPERATORS
        assert {reading.argument for reading in layer.readings.values()} | set(layer.array_arguments) | set(
            layer.required_values
        ) <= names
        assert {*layer.fixed_parameters, *layer.readings} <= set(OPERATORS[layer.operator].defaults) | OTHER_PARAMETERS


OTHER_PARAMETERS = {
    "window",
    "stride",
    "padding",
    "dilation",
    "channels",
    "out_channels",
    "bias",
    "mask",
    "p",
    "count_include_pad",
    PADDING_MODE,
}


def test_parser_is_independent_of_frameworks():
    dialect = Dialect(
        ("mine",), (LayerSignature("Pool{rank}(size, step=2)", "max_pool", {}, required_values={"step": 2}),)
    )
    assert parse_layer("mine.Pool1(4)", dialect).request.operator == "max_pool"
    with pytest.raises(ConformanceError, match="step=3: only 2 can be translated"):
        parse_layer("Pool1(4, step=3)", dialect)


TORCH = [DIALECTS["torch.nn"], DIALECTS["torch.nn.functional"]]


@pytest.mark.parametrize("text", ["nn.MaxPool2d(2)", "F.max_pool2d(x, 2)", "torch.nn.functional.max_pool2d(x, 2)"])
def test_layer_and_function_of_a_framework_are_read_by_its_dialects(text):
    found = parse_framework_layer(text, TORCH)
    assert (found.request.operator, found.request.parameters["window"]) == ("max_pool", 2)


def test_same_name_in_two_modules_is_read_by_its_module():
    flax = [DIALECTS["flax.linen"], DIALECTS["flax.nnx"]]
    linen = parse_framework_layer("nn.Conv(8, (3, 3), padding='VALID')", flax).request
    nnx = parse_framework_layer("nnx.Conv(4, 8, (3, 3), padding='VALID', rngs=rngs)", flax).request
    assert (linen.out_channels, nnx.channels, nnx.out_channels) == (8, 4, 8)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tf.nn.max_pool(x, 2)", "its modules are nn, torch.nn, F, functional, nn.functional, torch.nn.functional"),
        ("F.max_poll2d(x, 2)", "'max_poll2d' is not a known layer, did you mean 'max_pool2d'?"),
        ("nn.maxpool2d(2)", "'maxpool2d' is not a known layer, did you mean 'MaxPool2d'?"),
        ("F.max_pool2d(x, 2, size=3)", "max_pool2d has no argument 'size'"),
        ("nn.MaxPool2d(2", "column 13: not Python"),
    ],
)
def test_error_is_that_of_the_dialect_that_recognises_most(text, says):
    with pytest.raises(ConformanceError, match=re.escape(says)):
        parse_framework_layer(text, TORCH)


@pytest.mark.parametrize(
    ("surface", "text", "padding"),
    [
        ("tf.keras.layers", 'layers.Conv1D(4, 3, padding="causal")', ((2, 0),)),
        ("tf.keras.layers", 'layers.Conv1D(4, 3, strides=2, padding="CAUSAL")', ((2, 0),)),
        ("tf.keras.layers", 'layers.Conv1D(4, (3,), padding="causal", dilation_rate=2)', ((4, 0),)),
        ("keras-jax.layers", 'keras.layers.Conv1D(4, 1, padding="causal")', ((0, 0),)),
        ("flax.linen", 'nn.Conv(4, (3,), padding="CAUSAL", kernel_dilation=(3,))', ((6, 0),)),
        ("flax.nnx", 'nnx.Conv(2, 4, (3,), padding="CAUSAL")', ((2, 0),)),
    ],
)
def test_causal_padding_is_before_the_axis(surface, text, padding):
    assert parse_layer(text, DIALECTS[surface]).request.case().parameters["padding"] == padding


@pytest.mark.parametrize(
    ("surface", "text"),
    [
        ("tf.keras.layers", 'layers.Conv2D(4, 3, padding="causal")'),
        ("flax.linen", 'nn.Conv(4, (3, 3), padding="CAUSAL")'),
    ],
)
def test_causal_padding_of_several_axes_is_rejected(surface, text):
    with pytest.raises(ConformanceError, match="padding='causal': only a convolution with one spatial axis has it"):
        parse_layer(text, DIALECTS[surface])


@pytest.mark.parametrize(
    ("attributes", "padding", "added"),
    [
        ("auto_pad='VALID', strides=[2]", ((0, 0),), (0,)),
        ("auto_pad='SAME_UPPER', strides=[2]", ((0, 1),), (0,)),
        ("auto_pad='SAME_LOWER', strides=[2]", ((1, 0),), (0,)),
        ("auto_pad='SAME_UPPER', strides=[2], output_padding=[1]", ((1, 1),), (1,)),
        ("auto_pad='SAME_LOWER', strides=[3], output_padding=[1]", ((1, 0),), (1,)),
        ("auto_pad='SAME_UPPER', strides=[2], dilations=[2], output_padding=[1]", ((2, 2),), (1,)),
    ],
)
@pytest.mark.parametrize("extents", ["kernel_shape=[3], ", ""])
def test_transposed_node_with_named_padding_has_an_output_of_size_times_stride(attributes, padding, added, extents):
    text = f'helper.make_node("ConvTranspose", ["x", "w"], ["y"], {extents}{attributes})'
    kernel = (2, 4, 3)
    request = parse_layer(text, DIALECTS["onnxruntime"], (1, 2, 5), kernel).request
    case = replace(request, kernel=kernel).case()
    assert (case.parameters["padding"], case.parameters["output_padding"]) == (padding, added)
    if "SAME" in attributes:
        assert case_step(case).output[2:] == (5 * case.parameters["stride"][0],)


@pytest.mark.parametrize("added", ["", "output_padding=[1], "])
def test_transposed_node_whose_stride_exceeds_its_kernel_and_output_padding_is_rejected(added):
    text = f'helper.make_node("ConvTranspose", ["x", "w"], ["y"], kernel_shape=[1], strides=[3], {added}'
    with pytest.raises(ConformanceError, match="auto_pad: the stride exceeds the kernel and its output padding"):
        parse_layer(f'{text}auto_pad="SAME_UPPER")', DIALECTS["onnxruntime"], (1, 2, 5))


@pytest.mark.parametrize(
    ("surface", "text", "padding"),
    [
        ("flax.linen", "nn.Conv(4, (3, 2))", ((1, 1), (0, 1))),
        ("flax.linen", "nn.Conv(4, (3, 2), kernel_dilation=2)", ((2, 2), (1, 1))),
        ("torch.nn", 'nn.Conv2d(3, 8, 3, padding="same")', ((1, 1), (1, 1))),
        ("tf.keras.layers", 'layers.MaxPool2D(2, 1, "same")', ((0, 1), (0, 1))),
        ("tf.nn", 'tf.nn.max_pool2d(x, 3, 1, "SAME")', ((1, 1), (1, 1))),
        ("onnxruntime", 'helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 3], auto_pad="SAME_LOWER")',
         ((1, 0), (1, 1))),
        ("tf.keras.layers", 'layers.Conv2DTranspose(4, 3, strides=2, padding="same")', ((0, 1), (0, 1))),
    ],
)  # fmt: skip
def test_same_padding_with_stride_1_needs_no_shape(surface, text, padding):
    requests = [parse_layer(text, DIALECTS[surface], shape).request for shape in (None, (1, 3, 9, 12))]
    assert [request.case().parameters["padding"] for request in requests] == [padding, padding]


@pytest.mark.parametrize(
    ("surface", "text"),
    [
        ("flax.linen", "nn.Conv(4, (3, 2), strides=(1, 2))"),
        ("tf.keras.layers", 'layers.AveragePooling2D(2, padding="same")'),
        ("onnxruntime", 'helper.make_node("Conv", ["x", "w"], ["y"], strides=[2, 2], auto_pad="SAME_UPPER")'),
    ],
)
def test_same_padding_with_a_larger_stride_needs_a_shape(surface, text):
    with pytest.raises(ConformanceError, match="the padding depends on the size of the input: add --shape"):
        parse_layer(text, DIALECTS[surface])


@pytest.mark.parametrize(
    ("surface", "text"),
    [
        ("torch.nn", "nn.BatchNorm2d(64)"),
        ("torch.nn", "nn.Linear(3, 4)"),
        ("torch.nn.functional", "F.layer_norm(x, (3,))"),
        ("tf.keras.layers", "layers.LayerNormalization()"),
    ],
)
def test_layer_without_windows_is_named_as_such(surface, text):
    with pytest.raises(ConformanceError, match="is not a window operator: pooling, padding and convolution are transl"):
        parse_layer(text, DIALECTS[surface])

"""ONNX Runtime in JavaScript: nodes without a kernel for a graphics card. Observed with onnxruntime-web 1.30.0."""

from __future__ import annotations

import math

from conformance.adapters.api import (
    Code,
    Lowering,
    Step,
    Unsupported,
    call,
    flat_pad_list,
    groups_argument,
    is_framework_same,
    too_many_axes,
)
from conformance.adapters.onnx import nodes
from conformance.cases.operators import Coordinates, PadMode, ResizeMode, Rounding

MISSING_KERNELS = frozenset(
    {
        *("lp_pool", "max_unpool", "grid_sample", "space_to_depth", "lrn", "fold"),
        *("quantize", "quantized_conv", "conv_integer", "deform_conv", "affine_grid"),
    }
)
PLANE_RANK = 2
# Not a rejected call: every later session of the page fails.
NOT_ROUNDED_UP = Unsupported('"ceil_mode kernel execution is not yet implemented"')
NO_GROUPS = Unsupported('"Conv3D does not support grouped convolution"')
NO_UNEQUAL_PADS = Unsupported('Conv of three axes takes equal pads only: "Unsupported padding parameter"')
NO_INFINITE_VALUE = Unsupported("a shader with the value of Pad: \"'Infinity' : undeclared identifier\"")
NO_RESIZED_ROWS_OR_VOLUMES = Unsupported('"Cubic mode only supports input dims 2 and 4"')
NO_ANTIALIASING = Unsupported('"Only default value (0) for Antialias attribute is supported"')
NO_EXCLUDED_CELLS = Unsupported('"exclude_outside can be set to 1 only when mode is CUBIC"')
NO_LINEAR_RANK = Unsupported("\"'Linear' mode and 'Cubic' mode only support 2-D inputs ('Bilinear', 'Bicubic')\"")
NO_SIZES = Unsupported('Resize with sizes: "data type is not float (float32, float64)"')
NO_NEAREST = Unsupported("\"resize (packed) does not support mode: 'nearest'\"")
WEBGL_OTHER_COORDINATES = frozenset({Coordinates.HALF_PIXEL_SYMMETRIC, Coordinates.TF_CROP_AND_RESIZE})
NO_LRN_RANK = Unsupported('LRN takes two spatial axes: "currently only support LRN for input with" the format NCHW')
NO_INDICES = Unsupported("MaxPool does not return indices on a graphics card")


def _missing_kernel(step: Step) -> Unsupported | None:
    if step.operator in MISSING_KERNELS:
        return Unsupported(f"there is no kernel of {nodes.NODE_TYPES[step.operator]} for a graphics card")
    if step.operator == "max_pool_with_indices" and step.parameters.get("output") == "indices":
        return NO_INDICES
    return too_many_axes(step) if step.operator != "pad" else None


def webgpu_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use a node on `webgpu`."""
    unsupported = _missing_kernel(step) or _resize_limit(step)
    if unsupported or step.rank <= PLANE_RANK:
        return unsupported
    if step.operator == "conv_transpose":
        return Unsupported('"Only Conv2d or Conv1d are supported."')
    return NO_GROUPS if step.operator == "conv" and step.parameters.get("groups", 1) > 1 else None


def jsep_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use a node on `jsep`."""
    if step.parameters.get("rounding") == Rounding.CEIL:
        return NOT_ROUNDED_UP
    if step.operator in nodes.POOLING_OPERATORS and step.rank > PLANE_RANK:
        return Unsupported('"Pooling with kernelShape.length > 2 is not supported for NHWC format."')
    if step.operator == "conv_transpose" and step.rank > PLANE_RANK:
        return Unsupported('"currently only support 2-dimensional conv"')
    return _missing_kernel(step) or _resize_limit(step)


def _resize_limit(step: Step) -> Unsupported | None:
    if step.operator != "resize":
        return None
    if step.parameters.get("antialias"):
        return NO_ANTIALIASING
    is_cubic = step.parameters["mode"] == ResizeMode.CUBIC
    return NO_RESIZED_ROWS_OR_VOLUMES if is_cubic and step.rank != PLANE_RANK else None


def webgl_limit(step: Step) -> Unsupported | None:
    """Return the reason not to use a node on `webgl`."""
    if step.operator in ("conv", "conv_transpose") and step.rank != PLANE_RANK:
        return Unsupported('"currently only support 2-dimensional conv"')
    if step.parameters.get("rounding") == Rounding.CEIL:
        return Unsupported('"using ceil() in shape computation is not yet supported"')
    if step.operator == "lrn":
        return None if step.rank == PLANE_RANK else NO_LRN_RANK
    if step.operator == "resize":
        return _webgl_resize_limit(step)
    return _webgl_pad_limit(step) if step.operator == "pad" else _missing_kernel(step)


def _webgl_resize_limit(step: Step) -> Unsupported | None:
    coordinates = step.parameters.get("coordinates")
    if coordinates in WEBGL_OTHER_COORDINATES:
        return Unsupported(f"\"coordinate_transform_mode '{coordinates}' is not supported\"")
    if step.parameters.get("size") is not None:
        return NO_SIZES
    if step.parameters.get("exclude_outside") and step.parameters["mode"] != ResizeMode.CUBIC:
        return NO_EXCLUDED_CELLS
    if step.parameters["mode"] == ResizeMode.NEAREST:
        return NO_NEAREST
    return None if step.rank == PLANE_RANK else NO_LINEAR_RANK


def _webgl_pad_limit(step: Step) -> Unsupported | None:
    if step.parameters["mode"] == PadMode.WRAP:
        return Unsupported('"Invalid mode": Pad does not wrap')
    if flat_pad_list(step):
        return Unsupported("Pad takes no axes")
    return NO_INFINITE_VALUE if math.isinf(step.parameters.get("value", 0)) else None


MISSING_NODES = ("ReduceSum", "ReduceL1", "ReduceL2", "ArgMax", "ScatterElements")


def webgpu_composition_limit(step: Step, text: str) -> Unsupported | None:
    """Return the reason not to use several nodes on `webgpu` and `jsep`: integers of 64 bits have few kernels."""
    if "ScatterElements(" in text:
        return Unsupported("there is no kernel of ScatterElements for a graphics card")
    return NO_INDICES if step.operator == "max_pool_with_indices" else None


def jsep_composition_limit(step: Step, text: str) -> Unsupported | None:
    """Return the reason not to use several nodes on `jsep`."""
    if "ArgMax(" in text:
        return Unsupported("there is no kernel of GatherND after ArgMax for a graphics card")
    return webgpu_composition_limit(step, text)


def webgl_composition_limit(_step: Step, text: str) -> Unsupported | None:
    """Return the reason not to use several nodes on `webgl`."""
    if "np.inf" in text:
        return NO_INFINITE_VALUE
    missing = [node for node in MISSING_NODES if f"{node}(" in text]
    return Unsupported(f"there is no kernel of {missing[0]} for WebGL") if missing else None


def explicit_conv(step: Step) -> Code:
    """Return the Conv node with all attributes: `jsep` rejects one that leaves out a default."""
    if (
        step.rank > PLANE_RANK
        and not is_framework_same(step)
        and len({pad for pair in step.padding for pad in pair}) > 1
    ):
        return NO_UNEQUAL_PADS
    if is_framework_same(step):
        padding = {"auto_pad": '"SAME_UPPER"'}
    else:
        padding = {"pads": nodes.ints_text(nodes.begins_and_ends(step.padding))}
    return call(
        "Conv",
        "x",
        "kernel",
        "bias" if step.bias else None,
        kernel_shape=nodes.ints_text(step.window),
        strides=nodes.ints_text(step.stride or (1,) * step.rank),
        dilations=nodes.ints_text(step.dilation),
        group=groups_argument(step),
        **padding,
    )


def without_indices(lowering: Lowering, step: Step) -> Code:
    """Return MaxPool without its second output, which has no kernel for a graphics card."""
    return NO_INDICES if step.parameters.get("output") == "indices" else lowering(step)

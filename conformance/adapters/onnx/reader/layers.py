"""Layers with windows and padding of an ONNX graph, from its nodes."""

from functools import partial

from extraction import first_channels

from .context import Problem

WEIGHT_CHANNELS = (4, 4)
POOLING = {"MaxPool": "max_pool", "AveragePool": "avg_pool", "LpPool": "lp_pool"}
GLOBAL = {"GlobalMaxPool": "global_max_pool", "GlobalAveragePool": "global_avg_pool"}
REDUCTIONS = {"ReduceMax": "global_max_pool", "ReduceMean": "global_avg_pool"}
LEAST_RANK = 4
"""Number of axes of an array whose last axes are spatial. In one of three axes, the last one may be the features."""
CONVOLUTIONS = {"Conv": "conv", "ConvTranspose": "conv_transpose"}


def spatial_padding(values, rank):
    """Return the padding as pairs, or the word for a padding that is computed from the extents."""
    word = values.get("auto_pad", b"NOTSET")
    if word in (b"SAME_UPPER", b"SAME_LOWER"):
        return word.decode().lower()
    if word not in (b"NOTSET", b"VALID"):
        raise Problem(f"auto_pad is {word!r}")
    pads = list(values.get("pads", [0] * (2 * rank))) if word == b"NOTSET" else [0] * (2 * rank)
    if len(pads) != 2 * rank:
        raise Problem(f"it has {len(pads)} pads for {rank} spatial axes")
    return [[pads[axis], pads[axis + rank]] for axis in range(rank)]


def read_pooling(name, node, values, context, model):
    """Add MaxPool, AveragePool or LpPool."""
    shape = context.shape(node.input[0])
    rank = len(shape) - 2
    if "kernel_shape" not in values:
        raise Problem("it has no kernel_shape")
    window = list(values["kernel_shape"])
    parameters = {
        "window": window,
        "stride": list(values.get("strides", [1] * rank)),
        "padding": spatial_padding(values, rank),
        "dilation": list(values.get("dilations", [1] * rank)),
        "rounding": "ceil" if values.get("ceil_mode") else "floor",
    }
    dtype = context.dtype(node.input[0])
    add = partial(model.add, shape=shape, dtype=dtype, source=node.op_type)
    operator = POOLING[node.op_type]
    if operator == "avg_pool":
        parameters["count_include_pad"] = bool(values.get("count_include_pad", 0))
    elif operator == "lp_pool":
        parameters["p"] = values.get("p", 2)
    elif len(node.output) > 1 and node.output[1]:
        if values.get("storage_order"):
            raise Problem("storage_order 1 is not checked")
        add(name + " (indices)", "max_pool_with_indices", {**parameters, "output": "indices"})
    add(name, operator, parameters)


def read_global(name, node, _values, context, model):
    """Add pooling of whole planes."""
    shape = context.shape(node.input[0])
    model.add(name, GLOBAL[node.op_type], {}, shape=shape, dtype=context.dtype(node.input[0]), source=node.op_type)


def read_reduction(name, node, values, context, model):
    """Add the mean or maximum of all spatial axes of (n, c, *spatial). Others are counted."""
    axes = values.get("axes") if len(node.input) < 2 or not node.input[1] else context.array(node.input[1])
    try:
        shape = context.shape(node.input[0])
    except Problem:
        shape = ()
    spatial = list(range(2, len(shape)))
    if axes is None or len(shape) < LEAST_RANK or sorted(int(axis) % len(shape) for axis in axes) != spatial:
        model.add_other(node.op_type)
        return
    model.add(name, REDUCTIONS[node.op_type], {}, shape=shape, dtype=context.dtype(node.input[0]), source=node.op_type)


def read_convolution(name, node, values, context, model):
    """Add Conv or ConvTranspose."""
    shape, kernel = context.shape(node.input[0]), context.shape(node.input[1])
    rank = len(shape) - 2
    parameters = {
        "stride": list(values.get("strides", [1] * rank)),
        "padding": spatial_padding(values, rank),
        "dilation": list(values.get("dilations", [1] * rank)),
        "groups": values.get("group", 1),
    }
    operator = CONVOLUTIONS[node.op_type]
    if operator == "conv_transpose":
        transposed_padding(parameters, values, shape[2:], kernel[2:])
    bias = len(node.input) > 2 and bool(node.input[2])
    arrays = {"kernel": context.array(node.input[1])}
    if bias:
        arrays["bias"] = context.array(node.input[2])
    weights = {}
    if all(array is not None for array in arrays.values()):
        weights = {key: first_channels(array, WEIGHT_CHANNELS) for key, array in arrays.items()}
    fields = {"kernel": kernel, "bias": bias, "weights": weights, "source": node.op_type}
    model.add(name, operator, parameters, shape=shape, dtype=context.dtype(node.input[0]), **fields)


def transposed_padding(parameters, values, extents, window):
    """Add the output padding, and the pads that a wanted output size or a word for the padding gives."""
    rank = len(extents)
    parameters["output_padding"] = list(values.get("output_padding", [0] * rank))
    wanted, word = values.get("output_shape"), parameters["padding"]
    if wanted is None and not isinstance(word, str):
        return
    pairs = []
    for axis in range(rank):
        stride, reach = parameters["stride"][axis], (window[axis] - 1) * parameters["dilation"][axis] + 1
        size = wanted[axis - rank] if wanted else extents[axis] * stride
        total = stride * (extents[axis] - 1) + parameters["output_padding"][axis] + reach - size
        if total < 0:
            raise Problem("its output is larger than its windows reach")
        small = total // 2
        pairs.append([small, total - small] if word == "same_upper" else [total - small, small])
    parameters["padding"] = pairs


def read_pad(name, node, values, context, model):
    """Add Pad if it pads spatial axes."""
    shape = context.shape(node.input[0])
    pads = values.get("pads") if len(node.input) < 2 else context.array(node.input[1])
    if pads is None:
        raise Problem("its pads are computed by the model")
    pads = [int(pad) for pad in pads]
    axes = context.array(node.input[3]) if len(node.input) > 3 and node.input[3] else range(len(shape))
    if axes is None:
        raise Problem("its axes are computed by the model")
    axes = [int(axis) % max(len(shape), 1) for axis in axes]
    if len(pads) != 2 * len(axes):
        raise Problem(f"it has {len(pads)} pads for {len(axes)} axes")
    pairs = [[0, 0] for _ in shape]
    for position, axis in enumerate(axes):
        pairs[axis] = [pads[position], pads[position + len(axes)]]
    if not any(map(any, pairs)):
        model.add_other("Pad by nothing")
        return
    if len(shape) < 3 or any(map(any, pairs[:2])):
        model.add_other("Pad of batch or channels")
        return
    mode = values.get("mode", b"constant").decode()
    parameters = {"pads": pairs[2:], "mode": mode}
    if mode == "constant":
        value = context.array(node.input[2]) if len(node.input) > 2 and node.input[2] else values.get("value", 0.0)
        if value is None:
            raise Problem("its value is computed by the model")
        number = float(value.reshape(-1)[0]) if hasattr(value, "reshape") else float(value)
        parameters["value"] = int(number) if number.is_integer() else number
    model.add(name, "pad", parameters, shape=shape, dtype=context.dtype(node.input[0]), source=node.op_type)


READERS = {
    **dict.fromkeys(POOLING, read_pooling),
    **dict.fromkeys(GLOBAL, read_global),
    **dict.fromkeys(REDUCTIONS, read_reduction),
    **dict.fromkeys(CONVOLUTIONS, read_convolution),
    "Pad": read_pad,
}

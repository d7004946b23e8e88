"""Script of the reader of ONNX files, see conformance.adapters.api.model_reader.extraction. It runs without the suite.

External data is never opened. Initializers keep their shapes during shape inference, and only small integers keep
their values, because shapes are computed from them.
"""

import math
import os
from functools import partial

import onnx
from extraction import first_channels, first_line
from onnx import TensorProto, helper, numpy_helper, shape_inference

MAX_FILE_BYTES = 2 << 30
MAX_NODES = 200000
MAX_DEPTH = 16
"""Maximum nesting of the graphs in If, Loop and Scan."""
MAX_SHAPE_ELEMENTS = 1024
"""Number of elements up to which an integer initializer keeps its values during shape inference."""
WEIGHT_CHANNELS = (4, 4)
POOLING = {"MaxPool": "max_pool", "AveragePool": "avg_pool", "LpPool": "lp_pool"}
GLOBAL = {"GlobalMaxPool": "global_max_pool", "GlobalAveragePool": "global_avg_pool"}
REDUCTIONS = {"ReduceMax": "global_max_pool", "ReduceMean": "global_avg_pool"}
LEAST_RANK = 4
"""Number of axes of an array whose last axes are spatial. In one of three axes, the last one may be the features."""
CONVOLUTIONS = {"Conv": "conv", "ConvTranspose": "conv_transpose"}
SETTINGS = {
    "BatchNormalization": {"epsilon": 1e-5, "momentum": 0.9},
    "InstanceNormalization": {"epsilon": 1e-5},
    "LayerNormalization": {"epsilon": 1e-5},
    "GroupNormalization": {"epsilon": 1e-5},
    "LeakyRelu": {"alpha": 0.01},
}
"""Attributes on whose default frameworks differ, by the kind of the node, with the defaults of ONNX."""
UNREAD = {
    "MaxUnpool": "the output shape of MaxUnpool is not read",
    "GlobalLpPool": "the suite has no global Lp pooling",
    "ConvInteger": "quantized convolutions are not checked",
    "QLinearConv": "quantized convolutions are not checked",
    "DeformConv": "deformable convolutions are not checked",
    "Col2Im": "the suite has no Col2Im",
    "MaxRoiPool": "the suite has no region pooling",
    "RoiAlign": "the suite has no region pooling",
}


class Problem(Exception):
    """A node with a window that cannot be checked."""


def read_model(path, model):
    """Add the nodes of a file to the model."""
    size = os.path.getsize(path)
    if size > MAX_FILE_BYTES:
        raise model.error(f"it has {size} bytes, the limit is {MAX_FILE_BYTES}")
    try:
        loaded = onnx.load(path, load_external_data=False)
    except Exception as error:
        raise model.error(f"not an ONNX file: {first_line(error)}") from None
    if not loaded.graph.node:
        raise model.error("not an ONNX file, or a graph without nodes")
    if loaded.functions:
        loaded = onnx.inliner.inline_local_functions(loaded)
    check_nodes(loaded.graph, model, set(), 0)
    set_input_shapes(loaded.graph, model)
    weights = {one.name: one for one in loaded.graph.initializer}
    try:
        inferred = shape_inference.infer_shapes(without_weights(loaded), data_prop=True)
    except Exception as error:
        raise model.error(f"its shapes cannot be inferred: {first_line(error)}") from None
    read_graph(inferred.graph, model, weights, {}, {})


def check_nodes(graph, model, outer, depth):
    """Raise an error for a cyclic or too large graph, and for an input that nothing computes."""
    if depth > MAX_DEPTH or len(graph.node) > MAX_NODES:
        raise model.error(f"its graphs are nested too deeply or have more than {MAX_NODES} nodes")
    known = outer | {""} | {one.name for one in (*graph.input, *graph.initializer)}
    known |= {one.values.name for one in graph.sparse_initializer}
    for node in graph.node:
        missing = next((name for name in node.input if name not in known), None)
        if missing is not None:
            raise model.error(f"node {node.name!r} reads {missing!r}, which no earlier node computes")
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs) if attribute.type in (5, 10) else ():
                check_nodes(inner, model, known, depth + 1)
        known |= set(node.output)


def set_input_shapes(graph, model):
    """Write the shapes that the user gave into the inputs of the graph."""
    constants = {one.name for one in graph.initializer}
    inputs = [one for one in graph.input if one.name not in constants]
    for name, shape in model.inputs.items():
        chosen = inputs if name == "" else [one for one in inputs if one.name == name]
        if len(chosen) != 1:
            known = ", ".join(one.name for one in inputs[:10])
            raise model.error(f"--input {name or 'without a name'}: the inputs of the model are {known}")
        declared = chosen[0].type.tensor_type.shape
        if declared.dim and len(declared.dim) != len(shape):
            raise model.error(f"--input {chosen[0].name}: the input has {len(declared.dim)} axes")
        del declared.dim[:]
        for extent in shape:
            declared.dim.add().dim_value = extent
    if model.inputs:
        # Shapes of intermediate values that an exporter has written may have other extents.
        del graph.value_info[:]
        for output in graph.output:
            output.type.tensor_type.ClearField("shape")


def without_weights(loaded):
    """Return the model with large initializers as inputs of the same shape, so that nothing copies their values."""
    graph = loaded.graph
    declared = {one.name for one in graph.input}
    kept = []
    for one in graph.initializer:
        is_small = math.prod(one.dims) <= MAX_SHAPE_ELEMENTS and not one.external_data
        if is_small and one.data_type in (TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT):
            kept.append(one)
            continue
        if one.name not in declared:
            graph.input.append(helper.make_tensor_value_info(one.name, one.data_type, list(one.dims)))
    small = onnx.ModelProto()
    # The weights stay in the objects that the caller has; the copy has none.
    weights = list(graph.initializer)
    del graph.initializer[:]
    graph.initializer.extend(kept)
    small.CopyFrom(loaded)
    del graph.initializer[:]
    graph.initializer.extend(weights)
    return small


def read_graph(graph, model, weights, types, constants):
    """Add the nodes of a graph and of the graphs in it."""
    types = {**types, **{one.name: one.type.tensor_type for one in (*graph.input, *graph.output, *graph.value_info)}}
    weights = {**weights, **{one.name: one for one in graph.initializer if one.name not in weights}}
    computed = set()  # values that nodes compute of constants only
    for number, node in enumerate(graph.node):
        name = node.name or (node.output[0] if node.output else f"node {number}")
        attributes = {one.name: one for one in node.attribute}
        if node.op_type == "Constant" and "value" in attributes:
            weights[node.output[0]] = attributes["value"].t
        else:
            read = [one for one in node.input if one and one not in weights and one not in computed]
            model.add_node(name, node.op_type, read, node.output)
            computed |= set(node.output) if not read else set()
        if node.op_type in UNREAD:
            model.add_problem(name, node.op_type, UNREAD[node.op_type])
        elif node.domain in ("", "ai.onnx") and node.op_type in READERS:
            try:
                values = {key: helper.get_attribute_value(one) for key, one in attributes.items()}
                READERS[node.op_type](name, node, values, Context(types, weights), model)
            except Problem as problem:
                model.add_problem(name, node.op_type, problem)
        elif node.op_type != "Constant":
            settings = SETTINGS.get(node.op_type, {})
            model.add_other(
                node.op_type, **{key: attributes[key].f if key in attributes else one for key, one in settings.items()}
            )
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs) if attribute.type in (5, 10) else ():
                read_graph(inner, model, weights, types, constants)


class Context:
    """Types of values and contents of initializers."""

    def __init__(self, types, weights):
        self.types, self.weights = types, weights

    def shape(self, name):
        """Return the shape of a value. Raises Problem if an extent is unknown."""
        if name in self.weights:
            return tuple(self.weights[name].dims)
        found = self.types.get(name)
        if found is None or not found.HasField("shape"):
            raise Problem("the shape of its input is unknown (--input NAME=SHAPE gives that of the model)")
        shape = tuple(one.dim_value if one.HasField("dim_value") else -1 for one in found.shape.dim)
        # The batch is often symbolic, and no window reaches across it.
        shape = (1, *shape[1:]) if shape and shape[0] < 1 else shape
        if any(extent < 0 for extent in shape):
            raise Problem("the shape of its input is not fixed (--input NAME=SHAPE gives that of the model)")
        return shape

    def dtype(self, name):
        """Return the dtype of a value, float32 if it is unknown."""
        found = self.weights[name].data_type if name in self.weights else getattr(self.types.get(name), "elem_type", 1)
        return {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16", 6: "int32", 7: "int64", 2: "uint8",
                3: "int8"}.get(found, "float32")  # fmt: skip

    def array(self, name):
        """Return the contents of an initializer, None without one. External data is not read."""
        tensor = self.weights.get(name)
        if tensor is None or tensor.external_data or tensor.data_location == TensorProto.EXTERNAL:
            return None
        try:
            return numpy_helper.to_array(tensor)
        except Exception:
            return None


def spatial_padding(values, rank):
    """Return the padding as pairs, or the word for a padding that is computed from the extents."""
    word = values.get("auto_pad", b"NOTSET")
    if word in (b"SAME_UPPER", b"SAME_LOWER"):
        return word.decode().lower()
    pads = list(values.get("pads", [0] * (2 * rank))) if word == b"NOTSET" else [0] * (2 * rank)
    if len(pads) != 2 * rank:
        raise Problem(f"it has {len(pads)} pads for {rank} spatial axes")
    return [[pads[axis], pads[axis + rank]] for axis in range(rank)]


def read_pooling(name, node, values, context, model):
    """Add MaxPool, AveragePool or LpPool."""
    shape = context.shape(node.input[0])
    rank = len(shape) - 2
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

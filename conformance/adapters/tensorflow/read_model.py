"""Script of the reader of SavedModels. It runs without the suite, see conformance.adapters.api.model_reader.

The nodes that the outputs of a signature need are collected. The bodies of functions take the place of their calls.
TensorFlow imports this graph, which infers its shapes. No session is created and no variable is restored.
"""

import os

import channels_last as last
import numpy as np
import tensorflow as tf
from extraction import first_line
from google.protobuf.message import DecodeError
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework.function_def_to_graph import function_def_to_graph_def

FILE, VARIABLES = "saved_model.pb", "variables/variables"
MAX_FILE_BYTES = (2 << 30) - 1
MAX_NODES = 200000
MAX_DEPTH = 32
"""Maximum nesting of functions that call each other."""
DEFAULT_SIGNATURE = "serving_default"
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
POOLING = {"MaxPool": "max_pool", "MaxPool3D": "max_pool", "AvgPool": "avg_pool", "AvgPool3D": "avg_pool"}
REDUCTIONS = {"Mean": "mean", "Max": "max"}
PAD_MODES = {b"REFLECT": "reflect", b"SYMMETRIC": "symmetric"}
UNREAD = {
    "MaxPoolWithArgmax": "max pooling with indices is not read", "FractionalMaxPool": "fractional pooling is not read",
    "FractionalAvgPool": "fractional pooling is not read", "Dilation2D": "the suite has no morphological dilation",
    "QuantizedConv2D": "quantized layers are not checked", "QuantizedMaxPool": "quantized layers are not checked",
    "QuantizedAvgPool": "quantized layers are not checked", "CropAndResize": "the suite has no region pooling",
    "XlaConvV2": "operators of XLA are not read", "XlaReduceWindow": "operators of XLA are not read",
    "XlaCallModule": "it is a program in StableHLO: read the model before it was converted to TensorFlow",
}  # fmt: skip
PASSING = frozenset({"Identity", "ReadVariableOp", "Cast", "Reshape", "ExpandDims", "Squeeze", "Enter"})
"""Operators whose output has the values of the first input, for constants and weights."""


def read_model(path, model):
    """Add the nodes of a folder or of the file in it."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    content = load(os.path.join(folder, FILE), model)
    meta, signature = chosen_graph(content, model)
    graph_def = meta.graph_def
    library = {one.signature.name: one for one in graph_def.library.function}
    outputs = [one.name for one in signature.outputs.values()]
    graph = tf.Graph()
    try:
        with tf.Graph().as_default():
            # The conversion of a function to a graph finds the functions that it calls in the current graph.
            functions = graph_pb2.GraphDef(library=graph_def.library, versions=graph_def.versions)
            tf.graph_util.import_graph_def(functions, name="")
            flat = Flattener(library, model).flatten(graph_def, outputs)
            keys = checkpoint_keys(graph_def, meta.saver_def.save_tensor_name, library, model)
        set_input_shapes(flat, signature, model)
        with graph.as_default():
            tf.graph_util.import_graph_def(flat, name="")
    except (MemoryError, RecursionError, model.error):
        raise
    except Exception as error:
        raise model.error(f"{FILE}: its graph cannot be imported: {first_line(error)}") from None
    read_graph(graph, Weights(folder, keys), library, model)


def load(path, model):
    """Return the content of the file."""
    size = os.path.getsize(path)
    if size > MAX_FILE_BYTES:
        raise model.error(f"{FILE} has {size} bytes, the limit is {MAX_FILE_BYTES}")
    content = saved_model_pb2.SavedModel()
    with open(path, "rb") as file:
        try:
            content.ParseFromString(file.read())
        except DecodeError as error:
            raise model.error(f"{FILE}: not a SavedModel: {first_line(error)}") from None
    return content


def chosen_graph(content, model):
    """Return the graph for serving and its signature: the default one, or the only one."""
    graphs = [one for one in content.meta_graphs if "serve" in one.meta_info_def.tags] or list(content.meta_graphs)
    if not graphs:
        raise model.error(f"{FILE}: not a SavedModel: it has no graph")
    signatures = {name: one for name, one in graphs[0].signature_def.items() if one.outputs and one.inputs}
    if DEFAULT_SIGNATURE in signatures:
        return graphs[0], signatures[DEFAULT_SIGNATURE]
    if len(signatures) != 1:
        known = ", ".join(sorted(signatures)[:10]) or "none"
        raise model.error(f"{FILE}: it has no signature {DEFAULT_SIGNATURE!r}, but {known}")
    return graphs[0], next(iter(signatures.values()))


def input_node(text):
    """Return the node of an input, which may name one of its outputs or a control dependency."""
    return text.lstrip("^").partition(":")[0]


class Flattener:
    """Puts the bodies of functions in place of their calls."""

    def __init__(self, library, model):
        self.library, self.model, self.result, self.calls = library, model, graph_pb2.GraphDef(), 0

    def flatten(self, graph_def, outputs):
        """Return the graph of the nodes that the outputs need."""
        needed = self.needed(graph_def.node, outputs)
        self.add(needed, "", {}, 0)
        self.result.versions.CopyFrom(graph_def.versions)
        # Control flow keeps its functions.
        self.result.library.function.extend(self.library.values())
        return self.result

    def needed(self, nodes, outputs):
        """Return the nodes that the outputs need, in the order in which they can be computed."""
        by_name = {one.name: one for one in nodes}
        states, order = {}, []
        stack = [(input_node(one), False) for one in reversed(outputs)]
        while stack:
            name, is_done = stack.pop()
            node = by_name.get(name)
            if node is None:
                raise self.model.error(f"{FILE}: a node reads {name!r}, which is not in the graph")
            if is_done:
                states[name] = True
                order.append(node)
            elif name not in states:
                states[name] = False
                stack.append((name, True))
                stack.extend((input_node(one), False) for one in node.input if states.get(input_node(one)) is not True)
        return order

    def add(self, nodes, prefix, values, depth):
        """Add nodes. values: the outputs of the graph around them, by the outputs that stand for them."""
        if depth > MAX_DEPTH:
            raise self.model.error(f"{FILE}: its functions are nested too deeply")
        for node in nodes:
            if len(self.result.node) > MAX_NODES:
                raise self.model.error(f"{FILE}: it has more than {MAX_NODES} nodes")
            if f"{node.name}:0" in values:
                continue
            inputs = [self.renamed(one, prefix, values) for one in node.input if not one.startswith("^")]
            function = self.called(node)
            if function is not None:
                self.add_body(node, function, prefix, inputs, values, depth)
                continue
            copy = self.result.node.add()
            copy.CopyFrom(node)
            copy.name = prefix + node.name
            # Devices and placement do not matter, and control dependencies are not needed for shapes.
            copy.ClearField("device")
            copy.attr.pop("_class", None)
            del copy.input[:]
            copy.input.extend(inputs)

    def called(self, node):
        """Return the function that a node calls, None without one."""
        name = node.attr["f"].func.name if node.op in CALLS else node.op
        return self.library.get(name)

    def renamed(self, text, prefix, values):
        """Return an input in the names of the result."""
        name, _, index = text.partition(":")
        return values.get(f"{name}:{index or 0}", f"{prefix}{name}:{index or 0}")

    def add_body(self, node, function, prefix, inputs, values, depth):
        """Add the body of a function; its outputs stand for those of the node."""
        self.calls += 1
        if self.calls > MAX_NODES:
            raise self.model.error(f"{FILE}: it has more than {MAX_NODES} calls of functions")
        body, names = function_def_to_graph_def(function)
        arguments = [one.name for one in function.signature.input_arg]
        if len(inputs) != len(arguments):
            raise self.model.error(f"{FILE}: {node.name} has {len(inputs)} inputs, its function {len(arguments)}")
        # Layers have the names of their nodes in the innermost function; a call adds nothing but a number.
        inner_prefix = f"{prefix}{node.name}/"
        inner = {f"{name}:0": value for name, value in zip(arguments, inputs)}
        returned = [names[function.ret[one.name]] for one in function.signature.output_arg]
        needed = self.needed(body.node, returned)
        self.add(needed, inner_prefix, inner, depth + 1)
        for index, text in enumerate(returned):
            values[f"{node.name}:{index}"] = self.renamed(text, inner_prefix, inner)


def set_input_shapes(graph_def, signature, model):
    """Write the shapes of the inputs of the signature: those of the user, or one batch."""
    inputs = {name: one.name.partition(":")[0] for name, one in signature.inputs.items()}
    for name in model.inputs:
        if name not in inputs and not (name == "" and len(inputs) == 1):
            known = ", ".join(sorted(inputs)[:10])
            raise model.error(f"--input {name or 'without a name'}: the inputs of the model are {known}")
    nodes = {one.name: one for one in graph_def.node}
    for name, place in inputs.items():
        if place not in nodes or nodes[place].op != "Placeholder":
            continue
        shape = nodes[place].attr["shape"].shape
        given = model.inputs.get(name, model.inputs.get("") if len(inputs) == 1 else None)
        if given is not None:
            if not shape.unknown_rank and len(shape.dim) != len(given):
                raise model.error(f"--input {name}: the input has {len(shape.dim)} axes")
            shape.Clear()
            for extent in given:
                shape.dim.add().size = extent
        elif shape.dim and shape.dim[0].size < 1:
            shape.dim[0].size = 1
    for node in nodes.values():
        # Shapes that an exporter has written may be those of another batch.
        node.attr.pop("_output_shapes", None)


class Weights:
    """The variables of a SavedModel, read from its checkpoint one by one.

    keys: the names of their arrays in the checkpoint, by the name of the node of the variable.
    """

    def __init__(self, folder, keys):
        prefix = os.path.join(folder, VARIABLES)
        self.keys, self.reader, self.shapes = keys, None, {}
        if not os.path.isfile(f"{prefix}.index"):
            return
        try:
            self.reader = tf.train.load_checkpoint(prefix)
            self.shapes = self.reader.get_variable_to_shape_map()
        except Exception:  # a damaged checkpoint: the weights are unknown
            self.reader = None

    def variable(self, name, shape):
        """Return the values of a variable, None without any of its shape."""
        key = self.keys.get(name, name)
        if self.reader is None or key not in self.shapes or list(self.shapes[key]) != list(shape):
            return None
        try:
            return self.reader.get_tensor(key)
        except Exception:  # a damaged checkpoint
            return None


def checkpoint_keys(graph_def, output, library, model):
    """Return the name in the checkpoint of each variable, from the nodes that would save the model."""
    try:
        nodes = {one.name: one for one in Flattener(library, model).flatten(graph_def, [output]).node}
        names = [tf.make_ndarray(nodes[input_node(one.input[1])].attr["value"].tensor) for one in saving(nodes)]
    except (model.error, KeyError, ValueError):
        return {}
    found = {}
    for save, keys in zip(saving(nodes), names):
        for text, key in zip(save.input[3:], keys.reshape(-1)):
            node = nodes.get(input_node(text))
            for _ in range(MAX_DEPTH):
                if node is None or node.op not in PASSING or not node.input:
                    break
                node = nodes.get(input_node(node.input[0]))
            if node is not None:
                found[node.name] = bytes(key).decode("utf-8", "replace")
    return found


def saving(nodes):
    """Return the nodes that save arrays."""
    return [one for one in nodes.values() if one.op == "SaveV2" and len(one.input) > 2]


def read_graph(graph, weights, library, model):
    """Add the nodes of a graph."""
    with_windows = functions_with_windows(library)
    for operation in graph.get_operations():
        kind, name = operation.type, layer_name(operation.name)
        if kind in UNREAD:
            model.add_problem(name, kind, UNREAD[kind])
        elif with_windows & functions_of(operation.node_def):
            model.add_problem(name, kind, "the layers in branches and loops are not read; unroll the loop in the model")
        elif kind in READERS:
            try:
                READERS[kind](Node(operation, name, weights), model)
            except last.Problem as problem:
                model.add_problem(name, kind, problem)
        elif kind not in ("Const", "Placeholder", "NoOp", "Identity", "VarHandleOp", "ReadVariableOp"):
            model.add_other(kind)


def functions_of(node):
    """Return the names of the functions in the attributes of a node."""
    functions = [one for attribute in node.attr.values() for one in (attribute.func, *attribute.list.func)]
    return {one.name for one in functions if one.name}


def functions_with_windows(library):
    """Return the names of the functions that have a node with a window, or that call such a function."""
    inner = {
        name: set().union({node.op for node in one.node_def}, *(functions_of(node) for node in one.node_def))
        for name, one in library.items()
    }
    found, before = {name for name, used in inner.items() if used & {*WINDOWS, *UNREAD}}, set()
    while found != before:
        before = found
        found = before | {name for name, used in inner.items() if used & before}
    return found


def layer_name(name):
    """Return the name of a node without those of the calls around it."""
    parts = [one for one in name.split("/") if not one.startswith(("StatefulPartitionedCall", "PartitionedCall"))]
    return "/".join(parts) or name


class Node:
    """A node of the graph."""

    def __init__(self, operation, name, weights):
        self.operation, self.name, self.weights = operation, name, weights

    def attribute(self, name, default=None):
        """Return an attribute; text is in bytes."""
        try:
            return self.operation.get_attr(name)
        except ValueError:
            return default

    def shape(self, index):
        """Return the shape of an input. Raises Problem if an extent is unknown."""
        return known_shape(self.operation.inputs[index])

    def dtype(self, index=0):
        """Return the dtype of an input."""
        return self.operation.inputs[index].dtype.base_dtype.name

    def constant(self, index):
        """Return the values of an input. Raises Problem if the model computes them."""
        values = tf.get_static_value(self.operation.inputs[index])
        if values is None:
            raise last.Problem("a parameter of it is computed by the model")
        return values

    def weight(self, index):
        """Return the values of weights, None if they are unknown."""
        return self.values_of(self.operation.inputs[index])

    def values_of(self, tensor):
        """Return the values of a constant or of a variable."""
        shape = tensor.shape
        for _ in range(MAX_DEPTH):
            source = tensor.op
            if source.type == "Const":
                values = tf.make_ndarray(source.get_attr("value"))
                return (
                    values.reshape(shape) if shape.is_fully_defined() and values.size == shape.num_elements() else None
                )
            if source.type in ("VarHandleOp", "VariableV2"):
                own = tf.TensorShape(source.get_attr("shape"))
                values = self.weights.variable(source.name, own.as_list()) if own.is_fully_defined() else None
                return values if values is None or not shape.is_fully_defined() else values.reshape(shape)
            if source.type not in PASSING:
                return None
            tensor = source.inputs[0]
        return None

    def bias(self):
        """Return whether a bias is added to the output, and its values if they are known."""
        output = self.operation.outputs[0]
        users = output.consumers()
        while len(users) == 1 and users[0].type == "Identity":
            output = users[0].outputs[0]
            users = output.consumers()
        if len(users) != 1 or users[0].type not in ("BiasAdd", "AddV2", "Add"):
            return False, None
        other = next((one for one in users[0].inputs if one is not output), None)
        if other is None or not other.shape.is_fully_defined() or not is_weight(other):
            return False, None
        channels = output.shape[1 if self.is_first else -1]
        return other.shape.num_elements() == channels, self.values_of(other)

    @property
    def is_first(self):
        """Whether the channels come first."""
        return (self.attribute("data_format") or b"").startswith(b"NC")

    def fields(self, index=0):
        """Return shape (n, c, *spatial), dtype and kind of the layer."""
        shape = self.shape(index)
        if len(shape) < last.LEAST_RANK:
            raise last.Problem(f"its input has the shape {shape}")
        shape = shape if self.is_first else last.channels_first(shape)
        return {"shape": shape, "dtype": self.dtype(index), "source": self.operation.type}

    def numbers(self, name, rank):
        """Return an attribute with a number for each spatial axis."""
        values = [int(one) for one in self.attribute(name) or [1] * (rank + 2)]
        if len(values) != rank + 2:
            raise last.Problem(f"{name} {values} does not fit {rank} spatial axes")
        own, batch, channels = (values[2:], *values[:2]) if self.is_first else (values[1:-1], values[0], values[-1])
        if (batch, channels) != (1, 1):
            raise last.Problem(f"{name} {values} reaches across the batch or the channels")
        return own


def is_weight(tensor):
    """Whether a tensor is a constant or a variable."""
    for _ in range(MAX_DEPTH):
        if tensor.op.type in ("Const", "VarHandleOp", "VariableV2"):
            return True
        if tensor.op.type not in PASSING:
            return False
        tensor = tensor.op.inputs[0]
    return False


def known_shape(tensor):
    """Return the shape of a tensor. Raises Problem if an extent is unknown."""
    if tensor.shape.rank is None:
        raise last.Problem("the shape of its input is unknown (--input NAME=SHAPE gives that of the model)")
    shape = tensor.shape.as_list()
    # The batch is often unknown, and no window reaches across it.
    shape = [1, *shape[1:]] if shape and shape[0] is None else shape
    if None in shape:
        raise last.Problem("the shape of its input is not fixed (--input NAME=SHAPE gives that of the model)")
    return shape


def padding_pairs(node, extents, window, stride, dilation):
    """Return the pads of a convolution, which may be explicit."""
    word = node.attribute("padding").decode()
    if word != "EXPLICIT":
        return last.named_pads(word, extents, window, stride, dilation)
    flat = [int(one) for one in node.attribute("explicit_paddings")]
    pairs = [flat[position : position + 2] for position in range(0, len(flat), 2)]
    return pairs[2:] if node.is_first else pairs[1:-1]


def read_pool(node, model):
    """Add pooling."""
    fields = node.fields()
    rank = len(fields["shape"]) - 2
    window, stride = node.numbers("ksize", rank), node.numbers("strides", rank)
    if node.attribute("padding") == b"EXPLICIT":
        pads = padding_pairs(node, fields["shape"][2:], window, stride, [1] * rank)
        parameters = {"window": window, "stride": stride, "padding": pads}
        model.add(node.name, POOLING[node.operation.type], parameters, **fields)
        return
    operator, word = POOLING[node.operation.type], node.attribute("padding").decode()
    last.add_pool(model, node.name, operator, window, stride, word, fields)


def read_convolution(node, model):
    """Add a convolution, with the dilation of the nodes around it."""
    fields, kernel = node.fields(), node.shape(1)
    is_depthwise = node.operation.type.startswith("Depthwise")
    shape = last.depthwise_shape(kernel) if is_depthwise else [kernel[-1], kernel[-2], *kernel[:-2]]
    rank = len(shape) - 2
    stride, dilation = node.numbers("strides", rank), node.numbers("dilations", rank)
    pads = padding_pairs(node, fields["shape"][2:], shape[2:], stride, dilation)
    around, with_bias = surroundings(node), node
    if around is not None:
        space, with_bias = around
        block = [int(one) for one in space.constant(1)]
        dilation, pads = last.dilated(block, space.constant(2), with_bias.constant(2), (stride, dilation, pads))
        fields = {**fields, "shape": last.channels_first(space.shape(0))}
    groups = fields["shape"][1] // max(shape[1], 1)
    parameters = {"stride": stride, "padding": pads, "dilation": dilation, "groups": groups}
    has_bias, bias = with_bias.bias()
    values = node.weight(1)
    reorder = last.depthwise_first if is_depthwise else last.kernel_first
    found = last.weights(None if values is None else reorder(values), bias, has_bias=has_bias)
    model.add(node.name, "conv", parameters, kernel=shape, bias=has_bias, weights=found, **fields)


def surroundings(node):
    """Return SpaceToBatchND before a node and BatchToSpaceND after it, which dilate it; None without them."""
    before, users = node.operation.inputs[0].op, node.operation.outputs[0].consumers()
    if before.type != "SpaceToBatchND" or len(users) != 1 or users[0].type != "BatchToSpaceND":
        return None
    return Node(before, node.name, node.weights), Node(users[0], node.name, node.weights)


def read_transposed(node, model):
    """Add a transposed convolution: its inputs are the output shape, the kernel and the data."""
    fields, kernel = node.fields(2), node.shape(1)
    shape = [kernel[-1], kernel[-2], *kernel[:-2]]
    rank = len(shape) - 2
    stride, dilation = node.numbers("strides", rank), node.numbers("dilations", rank)
    outputs = known_shape(node.operation.outputs[0])
    outputs = outputs[2:] if node.is_first else outputs[1:-1]
    word = node.attribute("padding").decode()
    if word not in ("SAME", "VALID"):
        raise last.Problem(f"its padding {word} is not read")
    pads = last.transposed_padding(word, fields["shape"][2:], outputs, shape[2:], stride, dilation)
    parameters = {"stride": stride, **pads, "dilation": dilation, "groups": 1}
    has_bias, bias = node.bias()
    values = node.weight(1)
    found = last.weights(None if values is None else last.kernel_first(values), bias, has_bias=has_bias)
    model.add(node.name, "conv_transpose", parameters, kernel=shape, bias=has_bias, weights=found, **fields)


def read_pad(node, model):
    """Add padding of spatial axes."""
    kind = node.operation.type
    shape = node.operation.inputs[0].shape
    if shape.rank is not None and shape.rank < last.LEAST_RANK:
        model.add_other(kind)
        return
    pads = np.asarray(node.constant(1)).astype(int).tolist()
    value = float(node.constant(2)) if kind == "PadV2" else 0.0
    mode = PAD_MODES[node.attribute("mode")] if kind == "MirrorPad" else "constant"
    last.add_pad(model, node.name, pads, mode, value, {"shape": node.shape(0), "dtype": node.dtype(), "source": kind})


def read_reduction(node, model):
    """Add the mean or maximum of all spatial axes. Others are counted."""
    kind, axes = node.operation.type, tf.get_static_value(node.operation.inputs[1])
    rank = node.operation.inputs[0].shape.rank
    axes = None if axes is None or rank is None else [int(axis) for axis in np.ravel(axes)]
    if axes is None or not last.spatial_axes(axes, max(rank, 1)):
        model.add_other(kind)
        return
    fields = {"shape": node.shape(0), "dtype": node.dtype(), "source": kind}
    last.add_reduction(model, node.name, REDUCTIONS[kind], axes, fields)


WINDOWS = {
    **dict.fromkeys(POOLING, read_pool),
    **dict.fromkeys(("Conv2D", "Conv3D", "DepthwiseConv2dNative"), read_convolution),
    **dict.fromkeys(("Conv2DBackpropInput", "Conv3DBackpropInputV2"), read_transposed),
}
READERS = {
    **WINDOWS, **dict.fromkeys(REDUCTIONS, read_reduction), **dict.fromkeys(("Pad", "PadV2", "MirrorPad"), read_pad),
}  # fmt: skip

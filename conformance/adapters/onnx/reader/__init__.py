"""Reader of ONNX files, see conformance.adapters.api.model_reader.extraction. It runs without the suite.

External data is never opened. Initializers keep their shapes during shape inference, and only small integers keep
their values, because shapes are computed from them.
"""

import os

import onnx
import onnx.inliner  # not imported by onnx
from extraction import first_line
from onnx import helper, shape_inference

from .context import Context, Problem
from .graphs import check_nodes, set_input_shapes, without_weights
from .layers import READERS

MAX_FILE_BYTES = 2 << 30
SETTINGS = {
    "BatchNormalization": {"epsilon": 1e-5, "momentum": 0.9},
    "InstanceNormalization": {"epsilon": 1e-5},
    "LayerNormalization": {"epsilon": 1e-5},
    "GroupNormalization": {"epsilon": 1e-5},
    "LeakyRelu": {"alpha": 0.01},
    "Gelu": {"approximate": "none"},
    "Elu": {"alpha": 1.0},
    "Celu": {"alpha": 1.0},
    "HardSigmoid": {"alpha": 0.2},
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
    check_version(loaded, model)
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


def check_version(loaded, model):
    """Raise an error for a version of the operators that the installed onnx does not know."""
    newest = onnx.defs.onnx_opset_version()
    for one in loaded.opset_import:
        if one.domain in ("", "ai.onnx") and not 1 <= one.version <= newest:
            raise model.error(f"it uses opset {one.version}, onnx {onnx.__version__} knows 1 to {newest}")


def setting(attribute, default):
    """Return the number or the text of an attribute."""
    if attribute is None:
        return default
    value = helper.get_attribute_value(attribute)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


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
            model.add_other(node.op_type, **{key: setting(attributes.get(key), one) for key, one in settings.items()})
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs) if attribute.type in (5, 10) else ():
                read_graph(inner, model, weights, types, constants)

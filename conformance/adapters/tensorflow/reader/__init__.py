"""Reader of SavedModels. It runs without the suite, see conformance.adapters.api.model_reader.

The nodes that the outputs of a signature need are collected. The bodies of functions take the place of their calls.
TensorFlow imports this graph, which infers its shapes. No session is created and no variable is restored.
"""

import os

import channels_last as last
import tensorflow as tf
from extraction import first_line
from tensorflow.core.framework import graph_pb2

from .flattening import Flattener
from .layers import READERS, WINDOWS
from .nodes import Node
from .saved_model import FILE, chosen_graph, load, set_input_shapes
from .variables import Weights, checkpoint_keys

UNREAD = {
    "MaxPoolWithArgmax": "max pooling with indices is not read", "FractionalMaxPool": "fractional pooling is not read",
    "FractionalAvgPool": "fractional pooling is not read", "Dilation2D": "the suite has no morphological dilation",
    "QuantizedConv2D": "quantized layers are not checked", "QuantizedMaxPool": "quantized layers are not checked",
    "QuantizedAvgPool": "quantized layers are not checked", "CropAndResize": "the suite has no region pooling",
    "XlaConvV2": "operators of XLA are not read", "XlaReduceWindow": "operators of XLA are not read",
    "XlaCallModule": "it is a program in StableHLO: read the model before it was converted to TensorFlow",
}  # fmt: skip


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

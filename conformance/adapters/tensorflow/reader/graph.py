"""Layers of a graph: the nodes that are read, and those that are listed with the reason why they are not."""

import re

import channels_last as last

from .flattening import BRANCHES, LOOPS
from .layers import READERS, WINDOWS
from .nodes import Node

UNREAD = {
    "MaxPoolWithArgmax": "max pooling with indices is not read", "FractionalMaxPool": "fractional pooling is not read",
    "FractionalAvgPool": "fractional pooling is not read", "Dilation2D": "the suite has no morphological dilation",
    "CropAndResize": "the suite has no region pooling", "XlaConvV2": "operators of XLA are not read",
    "XlaReduceWindow": "operators of XLA are not read",
    "XlaCallModule": "it is a program in StableHLO: read the model before it was converted to TensorFlow",
}  # fmt: skip
QUANTIZED = re.compile(r"(Uniform)?Quantized\w*(Conv|Pool)")
"""Kinds of quantized layers, of which TensorFlow has several dozen."""
PLACES = frozenset(
    {"Const", "Placeholder", "PlaceholderWithDefault", "NoOp", "Identity", "VarHandleOp", "ReadVariableOp"}
)
"""Kinds of nodes that compute nothing."""
WITH_WINDOW = re.compile(r"Conv(?!ert)|Pool")
"""Kinds of layers with a window, also of later versions and of plugins."""


def read_graph(graph, weights, library, model):
    """Add the nodes of a graph."""
    with_windows = functions_with_windows(library)
    for operation in graph.get_operations():
        kind, name = operation.type, layer_name(operation.name)
        if kind in READERS:
            try:
                READERS[kind](Node(operation, name, weights), model)
            except last.Problem as problem:
                model.add_problem(name, kind, problem)
        elif problem_of(kind):
            model.add_problem(name, kind, problem_of(kind))
        elif kind not in BRANCHES | LOOPS and with_windows & functions_of(operation.node_def):
            model.add_problem(name, kind, f"the layers in a function of {kind} are not read")
        elif kind not in PLACES:
            model.add_other(kind)


def problem_of(kind):
    """Return why a layer with a window is not read, "" for a node without a window."""
    if kind in UNREAD:
        return UNREAD[kind]
    if QUANTIZED.match(kind):
        return "quantized layers are not checked"
    return f"{kind} is not read" if WITH_WINDOW.search(kind) else ""


def functions_of(node):
    """Return the names of the functions in the attributes of a node."""
    functions = [one for attribute in node.attr.values() for one in (attribute.func, *attribute.list.func)]
    return {one.name for one in functions if one.name}


def functions_with_windows(library):
    """Return the names of the functions that have a node with a window, or that call such a function."""
    kinds = {name: {node.op for node in one.node_def} - set(library) for name, one in library.items()}
    used = {
        name: {node.op for node in one.node_def}.union(*map(functions_of, one.node_def))
        for name, one in library.items()
    }
    found = {name for name, some in kinds.items() if any(one in WINDOWS or problem_of(one) for one in some)}
    before = set()
    while found != before:
        before = found
        found = before | {name for name, some in used.items() if some & before}
    return found


def layer_name(name):
    """Return the name of a node without those of the calls around it."""
    parts = [one for one in name.split("/") if not one.startswith(("StatefulPartitionedCall", "PartitionedCall"))]
    return "/".join(parts) or name

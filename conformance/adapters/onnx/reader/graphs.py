"""Graphs of an ONNX file before their layers are read: checks, shapes of inputs, and a copy without weights."""

import math

import onnx
from onnx import TensorProto, helper

MAX_NODES = 200000
MAX_DEPTH = 16
"""Maximum nesting of the graphs in If, Loop and Scan."""
MAX_SHAPE_ELEMENTS = 1024
"""Number of elements up to which an integer initializer keeps its values during shape inference."""


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

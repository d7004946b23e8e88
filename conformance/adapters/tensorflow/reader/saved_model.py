"""The file of a SavedModel: its graph, its signature and the shapes of its inputs."""

import os

from extraction import first_line
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

FILE, VARIABLES = "saved_model.pb", "variables/variables"
MAX_FILE_BYTES = (2 << 30) - 1
DEFAULT_SIGNATURE = "serving_default"


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

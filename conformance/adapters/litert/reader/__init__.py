"""Reader of `.tflite` files. It runs without the suite, see conformance.adapters.api.model_reader.

The classes of the schema read the file, which is mapped into memory. The shapes are those that the file has.
"""

import mmap
import os

import channels_last as last
from extraction import first_line

from .layers import READERS
from .nodes import File, Node

MAX_FILE_BYTES = 16 << 30
IDENTIFIER = b"TFL3"
UNREAD = {
    "L2_POOL_2D": "it is the root of a mean, and the suite has the root of a sum",
    "STABLEHLO_REDUCE_WINDOW": "reductions of any function are not read",
    "REDUCE_WINDOW": "reductions of any function are not read",
    "STABLEHLO_CONVOLUTION": "operators of StableHLO are not read",
    "STABLEHLO_PAD": "operators of StableHLO are not read",
    "custom MaxPoolingWithArgmax2D": "custom operators are not read",
    "custom MaxUnpooling2D": "custom operators are not read",
    "custom Convolution2DTransposeBias": "custom operators are not read",
}  # fmt: skip


def read_model(path, model):
    """Add the operators of a file."""
    size = os.path.getsize(path)
    if size > MAX_FILE_BYTES:
        raise model.error(f"it has {size} bytes, the limit is {MAX_FILE_BYTES}")
    with open(path, "rb") as file:
        if file.read(8)[4:] != IDENTIFIER:
            raise model.error(f"not a .tflite file: its identifier is not {IDENTIFIER.decode()}")
        if model.inputs:
            raise model.error("--input: the shapes of a .tflite file are fixed when it is converted")
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        read_graphs(File(data, model))
    except (model.error, MemoryError):
        raise
    except Exception as error:
        raise model.error(
            f"not a .tflite file, or a damaged one: {type(error).__name__}: {first_line(error)}"
        ) from None


def read_graphs(file):
    """Add the operators of all graphs of a file."""
    if not file.content.SubgraphsLength():
        raise file.model.error("not a .tflite file: it has no graph")
    for graph in file.items(file.content, "Subgraphs"):
        tensors = list(file.items(graph, "Tensors"))
        operators = list(file.items(graph, "Operators"))
        file.makers, file.users = edges_of(operators, file, len(tensors))
        for operator in operators:
            read_operator(file.kind(operator), Node(file, operator, tensors), file.model)


def edges_of(operators, file, tensors):
    """Return the operator that computes each tensor, and the operators that read it."""
    makers, users = {}, {}
    for operator in operators:
        outputs, inputs = min(operator.OutputsLength(), tensors), min(operator.InputsLength(), tensors)
        file.count(outputs + inputs)
        for index in range(outputs):
            makers[operator.Outputs(index)] = operator
        for index in range(inputs):
            users.setdefault(operator.Inputs(index), []).append(operator)
    return makers, users


def read_operator(kind, node, model):
    """Add an operator."""
    if kind in UNREAD:
        model.add_problem(node.name, kind, UNREAD[kind])
    elif kind in READERS:
        try:
            READERS[kind](kind, node, model)
        except last.Problem as problem:
            model.add_problem(node.name, kind, problem)
    else:
        model.add_other(kind)

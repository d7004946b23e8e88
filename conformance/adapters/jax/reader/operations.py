"""The operations that the main function of a module of StableHLO runs, and the layers that they are."""

from channels_last import LEAST_RANK, Problem
from jaxlib.mlir import ir

from .convolution import dimensions_of, read_convolution, read_pad
from .nodes import MAX_DEPTH, Node, integers
from .windows import read_reduction, read_window

MAX_OPERATIONS = 200000


def read_module(module, model):
    """Add the operations that the main function runs."""
    functions = {}
    for one in module.body.operations:
        if one.operation.name == "func.func":
            functions[ir.StringAttr(one.operation.attributes["sym_name"]).value] = one.operation
    main = functions.get("main") or next(iter(functions.values()), None)
    if main is None:
        raise model.error("it has no function")
    found = Operations(functions, model)
    found.collect(main, (), 0)
    is_first, start = channels_first(found.nodes), len(model.layers)
    for node in found.nodes:
        kind = node.operation.name
        if kind in READERS:
            try:
                READERS[kind](node, is_first, model)
            except Problem as problem:
                model.add_problem(node.name, kind, problem)
        elif kind not in ("stablehlo.constant", "stablehlo.return", "func.return"):
            model.add_other(kind.replace("stablehlo.", ""))
    number_equal_names(model.layers[start:])


def number_equal_names(layers):
    """Add a number to the name of each layer whose name an earlier layer has: operations without a path have one."""
    taken = {layer["name"] for layer in layers}
    counts = {}
    for layer in layers:
        own = layer["name"]
        counts[own] = counts.get(own, -1) + 1
        if counts[own]:
            while f"{own}_{counts[own]}" in taken:
                counts[own] += 1
            layer["name"] = f"{own}_{counts[own]}"
            taken.add(layer["name"])


def channels_first(nodes):
    """Whether the channels of all convolutions come first; without convolutions, those of the windows that show it."""
    layouts = {dimensions_of(one.operation).input_feature_dimension == 1 for one in nodes if one.is_a("convolution")}
    if not layouts:
        windows = [integers(one.operation, "window_dimensions", []) for one in nodes if one.is_a("reduce_window")]
        layouts = {one[1] == 1 for one in windows if len(one) >= LEAST_RANK and (one[1] == 1) != (one[-1] == 1)}
    return layouts == {True}


class Operations:
    """The operations of a function and of the functions that it calls, once for each call."""

    def __init__(self, functions, model):
        self.functions, self.model, self.nodes = functions, model, []

    def collect(self, operation, arguments, depth):
        """Add the operations in the regions of an operation."""
        if depth > MAX_DEPTH:
            raise self.model.error("its functions are nested too deeply")
        for region in operation.regions:
            for block in region.blocks:
                for one in block.operations:
                    self.add(Node(one.operation, arguments), depth)

    def add(self, node, depth):
        """Add an operation; a call is replaced by the function."""
        if len(self.nodes) >= MAX_OPERATIONS:
            raise self.model.error(f"it has more than {MAX_OPERATIONS} operations")
        operation = node.operation
        if operation.name in ("func.call", "call"):
            callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
            if callee not in self.functions:
                raise self.model.error(f"it calls {callee!r}, which it does not define")
            self.collect(self.functions[callee], [(value, node) for value in operation.operands], depth + 1)
            return
        self.nodes.append(node)
        # The function of a reduction is no layer. The arguments of a loop are not those of the function around it.
        if operation.name not in READERS:
            self.collect(operation, (), depth + 1)


def read_scatter(node, _is_first, model):
    """Add a problem for the gradient of max pooling."""
    model.add_problem(node.name, node.operation.name, "the gradient of max pooling is not checked")


READERS = {
    "stablehlo.reduce_window": read_window, "stablehlo.reduce": read_reduction, "stablehlo.pad": read_pad,
    "stablehlo.convolution": read_convolution, "stablehlo.select_and_scatter": read_scatter,
}  # fmt: skip

"""A graph in which the bodies of functions take the place of their calls."""

from tensorflow.core.framework import graph_pb2, types_pb2
from tensorflow.python.framework.function_def_to_graph import function_def_to_graph_def

from .saved_model import FILE

MAX_NODES = 200000
MAX_DEPTH = 32
"""Maximum nesting of functions that call each other."""
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
LOOPS = frozenset({"While", "StatelessWhile"})
BRANCHES = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
HANDLES = frozenset({types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT})
"""Dtypes of variables and of lists of tensors, which have no shape of their own."""


def input_node(text):
    """Return the node of an input, which may name one of its outputs or a control dependency."""
    return text.lstrip("^").partition(":")[0]


class Flattener:
    """Puts the bodies of functions in place of their calls, and those of branches and loops beside them.

    with_windows: the names of the functions that have layers. Others are left in branches and loops.
    """

    def __init__(self, library, model, with_windows=frozenset()):
        self.library, self.model, self.with_windows = library, model, with_windows
        self.result, self.calls = graph_pb2.GraphDef(), 0

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
                outputs = self.add_function(function, f"{prefix}{node.name}/", inputs, depth)
                values.update({f"{node.name}:{index}": text for index, text in enumerate(outputs)})
                continue
            if node.op in BRANCHES or node.op in LOOPS:
                self.add_branches(node, prefix, inputs, depth)
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

    def add_function(self, function, prefix, inputs, depth):
        """Add the body of a function. Return its outputs in the names of the result."""
        self.calls += 1
        if self.calls > MAX_NODES:
            raise self.model.error(f"{FILE}: it has more than {MAX_NODES} calls of functions")
        body, names = function_def_to_graph_def(function)
        arguments = [one.name for one in function.signature.input_arg]
        if len(inputs) != len(arguments):
            raise self.model.error(f"{FILE}: {prefix[:-1]} has {len(inputs)} inputs, its function {len(arguments)}")
        # Layers have the names of their nodes in the innermost function; a call adds nothing but a number.
        inner = {f"{name}:0": value for name, value in zip(arguments, inputs)}
        returned = [names[function.ret[one.name]] for one in function.signature.output_arg]
        self.add(self.needed(body.node, returned), prefix, inner, depth + 1)
        return [self.renamed(text, prefix, inner) for text in returned]

    def add_branches(self, node, prefix, inputs, depth):
        """Add the functions of a branch or loop that have layers. The node stays; its outputs have its shapes."""
        for label, function in branch_functions(node, self.library):
            if function.signature.name in self.with_windows:
                place = f"{prefix}{node.name}/{label}/"
                given = self.loop_inputs(node, inputs, place) if node.op in LOOPS else inputs[1:]
                self.add_function(function, place, given, depth)

    def loop_inputs(self, node, inputs, prefix):
        """Return the inputs of an iteration: the values that the loop does not change, and others with its shapes."""
        body = self.library.get(node.attr["body"].func.name)
        kinds, shapes = node.attr["T"].list.type, node.attr["output_shapes"].list.shape
        same = unchanged_arguments(body) if body is not None else set()
        given = []
        for index, text in enumerate(inputs):
            if index in same or index >= len(kinds) or kinds[index] in HANDLES:
                given.append(text)
                continue
            value = self.result.node.add(name=f"{prefix}value_{index}", op="PlaceholderWithDefault", input=[text])
            value.attr["dtype"].type = kinds[index]
            value.attr["shape"].shape.unknown_rank = True
            if index < len(shapes):
                value.attr["shape"].shape.CopyFrom(shapes[index])
            given.append(f"{value.name}:0")
        return given


def branch_functions(node, library):
    """Return the functions of a branch or loop, each with the name of its attribute."""
    found = []
    for label, attribute in sorted(node.attr.items()):
        functions = [(label, attribute.func)] if attribute.func.name else []
        functions += [(f"{label}_{number}", one) for number, one in enumerate(attribute.list.func)]
        found += [(name, library[one.name]) for name, one in functions if one.name in library]
    return found


def unchanged_arguments(function):
    """Return the positions of the arguments that a function returns at the same position."""
    body, names = function_def_to_graph_def(function)
    nodes = {one.name: one for one in body.node}
    found = set()
    for index, (argument, output) in enumerate(zip(function.signature.input_arg, function.signature.output_arg)):
        name = input_node(names[function.ret[output.name]])
        for _ in range(MAX_DEPTH):
            if name not in nodes or nodes[name].op != "Identity":
                break
            name = input_node(nodes[name].input[0])
        if name == argument.name:
            found.add(index)
    return found

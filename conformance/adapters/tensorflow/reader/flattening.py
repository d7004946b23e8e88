"""A graph in which the bodies of functions take the place of their calls."""

from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework.function_def_to_graph import function_def_to_graph_def

from .saved_model import FILE

MAX_NODES = 200000
MAX_DEPTH = 32
"""Maximum nesting of functions that call each other."""
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})


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

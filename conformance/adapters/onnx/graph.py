"""ONNX: build a model from lines that call nodes like functions: `x = MaxPool(x, kernel_shape=[2])`.

Each tensor of a graph is assigned once: a name that is assigned again gets a number. The result is named `y`. Lines
that call no node are NumPy code; the arrays that they assign become constants of the graph.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TypeGuard

from conformance.adapters.api import INDENT, Sizes
from conformance.cases.operators import WEIGHT_INPUTS

# An opset that ONNX Runtime supports from 1.31 on, so that both runtimes run the same model.
OPSET_VERSION = 26
LAST_OPSETS: Mapping[str, int] = MappingProxyType(
    {
        "tf_half_pixel_for_nn": 12,
        # Resize-11 needs an empty region, Resize-10 has two inputs, and Upsample was removed.
        "roi = np.array([]": 12,
        "Resize(x, scales": 10,
        "Upsample(": 9,
    }
)
"""The last opset of texts that later ones do not have. A graph with such a text has this opset."""
OUTPUT_NAME = "y"
CONTRIB_DOMAIN = "com.microsoft"
"""The domain of nodes that ONNX Runtime adds to those of ONNX."""
UNTYPED_OUTPUT = f'helper.make_empty_tensor_value_info("{OUTPUT_NAME}")'
"""An output without type and shape: the runtime infers them, and the test sees what it inferred."""
WEIGHTS = tuple(f"{position}{name}" for position in ("", "first_") for name in WEIGHT_INPUTS)
MAX_CODE_LINE_LENGTH = 100


class GraphBuilder:
    """Nodes and constants of a program, parsed line by line.

    nodes: calls of `helper.make_node`, as text.
    python_lines: lines that compute constants.
    constants: names of the constants that nodes read, in the order of their first use.
    """

    def __init__(self, lines: Sequence[str], names: Sequence[str]) -> None:
        """Parse lines that end with an assignment to x; names: the inputs of the graph."""
        self.nodes: list[str] = []
        self.python_lines: list[str] = []
        self.constants: dict[str, None] = {}
        self._tensors = {name: name for name in names}  # the tensor that each variable currently names
        self._unread_constants: dict[str, str] = {}  # the tensors of them that are NumPy arrays
        # The output name is reserved, or a variable y of a composition could take it first.
        self._used_names = {*names, OUTPUT_NAME}
        text = "\n".join(lines)
        statements = [part for part in ast.parse(text).body if isinstance(part, ast.Assign)]
        for part in statements:
            # Only the last assignment to x is the result; earlier ones are tensors like any other.
            target, last = part.targets[0], part is statements[-1]
            names = [item.id for item in ast.walk(target) if isinstance(item, ast.Name)]
            if _is_node_call(part.value):
                self._node(part.value, [OUTPUT_NAME if last and name == "x" else name for name in names])
            else:
                self._constant(names[0], ast.get_source_segment(text, part) or "")

    def _constant(self, name: str, source: str) -> None:
        """Add a NumPy line. A constant that no node has read yet can be assigned again."""
        if name not in self._unread_constants or self._unread_constants[name] in self.constants:
            self._unread_constants[name] = self._unique_name(name)
        # Only constants occur in NumPy lines: nodes have no value before the graph runs.
        for variable, tensor in self._unread_constants.items():
            source = re.sub(rf"\b{variable}\b", tensor, source)
        self._tensors[name] = self._unread_constants[name]
        self.python_lines.append(source)

    def _node(self, call: ast.Call, names: Sequence[str]) -> str:
        """Add a node after the nodes of its operands, and return its first output."""
        kind = ast.unparse(call.func)
        inputs = [self._operand(part) for part in call.args]
        outputs = [name if name == OUTPUT_NAME else self._unique_name(name) for name in names or [kind.lower()]]
        self._tensors |= dict(zip(names, outputs, strict=False))
        keywords = [f"{word.arg}={ast.unparse(word.value)}" for word in call.keywords]
        texts = [f'"{kind}"', _names_text(inputs), _names_text(outputs), *keywords]
        self.nodes.append(f"helper.make_node({', '.join(texts)})")
        return outputs[0]

    def _operand(self, part: ast.expr) -> str:
        if _is_node_call(part):
            return self._node(part, [])
        # Pad takes its axes as the fourth input, so the third, a value, may be left out by an empty name.
        if not isinstance(part, ast.Name):
            return ""  # an omitted optional input
        tensor = self._tensors[part.id]
        if tensor in self._unread_constants.values():
            self.constants[tensor] = None
        return tensor

    def _unique_name(self, name: str) -> str:
        tensor, count = name, 1
        while tensor in self._used_names:
            tensor, count = f"{name}{count}", count + 1
        self._used_names.add(tensor)
        return tensor


# Several runtimes compute the same graph of a case.
@lru_cache(maxsize=32)
def parse_graph(lines: tuple[str, ...], names: tuple[str, ...]) -> GraphBuilder:
    """Return the nodes and constants of lines. They are cached and must not be changed."""
    return GraphBuilder(lines, names)


def _is_node_call(part: ast.expr) -> TypeGuard[ast.Call]:
    """Whether the expression calls a node: a name that starts with a capital letter."""
    return isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id[0].isupper()


def _names_text(names: Sequence[str]) -> str:
    quoted = [f'"{name}"' for name in names]
    return f"[{', '.join(quoted)}]"


def _list_lines(name: str, items: Sequence[str]) -> list[str]:
    """Return lines that assign a list, on one line if it is short."""
    line = f"{name} = [{', '.join(items)}]"
    return (
        [line] if len(line) <= MAX_CODE_LINE_LENGTH else [f"{name} = [", *(f"{INDENT}{item}," for item in items), "]"]
    )


def model_lines(
    lines: Sequence[str],
    names: Sequence[str],
    sizes: Sizes | None = None,
    *,
    constant_weights: bool = False,
    output: str = UNTYPED_OUTPUT,
    opset_version: int = OPSET_VERSION,
) -> list[str]:
    """Return lines that assign `model`, the graph of the given lines, and `inputs`, its inputs by name.

    sizes: inputs whose extents are symbols in the model.
    constant_weights: whether kernels and biases are constants of the graph, as in an exported model.
    output: the expression of the output, for a runtime that rejects an output without type and shape.
    opset_version: the version of the operators, for a runtime that does not take the newest ones.
    """
    # A graph cannot return an input, so an empty program is the identity.
    graph = parse_graph(tuple(lines) or ("x = Identity(x)",), tuple(names))
    weights = [name for name in names if name in WEIGHTS] if constant_weights else []
    constants = [f'numpy_helper.from_array({name}, "{name}")' for name in (*weights, *graph.constants)]
    inputs = [f'"{name}": {name}' for name in names if name not in weights]
    return [
        *graph.python_lines,
        *_list_lines("nodes", graph.nodes),
        *(_list_lines("constants", constants) if constants else []),
        f"inputs = {{{', '.join(inputs)}}}",
        *(_symbolic_type_lines(sizes) if sizes else INPUT_TYPE_LINES),
        f"outputs = [{output}]",
        f'graph = helper.make_graph(nodes, "graph", types, outputs{", constants" * bool(constants)})',
        *_model_lines(graph, min([opset_version, *_last_opsets(lines)])),
    ]


def _last_opsets(lines: Sequence[str]) -> list[int]:
    return [last for text, last in LAST_OPSETS.items() if any(text in line for line in lines)]


def _model_lines(graph: GraphBuilder, opset_version: int) -> Sequence[str]:
    """Return the lines that make the model. The helper knows the IR version of the opsets of ONNX only."""
    opset = f'helper.make_opsetid("", {opset_version})'
    if not any(f"domain='{CONTRIB_DOMAIN}'" in node for node in graph.nodes):
        return (f"model = helper.make_model_gen_version(graph, opset_imports=[{opset}])",)
    return (
        f'opsets = [{opset}, helper.make_opsetid("{CONTRIB_DOMAIN}", 1)]',
        "version = helper.find_min_ir_version_for(opsets, ignore_unknown=True)",
        "model = helper.make_model(graph, opset_imports=opsets, ir_version=version)",
    )


def _symbolic_type_lines(sizes: Sizes) -> list[str]:
    """Return the lines of INPUT_TYPE_LINES with a name for each extent that varies."""
    shapes = {
        name: [f"{name}{axis}" if extent is None else extent for axis, extent in enumerate(one.dimensions())]
        for name, one in sizes.items()
    }
    *first, call, loop, last = INPUT_TYPE_LINES
    return [f"shapes = {shapes}", *first, call.replace("array.shape", "shapes.get(name, array.shape)"), loop, last]


INPUT_TYPE_LINES = (
    "types = [",
    f"{INDENT}helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)",
    f"{INDENT}for name, array in inputs.items()",
    "]",
)

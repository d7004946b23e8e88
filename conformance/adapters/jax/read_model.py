"""Script of the reader of JAX models. It runs without the suite, see conformance.adapters.api.model_reader.

Every model becomes a module of StableHLO, the language in which JAX exports and compiles functions. The functions of a
user are traced with shapes and not run. The operations of the module are listed, with the bodies of the functions that
it calls.
"""

import inspect
import os
import re

import jax
import numpy as np
from channels_last import GLOBAL_OPERATORS, LEAST_RANK, Problem, weights
from extraction import first_line
from jax.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

MAX_FILE_BYTES = 2 << 30
MAX_OPERATIONS = 200000
MAX_DEPTH = 64
"""Maximum nesting of functions and regions."""
MAX_CELLS = 1 << 20
"""Maximum number of cells of a constant that is read for its values."""
BYTECODE = b"ML\xefR"
"""The first bytes of a module in the binary format of MLIR."""
DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i8": "int8", "i16": "int16",
          "i32": "int32", "i64": "int64", "ui8": "uint8"}  # fmt: skip
COMBINING = {"stablehlo.maximum": "max", "stablehlo.minimum": "min", "stablehlo.add": "sum"}
PASSING = ("stablehlo.broadcast_in_dim", "stablehlo.convert", "stablehlo.reshape")
"""Operations whose result has the values of the operand, for constants of one value."""
EVALUATION = {"train": False, "training": False, "is_training": False, "deterministic": True,
              "use_running_average": True}  # fmt: skip
"""Arguments that put a module into evaluation mode."""


def read_model(path, model):
    """Add the operations of a file: a module of StableHLO as text or in binary, or a file of jax.export."""
    size = os.path.getsize(path)
    if size > MAX_FILE_BYTES:
        raise model.error(f"it has {size} bytes, the limit is {MAX_FILE_BYTES}")
    if model.inputs:
        raise model.error("--input: the shapes of this file are fixed when it is exported")
    with open(path, "rb") as file:
        content = file.read()
    if not content:
        raise model.error("not a file of StableHLO or of jax.export: it is empty")
    with jax_mlir.make_ir_context() as context:
        if content.startswith(BYTECODE):
            module = parsed(lambda: stablehlo.deserialize_portable_artifact(context, content), "StableHLO", model)
        elif is_text(content):
            module = parsed(lambda: ir.Module.parse(content), "StableHLO", model)
        else:
            exported = parsed(lambda: jax.export.deserialize(bytearray(content)), "StableHLO or of jax.export", model)
            module = parsed(lambda: ir.Module.parse(exported.mlir_module()), "StableHLO", model)
        read_module(module, model)


def is_text(content):
    """Whether a file is text: that of MLIR has no zeros."""
    return b"\0" not in content[:4096]


def parsed(parse, kind, model):
    """Return the result of a parser."""
    try:
        return parse()
    except (MemoryError, RecursionError):
        raise
    except ImportError as error:
        raise model.error(first_line(error)) from None
    except Exception as error:
        # The message of MLIR has a line "error:" first, and the place and the reason after it.
        lines = [line.strip() for line in str(error).splitlines()[:3]]
        raise model.error(f"not a file of {kind}: {' '.join(lines)[:200] or type(error).__name__}") from None


def read_object(value, model):
    """Trace a function or a Flax module, and list the operations of its module of StableHLO."""
    try:
        function, arguments = traceable(value, model)
        lowered = jax.jit(function).lower(*arguments)
    except (model.error, MemoryError, RecursionError):
        raise
    except Exception as error:
        raise model.error(f"it cannot be traced: {type(error).__name__}: {first_line(error)}") from None
    read_module(lowered.compiler_ir("stablehlo"), model)


def traceable(value, model):
    """Return a function and the shapes of its arguments."""
    if isinstance(value, tuple):
        if len(value) < 2 or not callable(value[0]):
            raise model.error("it returned a tuple that is not (function, shapes of the arguments)")
        if model.inputs:
            raise model.error("--input: the function that it returned has shapes of its own")
        given = value[1] if len(value) == 2 and is_arguments(value[1]) else value[1:]
        return value[0], [struct(one) for one in given]
    if not model.inputs:
        raise model.error("needs --input with the shape of its input, such as 1x224x224x3")
    inputs = [jax.ShapeDtypeStruct(shape, "float32") for shape in model.inputs.values()]
    model.surface = f"flax.{'nnx' if '.nnx' in str(type(value).__mro__) else 'linen'}"
    return flax_function(value, inputs)


def is_arguments(value):
    """Whether a value is a tuple of arguments, and not one shape."""
    return isinstance(value, (tuple, list)) and not all(isinstance(one, int) for one in value)


def struct(value):
    """Return the shape and dtype of an argument: a shape is an array of float32."""
    if isinstance(value, (tuple, list)) and all(isinstance(one, int) for one in value):
        return jax.ShapeDtypeStruct(tuple(value), "float32")
    return value


def flax_function(module, inputs):
    """Return a function that calls a Flax module in evaluation mode, and the shapes of its weights and inputs."""
    if hasattr(module, "apply") and hasattr(module, "init"):
        # The method __call__ may be inherited, and `self` is its first argument.
        options = evaluation_options(type(module).__call__)
        init = jax.eval_shape(lambda key, *arrays: module.init(key, *arrays, **options), jax.random.key(0), *inputs)
        return lambda variables, *arrays: module.apply(variables, *arrays, **options), [init, *inputs]
    from flax import nnx  # noqa: PLC0415 - a function of JAX does not need Flax

    module.eval()
    options = evaluation_options(type(module).__call__)
    graph, state = nnx.split(module)
    return lambda state, *arrays: nnx.merge(graph, state)(*arrays, **options), [state, *inputs]


def evaluation_options(function):
    """Return the arguments of a function that put the module into evaluation mode."""
    try:
        names = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    return {name: value for name, value in EVALUATION.items() if name in names}


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
    is_first = channels_first(found.nodes)
    for node in found.nodes:
        kind = node.operation.name
        if kind in READERS:
            try:
                READERS[kind](node, is_first, model)
            except Problem as problem:
                model.add_problem(node.name, kind, problem)
        elif kind not in ("stablehlo.constant", "stablehlo.return", "func.return"):
            model.add_other(kind.replace("stablehlo.", ""))


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


class Node:
    """An operation. arguments: the values that the function around it was called with, each with the caller's Node."""

    def __init__(self, operation, arguments=()):
        self.operation, self.arguments = operation, arguments

    @property
    def name(self):
        """The path of the layer that made the operation, or the function of JAX or the kind of the operation."""
        # The location of a text without names is a line.
        found = re.match(r'loc\("([^"]*)"(?!:\d)', str(self.operation.location))
        parts = [one for one in (found.group(1).rstrip(":").split("/") if found else []) if one]
        parts = [one for one in parts if not re.fullmatch(r"\w+\(.*\)", one)]
        # The last part of the name of a convolution is the function of JAX, before it is the layer.
        is_layer = self.operation.name == "stablehlo.convolution" and len(parts) > 1
        return "/".join(parts[:-1] if is_layer else parts) or self.operation.name.replace("stablehlo.", "")

    def is_a(self, kind):
        """Whether the operation is one of StableHLO of a kind."""
        return self.operation.name == f"stablehlo.{kind}"

    def source_of(self, value):
        """Return the node that computes a value, None for an argument of the model."""
        node = self
        while isinstance(value.owner, ir.Block):
            number = ir.BlockArgument(value).arg_number
            if number >= len(node.arguments):
                return None
            value, node = node.arguments[number]
        owner = value.owner
        return Node(getattr(owner, "operation", owner), node.arguments)

    def operand(self, number):
        """Return the node that computes an operand, None for an argument of the model."""
        return self.source_of(self.operation.operands[number])

    def passed(self):
        """Return the first node before this one, or itself, that computes other values than its operand."""
        node = self
        for _ in range(MAX_DEPTH):
            if node is None or node.operation.name not in PASSING:
                break
            node = node.operand(0)
        return node

    def number(self, operand):
        """Return the one value of an operand that is constant, None for other operands."""
        maker = self.operand(operand)
        maker = maker and maker.passed()
        if maker is None or maker.operation.name != "stablehlo.constant":
            return None
        return splat_number(maker.operation.attributes["value"])

    def array(self, operand):
        """Return the values of an operand that is constant, None for other operands."""
        maker = self.operand(operand)
        while maker is not None and maker.operation.name == "stablehlo.convert":
            maker = maker.operand(0)
        if maker is None or maker.operation.name != "stablehlo.constant":
            return None
        try:
            shape, _dtype = type_of(maker.operation.results[0])
            elements = ir.DenseElementsAttr(maker.operation.attributes["value"])
            if elements.is_splat:
                return np.broadcast_to(np.float64(elements.get_splat_value().value), shape)
            return np.array(elements)
        except Exception:  # a dtype that NumPy does not have, or data outside the module
            return None


def type_of(value):
    """Return the shape and dtype of a value."""
    kind = ir.RankedTensorType(value.type)
    if not kind.has_static_shape:
        raise Problem("the shape of its input is not fixed: export the model with fixed shapes")
    return list(kind.shape), DTYPES.get(str(kind.element_type), str(kind.element_type))


def integers(operation, name, default):
    """Return an attribute with integers."""
    if name not in operation.attributes:
        return default
    attribute = operation.attributes[name]
    if isinstance(attribute, ir.DenseI64ArrayAttr) or "array<" in str(attribute)[:6]:
        return [int(one) for one in ir.DenseI64ArrayAttr(attribute)]
    return np.array(ir.DenseIntElementsAttr(attribute)).reshape(-1).tolist()


def pad_pairs(operation, rank):
    """Return the attribute with the padding of both ends of each axis."""
    if "padding" not in operation.attributes:
        return [[0, 0] for _ in range(rank)]
    elements = ir.DenseIntElementsAttr(operation.attributes["padding"])
    flat = [int(elements[index]) for index in range(len(elements))]
    return [flat[position : position + 2] for position in range(0, len(flat), 2)]


def splat_number(attribute):
    """Return the value of an array of one value, None for other arrays."""
    try:
        elements = ir.DenseElementsAttr(attribute)
        if elements.is_splat:
            return float(elements.get_splat_value().value)
        array = np.array(elements)
    except Exception:
        return None
    return float(array.reshape(-1)[0]) if array.size == 1 else None


def combining(operation):
    """Return how a reduction combines two values: max, min or sum. Raises Problem for another function."""
    if len(operation.operands) != 2:
        raise Problem("a reduction of several arrays at once is not read")
    body = [one.operation for one in operation.regions[0].blocks[0].operations]
    if len(body) != 2 or body[0].name not in COMBINING or body[1].name != "stablehlo.return":
        raise Problem("a reduction with a function other than maximum, minimum and sum is not read")
    return COMBINING[body[0].name]


def check_start(kind, node):
    """Raise Problem if a reduction does not start with the value that changes nothing."""
    number = node.number(1)
    _shape, dtype = type_of(node.operation.operands[0])
    least = float("-inf") if dtype.startswith(("float", "bfloat")) else None
    wanted = {"sum": 0.0, "max": least, "min": None if least is None else float("inf")}[kind]
    if wanted is not None and number != wanted:
        raise Problem(f"the reduction starts with {number}, not with {wanted}")


def divisor_of(node):
    """Return what the result of a sum is divided by: a number, the node that counts, or None."""
    users = list(node.operation.results[0].uses)
    if len(users) != 1 or users[0].owner.operation.name != "stablehlo.divide" or users[0].operand_number != 0:
        return None
    division = Node(users[0].owner.operation, node.arguments)
    number = division.number(1)
    if number is not None:
        return number
    maker = division.operand(1)
    maker = maker and maker.passed()
    return maker if maker is not None and maker.operation.name == "stablehlo.reduce_window" else None


WINDOW_ATTRIBUTES = ("window_dimensions", "window_strides", "window_dilations", "base_dilations", "padding")


def read_window(node, is_first, model):
    """Add pooling: a reduction of windows by maximum, minimum or sum, which a division turns into an average."""
    operation = node.operation
    shape, dtype = type_of(operation.operands[0])
    kind, rank = combining(operation), len(shape)
    window = integers(operation, "window_dimensions", [])
    stride, dilation = (
        integers(operation, "window_strides", [1] * rank),
        integers(operation, "window_dilations", [1] * rank),
    )
    pads = pad_pairs(operation, rank)
    if kind == "sum" and node.number(0) == 1:
        return  # it counts the cells of the windows
    if rank < LEAST_RANK:
        model.add_other("reduce_window of a vector or a matrix")
        return
    if max(integers(operation, "base_dilations", [1])) != 1:
        raise Problem("a reduction of an input with gaps is not read")
    check_start(kind, node)
    free = [window[axis] == 1 and stride[axis] == 1 and pads[axis] == [0, 0] for axis in range(rank)]
    channels = 1 if free[1] and (is_first or not free[-1]) else rank - 1
    if not free[0] or not free[channels]:
        raise Problem("its windows reach across the batch or the channels")
    axes = [axis for axis in range(1, rank) if axis != channels]
    window, stride, dilation, pads = ([one[axis] for axis in axes] for one in (window, stride, dilation, pads))
    parameters = {"window": window, "stride": stride, "padding": pads, "dilation": dilation}
    fields = {"shape": [shape[0], shape[channels], *(shape[axis] for axis in axes)], "dtype": dtype}
    if kind == "sum":
        parameters.update(average_parameters(node, window, pads))
    operator = {"max": "max_pool", "min": "min_pool", "sum": "avg_pool"}[kind]
    model.add(node.name, operator, parameters, source="reduce_window", **fields)


def average_parameters(node, window, pads):
    """Return how the average of a sum is computed; a sum that is not divided has the divisor 1."""
    divisor, cells = divisor_of(node), int(np.prod(window))
    if isinstance(divisor, float):
        if divisor == cells:
            return {"count_include_pad": any(map(any, pads))}
        return {"count_include_pad": True, "divisor": int(divisor)} if is_divisor(divisor) else {"divisor": 1}
    if divisor is not None and counts_windows_of(divisor, node.operation):
        return {"count_include_pad": False}
    return {"count_include_pad": True, "divisor": 1}


def is_divisor(number):
    """Whether a number can be the divisor of an average."""
    return number.is_integer() and number >= 1


def counts_windows_of(divisor, operation):
    """Whether an operation counts the cells in the windows of another one."""
    same = all(
        str(divisor.operation.attributes[one] if one in divisor.operation.attributes else "")
        == str(operation.attributes[one] if one in operation.attributes else "")
        for one in WINDOW_ATTRIBUTES
    )
    return same and divisor.number(0) == 1


def read_reduction(node, is_first, model):
    """Add the mean or maximum of all spatial axes. Others are counted."""
    operation = node.operation
    try:
        shape, dtype = type_of(operation.operands[0])
        kind, axes = combining(operation), integers(operation, "dimensions", [])
    except Problem:
        model.add_other("reduce")
        return
    rank = len(shape)
    spatial = list(range(2, rank)) if is_first else list(range(1, rank - 1))
    operator = {"max": GLOBAL_OPERATORS["max"]}.get(kind)
    if kind == "sum" and divisor_of(node) == float(np.prod([shape[axis] for axis in axes])):
        operator = GLOBAL_OPERATORS["mean"]
    if rank < LEAST_RANK or sorted(axes) != spatial or operator is None:
        model.add_other("reduce")
        return
    channels = 1 if is_first else rank - 1
    fields = {"shape": [shape[0], shape[channels], *(shape[axis] for axis in spatial)], "dtype": dtype}
    model.add(node.name, operator, {}, source="reduce", **fields)


def dimensions_of(operation):
    """Return which axes of a convolution are the batch, the channels and spatial."""
    return stablehlo.ConvDimensionNumbers(operation.attributes["dimension_numbers"])


def read_convolution(node, _is_first, model):
    """Add a convolution, or a transposed one if the input has gaps."""
    operation = node.operation
    shape, dtype = type_of(operation.operands[0])
    kernel, _dtype = type_of(operation.operands[1])
    layout, rank = dimensions_of(operation), len(shape) - 2
    if ir.IntegerAttr(operation.attributes["batch_group_count"]).value != 1:
        raise Problem("the gradient of a convolution is not checked")
    order = [layout.kernel_output_feature_dimension, layout.kernel_input_feature_dimension,
             *layout.kernel_spatial_dimensions]  # fmt: skip
    axes = [layout.input_batch_dimension, layout.input_feature_dimension, *layout.input_spatial_dimensions]
    kernel, values = [kernel[axis] for axis in order], node.array(1)
    values = None if values is None else values.transpose(order)
    groups = ir.IntegerAttr(operation.attributes["feature_group_count"]).value
    stride, gaps = integers(operation, "window_strides", [1] * rank), integers(operation, "lhs_dilation", [1] * rank)
    dilation, pads = integers(operation, "rhs_dilation", [1] * rank), pad_pairs(operation, rank)
    parameters = {"stride": stride, "padding": pads, "dilation": dilation, "groups": groups}
    is_flipped = "window_reversal" in operation.attributes and "true" in str(operation.attributes["window_reversal"])
    if is_flipped:
        values = None
    operator = "conv"
    if max(gaps, default=1) > 1:
        if max(stride) > 1:
            raise Problem("a convolution with a stride of an input with gaps is not checked")
        operator = "conv_transpose"
        parameters.update(stride=gaps, **transposed_parameters(kernel[2:], dilation, pads))
        values = None if values is None or groups != 1 else np.flip(values.swapaxes(0, 1), tuple(range(2, values.ndim)))
        kernel = [kernel[1] * groups, kernel[0] // groups, *kernel[2:]]
    has_bias, bias = bias_of(node, layout.output_feature_dimension)
    fields = {"shape": [shape[axis] for axis in axes], "dtype": dtype, "source": "convolution"}
    found = weights(values, bias, has_bias=has_bias)
    model.add(node.name, operator, parameters, kernel=kernel, bias=has_bias, weights=found, **fields)


def transposed_parameters(window, dilation, pads):
    """Return the padding of a transposed convolution, from that of the convolution of an input with gaps."""
    ends = [
        [(size - 1) * rate - before, (size - 1) * rate - after]
        for size, rate, (before, after) in zip(window, dilation, pads)
    ]
    if min((before for before, _after in ends), default=0) < 0:
        raise Problem("a transposed convolution with cells before its output is not checked")
    return {
        "padding": [[before, max(after, 0)] for before, after in ends],
        "output_padding": [max(-after, 0) for _before, after in ends],
    }


def bias_of(node, channels):
    """Return whether one number for each channel is added to a result, and the numbers if they are constants."""
    result = node.operation.results[0]
    users = list(result.uses)
    if len(users) != 1 or users[0].owner.operation.name != "stablehlo.add":
        return False, None
    addition, operand = Node(users[0].owner.operation, node.arguments), 1 - users[0].operand_number
    count = type_of(result)[0][channels]
    for _ in range(MAX_DEPTH):
        if type_of(addition.operation.operands[operand])[0] == [count]:
            return True, addition.array(operand)
        addition, operand = addition.operand(operand), 0
        if addition is None or addition.operation.name not in PASSING:
            break
    return False, None


def read_pad(node, is_first, model):
    """Add padding of spatial axes."""
    operation = node.operation
    shape, dtype = type_of(operation.operands[0])
    low, high = integers(operation, "edge_padding_low", []), integers(operation, "edge_padding_high", [])
    pads = [list(pair) for pair in zip(low, high)]
    channels = 1 if is_first else len(shape) - 1
    if any(integers(operation, "interior_padding", [0])):
        raise Problem("cells between those of the input are not read")
    if len(shape) < LEAST_RANK or any(pads[0]) or any(pads[channels]) or not any(map(any, pads)):
        model.add_other("pad of batch or channels")
        return
    value = node.number(1)
    if value is None:
        raise Problem("its value is computed by the model")
    axes = [axis for axis in range(1, len(shape)) if axis != channels]
    number = int(value) if np.isfinite(value) and float(value).is_integer() else value
    parameters = {"pads": [pads[axis] for axis in axes], "mode": "constant", "value": number}
    fields = {"shape": [shape[0], shape[channels], *(shape[axis] for axis in axes)], "dtype": dtype, "source": "pad"}
    model.add(node.name, "pad", parameters, **fields)


def read_scatter(node, _is_first, model):
    """Add a problem for the gradient of max pooling."""
    model.add_problem(node.name, node.operation.name, "the gradient of max pooling is not checked")


READERS = {
    "stablehlo.reduce_window": read_window, "stablehlo.reduce": read_reduction, "stablehlo.pad": read_pad,
    "stablehlo.convolution": read_convolution, "stablehlo.select_and_scatter": read_scatter,
}  # fmt: skip

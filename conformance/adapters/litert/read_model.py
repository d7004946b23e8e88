"""Script of the reader of `.tflite` files. It runs without the suite, see conformance.adapters.api.model_reader.

The classes of the schema read the file, which is mapped into memory. The shapes are those that the file has.
"""

import mmap
import os

import channels_last as last
import numpy as np
from extraction import first_line

try:
    from ai_edge_litert import schema_py_generated as schema
except ImportError as missing:
    # TensorFlow has the same classes.
    try:
        from tensorflow.lite.python import schema_py_generated as schema
    except ImportError:
        raise missing from None

MAX_FILE_BYTES = 16 << 30
MAX_OPERATORS = 200000
"""Maximum number of operators, and of tensors, of a graph, and of graphs."""
MAX_RANK = 16
IDENTIFIER = b"TFL3"


def names_of(enumeration):
    """Return the names of the values of an enumeration of the schema."""
    return {value: name for name, value in vars(enumeration).items() if not name.startswith("_")}


OPERATORS, TYPES = names_of(schema.BuiltinOperator), names_of(schema.TensorType)
PADDINGS = {schema.Padding.SAME: "SAME", schema.Padding.VALID: "VALID"}
MIRROR_MODES = {schema.MirrorPadMode.REFLECT: "reflect", schema.MirrorPadMode.SYMMETRIC: "symmetric"}
DTYPES = {"FLOAT32": "float32", "FLOAT16": "float16", "FLOAT64": "float64", "BFLOAT16": "bfloat16", "INT8": "int8",
          "UINT8": "uint8", "INT16": "int16", "INT32": "int32", "INT64": "int64"}  # fmt: skip
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
        file.makers, file.users = edges_of(operators, len(tensors))
        for operator in operators:
            read_operator(file.kind(operator), Node(file, operator, tensors), file.model)


def edges_of(operators, tensors):
    """Return the operator that computes each tensor, and the operators that read it."""
    makers, users = {}, {}
    for operator in operators:
        for index in range(min(operator.OutputsLength(), tensors)):
            makers[operator.Outputs(index)] = operator
        for index in range(min(operator.InputsLength(), tensors)):
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


class File:
    """A file: its content, its buffers, and limits for its lists."""

    def __init__(self, data, model):
        self.data, self.model = data, model
        self.content = schema.Model.GetRootAs(data, 0)
        self.makers, self.users = {}, {}

    def kind(self, operator):
        """Return the name of the kind of an operator."""
        code = self.content.OperatorCodes(operator.OpcodeIndex())
        # Files of old versions have the number in a field of one byte.
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        if OPERATORS.get(number) == "CUSTOM":
            return f"custom {(code.CustomCode() or b'').decode('utf-8', 'replace')}"
        return OPERATORS.get(number, f"operator {number}")

    def items(self, owner, name):
        """Yield the items of a list. Raises an error above the limit."""
        count = getattr(owner, f"{name}Length")()
        if count > MAX_OPERATORS:
            raise self.model.error(f"{name} has {count} items, the limit is {MAX_OPERATORS}")
        return (getattr(owner, name)(index) for index in range(count))

    def array(self, tensor):
        """Return the values of a tensor, None without any."""
        dtype = DTYPES.get(TYPES.get(tensor.Type()))
        buffer = self.content.Buffers(tensor.Buffer())
        if dtype in (None, "bfloat16") or buffer is None:
            return None
        data = buffer.DataAsNumpy() if buffer.DataLength() else b""
        if buffer.Offset() > 1:  # buffers of large files come after the tables
            data = memoryview(self.data)[buffer.Offset() : buffer.Offset() + buffer.Size()]
        shape = shape_of(tensor)
        values = np.frombuffer(data, np.dtype(dtype).newbyteorder("<"))
        return values.reshape(shape) if values.size and values.size == np.prod(shape) else None


def shape_of(tensor):
    """Return the shape of a tensor as the file has it."""
    if tensor.ShapeLength() > MAX_RANK:
        raise last.Problem(f"a tensor of it has {tensor.ShapeLength()} axes")
    return [tensor.Shape(axis) for axis in range(tensor.ShapeLength())]


class Node:
    """An operator, with its tensors and options."""

    def __init__(self, file, operator, tensors):
        self.file, self.operator, self.tensors = file, operator, tensors

    @property
    def name(self):
        """Name of the output. A converter joins the names of the operators that it has fused."""
        tensor = self.tensors[self.operator.Outputs(0)] if self.operator.OutputsLength() else None
        name = (tensor.Name() or b"").decode("utf-8", "replace") if tensor is not None else ""
        return name.split(";")[0]

    def has_input(self, index):
        """Whether the operator has an input."""
        return index < self.operator.InputsLength() and self.operator.Inputs(index) >= 0

    def tensor(self, index):
        """Return an input."""
        if not self.has_input(index):
            raise last.Problem(f"it has no input {index}")
        return self.tensors[self.operator.Inputs(index)]

    def shape(self, index):
        """Return the shape of an input, whose batch may have any size."""
        return fixed_shape(self.tensor(index))

    def output_shape(self):
        """Return the shape of the output."""
        return fixed_shape(self.tensors[self.operator.Outputs(0)])

    def constant(self, index):
        """Return the values of an input. Raises Problem if the model computes them."""
        values = self.file.array(self.tensor(index))
        if values is None:
            raise last.Problem("a parameter of it is computed by the model")
        return values

    def weight(self, index):
        """Return the values of weights, None if they are unknown."""
        return self.file.array(self.tensor(index))

    def dtype(self, index):
        """Return the dtype of an input."""
        kind = TYPES.get(self.tensor(index).Type())
        return DTYPES.get(kind, str(kind).lower())

    def check_float(self, *indices):
        """Raise Problem if an input is quantized."""
        for index in indices:
            quantization = self.tensor(index).Quantization()
            if quantization is not None and quantization.ScaleLength():
                raise last.Problem("quantized layers are not checked; convert the model without quantization")

    def options(self, kind):
        """Return the options of the operator, as an object of a class of the schema."""
        table = self.operator.BuiltinOptions()
        if table is None:
            raise last.Problem("it has no options")
        found = getattr(schema, kind)()
        found.Init(table.Bytes, table.Pos)
        return found

    def fields(self, kind, index=0):
        """Return shape (n, c, *spatial), dtype and kind of the layer."""
        return {"shape": last.channels_first(self.shape(index)), "dtype": self.dtype(index), "source": kind}


def surroundings(node):
    """Return SPACE_TO_BATCH_ND before a node and BATCH_TO_SPACE_ND after it, which dilate it; None without them."""
    file, users = node.file, node.file.users.get(node.operator.Outputs(0), [])
    before = file.makers.get(node.operator.Inputs(0))
    if before is None or len(users) != 1:
        return None
    if (file.kind(before), file.kind(users[0])) != ("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"):
        return None
    return Node(file, before, node.tensors), Node(file, users[0], node.tensors)


def fixed_shape(tensor):
    """Return the shape of a tensor. Raises Problem if an extent other than that of the batch is not fixed."""
    shape = shape_of(tensor)
    if len(shape) < last.LEAST_RANK:
        raise last.Problem(f"the shape {shape} of its input has too few axes, or is unknown")
    if tensor.ShapeSignatureLength() == len(shape):
        free = [tensor.ShapeSignature(axis) < 0 for axis in range(len(shape))]
        if any(free[1:]):
            raise last.Problem("the shape of its input is not fixed: convert the model with a fixed input shape")
    return shape


def padding_of(options):
    """Return the name of the padding."""
    if options.Padding() not in PADDINGS:
        raise last.Problem(f"unknown padding {options.Padding()}")
    return PADDINGS[options.Padding()]


def read_pool(kind, node, model):
    """Add pooling of planes."""
    operator = {"MAX_POOL_2D": "max_pool", "AVERAGE_POOL_2D": "avg_pool"}[kind]
    options = node.options("Pool2DOptions")
    if operator == "avg_pool":
        node.check_float(0)
    window, stride = [options.FilterHeight(), options.FilterWidth()], [options.StrideH(), options.StrideW()]
    last.add_pool(model, node.name, operator, window, stride, padding_of(options), node.fields(kind))


def read_convolution(kind, node, model):
    """Add a convolution of planes, with kernels (out, *window, in) or (1, *window, out)."""
    is_depthwise = kind == "DEPTHWISE_CONV_2D"
    options = node.options("DepthwiseConv2DOptions" if is_depthwise else "Conv2DOptions")
    shape = node.shape(1)
    kernel = [shape[-1], 1, *shape[1:-1]] if is_depthwise else [shape[0], shape[-1], *shape[1:-1]]
    stride, dilation = strides_of(options, "HW"), dilations_of(options, "HW")
    add_convolution(kind, node, model, kernel, (-1, 0) if is_depthwise else (0, -1), (stride, dilation, options))


def read_volume_convolution(kind, node, model):
    """Add a convolution of volumes, with kernels (*window, in, out)."""
    options = node.options("Conv3DOptions")
    shape = node.shape(1)
    kernel = [shape[-1], shape[-2], *shape[:-2]]
    add_convolution(
        kind, node, model, kernel, (-1, -2), (strides_of(options, "DHW"), dilations_of(options, "DHW"), options)
    )


def strides_of(options, axes):
    """Return the stride on each axis."""
    return [getattr(options, f"Stride{axis}")() for axis in axes]


def dilations_of(options, axes):
    """Return the dilation on each axis."""
    return [getattr(options, f"Dilation{axis}Factor")() for axis in axes]


def add_convolution(kind, node, model, kernel, channel_axes, settings):
    """Add a convolution. channel_axes: the axes of the output and the input channels in the kernel of the file."""
    stride, dilation, options = settings
    node.check_float(0, 1)
    fields, around = node.fields(kind), surroundings(node)
    pads = last.named_pads(padding_of(options), fields["shape"][2:], kernel[2:], stride, dilation)
    if around is not None:
        space, batch = around
        block = [int(one) for one in space.constant(1)]
        dilation, pads = last.dilated(block, space.constant(2), batch.constant(2), (stride, dilation, pads))
        fields = {**fields, "shape": last.channels_first(space.shape(0))}
    groups = fields["shape"][1] // max(kernel[1], 1)
    parameters = {"stride": stride, "padding": pads, "dilation": dilation, "groups": groups}
    values, has_bias = node.weight(1), node.has_input(2)
    bias = node.weight(2) if has_bias else None
    values = None if values is None else np.moveaxis(values, channel_axes, (0, 1))
    found = last.weights(values, bias, has_bias=has_bias)
    model.add(node.name, "conv", parameters, kernel=kernel, bias=has_bias, weights=found, **fields)


def read_transposed(kind, node, model):
    """Add a transposed convolution. The inputs are the output shape, the kernel, the data and the bias."""
    node.check_float(1, 2)
    is_volume = kind == "CONV_3D_TRANSPOSE"
    options = node.options("Conv3DOptions" if is_volume else "TransposeConvOptions")
    stride = strides_of(options, "DHW" if is_volume else "HW")
    dilation = dilations_of(options, "DHW") if is_volume else [1, 1]
    shape, fields = node.shape(1), node.fields(kind, 2)
    # The kernel is (out, *window, in) in planes and (*window, out, in) in volumes.
    axes = (-1, -2) if is_volume else (-1, 0)
    window = shape[:-2] if is_volume else shape[1:-1]
    kernel = [shape[axes[0]], shape[axes[1]], *window]
    outputs = node.output_shape()[1:-1]
    named = last.transposed_padding(padding_of(options), fields["shape"][2:], outputs, window, stride, dilation)
    parameters = {"stride": stride, **named, "dilation": dilation, "groups": 1}
    values, has_bias = node.weight(1), node.has_input(3)
    values = None if values is None else np.moveaxis(values, axes, (0, 1))
    found = last.weights(values, node.weight(3) if has_bias else None, has_bias=has_bias)
    model.add(node.name, "conv_transpose", parameters, kernel=kernel, bias=has_bias, weights=found, **fields)


def read_pad(kind, node, model):
    """Add padding of spatial axes."""
    if len(shape_of(node.tensor(0))) < last.LEAST_RANK:
        model.add_other(kind)
        return
    node.check_float(0)
    pads = node.constant(1).astype(int).tolist()
    value = float(node.constant(2).reshape(-1)[0]) if kind == "PADV2" else 0.0
    mode = MIRROR_MODES[node.options("MirrorPadOptions").Mode()] if kind == "MIRROR_PAD" else "constant"
    fields = {"shape": node.shape(0), "dtype": node.dtype(0), "source": kind}
    last.add_pad(model, node.name, pads, mode, value, fields)


def read_reduction(kind, node, model):
    """Add the mean or maximum of all spatial axes. Others are counted."""
    rank = len(shape_of(node.tensor(0)))
    axes = node.file.array(node.tensor(1))
    if axes is None or not last.spatial_axes([int(axis) for axis in axes.reshape(-1)], max(rank, 1)):
        model.add_other(kind)
        return
    if kind == "MEAN":
        node.check_float(0)
    fields = {"shape": node.shape(0), "dtype": node.dtype(0), "source": kind}
    last.add_reduction(model, node.name, "mean" if kind == "MEAN" else "max", axes.reshape(-1).tolist(), fields)


READERS = {
    "MAX_POOL_2D": read_pool, "AVERAGE_POOL_2D": read_pool,
    "CONV_2D": read_convolution, "DEPTHWISE_CONV_2D": read_convolution, "CONV_3D": read_volume_convolution,
    "TRANSPOSE_CONV": read_transposed, "CONV_3D_TRANSPOSE": read_transposed,
    "PAD": read_pad, "PADV2": read_pad, "MIRROR_PAD": read_pad,
    "MEAN": read_reduction, "REDUCE_MAX": read_reduction,
}  # fmt: skip

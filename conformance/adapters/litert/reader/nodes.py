"""Operators of a `.tflite` file: their tensors, options, shapes and values."""

import channels_last as last
import numpy as np

try:
    from ai_edge_litert import schema_py_generated as schema
except ImportError as missing:
    # TensorFlow has the same classes.
    try:
        from tensorflow.lite.python import schema_py_generated as schema
    except ImportError:
        raise missing from None
MAX_OPERATORS = 200000
"""Maximum number of operators, and of tensors, of a graph, and of graphs."""
MAX_ITEMS = 1_000_000
"""Maximum number of graphs, operators, tensors and edges that are read. Tables of a small file can share long lists."""
MAX_TEXT_BYTES = 256 << 20
"""Maximum number of bytes of all names that are read."""
MAX_TEXT_LENGTH = 200
MAX_RANK = 16
MAX_PARAMETERS = 64
"""Maximum number of values of a parameter, such as the pads of each axis."""


def names_of(enumeration):
    """Return the names of the values of an enumeration of the schema."""
    return {value: name for name, value in vars(enumeration).items() if not name.startswith("_")}


OPERATORS, TYPES = names_of(schema.BuiltinOperator), names_of(schema.TensorType)
PADDINGS = {schema.Padding.SAME: "SAME", schema.Padding.VALID: "VALID"}
MIRROR_MODES = {schema.MirrorPadMode.REFLECT: "reflect", schema.MirrorPadMode.SYMMETRIC: "symmetric"}
DTYPES = {"FLOAT32": "float32", "FLOAT16": "float16", "FLOAT64": "float64", "BFLOAT16": "bfloat16", "INT8": "int8",
          "UINT8": "uint8", "INT16": "int16", "INT32": "int32", "INT64": "int64"}  # fmt: skip


class File:
    """A file: its content, its buffers, and limits for its lists."""

    def __init__(self, data, model):
        self.data, self.model = data, model
        self.content = schema.Model.GetRootAs(data, 0)
        self.makers, self.users = {}, {}
        self.items_read = self.bytes_read = 0

    def count(self, items):
        """Count items that are read. Raises an error above the limit."""
        self.items_read += items
        if self.items_read > MAX_ITEMS:
            raise self.model.error(f"it has more than {MAX_ITEMS} graphs, operators, tensors and edges")

    def text(self, encoded):
        """Return the first part of a name. Raises an error if all names that are read are too long."""
        self.bytes_read += len(encoded or b"")
        if self.bytes_read > MAX_TEXT_BYTES:
            raise self.model.error(f"its names have more than {MAX_TEXT_BYTES} bytes")
        return (encoded or b"").partition(b";")[0][:MAX_TEXT_LENGTH].decode("utf-8", "replace")

    def kind(self, operator):
        """Return the name of the kind of an operator."""
        code = self.content.OperatorCodes(operator.OpcodeIndex())
        # Files of old versions have the number in a field of one byte.
        number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        if OPERATORS.get(number) == "CUSTOM":
            return f"custom {self.text(code.CustomCode())}"
        return OPERATORS.get(number, f"operator {number}")

    def items(self, owner, name):
        """Yield the items of a list. Raises an error above the limit."""
        count = getattr(owner, f"{name}Length")()
        if count > MAX_OPERATORS:
            raise self.model.error(f"{name} has {count} items, the limit is {MAX_OPERATORS}")
        self.count(count)
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
        return self.file.text(self.output().Name()) if self.operator.OutputsLength() else ""

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

    def output(self):
        """Return the output."""
        index = self.operator.Outputs(0)
        if not 0 <= index < len(self.tensors):
            raise self.file.model.error(f"not a .tflite file, or a damaged one: an output is tensor {index}")
        return self.tensors[index]

    def output_shape(self):
        """Return the shape of the output."""
        return fixed_shape(self.output())

    def constant(self, index):
        """Return the values of an input. Raises Problem if the model computes them."""
        values = self.file.array(self.tensor(index))
        if values is None:
            raise last.Problem("a parameter of it is computed by the model")
        if values.size > MAX_PARAMETERS:
            raise last.Problem(f"a parameter of it has {values.size} values")
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

"""Operations of StableHLO: their attributes, types, operands and constants."""

import re

import numpy as np
from channels_last import Problem
from jaxlib.mlir import ir

MAX_DEPTH = 64
"""Maximum nesting of functions and regions."""
DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i8": "int8", "i16": "int16",
          "i32": "int32", "i64": "int64", "ui8": "uint8"}  # fmt: skip
PASSING = ("stablehlo.broadcast_in_dim", "stablehlo.convert", "stablehlo.reshape")
"""Operations whose result has the values of the operand, for constants of one value."""


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

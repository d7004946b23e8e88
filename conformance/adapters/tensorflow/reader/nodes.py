"""Nodes of a graph: their attributes, shapes, constants and weights."""

import channels_last as last
import tensorflow as tf

from .flattening import MAX_DEPTH
from .variables import PASSING


class Node:
    """A node of the graph."""

    def __init__(self, operation, name, weights):
        self.operation, self.name, self.weights = operation, name, weights

    def attribute(self, name, default=None):
        """Return an attribute; text is in bytes."""
        try:
            return self.operation.get_attr(name)
        except ValueError:
            return default

    def shape(self, index):
        """Return the shape of an input. Raises Problem if an extent is unknown."""
        return known_shape(self.operation.inputs[index])

    def dtype(self, index=0):
        """Return the dtype of an input."""
        return self.operation.inputs[index].dtype.base_dtype.name

    def constant(self, index):
        """Return the values of an input. Raises Problem if the model computes them."""
        values = tf.get_static_value(self.operation.inputs[index])
        if values is None:
            raise last.Problem("a parameter of it is computed by the model")
        return values

    def weight(self, index):
        """Return the values of weights, None if they are unknown."""
        return self.values_of(self.operation.inputs[index])

    def values_of(self, tensor):
        """Return the values of a constant or of a variable."""
        shape = tensor.shape
        for _ in range(MAX_DEPTH):
            source = tensor.op
            if source.type == "Const":
                values = tf.make_ndarray(source.get_attr("value"))
                return (
                    values.reshape(shape) if shape.is_fully_defined() and values.size == shape.num_elements() else None
                )
            if source.type in ("VarHandleOp", "VariableV2"):
                own = tf.TensorShape(source.get_attr("shape"))
                values = self.weights.variable(source.name, own.as_list()) if own.is_fully_defined() else None
                return values if values is None or not shape.is_fully_defined() else values.reshape(shape)
            if source.type not in PASSING:
                return None
            tensor = source.inputs[0]
        return None

    def bias(self):
        """Return whether a bias is added to the output, and its values if they are known."""
        output = self.operation.outputs[0]
        users = output.consumers()
        while len(users) == 1 and users[0].type == "Identity":
            output = users[0].outputs[0]
            users = output.consumers()
        if len(users) != 1 or users[0].type not in ("BiasAdd", "AddV2", "Add"):
            return False, None
        other = next((one for one in users[0].inputs if one is not output), None)
        if other is None or not other.shape.is_fully_defined() or not is_weight(other):
            return False, None
        channels = output.shape[1 if self.is_first else -1]
        return other.shape.num_elements() == channels, self.values_of(other)

    @property
    def is_first(self):
        """Whether the channels come first."""
        return (self.attribute("data_format") or b"").startswith(b"NC")

    def fields(self, index=0):
        """Return shape (n, c, *spatial), dtype and kind of the layer."""
        shape = self.shape(index)
        if len(shape) < last.LEAST_RANK:
            raise last.Problem(f"its input has the shape {shape}")
        shape = shape if self.is_first else last.channels_first(shape)
        return {"shape": shape, "dtype": self.dtype(index), "source": self.operation.type}

    def numbers(self, name, rank):
        """Return an attribute with a number for each spatial axis."""
        values = [int(one) for one in self.attribute(name) or [1] * (rank + 2)]
        if len(values) != rank + 2:
            raise last.Problem(f"{name} {values} does not fit {rank} spatial axes")
        own, batch, channels = (values[2:], *values[:2]) if self.is_first else (values[1:-1], values[0], values[-1])
        if (batch, channels) != (1, 1):
            raise last.Problem(f"{name} {values} reaches across the batch or the channels")
        return own


def is_weight(tensor):
    """Whether a tensor is a constant or a variable."""
    for _ in range(MAX_DEPTH):
        if tensor.op.type in ("Const", "VarHandleOp", "VariableV2"):
            return True
        if tensor.op.type not in PASSING:
            return False
        tensor = tensor.op.inputs[0]
    return False


def known_shape(tensor):
    """Return the shape of a tensor. Raises Problem if an extent is unknown."""
    if tensor.shape.rank is None:
        raise last.Problem("the shape of its input is unknown (--input NAME=SHAPE gives that of the model)")
    shape = tensor.shape.as_list()
    # The batch is often unknown, and no window reaches across it.
    shape = [1, *shape[1:]] if shape and shape[0] is None else shape
    if None in shape:
        raise last.Problem("the shape of its input is not fixed (--input NAME=SHAPE gives that of the model)")
    return shape


def padding_pairs(node, extents, window, stride, dilation):
    """Return the pads of a convolution, which may be explicit."""
    word = node.attribute("padding").decode()
    if word != "EXPLICIT":
        return last.named_pads(word, extents, window, stride, dilation)
    flat = [int(one) for one in node.attribute("explicit_paddings")]
    pairs = [flat[position : position + 2] for position in range(0, len(flat), 2)]
    return pairs[2:] if node.is_first else pairs[1:-1]

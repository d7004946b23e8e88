"""Types of values and contents of initializers of an ONNX graph."""

from onnx import TensorProto, numpy_helper


class Problem(Exception):
    """A node with a window that cannot be checked."""


class Context:
    """Types of values and contents of initializers."""

    def __init__(self, types, weights):
        self.types, self.weights = types, weights

    def shape(self, name):
        """Return the shape of a value. Raises Problem if an extent is unknown."""
        if name in self.weights:
            return tuple(self.weights[name].dims)
        found = self.types.get(name)
        if found is None or not found.HasField("shape"):
            raise Problem("the shape of its input is unknown (--input NAME=SHAPE gives that of the model)")
        shape = tuple(one.dim_value if one.HasField("dim_value") else -1 for one in found.shape.dim)
        # The batch is often symbolic, and no window reaches across it.
        shape = (1, *shape[1:]) if shape and shape[0] < 1 else shape
        if any(extent < 0 for extent in shape):
            raise Problem("the shape of its input is not fixed (--input NAME=SHAPE gives that of the model)")
        return shape

    def dtype(self, name):
        """Return the dtype of a value, float32 if it is unknown."""
        found = self.weights[name].data_type if name in self.weights else getattr(self.types.get(name), "elem_type", 1)
        return {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16", 6: "int32", 7: "int64", 2: "uint8",
                3: "int8"}.get(found, "float32")  # fmt: skip

    def array(self, name):
        """Return the contents of an initializer, None without one. External data is not read."""
        tensor = self.weights.get(name)
        if tensor is None or tensor.external_data or tensor.data_location == TensorProto.EXTERNAL:
            return None
        try:
            return numpy_helper.to_array(tensor)
        except Exception:
            return None

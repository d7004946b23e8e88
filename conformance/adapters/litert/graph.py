"""LiteRT: the class `Graph`, as source text of the setup, with which programs build a model operator by operator.

Models are written with the object API of the schema that the package contains, without a converter. As in a converted
model, weights are constants.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.cases.operators import WEIGHT_INPUTS

GRAPH_SOURCE = '''\
class Graph:
    """A model that is built operator by operator. Its tensors are integers; NumPy arrays become constants."""

    def __init__(self):
        self.graph = schema.SubGraphT(tensors=[], inputs=[], outputs=[], operators=[])
        self.model = schema.ModelT(version=3, operatorCodes=[], subgraphs=[self.graph], buffers=[schema.BufferT()])
        self.arrays = []

    def tensor(self, dtype, shape=(), buffer=0):
        kind = getattr(schema.TensorType, np.dtype(dtype).name.upper())
        self.graph.tensors.append(schema.TensorT(list(shape), kind, buffer))
        return len(self.graph.tensors) - 1

    def input(self, array):
        self.arrays.append(array)
        self.graph.inputs.append(self.tensor(array.dtype, array.shape))
        return self.graph.inputs[-1]

    def constant(self, array):
        self.model.buffers.append(schema.BufferT(np.frombuffer(array.tobytes(), np.uint8)))
        return self.tensor(array.dtype, array.shape, len(self.model.buffers) - 1)

    def quantize(self, tensor, scale, zero_point=0, axis=0):
        """Add scales and zero points to a tensor: one, or one for each cell of an axis."""
        scales = np.atleast_1d(np.float32(scale))
        zeros = np.broadcast_to(zero_point, scales.shape).tolist()
        self.graph.tensors[tensor].quantization = schema.QuantizationParametersT(
            scale=scales.tolist(), zeroPoint=zeros, quantizedDimension=axis
        )

    def node(self, name, inputs, options=None, dtype=None):
        """Add an operator and return its output, which by default has the dtype of the first input of the model."""
        code = getattr(schema.BuiltinOperator, name)
        self.model.operatorCodes.append(schema.OperatorCodeT(min(code, 127), version=1, builtinCode=code))
        inputs = [each if isinstance(each, int) else self.constant(each) for each in inputs]
        output = self.tensor(dtype or self.arrays[0].dtype)
        node = schema.OperatorT(len(self.model.operatorCodes) - 1, inputs, [output])
        if options is not None:
            node.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__[:-1])
            node.builtinOptions = options
        self.graph.operators.append(node)
        return output

    def interpreter(self):
        builder = flatbuffers.Builder()
        builder.Finish(self.model.Pack(builder), b"TFL3")
        model = Interpreter(None, bytes(builder.Output()), num_threads=1, experimental_op_resolver_type=resolver)
        model.allocate_tensors()
        return model

    def invoke(self, output):
        """Infer the shapes of all tensors, without which XNNPACK is not used, then run the model."""
        self.graph.outputs.append(output)
        inferred = self.interpreter().get_tensor_details()
        for tensor, details in zip(self.graph.tensors, inferred):
            tensor.shape = details["shape"].tolist()
        model = self.interpreter()
        for tensor, array in zip(self.graph.inputs, self.arrays):
            model.set_tensor(tensor, array)
        model.invoke()
        return model.get_tensor(output)
'''


def graph_lines(lines: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return lines that build and run a graph. Weights stay NumPy arrays, from which constants are made."""
    inputs = [f"{name} = graph.input({name})" for name in names if name not in WEIGHT_INPUTS]
    return ("graph = Graph()", *inputs, *lines, "x = graph.invoke(x)")

"""Record the window operators of an ONNX file: the inputs and results of its nodes become outputs of the graph."""

SUFFIX = ".onnx"
"""Suffix of the files that the backend runs."""
CAPTURE = """\
import onnx
import onnxruntime
from onnx import numpy_helper

OPERATORS = {
    "Conv": "conv",
    "ConvTranspose": "conv_transpose",
    "MaxPool": "max_pool",
    "AveragePool": "avg_pool",
    "LpPool": "lp_pool",
    "GlobalMaxPool": "global_max_pool",
    "GlobalAveragePool": "global_avg_pool",
    "Pad": "pad",
    "Gemm": "gemm",
    "MatMul": "matmul",
}
MAX_BYTES = 1 << 31


def load_factory(place, _attribute):
    if os.path.getsize(place) >= MAX_BYTES:
        raise ValueError("%s: larger than 2 GiB" % place)
    return onnx.load(place)


def build_model(model, _weights):
    nodes = [node for node in model.graph.node if node.op_type in OPERATORS]
    wanted = [name for node in nodes for name in (*filter(None, node.input), node.output[0])]
    results = [one.name for one in model.graph.output]
    constants = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    given = {one.name for one in model.graph.input}
    added = [name for name in dict.fromkeys(wanted) if name not in {*results, *constants, *given}]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in added)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session, nodes, results, constants


def model_weights(model):
    return {}


def attributes(node):
    return {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}


def record(recorder, node, values):
    operator, given = OPERATORS[node.op_type], attributes(node)
    x, y = values[node.input[0]], values[node.output[0]]
    if operator in ("gemm", "matmul"):
        record_dense(recorder, node, given, values)
        return
    axes = x.ndim - 2
    inputs, parameters = {"x": x}, {}
    if operator == "pad":
        pads = given.get("pads") or values[node.input[1]].tolist()
        if len(pads) != 2 * x.ndim or any(pads[:2] + pads[x.ndim:x.ndim + 2]):
            return
        mode = given.get("mode", b"constant").decode()
        parameters = {"pads": [[pads[2 + axis], pads[2 + axis + x.ndim]] for axis in range(axes)], "mode": mode}
        if mode == "constant":
            value = values[node.input[2]].item() if len(node.input) > 2 and node.input[2] else given.get("value", 0)
            parameters["value"] = float(value)
    elif operator not in ("global_max_pool", "global_avg_pool"):
        if "conv" in operator:
            inputs["kernel"] = values[node.input[1]]
            if len(node.input) > 2 and node.input[2]:
                inputs["bias"] = values[node.input[2]]
            window = list(inputs["kernel"].shape[2:])
            parameters["groups"] = given.get("group", 1)
        else:
            window = parameters["window"] = list(given["kernel_shape"])
        stride = parameters["stride"] = list(given.get("strides", [1] * axes))
        dilation = list(given.get("dilations", [1] * axes))
        if operator != "avg_pool" or max(dilation) > 1:
            parameters["dilation"] = dilation
        ends = list(given.get("pads", [0] * 2 * axes))
        name = given.get("auto_pad", b"NOTSET").decode()
        parameters["padding"] = (
            [[ends[axis], ends[axis + axes]] for axis in range(axes)] if name == "NOTSET"
            else named_pads(name, x.shape[2:], window, stride, dilation)
        )
        if given.get("ceil_mode"):
            parameters["rounding"] = "ceil"
        if operator == "avg_pool":
            parameters["count_include_pad"] = bool(given.get("count_include_pad", 0))
        if operator == "lp_pool":
            parameters["p"] = float(given.get("p", 2))
        if operator == "conv_transpose":
            reach = [rate * (extent - 1) + 1 for rate, extent in zip(dilation, window)]
            crops = [(n - 1) * s + r - out for n, s, r, out in zip(x.shape[2:], stride, reach, y.shape[2:])]
            parameters["output_padding"] = list(given.get("output_padding", [0] * axes))
            if name != "NOTSET" or "output_shape" in given:
                parameters["padding"] = [[max(crop, 0) // 2, max(crop, 0) - max(crop, 0) // 2] for crop in crops]
    recorder.path.append(node.name or node.output[0])
    recorder.add(operator, parameters, inputs, y)
    recorder.path.pop()


def record_dense(recorder, node, given, values):
    x, kernel, *rest = (values[name] for name in node.input if name)
    bias = rest[0] if rest else None
    scales = given.get("alpha", 1.0), given.get("beta", 1.0)
    has_plain_bias = bias is None or bias.shape == (kernel.shape[0 if given.get("transB") else -1],)
    if kernel.ndim != 2 or x.ndim < 2 or given.get("transA") or scales != (1.0, 1.0) or not has_plain_bias:
        return
    recorder.path.append(node.name or node.output[0])
    recorder.add_dense(x, kernel if given.get("transB") else kernel.T, bias, values[node.output[0]])
    recorder.path.pop()


def run_model(model, inputs, recorder):
    session, nodes, results, constants = model
    names = [one.name for one in session.get_outputs()]
    known = [one.name for one in session.get_inputs()]
    feed = {name if name in known else known[number]: one for number, (name, one) in enumerate(inputs.items())}
    values = {**constants, **feed, **dict(zip(names, session.run(None, feed)))}
    for node in nodes:
        record(recorder, node, values)
    return [values[name] for name in results]
"""
"""See conformance.adapters.api.models.capture."""

"""Record the window operators of a PyTorch model: `torch.overrides` reports each call of a function of the API."""

CAPTURE = """\
import functools

import torch
from torch.overrides import TorchFunctionMode

CONVOLUTION = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
TRANSPOSED = ("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation")
MAXIMUM = ("input", "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
AVERAGE = ("input", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
NORM = ("input", "norm_type", "kernel_size", "stride", "ceil_mode")
ADAPTIVE = ("input", "output_size", "return_indices")
PAD = ("input", "pad", "mode", "value")
LINEAR = ("input", "weight", "bias")
CALLS = {}
for axes in (1, 2, 3):
    CALLS.update({
        "conv%dd" % axes: ("conv", axes, CONVOLUTION),
        "conv_transpose%dd" % axes: ("conv_transpose", axes, TRANSPOSED),
        "max_pool%dd" % axes: ("max_pool", axes, MAXIMUM),
        "max_pool%dd_with_indices" % axes: ("max_pool", axes, MAXIMUM),
        "avg_pool%dd" % axes: ("avg_pool", axes, AVERAGE),
        "lp_pool%dd" % axes: ("lp_pool", axes, NORM),
        "adaptive_max_pool%dd" % axes: ("adaptive_max_pool", axes, ADAPTIVE),
        "adaptive_max_pool%dd_with_indices" % axes: ("adaptive_max_pool", axes, ADAPTIVE),
        "adaptive_avg_pool%dd" % axes: ("adaptive_avg_pool", axes, ADAPTIVE),
    })
MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


class Calls(TorchFunctionMode):
    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = getattr(function, "__name__", "")
        if name in CALLS:
            operator, axes, names = CALLS[name]
            record(self.recorder, operator, axes, dict(zip(names, args), **(kwargs or {})), result)
        elif name == "linear":
            record_linear(self.recorder, dict(zip(LINEAR, args), **(kwargs or {})), result)
        elif name in ("matmul", "__matmul__", "mm") and len(args) == 2:
            x, kernel = args
            if kernel.ndim == 2 and x.ndim > 1:
                self.recorder.add_dense(array(x), array(kernel).T, None, array(result))
        elif name == "pad":
            record_pad(self.recorder, dict(zip(PAD, args), **(kwargs or {})), result)
        return result


def array(value):
    return value.detach().cpu().numpy()


def record(recorder, operator, axes, given, result):
    given = {name: value for name, value in given.items() if value is not None}
    x = given["input"]
    result = result[0] if isinstance(result, tuple) else result
    batched = x.ndim == axes + 2
    inputs = {"x": array(x if batched else x[None])}
    parameters = {}
    if "weight" in given:
        inputs["kernel"] = array(given["weight"])
        if "bias" in given:
            inputs["bias"] = array(given["bias"])
        window = list(given["weight"].shape[2:])
        parameters["groups"] = given.get("groups", 1)
        parameters["dilation"] = numbers(given.get("dilation", 1), axes)
        parameters["stride"] = numbers(given.get("stride", 1), axes)
    elif operator.startswith("adaptive"):
        size = given["output_size"]
        size = [size] * axes if isinstance(size, int) else list(size)
        parameters["output_size"] = [
            int(extent if one is None else one) for one, extent in zip(size, x.shape[x.ndim - axes:])
        ]
        recorder.add(operator, parameters, inputs, array(result if batched else result[None]))
        return
    else:
        window = parameters["window"] = numbers(given["kernel_size"], axes)
        stride = given.get("stride")
        parameters["stride"] = window if stride is None or stride == [] or stride == () else numbers(stride, axes)
        if given.get("ceil_mode"):
            parameters["rounding"] = "ceil"
        if operator == "max_pool":
            parameters["dilation"] = numbers(given.get("dilation", 1), axes)
        if operator == "avg_pool":
            parameters["count_include_pad"] = bool(given.get("count_include_pad", True))
            if given.get("divisor_override"):
                parameters["divisor"] = int(given["divisor_override"])
        if operator == "lp_pool":
            parameters["p"] = float(given["norm_type"])
    padding = given.get("padding", 0)
    if isinstance(padding, str):
        reach = [dilation * (extent - 1) for dilation, extent in zip(parameters["dilation"], window)]
        parameters["padding"] = [[one // 2, one - one // 2] if padding == "same" else [0, 0] for one in reach]
    else:
        parameters["padding"] = pairs(numbers(padding, axes), axes)
    if operator == "conv_transpose":
        parameters["output_padding"] = numbers(given.get("output_padding", 0), axes)
    recorder.add(operator, parameters, inputs, array(result if batched else result[None]))


def record_linear(recorder, given, result):
    bias = given.get("bias")
    bias = None if bias is None else array(bias)
    recorder.add_dense(array(given["input"]), array(given["weight"]), bias, array(result))


def record_pad(recorder, given, result):
    x, pad = given["input"], list(given["pad"])
    if given.get("mode", "constant") not in MODES or len(pad) > 2 * (x.ndim - 2):
        return
    pads = [[pad[2 * axis], pad[2 * axis + 1]] for axis in range(len(pad) // 2)]
    pads += [[0, 0]] * (x.ndim - 2 - len(pads))
    parameters = {"pads": pads[::-1], "mode": MODES[given.get("mode", "constant")]}
    if parameters["mode"] == "constant":
        parameters["value"] = float(given.get("value") or 0)
    recorder.add("pad", parameters, {"x": array(x)}, array(result))


def build_model(factory, weights):
    model = call_factory(factory, weights)
    return model.eval() if isinstance(model, torch.nn.Module) else model


def model_weights(model):
    weights = model.state_dict() if isinstance(model, torch.nn.Module) else {}
    return {name: array(value) for name, value in weights.items()}


def name_layers(model, recorder):
    # Hooks record the name of the module that is running. A hook that returns None changes nothing.
    def enter(name, _module, _args):
        recorder.path.append(name)

    def leave(_module, _args, _result):
        recorder.path.pop()

    for name, module in model.named_modules():
        yield module.register_forward_pre_hook(functools.partial(enter, name))
        yield module.register_forward_hook(leave)


def run_model(model, inputs, recorder):
    handles = list(name_layers(model, recorder)) if isinstance(model, torch.nn.Module) else []
    with torch.no_grad(), Calls(recorder):
        result = model(*map(torch.from_numpy, inputs.values()))
    for handle in handles:
        handle.remove()
    results = result if isinstance(result, (tuple, list)) else (result,)
    return [array(one) for one in results if isinstance(one, torch.Tensor)]
"""
"""See conformance.adapters.api.models.capture."""

"""Script of the reader of PyTorch models. It runs without the suite, see conformance.adapters.api.model_reader.

The module that a function returns is called once, in evaluation mode, without gradients. Every call of a function with
a window is recorded, whether a layer or the forward method makes it. In an exported program, the calls are the nodes of
its graph, which is not run.
"""

import os
import warnings
import zipfile

import torch
from extraction import first_channels, first_line
from torch import nn
from torch.overrides import TorchFunctionMode

WEIGHT_CHANNELS = (4, 4)
MAX_FILE_BYTES = 16 << 30
MAX_INPUT_CELLS = 1 << 28
PADDED = ("input", "kernel_size", "stride", "padding")
POOL = (*PADDED, "dilation", "ceil_mode", "return_indices")
AVERAGE = (*PADDED, "ceil_mode", "count_include_pad", "divisor_override")
NORM = ("input", "norm_type", "kernel_size", "stride", "ceil_mode")
CONVOLUTION = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
TRANSPOSED = ("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation")
ADAPTIVE = ("input", "output_size", "return_indices")
SIGNATURES = {
    "max_pool": POOL, "max_pool_with_indices": POOL, "avg_pool": AVERAGE, "lp_pool": NORM, "conv": CONVOLUTION,
    "conv_transpose": TRANSPOSED, "adaptive_avg_pool": ADAPTIVE, "adaptive_max_pool": ADAPTIVE,
    "pad": ("input", "pad", "mode", "value"),
}  # fmt: skip
"""The arguments of each function, in the order of their positions."""
UNREAD = {
    "fractional_max_pool": "the random samples of fractional pooling are not read",
    "max_unpool": "the indices of unpooling are not read",
    "unfold": "the suite has no unfold", "fold": "the suite has no fold",
    "quantized": "quantized layers are not checked",
}  # fmt: skip
MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
ALIASES = {"constant_pad_nd": ("pad", "constant"), "reflection_pad": ("pad", "reflect"),
           "replication_pad": ("pad", "replicate")}  # fmt: skip


class Problem(Exception):
    """A call that cannot be checked."""


def operator_of(name):
    """Return the operator of a function, whose name may end with its rank: `conv2d`, `max_pool2d_with_indices`."""
    base = name.lstrip("_")
    for rank in ("1d", "2d", "3d"):
        base = base.replace(rank, "")
    base = base[: -len("_padding")] if base == "conv_padding" else base
    return "adaptive_max_pool" if base == "adaptive_max_pool_with_indices" else base


def read_model(path, model):
    """Add the nodes of a program of torch.export. Its weights are loaded, its graph is not run."""
    size = os.path.getsize(path)
    if not zipfile.is_zipfile(path):
        raise model.error("not a program of torch.export: it is no zip archive")
    unpacked = sum(one.file_size for one in zipfile.ZipFile(path).infolist())
    if max(size, unpacked) > MAX_FILE_BYTES:
        raise model.error(f"it has {max(size, unpacked)} bytes, the limit is {MAX_FILE_BYTES}")
    # With weights_only, no object of another class is created from a pickle in the archive.
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    try:
        program = torch.export.load(path)
    except Exception as error:
        raise model.error(f"not a program of torch.export: {first_line(error)}") from None
    arrays = {**program.state_dict, **program.constants}
    names = {**program.graph_signature.inputs_to_parameters, **program.graph_signature.inputs_to_buffers}
    parameters = {
        node.name: arrays.get(names.get(node.name)) for node in program.graph.nodes if node.op == "placeholder"
    }
    for node in program.graph.nodes:
        if node.op == "call_function":
            function = str(getattr(node.target, "_opname", getattr(node.target, "__name__", node.target)))
            record(model, module_name(node), function, node.args, node.kwargs, lambda one: fake(one, parameters))


def module_name(node):
    """Return the path of the module that made a node, or the name of the node."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return stack[-1][0] if stack and stack[-1][0] else node.name


def fake(value, parameters):
    """Return the tensor of a node: a weight of the program, or one without data that has the shape."""
    if isinstance(value, torch.fx.Node):
        weight = parameters.get(value.name)
        return value.meta.get("val") if weight is None else weight
    return value


def read_object(module, model):
    """Call a module with zeros, and record the calls."""
    if not isinstance(module, nn.Module):
        raise model.error(f"it returned {type(module).__name__}, not an nn.Module")
    if not model.inputs:
        raise model.error("needs --input with the shape of its input, such as 1x3x224x224")
    module.eval()
    recorder = Recorder(module, model)
    inputs = [example(shape, module, model) for shape in model.inputs.values()]
    named = all(name.isidentifier() for name in model.inputs)
    arguments = {} if not named else dict(zip(model.inputs, inputs))
    try:
        with torch.no_grad(), warnings.catch_warnings(), recorder:
            warnings.simplefilter("ignore")
            module(**arguments) if named else module(*inputs)
    except Exception as error:
        raise model.error(f"its call failed: {type(error).__name__}: {first_line(error)}") from None


def example(shape, module, model):
    """Return an input of zeros in the dtype of the module."""
    cells = 1
    for extent in shape:
        cells *= extent
    if cells > MAX_INPUT_CELLS:
        raise model.error(f"--input: {list(shape)} has more than {MAX_INPUT_CELLS} cells")
    dtypes = [one.dtype for one in module.parameters() if one.is_floating_point()]
    return torch.zeros(shape, dtype=dtypes[0] if dtypes else torch.float32)


class Recorder(TorchFunctionMode):
    """Records the calls of functions with windows, with the path of the module that makes them."""

    def __init__(self, module, model):
        super().__init__()
        self.model, self.stack = model, [""]
        for path, one in module.named_modules():
            one.register_forward_pre_hook(lambda _module, _inputs, path=path: self.stack.append(path))
            one.register_forward_hook(lambda _module, _inputs, _output: self.stack.pop() and None, always_call=True)
            kind = type(one).__name__
            if not list(one.children()) and not kind.startswith(WINDOW_LAYERS):
                settings = {name: getattr(one, name) for name in SETTINGS if hasattr(one, name)}
                model.add_other(kind, **settings)

    def __torch_function__(self, function, _types, args=(), kwargs=None):
        """Record a call and make it."""
        name = getattr(function, "__name__", "")
        if operator_of(name) in SIGNATURES or operator_of(name) in UNREAD or operator_of(name) in ALIASES:
            record(self.model, self.stack[-1] or name, name, args, kwargs or {}, lambda value: value)
        return function(*args, **(kwargs or {}))


SETTINGS = ("eps", "momentum", "negative_slope")
WINDOW_LAYERS = ("Conv", "MaxPool", "AvgPool", "LPPool", "Adaptive", "ZeroPad", "ConstantPad", "ReflectionPad",
                 "ReplicationPad", "CircularPad", "Fractional", "MaxUnpool", "Identity")  # fmt: skip


def record(model, name, function, args, kwargs, tensor_of):
    """Add a call with a window to the model; other functions are left out."""
    operator = operator_of(function)
    if operator in UNREAD:
        model.add_problem(name, function, UNREAD[operator])
        return
    operator, mode = ALIASES.get(operator, (operator, None))
    if operator not in SIGNATURES:
        return
    # The functions for one padding mode have no argument for it.
    names = ("input", "pad", "value") if mode else SIGNATURES[operator]
    call = {**dict(zip(names, args)), **kwargs, **({"mode": mode} if mode else {})}
    call = {key: tensor_of(value) for key, value in call.items()}
    try:
        add_call(model, name, operator, call, function)
    except Problem as problem:
        model.add_problem(name, function, problem)


def add_call(model, name, operator, call, function):
    """Add a call with known arguments."""
    x = call["input"] if "input" in call else call.get("self")
    shape = [int(extent) for extent in x.shape]
    dtype = str(x.dtype).replace("torch.", "")
    fields = {"shape": shape, "dtype": dtype, "source": function}
    if operator == "pad":
        add_pad(model, name, call, shape, fields)
        return
    rank = int(next((mark for mark in function if mark.isdigit()), len(shape) - 2))
    if len(shape) == rank + 1:  # without a batch
        fields["shape"] = shape = [1, *shape]
    parameters = PARAMETERS[operator](call, rank, shape)
    if operator in ("conv", "conv_transpose"):
        fields |= weights_of(call)
    elif call.get("return_indices") or operator.endswith("indices"):
        if operator.startswith("adaptive"):
            raise Problem("the indices of adaptive pooling are not checked")
        indices = {**parameters, "output": "indices"}
        model.add(f"{name} (indices)", "max_pool_with_indices", indices, **fields)
    if operator.startswith("adaptive") and set(parameters["output_size"]) == {1}:
        operator, parameters = f"global_{operator[9:]}", {}
    model.add(name, operator.replace("_with_indices", ""), parameters, **fields)


def sizes(value, rank, default=None):
    """Return one number for each axis."""
    if value is None or (isinstance(value, (list, tuple)) and not value):
        value = default
    if isinstance(value, int):
        return [value] * rank
    numbers = [int(one) for one in value]
    return numbers * rank if len(numbers) == 1 else numbers


def pairs(value, rank):
    """Return the padding of both ends of each axis."""
    return [[one, one] for one in sizes(value, rank, 0)]


def pooling_parameters(call, rank, _shape):
    """Return the parameters of pooling with a window."""
    window = sizes(call["kernel_size"], rank)
    return {
        "window": window,
        "stride": sizes(call.get("stride"), rank, window),
        "padding": pairs(call.get("padding", 0), rank),
        "rounding": "ceil" if call.get("ceil_mode") else "floor",
    }


def maximum_parameters(call, rank, shape):
    """Return the parameters of max pooling."""
    return {**pooling_parameters(call, rank, shape), "dilation": sizes(call.get("dilation", 1), rank)}


def average_parameters(call, rank, shape):
    """Return the parameters of average pooling. PyTorch counts padding unless it is told otherwise."""
    found = {**pooling_parameters(call, rank, shape), "count_include_pad": bool(call.get("count_include_pad", True))}
    divisor = call.get("divisor_override")
    return {**found, "divisor": int(divisor)} if divisor else found


def norm_parameters(call, rank, shape):
    """Return the parameters of Lp pooling."""
    power = float(call["norm_type"])
    return {**pooling_parameters(call, rank, shape), "p": int(power) if power.is_integer() else power}


def adaptive_parameters(call, rank, shape):
    """Return the parameters of adaptive pooling; None leaves an axis as it is."""
    given = call["output_size"]
    given = [given] * rank if given is None or isinstance(given, int) else list(given)
    given = given * rank if len(given) == 1 else given
    return {"output_size": [shape[2 + axis] if one is None else int(one) for axis, one in enumerate(given)]}


def convolution_parameters(call, rank, _shape):
    """Return the parameters of a convolution. PyTorch puts the odd cell of `same` after the input."""
    padding = call.get("padding", 0)
    dilation = sizes(call.get("dilation", 1), rank)
    if isinstance(padding, str):
        window = list(call["weight"].shape[2:])
        totals = [(size - 1) * step if padding == "same" else 0 for size, step in zip(window, dilation)]
        padding = [[total // 2, total - total // 2] for total in totals]
    else:
        padding = pairs(padding, rank)
    stride = sizes(call.get("stride", 1), rank)
    return {"stride": stride, "padding": padding, "dilation": dilation, "groups": int(call.get("groups", 1))}


def transposed_parameters(call, rank, shape):
    """Return the parameters of a transposed convolution."""
    found = convolution_parameters(call, rank, shape)
    return {**found, "output_padding": sizes(call.get("output_padding", 0), rank)}


PARAMETERS = {
    "max_pool": maximum_parameters, "max_pool_with_indices": maximum_parameters, "avg_pool": average_parameters,
    "lp_pool": norm_parameters, "adaptive_avg_pool": adaptive_parameters, "adaptive_max_pool": adaptive_parameters,
    "conv": convolution_parameters, "conv_transpose": transposed_parameters,
}  # fmt: skip


def weights_of(call):
    """Return the shape and the first channels of the weights."""
    kernel, bias = call["weight"], call.get("bias")
    found = {"kernel": [int(extent) for extent in kernel.shape], "bias": bias is not None, "weights": {}}
    arrays = {"kernel": kernel} if bias is None else {"kernel": kernel, "bias": bias}
    if all(isinstance(one, torch.Tensor) and type(one).__name__ != "FakeTensor" for one in arrays.values()):
        found["weights"] = {key: first_channels(numbers_of(one), WEIGHT_CHANNELS) for key, one in arrays.items()}
    return found


def numbers_of(tensor):
    """Return the first channels of a tensor as a NumPy array; bfloat16 becomes float32."""
    part = tensor.detach()[: WEIGHT_CHANNELS[0]]
    return part.float().numpy() if part.dtype == torch.bfloat16 else part.numpy()


def add_pad(model, name, call, shape, fields):
    """Add F.pad if it pads spatial axes of (n, c, *spatial)."""
    flat = [int(one) for one in call["pad"]]
    axes = [[flat[position], flat[position + 1]] for position in range(0, len(flat), 2)][::-1]
    found = [[0, 0]] * (len(shape) - len(axes)) + axes
    if not any(map(any, found)):
        return
    if len(shape) < 3 or any(map(any, found[:2])):
        model.add_other("pad of batch or channels")
        return
    mode = MODES.get(call.get("mode", "constant"))
    if mode is None:
        raise Problem(f"unknown padding mode {call['mode']!r}")
    parameters = {"pads": found[2:], "mode": mode}
    if mode == "constant":
        value = float(call.get("value") or 0)
        parameters["value"] = int(value) if value.is_integer() else value
    model.add(name, "pad", parameters, **fields)

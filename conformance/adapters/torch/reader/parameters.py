"""Parameters and weights of a call, in the terms of the suite."""

import torch
from extraction import first_channels

WEIGHT_CHANNELS = (4, 4)


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
    """Return the parameters of average pooling. PyTorch counts padding by default."""
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

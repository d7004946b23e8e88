"""Calls of functions with windows: their arguments, and the layers that they are."""

from .parameters import PARAMETERS, weights_of

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
COMPUTED_PADDING = "Same"
"""End of the names of classes of timm, such as Conv2dSame, that compute their padding from the size of the input."""
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


def record(model, name, function, args, kwargs, tensor_of, layer=""):
    """Add a call with a window to the model; other functions are left out. layer: the class that makes the call."""
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
        add_call(model, name, operator, call, function, layer)
    except Problem as problem:
        model.add_problem(name, function, problem)


def add_call(model, name, operator, call, function, layer):
    """Add a call with known arguments."""
    x = call["input"] if "input" in call else call.get("self")
    shape = [int(extent) for extent in x.shape]
    dtype = str(x.dtype).replace("torch.", "")
    fields = {"shape": shape, "dtype": dtype, "source": function}
    if operator == "pad" and layer.endswith(COMPUTED_PADDING):
        fields["padding_word"] = "same"
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

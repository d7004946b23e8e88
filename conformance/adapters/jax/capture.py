"""Record the window operators of a function of JAX: convolutions of `jax.lax`, pooling of Flax, padding, products."""

CAPTURE = '''\
import jax
from flax import linen, nnx
from flax.linen import pooling


def array(value):
    return np.asarray(value)


def first(value):
    """Channels first."""
    return np.moveaxis(array(value), -1, 1)


def record_conv(recorder, args, kwargs, result):
    names = ("lhs", "rhs", "window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers",
             "feature_group_count", "batch_group_count")
    given = dict(zip(names, args), **kwargs)
    lhs, rhs = given["lhs"], given["rhs"]
    axes = lhs.ndim - 2
    layout = jax.lax.conv_dimension_numbers(lhs.shape, rhs.shape, given.get("dimension_numbers"))
    x, kernel, y = (array(lhs).transpose(layout.lhs_spec), array(rhs).transpose(layout.rhs_spec),
                    array(result).transpose(layout.out_spec))
    stride, dilation = numbers(given["window_strides"], axes), numbers(given.get("rhs_dilation") or 1, axes)
    padding, groups = given["padding"], given.get("feature_group_count", 1)
    spread = numbers(given.get("lhs_dilation") or 1, axes)
    if given.get("batch_group_count", 1) != 1 or (max(spread) > 1 and max(stride) > 1):
        return
    if isinstance(padding, str):
        padding = named_pads(padding, x.shape[2:], kernel.shape[2:], stride, dilation)
    padding = [[int(end) for end in one] for one in padding]
    if max(spread) == 1:
        parameters = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        recorder.add("conv", parameters, {"x": x, "kernel": kernel}, y)
        return
    # A convolution of an input with gaps is a transposed convolution with the flipped kernel.
    flipped = np.flip(kernel, tuple(range(2, kernel.ndim)))
    kernel = np.concatenate([part.swapaxes(0, 1) for part in np.split(flipped, groups)])
    record_transposed(recorder, x, kernel, y, spread, padding, dilation, groups)


def record_transposed(recorder, x, kernel, y, stride, padding, dilation, groups):
    reach = [rate * (extent - 1) + 1 for rate, extent in zip(dilation, kernel.shape[2:])]
    ends = [(one - 1 - before, one - 1 - after) for one, (before, after) in zip(reach, padding)]
    parameters = {
        "stride": stride,
        "padding": [[before, max(after, 0)] for before, after in ends],
        "output_padding": [max(-after, 0) for _before, after in ends],
        "dilation": dilation,
        "groups": groups,
    }
    recorder.add("conv_transpose", parameters, {"x": x, "kernel": kernel}, y)


def record_conv_transpose(recorder, args, kwargs, result):
    names = ("lhs", "rhs", "strides", "padding", "rhs_dilation", "dimension_numbers", "transpose_kernel")
    given = dict(zip(names, args), **kwargs)
    lhs, rhs = given["lhs"], given["rhs"]
    axes = lhs.ndim - 2
    spatial = "DHW"[3 - axes:]
    numbers_of_layout = given.get("dimension_numbers") or ("N" + spatial + "C", spatial + "IO", "N" + spatial + "C")
    layout = jax.lax.conv_dimension_numbers(lhs.shape, rhs.shape, numbers_of_layout)
    x, kernel, y = (array(lhs).transpose(layout.lhs_spec), array(rhs).transpose(layout.rhs_spec),
                    array(result).transpose(layout.out_spec))
    stride, dilation = numbers(given["strides"], axes), numbers(given.get("rhs_dilation") or 1, axes)
    padding = given["padding"]
    if isinstance(padding, str):
        found = []
        for rate, extent, step in zip(dilation, kernel.shape[2:], stride):
            reach = rate * (extent - 1) + 1
            if padding.upper() == "SAME":
                total = reach + step - 2
                before = reach - 1 if step > reach - 1 else -(-total // 2)
            else:
                total, before = reach + step - 2 + max(reach - step, 0), reach - 1
            found.append([before, total - before])
        padding = found
    padding = [[int(end) for end in one] for one in padding]
    # With transpose_kernel, the layout of the kernel is that of the convolution whose gradient this is.
    if not given.get("transpose_kernel"):
        kernel = np.flip(kernel, tuple(range(2, kernel.ndim))).swapaxes(0, 1)
    record_transposed(recorder, x, kernel, y, stride, padding, dilation, 1)


def record_pool(operator):
    def record(recorder, args, kwargs, result):
        given = dict(zip(("inputs", "window_shape", "strides", "padding", "count_include_pad"), args), **kwargs)
        window = [int(one) for one in given["window_shape"]]
        axes = len(window)
        x, y = array(given["inputs"]), array(result)
        if x.ndim == axes + 1:
            x, y = x[None], y[None]
        if x.ndim != axes + 2:
            return
        # Flax moves a window by one cell if no stride is given.
        stride = numbers(given.get("strides") or 1, axes)
        padding = given.get("padding", "VALID")
        if isinstance(padding, str):
            padding = named_pads(padding, x.shape[1:-1], window, stride, [1] * axes)
        elif isinstance(padding, int):
            padding = pairs(padding, axes)
        parameters = {"window": window, "stride": stride, "padding": [[int(end) for end in one] for one in padding]}
        if operator == "avg_pool":
            parameters["count_include_pad"] = bool(given.get("count_include_pad", True))
        recorder.add(operator, parameters, {"x": first(x)}, first(y))

    return record


def record_pad(recorder, args, kwargs, result):
    given = dict(zip(("array", "pad_width", "mode"), args), **kwargs)
    x = given["array"]
    width = np.asarray(given["pad_width"])
    modes = {"constant": "constant", "reflect": "reflect", "edge": "edge", "symmetric": "symmetric", "wrap": "wrap"}
    mode = given.get("mode", "constant")
    if getattr(x, "ndim", 0) < 3 or not isinstance(mode, str) or mode not in modes:
        return
    width = np.broadcast_to(width, (x.ndim, 2)).tolist()
    value = given.get("constant_values", 0)
    if width[0] != [0, 0] or width[-1] != [0, 0] or np.ndim(value):
        return
    parameters = {"pads": width[1:-1], "mode": modes[mode]}
    if mode == "constant":
        parameters["value"] = float(value)
    recorder.add("pad", parameters, {"x": first(x)}, first(result))


def record_product(recorder, args, kwargs, result):
    x, kernel = args[:2]
    if np.ndim(kernel) == 2 and np.ndim(x) > 1 and x.shape[-1] == kernel.shape[0]:
        recorder.add_dense(array(x), array(kernel).T, None, array(result))


def record_dot_general(recorder, args, kwargs, result):
    names = ("lhs", "rhs", "dimension_numbers")
    given = dict(zip(names, args), **kwargs)
    x, kernel = given["lhs"], given["rhs"]
    (contracted, batch) = given["dimension_numbers"]
    if not any(map(len, batch)) and [list(one) for one in contracted] == [[x.ndim - 1], [0]]:
        record_product(recorder, (x, kernel), {}, result)


def record_linear(recorder, args, kwargs, result):
    layer, x = args[:2]
    bias = None if layer.bias is None else array(layer.bias[...])
    recorder.add_dense(array(x), array(layer.kernel[...]).T, bias, array(result))


PATCHES = [
    (jax.lax, "dot_general", record_dot_general),
    (jax.numpy, "dot", record_product),
    (jax.numpy, "matmul", record_product),
    (type(jax.numpy.zeros(1)), "__matmul__", record_product),
    (nnx.Linear, "__call__", record_linear),
    (jax.lax, "conv_general_dilated", record_conv),
    (jax.lax, "conv_transpose", record_conv_transpose),
    (jax.numpy, "pad", record_pad),
    *((place, name + "_pool", record_pool(name + "_pool"))
      for place in (linen, pooling, nnx) for name in ("max", "min", "avg") if hasattr(place, name + "_pool")),
]


def build_model(factory, weights):
    return call_factory(factory, weights)


def model_weights(model):
    return {}


def name_layers(recorder):
    def interceptor(next_function, args, kwargs, context):
        recorder.path.append(".".join(map(str, context.module.path)))
        try:
            return next_function(*args, **kwargs)
        finally:
            recorder.path.pop()

    return linen.intercept_methods(interceptor)


def run_model(model, inputs, recorder):
    # Channels last. An array without spatial axes has none.
    given = [jax.numpy.asarray(np.moveaxis(one, 1, -1) if one.ndim > 2 else one) for one in inputs.values()]
    with jax.disable_jit(), name_layers(recorder), patched(recorder, PATCHES):
        result = model(*given)
    return [array(one) for one in jax.tree_util.tree_leaves(result)]
'''
"""See conformance.adapters.api.models.capture."""

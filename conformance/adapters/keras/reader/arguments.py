"""Arguments of recorded calls, in the terms of the suite."""

import channels_last as last

from .engine import keras


def is_first(given, layers=()):
    """Whether the channels come first, as the call or the innermost layer says."""
    own = getattr(layers[-1], "data_format", None) if layers else None
    return (given.get("data_format") or own or keras.config.image_data_format()) == "channels_first"


def fields_of(x, source, given):
    """Return the shape (n, c, *spatial) and the dtype of an input."""
    shape = [int(extent) for extent in x.shape]
    shape = shape if is_first(given) else last.channels_first(shape)
    return {"shape": shape, "dtype": keras.backend.standardize_dtype(x.dtype), "source": source}


def numbers(value, axes):
    """Return one number for each axis."""
    value = [value] * axes if isinstance(value, int) else [int(one) for one in value]
    return value * axes if len(value) == 1 else value


def values_of(weight):
    """Return the values of a weight, None without any."""
    value = weight.value if isinstance(weight, keras.Variable) else weight
    try:
        return keras.ops.convert_to_numpy(value)
    except Exception:  # a kernel that the model computes
        return None


def bias_of(recorder, kernel):
    """Return the bias of the layer that has a kernel, None without one."""
    layer = recorder.stack[-1] if recorder.stack else None
    if layer is None or not getattr(layer, "use_bias", False) or getattr(layer, "depthwise_kernel", None) is kernel:
        return None
    return layer.bias


def dense_shape(kernel):
    """Return the shape (out, in, *window) of a kernel (*window, in, out)."""
    return [kernel[-1], kernel[-2], *kernel[:-2]]

"""Record the window operators of a Keras model: the functions with which Keras calls its engine."""

CAPTURE = '''\
import keras
from keras.src import backend as engine


def array(value):
    return keras.ops.convert_to_numpy(value)


def has_numbers(value):
    """Whether an array has numbers. The arrays of a function that an engine compiles have none."""
    try:
        array(value)
    except (TypeError, NotImplementedError):
        return False
    return True


@contextlib.contextmanager
def without_compiler():
    """Run compiled functions call by call, so that their calls have numbers."""
    if keras.config.backend() == "jax":
        import jax

        with jax.disable_jit():
            yield
    elif keras.config.backend() == "tensorflow":
        import tensorflow

        was_eager = tensorflow.config.functions_run_eagerly()
        tensorflow.config.run_functions_eagerly(True)
        try:
            yield
        finally:
            tensorflow.config.run_functions_eagerly(was_eager)
    else:
        yield


def is_first(given):
    return (given.get("data_format") or keras.config.image_data_format()) == "channels_first"


def first(value, given):
    """Channels first."""
    value = array(value)
    return value if is_first(given) else np.moveaxis(value, -1, 1)


def channels_first_kernel(kernel):
    """(*window, in, out) to (out, in, *window)."""
    return np.moveaxis(array(kernel), (-1, -2), (0, 1))


def padded(name, x, window, stride, dilation):
    """The pads of a name. A causal axis has all of them before it."""
    pads = named_pads("SAME" if name == "same" else "VALID", x.shape[2:], window, stride, dilation)
    if name == "causal":
        pads = [[rate * (extent - 1), 0] for rate, extent in zip(dilation, window)]
    return pads


def record_conv(recorder, given, result):
    x = first(given["inputs"], given)
    kernel = channels_first_kernel(given["kernel"])
    axes = x.ndim - 2
    stride, dilation = numbers(given.get("strides", 1), axes), numbers(given.get("dilation_rate", 1), axes)
    parameters = {
        "stride": stride,
        "padding": padded(given.get("padding", "valid"), x, kernel.shape[2:], stride, dilation),
        "dilation": dilation,
        "groups": x.shape[1] // kernel.shape[1],
    }
    recorder.add("conv", parameters, {"x": x, "kernel": kernel}, first(result, given))


def record_depthwise(recorder, given, result):
    x = first(given["inputs"], given)
    kernel = array(given["kernel"])
    window, (channels, multiplier) = kernel.shape[:-2], kernel.shape[-2:]
    axes = len(window)
    kernel = np.moveaxis(kernel.reshape(*window, 1, channels * multiplier), (-1, -2), (0, 1))
    stride, dilation = numbers(given.get("strides", 1), axes), numbers(given.get("dilation_rate", 1), axes)
    parameters = {
        "stride": stride,
        "padding": padded(given.get("padding", "valid"), x, window, stride, dilation),
        "dilation": dilation,
        "groups": channels,
    }
    recorder.add("conv", parameters, {"x": x, "kernel": kernel}, first(result, given))


def record_transposed(recorder, given, result):
    x, y = first(given["inputs"], given), first(result, given)
    kernel = channels_first_kernel(given["kernel"])
    axes = x.ndim - 2
    stride, dilation = numbers(given.get("strides", 1), axes), numbers(given.get("dilation_rate", 1), axes)
    reach = [rate * (extent - 1) + 1 for rate, extent in zip(dilation, kernel.shape[2:])]
    # Cells of the full result that are cropped; a negative number is added after the axis.
    crops = [(n - 1) * s + r - out for n, s, r, out in zip(x.shape[2:], stride, reach, y.shape[2:])]
    same = given.get("padding", "valid") == "same"
    before = [max(crop, 0) // 2 if same else 0 for crop in crops]
    parameters = {
        "stride": stride,
        "padding": [[one, max(crop, 0) - one] for one, crop in zip(before, crops)],
        "output_padding": [max(-crop, 0) for crop in crops],
        "dilation": dilation,
        "groups": 1,
    }
    recorder.add("conv_transpose", parameters, {"x": x, "kernel": kernel}, y)


def record_pool(operator):
    def record(recorder, given, result):
        x = first(given["inputs"], given)
        axes = x.ndim - 2
        window = numbers(given["pool_size"], axes)
        stride = given.get("strides")
        stride = window if stride is None else numbers(stride, axes)
        padding = padded(given.get("padding", "valid"), x, window, stride, [1] * axes)
        parameters = {"window": window, "stride": stride, "padding": padding}
        if operator == "avg_pool":
            parameters["count_include_pad"] = False
        recorder.add(operator, parameters, {"x": x}, first(result, given))

    return record


def record_pad(recorder, given, result):
    x = given["x"]
    width = [[int(end) for end in one] for one in given["pad_width"]]
    mode = given.get("mode", "constant")
    modes = {"constant": "constant", "reflect": "reflect", "symmetric": "symmetric"}
    channel = 1 if keras.config.image_data_format() == "channels_first" else -1
    if len(x.shape) < 3 or mode not in modes or width[0] != [0, 0] or width[channel] != [0, 0]:
        return
    pads = width[2:] if channel == 1 else width[1:-1]
    parameters = {"pads": pads, "mode": modes[mode]}
    if mode == "constant":
        parameters["value"] = float(given.get("constant_values") or 0)
    recorder.add("pad", parameters, {"x": first(x, {})}, first(result, {}))


def record_product(recorder, given, result):
    x, kernel = given["x1"], given["x2"]
    if len(kernel.shape) == 2 and len(x.shape) > 1:
        recorder.add_dense(array(x), array(kernel).T, None, array(result))


def named(names, record):
    """A record function that receives all arguments by name."""

    def call(recorder, args, kwargs, result):
        if has_numbers(result):
            record(recorder, dict(zip(names, args), **kwargs), result)

    return call


CONVOLUTION = ("inputs", "kernel", "strides", "padding", "data_format", "dilation_rate")
TRANSPOSED = ("inputs", "kernel", "strides", "padding", "output_padding", "data_format", "dilation_rate")
POOLING = ("inputs", "pool_size", "strides", "padding", "data_format")
PATCHES = [
    (engine.nn, "conv", named(CONVOLUTION, record_conv)),
    (engine.nn, "depthwise_conv", named(CONVOLUTION, record_depthwise)),
    (engine.nn, "conv_transpose", named(TRANSPOSED, record_transposed)),
    (engine.nn, "max_pool", named(POOLING, record_pool("max_pool"))),
    (engine.nn, "average_pool", named(POOLING, record_pool("avg_pool"))),
    (engine.numpy, "matmul", named(("x1", "x2"), record_product)),
    (engine.numpy, "pad", named(("x", "pad_width", "mode", "constant_values"), record_pad)),
]


def build_model(factory, weights):
    return call_factory(factory, weights)


def model_weights(model):
    return {one.path: array(one) for one in model.weights} if isinstance(model, keras.Model) else {}


def run_model(model, inputs, recorder):
    is_first = keras.config.image_data_format() == "channels_first"
    arrays = [one if is_first or one.ndim < 3 else np.moveaxis(one, 1, -1) for one in inputs.values()]
    given = [keras.ops.convert_to_tensor(np.ascontiguousarray(one)) for one in arrays]
    # A functional model takes several inputs as one list.
    is_functional = len(given) > 1 and len(getattr(model, "inputs", None) or ()) == len(given)
    call_layer = keras.layers.Layer.__call__

    def named_call(layer, *args, **kwargs):
        recorder.path.append(layer.name)
        try:
            return call_layer(layer, *args, **kwargs)
        finally:
            recorder.path.pop()

    try:
        keras.layers.Layer.__call__ = named_call
        with without_compiler(), patched(recorder, PATCHES):
            result = model(given) if is_functional else model(*given)
    finally:
        keras.layers.Layer.__call__ = call_layer
    results = result if isinstance(result, (tuple, list)) else (result,)
    return [array(one) for one in results]
'''
"""See conformance.adapters.api.models.capture."""

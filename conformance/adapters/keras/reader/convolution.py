"""Convolutions among the recorded calls."""

import channels_last as last

from .arguments import bias_of, dense_shape, fields_of, numbers, values_of


def record_convolution(reorder, shape_of):
    """Return a function that records a convolution: the order of its kernel's axes, and the shape of the kernel."""

    def record(recorder, name, source, given, _result):
        kernel, fields = given["kernel"], fields_of(given["inputs"], source, given)
        shape = shape_of([int(extent) for extent in kernel.shape])
        window, axes = shape[2:], len(shape) - 2
        stride, dilation = numbers(given.get("strides", 1), axes), numbers(given.get("dilation_rate", 1), axes)
        pads = last.named_pads(given.get("padding", "valid"), fields["shape"][2:], window, stride, dilation)
        fields["padding_word"] = given.get("padding", "valid").lower()
        groups = fields["shape"][1] // max(shape[1], 1)
        parameters = {"stride": stride, "padding": pads, "dilation": dilation, "groups": groups}
        add_convolution(recorder, name, "conv", parameters, (kernel, shape, reorder), fields)

    return record


def add_convolution(recorder, name, operator, parameters, kernel, fields):
    """Add a convolution; its weights are read after the symbolic call."""
    weight, shape, reorder = kernel
    bias = bias_of(recorder, weight)

    def add(model):
        values = values_of(weight)
        arrays = (None if values is None else reorder(values)), (None if bias is None else values_of(bias))
        found = last.weights(*arrays, has_bias=bias is not None)
        model.add(name, operator, parameters, kernel=shape, bias=bias is not None, weights=found, **fields)

    recorder.calls.append(add)


def record_separable(recorder, name, source, given, result):
    """Record a depthwise convolution and the convolution of single cells after it."""
    first = {**given, "kernel": given["depthwise_kernel"]}
    record_convolution(last.depthwise_first, last.depthwise_shape)(recorder, f"{name} (depthwise)", source, first, None)
    fields = fields_of(result, source, given)
    kernel = given["pointwise_kernel"]
    shape = dense_shape([int(extent) for extent in kernel.shape])
    fields["shape"][1] = shape[1]
    axes = len(shape) - 2
    parameters = {"stride": [1] * axes, "padding": [[0, 0]] * axes, "dilation": [1] * axes, "groups": 1}
    add_convolution(recorder, f"{name} (pointwise)", "conv", parameters, (kernel, shape, last.kernel_first), fields)


def record_transposed(recorder, name, source, given, result):
    """Record a transposed convolution. Its output size decides the padding."""
    kernel, fields = given["kernel"], fields_of(given["inputs"], source, given)
    outputs = fields_of(result, source, given)["shape"][2:]
    shape = [int(extent) for extent in kernel.shape]
    shape = [shape[-1], shape[-2], *shape[:-2]]
    axes = len(outputs)
    stride, dilation = numbers(given.get("strides", 1), axes), numbers(given.get("dilation_rate", 1), axes)
    sizes = (fields["shape"][2:], outputs, shape[2:], stride, dilation)
    pads = last.transposed_padding(given.get("padding", "valid"), *sizes)
    parameters = {"stride": stride, **pads, "dilation": dilation, "groups": 1}
    add_convolution(recorder, name, "conv_transpose", parameters, (kernel, shape, last.kernel_first), fields)

"""Pooling, padding and reductions among the recorded calls."""

import channels_last as last

from .arguments import fields_of, is_first, numbers

PAD_MODES = {"constant": "constant", "reflect": "reflect", "symmetric": "symmetric", "edge": "edge", "wrap": "wrap"}


def record_pool(operator):
    """Return a function that records pooling."""

    def record(recorder, name, source, given, _result):
        fields = fields_of(given["inputs"], source, given)
        axes = len(fields["shape"]) - 2
        window = numbers(given["pool_size"], axes)
        stride = window if given.get("strides") is None else numbers(given["strides"], axes)
        padding = given.get("padding", "valid")
        last.named_pads(padding, fields["shape"][2:], window, stride, [1] * axes)
        recorder.calls.append(lambda model: last.add_pool(model, name, operator, window, stride, padding, fields))

    return record


def record_adaptive(operator):
    """Return a function that records adaptive pooling."""

    def record(recorder, name, source, given, _result):
        fields = fields_of(given["inputs"], source, given)
        parameters = {"output_size": numbers(given["output_size"], len(fields["shape"]) - 2)}
        recorder.calls.append(lambda model: model.add(name, operator, parameters, **fields))

    return record


def record_pad(recorder, name, source, given, _result):
    """Record padding of spatial axes."""
    mode = PAD_MODES.get(given.get("mode", "constant"))
    if mode is None:
        raise last.Problem(f"unknown padding mode {given['mode']!r}")
    x, value = given["x"], given.get("constant_values")
    pads = [[int(end) for end in pair] for pair in given["pad_width"]]
    fields = fields_of(x, source, {"data_format": "channels_last"})
    fields["shape"] = [int(extent) for extent in x.shape]
    if is_first(given, recorder.stack) and len(pads) >= last.LEAST_RANK:
        # As if the channels were last.
        pads = [pads[0], *pads[2:], pads[1]]
        fields["shape"] = [fields["shape"][0], *fields["shape"][2:], fields["shape"][1]]
    value = 0 if value is None else float(value)
    recorder.calls.append(lambda model: last.add_pad(model, name, pads, mode, value, fields))


def record_reduction(kind):
    """Return a function that records the mean or maximum of all spatial axes; others are left out."""

    def record(recorder, name, source, given, _result):
        axes, rank = given.get("axis"), len(given["x"].shape)
        axes = [axes] if isinstance(axes, int) else axes
        if axes is None or rank < last.LEAST_RANK:
            return
        data_format = "channels_first" if is_first(given, recorder.stack) else "channels_last"
        spatial = range(2, rank) if data_format == "channels_first" else range(1, rank - 1)
        if sorted({int(axis) % rank for axis in axes}) != list(spatial):
            return
        fields = fields_of(given["x"], source, {"data_format": data_format})
        recorder.calls.append(lambda model: model.add(name, last.GLOBAL_OPERATORS[kind], {}, **fields))

    return record

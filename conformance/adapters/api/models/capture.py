"""Source text that runs a model in a worker and records each call of a window operator in it.

An adapter that can do this defines `CAPTURE` in its module `capture`: source text with these functions.

build_model(factory, weights)       returns the model; weights: those of another model by name, {} without one
model_weights(model)                returns the weights of the model by name, as NumPy arrays
run_model(model, inputs, recorder)  runs the model on arrays (n, c, *spatial), and returns its results as a list of
                                    NumPy arrays; inputs: the arrays by their names, or by their positions "0", "1", …

`run_model` calls `recorder.add` for each window operator, with the operator, the parameters and the layouts of the
reference, and `recorder.add_dense` for each product with a matrix of weights.
"""

from __future__ import annotations

from conformance.adapters.api.model_reader import FACTORY_FILE

RECORDER = (
    f"{FACTORY_FILE.read_text('utf-8')}\n\n"
    + '''\
import contextlib
import hashlib
import inspect
import json
import os
import sys


class Recorder:
    """Calls of window operators in one run of a model."""

    def __init__(self):
        self.calls = []
        self.path = []
        self.is_inside = False

    def add(self, operator, parameters, inputs, result):
        # Later operators of a model may change an array in its place, such as a ReLU.
        inputs = {**inputs, "x": np.array(inputs["x"])}
        result = np.array(result)
        self.calls.append((operator, self.path[-1] if self.path else "", parameters, inputs, result))

    def add_dense(self, x, kernel, bias, result):
        """A product with a matrix is a convolution of windows of one cell; x: (n, ..., in), kernel: (out, in)."""
        if not 1 <= x.ndim <= 5 or kernel.ndim != 2:
            return
        x, result = (one if one.ndim > 1 else one[None] for one in (x, result))
        x, result = (one[..., None] if one.ndim == 2 else np.moveaxis(one, -1, 1) for one in (x, result))
        inputs = {"x": x, "kernel": kernel.reshape(*kernel.shape, *[1] * (x.ndim - 2))}
        if bias is not None:
            inputs["bias"] = bias
        self.add("conv", {"dense": True}, inputs, result)


def recorded(recorder, function, record):
    """The function, whose calls are recorded, but no calls that it makes itself."""

    def call(*args, **kwargs):
        if recorder.is_inside:
            return function(*args, **kwargs)
        recorder.is_inside = True
        try:
            result = function(*args, **kwargs)
        finally:
            recorder.is_inside = False
        record(recorder, args, kwargs, result)
        return result

    return call


@contextlib.contextmanager
def patched(recorder, patches):
    """Record the calls of functions; patches: the module, the name and the record function of each."""
    originals = [(place, name, getattr(place, name)) for place, name, _ in patches]
    try:
        for (place, name, function), (_, _, record) in zip(originals, patches):
            setattr(place, name, recorded(recorder, function, record))
        yield
    finally:
        for place, name, function in originals:
            setattr(place, name, function)


def call_factory(factory, weights):
    """Call a factory: with the weights of the other model if it has a positional parameter without a default."""
    parameters = inspect.signature(factory).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [one for one in parameters if one.default is one.empty and one.kind in positional]
    return factory(weights) if needed else factory()


def pairs(value, axes):
    """One number, one number for each axis, or one pair for each axis, as pairs."""
    if isinstance(value, int):
        return [[value, value]] * axes
    value = [[int(one), int(one)] if not hasattr(one, "__len__") else [int(end) for end in one] for one in value]
    return value * axes if len(value) == 1 else value


def numbers(value, axes):
    """One number, or one for each axis, as a list."""
    value = [value] * axes if isinstance(value, int) else [int(one) for one in value]
    return value * axes if len(value) == 1 else value


def named_pads(name, extents, windows, strides, dilations):
    """Padding by name: SAME_LOWER adds the odd cell before an axis, SAME and SAME_UPPER after it."""
    found = []
    for extent, window, stride, dilation in zip(extents, windows, strides, dilations):
        total = 0
        if name.upper().startswith("SAME"):
            total = max((-(-extent // stride) - 1) * stride + dilation * (window - 1) + 1 - extent, 0)
        small, large = total // 2, total - total // 2
        found.append([large, small] if name.upper() == "SAME_LOWER" else [small, large])
    return found


def largest_change(first, second):
    """The largest absolute difference of two arrays, infinite if their shapes differ or one of them is not finite."""
    if first.shape != second.shape:
        return float("inf")
    if first.dtype.kind not in "fiu" or not first.size:
        return 0.0
    change = np.abs(first.astype(np.float64) - second.astype(np.float64))
    return float(change.max()) if np.isfinite(change).all() else 1e308


class StoredArrays:
    """Arrays of a reply. An array with the bytes of an earlier one, such as weights in each run, is stored once."""

    def __init__(self):
        self.arrays = []
        self.positions = {}

    def add(self, array):
        """Return the position and the shape of an array."""
        array = np.ascontiguousarray(array)
        key = array.dtype.str, hashlib.blake2b(array.reshape(-1).view(np.uint8)).digest()
        if key not in self.positions:
            self.positions[key] = len(self.arrays)
            self.arrays.append(array)
        return [self.positions[key], list(array.shape)]


def name_line(error, place):
    """Add the last line of the model's file in a traceback to the first line of the message, if it has one."""
    path = os.path.abspath(getattr(sys.modules.get(place), "__file__", None) or place)
    found, trace = None, error.__traceback__
    while trace is not None:
        if os.path.abspath(trace.tb_frame.f_code.co_filename) == path:
            found = f" ({os.path.basename(path)}, line {trace.tb_lineno})"
        trace = trace.tb_next
    if found and len(error.args) == 1 and isinstance(error.args[0], str) and str(error) == error.args[0]:
        first, end, rest = error.args[0].partition("\\n")
        error.args = (f"{first}{found}{end}{rest}",)


def capture(place, *given):
    """Run a model. The message of an exception names the line of the model's file."""
    try:
        return capture_runs(place, *given)
    except Exception as error:
        name_line(error, place)
        raise


def capture_runs(place, attribute, weight_names, input_names, arrays):
    """Run a model on pairs of inputs, and return a JSON header and the arrays of each run."""
    count = len(input_names)
    runs = (len(arrays) - len(weight_names)) // (2 * count)
    given = dict(zip(weight_names, arrays[len(arrays) - len(weight_names):]))
    model = build_model(load_factory(place, attribute), given)
    stored = StoredArrays()
    weights = {name: stored.add(value) for name, value in model_weights(model).items()}
    header = {"weights": weights, "runs": []}
    for number in range(runs):
        first, second = Recorder(), Recorder()
        pair = arrays[2 * count * number:2 * count * (number + 1)]
        results = run_model(model, dict(zip(input_names, pair[:count])), first)
        noisy = run_model(model, dict(zip(input_names, pair[count:])), second)
        calls = []
        for call, other in zip(first.calls, second.calls):
            operator, name, parameters, inputs, result = call
            calls.append({
                "operator": operator,
                "name": name,
                "parameters": parameters,
                "inputs": {key: stored.add(value) for key, value in inputs.items()},
                "result": stored.add(result),
                "noise": [largest_change(inputs["x"], other[3]["x"]), largest_change(result, other[4])],
            })
        header["runs"].append({
            "calls": calls,
            "results": list(map(stored.add, results)),
            "noise": [largest_change(one, other) for one, other in zip(results, noisy)],
        })
    return (np.frombuffer(json.dumps(header).encode(), np.uint8), *stored.arrays)
'''
)
"""Shared by the capture text of all adapters. The worker has NumPy as `np`."""

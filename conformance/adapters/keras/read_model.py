"""Script of the reader of Keras models. It runs without the suite, see conformance.adapters.api.model_reader.

The configuration of a `.keras` file may name only classes of Keras, and none that runs code of the file or opens other
files. The model is called once with symbolic arrays, which have shapes and no values. Every call of a function with
which Keras calls its engine and that has a window is recorded, whether a layer or a function makes it.
"""

import contextlib
import importlib.util
import json
import os
import re
import tempfile
import zipfile

ENGINES = {"tensorflow": "tensorflow", "jax": "jax", "torch": "torch"}
"""The engines of Keras and their packages, in the order in which an installed one is chosen."""
if "KERAS_BACKEND" not in os.environ:
    installed = [name for name, package in ENGINES.items() if importlib.util.find_spec(package)]
    os.environ["KERAS_BACKEND"] = (installed or ["tensorflow"])[0]

import channels_last as last  # noqa: E402 - the engine is chosen first
import h5py  # noqa: E402 - the engine is chosen first
import keras  # noqa: E402 - the engine is chosen first
from extraction import first_line  # noqa: E402 - the engine is chosen first
from keras.src import backend as engine  # noqa: E402 - the engine is chosen first

MAX_FILE_BYTES = 16 << 30
MAX_CONFIG_BYTES = 64 << 20
MAX_INPUT_CELLS = 1 << 28
CONFIG, WEIGHTS = "config.json", "model.weights.h5"
PLAIN_CLASSES = frozenset({"__keras_tensor__", "__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__"})
RUNS_CODE = frozenset({
    "Lambda", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "TFSMLayer", "__lambda__", "__typespec__",
    # These read the file of their vocabulary.
    "StringLookup", "IntegerLookup", "TextVectorization", "IndexLookup", "HashedCrossing", "FeatureSpace",
})  # fmt: skip
BASES = (keras.Operation, keras.initializers.Initializer, keras.regularizers.Regularizer,
         keras.constraints.Constraint, keras.dtype_policies.DTypePolicy)  # fmt: skip
PAD_MODES = {"constant": "constant", "reflect": "reflect", "symmetric": "symmetric", "edge": "edge", "wrap": "wrap"}


def read_model(path, model):
    """Add the layers of a `.keras` file."""
    if not zipfile.is_zipfile(path):
        raise model.error("not a .keras file: it is no zip archive")
    with zipfile.ZipFile(path) as archive:
        sizes = {one.filename: one.file_size for one in archive.infolist()}
        if CONFIG not in sizes:
            raise model.error(f"not a .keras file: it has no {CONFIG}")
        for name, limit in ((CONFIG, MAX_CONFIG_BYTES), (WEIGHTS, MAX_FILE_BYTES)):
            if sizes.get(name, 0) > limit:
                raise model.error(f"{name} has {sizes[name]} bytes, the limit is {limit}")
        try:
            config = json.loads(archive.read(CONFIG))
        except RecursionError:
            raise
        except (ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise model.error(f"{CONFIG}: {first_line(error)}") from None
        found = built_model(config, model)
        if WEIGHTS in sizes:
            load_weights(found, archive, model)
    read_object(found, model)


def built_model(config, model):
    """Return the model of a configuration, with weights of zeros."""
    if not isinstance(config, dict):
        raise model.error(f"{CONFIG}: it is {type(config).__name__}, not a model")
    check_config(config, model)
    # The arguments of compile() are not needed.
    config.pop("compile_config", None)
    try:
        found = keras.saving.deserialize_keras_object(config, safe_mode=True)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        raise model.error(f"{CONFIG}: its model cannot be built: {reason_of(error)}") from None
    if not isinstance(found, keras.Model):
        raise model.error(f"{CONFIG}: it is {type(found).__name__}, not a model")
    return found


def reason_of(error):
    """Return the message of an error without the lines and the colours that Keras adds."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()
    lines = [line for line in lines if line.strip() and not line.startswith("Exception encountered when calling")]
    return lines[0].strip()[:200] if lines else first_line(error)


def check_config(value, model):
    """Raise an error for a class that is not one of Keras; make all initializers zeros, which takes no time."""
    if isinstance(value, list):
        for one in value:
            check_config(one, model)
    if not isinstance(value, dict):
        return
    if "class_name" in value and value["class_name"] not in PLAIN_CLASSES:
        check_class(value, model)
    for key, inner in value.items():
        is_initializer = key.endswith("_initializer") and isinstance(inner, dict)
        if is_initializer:
            value[key] = {"module": "keras.initializers", "class_name": "Zeros", "config": {}, "registered_name": None}
        elif key != "compile_config":
            check_config(inner, model)


def check_class(value, model):
    """Raise an error for a class that is not one of Keras, or that runs code."""
    name, module, registered = value["class_name"], value.get("module"), value.get("registered_name")
    inner = value.get("config")
    layer = inner.get("name", "") if isinstance(inner, dict) else ""
    where = f"{CONFIG}: class_name {name!r}" + (f" of layer {layer!r}" if layer else "")
    if name in RUNS_CODE:
        raise model.error(f"{where}: such a layer runs code or opens files and is not read")
    if name == "function":
        if module != "builtins" or not isinstance(inner, str) or not hasattr(keras.activations, inner):
            raise model.error(f"{where}: a function other than the activations of Keras is not read")
        return
    if not isinstance(name, str) or not isinstance(module, str) or registered not in (None, name):
        raise model.error(f"{where}: custom classes are not read (registered_name {registered!r})")
    if module.split(".")[0] != "keras" or not issubclass(class_of(module, name), BASES):
        raise model.error(f"{where}: {module}.{name} is not a layer of Keras; custom classes are not read")


def class_of(module, name):
    """Return a class of Keras, `type` without one."""
    found = keras if not module.startswith("keras.src") else keras.src
    for part in [*module.split(".")[1 if found is keras else 2 :], name]:
        found = getattr(found, part, None)
    return found if isinstance(found, type) else type


def load_weights(found, archive, model):
    """Load the weights of the archive. A file that points to other files is refused."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = archive.extract(WEIGHTS, folder)
            with h5py.File(path, "r") as file:
                check_links(file, model, [0])
            found.load_weights(path)
        except (model.error, MemoryError, RecursionError):
            raise
        except Exception as error:
            raise model.error(f"{WEIGHTS}: {first_line(error)}") from None


def check_links(group, model, total):
    """Raise an error for links and for arrays that are stored in other files, or that are above the limit together."""
    for name in group:
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise model.error(f"{WEIGHTS}: {group.name}/{name} is a link, which is not followed")
        one = group[name]
        if isinstance(one, h5py.Group):
            check_links(one, model, total)
            continue
        if isinstance(one, h5py.Dataset):
            if one.external or one.is_virtual:
                raise model.error(f"{WEIGHTS}: {one.name} is stored in another file, which is not opened")
            total[0] += one.nbytes
            if total[0] > MAX_FILE_BYTES:
                raise model.error(f"{WEIGHTS}: its arrays have more than {MAX_FILE_BYTES} bytes")


def read_object(found, model):
    """Call a model with symbolic arrays, and record the calls with windows."""
    if not isinstance(found, keras.Model):
        raise model.error(f"it returned {type(found).__name__}, not a keras.Model")
    model.surface = f"keras-{keras.backend.backend()}.layers"
    inputs = symbolic_inputs(found, model)
    recorder = Recorder(found)
    try:
        if not found.built:
            # The first call of a model without a method `build` calls its layers once more, to create their weights.
            engine.compute_output_spec(recorder.first_call, inputs)
        with recorder.recording():
            engine.compute_output_spec(recorder.first_call, inputs)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        raise model.error(f"its call failed: {type(error).__name__}: {reason_of(error)}") from None
    for kind, settings in recorder.others:
        model.add_other(kind, **settings)
    for add in recorder.calls:
        add(model)


def symbolic_inputs(found, model):
    """Return the inputs of a model: their shapes are those of the user, or those of the model with one batch."""
    struct = getattr(found, "_inputs_struct", None)
    if struct is None and hasattr(found, "_functional"):
        struct = getattr(found._functional, "_inputs_struct", None)  # of a Sequential
    if struct is None:
        if not model.inputs:
            raise model.error("needs --input with the shape of its input, such as 1x224x224x3")
        given = [keras.KerasTensor(checked(shape, model)) for shape in model.inputs.values()]
        return given[0] if len(given) == 1 else given
    declared = keras.tree.flatten(struct)
    names = [one.name for one in declared]
    for name in model.inputs:
        if name not in names and not (name == "" and len(names) == 1):
            raise model.error(
                f"--input {name or 'without a name'}: the inputs of the model are {', '.join(names[:10])}"
            )

    def symbolic(one):
        shape = model.inputs.get(one.name, model.inputs.get("") if len(names) == 1 else None)
        if shape is not None and len(shape) != len(one.shape):
            raise model.error(f"--input {one.name}: the input has {len(one.shape)} axes")
        shape = shape or (one.shape[0] or 1, *one.shape[1:])
        if None in shape:
            raise model.error(f"the shape {one.shape} of its input {one.name!r} is not fixed: give it with --input")
        return keras.KerasTensor(checked(shape, model), one.dtype)

    return keras.tree.map_structure(symbolic, struct)


def checked(shape, model):
    """Return the shape of an input, unless it is too large."""
    cells = 1
    for extent in shape:
        cells *= extent
    if cells > MAX_INPUT_CELLS:
        raise model.error(f"the input {list(shape)} has more than {MAX_INPUT_CELLS} cells")
    return shape


SETTINGS = ("epsilon", "momentum", "negative_slope")


class Recorder:
    """Calls with windows in one call of a model, and the number of layers without one by their class."""

    def __init__(self, found):
        self.found, self.calls, self.others, self.stack, self.is_inside = found, [], [], [], False

    def first_call(self, inputs):
        """Call the model. On PyTorch, Keras calls it again if the first call fails."""
        self.calls, self.others, self.stack, self.is_inside = [], [], [], False
        return self.found(inputs, training=False)

    @contextlib.contextmanager
    def recording(self):
        """Record the calls of layers and of functions of the engine."""
        call_layer = keras.layers.Layer.__call__
        originals = [(place, name, getattr(place, name)) for place, name in PATCHES if hasattr(place, name)]

        def call(layer, *args, **kwargs):
            before = len(self.calls), len(self.others)
            self.stack.append(layer)
            try:
                return call_layer(layer, *args, **kwargs)
            finally:
                self.stack.pop()
                if before == (len(self.calls), len(self.others)) and not isinstance(layer, keras.layers.InputLayer):
                    settings = {name: getattr(layer, name) for name in SETTINGS if hasattr(layer, name)}
                    self.others.append((type(layer).__name__, settings))

        try:
            keras.layers.Layer.__call__ = call
            for place, name, function in originals:
                setattr(place, name, self.recorded(function, *PATCHES[place, name]))
            yield
        finally:
            keras.layers.Layer.__call__ = call_layer
            for place, name, function in originals:
                setattr(place, name, function)

    def recorded(self, function, names, record):
        """Return a function whose calls are recorded, but no calls that it makes itself."""

        def call(*args, **kwargs):
            if self.is_inside:
                return function(*args, **kwargs)
            self.is_inside = True
            try:
                result = function(*args, **kwargs)
            finally:
                self.is_inside = False
            given = {**dict(zip(names, args)), **kwargs}
            layers = [one for one in self.stack if one is not self.found]
            name, kind = "/".join(one.name for one in layers), function.__name__
            source = type(layers[-1]).__name__ if layers else kind
            try:
                record(self, name or kind, source, given, result)
            except last.Problem as problem:
                text = str(problem)
                self.calls.append(lambda model: model.add_problem(name or kind, source, text))
            return result

        return call


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


def record_convolution(reorder, shape_of):
    """Return a function that records a convolution: the order of its kernel's axes, and the shape of the kernel."""

    def record(recorder, name, source, given, _result):
        kernel, fields = given["kernel"], fields_of(given["inputs"], source, given)
        shape = shape_of([int(extent) for extent in kernel.shape])
        window, axes = shape[2:], len(shape) - 2
        stride, dilation = numbers(given.get("strides", 1), axes), numbers(given.get("dilation_rate", 1), axes)
        pads = last.named_pads(given.get("padding", "valid"), fields["shape"][2:], window, stride, dilation)
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


CONVOLUTION = ("inputs", "kernel", "strides", "padding", "data_format", "dilation_rate")
TRANSPOSED = ("inputs", "kernel", "strides", "padding", "output_padding", "data_format", "dilation_rate")
SEPARABLE = ("inputs", "depthwise_kernel", "pointwise_kernel", *CONVOLUTION[2:])
POOLING = ("inputs", "pool_size", "strides", "padding", "data_format")
ADAPTIVE = ("inputs", "output_size", "data_format")


def dense_shape(kernel):
    """Return the shape (out, in, *window) of a kernel (*window, in, out)."""
    return [kernel[-1], kernel[-2], *kernel[:-2]]


PATCHES = {
    (engine.nn, "conv"): (CONVOLUTION, record_convolution(last.kernel_first, dense_shape)),
    (engine.nn, "depthwise_conv"): (CONVOLUTION, record_convolution(last.depthwise_first, last.depthwise_shape)),
    (engine.nn, "separable_conv"): (SEPARABLE, record_separable),
    (engine.nn, "conv_transpose"): (TRANSPOSED, record_transposed),
    (engine.nn, "max_pool"): (POOLING, record_pool("max_pool")),
    (engine.nn, "average_pool"): (POOLING, record_pool("avg_pool")),
    (engine.nn, "adaptive_max_pool"): (ADAPTIVE, record_adaptive("adaptive_max_pool")),
    (engine.nn, "adaptive_average_pool"): (ADAPTIVE, record_adaptive("adaptive_avg_pool")),
    (engine.numpy, "pad"): (("x", "pad_width", "mode", "constant_values"), record_pad),
    (engine.numpy, "mean"): (("x", "axis", "keepdims"), record_reduction("mean")),
    (engine.numpy, "max"): (("x", "axis", "keepdims", "initial"), record_reduction("max")),
}
"""The functions of an engine that are recorded: the names of their arguments, and the function that records a call."""

"""Reader of Keras models. It runs without the suite, see conformance.adapters.api.model_reader.

The configuration of a `.keras` file may name only classes of Keras, and none that runs code of the file or opens other
files. The model is called once with symbolic arrays, which have shapes and no values. Every call of a function with
which Keras calls its engine and that has a window is recorded, whether a layer or a function makes it.
"""

import json
import zipfile

from extraction import first_line

from .engine import engine, keras
from .file import CONFIG, MAX_CONFIG_BYTES, MAX_FILE_BYTES, WEIGHTS, built_model, load_weights, reason_of
from .recorder import Recorder

MAX_INPUT_CELLS = 1 << 28


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

"""Files `.keras`: the model of a configuration that names only classes of Keras, and its weights."""

import re
import tempfile

import h5py
from extraction import first_line

from .engine import keras

MAX_FILE_BYTES = 16 << 30
MAX_CONFIG_BYTES = 64 << 20
CONFIG, WEIGHTS = "config.json", "model.weights.h5"
PLAIN_CLASSES = frozenset({"__keras_tensor__", "__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__"})
RUNS_CODE = frozenset({
    "Lambda", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "TFSMLayer", "__lambda__", "__typespec__",
    # These read the file of their vocabulary.
    "StringLookup", "IntegerLookup", "TextVectorization", "IndexLookup", "HashedCrossing", "FeatureSpace",
})  # fmt: skip
BASES = (keras.Operation, keras.initializers.Initializer, keras.regularizers.Regularizer,
         keras.constraints.Constraint, keras.dtype_policies.DTypePolicy)  # fmt: skip


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

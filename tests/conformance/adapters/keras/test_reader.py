"""The reader of Keras models. CONFORMANCE_KERAS_PYTHON is the path of a Python that has keras and an engine of it."""

import json
import os
import zipfile

import pytest

from conformance import ConformanceError
from tests.support.model_files import build, read, texts

PYTHON = os.environ.get("CONFORMANCE_KERAS_PYTHON", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="CONFORMANCE_KERAS_PYTHON is not set")
PRELUDE = """\
import importlib.util, os
engines = [one for one in ("tensorflow", "jax", "torch") if importlib.util.find_spec(one)]
os.environ.setdefault("KERAS_BACKEND", engines[0])
"""
MODULE = """\
import keras
from keras import layers as L

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.conv = L.Conv2D(4, 3, name="conv")

    def call(self, x):
        return keras.ops.max_pool(keras.ops.pad(self.conv(x), [[0, 0], [1, 2], [0, 0], [0, 0]], mode="reflect"), 2, 2)

def make():
    x = i = keras.Input((21, 24, 3), name="image")
    x = L.Conv2D(8, 3, strides=2, padding="same", name="stem")(x)
    x = L.ReLU()(L.BatchNormalization()(x))
    x = L.ZeroPadding2D(((1, 0), (2, 1)), name="zeros")(x)
    x = L.SeparableConv2D(6, 3, depth_multiplier=2, use_bias=False, name="separable")(x)
    x = L.MaxPooling2D(3, 2, padding="same", name="maximum")(x)
    x = L.AveragePooling2D(2, 1, padding="same", name="average")(x)
    x = L.Conv2DTranspose(4, 3, strides=2, padding="same", name="up")(x)
    return keras.Model(i, L.GlobalAveragePooling2D(name="plane")(x))

def activations(): return keras.Sequential([
    keras.Input((4, 4, 3)), L.Conv2D(4, 3, activation="gelu"), L.Activation("leaky_relu"), L.Dense(2)])
def subclass(): return Net()
def first(): return keras.Sequential([keras.Input((2, 9)), L.Conv1D(4, 3, data_format="channels_first", name="c"),
                                      L.GlobalMaxPooling1D(data_format="channels_first", name="g")])
def causal(): return keras.Sequential([keras.Input((9, 2)), L.Conv1D(4, 3, padding="causal", dilation_rate=2)])
def any_size(): return keras.Sequential([keras.Input((None, None, 3)), L.Conv2D(4, 3)])
def nested(): return keras.Sequential([keras.Input((21, 24, 3)), make()])
def runs_code(): return keras.Sequential([keras.Input((4, 4, 3)), L.Lambda(lambda x: x)])
def number(): return 3
"""
NET = [
    "conv, window 3, stride 2, padding (1, 1) x (0, 1); 3 → 8 channels, 21 x 24",
    "pad, pads (1, 0) x (2, 1); 8 channels, 11 x 12",
    "conv, window 3, stride 1, padding 0, groups 8; 8 → 16 channels, 12 x 15",
    "conv, window 1, stride 1, padding 0; 16 → 6 channels, 10 x 13",
    "max_pool, window 3, stride 2, padding (0, 1) x (1, 1); 6 channels, 10 x 13",
    "avg_pool, window 2, stride 1, padding (0, 1); 6 channels, 5 x 7",
    "conv_transpose, window 3, stride 2, padding (0, 1); 6 → 4 channels, 5 x 7",
    "global_avg_pool; 4 channels, 10 x 14",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the module of factories, and the files that Keras saves for two of them."""
    folder = tmp_path_factory.mktemp("keras")
    (folder / "nets.py").write_text(MODULE, "utf-8")
    saved = "import nets\nfor name in ('make', 'runs_code', 'any_size'): getattr(nets, name)().save(name + '.keras')"
    build(PYTHON, PRELUDE + saved, folder)
    return folder


@pytest.fixture
def folder(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


def test_a_file_has_the_layers_of_its_factory(folder):
    from_file, from_factory = (read("keras", one, PYTHON) for one in (folder / "make.keras", "nets:make"))
    assert texts(from_file) == texts(from_factory) == NET
    assert [one.name for one in from_file.layers] == [
        "stem", "zeros", "separable (depthwise)", "separable (pointwise)", "maximum", "average", "up", "plane",
    ]  # fmt: skip
    assert from_file.others == {"BatchNormalization": 1, "ReLU": 1}
    assert from_file.surface.startswith("keras-")


def test_a_normalization_has_the_numbers_of_the_model(folder):
    assert read("keras", folder / "make.keras", PYTHON).settings["BatchNormalization"] == [
        {"epsilon": 0.001, "momentum": 0.99}
    ]


@pytest.mark.usefixtures("folder")
def test_an_activation_has_the_arguments_of_its_function():
    model = read("keras", "nets:activations", PYTHON)
    assert model.settings == {"gelu": [{"approximate": False}], "leaky_relu": [{"negative_slope": 0.2}]}
    assert model.others == {"gelu": 1, "leaky_relu": 1, "Dense": 1}


def test_layers_have_their_weights(folder):
    stem, depthwise, *_others = (one for one in read("keras", folder / "make.keras", PYTHON).layers if one.kernel)
    assert (stem.kernel, stem.bias, depthwise.kernel, depthwise.bias) == ((8, 3, 3, 3), True, (16, 1, 3, 3), False)
    assert any(value for row in stem.weights["kernel"][0][0] for value in row)
    assert stem.weights["bias"] == [0, 0, 0, 0]


@pytest.mark.usefixtures("folder")
def test_a_model_of_any_class_needs_the_shape_of_its_input():
    with pytest.raises(ConformanceError, match="needs --input"):
        read("keras", "nets:subclass", PYTHON)
    assert texts(read("keras", "nets:subclass", PYTHON, **{"": (1, 9, 9, 3)})) == [
        "conv, window 3, stride 1, padding 0; 3 → 4 channels, 9 x 9",
        "pad, pads (1, 2) x (0, 0), mode reflect; 4 channels, 7 x 7",
        "max_pool, window 2, stride 2, padding 0; 4 channels, 10 x 7",
    ]


def test_a_size_that_is_not_fixed_is_an_error_until_the_user_gives_it(folder):
    with pytest.raises(ConformanceError, match="is not fixed: give it with --input"):
        read("keras", folder / "any_size.keras", PYTHON)
    assert read("keras", folder / "any_size.keras", PYTHON, **{"": (1, 30, 40, 3)}).layers[0].shape == (1, 3, 30, 40)


@pytest.mark.usefixtures("folder")
def test_a_causal_convolution_is_padded_before_its_axis():
    found = texts(read("keras", "nets:causal", PYTHON))
    assert any("(4, 0)" in text for text in found), found


@pytest.mark.usefixtures("folder")
def test_channels_may_come_first():
    found = [one.shape for one in read("keras", "nets:first", PYTHON).layers]
    assert found == [(1, 2, 9), (1, 4, 7)]


@pytest.mark.usefixtures("folder")
def test_layers_of_a_nested_model_have_its_name():
    model = read("keras", "nets:nested", PYTHON)
    assert texts(model) == NET
    assert model.layers[0].name.endswith("/stem")


@pytest.mark.usefixtures("folder")
def test_the_class_of_the_model_chooses_the_reader(monkeypatch):
    engine = read("keras", "nets:causal", PYTHON).surface.removeprefix("keras-").removesuffix(".layers")
    monkeypatch.setenv("KERAS_BACKEND", engine)
    assert read(None, "nets:causal", PYTHON).surface == f"keras-{engine}.layers"
    with pytest.raises(ConformanceError, match=r"it returned builtins\.int; jax reads .*, keras reads keras\.Model, "):
        read(None, "nets:number", PYTHON)


def changed(folder, change):
    """Return a copy of the file with another configuration, or with other content."""
    path = folder / "changed.keras"
    with zipfile.ZipFile(folder / "make.keras") as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, change(json.loads(content)) if name == "config.json" else content)
    return path


def with_class(module, name, registered=None):
    """Return a change that makes the second layer another one."""

    def change(config):
        layer = config["config"]["layers"][1]
        layer.update({"module": module, "class_name": name, "registered_name": registered})
        return json.dumps(config)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _config: "{", "config.json: "),
        (lambda _config: "[" * 100_000, "nested too deeply"),
        (lambda _config: "[]", "config.json: it is list, not a model"),
        (with_class("os", "system"), "custom classes are not read"),
        (with_class("keras.layers", "Lambda"), "runs code or opens files"),
        (with_class("keras.layers", "TFSMLayer"), "runs code or opens files"),
        (with_class("keras.layers", "StringLookup"), "runs code or opens files"),
        (with_class("keras.layers", "Conv2D", "mine>Conv2D"), "custom classes are not read"),
        (with_class("keras.utils", "get_file"), "is not a layer of Keras"),
        (with_class("keras.src.utils.file_utils", "get_file"), "is not a layer of Keras"),
        (with_class("builtins", "function"), "a function other than the activations"),
    ],
)
def test_a_configuration_that_may_run_code_or_is_broken_is_one_line(folder, change, message):
    with pytest.raises(ConformanceError) as caught:
        read("keras", changed(folder, change), PYTHON)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_layer_with_code_is_refused(folder):
    with pytest.raises(ConformanceError, match="'Lambda' of layer 'lambda': such a layer runs code"):
        read("keras", folder / "runs_code.keras", PYTHON)


@pytest.mark.parametrize("content", [b"", b"\x89HDF\r\n\x1a\n" + bytes(50), b"PK\x05\x06" + bytes(18)])
def test_another_file_is_one_line(tmp_path, content):
    path = tmp_path / "m.keras"
    path.write_bytes(content)
    with pytest.raises(ConformanceError, match=r"not a \.keras file") as caught:
        read("keras", path, PYTHON)
    assert "\n" not in str(caught.value)


def test_weights_in_other_files_are_never_opened(folder, tmp_path):
    script = "import h5py; h5py.File('model.weights.h5', 'w')['layers'] = h5py.ExternalLink('/etc/passwd', '/')"
    build(PYTHON, script, tmp_path)
    path = tmp_path / "m.keras"
    with zipfile.ZipFile(folder / "make.keras") as source, zipfile.ZipFile(path, "w") as target:
        target.writestr("config.json", source.read("config.json"))
        target.write(tmp_path / "model.weights.h5", "model.weights.h5")
    with pytest.raises(ConformanceError, match="layers is a link, which is not followed"):
        read("keras", path, PYTHON)


def test_a_configuration_that_unpacks_to_more_than_the_limit_is_not_unpacked(tmp_path):
    path = tmp_path / "m.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")
        archive.filelist[0].file_size = 1 << 30  # what the directory of the archive says
    with pytest.raises(ConformanceError, match=r"config\.json has 1073741824 bytes, the limit is"):
        read("keras", path, PYTHON)

"""The readers of SavedModels and of `.tflite` files. CONFORMANCE_TENSORFLOW_PYTHON is the path of a Python that has
tensorflow and keras. CONFORMANCE_LITERT_PYTHON, that of one with ai_edge_litert, may read the `.tflite` files.
"""

import os

import pytest

from conformance import ConformanceError
from conformance.models.reading import find_reader
from tests.support.model_files import build, parameters_of, read, texts

PYTHON = os.environ.get("CONFORMANCE_TENSORFLOW_PYTHON", "")
LITERT = os.environ.get("CONFORMANCE_LITERT_PYTHON") or PYTHON
pytestmark = pytest.mark.skipif(not PYTHON, reason="CONFORMANCE_TENSORFLOW_PYTHON is not set")
BUILD = """\
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras, numpy as np, tensorflow as tf
from keras import layers as L

x = i = keras.Input((21, 24, 3), name="image")
x = L.Conv2D(8, 3, strides=2, padding="same", name="stem", bias_initializer="ones")(x)
x = L.ReLU()(L.BatchNormalization()(x))
x = L.ZeroPadding2D(((1, 0), (2, 1)), name="zeros")(x)
x = L.DepthwiseConv2D(3, depth_multiplier=2, name="depthwise", use_bias=False)(x)
x = L.MaxPooling2D(3, 2, padding="same", name="maximum")(x)
x = L.AveragePooling2D(2, 1, padding="same", name="average")(x)
x = L.Conv2D(8, 3, dilation_rate=2, padding="same", groups=2, name="dilated")(x)
x = L.Conv2DTranspose(4, 3, strides=2, padding="same", name="up")(x)
x = L.Conv2DTranspose(4, 2, strides=3, padding="valid", name="far")(x)
planes = [L.GlobalAveragePooling2D(name="mean")(x), L.GlobalMaxPooling2D(name="greatest")(x)]
net = keras.Model(i, L.Concatenate()(planes))
net.save("net.keras")
net.export("net")
open("net.tflite", "wb").write(tf.lite.TFLiteConverter.from_saved_model("net").convert())
volume = keras.Sequential([keras.Input((9, 10, 11, 2)), L.Conv3D(4, 3, padding="same", strides=2),
                           L.Conv3DTranspose(3, 2, 2)])
volume.save("volume.keras")
volume.export("volume")
open("volume.tflite", "wb").write(tf.lite.TFLiteConverter.from_saved_model("volume").convert())


class Module(tf.Module):
    def __init__(self):
        self.kernel = tf.Variable(np.arange(72, dtype="f4").reshape(3, 3, 2, 4), name="kernel")

    @tf.function(input_signature=[tf.TensorSpec([None, None, None, 2], name="x")])
    def call(self, x):
        x = tf.nn.conv2d(x, self.kernel, 1, [[0, 0], [1, 0], [0, 2], [0, 0]])
        x = tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]], "SYMMETRIC")
        x = tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]], constant_values=5.0)
        x = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.max_pool2d(x, 2, 2, "VALID"), lambda: x)
        return tf.reduce_mean(x, [1, 2], keepdims=True), tf.reduce_mean(x, [1, 2, 3])

module = Module()
tf.saved_model.save(module, "module", signatures={"serving_default": module.call, "other": module.call})

class Loops(tf.Module):
    def __init__(self):
        self.kernel = tf.Variable(np.arange(36, dtype="f4").reshape(3, 3, 2, 2), name="kernel")

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 9, 2], name="x"), tf.TensorSpec([], tf.int32, name="n")])
    def call(self, x, n):
        def step(i, x):
            x = tf.nn.conv2d(x, self.kernel, 1, "SAME")
            x = tf.switch_case(i % 2, [lambda: tf.nn.max_pool2d(x, 3, 1, "SAME"), lambda: x])
            return i + 1, tf.ensure_shape(x, [None, 8, 9, 2])

        _, x = tf.while_loop(lambda i, x: i < n, step, (0, x))
        shapes = (tf.TensorShape([]), tf.TensorShape([None, None, None, 2]))
        halve = lambda i, y: (i + 1, tf.nn.avg_pool2d(y, 2, 2, "VALID"))
        _, y = tf.while_loop(lambda i, y: i < n, halve, (0, x), shapes)
        z, indices = tf.nn.max_pool_with_argmax(x, 2, 2, "VALID")
        whole = tf.quantization.quantize(x, -9.0, 9.0, tf.quint8)
        edge = [1, 2, 2, 1]
        q = tf.raw_ops.QuantizedMaxPool(input=whole.output, min_input=whole.output_min, max_input=whole.output_max,
                                        ksize=edge, strides=edge, padding="VALID")
        return y, tf.map_fn(lambda one: tf.nn.max_pool1d(one, 2, 2, "VALID"), x), z, tf.cast(q.output, tf.int32)

loops = Loops()
tf.saved_model.save(loops, "loops", signatures=loops.call)
data = tf.random.normal((1, 21, 24, 3))
converter = tf.lite.TFLiteConverter.from_saved_model("net")
converter.optimizations = [tf.lite.Optimize.DEFAULT]
converter.representative_dataset = lambda: [[data]]
open("quantized.tflite", "wb").write(converter.convert())
"""
NET = [
    "conv, window 3, stride 2, padding (1, 1) x (0, 1); 3 → 8 channels, 21 x 24",
    "pad, pads (1, 0) x (2, 1); 8 channels, 11 x 12",
    "conv, window 3, stride 1, padding 0, groups 8; 8 → 16 channels, 12 x 15",
    "max_pool, window 3, stride 2, padding (0, 1) x (1, 1); 16 channels, 10 x 13",
    "avg_pool, window 2, stride 1, padding (0, 1); 16 channels, 5 x 7",
    "conv, window 3, stride 1, padding 2, dilation 2, groups 2; 16 → 8 channels, 5 x 7",
    "conv_transpose, window 3, stride 2, padding (0, 1); 8 → 4 channels, 5 x 7",
    "conv_transpose, window 2, stride 3, padding 0, output padding 1; 4 → 4 channels, 10 x 14",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the same networks in all formats of TensorFlow."""
    found = tmp_path_factory.mktemp("tensorflow")
    build(PYTHON, BUILD, found)
    return found


@pytest.fixture(scope="module")
def saved(folder):
    return read("tensorflow", folder / "net", PYTHON)


def test_all_formats_have_the_same_layers(folder, saved):
    of_keras = read("keras", folder / "net.keras", PYTHON)
    of_litert = read("litert", folder / "net.tflite", LITERT)
    assert texts(of_keras)[:8] == texts(of_litert)[:8] == texts(saved)[:8] == NET
    assert parameters_of(of_keras) == parameters_of(saved) == parameters_of(of_litert)


def test_layers_of_volumes_are_the_same_in_all_formats(folder):
    found = [
        read(name, folder / f"volume{ending}", PYTHON)
        for name, ending in (("keras", ".keras"), ("tensorflow", ""), ("litert", ".tflite"))
    ]
    assert [one.operator for one in found[0].layers] == ["conv", "conv_transpose"]
    assert parameters_of(found[0]) == parameters_of(found[1]) == parameters_of(found[2])


def test_weights_come_from_the_checkpoint_and_from_the_file(folder, saved):
    of_litert = read("litert", folder / "net.tflite", LITERT)
    of_keras = read("keras", folder / "net.keras", PYTHON)
    for name in ("kernel", "bias"):
        (wanted, found) = (model.layers[0].weights[name] for model in (of_keras, saved))
        assert wanted == found
    # The converter multiplies kernels by the scale of a normalization, which is close to 1 here.
    first = [model.layers[0].weights["kernel"][0][0][0][0] for model in (of_keras, of_litert)]
    assert first[0] == pytest.approx(first[1], rel=1e-2)
    transposed = [next(one for one in model.layers if one.operator == "conv_transpose") for model in (saved, of_litert)]
    assert transposed[0].weights["kernel"] == transposed[1].weights["kernel"]
    assert all(one.weights for one in saved.layers if one.kernel)


def test_layers_have_the_names_of_the_model(saved):
    assert saved.layers[0].name.endswith("/convolution")
    assert "stem" in saved.layers[0].name
    assert "PartitionedCall" not in saved.layers[0].name


def test_a_folder_and_its_file_are_the_same_model(folder, saved):
    assert texts(read("tensorflow", folder / "net" / "saved_model.pb", PYTHON)) == texts(saved)


def test_a_graph_without_fixed_shapes_needs_the_shape_of_its_input(folder):
    assert "--input" in read("tensorflow", folder / "module", PYTHON).layers[0].problem
    model = read("tensorflow", folder / "module", PYTHON, x=(1, 9, 8, 2))
    assert texts(model)[:3] == [
        "conv, window 3, stride 1, padding (1, 0) x (0, 2); 2 → 4 channels, 9 x 8",
        "pad, pads (1, 2) x (0, 1), mode symmetric; 4 channels, 8 x 8",
        "pad, pads (1, 2) x (0, 1), value 5; 4 channels, 11 x 9",
    ]
    assert model.layers[0].weights["kernel"][1][0][0] == [1, 9, 17]
    # The maximum is in a branch.
    assert texts(model)[3] == "max_pool, window 2, stride 2, padding 0; 4 channels, 14 x 10"
    with pytest.raises(ConformanceError, match="the input has 4 axes"):
        read("tensorflow", folder / "module", PYTHON, x=(1, 9))
    with pytest.raises(ConformanceError, match="the inputs of the model are x"):
        read("tensorflow", folder / "module", PYTHON, y=(1, 9, 8, 2))


def test_layers_in_branches_and_loops_are_read_once(folder):
    model = read("tensorflow", folder / "loops", PYTHON)
    assert [(one.name.partition("/")[0], one.problem or one.text) for one in model.layers] == [
        ("while", "conv, window 3, stride 1, padding 1; 2 → 2 channels, 8 x 9"),
        ("while", "max_pool, window 3, stride 1, padding 1; 2 channels, 8 x 9"),
        ("while_1", "the shape of its input is not fixed (--input NAME=SHAPE gives that of the model)"),
        ("map", "max_pool, window 1 x 2, stride 1 x 2, padding 0; 2 channels, 1 x 9"),
        ("MaxPoolWithArgmax", "max pooling with indices is not read"),
        ("QuantizedMaxPool", "quantized layers are not checked"),
    ]
    assert model.layers[0].weights["kernel"][1][0][0] == [1, 5, 9]


def test_quantized_layers_are_not_checked(folder):
    found = read("litert", folder / "quantized.tflite", LITERT)
    assert {one.problem for one in found.layers if one.source == "CONV_2D"} == {
        "quantized layers are not checked; convert the model without quantization"
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it has no graph"),
        (b"\xff" * 99, "not a SavedModel"),
        (b"\x08\x01\x12\x02\x0a\x00", "it has no signature"),
    ],
)
def test_a_broken_saved_model_is_one_line(tmp_path, content, message):
    (tmp_path / "saved_model.pb").write_bytes(content)
    with pytest.raises(ConformanceError, match=message) as caught:
        read("tensorflow", tmp_path, PYTHON)
    assert "\n" not in str(caught.value)


def test_a_truncated_saved_model_is_one_line(folder, tmp_path):
    content = (folder / "net" / "saved_model.pb").read_bytes()
    for size in (len(content) // 2, len(content) - 20):
        (tmp_path / "saved_model.pb").write_bytes(content[:size])
        with pytest.raises(ConformanceError) as caught:
            read("tensorflow", tmp_path, PYTHON)
        assert "\n" not in str(caught.value)


def test_functions_that_call_each_other_without_end_are_one_line(tmp_path):
    body = """\
from tensorflow.core.protobuf import saved_model_pb2
content = saved_model_pb2.SavedModel()
meta = content.meta_graphs.add()
meta.meta_info_def.tags.append("serve")
function = meta.graph_def.library.function.add()
function.signature.name = "f"
for arguments in (function.signature.input_arg, function.signature.output_arg):
    argument = arguments.add()
    argument.name, argument.type = ("x" if arguments is function.signature.input_arg else "y"), 1
def call(node, source):
    node.name, node.op = "call", "PartitionedCall"
    node.input.append(source)
    node.attr["f"].func.name = "f"
    node.attr["Tin"].list.type.append(1)
    node.attr["Tout"].list.type.append(1)
call(function.node_def.add(), "x")
function.ret["y"] = "call:output:0"
place = meta.graph_def.node.add()
place.name, place.op = "x", "Placeholder"
place.attr["dtype"].type = 1
call(meta.graph_def.node.add(), "x")
signature = meta.signature_def["serving_default"]
signature.inputs["x"].name, signature.outputs["y"].name = "x:0", "call:0"
open("saved_model.pb", "wb").write(content.SerializeToString())
"""
    build(PYTHON, body, tmp_path)
    with pytest.raises(ConformanceError, match="nested too deeply"):
        read("tensorflow", tmp_path, PYTHON)


@pytest.mark.parametrize("content", [b"", b"TFL3", b"\0\0\0\0TFL3", b"\xff\xff\xff\x7fTFL3" + bytes(99), bytes(64)])
def test_a_broken_tflite_file_is_one_line(tmp_path, content):
    path = tmp_path / "m.tflite"
    path.write_bytes(content)
    with pytest.raises(ConformanceError, match=r"not a \.tflite file") as caught:
        read("litert", path, LITERT)
    assert "\n" not in str(caught.value)


def test_a_damaged_tflite_file_is_read_or_one_line(folder, tmp_path):
    content = bytearray((folder / "net.tflite").read_bytes())
    path = tmp_path / "m.tflite"
    for start in range(8, 200, 24):
        damaged = bytearray(content)
        damaged[start : start + 4] = b"\xff\xff\xff\x7f"
        path.write_bytes(damaged)
        errors = []
        try:
            read("litert", path, LITERT)
        except ConformanceError as error:
            errors.append(str(error))
        assert not any("\n" in error for error in errors)


def test_the_shapes_of_a_tflite_file_are_fixed(folder):
    with pytest.raises(ConformanceError, match="are fixed when it is converted"):
        read("litert", folder / "net.tflite", LITERT, x=(1, 2, 3, 4))


def test_a_folder_is_found_by_its_file(tmp_path):
    (tmp_path / "saved_model.pb").touch()
    assert find_reader(str(tmp_path), None)[0].surface == "tf.nn"
    with pytest.raises(ConformanceError, match="no reader has the ending"):
        find_reader(str(tmp_path.parent), None)

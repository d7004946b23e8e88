"""The reader of JAX models. CONFORMANCE_JAX_PYTHON is the path of a Python that has jax and flax."""

import json
import os
import subprocess

import pytest

from conformance import ConformanceError
from tests.support.model_files import build, parameters_of, read, texts

PYTHON = os.environ.get("CONFORMANCE_JAX_PYTHON", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="CONFORMANCE_JAX_PYTHON is not set")
MODULE = """\
import jax
import jax.numpy as jnp
from flax import linen as nn, nnx

X = jax.ShapeDtypeStruct((1, 20, 20, 3), "float32")

class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        x = nn.Conv(4, (3, 3), strides=2, name="stem")(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = nn.max_pool(x, (2, 2), (2, 2))
        x = nn.avg_pool(x, (3, 3), padding="SAME", count_include_pad=False)
        x = nn.avg_pool(x, (3, 3), padding="SAME")
        x = nn.Conv(8, (3, 3), feature_group_count=4, kernel_dilation=2, use_bias=False)(x)
        x = jnp.pad(x, ((0, 0), (1, 2), (0, 1), (0, 0)))
        x = nn.ConvTranspose(3, (3, 3), strides=(2, 2))(x)
        return jnp.concatenate([x.mean((1, 2)), x.max((1, 2))])

class Other(nnx.Module):
    def __init__(self, rngs):
        self.conv, self.drop = nnx.Conv(3, 4, (3, 3), rngs=rngs), nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.drop(self.conv(x))

def make(): return Net()
def other(): return Other(nnx.Rngs(0))
def shapes(): return jax.eval_shape(lambda x: Net().init(jax.random.key(0), x, train=False), X)
def function(): return lambda weights, x: Net().apply(weights, x, train=False), (shapes(), X)
def constants():
    x = jnp.ones((1, 20, 20, 3))
    weights = Net().init(jax.random.key(0), x, train=False)
    return lambda x: Net().apply(weights, x, train=False), x.shape
def windows():
    def call(x):
        planes = jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 1, 2, 3), (1, 1, 2, 3), "VALID")
        least = jax.lax.reduce_window(planes, jnp.inf, jax.lax.min, (1, 1, 2, 1), (1, 1, 1, 1), ((0, 0),) * 4)
        return jax.lax.reduce_window(least, 1.0, jax.lax.mul, (1, 1, 2, 2), (1, 1, 1, 1), "VALID")
    return call, (1, 2, 12, 12)
def gradient():
    def call(x): return nn.max_pool(x, (2, 2), (2, 2)).sum()
    return jax.grad(call), (1, 8, 8, 2)
def layer_norm(): return lambda x: x.mean(-1, keepdims=True), (1, 7, 8)
def fails(): return lambda x: x @ x, (1, 2, 3)
def number(): return 3
def short(): return (1, 2)
"""
NET = [
    "conv, window 3, stride 2, padding (0, 1); 3 → 4 channels, 20 x 20",
    "max_pool, window 2, stride 2, padding 0; 4 channels, 10 x 10",
    "avg_pool, window 3, stride 1, padding 1; 4 channels, 5 x 5",
    "avg_pool, window 3, stride 1, padding 1, padding counts; 4 channels, 5 x 5",
    "conv, window 3, stride 1, padding 2, dilation 2, groups 4; 4 → 8 channels, 5 x 5",
    "pad, pads (1, 2) x (0, 1); 8 channels, 5 x 5",
    "conv_transpose, window 3, stride 2, padding (0, 1); 8 → 3 channels, 8 x 6",
    "global_avg_pool; 3 channels, 16 x 12",
    "global_max_pool; 3 channels, 16 x 12",
]
EXPORT = """\
import jax, nets
call, arguments = nets.function()
exported = jax.export.export(jax.jit(call))(*arguments)
open("net.mlir", "w").write(exported.mlir_module())
open("binary.mlir", "wb").write(exported.mlir_module_serialized)
call, shape = nets.constants()
open("weights.stablehlo", "w").write(jax.jit(call).lower(jax.ShapeDtypeStruct(shape, "float32")).as_text())
sizes = jax.ShapeDtypeStruct(jax.export.symbolic_shape("1, n, 20, 3"), "float32")
exported = jax.export.export(jax.jit(lambda x: jax.lax.reduce_window(
    x, -jax.numpy.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")))(sizes)
open("any_size.mlir", "w").write(exported.mlir_module())
"""
HAS_FLATBUFFERS = bool(PYTHON) and not subprocess.run([PYTHON, "-c", "import flatbuffers"], check=False).returncode


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the module of factories, and the files that JAX exports for them."""
    folder = tmp_path_factory.mktemp("jax")
    (folder / "nets.py").write_text(MODULE, "utf-8")
    build(PYTHON, EXPORT, folder)
    return folder


@pytest.fixture
def folder(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


@pytest.mark.usefixtures("folder")
def test_a_function_and_a_module_have_the_same_layers():
    function, module = read("jax", "nets:function", PYTHON), read("jax", "nets:make", PYTHON, **{"": (1, 20, 20, 3)})
    assert texts(function) == texts(module) == NET
    assert (function.surface, module.surface) == ("jax.lax", "flax.linen")
    assert module.layers[0].name.endswith("stem")


@pytest.mark.parametrize("name", ["net.mlir", "binary.mlir", "weights.stablehlo"])
def test_exported_files_have_the_layers_of_the_function(folder, name):
    found = read("jax", folder / name, PYTHON)
    assert texts(found) == NET
    assert parameters_of(found) == parameters_of(read("jax", "nets:function", PYTHON))


def test_operations_of_one_name_are_numbered(folder):
    for name, numbered in (("net.mlir", "Net/reduce_window_sum_1"), ("weights.stablehlo", "convolution_2")):
        names = [one.name for one in read("jax", folder / name, PYTHON).layers]
        assert len(set(names)) == len(names) == len(NET)
        assert {numbered, numbered[:-2]} <= set(names)


@pytest.mark.skipif(not HAS_FLATBUFFERS, reason="jax.export needs flatbuffers for its files")
def test_a_file_of_jax_export_has_the_layers_of_the_function(folder):
    script = "import jax, nets\ncall, arguments = nets.function()\n"
    script += "open('net.jax', 'wb').write(jax.export.export(jax.jit(call))(*arguments).serialize())"
    build(PYTHON, script, folder)
    assert texts(read("jax", folder / "net.jax", PYTHON)) == NET


def test_constants_are_weights(folder):
    stem, *_others, up = (one for one in read("jax", folder / "weights.stablehlo", PYTHON).layers if one.kernel)
    assert (stem.kernel, stem.bias, up.kernel) == ((4, 3, 3, 3), True, (8, 3, 3, 3))
    script = """\
import jax.numpy as jnp, json, nets, jax
weights = nets.Net().init(jax.random.key(0), jnp.ones((1, 20, 20, 3)), train=False)["params"]
kernel, up = weights["stem"]["kernel"], weights["ConvTranspose_0"]["kernel"]
json.dump([kernel[:, :, 1, 2].tolist(), up[::-1, ::-1, 1, 2].tolist()], open("kernels.json", "w"))
"""
    build(PYTHON, script, folder)
    kernel, flipped = json.loads((folder / "kernels.json").read_text("utf-8"))
    assert stem.weights["kernel"][2][1] == kernel
    assert up.weights["kernel"][1][2] == flipped


@pytest.mark.usefixtures("folder")
def test_flax_nnx_modules_are_read_in_evaluation_mode():
    model = read("jax", "nets:other", PYTHON, **{"": (1, 8, 8, 3)})
    assert texts(model) == ["conv, window 3, stride 1, padding 1; 3 → 4 channels, 8 x 8"]
    assert model.surface == "flax.nnx"


@pytest.mark.usefixtures("folder")
def test_channels_may_come_first_and_sums_are_averages_with_divisor_1():
    sums, least, product = read("jax", "nets:windows", PYTHON).layers
    assert (sums.operator, sums.parameters["window"], sums.parameters["divisor"]) == ("avg_pool", (2, 3), 1)
    assert (least.operator, least.shape) == ("min_pool", (1, 2, 6, 4))
    assert "other than maximum, minimum and sum" in product.problem


@pytest.mark.usefixtures("folder")
def test_the_gradient_of_max_pooling_is_not_checked():
    assert "the gradient of max pooling is not checked" in texts(read("jax", "nets:gradient", PYTHON))


@pytest.mark.usefixtures("folder")
def test_the_mean_of_the_features_is_no_pooling():
    model = read("jax", "nets:layer_norm", PYTHON)
    assert not model.layers
    assert model.others["reduce"] == 1


@pytest.mark.usefixtures("folder")
def test_the_class_of_the_model_chooses_the_reader():
    assert texts(read(None, "nets:function", PYTHON)) == NET
    assert read(None, "nets:other", PYTHON, **{"": (1, 8, 8, 3)}).surface == "flax.nnx"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nets:number", r"it returned builtins\.int; jax reads flax\.Module and builtins\.tuple"),
        ("nets:short", r"a tuple that is not \(function, shapes of the arguments\)"),
        ("nets:fails", "it cannot be traced: TypeError"),
        ("nets:make", "needs --input"),
        ("nets:nothing", "AttributeError"),
    ],
)
def test_a_wrong_reference_is_one_line(source, message):
    with pytest.raises(ConformanceError, match=message) as caught:
        read("jax", source, PYTHON)
    assert "\n" not in str(caught.value)


def test_a_size_that_is_not_fixed_is_a_problem(folder):
    assert "export the model with fixed shapes" in texts(read("jax", folder / "any_size.mlir", PYTHON))[0]


LOOP = """\
module {
  func.func public @main(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
    %y = call @main(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    return %y : tensor<1x8xf32>
  }
}
"""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a file of StableHLO or of jax.export"),
        (b"\0" * 99, "not a file of StableHLO or of jax.export|Please install"),
        (b"hello", "not a file of StableHLO"),
        (b"ML\xefR" + bytes(40), "not a file of StableHLO"),
        (b"module {}", "it has no function"),
        (LOOP.encode(), "nested too deeply"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path, content, message):
    path = tmp_path / "m.mlir"
    path.write_bytes(content)
    with pytest.raises(ConformanceError, match=message) as caught:
        read("jax", path, PYTHON)
    assert "\n" not in str(caught.value)


def test_a_truncated_file_is_one_line(folder, tmp_path):
    for name in ("net.mlir", "binary.mlir"):
        content = (folder / name).read_bytes()
        path = tmp_path / "m.mlir"
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(ConformanceError) as caught:
            read("jax", path, PYTHON)
        assert "\n" not in str(caught.value)

"""The program of Node.js that runs a graph model, with packages that stand in for TensorFlow.js."""

import shutil
import sys
from types import ModuleType

import numpy as np
import pytest

from conformance.adapters import tensorflow
from conformance.adapters.routes import tensorflow_js

NEEDS_NODE = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
MODEL = {
    "modelTopology": {"scale": 2},
    "weightsManifest": [{"paths": ["group1-shard1of1.bin"], "weights": [{"name": "bias", "dtype": "float32"}]}],
    "signature": {"inputs": {"x": {"name": "x:0"}}, "outputs": {}},
}
# A model that multiplies x:0 by a number of its topology, and adds its first weight. As the kernel of indices in
# TensorFlow.js, it has a Float32Array for a result of any dtype.
PACKAGE = """\
let selected;
const tensor = (data, shape, dtype) => ({ data: async () => data, shape, dtype, values: data });
module.exports = {
  setBackend: async (name) => { selected = name; },
  io: { fromMemory: (parts) => parts },
  tensor,
  loadGraphModel: async ({ modelTopology, weightData, weightSpecs }) => ({
    executeAsync: async (inputs) => {
      if (selected !== "cpu") throw new Error(`no backend\\n${selected}`);
      const { values, shape, dtype } = inputs["x:0"];
      const bias = weightSpecs[0].dtype === "float32" ? new Float32Array(weightData)[0] : 0;
      return tensor(Float32Array.from(values, (one) => one * modelTopology.scale + bias), shape, dtype);
    },
  }),
};
"""


@pytest.fixture
def packages(tmp_path, monkeypatch):
    for name, text in (("tfjs", PACKAGE), ("tfjs-backend-wasm", "")):
        folder = tmp_path / "@tensorflow" / name
        folder.mkdir(parents=True)
        (folder / "index.js").write_text(text)
    monkeypatch.setenv("NODE_PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "tensorflowjs", ModuleType("tensorflowjs"))
    return tmp_path


def set_up():
    """Run the part of the setup that follows that of TensorFlow."""
    names = {"np": np}
    exec(tensorflow_js.SETUP.removeprefix(tensorflow.SETUP), names)  # noqa: S102 - text of the suite
    return names


@NEEDS_NODE
@pytest.mark.usefixtures("packages")
def test_model_gets_its_weights_and_inputs_bit_for_bit():
    x = np.array([[1.5, -0.0, np.inf], [np.nan, 1e-45, 3]], np.float32)
    bias = np.array([-0.0], np.float32)
    result = set_up()["run_graph_model"](MODEL, bias.tobytes(), "cpu", x=x)
    assert result.tobytes() == (x * np.float32(2) + bias).tobytes()
    assert (result.dtype, result.shape) == (np.float32, (2, 3))


@NEEDS_NODE
@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_dtype_of_an_input_is_that_of_its_tensor(dtype):
    x = np.array([0, 1, 1], dtype)
    model = MODEL | {"modelTopology": {"scale": 1}, "weightsManifest": [{"paths": [], "weights": [{"dtype": "int32"}]}]}
    result = set_up()["run_graph_model"](model, b"", "cpu", x=x)
    assert result.dtype == dtype
    assert result.tolist() == x.tolist()


@NEEDS_NODE
@pytest.mark.usefixtures("packages")
def test_int64_becomes_int32():
    model = MODEL | {"modelTopology": {"scale": 1}, "weightsManifest": [{"paths": [], "weights": [{"dtype": "int32"}]}]}
    result = set_up()["run_graph_model"](model, b"", "cpu", x=np.array([-1, 7], np.int64))
    assert result.dtype == np.int32
    assert result.tolist() == [-1, 7]


SEVERAL_OUTPUTS = """\
module.exports = {
  setBackend: async () => {},
  io: { fromMemory: (parts) => parts },
  tensor: (data, shape, dtype) => ({ data: async () => data, shape, dtype }),
  // The value of each output is its number, plus the first input.
  loadGraphModel: async () => ({
    executeAsync: async (inputs, names) => Promise.all(names.map(async (name) => {
      const [first] = await inputs["x0:0"].data();
      return { data: async () => [Number(name.split("_")[1] ?? 0) + first], shape: [1], dtype: "float32" };
    })),
  }),
};
"""


@NEEDS_NODE
def test_results_of_several_outputs_are_in_the_order_of_their_numbers(packages):
    (packages / "@tensorflow" / "tfjs" / "index.js").write_text(SEVERAL_OUTPUTS)
    keys = ["Identity_10", "Identity_2", "Identity", "Identity_1"]
    signature = {
        "inputs": {f"{name}:0": {"name": f"{name}:0"} for name in ("x0", "x1")},
        "outputs": {f"{key}:0": {"name": key} for key in keys},
    }
    inputs = {name: np.array([value], np.float32) for name, value in (("x0", 0.5), ("x1", 9))}
    results = set_up()["all_results"](MODEL | {"signature": signature}, bytes(4), "cpu", **inputs)
    assert [one.tolist() for one in results] == [[0.5], [1.5], [2.5], [10.5]]


@NEEDS_NODE
@pytest.mark.usefixtures("packages")
def test_error_of_tensorflow_js_is_the_message():
    with pytest.raises(RuntimeError, match=r"^Error: no backend none$"):
        set_up()["run_graph_model"](MODEL, bytes(4), "none", x=np.zeros(1, np.float32))


def test_missing_packages_end_the_setup_with_the_command_that_installs_them(packages, monkeypatch):
    monkeypatch.delenv("NODE_PATH")
    monkeypatch.setattr(sys, "prefix", str(packages / "environment"))
    with pytest.raises(ImportError, match=r"npm install --prefix \S+/share/nn-conformance/tfjs @tensorflow/tfjs@4\.\d"):
        set_up()

"""`conformance translate` with the file or module of a model: selection of the file, options and errors."""

import builtins
import json
import shlex
import symtable
import sys

import pytest

from conformance import ConformanceError, cli
from conformance.adapters import registry
from conformance.adapters.api import ModelReader
from conformance.cli.model_files import find_source

MODEL = """\
from torch import nn


class Net(nn.Module):
    def __init__(self, planes):
        super().__init__()
        self.conv = nn.Conv2d(3, planes, 3, padding=planes)
        self.pool = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.bn = nn.BatchNorm2d(planes)
"""

COMPOSED = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.ref = nn.Conv2d(3, 8, 3, stride=2, padding=1, padding_mode="reflect")
        self.circ = nn.Conv2d(8, 8, (3, 5), padding=(1, 2), padding_mode="circular", groups=2)
        self.lp = nn.LPPool2d(2, 3, stride=2, ceil_mode=True)
        self.up = nn.ConvTranspose2d(12, 8, 3, stride=2, padding=1, output_padding=1, groups=4)
        self.avg = nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False)
        self.whole = nn.AvgPool2d(2, 1, divisor_override=3)
        self.mx = nn.MaxPool2d(3, 2, 1, dilation=2, ceil_mode=True)
        self.ad = nn.AdaptiveAvgPool2d((3, 4))
        self.adm = nn.AdaptiveMaxPool2d((2, 3))
        self.rep = nn.ReplicationPad2d((1, 2, 0, 1))
"""
"""Layers that most surfaces compose of several functions."""
INPUTS = "lp=1,12,19,21 avg=1,8,17,19 whole=1,8,8,8 mx=1,8,10,13 ad=1,8,7,9 adm=1,8,7,9 rep=1,8,7,9"


@pytest.fixture(autouse=True)
def model(tmp_path, monkeypatch):
    """Run every command in a folder with a model, and a package whose import is an error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL, "utf-8")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("raise SystemExit('imported')", "utf-8")
    (tmp_path / "package" / "net.py").write_text(f"raise SystemExit('imported')\n{MODEL}", "utf-8")
    return tmp_path


@pytest.fixture
def translated(capsys):
    """Return a function that runs the command with a line of arguments: (status, output, errors)."""

    def command(line):
        with pytest.raises(SystemExit) as left:
            cli.main(["translate", *shlex.split(line)])
        out, error = capsys.readouterr()
        assert "Traceback" not in out + error
        return left.value.code or 0, out, error

    return command


def test_file_lists_its_layers_and_asks_for_a_shape_once(translated):
    status, out, error = translated("model.py --from torch --to flax")
    assert (status, error) == (0, "")
    assert "conv, line 7: nn.Conv2d(3, planes, 3, padding=planes)" in out
    assert (
        "    flax.linen: nn.Conv(planes, (3, 3), strides=(1, 1), padding=((planes, planes), (planes, planes)))" in out
    )
    assert "not a window operator: check momentum" in out
    assert out.splitlines()[-2:] == [
        "2 of 2 window operators translated; 1 other layer",
        "give the shape of the input of Net.pool: --input LAYER=N,C,…",
    ]


def test_layers_that_a_target_lacks_are_not_counted_as_translated(translated, tmp_path):
    text = "from torch import nn\n\nnet = nn.Sequential(nn.Conv2d(3, 4, 3), nn.FractionalMaxPool2d(2, output_size=5))\n"
    (tmp_path / "fractional.py").write_text(text, "utf-8")
    assert translated("fractional.py --from torch --to flax")[1].endswith("1 of 2 window operators translated\n")
    _, out, _ = translated("fractional.py --from torch --to flax --to torch")
    assert out.endswith("window operators translated: 1 of 2 to flax.linen, 2 of 2 to torch.nn\n")


def test_shape_and_value_change_the_text(translated):
    _, out, _ = translated(
        "model.py --from torch --to flax --input pool=1x8x16x16 --set planes=2 --surface keras-jax.layers"
    )
    assert "nn.Conv(2, (3, 3), strides=(1, 1), padding=((2, 2), (2, 2)))" in out
    assert "give the shape" not in out


def test_module_is_found_and_not_imported(translated):
    status, out, _ = translated("package.net --from torch --to flax")
    assert status == 0
    assert "conv, line 8" in out


def test_module_of_each_surface_is_printed_once(translated):
    _, out, _ = translated("model.py --from torch --to keras --to flax --as module --input pool=1,8,17,17")
    assert out.count("class Net(keras.Model)") == 1
    assert out.count("class Net(nn.Module)") == 1


def test_module_is_found_in_the_environment_of_another_interpreter(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    source = tmp_path / "folder" / "far.py"
    source.write_text("raise SystemExit\n", "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(source.parent))
    assert find_source("far") is None
    assert find_source("far", f"torch={sys.executable}") == source
    with pytest.raises(ConformanceError, match="no-python: No such file"):
        find_source("far", f"torch={tmp_path / 'no-python'}")


def undefined_names(text):
    """Return the names that a module uses and neither imports nor defines."""

    def tables(table):
        yield table
        for child in table.get_children():
            yield from tables(child)

    module = symtable.symtable(text, "module", "exec")
    used = {one.get_name() for table in tables(module) for one in table.get_symbols() if one.is_global()}
    used |= {one.get_name() for one in module.get_symbols()}
    bound = {one.get_name() for one in module.get_symbols() if one.is_imported() or one.is_assigned()}
    bound |= {one.get_name() for one in module.get_symbols() if one.is_namespace()}
    return used - bound - {*vars(builtins)}


@pytest.mark.parametrize("surface", sorted(registry.module_styles()))
def test_module_defines_each_name_that_it_uses(translated, model, surface):
    (model / "composed.py").write_text(COMPOSED, "utf-8")
    inputs = " ".join(f"--input {one}" for one in INPUTS.split())
    status, out, error = translated(f"composed.py --from torch --to {surface} --as module {inputs}")
    assert (status, error) == (0, "")
    assert undefined_names(out) == set()


def test_module_imports_an_engine_only_for_its_functions(translated, model):
    line = "--from torch --to keras-jax.layers --as module --input"
    _, plain, _ = translated(f"model.py {line} pool=1,8,17,17")
    assert "import keras\n" in plain
    assert "import jax" not in plain
    (model / "composed.py").write_text(COMPOSED, "utf-8")
    _, composed, _ = translated(f"composed.py {line} mx=1,8,10,13")
    assert "import keras\nimport numpy as np\nimport jax\n" in composed


def test_module_whose_text_differs_is_printed_for_each_surface(translated, model):
    average = MODEL.replace("nn.MaxPool2d(3, 2, ceil_mode=True)", "nn.AvgPool2d(3, 2, 1, ceil_mode=True)")
    (model / "average.py").write_text(average, "utf-8")
    _, out, _ = translated("average.py --from torch --to keras --as module --input pool=1,8,16,16")
    assert out.count("class Net(keras.Model)") == 2  # a composition of one engine differs


@pytest.mark.parametrize("text", ["nn.MaxPool2d(2)", "no.such.module", "package.none", "max_pool"])
def test_other_text_is_no_source(text):
    assert find_source(text) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("other.py --from torch --to flax", "other.py: no such file"),
        ("model.py --from torch", "needs --to"),
        ("model.py --from torch --to flax --stride 2", "--stride: not for a model"),
        ("model.py --from torch --to flax --format markdown", "text or json"),
        ("model.py --from torch --to jax.lax --as module", "jax.lax has no modules"),
        ("model.py --from torch --to flax --set planes", "expected NAME=VALUE"),
        ("model.py --from torch --to flax --set planes=f()", "expected NAME=VALUE"),
        ("model.py --from torch --to flax --input pool=3", "expected LAYER=N,C,…"),
        ("model.py --from torch --to flax --input pol=1,2,8,8", "no layer 'pol'"),
        ("model.py --from keras --to flax", "no layer of keras found"),
        ("binary.py --from torch --to flax", "binary.py: not UTF-8"),
        ("large.py --from torch --to flax", "large.py: more than 1048576 bytes"),
        ("broken.py --from torch --to flax", "broken.py:2: not Python"),
        ("max_pool --window 2 --as module", "--as module: only for a model"),
        ("max_pool --window 2 --set a=1", "--set: only for a model"),
    ],
)
def test_errors_are_one_line(translated, model, line, message):
    (model / "binary.py").write_bytes(b"\xff\xfe")
    (model / "large.py").write_bytes(b"#" * (2**20 + 1))
    (model / "broken.py").write_text("a = 1\ndef f(:\n", "utf-8")
    status, out, error = translated(line)
    assert (status, out) == (2, "")
    assert message in error
    assert error.count("\n") == 1


GRAPH_SCRIPT = """\
def read_model(source, model):
    window = {"window": [2, 2], "stride": [2, 2], "padding": [[0, 0], [0, 0]], "dilation": [1, 1], "rounding": "floor"}
    model.add_node("relu", "Relu", ["x"], ["a"])
    model.add_node("pool", "MaxPool", ["a"] + ["x"] * ("branch" in source), ["y"])
    model.add("pool", "max_pool", window, shape=model.inputs.get("", (1, 2, 8, 8)), dtype="float32", source="MaxPool")
"""


@pytest.fixture
def graph(tmp_path, monkeypatch):
    """Create files of a format whose reader returns two nodes."""
    script = tmp_path / "reader.py"
    script.write_text(GRAPH_SCRIPT, "utf-8")
    readers = {"fake": ModelReader(script, "numpy.loops", (".fake",), ())}
    monkeypatch.setattr(registry, "model_readers", lambda: readers)
    for name in ("net", "branch"):
        (tmp_path / f"{name}.fake").write_text("", "utf-8")


@pytest.mark.usefixtures("graph")
def test_model_file_lists_its_nodes(translated):
    status, out, error = translated("net.fake --from fake --to flax --input 1x2x16x16")
    assert (status, error) == (0, "")
    assert out.startswith("net.fake: graph Net, 2 nodes\n  relu, node 1: Relu(x)\n    not a window operator\n")
    assert "    flax.linen: x = nn.max_pool(x, (2, 2), strides=(2, 2))" in out
    assert out.endswith("1 of 1 window operators translated; 1 other layer\n")


@pytest.mark.usefixtures("graph")
def test_model_file_that_is_a_chain_is_written_as_a_module(translated):
    _, out, _ = translated("net.fake --from fake --to flax --as module")
    assert "x = self.relu(x)\n        x = self.pool(x)\n        return x" in out
    _, out, _ = translated("branch.fake --from fake --to flax --as module")
    assert out.startswith("# no chain: ")
    assert "branch.fake: graph Branch, 2 nodes" in out


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("net.fake --from torch --to flax", "--reader torch: unknown"),
        ("net.fake --from fake", "needs --to"),
        ("net.fake --from fake --to flax --set a=1", "--set"),
        ("net.fake --from fake --to flax --input 1xa", "--input 1xa"),
        ("net.fake --from fake --to flax --format json --as module", "--format json"),
    ],
)
def test_wrong_options_of_a_model_file_end_in_one_line(translated, line, message):
    status, _, error = translated(line)
    assert status == 2
    assert message in error
    assert error.count("\n") == 1


def test_model_as_json_has_every_layer(translated):
    status, out, _ = translated("model.py --from torch --to flax --format json")
    assert status == 0
    assert [one["name"] for one in json.loads(out)["layers"]] == ["Net.conv", "Net.pool", "Net.bn"]


def test_missing_module_is_named(translated):
    status, _, error = translated("no.such.module --from torch --to flax")
    assert status == 2
    assert "no.such.module: neither a call of a layer, which has parentheses, nor a module" in error

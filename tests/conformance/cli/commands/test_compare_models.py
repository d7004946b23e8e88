import numpy as np
import pytest

from conformance.adapters import registry
from conformance.cli.commands.compare_models import comparison_lines
from conformance.models.comparison.alignment import align_layers
from conformance.models.comparison.compare import RunComparison
from tests.conformance.models.comparison.test_alignment import network
from tests.conformance.models.comparison.test_recording import CAPTURE, POOL

WRONG = "lambda x: x.reshape(1, 2, 2, 2).min(-1)"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "capture_text", lambda _name: CAPTURE)
    for name, text in (("net", POOL), ("wrong", WRONG)):
        (tmp_path / f"{name}.py").write_text(f"def make():\n    return {text}\n", "utf-8")
    return tmp_path


@pytest.mark.usefixtures("files")
def test_models_that_agree(conformance):
    status, out, _ = conformance("compare-models", "numpy:net.py:make", "numpy:net.py:make", "--input", "1,2,4")
    assert status == 0
    assert out.splitlines()[1].split()[:5] == ["first", "first", "max_pool", "1x2x2", "same"]
    for kind in ("integers", "normal", "negative", "large"):
        assert f"{kind}: 1 layers and the results agree" in out


@pytest.mark.usefixtures("files")
def test_the_first_layer_that_differs_is_named(conformance):
    status, out, _ = conformance("compare-models", "numpy:net.py:make", "numpy:wrong.py:make", "--input", "1,2,4")
    assert status == 1
    assert "normal: layer first differs (port: first)" in out
    assert "The recorded parameters and weights are the same, so the frameworks compute different results." in out


def test_another_order_of_branches_is_named():
    layers = network(["a", "b", "c", "d", "e", "shortcut"])
    for port, text in (([layers[-1], *layers[:-1]], "shortcut before e"), (layers[::-1], "before a, and 2 more")):
        (line,) = [
            one
            for one in comparison_lines([RunComparison("normal", [], align_layers(layers, port), None)])
            if one.startswith("Another order")
        ]
        assert line.endswith(text)
    same = comparison_lines([RunComparison("normal", [], align_layers(layers, layers), None)])
    assert not any(one.startswith("Another order") for one in same)


def test_an_array_can_be_the_input(conformance, files):
    np.save(files / "x.npy", np.zeros((1, 2, 4), np.float32))
    models = ("numpy:net.py:make", "numpy:wrong.py:make")
    status, out, _ = conformance("compare-models", *models, "--input-file", files / "x.npy")
    assert (status, out.splitlines()[-1]) == (0, "file: 1 layers and the results agree (proved)")


def test_several_inputs_have_names_or_positions(conformance, files):
    (files / "two.py").write_text("def make():\n    return lambda x, y: (x + y).reshape(1, 2, 2, 2).max(-1)\n", "utf-8")
    models = ("numpy:two.py:make", "numpy:two.py:make")
    status, out, _ = conformance("compare-models", *models, "--input", "1,2,4", "--input", "mask=1x2x4")
    # The recorded pooling reads the first input only, so its result is compared as the result of the model.
    assert status == 0
    assert "same with what follows" in out
    np.savez(files / "xy.npz", x=np.zeros((1, 2, 4), np.float32), y=np.zeros((1, 2, 4), np.float32))
    status, out, _ = conformance("compare-models", *models, "--input-file", files / "xy.npz")
    assert (status, out.splitlines()[-1]) == (0, "file: 1 layers and the results agree (proved)")
    status, _, err = conformance("compare-models", *models, "--input-file", files / "xy.npz", "--input", "1,2,4")
    assert status == 2
    assert "has the inputs x, y, --input has 0" in err[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--input or --input-file is needed"),
        (("--input", "1,2"), "--input 1,2: a batch, channels and 1 or more spatial extents"),
        (("--input", "1,0,4"), "is not [NAME=]SHAPE"),
        (("--input", "a=1,2,4", "--input", "a=1,2,4"), "--input a: given twice"),
        (("--input", "1,10000,10000"), "more than 20,000,000 elements"),
        (("--input", "1,2,4", "--backend", "torch=python"), "--backend torch: neither model is one of torch"),
        (("--input-file", "text.npy"), "--input-file text.npy: "),
    ],
)
def test_wrong_usage_is_one_line(conformance, files, options, message):
    (files / "text.npy").write_text("no array", "utf-8")
    status, _, err = conformance("compare-models", "numpy:net.py:make", "numpy:net.py:make", *options)
    assert status == 2
    assert message in err[-1]

"""The reader of PyTorch models. CONFORMANCE_TORCH_PYTHON is the path of a Python that has torch."""

import os
import subprocess
import zipfile

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.models.reading import ModelSource, read_model

PYTHON = os.environ.get("CONFORMANCE_TORCH_PYTHON", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="CONFORMANCE_TORCH_PYTHON is not set")
MODULE = """\
import torch
from torch import nn
from torch.nn import functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU())
        self.same = nn.Conv2d(4, 4, 2, padding="same", groups=2)
        self.pool = nn.MaxPool2d(3, 2, 1, ceil_mode=True)
        self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)

    def forward(self, x):
        x = self.pool(self.same(self.stem(x)))
        x = F.avg_pool2d(F.pad(x, (1, 0, 2, 0)), 2, padding=1)
        return F.adaptive_avg_pool2d(self.up(x), (3, None))

def make(): return Net()
def number(): return 3
def fails(): raise RuntimeError("no such luck")
def layers(): return nn.Sequential(
    nn.ReflectionPad1d(2), nn.LPPool1d(2, 3), nn.MaxPool1d(2, return_indices=True))
class NormalizedActivation(nn.BatchNorm2d):
    def __init__(self):
        super().__init__(3, eps=0.001)
        self.activation = nn.ReLU()
    def forward(self, x): return self.activation(super().forward(x))
class OwnConvolution(nn.Conv2d): pass
def derived(): return nn.Sequential(OwnConvolution(3, 3, 1), NormalizedActivation())
class Functions(nn.Module):
    def __init__(self):
        super().__init__()
        self.gelu, self.tanh = nn.GELU(), nn.GELU(approximate="tanh")
    def forward(self, x):
        x = F.leaky_relu(self.tanh(self.gelu(x)), 0.2)
        x = F.batch_norm(x, torch.zeros(3), torch.ones(3), eps=1e-4)
        return F.interpolate(F.gelu(x, approximate="tanh"), scale_factor=2, mode="bilinear")
def functions(): return Functions()
class Conv1dSame(nn.Conv1d):
    def forward(self, x): return super().forward(F.pad(x, (0, 1)))
def same(): return Conv1dSame(3, 3, 3, stride=2)
def circular(): return nn.Conv1d(3, 3, 3, padding=1, padding_mode="circular")
"""


def read(folder, source, **inputs):
    (folder / "net.py").write_text(MODULE, "utf-8")
    return read_model(ModelSource(source, registry.model_readers()["torch"], PYTHON, inputs), 120.0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(model):
    return [f"{one.name}: {one.problem or one.text}" for one in model.layers]


NET = [
    "stem.0: conv, window 3, stride 2, padding 1; 3 → 4 channels, 21 x 21",
    "same: conv, window 2, stride 1, padding (0, 1), groups 2; 4 → 4 channels, 11 x 11",
    "pool: max_pool, window 3, stride 2, padding 1, rounding ceil; 4 channels, 11 x 11",
    "avg_pool2d: avg_pool, window 2, stride 2, padding 1, padding counts; 4 channels, 8 x 7",
    "up: conv_transpose, window 2, stride 2, padding 0; 4 → 2 channels, 5 x 4",
]


def test_layers_and_functions_are_found_with_their_true_parameters(folder):
    model = read(folder, "net:make", **{"": (1, 3, 21, 21)})
    found = texts(model)
    assert found[:3] == NET[:3]
    assert found[4:6] == NET[3:5]
    assert found[3] == "pad: pad, pads (2, 0) x (1, 0); 4 channels, 6 x 6"
    assert model.layers[-1].parameters == {"output_size": (3, 8)}
    assert model.others == {"BatchNorm2d": 1, "ReLU": 1}


def test_a_convolution_has_its_weights(folder):
    layer = read(folder, "net:make", **{"": (1, 3, 21, 21)}).layers[0]
    assert len(layer.weights["kernel"]) == 4
    assert layer.kernel == (4, 3, 3, 3)
    assert not layer.bias


def test_other_layers_are_read_by_the_functions_that_they_call(folder):
    found = texts(read(folder, "net:layers", **{"": (1, 3, 20)}))
    assert found[0] == "0: pad, pads 2, mode reflect; 3 channels, 20"
    assert found[1] == "1: lp_pool, window 3, stride 3, padding 0; 3 channels, 24"
    assert [text.split(",")[0] for text in found[2:]] == ["2 (indices): max_pool_with_indices", "2: max_pool"]


def test_a_padding_mode_is_a_pad_and_a_convolution(folder):
    found = texts(read(folder, "net:circular", **{"": (1, 3, 9)}))
    assert [text.split(": ")[1].split(",")[0] for text in found] == ["pad", "conv"]
    assert "mode wrap" in found[0]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere:make", "ModuleNotFoundError"),
        ("net:nothing", "AttributeError"),
        ("net:number", r"it returned builtins\.int; torch reads torch\.Module"),
        ("net:fails", "no such luck"),
    ],
)
def test_a_wrong_reference_is_one_line(folder, source, message):
    with pytest.raises(ConformanceError, match=message) as caught:
        read(folder, source, **{"": (1, 3, 21, 21)})
    assert "\n" not in str(caught.value)


def test_the_input_shape_is_required_and_must_fit(folder):
    with pytest.raises(ConformanceError, match="needs --input"):
        read(folder, "net:make")
    with pytest.raises(ConformanceError, match="its call failed"):
        read(folder, "net:make", **{"": (1, 4, 21, 21)})
    with pytest.raises(ConformanceError, match="cells"):
        read(folder, "net:make", **{"": (1, 3, 10**6, 10**6)})


def export(folder):
    (folder / "net.py").write_text(MODULE, "utf-8")
    code = "p = torch.export.export(net.make().eval(), (torch.zeros(1, 3, 21, 21),)); torch.export.save(p, 'm.pt2')"
    code = f"import net, torch; {code}"
    subprocess.run([PYTHON, "-c", code], check=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)})
    return folder / "m.pt2"


def test_an_exported_program_has_the_same_layers_as_its_module(folder):
    found = [one for one in read(folder, str(export(folder))).layers if one.operator != "pad"]
    module = [one for one in read(folder, "net:make", **{"": (1, 3, 21, 21)}).layers if one.operator != "pad"]
    assert [one.text for one in found] == [one.text for one in module]
    assert [one.name for one in found][:3] == ["stem.0", "same", "pool"]
    assert found[0].weights["kernel"]


@pytest.mark.parametrize("content", [b"", b"\x80\x04cposix\nsystem\n.", b"PK\x05\x06" + bytes(18)])
def test_a_file_that_is_no_program_is_one_line(folder, content):
    (folder / "m.pt2").write_bytes(content)
    with pytest.raises(ConformanceError, match=r"not a program of torch\.export") as caught:
        read(folder, str(folder / "m.pt2"))
    assert "\n" not in str(caught.value)


def test_an_archive_that_unpacks_to_more_than_the_limit_is_not_unpacked(folder):
    path = folder / "m.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", "short")
        archive.filelist[0].file_size = 1 << 40  # what the directory of the archive says
    with pytest.raises(ConformanceError, match="the limit is"):
        read(folder, str(path))


def test_a_normalization_has_the_numbers_of_the_model(folder):
    model = read(folder, "net:make", **{"": (1, 3, 21, 21)})
    assert model.settings == {"BatchNorm2d": [{"eps": 1e-5, "momentum": 0.1}]}


def test_class_derived_from_a_layer_of_pytorch_counts_as_this_layer(folder):
    model = read(folder, "net:derived", **{"": (1, 3, 4, 4)})
    assert model.others == {"BatchNorm2d": 1, "ReLU": 1}
    assert model.settings == {"BatchNorm2d": [{"eps": 0.001, "momentum": 0.1}]}


def test_words_of_layers_and_calls_of_functions_are_read(folder):
    model = read(folder, "net:functions", **{"": (1, 3, 4, 4)})
    assert model.settings == {
        "GELU": [{"approximate": "none"}, {"approximate": "tanh"}],
        "leaky_relu": [{"negative_slope": 0.2}],
        "batch_norm": [{"eps": 1e-4, "momentum": 0.1}],
        "gelu": [{"approximate": "tanh"}],
        "interpolate": [{"mode": "bilinear", "align_corners": None}],
    }
    assert model.others == {"GELU": 2, "leaky_relu": 1, "batch_norm": 1, "gelu": 1, "interpolate": 1}


def test_an_exported_program_has_the_settings_of_its_functions(folder):
    assert read(folder, str(export(folder))).settings["batch_norm"] == [{"eps": 1e-5, "momentum": 0.1}]


def test_a_padding_of_a_class_that_computes_it_is_known_to_depend_on_the_size(folder):
    assert [one.padding_word for one in read(folder, "net:same", **{"": (1, 3, 8)}).layers] == ["same", ""]

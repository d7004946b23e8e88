"""Programs for old releases of OpenVINO: the newest opset whose module in Python has all calls."""

import pytest

from conformance.adapters.api import Unsupported
from conformance.adapters.openvino import SETUP, SURFACES
from conformance.adapters.openvino.pooling import NO_DILATIONS
from conformance.adapters.openvino.releases import release_setup, release_surfaces
from conformance.cases.steps import Step


def step(**parameters):
    plain = {"window": (2,), "stride": (2,), "padding": ((0, 0),), "dilation": (1,), "count_include_pad": False}
    return Step("avg_pool", (1, 2, 6), "float32", {"divisor": None, **plain, **parameters})


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("2024.2.0", "from openvino.runtime import opset14 as ops"),
        ("2024.6.0", "from openvino.runtime import opset15 as ops"),
        ("2025.0.0", "from openvino import opset15 as ops"),
        ("2026.0.0", "from openvino import opset16 as ops"),
    ],
)
def test_the_newest_opset_with_all_calls_is_imported(version, line):
    assert line in release_setup(version).splitlines()


def test_the_newest_release_has_the_setup_and_the_surfaces_of_the_adapter():
    assert release_setup("9999.0") == SETUP
    assert release_surfaces("9999.0") is SURFACES


@pytest.mark.parametrize("kind", ["lowerings", "words"])
@pytest.mark.parametrize("name", ["openvino.opset", "openvino.dynamic"])
def test_averages_of_an_older_opset_have_no_dilations(name, kind):
    (surface,) = (one for one in release_surfaces("2025.4.1") if one.name == name)
    average = getattr(surface, kind)["avg_pool"]
    plain = average(step())
    assert not isinstance(plain, Unsupported)
    assert "dilations" not in plain
    assert average(step(dilation=(2,))) is NO_DILATIONS

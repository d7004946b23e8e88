"""The adapter for ncnn: the parameters of its layers, and what has no layer."""

import ast
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from conformance.adapters import registry
from conformance.adapters.api import Unsupported, UnsupportedStep
from conformance.adapters.ncnn import SETUP, convolution, pooling
from conformance.cases.steps import Step
from tests.support.example_steps import convolution_step, pooling_step

(SURFACE,) = registry.get_backend("ncnn").surfaces
WINDOW = {"window": (2, 3), "stride": (1, 3)}
COUNTED = {"count_include_pad": True}


def pool(operator="max_pool", shape=(1, 2, 4, 6), **parameters):
    counted = COUNTED if operator == "avg_pool" else {}
    return pooling_step(operator, shape, **{**WINDOW, **counted, **parameters})


def weighted(operator="conv", *, bias=False, shape=(1, 2, 5, 5), kernel=(4, 2, 3, 2), **parameters):
    return convolution_step(operator, shape, kernel, bias=bias, **parameters)


def padded(mode="constant", pads=((1, 2), (3, 4)), value=0):
    return Step("pad", (1, 2, 5, 5), "float32", {"pads": pads, "mode": mode, "value": value})


def parameters(text):
    """Return the numbers of a layer by their ids."""
    return dict(pair.split("=") for pair in text.split('"')[3].split())


def test_parameters_start_with_the_width():
    assert pooling.max_pool(pool()) == 'compute(network("Pooling", "0=0 1=3 11=2 2=3 12=1 5=1"), x)'


def test_pads_are_left_top_right_and_bottom():
    found = parameters(pooling.max_pool(pool(padding=((1, 2), (3, 4)))))
    assert {name: found[name] for name in ("3", "13", "14", "15")} == {"3": "3", "13": "1", "14": "4", "15": "2"}


def test_a_stride_that_is_not_given_is_left_out():
    assert "2" not in parameters(pooling.max_pool(pool(stride=None)))


def test_rounding_up_never_drops_a_window():
    assert parameters(pooling.max_pool(pool(shape=(1, 2, 4, 7), rounding="ceil")))["5"] == "0"
    assert pooling.max_pool(pool(padding=((0, 0), (0, 2)), rounding="ceil")) is pooling.NO_ROUNDING
    assert isinstance(pooling.max_pool(pool(dilation=(2, 1))), Unsupported)


def test_padding_counts_by_a_parameter():
    average = pool("avg_pool", padding=((1, 1), (0, 0)))
    assert parameters(pooling.avg_pool(average))["6"] == "1"
    assert "6" not in parameters(pooling.avg_pool(average.with_parameters(count_include_pad=False)))
    assert isinstance(pooling.avg_pool(pool("avg_pool", divisor=3)), Unsupported)


def test_global_pooling_gets_its_axes_back():
    assert pooling.global_pool(pool("global_avg_pool")).endswith(".reshape(1, 2, 1, 1)")


def test_numbers_of_another_rank_have_no_parameters():
    with pytest.raises(UnsupportedStep):
        pooling.max_pool(pool(stride=(1,)))
    assert isinstance(convolution.conv(weighted(kernel=(4, 2, 3))), Unsupported)
    assert pooling.pad(padded(pads=((1, 2),))) is pooling.OTHER_RANK


def test_padding_is_finite_and_crops_nothing():
    assert parameters(pooling.pad(padded(value=-1))) == {"2": "3", "3": "4", "0": "1", "1": "2", "4": "0", "5": "-1.0"}
    for step in (
        padded("wrap"),
        padded(value=float("inf")),
        padded(pads=((-1, 0), (0, 0))),
        padded("reflect", ((5, 0),) * 2),
    ):
        assert isinstance(pooling.pad(step), Unsupported)


def test_a_convolution_has_the_number_of_its_weights():
    text = convolution.conv(weighted(bias=True, padding=((1, 1), (0, 2))))
    assert text.endswith(", kernel, bias), x)")
    found = parameters(text)
    assert (found["0"], found["6"], found["5"]) == ("4", "48", "1")
    assert (found["4"], found["14"], found["15"], found["16"]) == ("0", "1", "2", "1")
    assert '"ConvolutionDepthWise"' in convolution.conv(weighted(kernel=(4, 1, 3, 2), groups=2))


def test_kernels_of_transposed_convolutions_start_with_the_output_channels():
    step = weighted("conv_transpose", kernel=(2, 4, 3, 2), output_padding=(1, 0), stride=(2, 2))
    text = convolution.transpose(step)
    assert "kernel.swapaxes(0, 1)" in text
    assert (parameters(text)["18"], parameters(text)["19"]) == ("0", "1")
    groups = weighted("conv_transpose", kernel=(2, 2, 3, 2), groups=2)
    assert "kernel.reshape(2, -1, *kernel.shape[1:]).swapaxes(1, 2)" in convolution.transpose(groups)


def test_there_are_no_gradients():
    assert SURFACE.write_gradient is None


class MatWithoutOwnership:
    """A Mat that refers to the memory of an array, and reads it when it is cloned."""

    def __init__(self, array):
        self.reference = weakref.ref(array)

    def clone(self):
        array = self.reference()
        assert array is not None, "the array was freed before it was copied"
        return array.copy()


class IdentityNetwork:
    """A network whose output is its input."""

    def input_names(self):
        return ["x"]

    def create_extractor(self):
        return self

    def input(self, _name, mat):
        self.mat = mat

    def extract(self, _name):
        return 0, self.mat


def test_an_array_with_another_layout_exists_until_its_mat_is_cloned():
    setup = ast.parse(SETUP)
    setup.body = [node for node in setup.body if isinstance(node, ast.FunctionDef) and node.name == "compute"]
    names = {"np": np, "ncnn": SimpleNamespace(Mat=MatWithoutOwnership)}
    exec(compile(setup, "setup", "exec"), names)  # noqa: S102 - the text of the adapter
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)[:, :, ::2]
    assert np.array_equal(names["compute"](IdentityNetwork(), x), x)

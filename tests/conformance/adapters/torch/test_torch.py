"""The adapter of PyTorch: surfaces, and source text that runs around programs."""

from itertools import product
from pathlib import Path

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program
from conformance.cases.arrays import NUMPY_DTYPES
from conformance.cases.operators import FORWARD_OPERATORS
from conformance.translation.lowering import translate
from tests.conformance.adapters.torch.programs import NN, F
from tests.support.fake_backends import one

QUANTIZED = {"quantize", "dequantize", "quantized_avg_pool", "quantized_conv", "conv_integer"}
# The operators of torchvision are no part of PyTorch.
WITHOUT_CALL = QUANTIZED | {"deform_conv", "deform_conv_grad"}
"""Operators of the surfaces `torch.quantized`."""


def test_modules_of_an_adapter_are_not_backends():
    modules = {path.stem for path in Path(registry.adapters.__path__[0], "torch").glob("*.py")}
    assert len(modules) > 1
    assert not modules & {*registry.backend_names()}
    assert "torch" in registry.backend_names()


def test_bfloat16_is_passed_as_words(tmp_path):
    program = translate(one(tmp_path, "id: a, x: {values: [[[1, 2]]], dtype: bfloat16}, window: 2"), F)
    assert program.text.splitlines()[1:] == [
        "    x = torch.from_numpy(x).view(torch.bfloat16)",
        "    x = F.max_pool1d(x, 2)",
        '    return x.view(torch.uint16).numpy().view([("bfloat16", np.uint16)])',
    ]


@pytest.mark.parametrize("surface", [NN, F], ids=lambda surface: surface.name)
def test_every_dtype_of_every_operator_is_supported_or_has_a_reason(surface):
    composed = {"min_pool", "softmax_pool", "stochastic_pool", "stochastic_pool_probabilities", "dilation2d"}
    for name, dtype in product({*FORWARD_OPERATORS} - WITHOUT_CALL, NUMPY_DTYPES):
        integers = NUMPY_DTYPES[dtype].kind in "iub" and name.startswith("stochastic")
        known = surface.supports(name, dtype) or surface.unsupported_reason(name, dtype) is not None
        assert known or integers, f"{name} in {dtype}"
        assert name in surface.lowerings or name in composed


@pytest.mark.parametrize("surface", [NN, F], ids=lambda surface: surface.name)
def test_every_operator_and_gradient_of_the_catalogue_has_a_program(catalogue, surface):
    found = {case.operator for case in catalogue.cases if isinstance(translate(case, surface), Program)}
    assert {case.operator for case in catalogue.cases} - found == WITHOUT_CALL
    assert len(found) > len(FORWARD_OPERATORS)

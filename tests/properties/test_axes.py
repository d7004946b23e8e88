"""Programs for four and six spatial axes; six is the most that the catalogue allows. No framework is imported."""

import re

import pytest

from conformance.adapters.api import Program
from conformance.cases.operators import FORWARD_OPERATORS, OPERATORS, Geometry
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.lowering import translate
from tests.support.program_text import SURFACES, unexpected_parts

CALL_FOR_MANY_AXES = re.compile(r"[A-Za-z_][4-9][dD](_transpose|Transpose)?\(")
"""A call whose name contains a number of axes that no framework has: conv4d, MaxPool4D, conv4d_transpose."""
WINDOWS = ({"window": 2}, {"window": 2, "padding": 1}, {"window": 2, "stride": 1, "dilation": 2})
PARAMETERS = {
    Geometry.WINDOWS: WINDOWS,
    Geometry.DEFORMED: (*WINDOWS, {"window": 2, "groups": 2, "offset_groups": 4}),
    Geometry.TRANSPOSED: (*WINDOWS, {"window": 2, "groups": 2}),
    Geometry.UNPOOLING: ({"output_size": 3},),
    Geometry.GLOBAL: ({},),
    Geometry.CHANNELS: tuple({"local_size": size, "alpha": 1} for size in (3, 4)),
    Geometry.CELLS: ({"y_scale": 0.1},),
    Geometry.BINS: ({"output_size": 2},),
    Geometry.FRACTIONS: ({"window": 1, "output_size": 2},),
    Geometry.RESAMPLING: ({"size": 4, "mode": "linear"}, {"size": 6, "mode": "nearest"}),
    Geometry.SAMPLING: tuple({"output_size": 2, "mode": mode} for mode in ("linear", "nearest")),
    Geometry.TO_BLOCKS: tuple({"block": 2, "order": order} for order in ("dcr", "crd")),
    Geometry.FROM_BLOCKS: tuple({"block": 2, "order": order} for order in ("dcr", "crd")),
    Geometry.TO_COLUMNS: tuple({"window": 2, "padding": 1, "order": order} for order in ("dcr", "crd")),
    Geometry.FROM_COLUMNS: tuple({"window": 2, "output_size": 4, "order": order} for order in ("dcr", "crd")),
    Geometry.PADS: tuple({"pads": 1, "mode": mode} for mode in ("constant", "edge", "reflect", "symmetric", "wrap")),
}
# Matrices have one spatial axis, and rows for two or three axes.
OPERATORS_OF_ANY_RANK = [name for name in FORWARD_OPERATORS if OPERATORS[name].geometry is not Geometry.POINTS]
QUANTIZED = {"x_scale": 0.5, "w_scale": 0.25, "y_scale": 2}
PER_OPERATOR = {
    "quantized_avg_pool": WINDOWS,
    "quantized_conv": ({"window": 2, **QUANTIZED}, {"window": 2, "padding": 1, "groups": 2, **QUANTIZED}),
    "conv_integer": ({"window": 2}, {"window": 2, "padding": 1, "groups": 2}),
    "dequantize": ({"x_scale": 0.1},),
}


def cases(operator, rank):
    """Yield cases of an operator with this number of axes, and of its gradient."""
    every = PER_OPERATOR.get(operator, PARAMETERS[OPERATORS[operator].geometry])
    for parameters in every:
        channels = 2 * OPERATORS[operator].channel_multiple(parameters, rank)
        extent = 4 if OPERATORS[operator].geometry is Geometry.FROM_BLOCKS else 3
        shape = (1, channels, *[extent] * rank)
        dtype = "int8" if operator in PER_OPERATOR else "float32"
        yield CaseRequest(operator, parameters, shape=shape, dtype=dtype).case()
        if OPERATORS[operator].is_differentiable:
            yield CaseRequest(operator, parameters, shape=shape, gradient="x").case()


@pytest.mark.parametrize("rank", [4, 6])
@pytest.mark.parametrize("operator", OPERATORS_OF_ANY_RANK)
def test_programs_call_existing_functions_for_many_axes(operator, rank):
    programs = 0
    for case in cases(operator, rank):
        for backend, surface in SURFACES:
            program = translate(case, surface)
            if isinstance(program, Program):
                assert not CALL_FOR_MANY_AXES.search(program.text), f"{surface.name}: {program.text}"
                assert [*unexpected_parts(backend, case, program.text)] == [], f"{surface.name}: {program.text}"
                programs += 1
    assert programs


@pytest.mark.parametrize("name", ["conv4d(", "MaxPool4D(", "conv4d_transpose(", "nn.Conv5DTranspose(", "F.max_pool6d("])
def test_pattern_finds_calls_for_many_axes(name):
    assert CALL_FOR_MANY_AXES.search(name)
    assert not CALL_FOR_MANY_AXES.search(re.sub("[4-6]", "3", name))

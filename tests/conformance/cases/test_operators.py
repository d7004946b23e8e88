"""The table of operators, and that other modules derive their lists from it."""

import json
import re
import subprocess
import sys
import textwrap

import pytest

from conformance.cases.operators import (
    INPUTS,
    OPERATORS,
    PARAMETERS,
    Arithmetic,
    Geometry,
    ParameterKind,
    drawing_properties,
)
from reference import OPERATORS as REFERENCE
from tests import ROOT

INVENTED = textwrap.dedent(
    """
    import json
    from dataclasses import replace

    import click

    from conformance.cases import operators

    center = operators.Parameter("center", operators.ParameterKind.CHOICE, "low", "Which of two values in the middle.",
                                 choices=("low", "high"), id_prefix="center.")
    invented = operators.Operator("median_pool", "The median of each window.", operators.Geometry.WINDOWS,
                                  parameters=(*operators.OPERATORS["max_pool"].parameters, center),
                                  operations=lambda terms: {"comparisons": terms})
    operators.PARAMETERS = {**operators.PARAMETERS, "center": center}
    operators.OPERATORS = {**operators.OPERATORS, "median_pool": invented}
    operators.OPERATORS["median_pool_grad"] = operators.gradient_operator(invented)
    operators.FORWARD_OPERATORS += ("median_pool",)

    # Imported after the table is complete, as if the operator were in it.
    from conformance.cases.cost import operator_cost
    from conformance.cases.features.case_features import case_features
    from conformance.cases.parsing import parse_case
    from conformance.catalogue.sweeps import Sweep
    from conformance.cli.commands.translate import translate_command
    from conformance.cli.options import OPERATOR_OPTION
    from conformance.exploration.rng import Rng
    from conformance.exploration.space import OperatorSpace
    from docs.generate.schema import schema_text

    raw = {"id": "s", "cover": "pairs", "x": {"values": "integers"},
           "factors": {"rank": [1], "extent": [5], "window": [2], "center": ["low", "high"]}}
    sweep = Sweep.parse("median_pool", raw)
    rows = sweep.rows()
    case = parse_case({"operator": "median_pool", "source": ""}, sweep.raw_case(rows[-1]), "")
    space = OperatorSpace.from_sweeps("median_pool", [sweep])
    definitions = json.loads(schema_text())["$defs"]
    option = next(one for one in translate_command.params if one.name == "center")
    command = OPERATOR_OPTION(click.Command("list", callback=lambda **_: None))
    print(json.dumps({
        "schema operators": definitions["operator"]["enum"][-2:],
        "schema parameter": definitions["case"]["properties"]["center"],
        "schema choices": definitions["p_center"]["enum"],
        "choices of the option": list(option.type.choices),
        "operators of the option": "median_pool" in command.params[0].type.choices,
        "rows": rows,
        "parameter of a row": case.parameters["center"],
        "cost": operator_cost(case).operations["comparisons"],
        "explored": sorted({space.draw(Rng(seed)).levels["center"] for seed in range(20)}),
        "features": [phrase for phrase in case_features(case) if "center" in phrase],
        "drawing": operators.drawing_properties()["median_pool_grad"],
    }))
    """
)


def test_an_operator_in_the_table_is_known_everywhere():
    printed = subprocess.run(
        [sys.executable, "-c", INVENTED], cwd=ROOT, check=True, capture_output=True, text=True, timeout=120
    ).stdout
    found = json.loads(printed)
    assert found == {
        "schema operators": ["median_pool", "median_pool_grad"],
        "schema parameter": {"$ref": "#/$defs/p_center"},
        "schema choices": ["low", "high"],
        "choices of the option": ["low", "high"],
        "operators of the option": True,
        "rows": ["1d-i5-w2", "1d-i5-w2-center.high"],
        "parameter of a row": "high",
        "cost": [2 * 3 * 2 * 2, 2 * 3 * 2 * 2],
        "explored": ["high", "low"],
        "features": ["center = high"],
        "drawing": {"geometry": "windows", "gradient": True, "per_cell": False},
    }


def test_the_table_and_the_reference_have_the_same_operators():
    assert OPERATORS.keys() == REFERENCE.keys()


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=lambda operator: operator.name)
def test_every_parameter_and_input_of_an_operator_is_described(operator):
    assert operator.defaults.keys() <= PARAMETERS.keys()
    assert {*operator.inputs} <= INPUTS.keys()
    assert {*operator.optional_inputs} <= {*operator.inputs}
    assert operator.help.endswith(".")


def test_defaults_are_among_the_choices_and_limits():
    for operator in OPERATORS.values():
        for parameter in operator.parameters:
            if parameter.kind is ParameterKind.CHOICE:
                assert parameter.required or parameter.default in parameter.choices
            if parameter.limits and parameter.default is not None:
                assert parameter.limits[0] <= parameter.default <= parameter.limits[1]


def test_gradients_have_ties_and_outputs_where_the_operator_requires_them():
    assert "ties" in OPERATORS["max_pool_grad"].defaults
    assert "ties" not in OPERATORS["avg_pool_grad"].defaults
    assert OPERATORS["conv_grad"].outputs == ("x", "kernel", "bias")
    assert OPERATORS["max_pool_with_indices_grad"].outputs == ()
    assert OPERATORS["max_pool_grad"].operations is None


def test_kernels_of_transposed_convolution_have_the_input_channels_first():
    conv, transposed = OPERATORS["conv"], OPERATORS["conv_transpose"]
    assert conv.kernel_shape(3, 2, 4, (5,)) == (8, 3, 5)
    assert transposed.kernel_shape(3, 2, 4, (5,)) == (12, 2, 5)
    for operator in (conv, transposed):
        kernel = operator.kernel_shape(3, 2, 4, (5,))
        assert (operator.input_channels(kernel, 4), operator.output_channels(kernel, 4)) == (12, 8)


def test_kernels_of_channels_have_a_window_for_each_channel_of_x():
    dilation = OPERATORS["dilation2d"]
    assert dilation.has_weights
    assert not dilation.changes_channels
    kernel = dilation.kernel_shape(3, 2, 1, (5, 4))
    assert kernel == (3, 1, 5, 4)
    assert (dilation.input_channels(kernel, 1), dilation.output_channels(kernel, 1)) == (3, 3)
    assert OPERATORS["dilation2d_grad"].outputs == ("x", "kernel")
    assert "ties" in OPERATORS["dilation2d_grad"].defaults


def test_families_are_the_folders_of_the_catalogue():
    for operator in OPERATORS.values():
        assert (ROOT / "cases" / operator.family / f"{operator.name}.yaml").is_file()


def test_only_sums_and_averages_are_linear():
    linear = {operator.forward for operator in OPERATORS.values() if operator.arithmetic.is_linear}
    assert linear >= {"avg_pool", "global_avg_pool", "adaptive_avg_pool", "conv", "conv_transpose"}
    assert not linear & {"max_pool", "lp_pool", "softmax_pool", "stochastic_pool", "max_unpool", "pad"}
    assert not Arithmetic.SELECTION.is_linear
    assert OPERATORS["stochastic_pool"].geometry is Geometry.WINDOWS


def test_the_drawing_of_windows_distinguishes_geometries_not_operators():
    script = (ROOT / "reports" / "views" / "static" / "geometry.js").read_text("utf-8")
    assert set(re.findall(r'kind === "(\w+)"', script)) == {geometry.name.lower() for geometry in Geometry}
    assert not OPERATORS.keys() & set(re.findall(r'"(\w+)"', script))
    assert drawing_properties().keys() == OPERATORS.keys()

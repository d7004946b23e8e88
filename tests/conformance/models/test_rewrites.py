import re
from dataclasses import replace

import numpy as np
import pytest

import reference
from conformance.cases.steps import case_step
from conformance.catalogue import describe
from conformance.exploration.evaluation import SurfaceResult
from conformance.judging.ledger import LedgerEntry
from conformance.models.audit import questions_of_model
from conformance.models.layer import Model, ModelLayer
from conformance.models.rewrites import (
    NO_CHANGE_KNOWN,
    case_of_layer,
    rewrite_programs,
    rewrite_reason,
    source_lines,
)
from conformance.models.verdicts import Audit, AuditedLayer, ConventionDifference, LayerVerdict, TargetVerdict
from reports.results.vocabulary import Status

CONV = {"stride": (2, 2), "padding": "same_upper", "dilation": (1, 1), "groups": 1}
LAYER = ModelLayer("stem", "conv", CONV, (1, 4, 8, 8), kernel=(6, 4, 3, 3), bias=True)
PASSES, FAILS = SurfaceResult("torch.nn", Status.PASS), SurfaceResult("torch.nn", Status.KNOWN)
STALE = SurfaceResult("torch.nn", Status.STALE)
RESULTS = {"integers": PASSES, "infinity": STALE, "NaN": FAILS}
LITERT = describe.surfaces_by_name()["litert"]
AVERAGE = {"window": (3, 3), "stride": (2, 2), "padding": ((1, 1), (1, 1)), "count_include_pad": True}
TARGET = describe.surfaces_by_name()["torch.nn"]


def program(layer, how="padded", target=TARGET, *, source=None, reason="", verdict=LayerVerdict.REWRITE, **options):
    """Return what to write for a layer that a target computes in this way, "" for nothing."""
    (questions,) = questions_of_model(Model("m", "onnx.reference", (layer,)))
    name, results = target[1].name, options.pop("results", RESULTS)
    deviations = options.pop("source_deviations", {})
    verdicts = {name: TargetVerdict(verdict, how, reason, results=results, source_deviations=deviations)}
    audited = AuditedLayer(questions.layers, questions.checked, "", verdicts)
    found = rewrite_programs(Audit(Model("m", "", (layer,)), (name,), (audited,)), [target], source, 110, **options)
    return found.get((0, name), "")


def test_the_program_has_all_channels_of_the_layer():
    text = program(LAYER)
    assert "nn.Conv2d(4, 6, 3" in text
    assert "ConstantPad2d((0, 1, 0, 1)" in text


def test_a_layer_that_is_one_call_is_not_printed():
    assert program(LAYER, "native") == ""


def test_a_layer_that_is_too_large_for_a_case_is_printed_with_fewer_channels():
    large = ModelLayer("stem", "conv", CONV, (1, 4096, 64, 64), kernel=(8192, 4096, 3, 3))
    assert "nn.Conv2d(" in program(large)


def test_the_reason_of_a_rewrite_is_that_of_the_adapter():
    (questions,) = questions_of_model(Model("m", "", (LAYER,)))
    assert rewrite_reason(questions, TARGET[1]) == "convolution has one padding for both ends of an axis"


def test_the_case_of_a_layer_has_its_parameters():
    case = case_of_layer(LAYER)
    assert case.parameters["padding"] == ((0, 1), (0, 1))
    assert case.inputs["kernel"].shape == (6, 4, 3, 3)


def test_the_first_layer_of_a_network_has_its_own_size():
    # The reference would take too long for its 1.9 billion terms, and computes nothing here.
    parameters = {"stride": (2, 2), "padding": ((3, 3), (3, 3)), "dilation": (1, 1), "groups": 1}
    case = case_of_layer(ModelLayer("conv1", "conv", parameters, (1, 3, 224, 224), kernel=(64, 3, 7, 7)))
    assert (case.shape, case.inputs["kernel"].shape) == ((1, 3, 224, 224), (64, 3, 7, 7))


def test_a_program_says_what_the_audit_verified():
    assert "run in this audit: agrees for integers, infinity; differs for NaN" in program(LAYER)
    assert "verified:" not in program(LAYER)


def test_a_program_for_one_size_names_no_option_of_another_command():
    keras = describe.surfaces_by_name()["keras-tensorflow.layers"]
    text = program(
        ModelLayer("pool", "avg_pool", AVERAGE | {"rounding": "ceil"}, (1, 4, 8, 8)), "composed", target=keras
    )
    assert "depends on" in text
    assert "--shape" not in text


def test_a_converted_target_gets_the_change_of_the_model():
    layer, results = ModelLayer("pool", "avg_pool", AVERAGE, (1, 4, 8, 8)), {"integers": PASSES}
    functional = describe.surfaces_by_name()["torch.nn.functional"][1]
    assert program(layer, target=LITERT, source=functional, results=results).splitlines() == [
        "# before the conversion, pad the input with 0 by 1 x 1; then",
        "# write the layer as avg_pool, window 3, stride 2, padding 0",
        "x = F.pad(x, (1, 1, 1, 1))",
        "x = F.avg_pool2d(x, 3, stride=2)",
    ]
    assert "F." not in program(layer, target=LITERT)
    assert "class Graph" in program(layer, target=LITERT, with_graphs=True)


def test_without_a_change_of_the_model_there_is_one_line():
    layer = ModelLayer("pool", "lp_pool", {"window": (3, 3), "stride": (2, 2), "p": 2}, (1, 4, 8, 8))
    assert program(layer, "composed", target=LITERT, results={}) == f"# {NO_CHANGE_KNOWN}"


def change(operator, parameters, shape):
    source = describe.surfaces_by_name()["torch.nn.functional"][1]
    layer = ModelLayer("pool", operator, parameters, shape)
    return program(layer, "composed", target=LITERT, source=source, results={}).splitlines()


def test_equal_bins_are_one_average_of_a_converted_target():
    assert change("adaptive_avg_pool", {"output_size": (3, 2)}, (1, 4, 6, 6)) == [
        "# write the layer as avg_pool, window 2 x 3, stride 2 x 3, padding 0",
        "x = F.avg_pool2d(x, (2, 3))",
    ]


def test_an_average_whose_padding_does_not_count_is_divided_by_that_of_ones():
    lines = change("avg_pool", {**AVERAGE, "count_include_pad": False, "rounding": "ceil"}, (1, 4, 8, 8))
    assert lines[0].startswith("# before the conversion, pad the input with 0 by (1, 2)")
    assert lines[-1] == "x = mean(x) / mean(torch.ones_like(x))"


@pytest.mark.parametrize(("divisor", "number"), [(3, "4/3"), (8, "1/2"), (1, "4")])
def test_a_divisor_that_the_target_does_not_have_is_a_multiplication_by_a_number(divisor, number):
    pool = {"window": (2, 2), "stride": (2, 2), "padding": ((0, 0), (0, 0)), "divisor": divisor}
    text = program(ModelLayer("p", "avg_pool", pool, (1, 4, 8, 8)), "composed", LITERT)
    assert text.splitlines()[-2:] == [
        "# write the layer as avg_pool, window 2, stride 2, padding 0",
        f"# multiply the result by {number}, the cells of the window over those that count",
    ]


def test_a_program_that_is_not_that_of_the_model_says_so():
    entry = LedgerEntry("e", (), (), (), "It scales partial windows.")
    verdict = TargetVerdict(
        LayerVerdict.EXPLAINED,
        conventions={"NaN": ConventionDifference("max_pool/nan", "nan", "passed-over")},
        source_deviations={"integers": entry, "infinity": entry},
    )
    functional = describe.surfaces_by_name()["torch.nn.functional"][1]
    assert list(source_lines(verdict, functional, TARGET[1], 200)) == [
        "# this computes the result of the reference for integers, infinity, and torch.nn.functional another one: "
        "It scales partial windows.",
        "# for NaN, this computes 'passed-over' on torch.nn, and torch.nn.functional 'nan' (convention max_pool/nan)",
    ]


def test_a_call_for_one_size_is_printed_before_the_program_for_every_size():
    same = CONV | {"padding": ((1, 1), (1, 1))}
    layer = ModelLayer("stem", "conv", same, (1, 4, 9, 9), kernel=(6, 4, 3, 3))
    target = describe.surfaces_by_name()["keras-jax.layers"]
    text = program(layer, "native", target=target, reason="exact for 9 x 9")
    assert text.index("exact for 9 x 9") < text.index('padding="same"') < text.index("ZeroPadding2D(((1, 1), (1, 1))")
    every = replace(layer, parameters=same | {"stride": (1, 1)})  # `same` for every size
    assert program(every, "native", target=target) == ""


def test_one_call_for_the_input_size_is_printed_with_it():
    parameters = {"window": (3, 3), "stride": (2, 2), "padding": ((0, 0), (0, 0)), "rounding": "ceil"}
    layer = ModelLayer("pool", "max_pool", parameters, (1, 4, 8, 8))
    text = program(layer, "native", target=describe.surfaces_by_name()["keras-jax.layers"])
    assert 'MaxPooling2D(3, strides=2, padding="same"' in text


def test_for_a_converted_target_that_differs_for_nan_only_this_is_said():
    layer = ModelLayer("pool", "max_pool", {"window": (2, 2), "stride": (2, 2)}, (1, 4, 8, 8))
    lines = program(layer, "native", target=LITERT).splitlines()
    assert lines[0] == "# differs for NaN only; agrees for integers, infinity"
    assert "test the input of the model" in " ".join(line.strip("# ") for line in lines)
    assert program(layer, "native") == ""


def test_a_difference_for_finite_numbers_is_not_said_to_be_one_for_nan():
    layer = ModelLayer("pool", "max_pool", {"window": (2, 2), "stride": (2, 2)}, (1, 4, 8, 8))
    assert program(layer, "native", target=LITERT, results={**RESULTS, "integers": FAILS}) == ""


def test_adaptive_pooling_without_a_program_has_its_slices():
    layer = ModelLayer("pool", "adaptive_avg_pool", {"output_size": (3, 2)}, (1, 4, 7, 5))
    lines = program(layer, "", verdict=LayerVerdict.UNSUPPORTED).splitlines()
    assert "the suite has no program for adaptive_avg_pool on torch.nn" in lines[0]
    assert lines[-2:] == ["# spatial axis 0: 0:3, 2:5, 4:7", "# spatial axis 1: 0:3, 2:5"]
    text = program(LAYER, "", verdict=LayerVerdict.UNSUPPORTED, reason="no kernel")
    assert text == "# the suite has no program for conv on torch.nn: no kernel"


def test_unequal_bins_of_a_converted_target_are_slices_that_the_audit_has_run():
    lines = change("adaptive_avg_pool", {"output_size": (3, 5)}, (1, 4, 7, 5))
    assert "averages of these slices" in lines[0]
    assert "maxima of these slices" in change("adaptive_max_pool", {"output_size": (3, 5)}, (1, 4, 7, 5))[0]
    assert lines[-1] == "# spatial axis 0: 0:3, 2:5, 4:7"


def test_a_bin_for_every_cell_is_no_layer():
    (line,) = change("adaptive_avg_pool", {"output_size": (7, 5)}, (1, 4, 7, 5))
    assert line.startswith("# leave the layer out")
    layer = ModelLayer("pool", "adaptive_avg_pool", {"output_size": (7, 5)}, (1, 4, 7, 5))
    assert program(layer, "", verdict=LayerVerdict.UNSUPPORTED).startswith("# leave the layer out")


def test_a_program_with_zeros_for_weights_says_which_weights_to_put_there():
    conv = ModelLayer(
        "c", "conv", CONV | {"stride": (1, 1), "padding": ((0, 0), (0, 0))}, (1, 4, 10, 10), kernel=(6, 4, 3, 3)
    )
    pads = {"pads": ((1, 1), (1, 1)), "mode": "wrap"}
    layer = ModelLayer("c", "pad", pads, (1, 4, 8, 8), following=conv)
    text = program(layer, "native", target=describe.surfaces_by_name()["flax.linen"])
    assert 'padding="CIRCULAR"' in text
    assert "put the weights of the model in place of the zeros" in text
    assert "kernel 6 x 4 x 3" in text


def test_a_partial_norm_has_the_result_of_the_model():
    norm = {"window": (3, 3), "stride": (2, 2), "p": 2, "rounding": "ceil"}
    functional = describe.surfaces_by_name()["torch.nn.functional"][1]
    target = describe.surfaces_by_name()["onnxruntime"]
    deviations = {"integers": LedgerEntry("e", (), (), (), "It scales partial windows.")}
    whole, cut = (ModelLayer("p", "lp_pool", norm, (1, 4, extent, extent)) for extent in (7, 8))
    options = {"how": "native", "target": target, "source": functional, "source_deviations": deviations}
    text = program(cut, **options)
    assert "counts the last window as a whole one" in text
    assert '"Mul"' in text
    assert program(whole, **options).startswith("# this computes the result of the reference for integers, and torch")
    odd = program(replace(whole, parameters={**norm, "p": 3}), **options)
    assert "also for negative numbers" in " ".join(odd.replace("#", " ").split())
    assert [part in odd for part in ('"LpPool"', '"AveragePool"', '"Pow"')] == [False, True, True]
    assert "a fractional power" not in odd
    assert "a fractional power" in program(replace(whole, parameters={**norm, "p": 2.5}), **options)


def test_a_norm_that_a_converted_target_lacks_is_written_with_operators_that_it_has():
    parameters = {"window": (3, 3), "stride": (2, 2), "p": 3, "rounding": "ceil"}
    layer = ModelLayer("p", "lp_pool", parameters, (1, 4, 8, 8))
    functional = describe.surfaces_by_name()["torch.nn.functional"][1]
    text = program(layer, "", LITERT, source=functional, verdict=LayerVerdict.UNSUPPORTED, results={})
    code = [line for line in text.splitlines() if not line.startswith("#")]
    assert code[:3] == ["x = F.pad(x, (0, 1, 0, 1))", "x = x ** 3", "x = F.avg_pool2d(x, 3, stride=2)"]
    assert code[-1] == "x = x ** (1 / 3)"
    assert "not run in this audit" in text


@pytest.mark.parametrize("operator", ["max_pool", "min_pool"])
@pytest.mark.parametrize(("stride", "rounding"), [(2, "ceil"), (1, "floor"), (3, "floor")])
def test_dilated_maxima_without_a_program_are_those_of_slices(operator, stride, rounding):
    geometry = {"window": (3, 2), "stride": (stride,) * 2, "padding": ((1, 1), (1, 0)), "dilation": (2, 3)}
    layer = ModelLayer("p", operator, {**geometry, "rounding": rounding}, (1, 2, 9, 10))
    text = program(layer, "", LITERT, verdict=LayerVerdict.UNSUPPORTED, reason="no dilation", results={})
    pads = case_step(case_of_layer(layer)).padding_to_last_window
    sign, reduce = (-1, np.maximum) if operator == "max_pool" else (1, np.minimum)
    x = np.random.default_rng(3).permutation(180).reshape(layer.shape).astype(np.float32)
    found = np.pad(x, ((0, 0), (0, 0), *pads), constant_values=sign * np.inf)
    for axis in range(2):
        slices = re.search(rf"spatial axis {axis}: (.*)", text).group(1).split(", ")
        index = (slice(None),) * (2 + axis)
        found = reduce.reduce([found[(*index, slice(*map(int, one.split(":"))))] for one in slices])
    pool = getattr(reference, operator)
    np.testing.assert_array_equal(found, pool(x, **geometry, rounding=rounding))


def test_indices_without_a_program_are_not_those_of_slices():
    parameters = {"window": (2, 2), "stride": (2, 2), "output": "indices"}
    layer = ModelLayer("p", "max_pool_with_indices", parameters, (1, 2, 4, 4))
    text = program(layer, "", LITERT, verdict=LayerVerdict.UNSUPPORTED, reason="no indices", results={})
    assert text == "# the suite has no program for max_pool_with_indices on litert: no indices"


@pytest.mark.parametrize(("mode", "cells"), [("edge", "min(max(i, 0), 7)"), ("wrap", "i % 8")])
def test_padding_that_a_converted_target_lacks_takes_cells_by_their_index(mode, cells):
    parameters = {"pads": ((1, 2), (0, 0)), "mode": mode}
    lines = change("pad", parameters, (1, 4, 8, 8))
    assert lines[-1] == f"x = x[:, :, [{cells} for i in range(-1, 10)]]"
    assert all(line.startswith("# ") for line in lines[:-1])
    x = np.arange(256).reshape(1, 4, 8, 8)
    found = {"x": x}
    exec(lines[-1], found)  # noqa: S102 - the line that is tested
    np.testing.assert_array_equal(found["x"], np.pad(x, ((0, 0), (0, 0), (1, 2), (0, 0)), mode=mode))
    without_source = program(ModelLayer("p", "pad", parameters, (1, 4, 8, 8)), "composed", LITERT, results={})
    assert f"[{cells} for i in range(-1, 10)]" in " ".join(without_source.replace("#", " ").split())


def test_a_layer_without_a_program_has_the_reason():
    norm = {"window": (2, 2), "stride": (2, 2), "p": 3}
    layer = ModelLayer("p", "lp_pool", norm, (1, 4, 8, 8))
    text = program(layer, "", LITERT, verdict=LayerVerdict.UNSUPPORTED, reason="L2_POOL_2D has p = 2", results={})
    assert text == "# the suite has no program for lp_pool on litert: L2_POOL_2D has p = 2"

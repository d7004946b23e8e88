from dataclasses import replace

import numpy as np
import pytest

from conformance.judging.expected import compute_reference
from conformance.models.comparison import compare as comparing
from conformance.models.comparison.compare import Place, compare_models
from conformance.models.comparison.judgement import array_difference, noise_limit
from conformance.models.comparison.layers import find_layers
from conformance.models.comparison.recording import RecordedModel, RecordedRun, nudged
from conformance.models.comparison.smallest_difference import smallest_difference
from conformance.models.comparison.source import ModelSource
from reference import Windows
from tests.support.recorded_models import MISTAKES, Recording, record_network


def compare(port):
    (found,) = compare_models(record_network(), port, ["negative"])
    return found


def test_a_correct_port_agrees():
    found = compare(record_network())
    assert found.first is None
    assert [layer.source.name for layer in found.layers] == ["conv1", "pool", "conv2", "grouped", "up", "avg"]
    assert all(layer.agrees and layer.input_agrees for layer in found.layers)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_layer_with_a_mistake_is_named_with_its_reason(mistake):
    layer, reason = MISTAKES[mistake]
    found = compare(record_network(mistake)).first
    assert found.layer.source.name == layer
    assert found.place is (Place.LAYER if reason else Place.BETWEEN)
    assert any(reason in one for one in found.reasons) or not reason
    assert not reason or len(found.reasons) <= 2


@pytest.mark.parametrize("mistake", [name for name, (_, reason) in MISTAKES.items() if reason])
def test_later_layers_are_judged_on_their_own_input(mistake):
    found = compare(record_network(mistake))
    assert [one.source.name for one in found.layers if not one.agrees] == [MISTAKES[mistake][0]]


def with_scaled_weights(model, *, is_removed):
    """Return the model with weights and result of a convolution times 3; is_removed: whether the factor is removed."""
    (run,) = model.runs
    conv2, grouped = run.calls[2:4]
    changed = replace(conv2, inputs={**conv2.inputs, "kernel": 3 * conv2.inputs["kernel"]}, result=(3 * conv2.result))
    read = grouped if is_removed else replace(grouped, inputs={**grouped.inputs, "x": 3 * grouped.x})
    return replace(model, runs=[replace(run, calls=[*run.calls[:2], changed, read, *run.calls[4:]])])


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_layer_and_the_operators_after_it_may_be_one(is_removed):
    found = compare(with_scaled_weights(record_network(), is_removed=is_removed))
    assert found.layers[2].agrees is found.layers[2].agrees_later is is_removed
    assert (found.first is None) is is_removed
    assert is_removed or (found.first.layer is found.layers[2] and "other numbers" in found.first.reasons[0])


def test_a_wrong_number_in_a_channel_that_is_not_computed_first_is_found():
    model = record_network()
    (run,) = model.runs
    conv2, grouped = run.calls[2:4]
    kernel, result = conv2.inputs["kernel"].copy(), conv2.result.copy()
    kernel[3] *= 2
    result[:, 3] *= 2
    changed = replace(conv2, inputs={**conv2.inputs, "kernel": kernel}, result=result)
    calls = [*run.calls[:2], changed, replace(grouped, inputs={**grouped.inputs, "x": result}), *run.calls[4:]]
    found = compare(replace(model, runs=[replace(run, calls=calls)]))
    assert found.first.layer.source.name == "conv2"


def test_a_wrong_result_of_the_model_is_found():
    model = record_network()
    (run,) = model.runs
    found = compare(replace(model, runs=[replace(run, results=[run.results[0] + np.float32(0.5)])]))
    assert found.first.place is Place.RESULT
    assert found.first.difference == pytest.approx(0.5, rel=1e-3)


def test_rounding_of_the_results_is_no_difference():
    model = record_network()
    (run,) = model.runs
    result = np.nextafter(run.results[0], np.float32(np.inf))
    assert compare(replace(model, runs=[replace(run, results=[result])])).first is None


def test_the_bias_may_be_added_after_the_call():
    model = record_network()
    (run,) = model.runs
    first = run.calls[0]
    inputs = {name: value for name, value in first.inputs.items() if name != "bias"}
    result = first.result - first.inputs["bias"].reshape(-1, 1, 1)
    calls = [replace(first, inputs=inputs, result=result), *run.calls[1:]]
    found = compare(replace(model, runs=[replace(run, calls=calls)]))
    assert found.layers[0].verdict.budget_used < 1


@pytest.mark.parametrize("is_cropped", [True, False])
def test_a_layer_with_another_shape_agrees_if_the_next_layer_reads_the_same(is_cropped):
    model = record_network()
    (run,) = model.runs
    up, avg = run.calls[4:]
    parameters = {**up.parameters, "padding": ((0, 0), (0, 0)), "output_padding": (0, 0)}
    whole = np.pad(up.result, ((0, 0), (0, 0), (1, 0), (1, 0)))
    if not is_cropped:
        avg = replace(avg, inputs={"x": avg.x + 1}, result=avg.result + 1)
    calls = [*run.calls[:4], replace(up, parameters=parameters, result=whole), avg]
    results = run.results if is_cropped else [run.results[0] + 1]
    found = compare(replace(model, runs=[replace(run, calls=calls, results=results)]))
    assert found.layers[4].is_cropped
    assert found.layers[4].agrees
    assert (found.first is None) is is_cropped
    assert is_cropped or (found.first.place, found.first.layer.source.name) == (Place.BETWEEN, "avg")


def test_a_layer_with_a_mistake_before_a_crop_has_no_reason_for_the_crop():
    model = record_network()
    (run,) = model.runs
    up, avg = run.calls[4:]
    inputs = {**up.inputs, "kernel": up.inputs["kernel"][..., ::-1, ::-1]}
    parameters = {**up.parameters, "padding": ((0, 0), (0, 0)), "output_padding": (0, 0)}
    (layer,) = find_layers([replace(up, inputs=inputs, parameters=parameters)])
    whole = layer.expected(up.x).value
    (after,) = find_layers([replace(avg, inputs={"x": whole[:, :, 1:, 1:]})])
    calls = [*run.calls[:4], replace(layer.call, result=whole)]
    calls.append(replace(after.call, result=after.expected(after.x).value))
    found = compare(replace(model, runs=[replace(run, calls=calls)])).first
    assert (found.place, found.layer.source.name) == (Place.LAYER, "up")
    assert found.reasons[0] == "kernel: that of the source flipped on all spatial axes"
    assert all(reason.endswith("(same effect)") for reason in found.reasons[1:])


def test_a_crop_that_is_missing_is_a_difference_of_the_layer():
    model = record_network()
    (run,) = model.runs
    up, avg = run.calls[4:]
    parameters = {**up.parameters, "padding": ((0, 0), (0, 0)), "output_padding": (0, 0)}
    whole = np.pad(up.result, ((0, 0), (0, 0), (1, 0), (1, 0)))
    (layer,) = find_layers([replace(avg, inputs={"x": whole})])
    avg = replace(layer.call, result=layer.expected(whole).value)
    calls = [*run.calls[:4], replace(up, parameters=parameters, result=whole), avg]
    found = compare(replace(model, runs=[replace(run, calls=calls)])).first
    assert (found.place, found.layer.source.name) == (Place.LAYER, "up")
    assert found.reasons == ["padding less output_padding: (1, 0) x (1, 0) in the source, 0 x 0 in the port"]


def test_differences_of_arrays():
    nan = np.array([np.nan, 1.0], np.float32)
    assert array_difference(nan, nan) == 0
    assert array_difference(nan, np.array([0.0, 1.0], np.float32)) == np.inf
    assert array_difference(np.zeros(2), np.zeros(3)) == np.inf
    assert array_difference(np.array([np.inf]), np.array([np.inf])) == 0
    assert array_difference(np.zeros((0, 2)), np.zeros((0, 2))) == 0


def test_whole_numbers_have_no_rounding():
    assert noise_limit(np.array([5, 6]), 0.0) == 0
    assert noise_limit(np.array([1.0], np.float32), 0.0) == pytest.approx(64 * 2**-23)


@pytest.mark.parametrize(
    ("mistake", "shape"),
    [("stride default", (1, 1, 1, 2)), ("zero padding", (1, 1, 1, 1)), ("count_include_pad", (1, 1, 1, 1))],
)
def test_the_smallest_input_shows_the_mistake(mistake, shape):
    first = compare(record_network(mistake)).first
    found = smallest_difference(first.layer.source, first.layer.port)
    assert found.x.shape == shape
    assert found.source.shape != found.port.shape or not np.array_equal(found.source, found.port)


def test_the_smallest_input_shows_another_padding_if_the_port_computes_it_from_the_size():
    """Padding `same` for 1 cell is 1 x 1, as in the source. The recorded padding is that of even extents."""
    first = compare(record_network("same padding")).first
    found = smallest_difference(first.layer.source, first.layer.port)
    assert Windows.of(found.x.shape[2:], 3, 2, "same_upper").pads == ((0, 1), (0, 1))
    assert not np.array_equal(found.source, found.port)


def test_layers_that_agree_have_no_smallest_difference():
    layer = compare(record_network()).layers[1]
    assert smallest_difference(layer.source, layer.port) is None


def chain(change=lambda x: x, *, between=lambda x: x, weight=1.0):
    """Return a record of two convolutions, where the second one reads `between` of the result of the first one."""
    runs = []
    for x in (np.full((1, 8, 4, 4), 3, np.float32), nudged(np.full((1, 8, 4, 4), 3, np.float32))):
        op = Recording()
        kernel = np.full((8, 8, 1, 1), weight, np.float32)
        first = change(op("one", "conv", x, kernel=kernel))
        runs.append((op.calls, op("two", "conv", between(first), kernel=kernel)))
    (calls, result), _ = runs
    return RecordedModel(ModelSource("numpy", "net.py", "make"), [RecordedRun(calls, [result], [0.0])], {})


def comparison(source, port):
    return compare_models(source, port, ["integers"])[0]


def test_inputs_that_are_read_unchanged_agree_by_proof():
    found = comparison(chain(), chain())
    assert [layer.input_is_proved for layer in found.layers] == [True, True]
    assert found.results_are_proved


def test_inputs_after_another_operator_are_not_proved():
    noisy = chain(between=lambda x: x + np.float32(1e-6) * np.abs(x))
    found = comparison(chain(between=lambda x: x * np.float32(1)), noisy)
    assert [layer.input_is_proved for layer in found.layers] == [True, False]
    assert not found.results_are_proved


def test_a_wrong_source_is_no_proof():
    """The port computes the function of the source. The result that the source recorded is another one."""
    source = chain()
    first, *rest = source.runs[0].calls
    first = replace(first, result=first.result + 1)
    second = replace(rest[0], inputs={**rest[0].inputs, "x": first.result})
    run = replace(source.runs[0], calls=[first, second])
    found = comparison(replace(source, runs=[run]), chain())
    assert [layer.input_is_proved for layer in found.layers] == [True, False]
    assert found.first is not None


def test_a_large_layer_is_not_proved(monkeypatch):
    port = chain(between=lambda x: x)
    calls = list(port.runs[0].calls)
    # One rounding in the first result, which the second layer reads.
    shifted = nudged(calls[0].result)
    calls = [replace(calls[0], result=shifted), replace(calls[1], inputs={**calls[1].inputs, "x": shifted})]
    port = replace(port, runs=[replace(port.runs[0], calls=calls)])
    assert comparison(chain(), port).layers[1].input_is_proved
    monkeypatch.setattr(comparing, "MAX_PROVED_TERMS", 10)
    assert not comparison(chain(), port).layers[1].input_is_proved


def test_relu_before_a_maximum_is_no_difference():
    models = []
    for is_first in (False, True):
        op, x = Recording(), np.random.default_rng(2).standard_normal((1, 3, 8, 8)).astype(np.float32)
        y = op("one", "conv", x, kernel=np.ones((4, 3, 1, 1), np.float32))
        y = op("pool", "max_pool", np.maximum(y, 0) if is_first else y, window=(2, 2))
        y = op("two", "conv", np.maximum(y, 0), kernel=np.ones((2, 4, 1, 1), np.float32))
        models.append(RecordedModel(ModelSource("numpy", "net.py", "make"), [RecordedRun(op.calls, [y], [0.0])]))
    found = comparison(*models)
    assert found.first is None
    assert [layer.input_agrees_later for layer in found.layers] == [False, True, False]


def averages(*, weight=1, divisor=3, is_composed=True):
    """Return a record of two averages and a maximum after a convolution.

    weight: of the convolution. divisor: of the second average. is_composed: whether the averages are written as in a
    framework without their parameters: divided by the averages of ones, and multiplied by a factor. The maximum after
    them is then no call of a window operator.
    """
    op, x = Recording(), np.random.default_rng(2).standard_normal((1, 3, 9, 9)).astype(np.float32)
    x = op("one", "conv", x, kernel=np.full((4, 3, 1, 1), weight, np.float32))
    given, pads, maximum = {"window": (3, 3), "stride": (2, 2)}, ((1, 1), (1, 1)), {"window": (2, 2), "stride": (1, 1)}
    if is_composed:
        ones = compute_reference(
            "avg_pool", {"x": np.ones_like(x)}, {**given, "padding": pads, "count_include_pad": True}
        )
        x = op("avg", "avg_pool", op("", "pad", x, pads=pads, mode="constant", value=0.0), **given) / ones.value
        x = op("last", "avg_pool", x, window=(2, 2), stride=(1, 1)) * np.float32(4 / divisor)
        x = compute_reference("max_pool", {"x": x}, maximum).value
    else:
        x = op("avg", "avg_pool", x, **given, padding=pads, count_include_pad=False)
        x = op("last", "avg_pool", x, window=(2, 2), stride=(1, 1), divisor=divisor)
        x = op("max", "max_pool", x, **maximum)
    y = op("two", "conv", x, kernel=np.ones((2, 4, 1, 1), np.float32))
    return RecordedModel(ModelSource("numpy", "net.py", "make"), [RecordedRun(op.calls, [y], [0.0])])


@pytest.mark.parametrize(
    ("mistakes", "different"),
    [({}, []), ({"weight": 2}, ["one"]), ({"divisor": 2}, ["last"]), ({"weight": 2, "divisor": 2}, ["one", "last"])],
)
def test_a_layer_that_is_written_in_another_way_agrees_after_another_difference(mistakes, different):
    found = comparison(averages(is_composed=False), averages(**mistakes))
    assert [layer.source.name for layer in found.layers if not layer.agrees] == different


def test_the_shape_of_a_result_is_shown_with_all_channels():
    found = compare(record_network("stride default")).first
    assert found.layer.verdict.message == "returned shape [2, 8, 16, 16], not [2, 8, 8, 8]"

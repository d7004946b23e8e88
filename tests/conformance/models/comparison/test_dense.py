"""Dense layers of two models: their order, and what differs before and after them."""

from dataclasses import replace

import numpy as np

from conformance.models.comparison.compare import Place, compare_models
from conformance.models.comparison.dense import with_dense_of_both
from conformance.models.comparison.recording import RecordedModel, RecordedRun
from conformance.models.comparison.source import ModelSource
from tests.conformance.models.comparison.test_layers import call

RNG = np.random.default_rng(3)
X = RNG.standard_normal((1, 4, 6, 6)).astype(np.float32)
KERNEL = RNG.standard_normal((5, 36)).astype(np.float32)
POOL = call("max_pool", X, "pool", window=(2, 2))
FLAT = POOL.result.reshape(1, -1)
LAST = np.moveaxis(POOL.result, 1, -1).reshape(1, -1)
ORDER = np.moveaxis(np.arange(36).reshape(4, 3, 3), 0, -1).ravel()


def dense(x, kernel=KERNEL):
    return replace(call("conv", x[..., None], "fc", kernel=kernel[..., None]), is_dense=True)


def softmax(x):
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def recorded(*calls, result=None):
    found = calls[-1].shaped_result if result is None else result
    return RecordedModel(ModelSource("numpy", "net.py", "make"), [RecordedRun(calls, [found], [0.0])])


SOURCE = recorded(POOL, dense(FLAT))


def compare(source, port):
    (found,) = compare_models(source, port, ["normal"])
    return found


def test_equal_dense_layers_agree_by_proof():
    found = compare(SOURCE, SOURCE)
    assert found.first is None
    assert found.results_are_proved


def test_a_flattening_in_another_order_is_named():
    first = compare(SOURCE, recorded(POOL, dense(LAST))).first
    assert first.place is Place.BETWEEN
    assert first.reasons == [
        "The source flattens 4 x 3 x 3 numbers with the channels first, the port with the channels last."
    ]


def test_weights_in_the_order_of_the_port_are_the_same_layer():
    found = compare(SOURCE, recorded(POOL, dense(LAST, KERNEL[:, ORDER])))
    assert found.first is None
    assert [layer.verdict.verdict.value for layer in found.layers] == ["agree", "agree"]


def test_exchanged_weights_are_named():
    square = RNG.standard_normal((36, 36)).astype(np.float32)
    first = compare(recorded(POOL, dense(FLAT, square)), recorded(POOL, dense(FLAT, square.T))).first
    assert first.place is Place.LAYER
    assert first.reasons == ["kernel: that of the source with input and output channels exchanged"]


def test_a_lost_activation_of_the_results_is_named():
    last = dense(FLAT)
    first = compare(recorded(POOL, last, result=softmax(last.shaped_result)), recorded(POOL, last)).first
    assert first.place is Place.RESULT
    assert first.reasons == ["The source returns softmax of the result of fc; the port returns the result of fc."]


def test_a_mean_over_other_axes_is_named():
    x = RNG.standard_normal((1, 6, 6, 6)).astype(np.float32)
    conv = call("conv", x, "conv", kernel=RNG.standard_normal((6, 6, 1, 1)).astype(np.float32))
    kernel = KERNEL[:, :6]
    source, port = (recorded(conv, dense(conv.result.mean(axes), kernel)) for axes in ((2, 3), (1, 2)))
    (reason,) = compare(source, port).first.reasons
    assert reason == (
        "The source reads the mean of the result of conv; "
        "the port reads the mean of the result of conv over the channels and all spatial axes but 1."
    )


def test_dense_layers_of_one_model_only_are_not_compared():
    port = recorded(POOL, result=SOURCE.runs[0].results[0])
    assert compare(SOURCE, port).first is None
    runs = with_dense_of_both(SOURCE.runs[0], port.runs[0])
    assert [[one.kind for one in run.calls] for run in runs] == [["max_pool"], ["max_pool"]]

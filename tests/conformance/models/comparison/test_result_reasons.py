"""What a dense layer after the last window operator reads."""

import numpy as np
import pytest

from conformance.models.comparison.input_reasons import InputPair
from conformance.models.comparison.layers import ModelLayer
from conformance.models.comparison.result_reasons import result_reasons
from tests.conformance.models.comparison.test_input_reasons import FIRST, RNG, SECOND, S
from tests.conformance.models.comparison.test_layers import call


def dense(x, weights, *, is_last=False, bias=True):
    features = np.moveaxis(x, 1, -1) if is_last else x
    y = features.reshape(len(x), -1) @ weights["fc.weight"].T
    return y + weights["fc.bias"] if bias else y


DENSE = {
    "fc.weight": RNG.standard_normal((4, 8 * 30)).astype(np.float32),
    "fc.bias": RNG.standard_normal(4).astype(np.float32),
}


@pytest.mark.parametrize(
    ("given", "text"),
    [({"is_last": True}, "with the channels last"), ({"bias": False}, "with the channels first, without a bias,")],
)
def test_what_a_dense_layer_reads_is_named(given, text):
    pair = InputPair(dense(S, DENSE), dense(S, DENSE, **given), ((FIRST, FIRST), (SECOND, SECOND)), DENSE)
    assert result_reasons(pair) == [
        f"The dense layer reads second with the channels first in the source, second {text} in the port."
    ]


def test_a_pooling_that_the_port_writes_as_a_mean_is_before_the_dense_layer():
    pool = ModelLayer(call("adaptive_avg_pool", S, "gap", output_size=(3, 1)))
    weights = {"w": RNG.standard_normal((4, 24)).astype(np.float32)}
    last = pool.call.result
    results = [features.reshape(2, -1) @ weights["w"].T for features in (last, np.moveaxis(last, 1, -1))]
    pair = InputPair(*results, ((SECOND, SECOND), (pool, None)), weights)
    assert result_reasons(pair) == [
        "The dense layer reads gap with the channels first, without a bias, in the source, "
        "gap with the channels last, without a bias, in the port."
    ]

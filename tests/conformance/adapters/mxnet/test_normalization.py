"""The module `normalization` of the adapter for Apache MXNet."""

from conformance.adapters.mxnet.normalization import NARROWER, NO_DTYPE, NO_RANK, fallback, nd_lrn
from conformance.cases.steps import Step

NUMBERS = {"alpha": 3, "beta": 0.75, "k": 2, "alpha_over_size": True, "extra_channel": "after"}
CALL = "mx.nd.LRN(x, alpha=3, beta=0.75, knorm=2, nsize=3)"


def step(size=3, shape=(1, 4, 2, 3), dtype="float32", **parameters):
    return Step("lrn", shape, dtype, {"local_size": size, **NUMBERS, **parameters})


def test_the_call_is_for_planes_in_float32():
    assert nd_lrn(step()) == CALL
    assert nd_lrn(step(shape=(1, 4, 2))) is NO_RANK
    assert nd_lrn(step(dtype="float64")) is NO_DTYPE


def test_an_even_size_is_observed_by_conventions_only():
    assert nd_lrn(step(2)) is NARROWER
    assert fallback(step(2)) is NARROWER
    assert nd_lrn(Step("lrn", (1, 4, 2, 3), "float32", {"local_size": 2})) == "mx.nd.LRN(x, nsize=2)"
    assert nd_lrn(step(0)).endswith("nsize=0)")


def test_rows_and_volumes_are_reshaped():
    assert fallback(step(shape=(1, 4, 2))) == ("x = x.reshape((1, 4, 1, 2))", f"x = {CALL}", "x = x.reshape((1, 4, 2))")

"""The module `normalization` of the adapter for PaddlePaddle."""

from conformance.adapters.api.normalization.recipes import EVEN_IS_BEFORE
from conformance.adapters.paddle.normalization import fallback, lrn
from conformance.cases.steps import Step

NUMBERS = {"alpha": 1, "beta": 0.75, "k": 2, "alpha_over_size": True, "extra_channel": "after"}


def step(size=3, shape=(1, 4, 2, 3), dtype="float32", **parameters):
    return Step("lrn", shape, dtype, {"local_size": size, **NUMBERS, **parameters})


def test_calls_and_layers_name_the_layout_of_rows_and_volumes():
    assert lrn(step(), layer=False) == "F.local_response_norm(x, 3, alpha=1, beta=0.75, k=2)"
    row = lrn(step(shape=(1, 4, 2)), layer=True)
    assert row == 'nn.LocalResponseNorm(3, alpha=1, beta=0.75, k=2, data_format="NCL")(x)'
    assert 'data_format="NCDHW"' in lrn(step(shape=(1, 4, 2, 1, 1)), layer=False)


def test_an_even_window_with_its_extra_channel_after_is_flipped():
    assert lrn(step(4), layer=False) is EVEN_IS_BEFORE
    first, call, last = fallback(step(4), layer=False)
    assert first == last == "x = x.flip(1)"
    assert call == "x = F.local_response_norm(x, 4, alpha=1, beta=0.75, k=2)"


def test_sixteen_bits_have_no_kernel():
    assert "local_response_norm" in lrn(step(dtype="float16"), layer=False).reason

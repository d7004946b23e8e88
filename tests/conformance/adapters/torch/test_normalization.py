"""The module `normalization` of the adapter for PyTorch."""

from conformance.adapters.api.normalization.recipes import EVEN_IS_BEFORE
from conformance.adapters.torch.normalization import FUNCTIONAL, FUNCTIONAL_FALLBACK, LAYER, NO_KERNEL
from conformance.cases.steps import Step

NUMBERS = {"alpha": 1, "beta": 0.75, "k": 2, "alpha_over_size": True, "extra_channel": "after"}


def step(size, shape=(1, 4, 2, 3), dtype="float32", **parameters):
    return Step("lrn", shape, dtype, {"local_size": size, **NUMBERS, **parameters})


def test_calls_and_layers_divide_alpha():
    assert FUNCTIONAL(step(3)) == "F.local_response_norm(x, 3, alpha=1, beta=0.75, k=2)"
    assert LAYER(step(3, alpha_over_size=False)) == "nn.LocalResponseNorm(3, alpha=3, beta=0.75, k=2)(x)"


def test_an_even_window_with_its_extra_channel_after_is_flipped():
    assert FUNCTIONAL(step(4)) is EVEN_IS_BEFORE
    assert FUNCTIONAL(step(4, extra_channel="before")) == "F.local_response_norm(x, 4, alpha=1, beta=0.75, k=2)"
    first, call, last = FUNCTIONAL_FALLBACK(step(4))
    assert first == last == "x = x.flip(1)"
    assert call.startswith("x = F.local_response_norm")


def test_sixteen_bits_have_a_kernel_for_rows_only():
    assert FUNCTIONAL(step(3, dtype="float16")) is NO_KERNEL
    assert FUNCTIONAL(step(3, (1, 4, 2), dtype="float16")).startswith("F.")
    assert FUNCTIONAL_FALLBACK(step(3, dtype="float16"))[0] == "x = x.to(torch.float32)"


def test_a_convention_leaves_numbers_and_the_side_out():
    bare = Step("lrn", (1, 4, 2, 3), "float32", {"local_size": 2})
    assert FUNCTIONAL(bare) == "F.local_response_norm(x, 2)"

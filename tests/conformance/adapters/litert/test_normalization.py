"""The module `normalization` of the adapter for LiteRT."""

from conformance.adapters.api.normalization.recipes import ONLY_ODD
from conformance.adapters.litert.normalization import NO_DEFAULTS, NO_RANK, fallback, lrn
from conformance.cases.steps import Step

NUMBERS = {"alpha": 2, "beta": 0.75, "k": 1, "alpha_over_size": False, "extra_channel": "before"}


def step(shape=(1, 5, 2, 3), size=3, **parameters):
    return Step("lrn", shape, "float32", {"local_size": size, **NUMBERS, **parameters})


def test_the_radius_is_half_of_the_size():
    options = "schema.LocalResponseNormalizationOptionsT(2, bias=1.0, alpha=2.0, beta=0.75)"
    assert lrn(step(size=5)) == f'graph.node("LOCAL_RESPONSE_NORMALIZATION", [x], {options})'


def test_alpha_is_divided_by_the_size_before_the_call():
    assert "alpha=0.4" in lrn(step(size=5, alpha_over_size=True))


def test_even_windows_and_defaults_are_not_written():
    assert lrn(step(size=4)) is ONLY_ODD
    bare = Step("lrn", (1, 5, 2, 3), "float32", {"local_size": 3, "alpha": 1, "beta": 1})
    assert lrn(bare) is fallback(bare) is NO_DEFAULTS


def test_rows_and_volumes_are_planes_with_one_row():
    row = step((1, 5, 4))
    assert lrn(row) is NO_RANK
    before, _, after = fallback(row)
    assert "np.int32([1, 1, 4, 5])" in before
    assert "np.int32([1, 4, 5])" in after

"""Cases and surfaces by name, and suggestions for misspelled names."""

import pytest

from conformance import ConformanceError
from conformance.cli import lookup


def test_suggestion_is_the_most_similar_name():
    assert lookup.nearest_name_hint("max_pol", ["min_pad", "max_pool"]) == ", did you mean 'max_pool'?"
    assert lookup.nearest_name_hint("xyz", ["max_pool"]) == ""


def test_case_of_the_catalogue_is_found():
    assert lookup.find_case((), "max_pool/book-1d").id == "max_pool/book-1d"


def test_case_of_an_exhaustive_sweep_is_found_although_it_is_not_loaded_by_default(catalogue):
    sweep = next(iter(catalogue.unloaded_sweeps), None)
    assert sweep
    with pytest.raises(ConformanceError, match=r"case 'max_pool/book-1': not in the catalogue, did you mean"):
        lookup.find_case((), "max_pool/book-1")


def test_surface_has_its_backend():
    backend, surface = lookup.find_surface("numpy.loops")
    assert (backend.name, surface.name) == ("numpy", "numpy.loops")


def test_unknown_surface_is_an_error_with_a_suggestion():
    with pytest.raises(ConformanceError, match=r"surface 'numpy\.loop': unknown, did you mean 'numpy\.loops'\?"):
        lookup.find_surface("numpy.loop")
    with pytest.raises(ConformanceError, match="surface 'none'"):
        lookup.find_surfaces(["numpy.*", "none"])


def test_pattern_that_matches_no_surface_is_an_error():
    lookup.check_surface_globs(["numpy.*", "own@label"], ["own@label"])
    with pytest.raises(ConformanceError, match=r"surface 'numpy\.x\*': unknown"):
        lookup.check_surface_globs(["numpy.*", "numpy.x*"])


def test_name_without_a_slash_is_compared_with_operators_and_expands_no_sweep(monkeypatch):
    levels = []
    load = lookup.loading.load_catalogue
    monkeypatch.setattr(
        lookup.loading, "load_catalogue", lambda *given, **also: levels.append(also) or load(*given, **also)
    )
    with pytest.raises(ConformanceError, match="case 'maxpool': not in the catalogue, did you mean 'max_pool'"):
        lookup.find_case((), "maxpool")
    with pytest.raises(ConformanceError, match="case 'max_pool': this is an operator"):
        lookup.find_case((), "max_pool")
    assert levels == [{}, {}]


def test_globs_select_surfaces_by_name():
    assert {surface.name for _, surface in lookup.find_surfaces(["numpy.l*"])} == {"numpy.loops"}
    assert len(lookup.find_surfaces([])) > 4


@pytest.mark.parametrize(
    ("name", "surface"),
    [("torch", "torch.nn"), ("tensorflow", "tf.nn"), ("tf", "tf.nn"), ("flax", "flax.linen"), ("torch.compile",) * 2],
)
def test_framework_means_its_first_surface(name, surface):
    assert lookup.find_framework_surface(name).name == surface


def test_framework_of_several_backends_is_an_error():
    with pytest.raises(ConformanceError, match=r"several backends have it, name one of keras-jax\.ops"):
        lookup.find_framework_surface("keras")

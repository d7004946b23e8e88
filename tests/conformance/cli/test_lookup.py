"""Cases and surfaces by name, and suggestions for misspelled names."""

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.cli import lookup


def test_case_of_the_catalogue_is_found():
    assert lookup.find_case((), "max_pool/book-1d").id == "max_pool/book-1d"


def test_case_of_an_exhaustive_sweep_is_found_although_it_is_not_loaded_by_default(catalogue):
    sweep = next(iter(catalogue.unloaded_sweeps), None)
    assert sweep
    with pytest.raises(ConformanceError, match=r"case 'max_pool/book-1': not in the catalogue, did you mean"):
        lookup.find_case((), "max_pool/book-1")


@pytest.mark.parametrize("name", ["nosuch", "nosuch/a", "max_pool", ""])
def test_name_that_no_case_can_have_is_an_error_without_reading_the_catalogue(monkeypatch, name):
    monkeypatch.setattr(lookup.loading, "load_catalogue", None)
    with pytest.raises(ConformanceError):
        lookup.find_case((), name)


def test_id_outside_exhaustive_sweeps_does_not_expand_them(monkeypatch, catalogue):
    levels = []
    monkeypatch.setattr(lookup.loading, "load_catalogue", lambda *_, level="", **__: levels.append(level) or catalogue)
    with pytest.raises(ConformanceError, match="case 'max_pool/nosuch': not in the catalogue"):
        lookup.find_case((), "max_pool/nosuch")
    assert levels == [""]


def test_surface_has_its_backend():
    backend, surface = lookup.find_surface("numpy.loops")
    assert (backend.name, surface.name) == ("numpy", "numpy.loops")


def test_unknown_surface_is_an_error_with_a_suggestion():
    with pytest.raises(ConformanceError) as error:
        lookup.find_surface("numpy.loop")
    assert (
        str(error.value)
        == "surface 'numpy.loop': unknown, did you mean 'numpy.loops'? (conformance surfaces lists all)"
    )
    with pytest.raises(
        ConformanceError, match=r"surface 'nothing-similar': unknown \(conformance surfaces lists all\)"
    ):
        lookup.find_surfaces(["numpy.*", "nothing-similar"])


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("flax.l", "'flax.linen'"),
        ("flux", "'flax'"),
        ("tf.nn.n", "'tf.nn.nchw'"),
        ("litrt", "'litert', 'tract'? ("),
        ("keras", "'keras-jax.layers', "),
        ("", ""),
    ],
)
def test_suggestion_of_surfaces_prefers_those_that_begin_with_the_name(name, meant):
    with pytest.raises(ConformanceError) as error:
        lookup.find_surface(name)
    assert (f"did you mean {meant}" in str(error.value)) == bool(meant)


@pytest.mark.parametrize(
    ("name", "surfaces"),
    [("torch", ["torch.nn"]), ("flax", ["flax.linen"]), ("onnx", ["onnx.reference"]), ("tensorflow", ["tf.nn"])],
)
def test_framework_selects_its_first_surface(name, surfaces):
    assert [surface.name for _, surface in lookup.find_surfaces([name])] == surfaces


def test_framework_with_several_engines_selects_the_first_surface_of_each():
    expected = [f"keras-{engine}.layers" for engine in ("jax", "tensorflow", "torch")]
    assert [surface.name for _, surface in lookup.find_surfaces(["keras"])] == expected


def test_surfaces_and_frameworks_can_be_combined():
    found = [surface.name for _, surface in lookup.find_surfaces(["torch", "numpy.*"])]
    assert found == ["numpy.loops", "torch.nn"]


def test_framework_has_the_dialects_of_all_its_surfaces():
    known = registry.dialects()
    assert lookup.find_dialects("torch") == [known["torch.nn"], known["torch.nn.functional"]]
    assert (
        lookup.find_dialects("tf") == lookup.find_dialects("tensorflow") == [known["tf.keras.layers"], known["tf.nn"]]
    )
    assert lookup.find_dialects("keras") == [known["keras-torch.layers"], known["keras-torch.ops"]]
    assert lookup.find_dialects("torch.nn") == [known["torch.nn"]]
    assert lookup.find_dialects("keras.layers") == [known["keras-torch.layers"]]


def test_pattern_that_matches_no_surface_is_an_error():
    lookup.check_surface_globs(["numpy.*", "own@label"], ["own@label"])
    with pytest.raises(ConformanceError, match=r"surface 'numpy\.x\*': unknown"):
        lookup.check_surface_globs(["numpy.*", "numpy.x*"])


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
    with pytest.raises(ConformanceError, match=r"several backends have it, name one of keras-jax\.layers"):
        lookup.find_framework_surface("keras")

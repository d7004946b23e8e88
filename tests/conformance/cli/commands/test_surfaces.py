"""`conformance surfaces`: how each surface supports each operator."""

import pytest


@pytest.mark.usefixtures("own_folder")
def test_table_has_the_selected_surfaces_and_operators(conformance):
    status, out, _ = conformance("surfaces", "--operator", "avg_pool", "--surface", "numpy.*")
    assert status == 0
    assert "numpy.loops" in out
    assert "avg_pool" in out
    assert "max_pool" not in out
    assert "torch" not in out


@pytest.mark.usefixtures("own_folder")
def test_glob_that_matches_no_surface_is_an_error_of_one_line(conformance):
    status, out, errors = conformance("surfaces", "--surface", "numpy.loop")
    assert (status, out, len(errors)) == (2, "", 1)
    assert errors[0].startswith("conformance: surface 'numpy.loop': unknown, did you mean 'numpy.loops'?")


@pytest.mark.usefixtures("own_folder")
def test_backend_selects_its_surfaces(conformance):
    only = ("surfaces", "--operator", "avg_pool")
    assert conformance(*only, "--backend", "numpy") == conformance(*only, "--surface", "numpy.*")
    status, out, errors = conformance(*only, "--backend", "nunpy")
    assert (status, out, len(errors)) == (2, "", 1)
    assert "nunpy" in errors[0]

"""Descriptions of arrays and lists of surfaces."""

import numpy as np

from conformance.catalogue.describe import primary_surfaces, shortened_array_text, surfaces_by_name


def test_every_surface_has_its_name_as_key():
    known = surfaces_by_name()
    assert known["numpy.loops"][0].name == "numpy"
    assert all(surface.name == name for name, (_, surface) in known.items())


def test_every_backend_with_surfaces_has_a_primary_one():
    primary = {backend.name for backend, _ in primary_surfaces()}
    known = surfaces_by_name().values()
    # Routes repeat the calls of their sources. Programs in other languages are shown by name only, and so is IREE,
    # which runs level smoke only.
    others = {backend.name for backend, surface in known if surface.route or surface.language} | {"iree"}
    assert primary == {backend.name for backend, _ in known} - others


def test_large_arrays_are_shortened():
    assert shortened_array_text(np.array([[1, 2]])).split() == ["[[1,", "2]]"]
    assert "..." in shortened_array_text(np.arange(100_000))
    assert len(shortened_array_text(np.arange(100_000))) < 2000

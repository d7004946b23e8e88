"""The on-disk cache of programs, for built-in backends only."""

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Unsupported
from conformance.system import cache
from conformance.translation import program_cache
from conformance.translation.lowering import translate
from conformance.translation.program_cache import OWN_PACKAGE, ProgramCache
from tests.support.fake_backends import load


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    """Return a catalogue of one case; caches are in a temporary folder."""
    monkeypatch.setattr(cache, "cache_folder", lambda name: tmp_path / "caches" / name)
    return load(tmp_path, "id: a, x: {values: arange, shape: [1, 1, 4]}, window: 2")


def test_cached_programs_equal_translated_programs(catalogue, monkeypatch):
    case, backend = catalogue.cases[0], registry.get_backend("torch")
    first = ProgramCache(backend, catalogue.digest)
    programs = {surface.name: first.translate(case, surface) for surface in backend.surfaces}
    assert programs == {surface.name: translate(case, surface) for surface in backend.surfaces}
    first.save()
    monkeypatch.setattr(program_cache, "translate", lambda *_: Unsupported("translated again"))
    second = ProgramCache(backend, catalogue.digest)
    assert {surface.name: second.translate(case, surface) for surface in backend.surfaces} == programs


def test_programs_of_every_built_in_backend_are_cached(catalogue):
    assert OWN_PACKAGE == "conformance."
    for name in registry.built_in_modules():
        assert ProgramCache(registry.get_backend(name), catalogue.digest).file is not None, name


def test_programs_of_a_backend_in_another_package_are_not_cached(catalogue, tmp_path):
    built_in = registry.get_backend("torch")
    surface = built_in.surfaces[0]
    external = type(surface)("external", {"max_pool": lambda _step: "x"})
    programs = ProgramCache(type(built_in)("torch", (), "", "", (external,)), catalogue.digest)
    programs.translate(catalogue.cases[0], external)
    programs.save()
    assert programs.file is None
    assert not (tmp_path / "caches" / "conformance-programs").exists()

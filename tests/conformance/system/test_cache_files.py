"""What is kept on disk to be quick: the expanded catalogue, and the programs of a backend."""

from functools import partial

import pytest

from conformance.adapters import registry
from conformance.adapters.api.surface import Unsupported
from conformance.catalogue import loading
from conformance.system import cache
from conformance.translation import program_cache
from conformance.translation.lowering import translate
from conformance.translation.program_cache import ProgramCache

CASES = """\
operator: max_pool
source: a test
cases:
  - {{id: {}, x: {{values: arange, shape: [1, 1, 4]}}, window: [2]}}
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A catalogue of one case, and a folder of caches of its own."""
    monkeypatch.setattr(cache, "cache_folder", lambda name: tmp_path / "caches" / name)
    monkeypatch.setattr(program_cache, "folder", lambda name: tmp_path / "caches" / name)
    family = tmp_path / "cases" / "pooling"
    family.mkdir(parents=True)
    (family / "max_pool.yaml").write_text(CASES.format("a"), "utf-8")
    return tmp_path / "cases"


def load(home):
    return loading.load_catalogue([home])


def test_catalogue_is_expanded_once(home):
    asked = []

    def read():
        asked.append(1)
        return load(home)

    first, second = cache.cached_catalogue(home, read), cache.cached_catalogue(home, read)
    assert len(asked) == 1
    assert second.digest == first.digest
    assert [case.canonical_text() for case in second.cases] == [case.canonical_text() for case in first.cases]
    assert [case.place for case in second.cases] == [case.place for case in first.cases]


def test_a_changed_file_is_read_again(home):
    cache.cached_catalogue(home, partial(load, home))
    (home / "pooling" / "max_pool.yaml").write_text(CASES.format("b"), "utf-8")
    assert [case.id for case in cache.cached_catalogue(home, partial(load, home)).cases] == ["max_pool/b"]


@pytest.mark.parametrize("damage", [b"", b"x" * 40, None])
def test_what_is_damaged_is_made_anew(home, tmp_path, damage):
    cache.cached_catalogue(home, partial(load, home))
    (path,) = (tmp_path / "caches" / "conformance-catalogue").iterdir()
    path.write_bytes(path.read_bytes()[:-1] if damage is None else damage)
    assert [case.id for case in cache.cached_catalogue(home, partial(load, home)).cases] == ["max_pool/a"]
    assert cache.read(path) is not None


def test_the_suites_own_catalogue_is_the_same_kept_and_read():
    kept, read = loading.load_catalogue(), loading._load_paths()
    assert kept.digest == read.digest
    assert kept.version == read.version
    assert [case.canonical_text() for case in kept.cases] == [case.canonical_text() for case in read.cases]
    assert [(case.location, case.about, case.source, case.level, case.tags) for case in kept.cases] == [
        (case.location, case.about, case.source, case.level, case.tags) for case in read.cases
    ]


def test_nothing_is_left_beside_when_the_disk_takes_nothing(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("", "utf-8")
    cache.write(blocked / "folder" / "kept.pickle", 1, 4)
    assert cache.read(blocked / "folder" / "kept.pickle") is None


def test_only_the_last_files_stay(tmp_path):
    for number in range(4):
        cache.write(tmp_path / f"{number}.pickle", number, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.pickle", "3.pickle"]


def test_programs_are_those_that_translating_gives(home, monkeypatch):
    cases, backend = load(home), registry.get_backend("torch")
    first = ProgramCache(backend, cases.digest)
    made = {surface.name: first.translate(cases.cases[0], surface) for surface in backend.surfaces}
    assert made == {surface.name: translate(cases.cases[0], surface) for surface in backend.surfaces}
    first.save()
    monkeypatch.setattr(program_cache, "translate", lambda *_: Unsupported("asked again"))
    again = ProgramCache(backend, cases.digest)
    assert {surface.name: again.translate(cases.cases[0], surface) for surface in backend.surfaces} == made


def test_programs_of_a_backend_from_elsewhere_are_not_kept(home, tmp_path):
    own = registry.get_backend("torch")
    surface = own.surfaces[0]
    strange = type(surface)("strange", {"max_pool": lambda _step: "x"})
    other = ProgramCache(type(own)("torch", (), "", "", (strange,)), load(home).digest)
    other.translate(load(home).cases[0], strange)
    other.save()
    assert other.path is None
    assert not (tmp_path / "caches" / "conformance-programs").exists()

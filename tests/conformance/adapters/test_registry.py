"""Find backends: folders of adapters, entry points of other packages, and errors in these packages."""

import sys
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from conformance import ConformanceError
from conformance.adapters import registry
from conformance.adapters.api import LABEL_SEPARATOR, Device
from conformance.adapters.api.devices import CUDA
from conformance.judging import ledger
from conformance.translation.lowering import translate

ADAPTER = """\
from conformance.adapters.api import Surface

PACKAGES = ("numpy",)
SETUP = "import numpy as np\\n"
RESET = ""
SURFACES = (Surface("loud.nn", {"relu": lambda _step: "np.maximum(x, 0)", "pad": lambda _step: "np.pad(x, 1)"}),)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a function that writes a package with one entry point and its metadata to the path, as pip does."""
    caches = (registry.backend_names, registry.get_backend, registry._external_backends)
    before = set(sys.modules)

    def clear_caches():
        for cache in caches:
            cache.cache_clear()

    def install(module="loud_conformance", text=ADAPTER, name="loud", files=None):
        folder = tmp_path / module
        folder.mkdir()
        (folder / "__init__.py").write_text(text, "utf-8")
        for file, content in (files or {}).items():
            (folder / file).write_text(content, "utf-8")
        distribution = tmp_path / f"{module}-1.0.dist-info"
        distribution.mkdir()
        (distribution / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", "utf-8")
        (distribution / "entry_points.txt").write_text(f"[{registry.ENTRY_POINT_GROUP}]\n{name} = {module}\n", "utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        clear_caches()
        return folder

    yield install
    for name in set(sys.modules) - before:
        if name.endswith("_conformance"):
            del sys.modules[name]
    monkeypatch.undo()
    clear_caches()


def test_every_folder_of_adapters_except_the_interface_is_a_backend():
    folders = {path.parent.name for path in Path(registry.adapters.__path__[0]).glob("*/__init__.py")}
    assert folders - set(registry.built_in_modules().values()) == {registry.INTERFACE}


def test_backend_of_another_package_is_found_and_writes_programs(package, catalogue):
    package()
    assert "loud" in entry_points(group=registry.ENTRY_POINT_GROUP).names
    assert "loud" in registry.backend_names()
    loud = registry.get_backend("loud")
    assert (loud.name, loud.packages, loud.threads) == ("loud", ("numpy",), "")
    case = next(case for case in catalogue.cases if case.operator == "pad")
    assert "np.pad(x, 1)" in translate(case, loud.surfaces[0]).text
    assert registry.unusable_backends() == []


def test_declarations_and_ledger_are_in_the_folder_of_the_package(package):
    fields = "kinds: [value], observed: Noise., reason: It is louder than expected."
    entry = f"entries:\n  - {{id: loud-one, cases: ['pad/*'], surfaces: [loud.nn], {fields}}}\n"
    declarations = "loud.nn:\n  pad/negative: {answer: crops, observed: '1'}\n"
    folder = package(files={"loud.yaml": declarations, "loud.ledger.yaml": entry})
    loud = registry.get_backend("loud")
    assert loud.surfaces[0].declarations["pad/negative"].answer == "crops"
    assert registry.external_ledgers() == (loud.ledger,) == (folder / "loud.ledger.yaml",)
    own = ledger.load_ledger().entries
    assert [entry.id for entry in ledger.load_ledger(further=registry.external_ledgers()).entries] == [
        *(entry.id for entry in own),
        "loud-one",
    ]


def test_ledger_of_a_package_applies_to_runs_of_its_backend(package, conformance, tmp_path):
    folder = package()
    cases = tmp_path / "pad.yaml"
    cases.write_text(
        "operator: pad\nsource: a test\ncases:\n  - {id: a, x: {values: [[[1, 2]]]}, pads: [[1, 0]]}\n", "utf-8"
    )
    run = ("run", "--backend", "loud", "--cases", cases, "--out", tmp_path / "out")
    assert conformance(*run)[0] == 1
    results = tmp_path / "out" / "results" / "loud.jsonl"
    add = (
        "ledger",
        "add",
        results,
        "--cases",
        cases,
        "--case",
        "pad/a",
        "--reason",
        "It pads on all sides.",
        "--write",
    )
    status, _, notes = conformance(*add)
    assert (status, notes[-1]) == (0, f"written to {folder / 'loud.ledger.yaml'}")
    status, out, _ = conformance(*run)
    assert status == 0
    assert "1 known" in out
    assert "  loud.nn\n" in conformance("ledger", "--cases", cases)[1]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"text": "import nothing_like_this"}, "ModuleNotFoundError: No module named 'nothing_like_this'"),
        ({"text": "PACKAGES = RESET = ''"}, "loud_conformance is not an adapter: it does not define SETUP, SURFACES"),
        ({"text": "PACKAGES = SETUP = RESET = ''\nSURFACES = ('a',)"}, "SURFACES contains 'a', which is not a Surface"),
        (
            {"text": ADAPTER.replace("loud.nn", "numpy.loops")},
            "surface 'numpy.loops' is already a surface of the backend 'numpy'",
        ),
        ({"name": "numpy"}, "a backend with this name exists already"),
        (
            {"files": {"loud.yaml": "quiet.nn:\n  pad/negative: {answer: crops, observed: '1'}\n"}},
            "'quiet.nn': unknown",
        ),
    ],
)
def test_error_in_a_package_is_one_line_and_does_not_affect_other_backends(package, conformance, files, message):
    package(**files)
    name = files.get("name", "loud")
    status, out, error = conformance("backends")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == list(registry.backend_names())
    assert len(error) == 1
    assert error[0].startswith(f"backend {name} = loud_conformance of another package is left out: ")
    assert message in error[0]
    assert registry.get_backend("numpy").surfaces[0].name == "numpy.loops"
    if name == "loud":
        with pytest.raises(ConformanceError, match="backend loud = loud_conformance: ") as caught:
            registry.get_backend("loud")
        assert message in str(caught.value)


@pytest.mark.parametrize("module", sorted(registry.FORMER_MODULES))
def test_import_of_a_former_module_names_the_new_one(package, module):
    package(text=ADAPTER.replace("conformance.adapters.api", module))
    (line,) = registry.unusable_backends()
    assert f"No module named '{module}'" in line
    assert line.endswith("; adapters import the interface with `from conformance.adapters.api import …`")


def test_import_of_another_missing_module_has_no_hint(package):
    package(text="from conformance.adapters.nothing_like_this import Surface")
    (line,) = registry.unusable_backends()
    assert line.endswith("No module named 'conformance.adapters.nothing_like_this'")


def test_of_two_packages_with_one_name_the_second_is_left_out(package):
    package()
    package(module="other_conformance", text=ADAPTER.replace("loud.nn", "loud.other"))
    assert registry.get_backend("loud").surfaces[0].name == "loud.nn"
    (line,) = registry.unusable_backends()
    assert line.startswith("backend loud = other_conformance of another package is left out: a backend with this name")


def test_no_yaml_files_are_read_for_a_single_file_module(package, tmp_path):
    folder = package()
    (folder / "__init__.py").unlink()
    folder.rmdir()
    (tmp_path / "loud_conformance.py").write_text(ADAPTER, "utf-8")
    (tmp_path / "loud.yaml").write_text("this is: [invalid", "utf-8")
    assert registry.get_backend("loud").ledger is None


@pytest.mark.parametrize("packages", [("no_such_package",), ("no_such_package.part",), ("numpy", "numpy.no_such_part")])
def test_backend_without_a_package_or_a_part_of_one_is_not_installed(monkeypatch, packages):
    backend = replace(registry.get_backend(registry.BUILT_IN_BACKEND), packages=packages)
    monkeypatch.setattr(registry, "get_backend", lambda _name: backend)
    assert not registry.is_installed(backend.name)


def test_backend_has_label_and_device():
    new = registry.get_backend(f"torch{LABEL_SEPARATOR}new", device=Device(CUDA))
    assert (new.name, new.device.name) == ("torch@new", CUDA)

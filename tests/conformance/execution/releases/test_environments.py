"""Environments of releases, made by pip from a folder of small wheels."""

import subprocess
import sys
from dataclasses import replace

import pytest

from conformance import ConformanceError, IncompleteRun
from conformance.adapters import registry
from conformance.execution.releases.environments import ReleaseEnvironments, further_requirements
from tests.support.package_folder import OLD_NUMPY_ONLY, RAISES, use_packages, write_packages

RELEASES = {"1.0": RAISES, "1.1": RAISES, "1.2": RAISES, "1.3": "import missing_module\n", "1.4": OLD_NUMPY_ONLY}


@pytest.fixture
def environments(tmp_path, monkeypatch):
    write_packages(tmp_path / "wheels", RELEASES, "fake-net-cpu")
    use_packages(monkeypatch, tmp_path / "wheels")
    return ReleaseEnvironments(tmp_path / "environments", "fakenet", "fake-net-cpu", keep=2)


def versions_on_disk(environments):
    return sorted(path.name for path in environments.folder.iterdir())


def test_the_release_is_installed_by_its_name_for_pip(environments):
    python = environments.python_of("1.1")
    script = "import fakenet, importlib.metadata as m; print(m.version('fake-net-cpu'), m.version('numpy'))"
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1.1", "2.0.0"]


def test_an_environment_on_disk_is_used_again(environments, monkeypatch, tmp_path):
    python = environments.python_of("1.0")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    assert environments.python_of("1.0") == python
    with pytest.raises(IncompleteRun):
        environments.python_of("1.1")


def test_no_more_than_keep_environments_are_on_disk(environments, monkeypatch):
    on_disk = []
    execute = ReleaseEnvironments._execute

    def observed(name, command):
        execute(name, command)
        on_disk.append(len(versions_on_disk(environments)))

    monkeypatch.setattr(ReleaseEnvironments, "_execute", staticmethod(observed))
    for version in ("1.0", "1.1", "1.0", "1.2"):
        environments.python_of(version)
    assert max(on_disk) == 2
    assert versions_on_disk(environments) == ["fakenet-1.0", "fakenet-1.2"]


def test_a_release_that_cannot_be_installed_leaves_the_reason_and_no_environment(environments):
    with pytest.raises(IncompleteRun, match=r"^fake-net-cpu 9\.9: cannot be installed: .*fake-net-cpu==9\.9[^\n]*$"):
        environments.python_of("9.9")
    assert versions_on_disk(environments) == []


def test_a_release_that_cannot_be_imported_leaves_the_reason_and_no_environment(environments):
    with pytest.raises(IncompleteRun, match=r"^fake-net-cpu 1\.3: cannot be imported: ModuleNotFoundError[^\n]*$"):
        environments.python_of("1.3")
    assert versions_on_disk(environments) == []


def test_the_setup_must_run_in_the_environment(environments):
    assert environments.python_of("1.1", "import os, fakenet")
    with pytest.raises(IncompleteRun, match=r"^fake-net-cpu 1\.1: cannot be imported: NameError[^\n]*$"):
        environments.python_of("1.1", "import fakenet\nfakenot")


def test_a_release_compiled_for_old_numpy_gets_it(environments):
    python = environments.python_of("1.4")
    script = "import importlib.metadata as m; print(m.version('numpy'))"
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1.26.4"


def requirements(backend, *chosen):
    return further_requirements(registry.get_backend(backend), chosen)


def names(texts):
    return {text.partition("=")[0].partition("<")[0].partition(">")[0] for text in texts}


def test_a_release_gets_the_other_packages_of_the_extra():
    assert names(requirements("tinygrad")) == {"ziglang", "numpy"}
    assert names(requirements("openvino")) == {"onnx"}
    assert requirements("mxnet") == ["numpy<1.24"]
    (engine,) = requirements("keras-torch")
    assert engine.startswith("torch==")


def test_a_chosen_version_replaces_that_of_the_extra():
    assert [text for text in requirements("jax") if text.startswith("flax")] != ["flax"]
    assert [text for text in requirements("jax", "Flax") if text.lower().startswith("flax")] == ["Flax"]
    assert "ml_dtypes<1" in requirements("onnx", "ml_dtypes<1", "protobuf<4")
    assert sum("ml_dtypes" in text for text in requirements("onnx", "ml-dtypes<1")) == 0


def test_a_backend_without_an_extra_needs_the_packages_of_its_adapter():
    backend = replace(registry.get_backend("jax"), name="outside", packages=("outside", "jaxlib", "numpy"))
    assert further_requirements(backend, []) == ["jaxlib"]


@pytest.mark.parametrize("text", ["", "flax=1", "flax -r other.txt"])
def test_an_invalid_requirement_is_an_error_of_one_line(text):
    with pytest.raises(ConformanceError, match=r"^requirement '[^\n]*$"):
        requirements("jax", text)


def test_no_module_is_compiled_by_the_installation(environments, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    environments.python_of("1.0")
    assert not list(environments.folder.rglob("fakenet*.pyc"))


def test_with_a_base_only_the_release_is_installed(environments):
    """The base has NumPy, and the release in the environment comes before that of the base."""
    base = replace(environments, folder=environments.folder / "base").python_of("1.0")
    python = replace(environments, base=base).python_of("1.1")
    script = "import fakenet, numpy, importlib.metadata as m; print(m.version('fake-net-cpu'), numpy.__file__)"
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "1.1"
    (packages,) = (environments.folder / "fakenet-1.1").glob("lib/python*/site-packages")
    assert not list(packages.glob("numpy*"))


def test_with_a_base_a_release_for_old_numpy_gets_it(environments):
    python = replace(environments, base=sys.executable).python_of("1.4")
    script = "import importlib.metadata as m; print(m.version('numpy'))"
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1.26.4"


def test_a_base_that_does_not_run_is_the_reason(environments, tmp_path):
    with pytest.raises(IncompleteRun, match=r"^base environment: [^\n]*$"):
        replace(environments, base=str(tmp_path / "none")).python_of("1.0")

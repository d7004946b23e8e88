"""Imports run one way, and only adapters speak of frameworks."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("conformance", "reference", "reports")
FRAMEWORKS = ("torch", "tensorflow", "keras", "jax", "flax", "mxnet", "openvino", "onnxruntime", "tinygrad")
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
CORE = sorted((ROOT / "conformance").glob("*.py"))
ENTRANCES = {path.name for path in CORE if path.name.startswith(("cli", "pytest_"))}


def label(path):
    return str(path.relative_to(ROOT))


def imports(path):
    """Return every module that a file imports, relative ones made absolute."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.add(".".join(path.relative_to(ROOT).parts[: -node.level]))
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def roots(path):
    return {name.split(".")[0] for name in imports(path)}


@pytest.mark.parametrize("path", sorted((ROOT / "reference").glob("*.py")), ids=label)
def test_reference_imports_numpy_and_nothing_of_the_project(path):
    assert not roots(path) & {"conformance", "reports"}
    assert not roots(path) & set(FRAMEWORKS)


@pytest.mark.parametrize("path", sorted((ROOT / "reports").rglob("*.py")), ids=label)
def test_views_read_results_only(path):
    assert not roots(path) & {"conformance", "reference"}


@pytest.mark.parametrize("path", [path for path in CORE if path.name != "registry.py"], ids=label)
def test_core_reaches_adapters_through_the_registry_alone(path):
    assert not {name for name in imports(path) if f"{name}.".startswith("conformance.adapters.")}


def test_registry_names_no_adapter():
    assert "conformance.adapters" in imports(ROOT / "conformance" / "registry.py")
    assert not {
        name for name in imports(ROOT / "conformance" / "registry.py") if name.startswith("conformance.adapters.")
    }


@pytest.mark.parametrize("path", [path for path in CORE if path.name not in ENTRANCES], ids=label)
def test_core_knows_neither_views_nor_command_line(path):
    assert "reports" not in roots(path)
    assert not {
        name for name in imports(path) if f"{name}.".startswith(("conformance.cli.", "conformance.cli_", "click."))
    }


@pytest.mark.parametrize("path", sorted((ROOT / "conformance" / "adapters").glob("*.py")), ids=label)
def test_adapters_know_cases_as_steps_only(path):
    beyond = ("client", "worker", "runner", "results", "judge", "expected", "ledger", "catalogue", "expand", "cli")
    assert not {name for name in imports(path) if name.startswith(tuple(f"conformance.{name}." for name in beyond))}
    assert "reports" not in roots(path)


@pytest.mark.parametrize("path", [path for path in FILES if not {"adapters", "reference"} & set(path.parts)], ids=label)
def test_no_framework_is_named_outside_the_adapters(path):
    text = path.read_text("utf-8")
    assert not re.search(rf"\b({'|'.join(FRAMEWORKS)})\b", text, re.IGNORECASE)


def test_the_search_for_framework_names_finds_them_in_adapters():
    named = [path for path in FILES if re.search(r"\btorch\b", path.read_text("utf-8"))]
    assert named


def test_modules_do_not_import_each_other_in_circles():
    modules = {label(path).removesuffix(".py").replace("/", "."): path for path in FILES if path.name != "__init__.py"}
    graph = {
        name: {other for found in imports(path) for other in modules if f"{found}.".startswith(f"{other}.")}
        for name, path in modules.items()
    }
    assert graph["conformance.cli_run"] > {"conformance.chosen", "conformance.cli_work"}
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("path", FILES, ids=label)
def test_every_module_says_what_it_is_in_its_first_line(path):
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert docstring
    assert len(docstring.splitlines()[0]) > 15

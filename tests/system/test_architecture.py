"""Architecture rules: imports between packages, framework names in adapters only, and the size of folders."""

import ast
import re
from graphlib import TopologicalSorter

import pytest

import conformance
from tests import ROOT

FRAMEWORKS = (
    "torch",
    "tensorflow",
    "keras",
    "jax",
    "flax",
    "mxnet",
    "openvino",
    "onnxruntime",
    "tinygrad",
    "litert",
    "opencv",
    "cv2",
    "pillow",
    "PIL",
    "skimage",
    "scipy",
    "tfjs",
    "ortjs",
    "paddle",
    "mlx",
    "mnn",
    "MNN",
    "ncnn",
    "tract",
    "tvm",
    "iree",
    "onnx2torch",
)
FILES = [path for package in ("conformance", "reference", "reports") for path in sorted((ROOT / package).rglob("*.py"))]
LEAST_FILES = 250
"""Minimum number of modules that the search must find."""
MAX_ENTRIES = 13
"""Number of files and folders at the top of `conformance`."""
MAX_MODULES = 20
MAX_COMMANDS = 26
"""Limit of the folder with one module for each command."""
"""Number of modules in a folder."""
ARROW = "←"
# Packages that may import the analysis and the views of results; the execution may import the results format only.
READERS = {"conformance.exploration", "conformance.models", "conformance.cli", "conformance.pytest_plugin"}
VIEWS = {"reports.analysis", "reports.views"}
VOCABULARY = "reports.results.vocabulary"
INDEPENDENT = [VOCABULARY, "reports.results.key_set"]


def label(path):
    return str(path.relative_to(ROOT))


def module_of(path):
    """Return the dotted name of a file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}
PACKAGES = {module for module, path in MODULES.items() if path.name == "__init__.py"}


def import_statements(path):
    return [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]


def exports(path):
    """Return the module of each name that an `__init__` imports from the project; modules are left out."""
    nodes = [node for node in import_statements(path) if node.module in MODULES]
    found = {alias.asname or alias.name: (node.module, alias.name) for node in nodes for alias in node.names}
    return {name: module for name, (module, original) in found.items() if f"{module}.{original}" not in MODULES}


EXPORTS = {module: exports(MODULES[module]) for module in sorted(PACKAGES)}


def imports(path):
    """Return every module that a file imports, relative imports made absolute.

    A name that a package exports counts as an import of the package and of the module that defines the name.
    """
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = ".".join(path.relative_to(ROOT).parts[: -node.level]) if node.level else ""
            base = ".".join(filter(None, (package, node.module)))
            found |= {name if (name := f"{base}.{alias.name}") in MODULES else base for alias in node.names}
            found |= {EXPORTS[base][alias.name] for alias in node.names if alias.name in EXPORTS.get(base, {})}
    return found


def rules():
    """Return the chains of the import rule, each a list of packages, from the docstring of `conformance`."""
    lines = [line.strip() for line in conformance.__doc__.splitlines() if ARROW in line]
    return [[package for item in line.split(ARROW) for package in _packages(item)] for line in lines]


def _packages(item):
    names = [name.strip() for name in item.split(",")]
    return [name if name.startswith(("reference", "reports")) else f"conformance.{name}" for name in names]


def package_of(module, packages):
    """Return the package of the rule that contains a module, or None."""
    matches = (package for package in packages if f"{module}.".startswith(f"{package}."))
    return max(matches, key=len, default=None)


def violations(files, chains):
    """Yield a line for each import against the rule."""
    places = {package: (number, place) for number, chain in enumerate(chains) for place, package in enumerate(chain)}
    for module, path in files.items():
        own = package_of(module, places)
        for imported in sorted(imports(path)):
            other = package_of(imported, places)
            if own is None or other is None or own == other:
                continue
            (chain, place), (other_chain, other_place) = places[own], places[other]
            if chain == other_chain and other_place > place:
                yield f"{module} imports {imported}"


def test_no_module_imports_against_the_rule():
    assert len(MODULES) >= LEAST_FILES
    assert list(violations(MODULES, rules())) == []


def test_the_rule_names_every_package():
    named = {package for chain in rules() for package in chain}
    folders = {
        module_of(path) for path in FILES if path.name == "__init__.py" and len(path.relative_to(ROOT).parts) == 3
    }
    assert {name for name in folders if not name.startswith("reference.")} <= named | {"reference"}
    assert len(named) > len(rules())


def test_an_import_against_the_rule_is_found(tmp_path):
    path = tmp_path / "case.py"
    path.write_text("from conformance.judging.verdict import judge\n", "utf-8")
    found = list(violations({"conformance.cases.case": path}, rules()))
    assert found == ["conformance.cases.case imports conformance.judging.verdict"]


def test_an_import_along_the_rule_is_accepted(tmp_path):
    path = tmp_path / "verdict.py"
    path.write_text("from conformance.cases.case import Case\n", "utf-8")
    assert list(violations({"conformance.judging.verdict": path}, rules())) == []


def test_reference_imports_no_other_package_and_no_framework():
    files = [path for path in FILES if label(path).startswith("reference/")]
    assert len(files) > 30
    for path in files:
        assert not {name.split(".")[0] for name in imports(path)} & {"conformance", "reports", *FRAMEWORKS}, path


def test_reports_import_nothing_of_the_suite():
    files = [path for path in FILES if label(path).startswith("reports/")]
    assert len(files) > 30
    for path in files:
        assert not {name for name in imports(path) if name.split(".")[0] in {"conformance", "reference"}}, path


def test_only_entry_points_import_views_of_results():
    for module, path in MODULES.items():
        if module.startswith("conformance") and package_of(module, READERS) is None:
            found = {name for name in imports(path) if package_of(name, VIEWS)}
            assert not found, f"{module} imports {found}"


def test_only_the_execution_and_entry_points_import_the_results_format():
    for module, path in MODULES.items():
        if module.startswith("conformance") and package_of(module, {*READERS, "conformance.execution"}) is None:
            assert not {name for name in imports(path) if name.startswith("reports")}.difference(INDEPENDENT), module


@pytest.mark.parametrize("module", INDEPENDENT)
def test_modules_of_results_that_every_package_uses_import_nothing_of_the_project(module):
    assert not {name for name in imports(MODULES[module]) if name.split(".")[0] in {"conformance", "reports"}}


@pytest.mark.parametrize("path", [path for path in FILES if "adapters" in path.parts], ids=label)
def test_adapters_import_the_interface_and_their_own_package_only(path):
    """A backend imports no other backend, except wrappers of engines, runtimes of a shared format and routes."""
    shared = {"keras": {"tensorflow", "torch", "jax"}}
    runtimes = ("iree", "onnxruntime", "onnx2torch", "opencv", "openvino", "tract", "tvm")
    shared |= {runtime: {"onnx"} for runtime in runtimes}
    shared["ortjs"] = {"onnx", "onnxruntime"}
    shared["routes"] = {"iree", "jax", "keras", "onnx", "onnxruntime", "openvino", "tensorflow", "tfjs", "torch"}
    parts = path.relative_to(ROOT / "conformance" / "adapters").parts
    own = parts[0] if len(parts) > 1 else ""
    found = {name.split(".")[2] for name in imports(path) if name.startswith("conformance.adapters.")}
    if own == "api":
        assert found <= {"api"}
    elif own:
        assert found <= {"api", own, *shared.get(own, ())}
    else:
        assert found <= {"api"}


def test_only_the_command_line_imports_the_command_line():
    for module, path in MODULES.items():
        if package_of(module, {"conformance.cli", "conformance.pytest_plugin"}) is None:
            assert not {name for name in imports(path) if f"{name}.".startswith(("conformance.cli.", "click."))}, module


OUTSIDE = [path for path in FILES if not {"adapters", "reference"} & set(path.parts)]


@pytest.mark.parametrize("path", OUTSIDE, ids=label)
def test_no_framework_is_named_outside_the_adapters(path):
    text = path.read_text("utf-8")
    assert not re.search(rf"\b({'|'.join(FRAMEWORKS)})\b", text, re.IGNORECASE)


def test_the_search_for_framework_names_finds_them_in_adapters():
    assert [path for path in FILES if re.search(r"\btorch\b", path.read_text("utf-8"))]


def test_imports_have_no_cycles():
    graph = {
        name: {found for found in imports(path) if found in MODULES and found != name}
        for name, path in MODULES.items()
        if path.name != "__init__.py"
    }
    assert len(graph) >= LEAST_FILES - 40
    assert graph["conformance.cli.commands.run"] >= {"conformance.execution.targets", "conformance.cli.run_backends"}
    TopologicalSorter(graph).prepare()


def test_an_exported_name_counts_as_an_import_of_its_module(tmp_path):
    path = tmp_path / "case.py"
    path.write_text("from conformance.adapters.api import Surface\nfrom conformance.cases import geometry\n", "utf-8")
    expected = {"conformance.adapters.api", "conformance.adapters.api.surface", "conformance.cases.geometry"}
    assert imports(path) == expected


def test_no_module_imports_an_export_of_its_own_package():
    """A package imports its modules for its exports, so such an import would be a cycle."""
    for module, path in MODULES.items():
        for node in import_statements(path):
            if node.module in PACKAGES and f"{module}.".startswith(f"{node.module}."):
                found = {alias.name for alias in node.names if alias.name in EXPORTS[node.module]}
                assert not found, f"{module} imports {found} from {node.module}"


def exported_names(package):
    """Return `__all__` of a package."""
    tree = ast.parse(MODULES[package].read_text("utf-8"))
    values = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    return ast.literal_eval(values[0]) if values else []


EXPORTING = [package for package in sorted(PACKAGES) if exported_names(package)]


def public_names(package):
    """Return the names without an underscore that the `__init__` of a package imports from the project or assigns."""
    body = ast.parse(MODULES[package].read_text("utf-8")).body
    assigned = {ast.unparse(node.targets[0]) for node in body if isinstance(node, ast.Assign)} - {"__all__"}
    return {name for name in {*EXPORTS[package], *assigned} if not name.startswith("_")}


def test_the_search_for_exporting_packages_finds_them():
    assert set(EXPORTING) >= {"conformance.adapters.api", "reports.results", "reference"}


# `reference` makes the functions it exports, and users of the project call them.
LISTING = [package for package in EXPORTING if package != "reference"]


@pytest.mark.parametrize("package", LISTING)
def test_a_package_lists_the_names_it_exports(package):
    assert sorted(exported_names(package)) == sorted(public_names(package))


@pytest.mark.parametrize("package", EXPORTING)
def test_no_export_has_the_name_of_a_module(package):
    assert not {name for name in exported_names(package) if f"{package}.{name}" in MODULES}


@pytest.mark.parametrize("package", LISTING)
def test_every_export_is_used_outside_its_package(package):
    users = [path for folder in ("docs", "benchmarks", ".ci") for path in (ROOT / folder).rglob("*.py")]
    users += [path for module, path in MODULES.items() if not f"{module}.".startswith(f"{package}.")]
    found = {(node.module, alias.name) for path in users for node in import_statements(path) for alias in node.names}
    for name, module in EXPORTS[package].items():
        assert {(package, name), (module, name)} & found, name


COMMANDS_FOLDER = ROOT / "conformance" / "cli" / "commands"


def test_folders_are_small():
    top = {path.relative_to(ROOT / "conformance").parts[0] for path in (ROOT / "conformance").rglob("*")}
    assert len(top - {"__pycache__", "_cases", "_compat"}) <= MAX_ENTRIES
    for folder in {path.parent for path in FILES}:
        modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(modules) <= (MAX_COMMANDS if folder == COMMANDS_FOLDER else MAX_MODULES), folder


@pytest.mark.parametrize("path", FILES, ids=label)
def test_every_module_has_a_docstring(path):
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert docstring
    assert len(docstring.splitlines()[0]) > 15


def test_an_exported_name_is_imported_from_its_package():
    """Each name has one import path outside its package; the import rule has a line for the vocabulary alone."""
    exported = {
        (module, name)
        for package in LISTING
        for name, module in EXPORTS[package].items()
        if module.startswith(f"{package}.") and module != VOCABULARY
    }
    for path in [*FILES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "docs").rglob("*.py")]:
        own = module_of(path)
        for node in import_statements(path):
            if not f"{own}.".startswith(f"{str(node.module).rpartition('.')[0]}."):
                assert not {alias.name for alias in node.names if (node.module, alias.name) in exported}, own

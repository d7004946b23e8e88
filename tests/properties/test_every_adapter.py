"""Properties of every adapter in the registry. No framework is imported.

Each surface translates all conventions, all cases that must be rejected, and a part of the other cases.
`conformance check` translates all cases for all surfaces, and compiles the programs.
"""

import ast
import builtins
import importlib
import re
import sys
from dataclasses import dataclass
from functools import cached_property

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Backend, Program, Surface, Unsupported
from conformance.cases.case import Case, Value
from conformance.translation.lowering import translate
from tests.support.catalogue_parts import cases_of_part
from tests.support.nightly import NIGHTLY
from tests.support.program_text import bound_names, read_names

SURFACES = [
    pytest.param((registry.get_backend(name), surface), id=surface.name)
    for name in registry.backend_names()
    for surface in registry.get_backend(name).surfaces
]
DIGITS = re.compile(r"\d+")
every_surface = pytest.mark.parametrize(
    ("backend", "surface"), [pytest.param(*param.values[0], id=param.id) for param in SURFACES]
)
every_backend = pytest.mark.parametrize("name", registry.backend_names())


@dataclass(frozen=True)
class Translations:
    """The translations of a part of the catalogue to one surface: cases with a program, and cases with a reason."""

    backend: Backend
    surface: Surface
    supported: list[tuple[Case, Program]]
    unsupported: list[tuple[Case, Unsupported]]

    @cached_property
    def functions(self):
        """One case, with its syntax tree, of all whose programs differ in their numbers alone."""
        if self.surface.language is not None:
            pytest.skip("its programs are not Python; the tests of its adapter parse them")
        distinct = {
            (program.text if NIGHTLY else DIGITS.sub("0", program.text), *case.inputs): (case, program)
            for case, program in self.supported
        }
        return [(case, ast.parse(program.text)) for case, program in distinct.values()]


# pytest runs all tests of one surface before those of the next, so that the catalogue is translated once for each.
@pytest.fixture(scope="module", params=SURFACES)
def translations(request, catalogue):
    backend, surface = request.param
    values = [case for case in catalogue.cases if isinstance(case.expect, Value)]
    others = [case for case in catalogue.cases if not isinstance(case.expect, Value)]
    part = cases_of_part(values, [param.values[0][1] for param in SURFACES].index(surface))
    pairs = [(case, translate(case, surface)) for case in [*others, *part]]
    return Translations(
        backend,
        surface,
        [pair for pair in pairs if isinstance(pair[1], Program)],
        [pair for pair in pairs if isinstance(pair[1], Unsupported)],
    )


@every_backend
def test_adapter_has_the_documented_parts(name):
    module, backend = (
        importlib.import_module(f"conformance.adapters.{name.partition('-')[0]}"),
        registry.get_backend(name),
    )
    assert module.__doc__.strip()
    assert isinstance(backend.packages, tuple)
    assert backend.packages
    assert isinstance(backend.surfaces, tuple)
    assert backend.surfaces
    if backend.worker is None:
        ast.parse(backend.setup)
        ast.parse(backend.reset)
        ast.parse(backend.threads)


@pytest.mark.parametrize("name", [name for name in registry.backend_names() if not registry.get_backend(name).worker])
def test_setup_imports_the_framework_and_numpy(name):
    backend = registry.get_backend(name)
    modules = {
        alias.name.split(".")[0] if isinstance(node, ast.Import) else str(node.module).split(".")[0]
        for node in ast.walk(ast.parse(backend.setup))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert {backend.packages[0].split(".")[0], "numpy"} <= modules


def test_no_adapter_imports_its_framework():
    packages = {package for name in registry.backend_names() for package in registry.get_backend(name).packages}
    frameworks = packages - {*registry.get_backend(registry.BUILT_IN_BACKEND).packages}
    assert frameworks
    assert not frameworks & sys.modules.keys()


def test_no_two_surfaces_share_a_name():
    names = [param.values[0][1].name for param in SURFACES]
    assert len(names) == len(set(names))


@every_surface
def test_declared_conventions_and_answers_exist(catalogue, backend, surface):
    for convention, declaration in surface.declarations.items():
        assert declaration.answer in catalogue.by_id[convention].expect.named, f"{backend.name}: {convention}"
        assert declaration.source.strip()


def test_every_program_is_one_function_and_reads_bound_names_only(translations):
    assert translations.functions
    known = bound_names(ast.parse(translations.backend.setup)) | set(dir(builtins))
    for case, tree in translations.functions:
        assert [type(node) for node in tree.body] == [ast.FunctionDef]
        assert tree.body[0].name == "run"
        assert [argument.arg for argument in tree.body[0].args.args] == list(case.inputs)
        unknown = read_names(tree) - bound_names(tree) - known
        assert not unknown, f"{case.id}: {unknown}"


def test_every_program_ends_with_a_return_of_x(translations):
    for case, tree in translations.functions:
        last = tree.body[0].body[-1]
        assert isinstance(last, ast.Return), f"{translations.backend.name}: {case.id}"
        assert "x" in read_names(last)


def test_every_unsupported_case_has_a_reason_on_one_line(translations):
    for case, unsupported in translations.unsupported:
        assert len(unsupported.reason.split()) > 2, f"{translations.backend.name}: {case.id}"
        assert "\n" not in unsupported.reason


def test_conventions_and_rejections_use_native_programs(translations):
    for case, program in translations.supported:
        if not isinstance(case.expect, Value):
            assert program.how == "native", f"{translations.backend.name}: {case.id}"


@every_surface
def test_convention_about_the_default_stride_passes_no_stride(catalogue, backend, surface):
    case = catalogue.by_id["max_pool/stride-when-none-is-given"]
    program = translate(case, surface)
    if isinstance(program, Program):
        assert "strides=None" in program.text or "stride" not in program.text, backend.name


def test_case_that_prescribes_a_composition_is_composed(translations):
    for case, program in translations.supported:
        if case.via:
            assert program.how == "composed", f"{translations.backend.name}: {case.id}"


@every_surface
def test_translation_is_deterministic(catalogue, backend, surface):
    case = catalogue.by_id["max_pool/book-stride-2-padding-1"]
    assert translate(case, surface) == translate(case, surface), backend.name


BACKENDS_OF_RESIZING_ONLY = {"images"}
BOOK_OPERATORS_WITHOUT_A_PROGRAM = {(backend, "softmax_pool") for backend in ("litert", "mnn", "ncnn", "tfjs")}


def test_every_book_case_has_a_program_on_every_backend(catalogue):
    for name in set(registry.backend_names()) - BACKENDS_OF_RESIZING_ONLY:
        for case in catalogue.cases:
            if "/book-" in case.id and (name, case.operator) not in BOOK_OPERATORS_WITHOUT_A_PROGRAM:
                translations = [translate(case, surface) for surface in registry.get_backend(name).surfaces]
                assert any(isinstance(program, Program) for program in translations), f"{name}: {case.id}"

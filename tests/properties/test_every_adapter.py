"""Every adapter, found by looking; no framework is imported."""

import ast
import builtins
import importlib
import sys

import pytest

from conformance.adapters import registry
from conformance.adapters.api.surface import Program, Unsupported
from conformance.cases.case import Value
from conformance.translation.lowering import translate
from tests.support.program_text import bound, loaded

SURFACES = [
    pytest.param(registry.get_backend(name), surface, id=surface.name)
    for name in registry.backend_names()
    for surface in registry.get_backend(name).surfaces
]
every_surface = pytest.mark.parametrize(("backend", "surface"), SURFACES)
every_backend = pytest.mark.parametrize("name", registry.backend_names())


def programs(catalogue, surface):
    """Return every case with its program, and those without with the reason."""
    found = [(case, translate(case, surface)) for case in catalogue.cases]
    return (
        [pair for pair in found if isinstance(pair[1], Program)],
        [pair for pair in found if isinstance(pair[1], Unsupported)],
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
    ast.parse(backend.setup)
    ast.parse(backend.reset)
    ast.parse(backend.threads)


@every_backend
def test_setup_imports_the_framework_and_numpy(name):
    backend = registry.get_backend(name)
    modules = {
        alias.name.split(".")[0] if isinstance(node, ast.Import) else str(node.module).split(".")[0]
        for node in ast.walk(ast.parse(backend.setup))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    assert {backend.packages[0], "numpy"} <= modules


def test_no_adapter_imports_its_framework():
    packages = {package for name in registry.backend_names() for package in registry.get_backend(name).packages}
    frameworks = packages - {*registry.get_backend(registry.BUILT_IN_BACKEND).packages}
    assert frameworks
    assert not frameworks & sys.modules.keys()


def test_no_two_surfaces_share_a_name():
    names = [param.values[1].name for param in SURFACES]
    assert len(names) == len(set(names))


@every_surface
def test_declared_questions_and_answers_exist(catalogue, backend, surface):
    for question, declaration in surface.declarations.items():
        assert declaration.answer in catalogue.by_id[question].expect.named, f"{backend.name}: {question}"
        assert declaration.source.strip()


@every_surface
def test_question_that_can_be_put_has_a_declared_answer(catalogue, backend, surface):
    made = [case for case, _ in programs(catalogue, surface)[0] if surface.runs(case.level, case.tags)]
    asked = [case.question for case in made if case.question]
    assert set(asked) <= surface.declarations.keys(), backend.name


@every_surface
def test_every_program_is_python_and_uses_only_names_that_it_or_the_setup_binds(catalogue, backend, surface):
    known = bound(ast.parse(backend.setup)) | set(dir(builtins))
    made, _ = programs(catalogue, surface)
    assert made
    for case, program in made:
        tree = ast.parse(program.text)
        assert [type(node) for node in tree.body] == [ast.FunctionDef]
        assert tree.body[0].name == "run"
        assert [argument.arg for argument in tree.body[0].args.args] == list(case.inputs)
        unknown = loaded(tree) - bound(tree) - known
        assert not unknown, f"{case.id}: {unknown}"


@every_surface
def test_every_program_returns_what_it_is_about(catalogue, backend, surface):
    for case, program in programs(catalogue, surface)[0]:
        last = ast.parse(program.text).body[0].body[-1]
        assert isinstance(last, ast.Return), f"{backend.name}: {case.id}"
        assert "x" in loaded(last)


@every_surface
def test_whatever_has_no_program_has_a_reason_in_words(catalogue, backend, surface):
    for case, refusal in programs(catalogue, surface)[1]:
        assert len(refusal.reason.split()) > 2, f"{backend.name}: {case.id}"
        assert "\n" not in refusal.reason


@every_surface
def test_questions_and_faults_are_put_to_one_native_call(catalogue, backend, surface):
    for case, program in programs(catalogue, surface)[0]:
        if not isinstance(case.expect, Value):
            assert program.how == "native", f"{backend.name}: {case.id}"


@every_surface
def test_question_is_asked_without_the_parameters_that_it_leaves_out(catalogue, backend, surface):
    case = catalogue.by_id["max_pool/stride-when-none-is-given"]
    program = translate(case, surface)
    if isinstance(program, Program):
        assert "strides=None" in program.text or "stride" not in program.text, backend.name


@every_surface
def test_case_that_names_a_composition_is_composed(catalogue, backend, surface):
    for case, program in programs(catalogue, surface)[0]:
        if case.via:
            assert program.how == "composed", f"{backend.name}: {case.id}"


@every_surface
def test_translation_is_the_same_every_time(catalogue, backend, surface):
    case = catalogue.by_id["max_pool/book-stride-2-padding-1"]
    assert translate(case, surface) == translate(case, surface), backend.name


def test_every_book_case_has_a_program_on_a_surface_of_each_framework(catalogue):
    for name in registry.backend_names():
        for case in catalogue.cases:
            if "/book-" in case.id:
                ways = [translate(case, surface) for surface in registry.get_backend(name).surfaces]
                assert any(isinstance(way, Program) for way in ways), f"{name}: {case.id}"

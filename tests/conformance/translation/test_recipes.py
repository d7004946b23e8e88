"""Replacements of calls that a route changes."""

from dataclasses import replace

import pytest

from conformance.adapters import registry
from conformance.adapters.api import Program, Recipe, RouteStages, Surface, Unsupported
from conformance.translation.lowering import translate
from conformance.translation.recipes import recipe_remark, recipe_surface
from conformance.translation.side_by_side import TranslationBackground, translate_case
from tests.support.catalogue_parts import cases_by_id

CASES = cases_by_id("standard")
STRIDED, PADDED = CASES["max_pool/book-default-stride"], CASES["max_pool/book-stride-2-padding-1"]


def route(recipe):
    plain = Surface("source", {"max_pool": lambda _step: "pool(x)"})
    return replace(plain, name="exporter→runtime", route=RouteStages("source", "runtime", plain, plain, recipes=recipe))


def is_padded(step):
    return step.padded


OTHER_CALL = route({"max_pool": Recipe("the converter leaves the padding out", is_padded, lambda _step: "other(x)")})
REWRITTEN = route({"max_pool": Recipe("the converter leaves the padding out", is_padded)})


def program_text(case, surface):
    program = translate(case, surface)
    assert isinstance(program, Program), program
    return program.text


def test_replacement_is_written_with_the_lowering_of_the_recipe():
    surface = recipe_surface(PADDED, OTHER_CALL)
    assert "other(x)" in program_text(PADDED, surface)
    assert "pool(x)" in program_text(PADDED, OTHER_CALL)


def test_recipe_without_a_lowering_leaves_the_call_out():
    program = translate(PADDED, recipe_surface(PADDED, REWRITTEN))
    assert isinstance(program, Unsupported)
    assert "the converter leaves the padding out" in program.reason


def test_remark_has_the_reason():
    assert recipe_remark(recipe_surface(PADDED, OTHER_CALL)) == (
        "write this before the export, because the converter leaves the padding out"
    )
    assert not recipe_remark(OTHER_CALL)
    assert not recipe_remark(OTHER_CALL.route.source)


@pytest.mark.parametrize(
    ("case", "surface"),
    [(STRIDED, OTHER_CALL), (PADDED, OTHER_CALL.route.source), (CASES["max_pool/nan-in-window"], OTHER_CALL)],
    ids=["a call that survives", "no route", "a convention"],
)
def test_no_replacement(case, surface):
    assert recipe_surface(case, surface) is None


@pytest.mark.parametrize(
    ("case", "surface", "names"),
    [
        (PADDED, OTHER_CALL, ["exporter→runtime", "exporter→runtime, instead"]),
        (STRIDED, OTHER_CALL, ["exporter→runtime"]),
        # There is no building block for the padding.
        (PADDED, REWRITTEN, ["exporter→runtime"]),
    ],
    ids=["changed", "survives", "cannot be written"],
)
def test_translations_list_the_replacement_after_the_call(case, surface, names):
    backend = registry.get_backend("numpy")
    found = translate_case(case, [(backend, surface)], TranslationBackground())
    assert [one.surface.name for one in found] == names
    if len(names) > 1:
        assert any(remark.startswith("write this before the export") for remark in found[1].remarks)
        assert not any("because" in remark for remark in found[0].remarks)

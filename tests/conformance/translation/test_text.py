"""Translations as text: surfaces with the same program are printed together."""

from dataclasses import replace

import pytest

from conformance.catalogue import describe
from conformance.translation import text
from conformance.translation.ad_hoc_case import CaseRequest
from conformance.translation.side_by_side import TranslationBackground, translate_case
from tests.support import fake_backends as fakes

ENGINES = ("keras-jax", "keras-tensorflow", "keras-torch")


@pytest.fixture
def case():
    return CaseRequest("avg_pool", {"window": 3, "padding": 1}).case()


@pytest.fixture
def translated(case):
    """Return a function that translates the case to surfaces of the suite, by name."""
    known = describe.surfaces_by_name()
    return lambda *names: translate_case(case, [known[name] for name in names], TranslationBackground())


def printed(case, translations):
    return list(text.text_lines(text.TranslatedCase(case), translations))


def test_engines_with_the_same_program_are_printed_once(case, translated):
    names = [f"{engine}.{part}" for engine in ENGINES for part in ("ops", "layers")]
    found = printed(case, translated(*names))
    for part in ("ops", "layers"):
        together = ", ".join(f"{engine}.{part}" for engine in ENGINES)
        assert found.count(f"# {together}: composed, for x [1, 2, 8, 8]") == 1
        assert f"#   - the lines before the program are for {ENGINES[0]}.{part}" in found
    assert "\n".join(found).count("def run(x):") == 2


def test_line_that_not_all_surfaces_have_begins_with_their_names(case, translated):
    first, *others = (
        replace(one, verified_text="3 cases agree") for one in translated(*(f"{engine}.ops" for engine in ENGINES))
    )
    found = printed(case, [replace(first, warnings=("known deviation",)), *others])
    assert found.count("#   3 cases agree") == 1
    assert "#   ! keras-jax.ops: known deviation" in found


def test_programs_that_differ_in_how_they_were_made_are_printed_apart(case, translated):
    (one,) = translated("keras-jax.ops")
    other = replace(one, program=replace(one.program, how="native"))
    assert "\n".join(printed(case, [one, other])).count("def run(x):") == 2


def test_same_setup_is_printed_without_a_remark(case, translated):
    (one,) = translated("keras-jax.ops")
    other = replace(one, surface=fakes.surface("keras-jax.other"))
    found = "\n".join(printed(case, [one, other]))
    assert found.count("# keras-jax.ops, keras-jax.other: ") == 1
    assert "the lines before the program" not in found

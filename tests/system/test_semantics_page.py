"""docs/semantics.md: a test for every statement, and a section for every operator."""

import re

import pytest

import reference
from tests import ROOT

PAGE = (ROOT / "docs" / "semantics.md").read_text()
SECTIONS = {part.split("\n", 1)[0]: part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}
OPERATORS = [name for name in reference.OPERATORS if not name.endswith("_grad")]
GRADIENTS = [name for name in reference.OPERATORS if name.endswith("_grad")]


def defined():
    """Return the names of all tests."""
    files = (ROOT / "tests").rglob("test_*.py")
    return {name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)}


def statements():
    """Return the rows of the tables of statements; the last column names the tests."""
    found = []
    for table in re.findall(r"\| statement \| test \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE):
        found += table.splitlines()
    return found


def test_every_named_test_exists():
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 80
    assert named <= defined(), named - defined()


def test_every_statement_names_a_test():
    assert len(statements()) > 80
    for row in statements():
        last = re.split(r"(?<!\\)\|", row)[-2]
        assert re.fullmatch(r" `test_\w+`(, `test_\w+`)* ", last), row


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_has_a_section_with_statements(name):
    assert name in SECTIONS
    assert "| statement | test |" in SECTIONS[name]


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_has_a_source_an_output_and_dtypes(name):
    for word in ("Source:", "Output:", "Dtypes:"):
        assert word in SECTIONS[name], word


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_lists_answers_of_frameworks_or_that_none_has_it(name):
    assert re.search(
        r"\| convention \| answers \||named on this page has it|do not have it|have no such operator", SECTIONS[name]
    )


def test_statements_from_memory_are_marked_and_explained():
    marked = [line for line in PAGE.splitlines() if "†" in line]
    assert any(line.startswith("† ") for line in marked)
    assert "† marks statements from memory" in PAGE
    assert all(line.startswith(("| ", "† ")) for line in marked)


@pytest.mark.parametrize("name", GRADIENTS)
def test_every_gradient_is_in_the_section_of_its_operator(name):
    assert f"`{name}`" in SECTIONS[name.removesuffix("_grad")]


def test_no_section_is_for_an_unknown_operator():
    assert set(SECTIONS) - {"Windows", "Numbers"} == set(OPERATORS)

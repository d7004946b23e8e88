"""The pages of translations: golden files, links, commands, and the programs that the suite runs."""

import ast
import re
import shlex

import pytest

from conformance.adapters.api import Program
from conformance.cases.operators import FORWARD_OPERATORS
from conformance.catalogue import describe
from conformance.cli.commands import translate as commands_translate
from conformance.translation.lowering import translate
from docs.generate import translations
from docs.generate.translation_examples import OPERATOR_PAGES
from tests import ROOT

FOLDER = ROOT / "docs" / "translations"


@pytest.fixture(scope="module")
def pages(catalogue):
    return translations.render_pages(catalogue)


def test_committed_pages_are_current(pages):
    committed = translations.committed_pages(pages)
    assert {path.name for path in FOLDER.iterdir()} == committed.keys()
    outdated = [name for name, text in committed.items() if (FOLDER / name).read_text("utf-8") != text]
    assert not outdated, "python -m docs.generate.translations"


def test_committed_index_links_committed_pages_only(pages):
    committed = translations.committed_pages(pages)
    linked = set(re.findall(r"\]\((\w+\.md)\)", committed["README.md"]))
    assert linked == committed.keys() - {"README.md"}
    assert all(operator.replace("_", "\\_") in committed["README.md"] or f"{operator}.md" in linked
               for operator in FORWARD_OPERATORS)  # fmt: skip


def test_every_operator_has_a_page_in_the_index(pages):
    assert pages.keys() == {"README.md", *(f"{operator}.md" for operator in FORWARD_OPERATORS)}
    assert all(f"[{operator}]({operator}.md)" in pages["README.md"] for operator in FORWARD_OPERATORS)
    assert OPERATOR_PAGES.keys() == set(FORWARD_OPERATORS)


@pytest.mark.parametrize("operator", FORWARD_OPERATORS)
def test_links_inside_a_page_have_targets(pages, operator):
    text = pages[f"{operator}.md"]
    anchors = {translations._heading_anchor(title) for title in re.findall(r"^## (.*)$", text, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]*)\)", text)) == anchors


@pytest.mark.parametrize("operator", FORWARD_OPERATORS)
def test_commands_of_a_page_translate_its_cases(pages, operator):
    commands = re.findall(r"^`conformance translate (.*)`$", pages[f"{operator}.md"], re.MULTILINE)
    assert len(commands) == len(OPERATOR_PAGES[operator].common_calls)
    for line, common in zip(commands, OPERATOR_PAGES[operator].common_calls, strict=True):
        context = commands_translate.translate_command.make_context("translate", shlex.split(line))
        options = {key: value for key, value in context.params.items() if value is not None}
        for key in ("what", "globs", "output_format", "paths", "style", "values", "inputs"):
            options.pop(key)
        case = commands_translate._operator_request(operator, options).case
        expected = common.request(operator).case()
        assert (case.parameters, case.inputs) == (expected.parameters, expected.inputs)


@pytest.mark.parametrize("operator", FORWARD_OPERATORS)
def test_programs_of_a_page_are_those_that_the_suite_runs(pages, operator):
    blocks = re.findall(r"```python\n(.*?)```\n", pages[f"{operator}.md"], re.DOTALL)
    runs = ["def run(" + block.partition("def run(")[2] for block in blocks]
    for block in blocks:
        ast.parse(block)
    for common in OPERATOR_PAGES[operator].common_calls:
        case = common.request(operator).case()
        for backend, surface in describe.primary_surfaces():
            program = translate(case, surface)
            if isinstance(program, Program) and backend.name != "numpy":
                assert program.text in runs


def test_surfaces_with_the_same_program_are_grouped(pages):
    for name in FORWARD_OPERATORS:
        for section in pages[f"{name}.md"].split("\n## "):
            blocks = re.findall(r"```python\n(.*?)```\n", section, re.DOTALL)
            assert len(blocks) == len(set(blocks))


def test_surfaces_without_a_translation_are_in_one_line_with_their_reasons(pages):
    lines = [line for line in pages["fractional_max_pool.md"].splitlines() if line.startswith("Unsupported: ")]
    assert len(lines) == 1
    assert "(Keras has no fractional pooling)" in lines[0]


def test_page_lists_conventions_and_deviations_of_surfaces(pages):
    row = next(line for line in pages["max_pool.md"].splitlines() if line.startswith("| stride when none is given | "))
    answers = dict(answer.split(": ") for answer in row.split(" | ")[1].removesuffix(" |").split("; "))
    assert "torch.nn" in answers["**window**"]
    assert "flax.linen" in answers["**one**"]
    assert "mxnet.numpy.pad" in pages["pad.md"] or "mxnet.np.pad pads with zeros" in pages["pad.md"]
    assert "| torch.nn | torch 2." in pages["conv.md"]


def test_no_page_depends_on_the_day(pages):
    assert not [name for name, text in pages.items() if re.search(r"20\d\d-\d\d-\d\d", text)]

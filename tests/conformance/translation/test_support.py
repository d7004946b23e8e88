"""How surfaces carry operators out, counted, and shown."""

import pytest

from conformance import cli
from conformance.adapters import registry
from conformance.adapters.api.surface import Surface, Unsupported
from conformance.translation import support
from conformance.translation.support import support_table, unsupported_reasons
from tests import ROOT
from tests.support.fake_backends import load, one

ISSUE = "https://example.org/1"
X = "x: {values: arange, shape: [1, 1, 4]}"
CASES = (
    f"id: plain, {X}, window: 2",
    f"id: padded, {X}, window: 2, padding: 1",
    f"id: holes, {X}, window: 2, dilation: 2, stride: 1",
    f"id: recipe, {X}, window: 2, padding: 1, via: [pad, max_pool]",
    f"id: refused, {X}, window: 2, stride: 0, expect: {{rejected: StrideIsZero}}",
)


def pooling(step):
    if step.dilated:
        return Unsupported("no | holes", ISSUE)
    return Unsupported("this call has no padding") if step.padded else "pool(x)"


FULL = Surface("a.full", {"max_pool": pooling, "pad": lambda _step: "pad(x)"})
POOR = Surface("a.poor", {"max_pool": pooling}, allows_compositions=False)
NONE = Surface("b.none", {}, allows_compositions=False)


@pytest.fixture
def table(tmp_path):
    return support_table(load(tmp_path, *CASES).cases, [FULL, POOR, NONE])


def test_cases_that_ask_for_a_value_are_counted_by_how_they_are_done(table):
    assert dict(table["max_pool"]["a.full"].counts()) == {"native": 1, "padded": 1, "–": 1}
    assert dict(table["max_pool"]["a.poor"].counts()) == {"native": 1, "–": 2}


def test_compositions_that_a_case_asks_for_and_faults_are_not_counted(table):
    assert sum(number for _, number in table["max_pool"]["b.none"].counts()) == 3


def test_reasons_are_counted_the_most_frequent_first(table):
    assert unsupported_reasons(table, "a.full") == [(("no | holes", ISSUE), 1, ["max_pool"])]
    (first, number, operators), *_ = unsupported_reasons(table, "b.none")
    assert (number, operators) == (3, ["max_pool"])
    assert first == ("b.none has no max_pool", "")


def test_gradient_stands_after_its_operator(tmp_path):
    x = "x: {values: arange, shape: [1, 1, 4]}, window: 2"
    gradient = one(tmp_path, f"id: a, grad: {{values: integers}}, {x}", operator="max_pool_grad")
    forward = one(tmp_path, f"id: a, {x}")
    minimum = one(tmp_path, f"id: a, {x}", operator="min_pool")
    assert list(support_table([minimum, gradient, forward], [FULL])) == ["max_pool", "max_pool_grad", "min_pool"]


def test_page_has_one_sign_for_each_operator_and_a_table_for_each_backend(table):
    text = "\n".join(support.markdown_lines(table, {"a": [FULL, POOR], "b": [NONE]}))
    assert "| `a.full` | ○ |" in text
    assert "| `b.none` | · |" in text
    assert "| `max_pool` | 1 native, 1 padded, 1 – | 1 native, 2 – |" in text
    assert "no \\| holes" in text


@pytest.mark.parametrize(("cases", "sign"), [(CASES[:1], "●"), (CASES[:2], "◐"), (CASES[:3], "○"), (CASES[2:3], "·")])
def test_sign_says_whether_all_is_done_and_how(tmp_path, cases, sign):
    text = "\n".join(support.markdown_lines(support_table(load(tmp_path, *cases).cases, [FULL]), {"a": [FULL]}))
    assert f"| `a.full` | {sign} |" in text


def test_terminal_names_every_reason_with_its_issue(table):
    lines = list(support.terminal_lines(table, [POOR, NONE]))
    assert lines[0] == "a.poor"
    assert "  max_pool  1 native, 2 –" in lines
    assert any(ISSUE in line for line in lines)
    assert "    3 – b.none has no max_pool (max_pool)" in lines


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        cli.main(["surfaces", *arguments])
    return end.value.code or 0, capsys.readouterr()


def test_command_shows_the_operators_and_surfaces_that_are_asked_for(capsys):
    status, shown = run(capsys, "--operator", "lp_pool", "--surface", "numpy.*")
    assert status == 0
    assert shown.out.startswith("numpy.loops\n===========\n  lp_pool  ")
    assert "native" in shown.out


def test_command_that_selects_no_surface_says_so(capsys):
    status, shown = run(capsys, "--operator", "lp_pool", "--surface", "nope.*")
    assert status == 3
    assert "no surface is selected" in shown.err


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_written_page_has_what_the_command_prints(catalogue, name):
    page = (ROOT / "docs" / "surfaces.md").read_text("utf-8")
    surfaces = registry.get_backend(name).surfaces
    (_, part) = "\n".join(
        support.markdown_lines(support_table(catalogue.select("standard"), surfaces), {name: surfaces})
    ).split(f"## {name}\n")
    assert f"## {name}\n{part.rstrip()}\n" in page + "\n"


def test_written_page_has_every_surface():
    page = (ROOT / "docs" / "surfaces.md").read_text("utf-8")
    for name in registry.built_in_modules():
        assert all(f"\n| `{surface.name}` | " in page for surface in registry.get_backend(name).surfaces)

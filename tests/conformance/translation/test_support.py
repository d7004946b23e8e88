"""Counts of native, padded, composed and unsupported cases, and their tables."""

import pytest

from conformance import cli
from conformance.adapters.api import Surface, Unsupported
from conformance.cli.markdown_pages import surfaces_page
from conformance.translation import support
from conformance.translation.support import support_table, unsupported_reasons
from tests.support.fake_backends import load, one

ISSUE = "https://example.org/1"
X = "x: {values: arange, shape: [1, 1, 4]}"
CASES = (
    f"id: unpadded, {X}, window: 2",
    f"id: padded, {X}, window: 2, padding: 1",
    f"id: dilated, {X}, window: 2, dilation: 2, stride: 1",
    f"id: composition, {X}, window: 2, padding: 1, via: [pad, max_pool]",
    f"id: rejected, {X}, window: 2, stride: 0, expect: {{rejected: StrideIsZero}}",
)


def pooling(step):
    if step.dilated:
        return Unsupported("no | dilation", ISSUE)
    return Unsupported("this call has no padding") if step.padded else "pool(x)"


WITH_COMPOSITIONS = Surface("a.full", {"max_pool": pooling, "pad": lambda _step: "pad(x)"})
NATIVE_ONLY = Surface("a.poor", {"max_pool": pooling}, allows_compositions=False)
UNSUPPORTED = Surface("b.none", {}, allows_compositions=False)


@pytest.fixture
def table(tmp_path):
    return support_table(load(tmp_path, *CASES).cases, [WITH_COMPOSITIONS, NATIVE_ONLY, UNSUPPORTED])


def test_cases_that_require_a_value_are_counted_by_kind_of_program(table):
    assert dict(table["max_pool"]["a.full"].counts()) == {"native": 1, "padded": 1, "–": 1}
    assert dict(table["max_pool"]["a.poor"].counts()) == {"native": 1, "–": 2}


def test_prescribed_compositions_and_rejections_are_not_counted(table):
    assert sum(number for _, number in table["max_pool"]["b.none"].counts()) == 3


def test_reasons_are_sorted_by_frequency(table):
    assert unsupported_reasons(table, "a.full") == [(("no | dilation", ISSUE), 1, ["max_pool"])]
    (first, number, operators), *_ = unsupported_reasons(table, "b.none")
    assert (number, operators) == (3, ["max_pool"])
    assert first == ("b.none has no max_pool", "")


def test_gradient_follows_its_operator(tmp_path):
    x = "x: {values: arange, shape: [1, 1, 4]}, window: 2"
    gradient = one(tmp_path, f"id: a, grad: {{values: integers}}, {x}", operator="max_pool_grad")
    forward = one(tmp_path, f"id: a, {x}")
    minimum = one(tmp_path, f"id: a, {x}", operator="min_pool")
    assert list(support_table([minimum, gradient, forward], [WITH_COMPOSITIONS])) == [
        "max_pool",
        "max_pool_grad",
        "min_pool",
    ]


def test_page_has_one_sign_for_each_operator_and_a_table_for_each_backend(table):
    text = surfaces_page(table, {"a": [WITH_COMPOSITIONS, NATIVE_ONLY], "b": [UNSUPPORTED]})
    assert "| `a.full` | ○ |" in text
    assert "| `b.none` | · |" in text
    assert "| `max_pool` | 1 native, 1 padded, 1 – | 1 native, 2 – |" in text
    assert "no \\| dilation" in text


@pytest.mark.parametrize(("cases", "sign"), [(CASES[:1], "●"), (CASES[:2], "◐"), (CASES[:3], "○"), (CASES[2:3], "·")])
def test_sign_of_a_table_cell(tmp_path, cases, sign):
    surfaces = [WITH_COMPOSITIONS]
    table = support_table(load(tmp_path, *cases).cases, surfaces)
    text = surfaces_page(table, {"a": surfaces})
    assert f"| `a.full` | {sign} |" in text


def test_terminal_output_lists_every_reason_with_its_issue(table):
    lines = list(support.terminal_lines(table, [NATIVE_ONLY, UNSUPPORTED]))
    assert lines[0] == "a.poor"
    assert "  max_pool  1 native, 2 –" in lines
    assert any(ISSUE in line for line in lines)
    assert "    3 – b.none has no max_pool (max_pool)" in lines


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        cli.main(["surfaces", *arguments])
    return end.value.code or 0, capsys.readouterr()


def test_command_shows_the_requested_operators_and_surfaces(capsys):
    status, output = run(capsys, "--operator", "lp_pool", "--surface", "numpy.*")
    assert status == 0
    assert output.out.startswith("numpy.loops\n===========\n  lp_pool  ")
    assert "native" in output.out


def test_command_reports_a_pattern_that_matches_no_surface(capsys):
    status, output = run(capsys, "--operator", "lp_pool", "--surface", "nope.*")
    assert status == 2
    assert "surface 'nope.*': unknown" in output.err

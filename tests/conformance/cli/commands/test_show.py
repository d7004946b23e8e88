"""`conformance show`."""

import pytest

from conformance.catalogue.describe import case_text
from conformance.judging.expected import compute_expected

pytestmark = pytest.mark.usefixtures("own_folder")


def test_list_prints_one_id_per_line(conformance, catalogue):
    _, out, _ = conformance("list")
    assert out.splitlines() == [case.id for case in catalogue.select("standard")]


def test_list_on_a_terminal_ends_with_the_version_of_the_catalogue(conformance, catalogue, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    _, out, _ = conformance("list", "--operator", "min_pool", "--level", "smoke")
    assert out.splitlines()[-1] == f"{len(out.splitlines()) - 1} cases, catalogue {catalogue.version}"


CASE = "max_pool/book-loops"


def test_show_prints_parameters_inputs_expected_result_and_cost(conformance):
    _, out, _ = conformance("show", CASE)
    for part in ("window", "stride", "float32 [1, 1, 3, 3]", "expected", "comparisons", "d2l"):
        assert part in out


def test_show_ends_with_an_ascii_drawing_without_a_terminal(conformance):
    _, out, _ = conformance("show", CASE)
    assert "\nx[0, 0]" in out
    assert "[ ] first window" in out
    assert out.isascii()
    assert conformance("show", CASE, "--no-drawing")[1] == out[: out.index("\nx[0, 0]")]


@pytest.mark.parametrize(
    ("environment", "colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_drawing_has_colors_on_a_terminal_with_colors(conformance, monkeypatch, environment, colored):
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    _, out, _ = conformance("show", "max_pool/book-stride-2-padding-1")
    assert ("\x1b[" in out, "·" in out) == (colored, colored)


def test_every_kind_of_case_can_be_shown(catalogue):
    kinds = {
        (case.operator, *sorted(case.parameters), len(case.shape), type(case.expect)): case for case in catalogue.cases
    }
    assert len(kinds) > 150
    for case in kinds.values():
        assert case_text(case, compute_expected(case)).startswith(case.id)

"""The cases that `conformance history` selects."""

import pytest

from conformance.adapters import registry
from conformance.execution.releases.history_run import history_cases
from conformance.judging.release_findings import cases_of_findings


@pytest.fixture(scope="module")
def selected(catalogue):
    return {case.id for case in history_cases(catalogue, registry.get_backend("onnx"), "smoke").cases}


def test_cases_of_the_level_and_of_conventions_are_selected(catalogue, selected):
    assert {case.id for case in catalogue.select("smoke")} <= selected
    assert {case.id for case in catalogue.cases if case.convention_id} <= selected


def test_cases_of_findings_about_the_backend_are_selected(catalogue, selected):
    named = cases_of_findings("onnx")
    assert "conv/1d-nan-next-to-a-dilated-window" in named
    assert named & {case.id for case in catalogue.cases} <= selected


def test_other_cases_are_not_selected(catalogue, selected):
    others = {case.id for case in catalogue.cases} - selected
    assert len(others) > len(selected)
    assert cases_of_findings("openvino") & others

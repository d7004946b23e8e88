"""The comparison of results as JSON."""

import json

from reports.analysis.comparison import compare_reports
from reports.results import load_report
from reports.views import comparison_json
from tests.support.compared_runs import (
    HOSTILE,
    NN,
    POOL,
    WORST,
    WRONG,
    alpha,
    write_hostile_runs,
)
from tests.support.example_results import differing, result


def test_json_has_everything(diff):
    old, new = alpha(result(POOL, NN)), alpha(differing(POOL, NN, WRONG, WORST, digest="00", message="so"))
    said = json.loads(diff(old, new, "--format", "json")[1])
    assert {key: said[key] for key in ("format", "changed", "complete", "compared", "counts")} == {
        "format": 1, "changed": True, "complete": True, "compared": 1, "counts": {"status": 1},
    }  # fmt: skip
    (change,) = said["changes"]
    assert (change["case"], change["surface"], change["was"], change["now"]) == (POOL, NN, "pass", "fail")
    assert (change["new"]["digest"], change["new"]["budget_used"], change["new"]["message"]) == ("00", "inf", "so")
    packages = {"alpha": "2.1.0", "numpy": "2.4.6"}
    assert said["backends"][0]["old"] == {"backend": "alpha", "packages": packages, "results": 1}


def test_control_characters_in_texts_are_escaped(tmp_path):
    for paths in write_hostile_runs(tmp_path):
        difference = compare_reports(*(load_report([path]) for path in paths))
        text = comparison_json.render_difference_json(difference)
        assert text.isascii()
        changes = json.loads(text)["changes"]
        assert HOSTILE in {change["now"] for change in changes} | {
            change["new"]["message"] for change in changes if change["new"]
        }

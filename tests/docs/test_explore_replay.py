"""benchmarks/explore_replay.py: differences that may be a bug, ledger entries that are removed, and written rows."""

import json
import runpy

import pytest

from conformance import ConformanceError
from conformance.exploration.evaluation import SurfaceResult
from conformance.exploration.symptoms import Symptom
from conformance.judging.ledger import Ledger, load_ledger
from conformance.judging.release_answers import AnswerRange, Evidence
from docs.generate.replay import Answer, Bug, Replay
from reports.results.vocabulary import DifferenceKind, Outcome, Status
from tests import ROOT

MODULE = runpy.run_path(str(ROOT / "benchmarks" / "explore_replay.py"))
Attribution = MODULE["Attribution"]


def bug(answer="differ value", case="pad/a", **fields):
    return Bug("a/b#1", "wrong", case=case, surface="s", had="1.0", answer=answer, **fields)


@pytest.mark.parametrize(
    ("answer", "case", "symptom", "expected"),
    [
        ("differ value", "pad/a", DifferenceKind.SHAPE, True),
        ("differ value", "pad/a", DifferenceKind.REJECTED, False),
        ("differ accepted", "pad/rejects/a", DifferenceKind.ACCEPTED, True),
        ("differ accepted", "pad/rejects/a", DifferenceKind.VALUE, False),
        ("rejected, differ", "pad/a", DifferenceKind.REJECTED, True),
        ("rejected, differ", "pad/a", DifferenceKind.VALUE, False),
        ("crashed", "pad/a", Outcome.CRASHED, True),
        ("crashed", "pad/a", DifferenceKind.ACCEPTED, False),
        ("crashed", "pad/rejects/a", DifferenceKind.ACCEPTED, True),
        ("other", "pad/a", DifferenceKind.ACCEPTED, True),
        ("other", "pad/a", DifferenceKind.REJECTED, False),
    ],
)
def test_differences_that_may_be_the_bug(answer, case, symptom, expected):
    result = SurfaceResult("s", Status.FAIL, Symptom(symptom))
    assert MODULE["may_show"](bug(answer, case), result) is expected


def answered(versions):
    return Answer(AnswerRange("differ value", None, None, versions, Evidence(versions[0], "", None)), None)


def test_bugs_of_a_release():
    still = Replay(bug(), answered(("1.0", "1.1")), None)
    fixed = Replay(bug(case="pad/b"), answered(("1.0",)), answered(("1.1",)))
    not_run = Replay(bug(case="pad/c"), None, None)
    found = [still, fixed, not_run]

    def cases(release, match="", *, only_fixed=False, surfaces=("s",)):
        return [one.case for one in MODULE["bugs_in"](release, surfaces, found, match, fixed=only_fixed)]

    assert cases("1.0") == ["pad/a", "pad/b"]
    assert cases("1.1") == ["pad/a"]
    assert cases("1.0", only_fixed=True) == ["pad/b"]
    assert cases("1.0", "pad/a") == ["pad/a"]
    assert cases("1.0", surfaces=("t",)) == []


def divided(catalogue, case_id, surface, report="a/b#1"):
    """Return the ids of the ledger entries that remain, and of those that are removed, for a bug."""
    (case,) = [one for one in catalogue.cases if one.id == case_id]
    others, removed = MODULE["divide_ledger"](load_ledger(), Bug(report, "wrong", case=case_id, surface=surface), case)
    return {entry.id for entry in others.entries}, {entry.id for entry in removed.entries}


IDS = {entry.id for entry in load_ledger().entries}
MAXIMUM_ENTRY = "onnxruntime-maximum-compares-low-halves-as-signed"


def test_the_entry_of_a_case_is_removed_and_no_other(catalogue):
    case_id = "global_max_pool/beyond-the-sign-in-uint32"
    assert divided(catalogue, case_id, "onnxruntime") == (IDS - {MAXIMUM_ENTRY}, {MAXIMUM_ENTRY})
    assert divided(catalogue, case_id, "no.surface") == (IDS, set())


def test_the_entries_that_name_the_report_are_removed(catalogue):
    case_id, report = "fractional_max_pool/rejects/window-is-zero", "pytorch/pytorch#188218"
    both = {"torch-fractional-window-not-positive", "torch-fractional-3d-window-not-positive"}
    assert divided(catalogue, case_id, "torch.nn.functional", report) == (IDS - both, both)
    # torch.nn.FractionalMaxPool3d checks the window.
    assert divided(catalogue, case_id, "torch.nn", report)[1] == {"torch-fractional-window-not-positive"}
    # This entry names a pull request.
    assert divided(catalogue, case_id, "onnx.reference", "onnx/onnx#8199")[1] == {"onnx-evaluator-does-not-crop"}


def row(*differences, **fields):
    values = {"report": "a/b#1", "case": "pad/a", "surface": "s", "release": "1.0", "seed": 0, "limit": 2000}
    counts = {"cases": 9, "checked": 8, "others": 0, "removed": [], "cpu_seconds": 1.0, "seconds": 2.0}
    return {**values, **counts, "differences": list(differences), **fields}


def difference(number, by=""):
    return {"number": number, "case": f"pad/explored/{number}", "symptom": "value", "message": "", "by": by}


def attributed(number):
    return {("a/b#1", "pad/a"): Attribution("a/b#1", "pad/a", number, "compared")}


def test_the_first_difference_of_a_removed_entry_is_the_bug():
    one = MODULE["explored_row"](row(difference(3), difference(5, "ledger c")), {})
    assert (one.found.number, one.found.by) == (5, "ledger c")


def test_other_differences_need_a_person():
    found = row(difference(3), difference(5, "the fixed release agrees"))
    with pytest.raises(ConformanceError, match=r"attributions\.yaml: a/b#1 pad/a is missing"):
        MODULE["explored_row"](found, {})
    one = MODULE["explored_row"](found, attributed(3))
    assert (one.found.number, one.found.by, one.note) == (3, "comparison with the report", "compared")
    assert MODULE["explored_row"](found, attributed(None)).found is None


def test_an_attribution_names_a_difference():
    with pytest.raises(ConformanceError, match="no difference 4"):
        MODULE["explored_row"](row(difference(3)), attributed(4))


def test_a_search_without_differences_found_nothing():
    assert MODULE["explored_row"](row(), {}).found is None


def test_a_search_ends_with_a_removed_entry_or_enough_differences():
    search = MODULE["Search"](bug(), Ledger(), {}, ())
    assert not search.is_complete
    search.cases, search.differences = 10, [difference(10)]
    assert not search.is_complete
    search.cases = 10 + MODULE["FURTHER_CASES"]
    assert search.is_complete
    search.cases, search.differences = 10, [difference(10, "ledger c")]
    assert search.is_complete
    search.differences = [difference(10)] * MODULE["MAX_DIFFERENCES"]
    assert search.is_complete


def test_a_later_row_replaces_an_earlier_one(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row(cases=cases)) + "\n" for cases in (9, 10)), "utf-8")
    monkeypatch.setitem(MODULE["collect"].__globals__, "read_bugs", lambda: [bug()])
    monkeypatch.setitem(MODULE["collect"].__globals__, "read_data", lambda *_: ())
    assert [one.cases for one in MODULE["collect"]([path])] == [10]

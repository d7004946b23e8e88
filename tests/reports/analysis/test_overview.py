"""The first screen: figures, ranking of the surfaces, most severe causes."""

import pytest

from reports.analysis.cause_text import CauseWriter
from reports.analysis.differences import difference_groups
from reports.analysis.overview import leading_causes, overview_figures, ranked_surfaces
from reports.results import Report, load_report
from tests.support import example_results as example

STRIDE = "max_pool/stride-2-padding-1"


def loaded(folder, *runs):
    return load_report(example.write(folder, *runs))


def test_figures_count_the_results(tmp_path):
    figures = overview_figures(loaded(tmp_path, example.alpha(), example.beta()))
    assert [(figure.number, figure.label, figure.note, figure.status) for figure in figures] == [
        ("20", "agree", "of 31 judged", "pass"),
        ("9", "unexpected", "1 crashed, 1 timed out", "fail"),
        ("2", "known", "deviations", "known"),
        ("4", "not supported", "not judged", None),
        ("3", "operators", "on 4 surfaces", None),
    ]


def test_figures_of_an_empty_report_are_zero():
    assert [figure.number for figure in overview_figures(Report(()))] == ["0"] * 5


def test_surfaces_are_ranked_worst_first_and_unjudged_ones_last(tmp_path):
    ranked = ranked_surfaces(loaded(tmp_path, example.alpha(), example.beta(), example.delta()))
    assert [(one.surface, one.text) for one in ranked] == [
        ("beta.keras.layers", "7 of 9 unexpected"),
        ("beta.book", "2 of 4 unexpected"),
        ("alpha.nn", "all 9 agree"),
        ("alpha.nn.functional", "all 9 agree"),
        ("delta.npx", "none judged"),
    ]


def test_known_deviations_rank_before_agreement(tmp_path):
    known = example.differing(STRIDE, "k.nn", None, None, status="known", reason="why")
    run = example.run("k", ["k.lax", "k.nn"], [known, example.result(STRIDE, "k.lax")])
    assert [(one.surface, one.text) for one in ranked_surfaces(loaded(tmp_path, run))] == [
        ("k.nn", "1 of 1 known"), ("k.lax", "all 1 agree"),
    ]  # fmt: skip


def test_surface_has_the_most_severe_of_its_own_causes(tmp_path):
    report = loaded(tmp_path, example.beta(), example.alpha())
    texts = CauseWriter(report).texts(difference_groups(report))
    causes = {one.surface: one.cause for one in ranked_surfaces(report, texts)}
    assert causes["alpha.nn"] is None
    assert [causes[name].group.severity for name in ("beta.keras.layers", "beta.book")] == ["hang", "crash"]
    assert all(name in cause.group.surfaces for name, cause in causes.items() if cause)


def test_known_deviation_is_not_the_cause_of_a_surface_that_differs(tmp_path):
    known = example.differing(STRIDE, "k.nn", None, None, status="known", reason="why")
    wrong = example.differing("conv/edge-detector", "k.nn", None, None)
    report = loaded(tmp_path, example.run("k", ["k.nn"], [known, wrong]))
    texts = CauseWriter(report).texts(difference_groups(report))
    assert [one.cause.group.status for one in ranked_surfaces(report, texts[::-1])] == ["fail"]
    assert [one.cause.group.status for one in ranked_surfaces(report, texts)] == ["fail"]


def causes_of(report):
    return leading_causes(CauseWriter(report).texts(difference_groups(report)))


def test_five_most_severe_causes_lead_without_known_ones(tmp_path):
    found = causes_of(loaded(tmp_path, example.beta()))
    assert len(found) == 5
    assert [cause.first.group.severity for cause in found[:3]] == ["crash", "hang", "wrong value"]
    assert "known" not in {cause.first.group.status for cause in found}


def test_known_deviations_lead_if_nothing_is_unexpected(tmp_path):
    known = example.differing(STRIDE, "k.nn", None, None, status="known", reason="why")
    (cause,) = causes_of(loaded(tmp_path, example.run("k", ["k.nn"], [known])))
    assert cause.first.group.status == "known"


@pytest.mark.parametrize(
    ("names", "culprits"),
    [("a", "a.nn"), ("ab", "a and b"), ("abcd", "a, b, c and 1 more")],
)
def test_equal_causes_of_several_backends_are_one_sentence(tmp_path, names, culprits):
    worst = {"index": [0, 0, 1, 1], "expected": 15, "got": 14, "absolute": 1, "ulp": 1048576}
    runs = [example.run(name, [f"{name}.nn"], [example.differing(STRIDE, f"{name}.nn", None, worst)]) for name in names]
    (cause,) = causes_of(loaded(tmp_path, *runs))
    assert (cause.culprits, cause.results) == (culprits, len(names))

"""Groups of differences: one for each cause on one backend, the most severe first."""

import pytest

from reports.analysis.differences import difference_groups
from reports.analysis.summary import DIFFERING_STATUSES
from reports.results import load_report
from tests.support import example_results as example

EDGE, WRAPS = "conv/edge-detector", "conv/wraps-in-int64"
BORDER = "avg_pool/divisor-at-the-border"


def groups_of(folder, *runs):
    return difference_groups(load_report(example.write(folder, *runs)))


def groups_of_results(folder, *results, surfaces=("k.nn",)):
    return groups_of(folder, example.run("k", list(surfaces), results))


def test_groups_contain_each_difference_once_and_known_ones_last(tmp_path):
    report = load_report(example.write(tmp_path, example.alpha(), example.beta(), example.gamma(), example.delta()))
    groups = difference_groups(report)
    different = [result for result in report.results if result.status in DIFFERING_STATUSES]
    assert sorted(id(result) for group in groups for result in group.results) == sorted(map(id, different))
    assert [group.status for group in groups][-1] == "known"
    assert groups[-1].surfaces == ("beta.book", "beta.keras.layers")


def test_groups_are_ordered_by_severity(tmp_path):
    assert [group.severity for group in groups_of(tmp_path, example.beta())] == [
        "crash", "hang", "wrong value", "wrong value", "wrong value", "flaky", "accepts", "stale", "wrong value",
    ]  # fmt: skip


def test_of_equally_grave_groups_the_one_with_more_cases_is_first(tmp_path):
    wrong = [example.differing(name, "k.nn", None, None) for name in ("max_pool/stride-2-padding-1", EDGE, WRAPS)]
    assert [group.operator for group in groups_of_results(tmp_path, *wrong)] == ["conv", "max_pool"]


def test_smallest_case_of_a_group_is_first(tmp_path):
    report = load_report(example.write(tmp_path, example.beta()))
    for group in difference_groups(report):
        sizes = [report.cases[result.case].size for result in group.results]
        assert sizes == sorted(sizes)


@pytest.mark.parametrize(
    "messages",
    [
        ("signal at 1", "signal at 2"),
        ("signal 8; last output: hello", "signal 8; last output: goodbye"),
        ("no kernel for float32", "no kernel for bfloat16"),
    ],
)
def test_causes_that_differ_only_in_numbers_dtypes_and_earlier_output_are_one_group(tmp_path, messages):
    died = [example.died(name, "k.nn", "crashed", text) for name, text in zip((EDGE, WRAPS), messages, strict=True)]
    assert [len(group.results) for group in groups_of_results(tmp_path, *died)] == [2]


def test_surfaces_of_one_backend_are_one_group_and_backends_are_not(tmp_path):
    runs = []
    for name in ("k", "other"):
        surfaces = [f"{name}.nn", f"{name}.functional"]
        runs.append(example.run(name, surfaces, [example.died(EDGE, one, "crashed", "signal 8") for one in surfaces]))
    groups = groups_of(tmp_path, *runs)
    assert [(group.backend, group.surfaces) for group in groups] == [
        ("k", ("k.functional", "k.nn")), ("other", ("other.functional", "other.nn")),
    ]  # fmt: skip


def test_one_entry_of_the_ledger_is_one_group_across_operators_and_kinds(tmp_path):
    known = {"status": "known", "reason": "One bug."}
    wrong = example.differing(EDGE, "k.nn", None, None, **known)
    crash = example.died("max_pool/stride-2-padding-1", "k.nn", "crashed", "signal 8") | known | {"issue": None}
    (group,) = groups_of_results(tmp_path, wrong, crash)
    assert (group.operators, group.severity, group.example.outcome) == (("conv", "max_pool"), "crash", "crashed")


def convention_case(dtype):
    question = f"avg_pool/accumulation-in-{dtype}"
    values = {"own": example.array([8], [1], dtype), "float32": example.array([9], [1], dtype)}
    return example.case(f"avg_pool/sum-{dtype}", example.SQUARE, {"answers": values}, question=question)


def test_one_convention_in_several_dtypes_is_one_group(tmp_path):
    cases = [convention_case(dtype) for dtype in ("float16", "bfloat16")]
    results = [
        example.differing(one["case"], "k.nn", None, None, kind="convention", message=f"in {one['case']}")
        for one in cases
    ]
    answers = [
        example.convention("k.nn", "own", "float32", "undocumented") | {key: one[key] for key in ("case", "question")}
        for one in cases
    ]
    records = [example.header("k", ["k.nn"]), *cases, example.program("k.nn"), *results, *answers]
    (group,) = groups_of(tmp_path, [*records, example.footer(results)])
    assert len(group.cases) == 2


def test_ids_are_unique_and_stable(tmp_path):
    first, again = groups_of(tmp_path / "a", example.beta()), groups_of(tmp_path / "b", example.beta())
    assert [group.id for group in first] == [group.id for group in again]
    assert len({group.id for group in first}) == len(first)

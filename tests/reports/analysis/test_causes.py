"""Sentences about the common conditions of a group of differences."""

import pytest

from reports.analysis.causes import CommonConditions, common_text
from reports.analysis.differences import difference_groups
from reports.results import load_report
from reports.views.html import render_html
from tests.support import example_results as example

NN = "alpha.nn"
OUT = example.array([1, 2], [1, 1, 2])


def case(name, values=(1, 2, 3, 4), **parameters):
    all_parameters = {"window": [2], "stride": [2], "padding": [[0, 0]], "rounding": "floor"} | parameters
    x = example.array(values, [1, 1, len(values)])
    features = [
        *(["NaN in x"] if "nan" in values else []),
        *(["stride > window"] if all_parameters["stride"] > all_parameters["window"] else []),
        *(["windows that overlap"] if all_parameters["stride"] < all_parameters["window"] else []),
        *(["dilation"] if "dilation" in parameters else []),
    ]
    return example.case(f"max_pool/{name}", x, OUT, parameters=all_parameters, features=features)


def report(folder, wrong, right):
    records = [example.header("alpha", [NN]), *wrong, *right, example.program(NN)]
    results = [example.differing(one["case"], NN, OUT, None) for one in wrong]
    results += [example.result(one["case"], NN) for one in right]
    return load_report(example.write(folder, [*records, *results, example.footer(results)]))


def test_conditions_of_failing_cases_only_are_first(tmp_path):
    wrong = [case("a", rounding="ceil", stride=[1]), case("b", rounding="ceil", stride=[1])]
    right = [case("c", stride=[1]), case("d"), case("e"), case("f")]
    found = report(tmp_path, wrong, right)
    (group,) = difference_groups(found)
    text = common_text(CommonConditions(found).common(group))
    assert text == (
        "rounding = ceil (0), windows that overlap (1), stride = [1] (1). "
        "In parentheses: how many of the 4 results that pass here share it"
    )


def test_conditions_that_most_passing_cases_share_are_omitted(tmp_path):
    found = report(tmp_path, [case("a")], [case("b"), case("c")])
    assert CommonConditions(found).common(difference_groups(found)[0]) == []


def test_passing_case_of_a_convention_does_not_contradict_a_condition(tmp_path):
    nan = [case(f"nan-{number}", values=(1, "nan", 3, 4)) for number in range(3)]
    others = [case("passing"), case("passing-too")]
    declared = {**case("declared", values=("nan", 2, 3, 4)), "question": "max_pool-nan-in-window"}
    (evidence,) = sentences(tmp_path / "convention", nan, [*others, declared])
    assert evidence == "All 3 failing cases have NaN in x; none of the 2 passing ones does."
    same_without_convention = {**declared, "question": None}
    (evidence,) = sentences(tmp_path / "value", nan, [*others, same_without_convention])
    assert "have NaN in x;" not in evidence


def test_two_cases_are_not_split_off(tmp_path):
    ceil = [case(f"ceil-{number}", rounding="ceil") for number in range(2)]
    found = report(tmp_path, [*ceil, case("other", stride=[3])], [case("passing"), case("passing-too")])
    assert [len(part.cases) for part in CommonConditions(found).split(difference_groups(found))] == [3]


def test_groups_without_a_reason_are_split_by_conditions_of_failing_cases_only(tmp_path):
    ceil = [case(f"ceil-{number}", rounding="ceil") for number in range(3)]
    nan = [case(f"nan-{number}", values=(1, "nan", 3, 4)) for number in range(3)]
    found = report(tmp_path, [*nan, *ceil, case("other", stride=[3])], [case("passing"), case("passing-too")])
    parts = CommonConditions(found).split(difference_groups(found))
    assert [len(part.cases) for part in parts] == [3, 3, 1]
    assert [CommonConditions(found).sentence(part).split(";")[0] for part in parts] == [
        "All 3 failing cases have NaN in x", "All 3 failing cases have rounding = ceil",
        "Seen only with stride > window (1 failing case, 2 passing cases).",
    ]  # fmt: skip


def test_groups_are_not_split_if_no_case_passes(tmp_path):
    found = report(tmp_path, [case("a", rounding="ceil"), case("b", rounding="ceil"), case("c")], [])
    assert [len(part.cases) for part in CommonConditions(found).split(difference_groups(found))] == [3]


def sentences(folder, wrong, right):
    found = report(folder, wrong, right)
    return [
        CommonConditions(found).sentence(group) for group in CommonConditions(found).split(difference_groups(found))
    ]


def test_sentence_has_the_fewest_conditions_that_no_passing_case_satisfies(tmp_path):
    wrong = [case(f"w{number}", (1, "nan", 3, number), dilation=[2]) for number in range(3)]
    right = [case("a", dilation=[2]), case("b", (1, "nan", 3, 4)), case("c")]
    assert sentences(tmp_path, wrong, right) == [
        "All 3 failing cases have NaN in x and dilation; none of the 3 passing ones does."
    ]


@pytest.mark.parametrize(("number", "counted"), [(1, "1 failing case"), (2, "2 failing cases")])
def test_fewer_than_three_failing_cases_are_no_cause(tmp_path, number, counted):
    wrong = [case(f"w{one}", (1, 2, 3, one), stride=[3]) for one in range(number)]
    assert sentences(tmp_path, wrong, [case("a")]) == [f"Seen only with stride > window ({counted}, 1 passing case)."]


def test_exact_extents_of_few_cases_explain_nothing(tmp_path):
    wrong, right = [case("a", padding=[[1, 2]])], [case("b"), case("c")]
    assert sentences(tmp_path, wrong, right) == [""]
    wrong += [case(f"more-{number}", padding=[[1, 2]]) for number in range(2)]
    assert sentences(tmp_path, wrong, right) == [
        "All 3 failing cases have padding = [[1, 2]]; none of the 2 passing ones does."
    ]


def test_sentence_gives_the_number_of_exceptions(tmp_path):
    wrong = [case(f"w{number}", (1, 2, 3, number), rounding="ceil") for number in range(20)]
    right = [case("a", rounding="ceil"), case("b"), case("c")]
    assert sentences(tmp_path, wrong, right) == [
        "All 20 failing cases have rounding = ceil; 1 of the 3 passing ones does."
    ]
    assert sentences(tmp_path, wrong[:19], right) == [""]


def test_sentence_says_that_no_case_passes(tmp_path):
    assert sentences(tmp_path, [case("a")], []) == ["No case of the operator passes here."]


def test_kind_of_program_is_a_condition(tmp_path):
    wrong, right = [case("a"), case("b")], [case("c"), case("d")]
    records = [example.header("alpha", [NN]), *wrong, *right, example.program(NN)]
    results = [example.differing(one["case"], NN, OUT, None, how="composed") for one in wrong]
    results += [example.result(one["case"], NN) for one in right]
    found = load_report(example.write(tmp_path, [*records, *results, example.footer(results)]))
    assert CommonConditions(found).sentence(difference_groups(found)[0]) == (
        "Seen only with a composition of operators (2 failing cases, 2 passing cases)."
    )


def test_html_contains_the_sentence(tmp_path):
    page = render_html(report(tmp_path, [case("a", rounding="ceil")], [case("b"), case("c")]))
    assert "Seen only with rounding = ceil (1 failing case, 2 passing cases)." in page
    assert "Not separated" not in page


def test_html_lists_common_conditions_if_there_is_no_sentence(tmp_path):
    wrong = [case("a", rounding="ceil", stride=[1]), case("b", rounding="ceil")]
    right = [case("c", rounding="ceil"), *(case(f"d{number}") for number in range(4))]
    page = render_html(report(tmp_path, wrong, right))
    assert "rounding = ceil (1)" in page
    assert "In parentheses: how many of the 5 results that pass here share it" in page


def test_older_files_without_features_have_conditions_on_exact_values_only(tmp_path):
    wrong, right = case("a", (1, "nan", 3, 4), rounding="ceil"), [case("b"), case("c")]
    for one in (wrong, *right):
        del one["features"]
    assert sentences(tmp_path, [wrong], right) == ["Seen only with rounding = ceil (1 failing case, 2 passing cases)."]

import pytest
import results_example as example

from reports.causes import Causes, said, traits
from reports.fields import Fields
from reports.html import render_html
from reports.reading import load
from reports.records import Case
from reports.summary import groups

NN = "alpha.nn"
OUT = example.array([1, 2], [1, 1, 2])


def case(name, values=(1, 2, 3, 4), **parameters):
    whole = {"window": [2], "stride": [2], "padding": [[0, 0]], "rounding": "floor"} | parameters
    x = example.array(values, [1, 1, len(values)])
    return example.case(f"max_pool/{name}", x, OUT, parameters=whole)


def report(folder, wrong, right):
    records = [example.header("alpha", [NN]), *wrong, *right, example.program(NN)]
    results = [example.differing(one["case"], NN, OUT, None) for one in wrong]
    results += [example.result(one["case"], NN) for one in right]
    return load(example.write(folder, [*records, *results, example.footer(results)]))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rounding": "ceil"}, "rounding = ceil"),
        ({"stride": [1]}, "stride = [1]"),
        ({"padding": [[0, 1]]}, "padding not the same on all sides"),
        ({"padding": [[1, 1]]}, "padding other than 0"),
        ({"dilation": [3]}, "dilation above 1"),
        ({"padding": [[-1, 0]]}, "padding below 0"),
        ({"include": True}, "include = yes"),
        ({"divisor": None}, "divisor = none"),
        ({"values": (1, "nan", 3)}, "NaN in x"),
        ({"values": (1, "-inf", 3)}, "an infinity in x"),
        ({"values": (-1, -2)}, "nothing but negative values in x"),
        ({}, "1-D"),
        ({}, "x is float32"),
    ],
)
def test_traits_say_what_may_be_the_cause(changes, words):
    assert words in set(traits(Case.parse(Fields(case("a", **changes)))))
    assert not changes or words not in set(traits(Case.parse(Fields(case("b")))))


def test_what_only_the_wrong_cases_have_is_named_first(tmp_path):
    wrong = [case("a", rounding="ceil", stride=[1]), case("b", rounding="ceil", stride=[1])]
    right = [case("c", stride=[1]), case("d"), case("e"), case("f")]
    found = report(tmp_path, wrong, right)
    (group,) = groups(found)
    text = said(Causes(found).common(group))
    assert text == "beside 4 results that pass here: rounding = ceil (none of them), stride = [1] (1 of them)"


def test_what_most_that_pass_have_too_tells_nothing(tmp_path):
    found = report(tmp_path, [case("a")], [case("b"), case("c")])
    assert Causes(found).common(groups(found)[0]) == []


def test_unexplained_differences_are_parted_by_what_no_passing_result_has(tmp_path):
    ceil = [case(f"ceil-{number}", rounding="ceil") for number in range(3)]
    nan = [case(f"nan-{number}", values=(1, "nan", 3, 4)) for number in range(2)]
    found = report(tmp_path, [*nan, *ceil, case("other", stride=[3])], [case("sound"), case("sound-too")])
    parts = Causes(found).split(groups(found))
    assert [len(part.cases) for part in parts] == [3, 2, 1]
    assert [said(Causes(found).common(part)).split(": ")[1] for part in parts] == [
        "rounding = ceil (none of them)", "NaN in x (none of them)", "stride = [3] (none of them)",
    ]  # fmt: skip


def test_where_nothing_passes_nothing_is_parted(tmp_path):
    found = report(tmp_path, [case("a", rounding="ceil"), case("b", rounding="ceil"), case("c")], [])
    assert [len(part.cases) for part in Causes(found).split(groups(found))] == [3]


def test_page_says_what_cases_have_in_common(tmp_path):
    page = render_html(report(tmp_path, [case("a", rounding="ceil")], [case("b"), case("c")]))
    assert "beside 2 results that pass here: rounding = ceil (none of them)" in page

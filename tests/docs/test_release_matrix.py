"""The tables of answers of releases, a column for each backend."""

import pytest

from docs.generate.release_matrix import MAX_COLOURS, matrix_tables, newest_answers
from tests.docs.test_compat import RELEASES, data, record

EARLY, LATE = RELEASES[:2], RELEASES[2:]


class FakeCase:
    def __init__(self, name, about, convention="pad/a"):
        self.id, self.about, self.convention_id = name, about, convention


CASES = [FakeCase("pad/a-in-float64", "other text"), FakeCase("pad/a", "Is it *one*?"), FakeCase("pad/c", "", None)]


def changed(case="pad/a", surface="s"):
    one = record(case, ("first", EARLY), ("last", LATE), surface=surface, question="pad/a")
    object.__setattr__(one.ranges[1], "version_added", "1.2")
    return one


def constant(answer, case="pad/a", surface="s", question="pad/a"):
    return record(case, (answer, RELEASES), surface=surface, question=question)


def cells(*records):
    ((_, table),) = matrix_tables([data(*records)], CASES)
    return [cell.strip() for cell in table.splitlines()[-1].strip("|").split(" | ")]


def test_row_has_the_text_of_the_case_with_the_name_of_the_convention():
    heading, _ = cells(constant("first"))
    assert heading == "[a](conventions.md#pad): Is it \\*one\\*?"


def test_answer_of_the_newest_release_has_the_release_since_which_it_is_given():
    _, cell = cells(changed())
    assert ">last since 1.2<" in cell
    assert 'title="1.0 to 1.1: first; 1.2 to 1.3: last"' in cell
    assert ">first<" in cells(constant("first"))[1]


def test_surfaces_that_differ_are_named_in_the_tooltip():
    _, cell = cells(changed(), constant("first", surface="t"), constant("first", "pad/a-in-float64"))
    assert ">first / last since 1.2<" in cell
    assert "[a on t, a-in-float64 on s] 1.0 to 1.3: first" in cell
    many = [constant(name, surface=name) for name in "uvw"]
    assert ">3 answers<" in cells(*many)[1]


def test_equal_answers_have_one_colour_and_rare_ones_share_the_last():
    records = [constant(f"answer{number}", question=f"pad/q{number}") for number in range(3)]
    assert newest_answers(records) == [("answer0", None), ("answer1", None), ("answer2", None)]
    found = [data(constant(f"a{number}")) for number in range(MAX_COLOURS + 2)]
    for number, one in enumerate(found):
        object.__setattr__(one, "backend", f"b{number}")
    ((_, table),) = matrix_tables(found, CASES)
    assert table.count(f"answer-{MAX_COLOURS - 1}") == 3
    assert f"answer-{MAX_COLOURS}" not in table


@pytest.mark.parametrize("sign", ['"', "|", "<"])
def test_signs_of_answers_do_not_end_the_cell(sign):
    _, cell = cells(constant(f"a{sign}b"))
    title = cell.partition('title="')[2].partition('">')[0]
    assert sign not in title


def test_records_of_no_convention_have_no_row():
    assert list(matrix_tables([data(record("pad/c", ("agree", RELEASES)))], CASES)) == []

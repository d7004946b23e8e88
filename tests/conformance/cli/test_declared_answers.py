"""The lines of `conformance explore --conventions`."""

from conformance.cli.declared_answers import contradiction_lines
from conformance.exploration.declared_answers.comparison import Contradiction


def contradiction(variant, observed="first", depends_on=""):
    return Contradiction("one.surface", "max_pool/q", "max_pool/case", variant, "nan", depends_on, observed)


def test_variants_with_one_observed_answer_are_one_line():
    lines = list(contradiction_lines(contradiction(f"batch {n}") for n in range(5)))
    assert lines == [
        "one.surface: max_pool/q: declared nan, observed first: max_pool/case with batch 0; "
        "max_pool/case with batch 1; max_pool/case with batch 2 and 2 more"
    ]


def test_each_observed_answer_and_condition_has_a_line():
    several = [
        contradiction("batch 2"),
        contradiction("batch 3", "last"),
        contradiction("float64", depends_on="the size"),
    ]
    lines = list(contradiction_lines(several))
    assert len(lines) == 3
    assert "declared nan (depends on the size), observed first: max_pool/case with float64" in lines[2]

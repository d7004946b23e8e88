"""The summary of runs that is shipped with the suite."""

import pytest

from conformance import ConformanceError
from conformance.translation import verified
from conformance.translation.verified import OperatorCounter, summarise, verified_sentence


@pytest.fixture
def summary():
    counter = OperatorCounter()
    counter.add("pass", "native", "float32", 2, "")
    counter.add("pass", "native", "float16", 1, "")
    counter.add("pass", "padded", "float32", 2, "")
    counter.add("known", "native", "float32", 2, "entry-a")
    counter.add("crashed", "native", "float32", 2, "")
    counter.add("unsupported", "native", "float32", 2, "")
    failing = OperatorCounter()
    failing.add("fail", "native", "float32", 2, "")
    packages = {"numpy": "2.4.6", "alpha": "2.9.0+cpu"}
    return summarise([("alpha.nn", "alpha", "standard", packages, {"max_pool": counter, "pad": failing})])


def test_summary_survives_its_file(summary):
    assert verified.parse_summary(verified.summary_text(summary), "file") == summary


def test_sentence_counts_agreeing_cases_and_names_deviations(summary):
    sentence = verified_sentence(summary, "alpha.nn", "max_pool", "native", dtype="float32", rank=2)
    assert sentence == (
        "verified: alpha 2.9.0, 3 cases of max_pool agree, 2 of them native; 1 crashed; 1 known deviation: entry-a"
    )


def test_sentence_mentions_untested_dtypes_and_ranks(summary):
    sentence = verified_sentence(summary, "alpha.nn", "max_pool", "composed", dtype="int8", rank=3)
    assert "3 cases of max_pool agree, 0 of them composed; none in int8; none with 3 spatial axes; " in sentence


def test_operator_without_agreeing_results_is_not_verified(summary):
    for operator, reason in (("pad", "no result agrees"), ("conv", "never run")):
        sentence = verified_sentence(summary, "alpha.nn", operator, "native", dtype="float32", rank=2)
        assert sentence == f"not verified: {reason}"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 1, "surfaces": {"s": {}}}'])
def test_invalid_file_is_an_error_with_its_name(text):
    with pytest.raises(ConformanceError, match=r"^v\.json: not a summary of results"):
        verified.parse_summary(text, "v.json")


def test_other_formats_are_rejected():
    with pytest.raises(ConformanceError, match=r"^v\.json: format 2 is not supported, expected 1"):
        verified.parse_summary('{"format": 2}', "v.json")

"""The summary of runs that is shipped with the suite."""

import json

import pytest

from conformance import ConformanceError
from conformance.translation import verified
from conformance.translation.verified import OperatorCounter, RequestedCall, summarise, verified_sentence

CALL, OTHER_CALL = "window 3, stride 2, padding 1", "window 2, stride 2, padding 0"


def counters():
    """Return counters with results of two calls and of a composition."""
    counter = OperatorCounter()
    counter.add("pass", "native", "float32", 2, "", call=CALL)
    counter.add("pass", "native", "float16", 1, "", call=CALL)
    counter.add("pass", "padded", "float32", 2, "", call=OTHER_CALL)
    counter.add("pass", "composed", "float32", 2, "")
    counter.add("known", "native", "float32", 2, "entry-a", call=CALL)
    counter.add("crashed", "native", "float32", 2, "", call=CALL)
    counter.add("unsupported", "native", "float32", 2, "", call=CALL)
    failing = OperatorCounter()
    failing.add("fail", "native", "float32", 2, "", call="pads 1")
    return {"max_pool": counter, "pad": failing}


@pytest.fixture
def summary():
    packages = {"numpy": "2.4.6", "alpha": "2.9.0+cpu"}
    other = OperatorCounter()
    other.add("pass", "native", "float32", 2, "", call="window 5, stride 1, padding 0")
    return summarise(
        [
            ("alpha.nn", "alpha", "standard", packages, counters()),
            ("alpha.other", "alpha", "standard", packages, {"max_pool": other}),
        ]
    )


def sentence(summary, operator="max_pool", *, how="native", dtype="float32", rank=2, call=CALL, **entries):
    return verified_sentence(summary, "alpha.nn", RequestedCall(operator, how, dtype, rank, call, **entries))


def test_summary_survives_its_file(summary):
    assert verified.parse_summary(verified.summary_text(summary), "file") == summary


def test_sentence_counts_the_cases_of_the_call_before_those_of_the_operator(summary):
    assert sentence(summary) == (
        "verified: alpha 2.9.0, 2 cases with window 3, stride 2, padding 1 agree; "
        "4 cases of max_pool agree, 2 of them native; 1 crashed"
    )
    assert "1 case with window 2, stride 2, padding 0 agrees; 4 cases of" in sentence(summary, call=OTHER_CALL)


def test_sentence_says_that_no_case_has_these_parameters(summary):
    # The other surface has such a case, this one has none.
    text = sentence(summary, call="window 5, stride 1, padding 0")
    assert text.startswith(
        "not verified with window 5, stride 1, padding 0; with other parameters, on alpha 2.9.0: 4 cases of"
    )


def test_sentence_for_a_composition_counts_the_operator_only(summary):
    assert sentence(summary, call="").startswith("verified: alpha 2.9.0, 4 cases of max_pool agree, 2 of")


def test_summary_of_an_earlier_version_counts_operators_only(summary):
    old = json.loads(verified.summary_text(summary))
    del old["calls"]
    for surface in old["surfaces"].values():
        for counts in surface["operators"].values():
            del counts["calls"]
    read = verified.parse_summary(json.dumps(old), "file")
    assert sentence(read).startswith("verified: alpha 2.9.0, 4 cases of max_pool agree, 2 of them native; 1 crashed")


def test_sentence_names_only_the_deviations_of_the_call(summary):
    assert "entry-a" not in sentence(summary)
    text = sentence(summary, known=("entry-a",), possible=("entry-b", "entry-c"))
    assert text.endswith(
        "; 1 crashed; 1 known deviation: entry-a; 2 known deviations for some inputs: entry-b, entry-c"
    )


def test_sentence_mentions_untested_dtypes_and_ranks(summary):
    text = sentence(summary, how="composed", dtype="int8", rank=3)
    assert "4 cases of max_pool agree, 1 of them composed; none in int8; none with 3 spatial axes; " in text


def test_operator_without_agreeing_results_is_not_verified(summary):
    for operator, reason in (("pad", "no result agrees"), ("conv", "in no recorded run")):
        assert sentence(summary, operator) == f"not verified: {reason}"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 1, "surfaces": {"s": {}}}'])
def test_invalid_file_is_an_error_with_its_name(text):
    with pytest.raises(ConformanceError, match=r"^v\.json: not a summary of results"):
        verified.parse_summary(text, "v.json")


def test_other_formats_are_rejected():
    with pytest.raises(ConformanceError, match=r"^v\.json: format 2 is not supported, expected 1"):
        verified.parse_summary('{"format": 2}', "v.json")

from msgspec import structs

from conformance.judging.ledger import load_ledger
from reports.analysis.audits import MAX_TEXT, amount_text, headline, notes_of, remarks_of, shortened, smallest_lines
from reports.results import RecordedArray
from reports.results.audits import LayerVerdict
from tests.support import example_audits as example


def differing(*differences):
    verdict = example.TargetVerdictRecord(verdict=LayerVerdict.DIFFERS, how="native", differences=differences)
    return {"one": verdict, "two": example.TargetVerdictRecord(verdict=LayerVerdict.SAME)}


def test_equal_statements_are_one_with_the_largest_difference():
    small, large = example.difference(budget_used=3.0), example.difference(budget_used=9.0, got=5.0)
    (remark,) = remarks_of(example.audit(example.layer("a", differing(small)), example.layer("b", differing(large))))
    assert remark.all_names == ["a", "b"]
    assert remark.short == "a, b for NaN: 5 in place of nan at [0, 0, 0, 0], 9 times the error bound"
    assert remark.amount == "5 in place of nan at [0, 0, 0, 0], 9 times the error bound"


def test_the_amount_follows_a_sentence_or_a_colon():
    whole, part = (
        example.difference(text="Some numbers are lost.", got=5.0),
        example.difference(text="for NaN", got=5.0),
    )
    remarks = remarks_of(example.audit(example.layer("a", differing(whole)), example.layer("b", differing(part))))
    assert [remark.sentence.partition(" in place")[0] for remark in remarks] == [
        "Some numbers are lost. 5",
        "for NaN: 5",
    ]


def test_a_difference_with_a_smallest_input_is_preferred():
    shown, larger = example.difference(budget_used=1.5), example.difference(budget_used=9.0, smallest=None)
    (remark,) = remarks_of(example.audit(example.layer("a", differing(larger)), example.layer("b", differing(shown))))
    assert remark.smallest == shown.smallest


def test_a_difference_without_numbers_has_no_amount():
    assert not amount_text(example.difference(index=None))


def test_the_headline_names_the_targets():
    assert headline(example.audit()) == "Layers differ or are missing on one; all layers agree on two"


def test_a_smallest_input_shows_its_arrays_and_both_results():
    assert list(smallest_lines(example.smallest())) == [
        "x 1 x 1 x 1 x 2: nan, 3",
        "expected 1 x 1 x 1 x 1: nan",
        "got 1 x 1 x 1 x 1: 3",
    ]


def test_a_difference_after_the_shown_numbers_has_its_own_line():
    expected = RecordedArray("float32", (1, 1, 3, 5), (0.0,) * 13 + ("-inf", 2.0))
    got = RecordedArray("float32", (1, 1, 3, 5), (0.0,) * 13 + (-3.5, 1.0))
    case = structs.replace(example.smallest().case, expected=expected)
    assert smallest_lines(example.smallest(case=case, got=got))[-1] == (
        "first difference at [0, 0, 2, 3]: -3.5 in place of -inf"
    )
    assert len(smallest_lines(example.smallest(case=case, got=example.array(0.0)))) == len(
        smallest_lines(example.smallest())
    )


def test_a_rejected_call_shows_its_message():
    assert smallest_lines(example.smallest(got=None, message="not for me"))[-1] == "got not for me"


def test_a_declared_answer_is_not_a_result():
    assert smallest_lines(example.smallest(from_catalogue=True))[-1].startswith("declared ")


def test_notes_name_layers_without_windows_and_fewer_channels():
    fewer = example.layer("a", differing(), shape=(1, 64, 8, 8))
    notes = notes_of(example.audit(fewer))
    assert any("at most 16 channels" in note for note in notes)
    assert "Not checked, because they have no windows: 3 Relu." in notes


def test_a_statement_has_the_whole_reason_and_the_whole_message():
    long, message = "word " * 1000, "the call is rejected because of a reason that is longer than its beginning"
    unsupported = example.TargetVerdictRecord(verdict=LayerVerdict.UNSUPPORTED, reason=long)
    verdicts = {"one": unsupported, "two": example.TargetVerdictRecord(verdict=LayerVerdict.SAME)}
    (remark,) = remarks_of(example.audit(example.layer("a", verdicts)))
    assert remark.text == long.strip()
    (remark,) = remarks_of(example.audit(example.layer("a", differing(example.difference(message=message)))))
    assert remark.message == message
    short = example.difference(text=f"rejected ({message})", message=message)
    assert not remarks_of(example.audit(example.layer("a", differing(short))))[0].message


def test_a_long_text_is_cut_at_a_word():
    assert shortened("word " * 1000).endswith("word …")
    assert len(shortened("word " * 1000)) <= MAX_TEXT + 2


def test_no_reason_of_the_ledger_is_cut():
    reasons = [" ".join(entry.reason.split()) for entry in load_ledger().entries]
    assert reasons
    assert [reason for reason in reasons if shortened(reason) != reason] == []


def test_numbers_that_are_not_compared_have_the_names_of_their_layers():
    reasons = {"NaN": "no answer", "infinity": "no answer"}
    verdict = example.TargetVerdictRecord(verdict=LayerVerdict.SAME, not_compared=reasons)
    verdicts = {"one": verdict, "two": example.TargetVerdictRecord(verdict=LayerVerdict.SAME)}
    notes = notes_of(example.audit(example.layer("a", verdicts), example.layer("b", verdicts)))
    assert any(note.endswith(": not compared for NaN, infinity: no answer [a, b].") for note in notes)


def test_how_one_call_is_written_is_no_difference():
    known = example.difference(verdict=LayerVerdict.EXPLAINED)
    texts = ("written as one call", "written as a padding and a call: written as one call")
    for how, verdict, text in zip(("native", "padded"), (LayerVerdict.SAME, LayerVerdict.REWRITE), texts, strict=True):
        record = example.TargetVerdictRecord(
            verdict=LayerVerdict.EXPLAINED, how=how, reason="written as one call", differences=(known,)
        )
        same = example.TargetVerdictRecord(verdict=LayerVerdict.SAME)
        found = remarks_of(example.audit(example.layer("a", {"one": record, "two": same})))
        assert next(one.verdict for one in found if one.text == text) is verdict

"""Tests of conformance.exploration.symptoms: the texts in results files, and messages with the same cause."""

import pytest

from conformance.exploration.symptoms import (
    OTHER_SURFACES,
    REFERENCE,
    OracleName,
    Symptom,
    fatal_symptom,
    normalise_message,
)
from conformance.judging.repeats import SAME_IN_NEW_PROCESS
from conformance.judging.verdict import ProgramOutcome
from reports.results import FindingRecord
from reports.results.exploration import OracleKind
from reports.results.vocabulary import DifferenceKind, Outcome, Status

SAME_AGAIN = f"; {SAME_IN_NEW_PROCESS}"
BATCH = OracleName(OracleKind.RELATION, "batch")
TEXTS = {
    "value": Symptom(DifferenceKind.VALUE),
    "rejected: RuntimeError: no": Symptom(DifferenceKind.REJECTED, "RuntimeError: no"),
    "rejected: ": Symptom(DifferenceKind.REJECTED, ""),
    "flaky": Symptom(Status.FLAKY),
    "timed_out": Symptom(Outcome.TIMED_OUT),
    "crashed: SIGSEGV": Symptom(Outcome.CRASHED, "SIGSEGV"),
    "law: batch": Symptom(None, oracle=BATCH),
    "law: batch: crashed: SIGSEGV": Symptom(Outcome.CRASHED, "SIGSEGV", BATCH),
    "law: batch: timed_out": Symptom(Outcome.TIMED_OUT, oracle=BATCH),
    "surfaces: dtype": Symptom(DifferenceKind.DTYPE, oracle=OTHER_SURFACES),
}
"""The texts that results files and histories of earlier versions contain."""


@pytest.mark.parametrize("text", TEXTS)
def test_texts_of_symptoms_do_not_change(text):
    assert str(TEXTS[text]) == text


@pytest.mark.parametrize("text", TEXTS)
def test_a_results_file_shows_whether_the_reference_found_it(text):
    record = FindingRecord(
        id="", case="", operator="", surfaces=(), symptom=text, sentence="", first_number=1, explained_count=1
    )
    assert record.is_found_without_reference == (TEXTS[text].oracle != REFERENCE)


def test_names_of_oracles_are_the_first_words_of_their_symptoms():
    assert [str(one) for one in (REFERENCE, OracleName(OracleKind.RELATION), BATCH, OTHER_SURFACES)] == [
        "",
        "law",
        "law: batch",
        "surfaces",
    ]


def test_only_crashes_and_hangs_are_fatal():
    assert [text for text, symptom in TEXTS.items() if symptom.is_fatal] == [
        "timed_out",
        "crashed: SIGSEGV",
        "law: batch: crashed: SIGSEGV",
        "law: batch: timed_out",
    ]


def test_descriptions_name_the_oracle_and_the_failure():
    assert TEXTS["rejected: RuntimeError: no"].description == "the call is rejected (RuntimeError: no)"
    assert TEXTS["law: batch"].description == "the metamorphic relation batch is violated"
    assert TEXTS["law: batch: timed_out"].description == (
        "in another call of the metamorphic relation batch the call exceeds the time limit"
    )
    assert TEXTS["surfaces: dtype"].description == "the surfaces of the backend disagree (outputs differ in dtype)"
    assert Symptom(DifferenceKind.ACCEPTED).description == "accepted"


def test_a_crash_has_the_same_symptom_whether_or_not_it_was_repeated():
    message = "the process ended: SIGSEGV"
    once, twice = (
        ProgramOutcome(Outcome.CRASHED, message=message + more)
        for more in ("", "; the same again in a separate process")
    )
    assert fatal_symptom(once) == fatal_symptom(twice)
    assert fatal_symptom(ProgramOutcome(Outcome.TIMED_OUT, message="no answer within 3 s")) == TEXTS["timed_out"]


def test_messages_that_differ_only_in_numbers_are_equal():
    one = normalise_message("RuntimeError: input image (T: 1 H: 2) smaller than kernel size (kT: 1)\nmore")
    assert one == normalise_message("RuntimeError: input image (T: 7 H: 9) smaller than kernel size (kT: 13)")
    assert normalise_message("") == ""


@pytest.mark.parametrize(
    ("symptom", "message", "part"),
    [
        (Symptom(DifferenceKind.REJECTED, "NameError: name #"), "NameError: name 'np' is not defined", "name 'np' is"),
        (Symptom(Outcome.CRASHED, "signal #"), f"signal 11{SAME_AGAIN}", "the process crashes (signal 11)"),
        (
            Symptom(Outcome.CRASHED, "error in the program: NameError: name #"),
            "error in the program: NameError: name 'np' is not defined, line 2",
            "the program of the adapter is wrong (NameError: name 'np' is not defined, line 2)",
        ),
        (Symptom(DifferenceKind.REJECTED, "ValueError: size #"), "ValueError: size 3\nat line 2", "ValueError: size 3"),
    ],
)
def test_description_quotes_the_message_of_a_result(symptom, message, part):
    described = symptom.description_with(message)
    assert part in described
    assert "#" not in described
    assert "\n" not in described
    assert SAME_AGAIN not in described


def test_description_without_a_message_is_the_normalised_one():
    symptom = Symptom(DifferenceKind.REJECTED, "ValueError: size #")
    assert symptom.description_with("") == symptom.description
    assert Symptom(DifferenceKind.VALUE).description_with("off by 1") == Symptom(DifferenceKind.VALUE).description

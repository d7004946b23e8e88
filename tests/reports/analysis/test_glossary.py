"""Explanations of statuses and terms."""

from reports.analysis.glossary import SEVERITY_MEANINGS, STATUS_MEANINGS, TERMS
from reports.analysis.severity import Severity
from reports.results import Status


def test_every_status_and_kind_is_explained():
    assert set(STATUS_MEANINGS) == set(Status)
    assert set(SEVERITY_MEANINGS) == set(Severity)
    assert {"backend", "surface", "case", "ledger", "convention", "declares"} <= set(TERMS)


def test_explanations_are_sentences():
    for text in (*STATUS_MEANINGS.values(), *SEVERITY_MEANINGS.values(), *TERMS.values()):
        assert text.endswith(".")
        assert text[0].isupper()

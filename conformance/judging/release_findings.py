"""The cases that each section of the findings names, from docs/compat/findings.json."""

from __future__ import annotations

import msgspec

from conformance.judging.release_answers import FINDINGS_FILE, CaseHistory, ReleaseData, release_data_folder


class Finding(msgspec.Struct, frozen=True):
    """A section of the findings.

    name: its anchor; page: the page in docs/findings, without the ending; title: in Markdown; cases: the ids that the
    section names.
    """

    name: str
    page: str
    title: str
    cases: tuple[str, ...]


def read_findings() -> tuple[Finding, ...]:
    """Return all findings that name cases."""
    return msgspec.json.decode((release_data_folder() / FINDINGS_FILE).read_bytes(), type=tuple[Finding, ...])


def findings_page(backend: str) -> str:
    """Return the page with the findings of a backend. The backends of one adapter, `name-engine`, share a page."""
    return backend.partition("-")[0]


def cases_of_findings(backend: str) -> set[str]:
    """Return the ids of the cases that the findings about a backend name."""
    page = findings_page(backend)
    return {case for one in read_findings() if one.page == page for case in one.cases}


def records_of_finding(data: ReleaseData, name: str) -> list[CaseHistory]:
    """Return the records of the cases that a finding about the backend names; none if there is no such finding."""
    page = findings_page(data.backend)
    cases = {case for one in read_findings() if (one.page, one.name) == (page, name) for case in one.cases}
    return [record for record in data.records if record.case in cases]

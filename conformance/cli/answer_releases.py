"""The releases of each answer to a convention, for reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conformance.adapters.api import without_label
from conformance.judging.release_answers import CaseHistory, ranges_text, read_release_data, release_data_files
from reports.analysis.releases.answers import AnswerReleases


def releases_by_surface(surfaces: Iterable[str]) -> Mapping[str, Mapping[str, AnswerReleases]]:
    """Return the releases of each answer to a convention, by surface and case. A surface without data has no key."""
    by_name: dict[str, dict[str, AnswerReleases]] = {}
    for path in release_data_files():
        for record in read_release_data(path).records:
            if record.question:
                by_name.setdefault(record.surface, {})[record.case] = _releases(record)
    return {name: by_name[without_label(name)] for name in surfaces if without_label(name) in by_name}


def _releases(record: CaseHistory) -> AnswerReleases:
    since = {one.answer: one.version_added for one in record.ranges if one.version_added}
    return AnswerReleases(since, ranges_text(record.ranges))

"""The first screen of a report: five figures, the surfaces ranked worst first, and the most severe causes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from reports.analysis.cause_text import CauseText
from reports.analysis.summary import (
    UNEXPECTED_STATUSES,
    StatusCounts,
    agreeing_count,
    count_by_status,
    count_text,
    counts_by_operator,
    counts_by_surface,
    judged_count,
    list_text,
    unexpected_count,
)
from reports.results import Report, Status

MAX_LEADING_CAUSES = 5
MAX_NAMED_CULPRITS = 3  # in one sentence; more are counted


@dataclass(frozen=True)
class Figure:
    """One number of the overview. status: the status that gives it its colour, or None."""

    number: str
    label: str
    note: str
    status: Status | None


@dataclass(frozen=True)
class RankedSurface:
    """A surface in the ranking. counts: number of its results by status. cause: the most severe of its causes."""

    surface: str
    backend: str
    counts: StatusCounts
    cause: CauseText | None = None

    @property
    def judged(self) -> int:
        """Number of judged results."""
        return judged_count(self.counts)

    @property
    def unexpected(self) -> int:
        """Number of unexpected results."""
        return unexpected_count(self.counts)

    @property
    def text(self) -> str:
        """The most important number: "13 of 230 differ", "4 of 90 known", "all 80 agree"."""
        known = self.counts.get(Status.KNOWN, 0)
        if not self.judged:
            return "none judged"
        if self.unexpected:
            return f"{self.unexpected:,} of {self.judged:,} unexpected"
        return f"{known:,} of {self.judged:,} known" if known else f"all {self.judged:,} agree"


@dataclass(frozen=True)
class LeadingCause:
    """A severe cause, with the texts of all backends that differ in the same way."""

    texts: tuple[CauseText, ...]

    @property
    def first(self) -> CauseText:
        """The texts of the backend with the most differences."""
        return self.texts[0]

    @property
    def culprits(self) -> str:
        """The surfaces of one backend, or the names of several backends; many are counted."""
        if len(self.texts) == 1:
            return self.first.culprit
        names = list(dict.fromkeys(text.group.backend for text in self.texts))
        return list_text(names, MAX_NAMED_CULPRITS)

    @property
    def results(self) -> int:
        """Number of differing results."""
        return sum(len(text.group.results) for text in self.texts)


def overview_figures(report: Report) -> list[Figure]:
    """Return the five figures: agreeing, unexpected, known and unsupported results, and operators."""
    counts = count_by_status(report.results)
    judged, passed, unexpected = judged_count(counts), agreeing_count(counts), unexpected_count(counts)
    worst = next((status for status in UNEXPECTED_STATUSES if status in counts), None)
    operators, surfaces = len(counts_by_operator(report)), len(report.surfaces)
    return [
        Figure(f"{passed:,}", "agree", f"of {judged:,} judged", Status.PASS if passed else None),
        Figure(f"{unexpected:,}", "unexpected", _status_note(counts) or "differences", worst),
        Figure(
            f"{counts.get(Status.KNOWN, 0):,}",
            "known",
            "deviations",
            Status.KNOWN if Status.KNOWN in counts else None,
        ),
        Figure(f"{counts.get(Status.UNSUPPORTED, 0):,}", "not supported", "not judged", None),
        Figure(
            f"{operators:,}",
            "operators" if operators != 1 else "operator",
            f"on {count_text(surfaces, 'surface')}",
            None,
        ),
    ]


def _status_note(counts: StatusCounts) -> str:
    parts = [f"{counts[one]:,} {one.replace('_', ' ')}" for one in UNEXPECTED_STATUSES[1:] if one in counts]
    return ", ".join(parts[:2])


def ranked_surfaces(report: Report, texts: Sequence[CauseText] = ()) -> list[RankedSurface]:
    """Rank the surfaces: most unexpected results first, then most known deviations. Unjudged surfaces are last.

    texts: the causes, most severe first. A known deviation is the cause of a surface only if it has no unexpected
    result.
    """
    backends = {surface: run.name for run in report.backends for surface in run.header.surfaces}
    ranked = [
        RankedSurface(surface, backends.get(surface, ""), counts, _most_severe_cause(surface, texts))
        for surface, counts in counts_by_surface(report).items()
    ]
    return sorted(ranked, key=_surface_rank)


def _most_severe_cause(surface: str, texts: Sequence[CauseText]) -> CauseText | None:
    own = [text for text in texts if surface in text.group.surfaces]
    unexpected = (text for text in own if text.group.status != Status.KNOWN)
    return next(unexpected, own[0] if own else None)


def _surface_rank(one: RankedSurface) -> tuple[bool, int, int, float, str]:
    known = one.counts.get(Status.KNOWN, 0)
    share = agreeing_count(one.counts) / one.judged if one.judged else 1.0
    return not one.judged, -one.unexpected, -known, share, one.surface


def leading_causes(texts: Sequence[CauseText]) -> list[LeadingCause]:
    """Return the most severe causes, equal ones of several backends together.

    Known deviations are listed only if there are no unexpected differences.
    """
    unexpected = [text for text in texts if text.group.status != Status.KNOWN]
    merged: defaultdict[tuple[str, str, str], list[CauseText]] = defaultdict(list)
    for text in unexpected or texts:
        merged[_shared_cause(text)].append(text)
    leading = list(merged.values())[:MAX_LEADING_CAUSES]
    return [LeadingCause(tuple(sorted(same, key=lambda text: -len(text.group.results)))) for same in leading]


def _shared_cause(text: CauseText) -> tuple[str, str, str]:
    return text.group.operator, text.effect, text.call.partition(";")[0]

"""Classes of the changed answers of old releases, from docs/compat/changes, and whether the answers fit them.

Each file has a list of groups of changes, see `ChangeGroup`. Each change of the data belongs to one group.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import msgspec

from conformance import CatalogueError
from conformance.cases.yaml_reader import read_yaml
from conformance.judging.release_answers import AnswerRange, CaseHistory, ReleaseData, release_data_folder
from reports.results.vocabulary import Outcome, Word


class ChangeClass(Word):
    """Why two neighbouring releases answer a case differently."""

    FIX = "fix"
    REGRESSION = "regression"
    STRICTER = "stricter"
    SUPPORTED = "supported"
    PROGRAM = "program"
    VARIES = "varies"
    OTHER = "other"


MEANINGS = {
    ChangeClass.FIX: "a wrong result is right, or an invalid call is rejected instead of accepted or of a crash",
    ChangeClass.REGRESSION: "a right answer is wrong, or a rejection is a crash",
    ChangeClass.STRICTER: "a call without a documented meaning is rejected",
    ChangeClass.SUPPORTED: "a valid call is no longer rejected, or the function that the program calls now exists",
    ChangeClass.PROGRAM: "only the program changes, such as its opset: the release answers the older one differently",
    ChangeClass.VARIES: "the answer differs between two runs of one release, which a finding describes",
    ChangeClass.OTHER: "neither answer is documented",
}


class ChangeGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"class_": "class"}):
    """Changes between two neighbouring releases with one reason.

    releases: both, such as "1.15.1 → 1.16.3"; class_: see ChangeClass; cases: patterns of ids; surfaces: patterns of
    names, all if empty; answers: patterns of both answers such as "crashed → *", all if empty; change: what changed, in
    Markdown with links relative to docs; finding: anchor of the section of the findings that describes it; reversed:
    whether the expected results of the cases are wrong, so that "agree" is the wrong answer.
    """

    releases: str
    class_: ChangeClass
    cases: tuple[str, ...]
    change: str
    surfaces: tuple[str, ...] = ("*",)
    answers: str = "*"
    finding: str = ""
    reversed: bool = False


@dataclass(frozen=True)
class ReleaseChange:
    """The answers of two neighbouring ranges of releases to a case."""

    record: CaseHistory
    old: AnswerRange
    new: AnswerRange

    @property
    def releases(self) -> str:
        """The last release with the old answer, and the first one with the new answer."""
        return f"{self.old.run[-1]} → {self.new.run[0]}"

    @property
    def answers(self) -> str:
        """Both answers."""
        return f"{self.old.answer} → {self.new.answer}"

    @property
    def persists(self) -> bool:
        """Whether the newest release of the data has the new answer."""
        last = self.record.ranges[-1]
        return last.version_removed is None and last.answer == self.new.answer

    def belongs_to(self, group: ChangeGroup) -> bool:
        """Whether the group has the releases, the case, the surface and the answers of the change."""
        return (
            self.releases == group.releases
            and any(fnmatch.fnmatchcase(self.record.case, one) for one in group.cases)
            and any(fnmatch.fnmatchcase(self.record.surface, one) for one in group.surfaces)
            and fnmatch.fnmatchcase(self.answers, group.answers)
        )


def release_changes(data: ReleaseData) -> list[ReleaseChange]:
    """Return the changes of the data. The data has a new range after releases without an answer, which is none."""
    return [
        ReleaseChange(record, old, new)
        for record in data.records
        for old, new in pairwise(record.ranges)
        if old.version_removed == new.version_added and old.answer != new.answer
    ]


def read_groups(backend: str, folder: Path | None = None) -> tuple[ChangeGroup, ...]:
    """Return the groups of changes of a backend; none without a file. Raises CatalogueError with the reason.

    folder: by default that of the suite.
    """
    path = (folder or release_data_folder() / "changes") / f"{backend}.yaml"
    if not path.exists():
        return ()
    try:
        return msgspec.convert(read_yaml(path).data, tuple[ChangeGroup, ...])
    except msgspec.ValidationError as error:
        raise CatalogueError(f"{path}: {error}") from None


def grouped(data: ReleaseData, groups: Sequence[ChangeGroup]) -> Mapping[int, list[ReleaseChange]]:
    """Return the changes of each group, by its position. Raises CatalogueError for a change of no or of two groups."""
    found: dict[int, list[ReleaseChange]] = {number: [] for number in range(len(groups))}
    for change in release_changes(data):
        numbers = [number for number, group in enumerate(groups) if change.belongs_to(group)]
        if len(numbers) != 1:
            name = f"{data.backend} {change.releases}: {change.record.case} on {change.record.surface}"
            raise CatalogueError(f"{name} ({change.answers}): belongs to {len(numbers)} groups, not to one")
        found[numbers[0]].append(change)
    return found


RAISED = re.compile(r"(^|; )\w+(Error|Exception): ")
"""What a release observed if the call raised an error."""


def _is_missing(span: AnswerRange) -> bool:
    """Whether the call is rejected, also if that is no answer to the convention, or the release lacks a function."""
    is_raised = RAISED.search(span.evidence.observed) is not None
    return is_raised or span.lacks_function or span.answer.startswith(Outcome.REJECTED)


def class_problem(group: ChangeGroup, change: ReleaseChange) -> str:
    """Return why the class of a group is not that of a change, "" if it is possible.

    The correctness of an answer to a convention is a matter of the documents, so that less is required of it.
    """
    new = change.new.answer
    expected = change.record.question is None
    first, second = change.old.differences(None), change.new.differences(None)
    wrong, right = (second, first) if group.reversed else (first, second)
    possible = {
        ChangeClass.FIX: bool(wrong) and not right if expected else new != Outcome.CRASHED,
        ChangeClass.REGRESSION: bool(right) and not wrong if expected else not new.startswith(Outcome.REJECTED),
        ChangeClass.STRICTER: new.startswith(Outcome.REJECTED),
        ChangeClass.SUPPORTED: _is_missing(change.old) and not _is_missing(change.new),
        ChangeClass.PROGRAM: change.new.evidence.cause == "program",
        ChangeClass.VARIES: bool(group.finding) or "](findings/" in group.change,
        ChangeClass.OTHER: not expected or bool(first and second),
    }
    return (
        ""
        if possible[group.class_]
        else f"{change.releases} {change.record.case}: {change.answers} is no {group.class_}"
    )


def groups_with_words(groups: Iterable[ChangeGroup], text: str) -> list[ChangeGroup]:
    """Return the groups whose change has all words of a text; none for a text without words."""
    words = text.lower().split()
    return [group for group in groups if words and all(word in group.change.lower() for word in words)]

"""The releases of a framework that give an answer to a convention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class AnswerReleases:
    """The answers of the releases that were run to one case.

    since: for each answer, the first release of its last range; an answer that the oldest release already gives has
    none. text: all ranges of releases with their answers.
    """

    since: Mapping[str, str]
    text: str


ReleasesBySurface: TypeAlias = Mapping[str, Mapping[str, AnswerReleases]]
"""{surface: {case: releases}}."""

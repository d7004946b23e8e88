"""Check whether several results files can be combined into one report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reports.results.records import CaseRecord, Header


class UnreadableResults(ValueError):  # named after the cause, like the exceptions of the suite
    """An invalid results file. The message is one line with file, line and reason."""

    def __init__(self, path: Path, line: int | None, reason: str) -> None:
        self.location = str(path) if line is None else f"{path}:{line}"
        self.reason = " ".join(reason.splitlines())
        super().__init__(" ".join(f"{self.location}: {self.reason}".splitlines()))


@dataclass(frozen=True)
class ResultsFileRun:
    """Path, header and cases of one results file."""

    path: Path
    header: Header
    cases: Mapping[str, CaseRecord]


def check_unique(runs: Sequence[ResultsFileRun]) -> None:
    """Raise UnreadableResults if two files contain the same backend or surface. runs: sorted by backend."""
    for first, second in pairwise(runs):
        if first.header.backend == second.header.backend:
            shards = " (combine shards with conformance merge)" if first.header.shard or second.header.shard else ""
            problem = f"the backend {second.header.backend!r} is also in {first.path}{shards}"
            raise UnreadableResults(second.path, 1, problem)
    owners: dict[str, Path] = {}
    for run in runs:
        for surface in run.header.surfaces:
            if surface in owners:
                raise UnreadableResults(run.path, 1, f"the surface {surface!r} is also in {owners[surface]}")
            owners[surface] = run.path


def describe_mixture(runs: Sequence[ResultsFileRun]) -> tuple[str, ...]:
    """Return a sentence for each file whose catalogue or ledger differs from those of the first file."""
    return tuple(sentence for run in runs[1:] for sentence in _mixture_sentence(runs[0], run))


def check_same_origin(runs: Sequence[ResultsFileRun]) -> None:
    """Raise UnreadableResults if two files have different catalogues or ledgers."""
    for first, run in ((runs[0], run) for run in runs[1:]):
        ours, theirs = first.header.catalogue, run.header.catalogue
        if ours.digest != theirs.digest:
            problem = f"made from the catalogue {theirs.digest}, but {first.path} from {ours.digest}"
            raise UnreadableResults(run.path, 1, problem)
        if first.header.ledger != run.header.ledger:
            raise UnreadableResults(run.path, 1, f"judged with another ledger than {first.path}")


def check_same_cases(runs: Sequence[ResultsFileRun]) -> None:
    """Raise UnreadableResults if files with different catalogues contain different cases with the same id."""
    for first, second in combinations(runs, 2):
        if first.header.catalogue.digest == second.header.catalogue.digest:
            continue
        for name in first.cases.keys() & second.cases.keys():
            ours, theirs = first.cases[name], second.cases[name]
            if (ours.digest, ours.parameters) != (theirs.digest, theirs.parameters):
                raise UnreadableResults(second.path, None, f"the case {name!r} differs from the one in {first.path}")


def _mixture_sentence(first: ResultsFileRun, run: ResultsFileRun) -> list[str]:
    file, other = run.path.name, first.path.name
    ours, theirs = first.header, run.header
    sentences = []
    if ours.catalogue.digest != theirs.catalogue.digest:
        sentences.append(
            f"Mixed catalogues: {file} was made from {theirs.catalogue}, {other} from {ours.catalogue}. "
            "Cases of only one catalogue are missing in the other file."
        )
    if ours.ledger != theirs.ledger:
        sentences.append(
            f"Mixed ledgers: {file} was judged with another ledger than {other}. A difference that is known in one "
            "file may fail in the other. Update both files with conformance rejudge."
        )
    return sentences

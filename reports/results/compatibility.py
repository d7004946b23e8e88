"""Check whether several results files can be combined into one report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reports.results.records import CaseRecord, Header

SHOWN_DIGEST_DIGITS = 12  # hexadecimal digits


class UnreadableResults(ValueError):  # named after the cause, like the exceptions of the suite
    """An invalid results file. The message is one line with file, line and reason."""


@dataclass(frozen=True)
class ResultsFileRun:
    """Path, header and cases of one results file."""

    path: Path
    header: Header
    cases: Mapping[str, CaseRecord]


def raise_unreadable(path: Path, line: int | None, reason: str) -> NoReturn:
    """Raise UnreadableResults with a message of one line."""
    location = path if line is None else f"{path}:{line}"
    raise UnreadableResults(" ".join(f"{location}: {reason}".splitlines()))


def check_unique(runs: Sequence[ResultsFileRun]) -> None:
    """Raise UnreadableResults if two files contain the same backend or surface. runs: sorted by backend."""
    for first, second in pairwise(runs):
        if first.header.backend == second.header.backend:
            shards = " (combine shards with conformance merge)" if first.header.shard or second.header.shard else ""
            raise_unreadable(second.path, 1, f"the backend {second.header.backend!r} is also in {first.path}{shards}")
    owners: dict[str, Path] = {}
    for run in runs:
        for surface in run.header.surfaces:
            if surface in owners:
                raise_unreadable(run.path, 1, f"the surface {surface!r} is also in {owners[surface]}")
            owners[surface] = run.path


def describe_mixture(runs: Sequence[ResultsFileRun]) -> tuple[str, ...]:
    """Return a sentence for each file whose catalogue or ledger differs from those of the first file."""
    return tuple(sentence for run in runs[1:] for sentence in _mixture_sentence(runs[0], run))


def check_same_origin(runs: Sequence[ResultsFileRun]) -> None:
    """Raise UnreadableResults if two files have different catalogues or ledgers."""
    for first, run in ((runs[0], run) for run in runs[1:]):
        ours, theirs = first.header.catalogue, run.header.catalogue
        if ours != theirs:
            raise_unreadable(run.path, 1, f"made from the catalogue {theirs}, but {first.path} from {ours}")
        if first.header.ledger != run.header.ledger:
            raise_unreadable(run.path, 1, f"judged with another ledger than {first.path}")


def check_same_cases(runs: Sequence[ResultsFileRun]) -> None:
    """Raise UnreadableResults if files with different catalogues contain different cases with the same id."""
    others = (pair for pair in combinations(runs, 2) if pair[0].header.catalogue != pair[1].header.catalogue)
    for first, second in others:
        for name in first.cases.keys() & second.cases.keys():
            ours, theirs = first.cases[name], second.cases[name]
            if (ours.digest, ours.parameters) != (theirs.digest, theirs.parameters):
                raise_unreadable(second.path, None, f"the case {name!r} differs from the one in {first.path}")


def _mixture_sentence(first: ResultsFileRun, run: ResultsFileRun) -> list[str]:
    file, other = run.path.name, first.path.name
    ours, theirs = first.header, run.header
    sentences = []
    if ours.catalogue != theirs.catalogue:
        sentences.append(
            f"Mixed catalogues: {file} was made from {_catalogue_text(theirs)}, {other} from {_catalogue_text(ours)}. "
            "Cases of only one catalogue are missing in the other file."
        )
    if ours.ledger != theirs.ledger:
        sentences.append(
            f"Mixed ledgers: {file} was judged with another ledger than {other}. A difference that is known in one "
            "file may fail in the other. Update both files with conformance rejudge."
        )
    return sentences


def _catalogue_text(header: Header) -> str:
    return f"{header.catalogue_version} ({header.catalogue[:SHOWN_DIGEST_DIGITS]})".strip()

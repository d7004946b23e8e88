"""Whether results files can stand in one report: what is mixed, and what cannot be joined at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reports.results.records import CaseRecord, Header

SHOWN_DIGEST_DIGITS = 12  # of a digest, to be told from another


class UnreadableResults(ValueError):  # a refusal, named for what the caller did wrong
    """A results file that no view may show; the message is one line with file, line and reason."""


@dataclass(frozen=True)
class ResultsFileRun:
    """What one results file says of its run as a whole."""

    path: Path
    header: Header
    cases: Mapping[str, CaseRecord]


def raise_unreadable(path: Path, line: int | None, why: str) -> NoReturn:
    """Raise UnreadableResults, in one line."""
    place = path if line is None else f"{path}:{line}"
    raise UnreadableResults(" ".join(f"{place}: {why}".splitlines()))


def check_unique(runs: Sequence[ResultsFileRun]) -> None:
    """Raise UnreadableResults where two files hold one backend, or one surface; runs sorted by backend."""
    for first, second in pairwise(runs):
        if first.header.backend == second.header.backend:
            shards = " (conformance merge joins shards)" if first.header.shard or second.header.shard else ""
            raise_unreadable(
                second.path, 1, f"the backend {second.header.backend!r} also stands in {first.path}{shards}"
            )
    owners: dict[str, Path] = {}
    for run in runs:
        for surface in run.header.surfaces:
            if surface in owners:
                raise_unreadable(run.path, 1, f"the surface {surface!r} also stands in {owners[surface]}")
            owners[surface] = run.path


def describe_mixture(runs: Sequence[ResultsFileRun]) -> tuple[str, ...]:
    """Say of each file that was made otherwise than the first what is mixed, a sentence each."""
    return tuple(sentence for run in runs[1:] for sentence in _mixture_sentence(runs[0], run))


def check_same_origin(runs: Sequence[ResultsFileRun]) -> None:
    """Raise UnreadableResults where two files were made from different catalogues or judged by different ledgers."""
    for first, run in ((runs[0], run) for run in runs[1:]):
        ours, theirs = first.header.catalogue, run.header.catalogue
        if ours != theirs:
            raise_unreadable(run.path, 1, f"made from the catalogue {theirs}, but {first.path} from {ours}")
        if first.header.ledger != run.header.ledger:
            raise_unreadable(run.path, 1, f"judged by another ledger than {first.path}")


def check_same_cases(runs: Sequence[ResultsFileRun]) -> None:
    """Raise UnreadableResults where two files of different catalogues hold two cases of one name."""
    others = (pair for pair in combinations(runs, 2) if pair[0].header.catalogue != pair[1].header.catalogue)
    for first, second in others:
        for name in first.cases.keys() & second.cases.keys():
            ours, theirs = first.cases[name], second.cases[name]
            if (ours.digest, ours.parameters) != (theirs.digest, theirs.parameters):
                raise_unreadable(second.path, None, f"the case {name!r} is another one than in {first.path}")


def _mixture_sentence(first: ResultsFileRun, run: ResultsFileRun) -> list[str]:
    file, other = run.path.name, first.path.name
    ours, theirs = first.header, run.header
    found = []
    if ours.catalogue != theirs.catalogue:
        found.append(
            f"Mixed catalogues: {file} was made from {_catalogue_text(theirs)}, {other} from {_catalogue_text(ours)}; a surface "
            "may lack cases for that reason alone."
        )
    if ours.ledger != theirs.ledger:
        found.append(
            f"Mixed ledgers: {file} was judged by another ledger than {other}, so that what is known in one may fail "
            "in the other; conformance rejudge brings both up to date."
        )
    return found


def _catalogue_text(header: Header) -> str:
    return f"{header.catalogue_version} ({header.catalogue[:SHOWN_DIGEST_DIGITS]})".strip()

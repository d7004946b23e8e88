"""`conformance verified`: what results files say of each surface, in short, for those who install the suite only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from conformance import ConformanceError
from conformance.adapters.api.surface import plain
from conformance.judging import ledger
from conformance.translation import verified
from conformance.translation.verified import Count
from reports.results import compatibility, reader
from reports.results.arrays import Rejected
from reports.results.reader import Backend

FORMER = "an entry that the ledger has no longer"


@click.command("verified")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write there. [default: standard output]")
def verified_command(results: tuple[Path, ...], out: Path | None) -> None:
    """Count how many cases agree on each surface, operator by operator, with the versions and the known deviations.

    The file is what `conformance translate` quotes. Questions and cases that must be refused do not count: they are no
    translations of anything. One run of each backend may be given.

    Example: conformance verified build/conformance/results/*.jsonl --out conformance/verified.json
    """
    written = verified.text(summarised(results))
    if out is None:
        click.echo(written, nl=False)
        return
    try:
        out.write_text(written, "utf-8")
    except OSError as error:
        raise ConformanceError(f"{out}: {error.strerror}") from None


def summarised(paths: Iterable[Path]) -> verified.Summary:
    """Return the summary of results files. Raises ConformanceError for what cannot be read, and for a partial run."""
    try:
        report = reader.load(paths)
    except compatibility.UnreadableResults as error:
        raise ConformanceError(str(error)) from None
    for backend in report.backends:
        if not backend.complete:
            raise ConformanceError(
                f"{backend.name}: the run did not come to its end, `conformance run --resume` completes it"
            )
    names = [plain(backend.name) for backend in report.backends]
    for name in names:
        if names.count(name) > 1:
            raise ConformanceError(f"{name}: two runs of one backend, give one of them")
    ids = {" ".join(entry.reason.split()): entry.id for entry in ledger.load().entries}
    return verified.summary_of(part for backend in report.backends for part in _surfaces(backend, ids))


Part = tuple[str, str, str, dict[str, str], dict[str, Count]]


def _surfaces(backend: Backend, ids: dict[str, str]) -> Iterator[Part]:
    counts: dict[str, dict[str, Count]] = {name: {} for name in backend.header.surfaces}
    for result in backend.results:
        case = backend.cases[result.case]
        if case.question or isinstance(case.expected, Rejected):
            continue
        x = case.inputs["x"]
        entry = ids.get(" ".join((result.reason or "").split()), FORMER)
        count = counts[result.surface].setdefault(case.operator, Count())
        count.add(result.status, result.how or "", x.dtype, len(x.shape) - 2, entry)
    packages = dict(backend.header.environment.packages)
    for name, found in counts.items():
        tried = {key: count for key, count in found.items() if count.done() != verified.Tried()}
        yield plain(name), plain(backend.name), backend.header.level, packages, tried

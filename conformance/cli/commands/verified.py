"""`conformance verified`: summarize results files as counts of agreeing cases per surface and operator.

The summary is shipped with the suite, so that `conformance translate` can print the counts without results files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from conformance import ConformanceError
from conformance.adapters.api import without_label
from conformance.cli.results_io import load_results
from conformance.judging import ledger
from conformance.translation import verified
from conformance.translation.call_text import call_text
from conformance.translation.verified import OperatorCounter
from reports.results import BackendRun, RecordedRejection

REMOVED_ENTRY = "a removed ledger entry"


@click.command("verified")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Output file. [default: standard output]")
def verified_command(results: tuple[Path, ...], out: Path | None) -> None:
    """Count the agreeing cases for each surface and operator.

    The counts are printed as JSON, with versions and known deviations. `conformance translate` prints these counts.
    The counts are also divided by the parameters of the call.
    Convention cases and cases that must be rejected are not counted, because their programs are not translations. Give
    one run per backend.

    Example: conformance verified build/conformance/results/*.jsonl --out conformance/translation/verified.json
    """
    written = verified.summary_text(summarise_results(results))
    if out is None:
        click.echo(written, nl=False)
        return
    try:
        out.write_text(written, "utf-8")
    except OSError as error:
        raise ConformanceError(f"{out}: {error.strerror}") from None


def summarise_results(paths: Iterable[Path]) -> verified.VerifiedSummary:
    """Return the summary of results files. Raises ConformanceError for invalid files and incomplete runs."""
    report = load_results(paths)
    for backend in report.backends:
        if not backend.complete:
            raise ConformanceError(f"{backend.name}: the run is incomplete, `conformance run --resume` completes it")
    names = [without_label(backend.name) for backend in report.backends]
    for name in names:
        if names.count(name) > 1:
            raise ConformanceError(f"{name}: two runs of one backend; give only one of them")
    # Results files have the reason of a ledger entry, not its id.
    ids = {" ".join(entry.reason.split()): entry.id for entry in ledger.load_ledger().entries}
    return verified.summarise(part for backend in report.backends for part in _count_surfaces(backend, ids))


SurfaceCounts = tuple[str, str, str, dict[str, str], dict[str, OperatorCounter]]


def _count_surfaces(backend: BackendRun, ids: dict[str, str]) -> Iterator[SurfaceCounts]:
    counts: dict[str, dict[str, OperatorCounter]] = {name: {} for name in backend.header.surfaces}
    for result in backend.results:
        case = backend.cases[result.case]
        if case.question or isinstance(case.expected, RecordedRejection):
            continue
        x, kernel = case.inputs["x"], case.inputs.get("kernel")
        is_composed = bool(case.via) or "then" in case.parameters
        call = None if is_composed else call_text(case.operator, case.parameters, kernel.shape if kernel else ())
        # No entry has this reason if the ledger has changed since the run.
        entry = ids.get(" ".join((result.reason or "").split()), REMOVED_ENTRY)
        count = counts[result.surface].setdefault(case.operator, OperatorCounter())
        count.add(result.status, result.how or "", x.dtype, len(x.shape) - 2, entry, call=call)
    packages = dict(backend.header.environment.packages)
    for name, found in counts.items():
        tried = {key: count for key, count in found.items() if count.summary() != verified.OperatorSummary()}
        yield without_label(name), without_label(backend.name), backend.header.level, packages, tried

"""`conformance judge`: judge the outputs that a program outside of the suite computed for an export."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from conformance import ConformanceError, IncompleteRun
from conformance.catalogue import export_reader, loading
from conformance.cli.options import CACHE_OPTION, QUIET_OPTION, Verbosity, results_folder_option
from conformance.cli.results_io import results_path
from conformance.cli.run_backends import print_summary
from conformance.execution.expectation_cache import expectation_source
from conformance.execution.outputs.judge import judge_outputs, make_runtime
from conformance.execution.outputs.reader import read_outputs
from conformance.judging.ledger import load_ledger
from reports.results import LiveResults
from reports.results.vocabulary import Level

MAX_SHOWN_CASES = 3
"""Maximum number of cases without an output that are named."""
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command("judge")
@click.argument("export", type=click.Path(path_type=Path))
@click.argument("outputs", type=click.Path(path_type=Path))
@click.option("--name", required=True, metavar="NAME[@LABEL]", help="Name of the runtime in results and reports.")
@click.option("--runtime-version", default="", metavar="TEXT", help="Version of the runtime, for reports.")
@click.option(
    "--declarations",
    type=FILE,
    metavar="FILE",
    help="YAML file with the answers of the runtime to conventions, as in docs/backends-of-your-own.md.",
)
@click.option("--ledger", "ledger_file", type=FILE, metavar="FILE", help="Ledger with known deviations of the runtime.")
@CACHE_OPTION
@QUIET_OPTION
@results_folder_option("NAME")
def judge_command(  # noqa: PLR0917 - click passes the options by name
    export: Path,
    outputs: Path,
    name: str,
    runtime_version: str,
    declarations: Path | None,
    ledger_file: Path | None,
    cache: bool,
    verbosity: str | None,
    out: Path,
) -> None:
    """Judge outputs computed without the suite.

    EXPORT is a folder of `conformance export`. OUTPUTS is a folder with outputs.jsonl, one line for each case, and a
    file for each returned array; docs/export.md describes both. Every output is compared with the result of the
    reference, as in `conformance run`, and written to a results file, which all reports can show.

    Exit status: 0 all results as expected; 1 a case failed, crashed or timed out, or a ledger entry is stale; 2 wrong
    usage or an invalid file; 3 a case has no output, or all are unsupported.

    Example: conformance judge cases outputs --name mylib --runtime-version 1.2
    """
    runtime = make_runtime(name, runtime_version, declarations)
    if not export_reader.is_export(export):
        raise ConformanceError(f"{export}: not an exported catalogue (`conformance export` writes one)")
    catalogue = loading.load_catalogue([export], level=Level.EXHAUSTIVE)
    found = read_outputs(outputs, catalogue.by_id)
    ledger = load_ledger(further=[ledger_file] if ledger_file else [])
    results = LiveResults(results_path(out, name))
    with expectation_source(use_caches=cache) as expected:
        missing = judge_outputs(
            runtime, catalogue, found, ledger, results.path, compute_expected=expected, on_line=results.add_line
        )
    status = print_summary([results], brief=verbosity == Verbosity.QUIET)
    if missing:
        shown = ", ".join(missing[:MAX_SHOWN_CASES]) + (", …" if len(missing) > MAX_SHOWN_CASES else "")
        raise IncompleteRun(f"{outputs}: no output for {len(missing):,} of {len(catalogue.cases):,} cases: {shown}")
    sys.exit(status)

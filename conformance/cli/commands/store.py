"""`conformance store`: convert results files to Parquet, for millions of results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from conformance import ConformanceError
from conformance.cli.results_io import unreadable_as_conformance_error, write_output
from conformance.execution.distributed.merge import shard_files
from reports.results import Report

STORE_REQUIREMENTS = "pyarrow and DuckDB (pip install pyarrow duckdb)"


@click.command("store")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="The store: DIR/<backend>/<file>.parquet for each results file.",
)
def store_command(results: tuple[Path, ...], out: Path) -> None:
    """Convert results files to a store of Parquet files.

    RESULTS are results files or shards of a run, or folders of them. A store is suited to millions of results:
    `conformance report` summarizes it, and any tool that reads Parquet can query it. This command needs pyarrow and
    DuckDB.

    Example: conformance store build/conformance/results --out build/conformance/store
    """
    try:
        from reports.views.parquet import store_bytes  # noqa: PLC0415 - pyarrow is large and optional
    except ImportError as error:
        raise ConformanceError(f"a store needs {STORE_REQUIREMENTS}: {error}") from None
    for path in shard_files(results):
        with unreadable_as_conformance_error():
            content, backend = store_bytes(path)
        write_output(out / backend / f"{path.stem}.parquet", content)
    click.echo(f"store: {out}")


def load_store(paths: Iterable[Path], *, mixed: bool = False) -> Report:
    """Return the report of one or more stores. Raises ConformanceError for an invalid store."""
    try:
        from reports.views.parquet_store import load_stores  # noqa: PLC0415 - likewise
    except ImportError as error:
        raise ConformanceError(f"a store needs {STORE_REQUIREMENTS}: {error}") from None
    with unreadable_as_conformance_error():
        return load_stores(paths, mixed=mixed)


def is_store(path: Path) -> bool:
    """Whether a path is a Parquet file or a folder that contains one."""
    return path.suffix == ".parquet" or (path.is_dir() and next(path.rglob("*.parquet"), None) is not None)

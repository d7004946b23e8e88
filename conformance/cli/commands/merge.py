"""`conformance merge`: put the shards of a run together."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.execution.merge import merge_shards, shard_files


@click.command("merge")
@click.argument("shards", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="The results file to write.",
)
def merge_command(shards: tuple[Path, ...], out: Path) -> None:
    """Put the shards of one backend's run together: files, or folders of them.

    The results file that comes of it is that of the undivided run, but for times. Shards that are missing, partial,
    there twice, or of other runs are refused.

    Example: conformance merge build/conformance/shards/numpy --out build/conformance/results/numpy.jsonl
    """
    merge_shards(shard_files(shards), out)
    click.echo(f"results: {out}")

"""`conformance merge`: merge the shards of a run into one results file."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.execution.distributed.merge import merge_shards, shard_files


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
    """Merge the shards of one backend's run into a results file. SHARDS are files or folders of files.

    The merged file equals that of a run without shards, except for times. It is an error if shards are missing,
    incomplete, given twice, or belong to different runs.

    Example: conformance merge build/conformance/shards/numpy --out build/conformance/results/numpy.jsonl
    """
    merge_shards(shard_files(shards), out)
    click.echo(f"results: {out}")

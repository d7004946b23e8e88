"""Stores: same views as from results files, and invalid stores are rejected with one line."""

import json
import subprocess
import sys

import pytest
from rich.console import Console

from conformance.execution.distributed.merge import merge_shards
from conformance.execution.selection import Shard
from reports.results import UnreadableResults, reader
from reports.views import parquet_store
from reports.views.badges import render_badges
from reports.views.markdown import render_markdown
from reports.views.matrix import render_matrix
from reports.views.parquet import render_parquet, store_bytes
from reports.views.terminal import render_terminal
from tests.conformance.execution.distributed.test_merge import run, written
from tests.support import example_results as example

RUNS = {one.__name__: one for one in (example.alpha, example.beta, example.gamma, example.delta)}


def put(paths, folder):
    """Create a store from results files and return its files."""
    files = []
    for number, path in enumerate(paths):
        content, backend = store_bytes(path)
        files.append(folder / backend / f"{number}-{path.stem}.parquet")
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        files[-1].write_bytes(content)
    return files


def terminal(report):
    console = Console(width=120, record=True, file=sys.stderr)
    console.print(render_terminal(report))
    return console.export_text()


def views(report):
    return terminal(report), render_markdown(report), render_matrix(report), render_badges(report)


@pytest.fixture(scope="module")
def sharded(tmp_path_factory):
    """Three shards of a run with convention cases, a crash and failures, and the merged file."""
    folder = tmp_path_factory.mktemp("sharded")
    catalogue = written(folder)
    shards = [folder / "shards" / Shard(number, 3).file_name for number in (1, 2, 3)]
    for number, path in enumerate(shards, 1):
        run(catalogue, Shard(number, 3)).execute(path)
    merge_shards(shards, folder / "whole.jsonl")
    return folder, shards


def error_message(paths):
    with pytest.raises(UnreadableResults) as error:
        parquet_store.load_stores(paths)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("names", [["alpha"], ["beta"], ["gamma"], ["delta"], sorted(RUNS)])
def test_store_has_the_same_views_as_the_files(tmp_path, names):
    paths = example.write(tmp_path / "files", *(RUNS[name]() for name in names))
    put(paths, tmp_path / "store")
    assert views(parquet_store.load_stores([tmp_path / "store"])) == views(reader.load_report(paths))


def test_hostile_messages_are_escaped(tmp_path):
    paths = example.write(tmp_path / "files", example.beta(example.HOSTILE))
    put(paths, tmp_path / "store")
    assert views(parquet_store.load_stores([tmp_path / "store"])) == views(reader.load_report(paths))


def test_label_is_added_to_each_surface(tmp_path):
    renamed = [{**one, "backend": "beta@old"} if one["record"] == "header" else one for one in example.beta()]
    paths = example.write(tmp_path / "files", example.beta(), renamed)
    put(paths, tmp_path / "store")
    assert views(parquet_store.load_stores([tmp_path / "store"])) == views(reader.load_report(paths))


def test_all_shards_have_the_same_views_as_the_merged_file(sharded, tmp_path):
    folder, shards = sharded
    put(shards[::-1], tmp_path / "store")
    report = parquet_store.load_stores([tmp_path / "store"])
    assert views(report) == views(reader.load_report([folder / "whole.jsonl"]))
    assert report.backends[0].complete


def test_one_shard_has_the_same_views_as_its_file(sharded, tmp_path):
    put(sharded[1][1:2], tmp_path)
    assert views(parquet_store.load_stores([tmp_path])) == views(reader.load_report(sharded[1][1:2]))


def test_missing_shard_makes_a_partial_run(sharded, tmp_path):
    put([sharded[1][0], sharded[1][2]], tmp_path)
    (found,) = parquet_store.load_stores([tmp_path]).backends
    assert not found.complete
    assert str(found.header.shard) == "1, 3/3"


def test_expected_results_are_counted_and_not_loaded(tmp_path):
    put(example.write(tmp_path / "files", example.alpha()), tmp_path / "store")
    (found,) = parquet_store.load_stores([tmp_path / "store"]).backends
    (complete,) = reader.load_report(example.write(tmp_path / "files", example.alpha())).backends
    assert len(found.results) == len(complete.results) == len(list(found.results))
    assert len(found.cases) < len(complete.cases)


def test_duplicate_shard_is_rejected(sharded, tmp_path):
    put([sharded[1][0], sharded[1][0]], tmp_path)
    assert "is also in" in error_message([tmp_path])


def changed(path, folder, change):
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    change(records)
    copy = folder / f"changed-{path.name}"
    copy.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    return copy


def test_duplicate_results_in_two_shards_are_rejected(sharded, tmp_path):
    other = changed(sharded[1][0], tmp_path, lambda records: records[0]["shard"].update(number=2))
    put([sharded[1][0], other], tmp_path / "store")
    assert "a second result for the case" in error_message([tmp_path / "store"])


@pytest.mark.parametrize("key", ["level", "catalogue", "ledger"])
def test_shards_of_different_runs_are_rejected(sharded, tmp_path, key):
    value = {"digest": "another", "cases": 1} if key == "catalogue" else "smoke" if key == "ledger" else "standard"
    other = changed(sharded[1][1], tmp_path, lambda records: records[0].update({key: value}))
    put([sharded[1][0], other], tmp_path / "store")
    assert "not of the same run as" in error_message([tmp_path / "store"])


def test_other_files_are_rejected(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"not Parquet")
    assert "not a file of a store (create stores with conformance store)" in error_message([path])
    assert "cannot be read: No such file" in error_message([tmp_path / "none.parquet"])


def test_parquet_report_is_rejected_as_a_store(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(render_parquet(reader.load_report(example.write(tmp_path, example.alpha()))))
    assert "not a file of a store" in error_message([path])


def test_commands_create_and_read_a_store(folder, conformance):
    example.write(folder / "files", example.alpha(), example.beta())
    assert conformance("store", "files", "--out", "store") == (0, "store: store\n", [])
    assert sorted(path.name for path in folder.glob("store/*/*")) == ["alpha.parquet", "beta.parquet"]
    from_files = conformance("report", "files/alpha.jsonl", "files/beta.jsonl", "--format", "markdown", "--out", "a.md")
    assert conformance("report", "store", "--format", "markdown", "--out", "b.md")[0] == from_files[0] == 1
    assert (folder / "a.md").read_text("utf-8") == (folder / "b.md").read_text("utf-8")
    for arguments in (["store"], ["store", "--format", "junit"], ["store", "files/beta.jsonl", "--format", "matrix"]):
        assert conformance("report", *arguments)[0] == 2
    assert conformance("report", "store", "--format", "markdown", "--against", "files")[0] == 2


def test_invalid_results_file_is_rejected(folder, conformance):
    (folder / "x.jsonl").write_text("x\n", "utf-8")
    status, _, error = conformance("store", "x.jsonl", "--out", "store")
    assert (status, len(error)) == (2, 1)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("module", "command"), [("pyarrow", ["store", "x"]), ("duckdb", ["report", "x.parquet"])])
def test_missing_libraries_are_reported_with_the_install_command(module, command):
    script = f"import sys\nsys.modules[{module!r}] = None\nfrom conformance.cli import main\nmain(sys.argv[1:])"
    options = ["--out", "y"] if command[0] == "store" else ["--format", "terminal"]
    done = subprocess.run(
        [sys.executable, "-c", script, *command, *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("conformance: a store needs pyarrow and DuckDB (pip install pyarrow duckdb): ")

"""Results files of commands: where they are, which exit status they mean, and where output goes."""

from pathlib import Path

import pytest

from conformance import ConformanceError, IncompleteRun
from conformance.cli import results_io
from conformance.execution.selection import Shard
from tests.support import example_results as example


@pytest.mark.parametrize(
    ("run", "status"),
    [(example.alpha, 0), (example.beta, 1), (example.gamma, 3), (example.delta, 3)],
    ids=["as expected", "failures", "interrupted", "nothing ran"],
)
def test_exit_status_says_whether_results_are_as_expected(tmp_path, run, status):
    (path,) = example.write(tmp_path, run())
    assert results_io.exit_status(results_io.load_results([path])) == status


def test_results_are_in_the_folder_or_in_its_subfolder(tmp_path):
    (path,) = example.write(tmp_path / "results", example.alpha())
    assert results_io.results_files(tmp_path) == results_io.results_files(tmp_path / "results") == [path]
    assert results_io.results_files(path) == [path]


def test_folder_without_results_is_an_incomplete_run(tmp_path, monkeypatch):
    with pytest.raises(IncompleteRun, match="no results in"):
        results_io.load_file_or_folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IncompleteRun, match="no results in build/conformance/results"):
        results_io.load_given_or_latest([])


def test_invalid_file_is_an_error_of_the_command(tmp_path):
    (tmp_path / "bad.jsonl").write_text("oops\n", "utf-8")
    with pytest.raises(ConformanceError, match=r"bad\.jsonl:1: "):
        results_io.load_results([tmp_path / "bad.jsonl"])


def test_shards_are_in_a_folder_of_their_backend():
    assert results_io.results_path(Path("out"), "numpy") == Path("out/results/numpy.jsonl")
    assert results_io.results_path(Path("out"), "numpy", Shard(2, 5)) == Path("out/shards/numpy/2-of-5.jsonl")


def test_dash_is_standard_output(tmp_path, capsys):
    assert not results_io.write_output(Path("-"), "text")
    assert capsys.readouterr().out == "text"
    assert results_io.write_output(tmp_path / "deep" / "file", "text")
    assert (tmp_path / "deep" / "file").read_text("utf-8") == "text"

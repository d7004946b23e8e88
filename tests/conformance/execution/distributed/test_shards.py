"""Run in shards on a cluster: the merged file equals that of the undivided run, even if workers die."""

import json
import signal
from collections import Counter
from dataclasses import replace

import pytest

from conformance import ConformanceError, IncompleteRun
from conformance.execution.distributed.cluster import ProcessWorkers, open_cluster
from conformance.execution.distributed.shards import ShardedRun, prepare_run, run_shard
from conformance.execution.options import RunOptions
from conformance.execution.selection import Selection
from conformance.execution.targets import RunTarget
from tests.conformance.execution.distributed.test_merge import without_times
from tests.support.dask_clusters import Cable, Cluster, until
from tests.support.nightly import only_nightly
from tests.support.started_workers import children

pytest.importorskip("distributed")
TARGET = RunTarget("numpy", "")
OPTIONS = RunOptions(jobs=1, repeat=3)  # repeated, so that shards take their time


@pytest.fixture(scope="module")
def undivided(tmp_path_factory):
    """The file of the undivided run."""
    path = tmp_path_factory.mktemp("undivided") / "numpy.jsonl"
    prepare_run(TARGET, OPTIONS).execute(path)
    return path


@pytest.fixture
def dask(tmp_path):
    started = Cluster(tmp_path)
    yield started
    started.end()


class Seen:
    """Progress callback that counts the results, and calls a function at the first one."""

    def __init__(self, at_first=lambda: None):
        self.at_first = at_first
        self.results = Counter()
        self.last = None

    def __call__(self, done, total, result):
        if done == 1:
            self.at_first()
        self.results[result.case, result.surface] += 1
        self.last = done, total


def run_shards(folder, workers, seen, of=8, *, resume=False):
    run = ShardedRun(TARGET, replace(OPTIONS, resume=resume), folder / "shards", of)
    run.execute(folder / "out.jsonl", workers, progress=seen)
    return folder / "out.jsonl"


def same(path, undivided, seen):
    """Check that a file equals that of the undivided run, and that each result was reported once."""
    assert without_times(path) == without_times(undivided)
    assert set(seen.results.values()) == {1}
    assert seen.last == (len(seen.results), len(seen.results))


class UnusedWorkers:
    """Workers that fail the test if they receive an item."""

    size = 1

    def submit(self, shards):
        assert list(shards) == []
        return iter(())


@only_nightly
def test_shard_of_a_killed_worker_is_run_by_another(dask, tmp_path, undivided):
    first, second = dask.worker(), dask.worker()

    def disturb():
        victim = until(lambda: next((one for one in (first, second) if children(one.pid)), None))
        victim.kill()
        killed.append(victim.wait())
        dask.worker()

    killed, seen = [], Seen(disturb)
    with open_cluster(dask.address) as workers:
        until(lambda: workers.size == 2)
        same(run_shards(tmp_path, workers, seen), undivided, seen)
    assert killed == [-signal.SIGKILL]


def test_run_continues_after_a_lost_connection(dask, tmp_path, undivided):
    dask.worker()
    cable = Cable(dask.address)
    seen = Seen(cable.cut)
    with open_cluster(cable.address) as workers:
        same(run_shards(tmp_path, workers, seen), undivided, seen)
    cable.remove()


@pytest.mark.parametrize("of", [1, 5])
def test_the_number_of_shards_does_not_matter(tmp_path, undivided, of):
    seen = Seen()
    same(run_shards(tmp_path, ProcessWorkers(1), seen, of), undivided, seen)


def test_resume_runs_only_missing_shards(tmp_path, undivided):
    run_shards(tmp_path, ProcessWorkers(1), Seen(), 3)
    (tmp_path / "out.jsonl").unlink()
    seen = Seen()
    same(run_shards(tmp_path, UnusedWorkers(), seen, None, resume=True), undivided, seen)


def test_without_resume_all_shards_run_again(tmp_path):
    run_shards(tmp_path, ProcessWorkers(1), Seen(), 3)
    with pytest.raises(AssertionError):
        run_shards(tmp_path, UnusedWorkers(), Seen(), 3)


def test_shards_of_another_run_are_not_resumed(tmp_path):
    run_shards(tmp_path, ProcessWorkers(1), Seen(), 2)
    (tmp_path / "out.jsonl").unlink()
    path = tmp_path / "shards" / "2-of-2.jsonl"
    header, *lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(header), "ledger": "another"}), *lines, ""]), "utf-8")
    with pytest.raises(ConformanceError, match=r"2-of-2.jsonl: cannot resume, ledger differs from the machine"):
        run_shards(tmp_path, UnusedWorkers(), Seen(), 2, resume=True)
    assert not (tmp_path / "out.jsonl").exists()


def test_worker_with_another_catalogue_raises_an_error(tmp_path):
    identity = ShardedRun(TARGET, OPTIONS, tmp_path).identity
    with pytest.raises(ConformanceError, match="catalogue differs from the machine that started the run"):
        run_shard(TARGET, OPTIONS, {**identity, "catalogue": "another"})


def test_run_without_cases_is_incomplete(tmp_path):
    nothing = RunOptions(Selection(globs=("none/*",)))
    with pytest.raises(IncompleteRun, match="no case is selected"):
        ShardedRun(TARGET, nothing, tmp_path, 2).execute(tmp_path / "out.jsonl", UnusedWorkers())


def test_command_line_runs_shards_on_a_cluster(dask, tmp_path, undivided, conformance):
    dask.worker()
    how = ("--scheduler", dask.address, "--shards", 2, "--repeat", 3, "--quiet", "--out", tmp_path)
    assert conformance("run", "--backend", "numpy", *how)[0] == 0
    assert without_times(tmp_path / "results" / "numpy.jsonl") == without_times(undivided)
    status, _, error = conformance("run", "--backend", f"numpy={tmp_path}/none", *how)
    assert status == IncompleteRun.exit_status
    (line,) = error
    assert line.startswith("conformance: worker tcp://127.0.0.1:")
    assert line.endswith(f"backend numpy: {tmp_path}/none: No such file or directory")
    assert not (tmp_path / "results" / "numpy.jsonl").exists()

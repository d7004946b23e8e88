"""Runs that a cluster carries out in shards: the results file is the undivided run's, whatever happens to workers."""

import json
import signal
from collections import Counter

import pytest

from conformance import ConformanceError, IncompleteRun
from conformance.execution.cluster import ProcessWorkers, open_cluster
from conformance.execution.selection import Selection
from conformance.execution.shards import RunOrder, ShardedRun, run_shard
from conformance.execution.targets import RunTarget
from tests.conformance.execution.test_merge import without_times
from tests.support.dask_clusters import Cable, Cluster, until
from tests.support.started_workers import children

pytest.importorskip("distributed")
ORDER = RunOrder(RunTarget("numpy", ""), Selection(), repeat=3)  # so that shards take their time


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The file of the undivided run."""
    path = tmp_path_factory.mktemp("whole") / "numpy.jsonl"
    ORDER.run().execute(path)
    return path


@pytest.fixture
def dask(tmp_path):
    started = Cluster(tmp_path)
    yield started
    started.end()


class Seen:
    """Counts the results that come in, and does something when the first of them is there."""

    def __init__(self, at_first=lambda: None):
        self.at_first = at_first
        self.results = Counter()
        self.last = None

    def __call__(self, done, total, result):
        if done == 1:
            self.at_first()
        self.results[result["case"], result["surface"]] += 1
        self.last = done, total


def carried_out(folder, workers, seen, of=8, **how):
    ShardedRun(ORDER, folder / "shards", of).execute(folder / "out.jsonl", workers, progress=seen, **how)
    return folder / "out.jsonl"


def same(path, whole, seen):
    """Assert that a file is that of the undivided run, and that each result came once."""
    assert without_times(path) == without_times(whole)
    assert set(seen.results.values()) == {1}
    assert seen.last == (len(seen.results), len(seen.results))


class Refusing:
    """Workers that nobody should ask for anything."""

    size = 1

    def submit(self, shards):
        assert list(shards) == []
        return iter(())


def test_a_worker_is_killed_in_the_middle_of_a_shard_and_one_is_added(dask, tmp_path, whole):
    first, second = dask.worker(), dask.worker()

    def disturb():
        victim = until(lambda: next((one for one in (first, second) if children(one.pid)), None))
        victim.kill()
        killed.append(victim.wait())
        dask.worker()

    killed, seen = [], Seen(disturb)
    with open_cluster(dask.address) as workers:
        until(lambda: workers.size == 2)
        same(carried_out(tmp_path, workers, seen), whole, seen)
    assert killed == [-signal.SIGKILL]


def test_who_asks_loses_and_regains_the_connection(dask, tmp_path, whole):
    dask.worker()
    cable = Cable(dask.address)
    seen = Seen(cable.cut)
    with open_cluster(cable.address) as workers:
        same(carried_out(tmp_path, workers, seen), whole, seen)
    cable.remove()


@pytest.mark.parametrize("of", [1, 5])
def test_the_number_of_shards_does_not_matter(tmp_path, whole, of):
    seen = Seen()
    same(carried_out(tmp_path, ProcessWorkers(1), seen, of), whole, seen)


def test_what_is_resumed_runs_only_what_is_missing(tmp_path, whole):
    carried_out(tmp_path, ProcessWorkers(1), Seen(), 3)
    (tmp_path / "out.jsonl").unlink()
    seen = Seen()
    same(carried_out(tmp_path, Refusing(), seen, None, resume=True), whole, seen)


def test_what_is_not_resumed_runs_anew(tmp_path):
    carried_out(tmp_path, ProcessWorkers(1), Seen(), 3)
    with pytest.raises(AssertionError):
        carried_out(tmp_path, Refusing(), Seen(), 3)


def test_shards_of_another_run_are_not_resumed(tmp_path):
    carried_out(tmp_path, ProcessWorkers(1), Seen(), 2)
    (tmp_path / "out.jsonl").unlink()
    path = tmp_path / "shards" / "2-of-2.jsonl"
    header, *lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(header), "ledger": "another"}), *lines, ""]), "utf-8")
    with pytest.raises(ConformanceError, match=r"2-of-2.jsonl: cannot resume, ledger is not what it is where"):
        carried_out(tmp_path, Refusing(), Seen(), 2, resume=True)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_worker_with_another_catalogue_says_so():
    (order,) = ORDER.shard_orders(1).values()
    catalogue = {**order.expected_identity["catalogue"], "digest": "another"}
    with pytest.raises(ConformanceError, match="catalogue is not what it is where the run was started"):
        run_shard(
            RunOrder(
                order.target,
                order.selection,
                repeat=3,
                expected_identity={**order.expected_identity, "catalogue": catalogue},
            )
        )


def test_no_case_is_no_run(tmp_path):
    nothing = RunOrder(RunTarget("numpy", ""), Selection(globs=("none/*",)))
    with pytest.raises(IncompleteRun, match="no case is selected"):
        ShardedRun(nothing, tmp_path, 2).execute(tmp_path / "out.jsonl", Refusing())


def test_the_command_line_has_a_run_carried_out(dask, tmp_path, whole, conformance):
    dask.worker()
    how = ("--scheduler", dask.address, "--shards", 2, "--repeat", 3, "--quiet", "--out", tmp_path)
    assert conformance("run", "--backend", "numpy", *how)[0] == 0
    assert without_times(tmp_path / "results" / "numpy.jsonl") == without_times(whole)
    status, _, error = conformance("run", "--backend", f"numpy={tmp_path}/none", *how)
    assert status == IncompleteRun.exit_status
    (line,) = error
    assert line.startswith("conformance: worker tcp://127.0.0.1:")
    assert line.endswith(f"backend numpy: {tmp_path}/none: No such file or directory")
    assert not (tmp_path / "results" / "numpy.jsonl").exists()

"""Work items on a Dask cluster whose workers are killed, added and disconnected: each result is returned once."""

import os
import signal
import sys
import threading

import pytest

from conformance import ConformanceError, IncompleteRun
from conformance.execution.distributed import cluster as execution_cluster
from conformance.execution.distributed.cluster import ProcessWorkers, WorkItem
from tests.support.dask_clusters import Cable, Cluster, ending, noted, raising, until
from tests.support.nightly import only_nightly

pytest.importorskip("distributed")
SQUARES = [(str(number), number * number) for number in range(6)]


@pytest.fixture
def dask(tmp_path):
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.end()


class Submission(threading.Thread):
    """Thread that submits six items to the cluster at an address and collects their results."""

    def __init__(self, address, folder):
        super().__init__(daemon=True)
        self.items = [WorkItem(str(number), noted, (folder, number)) for number in range(6)]
        self.address = address
        self.results = []
        self.start()

    def run(self):
        with execution_cluster.open_cluster(self.address) as workers:
            self.results += [(item.name, result) for item, result in workers.submit(self.items)]

    def all(self):
        self.join(60)
        return sorted(self.results)


def begun(folder):
    return [path.name.split("-begun-") for path in folder.glob("*-begun-*")]


def test_items_of_a_killed_worker_are_run_by_others(dask, tmp_path):
    workers = {worker.pid: worker for worker in (dask.worker(), dask.worker())}
    submission = Submission(dask.address, tmp_path)
    until(lambda: len(begun(tmp_path)) == 2)
    shard, pid = begun(tmp_path)[0]
    os.kill(int(pid), signal.SIGKILL)
    assert int(pid) in workers
    (tmp_path / "go").touch()
    assert submission.all() == SQUARES
    assert [name for name, _ in begun(tmp_path)].count(shard) == 2


def test_worker_that_joins_later_gets_items(dask, tmp_path):
    dask.worker()
    submission = Submission(dask.address, tmp_path)
    until(lambda: len(begun(tmp_path)) == 1)
    later = dask.worker()
    until(lambda: str(later.pid) in [pid for _, pid in begun(tmp_path)])
    (tmp_path / "go").touch()
    assert submission.all() == SQUARES
    assert len(begun(tmp_path)) == 6


def test_items_wait_for_the_first_worker(dask, tmp_path):
    submission = Submission(dask.address, tmp_path)
    (tmp_path / "go").touch()
    dask.worker()
    assert submission.all() == SQUARES


def test_lost_connection_to_the_scheduler_is_restored(dask, tmp_path):
    dask.worker()
    cable = Cable(dask.address)
    submission = Submission(cable.address, tmp_path)
    until(lambda: begun(tmp_path))
    cable.cut()
    (tmp_path / "go").touch()
    assert submission.all() == SQUARES
    cable.remove()


def test_item_of_a_disconnected_worker_is_run_by_another(dask, tmp_path):
    cable = Cable(dask.address)
    lost = dask.worker(cable.address)
    submission = Submission(dask.address, tmp_path)
    until(lambda: begun(tmp_path))
    cable.cut()
    (tmp_path / "go").touch()
    dask.worker()
    assert submission.all() == SQUARES
    assert str(lost.pid) in [pid for _, pid in begun(tmp_path)]
    cable.remove()


@only_nightly
def test_lost_scheduler_is_one_error_line(dask, tmp_path, monkeypatch):
    monkeypatch.setattr(execution_cluster, "SCHEDULER_TIMEOUT_SECONDS", 10)
    dask.worker()
    cable = Cable(dask.address)
    with execution_cluster.open_cluster(cable.address) as workers:
        threading.Thread(target=lambda: (until(lambda: begun(tmp_path)), cable.remove())).start()
        with pytest.raises(IncompleteRun, match="connection lost, not restored within 10 s"):
            list(workers.submit([WorkItem("0", noted, (tmp_path, 0))]))


def test_exception_of_an_item_names_its_worker(dask):
    dask.worker()
    with execution_cluster.open_cluster(dask.address) as workers, pytest.raises(IncompleteRun) as error:
        list(workers.submit([WorkItem("0", raising, (7,))]))
    assert str(error.value).startswith("worker tcp://127.0.0.1:")
    assert str(error.value).endswith(": no framework for 7")


def test_item_that_kills_all_workers_is_one_error_line(dask, tmp_path):
    for _ in range(4):
        dask.worker()
    with execution_cluster.open_cluster(dask.address) as workers:
        until(lambda: workers.size == 4)
        with pytest.raises(IncompleteRun, match="shard x: killed each worker that ran it"):
            list(workers.submit([WorkItem("x", ending, (tmp_path,))]))


def test_unreachable_scheduler_is_one_error_line(conformance, monkeypatch):
    monkeypatch.setattr(execution_cluster, "SCHEDULER_TIMEOUT_SECONDS", 1)
    status, _, error = conformance("run", "--backend", "numpy", "--scheduler", "tcp://127.0.0.1:9")
    assert (status, len(error)) == (2, 1)
    assert error[0].startswith("conformance: scheduler tcp://127.0.0.1:9: not reached within 1 s")


@pytest.mark.parametrize("number", [1, 3])
def test_local_cluster_has_one_worker_per_core(number, monkeypatch):
    monkeypatch.setattr(execution_cluster, "core_count", lambda: number)
    with execution_cluster.open_cluster("local") as workers:
        assert until(lambda: workers.size == number)


def test_missing_dask_is_an_error_with_the_install_command(conformance, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    status, _, error = conformance("run", "--backend", "numpy", "--scheduler", "local")
    assert (status, len(error)) == (2, 1)
    assert "--scheduler needs Dask" in error[0]
    assert error[0].endswith("(pip install distributed)")


def test_local_processes_return_the_same_results(tmp_path):
    (tmp_path / "go").touch()
    shards = [WorkItem(str(number), noted, (tmp_path, number)) for number in range(6)]
    with execution_cluster.open_cluster(None) as workers:
        assert sorted((shard.name, answer) for shard, answer in workers.submit(shards)) == SQUARES


def test_killed_process_is_replaced(tmp_path):
    def kill():
        os.kill(int(until(lambda: begun(tmp_path))[0][1]), signal.SIGKILL)
        (tmp_path / "go").touch()

    threading.Thread(target=kill).start()
    shards = [WorkItem(str(number), noted, (tmp_path, number)) for number in range(6)]
    assert sorted((shard.name, answer) for shard, answer in ProcessWorkers(2).submit(shards)) == SQUARES


def test_item_that_kills_each_process_is_one_error_line(tmp_path):
    with pytest.raises(IncompleteRun, match="1 shards: 3 times in a row a process died"):
        list(ProcessWorkers(1).submit([WorkItem("x", ending, (tmp_path,))]))
    assert len(list(tmp_path.glob("ended-*"))) == 3


def test_exclusive_options_are_rejected(conformance):
    for arguments in (("--shards", "3"), ("--shard", "1/3", "--scheduler", "local")):
        assert conformance("run", *arguments)[0] == ConformanceError.exit_status

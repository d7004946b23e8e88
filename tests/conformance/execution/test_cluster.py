"""Shards on a real scheduler and real workers, which are killed, added, cut off: nothing is lost or counted twice."""

import os
import signal
import sys
import threading

import pytest

from conformance import ConformanceError, IncompleteRun
from conformance.execution import cluster as execution_cluster
from conformance.execution.cluster import ProcessWorkers, WorkItem
from tests.support.dask_clusters import Cable, Cluster, ending, noted, raising, until

pytest.importorskip("distributed")
SQUARES = [(str(number), number * number) for number in range(6)]


@pytest.fixture
def dask(tmp_path):
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.end()


class Asking(threading.Thread):
    """Somebody who has shards carried out, in a thread, by whoever is at an address."""

    def __init__(self, address, folder):
        super().__init__(daemon=True)
        self.shards = [WorkItem(str(number), noted, (folder, number)) for number in range(6)]
        self.address = address
        self.answers = []
        self.start()

    def run(self):
        with execution_cluster.open_cluster(self.address) as workers:
            self.answers += [(shard.name, answer) for shard, answer in workers.submit(self.shards)]

    def all(self):
        self.join(60)
        return sorted(self.answers)


def begun(folder):
    return [path.name.split("-begun-") for path in folder.glob("*-begun-*")]


def test_a_killed_worker_s_shards_are_done_by_others(dask, tmp_path):
    workers = {worker.pid: worker for worker in (dask.worker(), dask.worker())}
    asking = Asking(dask.address, tmp_path)
    until(lambda: len(begun(tmp_path)) == 2)
    shard, pid = begun(tmp_path)[0]
    os.kill(int(pid), signal.SIGKILL)
    assert int(pid) in workers
    (tmp_path / "go").touch()
    assert asking.all() == SQUARES
    assert [name for name, _ in begun(tmp_path)].count(shard) == 2


def test_a_worker_that_comes_later_takes_its_share(dask, tmp_path):
    dask.worker()
    asking = Asking(dask.address, tmp_path)
    until(lambda: len(begun(tmp_path)) == 1)
    later = dask.worker()
    until(lambda: str(later.pid) in [pid for _, pid in begun(tmp_path)])
    (tmp_path / "go").touch()
    assert asking.all() == SQUARES
    assert len(begun(tmp_path)) == 6


def test_shards_wait_for_the_first_worker(dask, tmp_path):
    asking = Asking(dask.address, tmp_path)
    (tmp_path / "go").touch()
    dask.worker()
    assert asking.all() == SQUARES


def test_who_asks_may_lose_and_regain_the_scheduler(dask, tmp_path):
    dask.worker()
    cable = Cable(dask.address)
    asking = Asking(cable.address, tmp_path)
    until(lambda: begun(tmp_path))
    cable.cut()
    (tmp_path / "go").touch()
    assert asking.all() == SQUARES
    cable.remove()


def test_a_worker_that_is_cut_off_loses_its_shard_to_another(dask, tmp_path):
    cable = Cable(dask.address)
    lost = dask.worker(cable.address)
    asking = Asking(dask.address, tmp_path)
    until(lambda: begun(tmp_path))
    cable.cut()
    (tmp_path / "go").touch()
    dask.worker()
    assert asking.all() == SQUARES
    assert str(lost.pid) in [pid for _, pid in begun(tmp_path)]
    cable.remove()


def test_a_scheduler_that_is_gone_for_good_is_told_in_a_line(dask, tmp_path, monkeypatch):
    monkeypatch.setattr(execution_cluster, "SCHEDULER_TIMEOUT_SECONDS", 10)
    dask.worker()
    cable = Cable(dask.address)
    with execution_cluster.open_cluster(cable.address) as workers:
        threading.Thread(target=lambda: (until(lambda: begun(tmp_path)), cable.remove())).start()
        with pytest.raises(IncompleteRun, match="lost, and not found again within 10 s"):
            list(workers.submit([WorkItem("0", noted, (tmp_path, 0))]))


def test_what_a_shard_is_at_fault_for_is_raised_with_its_worker(dask):
    dask.worker()
    with execution_cluster.open_cluster(dask.address) as workers, pytest.raises(IncompleteRun) as error:
        list(workers.submit([WorkItem("0", raising, (7,))]))
    assert str(error.value).startswith("worker tcp://127.0.0.1:")
    assert str(error.value).endswith(": no framework for 7")


def test_a_shard_that_ends_every_worker_is_told_in_a_line(dask, tmp_path):
    for _ in range(4):
        dask.worker()
    with execution_cluster.open_cluster(dask.address) as workers:
        until(lambda: workers.size == 4)
        with pytest.raises(IncompleteRun, match="shard x: ended every worker that it was given to"):
            list(workers.submit([WorkItem("x", ending, (tmp_path,))]))


def test_a_scheduler_that_does_not_answer_is_told_in_a_line(conformance, monkeypatch):
    monkeypatch.setattr(execution_cluster, "SCHEDULER_TIMEOUT_SECONDS", 1)
    status, _, error = conformance("run", "--backend", "numpy", "--scheduler", "tcp://127.0.0.1:9")
    assert (status, len(error)) == (2, 1)
    assert error[0].startswith("conformance: scheduler tcp://127.0.0.1:9: not reached within 1 s")


@pytest.mark.parametrize("number", [1, 3])
def test_a_local_cluster_has_as_many_workers_as_there_are_cores(number, monkeypatch):
    monkeypatch.setattr(execution_cluster, "cores", lambda: number)
    with execution_cluster.open_cluster("local") as workers:
        assert until(lambda: workers.size == number)


def test_without_dask_is_said_what_to_install(conformance, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    status, _, error = conformance("run", "--backend", "numpy", "--scheduler", "local")
    assert (status, len(error)) == (2, 1)
    assert "--scheduler needs Dask" in error[0]
    assert error[0].endswith("(pip install distributed)")


def test_processes_of_this_machine_answer_alike(tmp_path):
    (tmp_path / "go").touch()
    shards = [WorkItem(str(number), noted, (tmp_path, number)) for number in range(6)]
    with execution_cluster.open_cluster(None) as workers:
        assert sorted((shard.name, answer) for shard, answer in workers.submit(shards)) == SQUARES


def test_a_process_that_is_killed_is_replaced(tmp_path):
    def kill():
        os.kill(int(until(lambda: begun(tmp_path))[0][1]), signal.SIGKILL)
        (tmp_path / "go").touch()

    threading.Thread(target=kill).start()
    shards = [WorkItem(str(number), noted, (tmp_path, number)) for number in range(6)]
    assert sorted((shard.name, answer) for shard, answer in ProcessWorkers(2).submit(shards)) == SQUARES


def test_a_shard_that_ends_every_process_is_told_in_a_line(tmp_path):
    with pytest.raises(IncompleteRun, match="1 shards: 3 times in a row a process ended"):
        list(ProcessWorkers(1).submit([WorkItem("x", ending, (tmp_path,))]))
    assert len(list(tmp_path.glob("ended-*"))) == 3


def test_options_that_exclude_each_other_are_refused(conformance):
    for arguments in (("--shards", "3"), ("--shard", "1/3", "--scheduler", "local")):
        assert conformance("run", *arguments)[0] == ConformanceError.exit_status

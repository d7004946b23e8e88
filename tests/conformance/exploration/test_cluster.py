"""Exploring on a real scheduler with real workers: what is found is what is found here, whatever happens to them."""

import signal
import threading

import pytest

from conformance import ConformanceError, IncompleteRun
from conformance.catalogue import loading
from conformance.execution.cluster import ProcessWorkers, open_cluster
from conformance.execution.targets import RunTarget
from conformance.exploration import explorer
from conformance.exploration.cluster import ClusterEvaluator, EvaluatorSpec
from conformance.exploration.explorer import Explorer, StopCondition
from conformance.exploration.output import write_exploration
from conformance.exploration.space import OperatorSpace
from tests.conformance.execution.test_merge import without_times
from tests.support.dask_clusters import Cable, Cluster, until
from tests.support.started_workers import children

pytest.importorskip("distributed")
SITE = EvaluatorSpec(RunTarget("planted", ""), ("planted.dilated-extent", "planted.none"))
OPERATORS = ("min_pool", "max_pool")
CASES = 120
pytestmark = pytest.mark.usefixtures("generations")


@pytest.fixture(scope="module")
def generations(planted):
    """Generations of 60 cases, so that there are two; how many cases that is."""
    assert "dilated-extent" in planted.FAULTS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer, "CANDIDATES_PER_GENERATION", CASES // 2)
        patch.setattr(explorer, "MIN_CANDIDATES_PER_WORKER", 10)
        yield CASES


def left(bench, folder, tell=lambda *_: None, cases=CASES):
    """Explore, and return all that is left of it, without times."""
    sweeps = loading.load_catalogue().sweeps
    made = Explorer(bench, {name: OperatorSpace.from_sweeps(name, sweeps) for name in OPERATORS}, 3)
    made.explore(StopCondition(cases), tell)
    found = made.findings
    told = {"seed": 3, "cases": made.counts.cases, "statuses": made.counts.statuses, "beyond": found.uncounted}
    results, *others = write_exploration(folder, bench, found.findings, told)
    return without_times(results), {path.relative_to(folder): path.read_bytes() for path in others}


@pytest.fixture(scope="module")
def here(generations, tmp_path_factory):
    """What is left without any cluster."""
    with SITE.open_evaluator() as lab:
        found = left(lab, tmp_path_factory.mktemp("here"), cases=generations)
    assert len(found[1]) > 2
    return found


@pytest.fixture
def dask(tmp_path):
    started = Cluster(tmp_path)
    yield started
    started.end()


def test_a_worker_is_killed_in_the_middle_of_a_shard_and_one_is_added(dask, tmp_path, here):
    first, second = dask.worker(), dask.worker()
    killed = []

    def disturb():
        victim = until(lambda: next((one for one in (first, second) if children(one.pid)), None))
        victim.kill()
        killed.append(victim.wait())
        dask.worker()

    with open_cluster(dask.address) as workers:
        until(lambda: workers.size == 2)
        threading.Thread(target=disturb).start()
        assert left(ClusterEvaluator(SITE, workers), tmp_path / "there") == here
    assert killed == [-signal.SIGKILL]


def test_who_asks_loses_and_regains_the_connection(dask, tmp_path, here):
    worker = dask.worker()
    cable = Cable(dask.address)
    threading.Thread(target=lambda: until(lambda: children(worker.pid)) and cable.cut()).start()
    with open_cluster(cable.address) as workers:
        assert left(ClusterEvaluator(SITE, workers), tmp_path / "there", lambda *_: cable.cut()) == here
    cable.remove()


class Many:
    """One process that says that it is more, so that the work is cut up into as many pieces."""

    def __init__(self, size):
        self.size = size
        self.submit = ProcessWorkers(1).submit


@pytest.mark.parametrize("size", [0, 7])
def test_the_number_of_shards_does_not_matter(tmp_path, here, size):
    assert left(ClusterEvaluator(SITE, Many(size)), tmp_path) == here


class Answering:
    """A worker for each of some environments."""

    def __init__(self, *environments):
        self.environments = environments
        self.size = len(environments)

    def submit(self, shards):
        return ((shard, (environment, [])) for shard, environment in zip(shards, self.environments, strict=True))


def test_workers_with_other_versions_are_refused():
    bench = ClusterEvaluator(SITE, Answering({"packages": {"numpy": "2"}}, {"packages": {"numpy": "3"}}))
    with pytest.raises(ConformanceError, match="not of the same exploration, a worker's packages is"):
        bench.map(left, [(), ()])


def test_a_worker_with_another_ledger_says_so():
    with pytest.raises(ConformanceError, match="ledger is not what it is where the run was started"):
        EvaluatorSpec(SITE.target, expected_identity={"ledger": "another"}).open_evaluator()


def test_the_command_line_explores_on_a_cluster(dask, tmp_path, conformance):
    dask.worker()
    options = ("--backend", "planted", "--surface", "planted.dilated-extent", "--operator", "min_pool", "--cases", 60)
    told = []
    for how in ((), ("--scheduler", dask.address)):
        status, out, _ = conformance("explore", *options, *how, "--jobs", 1, "--out", tmp_path / "explored")
        assert status == 1
        told.append(out)
    assert told[0] == told[1]
    lost = ("--backend", f"planted={tmp_path}/none", "--cases", 5, "--scheduler", dask.address)
    status, _, error = conformance("explore", *lost, "--out", tmp_path)
    assert status == IncompleteRun.exit_status
    assert error[-1].startswith("conformance: worker tcp://127.0.0.1:")
    assert error[-1].endswith("No such file or directory")

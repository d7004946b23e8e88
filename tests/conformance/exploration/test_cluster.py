"""Exploration on a real scheduler with real workers gives the same results as a local one, also if workers fail."""

import signal
import threading

import pytest

from conformance import ConformanceError, IncompleteRun
from conformance.catalogue import loading
from conformance.execution.distributed.cluster import open_cluster
from conformance.execution.targets import RunTarget
from conformance.exploration import explorer
from conformance.exploration.cluster import ClusterEvaluator, EvaluatorSpec
from conformance.exploration.explorer import Explorer, StopCondition
from conformance.exploration.output import write_exploration
from conformance.exploration.space import OperatorSpace
from reports.results import ExplorationRecord
from tests.conformance.execution.distributed.test_merge import without_times
from tests.support.dask_clusters import Cable, Cluster, until
from tests.support.nightly import only_nightly
from tests.support.started_workers import children

pytest.importorskip("distributed")
SPEC = EvaluatorSpec(RunTarget("planted", ""), ("planted.dilated-extent", "planted.none"))
OPERATORS = ("min_pool", "max_pool")
CASES = 40
pytestmark = pytest.mark.usefixtures("generations")


@pytest.fixture(scope="module")
def generations(planted):
    """Reduce generations to 20 cases and return the number of cases of two generations."""
    assert "dilated-extent" in planted.BUGS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer, "CANDIDATES_PER_GENERATION", CASES // 2)
        patch.setattr(explorer, "MIN_CANDIDATES_PER_WORKER", 5)
        yield CASES


def explore(evaluator, folder, on_generation=lambda *_: None, cases=CASES):
    """Explore, write all output, and return it without times."""
    sweeps = loading.load_catalogue().sweeps
    explorer = Explorer(evaluator, {name: OperatorSpace.from_sweeps(name, sweeps) for name in OPERATORS}, 3)
    explorer.explore(StopCondition(cases), on_generation)
    counts, collector = explorer.counts, explorer.findings
    record = ExplorationRecord(
        seed=3, cases=counts.cases, statuses=counts.statuses, uncounted=collector.uncounted, findings=()
    )
    results, *others = write_exploration(folder, evaluator, collector.findings, record)
    return without_times(results), {path.relative_to(folder): path.read_bytes() for path in others}


@pytest.fixture(scope="module")
def local_output(generations, tmp_path_factory):
    """Output of the exploration without a cluster."""
    with SPEC.open_evaluator() as evaluator:
        output = explore(evaluator, tmp_path_factory.mktemp("here"), cases=generations)
    assert len(output[1]) > 2
    return output


@pytest.fixture
def dask(tmp_path):
    started = Cluster(tmp_path)
    yield started
    started.end()


@only_nightly
def test_a_worker_is_killed_while_it_runs_a_shard_and_another_one_joins(dask, tmp_path, local_output):
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
        assert explore(ClusterEvaluator(SPEC, workers), tmp_path / "there") == local_output
    assert killed == [-signal.SIGKILL]


@only_nightly
def test_the_client_loses_and_regains_the_connection(dask, tmp_path, local_output):
    worker = dask.worker()
    cable = Cable(dask.address)
    threading.Thread(target=lambda: until(lambda: children(worker.pid)) and cable.cut()).start()
    with open_cluster(cable.address) as workers:
        assert explore(ClusterEvaluator(SPEC, workers), tmp_path / "there", lambda *_: cable.cut()) == local_output
    cable.remove()


class WorkersOfSize:
    """This process, which reports a number of workers, so that work is split into as many pieces."""

    def __init__(self, size):
        self.size = size

    def submit(self, items):
        return ((item, item.function(*item.arguments)) for item in items)


@only_nightly
@pytest.mark.parametrize("size", [0, 7])
def test_the_number_of_shards_does_not_matter(tmp_path, local_output, size):
    assert explore(ClusterEvaluator(SPEC, WorkersOfSize(size)), tmp_path) == local_output


class FakeWorkers:
    """Workers that return an empty result, one for each of several environments."""

    def __init__(self, *environments):
        self.environments = environments
        self.size = len(environments)

    def submit(self, shards):
        return ((shard, (environment, [])) for shard, environment in zip(shards, self.environments, strict=True))


def test_workers_with_different_versions_are_rejected():
    evaluator = ClusterEvaluator(SPEC, FakeWorkers({"packages": {"numpy": "2"}}, {"packages": {"numpy": "3"}}))
    with pytest.raises(ConformanceError, match="workers of one exploration must be equal, but packages is"):
        evaluator.map(explore, [(), ()])


def test_a_worker_with_another_ledger_is_rejected():
    with pytest.raises(ConformanceError, match="ledger differs from the machine that started the run"):
        EvaluatorSpec(SPEC.target, expected_identity={"ledger": "another"}).open_evaluator()


@only_nightly
def test_the_command_line_explores_on_a_cluster(dask, tmp_path, conformance):
    dask.worker()
    options = ("--backend", "planted", "--surface", "planted.dilated-extent", "--operator", "min_pool", "--cases", 20)
    outputs = []
    for scheduler in ((), ("--scheduler", dask.address)):
        status, out, _ = conformance("explore", *options, *scheduler, "--jobs", 1, "--out", tmp_path / "explored")
        assert status == 1
        outputs.append(out)
    assert outputs[0] == outputs[1]
    lost = ("--backend", f"planted={tmp_path}/none", "--cases", 5, "--scheduler", dask.address)
    status, _, error = conformance("explore", *lost, "--out", tmp_path)
    assert status == IncompleteRun.exit_status
    assert error[-1].startswith("conformance: worker tcp://127.0.0.1:")
    assert error[-1].endswith("No such file or directory")

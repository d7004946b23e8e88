"""Work in shards, carried out by processes of this machine or by the workers of a Dask cluster, whichever of them die.

    with cluster("tcp://host:8786") as workers:
        for shard, answer in workers.submit(Shard(name, function, arguments) for …):

yields one answer for each shard, in the order in which they come. What a process or a machine takes with it is done
again elsewhere, and whatever comes twice counts once, so that the answers do not depend on who carried a shard out as
long as the function is pure. It must be one of a module that the workers have, and arguments and answers such as pickle
takes. A shard may start processes of its own, as a run does for its framework; they must end with the one that has
started them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Protocol

from conformance import ConformanceError, IncompleteRun
from conformance.system.parallel import core_count, follow_parent

LOCAL_CLUSTER = "local"
"""Names a Dask cluster of this machine's cores, that is there for as long as it is needed."""
SCHEDULER_TIMEOUT_SECONDS = 20
"""Seconds in which a scheduler must answer, at first and when it was lost."""
MAX_CONSECUTIVE_LOSSES = 3
"""Processes that may end in a row without any shard being done."""
RECONNECT_INTERVAL_SECONDS = 0.1
"""Seconds between two looks whether a lost scheduler is there again."""


@dataclass(frozen=True)
class WorkItem:
    """A piece of work, work(*arguments); its name tells it from the others that are submitted with it."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


class ClusterWorkers(Protocol):
    """Whoever carries shards out."""

    @property
    def size(self) -> int:
        """How many at once; 0 where nobody is there yet."""

    def submit(self, shards: Iterable[WorkItem]) -> Iterator[tuple[WorkItem, Any]]:
        """Yield each shard with its answer, as they come.

        Raises what a shard raises, and IncompleteRun where one cannot be carried out; the others are given up then.
        """


@contextlib.contextmanager
def open_cluster(address: str | None) -> Iterator[ClusterWorkers]:
    """Yield the workers at the address of a scheduler, or processes of this machine where there is none.

    "local" is a Dask cluster of this machine's cores. Raises ConformanceError if Dask is not installed, or the
    scheduler does not answer.
    """
    if address is None:
        yield ProcessWorkers(core_count())
        return
    try:
        import distributed  # noqa: PLC0415 - an extra, and large
    except ImportError as error:
        raise ConformanceError(f"--scheduler needs Dask: {error} (pip install distributed)") from None
    with contextlib.ExitStack() as stack:
        where: Any = address
        if address == LOCAL_CLUSTER:
            quiet = {"dashboard_address": None, "silence_logs": "CRITICAL"}
            where = stack.enter_context(distributed.LocalCluster(n_workers=core_count(), threads_per_worker=1, **quiet))
        try:
            client = stack.enter_context(
                distributed.Client(where, timeout=SCHEDULER_TIMEOUT_SECONDS, set_as_default=False)
            )
        except (OSError, ValueError, TypeError) as error:
            raise ConformanceError(
                f"scheduler {address}: not reached within {SCHEDULER_TIMEOUT_SECONDS} s: {error}"
            ) from None
        yield DaskWorkers(address, client)


class DaskWorkers:
    """The workers of a Dask cluster. size: their threads."""

    def __init__(self, address: str, client: Any) -> None:
        self.address = address
        self._client = client

    @property
    def size(self) -> int:
        """How many shards the cluster carries out at once."""
        return sum(self._client.nthreads().values())

    def submit(self, shards: Iterable[WorkItem]) -> Iterator[tuple[WorkItem, Any]]:
        """Yield each shard with its answer, see Workers; what a lost connection has cancelled is sent again."""
        arrived: SimpleQueue[str] = SimpleQueue()
        under_way: dict[str, tuple[WorkItem, Any]] = {}

        def send(shard: WorkItem) -> None:
            key = f"{shard.name}-{uuid.uuid4().hex}"
            future = self._client.submit(_run_with_host_name, shard.function, *shard.arguments, key=key, pure=False)
            under_way[key] = shard, future
            future.add_done_callback(lambda _done: arrived.put(key))

        try:
            for shard in shards:
                send(shard)
            while under_way:
                shard, future = under_way.pop(arrived.get())
                try:
                    answer = self._result(shard, future)
                except (CancelledError, OSError):
                    self._wait_for_scheduler()
                    send(shard)
                else:
                    yield shard, answer
        finally:
            if self._client.status == "running":
                self._client.cancel([future for _, future in under_way.values()], force=True)

    def _result(self, shard: WorkItem, future: Any) -> Any:
        """Return what a shard answered. Raises what it raised, CancelledError or OSError if it must be sent again."""
        if future.status in {"cancelled", "lost"}:
            raise CancelledError
        error = future.exception() if future.status == "error" else None
        if error is None:
            return future.result()
        if type(error).__name__ == "KilledWorker":
            raise IncompleteRun(f"shard {shard.name}: ended every worker that it was given to: {_error_line(error)}")
        if isinstance(error, ConformanceError):
            raise error
        raise IncompleteRun(f"shard {shard.name}: {type(error).__name__}: {_error_line(error)}")

    def _wait_for_scheduler(self) -> None:
        """Wait until the scheduler is there again. Raises IncompleteRun if it does not come back."""
        while self._client.status == "connecting":
            time.sleep(RECONNECT_INTERVAL_SECONDS)
        if self._client.status != "running":
            raise IncompleteRun(
                f"scheduler {self.address}: lost, and not found again within {SCHEDULER_TIMEOUT_SECONDS} s"
            )


def _run_with_host_name(work: Callable[..., Any], *arguments: Any) -> Any:
    """Carry a shard out, where a worker of the cluster is; what it finds fault with then says where that is."""
    from distributed import get_worker  # noqa: PLC0415 - there it is installed

    try:
        return work(*arguments)
    except ConformanceError as error:
        raise type(error)(f"worker {get_worker().address}: {error}") from None


def _error_line(error: BaseException) -> str:
    return " ".join(str(error).split())


class ProcessWorkers:
    """Processes of this machine, each a new interpreter; one that dies is replaced, and its shard done again."""

    def __init__(self, size: int) -> None:
        self.size = size

    def submit(self, shards: Iterable[WorkItem]) -> Iterator[tuple[WorkItem, Any]]:
        """Yield each shard with its answer, see Workers."""
        left = {shard.name: shard for shard in shards}
        losses = 0
        while left:
            before = len(left)
            with contextlib.suppress(BrokenProcessPool):
                for shard, answer in self._results(list(left.values())):
                    del left[shard.name]
                    yield shard, answer
            losses = losses + 1 if len(left) == before else 0
            if losses == MAX_CONSECUTIVE_LOSSES:
                raise IncompleteRun(
                    f"{before} shards: {MAX_CONSECUTIVE_LOSSES} times in a row a process ended before any was done"
                )

    def _results(self, shards: list[WorkItem]) -> Iterator[tuple[WorkItem, Any]]:
        """Yield answers until a process dies. Raises BrokenProcessPool then."""
        pool = ProcessPoolExecutor(self.size, multiprocessing.get_context("spawn"), initializer=follow_parent)
        try:
            whose: dict[Future[Any], WorkItem] = {
                pool.submit(shard.function, *shard.arguments): shard for shard in shards
            }
            while whose:
                for done in wait(whose, return_when=FIRST_COMPLETED).done:
                    yield whose.pop(done), done.result()
        finally:
            pool.shutdown(cancel_futures=True)

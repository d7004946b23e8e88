"""Run work items on processes of this machine or on the workers of a Dask cluster, and repeat those that are lost.

    with open_cluster("tcp://host:8786") as workers:
        for item, result in workers.submit(WorkItem(name, function, arguments) for …):

yields one result for each item, in the order of completion. Items of a process or machine that dies are run again. Of
two results of one item only the first is used, so the function must be pure. It must be importable on the workers, and
arguments and results must be picklable. An item may start processes, as a run does for its framework; they must exit
with the process that started them.
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
"""Address of a temporary Dask cluster with one worker per core of this machine."""
SCHEDULER_TIMEOUT_SECONDS = 20
"""Timeout in seconds for the connection to a scheduler, and for its restoration."""
MAX_CONSECUTIVE_LOSSES = 3
"""Number of process failures in a row, without a finished item, after which the work is aborted."""
RECONNECT_INTERVAL_SECONDS = 0.1
"""Seconds between two checks whether the connection to a scheduler is restored."""


@dataclass(frozen=True)
class WorkItem:
    """A call function(*arguments), with a name that is unique among the items submitted with it."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


class ClusterWorkers(Protocol):
    """Interface of the pools that run work items."""

    @property
    def size(self) -> int:
        """Number of items that run in parallel, 0 while a cluster has no workers yet."""

    def submit(self, items: Iterable[WorkItem]) -> Iterator[tuple[WorkItem, Any]]:
        """Yield each item with its result, in the order of completion.

        Raises the exception of an item, and IncompleteRun if an item cannot be run. The other items are cancelled.
        """


@contextlib.contextmanager
def open_cluster(address: str | None) -> Iterator[ClusterWorkers]:
    """Yield the workers of the scheduler at an address. Without an address, yield processes of this machine.

    The address "local" starts a Dask cluster on this machine. Raises ConformanceError if Dask is not installed or the
    scheduler does not respond.
    """
    if address is None:
        yield ProcessWorkers(core_count())
        return
    try:
        import distributed  # noqa: PLC0415 - an optional and large dependency
    except ImportError as error:
        raise ConformanceError(f"--scheduler needs Dask: {error} (pip install distributed)") from None
    with contextlib.ExitStack() as stack:  # closes the client before a cluster that was started here
        cluster: Any = address
        if address == LOCAL_CLUSTER:
            quiet = {"dashboard_address": None, "silence_logs": "CRITICAL"}
            cluster = stack.enter_context(
                distributed.LocalCluster(n_workers=core_count(), threads_per_worker=1, **quiet)
            )
        try:
            client = stack.enter_context(
                distributed.Client(cluster, timeout=SCHEDULER_TIMEOUT_SECONDS, set_as_default=False)
            )
        except (OSError, ValueError, TypeError) as error:
            raise ConformanceError(
                f"scheduler {address}: not reached within {SCHEDULER_TIMEOUT_SECONDS} s: {error}"
            ) from None
        yield DaskWorkers(address, client)


class DaskWorkers:
    """Workers of a Dask cluster."""

    def __init__(self, address: str, client: Any) -> None:
        self.address = address
        self._client = client

    @property
    def size(self) -> int:
        """Number of threads of all workers, each of which runs one item at a time."""
        return sum(self._client.nthreads().values())

    def submit(self, items: Iterable[WorkItem]) -> Iterator[tuple[WorkItem, Any]]:
        """Yield each item with its result, see ClusterWorkers. Items cancelled by a lost connection are sent again."""
        # Dask calls the callbacks of futures in a thread of its own. The queue passes the keys to this thread.
        done_keys: SimpleQueue[str] = SimpleQueue()
        pending: dict[str, tuple[WorkItem, Any]] = {}

        def send(item: WorkItem) -> None:
            # A random key: Dask would return the cached result or error of an earlier item with the same key.
            key = f"{item.name}-{uuid.uuid4().hex}"
            future = self._client.submit(_run_with_host_name, item.function, *item.arguments, key=key, pure=False)
            pending[key] = item, future
            future.add_done_callback(lambda _done: done_keys.put(key))

        try:
            for item in items:
                send(item)
            while pending:
                item, future = pending.pop(done_keys.get())
                try:
                    result = self._result(item, future)
                except (CancelledError, OSError):
                    # Dask cancels the futures of a client that loses its connection, also if the scheduler comes back.
                    self._wait_for_scheduler()
                    send(item)
                else:
                    yield item, result
        finally:
            # After an error or an interrupt: other workers would otherwise run the remaining items to their end.
            if self._client.status == "running":
                self._client.cancel([future for _, future in pending.values()], force=True)

    def _result(self, item: WorkItem, future: Any) -> Any:
        """Return the result of an item. Raises its exception; CancelledError or OSError if it must be sent again."""
        if future.status in {"cancelled", "lost"}:
            raise CancelledError
        error = future.exception() if future.status == "error" else None
        if error is None:
            return future.result()
        # By name, because Dask is an optional dependency. Its exception means that the item killed several workers.
        if type(error).__name__ == "KilledWorker":
            raise IncompleteRun(f"shard {item.name}: killed each worker that ran it: {_error_line(error)}")
        if isinstance(error, ConformanceError):
            raise error
        raise IncompleteRun(f"shard {item.name}: {type(error).__name__}: {_error_line(error)}")

    def _wait_for_scheduler(self) -> None:
        """Wait until the connection to the scheduler is restored. Raises IncompleteRun if it is not."""
        while self._client.status == "connecting":
            time.sleep(RECONNECT_INTERVAL_SECONDS)
        if self._client.status != "running":
            raise IncompleteRun(
                f"scheduler {self.address}: connection lost, not restored within {SCHEDULER_TIMEOUT_SECONDS} s"
            )


def _run_with_host_name(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function on a cluster worker. Add the worker's address to its errors."""
    from distributed import get_worker  # noqa: PLC0415 - runs on cluster workers, where Dask is installed

    try:
        return function(*arguments)
    except ConformanceError as error:
        raise type(error)(f"worker {get_worker().address}: {error}") from None


def _error_line(error: BaseException) -> str:
    return " ".join(str(error).split())


class ProcessWorkers:
    """Processes of this machine, each with a new interpreter. A process that dies is replaced and its item repeated."""

    def __init__(self, size: int) -> None:
        self.size = size

    def submit(self, items: Iterable[WorkItem]) -> Iterator[tuple[WorkItem, Any]]:
        """Yield each item with its result, see ClusterWorkers."""
        remaining = {item.name: item for item in items}
        losses = 0
        while remaining:
            before = len(remaining)
            # The death of one process breaks the whole executor. The next round starts a new one.
            with contextlib.suppress(BrokenProcessPool):
                for item, result in self._results(list(remaining.values())):
                    del remaining[item.name]
                    yield item, result
            # Counted only without progress: a long run may lose many processes to an unstable machine.
            losses = losses + 1 if len(remaining) == before else 0
            if losses == MAX_CONSECUTIVE_LOSSES:
                raise IncompleteRun(
                    f"{before} shards: {MAX_CONSECUTIVE_LOSSES} times in a row a process died before it finished one"
                )

    def _results(self, items: list[WorkItem]) -> Iterator[tuple[WorkItem, Any]]:
        """Yield results until a process dies. Raises BrokenProcessPool then."""
        # Spawned, not forked: the parent has threads, and a fork would copy their locks.
        pool = ProcessPoolExecutor(self.size, multiprocessing.get_context("spawn"), initializer=follow_parent)
        try:
            pending: dict[Future[Any], WorkItem] = {pool.submit(item.function, *item.arguments): item for item in items}
            while pending:
                # As they finish: an item whose result has been yielded is not run again after a process dies.
                for done in wait(pending, return_when=FIRST_COMPLETED).done:
                    yield pending.pop(done), done.result()
        finally:
            pool.shutdown(cancel_futures=True)

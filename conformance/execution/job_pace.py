"""Pace of a worker: its seconds per job set the length of its queue and the delay before its replies are read."""

from __future__ import annotations

MIN_QUEUED_JOBS, MAX_QUEUED_JOBS = 16, 512
"""Number of jobs queued at a worker, so that it has work while the suite judges results."""
MIN_QUEUED_JOBS_IN_POOL = 2
"""Minimum number of queued jobs of a worker in a pool. Jobs that are not queued yet go to the next idle worker."""
MAX_QUEUED_SECONDS, MAX_QUEUED_BYTES = 0.25, 8 << 20
"""Limits for queueing more than the minimum: estimated run time of the queued jobs, and size of their inputs."""
READ_DELAY_SECONDS = 0.003
"""Seconds before replies to short programs are read. Reading in batches avoids waking the reader for every reply."""
MIN_READ_DELAYS_QUEUED = 4
"""Minimum run time of the queued jobs for a read delay, as a multiple of the delay. Otherwise the worker could idle."""
NEW_JOB_WEIGHT = 0.1
"""Weight of the last job in the moving average of the seconds per job."""


class JobPace:
    """Moving average of the seconds that a worker takes for a job."""

    def __init__(self) -> None:
        # Unknown programs count as slow: only the minimum is queued until the first replies have arrived.
        self.seconds_per_job = MAX_QUEUED_SECONDS

    def add_job(self, seconds: float) -> None:
        """Update the average with the run time of a finished job."""
        self.seconds_per_job += NEW_JOB_WEIGHT * (seconds - self.seconds_per_job)

    def queue_length(self, min_queued: int) -> int:
        """Return how many jobs to queue: as many as fit into MAX_QUEUED_SECONDS, within the limits."""
        jobs_in_time = int(MAX_QUEUED_SECONDS / max(self.seconds_per_job, MAX_QUEUED_SECONDS / MAX_QUEUED_JOBS))
        return max(min_queued, jobs_in_time)

    def read_delay(self, queued: int) -> float:
        """Return the delay for a number of queued jobs: 0 unless the programs are short and the queue outlasts it."""
        is_short = self.seconds_per_job < READ_DELAY_SECONDS
        is_busy = queued * self.seconds_per_job > MIN_READ_DELAYS_QUEUED * READ_DELAY_SECONDS
        return READ_DELAY_SECONDS if is_short and is_busy else 0

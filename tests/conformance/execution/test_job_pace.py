"""Pace of a worker: the length of its queue and the delay before its replies are read."""

import pytest

from conformance.execution.job_pace import MAX_QUEUED_JOBS, MIN_QUEUED_JOBS, READ_DELAY_SECONDS, JobPace


def pace_of(seconds):
    """Return the pace of a worker after a thousand jobs of this run time."""
    pace = JobPace()
    for _ in range(1000):
        pace.add_job(seconds)
    return pace


@pytest.mark.parametrize(("seconds", "jobs"), [(0.0, MAX_QUEUED_JOBS), (0.002, 125), (0.1, MIN_QUEUED_JOBS)])
def test_queue_contains_a_quarter_of_a_second_of_work_within_its_limits(seconds, jobs):
    assert pace_of(seconds).queue_length(MIN_QUEUED_JOBS) == pytest.approx(jobs, abs=1)


def test_programs_of_unknown_run_time_are_queued_up_to_the_minimum():
    assert JobPace().queue_length(MIN_QUEUED_JOBS) == MIN_QUEUED_JOBS
    assert JobPace().read_delay(MIN_QUEUED_JOBS) == 0


def test_one_long_job_changes_the_pace_by_a_tenth():
    pace = pace_of(0.0)
    pace.add_job(1.0)
    assert pace.seconds_per_job == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("seconds", "queued", "delay"), [(0.001, 13, READ_DELAY_SECONDS), (0.001, 11, 0), (0.004, 500, 0)]
)
def test_replies_are_delayed_if_programs_are_short_and_the_queue_outlasts_the_delay(seconds, queued, delay):
    assert pace_of(seconds).read_delay(queued) == delay

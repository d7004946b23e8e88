"""Times of programs, and the pages of the run and of conventions."""

import pytest

from reports.analysis import timing
from reports.results import load_report
from reports.views.html import render_html
from tests.support import example_results as example

POOL, CONV = "max_pool/stride-2-padding-1", "conv/edge-detector"


@pytest.fixture
def report(tmp_path):
    alpha = [example.result(POOL, "a.nn", seconds=0.5), example.result(CONV, "a.nn", seconds=2)]
    beta = [example.result(POOL, "b.nn", seconds=0.25), example.result(POOL, "b.lax", seconds=1)]
    beta.append(example.unsupported(CONV, "b.nn"))
    return load_report(
        example.write(tmp_path, example.run("a", ["a.nn"], alpha), example.run("b", ["b.nn", "b.lax"], beta))
    )


def test_time_is_summed_by_surface(report):
    assert timing.seconds_by_surface(report) == {"a.nn": 2.5, "b.nn": 0.25, "b.lax": 1}


def test_time_is_summed_by_operator_and_backend_slowest_first(report):
    found = timing.seconds_by_operator(report)
    assert found == {"conv": {"a": 2, "b": 0}, "max_pool": {"a": 0.5, "b": 1.25}}
    assert list(found) == ["conv", "max_pool"]


def test_slowest_programs_are_first_and_unsupported_ones_are_omitted(report):
    assert [(one.case, one.surface) for one in timing.slowest_results(report)] == [
        (CONV, "a.nn"), (POOL, "b.lax"), (POOL, "a.nn"), (POOL, "b.nn"),
    ]  # fmt: skip


def test_page_of_the_run_shows_times_and_the_device(report):
    page = render_html(report)
    assert '<td class="number">2.000</td><td class="number">0.000</td>' in page
    assert "<dt>Device</dt><dd>cpu, float32</dd>" in page

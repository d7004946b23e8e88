import time

import pytest

from conformance import CatalogueError
from conformance.cases import limits
from tests.support.fake_backends import one

INTEGERS = "values: integers, seed: 1"
LONG = f"x: {{{INTEGERS}, shape: [1, 1, 400000]}}"
GRAD = "grad: {values: integers, seed: 2}"


@pytest.mark.parametrize(
    ("operator", "text", "key", "seconds"),
    [
        ("softmax_pool", f"{LONG}, window: 2", "x.shape", 8),
        ("softmax_pool_grad", f"{LONG}, {GRAD}, window: 2", "x.shape", 40),
        ("lp_pool_grad", f"{LONG}, {GRAD}, window: 2", "x.shape", 40),
        (
            "stochastic_pool_probabilities_grad",
            f"{LONG.replace('seed', 'low: 0, seed')}, {GRAD}, window: 2",
            "x.shape",
            20,
        ),
        ("global_max_pool_grad", f"{LONG}, {GRAD}", "x.shape", 12),
        ("adaptive_avg_pool", f"{LONG.replace('400000', '4')}, output_size: 400000", "output_size", 12),
        ("adaptive_max_pool_grad", f"{LONG}, {GRAD}, output_size: 3", "x.shape", 12),
        ("max_pool_grad", f"{LONG}, {GRAD}, window: 400000, padding: 3", "window", 12),
    ],
)
def test_case_that_takes_the_reference_long_names_file_case_key_and_limit(tmp_path, operator, text, key, seconds):
    start = time.process_time()
    with pytest.raises(CatalogueError) as refused:
        one(tmp_path, f"id: a, {text}", operator=operator)
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"{tmp_path / 'file.yaml'}:4: case a: key {key!r}: its output [")
    assert line.endswith(f" takes the reference about {seconds} s, more than the limit of 5 s")
    assert time.process_time() - start < 2


def test_every_case_of_the_catalogue_is_far_below_the_limit_of_time(catalogue):
    for case in catalogue.cases:
        assert limits.size_or_time_problem(case) == "", case.id


def test_limit_is_on_the_time_of_the_largest_case_of_the_catalogue(catalogue, monkeypatch):
    monkeypatch.setattr(limits, "MAX_REFERENCE_MICROSECONDS", 1_000_000)
    slow = [case.id for case in catalogue.cases if limits.size_or_time_problem(case)]
    assert slow
    assert {name.split("/")[0] for name in slow} <= {"global_avg_pool_grad", "lp_pool_grad", "softmax_pool_grad"}

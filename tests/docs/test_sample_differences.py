"""benchmarks/sample_differences.py: the sample is the same for a seed, and has what a run returned."""

import json
import runpy
from collections import Counter
from types import SimpleNamespace

import pytest

from tests import ROOT

MODULE = runpy.run_path(str(ROOT / "benchmarks" / "sample_differences.py"))
POPULATION = [
    {"backend": "torch", "case": f"pad/{number}", "surface": "s", "kind": kind, "cause": "c"}
    for kind, count in (("known", 200), ("convention", 20))
    for number in range(count)
]


def test_a_sample_has_the_size_of_each_kind_or_all():
    counts = Counter(one["kind"] for one in MODULE["draw"](POPULATION))
    assert counts == {"known": MODULE["SIZES"]["known"], "convention": 20}


def test_a_sample_depends_on_the_seed_only():
    assert MODULE["draw"](POPULATION) == MODULE["draw"](POPULATION)
    assert MODULE["draw"](POPULATION) != MODULE["draw"](POPULATION, seed=1)


def test_a_sample_has_no_difference_twice():
    sample = MODULE["draw"](POPULATION)
    assert len({(one["kind"], one["case"]) for one in sample}) == len(sample)


def test_a_file_of_the_sample_counts_the_population(tmp_path):
    path = tmp_path / "torch.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in POPULATION), "utf-8")
    assert MODULE["sample_of"]([path])["population"] == {"torch convention": 20, "torch known": 200}


def test_the_population_has_known_cases_and_other_answers_than_the_reference():
    found = list(MODULE["population"]("numpy", {"numpy": "2.0.0"}, ()))
    assert {one["kind"] for one in found} == {"known", "convention"}
    assert {(one["case"], one["cause"]) for one in found} >= {
        ("max_pool/book-zero-padding-recipe-rectangular-negative", "written-zeros-win")
    }


def result(**fields):
    return SimpleNamespace(**{"message": None, "worst": None, **fields})


@pytest.mark.parametrize(
    ("one", "answer", "text"),
    [
        (result(), "passed-over", "answered passed-over"),
        (result(message="Error: no\nmore"), None, "Error: no"),
        (
            result(worst=SimpleNamespace(index=(0, 2), expected=1.0, got=2.0)),
            None,
            "at [0, 2] expected 1.0, got 2.0",
        ),
    ],
)
def test_what_was_observed_is_one_line(one, answer, text):
    assert MODULE["_observed"](one, answer) == text

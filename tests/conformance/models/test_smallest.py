import subprocess
import sys

import numpy as np
import pytest

from conformance.adapters.api import Surface
from conformance.exploration.evaluation import LocalEvaluator, make_requests
from conformance.judging.ledger import Ledger
from conformance.models.geometry import checked_layer
from conformance.models.layer import ModelLayer
from conformance.models.questions import Numbers, questions_of
from conformance.models.smallest import ORACLE, Deadline, smallest_convention, smallest_result
from tests.conformance.models.test_audit import POOL, audited, lossy
from tests.support.fake_backends import backend, declares

PADDED = ModelLayer(
    "pool",
    "max_pool",
    {"window": (3, 3), "stride": (2, 2), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "rounding": "floor"},
    (1, 3, 9, 9),
)


def question(layer, numbers):
    return next(one.candidate for one in questions_of(checked_layer(layer)) if one.numbers == numbers)


def result_of(evaluator, candidate, name):
    (found,) = evaluator.evaluate(make_requests(ORACLE, [candidate]))
    return found.result_on(name)


@pytest.fixture(scope="module")
def losing():
    with LocalEvaluator(backend(lossy()), sys.executable, Ledger()) as evaluator:
        yield evaluator


def test_a_lost_nan_is_shown_by_fewer_numbers(losing):
    candidate = question(POOL, Numbers.NAN)
    found = smallest_result(losing, "fake.lossy", [candidate], result_of(losing, candidate, "fake.lossy"), seconds=60)
    assert found.is_minimal
    assert found.case.inputs["x"].make().size < POOL.shape[2] * POOL.shape[3]
    assert np.isnan(found.expected.exact.value).any()
    assert not np.isnan(found.got).all()
    assert "fmax" in found.program


def test_the_printed_program_runs_alone_and_shows_the_difference(losing, tmp_path):
    candidate = question(POOL, Numbers.NAN)
    found = smallest_result(losing, "fake.lossy", [candidate], result_of(losing, candidate, "fake.lossy"), seconds=60)
    # Without the suite: another folder, and Python without the user's and the environment's paths.
    done = subprocess.run(
        [sys.executable, "-I", "-c", found.program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (1, "differs")
    assert "expected" in done.stdout


def test_a_search_without_time_returns_nothing(losing):
    candidate = question(POOL, Numbers.NAN)
    result = result_of(losing, candidate, "fake.lossy")
    assert smallest_result(losing, "fake.lossy", [candidate], result, seconds=0) is None


def test_a_cut_search_returns_the_smallest_candidate_so_far(losing, monkeypatch):
    candidate = question(POOL, Numbers.NAN)
    result = result_of(losing, candidate, "fake.lossy")
    calls = []
    monkeypatch.setattr(Deadline, "is_over", property(lambda _: len(calls) > 1 or calls.append(1)))
    found = smallest_result(losing, "fake.lossy", [candidate], result, seconds=60)
    assert not found.is_minimal
    assert not np.isnan(found.got).all()


def test_a_candidate_that_agrees_is_no_start(losing):
    wrong = result_of(losing, question(POOL, Numbers.NAN), "fake.lossy")
    assert smallest_result(losing, "fake.lossy", [question(POOL, Numbers.INTEGERS)], wrong, seconds=60) is None


REFLECT = ModelLayer("pad", "pad", {"pads": ((9, 0), (0, 0)), "mode": "reflect", "value": 0}, (1, 1, 8, 8))


def with_answer(name, convention, answer):
    """Return a surface without programs that declares an answer."""
    return Surface(name, {}, declarations=declares(answer, convention))


def test_answers_that_the_reference_computes_are_shown_by_fewer_cells():
    convention = "pad/reflect-beyond-the-extent"
    rejects, repeats = "raise ValueError('too many pads')", "repeats"
    target = Surface("fake.pad", {"pad": lambda _step: (rejects,)}, declarations=declares("rejected", convention))
    source = with_answer("fake.source", convention, repeats)
    with LocalEvaluator(backend(target), sys.executable, Ledger()) as evaluator:
        found = smallest_convention(evaluator, (target, source), question(REFLECT, Numbers.INTEGERS), convention, 60)
    assert found.case.inputs["x"].make().size < 64
    assert found.got is None
    assert found.expected.exact is not None
    assert not found.from_catalogue


def test_other_answers_are_shown_by_the_case_of_the_convention():
    convention = "global_max_pool/nan-in-channel"
    target = with_answer("fake.right", convention, "passed-over")
    layer = ModelLayer("pool", "global_max_pool", {}, (1, 1, 4, 4))
    with LocalEvaluator(backend(target), sys.executable, Ledger()) as evaluator:
        found = smallest_convention(evaluator, (target, None), question(layer, Numbers.NAN), convention, 60)
    assert found.from_catalogue
    assert found.case.id == convention
    assert np.isnan(found.expected.exact.value).any()
    assert not np.isnan(found.got).any()


def test_an_audit_shows_the_smallest_input_of_each_difference():
    audit = audited([POOL, PADDED], lossy(), seconds=60.0)
    for one in audit.layers:
        verdict = one.verdicts["fake.lossy"]
        assert {numbers for numbers, _ in verdict.smallest} == set(verdict.differing)


def test_layers_that_differ_in_the_same_way_share_an_input():
    other = ModelLayer("other", "max_pool", POOL.parameters, (1, 3, 12, 12))
    audit = audited([POOL, other], lossy(), seconds=60.0)
    first, second = (one.verdicts["fake.lossy"].smallest[Numbers.NAN, ""] for one in audit.layers)
    assert first is second

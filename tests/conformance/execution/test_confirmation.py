"""Results that are not as expected: only a run alone in a process counts, and the record describes the first one."""

import json
import sys

import pytest

from conformance.adapters.api import Surface
from conformance.execution.confirmation import Confirmer
from conformance.execution.job import Job, Limits
from conformance.execution.lone_worker import LoneWorker
from conformance.execution.options import RunOptions
from conformance.execution.run import Run
from conformance.execution.worker_process import Worker
from conformance.judging.ledger import Ledger, LedgerEntry
from conformance.judging.repeats import SAME_IN_NEW_PROCESS
from tests.support.fake_backends import backend, load, program
from tests.support.started_workers import X as X_ARRAY

X = "x: {values: arange, shape: [1, 1, 4, 4]}"
CASES = (f"id: a, {X}, window: 2", f"id: b, {X}, window: 2, stride: 1", f"id: c, {X}, window: 2, stride: 4")
MAXIMUM = "x = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3)).max((-1, -2))[{strides}]"
REJECTED = f"id: r, {X}, window: 6, expect: {{rejected: WindowExceedsPaddedInput}}"
LEAVE = "import builtins"


def maximum(further):
    """Return a surface with a correct maximum, and further lines by the stride of the case."""

    def lowering(step):
        strides = ", ".join(["...", *(f"::{stride}" for stride in step.stride)])
        return (LEAVE, *(() if step.window[0] > 4 else (MAXIMUM.format(strides=strides),)), *further(step.stride[0]))

    return Surface("s", {"max_pool": lowering})


def results(tmp_path, further, cases=CASES, *, entries=(), repeat=1, **texts):
    path = tmp_path / "fake.jsonl"
    options = RunOptions(limits=Limits(case_seconds=5), repeat=repeat)
    ledger = Ledger(tuple(entries))
    Run(backend(maximum(further), **texts), load(tmp_path, *cases), ledger, options, python=sys.executable).execute(
        path
    )
    records = map(json.loads, path.read_text("utf-8").splitlines())
    return {r["case"].partition("/")[2]: r for r in records if r["record"] == "result"}


def damage(effect):
    """Return lines: the case with stride 2 leaves a mark, and the others have the effect if they find it."""
    return lambda stride: ("builtins.mark = 1",) if stride == 2 else ("if hasattr(builtins, 'mark'):", f"    {effect}")


@pytest.mark.parametrize("repeat", [1, 2])
@pytest.mark.parametrize("effect", ["x = x + 1", "raise ValueError", "os.abort()", "undefined_name"])
def test_damage_by_an_earlier_program_is_recorded_and_does_not_count(tmp_path, effect, repeat):
    found = results(tmp_path, damage(effect), repeat=repeat)
    assert {name: record["status"] for name, record in found.items()} == dict.fromkeys("abc", "pass")
    noted = {name for name, record in found.items() if "after_others" in record}
    assert noted == {"b"}  # after it, the damaged process is replaced


def test_result_of_a_backend_of_the_suite_counts_although_it_depends_on_earlier_programs(tmp_path):
    found = results(tmp_path, damage("x = x + 1"), trusted=True)
    assert {record["status"] for record in found.values()} == {"pass", "fail"}
    assert all("after_others" not in record for record in found.values())


@pytest.mark.parametrize("effect", ["x = x + 1", "raise ValueError", "os.abort()"])
def test_result_that_is_the_same_alone_counts_and_has_no_note(tmp_path, effect):
    found = results(tmp_path, lambda stride: (effect,) if stride != 2 else ())
    assert {name: record["status"] == "pass" for name, record in found.items()} == {"a": True, "b": False, "c": False}
    assert all("after_others" not in record for record in found.values())


def test_case_that_must_be_rejected_does_not_pass_because_of_an_earlier_program(tmp_path):
    found = results(tmp_path, damage("raise ValueError"), (CASES[0], REJECTED))
    assert (found["r"]["status"], found["r"]["kind"]) == ("fail", "accepted")
    assert "ValueError" in found["r"]["after_others"]


def test_known_deviation_of_a_backend_of_the_suite_is_not_confirmed(tmp_path):
    entry = LedgerEntry("e", ("*",), ("*",), ("value",), "it is known", None, {})
    later = (CASES[1], CASES[2])
    explained = results(tmp_path, lambda _: ("x = x + 1",), later, entries=[entry], trusted=True)
    assert {record["status"] for record in explained.values()} == {"known"}


def test_framework_that_does_not_support_forks_is_confirmed_in_new_processes(tmp_path):
    hook = "os.register_at_fork(after_in_child=lambda: vars(builtins).update(forked=1))\n"
    setup = f"import os, builtins\nbuiltins.forked = 0\n{hook}import time\nimport numpy as np\n"
    found = results(tmp_path, lambda stride: ("x = x + builtins.forked", *damage("x = x - 1")(stride)), setup=setup)
    assert {record["status"] for record in found.values()} == {"pass"}


def test_result_is_confirmed_in_a_new_process_if_the_process_that_forks_is_lost(tmp_path):
    hook = "os.register_at_fork(after_in_child=lambda: os.kill(os.getppid(), 9))\n"
    found = results(
        tmp_path, damage("x = x + 1"), setup=f"import os, builtins\n{hook}import time\nimport numpy as np\n"
    )
    assert {record["status"] for record in found.values()} == {"pass"}


def test_message_of_a_rejection_is_that_of_the_program_alone(tmp_path):
    further = damage("raise TypeError('damaged')")
    cases = CASES[0], CASES[2]
    found = results(
        tmp_path, lambda stride: (*further(stride), *(("raise ValueError('own')",) if stride > 2 else ())), cases
    )
    assert (found["c"]["status"], found["c"]["message"]) == ("fail", "ValueError: own")
    assert "TypeError: damaged" in found["c"]["after_others"]


@pytest.mark.parametrize("trusted", [True, False])
def test_message_of_a_crash_has_no_output_of_an_earlier_program(tmp_path, trusted):
    def further(stride):
        return ("import sys", "print('other', file=sys.stderr)") if stride == 2 else ("os._exit(7)",)

    found = results(tmp_path, further, (CASES[0], CASES[2]), trusted=trusted)
    assert found["c"]["message"] == f"the process exited with status 7; {SAME_IN_NEW_PROCESS}"


class PoolWithOwner:
    """A pool of which a process owns something."""

    def end_owners(self):
        return True

    def end_process(self, _process, reason):
        raise AssertionError(reason)


def test_message_of_a_crash_does_not_depend_on_what_another_program_owns():
    fake = backend()
    job = Job(program("os._exit(7)"), [X_ARRAY])
    (first,) = Worker(fake, sys.executable).outcomes([job])
    assert SAME_IN_NEW_PROCESS in first.message
    confirmer = Confirmer(fake, lambda one: LoneWorker(one, sys.executable), 1, PoolWithOwner)
    assert confirmer.outcome_alone(job, first).message == first.message
    confirmer.kill()

"""State of a worker process: what is restored in the process, what is reported, and when the process is replaced."""

import decimal
import gc
import re
from pathlib import Path

import numpy as np
import pytest

from conformance import adapters
from conformance.execution.job import Job
from conformance.execution.worker_state.process_state import MODULE_FUNCTIONS, RARE_INTERVAL
from conformance.execution.worker_state.settings import DECIMAL_CONTEXTS, CollectionMark
from tests.support.fake_backends import program
from tests.support.started_workers import X, outcomes, started

PROCESS = "\nx = np.full((1, 1, 1), os.getpid())"
EXECUTOR = "import concurrent.futures\nnp.executor = concurrent.futures.ThreadPoolExecutor(1)\n"
ROUND_UP = "import ctypes\nctypes.CDLL('libm.so.6').fesetround(0x800)"
ROUNDED = "x = np.full((1, 1, 1), np.float64(1) + np.float64(2.0**-60))"
REPLACED = {
    "a running thread": "import threading\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "a thread without an object": "import _thread\n_thread.start_new_thread(time.sleep, (60,))\ntime.sleep(0.05)",
    "a busy executor": EXECUTOR + "np.executor.submit(time.sleep, 60)",
    "redirected descriptors": "empty = os.open('/dev/null', os.O_WRONLY)\nfor n in (200, 1, 2):\n    os.dup2(empty, n)",
    "a hard limit": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (50, 50))",
}
REUSED = {
    "an idle executor": EXECUTOR + "np.executor.submit(abs, 1).result()",
    "a thread that has ended": "import threading\nt = threading.Thread(target=abs, args=(1,))\nt.start()\nt.join()",
    "a thread that ends soon": "import threading\nthreading.Thread(target=time.sleep, args=(0.01,)).start()",
    "a soft limit": "import resource\nresource.setrlimit(7, (50, resource.getrlimit(7)[1]))",
}


def process_ids(body):
    """Return the process id of the worker in a case with this body and in the next case."""
    return [int(outcome.arrays[0].item()) for outcome in outcomes(body + PROCESS, PROCESS)]


@pytest.mark.parametrize("body", REPLACED.values(), ids=REPLACED)
def test_worker_that_cannot_be_restored_is_replaced(body):
    first, second = process_ids(body)
    assert first != second


@pytest.mark.parametrize("body", REUSED.values(), ids=REUSED)
def test_worker_that_can_be_restored_runs_the_next_case(body):
    first, second = process_ids(body)
    assert first == second


def test_program_that_replaces_functions_of_python_costs_no_worker():
    first, _, last = outcomes(PROCESS, "import builtins\nbuiltins.len = builtins.open = None", PROCESS)
    assert first.arrays[0] == last.arrays[0]


def test_rare_change_is_found_after_a_few_programs():
    body = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)){PROCESS}"
    found = [int(outcome.arrays[0].item()) for outcome in outcomes(body, *[PROCESS] * RARE_INTERVAL)]
    assert found[0] != found[-1]


def test_settings_of_decimal_are_read_again_after_a_change():
    first = DECIMAL_CONTEXTS.read()
    assert DECIMAL_CONTEXTS.read() is first
    with decimal.localcontext() as context:
        assert DECIMAL_CONTEXTS.read() == first
        context.prec += 1
        assert DECIMAL_CONTEXTS.read() != first
    assert DECIMAL_CONTEXTS.read() == first


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_mark_shows_each_collection(generation):
    mark = CollectionMark()
    gc.collect(generation)
    assert mark.has_run()
    assert not CollectionMark().has_run()


def test_changed_rounding_mode_is_reported_and_restored():
    first, second = outcomes(f"{ROUND_UP}\n{ROUNDED}", ROUNDED)
    assert (first.changed_state, second.changed_state) == (("rounding mode",), ())
    assert first.arrays[0].item() > 1
    assert second.arrays[0].item() == 1


def test_state_of_the_setup_is_not_a_change():
    (found,) = outcomes(ROUNDED, setup=f"import os\nimport numpy as np\n{ROUND_UP}\n")
    assert found.changed_state == ()
    assert found.arrays[0].item() > 1


def test_worker_replaced_after_a_reply_costs_no_case():
    bodies = [REPLACED["a running thread"] + PROCESS, PROCESS] * 3
    with started() as worker:
        found = list(worker.outcomes([Job(program(body), [X]) for body in bodies]))
    assert [outcome.kind for outcome in found] == ["returned"] * 6
    assert {outcome.flakiness for outcome in found} == {""}
    assert len({outcome.arrays[0].item() for outcome in found}) == 4


def test_every_numpy_function_in_the_adapters_is_restored():
    texts = [path.read_text("utf-8") for path in Path(adapters.__path__[0]).rglob("*.py")]
    used = {name for text in texts for name in re.findall(r"\bnp\.((?:lib\.stride_tricks\.)?[a-z_0-9]+)", text)}
    MODULE_FUNCTIONS.find_modules()
    prefixes = {id(vars(np)): "", id(vars(np.lib.stride_tricks)): "lib.stride_tricks."}
    tables = [(prefixes[id(names)], keys) for names, keys in MODULE_FUNCTIONS.tables if id(names) in prefixes]
    restored = {prefix + key for prefix, keys in tables for key in keys}
    # The generators are restored by their state.
    assert used - restored == {"random"}

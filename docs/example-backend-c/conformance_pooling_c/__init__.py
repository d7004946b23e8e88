"""Adapter for a worker in C, which pools float32 arrays. Programs are structured calls, one line each.

The worker is an own program. `cc -std=c99 -O2 -o pooling-worker worker.c -lm` builds it, and it must be on PATH, or be
named: `conformance run --backend pooling-c=PATH/TO/pooling-worker`.
"""

from collections.abc import Sequence

from conformance.adapters.api import Code, Language, Step, Surface, Unsupported, WorkerCommand, number

WORKER = WorkerCommand(("pooling-worker",))
PACKAGES = ("pooling-c",)
SETUP = RESET = ""
FLOAT32 = frozenset({"float32"})
NO_DEFAULTS = Unsupported("a call has all parameters")


def _pool(step: Step) -> Code:
    """Return the call, whose argument is the result of the call before it."""
    if step.stride is None or "words" in step.parameters or isinstance(step.parameters.get("padding"), str):
        return NO_DEFAULTS
    sizes = {
        "window": step.window,
        "stride": step.stride,
        "before": [before for before, _ in step.padding],
        "after": [after for _, after in step.padding],
        "dilation": step.dilation,
    }
    texts = [f"{name}={','.join(str(int(size)) for size in values)}" for name, values in sizes.items()]
    texts += [
        f"rounding={step.parameters.get('rounding', 'floor')}",
        f"counted={int(step.parameters.get('count_include_pad') or 0)}",
    ]
    if (divisor := step.parameters.get("divisor")) is not None:
        texts.append(f"divisor={number(divisor)}")
    return (f"{step.operator} {' '.join(texts)}",)


def _program(_names: Sequence[str], lines: Sequence[str]) -> str:
    """Return the calls of a program, without its last line `return x`."""
    return "; ".join(lines[:-1])


SURFACES = (
    Surface(
        "pooling.c",
        {"max_pool": _pool, "avg_pool": _pool},
        dtypes={"": FLOAT32},
        # The worker has no other operators that could replace a missing one.
        allows_compositions=False,
        language=Language("text", program=_program),
    ),
)
